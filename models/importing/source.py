"""A program that another package holds: its standard form, and how an answer goes back into it."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass

from ...errors import InputError
from ..arrays import FloatArray
from ..program.form import StandardForm

__all__ = ["Returned", "Source"]


@dataclass(frozen=True, eq=False)
class Returned:
    """What goes back: an answer to the form, in the form's labels and signs.

    Parameters
    ----------
    optimal : bool
        Whether the point is an optimum as far as its certificate says.
    infeasible, unbounded : bool
        Whether the answer is that there is no point, or no optimum.
    values : mapping of label to array
        Primal point by block; empty where there is none.
    multipliers : mapping of label to array, optional
        z_k by constraint (`models.program.form`); None where the solver gave none.
    reduced : mapping of label to array, optional
        ζ by block.
    objective : float
        ½x'Px + q'x + r of the form, which is minimised.
    """

    optimal: bool
    infeasible: bool
    unbounded: bool
    values: Mapping[str, FloatArray]
    multipliers: Mapping[str, FloatArray] | None
    reduced: Mapping[str, FloatArray] | None
    objective: float


class Source(ABC):
    """One program of another package. Made afresh from the package's object whenever it is needed."""

    @property
    @abstractmethod
    def form(self) -> StandardForm:
        """The program as a standard form: names of variables and constraints are its labels."""

    @abstractmethod
    def give_back(self, answer: Returned) -> None:
        """Write values, and dual values in the package's own signs, into the package's object."""

    def check(self, answer: Returned) -> None:
        """Refuse an answer to another program.

        Raises
        ------
        InputError
            The answer's blocks are not those of this program.
        """
        shapes = {block.label: block.shape for block in self.form.blocks}
        given = {label: value.shape for label, value in answer.values.items()}
        if answer.values and shapes != given:
            missing = [f"{label} {shape}" for label, shape in shapes.items() if given.get(label) != shape]
            raise InputError(
                f"this result is of another program: {', '.join(missing) or 'more blocks than it has'} "
                "do not fit; give the problem that the solved form was made from"
            )
