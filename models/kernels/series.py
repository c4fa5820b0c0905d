"""The RBF kernel's Taylor series: explicit features that leave little of it where points have few directions.

With u = √(2γ)(x - mean), and v the same of x', over all exponents a and in any orthogonal coordinates

    exp(-γ||x - x'||²) = e^{-||u||²/2} e^{-||v||²/2} Σ_a Π_j u_j^{a_j} v_j^{a_j}/a_j!

(Cotter, Keshet and Srebro 2011, "Explicit approximations of the Gaussian kernel"). Each term is a product of equal functions of
the two points, so what terms leave out is positive semidefinite. The leading ones are those that are largest in the mean over
normal points with the data's principal variances.
"""

from __future__ import annotations

import heapq
import math
from dataclasses import dataclass

import numpy as np

from ..arrays import FloatArray, IntArray
from .float32 import SingleArray

__all__ = ["Series", "Term", "leading_terms"]


@dataclass(frozen=True)
class Term:
    """An earlier term, its ``parent``, times coordinate ``axis``, whose exponent becomes ``exponent``; the first has none."""

    parent: int
    axis: int
    exponent: int


def leading_terms(variances: FloatArray, count: int) -> list[Term]:
    """So many terms, the largest first, for u_j of these variances t_j, which fall.

    The mean of u^{2a}e^{-u²}/a! is t^a (2a - 1)!!/(a! (1 + 2t)^{a + ½}) for each coordinate: it falls with a and rises with t, so
    a term comes after the one that it multiplies, and a new coordinate after the one before.
    """
    shares = (variances / (1.0 + 2.0 * variances)).tolist()
    terms: list[Term] = []
    waiting = [(-1.0, 0, -1.0, Term(-1, 0, 0))]
    made = 1

    def wait(size: float, term: Term) -> None:
        nonlocal made
        if term.axis < len(shares) and shares[term.axis] > 0.0:
            ratio = shares[term.axis] * (2 * term.exponent - 1) / term.exponent
            heapq.heappush(waiting, (size * ratio, made, size, term))
            made += 1

    while len(terms) < count and waiting:
        size, _, before, term = heapq.heappop(waiting)
        place = len(terms)
        terms.append(term)
        wait(size, Term(place, term.axis, term.exponent + 1))
        if term.exponent:
            wait(size, Term(place, term.axis + 1, 1))
        if term.exponent == 1:
            wait(before, Term(term.parent, term.axis + 1, 1))
    return terms


class Series:
    """Rows b_a(x_i) = f_i φ_a(x_i) of the leading terms: Σ_a b_a(x_i) b_a(x_j) ≈ f_i f_j (2^(z_i'z_j - h_i - h_j) + offset).

    Parameters
    ----------
    Z : ndarray (n, p)
        Scaled points about their mean.
    half : ndarray (n,)
        h = ½||z||².
    factors : ndarray (n,)
        f.
    offset : float
        At least 0; where it is more, its root is the first row.
    count : int
        Rows at most.
    """

    def __init__(self, Z: FloatArray, half: FloatArray, factors: SingleArray, offset: float, count: int) -> None:
        variances, axes = np.linalg.eigh(Z.T @ Z * (math.log(2.0) / len(Z)))
        self._constants = [math.sqrt(offset)] if offset > 0.0 else []
        self._terms = leading_terms(np.maximum(variances[::-1], 0.0), count - len(self._constants))
        self._axes = axes[:, ::-1] * math.sqrt(math.log(2.0))
        self._Z, self._half, self._factors = Z, half, factors

    @property
    def count(self) -> int:
        """Rows: fewer than asked for where the points have no directions."""
        return len(self._terms) + len(self._constants)

    def rows(self, points: IntArray, out: SingleArray) -> None:
        """Into ``out``, `count` rows, for the given points."""
        factors = self._factors[points]
        for row, constant in zip(out, self._constants, strict=False):
            np.multiply(factors, np.float32(constant), out=row)
        U = np.ascontiguousarray((self._Z[points] @ self._axes).T.astype(np.float32))
        values = out[len(self._constants) :]
        for row, term in zip(values, self._terms, strict=True):
            if term.parent < 0:
                np.multiply(np.exp2(-self._half[points]).astype(np.float32), factors, out=row)
                continue
            np.multiply(values[term.parent], U[term.axis], out=row)
            if term.exponent > 1:
                row *= np.float32(1.0 / math.sqrt(term.exponent))
