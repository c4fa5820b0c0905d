"""The nearest-neighbour graph of points and its normalised Laplacian L, (A.12) of Zhang et al., 2024 ("NPSVC++").

Nonparallel models penalise f'Lf, f the scores of the points: neighbours then have similar scores.
"""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp

from ....errors import InputError
from ...arrays import FloatArray, IntArray, Points
from ...kernels.kernels import gamma_by_rule, squared_distances

#: Points whose distances to all others are computed at once.
_ROWS = 512


def nearest_neighbours(X: Points, k: int) -> tuple[IntArray, FloatArray]:
    """Return indices and squared distances of every point's k nearest others, n × k; O(n²) work, a block of rows at a time.

    Raises `InputError` unless 1 ≤ k < n.
    """
    n = X.shape[0]
    if not 1 <= k < n:
        raise InputError(f"neighbours must lie between 1 and n - 1 = {n - 1}; it is {k}", name="neighbours")
    indices, distances = np.empty((n, k), dtype=np.int64), np.empty((n, k))
    for start in range(0, n, _ROWS):
        stop = min(start + _ROWS, n)
        block = squared_distances(X[start:stop], X)
        block[np.arange(stop - start), np.arange(start, stop)] = np.inf
        nearest = np.argpartition(block, k - 1, axis=1)[:, :k]
        indices[start:stop] = nearest
        distances[start:stop] = np.take_along_axis(block, nearest, axis=1)
    return indices, distances


def neighbour_laplacian(X: Points, neighbours: int | None = None, gamma: float | None = None) -> sp.csr_array:
    """Return I - D^-½ G D^-½ with G_ij = exp(-γ||x_i - x_j||²) where i is among the k nearest of j or j among those of i, else 0;
    D has the row sums of G on its diagonal: (A.12).

    **Erratum**: the paper's L = D - A reads D - G; in practice (and here) it is the normalised Laplacian.

    Parameters
    ----------
    X : ndarray or csr_array (n, p)
        The points x_i.
    neighbours : int, optional
        k; ⌊log2 n⌋ where it is not given.
    gamma : float, optional
        γ > 0; 1/(mean squared distance of the points), `gamma_by_rule` "npsvc", where it is not given.

    Returns
    -------
    csr_array (n, n)
        Symmetric, positive semidefinite.

    Raises
    ------
    InputError
        k out of range; all points equal.
    """
    n = X.shape[0]
    k = max(1, int(np.floor(np.log2(n)))) if neighbours is None else neighbours
    indices, distances = nearest_neighbours(X, k)
    rate = gamma_by_rule("npsvc", X) if gamma is None else gamma
    weights = np.exp(-rate * distances).ravel()
    directed = sp.csr_array((weights, (np.repeat(np.arange(n), k), indices.ravel())), shape=(n, n))
    G = directed.maximum(directed.T)
    degree = np.asarray(G.sum(axis=1)).ravel()
    # a point so far away that its weights underflow is joined to nothing: its row of the Laplacian is that of I
    scale = np.divide(1.0, np.sqrt(degree), out=np.zeros(n), where=degree > 0)
    return sp.csr_array(sp.eye_array(n) - sp.diags_array(scale) @ G @ sp.diags_array(scale))
