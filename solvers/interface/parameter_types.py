"""The check of a solver's parameters, when it is created, by the plain types and the literal values of their annotations."""

from __future__ import annotations

import inspect
import numbers
import os
from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from types import NoneType, UnionType
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints

import numpy as np

from ...errors import InputError, short_text

#: Classes of the values that a parameter of a plain type takes, and the words for it.
_PLAIN: Mapping[Any, tuple[type[Any], str]] = {
    float: (numbers.Real, "a number"),
    int: (numbers.Integral, "an integer"),
    bool: (int | np.bool_, "True or False"),  # type: ignore[dict-item]
    str: (str | os.PathLike, "a text"),  # type: ignore[dict-item]
    NoneType: (NoneType, "None"),
}


def annotations_of(algorithm: Any) -> dict[str, Any]:
    """Return the annotations of the parameters of a data class, as types where they can be resolved; empty for another class."""
    if not is_dataclass(algorithm):
        return {}
    kind = algorithm if isinstance(algorithm, type) else type(algorithm)
    return {f.name: _resolved(kind, f.name, f.type) if isinstance(f.type, str) else f.type for f in fields(algorithm)}


#: Resolved annotations by their module and text.
_RESOLVED: dict[tuple[str, str], Any] = {}


def _resolved(kind: type, name: str, text: str) -> Any:
    """Return the type that a field's annotation names in the module of its class; the text if type checkers alone know a name."""
    module = next((cls.__module__ for cls in kind.__mro__ if name in inspect.get_annotations(cls)), kind.__module__)
    if (module, text) not in _RESOLVED:
        try:
            hint = get_type_hints(type("_Field", (), {"__annotations__": {"field": text}, "__module__": module}))["field"]
        except NameError:
            hint = text
        _RESOLVED[module, text] = hint
    return _RESOLVED[module, text]


def check_plain(option: str, value: Any, annotation: Any) -> None:
    """Raise InputError unless ``value``, of the parameter named ``option``, is of a type or a literal of its ``annotation``.

    Annotations with types other than float, int, bool, str and None are not checked. The error's ``allowed`` are the literals.
    """
    kinds = get_args(annotation) if get_origin(annotation) in (Union, UnionType) else (annotation,)
    if not all(get_origin(kind) is Literal or kind in _PLAIN for kind in kinds):
        return
    literals = [literal for kind in kinds if get_origin(kind) is Literal for literal in get_args(kind)]
    plain = [_PLAIN[kind] for kind in kinds if get_origin(kind) is not Literal]
    if any(isinstance(value, type(literal)) and value == literal for literal in literals):
        return
    if not any(isinstance(value, classes) for classes, _ in plain):
        words = [*map(repr, literals), *(word for _, word in plain)]
        listed = f"{', '.join(words[:-1])} or {words[-1]}" if len(words) > 1 else words[0]
        raise InputError(f"{option} must be {listed}; it is {short_text(value)}", name=option, allowed=literals)
