"""The sentences of wrong use at the prompt, pinned once; the command line's tests look at exit codes and names."""

from __future__ import annotations

from pathlib import Path

import pytest
from data_files import points_file

from marginopt.cli.main import main
from marginopt.relaxations.report.runner import CellStore

SENTENCES: list[tuple[str, str]] = [
    ("benchmark clarabel,clarabel DATA", "different names"),
    ("benchmark clarabel DATA --out DATA", "cannot be made"),
    ("check-proof missing", "there is no file"),
    ("conflict hinge", "marginopt conflict hinge DATA"),
    ("export DATA out --format xls", "no format .xls"),
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
    ("solve conic DATA --kappa 0.1 --lam 1", "exactly one"),
    ("solve conic DATA --solver piqp", "positive semidefinite"),
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
    CellStore(tmp_path / "empty.db")
    places = {"DATA": str(data), "TREES": "trees.csv", "STORE": "empty.db"}
    assert main([places.get(word, word) for word in words.split()]) == 2
    assert sentence in capsys.readouterr().err


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        ("solve hinge wine --lambda 1", "there is no option --lambda"),
        ("solve hinge wine more", "too many words: more"),
        ("report --generate 3 0.2", "P,.. SIGMA,.. OUTLIERS"),
    ],
)
def test_wrong_options(words: str, sentence: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        main(words.split())
    assert ended.value.code == 2 and sentence in " ".join(capsys.readouterr().err.split())
