"""An independent checker of the proof logs of `supports-bb`: it shares no code with the search and trusts the data alone.

A scoring system minimises Σ_i c_i 1{y_i (ρ_0 + x_i'ρ) < t} + price ||ρ||_0 + size price ||ρ||_1 over integers ρ_0, ρ within
bounds with ||ρ||_0 ≤ k. A point is called right if the system classifies it correctly, y_i (ρ_0 + x_i'ρ) ≥ t, else wrong. The log
holds the splits of a tree of boxes of ρ and the claimed bound. Every node that is not split must cost at least the bound: its
prices, and the errors of a flow between points of the two classes that are not both right (found by SciPy, and checked here to be
one), all in integers and fractions. `CheckedNode` defines the splits and how a box is tightened.

*Multipliers of pairs of points of opposite classes, and the bound that follows from them.* If a point x of class +1 and a point
x' of class -1 are both right, their scores differ by at least 2t: with v = x - x', ρ'v ≥ 2t. So in a box, where z and z' say that
x and x' are wrong,

- ρ'v + M (z + z') ≥ 2t, M = (2t - min ρ'v)_+, min over the box;
- and, where the coefficients that are decided do not reach 2t, some other one must help: Σ_{j: ρ_j v_j > 0} 1 + z + z' ≥ 1 over j
  that are not decided.

With multipliers μ ≥ 0 of the first rows, λ ≥ 0 of the second ones and ν ≥ 0 of the limit ||ρ||_0 ≤ k, every system costs at least

    Σ λ + 2t Σ μ - ν k + Σ_j min_ρ_j {(price + ν) 1{ρ_j ≠ 0} + size price |ρ_j| - Λ_j(sign ρ_j) - ρ_j Σ μ v_j}
        + Σ_i min{0, c_i - Σ (λ + μ M)},

the last sum over rows of points, its inner one over the pairs that contain them: the cost, less the multipliers of these pairs.
Λ_j(s) is the sum of λ over the pairs that ρ_j helps where it has this sign.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import Any

import numpy as np
import scipy.sparse as sp
from scipy.sparse.csgraph import maximum_flow

from ...errors import InputError
from ...models.arrays import IntArray
from ...models.formulations.margin.problems import ScoringProblem
from ...models.model import Model
from ...models.rounding import round_down
from ..exact.check.arithmetic import InvalidProofError
from ..exact.check.checker import Claim, ProofChecker, first_difference
from ..exact.check.log_reader import SealedLog
from ..exact.check.trees import VerifierPool

#: Kinds of splits in the log.
_BEGIN, _SUPPORT, _SIGN, _HALVES = 1, 2, 3, 4


@dataclass(frozen=True)
class CheckedNode:
    """A node of a log: a box of integer coefficients, some of which are known not to be 0."""

    lower: tuple[int, ...]  #: (d,) lower bounds
    upper: tuple[int, ...]  #: (d,) upper bounds
    forced: frozenset[int] = frozenset()  #: coefficients that are not 0
    needs_feature: bool = False  #: whether at least one of the `undecided` coefficients is not 0

    def undecided(self) -> list[int]:
        """Return the coefficients that may be 0 or not."""
        sides = zip(self.lower, self.upper, strict=True)
        return [j for j, (a, b) in enumerate(sides) if a <= 0 <= b and a < b and j not in self.forced]

    def with_bounds(self, j: int, low: int, high: int) -> CheckedNode:
        """Return the node with bounds ``low`` and ``high`` of coefficient j."""
        return replace(
            self, lower=(*self.lower[:j], low, *self.lower[j + 1 :]), upper=(*self.upper[:j], high, *self.upper[j + 1 :])
        )  # fmt: skip

    def undecided_at_zero(self) -> CheckedNode:
        """Return the node with every undecided coefficient fixed at 0."""
        node = replace(self, needs_feature=False)
        for j in self.undecided():
            node = node.with_bounds(j, 0, 0)
        return node

    def tightened(self, max_nonzeros: int) -> CheckedNode | None:
        """Return the node with bounds tightened by its other fields and by the limit of features; None if it is empty."""
        node = self
        for _ in range(2):
            for j in node.forced:
                node = node.with_bounds(j, node.lower[j] or 1, node.upper[j] or -1)
            if any(a > b for a, b in zip(node.lower, node.upper, strict=True)):
                return None
            free, used = node.undecided(), len(node.used())
            if (node.needs_feature and not free) or used + node.needs_feature > max_nonzeros:
                return None
            if node.needs_feature and len(free) == 1:
                node = replace(node, forced=node.forced | {free[0]}, needs_feature=False)
                continue
            return node.undecided_at_zero() if used == max_nonzeros else node
        return node

    def used(self) -> list[int]:
        """Return the coefficients that are not 0."""
        return [j for j, (a, b) in enumerate(zip(self.lower, self.upper, strict=True)) if a > 0 or b < 0 or j in self.forced]

    def children(self, kind: int, j: int, half: int) -> list[CheckedNode]:
        """Return the children of a split of coefficient j, which together hold every system of the node.

        ``kind`` is 1 (all undecided coefficients at 0, or some not 0), 2 (j alone not 0; j not 0 beside another; j at 0), 3 (by
        the sign of j) or 4 (in halves), and ``half`` the largest value of j in the first child of a split in halves.
        """
        if not 0 <= j < len(self.lower):
            raise InvalidProofError(f"a split of coefficient {j}, which there is not")
        a, b = self.lower[j], self.upper[j]
        if kind == _BEGIN and not self.needs_feature:
            return [self.undecided_at_zero(), replace(self, needs_feature=True)]
        if kind == _SUPPORT and self.needs_feature and j in self.undecided():
            with_j = replace(self, forced=self.forced | {j})
            return [with_j.undecided_at_zero(), with_j, self.with_bounds(j, 0, 0)]
        if kind == _SIGN and a <= 0 <= b and (not self.needs_feature or j in self.forced):
            return [self.with_bounds(j, 0, 0), self.with_bounds(j, max(a, 1), b), self.with_bounds(j, a, min(b, -1))]
        if kind == _HALVES and not (self.needs_feature and j in self.undecided()):  # a half may be empty
            return [self.with_bounds(j, a, min(b, half)), self.with_bounds(j, max(a, half + 1), b)]
        raise InvalidProofError("a split that the node does not allow")


#: An array of integers of any size: int64, or Python's integers.
IntegerArray = Any
#: Size of scaled scores, with a factor 4 to spare, up to which they are held in 64 bits; larger ones are Python integers.
_LARGEST = 2**62
#: Largest number of sets of columns whose cells are cached.
_KEPT = 1024


@dataclass(frozen=True, eq=False)
class IntegerScoringProblem:
    """A scoring problem in integers, with equal rows merged: scores times ``scale``, costs times ``unit``."""

    rows: IntegerArray  #: (m, d) distinct rows of the features, times ``scale``
    codes: IntArray  #: (d, m) the same, each column's values numbered
    sides: tuple[IntArray, IntArray]  #: twice (m,): costs of the points of class +1 and of class -1 with each row, times ``unit``
    row_of: IntArray  #: (n,) the row of each point
    scale: int  #: common denominator of the features
    unit: int  #: common denominator of the costs
    threshold: int  #: t times ``scale``, rounded up
    problem: ScoringProblem  #: the problem as the log or the model states it
    _cells: dict[tuple[int, ...], tuple[IntArray, IntArray, IntArray]] = field(default_factory=dict)

    @staticmethod
    def of(problem: ScoringProblem) -> IntegerScoringProblem:
        """Return the problem in integers; raise InvalidProofError if its costs have too many digits."""
        distinct, row_of_point = np.unique(problem.X, axis=0, return_inverse=True)
        coded = [np.unique(column, return_inverse=True) for column in distinct.T]
        entries = [[Fraction(x) for x in values.tolist()] for values, _ in coded]
        scale = math.lcm(*{x.denominator for values in entries for x in values})
        sizes = np.maximum(np.abs(problem.lower), np.abs(problem.upper))
        reach = scale * (float((np.abs(problem.X) @ sizes).max()) + max(map(abs, problem.intercept)) + 2.0)
        costs = [Fraction(repr(c)) for c in problem.weights.tolist()]
        unit = math.lcm(*{c.denominator for c in costs})
        if sum(costs) * unit >= 2**31:
            raise InvalidProofError("costs have too many digits to be checked in whole numbers")
        rows = np.empty(distinct.shape, dtype=object if reach * 4 > _LARGEST else np.int64)
        for j, (values, (_, code)) in enumerate(zip(entries, coded, strict=True)):
            rows[:, j] = np.array([int(x * scale) for x in values], dtype=rows.dtype)[code.ravel()]
        cost = np.array([int(c * unit) for c in costs], dtype=np.int64)
        row_of_point = row_of_point.ravel()
        plus, minus = (_sums(row_of_point[problem.y == c], cost[problem.y == c], len(rows)) for c in (1, -1))
        codes = np.array([code.ravel() for _, code in coded], dtype=np.int64).reshape(distinct.shape[::-1])
        return IntegerScoringProblem(
            rows, codes, (plus, minus), row_of_point, scale, unit, math.ceil(problem.threshold * scale), problem
        )

    @property
    def separation(self) -> int:
        """The least difference of the scores of two correctly classified points of opposite classes, times ``scale``."""
        return 2 * self.threshold

    def cells(self, active: list[int]) -> tuple[IntArray, IntArray, IntArray]:
        """Return the cells, sets of rows that agree on these columns: a row of each, and its costs of class +1 and class -1."""
        stored = self._cells.get(tuple(active))
        if stored is not None:
            return stored
        first, cell, count = np.zeros(1, dtype=np.int64), np.zeros(len(self.rows), dtype=np.int64), 1
        for j in active:
            finer = cell * (int(self.codes[j].max()) + 1) + self.codes[j]
            _, first, cell = np.unique(finer, return_index=True, return_inverse=True)
            cell, count = cell.ravel(), first.size
        merged = first, _sums(cell, self.sides[0], count), _sums(cell, self.sides[1], count)
        if len(self._cells) >= _KEPT:
            self._cells.clear()
        self._cells[tuple(active)] = merged
        return merged

    def lower_bound(self, node: CheckedNode, bound: Fraction) -> Fraction:
        """Return a lower bound of the objective on a tightened node, from the first of several methods that reaches ``bound``."""
        price = self.problem.price * (len(node.used()) + node.needs_feature)
        price += self.problem.size_price * (sum(max(1, node.lower[j], -node.upper[j]) for j in node.used()) + node.needs_feature)
        if price >= bound:
            return price
        active = [j for j, (a, b) in enumerate(zip(node.lower, node.upper, strict=True)) if a or b]
        first, positive, negative = self.cells(active)
        least_cost = price + Fraction(int(np.minimum(positive, negative).sum()), self.unit)
        if least_cost >= bound:
            return least_cost
        low, high = (np.array([side[j] for j in active], dtype=np.int64) for side in (node.lower, node.upper))
        rows = self.rows[first][:, active]
        if (low == high).all():
            return price + Fraction(self.errors(rows @ low, positive, negative), self.unit)
        return price + Fraction(self.flow(rows, positive, negative, low, high), self.unit)

    def flow(self, rows: IntegerArray, positive: IntArray, negative: IntArray, low: IntArray, high: IntArray) -> int:
        """Return the value of a flow from class +1 to class -1 along pairs of rows that are not both classified correctly.

        ``positive`` and ``negative`` are the rows' costs by class; ``low`` and ``high`` bound the coefficients of their columns.
        """
        plus, minus = np.flatnonzero(positive), np.flatnonzero(negative)
        largest = np.zeros((plus.size, minus.size), dtype=rows.dtype)
        for column, a, b in zip(rows.T, low.tolist(), high.tolist(), strict=True):
            differences = column[plus][:, None] - column[minus][None, :]
            largest += np.maximum(a * differences, b * differences)
        a, b = np.nonzero(largest < self.separation)
        m, k = plus.size, minus.size
        capacity = np.minimum(positive[plus][a], negative[minus][b])
        ends = np.concatenate([np.zeros(m, np.int64), a + 1, np.arange(m + 1, m + k + 1)])
        heads = np.concatenate([np.arange(1, m + 1), b + m + 1, np.full(k, m + k + 1)])
        amounts = np.concatenate([positive[plus], capacity, negative[minus]]).astype(np.int32)
        graph = sp.csr_array((amounts, (ends, heads)), shape=(m + k + 2, m + k + 2))
        flow = sp.coo_array(maximum_flow(graph, 0, m + k + 1).flow)
        inside = (flow.data > 0) & (flow.row >= 1) & (flow.row <= m) & (flow.col > m) & (flow.col <= m + k)
        i, j, amount = flow.row[inside] - 1, flow.col[inside] - m - 1, flow.data[inside].astype(np.int64)
        outflow, inflow = np.bincount(i, amount, m), np.bincount(j, amount, k)
        if (largest[i, j] >= self.separation).any() or (outflow > positive[plus]).any() or (inflow > negative[minus]).any():
            raise InvalidProofError("SciPy's result is not a feasible flow")
        return int(amount.sum())

    def errors(self, scores: IntegerArray, positive: IntArray, negative: IntArray) -> int:
        """Return the least cost of misclassified points, times ``unit``, over the allowed intercepts.

        ``scores`` are those of the rows without intercept, ``positive`` and ``negative`` their costs by class.
        """
        low, high = self.problem.intercept
        above = -((scores - self.threshold) // self.scale)
        below = (-self.threshold - scores) // self.scale
        candidates = np.unique(np.clip(np.concatenate([above, below, np.array([low, high])]), low, high))
        wrong = (above[:, None] > candidates).T @ positive + (below[:, None] < candidates).T @ negative
        return int(wrong.min())


def _sums(cell: IntArray, cost: IntArray, count: int) -> IntArray:
    sums = np.zeros(count, dtype=np.int64)
    np.add.at(sums, cell, cost)
    return sums


@dataclass(frozen=True, eq=False)
class LoggedMultipliers:
    """Integer multipliers of pairs of points that a log states for a node, over a common denominator."""

    denominator: Fraction  #: the common denominator, by which all multipliers are divided
    limit: int  #: ν, of the limit on non-zero coefficients
    plus: list[int]  #: the point of class +1 of each pair
    minus: list[int]  #: the point of class -1 of each pair
    cover: IntegerArray  #: λ of each pair, of the second kind of rows in the module's docstring
    margin: IntegerArray  #: μ of each pair, of the first kind of rows

    @staticmethod
    def read(record: dict[str, Any], data: IntegerScoringProblem) -> LoggedMultipliers:
        """Return the multipliers of a log's record, after checking that pairs are of opposite classes and signs are right."""
        denominator, limit, pairs = Fraction(record["denominator"]), int(record["limit"]), record["pairs"]
        plus, minus, cover, margin = ([int(pair[t]) for pair in pairs] for t in range(4))
        y = data.problem.y
        if not all(0 <= i < y.size and y[i] > 0 for i in plus) or not all(0 <= i < y.size and y[i] < 0 for i in minus):
            raise InvalidProofError("a pair is not of opposite points")
        if denominator <= 0 or min([limit, *cover, *margin]) < 0:
            raise InvalidProofError("a multiplier is below 0")
        return LoggedMultipliers(denominator, limit, plus, minus, np.array(cover, dtype=object), np.array(margin, dtype=object))

    def lower_bound(self, data: IntegerScoringProblem, node: CheckedNode) -> Fraction:
        """Return the lower bound of a tightened node by these multipliers, rounded up to the next possible objective."""
        p, used = data.problem, set(node.used())
        low, high = (np.array(side, dtype=object) for side in (node.lower, node.upper))
        v = data.rows[data.row_of[self.plus]].astype(object) - data.rows[data.row_of[self.minus]].astype(object)
        largest_products, fewest = np.maximum(low * v, high * v), np.minimum(low * v, high * v)
        free = np.zeros(low.size, dtype=bool)
        free[node.undecided()] = True
        valid = largest_products[:, ~free].sum(axis=1) < data.separation
        cover = self.cover * valid * data.scale
        helps = [(cover[:, None] * (free & (s * v > 0))).sum(axis=0) for s in (1, -1)]
        tilt = (self.margin[:, None] * v).sum(axis=0)
        denominator, nu = self.denominator * data.scale, self.limit * data.scale
        total = cover.sum() + data.separation * self.margin.sum() - nu * p.max_nonzeros
        for j in range(low.size):
            a, b = node.lower[j], node.upper[j]
            values = [Fraction(0)] if a <= 0 <= b and j not in used else []
            for side, smallest, largest in ((1, max(a, 1), b), (-1, max(-b, 1), -a)):
                for size in {smallest, largest} if smallest <= largest else set():
                    price = denominator * (p.price + p.size_price * size) + nu
                    values.append(price - helps[side < 0][j] - side * size * tilt[j])
            total += min(values)
        lacks = cover + self.margin * np.maximum(data.separation - fewest.sum(axis=1), 0)
        for costs, points in zip(data.sides, (self.plus, self.minus), strict=True):
            spent: dict[int, int] = {}
            for row, shortfall in zip(data.row_of[points].tolist(), lacks.tolist(), strict=True):
                spent[row] = spent.get(row, 0) + shortfall
            total += sum(min(Fraction(0), denominator * Fraction(int(costs[row]), data.unit) - s) for row, s in spent.items())
        step = math.lcm(data.unit, p.price.denominator, p.size_price.denominator)
        return Fraction(math.ceil(Fraction(total) / denominator * step), step)


#: Name of the log format.
FORMAT = "marginopt-scoring-proof"


@dataclass(frozen=True, eq=False)
class LoggedScoringProblem:
    """The problem of a scoring system as a log or a model states it."""

    problem: ScoringProblem  #: data, costs, bounds, prices and threshold

    @property
    def digest(self) -> str:
        """The empty string: reports of scoring systems have no digest."""
        return ""

    def difference(self, other: LoggedScoringProblem) -> str | None:
        """Return a sentence about the first field that differs; None if the problems are the same."""
        arrays, scalars = (
            ("X", "y", "weights", "lower", "upper"),
            ("intercept", "price", "size_price", "max_nonzeros", "threshold"),
        )
        return first_difference(self.problem, other.problem, arrays, scalars)

    def __str__(self) -> str:
        return f"n = {self.problem.y.size}, d = {self.problem.lower.size}"


class ScoringChecker(ProofChecker[LoggedScoringProblem]):
    """Checker of the logs of scoring systems."""

    format, versions = FORMAT, (1, 2)

    def of_model(self, model: Model) -> LoggedScoringProblem:
        """Return the problem of a `ScoringSystem`, or of a composition that is one."""
        problem = model.view(ScoringProblem)
        if problem is None:
            raise InputError(
                f"a proof log of supports-bb proves a bound of a scoring system; {type(model).__name__} is not a scoring system"
            )
        return LoggedScoringProblem(problem)

    def of_log(self, header: dict[str, Any]) -> LoggedScoringProblem:
        """Return the problem of a log's header, after checking its fields."""
        X = np.array(header["X"], dtype=np.float64)
        arrays = {name: np.array(header[name], dtype=np.float64) for name in ("y", "weights", "lower", "upper")}
        n, d = X.shape
        shapes = {"y": (n,), "weights": (n,), "lower": (d,), "upper": (d,)}
        if any(arrays[name].shape != shape for name, shape in shapes.items()) or not np.isin(arrays["y"], (-1.0, 1.0)).all():
            raise InvalidProofError("the stated problem's arrays do not fit")
        all_integer = all((arrays[name] == np.rint(arrays[name])).all() for name in ("lower", "upper"))
        if not all_integer or (arrays["lower"] > 0).any() or (arrays["upper"] < 0).any() or not (arrays["weights"] >= 0).all():
            raise InvalidProofError("the stated problem's bounds or costs are invalid")
        price, size_price, threshold = (Fraction(header[name]) for name in ("price", "size_price", "threshold"))
        low, high = map(int, header["intercept"])
        if min(price, size_price) < 0 or threshold <= 0 or not np.isfinite(X).all():
            raise InvalidProofError("the stated problem's prices or data are invalid")
        max_nonzeros = int(header["most"])
        problem = ScoringProblem(
            X, **arrays, intercept=(low, high), price=price, size_price=size_price, max_nonzeros=max_nonzeros, threshold=threshold
        )  # fmt: skip
        return LoggedScoringProblem(problem)

    def claim(self, problem: LoggedScoringProblem, log: SealedLog) -> Claim:
        """Return the claimed bound and the incumbent's objective, both as fractions."""
        logged, claim = problem.problem, log.claim
        rho0, rho = int(claim["rho0"]), np.array(claim["rho"], dtype=np.float64)
        if rho.shape != logged.lower.shape or not logged.allows(rho0, rho) or (rho != np.rint(rho)).any():
            raise InvalidProofError("the incumbent is not a feasible system of the problem")
        return Claim(Fraction(claim["bound"]), logged.value(rho0, rho))

    def prove(
        self, problem: LoggedScoringProblem, log: SealedLog, claim: Claim, verifiers: VerifierPool | None
    ) -> tuple[Fraction, int]:
        """Return the claimed bound and the number of nodes that are not split, after verifying each of these."""
        data, exact, records = IntegerScoringProblem.of(problem.problem), Fraction(claim.bound), list(log.records())
        splits = [split for record in records for split in record.get("splits", ())]
        entries = [multipliers for record in records for multipliers in record.get("multipliers", ())]
        nodes = 0
        for node, floor in _leaves(
            data, splits, {int(record["node"]): LoggedMultipliers.read(record, data) for record in entries}
        ):
            nodes += 1
            cost = floor if floor >= exact else data.lower_bound(node, exact)
            if cost < exact:
                raise InvalidProofError(
                    f"a node is proved to cost at least {float(cost):.12g} only; the claim is {round_down(exact):.12g}"
                )
        return exact, nodes


def _leaves(
    data: IntegerScoringProblem, splits: list[list[int]], multipliers: dict[int, LoggedMultipliers]
) -> Iterator[tuple[CheckedNode, Fraction]]:
    """Yield the tightened nodes that are not split, each with a lower bound by its multipliers or those of its ancestors."""
    problem = data.problem
    lower, upper = (tuple(map(int, side)) for side in (problem.lower, problem.upper))
    nodes: dict[int, tuple[CheckedNode | None, Fraction]] = {}
    following = 0

    def add(node: CheckedNode, floor: Fraction) -> None:
        nonlocal following
        tight = node.tightened(problem.max_nonzeros)
        if tight is not None and following in multipliers:
            floor = max(floor, multipliers[following].lower_bound(data, tight))
        nodes[following] = tight, floor
        following += 1

    add(CheckedNode(lower, upper), Fraction(0))
    for kind, number, j, half in splits:
        node, floor = nodes.pop(number, (None, Fraction(0)))
        if node is None:
            raise InvalidProofError(f"node {number} is split, and there is no such node")
        for child in node.children(kind, j, half):
            add(child, floor)
    yield from ((node, floor) for node, floor in nodes.values() if node is not None)
