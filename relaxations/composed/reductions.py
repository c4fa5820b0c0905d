"""Reductions of problems from parts: the target is stated by the type of the loss and of the regulariser."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from ...errors import MarginoptError, UnsupportedModelError
from ...models.arrays import FloatArray, to_dense
from ...models.formulations.margin.losses.loss import Loss
from ...models.formulations.margin.model import Margin
from ...models.formulations.ramp import RampSVM
from ...models.formulations.zero_one.model import ZeroOneSVM
from ...models.model import Model
from ...models.program.cones import Feature
from ...models.program.form import StandardForm
from ..reduction import LiftedDual, Reduction, without_warnings
from .carried import carried
from .hulls import PointHulls
from .lifted import LiftedHulls
from .points import best_allowed_multiple, changed_level, parts_of, rounded, with_values
from .products import product_form
from .single import SingleHulls

__all__ = ["AllHulls", "ComposedReduction", "Continuous", "EqualHulls", "FormReduction", "OneHull", "PairHulls", "Products"]

#: The largest equal γ is taken this share below the edge of Γ, so that the form is strictly convex.
_INSIDE = 1e-6


@dataclass(frozen=True)
class ComposedReduction(Reduction[StandardForm]):
    """Reads every model that is a `Margin` (`Model.composed`): named formulations of that kind, and changed ones.

    A change that only restricts leaves every bound of the model before it standing; its rows over w go into the target.
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
        """What the parts lack; empty where nothing."""

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
            return carried(model, self.target(composed))

    def lift(self, model: Model, target: StandardForm, multipliers: Mapping[str, FloatArray]) -> LiftedDual:
        """The target's Lagrangian at its multipliers: every point of the original is one of the target with the same cost."""
        from ...models.program.lagrangian import lagrangian

        found = lagrangian(target, None, multipliers)
        value = found.value if not found.condition else -np.inf
        return LiftedDual(value, dict(multipliers), found.argument)

    def value(self, model: Model, values: Mapping[str, FloatArray]) -> float:
        """That of the composition in the classifier of its own w; of a changed model its form's."""
        parts = parts_of(model)
        if parts is not None:
            return parts.objective(values["w"])
        return model.form.objective(model.form.join(values))

    def recover(self, model: Model, values: Mapping[str, FloatArray]) -> dict[str, FloatArray] | None:
        """The best multiple of w that domain and restrictions allow, among 0, 1 and those that bring a margin to 1.

        Of a changed model, the best point with the integers of that.

        Raises
        ------
        UnsupportedModelError
            None of them is allowed.
        """
        composed = _composed(model)
        assert composed is not None
        own = model.composed is not None
        w = np.asarray(values["w"] if "w" in values else values["x"][composed.form.slices["w"]], dtype=np.float64)
        found = best_allowed_multiple(composed, model if own else composed, w)
        if found is None:
            raise UnsupportedModelError(f"no multiple of the w of {self.name} satisfies domain and restrictions of the problem")
        if own:
            return model.complete({"w": found})
        return _after_change(model, composed, found)


def _after_change(model: Model, composed: Margin, w: FloatArray) -> dict[str, FloatArray] | None:
    """The best point of a changed model whose integers are those that w asks for before the change."""
    before = model.outer.complete({"w": w})
    if set(before) != set(model.outer.form.slices):
        form = composed.form
        x, fixed = np.zeros(form.n), np.zeros(form.n, dtype=bool)
        x[form.slices["w"]], fixed[form.slices["w"]] = w, True
        before = with_values(form, fixed, x) or {}
    return rounded(model.form, {label: value for label, value in before.items() if label != "w"}) if before else None


def _composed(model: Model) -> Margin | None:
    """The problem from parts whose bounds are bounds of a model."""
    return parts_of(model.outer)


def _bounded(composed: Margin, form: StandardForm) -> StandardForm:
    """The form with what is known of |w_j| at an optimum as bounds: without them, and without squares, it has no finite dual."""
    if form.quadratic is not None:
        return form  # a free w with curvature is minimised exactly
    span, s = composed.reach[0], form.slices["w"]
    lower, upper = form.lower.copy(), form.upper.copy()
    lower[s], upper[s] = np.maximum(lower[s], -span), np.minimum(upper[s], span)
    return form.with_bounds(lower, upper)


@dataclass(frozen=True)
class FormReduction(ComposedReduction):
    """Reads every model whose form has integers: compositions by what is known of them, others by their form."""

    reads: ClassVar[tuple[type[Model], ...]] = (Model,)

    def obstacle(self, model: Model) -> str:
        """Why it does not read a model; empty where it does."""
        try:
            form = model.form
        except MarginoptError as error:  # no form at all, too large a one, or none without a feasible point
            return str(error)
        if not form.features & {Feature.INTEGER, Feature.INDICATOR}:
            return "it has no integers, so it is its own relaxation"
        return self.refusal(form)

    def missing(self, composed: Margin) -> str:
        """What the form lacks."""
        return self.obstacle(composed)

    def refusal(self, form: StandardForm) -> str:
        """What a form with integers lacks; nothing."""
        return ""

    def target(self, composed: Margin) -> StandardForm:
        """That of the form, with bounds of w at an optimum."""
        return self.of_form(composed.form, composed)

    @abstractmethod
    def of_form(self, form: StandardForm, composed: Margin | None) -> StandardForm:
        """The relaxation of a form; ``composed`` where it is that of a composition."""

    def apply(self, model: Model) -> StandardForm:
        """The target's form, without integers."""
        self.check(model)
        with without_warnings():
            parts = parts_of(model)
            return self.of_form(model.form, None) if parts is None else self.target(parts)

    def recover(self, model: Model, values: Mapping[str, FloatArray]) -> dict[str, FloatArray] | None:
        """Of a composition the best multiple of w; of other forms what is left once the integers are rounded."""
        if parts_of(model) is not None:
            return super().recover(model, values)
        labels = {b.label for b in model.form.blocks}
        point = values if labels <= set(values) else model.form.split(np.asarray(values["x"]))
        return rounded(model.form, {label: value for label, value in point.items() if label in labels})


@dataclass(frozen=True)
class Continuous(FormReduction):
    """The form without integrality: big-M rows, or whatever says the parts."""

    name = "continuous"

    def of_form(self, form: StandardForm, composed: Margin | None) -> StandardForm:
        """As it is."""
        relaxed = form.relax_integrality()
        return relaxed if composed is None else _bounded(composed, relaxed)


@dataclass(frozen=True)
class Products(FormReduction):
    """RLT with triangle inequalities; see `relaxations.composed.products`."""

    triangles: bool = True

    @property
    def name(self) -> str:
        """Name for tables."""
        return "products" if self.triangles else "products, no triangles"

    def refusal(self, form: StandardForm) -> str:
        """Rows in place of indicators; binaries."""
        if Feature.INDICATOR in form.features:
            return "its switches are indicator constraints, because nothing bounds the margins: give a domain or upper_bound="
        binary = form.integer & (form.lower == 0.0) & (form.upper == 1.0)
        return "" if binary.any() else "it has integers, none of them between 0 and 1, whose products are linear again"

    def of_form(self, form: StandardForm, composed: Margin | None) -> StandardForm:
        """Products of the form."""
        if composed is None:
            return product_form(form, self.triangles)
        span, s = composed.reach[0], form.slices["w"]
        lower, upper = form.lower.copy(), form.upper.copy()
        lower[s], upper[s] = np.maximum(lower[s], -span), np.minimum(upper[s], span)
        return product_form(form.with_bounds(lower, upper), self.triangles)


@dataclass(frozen=True)
class _Hulls(ComposedReduction):
    """A reduction that replaces the loss by hulls of its branches.

    Parameters
    ----------
    reach : bool
        Whether bounds of the margins count, as big-M rows do; without them the bound needs none.
    """

    reach: bool = True

    def missing(self, composed: Margin) -> str:
        """Branches, and a curvature to spare in every coefficient."""
        if not composed.loss.branches():
            return (
                f"{type(composed.loss).__name__} is no least value of convex branches, as Ramp, ZeroOne and PiecewiseLinear are"
            )
        rows = to_dense(composed.loss.rows(composed.points, composed.y)[0])
        if composed.regulariser.curvature() <= 0 or not composed.penalised[rows.any(axis=0)].all():
            return (
                "hulls offset the loss by the regulariser's squares, which must be there for every coefficient: SquaredNorm or "
                "ElasticNet with intercept='penalised'; 'continuous' and 'products' take any regulariser"
            )
        return ""

    def target(self, composed: Margin) -> StandardForm:
        """The composition with another loss."""
        return _bounded(composed, replace(composed, loss=self.hull(composed)).form.relax_integrality())

    @abstractmethod
    def hull(self, composed: Margin) -> Loss:
        """What stands in place of the loss."""

    @property
    def _suffix(self) -> str:
        return "" if self.reach else ", no M"


@dataclass(frozen=True)
class EqualHulls(_Hulls):
    """`PointHulls` at equal γ_i, as large as Γ allows: second-order cones."""

    @property
    def name(self) -> str:
        """Name for tables."""
        return f"hulls, equal gamma{self._suffix}"

    def hull(self, composed: Margin) -> Loss:
        """γ from the largest singular value."""
        rows = to_dense(composed.loss.rows(composed.points, composed.y)[0])
        largest = float(np.linalg.norm(rows, 2)) ** 2 / composed.regulariser.curvature()
        return PointHulls(composed.loss, np.full(rows.shape[0], (1.0 - _INSIDE) / largest), self.reach)


@dataclass(frozen=True)
class OneHull(_Hulls):
    """`SingleHulls`: each point's hull with the whole norm."""

    @property
    def name(self) -> str:
        """Name for tables."""
        return f"hulls, one point{self._suffix}"

    def hull(self, composed: Margin) -> Loss:
        """μ of the regulariser."""
        return SingleHulls(composed.loss, composed.regulariser.curvature(), self.reach)


@dataclass(frozen=True)
class AllHulls(_Hulls):
    """`LiftedHulls`: the SDP, the best over all γ in Γ."""

    @property
    def name(self) -> str:
        """Name for tables."""
        return f"hulls, SDP{self._suffix}"

    def hull(self, composed: Margin) -> Loss:
        """μ of the regulariser."""
        return LiftedHulls(composed.loss, composed.regulariser.curvature(), (), self.reach)


@dataclass(frozen=True)
class PairHulls(AllHulls):
    """The SDP with hulls of two points at once, for pairs whose margins conflict most: a_i'a_j most negative, relative to norms.

    Parameters
    ----------
    pairs : int
        How many.
    """

    pairs: int = 20

    @property
    def name(self) -> str:
        """Name for tables."""
        return f"hulls, {self.pairs} pairs{self._suffix}"

    def hull(self, composed: Margin) -> Loss:
        """The pairs are chosen from the data alone."""
        rows = to_dense(composed.loss.rows(composed.points, composed.y)[0])
        unit = rows / np.maximum(np.linalg.norm(rows, axis=1, keepdims=True), 1e-300)
        first, second = np.triu_indices(rows.shape[0], 1)
        order = np.argsort((unit @ unit.T)[first, second], kind="stable")[: self.pairs]
        chosen = tuple((int(first[k]), int(second[k])) for k in order)
        return LiftedHulls(composed.loss, composed.regulariser.curvature(), chosen, self.reach)
