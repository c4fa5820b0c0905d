"""A Pyomo model as a standard form, and an answer back into it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp

from ...errors import InputError, UnsupportedModelError
from ..program.form import StandardForm
from .rows import QuadraticRow, RowProgram
from .source import Returned, Source

__all__ = ["PyomoSource"]


class PyomoSource(Source):
    """An LP, QP, convex QCQP or mixed-integer program held by a concrete Pyomo model: components keep their names.

    Values go into the variables. Multipliers go into the suffix ``dual`` of the model, where it has one that imports, in Pyomo's
    sign: the change of the objective for one more unit of the right-hand side; reduced costs into ``rc``.
    """

    def __init__(self, model: Any) -> None:
        import pyomo.environ as pyo

        if not isinstance(model, pyo.ConcreteModel | pyo.Block) or not model.is_constructed():
            raise InputError(f"from_pyomo takes a concrete Pyomo model; got {type(model).__name__}")
        self._model = model
        self._variables, self._rows, program = _program(model)
        self._taken = program.taken()

    @property
    def form(self) -> StandardForm:
        """The program."""
        return self._taken.form

    def give_back(self, answer: Returned) -> None:
        """Set values and suffixes; nothing where there is no point."""
        if not answer.values:
            return
        for variable, value in zip(self._variables, self._taken.point(answer.values).tolist(), strict=True):
            variable.set_value(round(value) if variable.is_integer() else value, skip_validation=True)
        if answer.multipliers is None:
            return
        prices, costs = self._taken.row_prices(answer.multipliers), self._taken.reduced_costs(answer.reduced)
        for suffix, keys, numbers in (("dual", self._rows, prices), ("rc", self._variables, costs)):
            held = self._model.component(suffix)
            if held is not None and held.import_enabled():
                held.clear()
                held.update(zip(keys, numbers.tolist(), strict=True))


def _program(model: Any) -> tuple[list[Any], list[Any], RowProgram]:
    """The variables and linear rows in their order, and the program over them."""
    import pyomo.environ as pyo

    _refuse_unread(model)
    objectives = list(model.component_data_objects(pyo.Objective, active=True))
    if len(objectives) != 1:
        raise InputError(f"the Pyomo model must have one active objective; it has {len(objectives)}")
    variables = _variables(model)
    reader = _Expressions(variables)
    sign = -1.0 if objectives[0].sense == pyo.maximize else 1.0
    goal = reader.read(objectives[0].name, objectives[0].expr)
    rows: list[Any] = []
    linear: list[_Expression] = []
    curved: list[QuadraticRow] = []
    sides: list[tuple[float, float]] = []
    for constraint in model.component_data_objects(pyo.Constraint, active=True):
        body = reader.read(constraint.name, constraint.body)
        low = -np.inf if constraint.lower is None else pyo.value(constraint.lower) - body.constant
        high = np.inf if constraint.upper is None else pyo.value(constraint.upper) - body.constant
        if body.quadratic is not None:
            curved += _curved(constraint.name, body, low, high)
        else:
            rows.append(constraint)
            linear.append(body)
            sides.append((low, high))
    low_high = np.array([_bounds(v) for v in variables], dtype=np.float64).reshape(len(variables), 2)
    row_sides = np.array(sides, dtype=np.float64).reshape(len(rows), 2)
    program = RowProgram(
        name=model.name or "Pyomo model",
        variables=[v.name for v in variables],
        rows=[row.name for row in rows],
        P=None if goal.quadratic is None else sp.csc_array(sign * goal.quadratic),
        q=sign * goal.linear.toarray().ravel() + 0.0,
        r=sign * goal.constant + 0.0,
        A=sp.csr_array(sp.vstack([sp.csr_array((0, len(variables))), *(body.linear for body in linear)], format="csr")),
        row_lower=row_sides[:, 0],
        row_upper=row_sides[:, 1],
        lower=low_high[:, 0],
        upper=low_high[:, 1],
        integer=np.array([not v.is_continuous() for v in variables], dtype=bool),
        quadratic_rows=curved,
        maximise=sign < 0,
    )
    return variables, rows, program


def _refuse_unread(model: Any) -> None:
    """Components that restrict the model and are not read here would be dropped: disjunctions, logic, complementarity, SOS.

    Raises
    ------
    UnsupportedModelError
        There is an active one; names it.
    """
    import pyomo.environ as pyo
    from pyomo.repn.util import categorize_valid_components

    read = {pyo.Block, pyo.Constraint, pyo.Objective, pyo.Var, pyo.Param, pyo.Expression, pyo.Suffix, pyo.Set, pyo.RangeSet}
    passive = {pyo.ExternalFunction, pyo.BuildAction, pyo.BuildCheck}  # they restrict nothing, though Pyomo calls them active
    _, strange = categorize_valid_components(model, active=True, valid=read | passive)
    if strange:
        held = "; ".join(f"{kind.__name__} {', '.join(c.name for c in found[:3])}" for kind, found in strange.items())
        raise UnsupportedModelError(
            f"the Pyomo model holds {held}, which have no place in a standard form; a transformation of Pyomo's may state them "
            "as rows and integers (gdp.bigm, core.logical_to_linear, mpec.simple_disjunction)"
        )


def _variables(model: Any) -> list[Any]:
    """The variables that are not fixed: the model's own, then those of other blocks that its active rows and objective read."""
    import pyomo.environ as pyo
    from pyomo.core.expr.visitor import identify_variables

    rows = (row.body for row in model.component_data_objects(pyo.Constraint, active=True))
    goals = (goal.expr for goal in model.component_data_objects(pyo.Objective, active=True))
    found = {id(v): v for v in model.component_data_objects(pyo.Var, active=True) if not v.fixed}
    for expression in (*rows, *goals):
        for v in identify_variables(expression, include_fixed=False):
            found.setdefault(id(v), v)
    return list(found.values())


def _bounds(variable: Any) -> tuple[float, float]:
    """Pyomo looks at bounds when they are read: a lower bound of +inf it takes, and then refuses to tell."""
    import pyomo.environ as pyo

    try:
        low, high = variable.lb, variable.ub
    except ValueError as error:
        raise InputError(f"the bounds of the Pyomo variable {variable.name} are no bounds: {error}") from error
    return -np.inf if low is None else pyo.value(low), np.inf if high is None else pyo.value(high)


@dataclass(frozen=True, eq=False)
class _Expression:
    """½x'Qx + a'x + constant; ``quadratic`` is Q or None, ``linear`` one row."""

    quadratic: sp.csc_array | None
    linear: sp.csr_array
    constant: float


class _Expressions:
    """Reads Pyomo's expressions over a fixed list of variables."""

    def __init__(self, variables: Sequence[Any]) -> None:
        self._n = len(variables)
        self._place = {id(v): j for j, v in enumerate(variables)}
        for v in variables:
            if not (v.is_continuous() or v.is_integer() or v.is_binary()):
                raise UnsupportedModelError(f"the domain {v.domain} of {v.name} has no place in a standard form")

    def read(self, name: str, expression: Any) -> _Expression:
        """The coefficients of one expression.

        Raises
        ------
        InputError
            A fixed variable or a parameter in it has no value.
        UnsupportedModelError
            It is neither linear nor quadratic.
        """
        from pyomo.repn import generate_standard_repn

        try:
            found = generate_standard_repn(expression, quadratic=True, compute_values=True)
        except (TypeError, ValueError) as error:
            raise InputError(f"{name} cannot be read; a fixed variable or parameter in it may have no value: {error}") from error
        if found.nonlinear_expr is not None:
            raise UnsupportedModelError(f"{name} is neither linear nor quadratic, so it is in no cone of a standard form")
        columns = [self._place[id(v)] for v in found.linear_vars]
        linear = sp.coo_array((np.array(found.linear_coefs, np.float64), (np.zeros(len(columns), int), columns)), (1, self._n))
        quadratic = None
        if found.quadratic_vars:
            i, j = (np.array([self._place[id(v)] for v in side]) for side in zip(*found.quadratic_vars, strict=True))
            half = sp.coo_array((np.array(found.quadratic_coefs, np.float64), (i, j)), (self._n, self._n)).tocsc()
            quadratic = sp.csc_array(half + half.T)
        return _Expression(quadratic, linear.tocsr(), float(found.constant))


def _curved(name: str, body: _Expression, low: float, high: float) -> list[QuadraticRow]:
    """Rows ½x'Qx + a'x ≤ b of low ≤ body ≤ high, without the body's constant."""
    a = body.linear.toarray().ravel()
    assert body.quadratic is not None
    found = [QuadraticRow(name, body.quadratic, a, high)] if np.isfinite(high) else []
    return found + ([QuadraticRow(name, sp.csc_array(-body.quadratic), -a + 0.0, -low)] if np.isfinite(low) else [])
