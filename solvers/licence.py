"""Licences of commercial solvers: probed apart from any model, before it is built."""

from __future__ import annotations

import enum
from dataclasses import dataclass

from ..models.cones import Feature
from ..models.form import StandardForm

__all__ = ["OPEN", "Licence", "LicenceState"]


class LicenceState(enum.Enum):
    """State of a solver's licence."""

    OPEN = "none needed"
    FULL = "full licence"
    RESTRICTED = "restricted size"
    EXPIRED = "expired"
    MISSING = "no licence"


@dataclass(frozen=True)
class Licence:
    """What a licence allows.

    Parameters
    ----------
    state : LicenceState
    detail : str
        The solver's own words, or what to do.
    limit, quadratic_limit : int, optional
        Largest number of variables (and of rows) for linear models, and of variables where anything is quadratic.
    """

    state: LicenceState
    detail: str = ""
    limit: int | None = None
    quadratic_limit: int | None = None

    @property
    def usable(self) -> bool:
        """Whether anything at all can be solved."""
        return self.state in (LicenceState.OPEN, LicenceState.FULL, LicenceState.RESTRICTED)

    def refusal(self, form: StandardForm) -> str | None:
        """Why the licence does not cover this form; None where it does."""
        if not self.usable:
            return f"{self.state.value}: {self.detail}"
        quadratic = bool(form.features & {Feature.QUADRATIC, Feature.SECOND_ORDER, Feature.ROTATED})
        limit = self.quadratic_limit if quadratic else self.limit
        if limit is None or (form.n <= limit and (quadratic or form.rows <= limit)):
            return None
        what = "a quadratic objective or constraint" if quadratic else "linear rows"
        return f"the model has {form.n} variables and {form.rows} rows; the {self.state.value} licence allows {limit} with {what}"


OPEN = Licence(LicenceState.OPEN)
