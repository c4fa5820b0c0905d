"""The tables of a report, in their order, and the matrix of instances and relaxations."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

from ...display import sanitised
from ...solvers.certification.result import Kind
from .cells.exact import ExactCell
from .cells.heuristic import InstanceCell
from .cells.record import Key, where
from .columns import (
    COLUMNS,
    EXACT_COLUMNS,
    KAPPA_COLUMNS,
    Table,
    align,
    cell_text,
    columns_of,
    exact_rows,
    interval,
    percent,
)  # fmt: skip
from .data import Interval, ReportData, ReportRow, best_runs, display_name, family, label, root_gap, trait
from .means import exact_means, relaxation_means

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
        return f"{', '.join(proved)} ({_best_kind(exacts)})"
    bounds = [(c.bound or 0.0, c.kind) for c in report.relaxations_of(instance.key) if c.bounds_optimum]
    bounds += [(c.bound or 0.0, c.kind) for c in exacts if c.bounds_optimum]
    return f"best bound ({max(bounds)[1]}) and best classifier" if bounds else "a classifier alone"


def _best_kind(cells: Sequence[ExactCell]) -> str:
    """Return the best support that an optimum has among the solvers that reached it."""
    kinds = {c.kind for c in cells if c.proven}
    return next((kind.value for kind in (Kind.PROVED, Kind.STORED) if kind in kinds), Kind.CLAIMED.value)


RELAXATION_MEANS = columns_of("relaxation-means", {})
EXACT_MEANS = columns_of("exact-means", {})
SUMMARY = columns_of(
    "instances",
    {
        "known_by": _known_by,
        "zeta": lambda row: row[0].best[row[1].key],
        "trivial": lambda row: "yes" if row[1].key in row[0].trivial else "",
        "held_out": lambda row: row[1].held_out or None,
    },
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
    return tuple(
        replace(
            table, columns=[c for c in table.columns if not c.optional or any(c.value(row) is not None for row in table.rows)]
        )
        for table in tables
        if table.rows or table.name in ("instances", "relaxations")
    )


#: Tables and columns of a report in plain text; means where a family has several members.
_TEXT = {
    "instances": ("instance", "n", "lam", "zeta", "zeta_kind", "trivial", "held_out"),
    "relaxation-means": ("family", "lam", "relaxation", "instances", "gap", "q1", "median", "q3", "seconds", "test_error"),
    "exact-means": ("family", "lam", "variant", "problems", "solved", "seconds", "nodes", "left", "test_error"),
    "relaxations": ("instance", "lam", "relaxation", "bound", "kind", "gap", "closed", "recovered", "seconds", "test_error"),
    "exacts": ("instance", "lam", "solver", "status", "incumbent", "bound", "kind", "left", "nodes", "seconds", "test_error"),
}


#: Tables of means over instances, of no use for one instance.
_MEANS = ("relaxation-means", "exact-means")


def report_text(report: ReportData, tables: Sequence[Table]) -> str:
    """The main figures in plain text: contradictions, optima, means over families, relaxations, exact solves."""
    single = len({family(c) for c in report.instances}) == len(report.instances)
    parts = (
        ["\n".join(["Claims that contradict each other", *map(sanitised, report.contradictions)])]
        if report.contradictions
        else []
    )
    for table in tables:
        columns = [c for c in table.columns if c.key in _TEXT.get(table.name, ())]
        if columns and table.rows and not (single and table.name in _MEANS):
            cells = ([sanitised(cell_text(c, row)).replace("\n", " ") for c in columns] for row in table.rows)
            parts.append(f"{table.title}\n{align([[c.title for c in columns], *cells])}")
    return "\n\n".join(parts)


#: What a cell of no run says.
NOT_RUN = "not run"


@dataclass(frozen=True)
class TableCell:
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
    counts : str
        Shown beside the kind.
    open : bool
        Whether it shows an interval that nobody closed.
    """

    text: str
    note: str = ""
    kind: str = "none"
    key: float = float("inf")
    heat: float | None = None
    counts: str = ""
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
    zeta: TableCell
    gaps: tuple[TableCell, ...]
    exacts: tuple[TableCell, ...]
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
                    f"instance-{k + 1}", instance, label(instance), where(display_name(instance), instance.lam), family(instance),
                    trait(instance, "sigma"), instance.key in report.trivial, _zeta_cell(report, instance),
                    tuple(gaps.get(name, TableCell("not asked", "not part of this run")) for name in relaxations),
                    tuple(best.get(name, TableCell("not asked", "not part of this run")) for name in solvers),
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
        distinct = {name: tuple(dict.fromkeys(v for v in cell_values if v)) for name, cell_values in values.items()}
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


def _gap_cell(row: ReportRow) -> TableCell:
    cell = row.relaxation
    if cell.reason:
        return TableCell(NOT_RUN, cell.reason)
    if cell.target_bound is not None:
        words = f"{cell.target_bound:.7g} ({cell.target_kind}) bounds its own optimum alone: {cell.caveat}"
        return TableCell("no bound of ζ", words)
    if cell.bound is None:
        return TableCell("no bound", f"{cell.status}: the solve gave no bound")
    if row.gap is None:
        note = f"bound {cell.bound:.7g}, {cell.kind}; ζ may be 0, so there is no gap relative to it"
        return TableCell("no gap", note, _kind(cell.kind))
    high = row.gap.high
    return TableCell(_percent(row.gap), "", _kind(cell.kind), 100.0 * high, min(max(high, 0.0), 1.0), open=not row.gap.exact)


def _exact_cell(cell: ExactCell, best: float) -> TableCell:
    """Seconds where it proved ζ, else the interval that it leaves; nodes and root gap below."""
    if cell.reason:
        return TableCell(NOT_RUN, cell.reason)
    counted = [] if cell.nodes is None else [f"{cell.nodes:,} node{'' if cell.nodes == 1 else 's'}"]
    root = root_gap(cell, best)
    counted += [] if root is None else [f"root gap {percent(root, 1)}"]
    counts_text = ", ".join(counted)
    variant = "" if cell.variant == cell.solver else cell.variant  # which of its runs
    seconds = 0.0 if cell.solve_seconds is None else cell.solve_seconds
    if cell.caveat:
        return TableCell("no bound of ζ", f"{cell.variant}: {cell.caveat}")
    if cell.proven:
        return TableCell(f"{seconds:.3g} s", variant, _kind(cell.kind), seconds, counts=counts_text)
    low = "?" if cell.bound is None else f"{cell.bound:.5g}"
    high = "?" if cell.incumbent is None else f"{cell.incumbent:.5g}"
    note = "; ".join(filter(None, (variant, cell.status)))
    return TableCell(f"[{low}, {high}] in {seconds:.3g} s", note, _kind(cell.kind), 1e6 + seconds, counts=counts_text, open=True)


def _zeta_cell(report: ReportData, instance: InstanceCell) -> TableCell:
    zeta = report.best[instance.key]
    if zeta.exact:
        return TableCell(f"{zeta.high:.7g}", "", _kind(_best_kind(report.exacts_of(instance.key))), zeta.high)
    return TableCell(interval("value", zeta), "nobody proved it: best bound and best classifier", "none", zeta.high, open=True)
