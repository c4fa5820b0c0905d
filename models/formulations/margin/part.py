"""The abstract part of a composed problem, the data of the problem that parts read, and the numbers that parts are given.

The abstract part of a composed problem, and what parts may read of the problem.

Numbers that parts are given, read once: what is none is an error of the statement, and says which part's field it is.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from ....errors import InputError
from ...arrays import BoolArray, FloatArray, Points
from ...statement import Line
from .assembly import Affine

__all__ = ["Classifier", "Part", "Polyhedral", "Setting", "as_flag", "as_numbers", "as_whole", "as_wholes"]


class Part(ABC):
    """A loss, regulariser, domain or restriction: a frozen data class with its mathematics.

    Attributes
    ----------
    convex : bool
        Whether its form has no integers.
    reads_big_m : bool
        Whether its form has switches with big-M constants (`Setting.big_m`).
    """

    convex: ClassVar[bool] = True
    reads_big_m: ClassVar[bool] = False

    @property
    def reads_reach(self) -> bool:
        """Return whether its form depends on bounds of coefficients and arguments, which take a dense pass over the data."""
        return not self.convex

    @abstractmethod
    def lines(self) -> tuple[Line, ...]:
        """The constraints that it states, as text and LaTeX."""


@dataclass(frozen=True, eq=False)
class Polyhedral:
    """A regulariser that is min{||α||_1 : w = Σ_j α_j x_j} + μ||w||².

    Parameters
    ----------
    atoms : ndarray (k, p)
        x_j, which span all w; none where it is μ||w||² alone.
    mu : float
        μ ≥ 0.
    """

    atoms: FloatArray
    mu: float


@dataclass(frozen=True, eq=False)
class Classifier:
    """Coefficients, and what parts read of them to give their own variables values.

    Parameters
    ----------
    w : ndarray (p,)
    y
        The data.
    penalised : ndarray of bool (p,)
    argument : ndarray (rows,)
        What the loss is a function of.
    near : ndarray (rows,)
        An argument so far below a threshold counts as one that is there: what a solver finds is exact to rounding only.
    """

    w: FloatArray
    y: FloatArray
    penalised: BoolArray
    argument: FloatArray
    near: FloatArray


@dataclass(frozen=True, eq=False)
class Setting:
    """The data that the parts are put together over.

    Parameters
    ----------
    X, y
        The data.
    weights : ndarray (rows,)
        Costs of the arguments' losses.
    w : Affine
        The classifier's coefficients as variables of the form, the intercept first where there is one.
    penalised : ndarray of bool (p,)
        Coefficients that the regulariser sees.
    argument : Affine
        What the loss is a function of: margins y_i x_i'w, or residuals y_i - x_i'w.
    reach : ndarray (rows,)
        An upper bound of |argument| over what may be optimal; infinite where none is known.
    span : ndarray (p,)
        An upper bound of |w_j| over what may be optimal.
    M : ndarray (rows,), optional
        Constants that are given, for a threshold of 1, in place of those that follow from ``reach``.
    indicators : bool
        Switches are to be indicators, whatever constants are known.
    """

    X: Points
    y: FloatArray
    weights: FloatArray
    w: Affine
    penalised: BoolArray
    argument: Affine
    reach: FloatArray
    span: FloatArray
    M: FloatArray | None = None
    indicators: bool = False

    def big_m(self, least: FloatArray | float) -> FloatArray | None:
        """M with argument + M ≥ least wherever it matters; None where none is known, and an indicator says it instead."""
        if self.indicators:
            return None
        if self.M is not None:
            return self.M + (np.asarray(least, dtype=np.float64) - 1.0)
        big = np.asarray(least, dtype=np.float64) + self.reach
        return np.maximum(big, 0.0) if np.isfinite(big).all() else None


def as_numbers(value: Any, name: str) -> FloatArray:
    """An array of doubles of any shape, infinite ones among them; a copy.

    Raises
    ------
    InputError
        What cannot be read as real numbers.
    """
    try:
        if np.iscomplexobj(value):
            raise TypeError("they are complex")
        return np.array(value, dtype=np.float64)
    except (TypeError, ValueError, OverflowError) as error:
        raise InputError(f"{name} must be numbers; {value!r} cannot be read as such: {error}") from error


def as_flag(value: object, name: str) -> bool:
    """True or False, as Python or NumPy write it, or 1 or 0.

    Raises
    ------
    InputError
        Anything else.
    """
    if np.ndim(value) == 0 and isinstance(value, bool | np.bool_ | int) and value in (0, 1):  # type: ignore[arg-type]
        return bool(value)
    raise InputError(f"{name} must be True or False; it is {value!r}")


def as_whole(value: Any, name: str) -> int:
    """A whole number ≥ 0.

    Raises
    ------
    InputError
        Anything else.
    """
    number = as_numbers(value, name)
    if isinstance(value, bool) or number.ndim or not 0 <= number < 2.0**53 or number != np.rint(number):
        raise InputError(f"{name} must be a whole number ≥ 0; it is {value!r}")
    return int(number)


def as_wholes(value: object, name: str) -> tuple[int, ...]:
    """Whole numbers of either sign.

    Raises
    ------
    InputError
        No sequence of whole numbers.
    """
    numbers = as_numbers(value, name)
    if numbers.ndim != 1 or not (np.abs(numbers) < 2.0**53).all() or (numbers != np.rint(numbers)).any():
        raise InputError(f"{name} must be a sequence of whole numbers; it is {value!r}")
    return tuple(map(int, numbers))
