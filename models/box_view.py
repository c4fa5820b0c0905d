"""The view of problems over boxes: min ½a'(ZZ' + D)a + q'a, its factor in single precision, and what its points mean."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from .arrays import BoolArray, FloatArray, IntArray, SingleArray

__all__ = ["BoxPoint", "BoxQP", "CoarseFactor"]


@dataclass(frozen=True, eq=False)
class BoxPoint:
    """A point of a box QP in its model's form: values and multipliers by label, reduced costs."""

    values: Mapping[str, FloatArray]
    multipliers: Mapping[str, FloatArray]
    reduced: FloatArray


@dataclass(frozen=True, eq=False)
class CoarseFactor:
    """Z rounded to single precision, which gives the directions of a box QP, and what its float64 gradients come from.

    Parameters
    ----------
    Z : ndarray of float32 (m, r)
        C order.
    product : callable
        a to ZZ'a, in float64 from the data.
    exact : callable
        Z in float64, computed when asked for.
    """

    Z: SingleArray
    product: Callable[[FloatArray], FloatArray]
    exact: Callable[[], FloatArray]


@dataclass(frozen=True, eq=False)
class BoxQP:
    """min ½a'(ZZ' + D)a + q'a over lower ≤ a ≤ upper, in factor form.

    Parameters
    ----------
    Z : ndarray (m, r)
        Factor, C order; not read, and may have no columns, where ``gram`` or ``coarse`` is given.
    q : ndarray (m,)
    lower, upper : ndarray (m,)
        Finite.
    ridge : ndarray (m,)
        Diagonal D ≥ 0.
    recover : callable
        The model's point that a belongs to.
    gram : ndarray (m, m), optional
        ZZ', in place of its factor: worth its m² numbers from about r = m on.
    offset : float, optional
        The model's form is the *dual* of this program: its optimum is ``offset`` - min f. None where the form is this program.
    coarse : CoarseFactor, optional
        In place of Z where computing it is most of the work: half of that, half of the memory.
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
        """Number of variables."""
        return int(self.q.size)

    @property
    def width(self) -> int:
        """Scalar multiplications for each variable of a product with ZZ', halved: r, or m/2 where ZZ' is kept."""
        if self.coarse is not None:
            return int(self.coarse.Z.shape[1])
        return int(self.Z.shape[1]) if self.gram is None else (self.n + 1) // 2

    def exactly(self) -> BoxQP:
        """The same program with Z in float64."""
        return self if self.coarse is None else replace(self, Z=self.coarse.exact(), coarse=None)

    def product(self, a: FloatArray) -> FloatArray:
        """ZZ'a."""
        if self.coarse is not None:
            return self.coarse.product(a)
        return np.asarray(self.Z @ (self.Z.T @ a) if self.gram is None else self.gram @ a)

    def among(self, chosen: IntArray | BoolArray) -> FloatArray:
        """The rows and columns of ZZ' that are chosen, semidefinite; rounded where ``coarse`` is given. A copy."""
        if self.gram is not None:
            return np.asarray(self.gram[np.ix_(chosen, chosen)])
        rows = self.Z[chosen] if self.coarse is None else self.coarse.Z[chosen].astype(np.float64)
        return np.asarray(rows @ rows.T)

    @cached_property
    def diagonal(self) -> FloatArray:
        """Of ZZ' + D."""
        Z = self.Z if self.coarse is None else self.coarse.Z
        own = np.einsum("ij,ij->i", Z, Z).astype(np.float64) if self.gram is None else np.diagonal(self.gram)
        return np.asarray(own + self.ridge)

    def gradient(self, a: FloatArray) -> FloatArray:
        """(ZZ' + D)a + q, in float64 from the data."""
        return np.asarray(self.product(a) + self.ridge * a + self.q)

    def objective(self, a: FloatArray, gradient: FloatArray | None = None) -> float:
        """½a'(ZZ' + D)a + q'a = ½a'(∇ + q)."""
        g = self.gradient(a) if gradient is None else gradient
        return 0.5 * float(a @ (g + self.q))

    def gap(self, a: FloatArray, gradient: FloatArray | None = None) -> float:
        """Duality gap at a feasible a: Σ_i ∇_i a_i - min over the box of ∇_i x.

        Minimising the linearisation at a over the box bounds the optimum from below by f(a) - gap.
        """
        g = self.gradient(a) if gradient is None else gradient
        return float(np.sum(np.where(g > 0, g * (a - self.lower), g * (a - self.upper))))
