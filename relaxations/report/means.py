"""Statistics of a gap report over many problems: shifted geometric means, performance profiles, primal-dual integrals.

ζ is the optimum of a problem, or the interval from its best bound to its best objective if it is unproven. It is *trivial* if no
classifier better than the intercept alone is known. λ is the cost of a margin violation, M the big-M constants of an encoding. An
*exact variant* is an exact solver with its encoding and source of M.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np

from ...errors import InputError
from ...models.arrays import FloatArray
from ...solvers.geometric_mean import NODES_SHIFT, SECONDS_SHIFT, shifted_geometric_mean
from ...solvers.records import Status
from ..relaxation_result import AGREEMENT_TOLERANCE
from .cells import CellKey, ExactCell, InstanceCell
from .report_data import EXACT, ReportData, family_name, parameter_value, remaining_gap, root_gap

#: Seconds that shorter times are raised to: ratios of shorter ones say nothing.
SHORTEST_TIME = 0.01
#: Relative gaps at which runs are counted.
GAP_TOLERANCES = (1e-2, 1e-4)
#: Multiples of the fastest time in the tables.
TIME_FACTORS = (1.0, 2.0, 5.0, 10.0, 100.0)

#: Name of the solver that takes the best run of each problem.
VIRTUAL_BEST = "virtual best"

#: Instances over which means are taken: a family at one λ.
_Group: TypeAlias = tuple[str, float | None]
#: A problem of a comparison: the instance, λ and the solver's seed.
_SeededProblem: TypeAlias = tuple[CellKey, int]


def performance_ratios(times: Mapping[str, Sequence[float] | FloatArray]) -> dict[str, FloatArray]:
    """Return r_{p,s} = t_{p,s} / min_s t_{p,s} for every solver s, over the problems p in their order, Dolan and Moré (2002), §2.

    Parameters
    ----------
    times : mapping of name to sequence
        Times > 0 of each solver, over the same problems; infinite for one that it did not solve. A problem that no solver
        solved has infinite ratios.

    Returns
    -------
    dict of str to ndarray
        Ratios ≥ 1 by solver.

    Raises
    ------
    InputError
        Sequences of different lengths, no problem, or a time that is not > 0.
    """
    table = [np.asarray(t, dtype=np.float64) for t in times.values()]
    if not table or table[0].size == 0 or len({t.size for t in table}) > 1:
        raise InputError(f"every solver needs the times of the same problems; they have {[t.size for t in table]}", name="times")
    if not all((t > 0.0).all() for t in table):
        raise InputError("times must be > 0, infinite where a problem was not solved", name="times")
    best = np.min(table, axis=0)
    solved = np.isfinite(best)
    ratios = [np.divide(t, best, out=np.full(t.size, np.inf), where=solved) for t in table]
    return dict(zip(times, ratios, strict=True))


def fraction_within(ratios: FloatArray, factor: float) -> float:
    """Return ρ_s(τ): the part of the problems that a solver solved within τ times the fastest time.

    Parameters
    ----------
    ratios : ndarray (problems,)
        Performance ratios r_{p,s} of one solver; infinite where it did not solve the problem.
    factor : float
        τ ≥ 1.

    Returns
    -------
    float
    """
    return float((ratios <= factor * (1.0 + 1e-12)).mean())


@dataclass(frozen=True)
class ExactMean:
    """Means of one exact variant over the problems (instances × seeds) of a family at one λ, without those of trivial optimum.

    Parameters
    ----------
    family, lam, variant : str, float or None, str
        Family and λ of the instances; solver, encoding and M (`ExactCell.variant`).
    problems, solved, fastest : int
        Numbers of problems, of those proved, and of those proved first.
    unrefuted_share : float or None
        Share of claimed optima that no better point refutes; None without a claim.
    seconds, nodes : float, float or None
        Shifted geometric means of seconds and nodes.
    root_gap, final_gap : float or None
        Mean gap at the root over all runs, and mean gap at the end over the unproven runs.
    share_by_gap : tuple of float
        Shares of the problems with a gap of at most each of `GAP_TOLERANCES`.
    integral : float or None
        Mean primal-dual integral in seconds (`primal_dual_integral`).
    misclassified, test_error : float or None
        Mean number of misclassified training points, and mean error on held-out points.
    share_by_factor : tuple of float
        Shares of the problems proved within `TIME_FACTORS` times the fastest time.
    """

    family: str
    lam: float | None
    variant: str
    problems: int
    solved: int
    fastest: int
    unrefuted_share: float | None
    seconds: float
    nodes: float | None
    root_gap: float | None
    final_gap: float | None
    share_by_gap: tuple[float, ...]
    integral: float | None
    misclassified: float | None
    test_error: float | None
    share_by_factor: tuple[float, ...]


@dataclass(frozen=True)
class RelaxationMean:
    """Means of one relaxation over the instances of a family at one λ where it bounds ζ, without those of trivial optimum.

    Gaps count by their upper ends where ζ is unproven.

    Parameters
    ----------
    family, lam, relaxation : str, float or None, str
        Family and λ of the instances; name of the relaxation.
    instances, exact : int
        Numbers of instances, and of those with a gap of at most `EXACT`.
    gap, closed : float or None
        Mean gap, and mean share of the base relaxation's gap that this relaxation closes.
    quartiles : tuple of float or None
        Lower quartile, median and upper quartile of the gap.
    seconds : float
        Shifted geometric mean of the seconds.
    test_error : float or None
        Mean error of the recovered classifiers on held-out points.
    """

    family: str
    lam: float | None
    relaxation: str
    instances: int
    gap: float | None
    quartiles: tuple[float | None, ...]
    closed: float | None
    exact: int
    seconds: float
    test_error: float | None


def _group_of(instance: InstanceCell) -> _Group:
    """Return the family and λ of an instance, over which means are taken; λ is None if it was chosen for the instance."""
    return family_name(instance), parameter_value(instance, "lam") if instance.lam_low is None else None


def _cells_by_variant(report: ReportData, group: _Group | None = None) -> dict[str, dict[_SeededProblem, ExactCell]]:
    """Return the cells by variant and problem, without variants whose cells all have a reason not to have run or a caveat."""
    table: dict[str, dict[_SeededProblem, ExactCell]] = {}
    members = {c.key for c in report.instances if group is None or _group_of(c) == group} - report.trivial
    for cell in report.exacts:
        if cell.key in members:
            table.setdefault(cell.variant, {})[cell.key, cell.seed] = cell
    return {variant: cells for variant, cells in table.items() if not all(c.reason or c.caveat for c in cells.values())}


def exact_ratios(report: ReportData) -> dict[str, FloatArray]:
    """Return the performance ratios of every exact variant, over all problems without a trivial optimum; empty without these."""
    return _ratios(_cells_by_variant(report))


def _ratios(table: dict[str, dict[_SeededProblem, ExactCell]]) -> dict[str, FloatArray]:
    problems = sorted({p for cells in table.values() for p in cells})
    if not problems:
        return {}
    return performance_ratios(
        {variant: [seconds_to_proof(cells.get(problem)) for problem in problems] for variant, cells in table.items()}
    )


def exact_means(report: ReportData) -> list[ExactMean]:
    """Return the means of each family, λ and exact variant, and of the virtual best if there are several."""
    rows = []
    for group in dict.fromkeys(_group_of(c) for c in report.instances):
        table = _cells_by_variant(report, group)
        ratios = _ratios(table)
        rows += [_exact_mean(report, group, variant, list(cells.values()), ratios[variant]) for variant, cells in table.items()]
        if len(table) > 1:
            best = _virtual_best(table)
            proved = np.array([1.0 if c.proven else np.inf for c in best.values()])
            rows.append(_exact_mean(report, group, VIRTUAL_BEST, list(best.values()), proved))
    return rows


def _virtual_best(table: Mapping[str, Mapping[_SeededProblem, ExactCell]]) -> dict[_SeededProblem, ExactCell]:
    """Return, for each problem, the run that proves it soonest; if none does, the run that leaves the smallest gap."""
    best: dict[_SeededProblem, list[ExactCell]] = {}
    for cells in table.values():
        for problem, cell in cells.items():
            best.setdefault(problem, []).append(cell)
    return {problem: min(runs, key=_gap_then_time) for problem, runs in best.items()}


def _gap_then_time(cell: ExactCell) -> tuple[float, float]:
    gap = remaining_gap(cell)
    return np.inf if gap is None else 0.0 if cell.proven else gap, seconds_to_proof(cell) if cell.proven else run_seconds(cell)


def primal_dual_integral(cell: ExactCell) -> float | None:
    """Return ∫ γ(t) dt up to the time limit in seconds, Berthold (2013) with both bounds: γ = (incumbent - bound)/incumbent.

    A negative bound counts as 0. γ is 1 while there is no incumbent or no bound, and keeps its last value after the run, 0 if the
    optimum was proved. None without a trace or a time limit, or with a caveat.
    """
    if not cell.trace or cell.time_limit is None or cell.caveat:
        return None
    times = [*(min(t, cell.time_limit) for t, _, _ in cell.trace), cell.time_limit]
    gaps = [1.0 if u is None or b is None else 0.0 if u <= 0.0 else min(max(u - max(b, 0.0), 0.0) / u, 1.0)
            for _, u, b in cell.trace]  # fmt: skip
    if cell.proven:
        gaps[-1] = 0.0
    return times[0] + float(np.dot(gaps, np.maximum(np.diff(times), 0.0)))


def _exact_mean(report: ReportData, group: _Group, variant: str, cells: list[ExactCell], fractions: FloatArray) -> ExactMean:
    ran = [c for c in cells if not c.reason]
    claims = [c for c in ran if c.status == str(Status.OPTIMAL) and c.incumbent is not None]
    wrong = sum((c.incumbent or 0.0) - report.best[c.key].high > AGREEMENT_TOLERANCE * abs(c.incumbent or 0.0) for c in claims)
    gaps = [remaining_gap(c) for c in ran]
    nodes = [c.nodes for c in ran if c.nodes is not None]
    return ExactMean(
        *group,
        variant,
        problems=fractions.size,
        solved=int(np.isfinite(fractions).sum()),
        fastest=int((fractions <= 1.0).sum()),
        unrefuted_share=1.0 - wrong / len(claims) if claims else None,
        seconds=shifted_geometric_mean([run_seconds(c) for c in cells], SECONDS_SHIFT),
        nodes=shifted_geometric_mean(nodes, NODES_SHIFT) if nodes else None,
        root_gap=_mean(root_gap(c, report.best[c.key].high) for c in ran),
        final_gap=_mean(value for c, value in zip(ran, gaps, strict=True) if not c.proven),
        share_by_gap=tuple(sum(g is not None and g <= t for g in gaps) / fractions.size for t in GAP_TOLERANCES),
        integral=_mean(primal_dual_integral(c) for c in ran),
        misclassified=_mean(c.misclassified for c in ran),
        test_error=_mean(c.test_error for c in ran),
        share_by_factor=tuple(fraction_within(fractions, factor) for factor in TIME_FACTORS),
    )


def relaxation_means(report: ReportData) -> list[RelaxationMean]:
    """Return the means of each family, λ and relaxation that bounds ζ on some instance."""
    rows = []
    for group in dict.fromkeys(_group_of(c) for c in report.instances):
        for name in dict.fromkeys(c.relaxation for c in report.relaxations):
            solved = [
                r for r in report.rows
                if r.relaxation.relaxation == name and r.relaxation.bounds_optimum and _group_of(r.instance) == group
                and r.instance.key not in report.trivial
            ]  # fmt: skip
            if solved:
                gaps = [r.gap.high for r in solved if r.gap is not None]
                quartiles = tuple(float(q) for q in np.quantile(gaps, (0.25, 0.5, 0.75))) if gaps else (None, None, None)
                seconds = shifted_geometric_mean([r.relaxation.solve_seconds or 0.0 for r in solved], SECONDS_SHIFT)
                closed = _mean(None if r.closed is None else r.closed.high for r in solved)
                exact = sum(g <= EXACT for g in gaps)
                error = _mean(r.relaxation.test_error for r in solved)
                rows.append(RelaxationMean(*group, name, len(solved), _mean(gaps), quartiles, closed, exact, seconds, error))
    return rows


def _mean(values: Iterable[float | None]) -> float | None:
    numbers = [v for v in values if v is not None]
    return float(np.mean(numbers)) if numbers else None


def run_seconds(cell: ExactCell) -> float:
    """Return the seconds of a run, preparation included; the time limit if it did not run."""
    if cell.solve_seconds is None:
        return cell.time_limit or 0.0
    return cell.solve_seconds + (cell.prepare_seconds or 0.0)


def seconds_to_proof(cell: ExactCell | None) -> float:
    """Return the seconds to a proven optimum; infinite without one."""
    return max(run_seconds(cell), SHORTEST_TIME) if cell is not None and cell.proven else float("inf")
