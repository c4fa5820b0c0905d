"""What `model.explain(result)` says is true of the solution; every sentence on multipliers is checked."""

from __future__ import annotations

import xml.etree.ElementTree as ET
from typing import Any

import numpy as np
import pytest

import marginopt as mo
from marginopt.models.explain import MEANINGS

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
    result, said = _solved(mo.HingeSVM(_X, _Y, lam=lam))
    assert result.multipliers is not None
    assert result.reduced is not None
    alpha, w = result.multipliers["margin"], result.values["w"]
    u = _Y * (_X @ w)
    np.testing.assert_allclose(w, 0.5 * _X.T @ (alpha * _Y), atol=1e-5)
    assert (alpha[u > 1 + 1e-3] < 1e-4).all()
    np.testing.assert_allclose(alpha[u < 1 - 1e-3], lam, atol=1e-4)
    np.testing.assert_allclose(result.reduced["xi"], lam - alpha, atol=1e-5)
    assert said.misclassified == tuple(np.flatnonzero(u < 0))
    assert set(np.flatnonzero(alpha > 1e-3)) <= set(said.support)
    for p in said.points:
        assert p.margin == pytest.approx(u[p.index])
        assert ("misclassified" in p.kind) == (u[p.index] < 0)
        assert ("inside the margin" in p.kind) == (0 <= u[p.index] < 1 - 1e-6)
    assert _row(said, "margin").active == (u + result.values["xi"] < 1 + 1e-5).sum()
    assert _row(said, "bounds").rows == _N


def test_conic() -> None:
    model = mo.ConicSVM(_X, _Y, kappa=0.2)
    result, said = _solved(model)
    assert result.multipliers is not None
    gamma = result.multipliers["hull"]
    assert np.linalg.eigvalsh(np.eye(3) - (_X * gamma[:, None]).T @ _X)[0] > -1e-5
    near = mo.solve(mo.ConicSVM(_X, _Y, kappa=0.2 + 1e-3), "clarabel", tol=1e-8)
    price = float(result.multipliers["budget"][0])
    assert (result.objective - near.objective) / (1e-3 * _N) == pytest.approx(price, rel=2e-2)
    assert _row(said, "budget").active == 1
    assert _row(said, "lifted").active == 1  # W = ww' in some direction: on the cone's boundary
    assert "gamma*" in _row(said, "hull").meaning


def test_l2_svm() -> None:
    model = mo.L2SVMDual(_X, _Y, 2.0, mo.RBF(0.5))
    result, said = _solved(model)
    assert result.multipliers is not None
    assert result.reduced is not None
    a = result.values["a"]
    product = model.simplex.gram.product(a)
    rho = float(a @ product)
    assert float(result.multipliers["sum"][0]) == pytest.approx(rho, rel=1e-5)
    np.testing.assert_allclose(result.reduced["a"], product - rho, atol=1e-6)
    assert len(said.support) == (a > 1e-6 * a.max()).sum()
    scores = model.decision_function(result.values, _X)
    assert said.misclassified == tuple(np.flatnonzero(_Y * scores < 0))


def test_ball() -> None:
    model = mo.MEBDual(_X, mo.RBF(0.5))
    result, said = _solved(model)
    assert result.multipliers is not None
    assert result.reduced is not None
    a = result.values["a"]
    centre = float(a @ model.gram.product(a))
    assert float(result.multipliers["sum"][0]) == pytest.approx(centre - result.objective, rel=1e-5)
    np.testing.assert_allclose(result.reduced["a"], result.objective - model.squared_distances(result.values), atol=1e-5)
    assert said.points == ()


def test_hulls() -> None:
    model = mo.ConvexHullsDual(_X, _Y, C=2.0, kernel=mo.RBF(0.5))
    result, said = _solved(model)
    assert result.multipliers is not None
    assert result.reduced is not None
    product = model.simplex.gram.product(result.values["a"])
    p, q = result.multipliers["sum"]
    assert p == pytest.approx(product[_Y > 0].min(), abs=1e-5)
    assert q == pytest.approx(product[_Y < 0].min(), abs=1e-5)
    assert p + q == pytest.approx(2 * result.objective, rel=1e-5)
    np.testing.assert_allclose(result.reduced["a"], product - np.where(_Y > 0, p, q), atol=1e-5)
    assert "p and q" in str(said)


def test_mixed_integer_models_have_no_weights() -> None:
    X, y = _X[:14], _Y[:14]
    model = mo.ZeroOneSVM(X, y, lam=0.5)
    result, said = _solved(model, "scip")
    assert said.support == ()
    given_up = set(np.flatnonzero(result.values["z"] > 0.5))
    assert {p.index for p in said.points if p.margin < 1 - 1e-6} == given_up
    assert "no multipliers" in str(said)


def test_every_meaning_belongs_to_a_constraint_of_its_model() -> None:
    models = [
        mo.HingeSVM(_X, _Y),
        mo.ConicSVM(_X, _Y, kappa=0.2),
        mo.ConicSVM(_X, _Y, kappa=0.0),
        mo.L2SVMDual(_X, _Y),
        mo.MEBDual(_X),
        mo.ConvexHullsDual(_X, _Y),
        mo.ZeroOneSVM(_X, _Y),
    ]
    labels: dict[str, set[str]] = {}
    for model in models:
        labels.setdefault(model.name, {"bounds"}).update(c.label for c in model.form.constraints)
    assert set(MEANINGS) == set(labels)
    for name, meanings in MEANINGS.items():
        assert set(meanings) <= labels[name]


@pytest.mark.parametrize("model", [mo.HingeSVM(_X, _Y), mo.L2SVMDual(_X[:, 1:], _Y, 2.0, mo.RBF(0.5))], ids=lambda m: m.name)
def test_the_picture(model: mo.Model) -> None:
    _, said = _solved(model)
    picture = said.picture()
    assert ET.fromstring(picture.svg).tag.endswith("svg")
    assert picture.svg == said.picture().svg


def test_what_cannot_be_drawn_or_explained_is_named() -> None:
    X = np.column_stack([_X, _RNG.normal(size=_N)])
    _, said = _solved(mo.HingeSVM(X, _Y))
    with pytest.raises(mo.InputError, match="two features that vary"):
        said.picture()
    _, ball = _solved(mo.MEBDual(_X))
    with pytest.raises(mo.InputError, match="no classifier"):
        ball.picture()
    model = mo.HingeSVM(_X, _Y)
    result, _ = _solved(model)
    import dataclasses

    with pytest.raises(mo.InputError, match="no point to explain"):
        model.explain(dataclasses.replace(result, values={}))
    with pytest.raises(mo.InputError, match="values for w, xi are missing"):
        model.explain(mo.solve(mo.MEBDual(_X), "clarabel"))


def test_the_table_is_cut_and_says_so() -> None:
    _, said = _solved(mo.HingeSVM(_X, _Y))
    assert said.table(5).splitlines()[-1] == f"  ... and {_N - 5} more"
    assert len(said.table(_N).splitlines()) == _N + 1
    assert "<pre" in said._repr_html_()
