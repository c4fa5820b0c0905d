"""Wild inputs for every formulation: arrays and parameters of any kind, size and sign; what escapes must be one of our errors."""

from __future__ import annotations

import dataclasses
from functools import lru_cache
from typing import Any

import numpy as np
import scipy.sparse as sp

import marginopt as mo
from marginopt import models
from marginopt.errors import MarginoptError

#: Parameters, and single values.
VALUES: tuple[Any, ...] = (
    np.nan, np.inf, -np.inf, -1.0, 0.0, -0.0, 1e300, 1e-300, 1e-6, 1e6, 1, 2, 10**30, True, None, "x", "", [], {}, [1.0, 2.0],
    np.array([1.0]), np.float32(0.5), np.int8(3), 1 + 2j, b"1", object(), (1,), float,
)  # fmt: skip


@lru_cache(maxsize=1)
def formulations() -> tuple[Any, ...]:
    """The records of all formulations."""
    return tuple(info for _, info in sorted(models.formulations().items()))


def _wild(array: np.ndarray, rng: np.random.Generator) -> Any:
    """An array spoilt in one way."""
    choice = int(rng.integers(24))
    spoilt = np.array(array, dtype=np.float64)
    place = tuple(int(rng.integers(k)) for k in spoilt.shape)
    if choice < 4:
        spoilt[place] = (np.nan, np.inf, 1e300, -1e300)[choice]
        return spoilt
    ways: tuple[Any, ...] = (
        lambda: spoilt * 1e6, lambda: spoilt * 1e-6, lambda: spoilt * 1e160, lambda: spoilt * 1e-160, lambda: spoilt * 0.0,
        lambda: spoilt + 1e8, lambda: spoilt[:1], lambda: spoilt[:0], lambda: spoilt[..., None], lambda: spoilt.ravel(),
        lambda: spoilt.T, lambda: spoilt.astype(str), lambda: spoilt.astype(object), lambda: spoilt + 1j, lambda: spoilt.tolist(),
        lambda: [[1.0], [1.0, 2.0]], lambda: None, lambda: "nonsense", lambda: sp.csr_array(np.atleast_2d(spoilt.ravel())),
        lambda: VALUES[int(rng.integers(len(VALUES)))],
    )  # fmt: skip
    return ways[choice - 4]()


def attack(number: int) -> tuple[str, str]:
    """(what was tried, what escaped): state one formulation on spoilt input, compile it, print it, and solve some of them."""
    rng = np.random.default_rng([3, number])
    info = formulations()[number % len(formulations())]
    if info.small is not None:
        arrays: dict[str, Any] = dict(info.small(rng))
    else:
        X = np.column_stack([np.ones(6), rng.normal(size=(6, 2))])
        arrays = {"X": X, "y": np.array([1.0, -1, 1, -1, 1, -1])}
        arrays = {name: arrays[name] for name in info.needs}
    what = f"{info.name}, {number}"
    try:
        with np.errstate(all="ignore"):
            model = _one_field(info, arrays, rng) if rng.random() < 0.5 else _arrays(info, arrays, rng)
            str(model)
            str(model.form)
            if rng.random() < 0.2:
                str(mo.solve(model, time_limit=0.5))
    except MarginoptError:
        return what, ""
    except Exception as error:  # noqa: BLE001 - this is what is counted
        return what, f"{type(error).__name__}: {str(error)[:160]}"
    return what, ""


def _arrays(info: Any, arrays: dict[str, Any], rng: np.random.Generator) -> Any:
    """The model on arrays of which one or two are spoilt, a parameter as at the prompt."""
    for name in rng.permutation(sorted(arrays))[: int(rng.integers(1, 3))].tolist():
        if _numeric(arrays[name]):
            arrays[name] = _wild(arrays[name], rng)
    values = {}
    if info.parameters and rng.random() < 0.5:
        values[info.parameters[int(rng.integers(len(info.parameters)))].name] = VALUES[int(rng.integers(len(VALUES)))]
    return info.make_model(arrays, values)


def _one_field(info: Any, arrays: dict[str, Any], rng: np.random.Generator) -> Any:
    """A good model with one of its own fields changed for anything."""
    good = info.make_model(arrays, {})
    fields = [f.name for f in dataclasses.fields(good) if f.init]
    name = fields[int(rng.integers(len(fields)))]
    old = getattr(good, name)
    return good.with_parameter(
        name, _wild(old, rng) if _numeric(old) and rng.random() < 0.7 else VALUES[int(rng.integers(len(VALUES)))]
    )


def _numeric(value: Any) -> bool:
    return isinstance(value, np.ndarray) and value.dtype.kind in "fiub" and value.ndim > 0
