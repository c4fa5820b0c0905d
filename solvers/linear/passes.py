"""Passes of ``linear-newton`` over the n margins and over blocks of rows, and dual coordinate descent on sparse rows in memory.

The compiled loops come first, then the passes over blocks of rows, which are read from memory or disk.

The problem is min μ||w||² + Σ c_i ℓ(u_i) with margins u_i = y_i x_i'w and costs c_i; σ > 0 and a are the parameter and the
multipliers by which `newton` smooths the hinge. r_i = 1 - u_i is the shortfall of the margin u_i. The weight α_i is minus the
slope of the (smoothed) loss times c_i, by the number ``kind`` of the loss: clip(a_i + σ r_i, 0, c_i) for 1, the hinge, 2 c_i
(r_i)_+ for 2, its square, and c_i/(1 + e^{u_i}) for 3, the logistic loss. ``step`` is 0 if c is one number for all, else 1.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from ...models.arrays import FloatArray, IntArray, row_norms_squared
from ...models.views import LinearLoss, LinearProblem
from ...rows import DEFAULT_BLOCK_BYTES, Block, MemoryRows
from ..interface.numba_flags import Loops, entry

#: For loops over the entries of one sparse row: where sums may be reordered, LLVM gathers, which takes half as long again.
_ordered = Loops(frozenset())


@entry
def evaluate_weights(u: Any, a: Any, c: Any, step: int, sigma: float, kind: int, alpha: Any, sums: Any) -> None:
    """Write α, and into sums: Σ c ℓ, minus Σ of the conjugates at -α, and the number of points with curved loss.

    The conjugates come to -Σα, with Σα²/(4c) more for squares; of the logistic loss to minus the entropies
    c (log(1 + e^-|u|) + |u|/(1 + e^|u|)).
    """
    loss, dual, curved = 0.0, 0.0, 0.0
    for i in range(u.size):
        r = 1.0 - u[i]
        ci = c[i * step]
        short = max(r, 0.0)
        if kind == 3:
            size = abs(u[i])
            power = math.exp(-size)
            tail = math.log1p(power)
            share = power / (1.0 + power)
            w = ci * share if u[i] > 0.0 else ci / (1.0 + power)
            loss += ci * (max(-u[i], 0.0) + tail)
            dual += ci * (tail + size * share)
            curved += 1.0
        elif kind == 2:
            w = 2.0 * ci * short
            loss += ci * short * short
            dual += w - w * w / (4.0 * ci)
            curved += 1.0 if r > 0.0 else 0.0
        else:
            z = a[i] + sigma * r
            w = min(max(z, 0.0), ci)
            loss += ci * short
            dual += w
            curved += 1.0 if (z > 0.0) and (z < ci) else 0.0
        alpha[i] = w
    sums[0], sums[1], sums[2] = loss, dual, curved


@entry
def negative_loss_slope(t: float, u: Any, du: Any, a: Any, c: Any, step: int, sigma: float, kind: int) -> float:
    """Return Σ α_i du_i at the margins u + t du, t a step length: minus the slope of the losses in t."""
    total = 0.0
    for i in range(u.size):
        r = 1.0 - u[i] - t * du[i]
        ci = c[i * step]
        if kind == 3:
            m = 1.0 - r
            power = math.exp(-abs(m))
            w = ci * power / (1.0 + power) if m > 0.0 else ci / (1.0 + power)
        elif kind == 2:
            w = 2.0 * ci * max(r, 0.0)
        else:
            w = min(max(a[i] + sigma * r, 0.0), ci)
        total += w * du[i]
    return total


@entry
def add_squares(data: Any, indices: Any, indptr: Any, curvature: Any, H: Any) -> None:
    """Add Σ d_i x_i x_i', d = ``curvature``, over the CSR rows with d_i > 0 to the lower triangle of H; indices increase."""
    for i in range(curvature.size):
        d = curvature[i]
        if d > 0.0:
            for k in range(indptr[i], indptr[i + 1]):
                v = d * data[k]
                row = indices[k]
                for m in range(indptr[i], k + 1):
                    H[row, indices[m]] += v * data[m]


@_ordered.entry
def descend(X: Any, points: Any, alpha: Any, w: Any, order: Any, numbers: Any, parameters: Any) -> None:
    """Maximise the dual over one α_i after the other, of the active points in ``order``, and update w = Σ α_i y_i x_i/(2μ).

    The slope of a point is minus the dual's derivative in α_i. A point at a bound leaves the active ones if its slope is beyond
    the extremes of the last epoch (Hsieh et al. 2008, (15)). ``X`` is CSR data, indices and indptr; ``points`` are labels y,
    costs c and squared norms of the rows. ``numbers`` are the number of active points, the largest and the smallest slope;
    ``parameters`` are 1/(2μ), and 1 for the squared hinge, else 0.
    """
    data, indices, indptr = X
    y, c, squares = points
    scale, squared, active = parameters[0], parameters[1] > 0.0, int(numbers[0])
    high, low, largest, smallest = numbers[1], numbers[2], -1e300, 1e300
    t = 0
    while t < active:
        i = order[t]
        cost = c[i] if c.size > 1 else c[0]
        diagonal_term = 0.5 / cost if squared else 0.0
        score = 0.0
        for e in range(indptr[i], indptr[i + 1]):
            score += data[e] * w[indices[e]]
        g = y[i] * score - 1.0 + diagonal_term * alpha[i]
        lower, upper = alpha[i] <= 0.0, not squared and alpha[i] >= cost
        if (lower and g > high) or (upper and g < low):
            active -= 1
            order[t], order[active] = order[active], i
            continue
        t += 1
        if (lower and g >= 0.0) or (upper and g <= 0.0):
            continue
        largest, smallest = max(largest, g), min(smallest, g)
        curvature = scale * squares[i] + diagonal_term
        old = alpha[i]
        new = max(old - g / curvature, 0.0) if curvature > 0.0 else cost
        if not squared:
            new = min(new, cost)
        if new != old:
            alpha[i] = new
            step = (new - old) * y[i] * scale
            for e in range(indptr[i], indptr[i + 1]):
                w[indices[e]] += step * data[e]
    numbers[0] = active
    numbers[1] = largest if largest > 0.0 else 1e300
    numbers[2] = smallest if smallest < 0.0 else -1e300


#: A function that returns the second derivatives d_i of the losses of a range of points in their margins.
LossCurvature = Callable[[slice], FloatArray]
#: A function that returns α of a range of points after their margins have grown.
Weights = Callable[[slice, FloatArray], FloatArray]


def row_blocks(problem: LinearProblem, block_bytes: float) -> Iterator[tuple[slice, Block]]:
    """Yield blocks of about ``block_bytes`` bytes, one row at least, each with the range of its rows."""
    for start, stop, block in problem.rows.blocks(block_bytes):
        yield slice(start, stop), block


def margins(problem: LinearProblem, w: FloatArray, block_bytes: float) -> FloatArray:
    """Return the margins y_i x_i'w of w."""
    u = np.empty(problem.n)
    for part, block in row_blocks(problem, block_bytes):
        np.multiply(block @ w, problem.y[part], out=u[part])
    return u


def margins_and_weighted_row_sum(
    problem: LinearProblem, w: FloatArray, weights: Weights, block_bytes: float
) -> tuple[FloatArray, FloatArray]:
    """Return the margins y_i x_i'w, and Σ α_i y_i x_i for the α that ``weights`` returns for them, in one pass over the rows."""
    u, row_sum = np.empty(problem.n), np.zeros(problem.rows.shape[1])
    for part, block in row_blocks(problem, min(block_bytes, DEFAULT_BLOCK_BYTES)):
        y = problem.y[part]
        np.multiply(block @ w, y, out=u[part])
        row_sum += block.T @ (weights(part, u[part]) * y)
    return u, row_sum


def weighted_row_sum(problem: LinearProblem, alpha: FloatArray, block_bytes: float) -> FloatArray:
    """Return Σ α_i y_i x_i."""
    total = np.zeros(problem.rows.shape[1])
    for part, block in row_blocks(problem, block_bytes):
        total += block.T @ (alpha[part] * problem.y[part])
    return total


def second_derivatives(
    problem: LinearProblem, alpha: FloatArray | None, curved: LossCurvature, block_bytes: float
) -> tuple[FloatArray, FloatArray]:
    """Return Σ α_i y_i x_i (zero without α) and Σ d_i x_i x_i', d = ``curved``, in one pass."""
    p = problem.rows.shape[1]
    total, H = np.zeros(p), np.zeros((p, p))
    dense = _SquaresAccumulator(H, problem.n)
    for part, block in row_blocks(problem, block_bytes):
        if alpha is not None:
            total += block.T @ (alpha[part] * problem.y[part])
        d = curved(part)
        if isinstance(block, np.ndarray):
            dense.add(block, d)
        else:
            add_squares(*block.arrays(), d, H)
    dense.finish()
    if not isinstance(block, np.ndarray):
        H += np.tril(H, -1).T
    return total, H


class _SquaresAccumulator:
    """Accumulator of H += Σ d_i x_i x_i' from rows scaled by √d_i, d_i > 0, in batches that fit the cache."""

    def __init__(self, H: FloatArray, n: int) -> None:
        self._H, self._held = H, 0
        self._rows = np.empty((min(max(2**19 // H.shape[0], 64), n), H.shape[0]))

    def add(self, block: FloatArray, d: FloatArray) -> None:
        indices = np.flatnonzero(d > 0)
        while indices.size:
            free_rows = self._rows.shape[0] - self._held
            batch, indices = indices[:free_rows], indices[free_rows:]
            rows = self._rows[self._held : self._held + batch.size]
            np.multiply(block[batch], np.sqrt(d[batch])[:, None], out=rows)
            self._held += batch.size
            if self._held == self._rows.shape[0]:
                self.finish()

    def finish(self) -> None:
        """Add the last batch."""
        rows = self._rows[: self._held]
        self._H += rows.T @ rows
        self._held = 0


def curvature_times(problem: LinearProblem, curved: LossCurvature, v: FloatArray, block_bytes: float) -> FloatArray:
    """Return Σ d_i x_i (x_i'v), d = ``curved``, by one pass, for p too large for a matrix."""
    total = np.zeros(v.size)
    for part, block in row_blocks(problem, block_bytes):
        d = curved(part)
        if isinstance(block, np.ndarray) and np.count_nonzero(d) < 0.5 * d.size:
            chosen = np.flatnonzero(d)
            block, d = block[chosen], d[chosen]
        total += block.T @ (d * (block @ v))
    return total


def squares_of_columns(problem: LinearProblem, curved: LossCurvature, block_bytes: float) -> FloatArray:
    """Return Σ_i d_i x_ij² for each column j, d = ``curved``: the diagonal that preconditions conjugate gradients."""
    total = np.zeros(problem.rows.shape[1])
    for part, block in row_blocks(problem, block_bytes):
        d = curved(part)
        total += (block * block).T @ d if isinstance(block, np.ndarray) else block.column_squares(d)
    return total


#: Largest growth of the number of epochs from one check of the gap to the next.
_EPOCH_GROWTH = 2.0


@dataclass(eq=False)
class CoordinateDescent:
    """Dual coordinate descent on a hinge loss or its square: α and w; the first ``numbers[0]`` points of ``order`` are active."""

    problem: LinearProblem  #: the classifier in memory
    rows: tuple[FloatArray, IntArray, IntArray]  #: CSR data, indices and indptr
    squares: FloatArray  #: (n,) ||x_i||²
    alpha: FloatArray  #: (n,) multipliers α
    w: FloatArray  #: (p,) Σ α_i y_i x_i/(2μ)
    order: IntArray  #: (n,) points, the active ones first
    rng: np.random.Generator  #: draws the order of each epoch
    numbers: FloatArray  #: active points; largest and smallest projected gradient of the last epoch
    epochs: int = 0  #: epochs so far
    next_gap_check: int = 2  #: epoch after which the gap is computed next
    last_gap_check: tuple[int, float] = (1, 1.0)  #: epochs and relative gap at the last check

    @classmethod
    def of(cls, problem: LinearProblem, rng: np.random.Generator) -> CoordinateDescent | None:
        """Return descent from α = 0; None for dense rows, rows on disk, a free intercept, and the logistic loss."""
        rows, smooth = problem.rows, problem.loss is LinearLoss.LOGISTIC
        if smooth or problem.free or not isinstance(rows, MemoryRows) or isinstance(rows.X, np.ndarray):
            return None
        n, p = rows.shape
        X, numbers = (rows.X.data, rows.X.indices, rows.X.indptr), np.array([n, np.inf, -np.inf])
        return cls(problem, X, row_norms_squared(rows.X), np.zeros(n), np.zeros(p), np.arange(n), rng, numbers)

    def epoch(self) -> bool:
        """Take a step on each active coordinate; return whether it is time to check the gap."""
        view = self.problem
        active = int(self.numbers[0])
        self.order[:active] = self.rng.permutation(self.order[:active])
        costs = view.compact_costs
        parameters = np.array([0.5 / view.mu, float(view.loss is LinearLoss.SQUARED_HINGE)])
        X, points = self.rows, (view.y, costs, self.squares)
        descend(X, points, self.alpha, self.w, self.order, self.numbers, parameters)
        self.epochs += 1
        return self.epochs >= self.next_gap_check or self.numbers[0] == 0

    def schedule_gap_check(self, gap: float, tol: float) -> None:
        """Set the epoch of the next check, extrapolating the gap as a power of the number of epochs to the tolerance.

        At most `_EPOCH_GROWTH` times as many epochs may pass: the gap falls as their square at first and then faster, and a check
        takes as long as an epoch.
        """
        epochs, previous = self.last_gap_check
        growth = np.log(_EPOCH_GROWTH)
        if self.epochs > epochs and 0.0 < gap < previous:
            rate = np.log(previous / gap) / np.log(self.epochs / epochs)
            growth = min(np.log(gap / max(tol, 1e-16)) / rate, growth)
        self.last_gap_check = self.epochs, gap
        self.next_gap_check = max(self.epochs + 1, int(np.exp(growth) * self.epochs))

    def reactivate(self, u: FloatArray) -> None:
        """Make inactive points active again if their multiplier, which is at a bound, is not optimal at the margins u of w."""
        active = int(self.numbers[0])
        inactive = self.order[active:]
        wrong = np.where(self.alpha[inactive] > 0.0, u[inactive] > 1.0, u[inactive] < 1.0)
        self.order[active:] = np.concatenate([inactive[wrong], inactive[~wrong]])
        self.numbers[0] += np.count_nonzero(wrong)
