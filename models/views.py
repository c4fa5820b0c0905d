"""Structural views: the data of problems that hand-written algorithms read in place of the standard form.

A model exposes the views that it has through ``model.view(kind)``; a solver declares the kinds that it reads.
"""

from __future__ import annotations

import enum
import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np

from ..rows import Rows
from .appraisal import Appraisal
from .arrays import BoolArray, FloatArray, IntArray, Points, SingleArray, entry_count, row_norms_squared
from .kernels.gram import GramOperator
from .rounding import UNIT, Rounded, dot, entropy, exponential, gamma, softplus, total_of_positive

#: Seconds of an interior point method for each pair of entries of a row, and for each unit of min(n, p)³.
_PAIR_SECONDS, _CUBE_SECONDS = 8e-8, 5e-10
#: Entries of a work array, points × classes, that are held at once: 16 MB.
_PART = 2**21


class LinearLoss(enum.IntEnum):
    """A loss of the margin m; the numbers are those that compiled loops read."""

    HINGE = 1  #: (1 - m)_+
    SQUARED_HINGE = 2  #: (1 - m)_+²
    LOGISTIC = 3  #: log(1 + e^-m)

    @property
    def bounded(self) -> bool:
        """Return whether the slope of the loss is at most 1 in size, so that the multipliers are at most c."""
        return self is not LinearLoss.SQUARED_HINGE

    def values(self, margins: FloatArray) -> FloatArray:
        """Return the losses of the margins."""
        if self is LinearLoss.LOGISTIC:
            return softplus(-margins)[0]
        short = np.maximum(1.0 - margins, 0.0)
        return short if self is LinearLoss.HINGE else short * short

    def total(self, margins: FloatArray, costs: FloatArray, error: FloatArray) -> Rounded:
        """Return Σ c ℓ(m) with a bound of its error; ``error`` bounds the error of each margin."""
        terms, errors = self._logistic_terms(margins, error) if self is LinearLoss.LOGISTIC else self._hinge_terms(margins, error)
        terms, errors = costs * terms, costs * errors
        total = total_of_positive(terms)
        rounding = float((errors + 4.0 * UNIT * terms).sum()) * (1.0 + gamma(terms.size))
        return Rounded(total.value, (total.error + rounding) * (1.0 + 4.0 * UNIT))

    @staticmethod
    def _logistic_terms(margins: FloatArray, error: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return log(1 + e^-m) and its error bounds; the slope is between -min{1, e^-m} and 0."""
        terms, rounding = softplus(-margins)
        steepest, steepest_error = exponential(error - margins)
        return terms, rounding + error * np.minimum(steepest + steepest_error, 1.0) * (1.0 + 8.0 * UNIT)

    def _hinge_terms(self, margins: FloatArray, error: FloatArray) -> tuple[FloatArray, FloatArray]:
        slack = np.maximum(1.0 - margins, 0.0)
        error = error + 2.0 * UNIT * (1.0 + np.abs(1.0 - margins))
        return (slack, error) if self is LinearLoss.HINGE else (slack * slack, error * (2.0 * slack + error))

    def dual_terms(self, alpha: FloatArray, costs: FloatArray) -> Rounded:
        """Return the part of the dual without ||w||²: Σα (hinge), Σα - Σα²/(4c) (squared hinge) or Σ c H(α/c) (logistic).

        H(p) = -p log p - (1 - p) log(1 - p).
        """
        if self is LinearLoss.HINGE:
            return total_of_positive(alpha)
        if self is LinearLoss.LOGISTIC:
            terms, errors = entropy(alpha, costs)
            rounded = total_of_positive(terms)
            return Rounded(rounded.value, (rounded.error + float(errors.sum()) * (1.0 + gamma(terms.size))) * (1.0 + 4.0 * UNIT))
        terms = alpha * (alpha / (4.0 * costs))
        rounded = total_of_positive(terms)
        rounding = 4.0 * UNIT * float(terms.sum()) * (1.0 + gamma(terms.size))
        return total_of_positive(alpha) - Rounded(rounded.value, rounded.error + rounding)


@dataclass(frozen=True, eq=False)
class LinearProblem:
    """The problem min μ||w||² + Σ c_i ℓ(y_i x_i'w), ℓ the hinge, its square, or the logistic loss, for large linear data.

    Dual: max Σα - ||Σ α_i y_i x_i||²/(4μ) over 0 ≤ α ≤ c (hinge); less Σ α_i²/(4c_i) over α ≥ 0 (squared hinge); or with the
    entropies Σ c_i H(α_i/c_i), H of `LinearLoss.dual_terms`, in place of Σα over 0 ≤ α ≤ c (logistic). w = Σ α_i y_i x_i/(2μ).

    Parameters
    ----------
    rows : Rows
        X, n × p.
    y : ndarray (n,)
        -1, +1.
    costs : ndarray (n,)
        c > 0; may be one number broadcast.
    mu : float
        μ > 0.
    loss : LinearLoss
        ℓ.
    free : bool
        The first column is of ones, and its coefficient is no part of ||w||²: the dual has the condition Σ α_i y_i = 0. For the
        logistic loss alone.
    """

    rows: Rows
    y: FloatArray
    costs: FloatArray
    mu: float
    loss: LinearLoss
    free: bool = False

    @property
    def penalised(self) -> slice:
        """Return the slice of w that ||w||² contains: without the first entry where it is free."""
        return slice(int(self.free), None)

    @property
    def n(self) -> int:
        """Return the number of points."""
        return int(self.y.size)

    @property
    def interior_point_seconds(self) -> float:
        """Return estimated seconds of an interior point method: normal equations of the rows, and p coefficients to eliminate.

        Fitted to runs on dense and sparse data of 200 to 20,000 points (benchmarks/results/crossings.md), within a factor of
        four.
        """
        n, p = self.rows.shape
        return _PAIR_SECONDS * self.rows.entries**2 / max(n, 1) + _CUBE_SECONDS * float(min(n, p)) ** 3

    def outgrows_interior_point(self) -> bool:
        """Return whether a method that reads the rows in blocks is estimated to be faster than an interior point method; True for
        the logistic loss.
        """
        n, p = self.rows.shape
        longest = 0.01 if self.rows.entries < 0.1 * n * p else 0.1  # seconds, of sparse and of dense rows
        return self.loss is LinearLoss.LOGISTIC or self.interior_point_seconds > longest

    @cached_property
    def compact_costs(self) -> FloatArray:
        """Return c, as an array of one number if all costs are equal."""
        equal = self.costs.strides == (0,) or bool((self.costs == self.costs[0]).all())
        return np.array(self.costs[:1] if equal else self.costs)

    def feasible(self, alpha: FloatArray) -> FloatArray:
        """Return feasible multipliers near the given ones: clipped, and balanced between the classes if the intercept is free."""
        alpha = np.clip(alpha, 0.0, self.compact_costs if self.loss.bounded else np.inf)
        return self._balanced(alpha)[0] if self.free else alpha

    def _balanced(self, alpha: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return multipliers near exactly balanced ones, and bounds of their distance from these.

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
        """Return multipliers that are feasible for the dual, or near feasible ones, and their distance (None: feasible)."""
        clipped = np.clip(alpha, 0.0, self.costs if self.loss.bounded else np.inf)
        return self._balanced(clipped) if self.free else (clipped, None)

    def appraise(self, values: Mapping[str, FloatArray], multipliers: Mapping[str, FloatArray] | None) -> Appraisal:
        """Return the objective at w and the dual value at the multipliers ``margin``, with error bounds, in one pass of the rows.

        The slacks are computed from w, so no constraint is violated.
        """
        w = np.asarray(values["w"], dtype=np.float64)
        has_multipliers = multipliers is not None and "margin" in multipliers
        alpha, distance = (
            self._repaired(np.asarray(multipliers["margin"])) if multipliers is not None and has_multipliers else (None, None)
        )
        length, height, blocks = float(np.sqrt(dot(w, w).upper)) * (1.0 + 4.0 * UNIT), 0, 0
        primal, dual, weighed, shift_error = dot(w[self.penalised], w[self.penalised]).times(self.mu), Rounded(0.0), 0.0, 0.0
        gradient = np.zeros(w.size)
        for start, stop, block in self.rows.blocks():
            y, part = self.y[start:stop], slice(start, stop)
            squares = row_norms_squared(block) if isinstance(block, np.ndarray) else block.row_squares()
            norms = np.sqrt(squares) * (1.0 + 1e-12)
            costs = self.costs[part]
            primal += self.loss.total(y * (block @ w), costs, gamma(w.size + 2) * norms * length)
            height, blocks = max(height, stop - start), blocks + 1
            if alpha is not None:
                dual += self.loss.dual_terms(alpha[part], costs)
                gradient += block.T @ (alpha[part] * y)
                weighed += float(norms @ alpha[part])
                # an entropy is concave and 0 at both ends: over a distance it changes by at most the entropy of the distance
                if distance is not None:
                    entropy_values, error = entropy(np.minimum(distance[part], 0.5 * costs), costs)
                    dual += Rounded(0.0, float((entropy_values + error).sum()) * (1.0 + gamma(stop - start)))
                    shift_error += float(norms @ distance[part])
        worst = max(primal.error, 0.0)
        if alpha is None:
            return Appraisal(primal.value, 0.0, {"margin": 0.0}, argument="no multipliers", error=worst)
        # a sum within a block is off by γ of its rows, the sum of the blocks by γ of their number
        sum_rounding = (gamma(height + blocks + 8) * weighed + shift_error) * (1.0 + gamma(self.n) + 1e-9)
        norm = dot(gradient[self.penalised], gradient[self.penalised])
        size = float(np.sqrt(norm.upper)) * (1.0 + 4.0 * UNIT)
        value = dual - norm.times(0.25 / self.mu).times(1.0 + 4.0 * UNIT)
        rounding = (2.0 * size * sum_rounding + sum_rounding * sum_rounding) * (0.25 / self.mu) * (1.0 + 1e-12)
        residual = np.where(np.arange(w.size) < int(self.free), 0.0, 2.0 * self.mu * w) - gradient
        stationarity = float(np.linalg.norm(residual) / (1.0 + 2.0 * self.mu * length))
        return Appraisal(
            objective=primal.value,
            primal_residual=0.0,
            violations={"margin": 0.0},
            stationarity=stationarity,
            bound=value.lower - rounding,
            argument=f"dual value at the multipliers, clipped to where it is finite{', balanced' if self.free else ''}; sums by "
            "blocks of rows",
            error=worst,
            bound_error=value.error + rounding,
        )


@dataclass(frozen=True, eq=False)
class MulticlassProblem:
    """The problem min ½||W||² + Σ c_i ℓ(m_i), m_ik = (w_{y_i} - w_k)'x_i, ℓ = max_k (1 - m_k)_+ (``shared``) or Σ_k (1 - m_k)_+.

    The maxima and sums are over k ≠ y_i. Dual: max Σα - ½||W(α)||² over α_ik ≥ 0, k ≠ y_i, with Σ_k α_ik ≤ c_i (``shared``) or
    α_ik ≤ c_i. Row k of W(α) is Σ_i β_ik x_i, β_ik = -α_ik for k ≠ y_i and Σ_l α_il for k = y_i. Arrays α of n × K have zeros
    at k = y_i, the own class of point i.

    Parameters
    ----------
    rows : ndarray or csr_array (n, p)
        The points x_i; dense in C order, or canonical CSR.
    codes : ndarray of int (n,)
        y, 0 to K - 1.
    classes : int
        K.
    costs : ndarray (n,)
        c > 0.
    shared : bool
        Whether one slack serves all classes of a point (Crammer and Singer), or each has its own (Weston and Watkins).
    """

    rows: Points
    codes: IntArray
    classes: int
    costs: FloatArray
    shared: bool

    @property
    def n(self) -> int:
        """Return the number of points."""
        return int(self.codes.size)

    @cached_property
    def squares(self) -> FloatArray:
        """Return ||x_i||² of every point."""
        return row_norms_squared(self.rows)

    @property
    def interior_point_seconds(self) -> float:
        """Return estimated seconds of an interior point method, as for `LinearProblem`: n(K - 1) rows, Kp coefficients."""
        pairs, width = self.n * (self.classes - 1), self.classes * self.rows.shape[1]
        per_row = 2.0 * entry_count(self.rows) / max(self.n, 1)
        return _PAIR_SECONDS * pairs * per_row**2 + _CUBE_SECONDS * float(min(pairs, width)) ** 3

    def outgrows_interior_point(self) -> bool:
        """Return whether block steps are faster than an interior point method, their loading included."""
        return self.interior_point_seconds > 0.05

    def parts(self) -> Iterator[slice]:
        """Yield ranges of points so small that an array of their points × K numbers takes 16 MB."""
        step = max(_PART // self.classes, 1)
        for start in range(0, self.n, step):
            yield slice(start, min(start + step, self.n))

    def own_class(self, part: slice) -> BoolArray:
        """Return the mask of each point's own class, for a range of points."""
        return np.asarray(np.arange(self.classes) == self.codes[part, None])

    def without_own_class(self, alpha: FloatArray) -> FloatArray:
        """Return α without the entries of the own classes, n × (K - 1)."""
        return np.asarray(alpha[~self.own_class(slice(None))]).reshape(self.n, self.classes - 1)

    def with_own_class(self, alpha: FloatArray) -> FloatArray:
        """Return α of shape n × (K - 1) with zeros inserted at the own classes, n × K."""
        full = np.zeros((self.n, self.classes))
        full[~self.own_class(slice(None))] = alpha.ravel()
        return full

    def coefficients(self, alpha: FloatArray) -> FloatArray:
        """Return W(α), K × p."""
        W = np.zeros((self.classes, self.rows.shape[1]))
        for part in self.parts():
            beta = np.where(self.own_class(part), alpha[part].sum(axis=1)[:, None], -alpha[part])
            W += (self.rows[part].T @ beta).T
        return W

    def shortfalls(self, W: FloatArray, part: slice) -> FloatArray:
        """Return 1 - m_ik for a range of points; 0 at the own classes."""
        scores = np.asarray(self.rows[part] @ W.T)
        base = np.take_along_axis(scores, self.codes[part, None], axis=1)
        return np.where(self.own_class(part), 0.0, 1.0 - base + scores)

    def losses_and_gaps(self, W: FloatArray, alpha: FloatArray, part: slice) -> tuple[FloatArray, FloatArray]:
        """Return c_i ℓ_i of a range of points, and their shares c_i ℓ_i - Σ_k α_ik (1 - m_ik) of the duality gap.

        ``alpha`` are the multipliers of these points alone, with zeros at their own classes.
        """
        short = self.shortfalls(W, part)
        worst = np.maximum(short, 0.0)
        terms = self.costs[part] * (worst.max(axis=1) if self.shared else worst.sum(axis=1))
        return terms, terms - np.einsum("ik,ik->i", alpha, short)

    def free_multipliers(self, alpha: FloatArray, part: slice | IntArray) -> tuple[BoolArray, BoolArray]:
        """Return the mask of the multipliers that are at none of their bounds, and of the points with Σ_k α_ik = c_i
        (``shared``).

        The second mask is of no points where each class has its own slack.
        """
        costs = self.costs[part]
        if self.shared:
            return alpha > 0.0, alpha.sum(axis=1) >= costs * (1.0 - 1e-12)
        return (alpha > 0.0) & (alpha < costs[:, None]), np.zeros(costs.size, dtype=np.bool_)

    def objective(self, W: FloatArray) -> Rounded:
        """Return ½||W||² + Σ c_i ℓ_i from the data, with an error bound."""
        square = dot(W.ravel(), W.ravel()).times(0.5)
        length, rows_per_point = float(np.sqrt(2.0 * square.upper)) * (1.0 + 8.0 * UNIT), 1 if self.shared else self.classes - 1
        value = square
        for part in self.parts():
            short = np.maximum(self.shortfalls(W, part), 0.0)
            terms = self.costs[part] * (short.max(axis=1) if self.shared else short.sum(axis=1))
            # two products with the rows, and two sums of numbers of that size and 1
            error = gamma(W.shape[1] + 4 + rows_per_point) * (1.0 + 2.0 * np.sqrt(self.squares[part]) * length) * self.costs[part]
            rounded = total_of_positive(terms)
            value += Rounded(rounded.value, rounded.error + rows_per_point * float(error.sum()) * (1.0 + gamma(terms.size)))
        return value

    def dual(self, alpha: FloatArray) -> Rounded:
        """Return Σα - ½||W(α)||² at feasible multipliers, with an error bound.

        The sums in W are off by at most γ Σ α_ik √2 ||x_i|| in norm, since the own class has Σ_k α_ik and each other one α_ik.
        """
        W = self.coefficients(alpha)
        norms = np.sqrt(2.0 * self.squares) * (1.0 + 1e-12)
        rounding = gamma(self.n + self.classes + 8) * float(norms @ alpha.sum(axis=1)) * (1.0 + gamma(self.n + self.classes))
        squares = dot(W.ravel(), W.ravel())
        norm = float(np.sqrt(squares.upper)) * (1.0 + 4.0 * UNIT)
        value = total_of_positive(alpha.ravel()) - squares.times(0.5)
        return Rounded(value.value, (value.error + norm * rounding + 0.5 * rounding * rounding) * (1.0 + 1e-12))


@dataclass(frozen=True, eq=False)
class PiecewiseLinearLoss:
    """A nonincreasing piecewise linear loss ρ(m) ≥ 0 of the margin, with jumps, that is 0 from the last breakpoint on.

    From t_k to t_{k+1} it is linear from ``at``_k to ``below``_{k+1}; below t_0 it is ``below``_0 + tail (rise_start - m)_+. A
    symmetric loss is ρ(|m|), with t_0 ≥ 0 and no tail.

    Parameters
    ----------
    margins : ndarray (K,)
        The breakpoints t_k, increasing.
    below, at : ndarray (K,)
        Limits from below, and the values at the breakpoints, the smaller ones: at ≤ below. The last ``at`` is 0.
    tail : float
        Slope of the tail, ≥ 0.
    rise_start : float
        The margin below which the tail rises, at most t_0; -∞ without a tail.
    symmetric : bool
        Whether the loss is ρ(|m|).
    """

    margins: FloatArray
    below: FloatArray
    at: FloatArray
    tail: float = 0.0
    rise_start: float = -np.inf
    symmetric: bool = False

    @classmethod
    def ramp(cls, height: float, width: float, second_width: float = np.inf) -> PiecewiseLinearLoss:
        """Return (h/d) (min{(1 - m)_+, d} + (1 - b - m)_+), a ramp of ``height`` h and ``width`` d that rises again below 1 - b.

        b is ``second_width``, at least d; without it the ramp is h from 1 - d down.
        """
        values = np.array([height, 0.0])
        tail = height / width if second_width < np.inf else 0.0
        return cls(np.array([1.0 - width, 1.0]), values, values, tail, 1.0 - second_width)

    @classmethod
    def zero_one(cls, threshold: float) -> PiecewiseLinearLoss:
        """Return the loss 1{m < t} of the threshold t."""
        return cls(np.array([threshold]), np.ones(1), np.zeros(1))

    @classmethod
    def hinge(cls) -> PiecewiseLinearLoss:
        """Return the loss (1 - m)_+."""
        return cls(np.ones(1), np.zeros(1), np.zeros(1), 1.0, 1.0)

    @classmethod
    def hat(cls) -> PiecewiseLinearLoss:
        """Return the loss (1 - |m|)_+."""
        values = np.array([1.0, 0.0])
        return cls(np.array([0.0, 1.0]), values, values, symmetric=True)

    @property
    def height(self) -> float:
        """Return the limit of the loss from below at its first breakpoint: its largest value without the tail."""
        return float(self.below[0])

    @property
    def largest_slope(self) -> float:
        """Return the largest absolute slope between jumps, the tail's among them."""
        inner = (self.at[:-1] - self.below[1:]) / np.diff(self.margins)
        return float(max(self.tail, inner.max(initial=0.0)))

    @property
    def largest_breakpoint(self) -> float:
        """Return the largest absolute breakpoint, the beginning of the tail among them."""
        return float(np.abs([*self.margins, *([self.rise_start] if self.tail > 0.0 else [])]).max())

    def values(self, m: FloatArray) -> FloatArray:
        """Return ρ(m), or ρ(|m|) if the loss is symmetric."""
        m = np.abs(m) if self.symmetric else m
        k = np.searchsorted(self.margins, m, side="right")  # breakpoints at or left of m
        left = np.clip(k - 1, 0, None)
        right = np.clip(k, None, self.margins.size - 1)
        with np.errstate(divide="ignore", invalid="ignore"):
            part = np.where(right > left, (m - self.margins[left]) / (self.margins[right] - self.margins[left]), 0.0)
        inner = self.at[left] + part * (self.below[right] - self.at[left])
        bounded = np.where(k == 0, self.below[0], np.where(k == self.margins.size, 0.0, inner))
        return np.asarray(bounded + self.tail_values(m))

    def tail_values(self, m: FloatArray) -> FloatArray:
        """Return tail·(rise_start - m)_+, the part of the loss that the tail adds."""
        return np.asarray(self.tail * np.maximum(self.rise_start - m, 0.0) if self.tail > 0.0 else np.zeros_like(m))


@dataclass(frozen=True, eq=False)
class Budget:
    """An error budget: at most ``limit`` of the points have a margin below 1.

    Parameters
    ----------
    points : ndarray of int
        Indices of the points that are counted.
    limit : int
        How many of them may have a margin below 1.
    """

    points: IntArray
    limit: int


@dataclass(frozen=True, eq=False)
class EqualRates:
    """A parity restriction: the shares of positive scores of any two groups differ by at most ``epsilon``.

    The score of point i is x_i'w; a score of 0 counts on either side.

    Parameters
    ----------
    groups : ndarray of int (n,)
        The group of each point, 0 to G - 1.
    labels : ndarray (n,)
        y_i: scores follow from signed rows a_i = y_i x_i by x_i'w = y_i a_i'w.
    epsilon : float
        The largest difference of two shares, ε ≥ 0.
    """

    groups: IntArray
    labels: FloatArray
    epsilon: float

    @property
    def sizes(self) -> IntArray:
        """Return the number of points of each group."""
        return np.bincount(self.groups)

    def least_spread(self, positive: BoolArray, possible: BoolArray) -> float:
        """Return the least difference of the largest and the smallest share of positive scores, as `nearest_counts` finds it."""
        return self.nearest_counts(positive, possible)[0]

    def nearest_counts(self, positive: BoolArray, possible: BoolArray) -> tuple[float, list[int]]:
        """Return the least difference of the largest and the smallest share, and the positive scores of each group for it.

        ``positive`` and ``possible`` are masks of the points: those that are possible and not positive may count on either side.
        The smallest share is one that some group can have; every other group takes its smallest share that is not below it.
        """
        low, high = (
            np.bincount(self.groups, weights=mask, minlength=self.sizes.size).astype(int) for mask in (positive, possible)
        )
        groups = list(zip(low.tolist(), high.tolist(), self.sizes.tolist(), strict=True))
        best_spread, best = math.inf, low.tolist()
        for first, last, size in groups:
            for count in range(first, last + 1):
                counts = [max(a, -(-count * total // size)) for a, _, total in groups]
                spread = max(c / total for c, (_, _, total) in zip(counts, groups, strict=True)) - count / size
                if spread < best_spread and all(c <= b for c, (_, b, _) in zip(counts, groups, strict=True)):
                    best_spread, best = spread, counts
        return best_spread, best

    def signs(self, scores: FloatArray, tolerance: FloatArray) -> BoolArray:
        """Return the mask of the scores that count as positive; scores within ``tolerance`` of 0 take the side that makes the
        shares of the groups differ least.
        """
        positive, possible = scores > tolerance, scores >= -tolerance
        _, counts = self.nearest_counts(positive, possible)
        for g, count in enumerate(counts):
            undecided = np.flatnonzero(possible & ~positive & (self.groups == g))
            positive[undecided[: count - int(positive[self.groups == g].sum())]] = True
        return positive


@dataclass(frozen=True, eq=False)
class MarginProblem:
    """The problem min Σ_j d_j w_j² + ||w||_X + Σ_j π_j 1{w_j ≠ 0} + Σ_i c_i ρ_i(a_i'w) under the restrictions ``lower`` to
    ``rates``, which branch and bound reads.

    ||w||_X = min{||α||_1 : w = Σ_k α_k x_k}, the norm whose unit ball is the hull of the atoms ±x_k; 0 without atoms.

    Parameters
    ----------
    A : ndarray (n, p)
        Signed rows a_i = y_i x_i.
    costs : ndarray (n,)
        c_i ≥ 0.
    loss : PiecewiseLinearLoss
        ρ_i of all points, or of those with ``kinds`` 0.
    curvature : ndarray (p,)
        d_j ≥ 0.
    atoms : ndarray (K, p)
        x_k, of full rank on the columns that are not 0; none where there is no norm.
    intercept : bool
        Whether the first coefficient is a free intercept: its column of A is y, and neither squares nor norm contain it.
    lower, upper : ndarray (p,)
        lower ≤ w ≤ upper.
    integer : ndarray of bool (p,)
        w_j that must be integers.
    price : ndarray (p,)
        π_j ≥ 0, the cost of a w_j that is not 0.
    counted : ndarray of bool (p,)
        The w_j that count towards ``max_nonzeros``.
    max_nonzeros : int
        At most so many of the counted w_j are not 0.
    rows, row_lower : ndarray (m, p), (m,)
        Linear restrictions: rows w ≥ row_lower.
    kept_points : ndarray of bool (n,)
        The points with the restriction a_i'w ≥ 1.
    budgets : tuple of Budget
        Limits on the numbers of margins below 1.
    rates : tuple of EqualRates
        Groups whose shares of positive scores must be close.
    other_losses : tuple of PiecewiseLinearLoss
        ρ_i of points with ``kinds`` 1, 2, ...; kept points, budgets and rates name only points whose loss is not symmetric.
    kinds : ndarray of int (n,), optional
        The number of each point's loss; 0 for all without it.
    """

    A: FloatArray
    costs: FloatArray
    loss: PiecewiseLinearLoss
    curvature: FloatArray
    atoms: FloatArray
    intercept: bool
    lower: FloatArray
    upper: FloatArray
    integer: BoolArray
    price: FloatArray
    counted: BoolArray
    max_nonzeros: int
    rows: FloatArray
    row_lower: FloatArray
    kept_points: BoolArray
    budgets: tuple[Budget, ...] = field(default=())
    rates: tuple[EqualRates, ...] = field(default=())
    other_losses: tuple[PiecewiseLinearLoss, ...] = field(default=())
    kinds: IntArray | None = field(default=None)

    @property
    def losses(self) -> tuple[PiecewiseLinearLoss, ...]:
        """Return all losses ρ, in the order of the numbers that ``kinds`` holds."""
        return (self.loss, *self.other_losses)

    @property
    def loss_numbers(self) -> IntArray:
        """Return the number of each point's loss."""
        return np.zeros(len(self.A), dtype=np.int64) if self.kinds is None else self.kinds

    def per_point(self, number: Callable[[PiecewiseLinearLoss], float]) -> FloatArray:
        """Return a quantity of each point's loss, (n,): ``number`` computes it from a loss."""
        return np.array([number(loss) for loss in self.losses])[self.loss_numbers]

    @classmethod
    def unrestricted(
        cls,
        A: FloatArray,
        costs: FloatArray,
        loss: PiecewiseLinearLoss,
        curvature: FloatArray,
        atoms: FloatArray,
        intercept: bool,
    ) -> MarginProblem:
        """Return the problem without restrictions: every w is allowed."""
        n, p = A.shape
        no_coefficients, no_points = np.zeros(p, dtype=np.bool_), np.zeros(n, dtype=np.bool_)
        infinite, zero = np.full(p, np.inf), np.zeros(p)
        return cls(
            A, costs, loss, curvature, atoms, intercept, -infinite, infinite, no_coefficients, zero, no_coefficients, p,
            np.zeros((0, p)), np.zeros(0), no_points,
        )  # fmt: skip

    @property
    def is_unrestricted(self) -> bool:
        """Return whether every w is allowed and no coefficient has a price."""
        bounded = np.isfinite(self.lower).any() or np.isfinite(self.upper).any()
        counts = self.price.any() or self.max_nonzeros < self.counted.sum()
        return not (
            bounded or self.integer.any() or counts or self.kept_points.any() or len(self.rows) or self.budgets or self.rates
        )


@dataclass(frozen=True, eq=False)
class BoxPoint:
    """A point of a box QP in terms of its model's form.

    Parameters
    ----------
    values : mapping of str to ndarray
        Values of the form's blocks.
    multipliers : mapping of str to ndarray
        Multipliers of the form's constraints.
    reduced : ndarray (n,)
        Reduced costs of the form's bounds, in the order of its x.
    """

    values: Mapping[str, FloatArray]
    multipliers: Mapping[str, FloatArray]
    reduced: FloatArray


@dataclass(frozen=True, eq=False)
class CoarseFactor:
    """The factor Z of a `BoxQP` rounded to single precision, for search directions, with functions that give float64 gradients.

    Parameters
    ----------
    Z : ndarray of float32 (m, r)
        C order.
    product : callable
        Maps a to ZZ'a, in float64 from the data.
    exact : callable
        Returns Z in float64.
    """

    Z: SingleArray
    product: Callable[[FloatArray], FloatArray]
    exact: Callable[[], FloatArray]


@dataclass(frozen=True, eq=False)
class BoxQP:
    """The problem min ½a'(ZZ' + D)a + q'a over lower ≤ a ≤ upper, in factor form.

    Parameters
    ----------
    Z : ndarray (m, r)
        The factor, in C order; not read, and may have no columns, where ``gram`` or ``coarse`` is given.
    q : ndarray (m,)
        Linear term.
    lower, upper : ndarray (m,)
        Bounds of a, finite.
    ridge : ndarray (m,)
        Diagonal D ≥ 0.
    recover : callable
        Returns the `BoxPoint` of the model that belongs to a.
    gram : ndarray (m, m), optional
        ZZ', in place of its factor: it saves time where r is about m or more.
    offset : float, optional
        The model's form is the *dual* of this program: the form's optimum is ``offset`` less this program's. None where the form
        is this program.
    coarse : CoarseFactor, optional
        Z in single precision, in place of Z where computing it is most of the work: it takes half of the time and memory.
    """

    Z: FloatArray
    q: FloatArray
    lower: FloatArray
    upper: FloatArray
    ridge: FloatArray
    recover: Callable[[FloatArray], BoxPoint]
    offset: float | None = None
    gram: FloatArray | None = None
    coarse: CoarseFactor | None = None

    @property
    def n(self) -> int:
        """Return the number of variables."""
        return int(self.q.size)

    @property
    def width(self) -> int:
        """Return the columns of Z, or m/2 if ZZ' is stored: a product with ZZ' takes 2m times so many multiplications."""
        if self.coarse is not None:
            return int(self.coarse.Z.shape[1])
        return int(self.Z.shape[1]) if self.gram is None else (self.n + 1) // 2

    def in_double_precision(self) -> BoxQP:
        """Return the same program with Z in float64."""
        return self if self.coarse is None else replace(self, Z=self.coarse.exact(), coarse=None)

    def product(self, a: FloatArray) -> FloatArray:
        """Return ZZ'a."""
        if self.coarse is not None:
            return self.coarse.product(a)
        return np.asarray(self.Z @ (self.Z.T @ a) if self.gram is None else self.gram @ a)

    def submatrix(self, chosen: IntArray | BoolArray) -> FloatArray:
        """Return a copy of the chosen rows and columns of ZZ', semidefinite; of the rounded Z if ``coarse`` is given."""
        if self.gram is not None:
            return np.asarray(self.gram[np.ix_(chosen, chosen)])
        rows = self.Z[chosen] if self.coarse is None else self.coarse.Z[chosen].astype(np.float64)
        return np.asarray(rows @ rows.T)

    @cached_property
    def diagonal(self) -> FloatArray:
        """Return the diagonal of ZZ' + D; of the rounded Z if ``coarse`` is given."""
        Z = self.Z if self.coarse is None else self.coarse.Z
        squares = np.einsum("ij,ij->i", Z, Z).astype(np.float64) if self.gram is None else np.diagonal(self.gram)
        return np.asarray(squares + self.ridge)

    def gradient(self, a: FloatArray) -> FloatArray:
        """Return (ZZ' + D)a + q, in float64 from the data."""
        return np.asarray(self.product(a) + self.ridge * a + self.q)

    def objective(self, a: FloatArray, gradient: FloatArray | None = None) -> float:
        """Return ½a'(ZZ' + D)a + q'a = ½a'(∇ + q), ∇ the ``gradient`` at a, which is computed if it is not given."""
        g = self.gradient(a) if gradient is None else gradient
        return 0.5 * float(a @ (g + self.q))

    def gap(self, a: FloatArray, gradient: FloatArray | None = None) -> float:
        """Return the duality gap at a feasible a: Σ_i ∇_i a_i - min over the box of ∇_i x, ∇ the ``gradient`` at a.

        Minimising the linearisation at a over the box bounds the optimum from below by f(a) - gap.
        """
        g = self.gradient(a) if gradient is None else gradient
        return float(np.sum(np.where(g > 0, g * (a - self.lower), g * (a - self.upper))))


@dataclass(frozen=True, eq=False)
class SimplexQP:
    """The problem min ½a'Qa + c'a over a ≥ 0 with Σ_{i in group g} a_i = 1 for every group.

    Parameters
    ----------
    gram : GramOperator
        Q, by columns.
    c : ndarray (n,)
        Linear term.
    groups : ndarray of int (n,)
        Number of the simplex that each variable belongs to, 0, 1, ...; all zero for one simplex.
    label : str
        Label of the variable's block in the model's form.
    c_error : ndarray (n,) or float
        Bound of the rounding errors that c comes with.
    """

    gram: GramOperator
    c: FloatArray
    groups: IntArray
    label: str = "a"
    c_error: FloatArray | float = 0.0

    @property
    def n(self) -> int:
        """Return the number of variables."""
        return self.gram.n

    @cached_property
    def simplices(self) -> int:
        """Return the number of simplices."""
        return int(self.groups.max()) + 1

    def objective(self, a: FloatArray) -> float:
        """Return ½a'Qa + c'a, in float64 from the data."""
        return 0.5 * float(a @ self.gram.product(a)) + float(self.c @ a)

    def gap(self, a: FloatArray, product: FloatArray | None = None) -> float:
        """Return the duality gap at a feasible a: a'∇ - Σ_g min_{i in g} ∇_i, ∇ = Qa + c.

        Minimising the linearisation at a over the simplices bounds the optimum from below by f(a) - gap, the Frank-Wolfe gap. For
        one simplex and c = 0 it is a'Qa - min_i (Qa)_i. ``product`` is Qa, where it is known.
        """
        gradient = (self.gram.product(a) if product is None else product) + self.c
        return float(a @ gradient - self.least_per_simplex(gradient).sum())

    def least_per_simplex(self, values: FloatArray) -> FloatArray:
        """Return the least of the values in each simplex."""
        if self.simplices == 1:
            return np.asarray(values.min(keepdims=True))
        smallest = np.full(self.simplices, np.inf)
        np.minimum.at(smallest, self.groups, values)
        return smallest

    def multipliers(self, gradient: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return ν_g = min_{i in g} ∇_i and ζ_i = ∇_i - ν_g(i) ≥ 0, multipliers of Σ_g a = 1 and of a ≥ 0: exactly stationary."""
        nu = self.least_per_simplex(gradient)
        return nu, gradient - nu[self.groups]


@dataclass(frozen=True, eq=False)
class BoxEqualityQP:
    """The problem min ½a'Qa + c'a over 0 ≤ a ≤ u with s'a = r, s_i = ±1.

    Parameters
    ----------
    gram : GramOperator
        Q, by columns.
    c, upper : ndarray (n,)
        Linear term; u_i > 0.
    signs : ndarray (n,)
        s.
    label : str
        Label of the variable's block in the model's form.
    total : float
        r.
    """

    gram: GramOperator
    c: FloatArray
    upper: FloatArray
    signs: FloatArray
    label: str = "a"
    total: float = 0.0

    @property
    def n(self) -> int:
        """Return the number of variables."""
        return self.gram.n

    def objective(self, a: FloatArray) -> float:
        """Return ½a'Qa + c'a, in float64 from the data."""
        return 0.5 * float(a @ self.gram.product(a)) + float(self.c @ a)

    def minimise_linear(self, gradient: FloatArray) -> tuple[float, float]:
        """Return min ∇'x over the feasible x, ∇ the ``gradient``, and the multiplier ν of s'x = r that attains it.

        By duality it is max_ν rν + Σ_i u_i min(0, ∇_i - ν s_i), concave and piecewise linear in ν with kinks at s_i ∇_i:
        its slope is r + Σ_{s=-1} u at -∞, and each kink lowers it by u_i.
        """
        kinks = self.signs * gradient
        first, initial_slope = int(np.argmin(kinks)), self.total + float(self.upper[self.signs < 0].sum())
        if self.upper[first] >= initial_slope:  # a simplex, among others: no need of an order
            nu = float(kinks[first])
        else:
            order = np.argsort(kinks)
            slope = initial_slope - np.cumsum(self.upper[order])
            nu = float(kinks[order[min(int(np.searchsorted(-slope, 0.0)), self.n - 1)]])
        return self.total * nu + float(self.upper @ np.minimum(0.0, gradient - nu * self.signs)), nu

    def gap(self, a: FloatArray, product: FloatArray | None = None) -> float:
        """Return the duality gap at a feasible a, a'∇ - min ∇'x over the feasible x, ∇ = Qa + c; ``product`` is Qa, if known."""
        gradient = (self.gram.product(a) if product is None else product) + self.c
        return float(a @ gradient) - self.minimise_linear(gradient)[0]


@dataclass(frozen=True, eq=False)
class ZeroOneProblem:
    """The 0-1 loss problem min Σ_j d_j w_j² + Σ_i λ_i 1{a_i'w < 1}: Cepeda, Gómez and Han (2024), (3).

    Parameters
    ----------
    A : ndarray (n, p)
        Signed rows a_i = y_i x_i.
    weights : ndarray (n,)
        λ_i > 0.
    penalised : ndarray of bool (p,)
        d_j, 0 or 1: False for a free intercept, whose column of A is y.
    """

    A: FloatArray
    weights: FloatArray
    penalised: BoolArray

    def objective(self, w: FloatArray, tol: float = 0.0) -> float:
        """Return Σ_j d_j w_j² + Σ_i λ_i 1{a_i'w < 1}; margins within ``tol`` of 1 count as met."""
        norm = float(w[self.penalised] @ w[self.penalised])
        return norm + float(self.weights[self.A @ w < 1.0 - tol].sum())


@dataclass(frozen=True, eq=False)
class ConicProblem:
    """The data of the conic relaxation max over γ in Γ of min_w ||w||² + Σ_i φ_i(w): Cepeda, Gómez and Han (2024), (13)-(21).

    Γ is the set of γ ≥ 0 with Σ γ_i a_i a_i' ⪯ M, M the metric of the norm. With r_i = 1 - a_i'w, φ_i(w) + γ_i r_i² is the convex
    envelope, in r_i, of λ1{r_i > 0} + γ_i r_i² (`models.conic_bound`). Exactly one of ``lam`` (λ form) and ``kappa`` (κ form) is
    given. The κ form has the budget Σ 1{r_i > 0} ≤ κn in place of costs; a multiplier μ of the budget takes the place of λ.

    Parameters
    ----------
    A : ndarray (n, p)
        Signed rows a_i = y_i x_i (for the kernel form: the signed columns K_i, with ``metric`` = K).
    lam, kappa : float or None
        The cost λ of a violated margin, or the share κ of the margins that may be violated.
    metric : ndarray (p, p), optional
        M: K of the norm w'Kw in the kernel form; the identity where it is not given.
    """

    A: FloatArray
    lam: float | None
    kappa: float | None
    metric: FloatArray | None = None


#: Size of entries above which sums of products of them may overflow.
_SQUARES_OVERFLOW = 1e100


@dataclass(frozen=True, eq=False)
class StiefelProblem:
    """The problem max Tr(P'HP) + 2Tr(P'E) over n × d matrices P with P'P = I: Zhang et al. (2024, NPSVC++), (19).

    Parameters
    ----------
    H : ndarray (n, n)
        Matrix of the quadratic, symmetric.
    E : ndarray (n, d)
        Matrix of the linear term.
    """

    H: FloatArray
    E: FloatArray

    def scaled(self) -> tuple[StiefelProblem, float]:
        """Return the problem over its largest entry, and that entry, where squares of entries overflow; else itself and 1."""
        size = max((float(max(part.max(), -part.min())) for part in (self.H, self.E) if part.size), default=0.0)
        return (StiefelProblem(self.H / size, self.E / size), size) if size > _SQUARES_OVERFLOW else (self, 1.0)

    def objective(self, P: FloatArray) -> float:
        """Return Tr(P'HP) + 2Tr(P'E)."""
        return float(np.sum(P * (self.H @ P + 2.0 * self.E)))

    def gradient(self, P: FloatArray) -> FloatArray:
        """Return the Euclidean gradient, 2(HP + E)."""
        return np.asarray(2.0 * (self.H @ P + self.E))
