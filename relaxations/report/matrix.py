"""The main table of a gap report: the gap of each relaxation on each problem, beside the best run of each exact solver.

ζ is the optimum of a problem, λ the cost of a margin violation, the gap (ζ - bound)/|ζ|, the root gap that of the bound after the
root node. The variant of a run is its solver with the encoding and the source of the big-M constants.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from ...solvers.certification.result import BoundKind
from .cells import CellKey, ExactCell, InstanceCell, problem_label
from .report_data import (
    Interval,
    ReportData,
    ReportRow,
    best_runs_by_solver,
    display_name,
    family_name,
    parameter_value,
    root_gap,
    row_label,
)
from .tables import best_kind, interval_text, percent_text

#: Text of a cell without a run.
NOT_RUN = "not run"


@dataclass(frozen=True)
class MatrixCell:
    """One cell of the matrix.

    Parameters
    ----------
    text : str
        Interval or number, or a few words in place of a missing one.
    note : str
        The reason why there is no number, or the variant of the run that is shown.
    kind : str
        `BoundKind` of the bound, the evidence for it, with "claimed" for "claimed by solver"; "none" without a bound.
    sort_value : float
        Number that the column sorts by; infinite without one.
    heat : float or None
        Shade of the cell, 0 to 1, which is the gap; None without one.
    counts : str
        Nodes and root gap of an exact run, shown beside the kind.
    is_interval : bool
        Whether it shows an interval: of an unproved optimum, of a gap to one, or from the bound to the incumbent of a run.
    """

    text: str
    note: str = ""
    kind: str = "none"
    sort_value: float = float("inf")
    heat: float | None = None
    counts: str = ""
    is_interval: bool = False

    @property
    def sort_key(self) -> str:
        """Return the number that a page sorts an interval by; empty for other texts, which begin with their number."""
        return f"{self.sort_value:.6g}" if self.is_interval else ""


@dataclass(frozen=True)
class MatrixRow:
    """The row of one instance at one λ.

    Parameters
    ----------
    anchor : str
        Anchor of its details on the page.
    instance : InstanceCell
        Sizes of the problem, and the heuristic's classifier.
    label, title : str
        Name without n and p; full name with λ.
    family : str
        Family of the instance.
    sigma : float or None
        The generator's σ, if it has one.
    trivial : bool
        Whether no classifier is known that beats the intercept alone.
    zeta : MatrixCell
        The optimum ζ.
    gaps, exacts : tuple of MatrixCell
        One for each relaxation, and one for each exact solver.
    details : tuple of ReportRow
        Its relaxations.
    runs : tuple of ExactCell
        Its exact solves.
    """

    anchor: str
    instance: InstanceCell
    label: str
    title: str
    family: str
    sigma: float | None
    trivial: bool
    zeta: MatrixCell
    gaps: tuple[MatrixCell, ...]
    exacts: tuple[MatrixCell, ...]
    details: tuple[ReportRow, ...]
    runs: tuple[ExactCell, ...]


@dataclass(frozen=True)
class Matrix:
    """The main table: a row for each instance and λ, a column for each relaxation and each exact solver.

    Parameters
    ----------
    relaxations, solvers : tuple of str
        Headings of the columns: names of the relaxations and of the exact solvers.
    rows : tuple of MatrixRow
    """

    relaxations: tuple[str, ...]
    solvers: tuple[str, ...]
    rows: tuple[MatrixRow, ...]

    @classmethod
    def of(cls, report: ReportData) -> Matrix:
        """Return the matrix of a report."""
        relaxations = tuple(dict.fromkeys(c.relaxation for c in report.relaxations))
        solvers = tuple(dict.fromkeys(c.solver for c in report.exacts))
        by_key: dict[CellKey, list[ReportRow]] = {}
        for row in report.rows:
            by_key.setdefault(row.instance.key, []).append(row)
        rows = []
        for k, instance in enumerate(report.instances):
            details, runs = by_key.get(instance.key, []), report.exacts_of(instance.key)
            gaps = {row.relaxation.relaxation: _gap_cell(row) for row in details}
            best = {run.solver: _exact_cell(run, report.best[instance.key].high) for run in best_runs_by_solver(runs)}
            rows.append(
                MatrixRow(
                    f"instance-{k + 1}", instance, row_label(instance), problem_label(display_name(instance), instance.lam),
                    family_name(instance), parameter_value(instance, "sigma"), instance.key in report.trivial,
                    _zeta_cell(report, instance),
                    tuple(gaps.get(name, MatrixCell("not asked", "not part of this run")) for name in relaxations),
                    tuple(best.get(name, MatrixCell("not asked", "not part of this run")) for name in solvers),
                    tuple(details), tuple(runs),
                )
            )  # fmt: skip
        return cls(relaxations, solvers, tuple(rows))

    @cached_property
    def unused_columns(self) -> dict[str, str]:
        """Return the reasons, by column, of the relaxations and solvers that were run on no problem."""
        idle = {}
        for names, cells in ((self.relaxations, [r.gaps for r in self.rows]), (self.solvers, [r.exacts for r in self.rows])):
            for name, column in zip(names, zip(*cells, strict=True), strict=False):
                if all(cell.text == NOT_RUN for cell in column):
                    idle[name] = column[0].note
        return idle

    @property
    def filters(self) -> dict[str, tuple[str, ...]]:
        """Return the values, as texts, of each parameter in which the instances differ."""
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
    return "claimed" if kind == BoundKind.CLAIMED else kind


def _percent(value: Interval) -> str:
    if value.exact:
        return percent_text(value.high, 2)
    return interval_text("percent", value)


def _gap_cell(row: ReportRow) -> MatrixCell:
    cell = row.relaxation
    if cell.reason:
        return MatrixCell(NOT_RUN, cell.reason)
    if cell.target_bound is not None:
        words = f"{cell.target_bound:.7g} ({cell.target_kind}) bounds its own optimum alone: {cell.caveat}"
        return MatrixCell("no bound of ζ", words)
    if cell.bound is None:
        return MatrixCell("no bound", f"{cell.status}: the solve gave no bound")
    if row.gap is None:
        note = f"bound {cell.bound:.7g}, {cell.kind}; ζ may be 0, so there is no gap relative to it"
        return MatrixCell("no gap", note, _kind(cell.kind))
    high = row.gap.high
    return MatrixCell(
        _percent(row.gap), "", _kind(cell.kind), 100.0 * high, min(max(high, 0.0), 1.0), is_interval=not row.gap.exact
    )


def _exact_cell(cell: ExactCell, best: float) -> MatrixCell:
    """Return the seconds of a proof of the optimum ζ, else the interval that remains; nodes and root gap are its ``counts``."""
    if cell.reason:
        return MatrixCell(NOT_RUN, cell.reason)
    counted = [] if cell.nodes is None else [f"{cell.nodes:,} node{'' if cell.nodes == 1 else 's'}"]
    root = root_gap(cell, best)
    counted += [] if root is None else [f"root gap {percent_text(root, 1)}"]
    counts_text = ", ".join(counted)
    variant = "" if cell.variant == cell.solver else cell.variant
    seconds = 0.0 if cell.solve_seconds is None else cell.solve_seconds
    if cell.caveat:
        return MatrixCell("no bound of ζ", f"{cell.variant}: {cell.caveat}")
    if cell.proven:
        return MatrixCell(f"{seconds:.3g} s", variant, _kind(cell.kind), seconds, counts=counts_text)
    low = "?" if cell.bound is None else f"{cell.bound:.5g}"
    high = "?" if cell.incumbent is None else f"{cell.incumbent:.5g}"
    note = "; ".join(filter(None, (variant, cell.status)))
    return MatrixCell(
        f"[{low}, {high}] in {seconds:.3g} s", note, _kind(cell.kind), 1e6 + seconds, counts=counts_text, is_interval=True
    )


def _zeta_cell(report: ReportData, instance: InstanceCell) -> MatrixCell:
    zeta = report.best[instance.key]
    if zeta.exact:
        return MatrixCell(f"{zeta.high:.7g}", "", _kind(best_kind(report.exacts_of(instance.key))), zeta.high)
    return MatrixCell(
        interval_text("value", zeta), "nobody proved it: best bound and best classifier", "none", zeta.high, is_interval=True
    )
