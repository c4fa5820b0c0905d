"""The columns of the report's tables, each with the explanation that readers get; shared by every format."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

from ..cells.records import ExactCell, RelaxationCell
from ..gaps import Interval, best_runs
from ..table import GapReport, ReportRow

__all__ = ["COLUMNS", "SUMMARY", "Column", "best_rows", "shown", "text_table"]

#: One row of the table of instances.
BestRow = tuple[Any, Interval, list[RelaxationCell], list[ExactCell]]


@dataclass(frozen=True)
class Column:
    """A column: how to get its value from a row, and what it means.

    Parameters
    ----------
    key : str
        Name in CSV.
    title, explanation : str
    value : callable
        Row to number, word, `Interval` or None.
    form : {"text", "count", "value", "percent", "seconds", "ratio"}
    """

    key: str
    title: str
    explanation: str
    value: Callable[[Any], Any]
    form: str = "text"

    @property
    def numeric(self) -> bool:
        """Whether it sorts as a number."""
        return self.form != "text"


def _exact(name: str) -> Callable[[ReportRow], Any]:
    return lambda row: None if row.exact is None else getattr(row.exact, name)


def _solved(row: ReportRow) -> str:
    if row.exact is None:
        return "no exact solve"
    return row.exact.reason if row.exact.reason else row.exact.status


def _m_range(row: ReportRow) -> str:
    low, high = row.relaxation.m_low, row.relaxation.m_high
    if low is None or high is None:
        return ""
    return f"{low:.4g}" if low == high else f"{low:.4g} .. {high:.4g}"


def _kind(row: ReportRow) -> str:
    cell = row.relaxation
    if cell.reason:
        return cell.reason
    return cell.kind if not cell.caveat else f"{cell.kind}; not a bound of the optimum: {cell.caveat}"


COLUMNS: tuple[Column, ...] = (
    Column(
        "instance", "instance", "Name of the data set; its source is in the table of instances.", lambda r: r.instance.instance
    ),
    Column("n", "n", "Number of points.", lambda r: r.instance.n, "count"),
    Column("p", "p", "Number of features; a constant column (the intercept) is not counted.", lambda r: r.instance.p, "count"),
    Column("lam", "λ", "Cost of a margin violation in ||w||² + λ Σ z.", lambda r: r.instance.lam, "value"),
    Column("relaxation", "relaxation", "What is solved in place of the 0-1 problem.", lambda r: r.relaxation.relaxation),
    Column(
        "m_source",
        "M",
        "Where the big-M constants come from and whether they are proved valid; empty without M.",
        lambda r: r.relaxation.m_source,
    ),
    Column("m_range", "M range", "Smallest and largest M_i.", _m_range),
    Column(
        "bound",
        "bound",
        "Lower bound of the relaxation's optimum; a proved one is recomputed in float64 from multipliers and data.",
        lambda r: r.relaxation.bound,
        "value",
    ),
    Column(
        "kind",
        "kind of bound",
        "proved: from a dual point made exactly feasible; claimed by solver: the solver's word; "
        "else why it does not bound the 0-1 optimum, or why there is none.",
        _kind,
    ),
    Column("relaxation_solver", "by", "Solver of the relaxation.", lambda r: r.relaxation.solver),
    Column(
        "relaxation_status",
        "status",
        "How the relaxation's solve ended, after its certificate was recomputed.",
        lambda r: r.relaxation.status,
    ),
    Column("exact_solver", "exact solver", "Solver of the 0-1 problem itself.", _exact("solver")),
    Column(
        "incumbent",
        "incumbent",
        "True 0-1 objective of the exact solver's classifier, recomputed from w.",
        _exact("incumbent"),
        "value",
    ),
    Column("exact_bound", "exact bound", "The exact solver's lower bound when it stopped.", _exact("bound"), "value"),
    Column(
        "exact_kind",
        "its kind",
        "proved: by our own exact solver from valid dual points; claimed by solver: its word.",
        _exact("kind"),
    ),
    Column("exact_status", "exact status", "optimal, or the limit that stopped it, or why it did not run.", _solved),
    Column(
        "m_slack",
        "M slack",
        "Smallest slack of a big-M row in use at the exact solver's point; 0 would mean that M may cut something off.",
        _exact("m_slack"),
        "value",
    ),
    Column("nodes", "nodes", "Nodes of the exact solver's tree.", _exact("nodes"), "count"),
    Column("exact_seconds", "exact s", "Seconds of the exact solve.", _exact("solve_seconds"), "seconds"),
    Column(
        "gap",
        "gap",
        "(ζ - bound)/ζ with ζ the 0-1 optimum; where this exact solve did not prove ζ, the interval that its incumbent and "
        "its bound leave.",
        lambda r: r.gap,
        "percent",
    ),
    Column(
        "closed",
        "gap closed",
        "(bound - big-M)/(ζ - big-M): the part of the base big-M relaxation's gap that is closed; "
        "an interval where ζ is unproven.",
        lambda r: r.closed,
        "percent",
    ),
    Column(
        "rank_ratio",
        "rank ratio",
        "Second over first eigenvalue of W; (near) 0 means W = ww' and an exact relaxation.",
        lambda r: r.relaxation.rank_ratio,
        "ratio",
    ),
    Column(
        "verdict",
        "rank-one check",
        "Whether the relaxation is exact, by the ratio and by the recovered objective.",
        lambda r: r.verdict,
    ),
    Column(
        "recovered",
        "recovered",
        "True 0-1 objective of the classifier recovered from the relaxation (the best multiple of its w): an upper bound.",
        lambda r: r.relaxation.recovered,
        "value",
    ),
    Column(
        "violations",
        "margin violations",
        "Points with y x'w < 1 under the recovered classifier: what the loss counts.",
        lambda r: r.relaxation.violations,
        "count",
    ),
    Column(
        "misclassified",
        "misclassified",
        "Points with y x'w < 0 under the recovered classifier.",
        lambda r: r.relaxation.misclassified,
        "count",
    ),
    Column("seconds", "relaxation s", "Seconds of solving the relaxation.", lambda r: r.relaxation.solve_seconds, "seconds"),
    Column("build_seconds", "build s", "Seconds of building and loading it.", lambda r: r.relaxation.build_seconds, "seconds"),
    Column("variables", "variables", "Variables of the relaxation's standard form.", lambda r: r.relaxation.variables, "count"),
    Column("rows", "rows", "Scalar rows of its cones.", lambda r: r.relaxation.rows, "count"),
    Column("bytes", "bytes", "Bytes of its data when materialised.", lambda r: r.relaxation.bytes, "count"),
)

SUMMARY: tuple[Column, ...] = (
    Column("instance", "instance", "Name of the data set.", lambda r: r[0].instance),
    Column("source", "source", "Where it comes from and what was done to it.", lambda r: r[0].source),
    Column("n", "n", "Number of points.", lambda r: r[0].n, "count"),
    Column("positives", "n₊", "Points labelled +1.", lambda r: r[0].positives, "count"),
    Column("p", "p", "Number of features, without the intercept.", lambda r: r[0].p, "count"),
    Column("lam", "λ", "Cost of a margin violation.", lambda r: r[0].lam, "value"),
    Column(
        "zeta",
        "optimum ζ",
        "By all cells together: the least feasible objective found and, where nobody proved it, the largest bound.",
        lambda r: r[1],
        "value",
    ),
    Column(
        "heuristic",
        "heuristic",
        "Objective of rounding and local search: the UB behind tightened M.",
        lambda r: r[0].objective,
        "value",
    ),
    Column("heuristic_seconds", "heuristic s", "Its seconds.", lambda r: r[0].seconds, "seconds"),
    Column(
        "violations",
        "margin violations",
        "Points with y x'w < 1 under the heuristic's classifier.",
        lambda r: r[0].violations,
        "count",
    ),
    Column("misclassified", "misclassified", "Points with y x'w < 0 under it.", lambda r: r[0].misclassified, "count"),
    Column(
        "exact",
        "exact solvers",
        "Each exact solver's status, incumbent and bound, nodes and seconds (of its runs the one that says most); or why it did "
        "not run.",
        lambda r: "; ".join(_exact_words(c) for c in best_runs(r[3])),
    ),
)


def _exact_words(c: ExactCell) -> str:
    if c.reason:
        return f"{c.solver}: {c.reason}"
    value = f"{c.incumbent:.7g}" if c.incumbent is not None else "no point"
    if not c.proven and c.bound is not None:
        value = f"[{c.bound:.5g}, {value}]"
    nodes = "" if c.nodes is None else f", {c.nodes:,} nodes"
    seconds = "" if c.solve_seconds is None else f", {c.solve_seconds:.3g} s"
    return f"{c.variant}: {c.status} {value}{nodes}{seconds}"


def best_rows(report: GapReport) -> list[BestRow]:
    """Rows of the table of instances."""
    return [(c, report.best[c.key], report.relaxations_of(c.key), report.exacts_of(c.key)) for c in report.instances]


_SHOWN: dict[str, Callable[[Any], str]] = {
    "text": str,
    "count": lambda v: f"{v:,}",
    "value": lambda v: f"{v:.7g}",
    "percent": lambda v: f"{100 * v + 0.0:.2f}%",
    "seconds": lambda v: f"{v:.3g}",
    "ratio": lambda v: f"{v:.1e}",
}


def shown(column: Column, row: Any) -> str:
    """The cell as readers see it; empty for None, [low, high] for an interval that is not a number."""
    value = column.value(row)
    if value is None:
        return ""
    form = _SHOWN[column.form]
    if isinstance(value, Interval):
        return form(value.low) if value.exact else f"[{form(value.low)}, {form(value.high)}]"
    return form(value)


def sort_key(column: Column, row: Any) -> float | str:
    """What the cell sorts by: a number for numeric columns (an interval by its upper end; missing ones last)."""
    value = column.value(row)
    if isinstance(value, Interval):
        return value.high
    if value is None:
        return "" if not column.numeric else float("inf")
    return float(value) if column.numeric else str(value)


#: Columns of the plain-text table.
_TEXT = ("instance", "lam", "relaxation", "bound", "exact_solver", "incumbent", "exact_bound", "gap", "closed", "seconds")


def text_table(report: GapReport) -> str:
    """The main figures in plain text."""
    columns = [c for c in COLUMNS if c.key in _TEXT]
    return align([[c.title for c in columns], *([shown(c, row) for c in columns] for row in report.rows)])


def align(table: Iterable[list[str]]) -> str:
    """Cells in columns of equal width."""
    lines = list(table)
    widths = [max(len(line[k]) for line in lines) for k in range(len(lines[0]))]
    return "\n".join("  ".join(cell.ljust(w) for cell, w in zip(line, widths, strict=True)).rstrip() for line in lines)
