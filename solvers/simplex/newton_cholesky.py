"""Solution polishing for SMO by Newton steps with Cholesky factors: a primal-dual active-set (semismooth Newton) method.

SMO takes these steps from an approximate point if few points have weight; `newton_cg` is for large supports.

The problem is min f(x) = ½x'Qx + c'x over x ≥ 0, E'x = 1 (E has a column for each simplex), with ∇ = Qx + c. On a guess S of the
support the optimality conditions are linear: Q_SS x + c_S = E ν, E'x = 1, ν the simplices' multipliers. With W = Q_SS⁻¹[E, c_S]
they read x = W_E ν - W_c, (E'W_E) ν = 1 + E'W_c. The next guess keeps the x_i > 0 and takes in the i outside S with ∇_i(x) < ν.
For c = 0 and one simplex, z = x/ν solves Q_SS z = 1: this is the Newton step for the rescaled problem min ½z'Qz - 1'z, z ≥ 0.

Systems are solved by float64 conjugate gradients, preconditioned by a float32 Cholesky factor; a factor serves later guesses
that differ from its own in a twentieth of the points, through a bordered system. The run moves to feasible points only, by an
exact line search towards the clipped x that lowers the objective, so a cycle of guesses costs nothing but time.
"""

from __future__ import annotations

from collections.abc import Generator
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
import scipy.linalg

from ...models.arrays import FloatArray, IntArray
from ...models.views import SimplexQP
from .common import FeasiblePoint

#: Guesses of the support in one call.
_GUESSES = 12
#: A guess larger than so many times the support, and than this, is given up: far from the optimum all points may violate.
_TOO_LARGE, _LARGE_FROM = 8, 512
#: Share of its points in which a guess may differ from the factor's own for the factor to be used again.
_REUSE = 0.05
#: Accuracy of the first guess's solution.
_ROUGH = 1e-6
#: Rows of Q_SS computed or factored between two yields; conjugate gradient steps of a system, and those without progress.
_PANEL, _CG_STEPS, _PATIENCE = 1024, 400, 12
#: A computation that yields often, so that its caller can stop it, and returns its result.
Steps: TypeAlias = Generator[None, None, Any]


def cholesky_bytes(support: int) -> int:
    """Return the bytes of `polish_by_cholesky` for a support of this size: Q_SS in float64 and its factor in float32."""
    return 12 * support**2


def cholesky_seconds(n: int, support: int) -> float:
    """Return a rough estimate of the seconds of `polish_by_cholesky` for n points and a support S of this size.

    It counts a factor of Q_SS and four products with all columns of S.
    """
    return 1.5 * support**3 / 3.0 / 5e10 + 4.0 * 5e-9 * n * support


def polish_by_cholesky(view: SimplexQP, a: FloatArray, gradient: FloatArray, tol: float) -> Generator[None, None, FeasiblePoint]:
    """Improve a feasible point ``a`` by Newton steps on guesses of its support, and return the best point.

    ``gradient`` must be Qa + c in float64. The generator yields often, so that its caller can stop it. It ends when a guess
    repeats itself or becomes too large, when the gap is at most tol·|f|, when a system cannot be solved, or after twelve guesses.
    """
    guess, best = first_support_guess(view, a, gradient), FeasiblePoint(a, gradient, 0)
    size_limit = support_guess_limit(a)
    factor: _Factor | None = None
    visited: set[bytes] = set()
    accuracy = max(_ROUGH, 1e-3 * tol)  # the first guess is rarely right: a rough solution shows as well what to change
    for count in range(1, _GUESSES + 1):
        visited.add(guess.tobytes())
        Q = yield from _submatrix(view, guess)
        reused = factor is not None and factor.distance(guess) <= _REUSE * guess.size
        if not reused:
            factor = yield from _Factor.build(Q, guess)
        if factor is None:
            return best
        solved = yield from _solve(view, guess, Q, factor, accuracy)
        if reused and solved is not None and not solved[2]:
            factor = yield from _Factor.build(Q, guess)
            if factor is None:
                return best
            solved = yield from _solve(view, guess, Q, factor, accuracy)
        del Q
        if solved is None:
            return best
        values, nu, _ = solved
        x = np.zeros(view.n)
        x[guess] = values
        slope = view.gram.product(x) + view.c
        yield
        following = _next_guess(view, guess, values, slope, nu)
        finished = following.size > size_limit or following.tobytes() in visited
        rough, accuracy = accuracy > 1e-3 * tol, 1e-3 * tol
        if count == _GUESSES or following.size > size_limit or (not rough and (finished or values.min() >= 0.0)):
            best = _improved(view, best, x, slope, count)
            yield
            f = 0.5 * float(best.a @ (best.gradient + view.c))
            if finished or view.gap(best.a, best.gradient - view.c) <= tol * abs(f):
                return best
        guess = following
    return best


def support_guess_limit(a: FloatArray) -> int:
    """Return the largest number of points that a guess of the support may have, by the number of points with weight in a."""
    return max(_TOO_LARGE * int(np.count_nonzero(a)), _LARGE_FROM)


def _next_guess(view: SimplexQP, guess: IntArray, values: FloatArray, slope: FloatArray, nu: FloatArray) -> IntArray:
    """Return the x_i > 0 of the guess, and the i outside with ∇_i < ν (beyond rounding)."""
    level = nu[view.groups]
    chosen = slope < level - 1e-15 * np.abs(level)
    chosen[guess] = values > 0
    return np.flatnonzero(chosen)


def first_support_guess(view: SimplexQP, a: FloatArray, gradient: FloatArray) -> IntArray:
    """Return the points with weight, and those that violate optimality: ∇_i is below the mean of i's simplex weighted by a."""
    level = np.bincount(view.groups, weights=a * gradient, minlength=view.simplices)
    return np.flatnonzero((a > 0) | (gradient < level[view.groups]))


def _submatrix(view: SimplexQP, guess: IntArray) -> Steps:
    Q = np.empty((guess.size, guess.size))
    for start in range(0, guess.size, _PANEL):
        rows = guess[start : start + _PANEL]
        Q[start : start + rows.size] = view.gram.block(rows, guess)
        yield
    return Q


def _finite(values: FloatArray) -> FloatArray:
    """Return the values, or zeros if a nearly singular system overflowed: conjugate gradients then stop."""
    return values if np.isfinite(values).all() else np.zeros_like(values)


@dataclass(frozen=True, eq=False)
class _Factor:
    """A float32 Cholesky factor of Q_SS for the points ``members``."""

    members: IntArray  #: (m,) the points S
    lower: np.ndarray  #: (m, m) the lower factor

    @staticmethod
    def build(Q: FloatArray, members: IntArray) -> Steps:
        """Return the factor, panel by panel; None if Q_SS is not positive definite even after a shift of its diagonal."""
        for shift in (0.0, 3e-6, 1e-4):
            L = yield from _cholesky(Q, shift)
            if L is not None:
                return _Factor(members, L)
        return None

    def distance(self, guess: IntArray) -> int:
        return int(np.setxor1d(self.members, guess, assume_unique=True).size)

    def solve(self, right: np.ndarray) -> FloatArray:
        """Return Q_SS⁻¹ right in float32, for one or several columns."""
        scale = float(np.abs(right).max()) or 1.0
        short = (right / scale).astype(np.float32)
        solved, _ = scipy.linalg.lapack.spotrs(self.lower, short, lower=1, overwrite_b=1)  # SciPy's own function checks longer
        return _finite(solved.reshape(right.shape).astype(np.float64) * scale)


class _Adapted:
    """The factor's inverse carried over to another guess: points added (A) and removed (D) by a bordered system.

    With B = [Q_SA, E_D] the solution on S ∪ A with x_D = 0 is x_S = Q_SS⁻¹(r_S - Bv) with
    (diag(Q_AA, 0) - B'Q_SS⁻¹B) v = [r_A, 0] - B'Q_SS⁻¹ r_S.
    """

    def __init__(self, view: SimplexQP, factor: _Factor, guess: IntArray) -> None:
        self._factor, self._size = factor, guess.size
        if np.array_equal(guess, factor.members):
            self._mine = self._theirs = np.arange(guess.size)
            self._added = self._mine[:0]
            return
        _, self._mine, self._theirs = np.intersect1d(guess, factor.members, assume_unique=True, return_indices=True)
        self._added = np.setdiff1d(np.arange(guess.size), self._mine, assume_unique=True)
        removed = np.setdiff1d(np.arange(factor.members.size), self._theirs, assume_unique=True)
        k = self._added.size + removed.size
        if k == 0:
            return
        extra = guess[self._added]
        self._B = np.zeros((factor.members.size, k))
        self._B[:, : extra.size] = view.gram.block(factor.members, extra)
        self._B[removed, extra.size + np.arange(removed.size)] = 1.0
        self._solved = factor.solve(self._B)
        schur = -self._B.T @ self._solved
        schur[: extra.size, : extra.size] += view.gram.block(extra, extra)
        self._lu, self._pivots, self._singular = scipy.linalg.lapack.dgetrf(0.5 * (schur + schur.T))

    def __call__(self, r: FloatArray) -> FloatArray:
        full = np.zeros(self._factor.members.size)
        full[self._theirs] = r[self._mine]
        x = self._factor.solve(full)
        out = np.zeros(self._size)
        if self._added.size + self._factor.members.size > self._mine.size:
            right = -self._B.T @ x
            right[: self._added.size] += r[self._added]
            v = np.zeros(right.size) if self._singular else _finite(scipy.linalg.lapack.dgetrs(self._lu, self._pivots, right)[0])
            x = x - self._solved @ v
            out[self._added] = v[: self._added.size]
        out[self._mine] = x[self._theirs]
        return out


def _cholesky(Q: FloatArray, shift: float) -> Steps:
    """Return the lower float32 factor of Q + shift·diag(Q) by panels, right-looking; None if a pivot fails."""
    m = Q.shape[0]
    L = Q.astype(np.float32, order="F")
    L[np.diag_indices(m)] *= np.float32(1.0 + shift)
    for start in range(0, m, _PANEL):
        stop = min(m, start + _PANEL)
        panel, info = scipy.linalg.lapack.spotrf(L[start:stop, start:stop], lower=1, clean=1)
        if info != 0:
            return None
        L[start:stop, start:stop] = panel
        if stop < m:
            below = scipy.linalg.blas.strsm(np.float32(1.0), panel, L[stop:, start:stop], side=1, lower=1, trans_a=1)
            L[stop:, start:stop] = below
            for first in range(stop, m, _PANEL):
                last = min(m, first + _PANEL)
                L[first:, first:last] -= below[first - stop :] @ below[first - stop : last - stop].T
                yield
    return L


def _solve(view: SimplexQP, guess: IntArray, Q: FloatArray, factor: _Factor, tol: float) -> Steps:
    """Return (x, ν) on the guess, and whether all systems were solved accurately.

    Return None if a simplex has no points in the guess, or if ν is not determined.
    """
    groups, count = view.groups[guess], view.simplices
    E = (groups[:, None] == np.arange(count)[None, :]).astype(np.float64)
    if (E.sum(axis=0) == 0).any():
        return None
    columns = [E[:, s] for s in range(count)]
    if view.c.any():
        columns.append(view.c[guess])
    inverse = _Adapted(view, factor, guess)
    yield
    W, accurate = np.zeros((guess.size, count + 1)), True
    for k, right in enumerate(columns):
        W[:, k], converged = yield from _conjugate_gradients(Q, right, inverse, tol)
        accurate = accurate and converged
    WE, Wc = W[:, :count], W[:, count]
    try:
        nu = np.linalg.solve(E.T @ WE, 1.0 + E.T @ Wc)
    except np.linalg.LinAlgError:
        return None
    return WE @ nu - Wc, nu, accurate


def _conjugate_gradients(Q: FloatArray, right: FloatArray, inverse: _Adapted, tol: float) -> Steps:
    """Return x with Q_SS x = right, and whether it is accurate.

    It stops at a relative residual of ``tol``, at the rounding of one product (eps·max Q·Σ|x|), or where the residual no longer
    falls; x is accurate if the residual is at most a hundred times the larger of the first two.
    """
    size, largest = float(np.abs(right).max()) or 1.0, float(np.diagonal(Q).max())
    x = inverse(right)
    r = right - Q @ x
    h = inverse(r)
    p, rho = h, float(r @ h)
    best_x, best = x, float(np.abs(r).max())
    target = max(tol * size, 2e-16 * largest * float(np.abs(x).sum()))
    since = 0
    for _ in range(_CG_STEPS):
        if best <= target or rho <= 0.0 or since > _PATIENCE:
            break
        Qp = Q @ p
        curvature = float(p @ Qp)
        if curvature <= 0.0:
            break
        step = rho / curvature
        x = x + step * p
        r = r - step * Qp
        largest = float(np.abs(r).max())
        since += 1
        if largest < best:
            best_x, best, since = x, largest, 0
        h = inverse(r)
        following = float(r @ h)
        p = h + following / rho * p
        rho = following
        yield
    return best_x, best <= 100.0 * target


def _improved(view: SimplexQP, best: FeasiblePoint, x: FloatArray, slope: FloatArray, guesses: int) -> FeasiblePoint:
    """Return the feasible point made of x if its gap is smaller, else the minimiser between it and the best point."""
    point = np.maximum(x, 0.0)
    total = np.bincount(view.groups, weights=point, minlength=view.simplices)
    if (total <= 0.0).any():
        return best
    point /= total[view.groups]
    if x.min() >= 0.0:  # Σx = 1 up to the solve's residual: the product scales along
        scale = total[view.groups]
        gradient = (slope - view.c) / scale + view.c if view.simplices == 1 else view.gram.product(point) + view.c
    else:
        gradient = view.gram.product(point) + view.c
    if view.gap(point, gradient - view.c) <= view.gap(best.a, best.gradient - view.c):
        return FeasiblePoint(point, gradient, guesses, exact=True)
    d, change = point - best.a, gradient - best.gradient
    curvature, descent = float(d @ change), -float(best.gradient @ d)
    if descent <= 0.0:
        return best
    step = 1.0 if curvature <= descent else descent / curvature
    return FeasiblePoint(best.a + step * d, best.gradient + step * change, guesses)
