"""Linear rows on the coefficients, fixed coefficients, and points that must be kept."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np
import scipy.sparse as sp

from .....errors import InputError
from .....labelled import DataNames
from .....rows import Rows
from ....arrays import FloatArray, IntArray, Points
from ....program.cones import Zero
from ....statement import Line
from ..assembly import Affine, Assembly
from ..part import Setting
from ..values import as_numbers, as_wholes
from .restriction import Restriction, members

__all__ = ["Fixed", "Keep", "LinearRows"]


@dataclass(frozen=True, eq=False)
class LinearRows(Restriction):
    """lower ≤ Aw ≤ upper.

    Parameters
    ----------
    A : array_like (k, p)
    lower, upper : float or array_like (k,)
        Infinite where there is none.

    Raises
    ------
    InputError
        No side, or shapes that do not fit (when the problem is compiled).
    """

    A: Any
    lower: Any = -np.inf
    upper: Any = np.inf
    label: str = "rows"

    def __post_init__(self) -> None:
        if not isinstance(self.label, str) or not self.label:
            raise InputError(f"label must be a name for these rows; it is {self.label!r}")

    @property
    def name(self) -> str:
        """The given name."""
        return self.label

    def _data(self, p: int) -> tuple[FloatArray, FloatArray, FloatArray]:
        A = np.atleast_2d(as_numbers(self.A, "A"))
        if A.shape[1] != p or not np.isfinite(A).all():
            raise InputError(f"{self.label} must have rows of {p} finite numbers, one a coefficient; theirs have {A.shape[1]}")
        sides = as_numbers(self.lower, "lower"), as_numbers(self.upper, "upper")
        low, high = (np.array(np.broadcast_to(side, A.shape[:1])) for side in sides)
        return A, low, high

    def check(self, p: int, y: FloatArray) -> None:
        """Check the number of columns and the sides."""
        self._data(p)

    def add(self, builder: Assembly, context: Setting, errors: Affine | None, name: str) -> None:
        """One constraint for each side."""
        A, low, high = self._data(context.w.rows)
        rows = context.w.under(A)
        for suffix, side, sign in (("lower", low, 1.0), ("upper", high, -1.0)):
            there = np.flatnonzero(np.isfinite(side))
            builder.require_nonnegative(f"{name} {suffix}", rows.at(there).scaled(sign) - sign * side[there])

    def violation(self, X: FloatArray, y: FloatArray, w: FloatArray) -> float:
        """The largest excess."""
        A, low, high = self._data(w.size)
        value = A @ w
        return float(max((low - value).max(initial=0.0), (value - high).max(initial=0.0), 0.0))

    def lines(self) -> tuple[Line, ...]:
        """The rows."""
        return (Line("l <= A w <= u", r"l \le A w \le u", self.label),)


@dataclass(frozen=True, eq=False)
class Fixed(Restriction):
    """w_j = v for each j: v of ``coefficients``, whose keys are indices or names of columns."""

    coefficients: Mapping[int | str, float] = field(default_factory=dict)

    name = "fixed"

    def __post_init__(self) -> None:
        if not isinstance(self.coefficients, Mapping):
            raise InputError(f"fixed coefficients are a mapping of index to value, {{3: 0.0}}; they are {self.coefficients!r}")
        others = as_wholes([j for j in self.coefficients if not isinstance(j, str)], "indices of fixed coefficients")
        indices = iter(others)
        places: list[int | str] = [j if isinstance(j, str) else next(indices) for j in self.coefficients]
        values = as_numbers(list(self.coefficients.values()), "values of fixed coefficients")
        if values.shape != (len(places),) or not np.isfinite(values).all():
            raise InputError(f"fixed coefficients have one finite value each; they are {self.coefficients!r}")
        object.__setattr__(self, "coefficients", dict(zip(places, map(float, values), strict=True)))

    @property
    def names_coefficients(self) -> bool:
        """Return whether a key is the name of a column."""
        return any(isinstance(j, str) for j in self.coefficients)

    def located(self, names: DataNames, X: Points | Rows, y: FloatArray) -> Restriction:
        """Return the restriction with indices in place of names."""
        return Fixed({names.column(j) if isinstance(j, str) else j: v for j, v in self.coefficients.items()})

    def check(self, p: int, y: FloatArray) -> None:
        """Check the indices."""
        self._fixed(p)

    def _fixed(self, p: int) -> tuple[IntArray, FloatArray]:
        """Return the indices of the fixed coefficients among p, and their values."""
        places = members([j for j in self.coefficients if not isinstance(j, str)], p, "fixed coefficients")
        return places, np.array([self.coefficients[int(j)] for j in places])

    def add(self, builder: Assembly, context: Setting, errors: Affine | None, name: str) -> None:
        """One equation for each coefficient."""
        places, values = self._fixed(context.w.rows)
        builder.require(name, context.w.at(places) - values, Zero(places.size))

    def violation(self, X: FloatArray, y: FloatArray, w: FloatArray) -> float:
        """The largest difference."""
        places, values = self._fixed(w.size)
        return float(np.abs(w[places] - values).max())

    def lines(self) -> tuple[Line, ...]:
        """The values."""
        text = ", ".join(f"w_{j} = {v:g}" for j, v in self.coefficients.items())
        return (Line(text, ", ".join(rf"w_{{{j}}} = {v:g}" for j, v in self.coefficients.items()), "fixed"),)


@dataclass(frozen=True, eq=False)
class Keep(Restriction):
    """y_i x_i'w ≥ 1 for these points, by indices, a mask, or the name of a class: nothing may give them up."""

    points: Any

    name = "keep"
    of_margins: ClassVar[bool] = True

    def add(self, builder: Assembly, context: Setting, errors: Affine | None, name: str) -> None:
        """A row for each point."""
        chosen = self.kept(context.argument.rows)
        builder.require_nonnegative(name, context.argument.at(chosen) - 1.0, tuple(chosen.tolist()))

    def located(self, names: DataNames, X: Points | Rows, y: FloatArray) -> Restriction:
        """Return the restriction with the points of a class in place of its name."""
        return Keep(np.flatnonzero(y == names.code(self.points))) if isinstance(self.points, str) else self

    def check(self, p: int, y: FloatArray) -> None:
        """Check the points."""
        self.kept(y.size)

    def kept(self, n: int) -> IntArray:
        """The points."""
        return members(self.points, n, "points to keep")

    def violation(self, X: FloatArray, y: FloatArray, w: FloatArray) -> float:
        """The largest shortfall of a margin."""
        chosen = self.kept(y.size)
        return float(np.maximum(1.0 - (y * np.asarray(X @ w))[chosen], 0.0).max())

    def lines(self) -> tuple[Line, ...]:
        """The rows."""
        return (Line("y_i x_i'w >= 1 for kept i", r"y_i x_i^\top w \ge 1 \text{ for kept } i", "keep"),)


def memberships(groups: Any, n: int) -> FloatArray:
    """Rows 1{i in g}, one for each group.

    Raises
    ------
    InputError
        Not one group for each point, or fewer than two groups.
    """
    groups_array = np.asarray(groups)
    if groups_array.shape != (n,):
        raise InputError(f"groups must name one group for each of the {n} points; its shape is {groups_array.shape}")
    names = np.unique(groups_array)
    if names.size < 2:
        raise InputError("parity needs at least two groups")
    return (groups_array[None, :] == names[:, None]).astype(np.float64)


def covariances(X: Any, groups: Any, n: int) -> sp.csr_array:
    """Rows c_g = (1/n) Σ_i (1{i in g} - share of g) x_i: covariance of membership and score, for each group but one of two.

    Raises
    ------
    InputError
        Not one group for each point, or fewer than two groups.
    """
    inside = memberships(groups, n)
    inside = inside[1:] if inside.shape[0] == 2 else inside
    centred = (inside - inside.mean(axis=1, keepdims=True)) / n
    data = sp.csr_array(X)
    rows, sizes = sp.csr_array(sp.csr_array(centred) @ data), sp.csr_array(sp.csr_array(np.abs(centred)) @ abs(data))
    # a constant column has a covariance of zero, and rounding errors of it are no coefficients
    return sp.csr_array(rows.multiply(abs(rows) > 8.0 * np.finfo(float).eps * sizes))
