"""Messages while a fit takes long, while loops compile, and in a log of many events."""

from __future__ import annotations

import io
import logging
import re
import threading
import time
import warnings
from collections.abc import Iterator
from typing import Any

import pytest
from data import clouds
from sklearn.exceptions import ConvergenceWarning

import marginopt as mo
from marginopt.estimators import training
from marginopt.solvers.interface.compile_times import CompileClock, compile_clock
from marginopt.status_line import StatusLine, announce_compilations

X, y = clouds(0, 20)


@pytest.fixture
def nothing_said() -> Iterator[None]:
    """A process in which no fit has said what it waits for."""
    training._LOGGED.clear()
    yield
    training._LOGGED.clear()


@pytest.fixture
def slow_solves(nothing_said: None, monkeypatch: pytest.MonkeyPatch) -> None:
    """Solves that take longer than the delay, which is a few hundredths of a second here."""
    quick = training.solve_problem

    def slow(*problem: Any) -> Any:
        time.sleep(0.2)
        return quick(*problem)

    monkeypatch.setattr(training, "solve_problem", slow)
    monkeypatch.setattr(training, "LOG_AFTER_SECONDS", 0.02)


@pytest.mark.usefixtures("slow_solves")
def test_a_fit_that_takes_long_says_once_what_it_waits_for(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING, "marginopt"):
        for _ in range(2):
            mo.estimators.HingeSVC(solver="clarabel").fit(X, y)
    (record,) = caplog.records
    assert record.name == "marginopt" and record.args is not None and "clarabel" in record.args


@pytest.mark.usefixtures("slow_solves")
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("kind", ["HingeSVC", "RampSVC", "ZeroOneSVC"])
def test_the_message_has_the_solver_as_the_user_wrote_it(kind: str, caplog: pytest.LogCaptureFixture) -> None:
    classifier = getattr(mo.estimators, kind)(time_limit=1.0)
    if classifier.solver == "auto":
        classifier.set_params(solver="scip")
    with caplog.at_level(logging.WARNING, "marginopt"):
        classifier.fit(X, y)
    assert caplog.records and all(record.args[1] == classifier.solver for record in caplog.records)  # type: ignore[index]


@pytest.mark.usefixtures("slow_solves")
def test_a_quick_fit_and_one_that_shows_its_progress_say_nothing(
    caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    with caplog.at_level(logging.WARNING, "marginopt"):
        mo.estimators.HingeSVC(verbose=True).fit(X, y)
        monkeypatch.setattr(training, "LOG_AFTER_SECONDS", 60.0)
        mo.estimators.HingeSVC().fit(X, y)
    assert caplog.records == []


@pytest.mark.usefixtures("nothing_said")
@pytest.mark.parametrize("info", mo.estimators.table().values(), ids=lambda info: info.name)
def test_every_estimator_says_what_it_waits_for(
    info: mo.estimators.EstimatorInfo, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With a clock on which the ten seconds are over as soon as a solve begins; the remedy is a parameter of the estimator."""

    class Over(threading.Timer):
        def start(self) -> None:
            self.function()

    monkeypatch.setattr(training, "LOG_AFTER_SECONDS", 10.0)
    monkeypatch.setattr(training.threading, "Timer", Over)
    estimator = info.make()
    target = {"regressor": X[:, 1], "outlier_detector": None}.get(getattr(estimator, "_estimator_type", ""), y)
    with caplog.at_level(logging.WARNING, "marginopt"), warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        estimator.fit(X[:, 1:], target)
    records = [record for record in caplog.records if record.name == "marginopt"]
    assert records
    for record in records:
        (parameter,) = re.findall(r"(\w+)= ", record.getMessage())
        assert parameter in estimator.get_params()


def test_compiling_is_said_in_a_pipe_where_somebody_reads_it(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("marginopt.solvers.interface.compile_times.MESSAGE_DELAY", 0.0)

    def run() -> str:
        with compile_clock("any", False) as clock:
            for _ in range(2):
                clock.on_start(None)
                clock.on_end(None)
        return capsys.readouterr().err

    assert run() == "" and CompileClock.outermost is None
    with announce_compilations():
        assert "any" in run()
    with announce_compilations(False):
        assert run() == ""
    assert not StatusLine.stderr_is_read


def test_events_outside_a_terminal_are_a_line_a_second_and_the_last_one(monkeypatch: pytest.MonkeyPatch) -> None:
    now = [0.0]
    monkeypatch.setattr(time, "monotonic", lambda: now[0])
    log = io.StringIO()
    line = StatusLine(log)
    for k in range(26):
        now[0] = 0.1 * k + 10.0
        line.show_event(f"event {k}")
    line.end()
    line.end()
    assert log.getvalue().splitlines() == ["event 0", "event 10", "event 20", "event 25"]
