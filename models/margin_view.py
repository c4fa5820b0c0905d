"""The view of nonconvex compositions of few coefficients: a piecewise-linear loss of margins, a norm, and where w may be."""

from __future__ import annotations

import math
from dataclasses import dataclass, field

import numpy as np

from .arrays import BoolArray, FloatArray, IntArray

__all__ = ["Budget", "Corners", "EqualRates", "MarginProblem"]


@dataclass(frozen=True, eq=False)
class Corners:
    """A loss ρ(m) ≥ 0 that does not rise with the margin: piecewise linear, with jumps, 0 from the last corner on.

    From t_k to t_{k+1} it is linear from ``at``_k to ``below``_{k+1}; below t_0 it is ``below``_0 + tail (again - m)_+.

    Parameters
    ----------
    margins : ndarray (K,)
        t_k, increasing.
    below, at : ndarray (K,)
        Limits from below, and the values at the corners, the lesser ones: at ≤ below. The last ``at`` is 0.
    tail : float
        ≥ 0.
    again : float
        Where the loss rises for good: at most t_0; -∞ without a tail.
    """

    margins: FloatArray
    below: FloatArray
    at: FloatArray
    tail: float = 0.0
    again: float = -np.inf

    @classmethod
    def ramp(cls, height: float, width: float, beyond: float = np.inf) -> Corners:
        """(h/d) (min{(1 - m)_+, d} + (1 - b - m)_+): a ramp of height h and width d that begins again below 1 - b."""
        values = np.array([height, 0.0])
        tail = height / width if beyond < np.inf else 0.0
        return cls(np.array([1.0 - width, 1.0]), values, values, tail, 1.0 - beyond)

    @classmethod
    def count(cls, threshold: float) -> Corners:
        """1{m < t}."""
        return cls(np.array([threshold]), np.ones(1), np.zeros(1))

    @classmethod
    def hinge(cls) -> Corners:
        """(1 - m)_+."""
        return cls(np.ones(1), np.zeros(1), np.zeros(1), 1.0, 1.0)

    @property
    def height(self) -> float:
        """An upper bound of the loss but for its tail."""
        return float(self.below[0])

    @property
    def steepest(self) -> float:
        """The greatest slope between jumps."""
        inner = (self.at[:-1] - self.below[1:]) / np.diff(self.margins)
        return float(max(self.tail, inner.max(initial=0.0)))

    @property
    def farthest(self) -> float:
        """The largest |margin| at which it turns."""
        return float(np.abs([*self.margins, *([self.again] if self.tail > 0.0 else [])]).max())

    def values(self, m: FloatArray) -> FloatArray:
        """ρ."""
        k = np.searchsorted(self.margins, m, side="right")  # corners at or left of m
        left = np.clip(k - 1, 0, None)
        right = np.clip(k, None, self.margins.size - 1)
        with np.errstate(divide="ignore", invalid="ignore"):
            part = np.where(right > left, (m - self.margins[left]) / (self.margins[right] - self.margins[left]), 0.0)
        inner = self.at[left] + part * (self.below[right] - self.at[left])
        bounded = np.where(k == 0, self.below[0], np.where(k == self.margins.size, 0.0, inner))
        return np.asarray(bounded + self.beyond(m))

    def beyond(self, m: FloatArray) -> FloatArray:
        """The tail alone."""
        return np.asarray(self.tail * np.maximum(self.again - m, 0.0) if self.tail > 0.0 else np.zeros_like(m))


@dataclass(frozen=True, eq=False)
class Budget:
    """At most ``limit`` of the points have a margin below 1.

    Parameters
    ----------
    points : ndarray of int
    limit : int
    """

    points: IntArray
    limit: int


@dataclass(frozen=True, eq=False)
class EqualRates:
    """The shares of positive scores of any two groups differ by at most ``epsilon``.

    The score of a point is y_i a_i'w; a score of 0 counts on either side.

    Parameters
    ----------
    groups : ndarray of int (n,)
        The group of each point, 0 to G - 1.
    labels : ndarray (n,)
        y_i.
    epsilon : float
        ε ≥ 0.
    """

    groups: IntArray
    labels: FloatArray
    epsilon: float

    @property
    def sizes(self) -> IntArray:
        """Number of points of each group."""
        return np.bincount(self.groups)

    def least_spread(self, positive: BoolArray, possible: BoolArray) -> float:
        """Return the least difference of the largest and the smallest share of `nearest_counts`."""
        return self.nearest_counts(positive, possible)[0]

    def nearest_counts(self, positive: BoolArray, possible: BoolArray) -> tuple[float, list[int]]:
        """Return the least difference of the largest and the smallest share, and the number of positive scores of each group for
        it, if points that are ``possible`` and not ``positive`` may count on either side.

        The smallest share is one that some group can have; every other group takes its least share that is no smaller.
        """
        low, high = (
            np.bincount(self.groups, weights=mask, minlength=self.sizes.size).astype(int) for mask in (positive, possible)
        )
        groups = list(zip(low.tolist(), high.tolist(), self.sizes.tolist(), strict=True))
        least, best = math.inf, low.tolist()
        for first, last, size in groups:
            for count in range(first, last + 1):
                counts = [max(a, -(-count * total // size)) for a, _, total in groups]
                spread = max(c / total for c, (_, _, total) in zip(counts, groups, strict=True)) - count / size
                if spread < least and all(c <= b for c, (_, b, _) in zip(counts, groups, strict=True)):
                    least, best = spread, counts
        return least, best

    def signs(self, scores: FloatArray, near: FloatArray) -> BoolArray:
        """Return which scores count as positive, those within ``near`` of 0 on the side that brings the shares together."""
        positive, possible = scores > near, scores >= -near
        _, counts = self.nearest_counts(positive, possible)
        for g, count in enumerate(counts):
            unsure = np.flatnonzero(possible & ~positive & (self.groups == g))
            positive[unsure[: count - int(positive[self.groups == g].sum())]] = True
        return positive


@dataclass(frozen=True, eq=False)
class MarginProblem:
    """min Σ_j d_j w_j² + ||w||_X + Σ_j π_j 1{w_j ≠ 0} + Σ_i c_i ρ(a_i'w), subject to what ``lower`` to ``rates`` say.

    ||w||_X = min{||α||_1 : w = Σ_j α_j x_j}, the norm whose unit ball is the hull of the atoms ±x_j; 0 without atoms.

    Parameters
    ----------
    A : ndarray (n, p)
        Signed rows a_i = y_i x_i.
    costs : ndarray (n,)
        c_i ≥ 0.
    loss : Corners
        ρ.
    curvature : ndarray (p,)
        d_j ≥ 0.
    atoms : ndarray (k, p)
        x_j, of full rank on the columns that are not 0; none where there is no norm.
    intercept : bool
        Whether the first coefficient is a free intercept: its column of A is y, and no norm knows it.
    lower, upper : ndarray (p,)
        lower ≤ w ≤ upper.
    whole : ndarray of bool (p,)
        w_j that must be integers.
    price : ndarray (p,)
        π_j ≥ 0.
    counted : ndarray of bool (p,)
    most : int
        At most so many of the counted w_j are not 0.
    rows, least : ndarray (m, p), (m,)
        rows w ≥ least.
    kept : ndarray of bool (n,)
        a_i'w ≥ 1.
    budgets : tuple of Budget
    rates : tuple of EqualRates
    """

    A: FloatArray
    costs: FloatArray
    loss: Corners
    curvature: FloatArray
    atoms: FloatArray
    intercept: bool
    lower: FloatArray
    upper: FloatArray
    whole: BoolArray
    price: FloatArray
    counted: BoolArray
    most: int
    rows: FloatArray
    least: FloatArray
    kept: BoolArray
    budgets: tuple[Budget, ...] = field(default=())
    rates: tuple[EqualRates, ...] = field(default=())

    @classmethod
    def unrestricted(
        cls, A: FloatArray, costs: FloatArray, loss: Corners, curvature: FloatArray, atoms: FloatArray, intercept: bool
    ) -> MarginProblem:
        """Any w."""
        n, p = A.shape
        no, none = np.zeros(p, dtype=np.bool_), np.zeros(n, dtype=np.bool_)
        far, zero = np.full(p, np.inf), np.zeros(p)
        return cls(
            A, costs, loss, curvature, atoms, intercept, -far, far, no, zero, no, p, np.zeros((0, p)), np.zeros(0), none
        )  # fmt: skip

    @property
    def free(self) -> bool:
        """Return whether any w is allowed, and none is priced by being 0 or not."""
        bounded = np.isfinite(self.lower).any() or np.isfinite(self.upper).any()
        counts = self.price.any() or self.most < self.counted.sum()
        return not (bounded or self.whole.any() or counts or self.kept.any() or len(self.rows) or self.budgets or self.rates)
