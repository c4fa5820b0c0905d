"""`risk-bb`: the exact solver of risk scores, whole coefficients under the logistic loss, on the shared driver.

A node is a box of whole coefficients. Its convex relaxation, the loss with the convex envelope of each coefficient's price on the
box, gives weights α_i = c_i/(1 + e^{m_i}) of the points, and any weights 0 ≤ α ≤ c give a bound: by Fenchel's inequality
c log(1 + e^{-m}) ≥ c H(α/c) - α m, so the objective is at least Σ c_i H(α_i/c_i) plus, for each coefficient by itself, the least
of π_j(ρ_j) - ρ_j Σ α_i y_i x_ij over the whole numbers of the box, at most k of them not 0, less a bound of the rounding error.
"""

from __future__ import annotations

import heapq
import itertools
import math
import time
from dataclasses import dataclass, field
from typing import Any, ClassVar, NamedTuple

import numpy as np

from ...errors import InputError
from ...models.arrays import FloatArray
from ...models.formulations.margin.problems import RiskProblem
from ...models.rounding import entropy, gamma, softplus
from ..exact.limits import Limits
from ..interface.algorithm import Algorithm, Measure, Outcome
from ..interface.solver import Gives, Purpose, SolverInfo
from ..records import Answer, Options

__all__ = ["RiskBB", "RiskSearch"]

#: Whole numbers that doubles hold exactly.
_LARGEST = 2.0**53
#: Distance from a whole number, or from a coefficient's own price, up to which nothing is left to branch on.
_WHOLE = 1e-6
#: Bytes that an open node takes beside its two vectors.
_NODE = 400


class Node(NamedTuple):
    """An open box, by its bound; ``number`` breaks ties."""

    bound: float
    number: int
    lower: FloatArray
    upper: FloatArray
    relaxed: FloatArray


@dataclass(eq=False)
class RiskSearch:
    """Best-first search over boxes of (ρ_0, ρ).

    Parameters
    ----------
    A : ndarray (m, d + 1)
        Signed distinct rows y (1, x).
    costs : ndarray (m,)
        Their weights, those of equal rows added up.
    price, size_price : float
    most : int
    tol : float
        Nodes are closed whose bound is within this share of the incumbent.
    """

    A: FloatArray
    costs: FloatArray
    costs_error: float
    price: float
    size_price: float
    most: int
    tol: float
    open: list[Node] = field(default_factory=list)
    best: FloatArray | None = None
    value: float = math.inf
    closed: float = math.inf
    nodes: int = 0
    _numbers: Any = field(default_factory=itertools.count)

    @classmethod
    def of(cls, problem: RiskProblem, tol: float) -> RiskSearch:
        """Merge equal rows and bound the root."""
        signed = np.column_stack([problem.y, problem.y[:, None] * problem.X])
        rows, place = np.unique(signed, axis=0, return_inverse=True)
        costs = np.bincount(np.ravel(place), problem.weights, rows.shape[0]).astype(np.float64)
        error = gamma(problem.y.size) * float(costs.sum())
        search = cls(rows, costs, error, problem.price, problem.size_price, problem.most, tol)
        lower, upper = (
            np.append(*ends) for ends in zip(map(float, problem.intercept), (problem.lower, problem.upper), strict=True)
        )
        search.descend(np.clip(np.zeros(lower.size), lower, upper), lower, upper)
        search.push(lower, upper, np.clip(np.zeros(lower.size), lower, upper))
        return search

    @property
    def bound(self) -> float:
        """The least bound of what is open or was closed."""
        return min(self.open[0].bound if self.open else math.inf, self.closed)

    @property
    def done(self) -> bool:
        """Return whether no open node may hold a better point."""
        return not self.open or self.open[0].bound >= self.cutoff

    @property
    def cutoff(self) -> float:
        """The bound from which on nodes are closed."""
        return self.value - self.tol * abs(self.value)

    def counted(self, rho: FloatArray) -> float:
        """Price of the coefficients."""
        return self.price * np.count_nonzero(rho[1:]) + self.size_price * float(np.abs(rho[1:]).sum())

    def objective(self, rho: FloatArray) -> float:
        """Value at whole coefficients."""
        return float(self.costs @ softplus(-(self.A @ rho))[0]) + self.counted(rho)

    def offer(self, rho: FloatArray) -> None:
        """Take whole coefficients as the incumbent where they are better."""
        if np.count_nonzero(rho[1:]) <= self.most and (value := self.objective(rho)) < self.value:
            self.best, self.value = rho.copy(), value

    def descend(self, rho: FloatArray, lower: FloatArray, upper: FloatArray) -> None:
        """Improve whole coefficients one at a time, by steps of 1 and to 0, and offer the end."""
        keep = np.argsort(-np.abs(rho[1:]), kind="stable")[self.most :] + 1
        rho = rho.copy()
        rho[keep] = np.clip(0.0, lower[keep], upper[keep])
        margins, value = self.A @ rho, self.objective(rho)
        improved = True
        while improved:
            improved = False
            for j in range(rho.size):
                for step in (1.0, -1.0, -rho[j]):
                    moved = rho[j] + step
                    full = j > 0 and rho[j] == 0.0 and moved != 0.0 and np.count_nonzero(rho[1:]) >= self.most
                    if step == 0.0 or not lower[j] <= moved <= upper[j] or full:
                        continue
                    change = self.counted_one(j, moved) - self.counted_one(j, rho[j])
                    tried = margins + step * self.A[:, j]
                    other = float(self.costs @ np.logaddexp(0.0, -tried)) + self.counted(rho) + change
                    if other < value - 1e-12 * abs(value):
                        rho[j], margins, value, improved = moved, tried, other, True
        self.offer(rho)

    def counted_one(self, j: int, value: float) -> float:
        """Price of one coefficient; the intercept costs nothing."""
        return 0.0 if j == 0 else self.price * (value != 0.0) + self.size_price * abs(value)

    # -- nodes --------------------------------------------------------------------------------------------------

    def push(self, lower: FloatArray, upper: FloatArray, start: FloatArray) -> None:
        """Bound a box and keep it open, or close it."""
        self.nodes += 1
        forced = int(((lower[1:] > 0) | (upper[1:] < 0)).sum())
        if (lower > upper).any() or forced > self.most:
            return
        if (lower == upper).all():
            self.offer(lower)
        relaxed = self.relax(lower, upper, np.clip(start, lower, upper))
        bound = self.bound_at(relaxed, lower, upper)
        self.offer(np.clip(np.rint(relaxed), lower, upper))
        if (lower == upper).all() or bound >= self.cutoff:
            self.closed = min(self.closed, bound)
        else:
            heapq.heappush(self.open, Node(bound, next(self._numbers), lower, upper, relaxed))

    def slopes(self, lower: FloatArray, upper: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Slopes of the price's convex envelope to the right and to the left of 0; of the size alone without 0 in the box."""
        inside = (lower <= 0.0) & (upper >= 0.0)
        inside[0] = False
        right, left = (
            self.size_price + np.where(inside & (end != 0.0), self.price / np.where(end != 0.0, np.abs(end), 1.0), 0.0)
            for end in (upper, lower)
        )
        right[0] = left[0] = 0.0
        return right, left

    def relax(self, lower: FloatArray, upper: FloatArray, start: FloatArray) -> FloatArray:
        """The minimiser of the convex relaxation over the box, up to what L-BFGS-B leaves."""
        from scipy.optimize import minimize

        right, left = self.slopes(lower, upper)
        n = lower.size

        def both(x: FloatArray) -> tuple[float, FloatArray]:
            plus, minus = x[:n], x[n:]
            margins = self.A @ (plus - minus)
            value = float(self.costs @ np.logaddexp(0.0, -margins)) + float(right @ plus + left @ minus)
            slope = -(self.A.T @ self.weights(margins))
            return value, np.concatenate([slope + right, left - slope])

        parts = np.concatenate([np.maximum(start, 0.0), np.maximum(-start, 0.0)])
        ends = [
            *zip(np.maximum(lower, 0.0), np.maximum(upper, 0.0), strict=True),
            *zip(np.maximum(-upper, 0.0), np.maximum(-lower, 0.0), strict=True),
        ]
        minimum = minimize(
            both, parts, jac=True, method="L-BFGS-B", bounds=ends, options={"maxiter": 200, "ftol": 1e-12, "gtol": 1e-9}
        )
        return np.clip(minimum.x[:n] - minimum.x[n:], lower, upper)

    def weights(self, margins: FloatArray) -> FloatArray:
        """α = c/(1 + e^m)."""
        return np.asarray(self.costs * np.exp(-np.logaddexp(0.0, margins)))

    def bound_at(self, rho: FloatArray, lower: FloatArray, upper: FloatArray) -> float:
        """The bound of the box from the weights at a point, its rounding error subtracted."""
        alpha = np.clip(self.weights(self.A @ rho), 0.0, self.costs)
        values, errors = entropy(alpha, self.costs)
        g, sizes = alpha @ self.A, alpha @ np.abs(self.A)
        ends = np.array([lower, upper, np.clip(-1.0, lower, upper), np.clip(1.0, lower, upper), np.clip(0.0, lower, upper)])
        prices = self.price * (ends != 0.0) + self.size_price * np.abs(ends)
        prices[:, 0] = 0.0
        costs = prices - g * ends
        zero = np.where((lower <= 0.0) & (upper >= 0.0), 0.0, np.inf)
        nonzero = np.where(ends != 0.0, costs, np.inf).min(axis=0)
        savings = np.where(np.isinf(zero), 0.0, np.maximum(-nonzero, 0.0))[1:]  # of a coefficient that may be 0
        free = self.most - int(np.isinf(zero[1:]).sum())
        taken = float(np.sort(savings)[::-1][:free].sum()) if free > 0 else 0.0
        forced = float(nonzero[1:][np.isinf(zero[1:])].sum())
        intercept = float((-g[0] * ends[:, 0]).min())
        reach = np.maximum(np.abs(lower), np.abs(upper))
        total = float(values.sum()) + intercept + forced - taken
        size = float(values.sum()) + float(sizes @ reach) + float(prices.max(axis=0).sum())
        rounding = (
            gamma(self.costs.size + lower.size + 16) * size + float(errors.sum()) + self.costs_error * _per_cost(self, reach)
        )
        return total - 2.0 * rounding

    def branch(self) -> None:
        """Split the open box of least bound."""
        node = heapq.heappop(self.open)
        if node.bound >= self.cutoff:
            self.closed = min(self.closed, node.bound)
            return
        for lower, upper in self.parts(node):
            self.push(lower, upper, node.relaxed)

    def parts(self, node: Node) -> list[tuple[FloatArray, FloatArray]]:
        """The boxes below 0, of 0 and above 0 of the coefficient whose price is least paid; else two halves."""
        lower, upper, rho = node.lower, node.upper, node.relaxed
        right, left = self.slopes(lower, upper)
        paid = right * np.maximum(rho, 0.0) + left * np.maximum(-rho, 0.0)
        open_zero = (lower <= 0.0) & (upper >= 0.0) & (lower < upper)
        open_zero[0] = False
        owed = np.where(open_zero & (np.abs(rho) > _WHOLE), self.price + self.size_price * np.abs(rho) - paid, 0.0)
        j = int(np.argmax(owed))
        if owed[j] > _WHOLE * max(1.0, abs(self.value)) or (
            open_zero.any() and np.count_nonzero(np.abs(rho[1:]) > _WHOLE) > self.most
        ):
            j = j if owed[j] > 0.0 else int(np.argmax(np.where(open_zero, np.abs(rho), -1.0)))
            cuts = [(lower[j], -1.0), (0.0, 0.0), (1.0, upper[j])]
        else:
            apart = np.where(lower < upper, np.abs(rho - np.rint(rho)), -1.0)
            j = int(np.argmax(apart)) if apart.max() > _WHOLE else int(np.argmax(upper - lower))
            middle = np.floor(rho[j]) if apart.max() > _WHOLE else np.floor(0.5 * (lower[j] + upper[j]))
            middle = min(max(middle, lower[j]), upper[j] - 1.0)
            cuts = [(lower[j], middle), (middle + 1.0, upper[j])]
        parts = []
        for low, high in cuts:
            if low <= high:
                below, above = lower.copy(), upper.copy()
                below[j], above[j] = low, high
                parts.append((below, above))
        return parts


def _per_cost(search: RiskSearch, reach: FloatArray) -> float:
    """A bound of log(1 + e^-m) over the box: what an error of the weights of merged rows may cost for each unit."""
    return 1.0 + float((np.abs(search.A) @ reach).max(initial=0.0))


@dataclass(eq=False)
class RiskState:
    """The search and its limits."""

    search: RiskSearch
    limits: Limits


@dataclass(frozen=True, eq=False)
class RiskBB(Algorithm[RiskProblem, RiskState]):
    """Exact branch and bound for risk scores: whole coefficients, few of them, least logistic loss (RiskSLIM)."""

    info: ClassVar[SolverInfo] = SolverInfo(
        name="risk-bb",
        rank={Purpose.STRUCTURE: 15},
        summary="exact branch and bound for risk scores: whole coefficients under the logistic loss",
        views=(RiskProblem,),
        gives=frozenset({Gives.BOUND, Gives.TRACE, Gives.WARM_START, Gives.INTERRUPT}),
        reference="docs/explanation/open-instances.md",
    )

    def init(self, view: RiskProblem, options: Options, rng: np.random.Generator) -> RiskState:
        """Merge equal rows, and take the start."""
        limits = Limits.of(options, self.info.tolerance)
        ends = np.concatenate([view.intercept, view.lower, view.upper])
        if np.abs(ends).max() > _LARGEST:
            raise InputError("coefficients must be whole numbers up to 2^53: give features in larger numbers, or intercept_range")
        search = RiskSearch.of(view, 0.5 * limits.tol)
        if options.start is not None and "w" in options.start:
            w = np.rint(np.asarray(options.start["w"], dtype=np.float64))
            lower, upper = (np.append(*part) for part in zip(view.intercept, (view.lower, view.upper), strict=True))
            if w.shape != lower.shape or not np.isfinite(w).all():
                raise InputError(f"start['w'] must hold {lower.size} finite numbers; it has shape {w.shape}")
            search.descend(np.clip(w, lower, upper), lower, upper)
        return RiskState(search, limits)

    def advance(self, state: RiskState, seconds: float) -> Outcome:
        """Branch for about ``seconds``."""
        search, limits, end = state.search, state.limits, time.perf_counter() + seconds
        while not search.done:
            if limits.nodes_left(search.nodes) <= 0:
                return Outcome.NODE_LIMIT
            if len(search.open) * (_NODE + 24 * search.A.shape[1]) > limits.memory_or(math.inf):
                return Outcome.MEMORY_LIMIT
            search.branch()
            if time.perf_counter() >= end:
                return Outcome.CONVERGED if search.done else Outcome.RUNNING
        return Outcome.CONVERGED

    def measure(self, state: RiskState) -> Measure:
        """Incumbent, proved bound, nodes and open nodes."""
        search = state.search
        return Measure(search.nodes, search.value, min(search.bound, search.value), len(search.open), step="search")

    def answer(self, state: RiskState) -> Answer:
        """The incumbent, and the proved bound."""
        search = state.search
        bound = min(search.bound, search.value)
        details = {"open_nodes": len(search.open), "distinct_rows": search.costs.size}
        return Answer(
            values=None if search.best is None else {"w": search.best}, bound=bound, proved=True, nodes=search.nodes,
            details=details,
        )  # fmt: skip
