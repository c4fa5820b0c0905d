"""Representations show numbers as Python does, also those that were given or computed as NumPy's scalars."""

from __future__ import annotations

import dataclasses
import inspect
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import marginopt as mo
from marginopt.errors import InputError
from marginopt.models.formulations.margin.part import Part
from marginopt.models.formulations.margin.parts_by_name import AtMost
from marginopt.models.formulations.margin.restrictions import CountParity, Parity
from marginopt.models.kernels.kernels import Kernel
from marginopt.models.program.cones import Cone
from marginopt.relaxations.reduction import Reduction
from marginopt.selection.base import Selector

#: Values of fields that the annotation alone does not give.
VALUES: dict[str, Any] = {
    "second_width": np.float64(2.0), "breakpoints": ((np.float64(0.0), np.float64(1.0)), (np.float64(1.0), np.float64(0.0))),
    "coefficients": {np.int64(1): np.float64(0.5)}, "count": np.int64(1), "dim": np.int64(3),
    "first": mo.RBF(np.float64(0.5)), "gamma": np.float64(0.5), "groups": (np.int64(0), np.int64(1)),
    "lower": np.float64(-1.0), "order": (np.int64(0), np.int64(1)), "points": [np.int64(0), np.int64(1)],
    "prices": np.float64(1.0), "second": mo.Linear(), "signs": (np.int64(1), np.int64(-1)), "upper": np.float64(1.0),
}  # fmt: skip


def stated(root: type) -> Iterator[type]:
    """Yield the concrete data classes below a class that marginopt defines."""
    for kind in root.__subclasses__():
        yield from stated(kind)
        if not inspect.isabstract(kind) and kind.__module__.startswith("marginopt.") and dataclasses.is_dataclass(kind):
            yield kind


def arguments(kind: type) -> dict[str, Any]:
    """Return NumPy's scalars for the fields that are numbers."""
    made = {}
    for item in dataclasses.fields(kind):
        scalar = next((np_type for name, np_type in TYPES.items() if str(item.type).startswith(name)), None)
        if item.name in VALUES:
            made[item.name] = VALUES[item.name]
        elif scalar is not None:
            made[item.name] = scalar(item.default if isinstance(item.default, (int, float)) else 2)
    return made


TYPES = {"float": np.float64, "int": np.int64, "bool": np.bool_}


@pytest.mark.parametrize("root", [Part, Kernel, Cone, Reduction, Selector])
def test_what_users_state_shows_python_s_numbers(root: type) -> None:
    shown = {}
    for kind in {*stated(root)}:
        try:
            shown[kind.__name__] = repr(kind(**arguments(kind)))
        except (InputError, TypeError):  # needs data or other values
            continue
    assert len(shown) >= 5
    assert not {name: text for name, text in shown.items() if "np." in text}
    assert repr(AtMost(np.int64(3))) == "AtMost(k=3)"  # type: ignore[arg-type]
    assert repr(Parity("sex", np.float64(0.02))) == "Parity(groups='sex', epsilon=0.02)"
    assert repr(CountParity([0, 1, 1], 0.5)) == "CountParity(groups=<groups of 3 points>, epsilon=0.5)"


def test_results_show_python_s_numbers() -> None:
    rng = np.random.default_rng(0)
    X = np.column_stack([np.ones(30), rng.normal(size=(30, 2))])
    y = np.where(X[:, 1] + 0.5 * rng.normal(size=30) > 0, 1.0, -1.0)
    for model, solver in (
        (mo.HingeSVM(X, y, 0.5), "linear-newton"), (mo.HingeSVM(X, y, 0.5), "clarabel"), (mo.L1SVMDual(X, y), "smo-box"),
        (mo.ConicSVM(X, y, 0.5), "conic-ipm"), (mo.MEBDual(X), "cvm"),
    ):  # fmt: skip
        result = mo.solve(model, solver)
        parts = (result.certificate, result.answer.trace, result.answer.details, result.status, result.options)
        assert not [repr(part) for part in parts if "np." in repr(part)], solver
