"""Parameters of solvers' classes: those of plain types are checked wherever a solver is constructed."""

from __future__ import annotations

import sys
from dataclasses import dataclass, fields, is_dataclass, replace
from typing import Any

import numpy as np
import pytest
from facts import about

from marginopt.errors import InputError
from marginopt.solvers import get_solver
from marginopt.solvers.exact.algorithm import ExactSearch
from marginopt.solvers.interface.algorithm import Algorithm
from marginopt.solvers.interface.native_options import replace_parameters
from marginopt.solvers.interface.solver import Solver
from marginopt.solvers.simplex.smo import SMO
from marginopt.solvers.zero_one.algorithm import ZeroOneBB

_PLAIN = {"float", "int", "bool", "str", "None"}


def _classes(kind: type[Any]) -> set[type[Any]]:
    return {kind} | {one for sub in kind.__subclasses__() for one in _classes(sub)}


#: Solvers whose classes have parameters.
_NAMES = (
    "smo", "smo-box", "fw", "mfw", "pairwise-fw", "blended-pairwise-fw", "cvm", "pga", "auto-simplex", "boxqp", "conic-ipm",
    "conic-factored", "linear-newton", "multiclass-ascent", "maxmin", "alternating", "kernel-npsvcpp", "npsvc-mm",
    "margin-bb", "ramp-bb", "risk-bb", "sparse-bb", "supports-bb", "zero-one-bb",
)  # fmt: skip


def _parameters() -> list[tuple[str, str]]:
    """Return solver and name of every parameter of a plain type."""
    parameters = [(name, item) for name in _NAMES for item in fields(get_solver(name))]  # type: ignore[arg-type]
    return [(name, item.name) for name, item in parameters if set(str(item.type).split(" | ")) <= _PLAIN]


def test_every_parameter_of_a_plain_type_is_checked() -> None:
    """By the class, as `dataclasses.replace` calls it, too."""
    parameters = _parameters()
    assert len(parameters) > 70
    for solver, name in parameters:
        with pytest.raises(InputError, check=about(name)):
            replace(get_solver(solver), **{name: object()})  # type: ignore[type-var]


def test_every_parameter_of_literal_values_is_checked() -> None:
    """Aliases of `Literal` too; the error has the values."""
    parameters = {
        (name, f.name): getattr(sys.modules[type(get_solver(name)).__module__], str(f.type), None) or f.type
        for name in _NAMES
        for f in fields(get_solver(name))  # type: ignore[arg-type]
    }
    literal = [key for key, kind in parameters.items() if "Literal[" in str(kind)]
    assert {
        ("smo", "precision"),
        ("zero-one-bb", "engine"),
        ("maxmin", "rate"),
        ("cvm", "inner"),
        ("npsvc-mm", "initial"),
    } <= set(literal)
    for solver, name in literal:
        chosen = getattr(get_solver(solver), name)
        for value in ("sideways", 3, object(), np.zeros(2)):
            with pytest.raises(InputError, check=about(name)) as error:
                replace(get_solver(solver), **{name: value})  # type: ignore[type-var]
            assert chosen in error.value.allowed
        for allowed in error.value.allowed:
            assert getattr(replace(get_solver(solver), **{name: allowed}), name) == allowed  # type: ignore[type-var]


def test_a_native_option_of_literal_values_is_checked() -> None:
    with pytest.raises(InputError, check=about("precision")) as error:
        replace_parameters(SMO(), {"precision": "half"})
    assert error.value.allowed == ("single", "double")


def test_checks_of_a_subclass_come_after_that_of_the_types() -> None:
    """No class of ours that checks parameters leaves the types out."""
    for kind in _classes(Algorithm):
        if is_dataclass(kind) and "__post_init__" in vars(kind) and kind.__module__.startswith("marginopt."):
            assert "super" in kind.__post_init__.__code__.co_names, kind
    assert ExactSearch in _classes(Solver)


@pytest.mark.parametrize(
    ("make", "name"),
    [
        (lambda: SMO(stride="a"), "stride"), (lambda: SMO(newton="yes"), "newton"), (lambda: SMO(cache_bytes=1.5), "cache_bytes"),
        (lambda: ZeroOneBB(restarts="a"), "restarts"), (lambda: ZeroOneBB(proof=3), "proof"),
    ],
)  # fmt: skip
def test_a_value_of_another_type_names_the_parameter(make: Any, name: str) -> None:
    with pytest.raises(InputError, check=about(name)):
        make()


def test_a_class_of_one_s_own_is_checked_too() -> None:
    """Without its own `__post_init__`, and where annotations are types."""

    @dataclass(frozen=True)
    class Stepper(SMO):
        steps: int = 3

    Stepper.__dataclass_fields__["steps"].type = int
    assert Stepper(steps=4).steps == 4
    with pytest.raises(InputError, check=about("steps")):
        Stepper(steps="four")  # type: ignore[arg-type]
