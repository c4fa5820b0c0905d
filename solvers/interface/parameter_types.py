"""The check of a solver's parameters by the plain types of their annotations."""

from __future__ import annotations

import numbers
import os
from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from typing import Any

import numpy as np

from ...errors import InputError

#: Classes of the values that a parameter of a plain type takes, and the words for it.
_PLAIN: Mapping[str, tuple[type[Any], str]] = {
    "float": (numbers.Real, "a number"),
    "int": (numbers.Integral, "an integer"),
    "bool": (int | np.bool_, "True or False"),  # type: ignore[dict-item]
    "str": (str | os.PathLike, "a text"),  # type: ignore[dict-item]
    "None": (type(None), "None"),
}


def annotations_of(algorithm: Any) -> dict[str, str]:
    """Return the annotations of the parameters of a data class, as texts; empty for another class."""
    if not is_dataclass(algorithm):
        return {}
    return {f.name: f.type.__name__ if isinstance(f.type, type) else str(f.type) for f in fields(algorithm)}


def check_plain(option: str, value: Any, annotation: str) -> None:
    """Raise InputError unless a parameter whose annotation is of plain types has a value of one of them."""
    kinds = annotation.split(" | ")
    if set(kinds) <= _PLAIN.keys() and not any(isinstance(value, _PLAIN[kind][0]) for kind in kinds):
        raise InputError(f"{option} must be {' or '.join(_PLAIN[kind][1] for kind in kinds)}; it is {value!r}", name=option)
