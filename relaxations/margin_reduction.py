"""Base classes of the relaxations of a loss plus a regulariser (`Margin`), which turn relaxed points into feasible ones.

The *composition* of a model is the `Margin` that it is equal to (`Model.composition`). The relaxations themselves are in
`relaxations.bounds`.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from ..errors import UnsupportedModelError
from ..models.arrays import BoolArray, FloatArray
from ..models.formulations.features import constant_columns
from ..models.formulations.margin.model import Margin
from ..models.formulations.ramp import RampSVM
from ..models.formulations.zero_one import ZeroOneSVM
from ..models.model import Model, as_model
from ..models.program.cones import Feature
from ..models.program.form import StandardForm
from ..models.program.lagrangian import dual_bound
from ..solvers.records import Options
from ..solvers.solve import solve_problem
from .reduction import LiftedDual, Reduction, T, without_warnings

#: Tolerance of rows and bounds at a recovered point, and of the certificate of a solve with fixed variables.
_NEAR, _FEASIBLE = 1e-9, 1e-6
#: Multiples of a relaxed point that are tried: relaxations with large constants leave it too small.
_MULTIPLES = np.geomspace(0.25, 1024.0, 49)


def as_margin(model: Model) -> Margin | None:
    """Return the composition of a model; None if the model has none, or was changed (`Model.composition`)."""
    composed = model.composition
    # exempt (formulation): these relaxations read a problem from parts, and say so of any other
    return composed if isinstance(composed, Margin) else None


def best_allowed_multiple(composed: Margin, model: Model, w: FloatArray) -> FloatArray | None:
    """Return the t·w of least objective that domain, restrictions and the model's rows allow; None if no t·w is allowed.

    Tried are t = 0, t = 1 and every t > 0 that brings a margin to 1. The answer is None too if the loss has no values at w alone.
    """
    if not composed.loss.has_values:
        return None
    A, c = composed.loss.rows(composed.points, composed.y)
    products = np.asarray(A @ w)
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        steps = (1.0 - c) / products * (1.0 + 1e-12)
    steps = np.concatenate([[1.0, 0.0], steps[np.isfinite(steps) & (steps > 0)]])
    best, best_point = np.inf, None
    for t in np.unique(steps):
        value = composed.objective(t * w)
        if value < best and satisfies_restrictions(composed, t * w) and _satisfies_form(model, t * w):
            best, best_point = value, np.asarray(t * w)
    return best_point


def constant_classifiers(composed: Margin) -> tuple[FloatArray, FloatArray]:
    """Return the classifiers e and -e, e the unit vector of the first nonzero constant column; both are 0 without one."""
    unit = np.zeros(composed.width)
    unit[np.flatnonzero(constant_columns(composed.points))[:1]] = 1.0
    return unit, -unit


def satisfies_restrictions(composed: Margin, w: FloatArray) -> bool:
    """Return whether a classifier w satisfies domain and restrictions of a composition, within 1e-9."""
    lower, upper = composed.domain.bounds(w.size)
    if (w < lower - _NEAR).any() or (w > upper + _NEAR).any() or (composed.domain.integer and (w != np.round(w)).any()):
        return False
    rows = [c for c in composed.form.constraints if c.label == "increasing"]
    values = {"w": w, **{b.label: np.zeros(b.shape) for b in composed.form.blocks if b.label != "w"}}
    if any(c.cone.violation(c.value(composed.form.join(values))) > _NEAR for c in rows):
        return False
    return all(r.excess(composed.points, composed.y, w, composed.penalised) <= _NEAR for r in composed.subject_to)


def _satisfies_form(model: Model, w: FloatArray) -> bool:
    """Return whether w, completed to a point of the model's own form, is feasible; True if w alone gives no such point."""
    values = model.complete({"w": w})
    if set(values) != set(model.form.slices) or Feature.INDICATOR in model.form.features:
        return True
    return _is_feasible(model.form, model.form.join(values))


def _is_feasible(form: StandardForm, x: FloatArray) -> bool:
    inside = (x >= form.lower - _NEAR).all() and (x <= form.upper + _NEAR).all()
    return bool(inside and all(c.cone.violation(c.value(x)) <= _NEAR for c in form.constraints))


def round_integers(form: StandardForm, values: Mapping[str, FloatArray]) -> dict[str, FloatArray] | None:
    """Return the best feasible point with the integers of ``values`` rounded and fixed; None if none is found.

    Integers are rounded to the nearest; if that admits no point, all are rounded up, then all down. Blocks that ``values`` lacks
    stay free, their integers too.
    """
    fixed_values = np.full(form.n, np.nan)
    for block in form.blocks:
        if block.label in values:
            fixed_values[form.slices[block.label]] = block.pack(values[block.label])
    fixed = form.integer & ~np.isnan(fixed_values)
    for integer_values in (np.round(fixed_values), np.ceil(fixed_values - _FEASIBLE), np.floor(fixed_values + _FEASIBLE)):
        point = _solve_with_fixed(form, fixed, np.clip(integer_values, form.lower, form.upper))
        if point is not None:
            return point
    return None


def scale_first_block(model: Model, values: Mapping[str, FloatArray]) -> dict[str, FloatArray] | None:
    """Return a feasible point found by scaling the first block of ``values``; None without one.

    The model completes a point from each multiple of the block. The integers of the cheapest feasible one are fixed, and the
    other variables optimised. The block must have no integers, and determine the point.
    """
    form, first = model.form, model.form.blocks[0]
    if form.integer[form.slices[first.label]].any() or first.label not in values:
        return None
    best, best_point = np.inf, None
    for t in _MULTIPLES.tolist():
        try:
            point = model.complete({first.label: t * np.asarray(values[first.label])})
        except KeyError:
            return None
        if set(point) != set(form.slices):
            return None
        x = form.join(point)
        value = form.objective(x)
        if value < best and _is_feasible(form, x):
            best, best_point = value, x
    if best_point is None:
        return None
    return _solve_with_fixed(form, form.integer, best_point) or form.split(best_point)


def _solve_with_fixed(form: StandardForm, fixed: BoolArray, x: FloatArray) -> dict[str, FloatArray] | None:
    """Return the best point of a form with the variables of the mask ``fixed`` at their values in x; None if none is found."""
    lower, upper = np.where(fixed, x, form.lower), np.where(fixed, x, form.upper)
    restricted = form.with_bounds(lower, upper)
    if fixed[form.integer].all():
        restricted = restricted.with_integers_fixed(x)
    result = solve_problem(as_model(restricted), "auto", Options(tol=1e-8, time_limit=10.0))
    if not result.values or result.certificate is None or not result.certificate.feasible(_FEASIBLE):
        return None
    return dict(result.values)


def _rounded_objective(model: Model) -> float | None:
    """Return the objective of the point found by rounding the continuous relaxation; None without one."""
    form = model.form
    relaxed = solve_problem(as_model(form.relax_integrality()), "auto", Options(tol=1e-6, time_limit=10.0))
    point = round_integers(form, relaxed.values) if relaxed.values else None
    return None if point is None else form.objective(form.join(point))


@dataclass(frozen=True)
class MarginReduction(Reduction[T]):
    """A reduction of models that are a loss plus a regulariser: `Margin`, formulations that have one as `Model.composition`.

    It reads a changed model too if every change only restricts the model (`Model.bounding_model`): a bound of the model before
    the changes then bounds the changed one.
    """

    #: Classes of models that the reduction is defined for.
    reads: ClassVar[tuple[type[Model], ...]] = (ZeroOneSVM, RampSVM, Margin)

    @property
    def needs(self) -> tuple[()]:
        """Return no requirement: `obstacle` states what a composition lacks."""
        return ()

    def obstacle(self, model: Model) -> str:
        """Return the reason why the reduction does not read a model; empty if it does."""
        composed = _bounding_margin(model)
        if composed is None:
            return "it relaxes problems from parts (Margin, or a named formulation that is one)"
        return self.missing_part(composed)

    @abstractmethod
    def missing_part(self, composed: Margin) -> str:
        """Return the reason why the reduction does not read a composition; empty if it does."""

    def value(self, model: Model, values: Mapping[str, FloatArray]) -> float:
        """Return the model's objective at a point: by the composition at the block ``w``; for a changed model by its form."""
        parts = as_margin(model)
        if parts is not None:
            return parts.objective(values["w"])
        return model.form.objective(model.form.join(values))

    def recover(self, model: Model, values: Mapping[str, FloatArray]) -> dict[str, FloatArray] | None:
        """Return the point of the best allowed multiple of w (`best_allowed_multiple`); None if no feasible point is found.

        If no multiple is allowed, or the model is changed, the point is the best one with the integers that w implies.
        """
        composed = _bounding_margin(model)
        assert composed is not None
        is_composed = model.composition is not None
        w = np.asarray(values["w"] if "w" in values else values["x"][composed.form.slices["w"]], dtype=np.float64)
        multiple = best_allowed_multiple(composed, model if is_composed else composed, w)
        if is_composed and multiple is not None:
            return model.complete({"w": multiple})
        return _point_with_integers_of(model, composed, w if multiple is None else multiple)


@dataclass(frozen=True)
class MarginToForm(MarginReduction[StandardForm]):
    """A reduction of a loss plus a regulariser to a form without integers, to which the changes of a model add their rows."""

    @abstractmethod
    def target(self, composed: Margin) -> StandardForm:
        """Return the relaxation of a composition."""

    def apply(self, model: Model) -> StandardForm:
        """Return the target's form, without integers."""
        self.check(model)
        composed = _bounding_margin(model)
        assert composed is not None
        with without_warnings():
            if composed.has_given_big_m:  # given constants may cut off the problem's optimum
                composed = replace(composed, big_m="auto")
            if model.composition is None:
                composed = _with_level_of(model, composed)
                if composed is None:
                    raise UnsupportedModelError(f"no feasible point of {model.name} was found, so nothing bounds its margins")
            target = self.target(composed)
            for change in model.changes:  # each point of the changed model is one before it, and has a point of the target
                target = change.apply_to_part(target)
            return target

    def lift(self, model: Model, target: StandardForm, multipliers: Mapping[str, FloatArray]) -> LiftedDual:
        """Return the Lagrangian bound of the target: every point of the original is one of the target with the same cost."""
        bound = dual_bound(target, None, multipliers)
        value = bound.value if not bound.condition else -np.inf
        return LiftedDual(value, dict(multipliers), bound.argument)


def _point_with_integers_of(model: Model, composed: Margin, w: FloatArray) -> dict[str, FloatArray] | None:
    """Return the best point of a model with the integers that w gives (in the model before its changes)."""
    before = model.bounding_model.complete({"w": w})
    if set(before) != set(model.bounding_model.form.slices):
        form = composed.form
        x, fixed = np.zeros(form.n), np.zeros(form.n, dtype=bool)
        x[form.slices["w"]], fixed[form.slices["w"]] = w, True
        before = _solve_with_fixed(form, fixed, x) or {}
    return round_integers(model.form, {label: value for label, value in before.items() if label != "w"}) if before else None


def _bounding_margin(model: Model) -> Margin | None:
    """Return the composition whose lower bounds hold for a model, changed or not; None without one."""
    return as_margin(model.bounding_model)


def _with_level_of(model: Model, composed: Margin) -> Margin | None:
    """Return the composition before the changes of a model with the objective of a feasible point of the model as upper bound.

    An upper bound from before the changes need not hold after them. None if no feasible point of the model is found.
    """
    level = _rounded_objective(model)
    return None if level is None else replace(composed, upper_bound=level)


def changed_composition(model: Model) -> Margin | None:
    """Return the composition whose bounds of w hold at every optimum of a changed model; None without one.

    It is the composition of `Model.bounding_model`, and has the same block ``w`` as the model's form.
    """
    composed = _bounding_margin(model)
    if composed is None or "w" not in composed.form.slices or composed.form.slices["w"] != model.form.slices.get("w"):
        return None
    return _with_level_of(model, composed)


def with_activity_bounds(form: StandardForm, composed: Margin) -> StandardForm:
    """Return the form with bounds |w_j| ≤ span_j, which every optimum satisfies, span from the composition's activity bounds."""
    span, s = composed.activity_bounds[0], form.slices["w"]
    lower, upper = form.lower.copy(), form.upper.copy()
    lower[s], upper[s] = np.maximum(lower[s], -span), np.minimum(upper[s], span)
    return form.with_bounds(lower, upper)


def with_finite_dual(form: StandardForm, composed: Margin) -> StandardForm:
    """Return the form, with bounds of w unless it has squares: without both, rough multipliers prove no finite bound."""
    return form if form.quadratic is not None else with_activity_bounds(form, composed)
