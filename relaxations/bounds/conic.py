"""The conic (semidefinite) relaxation of the 0-1 loss, and its kernel form."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from ...models.arrays import FloatArray
from ...models.formulations.conic import ConicSVM
from ...models.formulations.linear_classifiers import dense_signed_rows
from ...models.formulations.zero_one import ZeroOneSVM
from ...models.kernels.kernels import Linear
from ...models.views import ConicProblem
from ..reduction import LEADING_ONES, LiftedDual, Need, Relaxation, best_multiple
from .convexified import NormOffset, dual_at


@dataclass(frozen=True)
class Conic(NormOffset[ConicSVM]):
    """The SDP of Conic (21), λ form: the best of all convexifications (13) over γ in Γ. Needs no M.

    It takes one λ; `Combined` takes one for each point.
    """

    beside_m = True

    name = "conic SDP"

    def target(self, model: ZeroOneSVM) -> ConicSVM:
        """`ConicSVM` with the same data and λ."""
        return ConicSVM(model.X, model.y, lam=float(model.sample_weight[0]))

    def lift(self, model: ZeroOneSVM, target: ConicSVM, multipliers: Mapping[str, FloatArray]) -> LiftedDual:
        """Return the dual point of the 0-1 problem: γ from the multipliers ``hull``, v from ``split``."""
        return dual_at(ConicProblem(target.signed, float(model.sample_weight[0]), None), multipliers["hull"], multipliers)


@dataclass(frozen=True)
class KernelConic(NormOffset[ConicSVM]):
    """min <K, B> + λ Σz over (α, B), B ⪰ αα': Conic (21) with x_i replaced by K_i, of the same optimum.

    K_ij = y_i y_j (x̃_i'x̃_j + 1) = a_i'a_j.

    *Why it is equal.* With the rows a_i' = y_i x_i' of A, K = AA'. An optimal (w, W) of the primal SDP lies in the span of the
    a_i (the part outside adds to Tr W alone), so w = A'α, W = A'BA for some B ⪰ αα', and every term is the same. Γ agrees too:
    K - Σ γ_i K_i K_i' = A(I - Σ γ_i a_i a_i')A'. It pays where p > n.
    """

    name = "kernel SDP, linear kernel"

    @property
    def needs(self) -> tuple[Need, ...]:
        """The needs of `Conic`, and the constant column that the kernel's + 1 replaces."""
        return (*super().needs, LEADING_ONES)

    def target(self, model: ZeroOneSVM) -> ConicSVM:
        """The kernel form on the features without their constant column, which the kernel's + 1 replaces."""
        return ConicSVM(model.X[:, 1:], model.y, lam=float(model.sample_weight[0]), kernel=Linear())

    def recover(self, model: ZeroOneSVM, values: Mapping[str, FloatArray]) -> dict[str, FloatArray]:
        """The best multiple of w = Σ α_i a_i."""
        w = dense_signed_rows(model.X, model.y).T @ np.asarray(values["w"], dtype=np.float64)
        return model.point(best_multiple(model, w))

    def lift(self, model: ZeroOneSVM, target: ConicSVM, multipliers: Mapping[str, FloatArray]) -> LiftedDual:
        """The same γ and v prove the same bound in the primal's data."""
        return dual_at(
            ConicProblem(dense_signed_rows(model.X, model.y), float(model.sample_weight[0]), None),
            multipliers["hull"],
            multipliers,
        )


RELAXATIONS = (
    Relaxation(
        "conic",
        "the SDP: the best convexification over all γ in Γ; needs no M",
        Conic(),
        "Conic (21)",
        rank=80,
        default=True,
    ),
    Relaxation(
        "kernel-conic",
        "the SDP in its kernel form with the linear kernel: the same optimum, order n + 1 in place of p + 1",
        KernelConic(),
        "Conic Appendix A",
        rank=90,
    ),
)
