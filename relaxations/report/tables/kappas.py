"""The columns of the table of a sweep over κ."""

from __future__ import annotations

from ..cells.kappa import KappaCell
from ..gaps import Interval, gap
from .column import Column

__all__ = ["KAPPA_COLUMNS"]


def _optimum(cell: KappaCell) -> Interval | None:
    """Least ||w||² within the budget: what the exact solve proved, else between the best bound and the best classifier."""
    objectives = [v for v in (cell.recovered, cell.exact_objective) if v is not None]
    if not objectives:
        return None
    high = min(objectives)
    if cell.proven or high <= 0.0:
        return Interval(high, high)
    bounds = [v for v in (cell.bound, cell.exact_bound) if v is not None]
    return Interval(min(max([0.0, *bounds]), high), high)


def _gap(cell: KappaCell) -> Interval | None:
    zeta = _optimum(cell)
    return None if cell.bound is None or zeta is None else gap(cell.bound, zeta)


def _known_by(cell: KappaCell) -> str:
    if cell.proven:
        return f"{cell.exact_solver}, {cell.exact_kind}"
    return cell.exact_status if not cell.exact_solver else f"{cell.exact_solver}: {cell.exact_status}"


def _missing(cell: KappaCell) -> str:
    """Why a number of the row is empty: nothing is blank without a reason."""
    if cell.reason:
        return f"not run: {cell.reason}"
    if "infeasible" in (cell.status, cell.exact_status):
        return f"no classifier violates at most {cell.budget} margins, so there is no point, no gap and no rank"
    zeta = _optimum(cell)
    reasons = {
        "no bound: the solve ended without one": cell.bound is None,
        f"no choice of {cell.budget} points to give up that leaves the rest separable was found": cell.recovered is None,
        "no gap: w = 0 is within the budget, the optimum is 0": zeta is not None and zeta.high <= 0.0,
        "no Σz and no rank: without violations to give away it is a quadratic program, or the solve left no point": (
            cell.share is None or cell.rank_ratio is None
        ),
        f"no nodes or time of an exact solve ({cell.exact_status})": cell.exact_nodes is None or cell.exact_seconds is None,
    }
    return "; ".join(reason for reason, holds in reasons.items() if holds)


KAPPA_COLUMNS: tuple[Column, ...] = (
    Column("instance", "instance", "Name of the data set.", lambda c: c.instance),
    Column("kappa", "κ", "Part of the points that may violate their margin.", lambda c: c.kappa, "value"),
    Column("budget", "⌊κn⌋", "Violations that the 0-1 problem allows.", lambda c: c.budget, "count"),
    Column("bound", "bound", "Lower bound of min ||w||² with at most ⌊κn⌋ violations.", lambda c: c.bound, "value"),
    Column("kind", "kind of bound", "proved, claimed by solver, or none.", lambda c: c.kind),
    Column(
        "recovered",
        "recovered",
        "||w||² of a classifier with at most ⌊κn⌋ violations, found by choosing the points to keep: an upper bound.",
        lambda c: c.recovered,
        "value",
    ),
    Column(
        "zeta",
        "optimum",
        "Least ||w||² within the budget; an interval where no exact solve proved it.",
        _optimum,
        "value",
        interval=True,
    ),
    Column("zeta_kind", "known by", "The exact solver, and the kind of its bound; or why there is none.", _known_by),
    Column("exact_nodes", "nodes", "Nodes of the exact solve.", lambda c: c.exact_nodes, "count"),
    Column("exact_seconds", "exact s", "Seconds of the exact solve.", lambda c: c.exact_seconds, "seconds"),
    Column(
        "gap",
        "gap",
        "(optimum - bound)/optimum of the relaxation; an interval where the optimum is one.",
        _gap,
        "percent",
        interval=True,
    ),
    Column("share", "Σz/n", "Mean of z at the relaxation's point.", lambda c: c.share, "percent"),
    Column("rank_ratio", "rank ratio", "Second over first eigenvalue of W.", lambda c: c.rank_ratio, "ratio"),
    Column("misclassified", "misclassified", "Under the recovered classifier.", lambda c: c.misclassified, "count"),
    Column("status", "status", "How the solve ended.", lambda c: c.status),
    Column("seconds", "s", "Seconds of solving.", lambda c: c.solve_seconds, "seconds"),
    Column("why", "what is missing, and why", "Why a bound, a classifier or a gap is missing.", _missing),
)
