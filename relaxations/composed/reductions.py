"""Reductions of problems from parts: the target is stated by the type of the loss and of the regulariser."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from ...errors import UnsupportedModelError
from ...models.arrays import FloatArray, to_dense
from ...models.formulations.margin.losses.loss import Loss
from ...models.formulations.margin.model import Margin
from ...models.formulations.ramp import RampSVM
from ...models.formulations.zero_one.model import ZeroOneSVM
from ...models.model import Model
from ...models.program.cones import Feature
from ...models.program.form import StandardForm
from ..reduction import LiftedDual, Reduction, without_warnings
from .hulls import PointHulls
from .lifted import LiftedHulls
from .products import product_form
from .single import SingleHulls

__all__ = ["AllHulls", "ComposedReduction", "Continuous", "EqualHulls", "OneHull", "PairHulls", "Products"]

#: The largest equal γ is taken this share below the edge of Γ, so that the form is strictly convex.
_INSIDE = 1e-6


@dataclass(frozen=True)
class ComposedReduction(Reduction[StandardForm]):
    """Reads every model that is a `Margin` (`Model.composed`): named formulations of that kind too."""

    reads: ClassVar[tuple[type[Model], ...]] = (ZeroOneSVM, RampSVM, Margin)

    @property
    def needs(self) -> tuple[()]:
        """Said by `obstacle`, which knows the parts."""
        return ()

    def obstacle(self, model: Model) -> str:
        """Why it does not read a model; empty where it does."""
        composed = model.composed
        if not isinstance(composed, Margin):
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
        assert isinstance(model.composed, Margin)
        with without_warnings():
            return self.target(model.composed)

    def lift(self, model: Model, target: StandardForm, multipliers: Mapping[str, FloatArray]) -> LiftedDual:
        """The target's Lagrangian at its multipliers: every point of the original is one of the target with the same cost."""
        from ...models.program.lagrangian import lagrangian

        found = lagrangian(target, None, multipliers)
        value = found.value if not found.condition else -np.inf
        return LiftedDual(value, dict(multipliers), found.argument)

    def objective(self, model: Model, w: FloatArray) -> float:
        """That of the composition, in the classifier of its own w."""
        assert isinstance(model.composed, Margin)
        return model.composed.objective(w)

    def recover(self, model: Model, values: Mapping[str, FloatArray]) -> dict[str, FloatArray]:
        """The best multiple of w that domain and restrictions allow, among 0, 1 and those that bring a margin to 1.

        Raises
        ------
        UnsupportedModelError
            None of them is allowed.
        """
        composed = model.composed
        assert isinstance(composed, Margin)
        w = np.asarray(values["w"] if "w" in values else values["x"][composed.form.slices["w"]], dtype=np.float64)
        A, c = composed.loss.rows(composed.points, composed.y)
        products = np.asarray(A @ w)
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            steps = (1.0 - c) / products * (1.0 + 1e-12)
        steps = np.concatenate([[1.0, 0.0], steps[np.isfinite(steps) & (steps > 0)]])
        best, found = np.inf, None
        for t in np.unique(steps):
            value = composed.objective(t * w)
            if value < best and _allowed(composed, t * w) and _stands(model, t * w):
                best, found = value, t * w
        if found is None:
            raise UnsupportedModelError(f"no multiple of the w of {self.name} satisfies domain and restrictions of the problem")
        return model.complete({"w": found})


def _allowed(composed: Margin, w: FloatArray) -> bool:
    """Whether domain and restrictions hold, within 1e-9."""
    lower, upper = composed.domain.bounds(w.size)
    if (w < lower - 1e-9).any() or (w > upper + 1e-9).any() or (composed.domain.integer and (w != np.round(w)).any()):
        return False
    rows = [c for c in composed.form.constraints if c.label == "increasing"]
    values = {"w": w, **{b.label: np.zeros(b.shape) for b in composed.form.blocks if b.label != "w"}}
    if any(c.cone.violation(c.value(composed.form.join(values))) > 1e-9 for c in rows):
        return False
    return all(r.violation(composed.points, composed.y, w) <= 1e-9 for r in composed.subject_to)


def _stands(model: Model, w: FloatArray) -> bool:
    """Whether the model's own form takes the point, where it makes one of w alone."""
    values = model.complete({"w": w})
    if set(values) != set(model.form.slices) or Feature.INDICATOR in model.form.features:
        return True
    x = model.form.join(values)
    inside = (x >= model.form.lower - 1e-9).all() and (x <= model.form.upper + 1e-9).all()
    return bool(inside and all(c.cone.violation(c.value(x)) <= 1e-9 for c in model.form.constraints))


def _bounded(composed: Margin, form: StandardForm) -> StandardForm:
    """The form with what is known of |w_j| at an optimum as bounds: without them, and without squares, it has no finite dual."""
    if form.quadratic is not None:
        return form  # a free w with curvature is minimised exactly
    span, s = composed.reach[0], form.slices["w"]
    lower, upper = form.lower.copy(), form.upper.copy()
    lower[s], upper[s] = np.maximum(lower[s], -span), np.minimum(upper[s], span)
    return form.with_bounds(lower, upper)


@dataclass(frozen=True)
class Continuous(ComposedReduction):
    """The form without integrality: big-M rows, or whatever says the parts."""

    name = "continuous"

    def missing(self, composed: Margin) -> str:
        """Integers."""
        return "it has no integers, so it is its own relaxation" if composed.convex else ""

    def target(self, composed: Margin) -> StandardForm:
        """As it is."""
        return _bounded(composed, composed.form.relax_integrality())


@dataclass(frozen=True)
class Products(ComposedReduction):
    """RLT with triangle inequalities; see `relaxations.composed.products`."""

    triangles: bool = True

    @property
    def name(self) -> str:
        """Name for tables."""
        return "products" if self.triangles else "products, no triangles"

    def missing(self, composed: Margin) -> str:
        """Integers, and rows in place of indicators."""
        if composed.convex:
            return "it has no integers, so it is its own relaxation"
        if Feature.INDICATOR in composed.form.features:
            return "its switches are indicator constraints, because nothing bounds the margins: give a domain or upper_bound="
        return ""

    def target(self, composed: Margin) -> StandardForm:
        """Products of the form."""
        span, s = composed.reach[0], composed.form.slices["w"]
        lower, upper = composed.form.lower.copy(), composed.form.upper.copy()
        lower[s], upper[s] = np.maximum(lower[s], -span), np.minimum(upper[s], span)
        return product_form(composed.form.with_bounds(lower, upper), self.triangles)


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
