"""The independent checker of the conflict search's proof logs: the nodes of its tree and the conflicts that prune them.

See `check` and ``docs/explanation/zero-one-bb.md``.

For the problem min Σ_{penalised} w_j² + Σ_i λ_i 1{a_i'w < 1} and the claimed bound B, suppose that some w has a value below B.
With a free intercept some such w has |b| ≤ 1 + max||x_i||√B. In a node that has deleted points of weight V and proved that w
deletes further free points of weight at least e, ||w||² < T = B - V - e. Deleted points are the ones that w violates. A
*conflict* is a set of points with multipliers α, negative ones only of points that its node has deleted, and the norm
N = (Σα - |Σ α_i y_i| max|b|)₊²/||Σ α_i a_i||². As Σα ≤ Σ α_i a_i'w where points with α > 0 are kept and those with α < 0
violated, no w with ||w||² < N does both, so where N ≥ T one of its free points is deleted. Numbers are rounded outward, sums
exact by `math.fsum`.

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
T = L - λ(V + e) = B + λ(k - V - e) ≥ B wherever k is not exceeded, so each λ tree that proves B is a budget tree that proves B.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from ...exact.check.arithmetic import Array, InvalidProofError, RationalPoint, rounded_up
from ...exact.check.trees import NodeRules, VerifierPool, tree_of, verify_tree

States = npt.NDArray[np.int8]

FREE, KEPT, DELETED = -1, 0, 1


def next_up(x: float) -> float:
    """Return the next number above."""
    return math.nextafter(x, math.inf)


def next_down(x: float) -> float:
    """Return the next number below."""
    return math.nextafter(x, -math.inf)


@dataclass(frozen=True, eq=False)
class ConflictProblem:
    """The problem that a log states, with equal points merged."""

    rows: Array  #: (m, p) penalised parts, one for each group of equal points
    labels: Array  #: (m,) the intercept's column, zeros without one
    weights: Array  #: (m,) summed, rounded down
    intercept_bound: float  #: bound on |b|
    target: float  #: B less what the zero rows cost
    claim: float  #: C less what the zero rows cost
    budget: float  #: deletions that are allowed, less the zero rows; infinite where deletions are paid from the target

    @property
    def counted(self) -> bool:
        """Return whether deletions are counted, not paid."""
        return math.isfinite(self.budget)

    def norm_cutoff(self, state: States, spent: float) -> float:
        """Return T, the bound of ||w||² where further deletions of weight ``spent`` are proved, rounded up."""
        if self.counted:
            return self.target
        return next_up(next_up(self.target - next_down(self.deleted(state))) - spent)

    def deleted(self, state: States) -> float:
        """Return V, the weight of the deleted points, off by at most one rounding (whole numbers: exact)."""
        return math.fsum(self.weights[state == DELETED].tolist())

    def is_excluded(self, state: States, spent: float) -> bool:
        """Return whether further deletions of weight ``spent`` exclude every solution of interest."""
        return self.deleted(state) + spent > self.budget if self.counted else self.norm_cutoff(state, spent) <= 0.0

    def ends_open(self, state: States, spent: float, norm: float) -> bool:
        """Return whether solutions whose squared norm is at least ``norm`` reach the claim."""
        paid = 0.0 if self.counted else next_down(next_down(self.deleted(state)) + spent)
        return (norm if self.counted else next_down(paid + norm)) >= self.claim

    def remaining_cost(self, spent: float, point: int) -> float:
        """Return the proved cost of further deletions once a free point is deleted, rounded down."""
        remaining = spent - float(self.weights[point])
        return max(remaining if self.counted and remaining.is_integer() else next_down(remaining), 0.0)

    def keep_undeletable(self, state: States) -> None:
        """Mark as kept every free point whose deletion would exceed the budget."""
        if self.counted:
            state[(state == FREE) & (self.weights > self.budget - self.deleted(state))] = KEPT


@dataclass(frozen=True, eq=False)
class Conflict:
    """Points that no w with ||w||² < ``norm`` keeps all, provided that it violates all of ``away``."""

    points: frozenset[int]
    away: frozenset[int]
    norm: float


def norm_within_budget(header: dict[str, Any], A: Array, penalised: npt.NDArray[np.bool_], w: list[float] | None) -> float:
    """Return the exact squared norm of the incumbent of the cardinality form, rounded up; infinite without one."""
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
    counted = header["kind"] == "budget"
    fixed_cost = 0.0 if counted or not constant else next_down(math.fsum(constant))
    budget = float(_whole_budget(header) - len(constant)) if counted else math.inf
    if fixed_cost >= bound or budget < 0.0:
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
        reach = next_up(1.0 + next_up(longest * next_up(math.sqrt(target))))
    remaining, claim = ((next_up(value - fixed_cost) if fixed_cost else value) for value in (target, bound))
    return ConflictProblem(rows, labels, summed, reach, remaining, claim, budget)


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
        gain = next_down(gain - next_up(next_up(tilt) * problem.intercept_bound))
    products = problem.rows[points] * alpha[:, None]
    squares = []
    for column in products.T.tolist():
        # every product is off by at most half a unit in its last place, or by the smallest number where it underflows
        error = next_up(math.fsum(next_up(abs(x) * 2.0**-52) for x in column))
        size = next_up(next_up(abs(math.fsum(column))) + error)
        squares.append(next_up(size * size))
    square = next_up(math.fsum(squares))
    norm = 0.0 if gain <= 0.0 else next_down(next_down(gain * gain) / square)
    signs = list(zip(points, alpha.tolist(), strict=True))
    return Conflict(frozenset(i for i, a in signs if a >= 0.0), frozenset(i for i, a in signs if a < 0.0), norm)


#: A node: the states of its points, and the proved cost of further deletions, as its ancestors leave them.
State: TypeAlias = tuple[States, float]


class Conflicts(NodeRules[State]):
    """The rules of nodes, with the records of the log's conflicts by number; each is verified when it is first used."""

    def __init__(self, problem: ConflictProblem, records: dict[int, dict[str, Any]]) -> None:
        self._problem, self._stated = problem, records
        self._known: dict[int, Conflict] = {}

    def valid(self, ident: int, state: States, number: int, spent: float) -> Conflict:
        """Return a conflict that node ``ident`` may use when further deletions of weight ``spent`` are proved."""
        conflict = self._conflict(ident, number)
        if not conflict.norm >= self._problem.norm_cutoff(state, spent):
            raise InvalidProofError(f"a conflict of node {ident} proves {conflict.norm:g}, which is too little")
        _check_points(conflict, state, ident)
        return conflict

    def kept(self, ident: int, state: States, number: int) -> Conflict:
        """Return a conflict of kept points of node ``ident``, of any norm."""
        conflict = self._conflict(ident, number)
        _check_points(conflict, state, ident)
        if any(state[i] == FREE for i in conflict.points):
            raise InvalidProofError(f"open node {ident} has a conflict with a free point")
        return conflict

    def _conflict(self, ident: int, number: int) -> Conflict:
        conflict = self._known.get(number)
        if conflict is None:
            if number not in self._stated:
                raise InvalidProofError(f"node {ident} names a conflict that is not there")
            conflict = self._known[number] = stated_conflict(self._problem, self._stated[number])
        return conflict

    def for_records(self, records: Iterable[dict[str, Any]]) -> Conflicts:
        """Return rules that hold only the conflicts that these nodes use."""
        named = {number for record in records for number in _named(record)}
        return Conflicts(self._problem, {number: self._stated[number] for number in named if number in self._stated})

    def children(self, record: dict[str, Any], state: State) -> list[State]:
        """Apply a node's steps; return its children, none if the node is proved to be empty."""
        return _children(self._problem, self, record, *state)


def _check_points(conflict: Conflict, state: States, ident: int) -> None:
    """Raise InvalidProofError if the node has deleted a point of the conflict whose multiplier is not negative."""
    if any(state[i] == DELETED for i in conflict.points):
        raise InvalidProofError(f"a conflict of node {ident} has a point that is deleted")
    if any(state[i] != DELETED for i in conflict.away):
        raise InvalidProofError(f"a conflict of node {ident} has a negative multiplier of a point that is not deleted")


def _named(record: dict[str, Any]) -> Iterator[int]:
    """Yield the numbers of the conflicts that a node uses."""
    for step in record["steps"]:
        if step[0] == "pack":
            yield from (int(number) for number, _ in step[1])
        else:
            yield int(step[1])
    if "split" in record:
        yield int(record["split"][0])
    yield from (int(number) for number in record.get("open", ()))


def check_conflict_tree(problem: ConflictProblem, records: list[dict[str, Any]], crew: VerifierPool | None = None) -> int:
    """Verify the tree of a log, and return the number of its nodes."""
    tree, conflicts = tree_of([record for record in records if "conflict" not in record]), _numbered(records)
    root = np.full(len(problem.weights), FREE, dtype=np.int8)
    if not problem.counted:
        root[problem.weights >= problem.target] = KEPT
    if (-1, 0) not in tree:
        raise InvalidProofError("the tree has no root")
    nodes = verify_tree(Conflicts(problem, conflicts), tree, (tree[(-1, 0)], (root, 0.0)), crew)
    if nodes < len(tree):
        raise InvalidProofError(f"{len(tree) - nodes} nodes are no open children of others")
    return nodes


def _numbered(records: list[dict[str, Any]]) -> dict[int, dict[str, Any]]:
    """Return the conflicts by the number in their record, or by their order."""
    conflicts: dict[int, dict[str, Any]] = {}
    for record in records:
        if "conflict" in record:
            number = int(record.get("number", len(conflicts)))
            if number in conflicts or number < 0:
                raise InvalidProofError(f"two conflicts have the number {number}, or it is none")
            conflicts[number] = record
    return conflicts


def _children(
    problem: ConflictProblem, conflicts: Conflicts, record: dict[str, Any], state: States, extra: float
) -> list[tuple[States, float]]:
    """Return the children of a node after its steps, none if it is proved to be empty."""
    ident = int(record["id"])

    def valid(number: int, spent: float) -> Conflict:
        return conflicts.valid(ident, state, number, spent)

    problem.keep_undeletable(state)
    if problem.is_excluded(state, extra):
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
            extra = problem.remaining_cost(extra, free[0])
            problem.keep_undeletable(state)
        else:
            raise InvalidProofError(f"node {ident} has an unknown step")
        if problem.is_excluded(state, extra):
            return []
    if "open" in record:
        norms = [conflicts.kept(ident, state, int(number)).norm for number in record["open"]]
        if not problem.ends_open(state, extra, max(norms, default=0.0)):
            raise InvalidProofError(f"open node {ident} may hold a solution below the claimed bound")
        return []
    if "split" not in record:
        raise InvalidProofError(f"node {ident} is neither proved to be empty nor split")
    number, ordered = int(record["split"][0]), [int(i) for i in record["split"][1]]
    if number < 0:
        return _either(problem, state, extra, ordered, ident)
    free = [i for i in valid(number, extra).points if state[i] == FREE]
    if sorted(ordered) != sorted(free):
        raise InvalidProofError(f"node {ident} does not branch on the free points of its conflict")
    children = []
    for side, i in enumerate(ordered):
        child = state.copy()
        child[ordered[:side]] = KEPT
        child[i] = DELETED
        children.append((child, problem.remaining_cost(extra, i)))
    return children


def _packed(problem: ConflictProblem, state: States, extra: float, chosen: list[tuple[Any, int, float]], ident: int) -> float:
    """Return Σy for weights y ≥ 0 on conflicts, Σ_{c ∋ i} y_c ≤ λ_i on free points: w deletes free points of this weight."""
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
        enlarged_load = load[free] + y
        # whole numbers add up exactly
        load[free] = (
            enlarged_load
            if problem.counted and y.is_integer() and (load[free] % 1.0 == 0.0).all()
            else np.nextafter(enlarged_load, np.inf)
        )
        if (load[free] > problem.weights[free]).any():
            raise InvalidProofError(f"node {ident} packs more on a point than its weight")
        total = packed + y
        packed = total if problem.counted and total.is_integer() and y.is_integer() else max(next_down(total), 0.0)
    return packed


def _either(problem: ConflictProblem, state: States, extra: float, ordered: list[int], ident: int) -> list[tuple[States, float]]:
    """Return the two children in which a free point is deleted and kept."""
    if len(ordered) != 1 or not 0 <= ordered[0] < len(state) or state[ordered[0]] != FREE:
        raise InvalidProofError(f"node {ident} branches on no free point")
    i = ordered[0]
    deleted, demanded = state.copy(), state.copy()
    deleted[i], demanded[i] = DELETED, KEPT
    return [(deleted, problem.remaining_cost(extra, i)), (demanded, extra)]
