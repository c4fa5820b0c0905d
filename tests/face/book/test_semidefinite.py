"""Semidefinite programs of the book: values and bounds in rational arithmetic on both sides of an eigenvalue."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from marginopt import book
from marginopt.book.data import build_data, data_digest
from marginopt.book.entries import Entry
from marginopt.book.semidefinite import exact_cost, exact_dual_value
from marginopt.book.solving import solved_entry
from marginopt.models.program.quadratic import is_semidefinite
from marginopt.solvers import Options

A = np.random.default_rng(3).integers(-3, 4, (4, 4))
A = A + A.T
LARGEST = float(np.linalg.eigvalsh(A)[-1])
DATA = {"kind": "sdpa", "path": "largest.dat-s"}


@pytest.fixture
def program(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Mapping[str, Any]:
    """The largest eigenvalue of A: min t + s such that tI - A ⪰ 0, t ≤ 99, s ≥ 0, the last two in a diagonal block."""
    lines = ['"a comment', "2 = variables", "2 = blocks", "{4, -2}", "{1.0, 1.0}", "0 2 1 1 -99", "1 2 1 1 -1", "2 2 2 2 1"]
    lines += [f"0 1 {i + 1} {j + 1} {A[i, j]}" for i in range(4) for j in range(i, 4)] + [f"1 1 {i} {i} 1" for i in range(1, 5)]
    (tmp_path / "largest.dat-s").write_text("\n".join(lines) + "\n")
    monkeypatch.setenv("MARGINOPT_DATA", str(tmp_path))
    return DATA


def _entry(program: Mapping[str, Any]) -> Entry:
    entry = solved_entry(
        "semidefinite/new", program, "semidefinite", {"shift": 1e-8}, options=Options(time_limit=20.0), who="a test"
    )
    assert entry is not None
    return entry


def test_a_program_becomes_a_proved_entry(program: Mapping[str, Any]) -> None:
    """The eigenvalue lies between bound and value; points below it, higher bounds and other multipliers are refused."""
    entry = _entry(program)
    assert entry.status == "closed" and book.verify_entry(entry).stands
    assert entry.bound <= LARGEST * (1 + 1e-12) and entry.value >= LARGEST * (1 - 1e-12)
    below = [LARGEST * (1 - 1e-9), 0.0]
    lower = [0.5 * number for number in entry.multipliers]
    for claim in (
        replace(entry, bound=entry.value),
        replace(entry, value=LARGEST * (1 - 1e-9), point={"x": below}, bound=0.0),
        replace(entry, multipliers=entry.multipliers[1:]),
        replace(entry, multipliers=tuple(-number for number in entry.multipliers)),
        replace(entry, multipliers=(float("nan"), *entry.multipliers[1:])),
        replace(entry, parameters={"shift": 0.0}),
        replace(entry, evidence="certificate"),
    ):
        assert book.verify_entry(claim).stands is False
    assert book.verify_entry(replace(entry, multipliers=tuple(lower))).stands is False
    assert book.remake_entry(entry).stands


def test_multipliers_bound_every_feasible_point(program: Mapping[str, Any]) -> None:
    """F_0 • Y of the restored Y, which has trace 1 and more, is below t + s for t ≥ the eigenvalue, s ≥ 0."""
    X, y = build_data(program)
    rng = np.random.default_rng(7)
    for _ in range(20):
        root = rng.integers(-3, 4, (4, 4))
        gram = root @ root.T + np.eye(4, dtype=int)
        triangle = [Fraction(int(gram[i, j]), int(np.trace(gram))) for i in range(4) for j in range(i + 1)]
        bound = exact_dual_value(X, y, [*triangle, Fraction(0), Fraction(1)])
        assert bound == sum(Fraction(int(v), int(np.trace(gram))) for v in (A * gram).ravel())
        value = exact_cost(X, y, [Fraction(LARGEST + abs(rng.normal()) + 1e-9), Fraction(abs(rng.normal()))])
        assert bound <= value


def test_models_are_stated_on_data_of_their_own_kind(program: Mapping[str, Any], tmp_path: Path) -> None:
    """A loss of costs, a program of a table, and a loss of points without labels have digests that fit, and are refused."""
    entry = _entry(program)
    (tmp_path / "t.csv").write_text("".join(f"{k % 2 * 2 - 1},{k},{k + 1},{k + 2},2\n" for k in range(6)))
    table = {"kind": "table", "path": "t.csv", "label": 0, "header": 0}
    partial = {"kind": "partly-labelled", "path": "t.csv", "label": 0, "header": 0, "share": 2}
    X, y = build_data(table)
    hinge = replace(entry, model="hinge", parameters={"lam": 1.0}, value=6.0, bound=0.0, point={"w": [0.0] * X.shape[1]})
    zeros = {"multipliers": (0.0,) * len(y)}
    assert book.verify_entry(replace(hinge, data=table, sha256=data_digest(X, y), **zeros)).stands
    assert book.verify_entry(replace(hinge, data=partial, sha256=data_digest(*build_data(partial)), **zeros)).stands is False
    assert book.verify_entry(replace(entry, data=table, sha256=data_digest(X, y))).stands is False
    X, y = build_data(program)
    costs = replace(hinge, sha256=entry.sha256, value=float(len(y)), point={"w": [0.0] * X.shape[1]}, multipliers=(0.0, 0.0))
    assert book.verify_entry(costs).stands is False


def test_semidefinite_matrices_are_those_without_negative_eigenvalues() -> None:
    rng = np.random.default_rng(11)
    signs = set()
    for _ in range(40):
        S = rng.integers(-2, 3, (3, 3))
        S = S + S.T + rng.integers(0, 5) * np.eye(3, dtype=int)
        smallest = float(np.linalg.eigvalsh(S)[0])
        if abs(smallest) > 1e-9:
            assert is_semidefinite([[Fraction(int(v)) for v in row] for row in S]) == (smallest > 0)
            signs.add(smallest > 0)
    assert signs == {True, False}
