"""ν-SVM, ε-SVR and SVDD: compositions with names, against scikit-learn and CVXPY; closed-form duals of composed problems."""

from __future__ import annotations

import inspect
from typing import Any

import cvxpy as cp
import numpy as np
import pytest
from data import clouds
from effort import trials
from facts import about
from hypothesis import given, settings, strategies as st
from sklearn.svm import SVR, NuSVC

import marginopt as mo
from marginopt import margin
from marginopt.errors import InputError, UnsupportedModelError
from marginopt.models.formulations.margin.named_formulations import NamedComposition
from marginopt.models.model import Model
from marginopt.models.views import ConicProblem, LinearProblem, MarginProblem, ZeroOneProblem

pytestmark = pytest.mark.filterwarnings("ignore::marginopt.errors.MarginoptWarning")
RNG = np.random.default_rng(8)
X, Y = clouds(RNG, 24, 2, 0.5, order="halves", first=-1.0)
TARGET = X @ [0.3, 1.0, -1.5] + 0.4 * RNG.normal(size=24)
NEW = RNG.normal(size=(7, 2))


@pytest.mark.parametrize("kernel", [None, mo.RBF(0.6)])
def test_nu_svm_is_scikit_learns(kernel: Any) -> None:
    data, new = (X, np.column_stack([np.ones(7), NEW])) if kernel is None else (X[:, 1:], NEW)
    nu = 0.7 if kernel is None else 0.5  # at 0.5 no line has a level > 0: the optimum is w = 0
    model = mo.NuSVM(data, Y, nu, kernel=kernel)
    result = mo.solve(model, "clarabel", tol=1e-9)
    theirs = NuSVC(nu=nu, kernel="linear" if kernel is None else "rbf", gamma=0.6, tol=1e-9).fit(X[:, 1:], Y)
    scores, scale = model.decision_function(result.values, new), result.values["rho"][0]
    np.testing.assert_allclose(scores / scale, theirs.decision_function(NEW), atol=2e-3)
    assert model.dual_value(result.multipliers) == pytest.approx(result.objective, rel=1e-5)
    assert f"sum_i alpha_i >= {nu:g}" in str(model)


@pytest.mark.parametrize("kernel", [None, mo.RBF(0.6)])
def test_epsilon_svr_is_scikit_learns(kernel: Any) -> None:
    data, new = (X, np.column_stack([np.ones(7), NEW])) if kernel is None else (X[:, 1:], NEW)
    model = mo.EpsilonSVR(data, TARGET, C=1.5, epsilon=0.2, kernel=kernel)
    result = mo.solve(model, "clarabel", tol=1e-9)
    theirs = SVR(C=1.5, epsilon=0.2, kernel="linear" if kernel is None else "rbf", gamma=0.6, tol=1e-9).fit(X[:, 1:], TARGET)
    np.testing.assert_allclose(model.decision_function(result.values, new), theirs.predict(NEW), atol=2e-3)
    assert model.dual_value(result.multipliers) == pytest.approx(result.objective, rel=1e-5)


def test_svdd_is_the_ball_and_at_small_nu_the_enclosing_one() -> None:
    points = X[:, 1:]
    model = mo.SVDD(points, 0.3)
    result = mo.solve(model, "clarabel", tol=1e-9)
    c, R2, xi = cp.Variable(2), cp.Variable(nonneg=True), cp.Variable(24, nonneg=True)
    ball = cp.Problem(
        cp.Minimize(R2 + cp.sum(xi) / (0.3 * 24)), [cp.sum_squares(p - c) <= R2 + xi[i] for i, p in enumerate(points)]
    )
    ball.solve(solver="CLARABEL")
    assert result.objective == pytest.approx(ball.value, rel=1e-6)
    assert model.radius(result.values) == pytest.approx(np.sqrt(R2.value), rel=1e-4)
    assert result.summary["outside"] <= 0.3
    assert model.dual_value(result.multipliers) == pytest.approx(ball.value, rel=1e-6)
    small = mo.solve(mo.SVDD(points, 1 / 24), "clarabel", tol=1e-9)
    assert small.objective == pytest.approx(
        mo.solve(mo.MEBDual(points, kernel=mo.Linear()), "clarabel", tol=1e-9).objective, rel=1e-6
    )
    with pytest.raises(InputError, check=about("nu")):
        mo.SVDD(points, 0.0)


def test_a_nu_that_makes_the_objective_unbounded_is_refused_where_the_model_is_built() -> None:
    """With a free intercept ν is at most twice the smaller class's share of the weight, here 3/8 or 3/4."""
    y, weights = np.where(np.arange(16) < 3, 1.0, -1.0), np.where(np.arange(16) < 3, 13.0 * 3.0 / 5.0 / 3.0, 1.0)
    rows = X[np.arange(16) % X.shape[0]]
    for nu, weight in ((6 / 16, 1.0), (0.75, weights)):
        assert mo.solve(mo.NuSVM(rows, y, nu, sample_weight=weight), "clarabel").status is mo.Status.OPTIMAL
        assert mo.NuSVM(rows, y, 1.0, "penalised", sample_weight=weight).nu == 1.0
        with pytest.raises(InputError, check=about("nu")):
            mo.NuSVM(rows, y, nu + 1e-6, sample_weight=weight)


NAMED = [
    mo.EpsilonSVR(X, TARGET, C=1.5, epsilon=0.2),
    mo.EpsilonSVR(X[:, 1:], TARGET, kernel=mo.RBF(0.6)),
    mo.NuSVM(X, Y, 0.7),
    mo.SVDD(X[:, 1:], 0.3),
    mo.HardMarginSVM(np.column_stack([X, 3.0 * Y]), Y),
]


@pytest.mark.parametrize("model", NAMED, ids=lambda model: model.name)
def test_a_name_answers_as_its_composition(model: Any) -> None:
    """Solvers, certificates and changes ask a model: blocks from w, multipliers, views, bounds, figures."""
    result = mo.solve(model, "clarabel", tol=1e-9)
    w, composed = {"w": result.values["w"]}, model.composition
    completed, point = model.complete(w), model.with_best_auxiliaries(result.values)
    assert completed.keys() == composed.complete(w).keys()
    assert model.form.objective(model.form.join(point)) == pytest.approx(result.objective, rel=1e-6)
    assert model.exact_cost(point) == composed.exact_cost(point)
    for kind in (MarginProblem, LinearProblem, ConicProblem, ZeroOneProblem):
        assert (model.view(kind) is None) == (composed.view(kind) is None), kind
    names = ("no_view_reason", "value_at_zero", "cutoff", "bounded_below_reason", "has_nonnegative_objective")
    for name in (*names, "loss_bounded_variables"):
        assert getattr(model, name) == getattr(composed, name), name
    for label in (block.label for block in model.form.blocks):
        assert model.origin(label) == composed.origin(label) != ""
    x = model.form.join(point)
    assert model.bound(x, result.multipliers) == composed.bound(x, result.multipliers)


def test_what_a_composition_answers_for_itself_its_names_hand_on() -> None:
    stated = {"parameters", "replace", *margin.Margin.__dataclass_fields__}
    asked = [name for name in vars(margin.Margin) if name[0] != "_" and hasattr(Model, name) and name not in stated]
    general = [name for name in asked if inspect.getattr_static(NamedComposition, name) is inspect.getattr_static(Model, name)]
    assert len(asked) > 20 and not general


LOSSES = [
    margin.Hinge(),
    margin.SquaredHinge(),
    margin.EpsilonInsensitive(0.2),
    margin.EpsilonInsensitive(0.1, squared=True),
    margin.NuHinge(0.4),
    margin.OneClass(0.6),
    margin.SoftBall(),
    margin.NearestHulls(),
    margin.PairwiseHinge(),
]


@given(seed=st.integers(0, 1000), loss=st.sampled_from(LOSSES), mu=st.sampled_from([0.5, 1.0, 0.2]), wild=st.floats(0.01, 10.0))
@settings(max_examples=trials(20, 40))
def test_closed_duals_meet_the_optimum_and_bound_it_from_any_multipliers(seed: int, loss: Any, mu: float, wild: float) -> None:
    rng = np.random.default_rng(seed)
    Z, y = clouds(rng, 10, 2, 0.5, order="halves", first=-1.0)
    weights = rng.uniform(0.2, 1.0, 10)
    model = mo.Margin(
        Z, y if loss.reads_class_labels else rng.normal(size=10), loss, margin.SquaredNorm(mu), sample_weight=weights
    )
    result = mo.solve(model, "clarabel", tol=1e-9)
    assert model.dual_value(result.multipliers) == pytest.approx(result.objective, rel=1e-5, abs=1e-6)
    noise = {c.label: wild * rng.normal(size=c.rows) for c in model.form.constraints}
    assert model.dual_value(noise) <= result.objective + 1e-7 * (1 + abs(result.objective))
    assert model.statement.dual is not None
    assert r"\max" in model.latex()


def test_what_has_no_closed_dual_says_so() -> None:
    for model in (mo.Margin(X, Y, regulariser="l1"), mo.Margin(X, Y, "ramp"), mo.Margin(X, Y, domain=margin.Box())):
        assert model.statement.dual is None
        with pytest.raises(UnsupportedModelError, check=about("loss")):
            model.dual_value({})
    free = mo.Margin(X, Y, intercept="free")
    assert free.dual_value({"margin": np.full(24, 0.5)}) > -np.inf  # balanced classes
    assert free.dual_value({"margin": np.where(Y > 0, 0.5, 0.1)}) == -np.inf


@pytest.mark.parametrize("intercept", ["penalised", "free"])
def test_older_formulations_compile_from_their_parts_to_the_last_bit(intercept: Any) -> None:
    """The forms that they always had, written out with matrices."""
    lam = RNG.uniform(0.3, 2.0, 24)
    signed, eye, none = Y[:, None] * X, np.eye(24), np.zeros(24)
    zero_one, ramp = mo.ZeroOneSVM(X, Y, lam, intercept=intercept), mo.RampSVM(X, Y, lam, intercept=intercept)
    cases = [
        (zero_one, np.hstack([signed, np.diag(zero_one.big_m_values)]), [np.zeros(3), lam], ["w", "z"], [0, 1]),
        (ramp, np.hstack([signed, np.diag(ramp.big_m_values), eye]), [np.zeros(3), 2 * lam, lam], ["w", "z", "xi"], [0, 1, 0]),
    ]
    if intercept == "penalised":
        cases.append((mo.HingeSVM(X, Y, lam), np.hstack([signed, eye]), [np.zeros(3), lam], ["w", "xi"], [0, 0]))
    for model, rows, q, labels, whole in cases:
        form = model.form
        assert [b.label for b in form.blocks] == labels
        assert [c.label for c in form.constraints] == ["margin"]
        np.testing.assert_array_equal(form.constraint("margin").F.toarray(), rows)
        np.testing.assert_array_equal(form.constraint("margin").g, none - 1.0)
        np.testing.assert_array_equal(form.q, np.concatenate(q))
        squares = np.array([float(intercept == "penalised"), 1.0, 1.0, *np.zeros(form.n - 3)])
        np.testing.assert_array_equal(form.quadratic.csc.toarray(), np.diag(2.0 * squares))
        np.testing.assert_array_equal(form.integer, np.repeat(np.array(whole, dtype=bool), [len(part) for part in q]))
        assert form.name == model.name
        assert model.composition is not None


def test_named_compositions_predict_as_their_compositions_do() -> None:
    """ε-SVR predicted -1 and +1."""
    rng = np.random.default_rng(0)
    X = np.column_stack([np.ones(12), rng.normal(size=(12, 2))])
    model = mo.EpsilonSVR(X, X @ [3.0, 1.0, -2.0])
    result = mo.solve(model, "clarabel")
    np.testing.assert_array_equal(model.predict(result.values, X), model.decision_function(result.values, X))
    assert np.abs(model.predict(result.values, X) - model.y).max() < 0.5
