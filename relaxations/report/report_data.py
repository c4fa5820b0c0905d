"""`ReportData`, the results of a gap report: the stored cells, and the optima, gaps and contradictions that follow from them.

A cell is the stored result of one computation. ζ is the optimum of a problem, an interval if it is unproven; λ is the cost of a
margin violation.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, TypeVar

from ...errors import InputError
from ...instances.naming import SIZES, InstanceName
from ..relaxation_result import AGREEMENT_TOLERANCE
from .cells import Cell, CellKey, ExactCell, InstanceCell, KappaCell, RelaxationCell, problem_label

#: Lower end of an interval without a bound.
_NOTHING = float("-inf")
#: Largest ratio of the first two eigenvalues of a W that counts as of rank one.
_RANK_ONE = 1e-5
#: Largest gap of a relaxation that counts as exact.
EXACT = 1e-4


@dataclass(frozen=True)
class Interval:
    """A number known to lie between two others.

    Parameters
    ----------
    low, high : float
        The ends; equal if the number is known exactly.
    """

    low: float
    high: float

    @property
    def exact(self) -> bool:
        """Return whether the number is known exactly."""
        return self.low == self.high


def optimum_interval(exact: ExactCell) -> Interval | None:
    """Return the interval of the optimum by one exact solve: one number if proven, else [bound, incumbent]; None without an
    incumbent.
    """
    if exact.incumbent is None:
        return None
    floor = _NOTHING if exact.lam is None else 0.0
    if exact.proven or exact.bound is None or not exact.bounds_optimum:
        return Interval(exact.incumbent if exact.proven else floor, exact.incumbent)
    return Interval(min(max(exact.bound, floor), exact.incumbent), exact.incumbent)


def best_known_optimum(instance: InstanceCell, relaxations: Iterable[RelaxationCell], exacts: Iterable[ExactCell]) -> Interval:
    """Return the interval of the optimum by all cells of one instance: [largest bound, least objective]; a point if proven."""
    relaxations, exacts = list(relaxations), list(exacts)
    points = [instance.objective, *(c.recovered for c in relaxations), *(c.incumbent for c in exacts)]
    high = min((value for value in points if value is not None), default=-_NOTHING)
    if any(c.proven for c in exacts):
        return Interval(high, high)
    bounds = [c.bound for c in relaxations if c.bounds_optimum] + [c.bound for c in exacts if c.bounds_optimum]
    floor = _NOTHING if instance.floor is None else instance.floor
    return Interval(min(max([floor, *(b for b in bounds if b is not None)]), high), high)


def gap(bound: float, zeta: Interval) -> Interval | None:
    """Return (ζ - bound)/|ζ| for the ζ of the interval (Cepeda, Gómez and Han 2024, §2).

    None if ζ may be 0 and bound < 0, or the upper end of ζ is 0 or ∞. Where bound and ζ have one sign, the gap increases in ζ, so
    its ends are those of ζ. A negative gap shows that the bound exceeds ζ, and so is no bound of the optimum.
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
    """Return the bound of the relaxation of this name, from which gap closed is measured; None without one."""
    return next((c.bound for c in relaxations if c.relaxation == name and c.bounds_optimum), None)


def gap_closed(bound: float, base: float, zeta: Interval) -> Interval | None:
    """Return (bound - base)/(ζ - base) for the base relaxation's bound; None if ζ = base leaves no gap, or ζ has no upper end.

    None too if the bound or the base exceeds the best objective known: that number is no bound (`find_contradictions`).
    """
    if max(bound, base) - zeta.high > AGREEMENT_TOLERANCE * max(abs(zeta.high), abs(bound), abs(base)):
        return None
    if zeta.high == -_NOTHING or zeta.high - base <= AGREEMENT_TOLERANCE * max(abs(zeta.high), abs(base)):
        return None
    low = (bound - base) / (zeta.high - base)
    if zeta.exact:
        return Interval(low, low)
    lowest = max(zeta.low, bound, base)
    high = (bound - base) / (lowest - base) if lowest > base else 0.0
    return Interval(min(low, high), max(low, high))


def root_gap(cell: ExactCell, best: float) -> float | None:
    """Return (ζ - root bound)/ζ, ζ the least objective known; None without a root bound, with a caveat, or if ζ ≤ 0."""
    is_defined = 0.0 < best < -_NOTHING
    return (best - cell.root) / best if is_defined and cell.root is not None and not cell.caveat else None


def remaining_gap(cell: ExactCell) -> float | None:
    """Return (incumbent - bound)/incumbent at the end; None if one is missing, with a caveat, or if incumbent ≤ 0."""
    if cell.incumbent is None or cell.bound is None or cell.incumbent <= 0.0 or cell.caveat:
        return None
    return 0.0 if cell.proven else max(cell.incumbent - max(cell.bound, 0.0), 0.0) / cell.incumbent


def trivial_objective(instance: InstanceCell) -> float:
    """Return the least objective without features: w = 0 violates all margins; b = ±1 has norm 1 and violates one class's."""
    if instance.lam is None or instance.n is None or instance.positives is None:  # a model, not an instance and λ
        return -_NOTHING if instance.trivial is None else instance.trivial
    smaller = min(instance.positives, instance.n - instance.positives)
    zero = instance.lam * instance.n
    return min(zero, 1.0 + instance.lam * smaller) if instance.intercept else zero


def is_trivial(instance: InstanceCell, zeta: Interval) -> bool:
    """Return whether no classifier better than the intercept alone is known; a constant column counts as a column of ones."""
    trivial_value = trivial_objective(instance)
    return trivial_value != -_NOTHING and zeta.high >= trivial_value - AGREEMENT_TOLERANCE * abs(trivial_value)


def rank_verdict(cell: RelaxationCell) -> str:
    """Return words on a conic relaxation's exactness, by the ratio of the first two eigenvalues of W, which stands for ww'.

    Empty without W, a bound or a recovered point. With r = 1 - y x'w the violation of a margin, W = ww' (rank one) makes the hull
    rows r² ≥ r_+²/z + r_-²/(1 - z), so z is binary where r ≠ 0 and the relaxation is exact.
    """
    if cell.rank_ratio is None or cell.bound is None or cell.recovered is None:
        return ""
    within_tolerance = cell.recovered - cell.bound <= EXACT * max(abs(cell.recovered), abs(cell.bound))
    if cell.rank_ratio <= _RANK_ONE:
        return "exact: rank one, confirmed by the recovered objective" if within_tolerance else "rank one"
    return "exact: bound and recovered objective agree" if within_tolerance else "not exact: rank above one"


def find_contradictions(instance: InstanceCell, relaxations: Iterable[RelaxationCell], exacts: Iterable[ExactCell]) -> list[str]:
    """Return the contradictions among the cells of one problem in words; empty if all agree."""
    relaxations, exacts = list(relaxations), list(exacts)
    label = instance.instance if instance.lam is None else f"{instance.instance}, lam = {instance.lam:g}"
    points = {} if instance.objective is None else {"the heuristic": instance.objective}
    points |= {c.relaxation: c.recovered for c in relaxations if c.recovered is not None}
    points |= {_run(c): c.incumbent for c in exacts if c.incumbent is not None}
    source = min(points, key=lambda name: points[name], default="")
    best = points.get(source, -_NOTHING)
    contradictions = []
    bounds = [(c.relaxation, c.bound, c.kind) for c in relaxations if c.bounds_optimum]
    bounds += [(_run(c), c.bound, c.kind) for c in exacts if c.bounds_optimum]
    for name, bound, kind in bounds:
        if bound is not None and bound - best > AGREEMENT_TOLERANCE * max(abs(best), abs(bound)):
            contradictions.append(
                f"{label}: the bound {bound:.9g} of {name} ({kind}) exceeds the objective {best:.9g} of {source}"
            )
    for c in exacts:
        if c.proven and c.incumbent is not None and c.incumbent - best > AGREEMENT_TOLERANCE * abs(best):
            contradictions.append(f"{label}: {_run(c)} claims the optimum {c.incumbent:.9g}; {source} has {best:.9g}")
        if (
            c.incumbent is not None
            and c.claimed is not None
            and c.incumbent - c.claimed > AGREEMENT_TOLERANCE * max(1.0, abs(c.incumbent))
        ):
            contradictions.append(
                f"{label}: {_run(c)} claims the objective {c.claimed:.9g}; its classifier has {c.incumbent:.9g} when recomputed"
            )
    return contradictions


def _run(cell: ExactCell) -> str:
    """Return the variant of a run, and its seed unless it is 0."""
    return cell.variant if cell.seed == 0 else f"{cell.variant}, seed {cell.seed}"


def best_runs_by_solver(cells: Iterable[ExactCell]) -> list[ExactCell]:
    """Return one run for each solver: a proven one before others, then that of the narrowest interval, then the fastest."""
    best: dict[str, ExactCell] = {}
    for cell in cells:
        if cell.solver not in best or _merit(cell) < _merit(best[cell.solver]):
            best[cell.solver] = cell
    return list(best.values())


def _merit(cell: ExactCell) -> tuple[bool, float, float]:
    interval = optimum_interval(cell)
    width = float("inf") if interval is None else interval.high - interval.low
    return not cell.proven, width, float("inf") if cell.solve_seconds is None else cell.solve_seconds


_C = TypeVar("_C", bound=Cell)

#: Name of the relaxation from which gap closed is measured for a model as stated.
_CONTINUOUS = "continuous"


@dataclass(frozen=True)
class ReportRow:
    """One relaxation on one problem, with its gaps.

    Parameters
    ----------
    instance : InstanceCell
        The problem.
    relaxation : RelaxationCell
        The relaxation's result.
    zeta : Interval
        The optimum ζ, by all cells of the problem.
    gap, closed : Interval or None
        Gap, and gap closed, as the functions `gap` and `gap_closed` define them; None without a bound of the optimum.
    verdict : str
        Verdict of the rank-one check (`rank_verdict`).
    """

    instance: InstanceCell
    relaxation: RelaxationCell
    zeta: Interval
    gap: Interval | None
    closed: Interval | None
    verdict: str


@dataclass(frozen=True, eq=False)
class ReportData:
    """The stored results of a gap report, from which everything that the report shows is computed.

    Parameters
    ----------
    instances : tuple of InstanceCell
        One for each instance at each λ, and for each model as stated.
    relaxations, exacts : tuple of RelaxationCell, tuple of ExactCell
        Solves of relaxations, and exact solves, of these instances.
    meta : mapping
        Versions, machine, options, seeds, name of the base relaxation, times: plain values.
    kappas : tuple of KappaCell
        Solves of a sweep over κ.

    Raises
    ------
    InputError
        Two instances of one name and λ, or cells of an instance that the report does not have.
    """

    instances: tuple[InstanceCell, ...]
    relaxations: tuple[RelaxationCell, ...]
    exacts: tuple[ExactCell, ...]
    meta: Mapping[str, Any] = field(default_factory=dict)
    kappas: tuple[KappaCell, ...] = ()

    def __post_init__(self) -> None:
        keys = [c.key for c in self.instances]
        if len(set(keys)) != len(keys):
            raise InputError(f"instances of a report need different names or λ: {keys}", name="instances")
        strangers = {c.key for c in (*self.relaxations, *self.exacts)} - set(keys)
        if strangers:
            raise InputError(f"cells belong to instances that the report does not have: {sorted(strangers)}", name="instances")
        unknown = {c.instance for c in self.kappas} - {c.instance for c in self.instances}
        if unknown:
            raise InputError(
                f"cells of a sweep over kappa belong to instances that the report does not have: {sorted(unknown)}",
                name="instances",
            )

    def relaxations_of(self, key: CellKey) -> list[RelaxationCell]:
        """Return the relaxation cells of the problem with this instance name and λ."""
        return self._relaxations.get(key, [])

    def exacts_of(self, key: CellKey) -> list[ExactCell]:
        """Return the exact cells of the problem with this instance name and λ."""
        return self._exacts.get(key, [])

    @cached_property
    def _relaxations(self) -> dict[CellKey, list[RelaxationCell]]:
        return _by_key(self.relaxations)

    @cached_property
    def _exacts(self) -> dict[CellKey, list[ExactCell]]:
        return _by_key(self.exacts)

    @cached_property
    def rows(self) -> tuple[ReportRow, ...]:
        """The rows of the table of relaxations: one for each instance × relaxation."""
        return tuple(self._row(instance, cell) for instance in self.instances for cell in self.relaxations_of(instance.key))

    def _row(self, instance: InstanceCell, cell: RelaxationCell) -> ReportRow:
        zeta = self.best[instance.key]
        distance = closed = None
        if cell.bound is not None and cell.bounds_optimum:
            distance = gap(cell.bound, zeta)
            relaxation_cells = self.relaxations_of(instance.key)
            base = base_bound(relaxation_cells, str(self.meta.get("base", "")) if instance.lam is not None else _CONTINUOUS)
            closed = None if base is None else gap_closed(cell.bound, base, zeta)
        return ReportRow(instance, cell, zeta, distance, closed, rank_verdict(cell))

    @cached_property
    def gap_rows(self) -> dict[str, list[ReportRow]]:
        """The rows with a gap, by relaxation, without problems of trivial optimum; means are taken over these rows."""
        rows: dict[str, list[ReportRow]] = {}
        for row in self.rows:
            if row.gap is not None and row.instance.key not in self.trivial:
                rows.setdefault(row.relaxation.relaxation, []).append(row)
        return rows

    @cached_property
    def best(self) -> dict[CellKey, Interval]:
        """The interval of the optimum of each problem, by all its cells together."""
        return {c.key: best_known_optimum(c, self.relaxations_of(c.key), self.exacts_of(c.key)) for c in self.instances}

    @cached_property
    def trivial(self) -> frozenset[CellKey]:
        """The problems without a known classifier better than the intercept alone; means leave them out."""
        return frozenset(c.key for c in self.instances if is_trivial(c, self.best[c.key]))

    @cached_property
    def contradictions(self) -> tuple[str, ...]:
        """Sentences on claims that other cells contradict: a bound above a feasible objective, optima that differ."""
        return tuple(
            line for c in self.instances for line in find_contradictions(c, self.relaxations_of(c.key), self.exacts_of(c.key))
        )

    @cached_property
    def checksum(self) -> str:
        """The SHA-256 of all cells: reports with the same one show the same results."""
        cells = [[c.record() for c in part] for part in (self.instances, self.relaxations, self.exacts, self.kappas)]
        return hashlib.sha256(json.dumps(cells, sort_keys=True).encode("utf-8")).hexdigest()


def _by_key(cells: Iterable[_C]) -> dict[CellKey, list[_C]]:
    by_key: dict[CellKey, list[_C]] = {}
    for cell in cells:
        by_key.setdefault(cell.key, []).append(cell)
    return by_key


#: Parameters that a report may sweep over, with their symbols.
SWEPT_PARAMETERS = {"n": "n", "p": "p", "sigma": "σ", "tau": "τ", "lam": "λ"}


def _naming(instance: InstanceCell) -> InstanceName:
    counted = {size: value for size, value in zip(SIZES, (instance.n, instance.p), strict=True) if value is not None}
    return InstanceName(instance.instance, instance.family, instance.parameters, counted)


def family_name(instance: InstanceCell) -> str:
    """Return the family of an instance; its name if it is of no family."""
    return _naming(instance).family_name


def row_label(instance: InstanceCell) -> str:
    """Return the name of an instance without n and p, which its table has as columns: ``set, σ = 0.2``."""
    return _words(instance, *SIZES)


def display_name(instance: InstanceCell) -> str:
    """Return the name of an instance for readers, ``set, n = 50, σ = 0.2`` for ``set[n=50, sigma=0.2]``."""
    return _words(instance)


def _words(instance: InstanceCell, *left_out: str) -> str:
    naming = _naming(instance)
    facts = naming.facts_in_name
    if facts is None:
        return instance.instance
    equals = "\N{NO-BREAK SPACE}=\N{NO-BREAK SPACE}"
    shown = [f"{SWEPT_PARAMETERS.get(name, name)}{equals}{value:.12g}" for name, value in facts.items() if name not in left_out]
    return ", ".join([naming.family_name, *shown])


def parameter_value(instance: InstanceCell, parameter: str) -> float | None:
    """Return the value of a parameter of `SWEPT_PARAMETERS`; None if the instance has none of that name."""
    value = {"n": instance.n, "p": instance.p, "lam": instance.lam}.get(parameter)
    return instance.parameters.get(parameter) if value is None else float(value)


def name_without(instance: InstanceCell, parameter: str) -> str:
    """Return instance and λ in words, without one parameter: instances of equal words differ in that parameter alone."""
    return problem_label(_words(instance, parameter), None if parameter == "lam" else instance.lam)
