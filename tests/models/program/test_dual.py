"""The dual form: its optimum is the primal's for every convex formulation, by solvers that share nothing."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest
import scipy.sparse as sp
from data import nine_points
from effort import part
from facts import about

import marginopt as mo
from marginopt.errors import UnsupportedModelError
from marginopt.models import (
    PSD,
    RBF,
    Block,
    BoxProgram,
    ChebyshevNPSVC,
    ConicSVM,
    Constraint,
    ConvexHullsDual,
    HingeQuadratic,
    HingeSVM,
    L1SVMDual,
    L2SVMDual,
    MEBDual,
    Model,
    NonparallelSVM,
    ParetoQP,
    Quadratic,
    RotatedSecondOrder,
    SecondOrder,
    StandardForm,
    Zero,
    ZeroOneSVM,
)
from marginopt.models.formulations.nonparallel.hinge_quadratic import HingeFactor
from marginopt.models.program.cones import Bilinear
from marginopt.models.program.dual import dual_form
from marginopt.solvers.certification.certificate import certify


def _models() -> list[Model]:
    X, y = nine_points()
    return [
        HingeSVM(X, y, lam=0.7),
        L1SVMDual(X, y, C=2.0, kernel=RBF(0.3)),
        L2SVMDual(X, y, C=2.0),
        MEBDual(X, kernel=RBF(0.5)),
        ConvexHullsDual(X, y),
        NonparallelSVM(X, y, 1.0),
        NonparallelSVM(X, y, 1.0, loss="pinball"),
        ChebyshevNPSVC(X, y, P=np.eye(3)[:, :2]),
        ParetoQP(X[:4], np.arange(4.0), gamma=0.5),
        HingeQuadratic(HingeFactor(np.eye(3), X), np.ones(3), np.ones(9), np.ones(9), np.zeros(9)),
        BoxProgram(X, -np.ones(9), 0.0, 1.0, 0.1),
        ConicSVM(X, y, lam=0.5),
        ConicSVM(X, y, kappa=0.4),
        ConicSVM(X, np.where(X[:, 1] > 0, 1.0, -1.0), kappa=0.0),
    ]


MODELS = _models()
every_model = pytest.mark.parametrize("k", range(len(MODELS)), ids=[model.name for model in MODELS])


@cache
def optimum(k: int, dual: bool) -> mo.Result:
    """Clarabel's of the k-th model or of its dual, which several laws need."""
    return mo.solve(MODELS[k].dual() if dual else MODELS[k].form, "clarabel", tol=1e-8)


@pytest.mark.parametrize(
    ("solver", "k"),
    [("clarabel", k) for k in range(len(MODELS))] + part([("scs", k) for k in range(len(MODELS))], 5),
    ids=lambda value: value if isinstance(value, str) else MODELS[value].name,
)
def test_strong_duality_of_every_convex_formulation(k: int, solver: str) -> None:
    """inf of the form = the form's own statement of its dual, solved apart; SCS at its own accuracy."""
    primal = optimum(k, dual=False)
    dual = optimum(k, dual=True) if solver == "clarabel" else mo.solve(MODELS[k].dual(), solver, tol=1e-5)
    assert dual.certificate is not None
    assert dual.objective == pytest.approx(primal.objective, rel=1e-6 if solver == "clarabel" else 2e-4, abs=1e-6)


@every_model
def test_the_multipliers_of_the_primal_are_a_point_of_the_dual(k: int) -> None:
    """Names: a block of the dual is called as the constraint whose multiplier it is, a constraint as the primal's block."""
    form, dual = MODELS[k].form, MODELS[k].dual()
    assert {c.label for c in form.constraints if c.rows} <= {b.label for b in dual.blocks}
    assert {b.label for b in form.blocks if b.size} <= {c.label for c in dual.constraints}
    result, solved = optimum(k, dual=False), optimum(k, dual=True)
    assert result.multipliers is not None
    assert solved.multipliers is not None
    x = np.concatenate([solved.multipliers[b.label] for b in form.blocks if b.size])
    certificate = certify(form, form.split(x), result.multipliers)
    assert certificate.primal_residual <= 1e-5
    assert certificate.objective == pytest.approx(form.objective(form.join(result.values)), rel=1e-4, abs=1e-5)


def test_random_cones_have_no_gap() -> None:
    """Second-order, rotated and semidefinite cones, equalities, bounds of all kinds, P by matrix and by factor."""
    rng = np.random.default_rng(5)
    for seed in part(range(6), 2):
        n = 5
        inner = rng.normal(size=n)
        cones = [(SecondOrder(3), [3.0, 0, 0]), (RotatedSecondOrder(3), [2.0, 2, 0]), (PSD.of_order(2), [2.0, 0, 2])]
        constraints = []
        for k, (cone, interior) in enumerate(cones):
            F = rng.normal(size=(3, n))
            constraints.append(Constraint(f"c{k}", sp.csr_array(F), np.array(interior) - F @ inner, cone))
        row = rng.normal(size=(1, n))
        constraints.append(Constraint("sum", sp.csr_array(row), -row @ inner, Zero(1)))
        R = rng.normal(size=(3, n))
        quadratic = Quadratic(factor=R) if seed % 2 else Quadratic(matrix=R.T @ R)
        lower, upper = np.full(n, -np.inf), np.full(n, np.inf)
        lower[:3], upper[2:4] = inner[:3] - 1.0, inner[2:4] + 0.5
        form = StandardForm(
            f"random {seed}", (Block("x", (2,)), Block("v", (3,))), rng.normal(size=n), tuple(constraints), lower, upper,
            np.zeros(n, dtype=bool), quadratic, 0.3, bool(seed % 3 == 0),
        )  # fmt: skip
        box = form.with_bounds(np.maximum(lower, inner - 9), np.minimum(upper, inner + 9))  # bounded, so both attain
        primal, dual = mo.solve(box, "clarabel", tol=1e-8), mo.solve(dual_form(box), "clarabel", tol=1e-8)
        assert dual.objective == pytest.approx(primal.objective, rel=1e-6, abs=1e-6)
        assert dual_form(box).maximise is not box.maximise


def test_integers_have_no_lagrangian_dual_of_the_same_optimum() -> None:
    X = np.column_stack([np.ones(4), [0.0, 1, 2, 3]])
    with pytest.raises(UnsupportedModelError, check=about("model")):
        ZeroOneSVM(X, [-1, 1, -1, 1], lam=1.0).dual()


@pytest.mark.parametrize("bilinear", [True, False])
def test_programs_that_are_not_convex_have_no_lagrangian_dual_of_the_same_optimum(bilinear: bool) -> None:
    """t ≥ x y, or the objective -x², over a box."""
    row = Constraint("product", sp.csr_array(np.eye(3)), np.zeros(3), Bilinear(3))
    form = StandardForm(
        "nonconvex", (Block("x", (3,)),), np.array([1.0, 0.0, 0.0]), (row,) if bilinear else (), -np.ones(3), np.ones(3),
        np.zeros(3, dtype=bool), None if bilinear else Quadratic(matrix=np.diag([0.0, -2.0, 0.0])),
    )  # fmt: skip
    with pytest.raises(UnsupportedModelError, check=about("model")):
        form.dual()


def test_prices_and_rows_of_the_dual_are_named_after_the_entries_that_they_are_of() -> None:
    """Two of six entries have a lower bound: their prices are called as they are, not as the first two."""
    lower = np.array([-np.inf, -np.inf, 0.0, -np.inf, 1.0, -np.inf])
    sums = Constraint("sum", sp.csr_array(np.ones((1, 6))), np.array([-3.0]), Zero(1))
    for block in (Block("x", (2, 3)), Block("x", (6,)), Block("x", (3, 3), symmetric=True)):
        form = StandardForm("p", (block,), np.ones(6), (sums,), lower, np.full(6, np.inf), np.zeros(6, dtype=bool))
        dual, names = form.dual(), block.names()
        assert dual.block("lower x").names() == [f"lower {names[j]}" for j in (2, 4)]
        assert dual.constraint("x").names() == names
        assert dual_form(form.with_bounds(np.zeros(6), np.full(6, np.inf))).block("lower x").names() == [
            f"lower {n}" for n in names
        ]
