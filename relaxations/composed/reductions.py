"""Reductions of problems from parts: the target is stated by the type of the loss and of the regulariser."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import ClassVar, TypeVar

import numpy as np

from ...errors import UnsupportedModelError
from ...models.arrays import FloatArray
from ...models.formulations.margin.model import Margin
from ...models.formulations.ramp import RampSVM
from ...models.formulations.zero_one.model import ZeroOneSVM
from ...models.model import Model
from ...models.program.form import StandardForm
from ..reduction import LiftedDual, Reduction, without_warnings
from .points import best_allowed_multiple, changed_level, parts_of, rounded, with_values

__all__ = ["ComposedReduction", "PartsReduction"]

# A change of a model in its relaxation: rows over blocks that both have.


def with_changed_rows(model: Model, target: StandardForm) -> StandardForm:
    """The target with what the changes of a model say of blocks that both have; a change of other blocks is left out.

    Valid: every point of the changed model is one of the model before it, has a point of the target, and keeps these rows.
    """
    for change in model.changes:
        target = change.carried(target)
    return target


T = TypeVar("T", bound="Model | StandardForm")


@dataclass(frozen=True)
class PartsReduction(Reduction[T]):
    """Reads every model that is a `Margin` (`Model.composed`): named formulations of that kind, and changed ones.

    A change that only restricts leaves every bound of the model before it standing.
    """

    reads: ClassVar[tuple[type[Model], ...]] = (ZeroOneSVM, RampSVM, Margin)

    @property
    def needs(self) -> tuple[()]:
        """Said by `obstacle`, which knows the parts."""
        return ()

    def obstacle(self, model: Model) -> str:
        """Why it does not read a model; empty where it does."""
        composed = _composed(model)
        if composed is None:
            return "it relaxes problems from parts (Margin, or a named formulation that is one)"
        return self.missing(composed)

    @abstractmethod
    def missing(self, composed: Margin) -> str:
        """Return the part that the composition lacks; empty where it lacks nothing."""

    def value(self, model: Model, values: Mapping[str, FloatArray]) -> float:
        """Return the value of the composition in the classifier of its own w; of a changed model its form's."""
        parts = parts_of(model)
        if parts is not None:
            return parts.objective(values["w"])
        return model.form.objective(model.form.join(values))

    def recover(self, model: Model, values: Mapping[str, FloatArray]) -> dict[str, FloatArray] | None:
        """The best multiple of w that domain and restrictions allow, among 0, 1 and those that bring a margin to 1.

        Where none is allowed, or the model is changed, the best point with the integers of that; None without one.
        """
        composed = _composed(model)
        assert composed is not None
        is_composed = model.composed is not None
        w = np.asarray(values["w"] if "w" in values else values["x"][composed.form.slices["w"]], dtype=np.float64)
        multiple = best_allowed_multiple(composed, model if is_composed else composed, w)
        if is_composed and multiple is not None:
            return model.complete({"w": multiple})
        return _with_its_integers(model, composed, w if multiple is None else multiple)


@dataclass(frozen=True)
class ComposedReduction(PartsReduction[StandardForm]):
    """Maps to a form without integers; what a change restricts w by goes into it."""

    @abstractmethod
    def target(self, composed: Margin) -> StandardForm:
        """The relaxation."""

    def apply(self, model: Model) -> StandardForm:
        """The target's form, without integers."""
        self.check(model)
        composed = _composed(model)
        assert composed is not None
        with without_warnings():
            if model.composed is None:  # what is known of an optimum before the change is not known after it
                level = changed_level(model)
                if level is None:
                    raise UnsupportedModelError(f"no feasible point of {model.name} was found, so nothing bounds its margins")
                composed = replace(composed, upper_bound=level)
            return with_changed_rows(model, self.target(composed))

    def lift(self, model: Model, target: StandardForm, multipliers: Mapping[str, FloatArray]) -> LiftedDual:
        """The target's Lagrangian at its multipliers: every point of the original is one of the target with the same cost."""
        from ...models.program.lagrangian import lagrangian

        bound = lagrangian(target, None, multipliers)
        value = bound.value if not bound.condition else -np.inf
        return LiftedDual(value, dict(multipliers), bound.argument)


def _with_its_integers(model: Model, composed: Margin, w: FloatArray) -> dict[str, FloatArray] | None:
    """The best point of a model whose integers are those that w asks for (before the change of a changed one)."""
    before = model.bounding_model.complete({"w": w})
    if set(before) != set(model.bounding_model.form.slices):
        form = composed.form
        x, fixed = np.zeros(form.n), np.zeros(form.n, dtype=bool)
        x[form.slices["w"]], fixed[form.slices["w"]] = w, True
        before = with_values(form, fixed, x) or {}
    return rounded(model.form, {label: value for label, value in before.items() if label != "w"}) if before else None


def _composed(model: Model) -> Margin | None:
    """The problem from parts whose bounds are bounds of a model."""
    return parts_of(model.bounding_model)


def bounded_by_reach(composed: Margin, form: StandardForm) -> StandardForm:
    """The form with what is known of |w_j| at an optimum as bounds: without them, and without squares, it has no finite dual."""
    if form.quadratic is not None:
        return form  # a free w with curvature is minimised exactly
    span, s = composed.reach[0], form.slices["w"]
    lower, upper = form.lower.copy(), form.upper.copy()
    lower[s], upper[s] = np.maximum(lower[s], -span), np.minimum(upper[s], span)
    return form.with_bounds(lower, upper)
