"""A start of SMO for large supports: the solution of a low-rank model of Q, corrected with kernel blocks as they are needed.

The problem is min f(x) = ½x'Qx + c'x over x ≥ 0 with sum 1 in each simplex; a point is a variable x_i, which *violates* if g_i, g
= Qx + c, is below the mean of g over its simplex weighted by x. The ridge of Q is what its kernel adds to the diagonal
(`GramOperator.loading`). SMO's pair steps, which bring support vectors in one by one, and a cache of whole columns are slow if
half of the points are support vectors. Here the model Q ≈ B'B + D (`low_rank_factor`, `LowRankModel`) gives the support S almost
right. In each round Newton steps by conjugate gradients, with the model as preconditioner, solve the problem on the members, the
points of S (`KernelTriangle`: half of |S|² entries); a product in float32 shows which points outside violate, and these join: all
of them or, if the violation is large, those in the support of the model corrected by its error (a proximal Newton step, whose
point is the next one). When float32 finds no violator, g is computed in float64 from the data. Rounds repeat until the gap is
within the tolerance.

A round that does not lower the gap (halve it, in float64) is the last one, and only feasible points with a smaller gap are
yielded, so a failure costs time alone. The model is trusted if the rows of B explain most of Q beyond its ridge: the
preconditioned matrix then has its eigenvalues near one. If they explain less, a few points join at a time, since too many wrong
ones drive out right ones; or pairs in working sets take over, if the model's support is the smaller part of the points.
Memory: up to 8 bytes for each row of B and point, and half of |S|² entries as far as the limit allows.
"""

from __future__ import annotations

from collections.abc import Generator
from dataclasses import dataclass, replace

import numpy as np
import scipy.linalg

from ...models.arrays import BoolArray, FloatArray, IntArray, SingleArray
from ...models.kernels.gram import GramOperator
from ...models.kernels.rbf import TaylorSeries
from ...models.kernels.threads import run_on_threads, split_range, thread_count
from ...models.views import SimplexQP
from .common import FeasiblePoint
from .projected_cg import (
    COLUMN_BLOCK,
    KernelTriangle,
    Preconditioner,
    Steps,
    conjugate_gradients,
    shifted_cholesky,
    weighted_gram,
)

# A simplex QP with Q replaced by B'B + D (`low_rank_factor`), solved to the end in a few Newton steps of its dual.
#
# The dual of min ½x'(B'B + D)x + c'x over E'x = 1, x ≥ 0 (E has a column for each simplex) has one variable u = Bx for each
# row of B and one ν for each simplex: min ½|u|² + Σ_i max(0, s_i)²/(2D_i) - Σν, s = Eν - c - B'u, with x = max(0, s)/D. It is
# convex and piecewise quadratic; semismooth Newton with an exact line search ends after finitely many steps, in practice fewer
# than ten. A step costs |S|r² operations in float32, where S = {s > 0} and r is the number of rows.

#: Largest numbers of Newton steps of one solve, and of steps of a line search.
_NEWTON_STEPS, _SEARCH_STEPS = 30, 30
#: Share of the support that may still change at the end: the model is rough itself.
_SETTLED = 1e-3
#: Points of a matrix update between two yields: about a second's work with 2,048 rows.
_TOGETHER = 8 * COLUMN_BLOCK
#: Least D, relative to the diagonal of Q.
_LEAST = 1e-6


class LowRankModel:
    """The QP with Q replaced by B'B + D, D diagonal, and its solver: semismooth Newton on the dual.

    The dual has a multiplier ν_k of each simplex k and u = Bx; a point's *slack* is s_i = ν_k - c_i - (B'u)_i, and x_i =
    max(0, s_i)/D_i.

    Parameters
    ----------
    view : SimplexQP
        The problem.
    B : ndarray of float32 (r, n)
        The rows of `low_rank_factor`.

    Attributes
    ----------
    D : ndarray (n,)
        The diagonal of Q - B'B, at least Q's known ridge and a millionth of Q's largest diagonal entry.
    """

    def __init__(self, view: SimplexQP, B: SingleArray) -> None:
        self.view, self.B = view, B
        diagonal, loading = view.gram.diagonal, view.gram.loading
        residual_diagonal = diagonal - np.einsum("ij,ij->j", B, B, dtype=np.float64)
        self.D = np.maximum(residual_diagonal, np.maximum(loading, _LEAST * float(diagonal.max())))
        self._inverse = 1.0 / self.D
        groups, G = view.groups, view.simplices
        self._c = view.c
        self._nu = np.bincount(groups, weights=view.c + self.D, minlength=G) / np.bincount(groups, minlength=G)
        self._u = np.zeros(B.shape[0])
        self._inside: IntArray = np.zeros(0, dtype=np.int64)
        self._matrix = np.eye(self._u.size)

    def start_from(self, coarse: LowRankModel) -> Steps:
        """Start from the solution of a model with fewer rows, the first ones of B, whose steps cost less."""
        x = np.maximum((yield from coarse.solve()), 0.0) * coarse._inverse
        self._u, self._nu = (self.B @ x.astype(np.float32)).astype(np.float64), coarse._nu

    def capacitance(self, points: IntArray) -> Steps:
        """Return Woodbury's matrix I + B D⁻¹B', summed over the columns of B of these points."""
        yield from self._update(points)
        return self._matrix.copy()

    @property
    def unexplained_ratio(self) -> float:
        """Return the median of D over Q's known ridge: near 1 if the model explains the rest of Q; inf without a ridge."""
        loading = self.view.gram.loading
        return float(np.median(self.D / loading)) if (loading > 0.0).all() else np.inf

    def _slack(self, u: FloatArray, nu: FloatArray) -> FloatArray:
        return np.asarray(nu[self.view.groups] - self._c - u.astype(np.float32) @ self.B)

    def point(self, slack: FloatArray) -> FloatArray:
        """Return max(0, s)/D scaled into the simplices; a simplex without weight gets the vertex of its largest slack."""
        groups, G = self.view.groups, self.view.simplices
        x = np.maximum(slack, 0.0) / self.D
        for empty in np.flatnonzero(np.bincount(groups, weights=x, minlength=G) <= 0.0):
            x[np.argmax(np.where(groups == empty, slack, -np.inf))] = 1.0
        return np.asarray(x / np.bincount(groups, weights=x, minlength=G)[groups])

    def solve(self, offset: FloatArray | float = 0.0) -> Steps:
        """Return the slacks s at the solution for c + offset, whose weights are max(0, s)/D, from the last solution."""
        groups = self.view.groups
        self._c = self.view.c + offset
        s = self._slack(self._u, self._nu)
        for _ in range(_NEWTON_STEPS):
            live = np.flatnonzero(s > 0)
            yield
            first = not self._inside.size
            changed = yield from self._update(live)
            converged = not first and changed <= _SETTLED * live.size
            du, dnu = self._direction(self._u, s, live)
            ds = dnu[groups] - du.astype(np.float32) @ self.B
            step = self._search(self._u, s, du, dnu, ds)
            self._u, self._nu = self._u + step * du, self._nu + step * dnu
            s = self._slack(self._u, self._nu)
            if converged:
                break
        return s

    def _update(self, new: IntArray) -> Steps:
        """Update the matrix I + B D⁻¹B' to the given points; return the number of points that have changed."""
        old, self._inside = self._inside, new
        entering, leaving = np.setdiff1d(new, old, assume_unique=True), np.setdiff1d(old, new, assume_unique=True)
        for sign, points in ((1.0, entering), (-1.0, leaving)):
            for start in range(0, points.size, _TOGETHER):
                self._matrix += sign * weighted_gram(self.B, self._inverse, points[start : start + _TOGETHER])
                yield
        return int(entering.size + leaving.size)

    def _direction(self, u: FloatArray, s: FloatArray, live: IntArray) -> tuple[FloatArray, FloatArray]:
        """Return the Newton direction; the dual's Hessian is bordered by the simplices' sums."""
        groups, G = self.view.groups, self.view.simplices
        inverse = self._inverse[live]
        x = s[live] * inverse
        V = np.zeros((s.size, G + 1), dtype=np.float32)
        V[live, groups[live]], V[live, G] = inverse, x
        sums = (self.B @ V).astype(np.float64)
        border, slope_u = -sums[:, :G], u - sums[:, G]
        weight = np.bincount(groups[live], weights=inverse, minlength=G) + 1e-300
        slope_nu = np.bincount(groups[live], weights=x, minlength=G) - 1.0
        factor = (shifted_cholesky(self._matrix.copy(), 0.0), True)
        solved = scipy.linalg.cho_solve(factor, np.column_stack([slope_u, border]), check_finite=False)
        schur = np.diag(weight) - border.T @ solved[:, 1:]
        dnu = np.linalg.lstsq(schur, border.T @ solved[:, 0] - slope_nu, rcond=None)[0]
        return -solved[:, 0] - solved[:, 1:] @ dnu, dnu

    def _search(self, u: FloatArray, s: FloatArray, du: FloatArray, dnu: FloatArray, ds: FloatArray) -> float:
        """Return the step that minimises the dual along the direction, by safeguarded Newton on its piecewise linear slope."""
        low, high, step = 0.0, np.inf, 1.0
        scaled, linear, square = ds / self.D, float(u @ du - dnu.sum()), float(du @ du)
        first = linear + float(np.maximum(s, 0.0) @ scaled)
        for _ in range(_SEARCH_STEPS):
            t = s + step * ds
            slope = linear + step * square + float(np.maximum(t, 0.0) @ scaled)
            if abs(slope) <= 0.1 * abs(first):
                break
            low, high = (low, step) if slope > 0.0 else (step, high)
            following = step - slope / (square + float(ds[t > 0] @ scaled[t > 0]))
            if not low < following < high:
                following = 2.0 * step if np.isinf(high) else 0.5 * (low + high)
            step = following
        return step


# Rows B with Q ≈ B'B + D, D diagonal: Nyström's on random landmarks, or the leading terms of the kernel's Taylor series.
#
# Landmarks lie where the points do, terms do not know of clusters but leave less where the points fill all directions (20 normal
# features, 256 rows: the largest eigenvalue that is left is a third of Nyström's). A sample of the diagonal decides.

#: Number of points for each row of B, or of a refined B; fewest and most rows of B.
_PER_ROW, _PER_MORE, FEWEST, _MOST = 100, 40, 256, 2048
#: Bytes for each row and point: B, and a copy of its columns on the support; largest share of the memory limit for them.
_BYTES_PER_ROW, _PART = 8, 0.75
#: Share of the landmarks' own diagonal that is added to it: their matrix may be singular.
_SHIFT = 1e-6
#: Number of points on whose diagonal the two kinds of rows are compared.
_SAMPLE = 1024


def _model_rows(n: int, limit: float, *, refined: bool = False) -> int:
    """Return the number of rows of B for n points: within ``limit`` bytes, at least `FEWEST`; more for a ``refined`` model."""
    return int(max(min(n // (_PER_MORE if refined else _PER_ROW), _MOST, _PART * limit / (_BYTES_PER_ROW * n)), FEWEST))


def low_rank_factor(gram: GramOperator, count: int, rng: np.random.Generator) -> SingleArray:
    """Return B in float32 with B'B ≈ Q less its known ridge, which belongs to D; at most ``count`` rows.

    The first rows of B are a rougher model of the same kind.
    """
    order = rng.permutation(gram.n)
    chosen, sample = np.sort(order[:count]), np.sort(order[count : count + _SAMPLE])
    series = gram.taylor_series(count)
    factor = _factor(gram, chosen)
    if series is not None and sample.size:
        terms = np.empty((series.count, sample.size), dtype=np.float32)
        series.rows(sample, terms)
        landmarks = gram.single_block(chosen, sample)
        _solve(factor, landmarks)
        if float((terms * terms).sum()) > float((landmarks * landmarks).sum()):
            return _terms(gram.n, series)
    rows = gram.single_columns(chosen)
    rows[np.arange(chosen.size), chosen] -= gram.loading[chosen].astype(np.float32)
    _solve(factor, rows)
    return rows


def _factor(gram: GramOperator, chosen: IntArray) -> SingleArray:
    """Return L with LL' = Q_PP for the landmarks P."""
    A = gram.single_block(chosen, chosen).astype(np.float64)
    A[np.diag_indices_from(A)] -= gram.loading[chosen]
    return np.asarray(shifted_cholesky(0.5 * (A + A.T), _SHIFT).astype(np.float32))


def _solve(factor: SingleArray, rows: SingleArray) -> None:
    """rows ← L⁻¹ rows."""
    parts = split_range(rows.shape[1], thread_count(rows.size))

    def solve(k: int) -> None:
        for block in _blocks(parts[k]):
            rows[:, block] = scipy.linalg.solve_triangular(factor, rows[:, block], lower=True, check_finite=False)

    run_on_threads(solve, len(parts))


def _terms(n: int, series: TaylorSeries) -> SingleArray:
    rows = np.empty((series.count, n), dtype=np.float32)
    parts = split_range(n, thread_count(rows.size))

    def fill(k: int) -> None:
        for block in _blocks(parts[k]):
            series.rows(np.arange(block.start, block.stop), rows[:, block])

    run_on_threads(fill, len(parts))
    return rows


def _blocks(part: slice) -> list[slice]:
    return [slice(start, min(start + COLUMN_BLOCK, part.stop)) for start in range(part.start, part.stop, COLUMN_BLOCK)]


# The steps of the low-rank start's rounds, by the trust in its model.

#: Relative gap to which the first problem on the model's support is solved.
_FIRST_GAP = 0.02


@dataclass(frozen=True)
class _TrustSchedule:
    """The tolerances and sizes of a round: `_TRUSTED` if the low-rank model explains Q well, else `_CAREFUL`."""

    precision: float  #: relative gap to which the problem on the members is solved, as a share of that after the last round
    growth: float  #: points that may join, relative to the number of members
    roughest: float  #: largest relative gap of a solution on the members, however large the violations outside are
    correct: float  #: the relative gap above which the solution of the corrected model is the next point


_TRUSTED, _CAREFUL = _TrustSchedule(1e-4, np.inf, _FIRST_GAP, 0.05), _TrustSchedule(0.2, 0.1, 1.0, np.inf)


#: Memory that the start should have, in bytes for each point: twice that of the fewest rows of B.
START_BYTES = 2 * _BYTES_PER_ROW * FEWEST
#: Number of points from which the start pays: below, pair steps take less than a tenth of a second.
LOW_RANK_FROM = 2000
#: Largest `LowRankModel.unexplained_ratio` of a model that is trusted, and of one that is tried; least share of the points in its
#: support.
_TRUSTED_RATIO, _LEFT, _SHARE = 2.0, 64.0, 0.125
#: Largest share of the points in the support for which working sets of pairs are faster than rounds of an untrusted model; bytes
#: of their float32 columns for each point of the support and each point, a quarter added for points that leave the support.
_FEW, _COLUMN = 0.5, 5
#: Largest numbers of rounds, and of guesses of the support in one solve.
_ROUNDS, _GUESSES = 12, 24
#: Newton steps on the model's support after which points without weight leave it, since the model's support is too large.
_SIFTING = 2
#: Share of new points from which the next solution is as rough as the first.
_MANY = 0.1
#: Error of a float32 kernel value, relative to the largest diagonal entry; independent errors add up in squares.
_ROUNDING = 1e-7
#: Largest error of g by the rounding of the triangle's entries, relative to the gap that is asked for.
_BEHIND = 0.3


def lowrank_applies(view: SimplexQP, limit: float) -> bool:
    """Return whether the start is worth a try: enough points, a ridge, memory for the model within ``limit`` bytes."""
    return view.n >= LOW_RANK_FROM and bool((view.gram.loading > 0.0).all()) and _BYTES_PER_ROW * FEWEST * view.n <= limit


def lowrank_start(
    view: SimplexQP, a: FloatArray, gradient: FloatArray, tol: float, limit: float
) -> Generator[FeasiblePoint | None, None, FeasiblePoint]:
    """Return a point with a float64 gap of at most tol·|f| if possible; the given point a if none is better.

    The generator yields better points on the way, and None in between for its caller, `smo`, to stop it. ``gradient`` is Qa + c
    in float64; ``limit`` is the memory in bytes.
    """
    initial = best_gap = view.gap(a, gradient - view.c)
    best = FeasiblePoint(a, gradient, 0, exact=True)
    B = low_rank_factor(view.gram, _model_rows(view.n, limit), np.random.default_rng(0))
    yield None
    model = LowRankModel(view, B)
    yield None
    coarse = LowRankModel(view, B[:FEWEST])
    if not model.unexplained_ratio <= _TRUSTED_RATIO:
        support = int(((yield from model.solve()) > 0.0).sum())
        is_smaller_part = _SHARE * view.n <= support <= _FEW * view.n
        if is_smaller_part and view.simplices == 1 and _COLUMN * support * view.n <= limit:
            return replace(best, prefers_working_sets=True)
        if B.shape[0] < (row_count := _model_rows(view.n, limit, refined=True)):
            B = low_rank_factor(view.gram, row_count, np.random.default_rng(0))
            coarse, model = model, LowRankModel(view, B)
            yield None
    if not model.unexplained_ratio <= _LEFT:
        return best
    schedule = _TRUSTED if model.unexplained_ratio <= _TRUSTED_RATIO else _CAREFUL
    if B.shape[0] >= 2 * FEWEST:
        yield from model.start_from(coarse)
    slack = yield from model.solve()
    if not (slack > 0.0).sum() >= _SHARE * view.n:
        return best
    run = _Run(view, model, slack, limit - _BYTES_PER_ROW * B.shape[0] * view.n)
    yield from run.begin()
    target, rough, guesses = _FIRST_GAP, True, 0
    for _ in range(_ROUNDS):
        if rough:
            guesses += yield from run.solve(target * abs(run.value()), _SIFTING)
            if not run.is_finite():
                break
            yield from run.drop_unlikely()
        guesses += yield from run.solve(max(target * abs(run.value()), run.drift))
        if not run.is_finite():
            break
        yield from run.update_outside()
        if run.covers_violators(max(tol * abs(run.value()), run.drift)):
            yield from run.refresh()
        gap, scale, last = run.gap(), abs(run.value()), best_gap
        confirmed = run.exact and not best.exact
        if gap < (initial if confirmed else best_gap):  # a float64 gap replaces those of float32
            best, best_gap = FeasiblePoint(run.x.copy(), run.g.copy(), guesses, exact=run.exact), gap
            yield best
        if (run.exact and gap <= tol * scale) or (gap >= (0.5 if run.exact else 1.0) * last and not confirmed):
            break
        corrected = not run.exact and gap > schedule.correct * scale
        grown = yield from (run.move_to_corrected() if corrected else run.add_violators(schedule.growth))
        target, rough = max(0.5 * tol, min(schedule.roughest, schedule.precision * gap / scale)), not corrected and grown > _MANY
    return best


def _guess(x: FloatArray, below: FloatArray) -> BoolArray:
    """Return the guess of the support: points with weight, and violators by more than the largest residual of such points."""
    return np.asarray((x > 0.0) | (below > float(np.abs(below[x > 0.0]).max())))


class _Run:
    """A feasible point x with weights on the ``members`` of a triangle, its gradient g, and a bound of float32's error.

    On the members g is always that of x; on the other points it is of the last pass over them.
    """

    def __init__(self, view: SimplexQP, model: LowRankModel, slack: FloatArray, limit: float) -> None:
        self.view, self.model = view, model
        self.triangle = KernelTriangle(view.gram, int(max(limit, 0.0)))
        self.x = model.point(slack)
        self.g = np.zeros(view.n)
        self._unit = _ROUNDING * float(np.abs(view.gram.diagonal).max())
        self._inside: IntArray = np.zeros(0, dtype=np.int64)
        self._buffer: SingleArray = np.empty(0, dtype=np.float32)  # reused, since the first touch of memory is slow
        self._B: SingleArray = np.empty((0, 0), dtype=np.float32)  # the model's rows on the members
        self._sums = np.zeros((0, 0))
        self._float32_point = np.zeros(view.n)  # x at the last product of float32 values, not of rounded entries
        self.exact, self.drift = False, self._unit * float(np.linalg.norm(self.x))
        # error of the model's g at each point when g was last computed there, and a bound of its growth since then
        self._offset, self._error = np.zeros(view.n), np.zeros(view.n)

    def begin(self) -> Steps:
        """Compute the triangle on the model's support, and g there."""
        yield from self._extend(np.flatnonzero(self.x))
        members = self.triangle.members
        self._sums, self._inside = (yield from self.model.capacitance(members)), np.arange(members.size)
        self.g[members] = (yield from self.triangle.product(self.x[members])) + self.view.c[members]

    def drop_unlikely(self) -> Steps:
        """Drop the members that the next guess would not contain; `update_outside` finds those that are needed after all."""
        members = self.triangle.members
        level = np.bincount(self._groups, weights=self.x[members] * self.g[members], minlength=self.view.simplices)
        keep = _guess(self.x[members], level[self._groups] - self.g[members])
        yield from self.triangle.compact(keep)
        inside = np.zeros(members.size, dtype=bool)
        inside[self._inside] = True
        self._inside = np.flatnonzero(inside[keep])
        leaving = np.flatnonzero(inside & ~keep)
        self._sums -= weighted_gram(self._B, self._inverse, leaving)
        yield from self._extend(np.zeros(0, dtype=np.int64))

    def _extend(self, points: IntArray) -> Steps:
        yield from self.triangle.extend(points)
        members = self.triangle.members
        rank = self.model.B.shape[0]
        if self._buffer.size < rank * members.size:
            del self._B, self._buffer  # free the old buffer before the new one is allocated
            self._buffer = np.empty(rank * members.size, dtype=np.float32)
        B = self._buffer[: rank * members.size].reshape(rank, members.size)
        parts = split_range(B.shape[0], thread_count(B.size))
        run_on_threads(lambda k: np.take(self.model.B[parts[k]], members, axis=1, out=B[parts[k]], mode="clip"), len(parts))
        self._B, self._inverse, self._groups = B, 1.0 / self.model.D[members], self.view.groups[members]

    def value(self) -> float:
        return 0.5 * float(self.x @ (self.g + self.view.c))

    def gap(self) -> float:
        gap = self.view.gap(self.x, self.g - self.view.c)
        return gap if np.isfinite(gap) else np.inf

    def is_finite(self) -> bool:
        """Return whether the point is finite and every simplex keeps some weight."""
        mass = np.bincount(self.view.groups, weights=self.x, minlength=self.view.simplices)
        return bool(np.isfinite(self.x).all() and np.isfinite(self.g).all() and (mass > 0.0).all())

    def solve(self, target: float, max_guesses: int = _GUESSES) -> Steps:
        """Take Newton steps on the members until their gap is at most the target; return the number of guesses."""
        members, G, groups = self.triangle.members, self.view.simplices, self._groups
        x, g, c = self.x[members], self.g[members], self.view.c[members]
        start, start_gradient, last, count = x, g, np.zeros(0, dtype=np.int64), 0
        while count < max_guesses:
            level = np.bincount(groups, weights=x * g, minlength=G)
            below = level[groups] - g
            highest = np.full(G, -np.inf)
            np.maximum.at(highest, groups, below)
            converged = not float(highest.sum()) > target
            rounding = self.triangle.rounding * float(np.linalg.norm(x - self._float32_point[members]))
            if (converged or not count) and rounding > _BEHIND * target:
                g, self._float32_point[members] = (yield from self.triangle.float32_product(x)) + c, x
                continue
            if converged:
                break
            count += 1
            inside = np.flatnonzero(_guess(x, below))
            share = np.setxor1d(inside, last, assume_unique=True).size / inside.size
            # a guess that has just changed will change again
            last, accuracy = inside, 0.1 if share > 0.01 else 0.01 if share > 0.001 else 1e-4
            inverse = self._preconditioner(inside)
            yield
            d, Qd, _ = yield from conjugate_gradients(self.triangle.product, inside, inverse, g, accuracy, 0.3 * target)
            stepped, product = x + d, g - c + Qd
            x = np.maximum(stepped, 0.0)
            if (stepped < 0.0).any():
                product = product + (yield from self.triangle.product(x - stepped))
            total = np.bincount(groups, weights=x, minlength=G)
            if not (total > 0.0).all():
                break
            x, g = x / total[groups], product / total[groups] + c
        if count or g is not start_gradient:
            self.exact = False
            self.drift += self._unit * float(np.linalg.norm(x - start))
            self.x[members], self.g[members] = x, g
        return count

    def _preconditioner(self, inside: IntArray) -> Preconditioner:
        new = np.setdiff1d(inside, self._inside, assume_unique=True)
        old = np.setdiff1d(self._inside, inside, assume_unique=True)
        for sign, places in ((1.0, new), (-1.0, old)):
            self._sums += sign * weighted_gram(self._B, self._inverse, places)
        self._inside = inside
        return Preconditioner(self._groups, self.view.simplices, self._B, self._inverse, self._sums.copy(), inside)

    def update_outside(self) -> Steps:
        """Update g outside the members: by a float32 product at points that may violate, by the model's prediction at the rest.

        The model's error at a point is known from its last product. Its growth since then is taken to be at most that on the
        members.
        """
        members, others, x = self.triangle.members, np.flatnonzero(self.triangle.place < 0), self.x
        model = self._predicted()
        self._error += float(
            np.abs(self.g[members] - model[members] - self.model.D[members] * x[members] - self._offset[members]).max()
        )
        level = np.bincount(self._groups, weights=x[members] * self.g[members], minlength=self.view.simplices)
        self.g[others] = model[others] + self._offset[others]
        candidates = others[self.g[others] < level[self.view.groups[others]] + self._error[others]]
        self.g[candidates] = (yield from self.triangle.product_at(candidates, x[members])) + self.view.c[candidates]
        self._record_model_error(model, np.concatenate([members, candidates]))

    def covers_violators(self, gap: float) -> bool:
        """Return whether no point outside violates by more than the gap, as far as float32 can tell."""
        view = self.view
        level = np.bincount(view.groups, weights=self.x * self.g, minlength=view.simplices)
        return not bool(((level[view.groups] - self.g > gap) & (self.triangle.place < 0)).any())

    def _predicted(self) -> FloatArray:
        """Return B'Bx + c, the model's gradient without Dx."""
        B = self.model.B
        return np.asarray((B @ self.x.astype(np.float32)) @ B + self.view.c)

    def _record_model_error(self, model: FloatArray, indices: IntArray) -> None:
        """Record the model's error at points where g has just been computed."""
        self._offset[indices] = self.g[indices] - model[indices] - self.model.D[indices] * self.x[indices]
        self._error[indices] = 0.0

    def refresh(self) -> Steps:
        """Compute g in float64 from the data."""
        yield
        if not self.exact:
            self.g = self.view.gram.product(self.x) + self.view.c
            self.exact, self.drift, self._float32_point = True, 0.0, self.x.copy()
            self._record_model_error(self._predicted(), np.arange(self.view.n))

    def move_to_corrected(self) -> Steps:
        """Move to the solution of the model corrected by its error at x, or less far; return the share of new points."""
        y, last = self.model.point((yield from self.model.solve(self._offset))), self.x
        new = np.flatnonzero((y > 0.0) & (self.triangle.place < 0))
        yield from self._extend(new)
        members = self.triangle.members
        reached = (yield from self.triangle.product(y[members])) + self.view.c[members]
        change = (y - last)[members]
        before, after = float(change @ self.g[members]), float(change @ reached)
        if before + after > 0.0:  # y is worse than x: not beyond the best point between them
            y = last + max(0.0, before / (before - after)) * (y - last)
            reached = (yield from self.triangle.product(y[members])) + self.view.c[members]
        self.x, self.g[members] = y, reached
        self._float32_point[:] = 0.0
        self.drift += self._unit * float(np.linalg.norm(y - last))
        return new.size / members.size

    def add_violators(self, violation_limit: float = np.inf) -> Steps:
        """Add the points outside that violate, the worst ones if there are too many; return their share."""
        view, limit = self.view, max(1.0, violation_limit * self.triangle.members.size)
        level = np.bincount(view.groups, weights=self.x * self.g, minlength=view.simplices)
        violated = np.flatnonzero((self.g < level[view.groups]) & (self.triangle.place < 0))
        if violated.size > limit:
            slack = self.g[violated] - level[view.groups[violated]]
            violated = np.sort(violated[np.argpartition(slack, int(limit))[: int(limit)]])
        if violated.size:
            yield from self._extend(violated)
        return violated.size / self.triangle.members.size
