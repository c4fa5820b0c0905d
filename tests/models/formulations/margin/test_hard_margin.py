"""The hard-margin SVM: other statements of it, its dual, and data without a separating hyperplane."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.svm import SVC

import marginopt as mo
from marginopt.models.kernels.kernels import RBF

pytestmark = pytest.mark.filterwarnings("ignore::marginopt.errors.MarginoptWarning")


def separable(seed: int, n: int = 30) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    X = np.column_stack([np.ones(n), rng.normal(size=(n, 2))])
    score = X @ [0.3, 1.0, -0.5]
    keep = np.abs(score) > 0.2
    return X[keep], np.sign(score[keep])


@pytest.mark.parametrize("seed", range(3))
def test_it_is_the_svm_of_a_high_cost_and_the_conic_svm_without_violations(seed: int) -> None:
    X, y = separable(seed)
    free = mo.solve(mo.HardMarginSVM(X, y))
    other = SVC(kernel="linear", C=1e8, tol=1e-8).fit(X[:, 1:], y)
    assert free.objective == pytest.approx(0.5 * float((other.coef_**2).sum()), rel=1e-5)
    assert (y * (X @ free.values["w"]) >= 1.0 - 1e-6).all()
    penalised = mo.solve(mo.HardMarginSVM(X, y, intercept="penalised"))
    assert penalised.objective == pytest.approx(0.5 * mo.solve(mo.ConicSVM(X, y, kappa=0.0)).objective, rel=1e-6)
    assert free.objective <= penalised.objective + 1e-9
    hinge = mo.Margin(X, y, "hinge", "half-l2", intercept="free", sample_weight=1e6)
    assert free.objective == pytest.approx(mo.solve(hinge).objective, rel=1e-5)


def test_the_dual_value_of_its_multipliers_is_the_optimum_and_none_is_above() -> None:
    X, y = separable(3)
    model = mo.HardMarginSVM(X, y)
    result = mo.solve(model, "clarabel", tol=1e-9)
    alpha = np.maximum(result.multipliers["margin"], 0.0)
    positive = y > 0
    alpha[positive] *= alpha[~positive].sum() / alpha[positive].sum()
    assert model.dual_value({"margin": alpha}) == pytest.approx(result.objective, rel=1e-5)
    assert model.dual_value({"margin": alpha}) <= result.objective * (1 + 1e-7)
    assert "alpha_i >= 0" in str(model) or "αᵢ ≥ 0" in str(model)


def test_data_that_no_hyperplane_separates_are_infeasible_and_a_kernel_separates_them() -> None:
    X = np.array([[1.0, -1.0], [1.0, 0.0], [1.0, 1.0]])
    y = np.array([1.0, -1.0, 1.0])
    result = mo.solve(mo.HardMarginSVM(X, y))
    assert result.status is mo.Status.INFEASIBLE
    kernel = mo.solve(mo.HardMarginSVM(X[:, 1:], y, kernel=RBF(1.0)))
    assert kernel.status is mo.Status.OPTIMAL
    one = mo.Margin(X, y, mo.margin.HardMargin())
    assert one.objective(np.array([0.0, 1.0])) == np.inf
