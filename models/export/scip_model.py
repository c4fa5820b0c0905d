"""Export of a standard form as a PySCIPOpt model, and changes of such a model in place.

The form is min ½x'Px + q'x + r over constraints F x + g in cones, bounds and integers; linear ones are F x = -g or F x ≥ -g.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from ...errors import ExportError, MissingPackageError
from ..arrays import FloatArray, IntArray
from ..deadline import check_deadline
from ..program.bridges import EpigraphBridge
from ..program.cones import PSD, Bilinear, Nonnegative, Zero
from ..program.csr_rows import changed_entries
from ..program.exponential_cones import TranscendentalCone
from ..program.form import Constraint, StandardForm
from .cone_rows import (
    ConeRows,
    bilinear_rows,
    cone_names,
    indicator_rows,
    quadratic_cones,
    transcendental_rows,
    variable_letters,
)

#: Terms of rows between two checks of the deadline: PySCIPOpt takes some microseconds for each.
_TERMS = 4096


def to_scip(form: StandardForm) -> Any:
    """Return the form as a silent ``pyscipopt.Model`` (always a minimisation, as the form is).

    SCIP takes linear objectives: a quadratic one is replaced by its epigraph (`models.program.bridges.EpigraphBridge`).
    Variables come in the order of x under the form's names, then the auxiliary variables of the second-order cones
    (`quadratic_cones`) under their rows' names. Indicators are SCIP's own, whose slack variables come last. ``model.data`` is
    the list of all variables.

    Raises
    ------
    ExportError
        Semidefinite cones.
    MissingPackageError
        PySCIPOpt is not installed.
    """
    unsupported = [c.label for c in form.constraints if isinstance(c.cone, PSD)]
    if unsupported:
        raise ExportError(
            f"SCIP has no semidefinite cones: {', '.join(unsupported)}; Clarabel, SCS and MOSEK read them", name="SCIP"
        )
    try:
        import pyscipopt
    except ImportError as error:
        raise MissingPackageError("PySCIPOpt is not installed", "pyscipopt", "pip install pyscipopt") from error
    if form.quadratic is not None:
        form = EpigraphBridge(form).target
    model = pyscipopt.Model(form.name)
    model.hideOutput()
    x = _variables(model, form)
    _objective(pyscipopt, model, form, x)
    for c in form.constraints:
        if isinstance(c.cone, (Zero, Nonnegative)):
            for expression, name in zip(_affine(pyscipopt, c, x), c.names(), strict=True):
                model.addCons(expression == 0 if isinstance(c.cone, Zero) else expression >= 0, name=name)
    for cone in quadratic_cones(form):
        _add_cones(pyscipopt, model, cone, x)
    for c in form.constraints:
        if isinstance(c.cone, TranscendentalCone):
            for name, h in transcendental_rows(c, list(_affine(pyscipopt, c, x)), pyscipopt.exp):
                model.addCons(h <= 0, name=name)
        elif isinstance(c.cone, Bilinear):
            rows = list(_affine(pyscipopt, c, x))
            for (t, terms), name in zip(bilinear_rows(c), cone_names(c), strict=True):
                slack = rows[t] - pyscipopt.quicksum(rows[a] * rows[b] for a, b in terms)
                model.addCons(slack == 0 if c.cone.equality else slack >= 0, name=name)
    slacks = []
    for indicators in indicator_rows(form):
        expressions = _affine(pyscipopt, indicators.constraint, x, indicators.rows)
        switches = zip(indicators.binary, indicators.active, expressions, strict=True)
        for k, (binary, active, expression) in enumerate(switches):
            # SCIP's own sense of an indicator is a row ≤ 0
            added = model.addConsIndicator(-expression <= 0, x[binary], activeone=bool(active), name=indicators.name(k))
            slacks.append(model.getSlackVarIndicator(added))
    model.data = x + slacks
    check_deadline()
    return model


def change_scip(model: Any, old: StandardForm, form: StandardForm, parts: frozenset[str]) -> None:
    """Turn the model of ``old`` (with a linear objective) into that of ``form``, which differs in ``parts``: of q, r, bounds, and
    F and g of the linear constraints. A solved model returns to the stage before the solve and keeps its solutions as starts.
    """
    import pyscipopt

    model.freeTransform()
    x = model.data[: form.n]
    if parts & {"q", "r"}:
        _objective(pyscipopt, model, form, x)
    if "bounds" in parts:
        for variable, kind, lower, upper in zip(x, variable_letters(form), form.lower, form.upper, strict=True):
            model.chgVarType(variable, "I" if kind == "B" else kind)  # a binary variable takes no other bounds
            model.chgVarLb(variable, _bound(lower))
            model.chgVarUb(variable, _bound(upper))
            model.chgVarType(variable, kind)
    if not parts & {"F", "g"}:
        return
    linear = [c for c in form.constraints if isinstance(c.cone, (Zero, Nonnegative))]
    labels = [c.label for c in linear]
    rows = model.getConss(transformed=False)  # the linear ones were added first
    if "F" in parts:
        for i, j, value in zip(*changed_entries(old.rows_matrix(labels)[0], form.rows_matrix(labels)[0]), strict=True):
            model.chgCoefLinear(rows[i], x[j], value)
    if "g" in parts:
        first = 0
        for c in linear:
            for row, side in zip(rows[first : first + c.rows], (-c.g).tolist(), strict=True):
                model.chgRhs(row, side if isinstance(c.cone, Zero) else None)
                model.chgLhs(row, side)
            first += c.rows


def extend_point(form: StandardForm, x: FloatArray) -> FloatArray:
    """Return (x, v, slacks), the values of ``model.data`` of `to_scip` at a point x of a form with a linear objective.

    v are the auxiliary variables of the second-order cones. The slack of an indicator is the violation of its row ≥ 0.
    """
    cones = [rows.constraint.value(x)[rows.linked] for rows in quadratic_cones(form)]
    slacks = [np.maximum(-rows.constraint.value(x)[rows.rows], 0.0) for rows in indicator_rows(form)]
    return np.concatenate([x, *cones, *slacks])


def _objective(pyscipopt: Any, model: Any, form: StandardForm, x: list[Any]) -> None:
    """Set the objective q'x + r."""
    model.setObjective(pyscipopt.quicksum(float(form.q[j]) * x[j] for j in np.flatnonzero(form.q)), "minimize")
    model.addObjoffset(float(form.r) - model.getObjoffset())


def _bound(value: float) -> float | None:
    return float(value) if np.isfinite(value) else None


def _variables(model: Any, form: StandardForm) -> list[Any]:
    data = zip(form.names(), form.lower, form.upper, variable_letters(form), strict=True)
    return [model.addVar(name, vtype=kind, lb=_bound(lower), ub=_bound(upper)) for name, lower, upper, kind in data]


def _affine(pyscipopt: Any, c: Constraint, x: list[Any], rows: IntArray | None = None) -> Iterator[Any]:
    """Yield F x + g row by row, and check the deadline every `_TERMS` terms."""
    F, terms = c.F, 0
    chosen = range(c.rows) if rows is None else rows
    for i in chosen:
        terms += 1 + int(F.indptr[i + 1] - F.indptr[i])
        if terms >= _TERMS:
            check_deadline()
            terms = 0
        yield pyscipopt.quicksum(float(F.data[k]) * x[F.indices[k]] for k in range(F.indptr[i], F.indptr[i + 1])) + float(c.g[i])


def _add_cones(pyscipopt: Any, model: Any, rows: ConeRows, x: list[Any]) -> None:
    """Add auxiliary variables with their equations, and one quadratic constraint for each cone of the stack."""
    c, names = rows.constraint, rows.constraint.names()
    for row, expression in zip(rows.linked, _affine(pyscipopt, c, x, rows.linked), strict=True):
        x.append(model.addVar(names[row], lb=0.0 if rows.head[row] else None, ub=None))
        model.addCons(expression - x[-1] == 0, name=names[row])

    for k, name in enumerate(cone_names(c)):
        check_deadline()
        h = pyscipopt.quicksum(coefficient * rows.value(i, x) * rows.value(j, x) for coefficient, i, j in rows.products(k))
        model.addCons(h <= 0, name=name)
