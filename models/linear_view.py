"""The view of linear classifiers on any number of rows: min μ||w||² + Σ c_i (1 - y_i x_i'w)_+^q, read by blocks of rows."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from ..rows import Rows
from .appraisal import Appraisal
from .arrays import FloatArray, row_norms_squared
from .rounding import UNIT, Rounded, dot, gamma, total_of_positive

__all__ = ["LinearProblem"]


#: Seconds of an interior point method for each pair of entries of a row, and for each unit of min(n, p)³.
_PAIR_SECONDS, _CUBE_SECONDS = 8e-8, 5e-10


@dataclass(frozen=True, eq=False)
class LinearProblem:
    """min μ||w||² + Σ c_i (1 - y_i x_i'w)_+^q, q = 1 or 2.

    Dual: max Σα - ||Σ α_i y_i x_i||²/(4μ) over 0 ≤ α ≤ c (q = 1), or less Σ α_i²/(4c_i) over α ≥ 0 (q = 2);
    w = Σ α_i y_i x_i/(2μ).

    Parameters
    ----------
    rows : Rows
        X, n × p.
    y : ndarray (n,)
        -1, +1.
    costs : ndarray (n,)
        c > 0; may be one number broadcast.
    mu : float
        > 0.
    power : int
        q.
    """

    rows: Rows
    y: FloatArray
    costs: FloatArray
    mu: float
    power: int

    @property
    def n(self) -> int:
        """Number of points."""
        return int(self.y.size)

    @property
    def interior_point_seconds(self) -> float:
        """About how many seconds an interior point method takes: normal equations of the rows, and p coefficients to eliminate.

        From runs on dense and sparse data of 200 to 20,000 points (docs/measured/crossings.md): good to a factor of four.
        """
        n, p = self.rows.shape
        return _PAIR_SECONDS * self.rows.entries**2 / max(n, 1) + _CUBE_SECONDS * float(min(n, p)) ** 3

    @cached_property
    def least_costs(self) -> FloatArray:
        """c, as one number where all are the same."""
        equal = self.costs.strides == (0,) or bool((self.costs == self.costs[0]).all())
        return np.array(self.costs[:1] if equal else self.costs)

    def feasible(self, alpha: FloatArray) -> FloatArray:
        """Multipliers of any quality, clipped."""
        return np.clip(alpha, 0.0, self.least_costs if self.power == 1 else np.inf)

    def appraise(self, values: Mapping[str, FloatArray], multipliers: Mapping[str, FloatArray] | None) -> Appraisal:
        """Objective at w and the dual value at the multipliers of ``margin``, with their errors; one pass over the rows.

        The slacks are those that w needs, so nothing is violated.
        """
        w = np.asarray(values["w"], dtype=np.float64)
        known = multipliers is not None and "margin" in multipliers
        alpha = np.asarray(multipliers["margin"]) if multipliers is not None and known else None
        square = dot(w, w)
        length, height, blocks = float(np.sqrt(square.upper)) * (1.0 + 4.0 * UNIT), 0, 0
        primal, dual, weighed = square.times(self.mu), Rounded(0.0), 0.0
        pulled = np.zeros(w.size)
        for start, stop, block in self.rows.blocks():
            y, part = self.y[start:stop], slice(start, stop)
            squares = row_norms_squared(block) if isinstance(block, np.ndarray) else block.row_squares()
            norms = np.sqrt(squares) * (1.0 + 1e-12)
            costs = self.costs[part]
            primal += self._loss(1.0 - y * (block @ w), costs, gamma(w.size + 2) * norms * length)
            height, blocks = max(height, stop - start), blocks + 1
            if alpha is not None:
                clipped = np.clip(alpha[part], 0.0, costs if self.power == 1 else np.inf)
                dual += self._conjugate(clipped, costs)
                pulled += block.T @ (clipped * y)
                weighed += float(norms @ clipped)
        worst = max(primal.error, 0.0)
        if alpha is None:
            return Appraisal(primal.value, 0.0, {"margin": 0.0}, argument="no multipliers", error=worst)
        # a sum within a block is off by γ of its rows, the sum of the blocks by γ of their number
        off = gamma(height + blocks + 8) * weighed * (1.0 + gamma(self.n))
        norm = dot(pulled, pulled)
        size = float(np.sqrt(norm.upper)) * (1.0 + 4.0 * UNIT)
        value = dual - norm.times(0.25 / self.mu).times(1.0 + 4.0 * UNIT)
        lost = (2.0 * size * off + off * off) * (0.25 / self.mu) * (1.0 + 1e-12)
        stationarity = float(np.linalg.norm(2.0 * self.mu * w - pulled) / (1.0 + 2.0 * self.mu * length))
        return Appraisal(
            objective=primal.value,
            primal_residual=0.0,
            violations={"margin": 0.0},
            stationarity=stationarity,
            bound=value.lower - lost,
            argument="dual value at the multipliers, clipped to where it is finite; sums by blocks of rows",
            error=worst,
            bound_error=value.error + lost,
        )

    def _loss(self, shortfall: FloatArray, costs: FloatArray, error: FloatArray) -> Rounded:
        """Σ c (shortfall)_+^q, each shortfall known to an error."""
        slack = np.maximum(shortfall, 0.0)
        error = error + 2.0 * UNIT * (1.0 + np.abs(shortfall))
        if self.power == 1:
            terms, errors = costs * slack, costs * error
        else:
            terms, errors = costs * slack * slack, costs * error * (2.0 * slack + error)
        total = total_of_positive(terms)
        lost = float((errors + 4.0 * UNIT * terms).sum()) * (1.0 + gamma(terms.size))
        return Rounded(total.value, (total.error + lost) * (1.0 + 4.0 * UNIT))

    def _conjugate(self, alpha: FloatArray, costs: FloatArray) -> Rounded:
        """Σα, less Σ α²/(4c) where q = 2."""
        if self.power == 1:
            return total_of_positive(alpha)
        terms = alpha * (alpha / (4.0 * costs))
        rounded = total_of_positive(terms)
        lost = 4.0 * UNIT * float(terms.sum()) * (1.0 + gamma(terms.size))
        return total_of_positive(alpha) - Rounded(rounded.value, rounded.error + lost)
