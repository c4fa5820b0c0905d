"""The columns of the table of relaxations, and the plain-text form of the report."""

from __future__ import annotations

from ....display import legible
from ..data import ReportData, ReportRow
from .column import Column, align, shown

__all__ = ["COLUMNS", "text_table"]


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
    return cell.reason or (f"{cell.kind}: no bound of ζ" if cell.target_bound is not None else cell.kind)


COLUMNS: tuple[Column, ...] = (
    Column(
        "instance", "instance", "Name of the data set; its source is in the table of instances.", lambda r: r.instance.instance
    ),
    Column("n", "n", "Number of points.", lambda r: r.instance.n, "count"),
    Column("p", "p", "Number of features; a constant column (the intercept) is not counted.", lambda r: r.instance.p, "count"),
    Column("lam", "λ", "Cost of a margin violation in ||w||² + λ Σ z.", lambda r: r.instance.lam, "value"),
    Column("relaxation", "relaxation", "What is solved in place of the problem.", lambda r: r.relaxation.relaxation),
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
        "Lower bound of ζ; a proved one is recomputed in float64 from multipliers and data.",
        lambda r: r.relaxation.bound,
        "value",
    ),
    Column(
        "kind",
        "kind of bound",
        "proved: from a dual point made exactly feasible; claimed by solver: the solver's word; none; or why there is no result.",
        _kind,
    ),
    Column(
        "bounds",
        "bounds",
        "What the bound is one of: the optimum ζ, or the relaxation's own optimum alone, and why.",
        _bounds,
    ),
    Column("relaxation_solver", "by", "Solver of the relaxation.", lambda r: r.relaxation.solver),
    Column(
        "relaxation_status",
        "status",
        "How the relaxation's solve ended, after its certificate was recomputed.",
        lambda r: r.relaxation.status,
    ),
    Column(
        "gap",
        "gap",
        "(ζ - bound)/ζ with ζ the optimum; where nobody proved ζ, the interval that the best classifier and the best bound "
        "leave.",
        lambda r: r.gap,
        "percent",
        interval=True,
    ),
    Column(
        "closed",
        "gap closed",
        "(bound - base)/(ζ - base): the part of the base relaxation's gap that is closed, the base being big-M with M from w = 0 "
        "(of a model as it is stated: its continuous relaxation); empty where the report has no base, or a bound above ζ; "
        "an interval where ζ is unproven.",
        lambda r: r.closed,
        "percent",
        interval=True,
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
        "True objective of the classifier recovered from the relaxation (the best multiple of its w): an upper bound.",
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
    Column("seconds", "s", "Seconds of solving the relaxation.", lambda r: r.relaxation.solve_seconds, "seconds"),
    Column("build_seconds", "build s", "Seconds of building and loading it.", lambda r: r.relaxation.build_seconds, "seconds"),
    Column("variables", "variables", "Variables of the relaxation's standard form.", lambda r: r.relaxation.variables, "count"),
    Column("rows", "rows", "Scalar rows of its cones.", lambda r: r.relaxation.rows, "count"),
    Column("bytes", "bytes", "Bytes of its data when materialised.", lambda r: r.relaxation.bytes, "count"),
)

#: Columns of the plain-text table.
_TEXT = ("instance", "lam", "relaxation", "bound", "kind", "gap", "closed", "seconds")


def text_table(report: ReportData) -> str:
    """The main figures in plain text."""
    columns = [c for c in COLUMNS if c.key in _TEXT]
    cells = ([legible(shown(c, row)).replace("\n", " ") for c in columns] for row in report.rows)
    return align([[c.title for c in columns], *cells])
