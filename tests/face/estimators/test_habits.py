"""scikit-learn's habits: names of kernels and rules, verbose, set_output, shapes of decision_function, what has no weights."""

from __future__ import annotations

import inspect
from typing import Any

import numpy as np
import pandas as pd
import pytest
from facts import about
from sklearn.base import is_classifier, is_regressor
from sklearn.calibration import CalibratedClassifierCV
from sklearn.datasets import make_blobs
from sklearn.metrics import brier_score_loss
from sklearn.svm import SVC
from sklearn.utils.validation import has_fit_parameter

import marginopt as mo
from marginopt.errors import InputError
from marginopt.models.kernels.kernels import gamma_by_rule

X2, Y2 = make_blobs(40, centers=2, random_state=0)
X3, Y3 = make_blobs(45, centers=3, random_state=1)
#: Estimators with a decision function: all that do not regress.
DECIDING = {name: info for name, info in mo.estimators().items() if not is_regressor(info.make())}
CLASSIFIERS = {name: info for name, info in mo.estimators().items() if is_classifier(info.make())}


def test_kernels_and_rules_have_scikit_learn_s_names() -> None:
    poly = mo.estimators.L2SVC(kernel="poly", degree=2, gamma=0.5, coef0=1.0).fit(X2, Y2)
    same = mo.estimators.L2SVC(kernel="polynomial", degree=2, gamma=0.5, coef0=1.0).fit(X2, Y2)
    np.testing.assert_array_equal(poly.decision_function(X2), same.decision_function(X2))
    for rule in ("scale", "auto"):
        theirs = SVC(gamma=rule).fit(X2, Y2)
        assert gamma_by_rule(rule, X2) == pytest.approx(theirs._gamma, rel=1e-12)  # type: ignore[arg-type]
        ours = mo.estimators.L2SVC(gamma=rule, standardise=False).fit(X2, Y2)
        assert ours.kernel_.gamma == pytest.approx(theirs._gamma, rel=1e-12)


@pytest.mark.parametrize("info", DECIDING.values(), ids=DECIDING)
def test_decision_functions_have_scikit_learn_s_shapes(info: Any) -> None:
    two = info.make().fit(X2, Y2)
    assert two.decision_function(X2).shape == (40,)
    if "y is not used" in (inspect.getdoc(info.estimator.fit) or ""):
        return
    try:
        three = info.make().fit(X3, Y3)
    except mo.errors.InputError as error:
        assert error.name == "y"
        return
    assert three.decision_function(X3).shape == (45, 3)
    if hasattr(two, "set_output") and hasattr(two, "transform"):
        names = two.get_feature_names_out()
        assert len(names) == two.transform(X2).shape[1]


@pytest.mark.parametrize("wrong", ["a", float("nan")], ids=["text", "nan"])
@pytest.mark.parametrize("info", mo.estimators().values(), ids=mo.estimators())
def test_numbers_that_are_none_are_refused_in_our_words(info: Any, wrong: Any) -> None:
    """Parameters that this kernel or no approximation reads may be anything; random_state is scikit-learn's to check."""
    estimator = info.make()
    numbers = [name for name, value in estimator.get_params().items() if type(value) in (int, float) and name != "random_state"]
    assert numbers
    for name in numbers:
        try:
            info.make().set_params(**{name: wrong}).fit(X2, Y2)
        except mo.errors.InputError:
            continue
        assert name in ("degree", "coef0", "gamma", "components"), f"{name} = {wrong!r} is taken"


@pytest.mark.parametrize("info", mo.estimators().values(), ids=mo.estimators())
def test_what_takes_no_weights_says_so(info: Any) -> None:
    if not has_fit_parameter(info.estimator(), "sample_weight"):
        assert "no weights" in inspect.getdoc(info.estimator.fit).replace("\n", " ")
        with pytest.raises(TypeError):
            info.make().fit(X2, Y2, sample_weight=np.ones(40))
    with pytest.raises(TypeError):
        info.make().fit(X2, Y2, groups=Y2)


@pytest.mark.parametrize("name", [name for name, info in mo.estimators().items() if "n_jobs" in info.make().get_params()])
@pytest.mark.parametrize("jobs", ["x", 0, True])
def test_a_wrong_n_jobs_is_refused_by_its_name(name: str, jobs: object) -> None:
    with pytest.raises(InputError, check=about("n_jobs")):
        mo.estimators()[name].make().set_params(n_jobs=jobs).fit(X2, Y2)


def test_verbose_tells_of_progress(capsys: pytest.CaptureFixture[str]) -> None:
    for estimator in (mo.estimators.L2SVC, mo.estimators.KernelNPSVC, mo.estimators.NonparallelSVC):
        estimator(verbose=True).fit(X2, Y2)
        assert ": " in capsys.readouterr().err
    mo.estimators.L2SVC().fit(X2, Y2)
    assert capsys.readouterr().err == ""


def test_verbose_lets_other_solvers_speak(capfd: pytest.CaptureFixture[str]) -> None:
    mo.estimators.HingeSVC(solver="piqp", verbose=True).fit(X2, Y2)
    assert "PIQP" in capfd.readouterr().out
    mo.estimators.HingeSVC(solver="piqp").fit(X2, Y2)
    assert capfd.readouterr().out == ""


@pytest.mark.parametrize("info", CLASSIFIERS.values(), ids=CLASSIFIERS)
def test_scikit_learn_calibrates_them(info: Any) -> None:
    """Probabilities by Platt's fit on folds, in the order of the classes, better than chance."""
    calibrated = CalibratedClassifierCV(info.make(), method="sigmoid", cv=2).fit(X2, Y2)
    probability = calibrated.predict_proba(X2)
    np.testing.assert_allclose(probability.sum(axis=1), 1.0)
    assert brier_score_loss(Y2, probability[:, 1]) < 0.25


def test_features_are_set_out_as_frames() -> None:
    pd = pytest.importorskip("pandas")
    fitted = mo.estimators.KernelNPSVC().set_output(transform="pandas").fit(X3, Y3)
    assert isinstance(fitted.transform(X3), pd.DataFrame)


@pytest.mark.parametrize("kind", ["object", "category", "string"])
@pytest.mark.parametrize("info", mo.estimators().values(), ids=mo.estimators())
def test_a_column_of_words_is_named(info: Any, kind: str) -> None:
    frame = pd.DataFrame(X2, columns=["a", "b"]).assign(colour=pd.Series(["red", "blue"] * 20, dtype=kind))
    with pytest.raises(InputError, check=about("X")) as caught:
        info.make().fit(frame, Y2)
    assert "colour" in str(caught.value)


def test_a_column_of_words_is_named_of_new_points_too() -> None:
    fitted = mo.estimators.HingeSVC().fit(pd.DataFrame(X2, columns=["a", "b"]), Y2)
    with pytest.raises(InputError, check=about("X")):
        fitted.predict(pd.DataFrame({"a": ["red"], "b": [1.0]}))


@pytest.mark.parametrize("missing", [None, float("nan"), pd.NA], ids=str)
@pytest.mark.parametrize("name", CLASSIFIERS)
def test_labels_that_are_missing_are_counted(name: str, missing: Any) -> None:
    words = pd.Series(["no", "yes"] * 19 + ["no", missing], dtype="string" if missing is pd.NA else object)
    with pytest.raises(InputError, check=about("y")):
        CLASSIFIERS[name].make().fit(X2, words)


def test_faults_that_scikit_learn_names_stay_its_own() -> None:
    for X, y in ((np.where(X2 > 0.0, np.nan, X2), Y2), (X2, Y2[:30]), (X2[:, 0], Y2)):
        with pytest.raises(ValueError) as caught:
            mo.estimators.HingeSVC().fit(X, y)
        assert not isinstance(caught.value, InputError)
