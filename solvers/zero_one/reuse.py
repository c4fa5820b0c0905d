r"""Lower bounds for a 0-1 problem from solved related ones: other λ, other class costs, points added or removed.

Let f_λ(w) = ||w||² + Σ λ_i 1{a_i'w < 1}, a_i = y_i x_i, where a point that a problem lacks has λ_i = 0. Let λ^k be the costs of
the k-th solved problem, and L_k a proved lower bound of min f_{λ^k}. For θ ≥ 0 with Σθ ≤ 1 and every w

    f_λ(w) ≥ Σ_k θ_k f_{λ^k}(w) - Σ_i (Σ_k θ_k λ^k_i - λ_i)₊ ≥ Σ_k θ_k L_k - Σ_i (Σ_k θ_k λ^k_i - λ_i)₊,

because the indicators are between 0 and 1 and ||w||² ≥ 0. A linear program yields the best θ. Special cases: the optimum is
concave and nondecreasing in λ; added points never lower it; a removed point lowers it by at most its λ_i. Every θ yields a valid
bound, so the bound does not depend on the accuracy of the linear program's solution.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from ...errors import InputError, count_text
from ...models.arrays import FloatArray
from ...models.model import Model
from ...models.views import ZeroOneProblem
from ..certification.result import Result
from ..exact.check.log_reader import stated_bound
from ..exact.options import earlier_bound
from .check.checker import ZeroOneChecker

_EPS = 2.0**-53


@dataclass(frozen=True, eq=False)
class SolvedProblem:
    """A related 0-1 problem with a classifier and a lower bound of its optimum."""

    problem: ZeroOneProblem  #: the problem
    bound: float  #: proved lower bound; 0 if none is known
    w: FloatArray | None  #: (p,) a classifier; None without one
    log: str | None = None  #: path of the proof log of the bound

    @classmethod
    def of(cls, model: Model, evidence: Result | str | Path) -> SolvedProblem:
        """Return a solved model with a λ, and its bound and classifier from a result, or its bound from the path of a log.

        A bound that is not proved is ignored (`solvers.exact.options`).
        """
        view = model.view(ZeroOneProblem)
        if view is None:
            raise InputError(
                f"an earlier result helps zero-one-bb if it is one of ZeroOneSVM(X, y, lam=...); got {model.name}", name="result"
            )
        bound = earlier_bound(ZeroOneChecker(), model, evidence)
        bound = max(bound, 0.0) if math.isfinite(bound) else 0.0
        if not isinstance(evidence, Result):
            return cls(view, bound, None, str(evidence))
        return cls(view, bound, evidence.values.get("w"), evidence.answer.proof or None)

    def with_logged_bound(self) -> SolvedProblem:
        """Return the same problem with the part of the bound that its log claims: 0 without a log."""
        return replace(self, bound=0.0 if self.log is None else min(self.bound, max(stated_bound(self.log), 0.0)))

    def __repr__(self) -> str:
        return f"SolvedProblem(n={len(self.problem.weights)}, bound={self.bound:.9g})"


@dataclass(frozen=True, eq=False)
class TransferredBound:
    """The lower bound that solved problems imply, with the shares θ_k > 0 of those on which it rests."""

    bound: float = 0.0  #: the lower bound; 0 if none is implied
    shares: tuple[tuple[SolvedProblem, float], ...] = ()  #: pairs (problem k, θ_k)


def transferred_bound(problem: ZeroOneProblem, earlier: Sequence[SolvedProblem]) -> TransferredBound:
    """Return the best lower bound of a problem's optimum that earlier problems imply by the module's inequality."""
    for item in earlier:
        if not np.array_equal(item.problem.penalised, problem.penalised):
            raise InputError(
                "earlier problems must have the same columns and intercept; "
                f"one has {count_text(item.problem.penalised.size, 'column')}, "
                f"{int((~item.problem.penalised).sum())} of them outside the norm, this one {problem.penalised.size} and "
                f"{int((~problem.penalised).sum())}",
                name="earlier",
            )
    bounded = [item for item in earlier if item.bound > 0.0]
    if not bounded:
        return TransferredBound()
    weights, counts = _weights(problem, bounded)
    bounds = np.array([item.bound for item in bounded])
    candidates = [np.eye(len(bounded))[k] for k in range(len(bounded))]
    candidates += [row * min(1.0, _least_ratio(weights, k)) for k, row in enumerate(np.eye(len(bounded)))]
    theta_lp = _best_theta(weights, counts, bounds)
    if theta_lp is not None:
        candidates += [theta_lp, theta_lp * (1.0 - 1e-8)]
    values = [_bound_at(theta, weights, counts, bounds) for theta in candidates]
    k = int(np.argmax(values))
    shares = [(item, share) for item, share in zip(bounded, _feasible(candidates[k]).tolist(), strict=True) if share > 0.0]
    return TransferredBound(values[k], tuple(shares)) if values[k] > 0.0 else TransferredBound()


def _weights(problem: ZeroOneProblem, solved_problems: Sequence[SolvedProblem]) -> tuple[FloatArray, FloatArray]:
    """Return the distinct rows (λ_i, λ¹_i, λ²_i, ...) of all points, equal points summed, and their multiplicities."""
    table: dict[bytes, FloatArray] = {}
    for column, source in enumerate([problem, *(item.problem for item in solved_problems)]):
        for row, weight in zip(source.A + 0.0, source.weights, strict=True):
            table.setdefault(row.tobytes(), np.zeros(len(solved_problems) + 1))[column] += weight
    distinct, counts = np.unique(np.array(list(table.values())), axis=0, return_counts=True)
    return distinct, counts.astype(np.float64)


def _least_ratio(weights: FloatArray, k: int) -> float:
    """Return min_i λ_i/λ^k_i."""
    positive = weights[:, k + 1] > 0
    return float((weights[positive, 0] / weights[positive, k + 1]).min())


def _best_theta(weights: FloatArray, counts: FloatArray, bounds: FloatArray) -> FloatArray | None:
    """Return the solution of the linear program; None if its solver fails."""
    from scipy.optimize import linprog

    rows, count = len(weights), len(bounds)
    scale = float(bounds.max())
    unit = max(float(weights.max()), 1e-300)
    # variables: θ, then the excess of every distinct row in units of the largest weight
    cost = np.concatenate([-bounds / scale, counts * (unit / scale)])
    A = np.zeros((rows + 1, count + rows))
    A[:rows, :count], A[:rows, count:], A[rows, :count] = weights[:, 1:] / unit, -np.eye(rows), 1.0
    solution = linprog(cost, A_ub=A, b_ub=np.append(weights[:, 0] / unit, 1.0), bounds=(0, None), method="highs")
    return np.asarray(solution.x[:count]) if solution.status == 0 else None


def _bound_at(theta: FloatArray, weights: FloatArray, counts: FloatArray, bounds: FloatArray) -> float:
    """Return Σ θL - Σ (Σ θλ^k - λ)₊, rounded down, at θ scaled to be feasible."""
    theta = _feasible(theta)
    mixed = weights[:, 1:] @ theta
    slack = 4.0 * _EPS * (len(bounds) + 2) * (mixed + weights[:, 0])
    excess = np.maximum(mixed - weights[:, 0] + slack, 0.0)
    excess[mixed + slack <= weights[:, 0]] = 0.0
    gain = math.fsum(theta * bounds)
    loss = math.fsum(counts * excess)
    return gain - loss - 8.0 * _EPS * (len(bounds) + 2) * (gain + loss)


def _feasible(theta: FloatArray) -> FloatArray:
    """Return θ ≥ 0 scaled to a sum of at most 1."""
    theta = np.maximum(theta, 0.0)
    total = math.fsum(theta)
    return theta / (total * (1.0 + 4.0 * _EPS)) if total > 1.0 else theta


def ends_first(ranked: list[int]) -> list[int]:
    """Return the elements of a list in the order first, last, then the middles of the gaps, breadth-first.

    A problem whose λ lies between two solved ones may need no search.
    """
    order = [ranked[0], ranked[-1]]
    spans = [(0, len(ranked) - 1)]
    while spans:
        low, high = spans.pop(0)
        if high - low > 1:
            middle = (low + high) // 2
            order.append(ranked[middle])
            spans += [(low, middle), (middle, high)]
    return order
