"""The parts that the alternating steps of the Chebyshev problem share for any P: factors, S, and the last P's products."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import cached_property
from typing import final

import numpy as np
import scipy.linalg

from ...arrays import FloatArray
from ...kernels.feature_map import FeatureMap
from ..stiefel import StiefelQP
from .evaluation import Ridge
from .hinge_factor import HingeFactor, LoweredFactor
from .hinge_quadratic import HingeQuadratic
from .multi_objective.problem import ChebyshevProblem
from .neighbour_graph import neighbour_laplacian
from .points_factor import KernelRows, PointsFactor, pulled_each, solve_each

__all__ = ["ChebyshevPieces"]


@final
class ChebyshevPieces:
    """Ψ, S, every class's factor and problems; one object for a model and all its ``at(P)``.

    Parameters
    ----------
    model : ChebyshevNPSVC
        Its P is not used: every method is given one.
    """

    def __init__(self, model: ChebyshevProblem) -> None:
        self._model = model
        self._factors: dict[int, HingeFactor | PointsFactor] = {}
        self._lowered: dict[int, LoweredFactor] = {}
        self._product: tuple[FloatArray, FloatArray] | None = None
        self._projection: tuple[float, StiefelQP] | None = None

    @cached_property
    def features(self) -> FeatureMap:
        """Ψ."""
        model = self._model
        return FeatureMap(model.X, model.kernel, model.ridge, model.offset)

    @cached_property
    def S(self) -> FloatArray:
        """Ψ'LΨ; zeros where μ = 0."""
        psi = self.features.rows
        if self._model.mu == 0.0:
            return np.zeros((psi.shape[1], psi.shape[1]))
        spread = neighbour_laplacian(self._model.X, self._model.neighbours) @ psi
        # of a kernel's Ψ, lower triangular, half of the work; .T: in Fortran's order, no copy
        S = psi.T @ spread if self.features.linear else scipy.linalg.blas.dtrmm(1.0, psi.T, spread.T, 1, 0, 1, overwrite_b=1)
        return np.asarray(0.5 * (S + S.T))

    @cached_property
    def _kernel_rows(self) -> KernelRows:
        return KernelRows(self.features.rows, self.features.gram, self._model.r1)

    def factor(self, k: int) -> HingeFactor | PointsFactor:
        """A'A + r1 I and the rows B of class k; kept, since P does not enter."""
        if k not in self._factors and not self.features.linear:
            self._factors[k] = PointsFactor(self._kernel_rows, self._model.near(k))
        if k not in self._factors:
            psi, near = self.features.rows, self._model.near(k)
            A = psi[near]
            H = A.T @ A
            H[np.diag_indices(H.shape[0])] += self._model.r1
            self._factors[k] = HingeFactor(H, psi[~near], A, Ridge(self._model.r1))
        return self._factors[k]

    def program(self, k: int, P: FloatArray, v: FloatArray | None) -> HingeQuadratic:
        """See `ChebyshevNPSVC.class_program`."""
        model, factor = self._model, self.factor(k)
        m = factor.shape[0]
        constant = self.smoothness(P)
        hinge = (np.ones(m), np.full(m, model.c), np.zeros(m))
        if v is None:
            return HingeQuadratic(self._lower(k, P), np.zeros(P.shape[0]), *hinge, constant)
        centre = P @ v
        constant += 0.5 * model.r1 * float(centre @ centre) + 0.5 * model.r2 * float(v @ v)
        return HingeQuadratic(factor, -model.r1 * centre, *hinge, constant)

    def programs(self, P: FloatArray, V: FloatArray) -> list[HingeQuadratic]:
        """Every class's problem in u at the given V; over kernel features their H⁻¹b are found together."""
        programs = [self.program(k, P, V[k]) for k in range(self._model.K)]
        points = [program.factor for program in programs if isinstance(program.factor, PointsFactor)]
        if not points:
            return programs
        centres = solve_each(points, np.stack([program.b for program in programs]))
        return [replace(program, centre=centre) for program, centre in zip(programs, centres, strict=True)]

    def points(self, programs: Sequence[HingeQuadratic], lams: Sequence[FloatArray]) -> FloatArray:
        """U (K, features) of the dual points of `programs`, over kernel features together."""
        points = [program.factor for program in programs if isinstance(program.factor, PointsFactor)]
        if not points:
            return np.stack([program.primal(lam) for program, lam in zip(programs, lams, strict=True)])
        centres = np.stack([np.asarray(program.centre) for program in programs])
        return solve_each(points, pulled_each(points, lams)) - centres

    def _lower(self, k: int, P: FloatArray) -> LoweredFactor:
        """H - r1²/(r1 + r2) PP' of class k; over kernel features those of the last P are kept."""
        kappa = self._model.r1**2 / (self._model.r1 + self._model.r2)
        if self.features.linear:
            return LoweredFactor(self.factor(k), P, kappa)
        if k not in self._lowered or not np.array_equal(self._lowered[k].P, P):
            self._lowered[k] = LoweredFactor(self.factor(k), P, kappa)
        return self._lowered[k]

    def smoothed(self, P: FloatArray) -> FloatArray:
        """SP; that of the last P is kept, since all classes ask for it."""
        if self._product is None or not np.array_equal(P, self._product[0]):
            self._product = (P.copy(), self.S @ P)
        return self._product[1]

    def smoothness(self, P: FloatArray) -> float:
        """μ/2 Tr(P'SP)."""
        return 0.0 if self._model.mu == 0.0 else 0.5 * self._model.mu * float(np.sum(P * self.smoothed(P)))

    def projection(self, share: float, E: FloatArray) -> StiefelQP:
        """The P-step (19), H = -share μS, which is checked and built again only where the share has changed."""
        if self._projection is None or abs(self._projection[0] - share) > 1e-14 * share:
            self._projection = (share, StiefelQP(-self._model.mu * share * self.S, E))
        return self._projection[1].with_linear(E)
