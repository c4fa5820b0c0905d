"""The solver `risk-bb` of risk scores, integer coefficients under the logistic loss: how it bounds, splits and rounds a node.

The problem is min Σ_i c_i log(1 + e^{-m_i}) + Σ_j π_j(ρ_j), with margins m_i = y_i (ρ_0 + x_i'ρ) and π_j(ρ_j) = price 1{ρ_j ≠ 0}
+ size_price |ρ_j| (0 for the intercept ρ_0), over integers within bounds, at most k of the ρ_j not 0. A node is a box of
(ρ_0, ρ). Its convex relaxation, the loss with the convex envelope of each π_j on the box, gives weights α_i = c_i/(1 + e^{m_i})
of the points, and any weights 0 ≤ α ≤ c give a bound: by Fenchel's inequality c log(1 + e^{-m}) ≥ c H(α/c) - α m, with the
entropy H(s) = -s log s - (1 - s) log(1 - s). So the objective is at least Σ c_i H(α_i/c_i) plus, for each coefficient by itself
(x_i0 = 1), the least of π_j(ρ_j) - ρ_j Σ α_i y_i x_ij over the integers of the box, at most k of them not 0, less a bound of the
rounding error. The log holds the α of each node, and `solvers.scoring.risk_check` computes the bounds again.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from ...errors import InputError
from ...models.arrays import FloatArray
from ...models.formulations.margin.problems import RiskProblem
from ...models.rounding import entropy, gamma, softplus
from ..exact.algorithm import ExactSearch, SearchState
from ..exact.log_file import DualPoint
from ..exact.search import BoundingRule, Branching, Incumbent, Node, NodeArrays
from ..interface.solver import Gives, Purpose, SolverInfo
from ..records import Options
from .risk_check import FORMAT, VERSION, RiskChecker

#: Largest integer up to which doubles hold all integers.
_LARGEST = 2.0**53
#: Distance of a coefficient from an integer, or of its relaxed price from its price, up to which a node is not split by it.
_WHOLE = 1e-6


class RiskRule(BoundingRule[RiskProblem]):
    """The bounding rule of `risk-bb`; a node is a box of the intercept and the coefficients (ρ_0, ρ).

    A node's arrays are the ends of its box, and ``relaxed``, the minimiser of its parent's relaxation.

    Parameters
    ----------
    problem : RiskProblem
        With equal rows merged (`RiskProblem.with_merged_points`).

    Attributes
    ----------
    A : ndarray (n, d + 1)
        Signed rows y_i (1, x_i).
    lower, upper : ndarray (d + 1,)
        Bounds of (ρ_0, ρ).
    """

    format, version = FORMAT, VERSION
    lower_bound = 0.0  # of the objective, no term of which is negative

    def __init__(self, problem: RiskProblem) -> None:
        super().__init__(problem)
        self.A = problem.y[:, None] * np.column_stack([np.ones(problem.y.size), problem.X])
        self.lower, self.upper = problem.coefficient_bounds

    def header(self) -> dict[str, Any]:
        """Return the problem for the header of a proof log."""
        p = self.problem
        vectors = {name: getattr(p, name).tolist() for name in ("X", "y", "weights", "lower", "upper")}
        return {**vectors, "intercept": p.intercept, "price": p.price, "size_price": p.size_price, "most": p.max_nonzeros}

    def first_point(self) -> FloatArray:
        """Return the point 0, each coefficient clipped to its range."""
        return np.clip(np.zeros(self.lower.size), self.lower, self.upper)

    def root(self) -> NodeArrays:
        """Return the box of all coefficients."""
        return {"lower": self.lower, "upper": self.upper, "relaxed": self.first_point()}

    def accepts(self, arrays: NodeArrays) -> bool:
        """Return whether a checkpoint's node is valid: integer ends within the bounds, and a finite point."""
        lower, upper, relaxed = arrays["lower"], arrays["upper"], arrays["relaxed"]
        all_integer = np.array_equal(lower, np.rint(lower)) and np.array_equal(upper, np.rint(upper))
        inside = (self.lower <= lower) & (lower <= upper) & (upper <= self.upper) & np.isfinite(relaxed)
        return bool(all_integer and inside.all())

    def price(self, rho: FloatArray) -> float:
        """Return the penalty of (ρ_0, ρ): that of the number of non-zero coefficients plus that of Σ|ρ_j|."""
        p = self.problem
        return p.price * int(np.count_nonzero(rho[1:])) + p.size_price * float(np.abs(rho[1:]).sum())

    def objective(self, w: FloatArray) -> float:
        """Return the objective at integer coefficients within the bounds and the limit; infinite at other points."""
        inside = bool((w >= self.lower).all() and (w <= self.upper).all() and (w == np.rint(w)).all())
        if not inside or np.count_nonzero(w[1:]) > self.problem.max_nonzeros:
            return np.inf
        return float(self.problem.weights @ softplus(-(self.A @ w))[0]) + self.price(w)

    def improve(self, w: FloatArray, incumbent: Incumbent) -> None:
        """Round w, improve one coefficient at a time by steps of 1 and to 0, and offer the result."""
        rho = np.clip(np.rint(w), self.lower, self.upper)
        rho[np.argsort(-np.abs(rho[1:]), kind="stable")[self.problem.max_nonzeros :] + 1] = 0.0
        margins, value = self.A @ rho, self.objective(rho)
        improved = True
        while improved:
            improved = False
            for j in range(rho.size):
                for step in (1.0, -1.0, -rho[j]):
                    trial = rho.copy()
                    trial[j] += step
                    full = np.count_nonzero(trial[1:]) > self.problem.max_nonzeros
                    if step == 0.0 or not self.lower[j] <= trial[j] <= self.upper[j] or full:
                        continue
                    trial_margins = margins + step * self.A[:, j]
                    other = float(self.problem.weights @ np.logaddexp(0.0, -trial_margins)) + self.price(trial)
                    if other < value - 1e-12 * abs(value):
                        rho, margins, value, improved = trial, trial_margins, other, True
        incumbent.offer(rho, self.objective(rho))

    def branch(self, node: Node, incumbent: Incumbent) -> Branching:
        """Bound a node by the weights α at its relaxation, and split it."""
        lower, upper = node.arrays["lower"], node.arrays["upper"]
        relaxed = self._relax(lower, upper, np.clip(node.arrays["relaxed"], lower, upper))
        nearest = np.clip(np.rint(relaxed), lower, upper)
        incumbent.offer(nearest, self.objective(nearest))
        point = DualPoint.nearest(self._weights(self.A @ relaxed), self.problem.weights)
        bound = self.bound_at(point.alpha, lower, upper)
        record: dict[str, Any] = {"exponent": point.exponent, "alpha": point.text, "split": -1, "cuts": []}
        if (lower == upper).all() or max(bound, node.bound) >= incumbent.cutoff:
            return Branching(bound, (), record)
        j, cuts = self._cuts(lower, upper, relaxed, incumbent.value)
        children: list[tuple[float, NodeArrays]] = []
        for low, high in cuts:
            part = {"lower": lower.copy(), "upper": upper.copy(), "relaxed": relaxed}
            part["lower"][j], part["upper"][j] = low, high
            children.append((self.bound_at(point.alpha, part["lower"], part["upper"]), part))
        return Branching(bound, children, {**record, "split": j, "cuts": cuts})

    def _weights(self, margins: FloatArray) -> FloatArray:
        """Return α = c/(1 + e^m)."""
        return np.asarray(self.problem.weights * np.exp(-np.logaddexp(0.0, margins)))

    def _slopes(self, lower: FloatArray, upper: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return the slopes of the convex envelope of π_j right and left of 0, of size_price |ρ_j| if the box excludes 0."""
        p, inside = self.problem, (lower <= 0.0) & (upper >= 0.0)
        inside[0] = False
        right, left = (
            p.size_price + np.where(inside & (end != 0.0), p.price / np.where(end != 0.0, np.abs(end), 1.0), 0.0)
            for end in (upper, lower)
        )
        right[0] = left[0] = 0.0
        return right, left

    def _relax(self, lower: FloatArray, upper: FloatArray, start: FloatArray) -> FloatArray:
        """Return the minimiser of the convex relaxation over the box, up to what L-BFGS-B leaves."""
        from scipy.optimize import minimize

        right, left = self._slopes(lower, upper)
        n = lower.size

        def value_and_slope(x: FloatArray) -> tuple[float, FloatArray]:
            plus, minus = x[:n], x[n:]
            margins = self.A @ (plus - minus)
            value = float(self.problem.weights @ np.logaddexp(0.0, -margins)) + float(right @ plus + left @ minus)
            slope = -(self.A.T @ self._weights(margins))
            return value, np.concatenate([slope + right, left - slope])

        parts = np.concatenate([np.maximum(start, 0.0), np.maximum(-start, 0.0)])
        ends = [
            *zip(np.maximum(lower, 0.0), np.maximum(upper, 0.0), strict=True),
            *zip(np.maximum(-upper, 0.0), np.maximum(-lower, 0.0), strict=True),
        ]
        options = {"maxiter": 200, "ftol": 1e-12, "gtol": 1e-9}
        minimum = minimize(value_and_slope, parts, jac=True, method="L-BFGS-B", bounds=ends, options=options)
        return np.clip(minimum.x[:n] - minimum.x[n:], lower, upper)

    def bound_at(self, alpha: FloatArray, lower: FloatArray, upper: FloatArray) -> float:
        """Return the lower bound of a box from any weights 0 ≤ α ≤ c; ∞ if the ranges of too many coefficients exclude 0.

        The reserve for rounding is twice the a-priori error, so that the checker accepts each bound.
        """
        p = self.problem
        values, errors = entropy(alpha, p.weights)
        g, sizes = alpha @ self.A, alpha @ np.abs(self.A)
        ends = np.array([lower, upper, np.clip(-1.0, lower, upper), np.clip(1.0, lower, upper), np.clip(0.0, lower, upper)])
        prices = p.price * (ends != 0.0) + p.size_price * np.abs(ends)
        prices[:, 0] = 0.0
        costs = prices - g * ends
        forced = ((lower > 0.0) | (upper < 0.0))[1:]
        free = p.max_nonzeros - int(forced.sum())
        if free < 0:
            return np.inf
        nonzero = np.where(ends != 0.0, costs, np.inf).min(axis=0)[1:]
        savings = np.where(forced, 0.0, np.maximum(-nonzero, 0.0))  # of a coefficient that may be 0
        saving = float(np.sort(savings)[::-1][:free].sum())
        total = float(values.sum()) + float((-g[0] * ends[:, 0]).min()) + float(nonzero[forced].sum()) - saving
        reach = np.maximum(np.abs(lower), np.abs(upper))
        size = float(values.sum()) + float(sizes @ reach) + float(prices.max(axis=0).sum())
        return total - 2.0 * (gamma(p.weights.size + lower.size + 16) * size + float(errors.sum()))

    def _cuts(self, lower: FloatArray, upper: FloatArray, rho: FloatArray, value: float) -> tuple[int, list[tuple[float, float]]]:
        """Return a coefficient and the ranges into which it is split.

        The coefficient whose price the envelope underestimates most is split into below 0, 0 and above 0. If no price is
        underestimated and at most k coefficients are used, the most fractional or the widest coefficient is split in two.
        """
        p, (right, left) = self.problem, self._slopes(lower, upper)
        paid = right * np.maximum(rho, 0.0) + left * np.maximum(-rho, 0.0)
        open_zero = (lower <= 0.0) & (upper >= 0.0) & (lower < upper)
        open_zero[0] = False
        unpaid = np.where(open_zero & (np.abs(rho) > _WHOLE), p.price + p.size_price * np.abs(rho) - paid, 0.0)
        j = int(np.argmax(unpaid))
        if unpaid[j] > _WHOLE * max(1.0, abs(value)) or (
            open_zero.any() and np.count_nonzero(np.abs(rho[1:]) > _WHOLE) > p.max_nonzeros
        ):
            j = j if unpaid[j] > 0.0 else int(np.argmax(np.where(open_zero, np.abs(rho), -1.0)))
            cuts = [(float(lower[j]), -1.0), (0.0, 0.0), (1.0, float(upper[j]))]
        else:
            fractions = np.where(lower < upper, np.abs(rho - np.rint(rho)), -1.0)
            j = int(np.argmax(fractions)) if fractions.max() > _WHOLE else int(np.argmax(upper - lower))
            middle = np.floor(rho[j]) if fractions.max() > _WHOLE else np.floor(0.5 * (lower[j] + upper[j]))
            middle = float(min(max(middle, lower[j]), upper[j] - 1.0))
            cuts = [(float(lower[j]), middle), (middle + 1.0, float(upper[j]))]
        return j, [(low, high) for low, high in cuts if low <= high]


@dataclass(frozen=True, eq=False)
class RiskBB(ExactSearch[RiskProblem]):
    """Exact branch and bound for risk scores (RiskSLIM of Ustun and Rudin): a logistic loss over few integer coefficients.

    Parameters: ``proof``, the path of a proof log for `check_proof`; ``checkpoint``, the path of a file that saves an unfinished
    search, which the next run continues; ``cluster``, a Dask client or address, or "ray", whose workers search subtrees.
    """

    checker: ClassVar[RiskChecker] = RiskChecker()
    info: ClassVar[SolverInfo] = SolverInfo(
        name="risk-bb",
        rank={Purpose.STRUCTURE: 16},
        summary="exact branch and bound for risk scores: whole coefficients under the logistic loss",
        views=(RiskProblem,),
        gives=frozenset({Gives.BOUND, Gives.TRACE, Gives.WARM_START, Gives.INTERRUPT}),
        tolerance=1e-6,
        reference="docs/explanation/open-instances.md",
    )

    def rule(self) -> type[BoundingRule[RiskProblem]]:
        """Return the class of the bounding rule."""
        return RiskRule

    def problem(self, view: RiskProblem) -> RiskProblem:
        """Return the problem with equal rows merged."""
        return view.with_merged_points

    def init(self, view: RiskProblem, options: Options, rng: np.random.Generator) -> SearchState:
        """Return the state of a new search, after checking the bounds of the coefficients.

        Raises
        ------
        InputError
            A bound is beyond the whole numbers that doubles hold.
        """
        if max(np.abs(end).max() for end in view.coefficient_bounds) > _LARGEST:
            raise InputError(
                "coefficients must be whole numbers up to 2^53: give features in smaller numbers, or intercept_range",
                name="intercept_range",
            )
        return super().init(view, options, rng)
