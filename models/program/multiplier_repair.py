"""Multipliers that meet stationarity exactly on chosen variables exist beside computed ones: how far, and what that costs.

A variable without curvature and without a bound on one side asks for slope s_j = (q - Σ F_k'z_k)_j = 0 (or of one sign)
*exactly*, which computed multipliers miss by 1e-9 or 1e-16. The multipliers may move: those of equalities freely, those of
inequalities by no more than their own size (so they stay ≥ 0), those of any other cone along their own ray, and, where they
lie deep inside it, by half their depth in every direction (and then half their size along the ray). With these moves as
the columns of A = F_S'W, S the variables in question, the least-norm solution of A y = s_S has
||y||² = s_S'(AA')⁻¹s_S ≤ Σ s_j²/(μ (AA')_jj) once AA' ⪰ μ diag(AA') is verified (by Cholesky, errors included). If that is at
most 1 exact multipliers exist, and every number that is linear in them moves by no more than ||y|| times the norm of its row.
(Jansson, *Rigorous lower and upper bounds in linear programming*, 2004, encloses a basic solution; here there is no basis.)

With a quadratic objective the point of its tangent may move too (`models.program.point_moves`): further columns of A.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise

import numpy as np
import scipy.linalg
import scipy.sparse as sp

from ..arrays import BoolArray, FloatArray, IntArray
from ..rounding import Rounded, dot, gamma, two_product
from .cones import Nonnegative, Zero
from .convexity import definite_on
from .dependent_equations import independent
from .entries import Entries
from .form import Constraint, StandardForm
from .point_moves import PointMoves

__all__ = ["Moved", "Multipliers", "exact_beside"]

#: Variables that are brought to slope 0 at most: AA' is dense.
_MOST = 2000
#: Depth inside a cone, relative to the size, from which multipliers may leave their ray.
_DEEP = 1e-4
#: Newton-like corrections of the multipliers in floating point.
_STEPS = 4


@dataclass(frozen=True, eq=False)
class Multipliers:
    """z of all rows, each in its dual cone, rounding included."""

    form: StandardForm
    F: sp.csr_array
    g: FloatArray
    z: FloatArray

    @classmethod
    def projected(cls, form: StandardForm, multipliers: Mapping[str, FloatArray]) -> Multipliers | None:
        """The given multipliers moved into their dual cones; None where they are not finite or have the wrong number."""
        pieces = []
        for c in form.constraints:
            given = np.ravel(np.asarray(multipliers.get(c.label, np.zeros(c.rows)), dtype=np.float64))
            if given.shape != (c.rows,) or not np.isfinite(given).all():
                return None
            pieces.append(c.cone.inside_dual(given))
        F, g = form.rows_matrix()
        return cls(form, F, g, np.concatenate(pieces) if pieces else np.zeros(0))

    @property
    def constant(self) -> Rounded:
        """Σ<z_k, g_k>."""
        return dot(self.z, self.g)

    @cached_property
    def pulled(self) -> tuple[FloatArray, FloatArray]:
        """d = q - F'z, and its error."""
        q, rows = self.form.q, Entries.of(self.F)
        d = q - rows.weighted_sum(self.z)
        absolute = np.abs(q) + replace(rows, data=np.abs(rows.data)).weighted_sum(np.abs(self.z))
        return d, gamma(self._longest + 4) * absolute

    def pulled_exactly(self, chosen: BoolArray) -> FloatArray:
        """d of the chosen variables, each sum rounded once: zero is exactly zero (of products that do not underflow)."""
        columns = self.F[:, np.flatnonzero(chosen)].tocsc()
        products, rests = two_product(columns.data, -self.z[columns.indices])
        if not (np.isfinite(products).all() and np.isfinite(rests).all()):
            return np.full(int(chosen.sum()), np.nan)
        terms, more, q = products.tolist(), rests.tolist(), self.form.q[chosen].tolist()
        ends = pairwise(columns.indptr.tolist())
        return np.array([math.fsum([q[k], *terms[a:b], *more[a:b]]) for k, (a, b) in enumerate(ends)])

    @cached_property
    def _longest(self) -> int:
        return int(np.bincount(self.F.indices, minlength=1).max(initial=0))

    @cached_property
    def moves(self) -> tuple[sp.csr_array, BoolArray]:
        """Columns W of the moves (rows × moves, one entry a row), and which of them are bounded by 1."""
        pieces: list[sp.csr_array] = []
        limited, start = [], 0
        largest = max(float(np.abs(self.z).max(initial=0.0)), 1e-300)
        for c in (c for c in self.form.constraints if c.rows):
            z = self.z[start : start + c.rows]
            start += c.rows
            equal = isinstance(c.cone, Zero)
            if equal or isinstance(c.cone, Nonnegative):
                own = np.full(c.rows, largest) if equal else z.copy()
                pieces.append(sp.csr_array((own, np.arange(c.rows), np.arange(c.rows + 1)), shape=(c.rows, c.rows)))
            else:
                pieces.append(_moves_inside(c, z))
            limited.append(np.full(pieces[-1].shape[1], not equal))
        if not pieces:
            return sp.csr_array((0, 0)), np.zeros(0, dtype=bool)
        whole = pieces[0] if len(pieces) == 1 else sp.csr_array(sp.block_diag(pieces, format="csr"))
        return whole, np.concatenate(limited)

    def lifted(self, share: float) -> Multipliers:
        """z with those of inequalities that are zero raised by this share of the largest: then they may move as well."""
        pieces, start, largest = [], 0, float(np.abs(self.z).max(initial=0.0))
        for c in self.form.constraints:
            z = self.z[start : start + c.rows]
            pieces.append(np.maximum(z, share * largest) if isinstance(c.cone, Nonnegative) else z)
            start += c.rows
        return replace(self, z=np.concatenate(pieces) if pieces else self.z)

    def settled(self, share: float) -> Multipliers:
        """z with those of inequalities that are below this share of the largest set to zero: rounding, perhaps."""
        pieces, start, largest = [], 0, float(np.abs(self.z).max(initial=0.0))
        for c in self.form.constraints:
            z = self.z[start : start + c.rows]
            pieces.append(np.where(z < share * largest, 0.0, z) if isinstance(c.cone, Nonnegative) else z)
            start += c.rows
        return replace(self, z=np.concatenate(pieces) if pieces else self.z)

    def moved(self, change: FloatArray) -> Multipliers:
        """z + change, in the dual cones again."""
        pieces, start = [], 0
        for c in self.form.constraints:
            pieces.append(c.cone.inside_dual((self.z + change)[start : start + c.rows]))
            start += c.rows
        return replace(self, z=np.concatenate(pieces))


def _moves_inside(c: Constraint, z: FloatArray) -> sp.csr_array:
    """One ray for each cone of the stack; beside it, where z is deep inside, every direction of that cone."""
    owner = np.repeat(np.arange(c.cone.count), c.cone.dim)
    depth = c.cone.depth(z)
    deep = depth > _DEEP * np.linalg.norm(c.cone.stacked(z), axis=1)
    rays = sp.csr_array((np.where(deep[owner], 0.5, 1.0) * z, (np.arange(c.rows), owner)), shape=(c.rows, c.cone.count))
    if not deep.any():
        return rays
    inner = np.flatnonzero(deep[owner])
    # a little less than half the depth: its own rounding is within the rest
    balls = sp.csr_array((0.499 * depth[owner][inner], (inner, np.arange(inner.size))), shape=(c.rows, inner.size))
    return sp.csr_array(sp.hstack([rays, balls], format="csr"))


@dataclass(frozen=True, eq=False)
class Moved:
    """What exact multipliers beside the computed ones change at most.

    Parameters
    ----------
    zeroed : ndarray of bool (n,)
        Variables whose slope is exactly 0 there.
    slopes : ndarray (n,)
        How far the other slopes may move.
    constant : float
        How far Σ<z_k, g_k> may move.
    """

    zeroed: BoolArray
    slopes: FloatArray
    constant: float

    @classmethod
    def nothing(cls, n: int) -> Moved:
        """The multipliers as they are."""
        return cls(np.zeros(n, dtype=bool), np.zeros(n), 0.0)


def exact_beside(
    z: Multipliers,
    chosen: BoolArray,
    slopes: Callable[[Multipliers], tuple[FloatArray, FloatArray]],
    point: PointMoves | None = None,
) -> tuple[Multipliers, Moved | None]:
    """Multipliers corrected in floating point, and the distance of exact ones with slope 0 on ``chosen``; None where unproven.

    With ``point`` the tangent's point is corrected as well.
    """
    indices = np.flatnonzero(chosen)
    if indices.size > _MOST or not z.F.shape[0]:
        return z, None
    columns = sp.csr_array(Entries.of(z.F).among(indices).csr.T)
    curved = None if point is None else Entries.of(point.columns).at(indices)
    for step in range(_STEPS + 1):
        slope, error = slopes(z)
        W, limited = z.moves if point is None else _moves_with(point, z)
        A = Entries.of(columns @ W)
        if curved is not None:
            A = Entries.beside([(A, 0), (curved, W.shape[1])], indices.size, W.shape[1] + z.form.n)
        M = A.gram()
        own = np.diagonal(M).copy()
        if not (own > 0.0).all():
            return z, None
        last = step == _STEPS or float(np.abs(slope[indices]).max()) <= 4.0 * float(error[indices].max())
        if last or step == 0:  # steps bring no moves that were not there: what depends at the first does at the last
            definite = _definite(z, W, M, indices)
            if definite is None:
                return z, None
            left, least = definite
        if last:
            break
        step_by = _solve(M, own, slope[indices], definite=left.size == indices.size)
        if step_by is None:
            return z, None
        change = A.weighted_sum(step_by)
        z = z.moved(np.asarray(W @ change[: W.shape[1]]))
        if point is not None:
            point.move(change[W.shape[1] :])
    residual = (np.abs(slope) + error)[left]
    distance = float(np.sqrt(np.sum(residual**2 / least))) * (1.0 + 1e-9)
    if not np.isfinite(distance) or (distance > 1.0 and bool(limited.any())):
        return z, None
    rows = sp.csr_array(z.F.T @ W)
    if point is not None:
        rows = sp.csr_array(sp.hstack([rows, point.columns], format="csr"))
    norms = np.sqrt(np.asarray(rows.multiply(rows).sum(axis=1)).ravel()) * (1.0 + 1e-9)
    constant = float(np.linalg.norm(W.T @ z.g)) * (1.0 + 1e-9) * distance
    constant += 0.0 if point is None else point.cost(distance)
    return z, Moved(chosen.copy(), np.where(chosen, 0.0, distance * norms), constant)


def _definite(z: Multipliers, W: sp.csr_array, M: FloatArray, indices: IntArray) -> tuple[IntArray, FloatArray] | None:
    """Independent equations that the others follow from, and ℓ > 0 with M - diag(ℓ) semidefinite on them; None where unproven."""
    rounding = 4.0 * indices.size * gamma(W.shape[1] + z.F.shape[1] + z.F.shape[0] + 8)  # relative, of the products in M
    found = definite_on(M, np.ones(indices.size, dtype=bool), rounding)
    if found is not None:
        return indices, found[0]
    used = z.z != 0.0
    used[np.repeat(np.arange(W.shape[0]), np.diff(W.indptr))[W.data != 0.0]] = True
    left = independent(z.form, z.F, used, indices, M)
    if left is None:
        return None
    found = definite_on(M[np.ix_(left, left)], np.ones(int(left.sum()), dtype=bool), rounding)
    return None if found is None else (indices[left], found[0])


def _solve(M: FloatArray, own: FloatArray, right: FloatArray, *, definite: bool) -> FloatArray | None:
    """M⁻¹ right, scaled, with a touch of regularisation: the steps are repeated. Least squares where M may be singular.

    None where numbers overflow, where LAPACK's SVD does not end, and where it refuses an argument, a ValueError of SciPy that
    the attack met once.
    """
    root = np.sqrt(own)
    if not (np.isfinite(root).all() and np.isfinite(M).all()):
        return None
    with np.errstate(over="ignore", invalid="ignore", divide="ignore"):  # a move of 1e-300 beside others: judged below
        scaled, side = M / root / root[:, None] + 1e-14 * np.eye(own.size), right / root
    if not (np.isfinite(scaled).all() and np.isfinite(side).all()):
        return None
    try:
        if definite:
            return np.asarray(scipy.linalg.solve(scaled, side, assume_a="pos", check_finite=False) / root)
        return np.asarray(scipy.linalg.lstsq(scaled, side, check_finite=False)[0] / root)
    except (np.linalg.LinAlgError, ValueError):
        return None


def _moves_with(point: PointMoves, z: Multipliers) -> tuple[sp.csr_array, BoolArray]:
    """The multipliers' moves, those without a limit as large as the point's: prices of zero have no size of their own."""
    W, limited = z.moves
    share = float(np.abs(point.columns.data).max(initial=0.0)) / max(float(np.abs(W.data).max(initial=0.0)), 1e-300)
    data = W.data * np.where(limited, 1.0, max(share, 1.0))[W.indices]
    return sp.csr_array((data, W.indices, W.indptr), shape=W.shape), limited
