"""The part of the independent checker that verifies trees of the conflict search: see `check` and ``docs/zero-one-bb.md``.

For the problem min Σ_{penalised} w_j² + Σ_i λ_i 1{a_i'w < 1} and the claimed bound B, suppose that some w has a value below B.
With a free intercept some such w has |b| ≤ 1 + max||x_i||√B. In a node that has deleted points of weight V and proved that w
deletes further free points of weight at least e, ||w||² < T = B - V - e. A *conflict* is a set of points with multipliers α ≥ 0
and the norm N = (Σα - |Σ α_i y_i| max|b|)₊²/||Σ α_i a_i||²: as Σα ≤ Σ α_i a_i'w, no w with ||w||² < N keeps all its points, so
where N ≥ T one of its free points is deleted. Numbers are rounded outward, sums exact by `math.fsum`.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from .check import InvalidProofError

__all__ = ["check_conflict_tree"]

Array = npt.NDArray[np.float64]
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
    lost = _down(math.fsum(constant)) if constant else 0.0
    if lost >= bound:
        return None
    if sorted(groups) != list(range(len(groups))):
        raise InvalidProofError("a merged row has no point")
    distinct = A[[first[k] for k in range(len(groups))]]
    summed = np.array([_down(math.fsum(groups[k])) for k in range(len(groups))])
    rows = distinct[:, penalised]
    labels = distinct[:, ~penalised][:, 0] if not penalised.all() else np.zeros(len(distinct))
    reach = 0.0
    if not penalised.all():
        if not (np.abs(labels) == 1.0).all():
            raise InvalidProofError("the intercept's column does not hold ±1")
        longest = max((_up(math.sqrt(_up(math.fsum(_up(x * x) for x in row)))) for row in rows.tolist()), default=0.0)
        reach = _up(1.0 + _up(longest * _up(math.sqrt(bound))))
    return _Problem(rows, labels, summed, reach, _up(bound - lost) if lost else bound)


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

    def room() -> float:
        """T where e is nothing, rounded up."""
        return _up(problem.target - _down(math.fsum(problem.weights[state == _DELETED].tolist())))

    def valid(number: int, spent: float) -> _Conflict:
        if number < 0 or number >= len(conflicts):
            raise InvalidProofError(f"node {ident} names a conflict that is not there")
        conflict = conflicts[number]
        if not conflict.norm >= _up(room() - spent):
            raise InvalidProofError(f"a conflict of node {ident} proves {conflict.norm:g}, which is too little")
        if any(state[i] == _DELETED for i in conflict.points):
            raise InvalidProofError(f"a conflict of node {ident} has a point that is deleted")
        return conflict

    if _up(room() - extra) <= 0.0:
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
            extra = max(_down(extra - float(problem.weights[free[0]])), 0.0)
        else:
            raise InvalidProofError(f"node {ident} has an unknown step")
        if _up(room() - extra) <= 0.0:
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
        found.append((child, max(_down(extra - float(problem.weights[i])), 0.0)))
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
        load[free] = np.nextafter(load[free] + y, np.inf)
        if (load[free] > problem.weights[free]).any():
            raise InvalidProofError(f"node {ident} packs more on a point than its weight")
        packed = max(_down(packed + y), 0.0)
    return packed


def _either(problem: _Problem, state: States, extra: float, ordered: list[int], ident: int) -> list[tuple[States, float]]:
    """Deleted or kept: any free point."""
    if len(ordered) != 1 or not 0 <= ordered[0] < len(state) or state[ordered[0]] != _FREE:
        raise InvalidProofError(f"node {ident} branches on no free point")
    i = ordered[0]
    deleted, kept = state.copy(), state.copy()
    deleted[i], kept[i] = _DELETED, _KEPT
    return [(deleted, max(_down(extra - float(problem.weights[i])), 0.0)), (kept, extra)]
