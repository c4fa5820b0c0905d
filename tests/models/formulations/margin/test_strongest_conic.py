"""`ConicSVM` is `StrongestConic` with a norm, bit by bit; the loss is the largest of the conic losses."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest
from facts import about, subjects

import marginopt as mo
from marginopt import margin
from marginopt.errors import InputError, MarginoptWarning, UnsupportedModelError
from marginopt.models.formulations.margin.parts_by_name import LOSSES

RNG = np.random.default_rng(5)
N = 14
Y = np.repeat([-1.0, 1.0], N // 2)
X = np.column_stack([np.ones(N), RNG.normal(size=(N, 2)) + 0.5 * Y[:, None]])


def written_out(A: np.ndarray, metric: np.ndarray, lam: float, kappa: float | None) -> tuple[Any, ...]:
    """q, bounds and the constraints (label, F, g) of Conic (21), entry by entry."""
    n, p = A.shape
    pairs = [(i, j) for j in range(p) for i in range(j + 1)]
    sizes = {"w": p, "W": len(pairs), "z": n, "r_plus": n, "r_minus": n, "s": n, "t": n}
    at = dict(zip(sizes, np.cumsum([0, *sizes.values()]), strict=False))
    total = sum(sizes.values())
    two = np.sqrt(2.0)
    lifted = np.zeros(((p + 1) * (p + 2) // 2, total))
    for k, (i, j) in enumerate((u, v) for v in range(p + 1) for u in range(v + 1)):
        if i == 0 and j > 0:
            lifted[k, at["w"] + j - 1] = two
        elif i > 0:
            lifted[k, at["W"] + pairs.index((i - 1, j - 1))] = 1.0
    hull, split = np.zeros((n, total)), np.zeros((n, total))
    violated, computed = np.zeros((3 * n, total)), np.zeros((3 * n, total))
    for i, a in enumerate(A):
        for k, (u, v) in enumerate(pairs):
            hull[i, at["W"] + k] = a[u] * a[v] * (1.0 if u == v else two)
        hull[i, :p], hull[i, at["s"] + i], hull[i, at["t"] + i] = -2.0 * a, -1.0, -1.0
        split[i, :p], split[i, at["r_plus"] + i], split[i, at["r_minus"] + i] = a, 1.0, -1.0
        violated[3 * i, at["s"] + i], violated[3 * i + 1, at["z"] + i], violated[3 * i + 2, at["r_plus"] + i] = 0.5, 1.0, 1.0
        computed[3 * i, at["t"] + i], computed[3 * i + 1, at["z"] + i], computed[3 * i + 2, at["r_minus"] + i] = 0.5, -1.0, 1.0
    rows = [
        ("lifted", lifted, np.eye(1, lifted.shape[0])[0]),
        ("hull", hull, np.ones(n)),
        ("split", split, -np.ones(n)),
        ("violated", violated, np.zeros(3 * n)),
        ("kept", computed, np.tile([0.0, 1.0, 0.0], n)),
    ]
    q, lower, upper = np.zeros(total), np.full(total, -np.inf), np.full(total, np.inf)
    q[at["W"] : at["z"]] = [metric[u, v] * (1.0 if u == v else two) for u, v in pairs]
    lower[at["z"] : at["s"]], upper[at["z"] : at["z"] + n] = 0.0, 1.0
    if kappa is None:
        q[at["z"] : at["z"] + n] = lam
    else:
        rows.append(("budget", -np.eye(total)[at["z"] : at["z"] + n].sum(axis=0)[None], np.array([kappa * n])))
    return list(sizes), q, lower, upper, rows


@pytest.mark.parametrize("kernel", [None, mo.RBF(0.5)])
@pytest.mark.parametrize("cost", [{"lam": 0.7}, {"kappa": 0.3}])
def test_the_conic_svm_compiles_from_its_parts_to_the_last_bit(cost: dict[str, float], kernel: Any) -> None:
    model = mo.ConicSVM(X, Y, kernel=kernel, **cost)
    metric = np.eye(3) if kernel is None else model.metric
    labels, q, lower, upper, rows = written_out(model.signed, metric, model.lam or 0.0, model.kappa)
    form = model.form
    assert form.name == "ConicSVM"
    assert form.quadratic is None
    assert [b.label for b in form.blocks] == labels
    assert [c.label for c in form.constraints] == [label for label, _, _ in rows]
    for computed, wanted in ((form.q, q), (form.lower, lower), (form.upper, upper)):
        np.testing.assert_array_equal(computed, wanted)
    for label, F, g in rows:
        np.testing.assert_array_equal(form.constraint(label).F.toarray(), F)
        np.testing.assert_array_equal(form.constraint(label).g, g)
    assert not form.integer.any()
    assert isinstance(model.composition, mo.Margin)


def test_the_hard_margin_is_no_composition() -> None:
    """κ = 0 is the QP that it is."""
    assert mo.ConicSVM(X, Y, kappa=0.0).composition is None


@pytest.mark.parametrize("regulariser", ["half-l2", margin.SquaredNorm(3.0)])
def test_any_multiple_of_the_squared_norm_has_the_view(regulariser: str | margin.SquaredNorm) -> None:
    """With half the squared norm only Clarabel read it, and 5 of 40 small problems had no proved optimum."""
    model = mo.Margin(X, Y, "strongest-conic", regulariser, sample_weight=0.7)
    ours, other = mo.solve(model, "conic-ipm"), mo.solve(model, "clarabel", tol=1e-8)
    assert ours.status is mo.Status.OPTIMAL and ours.bound_kind == "proved"
    assert ours.objective == pytest.approx(other.objective, rel=1e-6)


def test_the_composition_is_solved_by_the_conic_method_and_by_the_form() -> None:
    conic = mo.ConicSVM(X, Y, lam=0.7)
    parts = mo.Margin(X, Y, "strongest-conic", sample_weight=0.7)
    wanted = mo.solve(conic, tol=1e-8).objective
    for solver in ("conic-ipm", "clarabel"):
        result = mo.solve(parts, solver, tol=1e-8)
        assert result.objective == pytest.approx(wanted, rel=1e-6)
        assert result.bound <= result.objective * (1 + 1e-9)
    np.testing.assert_allclose(result.multipliers["hull"], mo.solve(conic, "clarabel", tol=1e-8).multipliers["hull"], atol=1e-4)


@pytest.mark.parametrize(("regulariser", "mu"), [(margin.SquaredNorm(0.5), 0.5), (margin.ElasticNet(0.3, 0.8), 0.8)])
def test_it_is_the_largest_of_the_conic_losses(regulariser: margin.Regulariser, mu: float) -> None:
    """At γ* the conic loss has the same optimum, at any other γ in Γ no larger one, and the 0-1 loss no smaller one."""
    costs = RNG.uniform(0.3, 1.2, N)
    strongest = mo.solve(mo.Margin(X, Y, "strongest-conic", regulariser, sample_weight=costs), "clarabel", tol=1e-8)
    A = Y[:, None] * X

    def at(gamma: np.ndarray) -> float:
        inside = gamma * min(0.999999 * mu / np.linalg.eigvalsh((A * gamma[:, None]).T @ A)[-1], 1.0)
        return mo.solve(
            mo.Margin(X, Y, margin.Conic(tuple(inside)), regulariser, sample_weight=costs), "clarabel", tol=1e-8
        ).objective

    assert at(np.maximum(strongest.multipliers["hull"], 0.0)) == pytest.approx(strongest.objective, rel=1e-4)
    for _ in range(5):
        assert at(RNG.exponential(size=N)) <= strongest.objective * (1 + 1e-6)
    exact = mo.solve(mo.Margin(X, Y, "zero-one", regulariser, sample_weight=costs), "scip")
    assert strongest.objective <= exact.objective * (1 + 1e-6)


def test_a_budget_of_violations_is_that_of_the_count() -> None:
    """For the 0-1 loss it is the κ form of `ZeroOneSVM`: hard margins of every subset that may be kept."""
    few = np.array([0, 1, 2, 7, 8, 9])
    hard = []
    for choice in itertools.combinations(few, 4):
        result = mo.solve(mo.ConicSVM(X[list(choice)], Y[list(choice)], kappa=0.0), "clarabel")
        hard.append(result.objective if result.status is mo.Status.OPTIMAL else np.inf)
    parts = mo.Margin(
        X[few], Y[few], "zero-one", sample_weight=0.0, subject_to=margin.ViolationBudget(0.4), domain=margin.Box(-3.0, 3.0)
    )
    assert mo.solve(parts, "scip").objective == pytest.approx(min(hard), rel=1e-5)
    assert margin.ViolationBudget(0.3).violation(X, Y, np.zeros(3)) == pytest.approx(0.7 * N)


def test_refusals() -> None:
    with pytest.raises(InputError, check=about("regulariser")):
        mo.Margin(X, Y, "strongest-conic", "l1")
    with pytest.raises(InputError, check=about("regulariser")):
        mo.Margin(X, Y, "strongest-conic", intercept="free", subject_to=margin.ViolationBudget(0.3))
    with pytest.raises(InputError, check=about("regulariser")):
        mo.Margin(X, Y, "conic", intercept="free")
    with pytest.raises(UnsupportedModelError, check=about("loss")):
        mo.Margin(X, Y, "strongest-conic").objective(np.zeros(3))
    with pytest.raises(InputError, check=about("loss")):
        _ = mo.Margin(X, Y, subject_to=margin.ViolationBudget(0.3)).form
    with pytest.raises(InputError, check=about("K")):
        margin.KernelNorm(np.triu(np.ones((2, 2))))
    with pytest.raises(InputError, check=about("K")):
        margin.KernelNorm(-np.eye(2))
    with pytest.raises(InputError, check=about("K")):
        mo.Margin(X, Y, regulariser=margin.KernelNorm(np.eye(2)))


def test_the_kernel_norm_is_that_of_the_images() -> None:
    """The hinge over K's rows with w'Kw is the hinge over the images."""
    K = mo.RBF(0.5).matrix(X, X) + 1.0
    with pytest.warns(MarginoptWarning) as caught:  # the kernel has it
        rows = mo.Margin(K, Y, regulariser=margin.KernelNorm(0.5 * (K + K.T)), sample_weight=0.8)
    assert subjects(caught) == ["intercept"]
    images = mo.Margin(X, Y, sample_weight=0.8, kernel=mo.RBF(0.5))
    result, wanted = (mo.solve(model, "clarabel", tol=1e-8) for model in (rows, images))
    assert result.objective == pytest.approx(wanted.objective, rel=1e-6)
    values = result.values
    assert rows.objective(values["w"]) == pytest.approx(rows.form.objective(rows.form.join(values)), rel=1e-6)


@pytest.mark.parametrize("loss", sorted(LOSSES))
def test_an_error_budget_counts_by_integers_whatever_the_loss_measures(loss: str) -> None:
    """The relaxed count z of `StrongestConic` is below the number of errors: a budget of it would allow more of them."""
    try:
        model = mo.Margin(X, Y, loss, subject_to=mo.error_budget(-1, 0.3), domain=margin.Box(-3.0, 3.0))
    except InputError:  # a loss without margins of classes
        assert not LOSSES[loss].reads_class_labels
        return
    (row,) = (c for c in model.form.constraints if c.label == "budget count")
    assert row.F.indices.size == N // 2 and model.form.integer[row.F.indices].all()
    relaxed = mo.solve(model.relaxed(), "clarabel")
    assert relaxed.values and model.exact_point(relaxed.values).keys() == relaxed.values.keys()
