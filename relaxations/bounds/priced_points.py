"""A form with linear rows in its objective at given prices: what a Lagrangian relaxation solves."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

from ...errors import InputError
from ...models.arrays import FloatArray, as_vector
from ...models.model import Bound, Model
from ...models.program.cones import Nonnegative, Zero
from ...models.program.form import StandardForm
from ...models.program.lagrangian import lagrangian
from ...models.statement import Line, Statement

__all__ = ["LagrangianRelaxation"]


@dataclass(frozen=True, eq=False, repr=False)
class LagrangianRelaxation(Model):
    """min f(x) - μ'(F x + g) over the other rows of a form, without integers.

    Parameters
    ----------
    original : StandardForm
    rows : str
        Label of linear rows of it.
    prices : array_like
        μ, one for each of the rows; ≥ 0 for inequalities.

    Raises
    ------
    InputError
        No such rows, rows that are not linear, or prices that do not fit.
    """

    original: StandardForm
    rows: str
    prices: FloatArray

    name = "LagrangianRelaxation"

    def __post_init__(self) -> None:
        constraint = self.original.constraint(self.rows)
        if not isinstance(constraint.cone, (Zero, Nonnegative)):
            raise InputError(f"{self.rows} are no linear rows; a price is put on linear ones")
        prices = as_vector(self.prices, constraint.rows, "prices")
        if isinstance(constraint.cone, Nonnegative) and (prices < 0.0).any():
            raise InputError(f"prices of inequalities must be ≥ 0; the smallest is {prices.min():g}")
        object.__setattr__(self, "prices", prices)

    @property
    def form_bytes(self) -> int:
        """No more than the original's."""
        return self.original.bytes

    @cached_property
    def continuous(self) -> StandardForm:
        """The original form without integers, which the bound is computed on."""
        return self.original.relax_integrality()

    def compile(self) -> StandardForm:
        """The form with the rows in its objective."""
        form, moved = self.continuous, self.continuous.constraint(self.rows)
        return form.replace(
            name=f"{form.name}, {self.rows} priced",
            q=form.q - moved.F.T @ self.prices,
            r=form.r - float(self.prices @ moved.g),
            constraints=tuple(c for c in form.constraints if c.label != self.rows),
        )

    def bound(self, x: FloatArray | None, multipliers: Mapping[str, FloatArray] | None) -> Bound:
        """The Lagrangian of the *original* form at μ and the multipliers of what is left: rounding included, no matter how the
        priced objective was rounded.
        """
        found = lagrangian(self.continuous, x, {**(multipliers or {}), self.rows: self.prices})
        return Bound(found.value, found.argument, found.error, found.condition)

    @property
    def statement(self) -> Statement:
        """The algebra above."""
        return Statement(
            title=f"Lagrangian relaxation of {self.original.name}",
            problem_class="what is left of the program without the rows and without integers",
            sense="minimise",
            over=Line("x", "x"),
            objective=Line("f(x) - mu'(F x + g)", r"f(x)-\mu^\top(Fx+g)"),
            constraints=tuple(Line(c.label, rf"\text{{{c.label}}}") for c in self.continuous.constraints if c.label != self.rows),
            sizes=f"{self.prices.size} rows priced, {int((self.prices != 0.0).sum())} above zero",
            notes=("mu >= 0 for inequalities, given",),
            source="Geoffrion: Lagrangean relaxation for integer programming, 1974",
        )
