"""A linear or quadratic program as five arrays, l ≤ Ax ≤ u with bounds among the rows, and its answers back by label."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import accumulate
from typing import TYPE_CHECKING

import numpy as np
import scipy.sparse as sp

from ...errors import UnsupportedModelError
from ..arrays import FloatArray, IntArray
from .cones import Nonnegative, Zero

if TYPE_CHECKING:
    from .form_data import FormData

__all__ = ["LinearArrays", "by_label"]


def by_label(form: FormData, z: FloatArray) -> dict[str, FloatArray]:
    """Return multipliers of all rows, in the order of the form, cut by constraint."""
    stops = accumulate(c.rows for c in form.constraints)
    return {c.label: z[stop - c.rows : stop] for c, stop in zip(form.constraints, stops, strict=True)}


@dataclass(frozen=True, eq=False)
class LinearArrays:
    """min ½x'Px + q'x + r subject to l ≤ Ax ≤ u: what most solvers of quadratic programs take.

    The rows of A are those of the form's constraints, in their order, then one for each variable that has a bound.

    Parameters
    ----------
    form : StandardForm
        Continuous, with linear rows alone.

    Raises
    ------
    UnsupportedModelError
        A cone that is not linear, indicators or integers.

    Examples
    --------
    >>> P, q, A, l, u = form.linear()  # doctest: +SKIP
    """

    form: FormData

    def __post_init__(self) -> None:
        other = [c.label for c in self.form.constraints if not isinstance(c.cone, Nonnegative | Zero)]
        if other:
            raise UnsupportedModelError(f"{self.form.name} is no quadratic program: {other[0]} is no linear row")
        if self.form.integer.any():
            raise UnsupportedModelError(f"{self.form.name} has integer variables; form.relax_integrality() has none")

    def __iter__(self) -> Iterator[sp.csc_matrix | FloatArray]:
        return iter((self.P, self.q, self.A, self.lower, self.upper))

    @cached_property
    def P(self) -> sp.csc_matrix:
        """P (n, n), symmetric; of zeros for a linear program."""
        upper = self.upper_P
        return sp.csc_matrix(upper + sp.triu(upper, 1).T)

    @property
    def upper_P(self) -> sp.csc_matrix:
        """The upper triangle of P."""
        form = self.form
        return sp.csc_matrix((form.n, form.n)) if form.quadratic is None else form.quadratic.upper

    @property
    def q(self) -> FloatArray:
        """q (n,), a copy."""
        return np.array(self.form.q)

    @property
    def r(self) -> float:
        """The constant of the objective."""
        return self.form.r

    @cached_property
    def bounded(self) -> IntArray:
        """Variables that have a bound, and a row for it."""
        return np.flatnonzero(np.isfinite(self.form.lower) | np.isfinite(self.form.upper))

    @cached_property
    def A(self) -> sp.csc_matrix:
        """A (rows, n)."""
        bounded = self.bounded
        single = sp.csr_array((np.ones(bounded.size), (np.arange(bounded.size), bounded)), shape=(bounded.size, self.form.n))
        return sp.csc_matrix(sp.vstack([self.form.rows_matrix()[0], single]))

    @cached_property
    def lower(self) -> FloatArray:
        """l (rows,), -∞ where there is none."""
        return np.concatenate([np.zeros(0), *(-c.g for c in self.form.constraints), self.form.lower[self.bounded]])

    @cached_property
    def upper(self) -> FloatArray:
        """u (rows,), ∞ where there is none."""
        sides = (-c.g if isinstance(c.cone, Zero) else np.full(c.rows, np.inf) for c in self.form.constraints)
        return np.concatenate([np.zeros(0), *sides, self.form.upper[self.bounded]])

    def multipliers(self, y: FloatArray) -> dict[str, FloatArray]:
        """Return z by constraint, in the form's sign, from multipliers y of the rows with Px + q + A'y = 0."""
        return by_label(self.form, -y)

    def reduced(self, y: FloatArray) -> FloatArray:
        """Return the multipliers ζ of the bounds (n,), in the form's sign, from the same y."""
        zeta = np.zeros(self.form.n)
        zeta[self.bounded] = -y[y.size - self.bounded.size :]
        return zeta
