"""Binary classifiers are their models: decisions, certificates, weights, forms of data, several classes."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from classifier_data import EVERY, NEW, RNG, SIGNS, WEIGHTED, X2, X3, Y2, Y3, S, scaled, with_ones
from facts import about
from sklearn.base import clone
from sklearn.multiclass import OneVsOneClassifier, OneVsRestClassifier
from sklearn.svm import SVC, LinearSVC

import marginopt as mo
from marginopt.errors import InputError
from marginopt.models.kernels.kernels import RBF, Precomputed
from marginopt.solvers import solve


@pytest.mark.parametrize("name", ["L2SVC", "NCHSVC"])
def test_the_duals_decide_as_their_model_does(name: str) -> None:
    estimator = getattr(mo.estimators, name)(C=3.0, gamma=0.3, tol=1e-10).fit(X2, Y2)
    build = mo.L2SVMDual if name == "L2SVC" else mo.ConvexHullsDual
    model = build(scaled(X2), SIGNS, C=3.0, kernel=RBF(0.3))
    result = solve(model, tol=1e-10)
    f = model.decision_function(result.values, scaled(NEW))
    a = result.values["a"]
    norm = a @ model.simplex.gram.product(a)  # ρ of the L2-SVM; twice half the distance of the edges
    np.testing.assert_allclose(
        estimator.decision_function(NEW), f / (norm if name == "L2SVC" else 0.5 * norm), rtol=1e-4, atol=1e-5
    )
    np.testing.assert_array_equal(estimator.predict(NEW), np.where(f > 0, "yes", "no"))
    assert list(estimator.classes_) == ["no", "yes"]
    kernel = estimator.kernel_.matrix(scaled(NEW), scaled(X2)[estimator.support_])
    np.testing.assert_allclose(
        estimator.decision_function(NEW), kernel @ estimator.dual_coef_[0] + estimator.intercept_[0], rtol=1e-12, atol=1e-12
    )


@pytest.mark.filterwarnings("ignore:.* puts all .* into class")  # small costs and lopsided weights
@pytest.mark.parametrize(
    ("estimator", "model"),
    [
        (mo.estimators.HingeSVC(lam=2.0, tol=1e-10), mo.HingeSVM(with_ones(scaled(X2)), SIGNS, lam=2.0)),
        (mo.estimators.ConicSVC(lam=2.0, tol=1e-9), mo.ConicSVM(with_ones(scaled(X2)), SIGNS, lam=2.0)),
        (mo.estimators.ConicSVC(kappa=0.2, tol=1e-9), mo.ConicSVM(with_ones(scaled(X2)), SIGNS, kappa=0.2)),
        (mo.estimators.ZeroOneSVC(lam=0.3, tol=1e-9), mo.ZeroOneSVM(with_ones(scaled(X2)), SIGNS, lam=0.3)),
    ],
    ids=["hinge", "conic-lam", "conic-kappa", "zero-one"],
)
def test_the_linear_ones_decide_as_their_model_does(estimator: Any, model: Any) -> None:
    estimator = clone(estimator).fit(X2, Y2)
    result = solve(model, tol=1e-9)
    f = model.decision_function(result.values, with_ones(scaled(NEW)))
    np.testing.assert_allclose(estimator.decision_function(NEW), f, rtol=1e-3, atol=1e-4)
    np.testing.assert_allclose(NEW @ estimator.coef_[0] + estimator.intercept_[0], estimator.decision_function(NEW), atol=1e-12)
    assert estimator.result_.objective == pytest.approx(result.objective, rel=1e-6)


@pytest.mark.parametrize("parameter", ["gamma", "log-gamma", "per-feature"])
def test_maxmin_decides_as_the_hulls_at_its_gamma(parameter: str) -> None:
    estimator = mo.estimators.MaxMinSVC(parameter=parameter).fit(X2, Y2)
    root = np.sqrt(estimator.gamma_)
    assert np.shape(estimator.gamma_) == ((4,) if parameter == "per-feature" else ())
    model = mo.ConvexHullsDual(scaled(X2) * root, SIGNS, C=1.0, kernel=RBF(1.0))
    result = solve(model, tol=1e-10)
    f = model.decision_function(result.values, scaled(NEW) * root) / result.objective
    np.testing.assert_allclose(estimator.decision_function(NEW), f, rtol=1e-2, atol=1e-2)
    assert str(estimator.result_.status) == "stationary"


def test_the_conic_kernel_form_with_the_linear_kernel_is_the_primal_one() -> None:
    primal = mo.estimators.ConicSVC(lam=1.0, tol=1e-9).fit(X2[:40], Y2[:40])
    dual = mo.estimators.ConicSVC(lam=1.0, tol=1e-9, kernel=lambda X, Z: X @ Z.T).fit(X2[:40], Y2[:40])
    np.testing.assert_allclose(primal.decision_function(NEW), dual.decision_function(NEW), rtol=1e-3, atol=1e-4)
    assert dual.dual_coef_.shape == (1, dual.support_.size)


def test_the_l2_svm_is_scikit_learn_s_squared_hinge() -> None:
    ours = mo.estimators.L2SVC(C=1.6, kernel="linear", tol=1e-10).fit(X2, Y2)
    theirs = LinearSVC(C=0.8, loss="squared_hinge", tol=1e-10, max_iter=200_000).fit(scaled(X2), Y2)
    np.testing.assert_allclose(ours.decision_function(NEW), theirs.decision_function(scaled(NEW)), rtol=1e-5, atol=1e-6)


def test_the_two_hulls_are_a_hard_margin_svc_on_the_augmented_kernel() -> None:
    X, C = scaled(X2), 2.0
    K = RBF(0.4).matrix(X, X)
    theirs = SVC(C=1e10, kernel="precomputed", tol=1e-10).fit(K + np.eye(len(X)) / C, Y2)
    ours = mo.estimators.NCHSVC(C=C, gamma=0.4, tol=1e-10).fit(X2, Y2)
    alpha = np.zeros(len(X))
    alpha[theirs.support_] = theirs.dual_coef_[0]
    f = RBF(0.4).matrix(scaled(NEW), X) @ alpha + theirs.intercept_
    np.testing.assert_allclose(ours.decision_function(NEW), f, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("estimator", EVERY, ids=lambda e: type(e).__name__)
def test_certificates_come_with_every_problem(estimator: Any) -> None:
    two, three = clone(estimator).fit(X2, Y2), clone(estimator).fit(X3, Y3)
    budget = isinstance(estimator, mo.estimators.RampSVC)  # of nodes: an interval is proved, which may be open
    assert two.result_.solved or (budget and two.result_.status is mo.Status.NODE_LIMIT)
    assert two.certificate_ is two.result_.certificate
    assert two.certificate_.feasible(1e-6)
    assert two.pairs_ == [("no", "yes")]
    assert three.pairs_ == [(0, 1), (0, 2), (1, 2)]
    assert len(three.problem_) == len(three.result_) == len(three.certificate_) == 3
    for problem, result in zip(three.problem_, three.result_, strict=True):
        assert isinstance(problem, mo.Model)
        if not isinstance(estimator, mo.estimators.MaxMinSVC):
            assert result.gap <= (estimator.tol or 1e-6) or budget
            assert result.bound_kind == "proved"


def test_a_budget_ends_the_search_with_an_honest_gap_and_no_warning() -> None:
    X, y = RNG.normal(size=(120, 8)), RNG.integers(0, 2, size=120)
    estimator = mo.estimators.ZeroOneSVC(node_limit=1).fit(X, y)
    assert str(estimator.result_.status) == "node limit"
    assert 0.0 < estimator.result_.gap < 1.0
    assert estimator.result_.bound <= estimator.problem_.objective(estimator.result_.values["w"])


def test_a_time_limit_that_is_no_budget_warns() -> None:
    from sklearn.exceptions import ConvergenceWarning

    with pytest.warns(ConvergenceWarning):
        estimator = mo.estimators.L2SVC(time_limit=1e-9, tol=1e-14, C=1e6, solver="fw").fit(X2, Y2)
    assert estimator.result_.status is mo.Status.TIME_LIMIT


@pytest.mark.parametrize("estimator", WEIGHTED, ids=lambda e: type(e).__name__)
@pytest.mark.parametrize("form", [np.asarray, sp.csr_array], ids=["dense", "sparse"])
def test_weight_k_is_k_copies_to_the_last_bit(estimator: Any, form: Any) -> None:
    weighted = clone(estimator).fit(form(X2), Y2, sample_weight=S)
    order = RNG.permutation(S.sum())
    copies = clone(estimator).fit(form(np.repeat(X2, S, axis=0)[order]), np.repeat(Y2, S)[order])
    np.testing.assert_allclose(weighted.decision_function(NEW), copies.decision_function(NEW), rtol=1e-9, atol=1e-12)
    assert weighted.problem_.X.shape[0] == copies.problem_.X.shape[0] == (S > 0).sum()


def test_copies_share_their_point_s_coefficient() -> None:
    rows = np.r_[np.arange(len(X2)), 0, 0]
    plain = mo.estimators.L2SVC(tol=1e-10).fit(X2[rows], Y2[rows])
    assert {0, len(X2), len(X2) + 1} <= set(plain.support_.tolist())
    shares = plain.dual_coef_[0][np.isin(plain.support_, [0, len(X2), len(X2) + 1])]
    np.testing.assert_allclose(shares, shares[0])
    kernel = plain.kernel_.matrix(scaled(NEW, X2[rows]), scaled(X2[rows], X2[rows])[plain.support_])
    np.testing.assert_allclose(kernel @ plain.dual_coef_[0] + plain.intercept_[0], plain.decision_function(NEW), rtol=1e-9)


@pytest.mark.filterwarnings("ignore:.* puts all .* into class")  # small costs and lopsided weights
@pytest.mark.parametrize("estimator", WEIGHTED, ids=lambda e: type(e).__name__)
def test_class_weights_are_sample_weights(estimator: Any) -> None:
    factor = np.where(Y2 == "yes", 5.0, 0.5)
    by_class = clone(estimator).set_params(class_weight={"yes": 5.0, "no": 0.5}, standardise=False).fit(scaled(X2), Y2)
    by_point = clone(estimator).set_params(standardise=False).fit(scaled(X2), Y2, sample_weight=factor)
    np.testing.assert_allclose(by_class.problem_.X, by_point.problem_.X)
    tuned = clone(estimator).set_params(class_weight={"yes": 5.0, "no": 0.5}).fit(X2, Y2)
    assert (tuned.predict(X2) == "yes").sum() >= (clone(estimator).fit(X2, Y2).predict(X2) == "yes").sum()
    if not isinstance(
        estimator, mo.estimators.L2SVC | mo.estimators.NCHSVC
    ):  # their rule for γ sees sample weights, not class weights
        np.testing.assert_allclose(by_class.decision_function(NEW), by_point.decision_function(NEW), rtol=1e-9)
    counts = {c: len(Y2) / (2 * Y2.tolist().count(c)) for c in ("yes", "no")}
    balanced = clone(estimator).set_params(class_weight="balanced").fit(X2, Y2)
    fitted = clone(estimator).set_params(class_weight=counts).fit(X2, Y2)
    np.testing.assert_allclose(balanced.decision_function(NEW), fitted.decision_function(NEW), rtol=1e-9)


@pytest.mark.filterwarnings("ignore:.* puts all .* into class")  # small costs and lopsided weights
# a budget of nodes ends RampSVC where rounding leads it, and sparse sums round otherwise
@pytest.mark.parametrize(
    "estimator", [e for e in EVERY if not isinstance(e, mo.estimators.RampSVC)], ids=lambda e: type(e).__name__
)
def test_sparse_data_give_what_dense_data_give(estimator: Any) -> None:
    rng = np.random.default_rng(6)
    X = scaled(X2) * (rng.random(X2.shape) < 0.6)
    new = NEW * (rng.random(NEW.shape) < 0.6)
    plain = clone(estimator).set_params(standardise=False)
    dense, sparse = clone(plain).fit(X, Y2), clone(plain).fit(sp.csr_matrix(X), Y2)
    expected = dense.decision_function(new)
    np.testing.assert_allclose(sparse.decision_function(sp.csr_array(new)), expected, rtol=1e-3, atol=1e-3)
    np.testing.assert_allclose(dense.decision_function(sp.csr_array(new)), expected, rtol=1e-9, atol=1e-9)
    # scaled sparse data stay sparse: the kernel's differences do not notice that they are not centred
    if isinstance(estimator, mo.estimators.L2SVC | mo.estimators.NCHSVC):
        dense, sparse = clone(estimator).fit(X, Y2), clone(estimator).fit(sp.csr_array(X), Y2)
        np.testing.assert_allclose(sparse.decision_function(new), dense.decision_function(new), rtol=1e-2, atol=1e-2)
        assert sp.issparse(sparse.problem_.X)


@pytest.mark.parametrize("name", ["L2SVC", "NCHSVC", "ConicSVC"])
@pytest.mark.parametrize("classes", [2, 3])
def test_a_precomputed_kernel_is_the_kernel(name: str, classes: int) -> None:
    X, y = (X2[:45], Y2[:45]) if classes == 2 else (X3[:45], Y3[:45])
    build = getattr(mo.estimators, name)
    tol = 1e-9 if name != "ConicSVC" else 1e-7
    fitted = build(kernel=RBF(0.2), standardise=False, tol=tol).fit(X, y)
    refitted = build(kernel="precomputed", tol=tol).fit(RBF(0.2).matrix(X, X), y)
    function = build(kernel=RBF(0.2).matrix, standardise=False, tol=tol).fit(X, y)
    f = fitted.decision_function(NEW)
    np.testing.assert_allclose(refitted.decision_function(RBF(0.2).matrix(NEW, X)), f, rtol=1e-2, atol=1e-3)
    np.testing.assert_allclose(function.decision_function(NEW), f, rtol=1e-2, atol=1e-3)
    assert refitted.__sklearn_tags__().input_tags.pairwise and not fitted.__sklearn_tags__().input_tags.pairwise
    assert clone(refitted).set_params(kernel=Precomputed()).__sklearn_tags__().input_tags.pairwise


def test_constant_features_and_scales_do_not_matter() -> None:
    wide = np.column_stack([X2 * [1e-6, 1.0, 1e6, 1e3], np.full(len(X2), 7.0)])
    new = np.column_stack([NEW * [1e-6, 1.0, 1e6, 1e3], np.zeros(len(NEW))])
    for estimator in (mo.estimators.HingeSVC(tol=1e-9), mo.estimators.L2SVC(tol=1e-9), mo.estimators.ConicSVC()):
        plain, scaled_up = clone(estimator).fit(X2, Y2), clone(estimator).fit(wide, Y2)
        np.testing.assert_allclose(scaled_up.decision_function(new), plain.decision_function(NEW), rtol=1e-3, atol=1e-4)


@pytest.mark.parametrize(
    "estimator", [mo.estimators.L2SVC(gamma=0.3, tol=1e-9), mo.estimators.HingeSVC(tol=1e-9)], ids=lambda e: type(e).__name__
)
def test_several_classes_are_what_scikit_learn_makes_of_two(estimator: Any) -> None:
    X, new = scaled(X3, X3), scaled(NEW, X3)
    plain = clone(estimator).set_params(standardise=False)
    ovo = OneVsOneClassifier(plain).fit(X, Y3)
    ours = clone(plain).fit(X, Y3)
    np.testing.assert_allclose(ours.decision_function(new), ovo.decision_function(new), rtol=1e-4, atol=1e-4)
    np.testing.assert_array_equal(ours.predict(new), ovo.predict(new))
    ovr = OneVsRestClassifier(plain).fit(X, Y3)
    ours = clone(plain).set_params(multi_class="ovr").fit(X, Y3)
    np.testing.assert_allclose(ours.decision_function(new), ovr.decision_function(new), rtol=1e-4, atol=1e-4)
    np.testing.assert_array_equal(ours.predict(new), ovr.predict(new))
    assert ours.pairs_ == [(None, 0), (None, 1), (None, 2)]


def test_maxmin_s_gamma_is_each_pair_s_own_or_shared() -> None:
    fitted = mo.estimators.MaxMinSVC().fit(X3, Y3)
    assert len(set(fitted.gamma_)) == 3
    shared = mo.estimators.MaxMinSVC(shared=True, tol=1e-5).fit(X3, Y3)
    gamma = shared.gamma_[0]
    assert shared.gamma_ == [gamma] * 3
    total = [_sum_of_optima(g) for g in (0.8 * gamma, gamma, 1.25 * gamma)]
    assert total[1] > total[0] and total[1] > total[2]
    with pytest.raises(InputError, check=about("parameter")):
        mo.estimators.MaxMinSVC(shared=True, parameter="per-feature").fit(X3, Y3)


def _sum_of_optima(gamma: float) -> float:
    total = 0.0
    for i, j in ((0, 1), (0, 2), (1, 2)):
        pair = np.isin(Y3, (i, j))
        model = mo.ConvexHullsDual(scaled(X3[pair], X3), np.where(Y3[pair] == j, 1.0, -1.0), kernel=RBF(gamma))
        total += solve(model, "smo", tol=1e-9).objective
    return total


def test_jobs_do_not_change_the_answer() -> None:
    one, two = mo.estimators.L2SVC().fit(X3, Y3), mo.estimators.L2SVC(n_jobs=2).fit(X3, Y3)
    np.testing.assert_allclose(one.decision_function(NEW), two.decision_function(NEW), rtol=1e-6)
