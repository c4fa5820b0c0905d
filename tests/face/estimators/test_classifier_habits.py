"""Binary classifiers choose parameters, start warm, pickle, and name what is wrong with their data."""

from __future__ import annotations

import pickle
from typing import Any

import numpy as np
import pytest
from classifier_data import EVERY, NEW, RNG, SIGNS, X2, X3, Y2, Y3, scaled, with_ones
from facts import about
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV, PredefinedSplit
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import marginopt as mo
from marginopt.errors import InputError, NotSeparableError
from marginopt.models.kernels.kernels import RBF, Linear


def test_conic_cross_validation_is_a_loop_over_fits() -> None:
    fold = np.where(np.arange(len(X2)) % 3 == 0, 0, -1)  # one validation set, given by the user
    kappas = [0.05, 0.2, 0.4]
    chosen = mo.estimators.ConicSVCCV(kappas, cv=PredefinedSplit(fold)).fit(X2, Y2)
    train, test = fold == -1, fold == 0
    scores = [mo.estimators.ConicSVC(kappa=k).fit(X2[train], Y2[train]).score(X2[test], Y2[test]) for k in kappas]
    np.testing.assert_allclose(chosen.cv_scores_[:, 0], scores)
    best = kappas[int(np.argmax(scores))]
    assert chosen.kappa_ == best and chosen.best_score_ == max(scores)
    np.testing.assert_allclose(chosen.coef_, mo.estimators.ConicSVC(kappa=best).fit(X2, Y2).coef_, rtol=1e-9)
    other = mo.estimators.ConicSVCCV(kappas, cv=PredefinedSplit(fold), solver="clarabel").fit(X2, Y2)
    np.testing.assert_allclose(other.cv_scores_, chosen.cv_scores_)


@pytest.mark.parametrize("kind", ["HingeSVC", "ZeroOneSVC", "RampSVC", "SparseSVC", "MarginClassifier", "HingeSVCCV"])
def test_the_model_of_a_fit_has_the_names_of_features_and_classes(kind: str) -> None:
    pd = pytest.importorskip("pandas")
    frame = pd.DataFrame(X2, columns=[f"x {j}" for j in range(X2.shape[1])])
    labels = np.array(["no", "yes"])[np.unique(Y2, return_inverse=True)[1]]
    fitted = getattr(mo.estimators, kind)().fit(frame, labels)
    assert fitted.problem_.class_names == ("no", "yes")
    assert fitted.problem_.feature_names == ("intercept", *frame.columns)
    explanation = fitted.problem_.explain(fitted.result_)
    assert set(explanation.coefficients) == {"intercept", *frame.columns}
    assert {point.label for point in explanation.point_explanation.points} == {"no", "yes"}
    assert getattr(mo.estimators, kind)().fit(X2, np.where(labels == "yes", 1, -1)).problem_.data_names is None


def test_the_models_of_several_classes_have_the_names_of_theirs() -> None:
    words = np.array(["a", "b", "c"])[np.unique(Y3, return_inverse=True)[1]]
    pairs = [problem.class_names for problem in mo.estimators.HingeSVC().fit(X3, words).problem_]
    assert pairs == [("a", "b"), ("a", "c"), ("b", "c")]
    rest = [problem.class_names for problem in mo.estimators.HingeSVC(multi_class="ovr").fit(X3, words).problem_]
    assert rest == [("rest", "a"), ("rest", "b"), ("rest", "c")]
    assert mo.estimators.MulticlassSVC().fit(X3, words).problem_.class_names == ("a", "b", "c")


@pytest.mark.parametrize(
    ("estimator", "problem"),
    [
        (lambda: mo.estimators.MEBOneClass(), lambda fitted: fitted.problem_),
        (lambda: mo.estimators.NonparallelSVC(kernel="linear"), lambda fitted: fitted.problems_[1]),
        (lambda: mo.estimators.KernelNPSVC(kernel="linear", max_iter=2, tol=0.9), lambda fitted: fitted.problem_),
    ],
    ids=["ball", "nonparallel", "joint"],
)
def test_problems_without_an_intercept_column_have_the_names_of_the_features(estimator: Any, problem: Any) -> None:
    pd, rng = pytest.importorskip("pandas"), np.random.default_rng(3)
    frame, labels = pd.DataFrame(rng.normal(size=(16, 2)), columns=["age", "in come"]), np.resize(["no", "yes"], 16)
    model = problem(estimator().fit(frame, labels))
    assert model.feature_names == ("age", "in come")
    assert "features: age, in come" in str(model)
    assert problem(estimator().fit(frame.to_numpy(), labels)).feature_names == ()


def test_hinge_cross_validation_is_grid_search() -> None:
    chosen = mo.estimators.HingeSVCCV(lam_grid=4, cv=3).fit(X3, Y3)
    beta = np.arange(1, 5) / 5
    np.testing.assert_allclose(chosen.values_, beta / (1 - beta))
    assert chosen.cv_scores_.shape == (4, 3)
    from sklearn.model_selection import StratifiedKFold

    folds = StratifiedKFold(3, shuffle=True, random_state=0)
    search = GridSearchCV(mo.estimators.HingeSVC(), {"lam": chosen.values_}, cv=folds).fit(X3, Y3)
    np.testing.assert_allclose(chosen.cv_scores_.mean(axis=1), search.cv_results_["mean_test_score"])
    assert chosen.lam_ == search.best_params_["lam"]


def test_paths_take_kernels_parts_and_jobs() -> None:
    K = RBF(0.2).matrix(X2[:40], X2[:40])
    by_matrix = mo.estimators.ConicSVCCV([0.1, 0.3], cv=0.3, kernel="precomputed").fit(K, Y2[:40])
    by_points = mo.estimators.ConicSVCCV([0.1, 0.3], cv=0.3, kernel=RBF(0.2), standardise=False, n_jobs=2).fit(X2[:40], Y2[:40])
    assert by_matrix.cv_scores_.shape == (2, 1)
    np.testing.assert_allclose(by_matrix.cv_scores_, by_points.cv_scores_)


def test_the_default_grids_are_the_paper_s() -> None:
    kappas, lams = mo.estimators.ConicSVCCV()._values(), mo.estimators.HingeSVCCV()._values()
    assert kappas.size == lams.size == 100
    assert kappas[0] == pytest.approx(0.005) and kappas[-1] == 0.5
    np.testing.assert_allclose(np.diff(lams / (1 + lams)), 1 / 101)


def test_warm_starts_along_c_and_with_new_points() -> None:
    X = RNG.normal(size=(600, 3))
    y = (X[:, 0] + 0.5 * RNG.normal(size=600) > 0).astype(int)
    warm = mo.estimators.L2SVC(C=30.0, warm_start=True, tol=1e-4, standardise=False, gamma=0.2, solver="smo").fit(X, y)
    warm.set_params(C=36.0).fit(X, y)
    cold = clone(warm).fit(X, y)
    assert warm.result_.iterations < cold.result_.iterations
    np.testing.assert_allclose(warm.decision_function(X), cold.decision_function(X), rtol=2e-2, atol=2e-2)
    grown = np.vstack([X, X[:5] + 0.1]), np.r_[y, y[:5]]
    warm.fit(*grown)
    assert warm.result_.iterations < clone(warm).fit(*grown).result_.iterations
    warm.fit(X[:50], y[:50])  # fewer rows: what is left of the last solution is a start all the same
    assert warm.result_.solved


@pytest.mark.parametrize("estimator", [*EVERY, mo.estimators.MEBOneClass()], ids=lambda e: type(e).__name__)
def test_fitted_estimators_pickle_without_kernel_matrices(estimator: Any) -> None:
    fitted = clone(estimator).fit(X2, Y2)
    blob = pickle.dumps(fitted)
    np.testing.assert_array_equal(pickle.loads(blob).decision_function(NEW), fitted.decision_function(NEW))
    assert "form" not in vars(fitted.problem_) and "simplex" not in vars(fitted.problem_)


def test_grid_search_and_pipelines() -> None:
    search = GridSearchCV(make_pipeline(StandardScaler(), mo.estimators.L2SVC()), {"l2svc__C": [0.1, 1.0, 10.0]}, cv=3).fit(
        X3, Y3
    )
    assert search.best_score_ > 0.4
    matrix = GridSearchCV(mo.estimators.L2SVC(kernel="precomputed"), {"C": [0.1, 1.0]}, cv=3).fit(RBF(0.1).matrix(X3, X3), Y3)
    assert matrix.best_score_ > 0.4  # the pairwise tag makes it slice rows and columns


def test_polynomial_and_named_rules() -> None:
    estimator = mo.estimators.L2SVC(kernel="polynomial", degree=3, coef0=1.0).fit(X2, Y2)
    assert (estimator.kernel_.degree, estimator.kernel_.coef0) == (3, 1.0)
    assert estimator.kernel_.gamma == pytest.approx(1 / 8)  # mean squared distance of four standardised features
    assert mo.estimators.L2SVC(gamma="npsvc").fit(X2, Y2).kernel_.gamma == pytest.approx(1 / 8)
    assert mo.estimators.L2SVC().fit(X2, Y2).kernel_.gamma == pytest.approx(1 / 16)
    assert isinstance(mo.estimators.L2SVC(kernel="linear").fit(X2, Y2).kernel_, Linear)


@pytest.mark.parametrize(
    ("estimator", "name"),
    [
        (mo.estimators.L2SVC(C=0.0), "C"),
        (mo.estimators.L2SVC(kernel="gauss"), "kernel"),
        (mo.estimators.L2SVC(multi_class="all"), "multi_class"),
        (mo.estimators.L2SVC(class_weight="equal"), "class_weight"),
        (mo.estimators.L2SVC(class_weight={"yes": -1.0}), "class_weight"),
        (mo.estimators.L2SVC(solver="libsvm"), "libsvm"),
        (mo.estimators.L2SVC(tol=0.0), "tol"),
        (mo.estimators.L2SVC(kernel="precomputed"), "X"),
        (mo.estimators.NCHSVC(gamma=-1.0), "gamma"),
        (mo.estimators.MaxMinSVC(gamma0=100.0), "gamma0"),
        (mo.estimators.MaxMinSVC(parameter="sigma"), "parameter"),
        (mo.estimators.HingeSVC(lam=-1.0), "lam"),
        (mo.estimators.HingeSVC(lam="a"), "lam"),
        (mo.estimators.ZeroOneSVC(lam=0.0), "lam"),
        (mo.estimators.ZeroOneSVC(intercept="none"), "intercept"),
        (mo.estimators.ConicSVC(lam=1.0, kappa=0.1), "lam"),
        (mo.estimators.ConicSVC(kappa=2.0), "kappa"),
        (mo.estimators.ConicSVCCV(kappa_grid=0), "kappa_grid"),
        (mo.estimators.ConicSVCCV(kappa_grid=[0.0, 0.1]), "kappa_grid"),
        (mo.estimators.ConicSVCCV(kappa_grid=[0.1, 1.5]), "kappa_grid"),
        (mo.estimators.HingeSVCCV(lam_grid="many"), "lam_grid"),
        (mo.estimators.HingeSVCCV(cv=1), "cv"),
        (mo.estimators.HingeSVCCV(cv=1.5), "cv"),
        (mo.estimators.HingeSVCCV(cv="five"), "cv"),
        (mo.estimators.MEBOneClass(contamination=0.7), "contamination"),
    ],
    ids=str,
)
def test_bad_parameters_are_named(estimator: Any, name: str) -> None:
    with pytest.raises(InputError, check=about(name)):
        estimator.fit(X2, Y2)


def test_bad_data_are_named() -> None:
    with pytest.raises(InputError, check=about("y")):
        mo.estimators.HingeSVC().fit(X2, np.zeros(len(X2)))
    with pytest.raises(InputError, check=about("y")):
        mo.estimators.HingeSVC().fit(X2, Y2, sample_weight=Y2 == "yes")
    for weight, name in (
        (-np.ones(len(X2)), "sample_weight"),
        (np.zeros(len(X2)), "sample_weight"),
        (np.ones(3), "sample_weight"),
    ):
        with pytest.raises(InputError, check=about(name)):
            mo.estimators.L2SVC().fit(X2, Y2, sample_weight=weight)
    with pytest.raises(InputError, check=about("X")):
        mo.estimators.L2SVC().fit(X2 * 1e200, Y2)
    with pytest.raises(NotSeparableError, check=about("kappa")) as caught:
        mo.estimators.ConicSVC(kappa=0.0).fit(X2, Y2)
    f = np.asarray(caught.value.farkas)
    assert np.abs((f * SIGNS) @ with_ones(scaled(X2))).max() < 1e-6 and f.sum() == pytest.approx(1.0)
    with pytest.raises(InputError, check=about("cv")):
        mo.estimators.HingeSVCCV().fit(X2, np.r_[["no"], np.full(len(X2) - 1, "yes")])


def test_separable_classes_at_kappa_zero_are_the_hard_margin() -> None:
    X, y = np.array([[0.0], [1.0], [4.0], [5.0]]), np.array([0, 0, 1, 1])
    estimator = mo.estimators.ConicSVC(kappa=0.0, standardise=False).fit(X, y)
    assert (estimator.predict(X) == y).all()
    assert np.abs(estimator.decision_function(X)).min() == pytest.approx(1.0, rel=1e-5)
