"""The digest and the description of a model's data, which tie a stored result to them."""

from __future__ import annotations

import dataclasses
import enum
import functools
import hashlib
import json
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import scipy.sparse as sp

from ..errors import DataError
from ..rows import Rows

__all__ = ["describe", "earlier_identity", "fingerprint", "identity"]


def fingerprint(model: object) -> str:
    """SHA-256 of the data and parameters of a model or a form; empty where a part of it has no identity (a function)."""
    try:
        return hashlib.sha256(json.dumps(identity(model), sort_keys=True).encode("utf-8")).hexdigest()
    except DataError:
        return ""


def describe(model: object) -> dict[str, str]:
    """The fields of a model in words: shapes of arrays, values of parameters."""
    if not dataclasses.is_dataclass(model) or isinstance(model, type):
        return {}
    description = {}
    for name in (item.name for item in dataclasses.fields(model)):
        value = getattr(model, name)
        if isinstance(value, np.ndarray | Rows) or sp.issparse(value):
            description[name] = " × ".join(map(str, value.shape)) or str(value)
        elif value is not None and isinstance(value, bool | int | float | str):
            description[name] = f"{value:g}" if isinstance(value, float) else str(value)
    return description


def identity(value: Any) -> Any:
    """Plain data that differ where values differ: arrays by shape, type and bytes, data classes by type and fields.

    Raises
    ------
    DataError
        A value of a type without an identity.
    """
    if value is None or isinstance(value, bool | int | str):
        return value
    if isinstance(value, float):
        return repr(float(value))
    if isinstance(value, np.ndarray):
        return [
            "array",
            list(value.shape),
            value.dtype.str,
            hashlib.sha256(np.ascontiguousarray(value).ravel().view(np.uint8).data).hexdigest(),
        ]
    if isinstance(value, Rows):
        return ["rows", list(value.shape), value.columns.digest]
    if sp.issparse(value):
        rows = sp.csr_array(value)
        return [
            "csr",
            list(rows.shape),
            identity(rows.data),
            identity(rows.indices.astype(np.int64)),
            identity(rows.indptr.astype(np.int64)),
        ]
    if isinstance(value, np.generic):
        return identity(value.item())
    if isinstance(value, enum.Enum):
        return [type(value).__qualname__, value.name]
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        stated: dict[str, Any] = {}
        for name, as_before in _stated(type(value)):
            item = getattr(value, name)
            stated |= {name: item} if as_before is None else as_before(item)
        return [type(value).__qualname__, {name: identity(item) for name, item in stated.items()}]
    if isinstance(value, Mapping):
        return {str(key): identity(item) for key, item in value.items()}
    if isinstance(value, tuple | list):
        return [identity(item) for item in value]
    raise DataError(f"a value of type {type(value).__name__} has no identity to store a cell under")


@functools.cache
def _stated(kind: type[Any]) -> tuple[tuple[str, Callable[[Any], Mapping[str, Any]] | None], ...]:
    """The fields that a data class is made from, each with its `earlier_identity` where it has one."""
    parts = []
    for item in dataclasses.fields(kind):
        rule = item.metadata.get("identity", True)
        if item.init and rule:
            parts.append((item.name, rule if callable(rule) else None))
    return tuple(parts)


def earlier_identity(name: str, default: str, before: Mapping[str, Any]) -> Callable[[Any], Mapping[str, Any]]:
    """Return the rule of a field, for its metadata, under which digests of stored files stay as they are.

    Parameters
    ----------
    name : str
        Under which the field's values count.
    default : str
        The value that stands for a model as it was stated before the field had its name.
    before : mapping
        The entries that count in place of the default.
    """
    return lambda value: before if isinstance(value, str) and value == default else {name: value}
