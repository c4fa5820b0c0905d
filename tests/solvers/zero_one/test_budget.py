"""The cardinality form, at most κn margins violated: against enumeration, Gurobi and SCIP; limits, starts, infeasible data."""

import itertools

import numpy as np
import pytest
from data import clouds
from effort import trials
from facts import about
from oracles import within_budget

import marginopt as mo
from marginopt.errors import InputError, UnsupportedModelError
from marginopt.models.formulations.margin_violations import ZeroOneBudget, allowed_violations
from marginopt.models.formulations.zero_one import Indicators
from marginopt.models.views import ZeroOneProblem


def enumerated(model):
    return within_budget(model.y[:, None] * np.asarray(model.X), model.penalised, model.budget)


def instance(seed, low=5, high=12):
    rng = np.random.default_rng(seed)
    n, p = int(rng.integers(low, high)), int(rng.integers(1, 4))
    X, y = clouds(rng, n, p, 0.5, spread=rng.choice([0.3, 1.0]))
    if seed % 5 == 4:
        X[1 : n // 2], y[1 : n // 2] = X[0], y[0]
    return X, y, int(rng.integers(0, n // 2)), "free" if seed % 2 else "penalised"


@pytest.mark.parametrize("batch", range(trials(2, 3)))
def test_equal_to_enumeration(batch):
    for seed in range(15 * batch, 15 * batch + trials(5, 15)):
        X, y, k, intercept = instance(seed)
        model = mo.ZeroOneSVM(X, y, kappa=k / len(y), intercept=intercept)
        optimum = enumerated(model)
        result = mo.solve(model, "zero-one-bb")
        if not np.isfinite(optimum):
            assert result.status.name == "INFEASIBLE" and not result.values, seed
            assert "violates at most" in result.details["beyond"]
            continue
        assert result.status.name == "OPTIMAL", seed
        assert result.bound <= optimum * (1 + 1e-7) + 1e-15, seed
        assert result.objective == pytest.approx(optimum, rel=3e-6, abs=1e-12), seed
        assert (y * (X @ result.values["w"]) < 1 - 1e-9).sum() <= k


@pytest.mark.parametrize("intercept", ["free", "penalised"])
def test_too_small_a_budget_is_infeasible(intercept):
    rng = np.random.default_rng(0)
    X, y = np.column_stack([np.ones(14), rng.normal(size=(14, 2))]), np.where(np.arange(14) % 2, 1.0, -1.0)
    models = [mo.ZeroOneSVM(X, y, kappa=k / 14, intercept=intercept) for k in range(7)]
    least = next(k for k in range(7) if np.isfinite(enumerated(models[k])))
    assert least > 1
    for k in (0, least - 1, least):
        result = mo.solve(models[k], "zero-one-bb")
        assert result.status.name == ("INFEASIBLE" if k < least else "OPTIMAL")


def clusters(seed=2, n=60, p=2):
    data = mo.instances.gaussian_clusters(n, p, 0.5, seed=seed)
    return data.X, data.y


def test_what_the_lagrangian_leaves_is_searched():
    """k inside an edge of the hull of (violations, norm): the multiplier alone leaves a gap of several per cent."""
    X, y = clusters(n=200, p=2)
    result = mo.solve(mo.ZeroOneSVM(X, y, kappa=0.25), "zero-one-bb", threads=1)
    assert result.status.name == "OPTIMAL"
    before = [row for row in result.trace.rows if row.step.startswith("lambda")][-1]
    assert before.gap > 0.01
    assert all(a.bound <= b.bound for a, b in itertools.pairwise(result.trace.rows))


@pytest.mark.parametrize("solver", ["scip", "gurobi"])
@pytest.mark.parametrize("encoding", ["bigm", "indicator"])
@pytest.mark.parametrize("intercept", ["free", "penalised"])
def test_equal_to_other_solvers(solver, encoding, intercept):
    X, y = clusters(seed=3, n=24)
    model = mo.ZeroOneSVM(X, y, kappa=0.3, intercept=intercept)
    ours = mo.solve(model, "zero-one-bb")
    known = mo.ZeroOneSVM(X, y, kappa=0.3, intercept=intercept, encoding=encoding, incumbent=ours.values["w"])
    theirs = mo.solve(known, solver, threads=1)
    assert theirs.objective == pytest.approx(ours.objective, rel=1e-5)
    assert theirs.values["z"].sum() <= known.budget


def test_strengthened_encoding_has_the_same_optimum():
    X, y = clusters(seed=4, n=16)
    ours = mo.solve(mo.ZeroOneSVM(X, y, kappa=0.3), "zero-one-bb")
    gamma = np.full(len(y), 0.5 / np.linalg.eigvalsh(X.T @ X)[-1])
    known = mo.ZeroOneSVM(X, y, kappa=0.3, encoding="strengthened", gamma=gamma, incumbent=ours.values["w"])
    assert "budget" in {c.label for c in known.form.constraints}
    x = known.form.join(known.start)
    assert known.form.objective(x) == pytest.approx(ours.objective, rel=1e-9)
    assert "kappa" in str(known)


def test_node_and_time_limits_leave_a_valid_interval():
    X, y = clusters(n=100, p=3)
    model = mo.ZeroOneSVM(X, y, kappa=0.17)
    optimum = mo.solve(model, "zero-one-bb", threads=1).objective
    for limits in ({"node_limit": 1}, {"node_limit": 3000}, {"time_limit": 0.05}):
        result = mo.solve(model, "zero-one-bb", threads=1, **limits)
        assert 0 <= result.bound <= optimum * (1 + 1e-9)
        if result.values:
            assert result.objective >= optimum * (1 - 2e-6)
        if "node_limit" in limits:
            assert result.nodes <= limits["node_limit"]


def test_memory_limit_leaves_a_valid_interval():
    data = mo.instances.gaussian_clusters(100, 10, 0.5, seed=0)
    model = mo.ZeroOneSVM(data.X, data.y, kappa=0.15)
    result = mo.solve(model, "zero-one-bb", threads=1, memory_limit=5e4)
    assert result.status.name == "MEMORY_LIMIT"
    assert 0 <= result.bound <= 29.5766


def test_a_start_is_kept():
    X, y = clusters()
    model = mo.ZeroOneSVM(X, y, kappa=0.3)
    best = mo.solve(model, "zero-one-bb")
    again = mo.solve(model, "zero-one-bb", start={"w": best.values["w"]}, node_limit=1)
    assert again.objective == pytest.approx(best.objective, rel=1e-9)
    with pytest.raises(InputError, check=about("start")):
        mo.solve(model, "zero-one-bb", start={"w": np.zeros(9)})


def test_extreme_budgets():
    X, y = clusters()
    nothing = mo.solve(mo.ZeroOneSVM(X, y, kappa=1.0), "zero-one-bb")
    assert nothing.objective == 0.0 and nothing.status.name == "OPTIMAL"
    one_class = mo.solve(mo.ZeroOneSVM(X, y, kappa=0.55, intercept="free"), "zero-one-bb")
    assert one_class.objective <= 1e-12
    separable = np.column_stack([np.ones(4), [1.0, 2.0, -1.0, -2.0]]), np.array([1.0, 1.0, -1.0, -1.0])
    hard = mo.solve(mo.ZeroOneSVM(*separable, kappa=0.0), "zero-one-bb")
    assert hard.objective == pytest.approx(1.0, rel=1e-6)


def test_budget_is_whole_where_only_rounding_keeps_it_from_being_so():
    assert allowed_violations(0.29, 100) == 29 and allowed_violations(0.299, 100) == 29 and allowed_violations(1.0, 7) == 7
    X, y = clusters()
    model = mo.ZeroOneSVM(X, y, kappa=0.29)
    assert model.budget == allowed_violations(0.29, 60) == 17
    assert model.view(ZeroOneProblem) is None and model.view(ZeroOneBudget).budget == 17


def test_what_the_kappa_form_cannot_do_is_said():
    X, y = clusters()
    with pytest.raises(InputError, check=about("lam")):
        mo.ZeroOneSVM(X, y, lam=1.0, kappa=0.1)
    with pytest.raises(InputError, check=about("kappa")):
        mo.ZeroOneSVM(X, y, kappa=1.5)
    model = mo.ZeroOneSVM(X, y, kappa=0.3)
    assert isinstance(model.margin_encoding, Indicators)  # no feasible point is known, and so no M
    with pytest.raises(UnsupportedModelError, check=about("kappa")):
        _ = model.sample_weight
    assert mo.ZeroOneSVM(X, y).lam == 1.0


def test_a_path_of_budgets_falls_and_equals_cold_solves():
    X, y = clusters()
    values = [0.25, 0.3, 0.4, 0.5]
    path = mo.path(mo.ZeroOneSVM(X, y, kappa=0.25), "kappa", values, threads=1)
    cold = [mo.solve(mo.ZeroOneSVM(X, y, kappa=value), "zero-one-bb", threads=1).objective for value in values]
    np.testing.assert_allclose(path.objectives, cold, rtol=3e-6)
    assert all(a >= b for a, b in itertools.pairwise(path.objectives))
