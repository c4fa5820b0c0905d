"""The returned classifier costs, counted in rational arithmetic, what the result says."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from effort import trials

import marginopt as mo
from marginopt.models import ZeroOneSVM
from marginopt.models.formulations.margin.exact_evaluation import satisfies_margins, stretch_to_margins
from marginopt.solvers.polishing import polish
from marginopt.solvers.registry import get_solver


def lattice(seed: int) -> ZeroOneSVM:
    """Points of a coarse lattice with labels half at random: many equal margins, many of them 1 at the optimum."""
    rng = np.random.default_rng(seed)
    n, p = int(rng.integers(6, 13)), int(rng.integers(1, 4))
    y = np.where(np.arange(n) % 2 == 0, 1.0, -1.0)
    X = np.column_stack([np.ones(n), rng.integers(-3, 4, size=(n, p)) / rng.choice([1.0, 3.0, 7.0])])
    return ZeroOneSVM(X, y, lam=float(rng.choice([0.3, 1.0, 4.0])), encoding=str(rng.choice(["bigm", "indicator"])))  # type: ignore[arg-type]


def exact_cost(model: ZeroOneSVM, w: np.ndarray) -> Fraction:
    """||w||² + Σ λ_i 1{y_i x_i'w < 1} of the stored numbers."""
    exact = [Fraction(float(v)) for v in w]
    X, y = np.asarray(model.X), np.asarray(model.y)
    cost = sum((v * v for v in exact), Fraction(0))
    for i in range(len(y)):
        margin = Fraction(float(y[i])) * sum((Fraction(float(a)) * v for a, v in zip(X[i], exact, strict=True)), Fraction(0))
        cost += Fraction(float(model.sample_weight[i])) if margin < 1 else 0
    return cost


def agrees(model: ZeroOneSVM, w: np.ndarray, objective: float) -> bool:
    return abs(exact_cost(model, w) - Fraction(objective)) <= Fraction(1, 10**13) * max(Fraction(objective), 1)


@pytest.mark.filterwarnings("ignore::marginopt.errors.MarginoptWarning")
@pytest.mark.parametrize("block", range(trials(2, 4)))
def test_the_exact_solver_s_classifier(block: int) -> None:
    for seed in range(75 * block, 75 * block + trials(15, 75)):
        model = lattice(seed)
        result = mo.solve(model, "zero-one-bb")
        assert agrees(model, result.values["w"], result.objective), seed


@pytest.mark.filterwarnings("ignore::marginopt.errors.MarginoptWarning")
@pytest.mark.parametrize("solver", ["gurobi", "highs", "mosek", "scip"])
def test_every_mixed_integer_backend_s_classifier(solver: str) -> None:
    try:
        licence = get_solver(solver).licence()
    except mo.errors.MarginoptError as error:
        pytest.skip(str(error))
    if not licence.usable:
        pytest.skip(f"{solver}: {licence.state.value}")
    for seed in range(trials(5, 12)):
        model = lattice(1000 + seed)
        if get_solver(solver).obstacle(model) is not None:
            continue
        result = mo.solve(model, solver)
        assert agrees(model, result.values["w"], result.objective), seed


@pytest.mark.filterwarnings("ignore::marginopt.errors.MarginoptWarning")
def test_noisy_incumbents() -> None:
    """Whatever a solver hands over, within its feasibility tolerance: what comes back is counted exactly."""
    rng = np.random.default_rng(0)
    for seed in range(trials(20, 60)):
        model = lattice(2000 + seed)
        w = mo.solve(model, "zero-one-bb").values["w"] * (1.0 + 1e-7 * rng.normal(size=model.X.shape[1]))
        values = polish(model.form, model.point(w, 1e-6), model)[0]
        stated = float(values["w"] @ values["w"]) + float(model.sample_weight @ values["z"])
        assert agrees(model, values["w"], stated), seed


def test_stretched_meets_what_it_is_asked_to() -> None:
    rng = np.random.default_rng(3)
    for _ in range(200):
        A = rng.integers(-3, 4, size=(5, 3)) / 3.0
        A[:, 0] = 1.0 / 3.0 + np.abs(A[:, 0])
        w = np.array([3.0, 0.0, 0.0]) * (1.0 - 1e-15)
        longer = stretch_to_margins(A, w, np.ones(5, dtype=bool))
        assert longer is not None and satisfies_margins(A, longer).all()
        assert np.abs(longer - w).max() <= 1e-13
        for row, satisfied in zip(A, satisfies_margins(A, w), strict=True):
            exact = sum((Fraction(float(a)) * Fraction(float(v)) for a, v in zip(row, w, strict=True)), Fraction(0))
            assert satisfied == (exact >= 1)
    assert stretch_to_margins(np.array([[-1.0]]), np.array([1.0]), np.array([True])) is None


def test_margins_are_decided_as_rational_arithmetic_decides_them() -> None:
    """Rows at 1 to a few units in the last place, products that cancel, and products that underflow."""
    rng = np.random.default_rng(5)
    seen = set()
    for size in (1.0, 1e8, 1e-200):
        for _ in range(60):
            w = rng.normal(size=4) * size
            A = rng.normal(size=(6, 4)) / size
            A *= (1.0 + rng.integers(-2, 3, size=(6, 1)) * 2.0**-52) / (A @ w)[:, None]
            A[0] = [1.0 / w[0], 1e17, -1e17 * w[1] / w[2], 0.0]
            exact = list(map(Fraction, w.tolist()))
            truth = [sum((Fraction(a) * v for a, v in zip(row, exact, strict=True)), Fraction(0)) >= 1 for row in A.tolist()]
            assert satisfies_margins(A, w).tolist() == truth
            seen |= set(truth)
    assert seen == {True, False}
    # a coefficient of 1e300 cannot be split without error, and counts nowhere: its feature is 0
    assert satisfies_margins(np.array([[1.0, 0.0], [1.0 - 2.0**-53, 0.0]]), np.array([1.0, 1e300])).tolist() == [True, False]
