"""The passes over the rows for a Newton step: margins, the gradient's sum and the second derivatives, block by block."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np

from ...models.arrays import FloatArray
from ...models.views import LinearProblem
from ...rows import LOOK_BYTES, Block
from .loops import add_squares

__all__ = ["curvature_times", "margins", "margins_and_pulled", "pulled", "second_derivatives", "squares_of_columns"]

#: Points whose loss is curved, and how much, of a range of points.
Curved = Callable[[slice], FloatArray]
#: α of a range of points once their margins have grown by so much.
Weights = Callable[[slice, FloatArray], FloatArray]


def _parts(problem: LinearProblem, block_bytes: float) -> Iterator[tuple[slice, Block]]:
    for start, stop, block in problem.rows.blocks(block_bytes):
        yield slice(start, stop), block


def margins(problem: LinearProblem, w: FloatArray, block_bytes: float) -> FloatArray:
    """y_i x_i'w."""
    found = np.empty(problem.n)
    for part, block in _parts(problem, block_bytes):
        np.multiply(block @ w, problem.y[part], out=found[part])
    return found


def margins_and_pulled(
    problem: LinearProblem, w: FloatArray, weights: Weights, block_bytes: float
) -> tuple[FloatArray, FloatArray]:
    """y_i x_i'w, and Σ α_i y_i x_i for the α that follow from them, in one pass: both products find a block in the cache."""
    found, pulled = np.empty(problem.n), np.zeros(problem.rows.shape[1])
    for part, block in _parts(problem, min(block_bytes, LOOK_BYTES)):
        y = problem.y[part]
        np.multiply(block @ w, y, out=found[part])
        pulled += block.T @ (weights(part, found[part]) * y)
    return found, pulled


def pulled(problem: LinearProblem, alpha: FloatArray, block_bytes: float) -> FloatArray:
    """Σ α_i y_i x_i."""
    found = np.zeros(problem.rows.shape[1])
    for part, block in _parts(problem, block_bytes):
        found += block.T @ (alpha[part] * problem.y[part])
    return found


def second_derivatives(
    problem: LinearProblem, alpha: FloatArray | None, curved: Curved, block_bytes: float
) -> tuple[FloatArray, FloatArray]:
    """Σ α_i y_i x_i (zero without α) and Σ d_i x_i x_i' in one pass."""
    p = problem.rows.shape[1]
    found, H = np.zeros(p), np.zeros((p, p))
    dense = _Squares(H, problem.n)
    for part, block in _parts(problem, block_bytes):
        if alpha is not None:
            found += block.T @ (alpha[part] * problem.y[part])
        d = curved(part)
        if isinstance(block, np.ndarray):
            dense.add(block, d)
        else:
            add_squares(*block.arrays(), d, H)
    dense.finish()
    if not isinstance(block, np.ndarray):
        H += np.tril(H, -1).T
    return found, H


class _Squares:
    """H += Σ d_i x_i x_i', the rows scaled by √d_i, a cache's worth of those with d_i > 0 at a time."""

    def __init__(self, H: FloatArray, n: int) -> None:
        self._H, self._held = H, 0
        self._rows = np.empty((min(max(2**19 // H.shape[0], 64), n), H.shape[0]))

    def add(self, block: FloatArray, d: FloatArray) -> None:
        at = np.flatnonzero(d > 0)
        while at.size:
            room = self._rows.shape[0] - self._held
            now, at = at[:room], at[room:]
            rows = self._rows[self._held : self._held + now.size]
            np.multiply(block[now], np.sqrt(d[now])[:, None], out=rows)
            self._held += now.size
            if self._held == self._rows.shape[0]:
                self.finish()

    def finish(self) -> None:
        """Add what is held."""
        rows = self._rows[: self._held]
        self._H += rows.T @ rows
        self._held = 0


def curvature_times(problem: LinearProblem, curved: Curved, v: FloatArray, block_bytes: float) -> FloatArray:
    """Σ d_i x_i (x_i'v): a pass, for p too large for a matrix."""
    found = np.zeros(v.size)
    for part, block in _parts(problem, block_bytes):
        d = curved(part)
        if isinstance(block, np.ndarray) and np.count_nonzero(d) < 0.5 * d.size:
            chosen = np.flatnonzero(d)
            block, d = block[chosen], d[chosen]
        found += block.T @ (d * (block @ v))
    return found


def squares_of_columns(problem: LinearProblem, curved: Curved, block_bytes: float) -> FloatArray:
    """Σ d_i x_ij²: the diagonal that conjugate gradients are preconditioned by."""
    found = np.zeros(problem.rows.shape[1])
    for part, block in _parts(problem, block_bytes):
        d = curved(part)
        found += (block * block).T @ d if isinstance(block, np.ndarray) else block.column_squares(d)
    return found
