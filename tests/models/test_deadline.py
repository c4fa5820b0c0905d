"""The deadline of a solve: large matrices are not made after it, small ones are, and nothing half made is kept."""

from __future__ import annotations

import functools
import math
import pkgutil
import threading
import time
from collections.abc import Callable

import numpy as np
import pytest
import scipy.sparse as sp

from marginopt.models import L1SVMDual, L2SVMDual, Quadratic
from marginopt.models.deadline import (
    PANEL,
    OutOfTimeError,
    check_deadline,
    check_scan,
    cholesky,
    deadline,
    eigendecomposition,
    limit_clock,
    loading,
    remaining_seconds,
)
from marginopt.models.export.highs_model import to_highs
from marginopt.models.kernels.gram import MatrixGram
from marginopt.models.program.bridges import psd_factor
from marginopt.solvers import solve
from marginopt.solvers.backends.clarabel import Clarabel
from marginopt.solvers.backends.qpsolvers import is_positive_definite
from marginopt.solvers.backends.scip import to_scip
from marginopt.solvers.interface import solver as solver_module
from marginopt.solvers.interface.solver import OPEN_LICENCE
from marginopt.solvers.interface.timeouts import run_with_timeout
from marginopt.solvers.records import Options
from marginopt.solvers.simplex.smo import SMO

PASSED = -math.inf
#: More than one panel.
LARGE = PANEL + 3


def definite(n: int) -> np.ndarray:
    """A positive definite matrix that is cheap to make."""
    return 2.0 * np.eye(n) + 1.0 / (1.0 + np.abs(np.subtract.outer(np.arange(n), np.arange(n))))


@pytest.mark.parametrize("n", [0, 1, 7, PANEL - 1, PANEL, PANEL + 1, 2 * PANEL + 5])
@pytest.mark.parametrize("order", ["C", "F"])
def test_the_factor_by_panels_is_the_factor(n: int, order: str) -> None:
    P = definite(n)
    lower = cholesky(np.array(P, order=order))
    assert lower is not None and not np.triu(lower, 1).any()
    assert np.abs(lower @ lower.T - P).max(initial=0.0) <= 1e-13


@pytest.mark.parametrize("place", [0, PANEL - 1, PANEL, LARGE - 1])
def test_an_indefinite_matrix_has_no_factor(place: int) -> None:
    P = definite(LARGE)
    P[place, place] = -1e-3
    assert cholesky(P) is None


def test_large_matrices_are_given_up_after_the_deadline_and_small_ones_are_not() -> None:
    with deadline(PASSED):
        assert cholesky(definite(PANEL)) is not None
        eigendecomposition(definite(5))
        check_scan(1000)
        for call in (lambda: cholesky(definite(LARGE)), lambda: eigendecomposition(definite(LARGE)), lambda: check_scan(10**8)):
            with pytest.raises(OutOfTimeError):
                call()


def test_a_computation_that_would_end_after_the_deadline_is_not_begun() -> None:
    with deadline(limit_clock() + 1000.0):
        check_deadline(10.0)
        with pytest.raises(OutOfTimeError):
            check_deadline(2000.0)
        with deadline(math.inf):
            check_deadline(1e9)
        assert 0.0 < remaining_seconds() <= 1000.0
    assert math.isinf(remaining_seconds())


@pytest.mark.parametrize(
    "make",
    [
        is_positive_definite,
        lambda quadratic: psd_factor(quadratic).toarray().tolist(),
        lambda quadratic: quadratic.materialised.tolist(),
    ],
)
def test_what_was_given_up_is_made_later(make: Callable[[Quadratic], object]) -> None:
    """A factor or a verdict that the deadline prevented is not remembered as one."""
    quadratic = Quadratic(operator=MatrixGram(definite(LARGE)))
    with deadline(PASSED), pytest.raises(OutOfTimeError):
        make(quadratic)
    assert make(quadratic) == make(Quadratic(matrix=definite(LARGE)))


def test_sparse_and_dense_entries_are_scanned_within_the_deadline(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("marginopt.models.deadline._SMALL", 10)
    for matrix in (definite(5), sp.csc_array(definite(5))):
        for name in ("csc", "upper", "lower"):
            quadratic = Quadratic(matrix=matrix)
            with deadline(PASSED), pytest.raises(OutOfTimeError):
                getattr(quadratic, name)
            assert getattr(quadratic, name).nnz


@pytest.mark.parametrize("module", ["highspy", "pyscipopt"])
def test_a_program_is_handed_over_within_the_deadline(module: str, monkeypatch: pytest.MonkeyPatch) -> None:
    library = pytest.importorskip(module, reason=f"{module} is not installed")
    form = L1SVMDual(np.eye(6), np.array([1.0, -1.0] * 3), C=1.0).form
    assert form.quadratic is not None and form.quadratic.lower.nnz
    hand_over = functools.partial(to_highs, library) if module == "highspy" else to_scip
    hand_over(form)
    monkeypatch.setattr("marginopt.models.deadline._SMALL", 10)
    with deadline(PASSED), pytest.raises(OutOfTimeError):
        hand_over(form)


def test_a_call_in_a_thread_has_the_deadline_of_its_caller() -> None:
    release = threading.Event()
    with deadline(PASSED), pytest.raises(OutOfTimeError):
        run_with_timeout(lambda: check_deadline() or release.wait(), Options(time_limit=100.0), time.perf_counter())


@pytest.fixture
def jump(monkeypatch: pytest.MonkeyPatch) -> Callable[[float], None]:
    """Moves `time.perf_counter` forward by so many seconds, without waiting for them."""
    clock, offset = time.perf_counter, [0.0]
    monkeypatch.setattr(time, "perf_counter", lambda: clock() + offset[0])

    def move(seconds: float) -> None:
        offset[0] += seconds

    return move


def test_what_is_loaded_takes_nothing_of_a_limit(jump: Callable[[float], None]) -> None:
    with deadline(limit_clock() + 100.0):
        with loading():
            jump(300.0)
            with loading():
                jump(300.0)
        assert remaining_seconds() > 50.0
        jump(300.0)
        assert remaining_seconds() < 0.0


@pytest.mark.parametrize("part", ["licence", "import", "code"])
def test_a_first_solve_has_its_whole_limit(
    part: str, jump: Callable[[float], None], monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest
) -> None:
    """The solver's licence is looked for, its module is imported, and its compiled code is loaded, beside the limit."""
    model, limits = L2SVMDual(definite(6), np.where(np.arange(6) % 2, 1.0, -1.0)), list[float | None]()
    if part == "licence":
        run = Clarabel.run
        monkeypatch.setattr(Clarabel, "licence", lambda self: (jump(300.0), OPEN_LICENCE)[1])
        monkeypatch.setattr(
            Clarabel, "run", lambda self, m, o, kept=None: (limits.append(o.time_limit), run(self, m, o, kept))[1]
        )
    elif part == "import":
        resolve, resolved = pkgutil.resolve_name, solver_module._solver
        resolved.cache_clear()
        request.addfinalizer(resolved.cache_clear)
        monkeypatch.setattr(pkgutil, "resolve_name", lambda name: (jump(300.0), resolve(name))[1])
    else:
        load = SMO.load
        monkeypatch.setattr(SMO, "load", lambda self, view: (jump(300.0), load(self, view))[1])
    result = solve(model, Clarabel() if part == "licence" else "smo", time_limit=100.0)
    assert result.solved and all(limit is not None and limit > 50.0 for limit in limits)
