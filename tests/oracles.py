"""Optima found by other methods, which share no code with the solvers: ``from oracles import least_norm``."""

from __future__ import annotations

import itertools

import numpy as np
import scipy.optimize
from effort import trials

from marginopt.models import ZeroOneSVM

__all__ = ["COUNT", "enumerated", "least_norm", "least_square", "within_budget"]

#: Number of instances of each kind that are compared with enumeration.
COUNT = trials(6, 300)


def least_norm(A: np.ndarray, penalised: np.ndarray | None = None) -> np.ndarray | None:
    """Return argmin Σ w_j² over the penalised j subject to A w ≥ 1, by Lawson and Hanson's NNLS; None without a feasible point.

    A w_j that is not penalised has a tiny penalty instead of none.
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
    """Return the optimum of `least_norm`'s problem; inf if no w satisfies all rows."""
    w = least_norm(A, penalised)
    return np.inf if w is None else float(w[penalised] @ w[penalised])


def within_budget(A: np.ndarray, penalised: np.ndarray, k: int) -> float:
    """Return the least optimum of `least_norm`'s problem without k of the rows, over all choices; inf if none is feasible."""
    return min(least_square(np.delete(A, list(out), axis=0), penalised) for out in itertools.combinations(range(len(A)), k))


def enumerated(model: ZeroOneSVM) -> float:
    """Return the optimum of a 0-1 problem by enumeration of active margins.

    An optimal w has the least norm among the w with its active margins, of which at most p are needed.
    """
    A, d = model.y[:, None] * np.asarray(model.X), model.penalised.astype(float)
    n, p = A.shape
    starts = [np.zeros(p)] + [b * np.eye(p)[0] for b in (-1.0, 1.0) if model.intercept == "free"]
    best = min(model.objective(w) for w in starts)
    for size in range(1, p + 1):
        for chosen in itertools.combinations(range(n), size):
            B = A[list(chosen)]
            system = np.block([[np.diag(2.0 * d), B.T], [B, np.zeros((size, size))]])
            w = np.linalg.lstsq(system, np.append(np.zeros(p), np.ones(size)), rcond=None)[0][:p]
            if np.abs(B @ w - 1.0).max() < 1e-8:
                best = min(best, model.objective(w))
    return best
