"""The sentences with which proof logs are refused, and the lines of the conformance command, pinned once."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from proof_logs import read, sealed, write
from scipy.sparse import csr_array

import marginopt as mo
from marginopt.conformance.__main__ import main
from marginopt.models.views import ZeroOneProblem
from marginopt.solvers.proofs import check_proof


def _conflicts() -> ZeroOneProblem:
    """Three points that one direction keeps: a search by conflicts ends at once."""
    A = np.array([[1.0, 0.2], [1.5, 0.1], [2.0, -0.3]])
    return ZeroOneProblem(A, np.full(3, 9.0), np.ones(2, dtype=bool))


def test_a_file_that_is_no_log(tmp_path: Path) -> None:
    missing, other, text = (tmp_path / name for name in ("nothing", "other", "text"))
    assert check_proof(missing).message == f"there is no file {missing}"
    other.write_text('{"format": "something"}\n{"bound": 1}\n', encoding="utf-8")
    assert check_proof(other).message == "this is no proof log: its first line states the format 'something'"
    text.write_text("not a log\n", encoding="utf-8")
    assert check_proof(text).message == "this is no proof log: its first line states no format"
    assert all(str(check_proof(path)) == f"NOT proved: {check_proof(path).message}" for path in (missing, other, text))


def test_a_log_of_other_data(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    X, y = np.column_stack([np.ones(12), rng.normal(size=(12, 2))]), np.where(np.arange(12) % 2, 1.0, -1.0)
    model = mo.ZeroOneSVM(csr_array(X), y, 1.0, intercept="free")
    mo.solve(model, "zero-one-bb", proof=str(tmp_path / "log"))
    X[5, 2] = np.nextafter(X[5, 2], 9.0)
    refused = check_proof(tmp_path / "log", mo.ZeroOneSVM(X, y, 1.0, intercept="free"))
    assert "another problem" in refused.message and "nan" not in str(refused)


def test_an_answer_without_logs() -> None:
    answer = mo.questions.audit_fairness([1, 1, 0, 0], [0, 0, 0, 0], [[0.0], [1.0], [2.0], [3.0]])
    report = replace(answer, bound=0.125).check()
    assert not report.valid
    assert report.message == "no log proves the stated bound 0.125: ask with proof="


def test_a_multiplier_of_a_point_that_is_not_deleted(tmp_path: Path) -> None:
    problem = _conflicts()
    write(problem, tmp_path / "log", engine="conflicts")
    header, end = (record for record in read(tmp_path / "log") if "format" in record or "bound" in record)
    alpha = np.linalg.svd(problem.A)[0][:, 2]
    alpha = (alpha * np.sign(alpha.sum())).tolist()
    root = {"id": 0, "parent": -1, "side": 0, "steps": [["pack", [[0, 8.0]]]]}
    records = [header, {"conflict": [0, 1, 2], "alpha": alpha}, root, end | {"bound": 7.0, "w": [0.0, 0.0]}]
    (tmp_path / "log").write_text(sealed(records), encoding="utf-8")
    assert "not deleted" in check_proof(tmp_path / "log").message


@pytest.mark.parametrize(
    ("words", "sentences"),
    [
        (
            "smo --on hulls,hinge --all",
            (
                "reaches the optimum: holds",
                "✓ smo / hulls",
                "it reads the structural view SimplexQP, which HingeSVM does not have",
            ),
        ),
        ("conic --on clarabel", ("lifts its dual",)),
    ],
)
def test_conformance(words: str, sentences: tuple[str, ...], capsys: pytest.CaptureFixture[str]) -> None:
    assert main(words.split()) == 0
    out = capsys.readouterr().out
    assert [sentence for sentence in sentences if sentence not in out] == []
