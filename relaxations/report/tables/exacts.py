"""The columns of the table of exact solves."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..cells.exact import STRUCTURED, ExactCell
from ..cells.heuristic import InstanceCell
from ..data import ReportData
from ..gaps import gap_left, root_gap
from .column import Column

__all__ = ["EXACT_COLUMNS", "exact_rows"]

#: One row of the table of exact solves: the instance, the solve, the least objective known of the instance.
ExactRow = tuple[InstanceCell, ExactCell, float]


def exact_rows(report: ReportData) -> list[ExactRow]:
    """Rows of the table of exact solves."""
    by_key = {c.key: c for c in report.instances}
    return [(by_key[c.key], c, report.best[c.key].high) for c in report.exacts]


def _of(name: str) -> Callable[[Any], Any]:
    return lambda row: getattr(row[1], name)


def _root_gap(row: ExactRow) -> float | None:
    return root_gap(row[1], row[2])


def _encoding(row: ExactRow) -> str:
    return "the data" if row[1].encoding == STRUCTURED else row[1].encoding


def _how(row: ExactRow) -> str:
    cell = row[1]
    if cell.reason:
        return cell.reason
    return cell.status if not cell.caveat else f"{cell.status}; no bound of the optimum: {cell.caveat}"


EXACT_COLUMNS: tuple[Column, ...] = (
    Column("instance", "instance", "Name of the data set.", lambda r: r[0].instance),
    Column("n", "n", "Number of points.", lambda r: r[0].n, "count"),
    Column("lam", "λ", "Cost of a margin violation.", lambda r: r[0].lam, "value"),
    Column("solver", "solver", "Solver of the problem itself.", _of("solver")),
    Column("encoding", "reads", "How the problem is said to it: an encoding, or the data themselves.", _encoding),
    Column("m_source", "M", "Where its big-M constants come from; empty without M.", _of("m_source")),
    Column("seed", "seed", "The solver's seed.", _of("seed"), "count"),
    Column("status", "status", "optimal, or the limit that stopped it, or why it did not run or is not exact.", _how),
    Column("incumbent", "incumbent", "True objective of its classifier, recomputed from w.", _of("incumbent"), "value"),
    Column("bound", "bound", "Its lower bound when it stopped.", _of("bound"), "value"),
    Column("kind", "kind of bound", "proved by our own solver from dual points, or claimed by the solver.", _of("kind")),
    Column("root", "root bound", "The bound after the root node, where the solver gives one.", _of("root"), "value"),
    Column("root_gap", "root gap", "(ζ - root bound)/ζ with the least objective known for ζ.", _root_gap, "percent"),
    Column("left", "gap left", "(incumbent - bound)/incumbent when it stopped.", lambda r: gap_left(r[1]), "percent"),
    Column("nodes", "nodes", "Nodes of its tree.", _of("nodes"), "count"),
    Column("violations", "margin violations", "Points with y x'w < 1 under its classifier.", _of("violations"), "count"),
    Column("misclassified", "misclassified", "Points with y x'w < 0 under it.", _of("misclassified"), "count"),
    Column("seconds", "s", "Seconds of solving.", _of("solve_seconds"), "seconds"),
    Column("bound_seconds", "s to bound", "When its bound first was the final one.", _of("bound_seconds"), "seconds"),
    Column(
        "prepare_seconds",
        "s before",
        "Seconds of the relaxation behind the strengthened encoding, not counted in the others.",
        _of("prepare_seconds"),
        "seconds",
    ),
)
