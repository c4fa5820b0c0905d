"""Local search on the 0-1 objective by exact minimisation along many lines at once.

Along w + t d the objective is a parabola plus a step at every crossing of a margin. So its global minimiser is the vertex or a
crossing, found by sorting the crossings and summing the steps. A batch of directions takes one matrix product and one sort in
NumPy, with arrays large enough that compiled loops would be no faster.

Margins within `NEAR` of 1 count as kept here; `solvers.zero_one.incumbent` makes them exact and evaluates the true objective.
"""

from __future__ import annotations

import math

import numpy as np

from ...models.arrays import FloatArray

__all__ = ["BATCH", "LocalSearch", "line_minima"]

NEAR = 1e-9
#: Directions of a batch; least relative improvement that counts. Smaller ones only reduce the norm, and one quadratic program
#: finds the least norm that keeps the same points (`incumbent.Polish`).
BATCH, _LEAST_IMPROVEMENT = 20, 1e-3
#: Share of random directions; the others (nearly) preserve the margins that are closest to 1.
_RANDOM_SHARE = 0.4
#: Largest number of entries in a batch's matrices: problems with many points use fewer directions.
_MAX_ELEMENTS = 500_000


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
        Number of consecutive unsuccessful directions that ends the search.
    """

    def __init__(
        self, rows: FloatArray, weights: FloatArray, free: bool, start: FloatArray, rng: np.random.Generator, patience: int
    ) -> None:
        self._rows, self._weights, self._free, self._rng, self._patience = rows, weights, free, rng, patience
        step, _ = line_minima(rows, weights, free, np.zeros(rows.shape[1]), start[:, None])
        self._set_point(start * float(step[0]))
        self._failures = 0
        self._batch = max(min(BATCH, _MAX_ELEMENTS // rows.size), 4)

    @property
    def finished(self) -> bool:
        """True if the last `patience` directions were unsuccessful."""
        return self._failures >= self._patience

    def step(self) -> None:
        """Search a batch of lines through w and move to the best minimiser if it improves the value."""
        directions = self._directions()
        steps, values = line_minima(self._rows, self._weights, self._free, self.w, directions)
        best = int(values.argmin())
        candidate = self.w + float(steps[best]) * directions[:, best]
        self._failures += self._batch
        value = self._value(candidate)
        if value < self.value * (1.0 - _LEAST_IMPROVEMENT):
            self._failures = 0
        if value < self.value:
            self._set_point(candidate)

    @property
    def cost(self) -> float:
        """Counted work of a batch, about nanoseconds; independent of the clock."""
        n, p = self._rows.shape
        return self._batch * (n * (2.0 * p + 150.0) + 0.5 * p**3) + 2e5

    def _set_point(self, w: FloatArray) -> None:
        self.w, self.value = w, self._value(w)
        n, p = self._rows.shape
        self._nearest = np.argsort(np.abs(self._rows @ w - 1.0), kind="stable")[: min(n, 2 * p + 4)]

    def _value(self, w: FloatArray) -> float:
        """Return ||w_pen||² + Σ λ_i 1{g_i'w < 1 - NEAR}."""
        penalised = w[:-1] if self._free else w
        return float(penalised @ penalised) + float(self._weights[self._rows @ w < 1.0 - NEAR].sum())

    def _directions(self) -> FloatArray:
        """Return unit directions (p, batch), random or (nearly) preserving p - 1 of the margins that are closest to 1."""
        p, count = self._rows.shape[1], self._batch
        directions = self._rng.standard_normal((count, p))
        tight = (self._rng.random(count) >= _RANDOM_SHARE).nonzero()[0] if p > 1 else np.zeros(0, dtype=np.int64)
        if tight.size:
            chosen = self._rows[self._nearest[self._rng.integers(0, self._nearest.size, (tight.size, p - 1))]]
            gram = chosen.transpose(0, 2, 1) @ chosen
            trace = gram.trace(axis1=1, axis2=2)
            gram += (1e-10 * trace + 1e-300)[:, None, None] * np.eye(p)
            directions[tight] = np.linalg.solve(gram, directions[tight][:, :, None])[:, :, 0]
        norms = np.sqrt((directions * directions).sum(axis=1))
        usable = np.isfinite(norms) & (norms > 0.0)
        directions[~usable], norms[~usable] = 1.0, math.sqrt(p)
        return np.ascontiguousarray((directions / norms[:, None]).T)


def line_minima(
    rows: FloatArray, weights: FloatArray, free: bool, w: FloatArray, directions: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """Return the global minimisers t of the 0-1 objective along w + t d for the columns d of ``directions``, and their values.

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
        crossings = np.where(flat, np.inf, (1.0 - margins) / slopes)
        vertex = np.where(a2 > 0.0, -a1 / a2, 0.0)
    # at t = -∞ rising margins are violated and falling ones kept; a margin of exactly 1 is kept
    rises = slopes > 0.0
    cost = (weights[:, None] * np.where(flat, margins < 1.0 - NEAR, rises)).sum(axis=0)
    order = np.argsort(crossings, axis=0, kind="stable")
    columns = np.arange(order.shape[1])
    crossings = crossings[order, columns]
    jump = np.where(flat, 0.0, np.where(rises, -weights[:, None], weights[:, None]))[order, columns]
    total = np.cumsum(jump, axis=0)
    # a falling margin is still kept at its crossing
    step_values = cost + total - np.maximum(jump, 0.0)
    finite_crossings = np.where(np.isfinite(crossings), crossings, 0.0)
    values = np.where(np.isfinite(crossings), a0 + finite_crossings * (2.0 * a1 + finite_crossings * a2) + step_values, np.inf)
    best = values.argmin(axis=0)
    steps, crossing_values = finite_crossings[best, columns], values[best, columns]
    vertex_values = a0 + vertex * (2.0 * a1 + vertex * a2) + weights @ (margins + vertex * slopes < 1.0 - NEAR)
    vertex_better = vertex_values < crossing_values
    return np.where(vertex_better, vertex, steps), np.where(vertex_better, vertex_values, crossing_values)
