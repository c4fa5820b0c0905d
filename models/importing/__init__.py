# exempt (text): other packages' objects
"""Import of programs stated in CVXPY, Pyomo, gurobipy or HiGHS as standard forms, and write-back of answers into their objects.

``from_cvxpy``, ``from_pyomo``, ``from_gurobi`` and ``from_highs`` read a program; ``recipient_of`` returns the object that
writes an answer back, for ``result.into(problem)``. A package is imported only with the class that reads its problems. ``mo`` is
the package marginopt.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

from ...errors import InputError, MissingPackageError
from ..program.form import StandardForm
from .source import Recipient, import_source

#: Module and class that read a package's objects and write answers to them, by the package.
_RECIPIENTS = {
    "cvxpy": ("cvxpy", "CVXPYSource"),
    "pyomo": ("pyomo", "PyomoSource"),
    "gurobipy": ("gurobi", "GurobiSource"),
    "highspy": ("highs", "HighsSource"),
    "scipy": ("matrices", "SciPyResult"),
}


def from_cvxpy(problem: Any) -> StandardForm:
    """Import a ``cvxpy.Problem`` as a standard form: CVXPY canonicalises it, variables and constraints keep their names.

    Parameters
    ----------
    problem : cvxpy.Problem
        DCP, with linear, second-order, semidefinite, exponential and power cones, boolean and integer variables.

    Returns
    -------
    StandardForm
        ``mo.solve(form).into(problem)`` writes an answer back.

    Raises
    ------
    InputError
        Not a ``cvxpy.Problem``.
    UnsupportedModelError
        Not DCP, or with other cones.
    """
    return import_source(_recipient("cvxpy", problem))


def from_pyomo(model: Any) -> StandardForm:
    """Import a concrete Pyomo model as a standard form; components keep their names.

    Parameters
    ----------
    model : pyomo.environ.ConcreteModel
        One active objective; linear and quadratic expressions, convex or not; continuous, integer and binary variables.

    Returns
    -------
    StandardForm
        ``mo.solve(form).into(model)`` writes an answer back.

    Raises
    ------
    InputError
        Not a concrete model, or not one objective.
    UnsupportedModelError
        A part that a standard form does not hold; the message names it.
    """
    return import_source(_recipient("pyomo", model))


def from_gurobi(model: Any) -> StandardForm:
    """Import a ``gurobipy.Model`` as a standard form; variables and constraints keep their names.

    Parameters
    ----------
    model : gurobipy.Model
        Linear and quadratic objective and constraints, convex or not; indicators; continuous, integer and binary variables.

    Returns
    -------
    StandardForm
        ``mo.solve(form).into(model)`` sets an answer as the model's start.

    Raises
    ------
    MissingPackageError
        gurobipy is not installed.
    InputError
        Not a ``gurobipy.Model``.
    UnsupportedModelError
        A part that a standard form does not hold, such as SOS constraints, general constraints other than indicators and
        semi-continuous variables; the message names it.
    """
    try:
        source = _recipient("gurobipy", model)
    except ImportError as error:
        raise MissingPackageError("gurobipy is not installed", "gurobipy", 'pip install "marginopt[commercial]"') from error
    return import_source(source)


def from_highs(highs: Any) -> StandardForm:
    """Import the model that a ``highspy.Highs`` object holds as a standard form; columns and rows keep their names.

    Parameters
    ----------
    highs : highspy.Highs
        Linear or quadratic objective, linear rows, continuous and integer variables.

    Returns
    -------
    StandardForm
        ``mo.solve(form).into(highs)`` sets an answer as the object's solution.

    Raises
    ------
    InputError
        Not a ``highspy.Highs`` object.
    UnsupportedModelError
        Semi-continuous or semi-integer variables.
    """
    return import_source(_recipient("highspy", highs))


def recipient_of(problem: Any) -> Recipient:
    """Return the object that writes answers back into a problem of another package.

    Raises
    ------
    InputError
        An object of no package that answers can be written to.
    """
    for kind in type(problem).__mro__:
        package = kind.__module__.split(".")[0]
        if package in _RECIPIENTS:
            return _recipient(package, problem)
    raise InputError(
        "into() takes a problem of CVXPY, Pyomo, gurobipy or HiGHS, or a SciPy OptimizeResult to fill; "
        f"got {type(problem).__name__}",
        name="problem",
    )


def _recipient(package: str, problem: Any) -> Any:
    module, name = _RECIPIENTS[package]
    return getattr(import_module(f".{module}", __package__), name)(problem)
