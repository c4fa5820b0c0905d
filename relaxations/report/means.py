"""Solvers and relaxations over many instances: performance profiles (Dolan and Moré 2002) and shifted geometric means."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from ...errors import InputError
from ...models.arrays import FloatArray
from .cells.records import ExactCell, Key

if TYPE_CHECKING:
    from .table import GapReport

__all__ = [
    "FACTORS", "ExactMean", "RelaxationMean", "exact_means", "exact_ratios", "fraction_within", "performance_ratios",
    "relaxation_means", "shifted_geometric_mean",
]  # fmt: skip

#: Shifts of the means: seconds, nodes.
SECONDS, NODES = 1.0, 10.0
#: Times below this are equal to it: ratios of shorter ones say nothing.
FLOOR = 0.01
#: Multiples of the fastest time in the tables.
FACTORS = (1.0, 2.0, 5.0, 10.0, 100.0)

#: A problem of a comparison: the instance, λ and the solver's seed.
Problem: TypeAlias = tuple[Key, int]


def shifted_geometric_mean(values: Sequence[float] | FloatArray, shift: float) -> float:
    """exp(mean(log(v + s))) - s: a mean in which neither the largest nor the smallest values decide.

    Raises
    ------
    InputError
        No values, or one with v + s ≤ 0.
    """
    shifted = np.asarray(values, dtype=np.float64) + shift
    if shifted.size == 0 or not (shifted > 0.0).all():
        raise InputError(f"a shifted geometric mean needs values above {-shift:g}, one at least; they are {list(values)}")
    return float(np.exp(np.log(shifted).mean()) - shift)


def performance_ratios(times: Mapping[str, Sequence[float] | FloatArray]) -> dict[str, FloatArray]:
    """r_{p,s} = t_{p,s} / min_s t_{p,s} for every solver s, over the problems p in their order, Dolan and Moré (2002), §2.

    Parameters
    ----------
    times : mapping of name to sequence
        Times > 0 of equally many problems; infinite where it did not solve the problem. A problem that nobody solved has
        infinite ratios.

    Raises
    ------
    InputError
        Sequences of different lengths, no problem, or a time that is not > 0.
    """
    table = [np.asarray(t, dtype=np.float64) for t in times.values()]
    if not table or table[0].size == 0 or len({t.size for t in table}) > 1:
        raise InputError(f"every solver needs the times of the same problems; they have {[t.size for t in table]}")
    if not all((t > 0.0).all() for t in table):
        raise InputError("times must be > 0, infinite where a problem was not solved")
    best = np.min(table, axis=0)
    solved = np.isfinite(best)
    ratios = [np.divide(t, best, out=np.full(t.size, np.inf), where=solved) for t in table]
    return dict(zip(times, ratios, strict=True))


def fraction_within(ratios: FloatArray, factor: float) -> float:
    """ρ_s(τ): the part of the problems that a solver solved within τ times the fastest time."""
    return float((ratios <= factor * (1.0 + 1e-12)).mean())


@dataclass(frozen=True)
class ExactMean:
    """One exact variant over all problems.

    Parameters
    ----------
    variant : str
    problems, solved, fastest : int
        Instances × seeds; those it proved; those that nobody proved sooner.
    seconds : float
        Shifted geometric mean (1 s), preparation included; a run that was stopped counts with the time that it had, one that
        did not run with the time limit.
    nodes : float or None
        Shifted geometric mean (10 nodes) over the runs that tell nodes.
    misclassified : float or None
        Mean over the runs with a classifier.
    within : tuple of float
        Part of the problems proved within `FACTORS` times the fastest time.
    """

    variant: str
    problems: int
    solved: int
    fastest: int
    seconds: float
    nodes: float | None
    misclassified: float | None
    within: tuple[float, ...]


@dataclass(frozen=True)
class RelaxationMean:
    """One relaxation over all instances where its bound is one of the optimum.

    Parameters
    ----------
    relaxation : str
    instances : int
    gap, closed : float or None
        Mean of the gaps, and of the parts closed, each by its upper end where ζ is unproven.
    seconds : float
        Shifted geometric mean (1 s) of its solve.
    """

    relaxation: str
    instances: int
    gap: float | None
    closed: float | None
    seconds: float


def _table(report: GapReport) -> dict[str, dict[Problem, ExactCell]]:
    """Cells by variant and problem; variants that never ran, or whose M is nowhere proved valid, are left out."""
    table: dict[str, dict[Problem, ExactCell]] = {}
    for cell in report.exacts:
        table.setdefault(cell.variant, {})[cell.key, cell.seed] = cell
    return {variant: cells for variant, cells in table.items() if not all(c.reason or c.caveat for c in cells.values())}


def exact_ratios(report: GapReport) -> dict[str, FloatArray]:
    """Ratios of the times to a proven optimum of all exact variants; empty without problems."""
    table = _table(report)
    problems = sorted({p for cells in table.values() for p in cells})
    if not problems:
        return {}
    return performance_ratios(
        {variant: [_proved_in(cells.get(problem)) for problem in problems] for variant, cells in table.items()}
    )


def exact_means(report: GapReport) -> list[ExactMean]:
    """One row for each exact variant."""
    ratios = exact_ratios(report)
    rows = []
    for variant, cells in _table(report).items():
        ran = [c for c in cells.values() if not c.reason]
        nodes = [c.nodes for c in ran if c.nodes is not None]
        points = [c.misclassified for c in ran if c.misclassified is not None]
        within = ratios[variant]
        rows.append(
            ExactMean(
                variant,
                within.size,
                int(np.isfinite(within).sum()),
                int((within <= 1.0).sum()),
                shifted_geometric_mean([_spent(c) for c in cells.values()], SECONDS),
                shifted_geometric_mean(nodes, NODES) if nodes else None,
                float(np.mean(points)) if points else None,
                tuple(fraction_within(within, factor) for factor in FACTORS),
            )
        )
    return rows


def relaxation_means(report: GapReport) -> list[RelaxationMean]:
    """One row for each relaxation that bounds the optimum somewhere."""
    from .gaps import base_bound, gap, gap_closed

    rows = []
    for name in dict.fromkeys(c.relaxation for c in report.relaxations):
        cells = [c for c in report.relaxations if c.relaxation == name and c.bounds_optimum]
        gaps, closed = [], []
        for cell in cells:
            assert cell.bound is not None
            zeta = report.best[cell.key]
            base = base_bound(report.relaxations_of(cell.key), str(report.meta.get("base", "")))
            distance = gap(cell.bound, zeta)
            part = None if base is None else gap_closed(cell.bound, base, zeta)
            gaps += [] if distance is None else [distance.high]
            closed += [] if part is None else [part.high]
        if cells:
            seconds = shifted_geometric_mean([c.solve_seconds or 0.0 for c in cells], SECONDS)
            means = [float(np.mean(v)) if v else None for v in (gaps, closed)]
            rows.append(RelaxationMean(name, len(cells), means[0], means[1], seconds))
    return rows


def _spent(cell: ExactCell) -> float:
    if cell.solve_seconds is None:
        return cell.time_limit or 0.0
    return cell.solve_seconds + (cell.prepare_seconds or 0.0)


def _proved_in(cell: ExactCell | None) -> float:
    return max(_spent(cell), FLOOR) if cell is not None and cell.proven else float("inf")
