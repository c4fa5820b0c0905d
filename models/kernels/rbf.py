"""The RBF kernel on given points by powers of two, for solver steps and products, and its Taylor series as explicit features.

Dense points are moved to their mean, which keeps the digits of their differences; sparse ones are taken as they are.

*Powers of two.* exp(-γ||x_i - x_j||²) = 2^(z_i'z_j - h_i - h_j) with the scaled points z_i = √(2γ log₂e) (x_i - mean), mean = 0
if they are sparse, and h_i = ½||z_i||². Methods return entries scale·s_i s_j (k(x_i, x_j) + offset), s_i a sign of point i.

*The RBF kernel's Taylor series.* With u = √(2γ)(x - mean), and v the same of x', in any orthogonal coordinates

    exp(-γ||x - x'||²) = e^{-||u||²/2} e^{-||v||²/2} Σ_a Π_j u_j^{a_j} v_j^{a_j}/a_j!

over all vectors a of exponents (Cotter, Keshet and Srebro 2011, "Explicit approximations of the Gaussian kernel"). Each term is
φ_a(x) φ_a(x') with one function φ_a, so the sum of the terms that are left out is positive semidefinite. The leading terms are
those that are largest in the mean over normal points with the data's principal variances.
"""

from __future__ import annotations

import functools
import heapq
import itertools
import math
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import scipy.sparse as sp

from ..arrays import FloatArray, IntArray, Points, SingleArray, row_norms_squared
from .float32 import SparseProducts, points_in_float32, product_rows
from .kernels import RBF
from .panels import STRIP, BlockPanel, EntryEncoding, ExponentPanel, Panel, PointStrips, RoundedPanel
from .threads import run_on_threads, split_range, thread_count


@dataclass(frozen=True)
class TaylorTerm:
    """A term of the Taylor series: an earlier term times a coordinate u_j, divided by the square root of its exponent.

    Parameters
    ----------
    parent : int
        Index of the earlier term; -1 for the first term, which is the constant.
    axis : int
        The coordinate.
    exponent : int
        The exponent that the coordinate gets.
    """

    parent: int
    axis: int
    exponent: int


def leading_terms(variances: FloatArray, count: int) -> list[TaylorTerm]:
    """Return the ``count`` largest terms, the largest first, for coordinates u_j with these decreasing variances t_j.

    The mean of φ_a(x)² is a product over coordinates of the means of u^{2a}e^{-u²}/a!, which are t^a (2a - 1)!!/(a! (1 + 2t)^{a
    + ½}) for normal u of variance t. Relative to a = 0 this falls with a and rises with t, so a term comes after its parent,
    and a new coordinate after the one before.
    """
    shares = (variances / (1.0 + 2.0 * variances)).tolist()
    terms: list[TaylorTerm] = []
    waiting = [(-1.0, 0, -1.0, TaylorTerm(-1, 0, 0))]
    serial = 1

    def wait(size: float, term: TaylorTerm) -> None:
        nonlocal serial
        if term.axis < len(shares) and shares[term.axis] > 0.0:
            ratio = shares[term.axis] * (2 * term.exponent - 1) / term.exponent
            heapq.heappush(waiting, (size * ratio, serial, size, term))
            serial += 1

    while len(terms) < count and waiting:
        size, _, before, term = heapq.heappop(waiting)
        place = len(terms)
        terms.append(term)
        wait(size, TaylorTerm(place, term.axis, term.exponent + 1))
        if term.exponent:
            wait(size, TaylorTerm(place, term.axis + 1, 1))
        if term.exponent == 1:
            wait(before, TaylorTerm(term.parent, term.axis + 1, 1))
    return terms


class TaylorSeries:
    """The leading terms of the RBF kernel's Taylor series as features b_a(x_i) = f_i φ_a(x_i), φ_a of the module's docstring.

    Σ_a b_a(x_i) b_a(x_j) ≈ f_i f_j (2^(z_i'z_j - h_i - h_j) + offset), with the constant feature f_i √offset among them.

    Parameters
    ----------
    Z : ndarray (n, p)
        The scaled points z_i as rows.
    half : ndarray (n,)
        h_i.
    factors : ndarray (n,)
        f_i, √scale times the sign of point i.
    offset : float
        ≥ 0; where it is positive, f·√offset is the first row.
    count : int
        The largest number of rows.
    """

    def __init__(self, Z: FloatArray, half: FloatArray, factors: SingleArray, offset: float, count: int) -> None:
        variances, axes = np.linalg.eigh(Z.T @ Z * (math.log(2.0) / len(Z)))
        self._constants = [math.sqrt(offset)] if offset > 0.0 else []
        self._terms = leading_terms(np.maximum(variances[::-1], 0.0), count - len(self._constants))
        self._axes = axes[:, ::-1] * math.sqrt(math.log(2.0))
        self._Z, self._half, self._factors = Z, half, factors

    @property
    def count(self) -> int:
        """Return the number of rows: the given count, or fewer where all points coincide."""
        return len(self._terms) + len(self._constants)

    def rows(self, points: IntArray, out: SingleArray) -> None:
        """Write the features of the given points into ``out``, one row for each term."""
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


#: Rows and columns of the blocks of a float64 product: half a megabyte, which stays in a core's own cache.
_ROWS, _WIDTH = 128, 512
#: Rows of a block for sparse data, whose products cost the same for any number of rows.
_SPARSE_ROWS = 64


@dataclass(frozen=True, eq=False)
class RBFExponents:
    """The RBF kernel between given points as 2^(z_i'z_j - h_i - h_j), with scaled points in float64 and (on first use) float32.

    Parameters
    ----------
    Z : ndarray or csr_array (n, p)
        Points times √(2γ log2 e), dense ones about their mean.
    half : ndarray (n,)
        h = ½||z||².
    """

    Z: Points
    half: FloatArray

    @classmethod
    def of(cls, kernel: RBF, X: Points) -> RBFExponents:
        """Return the operator of a fitted kernel on the points X."""
        assert not isinstance(kernel.gamma, str)
        root = math.sqrt(2.0 * kernel.gamma * math.log2(math.e))
        Z = X * root if sp.issparse(X) else (X - X.mean(axis=0)) * root
        return cls(Z, 0.5 * row_norms_squared(Z))

    @staticmethod
    @functools.cache
    def load(*, rows: bool, products: bool, panels: bool) -> None:
        """Load the compiled loops of dense points, for float32 ``rows``, ``products`` and float32 ``panels``; they are compiled
        once for a machine.
        """
        n = _ROWS + 2
        points, one = RBFExponents(np.zeros((n, 1)), np.zeros(n)), np.ones(n, dtype=np.float32)
        if rows:
            points.single_rows(np.arange(2), one, 0.0, 1.0)
        if products:
            points.product(np.ones(n))
        if panels:
            points.panel(np.arange(n), one, 0.0, 1.0, np.zeros(n)).product(np.arange(2), one)

    @cached_property
    def _single(self) -> tuple[Any, SingleArray]:
        return points_in_float32(self.Z), self.half.astype(np.float32)

    def single_rows(
        self, indices: IntArray, signs: SingleArray, offset: float, scale: float, out: SingleArray | None = None
    ) -> SingleArray:
        """Return scale·s_i s_j (k(x_i, x_j) + offset), len(indices) × n in float32, s_i the ``signs``; in ``out`` if given."""
        from .loops import write_kernel_values_single

        Z, half = self._single
        row_half, row_signs = half[indices], signs[indices]
        count = thread_count(indices.size * half.size)
        if count == 1 or isinstance(Z, SparseProducts):
            block = product_rows(Z, indices, out)
            write_kernel_values_single(block, half, row_half, signs, row_signs, np.float32(offset), np.float32(scale))
            return block
        block = np.empty((indices.size, half.size), dtype=np.float32) if out is None else out
        chosen_rows, parts = Z[indices], split_range(half.size, count)

        def fill(k: int) -> None:
            part = parts[k]
            np.matmul(chosen_rows, Z[part].T, out=block[:, part])
            write_kernel_values_single(
                block[:, part], half[part], row_half, signs[part], row_signs, np.float32(offset), np.float32(scale)
            )

        run_on_threads(fill, count)
        return block

    def single_block(self, rows: IntArray, columns: IntArray, signs: SingleArray, offset: float, scale: float) -> SingleArray:
        """Return scale·s_i s_j (k(x_i, x_j) + offset) for the given i and j in float32."""
        from .loops import write_kernel_values_single

        Z, half = self._single
        block = product_rows(Z, rows, columns=columns)
        write_kernel_values_single(
            block, half[columns], half[rows], signs[columns], signs[rows], np.float32(offset), np.float32(scale)
        )
        return block

    def panel(self, points: IntArray, signs: SingleArray, offset: float, scale: float, loading: FloatArray) -> ExponentPanel:
        """Return the panel (the columns of these points j) of the matrix scale·s_i s_j (k(x_i, x_j) + offset), with loading_i
        added to its diagonal, for dense data.
        """
        Z, half = self._single
        return ExponentPanel(Z, half, EntryEncoding(signs=signs, loading=loading, step=scale, shift=scale * offset), points)

    def rounded_panel(
        self, points: IntArray, signs: SingleArray, offset: float, scale: float, loading: FloatArray
    ) -> RoundedPanel:
        """Return the panel of the same matrix as `panel` with entries of two bytes, for sparse data too."""
        ones = np.ones(self.half.size, dtype=np.float32)
        if sp.issparse(self.Z):
            values: Panel = BlockPanel(lambda rows, columns: self.single_block(rows, columns, ones, 0.0, 1.0), points)
        else:
            values = self.panel(points, ones, 0.0, 1.0, np.zeros(self.half.size))
        return RoundedPanel(values, signs, offset, scale, loading)

    def taylor_series(self, count: int, signs: SingleArray, offset: float, scale: float) -> TaylorSeries | None:
        """Return at most ``count`` leading terms of scale·s_i s_j (k(x_i, x_j) + offset); None if sparse, or p ≥ ``count``."""
        if sp.issparse(self.Z) or not self.Z.shape[1] < count:
            return None
        return TaylorSeries(self.Z, self.half, np.float32(math.sqrt(scale)) * signs, offset, count)

    def product(self, weights: FloatArray) -> FloatArray:
        """Return Σ_i w_i k(x_i, x_j) for every j, over the non-zero weights, in float64."""
        from .loops import add_weighted_exponentials

        support, n = np.flatnonzero(weights), self.half.size
        if isinstance(self.Z, np.ndarray):
            return self._dense_product(self.Z, support, weights[support])
        features, store = SparseProducts(self.Z), np.empty((_SPARSE_ROWS, n))
        result = np.zeros(n)
        for start in range(0, support.size, _SPARSE_ROWS):
            chosen = support[start : start + _SPARSE_ROWS]
            block = features.rows(chosen, store[: chosen.size])
            add_weighted_exponentials(block, self.half, self.half[chosen], weights[chosen], result)
        return result

    def _dense_product(self, Z: FloatArray, support: IntArray, weights: FloatArray) -> FloatArray:
        """Return the product; an entry between two points of the support is computed once and used for both."""
        others = np.setdiff1d(np.arange(self.half.size), support, assume_unique=True)
        size = -(-support.size // STRIP) * STRIP  # the other points begin at a strip, after fill-in points of weight zero
        order, ordered_weights = np.zeros(size + others.size, dtype=np.int64), np.zeros(size)
        order[: support.size], order[size:], ordered_weights[: support.size] = support, others, weights
        Z, half, n, count = Z[order], self.half[order], order.size, thread_count(support.size * self.half.size)
        strips, sums = PointStrips(Z, half), np.zeros((count, n))

        def add(starts: range, out: FloatArray) -> None:
            store = np.empty(_ROWS * _WIDTH)
            for start in starts:
                stop = min(start + _ROWS, size)
                edges = [start, *range(stop, size, _WIDTH), *range(size, n, _WIDTH), n]
                for first, last in itertools.pairwise(edges):
                    block = store[: (stop - start) * (last - first)].reshape(stop - start, last - first)
                    strips.write_powers(Z[start:stop], half[start:stop], first, block)
                    out[first:last] += ordered_weights[start:stop] @ block
                    if stop <= first < size:
                        out[start:stop] += block @ ordered_weights[first:last]

        run_on_threads(lambda k: add(range(k * _ROWS, size, count * _ROWS), sums[k]), count)
        result, total = np.empty(self.half.size), sums.sum(axis=0)
        result[support], result[others] = total[: support.size], total[size:]
        return result
