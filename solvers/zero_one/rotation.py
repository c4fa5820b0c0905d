"""The coordinates of the reduced problem: any orthonormal ones of the features' span, so those in which boxes say most."""

from __future__ import annotations

import numpy as np

from ...models.arrays import FloatArray

__all__ = ["rotation"]

_EPS = 2.0**-53
#: Coordinates up to which boxes are searched, and so turned.
FEW = 10
#: Angles tried for each two coordinates; sweeps over all of them, and the gain below which they end.
_ANGLES, _SWEEPS, _LEAST = 24, 6, 1e-3


def rotation(block: FloatArray, full: bool) -> tuple[FloatArray, FloatArray, float]:
    """Orthonormal coordinates of the penalised block without its numerically null directions; residuals; δ."""
    if block.shape[1] == 0 or block.shape[0] == 0:
        return np.zeros((block.shape[1], 0)), np.zeros(block.shape[0]), 0.0
    _, values, Vt = np.linalg.svd(block, full_matrices=full)
    kept = np.full(len(Vt), True) if full else values > 1e-14 * values[0] * max(block.shape)
    Q = np.ascontiguousarray(Vt[kept].T)
    k = Q.shape[1]
    if k <= FEW:
        Q = _sparser(Q, block)
    outside = block - (block @ Q) @ Q.T
    # Rounding of the rotation itself is of order EPS ||a||: it belongs to η, the residual is what was dropped beyond it.
    noise = 8.0 * (block.shape[1] + 4) * _EPS * np.linalg.norm(block, axis=1)
    residual = np.zeros(len(block))
    if k < block.shape[1]:
        residual = np.linalg.norm(outside, axis=1) * 1.01 + noise
    shrink = float(np.linalg.norm(Q.T @ Q - np.eye(k))) + 4.0 * (block.shape[1] + k) ** 2 * _EPS
    return Q, residual, shrink


def _sparser(Q: FloatArray, block: FloatArray) -> FloatArray:
    """Q turned, two coordinates at a time, so that Σ_i ||Q'a_i||_1 falls.

    Over a box a margin ranges by Σ_j |g_ij|·half_j to either side of its middle: with equal widths that is its row's 1-norm.
    """
    Q, k = Q.copy(), Q.shape[1]
    rows = (block @ Q).T.copy()
    angles = np.arange(1, _ANGLES) * (0.5 * np.pi / _ANGLES)
    cosines, sines = np.cos(angles)[:, None], np.sin(angles)[:, None]
    for _ in range(_SWEEPS):
        before = float(np.abs(rows).sum())
        for i in range(k):
            for j in range(i):
                x, y = rows[i], rows[j]
                lengths = np.abs(cosines * x + sines * y).sum(axis=1) + np.abs(cosines * y - sines * x).sum(axis=1)
                best = int(lengths.argmin())
                if lengths[best] < (np.abs(x).sum() + np.abs(y).sum()) * (1.0 - 1e-6):
                    c, s = float(cosines[best, 0]), float(sines[best, 0])
                    rows[i], rows[j] = c * x + s * y, c * y - s * x
                    Q[:, i], Q[:, j] = c * Q[:, i] + s * Q[:, j], c * Q[:, j] - s * Q[:, i]
        if float(np.abs(rows).sum()) > before * (1.0 - _LEAST):
            break
    return Q
