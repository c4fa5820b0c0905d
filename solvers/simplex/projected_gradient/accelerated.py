"""Accelerated projected gradient with exact simplex projections and adaptive restart, for comparison."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from ....models.arrays import FloatArray, IntArray
from ....models.views import SimplexQP
from ...records.options import Options
from .. import records
from .dense import DenseGradient, DenseState, Start

__all__ = ["AcceleratedProjection", "project_simplices"]

#: Safety on the largest eigenvalue found by power iteration, which approaches it from below.
_MARGIN = 1.02


@dataclass(eq=False)
class MomentumState(DenseState):
    """The last point and its gradient, the momentum θ, and L, an upper estimate of Q's largest eigenvalue."""

    a_old: FloatArray = field(default_factory=lambda: np.zeros(0))
    g_old: FloatArray = field(default_factory=lambda: np.zeros(0))
    theta: float = 1.0
    L: float = 0.0


@dataclass(frozen=True)
class AcceleratedProjection(DenseGradient[MomentumState]):
    """Nesterov's method: a⁺ = Π(y - (Qy + c)/L), y = a + β(a - a_old), momentum dropped when it points uphill.

    Parameters
    ----------
    initial : {"uniform", "sparse"}
        Barycentres, or one vertex of each simplex.
    """

    initial: Start = "uniform"

    info = records.ACCELERATED_PROJECTION

    def init(self, view: SimplexQP, options: Options, rng: np.random.Generator) -> MomentumState:
        """The start and the largest eigenvalue of Q by 20 power iterations."""
        begun = self.begin(view, options, rng)
        x = rng.standard_normal(view.n)
        for _ in range(20):
            x = begun.Q @ (x / np.linalg.norm(x))
        return MomentumState(**vars(begun), a_old=begun.a, g_old=begun.g, L=float(_MARGIN * np.linalg.norm(x)))

    def once(self, state: MomentumState) -> bool:
        """One step; L doubles where it proves too small, and the step is not taken."""
        following = 0.5 * (1.0 + np.sqrt(1.0 + 4.0 * state.theta**2))
        beta = (state.theta - 1.0) / following
        y = state.a + beta * (state.a - state.a_old)
        gradient = state.g + beta * (state.g - state.g_old)
        a = project_simplices(y - gradient / state.L, state.members)
        uphill = float((y - a) @ (a - state.a)) > 0
        state.theta, state.a_old, state.g_old = 1.0 if uphill else following, state.a, state.g
        change = a - state.a
        if float(change @ (state.Q @ change)) > state.L * float(change @ change):
            state.L *= 2.0
            return True
        state.a = a
        state.steps += 1
        state.g = state.Q @ a + state.view.c
        state.step = "restart" if uphill else "momentum"
        return True


def project_simplices(v: FloatArray, members: Sequence[IntArray]) -> FloatArray:
    """Euclidean projection on a product of unit simplices (sort and threshold)."""
    projected = np.zeros_like(v)
    for m in members:
        ordered = np.sort(v[m])[::-1]
        excess = np.cumsum(ordered) - 1.0
        last = np.flatnonzero(ordered * np.arange(1, m.size + 1) > excess)[-1]
        projected[m] = np.maximum(v[m] - excess[last] / (last + 1), 0.0)
    return projected
