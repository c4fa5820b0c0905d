"""Generators of random data sets: two rings, and two of Cepeda, Gómez, Han, *Robust SVMs via conic optimization* (2024), "Conic".

Conic has two Gaussian classes with outliers, §5.1.1, and separable data with flipped labels, Appendix B. In both, X has a
constant first column, which the dimension p does not count. Models need both classes, so a sample of one class only, as small n
can give, is drawn again; beyond that the distributions are those of the paper. N(χ, σ²I) is the normal distribution with mean χ
and variance σ² in every direction.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias, get_args

import numpy as np

from ..errors import DataError, InputError, short_text
from .arrays import FloatArray
from .instance import Instance
from .naming import composed_name
from .preparation import Rng, as_count, as_fraction, as_generator

#: Kinds of outliers, defined in `GaussianClusters`.
Outliers: TypeAlias = Literal["none", "clustered", "spread"]

#: The source of generated instances.
_PAPER = "Cepeda, Gómez, Han: Robust support vector machines via conic optimization"
#: Most samples that are drawn until one has both classes.
_TRIES = 1000


@dataclass(frozen=True, eq=False)
class GaussianClusters:
    """The distribution of two Gaussian classes around ±½d/||d||, with or without outliers (Conic §5.1.1).

    With χ₁ = ½d/||d|| and χ₋₁ = -χ₁, each point is drawn independently

    - *none*: from N(χ₁, σ²I) labelled +1 or from N(χ₋₁, σ²I) labelled -1, with probability ½ each;
    - *clustered*: from each of these with probability (1-s)/2; with probability s from N(10χ₋₁, 0.001σ²I), labelled +1;
    - *spread*: from each of these with probability (1-s)/2; with probability s/2 each from N(χ₁, 100σ²I), labelled +1, and
      N(χ₋₁, 100σ²I), labelled -1.

    Parameters
    ----------
    direction : (p,) array
        d, not zero.
    sigma : float
        σ > 0, the standard deviation of a class.
    outliers : {"none", "clustered", "spread"}
        The kind of outlier.
    share : float
        s, the share of outliers, in [0, 0.99]: the paper prints 0.1. **[erratum]** Its clustered figures of Table 1 need 0.05.
    """

    direction: FloatArray
    sigma: float
    outliers: Outliers = "none"
    share: float = 0.1

    def __post_init__(self) -> None:
        direction = np.array(self.direction, dtype=np.float64)
        if direction.ndim != 1 or direction.size == 0 or not np.isfinite(direction).all() or not direction.any():
            raise InputError(
                f"direction must be a finite vector that is not zero, got {short_text(self.direction)}", name="direction"
            )
        direction.flags.writeable = False
        object.__setattr__(self, "direction", direction)
        object.__setattr__(self, "sigma", _positive(self.sigma, "sigma"))
        if self.outliers not in get_args(Outliers):
            raise InputError(
                f"outliers must be one of {', '.join(get_args(Outliers))}, got {short_text(self.outliers)}", name="outliers"
            )
        object.__setattr__(self, "share", as_fraction(self.share, "share", 0.99))

    @property
    def bayes(self) -> FloatArray:
        """Return the weights (0, d) of the rule sign(d'x), the best one without outliers; (p+1,)."""
        return np.concatenate([[0.0], self.direction])

    def sample(self, n: int, seed: Rng) -> Instance:
        """Draw n points, outliers among them."""
        return self._draw(as_count(n, "n", minimum=2), as_generator(seed), self.outliers)

    def sample_clean(self, n: int, seed: Rng) -> Instance:
        """Draw n points without outliers: the paper tests on 100,000 of them."""
        return self._draw(as_count(n, "n", minimum=2), as_generator(seed), "none")

    def _draw(self, n: int, rng: np.random.Generator, outliers: Outliers) -> Instance:
        # Groups: 0 and 1 the classes -1 and +1; 2 and 3 the outliers (clustered has only 3, labelled +1).
        s, inside = self.share, (1.0 - self.share) / 2.0
        shares = {"none": [0.5, 0.5, 0, 0], "clustered": [inside, inside, 0, s], "spread": [inside, inside, s / 2.0, s / 2.0]}
        for _ in range(_TRIES):
            group = rng.choice(4, size=n, p=shares[outliers])
            y = np.where(group % 2 == 1, 1.0, -1.0)
            if y.min() < y.max():
                break
        else:
            raise DataError(f"{_TRIES} samples of n = {n} points all showed one class: use another seed or a larger n")
        outlying = group >= 2
        centre, factor = y.copy(), np.ones(n)
        if outliers == "clustered":
            centre[outlying], factor[outlying] = -10.0, np.sqrt(0.001)
        else:
            factor[outlying] = 10.0
        p = self.direction.size
        chi = 0.5 * self.direction / np.linalg.norm(self.direction)
        points = np.outer(centre, chi) + self.sigma * factor[:, None] * rng.standard_normal((n, p))
        return Instance(
            np.hstack([np.ones((n, 1)), points]),
            y,
            source=f"{_PAPER}, §5.1.1",
            description=f"two Gaussian classes, outliers: {outliers}",
            intercept=True,
            population=self,
            family=f"gaussian-{outliers}",
            parameters={"sigma": self.sigma},
        )


@dataclass(frozen=True, eq=False)
class FlippedLabels:
    """The distribution of points of the cube, separated by a hyperplane, with labels flipped at random (Conic, Appendix B).

    A point x is uniform in [-1, 1]^p behind the constant 1; its label is +1 where w̄'x ≥ 0, else -1, and the opposite with
    probability τ.

    Parameters
    ----------
    weights : (p+1,) array
        w̄, the intercept's weight first.
    tau : float
        τ in [0, 0.5], the probability of a flipped label.
    """

    weights: FloatArray
    tau: float

    def __post_init__(self) -> None:
        weights = np.array(self.weights, dtype=np.float64)
        if weights.ndim != 1 or weights.size < 2 or not np.isfinite(weights).all() or not weights[1:].any():
            raise InputError(
                "weights must be a finite vector of an intercept and p ≥ 1 weights, not all zero, "
                f"got {short_text(self.weights)}",
                name="weights",
            )
        weights.flags.writeable = False
        object.__setattr__(self, "weights", weights)
        object.__setattr__(self, "tau", as_fraction(self.tau, "tau", 0.5))

    @property
    def bayes(self) -> FloatArray:
        """Return the weights w̄ of the separating hyperplane; (p+1,)."""
        return self.weights.copy()

    def sample(self, n: int, seed: Rng) -> Instance:
        """Draw n points and flip their labels with probability τ."""
        return self._sample(n, seed, self.tau)

    def sample_clean(self, n: int, seed: Rng) -> Instance:
        """Draw n points with their true labels."""
        return self._sample(n, seed, 0.0)

    def _sample(self, n: int, rng: Rng, tau: float) -> Instance:
        n, generator = as_count(n, "n", minimum=2), as_generator(rng)
        for _ in range(_TRIES):
            X, _, flipped = _cube_draw(self.weights, n, tau, generator)
            if flipped.min() < flipped.max():
                return self._instance(X, flipped, tau)
        raise DataError(
            f"{_TRIES} samples of n = {n} points all showed one class: the hyperplane misses the cube", name="weights"
        )

    def _instance(self, X: FloatArray, y: FloatArray, tau: float) -> Instance:
        return Instance(
            X,
            y,
            source=f"{_PAPER}, Appendix B",
            description="separable points of the cube, labels flipped at random",
            intercept=True,
            population=self,
            family="flipped",
            parameters={"tau": tau},
        )


def _cube_draw(weights: FloatArray, n: int, tau: float, rng: np.random.Generator) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return points with the constant first, their true labels, and the labels after flipping."""
    X = np.hstack([np.ones((n, 1)), rng.uniform(-1.0, 1.0, (n, weights.size - 1))])
    clean = np.where(X @ weights >= 0.0, 1.0, -1.0)
    return X, clean, np.where(rng.random(n) < tau, -clean, clean)


def gaussian_clusters(n: int, p: int, sigma: float, outliers: Outliers = "none", seed: Rng = 0) -> Instance:
    """Draw a direction d uniformly from [-1, 1]^p, and n points of `GaussianClusters` (Conic §5.1.1).

    The paper has σ in {0.2, 0.5, 1}, n in {100, 200, 500, 1000}, p in {3, 5, 10, 30}. The rule (0, d) is
    ``instance.bayes``; ``instance.population`` draws validation and test points from the same d.

    Parameters
    ----------
    n, p : int
        Points and features, a constant column not counted.
    sigma : float
        Standard deviation of a class; σ > 0.
    outliers : {"none", "clustered", "spread"}
        The kind of outlier.
    seed : int or Generator
        Seed, or a generator that is advanced.

    Returns
    -------
    Instance
        X is n × (p+1), the constant column first.

    Raises
    ------
    InputError
        n, p, sigma, outliers or seed is out of range.
    DataError
        All samples had one class only.
    """
    n, p, generator = as_count(n, "n", minimum=2), as_count(p, "p"), as_generator(seed)
    direction = generator.uniform(-1.0, 1.0, p)
    return GaussianClusters(direction, sigma, outliers).sample(n, generator)


def flipped_labels(n: int, p: int, tau: float, seed: Rng = 0) -> Instance:
    """Draw w̄ uniformly from [-1, 1]^(p+1) and n points of `FlippedLabels` (Conic, Appendix B).

    w̄ and the points are drawn again if all points, or all labels, are of one class, as where the hyperplane of w̄ misses the
    cube (for p = 3 one w̄ in 24 does).

    Parameters
    ----------
    n, p : int
        Points and features, a constant column not counted.
    tau : float
        Probability τ of a flipped label, in [0, 0.5].
    seed : int or Generator
        Seed, or a generator that is advanced.

    Returns
    -------
    Instance
        X is n × (p+1), the constant column first; w̄ is ``instance.bayes``.

    Raises
    ------
    InputError
        n, p, tau or seed is out of range.
    DataError
        All draws showed one class alone.
    """
    n, p, generator = as_count(n, "n", minimum=2), as_count(p, "p"), as_generator(seed)
    tau = as_fraction(tau, "tau", 0.5)
    for _ in range(_TRIES):
        weights = generator.uniform(-1.0, 1.0, p + 1)
        X, clean, flipped = _cube_draw(weights, n, tau, generator)
        if clean.min() < clean.max() and flipped.min() < flipped.max():
            return FlippedLabels(weights, tau)._instance(X, flipped, tau)
    raise DataError(f"{_TRIES} draws of n = {n} points all showed one class: use another seed or a larger n")


def clean_test_set(instance: Instance, seed: Rng, n: int = 100_000) -> Instance:
    """Draw the uncontaminated test set of a generated instance (Conic §5.1.2: 100,000 points).

    Give another seed than the instance's own. After ``train.prepared()`` prepare it the same way:
    ``clean_test_set(train, seed=1).prepared(fit_on=train)`` with ``train`` as generated.

    Parameters
    ----------
    instance : Instance
        An instance with a ``population``, as generators return it.
    seed : int or Generator
        Seed, or a generator that is advanced.
    n : int
        Number of points.

    Returns
    -------
    Instance
        ``n`` points of the same population without outliers or flipped labels.

    Raises
    ------
    InputError
        The instance does not know its distribution.
    """
    if instance.population is None:
        raise InputError(
            f"{instance.name} does not know the distribution that it came from; take the instance as generated, "
            "before prepared() or pair()",
            name="instance",
        )
    return instance.population.sample_clean(n, seed)


def rings(n: int, noise: float = 0.1, seed: Rng = 0) -> Instance:
    """Draw two concentric rings in the plane, of radius 1 (labelled +1) and 2 (labelled -1): an example for kernels.

    Parameters
    ----------
    n : int
        Number of points, at least 2; the classes alternate.
    noise : float
        Standard deviation of the radius, in [0, 1].
    seed : int or numpy.random.Generator
        Seed, or a generator that is advanced.

    Returns
    -------
    Instance
        X is n × 2, without an intercept column.

    Raises
    ------
    InputError
        ``n`` or ``noise`` is out of its range.
    """
    n, generator = as_count(n, "n", minimum=2), as_generator(seed)
    noise = as_fraction(noise, "noise", 1.0)
    y = np.where(np.arange(n) % 2 == 0, 1.0, -1.0)
    angle = generator.uniform(0.0, 2.0 * np.pi, n)
    radius = np.where(y > 0, 1.0, 2.0) + noise * generator.standard_normal(n)
    X = np.column_stack([radius * np.cos(angle), radius * np.sin(angle)])
    name = composed_name("rings", {"n": n})
    return Instance(X, y, name, source="marginopt", description="two concentric rings", family="rings")


def _positive(value: float, name: str) -> float:
    try:
        number = float(value)
    except (TypeError, ValueError):
        raise InputError(f"{name} must be a positive number, got {short_text(value)}", name=name) from None
    if not 0.0 < number < np.inf:
        raise InputError(f"{name} must be positive and finite, got {short_text(value)}", name=name)
    return number
