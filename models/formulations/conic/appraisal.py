"""The appraisal of a point of the conic SDP from its structure: the form's numbers without its n × p(p + 1)/2 hull rows."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from ...appraisal import Appraisal, Bound
from ...arrays import FloatArray
from ...program.cones import RotatedSecondOrder
from ...views import ConicProblem

__all__ = ["appraise_point"]

_BLOCK = 8192  # rows at once


def appraise_point(problem: ConicProblem, values: Mapping[str, FloatArray], bound: Bound) -> Appraisal:
    """Objective and residuals of the values of `ConicSVM`'s blocks, with this bound beside them."""
    w, W, z = values["w"], values["W"], values["z"]
    plus, minus, s, t = (values[label] for label in ("r_plus", "r_minus", "s", "t"))
    u, quadratic = problem.A @ w, _quadratic_forms(problem.A, W)
    hull = quadratic - 2.0 * u + 1.0 - s - t
    split = plus - minus + u - 1.0
    cone = RotatedSecondOrder(3, u.size)
    violated = np.column_stack([0.5 * s, z, plus]).ravel()
    epigraph_rows = np.column_stack([0.5 * t, 1.0 - z, minus]).ravel()
    lowest = float(np.linalg.eigvalsh(np.block([[np.ones((1, 1)), w[None, :]], [w[:, None], W]]))[0])
    outside = np.concatenate([-z, z - 1.0, -plus, -minus])
    pairs = {
        "lifted": (max(-lowest, 0.0), max(-lowest, 0.0) / (1.0 + float(np.abs(W).max()))),
        "hull": _worst(np.maximum(-hull, 0.0), np.maximum(np.abs(quadratic - 2.0 * u - s - t), 1.0)),
        "split": _worst(np.abs(split), np.abs(plus - minus + u)),
        "violated": (cone.violation(violated), cone.relative_violation(violated, np.abs(violated))),
        "kept": (cone.violation(epigraph_rows), cone.relative_violation(epigraph_rows, np.abs(epigraph_rows))),
        "bounds": _worst(np.maximum(outside, 0.0), np.abs(outside)),
    }
    objective = float(np.sum(W * problem.metric)) if problem.metric is not None else float(np.trace(W))
    if problem.lam is not None:
        objective += problem.lam * float(z.sum())
    if problem.kappa is not None:
        excess = max(float(z.sum()) - problem.kappa * z.size, 0.0)
        pairs["budget"] = (excess, excess / (1.0 + problem.kappa * z.size))
    return Appraisal(
        objective=objective,
        primal_residual=max(relative for _, relative in pairs.values()),
        violations={label: absolute for label, (absolute, _) in pairs.items()},
        bound=bound.value,
        argument=bound.argument,
    )


def _quadratic_forms(A: FloatArray, W: FloatArray) -> FloatArray:
    """a_i'W a_i, a block of rows at a time."""
    pieces = [np.einsum("ij,ij->i", rows @ W, rows) for rows in (A[k : k + _BLOCK] for k in range(0, A.shape[0], _BLOCK))]
    return np.concatenate(pieces)


def _worst(absolute: FloatArray, size: FloatArray) -> tuple[float, float]:
    """Largest violation, and largest one relative to 1 + the size of its row."""
    return float(absolute.max()), float((absolute / (1.0 + size)).max())
