"""The columns of the table of a sweep over κ."""

from __future__ import annotations

from ..cells.kappa import KappaCell
from .column import Column

__all__ = ["KAPPA_COLUMNS"]


def _gap(cell: KappaCell) -> float | None:
    if cell.bound is None or cell.recovered is None or cell.recovered <= 0.0:
        return None
    return (cell.recovered - cell.bound) / cell.recovered


def _missing(cell: KappaCell) -> str:
    """Why a number of the row is empty: nothing is blank without a reason."""
    if cell.reason:
        return f"not run: {cell.reason}"
    if cell.status == "infeasible":
        return f"no classifier violates at most {cell.budget} margins"
    missing = ["no bound: the solve ended without one"] if cell.bound is None else []
    if cell.recovered is None:
        missing.append(f"no choice of {cell.budget} points to give up that leaves the rest separable was found")
    elif cell.recovered <= 0.0:
        missing.append("no gap: w = 0 is within the budget, the optimum is 0")
    return "; ".join(missing)


KAPPA_COLUMNS: tuple[Column, ...] = (
    Column("instance", "instance", "Name of the data set.", lambda c: c.instance),
    Column("kappa", "κ", "Part of the points that may violate their margin.", lambda c: c.kappa, "value"),
    Column("budget", "⌊κn⌋", "Violations that the 0-1 problem allows.", lambda c: c.budget, "count"),
    Column("bound", "bound", "Lower bound of min ||w||² with at most ⌊κn⌋ violations.", lambda c: c.bound, "value"),
    Column(
        "kind", "kind of bound", "proved, claimed by solver, or none.", lambda c: c.kind
    ),
    Column(
        "recovered",
        "recovered",
        "||w||² of a classifier with at most ⌊κn⌋ violations, found by choosing the points to keep: an upper bound.",
        lambda c: c.recovered,
        "value",
    ),
    Column("gap", "gap", "(recovered - bound)/recovered: at least the relaxation's gap.", _gap, "percent"),
    Column("share", "Σz/n", "Mean of z at the relaxation's point.", lambda c: c.share, "percent"),
    Column("rank_ratio", "rank ratio", "Second over first eigenvalue of W.", lambda c: c.rank_ratio, "ratio"),
    Column("misclassified", "misclassified", "Under the recovered classifier.", lambda c: c.misclassified, "count"),
    Column("status", "status", "How the solve ended.", lambda c: c.status),
    Column("seconds", "s", "Seconds of solving.", lambda c: c.solve_seconds, "seconds"),
    Column("why", "what is missing, and why", "Why a bound, a classifier or a gap is missing.", _missing),
)
