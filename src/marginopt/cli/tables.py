"""The commands that list: solvers, formulations, estimators; a table of all, or one in full."""

from __future__ import annotations

import argparse
import inspect
from collections.abc import Callable, Mapping
from dataclasses import fields, is_dataclass
from typing import Any

import numpy as np

from ..errors import InputError, MarginoptError
from ..estimators import all_estimators
from ..models import FormulationInfo
from ..models.formulations import all_formulations, get_formulation
from ..models.model import Model
from ..solvers import solvers as solver_table
from ..solvers.registry import get_solver, readers, state_of
from .commands import SOLVED, json_text
from .parsing import nearest
from .screen import print_table, print_text


def solvers(a: argparse.Namespace) -> int:
    """The table of solvers; or the record and the options of one."""
    table = solver_table()
    if a.name is None:
        if a.json:
            print(json_text(list(table.rows)))
            return SOLVED
        print_table(("solver", "state", "method"), [(r["name"], state_of(r), r["summary"]) for r in table.rows])
        print("\nmarginopt solvers NAME: what it reads and gives, its source, its options")
        return SOLVED
    solver = get_solver(a.name)  # a misspelt name is told the nearest
    record: dict[str, Any] = next(row for row in table.rows if row["name"] == solver.info.name)
    options = _options(solver)
    if a.json:
        print(json_text({**record, "options": dict(options)}))
        return SOLVED
    print_table(("", ""), [(name, text) for name, text in record.items() if text])
    if options:
        print("\noptions, given by --set NAME=VALUE")
        print_table(("option", "default"), options)
    elif solver.info.package:
        print(f"\noptions: those of {solver.info.package} by their own names, given by --set NAME=VALUE")
    return SOLVED


def _options(solver: Any) -> list[tuple[str, str]]:
    """Parameters of an algorithm of ours; off-the-shelf solvers have names of their own."""
    if solver.info.package or not is_dataclass(solver):
        return []
    return [(f.name, str(getattr(solver, f.name))) for f in fields(solver) if not f.name.startswith("_")]


def formulations(a: argparse.Namespace) -> int:
    """The table of formulations; or one with its parameters, its mathematics and its solvers."""
    table = all_formulations()
    if a.packages:
        return _packages(a)
    if a.name is None:
        if a.json:
            print(json_text(list(table.rows)))
            return SOLVED
        print_table(("formulation", "class", "summary"), [(r["name"], r["class"], r["summary"]) for r in table.rows])
        for reason in table.failures.values():
            print_text(reason)
        print("\nmarginopt formulations NAME: its parameters, its mathematics, who solves it")
        return SOLVED
    info = get_formulation(a.name)
    record = next(row for row in table.rows if row["name"] == info.name)
    parameters = [(p.option, p.help_text) for p in info.parameters]
    statement, solvers = _stated(info)
    if a.json:
        print(json_text({**record, "options": dict(parameters), "statement": statement, "solvers": solvers}))
        return SOLVED
    print_table(("", ""), [(name, text) for name, text in record.items() if text and name != "parameters"])
    if parameters:
        print()
        print_table(("parameter", "meaning"), parameters)
    print_text(f"\n{statement}\n")
    print_text(f"solved by {', '.join(solvers)}")
    return SOLVED


def _packages(a: argparse.Namespace) -> int:
    """The matrix formulation × package of the examples; the reasons of empty cells below it."""
    matrix = package_matrix()
    chosen = {name: cells for name, cells in matrix.items() if a.name in (None, name) or name.startswith(f"{a.name}, ")}
    if a.json:
        print(json_text(chosen))
        return SOLVED
    print_table(
        ("formulation", *PACKAGES), [(name, *("-" if cells[p] else "yes" for p in PACKAGES)) for name, cells in chosen.items()]
    )
    print("\nEmpty cells:")
    for name, cells in chosen.items():
        for package, reason in cells.items():
            if reason:
                print_text(f"{name}, {package}: {reason}")
    return SOLVED


def _stated(info: FormulationInfo) -> tuple[str, list[str]]:
    """Mathematics and solvers of its small example."""
    model = info.example(np.random.default_rng(0))
    return str(model), readers(model)


def estimators(a: argparse.Namespace) -> int:
    """The table of estimators; or one with its parameters and what its attributes hold."""
    table = all_estimators()
    if a.name is None:
        if a.json:
            print(json_text(table.records()))
            return SOLVED
        print_table(("estimator", "formulation", "summary"), [tuple(record.values()) for record in table.records()])
        print("\nmarginopt estimators NAME: its parameters, their defaults, what is fitted")
        return SOLVED
    named = {name.casefold(): info for name, info in table.items()}
    info = named.get(a.name.casefold())
    if info is None:
        raise InputError(f"there is no estimator {a.name!r}; {nearest(a.name, table)}known: {', '.join(table)}")
    description = inspect.getdoc(info.estimator)
    defaults = {p.name: p.default for p in inspect.signature(info.estimator).parameters.values()}
    if a.json:
        record = next(row for row in table.records() if row["class"] == info.name)
        print(json_text({**record, "parameters": defaults, "about": description}))
        return SOLVED
    print_text(f"{info.name}: {info.summary}\nformulation: {info.model.__name__}\n\n{description}\n\n")
    print_table(("parameter", "default"), [(name, repr(value)) for name, value in defaults.items()])
    return SOLVED


# The matrix formulation × package: which package takes the example of which formulation, and why another one does not.


def _solver(name: str) -> Callable[[Model], Any]:
    """Return a function that raises where the solver cannot read a model."""

    def check(model: Model) -> None:
        obstacle = get_solver(name).obstacle(model)
        if obstacle is not None:
            raise MarginoptError(obstacle)

    return check


#: How a model is handed to each package: as an object of its own, or to its solver here.
PACKAGES: Mapping[str, Callable[[Model], Any]] = {
    "MOSEK": Model.to_mosek,
    "Gurobi": Model.to_gurobi,
    "Pyomo": Model.to_pyomo,
    "CVXPY": Model.to_cvxpy,
    "SCIP": _solver("scip"),
    "HiGHS": _solver("highs"),
    "Clarabel": _solver("clarabel"),
}


def package_matrix() -> dict[str, dict[str, str]]:
    """Return, for the example of each formulation and each package, an empty string where the package takes it, else the reason.

    Formulations with a choice of losses, or of a set that a parameter moves in, have a row for each further choice:
    "nonparallel, capped". A package that is not installed takes nothing, and the reason says so.
    """
    matrix = {}
    for name in all_formulations():
        info = get_formulation(name)
        choices = [(p.name, c) for p in info.parameters if p.name in ("loss", "over") for c in p.choices if c != p.default]
        for row, chosen in [(name, {}), *((f"{name}, {choice}", {p: choice}) for p, choice in choices)]:
            model = info.example(np.random.default_rng(0), chosen)
            matrix[row] = {package: _reason(hand_over, model) for package, hand_over in PACKAGES.items()}
    return matrix


def _reason(hand_over: Callable[[Model], Any], model: Model) -> str:
    try:
        hand_over(model)
    except MarginoptError as error:
        return str(error)
    return ""
