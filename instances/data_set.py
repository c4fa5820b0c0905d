"""A data set from outside: what a package or a session adds to the catalogue."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from .. import extensions
from ..errors import DataError, InputError
from .instance import Instance
from .known_sets import ENTRIES

__all__ = ["EXTENSIONS", "DataSet"]


@dataclass(frozen=True)
class DataSet:
    """A data set that `load` reads by name, once it is registered or named by an entry point of ``marginopt.instances``.

    Parameters
    ----------
    name : str
        In small letters; what to give to `load`.
    n, p, classes : int
        Rows, features and classes that the data must have.
    source : str
        Who published the data.
    read : callable
        Returns the data as published, neither scaled nor with an intercept column.
    obtained : str
        The way to the data in words, for the catalogue.
    note : str
        What else a user should know.

    Raises
    ------
    InputError
        A size that is no positive integer, fewer than two classes, or ``read`` cannot be called.
    """

    name: str
    n: int
    p: int
    classes: int
    source: str
    read: Callable[[], Instance]
    obtained: str = ""
    note: str = ""

    def __post_init__(self) -> None:
        for field, least in (("n", 2), ("p", 1), ("classes", 2)):
            value = getattr(self, field)
            if isinstance(value, bool) or not isinstance(value, int) or value < least:
                raise InputError(f"{field} must be an integer ≥ {least}; it is {value!r}")
        if not callable(self.read):
            raise InputError(f"read must be a function that returns an Instance; it is a {type(self.read).__name__}")

    def load(self) -> Instance:
        """Read the data and compare them with the sizes promised.

        Raises
        ------
        DataError
            ``read`` returns no instance, or one of other sizes.
        """
        instance = self.read()
        if not isinstance(instance, Instance):
            raise DataError(f"{self.name}: its read() must return an Instance; it returns a {type(instance).__name__}")
        got = (*instance.X.shape, len(instance.classes))
        if got != (self.n, self.p, self.classes):
            raise DataError(
                f"{self.name} is refused: it has {got[0]} rows, {got[1]} features, {got[2]} classes where {self.n}, {self.p}, "
                f"{self.classes} are promised"
            )
        return replace(instance, name=self.name)


def _accept(thing: object) -> DataSet | None:
    if isinstance(thing, Instance):
        raise InputError("an instance is used as it is; to load one by name, register DataSet(name, n, p, classes, source, read)")
    return thing if isinstance(thing, DataSet) else None


#: Data sets of other packages and of the session.
EXTENSIONS: extensions.PluginRegistry[DataSet] = extensions.PluginRegistry(
    "marginopt.instances", "a data set", _accept, name_of=lambda data: data.name, own=lambda: {entry.name for entry in ENTRIES}
)
