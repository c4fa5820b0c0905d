"""The shared driver, with a fake algorithm: limits, callback, Ctrl-C, trace, parameters, what reaches the algorithm."""

from __future__ import annotations

import dataclasses
import signal
import threading
import time
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np
import pytest
from facts import about

from marginopt.errors import InputError, UnsupportedModelError
from marginopt.models import HingeSVM, L2SVMDual, SimplexQP
from marginopt.models.model import Model
from marginopt.solvers.interface import recorder
from marginopt.solvers.interface.algorithm import Algorithm, Outcome
from marginopt.solvers.interface.recorder import ProgressState
from marginopt.solvers.interface.solver import Gives, SolverInfo
from marginopt.solvers.records import Answer, Options, Status, Trace, TraceRow, relative_gap
from marginopt.solvers.solve import solve_problem


@dataclass
class State:
    """The state of the fake algorithm."""

    view: SimplexQP
    options: Options
    draw: float
    calls: int = 0
    budgets: list[float] = field(default_factory=list)


@dataclass(frozen=True)
class Counter(Algorithm[SimplexQP, State]):
    """Halves its gap at every call of ``advance`` and ends with ``end`` after ``steps``."""

    steps: int = 10
    end: Outcome = Outcome.CONVERGED
    sleep: float = 0.0
    interrupt_at: int = -1
    fail_at: int = -1
    error: type[Exception] = RuntimeError

    info: ClassVar[SolverInfo] = SolverInfo(name="counter", summary="counts", views=(SimplexQP,))
    seen: ClassVar[list[State]] = []

    def init(self, view: SimplexQP, options: Options, rng: np.random.Generator) -> State:
        """Start from the uniform weights."""
        state = State(view, options, float(rng.random()))
        self.seen.append(state)
        return state

    def advance(self, state: State, seconds: float) -> Outcome:
        """One step."""
        state.calls += 1
        state.budgets.append(seconds)
        if state.calls == self.interrupt_at:
            signal.raise_signal(signal.SIGINT)
        if state.calls == self.fail_at:
            raise self.error("broken step")
        time.sleep(self.sleep)
        return self.end if state.calls >= self.steps else Outcome.RUNNING

    def measure(self, state: State) -> ProgressState:
        """A gap of 2^-calls."""
        return ProgressState(state.calls, 1.0, 1.0 - 0.5**state.calls, active=state.calls, columns=2 * state.calls, step="toward")

    def answer(self, state: State) -> Answer:
        """The uniform weights."""
        n = state.view.n
        return Answer(values={"a": np.full(n, 1.0 / n)}, nodes=7, details={"note": "fake"})


@pytest.fixture
def problem(overlapping: Any) -> Model:
    """A model with a simplex view."""
    return L2SVMDual(overlapping.X, overlapping.y)


ENDS = [
    (Outcome.CONVERGED, Status.OPTIMAL),
    (Outcome.STALLED, Status.STALLED),
    (Outcome.STATIONARY, Status.STATIONARY),
    (Outcome.INFEASIBLE, Status.INFEASIBLE),
    (Outcome.ITERATION_LIMIT, Status.ITERATION_LIMIT),
    (Outcome.NODE_LIMIT, Status.NODE_LIMIT),
    (Outcome.MEMORY_LIMIT, Status.MEMORY_LIMIT),
    (Outcome.TIME_LIMIT, Status.TIME_LIMIT),
    (Outcome.UNWRITTEN, Status.INTERRUPTED),
]


def test_every_outcome_but_running_has_a_status() -> None:
    assert {outcome for outcome, _ in ENDS} | {Outcome.RUNNING} == set(Outcome)


@pytest.mark.parametrize(("outcome", "status"), ENDS)
def test_outcomes(problem: Model, outcome: Outcome, status: Status) -> None:
    raw = Counter(steps=3, end=outcome).run(problem, Options())
    assert raw.status is status
    assert raw.native_status == outcome.name.lower()
    assert (raw.iterations, raw.nodes, raw.objective) == (3, 7, 1.0)
    assert raw.details == {"note": "fake"}
    assert [row.iteration for row in raw.trace] == [0, 1, 2, 3]
    assert raw.values is not None
    assert raw.solve_seconds >= 0


def test_trace_rows(problem: Model) -> None:
    trace = Counter(steps=4).run(problem, Options()).trace
    np.testing.assert_allclose(trace.column("gap"), [1, 0.5, 0.25, 0.125, 0.0625])
    np.testing.assert_array_equal(trace.column("active"), range(5))
    np.testing.assert_array_equal(trace.column("columns"), [0, 2, 4, 6, 8])
    assert (np.diff(trace.column("seconds")) >= 0).all()
    assert {row.step for row in trace} == {"toward"}


@pytest.mark.parametrize("steps", [100, 5000, 20_000])
def test_a_long_trace_is_thinned_evenly(problem: Model, steps: int) -> None:
    trace = Counter(steps=steps).run(problem, Options()).trace
    iterations = trace.column("iteration")
    assert len(trace) <= 4097
    assert iterations[0] == 0
    assert iterations[-1] == steps  # the last row is always there
    spacing = set(np.diff(iterations[:-1]).tolist())
    assert len(spacing) == 1  # every 1st, 2nd, 4th, ... row
    assert len(trace) >= min(steps, 2048)


def test_time_limit(problem: Model) -> None:
    raw = Counter(steps=10**9, sleep=0.01).run(problem, Options(time_limit=0.1))
    assert raw.status is Status.TIME_LIMIT
    assert raw.native_status == "time_limit"
    assert raw.values is not None
    assert raw.iterations is not None
    assert raw.iterations >= 1
    # the budget shrinks to what is left, and is never more than the usual one
    budgets = Counter.seen[-1].budgets
    assert max(budgets) <= 0.05
    assert min(budgets) <= budgets[0]
    assert min(budgets) > 0


def test_convergence_wins_over_the_limit(problem: Model) -> None:
    raw = Counter(steps=1, sleep=0.02).run(problem, Options(time_limit=0.01))
    assert raw.status is Status.OPTIMAL


def test_callback_stops(problem: Model) -> None:
    rows: list[TraceRow] = []

    def stop(row: TraceRow) -> bool:
        rows.append(row)
        return row.iteration >= 3

    raw = Counter(steps=100).run(problem, Options(callback=stop))
    assert raw.status is Status.INTERRUPTED
    assert [row.iteration for row in rows] == [0, 1, 2, 3]
    assert raw.iterations == 3
    assert Counter().run(problem, Options(callback=lambda row: None)).status is Status.OPTIMAL
    at_once = Counter().run(problem, Options(callback=lambda row: True))
    assert (at_once.status, at_once.iterations) == (Status.INTERRUPTED, 0)


def test_an_error_in_the_callback_is_the_caller_s(problem: Model) -> None:
    def fail(row: TraceRow) -> None:
        raise KeyError("mine")

    before = signal.getsignal(signal.SIGINT)
    with pytest.raises(KeyError, check=lambda error: error.args == ("mine",)):
        Counter().run(problem, Options(callback=fail))
    assert signal.getsignal(signal.SIGINT) is before


def test_ctrl_c_returns_the_point_so_far(problem: Model) -> None:
    before = signal.getsignal(signal.SIGINT)
    raw = Counter(steps=100, interrupt_at=4).run(problem, Options())
    assert raw.status is Status.INTERRUPTED
    assert raw.iterations == 4
    assert raw.values is not None
    assert signal.getsignal(signal.SIGINT) is before


def test_the_second_ctrl_c_raises(problem: Model) -> None:
    @dataclass(frozen=True)
    class Deaf(Counter):
        def advance(self, state: State, seconds: float) -> Outcome:
            signal.raise_signal(signal.SIGINT)
            signal.raise_signal(signal.SIGINT)
            raise AssertionError("not reached")

    before = signal.getsignal(signal.SIGINT)
    with pytest.raises(KeyboardInterrupt):
        Deaf().run(problem, Options())
    assert signal.getsignal(signal.SIGINT) is before


@pytest.mark.parametrize("together", [True, False])
def test_two_ctrl_c_that_belong_together_end_the_loop(problem: Model, monkeypatch: pytest.MonkeyPatch, together: bool) -> None:
    """A search or a comparison solves again and again: one Ctrl-C ends one solve."""
    monkeypatch.setattr(recorder, "_AGAIN", np.inf if together else 0.0)
    before = signal.getsignal(signal.SIGINT)
    assert Counter(steps=100, interrupt_at=4).run(problem, Options()).status is Status.INTERRUPTED
    assert Counter(steps=5).run(problem, Options()).status is Status.OPTIMAL
    if together:
        with pytest.raises(KeyboardInterrupt):
            Counter(steps=100, interrupt_at=4).run(problem, Options())
    else:
        assert Counter(steps=100, interrupt_at=4).run(problem, Options()).status is Status.INTERRUPTED
    assert signal.getsignal(signal.SIGINT) is before


@pytest.mark.parametrize("call", [1, 3])
def test_a_factorisation_that_fails_is_an_answer_without_a_point(problem: Model, call: int) -> None:
    answer = Counter(fail_at=call, error=np.linalg.LinAlgError).run(problem, Options())
    assert answer.status is Status.FAILED and answer.values is None and answer.native_status == "broken step"


def test_numbers_that_overflow_in_the_answer_are_an_answer_without_a_point(problem: Model) -> None:
    class Overflow(Counter):
        def answer(self, state: State) -> Answer:
            raise np.linalg.LinAlgError("overflow")

    answer = Overflow().run(problem, Options())
    assert answer.status is Status.FAILED and answer.values is None and answer.native_status == "overflow"


def test_the_handler_is_restored_after_a_failure(problem: Model) -> None:
    before = signal.getsignal(signal.SIGINT)
    with pytest.raises(RuntimeError, check=lambda error: error.args == ("broken step",)):
        Counter(fail_at=2).run(problem, Options())
    assert signal.getsignal(signal.SIGINT) is before


def test_other_threads_can_solve(problem: Model) -> None:
    rows: list[Status] = []
    thread = threading.Thread(target=lambda: rows.append(Counter().run(problem, Options()).status))
    thread.start()
    thread.join(timeout=30)
    assert rows == [Status.OPTIMAL]


def test_what_reaches_the_algorithm(problem: Model) -> None:
    start = {"a": np.full(16, 1 / 16)}
    Counter().run(problem, Options(tol=1e-3, seed=5, start=start, iteration_limit=9))
    state = Counter.seen[-1]
    assert state.options.tol == 1e-3
    assert state.options.tolerance(1e-6) == 1e-3
    assert state.options.iteration_limit == 9
    assert state.options.start is start
    assert state.draw == np.random.default_rng(5).random()
    Counter().run(problem, Options(seed=5))
    assert Counter.seen[-1].draw == state.draw


def test_parameters_are_native_options(problem: Model) -> None:
    assert Counter().run(problem, Options(native={"steps": 2})).iterations == 2
    with pytest.raises(InputError, check=about("step")):
        Counter().run(problem, Options(native={"step": 2}))
    original = Counter()
    assert original.with_native_options({"steps": 2}) == dataclasses.replace(original, steps=2)
    assert original.steps == 10
    assert original.with_native_options({}) is original


def test_progress_is_lines_on_stderr(problem: Model, capsys: pytest.CaptureFixture[str]) -> None:
    Counter(steps=3, sleep=0.25).run(problem, Options(progress=True))
    captured = capsys.readouterr()
    assert captured.out == ""
    assert "\r" not in captured.err and "\x1b" not in captured.err  # nobody looks
    assert all(line.startswith("counter:") for line in captured.err.splitlines())
    assert "iteration 3" in captured.err.splitlines()[-1]
    Counter().run(problem, Options())
    assert capsys.readouterr().err == ""


def test_wrong_claims_of_an_algorithm_are_found(problem: Model) -> None:
    """The fake ends CONVERGED at the uniform weights, which are not optimal."""
    result = solve_problem(problem, Counter(), Options())
    assert result.status is Status.INACCURATE
    assert result.claim.status is Status.OPTIMAL
    assert result.gap > 0.1
    assert result.bound_kind == "proved"
    assert result.version
    assert result.values["a"].sum() == pytest.approx(1.0)


def test_models_without_the_view(overlapping: Any) -> None:
    hinge = HingeSVM(overlapping.X, overlapping.y)
    with pytest.raises(
        UnsupportedModelError,
        check=about("counter"),
    ):
        solve_problem(hinge, Counter(), Options())
    with pytest.raises(UnsupportedModelError, check=about("counter")):
        solve_problem(hinge.form, Counter(), Options())
    with pytest.raises(UnsupportedModelError, check=about("counter")):
        Counter().run(hinge, Options())


# -- traces -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("primal", "bound", "gap"),
    [
        (10.0, 9.0, 0.1),
        (-9.0, -10.0, 0.1),
        (1.0, -1.0, 2.0),
        (0.0, 0.0, 0.0),
        (0.0, -1.0, 1.0),
        (9.0, 10.0, -0.1),
        (1.0, -np.inf, np.inf),
    ],
)
def test_relative_gap(primal: float, bound: float, gap: float) -> None:
    assert relative_gap(primal, bound) == pytest.approx(gap)


@pytest.mark.parametrize(("primal", "bound"), [(np.nan, 1.0), (1.0, np.nan), (np.inf, 1.0), (np.inf, -np.inf), (1.0, np.inf)])
def test_no_gap(primal: float, bound: float) -> None:
    assert np.isnan(relative_gap(primal, bound))


def test_trace_access() -> None:
    trace = Trace((TraceRow(0, 0.0, 2.0), TraceRow(1, 0.1, 1.0, 0.9)))
    assert len(trace) == 2
    assert trace[1].gap == pytest.approx(0.1)
    assert np.isnan(trace.column("gap")[0])
    with pytest.raises(KeyError):
        trace.column("step")
    assert repr(Trace()) == "Trace(empty)"
    assert "2 rows; last: iteration 1" in repr(trace)


@dataclass(frozen=True)
class Tireless(Counter):
    """Steps until its budget ends, and reads no limit of iterations."""

    def advance(self, state: State, seconds: float) -> Outcome:
        """Many steps."""
        end = time.perf_counter() + seconds
        while time.perf_counter() < end:
            state.calls += 1
        return Outcome.RUNNING


def test_the_driver_stops_at_the_iteration_limit(problem: Model) -> None:
    raw = Tireless().run(problem, Options(iteration_limit=20, time_limit=60.0))
    assert raw.status is Status.ITERATION_LIMIT
    assert raw.native_status == "iteration_limit"
    raw = Counter(steps=100, end=Outcome.CONVERGED).run(problem, Options(iteration_limit=20))
    assert (raw.status, raw.iterations) == (Status.ITERATION_LIMIT, 20)
    assert Counter.seen[-1].budgets[:3] == pytest.approx([1e-4, 2e-4, 4e-4])


@pytest.mark.parametrize(("method", "value"), [("advance", "done"), ("measure", (1, 2.0, 1.0)), ("answer", np.ones(3))])
def test_a_method_that_returns_another_type(problem: Model, method: str, value: object) -> None:
    broken = type("Broken", (Counter,), {method: lambda self, *arguments: value})
    with pytest.raises(InputError) as error:
        solve_problem(problem, broken(), Options())
    assert error.value.name == method


@pytest.mark.parametrize(
    ("name", "values"),
    [
        ("reads", {"quadratic"}),
        ("reads", "quadratic"),
        ("gives", ["duals"]),
        ("views", "BoxQP"),
        ("views", SimplexQP),
        ("gives", 3),
    ],
)
def test_a_record_holds_members_and_types(name: str, values: Any) -> None:
    with pytest.raises(InputError) as error:
        SolverInfo(name="mine", summary="mine", **{name: values})
    assert error.value.name == name


def test_a_record_takes_any_set() -> None:
    info = SolverInfo(name="mine", summary="mine", views=[SimplexQP], gives={Gives.DUALS})  # type: ignore[arg-type]
    assert info.views == (SimplexQP,)
    assert info.gives == frozenset({Gives.DUALS})
    assert hash(info) is not None
