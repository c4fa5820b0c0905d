"""The dual value of the conic SVM with its rounding error: no inverse of S is trusted, only that S ⪰ ℓI.

D(γ, v) of `models.conic_dual.bound` is a minimum over w. At any w, with ρ the gradient there,

    D(γ, v) ≥ ||w||² + Σ [-γu² + (2γ - v)u - γ + v - ψ*(v)] - μκn - ||ρ||²/(4ℓ),     u_i = a_i'w,

and at w = -½S⁻¹g as computed ρ is a rounding error, whose square costs nothing.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from scipy.linalg.lapack import dpotrs as potrs

from ..arrays import FloatArray
from ..restricted_bound import Tilt
from ..rounding import UNIT, dot, gamma as gamma_n, total, transposed_product

__all__ = ["proved_sum", "proved_value"]

#: Share of the bound that rounding may take before the sums are taken with more care.
_ENOUGH = 1e-10


def proved_value(
    rows: FloatArray,
    factor: FloatArray | None,
    gamma: FloatArray,
    v: FloatArray,
    cost: float,
    constant: float,
    tilt: Tilt | None = None,
) -> tuple[float, float]:
    """A lower bound of D(γ, v, μ), and what rounding took of it; -inf where S is not positive definite or v_i ≠ 0 = γ_i.

    Parameters
    ----------
    rows : ndarray (n, p)
        a_i, in coordinates in which the metric is the identity.
    factor : ndarray (p, p) or None
        Lower Cholesky factor of S; None where there is none.
    gamma, v : ndarray (n,)
        γ ≥ 0.
    cost, constant : float
        λ and 0, or μ and μκn.
    tilt : Tilt, optional
        h'w is subtracted from the objective: a row h with γ = 0 and the loss r - 1, whose v is 1.
    """
    # v a few roundings below 2√(μγ) has ψ* = 0 exactly, where v²/(4γ) - μ would leave the rounding of μ
    edge = 2.0 * np.sqrt(max(cost, 0.0) * gamma) * (1.0 - 16.0 * UNIT)
    v = np.where((v > edge) & (v <= edge * (1.0 + 64.0 * UNIT)), edge, v)
    with np.errstate(divide="ignore", invalid="ignore"):
        square = np.where((v == 0.0) | ((v > 0.0) & (v <= edge)), 0.0, v * v / (4.0 * gamma))
    penalty = np.where(v < 0.0, square, np.maximum(square - cost, 0.0))
    if tilt is None:
        return proved_sum(rows, factor, gamma, v, penalty, square, constant)
    rows = np.vstack([rows, tilt.direction])
    gamma, v, penalty, square = (np.append(part, last) for part, last in ((gamma, 0.0), (v, 1.0), (penalty, 1.0), (square, 0.0)))
    return proved_sum(rows, factor, gamma, v, penalty, square, constant, tilt.error)


def proved_sum(
    rows: FloatArray, factor: FloatArray | None, gamma: FloatArray, v: FloatArray, penalty: FloatArray, size: FloatArray,
    constant: float, doubt: FloatArray | None = None,
) -> tuple[float, float]:  # fmt: skip
    """The same for conjugates of any losses: ``penalty`` is ψ*(v), each off by no more than eight roundings of ``size``.

    ``doubt`` bounds the error of each entry of Σ v_i a_i that the rows came with.
    """
    least = 0.0 if factor is None else _least(rows, gamma)
    if factor is None or not (least > 0.0 and np.isfinite(penalty).all() and np.isfinite(size).all()):
        return -np.inf, 0.0
    doubt = np.zeros(rows.shape[1]) if doubt is None else doubt
    terms = _Terms(rows, np.abs(rows), gamma, v, penalty, size, constant, doubt)
    w = -0.5 * potrs(factor, rows.T @ (2.0 * gamma - v), lower=1)[0]
    best = (-np.inf, 0.0)
    for careful in (False, True):
        best = max(best, terms.bound_at(w, least, careful))
        if best[1] <= _ENOUGH * abs(best[0]):
            break
    return best


@dataclass(frozen=True, eq=False)
class _Terms:
    """The terms of the bound; ``absolute`` = |rows|: features differ in scale, so errors go entry by entry, not by norms."""

    rows: FloatArray
    absolute: FloatArray
    gamma: FloatArray
    v: FloatArray
    penalty: FloatArray
    size: FloatArray
    constant: float
    doubt: FloatArray

    def bound_at(self, w: FloatArray, least: float, careful: bool) -> tuple[float, float]:
        """The bound at w; ``careful``: the sums in ρ, which cancel where λ is large, without losing digits."""
        rows, absolute, gamma, v = self.rows, self.absolute, self.gamma, self.v
        n, p = rows.shape
        u = rows @ w
        off = gamma_n(p) * (absolute @ np.abs(w))  # of u
        pull = -2.0 * gamma * u + 2.0 * gamma - v
        if careful:
            pieces = [transposed_product(rows, x) for x in (2.0 * gamma, -v, -2.0 * gamma * u)]
            rho = 2.0 * w + pieces[0][0] + pieces[1][0] + pieces[2][0]
            doubt = sum((error + 4.0 * UNIT * np.abs(value) for value, error in pieces), 8.0 * UNIT * np.abs(w))
            doubt = doubt + absolute.T @ (2.0 * gamma * off + 4.0 * UNIT * gamma * np.abs(u))
        else:
            rho = 2.0 * w + rows.T @ pull
            doubt = absolute.T @ (2.0 * gamma * off + gamma_n(n + 8) * np.abs(pull)) + 8.0 * UNIT * np.abs(w)
            doubt += 8.0 * UNIT * (absolute.T @ (2.0 * gamma * (np.abs(u) + 1.0) + np.abs(v)))
        most = np.abs(rho) + doubt + self.doubt
        residual = math.sqrt(float(most @ most)) * (1.0 + 1e-9)
        terms = u * (2.0 * gamma - v - gamma * u)
        value = dot(w, w) + total(np.concatenate([terms, v, -gamma, -self.penalty, [-self.constant]]))
        lost = float(np.abs(pull) @ off + gamma @ (off * off) + self.doubt @ np.abs(w))
        sizes = float(np.abs(u) @ (2.0 * gamma + np.abs(v) + gamma * np.abs(u)) + self.size.sum() + abs(self.constant))
        lost += 8.0 * UNIT * sizes
        lost = (lost + residual * residual / (4.0 * least)) * (1.0 + 1e-9)
        return value.lower - lost, value.error + lost


def _least(rows: FloatArray, gamma: FloatArray) -> float:
    """ℓ with I - Σγ_i a_i a_i' ⪰ ℓI, the rounding of the sum and of the eigenvalues subtracted."""
    moments = (rows * gamma[:, None]).T @ rows
    size = float(moments.trace())
    return 1.0 - float(np.linalg.eigvalsh(moments)[-1]) - (gamma_n(rows.shape[0] + 4) + gamma_n(16 * rows.shape[1])) * size
