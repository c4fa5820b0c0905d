"""Random data sets of several tests, equal for equal seeds: ``from data import clouds``, as pytest has tests/ on its path."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np

__all__ = ["Points", "alternating", "clouds", "clustered", "nine_points", "noisy_halves", "three_clouds"]

#: X (n, p) and y (n,).
Drawn = tuple[np.ndarray, np.ndarray]
Order = Literal["mixed", "halves", "turns"]


@dataclass(frozen=True)
class Points:
    """An instance with the attributes that a gap report reads."""

    X: np.ndarray
    y: np.ndarray
    name: str = "clouds"
    source: str = "drawn in the test"


def clouds(
    seed: int | np.random.Generator,
    n: int,
    p: int = 2,
    shift: float = 0.6,
    *,
    order: Order = "mixed",
    first: float = 1.0,
    spread: float = 1.0,
) -> Drawn:
    """Draw a column of ones and two Gaussian clouds of deviation ``spread`` at ±shift in every feature, and their labels ±1.

    Both classes have the same number of points. ``order`` is that of the labels: random, half after half, or alternating; the
    first half, or point, is of class ``first``.
    """
    rng = np.random.default_rng(seed)
    y = _labels(rng, n, order, first)
    return np.column_stack([np.ones(n), spread * rng.normal(size=(n, p)) + shift * y[:, None]]), y


def _labels(rng: np.random.Generator, n: int, order: Order, first: float) -> np.ndarray:
    if order == "turns":
        return np.where(np.arange(n) % 2 == 0, first, -first)
    place = rng.permutation(n) if order == "mixed" else np.arange(n)
    return np.where(place < n // 2, first, -first)


def clustered(
    seed: int, n: int, p: int = 2, shift: float = 0.8, *, spread: float = 1.0, one_in: int = 8, far: float = 5.0
) -> Drawn:
    """Draw `clouds` in halves with a cluster of outliers labelled +1, one point in ``one_in``, ``far`` beyond the other class."""
    rng = np.random.default_rng(seed)
    X, y = clouds(rng, n, p, shift, order="halves", spread=spread)
    X[: n // one_in, 1:] = 0.03 * rng.normal(size=(n // one_in, p)) - far
    return X, y


def noisy_halves(n: int = 150, p: int = 4, seed: int = 0, noise: float = 0.5) -> Drawn:
    """Draw one Gaussian cloud, labelled by the sign of the first feature plus noise."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, p))
    return X, np.where(X[:, 0] + noise * rng.standard_normal(n) > 0, 1.0, -1.0)


def alternating(seed: int = 0, n: int = 30) -> Drawn:
    """Draw three Gaussian features, the label added to the first; labels +1 and -1 alternate."""
    rng = np.random.default_rng(seed)
    y = np.where(np.arange(n) % 2 == 0, 1.0, -1.0)
    X = rng.normal(size=(n, 3))
    X[:, 0] += y
    return X, y


def three_clouds(n: int = 60) -> Drawn:
    """Draw three features of the alternating classes "x", "y" and "z"; the latter two are shifted by 4 in one feature."""
    X = np.random.default_rng(0).normal(size=(n, 3))
    y = np.array(["x", "y", "z"])[np.arange(n) % 3]
    X[y == "y", 0] += 4
    X[y == "z", 1] += 4
    return X, y


def nine_points() -> Drawn:
    """Draw nine points with a column of ones and two features, five of class +1."""
    X = np.column_stack([np.ones(9), np.random.default_rng(3).normal(size=(9, 2))])
    return X, np.array([1.0, -1, 1, -1, 1, -1, 1, 1, -1])
