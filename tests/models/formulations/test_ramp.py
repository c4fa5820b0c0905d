"""The ramp-loss model: its loss, its optimum by enumeration, valid M, its place beside the 0-1 loss, bad input."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from data import clouds
from facts import about

from marginopt.errors import InputError
from marginopt.models import ZeroOneSVM
from marginopt.models.formulations.ramp import RampSVM
from marginopt.solvers import certify, solve


def points(seed: int, n: int = 7, p: int = 2) -> tuple[np.ndarray, np.ndarray]:
    X, y = clouds(seed, n, p, 0.8)
    X[0, 1:] *= -5.0  # an outlier that is worth giving up
    return X, y


def enumerated(model: RampSVM) -> float:
    """The optimum over all choices of points given up: hinge problems without the bound ξ ≤ 2, which only costs more."""
    import scipy.sparse as sp

    from marginopt.models.program.cones import Nonnegative
    from marginopt.models.program.form import Block, Constraint, StandardForm
    from marginopt.models.program.quadratic import Quadratic

    A, d = model.y[:, None] * np.asarray(model.X), model.penalised.astype(float)
    n, p = A.shape
    best = np.inf
    for choice in itertools.product((False, True), repeat=n):
        mask = ~np.array(choice)
        cost = 2.0 * model.sample_weight[~mask].sum()
        k = int(mask.sum())
        if k == 0 or cost >= best:
            best = min(best, cost)
            continue
        form = StandardForm(
            "hinge",
            (Block("w", (p,)), Block("xi", (k,))),
            np.append(np.zeros(p), model.sample_weight[mask]),
            (Constraint("m", sp.csr_array(np.hstack([A[mask], np.eye(k)])), -np.ones(k), Nonnegative(k)),),
            np.append(np.full(p, -np.inf), np.zeros(k)),
            np.full(p + k, np.inf),
            np.zeros(p + k, dtype=bool),
            Quadratic(matrix=sp.csc_array(sp.diags_array(np.append(2.0 * d, np.zeros(k))))),
        )
        best = min(best, cost + solve(form, "clarabel", tol=1e-9).objective)
    return best


@pytest.mark.parametrize("intercept", ["free", "penalised"])
@pytest.mark.parametrize("seed", range(2))
def test_solvers_and_encodings_agree_with_enumeration(seed: int, intercept: str) -> None:
    X, y = points(seed)
    optimum = enumerated(RampSVM(X, y, 0.8, intercept=intercept))
    for encoding, solver in itertools.product(("bigm", "indicator"), ("scip", "gurobi")):
        model = RampSVM(X, y, 0.8, intercept=intercept, encoding=encoding)
        result = solve(model, solver, threads=1, tol=1e-7)  # SCIP's own optimum is off by its feasibility tolerance
        assert result.solved
        assert result.objective == pytest.approx(optimum, rel=1e-7)
        assert model.objective(result.values["w"]) == pytest.approx(optimum, rel=1e-7)
        assert result.summary["given_up"] == (y * (X @ result.values["w"]) < -1.0).sum()


def test_points_of_classifiers_carry_the_ramp_loss() -> None:
    X, y = points(0)
    model = RampSVM(X, y, np.linspace(0.1, 1.0, 7), big_m=100.0)
    rng = np.random.default_rng(1)
    for _ in range(5):
        w = rng.uniform(-1.0, 1.0, size=3)  # within sqrt(UB)
        u = y * (X @ w)
        expected = w[1:] @ w[1:] + model.sample_weight @ np.minimum(np.maximum(1 - u, 0), 2)
        assert model.objective(w) == pytest.approx(expected, rel=1e-14)
        for encoding in ("bigm", "indicator"):
            other = RampSVM(X, y, model.lam, big_m=100.0, encoding=encoding)
            certificate = certify(other.form, other.point(w))
            assert certificate.objective == pytest.approx(expected, rel=1e-12)
            assert certificate.feasible(1e-12)


def test_optimum_stands_below_that_of_the_zero_one_loss_with_twice_the_cost() -> None:
    for seed in range(3):
        X, y = points(seed)
        ramp = solve(RampSVM(X, y, 0.5, intercept="penalised"), "scip", tol=1e-8)
        zero_one = solve(ZeroOneSVM(X, y, 1.0), "scip", tol=1e-8)
        assert ramp.objective <= zero_one.objective * (1 + 1e-8)
        errors = float((y * (X @ ramp.values["w"]) < 0).sum())
        assert ramp.objective >= 0.5 * errors


def test_a_true_upper_bound_tightens_m_and_keeps_the_optimum() -> None:
    X, y = points(1)
    model = RampSVM(X, y, 0.8)
    optimum = solve(model, "scip", tol=1e-8).objective
    tight = RampSVM(X, y, 0.8, upper_bound=optimum * (1 + 1e-9))
    assert (tight.big_m_values < model.big_m_values).all()
    assert solve(tight, "scip", tol=1e-8).objective == pytest.approx(optimum, rel=1e-7)


def test_statement_and_bad_input() -> None:
    X, y = points(0)
    model = RampSVM(X, y)
    assert "sum_i (xi_i + 2 z_i)" in str(model)
    assert "reaches 2" in str(model)
    assert r"\xi_i" in model.latex()
    assert "=>" in str(RampSVM(X, y, encoding="indicator"))
    assert "unproven" in str(RampSVM(X, y, big_m=9.0))
    for changes, name in (
        ({"lam": 0.0}, "lam"),
        ({"big_m": -1.0}, "big_m"),
        ({"encoding": "strengthened"}, "encoding"),
        ({"intercept": "none"}, "intercept"),
        ({"upper_bound": -1.0}, "upper_bound"),
    ):
        with pytest.raises(InputError, check=about(name)):
            RampSVM(X, y, **changes)
    with pytest.raises(InputError, check=about("intercept")):
        RampSVM(X[:, ::-1], y)
