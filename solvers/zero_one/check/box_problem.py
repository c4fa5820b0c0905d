"""The problem in the coordinates of a log of boxes, derived from the stated data in rational arithmetic."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

import numpy as np
import numpy.typing as npt

from ...exact.check.arithmetic import Array, InvalidProofError, least_curvature, rotate, round_down, round_up, sum_down, sum_up

__all__ = [
    "FREE",
    "KEPT",
    "VIOLATED",
    "BoxProblem",
    "CheckedBox",
    "Packing",
    "levelled",
    "reduced_problem",
]  # fmt: skip

FREE, KEPT, VIOLATED = -1, 0, 1


@dataclass(eq=False)
class BoxProblem:
    """The problem in the log's coordinates, w = T v, divided by σ: ||v||² + Σ λ_i 1{..} ≤ (f(w) - constant)/σ.

    Margins are g_i'v ± e_i over the root box. All λ_i are whole multiples of some u ∈ ``step``, (0, 0) where no such number
    is stated.
    """

    g: Array
    e: Array
    norm2: Array
    weights: Array
    free: bool
    target: float
    lo: Array
    hi: Array
    step: tuple[float, float] = (0.0, 0.0)


@dataclass(eq=False)
class CheckedBox:
    """A node: its box, the states of its points, lower ends of their margins where they are violated, its bound."""

    lo: Array
    hi: Array
    state: npt.NDArray[np.int64]
    lower: Array
    bound: float


@dataclass(frozen=True, eq=False)
class Packing:
    """The weights that the pairs of a round leave, and a lower bound of the pairs' cost."""

    left: Array
    paid: float


def reduced_problem(
    header: dict[str, Any], A: Array, weights: Array, penalised: npt.NDArray[np.bool_], bound: float
) -> BoxProblem | None:
    """The problem in the log's coordinates; None where the zero rows alone prove the bound."""
    T = np.array(header["T"], dtype=np.float64)
    member = np.array(header["member"], dtype=np.int64)
    p = A.shape[1]
    free = not bool(penalised.all())
    if T.shape != (p, p) or member.shape != weights.shape or not np.isfinite(T).all():
        raise InvalidProofError("T must be a finite square matrix, member one number for each point")
    if free and int((~penalised).sum()) > 1:
        raise InvalidProofError("more than one weight is outside the norm")
    if free and (T[penalised, -1].any() or T[~penalised, :-1].any() or T[~penalised, -1][0] == 0.0):
        raise InvalidProofError("T mixes the intercept with the penalised weights")
    zero = member < 0
    if A[zero].any():
        raise InvalidProofError("a row is called zero and is not")
    constant = sum_down(weights[zero]) if zero.any() else 0.0
    if constant >= bound:
        return None
    first, summed = _merge(A, weights, member)
    sigma = least_curvature(T[penalised, : p - 1] if free else T)
    target = float(round_up(round_up(bound - constant) / sigma))
    g, radius = rotate(first, T)
    half = np.full(p, float(round_up(math.sqrt(target))))
    if free:
        length = round_up(np.sqrt(round_up(np.array([sum_up(round_up(row * row)) for row in first[:, penalised]]))))
        if not (np.abs(first[:, ~penalised]) == 1.0).all():
            raise InvalidProofError("the intercept's column does not hold ±1")
        reach = round_up(1.0 + round_up(float(length.max()) * round_up(math.sqrt(bound))))
        half[-1] = float(round_up(reach / abs(T[~penalised, -1][0])))
    e = np.array([sum_up(round_up(row * half)) for row in radius])
    norm2 = np.array([sum_up(round_up(row * row)) for row in g])
    step = _step(header.get("step", 0.0), weights[~zero])
    steps = (float(round_down(step / sigma)), float(round_up(step / sigma))) if step > 0.0 else (0.0, 0.0)
    return BoxProblem(g, e, norm2, round_down(summed / sigma), free, target, -half, half, steps)


def _step(step: Any, weights: Array) -> float:
    """The stated step of the losses, if all costs are whole multiples of it."""
    step = float(step)
    if step == 0.0:
        return 0.0
    if not (math.isfinite(step) and step > 0.0):
        raise InvalidProofError("the step of the losses must be a positive number")
    if any((Fraction(float(weight)) / Fraction(step)).denominator != 1 for weight in np.unique(weights)):
        raise InvalidProofError(f"the costs are no whole multiples of {step:g}")
    return step


def levelled(problem: BoxProblem, node: CheckedBox, theta: float) -> BoxProblem:
    """The problem with losses weighed θ times, and what its solutions of interest in the node's box stay below.

    There ||v||² + j·u < target for a loss of j·u, so j ≤ k = ⌊(target - ν)/u⌋, ν the least norm in the box, and
    ||v||² + θ·j·u < target + (θ - 1)·j·u ≤ target + (θ - 1)·k·u.
    """
    low, high = problem.step
    if not (math.isfinite(theta) and theta >= 1.0) or low <= 0.0:
        raise InvalidProofError("a round weighs losses by a number below 1, or without a step that they are multiples of")
    nearest = np.maximum(np.maximum(node.lo, -node.hi), 0.0)
    nearest = nearest[:-1] if problem.free else nearest
    norm = sum_down(round_down(nearest * nearest)) if nearest.size else 0.0
    k = math.floor(float(round_up(round_up(problem.target - norm) / low)))
    more = float(round_up(round_up(round_up(theta - 1.0) * high) * max(k, 0)))
    return replace(problem, weights=round_down(problem.weights * theta), target=float(round_up(problem.target + more)))


def _merge(A: Array, weights: Array, member: npt.NDArray[np.int64]) -> tuple[Array, Array]:
    """One row for each group of the log, all of whose members must be equal; weights summed, rounded down."""
    count = int(member.max()) + 1
    if count > len(member):
        raise InvalidProofError("a merged row has no point")
    first = np.full(count, -1, dtype=np.int64)
    total = np.zeros(count)
    for i, k in enumerate(member.tolist()):
        if k < 0:
            continue
        if first[k] < 0:
            first[k] = i
        elif not (A[first[k]] == A[i]).all():
            raise InvalidProofError(f"points {first[k]} and {i} are merged and differ")
        total[k] = round_down(total[k] + weights[i]) if total[k] else weights[i]
    if (first < 0).any():
        raise InvalidProofError("a merged row has no point")
    return A[first], total
