"""The matrix of a gap report: gaps by instance and relaxation, beside them the best run of every exact solver."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from ...solvers.certification.result import Kind
from .cells import ExactCell, InstanceCell, Key, where
from .data import Interval, ReportData, ReportRow, best_runs, display_name, family, label, root_gap, trait
from .tables import best_kind, interval, percent

#: What a cell of no run says.
NOT_RUN = "not run"


@dataclass(frozen=True)
class TableCell:
    """One cell of the matrix.

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
        """Return the key of an interval; other texts begin with their number, or have none."""
        return f"{self.key:.6g}" if self.open else ""


@dataclass(frozen=True)
class MatrixRow:
    """The row of one instance at one λ.

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
    zeta : TableCell
    gaps, exacts : tuple of TableCell
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
    """The matrix: a row for each instance and λ, a column for each relaxation and each exact solver."""

    relaxations: tuple[str, ...]
    solvers: tuple[str, ...]
    rows: tuple[MatrixRow, ...]

    @classmethod
    def of(cls, report: ReportData) -> Matrix:
        """Return the matrix of a report."""
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
                MatrixRow(
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
        """Return the columns without a run on any instance, with the reason, which the page says once."""
        idle = {}
        for names, cells in ((self.relaxations, [r.gaps for r in self.rows]), (self.solvers, [r.exacts for r in self.rows])):
            for name, column in zip(names, zip(*cells, strict=True), strict=False):
                if all(cell.text == NOT_RUN for cell in column):
                    idle[name] = column[0].note
        return idle

    @property
    def filters(self) -> dict[str, tuple[str, ...]]:
        """Return the parameters in which the instances differ, with their values as the rows have them."""
        values = {
            "family": [row.family for row in self.rows],
            "n": [_number_text(row.instance.n) for row in self.rows],
            "p": [_number_text(row.instance.p) for row in self.rows],
            "sigma": [_number_text(row.sigma) for row in self.rows],
            "lam": [_number_text(row.instance.lam) for row in self.rows],
        }
        distinct = {name: tuple(dict.fromkeys(v for v in cell_values if v)) for name, cell_values in values.items()}
        return {name: tuple(sorted(v, key=_order)) for name, v in distinct.items() if len(v) > 1}


def _number_text(value: float | None) -> str:
    return "" if value is None else f"{value:g}"


def _order(word: str) -> tuple[float, str]:
    try:
        return float(word), ""
    except ValueError:
        return float("inf"), word


def _kind(kind: str) -> str:
    """Return the kind of a bound in one word."""
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
    """Return the seconds of a proof of ζ, else the interval that remains; nodes and root gap stand below."""
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
        return TableCell(f"{zeta.high:.7g}", "", _kind(best_kind(report.exacts_of(instance.key))), zeta.high)
    return TableCell(interval("value", zeta), "nobody proved it: best bound and best classifier", "none", zeta.high, open=True)
