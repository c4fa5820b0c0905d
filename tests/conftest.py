"""Fixtures for all tests, marks of slow tests, and Hypothesis settings. Fixtures of data are session-scoped, for Hypothesis."""

from __future__ import annotations

import re
import signal
from collections.abc import Callable, Generator, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import blas_threads as blas_threads  # before NumPy
import numpy as np
import pytest
from clusters import DaskCluster, dask_cluster
from effort import trials
from hypothesis import settings

from marginopt.conformance.solver_laws import broken_conditions
from marginopt.models.program.form import StandardForm
from marginopt.solvers.certification.result import Result
from marginopt.solvers.interface.recorder import forget_interrupt

# A shell that starts the suite in the background has it ignore SIGINT, and so would every process it starts: the tests of Ctrl-C
# need the default.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

# Timings on shared machines vary by orders of magnitude; the same examples in every run.
settings.register_profile("marginopt", deadline=None, derandomize=True, max_examples=trials(25, 50))
settings.load_profile("marginopt")


#: Slow test functions (measured by ``make durations``), slow fixtures of modules, and files with slow imports.
SLOW = frozenset(Path(__file__).with_name("slow.txt").read_text(encoding="utf-8").split())


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """Ignore files all of whose tests are slow in ``make quick``: imports are half of the time of the collection."""
    if config.option.markexpr != "not slow" or not collection_path.match("test_*.py"):
        return None
    file = collection_path.relative_to(config.rootpath).as_posix()
    tests = re.findall(r"^ *def (test_\w+)\(", collection_path.read_text(encoding="utf-8"), flags=re.MULTILINE)
    return True if file in SLOW or all(f"{file}::{name}" in SLOW for name in tests) else None


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark the tests in slow.txt and those that use a fixture in it as slow, so that ``make quick`` omits them."""
    for item in items:
        file, function = item.nodeid.split("[")[0].split("::", 1)
        used = item.fixturenames if isinstance(item, pytest.Function) else []
        if any(f"{file}::{name}" in SLOW for name in (function, *used)):
            item.add_marker(pytest.mark.slow)


@pytest.fixture(autouse=True)
def first_interrupt() -> None:
    """Forget earlier interrupts, so that a Ctrl-C counts as the first one: tests send it in quick succession."""
    forget_interrupt()


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[DaskCluster]:
    """A Dask cluster for one module, since its tests kill workers."""
    pytest.importorskip("distributed")
    with dask_cluster(tmp_path_factory.mktemp("dask")) as dask:
        yield dask


@pytest.fixture
def client(cluster: DaskCluster) -> Iterator[Any]:
    """A client of the module's cluster with at least two workers."""
    from distributed import Client

    while len([w for w in cluster.workers if w.poll() is None]) < 2:
        cluster.add()
    with Client(cluster.address, set_as_default=False) as dask_client:
        dask_client.wait_for_workers(2, timeout=60)
        yield dask_client


def run_to_end(steps: Generator[Any, None, Any]) -> Any:
    """Run an algorithm that is a generator of steps to its end; return its result."""
    while True:
        try:
            next(steps)
        except StopIteration as done:
            return done.value


@pytest.fixture(scope="session")
def drain() -> Callable[[Generator[Any, None, Any]], Any]:
    """The function `run_to_end`, as a fixture."""
    return run_to_end


@dataclass(frozen=True)
class TinyPoints:
    """A labelled data set."""

    X: np.ndarray  #: (n, p + 1) points after a column of ones
    y: np.ndarray  #: (n,) labels ±1

    @property
    def A(self) -> np.ndarray:
        """The signed rows y_i x_i."""
        return self.y[:, None] * self.X


def _clouds(seed: int, n: int, p: int, distance: float) -> TinyPoints:
    rng = np.random.default_rng(seed)
    y = np.where(np.arange(n) < n // 2, -1.0, 1.0)
    points = rng.normal(size=(n, p)) + distance * y[:, None] / np.sqrt(p)
    X = np.column_stack([np.ones(n), points])
    X.flags.writeable = y.flags.writeable = False
    return TinyPoints(X, y)


@pytest.fixture(scope="session")
def overlapping() -> TinyPoints:
    """Sixteen points in two features (and a constant) that no hyperplane separates."""
    return _clouds(3, 16, 2, 0.6)


@pytest.fixture(scope="session")
def separable() -> TinyPoints:
    """Twelve points in two features (and a constant) with a wide margin between the classes."""
    return _clouds(5, 12, 2, 4.0)


def check_kkt(form: StandardForm, result: Result, tol: float) -> None:
    """Assert that a result satisfies the optimality conditions within ``tol`` (`marginopt.conformance.solver_laws`)."""
    broken = broken_conditions(form, result, tol)
    assert not broken, "; ".join(broken)


@pytest.fixture(scope="session")
def assert_kkt() -> Callable[[StandardForm, Result, float], None]:
    """The function `check_kkt`, as a fixture."""
    return check_kkt
