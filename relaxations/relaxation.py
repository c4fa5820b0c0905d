"""The record of a relaxation: what lists, the prompt, the report and the documentation know of it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from ..models.model import Model
from .reduction import Direction, Need, Reduction

__all__ = ["Relaxation"]


@dataclass(frozen=True)
class Relaxation:
    """A reduction with a name.

    Parameters
    ----------
    name : str
        At the prompt; small letters and hyphens.
    summary : str
        What is solved in place of the 0-1 problem, in one sentence.
    reduction : Reduction
    reference : str
        Where it is published.
    rank : int
        Place in lists, the weaker bounds first.
    default : bool
        Whether a report that names no relaxations has it.
    """

    name: str
    summary: str
    reduction: Reduction[Any]
    reference: str
    rank: int = 1000
    default: bool = False

    @property
    def direction(self) -> Direction:
        """The relation between the optimum of the target and that of the original."""
        return self.reduction.direction

    @property
    def reads(self) -> tuple[type[Model], ...]:
        """Models that it is defined for."""
        return self.reduction.reads

    @property
    def needs(self) -> tuple[Need, ...]:
        """The needs of the relaxation."""
        return self.reduction.needs

    @property
    def applicability(self) -> str:
        """Models and needs in words."""
        models = " or ".join("any model" if kind is Model else kind.__name__ for kind in self.reads)
        return ", ".join([models, *(need.words for need in self.needs)])
