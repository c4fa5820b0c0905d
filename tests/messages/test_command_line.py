"""The sentences of the command line, pinned once: wrong use and answers; its other tests look at exit codes, names and values."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from data_files import points_file

import marginopt as mo
from marginopt.cli.main import main
from marginopt.models import Block, Constraint, Nonnegative, StandardForm
from marginopt.relaxations.report.runner import CellStore

SENTENCES: list[tuple[str, str]] = [
    ("audit machine.model machine.data", "give --C, the -c of the training program"),
    ("benchmark clarabel,clarabel DATA", "different names"),
    ("benchmark clarabel DATA --out DATA", "cannot be made"),
    ("check-proof missing", "there is no file"),
    ("conflict hinge", "marginopt conflict hinge DATA"),
    ("export DATA out --format xls", "no format .xls"),
    ("export DATA out.mps.gz", "compressed files are read, and written by gzip"),
    ("export DATA out.xls", "no file format for 'out.xls'"),
    ("compare hinge --solvers highs", "marginopt compare hinge DATA"),
    ("inspect hinge", "marginopt inspect hinge DATA"),
    ("prove DATA out.vipr", "needs the file of a program"),
    ("report --continue --store STORE --out out", "no request"),
    ("report --generate 2 0.5 clustered --out out", "--generate needs --sizes"),
    ("report --out DATA", "cannot be made"),
    ("report --sizes 20 --out out", "--sizes needs data"),
    ("report DATA --continue --store STORE --out out", "leave them out"),
    ("report DATA --label label --continue --out out", "--continue needs --store FILE"),
    ("report DATA --label label --formulations meb --out out",
     "takes formulations of two classes; meb is stated on points without labels"),
    ("report DATA --label label --jobs 2 --backend dusk --out out", "joblib has no dusk"),
    ("report DATA --label label --kappa 0.1 --kappas 3 --out out", "--kappa VALUES or --kappas COUNT"),
    ("report DATA --label label --lam one --out out", "--lam takes values"),
    ("report DATA --label label --n 10 --subsample-seeds a-b --out out", "--subsample-seeds takes A-B"),
    ("report DATA --label label --relaxations conik --out out", "there is no relaxation 'conik'"),
    ("report DATA --label label --seeds 1.5 --out out", "--seeds takes values"),
    ("report DATA --label label --sizes 20 --n 10 --out out", "--n is one size"),
    ("report DATA --label label --subsample-seeds 0-3 --out out", "beside --n or --sizes"),
    ("report TREES --label kind --out out", "has 3 (ash, elm, oak): choose two with --pair A B"),
    ("report TREES --label kind --pair ash yew --out out", "no class yew; it has ash, elm, oak"),
    ("solve DATA hinge", "hinge is a formulation, which stands before the data"),
    ("solve conic DATA --kappa 0.1 --lam 1", "exactly one"),
    ("solve conic DATA --solver piqp", "positive semidefinite"),
    ("solve plan.lp --lam 1 --raw", "plan.lp is a program's file, which is taken as it is: leave --raw, --lam out"),
    ("solve gurobi.lp DATA", "gurobi.lp names a program's file, which takes no data: leave"),
    ("solve highs DATA", "highs is a solver: give --solver highs"),
    ("solve hinge DATA --kappa 0.1", "hinge has no --kappa"),
    ("solve hinge DATA --lam much", "--lam needs a number"),
    ("solve l2svm DATA --set precision", "NAME=VALUE"),
    ("solve stiefel DATA", "npz file that holds H, E"),
    ("solve zero-one DATA --save /nonexistent/x", "there is no folder /nonexistent"),
]  # fmt: skip


@pytest.mark.parametrize(("words", "sentence"), SENTENCES, ids=[words for words, _ in SENTENCES])
def test_wrong_use(
    words: str, sentence: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    data = points_file(tmp_path, 24, 0.7)
    rows = [f"{kind},{k}.5\n" for k, kind in enumerate(["ash", "elm", "oak"] * 8)]
    (tmp_path / "trees.csv").write_text("kind,height\n" + "".join(rows), encoding="utf-8")
    head = "svm_type c_svc\nkernel_type linear\nnr_class 2\ntotal_sv 2\nrho 0\nlabel 1 -1\nnr_sv 1 1\nSV\n"
    (tmp_path / "machine.model").write_text(head + "1 1:1 2:1 \n-1 1:-1 2:-1 \n", encoding="utf-8")
    (tmp_path / "machine.data").write_text("1 1:1 2:1\n-1 1:-1 2:-1\n", encoding="utf-8")
    CellStore(tmp_path / "empty.db")
    (tmp_path / "plan.lp").write_text("Minimize\n x\nSubject To\n x >= 1\nEnd\n", encoding="utf-8")
    places = {"DATA": str(data), "TREES": "trees.csv", "STORE": "empty.db"}
    assert main([places.get(word, word) for word in words.split()]) == 2
    assert sentence in capsys.readouterr().err


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        ("solve hinge wine --lambda 1", "there is no option --lambda"),
        ("solve hinge wine more", "too many words: more"),
        ("data wine.csv --leave-out id date", "too many words: date; --leave-out takes values with commas between them"),
        ("report --generate 3 0.2", "P,.. SIGMA,.. OUTLIERS"),
    ],
)
def test_wrong_options(words: str, sentence: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        main(words.split())
    assert ended.value.code == 2 and sentence in " ".join(capsys.readouterr().err.split())


#: Answers on standard output: words at the prompt, the exit code, and parts of what is printed.
ANSWERS: list[tuple[str, int, tuple[str, ...]]] = [
    ("certify hinge.mps result.npz --exact", 0, ("every claim is confirmed", "exactly: bound")),
    ("inspect conflict.npz --why", 0, ("conflict (proved in rational arithmetic",)),
    ("inspect feasible.npz --why", 0, ("has a point",)),
    ("inspect feasible.npz", 0, ("2 variables",)),
    ("inspect zero-one DATA --lam 0.5", 0, ("M_i", "in {0, 1}")),
    ("prove zero-one.mps zero-one.vipr", 0, ("relative gap",)),
    ("solve conic DATA --kappa 0 --solver clarabel --quiet", 1, ("not separable",)),
    ("compare conic DATA --solvers clarabel,piqp --quiet", 0, ("positive semidefinite",)),
    (
        "benchmark clarabel,piqp DATA --formulations hinge,conic --quiet",
        0,
        ("piqp did not run conic on points", "1 of 2", "2 of 2"),
    ),
    ("check-proof proof.jsonl", 0, ("proved", "lambda = 1", "gap")),
    ("check-proof proof.jsonl --data DATA", 0, ("the model's own",)),
    ("check-proof proof.jsonl --data DATA --lam 2", 1, ("another problem",)),
    ("check-proof cut.jsonl", 1, ("NOT proved",)),
]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The files that the answers are about."""
    folder = tmp_path_factory.mktemp("answers")
    points_file(folder)
    rng = np.random.default_rng(0)
    X = np.column_stack([np.ones(9), rng.normal(size=(9, 2))])
    y = np.where(rng.random(9) < 0.5, -1.0, 1.0)
    Z = np.column_stack([np.ones(10), rng.normal(size=(10, 2))])
    hinge = mo.HingeSVM(Z, np.where(rng.random(10) < 0.5, -1.0, 1.0))
    hinge.write(folder / "hinge.mps")
    mo.solve(hinge, "clarabel").save(folder / "result.npz")
    mo.Margin(X, y, loss="zero-one", regulariser="l1", intercept="free").write(folder / "zero-one.mps")
    row = Constraint("row", np.array([[1.0, 1.0]]), np.array([-3.0]), Nonnegative(1))
    free, integer = np.full(2, -np.inf), np.zeros(2, dtype=bool)
    form = StandardForm("three", (Block("x", (2,)),), np.zeros(2), (row,), free, np.ones(2), integer)
    form.write(folder / "conflict.npz")
    form.with_bounds(free, np.full(2, 2.0)).write(folder / "feasible.npz")
    proof = folder / "proof.jsonl"
    assert (
        main(["solve", "zero-one", str(folder / "points.csv"), "--solver", "zero-one-bb", "--proof", str(proof), "--quiet"]) == 0
    )
    lines = proof.read_text(encoding="utf-8").splitlines(keepends=True)
    (folder / "cut.jsonl").write_text("".join(lines[:-2]), encoding="utf-8")
    return folder


@pytest.mark.parametrize(("words", "code", "parts"), ANSWERS, ids=[words for words, *_ in ANSWERS])
def test_answers(
    words: str,
    code: int,
    parts: tuple[str, ...],
    folder: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(folder)
    assert main([{"DATA": "points.csv"}.get(word, word) for word in words.split()]) == code
    out = capsys.readouterr().out
    assert [part for part in parts if part not in out] == []
