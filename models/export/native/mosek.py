"""A standard form as a MOSEK task: labels become names, nothing is solved and no licence is needed."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp

from ....errors import ExportError, MissingPackageError
from ...arrays import IntArray
from ...program.bridges import EpigraphBridge
from ...program.cones import PSD, Cone, Feature, Indicator, Nonnegative, RotatedSecondOrder, SecondOrder, Zero
from ...program.exponential_cones import Exponential, Power
from ...program.form import Constraint, StandardForm, changed_entries
from ..programs import indicator_rows

#: Features beside which MOSEK takes no quadratic objective.
_BESIDE_NO_QUADRATIC = {
    Feature.SECOND_ORDER, Feature.ROTATED, Feature.PSD, Feature.INDICATOR, Feature.EXPONENTIAL, Feature.POWER,
}  # fmt: skip


def to_mosek(form: StandardForm, environment: Any = None) -> Any:
    """The form as a ``mosek.Task`` (always a minimisation, as the form is).

    Equalities and inequalities are linear constraints F x = -g, F x ≥ -g; each cone is one affine conic constraint
    F x + g in its domain; each indicator constraint is one disjunction, a ≥ 1 or F x + g ≥ 0. MOSEK refuses a quadratic
    objective beside cones when it is asked to solve, yet writes one without complaint: there, and beside disjunctions, the
    objective goes to its epigraph (`models.program.bridges.EpigraphBridge`).

    Parameters
    ----------
    form : StandardForm
    environment : mosek.Env, optional
        One with a licence of the user's; MOSEK's own global one where it is not given.

    Raises
    ------
    ExportError
        Integer variables beside semidefinite cones, which MOSEK refuses; nonconvex quadratic terms; the switch of an
        indicator is no binary variable.
    MissingPackageError
        MOSEK is not installed.
    """
    features = form.features
    if {Feature.INTEGER, Feature.PSD} <= features:
        raise ExportError(
            "MOSEK takes no integer variables beside semidefinite cones; form.relax_integrality() removes them", name="MOSEK"
        )
    if features & {Feature.NONCONVEX, Feature.BILINEAR}:
        raise ExportError(
            "MOSEK takes convex objectives and constraints; Gurobi, SCIP and Pyomo take nonconvex quadratic ones", name="MOSEK"
        )
    try:
        import mosek
    except ImportError as error:
        raise MissingPackageError("MOSEK is not installed", "mosek", 'pip install "marginopt[commercial]"') from error
    if Feature.QUADRATIC in features and features & _BESIDE_NO_QUADRATIC:
        form = EpigraphBridge(form).target
    indicator_rows(form)  # raises for a switch that is no binary variable
    task = mosek.Task() if environment is None else environment.Task()
    task.puttaskname(form.name)
    _variables(mosek, task, form)
    _objective(mosek, task, form)
    _linear(mosek, task, form)
    for c in form.constraints:
        if c.rows and isinstance(c.cone, Indicator):
            _append_disjunctions(task, c)
        elif c.rows and not isinstance(c.cone, (Zero, Nonnegative)):
            _append_cones(task, c)
    return task


def psd_order(order: int) -> IntArray:
    """Our svec positions in MOSEK's order.

    MOSEK stacks the *lower* triangle by columns, that is the upper by rows: (0,0), (0,1), (0,2), .., (1,1), ..; ours
    stacks the upper by columns. Both scale entries off the diagonal by √2.
    """
    row, column = np.triu_indices(order)
    return np.asarray(column * (column + 1) // 2 + row, dtype=np.int64)


def change_mosek(task: Any, old: StandardForm, form: StandardForm, parts: frozenset[str]) -> None:
    """Turn the task of ``old`` into that of ``form``, from which it differs in ``parts`` (`solvers.interface.solver`)."""
    import mosek

    if "q" in parts:
        task.putclist(np.arange(form.n, dtype=np.int32), form.q)
    if "r" in parts:
        task.putcfix(float(form.r))
    if "P" in parts:
        _quadratic(task, form)
    if "bounds" in parts:
        _bounds(mosek, task, form)
    linear = [c.label for c in form.constraints if isinstance(c.cone, (Zero, Nonnegative))]
    if "F" in parts:
        rows, columns, values = changed_entries(old.rows_matrix(linear)[0], form.rows_matrix(linear)[0])
        task.putaijlist(rows, columns, values)
    first = afe = 0
    for c in form.constraints:
        if isinstance(c.cone, (Zero, Nonnegative)):
            if "g" in parts and c.rows:
                _sides(mosek, task, c, first)
            first += c.rows
            continue
        if parts & {"F of cones", "g of cones"} and c.rows:
            _put_cones(task, c, afe)
        afe += c.rows


def _variables(mosek: Any, task: Any, form: StandardForm) -> None:
    task.appendvars(form.n)
    _bounds(mosek, task, form)
    for j, name in enumerate(form.names()):
        task.putvarname(j, name)
    integers = np.flatnonzero(form.integer).astype(np.int32)
    task.putvartypelist(integers, [mosek.variabletype.type_int] * integers.size)


def _bounds(mosek: Any, task: Any, form: StandardForm) -> None:
    keys = mosek.boundkey
    low, high = np.isfinite(form.lower), np.isfinite(form.upper)
    table = {(False, False): keys.fr, (True, False): keys.lo, (False, True): keys.up, (True, True): keys.ra}
    kinds = [table[pair] for pair in zip(low.tolist(), high.tolist(), strict=True)]
    kinds = [keys.fx if low[j] and form.lower[j] == form.upper[j] else kind for j, kind in enumerate(kinds)]
    task.putvarboundslice(0, form.n, kinds, np.where(low, form.lower, 0.0), np.where(high, form.upper, 0.0))


def _objective(mosek: Any, task: Any, form: StandardForm) -> None:
    task.putobjsense(mosek.objsense.minimize)
    task.putclist(np.arange(form.n, dtype=np.int32), form.q)
    task.putcfix(float(form.r))
    if form.quadratic is not None:
        _quadratic(task, form)


def _quadratic(task: Any, form: StandardForm) -> None:
    assert form.quadratic is not None
    lower = sp.coo_array(sp.tril(form.quadratic.csc))
    task.putqobj(lower.row.astype(np.int32), lower.col.astype(np.int32), lower.data)


def _linear(mosek: Any, task: Any, form: StandardForm) -> None:
    first = 0
    for c in form.constraints:
        if not c.rows or not isinstance(c.cone, (Zero, Nonnegative)):
            continue
        task.appendcons(c.rows)
        F = sp.coo_array(c.F)
        task.putaijlist((F.row + first).astype(np.int32), F.col.astype(np.int32), F.data)
        _sides(mosek, task, c, first)
        for row, name in enumerate(c.names()):
            task.putconname(first + row, name)
        first += c.rows


def _sides(mosek: Any, task: Any, c: Constraint, first: int) -> None:
    """The right sides of the rows of one linear constraint."""
    key = mosek.boundkey.fx if isinstance(c.cone, Zero) else mosek.boundkey.lo
    task.putconboundslice(first, first + c.rows, [key] * c.rows, -c.g, -c.g)


def _append_cones(task: Any, c: Constraint) -> None:
    """One affine conic constraint for each cone of the stack, named by the label (and its number)."""
    first = task.getnumafe()
    task.appendafes(c.rows)
    _put_cones(task, c, first)
    domain = _domain(task, c.cone)
    for k in range(c.cone.count):
        task.appendaccseq(domain, first + k * c.cone.dim, np.zeros(c.cone.dim))
        task.putaccname(task.getnumacc() - 1, c.label if c.cone.count == 1 else f"{c.label}[{k}]")


def _append_disjunctions(task: Any, c: Constraint) -> None:
    """One disjunction for each indicator of the stack: its switch is at least 1, or its row is nonnegative."""
    first, number = task.getnumafe(), task.getnumdjc()
    task.appendafes(c.rows)
    _put_cones(task, c, first)
    task.appenddjcs(c.cone.count)
    domain = int(task.appendrplusdomain(1))
    for k in range(c.cone.count):
        task.putdjc(number + k, [domain, domain], [first + 2 * k, first + 2 * k + 1], [1.0, 0.0], [1, 1])
        task.putdjcname(number + k, c.label if c.cone.count == 1 else f"{c.label}[{k}]")


def _put_cones(task: Any, c: Constraint, first: int) -> None:
    """F x + g of a stack of cones, in MOSEK's order of the rows, as affine expressions from number ``first`` on."""
    order = np.tile(native_order(c.cone), c.cone.count) + np.repeat(np.arange(c.cone.count) * c.cone.dim, c.cone.dim)
    F, g = sp.csr_array(c.F[order]), c.g[order]
    F.eliminate_zeros()
    rows = np.arange(first, first + c.rows, dtype=np.int64)
    lengths, starts = np.diff(F.indptr).astype(np.int32), F.indptr[:-1].astype(np.int64)
    task.putafefrowlist(rows, lengths, starts, F.indices.astype(np.int32), F.data)
    task.putafegslice(first, first + c.rows, g)


def native_order(cone: Cone) -> IntArray:
    """Our positions of the rows of a cone in MOSEK's order: exponential cones are the other way round."""
    if isinstance(cone, Exponential):
        return np.array([2, 1, 0])
    return psd_order(cone.order) if isinstance(cone, PSD) else np.arange(cone.dim)


def _domain(task: Any, cone: Cone) -> int:
    if isinstance(cone, SecondOrder):
        return int(task.appendquadraticconedomain(cone.dim))
    if isinstance(cone, RotatedSecondOrder):
        return int(task.appendrquadraticconedomain(cone.dim))
    if isinstance(cone, PSD):
        return int(task.appendsvecpsdconedomain(cone.dim))
    if isinstance(cone, Exponential):
        return int(task.appendprimalexpconedomain())
    if isinstance(cone, Power):
        return int(task.appendprimalpowerconedomain(3, [cone.alpha, 1.0 - cone.alpha]))
    raise ExportError(f"MOSEK has no domain for {cone.symbol}", name="MOSEK")
