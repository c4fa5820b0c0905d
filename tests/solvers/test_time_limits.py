"""A time limit is heard: every solver ends soon after it, what is prepared and judged included.

How late each one is, `benchmarks/costs/time_limits.py` measures. The time is that of this process; limits run on the wall's
clock, which on a busy machine only passes sooner.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import replace

import numpy as np
import pytest
from effort import part
from threadpoolctl import threadpool_limits

import marginopt as mo
from marginopt.errors import SolverError, UnsupportedModelError
from marginopt.models import ConicProblem, NonparallelSVM, StandardForm
from marginopt.models.deadline import PANEL, deadline, limit_clock
from marginopt.models.formulations.stiefel import StiefelQP
from marginopt.models.program.cones import Feature
from marginopt.relaxations import Products
from marginopt.solvers import Answer, Options, Status
from marginopt.solvers.conic.ipm import ConicIPM
from marginopt.solvers.interface.algorithm import Algorithm, Outcome
from marginopt.solvers.interface.backend import Backend
from marginopt.solvers.interface.compile_times import machine_slowdown
from marginopt.solvers.interface.solver import OPEN_LICENCE, SolverInfo
from marginopt.solvers.interface.timeouts import ABANDONED_STATUS, CallTimeout, run_with_timeout, time_limit_remark
from marginopt.solvers.judgement import judge
from marginopt.solvers.records import UpdateKind
from marginopt.solvers.registry import all_solvers, get_solver
from marginopt.solvers.solve import NOT_CALLED

pytestmark = pytest.mark.filterwarnings("ignore::marginopt.errors.MarginoptWarning")

LIMIT = 0.3
#: Before which no solver is done.
SHORT = 1e-4
State = Callable[[int], mo.Model]
"""The model on so many points."""


def _points(n: int, p: int) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    y = np.where(np.arange(n) % 2, 1.0, -1.0)
    X = np.column_stack([np.ones(n), rng.standard_normal((n, p))])
    X[:, 1] += y
    return X, y


def _balls(n: int) -> mo.Model:
    return mo.L2SVMDual(*_points(n, 30), C=1e4, kernel=mo.RBF(0.1))


def _classes(n: int) -> tuple[np.ndarray, np.ndarray]:
    X, _ = _points(n, max(n // 30, 3))
    return X, np.arange(n) % 3


def _apart(n: int) -> tuple[np.ndarray, np.ndarray]:
    """Three classes, each moved along an axis of its own: objectives of one size."""
    labels = np.arange(n) % 3
    X = np.random.default_rng(0).standard_normal((n, max(n // 30, 3)))
    return X + 1.5 * np.eye(X.shape[1])[labels], labels


def _stiefel(n: int) -> mo.Model:
    rng = np.random.default_rng(0)
    B = rng.standard_normal((n, n))
    return StiefelQP(B @ B.T, rng.standard_normal((n, max(n // 20, 2))))


def _scores(n: int) -> mo.Model:
    rng = np.random.default_rng(0)
    d = max(n // 10, 2)
    X = rng.integers(0, 5, (n, d))
    y = np.where(X[:, 0] - 2 * X[:, 1] + rng.normal(scale=6.0, size=n) > -2, 1.0, -1.0)
    return mo.ScoringSystem(np.column_stack([np.ones(n), X]), y, C0=0.001)


def _risks(n: int) -> mo.Model:
    scores = _scores(n)
    assert isinstance(scores, mo.ScoringSystem)
    return mo.ScoringSystem(scores.X, scores.y, C0=0.001, loss="logistic")


def _few(n: int) -> mo.Model:
    return mo.Margin(*_points(n, 60), "squared-hinge", subject_to=[mo.at_most(8).nonzero])


#: Solver, its model on n points, n.
NATIVE: dict[str, tuple[State, int]] = {
    **dict.fromkeys(("auto-simplex", "smo", "fw", "mfw", "pairwise-fw", "blended-pairwise-fw"), (_balls, 1500)),
    **dict.fromkeys(("cvm", "pga"), (_balls, 1500)),
    "smo-box": (lambda n: mo.L1SVMDual(*_points(n, 30), C=1e4, kernel=mo.RBF(0.1)), 1500),
    "boxqp": (lambda n: NonparallelSVM(*_classes(n), 1, c=1e3), 1200),
    "conic-ipm": (lambda n: mo.ConicSVM(*_points(n, max(n // 50, 2)), kappa=0.1), 1500),
    "conic-factored": (lambda n: mo.ConicSVM(*_points(n, max(n // 50, 2)), kappa=0.1), 1500),
    "maxmin": (lambda n: mo.MaxMinSVM(*_points(n, 10), C=1e3), 1000),
    "kernel-npsvcpp": (lambda n: mo.ChebyshevNPSVC(*_classes(n)), 1500),
    "alternating": (lambda n: mo.ChebyshevNPSVC(*_apart(n)), 1500),
    "npsvc-mm": (lambda n: NonparallelSVM(*_classes(n), 1, loss="capped", epsilon=0.3), 1500),
    "margin-bb": (lambda n: mo.RampSVM(*_points(n, 4), lam=1.0), 150),
    "ramp-bb": (lambda n: mo.Margin(*_points(n, 10), mo.margin.Ramp(2, 2), "l1"), 100),
    "supports-bb": (_scores, 200),
    "risk-bb": (_risks, 200),
    "sparse-bb": (_few, 600),
    "stiefel-bb": (_stiefel, 500),
    "gpi": (_stiefel, 500),
    "gpi-momentum": (_stiefel, 500),
    "zero-one-bb": (lambda n: mo.ZeroOneSVM(*_points(n, max(n // 10, 60)), lam=1.0), 2000),
}

#: Others, which are stopped at their own clock, left, or ended in a process of their own.
FOREIGN: dict[str, tuple[State, int]] = {
    "clarabel": (_balls, 900),
    "scs": (lambda n: mo.HingeSVM(*_points(n, max(n // 200, 2)), lam=1.0), 10_000),
    "osqp": (lambda n: mo.HingeSVM(*_points(n, max(n // 200, 2)), lam=1.0), 6_000),
    "highs": (lambda n: mo.HingeSVM(*_points(n, max(n // 200, 2)), lam=1.0), 10_000),
    **dict.fromkeys(("piqp", "proxqp", "quadprog", "daqp"), (_balls, 2000)),
    "scip": (lambda n: mo.HingeSVM(*_points(n, max(n // 200, 2)), lam=1.0), 10_000),
}


@pytest.fixture(autouse=True)
def alone() -> Iterator[None]:
    """One thread in BLAS, for each counts; a call that is left has returned before the next test."""
    with threadpool_limits(1):
        yield
    for thread in threading.enumerate():
        if thread.name == "marginopt: a solver's call":
            thread.join()


def test_every_native_solver_has_a_case() -> None:
    names = {name for name, solver in all_solvers().items() if isinstance(solver, Algorithm) and not solver.info.package}
    assert names <= set(NATIVE), names - set(NATIVE)


def allowed(limit: float) -> float:
    """Seconds of a run that has heard its limit."""
    return 1.1 * limit + 5.0 * max(machine_slowdown(), 1.0)


@pytest.mark.parametrize("name", [*part(NATIVE, 10), *part(FOREIGN, 6)])
def test_a_solver_ends_soon_after_its_time_limit(name: str) -> None:
    state, n = {**NATIVE, **FOREIGN}[name]
    if name in NATIVE and get_solver(name).compiles:
        mo.warm_up(name)
    mo.solve(state(40), name, time_limit=5.0)  # compiled code is loaded
    model = state(n)
    short = mo.solve(model, name, tol=1e-13, time_limit=SHORT)
    assert short.status is Status.TIME_LIMIT, short
    begin = time.process_time()
    result = mo.solve(model, name, tol=1e-13, time_limit=LIMIT)
    spent = time.process_time() - begin
    assert spent <= allowed(LIMIT), f"{spent:.2f} s, {result.status.value}, {result.evidence}"
    if result.claim.native_status == ABANDONED_STATUS:
        assert not result.values and result.certificate is None and result.details["abandoned"]


@pytest.mark.parametrize(("n", "limit"), [(600, 1.0), (1000, 0.3), (1000, 1.0)])
def test_nodes_of_the_conflict_search_that_take_long_end_at_the_limit(n: int, limit: float) -> None:
    """A round of 12 nodes took 0.55 s at 1,000 x 100, a neighbourhood 2 s at 600 x 60: how many are begun follows their pace."""
    model = NATIVE["zero-one-bb"][0](n)
    mo.solve(NATIVE["zero-one-bb"][0](40), "zero-one-bb", time_limit=5.0)
    begin = time.process_time()
    assert mo.solve(model, "zero-one-bb", tol=1e-13, time_limit=limit).status is Status.TIME_LIMIT
    assert time.process_time() - begin <= allowed(limit)


def test_a_first_majorant_ends_at_the_time_limit() -> None:
    """The convex problem that the first start comes from took 25 s and more of a limit of 0.3 s: it had no deadline."""
    X, _ = _points(900, 150)
    model = NonparallelSVM(X, np.arange(900) % 3, 1, loss="capped", epsilon=0.3)
    mo.solve(NATIVE["npsvc-mm"][0](40), "npsvc-mm")
    begin = time.process_time()
    assert mo.solve(model, "npsvc-mm", tol=1e-13, time_limit=LIMIT).status is Status.TIME_LIMIT
    assert time.process_time() - begin <= allowed(LIMIT)


def test_a_step_that_would_end_after_the_limit_is_not_begun() -> None:
    """A Newton step of order 6,000 takes many seconds; the start is feasible and has a bound, and is the answer."""
    view = mo.ConicSVM(*_points(80, 4), kappa=0.1).view(ConicProblem)
    assert view is not None
    state = ConicIPM().init(view, Options(time_limit=LIMIT), np.random.default_rng(0))
    state.step_seconds = 10.0
    assert ConicIPM().advance(state, 0.05) is Outcome.TIME_LIMIT
    assert state.iteration == 0 and np.isfinite(ConicIPM().measure(state).bound)


def test_multipliers_over_exponential_cones_are_sought_within_the_limit() -> None:
    """Gurobi took 12.8 s for 2: its answer has no multipliers, and least squares over exponential cones looked at no clock."""
    X, y = _points(40, 4)
    model = mo.Margin(X, y, "exponential", "half-l2", sample_weight=1.0)
    solver, options = get_solver("clarabel"), Options(time_limit=LIMIT)
    answer = replace(solver.run(model, Options()), multipliers=None, reduced=None)
    judge(model, solver, answer, Options(time_limit=0.01), OPEN_LICENCE)  # what is imported and compiled is there
    begin = time.process_time()
    judge(model, solver, answer, options, OPEN_LICENCE)
    assert time.process_time() - begin <= allowed(LIMIT)


def test_a_call_is_left_and_what_it_raises_is_raised() -> None:
    begin = time.perf_counter()
    release = threading.Event()
    with pytest.raises(CallTimeout):
        run_with_timeout(release.wait, Options(time_limit=0.05), begin)
    release.set()
    assert run_with_timeout(lambda: 3, Options(), begin) == 3
    assert run_with_timeout(lambda: 4, Options(time_limit=5.0), begin) == 4
    with pytest.raises(ZeroDivisionError):
        run_with_timeout(lambda: 1 // 0, Options(time_limit=5.0), time.perf_counter())


def test_a_result_says_that_its_solver_was_late() -> None:
    answer = Answer(Status.OPTIMAL, build_seconds=0.4, solve_seconds=1.0)
    remark = time_limit_remark(answer, Options(time_limit=0.5), "one factorisation")
    assert remark == "took 1.4 s for a time limit of 0.5 s: it does not look at the clock in one factorisation"
    assert not time_limit_remark(answer, Options(time_limit=1.0), "one factorisation") and not time_limit_remark(
        answer, Options(), ""
    )


@pytest.mark.parametrize("name", ["scip", "daqp", "quadprog"])
def test_matrices_are_factored_within_the_limit_too(name: str) -> None:
    """On 5,000 points SCIP took 3 s of a processor more than a limit of 1 s, DAQP 2: they were not called yet."""
    model = _balls(PANEL + 100)
    result = mo.solve(model, name, time_limit=SHORT)
    assert result.status is Status.TIME_LIMIT and result.claim.native_status == NOT_CALLED
    assert result.details["abandoned"] and not result.values
    quadratic = model.form.quadratic
    assert quadratic is not None and "materialised" not in vars(quadratic)
    with pytest.raises(UnsupportedModelError):  # a refusal is one whatever the limit is
        mo.solve(mo.ZeroOneSVM(*_points(30, 3), lam=1.0), "clarabel", time_limit=SHORT)


class Asked(Backend):
    """A solver that keeps the options that it is called with."""

    info = SolverInfo(name="asked", summary="keeps its options", reads=frozenset(Feature))

    def __init__(self) -> None:
        self.options = Options()

    def version(self) -> str:
        """Return no version."""
        return ""

    def solve_form(self, form: StandardForm, options: Options) -> Answer:
        """Keep the options."""
        self.options = options
        return Answer(Status.TIME_LIMIT)


def test_a_solve_within_a_computation_has_the_time_that_is_left_of_it() -> None:
    model, solver = mo.HingeSVM(*_points(30, 3), lam=1.0), Asked()
    for seconds, limit in ((1000.0, None), (1000.0, 5000.0), (-1.0, None)):
        with deadline(limit_clock() + seconds):
            mo.solve(model, solver, time_limit=limit)
        assert solver.options.time_limit is not None and 0.0 < solver.options.time_limit <= max(seconds, 1e-3)
    mo.solve(model, solver)
    assert solver.options.time_limit is None


def test_a_relaxation_is_made_within_the_limit() -> None:
    """Rounds of triangles were solved without a limit: on 220 points a row of a gap report did not end."""
    model = mo.ZeroOneSVM(*_points(12, 2), lam=1.0)
    with pytest.raises(SolverError):
        mo.relax(model, Products(rounds=10), time_limit=SHORT)
    assert mo.relax(model, Products(rounds=1), time_limit=600.0).result.solved


def test_a_left_call_does_not_hold_a_path_to_its_model() -> None:
    """The model of a call that was left is not updated: the next value of the path builds its own."""
    X, y = _points(10_000, 50)
    path = mo.path(mo.HingeSVM(X, y, lam=1.0), "lam", [1.0, 2.0], solver="scs", time_limit=LIMIT)
    assert [r.status for r in path] == [Status.TIME_LIMIT] * 2
    assert all(
        r.update is None or r.update.kind is not UpdateKind.UPDATED for r in path if r.claim.native_status == ABANDONED_STATUS
    )
