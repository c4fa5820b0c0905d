"""The cones of a standard form: projections, dual cones and violations, which solvers and certificates use.

A constraint of the form is F x + g in a cone K; the rows v = F x + g are the argument ``v`` of most methods. A `Cone`
is a stack of ``count`` equal cones of ``dim`` rows each: ``n`` rotated cones of three rows are *one* constraint. ``project`` is
the Euclidean projection; the projection on the dual cone follows from Moreau's decomposition, ``Π_{K*}(v) = v + Π_K(-v)``.
`Indicator` and `Bilinear` are sets that are neither convex nor cones. They have the same methods; their multipliers are the z
with <z, v> ≥ 0 for all v in the set.

The semidefinite cone holds a symmetric matrix as a vector, its *svec*: the upper triangle by columns, entries off the diagonal
times √2. With this scaling ``<A, B> = svec(A)'svec(B)``, so the cone is self-dual as a cone of vectors.
"""

from __future__ import annotations

import enum
import functools
from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from ...errors import InputError
from ..arrays import BoolArray, FloatArray, IntArray, plain_fields
from ..rounding import gamma

#: √2, the factor of svec off the diagonal.
_SQRT2 = float(np.sqrt(2.0))


def svec_size(order: int) -> int:
    """Return the length order·(order + 1)/2 of the svec of a symmetric matrix of this order."""
    return order * (order + 1) // 2


def svec_order(size: int) -> int:
    """Return the order of the symmetric matrix whose svec has this length."""
    order = int((np.sqrt(8 * size + 1) - 1) // 2)
    if svec_size(order) != size:
        raise ValueError(f"{size} is not the length of the svec of a symmetric matrix")
    return order


@functools.lru_cache(maxsize=64)
def svec_indices(order: int) -> tuple[IntArray, IntArray]:
    """Return row and column (row ≤ column) of every entry of an svec, in its order: (0,0), (0,1), (1,1), (0,2), ..."""
    column, row = np.tril_indices(order)
    row.flags.writeable = column.flags.writeable = False
    return row, column


def svec(matrix: FloatArray) -> FloatArray:
    """Return the svec of a symmetric matrix (its upper triangle is read), or of a stack of them (..., p, p)."""
    row, column = svec_indices(matrix.shape[-1])
    return np.asarray(matrix[..., row, column] * np.where(row == column, 1.0, _SQRT2))


def smat(vector: FloatArray) -> FloatArray:
    """Return the symmetric matrix of an svec: the inverse and the adjoint of `svec`."""
    order = svec_order(vector.shape[-1])
    row, column = svec_indices(order)
    matrix = np.zeros((*vector.shape[:-1], order, order))
    entries = vector * np.where(row == column, 1.0, 1.0 / _SQRT2)
    matrix[..., row, column] = entries
    matrix[..., column, row] = entries
    return matrix


def svec_rank_one(X: FloatArray) -> FloatArray:
    """Return the rows svec(x_i x_i'), n × p(p + 1)/2, so that ``svec_rank_one(X) @ svec(W)`` is x_i'W x_i."""
    row, column = svec_indices(X.shape[1])
    return np.asarray(X[:, row] * X[:, column] * np.where(row == column, 1.0, _SQRT2))


class Feature(enum.Enum):
    """A feature of a program that not every solver or file format takes; the value is its name in sentences."""

    QUADRATIC = "quadratic objective"
    SECOND_ORDER = "second-order cones"
    ROTATED = "rotated second-order cones"
    PSD = "positive semidefinite cones"
    EXPONENTIAL = "exponential cones"
    POWER = "power cones"
    INTEGER = "integer variables"
    INDICATOR = "indicator constraints"
    NONCONVEX = "nonconvex quadratic objective"
    BILINEAR = "bilinear constraints"

    __hash__ = object.__hash__  # Enum's own hashes the name anew at every look-up


@dataclass(frozen=True)
class Cone(ABC):
    """The abstract cone: a stack of ``count`` equal convex cones of ``dim`` rows each.

    Parameters
    ----------
    dim : int
        Rows of one cone.
    count : int
        How many equal cones are stacked.

    Attributes
    ----------
    feature : Feature or None
        The feature of a form with such cones; None for linear rows.
    symbol : str
        Name of the cone in prints and sidecar files.
    convex : bool
        Whether the set is convex; a set that is not is no cone either.
    """

    dim: int
    count: int = 1

    feature: ClassVar[Feature | None] = None
    symbol: ClassVar[str]
    convex: ClassVar[bool] = True

    def __post_init__(self) -> None:
        plain_fields(self)
        if self.dim < 1 or self.count < 0:
            raise InputError(f"a cone needs dim ≥ 1 and count ≥ 0, not dim = {self.dim}, count = {self.count}", name="dim")

    @property
    def rows(self) -> int:
        """Return the number of rows of the whole stack."""
        return self.dim * self.count

    def by_cone(self, v: FloatArray) -> FloatArray:
        """Reshape ``v`` to one row for each cone, count × dim."""
        return v.reshape(self.count, self.dim)

    @abstractmethod
    def project(self, v: FloatArray) -> FloatArray:
        """Return the nearest point of the stack of cones to ``v``."""

    def project_dual(self, v: FloatArray) -> FloatArray:
        """Return the nearest point of the dual cone {z : <z, v> ≥ 0 for all v in the cone}."""
        return np.asarray(v + self.project(-v))

    def moved_into_dual(self, v: FloatArray) -> FloatArray:
        """Return a point near `project_dual` that is in the dual cone in exact arithmetic, whatever the projection's rounding."""
        return self.project_dual(v)

    def depth(self, v: FloatArray) -> FloatArray:
        """Return, for each cone of the stack, the radius of a ball around its rows inside the cone; 0 if none is known.

        The radius is computed in floating point, with an error of a few roundings of ||v||.
        """
        return np.zeros(self.count)

    def dual_depth(self, z: FloatArray) -> FloatArray:
        """Return `depth` with respect to the dual cones."""
        return self.depth(z)

    def dual_interior_direction(self, z: FloatArray) -> FloatArray:
        """Return a direction into the interior of the dual cone, of the size of each cone's multipliers; zero if none is needed.

        Only exponential and power cones return one. Their multipliers on the boundary could otherwise move along a ray alone
        (`models.program.multiplier_repair`).
        """
        return np.zeros_like(z)

    def fill_zero_rows(self, v: FloatArray) -> FloatArray:
        """Fill zero rows and columns of semidefinite matrices in ``v`` so that `depth` judges the rest alone; other cones return
        v.
        """
        return v

    @property
    def dual_map(self) -> FloatArray | None:
        """Return D with K* = {z : D z in K}, dim × dim; None where the cone is its own dual, and for {0} and nonconvex sets."""
        return None

    @property
    def interior_direction(self) -> FloatArray:
        """Return a direction into the interior of every cone of the stack and of its dual.

        It is (1) for inequalities, (1, 0) for second-order, (1, 1, 0) for rotated and svec(I) for semidefinite cones. {0} has no
        interior; its direction is ones.
        """
        return np.tile(self._inward, self.count)

    @property
    def _inward(self) -> FloatArray:
        return np.ones(self.dim)

    @property
    def group_size(self) -> int:
        """Return the number of rows that share one violation: 1 for inequalities and equalities, else the rows of one cone."""
        return self.dim

    def violation(self, v: FloatArray) -> float:
        """Return the largest absolute entry of ``v - Π_K(v)``: zero exactly on the cone."""
        return _largest_absolute(v - self.project(v))

    def relative_violation(
        self, v: FloatArray, scale: FloatArray, unit: FloatArray | float = 1.0, rounding: FloatArray | float = 0.0
    ) -> float:
        """Return the largest relative violation over groups of `group_size` rows.

        The violation of a row is |v - Π_K(v)| less ``rounding`` ≥ 0, the error of v. The largest one of a group is divided by the
        group's largest ``unit`` > 0 plus its largest ``scale`` ≥ 0.
        """
        outside = np.maximum(np.abs(v - self.project(v)) - rounding, 0.0).reshape(-1, self.group_size).max(axis=1)
        units = np.broadcast_to(np.asarray(unit), v.shape).reshape(-1, self.group_size).max(axis=1)
        return float((outside / (units + scale.reshape(-1, self.group_size).max(axis=1))).max(initial=0.0))

    def dual_violation(self, z: FloatArray) -> float:
        """Return the largest absolute entry of ``z - Π_{K*}(z)``: zero exactly on the dual cone."""
        return _largest_absolute(self.project(-z))

    def __str__(self) -> str:
        return f"{self.symbol}({self.dim})" if self.count == 1 else f"{self.symbol}({self.dim})^{self.count}"


def _largest_absolute(v: FloatArray) -> float:
    """Return max |v_i|; 0 for an empty array."""
    return float(np.abs(v).max(initial=0.0))


@dataclass(frozen=True)
class Zero(Cone):
    """The cone {0}: its rows are equalities. Its dual is the whole space.

    Parameters
    ----------
    dim : int
        Rows of one cone.
    count : int
        Number of equal cones in the stack.
    """

    symbol = "Zero"

    def project(self, v: FloatArray) -> FloatArray:
        """Return the nearest point of the cone: the origin."""
        return np.zeros_like(v)

    @property
    def group_size(self) -> int:
        """Return 1: every row has a violation of its own."""
        return 1


@dataclass(frozen=True)
class Nonnegative(Cone):
    """The cone {v : v ≥ 0}: its rows are inequalities. Self-dual.

    Parameters
    ----------
    dim : int
        Rows of one cone.
    count : int
        Number of equal cones in the stack.
    """

    symbol = "Nonnegative"

    def project(self, v: FloatArray) -> FloatArray:
        """Return the nearest point of the cone: the positive part."""
        return np.maximum(v, 0.0)

    @property
    def group_size(self) -> int:
        """Return 1: every row has a violation of its own."""
        return 1


@dataclass(frozen=True)
class SecondOrder(Cone):
    """The second-order cone {(t, c) : ||c|| ≤ t}. Self-dual.

    Parameters
    ----------
    dim : int
        Rows of one cone.
    count : int
        Number of equal cones in the stack.
    """

    feature = Feature.SECOND_ORDER
    symbol = "SecondOrder"

    @property
    def _inward(self) -> FloatArray:
        return (np.arange(self.dim) < 1).astype(np.float64)

    def project(self, v: FloatArray) -> FloatArray:
        """Return the nearest point of every cone of the stack."""
        rows = self.by_cone(v)
        t, c = rows[:, 0], rows[:, 1:]
        norm = np.sqrt(np.einsum("ij,ij->i", c, c))
        outside = norm > t
        projected = rows.copy()
        if outside.any():
            half = np.maximum(0.5 * (t + norm), 0.0)
            scale = np.divide(half, norm, out=np.zeros_like(norm), where=norm > 0)
            projected[:, 0] = np.where(outside, half, t)
            projected[:, 1:] *= np.where(outside, scale, 1.0)[:, None]
            projected[norm <= -t] = 0.0
        return projected.ravel()

    def depth(self, v: FloatArray) -> FloatArray:
        """Return (t - ||c||)/√2 for each cone, 0 outside."""
        rows = self.by_cone(v)
        return np.asarray(np.maximum(rows[:, 0] - np.linalg.norm(rows[:, 1:], axis=1), 0.0) / np.sqrt(2.0))

    def moved_into_dual(self, v: FloatArray) -> FloatArray:
        """Return the projection with t raised, where needed, to an upper bound of ||c||."""
        rows = self.by_cone(self.project_dual(v)).copy()
        rows[:, 0] = np.maximum(rows[:, 0], np.linalg.norm(rows[:, 1:], axis=1) * (1.0 + gamma(self.dim + 4)))
        return rows.ravel()


@dataclass(frozen=True)
class RotatedSecondOrder(Cone):
    """The rotated second-order cone {(a, b, c) : 2ab ≥ ||c||², a ≥ 0, b ≥ 0}. Self-dual.

    Parameters
    ----------
    dim : int
        Rows of one cone.
    count : int
        Number of equal cones in the stack.
    """

    feature = Feature.ROTATED
    symbol = "RotatedSecondOrder"

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.dim < 2:
            raise InputError(f"a rotated second-order cone has at least the two rows a and b, not {self.dim}", name="dim")

    @property
    def _inward(self) -> FloatArray:
        return (np.arange(self.dim) < 2).astype(np.float64)

    def rotate(self, v: FloatArray) -> FloatArray:
        """Map (a, b, c) ↦ ((a + b)/√2, (a - b)/√2, c): orthogonal, its own inverse, onto the second-order cone."""
        rotated = self.by_cone(v).copy()
        a, b = rotated[:, 0].copy(), rotated[:, 1].copy()
        rotated[:, 0], rotated[:, 1] = (a + b) / _SQRT2, (a - b) / _SQRT2
        return rotated.ravel()

    def project(self, v: FloatArray) -> FloatArray:
        """Return the nearest point of every cone of the stack, through the second-order cone."""
        inside = self.by_cone(v)
        a, b, c = inside[:, 0], inside[:, 1], inside[:, 2:]
        feasible = (a >= 0) & (b >= 0) & (2 * a * b >= np.einsum("ij,ij->i", c, c))
        if feasible.all():
            return v.copy()
        projected = self.by_cone(self.rotate(SecondOrder(self.dim, self.count).project(self.rotate(v))))
        projected[feasible] = inside[feasible]  # points of the cone are not moved by rounding
        return projected.ravel()

    def depth(self, v: FloatArray) -> FloatArray:
        """Return the depth of the rotated rows (`rotate`) in the second-order cone."""
        return SecondOrder(self.dim, self.count).depth(self.rotate(v))

    def moved_into_dual(self, v: FloatArray) -> FloatArray:
        """Return the projection with a or b raised, where needed, until 2ab reaches an upper bound of ||c||²."""
        rows = self.by_cone(self.project_dual(v)).copy()
        a, b = np.maximum(rows[:, 0], 0.0), np.maximum(rows[:, 1], 0.0)
        squares = np.einsum("ij,ij->i", rows[:, 2:], rows[:, 2:]) * (1.0 + gamma(self.dim + 8))
        short = 2.0 * a * b < squares
        larger = np.maximum(a, b)
        level = np.sqrt(0.5 * squares) * (1.0 + gamma(8))
        # divide by the larger of the two; where both are far too small, both become ||c||/√2
        ratio = np.divide(squares, 2.0 * larger, out=np.zeros_like(larger), where=larger > 0.0) * (1.0 + gamma(8))
        tiny = short & (larger < 1e-3 * level)
        rows[:, 0] = np.where(tiny, level, np.where(short & (a < b), np.maximum(a, ratio), a))
        rows[:, 1] = np.where(tiny, level, np.where(short & (a >= b), np.maximum(b, ratio), b))
        return rows.ravel()


@dataclass(frozen=True)
class PSD(Cone):
    """The cone {svec(S) : S ⪰ 0}: the upper triangle stacked by columns, √2 off the diagonal. Self-dual.

    Parameters
    ----------
    dim : int
        Rows of one cone, p(p + 1)/2 for matrices of order p.
    count : int
        Number of equal cones in the stack.
    """

    feature = Feature.PSD
    symbol = "PSD"

    def __post_init__(self) -> None:
        super().__post_init__()
        if svec_size(self.order) != self.dim:
            raise InputError(
                f"{self.dim} is not the length of the svec of a symmetric matrix: use PSD.of_order(order)", name="dim"
            )

    @classmethod
    def of_order(cls, order: int) -> PSD:
        """Return the cone of symmetric matrices of this order."""
        return cls(svec_size(order))

    @property
    def _inward(self) -> FloatArray:
        return svec(np.eye(self.order))

    @property
    def order(self) -> int:
        """Return the order of the matrices."""
        return int((np.sqrt(8 * self.dim + 1) - 1) // 2)

    def project(self, v: FloatArray) -> FloatArray:
        """Return the nearest point: negative eigenvalues set to zero."""
        values, vectors = np.linalg.eigh(smat(self.by_cone(v)))
        clipped = np.einsum("kij,kj,klj->kil", vectors, np.maximum(values, 0.0), vectors)
        projected = svec(clipped)
        projected[values[:, 0] >= 0] = self.by_cone(v)[values[:, 0] >= 0]
        return projected.ravel()

    def depth(self, v: FloatArray) -> FloatArray:
        """Return the least eigenvalue of each matrix, 0 where it is negative."""
        return np.asarray(np.maximum(np.linalg.eigvalsh(smat(self.by_cone(v)))[:, 0], 0.0))

    def fill_zero_rows(self, v: FloatArray) -> FloatArray:
        """Fill the diagonal of zero rows with the matrix's largest |entry|: the result is semidefinite if and only if v is."""
        matrices = smat(self.by_cone(v))
        sizes = np.abs(matrices).max(axis=(1, 2))
        cone, row = np.nonzero(~matrices.any(axis=2))
        matrices[cone, row, row] = sizes[cone]
        return svec(matrices).ravel()

    def moved_into_dual(self, v: FloatArray) -> FloatArray:
        """Return the projection plus a multiple of I that covers the rounding of its eigenvalues; rows of zeros stay zero.

        A diagonal matrix without negative entries is in the cone and is returned unchanged.
        """
        matrices = smat(self.by_cone(self.project_dual(v))).copy()
        sizes = np.abs(matrices).sum(axis=2).max(axis=1)
        rows = np.asarray(smat(self.by_cone(v)).any(axis=2))
        matrices *= rows[:, :, None] & rows[:, None, :]
        matrices[:, np.arange(self.order), np.arange(self.order)] += (gamma(8 * self.order + 16) * sizes)[:, None] * rows
        return np.where(self._diagonal(v)[:, None], self.by_cone(v), svec(matrices)).ravel()

    def _diagonal(self, v: FloatArray) -> BoolArray:
        """Return the mask of matrices that are diagonal without negative entries."""
        i, j = svec_indices(self.order)
        entries = self.by_cone(v)
        return np.asarray(((entries == 0.0) | ((i == j) & (entries > 0.0))).all(axis=1))

    def __str__(self) -> str:
        return f"PSD(order {self.order})" if self.count == 1 else f"PSD(order {self.order})^{self.count}"


@dataclass(frozen=True)
class Indicator(Cone):
    """The set {(a, v) : a = 0 and v ≥ 0, or a = 1}: a binary variable a that switches the row v ≥ 0 off. No cone, not convex.

    Each row a is a binary variable of the form, or 1 minus one. Multipliers z with <z, (a, v)> ≥ 0 on the set are (z_a ≥ 0, 0),
    which prove no bound: the closed convex hull of the set is 0 ≤ a ≤ 1 alone.

    Parameters
    ----------
    dim : int
        2: the binary and the row.
    count : int
        Number of indicators in the stack.
    """

    dim: int = 2
    feature = Feature.INDICATOR
    symbol = "Indicator"
    convex = False

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.dim != 2:
            raise InputError(f"an indicator has the two rows a and v, not {self.dim}", name="dim")

    def project(self, v: FloatArray) -> FloatArray:
        """Return the nearest point of every set: the nearer of (0, max(v, 0)) and (1, v)."""
        rows = self.by_cone(v)
        a, row = rows[:, 0], rows[:, 1]
        is_off = a * a + np.minimum(row, 0.0) ** 2 <= (a - 1.0) ** 2
        return np.column_stack([np.where(is_off, 0.0, 1.0), np.where(is_off, np.maximum(row, 0.0), row)]).ravel()

    def project_dual(self, v: FloatArray) -> FloatArray:
        """Return the nearest multipliers z with <z, (a, v)> ≥ 0 on the set: max(z_a, 0) and 0."""
        rows = self.by_cone(v)
        return np.column_stack([np.maximum(rows[:, 0], 0.0), np.zeros(self.count)]).ravel()

    def dual_violation(self, z: FloatArray) -> float:
        """Return the largest absolute entry of z minus its projection."""
        return _largest_absolute(z - self.project_dual(z))


@dataclass(frozen=True)
class Bilinear(Cone):
    """The set {(t, a, b) : t ≥ a'b}, or t = a'b with ``equality``: a nonconvex quadratic row in affine factors. No cone.

    ``dim`` = 1 + 2k rows for a and b of k rows each. Multipliers z with <z, (t, a, b)> ≥ 0 on the set are zero alone: (0, a, 0)
    and (0, 0, b) are in it for all a and b, and t is unbounded.

    Parameters
    ----------
    dim : int
        Rows of one set: t, and the factors in pairs.
    count : int
        Number of sets in the stack.
    equality : bool
        Whether the set is t = a'b in place of t ≥ a'b.
    """

    equality: bool = False
    feature = Feature.BILINEAR
    symbol = "Bilinear"
    convex = False

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.dim < 3 or self.dim % 2 == 0:
            raise InputError(f"a bilinear row has 1 + 2k rows t, a and b, k ≥ 1, not {self.dim}", name="dim")

    @property
    def _inward(self) -> FloatArray:
        return (np.arange(self.dim) < 1).astype(np.float64)

    def project(self, v: FloatArray) -> FloatArray:
        """Return the point of the set with the same a and b and the nearest t: no projection, but its distance is the row's
        violation.
        """
        rows = self.by_cone(v).copy()
        k = (self.dim - 1) // 2
        products = np.einsum("ij,ij->i", rows[:, 1 : 1 + k], rows[:, 1 + k :])
        rows[:, 0] = products if self.equality else np.maximum(rows[:, 0], products)
        return rows.ravel()

    def project_dual(self, v: FloatArray) -> FloatArray:
        """Return zeros, the only multipliers."""
        return np.zeros_like(v)

    def dual_violation(self, z: FloatArray) -> float:
        """Return the largest absolute entry of z."""
        return _largest_absolute(z)
