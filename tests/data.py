"""Data that several tests draw, the same for the same seed: ``from data import clouds``, as pytest has tests/ on its path."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np

__all__ = ["Points", "alternating", "clouds", "clustered", "nine_points", "noisy_halves", "three_clouds"]

Drawn = tuple[np.ndarray, np.ndarray]
Order = Literal["mixed", "halves", "turns"]


@dataclass(frozen=True)
class Points:
    """An instance as a gap report reads it."""

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
    """A column of ones and two Gaussian clouds of deviation ``spread`` at ±shift in every feature, as many points of each class.

    ``order`` is how the labels ±1 lie: at random, half after half, or by turns; the first half, or point, is of class ``first``.
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
    """`clouds` in halves with outliers, one point in so many: labelled +1, close together, far on the other side."""
    rng = np.random.default_rng(seed)
    X, y = clouds(rng, n, p, shift, order="halves", spread=spread)
    X[: n // one_in, 1:] = 0.03 * rng.normal(size=(n // one_in, p)) - far
    return X, y


def noisy_halves(n: int = 150, p: int = 4, seed: int = 0, noise: float = 0.5) -> Drawn:
    """One Gaussian cloud; the label is the sign of the first feature and noise."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, p))
    return X, np.where(X[:, 0] + noise * rng.standard_normal(n) > 0, 1.0, -1.0)


def alternating(seed: int = 0, n: int = 30) -> Drawn:
    """Three Gaussian features, the first moved by the label; labels +1 and -1 by turns."""
    rng = np.random.default_rng(seed)
    y = np.where(np.arange(n) % 2 == 0, 1.0, -1.0)
    X = rng.normal(size=(n, 3))
    X[:, 0] += y
    return X, y


def three_clouds(n: int = 60) -> Drawn:
    """Three features of the classes "x", "y" and "z" by turns, the latter two moved by 4 in one feature each."""
    X = np.random.default_rng(0).normal(size=(n, 3))
    y = np.array(["x", "y", "z"])[np.arange(n) % 3]
    X[y == "y", 0] += 4
    X[y == "z", 1] += 4
    return X, y


def nine_points() -> Drawn:
    """A column of ones and two features, five points of the class +1."""
    X = np.column_stack([np.ones(9), np.random.default_rng(3).normal(size=(9, 2))])
    return X, np.array([1.0, -1, 1, -1, 1, -1, 1, 1, -1])
