"""Repair of multipliers whose stationarity is off by rounding, so that the Lagrangian bound over unbounded variables is finite.

The form minimises ½x'Px + q'x + r subject to F_k x + g_k in cones K_k and bounds; z_k is the multiplier of F_k x + g_k, and F
and z stack all F_k and z_k. The Lagrangian's slope in x_j is s_j = (P x̂ + q - F'z)_j, with x̂ the point of the quadratic's
tangent. A variable without curvature and without a bound on one side needs s_j = 0 (or of one sign) *exactly*, which computed
multipliers miss by 1e-9 or 1e-16. Let S be the set of these variables. The multipliers may move to z + W y, one column of W for
each move: those of an equality freely; those of an inequality by no more than their own size, so that they stay ≥ 0; those of
any other cone along the ray through them, and, where they lie deep inside its dual, by half their depth in every direction (and
then by half their size along the ray). The moves that make the slopes of S zero solve A y = s_S with A = F_S'W, F_S the columns
S of F. If a solution with ||y|| ≤ 1 is proved to exist, so do exact multipliers, and a linear function a'z differs there by no
more than ||W'a||·||y||.

A ray's column of A is a sum over the rows of its cone, with a rounding error; let E be these errors. The norm of row j of E is
within the error bound of s_j. Suppose that A y = t has a solution with ||y|| ≤ d < 1 for every t with |t_j| ≤ |s_j| plus that
bound. Then (A - E) y = s_S has a solution with ||y|| ≤ d/(1 - d).
(Jansson, *Rigorous lower and upper bounds in linear programming*, 2004, encloses a basic solution; here there is no basis.)

*Singleton equations.* An equation with a single move (of a slack in its own row, for instance) determines it: y_k = s_j/A_jk. The
other equations B y' = s' - C y_k, y' the other moves, have fewer rows and columns. For a hinge loss one equation for each feature
remains.

*A bound of ||y||.* The least-norm solution of B y' = t has ||y'||² = t'(BB')⁻¹t ≤ Σ t_j²/ℓ_j once BB' ⪰ diag(ℓ) is verified,
rounding errors included (`models.program.quadratic`).

*Dependent equations.* A direction d on S with P d = 0, q'd = 0, and F d = 0 in the rows whose multiplier is not zero or may move,
has s'd = 0 for all multipliers: the equation of one variable of d follows from the equations of its other variables. If x is
split into x⁺ - x⁻, d = (1, 1) is such a direction. Floating point does not tell dependent equations from nearly dependent ones,
so directions in whole numbers are found from the null space and verified exactly.

*Moves of x̂.* With a quadratic objective x̂ may move to x̂ - D v, D a scale: further columns P D of A. Such a move changes the
slopes by -P D v, and the tangent's constant -½x̂'Px̂ by no more than ||D P x̂||·||v|| + ½||D P D||·||v||². Where P is singular on
variables without bounds, the multipliers alone often cannot bring their slopes to zero.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise
from typing import Protocol

import numpy as np
import scipy.linalg
import scipy.sparse as sp

from ..arrays import BoolArray, FloatArray, IntArray
from ..deadline import check_repair
from ..rounding import Rounded, dot, gamma, two_product
from .cones import Nonnegative, Zero
from .csr_rows import CSRRows
from .form import Constraint, StandardForm
from .quadratic import Quadratic, curvature_bounds

#: Eigenvalues of the scaled Gram matrix BB' below which eigenvectors may be directions of dependence.
_NULL = 1e-9
#: Directions are whole numbers, to within `_NEAR`, after multiplication by one of these.
_FACTORS = range(1, 13)
_NEAR = 1e-6
#: Estimated seconds of a solution: of factorising k equations, over k³, and of products with A, over its entries.
_SECONDS, _SECONDS_OF_ENTRIES = 1e-10, 7e-8


@dataclass(frozen=True, eq=False)
class IndependentEquations:
    """A maximal independent set of `Equations.others`, with a proved distance from dependence.

    Parameters
    ----------
    indices : ndarray of int
        Indices of these equations among all.
    diagonal_bound : ndarray
        ℓ > 0 with BB' ⪰ diag(ℓ) on these equations, B of `Equations`.
    """

    indices: IntArray
    diagonal_bound: FloatArray


@dataclass(frozen=True, eq=False)
class Equations:
    """The equations A y = s of a repair: one for each variable whose slope must be zero, one unknown for each move.

    Parameters
    ----------
    A : CSRRows
        A (equations × moves), without stored zeros.
    singletons, singleton_moves : ndarray of int
        Indices of the equations with one move, and of these moves.
    others : ndarray of int
        Indices of the other equations.
    B, C : CSRRows
        Coefficients of the ``others``: B of the moves that no singleton determines, C of the moves that a singleton determines.
    """

    A: CSRRows
    singletons: IntArray
    singleton_moves: IntArray
    others: IntArray
    B: CSRRows
    C: CSRRows

    @classmethod
    def of(cls, A: CSRRows, *, separate: bool) -> Equations:
        """Return the equations A y = s; with ``separate`` equations of a single move are set apart as singletons."""
        nonzero = A.data != 0.0
        A = A if nonzero.all() else A.keep_entries(nonzero)
        singletons = np.flatnonzero(A.row_counts == 1) if separate else np.zeros(0, dtype=np.intp)
        moves = A.indices[A.indptr[singletons]]
        once = np.bincount(moves, minlength=1)[moves] == 1  # equations that share their only move stay among the others
        singletons, moves = singletons[once], moves[once]
        if not singletons.size:
            return cls(A, singletons, moves, np.arange(A.rows), A, A)
        used, remaining = np.zeros(A.width, dtype=bool), np.ones(A.rows, dtype=bool)
        used[moves], remaining[singletons] = True, False
        hit = used[A.indices]
        B, C = A.keep_entries(~hit), A.keep_entries(hit)
        B = CSRRows(
            B.data, B.indices, np.concatenate([B.indptr[:1], B.indptr[1:][remaining]]), A.width
        )  # rows that are left out are empty
        return cls(A, singletons, moves, np.flatnonzero(remaining), B, C.take_rows(remaining))

    def check_time(self, rounds: int) -> None:
        """Raise `OutOfTimeError` where the deadline leaves no time to solve the equations ``rounds`` times."""
        once = _SECONDS * self.others.size**3 + _SECONDS_OF_ENTRIES * self.A.data.size
        check_repair(rounds * once)

    @property
    def pivots(self) -> FloatArray:
        """Return the coefficients A_jk of moves that a single equation determines."""
        return self.A.data[self.A.indptr[self.singletons]]

    @cached_property
    def gram(self) -> FloatArray:
        """Return the Gram matrix BB' of the other equations, not finite where its numbers overflow."""
        with np.errstate(over="ignore", invalid="ignore"):
            return self.B.gram()

    def find_independent(
        self, form: StandardForm, F: sp.csr_array, used: BoolArray, indices: IntArray
    ) -> IndependentEquations | None:
        """Return a maximal set of independent equations and their distance from dependence; None where that is not proved.

        Parameters
        ----------
        form : StandardForm
            The form whose multipliers are repaired.
        F : csr_array
            The matrices F_k of its constraints, one below the other.
        used : ndarray of bool
            Rows whose multiplier is not zero or may move.
        indices : ndarray of int
            Variables of all equations.
        """
        M, size = self.gram, self.others.size
        if not (np.diagonal(M) > 0.0).all() or not np.isfinite(M).all():
            return None
        if not size:
            return IndependentEquations(self.others, np.zeros(0))
        rounding = 4.0 * size * gamma(self.A.width + sum(F.shape) + 8)  # relative, of the products in M
        factor = curvature_bounds(M, np.ones(size, dtype=bool), rounding)
        if factor is not None:
            return IndependentEquations(self.others, factor[0])
        independent = _independent(form, F, used, indices[self.others], M)
        if independent is None:
            return None
        factor = curvature_bounds(M[np.ix_(independent, independent)], np.ones(int(independent.sum()), dtype=bool), rounding)
        return None if factor is None else IndependentEquations(self.others[independent], factor[0])

    def solution(self, right: FloatArray, *, definite: bool) -> FloatArray | None:
        """Return the least-norm y of A y = ``right`` in floating point, after the moves that singletons determine.

        Return None if numbers overflow or the factorisation fails. ``definite`` takes BB' as positive definite and solves by
        Cholesky; without it the others are solved in the sense of least squares.
        """
        y = np.zeros(self.A.width)
        y[self.singleton_moves] = right[self.singletons] / self.pivots
        if self.others.size:
            residual = right[self.others] - (self.C.dot(y) if self.singletons.size else 0.0)
            weights = _solve(self.gram, residual, definite=definite)
            if weights is None:
                return None
            y += self.B.weighted_sum(weights)
        return y

    def solution_norm_bound(self, sizes: FloatArray, independent: IndependentEquations) -> float:
        """Return d such that A y = s has an exact solution with ||y|| ≤ d for every s with |s_j| ≤ sizes_j; ∞ on overflow."""
        with np.errstate(over="ignore"):
            steps = sizes[self.singletons] / np.abs(self.pivots)
            residual = sizes.copy()
            if self.singletons.size:
                steps_of_columns = np.zeros(self.A.width)
                steps_of_columns[self.singleton_moves] = steps
                residual[self.others] += self.C.absolute.dot(steps_of_columns)
            squares = float(steps @ steps) + float(np.sum(residual[independent.indices] ** 2 / independent.diagonal_bound))
        return math.sqrt(squares) * (1.0 + 1e-9) if np.isfinite(squares) else math.inf


def _solve(M: FloatArray, right: FloatArray, *, definite: bool) -> FloatArray | None:
    """Return M⁻¹ right, or the least-squares solution where M is not known to be ``definite``.

    M is scaled to a unit diagonal and 1e-14 I is added; callers repeat the step, which corrects for it. Return None where numbers
    overflow, Cholesky or the SVD fails, or SciPy refuses an argument with a ValueError.
    """
    root = np.sqrt(np.diagonal(M))
    if not (np.isfinite(root).all() and np.isfinite(M).all()):
        return None
    with np.errstate(over="ignore", invalid="ignore", divide="ignore"):  # for a move of 1e-300 beside others; checked below
        scaled, side = M / root / root[:, None] + 1e-14 * np.eye(root.size), right / root
    if not (np.isfinite(scaled).all() and np.isfinite(side).all()):
        return None
    try:
        if definite:
            return np.asarray(scipy.linalg.solve(scaled, side, assume_a="pos", check_finite=False) / root)
        return np.asarray(scipy.linalg.lstsq(scaled, side, check_finite=False)[0] / root)
    except (np.linalg.LinAlgError, ValueError):
        return None


def _independent(form: StandardForm, F: sp.csr_array, used: BoolArray, indices: IntArray, M: FloatArray) -> BoolArray | None:
    """Return the mask of the equations to keep; None where no equation is shown to follow from others. M is their Gram matrix."""
    if not _flat(form, indices):
        return None
    root = np.sqrt(np.diagonal(M))
    values, vectors = np.linalg.eigh(M / root / root[:, None])
    null = vectors[:, values < _NULL] / root[:, None]
    count = null.shape[1]
    if not 0 < count < indices.size:
        return None
    columns, free_rows = CSRRows.from_matrix(F).take_rows(used).take_columns(indices), np.ones(indices.size, dtype=bool)
    pivots = scipy.linalg.qr(null.T, mode="r", pivoting=True)[1][:count]
    try:
        basis = np.linalg.solve(null[pivots].T, null.T).T  # the identity on the pivots
    except np.linalg.LinAlgError:
        return None
    for pivot, direction in zip(pivots.tolist(), basis.T, strict=True):
        integer_direction = _whole(direction)
        if (
            integer_direction is not None
            and _unseen(columns, integer_direction)
            and _sum(form.q[indices], integer_direction) == 0.0
        ):
            free_rows[pivot] = False  # the other pivots are not in this direction
    return None if free_rows.all() else free_rows


def _flat(form: StandardForm, indices: IntArray) -> bool:
    """Return whether P is zero on these variables."""
    P = form.quadratic
    if P is None:
        return True
    if P.diagonal[indices].any():
        return False
    return P.matrix is None or abs(P.matrix[:, indices]).max() == 0.0


def _whole(direction: FloatArray) -> FloatArray | None:
    """Return a multiple of the direction in whole numbers; None if no factor of `_FACTORS` gives one."""
    for factor in _FACTORS:
        scaled = factor * direction
        rounded = np.round(scaled)
        if np.abs(scaled - rounded).max() <= _NEAR and np.abs(rounded).max() <= 1e6:
            return rounded
    return None


def _unseen(columns: CSRRows, direction: FloatArray) -> bool:
    """Return whether every row's product with the direction is exactly zero."""
    ends = columns.indptr.tolist()
    return all(_sum(columns.data[a:b], direction[columns.indices[a:b]]) == 0.0 for a, b in pairwise(ends))


def _sum(a: FloatArray, b: FloatArray) -> float:
    """Return a'b, rounded once."""
    products, rests = two_product(np.asarray(a, dtype=np.float64), b)
    return math.fsum([*products.tolist(), *rests.tolist()])


@dataclass(frozen=True, eq=False)
class PointMoves:
    """The allowed moves of the point x̂ at which the tangent touches the quadratic.

    Parameters
    ----------
    x_hat : ndarray (n,)
        x̂ itself, which is moved in place.
    quadratic : Quadratic
        P of the objective, given as a matrix.
    """

    x_hat: FloatArray
    quadratic: Quadratic

    @cached_property
    def scale(self) -> float:
        """Return the scaling D of the moves, one number for all variables."""
        return max(1.0, float(np.abs(self.x_hat).max(initial=0.0)))

    @cached_property
    def columns(self) -> sp.csr_array:
        """Return P D, whose column j is the decrease of the slopes by a unit move of variable j."""
        return sp.csr_array(self.scale * self.quadratic.csc)

    def move(self, v: FloatArray) -> None:
        """Move the point to x̂ - D v, in place."""
        self.x_hat[:] -= self.scale * v

    def cost(self, distance: float) -> float:
        """Return a bound of the change of -½x̂'Px̂ under a move v of this length."""
        slope = self.scale * (np.abs(self.quadratic.product(self.x_hat)) + self.quadratic.product_error(self.x_hat))
        bend = self.scale * float(np.linalg.norm(self.columns.data))
        return (float(np.linalg.norm(slope)) + 0.5 * bend * distance) * distance * (1.0 + 1e-9)


#: Most variables that are brought to slope 0: AA' is dense.
_MOST = 2000
#: Depth inside a dual cone, relative to the multipliers' size, from which they may leave their ray.
_DEEP = 1e-4
#: The same depth for exponential and power cones. The columns of their moves are at least the second share of the multipliers'
#: size, so that the equations are well conditioned; the largest multiple of a column that was enlarged is below 1.
_SHALLOW, _COLUMN = 1e-11, 1e-3
#: Most corrections of the multipliers in floating point.
_STEPS = 4
#: With more equations than this, singletons are solved apart, which saves time; with fewer, all are solved together, which often
#: bounds ||y|| more tightly.
_MANY = 100
#: How often further variables may be added to the chosen ones.
_GROWN = 6


@dataclass(frozen=True, eq=False)
class _Rows:
    """All rows F x + g of a form, with the mask of its inequalities; shared by all its `Multipliers`."""

    F: sp.csr_array
    g: FloatArray
    inequality: BoolArray

    @classmethod
    def of(cls, form: StandardForm) -> _Rows:
        return cls(*form.rows_matrix(), form.rows_mask(Nonnegative))

    @cached_property
    def by_variable(self) -> CSRRows:
        """Return F'."""
        return CSRRows.from_matrix(self.F.T)

    @cached_property
    def longest(self) -> int:
        """Return the largest number of entries in a column of F."""
        return int(np.bincount(self.F.indices, minlength=1).max(initial=0))


@dataclass(frozen=True, eq=False)
class Multipliers:
    """The multipliers z of all rows of a form, each in its dual cone in exact arithmetic.

    Parameters
    ----------
    form : StandardForm
        The form that the rows belong to.
    rows : _Rows
        F and g of all rows.
    z : ndarray (rows,)
        The multipliers, in the order of the rows.
    """

    form: StandardForm
    rows: _Rows
    z: FloatArray

    @classmethod
    def in_dual_cones(cls, form: StandardForm, multipliers: Mapping[str, FloatArray]) -> Multipliers | None:
        """Return given multipliers, moved into their dual cones; None where they are not finite or have the wrong number."""
        pieces = []
        for c in form.constraints:
            values = np.ravel(np.asarray(multipliers.get(c.label, np.zeros(c.rows)), dtype=np.float64))
            if values.shape != (c.rows,) or not np.isfinite(values).all():
                return None
            pieces.append(c.cone.moved_into_dual(values))
        return cls(form, _Rows.of(form), np.concatenate(pieces) if pieces else np.zeros(0))

    @property
    def constant(self) -> Rounded:
        """Return Σ<z_k, g_k>, which the Lagrangian's constant subtracts."""
        return dot(self.z, self.rows.g)

    @cached_property
    def lagrangian_gradient(self) -> tuple[FloatArray, FloatArray]:
        """Return the gradient q - F'z of the Lagrangian's linear part and the bound of its error."""
        q, rows = self.form.q, CSRRows.from_matrix(self.rows.F)
        d = q - rows.weighted_sum(self.z)
        absolute = np.abs(q) + rows.absolute.weighted_sum(np.abs(self.z))
        return d, gamma(self.rows.longest + 4) * absolute

    def exact_lagrangian_gradient(self, chosen: BoolArray) -> FloatArray:
        """Return q - F'z of the chosen variables, each sum rounded once, so that an exact zero is zero."""
        columns = self.rows.by_variable.take_rows(chosen)
        products, rests = two_product(columns.data, -self.z[columns.indices])
        if not (np.isfinite(products).all() and np.isfinite(rests).all()):
            return np.full(int(chosen.sum()), np.nan)
        terms, remainders, q = products.tolist(), rests.tolist(), self.form.q[chosen].tolist()
        ends = pairwise(columns.indptr.tolist())
        return np.array([math.fsum([q[k], *terms[a:b], *remainders[a:b]]) for k, (a, b) in enumerate(ends)])

    @cached_property
    def moves(self) -> tuple[CSRRows, FloatArray]:
        """Return W, the allowed moves as columns (rows × moves), and the largest multiple of each column; ∞ without a limit."""
        pieces: list[CSRRows] = []
        reach, start = list[FloatArray](), 0
        largest = max(float(np.abs(self.z).max(initial=0.0)), 1e-300)
        for c in (c for c in self.form.constraints if c.rows):
            z = self.z[start : start + c.rows]
            start += c.rows
            equal = isinstance(c.cone, Zero)
            if equal or isinstance(c.cone, Nonnegative):
                diagonal = np.full(c.rows, largest) if equal else z.copy()
                pieces.append(CSRRows.identity(c.rows).scale_rows(diagonal))
                reach.append(np.full(c.rows, np.inf if equal else 1.0))
            else:
                inner, reach_inside = _moves_inside(c, z)
                pieces.append(inner)
                reach.append(reach_inside)
        if not pieces:
            return CSRRows.identity(0), np.zeros(0)
        ends = np.cumsum([piece.width for piece in pieces])
        shifted = (replace(p, indices=p.indices + (end - p.width), width=ends[-1]) for p, end in zip(pieces, ends, strict=True))
        all_rows = CSRRows.vstack(*shifted)
        return all_rows.keep_entries(all_rows.data != 0.0), np.concatenate(reach)

    def with_raised_zeros(self, share: float) -> Multipliers:
        """Return multipliers in which those of inequalities are at least this share of the largest, so that they may move.

        Multipliers of exponential and power cones are moved towards the interior by this share of their own size.
        """
        threshold = share * np.abs(self.z).max(initial=0.0)
        raised, start = np.where(self.rows.inequality, np.maximum(self.z, threshold), self.z), 0
        for c in self.form.constraints:
            raised[start : start + c.rows] += share * c.cone.dual_interior_direction(self.z[start : start + c.rows])
            start += c.rows
        return replace(self, z=raised)

    def without_small(self, share: float) -> Multipliers:
        """Return multipliers in which those of inequalities below this share of the largest are zero, as mere rounding."""
        threshold = share * np.abs(self.z).max(initial=0.0)
        return replace(self, z=np.where(self.rows.inequality & (self.z < threshold), 0.0, self.z))

    def shifted(self, change: FloatArray) -> Multipliers:
        """Return the multipliers after adding ``change``, moved back into the dual cones."""
        pieces, start = [], 0
        for c in self.form.constraints:
            pieces.append(c.cone.moved_into_dual((self.z + change)[start : start + c.rows]))
            start += c.rows
        return replace(self, z=np.concatenate(pieces))


def _moves_inside(c: Constraint, z: FloatArray) -> tuple[CSRRows, FloatArray]:
    """Return the moves of a stack of cones and their largest multiples: a ray for each cone, and every direction where z is deep.

    The columns of the directions are those of a ball inside the dual cone.
    """
    owner = np.repeat(np.arange(c.cone.count), c.cone.dim)
    # a little less than half the depth: its own rounding is within the rest
    depth, size = 0.499 * c.cone.dual_depth(z), np.linalg.norm(c.cone.by_cone(z), axis=1)
    interior = depth > 0.499 * (_DEEP if c.cone.dual_map is None else _SHALLOW) * size
    rays = sp.csr_array((np.where(interior[owner], 0.5, 1.0) * z, (np.arange(c.rows), owner)), shape=(c.rows, c.cone.count))
    if not interior.any():
        return CSRRows.from_matrix(rays), np.ones(c.cone.count)
    inner = np.flatnonzero(interior[owner])
    column = depth if c.cone.dual_map is None else np.maximum(depth, _COLUMN * size)
    balls = sp.csr_array((column[owner][inner], (inner, np.arange(inner.size))), shape=(c.rows, inner.size))
    reach = np.divide(depth, column, out=np.ones_like(depth), where=column > 0.0)
    return CSRRows.from_matrix(sp.hstack([rays, balls], format="csr")), np.concatenate(
        [np.ones(c.cone.count), reach[owner][inner]]
    )


@dataclass(frozen=True, eq=False)
class MultiplierChange:
    """A bound of the distance between computed multipliers and exact ones.

    Parameters
    ----------
    zero_slopes : ndarray of bool (n,)
        Variables whose slope is 0 at the exact multipliers.
    slopes : ndarray (n,)
        Bounds of the differences between the other variables' slopes at the computed and at the exact multipliers.
    constant : float
        Bound of the difference of the tangent's and the multipliers' constants.
    """

    zero_slopes: BoolArray
    slopes: FloatArray
    constant: float

    @classmethod
    def zero(cls, n: int) -> MultiplierChange:
        """Return the change of size zero for n variables."""
        return cls(np.zeros(n, dtype=bool), np.zeros(n), 0.0)


class TangentSlopes(Protocol):
    """The protocol of tangents of the objective: slopes that multipliers leave, and variables whose slope must be zero."""

    def slopes(self, z: Multipliers) -> tuple[FloatArray, FloatArray]:
        """Return the slopes and the bounds of their errors."""

    def needs_zero_slope(self, slope: FloatArray, error: FloatArray) -> BoolArray:
        """Return the mask of variables whose slope must be 0."""


@dataclass(frozen=True, eq=False)
class _FreeEquations:
    """The equations of the chosen variables, for any multipliers."""

    indices: IntArray
    columns: CSRRows  # F_S'
    curved: CSRRows | None  # P D of these variables
    point: PointMoves | None

    @classmethod
    def of(cls, z: Multipliers, chosen: BoolArray, point: PointMoves | None) -> _FreeEquations:
        indices = np.flatnonzero(chosen)
        curved = None if point is None else CSRRows.from_matrix(point.columns).take_rows(indices)
        return cls(indices, z.rows.by_variable.take_rows(indices), curved, point)

    def at(self, z: Multipliers, W: CSRRows, *, separate: bool) -> Equations:
        """Return the equations for the moves W (and of x̂); with ``separate`` singletons are solved before the others."""
        A = self.columns.product(W)
        if self.curved is not None:
            A = CSRRows.hstack([(A, 0), (self.curved, W.width)], self.indices.size, W.width + z.form.n)
        return Equations.of(A, separate=separate)

    def solvable(self, z: Multipliers, W: CSRRows, *, separate: bool) -> tuple[Equations, IndependentEquations | None, bool]:
        """Return the equations, their independent ones (None without a proof), and whether singletons are solved apart.

        Without a proof the singletons join the others: an equation may depend on them.
        """
        equations = self.at(z, W, separate=separate)
        equations.check_time(_STEPS)  # a proof without time for the steps would be of no use
        independent = equations.find_independent(z.form, z.rows.F, np.asarray((z.z != 0.0) | (W.row_counts > 0)), self.indices)
        if independent is None and equations.singletons.size:
            return self.solvable(z, W, separate=False)
        return equations, independent, separate


def correct_multipliers(
    z: Multipliers, chosen: BoolArray, tangent: TangentSlopes, point: PointMoves | None = None
) -> tuple[Multipliers, MultiplierChange | None]:
    """Return corrected multipliers, and a bound of their distance to exact ones with slope 0 on ``chosen``; None in place of the
    bound where it is not proved.

    Variables whose slope must be 0 only after the correction are added to ``chosen``. With ``point`` the tangent's point is
    corrected too.
    """
    equations_at, all_independent, steps, grown = _FreeEquations.of(z, chosen, point), True, 0, 0
    separate = equations_at.indices.size > _MANY
    while equations_at.indices.size <= _MOST and z.rows.F.shape[0]:
        slope, error = tangent.slopes(z)
        last = steps == _STEPS or float(np.abs(slope[equations_at.indices]).max()) <= 4.0 * float(
            error[equations_at.indices].max()
        )
        added = tangent.needs_zero_slope(slope, error) & ~chosen
        if last and grown < _GROWN and added.any():
            chosen, steps, grown = chosen | added, min(steps, 1), grown + 1
            equations_at = _FreeEquations.of(z, chosen, point)
            continue
        W, reach = z.moves if point is None else _moves_with(point, z)
        if last or not steps:  # steps add no moves: equations that are dependent at the first step stay dependent
            equations, independent, separate = equations_at.solvable(z, W, separate=separate)
            if independent is None:
                break
            if last:
                distance = equations.solution_norm_bound((np.abs(slope) + error)[equations_at.indices], independent)
                return z, _moved(z, W, reach, chosen, distance, point)
            all_independent = independent.indices.size == equations.others.size
        else:
            equations = equations_at.at(z, W, separate=separate)
        equations.check_time(1)
        change = equations.solution(slope[equations_at.indices], definite=all_independent)
        if change is None:
            break
        z, steps = z.shifted(W.dot(change[: W.width])), steps + 1
        if point is not None:
            point.move(change[W.width :])
    return z, None


def _moved(
    z: Multipliers, W: CSRRows, reach: FloatArray, chosen: BoolArray, distance: float, point: PointMoves | None
) -> MultiplierChange | None:
    """Return the changes of a move by up to this distance; None where that is too far."""
    if np.isfinite(reach).any():  # a column may be subject to the error E of the module's text
        distance = distance / (1.0 - distance) if distance <= 0.5 else np.inf
        distance = distance if distance <= float(reach.min()) else np.inf
    if not np.isfinite(distance):
        return None
    rows = CSRRows.from_matrix(z.rows.F)
    squares = (
        rows.scale_rows(W.dot(np.ones(W.width))) if W.is_scaled_selection else CSRRows.from_matrix(W.csr.T @ z.rows.F)
    ).column_squares
    constant = float(np.linalg.norm(W.weighted_sum(z.rows.g))) * (1.0 + 1e-9) * distance
    if point is not None:
        squares, constant = squares + CSRRows.from_matrix(point.columns).column_squares, constant + point.cost(distance)
    return MultiplierChange(chosen, np.where(chosen, 0.0, distance * np.sqrt(squares) * (1.0 + 1e-9)), constant)


def _moves_with(point: PointMoves, z: Multipliers) -> tuple[CSRRows, FloatArray]:
    """Return W and the largest multiples, with columns without a limit scaled up to the largest entry of the point's columns.

    Such columns have the size of the largest multiplier, which may be zero.
    """
    W, reach = z.moves
    share = float(np.abs(point.columns.data).max(initial=0.0)) / max(float(np.abs(W.data).max(initial=0.0)), 1e-300)
    return replace(W, data=W.data * np.where(np.isfinite(reach), 1.0, max(share, 1.0))[W.indices]), reach
