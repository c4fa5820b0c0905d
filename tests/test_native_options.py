"""Options: what is wrong is named with what was given and needed; unknown native options name near misses."""

from __future__ import annotations

import json
import re
from typing import Any

import numpy as np
import pytest

from marginopt.errors import InputError
from marginopt.models import HingeSVM
from marginopt.solvers.native import check_native
from marginopt.solvers.options import Options
from marginopt.solvers.solve import solve_problem
from marginopt.solvers.status import Status


@pytest.mark.parametrize(
    ("kwargs", "words"),
    [
        ({"time_limit": 0}, "time_limit must be a number > 0; it is 0"),
        ({"time_limit": -1.5}, "it is -1.5"),
        ({"time_limit": float("nan")}, "it is nan"),
        ({"time_limit": "60"}, "it is '60'"),
        ({"time_limit": True}, "it is True"),
        ({"tol": 0.0}, "tol must be a number > 0; it is 0.0"),
        ({"memory_limit": -1}, "memory_limit must be a number > 0"),
        ({"threads": 0}, "threads must be an integer ≥ 1; it is 0"),
        ({"threads": 1.5}, "it is 1.5"),
        ({"threads": True}, "it is True"),
        ({"iteration_limit": 0}, "iteration_limit must be an integer ≥ 1"),
        ({"node_limit": "many"}, "node_limit must be an integer ≥ 1; it is 'many'"),
        ({"seed": -1}, "seed must be an integer ≥ 0; it is -1"),
        ({"seed": None}, "seed must be an integer ≥ 0; it is None"),
        ({"start": np.zeros(3)}, "start must map labels of variables to arrays; it is a ndarray"),
        ({"callback": "stop"}, "callback must be a function of one trace row; it is a str"),
    ],
)
def test_bad_options(kwargs: dict[str, Any], words: str) -> None:
    with pytest.raises(InputError, match=re.escape(words)):
        Options(**kwargs)


def test_numpy_numbers_become_plain_ones() -> None:
    options = Options(
        time_limit=np.float32(2.0), threads=np.int64(2), seed=np.int8(3), tol=np.float64(1e-3), node_limit=np.int32(4)
    )  # type: ignore[arg-type]
    assert type(options.time_limit) is float
    assert type(options.threads) is int
    assert (options.seed, options.node_limit) == (3, 4)
    json.dumps(options.record())


def test_record() -> None:
    assert Options().record() == {"seed": 0}
    options = Options(time_limit=5, start={"w": np.zeros(2)}, native={"a": 1, "b": np.zeros(2)}, callback=print)
    assert options.record() == {"time_limit": 5.0, "seed": 0, "start": ["w"], "native": {"a": 1, "b": "array([0., 0.])"}}
    assert Options().tolerance(1e-6) == 1e-6
    assert Options(tol=1e-3).tolerance(1e-6) == 1e-3


@pytest.mark.parametrize(
    ("option", "words"),
    [
        ("max_itr", "solver has no option 'max_itr'; did you mean max_iter"),
        ("MAX_ITER", "solver has no option 'MAX_ITER'"),
        ("tolgap", "did you mean tol_gap_rel"),
        ("zzz", "it has max_iter, tol_gap_rel, verbose"),
    ],
)
def test_near_misses(option: str, words: str) -> None:
    with pytest.raises(InputError, match=re.escape(words)):
        check_native("solver", {option: 1}, ["verbose", "max_iter", "tol_gap_rel"])


def test_nothing_known() -> None:
    with pytest.raises(InputError, match="solver has no option 'a'; it has none"):
        check_native("solver", {"a": 1}, [])
    check_native("solver", {}, [])


def test_clarabel_s_own_options(overlapping: Any) -> None:
    model = HingeSVM(overlapping.X, overlapping.y)
    result = solve_problem(model, "clarabel", Options(native={"max_iter": 2}))
    assert result.status is Status.ITERATION_LIMIT
    assert result.iterations == 2
    assert result.options["native"] == {"max_iter": 2}
    assert solve_problem(model, "clarabel", Options(iteration_limit=2)).iterations == 2
    for native, words in (
        ({"max_itr": 3}, "clarabel has no option 'max_itr'; did you mean max_iter"),
        ({"default": 3}, "clarabel has no option 'default'"),
        ({"max_iter": "a"}, "clarabel does not take max_iter = 'a'"),
    ):
        with pytest.raises(InputError, match=re.escape(words)):
            solve_problem(model, "clarabel", Options(native=native))


def test_the_tolerance_is_passed_on(overlapping: Any) -> None:
    model = HingeSVM(overlapping.X, overlapping.y)
    rough = solve_problem(model, "clarabel", Options(tol=1e-1))
    fine = solve_problem(model, "clarabel", Options(tol=1e-8))
    assert fine.gap <= 1e-8
    assert rough.gap > fine.gap
    assert rough.iterations < fine.iterations  # type: ignore[operator]
    assert rough.status is fine.status is Status.OPTIMAL
