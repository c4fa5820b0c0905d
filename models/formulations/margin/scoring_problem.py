"""The structural view of a scoring system: what the exact solver reads."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property

import numpy as np

from ...arrays import BoolArray, FloatArray, Points, to_dense
from .domains import Domain
from .losses.loss import Loss
from .regularisers.regulariser import Regulariser
from .restrictions.restriction import Restriction

__all__ = ["ScoringProblem", "as_fraction", "composed_problem"]


def as_fraction(number: float | Fraction) -> Fraction:
    """The number that somebody wrote: a fraction as it is, a float as the shortest decimal that is it (0.01 is 1/100)."""
    return number if isinstance(number, Fraction) else Fraction(repr(float(number)))


@dataclass(frozen=True, eq=False)
class ScoringProblem:
    """min Σ_i c_i 1{y_i (ρ_0 + x_i'ρ) < t} + μ_0 ||ρ||_0 + μ_1 ||ρ||_1 over whole numbers l ≤ ρ ≤ u.

    With l_0 ≤ ρ_0 ≤ u_0 and ||ρ||_0 ≤ k.

    Parameters
    ----------
    X : ndarray (n, d)
        Features, without a column of ones.
    y : ndarray (n,)
        -1, +1.
    weights : ndarray (n,)
        c_i ≥ 0.
    lower, upper : ndarray (d,)
        Whole numbers, l ≤ 0 ≤ u.
    intercept : (int, int)
        l_0 and u_0; both 0 where there is no intercept.
    price, size_price : Fraction
        μ_0, μ_1 ≥ 0.
    most : int
        k.
    threshold : Fraction
        t > 0.
    """

    X: FloatArray
    y: FloatArray
    weights: FloatArray
    lower: FloatArray
    upper: FloatArray
    intercept: tuple[int, int]
    price: Fraction
    size_price: Fraction
    most: int
    threshold: Fraction

    @cached_property
    def whole(self) -> bool:
        """Return whether every feature is a whole number, so that every score is."""
        return bool(np.array_equal(self.X, np.rint(self.X)))

    def errors(self, rho0: int, rho: FloatArray) -> BoolArray:
        """Return the points that have y (ρ_0 + x'ρ) < t, in exact arithmetic."""
        floats = rho0 + self.X @ rho
        reach = 1.0 + abs(rho0) + np.abs(self.X) @ np.abs(rho)
        error = np.zeros(self.y.size) if self.whole and reach.max() < 2.0**53 else reach * ((self.X.shape[1] + 2) * 2.0**-52)
        margins, t = self.y * floats, float(self.threshold)
        wrong = np.asarray(margins < t)
        doubt = error if Fraction(t) == self.threshold else error + 2.0**-52 * t
        for i in np.flatnonzero((np.abs(margins - t) <= doubt) & (doubt > 0.0)):
            terms = (Fraction(x) * int(r) for x, r in zip(self.X[i].tolist(), rho.tolist(), strict=True) if r)
            score = rho0 + sum(terms, Fraction())
            wrong[i] = int(self.y[i]) * score < self.threshold
        return wrong

    def value(self, rho0: int, rho: FloatArray) -> Fraction:
        """The objective of whole coefficients, as a fraction."""
        wrong = self.weights[self.errors(rho0, rho)]
        whole = bool((wrong == np.rint(wrong)).all())
        cost = Fraction(int(wrong.sum())) if whole else sum(map(as_fraction, wrong.tolist()), Fraction())
        return cost + self.price * int(np.count_nonzero(rho)) + self.size_price * int(np.abs(rho).sum())

    def allows(self, rho0: int, rho: FloatArray) -> bool:
        """Return whether the coefficients are within their bounds and their number."""
        inside = bool((rho >= self.lower).all() and (rho <= self.upper).all())
        return inside and self.intercept[0] <= rho0 <= self.intercept[1] and int(np.count_nonzero(rho)) <= self.most


def composed_problem(
    data: tuple[Points, FloatArray, FloatArray],
    penalised: BoolArray,
    loss: Loss,
    regulariser: Regulariser,
    domain: Domain,
    restrictions: Sequence[Restriction],
) -> ScoringProblem | None:
    """A composition (its X, y and costs, its parts) as a scoring system; None where it is not one.

    It is one where errors below a threshold > 0 are counted, coefficients are whole numbers within bounds that allow 0, and
    nothing but their number and size is priced or limited.
    """
    X, y, weights = data
    threshold, sparsity = loss.indicator_threshold, regulariser.sparsity
    limits = [restriction.most for restriction in restrictions]
    lower, upper = domain.bounds(penalised.size)
    bounded = domain.integer and bool(np.isfinite(lower).all() and np.isfinite(upper).all())
    if not threshold or sparsity is None or None in limits or not bounded:
        return None
    lower, upper = np.ceil(lower), np.floor(upper)
    if (lower[penalised] > 0).any() or (upper[penalised] < 0).any() or (lower > upper).any():
        return None
    return ScoringProblem(
        X=np.ascontiguousarray(to_dense(X)[:, penalised]),
        y=y,
        weights=weights,
        lower=lower[penalised],
        upper=upper[penalised],
        intercept=(0, 0) if penalised.all() else (int(lower[0]), int(upper[0])),
        price=Fraction(sparsity.mu0),
        size_price=Fraction(sparsity.mu1),
        most=min([int(penalised.sum()), *(k for k in (sparsity.most, *limits) if k is not None)]),
        threshold=Fraction(threshold),
    )
