"""Columns of the tables of exact solves and of the sweep over κ."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..cells.kappa_record import KappaCell
from ..cells.records import STRUCTURED, ExactCell, InstanceCell
from ..table import GapReport
from .relaxations import Column

__all__ = ["EXACT_COLUMNS", "KAPPA_COLUMNS", "exact_rows"]

#: One row of the table of exact solves: the instance, the solve, the least objective known of the instance.
ExactRow = tuple[InstanceCell, ExactCell, float]


def exact_rows(report: GapReport) -> list[ExactRow]:
    """Rows of the table of exact solves."""
    by_key = {c.key: c for c in report.instances}
    return [(by_key[c.key], c, report.best[c.key].high) for c in report.exacts]


def _of(name: str) -> Callable[[Any], Any]:
    return lambda row: getattr(row[1], name)


def _root_gap(row: ExactRow) -> float | None:
    _, cell, best = row
    return None if cell.root is None or best <= 0.0 else (best - cell.root) / best


def _encoding(row: ExactRow) -> str:
    return "the data" if row[1].encoding == STRUCTURED else row[1].encoding


def _how(row: ExactRow) -> str:
    cell = row[1]
    if cell.reason:
        return cell.reason
    return cell.status if not cell.caveat else f"{cell.status}; no bound of the optimum: {cell.caveat}"


def _kappa_gap(cell: KappaCell) -> float | None:
    if cell.bound is None or cell.recovered is None or cell.recovered <= 0.0:
        return None
    return (cell.recovered - cell.bound) / cell.recovered


EXACT_COLUMNS: tuple[Column, ...] = (
    Column("instance", "instance", "Name of the data set.", lambda r: r[0].instance),
    Column("n", "n", "Number of points.", lambda r: r[0].n, "count"),
    Column("lam", "λ", "Cost of a margin violation.", lambda r: r[0].lam, "value"),
    Column("solver", "solver", "Solver of the 0-1 problem itself.", _of("solver")),
    Column("encoding", "reads", "How the problem is said to it: an encoding, or the data themselves.", _encoding),
    Column("m_source", "M", "Where its big-M constants come from; empty without M.", _of("m_source")),
    Column("seed", "seed", "The solver's seed.", _of("seed"), "count"),
    Column("status", "status", "optimal, or the limit that stopped it, or why it did not run or is not exact.", _how),
    Column("incumbent", "incumbent", "True 0-1 objective of its classifier, recomputed from w.", _of("incumbent"), "value"),
    Column("bound", "bound", "Its lower bound when it stopped.", _of("bound"), "value"),
    Column("kind", "kind of bound", "proved by our own solver from dual points, or claimed by the solver.", _of("kind")),
    Column("root", "root bound", "The bound after the root node, where the solver gives one.", _of("root"), "value"),
    Column("root_gap", "root gap", "(ζ - root bound)/ζ with the least objective known for ζ.", _root_gap, "percent"),
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

KAPPA_COLUMNS: tuple[Column, ...] = (
    Column("instance", "instance", "Name of the data set.", lambda c: c.instance),
    Column("kappa", "κ", "Part of the points that may violate their margin.", lambda c: c.kappa, "value"),
    Column("budget", "⌊κn⌋", "Violations that the 0-1 problem allows.", lambda c: c.budget, "count"),
    Column("bound", "bound", "Lower bound of min ||w||² with at most ⌊κn⌋ violations.", lambda c: c.bound, "value"),
    Column(
        "kind", "kind of bound", "proved, or claimed by solver, or why there is none.", lambda c: c.reason if c.reason else c.kind
    ),
    Column(
        "recovered",
        "recovered",
        "||w||² of a classifier with at most ⌊κn⌋ violations, found by choosing the points to keep: an upper bound; empty where "
        "no separable choice was found.",
        lambda c: c.recovered,
        "value",
    ),
    Column("gap", "gap", "(recovered - bound)/recovered: at least the relaxation's gap.", _kappa_gap, "percent"),
    Column("share", "Σz/n", "Mean of z at the relaxation's point.", lambda c: c.share, "percent"),
    Column("rank_ratio", "rank ratio", "Second over first eigenvalue of W.", lambda c: c.rank_ratio, "ratio"),
    Column("misclassified", "misclassified", "Under the recovered classifier.", lambda c: c.misclassified, "count"),
    Column("status", "status", "How the solve ended.", lambda c: c.status),
    Column("seconds", "s", "Seconds of solving.", lambda c: c.solve_seconds, "seconds"),
)
