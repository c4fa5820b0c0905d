"""Missing multipliers, Farkas multipliers and rays of linear programs, found from the data by nonnegative least squares.

Each claim has an alternative, of which exactly one holds, and the residual of one least-squares problem decides which. With rows
G x + h ≥ 0 (bounds included) and E x + e = 0:

- *Infeasible*: min ||(G'z + E'y, h'z + e'y + 1)|| over z ≥ 0. At residual 0 these are Farkas multipliers; else the residual
  (u, t) has t < 0 and u/t satisfies every row: a feasible point. (Lawson, Hanson: *Solving Least Squares Problems*, ch. 23.)
- *Unbounded*: a ray d with G d ≥ 0, E d = 0, P d = 0, q'd = -1, or multipliers with q + P v = G'z + E'y, whose Lagrangian
  bounds the objective from below.
- *Optimal* at x: multipliers of the rows that are active at x with ∇f(x) = G'z + E'y.

Rows are scaled to unit length. What comes out is judged as if the solver had given it: nothing here is a proof.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from ....models.arrays import BoolArray, FloatArray
from ....models.program.cones import Nonnegative, Zero
from ....models.program.form import StandardForm
from ..rays import farkas_proves, ray_is_exact
from .interior import interior
from .rows import ByLabel, ScaledRows, fit, stacked

__all__ = ["Rows"]

#: Numbers of the least-squares matrix at most: half a second.
_MOST = 600_000
#: A row whose slack is below this, relative to the size of x and of its constant, counts as active, as one that is violated does.
_ACTIVE = 1e-6
#: Relative residual that counts as none.
_NONE = 1e-7
#: A ray is also tried with its entries rounded to multiples of the least one over these.
_PARTS = (1, 2, 3, 4, 5, 6, 8, 10, 12)


@dataclass(frozen=True, eq=False)
class Rows(ScaledRows):
    """The rows of a form with linear constraints, each scaled to unit length; bounds last.

    Parameters
    ----------
    form, A, b, scale
        As `ScaledRows`: A x + b ≥ 0, or = 0 where ``equal``.
    equal : ndarray of bool
    """

    equal: BoolArray

    @classmethod
    def of(cls, form: StandardForm) -> Rows | None:
        """Return the rows; None where a constraint is not linear, a variable is an integer, or the matrix is too large."""
        linear = all(isinstance(c.cone, (Zero, Nonnegative)) for c in form.constraints)
        if not linear or not fit(form, _MOST):
            return None
        A, b = stacked(form)
        equal = np.zeros(b.size, dtype=bool)
        start = 0
        for c in form.constraints:
            equal[start : start + c.rows] = isinstance(c.cone, Zero)
            start += c.rows
        scale = np.sqrt((A**2).sum(axis=1) + b**2)
        scale[scale == 0.0] = 1.0
        return cls(form, A / scale[:, None], b / scale, scale, equal)

    def farkas(self) -> tuple[ByLabel | None, FloatArray | None]:
        """Farkas multipliers, or else a point; both None where least squares did not decide."""
        z, residual = self._least(np.column_stack([self.A, self.b]).T, np.append(np.zeros(self.form.n), -1.0), self._chosen())
        if z is None:
            return None, None
        if float(np.linalg.norm(residual)) <= _NONE:
            multipliers = self.by_label(z / self.scale)
            return (multipliers if farkas_proves(self.form, multipliers) else self._whole(z / self.scale, multipliers)), None
        return None, residual[:-1] / residual[-1] if residual[-1] < 0.0 else None

    def ray(self) -> FloatArray | None:
        """A direction of descent without end; None where there is none, or least squares did not find it."""
        form, n = self.form, self.form.n
        rises, falls = np.flatnonzero(~np.isfinite(form.upper)), np.flatnonzero(~np.isfinite(form.lower))
        lines = self.A[: form.rows]
        slack = np.flatnonzero(~self.equal[: form.rows])
        q, _, P, _ = self.objective()
        rows = np.vstack([lines, P, q[None, :]])
        slacks = np.zeros((rows.shape[0], slack.size))
        slacks[slack, np.arange(slack.size)] = -1.0
        if rows.shape[0] * (rises.size + falls.size + slack.size) > _MOST:
            return None
        parts, residual = self._nonnegative(
            np.column_stack([rows[:, rises], -rows[:, falls], slacks]), np.append(np.zeros(rows.shape[0] - 1), -1.0)
        )
        if parts is None or float(np.linalg.norm(residual)) > _NONE:
            return None
        d = np.zeros(n)
        d[rises] += parts[: rises.size]
        d[falls] -= parts[rises.size : rises.size + falls.size]
        return _exact_ray(form, d)

    def bounding(self) -> tuple[ByLabel, FloatArray, FloatArray] | None:
        """Multipliers, ζ and v with q + P v = F'z + ζ: their Lagrangian at v has no slope where there is no bound."""
        form = self.form
        q, size, P, unit = self.objective()
        if form.n * (self.A.shape[0] * 2 + 2 * P.shape[0]) > _MOST:
            return None
        negative = self.equal
        z, residual = self._nonnegative(np.column_stack([self.A.T, -self.A[negative].T, -P.T, P.T]), q)
        if z is None or float(np.linalg.norm(residual)) > _NONE:
            return None
        count, extra = self.A.shape[0], int(negative.sum())
        y = z[:count].copy()
        y[negative] -= z[count : count + extra]
        v = (z[count + extra : count + extra + P.shape[0]] - z[count + extra + P.shape[0] :]) / unit * size
        settled_multipliers = _settled(y * size / self.scale)
        return self.by_label(settled_multipliers), self.reduced(settled_multipliers), v if v.size else np.zeros(form.n)

    def multipliers(self, x: FloatArray) -> tuple[ByLabel, FloatArray] | None:
        """Least-squares multipliers of the rows that are active at x, and ζ of the bounds."""
        gradient = self.form.gradient(x)
        size = max(float(np.linalg.norm(gradient)), 1e-300)
        slack = self.A @ x + self.b  # rows have unit length: a distance, as x is
        active = self.equal | (slack <= _ACTIVE * (float(np.abs(x).max(initial=0.0)) + np.abs(self.b)))
        z, _ = self._least(self.A.T, gradient / size, active)
        if z is None:
            return None
        settled_multipliers = _settled(z * size / self.scale)
        return self.by_label(settled_multipliers), self.reduced(settled_multipliers)

    def _whole(self, z: FloatArray, otherwise: ByLabel) -> ByLabel:
        """Farkas multipliers in whole numbers where those prove it; any positive multiple serves."""
        tried = map(self.by_label, _rounded(z))
        return next((found for found in tried if farkas_proves(self.form, found)), otherwise)

    def inner(self, x: FloatArray, seconds: float | None = None) -> ByLabel | None:
        """Return the point in the relative interior of all of them."""
        return interior(self.form, x, seconds)

    def _chosen(self) -> BoolArray:
        return np.ones(self.A.shape[0], dtype=bool)

    def _least(self, columns: FloatArray, right: FloatArray, chosen: BoolArray) -> tuple[FloatArray | None, FloatArray]:
        """min ||columns z - right|| over the chosen z, nonnegative but for equalities; z of all rows, and right - columns z."""
        both = chosen & self.equal
        z, residual = self._nonnegative(np.column_stack([columns[:, chosen], -columns[:, both]]), right)
        if z is None:
            return None, residual
        whole = np.zeros(chosen.size)
        whole[chosen] = z[: int(chosen.sum())]
        whole[both] -= z[int(chosen.sum()) :]
        return whole, residual

    @staticmethod
    def _nonnegative(A: FloatArray, b: FloatArray) -> tuple[FloatArray | None, FloatArray]:
        from scipy.optimize import nnls  # imported here: it is slow, and few answers need it

        if not (np.isfinite(A).all() and np.isfinite(b).all()):  # data beside the largest numbers there are
            return None, b
        if not A.shape[1]:
            return np.zeros(0), b
        try:
            z, _ = nnls(A, b)
        except RuntimeError:  # its iteration limit
            return None, b
        return np.asarray(z), b - A @ z


def _rounded(v: FloatArray) -> Iterator[FloatArray]:
    """v in units of its least entry, rounded to small fractions of it: whole numbers, which meet equations exactly."""
    size = np.abs(v)
    least = float(size[size > 1e-9 * size.max(initial=0.0)].min(initial=np.inf))
    if np.isfinite(least):
        yield from (np.round(v / least * parts) for parts in _PARTS)


def _settled(z: FloatArray) -> FloatArray:
    """z, with numbers that are 1e-12 from a multiple of 2^-20 moved there: equations of whole numbers are then met."""
    near = np.round(z * 2.0**20) / 2.0**20
    return np.where(np.abs(z - near) <= 1e-12 * np.abs(z), near, z)


def _exact_ray(form: StandardForm, d: FloatArray) -> FloatArray:
    return next((whole for whole in _rounded(d) if ray_is_exact(form, whole)), d)
