"""Relaxations of a composed problem that read its form alone: without integers, and with products of rows."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from ...errors import MarginoptError
from ...models.arrays import FloatArray
from ...models.formulations.margin.model import Margin
from ...models.model import Model
from ...models.program.cones import Feature
from ...models.program.form import StandardForm
from ..reduction import without_warnings
from .points import parts_of, rounded
from .products import product_form
from .reductions import ComposedReduction, bounded_by_reach

__all__ = ["Continuous", "FormReduction", "Products"]


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
        return relaxed if composed is None else bounded_by_reach(composed, relaxed)


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
