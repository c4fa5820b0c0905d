"""Extensions: formulations, solvers, relaxations and data sets of other packages and of the running session.

A package declares each extension in its ``pyproject.toml``, as an entry point under the extension's name::

    [project.entry-points."marginopt.solvers"]
    nearest = "my_package.nearest:SOLVER"

A session calls ``marginopt.register(extension)``. Both add to the `PluginRegistry` of the extension's kind. The lookups of
solvers, formulations, relaxations and data sets search it for names that are not their own. Entry points are read at the first
such search, and a package is imported when one of its names is looked up. An extension that cannot be used (it fails to import,
takes a name that exists, is not of the kind) is listed with the reason, and raises `ExtensionError` when it is looked up. Every
folder may import this module.
"""

from __future__ import annotations

import sys
import types
from collections.abc import Callable, Collection
from dataclasses import dataclass, field
from functools import cached_property
from importlib import metadata
from typing import Any, ClassVar, Generic, TypeVar

from .errors import ExtensionError, InputError, short_text

T = TypeVar("T")


@dataclass(frozen=True)
class _EntryPoint:
    """An entry point of a package: its name, the package with its version, and the function that loads it."""

    name: str
    package: str
    load: Callable[[], object]


@dataclass(frozen=True)
class _Failure:
    """The reason why an entry point cannot be used, and what its package raised."""

    reason: str
    cause: Exception | None = None


@dataclass(eq=False)
class PluginRegistry(Generic[T]):
    """The extensions of one kind, of other packages and of this session, by name.

    Parameters
    ----------
    group : str
        Name of the group of entry points, ``marginopt.<kind>``.
    description : str
        The kind in words, for messages: "a solver".
    accept : callable
        Returns the extension for an object (itself, or its record); None where the object is of another kind. Raises InputError
        for a class in place of an object and a record without a name.
    name_of : callable
        Returns the name of an extension.
    builtin_names : callable
        Returns the names of marginopt's own objects of this kind; called when an extension is looked up, not before.

    Attributes
    ----------
    session : dict
        The objects that this session registered, by name: `add` and `remove` replace it. Other packages' objects are not in it.
    """

    group: str
    description: str
    accept: Callable[[object], T | None]
    name_of: Callable[[T], str]
    builtin_names: Callable[[], Collection[str]]
    session: dict[str, T] = field(default_factory=dict, init=False)
    _loaded: dict[str, T] = field(default_factory=dict, init=False)
    _failed: dict[str, _Failure] = field(default_factory=dict, init=False)

    #: The registries of all kinds; `register` asks them in turn.
    registries: ClassVar[list[PluginRegistry[Any]]] = []

    def __post_init__(self) -> None:
        PluginRegistry.registries.append(self)

    @cached_property
    def _entry_points(self) -> dict[str, list[_EntryPoint]]:
        """The entry points by name, in the order of their packages; looking at them imports no package."""
        by_name: dict[str, list[_EntryPoint]] = {}
        for point in sorted(metadata.entry_points(group=self.group), key=lambda p: (p.name, p.dist.name if p.dist else "")):
            package = f"{point.dist.name} {point.dist.version}" if point.dist else point.value
            points = by_name.setdefault(point.name, [])
            if package not in [p.package for p in points]:  # a package that is on the path twice counts once
                points.append(_EntryPoint(point.name, package, point.load))
        return by_name

    @property
    def names(self) -> list[str]:
        """All names of extensions in alphabetical order, usable or not; no package is imported."""
        return sorted({*self.session, *self._entry_points})

    def get(self, name: str) -> T | None:
        """Return the extension of this name; None if there is none. Raise ExtensionError if its package cannot be used."""
        if name in self.session:
            return self.session[name]
        if name not in self._entry_points:
            return None
        if name not in self._loaded and name not in self._failed:
            self._load(name)
        if name in self._failed:
            failure, packages = self._failed[name], [point.package for point in self._entry_points[name]]
            raise ExtensionError(failure.reason, name=name, packages=packages) from failure.cause
        return self._loaded[name]

    def usable(self) -> dict[str, T]:
        """Return the extensions that can be used, by name."""
        objects = {}
        for name in self.names:
            try:
                extension = self.get(name)
            except ExtensionError:
                continue
            if extension is not None:
                objects[name] = extension
        return objects

    def failures(self) -> dict[str, str]:
        """Return the reasons why extensions cannot be used, by the names of these extensions."""
        self.usable()
        return {name: failure.reason for name, failure in self._failed.items() if name not in self.session}

    def add(self, extension: T, *, replace: bool = False) -> None:
        """Register an extension for this session; raise InputError for a name that is taken or not in lower case.

        With ``replace`` it takes the place of an extension that this session registered under the same name.
        """
        name = self.name_of(extension)
        if not isinstance(name, str) or not name or name != name.strip().lower():
            raise InputError(
                f"{self.description} needs a name in small letters, by which it is asked for; it is {short_text(name)}",
                name="name",
            )
        if name in self.builtin_names():
            raise InputError(
                f"{self.description} of the name {short_text(name)} is marginopt's own; choose another name", name="name"
            )
        if name in self._entry_points:
            owner = self._entry_points[name][0].package
            raise InputError(
                f"{self.description} of the name {short_text(name)} comes from the package {owner}; choose another name",
                name="name",
            )
        if name in self.session and self.session[name] is not extension and not replace:
            raise InputError(
                f"{self.description} of the name {short_text(name)} was registered in this session; "
                "register(..., replace=True) takes its place",
                name="replace",
            )
        self.session = {**self.session, name: extension}

    def remove(self, name: str) -> None:
        """Forget what this session registered under a name."""
        if name not in self.session:
            raise InputError(
                f"this session registered no {short_text(name)}; it registered {sorted(self.session) or 'nothing'}", name=name
            )
        self.session = {other: extension for other, extension in self.session.items() if other != name}

    def refresh(self) -> None:
        """Look for entry points again, after a package was installed or the path changed while Python runs."""
        vars(self).pop("_entry_points", None)
        self._loaded.clear()
        self._failed.clear()

    def _load(self, name: str) -> None:
        """Load the entry point of a name, or note why it cannot be used."""
        points = self._entry_points[name]
        origin = f"{name} from the package {points[0].package} cannot be used"
        if len(points) > 1:
            owners = " and ".join(p.package for p in points)
            self._failed[name] = _Failure(f"{self.description} called {name} is declared by {owners}; uninstall all but one")
            return
        if name in self.builtin_names():
            self._failed[name] = _Failure(f"{origin}: the name is taken by marginopt's own")
            return
        try:
            loaded = points[0].load()
            extension = self.accept(loaded)
        except Exception as error:  # noqa: BLE001 - whatever a stranger's module raises must not take the rest with it
            self._failed[name] = _Failure(f"{origin}: {type(error).__name__}: {error}", error)
            return
        if extension is None:
            self._failed[name] = _Failure(f"{origin}: {self.description} was declared, and {_shown(loaded)} is none")
        elif self.name_of(extension) != name:
            self._failed[name] = _Failure(
                f"{origin}: the entry point is called {name} and {self.description} in it {self.name_of(extension)}"
            )
        else:
            self._loaded[name] = extension


def register(extension: object, *, replace: bool = False) -> None:
    """Add a formulation, a solver, a relaxation or a data set to this session.

    The object is available wherever marginopt's own are: in ``marginopt.solvers.table()``, `solve`, `compare`, `path`,
    `gap_report`, `load` and `catalogue`, and in the conformance suite. A package does the same for every session by an entry
    point; see docs/how-to/extending.md.

    Parameters
    ----------
    extension : type of Model, Solver, Reduction or DataSet
        A formulation's class, a solver (an object), a relaxation's record or a data set.
    replace : bool
        Whether it replaces an object that this session registered under the same name.

    Raises
    ------
    InputError
        The object is none of these; its name is not in lower case, or is taken.
    """
    for registry in PluginRegistry.registries:
        accepted = registry.accept(extension)
        if accepted is not None:
            registry.add(accepted, replace=replace)
            return
    kinds = ", ".join(f"{registry.description} ({registry.group})" for registry in PluginRegistry.registries)
    raise InputError(f"cannot register {_shown(extension)}: it must be one of {kinds}", name="extension")


def _shown(extension: object) -> str:
    return (
        f"the class {extension.__name__}"
        if isinstance(extension, type)
        else f"{extension!r:.80} of type {type(extension).__name__}"
    )


def make_package_callable(name: str, table: Callable[[], object]) -> None:
    """Make the package ``name`` callable; the call returns ``table()``: ``marginopt.solvers()`` is ``marginopt.solvers.table()``.

    Type checkers refuse to call a module, so each of these packages has ``table`` as a function too.
    """
    sys.modules[name].__class__ = type("CallablePackage", (types.ModuleType,), {"__call__": lambda package: table()})
