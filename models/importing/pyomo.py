"""Import of Pyomo models as standard forms, and write-back of a solution into variables and suffixes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp

from ...errors import InputError, UnsupportedModelError
from ..arrays import FloatArray
from .quadratic_rows import QuadraticRow, one_sided_quadratic_rows
from .rows import RowProgram, RowSource, side_values, slack_value
from .source import Evaluation, Recipient, ReturnedAnswer, Termination, binary_restatement

#: Pyomo's termination conditions.
_CONDITIONS = {
    Termination.OPTIMAL: "optimal",
    Termination.INACCURATE: "other",
    Termination.STATIONARY: "locallyOptimal",
    Termination.INFEASIBLE: "infeasible",
    Termination.UNBOUNDED: "unbounded",
    Termination.INFEASIBLE_OR_UNBOUNDED: "infeasibleOrUnbounded",
    Termination.TIME_LIMIT: "maxTimeLimit",
    Termination.ITERATION_LIMIT: "maxIterations",
    Termination.NODE_LIMIT: "maxEvaluations",
    Termination.MEMORY_LIMIT: "resourceInterrupt",
    Termination.INTERRUPTED: "userInterrupt",
    Termination.FAILED: "error",
}


class PyomoSource(RowSource, Recipient):
    """A linear, quadratic or mixed-integer program of a concrete Pyomo model, as the source of an import.

    A solution is written back into the variables. Multipliers go into the model's suffix ``dual`` if it has one that imports,
    in Pyomo's sign: the change of the objective for one more unit of the right-hand side. Reduced costs go into the suffix
    ``rc`` under the same condition. A fixed variable is a constant of the rows; the form has it, fixed at its value, and no
    value is written into it.
    """

    package = "Pyomo"

    def __init__(self, model: Any) -> None:
        import pyomo.environ as pyo

        if not isinstance(model, pyo.ConcreteModel | pyo.Block) or not model.is_constructed():
            raise InputError(f"from_pyomo takes a concrete Pyomo model; got {type(model).__name__}", name="model")
        self._model = model
        self._variables, self._rows, program = _program(model)
        self._free = [not v.fixed for v in self._variables]
        self._imported = program.import_form()
        self._quadratic_constraints = [
            c for c in model.component_data_objects(pyo.Constraint, active=True) if not any(c is r for r in self._rows)
        ]

    def evaluate_source(self, x: FloatArray) -> Evaluation:
        """Let Pyomo evaluate objective and rows at x, to compare the form with them; the variables' values are restored."""
        import pyomo.environ as pyo

        (model_objective,) = self._model.component_data_objects(pyo.Objective, active=True)
        before = [(v, v.value, v.stale) for v in self._variables]
        try:
            for variable, value in self._of_free(x):
                variable.set_value(value, skip_validation=True)
            objective = _value(model_objective.expr) * (-1.0 if model_objective.sense == pyo.maximize else 1.0)
            bodies, sides = [_value(c.body) for c in self._rows], [_sides(c) for c in self._rows]
            # differences of Python's numbers, not NumPy's: infinity minus infinity gives no warning
            below = np.array([body - low for body, (low, _) in zip(bodies, sides, strict=True)])
            above = np.array([high - body for body, (_, high) in zip(bodies, sides, strict=True)])
            low_high = np.array(sides, dtype=np.float64).reshape(-1, 2)
            names = [c.name for c in self._rows]
            rows = side_values(names, (low_high[:, 0], low_high[:, 1]), (below, above))
            quadratic_slacks = [(c.name, *side) for c in self._quadratic_constraints for side in _quadratic_slacks(c)]
            rows += [
                slack_value(f"{name}, quadratic row {k}", slack, equal=equal)
                for k, (name, slack, equal) in enumerate(quadratic_slacks)
            ]
            ends = [(_bounds(v), value) for v, value in self._of_free(x)]
        finally:
            for variable, value, stale in before:
                variable.set_value(value, skip_validation=True)
                variable.stale = stale
        outside = max((max(low - value, value - high) for (low, high), value in ends), default=0.0)
        return Evaluation(objective, 0.0, rows, max(outside, 0.0))

    def _of_free(self, numbers: FloatArray) -> list[tuple[Any, float]]:
        """Return the variables that were not fixed at the import, each with its number."""
        return [(v, number) for v, number, free in zip(self._variables, numbers.tolist(), self._free, strict=True) if free]

    def point(self) -> FloatArray | None:
        """Return the values of the variables; None unless there are variables and all have a value."""
        values = [v.value for v in self._variables]
        return None if not values or any(value is None for value in values) else np.array(values, dtype=np.float64)

    def write_back(self, answer: ReturnedAnswer) -> object:
        """Write values and suffixes into the model if there is a point, and return Pyomo's termination condition."""
        self._write(answer)
        from pyomo.opt import TerminationCondition

        return TerminationCondition(_CONDITIONS[answer.termination])

    def _write(self, answer: ReturnedAnswer) -> None:
        if not answer.values:
            return
        for variable, value in self._of_free(self._imported.point(answer.values)):
            variable.set_value(round(value) if variable.is_integer() else value, skip_validation=True)
        if answer.multipliers is None:
            return
        prices, costs = self._imported.row_duals(answer.multipliers), self._imported.reduced_costs(answer.reduced)
        for suffix, pairs in (("dual", zip(self._rows, prices.tolist(), strict=True)), ("rc", self._of_free(costs))):
            component = self._model.component(suffix)
            if component is not None and component.import_enabled():
                component.clear()
                component.update(pairs)


def _program(model: Any) -> tuple[list[Any], list[Any], RowProgram]:
    """Return variables and linear rows in their order, and the program over them."""
    import pyomo.environ as pyo

    _refuse_unread(model)
    objectives = list(model.component_data_objects(pyo.Objective, active=True))
    if len(objectives) != 1:
        raise InputError(f"the Pyomo model must have one active objective; it has {len(objectives)}", name="model")
    variables = _variables(model)
    reader = _Expressions(variables)
    sign = -1.0 if objectives[0].sense == pyo.maximize else 1.0
    objective = reader.read(objectives[0].name, objectives[0].expr)
    rows: list[Any] = []
    linear: list[_Expression] = []
    quadratic_rows: list[QuadraticRow] = []
    sides: list[tuple[float, float]] = []
    for constraint in model.component_data_objects(pyo.Constraint, active=True):
        body = reader.read(constraint.name, constraint.body)
        low, high = (side - body.constant for side in _sides(constraint))
        if body.quadratic is not None:
            quadratic_rows += one_sided_quadratic_rows(constraint.name, body.quadratic, body.linear.toarray().ravel(), low, high)
        else:
            rows.append(constraint)
            linear.append(body)
            sides.append((low, high))
    low_high = np.array([_bounds(v) for v in variables], dtype=np.float64).reshape(len(variables), 2)
    row_sides = np.array(sides, dtype=np.float64).reshape(len(rows), 2)
    program = RowProgram(
        name=model.name if model.name not in ("", "unknown") else "Pyomo model",  # Pyomo's word for no name
        variables=[v.name for v in variables],
        rows=[row.name for row in rows],
        P=None if objective.quadratic is None else sp.csc_array(sign * objective.quadratic),
        q=sign * objective.linear.toarray().ravel() + 0.0,
        r=sign * objective.constant + 0.0,
        A=sp.csr_array(sp.vstack([sp.csr_array((0, len(variables))), *(body.linear for body in linear)], format="csr")),
        row_lower=row_sides[:, 0],
        row_upper=row_sides[:, 1],
        lower=low_high[:, 0],
        upper=low_high[:, 1],
        integer=np.array([not (v.is_continuous() or v.fixed) for v in variables], dtype=bool),
        quadratic_rows=quadratic_rows,
        maximise=sign < 0,
    )
    return variables, rows, program


def _sides(constraint: Any) -> tuple[float, float]:
    """Return the lower and upper side of a constraint, infinite without one; a side that is no number raises an error."""
    try:
        low, high = constraint.lower, constraint.upper
    except ValueError as error:
        raise UnsupportedModelError(
            f"the constraint {constraint.name} has no standard form: {error}", name=constraint.name
        ) from error
    return _end(constraint.name, low, -np.inf), _end(constraint.name, high, np.inf)


def _end(name: str, end: Any, without: float) -> float:
    """Return the value of a side or bound of a row or variable, ``without`` if there is none."""
    import pyomo.environ as pyo

    with _reading(name):
        return without if end is None else float(pyo.value(end))


@contextmanager
def _reading(name: str) -> Iterator[None]:
    """Raise InputError, which names the component, for what Pyomo raises on an expression without a value."""
    try:
        yield
    except (ArithmeticError, AttributeError, TypeError, ValueError) as error:
        raise InputError(
            f"{name} cannot be read; a fixed variable, parameter or named expression in it may have no value, or none that is a "
            f"number: {error}",
            name=name,
        ) from error


def _quadratic_slacks(constraint: Any) -> list[tuple[float, bool]]:
    """Return the slacks of a quadratic row as Pyomo evaluates them, lower side first, each with True for an equality."""
    body = _value(constraint.body)
    low, high = _sides(constraint)
    if low == high:
        return [(high - body, True)]
    lower = [] if low == -np.inf else [(body - low, False)]
    return lower + ([] if high == np.inf else [(high - body, False)])


def _refuse_unread(model: Any) -> None:
    """Raise UnsupportedModelError for active disjunctions, logic, complementarity, SOS and derivatives."""
    import pyomo.environ as pyo
    from pyomo.repn.util import categorize_valid_components

    read = {pyo.Block, pyo.Constraint, pyo.Objective, pyo.Var, pyo.Param, pyo.Expression, pyo.Suffix, pyo.Set, pyo.RangeSet}
    passive = {pyo.ExternalFunction, pyo.BuildAction, pyo.BuildCheck}  # they restrict nothing, though Pyomo calls them active
    _, strange = categorize_valid_components(model, active=True, valid=read | passive)
    for kind in model.collect_ctypes(active=None, descend_into=True):  # derivatives and integrals until they are discretised
        if kind.__module__ in ("pyomo.dae.diffvar", "pyomo.dae.integral"):
            strange[kind] = list(model.component_objects(kind, descend_into=True))
    if strange:
        unread = sorted(strange.items(), key=lambda item: item[1][0].name)
        names = "; ".join(f"{kind.__name__} {', '.join(c.name for c in components[:3])}" for kind, components in unread)
        transformations = (
            "; a transformation of Pyomo's may state them as rows and integers (gdp.bigm, core.logical_to_linear, "
            "mpec.simple_disjunction, dae.finite_difference)"
        )
        way_out = binary_restatement(names) if all(kind is pyo.SOSConstraint for kind in strange) else transformations
        raise UnsupportedModelError(
            f"the Pyomo model holds {names}, which have no place in a standard form{way_out}",
            name=unread[0][1][0].name,
        )


def _variables(model: Any) -> list[Any]:
    """Return the model's own variables, then those of other blocks that its rows or objective use.

    Fixed variables are included if they belong to the model and have a value.
    """
    import pyomo.environ as pyo
    from pyomo.core.expr.visitor import identify_variables

    rows = (row.body for row in model.component_data_objects(pyo.Constraint, active=True))
    goals = (objective.expr for objective in model.component_data_objects(pyo.Objective, active=True))
    variables = {id(v): v for v in model.component_data_objects(pyo.Var, active=True) if not (v.fixed and v.value is None)}
    for expression in (*rows, *goals):
        for v in identify_variables(expression, include_fixed=False):
            variables.setdefault(id(v), v)
    return list(variables.values())


def _bounds(variable: Any) -> tuple[float, float]:
    """Return both bounds of a variable; of a fixed variable its value, twice.

    Pyomo checks bounds when they are read: a lower bound of +inf raises an error only then.
    """
    if variable.fixed:
        return variable.value, variable.value
    try:
        low, high = variable.lb, variable.ub
    except (ArithmeticError, AttributeError, TypeError, ValueError) as error:
        raise InputError(
            f"the bounds of the Pyomo variable {variable.name} are no bounds: {error}", name=variable.name
        ) from error
    return _end(variable.name, low, -np.inf), _end(variable.name, high, np.inf)


@dataclass(frozen=True, eq=False)
class _Expression:
    """½x'Qx + a'x + constant; ``quadratic`` is Q or None, ``linear`` one row."""

    quadratic: sp.csc_array | None
    linear: sp.csr_array
    constant: float


class _Expressions:
    """Reader of Pyomo's expressions over a fixed list of variables."""

    def __init__(self, variables: Sequence[Any]) -> None:
        self._n = len(variables)
        self._place = {id(v): j for j, v in enumerate(variables)}
        for v in variables:
            if not (v.fixed or v.is_continuous() or v.is_integer() or v.is_binary()):
                raise UnsupportedModelError(f"the domain {v.domain} of {v.name} has no place in a standard form", name=v.name)

    def read(self, name: str, expression: Any) -> _Expression:
        from pyomo.repn import generate_standard_repn

        with _reading(name):
            representation = generate_standard_repn(expression, quadratic=True, compute_values=True)
        if representation.nonlinear_expr is not None:
            raise UnsupportedModelError(
                f"{name} is neither linear nor quadratic, so it is in no cone of a standard form", name=name
            )
        columns = [self._place[id(v)] for v in representation.linear_vars]
        linear = sp.coo_array(
            (np.array(representation.linear_coefs, np.float64), (np.zeros(len(columns), int), columns)), (1, self._n)
        )
        quadratic = None
        if representation.quadratic_vars:
            i, j = (np.array([self._place[id(v)] for v in side]) for side in zip(*representation.quadratic_vars, strict=True))
            half = sp.coo_array((np.array(representation.quadratic_coefs, np.float64), (i, j)), (self._n, self._n)).tocsc()
            quadratic = sp.csc_array(half + half.T)
        return _Expression(quadratic, linear.tocsr(), float(representation.constant))


def _value(expression: Any) -> float:
    """Return an expression's value at the variables' values; NaN where it overflows."""
    import pyomo.environ as pyo

    try:
        return float(pyo.value(expression))
    except OverflowError:
        return float("nan")
