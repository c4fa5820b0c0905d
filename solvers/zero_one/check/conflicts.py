"""The part of the independent checker that verifies trees of the conflict search: see `check` and ``docs/zero-one-bb.md``.

For the problem min Σ_{penalised} w_j² + Σ_i λ_i 1{a_i'w < 1} and the claimed bound B, suppose that some w has a value below B.
With a free intercept some such w has |b| ≤ 1 + max||x_i||√B. In a node that has deleted points of weight V and proved that w
deletes further free points of weight at least e, ||w||² < T = B - V - e. A *conflict* is a set of points with multipliers α ≥ 0
and the norm N = (Σα - |Σ α_i y_i| max|b|)₊²/||Σ α_i a_i||²: as Σα ≤ Σ α_i a_i'w, no w with ||w||² < N keeps all its points, so
where N ≥ T one of its free points is deleted. Numbers are rounded outward, sums exact by `math.fsum`.

The cardinality form, min Σ_{penalised} w_j² with at most k margins violated, has the same trees with weights of one: solutions of
interest have ||w||² < T = B throughout, a node that has deleted V points and proved e more is empty where V + e > k, and a point
that stands for more than k - V equal ones is kept.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
import numpy.typing as npt

from .arithmetic import Array, InvalidProofError

__all__ = ["check_conflict_tree", "norm_within_budget"]

States = npt.NDArray[np.int8]

_FREE, _KEPT, _DELETED = -1, 0, 1


def _up(x: float) -> float:
    return math.nextafter(x, math.inf)


def _down(x: float) -> float:
    return math.nextafter(x, -math.inf)


@dataclass(frozen=True, eq=False)
class _Problem:
    rows: Array  #: (m, p) penalised parts, one for each group of equal points
    labels: Array  #: (m,) the intercept's column, zeros without one
    weights: Array  #: (m,) summed, rounded down
    reach: float  #: bound on |b|
    target: float  #: B less what the zero rows cost
    budget: float  #: deletions that are allowed, less the zero rows; infinite where deletions are paid from the target

    @property
    def counted(self) -> bool:
        """Whether deletions are counted, not paid."""
        return math.isfinite(self.budget)

    def room(self, state: States, spent: float) -> float:
        """T where further deletions of weight ``spent`` are proved, rounded up."""
        if self.counted:
            return self.target
        return _up(_up(self.target - _down(self.deleted(state))) - spent)

    def deleted(self, state: States) -> float:
        """V, off by at most one rounding (whole numbers: exact)."""
        return math.fsum(self.weights[state == _DELETED].tolist())

    def over(self, state: States, spent: float) -> bool:
        """Whether that leaves no solution of interest."""
        return self.deleted(state) + spent > self.budget if self.counted else self.room(state, spent) <= 0.0

    def less(self, spent: float, point: int) -> float:
        """What is proved of further deletions once a free point is deleted, rounded down."""
        left = spent - float(self.weights[point])
        return max(left if self.counted and left.is_integer() else _down(left), 0.0)

    def keep_heavy(self, state: States) -> None:
        """Keep what may not be deleted."""
        if self.counted:
            state[(state == _FREE) & (self.weights > self.budget - self.deleted(state))] = _KEPT


@dataclass(frozen=True, eq=False)
class _Conflict:
    points: frozenset[int]
    norm: float


def check_conflict_tree(
    header: dict[str, Any],
    A: Array,
    weights: Array,
    penalised: npt.NDArray[np.bool_],
    bound: float,
    records: list[dict[str, Any]],
) -> int:
    """Verify the tree of a log; the number of its nodes.

    Raises
    ------
    InvalidProofError
        Something is not proved; says what.
    """
    problem = _reduce(header, A, weights, penalised, bound)
    if problem is None:
        return 0
    conflicts: list[_Conflict] = []
    children: dict[tuple[int, int], tuple[States, float]] = {}
    root = np.full(len(problem.weights), _FREE, dtype=np.int8)
    if not problem.counted:
        root[problem.weights >= problem.target] = _KEPT
    children[(-1, 0)] = (root, 0.0)
    nodes = 0
    for record in records:
        if "conflict" in record:
            conflicts.append(_conflict(problem, record))
            continue
        key = (int(record["parent"]), int(record["side"]))
        if key not in children:
            raise InvalidProofError(f"node {record['id']} is no open child of a node before it")
        state, extra = children.pop(key)
        if int(record["id"]) != nodes:
            raise InvalidProofError(f"node {record['id']} is the {nodes}th")
        for side, child in enumerate(_children(problem, conflicts, record, state, extra)):
            children[(nodes, side)] = child
        nodes += 1
    if children:
        raise InvalidProofError(
            f"{len(children)} nodes are missing, the first of them child {min(children)[1]} of {min(children)[0]}"
        )
    return nodes


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
    if len(w) != A.shape[1]:
        raise InvalidProofError("the incumbent has the wrong length")
    point = [Fraction(float(x)) for x in w]
    margins = [sum((Fraction(a) * x for a, x in zip(row, point, strict=True)), Fraction(0)) for row in A.tolist()]
    violated = sum(margin < 1 for margin in margins)
    if violated > budget:
        raise InvalidProofError(f"the incumbent violates {violated} margins, of at most {budget}")
    total = sum((x * x for x, d in zip(point, penalised, strict=True) if d), Fraction(0))
    value = float(total)
    return value if Fraction(value) >= total else math.nextafter(value, math.inf)


def _whole_budget(header: dict[str, Any]) -> int:
    budget = header["budget"]
    if not isinstance(budget, int) or isinstance(budget, bool) or budget < 0:
        raise InvalidProofError(f"the budget must be a whole number ≥ 0; it is {budget!r}")
    return budget


def _reduce(header: dict[str, Any], A: Array, weights: Array, penalised: npt.NDArray[np.bool_], bound: float) -> _Problem | None:
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
    lost = 0.0 if counted or not constant else _down(math.fsum(constant))
    budget = float(_whole_budget(header) - len(constant)) if counted else math.inf
    if lost >= bound or budget < 0.0:
        return None
    if sorted(groups) != list(range(len(groups))):
        raise InvalidProofError("a merged row has no point")
    distinct = A[[first[k] for k in range(len(groups))]]
    summed = np.array([float(len(groups[k])) if counted else _down(math.fsum(groups[k])) for k in range(len(groups))])
    rows = distinct[:, penalised]
    labels = distinct[:, ~penalised][:, 0] if not penalised.all() else np.zeros(len(distinct))
    reach = 0.0
    if not penalised.all():
        if not (np.abs(labels) == 1.0).all():
            raise InvalidProofError("the intercept's column does not hold ±1")
        longest = max((_up(math.sqrt(_up(math.fsum(_up(x * x) for x in row)))) for row in rows.tolist()), default=0.0)
        reach = _up(1.0 + _up(longest * _up(math.sqrt(bound))))
    return _Problem(rows, labels, summed, reach, _up(bound - lost) if lost else bound, budget)


def _conflict(problem: _Problem, record: dict[str, Any]) -> _Conflict:
    """Its points and the norm that its multipliers prove, rounded down."""
    points = [int(i) for i in record["conflict"]]
    alpha = np.array(record["alpha"], dtype=np.float64)
    if len(set(points)) != len(points) or alpha.shape != (len(points),):
        raise InvalidProofError("a conflict names a point twice, or not one multiplier for each point")
    if any(i < 0 or i >= len(problem.weights) for i in points) or not (np.isfinite(alpha).all() and (alpha >= 0).all()):
        raise InvalidProofError("a conflict names no point, or its multipliers are not finite and ≥ 0")
    gain = _down(math.fsum(alpha.tolist()))
    # the labels are ±1, so that the intercept's part is a sum of multipliers: exact up to one rounding
    tilt = abs(math.fsum((alpha * problem.labels[points]).tolist()))
    if tilt > 0.0:
        gain = _down(gain - _up(_up(tilt) * problem.reach))
    products = problem.rows[points] * alpha[:, None]
    squares = []
    for column in products.T.tolist():
        # every product is off by at most half a unit in its last place, or by the smallest number where it underflows
        off = _up(math.fsum(_up(abs(x) * 2.0**-52) for x in column))
        size = _up(_up(abs(math.fsum(column))) + off)
        squares.append(_up(size * size))
    square = _up(math.fsum(squares))
    norm = 0.0 if gain <= 0.0 else _down(_down(gain * gain) / square)
    return _Conflict(frozenset(points), norm)


def _children(
    problem: _Problem, conflicts: list[_Conflict], record: dict[str, Any], state: States, extra: float
) -> list[tuple[States, float]]:
    """Apply a node's steps; its children, none where it is proved to be empty."""
    ident = int(record["id"])

    def valid(number: int, spent: float) -> _Conflict:
        if number < 0 or number >= len(conflicts):
            raise InvalidProofError(f"node {ident} names a conflict that is not there")
        conflict = conflicts[number]
        if not conflict.norm >= problem.room(state, spent):
            raise InvalidProofError(f"a conflict of node {ident} proves {conflict.norm:g}, which is too little")
        if any(state[i] == _DELETED for i in conflict.points):
            raise InvalidProofError(f"a conflict of node {ident} has a point that is deleted")
        return conflict

    problem.keep_heavy(state)
    if problem.over(state, extra):
        return []
    for step in record["steps"]:
        if step[0] == "pack":
            extra = max(extra, _packed(problem, state, extra, [(valid, int(c), float(y)) for c, y in step[1]], ident))
        elif step[0] == "cut":
            free = [i for i in valid(int(step[1]), extra).points if state[i] == _FREE]
            if not free:
                return []
            if len(free) > 1:
                raise InvalidProofError(f"a conflict of node {ident} leaves a choice between {len(free)} points")
            state[free[0]] = _DELETED
            extra = problem.less(extra, free[0])
            problem.keep_heavy(state)
        else:
            raise InvalidProofError(f"node {ident} has an unknown step")
        if problem.over(state, extra):
            return []
    if "split" not in record:
        raise InvalidProofError(f"node {ident} is neither proved to be empty nor split")
    number, ordered = int(record["split"][0]), [int(i) for i in record["split"][1]]
    if number < 0:
        return _either(problem, state, extra, ordered, ident)
    free = [i for i in valid(number, extra).points if state[i] == _FREE]
    if sorted(ordered) != sorted(free):
        raise InvalidProofError(f"node {ident} does not branch on the free points of its conflict")
    found = []
    for side, i in enumerate(ordered):
        child = state.copy()
        child[ordered[:side]] = _KEPT
        child[i] = _DELETED
        found.append((child, problem.less(extra, i)))
    return found


def _packed(problem: _Problem, state: States, extra: float, chosen: list[tuple[Any, int, float]], ident: int) -> float:
    """Σy of weights y ≥ 0 on conflicts, Σ_{c ∋ i} y_c ≤ λ_i on the free points: w deletes free points of at least this weight."""
    load = np.zeros(len(problem.weights))
    packed = 0.0
    for valid, number, y in chosen:
        if not (math.isfinite(y) and y >= 0.0):
            raise InvalidProofError(f"node {ident} packs a conflict with a weight that is not finite and ≥ 0")
        # what is packed already is deleted, so that less of the norm is left
        conflict = valid(number, max(extra, packed))
        free = [i for i in conflict.points if state[i] == _FREE]
        if not free:
            return math.inf
        more = load[free] + y
        # whole numbers add up exactly
        load[free] = (
            more if problem.counted and y.is_integer() and (load[free] % 1.0 == 0.0).all() else np.nextafter(more, np.inf)
        )
        if (load[free] > problem.weights[free]).any():
            raise InvalidProofError(f"node {ident} packs more on a point than its weight")
        total = packed + y
        packed = total if problem.counted and total.is_integer() and y.is_integer() else max(_down(total), 0.0)
    return packed


def _either(problem: _Problem, state: States, extra: float, ordered: list[int], ident: int) -> list[tuple[States, float]]:
    """Deleted or kept: any free point."""
    if len(ordered) != 1 or not 0 <= ordered[0] < len(state) or state[ordered[0]] != _FREE:
        raise InvalidProofError(f"node {ident} branches on no free point")
    i = ordered[0]
    deleted, kept = state.copy(), state.copy()
    deleted[i], kept[i] = _DELETED, _KEPT
    return [(deleted, problem.less(extra, i)), (kept, extra)]
