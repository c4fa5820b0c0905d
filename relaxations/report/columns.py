"""Columns and tables of a report: relaxations, exact solves, and sweeps over κ."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from ...display import legible
from ...errors import InputError
from .cells.exact import STRUCTURED, ExactCell
from .cells.heuristic import InstanceCell
from .cells.kappa import KappaCell
from .data import Interval, ReportData, ReportRow, gap, gap_left, root_gap

if TYPE_CHECKING:
    from ...instances import Instance

__all__ = [
    "COLUMNS",
    "EXACT_COLUMNS",
    "KAPPA_COLUMNS",
    "Column",
    "Table",
    "align",
    "default_report_instances",
    "exact_rows",
    "interval",
    "percent",
    "shown",
    "sort_key",
    "strongest_features",
    "text_table",
]


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
    form : {"text", "count", "mean", "value", "percent", "seconds", "ratio"}
    interval : bool
        Whether values may be intervals, which take two columns in CSV.
    drawn : bool
        Whether a picture of the page shows it, so that the page's table need not.
    """

    key: str
    title: str
    explanation: str
    value: Callable[[Any], Any]
    form: str = "text"
    interval: bool = False
    drawn: bool = False

    def values(self, row: Any) -> dict[str, Any]:
        """The value by name; an interval's two ends."""
        value = self.value(row)
        if not self.interval:
            return {self.key: value}
        low, high = (value.low, value.high) if isinstance(value, Interval) else (None, None)
        return {f"{self.key}_low": low, f"{self.key}_high": high}

    @property
    def numeric(self) -> bool:
        """Return whether it sorts as a number."""
        return self.form != "text"


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


def percent(value: float, digits: int) -> str:
    """100 value, never a negative zero."""
    return f"{round(100.0 * value, digits) + 0.0:.{digits}f}%"


_SHOWN: dict[str, Callable[[Any], str]] = {
    "text": str,
    "count": lambda v: f"{v:,}",
    "mean": lambda v: f"{v:,.0f}" if abs(v) >= 100.0 else f"{v:.3g}",  # of counts
    "value": lambda v: f"{v:.7g}",
    "percent": lambda v: percent(v, 2),
    "seconds": lambda v: f"{v:.3g}" if v >= 1e-3 else np.format_float_positional(v, precision=2, fractional=False, trim="-"),
    "ratio": lambda v: f"{v:.2g}",
}
#: The ends of an interval: in fewer digits, since they differ.
_ENDS: dict[str, Callable[[float, float], str]] = {
    "value": lambda low, high: f"[{low:.5g}, {high:.5g}]",
    "percent": lambda low, high: f"[{percent(low, 1)[:-1]}, {percent(high, 1)[:-1]}]%",
}


def shown(column: Column, row: Any) -> str:
    """The cell as readers see it; empty for None, [low, high] for an interval that is not a number."""
    value = column.value(row)
    if value is None:
        return ""
    if isinstance(value, Interval) and not value.exact:
        return interval(column.form, value)
    return _SHOWN[column.form](value.high if isinstance(value, Interval) else value)


def interval(form: str, value: Interval) -> str:
    """[low, high] of values or percentages."""
    return _ENDS[form](value.low, value.high)


def sort_key(column: Column, row: Any) -> float | str:
    """Return the key that the cell sorts by: a number for numeric columns (an interval by its upper end; missing ones last)."""
    value = column.value(row)
    if isinstance(value, Interval):
        return value.high
    if value is None:
        return "" if not column.numeric else float("inf")
    return float(value) if column.numeric else str(value)


def align(table: Iterable[list[str]]) -> str:
    """Cells in columns of equal width."""
    lines = list(table)
    widths = [max(len(line[k]) for line in lines) for k in range(len(lines[0]))]
    return "\n".join("  ".join(cell.ljust(w) for cell, w in zip(line, widths, strict=True)).rstrip() for line in lines)


#: One row of the table of exact solves: the instance, the solve, the least objective known of the instance.
ExactRow = tuple[InstanceCell, ExactCell, float]


def exact_rows(report: ReportData) -> list[ExactRow]:
    """Rows of the table of exact solves."""
    by_key = {c.key: c for c in report.instances}
    return [(by_key[c.key], c, report.best[c.key].high) for c in report.exacts]


def _of(name: str) -> Callable[[Any], Any]:
    return lambda row: getattr(row[1], name)


def _root_gap(row: ExactRow) -> float | None:
    return root_gap(row[1], row[2])


def _encoding(row: ExactRow) -> str:
    return "the data" if row[1].encoding == STRUCTURED else row[1].encoding


def _how(row: ExactRow) -> str:
    cell = row[1]
    if cell.reason:
        return cell.reason
    return cell.status if not cell.caveat else f"{cell.status}; no bound of the optimum: {cell.caveat}"


EXACT_COLUMNS: tuple[Column, ...] = (
    Column("instance", "instance", "Name of the data set.", lambda r: r[0].instance),
    Column("n", "n", "Number of points.", lambda r: r[0].n, "count"),
    Column("lam", "λ", "Cost of a margin violation.", lambda r: r[0].lam, "value"),
    Column("solver", "solver", "Solver of the problem itself.", _of("solver")),
    Column("encoding", "reads", "How the problem is said to it: an encoding, or the data themselves.", _encoding),
    Column("m_source", "M", "Where its big-M constants come from; empty without M.", _of("m_source")),
    Column("seed", "seed", "The solver's seed.", _of("seed"), "count"),
    Column("status", "status", "optimal, or the limit that stopped it, or why it did not run or is not exact.", _how),
    Column("incumbent", "incumbent", "True objective of its classifier, recomputed from w.", _of("incumbent"), "value"),
    Column("bound", "bound", "Its lower bound when it stopped.", _of("bound"), "value"),
    Column("kind", "kind of bound", "proved by our own solver from dual points, or claimed by the solver.", _of("kind")),
    Column("root", "root bound", "The bound after the root node, where the solver gives one.", _of("root"), "value"),
    Column("root_gap", "root gap", "(ζ - root bound)/ζ with the least objective known for ζ.", _root_gap, "percent"),
    Column("left", "gap left", "(incumbent - bound)/incumbent when it stopped.", lambda r: gap_left(r[1]), "percent"),
    Column("nodes", "nodes", "Nodes of its tree.", _of("nodes"), "count"),
    Column("violations", "margin violations", "Points with y x'w < 1 under its classifier.", _of("violations"), "count"),
    Column("misclassified", "misclassified", "Points with y x'w < 0 under it.", _of("misclassified"), "count"),
    Column("seconds", "s", "Seconds of solving.", _of("solve_seconds"), "seconds"),
    Column("bound_seconds", "s to bound", "When its bound first was the final one.", _of("bound_seconds"), "seconds"),
    Column(
        "prepare_seconds",
        "s before",
        "Seconds of the relaxation behind the strengthened encoding, not counted in the others.",
        _of("prepare_seconds"),
        "seconds",
    ),
)


def _optimum(cell: KappaCell) -> Interval | None:
    """Least ||w||² within the budget: what the exact solve proved, else between the best bound and the best classifier."""
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


def _known_by(cell: KappaCell) -> str:
    if cell.proven:
        return f"{cell.exact_solver}, {cell.exact_kind}"
    return cell.exact_status if not cell.exact_solver else f"{cell.exact_solver}: {cell.exact_status}"


def _missing(cell: KappaCell) -> str:
    """Return the reason why a number of the row is empty: nothing is blank without a reason."""
    if cell.reason:
        return f"not run: {cell.reason}"
    if "infeasible" in (cell.status, cell.exact_status):
        return f"no classifier violates at most {cell.budget} margins, so there is no point, no gap and no rank"
    zeta = _optimum(cell)
    reasons = {
        "no bound: the solve ended without one": cell.bound is None,
        f"no choice of {cell.budget} points to give up that leaves the rest separable was found": cell.recovered is None,
        "no gap: w = 0 is within the budget, the optimum is 0": zeta is not None and zeta.high <= 0.0,
        "no Σz and no rank: without violations to give away it is a quadratic program, or the solve left no point": (
            cell.share is None or cell.rank_ratio is None
        ),
        f"no nodes or time of an exact solve ({cell.exact_status})": cell.exact_nodes is None or cell.exact_seconds is None,
    }
    return "; ".join(reason for reason, holds in reasons.items() if holds)


KAPPA_COLUMNS: tuple[Column, ...] = (
    Column("instance", "instance", "Name of the data set.", lambda c: c.instance),
    Column("kappa", "κ", "Part of the points that may violate their margin.", lambda c: c.kappa, "value"),
    Column("budget", "⌊κn⌋", "Violations that the 0-1 problem allows.", lambda c: c.budget, "count"),
    Column("bound", "bound", "Lower bound of min ||w||² with at most ⌊κn⌋ violations.", lambda c: c.bound, "value"),
    Column("kind", "kind of bound", "proved, claimed by solver, or none.", lambda c: c.kind),
    Column(
        "recovered",
        "recovered",
        "||w||² of a classifier with at most ⌊κn⌋ violations, found by choosing the points to keep: an upper bound.",
        lambda c: c.recovered,
        "value",
    ),
    Column(
        "zeta",
        "optimum",
        "Least ||w||² within the budget; an interval where no exact solve proved it.",
        _optimum,
        "value",
        interval=True,
    ),
    Column("zeta_kind", "known by", "The exact solver, and the kind of its bound; or why there is none.", _known_by),
    Column("exact_nodes", "nodes", "Nodes of the exact solve.", lambda c: c.exact_nodes, "count"),
    Column("exact_seconds", "exact s", "Seconds of the exact solve.", lambda c: c.exact_seconds, "seconds"),
    Column(
        "gap",
        "gap",
        "(optimum - bound)/optimum of the relaxation; an interval where the optimum is one.",
        _gap,
        "percent",
        interval=True,
    ),
    Column("share", "Σz/n", "Mean of z at the relaxation's point.", lambda c: c.share, "percent"),
    Column("rank_ratio", "rank ratio", "Second over first eigenvalue of W.", lambda c: c.rank_ratio, "ratio"),
    Column("misclassified", "misclassified", "Under the recovered classifier.", lambda c: c.misclassified, "count"),
    Column("status", "status", "How the solve ended.", lambda c: c.status),
    Column("seconds", "s", "Seconds of solving.", lambda c: c.solve_seconds, "seconds"),
    Column("why", "what is missing, and why", "Why a bound, a classifier or a gap is missing.", _missing),
)


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


def default_report_instances(seed: int = 0) -> list[Instance]:
    """Five instances: wdbc twice, a digits pair, and Gaussian classes with clustered outliers twice.

    The real sets are sub-sampled (stratified) and reduced to a few features by `strongest_features`, to sizes that exact
    solvers can mostly finish, then standardised with an intercept column. The generated ones are taken as they are drawn
    (Conic §5.1.1, σ = 0.2); the larger is meant to end unproven in generic mixed-integer solvers within half a minute.
    """
    from ...instances import gaussian_clusters, load

    wdbc = load("wdbc")
    digits = load("digits").pair(3, 8)
    return [
        strongest_features(wdbc.subsample(60, seed=seed), 4).prepared(),
        strongest_features(wdbc.subsample(100, seed=seed), 8).prepared(),
        strongest_features(digits.subsample(60, seed=seed), 5).prepared(),
        gaussian_clusters(50, 3, 0.2, outliers="clustered", seed=seed),
        gaussian_clusters(200, 5, 0.2, outliers="clustered", seed=seed),
    ]


def strongest_features(instance: Instance, k: int, most_alike: float = 0.9) -> Instance:
    """The k features that separate the two classes best, without near duplicates.

    Features are ranked by the distance of the class means over the pooled standard deviation within the classes; going down the
    ranking, one whose correlation with a feature already chosen exceeds ``most_alike`` in absolute value is passed over. Only
    the instance's own points are used. Constant features and an intercept column are left out.

    Raises
    ------
    InputError
        The instance has not two classes, or fewer than k such features.
    """
    if tuple(instance.classes) != (-1, 1):
        raise InputError(f"strongest_features needs two classes; {instance.name} has {len(instance.classes)}: use pair(a, b)")
    X = np.asarray(instance.dense().X)
    positive = instance.y > 0
    within = np.sqrt(positive.mean() * X[positive].var(axis=0) + (~positive).mean() * X[~positive].var(axis=0))
    varied = np.flatnonzero(X.std(axis=0) > 0)
    apart = np.abs(X[positive].mean(axis=0) - X[~positive].mean(axis=0))
    strength = np.divide(apart, within, out=np.full(X.shape[1], np.inf), where=within > 0)
    alike = np.abs(np.corrcoef(X[:, varied], rowvar=False)).reshape(varied.size, varied.size) if varied.size else np.zeros((0, 0))
    chosen: list[int] = []
    for j in np.argsort(-strength[varied], kind="stable"):
        if len(chosen) < k and all(alike[j, i] <= most_alike for i in chosen):
            chosen.append(int(j))
    if len(chosen) < k:
        raise InputError(
            f"{instance.name} has only {len(chosen)} features of absolute correlation at most {most_alike:g}; k = {k}"
        )
    columns = varied[chosen]
    names = instance.feature_names
    return replace(
        instance,
        X=X[:, columns],
        intercept=False,
        feature_names=None if names is None else tuple(names[j] for j in columns),
        source=f"{instance.source}; the {k} features that separate the classes best (correlations at most {most_alike:g})",
        population=None,
        **instance.naming.changed({"p": k}, {}),
    )
