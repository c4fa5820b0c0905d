"""Local search on the 0-1 objective: exact minimisation along many lines at once.

Along w + t d the objective is a parabola plus a step at every crossing of a margin, so its global minimiser is at the parabola's
vertex or at a crossing: sort, and sum the steps. A batch of directions is one matrix product and one sort in NumPy: nothing is
compiled, and with 20 directions the arrays are large enough that NumPy takes no longer than compiled loops.

Margins within `NEAR` of 1 count as kept here; `solvers.zero_one.incumbent` makes them exact and evaluates the true objective.
"""

from __future__ import annotations

import math

import numpy as np

from ...models.arrays import FloatArray

__all__ = ["BATCH", "LocalSearch", "line_minima"]

NEAR = 1e-9
#: Directions of a batch, and the relative gain below which a point counts as no better: small gains are those of the norm, and
#: the least norm that keeps the same points is one quadratic program (`incumbent.Polish`).
BATCH, _GAIN = 20, 1e-3
#: Share of the directions that are random; the others (nearly) keep the margins that are closest to 1.
_RANDOM = 0.4
#: Elements of a batch's matrices, at most: fewer directions where there are very many points.
_ELEMENTS = 500_000


class LocalSearch:
    """A descent from one point that can be interrupted after every batch.

    Parameters
    ----------
    rows : ndarray (n, p)
        Reduced rows g_i.
    weights : ndarray (n,)
        λ_i.
    free : bool
        The last coordinate is not part of the norm.
    start : ndarray (p,)
    rng : numpy Generator
    patience : int
        Directions in a row that find nothing better end the search.
    """

    def __init__(
        self, rows: FloatArray, weights: FloatArray, free: bool, start: FloatArray, rng: np.random.Generator, patience: int
    ) -> None:
        self._rows, self._weights, self._free, self._rng, self._patience = rows, weights, free, rng, patience
        step, _ = line_minima(rows, weights, free, np.zeros(rows.shape[1]), start[:, None])
        self._move(start * float(step[0]))
        self._lost = 0
        self._batch = max(min(BATCH, _ELEMENTS // rows.size), 4)

    @property
    def finished(self) -> bool:
        """Whether the last batches found nothing better."""
        return self._lost >= self._patience

    def step(self) -> None:
        """One batch of lines through w; the best of their minimisers is the next w, if it is better."""
        directions = self._directions()
        steps, values = line_minima(self._rows, self._weights, self._free, self.w, directions)
        best = int(values.argmin())
        new = self.w + float(steps[best]) * directions[:, best]
        self._lost += self._batch
        value = self._value(new)
        if value < self.value * (1.0 - _GAIN):
            self._lost = 0
        if value < self.value:
            self._move(new)

    @property
    def cost(self) -> float:
        """Of a batch: about nanoseconds, counted, not timed."""
        n, p = self._rows.shape
        return self._batch * (n * (2.0 * p + 150.0) + 0.5 * p**3) + 2e5

    def _move(self, w: FloatArray) -> None:
        self.w, self.value = w, self._value(w)
        n, p = self._rows.shape
        self._near = np.argsort(np.abs(self._rows @ w - 1.0), kind="stable")[: min(n, 2 * p + 4)]

    def _value(self, w: FloatArray) -> float:
        """||w_pen||² + Σ λ_i 1{g_i'w < 1 - NEAR}."""
        part = w[:-1] if self._free else w
        return float(part @ part) + float(self._weights[self._rows @ w < 1.0 - NEAR].sum())

    def _directions(self) -> FloatArray:
        """(p, batch) directions of length one: random, or what (nearly) keeps p - 1 of the margins that are closest to 1."""
        p, count = self._rows.shape[1], self._batch
        found = self._rng.standard_normal((count, p))
        tight = (self._rng.random(count) >= _RANDOM).nonzero()[0] if p > 1 else np.zeros(0, dtype=np.int64)
        if tight.size:
            chosen = self._rows[self._near[self._rng.integers(0, self._near.size, (tight.size, p - 1))]]
            gram = chosen.transpose(0, 2, 1) @ chosen
            trace = gram.trace(axis1=1, axis2=2)
            gram += (1e-10 * trace + 1e-300)[:, None, None] * np.eye(p)
            found[tight] = np.linalg.solve(gram, found[tight][:, :, None])[:, :, 0]
        norms = np.sqrt((found * found).sum(axis=1))
        usable = np.isfinite(norms) & (norms > 0.0)
        found[~usable], norms[~usable] = 1.0, math.sqrt(p)
        return np.ascontiguousarray((found / norms[:, None]).T)


def line_minima(
    rows: FloatArray, weights: FloatArray, free: bool, w: FloatArray, directions: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """Global minimisers t of the 0-1 objective along w + t d for the columns d of ``directions``, and their values.

    Parameters
    ----------
    rows, weights : ndarray (n, p), (n,)
    free : bool
        The last coordinate is not part of the norm.
    w : ndarray (p,)
    directions : ndarray (p, k)

    Returns
    -------
    steps, values : ndarray (k,)
    """
    penalised = slice(0, -1) if free else slice(None)
    base, d = w[penalised], directions[penalised]
    a0, a1, a2 = float(base @ base), base @ d, (d * d).sum(axis=0)
    margins, slopes = (rows @ w)[:, None], rows @ directions
    flat = np.abs(slopes) < 1e-13
    with np.errstate(divide="ignore", invalid="ignore"):
        at = np.where(flat, np.inf, (1.0 - margins) / slopes)
        vertex = np.where(a2 > 0.0, -a1 / a2, 0.0)
    # at t = -∞: what rises is violated, what falls is kept; a margin of exactly 1 is kept
    rises = slopes > 0.0
    cost = (weights[:, None] * np.where(flat, margins < 1.0 - NEAR, rises)).sum(axis=0)
    order = np.argsort(at, axis=0, kind="stable")
    columns = np.arange(order.shape[1])
    at = at[order, columns]
    jump = np.where(flat, 0.0, np.where(rises, -weights[:, None], weights[:, None]))[order, columns]
    total = np.cumsum(jump, axis=0)
    # a falling margin is still kept at its crossing
    here = cost + total - np.maximum(jump, 0.0)
    crossing = np.where(np.isfinite(at), at, 0.0)
    values = np.where(np.isfinite(at), a0 + crossing * (2.0 * a1 + crossing * a2) + here, np.inf)
    best = values.argmin(axis=0)
    steps, lowest = crossing[best, columns], values[best, columns]
    bottom = a0 + vertex * (2.0 * a1 + vertex * a2) + weights @ (margins + vertex * slopes < 1.0 - NEAR)
    lower = bottom < lowest
    return np.where(lower, vertex, steps), np.where(lower, bottom, lowest)
