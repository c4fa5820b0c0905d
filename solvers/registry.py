"""The registry: every solver there is, what it reads and gives, whether it is installed and licensed.

Nothing is listed by hand: every module of ``solvers/backends`` and every subpackage of ``solvers`` that defines
``SOLVERS`` is found by looking. A module that finds further solvers at run time (those that qpsolvers or CVXPY reach)
defines ``DISCOVER``, called on first need, and ``ABSENT``, which says what a solver of a name that it did not find needs.
Solvers of other packages and of the session stand on the shelf `EXTENSIONS`.
"""

from __future__ import annotations

import functools
import importlib
import importlib.util
import pkgutil
from collections.abc import Mapping
from dataclasses import dataclass

from .. import extensions
from ..display import Display, Displayed, Tabular
from ..errors import InputError, LicenceError, MissingPackageError, TooLargeError, UnsupportedModelError, near_names
from ..models.model import Model
from .interface.deferred_import import loaded
from .interface.solver import Solver
from .interface.versions import installed_version
from .records.licence import Licence, LicenceState

__all__ = [
    "EXTENSIONS", "SolverTable", "all_solvers", "get_solver", "installed", "ours", "readers", "require", "solvers", "state_of",
]  # fmt: skip


@functools.cache
def _static() -> dict[str, Solver]:
    names: dict[str, Solver] = {}
    for module in _modules():
        for solver in getattr(module, "SOLVERS", ()):
            if solver.info.name in names:
                raise RuntimeError(f"two solvers are called {solver.info.name!r}")
            names[solver.info.name] = solver
    return names


@functools.cache
def _discovered() -> dict[str, Solver]:
    solvers = [solver for module in _modules() for solver in getattr(module, "DISCOVER", tuple)()]
    return {solver.info.name: solver for solver in solvers if solver.info.name not in _static()}


@functools.cache
def _modules() -> tuple[object, ...]:
    package = importlib.import_module(__package__ or "")
    from . import backends

    names = [f"{backends.__name__}.{m.name}" for m in pkgutil.iter_modules(backends.__path__)]
    names += [f"{package.__name__}.{m.name}" for m in pkgutil.iter_modules(package.__path__) if m.ispkg and m.name != "backends"]
    return tuple(importlib.import_module(name) for name in names)


def _own() -> dict[str, Solver]:
    """Every solver that is not from outside; ``auto`` is no solver's name."""
    return {**_static(), **_discovered()}


def ours(solver: Solver) -> bool:
    """Return whether this very object is one of marginopt's: not one from outside, nor one that somebody made."""
    return solver.info.name in _own() and loaded(_own()[solver.info.name]) is loaded(solver)


def _accept(thing: object) -> Solver | None:
    if isinstance(thing, type) and issubclass(thing, Solver):
        raise InputError(f"a solver is an object: give {thing.__name__}(), not the class")
    return thing if isinstance(thing, Solver) else None


#: Solvers of other packages and of the session.
EXTENSIONS: extensions.PluginRegistry[Solver] = extensions.PluginRegistry(
    "marginopt.solvers", "a solver", _accept, name_of=lambda solver: solver.info.name, own=lambda: {"auto", *_own()}
)


def all_solvers(*, discover: bool = True) -> dict[str, Solver]:
    """Every solver by name, those found at run time and those from outside included; some are records as yet (`Deferred`)."""
    return {**_own(), **EXTENSIONS.usable()} if discover else dict(_static())


def get_solver(name: str) -> Solver:
    """The solver of this name.

    Raises
    ------
    InputError
        There is none; names the nearest that exist.
    MissingPackageError
        A package that we reach solvers through knows it, and its own package is missing or cannot be imported.
    ExtensionError
        Another package promises it, and it cannot be used.
    """
    if not isinstance(name, str):
        raise InputError(f"a solver is named by a string (or is a Solver object); got {name!r}")
    key = name.lower()
    for table in (_static, _discovered):
        if key in table():
            return loaded(table()[key])
    outside = EXTENSIONS.get(key)
    if outside is not None:
        return outside
    for module in _modules():
        need = getattr(module, "ABSENT", lambda _: None)(key)
        if need is not None:
            raise MissingPackageError(need)
    names = sorted({*_own(), *EXTENSIONS.names})
    near = near_names(str(name), names)
    hint = f"did you mean {' or '.join(near)}? " if near else ""
    raise InputError(f"there is no solver {name!r}; {hint}known: auto, {', '.join(names)}")


def installed(solver: Solver) -> bool:
    """Return whether the solver's module can be found (it is not imported)."""
    try:
        return not solver.info.module or importlib.util.find_spec(solver.info.module) is not None
    except (ImportError, ValueError):
        return False


def require(solver: Solver) -> Licence:
    """The licence of an installed, usable solver.

    Raises
    ------
    MissingPackageError
        Not installed; holds the install command.
    LicenceError
        Installed, and without a usable licence.
    """
    info = solver.info
    if not installed(solver):
        command = f'pip install "marginopt[{info.extra}]"' if info.extra else f"pip install {info.package}"
        raise MissingPackageError(
            f"{info.name} needs the package {info.package or info.module}, which is not installed: {command}"
        )
    licence = solver.licence()
    if not licence.usable:
        raise LicenceError(f"{info.name} is installed and cannot be used ({licence.state.value}): {licence.detail}")
    return licence


def readers(model: Model) -> list[str]:
    """Names of the installed, usable solvers that can read the model."""
    return [
        name for name, solver in all_solvers().items() if installed(solver) and _reads(solver, model) and solver.licence().usable
    ]


def _reads(solver: Solver, model: Model) -> bool:
    try:
        return solver.obstacle(model) is None
    except (TooLargeError, UnsupportedModelError):  # whoever needs the form cannot read a problem that has none
        return False


@dataclass(frozen=True)
class SolverTable(Displayed, Tabular):
    """The table that ``marginopt.solvers()`` shows: one dictionary for each solver."""

    rows: tuple[dict[str, str], ...]

    def __str__(self) -> str:
        head = ("name", "state", "what it is")
        cells = [(row["name"], state_of(row), row["summary"]) for row in self.rows]
        widths = [max(map(len, column)) for column in zip(head, *cells, strict=True)]
        lines = ["  ".join(cell.ljust(w) for cell, w in zip(row, widths, strict=True)).rstrip() for row in (head, *cells)]
        return "\n".join([*lines, "what each reads and gives: .rows, .to_frame()"])

    __repr__ = __str__

    def records(self) -> tuple[dict[str, str], ...]:
        """The rows."""
        return self.rows

    def display(self) -> Display:
        """Return the notebook view."""
        head = ("name", "state", "what it is", "reads")
        rows = tuple((row["name"], state_of(row), row["summary"], row["reads"]) for row in self.rows)
        return Display(head=head, rows=rows, words=head)


def state_of(row: Mapping[str, str]) -> str:
    """Version, and the licence where it is not free."""
    return row["version"] if row["licence"] in ("", "none needed") else f"{row['version']}, {row['licence']}"


def solvers() -> SolverTable:
    """Every solver: what it reads and gives, whether it is installed and licensed."""
    rows = [_row(solver) for solver in all_solvers().values()]
    return SolverTable((*rows, *(_failed(name, reason) for name, reason in EXTENSIONS.failures().items())))


def _failed(name: str, reason: str) -> dict[str, str]:
    """The row of a solver that a package promises and that cannot be used."""
    blank = dict.fromkeys(("name", "reads", "gives", "installed", "version", "licence", "summary", "late", "reference"), "")
    return blank | {"name": name, "installed": "no", "version": "not usable", "summary": reason}


def _row(solver: Solver) -> dict[str, str]:
    info = solver.info
    present = installed(solver)
    licence = solver.licence() if present else Licence(LicenceState.MISSING, "")
    reads = ", ".join(v.__name__ for v in info.views) or ", ".join(sorted(f.value for f in info.reads)) or "linear"
    return {
        "name": info.name,
        "reads": reads,
        "gives": ", ".join(sorted(g.value for g in info.gives)),
        "installed": "yes" if present else "no",
        "version": _version(solver) if present else "not installed",
        "licence": licence.state.value if present else "",
        "summary": info.summary,
        "late": info.time_limit_caveat,
        "reference": info.reference,
    }


def _version(solver: Solver) -> str:
    package = solver.info.package or "marginopt"
    return installed_version(package) or "unknown"
