"""Checkpoints of `margin-bb`: a search in pieces is the search, and other files are refused; and searches in little memory."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import marginopt as mo
from marginopt import check_proof, margin
from marginopt.errors import DataError, InputError
from marginopt.solvers import Status
from marginopt.solvers.margin import algorithm


def _ramp(seed: int = 5, n: int = 50) -> mo.Model:
    rng = np.random.default_rng(seed)
    X = np.c_[np.ones(n), rng.normal(size=(n, 2))]
    y = np.where((X @ rng.normal(size=3) > 0.0) ^ (rng.random(n) < 0.2), 1.0, -1.0)
    return mo.RampSVM(X, y, lam=2.0)


def _restricted() -> mo.Model:
    rng = np.random.default_rng(3)
    X = np.c_[np.ones(30), rng.integers(-2, 3, size=(30, 2)).astype(float)]
    y = np.where(X[:, 1] + X[:, 2] + 1.5 * rng.normal(size=30) > 0.0, 1.0, -1.0)
    return mo.Margin(X, y, "ramp", "l1", sample_weight=0.5, domain="integers", subject_to=[margin.error_budget(1, 0.4)])


def _in_pieces(model: mo.Model, path: Path, nodes: int, **options: Any) -> Any:
    """Return the result of three runs that a limit ends, and of one that goes on to the end."""
    for stops in (1, 2, 3):
        result = mo.solve(model, "margin-bb", checkpoint=str(path), node_limit=stops * nodes // 4, **options)
        assert path.exists() and result.status is not Status.OPTIMAL
    result = mo.solve(model, "margin-bb", checkpoint=str(path), **options)
    assert result.status is Status.OPTIMAL and not path.exists()
    return result


def test_a_search_in_pieces_is_the_search(tmp_path: Path) -> None:
    model, path = _ramp(), tmp_path / "search.npz"
    whole = mo.solve(model, "margin-bb", proof=str(tmp_path / "whole.log"))
    result = _in_pieces(model, path, whole.nodes, proof=str(tmp_path / "pieces.log"))
    assert (result.nodes, result.objective, result.bound) == (whole.nodes, whole.objective, whole.bound)
    assert (tmp_path / "pieces.log").read_bytes() == (tmp_path / "whole.log").read_bytes()
    report = check_proof(tmp_path / "pieces.log", model)
    assert report.valid and report.nodes == whole.nodes
    assert sorted(file.name for file in tmp_path.iterdir()) == ["pieces.log", "whole.log"]


def test_restrictions_and_norms_are_searched_in_pieces(tmp_path: Path) -> None:
    model = _restricted()
    whole = mo.solve(model, "margin-bb")
    assert whole.status is Status.OPTIMAL and whole.nodes >= 8
    result = _in_pieces(model, tmp_path / "search.npz", whole.nodes, proof=str(tmp_path / "log"))
    assert result.objective == pytest.approx(whole.objective, rel=1e-6)
    assert check_proof(tmp_path / "log", model).valid


def test_short_memory_ends_no_search(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    model = _ramp()
    whole = mo.solve(model, "margin-bb")
    monkeypatch.setattr(algorithm, "_CAPACITY", 84)  # 20 open nodes, and a reserve of 64 for depth-first search
    result = mo.solve(model, "margin-bb", memory_limit=1.0, proof=str(tmp_path / "log"))
    assert result.status is Status.OPTIMAL and result.nodes != whole.nodes
    assert result.objective == pytest.approx(whole.objective, rel=1e-6)
    assert check_proof(tmp_path / "log", model).valid
    monkeypatch.setattr(algorithm, "_CAPACITY", 4)
    result = mo.solve(model, "margin-bb", memory_limit=1.0)
    assert result.status is Status.MEMORY_LIMIT and result.bound <= whole.objective


def test_a_start_is_taken_by_a_search_that_continues(tmp_path: Path) -> None:
    model, path = _ramp(), tmp_path / "search.npz"
    whole = mo.solve(model, "margin-bb")
    options: dict[str, Any] = {"restarts": 0, "checkpoint": str(path), "proof": str(tmp_path / "log")}
    mo.solve(model, "margin-bb", node_limit=3, **options)
    result = mo.solve(model, "margin-bb", start={"w": whole.values["w"]}, **options)
    assert result.status is Status.OPTIMAL and check_proof(tmp_path / "log", model).valid


def test_a_file_of_something_else_is_refused(tmp_path: Path) -> None:
    model, path = _ramp(), tmp_path / "search.npz"
    mo.solve(model, "margin-bb", checkpoint=str(path), node_limit=10)
    with pytest.raises(DataError):
        mo.solve(_ramp(6), "margin-bb", checkpoint=str(path))
    with pytest.raises(InputError):
        mo.solve(model, "margin-bb", checkpoint=str(path), tol=1e-2)
    with pytest.raises(InputError):
        mo.solve(model, "margin-bb", checkpoint=str(path), proof=str(tmp_path / "log"))
    content = path.read_bytes()
    for damaged in (content[: len(content) // 2], b"", b"nothing"):
        path.write_bytes(damaged)
        with pytest.raises(DataError):
            mo.solve(model, "margin-bb", checkpoint=str(path))
    path.write_bytes(content)
    with np.load(path) as arrays:
        saved = dict(arrays)
    for name, change in (("boxes", np.nan), ("keys", np.nan), ("origin", -1), ("signs", None)):
        wrong = saved[name].copy() if change is not None else np.zeros((1, 1))
        if change is not None:
            wrong.flat[0] = change
        np.savez(path, **{**saved, name: wrong})
        with pytest.raises(DataError):
            mo.solve(model, "margin-bb", checkpoint=str(path))
    path.write_bytes(content)
    assert mo.solve(model, "margin-bb", checkpoint=str(path)).status is Status.OPTIMAL
    assert not path.exists()


@pytest.mark.parametrize("value", [3, 1.0, b"x"])
def test_a_checkpoint_is_a_path(value: object) -> None:
    with pytest.raises(InputError):
        mo.solve(_ramp(), "margin-bb", checkpoint=value)
