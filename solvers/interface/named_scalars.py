"""Structured scalars: numbers that compiled loops and Python read and write by name."""

from __future__ import annotations

from operator import itemgetter
from typing import Any

import numpy as np


def integers_and_floats(integers: str, floats: str) -> np.dtype[Any]:
    """Return the type of a structured scalar with these int64 and float64 fields, names separated by blanks.

    The fields are attributes in Python as they are in compiled code: properties, five times as fast as those of `numpy.record`.
    With ``kind`` the returned type, ``s = np.zeros(1, kind)[0]`` is a scalar of zeros; ``s.iteration += 1`` in Python and in
    compiled code write the same number.

    Raises
    ------
    ValueError
        A name that NumPy's scalars use already, such as ``size``: reading it would give theirs.
    """
    names = [*integers.split(), *floats.split()]
    reserved = set(dir(np.void)).intersection(names)
    if reserved:
        raise ValueError(f"NumPy's scalars have attributes of these names: {', '.join(sorted(reserved))}")
    scalar = type("NamedScalars", (np.void,), {name: _field(name) for name in names})
    fields = [(name, np.int64) for name in integers.split()] + [(name, np.float64) for name in floats.split()]
    return np.dtype((scalar, fields))


def _field(name: str) -> property:
    def write(scalar: Any, value: float) -> None:
        scalar[name] = value

    return property(itemgetter(name), write)


def zero_fields(scalar: Any) -> None:
    """Set all fields to zero."""
    for name in scalar.dtype.names:
        scalar[name] = 0
