"""Columns of the tables of means over instances, and the tables of a report in their order."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from ..means import FACTORS, exact_means, relaxation_means
from ..table import GapReport
from .exacts import EXACT_COLUMNS, KAPPA_COLUMNS, exact_rows
from .relaxations import COLUMNS, SUMMARY, Column, best_rows

__all__ = ["EXACT_MEANS", "RELAXATION_MEANS", "Table", "report_tables"]


@dataclass(frozen=True, eq=False)
class Table:
    """A table of a report.

    Parameters
    ----------
    name, title : str
    columns : sequence of Column
    rows : sequence
    note : str
        What to know before reading it.
    """

    name: str
    title: str
    columns: Sequence[Column]
    rows: Sequence[Any]
    note: str = ""


def _within(k: int) -> Callable[[Any], Any]:
    return lambda row: row.within[k]


EXACT_MEANS: tuple[Column, ...] = (
    Column("variant", "exact variant", "Solver, and its encoding and M where they are not the usual ones.", lambda r: r.variant),
    Column("problems", "problems", "Instances × λ × seeds.", lambda r: r.problems, "count"),
    Column("solved", "proved", "Problems whose optimum it proved.", lambda r: r.solved, "count"),
    Column("fastest", "fastest", "Problems that nobody proved sooner.", lambda r: r.fastest, "count"),
    Column(
        "seconds",
        "mean s",
        "Shifted geometric mean (shift 1 s) of the times, preparation included; a run that was stopped counts with its time.",
        lambda r: r.seconds,
        "seconds",
    ),
    Column("nodes", "mean nodes", "Shifted geometric mean (shift 10) of the nodes.", lambda r: r.nodes, "value"),
    Column(
        "misclassified",
        "mean misclassified",
        "Mean number of points with y x'w < 0 under its classifiers.",
        lambda r: r.misclassified,
        "value",
    ),
    *(
        Column(f"within_{f:g}", f"within {f:g}x", f"Part of the problems proved within {f:g} times the fastest time.", _within(k),
               "percent")
        for k, f in enumerate(FACTORS)
    ),
)  # fmt: skip

RELAXATION_MEANS: tuple[Column, ...] = (
    Column("relaxation", "relaxation", "What is solved in place of the 0-1 problem.", lambda r: r.relaxation),
    Column("instances", "instances", "Instances where its bound is one of the optimum.", lambda r: r.instances, "count"),
    Column("gap", "mean gap", "Mean of (ζ - bound)/ζ, the upper end where ζ is unproven.", lambda r: r.gap, "percent"),
    Column(
        "closed", "mean gap closed", "Mean of the part of the base big-M's gap that it closes.", lambda r: r.closed, "percent"
    ),
    Column("seconds", "mean s", "Shifted geometric mean (shift 1 s) of its times.", lambda r: r.seconds, "seconds"),
)


def report_tables(report: GapReport) -> list[Table]:
    """The tables of a report: those without rows are left out, except the first two."""
    exact = "; the exact solver's run that says most" if len(report.exacts) > len(report.instances) else ""
    note = f"A row for each instance × relaxation × exact solver{exact}."
    tables = [
        Table("instances", "Instances", SUMMARY, best_rows(report)),
        Table("relaxation-means", "Relaxations over all instances", RELAXATION_MEANS, relaxation_means(report)),
        Table("exact-means", "Exact solves over all instances", EXACT_MEANS, exact_means(report)),
        Table("relaxations", "Relaxations", COLUMNS, report.rows, note),
        Table("exacts", "Exact solves", EXACT_COLUMNS, exact_rows(report)),
        Table("kappas", "Sweep over κ", KAPPA_COLUMNS, report.kappas, "The κ form: min ||w||² with at most κn violations."),
    ]
    return [table for table in tables if table.rows or table.name in ("instances", "relaxations")]
