"""Rows on the conic SVM keep its proved bound: binary, constant-ratio and heavy-tailed columns, prices of any quality."""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np
import pytest
from effort import part, trials

import marginopt as mo
from marginopt import Status, margin

cp = pytest.importorskip("cvxpy")
pytestmark = pytest.mark.filterwarnings("ignore")


def fair(seed: int, n: int = 30) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """X with a constant, two Gaussian columns, a heavy-tailed one and a standardised binary one; y, groups, covariances."""
    rng = np.random.default_rng(seed)
    g = (rng.random(n) < 0.5).astype(int)
    g[:2] = 0, 1
    F = np.column_stack([rng.normal(size=(n, 2)), rng.standard_t(2, n)])
    y = np.where(F[:, 0] + 0.8 * g - 0.4 + 0.5 * rng.normal(size=n) > 0.0, 1.0, -1.0)
    X = np.column_stack([np.ones(n), F, (g - g.mean()) / g.std()])
    return X, y, g, (g - g.mean()) @ X / n


CHANGES: dict[str, Any] = {
    "row": lambda c: lambda v: [c @ v.w <= 0.05],
    "both": lambda c: lambda v: [c @ v.w <= 0.05, c @ v.w >= -0.05],
    "absolute": lambda c: lambda v: [cp.abs(c @ v.w) <= 0.05],
    "equation": lambda c: lambda v: [c @ v.w == 0.0],
    "several": lambda c: lambda v: [c @ v.w <= 0.05, v.w[1] >= 0.5, cp.norm1(v.w[2:]) <= 0.3],
}


@pytest.mark.parametrize(("change", "seed"), part(product(CHANGES, range(3)), 1, kind=lambda cell: cell[0]))
def test_rows_keep_the_proof(change: str, seed: int) -> None:
    X, y, _, c = fair(seed)
    base = mo.ConicSVM(X, y, 1.0)
    result = mo.solve(base.with_constraint(CHANGES[change](c)), "clarabel")
    assert result.status is Status.OPTIMAL and result.bound_kind == "proved", result
    assert result.bound <= result.objective * (1.0 + 1e-7) and result.gap <= 1e-6
    assert result.bound >= mo.solve(base, "clarabel").bound * (1.0 - 1e-6)


@pytest.mark.parametrize("seed", range(2))
def test_fixed_coefficients_and_the_budget_form_keep_the_proof(seed: int) -> None:
    X, y, _, c = fair(seed)
    models = (
        mo.ConicSVM(X, y, 1.0).with_fixed({"w": {4: 0.0, 1: 0.3}}),
        mo.ConicSVM(X, y, kappa=0.3).with_constraint(lambda v: [c @ v.w <= 0.01]),
        mo.ConicSVM(X, y, 1.0).with_constraint(lambda v: [c @ v.w <= 0.05]).with_fixed({"w": {2: 0.0}}),
    )
    for model in models:
        result = mo.solve(model, "clarabel")
        assert result.status is Status.OPTIMAL and result.bound_kind == "proved", result


@pytest.mark.parametrize(("regulariser", "seed"), part(product(["l2", "half-l2"], range(3)), 1, kind=lambda cell: cell[0]))
def test_restrictions_of_a_composition_keep_the_proof(regulariser: str, seed: int) -> None:
    X, y, g, _ = fair(seed)
    rules = [mo.parity(g, 0.05), mo.fixed({2: 0.1})]
    for parts in ({"subject_to": rules}, {"domain": margin.Box(-0.4, 0.4)}, {}):
        result = mo.solve(mo.Margin(X, y, "strongest-conic", regulariser, **parts), "clarabel")  # type: ignore[arg-type]
        assert result.status is Status.OPTIMAL and result.bound_kind == "proved", result


@pytest.mark.parametrize("seed", range(trials(1, 4)))
def test_no_prices_prove_more_than_the_optimum(seed: int) -> None:
    """Noise on all multipliers, of every size: the bound falls, and never passes the optimum."""
    X, y, _, c = fair(seed)
    rng = np.random.default_rng(seed)
    model = mo.ConicSVM(X, y, 1.0).with_constraint(lambda v: [cp.abs(c @ v.w) <= 0.02, v.w[3] >= 0.1])
    result = mo.solve(model, "clarabel")
    assert result.multipliers is not None
    x = model.form.join(result.values)
    for size in (1e-9, 1e-6, 1e-3, 0.1, 1.0, 1e3):
        for _ in range(trials(2, 6)):
            multipliers = {k: z + size * rng.normal(size=z.shape) * (1.0 + np.abs(z)) for k, z in result.multipliers.items()}
            value = model.bound(x + size * rng.normal(size=x.size), multipliers).value
            assert value <= result.objective * (1.0 + 1e-8)
            if size <= 1e-9:
                assert value >= result.objective * (1.0 - 1e-6)


def test_relaxations_of_a_restricted_model_are_proved() -> None:
    X, y, g, _ = fair(1)
    model = mo.Margin(X, y, "zero-one", "l2", subject_to=mo.parity(g, 0.05))
    relaxed = mo.relaxations.relax(model, "hulls")
    conic = mo.solve(mo.Margin(X, y, "strongest-conic", "l2", subject_to=mo.parity(g, 0.05)), "clarabel").bound
    assert relaxed.bound_kind == "proved"
    assert conic * (1.0 - 1e-6) <= relaxed.bound <= mo.solve(model, "margin-bb").objective


def test_a_restriction_that_costs_something_has_no_such_bound() -> None:
    """The bound of the base says nothing of an objective that is another one."""
    from marginopt.models.restricted_bound import restricted_bound

    X, y, g, _ = fair(0)
    base = mo.Margin(X, y, "strongest-conic", "l2")
    form = mo.Margin(X, y, "strongest-conic", "l2", subject_to=mo.parity(g, 0.05)).form
    q = form.q.copy()
    q[0] = -1.0
    for other in (form.replace(q=q), form.replace(r=-1.0)):
        assert restricted_bound(other, base.form, np.zeros(form.n), {}, lambda tilt: None) is None


def test_prices_that_cancel_carry_the_rounding_of_what_cancels() -> None:
    """Opposite rows at prices of 1e12: h is their difference, and its error is that of 1e12."""
    from marginopt.models.restricted_bound import restricted_bound

    X, y, _, c = fair(2)
    base = mo.ConicSVM(X, y, 1.0)
    model = base.with_constraint({"above": lambda v: c @ v.w <= 0.1, "below": lambda v: c @ v.w >= -0.1})
    seen: list[float] = []
    prices = {"above": np.array([1e12]), "below": np.array([1e12])}
    restricted_bound(model.form, base.form, np.zeros(model.form.n), prices, lambda tilt: seen.append(float(tilt.error.max())))
    assert seen and seen[0] >= 1e12 * np.abs(c).max() * 2.0**-52
    assert (
        restricted_bound(model.form, base.form, np.zeros(model.form.n), {"above": np.array([np.nan])}, lambda tilt: None) is None
    )
