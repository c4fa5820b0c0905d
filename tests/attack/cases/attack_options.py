"""Options that nobody would write: limits, tolerances, seeds and threads of every size and type, for every solver that is here.

A program of known optimum is solved with one to four of them. Whatever they are: one of our own errors, or a result whose optimum
and proved bound are true to the tolerance that was asked for.
"""

from __future__ import annotations

import math
import time
from fractions import Fraction
from functools import lru_cache
from typing import Any

import numpy as np
from programs import knapsack

import marginopt as mo
from marginopt.errors import MarginoptError
from marginopt.models.model import Model, as_model
from marginopt.solvers import Status
from marginopt.solvers.registry import get_solver

_INF = math.inf
#: Values that are limits, numbers, or nothing of the kind.
ODD: tuple[Any, ...] = (
    10**400, -(10**400), 1e308, 1e-300, 5e-324, _INF, -_INF, math.nan, 0, 0.0, -0.0, -1, 1, 1.5, 2**31, 2**63, 2**70, True, False,
    None, "5", "", b"1", [], [1], {}, (1,), Fraction(1, 3), Fraction(10**40), np.float32(0.5), np.int64(7), np.array(2.0),
    np.array([1.0, 2.0]), np.nan, 1j, object(), max,
)  # fmt: skip
NAMES = ("time_limit", "iteration_limit", "node_limit", "memory_limit", "tol", "seed", "threads", "verbose", "start", "progress")
SOLVERS = ("auto", "clarabel", "highs", "scip", "gurobi", "osqp", "scs", "piqp", "zero-one-bb", "margin-bb", "fw", "conic-ipm")
#: Seconds after which a solve of these small programs hangs, and the relative difference that is a fault beside tol.
_LONG, _WRONG = 60.0, 1e-5


@lru_cache(maxsize=1)
def _problems() -> tuple[tuple[Model, float], ...]:
    rng = np.random.default_rng(3)
    y = np.where(np.arange(10) % 2, 1.0, -1.0)
    X = np.column_stack([np.ones(10), rng.normal(size=(10, 2)).round(2) + 0.4 * y[:, None]])
    models = (
        mo.HingeSVM(X, y, lam=1.0), mo.ZeroOneSVM(X, y, lam=0.5), mo.Margin(X, y, "hinge", "l1"), as_model(knapsack()),
        mo.ConvexHullsDual(X, y), mo.Margin(X, y, "zero-one", "half-l2"),
    )  # fmt: skip
    return tuple((model, mo.solve(model, tol=1e-8).objective) for model in models)


def attack(number: int) -> tuple[str, str]:
    """One program, one solver that takes it, some odd options."""
    rng = np.random.default_rng([50, number])
    model, optimum = _problems()[number % len(_problems())]
    solver = SOLVERS[int(rng.integers(len(SOLVERS)))]
    chosen = rng.choice(len(NAMES), int(rng.integers(1, 5)), replace=False)
    options = {NAMES[k]: ODD[int(rng.integers(len(ODD)))] for k in chosen}
    what = f"{number}: {model.name} by {solver}, {', '.join(f'{name} {str(value)[:12]}' for name, value in options.items())}"
    begin = time.perf_counter()
    try:
        if solver != "auto" and get_solver(solver).obstacle(model) is not None:
            solver = "auto"
        result = mo.solve(model, solver, **options)
    except MarginoptError:
        return what, ""
    except Exception as error:  # noqa: BLE001 - what is not ours is the fault that is looked for
        return what, f"{type(error).__name__}: {error}"
    if time.perf_counter() - begin > _LONG:
        return what, f"hangs for {time.perf_counter() - begin:.0f} s"
    return what, _compared(result, optimum)


def _compared(result: Any, optimum: float) -> str:
    str(result)
    allowed = _WRONG * max(1.0, abs(optimum))
    if result.bound_kind == "proved" and result.sign * (result.bound - optimum) > allowed:
        return f"bound {result.bound} is proved, the optimum is {optimum}"
    if result.status in (Status.INFEASIBLE, Status.UNBOUNDED):
        return f"claims {result.status.value}, the optimum is {optimum}"
    largest = max(abs(optimum), abs(result.objective))
    if result.status is Status.OPTIMAL and abs(result.objective - optimum) > max(allowed, 2.0 * result.tol * largest):
        return f"optimal at {result.objective}, the optimum is {optimum}"
    return ""
