"""The tables of a report, in their order."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ....solvers.certification.result import Kind
from ..cells.heuristic import InstanceCell
from ..data import ReportData
from ..means import FACTORS, NODES, SECONDS, TOLERANCES, exact_means, relaxation_means
from .column import Column, Table
from .exacts import EXACT_COLUMNS, exact_rows
from .kappas import KAPPA_COLUMNS
from .relaxations import COLUMNS

__all__ = ["report_tables"]

# Columns of the tables of means over the instances of a family at one λ.


def _at(name: str, k: int) -> Callable[[Any], Any]:
    return lambda row: getattr(row, name)[k]


_GROUP = (
    Column("family", "family", "Instances whose names differ in n, p, σ or τ alone.", lambda r: r.family),
    Column("lam", "λ", "Cost of a margin violation.", lambda r: r.lam, "value"),
)

RELAXATION_MEANS: tuple[Column, ...] = (
    *_GROUP,
    Column("relaxation", "relaxation", "What is solved in place of the problem.", lambda r: r.relaxation),
    Column(
        "instances",
        "instances",
        "Instances where its bound is one of ζ, those of trivial optimum left out.",
        lambda r: r.instances,
        "count",
    ),
    Column("gap", "mean gap", "Mean of (ζ - bound)/ζ, the upper end where ζ is unproven.", lambda r: r.gap, "percent"),
    *(
        Column(name, title, f"{what} of the same gaps.", _at("quartiles", k), "percent")
        for k, (name, title, what) in enumerate(
            (
                ("q1", "lower quartile", "Lower quartile"),
                ("median", "median gap", "Median"),
                ("q3", "upper quartile", "Upper quartile"),
            )
        )
    ),
    Column(
        "closed", "mean gap closed", "Mean of the part of the base big-M's gap that it closes.", lambda r: r.closed, "percent"
    ),
    Column("exact", "exact", "Instances where its bound is ζ up to 0.01%.", lambda r: r.exact, "count"),
    Column("seconds", "mean s", f"Shifted geometric mean (shift {SECONDS:g} s) of its times.", lambda r: r.seconds, "seconds"),
)

EXACT_MEANS: tuple[Column, ...] = (
    *_GROUP,
    Column(
        "variant",
        "exact variant",
        "Solver, encoding and M where they are not the usual ones; virtual best: for each problem whoever solved it soonest.",
        lambda r: r.variant,
    ),
    Column("problems", "problems", "Instances × seeds, those of trivial optimum left out.", lambda r: r.problems, "count"),
    Column("solved", "solved", "Problems whose optimum it proved, or claims to have: the details have the kind of each bound.",
           lambda r: r.solved, "count"),
    Column(
        "right",
        "right statuses",
        "Part of its claims «optimal» that no better classifier contradicts; empty without such a claim.",
        lambda r: r.right,
        "percent",
    ),
    Column("fastest", "fastest", "Problems that nobody solved sooner.", lambda r: r.fastest, "count"),
    Column(
        "seconds",
        "mean s",
        f"Shifted geometric mean (shift {SECONDS:g} s) of the times, preparation included; a stopped run counts with its time.",
        lambda r: r.seconds,
        "seconds",
    ),
    Column("nodes", "mean nodes", f"Shifted geometric mean (shift {NODES:g}) of the nodes.", lambda r: r.nodes, "mean"),
    Column("root_gap", "root gap", "Mean of (ζ - root bound)/ζ, where it tells a root bound.", lambda r: r.root_gap, "percent"),
    Column("left", "gap left", "Mean of (incumbent - bound)/incumbent of its unsolved runs.", lambda r: r.left, "percent"),
    *(
        Column(f"reached_{t:g}", f"gap ≤ {t:.2%}", f"Part of the problems with a gap of at most {t:.2%}.", _at("reached", k),
               "percent")
        for k, t in enumerate(TOLERANCES)
    ),
    Column(
        "integral",
        "primal-dual integral",
        "Mean of ∫ (incumbent - bound)/incumbent dt up to the time limit, in seconds (Berthold 2013), 1 while either is missing.",
        lambda r: r.integral,
        "seconds",
    ),
    Column(
        "misclassified",
        "mean misclassified",
        "Mean number of points with y x'w < 0 under its classifiers.",
        lambda r: r.misclassified,
        "mean",
    ),
    *(
        Column(f"within_{f:g}", f"within {f:g}x", f"Part of the problems solved within {f:g} times the fastest time.",
               _at("within", k), "percent", drawn=True)  # in the profiles
        for k, f in enumerate(FACTORS)
    ),
)  # fmt: skip


# The columns of the table of instances.

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


def report_tables(report: ReportData) -> tuple[Table, ...]:
    """The tables of a report: those without rows are left out, except the first and the relaxations."""
    means = "A row for each family and λ."
    if report.trivial:
        out = f"{len(report.trivial)} of {len(report.instances)} instances"
        means += f" {out}, whose best known classifier is the intercept, are left out."
    tables = [
        Table("instances", "Instances", SUMMARY, instance_rows(report)),
        Table("relaxation-means", "Relaxations over instances", RELAXATION_MEANS, relaxation_means(report), means),
        Table("exact-means", "Exact solves over instances", EXACT_MEANS, exact_means(report), means),
        Table("relaxations", "Relaxations", COLUMNS, report.rows, "A row for each instance × relaxation."),
        Table("exacts", "Exact solves", EXACT_COLUMNS, exact_rows(report), "A row for each run."),
        Table("kappas", "Sweep over κ", KAPPA_COLUMNS, report.kappas, "The κ form: min ||w||² with at most κn violations."),
    ]
    return tuple(table for table in tables if table.rows or table.name in ("instances", "relaxations"))
