"""The public functions: ``from_cvxpy``, ``from_pyomo``, ``from_gurobi``, ``from_highs``, and `recipient_of` for the way back."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from ...errors import InputError, MissingPackageError
from ..program.form import StandardForm
from .source import Recipient, import_source

if TYPE_CHECKING:
    from .cvxpy import CVXPYSource
    from .gurobi import GurobiSource
    from .highs import HighsSource
    from .pyomo import PyomoSource
    from .scipy import SciPyResult


def from_cvxpy(problem: Any) -> StandardForm:
    """A ``cvxpy.Problem`` as a standard form: CVXPY canonicalises it, variables and constraints keep their names.

    Parameters
    ----------
    problem : cvxpy.Problem
        DCP, with linear, second-order and semidefinite cones, boolean and integer variables.

    Returns
    -------
    StandardForm
        ``mo.solve(form).into(problem)`` writes an answer back.

    Raises
    ------
    InputError
        Not a ``cvxpy.Problem``.
    UnsupportedModelError
        Not DCP, or with exponential or power cones.
    """
    return import_source(_cvxpy(problem))


def from_pyomo(model: Any) -> StandardForm:
    """Return a concrete Pyomo model as a standard form; components keep their names.

    Parameters
    ----------
    model : pyomo.environ.ConcreteModel
        One active objective; linear and quadratic expressions, convex or not; continuous, integer and binary variables.

    Returns
    -------
    StandardForm
        The same program; `certify` evaluates the source at the point as well.

    Raises
    ------
    InputError
        Not a concrete model, or not one objective.
    UnsupportedModelError
        Something that a standard form does not hold; named.
    """
    return import_source(_pyomo(model))


def from_gurobi(model: Any) -> StandardForm:
    """A ``gurobipy.Model`` as a standard form; variables and constraints keep their names.

    Parameters
    ----------
    model : gurobipy.Model

    Returns
    -------
    StandardForm

    Raises
    ------
    InputError
        Not a ``gurobipy.Model``.
    UnsupportedModelError
        Something that a standard form does not hold (SOS and general constraints, semi-continuous variables); named.
    """
    return import_source(_gurobi(model))


def from_highs(highs: Any) -> StandardForm:
    """The model that a ``highspy.Highs`` object holds as a standard form; columns and rows keep their names.

    Parameters
    ----------
    highs : highspy.Highs

    Returns
    -------
    StandardForm

    Raises
    ------
    InputError
        Not a ``highspy.Highs`` object.
    UnsupportedModelError
        Semi-continuous or semi-integer variables.
    """
    return import_source(_highs(highs))


def recipient_of(problem: Any) -> Recipient:
    """Return the recipient of answers that stands for an object of another package."""
    for kind in type(problem).__mro__:
        package = kind.__module__.split(".")[0]
        if package in _DOORS:
            return _DOORS[package](problem)
    raise InputError(
        "into() takes a problem of CVXPY, Pyomo, gurobipy or HiGHS, or a SciPy OptimizeResult to fill; "
        f"got {type(problem).__name__}",
        name="problem",
    )


def _cvxpy(problem: Any) -> CVXPYSource:
    from .cvxpy import CVXPYSource

    return CVXPYSource(problem)


def _pyomo(model: Any) -> PyomoSource:
    from .pyomo import PyomoSource

    return PyomoSource(model)


def _gurobi(model: Any) -> GurobiSource:
    try:
        from .gurobi import GurobiSource

        return GurobiSource(model)
    except ImportError as error:
        raise MissingPackageError("gurobipy is not installed", "gurobipy", 'pip install "marginopt[commercial]"') from error


def _highs(highs: Any) -> HighsSource:
    from .highs import HighsSource

    return HighsSource(highs)


def _scipy(target: Any) -> SciPyResult:
    from .scipy import SciPyResult

    return SciPyResult(target)


#: By the package that made the object.
_DOORS: dict[str, Callable[[Any], Recipient]] = {
    "cvxpy": _cvxpy,
    "pyomo": _pyomo,
    "gurobipy": _gurobi,
    "highspy": _highs,
    "scipy": _scipy,
}
