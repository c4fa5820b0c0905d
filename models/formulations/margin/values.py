"""Numbers that parts are given, read once: what is none is an error of the statement, and says which part's field it is."""

from __future__ import annotations

from typing import Any

import numpy as np

from ....errors import InputError
from ...arrays import FloatArray

__all__ = ["as_flag", "as_numbers", "as_whole", "as_wholes"]


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
