"""The data of the conic SVM in the coordinates of the interior-point method, and the inverse map."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np

from ...errors import InputError
from ...models.arrays import BoolArray, FloatArray
from ...models.conic_dual.bound import ConicBound, certified_bound
from ...models.conic_dual.point import ConicPoint, Coordinates, coordinates, primal_point
from ...models.views import ConicProblem
from .iterate import ConicData

__all__ = ["Prepared"]


@dataclass(frozen=True, eq=False)
class Prepared:
    """The prepared problem: metric whitened, p ≤ n, rows of zeros removed, rows scaled to mean square one (objective times σ²).

    A row of zeros has u = 0 and z = 1 for every w: it costs λ, or one unit of the budget.

    Parameters
    ----------
    problem : ConicProblem
    space : Coordinates
    used : ndarray of bool (n,)
        Rows that are not zero.
    sigma2 : float
        σ².
    data : ConicData
        Scaled rows, with σ²λ or the remaining budget.
    """

    problem: ConicProblem
    space: Coordinates
    used: BoolArray
    sigma2: float
    data: ConicData

    @staticmethod
    def of(problem: ConicProblem) -> Prepared:
        """Prepare a problem.

        Raises
        ------
        InputError
            Every row is zero or has a square beneath float64, or κ ≤ 0.
        """
        if problem.kappa is not None and problem.kappa <= 0.0:
            raise InputError(
                f"kappa must be > 0 for the semidefinite program; it is {problem.kappa:g}. κ = 0 is the hard-margin QP"
            )
        space = coordinates(problem.A, problem.metric)
        squares = np.einsum("ij,ij->i", space.rows, space.rows)
        used = squares > 0.0
        if not used.any():
            raise InputError("every row of the data is zero: there is nothing to separate")
        sigma2 = float(squares[used].mean())
        if sigma2 < 1.0 / np.finfo(np.float64).max:
            largest = float(np.abs(space.rows).max())
            raise InputError(f"squares of the data leave float64 (largest entry {largest:.3g}): scale the features")
        A = np.ascontiguousarray(space.rows[used] / np.sqrt(sigma2))
        return Prepared(problem, space, used, sigma2, ConicData(A, None, None)).at(problem.lam, problem.kappa)

    def at(self, lam: float | None, kappa: float | None) -> Prepared:
        """Return the same data with another λ or κ."""
        zeros = int(self.used.size - self.used.sum())
        budget = None if kappa is None else kappa * self.used.size - zeros
        data = replace(self.data, lam=None if lam is None else lam * self.sigma2, budget=budget)
        return replace(self, problem=replace(self.problem, lam=lam, kappa=kappa), data=data)

    @property
    def feasible(self) -> bool:
        """True if the rows of zeros leave a positive budget."""
        return self.data.budget is None or self.data.budget > 0.0

    def offset(self) -> float:
        """Return the contribution of the rows of zeros to the objective."""
        return 0.0 if self.problem.lam is None else self.problem.lam * float((~self.used).sum())

    def reduced(self, start: Mapping[str, FloatArray]) -> tuple[FloatArray, FloatArray]:
        """Return (w, V) of the user's values w and W in these coordinates; V = 0 without W.

        Raises
        ------
        InputError
            w is missing, or a value has a wrong shape or numbers that are not finite.
        """
        if "w" not in start:
            raise InputError(
                f"start must give w (and W, where it is known) to conic-ipm; it gives {', '.join(start) or 'nothing'}"
            )
        p = self.problem.A.shape[1]
        w, W = np.asarray(start["w"], dtype=np.float64), start.get("W")
        if w.shape != (p,) or not np.isfinite(w).all():
            raise InputError(f"start['w'] must hold {p} finite numbers; it has shape {w.shape}")
        scaled = self.space.reduce(w) * np.sqrt(self.sigma2)
        if W is None:
            return scaled, np.zeros((scaled.size, scaled.size))
        W = np.asarray(W, dtype=np.float64)
        if W.shape != (p, p) or not np.isfinite(W).all():
            raise InputError(f"start['W'] must be a finite {p} × {p} matrix; it has shape {W.shape}")
        return scaled, self.space.reduce_matrix(0.5 * (W + W.T) - np.outer(w, w)) * self.sigma2

    def point(self, w: FloatArray, V: FloatArray) -> ConicPoint:
        """Return the primal point in the problem's own coordinates, with the best z for its w and V = W - ww'."""
        w = self.space.lift(w) / np.sqrt(self.sigma2)
        return primal_point(self.problem, w, self.space.lift_matrix(V) / self.sigma2 + np.outer(w, w))

    def bound(
        self,
        gamma: FloatArray,
        v: FloatArray,
        mu: float,
        point: ConicPoint,
        tolerance: float,
        *,
        improve: bool = True,
    ) -> ConicBound:
        """Repair the dual point and evaluate it from the data; improve it only if it misses the tolerance."""
        full_gamma, full_v, mu = np.zeros(self.used.size), np.zeros(self.used.size), mu / self.sigma2
        full_gamma[self.used], full_v[self.used] = gamma / self.sigma2, v / self.sigma2
        # a row of zeros adds λ to the dual objective and does not change S
        full_gamma[~self.used], full_v[~self.used] = mu, 2.0 * mu
        target = point.objective - tolerance * abs(point.objective)
        fixed_mu = None if self.problem.kappa is None else mu
        w = point.values["w"]
        return certified_bound(self.problem, full_gamma, w, fixed_mu, full_v, target=target, improve=improve)
