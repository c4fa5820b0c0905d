"""Calls that hold Python's lock run in a process of their own, which is ended at the time limit."""

from __future__ import annotations

import functools
import math
import os
import re
import threading
import time
from dataclasses import replace

import numpy as np
import pytest
import scipy.sparse as sp
from effort import trials

import marginopt as mo
from marginopt.solvers import Answer, Options, Status
from marginopt.solvers.interface.timeouts import ABANDONED_STATUS, CallTimeout, run_in_subprocess
from marginopt.solvers.records import UpdateKind
from marginopt.solvers.registry import get_solver

#: What no machine comes near, for calls that are to end by themselves.
_LONG = 3600.0


def _never() -> Answer:
    """A regular expression that tries 2^100 ways, with Python's lock held and no look at signals."""
    re.match(r"(a+)+$", "a" * 100 + "b")
    return Answer(Status.OPTIMAL)


def _refuses() -> Answer:
    raise mo.errors.InputError("mine")


def _balls() -> mo.Model:
    rng = np.random.default_rng(0)
    y = np.where(np.arange(40) % 2, 1.0, -1.0)
    return mo.L2SVMDual(rng.standard_normal((40, 3)), y, C=1.0, kernel=mo.RBF(0.1))


def _slow(monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    """Have the record say that every call is too long."""
    kind = type(get_solver(name))
    monkeypatch.setattr(kind, "info", replace(kind.info, uninterruptible_seconds=lambda form: math.inf))


def test_a_call_that_holds_the_lock_is_ended_at_the_limit() -> None:
    with pytest.raises(CallTimeout) as left:
        run_in_subprocess(_never, Options(time_limit=0.1), time.perf_counter())
    assert left.value.status is Status.TIME_LIMIT
    for thread in threading.enumerate():
        if thread.name == "marginopt: a solver's call":  # it waits for the process, which would not end by itself
            thread.join(_LONG)


def test_what_a_call_raises_is_raised_and_a_process_that_dies_is_a_failure() -> None:
    options = Options(time_limit=_LONG)
    with pytest.raises(mo.errors.InputError, check=lambda error: error.args == ("mine",)):
        run_in_subprocess(_refuses, options, time.perf_counter())
    died = run_in_subprocess(functools.partial(os._exit, 7), options, time.perf_counter())
    assert died.status is Status.FAILED and died.native_status == "its process ended with code 7" and died.values is None


@pytest.mark.parametrize("name", ["piqp", "osqp", "clarabel"])
def test_the_factorisation_of_sparse_rows_that_fill_in_is_a_long_call(name: str) -> None:
    """One of 4,000 columns takes OSQP seventeen seconds, in which it looks at no clock; rows of a band fill in nothing."""
    seconds = get_solver(name).info.uninterruptible_seconds
    assert seconds is not None
    y = np.where(np.arange(8000) % 2, 1.0, -1.0)
    shared = sp.random_array((8000, 4000), density=0.01, format="csr", rng=0)
    one = np.ones((8000, 1))
    assert seconds(mo.Margin(sp.hstack([one, shared], format="csr"), y, "hinge").form) > 5.0
    assert seconds(mo.Margin(sp.hstack([one, sp.eye_array(8000)], format="csr"), y, "hinge").form) < 0.5


@pytest.mark.parametrize("name", ["piqp", "quadprog", "clarabel", "highs", "osqp", "proxqp", "daqp"][: trials(4, 7)])
def test_the_answer_is_that_of_the_same_process(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    here = mo.solve(_balls(), name)
    _slow(monkeypatch, name)
    there = mo.solve(_balls(), name, time_limit=_LONG)
    assert there.status is here.status and there.certificate is not None and here.certificate is not None
    assert there.objective == pytest.approx(here.objective, rel=1e-9)
    assert there.certificate.bound == pytest.approx(here.certificate.bound, rel=1e-6)


def test_without_a_limit_or_with_a_callback_nothing_changes(monkeypatch: pytest.MonkeyPatch) -> None:
    _slow(monkeypatch, "clarabel")
    monkeypatch.setattr("subprocess.Popen", None)
    rows: list[object] = []
    assert mo.solve(_balls(), "clarabel").values
    assert mo.solve(_balls(), "clarabel", time_limit=_LONG, callback=rows.append).values and rows


def test_a_path_says_that_its_process_keeps_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    _slow(monkeypatch, "piqp")
    X, y = np.random.default_rng(0).standard_normal((20, 2)), np.where(np.arange(20) % 2, 1.0, -1.0)
    first, second = mo.path(mo.L1SVMDual(X, y, C=1.0), "C", [1.0, 2.0], solver="piqp", time_limit=_LONG)
    assert first.update is not None and first.update.kind is UpdateKind.BUILT
    assert second.update is not None and second.update.kind is UpdateKind.REBUILT and "process" in second.update.detail


def test_a_call_that_was_ended_gives_no_point(monkeypatch: pytest.MonkeyPatch) -> None:
    _slow(monkeypatch, "piqp")

    def ends(call: object, options: Options, begin: float) -> Answer:
        raise CallTimeout(Status.TIME_LIMIT)

    monkeypatch.setattr("marginopt.solvers.interface.backend.run_in_subprocess", ends)  # a real one may be done before any limit
    left = mo.solve(_balls(), "piqp", time_limit=1.0)
    assert (
        left.status is Status.TIME_LIMIT
        and left.claim.native_status == ABANDONED_STATUS
        and not left.values
        and left.certificate is None
    )
