"""The family of NPSVC++ Table 1: known optima, agreement with Clarabel, monotone majorisation, what coincides, bad input."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from facts import about

import marginopt.solvers as solvers
from marginopt.errors import InputError, UnsupportedModelError
from marginopt.instances import reference_optima
from marginopt.models import RBF, Linear, NonparallelSVM, nearest_hyperplane
from marginopt.solvers import Status
from marginopt.solvers.nonparallel.majorise import Majorisation

CONVEX = ["twsvm", "lstsvm", "npsvm", "pinball"]
NONCONVEX = ["correntropy", "capped"]
REFERENCE = [record for record in reference_optima() if record.formulation == "NonparallelSVM"]


def _data(seed: int = 0, n: int = 45) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    y = np.arange(n) % 3
    X = np.column_stack([np.ones(n), rng.normal(size=(n, 3))])
    X[y == 1, 1] += 2.5
    X[y == 2, 2] += 2.5
    return X, y


def _direct(model: NonparallelSVM, u: np.ndarray) -> float:
    """The objective from Table 1, written out."""
    f = model.features.rows @ u
    a, b = f[model.y == model.target], f[model.y != model.target]
    similarity = {
        "twsvm": a**2 / 2, "lstsvm": a**2 / 2, "pinball": a**2 / 2, "npsvm": np.maximum(np.abs(a) - model.epsilon, 0),
        "correntropy": 1 - np.exp(-model.gamma * np.abs(a)), "capped": np.minimum(np.abs(a), model.epsilon),
    }[model.loss]  # fmt: skip
    s = model.margin - b
    dissimilarity = {"lstsvm": s**2 / 2, "pinball": np.where(s >= 0, s, -model.tau * s)}.get(model.loss, np.maximum(s, 0))
    return float(similarity.sum() + model.c * dissimilarity.sum() + model.r / 2 * u @ u)


@pytest.mark.parametrize("record", REFERENCE, ids=[f"class{r.parameters['target']}" for r in REFERENCE])
@pytest.mark.parametrize("solver", ["boxqp", "clarabel", "auto"])
def test_reference_optima(record: Any, solver: str) -> None:
    p = record.parameters
    model = NonparallelSVM(record.X, record.y, p["target"], loss="twsvm", c=p["c"], r=p["r"])
    result = solvers.solve(model, solver)
    assert result.status is Status.OPTIMAL
    assert result.bound_kind == "proved"
    assert result.objective == pytest.approx(record.optimum, rel=1e-6)


@pytest.mark.parametrize("loss", CONVEX)
@pytest.mark.parametrize("kernel", [Linear(), RBF(0.4)], ids=["linear", "rbf"])
@pytest.mark.parametrize("manifold", [0.0, 0.5])
def test_convex_members_agree_with_clarabel(loss: Any, kernel: Any, manifold: float, assert_kkt: Any) -> None:
    X, y = _data()
    model = NonparallelSVM(X, y, 1, loss=loss, kernel=kernel, manifold=manifold, c=1.3, r=0.4, margin=1.2)
    ours, theirs = solvers.solve(model, "boxqp"), solvers.solve(model, "clarabel", tol=1e-9)
    assert ours.status is Status.OPTIMAL
    assert ours.bound_kind == "proved"
    assert ours.objective == pytest.approx(theirs.objective, rel=1e-7)
    assert ours.values["u"] == pytest.approx(theirs.values["u"], abs=1e-4)
    assert_kkt(model.form, ours, 1e-6)
    if manifold == 0.0:
        assert ours.objective == pytest.approx(_direct(model, ours.values["u"]), rel=1e-10)


@pytest.mark.parametrize("loss", ["twsvm", "npsvm", "pinball"])
def test_dual_is_a_program_of_its_own_with_the_negative_optimum(loss: Any) -> None:
    X, y = _data()
    model = NonparallelSVM(X, y, 2, loss=loss)
    program = model.program
    dual = solvers.solve(program.dual_program, "clarabel")
    assert program.box.offset is not None
    assert program.box.offset - dual.objective == pytest.approx(solvers.solve(model, "boxqp").objective, rel=1e-6)


def test_bound_holds_at_any_multipliers() -> None:
    X, y = _data()
    rng = np.random.default_rng(1)
    for loss in CONVEX:
        model = NonparallelSVM(X, y, 0, loss=loss)  # type: ignore[arg-type]
        optimum = solvers.solve(model, "boxqp").objective
        for _ in range(20):
            z = {c.label: rng.normal(size=c.rows) for c in model.form.constraints}
            assert model.bound(None, z).value <= optimum + 1e-9


def test_members_coincide_where_their_losses_do() -> None:
    X, y = _data()
    pinball, twsvm = (NonparallelSVM(X, y, 1, loss=loss, tau=0.0) for loss in ("pinball", "twsvm"))
    assert solvers.solve(pinball, "boxqp").objective == pytest.approx(solvers.solve(twsvm, "boxqp").objective, rel=1e-7)
    # a cap that no |f| reaches leaves |a|, which is the insensitive loss with epsilon = 0
    capped, plain = NonparallelSVM(X, y, 1, loss="capped", epsilon=1e3), NonparallelSVM(X, y, 1, loss="npsvm", epsilon=0.0)
    assert solvers.solve(capped, "npsvc-mm").objective == pytest.approx(solvers.solve(plain, "boxqp").objective, rel=1e-6)


@pytest.mark.parametrize("loss", NONCONVEX)
@pytest.mark.parametrize("kernel", [Linear(), RBF(0.4)], ids=["linear", "rbf"])
@pytest.mark.parametrize("initial", ["npsvm", "zero"])
def test_majorisation_never_raises_the_objective_and_ends_stationary(loss: Any, kernel: Any, initial: str) -> None:
    X, y = _data(3)
    model = NonparallelSVM(X, y, 1, loss=loss, kernel=kernel, epsilon=0.3, gamma=2.0)
    result = solvers.solve(model, Majorisation(initial=initial))
    objectives = result.details["objectives"]
    assert result.status is Status.STATIONARY
    assert np.isnan(result.gap), "a stationary point has no gap"
    assert (np.diff(objectives) < 0).all()
    assert result.details["stationarity"] <= 1e-8
    u = result.values["u"]
    assert result.objective == pytest.approx(_direct(model, u), rel=1e-9)
    assert result.objective == pytest.approx(solvers.solve(model.majorant(u), "clarabel").objective, rel=1e-6)


def test_majorant_lies_above_and_touches() -> None:
    X, y = _data()
    rng = np.random.default_rng(0)
    for loss in NONCONVEX:
        model = NonparallelSVM(X, y, 0, loss=loss, epsilon=0.4)  # type: ignore[arg-type]
        for _ in range(30):
            u, other = rng.normal(size=4), rng.normal(size=4)
            majorant = model.majorant(u)
            assert majorant.h.size == len(y), "one row for each point: the matrix of the dual is regular over a kernel"
            assert majorant.value(u) == pytest.approx(_direct(model, u))
            assert majorant.value(other) >= _direct(model, other) - 1e-9


def test_nonconvex_members_refuse_convex_solvers() -> None:
    X, y = _data()
    for loss in NONCONVEX:
        model = NonparallelSVM(X, y, 0, loss=loss)  # type: ignore[arg-type]
        for solver in ("clarabel", "boxqp"):
            with pytest.raises(UnsupportedModelError, match=r"integer|bilinear|view"):
                solvers.solve(model, solver)
        with pytest.raises(UnsupportedModelError, match="convex"):
            _ = model.program
    with pytest.raises(InputError, match="convex"):
        NonparallelSVM(X, y, 0).majorant(np.zeros(4))


@pytest.mark.parametrize("loss", CONVEX)
def test_prediction_is_the_nearest_hyperplane(loss: Any) -> None:
    X, y = _data(5, 90)
    names = np.array(["a", "b", "c"])[y]
    models = NonparallelSVM.one_per_class(X, names, loss=loss, kernel=RBF(0.5), r=0.05, offset=1.0)
    assert [m.target for m in models] == ["a", "b", "c"]
    assert models[1].features is models[0].features
    values = [solvers.solve(m, "boxqp").values for m in models]
    assert (nearest_hyperplane(models, values, X) == names).mean() >= 0.85
    f = models[0].features.rows @ values[0]["u"]
    norm = np.linalg.norm(values[0]["u"])
    # new rows are mapped through k(x, X)β; the ridge on the diagonal is the only difference
    beta = models[0].features.coefficients(values[0]["u"])
    assert models[0].decision_function(values[0], X) * norm == pytest.approx(f - models[0].ridge * beta, abs=1e-9)


@pytest.mark.parametrize(
    ("change", "name"),
    [
        ({"y": np.zeros(45)}, "y"),
        ({"y": np.r_[np.zeros(44), 1]}, "y"),
        ({"y": np.zeros(3)}, "y"),
        ({"target": 7}, "target"),
        ({"loss": "hinge"}, "loss"),
        ({"r": 0.0}, "r"),
        ({"c": -1.0}, "c"),
        ({"tau": -0.5}, "tau"),
        ({"loss": "capped", "epsilon": 0.0}, "epsilon"),
        ({"X": np.full((45, 2), np.nan)}, "X"),
        ({"kernel": 3}, "kernel"),
    ],
)
def test_bad_input_is_named(change: dict[str, Any], name: str) -> None:
    X, y = _data()
    with pytest.raises(InputError, check=about(name)):
        NonparallelSVM(**{"X": X, "y": y, "target": 0, **change})


def test_singular_kernel_asks_for_a_ridge() -> None:
    X, y = _data()
    twice = np.vstack([X, X])
    model = NonparallelSVM(twice, np.r_[y, y], 0, kernel=RBF(0.5), ridge=0.0)
    with pytest.raises(InputError, check=about("ridge")):
        solvers.solve(model, "boxqp")


@pytest.mark.parametrize("loss", [*CONVEX, *NONCONVEX])
def test_statement_names_the_losses(loss: Any) -> None:
    X, y = _data()
    model = NonparallelSVM(X, y, 0, loss=loss)
    assert loss in str(model)
    assert "sum_target" in str(model)
    assert r"\ell_s" in model.latex()
