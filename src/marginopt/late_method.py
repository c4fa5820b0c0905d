"""Verbs of what is stated that a later room does: the earlier room says what the verb is, the package who does it.

``form.conflict()`` solves, and a form knows no solver: imports point one way. So the room of the object holds a `LateMethod`,
whose type is the signature; `marginopt`, which knows every room and comes before all of them, names the module that does it
(`Verb.homes`); and that module gives its function, which type checkers compare with the signature (`Verb.done_by`). It is
imported when the verb is first called, so that stating a problem loads no solver.

A leaf that every folder may import.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import ClassVar, Generic, ParamSpec, TypeVar

__all__ = ["LateMethod"]

P = ParamSpec("P")
R = TypeVar("R")
F = TypeVar("F")


class LateMethod(Generic[P, R]):
    """A method that an object offers and a later layer implements.

    Parameters
    ----------
    name : str
        As the method is called.
    """

    #: The module that does each verb; `marginopt` fills it.
    homes: ClassVar[dict[str, str]] = {}

    def __init__(self, name: str) -> None:
        self.name = name
        self._does: Callable[P, R] | None = None

    def done_by(self, function: Callable[P, R]) -> None:
        """The function that does it, given by its module when that is imported."""
        self._does = function

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> R:
        """Do it."""
        if self._does is None:
            import_module(self.homes[self.name])
        if self._does is None:
            raise RuntimeError(f"{self.homes[self.name]} does not do {self.name!r}")
        return self._does(*args, **kwargs)
