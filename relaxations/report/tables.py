"""The tables of a report, in their order, and the matrix of instances and relaxations."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from ...solvers.certification.result import Kind
from .cells.exact import ExactCell
from .cells.heuristic import InstanceCell
from .cells.record import Key, where
from .columns import COLUMNS, EXACT_COLUMNS, KAPPA_COLUMNS, Column, Table, exact_rows, interval, percent
from .data import Interval, ReportData, ReportRow, best_runs, family, label, root_gap, titled, trait
from .means import FACTORS, NODES, SECONDS, TOLERANCES, exact_means, relaxation_means

__all__ = ["Cell", "Matrix", "Row", "report_tables"]


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
InstanceRow = tuple[ReportData, InstanceCell]


def instance_rows(report: ReportData) -> list[InstanceRow]:
    """Rows of the table of instances."""
    return [(report, cell) for cell in report.instances]


def _known_by(row: InstanceRow) -> str:
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


#: What a cell of no run says.
NOT_RUN = "not run"


@dataclass(frozen=True)
class Cell:
    """One cell.

    Parameters
    ----------
    text : str
        Interval or number, or why there is none in a few words.
    note : str
        What the details do not say: why there is no number, or how several were chosen from.
    kind : str
        "proved", "claimed", "none", shown below the text unless it is none.
    key : float
        What it sorts by; infinite where there is nothing.
    heat : float or None
        Between 0 and 1; None where there is no gap.
    more : str
        Shown beside the kind.
    open : bool
        Whether it shows an interval that nobody closed.
    """

    text: str
    note: str = ""
    kind: str = "none"
    key: float = float("inf")
    heat: float | None = None
    more: str = ""
    open: bool = False

    @property
    def sort(self) -> str:
        """The key of an interval; other texts begin with their number, or have none."""
        return f"{self.key:.6g}" if self.open else ""


@dataclass(frozen=True)
class Row:
    """One instance at one λ.

    Parameters
    ----------
    anchor : str
        Of its details.
    instance : InstanceCell
    label, title : str
        Its name without n and p; all of it and λ, as pictures say it.
    family : str
    sigma : float or None
    trivial : bool
    zeta : Cell
    gaps, exacts : tuple of Cell
        One for each column of the matrix.
    details : tuple of ReportRow
    runs : tuple of ExactCell
    """

    anchor: str
    instance: InstanceCell
    label: str
    title: str
    family: str
    sigma: float | None
    trivial: bool
    zeta: Cell
    gaps: tuple[Cell, ...]
    exacts: tuple[Cell, ...]
    details: tuple[ReportRow, ...]
    runs: tuple[ExactCell, ...]


@dataclass(frozen=True)
class Matrix:
    """Columns and rows."""

    relaxations: tuple[str, ...]
    solvers: tuple[str, ...]
    rows: tuple[Row, ...]

    @classmethod
    def of(cls, report: ReportData) -> Matrix:
        """The matrix of a report."""
        relaxations = tuple(dict.fromkeys(c.relaxation for c in report.relaxations))
        solvers = tuple(dict.fromkeys(c.solver for c in report.exacts))
        by_key: dict[Key, list[ReportRow]] = {}
        for row in report.rows:
            by_key.setdefault(row.instance.key, []).append(row)
        rows = []
        for k, instance in enumerate(report.instances):
            details, runs = by_key.get(instance.key, []), report.exacts_of(instance.key)
            gaps = {row.relaxation.relaxation: _gap_cell(row) for row in details}
            best = {run.solver: _exact_cell(run, report.best[instance.key].high) for run in best_runs(runs)}
            rows.append(
                Row(
                    f"instance-{k + 1}", instance, label(instance), where(titled(instance), instance.lam), family(instance),
                    trait(instance, "sigma"), instance.key in report.trivial, _zeta_cell(report, instance),
                    tuple(gaps.get(name, Cell("not asked", "not part of this run")) for name in relaxations),
                    tuple(best.get(name, Cell("not asked", "not part of this run")) for name in solvers),
                    tuple(details), tuple(runs),
                )
            )  # fmt: skip
        return cls(relaxations, solvers, tuple(rows))

    @cached_property
    def idle(self) -> dict[str, str]:
        """Columns without a run on any instance, with the reason: the page says it once, and leaves them out until asked."""
        idle = {}
        for names, cells in ((self.relaxations, [r.gaps for r in self.rows]), (self.solvers, [r.exacts for r in self.rows])):
            for name, column in zip(names, zip(*cells, strict=True), strict=False):
                if all(cell.text == NOT_RUN for cell in column):
                    idle[name] = column[0].note
        return idle

    @property
    def filters(self) -> dict[str, tuple[str, ...]]:
        """Parameters in which the instances differ, with their values as the rows say them."""
        values = {
            "family": [row.family for row in self.rows],
            "n": [_word(row.instance.n) for row in self.rows],
            "p": [_word(row.instance.p) for row in self.rows],
            "sigma": [_word(row.sigma) for row in self.rows],
            "lam": [_word(row.instance.lam) for row in self.rows],
        }
        distinct = {name: tuple(dict.fromkeys(v for v in given if v)) for name, given in values.items()}
        return {name: tuple(sorted(v, key=_order)) for name, v in distinct.items() if len(v) > 1}


def _word(value: float | None) -> str:
    return "" if value is None else f"{value:g}"


def _order(word: str) -> tuple[float, str]:
    try:
        return float(word), ""
    except ValueError:
        return float("inf"), word


def _kind(kind: str) -> str:
    """The kind of a bound in the room of a cell; in full where a condition belongs to it."""
    return "claimed" if kind == Kind.CLAIMED else kind


def _percent(value: Interval) -> str:
    if value.exact:
        return percent(value.high, 2)
    return interval("percent", value)


def _gap_cell(row: ReportRow) -> Cell:
    cell = row.relaxation
    if cell.reason:
        return Cell(NOT_RUN, cell.reason)
    if cell.target_bound is not None:
        words = f"{cell.target_bound:.7g} ({cell.target_kind}) bounds its own optimum alone: {cell.caveat}"
        return Cell("no bound of ζ", words)
    if cell.bound is None:
        return Cell("no bound", f"{cell.status}: the solve gave no bound")
    if row.gap is None:
        note = f"bound {cell.bound:.7g}, {cell.kind}; ζ may be 0, so there is no gap relative to it"
        return Cell("no gap", note, _kind(cell.kind))
    high = row.gap.high
    return Cell(_percent(row.gap), "", _kind(cell.kind), 100.0 * high, min(max(high, 0.0), 1.0), open=not row.gap.exact)


def _exact_cell(cell: ExactCell, best: float) -> Cell:
    """Seconds where it proved ζ, else the interval that it leaves; nodes and root gap below."""
    if cell.reason:
        return Cell(NOT_RUN, cell.reason)
    counted = [] if cell.nodes is None else [f"{cell.nodes:,} node{'' if cell.nodes == 1 else 's'}"]
    root = root_gap(cell, best)
    counted += [] if root is None else [f"root gap {percent(root, 1)}"]
    more = ", ".join(counted)
    how = "" if cell.variant == cell.solver else cell.variant  # which of its runs
    seconds = 0.0 if cell.solve_seconds is None else cell.solve_seconds
    if cell.caveat:
        return Cell("no bound of ζ", f"{cell.variant}: {cell.caveat}")
    if cell.proven:
        return Cell(f"{seconds:.3g} s", how, _kind(cell.kind), seconds, more=more)
    low = "?" if cell.bound is None else f"{cell.bound:.5g}"
    high = "?" if cell.incumbent is None else f"{cell.incumbent:.5g}"
    note = "; ".join(filter(None, (how, cell.status)))
    return Cell(f"[{low}, {high}] in {seconds:.3g} s", note, _kind(cell.kind), 1e6 + seconds, more=more, open=True)


def _zeta_cell(report: ReportData, instance: InstanceCell) -> Cell:
    zeta = report.best[instance.key]
    if zeta.exact:
        kinds = {c.kind for c in report.exacts_of(instance.key) if c.proven}
        kind = Kind.PROVED.value if Kind.PROVED in kinds else Kind.CLAIMED.value
        return Cell(f"{zeta.high:.7g}", "", _kind(kind), zeta.high)
    return Cell(interval("value", zeta), "nobody proved it: best bound and best classifier", "none", zeta.high, open=True)
