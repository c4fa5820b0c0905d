"""Relaxations of a composed problem that read its form alone: without integers, and with products of rows."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from ...errors import MarginoptError
from ...models.arrays import FloatArray
from ...models.bare_form import as_model
from ...models.formulations.margin.model import Margin
from ...models.model import Model
from ...models.program.cones import Feature
from ...models.program.form import StandardForm
from ...solvers.records.options import Options
from ...solvers.solve import solve_problem
from ..reduction import without_warnings
from .moments import moment_form, moments_missing
from .points import multiplied, parts_of, rounded
from .products import binaries_of, product_form
from .reductions import ComposedReduction, bounded_by_reach
from .triangles import all_triangles, violated_triangles

__all__ = ["Continuous", "FormReduction", "Moments", "Products"]

#: Triangles of a round for each binary; by how much one is violated; what the rounds are solved to.
_CUTS, _VIOLATED, _SEPARATED = 20, 1e-5, 1e-7
#: One number for each triangle.
_KEY = np.array([2**42, 2**22, 2**2, 1], dtype=np.int64)


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
        """Return the part that the form lacks."""
        return self.obstacle(composed)

    def refusal(self, form: StandardForm) -> str:
        """Return the empty reason: a form with integers lacks nothing."""
        return ""

    def target(self, composed: Margin) -> StandardForm:
        """Return the target of the form, with bounds of w at an optimum."""
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
        """Of a composition the best multiple of w; of others the better of a multiple and of rounded integers."""
        if parts_of(model) is not None:
            return super().recover(model, values)
        shapes = {b.label: b.shape for b in model.form.blocks}
        # a lifted target has all entries in one block x, whatever a block x of the form holds
        own = all(label in values and np.shape(values[label]) == shape for label, shape in shapes.items())
        point = values if own else model.form.split(np.asarray(values["x"]))
        point = {label: value for label, value in point.items() if label in shapes}
        found = [end for end in (rounded(model.form, point), multiplied(model, point)) if end is not None]
        return min(found, key=lambda end: model.form.objective(model.form.join(end)), default=None)


@dataclass(frozen=True)
class Continuous(FormReduction):
    """The form without integrality: big-M rows, or whatever says the parts.

    Parameters
    ----------
    hinge : bool
        Whether switches that cost something may be more than one, each unit at its price: with big-M rows
        y_i x_i'w ≥ 1 - M_i z_i they then cost (c_i/M_i)(1 - y_i x_i'w)_+, as in Conic §2.
    """

    hinge: bool = False

    @property
    def name(self) -> str:
        """Name for tables."""
        return "continuous, hinge" if self.hinge else "continuous"

    def of_form(self, form: StandardForm, composed: Margin | None) -> StandardForm:
        """Return the form, or the form without bounds of switches that cost."""
        relaxed = form.relax_integrality()
        if self.hinge:
            switches, upper = binaries_of(form), form.upper.copy()
            upper[switches[form.q[switches] > 0.0]] = np.inf
            relaxed = relaxed.with_bounds(form.lower, upper)
        return relaxed if composed is None else bounded_by_reach(composed, relaxed)


def _bounded(form: StandardForm, composed: Margin | None) -> StandardForm:
    """With what is known of |w_j| at an optimum as bounds."""
    if composed is None:
        return form
    span, s = composed.reach[0], form.slices["w"]
    lower, upper = form.lower.copy(), form.upper.copy()
    lower[s], upper[s] = np.maximum(lower[s], -span), np.minimum(upper[s], span)
    return form.with_bounds(lower, upper)


@dataclass(frozen=True)
class Products(FormReduction):
    """RLT with triangle inequalities; see `relaxations.composed.products`.

    Parameters
    ----------
    triangles : bool
        Whether there are any.
    rounds : int, optional
        The triangles that a solution violates are added and it is solved again, at most so often; all at once where not given.
    """

    triangles: bool = True
    rounds: int | None = None

    @property
    def name(self) -> str:
        """Name for tables."""
        if not self.triangles:
            return "products, no triangles"
        return "products" if self.rounds is None else "products, triangles separated"

    def refusal(self, form: StandardForm) -> str:
        """Rows in place of indicators; binaries."""
        if Feature.INDICATOR in form.features:
            return "its switches are indicator constraints, because nothing bounds the margins: give a domain or upper_bound="
        binary = form.integer & (form.lower == 0.0) & (form.upper == 1.0)
        return "" if binary.any() else "it has integers, none of them between 0 and 1, whose products are linear again"

    def of_form(self, form: StandardForm, composed: Margin | None) -> StandardForm:
        """Products of the form."""
        form = _bounded(form, composed)
        binary = binaries_of(form)
        if self.triangles and self.rounds is None:
            return product_form(form, all_triangles(binary.size))
        cuts = all_triangles(0)
        made = product_form(form, cuts)
        for _ in range(self.rounds or 0 if self.triangles else 0):
            values = solve_problem(as_model(made), "auto", Options(tol=_SEPARATED)).values
            found = violated_triangles(values, binary, _CUTS * binary.size, _VIOLATED) if values else cuts[:0]
            new = found[~np.isin(found @ _KEY, cuts @ _KEY)]
            if not new.size:
                break
            cuts = np.concatenate([cuts, new])
            made = product_form(form, cuts)
        return made


@dataclass(frozen=True)
class Moments(FormReduction):
    """Lasserre's relaxation of order two, for small forms; see `relaxations.composed.moments`.

    Parameters
    ----------
    most : int
        Variables up to which a form is read: the moment matrix has about half the square of that many rows.
    """

    most: int = 9
    name = "moments"

    def refusal(self, form: StandardForm) -> str:
        """Linear rows, bounded variables, few of them."""
        missing = moments_missing(form)
        if not missing and form.n > self.most:
            missing = f"it has {form.n} variables, and moments are for {self.most} at most: Moments(most=...) for more"
        return missing

    def obstacle(self, model: Model) -> str:
        """Also with what is known of |w_j| at an optimum as bounds."""
        composed = parts_of(model)
        if composed is None:
            return super().obstacle(model)
        integers = composed.form.features & {Feature.INTEGER, Feature.INDICATOR}
        return self.refusal(_bounded(composed.form, composed)) if integers else super().obstacle(model)

    def of_form(self, form: StandardForm, composed: Margin | None) -> StandardForm:
        """Moments of the form."""
        return moment_form(_bounded(form, composed))
