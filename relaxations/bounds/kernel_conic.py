"""The conic SDP in its kernel form with the linear kernel, Conic Appendix A: n + 1 in place of p + 1 as the order."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from ...errors import InputError
from ...models.arrays import FloatArray
from ...models.formulations.conic.bound import certified_bound
from ...models.formulations.conic.model import ConicSVM
from ...models.formulations.linear import dense_signed_rows
from ...models.formulations.zero_one.model import ZeroOneSVM, first_column_is_one
from ...models.kernels.kernels import Linear
from ...models.views import ConicProblem
from ..reduction import LiftedDual, Reduction, best_multiple, without_warnings
from .conic import Conic

__all__ = ["KernelConic"]


@dataclass(frozen=True)
class KernelConic(Reduction):
    """min <K, A> + λ Σz over Conic (21) with x_i replaced by K_i, K_ij = y_i y_j (x̃_i'x̃_j + 1) = a_i'a_j: the same optimum.

    *Why it is equal.* With the rows a_i' = y_i x_i' of A, K = AA'. An optimal (w, W) of the primal SDP lies in the span of the
    a_i (the part outside adds to Tr W alone), so w = A'α, W = A'AA for some A ⪰ αα', and every term is the same. Γ agrees too:
    K - Σ γ_i K_i K_i' = A(I - Σ γ_i a_i a_i')A'. It pays where p > n.
    """

    @property
    def name(self) -> str:
        """Name for tables."""
        return "kernel SDP, linear kernel"

    def apply(self, model: ZeroOneSVM) -> ConicSVM:
        """The kernel form on the features without their constant column, which the kernel's + 1 replaces.

        Raises
        ------
        InputError
            The first column of X is not all ones, or there is no other.
        UnsupportedModelError
            A free intercept, or weights λ_i that differ.
        """
        lam = Conic().apply(model).lam
        if not first_column_is_one(model.X) or model.X.shape[1] < 2:
            raise InputError(
                "KernelConic() needs a first column of ones in X and further features: the kernel form's intercept is k + 1; "
                "Instance.prepared(intercept=True) puts it there"
            )
        with without_warnings():
            return ConicSVM(model.X[:, 1:], model.y, lam=lam, kernel=Linear())

    def recover(self, model: ZeroOneSVM, values: Mapping[str, FloatArray]) -> dict[str, FloatArray]:
        """The best multiple of w = Σ α_i a_i."""
        w = dense_signed_rows(model.X, model.y).T @ np.asarray(values["w"], dtype=np.float64)
        return model.point(best_multiple(model, w))

    def lift_dual(self, model: ZeroOneSVM, multipliers: Mapping[str, FloatArray]) -> LiftedDual:
        """The same γ and v prove the same bound in the primal's data."""
        problem = Conic().apply(model).view(ConicProblem)
        assert problem is not None
        found = certified_bound(problem, np.asarray(multipliers["hull"]), v=multipliers.get("split"))
        return LiftedDual(
            found.value,
            {"hull": found.gamma, "split": found.v},
            "closed-form dual value at gamma in Gamma (S checked by Cholesky)",
        )
