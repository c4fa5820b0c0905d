"""Solution polishing for SMO on large supports: Newton steps by conjugate gradients on cached columns of Q.

SMO takes these steps from an approximate point where `newton_cholesky` would need too much time or memory.

The problem is min f(x) = ½x'Qx + c'x over x ≥ 0, E'x = 1 (E has a column for each simplex). At a point x with gradient g a guess
S of the support holds the x_i > 0 and the violators, g_i < ν - max |g - ν| on the support, ν the weighted mean of g in i's
simplex. The step minimises ½d'Q_SS d + g_S'd over E'd = 0 by projected conjugate gradients, only as accurately as the guess
warrants; one pass over the columns of S updates g. A weight that has become negative leaves S and is set to zero at the next
step. Clipping it at once would be useless, since the kernel's largest eigenvalues turn a little lost weight into a large change
of g. Steps use the columns' precision; each one starts at the residual, so that errors do not add up. Where float32 can show no
further progress, g is recomputed in float64 from the data. Only feasible points are returned. Only a small matrix is factored:
the preconditioner is Nyström's, Q ≈ B'B + D with B = L⁻¹Q_PS, LL' = Q_PP for random landmarks P, and D the remaining diagonal.
Memory: |S|² numbers of the columns' precision.
"""

from __future__ import annotations

from collections.abc import Generator
from typing import Any

import numpy as np
import scipy.linalg

from ...models.arrays import FloatArray, IntArray
from ...models.kernels.threads import run_on_threads, split_range, thread_count
from ...models.views import SimplexQP
from . import newton_loops as loops
from .column_cache import ColumnCache
from .common import FeasiblePoint
from .newton_cholesky import support_guess_limit
from .projected_cg import CG_STEPS, Preconditioner, Steps, conjugate_gradients, shifted_cholesky, weighted_gram

#: Newton steps of one call, and those without a smaller gap in a row.
_STEPS, _PATIENCE = 40, 12
#: Rows of the matrix computed, gathered or multiplied between two yields.
_PANEL = 1024
#: Landmarks of the preconditioner at first and at most, points of the support for each, and steps that ask for more.
_LANDMARKS, _MOST, _SHARE, _MANY = 256, 1024, 8, 40
#: Change of the guess below which a matrix larger than it by this factor is cut down to it.
_SETTLED, _LOOSE = 0.05, 1.2
#: What a float32 column can be trusted for, relative to the largest diagonal entry.
_ROUNDING = 1e-7


def cg_bytes(support: int, item: int) -> int:
    """Return the bytes of `polish_by_cg` for a support of this size, which may grow by a tenth, at ``item`` bytes a number."""
    return item * int(1.1 * support + 64) ** 2


def cg_seconds(n: int, support: int) -> float:
    """Return a rough estimate of the seconds of `polish_by_cg` for n points and a support S of this size.

    It counts 50 products with Q_SS, two with all columns of S, and compilation.
    """
    return 1e-8 * support**2 + 3.5e-9 * n * support + 0.05


def polish_by_cg(
    view: SimplexQP, cache: ColumnCache, a: FloatArray, gradient: FloatArray, tol: float, *, exact: bool
) -> Generator[None, None, FeasiblePoint]:
    """Improve a feasible point ``a`` by Newton steps with conjugate gradients, and return the best point.

    It ends at a float64 gap of at most tol·|f|, or when steps no longer help. The generator yields often, so that its caller can
    stop it. ``exact`` is True if the ``gradient`` Qa + c is float64 from the data, not updated by float32 columns.
    """
    run = _Iterate(view, cache, a.copy(), gradient.copy(), exact)
    best, best_gap, since = FeasiblePoint(a.copy(), gradient.copy(), 0, exact=exact), np.inf, 0
    matrix = _SupportMatrix(cache, np.flatnonzero(a), view.n)
    yield from matrix.fill()
    yield from matrix.choose_landmarks(_LANDMARKS)
    last, size_limit = np.zeros(0, dtype=np.int64), support_guess_limit(a)
    for count in range(1, _STEPS + 1):
        guess, dropped = run.guess()
        if not dropped.size:
            scale, gap = abs(run.value()), run.gap()
            if gap <= max(tol * scale, 2.0 * run.drift) and not run.exact:
                run.refresh()
                yield
                guess, gap = run.guess()[0], run.gap()
            if gap < best_gap:
                best, best_gap, since = FeasiblePoint(run.x.copy(), run.g.copy(), count, exact=run.exact), gap, 0
            if run.exact and gap <= tol * scale:
                break
        since += 1
        # an empty guess: the point has overflowed; a large one: the point is far from the optimum
        if since > _PATIENCE or not 0 < guess.size <= size_limit:
            break
        if not (yield from matrix.include(guess)):
            landmark_count, matrix = matrix.landmarks.size, _SupportMatrix(cache, np.union1d(guess, dropped), view.n)
            yield from matrix.fill()
            yield from matrix.choose_landmarks(landmark_count)
        share = np.setxor1d(guess, last, assume_unique=True).size / guess.size
        if share < _SETTLED and matrix.members.size > _LOOSE * (guess.size + dropped.size):
            landmark_count = matrix.landmarks.size
            yield from matrix.restrict(np.union1d(guess, dropped))
            yield from matrix.choose_landmarks(landmark_count)
        # a guess that has just changed, or just met float64, will change again
        last, accuracy = guess, 0.1 if share > 0.01 else 0.01 if share > 0.001 or run.exact else 1e-4
        steps = yield from run.step(matrix, guess, dropped, accuracy, max(0.3 * tol * abs(run.value()), 0.05 * run.drift))
        if not run.is_finite():
            break
        if steps > _MANY and matrix.landmarks.size < _MOST:
            yield from matrix.choose_landmarks(_MOST)
        elif steps >= CG_STEPS:
            break
    return best


class _Iterate:
    """A point with Σx = 1, whose negative weights are to be dropped, its gradient, and a bound of the error of float32."""

    def __init__(self, view: SimplexQP, cache: ColumnCache, x: FloatArray, g: FloatArray, exact: bool) -> None:
        self.view, self.cache, self.x, self.g, self.exact = view, cache, x, g, exact
        self._unit = (_ROUNDING if cache.single else 1e-15) * float(np.abs(view.gram.diagonal).max())
        self.drift = 0.0 if exact else self._unit

    def value(self) -> float:
        return 0.5 * float(self.x @ (self.g + self.view.c))

    def gap(self) -> float:
        return self.view.gap(self.x, self.g - self.view.c)

    def is_finite(self) -> bool:
        """Return whether every simplex keeps some weight: on nearly singular matrices rounding in float32 leaves no curvature."""
        mass = np.bincount(self.view.groups, weights=np.maximum(self.x, 0.0), minlength=self.view.simplices)
        return bool(np.isfinite(self.x).all() and np.isfinite(self.g).all() and (mass > 0.0).all())

    def refresh(self) -> None:
        self.g = self.view.gram.product(self.x) + self.view.c
        self.exact, self.drift = True, 0.0

    def guess(self) -> tuple[IntArray, IntArray]:
        """Return the next guess, and the points that it drops, x_i < 0.

        The guess holds the x_i > 0, and the x_i = 0 whose g_i is below ν by more than the largest |g - ν| on the x_i > 0.
        """
        view, x = self.view, self.x
        level = np.bincount(view.groups, weights=x * self.g, minlength=view.simplices)
        below = level[view.groups] - self.g
        residual = float(np.abs(below[x > 0]).max(initial=0.0))  # none: x has overflowed
        return np.flatnonzero((x > 0) | ((x == 0) & (below > residual))), np.flatnonzero(x < 0)

    def step(self, matrix: _SupportMatrix, guess: IntArray, dropped: IntArray, accuracy: float, target: float) -> Steps:
        """Drop negative weights, rescale, solve on the guess and update g; return the number of conjugate gradient steps."""
        view, before = self.view, self.x
        x = np.maximum(before, 0.0)
        total = np.bincount(view.groups, weights=x, minlength=view.simplices)
        x /= total[view.groups]
        touched = np.union1d(guess, dropped)
        r = self.g[matrix.members]
        if dropped.size:
            r = r + matrix.product((x - before)[matrix.members])
        inside = matrix.place[guess]
        inverse = matrix.preconditioner(view, inside)
        yield
        d, _, steps = yield from conjugate_gradients(matrix.steps, inside, inverse, r, accuracy, target)
        x[guess] += d[inside]
        change = (x - before)[touched]
        yield from _add_columns(self.cache, touched, change, self.g)
        self.x, self.exact = x, False
        self.drift += self._unit * float(np.abs(change).sum())
        return steps


def _add_columns(cache: ColumnCache, indices: IntArray, weights: FloatArray, out: FloatArray) -> Steps:
    """out += Σ_k weights_k·Q_k over the given columns, cached ones read and the others computed."""
    slots, sums = cache.slot[indices], np.empty(loops.WIDTH, dtype=cache.columns.dtype)
    for start in range(0, indices.size, _PANEL):
        part = slice(start, start + _PANEL)
        cached = slots[part] >= 0
        part_weights = weights[part].astype(cache.columns.dtype)
        loops.add_weighted_rows(cache.columns, slots[part][cached], part_weights[cached], out, sums)
        for rows, w in _uncached(cache, indices[part][~cached], part_weights[~cached]):
            loops.add_weighted_rows(rows, np.arange(w.size), w, out, sums)
            yield
        yield


def _uncached(cache: ColumnCache, indices: IntArray, weights: Any) -> Generator[tuple[Any, Any], None, None]:
    """Yield columns that are not in the cache, 64 at a time as rows, with their weights."""
    for start in range(0, indices.size, 64):
        chosen = indices[start : start + 64]
        rows = cache.gram.single_columns(chosen) if cache.single else np.ascontiguousarray(cache.gram.columns(chosen).T)
        yield rows, weights[start : start + 64]


class _SupportMatrix:
    """Q between the points ``members``, stored with space for more points, and the rows B of its preconditioner."""

    def __init__(self, cache: ColumnCache, members: IntArray, n: int) -> None:
        self.cache, self.members = cache, members
        capacity = int(1.1 * members.size + 64)
        self._store = np.empty((capacity, capacity), dtype=cache.columns.dtype)
        self.place = np.full(n, -1, dtype=np.int64)
        self.place[members] = np.arange(members.size)

    def restrict(self, points: IntArray) -> Steps:
        """Drop all other points; the preconditioner's rows must be made anew."""
        places = np.sort(self.place[points])  # in place: rising, so that nothing is written before it was read
        self.place[self.members] = -1
        self.members = self.members[places]
        self.place[self.members] = np.arange(self.members.size)
        loops.gather_rows(self._store, places, places, self.values)
        yield

    def product(self, weights: FloatArray) -> FloatArray:
        values, vector = self.values, weights.astype(self._store.dtype)
        parts = split_range(self.members.size, thread_count(self.members.size**2))
        out = np.empty_like(vector)
        run_on_threads(lambda k: np.matmul(values[parts[k]], vector, out=out[parts[k]]), len(parts))
        return out.astype(np.float64)

    def steps(self, weights: FloatArray) -> Steps:
        yield
        return self.product(weights)

    def preconditioner(self, view: SimplexQP, inside: IntArray) -> Preconditioner:
        return Preconditioner(view.groups[self.members], view.simplices, self.B, self.inverse, self.capacitance(inside), inside)

    @property
    def values(self) -> Any:
        return self._store[: self.members.size, : self.members.size]

    def fill(self) -> Steps:
        yield from self._rows(0)

    def choose_landmarks(self, count: int) -> Steps:
        """Compute B for random landmarks, at most ``count``."""
        size, values = self.members.size, self.values
        self.landmarks = np.sort(np.random.default_rng(0).permutation(size)[: max(1, min(count, size // _SHARE))])
        A = values[np.ix_(self.landmarks, self.landmarks)].astype(np.float64)
        A = 0.5 * (A + A.T)
        lower = shifted_cholesky(A, 1e-6)
        yield
        self._lower = lower.astype(values.dtype)
        self.B, self.inverse = np.zeros((self.landmarks.size, 0), dtype=values.dtype), np.zeros(0)
        self._least = 0.0
        self._extend(0)
        self._inside, self._sums = np.zeros(0, dtype=np.int64), np.eye(self.landmarks.size)
        yield

    def _extend(self, first: int) -> None:
        """Append the columns of B and of the residual diagonal from ``first`` on."""
        B = scipy.linalg.solve_triangular(self._lower, self.values[self.landmarks, first:], lower=True, check_finite=False)
        residual_diagonal = np.diagonal(self.values)[first:].astype(np.float64) - (B * B).sum(axis=0)
        if first == 0:
            self._least = max(float(np.median(residual_diagonal)), 1e-7 * float(np.diagonal(self.values).max()))
        self.B = np.concatenate([self.B, B], axis=1)
        self.inverse = np.concatenate([self.inverse, 1.0 / np.maximum(residual_diagonal, self._least)])

    def capacitance(self, inside: IntArray) -> FloatArray:
        """Return I + B D⁻¹B' over the given points, updated by the points that have changed."""
        new, old = np.setdiff1d(inside, self._inside), np.setdiff1d(self._inside, inside)
        for sign, points in ((1.0, new), (-1.0, old)):
            self._sums += sign * weighted_gram(self.B, self.inverse, points)
        self._inside = inside
        return self._sums.copy()

    def _rows(self, first: int) -> Steps:
        """Read or compute the rows from ``first`` on, and by symmetry the columns."""
        store, size = self._store, self.members.size
        for start in range(first, size, _PANEL):
            stop = min(size, start + _PANEL)
            slots = self.cache.slot[self.members[start:stop]]
            cached = np.flatnonzero(slots >= 0)
            if cached.size == stop - start:
                loops.gather_rows(self.cache.columns, slots, self.members, store[start:stop])
            else:
                rows = np.empty((cached.size, size), dtype=store.dtype)
                loops.gather_rows(self.cache.columns, slots[cached], self.members, rows)
                store[start + cached, :size] = rows
                away = np.flatnonzero(slots < 0)
                for block, positions in _uncached(self.cache, self.members[start + away], start + away):
                    store[positions, :size] = block[:, self.members]
                    yield
            yield
        if first:
            store[:first, first:size] = store[first:size, :first].T

    def include(self, guess: IntArray) -> Steps:
        """Add the missing points of the guess; return False if the store is full."""
        new = guess[self.place[guess] < 0]
        first = self.members.size
        if first + new.size > self._store.shape[0]:
            return False
        if new.size:
            self.members = np.concatenate([self.members, new])
            self.place[new] = np.arange(first, self.members.size)
            yield from self._rows(first)
            self._extend(first)
        return True
