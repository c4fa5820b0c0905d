"""The algorithm of the max-min authors' released code, which differs from the paper's: a variant beside the columns of Table 3.

It differs from the printed Algorithm 3: the kernel matrix loses the term I/C after the first solve; all violating points are
released at once; zero entries are ignored in the step bound, so that weights can go negative; γ moves before the first solve; it
stops on |Δγ| < 1e-3; PGA's tolerance is 1e-3; η = 1 for three updates; γ has no upper bound and at most halves in one update.
Written from that description; the code itself was not at hand, so its remaining details are the paper's.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from marginopt.models import FloatArray


@dataclass(frozen=True)
class ReleasedCodeResult:
    """The classifier that the released code trains.

    Parameters
    ----------
    gamma : float
        γ of the Gaussian kernel.
    weights : ndarray (n,)
        Weights of the training points, possibly negative.
    offset : float
        Subtracted from the scores.
    models_trained : int
    """

    gamma: float
    weights: FloatArray
    offset: float
    models_trained: int

    def predict(self, distances: FloatArray, y: FloatArray) -> FloatArray:
        """Return the labels of test rows from their squared distances to the training points, whose labels are ``y``."""
        scores = np.exp(-self.gamma * distances) @ (self.weights * y) - self.offset
        return np.where(scores >= 0, 1.0, -1.0)


def train_released_code(D: FloatArray, y: FloatArray, C: float = 1.0, gamma0: float = 0.004) -> ReleasedCodeResult:
    """Train on the squared distances D (n, n) between points with labels y."""
    a = _uniform(y)
    gamma, eta = gamma0, 1.0
    for update in range(500):
        slope = _slope(a, y, D, gamma)
        here, length = _value(a, y, D, gamma), eta
        while length > 1e-15 and _value(a, y, D, max(gamma + length * slope, 0.5 * gamma)) <= here:
            length *= 0.5
        new = max(gamma + length * slope, 0.5 * gamma)
        moved = abs(new - gamma)
        gamma, eta = new, 1.0 if update < 2 else moved
        Q = np.outer(y, y) * np.exp(-gamma * D)
        a = _descend(Q + np.eye(len(y)) / C if update == 0 else Q, y)
        if moved < 1e-3:
            break
    scores = np.exp(-gamma * D) @ (a * y)
    edges = [scores[(y == side) & (a != 0)].mean() for side in (1.0, -1.0)]
    return ReleasedCodeResult(gamma, a, 0.5 * sum(edges), update + 1)


def _uniform(y: FloatArray) -> FloatArray:
    return np.where(y > 0, 1.0 / (y > 0).sum(), 1.0 / (y < 0).sum())


def _value(a: FloatArray, y: FloatArray, D: FloatArray, gamma: float) -> float:
    b = a * y
    return 0.5 * float(b @ np.exp(-gamma * D) @ b)


def _slope(a: FloatArray, y: FloatArray, D: FloatArray, gamma: float) -> float:
    b = a * y
    return -0.5 * float(b @ (D * np.exp(-gamma * D)) @ b)


def _descend(Q: FloatArray, y: FloatArray, tol: float = 1e-3, limit: int = 2000) -> FloatArray:
    """PGA as released: from the uniform point, releasing all violating points at once."""
    a = _uniform(y)
    free = np.ones(len(y), dtype=bool)
    classes = (y > 0, y < 0)
    for _ in range(limit):
        g = Q @ a
        d, reduced = np.zeros(len(y)), np.zeros(len(y))
        for side in classes:
            mean = g[side & free].mean()
            reduced[side] = g[side] - mean
        d[free] = -reduced[free]
        if np.abs(d).max() < tol:
            violating = ~free & (reduced < -tol)
            if not violating.any():
                return a
            free |= violating
            continue
        curvature = float(d @ Q @ d)
        bound = free & (d < 0) & (a > 0)
        ratios = np.where(bound, -a / np.where(bound, d, -1.0), np.inf)
        length = min(float(d @ d) / curvature if curvature > 0 else np.inf, float(ratios.min()))
        if not np.isfinite(length):
            return a
        a = a + length * d
        if length == ratios.min():
            first = int(np.argmin(ratios))
            a[first], free[first] = 0.0, False
            for side in classes:
                if not (side & free).any():
                    free |= side
    return a
