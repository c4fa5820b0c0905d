"""A program that another package holds: its standard form, how an answer goes back into it, and what it is at a point.

An import is compared with its source: the package evaluates its own objective and constraints at a point, and so does the form.
"""

from __future__ import annotations

import enum
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from ...errors import InputError
from ..arrays import FloatArray, IntArray
from ..program.form import StandardForm

__all__ = ["AGREEMENT", "Ending", "Evaluated", "Recipient", "Returned", "Row", "Source"]

#: Share of the sum of absolute terms by which two evaluations of one expression may differ.
AGREEMENT = 1e-9


class Ending(enum.Enum):
    """The end of a solve, in the words that the packages share."""

    OPTIMAL = enum.auto()
    INACCURATE = enum.auto()
    STATIONARY = enum.auto()
    INFEASIBLE = enum.auto()
    UNBOUNDED = enum.auto()
    INFEASIBLE_OR_UNBOUNDED = enum.auto()
    TIME_LIMIT = enum.auto()
    ITERATION_LIMIT = enum.auto()
    NODE_LIMIT = enum.auto()
    MEMORY_LIMIT = enum.auto()
    INTERRUPTED = enum.auto()
    FAILED = enum.auto()


@dataclass(frozen=True, eq=False)
class Returned:
    """An answer to the form that goes back, in the form's labels and signs.

    Parameters
    ----------
    ending : Ending
        As far as the certificate and the comparison with the source support it.
    values : mapping of label to array
        Primal point by block; empty where there is none.
    multipliers : mapping of label to array, optional
        z_k by constraint (`models.program.form`); None where the solver gave none.
    reduced : mapping of label to array, optional
        ζ by block.
    objective : float
        ½x'Px + q'x + r of the form, which is minimised.
    message : str
        Why an answer is inaccurate; empty where it is not.
    """

    ending: Ending
    values: Mapping[str, FloatArray]
    multipliers: Mapping[str, FloatArray] | None
    reduced: Mapping[str, FloatArray] | None
    objective: float
    message: str = ""


@dataclass(frozen=True, eq=False)
class Row:
    """The value of one constraint at a point.

    Parameters
    ----------
    name : str
    value : ndarray
        What is to be ≥ 0, = 0, or in a cone.
    violation : float
        Of the constraint, ≥ 0.
    size : ndarray
        Σ|terms| of each entry; zeros where it is not known.
    """

    name: str
    value: FloatArray
    violation: float
    size: FloatArray

    @classmethod
    def at_least(cls, name: str, value: FloatArray, size: FloatArray | None = None) -> Row:
        """A row that is to be ≥ 0."""
        return cls(name, value, float(np.maximum(-value, 0.0).max(initial=0.0)), np.zeros(value.size) if size is None else size)

    @classmethod
    def equal(cls, name: str, value: FloatArray, size: FloatArray | None = None) -> Row:
        """A row that is to be 0."""
        return cls(name, value, float(np.abs(value).max(initial=0.0)), np.zeros(value.size) if size is None else size)


@dataclass(frozen=True, eq=False)
class Evaluated:
    """A program at a point: what is minimised, its rows, and by how much variables are outside of their bounds.

    Parameters
    ----------
    objective : float
        NaN where it is not known.
    size : float
        Σ|terms| of the objective; 0 where it is not known.
    rows : sequence of Row
    outside : float
    remark : str
        What is wrong with the point itself; empty where nothing is.
    """

    objective: float
    size: float
    rows: Sequence[Row]
    outside: float
    remark: str = ""

    def disagreement(self, theirs: Evaluated) -> str:
        """Return the first expression that the source evaluates to another number; empty where there is none."""
        if self.remark:
            return self.remark
        a, b = self.objective, theirs.objective
        if np.isfinite(a) and np.isfinite(b) and abs(a - b) > AGREEMENT * (self.size + theirs.size):
            return f"the objective is {b:.10g} there and {a:.10g} here"
        by_name = {row.name: row for row in theirs.rows}
        for row in self.rows:
            other = by_name.get(row.name)
            if other is None or not np.isfinite(other.value).all():
                continue
            if other.value.shape != row.value.shape:
                return f"the constraint {row.name} has {other.value.size} rows there and {row.value.size} here"
            apart = np.abs(row.value - other.value) - AGREEMENT * (row.size + other.size)
            if apart.size and apart.max() > 0.0:
                k = int(apart.argmax())
                return f"the constraint {row.name} has the value {other.value[k]:.10g} there and {row.value[k]:.10g} here"
        return ""

    def feasible(self, sizes: Evaluated, tol: float) -> bool:
        """Return whether every violation is within tol of the sizes of the rows of the other evaluation (1 at least)."""
        scale = {row.name: float(row.size.max(initial=0.0)) for row in sizes.rows}
        return self.outside <= tol and all(row.violation <= tol * max(1.0, scale.get(row.name, 0.0)) for row in self.rows)


class Source(ABC):
    """One program of another package, which its form is compared with.

    Attributes
    ----------
    package : str
        The name of the package.
    """

    package: str

    @property
    @abstractmethod
    def form(self) -> StandardForm:
        """The program as a standard form: names of variables and constraints are its labels."""

    @property
    @abstractmethod
    def variables(self) -> IntArray:
        """Places in x of the package's own variables; the others are auxiliary."""

    @abstractmethod
    def ours(self, x: FloatArray) -> Evaluated:
        """Evaluate the form at the package's own variables of x, auxiliary ones completed, row by row of the package."""

    @abstractmethod
    def theirs(self, x: FloatArray) -> Evaluated:
        """Let the package evaluate its program at its own variables of x; its object is as before afterwards."""

    @abstractmethod
    def point(self) -> FloatArray | None:
        """Return the values that the package's variables have now; None where one has none."""


class Recipient(ABC):
    """An object of another package that takes answers."""

    @property
    @abstractmethod
    def source(self) -> Source | None:
        """The program that it holds; None where it holds none."""

    @abstractmethod
    def give_back(self, answer: Returned) -> object:
        """Write values, and dual values in the package's own signs, into its object; return the status in its own terms."""

    def check(self, answer: Returned) -> None:
        """Refuse an answer to another program.

        Raises
        ------
        InputError
            The answer's blocks are not those of this program.
        """
        shapes = {} if self.source is None else {block.label: block.shape for block in self.source.form.blocks}
        given = {label: value.shape for label, value in answer.values.items()}
        if answer.values and shapes != given:
            missing = [f"{label} {shape}" for label, shape in shapes.items() if given.get(label) != shape]
            raise InputError(
                f"this result is of another program: {', '.join(missing) or 'more blocks than it has'} "
                "do not fit; give the problem that the solved form was made from"
            )
