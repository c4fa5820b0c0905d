"""The abstract law, and the registry of laws.

A law is a function that looks at one thing and returns a `Verdict`. There are four kinds, by what they look at: a formulation on
a tiny instance, a solver on such a case, a solver alone, a relaxation. The decorator puts a law on the list of its kind; its
docstring is what the examination prints.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Generic, TypeVar

from ..errors import MarginoptError
from .verdict import Verdict, violated

__all__ = ["Law", "Laws"]

T = TypeVar("T")


@dataclass(frozen=True, eq=False)
class Law(Generic[T]):
    """One law.

    Parameters
    ----------
    name : str
        In a few words.
    statement : str
        What holds, in one sentence.
    check : callable
    every_case : bool
        Whether it is tried on every case of a formulation, or on the first alone.
    """

    name: str
    statement: str
    check: Callable[[T], Verdict] = field(repr=False)
    every_case: bool = False

    def __call__(self, subject: T) -> Verdict:
        """The verdict; an error of ours that the law did not ask for is one too."""
        try:
            return self.check(subject)
        except MarginoptError as error:
            return violated(f"{type(error).__name__}: {error}")


class Laws(Generic[T]):
    """The laws of one kind, in the order in which they are written."""

    def __init__(self) -> None:
        self.found: list[Law[T]] = []

    def law(self, name: str, *, every_case: bool = False) -> Callable[[Callable[[T], Verdict]], Law[T]]:
        """Decorator: the function becomes a law of this kind, stated by its docstring."""

        def added(check: Callable[[T], Verdict]) -> Law[T]:
            statement = " ".join((check.__doc__ or "").split())
            self.found.append(Law(name, statement, check, every_case))
            return self.found[-1]

        return added
