"""Optima found by means of their own, which no code of ours shares: ``from oracles import least_norm``."""

from __future__ import annotations

import numpy as np
import scipy.optimize

__all__ = ["least_norm", "least_square"]


def least_norm(A: np.ndarray, penalised: np.ndarray | None = None) -> np.ndarray | None:
    """argmin Σ penalised w_j² subject to A w ≥ 1: least-distance programming by Lawson and Hanson's NNLS; None without a point.

    A free w_j has a tiny price instead of none.
    """
    p = A.shape[1]
    if not len(A):
        return np.zeros(p)
    scale = np.ones(p) if penalised is None else np.where(penalised, 1.0, 1e5)
    E = np.vstack([(A * scale).T, np.ones(len(A))])
    f = np.append(np.zeros(p), 1.0)
    u, residual = scipy.optimize.nnls(E, f)
    if residual < 1e-7:
        return None
    r = E @ u - f
    return np.asarray(-r[:p] / r[p] * scale)


def least_square(A: np.ndarray, penalised: np.ndarray) -> float:
    """The optimum of that problem; inf where no w keeps all rows."""
    w = least_norm(A, penalised)
    return np.inf if w is None else float(w[penalised] @ w[penalised])
