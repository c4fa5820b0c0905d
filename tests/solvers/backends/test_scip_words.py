"""SCIP and SoPlex are not heard while they solve, and whoever else writes to standard error is."""

from __future__ import annotations

import ctypes
import os
import sys
import threading

import numpy as np
import pytest
from facts import failed

from marginopt.errors import SolverError
from marginopt.models import Block, StandardForm, Zero
from marginopt.models.program.form import Constraint
from marginopt.solvers.backends.scip import suppress_output
from marginopt.solvers.records import Options
from marginopt.solvers.solve import solve_problem


def troubled() -> StandardForm:
    """A linear program of large numbers, whose residuals stay above SCIP's tolerance: it asks SoPlex for more digits."""
    rng = np.random.default_rng(1)
    F = rng.normal(size=(4, 8))
    x = 1e6 * rng.uniform(size=8)
    q = F.T @ rng.normal(size=4) + rng.uniform(size=8)
    equal = Constraint("equal", F, -F @ x, Zero(4))
    return StandardForm(
        name="large numbers", blocks=(Block("x", (8,)),), q=q, r=0.0, constraints=(equal,), lower=np.zeros(8),
        upper=np.full(8, np.inf), integer=np.zeros(8, dtype=bool),
    )  # fmt: skip


def solve(verbose: bool = False) -> None:
    with pytest.raises(SolverError, check=failed("scip")):
        solve_problem(troubled(), "scip", Options(verbose=verbose))


def say(words: bytes) -> None:
    """To std::cerr, as a C++ library would."""
    runtime = ctypes.CDLL("libstdc++.so.6")
    write = runtime["_ZStlsISt11char_traitsIcEERSt13basic_ostreamIcT_ES5_PKc"]
    write.argtypes, write.restype = (ctypes.c_void_p, ctypes.c_char_p), ctypes.c_void_p
    write(ctypes.addressof(ctypes.c_char.in_dll(runtime, "_ZSt4cerr")), words)


def test_a_solve_in_trouble_is_not_heard(capfd: pytest.CaptureFixture[str]) -> None:
    solve()
    assert capfd.readouterr() == ("", "")


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="GNU's C++ library")
def test_verbose_is_heard(capfd: pytest.CaptureFixture[str]) -> None:
    solve(verbose=True)
    assert "unresolved numerical troubles" in capfd.readouterr().err


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="GNU's C++ library")
def test_only_its_words_are_lost_and_all_come_back(capfd: pytest.CaptureFixture[str]) -> None:
    with suppress_output():
        with suppress_output():
            say(b"inner ")
        say(b"outer ")
        os.write(2, b"a crash, ")
        print("Python, ", end="", file=sys.stderr, flush=True)
    say(b"C++")
    assert capfd.readouterr().err == "a crash, Python, C++"


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="GNU's C++ library")
def test_threads_share_it(capfd: pytest.CaptureFixture[str]) -> None:
    def within() -> None:
        for _ in range(200):
            with suppress_output():
                say(b"lost ")

    threads = [threading.Thread(target=within) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    say(b"heard")
    assert capfd.readouterr().err == "heard"
