"""A standard form without a formulation behind it, as a model: it is its form."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from ..errors import InputError
from .model import Model
from .program.cones import Feature
from .program.form import StandardForm
from .statement import Line, Statement

if TYPE_CHECKING:
    from .importing.source import Import

__all__ = ["BareForm", "as_model"]


@dataclass(frozen=True, eq=False)
class BareForm(Model):
    """A model that is its form: it has no structural view, no dual of its own and no meaning beyond the program.

    Parameters
    ----------
    given : StandardForm
        Its name is the model's.
    """

    given: StandardForm

    name = "a standard form"

    def __post_init__(self) -> None:
        object.__setattr__(self, "name", self.given.name)

    @property
    def form_bytes(self) -> int:
        """Bytes to build: 0, for the form is there."""
        return 0

    def compile(self) -> StandardForm:
        """The form itself."""
        return self.given

    @property
    def imports(self) -> tuple[Import, ...]:
        """The form's."""
        return self.given.imports

    @property
    def statement(self) -> Statement:
        """min ½x'Px + q'x + r over F_k x + g_k in K_k and the bounds."""
        form, quadratic = self.given, self.given.quadratic is not None
        cones = [(c.cone.symbol, c.label) for c in form.constraints]
        rows = [Line(f"F x + g in {kind}", rf"F x + g \in \mathrm{{{kind}}}", label) for kind, label in cones]
        bounds = [Line("l <= x <= u", r"l \le x \le u", "bounds")] if form.has_bounds else []
        linear = Line("q'x + r", r"q^\top x + r")
        kind = "mixed-integer program" if Feature.INTEGER in form.features else "convex program"
        return Statement(
            title=self.name,
            problem_class=kind,
            sense="maximise" if form.maximise else "minimise",
            over=Line("x", "x"),
            objective=Line("1/2 x'Px + q'x + r", r"\tfrac12 x^\top P x + q^\top x + r") if quadratic else linear,
            constraints=(*rows, *bounds),
            sizes=f"{form.n} variables, {form.rows} rows",
            source="the form itself",
        )


def as_model(given: object) -> Model:
    """A model as it is, a form as a model.

    Raises
    ------
    InputError
        Neither.
    """
    if isinstance(given, Model):
        return given
    if isinstance(given, StandardForm):
        return BareForm(given)
    raise InputError(f"expected a formulation such as ZeroOneSVM(X, y) or a StandardForm; got {type(given).__name__}")
