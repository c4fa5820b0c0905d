"""Columns and tables of a report: relaxations, exact solves, and sweeps over κ."""

from __future__ import annotations

import csv
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache, partial
from importlib import resources
from typing import TYPE_CHECKING, Any

import numpy as np

from ...errors import InputError
from .cells.exact import STRUCTURED, ExactCell
from .cells.heuristic import InstanceCell
from .cells.kappa import KappaCell
from .data import Interval, ReportData, ReportRow, gap, gap_left, root_gap

if TYPE_CHECKING:
    from ...instances import Instance


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
    in_picture : bool
        Whether a picture of the page shows it, so that the page's table need not.
    optional : bool
        Whether tables leave it out where no row has a value.
    """

    key: str
    title: str
    explanation: str
    value: Callable[[Any], Any]
    form: str = "text"
    interval: bool = False
    in_picture: bool = False
    optional: bool = False

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


def columns_of(table: str, functions: Mapping[str, Callable[[Any], Any]]) -> tuple[Column, ...]:
    """Return the columns of a table of ``columns.csv``.

    A value with brackets is one of the functions of a row, another one a path of attributes, and of places in tuples.
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


def cell_text(column: Column, row: Any) -> str:
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


def _how(row: ExactRow) -> str:
    cell = row[1]
    if cell.reason:
        return cell.reason
    return cell.status if not cell.caveat else f"{cell.status}; no bound of the optimum: {cell.caveat}"


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
    if cell.reason or cell.bound is not None:
        return cell.reason or cell.kind
    return "none: no bound of ζ" if cell.target_bound is not None else f"none: the solve ended as {cell.status}"


EXACT_COLUMNS = columns_of(
    "exacts",
    {
        "encoding": lambda row: "the data" if row[1].encoding == STRUCTURED else row[1].encoding,
        "how": _how,
        "root_gap": lambda row: root_gap(row[1], row[2]),
        "left": lambda row: gap_left(row[1]),
    },
)
KAPPA_COLUMNS = columns_of("kappas", {"optimum": _optimum, "gap": _gap, "known_by": _known_by, "missing": _missing})
COLUMNS = columns_of("relaxations", {"m_range": _m_range, "bounds": _bounds, "kind": _kind})


def default_report_instances(seed: int = 0) -> list[Instance]:
    """Return five instances: wdbc twice, a digits pair, and Gaussian classes with clustered outliers twice.

    The real sets are sub-sampled (stratified) and reduced to a few features by `strongest_features`, to sizes that exact
    solvers can mostly finish, then standardised with an intercept column. The generated ones are taken as they are drawn
    (Conic §5.1.1, σ = 0.2); the larger is meant to end unproven in generic mixed-integer solvers within half a minute.

    Parameters
    ----------
    seed : int
        Of the sub-samples and the draws.

    Returns
    -------
    list of Instance
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
    """Return the k features that separate the two classes best, without near duplicates.

    Features are ranked by the distance of the class means over the pooled standard deviation within the classes; going down the
    ranking, one whose correlation with a feature already chosen exceeds ``most_alike`` in absolute value is passed over. Only
    the instance's own points are used. Constant features and an intercept column are left out.

    Parameters
    ----------
    instance : Instance
    k : int
        Number of features.
    most_alike : float
        Largest absolute correlation of two chosen features.

    Returns
    -------
    Instance
        The same points with k features.

    Raises
    ------
    InputError
        The instance has not two classes, or fewer than k such features.
    """
    if tuple(instance.classes) != (-1, 1):
        raise InputError(
            f"strongest_features needs two classes; {instance.name} has {len(instance.classes)}: use pair(a, b)", name="instance"
        )
    X = np.asarray(instance.dense().X)
    positive = instance.y > 0
    within = np.sqrt(positive.mean() * X[positive].var(axis=0) + (~positive).mean() * X[~positive].var(axis=0))
    varied = np.flatnonzero(X.std(axis=0) > 0)
    distance = np.abs(X[positive].mean(axis=0) - X[~positive].mean(axis=0))
    strength = np.divide(distance, within, out=np.full(X.shape[1], np.inf), where=within > 0)
    alike = np.abs(np.corrcoef(X[:, varied], rowvar=False)).reshape(varied.size, varied.size) if varied.size else np.zeros((0, 0))
    chosen: list[int] = []
    for j in np.argsort(-strength[varied], kind="stable"):
        if len(chosen) < k and all(alike[j, i] <= most_alike for i in chosen):
            chosen.append(int(j))
    if len(chosen) < k:
        raise InputError(
            f"{instance.name} has only {len(chosen)} features of absolute correlation at most {most_alike:g}; k = {k}", name="k"
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
