"""Native options: passed through untouched where they exist, an error with near misses where they do not."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Mapping
from dataclasses import fields, replace
from typing import Any, TypeVar

from ..errors import InputError

__all__ = ["check_native", "replace_parameters"]

A = TypeVar("A")


def check_native(solver: str, native: Mapping[str, Any], known: Iterable[str]) -> None:
    """Raise unless every native option is one that the solver knows.

    Raises
    ------
    InputError
        Names the option, the solver, and the nearest names that exist.
    """
    names = sorted(known)
    for option in native:
        if option not in names:
            near = difflib.get_close_matches(option, names, n=3, cutoff=0.5)
            others = f"; it has {', '.join(names[:12])}" if names else "; it has none"
            hint = f"; did you mean {' or '.join(near)}?" if near else others
            raise InputError(f"{solver} has no option {option!r}{hint}")


def replace_parameters(algorithm: A, native: Mapping[str, Any]) -> A:
    """A frozen parameter class with the named parameters replaced."""
    if not native:
        return algorithm
    names = [f.name for f in fields(algorithm)]  # type: ignore[arg-type]
    check_native(type(algorithm).__name__, native, names)
    return replace(algorithm, **native)  # type: ignore[type-var]
