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
from typing import Any

import numpy as np
import numpy.typing as npt

from .arithmetic import Array, InvalidProofError
from .conflict_problem import (
    DELETED,
    FREE,
    KEPT,
    Conflict,
    Problem,
    States,
    next_down,
    reduced_problem,
    stated_conflict,
)

__all__ = ["check_conflict_tree"]


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
    problem = reduced_problem(header, A, weights, penalised, bound)
    if problem is None:
        return 0
    conflicts: list[Conflict] = []
    children: dict[tuple[int, int], tuple[States, float]] = {}
    root = np.full(len(problem.weights), FREE, dtype=np.int8)
    if not problem.counted:
        root[problem.weights >= problem.target] = KEPT
    children[(-1, 0)] = (root, 0.0)
    nodes = 0
    for record in records:
        if "conflict" in record:
            conflicts.append(stated_conflict(problem, record))
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


def _children(
    problem: Problem, conflicts: list[Conflict], record: dict[str, Any], state: States, extra: float
) -> list[tuple[States, float]]:
    """Apply a node's steps; its children, none where it is proved to be empty."""
    ident = int(record["id"])

    def valid(number: int, spent: float) -> Conflict:
        if number < 0 or number >= len(conflicts):
            raise InvalidProofError(f"node {ident} names a conflict that is not there")
        conflict = conflicts[number]
        if not conflict.norm >= problem.room(state, spent):
            raise InvalidProofError(f"a conflict of node {ident} proves {conflict.norm:g}, which is too little")
        if any(state[i] == DELETED for i in conflict.points):
            raise InvalidProofError(f"a conflict of node {ident} has a point that is deleted")
        return conflict

    problem.keep_heavy(state)
    if problem.over(state, extra):
        return []
    for step in record["steps"]:
        if step[0] == "pack":
            extra = max(extra, _packed(problem, state, extra, [(valid, int(c), float(y)) for c, y in step[1]], ident))
        elif step[0] == "cut":
            free = [i for i in valid(int(step[1]), extra).points if state[i] == FREE]
            if not free:
                return []
            if len(free) > 1:
                raise InvalidProofError(f"a conflict of node {ident} leaves a choice between {len(free)} points")
            state[free[0]] = DELETED
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
    free = [i for i in valid(number, extra).points if state[i] == FREE]
    if sorted(ordered) != sorted(free):
        raise InvalidProofError(f"node {ident} does not branch on the free points of its conflict")
    found = []
    for side, i in enumerate(ordered):
        child = state.copy()
        child[ordered[:side]] = KEPT
        child[i] = DELETED
        found.append((child, problem.less(extra, i)))
    return found


def _packed(problem: Problem, state: States, extra: float, chosen: list[tuple[Any, int, float]], ident: int) -> float:
    """Σy of weights y ≥ 0 on conflicts, Σ_{c ∋ i} y_c ≤ λ_i on the free points: w deletes free points of at least this weight."""
    load = np.zeros(len(problem.weights))
    packed = 0.0
    for valid, number, y in chosen:
        if not (math.isfinite(y) and y >= 0.0):
            raise InvalidProofError(f"node {ident} packs a conflict with a weight that is not finite and ≥ 0")
        # what is packed already is deleted, so that less of the norm is left
        conflict = valid(number, max(extra, packed))
        free = [i for i in conflict.points if state[i] == FREE]
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
        packed = total if problem.counted and total.is_integer() and y.is_integer() else max(next_down(total), 0.0)
    return packed


def _either(problem: Problem, state: States, extra: float, ordered: list[int], ident: int) -> list[tuple[States, float]]:
    """Deleted or kept: any free point."""
    if len(ordered) != 1 or not 0 <= ordered[0] < len(state) or state[ordered[0]] != FREE:
        raise InvalidProofError(f"node {ident} branches on no free point")
    i = ordered[0]
    deleted, kept = state.copy(), state.copy()
    deleted[i], kept[i] = DELETED, KEPT
    return [(deleted, problem.less(extra, i)), (kept, extra)]
