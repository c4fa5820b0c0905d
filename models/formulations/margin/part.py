"""`Part`, the base class of the losses, regularisers, domains and restrictions of a `Margin`; what they read when they build the
form or complete a point; and the domains of the coefficients w.

A *switch* is a constraint on a point that a binary variable turns off, by a big-M constant or as an indicator constraint. The
loss's *arguments* are affine in w: margins y_i x_i'w, residuals y_i - x_i'w, or others.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Self, TypeVar

import numpy as np
import scipy.sparse as sp

from ....data_names import DataNames
from ....errors import InputError, short_text
from ....rows import Rows
from ...arrays import BoolArray, FloatArray, Points, plain_fields
from ...statement import Line
from .assembly import Affine, Assembly

V = TypeVar("V")


class Part(ABC):  # noqa: B024 - its kinds have abstract methods
    """Base class of losses, regularisers, domains and restrictions, which are frozen data classes.

    Attributes
    ----------
    convex : bool
        Whether the part adds no integer variables.
    reads_big_m : bool
        Whether the part adds switches with big-M constants (`AssemblyContext.big_m`).
    """

    convex: ClassVar[bool] = True
    reads_big_m: ClassVar[bool] = False

    def __post_init__(self) -> None:
        plain_fields(self)

    @property
    def reads_activity_bounds(self) -> bool:
        """Return whether the part's rows depend on bounds of |w_j| and of the loss's |arguments|."""
        return not self.convex

    @property
    def names_coefficients(self) -> bool:
        """Return whether the part names coefficients by columns of X."""
        return False

    def resolve_names(self, names: DataNames, X: Points | Rows, y: FloatArray) -> Self:
        """Return the part with columns by index and classes by label, where it was stated by their ``names``.

        Raises
        ------
        InputError
            A name that the data do not have.
        """
        return self

    def variables(self) -> tuple[Line, ...]:
        """Return the variables that the part adds and its printed lines use, with their sets; none by default.

        The label of a line is that of the block.
        """
        return ()

    def lines(self) -> tuple[Line, ...]:
        """Return the printed constraints that the part states; none by default."""
        return ()

    def big_m_lines(self) -> tuple[Line, ...]:
        """Return the printed constraints where the part's switches are rows with M; by default `lines`."""
        return self.lines()


@dataclass(frozen=True, eq=False)
class FixedClassifier:
    """A classifier at which each part computes the best values of the variables that it adds to the form.

    Parameters
    ----------
    w : ndarray (p,)
        The classifier's coefficients.
    y : ndarray (n,)
        The labels or targets of the data.
    penalised : ndarray of bool (p,)
        The coefficients that the regulariser contains.
    argument : ndarray (rows,)
        The loss's arguments at w.
    tolerance : ndarray (rows,)
        An argument that is below a threshold by no more than this counts as one at it: a solver's w is exact to rounding only.
    """

    w: FloatArray
    y: FloatArray
    penalised: BoolArray
    argument: FloatArray
    tolerance: FloatArray


@dataclass(frozen=True, eq=False)
class AssemblyContext:
    """The data, coefficients and arguments with their bounds that parts read when they add rows to an `Assembly`.

    Parameters
    ----------
    X : ndarray or csr_array (n, p)
        The rows that w multiplies: the data, or images under a kernel.
    y : ndarray (n,)
        Labels or targets.
    sample_weight : ndarray (rows,)
        Costs of the arguments' losses.
    w : Affine
        The classifier's coefficients as variables of the form, the intercept first where there is one.
    penalised : ndarray of bool (p,)
        The coefficients that the regulariser contains.
    argument : Affine
        The loss's arguments by `Loss.rows`: margins y_i x_i'w, residuals y_i - x_i'w, or others.
    argument_bounds : ndarray (rows,)
        An upper bound of |argument| at some optimum; infinite where none is known.
    span : ndarray (p,)
        An upper bound of |w_j| at some optimum; infinite where none is known.
    M : ndarray (rows,), optional
        Given M_i of the switches argument_i ≥ 1 - M_i z_i, in place of those that follow from ``argument_bounds``.
    indicators : bool
        Switches are to be indicators, whatever constants are known.
    """

    X: Points
    y: FloatArray
    sample_weight: FloatArray
    w: Affine
    penalised: BoolArray
    argument: Affine
    argument_bounds: FloatArray
    span: FloatArray
    M: FloatArray | None = None
    indicators: bool = False

    def big_m(self, lower: FloatArray | float) -> FloatArray | None:
        """Return M with argument + M ≥ ``lower`` at some optimum; None where none is known, or for ``indicators``."""
        if self.indicators:
            return None
        if self.M is not None:
            return self.M + (np.asarray(lower, dtype=np.float64) - 1.0)
        big = np.asarray(lower, dtype=np.float64) + self.argument_bounds
        return np.maximum(big, 0.0) if np.isfinite(big).all() else None


def as_numbers(value: Any, name: str) -> FloatArray:
    """Return numbers, infinite ones among them, as a new float64 array of their shape; ``name`` is the argument in messages."""
    try:
        if np.iscomplexobj(value):
            raise TypeError("they are complex")
        return np.array(value, dtype=np.float64)
    except (TypeError, ValueError, OverflowError) as error:
        raise InputError(f"{name} must be numbers; {short_text(value)} cannot be read as such: {error}", name=name) from error


def as_flag(value: object, name: str) -> bool:
    """Return True or False, from a Boolean of Python or NumPy, or from 1 or 0."""
    if np.ndim(value) == 0 and isinstance(value, bool | np.bool_ | int) and value in (0, 1):  # type: ignore[arg-type]
        return bool(value)
    raise InputError(f"{name} must be True or False; it is {short_text(value)}", name=name)


def as_integers(value: object, name: str) -> tuple[int, ...]:
    """Return a sequence of whole numbers of either sign as a tuple."""
    numbers = as_numbers(value, name)
    if numbers.ndim != 1 or not (np.abs(numbers) < 2.0**53).all() or (numbers != np.rint(numbers)).any():
        raise InputError(f"{name} must be a sequence of whole numbers; it is {short_text(value)}", name=name)
    return tuple(map(int, numbers))


def as_columns(keys: Iterable[Any], name: str) -> tuple[int | str, ...]:
    """Return columns, given by index (whole numbers) or by name, as a tuple."""
    columns = list(keys)
    indices = iter(as_integers([j for j in columns if not isinstance(j, str)], name))
    return tuple(j if isinstance(j, str) else next(indices) for j in columns)


def column_places(keys: Iterable[int | str], names: DataNames, p: int, name: str) -> tuple[int, ...]:
    """Return the indices of coefficients that are given by index or by the name of the column.

    ``names`` holds the columns' names, ``p`` is the number of coefficients, ``name`` the argument in messages.

    Raises
    ------
    InputError
        An index or name that no coefficient has, or a coefficient that is named twice.
    """
    places = tuple(names.column(j) if isinstance(j, str) else j for j in keys)
    outside = [str(j) for j in places if not 0 <= j < p]
    if outside:
        fault = f"it has {', '.join(outside)}"
        raise InputError(f"{name} must hold names of columns, or indices of the {p} coefficients; {fault}", name=name)
    if len(set(places)) < len(places):
        raise InputError(f"{name} must name each coefficient once; their indices are {', '.join(map(str, places))}", name=name)
    return places


def by_column(values: Mapping[int | str, V], names: DataNames, p: int, name: str) -> dict[int | str, V]:
    """Return values of coefficients by their indices; the name of a column of words stands for all its indicators.

    The parameters and errors are those of `column_places`.
    """
    pairs = [(place, v) for j, v in values.items() for place in (names.columns(j) if isinstance(j, str) else (j,))]
    places = column_places([place for place, _ in pairs], names, p, name)
    return dict(zip(places, (value for _, value in pairs), strict=True))


class Domain(Part):
    """Base class of the sets that the coefficients w_j are in, the intercept too where there is one.

    Attributes
    ----------
    integer : bool
        Whether all coefficients are integers.
    free : bool
        Whether the domain is all of R^p.
    """

    integer: ClassVar[bool] = False
    free: ClassVar[bool] = False

    @abstractmethod
    def bounds(self, p: int) -> tuple[FloatArray, FloatArray]:
        """Return lower and upper bounds of p coefficients.

        Raises
        ------
        InputError
            Bounds or signs of another number of coefficients.
        """

    def variables(self) -> tuple[Line, ...]:
        """Return the printed coefficients."""
        return (Line("w in Z^p", r"w\in\mathbb{Z}^p", "w") if self.integer else Line("w in R^p", r"w\in\mathbb{R}^p", "w"),)

    def add(self, builder: Assembly, w: Affine) -> None:
        """Add the domain's rows on w that are not bounds to the form under construction; none by default."""
        return


@dataclass(frozen=True)
class Reals(Domain):
    """The domain without restrictions."""

    free: ClassVar[bool] = True

    def bounds(self, p: int) -> tuple[FloatArray, FloatArray]:
        """Return infinite bounds."""
        return np.full(p, -np.inf), np.full(p, np.inf)


@dataclass(frozen=True)
class Box(Domain):
    """The domain lower ≤ w ≤ upper, bounds for all coefficients or one for each.

    Parameters
    ----------
    lower, upper : float or array_like (p,)
        Infinite where a coefficient has no bound.

    Raises
    ------
    InputError
        A lower bound above its upper bound, or NaN; lengths that do not fit (when the problem is stated).
    """

    lower: float | tuple[float, ...] = -1.0
    upper: float | tuple[float, ...] = 1.0

    def __post_init__(self) -> None:
        for name in ("lower", "upper"):
            side = as_numbers(getattr(self, name), name)
            if side.ndim > 1:
                raise InputError(f"{name} must be a number or one for each coefficient; its shape is {side.shape}", name=name)
            object.__setattr__(self, name, tuple(map(float, side)) if side.ndim else float(side))
        low, high = np.asarray(self.lower), np.asarray(self.upper)
        if not (low.ndim and high.ndim and low.shape != high.shape) and not (low <= high).all():
            raise InputError(f"a lower bound must not be above its upper bound: lower {self.lower}, upper {self.upper}")

    def bounds(self, p: int) -> tuple[FloatArray, FloatArray]:
        """Return the bounds, one for each coefficient."""
        sides = []
        for name in ("lower", "upper"):
            side = np.asarray(getattr(self, name), dtype=np.float64)
            if side.ndim and side.shape != (p,):
                raise InputError(
                    f"{name} must be a number or one for each of the {p} coefficients; it has {side.size}", name=name
                )
            sides.append(np.array(np.broadcast_to(side, p)))
        return sides[0], sides[1]

    def lines(self) -> tuple[Line, ...]:
        """Return the printed bounds."""
        low, high = (f"{v:g}" if isinstance(v, float) else name for v, name in ((self.lower, "l"), (self.upper, "u")))
        plain = f"w >= {low}" if high == "inf" else f"w <= {high}" if low == "-inf" else f"{low} <= w <= {high}"
        below, above = ("" if side in ("inf", "-inf") else side for side in (low, high))
        typeset = rf"{below} \le w \le {above}" if below and above else rf"w \ge {below}" if below else rf"w \le {above}"
        return (Line(plain, typeset),) if below or above else ()


@dataclass(frozen=True)
class Integers(Box):
    """The domain of integers with lower ≤ w ≤ upper, as in scoring systems.

    Parameters
    ----------
    lower, upper : float or array_like (p,)
        Infinite where a coefficient has no bound.
    """

    lower: float | tuple[float, ...] = -10.0
    upper: float | tuple[float, ...] = 10.0

    integer: ClassVar[bool] = True
    convex: ClassVar[bool] = False

    def lines(self) -> tuple[Line, ...]:
        """Return the printed bounds and integrality."""
        return (*super().lines(), Line("w integer", r"w\in\mathbb{Z}^p"))


@dataclass(frozen=True)
class Signs(Domain):
    """The domain of coefficients of given signs (monotone features): w_j ≥ 0 where signs_j = 1, ≤ 0 where it is -1, free where it
    is 0.

    Parameters
    ----------
    signs : sequence of int (p,), or mapping
        A sign for each coefficient, or signs by name or index of the column, ``{"age": 1}``: the others are free.
        The name of a column of words stands for all its indicators.

    Raises
    ------
    InputError
        Signs other than -1, 0, 1; a number of signs that does not fit, or no such column (when the problem is stated).
    """

    signs: tuple[int, ...] | Mapping[int | str, int]

    def __post_init__(self) -> None:
        if isinstance(self.signs, Mapping):
            values = as_integers(list(self.signs.values()), "signs")
            object.__setattr__(self, "signs", dict(zip(as_columns(self.signs, "signs"), values, strict=True)))
        else:
            values = as_integers(self.signs, "signs")
            object.__setattr__(self, "signs", values)
        if not set(values) <= {-1, 0, 1}:
            raise InputError(f"signs must be -1, 0 or 1; they are {values}", name="signs")

    @property
    def names_coefficients(self) -> bool:
        """Return whether the signs are given by column."""
        return isinstance(self.signs, Mapping)

    def resolve_names(self, names: DataNames, X: Points | Rows, y: FloatArray) -> Self:
        """Return the domain with one sign for each coefficient."""
        if not isinstance(self.signs, Mapping):
            return self
        signs = [0] * X.shape[1]
        for place, sign in by_column(self.signs, names, len(signs), "signs").items():
            signs[int(place)] = sign
        return type(self)(tuple(signs))

    def bounds(self, p: int) -> tuple[FloatArray, FloatArray]:
        """Return 0 as the lower bound of a positive sign and the upper bound of a negative one; else infinite bounds."""
        if isinstance(self.signs, Mapping):
            raise InputError("signs by column need the data: state them as the domain of a Margin", name="signs")
        if len(self.signs) != p:
            raise InputError(f"signs must name one sign for each of the {p} coefficients; it has {len(self.signs)}", name="signs")
        signs = np.array(self.signs)
        return np.where(signs > 0, 0.0, -np.inf), np.where(signs < 0, 0.0, np.inf)

    def lines(self) -> tuple[Line, ...]:
        """Return the printed signs."""
        return (Line("s_j w_j >= 0", r"s_j w_j \ge 0"),)


@dataclass(frozen=True)
class Increasing(Domain):
    """The domain w_j ≤ w_k for consecutive j, k of ``order``, as for the levels of an ordered categorical feature.

    Parameters
    ----------
    order : sequence of int or str
        Indices of coefficients, or names of columns.

    Raises
    ------
    InputError
        Indices or names that are not coefficients (when the problem is stated).
    """

    order: tuple[int | str, ...]

    def __post_init__(self) -> None:
        order: object = self.order
        if isinstance(order, str) or not isinstance(order, Iterable):
            raise InputError(
                f"order must be a sequence of coefficients, by index or name; it is {short_text(order)}", name="order"
            )
        object.__setattr__(self, "order", as_columns(order, "order"))
        if not self.order:
            raise InputError("order must name coefficients, from the least to the largest; it names none", name="order")

    @property
    def names_coefficients(self) -> bool:
        """Return whether an entry of the order is the name of a column."""
        return any(isinstance(j, str) for j in self.order)

    def resolve_names(self, names: DataNames, X: Points | Rows, y: FloatArray) -> Self:
        """Return the domain with indices in place of names."""
        return type(self)(column_places(self.order, names, X.shape[1], "order")) if self.names_coefficients else self

    def bounds(self, p: int) -> tuple[FloatArray, FloatArray]:
        """Return infinite bounds."""
        column_places(self.order, DataNames(), p, "order")
        return np.full(p, -np.inf), np.full(p, np.inf)

    def add(self, builder: Assembly, w: Affine) -> None:
        """Add the rows w_k - w_j ≥ 0."""
        steps = len(self.order) - 1
        rows = np.arange(steps)
        data = (np.concatenate([-np.ones(steps), np.ones(steps)]), (np.tile(rows, 2), [*self.order[:-1], *self.order[1:]]))
        builder.require_nonnegative("increasing", w.premultiplied(sp.csr_array(data, shape=(steps, w.rows))))

    def lines(self) -> tuple[Line, ...]:
        """Return the printed order."""
        return (Line("w_j <= w_k for j before k", r"w_j \le w_k \text{ for } j \text{ before } k", "increasing"),)
