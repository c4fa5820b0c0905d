"""Native options: passed through untouched where they exist, an error with near misses where they do not."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import fields, replace
from typing import Any, TypeVar

from ...errors import InputError, near_names
from ..records.options import COMMON
from .solver import Solver

__all__ = ["check_native", "near_misses", "replace_parameters"]

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
            others = f"; it has {', '.join(names[:12])}" + (", ..." if len(names) > 12 else "") if names else "; it has none"
            raise InputError(f"{solver} has no option {option!r}{near_misses(option, [*names, *COMMON]) or others}")


def near_misses(option: str, known: Iterable[str]) -> str:
    """``; did you mean a or b?`` of the names nearest to an option; empty where none is near.

    Case and underscores count little, and of names that are paths (``limits/time``) the last part alone may be meant.
    """
    names = sorted(known)
    matches = near_names(option, names)
    bare: dict[str, list[str]] = {}
    for name in names:
        for form in {_bare(name), _bare(name.rpartition("/")[2])}:
            bare.setdefault(form, []).append(name)
    for form in near_names(_bare(option), bare):
        matches += [name for name in bare[form][:2] if name not in matches]
    exact = [name for name in bare.get(_bare(option), ()) if name not in matches[:1]]
    chosen = [*exact[:2], *(name for name in matches if name not in exact[:2])][:3]
    return f"; did you mean {' or '.join(chosen)}?" if chosen else ""


def _bare(name: str) -> str:
    return name.lower().replace("_", "")


def replace_parameters(algorithm: A, native: Mapping[str, Any]) -> A:
    """A frozen parameter class with the named parameters replaced."""
    if not native:
        return algorithm
    names = [f.name for f in fields(algorithm)]  # type: ignore[arg-type]
    name = algorithm.info.name if isinstance(algorithm, Solver) else type(algorithm).__name__
    check_native(name, native, names)
    return replace(algorithm, **native)  # type: ignore[type-var]
