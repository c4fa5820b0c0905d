"""The parts that relaxations with the closed-form dual value of Conic (13) share: their targets, and the way there and back."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar, TypeVar

import numpy as np

from ...errors import InputError
from ...models.arrays import FloatArray, Points, as_labels, as_points, as_vector
from ...models.conic_dual.bound import certified_bound
from ...models.formulations.linear import dense_signed_rows, linear_summary, warn_about_features
from ...models.formulations.zero_one.model import ZeroOneSVM
from ...models.model import Bound, Model
from ...models.views import ConicProblem
from ..reduction import ONE_COST, PENALISED, LiftedDual, Need, Reduction, T, without_warnings
from .combined_bound import combined_bound

__all__ = ["Convexification", "ConvexifiedLosses", "WholeNorm", "dual_at", "dual_with_rows", "positive"]


def dual_at(
    problem: ConicProblem,
    gamma: FloatArray,
    multipliers: Mapping[str, FloatArray],
    argument: str = "closed-form dual value at γ in Γ (S ≻ 0 checked by Cholesky)",
    w: FloatArray | None = None,
) -> LiftedDual:
    """γ moved into Γ and subgradients v of the conic losses, from those of ``split`` or found: D(γ, v) of
    `models.conic_dual.bound`.
    """
    bound = certified_bound(problem, gamma, w=w, v=multipliers.get("split"))
    return LiftedDual(bound.value, {"hull": bound.gamma, "split": bound.v}, argument)


def dual_with_rows(
    target: ConvexifiedLosses,
    M: FloatArray,
    gamma: FloatArray,
    slope: FloatArray | None,
    argument: str = "closed-form dual value at γ in Γ, big-M rows included (S ≻ 0 checked by Cholesky)",
    w: FloatArray | None = None,
) -> LiftedDual:
    """γ moved into Γ and subgradients V = v + δ of the losses under big-M rows, D(γ, V) of `combined_bound`."""
    bound = combined_bound(target.signed, target.weights, M, gamma, slope=slope, w=w)
    return LiftedDual(bound.value, {"hull": bound.gamma, "slope": bound.slope}, argument)


def positive(values: object, n: int, name: str) -> FloatArray:
    """n numbers > 0.

    Raises
    ------
    InputError
    """
    checked = as_vector(values, n, name)
    if not (checked > 0).all():
        raise InputError(f"{name} must be > 0; it is {checked.min():g}")
    return checked


@dataclass(frozen=True, eq=False, repr=False)
class ConvexifiedLosses(Model):
    """A relaxation of the 0-1 loss whose multipliers give a γ in Γ, and that a bound in closed form.

    Parameters
    ----------
    X : array_like (n, p)
        Taken literally, as in `ConicSVM`.
    y : array_like (n,)
        Labels -1, +1.
    lam : float or array_like (n,)
        λ_i > 0.

    Raises
    ------
    InputError
        Wrong shapes, non-finite data, labels, λ ≤ 0.
    """

    X: Points
    y: FloatArray
    lam: float | FloatArray

    #: Constraints whose multipliers the bound cannot do without.
    proving: ClassVar[tuple[str, ...]] = ("hull",)

    def __post_init__(self) -> None:
        X = as_points(self.X)
        object.__setattr__(self, "X", X)
        object.__setattr__(self, "y", as_labels(self.y, X.shape[0]))
        warn_about_features(X)
        positive(self.lam, X.shape[0], "lam")

    @cached_property
    def weights(self) -> FloatArray:
        """λ_i."""
        return as_vector(self.lam, self.X.shape[0], "lam")

    @cached_property
    def signed(self) -> FloatArray:
        """Rows a_i' = y_i x_i'."""
        return dense_signed_rows(self.X, self.y)

    @property
    def problem(self) -> ConicProblem:
        """The data of the dual value, of one λ."""
        return ConicProblem(self.signed, float(self.weights[0]), None)

    @abstractmethod
    def certify(self, multipliers: Mapping[str, FloatArray], w: FloatArray | None = None) -> LiftedDual:
        """The bound that multipliers of any quality prove, and the dual point; ``w`` is where a search may start."""

    def bound(self, x: FloatArray | None, multipliers: Mapping[str, FloatArray] | None) -> Bound:
        """Closed-form dual value; see `certify`."""
        if multipliers is None or any(label not in multipliers for label in self.proving):
            return Bound(-np.inf, "no multipliers")
        bound = self.certify(multipliers, None if x is None else self.form.split(x)["w"])
        return Bound(bound.value, bound.argument)

    def summary(self, values: Mapping[str, FloatArray]) -> dict[str, float]:
        """Margin violations, misclassified points and Σz."""
        return linear_summary(self.X, self.y, values["w"]) | {"sum_z": float(values["z"].sum())}


#: What a convexification maps to.
C = TypeVar("C", bound=ConvexifiedLosses)


@dataclass(frozen=True)
class WholeNorm(Reduction[T]):
    """A reduction that offsets the loss by all of ||w||²."""

    @property
    def needs(self) -> tuple[Need, ...]:
        """A penalised intercept, and what `of_costs` asks."""
        return (*super().needs, PENALISED, *self.of_costs)

    @property
    def of_costs(self) -> tuple[Need, ...]:
        """One λ, where the closed form has one."""
        return (ONE_COST,)

    def apply(self, model: ZeroOneSVM) -> T:
        """The target on the same data.

        Raises
        ------
        UnsupportedModelError
            A free intercept, or what else it `needs` and the model lacks.
        InputError
            A source of M or γ that the model lacks.
        """
        self.check(model)
        with without_warnings():
            return self.target(model)

    @abstractmethod
    def target(self, model: ZeroOneSVM) -> T:
        """The target of a model that it reads."""


@dataclass(frozen=True)
class Convexification(WholeNorm[C]):
    """One whose target proves its own bound."""

    def lift(self, model: ZeroOneSVM, target: C, multipliers: Mapping[str, FloatArray]) -> LiftedDual:
        """Return the bound that the target proves: the target is stated on the model's own data."""
        return target.certify(multipliers)
