"""The share of a table that is run: the paper's protocol, or less of it. Never tuned to the outcome."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TypeVar

from marginopt.errors import InputError

__all__ = ["EFFORTS", "ProtocolSize", "protocol_size"]

T = TypeVar("T")


@dataclass(frozen=True)
class ProtocolSize:
    """The size of a protocol.

    Parameters
    ----------
    name : str
    most : int or None
        Repetitions at most; None for the paper's number.
    thin : bool
        Grids of parameters thinned, selections on a part of the points: each table says how.
    one_row : bool
        One row of each table, its cheapest.
    """

    name: str
    most: int | None = None
    thin: bool = False
    one_row: bool = False

    def repetitions(self, of_paper: int) -> range:
        """Seeds of the repetitions."""
        return range(of_paper if self.most is None else min(of_paper, self.most))

    def rows(self, every: Sequence[T], quick: Sequence[T]) -> Sequence[T]:
        """The rows that are run."""
        return quick if self.one_row else every

    def grid(self, full: T, thin: T) -> T:
        """A grid, or the thinned one."""
        return thin if self.thin else full


EFFORTS = {
    e.name: e
    for e in (
        ProtocolSize("quick", most=2, thin=True, one_row=True),
        ProtocolSize("reduced", most=3, thin=True),
        ProtocolSize("full"),
    )
}


def protocol_size(name: str, repetitions: int | None = None) -> ProtocolSize:
    """An effort by name, with another number of repetitions where one is given."""
    if name not in EFFORTS:
        raise InputError(f"effort must be one of {', '.join(EFFORTS)}; it is {name!r}", name="effort")
    if repetitions is None:
        return EFFORTS[name]
    if isinstance(repetitions, bool) or not isinstance(repetitions, int) or repetitions < 1:
        raise InputError(f"repetitions must be an integer ≥ 1; it is {repetitions!r}", name="repetitions")
    return replace(EFFORTS[name], most=repetitions)
