"""Fixtures that every test may use. All are session-scoped, so Hypothesis tests can take them."""

from __future__ import annotations

import signal
from collections.abc import Callable, Generator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import settings

from marginopt.models.program.cones import PSD, Cone, Nonnegative, RotatedSecondOrder, SecondOrder, Zero
from marginopt.models.program.form import StandardForm
from marginopt.models.program.svec import smat
from marginopt.solvers.judging.result import Result

# A shell that starts the suite in the background has it ignore SIGINT, and so would every process it starts: the tests of Ctrl-C
# need the default.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

# Timings on shared machines vary by orders of magnitude; the same examples in every run.
settings.register_profile("marginopt", deadline=None, derandomize=True, max_examples=50)
settings.load_profile("marginopt")


#: Test functions that take long, as measured by ``make durations``.
SLOW = frozenset(Path(__file__).with_name("slow.txt").read_text(encoding="utf-8").split())


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark what slow.txt names: ``make quick`` leaves it out."""
    for item in items:
        if item.nodeid.split("[")[0] in SLOW:
            item.add_marker(pytest.mark.slow)


def run_to_end(steps: Generator[Any, None, Any]) -> Any:
    """Run an algorithm that works in pieces (`Steps`) to its end; what it returns."""
    while True:
        try:
            next(steps)
        except StopIteration as done:
            return done.value


@pytest.fixture(scope="session")
def drain() -> Callable[[Generator[Any, None, Any]], Any]:
    """`run_to_end`."""
    return run_to_end


@dataclass(frozen=True)
class TinyPoints:
    """A labelled data set; the first column of X is constant."""

    X: np.ndarray
    y: np.ndarray

    @property
    def A(self) -> np.ndarray:
        """Signed rows."""
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


def outside(cone: Cone, v: np.ndarray) -> float:
    """Violation of a cone from its definition, without the projections of `marginopt.models.program.cones`."""
    if v.size == 0:
        return 0.0
    rows = v.reshape(cone.count, cone.dim)
    if isinstance(cone, Zero):
        return float(np.abs(v).max())
    if isinstance(cone, Nonnegative):
        return float(max(-v.min(), 0.0))
    if isinstance(cone, SecondOrder):
        return float(max((np.linalg.norm(rows[:, 1:], axis=1) - rows[:, 0]).max(), 0.0))
    if isinstance(cone, RotatedSecondOrder):
        a, b, c = rows[:, 0], rows[:, 1], rows[:, 2:]
        norm = np.sqrt((c * c).sum(axis=1) + 0.5 * (a - b) ** 2)  # 2ab ≥ ||c||² is ||(c, (a-b)/√2)|| ≤ (a+b)/√2
        return float(max((norm - (a + b) / np.sqrt(2)).max(), 0.0))
    assert isinstance(cone, PSD)
    return float(max(-np.linalg.eigvalsh(smat(rows)).min(), 0.0))


def check_kkt(form: StandardForm, result: Result, tol: float) -> None:
    """Assert the optimality conditions in the documented signs, from the form's data and the result's numbers alone.

    Lagrangian f(x) - Σ<z_k, F_k x + g_k> - <ζ, x>: P x + q = ΣF_k'z_k + ζ, F_k x + g_k in K_k, z_k in K_k*, complementarity,
    ζ_j ≥ 0 where only the lower bound can be active, ≤ 0 where only the upper one can.
    """
    assert result.multipliers is not None
    x = form.join(result.values)
    zeta = np.zeros(form.n) if result.reduced is None else form.join(result.reduced)
    gradient = form.q.copy()
    if form.quadratic is not None:
        gradient = gradient + form.quadratic.materialised @ x
    scale = 1.0 + np.abs(gradient).max(initial=0.0) + abs(form.objective(x))
    residual = gradient - zeta
    for c in form.constraints:
        z = np.asarray(result.multipliers[c.label])
        value = c.F @ x + c.g
        size = 1.0 + max(np.abs(value).max(initial=0.0), np.abs(z).max(initial=0.0))
        assert outside(c.cone, value) <= tol * size, f"{c.label} is violated"
        if not isinstance(c.cone, Zero):  # the dual of {0} is everything
            assert outside(c.cone, z) <= tol * size, f"the multipliers of {c.label} leave the dual cone"
        assert abs(z @ value) <= tol * scale * size, f"{c.label} is not complementary"
        residual = residual - c.F.T @ z
    assert np.abs(residual).max() <= tol * scale, "stationarity fails"
    for bound, price in ((form.lower, np.maximum(zeta, 0.0)), (form.upper, np.maximum(-zeta, 0.0))):
        finite = np.isfinite(bound)
        assert price[~finite].max(initial=0.0) <= tol * scale, "a missing bound has a price"
        slack = np.abs(x - np.where(finite, bound, x))
        assert (price * slack).max(initial=0.0) <= tol * scale * (1.0 + slack.max(initial=0.0)), "a bound is not complementary"
    assert (x >= form.lower - tol * (1 + np.abs(x))).all()
    assert (x <= form.upper + tol * (1 + np.abs(x))).all()


@pytest.fixture(scope="session")
def assert_kkt() -> Callable[[StandardForm, Result, float], None]:
    """``assert_kkt(form, result, tol)``: the optimality conditions in the documented signs; see `check_kkt`."""
    return check_kkt
