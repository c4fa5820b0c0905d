"""Searches for evidence that a solver did not give: multipliers, Farkas multipliers and rays, found from the form's data alone.

Two searches share the rows of a form, scaled for least squares (`ScaledRows`). Linear rows use nonnegative least squares
(`ScaledLinearRows`), other convex cones least squares over a product of cones (`ScaledConeRows`). Multipliers in the interior of
those that bound the objective come from a linear program (`interior_multipliers`). Nothing here is a proof: `answer_completion`,
which calls the searches, checks the evidence as if the solver had given it.

The form is min f(x) = ½x'Px + q'x + r subject to F x + g in K, a product of cones, and bounds; z are the multipliers of its rows,
ζ those of its bounds, and the slope of x_j is the entry j of ∇f(x) - F'z. *Farkas multipliers* prove that no x is feasible.
"""

from __future__ import annotations

import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import ClassVar, TypeAlias

import numpy as np
import scipy.sparse as sp

from ...models.arrays import BoolArray, FloatArray, IntArray
from ...models.program.cones import Cone, Nonnegative, Zero
from ...models.program.form import StandardForm, multipliers_by_label
from .rays import farkas_proves, ray_is_exact

#: Multipliers of a form's own rows, by the constraint's label.
ByLabel: TypeAlias = Mapping[str, FloatArray]
#: Smallest divisor.
_LEAST = 1e-300


@dataclass(frozen=True, eq=False)
class ScaledRows(ABC):
    """The rows A x + b of a form, scaled: those of its constraints, then x ≥ lower, then x ≤ upper where these are finite.

    Attributes
    ----------
    decides : bool
        Whether a theorem of the alternative holds: exactly one of two systems has a solution (a feasible point or Farkas
        multipliers, a ray of descent or bounding multipliers), and least squares find it.
    """

    decides: ClassVar[bool] = True

    form: StandardForm
    A: FloatArray  #: (rows, n)
    b: FloatArray  #: (rows,)
    scale: FloatArray  #: (rows,), the number that each row was divided by
    #: Time of ``time.perf_counter`` at which least squares over cones end.
    deadline: float = field(default=np.inf, kw_only=True)

    @abstractmethod
    def farkas(self) -> tuple[ByLabel | None, FloatArray | None]:
        """Return Farkas multipliers, or a feasible point; both None if least squares did not decide."""

    @abstractmethod
    def ray(self) -> FloatArray | None:
        """Return a ray along which the objective decreases; None if there is none or least squares did not find it."""

    @abstractmethod
    def bounding_multipliers(self) -> tuple[ByLabel, FloatArray, FloatArray] | None:
        """Return multipliers z, ζ and a point v with q + P v = F'z + ζ, at which their Lagrangian is least; None if not found."""

    @abstractmethod
    def multipliers(self, x: FloatArray) -> tuple[ByLabel, FloatArray] | None:
        """Return multipliers and ζ with ∇f(x) = F'z + ζ and complementary to the rows' values at x, as nearly as possible."""

    @abstractmethod
    def interior_multipliers(self, x: FloatArray, seconds: float | None = None) -> ByLabel | None:
        """Return multipliers with ∇f(x) = F'z + ζ, z and ζ deep inside their cones; None if none are found in time."""

    def scaled_objective(self) -> tuple[FloatArray, float, FloatArray, float]:
        """Return q/s, s, P/t and t, where s and t are the largest absolute entries of q and P; P has no rows if it is zero."""
        form = self.form
        P = np.zeros((0, form.n)) if form.quadratic is None else form.quadratic.csc.toarray()
        size = max(float(np.abs(form.q).max(initial=0.0)), _LEAST)
        unit = max(float(np.abs(P).max(initial=0.0)), _LEAST)
        return form.q / size, size, P / unit, unit

    def reduced(self, z: FloatArray) -> FloatArray:
        """Return ζ, the multipliers of the bounds, whose rows come last."""
        low, high = np.isfinite(self.form.lower), np.isfinite(self.form.upper)
        reduced, first = np.zeros(self.form.n), self.form.rows
        reduced[low] += z[first : first + int(low.sum())]
        reduced[high] -= z[first + int(low.sum()) :]
        return reduced


def _fits_least_squares(form: StandardForm, limit: int) -> bool:
    """Return whether no variable is an integer and the least-squares matrices have at most ``limit`` numbers."""
    count = form.rows + int(np.isfinite(form.lower).sum()) + int(np.isfinite(form.upper).sum())
    return not form.integer.any() and (form.n + 1) * (count + 1) <= limit and form.n**2 <= limit


def _stacked_rows(form: StandardForm) -> tuple[FloatArray, FloatArray]:
    """Return A and b of A x + b: the form's rows, then x ≥ lower and x ≤ upper where these are finite."""
    low, high = np.flatnonzero(np.isfinite(form.lower)), np.flatnonzero(np.isfinite(form.upper))
    F, g = form.rows_matrix()
    unit = sp.eye_array(form.n, format="csr")
    A = np.asarray(sp.vstack([F, unit[low], -unit[high]]).toarray())
    return A, np.concatenate([g, -form.lower[low], form.upper[high]])


# min ½||B z - c||² over a product of cones, by accelerated projected gradients with restarts.
#
# The cones have cheap projections and the matrices are small: thousands of steps take milliseconds. The method restarts where
# step and momentum point apart, which keeps it linear where the minimum is sharp. (Beck, Teboulle: *A fast iterative
# shrinkage-thresholding algorithm*, 2009; O'Donoghue, Candès: *Adaptive restart*, 2015.)

#: Largest number of steps; number of steps between two checks of the residual.
_STEPS, _LOOK = 4000, 50
#: Relative residual that counts as zero; the steps end if the residual is at least this share of the one `_LOOK` steps before.
_CONVERGED, _PROGRESS = 1e-13, 0.999


def _cone_least_squares(
    B: FloatArray, c: FloatArray, project: Callable[[FloatArray], FloatArray], deadline: float = np.inf
) -> tuple[FloatArray, FloatArray]:
    """Minimise ||c - B z|| over z in a cone.

    Parameters
    ----------
    B : ndarray (m, k)
    c : ndarray (m,)
    project : callable
        Returns the nearest point of the closed convex cone.
    deadline : float
        Time of ``time.perf_counter`` at which the steps end: a projection on exponential cones takes milliseconds.

    Returns
    -------
    tuple of (z, residual)
        The residual is c - B z.
    """
    z = np.zeros(B.shape[1])
    norm = float(np.linalg.norm(B, 2)) if B.size else 0.0
    if not norm > 0.0 or not np.isfinite(norm):
        return z, c
    step, size = 1.0 / (norm * norm), float(np.linalg.norm(c))
    extrapolated, t, last = z, 1.0, np.inf
    for k in range(1, _STEPS + 1):
        if time.perf_counter() > deadline:
            break
        projected = project(extrapolated - step * (B.T @ (B @ extrapolated - c)))
        if (extrapolated - projected) @ (projected - z) > 0.0:
            extrapolated, t = projected, 1.0
        else:
            next_t = 0.5 * (1.0 + np.sqrt(1.0 + 4.0 * t * t))
            extrapolated, t = projected + (t - 1.0) / next_t * (projected - z), next_t
        z = projected
        if k % _LOOK == 0:
            residual = float(np.linalg.norm(c - B @ z))
            if residual <= _CONVERGED * size or residual >= _PROGRESS * last:
                break
            last = residual
    return z, c - B @ z


# Multipliers of linear rows in the relative interior of those that bound the objective, by a linear program.
#
# At a degenerate vertex of the dual, slopes that must not be negative are zero, and rounding decides their sign. Among all z in
# the dual cones with slopes ∇f(x) - F'z of the signs that the bounds require, a solution of
#
#     max Σu   subject to   u_j ≤ |slope_j| where x_j has one bound,   u_i ≤ z_i for inequalities,   0 ≤ u ≤ depth,
#
# has positive slopes and multipliers wherever any z has: only entries that are zero for *all* z stay zero. Variables with a
# quadratic term may have any slope, since a small share of the slope costs its square. The objective has a small price for
# z'(Fx + g) and for slopes times distances from bounds, by which the bound is lower. A small share of the solution moves
# multipliers off the vertex (`solvers.certification.answer_completion`).

#: Largest numbers of entries of the rows and of iterations of the linear program: a second or two.
_MOST_ENTRIES, _ITERATIONS = 200_000, 5000
#: Largest depth u of a slope or multiplier, in units of the largest entry of the gradient.
_DEPTH = 1e-2
#: Price of a unit of the bound, relative to a unit of depth: this number over the point's largest distance from a row or bound.
_PAID = 0.1


def interior_multipliers(form: StandardForm, x: FloatArray, seconds: float | None = None) -> ByLabel | None:
    """Return multipliers deep inside their cones for ∇f(x), by a linear program.

    None if there are no rows, rows are not linear or too many, the gradient is zero, or ``seconds`` are not enough.
    """
    if not form.constraints or not all(isinstance(c.cone, (Zero, Nonnegative)) for c in form.constraints):
        return None
    F, g = form.rows_matrix()
    gradient = form.gradient(x)
    size = float(np.abs(gradient).max(initial=0.0))
    if F.nnz + form.n > _MOST_ENTRIES or not 0.0 < size < np.inf:
        return None
    from scipy.optimize import linprog  # imported here: it is slow, and few answers need it

    below, above = np.isfinite(form.lower), np.isfinite(form.upper)
    needed = np.ones(form.n, dtype=bool) if form.quadratic is None else form.quadratic.diagonal <= 0.0
    sided, free = np.flatnonzero(needed & (below != above)), np.flatnonzero(needed & ~below & ~above)
    sign = sp.diags_array(np.where(below[sided], 1.0, -1.0))
    distance = np.abs(x - np.where(below, form.lower, np.where(above, form.upper, x)))[sided]
    unequal = form.rows_mask(Nonnegative)
    inequalities = np.flatnonzero(unequal)
    m, k = F.shape[0], sided.size + inequalities.size
    slack = np.where(unequal, np.maximum(F @ x + g, 0.0), 0.0)
    paid = _PAID / max(float(distance.max(initial=0.0)), float(slack.max(initial=0.0)), 1e-300)
    rows = sp.vstack([sign @ F.T[sided], -sp.eye_array(m, format="csr")[inequalities]])
    solution = linprog(
        np.concatenate([paid * (slack - F[:, sided] @ (sign @ distance)), -np.ones(k)]),
        A_ub=sp.hstack([rows, sp.eye_array(k)], format="csr"),
        b_ub=np.concatenate([sign @ gradient[sided], np.zeros(inequalities.size)]) / size,
        A_eq=sp.hstack([F.T[free], sp.csr_array((free.size, k))], format="csr") if free.size else None,
        b_eq=gradient[free] / size if free.size else None,
        bounds=np.vstack([np.tile([-np.inf, np.inf], (m, 1)), np.tile([0.0, _DEPTH], (k, 1))]),
        method="highs",
        options={"maxiter": _ITERATIONS, "time_limit": seconds},
    )
    if solution.status != 0:
        return None
    return multipliers_by_label(form, solution.x[:m] * size)


# Missing multipliers, Farkas multipliers and rays of linear programs, found from the data by nonnegative least squares.
#
# Each claim has an alternative, of which exactly one holds, and the residual of one least-squares problem decides which. With
# rows G x + h ≥ 0 (bounds included) and E x + e = 0:
#
# - *Infeasible*: min ||(G'z + E'y, h'z + e'y + 1)|| over z ≥ 0. At residual 0 these are Farkas multipliers; else the residual
#   (u, t) has t < 0 and u/t satisfies every row: a feasible point. (Lawson, Hanson: *Solving Least Squares Problems*, ch. 23.)
# - *Unbounded*: a ray d with G d ≥ 0, E d = 0, P d = 0, q'd = -1, or multipliers with q + P v = G'z + E'y, whose Lagrangian
#   bounds the objective from below.
# - *Optimal* at x: multipliers of the rows that are active at x with ∇f(x) = G'z + E'y; they have no alternative.
#
# Rows are scaled to unit length, constant included.

#: Largest size of the least-squares matrix: half a second.
_MOST = 600_000
#: A row counts as active if it is violated, or its slack is below this number, relative to the sizes of x and of its constant.
_ACTIVE = 1e-6
#: Relative residual that counts as zero.
_NONE = 1e-7
#: A ray is also tried with its entries rounded to multiples of the least one over these.
_PARTS = (1, 2, 3, 4, 5, 6, 8, 10, 12)


@dataclass(frozen=True, eq=False)
class ScaledLinearRows(ScaledRows):
    """The rows of a form with linear constraints, each scaled to unit length; bounds come last.

    Parameters
    ----------
    form, A, b, scale
        As in `ScaledRows`: A x + b ≥ 0, or = 0 where ``equal``.
    equal : ndarray of bool
        The rows that are equations.
    """

    equal: BoolArray

    @classmethod
    def of(cls, form: StandardForm) -> ScaledLinearRows | None:
        """Return the rows; None where a constraint is not linear, a variable is an integer, or the matrix is too large."""
        linear = all(isinstance(c.cone, (Zero, Nonnegative)) for c in form.constraints)
        if not linear or not _fits_least_squares(form, _MOST):
            return None
        A, b = _stacked_rows(form)
        equal = np.append(form.rows_mask(Zero), np.zeros(b.size - form.rows, dtype=bool))
        scale = np.sqrt((A**2).sum(axis=1) + b**2)
        scale[scale == 0.0] = 1.0
        return cls(form, A / scale[:, None], b / scale, scale, equal)

    def farkas(self) -> tuple[ByLabel | None, FloatArray | None]:
        """Return Farkas multipliers, or a feasible point; both None if least squares did not decide."""
        z, residual = self._least(
            np.column_stack([self.A, self.b]).T, np.append(np.zeros(self.form.n), -1.0), np.ones(self.b.size, dtype=bool)
        )
        if z is None:
            return None, None
        if float(np.linalg.norm(residual)) <= _NONE:
            multipliers = multipliers_by_label(self.form, z / self.scale)
            return (multipliers if farkas_proves(self.form, multipliers) else self._whole(z / self.scale, multipliers)), None
        return None, residual[:-1] / residual[-1] if residual[-1] < 0.0 else None

    def ray(self) -> FloatArray | None:
        """Return a ray along which the objective decreases; None if there is none or least squares did not find it."""
        form, n = self.form, self.form.n
        rises, falls = np.flatnonzero(~np.isfinite(form.upper)), np.flatnonzero(~np.isfinite(form.lower))
        lines = self.A[: form.rows]
        slack = np.flatnonzero(~self.equal[: form.rows])
        q, _, P, _ = self.scaled_objective()
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

    def bounding_multipliers(self) -> tuple[ByLabel, FloatArray, FloatArray] | None:
        """Return multipliers z, ζ and a point v with q + P v = F'z + ζ, at which their Lagrangian is least; None if not found."""
        form = self.form
        q, size, P, unit = self.scaled_objective()
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
        return (
            multipliers_by_label(self.form, settled_multipliers),
            self.reduced(settled_multipliers),
            v if v.size else np.zeros(form.n),
        )

    def multipliers(self, x: FloatArray) -> tuple[ByLabel, FloatArray] | None:
        """Return least-squares multipliers of the rows that are active at x, and ζ of the bounds."""
        gradient = self.form.gradient(x)
        size = max(float(np.linalg.norm(gradient)), 1e-300)
        slack = self.A @ x + self.b  # rows have unit length: a distance, as x is
        active = self.equal | (slack <= _ACTIVE * (float(np.abs(x).max(initial=0.0)) + np.abs(self.b)))
        z, _ = self._least(self.A.T, gradient / size, active)
        if z is None:
            return None
        settled_multipliers = _settled(z * size / self.scale)
        return multipliers_by_label(self.form, settled_multipliers), self.reduced(settled_multipliers)

    def _whole(self, z: FloatArray, otherwise: ByLabel) -> ByLabel:
        """Return Farkas multipliers scaled to whole numbers if those prove infeasibility, else ``otherwise``."""
        candidates = (multipliers_by_label(self.form, rounded) for rounded in _rounded(z))
        return next((multipliers for multipliers in candidates if farkas_proves(self.form, multipliers)), otherwise)

    def interior_multipliers(self, x: FloatArray, seconds: float | None = None) -> ByLabel | None:
        """Return multipliers with ∇f(x) = F'z + ζ deep inside their cones, by a linear program; None if not found in time."""
        return interior_multipliers(self.form, x, seconds)

    def _least(self, columns: FloatArray, right: FloatArray, chosen: BoolArray) -> tuple[FloatArray | None, FloatArray]:
        """Minimise ||columns z - right|| over the chosen z, nonnegative but for equalities; return z and the residual."""
        active_equal = chosen & self.equal
        z, residual = self._nonnegative(np.column_stack([columns[:, chosen], -columns[:, active_equal]]), right)
        if z is None:
            return None, residual
        full_z = np.zeros(chosen.size)
        full_z[chosen] = z[: int(chosen.sum())]
        full_z[active_equal] -= z[int(chosen.sum()) :]
        return full_z, residual

    @staticmethod
    def _nonnegative(A: FloatArray, b: FloatArray) -> tuple[FloatArray | None, FloatArray]:
        from scipy.optimize import nnls  # imported here: it is slow, and few answers need it

        if not (np.isfinite(A).all() and np.isfinite(b).all()):  # overflow
            return None, b
        if not A.shape[1]:
            return np.zeros(0), b
        try:
            z, _ = nnls(A, b)
        except RuntimeError:  # its iteration limit
            return None, b
        return np.asarray(z), b - A @ z


def _rounded(v: FloatArray) -> Iterator[FloatArray]:
    """Yield v in units of its least entry, rounded to small fractions of it: whole numbers meet equations exactly."""
    size = np.abs(v)
    smallest = float(size[size > 1e-9 * size.max(initial=0.0)].min(initial=np.inf))
    if np.isfinite(smallest):
        yield from (np.round(v / smallest * parts) for parts in _PARTS)


def _settled(z: FloatArray) -> FloatArray:
    """Return z with entries within 1e-12 of a multiple of 2^-20 rounded to it, so that equations of whole numbers hold."""
    rounded = np.round(z * 2.0**20) / 2.0**20
    return np.where(np.abs(z - rounded) <= 1e-12 * np.abs(z), rounded, z)


def _exact_ray(form: StandardForm, d: FloatArray) -> FloatArray:
    return next((rounded_ray for rounded_ray in _rounded(d) if ray_is_exact(form, rounded_ray)), d)


# Missing multipliers, Farkas multipliers and rays of conic programs, found by projections on the dual cones.
#
# The alternatives are those of `ScaledLinearRows`, by least squares over a product of cones, not only of half-lines. A cone's
# image need not be closed: at a residual that is small and not zero neither alternative may hold, and no evidence is returned.
# Evidence is judged, with its error, as if the solver had given it.

#: Largest size of the least-squares matrix: some thousand products with it take half a second.
_MOST_OF_CONES = 40_000
#: Relative residual that counts as zero; residual up to which the alternative does not hold for certain.
_NONE_OF_CONES, _UNSURE = 1e-8, 1e-3
#: Depths inside their cones that are tried for multipliers, in units of the scaled gradient; the residual that counts as zero.
_DEPTHS, _INSIDE = (1e-1, 1e-2, 1e-4), 1e-8


@dataclass(frozen=True, eq=False)
class ScaledConeRows(ScaledRows):
    """The rows of a form with convex cones, each constraint scaled to size one; bounds come last.

    Parameters
    ----------
    form, A, b, scale
        As in `ScaledRows`: A x + b in the product of the cones and, for bounds, of half-lines. A constraint's rows have one
        scale.
    """

    decides: ClassVar[bool] = False

    @classmethod
    def of(cls, form: StandardForm) -> ScaledConeRows | None:
        """Return the rows; None where a set is not convex, a variable is an integer, or the matrix is too large."""
        if not all(c.cone.convex for c in form.constraints) or not _fits_least_squares(form, _MOST_OF_CONES):
            return None
        A, b = _stacked_rows(form)
        size, start = np.sqrt((A**2).sum(axis=1) + b**2), 0
        for c in form.constraints:
            size[start : start + c.rows] = np.linalg.norm(size[start : start + c.rows])
            start += c.rows
        size[size == 0.0] = 1.0
        return cls(form, A / size[:, None], b / size, size) if np.isfinite(size).all() else None

    def farkas(self) -> tuple[ByLabel | None, FloatArray | None]:
        """Return Farkas multipliers, or a feasible point; both None if least squares did not decide."""
        B = np.column_stack([self.A, self.b]).T
        z, residual = _cone_least_squares(B, np.append(np.zeros(self.form.n), -1.0), self._dual, self.deadline)
        if float(np.linalg.norm(residual)) <= _NONE_OF_CONES:
            return multipliers_by_label(self.form, z / self.scale), None
        certain = residual[-1] < -_UNSURE
        return None, residual[:-1] / residual[-1] if certain else None

    def ray(self) -> FloatArray | None:
        """Return a ray along which the objective decreases; None if none was found."""
        form, n, m = self.form, self.form.n, self.form.rows
        q, _, P, _ = self.scaled_objective()
        B = np.block([[self.A[:m], -np.eye(m)], [P, np.zeros((P.shape[0], m))], [q[None, :], np.zeros((1, m))]])
        if B.size > 4 * _MOST_OF_CONES:
            return None

        def project(v: FloatArray) -> FloatArray:
            d = np.where(np.isfinite(form.lower), np.maximum(v[:n], 0.0), v[:n])
            d = np.where(np.isfinite(form.upper), np.minimum(d, 0.0), d)
            return np.concatenate([d, self._primal(v[n:])])

        direction, residual = _cone_least_squares(B, np.append(np.zeros(m + P.shape[0]), -1.0), project, self.deadline)
        return direction[:n] if float(np.linalg.norm(residual)) <= _NONE_OF_CONES else None

    def bounding_multipliers(self) -> tuple[ByLabel, FloatArray, FloatArray] | None:
        """Return multipliers z, ζ and a point v with q + P v = F'z + ζ, at which their Lagrangian is least; None if not found."""
        form, count = self.form, self.A.shape[0]
        q, size, P, unit = self.scaled_objective()
        B = np.column_stack([self.A.T, -P.T])
        z, residual = _cone_least_squares(B, q, lambda v: np.concatenate([self._dual(v[:count]), v[count:]]), self.deadline)
        if float(np.linalg.norm(residual)) > _NONE_OF_CONES:
            return None
        multipliers, v = z[:count] * size / self.scale, z[count:] / unit * size
        return multipliers_by_label(self.form, multipliers), self.reduced(multipliers), v if v.size else np.zeros(form.n)

    def multipliers(self, x: FloatArray) -> tuple[ByLabel, FloatArray] | None:
        """Return multipliers with ∇f(x) = F'z + ζ, complementary to the rows' values at x, as nearly as possible."""
        gradient, row_values = self.form.gradient(x), self.A @ x + self.b
        size = max(float(np.linalg.norm(gradient)), 1e-300)
        B = np.vstack([self.A.T, row_values[None, :]])
        z, _ = _cone_least_squares(B, np.append(gradient / size, 0.0), self._dual, self.deadline)
        multipliers_in_rows = z * size / self.scale
        return multipliers_by_label(self.form, multipliers_in_rows), self.reduced(multipliers_in_rows)

    def interior_multipliers(self, x: FloatArray, seconds: float | None = None) -> ByLabel | None:
        """Return multipliers with ∇f(x) = F'z + ζ, z and ζ deep inside their cones; None if none are found in time.

        z = ε e + z', e the directions into the cones, ε the first of `_DEPTHS` at which the least-squares residual is zero.
        Variables with a quadratic term may have any slope: a small part of it costs its square.
        """
        form = self.form
        needed = np.ones(form.n, dtype=bool) if form.quadratic is None else form.quadratic.diagonal <= 0.0
        gradient, columns = form.gradient(x), self.A.T[needed]
        size = max(float(np.linalg.norm(gradient)), 1e-300)
        inwards = [np.zeros(c.rows) if isinstance(c.cone, Zero) else c.cone.interior_direction for c in form.constraints]
        inward = np.concatenate([*inwards, np.ones(self.A.shape[0] - form.rows)])
        begin = time.perf_counter()
        for depth in _DEPTHS:
            if seconds is not None and time.perf_counter() - begin > seconds:
                return None
            right = gradient[needed] / size - columns @ (depth * inward)
            z, residual = _cone_least_squares(columns, right, self._dual, self.deadline)
            if float(np.linalg.norm(residual)) <= _INSIDE:
                return multipliers_by_label(self.form, (z + depth * inward) * size / self.scale)
        return None

    @cached_property
    def _stacks(self) -> list[tuple[Cone, IntArray]]:
        """Return equal cones of all constraints as one stack with its rows, so that one call projects all cones of a kind."""
        places: dict[Cone, list[IntArray]] = {}
        start = 0
        for c in self.form.constraints:
            one = replace(c.cone, dim=c.cone.group_size, count=1)
            places.setdefault(one, []).append(np.arange(start, start + c.rows))
            start += c.rows
        stacks = [(one, np.concatenate(rows)) for one, rows in places.items()]
        return [(replace(one, count=rows.size // one.dim), rows) for one, rows in stacks]

    def _dual(self, z: FloatArray) -> FloatArray:
        """Return the nearest multipliers in the dual cones."""
        nearest = np.maximum(z, 0.0)
        for cone, rows in self._stacks:
            nearest[rows] = cone.project_dual(z[rows])
        return nearest

    def _primal(self, s: FloatArray) -> FloatArray:
        """Return the nearest values of the rows in the cones."""
        nearest = s.copy()
        for cone, rows in self._stacks:
            nearest[rows] = cone.project(s[rows])
        return nearest
