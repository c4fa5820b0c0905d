"""The table of a sweep over κ: nothing is blank without a reason."""

from __future__ import annotations

import itertools
from dataclasses import replace

import pytest

from marginopt.relaxations import KappaCell
from marginopt.relaxations.report.tables import KAPPA_COLUMNS, cell_text

FULL = KappaCell(
    "a", 0.1, 2, "conic-ipm", status="optimal", bound=1.0, kind="proved", recovered=1.5, share=0.1, rank_ratio=1e-3,
    misclassified=1, build_seconds=0.1, solve_seconds=0.1, exact_solver="zero-one-bb", exact_status="optimal",
    exact_objective=1.4, exact_bound=1.4, exact_kind="proved", exact_nodes=7, exact_seconds=0.2,
)  # fmt: skip
UNSOLVED = {"exact_objective": None, "exact_bound": None, "exact_nodes": None, "exact_seconds": None}
BLANKS = [
    {"bound": None, "kind": "none"},
    {"recovered": None, "misclassified": None},
    {**UNSOLVED, "exact_status": "not run: no licence"},
    {"share": None, "rank_ratio": None},
    {"rank_ratio": None},
    {"exact_objective": 0.0},
]
NUMBERS = ("bound", "recovered", "zeta", "exact_nodes", "exact_seconds", "gap", "share", "rank_ratio", "misclassified", "seconds")


def blank(cell: KappaCell) -> list[str]:
    return [c.key for c in KAPPA_COLUMNS if c.key in NUMBERS and not cell_text(c, cell)]


def why(cell: KappaCell) -> str:
    return cell_text(next(c for c in KAPPA_COLUMNS if c.key == "why"), cell)


def test_a_full_row_has_nothing_to_explain() -> None:
    assert blank(FULL) == []
    assert why(FULL) == ""


@pytest.mark.parametrize("count", [1, 2, 3])
def test_every_blank_has_its_reason(count: int) -> None:
    for chosen in itertools.combinations(BLANKS, count):
        cell = FULL
        for change in chosen:
            cell = replace(cell, **change)  # type: ignore[arg-type]
        assert blank(cell)
        values = {
            "no bound": cell.bound is None,
            "no choice of 2 points": cell.recovered is None,
            "no licence": cell.exact_nodes is None,
            "no rank": cell.rank_ratio is None,
            "no gap": cell.exact_objective == 0.0,
        }
        assert {words: words in why(cell) for words in values} == values


def test_what_did_not_run_or_cannot_be() -> None:
    assert why(KappaCell("a", 0.1, 2, "mosek", reason="no licence")) == "not run: no licence"
    assert "no point, no gap and no rank" in why(KappaCell("a", 0.0, 0, "clarabel", status="infeasible"))


def test_the_printed_report_has_the_sweep() -> None:
    printed = [c.key for c in KAPPA_COLUMNS if c.in_text]
    assert printed == ["instance", "kappa", "bound", "kind", "zeta", "gap", "rank_ratio", "status", "seconds"]
