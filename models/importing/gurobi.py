"""Import of gurobipy models as standard forms, and write-back of a solution as the model's start."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import scipy.sparse as sp

from ...errors import InputError, UnsupportedModelError
from ..arrays import FloatArray
from .quadratic_rows import QuadraticRow
from .rows import IndicatorRow, RowProgram, RowSource, indicator_value, side_values, slack_value
from .source import Evaluation, Recipient, ReturnedAnswer, Termination, binary_restatement

#: Parts of a Gurobi model that a standard form does not hold, by the attribute that counts them.
_REFUSED = {"NumSOS": "SOS constraints", "NumPWLObjVars": "piecewise-linear objectives"}
#: Bounds of at least this absolute value are infinite to Gurobi.
_INFINITE = 1e20
#: Gurobi's status codes.
_STATUS = {
    Termination.OPTIMAL: "OPTIMAL",
    Termination.INACCURATE: "SUBOPTIMAL",
    Termination.STATIONARY: "LOCALLY_OPTIMAL",
    Termination.INFEASIBLE: "INFEASIBLE",
    Termination.UNBOUNDED: "UNBOUNDED",
    Termination.INFEASIBLE_OR_UNBOUNDED: "INF_OR_UNBD",
    Termination.TIME_LIMIT: "TIME_LIMIT",
    Termination.ITERATION_LIMIT: "ITERATION_LIMIT",
    Termination.NODE_LIMIT: "NODE_LIMIT",
    Termination.MEMORY_LIMIT: "MEM_LIMIT",
    Termination.INTERRUPTED: "INTERRUPTED",
    Termination.FAILED: "NUMERIC",
}


class GurobiSource(RowSource, Recipient):
    """A linear, quadratic or mixed-integer program held by a ``gurobipy.Model``, as the source of an import.

    Indicators are the only general constraints that are read. Gurobi's results are read-only, so an answer is written as a start:
    ``Start`` of every variable of a mixed-integer model, else ``PStart`` and, with multipliers, ``DStart`` (the change of the
    objective for one more unit of the right-hand side, as ``Pi``).
    """

    package = "Gurobi"

    def __init__(self, model: Any) -> None:
        import gurobipy

        if not isinstance(model, gurobipy.Model):
            raise InputError(f"from_gurobi takes a gurobipy.Model; got {type(model).__name__}", name="model")
        self._model = model
        try:
            model.update()
            self._imported = _program(model).import_form()
        except gurobipy.GurobiError as error:
            raise InputError(f"the Gurobi model cannot be read: {error}", name="model") from error

    def evaluate_source(self, x: FloatArray) -> Evaluation:
        """Evaluate gurobipy's expressions at x, term by term as the model holds them, to compare the form with them."""
        import gurobipy

        model, sign = self._model, -1.0 if self._model.ModelSense == gurobipy.GRB.MAXIMIZE else 1.0
        linear = model.getConstrs()
        excess = np.array([_value(model.getRow(row), x) - row.RHS for row in linear])
        rows = side_values([row.ConstrName for row in linear], _sides(linear), (excess, -excess))
        for k, quadratic_row in enumerate(model.getQConstrs()):
            slack = _value(model.getQCRow(quadratic_row), x) - quadratic_row.QCRHS
            slack = slack if quadratic_row.QCSense == ">" else -slack
            rows.append(slack_value(f"{quadratic_row.QCName}, quadratic row {k}", slack, equal=quadratic_row.QCSense == "="))
        switched = [_switched_violation(model, row, x) for row in model.getGenConstrs()]
        rows += [indicator_value(max(switched))] if switched else []
        variables = model.getVars()
        outside = max((max(v.LB - value, value - v.UB) for v, value in zip(variables, x.tolist(), strict=True)), default=0.0)
        return Evaluation(sign * _value(model.getObjective(), x), 0.0, rows, max(outside, 0.0))

    def point(self) -> FloatArray | None:
        """Return the values of Gurobi's solution; None without a solution."""
        if not self._model.SolCount or not self.form.n:
            return None
        return np.array(self._model.getAttr("X", self._model.getVars()), dtype=np.float64)

    def write_back(self, answer: ReturnedAnswer) -> object:
        """Set the model's start to the point, if there is one; return the status as Gurobi numbers it."""
        import gurobipy

        self._write(answer)
        return getattr(gurobipy.GRB, _STATUS[answer.termination])

    def _write(self, answer: ReturnedAnswer) -> None:
        if not answer.values or not self.form.n:
            return
        x = self._imported.point(answer.values)
        mixed = bool(self.form.integer.any())
        for variable, value in zip(self._model.getVars(), x.tolist(), strict=True):
            if mixed:
                variable.Start = value
            else:
                variable.PStart = value
        if not mixed and answer.multipliers is not None:
            prices = self._imported.row_duals(answer.multipliers)
            for row, price in zip(self._model.getConstrs(), prices.tolist(), strict=True):
                row.DStart = price
        self._model.update()


def _program(model: Any) -> RowProgram:
    import gurobipy

    unsupported = [description for count, description in _REFUSED.items() if model.getAttr(count)]
    general = model.getGenConstrs()
    general_names = [row.GenConstrName for row in general if row.GenConstrType != gurobipy.GRB.GENCONSTR_INDICATOR]
    unsupported += [f"general constraints other than indicators ({', '.join(general_names[:3])})"] if general_names else []
    variables, rows = model.getVars(), model.getConstrs()
    kinds = {v.VType for v in variables} - {"C", "B", "I"}
    unsupported += ["semi-continuous variables"] if kinds else []
    if model.NumObj > 1:
        unsupported.append("several objectives")
    if model.NumScenarios:
        unsupported.append("several scenarios")
    if unsupported:
        raise UnsupportedModelError(
            f"the Gurobi model holds {', '.join(unsupported)}, which have no place in a standard form"
            f"{binary_restatement(' '.join(unsupported))}",
            name="model",
        )
    sign = -1.0 if model.ModelSense == gurobipy.GRB.MAXIMIZE else 1.0
    objective = model.getObjective()
    quadratic = isinstance(objective, gurobipy.QuadExpr)
    row_lower, row_upper = _sides(rows)
    return RowProgram(
        name=model.ModelName or "Gurobi model",
        variables=[v.VarName for v in variables],
        rows=[row.ConstrName for row in rows],
        P=sp.csc_array(2.0 * sign * _symmetric(model.getQ())) if quadratic else None,
        q=sign * np.array([v.Obj for v in variables], dtype=np.float64) + 0.0,
        r=sign * model.ObjCon + 0.0,
        A=sp.csr_array(model.getA()) if rows else sp.csr_array((0, len(variables))),
        row_lower=row_lower,
        row_upper=row_upper,
        lower=np.array([v.LB if v.LB > -_INFINITE else -np.inf for v in variables]),
        upper=np.array([v.UB if v.UB < _INFINITE else np.inf for v in variables]),
        integer=np.array([v.VType != "C" for v in variables], dtype=bool),
        quadratic_rows=[_quadratic(model, row) for row in model.getQConstrs()],
        indicators=[_indicator(model, row) for row in general],
        maximise=sign < 0,
    )


def _sides(rows: list[Any]) -> tuple[FloatArray, FloatArray]:
    """Return the least and the largest value of linear rows."""
    sides = np.array([row.RHS for row in rows], dtype=np.float64)
    senses = np.array([row.Sense for row in rows], dtype=object)
    return np.where(senses == "<", -np.inf, sides), np.where(senses == ">", np.inf, sides)


def _value(expression: Any, x: FloatArray) -> float:
    """Return the value of a linear or quadratic expression of gurobipy at a point."""
    import gurobipy

    if isinstance(expression, gurobipy.QuadExpr):
        pairs = [
            expression.getCoeff(k) * x[expression.getVar1(k).index] * x[expression.getVar2(k).index]
            for k in range(expression.size())
        ]
        return _sum(pairs) + _value(expression.getLinExpr(), x)
    terms = [expression.getCoeff(k) * x[expression.getVar(k).index] for k in range(expression.size())]
    return _sum([*terms, expression.getConstant()])


def _sum(terms: list[float]) -> float:
    """Return the sum of terms, rounded once; NaN where it overflows or has no value."""
    try:
        return math.fsum(terms)
    except (OverflowError, ValueError):
        return math.nan


def _switched_violation(model: Any, row: Any, x: FloatArray) -> float:
    """Return the distance (largest entry) of binary and row to the nearest point where the row holds, or the binary is off.

    "Nearest" is in the Euclidean norm, as in `models.program.cones.Indicator`.
    """
    switch, active, expression, sense, right = model.getGenConstrIndicator(row)
    inactivity = float(1.0 - x[switch.index] if int(active) else x[switch.index])
    slack = _value(expression, x) - right
    violations = []
    for side in {"<": (-slack,), ">": (slack,), "=": (slack, -slack)}[sense]:
        missing = max(-side, 0.0)
        is_active = inactivity * inactivity + missing * missing <= (inactivity - 1.0) ** 2
        violations.append(max(abs(inactivity), missing) if is_active else abs(inactivity - 1.0))
    return max(violations)


def _symmetric(Q: Any) -> sp.csc_array:
    return sp.csc_array(0.5 * (sp.csc_array(Q) + sp.csc_array(Q).T))


def _quadratic(model: Any, row: Any) -> QuadraticRow:
    """Return the row ½x'Qx + a'x ≤ b, or = b, of one quadratic constraint."""
    Q, a = model.getQCMatrices(row)
    sign = -1.0 if row.QCSense == ">" else 1.0
    linear = sp.csc_array(a).toarray().ravel()
    Q = sp.csc_array(2.0 * sign * _symmetric(Q))
    return QuadraticRow(row.QCName, Q, sign * linear + 0.0, sign * row.QCRHS + 0.0, row.QCSense == "=")


def _indicator(model: Any, row: Any) -> IndicatorRow:
    switch, active, expression, sense, right = model.getGenConstrIndicator(row)
    columns = [expression.getVar(k).index for k in range(expression.size())]
    coefficients = [expression.getCoeff(k) for k in range(expression.size())]
    a = sp.csr_array((coefficients, (np.zeros(len(columns), dtype=np.intp), columns)), shape=(1, model.NumVars), dtype=np.float64)
    side = right - expression.getConstant()
    lower, upper = (-np.inf if sense == "<" else side), (np.inf if sense == ">" else side)
    return IndicatorRow(row.GenConstrName, switch.index, int(active), a, lower, upper)
