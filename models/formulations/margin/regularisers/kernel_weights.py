"""The L1 norm of kernel weights."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp

from .....errors import InputError
from ....arrays import FloatArray, as_positive
from ....program.cones import Zero
from ....statement import Line, times
from ..assembly import Affine, Assembly
from ..part import Polyhedral
from ..values import as_numbers
from .regulariser import Regulariser

__all__ = ["KernelWeightsL1"]


@dataclass(frozen=True, eq=False)
class KernelWeightsL1(Regulariser):
    """g(w) = μ min{||α||_1 : w = Σ_j α_j x_j}, as in Brooks's and MIPLIB's gsvm2rl: w is a combination of given points.

    Parameters
    ----------
    points : array_like (m, p)
        x_j, in the penalised coefficients alone.
    mu : float
        μ > 0.

    Raises
    ------
    InputError
        μ ≤ 0, or points with another number of columns than there are penalised coefficients (when the problem is compiled).
    """

    points: Any
    mu: float = 1.0

    def __post_init__(self) -> None:
        points = as_numbers(self.points, "points")
        if points.ndim != 2 or not np.isfinite(points).all():
            raise InputError(f"points must be a finite matrix with a row for each point; its shape is {points.shape}")
        object.__setattr__(self, "points", points)
        object.__setattr__(self, "mu", as_positive(self.mu, "mu"))

    def value(self, w: FloatArray) -> float:
        """μ||α||_1 of the best combination; infinite where w is none of the points."""
        weights = self._combination(w)
        return float("inf") if weights is None else float(self.mu * weights.sum())

    def blocks(self, w: FloatArray) -> dict[str, FloatArray]:
        """The best combination; nothing where w is none of the points."""
        weights = self._combination(w)
        return (
            {} if weights is None else {"alpha plus": weights[: weights.size // 2], "alpha minus": weights[weights.size // 2 :]}
        )

    def _combination(self, w: FloatArray) -> FloatArray | None:
        """Positive and negative parts of the best α, by a linear program."""
        from scipy.optimize import linprog  # slow to import, and read here alone

        self._check_width(w.size)
        m = self.points.shape[0]
        solution = linprog(np.ones(2 * m), A_eq=np.hstack([self.points.T, -self.points.T]), b_eq=w, bounds=(0, None))
        return np.asarray(solution.x) if solution.status == 0 else None

    def polyhedral(self, p: int) -> Polyhedral | None:
        """The points for atoms; None where they do not span all coefficients."""
        self._check_width(p)
        return Polyhedral(self.points / self.mu, 0.0) if np.linalg.matrix_rank(self.points) == p else None

    def add(self, builder: Assembly, w: Affine, span: FloatArray) -> None:
        """α as the difference of two non-negative parts, and w as their combination."""
        m, p = self.points.shape
        self._check_width(w.rows)
        plus, minus = builder.variables("alpha plus", m, 0.0), builder.variables("alpha minus", m, 0.0)
        builder.require("combination", w - plus.under(self.points.T) + minus.under(self.points.T), Zero(p))
        builder.cost(self.mu, plus)
        builder.cost(self.mu, minus)

    def _check_width(self, p: int) -> None:
        if self.points.shape[1] != p:
            raise InputError(
                f"points must have {p} columns, one for each penalised coefficient; they have {self.points.shape[1]}"
            )

    def cost_line(self) -> Line:
        """μ Σ |α_j|."""
        return times(self.mu, Line("sum_j |alpha_j|", r"\textstyle\sum_j|\alpha_j|"))

    def lines(self) -> tuple[Line, ...]:
        """The combination."""
        return (Line("w = sum_j alpha_j x_j", r"w = \textstyle\sum_j \alpha_j x_j", "combination"),)

    def reach(self, level: float, rows: FloatArray) -> FloatArray:
        """max_j |x_j'x| level/μ: the support function of the level set, whose extreme points are ±x_j level/μ."""
        products = sp.csr_array(rows) @ self.points.T
        return np.asarray(np.abs(products).max(axis=1) * level / self.mu)
