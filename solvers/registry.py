"""The registry of solvers by name, the specification of a solver in a call (`SolverSpec`), and the choice of ``auto``.

*Registry.* `get_solver` looks a solver up by name, `all_solvers` returns all, and `solvers` is the table with their state. No
list is kept by hand: a scan finds every module of ``solvers/backends`` and every subpackage of ``solvers`` that defines
``SOLVERS``. A module that finds further solvers at run time (those that qpsolvers or CVXPY reach) defines ``DISCOVER``, called on
first need, and ``ABSENT``, which returns what a solver that it did not find requires. Solvers of other packages, and those that
the user registers in this session, are in `EXTENSIONS`.

*Calls.* A call names a solver by a string, an object, or a pair of either with options (`SolverLike`); `resolve_solver` turns
these into a `SolverSpec`.

*The choice of auto.* `choose_solver` takes, by the ranks in the solvers' records, the first one that is installed, licensed and
reads the model.
"""

from __future__ import annotations

import functools
import importlib
import importlib.util
import pkgutil
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import MISSING, dataclass, field, fields, is_dataclass
from typing import Any, TypeAlias, cast

from .. import extensions
from ..display import Display, Displayable, Tabular, column_lines
from ..errors import (
    DataError,
    ExtensionError,
    InputError,
    LicenceError,
    MissingPackageError,
    TooLargeError,
    UnsupportedModelError,
    short_text,
    unknown_name,
)
from ..models.deadline import loading
from ..models.digest import identity
from ..models.model import Model
from .interface.solver import Licence, LicenceState, Purpose, Solver, installed_version, resolve_deferred
from .records import Options


@functools.cache
def _static() -> dict[str, Solver]:
    """Return the solvers that the modules list in ``SOLVERS``, by name."""
    names: dict[str, Solver] = {}
    for module in _modules():
        for solver in getattr(module, "SOLVERS", ()):
            if solver.info.name in names:
                raise RuntimeError(f"two solvers are called {short_text(solver.info.name)}")
            names[solver.info.name] = solver
    return names


@functools.cache
def _discovered() -> dict[str, Solver]:
    """Return the further solvers that the modules find at run time, by name."""
    solvers = [solver for module in _modules() for solver in getattr(module, "DISCOVER", tuple)()]
    return {solver.info.name: solver for solver in solvers if solver.info.name not in _static()}


@functools.cache
def _modules() -> tuple[object, ...]:
    package = importlib.import_module(__package__ or "")
    from . import backends

    names = [f"{backends.__name__}.{m.name}" for m in pkgutil.iter_modules(backends.__path__)]
    names += [f"{package.__name__}.{m.name}" for m in pkgutil.iter_modules(package.__path__) if m.ispkg and m.name != "backends"]
    with loading():
        return tuple(importlib.import_module(name) for name in names)


def _own() -> dict[str, Solver]:
    """Return the solvers of this package, with those that it discovers in other packages."""
    return {**_static(), **_discovered()}


def _is_builtin(solver: Solver) -> bool:
    """Return whether this object is a solver of the package's own registry: not of another package, nor made by a user."""
    of_name = _of_name(solver.info.name)
    return of_name is not None and resolve_deferred(of_name) is resolve_deferred(solver)


def _of_name(name: str) -> Solver | None:
    """Return the package's solver of this name, or None; CVXPY and Pyomo are searched only if no listed solver has the name."""
    return next((table()[name] for table in (_static, _discovered) if name in table()), None)


def _accept(candidate: object) -> Solver | None:
    if isinstance(candidate, type) and issubclass(candidate, Solver):
        raise InputError(f"a solver is an object: give {candidate.__name__}(), not the class", name="solver")
    return candidate if isinstance(candidate, Solver) else None


#: Solvers of other packages (found by their entry points) and those that the user registers in this session.
EXTENSIONS: extensions.PluginRegistry[Solver] = extensions.PluginRegistry(
    "marginopt.solvers", "a solver", _accept, name_of=lambda solver: solver.info.name, builtin_names=lambda: {"auto", *_own()}
)


def all_solvers(*, discover: bool = True) -> dict[str, Solver]:
    """Return every solver by name; solvers whose module is not imported yet are `DeferredSolver` objects.

    Parameters
    ----------
    discover : bool
        Whether to include solvers found at run time, of other packages, and registered in this session.

    Returns
    -------
    dict of str to Solver
        The solvers by name.
    """
    return {**_own(), **EXTENSIONS.usable()} if discover else dict(_static())


def get_solver(name: str) -> Solver:
    """Return the solver of this name.

    Parameters
    ----------
    name : str

    Returns
    -------
    Solver

    Raises
    ------
    InputError
        No solver has this name; the message has the nearest names.
    MissingPackageError
        CVXPY or qpsolvers has an interface for it, and its own package is missing or cannot be imported.
    ExtensionError
        An entry point of another package has this name, and its solver cannot be used.
    """
    if not isinstance(name, str):
        raise InputError(f"a solver is named by a string (or is a Solver object); got {short_text(name)}", name="solver")
    key = name.lower()
    solver = _of_name(key)
    if solver is not None:
        return resolve_deferred(solver)
    outside = EXTENSIONS.get(key)
    if outside is not None:
        return outside
    for module in _modules():
        requirement = getattr(module, "ABSENT", lambda _: None)(key)
        if requirement is not None:
            # exempt (text): the name that a user gave
            raise MissingPackageError(requirement, key.rpartition(":")[2])
    raise unknown_name("solver", name, ["auto", *sorted({*_own(), *EXTENSIONS.names})])


def is_installed(solver: Solver) -> bool:
    """Return whether the solver's module can be found (it is not imported)."""
    try:
        return not solver.info.module or importlib.util.find_spec(solver.info.module) is not None
    except (ImportError, ValueError):
        return False


def require(solver: Solver, options: Options | None = None) -> Licence:
    """Return the licence of a solver, under options that may bring one; raise an error if it cannot be used.

    Raises
    ------
    MissingPackageError
        The solver is not installed.
    LicenceError
        Its licence is missing or has expired.
    """
    info = solver.info
    if not is_installed(solver):
        command = f'pip install "marginopt[{info.extra}]"' if info.extra else f"pip install {info.package}"
        raise MissingPackageError(
            f"{info.name} needs the package {info.package or info.module}, which is not installed", info.package, command
        )
    licence = solver.licence() if options is None else solver.licence_under(options)
    if not licence.usable:
        raise LicenceError(f"{info.name} is installed and cannot be used ({licence.state.value}): {licence.detail}", info.name)
    return licence


def solvers_that_read(model: Model) -> list[str]:
    """Return the names of the installed, usable solvers that can read the model."""
    return [
        name
        for name, solver in all_solvers().items()
        if is_installed(solver) and _reads(solver, model) and solver.licence().usable
    ]


def _reads(solver: Solver, model: Model) -> bool:
    try:
        return solver.obstacle(model) is None
    except (TooLargeError, UnsupportedModelError):  # the solver needs the form, and the problem has none
        return False


@dataclass(frozen=True)
class SolverTable(Displayable, Tabular):
    """The table that ``marginopt.solvers.table()`` shows: one dictionary for each solver.

    Parameters
    ----------
    rows : tuple of dict
        For each solver: name, reads and gives (see `SolverInfo`), installed ("yes" or "no"), version, licence, summary,
        time_limit_caveat, reference.
    """

    rows: tuple[dict[str, str], ...]

    def __str__(self) -> str:
        head = ("name", "state", "method")
        cells = [(row["name"], version_and_licence(row), row["summary"]) for row in self.rows]
        return "\n".join(
            [*column_lines([head, *cells]), "problem classes that each solver reads, and its results: .rows, .to_frame()"]
        )

    def records(self) -> tuple[dict[str, str], ...]:
        """Return the rows."""
        return self.rows

    def display(self) -> Display:
        """Return the notebook view."""
        head = ("name", "state", "method", "reads")
        rows = tuple((row["name"], version_and_licence(row), row["summary"], row["reads"]) for row in self.rows)
        return Display(head=head, rows=rows, words=head)


def version_and_licence(row: Mapping[str, str]) -> str:
    """Return the version, with the licence unless it is free."""
    return row["version"] if row["licence"] in ("", "none needed") else f"{row['version']}, {row['licence']}"


def solvers() -> SolverTable:
    """Return the table of solvers: what each reads and gives, whether it is installed and licensed.

    Returns
    -------
    SolverTable
        It prints as a table, and its rows are dictionaries.
    """
    rows = [_row(solver) for solver in all_solvers().values()]
    return SolverTable((*rows, *(_failed(name, reason) for name, reason in EXTENSIONS.failures().items())))


def _failed(name: str, reason: str) -> dict[str, str]:
    """Return the row of an entry point whose solver cannot be used."""
    blank = dict.fromkeys(
        ("name", "reads", "gives", "installed", "version", "licence", "summary", "time_limit_caveat", "reference"), ""
    )
    return blank | {"name": name, "installed": "no", "version": "not usable", "summary": reason}


def _row(solver: Solver) -> dict[str, str]:
    info = solver.info
    present = is_installed(solver)
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
        "time_limit_caveat": info.time_limit_caveat,
        "reference": info.reference,
    }


def _version(solver: Solver) -> str:
    package = solver.info.package or "marginopt"
    return installed_version(package) or "unknown"


# The solver of a call: by name, as an object, or either with options of its own.

#: A solver as an argument: ``"smo"``, ``SMO(precision="double")``, ``("smo", {"tol": 1e-9})``.
SolverLike: TypeAlias = str | Solver | tuple[str | Solver, Mapping[str, Any]]


#: Characters of an option's value in a label.
_LONG = 40


@dataclass(frozen=True, eq=False)
class SolverSpec:
    """The specification of a solver in a call: the solver, or ``auto``, and options of its own.

    Parameters
    ----------
    label : str
        The solver's name, with the parameters and options that differ from the defaults.
    solver : Solver, optional
        The solver; None stands for ``auto``, which chooses for each model.
    native_options : mapping
        Options for this solver alone, common ones and its own; they take precedence over those of the call.
    """

    label: str
    solver: Solver | None = None
    native_options: Mapping[str, Any] = field(default_factory=dict)

    @property
    def auto(self) -> bool:
        """Return whether ``auto`` chooses the solver for each model."""
        return self.solver is None

    @property
    def by_label(self) -> dict[str, Solver]:
        """A mapping of the label to the solver; empty for ``auto``."""
        return {} if self.solver is None else {self.label: self.solver}

    def merge_options(self, options: Options) -> Options:
        """Return the options of a call, overridden by this solver's own."""
        return Options.of(options, **self.native_options)

    def with_solver(self, name: str) -> SolverSpec:
        """Return the specification with the solver of this name, which ``auto`` chose, in place of ``auto``."""
        return SolverSpec(_label(name, self.native_options), get_solver(name), self.native_options)

    @property
    def key(self) -> Any:
        """Plain data that identify the solver, its parameters and its options in the key of a stored run (a cell of a report).

        For a solver of the registry it is the name, so that stored cells are found by name; for any other solver it is the name,
        the class and the parameters.

        Raises
        ------
        InputError
            The solver or its options are no plain data.
        """
        try:
            name = _of_auto() if self.solver is None else _of_solver(self.solver)
            return [name, identity(self.native_options)] if self.native_options else name
        except DataError as error:
            raise InputError(
                f"{self.label} has no key in a store: {error}; give it parameters that are plain data", name="recorded"
            ) from error

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle a built-in solver by name (some classes are made at run time), any other solver as an object."""
        if self.solver is not None and _is_builtin(self.solver):
            return _by_name, (self.label, self.solver.info.name, self.native_options)
        return SolverSpec, (self.label, self.solver, self.native_options)


def solver_list(solvers: SolverLike | Sequence[SolverLike]) -> list[SolverLike]:
    """Return a list of solvers for one or several; a pair of a solver and a mapping is one."""
    pair = isinstance(solvers, tuple) and len(solvers) == 2 and isinstance(solvers[1], Mapping)
    if pair or isinstance(solvers, (str, Solver)):
        return [cast(SolverLike, solvers)]
    return list(cast(Sequence[SolverLike], solvers))


def resolve_solver(item: SolverLike | SolverSpec) -> SolverSpec:
    """Return the specification of a solver given by name, as an object, or either with options."""
    if isinstance(item, SolverSpec):
        return item
    own_options: Mapping[str, Any] = {}
    if isinstance(item, tuple):
        if len(item) != 2 or not isinstance(item[1], Mapping):
            raise InputError(f"a solver with options is a pair such as ('smo', {{'tol': 1e-9}}); got {short_text(item)}")
        item, own_options = item
        Options.of(**own_options)  # a value out of range is an error of the call
    if isinstance(item, str) and item.lower() == "auto":
        return SolverSpec(_label("auto", own_options), None, own_options)
    solver = item if isinstance(item, Solver) else get_solver(item)
    return SolverSpec(_label(solver.info.name, {**_parameters(solver), **own_options}), solver, own_options)


def resolve_solvers(solvers: Sequence[SolverLike]) -> tuple[SolverSpec, ...]:
    """Return the specifications of a list of solvers, with distinct labels."""
    if isinstance(solvers, (str, Solver)) or not solvers:
        raise InputError(
            f"solvers must be a list of solvers (names, objects, pairs of either with options); it is {short_text(solvers)}",
            name="solvers",
        )
    specs = [resolve_solver(item) for item in solvers]
    often, label_counts = Counter(item.label for item in specs), Counter[str]()
    distinct = []
    for item in specs:
        label_counts[item.label] += 1
        label = f"{item.label} #{label_counts[item.label]}" if often[item.label] > 1 else item.label
        distinct.append(SolverSpec(label, item.solver, item.native_options))
    return tuple(distinct)


def _by_name(label: str, name: str, native_options: Mapping[str, Any]) -> SolverSpec:
    return SolverSpec(label, get_solver(name), native_options)


def _of_auto() -> Any:
    """Return the key of ``auto``, with the session's solvers that it may choose: another session may choose otherwise."""
    ranked_in_session = {name: solver for name, solver in sorted(EXTENSIONS.session.items()) if solver.info.rank}
    return ["auto", {name: _of_object(solver) for name, solver in ranked_in_session.items()}] if ranked_in_session else "auto"


def _of_solver(solver: Solver) -> Any:
    return solver.info.name if _is_registered(solver) else _of_object(solver)


def _of_object(solver: Solver) -> Any:
    cls = type(solver)
    return [solver.info.name, f"{cls.__module__}.{cls.__qualname__}", _state(solver)]


def _is_registered(solver: Solver) -> bool:
    """Return whether in every session the solver's name leads to it, or to a solver of the same class and parameters."""
    if solver.info.name in EXTENSIONS.session:
        return False  # another session may give the name to another solver
    try:
        registered = get_solver(solver.info.name)
    except (ExtensionError, InputError):
        return False
    return registered is solver or (type(registered) is type(solver) and _state(registered) == _state(solver))


def _state(solver: Solver) -> Any:
    """Return the solver's parameters as plain data: the fields of a data class, else its attributes."""
    return identity(solver) if is_dataclass(solver) else identity(vars(solver))


def _label(name: str, native_options: Mapping[str, Any]) -> str:
    shown = {option: f"{value:g}" if isinstance(value, float) else repr(value) for option, value in native_options.items()}
    words = [f"{option}={text if len(text) <= _LONG else text[: _LONG - 3] + '...'}" for option, text in shown.items()]
    return f"{name}({', '.join(words)})" if words else name


def _parameters(solver: object) -> dict[str, Any]:
    """Return an algorithm's parameters that are not its defaults, compared by ``repr``, which arrays allow."""
    if not is_dataclass(solver) or isinstance(solver, type):
        return {}
    parameters = {}
    for f in fields(solver):
        default = f.default_factory() if f.default_factory is not MISSING else f.default
        if f.init and f.repr and repr(getattr(solver, f.name)) != repr(default):
            parameters[f.name] = getattr(solver, f.name)
    return parameters


# The choice of ``auto``: the first solver by the ranks in the records that is installed, licensed and able.
#
# Solvers that the session registered compete with those of this package. Solvers of other packages come last, so that installing
# a package changes no result: they serve models that no other solver reads.


def choose_solver(
    model: Model, options: Options, *, only_open: bool = False, without: Collection[str] = frozenset()
) -> tuple[str, str]:
    """Return the name of the solver for this problem and the reason in one sentence.

    ``only_open`` leaves out commercial solvers, and ``without`` the named ones, which have been tried. With ``without``, solvers
    that read the form come before those that read the structure, whose arithmetic is alike.

    Raises
    ------
    UnsupportedModelError
        No installed solver reads the model.
    """
    passed: list[str] = []
    obstacles: list[str] = []
    candidates = sorted(_candidates(model), key=lambda solver: not solver.reads_form) if without else _candidates(model)
    for solver in candidates:
        name = solver.info.name
        if name in without:
            continue
        if not is_installed(solver):
            passed.append(f"{name} is not installed")
            continue
        obstacle = solver.obstacle(model)
        if obstacle is not None:
            obstacles += [f"{name}: {obstacle}"] if solver.reads_form else []
            continue
        with loading():
            licence = solver.licence()
        if only_open and licence.state is not LicenceState.OPEN:
            continue
        refusal = licence.refusal(model.form) if solver.reads_form or not licence.usable else None
        if refusal is not None:
            passed.append(f"{name}: {refusal}")
            continue
        reason = "first installed and licensed backend for this class" if solver.reads_form else "reads the model's structure"
        return name, f"{name}: {reason}" + (f" (passed over: {'; '.join(passed)})" if passed else "")
    purpose = Purpose.of(model.form)  # raises the model's own reason, where it has no form at all
    reason = "; ".join(passed or obstacles) or "see marginopt.solvers.table()"
    raise UnsupportedModelError(f"no installed solver can read {model.name} ({purpose.value}): {reason}", name=model.name)


def solvers_by_rank(purpose: Purpose, solvers: Mapping[str, Solver]) -> list[Solver]:
    """Return the solvers ranked for a class of problems, best first; of equal ranks those that the session registered first."""
    capable = [solver for solver in solvers.values() if purpose in solver.info.rank]
    return sorted(capable, key=lambda s: (s.info.rank[purpose], s.info.name not in EXTENSIONS.session, s.info.name))


def _candidates(model: Model) -> Iterator[Solver]:
    """Yield every solver ranked for the model's class, those of other packages last and only when they are needed.

    Solvers that read structure come first: they need no form, while the class of all others follows from the form.
    """
    session = EXTENSIONS.session
    candidates = {**all_solvers(discover=False), **session}
    yield from solvers_by_rank(Purpose.STRUCTURE, candidates)
    yield from (solver for solver in solvers_by_rank(Purpose.NO_FORM, candidates) if solver.takes_over(model))
    purpose = _class_of(model)
    if purpose is not None:
        yield from solvers_by_rank(purpose, candidates)
    packages = {name: solver for name, solver in EXTENSIONS.usable().items() if name not in session}
    yield from solvers_by_rank(Purpose.STRUCTURE, packages)
    if purpose is not None:
        yield from solvers_by_rank(purpose, packages)


def _class_of(model: Model) -> Purpose | None:
    """Return the class of the model's form; None without a form."""
    try:
        return Purpose.of(model.form)
    except TooLargeError:
        return Purpose.NO_FORM
    except UnsupportedModelError:
        return None
