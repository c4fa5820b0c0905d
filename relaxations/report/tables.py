"""The tables of a gap report (`report_tables`): rows of results, the columns of ``columns.csv``, and the texts of their cells.

ζ is the optimum of a problem, λ the cost of a margin violation, κ the share of points that may violate their margin.
"""

from __future__ import annotations

import csv
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache, partial
from importlib import resources
from typing import Any

import numpy as np

from ...display import column_lines, sanitise
from ...errors import count_text
from ...solvers.certification.result import BoundKind
from ...solvers.records import Status
from .cells import STRUCTURED, ExactCell, InstanceCell, KappaCell
from .means import exact_means, relaxation_means
from .report_data import Interval, ReportData, ReportRow, family_name, gap, remaining_gap, root_gap


@dataclass(frozen=True)
class Column:
    """A column of a table: its value of a row, its title and explanation, and where it is shown.

    Parameters
    ----------
    key : str
        Name in CSV.
    title, explanation : str
        Heading, and a sentence on the values.
    value : callable
        Function of a row that returns a number, word, `Interval` or None.
    form : {"text", "count", "mean", "value", "percent", "seconds", "ratio"}
        Kind of the values, by which numbers are written.
    interval : bool
        Whether values may be intervals, which take two columns in CSV.
    optional : bool
        Whether tables leave it out where no row has a value.
    in_picture : bool
        Whether a picture of the page shows it, so that the page's table need not.
    in_details, in_text, in_latex : bool
        Whether the details of an instance on the page, the plain text, and the narrower LaTeX table have it.
    """

    key: str
    title: str
    explanation: str
    value: Callable[[Any], Any]
    form: str = "text"
    interval: bool = False
    optional: bool = False
    in_picture: bool = False
    in_details: bool = False
    in_text: bool = False
    in_latex: bool = False

    def values(self, row: Any) -> dict[str, Any]:
        """Return the value of a row by the column's key; an interval under two keys, for its ends."""
        value = self.value(row)
        if not self.interval:
            return {self.key: value}
        low, high = (value.low, value.high) if isinstance(value, Interval) else (None, None)
        return {f"{self.key}_low": low, f"{self.key}_high": high}

    @property
    def numeric(self) -> bool:
        """Return whether the column sorts as numbers."""
        return self.form != "text"


@dataclass(frozen=True, eq=False)
class Table:
    """A table of a report.

    Parameters
    ----------
    name, title : str
        Name in files and anchors; heading.
    columns : sequence of Column
    rows : sequence
        Objects that the columns' functions read.
    note : str
        A sentence above the table.
    """

    name: str
    title: str
    columns: Sequence[Column]
    rows: Sequence[Any]
    note: str = ""


def _read_columns(table: str, functions: Mapping[str, Callable[[Any], Any]]) -> tuple[Column, ...]:
    """Return the columns of a table of ``columns.csv``.

    The column ``value`` is a function of a row, ``name()`` of ``functions``, or a path of attributes and places in tuples.
    ``flags`` are the fields of `Column` that are true.
    """
    columns = []
    for line in _lines():
        if line["table"] == table:
            path, flags = line["value"], line["flags"].split()
            # exempt (text): the table's own notation for a function
            value = functions[path[:-2]] if path.endswith("()") else partial(_follow, path.split("."))
            columns.append(
                Column(line["key"], line["title"], line["explanation"], value, line["form"], **dict.fromkeys(flags, True))
            )
    return tuple(columns)


@cache
def _lines() -> list[dict[str, str]]:
    return list(csv.DictReader(resources.files(__package__).joinpath("columns.csv").read_text(encoding="utf-8").splitlines()))


def _follow(path: list[str], row: Any) -> Any:
    for name in path:
        row = row[int(name)] if name.isdigit() else getattr(row, name)
    return row


#: Characters of a text that a cell shows.
_SHOWN_CHARACTERS = 64


def percent_text(value: float, digits: int) -> str:
    """Return a share as a percentage with this number of decimals; never "-0"."""
    return f"{round(100.0 * value, digits) + 0.0:.{digits}f}%"


_SHOWN: dict[str, Callable[[Any], str]] = {
    "text": str,
    "count": lambda v: f"{v:,}",
    "mean": lambda v: f"{v:,.0f}" if abs(v) >= 100.0 else f"{v:.3g}",  # of counts
    "value": lambda v: f"{v:.7g}",
    "percent": lambda v: percent_text(v, 2),
    "seconds": lambda v: f"{v:.3g}" if v >= 1e-3 else np.format_float_positional(v, precision=2, fractional=False, trim="-"),
    "ratio": lambda v: f"{v:.2g}",
}
#: Texts of intervals, with fewer digits than single numbers.
_ENDS: dict[str, Callable[[float, float], str]] = {
    "value": lambda low, high: f"[{low:.5g}, {high:.5g}]",
    "percent": lambda low, high: f"[{percent_text(low, 1)[:-1]}, {percent_text(high, 1)[:-1]}]%",
}


def cell_text(column: Column, row: Any) -> str:
    """Return the text of a cell; empty for None, "[low, high]" for an interval with two different ends."""
    value = column.value(row)
    if value is None:
        return ""
    if isinstance(value, Interval) and not value.exact:
        return interval_text(column.form, value)
    return _SHOWN[column.form](value.high if isinstance(value, Interval) else value)


def shown_text(column: Column, row: Any) -> str:
    """Return the cell as tables show it: of a long text the beginning and the end, since long names differ at their ends."""
    text = cell_text(column, row)
    return f"{text[:30]}...{text[-31:]}" if _is_long(text) else text


def long_texts(columns: Sequence[Column], rows: Sequence[Any]) -> list[str]:
    """Return the texts that `shown_text` shortens, whole and each once: the notes below a table."""
    texts = (cell_text(column, row) for row in rows for column in columns if not column.numeric)
    return list(dict.fromkeys(text for text in texts if _is_long(text)))


def _is_long(text: str) -> bool:
    return len(text) > _SHOWN_CHARACTERS


def interval_text(form: str, value: Interval) -> str:
    """Return an interval as text, [low, high], of values or percentages."""
    return _ENDS[form](value.low, value.high)


def sort_key(column: Column, row: Any) -> float | str:
    """Return the key that a cell sorts by: a number in numeric columns, of an interval the upper end, infinite if missing."""
    value = column.value(row)
    if isinstance(value, Interval):
        return value.high
    if value is None:
        return "" if not column.numeric else float("inf")
    return float(value) if column.numeric else str(value)


#: One row of the table of exact solves: the instance, the solve, the least objective known of the instance.
ExactRow = tuple[InstanceCell, ExactCell, float]


def exact_rows(report: ReportData) -> list[ExactRow]:
    """Return the rows of the table of exact solves, one for each run."""
    by_key = {c.key: c for c in report.instances}
    return [(by_key[c.key], c, report.best[c.key].high) for c in report.exacts]


def _how(row: ExactRow) -> str:
    cell = row[1]
    if cell.reason:
        return cell.reason
    return cell.status if not cell.caveat else f"{cell.status}; no bound of the optimum: {cell.caveat}"


def _optimum(cell: KappaCell) -> Interval | None:
    """Return the least ||w||² within the budget: proved by the exact solve, else between best bound and best classifier."""
    objectives = [v for v in (cell.recovered, cell.exact_objective) if v is not None]
    if not objectives:
        return None
    high = min(objectives)
    if cell.proven or high <= 0.0:
        return Interval(high, high)
    bounds = [v for v in (cell.bound, cell.exact_bound) if v is not None]
    return Interval(min(max([0.0, *bounds]), high), high)


def _gap(cell: KappaCell) -> Interval | None:
    zeta = _optimum(cell)
    return None if cell.bound is None or zeta is None else gap(cell.bound, zeta)


def _kappa_known_by(cell: KappaCell) -> str:
    if cell.proven:
        return f"{cell.exact_solver}, {cell.exact_kind}"
    return cell.exact_status if not cell.exact_solver else f"{cell.exact_solver}: {cell.exact_status}"


def _missing(cell: KappaCell) -> str:
    """Return the reasons why numbers of the row are empty."""
    if cell.reason:
        return f"not run: {cell.reason}"
    if "infeasible" in (cell.status, cell.exact_status):
        return f"no classifier violates at most {count_text(cell.budget, 'margin')}, so there is no point, no gap and no rank"
    zeta = _optimum(cell)
    reasons = {
        "no bound: the solve ended without one": cell.bound is None,
        f"no choice of {count_text(cell.budget, 'point')} to give up that leaves the rest separable was found": cell.recovered
        is None,
        "no gap: w = 0 is within the budget, the optimum is 0": zeta is not None and zeta.high <= 0.0,
        "no Σz and no rank: without violations to give away it is a quadratic program, or the solve left no point": (
            cell.share is None or cell.rank_ratio is None
        ),
        f"no nodes or time of an exact solve ({cell.exact_status})": cell.exact_nodes is None or cell.exact_seconds is None,
    }
    return "; ".join(reason for reason, applies in reasons.items() if applies)


def _m_range(row: ReportRow) -> str:
    low, high = row.relaxation.m_low, row.relaxation.m_high
    if low is None or high is None:
        return ""
    return f"{low:.4g}" if low == high else f"{low:.4g} .. {high:.4g}"


def _bounds(row: ReportRow) -> str:
    cell = row.relaxation
    if cell.target_bound is not None:
        return f"its own optimum alone ({cell.target_bound:.7g}, {cell.target_kind}): {cell.caveat}"
    return "nothing" if cell.bound is None else "ζ"


def _kind(row: ReportRow) -> str:
    cell = row.relaxation
    if cell.reason:
        return cell.reason
    if cell.bound is not None:
        return cell.kind if cell.status == str(Status.OPTIMAL) else f"{cell.kind}; the solve ended as {cell.status}"
    return "none: no bound of ζ" if cell.target_bound is not None else f"none: the solve ended as {cell.status}"


#: Columns of the tables of exact solves, of the sweep over κ and of relaxations.
EXACT_COLUMNS = _read_columns(
    "exacts",
    {
        "encoding": lambda row: "the data" if row[1].encoding == STRUCTURED else row[1].encoding,
        "how": _how,
        "root_gap": lambda row: root_gap(row[1], row[2]),
        "left": lambda row: remaining_gap(row[1]),
    },
)
KAPPA_COLUMNS = _read_columns("kappas", {"optimum": _optimum, "gap": _gap, "known_by": _kappa_known_by, "missing": _missing})
RELAXATION_COLUMNS = _read_columns("relaxations", {"m_range": _m_range, "bounds": _bounds, "kind": _kind})

#: One row of the table of instances: the report, and an instance at one λ.
_InstanceRow = tuple[ReportData, InstanceCell]


def _known_by(row: _InstanceRow) -> str:
    report, instance = row
    exacts = report.exacts_of(instance.key)
    proved = list(dict.fromkeys(c.variant for c in exacts if c.proven))
    if proved:
        return f"{', '.join(proved)} ({best_kind(exacts)})"
    bounds = [(c.bound or 0.0, c.kind) for c in report.relaxations_of(instance.key) if c.bounds_optimum]
    bounds += [(c.bound or 0.0, c.kind) for c in exacts if c.bounds_optimum]
    return f"best bound ({max(bounds)[1]}) and best classifier" if bounds else "a classifier alone"


def best_kind(cells: Sequence[ExactCell]) -> str:
    """Return the strongest evidence of an optimum among the optimal runs: proved, then stored (read from a file, not verified),
    then claimed by the solver.
    """
    kinds = {c.kind for c in cells if c.proven}
    return next((kind.value for kind in (BoundKind.PROVED, BoundKind.STORED) if kind in kinds), BoundKind.CLAIMED.value)


_RELAXATION_MEAN_COLUMNS = _read_columns("relaxation-means", {})
_EXACT_MEAN_COLUMNS = _read_columns("exact-means", {})
_INSTANCE_COLUMNS = _read_columns(
    "instances",
    {
        "known_by": _known_by,
        "zeta": lambda row: row[0].best[row[1].key],
        "trivial": lambda row: "yes" if row[1].key in row[0].trivial else "",
        "held_out": lambda row: row[1].held_out or None,
    },
)


def report_tables(report: ReportData) -> tuple[Table, ...]:
    """Return the tables of a report: those without rows are left out, except the first and the relaxations."""
    means = "A row for each family and λ."
    if report.trivial:
        out = f"{len(report.trivial)} of {count_text(len(report.instances), 'instance')}"
        means += f" {out}, whose best known classifier is the intercept, are left out."
    tables = [
        Table("instances", "Instances", _INSTANCE_COLUMNS, [(report, cell) for cell in report.instances]),
        Table("relaxation-means", "Relaxations over instances", _RELAXATION_MEAN_COLUMNS, relaxation_means(report), means),
        Table("exact-means", "Exact solves over instances", _EXACT_MEAN_COLUMNS, exact_means(report), means),
        Table("relaxations", "Relaxations", RELAXATION_COLUMNS, report.rows, "A row for each instance × relaxation."),
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


#: Tables of means over instances, of no use for one instance.
_MEANS = ("relaxation-means", "exact-means")


def report_text(report: ReportData, tables: Sequence[Table]) -> str:
    """Return the contradictions and the tables of a report in plain text, with the columns of `Column.in_text`."""
    parts = (
        ["\n".join(["Claims that contradict each other", *map(sanitise, report.contradictions)])] if report.contradictions else []
    )
    return "\n\n".join([*parts, *_table_texts(report, tables)])


def means_text(report: ReportData, tables: Sequence[Table]) -> str:
    """Return the tables of means over instances in plain text; empty where no family has two instances."""
    return "\n\n".join(_table_texts(report, [table for table in tables if table.name in _MEANS]))


def _table_texts(report: ReportData, tables: Sequence[Table]) -> list[str]:
    """Return the text of each table that has rows, without means over one instance."""
    single = len({family_name(c) for c in report.instances}) == len(report.instances)
    parts = []
    for table in tables:
        columns = [c for c in table.columns if c.in_text]
        if columns and table.rows and not (single and table.name in _MEANS):
            cells = ([_one_line(shown_text(c, row)) for c in columns] for row in table.rows)
            notes = [f"- {_one_line(text)}" for text in long_texts(columns, table.rows)]
            parts.append("\n".join([table.title, *column_lines([[c.title for c in columns], *cells]), *notes]))
    return parts


def _one_line(text: str) -> str:
    return sanitise(text).replace("\n", " ")
