"""Bounds and values of `margin-bb` beside optima in rational arithmetic: bound ≤ optimum ≤ value, exactly, and the gap closed.

The data are quarters, so that ties, points on each other, and margins at corners of the loss are common.
"""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from effort import trials
from rational import Compositions, Loss, fractions

import marginopt as mo
from marginopt import margin
from marginopt.models.views import MarginProblem
from marginopt.solvers import Options
from marginopt.solvers.interface.algorithm import Outcome
from marginopt.solvers.margin import MarginBB

pytestmark = pytest.mark.filterwarnings("ignore::marginopt.errors.MarginoptWarning")

NORMS = ("l2", "half-l2", "l1", "elastic-net", "kernel-l1")
Drawn = tuple[mo.Margin, Compositions]


def regularised(rng: np.random.Generator, kind: str, q: int) -> tuple[object, float, np.ndarray | None, float]:
    """A regulariser of q coefficients, and what it says: squares, atoms, and the factor of their norm."""
    mu = float(rng.choice([0.25, 0.5, 1.0, 2.0]))
    match kind:
        case "l2":
            return margin.SquaredNorm(mu), mu, None, 1.0
        case "half-l2":
            return "half-l2", 0.5, None, 1.0
        case "l1":
            return margin.L1(mu), 0.0, np.eye(q), mu
        case "elastic-net":
            return margin.ElasticNet(mu, 0.75), 0.75, np.eye(q), mu
        case _:
            atoms = np.vstack([np.eye(q)[: q - 1], rng.integers(-4, 5, size=(3, q)) / 2.0])
            atoms = atoms if np.linalg.matrix_rank(atoms) == q else np.vstack([atoms, np.eye(q)])
            return margin.KernelWeightsL1(atoms, mu), 0.0, atoms, mu


def drawn(seed: int, kind: str, free: bool, n: int, p: int) -> Drawn:
    """A model, and the same in rationals: unequal costs, some of them 0, and a repeated or an opposite point now and then."""
    rng = np.random.default_rng(seed)
    X = rng.integers(-8, 9, size=(n, p)) / 4.0
    if rng.integers(2):
        X[1] = X[0] * rng.choice([-1.0, 1.0])
    if free or rng.integers(2):
        X[:, 0] = 1.0
    y = np.where(rng.permutation(n) < rng.integers(1, n), 1.0, -1.0)
    costs = rng.integers(0, 9, size=n) / 4.0
    height, width = float(rng.integers(1, 9)) / 4.0, float(rng.integers(1, 13)) / 4.0
    beyond = np.inf if rng.integers(2) else width + float(rng.integers(0, 9)) / 4.0
    part, square, part_rows, mu = regularised(rng, kind, p - free)
    atoms = None if part_rows is None else np.hstack([np.zeros((len(part_rows), int(free))), part_rows])
    model = mo.Margin(X, y, margin.Ramp(height, width, beyond), part, "free" if free else "penalised", costs)  # type: ignore[arg-type]
    squares = np.where(np.arange(p) >= free, square, 0.0)
    return model, Compositions.of(y[:, None] * X, costs, Loss.ramp(height, width, beyond), squares, atoms, mu)


def compare(model: mo.Margin, exact: Compositions) -> None:
    """The engine on the model's view beside the rational optimum, and the model's objective beside the rational one."""
    problem, solver, optimum = model.view(MarginProblem), MarginBB(), exact.optimum()
    assert problem is not None and optimum is not None
    state = solver.init(problem, Options(), np.random.default_rng(0))
    outcome = solver.advance(state, 600.0)
    measured, w = solver.measure(state), solver.answer(state).values["w"]
    assert Fraction(measured.bound) <= optimum
    assert outcome is Outcome.CONVERGED
    value = exact.cost(fractions(w))
    assert measured.objective == pytest.approx(float(value), rel=1e-12, abs=1e-15)
    assert model.objective(w) == pytest.approx(float(value), rel=1e-7, abs=1e-15)  # a kernel's norm is a linear program's value
    assert float(value - Fraction(measured.bound)) <= 1e-6 * float(value)


# -- what the comparison rests on -----------------------------------------------------------------------------------------


def test_the_rational_optimum_of_one_point_is_that_of_a_sheet_of_paper() -> None:
    """min w² + c min{(1 - w)_+, 2}: at w = min{c/2, 1}, value c - c²/4 or 1; given up it costs 2c, never better."""
    for cost in (Fraction(1, 2), Fraction(1), Fraction(3)):
        one = Compositions(((Fraction(1),),), (cost,), (Fraction(1),), Loss.ramp(2.0, 2.0))
        assert one.optimum() == (cost - cost * cost / 4 if cost <= 2 else 1)
    low = Compositions(((Fraction(1),),), (Fraction(3),), (Fraction(1),), Loss.ramp(0.25, 0.25))
    assert low.optimum() == Fraction(3, 4)  # the height is less than what a margin costs


@pytest.mark.parametrize("kind", NORMS)
def test_no_point_is_below_the_rational_optimum(kind: str) -> None:
    for seed, free in ((0, False), (1, True)):
        _, exact = drawn(seed, kind, free, 4, 2)
        optimum, rng = exact.optimum(), np.random.default_rng(0)
        at = exact.minimiser()
        assert optimum is not None and at is not None
        near = [[v + Fraction(int(s), 64) for v, s in zip(at, step, strict=True)] for step in rng.integers(-9, 10, size=(100, 2))]
        assert min(exact.cost(tuple(w)) for w in near) >= optimum
        assert min(exact.cost(fractions(w)) for w in rng.normal(size=(100, 2))) >= optimum


# -- the comparison -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("free", [False, True], ids=["penalised", "free"])
@pytest.mark.parametrize("kind", NORMS)
def test_a_line_and_a_plane(kind: str, free: bool) -> None:
    for seed in range(trials(2, 4)):
        if not free:
            compare(*drawn(100 + seed, kind, free, 8, 1))
        compare(*drawn(200 + seed, kind, free, 4 + seed % 2, 2))


@pytest.mark.parametrize("free", [False, True], ids=["penalised", "free"])
@pytest.mark.parametrize("kind", NORMS)
def test_a_plane_many_times(kind: str, free: bool) -> None:
    for seed in range(trials(8, 30)):
        compare(*drawn(1000 + seed, kind, free, 2 + seed % 4, 2))


@pytest.mark.parametrize("free", [False, True], ids=["penalised", "free"])
@pytest.mark.parametrize("kind", NORMS)
def test_space(kind: str, free: bool) -> None:
    compare(*drawn(2000, kind, free, 3, 3))


@pytest.mark.parametrize("kind", NORMS)
def test_what_a_user_gets(kind: str) -> None:
    """`mo.solve`: whatever polishes the point or judges it, the bound is below the optimum."""
    for seed, free in ((300, False), (301, True)):
        model, exact = drawn(seed, kind, free, 4, 2)
        result, optimum = mo.solve(model, "margin-bb"), exact.optimum()
        assert result.bound_kind == "proved" and optimum is not None
        assert Fraction(float(result.bound)) <= optimum
        assert result.objective == pytest.approx(float(optimum), rel=2e-6, abs=1e-12)


def test_costs_of_nothing_cost_nothing() -> None:
    """An interior point is below zero by its tolerance, which its weights' norm must not gain from."""
    model, exact = drawn(5112, "kernel-l1", False, 2, 2)
    result = mo.solve(model, "margin-bb")
    assert exact.optimum() == result.objective == result.bound == 0.0 and result.solved
