"""Checker of the conflict search's proof logs: the nodes of its tree and the conflicts that prune them.

Proofs of the rules: ``docs/explanation/zero-one-bb.md``.

For the problem min Σ_{penalised} w_j² + Σ_i λ_i 1{a_i'w < 1} and the claimed bound B, suppose that some w has a value below B.
With a free intercept b, whose column holds the labels y_i = ±1 while x_i are the features, some such w has |b| ≤ 1 +
max||x_i||√B. In a node that has deleted points of weight V and proved that w deletes further free points of weight at least e,
||w||² < T = B - V - e. Deleted points are the ones that w violates. A *conflict* is a set of points with multipliers α, negative
ones only of points that its node has deleted, and the norm N = (Σα - |Σ α_i y_i| max|b|)₊²/||Σ α_i a_i||². As Σα ≤ Σ α_i a_i'w
where points with α > 0 are kept and those with α < 0 violated, no w with ||w||² < N does both, so where N ≥ T one of its free
points is deleted. Numbers are rounded outward, sums exact by `math.fsum`.

The steps of a node:

- ``pack``: conflicts with weights y ≥ 0, Σ_{c ∋ i} y_c ≤ λ_i over their free points, none with a deleted point, each with
  N ≥ B - V - max(e, Σ of the weights before it). Then e ← max(e, Σy), by weak duality of the hitting-set relaxation.
- ``cut``: a conflict with N ≥ T and no free point ends the node; with one free point i, that point is deleted and
  e ← (e - λ_i)₊.
- ``split``: on the free points c_0, c_1, ... of a conflict with N ≥ T, child i deletes c_i and keeps c_0 .. c_{i-1}, with
  (e - λ_{c_i})₊; or on one free point, deleted and kept.

A node ends when V + e ≥ B, and every child must occur. A log that claims less, C ≤ B, states B as its *target*, and may have
``open`` nodes: with a conflict of kept points or none, N = 0, and V + e + N ≥ C (in the cardinality form N ≥ C). No w of a value
below C is in one of them.

The cardinality form, min Σ_{penalised} w_j² with at most k margins violated, has the same trees with weights of one: solutions of
interest have ||w||² < T = B throughout, a node that has deleted V points and proved e more is empty where V + e > k, and a point
that stands for more than k - V equal ones is kept. A Lagrangian bound L = B + λk needs no log of its own: its conflicts are at
T = L - λ(V + e) = B + λ(k - V - e) ≥ B wherever k is not exceeded, so each λ tree that proves L is a budget tree that proves B.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import chain
from typing import Any

import numpy as np
import numpy.typing as npt

from ...exact.check.arithmetic import (
    Array,
    InvalidProofError,
    RationalPoint,
    ceil_to_float,
    round_down,
    round_up,
    row_sums_up,
    segment_sums,
)
from ...exact.check.log_reader import SealedLog
from ...exact.check.trees import IntegerSet, NodeRules, VerifierPool, batches, verify_log

#: States of a point in a node.
FREE, KEPT, DELETED = 0, 1, 2
#: Records whose conflicts are evaluated at once.
_BATCH = 1024


def _next_up(x: float) -> float:
    """Return the next float64 above."""
    return math.nextafter(x, math.inf)


def _next_down(x: float) -> float:
    """Return the next float64 below."""
    return math.nextafter(x, -math.inf)


@dataclass(eq=False, slots=True)
class OpenNode:
    """A node of the tree, after the records of its ancestors."""

    states: bytearray  #: state of each point
    deleted: float  #: V, the weight of the deleted points, rounded down
    extra: float  #: e, the proved weight of further deletions, rounded down


@dataclass(frozen=True, eq=False)
class ConflictProblem:
    """The problem that a log states, with equal points merged."""

    rows: Array  #: (m, p) penalised parts, one for each group of equal points
    labels: Array  #: (m,) the intercept's column, zeros without one
    weights: list[float]  #: (m,) summed, rounded down
    intercept_bound: float  #: bound on |b|
    target: float  #: B less the cost of the zero rows, a_i = 0, which every w violates
    claim: float  #: C less the cost of the zero rows
    budget: float  #: deletions that are allowed, less the zero rows; infinite where deletions are paid from the target

    @property
    def has_budget(self) -> bool:
        """True if deletions are limited by a budget instead of paid from the target."""
        return math.isfinite(self.budget)

    def root(self) -> OpenNode:
        """Return the root node; points that cost the target or more are kept."""
        is_kept = [not self.has_budget and weight >= self.target for weight in self.weights]
        return OpenNode(bytearray(KEPT if keep else FREE for keep in is_kept), 0.0, 0.0)

    def round_down(self, x: float) -> float:
        """Return a lower bound of the sum that has been rounded to x; sums of integers are exact."""
        return x if self.has_budget and x.is_integer() else _next_down(x)

    def norm_cutoff(self, node: OpenNode, spent: float) -> float:
        """Return T, rounded up: solutions of interest have ||w||² < T if further deletions of weight ``spent`` are proved."""
        return self.target if self.has_budget else _next_up(_next_up(self.target - node.deleted) - spent)

    def is_excluded(self, node: OpenNode) -> bool:
        """Return whether the deletions of a node exclude every solution of interest."""
        return node.deleted + node.extra > self.budget if self.has_budget else self.norm_cutoff(node, node.extra) <= 0.0

    def ends_open(self, node: OpenNode, norm: float) -> bool:
        """Return whether all solutions in the node with a squared norm of at least ``norm`` have an objective of at least C."""
        return (norm if self.has_budget else _next_down(_next_down(node.deleted + node.extra) + norm)) >= self.claim

    def delete(self, node: OpenNode, point: int) -> None:
        """Mark a free point as deleted, and update V and e."""
        weight = self.weights[point]
        node.states[point] = DELETED
        node.deleted = self.round_down(node.deleted + weight)
        node.extra = max(self.round_down(node.extra - weight), 0.0)

    def keep_undeletable(self, node: OpenNode) -> None:
        """Mark as kept every free point whose deletion would exceed the budget."""
        remaining = self.budget - node.deleted
        if self.has_budget and max(self.weights, default=0.0) > remaining:
            for i, weight in enumerate(self.weights):
                if weight > remaining and node.states[i] == FREE:
                    node.states[i] = KEPT

    def child(self, node: OpenNode, point: int, kept_points: Iterable[int]) -> OpenNode:
        """Return the child of a node in which a free point is deleted and others are kept."""
        child = OpenNode(bytearray(node.states), node.deleted, node.extra)
        for i in kept_points:
            child.states[i] = KEPT
        self.delete(child, point)
        return child


@dataclass(frozen=True, eq=False)
class Conflict:
    """A conflict: no w with ||w||² < ``norm`` that violates all of ``violated`` keeps all of ``points``."""

    points: list[int]  #: points with positive multipliers
    violated: list[int]  #: points with negative multipliers
    norm: float  #: squared norm that the multipliers prove, rounded down


def norm_within_budget(header: dict[str, Any], A: Array, penalised: npt.NDArray[np.bool_], w: list[float] | None) -> float:
    """Return the exact squared norm of the incumbent of the cardinality form, rounded up; infinite without one."""
    budget: int = header["budget"]
    if w is None:
        return math.inf
    point = RationalPoint.of(w, A.shape[1])
    violated = sum(point.product(row) < 1 for row in A.tolist())
    if violated > budget:
        raise InvalidProofError(f"the incumbent violates {violated} margins, of at most {budget}")
    return ceil_to_float(point.square(penalised.astype(np.float64).tolist()))


def reduced_conflict_problem(
    header: dict[str, Any], A: Array, weights: Array, penalised: npt.NDArray[np.bool_], bound: float, target: float
) -> ConflictProblem | None:
    """Return the problem on groups of equal points; None if the points that every w violates prove the claimed bound C.

    ``bound`` is the claimed bound C, ``target`` the target B of the search.
    """
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
    has_budget = header["kind"] == "budget"
    fixed_cost = 0.0 if has_budget or not constant else _next_down(math.fsum(constant))
    budget = float(header["budget"] - len(constant)) if has_budget else math.inf
    if fixed_cost >= bound or budget < 0.0:
        return None
    if sorted(groups) != list(range(len(groups))):
        raise InvalidProofError("a merged row has no point")
    distinct = A[[first[k] for k in range(len(groups))]]
    summed = [float(len(groups[k])) if has_budget else _next_down(math.fsum(groups[k])) for k in range(len(groups))]
    rows = distinct[:, penalised]
    labels = distinct[:, ~penalised][:, 0] if not penalised.all() else np.zeros(len(distinct))
    reach = 0.0
    if not penalised.all():
        if not (np.abs(labels) == 1.0).all():
            raise InvalidProofError("the intercept's column does not hold ±1")
        squares = (_next_up(math.fsum(_next_up(x * x) for x in row)) for row in rows.tolist())
        longest = max((_next_up(math.sqrt(square)) for square in squares), default=0.0)
        reach = _next_up(1.0 + _next_up(longest * _next_up(math.sqrt(target))))
    remaining, claim = ((_next_up(value - fixed_cost) if fixed_cost else value) for value in (target, bound))
    return ConflictProblem(rows, labels, summed, reach, remaining, claim, budget)


def stated_conflicts(problem: ConflictProblem, records: list[dict[str, Any]]) -> list[Conflict]:
    """Return the conflicts that records state, with the norms that their multipliers prove, rounded down.

    A conflict that names a point twice or a point that does not exist, or has not one finite multiplier for each point, has the
    norm NaN, which a node that uses it rejects.
    """
    if not records:
        return []
    pairs = [(record["conflict"], record["alpha"]) for record in records]
    pairs = [(names, values) if len(names) == len(values) == len(set(names)) else ([0], [math.nan]) for names, values in pairs]
    sizes = np.array([len(names) for names, _ in pairs], dtype=np.int64)
    points = np.fromiter(chain.from_iterable(names for names, _ in pairs), np.int64)
    alpha = np.fromiter(chain.from_iterable(values for _, values in pairs), np.float64)
    is_valid = (points >= 0) & (points < len(problem.weights)) & np.isfinite(alpha)
    points, alpha = np.where(is_valid, points, 0), np.where(is_valid, alpha, math.nan)
    # The labels are ±1, so that the intercept's part is a sum of multipliers: exact up to one rounding.
    tilted, ends = (alpha * problem.labels[points]).tolist(), np.cumsum(sizes).tolist()
    names, multipliers, gains = points.tolist(), alpha.tolist(), list[float]()
    sides = list[tuple[list[int], list[int]]]()
    for end, size in zip(ends, sizes.tolist(), strict=True):
        chosen = slice(end - size, end)
        # Σα ≤ Σα a_i'w whatever the sign: a_i'w ≥ 1 of points that are kept, a_i'w < 1 of those that are violated.
        gain, tilt = _next_down(math.fsum(multipliers[chosen])), abs(math.fsum(tilted[chosen]))
        gains.append(gain if tilt == 0.0 else _next_down(gain - _next_up(_next_up(tilt) * problem.intercept_bound)))
        if min(multipliers[chosen], default=0.0) >= 0.0:
            sides.append((names[chosen], []))
        else:
            signs = list(zip(names[chosen], multipliers[chosen], strict=True))
            sides.append(([i for i, a in signs if not a < 0.0], [i for i, a in signs if a < 0.0]))
    sums, error = segment_sums(problem.rows[points] * alpha[:, None], sizes)
    proved, longest = np.array(gains), round_up(np.abs(sums) + error)
    square = row_sums_up(round_up(longest * longest))
    norms = np.where(proved <= 0.0, 0.0, round_down(round_down(proved * proved) / square))
    return [Conflict(*side, norm) for side, norm in zip(sides, norms.tolist(), strict=True)]


def _nodes_with_conflicts(problem: ConflictProblem, log: SealedLog) -> Iterator[dict[str, Any]]:
    """Yield the nodes of a log, each with the conflicts that it names, by number.

    A node names conflicts that stand between the last node and itself, so that no others are held. A log whose nodes name
    others is read once more, and all its conflicts are held.
    """
    recent: dict[int, Conflict] = {}
    others: dict[int, Conflict] | None = None
    for record, number, conflict in _evaluated(problem, log):
        if conflict is not None:
            recent[number] = conflict
            continue
        named = set(_named(record))
        if others is None and not named <= recent.keys():
            others = {k: conflict for _, k, conflict in _evaluated(problem, log) if conflict is not None}
        source = recent if others is None else others
        yield {**record, "conflicts": {k: source[k] for k in named if k in source}}
        recent = {}


def _evaluated(problem: ConflictProblem, log: SealedLog) -> Iterator[tuple[dict[str, Any], int, Conflict | None]]:
    """Yield each record with its number and its conflict, whose number is stated or that of its order; None for a node."""
    count, numbers = 0, IntegerSet()
    for batch in batches(log.records(), _BATCH):
        conflicts = iter(stated_conflicts(problem, [record for record in batch if "conflict" in record]))
        for record in batch:
            if "conflict" not in record:
                yield record, -1, None
                continue
            number = int(record.get("number", count))
            if number < 0 or not numbers.add(number):
                raise InvalidProofError(f"two conflicts have the number {number}, or it is none")
            count += 1
            yield record, number, next(conflicts)


def _named(record: dict[str, Any]) -> Iterator[int]:
    """Yield the numbers of the conflicts that a node uses."""
    for step in record["steps"]:
        if step[0] == "pack":
            yield from (int(number) for number, _ in step[1])
        else:
            yield int(step[1])
    if "split" in record and (number := int(record["split"][0])) >= 0:
        yield number
    yield from (int(number) for number in record.get("open", ()))


def check_conflict_tree(problem: ConflictProblem, log: SealedLog, verifiers: VerifierPool | None = None) -> int:
    """Verify the tree of a log of conflicts; return the number of its nodes."""
    nodes, leftover = verify_log(ConflictRules(problem), _nodes_with_conflicts(problem, log), problem.root(), verifiers)
    if leftover:
        raise InvalidProofError(f"{leftover} nodes are no open children of others")
    return nodes


@dataclass(frozen=True, eq=False)
class ConflictRules(NodeRules[OpenNode]):
    """The rules by which records of a conflict log prove or split nodes."""

    problem: ConflictProblem  #: the problem that the log states

    def children(self, record: dict[str, Any], state: OpenNode) -> list[OpenNode]:
        """Apply a node's steps; return its children, [] if the node is proved to be empty."""
        problem, node, ident = self.problem, state, int(record["id"])
        problem.keep_undeletable(node)
        if problem.is_excluded(node):
            return []
        for step in record["steps"]:
            if step[0] == "pack":
                node.extra = max(node.extra, self._packed(record, node, step[1]))
            elif step[0] == "cut":
                free = self._free_points(record, node, int(step[1]), problem.norm_cutoff(node, node.extra))
                if not free:
                    return []
                if len(free) > 1:
                    raise InvalidProofError(f"a conflict of node {ident} leaves a choice between {len(free)} points")
                problem.delete(node, free[0])
                problem.keep_undeletable(node)
            else:
                raise InvalidProofError(f"node {ident} has an unknown step")
            if problem.is_excluded(node):
                return []
        if "open" in record:
            norms = [self._norm_of_kept(record, node, int(number)) for number in record["open"]]
            if not problem.ends_open(node, max(norms, default=0.0)):
                raise InvalidProofError(f"open node {ident} may hold a solution below the claimed bound")
            return []
        if "split" not in record:
            raise InvalidProofError(f"node {ident} is neither proved to be empty nor split")
        return self._split(record, node, int(record["split"][0]), [int(i) for i in record["split"][1]])

    def _free_points(self, record: dict[str, Any], node: OpenNode, number: int, cutoff: float) -> list[int]:
        """Return the free points of a conflict, one of which every w of the node with ||w||² < ``cutoff`` deletes."""
        conflict: Conflict | None = record["conflicts"].get(number)
        if conflict is None:
            raise InvalidProofError(f"node {record['id']} names a conflict that is not there")
        if not conflict.norm >= cutoff:
            raise InvalidProofError(f"a conflict of node {record['id']} proves {conflict.norm:g}, which is too little")
        states = node.states
        if DELETED in [states[i] for i in conflict.points]:
            raise InvalidProofError(f"a conflict of node {record['id']} has a point that is deleted")
        if any(states[i] != DELETED for i in conflict.violated):
            raise InvalidProofError(f"a conflict of node {record['id']} has a negative multiplier of a point that is not deleted")
        return [i for i in conflict.points if states[i] == FREE]

    def _norm_of_kept(self, record: dict[str, Any], node: OpenNode, number: int) -> float:
        """Return the norm of a conflict of kept points."""
        if self._free_points(record, node, number, -math.inf):
            raise InvalidProofError(f"open node {record['id']} has a conflict with a free point")
        norm: float = record["conflicts"][number].norm
        return norm

    def _packed(self, record: dict[str, Any], node: OpenNode, chosen: list[list[Any]]) -> float:
        """Return Σy for weights y ≥ 0 on conflicts, Σ_{c ∋ i} y_c ≤ λ_i on free points: w deletes free points of this weight."""
        problem, packed = self.problem, 0.0
        loads: dict[int, float] = {}
        for number, share in chosen:
            y = float(share)
            if not (math.isfinite(y) and y >= 0.0):
                raise InvalidProofError(f"node {record['id']} packs a conflict with a weight that is not finite and ≥ 0")
            # w deletes points of the weight packed so far, so that less is left for its norm
            free = self._free_points(record, node, int(number), problem.norm_cutoff(node, max(node.extra, packed)))
            if not free:
                return math.inf
            for i in free:
                loads[i] = load = y if i not in loads else -problem.round_down(-loads[i] - y)
                if load > problem.weights[i]:
                    raise InvalidProofError(f"node {record['id']} packs more on a point than its weight")
            packed = max(problem.round_down(packed + y), 0.0)
        return packed

    def _split(self, record: dict[str, Any], node: OpenNode, number: int, ordered: list[int]) -> list[OpenNode]:
        """Return the children of a split on a conflict's free points, or those in which a free point is deleted, and kept."""
        problem, states = self.problem, node.states
        if number >= 0:
            if sorted(ordered) != sorted(self._free_points(record, node, number, problem.norm_cutoff(node, node.extra))):
                raise InvalidProofError(f"node {record['id']} does not branch on the free points of its conflict")
            return [problem.child(node, i, ordered[:side]) for side, i in enumerate(ordered)]
        if len(ordered) != 1 or not 0 <= ordered[0] < len(states) or states[ordered[0]] != FREE:
            raise InvalidProofError(f"node {record['id']} branches on no free point")
        deleted = problem.child(node, ordered[0], ())
        states[ordered[0]] = KEPT
        return [deleted, node]
