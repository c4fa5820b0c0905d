"""Licences of commercial solvers: probed apart from any model, before it is built."""

from __future__ import annotations

import enum
from collections.abc import Callable
from dataclasses import dataclass

from ...models.program.cones import Feature
from ...models.program.form import StandardForm

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
    """The permissions of a licence.

    Parameters
    ----------
    state : LicenceState
    detail : str
        The solver's own words, or what to do.
    limit, quadratic_limit : int, optional
        Largest number of variables and of linear rows, and of variables where anything is quadratic.
    size : callable, optional
        Variables and linear rows of the solver's own model of a form, where these are more than the form's.
    """

    state: LicenceState
    detail: str = ""
    limit: int | None = None
    quadratic_limit: int | None = None
    size: Callable[[StandardForm], tuple[int, int]] | None = None

    @property
    def usable(self) -> bool:
        """Return whether anything at all can be solved."""
        return self.state in (LicenceState.OPEN, LicenceState.FULL, LicenceState.RESTRICTED)

    def refusal(self, form: StandardForm) -> str | None:
        """Why the licence does not cover this form; None where it does."""
        if not self.usable:
            return f"{self.state.value}: {self.detail}"
        quadratic = bool(form.features & {Feature.QUADRATIC, Feature.SECOND_ORDER, Feature.ROTATED})
        limit = self.quadratic_limit if quadratic else self.limit
        variables, rows = (form.n, form.rows) if self.size is None else self.size(form)
        if limit is None or (variables <= limit and (self.limit is None or rows <= self.limit)):
            return None
        where = " where anything is quadratic" if quadratic else ""
        allowed = f"{limit} variables{where}" + ("" if self.limit is None else f" and {self.limit} rows")
        return f"the model has {variables} variables and {rows} linear rows; the {self.state.value} licence allows {allowed}"


OPEN = Licence(LicenceState.OPEN)
