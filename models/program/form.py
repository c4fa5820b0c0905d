"""The labelled standard form: every formulation compiles to it once, every backend and file writer reads it.

    minimise    ½ x'P x + q'x + r
    subject to  F_k x + g_k in K_k      (one label for each k)
                l ≤ x ≤ u,  some x integer

Conventions, once and for all. Minimisation; a model that maximises sets ``maximise`` and its objective is the negative
of the form's. Lagrangian f(x) - Σ_k <z_k, F_k x + g_k> - <ζ, x> with z_k in the dual cone of K_k and
ζ = ζ_l - ζ_u the reduced costs of the bounds, so stationarity reads ``P x + q = Σ_k F_k'z_k + ζ`` and every
multiplier has one sign. Symmetric blocks are stored as svec (`models.program.cones`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ...display import Display, Displayed
from ...drawing import Picture
from ..arrays import FloatArray
from ..export_methods import ExportMethods
from ..inspection.inspection import FormReport, inspect_form, spy
from .cones import Indicator, Nonnegative
from .difference import FormDelta
from .form_data import FormData
from .linear_arrays import LinearArrays
from .parts import Block, Constraint, Quadratic

__all__ = ["Block", "Constraint", "Quadratic", "StandardForm"]


#: Where a form keeps its import.
_IMPORT = "_import"


@dataclass(frozen=True, eq=False)
class StandardForm(Displayed, FormData, ExportMethods):
    """One mathematical program with labelled variables and constraints. Replaced, never changed.

    Parameters
    ----------
    name : str
    blocks : tuple of Block
        Consecutive pieces of x.
    q, r : ndarray (n,), float
        Linear objective and constant.
    constraints : tuple of Constraint
    lower, upper : ndarray (n,)
        Bounds; infinite where there is none.
    integer : ndarray of bool (n,)
    quadratic : Quadratic, optional
    maximise : bool
        The stated model maximises the negative of this objective.

    Raises
    ------
    InputError
        Shapes that do not fit, labels that are not unique, or numbers that are not finite.
    """

    @property
    def form(self) -> StandardForm:
        """Itself: what a formulation's form is."""
        return self

    @property
    def imports(self) -> tuple[Any, ...]:
        """The program of another package that the form was made from (`models.importing.source.Import`); none of derived
        forms.
        """
        return tuple(filter(None, [vars(self).get(_IMPORT)]))

    def imported_by(self, record: Any) -> StandardForm:
        """A copy of the form that keeps the comparison with its source, as long as it is in this process."""
        copy = replace(self)
        vars(copy)[_IMPORT] = record
        return copy

    def __getstate__(self) -> dict[str, Any]:
        """Without its import, which holds an object of another package."""
        return {name: value for name, value in vars(self).items() if name != _IMPORT}

    def display(self) -> Display:
        """Return the notebook view: blocks and constraints."""
        lines = str(self).splitlines()
        return Display(lines[0], text="\n".join(lines[1:]))

    def inspect(self) -> FormReport:
        """Ranges of coefficients, conditioning, convexity and scaling advice, printable (`models.inspection.inspection`)."""
        return inspect_form(self)

    def spy(self) -> Picture:
        """A picture of the structure: where the non-zeros are, by block and constraint (`models.inspection.inspection`)."""
        return spy(self)

    def replace(self, **changes: Any) -> StandardForm:
        """A new form with these fields replaced; every other array is shared."""
        return replace(self, **changes)

    def linear(self) -> LinearArrays:
        """Return the arrays P, q, A, l, u of a linear or quadratic program, and the way back: see `LinearArrays`.

        Raises
        ------
        UnsupportedModelError
            A cone that is not linear, indicators or integers.
        """
        return LinearArrays(self)

    def with_names(self, label: str, names: Sequence[str]) -> StandardForm:
        """Return the form with the entries of a block named ``label[name]``, if these are different names, one an entry."""
        blocks = [block for block in self.blocks if block.label == label and block.shape == (len(names),) and block.own is None]
        if not blocks or len(set(names)) < len(names):
            return self
        named = replace(blocks[0], own=tuple(f"{label}[{name}]" for name in names))
        return self.replace(blocks=tuple(named if block is blocks[0] else block for block in self.blocks))

    def relax_integrality(self) -> StandardForm:
        """The continuous relaxation: the same form without integrality.

        Indicator constraints go: their closed convex hull says no more than the bounds 0 ≤ a ≤ 1.
        """
        convex = tuple(c for c in self.constraints if c.cone.convex)
        return self.replace(name=f"{self.name}, continuous", integer=np.zeros(self.n, dtype=bool), constraints=convex)

    def with_integers(self, x: FloatArray) -> StandardForm:
        """The continuous form with the integer variables fixed at the nearest integers of x; indicators become rows or go."""
        lower, upper = self.lower.copy(), self.upper.copy()
        lower[self.integer] = upper[self.integer] = np.round(x[self.integer])
        decided = tuple(_decided(c, x) for c in self.constraints)
        fixed = self.replace(constraints=tuple(c for c in decided if c is not None))
        return fixed.relax_integrality().with_bounds(lower, upper)

    def with_bounds(self, lower: FloatArray, upper: FloatArray) -> StandardForm:
        """The same form with other bounds (fixing variables, branching)."""
        return self.replace(lower=np.asarray(lower), upper=np.asarray(upper))

    def diff(self, other: StandardForm) -> FormDelta:
        """Return the changes that turn this form into ``other``; see `FormDelta`."""
        return FormDelta.between(self, other)

    def equals(self, other: StandardForm) -> bool:
        """Return whether both say the same when materialised: labels, cones and numbers."""
        return self.diff(other).empty


def _decided(c: Constraint, x: FloatArray) -> Constraint | None:
    """An indicator constraint at fixed binaries: its rows that are switched on, if any. Others as they are."""
    if not isinstance(c.cone, Indicator):
        return c
    on = np.flatnonzero(c.value(x)[0::2] < 0.5)
    points = None if c.points is None else tuple(c.points[int(k)] for k in on)
    return Constraint(c.label, c.F[2 * on + 1], c.g[2 * on + 1], Nonnegative(on.size), points=points) if on.size else None
