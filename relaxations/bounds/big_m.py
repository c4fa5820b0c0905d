"""The continuous relaxation of the big-M model, Conic (4), at constants of several sources."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal, TypeAlias

import numpy as np

from ...errors import InputError
from ...models.arrays import FloatArray, as_vector
from ...models.formulations.zero_one.model import ZeroOneSVM
from ...models.program.form import StandardForm
from ...models.program.lagrangian import lagrangian_bound
from ..reduction import LiftedDual, Reduction, T, restated
from ..relaxation import Relaxation

__all__ = ["BigM", "MSource", "WithConstants"]

#: ``"zero"``: valid from w = 0; ``"incumbent"``: valid from the model's upper bound; ``"stated"``: the model's own;
#: a number: that one for every point.
MSource: TypeAlias = Literal["zero", "incumbent", "stated"] | float


@dataclass(frozen=True)
class WithConstants(Reduction[T]):
    """A reduction whose target has big-M constants.

    Parameters
    ----------
    M : {"zero", "incumbent", "stated"} or float
        Where the constants come from. *Valid* ones, M_i = 1 + ||x_i|| √(UB - λ_i), follow from a feasible value UB: that of w = 0
        or that of an incumbent (``upper_bound`` of the model, see `tighten`). "stated" are those of the model; a number is
        taken for every point as it is.
    factor : float
        Multiplies them; a factor of at least 1 keeps valid ones valid and shows the trivial limit.

    Raises
    ------
    InputError
        An unknown source, or a number or factor that is not positive.
    """

    M: MSource = "zero"
    factor: float = 1.0

    def __post_init__(self) -> None:
        if isinstance(self.M, str):
            if self.M not in ("zero", "incumbent", "stated"):
                raise InputError(f"M must be 'zero', 'incumbent', 'stated' or a number > 0; it is {self.M!r}")
        elif not (isinstance(self.M, int | float) and np.isfinite(self.M) and self.M > 0):
            raise InputError(f"M must be 'zero', 'incumbent', 'stated' or a number > 0; it is {self.M!r}")
        if not (np.isfinite(self.factor) and self.factor > 0):
            raise InputError(f"factor must be a number > 0; it is {self.factor!r}")

    @property
    def source_name(self) -> str:
        """The constants' source for names of relaxations."""
        names = {"zero": "M from w=0", "incumbent": "M from incumbent", "stated": "M as stated"}
        base = names[self.M] if isinstance(self.M, str) else f"M={self.M:g}"
        return base if self.factor == 1.0 else f"{self.factor:g}x {base}"

    def restate(self, model: ZeroOneSVM) -> ZeroOneSVM:
        """The model with the constants asked for.

        Raises
        ------
        InputError
            "incumbent" for a model without ``upper_bound``.
        """
        if self.M == "incumbent" and model.upper_bound is None and model.incumbent is None:
            raise InputError("M='incumbent' needs a model with an upper_bound: tighten(model, w) sets it from a classifier w")
        changes: dict[str, object] = {"encoding": "bigm", "gamma": None, "rows": "bigm"}
        if self.M == "zero":
            changes |= {"M": None, "upper_bound": None, "incumbent": None}
        elif self.M == "incumbent":
            changes["M"] = None
        elif self.M != "stated":
            changes["M"] = as_vector(self.M, model.X.shape[0], "M")
        chosen = restated(model, **changes)
        return chosen if self.factor == 1.0 else restated(chosen, M=self.factor * chosen.big_m)

    def constants(self, model: ZeroOneSVM) -> FloatArray:
        """M_i in the target."""
        return self.restate(model).big_m

    def m_source(self, model: ZeroOneSVM) -> str:
        """Source, and whether the constants are proved valid."""
        proved = not self.caveat(model)
        return f"{self.source_name}, {'valid' if proved else 'not proved valid'}"

    def caveat(self, model: ZeroOneSVM) -> str:
        """Constants below the tightest ones known to be valid may cut off the optimum."""
        if self.M in ("zero", "incumbent") and self.factor >= 1.0:
            return ""  # valid by the argument that gives them
        M, valid = self.constants(model), restated(model, M=None).big_m
        short = int((valid * (1.0 - 1e-12) > M).sum())
        return "" if short == 0 else f"M is below its smallest value proved valid at {short} of {M.size} points"


@dataclass(frozen=True)
class BigM(WithConstants[StandardForm]):
    """min ||w||² + Σ λ_i z_i, u_i ≥ 1 - M_i z_i, 0 ≤ z ≤ 1: the big-M model without integrality, Conic (4).

    z_i = (1 - u_i)_+/M_i at an optimum, so it is `HingeSVM` with weights λ_i/M_i under the rows u_i ≥ 1 - M_i, and trivial as M
    grows. With M from w = 0 its optimum is at most that of the conic relaxation; with M from an incumbent it need not be.
    """

    against_m = True

    @property
    def base(self) -> int | None:
        """Gap closed is counted from the constants that are valid without any point."""
        return 0 if self == BigM("zero") else None

    @property
    def name(self) -> str:
        """Name with the constants' source."""
        return f"big-M, {self.source_name}"

    def apply(self, model: ZeroOneSVM) -> StandardForm:
        """The form without integrality; its bound is the Lagrangian's, minimised exactly over 0 ≤ z ≤ 1."""
        self.check(model)
        return self.restate(model).form.relax_integrality()

    def lift(self, model: ZeroOneSVM, target: StandardForm, multipliers: Mapping[str, FloatArray]) -> LiftedDual:
        """Multipliers α ≥ 0 of the ``margin`` rows, valid for the mixed-integer form as they are."""
        alpha = np.maximum(np.asarray(multipliers["margin"], dtype=np.float64), 0.0)
        value = lagrangian_bound(target, None, {"margin": alpha})
        return LiftedDual(value, {"margin": alpha}, "Lagrangian of the big-M rows, minimised over w and 0 <= z <= 1")


RELAXATIONS = (
    Relaxation(
        "big-m-trivial",
        "the big-M model without integrality at a hundred times the valid M: how a loose M ends",
        BigM("zero", factor=100.0),
        "Conic (4)",
        rank=10,
        default=True,
    ),
    Relaxation(
        "big-m",
        "the big-M model without integrality, M valid from w = 0: the base of gap closed",
        BigM("zero"),
        "Conic (4)",
        rank=20,
        default=True,
    ),
    Relaxation(
        "big-m-incumbent",
        "the big-M model without integrality, M valid from a known classifier",
        BigM("incumbent"),
        "Conic (4)",
        rank=30,
        default=True,
    ),
)
