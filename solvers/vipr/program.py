"""A mixed-integer linear program in VIPR's terms: rational rows and bounds, each with a line of its own."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from ...errors import UnsupportedModelError
from ...models.arrays import FloatArray
from ...models.program.cones import Feature, Zero
from ...models.program.form import StandardForm
from ..rational.form import RationalForm, Vector

__all__ = ["Bounds", "LinearProgram", "Row"]

#: Bounds of variables; None for no bound.
Bounds = list[Fraction | None]


@dataclass(frozen=True)
class Row:
    """Σ v_j x_j ≥ side, or = side."""

    terms: list[tuple[int, Fraction]]
    equal: bool
    side: Fraction


@dataclass(frozen=True, eq=False)
class LinearProgram:
    """minimise cost'x subject to rows and bounds, some x integer: the float64 data of a form, taken as rational numbers.

    Parameters
    ----------
    exact : RationalForm
    rows : list of Row
        In the order of the form's rows.
    cost : list of Fraction
    lower, upper : list
    """

    exact: RationalForm
    rows: list[Row]
    cost: Vector
    lower: Bounds
    upper: Bounds

    @classmethod
    def of(cls, form: StandardForm) -> LinearProgram:
        """Return the program of a form.

        Raises
        ------
        UnsupportedModelError
            The form is not linear: the format has no quadratic objective and no cones.
        TooLargeError
            It has more coefficients than rational arithmetic supports.
        """
        unsupported = sorted(feature.value for feature in form.features - {Feature.INTEGER})
        if unsupported:
            raise UnsupportedModelError(
                f"VIPR certificates are of mixed-integer linear programs; {form.name} has {', '.join(unsupported)}. Of the "
                "0-1 loss with ½||w||² and of scoring systems, solve(model, proof=path) writes a log that check_proof verifies"
            )
        exact = RationalForm(form)
        rows = [
            Row(terms, isinstance(c.cone, Zero), -Fraction(g))
            for c in form.constraints
            for terms, g in zip(exact.rows[c.label], c.g.tolist(), strict=True)
        ]
        return cls(exact, rows, exact.point(form.q), _bounds(form.lower), _bounds(form.upper))

    @property
    def form(self) -> StandardForm:
        """Return the form of the program."""
        return self.exact.form

    def value(self, x: Vector) -> Fraction:
        """Return cost'x, without the constant of the objective, which the format cannot hold."""
        return sum((c * v for c, v in zip(self.cost, x, strict=True) if c), Fraction(0))

    def feasible(self, x: Vector) -> bool:
        """Return whether x satisfies every row, bound and integrality, exactly."""
        return not any(self.exact.violations(x).values())


def _bounds(values: FloatArray) -> Bounds:
    return [Fraction(value) if np.isfinite(value) else None for value in values.tolist()]
