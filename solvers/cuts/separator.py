"""What a separator is: it reads some variables of a form at a node's relaxation and says which rows are violated there."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import ClassVar

from ...models.arrays import FloatArray, IntArray
from ...models.program.form import StandardForm

__all__ = ["Cut", "Separator"]


@dataclass(frozen=True, eq=False)
class Cut:
    """Σ coefficients_k x[where_k] ≥ least, where x are the variables that the separator reads."""

    where: IntArray
    coefficients: FloatArray
    least: float


class Separator(ABC):
    """Cuts of one kind for one model."""

    #: What ``cuts=`` calls it.
    kind: ClassVar[str]
    #: Whether a cut may remove feasible points that are worse than a known solution.
    lazy: ClassVar[bool]
    #: Whether it needs a variable for the quadratic objective's value.
    epigraph: ClassVar[bool]

    @abstractmethod
    def places(self, form: StandardForm) -> IntArray:
        """Where the variables that it reads stand in the solver's form, bridged or not."""

    @abstractmethod
    def cuts(self, x: FloatArray, known: float) -> list[Cut]:
        """What the values ``x`` violate; ``known`` is the objective of a known solution, ∞ where there is none."""
