"""The logistic loss: scikit-learn's optimum with a proved gap, bounds that no multipliers break, parts that it goes with."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.linear_model import LogisticRegression

import marginopt as mo
from marginopt.errors import InputError
from marginopt.models.views import LinearLoss, LinearProblem
from marginopt.rows import MemoryRows

pytestmark = pytest.mark.filterwarnings("ignore::marginopt.errors.MarginoptWarning")


def points(n: int = 120, p: int = 5, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """A column of ones, binary columns, one of heavy tails with an offset, duplicates; labels by a noisy line."""
    rng = np.random.default_rng(seed)
    X = np.column_stack([np.ones(n), rng.normal(size=(n, p - 1))])
    X[:, 1] = X[:, 1] > 0.3
    X[:, 2] = 5.0 + rng.standard_t(3, size=n)
    X[-10:] = X[:10]
    y = np.where(X[:, 1:] @ rng.normal(size=p - 1) - X[:, 2] * 0.1 + rng.logistic(size=n) > 0.2, 1.0, -1.0)
    y[:2] = [1.0, -1.0]
    return X, y


def theirs(X: object, y: np.ndarray, C: float, free: bool, weights: np.ndarray | None = None) -> np.ndarray:
    """scikit-learn's coefficients of ½||w||² + C Σ s_i log(1 + e^-m), the intercept first."""
    columns = X[:, 1:] if free else X
    fitted = LogisticRegression(C=C, fit_intercept=free, solver="newton-cg", tol=1e-12, max_iter=2000)
    fitted.fit(columns, y, sample_weight=weights)
    return np.concatenate([fitted.intercept_, fitted.coef_[0]]) if free else fitted.coef_[0]


@pytest.mark.parametrize("free", [False, True])
@pytest.mark.parametrize("C", [1e-3, 1.0, 1e3])
@pytest.mark.parametrize("kind", ["dense", "sparse", "weighted"])
def test_the_optimum_is_scikit_learns_and_proved(free: bool, C: float, kind: str) -> None:
    X, y = points()
    weights = np.linspace(0.1, 3.0, y.size) if kind == "weighted" else None
    data = sp.csr_array(X * (np.abs(X) > 0.6)) if kind == "sparse" else X
    cost = C if weights is None else C * weights
    model = mo.Margin(data, y, "logistic", "half-l2", intercept="free" if free else "penalised", sample_weight=cost)
    result = mo.solve(model, tol=1e-8)
    w = theirs(data, y, C, free, weights)
    assert result.solver == "linear-newton" and result.status is mo.Status.OPTIMAL
    assert result.gap <= 1e-8 and result.bound <= model.objective(w) * (1 + 1e-13)
    assert model.objective(w) == pytest.approx(result.objective, rel=1e-8)
    assert result.certificate.dual_residual <= 1e-3 and result.certificate.primal_residual <= 1e-12
    conic = mo.solve(model, "clarabel", tol=1e-6)
    assert conic.objective == pytest.approx(result.objective, rel=1e-6) and conic.bound <= result.objective * (1 + 1e-13)


@pytest.mark.parametrize("free", [False, True])
def test_rows_in_blocks_and_many_columns(free: bool) -> None:
    rng = np.random.default_rng(4)
    n, p = 400, 2100
    X = sp.csr_array(sp.hstack([np.ones((n, 1)), sp.random_array((n, p - 1), density=0.01, rng=rng)], format="csr"))
    y = np.where(np.asarray(X[:, 1:40].sum(axis=1)) + 0.3 * rng.normal(size=n) > 0.2, 1.0, -1.0)
    intercept = "free" if free else "penalised"
    model = mo.Margin(MemoryRows(X), y, "logistic", "half-l2", intercept=intercept, sample_weight=2.0)
    result = mo.solve(model, tol=1e-8)
    assert result.gap <= 1e-8
    stated = mo.Margin(X, y, "logistic", "half-l2", intercept=intercept, sample_weight=2.0)
    assert stated.objective(theirs(X, y, 2.0, free)) == pytest.approx(result.objective, rel=1e-8)
    with pytest.raises(InputError):
        mo.Margin(MemoryRows(X[:, ::-1]), y, "logistic", "half-l2", intercept="free")


@pytest.mark.parametrize("free", [False, True])
@pytest.mark.parametrize("seed", range(12))
def test_the_appraisal_encloses_the_exact_values(seed: int, free: bool) -> None:
    mp = pytest.importorskip("mpmath")
    rng = np.random.default_rng(seed)
    scale = 10.0 ** rng.uniform(-3, 3)
    X, y = rng.standard_normal((9, 3)) * scale, np.where(np.arange(9) % 2 == 0, 1.0, -1.0)
    X[:, 0] = 1.0
    c, mu, w = rng.uniform(0.1, 2.0, 9), 0.7, rng.standard_normal(3) / scale
    alpha = rng.uniform(-0.2, 2.2, 9)
    problem = LinearProblem(MemoryRows(X), y, c, mu, LinearLoss.LOGISTIC, free)
    appraisal = problem.appraise({"w": w}, {"margin": alpha})
    first = int(free)
    with mp.workprec(400):
        margins = [mp.mpf(yi) * mp.fdot(list(xi), list(w)) for xi, yi in zip(X.tolist(), y.tolist(), strict=True)]
        primal = mu * mp.fsum(mp.mpf(v) ** 2 for v in w[first:].tolist())
        primal += mp.fsum(mp.mpf(ci) * mp.log(1 + mp.exp(-m)) for ci, m in zip(c.tolist(), margins, strict=True))
        assert abs(mp.mpf(appraisal.objective) - primal) <= mp.mpf(appraisal.error)
        a = [mp.mpf(v) for v in np.clip(alpha, 0.0, c).tolist()]
        if free:  # those of one class scaled, exactly
            sums = {s: mp.fsum(v for v, yi in zip(a, y, strict=True) if yi == s) for s in (1.0, -1.0)}
            larger = max(sums, key=sums.__getitem__)
            a = [v * sums[-larger] / sums[larger] if yi == larger else v for v, yi in zip(a, y.tolist(), strict=True)]
        entropies = mp.mpf(0)
        for v, ci in zip(a, c.tolist(), strict=True):
            for part in (v, mp.mpf(ci) - v):
                entropies += part * mp.log(ci / part) if part > 0 else 0
        pulled = [mp.fsum(v * yi * mp.mpf(x) for v, yi, x in zip(a, y.tolist(), X[:, j].tolist(), strict=True)) for j in range(3)]
        dual = entropies - mp.fsum(v**2 for v in pulled[first:]) / (4 * mp.mpf(mu))
        assert mp.mpf(appraisal.bound) <= dual <= mp.mpf(appraisal.bound) + 4 * mp.mpf(appraisal.bound_error) + mp.mpf(1e-12)
        assert dual <= primal


@pytest.mark.parametrize("free", [False, True])
def test_no_multipliers_give_a_bound_above_the_optimum(free: bool) -> None:
    X, y = points(60)
    model = mo.Margin(X, y, "logistic", intercept="free" if free else "penalised", sample_weight=2.0)
    best = mo.solve(model, tol=1e-10)
    rng = np.random.default_rng(1)
    x = model.form.join(model.complete({"w": best.values["w"]}))
    for spread in (0.0, 1e-6, 1.0, 1e3):
        alpha = np.asarray(best.multipliers["margin"]) + spread * rng.normal(size=y.size)
        assert model.bound(x, {"margin": alpha}).value <= best.objective * (1 + 1e-13)
        others = {c.label: rng.normal(size=c.rows) for c in model.form.constraints}
        assert model.bound(x, others).value <= best.objective * (1 + 1e-13)
    assert model.dual_value(best.multipliers) == pytest.approx(best.objective, rel=1e-8)


def test_the_form_is_the_loss() -> None:
    X, y = points(40)
    model = mo.Margin(X, y, "logistic", "l2", sample_weight=3.0)
    w = np.random.default_rng(0).normal(size=X.shape[1])
    blocks = model.complete({"w": w})
    x = model.form.join(blocks)
    assert max(c.cone.violation(c.value(x)) for c in model.form.constraints) <= 1e-12
    assert model.form.objective(x) == pytest.approx(model.objective(w), rel=1e-12)
    assert blocks["right"] + blocks["wrong"] == pytest.approx(np.ones(40))
    assert blocks["right"] == pytest.approx(1.0 / (1.0 + np.exp(-y * (X @ w))))
    result = mo.solve(model, tol=1e-9)  # all multipliers follow from those of the margins
    for c in model.form.constraints:
        assert c.cone.dual_violation(np.asarray(result.multipliers[c.label])) <= 1e-9
    assert model.margin_reduction.obstacle


@pytest.mark.parametrize("intercept", ["penalised", "free"])
@pytest.mark.parametrize("name", ["l1", "elastic-net", "groups", "none"])
def test_regularisers(name: str, intercept: str) -> None:
    X, y = points(50)
    groups = (0, 0, 1, 1) if intercept == "free" else (0, 0, 1, 1, 1)
    model = mo.Margin(
        X, y, "logistic", mo.margin.GroupL1(groups) if name == "groups" else name, intercept=intercept, sample_weight=0.5
    )
    result = mo.solve(model, "clarabel", tol=1e-6)
    assert result.status is mo.Status.OPTIMAL and result.gap <= 1e-6 and np.isfinite(result.bound)
    assert model.objective(result.values["w"]) == pytest.approx(result.objective, rel=1e-7)
    rng = np.random.default_rng(0)
    for _ in range(50):
        w = result.values["w"] + 0.1 * rng.normal(size=5)
        assert model.objective(w) >= result.bound


def test_l1_is_cvxpys() -> None:
    cp = pytest.importorskip("cvxpy")
    X, y = points(50)
    result = mo.solve(mo.Margin(X, y, "logistic", "l1", sample_weight=0.5), "clarabel", tol=1e-6)
    w = cp.Variable(5)
    problem = cp.Problem(cp.Minimize(cp.norm1(w) + 0.5 * cp.sum(cp.logistic(-cp.multiply(y, X @ w)))))
    problem.solve(solver=cp.CLARABEL)
    assert result.objective == pytest.approx(problem.value, rel=1e-6)


@pytest.mark.parametrize(
    "more",
    [
        {"domain": mo.margin.Box(-0.1, 0.1)},
        {"domain": "nonnegative"},
        {"subject_to": mo.parity(np.arange(50) % 3 == 0, 0.01)},
        {"subject_to": mo.fixed({2: 0.0})},
        {"kernel": mo.RBF(0.3)},
    ],
    ids=["box", "nonnegative", "parity", "fixed", "kernel"],
)
def test_domains_restrictions_and_kernels(more: dict[str, object]) -> None:
    X, y = points(50)
    model = mo.Margin(X, y, "logistic", "half-l2", sample_weight=0.5, **more)
    result = mo.solve(model, tol=1e-6)
    assert result.status is mo.Status.OPTIMAL and result.gap <= 1e-6
    if "kernel" not in more:
        assert result.objective >= mo.solve(mo.Margin(X, y, "logistic", "half-l2", sample_weight=0.5)).objective * (1 - 1e-6)
        return
    K = np.exp(-0.3 * ((X[:, None] - X[None]) ** 2).sum(axis=2)) + 1.0  # a penalised intercept is k + 1
    values, vectors = np.linalg.eigh(K)
    images = vectors * np.sqrt(np.maximum(values, 0.0))
    same = mo.solve(mo.Margin(images, y, "logistic", "half-l2", sample_weight=0.5), tol=1e-8)
    assert result.objective == pytest.approx(same.objective, rel=1e-5)


def test_integers_beside_it_are_searched() -> None:
    pytest.importorskip("pyscipopt", reason="SCIP is not installed: pip install pyscipopt")
    X, y = points(20)
    model = mo.Margin(X, y, "logistic", domain=mo.margin.Integers(-1, 1))
    grid = np.array(list(itertools.product((-1.0, 0.0, 1.0), repeat=X.shape[1])))
    least = min(model.objective(w) for w in grid)
    assert mo.solve(model).objective == pytest.approx(least, rel=1e-6)


@pytest.mark.parametrize("C", [1e-2, 1e4])
def test_separable_data(C: float) -> None:
    X, y = points(60)
    X = np.column_stack([X, 3.0 * y])
    for intercept in ("penalised", "free"):
        model = mo.Margin(X, y, "logistic", "half-l2", intercept=intercept, sample_weight=C)
        result = mo.solve(model, tol=1e-7)
        assert result.status is mo.Status.OPTIMAL and result.gap <= 1e-7


def test_one_class_alone_has_a_bound() -> None:
    X, _ = points(30)
    problem = LinearProblem(MemoryRows(X), np.ones(30), np.ones(30), 0.5, LinearLoss.LOGISTIC, free=True)
    appraisal = problem.appraise({"w": np.array([30.0, 0.0, 0.0, 0.0, 0.0])}, {"margin": np.full(30, 0.5)})
    assert appraisal.bound <= 0.0 <= appraisal.objective <= 1e-10


def test_bad_input() -> None:
    X, y = points(20)
    with pytest.raises(InputError):
        mo.Margin(X, y, "logistics")
    with pytest.raises(InputError):
        mo.Margin(MemoryRows(X), y, "logistic", "l1")
    with pytest.raises(InputError):
        mo.Margin(X, y, "logistic", sample_weight=-1.0)
