"""Export of a standard form as a gurobipy model, and changes of such a model in place.

The form is min ½x'Px + q'x + r over constraints F x + g in cones, bounds and integers; linear ones are F x = -g or F x ≥ -g.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp

from ...errors import ExportError, LicenceError, MissingPackageError
from ..program.cones import PSD, Bilinear, Nonnegative, Zero
from ..program.csr_rows import changed_entries
from ..program.exponential_cones import TranscendentalCone
from ..program.form import Constraint, StandardForm
from .cone_rows import (
    ConeRows,
    IndicatorRows,
    bilinear_rows,
    cone_names,
    indicator_rows,
    quadratic_cones,
    transcendental_rows,
    variable_letters,
)


def silent_environment(*, verbose: bool = False) -> Any:
    """Return a started ``gurobipy.Env`` that prints nothing, or its log if ``verbose``.

    Raises
    ------
    MissingPackageError
        gurobipy is not installed.
    LicenceError
        Gurobi does not start, as without a licence.
    """
    try:
        import gurobipy
    except ImportError as error:
        raise MissingPackageError("gurobipy is not installed", "gurobipy", 'pip install "marginopt[commercial]"') from error
    environment = gurobipy.Env(empty=True)
    try:
        environment.setParam("OutputFlag", int(verbose))
        environment.start()
    except gurobipy.GurobiError as error:
        environment.dispose()
        raise LicenceError(f"Gurobi does not start: {error}") from error
    return environment


def to_gurobi(form: StandardForm, environment: Any = None) -> Any:
    """Return the form as a gurobipy ``Model`` (always a minimisation, as the form is).

    Variables come in the order of x under the form's names, then the auxiliary variables of the second-order cones under their
    rows' names (`quadratic_cones`), then one for each nonlinear inequality of an exponential or power cone. Linear constraints
    come in the form's order, then the linking equations. Each second-order cone and each bilinear row is a quadratic constraint,
    each indicator one of Gurobi's own.

    Parameters
    ----------
    form : StandardForm
        A form without semidefinite cones.
    environment : gurobipy.Env, optional
        Where the model is made; a silent one (`silent_environment`) if it is not given.

    Raises
    ------
    ExportError
        Semidefinite cones.
    """
    unsupported = [c.label for c in form.constraints if isinstance(c.cone, PSD)]
    if unsupported:
        raise ExportError(
            f"Gurobi has no semidefinite cones: {', '.join(unsupported)}; Clarabel, SCS and MOSEK read them", name="Gurobi"
        )
    if environment is None:
        environment = silent_environment()
    import gurobipy

    cones = quadratic_cones(form)
    model = gurobipy.Model(form.name, env=environment)
    x = _variables(model, form, cones)
    _linear(model, form, cones, x)
    variables = x.tolist()
    for rows in cones:
        _add_cones(gurobipy, model, rows, variables)
    for c in form.constraints:
        if isinstance(c.cone, Bilinear):
            _add_bilinear(gurobipy, model, c, variables)
        elif isinstance(c.cone, TranscendentalCone):
            _add_transcendental(gurobipy, model, c, variables)
    for indicators in indicator_rows(form):
        _add_indicators(gurobipy, model, indicators, variables)
    model.update()
    return model


def change_gurobi(model: Any, old: StandardForm, form: StandardForm, parts: frozenset[str]) -> None:
    """Turn the model of ``old`` into that of ``form``, which differs from it in ``parts``: of P, q, r, bounds, and F and g of the
    linear constraints.
    """
    import gurobipy

    variables = model.getVars()
    x = variables[: form.n]
    if "P" in parts:
        everything = gurobipy.MVar.fromlist(variables)
        model.setMObjective(
            *_objective(form, len(variables) - form.n), float(form.r), xQ_L=everything, xQ_R=everything, xc=everything
        )
    if "q" in parts:
        model.setAttr("Obj", x, form.q.tolist())
    if "r" in parts:
        model.ObjCon = float(form.r)
    if parts & {"F", "g"}:
        linear = [c.label for c in form.constraints if isinstance(c.cone, (Zero, Nonnegative))]
        F, g = form.rows_matrix(linear)
        rows = model.getConstrs()[: g.size]  # the linking equations of cones come after
        if "g" in parts:
            model.setAttr("RHS", rows, (-g).tolist())
        if "F" in parts:
            for i, j, value in zip(*changed_entries(old.rows_matrix(linear)[0], F), strict=True):
                model.chgCoeff(rows[i], x[j], value)
    if "bounds" in parts:
        model.setAttr("VType", x, variable_letters(form))
        model.setAttr("LB", x, form.lower.tolist())
        model.setAttr("UB", x, form.upper.tolist())
    model.update()


def _objective(form: StandardForm, auxiliary: int) -> tuple[Any, Any]:
    """Return ½P (None where P is zero) and q, widened by the auxiliary variables."""
    Q = None
    if form.quadratic is not None and form.quadratic.csc.nnz:
        Q = sp.block_diag([0.5 * form.quadratic.csc, sp.csc_array((auxiliary, auxiliary))], format="csc")
    return Q, np.concatenate([form.q, np.zeros(auxiliary)])


def _variables(model: Any, form: StandardForm, cones: tuple[ConeRows, ...]) -> Any:
    auxiliary = sum(rows.linked.size for rows in cones)
    lower = np.concatenate([form.lower, *(np.where(rows.head[rows.linked], 0.0, -np.inf) for rows in cones)])
    upper = np.concatenate([form.upper, np.full(auxiliary, np.inf)])
    kinds = variable_letters(form) + ["C"] * auxiliary
    names = form.names()
    for rows in cones:
        labels = rows.constraint.names()
        names += [labels[row] for row in rows.linked]
    x = model.addMVar(lower.size, lb=lower, ub=upper, vtype=kinds, name=names)
    model.setMObjective(*_objective(form, auxiliary), float(form.r), sense=1)
    return x


def _linear(model: Any, form: StandardForm, cones: tuple[ConeRows, ...], x: Any) -> None:
    """Add the rows F x ≥ -g, F x = -g, and F x - v = -g of the auxiliary variables v."""
    auxiliary = sum(rows.linked.size for rows in cones)
    blocks, right, senses, names = [], [], "", []
    for c in form.constraints:
        if isinstance(c.cone, (Zero, Nonnegative)) and c.rows:
            blocks.append(sp.hstack([c.F, sp.csr_array((c.rows, auxiliary))], format="csr"))
            right.append(-c.g)
            senses += ("=" if isinstance(c.cone, Zero) else ">") * c.rows
            names += c.names()
    first = form.n
    for rows in cones:
        count = rows.linked.size
        if not count:
            continue
        c, labels = rows.constraint, rows.constraint.names()
        minus = sp.csr_array(
            (-np.ones(count), (np.arange(count), np.arange(first, first + count) - form.n)), shape=(count, auxiliary)
        )
        blocks.append(sp.hstack([c.F[rows.linked], minus], format="csr"))
        right.append(-c.g[rows.linked])
        senses += "=" * count
        names += [labels[row] for row in rows.linked]
        first += count
    if blocks:
        added = model.addMConstr(sp.vstack(blocks, format="csr"), x, np.array(list(senses)), np.concatenate(right))
        model.update()
        model.setAttr("ConstrName", added.tolist(), names)


def _add_cones(gurobipy: Any, model: Any, rows: ConeRows, variables: list[Any]) -> None:
    """Add one quadratic constraint h ≤ 0 for each cone of the stack (`models.export.cone_rows`)."""
    for k, name in enumerate(cone_names(rows.constraint)):
        h = gurobipy.QuadExpr()
        for coefficient, i, j in rows.products(k):
            factor = coefficient * rows.scale[i] * rows.scale[j]
            active = [variables[rows.variable[row]] for row in (i, j) if rows.variable[row] >= 0]
            if len(active) == 2:
                h.addTerms(factor, *active)
            elif active:
                h.add(active[0], factor)
            else:
                h.addConstant(factor)
        model.addQConstr(h <= 0, name=name)


def _affine(gurobipy: Any, c: Constraint, variables: list[Any]) -> list[Any]:
    """Return F x + g row by row."""
    ends = c.F.indptr.tolist()
    return [
        gurobipy.LinExpr(c.F.data[i:j].tolist(), [variables[k] for k in c.F.indices[i:j]]) + float(g)
        for i, j, g in zip(ends[:-1], ends[1:], c.g, strict=True)
    ]


def _add_transcendental(gurobipy: Any, model: Any, c: Constraint, variables: list[Any]) -> None:
    """Add one nonlinear equation v = h for each nonlinear inequality h ≤ 0 of the cones, with a new variable v ≤ 0."""
    for name, h in transcendental_rows(c, _affine(gurobipy, c, variables), gurobipy.nlfunc.exp):
        if isinstance(h, gurobipy.NLExpr):
            v = model.addVar(lb=-gurobipy.GRB.INFINITY, ub=0.0, name=name)
            model.addGenConstrNL(v, h, name=name)
        else:
            model.addConstr(h <= 0, name=name)


def _add_bilinear(gurobipy: Any, model: Any, c: Constraint, variables: list[Any]) -> None:
    """Add one quadratic constraint t - a'b ≥ 0 or = 0 for each set of the stack."""
    rows = _affine(gurobipy, c, variables)
    for (t, terms), name in zip(bilinear_rows(c), cone_names(c), strict=True):
        slack = rows[t] - gurobipy.quicksum(rows[a] * rows[b] for a, b in terms)
        model.addConstr(slack == 0 if c.cone.equality else slack >= 0, name=name)  # type: ignore[attr-defined]


def _add_indicators(gurobipy: Any, model: Any, indicators: IndicatorRows, variables: list[Any]) -> None:
    """Add one general constraint z = 0 → row ≥ 0, or z = 1 → row ≥ 0, for each indicator."""
    c = indicators.constraint
    for k, (binary, active, row) in enumerate(zip(indicators.binary, indicators.active, indicators.rows, strict=True)):
        entries = slice(c.F.indptr[row], c.F.indptr[row + 1])
        expression = gurobipy.LinExpr(c.F.data[entries].tolist(), [variables[j] for j in c.F.indices[entries]])
        model.addGenConstrIndicator(variables[binary], bool(active), expression, ">", float(-c.g[row]), name=indicators.name(k))
