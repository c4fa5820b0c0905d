"""The paper's generators: shapes, statistics, seeds, test sets."""

from __future__ import annotations

import math

import numpy as np
import pytest
from facts import about

from marginopt.errors import DataError, InputError
from marginopt.instances import (
    FlippedLabels,
    GaussianClusters,
    Instance,
    clean_test_set,
    flipped_labels,
    gaussian_clusters,
    rings,
)

OUTLIERS = ["none", "clustered", "spread"]


def normal_tail(z):
    """P(N(0, 1) > z)."""
    return 0.5 * math.erfc(z / math.sqrt(2.0))


def misclassified(data, w):
    return float(np.mean(data.y * (data.X @ w) < 0))


@pytest.mark.parametrize("outliers", OUTLIERS)
def test_shape_intercept_and_rule(outliers):
    data = gaussian_clusters(200, 5, 0.5, outliers, seed=3)
    assert data.X.shape == (200, 6)
    assert data.intercept
    assert np.all(data.X[:, 0] == 1.0)
    assert set(data.y) == {-1.0, 1.0}
    assert data.bayes.shape == (6,)
    assert data.bayes[0] == 0.0
    assert np.all(np.abs(data.bayes[1:]) <= 1.0)


@pytest.mark.parametrize(
    "make", [lambda rng: gaussian_clusters(40, 3, 1.0, "spread", rng), lambda rng: flipped_labels(40, 3, 0.1, rng)]
)
def test_seeds(make):
    assert np.array_equal(make(7).X, make(7).X)
    assert np.array_equal(make(7).y, make(np.random.default_rng(7)).y)
    assert not np.array_equal(make(7).X, make(8).X)


def test_the_direction_is_uniform_in_the_cube():
    d = np.array([gaussian_clusters(10, 3, 1.0, seed=seed).bayes[1:] for seed in range(400)])
    # 1,200 uniform values: the mean's standard deviation is 0.0167, the variance's 0.0086 around 1/3.
    assert abs(d.mean()) < 0.08
    assert abs(d.var() - 1 / 3) < 0.045


@pytest.mark.parametrize("sigma", [0.2, 0.5])
def test_clean_classes_have_the_stated_moments(sigma):
    data = gaussian_clusters(40_000, 3, sigma, seed=1)
    d = data.bayes[1:]
    chi = 0.5 * d / np.linalg.norm(d)
    assert abs(np.mean(data.y > 0) - 0.5) < 0.0126
    for sign in (-1.0, 1.0):
        points = data.X[data.y == sign, 1:]
        np.testing.assert_allclose(points.mean(axis=0), sign * chi, atol=5 * sigma / math.sqrt(len(points)))
        np.testing.assert_allclose(np.cov(points.T), sigma**2 * np.eye(3), atol=0.04 * sigma**2)


@pytest.mark.parametrize("sigma", [0.2, 0.5, 1.0])
def test_bayes_error_is_table_1s(sigma):
    """Conic Table 1: 0.6%, 15.9%, 30.9%, which is P(N(0,1) > 1/(2σ))."""
    test = clean_test_set(gaussian_clusters(100, 5, sigma, "clustered", seed=0), seed=1)
    assert test.n == 100_000
    assert abs(misclassified(test, test.bayes) - normal_tail(0.5 / sigma)) < 0.0075


def test_clustered_outliers():
    sigma = 0.5
    data = gaussian_clusters(40_000, 4, sigma, "clustered", seed=2)
    d = data.bayes[1:]
    unit = d / np.linalg.norm(d)
    far = np.linalg.norm(data.X[:, 1:] + 5.0 * unit, axis=1) < 0.5
    assert abs(far.mean() - 0.1) < 0.0075
    assert np.all(data.y[far] == 1.0)
    cluster = data.X[far, 1:]
    np.testing.assert_allclose(cluster.mean(axis=0), -5.0 * unit, atol=0.002)
    np.testing.assert_allclose(cluster.var(axis=0), 0.001 * sigma**2, rtol=0.12)
    assert abs(np.mean(data.y[~far] > 0) - 0.5) < 0.0135


def test_spread_outliers():
    sigma = 0.2
    data = gaussian_clusters(40_000, 3, sigma, "spread", seed=3)
    d = data.bayes[1:]
    chi = 0.5 * d / np.linalg.norm(d)
    for sign in (-1.0, 1.0):
        mine = data.y == sign
        assert abs(mine.mean() - 0.5) < 0.0125
        distance = np.linalg.norm(data.X[mine, 1:] - sign * chi, axis=1) / sigma
        # Of the 10% with ten times the deviation all but P(chi_3 < 0.45) = 2.4% lie beyond 4.5; of the rest 1e-4.
        assert abs(np.mean(distance > 4.5) - 0.0976) < 0.012
        # Mixture variance per coordinate: 0.9 + 0.1 * 100 = 10.9.
        assert abs(np.mean(distance**2) / 3 - 10.9) < 1.1


def test_population_shares_the_direction_and_the_outliers():
    train = gaussian_clusters(100, 3, 0.2, "clustered", seed=0)
    valid = train.population.sample(4000, seed=1)
    assert np.array_equal(valid.bayes, train.bayes)
    assert abs(misclassified(valid, valid.bayes) - (0.1 + 0.9 * 0.0062)) < 0.025
    assert misclassified(train.population.sample_clean(4000, seed=1), train.bayes) < 0.015


def test_flipped_labels():
    data = flipped_labels(40_000, 3, 0.2, seed=0)
    assert data.X.shape == (40_000, 4)
    assert np.all(data.X[:, 0] == 1.0)
    assert np.abs(data.X).max() <= 1.0
    np.testing.assert_allclose(data.X[:, 1:].mean(axis=0), 0.0, atol=0.015)
    np.testing.assert_allclose(data.X[:, 1:].var(axis=0), 1 / 3, atol=0.01)
    assert abs(misclassified(data, data.bayes) - 0.2) < 0.01
    assert misclassified(clean_test_set(data, seed=1, n=2000), data.bayes) == 0.0
    assert abs(misclassified(data.population.sample(40_000, seed=2), data.bayes) - 0.2) < 0.01


def test_flipped_labels_without_noise_are_separated():
    for seed in range(30):
        data = flipped_labels(20, 2, 0.0, seed=seed)
        assert misclassified(data, data.bayes) == 0.0


def test_small_samples_have_both_classes():
    for seed in range(100):
        assert len(set(gaussian_clusters(2, 1, 1.0, "spread", seed=seed).y)) == 2
        assert len(set(flipped_labels(2, 1, 0.5, seed=seed).y)) == 2


def test_prepared_test_set():
    train = gaussian_clusters(100, 2, 0.5, seed=0)
    test = clean_test_set(train, seed=1, n=500)
    done = test.prepared(fit_on=train)
    expected = (test.X[:, 1:] - train.X[:, 1:].mean(axis=0)) / train.X[:, 1:].std(axis=0)
    np.testing.assert_allclose(done.X[:, 1:], expected)
    assert train.prepared().population is None
    assert train.prepared(standardise=False).population is train.population


def test_clean_test_set_needs_a_population():
    with pytest.raises(InputError, check=about("instance")):
        clean_test_set(Instance([[1.0], [2.0]], [-1, 1]), seed=0)


@pytest.mark.parametrize(
    ("arguments", "name"),
    [
        ((1, 3, 0.5), "n"),
        ((10, 0, 0.5), "p"),
        ((10.5, 3, 0.5), "n"),
        ((10, 3, 0.0), "sigma"),
        ((10, 3, -1.0), "sigma"),
        ((10, 3, np.inf), "sigma"),
        ((10, 3, "x"), "sigma"),
        ((10, 3, 0.5, "some"), "outliers"),
        ((10, 3, 0.5, "none", None), "seed"),
    ],
)
def test_bad_gaussian_clusters(arguments, name):
    with pytest.raises(InputError, check=about(name)):
        gaussian_clusters(*arguments)


@pytest.mark.parametrize("arguments", [(1, 3, 0.1), (10, 0, 0.1), (10, 3, 0.6), (10, 3, -0.1), (10, 3, 0.1, -5)])
def test_bad_flipped_labels(arguments):
    with pytest.raises(InputError, check=about("n", "p", "tau", "seed")):
        flipped_labels(*arguments)


def test_bad_populations():
    with pytest.raises(InputError, check=about("direction")):
        GaussianClusters(np.zeros(3), 1.0)
    with pytest.raises(InputError, check=about("weights")):
        FlippedLabels(np.array([1.0, 0.0]), 0.1)
    with pytest.raises(DataError, check=about("weights")):
        FlippedLabels(np.array([3.0, 1.0]), 0.0).sample(5, seed=0)


def test_populations_are_immutable():
    d = np.ones(2)
    population = GaussianClusters(d, 1.0)
    d[0] = 5.0
    assert population.bayes.tolist() == [0.0, 1.0, 1.0]
    with pytest.raises(ValueError):
        population.direction[0] = 2.0


def test_rings():
    data = rings(100, noise=0.0, seed=0)
    np.testing.assert_allclose(np.linalg.norm(data.X, axis=1), np.where(data.y > 0, 1.0, 2.0))
    assert not np.array_equal(rings(20, seed=1).X, rings(20, seed=2).X)
    with pytest.raises(InputError, check=about("noise")):
        rings(10, noise=-1.0)
