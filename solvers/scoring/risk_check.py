"""An independent checker of the proof logs of `risk-bb`: it shares no code with the search and trusts the data alone.

The problem is min Σ_i c_i log(1 + e^{-m_i}) + μ_0 ||ρ||_0 + μ_1 ||ρ||_1, m_i = y_i (ρ_0 + x_i'ρ), over integers ρ_0, ρ within
bounds with ||ρ||_0 ≤ k; μ_0 is ``price`` and μ_1 ``size_price``. A node is a box l ≤ (ρ_0, ρ) ≤ u. By Fenchel's inequality
c log(1 + e^{-m}) ≥ c H(α/c) - α m for 0 ≤ α ≤ c, H(s) = -s log s - (1 - s) log(1 - s), so that with v = Σ α_i y_i (1, x_i) each
point of the node costs at least

    Σ c_i H(α_i/c_i) + min {-v_0 ρ_0} + Σ_{j in F} n_j - Σ of the k - |F| largest (-n_j)_+ over j outside F,

n_j = min {μ_0 + μ_1 |ρ_j| - v_j ρ_j : l_j ≤ ρ_j ≤ u_j, ρ_j ≠ 0}, F the coefficients whose range excludes 0; the functions are
linear on either side of 0, so that the ends decide. A record holds α, and either splits its node into ranges of one coefficient
that follow each other, or closes it. A node inherits the bounds of its ancestors; the bound of each node that is not split must
reach the claim.

α are whole multiples of a power of two, so that they are exact; products with the data have the a-priori error bound
γ_n Σ α_i |x_ij|, entropies that of `models.rounding.entropy`, and each further operation is rounded to the safe side.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, TypeAlias

import numpy as np

from ...errors import InputError, count_text
from ...models.arrays import FloatArray
from ...models.formulations.margin.problems import RiskProblem
from ...models.model import Model
from ...models.rounding import UNIT, entropy, gamma, softplus
from ..exact.check.arithmetic import InvalidProofError, RationalPoint, decode_multipliers, round_down, round_up, sum_down
from ..exact.check.checker import TreeChecker, data_digest, first_difference
from ..exact.check.trees import NodeRules

#: Name and version of the log format.
FORMAT, VERSION = "marginopt-risk-proof", 1
#: Names of the arrays, and of the numbers, of a `RiskProblem`.
_VECTORS = ("X", "y", "weights", "lower", "upper")
_NUMBERS = ("intercept", "price", "size_price", "max_nonzeros")
#: Value of ``split`` of a node that is closed.
_CLOSED = -1


@dataclass(frozen=True, eq=False)
class LoggedRiskProblem:
    """A risk score's problem as a log or a model states it, with equal rows merged."""

    problem: RiskProblem  #: data, costs, bounds and prices

    @property
    def digest(self) -> str:
        """The SHA-256 of the data."""
        p = self.problem
        facts = f"{p.X.shape} {[getattr(p, name) for name in _NUMBERS]}"
        return data_digest(facts, [getattr(p, name) for name in _VECTORS])

    def difference(self, other: LoggedRiskProblem) -> str | None:
        """Return a sentence about the first field that differs; None if the problems are the same."""
        return first_difference(self.problem, other.problem, _VECTORS, _NUMBERS)

    def __str__(self) -> str:
        n, d = self.problem.X.shape
        return (
            f"n = {count_text(n, 'distinct row')}, d = {d}, "
            f"at most {count_text(self.problem.max_nonzeros, 'coefficient')}, data {self.digest[:16]}"
        )


#: The ends of an open node's box, and a proved bound.
_OpenNode: TypeAlias = "tuple[FloatArray, FloatArray, float] | None"


class RiskRules(NodeRules[_OpenNode]):
    """The rules by which a record proves that a node costs the claimed ``bound``: its α bound the box and its parts."""

    def __init__(self, problem: RiskProblem, bound: float) -> None:
        self._problem, self._bound = problem, bound
        self._A = problem.y[:, None] * np.column_stack([np.ones(problem.y.size), problem.X])

    def children(self, record: dict[str, Any], state: _OpenNode) -> list[_OpenNode]:
        """Return the children of a node; None for each that the record's α prove to cost at least the claim."""
        assert state is not None
        lower, upper, floor = state
        alpha = decode_multipliers(record["exponent"], record["alpha"], self._problem.weights.size)
        if (alpha > self._problem.weights).any():
            raise InvalidProofError("a multiplier is above the cost of its point")
        boxes = RiskBounds.of(self._problem, self._A, alpha)
        floor = max(floor, boxes.bound(lower, upper))
        j = int(record["split"])
        if j == _CLOSED:
            if floor < self._bound:
                raise InvalidProofError(f"node {record['id']} {self.reason_unproved((lower, upper, floor))}")
            return []
        if not 0 <= j < lower.size:
            raise InvalidProofError(f"node {record['id']} is split by coefficient {j}, which there is not")
        children: list[_OpenNode] = []
        following = float(lower[j])
        for start, end in record["cuts"]:
            low, high = float(start), float(end)
            if low != following or not low <= high or high != math.floor(high):
                raise InvalidProofError(f"the parts of node {record['id']} leave numbers out")
            part_lower, part_upper, following = lower.copy(), upper.copy(), high + 1.0
            part_lower[j], part_upper[j] = low, high
            bound = max(floor, boxes.bound(part_lower, part_upper))
            children.append((part_lower, part_upper, bound) if bound < self._bound else None)
        if following != float(upper[j]) + 1.0:
            raise InvalidProofError(f"the parts of node {record['id']} leave numbers out")
        return children

    def reason_unproved(self, state: _OpenNode) -> str:
        """Return the end of a message on an open node: its bound is below the claim."""
        assert state is not None
        return f"is proved to cost {state[2]:.12g} and no more; the claim is {self._bound:.12g}"


@dataclass(frozen=True, eq=False)
class RiskBounds:
    """The lower bounds of boxes that one α gives."""

    problem: RiskProblem  #: costs, prices and the limit k
    base: float  #: lower bound of the entropies Σ c_i H(α_i/c_i)
    low: FloatArray  #: (d + 1,) lower bounds of v = Σ α_i y_i (1, x_i)
    high: FloatArray  #: (d + 1,) upper bounds of v

    @staticmethod
    def of(problem: RiskProblem, A: FloatArray, alpha: FloatArray) -> RiskBounds:
        """Return the bounds of one α; A has the rows y_i (1, x_i)."""
        values, errors = entropy(alpha, problem.weights)
        v, sizes, error = alpha @ A, alpha @ np.abs(A), gamma(alpha.size)
        reach = round_up(error * (sizes * (1.0 + 2.0 * error))) + 1e-290
        return RiskBounds(problem, sum_down(round_down(values - errors)), round_down(v - reach), round_up(v + reach))

    def bound(self, lower: FloatArray, upper: FloatArray) -> float:
        """Return the lower bound of a box; ∞ if more coefficients exclude 0 than are allowed."""
        forced = ((lower > 0.0) | (upper < 0.0))[1:]
        free = self.problem.max_nonzeros - int(forced.sum())
        if free < 0:
            return math.inf
        nonzero = np.minimum(self._side(lower, upper, self.high), self._side(-upper, -lower, -self.low))[1:]
        savings = np.sort(np.where(forced, 0.0, np.maximum(-nonzero, 0.0)))[::-1][:free]
        products = [v * end for v in (self.low[0], self.high[0]) for end in (lower[0], upper[0])]
        return sum_down(np.concatenate([[self.base, -float(round_up(max(products)))], nonzero[forced], -savings]))

    def _side(self, lower: FloatArray, upper: FloatArray, v: FloatArray) -> FloatArray:
        """Return the least μ_0 + (μ_1 - v_j) t over the whole t ≥ 1 of each range, rounded down; ∞ where there are none."""
        slope = round_down(self.problem.size_price - v)
        ends = (round_down(self.problem.price + round_down(slope * end)) for end in (np.maximum(lower, 1.0), upper))
        return np.where(upper >= 1.0, np.minimum(*ends), math.inf)


class RiskChecker(TreeChecker[LoggedRiskProblem]):
    """Checker of the logs of ``risk-bb``."""

    format, versions = FORMAT, (VERSION,)

    def of_model(self, model: Model) -> LoggedRiskProblem:
        """Return the problem of a scoring system with the logistic loss."""
        problem = model.view(RiskProblem)
        if problem is None:
            raise InputError(
                "a proof log of risk-bb proves a bound of a ScoringSystem with the logistic loss; "
                f"{type(model).__name__} is not such a problem"
            )
        return LoggedRiskProblem(problem.with_merged_points)

    def of_log(self, header: dict[str, Any]) -> LoggedRiskProblem:
        """Return the problem of a log's header, after checking its fields."""
        y, weights, lower, upper = (np.array(header[name], dtype=np.float64) for name in _VECTORS[1:])
        X = np.array(header["X"], dtype=np.float64).reshape(y.size, lower.size)
        low, high = (int(end) for end in header["intercept"])
        price, size_price, max_nonzeros = float(header["price"]), float(header["size_price"]), int(header["most"])
        shapes = y.ndim == lower.ndim == 1 and weights.shape == y.shape and upper.shape == lower.shape
        problem = RiskProblem(X, y, weights, lower, upper, (low, high), price, size_price, max_nonzeros)
        ends = np.concatenate(problem.coefficient_bounds)
        all_integer = shapes and np.isfinite(ends).all() and (ends == np.rint(ends)).all() and np.abs(ends).max() <= 2.0**53
        if not all_integer or low > high or (lower > 0.0).any() or (upper < 0.0).any():
            raise InvalidProofError("the stated problem's bounds are invalid")
        finite = np.isfinite(X).all() and np.isfinite(weights).all() and np.isin(y, (-1.0, 1.0)).all()
        if (
            not finite
            or (weights < 0.0).any()
            or not 0.0 <= price < math.inf
            or not 0.0 <= size_price < math.inf
            or max_nonzeros < 0
        ):
            raise InvalidProofError("the stated problem's data, costs or prices are invalid")
        return LoggedRiskProblem(problem)

    def value(self, problem: LoggedRiskProblem, w: list[float]) -> Fraction:
        """Return an upper bound of the objective at integer coefficients w = (ρ_0, ρ).

        Raises
        ------
        InvalidProofError
            w is not integer, outside its bounds, or has more than k coefficients that are not 0.
        """
        p, (lower, upper) = problem.problem, problem.problem.coefficient_bounds
        point, rho = RationalPoint.of(w, lower.size), np.array(w, dtype=np.float64)
        inside = (rho >= lower).all() and (rho <= upper).all() and (rho == np.rint(rho)).all()
        if not inside or np.count_nonzero(rho[1:]) > p.max_nonzeros:
            raise InvalidProofError("the incumbent is no point of the problem")
        rows = np.column_stack([np.ones(p.y.size), p.X]).tolist()
        margins = [float(int(side) * point.product(row)) for side, row in zip(p.y.tolist(), rows, strict=True)]
        losses, errors = softplus(-np.array(margins))
        above = round_up(losses + round_up(errors + 2.0 * UNIT * np.abs(margins)))  # the loss is 1-Lipschitz in the margin
        total = sum((Fraction(c) * Fraction(x) for c, x in zip(p.weights.tolist(), above.tolist(), strict=True)), Fraction(0))
        used, size = int(np.count_nonzero(rho[1:])), sum(map(abs, point.coordinates[1:]), Fraction(0))
        return total + Fraction(p.price) * used + Fraction(p.size_price) * size

    def rules(self, problem: LoggedRiskProblem, bound: float) -> tuple[RiskRules, _OpenNode]:
        """Return the rules and the root with the bound 0; None as the root for a claim up to 0, as no term is negative."""
        lower, upper = problem.problem.coefficient_bounds
        return RiskRules(problem.problem, bound), (lower, upper, 0.0) if bound > 0.0 else None
