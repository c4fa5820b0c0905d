"""Structured scalars: numbers that compiled loops and Python read and write by name."""

from __future__ import annotations

from typing import Any

import numpy as np

__all__ = ["integers_and_floats", "named_scalars"]


def integers_and_floats(integers: str, floats: str) -> np.dtype[Any]:
    """The type of a structured scalar with these fields (names separated by blanks): int64 and float64.

    Raises
    ------
    ValueError
        A name that NumPy's scalars use already, such as ``size``: reading it would give theirs.
    """
    taken = set(dir(np.record)).intersection(integers.split(), floats.split())
    if taken:
        raise ValueError(f"NumPy's scalars have attributes of these names: {', '.join(sorted(taken))}")
    fields = [(name, np.int64) for name in integers.split()] + [(name, np.float64) for name in floats.split()]
    return np.dtype((np.record, fields))


def named_scalars(kind: np.dtype[Any]) -> Any:
    """A new structured scalar, all zeros; ``s.iteration += 1`` works in Python and in compiled code, on the same memory."""
    return np.zeros(1, dtype=kind)[0]
