"""A formulation with a change: its labels, decision function and explanations are kept, its form is changed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from ...errors import InputError
from ..appraisal import CountedCost
from ..arrays import FloatArray
from ..inspection.point_explanation import PointExplanation
from ..model import Bound, Model
from ..program.cones import Feature
from ..program.form import StandardForm
from ..statement import Statement
from .added_parts import AddedParts, State
from .blocks import cvxpy_module
from .change import Change, FixedVariables, Relaxed

if TYPE_CHECKING:
    from ..importing.proof import Import

__all__ = ["ChangedModel", "relaxed", "with_constraint", "with_fixed", "with_variables"]


@dataclass(frozen=True, eq=False, repr=False)
class ChangedModel(Model):
    """The model that `Model.with_constraint`, `with_variables`, `with_fixed` and `relaxed` return.

    The blocks of the model come first, so that whatever reads its values reads these: scores, summary, points, the meaning of
    multipliers. It has no structural view, since an algorithm for the model would not see the change.

    Parameters
    ----------
    base : Model
    change : Change

    Raises
    ------
    UnsupportedModelError, TooLargeError
        The model has no standard form, or one too large to build.
    """

    base: Model
    change: Change

    name = "a changed model"

    def __post_init__(self) -> None:
        suffix = f", {self.change.suffix}"
        object.__setattr__(self, "name", self.base.name if self.base.name.endswith(suffix) else self.base.name + suffix)

    @property
    def form_bytes(self) -> int:
        """Those of the model."""
        return self.base.form_bytes

    def compile(self) -> StandardForm:
        """The model's form, changed."""
        return self.change.applied(self.base.form).replace(name=self.name)

    @property
    def statement(self) -> Statement:
        """The model's, with what was added; a dual in closed form and equivalences are those of the model alone, so they go."""
        stated = self.base.statement
        return replace(
            stated,
            title=f"{stated.title}, {self.change.suffix}",
            constraints=(*stated.constraints, *self.change.lines),
            notes=(*stated.notes, *filter(None, [self.change.note])),
            equivalences=(),
            dual=None,
        )

    @property
    def unmodified(self) -> Model:
        """The model before all changes."""
        return self.base.unmodified

    @property
    def bounding_model(self) -> Model:
        """The model's, where the change restricts it; this one where it does not."""
        return self.base.bounding_model if self.change.restricts else self

    @property
    def changes(self) -> tuple[Change, ...]:
        """The model's, then this one."""
        return (*self.base.changes, self.change)

    @property
    def imports(self) -> tuple[Import, ...]:
        """The model's, then the change's."""
        return (*self.base.imports, *self.change.imports)

    @property
    def cutoff(self) -> float:
        """The model's where the change restricts it; none is known where it changes the cost, or a free intercept.

        Big-M constants that the user gave are taken to hold after a change of that kind.
        """
        before = self.base.cutoff
        after = before if np.isposinf(before) else self.change.cutoff(before, self.base.unrestricted)
        return float("inf") if self.stated_constants and np.isneginf(after) else after

    @property
    def stated_constants(self) -> bool:
        """The model's."""
        return self.base.stated_constants

    @property
    def unrestricted(self) -> tuple[int, ...]:
        """The model's."""
        return self.base.unrestricted

    @property
    def no_view_reason(self) -> str:
        """The change, which no algorithm for the model would see."""
        return f"it is {self.change.suffix}, and a view would not show that"

    def origin(self, label: str) -> str:
        """The model's; what is new comes from the change."""
        before = self.base.form
        known = {*(b.label for b in before.blocks), *(c.label for c in before.constraints)}
        return self.base.origin(label) if label in known else f"what is {self.change.suffix}"

    @property
    def separable_data(self) -> tuple[FloatArray, str] | None:
        """The base model's requirement of separable data, which the changed model inherits unless the change relaxes it."""
        return self.base.separable_data if self.change.restricts else None

    @property
    def parameters(self) -> tuple[str, ...]:
        """The model's."""
        return self.base.parameters

    def replace(self, parameter: str, value: Any) -> ChangedModel:
        """The model with one of its fields changed, stated anew, and the same change."""
        return replace(self, base=self.base.replace(parameter, value))

    def with_parameter(self, parameter: str, value: Any) -> ChangedModel:
        """The model with one of its fields changed, and the same change.

        Raises
        ------
        InputError
            A value that the model refuses, or one with which it has other blocks.
        """
        return replace(self, base=self.base.with_parameter(parameter, value))

    def at_solution(self, moved: Mapping[str, Any]) -> ChangedModel:
        """The model at the parameters that a solver moved, with the same change."""
        return replace(self, base=self.base.at_solution(moved)) if moved else self

    def bound(self, x: FloatArray | None, multipliers: Mapping[str, FloatArray] | None) -> Bound:
        """The Lagrangian's of the changed form; where the change only restricts, the model's own bound counts as well."""
        found = super().bound(x, multipliers)
        if found.value > self.cutoff:  # what is worse than the level may not be in the form
            found = replace(found, value=self.cutoff, argument=f"{found.argument}; up to the level of its constants")
        if not self.change.restricts:
            return found
        own = self.base.bound(None if x is None else x[: self.base.form.n], multipliers)
        stands = replace(own, argument=f"{own.argument}, of the model before the change, which restricts it")
        return max(stands, found, key=lambda bound: (not bound.condition, bound.value))

    @property
    def nonnegative(self) -> bool:
        """True if the base model's objective is nonnegative and the change only restricts it."""
        return self.change.restricts and self.base.nonnegative

    def recounted(
        self, values: Mapping[str, FloatArray], box: tuple[FloatArray, FloatArray] | None = None
    ) -> dict[str, FloatArray]:
        """The model's, within the bounds that the change leaves; the point itself where the change does more than restrict."""
        if not self.change.restricts or "w" not in values:
            return dict(values)
        own = (self.form.split(end)["w"] for end in (self.form.lower, self.form.upper))
        lower, upper = own if box is None else (np.maximum(box[0], next(own)), np.minimum(box[1], next(own)))
        return dict(values) | self.base.recounted(self._before(values), (lower, upper))

    def counted_cost(self, values: Mapping[str, FloatArray]) -> CountedCost | None:
        """The model's, where the change only restricts it."""
        return self.base.counted_cost(self._before(values)) if self.change.restricts else None

    def decision_function(self, values: Mapping[str, FloatArray], X: object) -> FloatArray:
        """The model's scores."""
        return self.base.decision_function(self._before(values), X)

    def explain_points(self, values: Mapping[str, FloatArray], multipliers: Mapping[str, FloatArray] | None) -> PointExplanation:
        """The model's points."""
        return self.base.explain_points(self._before(values), multipliers)

    def meaning(self, label: str) -> str:
        """The model's sentences; what was added has none, and those on bounds hold where a change leaves the bounds."""
        return self.base.meaning(label)

    def summary(self, values: Mapping[str, FloatArray]) -> dict[str, float]:
        """The model's figures."""
        return self.base.summary(self._before(values))

    def _before(self, values: Mapping[str, FloatArray]) -> dict[str, FloatArray]:
        return {label: values[label] for label in self._labels if label in values}

    @cached_property
    def _labels(self) -> tuple[str, ...]:
        return tuple(block.label for block in self.base.form.blocks)


def with_constraint(model: Model, stated: Sequence[State]) -> ChangedModel:
    """See `Model.with_constraint`."""
    if not stated:
        raise InputError("with_constraint needs a function of the blocks, as in lambda v: v.w[3] >= 0")
    for state in stated:
        if not callable(state):
            raise InputError(f"with_constraint takes functions of the blocks, as in lambda v: v.w[3] >= 0; got {state!r}")
    return ChangedModel(model, AddedParts.of(model.form, stated))


def with_variables(model: Model, variables: Sequence[Any], cost: State | None) -> ChangedModel:
    """See `Model.with_variables`."""
    cvxpy = cvxpy_module()
    for variable in variables:
        if not isinstance(variable, cvxpy.Variable):
            raise InputError(f"with_variables takes CVXPY variables, as in cp.Variable(3, name='t'); got {variable!r}")
    if not variables and cost is None:
        raise InputError("with_variables needs a CVXPY variable or a cost")
    return ChangedModel(model, AddedParts.of(model.form, (), variables, cost))


def with_fixed(model: Model, values: Mapping[str, Any]) -> ChangedModel:
    """See `Model.with_fixed`."""
    return ChangedModel(model, FixedVariables.of(model.form, values))


def relaxed(model: Model) -> Model:
    """See `Model.relaxed`."""
    if not model.form.features & {Feature.INTEGER, Feature.INDICATOR}:
        return model
    return ChangedModel(model, Relaxed())
