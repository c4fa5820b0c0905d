"""The appraisal of a point of the Chebyshev problem: the classes' objectives, their gradients in P, residuals without the
form.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np

from ....appraisal import Appraisal, Bound
from ....arrays import FloatArray
from ....rounding import UNIT
from ..hinge_quadratic import HingeQuadratic
from .problem import ChebyshevProblem

__all__ = ["appraised", "class_objectives", "projection_gradients", "weighted_bound"]


def class_objectives(model: ChebyshevProblem, U: FloatArray, V: FloatArray, P: FloatArray) -> FloatArray:
    """J_l at U (K, features), V (K, d)."""
    F = model.features.rows @ U.T
    common = model.smoothness(P)
    J = np.empty(model.K)
    for k in range(model.K):
        near = model.near(k)
        rest = U[k] - P @ V[k]
        J[k] = 0.5 * float(F[near, k] @ F[near, k]) + model.c * float(np.maximum(1.0 - F[~near, k], 0.0).sum())
        J[k] += 0.5 * model.r1 * float(rest @ rest) + 0.5 * model.r2 * float(V[k] @ V[k]) + common
    return J


def projection_gradients(model: ChebyshevProblem, smoothed: FloatArray | None, U: FloatArray, V: FloatArray) -> FloatArray:
    """Euclidean gradients of ϖ_l J_l in P, ϖ_l (μSP - r1 u_l v_l'), given SP; ||Pv||² is constant as P'P = I."""
    weights = np.asarray(model.weights)
    shared = 0.0 if smoothed is None else model.mu * smoothed
    outer = U[:, :, None] * V[:, None, :]
    return np.asarray(weights[:, None, None] * (shared - model.r1 * outer))


def appraised(model: ChebyshevProblem, values: Mapping[str, FloatArray], objectives: FloatArray, bound: Bound) -> Appraisal:
    """Objective and residuals of a point for fixed P, given J_l and the bound."""
    F = model.features.rows @ values["U"].T
    short = np.concatenate([1.0 - F[~model.near(k), k] for k in range(model.K)]) - values["xi"]
    high = float(np.max(np.asarray(model.weights) * objectives)) - float(values["rho"])
    violations = {"margin": float(max(short.max(), 0.0)), "objective": max(high, 0.0)}
    return Appraisal(
        objective=float(values["rho"]),
        primal_residual=max(violations["margin"] / 2.0, violations["objective"] / (1.0 + abs(float(values["rho"])))),
        violations=violations,
        bound=bound.value,
        argument=bound.argument,
    )


def weighted_bound(
    model: ChebyshevProblem, program: Callable[[int], HingeQuadratic], multipliers: Mapping[str, FloatArray]
) -> Bound:
    """max_l ϖ_l D_l(λ_l) for fixed P, each class's own problem given by ``program``: any one class bounds the maximum."""
    best = -np.inf
    for k in range(model.K):
        cone, margin = multipliers.get(f"objective_{k}"), multipliers.get(f"margin_{k}")
        if cone is None or margin is None or not cone[0] > 0:
            continue
        lam = {"margin": np.asarray(margin) / float(cone[0])}
        value = float(np.asarray(model.weights)[k]) * program(k).bound(None, lam).value
        best = max(best, value - 2.0 * UNIT * abs(value))
    return Bound(best, "largest weighted dual value of the classes' own problems, multipliers clipped to their boxes")
