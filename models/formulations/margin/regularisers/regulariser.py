"""The abstract regulariser."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass

import numpy as np

from ....arrays import BoolArray, FloatArray
from ....statement import Line
from ..assembly import Affine, Assembly
from ..part import Part, Polyhedral

__all__ = ["Regulariser", "Sparsity"]


@dataclass(frozen=True)
class Sparsity:
    """A regulariser that is μ_0 ||w||_0 + μ_1 ||w||_1 with at most so many non-zero coefficients."""

    mu0: float
    mu1: float
    most: int | None = None


class Regulariser(Part):
    """A convex cost R(w) ≥ 0 of the penalised coefficients, or a price of the non-zero ones."""

    @abstractmethod
    def value(self, w: FloatArray) -> float:
        """R(w)."""

    @abstractmethod
    def add(self, builder: Assembly, w: Affine, span: FloatArray) -> None:
        """Add variables, constraints and cost; ``span`` bounds |w_j|."""

    @abstractmethod
    def cost_line(self) -> Line:
        """Line of the regulariser in the objective."""

    def curvature(self) -> float:
        """The largest μ such that R(w) - μ||w||² is convex."""
        return 0.0

    def curvatures(self, penalised: BoolArray) -> FloatArray:
        """D ⪰ 0 over all coefficients, or its diagonal, such that R(w) - w'Dw is convex."""
        return np.where(penalised, self.curvature(), 0.0)

    @property
    def square(self) -> float | None:
        """μ where R is μ||w||² and nothing else, 0 where there is none; None where it is not."""
        return None

    def polyhedral(self, p: int) -> Polyhedral | None:
        """Itself over p coefficients by few atoms and a multiple of ||w||²; None where it is not, or p is too large."""
        return None if self.square is None else Polyhedral(np.zeros((0, p)), self.square)

    def blocks(self, w: FloatArray) -> dict[str, FloatArray]:
        """The variables that it adds to the form, at their best for w."""
        return {}

    @property
    def sparsity(self) -> Sparsity | None:
        """Itself as prices of non-zero coefficients and of their size; None where it is something else."""
        return None

    def reach(self, level: float, rows: FloatArray) -> FloatArray:
        """max x'w subject to R(w) ≤ level, for each row x; infinite where R does not bound it."""
        return np.where(rows.any(axis=1), np.inf, 0.0)
