"""The programs of one class: convex pairs of losses as a `HingeQuadratic`, the concave ones by a majorant at a point."""

from __future__ import annotations

import numpy as np

from ....arrays import FloatArray
from ....rounding import gamma
from ..hinge_factor import HingeFactor, SignedFactor
from ..hinge_quadratic import HingeQuadratic
from ..points_factor import PointsFactor
from .problem import ClassProblem

__all__ = ["convex_program", "majorant_program", "rows_of_all", "stated_objective"]


def convex_program(model: ClassProblem) -> HingeQuadratic:
    """A convex pair of losses: a quadratic with piecewise-linear losses."""
    psi = model.features.rows
    if model.loss in ("twsvm", "pinball") and model.kernel_rows is not None:
        return _hinged(model, PointsFactor(model.kernel_rows, model.inside))
    A, B = psi[model.inside], psi[~model.inside]
    if model.loss == "npsvm":
        return _insensitive(model)
    if model.loss == "lstsvm":
        return _squares(model, A, B)
    return _hinged(model, HingeFactor(model.regulariser + A.T @ A, B, A, model.base))


def _hinged(model: ClassProblem, factor: HingeFactor | PointsFactor) -> HingeQuadratic:
    """Squares on the class, hinges (with a slope τ beyond the margin) on the others."""
    m, p = factor.shape
    tau = np.full(m, model.tau if model.loss == "pinball" else 0.0)
    return HingeQuadratic(factor, np.zeros(p), np.full(m, model.margin), np.full(m, model.c), tau)


def _squares(model: ClassProblem, A: FloatArray, B: FloatArray) -> HingeQuadratic:
    """Squares on both sides: no hinge is left, and one linear system solves it."""
    m, p = B.shape
    H = model.regulariser + A.T @ A + model.c * (B.T @ B)
    none, factor = np.zeros(0), HingeFactor(H, np.zeros((0, p)), np.vstack([A, np.sqrt(model.c) * B]), model.base)
    pull = model.c * model.margin
    lost = gamma(m + 4) * pull * float(np.linalg.norm(B, axis=1).sum())
    constant = 0.5 * model.c * m * model.margin**2
    return HingeQuadratic(factor, -pull * B.sum(axis=0), none, none, none, constant, b_error=lost)


def rows_of_all(model: ClassProblem) -> HingeFactor | SignedFactor:
    """rI + μΨ'LΨ with the rows of all points: the class in both signs for the insensitive loss, once for every majorant."""
    twice = model.convex
    if model.shared_rows is not None:
        return SignedFactor(model.shared_rows, model.inside, twice)
    psi = model.features.rows
    A, B = psi[model.inside], psi[~model.inside]
    rows = np.vstack([B, -A, A] if twice else [B, A])
    return HingeFactor(model.regulariser, rows, np.zeros((0, rows.shape[1])), model.base)


def _insensitive(model: ClassProblem) -> HingeQuadratic:
    """Similarity loss Σ (|a_i| - ε)_+: two hinges for each point, -a ≥ -ε and a ≥ -ε."""
    (rows, p), m = model.all_rows.shape, int((~model.inside).sum())
    h = np.where(np.arange(rows) < m, model.margin, -model.epsilon)
    w = np.where(np.arange(rows) < m, model.c, 1.0)
    return HingeQuadratic(model.all_rows, np.zeros(p), h, w, np.zeros(rows))


def majorant_program(model: ClassProblem, u: FloatArray) -> HingeQuadratic:
    """ℓ_s(a_i) ≤ ℓ_s(ā_i) + ω_i(|a_i| - |ā_i|), ω_i = ℓ_s'(|ā_i|), ā = f at u, for a similarity loss that is concave in |a|.

    ω|a| is the pinball loss of target 0 and τ = 1: one row for each point, and a dual matrix that is regular.
    """
    size = np.abs(model.features.rows[model.inside] @ np.asarray(u, dtype=np.float64))
    value, slope = _concave(model, size)
    (rows, p), m = model.all_rows.shape, int((~model.inside).sum())
    others = np.arange(rows) < m
    w = np.concatenate([np.full(m, model.c), slope])
    constant = float(np.sum(value - slope * size))
    return HingeQuadratic(
        model.all_rows, np.zeros(p), np.where(others, model.margin, 0.0), w, np.where(others, 0.0, 1.0), constant
    )


def _concave(model: ClassProblem, size: FloatArray) -> tuple[FloatArray, FloatArray]:
    """ℓ_s and its slope as functions of |a|; 0 of the flat side at the capped loss's kink."""
    if model.loss == "correntropy":
        decay = np.exp(-model.gamma * size)
        return 1.0 - decay, model.gamma * decay
    return np.minimum(size, model.epsilon), np.where(size < model.epsilon, 1.0, 0.0)


def stated_objective(model: ClassProblem, u: FloatArray) -> float:
    """The stated objective at u where the similarity loss is concave."""
    f = model.features.rows @ u
    similarity = _concave(model, np.abs(f[model.inside]))[0].sum()
    short = np.maximum(model.margin - f[~model.inside], 0.0).sum()
    return float(similarity + model.c * short + 0.5 * model.base.applied(u).quadratic.value)
