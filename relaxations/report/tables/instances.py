"""The columns of the table of instances."""

from __future__ import annotations

from ....solvers.certification.kinds import Kind
from ..cells.heuristic import InstanceCell
from ..data import ReportData
from .column import Column

__all__ = ["SUMMARY", "instance_rows"]

#: One row: the report, and an instance at one λ.
Row = tuple[ReportData, InstanceCell]


def instance_rows(report: ReportData) -> list[Row]:
    """Rows of the table of instances."""
    return [(report, cell) for cell in report.instances]


def _known_by(row: Row) -> str:
    report, instance = row
    exacts = report.exacts_of(instance.key)
    proved = list(dict.fromkeys(c.variant for c in exacts if c.proven))
    if proved:
        how = {c.kind for c in exacts if c.proven}
        return f"{', '.join(proved)} ({(Kind.PROVED if Kind.PROVED in how else Kind.CLAIMED).value})"
    bounds = [(c.bound or 0.0, c.kind) for c in report.relaxations_of(instance.key) if c.bounds_optimum]
    bounds += [(c.bound or 0.0, c.kind) for c in exacts if c.bounds_optimum]
    return f"best bound ({max(bounds)[1]}) and best classifier" if bounds else "a classifier alone"


SUMMARY: tuple[Column, ...] = (
    Column("instance", "instance", "Name of the data set.", lambda r: r[1].instance),
    Column("source", "source", "Where it comes from and what was done to it.", lambda r: r[1].source),
    Column("n", "n", "Number of points.", lambda r: r[1].n, "count"),
    Column("positives", "n₊", "Points labelled +1.", lambda r: r[1].positives, "count"),
    Column("p", "p", "Number of features, without the intercept.", lambda r: r[1].p, "count"),
    Column("lam", "λ", "Cost of a margin violation.", lambda r: r[1].lam, "value"),
    Column(
        "zeta",
        "optimum ζ",
        "By all cells together: the least feasible objective found and, where nobody proved it, the largest bound.",
        lambda r: r[0].best[r[1].key],
        "value",
        interval=True,
    ),
    Column("zeta_kind", "known by", "proved, and by whom; else what its two ends are.", _known_by),
    Column(
        "trivial",
        "trivial",
        "yes: no classifier is known that is better than the intercept alone; means leave the instance out.",
        lambda r: "yes" if r[1].key in r[0].trivial else "",
    ),
    Column(
        "heuristic",
        "heuristic",
        "Objective of rounding and local search: the UB behind tightened M.",
        lambda r: r[1].objective,
        "value",
    ),
    Column("heuristic_seconds", "heuristic s", "Its seconds.", lambda r: r[1].seconds, "seconds"),
    Column(
        "violations",
        "margin violations",
        "Points with y x'w < 1 under the heuristic's classifier.",
        lambda r: r[1].violations,
        "count",
    ),
    Column("misclassified", "misclassified", "Points with y x'w < 0 under it.", lambda r: r[1].misclassified, "count"),
)
