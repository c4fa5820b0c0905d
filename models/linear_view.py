"""The view of linear classifiers on any number of rows: min μ||w||² + Σ c_i ℓ(y_i x_i'w), read by blocks of rows."""

from __future__ import annotations

import enum
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from ..rows import Rows
from .appraisal import Appraisal
from .arrays import FloatArray, row_norms_squared
from .exponentials import entropy, exponential, softplus
from .rounding import UNIT, Rounded, dot, gamma, total_of_positive

__all__ = ["LinearLoss", "LinearProblem"]


#: Seconds of an interior point method for each pair of entries of a row, and for each unit of min(n, p)³.
_PAIR_SECONDS, _CUBE_SECONDS = 8e-8, 5e-10


class LinearLoss(enum.IntEnum):
    """A loss of the margin m; the numbers are those that compiled loops read."""

    HINGE = 1  #: (1 - m)_+
    SQUARED_HINGE = 2  #: (1 - m)_+²
    LOGISTIC = 3  #: log(1 + e^-m)

    @property
    def bounded(self) -> bool:
        """True if multipliers are at most c: the slope of the loss is."""
        return self is not LinearLoss.SQUARED_HINGE

    def values(self, margins: FloatArray) -> FloatArray:
        """The loss itself."""
        if self is LinearLoss.LOGISTIC:
            return softplus(-margins)[0]
        short = np.maximum(1.0 - margins, 0.0)
        return short if self is LinearLoss.HINGE else short * short

    def total(self, margins: FloatArray, costs: FloatArray, error: FloatArray) -> Rounded:
        """Σ c ℓ, each margin known to an error."""
        terms, errors = self._logistic_terms(margins, error) if self is LinearLoss.LOGISTIC else self._hinge_terms(margins, error)
        terms, errors = costs * terms, costs * errors
        total = total_of_positive(terms)
        lost = float((errors + 4.0 * UNIT * terms).sum()) * (1.0 + gamma(terms.size))
        return Rounded(total.value, (total.error + lost) * (1.0 + 4.0 * UNIT))

    @staticmethod
    def _logistic_terms(margins: FloatArray, error: FloatArray) -> tuple[FloatArray, FloatArray]:
        """log(1 + e^-m), whose slope is between -min{1, e^-m} and 0."""
        terms, rounding = softplus(-margins)
        steepest, more = exponential(error - margins)
        return terms, rounding + error * np.minimum(steepest + more, 1.0) * (1.0 + 8.0 * UNIT)

    def _hinge_terms(self, margins: FloatArray, error: FloatArray) -> tuple[FloatArray, FloatArray]:
        slack = np.maximum(1.0 - margins, 0.0)
        error = error + 2.0 * UNIT * (1.0 + np.abs(1.0 - margins))
        return (slack, error) if self is LinearLoss.HINGE else (slack * slack, error * (2.0 * slack + error))

    def dual_terms(self, alpha: FloatArray, costs: FloatArray) -> Rounded:
        """Σα; less Σ α²/(4c); or Σ c H(α/c), H(p) = -p log p - (1 - p) log(1 - p)."""
        if self is LinearLoss.HINGE:
            return total_of_positive(alpha)
        if self is LinearLoss.LOGISTIC:
            terms, errors = entropy(alpha, costs)
            rounded = total_of_positive(terms)
            return Rounded(rounded.value, (rounded.error + float(errors.sum()) * (1.0 + gamma(terms.size))) * (1.0 + 4.0 * UNIT))
        terms = alpha * (alpha / (4.0 * costs))
        rounded = total_of_positive(terms)
        lost = 4.0 * UNIT * float(terms.sum()) * (1.0 + gamma(terms.size))
        return total_of_positive(alpha) - Rounded(rounded.value, rounded.error + lost)


@dataclass(frozen=True, eq=False)
class LinearProblem:
    """min μ||w||² + Σ c_i ℓ(y_i x_i'w), ℓ the hinge, its square, or the logistic loss.

    Dual: max Σα - ||Σ α_i y_i x_i||²/(4μ) over 0 ≤ α ≤ c (hinge); less Σ α_i²/(4c_i) over α ≥ 0 (its square); or with the
    entropies Σ c_i H(α_i/c_i) in place of Σα over 0 ≤ α ≤ c (logistic). w = Σ α_i y_i x_i/(2μ).

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
    loss : LinearLoss
        ℓ.
    free : bool
        The first column is of ones, and its coefficient is no part of ||w||²: the dual has the condition Σ α_i y_i = 0. For the
        logistic loss.
    """

    rows: Rows
    y: FloatArray
    costs: FloatArray
    mu: float
    loss: LinearLoss
    free: bool = False

    @property
    def penalised(self) -> slice:
        """The coefficients in ||w||²."""
        return slice(int(self.free), None)

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
        """Multipliers of any quality, clipped; with a free intercept those of one class scaled until the sums agree."""
        alpha = np.clip(alpha, 0.0, self.least_costs if self.loss.bounded else np.inf)
        return self._balanced(alpha)[0] if self.free else alpha

    def _balanced(self, alpha: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return multipliers beside which others are that balance exactly, and how far these are at most.

        The sums of the two classes are known to a relative error ε, and so is the factor of the larger one that makes them equal.
        """
        positive = self.y > 0.0
        sums = [total_of_positive(alpha[positive == side]) for side in (True, False)]
        if min(total.lower for total in sums) <= 0.0:
            return np.zeros_like(alpha), np.zeros_like(alpha)
        larger = sums[0].value >= sums[1].value
        factor = min(total.value for total in sums) / max(total.value for total in sums)
        relative = (sum(total.error / total.lower for total in sums) + 4.0 * UNIT) * (1.0 + 1e-9)
        scaled = np.where(positive == larger, factor * alpha, alpha)
        return scaled, np.where(positive == larger, 2.0 * relative * scaled, 0.0)

    def _repaired(self, alpha: FloatArray) -> tuple[FloatArray, FloatArray | None]:
        """Return multipliers that are feasible for the dual, or beside ones that are, and the distance of those."""
        clipped = np.clip(alpha, 0.0, self.costs if self.loss.bounded else np.inf)
        return self._balanced(clipped) if self.free else (clipped, None)

    def appraise(self, values: Mapping[str, FloatArray], multipliers: Mapping[str, FloatArray] | None) -> Appraisal:
        """Objective at w and the dual value at the multipliers of ``margin``, with their errors; one pass over the rows.

        The slacks are those that w needs, so nothing is violated.
        """
        w = np.asarray(values["w"], dtype=np.float64)
        known = multipliers is not None and "margin" in multipliers
        alpha, distance = self._repaired(np.asarray(multipliers["margin"])) if multipliers is not None and known else (None, None)
        length, height, blocks = float(np.sqrt(dot(w, w).upper)) * (1.0 + 4.0 * UNIT), 0, 0
        primal, dual, weighed, moved = dot(w[self.penalised], w[self.penalised]).times(self.mu), Rounded(0.0), 0.0, 0.0
        pulled = np.zeros(w.size)
        for start, stop, block in self.rows.blocks():
            y, part = self.y[start:stop], slice(start, stop)
            squares = row_norms_squared(block) if isinstance(block, np.ndarray) else block.row_squares()
            norms = np.sqrt(squares) * (1.0 + 1e-12)
            costs = self.costs[part]
            primal += self.loss.total(y * (block @ w), costs, gamma(w.size + 2) * norms * length)
            height, blocks = max(height, stop - start), blocks + 1
            if alpha is not None:
                dual += self.loss.dual_terms(alpha[part], costs)
                pulled += block.T @ (alpha[part] * y)
                weighed += float(norms @ alpha[part])
                if distance is not None:  # an entropy, which is concave and 0 at both ends, moves by no more than that of the way
                    way, error = entropy(np.minimum(distance[part], 0.5 * costs), costs)
                    dual += Rounded(0.0, float((way + error).sum()) * (1.0 + gamma(stop - start)))
                    moved += float(norms @ distance[part])
        worst = max(primal.error, 0.0)
        if alpha is None:
            return Appraisal(primal.value, 0.0, {"margin": 0.0}, argument="no multipliers", error=worst)
        # a sum within a block is off by γ of its rows, the sum of the blocks by γ of their number
        off = (gamma(height + blocks + 8) * weighed + moved) * (1.0 + gamma(self.n) + 1e-9)
        norm = dot(pulled[self.penalised], pulled[self.penalised])
        size = float(np.sqrt(norm.upper)) * (1.0 + 4.0 * UNIT)
        value = dual - norm.times(0.25 / self.mu).times(1.0 + 4.0 * UNIT)
        lost = (2.0 * size * off + off * off) * (0.25 / self.mu) * (1.0 + 1e-12)
        residual = np.where(np.arange(w.size) < int(self.free), 0.0, 2.0 * self.mu * w) - pulled
        stationarity = float(np.linalg.norm(residual) / (1.0 + 2.0 * self.mu * length))
        return Appraisal(
            objective=primal.value,
            primal_residual=0.0,
            violations={"margin": 0.0},
            stationarity=stationarity,
            bound=value.lower - lost,
            argument=f"dual value at the multipliers, clipped to where it is finite{', balanced' if self.free else ''}; sums by "
            "blocks of rows",
            error=worst,
            bound_error=value.error + lost,
        )
