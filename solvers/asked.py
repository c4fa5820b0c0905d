"""A solver as somebody asks for it: by name, as an object, or either with options of its own."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import MISSING, dataclass, field, fields, is_dataclass
from typing import Any, TypeAlias

from ..errors import InputError
from .interface.solver import Solver
from .records.options import Options
from .registry import get_solver

__all__ = ["Asked", "SolverLike", "resolve", "resolve_all"]

#: What is taken wherever a solver is asked for: ``"smo"``, ``SMO(precision="double")``, ``("smo", {"tol": 1e-9})``.
SolverLike: TypeAlias = str | Solver | tuple[str | Solver, Mapping[str, Any]]


#: Characters of an option's value in a label.
_LONG = 40


@dataclass(frozen=True, eq=False)
class Asked:
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
        """Whether the solver is chosen for each model."""
        return self.solver is None

    def over(self, options: Options) -> Options:
        """The options of a call with this solver's own above them."""
        return Options.of(options, **self.own)


def resolve(given: SolverLike | Asked) -> Asked:
    """The solver that is meant.

    Raises
    ------
    InputError
        There is no solver of this name (the nearest that exist are named), or what is given is no solver.
    """
    if isinstance(given, Asked):
        return given
    own: Mapping[str, Any] = {}
    if isinstance(given, tuple):
        if len(given) != 2 or not isinstance(given[1], Mapping):
            raise InputError(f"a solver with options is a pair such as ('smo', {{'tol': 1e-9}}); got {given!r}")
        given, own = given
        Options.of(**own)  # a value out of range is an error of the call
    if isinstance(given, str) and given.lower() == "auto":
        return Asked(_label("auto", own), None, own)
    solver = given if isinstance(given, Solver) else get_solver(given)
    return Asked(_label(solver.info.name, {**_parameters(solver), **own}), solver, own)


def resolve_all(given: Sequence[SolverLike]) -> tuple[Asked, ...]:
    """The solvers of a list, each with a label that no other has.

    Raises
    ------
    InputError
        As `resolve`; or no list, or an empty one.
    """
    if isinstance(given, (str, Solver)) or not given:
        raise InputError(f"solvers must be a list of solvers (names, objects, pairs of either with options); it is {given!r}")
    asked = [resolve(item) for item in given]
    often, seen = Counter(item.label for item in asked), Counter[str]()
    distinct = []
    for item in asked:
        seen[item.label] += 1
        label = f"{item.label} #{seen[item.label]}" if often[item.label] > 1 else item.label
        distinct.append(Asked(label, item.solver, item.own))
    return tuple(distinct)


def _label(name: str, own: Mapping[str, Any]) -> str:
    shown = {option: f"{value:g}" if isinstance(value, float) else repr(value) for option, value in own.items()}
    words = [f"{option}={text if len(text) <= _LONG else text[: _LONG - 3] + '...'}" for option, text in shown.items()]
    return f"{name}({', '.join(words)})" if words else name


def _parameters(solver: object) -> dict[str, Any]:
    """An algorithm's parameters that are not its defaults, compared as they are shown: arrays have no one truth."""
    if not is_dataclass(solver) or isinstance(solver, type):
        return {}
    found = {}
    for f in fields(solver):
        default = f.default_factory() if f.default_factory is not MISSING else f.default
        if f.init and f.repr and repr(getattr(solver, f.name)) != repr(default):
            found[f.name] = getattr(solver, f.name)
    return found
