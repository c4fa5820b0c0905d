"""The problem of a log of norm-conflicts, its conflicts with the norms that their multipliers prove, and its incumbent."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from ...exact.check.arithmetic import Array, InvalidProofError, RationalPoint, rounded_up

__all__ = [
    "DELETED", "FREE", "KEPT", "Conflict", "ConflictProblem",
    "States", "next_down", "norm_within_budget", "reduced_problem", "stated_conflict",
]  # fmt: skip

States = npt.NDArray[np.int8]

FREE, KEPT, DELETED = -1, 0, 1


def next_up(x: float) -> float:
    """The next number above."""
    return math.nextafter(x, math.inf)


def next_down(x: float) -> float:
    """The next number below."""
    return math.nextafter(x, -math.inf)


@dataclass(frozen=True, eq=False)
class ConflictProblem:
    """The problem with equal points as one."""

    rows: Array  #: (m, p) penalised parts, one for each group of equal points
    labels: Array  #: (m,) the intercept's column, zeros without one
    weights: Array  #: (m,) summed, rounded down
    reach: float  #: bound on |b|
    target: float  #: B less what the zero rows cost
    budget: float  #: deletions that are allowed, less the zero rows; infinite where deletions are paid from the target

    @property
    def counted(self) -> bool:
        """Return whether deletions are counted, not paid."""
        return math.isfinite(self.budget)

    def room(self, state: States, spent: float) -> float:
        """T where further deletions of weight ``spent`` are proved, rounded up."""
        if self.counted:
            return self.target
        return next_up(next_up(self.target - next_down(self.deleted(state))) - spent)

    def deleted(self, state: States) -> float:
        """V, off by at most one rounding (whole numbers: exact)."""
        return math.fsum(self.weights[state == DELETED].tolist())

    def over(self, state: States, spent: float) -> bool:
        """Return whether that leaves no solution of interest."""
        return self.deleted(state) + spent > self.budget if self.counted else self.room(state, spent) <= 0.0

    def less(self, spent: float, point: int) -> float:
        """Return the proved cost of further deletions once a free point is deleted, rounded down."""
        left = spent - float(self.weights[point])
        return max(left if self.counted and left.is_integer() else next_down(left), 0.0)

    def keep_heavy(self, state: States) -> None:
        """Keep what may not be deleted."""
        if self.counted:
            state[(state == FREE) & (self.weights > self.budget - self.deleted(state))] = KEPT


@dataclass(frozen=True, eq=False)
class Conflict:
    """Points that no w with ||w||² below ``norm`` keeps all, if it violates all of ``away``."""

    points: frozenset[int]
    away: frozenset[int]
    norm: float


def norm_within_budget(header: dict[str, Any], A: Array, penalised: npt.NDArray[np.bool_], w: list[float] | None) -> float:
    """Exact squared norm of the incumbent of the cardinality form, rounded up; infinite without one.

    Raises
    ------
    InvalidProofError
        It violates more margins than the budget allows.
    """
    budget = _whole_budget(header)
    if w is None:
        return math.inf
    point = RationalPoint.of(w, A.shape[1])
    violated = sum(point.product(row) < 1 for row in A.tolist())
    if violated > budget:
        raise InvalidProofError(f"the incumbent violates {violated} margins, of at most {budget}")
    return rounded_up(point.square(penalised.astype(np.float64).tolist()))


def _whole_budget(header: dict[str, Any]) -> int:
    budget = header["budget"]
    if not isinstance(budget, int) or isinstance(budget, bool) or budget < 0:
        raise InvalidProofError(f"the budget must be a whole number ≥ 0; it is {budget!r}")
    return budget


def reduced_problem(
    header: dict[str, Any], A: Array, weights: Array, penalised: npt.NDArray[np.bool_], bound: float
) -> ConflictProblem | None:
    """Groups of equal points; None where the points that every w violates prove the bound."""
    member = [int(k) for k in header["member"]]
    if len(member) != len(weights) or int((~penalised).sum()) > 1:
        raise InvalidProofError("member must hold one number for each point; at most one weight is outside the norm")
    first: dict[int, int] = {}
    groups: dict[int, list[float]] = {}
    constant: list[float] = []
    for i, k in enumerate(member):
        if k < 0:
            if A[i].any():
                raise InvalidProofError("a row is called zero and is not")
            constant.append(float(weights[i]))
            continue
        if not (A[first.setdefault(k, i)] == A[i]).all():
            raise InvalidProofError(f"points {first[k]} and {i} are merged and differ")
        groups.setdefault(k, []).append(float(weights[i]))
    counted = header["kind"] == "budget"
    lost = 0.0 if counted or not constant else next_down(math.fsum(constant))
    budget = float(_whole_budget(header) - len(constant)) if counted else math.inf
    if lost >= bound or budget < 0.0:
        return None
    if sorted(groups) != list(range(len(groups))):
        raise InvalidProofError("a merged row has no point")
    distinct = A[[first[k] for k in range(len(groups))]]
    summed = np.array([float(len(groups[k])) if counted else next_down(math.fsum(groups[k])) for k in range(len(groups))])
    rows = distinct[:, penalised]
    labels = distinct[:, ~penalised][:, 0] if not penalised.all() else np.zeros(len(distinct))
    reach = 0.0
    if not penalised.all():
        if not (np.abs(labels) == 1.0).all():
            raise InvalidProofError("the intercept's column does not hold ±1")
        longest = max((next_up(math.sqrt(next_up(math.fsum(next_up(x * x) for x in row)))) for row in rows.tolist()), default=0.0)
        reach = next_up(1.0 + next_up(longest * next_up(math.sqrt(bound))))
    return ConflictProblem(rows, labels, summed, reach, next_up(bound - lost) if lost else bound, budget)


def stated_conflict(problem: ConflictProblem, record: dict[str, Any]) -> Conflict:
    """Return the points of a conflict and the norm that its multipliers prove, rounded down."""
    points = [int(i) for i in record["conflict"]]
    alpha = np.array(record["alpha"], dtype=np.float64)
    if len(set(points)) != len(points) or alpha.shape != (len(points),):
        raise InvalidProofError("a conflict names a point twice, or not one multiplier for each point")
    if any(i < 0 or i >= len(problem.weights) for i in points) or not np.isfinite(alpha).all():
        raise InvalidProofError("a conflict names no point, or its multipliers are not finite")
    gain = next_down(math.fsum(alpha.tolist()))
    # Σα ≤ Σα a_i'w whatever the sign: a_i'w ≥ 1 of points that are kept, a_i'w < 1 of those that are violated;
    # the labels are ±1, so that the intercept's part is a sum of multipliers: exact up to one rounding
    tilt = abs(math.fsum((alpha * problem.labels[points]).tolist()))
    if tilt > 0.0:
        gain = next_down(gain - next_up(next_up(tilt) * problem.reach))
    products = problem.rows[points] * alpha[:, None]
    squares = []
    for column in products.T.tolist():
        # every product is off by at most half a unit in its last place, or by the smallest number where it underflows
        off = next_up(math.fsum(next_up(abs(x) * 2.0**-52) for x in column))
        size = next_up(next_up(abs(math.fsum(column))) + off)
        squares.append(next_up(size * size))
    square = next_up(math.fsum(squares))
    norm = 0.0 if gain <= 0.0 else next_down(next_down(gain * gain) / square)
    signs = list(zip(points, alpha.tolist(), strict=True))
    return Conflict(frozenset(i for i, a in signs if a >= 0.0), frozenset(i for i, a in signs if a < 0.0), norm)
