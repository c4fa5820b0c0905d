"""The coordinates of the reduced problem: any orthonormal ones of the features' span, so those in which boxes exclude pairs."""

from __future__ import annotations

import numpy as np

from ...models.arrays import BoolArray, FloatArray

__all__ = ["constant_column", "errors", "rotation", "turned"]

_EPS = 2.0**-53
#: Coordinates up to which boxes are searched, and so turned.
FEW = 10
#: Angles tried for each two coordinates; sweeps over all of them, and the gain below which they end.
_ANGLES, _SWEEPS, _LEAST = 16, 4, 1e-3
#: Sums of two opposite rows that are looked at: with half as many the turns fit these sums and not the others.
_SUMS = 600
#: Steps of this share of the unit interval fill it evenly.
_GOLDEN = 0.6180339887498949


def constant_column(A: FloatArray) -> FloatArray | None:
    """A column that is ±c with one c > 0 for all rows, the labels' column of an intercept; None where there is none."""
    size = np.abs(A)
    constant = np.flatnonzero((size == size[:1]).all(axis=0) & (size[0] > 0.0)) if len(A) else np.zeros(0, np.int64)
    return A[:, constant[0]] if constant.size else None


def rotation(block: FloatArray, full: bool) -> FloatArray:
    """Orthonormal coordinates of the penalised block, its singular vectors, without the numerically null ones."""
    if block.shape[1] == 0 or block.shape[0] == 0:
        return np.zeros((block.shape[1], 0))
    _, values, Vt = np.linalg.svd(block, full_matrices=full)
    kept = np.full(len(Vt), True) if full else values > 1e-14 * values[0] * max(block.shape)
    return np.ascontiguousarray(Vt[kept].T)


def turned(block: FloatArray, Q: FloatArray, labels: FloatArray | None) -> FloatArray:
    """Q, the block's singular vectors, or the features' own axes turned to a small 1-norm of sums of opposite rows: the better.

    ``labels`` tell by their signs which rows belong to one class; without them the longest direction does. Where boxes are not
    searched, of many coordinates, Q is what it was.
    """
    k = Q.shape[1]
    if not 0 < k <= FEW:
        return Q
    sums = _opposite_sums(block, (block @ Q[:, 0] if labels is None else labels) > 0.0)
    starts = [Q, np.eye(k)] if k == len(Q) else [Q]  # from either a few turns may end where more are needed
    return min((_sparser(start, sums) for start in starts), key=lambda found: float(np.abs(sums @ found).sum()))


def errors(block: FloatArray, Q: FloatArray) -> tuple[FloatArray, float]:
    """What of each row is outside the span of Q, and δ."""
    k = Q.shape[1]
    outside = block - (block @ Q) @ Q.T
    # Rounding of the rotation itself is of order EPS ||a||: it belongs to η, the residual is what was dropped beyond it.
    noise = 8.0 * (block.shape[1] + 4) * _EPS * np.linalg.norm(block, axis=1)
    residual = np.zeros(len(block))
    if k < block.shape[1]:
        residual = np.linalg.norm(outside, axis=1) * 1.01 + noise
    shrink = float(np.linalg.norm(Q.T @ Q - np.eye(k))) + 4.0 * (block.shape[1] + k) ** 2 * _EPS
    return residual, shrink


def _opposite_sums(block: FloatArray, ahead: BoolArray) -> FloatArray:
    """Sums g_i + g_j of rows of the two sides, evenly spread over all such pairs; the rows themselves where there is one side."""
    first, second = block[ahead], block[~ahead]
    if not len(first) or not len(second):
        return block
    t = np.arange(_SUMS)
    i, j = t * len(first) // len(t), (t * _GOLDEN % 1.0 * len(second)).astype(np.int64)
    return np.asarray(first[i] + second[j])


def _sparser(Q: FloatArray, sums: FloatArray) -> FloatArray:
    """Q turned, two coordinates at a time, so that the 1-norms of the sums of opposite rows in it fall.

    Over a box g_i + g_j ranges by Σ_j |.|·half_j to either side of its middle, which decides whether it excludes the pair.
    """
    Q, k = Q.copy(), Q.shape[1]
    size = float(np.abs(sums).max(initial=0.0)) or 1.0
    rows = ((sums / size) @ Q).T.astype(np.float32)  # they choose, and nothing is proved by them
    turns = np.arange(1, _ANGLES) * (0.5 * np.pi / _ANGLES)
    cosines, sines = (f(turns).astype(np.float32)[:, None] for f in (np.cos, np.sin))
    for _ in range(_SWEEPS):
        before = float(np.abs(rows).sum())
        for i in range(k):
            for j in range(i):
                x, y = rows[i], rows[j]
                lengths = np.abs(cosines * x + sines * y).sum(axis=1) + np.abs(cosines * y - sines * x).sum(axis=1)
                best = int(lengths.argmin())
                if lengths[best] < (np.abs(x).sum() + np.abs(y).sum()) * (1.0 - 1e-6):
                    c, s = np.cos(turns[best]), np.sin(turns[best])  # double precision, for Q stays orthonormal
                    rows[i], rows[j] = cosines[best] * x + sines[best] * y, cosines[best] * y - sines[best] * x
                    Q[:, i], Q[:, j] = c * Q[:, i] + s * Q[:, j], c * Q[:, j] - s * Q[:, i]
        if float(np.abs(rows).sum()) > before * (1.0 - _LEAST):
            break
    return Q
