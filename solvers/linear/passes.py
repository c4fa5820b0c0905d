"""What a Newton step reads from the rows: margins, the gradient's sum and the second derivatives, block by block."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import scipy.sparse as sp

from ...models.arrays import BoolArray, FloatArray
from ...models.views import LinearProblem
from .loops import add_squares, sparse_products

__all__ = ["curvature_times", "margins", "pulled", "second_derivatives", "squares_of_columns"]

#: Points whose loss is curved, and how much, of a range of points.
Curved = Callable[[slice], FloatArray]


def _parts(problem: LinearProblem, block_bytes: float) -> Iterator[tuple[slice, Any]]:
    for start, stop, block in problem.rows.blocks(block_bytes):
        yield slice(start, stop), block


def margins(problem: LinearProblem, w: FloatArray, block_bytes: float) -> FloatArray:
    """y_i x_i'w."""
    found = np.empty(problem.n)
    for part, block in _parts(problem, block_bytes):
        y = problem.y[part]
        if isinstance(block, np.ndarray):
            np.multiply(block @ w, y, out=found[part])
        else:
            sparse_products(block.data, block.indices, block.indptr, y, w, found[part])
    return found


def pulled(problem: LinearProblem, alpha: FloatArray, block_bytes: float) -> FloatArray:
    """Σ α_i y_i x_i."""
    found = np.zeros(problem.rows.shape[1])
    for part, block in _parts(problem, block_bytes):
        found += block.T @ (alpha[part] * problem.y[part])
    return found


def second_derivatives(
    problem: LinearProblem, alpha: FloatArray, curved: Curved, block_bytes: float
) -> tuple[FloatArray, FloatArray]:
    """Σ α_i y_i x_i and Σ d_i x_i x_i' in one pass."""
    p = problem.rows.shape[1]
    found, H = np.zeros(p), np.zeros((p, p))
    for part, block in _parts(problem, block_bytes):
        found += block.T @ (alpha[part] * problem.y[part])
        d = curved(part)
        if isinstance(block, np.ndarray):
            _add_dense(block, d, H)
        else:
            add_squares(block.data, block.indices, block.indptr, d, H)
    if not isinstance(block, np.ndarray):
        H += np.tril(H, -1).T
    return found, H


def _add_dense(block: FloatArray, d: FloatArray, H: FloatArray) -> None:
    """H += Σ d_i x_i x_i', the rows scaled by √d_i a cache's worth at a time."""
    chosen: BoolArray = d > 0
    at = np.flatnonzero(chosen)
    height = max(2**19 // block.shape[1], 64)
    for start in range(0, at.size, height):
        rows = block[at[start : start + height]]
        rows *= np.sqrt(d[at[start : start + height]])[:, None]
        H += rows.T @ rows


def curvature_times(problem: LinearProblem, curved: Curved, v: FloatArray, block_bytes: float) -> FloatArray:
    """Σ d_i x_i (x_i'v): a pass, for p too large for a matrix."""
    found = np.zeros(v.size)
    for part, block in _parts(problem, block_bytes):
        d = curved(part)
        chosen = np.flatnonzero(d)
        rows: Any = block[chosen] if chosen.size < 0.5 * d.size else block
        d = d[chosen] if rows is not block else d
        found += rows.T @ (d * (rows @ v))
    return found


def squares_of_columns(problem: LinearProblem, curved: Curved, block_bytes: float) -> FloatArray:
    """Σ d_i x_ij²: the diagonal that conjugate gradients are preconditioned by."""
    found = np.zeros(problem.rows.shape[1])
    for part, block in _parts(problem, block_bytes):
        d = curved(part)
        dense = isinstance(block, np.ndarray)
        squares = block * block if dense else sp.csr_array((block.data**2, block.indices, block.indptr), block.shape)
        found += squares.T @ d
    return found
