"""Data that several tests draw, the same for the same seed: ``from data import clouds``, as pytest has tests/ on its path."""

from __future__ import annotations

import numpy as np

__all__ = ["alternating", "clouds", "nine_points", "noisy_halves"]

Drawn = tuple[np.ndarray, np.ndarray]


def clouds(seed: int, n: int, p: int = 2, shift: float = 0.6, *, shuffled: bool = True) -> Drawn:
    """A column of ones and two Gaussian clouds at ±shift in every feature; the classes mixed, or the first half +1."""
    rng = np.random.default_rng(seed)
    place = rng.permutation(n) if shuffled else np.arange(n)
    y = np.where(place < n // 2, 1.0, -1.0)
    return np.column_stack([np.ones(n), rng.normal(size=(n, p)) + shift * y[:, None]]), y


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


def nine_points() -> Drawn:
    """A column of ones and two features, five points of the class +1."""
    X = np.column_stack([np.ones(9), np.random.default_rng(3).normal(size=(9, 2))])
    return X, np.array([1.0, -1, 1, -1, 1, -1, 1, 1, -1])
