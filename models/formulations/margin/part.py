"""`Part`, the base class of the losses, regularisers, domains and restrictions of a `Margin`, and the records that they read."""

from __future__ import annotations

from abc import ABC
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np

from ....data_names import DataNames
from ....errors import InputError
from ....rows import Rows
from ...arrays import BoolArray, FloatArray, Points, plain_fields
from ...statement import Line
from .assembly import Affine


class Part(ABC):  # noqa: B024 - its kinds have abstract methods
    """Base class of losses, regularisers, domains and restrictions, which are frozen data classes.

    Attributes
    ----------
    convex : bool
        Whether its form has no integers.
    reads_big_m : bool
        Whether its form has switches with big-M constants (`AssemblyContext.big_m`).
    """

    convex: ClassVar[bool] = True
    reads_big_m: ClassVar[bool] = False

    def __post_init__(self) -> None:
        plain_fields(self)

    @property
    def reads_activity_bounds(self) -> bool:
        """Return whether its rows depend on bounds of the coefficients and arguments (`ActivityBounds`)."""
        return not self.convex

    @property
    def names_coefficients(self) -> bool:
        """Return whether it names coefficients by columns of X."""
        return False

    def resolve_names(self, names: DataNames, X: Points | Rows, y: FloatArray) -> Self:
        """Return the part with columns and classes by number, where it was stated by their names.

        Raises
        ------
        InputError
            A name that the data do not have.
        """
        return self

    def lines(self) -> tuple[Line, ...]:
        """Return the printed constraints that it states; by default none."""
        return ()


@dataclass(frozen=True, eq=False)
class FixedClassifier:
    """A classifier at which each part computes the best values of the variables that it adds to the form.

    Parameters
    ----------
    w : ndarray (p,)
        Its coefficients.
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
        The loss's arguments: margins y_i x_i'w, residuals y_i - x_i'w, or what else `Loss.rows` gives.
    argument_bounds : ndarray (rows,)
        An upper bound of |argument| over what may be optimal; infinite where none is known.
    span : ndarray (p,)
        An upper bound of |w_j| over what may be optimal.
    M : ndarray (rows,), optional
        Given big-M constants for a threshold of 1, in place of those that follow from ``argument_bounds``.
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
        """Return M with argument + M ≥ ``lower`` wherever it matters; None where none is known or indicators are asked for."""
        if self.indicators:
            return None
        if self.M is not None:
            return self.M + (np.asarray(lower, dtype=np.float64) - 1.0)
        big = np.asarray(lower, dtype=np.float64) + self.argument_bounds
        return np.maximum(big, 0.0) if np.isfinite(big).all() else None


def as_numbers(value: Any, name: str) -> FloatArray:
    """Return numbers, infinite ones among them, as a new float64 array of their shape."""
    try:
        if np.iscomplexobj(value):
            raise TypeError("they are complex")
        return np.array(value, dtype=np.float64)
    except (TypeError, ValueError, OverflowError) as error:
        raise InputError(f"{name} must be numbers; {value!r} cannot be read as such: {error}", name=name) from error


def as_flag(value: object, name: str) -> bool:
    """Return True or False, from a Boolean of Python or NumPy, or from 1 or 0."""
    if np.ndim(value) == 0 and isinstance(value, bool | np.bool_ | int) and value in (0, 1):  # type: ignore[arg-type]
        return bool(value)
    raise InputError(f"{name} must be True or False; it is {value!r}", name=name)


def as_integers(value: object, name: str) -> tuple[int, ...]:
    """Return a sequence of whole numbers of either sign as a tuple."""
    numbers = as_numbers(value, name)
    if numbers.ndim != 1 or not (np.abs(numbers) < 2.0**53).all() or (numbers != np.rint(numbers)).any():
        raise InputError(f"{name} must be a sequence of whole numbers; it is {value!r}", name=name)
    return tuple(map(int, numbers))


def as_columns(keys: Iterable[Any], name: str) -> tuple[int | str, ...]:
    """Return columns, given by index (whole numbers) or by name, as a tuple."""
    columns = list(keys)
    indices = iter(as_integers([j for j in columns if not isinstance(j, str)], name))
    return tuple(j if isinstance(j, str) else next(indices) for j in columns)


def column_places(keys: Iterable[int | str], names: DataNames, p: int, name: str) -> tuple[int, ...]:
    """Return the indices of coefficients that are given by index or by the name of the column.

    ``names`` knows the columns' names, ``p`` is the number of coefficients, ``name`` the argument in messages.

    Raises
    ------
    InputError
        An index or name that no coefficient has, or a coefficient that is named twice.
    """
    places = tuple(names.column(j) if isinstance(j, str) else j for j in keys)
    if not all(0 <= j < p for j in places):
        raise InputError(f"{name} must hold names of columns, or indices of the {p} coefficients; it has {places}", name=name)
    if len(set(places)) < len(places):
        raise InputError(f"{name} must name each coefficient once; their indices are {places}", name=name)
    return places
