"""`LogisticRegression`: scikit-learn's coefficients and probabilities; several classes; what is refused."""

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.datasets import load_breast_cancer, load_iris
from sklearn.linear_model import LogisticRegression
from sklearn.multiclass import OneVsRestClassifier
from sklearn.preprocessing import StandardScaler

import marginopt as mo
from marginopt.errors import InputError

pytestmark = pytest.mark.filterwarnings("ignore::marginopt.errors.MarginoptWarning")
X, Y = load_breast_cancer(return_X_y=True)
X = StandardScaler().fit_transform(X[::3, :8])
Y = np.array(["no", "yes"])[Y[::3]]


@pytest.mark.parametrize(("intercept", "solver"), [("free", "newton-cholesky"), ("penalised", "liblinear")])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("sparse", [False, True])
def test_it_is_scikit_learns(intercept: str, solver: str, weighted: bool, sparse: bool) -> None:
    weight = np.random.default_rng(0).integers(0, 4, Y.size) if weighted else None
    data = sp.csr_array(X * (np.abs(X) > 0.5)) if sparse else X
    ours = mo.estimators.LogisticRegression(0.7, intercept=intercept, standardise=False, tol=1e-11).fit(
        data, Y, sample_weight=weight
    )
    theirs = LogisticRegression(C=0.7, solver=solver, tol=1e-10, max_iter=10_000).fit(data, Y, sample_weight=weight)
    assert ours.result_.gap <= 1e-11
    assert ours.coef_ == pytest.approx(theirs.coef_, abs=1e-4) and ours.intercept_ == pytest.approx(theirs.intercept_, abs=1e-4)
    assert ours.predict_proba(data) == pytest.approx(theirs.predict_proba(data), abs=1e-5)
    assert ours.predict_log_proba(data) == pytest.approx(np.log(ours.predict_proba(data)), rel=1e-9)
    assert (ours.predict(data) == theirs.predict(data)).all()
    w = np.concatenate([theirs.intercept_, theirs.coef_[0]])
    assert ours.problem_.objective(w) == pytest.approx(ours.result_.objective, rel=1e-8)


def test_several_classes() -> None:
    data, labels = load_iris(return_X_y=True)
    ours = mo.estimators.LogisticRegression(2.0, standardise=False, tol=1e-10).fit(data, labels)
    theirs = OneVsRestClassifier(LogisticRegression(C=2.0, tol=1e-10, max_iter=10_000)).fit(data, labels)
    shares = ours.predict_proba(data)
    assert shares == pytest.approx(theirs.predict_proba(data), abs=1e-4)
    assert shares.sum(axis=1) == pytest.approx(np.ones(150)) and (shares.argmax(axis=1) == ours.predict(data)).all()
    far = ours.predict_log_proba(1e4 * data)
    assert np.isfinite(far).all() and np.isfinite(ours.predict_proba(1e4 * data)).all()


def test_what_is_refused() -> None:
    data, labels = load_iris(return_X_y=True)
    votes = mo.estimators.LogisticRegression(multi_class="ovo").fit(data, labels)
    with pytest.raises(InputError):
        votes.predict_proba(data)
    for bad in ({"C": 0.0}, {"C": "one"}, {"intercept": "none"}, {"multi_class": "multinomial"}):
        with pytest.raises(InputError):
            mo.estimators.LogisticRegression(**bad).fit(X, Y)
