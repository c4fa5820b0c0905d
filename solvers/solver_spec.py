"""A solver as somebody asks for it: by name, as an object, or either with options of its own."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import MISSING, dataclass, field, fields, is_dataclass
from typing import Any, TypeAlias, cast

from ..errors import DataError, ExtensionError, InputError
from ..models.fingerprint import identity
from .interface.solver import Solver
from .records.options import Options
from .registry import EXTENSIONS, get_solver, ours

__all__ = ["SolverLike", "SolverSpec", "as_list", "resolve", "resolve_all"]

#: What is taken wherever a solver is asked for: ``"smo"``, ``SMO(precision="double")``, ``("smo", {"tol": 1e-9})``.
SolverLike: TypeAlias = str | Solver | tuple[str | Solver, Mapping[str, Any]]


#: Characters of an option's value in a label.
_LONG = 40


@dataclass(frozen=True, eq=False)
class SolverSpec:
    """One solver that was asked for.

    Parameters
    ----------
    label : str
        Its name, with the parameters and options that differ from the defaults.
    solver : Solver, optional
        None stands for ``auto``, which chooses for each model.
    own : mapping
        Options that go with it, common ones and its own; they prevail over those of the call.
    """

    label: str
    solver: Solver | None = None
    own: Mapping[str, Any] = field(default_factory=dict)

    @property
    def auto(self) -> bool:
        """Return whether the solver is chosen for each model."""
        return self.solver is None

    @property
    def by_label(self) -> dict[str, Solver]:
        """The solver under its label; nothing for ``auto``."""
        return {} if self.solver is None else {self.label: self.solver}

    def over(self, options: Options) -> Options:
        """The options of a call with this solver's own above them."""
        return Options.of(options, **self.own)

    def resolved(self, name: str) -> SolverSpec:
        """Return the solver that ``auto`` chose, with the options that were asked for."""
        return SolverSpec(_label(name, self.own), get_solver(name), self.own)

    @property
    def key(self) -> Any:
        """Plain data that differ where the solver, its parameters or its own options do: its part in the key of a stored cell.

        A name stands for the solver of the registry as it is, so that reports that asked for names are found again; an object
        is its class, its parameters and its name.

        Raises
        ------
        InputError
            A parameter or an option that cannot be told from another one: a function, say.
        """
        try:
            name = _of_auto() if self.solver is None else _of_solver(self.solver)
            return [name, identity(self.own)] if self.own else name
        except DataError as error:
            raise InputError(f"{self.label} has no key in a store: {error}; give it parameters that are plain data") from error

    def __reduce__(self) -> tuple[Any, ...]:
        """To another process solvers of ours travel by name (some are made at run time), all others as they are."""
        if self.solver is not None and ours(self.solver):
            return _by_name, (self.label, self.solver.info.name, self.own)
        return SolverSpec, (self.label, self.solver, self.own)


def as_list(given: SolverLike | Sequence[SolverLike]) -> list[SolverLike]:
    """The solvers where either one or a list of them may be given: a pair of a solver and a mapping is one."""
    pair = isinstance(given, tuple) and len(given) == 2 and isinstance(given[1], Mapping)
    if pair or isinstance(given, (str, Solver)):
        return [cast(SolverLike, given)]
    return list(cast(Sequence[SolverLike], given))


def resolve(given: SolverLike | SolverSpec) -> SolverSpec:
    """The solver that is meant.

    Raises
    ------
    InputError
        There is no solver of this name (the nearest that exist are named), or what is given is no solver.
    """
    if isinstance(given, SolverSpec):
        return given
    own_options: Mapping[str, Any] = {}
    if isinstance(given, tuple):
        if len(given) != 2 or not isinstance(given[1], Mapping):
            raise InputError(f"a solver with options is a pair such as ('smo', {{'tol': 1e-9}}); got {given!r}")
        given, own_options = given
        Options.of(**own_options)  # a value out of range is an error of the call
    if isinstance(given, str) and given.lower() == "auto":
        return SolverSpec(_label("auto", own_options), None, own_options)
    solver = given if isinstance(given, Solver) else get_solver(given)
    return SolverSpec(_label(solver.info.name, {**_parameters(solver), **own_options}), solver, own_options)


def resolve_all(given: Sequence[SolverLike]) -> tuple[SolverSpec, ...]:
    """The solvers of a list, each with a label that no other has.

    Raises
    ------
    InputError
        As `resolve`; or no list, or an empty one.
    """
    if isinstance(given, (str, Solver)) or not given:
        raise InputError(f"solvers must be a list of solvers (names, objects, pairs of either with options); it is {given!r}")
    specs = [resolve(item) for item in given]
    often, label_counts = Counter(item.label for item in specs), Counter[str]()
    distinct = []
    for item in specs:
        label_counts[item.label] += 1
        label = f"{item.label} #{label_counts[item.label]}" if often[item.label] > 1 else item.label
        distinct.append(SolverSpec(label, item.solver, item.own))
    return tuple(distinct)


def _by_name(label: str, name: str, own: Mapping[str, Any]) -> SolverSpec:
    return SolverSpec(label, get_solver(name), own)


def _of_auto() -> Any:
    """``auto``, with the solvers of the session that it may take: another session may choose otherwise."""
    ranked = {name: solver for name, solver in sorted(EXTENSIONS.session.items()) if solver.info.rank}
    return ["auto", {name: _of_object(solver) for name, solver in ranked.items()}] if ranked else "auto"


def _of_solver(solver: Solver) -> Any:
    return solver.info.name if _is_registered(solver) else _of_object(solver)


def _of_object(solver: Solver) -> Any:
    cls = type(solver)
    return [solver.info.name, f"{cls.__module__}.{cls.__qualname__}", _state(solver)]


def _is_registered(solver: Solver) -> bool:
    """Return whether its name leads to it, or to one of the same class and parameters: in this session and in any other."""
    if solver.info.name in EXTENSIONS.session:
        return False  # another session may give the name to another solver
    try:
        known = get_solver(solver.info.name)
    except (ExtensionError, InputError):
        return False
    return known is solver or (type(known) is type(solver) and _state(known) == _state(solver))


def _state(solver: Solver) -> Any:
    """Its parameters as plain data: the fields of a data class, else what the object holds."""
    return identity(solver) if is_dataclass(solver) else identity(vars(solver))


def _label(name: str, own: Mapping[str, Any]) -> str:
    shown = {option: f"{value:g}" if isinstance(value, float) else repr(value) for option, value in own.items()}
    words = [f"{option}={text if len(text) <= _LONG else text[: _LONG - 3] + '...'}" for option, text in shown.items()]
    return f"{name}({', '.join(words)})" if words else name


def _parameters(solver: object) -> dict[str, Any]:
    """An algorithm's parameters that are not its defaults, compared as they are shown: arrays have no one truth."""
    if not is_dataclass(solver) or isinstance(solver, type):
        return {}
    parameters = {}
    for f in fields(solver):
        default = f.default_factory() if f.default_factory is not MISSING else f.default
        if f.init and f.repr and repr(getattr(solver, f.name)) != repr(default):
            parameters[f.name] = getattr(solver, f.name)
    return parameters
