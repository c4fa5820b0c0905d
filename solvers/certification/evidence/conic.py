"""Missing multipliers, Farkas multipliers and rays of conic programs, found by projections on the dual cones.

The alternatives are those of `linear`, by least squares over a product of cones, not only of half-lines.
What is different is that a cone's image need not be closed: at a residual that is small and not zero neither side may hold, and
then nothing is said. What comes out is judged, with its error, as if the solver had given it.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from ....models.arrays import FloatArray
from ....models.program.cones import Zero
from ....models.program.form import StandardForm
from .least_squares import cone_least_squares
from .rows import ByLabel, ScaledRows, fit, stacked

__all__ = ["ConeRows"]

#: Numbers of the least-squares matrix at most: some thousand products with it take half a second.
_MOST = 40_000
#: Relative residual that counts as none; one below which it is not known whether it is.
_NONE, _UNSURE = 1e-8, 1e-3
#: How deep multipliers are tried to lie inside their cones, in units of the scaled gradient; the residual that counts as none.
_DEPTHS, _INSIDE = (1e-1, 1e-2, 1e-4), 1e-8


@dataclass(frozen=True, eq=False)
class ConeRows(ScaledRows):
    """The rows of a form with convex cones, each constraint scaled to size one; bounds last.

    Parameters
    ----------
    form, A, b, scale
        As `ScaledRows`: A x + b in the product of the cones and, for bounds, of half-lines. A constraint's rows have one scale.
    """

    decides: ClassVar[bool] = False

    @classmethod
    def of(cls, form: StandardForm) -> ConeRows | None:
        """Return the rows; None where a set is not convex, a variable is an integer, or the matrix is too large."""
        if not all(c.cone.convex for c in form.constraints) or not fit(form, _MOST):
            return None
        A, b = stacked(form)
        size, start = np.sqrt((A**2).sum(axis=1) + b**2), 0
        for c in form.constraints:
            size[start : start + c.rows] = np.linalg.norm(size[start : start + c.rows])
            start += c.rows
        size[size == 0.0] = 1.0
        return cls(form, A / size[:, None], b / size, size) if np.isfinite(size).all() else None

    def farkas(self) -> tuple[ByLabel | None, FloatArray | None]:
        """Farkas multipliers, or else a point; both None where least squares did not decide."""
        B = np.column_stack([self.A, self.b]).T
        z, residual = cone_least_squares(B, np.append(np.zeros(self.form.n), -1.0), self._dual)
        if float(np.linalg.norm(residual)) <= _NONE:
            return self.by_label(z / self.scale), None
        sure = residual[-1] < -_UNSURE
        return None, residual[:-1] / residual[-1] if sure else None

    def ray(self) -> FloatArray | None:
        """A direction of descent without end; None where none was found."""
        form, n, m = self.form, self.form.n, self.form.rows
        q, _, P, _ = self.objective()
        B = np.block([[self.A[:m], -np.eye(m)], [P, np.zeros((P.shape[0], m))], [q[None, :], np.zeros((1, m))]])
        if B.size > 4 * _MOST:
            return None

        def project(v: FloatArray) -> FloatArray:
            d = np.where(np.isfinite(form.lower), np.maximum(v[:n], 0.0), v[:n])
            d = np.where(np.isfinite(form.upper), np.minimum(d, 0.0), d)
            return np.concatenate([d, self._primal(v[n:])])

        found, residual = cone_least_squares(B, np.append(np.zeros(m + P.shape[0]), -1.0), project)
        return found[:n] if float(np.linalg.norm(residual)) <= _NONE else None

    def bounding(self) -> tuple[ByLabel, FloatArray, FloatArray] | None:
        """Multipliers, ζ and v with q + P v = F'z + ζ: their Lagrangian at v has no slope where there is no bound."""
        form, count = self.form, self.A.shape[0]
        q, size, P, unit = self.objective()
        B = np.column_stack([self.A.T, -P.T])
        z, residual = cone_least_squares(B, q, lambda v: np.concatenate([self._dual(v[:count]), v[count:]]))
        if float(np.linalg.norm(residual)) > _NONE:
            return None
        own, v = z[:count] * size / self.scale, z[count:] / unit * size
        return self.by_label(own), self.reduced(own), v if v.size else np.zeros(form.n)

    def multipliers(self, x: FloatArray) -> tuple[ByLabel, FloatArray] | None:
        """Multipliers with ∇f(x) = F'z + ζ and no product with what the rows are worth at x, as nearly as there are some."""
        gradient, worth = self.form.gradient(x), self.A @ x + self.b
        size = max(float(np.linalg.norm(gradient)), 1e-300)
        B = np.vstack([self.A.T, worth[None, :]])
        z, _ = cone_least_squares(B, np.append(gradient / size, 0.0), self._dual)
        multipliers_in_rows = z * size / self.scale
        return self.by_label(multipliers_in_rows), self.reduced(multipliers_in_rows)

    def inner(self, x: FloatArray, seconds: float | None = None) -> ByLabel | None:
        """Multipliers with ∇f(x) = F'z + ζ that lie deep inside their cones, ζ too; None where none are found (in ``seconds``).

        z = ε e + z', e the directions into the cones: the first of `_DEPTHS` at which least squares has no residual. Variables
        with a quadratic term may have any slope: a small share of it costs its square.
        """
        form = self.form
        needed = np.ones(form.n, dtype=bool) if form.quadratic is None else form.quadratic.diagonal <= 0.0
        gradient, columns = form.gradient(x), self.A.T[needed]
        size = max(float(np.linalg.norm(gradient)), 1e-300)
        inwards = [np.zeros(c.rows) if isinstance(c.cone, Zero) else c.cone.interior for c in form.constraints]
        inward = np.concatenate([*inwards, np.ones(self.A.shape[0] - form.rows)])
        begin = time.perf_counter()
        for depth in _DEPTHS:
            if seconds is not None and time.perf_counter() - begin > seconds:
                return None
            z, residual = cone_least_squares(columns, gradient[needed] / size - columns @ (depth * inward), self._dual)
            if float(np.linalg.norm(residual)) <= _INSIDE:
                return self.by_label((z + depth * inward) * size / self.scale)
        return None

    def _dual(self, z: FloatArray) -> FloatArray:
        """The nearest multipliers."""
        pieces, start = [], 0
        for c in self.form.constraints:
            pieces.append(c.cone.project_dual(z[start : start + c.rows]))
            start += c.rows
        return np.concatenate([*pieces, np.maximum(z[start:], 0.0)])

    def _primal(self, s: FloatArray) -> FloatArray:
        """The nearest values of the rows."""
        pieces, start = [], 0
        for c in self.form.constraints:
            pieces.append(c.cone.project(s[start : start + c.rows]))
            start += c.rows
        return np.concatenate(pieces) if pieces else s
