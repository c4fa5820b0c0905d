"""The commands ``marginopt solvers``, ``formulations`` and ``estimators``: print the table of all records, or one in full."""

from __future__ import annotations

import argparse
import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import fields, is_dataclass
from functools import partial
from typing import Any

import numpy as np

from ..errors import MarginoptError, unknown_name
from ..estimators import EstimatorTable, all_estimators
from ..models.formulations import FormulationTable, all_formulations, get_formulation
from ..models.model import Model
from ..solvers import solvers as solver_table
from ..solvers.registry import get_solver, solvers_that_read, version_and_licence
from . import SOLVED
from .screen import print_answer_by, print_table, print_text


def solvers(args: argparse.Namespace) -> int:
    """List the solvers; or print the record and the options of one."""
    table = solver_table()
    if args.name is None:
        print_answer_by(args, table.rows, partial(_show_solvers, table.rows))
        return SOLVED
    solver = get_solver(args.name)
    record: dict[str, Any] = next(row for row in table.rows if row["name"] == solver.info.name)
    options = _options(solver)
    print_answer_by(args, {**record, "options": dict(options)}, partial(_show_solver, solver, record, options))
    return SOLVED


def _show_solvers(rows: Sequence[dict[str, str]]) -> None:
    print_table(("solver", "state", "method"), [(r["name"], version_and_licence(r), r["summary"]) for r in rows])
    print("\nmarginopt solvers NAME: what it reads and gives, its source, its options")


def _show_solver(solver: Any, record: Mapping[str, Any], options: list[tuple[str, str]]) -> None:
    print_table(("", ""), [(name, text) for name, text in record.items() if text])
    if options:
        print("\noptions, given by --set NAME=VALUE")
        print_table(("option", "default"), options)
    elif solver.info.package:
        print(f"\noptions: those of {solver.info.package} by their own names, given by --set NAME=VALUE")


def _options(solver: Any) -> list[tuple[str, str]]:
    """Return the parameters of an algorithm of this package, with their defaults; none of an off-the-shelf solver."""
    if solver.info.package or not is_dataclass(solver):
        return []
    return [(f.name, str(getattr(solver, f.name))) for f in fields(solver) if not f.name.startswith("_")]


def formulations(args: argparse.Namespace) -> int:
    """List the formulations (``--packages``: which package takes which), or print one with its mathematics and its solvers."""
    table = all_formulations()
    if args.packages:
        matrix = package_matrix()
        chosen = {name: cells for name, cells in matrix.items() if args.name in (None, name) or name.startswith(f"{args.name}, ")}
        print_answer_by(args, chosen, partial(_show_packages, chosen))
    elif args.name is None:
        print_answer_by(args, table.rows, partial(_show_formulations, table))
    else:
        info = get_formulation(args.name)
        record = next(row for row in table.rows if row["name"] == info.name)
        parameters = {p.option: p.help_text for p in info.parameters}
        model = info.example(np.random.default_rng(0))
        facts = {**record, "options": parameters, "statement": str(model), "solvers": solvers_that_read(model)}
        print_answer_by(args, facts, partial(_show_formulation, record, facts))
    return SOLVED


def _show_formulations(table: FormulationTable) -> None:
    print_table(("formulation", "class", "summary"), [(r["name"], r["class"], r["summary"]) for r in table.rows])
    for reason in table.failures.values():
        print_text(reason)
    print("\nmarginopt formulations NAME: its parameters, its mathematics, who solves it")


def _show_formulation(record: Mapping[str, str], facts: Mapping[str, Any]) -> None:
    print_table(("", ""), [(name, text) for name, text in record.items() if text and name != "parameters"])
    if facts["options"]:
        print()
        print_table(("parameter", "meaning"), list(facts["options"].items()))
    print_text(f"\n{facts['statement']}\n\nsolved by {', '.join(facts['solvers'])}")


def _show_packages(matrix: Mapping[str, Mapping[str, str]]) -> None:
    """Print the matrix formulation × package, and the reasons of its empty cells."""
    rows = [(name, *("-" if cells[package] else "yes" for package in PACKAGES)) for name, cells in matrix.items()]
    print_table(("formulation", *PACKAGES), rows)
    print("\nEmpty cells:")
    for name, cells in matrix.items():
        for package, reason in cells.items():
            if reason:
                print_text(f"{name}, {package}: {reason}")


def estimators(args: argparse.Namespace) -> int:
    """List the estimators; or print one with its parameters and fitted attributes."""
    table = all_estimators()
    if args.name is None:
        print_answer_by(args, table.records(), partial(_show_estimators, table))
        return SOLVED
    info = {name.casefold(): info for name, info in table.items()}.get(args.name.casefold())
    if info is None:
        raise unknown_name("estimator", args.name, table)
    description = inspect.getdoc(info.estimator)
    defaults = {p.name: p.default for p in inspect.signature(info.estimator).parameters.values()}
    record = next(row for row in table.records() if row["class"] == info.name)

    def show() -> None:
        print_text(f"{info.name}: {info.summary}\nformulation: {info.model.__name__}\n\n{description}\n\n")
        print_table(("parameter", "default"), [(name, repr(value)) for name, value in defaults.items()])

    print_answer_by(args, {**record, "parameters": defaults, "about": description}, show)
    return SOLVED


def _show_estimators(table: EstimatorTable) -> None:
    print_table(("estimator", "formulation", "summary"), [tuple(record.values()) for record in table.records()])
    print("\nmarginopt estimators NAME: its parameters, their defaults, what is fitted")


def _solver_check(name: str) -> Callable[[Model], Any]:
    """Return a function of a model that raises MarginoptError if the solver cannot read it."""

    def check(model: Model) -> None:
        obstacle = get_solver(name).obstacle(model)
        if obstacle is not None:
            raise MarginoptError(obstacle)

    return check


#: For each package, a function that raises MarginoptError for a model that it cannot read: an export, or a check of its solver.
PACKAGES: Mapping[str, Callable[[Model], Any]] = {
    "MOSEK": Model.to_mosek,
    "Gurobi": Model.to_gurobi,
    "Pyomo": Model.to_pyomo,
    "CVXPY": Model.to_cvxpy,
    "SCIP": _solver_check("scip"),
    "HiGHS": _solver_check("highs"),
    "Clarabel": _solver_check("clarabel"),
}


def package_matrix() -> dict[str, dict[str, str]]:
    """Return, by formulation and package, why the package cannot read the formulation's example; empty where it can.

    Formulations with a parameter ``loss`` or ``over`` have a row for each further value of it, such as "nonparallel, capped". For
    a package that is not installed, each reason says so.
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
