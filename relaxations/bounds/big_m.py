"""The big-M relaxation of the 0-1 loss (`BigM`) and the hinge relaxation below it (`Hinge`): the baselines of a gap report.

Both bound min ||w||² + Σ λ_i 1{u_i < 1} from below, where u_i = y_i x_i'w is the margin of point i and λ_i > 0 its cost. A
*reduction* (`Reduction`) maps the model to the relaxation, its target, and multipliers of the target to a bound. Numbers are
those of Cepeda, Gómez and Han (2024), *Robust support vector machines via conic optimization* ("Conic").
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

import numpy as np

from ...errors import InputError, count_text, short_text
from ...models.arrays import FloatArray, as_positive, as_vector
from ...models.formulations.hinge import HingeSVM
from ...models.formulations.zero_one import ZeroOneSVM
from ...models.program.form import StandardForm
from ...models.program.lagrangian import dual_bound_value
from ...models.rounding import two_product
from ..reduction import PENALISED, LiftedDual, Need, Reduction, Relaxation, T, replace_fields, without_warnings

#: ``"zero"``: valid from w = 0; ``"incumbent"``: valid from the model's upper bound; ``"stated"``: the model's own;
#: a number: that one for every point.
MSource: TypeAlias = Literal["zero", "incumbent", "stated"] | float


@dataclass(frozen=True)
class BigMReduction(Reduction[T]):
    """A reduction whose target has big-M constants: base class.

    Parameters
    ----------
    big_m : {"zero", "incumbent", "stated"} or float
        Source of the constants. *Valid* ones, M_i = 1 + ||x_i|| √(UB - λ_i), follow from a feasible value UB: that of w = 0, or
        that of an incumbent (``upper_bound`` of the model, see `tighten`). "stated" are the model's own constants; a number is
        the M_i of every point.
    factor : float
        Multiple of these constants. A factor of at least 1 keeps valid constants valid; a large one shows how the bound vanishes.

    Raises
    ------
    InputError
        An unknown source, or a number or factor that is not positive.
    """

    big_m: MSource = "zero"
    factor: float = 1.0

    def __post_init__(self) -> None:
        super().__post_init__()
        is_source = isinstance(self.big_m, str) and self.big_m in ("zero", "incumbent", "stated")
        if not (is_source or (isinstance(self.big_m, int | float) and 0.0 < self.big_m < np.inf)):
            raise InputError(
                f"big_m must be 'zero', 'incumbent', 'stated' or a number > 0; it is {short_text(self.big_m)}", name="big_m"
            )
        object.__setattr__(self, "factor", as_positive(self.factor, "factor"))

    @property
    def source_name(self) -> str:
        """Return words for the source of the constants, such as "M from w=0"."""
        names = {"zero": "M from w=0", "incumbent": "M from incumbent", "stated": "M as stated"}
        base = names[self.big_m] if isinstance(self.big_m, str) else f"M={self.big_m:g}"
        return base if self.factor == 1.0 else f"{self.factor:g}x {base}"

    def with_incumbent(self, model: Any, w: FloatArray) -> Any:
        """Return the model with the objective of w as its upper bound if the constants need a bound that the model lacks."""
        if self.big_m != "incumbent" or self.obstacle(model) or model.upper_bound is not None or model.incumbent is not None:
            return model
        return replace_fields(model, upper_bound=model.objective(w))

    def with_constants(self, model: ZeroOneSVM) -> ZeroOneSVM:
        """Return the model in the big-M encoding with the constants of this source.

        Raises
        ------
        InputError
            "incumbent" for a model without ``upper_bound``.
        """
        if self.big_m == "incumbent" and model.upper_bound is None and model.incumbent is None:
            raise InputError(
                "big_m='incumbent' needs a model with an upper_bound: tighten(model, w) sets it from a classifier w", name="big_m"
            )
        has_rows = model.encoding == "auto" and model.kappa is None  # the λ form knows an M
        changes: dict[str, object] = {"encoding": "auto" if has_rows else "bigm", "gamma": None, "rows": "bigm"}
        if self.big_m == "zero":
            changes |= {"big_m": "auto", "upper_bound": None, "incumbent": None}
        elif self.big_m == "incumbent":
            changes["big_m"] = "auto"
        elif self.big_m != "stated":
            changes["big_m"] = as_vector(self.big_m, model.X.shape[0], "big_m")
        chosen = replace_fields(model, **changes)
        return chosen if self.factor == 1.0 else replace_fields(chosen, big_m=self.factor * chosen.big_m_values)

    def big_m_constants(self, model: ZeroOneSVM) -> FloatArray:
        """Return the constants M_i of the target, (n,)."""
        return self.with_constants(model).big_m_values

    def m_source(self, model: ZeroOneSVM) -> str:
        """Return the source, and whether the constants are proved valid."""
        proved = not self.caveat(model)
        return f"{self.source_name}, {'valid' if proved else 'not proved valid'}"

    def caveat(self, model: ZeroOneSVM) -> str:
        """Return the number of constants below the smallest ones proved valid, which may cut off the optimum; else empty."""
        if self.big_m in ("zero", "incumbent") and self.factor >= 1.0:
            return ""  # valid by the argument that gives them
        M, valid = self.big_m_constants(model), replace_fields(model, big_m="auto").big_m_values
        short = int((valid * (1.0 - 1e-12) > M).sum())
        return "" if short == 0 else f"M is below its smallest value proved valid at {short} of {count_text(M.size, 'point')}"


@dataclass(frozen=True)
class BigM(BigMReduction[StandardForm]):
    """min ||w||² + Σ λ_i z_i, u_i ≥ 1 - M_i z_i, 0 ≤ z ≤ 1: the big-M model without integrality, Conic (4).

    z_i = (1 - u_i)_+/M_i at an optimum, so it is `HingeSVM` with weights λ_i/M_i under the rows u_i ≥ 1 - M_i. Its optimum tends
    to 0 as M grows. With M from w = 0 it is at most that of the conic relaxation; with M from an incumbent it need not be.

    Parameters
    ----------
    big_m : {"zero", "incumbent", "stated"} or float
        Source of the constants M_i (w = 0, the incumbent, the model's own), or one number for all.
    factor : float
        Multiple of these constants.
    """

    #: The plot of bounds against M in a gap report has a point for this relaxation.
    against_m = True

    @property
    def is_base(self) -> bool:
        """Return whether this is the relaxation with M from w = 0, whose bound is the base of the gap closed."""
        return self == BigM("zero")

    @property
    def name(self) -> str:
        """Return the name with the source of the constants."""
        return f"big-M, {self.source_name}"

    def apply(self, model: ZeroOneSVM) -> StandardForm:
        """Return the big-M form without integrality."""
        self.check(model)
        return self.with_constants(model).form.relax_integrality()

    def lift(self, model: ZeroOneSVM, target: StandardForm, multipliers: Mapping[str, FloatArray]) -> LiftedDual:
        """Return the Lagrangian bound of the multipliers α of the ``margin`` rows, clipped to α ≥ 0."""
        alpha = np.maximum(np.asarray(multipliers["margin"], dtype=np.float64), 0.0)
        value = dual_bound_value(target, None, {"margin": alpha})
        return LiftedDual(value, {"margin": alpha}, "Lagrangian of the big-M rows, minimised over w and 0 <= z <= 1")


@dataclass(frozen=True)
class Hinge(BigMReduction[HingeSVM]):
    """min ||w||² + Σ (λ_i/M_i)(1 - u_i)_+, which is Conic (4) where z ≤ 1 is slack, Conic §2.

    Its optimum is at most that of the big-M relaxation with the same M, and equal if the optimal w has u_i ≥ 1 - M_i for all i.
    ``Hinge(1.0)`` is the usual hinge SVM: M = 1 is not valid in general, so it is an approximation without a bound (`caveat`).

    Parameters
    ----------
    big_m : {"zero", "incumbent", "stated"} or float
        Source of the constants M_i (w = 0, the incumbent, the model's own), or one number for all.
    factor : float
        Multiple of these constants.
    """

    @property
    def name(self) -> str:
        """Return the name with the source of the constants."""
        return f"hinge, {self.source_name}"

    @property
    def needs(self) -> tuple[Need, ...]:
        """Return the needs of the base class and a penalised intercept, as `HingeSVM` has."""
        return (*super().needs, PENALISED)

    def apply(self, model: ZeroOneSVM) -> HingeSVM:
        """Return the hinge model with weights λ_i/M_i.

        Raises
        ------
        InputError
            A stated M_i is zero (its weight would be infinite).
        UnsupportedModelError
            A free intercept (`HingeSVM` penalises it).
        """
        self.check(model)
        M = self.big_m_constants(model)
        if not (M > 0).all():
            raise InputError(f"Hinge() needs M > 0; the model's smallest is {M.min():g}", name="big_m")
        with without_warnings():
            return HingeSVM(model.X, model.y, _quotients(model.sample_weight, M))

    def lift(self, model: ZeroOneSVM, target: HingeSVM, multipliers: Mapping[str, FloatArray]) -> LiftedDual:
        """Return the dual value of α clipped to 0 ≤ α_i ≤ λ_i/M_i, which are multipliers of the big-M form's rows ``margin``.

        There λ_i - α_i M_i ≥ 0, so z = 0 minimises the Lagrangian; both dual values are Σα - ¼||Σ α_i y_i x_i||².
        """
        alpha = np.clip(np.asarray(multipliers["margin"], dtype=np.float64), 0.0, target.sample_weight)
        value = target.bound(None, {"margin": alpha}).value
        return LiftedDual(value, {"margin": alpha}, "the hinge dual's point as multipliers of the big-M rows")


def _quotients(weights: FloatArray, M: FloatArray) -> FloatArray:
    """Return λ_i/M_i rounded down: a hinge loss that costs an ulp too much would not bound the 0-1 loss from below."""
    quotients = weights / M
    product, error = two_product(quotients, M)
    return np.where((product > weights) | ((product == weights) & (error > 0.0)), np.nextafter(quotients, 0.0), quotients)


#: The records of these relaxations, which `relaxations.registry` collects.
RELAXATIONS = (
    Relaxation(
        "big-m-trivial",
        "the big-M model without integrality at a hundred times the valid M: how weak a loose M is",
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
    Relaxation(
        "hinge-incumbent",
        "the hinge loss with weights λ_i/M_i, M valid from a known classifier: big-M where z ≤ 1 is slack",
        Hinge("incumbent"),
        "Conic §2",
        rank=40,
        default=True,
    ),
    Relaxation(
        "hinge",
        "the hinge SVM as it is used (M = 1): an approximation that bounds nothing of the 0-1 problem",
        Hinge(1.0),
        "Conic (2)",
        rank=50,
        default=True,
    ),
)
