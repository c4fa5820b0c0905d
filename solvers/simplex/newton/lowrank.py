"""A simplex QP with Q replaced by B'B + D (`expansion`), solved to the end in a few Newton steps of its dual.

The dual of min ½x'(B'B + D)x + c'x over E'x = 1, x ≥ 0 (E has a column for each simplex) has one variable u = Bx for each
row of B and one ν for each simplex: min ½|u|² + Σ_i max(0, s_i)²/(2D_i) - Σν, s = Eν - c - B'u, with x = max(0, s)/D. It is
convex and piecewise quadratic; semismooth Newton with an exact line search ends after finitely many steps, in practice fewer
than ten. A step costs |S|r² operations in float32, where S = {s > 0} and r is the number of rows.
"""

from __future__ import annotations

import numpy as np
import scipy.linalg

from ....models.arrays import FloatArray, IntArray
from ....models.kernels.float32 import SingleArray
from ....models.views import SimplexQP
from .krylov import COLUMNS, Steps, shifted_cholesky, weighted_squares

__all__ = ["LowRank"]

_NEWTON_STEPS, _SEARCH_STEPS = 30, 30
#: Share of the support that may still change at the end: the model is rough itself.
_SETTLED = 1e-3
#: Points between two yields: with 2,048 rows a second.
_TOGETHER = 8 * COLUMNS
#: Least D, relative to the diagonal of Q.
_LEAST = 1e-6


class LowRank:
    """Q ≈ B'B + D.

    Parameters
    ----------
    view : SimplexQP
    B : ndarray of float32 (r, n)
        Of `expansion`.
    """

    def __init__(self, view: SimplexQP, B: SingleArray) -> None:
        self.view, self.B = view, B
        diagonal, loading = view.gram.diagonal, view.gram.loading
        left = diagonal - np.einsum("ij,ij->j", B, B, dtype=np.float64)
        self.D = np.maximum(left, np.maximum(loading, _LEAST * float(diagonal.max())))
        self._inverse = 1.0 / self.D
        groups, G = view.groups, view.simplices
        self._c = view.c
        self._nu = np.bincount(groups, weights=view.c + self.D, minlength=G) / np.bincount(groups, minlength=G)
        self._u = np.zeros(B.shape[0])
        self._inside: IntArray = np.zeros(0, dtype=np.int64)
        self._matrix = np.eye(self._u.size)

    def follow(self, coarse: LowRank) -> Steps:
        """Begin where a model of fewer rows, the first ones of B, ends: its steps cost less."""
        x = np.maximum((yield from coarse.solve()), 0.0) * coarse._inverse
        self._u, self._nu = (self.B @ x.astype(np.float32)).astype(np.float64), coarse._nu

    def sums(self, points: IntArray) -> Steps:
        """I + B D⁻¹B' over these points."""
        yield from self._update(points)
        return self._matrix.copy()

    @property
    def left(self) -> float:
        """Median of D over Q's known ridge, at least 1: how much of Q the landmarks do not explain; inf without a ridge."""
        loading = self.view.gram.loading
        return float(np.median(self.D / loading)) if (loading > 0.0).all() else np.inf

    def _slack(self, u: FloatArray, nu: FloatArray) -> FloatArray:
        return np.asarray(nu[self.view.groups] - self._c - u.astype(np.float32) @ self.B)

    def point(self, slack: FloatArray) -> FloatArray:
        """max(0, s)/D, moved into the simplices: a simplex without weight gets its largest slack's vertex."""
        groups, G = self.view.groups, self.view.simplices
        x = np.maximum(slack, 0.0) / self.D
        for empty in np.flatnonzero(np.bincount(groups, weights=x, minlength=G) <= 0.0):
            x[np.argmax(np.where(groups == empty, slack, -np.inf))] = 1.0
        return np.asarray(x / np.bincount(groups, weights=x, minlength=G)[groups])

    def solve(self, offset: FloatArray | float = 0.0) -> Steps:
        """The slacks s at the solution with c + offset for c, whose weights are max(0, s)/D; begins at the last solution."""
        groups = self.view.groups
        self._c = self.view.c + offset
        s = self._slack(self._u, self._nu)
        for _ in range(_NEWTON_STEPS):
            live = np.flatnonzero(s > 0)
            yield
            first = not self._inside.size
            changed = yield from self._update(live)
            settled = not first and changed <= _SETTLED * live.size
            du, dnu = self._direction(self._u, s, live)
            ds = dnu[groups] - du.astype(np.float32) @ self.B
            step = self._search(self._u, s, du, dnu, ds)
            self._u, self._nu = self._u + step * du, self._nu + step * dnu
            s = self._slack(self._u, self._nu)
            if settled:
                break
        return s

    def _update(self, new: IntArray) -> Steps:
        """Make the matrix I + B D⁻¹B' over the given points, from the last ones by what has changed; gives how many did."""
        old, self._inside = self._inside, new
        come, gone = np.setdiff1d(new, old, assume_unique=True), np.setdiff1d(old, new, assume_unique=True)
        for sign, points in ((1.0, come), (-1.0, gone)):
            for start in range(0, points.size, _TOGETHER):
                self._matrix += sign * weighted_squares(self.B, self._inverse, points[start : start + _TOGETHER])
                yield
        return int(come.size + gone.size)

    def _direction(self, u: FloatArray, s: FloatArray, live: IntArray) -> tuple[FloatArray, FloatArray]:
        """The Newton direction: the dual's Hessian is bordered by the simplices' sums."""
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
        """The step that minimises the dual along the direction, by Newton on its piecewise linear derivative, safeguarded."""
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
