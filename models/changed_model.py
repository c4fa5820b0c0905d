"""`ChangedModel`: a model with added constraints, variables or costs, with fixed variables, or its continuous relaxation."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from ..display import Display
from ..errors import InputError, short_text
from .appraisal import ExactCost
from .arrays import FloatArray
from .cvxpy_expressions import cvxpy_module
from .explanation import PointExplanation
from .form_change import AddedParts, Change, ContinuousRelaxation, CVXPYStatement, FixedVariables
from .importing.source import Import
from .model import BareForm, Model, RowsToSeparate
from .program.cones import Feature
from .program.form import StandardForm
from .program.lagrangian import Bound
from .restricted_bound import Tilt, restricted_bound
from .statement import Statement


@dataclass(frozen=True, eq=False, repr=False)
class ChangedModel(Model):
    """The model that `Model.with_constraint`, `with_variables`, `with_fixed` and `relaxed` return.

    The blocks of the model come first, so that whatever reads its values reads these: scores, summary, points, the meaning of
    multipliers. It has no structural view, since an algorithm for the model would not see the change.

    Parameters
    ----------
    base : Model
        The model before the change.
    change : Change
        The change of the base model's form.

    Notes
    -----
    ``form`` raises UnsupportedModelError or TooLargeError for a base model without a form, or with one too large to build.
    """

    base: Model
    change: Change

    name = "a changed model"

    def __post_init__(self) -> None:
        suffix = f", {self.change.suffix}"
        # exempt (text): names that a change gave
        object.__setattr__(self, "name", self.base.name if self.base.name.endswith(suffix) else self.base.name + suffix)

    @property
    def form_bytes(self) -> int:
        """Return the bytes of the base model's form."""
        return self.base.form_bytes

    def compile(self) -> StandardForm:
        """Compile the form of the base model and apply the change."""
        return self.change.apply(self.base.form).replace(name=self.name)

    @property
    def statement(self) -> Statement:
        """Return the base model's statement with the added lines, without its closed-form dual and equivalences."""
        base_statement = self.base.statement
        return replace(
            self.change.restate(base_statement),
            title=f"{self.original_model.statement.title}, {_listed_suffixes(self.changes)}",
            problem_class=self.change.problem_class or base_statement.problem_class,
            notes=(*base_statement.notes, *filter(None, [self.change.note])),
            equivalences=(),
            dual=None,
        )

    @property
    def original_model(self) -> Model:
        """Return the model before all changes."""
        return self.base.original_model

    @property
    def bounding_model(self) -> Model:
        """Return the base model's `bounding_model` where the change only restricts, so that its bounds hold; else this model."""
        return self.base.bounding_model if self.change.restricts else self

    @property
    def changes(self) -> tuple[Change, ...]:
        """Return the changes of the base model, then this one."""
        return (*self.base.changes, self.change)

    @property
    def imports(self) -> tuple[Import, ...]:
        """Return the imports of the base model, then those of the change."""
        return (*self.base.imports, *self.change.imports)

    @property
    def cutoff(self) -> float:
        """Return the objective up to which the form contains every point: the base model's cutoff; infinity for a continuous
        relaxation; -inf (unknown) if the change adds a cost, or a row that contains a variable of `loss_bounded_variables`.

        Big-M constants that the user gave are taken to hold after a change of that kind: infinite then.
        """
        before = self.base.cutoff
        after = before if np.isposinf(before) else self.change.cutoff(before, self.base.loss_bounded_variables)
        return float("inf") if self.has_given_big_m and np.isneginf(after) else after

    @property
    def has_given_big_m(self) -> bool:
        """Return whether the user gave the base model's big-M constants."""
        return self.base.has_given_big_m

    @property
    def loss_bounded_variables(self) -> tuple[int, ...]:
        """Return the indices in x of variables whose bounds hold for some optimal point only, as in the base model."""
        return self.base.loss_bounded_variables

    @property
    def no_view_reason(self) -> str:
        """Return the reason why there is no view: no algorithm for the base model would see the change."""
        return f"it is {self.change.suffix}, and a view would not show that"

    def __str__(self) -> str:
        return str(self.form) if self._is_of_form else super().__str__()

    def __repr__(self) -> str:
        return str(self.form) if self._is_of_form else super().__repr__()

    def latex(self, *, standalone: bool = False) -> str:
        """Return the LaTeX of the statement, or of the changed program where the original model is a bare form."""
        return self.form.latex(standalone=standalone) if self._is_of_form else super().latex(standalone=standalone)

    def display(self) -> Display:
        """Return the notebook view of the statement, or of the changed program where the original model is a bare form."""
        return self.form.display() if self._is_of_form else super().display()

    @property
    def _is_of_form(self) -> bool:
        """Return whether the original model is a form, whose statement is the program itself."""
        return isinstance(self.original_model, BareForm)

    def origin(self, label: str) -> str:
        """Return the origin of a row: that of the base model, or the change."""
        before = self.base.form
        base_names = {*(b.label for b in before.blocks), *(c.label for c in before.constraints)}
        return self.base.origin(label) if label in base_names else f"what is {self.change.suffix}"

    @property
    def rows_to_separate(self) -> RowsToSeparate | None:
        """Return the base model's signed rows that some hyperplane must separate for it to be feasible; None if there are none
        or the change does more than restrict.
        """
        return self.base.rows_to_separate if self.change.restricts else None

    @property
    def parameters(self) -> tuple[str, ...]:
        """Return the names of the base model's parameters."""
        return self.base.parameters

    def replace(self, parameter: str, value: Any) -> ChangedModel:
        """Return the model with one field of the base model changed, and the same change."""
        return replace(self, base=self.base.replace(parameter, value))

    def with_parameter(self, parameter: str, value: Any) -> ChangedModel:
        """Return the model with one parameter of the base model changed, and the same change.

        Raises
        ------
        InputError
            A value that the model refuses, or one with which it has other blocks.
        """
        return replace(self, base=self.base.with_parameter(parameter, value))

    def at_solution(self, optimised: Mapping[str, Any]) -> ChangedModel:
        """Return the model at the parameters that a solver optimised, with the same change."""
        return replace(self, base=self.base.at_solution(optimised)) if optimised else self

    def bound(self, x: FloatArray | None, multipliers: Mapping[str, FloatArray] | None) -> Bound:
        """Return the largest of the Lagrangian bound of the changed form and, if the change only restricts, the base model's
        bound and that of `restricted_bound`.
        """
        proved = super().bound(x, multipliers)
        if proved.value > self.cutoff:  # the form may lack costlier points
            proved = replace(proved, value=self.cutoff, argument=f"{proved.argument}; up to the level of its constants")
        if not self.change.restricts:
            return proved
        base_bound = self.base.bound(None if x is None else x[: self.base.form.n], multipliers)
        stands = replace(base_bound, argument=f"{base_bound.argument}, of the model before the change, which restricts it")
        bounds = [stands, proved, *self._with_prices(x, multipliers)]
        return max(bounds, key=lambda bound: (not bound.condition, bound.value))

    def tilted_bound(self, x: FloatArray | None, multipliers: Mapping[str, FloatArray], tilt: Tilt) -> Bound | None:
        """Return the base model's bound of the objective less ``tilt``, a linear function of w, if the change only restricts."""
        base_point = None if x is None else x[: self.base.form.n]
        return self.base.tilted_bound(base_point, multipliers, tilt) if self.change.restricts else None

    def _with_prices(self, x: FloatArray | None, multipliers: Mapping[str, FloatArray] | None) -> list[Bound]:
        """Return the bound of `restricted_bound`, by the original model's structure, in a list; an empty list without one."""
        first = self.original_model
        if x is None or multipliers is None or "w" not in self.form.slices or self.bounding_model is not first:
            return []

        def tilted(tilt: Tilt) -> Bound | None:
            return first.tilted_bound(x[: first.form.n], multipliers, tilt)

        bound = restricted_bound(self.form, first.form, x, multipliers, tilted)
        return [] if bound is None else [bound]

    @property
    def has_nonnegative_objective(self) -> bool:
        """Return whether the base model's objective is nonnegative and the change only restricts it."""
        return self.change.restricts and self.base.has_nonnegative_objective

    @property
    def bounded_below_reason(self) -> str:
        """Return the base model's reason where the change only restricts it."""
        return self.base.bounded_below_reason if self.change.restricts else ""

    def exact_point(
        self, values: Mapping[str, FloatArray], box: tuple[FloatArray, FloatArray] | None = None
    ) -> dict[str, FloatArray]:
        """Return a nearby point whose exact cost equals its reported cost, by the base model and within the changed bounds; the
        point itself if the change adds a cost.
        """
        if not self.change.restricts or "w" not in values:
            return dict(values)
        ends_of_w = (self.form.split(end)["w"] for end in (self.form.lower, self.form.upper))
        lower, upper = ends_of_w if box is None else (np.maximum(box[0], next(ends_of_w)), np.minimum(box[1], next(ends_of_w)))
        return dict(values) | self.base.exact_point(self._before(values), (lower, upper))

    def with_best_auxiliaries(self, values: Mapping[str, FloatArray]) -> dict[str, FloatArray]:
        """Return the base model's blocks at their best for its coefficients; the point itself if the change adds a cost."""
        return dict(values) | self.base.with_best_auxiliaries(self._before(values)) if self.change.restricts else dict(values)

    def exact_cost(self, values: Mapping[str, FloatArray]) -> ExactCost | None:
        """Return the base model's exact cost, where the change only restricts it."""
        return self.base.exact_cost(self._before(values)) if self.change.restricts else None

    @property
    def feature_names(self) -> tuple[str, ...]:
        """Return the names of the base model's columns."""
        return self.base.feature_names

    @property
    def named_axes(self) -> Mapping[str, tuple[tuple[str, ...], ...]]:
        """Return the names of the base model's coefficients."""
        return self.base.named_axes

    def _decision_scores(self, values: Mapping[str, FloatArray], X: object) -> FloatArray:
        """Return the scores of the base model."""
        return self.base.decision_function(self._before(values), X)

    def _predictions(self, values: Mapping[str, FloatArray], X: object) -> np.ndarray[Any, Any]:
        """Return the classes that the base model decides."""
        return self.base.predict(self._before(values), X)

    def explain_points(self, values: Mapping[str, FloatArray], multipliers: Mapping[str, FloatArray] | None) -> PointExplanation:
        """Explain the points as the base model does."""
        return self.base.explain_points(self._before(values), multipliers)

    def meaning(self, label: str) -> str:
        """Return the base model's sentence on a constraint or the bounds; added rows have none."""
        return self.base.meaning(label)

    def summary(self, values: Mapping[str, FloatArray]) -> dict[str, float]:
        """Return the summary of the base model."""
        return self.base.summary(self._before(values))

    def _before(self, values: Mapping[str, FloatArray]) -> dict[str, FloatArray]:
        return {label: values[label] for label in self._labels if label in values}

    @cached_property
    def _labels(self) -> tuple[str, ...]:
        return tuple(block.label for block in self.base.form.blocks)


def _listed_suffixes(changes: Sequence[Change]) -> str:
    """Return the words of the changes, repeated ones counted: "changed twice, fixed"."""
    counts = Counter(change.suffix for change in changes)
    times = {1: "", 2: " twice"}
    return ", ".join(f"{suffix}{times.get(count, f' {count} times')}" for suffix, count in counts.items())


def with_constraint(
    model: Model, statements: Sequence[CVXPYStatement | Mapping[str, CVXPYStatement | Sequence[CVXPYStatement]]]
) -> ChangedModel:
    """Return the model with added constraints, for `Model.with_constraint`: functions of the blocks, also by label."""
    if not statements:
        raise InputError("with_constraint needs a function of the blocks, as in lambda v: v.w[3] >= 0", name="constraints")
    states = [labelled for state in statements for labelled in _by_label(state)]
    for state in states:
        if not callable(state):
            raise InputError(
                "with_constraint takes functions of the blocks, as in lambda v: v.w[3] >= 0, and restrictions such as parity are "
                f"for Margin(..., subject_to=...); got {short_text(state)}",
                name="constraints",
            )
    return ChangedModel(model, AddedParts.of(model.form, states, letters=model.statement.letters))


def _by_label(state: Any) -> list[CVXPYStatement]:
    """Return the functions of a mapping of labels to functions, each with its label; in a list, any other argument itself."""
    if not isinstance(state, Mapping):
        return [state]
    labelled: list[CVXPYStatement] = []
    for label, value in state.items():
        functions = tuple(value) if isinstance(value, list | tuple) else (value,)
        if not functions or not all(map(callable, functions)):
            raise InputError(
                f"with_constraint takes functions by label, as in {{{short_text(label)}: lambda v: v.w[3] >= 0}}; "
                f"got {short_text(value)}"
            )
        labelled.append(_Labelled(label, functions))
    return labelled


@dataclass(frozen=True)
class _Labelled:
    """Functions of the blocks whose constraints have a label."""

    label: str
    functions: tuple[CVXPYStatement, ...]

    def __call__(self, v: Any) -> Mapping[str, Any]:
        results = [function(v) for function in self.functions]
        return {self.label: [c for part in results for c in (part if isinstance(part, list | tuple) else (part,))]}


def with_variables(model: Model, variables: Sequence[Any], cost: CVXPYStatement | None) -> ChangedModel:
    """Return the model with added variables and cost, for `Model.with_variables`."""
    cvxpy = cvxpy_module()
    for variable in variables:
        if not isinstance(variable, cvxpy.Variable):
            raise InputError(
                f"with_variables takes CVXPY variables, as in cp.Variable(3, name='t'); got {short_text(variable)}",
                name="variables",
            )
    if not variables and cost is None:
        raise InputError("with_variables needs a CVXPY variable or a cost", name="variables")
    return ChangedModel(model, AddedParts.of(model.form, (), variables, cost, model.statement.letters))


def with_fixed(model: Model, values: Mapping[str, Any]) -> ChangedModel:
    """Return the model with variables fixed at values, given by block or by variable's name, for `Model.with_fixed`."""
    return ChangedModel(model, FixedVariables.of(model.form, values))


def relaxed(model: Model) -> Model:
    """Return the continuous relaxation of the model, for `Model.relaxed`; the model itself without integers and indicators."""
    if not model.form.features & {Feature.INTEGER, Feature.INDICATOR}:
        return model
    return ChangedModel(model, ContinuousRelaxation())
