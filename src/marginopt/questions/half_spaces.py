"""The best half-space of a finite point set with costs, as a 0-1 problem whose bound holds for half-spaces of every margin.

`fairness` states its audit as this problem. Given points s_k in d columns with costs c_k, it is max over half-spaces g of Σ_k c_k
1{s_k ∈ g}. With labels l_k = sign(c_k) and C = Σ_{c_k > 0} c_k, the sum is C minus the weighted 0-1 loss Σ_k |c_k| 1{l_k (b +
w's_k) < 1}, once w is long enough. A bound B of min ||w||² + Λ Σ_k |c_k| 1{l_k (b + w's_k) < 1}, with a large factor Λ, therefore
proves

    Σ_k c_k 1{s_k ∈ g} ≤ C - (B - R)/Λ        for every half-space that some (b, w) with ||w||² ≤ R separates with margin 1.

*Every half-space.* Points on a grid, s_kj = o_j + u_j m_kj with offsets o_j, steps u_j, integers 0 ≤ m_kj ≤ L_j, have a finite R
that serves all half-spaces: a separable dichotomy has a basic solution of l_k (b + w'm_k) ≥ 1, and Cramer's rule with Hadamard's
inequality (the column of ones centres the others; determinants of integers are at least 1) gives the bound
|w_j| ≤ (d + 1)^((d+1)/2) Π_{i ≠ j} L_i/2. A decimal column is a grid: its numbers are read as the decimals that print them.

*Half-spaces of a margin γ.* With R = 1/γ² the value of a half-space is its robust value: each point within γ of the boundary
counts on the side that lowers the sum. A bound of the robust value needs no grid.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property

import numpy as np

from ..errors import InputError
from ..models.arrays import FloatArray
from ..models.formulations.zero_one import ZeroOneSVM
from ..models.rounding import round_down

#: Largest integer code of a grid, so that codes and their sums are exact in float64.
_MAX_LEVELS = 2**26
#: Largest entry of a column, so that sums of squares stay in float64.
_LARGEST = 1e140
#: Largest R with which a solver in float64 proves bounds for half-spaces of every margin.
_MAX_NORM = 1e12
#: Share of the largest coefficient below which another one is a rounding error.
_ROUNDING = 1e-9
#: The least ratio CΛ/R for half-spaces of every margin, and of a given margin: R takes at most its reciprocal share of the bound.
_EVERY_SHARE, _MARGIN_SHARE = 1e7, 5e3


@dataclass(frozen=True, eq=False)
class CodedColumn:
    """A column of points in coordinates of about unit scale that float64 holds exactly: s = offset + unit × code.

    Parameters
    ----------
    offset, unit : Fraction
        Origin and unit of the coordinate.
    codes : ndarray (m,)
        The points' coordinates.
    half_levels : Fraction or None
        L/2 for a column on a grid, whose largest value is L steps from the smallest; None where there is no such grid.
    step : Fraction
        Step of the grid in units of the codes, a power of two.
    """

    offset: Fraction
    unit: Fraction
    codes: FloatArray
    half_levels: Fraction | None
    step: Fraction


def coded_columns(points: FloatArray) -> tuple[CodedColumn, ...]:
    """Return the columns of a matrix (m, d) in coded coordinates."""
    largest = float(np.abs(points).max(initial=0.0))
    if largest > _LARGEST:
        raise InputError(f"a protected column reaches {largest:.3g}, beyond the scale of float64: divide it", name="protected")
    return tuple(_coded(column) for column in points.T)


def _coded(column: FloatArray) -> CodedColumn:
    values, place = np.unique(column, return_inverse=True)
    exact = [Fraction(repr(value)) for value in values.tolist()]
    denominator = math.lcm(*(value.denominator for value in exact))
    numbers = [int((value - exact[0]) * denominator) for value in exact]
    step = math.gcd(*numbers) or 1
    levels = numbers[-1] // step
    if levels <= _MAX_LEVELS:
        steps = np.array([number // step for number in numbers], dtype=np.float64)[place]
        middle, scale = float(round(steps.mean())), _power_of_two(float(steps.std()))
        unit = Fraction(step, denominator)
        offset = exact[0] + unit * int(middle)
        return CodedColumn(offset, unit * Fraction(scale), (steps - middle) / scale, Fraction(levels, 2), 1 / Fraction(scale))
    scale, middle = _power_of_two(float(column.std())), float(np.median(column))
    shifted = column - middle
    if any(Fraction(v) - Fraction(middle) != Fraction(s) for v, s in zip(column.tolist(), shifted.tolist(), strict=True)):
        shifted, middle = column, 0.0
    return CodedColumn(Fraction(middle), Fraction(scale), shifted / scale, None, Fraction(1))


def _power_of_two(size: float) -> float:
    return 2.0 ** round(math.log2(size)) if size > 0.0 else 1.0


@dataclass(frozen=True)
class HalfSpace:
    """The half-space {code : intercept + Σ_j weights_j code_j > 0} in coded coordinates.

    Parameters
    ----------
    intercept : Fraction
        The constant of the score.
    weights : tuple of Fraction
        The normal, one weight for each column.
    """

    intercept: Fraction
    weights: tuple[Fraction, ...]

    def scores(self, codes: FloatArray) -> list[Fraction]:
        """Return intercept + weights'code of every row, exactly."""
        return [
            self.intercept + sum((w * Fraction(x) for w, x in zip(self.weights, row, strict=True)), Fraction(0))
            for row in codes.tolist()
        ]


@dataclass(frozen=True, eq=False)
class HalfSpaceProblem:
    """The problem of the best half-space: max over half-spaces of the sum of the costs of the distinct points inside.

    Parameters
    ----------
    columns : tuple of CodedColumn
        The columns of the coded distinct points, none of them constant.
    costs : tuple of Fraction
        The cost of each point; points of positive cost are worth including.
    margin : float or None
        γ in units of the codes; None for half-spaces of every margin.
    """

    columns: tuple[CodedColumn, ...]
    costs: tuple[Fraction, ...]
    margin: float | None

    @staticmethod
    def grid_norm(columns: Sequence[CodedColumn]) -> Fraction | None:
        """Return R for half-spaces of every margin; None if a column is not on a grid, or R is too large for float64."""
        halves = [column.half_levels for column in columns if column.half_levels is not None]
        if len(halves) < len(columns):
            return None
        d, product = len(columns), math.prod(halves, start=Fraction(1))
        bounds = (product / half / column.step for half, column in zip(halves, columns, strict=True))
        norm = Fraction((d + 1) ** (d + 1)) * sum((bound * bound for bound in bounds), Fraction(0))
        return norm if norm <= _MAX_NORM else None

    @cached_property
    def codes(self) -> FloatArray:
        """The coded points (m, d)."""
        return np.column_stack([column.codes for column in self.columns]) if self.columns else np.zeros((len(self.costs), 0))

    @cached_property
    def norm(self) -> Fraction:
        """R: the largest ||w||² of the half-spaces that a bound must cover."""
        if self.margin is not None:
            return 1 / Fraction(self.margin) ** 2
        norm = self.grid_norm(self.columns)
        if norm is None:
            raise InputError("the protected columns are too fine for a bound over half-spaces of every margin: give margin=")
        return norm

    @cached_property
    def total(self) -> Fraction:
        """C, the sum of the positive costs: the trivial upper bound."""
        return sum((cost for cost in self.costs if cost > 0), Fraction(0))

    @cached_property
    def cost_factor(self) -> float:
        """Λ, the factor of the loss against ||w||² in the 0-1 problem; a power of two."""
        share = _EVERY_SHARE if self.margin is None else _MARGIN_SHARE
        return float(2.0 ** math.ceil(math.log2(share * max(float(self.norm), 1.0) / float(self.total))))

    def model(self) -> ZeroOneSVM | None:
        """Return the 0-1 problem, one point for each distinct row of non-zero cost; None where all costs have one sign.

        Its weights are Λ|c_k|, rounded down, so that a bound of the model is one of the exact costs.
        """
        chosen = np.array([cost != 0 for cost in self.costs], dtype=bool)
        costs = [cost for cost in self.costs if cost]
        labels = np.array([1.0 if cost > 0 else -1.0 for cost in costs])
        if len(set(labels.tolist())) < 2 or not self.columns:
            return None
        weights = np.array([round_down(Fraction(self.cost_factor) * abs(cost)) for cost in costs])
        X = np.column_stack([np.ones(len(costs)), self.codes[chosen]])
        return ZeroOneSVM(X, labels, weights, intercept="free")

    def bound(self, model_bound: float | None) -> Fraction:
        """Return the upper bound of the best sum that a lower bound of the model proves; the trivial one without it."""
        if not any(cost < 0 for cost in self.costs) or self.total == 0:
            return self.total
        if not self.columns:
            return max(sum(self.costs, Fraction(0)), Fraction(0))
        if model_bound is None or not math.isfinite(model_bound):
            return self.total
        loss = (Fraction(model_bound) - self.norm) / Fraction(self.cost_factor)
        return self.total - max(loss, Fraction(0))

    def value(self, half_space: HalfSpace) -> Fraction:
        """Return the sum of the costs of the points in a half-space; its robust value if there is a margin."""
        if len(half_space.weights) != len(self.columns):
            raise InputError(f"the half-space has {len(half_space.weights)} weights for {len(self.columns)} columns")
        scores = half_space.scores(self.codes)
        if self.margin is None:
            return sum((cost for score, cost in zip(scores, self.costs, strict=True) if score > 0), Fraction(0))
        square = Fraction(self.margin) ** 2 * sum((w * w for w in half_space.weights), Fraction(0))
        inside = [(score, cost) for score, cost in zip(scores, self.costs, strict=True) if cost]
        certain = (cost for score, cost in inside if cost > 0 and score > 0 and score * score >= square)
        possible = (cost for score, cost in inside if cost < 0 and (score > 0 or score * score < square))
        return sum(certain, Fraction(0)) + sum(possible, Fraction(0))

    def best_threshold(self, w: FloatArray) -> HalfSpace:
        """Return the half-space with normal w of the greatest value; it may hold all points or none.

        Coefficients of the size of rounding errors are set to zero if that does not reduce the value.
        """
        plain = np.where(np.abs(w) > _ROUNDING * np.abs(w).max(initial=0.0), w, 0.0)
        normals = (plain,) if (plain == w).all() else (plain, w)
        return max(map(self._best_of_normal, normals), key=self.value)

    def _best_of_normal(self, w: FloatArray) -> HalfSpace:
        weights = tuple(Fraction(x) for x in w.tolist())
        everyone = HalfSpace(self._beyond(weights), weights)
        candidates = [everyone, HalfSpace(-self._beyond(weights), weights)]
        scores = HalfSpace(Fraction(0), weights).scores(self.codes)
        reach = Fraction(0)
        if self.margin is not None:
            square = float(Fraction(self.margin) ** 2 * sum((x * x for x in weights), Fraction(0)))
            reach = Fraction(math.sqrt(square) * (1.0 + 1e-12))
        costs = np.array([float(cost) for cost in self.costs])
        approximate = np.array([float(score) for score in scores])
        ordered = sorted(set(scores))
        if self.margin is None:
            intercepts = [-(low + high) / 2 for low, high in itertools.pairwise(ordered)]
        else:
            intercepts = [reach - score for score in ordered]
        if intercepts:
            values = [_float_value(approximate + float(b), costs, float(reach)) for b in intercepts]
            candidates += [HalfSpace(intercepts[k], weights) for k in np.argsort(values)[-3:].tolist()]
        return max(candidates, key=self.value)

    def _beyond(self, weights: tuple[Fraction, ...]) -> Fraction:
        """Return an intercept that puts every point into the half-space, beyond the margin."""
        margin = Fraction(0 if self.margin is None else self.margin)
        size = Fraction(1)
        for weight, column in zip(weights, self.columns, strict=True):
            size += abs(weight) * (Fraction(float(np.abs(column.codes).max(initial=0.0))) + margin)
        return size


def _float_value(scores: FloatArray, costs: FloatArray, reach: float) -> float:
    """Return the value of one threshold in floating point: only a choice rests on it."""
    return float(costs[(costs > 0) & (scores >= reach) & (scores > 0)].sum() + costs[(costs < 0) & (scores > -reach)].sum())
