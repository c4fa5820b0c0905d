"""An independent checker of scoring systems' proof logs: it shares no code with the solver and trusts the problem's data alone.

The log holds the splits of a tree of boxes and the claimed bound. Every node that is not split must cost at least the bound: its
prices, and the errors of a flow between points of the two classes that are not both right (found by SciPy, and checked here to be
one), all in whole numbers and fractions. What a split means, and what follows for a box, is stated again in `Node`.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp
from scipy.sparse.csgraph import maximum_flow

from ...models.arrays import IntArray
from ...models.formulations.margin.scoring_problem import ScoringProblem
from ...models.model import Model
from ...models.rounding import below
from ..zero_one.check.arithmetic import InvalidProofError
from ..zero_one.check.checker import ProofReport
from ..zero_one.check.sealed import held_records

__all__ = ["FORMAT", "check_scoring_proof", "stated_problem"]

FORMAT = "marginopt-scoring-proof"
#: Kinds of splits in the log.
_BEGIN, _SUPPORT, _SIGN, _HALVES = 1, 2, 3, 4
#: Digits in which scores must be whole.
_LARGEST = 2**62


@dataclass(frozen=True)
class Node:
    """A box of coefficients; those in ``must`` are not 0, and with ``more`` one of those that are `undecided` is not."""

    lower: tuple[int, ...]
    upper: tuple[int, ...]
    must: frozenset[int] = frozenset()
    more: bool = False

    def undecided(self) -> list[int]:
        """Coefficients that may be 0 and something else."""
        sides = zip(self.lower, self.upper, strict=True)
        return [j for j, (a, b) in enumerate(sides) if a <= 0 <= b and a < b and j not in self.must]

    def bounded(self, j: int, low: int, high: int) -> Node:
        """The node with other bounds of one coefficient."""
        return replace(
            self, lower=(*self.lower[:j], low, *self.lower[j + 1 :]), upper=(*self.upper[:j], high, *self.upper[j + 1 :])
        )  # fmt: skip

    def without(self) -> Node:
        """Nothing that is not decided."""
        node = replace(self, more=False)
        for j in self.undecided():
            node = node.bounded(j, 0, 0)
        return node

    def tightened(self, most: int) -> Node | None:
        """What follows from must, more and the limit; None where nothing is left."""
        node = self
        for _ in range(2):
            for j in node.must:
                node = node.bounded(j, node.lower[j] or 1, node.upper[j] or -1)
            if any(a > b for a, b in zip(node.lower, node.upper, strict=True)):
                return None
            free, used = node.undecided(), len(node.used())
            if (node.more and not free) or used + node.more > most:
                return None
            if node.more and len(free) == 1:
                node = replace(node, must=node.must | {free[0]}, more=False)
                continue
            return node.without() if used == most else node
        return node

    def used(self) -> list[int]:
        """Coefficients that are not 0."""
        return [j for j, (a, b) in enumerate(zip(self.lower, self.upper, strict=True)) if a > 0 or b < 0 or j in self.must]

    def split(self, kind: int, j: int, half: int) -> list[Node]:
        """The children, which together hold every system of the node."""
        if not 0 <= j < len(self.lower):
            raise InvalidProofError(f"a split of coefficient {j}, which there is not")
        a, b = self.lower[j], self.upper[j]
        if kind == _BEGIN and not self.more:
            return [self.without(), replace(self, more=True)]
        if kind == _SUPPORT and self.more and j in self.undecided():
            with_j = replace(self, must=self.must | {j})
            return [with_j.without(), with_j, self.bounded(j, 0, 0)]
        if kind == _SIGN and a <= 0 <= b and (not self.more or j in self.must):
            return [self.bounded(j, 0, 0), self.bounded(j, max(a, 1), b), self.bounded(j, a, min(b, -1))]
        if kind == _HALVES and a <= half < b and not (self.more and j in self.undecided()):
            return [self.bounded(j, a, half), self.bounded(j, half + 1, b)]
        raise InvalidProofError("a split that the node does not allow")


@dataclass(frozen=True, eq=False)
class Data:
    """The problem in whole numbers: scores times ``scale``, costs times ``unit``."""

    X: IntArray
    y: IntArray
    cost: IntArray
    scale: int
    unit: int
    threshold: int
    apart: int
    problem: ScoringProblem

    @staticmethod
    def of(problem: ScoringProblem) -> Data:
        """Exactly, or not at all."""
        entries = [Fraction(x) for x in np.unique(problem.X).tolist()]
        scale = max((x.denominator for x in entries), default=1)
        costs = [Fraction(repr(c)) for c in problem.weights.tolist()]
        unit = math.lcm(*{c.denominator for c in costs})
        sizes = np.maximum(np.abs(problem.lower), np.abs(problem.upper))
        reach = scale * (float((np.abs(problem.X) @ sizes).max()) + max(map(abs, problem.intercept)) + 2.0)
        if reach * 4 > _LARGEST or sum(costs) * unit >= 2**31:
            raise InvalidProofError("features or costs have too many digits to be checked in whole numbers")
        t = math.ceil(problem.threshold * scale)
        apart = 2 * t if scale == 1 else math.ceil(2 * problem.threshold * scale)
        X = np.rint(problem.X * scale).astype(np.int64)
        cost = np.array([int(c * unit) for c in costs], dtype=np.int64)
        return Data(X, problem.y.astype(np.int64), cost, scale, unit, t, apart, problem)

    def least(self, node: Node, bound: Fraction) -> Fraction | None:
        """A lower bound of the node, exact where that matters; None where it holds no system."""
        p, tight = self.problem, node.tightened(self.problem.most)
        if tight is None:
            return None
        node = tight
        sizes = [max(1, node.lower[j], -node.upper[j]) for j in node.used()]
        own = p.price * (len(sizes) + node.more) + p.size_price * (sum(sizes) + node.more)
        if own >= bound:
            return own
        active = [j for j, (a, b) in enumerate(zip(node.lower, node.upper, strict=True)) if a or b]
        low, high = (np.array([side[j] for j in active], dtype=np.int64) for side in (node.lower, node.upper))
        rows, back = np.unique(self.X[:, active], axis=0, return_inverse=True)
        sides = [np.bincount(back.ravel()[self.y == c], self.cost[self.y == c], len(rows)).astype(np.int64) for c in (1, -1)]
        found = own + Fraction(int(np.minimum(*sides).sum()), self.unit)
        if found >= bound:
            return found
        found = own + Fraction(self.flow(rows, sides[0], sides[1], low, high), self.unit)
        if found < bound and (low == high).all():
            found = own + Fraction(self.errors(rows @ low, sides[0], sides[1]), self.unit)
        return found

    def flow(self, rows: IntArray, positive: IntArray, negative: IntArray, low: IntArray, high: IntArray) -> int:
        """What some flow from points of class +1 to points of class -1, along pairs that are not both right, carries."""
        plus, minus = np.flatnonzero(positive), np.flatnonzero(negative)
        most = np.zeros((plus.size, minus.size), dtype=np.int64)
        for column, a, b in zip(rows.T, low.tolist(), high.tolist(), strict=True):
            apart = column[plus][:, None] - column[minus][None, :]
            most += np.maximum(a * apart, b * apart)
        a, b = np.nonzero(most < self.apart)
        m, k = plus.size, minus.size
        capacity = np.minimum(positive[plus][a], negative[minus][b])
        ends = np.concatenate([np.zeros(m, np.int64), a + 1, np.arange(m + 1, m + k + 1)])
        heads = np.concatenate([np.arange(1, m + 1), b + m + 1, np.full(k, m + k + 1)])
        amounts = np.concatenate([positive[plus], capacity, negative[minus]]).astype(np.int32)
        graph = sp.csr_array((amounts, (ends, heads)), shape=(m + k + 2, m + k + 2))
        flow = sp.coo_array(maximum_flow(graph, 0, m + k + 1).flow)
        inside = (flow.data > 0) & (flow.row >= 1) & (flow.row <= m) & (flow.col > m) & (flow.col <= m + k)
        i, j, amount = flow.row[inside] - 1, flow.col[inside] - m - 1, flow.data[inside].astype(np.int64)
        sent, received = np.bincount(i, amount, m), np.bincount(j, amount, k)
        if (most[i, j] >= self.apart).any() or (sent > positive[plus]).any() or (received > negative[minus]).any():
            raise InvalidProofError("SciPy's flow is none")
        return int(amount.sum())

    def errors(self, scores: IntArray, positive: IntArray, negative: IntArray) -> int:
        """The fewest errors of one system over the intercepts that are allowed."""
        low, high = self.problem.intercept
        above = -((scores - self.threshold) // self.scale)
        below = (-self.threshold - scores) // self.scale
        tried = np.unique(np.clip(np.concatenate([above, below, [low, high]]), low, high))
        wrong = (above[:, None] > tried).T @ positive + (below[:, None] < tried).T @ negative
        return int(wrong.min())


def check_scoring_proof(path: str | Path, model: Model | None = None) -> ProofReport:
    """Verify the proof log of a scoring system that ``supports-bb`` wrote with ``proof=path``.

    Parameters
    ----------
    path : str or Path
    model : Model, optional
        A `ScoringSystem`, or a composition that is one: a log about other data or prices is refused. Without it the log proves a
        bound of the problem that it states itself.

    Returns
    -------
    ProofReport
        ``valid`` only where every node costs at least the claimed bound; a damaged or wrong log is reported, never raised.
    """
    bound = value = math.nan
    nodes, stated, own = 0, "", False
    try:
        header, splits, claim = _read(Path(path))
        problem = stated_problem(header)
        stated = f"n = {problem.y.size}, d = {problem.lower.size}"
        if model is not None:
            own = _same(problem, model)
        exact = Fraction(claim["bound"])
        rho = np.array(claim["rho"], dtype=np.float64)
        if rho.shape != problem.lower.shape or not problem.allows(int(claim["rho0"]), rho) or (rho != np.rint(rho)).any():
            raise InvalidProofError("the incumbent is no system of the problem")
        best = problem.value(int(claim["rho0"]), rho)
        bound, value = below(exact), float(best)
        if exact > best:
            raise InvalidProofError(f"the claimed bound {bound:g} is above the incumbent's value {value:g}")
        data = Data.of(problem)
        for node in _leaves(problem, splits):
            nodes += 1
            least = data.least(node, exact)
            if least is not None and least < exact:
                raise InvalidProofError(f"a node is proved to cost {float(least):.12g} and no more; the claim is {bound:.12g}")
    except InvalidProofError as error:
        return ProofReport(False, bound, value, nodes, str(error), stated)
    except Exception as error:  # noqa: BLE001 -- a file may be wrong in every way, and all of them are a verdict
        return ProofReport(False, bound, value, nodes, f"the log cannot be read: {type(error).__name__}: {error}", stated)
    return ProofReport(True, bound, value, nodes, "every node is proved", stated, "", own)


def _leaves(problem: ScoringProblem, splits: list[list[int]]) -> Iterator[Node]:
    """The nodes that are not split, after every split."""
    lower, upper = (tuple(map(int, side)) for side in (problem.lower, problem.upper))
    nodes: dict[int, Node | None] = {0: Node(lower, upper)}
    following = 1
    for kind, number, j, half in splits:
        node = nodes.pop(number, None)
        if node is None:
            raise InvalidProofError(f"node {number} is split, and there is no such node")
        for child in node.split(kind, j, half):
            nodes[following] = child.tightened(problem.most)
            following += 1
    yield from (node for node in nodes.values() if node is not None)


def stated_problem(header: dict[str, Any]) -> ScoringProblem:
    """The problem that a log states."""
    X = np.array(header["X"], dtype=np.float64)
    arrays = {name: np.array(header[name], dtype=np.float64) for name in ("y", "weights", "lower", "upper")}
    n, d = X.shape
    shapes = {"y": (n,), "weights": (n,), "lower": (d,), "upper": (d,)}
    if any(arrays[name].shape != shape for name, shape in shapes.items()) or not np.isin(arrays["y"], (-1.0, 1.0)).all():
        raise InvalidProofError("the stated problem's arrays do not fit")
    whole = all((arrays[name] == np.rint(arrays[name])).all() for name in ("lower", "upper"))
    if not whole or (arrays["lower"] > 0).any() or (arrays["upper"] < 0).any() or not (arrays["weights"] >= 0).all():
        raise InvalidProofError("the stated problem's bounds or costs are none")
    price, size_price, threshold = (Fraction(header[name]) for name in ("price", "size_price", "threshold"))
    low, high = map(int, header["intercept"])
    if min(price, size_price) < 0 or threshold <= 0 or not np.isfinite(X).all():
        raise InvalidProofError("the stated problem's prices or data are none")
    most = int(header["most"])
    return ScoringProblem(
        X, **arrays, intercept=(low, high), price=price, size_price=size_price, most=most, threshold=threshold
    )  # fmt: skip


def _same(stated: ScoringProblem, model: Model) -> bool:
    """Whether the log is about the model; an error where it is not."""
    own = model.view(ScoringProblem)
    if own is None:
        raise InvalidProofError(f"{model.name} is no scoring system")
    for name in ("X", "y", "weights", "lower", "upper"):
        if not np.array_equal(getattr(own, name), getattr(stated, name)):
            raise InvalidProofError(f"this log is about another problem than the model: {name} differs")
    for name in ("intercept", "price", "size_price", "most", "threshold"):
        if getattr(own, name) != getattr(stated, name):
            raise InvalidProofError(f"this log is about another problem than the model: {name} differs")
    return True


def _read(path: Path) -> tuple[dict[str, Any], list[list[int]], dict[str, Any]]:
    """Header, splits and claim of a log of this format whose seal fits."""
    header, *records, claim = held_records(path, FORMAT, (1,))
    return header, [split for record in records for split in record["splits"]], claim
