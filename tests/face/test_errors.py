"""Errors carry their facts as attributes, also through a pickle."""

from __future__ import annotations

import builtins
import pickle
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import marginopt as mo
from marginopt import models, relaxations, solvers
from marginopt.display import data_frame
from marginopt.errors import InputError, MissingPackageError, near_names

X = np.column_stack([np.ones(6), np.arange(6.0)])
y = np.array([1.0, -1.0, -1.0, 1.0, -1.0, 1.0])


@pytest.mark.parametrize(
    ("call", "name"),
    [
        (lambda: mo.ZeroOneSVM(X, y, 0.0), "lam"),
        (lambda: mo.ZeroOneSVM(X, y[:-1]), "y"),
        (lambda: mo.HingeSVM([["a", "b"]], y), "X"),
        (lambda: mo.HingeSVM(X, np.ones(6)), "y"),
        (lambda: mo.Margin(X, y, sample_weight=[1.0]), "sample_weight"),
        (lambda: mo.Margin(X, y, big_m=-1.0), "big_m"),
        (lambda: models.MulticlassSVM(X, y, sample_weight=0.0), "sample_weight"),
        (lambda: mo.L2SVMDual(X, y, C=-1.0), "C"),
        (lambda: mo.solve(mo.HingeSVM(X, y, 1.0), time_limit=-1.0), "time_limit"),
    ],
)
def test_a_value_that_cannot_be_used_is_named(call: Callable[[], object], name: str) -> None:
    with pytest.raises(InputError) as caught:
        call()
    assert caught.value.name == name
    assert pickle.loads(pickle.dumps(caught.value)).name == name


@pytest.mark.parametrize(
    ("call", "name", "near"),
    [
        (lambda: mo.solve(mo.HingeSVM(X, y, 1.0), "clarabell"), "clarabell", "clarabel"),
        (lambda: mo.Margin(X, y, "hing"), "hing", "hinge"),
        (lambda: relaxations.relax(mo.ZeroOneSVM(X, y), "conik"), "conik", "conic"),
        (lambda: mo.solve(mo.HingeSVM(X, y, 1.0), "clarabel", max_iterr=1), "max_iterr", "max_iter"),
        (lambda: mo.instances.load("irs"), "irs", "iris"),
    ],
)
def test_an_unknown_name_comes_with_those_that_are_known(call: Callable[[], object], name: str, near: str) -> None:
    with pytest.raises(InputError) as caught:
        call()
    assert caught.value.name == name and near in caught.value.allowed
    assert pickle.loads(pickle.dumps(caught.value)).allowed == caught.value.allowed


def test_a_name_that_is_known_twice_is_suggested_once() -> None:
    """HiGHS has a time_limit of its own beside the common one."""
    assert near_names("time_limt", ["time_limit", "Time_Limit", "time_limit"]) == ["time_limit", "Time_Limit"]


def test_a_package_that_is_missing_comes_with_its_command(monkeypatch: pytest.MonkeyPatch) -> None:
    imported = builtins.__import__

    def without_pandas(name: str, *rest: Any) -> Any:
        if name == "pandas":
            raise ImportError(name)
        return imported(name, *rest)

    monkeypatch.setattr(builtins, "__import__", without_pandas)
    with pytest.raises(MissingPackageError) as caught:
        data_frame({})
    assert caught.value.package == "pandas" and caught.value.command in str(caught.value)
    again = pickle.loads(pickle.dumps(caught.value))
    assert (again.package, str(again)) == ("pandas", str(caught.value))


def test_a_solver_that_is_missing_names_its_package(monkeypatch: pytest.MonkeyPatch) -> None:
    model = mo.HingeSVM(X, y, 1.0)
    solver = solvers.get_solver("clarabel")
    monkeypatch.setattr("importlib.util.find_spec", lambda name, package=None: None)
    with pytest.raises(MissingPackageError) as caught:
        mo.solve(model, solver)
    assert (caught.value.package, caught.value.command) == ("clarabel", "pip install clarabel")
