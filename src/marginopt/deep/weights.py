"""The τ-step (25) on the Gram matrix of the gradients, by a solver of simplex QPs."""

from __future__ import annotations

import numpy as np

from ..errors import InputError
from ..models.arrays import FloatArray
from ..models.formulations.pareto import ParetoQP
from ..solvers.records.options import Options
from ..solvers.registry import SolverLike
from ..solvers.solve import solve_raw

__all__ = ["common_weights", "stationarity"]


def common_weights(gram: FloatArray, objectives: FloatArray, gamma: float, solver: SolverLike = "smo") -> FloatArray:
    """τ of min ½τ'Qτ - γ Σ τ_l J_l over the unit simplex, NPSVC++ (25), as a `ParetoQP`.

    Parameters
    ----------
    gram : ndarray (K, K)
        Q_lm = <grad_l, grad_m>.
    objectives : ndarray (K,)
        J_l.
    gamma : float
        γ ≥ 0; 0 gives the common descent direction of least norm (Theorem 2).
    solver : str
        Any solver that reads `ParetoQP`.

    Returns
    -------
    ndarray (K,)
        On the simplex to rounding.

    Raises
    ------
    InputError
        Values that are not finite, a solver that cannot read the problem.
    """
    if not (np.isfinite(gram).all() and np.isfinite(objectives).all()):
        raise InputError("the τ-step needs finite gradients and objectives: lower learning_rate, or look at the encoder's output")
    pareto = ParetoQP(_rows(gram), objectives, gamma)
    answer = solve_raw(solver, pareto, Options(tol=1e-6))
    tau = np.maximum(dict(answer.values or {})["a"], 0.0)
    return np.asarray(tau / tau.sum())


def stationarity(gram: FloatArray, solver: SolverLike = "smo") -> float:
    """min over τ of ||Σ τ_l grad_l||, relative to the largest ||grad_l||: 0 exactly at Pareto stationary representations."""
    largest = float(np.diagonal(gram).max())
    if largest <= 0.0:
        return 0.0
    tau = common_weights(gram, np.zeros(gram.shape[0]), 0.0, solver)
    return float(np.sqrt(max(float(tau @ gram @ tau), 0.0) / largest))


def _rows(gram: FloatArray) -> FloatArray:
    """K vectors with these inner products: the K × K stand-in for gradients of any size, so nothing larger leaves the device."""
    values, vectors = np.linalg.eigh(0.5 * (gram + gram.T))
    return np.asarray(vectors * np.sqrt(np.maximum(values, 0.0)))
