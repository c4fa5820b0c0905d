"""The interface of a separator, which reads some variables of a form at a node's relaxation and returns violated rows."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import ClassVar

from ...models.arrays import FloatArray, IntArray
from ...models.program.form import StandardForm

__all__ = ["Cut", "Separator"]


@dataclass(frozen=True, eq=False)
class Cut:
    """The row Σ coefficients_k x[where_k] ≥ least, where x are the variables that the separator reads."""

    where: IntArray
    coefficients: FloatArray
    least: float


class Separator(ABC):
    """A separator of one kind of cuts for one model."""

    #: Value of the option ``cuts=``.
    kind: ClassVar[str]
    #: Whether a cut may remove feasible points that are worse than a known solution.
    lazy: ClassVar[bool]
    #: Whether the separator needs an epigraph variable of the quadratic objective.
    epigraph: ClassVar[bool]

    @abstractmethod
    def places(self, form: StandardForm) -> IntArray:
        """Return the indices of the variables that the separator reads in the solver's form, bridged or not."""

    @abstractmethod
    def cuts(self, x: FloatArray, known: float) -> list[Cut]:
        """Return the cuts that ``x`` violates; ``known`` is the objective of a known solution, ∞ without one."""
