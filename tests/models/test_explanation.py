"""`model.explain(result)` is true of the solution; every sentence on multipliers is checked."""

from __future__ import annotations

import dataclasses
import xml.etree.ElementTree as ET
from typing import Any

import numpy as np
import pytest
from facts import about

import marginopt as mo
from marginopt.models.formulations import all_formulations
from marginopt.models.formulations.nonparallel.quadratic_factors import HingeFactor
from marginopt.models.kernels.further_kernels import RationalQuadratic

_RNG = np.random.default_rng(0)
_N = 30
_X = np.column_stack([np.ones(_N), _RNG.normal(size=(_N, 2))])
_Y = np.where(_X[:, 1] + 0.7 * _RNG.normal(size=_N) > 0, 1.0, -1.0)


def _solved(model: mo.Model, solver: str = "clarabel") -> tuple[mo.Result, Any]:
    result = mo.solve(model, solver, tol=1e-8)
    return result, model.explain(result)


def _row(explanation: Any, label: str) -> Any:
    return next(c for c in explanation.constraints if c.label == label)


def test_hinge() -> None:
    lam = 0.7
    result, explanation = _solved(mo.HingeSVM(_X, _Y, lam=lam))
    assert result.multipliers is not None
    assert result.reduced is not None
    alpha, w = result.multipliers["margin"], result.values["w"]
    u = _Y * (_X @ w)
    np.testing.assert_allclose(w, 0.5 * _X.T @ (alpha * _Y), atol=1e-5)
    assert (alpha[u > 1 + 1e-3] < 1e-4).all()
    np.testing.assert_allclose(alpha[u < 1 - 1e-3], lam, atol=1e-4)
    np.testing.assert_allclose(result.reduced["xi"], lam - alpha, atol=1e-5)
    assert explanation.misclassified == tuple(np.flatnonzero(u < 0))
    assert set(np.flatnonzero(alpha > 1e-3)) <= set(explanation.support)
    for p in explanation.points:
        assert p.margin == pytest.approx(u[p.index])
        assert ("misclassified" in p.kind) == (u[p.index] < 0)
        assert ("inside the margin" in p.kind) == (0 <= u[p.index] < 1 - 1e-6)
    assert _row(explanation, "margin").active == (u + result.values["xi"] < 1 + 1e-5).sum()
    assert _row(explanation, "bounds").rows == _N


def test_conic() -> None:
    model = mo.ConicSVM(_X, _Y, kappa=0.2)
    result, explanation = _solved(model)
    assert result.multipliers is not None
    gamma = result.multipliers["hull"]
    assert np.linalg.eigvalsh(np.eye(3) - (_X * gamma[:, None]).T @ _X)[0] > -1e-5
    near = mo.solve(mo.ConicSVM(_X, _Y, kappa=0.2 + 1e-3), "clarabel", tol=1e-8)
    price = float(result.multipliers["budget"][0])
    assert (result.objective - near.objective) / (1e-3 * _N) == pytest.approx(price, rel=2e-2)
    assert _row(explanation, "budget").active == 1
    assert _row(explanation, "lifted").active == 1  # W = ww' in some direction: on the cone's boundary
    assert "gamma*" in _row(explanation, "hull").meaning


def test_l2_svm() -> None:
    model = mo.L2SVMDual(_X, _Y, 2.0, mo.RBF(0.5))
    result, explanation = _solved(model)
    assert result.multipliers is not None
    assert result.reduced is not None
    a = result.values["a"]
    product = model.simplex.gram.product(a)
    rho = float(a @ product)
    assert float(result.multipliers["sum"][0]) == pytest.approx(rho, rel=1e-5)
    np.testing.assert_allclose(result.reduced["a"], product - rho, atol=1e-6)
    assert len(explanation.support) == (a > 1e-6 * a.max()).sum()
    scores = model.decision_function(result.values, _X)
    assert explanation.misclassified == tuple(np.flatnonzero(_Y * scores < 0))


def test_ball() -> None:
    model = mo.MEBDual(_X, mo.RBF(0.5))
    result, explanation = _solved(model)
    assert result.multipliers is not None
    assert result.reduced is not None
    a = result.values["a"]
    centre = float(a @ model.gram.product(a))
    assert float(result.multipliers["sum"][0]) == pytest.approx(centre - result.objective, rel=1e-5)
    np.testing.assert_allclose(result.reduced["a"], result.objective - model.squared_distances(result.values), atol=1e-5)
    distances, square = model.squared_distances(result.values), result.objective
    assert {p.index for p in explanation.points if p.kind.startswith("on the sphere")} == set(
        np.flatnonzero(abs(distances - square) <= 1e-4 * square)
    )
    assert all(p.kind.startswith(("on the sphere", "inside")) for p in explanation.points)
    assert explanation.misclassified == ()
    assert explanation.support == tuple(np.flatnonzero(a > 1e-6 * a.max()))


def test_l1_svm() -> None:
    model = mo.L1SVMDual(_X[:, 1:], _Y, C=2.0, kernel=mo.RBF(0.5))
    result, explanation = _solved(model)
    assert result.multipliers is not None
    assert result.reduced is not None
    f = _Y * model.decision_function(result.values, _X[:, 1:])
    assert float(result.multipliers["balance"][0]) == pytest.approx(-model.intercept(result.values), abs=1e-4)
    np.testing.assert_allclose(result.reduced["a"], f - 1, atol=1e-4)
    assert explanation.misclassified == tuple(np.flatnonzero(f < 0))
    assert all(("inside the margin" in p.kind) == (0 <= f[p.index] < 1 - 1e-6) for p in explanation.points)


def test_maxmin_is_explained_at_the_gamma_found() -> None:
    model = mo.MaxMinSVM(_X[:, 1:], _Y, upper=2.0)
    result = mo.solve(model)
    explanation = model.explain(result)
    inner = model.at(result.details["gamma"])
    assert result.multipliers is not None
    p, q = result.multipliers["sum"]
    product = inner.simplex.gram.product(result.values["a"])
    assert p == pytest.approx(product[_Y > 0].min(), abs=1e-6)
    assert q == pytest.approx(product[_Y < 0].min(), abs=1e-6)
    scores = inner.decision_function(result.values, _X[:, 1:])
    assert explanation.misclassified == tuple(np.flatnonzero(_Y * scores < 0))
    assert "p and q" in _row(explanation, "sum").meaning
    assert explanation.picture().svg.count("<svg") == 1


@pytest.mark.parametrize(
    "parameters",
    [{"parameter": "per-feature"}, {"kernel": RationalQuadratic(0.5), "parameter": "alpha", "lower": 0.1, "upper": 9.0}],
)
def test_maxmin_over_other_parameters_is_explained_too(parameters: dict[str, Any]) -> None:
    model = mo.MaxMinSVM(_X[:, 1:], _Y, **parameters)
    explanation = model.explain(mo.solve(model))
    assert _row(explanation, "sum").active == 2
    assert len(explanation.points) == _N
    assert explanation.picture().svg.count("<svg") == 1


@pytest.mark.parametrize("loss", ["twsvm", "pinball", "npsvm"])
def test_nonparallel(loss: Any) -> None:
    model = mo.NonparallelSVM(_X, _Y, 1.0, loss=loss, c=0.5)
    result, explanation = _solved(model)
    assert result.multipliers is not None
    f = model.features.rows @ result.values["u"]
    others = np.flatnonzero(~model.inside)
    z = result.multipliers["margin"][: others.size]
    assert (z[f[others] < model.margin - 1e-4] > 0.5 - 1e-4).all() or loss == "pinball"
    for p in explanation.points:
        assert p.score == pytest.approx(f[p.index])
        assert p.kind.startswith("of the class" if model.inside[p.index] else "another, ")
        assert ("short" in p.kind) == (not model.inside[p.index] and f[p.index] < model.margin * (1 - 1e-4))
        assert (p.weight is None) == bool(model.inside[p.index])
    if loss == "twsvm":
        assert result.reduced is not None
        np.testing.assert_allclose(result.reduced["xi"], 0.5 - z, atol=1e-4)
        np.testing.assert_allclose(z[f[others] > model.margin + 1e-3], 0.0, atol=1e-4)
        assert "0 where f clears" in _row(explanation, "margin").meaning
    assert explanation.misclassified == ()
    assert explanation.picture().svg == explanation.picture().svg


def test_quadratic_with_losses_and_its_box() -> None:
    h, w, tau = np.ones(_N), np.linspace(0.2, 1, _N), np.where(np.arange(_N) % 2, 0.5, 0.0)
    model = mo.models.HingeQuadratic(HingeFactor(np.eye(3), _X * _Y[:, None]), np.zeros(3), h, w, tau)
    result, _ = _solved(model)
    assert result.multipliers is not None
    assert result.reduced is not None
    lam = model.multiplier(result.multipliers)
    short = h - model.factor.G @ result.values["u"]
    plain = tau == 0
    margin = result.multipliers["margin"]
    np.testing.assert_allclose(margin[plain & (short < -1e-3)], 0.0, atol=1e-5)
    np.testing.assert_allclose(margin[plain & (short > 1e-3)], w[plain & (short > 1e-3)], atol=1e-5)
    np.testing.assert_allclose(result.reduced["xi"][plain], (w - lam)[plain], atol=1e-5)
    box = model.dual_program
    answer, _ = _solved(box)
    assert answer.reduced is not None
    gradient = box.box.gradient(answer.values["a"])
    np.testing.assert_allclose(answer.reduced["a"], gradient, atol=1e-4)
    assert (gradient[answer.values["a"] > box.lower + 1e-4] < 1e-4).all()
    assert (gradient[answer.values["a"] < box.upper - 1e-4] > -1e-4).all()


def test_chebyshev_at_a_given_and_at_the_found_basis() -> None:
    labels = np.repeat(["a", "b", "c"], 10)
    model = mo.ChebyshevNPSVC(_X, labels, c=0.5)
    solved = mo.solve(model)
    explanation = model.explain(solved)
    fixed = model.at(solved.details["P"])
    wrong = tuple(np.flatnonzero(fixed.predict(solved.values, _X) != labels))
    assert explanation.misclassified == wrong
    assert {p.label for p in explanation.points} == {"a", "b", "c"}
    assert [c.label for c in explanation.constraints if c.label.startswith("objective")] == [f"objective_{k}" for k in range(3)]
    assert explanation.picture().svg.count("<svg") == 1
    result, other_explanation = _solved(fixed)
    assert result.multipliers is not None
    tau = np.array([result.multipliers[f"objective_{k}"][0] for k in range(3)]) / np.asarray(fixed.weights)
    assert tau.sum() == pytest.approx(1.0, abs=1e-5)
    objectives = np.asarray(fixed.weights) * fixed.objectives(result.values["U"], result.values["V"])
    np.testing.assert_allclose(tau[objectives < objectives.max() * (1 - 1e-3)], 0.0, atol=1e-4)
    k = int(np.argmax(tau))
    z, ceiling = result.multipliers[f"margin_{k}"], 0.5 * np.asarray(fixed.weights)[k] * tau[k]
    f = fixed.features.rows[~fixed.near_points(k)] @ result.values["U"][k]
    assert z.max() <= ceiling + 1e-5
    np.testing.assert_allclose(z[f < 1 - 1e-3], ceiling, atol=1e-4)
    assert "tau_l" in _row(other_explanation, "objective_1").meaning
    assert "falls short" in _row(other_explanation, "margin_2").meaning


def test_pareto() -> None:
    gradients = np.abs(_X[:5]) + np.eye(5)[:, :3]
    model = mo.ParetoQP(gradients, np.linspace(0, 1, 5), gamma=0.3)
    result, explanation = _solved(model)
    assert result.multipliers is not None
    assert result.reduced is not None
    slopes = gradients @ model.direction(result.values["a"]) + 0.3 * model.objectives
    assert float(result.multipliers["sum"][0]) == pytest.approx(-slopes.max(), rel=1e-5)
    np.testing.assert_allclose(result.reduced["a"], slopes.max() - slopes, atol=1e-5)
    assert [p.weight for p in explanation.points] == list(result.values["a"])
    assert all("descends along Delta" in p.kind for p in explanation.points)
    with pytest.raises(mo.errors.InputError, check=about("model")):
        explanation.picture()


def test_stiefel() -> None:
    H, E = np.diag([1.0, 2.0, 3.0]), np.eye(3)[:, :2]
    model = mo.StiefelQP(H, E)
    result = mo.solve(model)
    explanation = model.explain(result)
    P = result.values["P"]
    inner = P.T @ (H @ P + E)
    np.testing.assert_allclose(H @ P + E, P @ (inner + inner.T) / 2, atol=1e-5)
    assert _row(explanation, "orthonormal").active == 3
    assert "symmetric part" in _row(explanation, "orthonormal").meaning
    assert explanation.points == ()


def test_ramp() -> None:
    y = np.append(np.where(_X[:12, 1] > 0, 1.0, -1.0), -1.0)
    model = mo.RampSVM(np.vstack([_X[:12], [1.0, 3.0, 0.0]]), y, lam=2.0, intercept="penalised")
    result, explanation = _solved(model, "scip")
    given_up = result.values["z"] > 0.5
    assert given_up[12]  # far on the wrong side
    u = model.y * (np.asarray(model.X) @ result.values["w"])
    cost = result.objective - result.values["w"] @ result.values["w"] - 2.0 * np.maximum(1 - u, 0)[~given_up].sum()
    assert cost == pytest.approx(2 * 2.0 * given_up.sum(), abs=1e-4)
    assert "2 lam" in _row(explanation, "margin").meaning
    assert explanation.misclassified == tuple(np.flatnonzero(u < 0))


def test_hulls() -> None:
    model = mo.ConvexHullsDual(_X, _Y, C=2.0, kernel=mo.RBF(0.5))
    result, _ = _solved(model)
    assert result.multipliers is not None
    assert result.reduced is not None
    product = model.simplex.gram.product(result.values["a"])
    p, q = result.multipliers["sum"]
    assert p == pytest.approx(product[_Y > 0].min(), abs=1e-5)
    assert q == pytest.approx(product[_Y < 0].min(), abs=1e-5)
    assert p + q == pytest.approx(2 * result.objective, rel=1e-5)
    np.testing.assert_allclose(result.reduced["a"], product - np.where(_Y > 0, p, q), atol=1e-5)


def test_mixed_integer_models_have_no_weights() -> None:
    X, y = _X[:14], _Y[:14]
    model = mo.ZeroOneSVM(X, y, lam=0.5)
    result, explanation = _solved(model, "scip")
    assert explanation.support == ()
    given_up = set(np.flatnonzero(result.values["z"] > 0.5))
    assert {p.index for p in explanation.points if p.margin < 1 - 1e-6} == given_up


def _every() -> list[mo.Model]:
    return [
        mo.HingeSVM(_X, _Y),
        mo.ConicSVM(_X, _Y, kappa=0.2),
        mo.ConicSVM(_X, _Y, kappa=0.0),
        mo.ConicSVM(_X, _Y, 1.0, intercept="free"),
        mo.L2SVMDual(_X, _Y),
        mo.L1SVMDual(_X, _Y),
        mo.MEBDual(_X),
        mo.ConvexHullsDual(_X, _Y),
        mo.MaxMinSVM(_X, _Y),
        mo.ZeroOneSVM(_X, _Y),
        mo.RampSVM(_X, _Y),
        mo.NonparallelSVM(_X, _Y, 1.0),
        mo.ParetoQP(_X[:4], np.ones(4)),
        mo.ChebyshevNPSVC(_X, _Y),
        mo.StiefelQP(np.eye(3), np.eye(3)[:, :2]),
        mo.models.HingeQuadratic(HingeFactor(np.eye(3), _X), np.zeros(3), np.ones(_N), np.ones(_N), np.zeros(_N)),
        mo.models.BoxProgram(_X, -np.ones(_N), 0.0, 1.0, 0.1),
        *(info.example(np.random.default_rng(8)) for info in all_formulations().values()),
        mo.NonparallelSVM(_X, _Y, 1.0, loss="capped"),
    ]


def test_every_public_formulation_is_explained_and_every_meaning_belongs_to_one_of_its_constraints() -> None:
    labels: dict[str, set[str]] = {}
    for model in _every():
        labels.setdefault(model.name, {"bounds"})
        if isinstance(model, mo.StiefelQP):
            labels[model.name].add("orthonormal")
            continue
        stated: mo.Model = model
        if isinstance(model, mo.MaxMinSVM):
            stated = model.at(0.5)
        if isinstance(model, mo.ChebyshevNPSVC):
            stated = model.at(np.eye(3)[:, :2])
        labels[model.name].update(c.label.rstrip("_0123456789") for c in stated.form.constraints)
    for model in _every():
        assert set(model.meanings) <= labels[model.name]


_DRAWN = [mo.HingeSVM(_X, _Y), mo.L2SVMDual(_X[:, 1:], _Y, 2.0, mo.RBF(0.5)), mo.MEBDual(_X[:, 1:]), mo.L1SVMDual(_X, _Y)]


@pytest.mark.parametrize("model", _DRAWN, ids=lambda m: m.name)
def test_the_picture(model: mo.Model) -> None:
    _, explanation = _solved(model)
    picture = explanation.picture()
    assert ET.fromstring(picture.svg).tag.endswith("svg")
    assert picture.svg == explanation.picture().svg


def test_what_cannot_be_drawn_or_explained_is_named() -> None:
    X = np.column_stack([_X, _RNG.normal(size=_N)])
    _, explanation = _solved(mo.HingeSVM(X, _Y))
    with pytest.raises(mo.errors.InputError, check=about("X")):
        explanation.picture()
    _, ball = _solved(mo.MEBDual.labelled(_X, _Y, 2.0, mo.Linear()))
    with pytest.raises(mo.errors.InputError, check=about("model")):
        ball.picture()
    model = mo.HingeSVM(_X, _Y)
    result, _ = _solved(model)
    with pytest.raises(mo.errors.InputError, check=about("result")):
        model.explain(dataclasses.replace(result, values={}))
    hard = mo.ConicSVM(_X, _Y, kappa=0.0)  # the classes overlap
    with pytest.raises(mo.errors.InputError, check=about("result")):
        hard.explain(mo.solve(hard))
    with pytest.raises(mo.errors.InputError, check=about("values")):
        model.explain(mo.solve(mo.MEBDual(_X), "clarabel"))


def test_the_table_is_cut_and_says_so() -> None:
    _, explanation = _solved(mo.HingeSVM(_X, _Y))
    assert explanation.table(5).splitlines()[-1] == f"  ... and {_N - 5} more"
    assert len(explanation.table(_N).splitlines()) == _N + 1
    assert "<pre" in explanation._repr_html_()


@pytest.mark.parametrize("nu", [0.3, 0.6])
def test_roles_follow_the_margin_that_the_loss_requires(nu: float) -> None:
    """Points of the ν-SVM are beyond ρ, on it or inside it; those inside have weights."""
    rng = np.random.default_rng(1)
    y = np.where(np.arange(30) % 2, 1.0, -1.0)
    X = np.column_stack([np.ones(30), rng.normal(size=(30, 2)) + 0.7 * y[:, None]])
    result, explanation = _solved(mo.NuSVM(X, y, nu))
    rho = result.values["rho"][0]
    assert 0.0 < rho < 0.9
    for point in explanation.points:
        if point.margin > rho * 1.01:
            assert point.kind.startswith("beyond the margin")
        elif 0.0 < point.margin < rho * 0.99:
            assert point.kind == "inside the margin, support vector"


def test_interior_points_do_not_count_rounding_as_support() -> None:
    rng = np.random.default_rng(2)
    y = np.where(np.arange(40) % 2, 1.0, -1.0)
    model = mo.L1SVMDual(rng.normal(size=(40, 2)) + 1.0 * y[:, None], y, 1.0)
    counts = [mo.solve(model, solver).summary["support_vectors"] for solver in ("clarabel", "smo-box")]
    assert counts[0] == counts[1] < 40


def test_the_values_of_a_point_are_explained_as_a_result_is() -> None:
    for model in (mo.ZeroOneSVM(_X, _Y, lam=1.0), mo.HingeSVM(_X, _Y, lam=1.0)):
        result = mo.solve(model, time_limit=20.0)
        of_result, of_values, of_w = (model.explain(item) for item in (result, dict(result.values), {"w": result.values["w"]}))
        assert [(p.score, p.margin) for p in of_result.points] == [(p.score, p.margin) for p in of_values.points]
        assert of_values.points == of_w.points
        assert [c.label for c in of_w.constraints] == [c.label for c in of_values.constraints] != []
        with pytest.raises(mo.errors.InputError):
            model.explain({"v": result.values["w"]})
