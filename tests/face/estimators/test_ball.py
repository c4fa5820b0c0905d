"""`MEBOneClass`: the enclosing ball as a detector of novelties."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp

import marginopt as mo
from marginopt.models.kernels.kernels import RBF

RNG = np.random.default_rng(11)
X = RNG.normal(size=(80, 3)) * [1.0, 10.0, 0.1] + 5.0


def test_the_ball_encloses_every_point_and_only_touches_its_support() -> None:
    estimator = mo.estimators.MEBOneClass(kernel="linear", contamination=0.0, standardise=False, tol=1e-10).fit(X)
    assert (estimator.predict(X) == 1).all()
    centre = estimator.dual_coef_[0] @ X[estimator.support_]
    distance = np.linalg.norm(X - centre, axis=1)
    assert estimator.radius_ == pytest.approx(distance.max(), rel=1e-9)
    np.testing.assert_allclose(estimator.score_samples(X), -(distance**2), rtol=1e-9)
    np.testing.assert_allclose(distance[estimator.support_], estimator.radius_, rtol=1e-5)
    assert estimator.predict(centre + np.array([[0.0, 2 * estimator.radius_, 0.0]])) == [-1]
    assert estimator.result_.objective == pytest.approx(estimator.radius_**2, rel=1e-6)
    assert estimator.certificate_.gap < 1e-9


def test_contamination_is_the_part_outside() -> None:
    for part in (0.05, 0.25):
        estimator = mo.estimators.MEBOneClass(contamination=part).fit(X)
        assert (estimator.predict(X) == -1).sum() == 80 * part
        np.testing.assert_allclose(estimator.decision_function(X), estimator.score_samples(X) - estimator.offset_)


def test_scaling_sparse_and_precomputed_agree() -> None:
    scaled = (X - X.mean(axis=0)) / X.std(axis=0)
    fitted = mo.estimators.MEBOneClass(gamma=0.3, tol=1e-9).fit(X)
    matrix = mo.estimators.MEBOneClass(kernel="precomputed", tol=1e-9).fit(RBF(0.3).matrix(scaled, scaled))
    np.testing.assert_allclose(fitted.score_samples(X), matrix.score_samples(RBF(0.3).matrix(scaled, scaled)), atol=1e-5)
    sparse = mo.estimators.MEBOneClass(gamma=0.3, tol=1e-9).fit(sp.csr_array(X))  # not centred, which the kernel does not see
    np.testing.assert_allclose(fitted.score_samples(X), sparse.score_samples(sp.csr_array(X)), atol=1e-5)
    far = mo.estimators.MEBOneClass().fit(X).predict(X + np.array([0.0, 1e4, 0.0]))
    assert (far == -1).all()
