"""Gaps from stored cells: pure functions, intervals wherever the optimum is not proven."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from .cells.exact import ExactCell
from .cells.heuristic import InstanceCell
from .cells.relaxation import RelaxationCell

__all__ = [
    "AGREE", "EXACT", "Interval", "audit", "base_bound", "best_known", "best_runs", "gap", "gap_closed", "gap_left", "is_trivial",
    "optimum", "rank_verdict", "root_gap", "trivial_objective",
]  # fmt: skip

#: Two numbers that should agree differ by at most this, relatively.
AGREE = 1e-6
#: The lower end where nothing is known.
_NOTHING = float("-inf")
#: Rank ratio up to which W counts as of rank one, and the relative distance of bound and recovered objective that confirms it.
RANK_ONE, EXACT = 1e-5, 1e-4


@dataclass(frozen=True)
class Interval:
    """A number that is known to lie between two others; known exactly where they are equal."""

    low: float
    high: float

    @property
    def exact(self) -> bool:
        """Return whether the number is known."""
        return self.low == self.high


def optimum(exact: ExactCell) -> Interval | None:
    """Return the interval that one exact solve gives for the optimum: its value where proven, else [bound, incumbent]; None
    without a point.
    """
    if exact.incumbent is None:
        return None
    floor = _NOTHING if exact.lam is None else 0.0
    if exact.proven or exact.bound is None or not exact.bounds_optimum:
        return Interval(exact.incumbent if exact.proven else floor, exact.incumbent)
    return Interval(min(max(exact.bound, floor), exact.incumbent), exact.incumbent)


def best_known(instance: InstanceCell, relaxations: Iterable[RelaxationCell], exacts: Iterable[ExactCell]) -> Interval:
    """Return the interval from all cells of one instance: [largest bound, least feasible objective], the latter alone where
    proven.
    """
    relaxations, exacts = list(relaxations), list(exacts)
    points = [instance.objective, *(c.recovered for c in relaxations), *(c.incumbent for c in exacts)]
    high = min((value for value in points if value is not None), default=-_NOTHING)
    if any(c.proven for c in exacts):
        return Interval(high, high)
    bounds = [c.bound for c in relaxations if c.bounds_optimum] + [c.bound for c in exacts if c.bounds_optimum]
    floor = _NOTHING if instance.floor is None else instance.floor
    return Interval(min(max([floor, *(b for b in bounds if b is not None)]), high), high)


def gap(bound: float, zeta: Interval) -> Interval | None:
    """(ζ - bound)/|ζ| for the ζ of the interval, Conic §2; None where ζ may be zero and the bound is too, or is not known.

    Increasing in ζ where bound and ζ have one sign, so the ends are those of ζ. A bound above ζ gives a negative gap: not a bound
    of the optimum.
    """
    if zeta.high == 0.0 or zeta.high == -_NOTHING:
        return None
    if zeta.high < 0.0:
        low = max(zeta.low, min(bound, zeta.high))
        return Interval((low - bound) / -low, (zeta.high - bound) / -zeta.high)
    if bound < 0.0:  # and ζ > 0: decreasing
        return Interval(1.0 - bound / zeta.high, 1.0 - bound / zeta.low) if zeta.low > 0.0 else None
    high = (zeta.high - bound) / zeta.high
    if zeta.exact:
        return Interval(high, high)
    low = max(zeta.low, min(bound, zeta.high))  # ζ is at least a valid bound
    return Interval((low - bound) / low if low > 0.0 else 0.0, high)


def base_bound(relaxations: Iterable[RelaxationCell], name: str) -> float | None:
    """Bound of the big-M relaxation of this name, from which gap closed is measured; None where there is none."""
    return next((c.bound for c in relaxations if c.relaxation == name and c.bounds_optimum), None)


def gap_closed(bound: float, base: float, zeta: Interval) -> Interval | None:
    """(bound - base)/(ζ - base), base that of the big-M relaxation; None where ζ = base leaves no gap to close.

    None too where the bound or the base exceeds the best point that is known: one of them is no bound (`audit` says so).
    """
    if max(bound, base) - zeta.high > AGREE * max(abs(zeta.high), abs(bound), abs(base)):
        return None
    if zeta.high == -_NOTHING or zeta.high - base <= AGREE * max(abs(zeta.high), abs(base)):
        return None
    low = (bound - base) / (zeta.high - base)
    if zeta.exact:
        return Interval(low, low)
    least = max(zeta.low, bound, base)
    high = (bound - base) / (least - base) if least > base else 0.0
    return Interval(min(low, high), max(low, high))


def root_gap(cell: ExactCell, best: float) -> float | None:
    """(ζ - root bound)/ζ with the least objective known for ζ; None where the solver tells no root bound."""
    known = 0.0 < best < -_NOTHING
    return (best - cell.root) / best if known and cell.root is not None and not cell.caveat else None


def gap_left(cell: ExactCell) -> float | None:
    """(incumbent - bound)/incumbent when the solver stopped; None without either."""
    if cell.incumbent is None or cell.bound is None or cell.incumbent <= 0.0 or cell.caveat:
        return None
    return 0.0 if cell.proven else max(cell.incumbent - max(cell.bound, 0.0), 0.0) / cell.incumbent


def trivial_objective(instance: InstanceCell) -> float:
    """The best that needs no feature: w = 0 violates all margins; b = ±1 those of the smaller class and costs 1."""
    if instance.lam is None or instance.n is None or instance.positives is None:
        return -_NOTHING  # a model as it is stated
    smaller = min(instance.positives, instance.n - instance.positives)
    zero = instance.lam * instance.n
    return min(zero, 1.0 + instance.lam * smaller) if instance.intercept else zero


def is_trivial(instance: InstanceCell, zeta: Interval) -> bool:
    """Return whether nothing better than the intercept alone is known (a constant column is taken for one of ones)."""
    return instance.lam is not None and zeta.high >= trivial_objective(instance) * (1.0 - AGREE)


def rank_verdict(cell: RelaxationCell) -> str:
    """Return the verdict on the ratio of W's first two eigenvalues.

    W = ww' (rank one) makes the hull rows r² ≥ r_+²/z + r_-²/(1 - z), so z is binary where r ≠ 0 and the relaxation is exact.
    """
    if cell.rank_ratio is None or cell.bound is None or cell.recovered is None:
        return ""
    close = cell.recovered - cell.bound <= EXACT * max(abs(cell.recovered), abs(cell.bound))
    if cell.rank_ratio <= RANK_ONE:
        return "exact: rank one, confirmed by the recovered objective" if close else "rank one"
    return "exact: bound and recovered objective agree" if close else "not exact: rank above one"


def audit(instance: InstanceCell, relaxations: Iterable[RelaxationCell], exacts: Iterable[ExactCell]) -> list[str]:
    """Contradictions among the cells of one instance, in words; empty where all agree."""
    relaxations, exacts = list(relaxations), list(exacts)
    where = instance.instance if instance.lam is None else f"{instance.instance}, lam = {instance.lam:g}"
    points = {} if instance.objective is None else {"the heuristic": instance.objective}
    points |= {c.relaxation: c.recovered for c in relaxations if c.recovered is not None}
    points |= {_run(c): c.incumbent for c in exacts if c.incumbent is not None}
    source = min(points, key=lambda name: points[name], default="")
    best = points.get(source, -_NOTHING)
    contradictions = []
    bounds = [(c.relaxation, c.bound, c.kind) for c in relaxations if c.bounds_optimum]
    bounds += [(_run(c), c.bound, c.kind) for c in exacts if c.bounds_optimum]
    for name, bound, kind in bounds:
        if bound is not None and bound - best > AGREE * max(abs(best), abs(bound)):
            contradictions.append(
                f"{where}: the bound {bound:.9g} of {name} ({kind}) exceeds the objective {best:.9g} of {source}"
            )
    for c in exacts:
        if c.proven and c.incumbent is not None and c.incumbent - best > AGREE * abs(best):
            contradictions.append(f"{where}: {_run(c)} claims the optimum {c.incumbent:.9g}; {source} has {best:.9g}")
        if c.incumbent is not None and c.claimed is not None and c.incumbent - c.claimed > AGREE * max(1.0, abs(c.incumbent)):
            contradictions.append(
                f"{where}: {_run(c)} claims the objective {c.claimed:.9g}; its classifier has {c.incumbent:.9g} when recomputed"
            )
    return contradictions


def _run(cell: ExactCell) -> str:
    """A run in words: the variant, and its seed where it is not the usual one."""
    return cell.variant if cell.seed == 0 else f"{cell.variant}, seed {cell.seed}"


def best_runs(cells: Iterable[ExactCell]) -> list[ExactCell]:
    """One cell for each solver, in order: of its encodings, M and seeds the one that says most about the optimum, soonest."""
    best: dict[str, ExactCell] = {}
    for cell in cells:
        if cell.solver not in best or _merit(cell) < _merit(best[cell.solver]):
            best[cell.solver] = cell
    return list(best.values())


def _merit(cell: ExactCell) -> tuple[bool, float, float]:
    known = optimum(cell)
    width = float("inf") if known is None else known.high - known.low
    return not cell.proven, width, float("inf") if cell.solve_seconds is None else cell.solve_seconds
