"""The digest of a model's data and parameters: results, stores and logs keep it, to tell later whether they are of that model."""

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

# exempt (formulation): the one table of what stored files call the parameters of formulations
#: Former names of parameters, by class and present name: digests use the former names, so that those of stored files stay valid.
EARLIER_NAMES: Mapping[str, Mapping[str, str]] = {
    "AddedParts": {"form_blocks": "over"},
    "AllHulls": {"margin_bounds": "reach"},
    "BigM": {"big_m": "M"},
    "ChebyshevNPSVC": {"y": "labels"},
    "Combined": {"big_m": "M"},
    "CombinedRelaxation": {"big_m": "M"},
    "EqualHulls": {"margin_bounds": "reach"},
    "FixedVariables": {"form_blocks": "over"},
    "Hinge": {"big_m": "M"},
    "JointHyperplanesSVM": {"y": "labels"},
    "L0L1": {"k": "most"},
    "Margin": {"sample_weight": "weights"},
    "MulticlassSVM": {"sample_weight": "weights"},
    "Moments": {"max_variables": "most"},
    "NonparallelSVM": {"y": "labels"},
    "NuSVM": {"sample_weight": "weights"},
    "OneHull": {"margin_bounds": "reach"},
    "PairHulls": {"margin_bounds": "reach"},
    "Perspective": {"big_m": "M"},
    "PerspectiveRelaxation": {"big_m": "M"},
    "Ramp": {"second_width": "beyond"},
    "RankOne": {"margin_bounds": "reach"},
    "ScoringSystem": {"sample_weight": "weights"},
}


def fingerprint(model: object) -> str:
    """Return the SHA-256 of the data and parameters of a model or form; empty where a part has no identity (a function)."""
    try:
        return hashlib.sha256(json.dumps(identity(model), sort_keys=True).encode("utf-8")).hexdigest()
    except DataError:
        return ""


def describe(model: object) -> dict[str, str]:
    """Return the fields of a model in words: shapes and storage of arrays, values of parameters."""
    if not dataclasses.is_dataclass(model) or isinstance(model, type):
        return {}
    description = {}
    for name in (item.name for item in dataclasses.fields(model)):
        value = getattr(model, name)
        if isinstance(value, np.ndarray | Rows) or sp.issparse(value):
            description[name] = " × ".join(map(str, value.shape)) + _storage(value) if value.shape else str(value)
        elif value is not None and isinstance(value, bool | int | float | str):
            description[name] = f"{value:g}" if isinstance(value, float) else str(value)
    return description


def _storage(value: Any) -> str:
    """Return how an array is stored, if not as dense float64 numbers: results of differently stored data are not compared."""
    kind = ", sparse" if sp.issparse(value) else ", on disk" if isinstance(value, Rows) else ""
    dtype = getattr(value, "dtype", np.dtype(np.float64))
    return kind if dtype == np.float64 else f"{kind}, {dtype}"


def identity(value: Any) -> Any:
    """Return plain data that differ where values differ: arrays by shape, type and bytes, data classes by type and fields.

    Raises
    ------
    DataError
        A part has no identity, such as a function.
    """
    if value is None or isinstance(value, bool | int | str):
        return value
    if isinstance(value, float):
        return repr(float(value))
    if isinstance(value, np.ndarray) and value.dtype.hasobject:
        return ["objects", list(value.shape), identity(value.ravel().tolist())]
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
        field_values: dict[str, Any] = {}
        for name, as_before in _identity_fields(type(value)):
            item = getattr(value, name)
            field_values |= {name: item} if as_before is None else as_before(item)
        return [type(value).__qualname__, {name: identity(item) for name, item in field_values.items()}]
    if isinstance(value, Mapping):
        return {str(key): identity(item) for key, item in value.items()}
    if isinstance(value, tuple | list):
        return [identity(item) for item in value]
    kind = type(value).__name__
    raise DataError(f"a value of type {kind} has no identity to store a cell under", name=kind)


@functools.cache
def _identity_fields(kind: type[Any]) -> tuple[tuple[str, Callable[[Any], Mapping[str, Any]] | None], ...]:
    """Return the fields that a data class is made from, each with its `identity_rule` where it has one."""
    parts = []
    for item in dataclasses.fields(kind):
        rule = item.metadata.get("identity", True)
        earlier_name = EARLIER_NAMES.get(kind.__name__, {}).get(item.name)
        if earlier_name is not None:
            rule = functools.partial(lambda name, value: {name: value}, earlier_name)
        if item.init and rule:
            parts.append((item.name, rule if callable(rule) else None))
    return tuple(parts)


def identity_rule(
    name: str, default: str | float | tuple[()] | None, before: Mapping[str, Any]
) -> Callable[[Any], Mapping[str, Any]]:
    """Return the rule ``metadata={"identity": rule}`` of a field that is younger than stored digests: they stay valid.

    Parameters
    ----------
    name : str
        The name under which the field's value enters the digest.
    default : str, float, empty tuple or None
        The field's value in a model that could be stated before the field existed.
    before : mapping
        The entries that enter the digest in place of that value: those of stored files.
    """
    return lambda value: before if isinstance(value, type(default)) and value == default else {name: value}
