"""`Document`: the parts of a gap report that its formats write: findings in sentences, tables, pictures, record of the run."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import Enum
from functools import cached_property
from typing import Any

import numpy as np

from ...drawing import Picture
from ...errors import count_text
from ...solvers.certification.result import BoundKind
from ...solvers.geometric_mean import SECONDS_SHIFT, shifted_geometric_mean
from .matrix import Matrix
from .means import SHORTEST_TIME, exact_ratios, seconds_to_proof
from .pictures import report_pictures
from .report_data import EXACT, Interval, ReportData, ReportRow
from .tables import Table, report_tables


@dataclass(frozen=True)
class Finding:
    """A main result in one sentence, ``text``, with the name of the picture or table that shows it, ``anchor``."""

    text: str
    anchor: str


def findings(report: ReportData) -> tuple[Finding, ...]:
    """Return the main results, six at most: smallest gap, its cost, proofs, unknown optima, exact or no bounds, trivial ones."""
    return tuple(finding for sentence in _SENTENCES for finding in sentence(report))[:6]


def _most_complete(report: ReportData) -> dict[str, list[ReportRow]]:
    """Return the rows of the relaxations with the most gaps, by name; medians of other relaxations are over fewer instances."""
    most_cells = max(map(len, report.gap_rows.values()), default=0)
    return {name: rows for name, rows in report.gap_rows.items() if len(rows) == most_cells}


def _median_gap(rows: list[ReportRow]) -> float:
    return float(np.median([row.gap.high for row in rows if row.gap is not None]))


def _seconds(rows: list[ReportRow]) -> float:
    return shifted_geometric_mean([row.relaxation.solve_seconds or 0.0 for row in rows], SECONDS_SHIFT)


def _smallest_gap(report: ReportData) -> list[Finding]:
    if not report.gap_rows:
        reason = "every optimum is trivial" if report.trivial else "no relaxation gave a bound of the optimum"
        return [Finding(f"There is no gap to speak of: {reason}.", "matrix")]
    with_bound = _most_complete(report)
    best = min(with_bound, key=lambda name: _median_gap(with_bound[name]))
    count, base = len(with_bound[best]), str(report.meta.get("base", ""))
    comparison = (
        f"; the base relaxation, {base}, leaves {_median_gap(with_bound[base]):.1%}"
        if base in with_bound and base != best
        else ""
    )
    scope = f" in the median over {count_text(count, 'instance')}" if count > 1 else ""
    text = f"The smallest gap is that of {best}: {_median_gap(with_bound[best]):.1%}{scope}{comparison}."
    return [Finding(text, "gaps")]


def _cost_of_bounds(report: ReportData) -> list[Finding]:
    if len(report.gap_rows) < 2:
        return []
    with_bound = _most_complete(report)
    best = min(with_bound, key=lambda name: _median_gap(with_bound[name]))
    fast = min(with_bound, key=lambda name: _seconds(with_bound[name]))
    mean = " in the mean" if len(with_bound[best]) > 1 else ""
    if fast == best:
        return [Finding(f"It is the cheapest as well: {_time(_seconds(with_bound[best]))}{mean}.", "gap-against-seconds")]
    text = (
        f"That bound costs {_time(_seconds(with_bound[best]))}{mean}; the cheapest, {fast}, "
        f"{_time(_seconds(with_bound[fast]))} for a gap of {_median_gap(with_bound[fast]):.1%}."
    )
    return [Finding(text, "gap-against-seconds")]


def _exact_relaxations(report: ReportData) -> list[Finding]:
    rows = _most_complete(report)
    exact = {name: sum(r.gap is not None and r.gap.high <= EXACT for r in group) for name, group in rows.items()}
    if not exact:
        return []
    best = max(exact, key=lambda name: (exact[name], -_median_gap(rows[name])))  # the strongest of those that are exact as often
    if exact[best] == 0:
        scope = " on any instance" if len(rows[best]) > 1 else ""
        return [Finding(f"No relaxation is exact{scope} (to {EXACT:.2%}).", "matrix")]
    text = f"On {exact[best]} of {count_text(len(rows[best]), 'instance')}, {best} is exact (to {EXACT:.2%})."
    return [Finding(text, "matrix")]


def _proofs_by_solver(report: ReportData) -> list[Finding]:
    """Return the numbers of optima by solver: proved if the bound is proved, claimed if only the solver claims the bound."""
    ratios = exact_ratios(report)
    if not ratios:
        return []
    solved = {name: int(np.isfinite(r).sum()) for name, r in ratios.items()}
    order = sorted(solved, key=lambda name: -solved[name])
    shown, count = order[:4], next(iter(ratios.values())).size
    counted = [c for c in report.exacts if c.proven and c.key not in report.trivial]
    proofs = {name: sum(c.variant == name and c.kind == BoundKind.PROVED for c in counted) for name in shown}
    if count == 1:
        solvers_by_standing = {"proved": [n for n in shown if proofs[n]], "claimed": [n for n in shown if solved[n] > proofs[n]]}
        parts = [f"{verb} by {' and '.join(names)}" for verb, names in solvers_by_standing.items() if names]
        unsolved = [name for name in shown if not solved[name]]
        text = f"The optimum is {' and '.join(parts) if parts else 'not proved'}"
        text += f", not by {' and '.join(unsolved)}" if parts and unsolved else ""
    else:
        between = "; " if any("," in name for name in shown) else ", "
        phrases = [f"{name} {_proofs_and_claims(proofs[name], solved[name] - proofs[name])}" for name in shown]
        text = f"Of {count_text(count, 'problem')}, {between.join(phrases)}"
    return [Finding(f"{text}{_ratio_of_times(report, order)}.", "profiles" if len(order) > 1 and count > 1 else "exacts")]


def _proofs_and_claims(proved: int, claimed: int) -> str:
    return " and ".join(
        filter(None, (f"proves {proved}" if proved or not claimed else "", f"claims {claimed}" if claimed else ""))
    )


def _ratio_of_times(report: ReportData, order: list[str]) -> str:
    """Return the ratio of times of the first two solvers, over the problems that both prove."""
    if len(order) < 2:
        return ""
    times = {
        name: {(c.key, c.seed): seconds_to_proof(c) for c in report.exacts if c.variant == name and c.proven}
        for name in order[:2]
    }
    first, second = (times[name] for name in order[:2])
    common = [p for p in first if p in second]
    if not common:
        return ""
    factor = float(np.exp(np.mean([np.log(second[p] / first[p]) for p in common])))
    quick, slow = (order[0], order[1]) if factor >= 1.0 else (order[1], order[0])
    factor = max(factor, 1.0 / factor)
    if factor < 1.2:
        return f"; where both end, {order[0]} and {order[1]} are about as fast"
    note = f"geometric mean, times below {SHORTEST_TIME:g} s equal"
    return f"; where both end, {quick} is {factor:.3g} times as fast as {slow} ({note})"


def _unknown_optima(report: ReportData) -> list[Finding]:
    optima = [report.best[c.key] for c in report.instances]
    unproven = [(c, z) for c, z in zip(report.instances, optima, strict=True) if not z.exact]
    if not unproven:
        return []
    cell, zeta = max(unproven, key=lambda pair: _width(pair[1]))
    text = (
        f"The optimum is not known on {len(unproven)} of {count_text(len(optima), 'instance')}; the widest interval is "
        f"[{zeta.low:.5g}, {zeta.high:.5g}], on {cell.label}."
    )
    return [Finding(text, "instances")]


def _width(zeta: Interval) -> float:
    """Return the width relative to the upper end; infinite if there is no end."""
    width = zeta.high - zeta.low
    return width if np.isinf(width) else width / abs(zeta.high) if zeta.high != 0.0 else 0.0


def _relaxations_without_bound(report: ReportData) -> list[Finding]:
    names = list(dict.fromkeys(c.relaxation for c in report.relaxations if c.target_bound is not None))
    if not names:
        return []
    listed = " and ".join(names[:3]) + (f" and {len(names) - 3} others" if len(names) > 3 else "")
    verb = "bounds" if len(names) == 1 else "bound"
    text = f"Where M is not proved valid, {listed} {verb} nothing of the problem itself; no gap is given there."
    return [Finding(text, "relaxations")]


def _trivial_optima(report: ReportData) -> list[Finding]:
    if not report.trivial:
        return []
    scope = f"On {len(report.trivial)} of {count_text(len(report.instances), 'instance')}"
    text = f"{scope} no classifier is known that beats the intercept alone; means leave them out."
    return [Finding(text, "instances")]


_SENTENCES: tuple[Callable[[ReportData], list[Finding]], ...] = (
    _smallest_gap, _cost_of_bounds, _proofs_by_solver, _unknown_optima, _exact_relaxations, _relaxations_without_bound,
    _trivial_optima,
)  # fmt: skip


def _time(seconds: float) -> str:
    return f"{1000 * seconds:.2g} ms" if seconds < 0.1 else f"{seconds:.3g} s"


_TITLE = "Relaxation gaps"
_DEFINITIONS = (
    "gap = (ζ - bound)/|ζ| (Cepeda, Gómez and Han, §2), ζ the optimum: for instances that of min ||w||² + λ Σ 1{y_i x_i'w < 1}; "
    "objectives are recomputed in float64 from the data; a bound is proved only from a dual point made exactly feasible"
)


class ReportScope(Enum):
    """The problems of a report's rows."""

    ZERO_ONE = "instances, of the 0-1 problem"
    STATED = "models as they are stated"
    BOTH = "both"


@dataclass(frozen=True, eq=False)
class Document:
    """The parts of a report that the formats write, each made when it is first asked for.

    Parameters
    ----------
    data : ReportData
    """

    data: ReportData

    @property
    def scope(self) -> ReportScope:
        """Return the kind of problems whose optima are shown."""
        has_no_lam = {cell.lam is None for cell in self.data.instances} or {False}
        return ReportScope.BOTH if len(has_no_lam) == 2 else ReportScope.STATED if has_no_lam.pop() else ReportScope.ZERO_ONE

    @property
    def title(self) -> str:
        """Return the title: gaps of the 0-1 loss unless every row is a model as it was stated."""
        return _TITLE if self.scope is ReportScope.STATED else f"{_TITLE} of the 0-1 loss"

    @cached_property
    def findings(self) -> tuple[Finding, ...]:
        """Return the findings, in sentences."""
        return findings(self.data)

    @cached_property
    def matrix(self) -> Matrix:
        """Return the main table: problems × relaxations, beside the exact solvers."""
        return Matrix.of(self.data)

    @cached_property
    def tables(self) -> tuple[Table, ...]:
        """Return the tables in their order."""
        return report_tables(self.data)

    @cached_property
    def pictures(self) -> tuple[Picture, ...]:
        """Return the pictures in their order."""
        return report_pictures(self.data)

    @property
    def head(self) -> tuple[tuple[str, str], ...]:
        """Return pairs of label and words: checksum, versions, machine and options, last the definition of a gap."""
        lines = [("checksum of the results", f"SHA-256 {self.data.checksum}")]
        lines += [(name.replace("_", " "), _words(value) or "none") for name, value in self.data.meta.items()]
        return (*lines, ("definitions", _DEFINITIONS))


def _words(value: Any) -> str:
    if isinstance(value, Mapping):
        return ", ".join(f"{k} {_words(v)}" for k, v in value.items())
    if isinstance(value, list):
        return "; ".join(_words(v) for v in value)  # names hold commas
    return f"{value:g}" if isinstance(value, float) else str(value)
