"""The estimators against the models that they state, against scikit-learn's own solvers, and against themselves."""

from __future__ import annotations

import pickle
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV, PredefinedSplit
from sklearn.multiclass import OneVsOneClassifier, OneVsRestClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC, LinearSVC

import marginopt as mo
from marginopt.errors import InputError, NotSeparableError
from marginopt.models.kernels.kernels import RBF, Linear, Precomputed
from marginopt.solvers import solve

RNG = np.random.default_rng(5)
Y3 = RNG.integers(0, 3, size=90)
X3 = RNG.normal(size=(90, 4)) * [1.0, 5.0, 0.3, 1.0] + 1.2 * np.column_stack([Y3 == 0, Y3 == 1, Y3 == 2, np.zeros(90)]) + 3.0
TWO = Y3 < 2
X2, Y2 = X3[TWO], np.where(Y3[TWO] == 1, "yes", "no")
NEW = RNG.normal(size=(30, 4)) + 3.0
SIGNS = np.where(Y2 == "yes", 1.0, -1.0)
S = RNG.integers(0, 4, size=X2.shape[0])
WEIGHTED = [mo.L2SVC(C=2.0), mo.NCHSVC(), mo.HingeSVC(), mo.ZeroOneSVC()]
EVERY = [*WEIGHTED, mo.MaxMinSVC(), mo.ConicSVC()]


def scaled(X: np.ndarray, to: np.ndarray = X2) -> np.ndarray:
    return (X - to.mean(axis=0)) / to.std(axis=0)


def with_ones(X: np.ndarray) -> np.ndarray:
    return np.column_stack([np.ones(len(X)), X])


# -- the estimator is the model -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["L2SVC", "NCHSVC"])
def test_the_duals_decide_as_their_model_does(name: str) -> None:
    estimator = getattr(mo, name)(C=3.0, gamma=0.3, tol=1e-10).fit(X2, Y2)
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


@pytest.mark.parametrize(
    ("estimator", "model"),
    [
        (mo.HingeSVC(lam=2.0, tol=1e-10), mo.HingeSVM(with_ones(scaled(X2)), SIGNS, lam=2.0)),
        (mo.ConicSVC(lam=2.0, tol=1e-9), mo.ConicSVM(with_ones(scaled(X2)), SIGNS, lam=2.0)),
        (mo.ConicSVC(kappa=0.2, tol=1e-9), mo.ConicSVM(with_ones(scaled(X2)), SIGNS, kappa=0.2)),
        (mo.ZeroOneSVC(lam=0.3, tol=1e-9), mo.ZeroOneSVM(with_ones(scaled(X2)), SIGNS, lam=0.3)),
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
    estimator = mo.MaxMinSVC(parameter=parameter).fit(X2, Y2)
    root = np.sqrt(estimator.gamma_)
    assert np.shape(estimator.gamma_) == ((4,) if parameter == "per-feature" else ())
    model = mo.ConvexHullsDual(scaled(X2) * root, SIGNS, C=1.0, kernel=RBF(1.0))
    result = solve(model, tol=1e-10)
    f = model.decision_function(result.values, scaled(NEW) * root) / result.objective
    np.testing.assert_allclose(estimator.decision_function(NEW), f, rtol=1e-2, atol=1e-2)
    assert str(estimator.result_.status) == "stationary"


def test_the_conic_kernel_form_with_the_linear_kernel_is_the_primal_one() -> None:
    primal = mo.ConicSVC(lam=1.0, tol=1e-9).fit(X2[:40], Y2[:40])
    dual = mo.ConicSVC(lam=1.0, tol=1e-9, kernel=lambda X, Z: X @ Z.T).fit(X2[:40], Y2[:40])
    np.testing.assert_allclose(primal.decision_function(NEW), dual.decision_function(NEW), rtol=1e-3, atol=1e-4)
    assert dual.dual_coef_.shape == (1, dual.support_.size)


@pytest.mark.filterwarnings("ignore:auto-simplex on")  # tol = 1e-12 is less than float64 can certify
def test_the_l2_svm_is_scikit_learn_s_squared_hinge() -> None:
    ours = mo.L2SVC(C=1.6, kernel="linear", tol=1e-12).fit(X2, Y2)
    theirs = LinearSVC(C=0.8, loss="squared_hinge", tol=1e-10, max_iter=200_000).fit(scaled(X2), Y2)
    np.testing.assert_allclose(ours.decision_function(NEW), theirs.decision_function(scaled(NEW)), rtol=1e-5, atol=1e-6)


@pytest.mark.filterwarnings("ignore:auto-simplex on")  # tol = 1e-12 is less than float64 can certify
def test_the_two_hulls_are_a_hard_margin_svc_on_the_augmented_kernel() -> None:
    X, C = scaled(X2), 2.0
    K = RBF(0.4).matrix(X, X)
    theirs = SVC(C=1e10, kernel="precomputed", tol=1e-10).fit(K + np.eye(len(X)) / C, Y2)
    ours = mo.NCHSVC(C=C, gamma=0.4, tol=1e-12).fit(X2, Y2)
    alpha = np.zeros(len(X))
    alpha[theirs.support_] = theirs.dual_coef_[0]
    f = RBF(0.4).matrix(scaled(NEW), X) @ alpha + theirs.intercept_
    np.testing.assert_allclose(ours.decision_function(NEW), f, rtol=1e-4, atol=1e-5)


# -- certificates ---------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("estimator", EVERY, ids=lambda e: type(e).__name__)
def test_certificates_come_with_every_problem(estimator: Any) -> None:
    two, three = clone(estimator).fit(X2, Y2), clone(estimator).fit(X3, Y3)
    assert two.result_.solved
    assert two.certificate_ is two.result_.certificate
    assert two.certificate_.feasible(1e-6)
    assert two.pairs_ == [("no", "yes")]
    assert three.pairs_ == [(0, 1), (0, 2), (1, 2)]
    assert len(three.problem_) == len(three.result_) == len(three.certificate_) == 3
    for problem, result in zip(three.problem_, three.result_, strict=True):
        assert isinstance(problem, mo.Model)
        if not isinstance(estimator, mo.MaxMinSVC):
            assert result.gap <= (estimator.tol or 1e-6)
            assert result.bound_kind == "proved"


def test_a_budget_ends_the_search_with_an_honest_gap_and_no_warning() -> None:
    X, y = RNG.normal(size=(120, 8)), RNG.integers(0, 2, size=120)
    estimator = mo.ZeroOneSVC(node_limit=1).fit(X, y)
    assert str(estimator.result_.status) == "node limit"
    assert 0.0 < estimator.result_.gap < 1.0
    assert estimator.result_.bound <= estimator.problem_.objective(estimator.result_.values["w"])


def test_a_time_limit_that_is_no_budget_warns() -> None:
    from sklearn.exceptions import ConvergenceWarning

    with pytest.warns(ConvergenceWarning, match="time limit"):
        mo.L2SVC(time_limit=1e-9, tol=1e-14, C=1e6, solver="fw").fit(X2, Y2)


# -- weights --------------------------------------------------------------------------------------------------------------------


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
    plain = mo.L2SVC(tol=1e-10).fit(X2[rows], Y2[rows])
    assert {0, len(X2), len(X2) + 1} <= set(plain.support_.tolist())
    shares = plain.dual_coef_[0][np.isin(plain.support_, [0, len(X2), len(X2) + 1])]
    np.testing.assert_allclose(shares, shares[0])
    kernel = plain.kernel_.matrix(scaled(NEW, X2[rows]), scaled(X2[rows], X2[rows])[plain.support_])
    np.testing.assert_allclose(kernel @ plain.dual_coef_[0] + plain.intercept_[0], plain.decision_function(NEW), rtol=1e-9)


@pytest.mark.parametrize("estimator", WEIGHTED, ids=lambda e: type(e).__name__)
def test_class_weights_are_sample_weights(estimator: Any) -> None:
    factor = np.where(Y2 == "yes", 5.0, 0.5)
    by_class = clone(estimator).set_params(class_weight={"yes": 5.0, "no": 0.5}, standardise=False).fit(scaled(X2), Y2)
    by_point = clone(estimator).set_params(standardise=False).fit(scaled(X2), Y2, sample_weight=factor)
    np.testing.assert_allclose(by_class.problem_.X, by_point.problem_.X)
    tuned = clone(estimator).set_params(class_weight={"yes": 5.0, "no": 0.5}).fit(X2, Y2)
    assert (tuned.predict(X2) == "yes").sum() >= (clone(estimator).fit(X2, Y2).predict(X2) == "yes").sum()
    if not isinstance(estimator, mo.L2SVC | mo.NCHSVC):  # their rule for γ sees sample weights, not class weights
        np.testing.assert_allclose(by_class.decision_function(NEW), by_point.decision_function(NEW), rtol=1e-9)
    counts = {c: len(Y2) / (2 * Y2.tolist().count(c)) for c in ("yes", "no")}
    balanced = clone(estimator).set_params(class_weight="balanced").fit(X2, Y2)
    given = clone(estimator).set_params(class_weight=counts).fit(X2, Y2)
    np.testing.assert_allclose(balanced.decision_function(NEW), given.decision_function(NEW), rtol=1e-9)


# -- forms of data --------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("estimator", EVERY, ids=lambda e: type(e).__name__)
def test_sparse_data_give_what_dense_data_give(estimator: Any) -> None:
    X = scaled(X2) * (RNG.random(X2.shape) < 0.6)
    new = NEW * (RNG.random(NEW.shape) < 0.6)
    plain = clone(estimator).set_params(standardise=False)
    dense, sparse = clone(plain).fit(X, Y2), clone(plain).fit(sp.csr_matrix(X), Y2)
    expected = dense.decision_function(new)
    np.testing.assert_allclose(sparse.decision_function(sp.csr_array(new)), expected, rtol=1e-3, atol=1e-3)
    np.testing.assert_allclose(dense.decision_function(sp.csr_array(new)), expected, rtol=1e-9, atol=1e-9)
    # scaled sparse data stay sparse: the kernel's differences do not notice that they are not centred
    if isinstance(estimator, mo.L2SVC | mo.NCHSVC):
        dense, sparse = clone(estimator).fit(X, Y2), clone(estimator).fit(sp.csr_array(X), Y2)
        np.testing.assert_allclose(sparse.decision_function(new), dense.decision_function(new), rtol=1e-2, atol=1e-2)
        assert sp.issparse(sparse.problem_.X)


@pytest.mark.parametrize("name", ["L2SVC", "NCHSVC", "ConicSVC"])
@pytest.mark.parametrize("classes", [2, 3])
def test_a_precomputed_kernel_is_the_kernel(name: str, classes: int) -> None:
    X, y = (X2[:45], Y2[:45]) if classes == 2 else (X3[:45], Y3[:45])
    build = getattr(mo, name)
    tol = 1e-9 if name != "ConicSVC" else 1e-7
    own = build(kernel=RBF(0.2), standardise=False, tol=tol).fit(X, y)
    given = build(kernel="precomputed", tol=tol).fit(RBF(0.2).matrix(X, X), y)
    function = build(kernel=RBF(0.2).matrix, standardise=False, tol=tol).fit(X, y)
    f = own.decision_function(NEW)
    np.testing.assert_allclose(given.decision_function(RBF(0.2).matrix(NEW, X)), f, rtol=1e-2, atol=1e-3)
    np.testing.assert_allclose(function.decision_function(NEW), f, rtol=1e-2, atol=1e-3)
    assert given.__sklearn_tags__().input_tags.pairwise and not own.__sklearn_tags__().input_tags.pairwise
    assert clone(given).set_params(kernel=Precomputed()).__sklearn_tags__().input_tags.pairwise


def test_constant_features_and_scales_do_not_matter() -> None:
    wide = np.column_stack([X2 * [1e-6, 1.0, 1e6, 1e3], np.full(len(X2), 7.0)])
    new = np.column_stack([NEW * [1e-6, 1.0, 1e6, 1e3], np.zeros(len(NEW))])
    for estimator in (mo.HingeSVC(tol=1e-9), mo.L2SVC(tol=1e-9), mo.ConicSVC()):
        plain, scaled_up = clone(estimator).fit(X2, Y2), clone(estimator).fit(wide, Y2)
        np.testing.assert_allclose(scaled_up.decision_function(new), plain.decision_function(NEW), rtol=1e-3, atol=1e-4)


# -- several classes ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("estimator", [mo.L2SVC(gamma=0.3, tol=1e-9), mo.HingeSVC(tol=1e-9)], ids=lambda e: type(e).__name__)
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
    own = mo.MaxMinSVC().fit(X3, Y3)
    assert len(set(own.gamma_)) == 3
    shared = mo.MaxMinSVC(shared=True, tol=1e-5).fit(X3, Y3)
    gamma = shared.gamma_[0]
    assert shared.gamma_ == [gamma] * 3
    total = [_sum_of_optima(g) for g in (0.8 * gamma, gamma, 1.25 * gamma)]
    assert total[1] > total[0] and total[1] > total[2]
    with pytest.raises(InputError, match="per-feature"):
        mo.MaxMinSVC(shared=True, parameter="per-feature").fit(X3, Y3)


def _sum_of_optima(gamma: float) -> float:
    total = 0.0
    for i, j in ((0, 1), (0, 2), (1, 2)):
        pair = np.isin(Y3, (i, j))
        model = mo.ConvexHullsDual(scaled(X3[pair], X3), np.where(Y3[pair] == j, 1.0, -1.0), kernel=RBF(gamma))
        total += solve(model, "smo", tol=1e-9).objective
    return total


def test_jobs_do_not_change_the_answer() -> None:
    one, two = mo.L2SVC().fit(X3, Y3), mo.L2SVC(n_jobs=2).fit(X3, Y3)
    np.testing.assert_allclose(one.decision_function(NEW), two.decision_function(NEW), rtol=1e-6)


# -- choosing the parameter -----------------------------------------------------------------------------------------------------


def test_conic_cross_validation_is_a_loop_over_fits() -> None:
    fold = np.where(np.arange(len(X2)) % 3 == 0, 0, -1)  # one validation set, given by the user
    kappas = [0.05, 0.2, 0.4]
    chosen = mo.ConicSVCCV(kappas, cv=PredefinedSplit(fold)).fit(X2, Y2)
    train, test = fold == -1, fold == 0
    scores = [mo.ConicSVC(kappa=k).fit(X2[train], Y2[train]).score(X2[test], Y2[test]) for k in kappas]
    np.testing.assert_allclose(chosen.cv_scores_[:, 0], scores)
    best = kappas[int(np.argmax(scores))]
    assert chosen.kappa_ == best and chosen.best_score_ == max(scores)
    np.testing.assert_allclose(chosen.coef_, mo.ConicSVC(kappa=best).fit(X2, Y2).coef_, rtol=1e-9)
    other = mo.ConicSVCCV(kappas, cv=PredefinedSplit(fold), solver="clarabel").fit(X2, Y2)
    np.testing.assert_allclose(other.cv_scores_, chosen.cv_scores_)


def test_hinge_cross_validation_is_grid_search() -> None:
    chosen = mo.HingeSVCCV(lams=4, cv=3).fit(X3, Y3)
    beta = np.arange(1, 5) / 5
    np.testing.assert_allclose(chosen.values_, beta / (1 - beta))
    assert chosen.cv_scores_.shape == (4, 3)
    from sklearn.model_selection import StratifiedKFold

    folds = StratifiedKFold(3, shuffle=True, random_state=0)
    search = GridSearchCV(mo.HingeSVC(), {"lam": chosen.values_}, cv=folds).fit(X3, Y3)
    np.testing.assert_allclose(chosen.cv_scores_.mean(axis=1), search.cv_results_["mean_test_score"])
    assert chosen.lam_ == search.best_params_["lam"]


def test_paths_take_kernels_parts_and_jobs() -> None:
    K = RBF(0.2).matrix(X2[:40], X2[:40])
    by_matrix = mo.ConicSVCCV([0.1, 0.3], cv=0.3, kernel="precomputed").fit(K, Y2[:40])
    by_points = mo.ConicSVCCV([0.1, 0.3], cv=0.3, kernel=RBF(0.2), standardise=False, n_jobs=2).fit(X2[:40], Y2[:40])
    assert by_matrix.cv_scores_.shape == (2, 1)
    np.testing.assert_allclose(by_matrix.cv_scores_, by_points.cv_scores_)


def test_the_default_grids_are_the_paper_s() -> None:
    kappas, lams = mo.ConicSVCCV()._values(), mo.HingeSVCCV()._values()
    assert kappas.size == lams.size == 100
    assert kappas[0] == pytest.approx(0.005) and kappas[-1] == 0.5
    np.testing.assert_allclose(np.diff(lams / (1 + lams)), 1 / 101)


# -- manners --------------------------------------------------------------------------------------------------------------------


def test_warm_starts_along_c_and_with_new_points() -> None:
    X = RNG.normal(size=(600, 3))
    y = (X[:, 0] + 0.5 * RNG.normal(size=600) > 0).astype(int)
    warm = mo.L2SVC(C=30.0, warm_start=True, tol=1e-4, standardise=False, gamma=0.2, solver="smo").fit(X, y)
    warm.set_params(C=36.0).fit(X, y)
    cold = clone(warm).fit(X, y)
    assert warm.result_.iterations < cold.result_.iterations
    np.testing.assert_allclose(warm.decision_function(X), cold.decision_function(X), rtol=2e-2, atol=2e-2)
    grown = np.vstack([X, X[:5] + 0.1]), np.r_[y, y[:5]]
    warm.fit(*grown)
    assert warm.result_.iterations < clone(warm).fit(*grown).result_.iterations
    warm.fit(X[:50], y[:50])  # fewer rows: what is left of the last solution is a start all the same
    assert warm.result_.solved


@pytest.mark.parametrize("estimator", [*EVERY, mo.MEBOneClass()], ids=lambda e: type(e).__name__)
def test_fitted_estimators_pickle_without_kernel_matrices(estimator: Any) -> None:
    fitted = clone(estimator).fit(X2, Y2)
    blob = pickle.dumps(fitted)
    np.testing.assert_array_equal(pickle.loads(blob).decision_function(NEW), fitted.decision_function(NEW))
    assert "form" not in vars(fitted.problem_) and "simplex" not in vars(fitted.problem_)


def test_grid_search_and_pipelines() -> None:
    search = GridSearchCV(make_pipeline(StandardScaler(), mo.L2SVC()), {"l2svc__C": [0.1, 1.0, 10.0]}, cv=3).fit(X3, Y3)
    assert search.best_score_ > 0.4
    matrix = GridSearchCV(mo.L2SVC(kernel="precomputed"), {"C": [0.1, 1.0]}, cv=3).fit(RBF(0.1).matrix(X3, X3), Y3)
    assert matrix.best_score_ > 0.4  # the pairwise tag makes it slice rows and columns


def test_polynomial_and_named_rules() -> None:
    estimator = mo.L2SVC(kernel="polynomial", degree=3, coef0=1.0).fit(X2, Y2)
    assert (estimator.kernel_.degree, estimator.kernel_.coef0) == (3, 1.0)
    assert estimator.kernel_.gamma == pytest.approx(1 / 8)  # mean squared distance of four standardised features
    assert mo.L2SVC(gamma="npsvc").fit(X2, Y2).kernel_.gamma == pytest.approx(1 / 8)
    assert mo.L2SVC().fit(X2, Y2).kernel_.gamma == pytest.approx(1 / 16)
    assert isinstance(mo.L2SVC(kernel="linear").fit(X2, Y2).kernel_, Linear)


@pytest.mark.parametrize(
    ("estimator", "message"),
    [
        (mo.L2SVC(C=0.0), "C must be a finite number > 0; it is 0"),
        (mo.L2SVC(kernel="gauss"), "kernel must be"),
        (mo.L2SVC(multi_class="all"), "multi_class must be"),
        (mo.L2SVC(class_weight="equal"), "class_weight must be"),
        (mo.L2SVC(class_weight={"yes": -1.0}), "class_weight must be > 0"),
        (mo.L2SVC(solver="libsvm"), "there is no solver"),
        (mo.L2SVC(tol=0.0), "tol must be a number > 0"),
        (mo.L2SVC(kernel="precomputed"), "square kernel matrix"),
        (mo.NCHSVC(gamma=-1.0), "gamma must be"),
        (mo.MaxMinSVC(gamma0=100.0), "gamma0 must lie in"),
        (mo.MaxMinSVC(parameter="sigma"), "parameter must be"),
        (mo.HingeSVC(lam=-1.0), "lam must be"),
        (mo.HingeSVC(lam="a"), "lam must be a number"),
        (mo.ZeroOneSVC(lam=0.0), "lam must be"),
        (mo.ZeroOneSVC(intercept="none"), "intercept must be"),
        (mo.ConicSVC(lam=1.0, kappa=0.1), "give lam or kappa, not both"),
        (mo.ConicSVC(kappa=2.0), "kappa must be in"),
        (mo.ConicSVCCV(kappas=0), "kappas must be a number of values"),
        (mo.ConicSVCCV(kappas=[0.0, 0.1]), "kappas must be a sequence of finite numbers > 0"),
        (mo.ConicSVCCV(kappas=[0.1, 1.5]), "the largest is 1.5"),
        (mo.HingeSVCCV(lams="many"), "lams must be a sequence of numbers"),
        (mo.HingeSVCCV(cv=1), "cv=1 folds"),
        (mo.HingeSVCCV(cv=1.5), "validation part"),
        (mo.HingeSVCCV(cv="five"), "cv must be"),
        (mo.MEBOneClass(contamination=0.7), "contamination must be"),
    ],
    ids=str,
)
def test_bad_parameters_are_named(estimator: Any, message: str) -> None:
    with pytest.raises(InputError, match=message):
        estimator.fit(X2, Y2)


def test_bad_data_are_named() -> None:
    with pytest.raises(InputError, match="it has one class"):
        mo.HingeSVC().fit(X2, np.zeros(len(X2)))
    with pytest.raises(InputError, match="one class among the points of positive weight"):
        mo.HingeSVC().fit(X2, Y2, sample_weight=Y2 == "yes")
    for weight, message in ((-np.ones(len(X2)), "≥ 0"), (np.zeros(len(X2)), "all are zero"), (np.ones(3), "shape")):
        with pytest.raises(InputError, match=message):
            mo.L2SVC().fit(X2, Y2, sample_weight=weight)
    with pytest.raises(InputError, match="too large to standardise"):
        mo.L2SVC().fit(X2 * 1e200, Y2)
    with pytest.raises(NotSeparableError, match="kappa > 0") as caught:
        mo.ConicSVC(kappa=0.0).fit(X2, Y2)
    f = np.asarray(caught.value.farkas)
    assert np.abs((f * SIGNS) @ with_ones(scaled(X2))).max() < 1e-6 and f.sum() == pytest.approx(1.0)
    with pytest.raises(InputError, match="smallest class has 1"):
        mo.HingeSVCCV().fit(X2, np.r_[["no"], np.full(len(X2) - 1, "yes")])


def test_separable_classes_at_kappa_zero_are_the_hard_margin() -> None:
    X, y = np.array([[0.0], [1.0], [4.0], [5.0]]), np.array([0, 0, 1, 1])
    estimator = mo.ConicSVC(kappa=0.0, standardise=False).fit(X, y)
    assert (estimator.predict(X) == y).all()
    assert np.abs(estimator.decision_function(X)).min() == pytest.approx(1.0, rel=1e-5)
