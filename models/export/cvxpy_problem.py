"""Export of a standard form as a CVXPY problem, and multipliers in the form's signs from a solved one.

The form is min ½x'Px + q'x + r over constraints F x + g in cones, and bounds. A multiplier z of a constraint is in the dual cone;
the reduced cost ζ_j of the bounds of x_j is the multiplier of the lower bound less that of the upper one.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import scipy.sparse as sp

from ...errors import ExportError, InputError, MissingPackageError
from ..arrays import FloatArray, IntArray
from ..program.bridges import IndicatorsToRows, RotatedBridge, psd_factor
from ..program.cones import PSD, Feature, Indicator, Nonnegative, RotatedSecondOrder, SecondOrder, Zero, svec, svec_indices
from ..program.exponential_cones import Exponential, Power
from ..program.form import Block, Constraint, StandardForm
from ..program.quadratic import Quadratic
from .cone_rows import cone_names
from .parameter_slopes import Slope

#: Cones that the export takes.
_TAKEN = (Zero, Nonnegative, SecondOrder, RotatedSecondOrder, PSD, Exponential, Power, Indicator)
#: Share of the largest entry of P below which a difference of its entries is rounding.
_LOST = 1e-12
#: Labels of the bounds, which are constraints in CVXPY: only those have dual values.
LOWER, UPPER = "lower bounds", "upper bounds"


def to_cvxpy(form: StandardForm, slopes: Sequence[Slope] = ()) -> Any:
    """Return the form as a ``cvxpy.Problem`` (always a minimisation, as the form is).

    One ``cvxpy.Variable`` for each block, named by its label, of its shape and symmetric where it is; every constraint labelled.
    Rotated cones are written as second-order cones by the orthogonal map of `models.program.bridges.RotatedBridge`; of a stack of
    semidefinite cones the k-th is labelled ``label[k]``; bounds are the constraints ``lower bounds <block>``
    and ``upper bounds <block>``. CVXPY minimises ½x'Px as a quadratic form, or as ½||Rx||² where P = R'R is stored factored.
    Indicators are rows with a big M from the bounds (`models.program.bridges.IndicatorsToRows`).

    Parameters
    ----------
    form : StandardForm
        A form with a convex objective and without bilinear rows.
    slopes : sequence of Slope
        Parameters of the model: each becomes a nonnegative ``cvxpy.Parameter`` of its name, at its value. The problem obeys
        CVXPY's rules of disciplined parametrized programming, so CVXPY compiles it once for all values.

    Raises
    ------
    ExportError
        A nonconvex objective, bilinear rows, an indicator whose row has no finite lower bound, or a parameter that multiplies a
        part of the quadratic objective that is not convex.
    MissingPackageError
        CVXPY is not installed.
    """
    unsupported = [f"{c.label} ({c.cone})" for c in form.constraints if not isinstance(c.cone, _TAKEN)]
    if Feature.NONCONVEX in form.features:
        raise ExportError(f"CVXPY takes convex objectives; {form.convexity.argument}: Gurobi, SCIP and Pyomo take others")
    if unsupported:
        raise ExportError(f"CVXPY takes convex cones and integer variables, not {', '.join(unsupported)}", name="CVXPY")
    try:
        import cvxpy
    except ImportError as error:
        raise MissingPackageError("CVXPY is not installed", "cvxpy", "pip install cvxpy") from error
    if Feature.INDICATOR in form.features:
        form = IndicatorsToRows(form).target
    target = RotatedBridge(form).target
    handles = [cvxpy.Parameter(name=slope.name, nonneg=True, value=slope.start) for slope in slopes]
    moving = [(_multiplier(slope, handle), slope) for slope, handle in zip(slopes, handles, strict=True)]
    variables = [_variable(cvxpy, form, block) for block in form.blocks]
    pieces = {block.label: _vector(cvxpy, block, v) for block, v in zip(form.blocks, variables, strict=True)}
    constraints = [
        constraint for c in target.constraints if c.rows for constraint in _constraints(cvxpy, c, _moved(form, c, pieces, moving))
    ]
    constraints += _bounds(form, pieces, moving)
    objective = _objective(cvxpy, _at_zero(form, slopes), pieces)
    for parameter, slope in moving:
        part = _objective(cvxpy, _derivative(form, slope), pieces)
        objective = objective + parameter * part
    objective = objective + sum(0.0 * handle for handle in handles)  # so that the problem knows them
    return cvxpy.Problem(cvxpy.Minimize(objective), constraints)


def _multiplier(slope: Slope, handle: Any) -> Any:
    """Return the parameter itself, or an expression for the multiplier m that follows from its value (`Slope`)."""
    if slope.affine:
        return handle
    from cvxpy.expressions.constants.callback_param import CallbackParam

    return CallbackParam(callback=lambda: slope.multiplier(float(handle.value)), nonneg=slope.P is not None)


def _derivative(form: StandardForm, slope: Slope) -> StandardForm:
    """Return the objective's derivative by the multiplier m of one parameter, as the objective of a form."""
    quadratic = None if slope.P is None else Quadratic(matrix=slope.P)
    return form.replace(q=slope.q, r=slope.r, quadratic=_convex(quadratic, slope.name), constraints=())


def _at_zero(form: StandardForm, slopes: Sequence[Slope]) -> StandardForm:
    """Return a form with the objective where all multipliers m are zero; the form itself without parameters."""
    if not slopes:
        return form
    q, r, P = form.q.copy(), form.r, None if form.quadratic is None else sp.csc_array(form.quadratic.csc)
    for slope in slopes:
        q, r = q - slope.value * slope.q, r - slope.value * slope.r
        P = P if P is None or slope.P is None else sp.csc_array(P - slope.value * slope.P)
    if P is not None and form.quadratic is not None:
        P.data[np.abs(P.data) <= _LOST * np.abs(form.quadratic.csc.data).max(initial=0.0)] = 0.0
        P.eliminate_zeros()
    quadratic = None if P is None or not P.nnz else Quadratic(matrix=P)
    return form.replace(q=q, r=r, quadratic=_convex(quadratic, "zero"), constraints=())


def _convex(quadratic: Quadratic | None, noun: str) -> Quadratic | None:
    """Return the quadratic part as a sum of squares; refuse one that is not convex, since nonnegative parameters multiply it."""
    if quadratic is None:
        return None
    try:
        return Quadratic(factor=psd_factor(quadratic))
    except InputError as error:
        raise ExportError(f"{noun} cannot be a parameter: the part of the quadratic objective at it is not convex") from error


def _moved(form: StandardForm, c: Constraint, pieces: dict[str, Any], moving: Sequence[tuple[Any, Slope]]) -> Any:
    """Return F x + g with its changes by parameters."""
    value = _affine(form, c, pieces)
    for parameter, slope in moving:
        if c.label in slope.rows:
            value = value + (parameter - slope.value) * _affine(form, slope.rows[c.label], pieces)
    return value


def labelled_variables(problem: Any) -> dict[str, Any]:
    """Return the problem's variables by name."""
    return {variable.name(): variable for variable in problem.variables()}


def labelled_values(problem: Any) -> dict[str, Any]:
    """Return the values of the problem's variables by name, sparse ones as whole matrices; None without a value."""
    variables = labelled_variables(problem)
    values = {name: v.value if v.sparse_idx is None else v.value_sparse for name, v in variables.items()}
    return {name: value.toarray() if sp.issparse(value) else value for name, value in values.items()}


def labelled_constraints(problem: Any) -> dict[str, Any]:
    """Return the problem's constraints by label."""
    return {constraint.label: constraint for constraint in problem.constraints}


def multipliers(form: StandardForm, problem: Any) -> tuple[dict[str, FloatArray], FloatArray] | None:
    """Return the multipliers z by label and the reduced costs ζ, in the form's signs; None without dual values.

    ``problem`` is a solved `to_cvxpy` problem. CVXPY's dual values of inequalities and cones are z; of equalities -z.
    """
    duals = {label: constraint.dual_value for label, constraint in labelled_constraints(problem).items()}
    if any(value is None for value in duals.values()):
        return None
    z = {}
    for c, rotated in zip(form.constraints, RotatedBridge(form).target.constraints, strict=True):
        part = _dual(rotated, duals)
        z[c.label] = part if rotated.cone is c.cone else c.cone.rotate(part)  # type: ignore[attr-defined]
    zeta = np.zeros(form.n)
    for block in form.blocks:
        s = form.slices[block.label]
        for name, bound, sign in ((LOWER, form.lower[s], 1.0), (UPPER, form.upper[s], -1.0)):
            finite = np.flatnonzero(np.isfinite(bound))
            if finite.size:
                zeta[s.start + finite] += sign * np.ravel(duals[f"{name} {block.label}"])
    return z, zeta


def _variable(cvxpy: Any, form: StandardForm, block: Block) -> Any:
    kinds: dict[str, Any] = {}
    s = form.slices[block.label]
    integer = form.integer[s]
    if block.symmetric:
        kinds["symmetric"] = True
    elif block.entries is not None:
        kinds["sparsity"] = block.indices
    if integer.all() and (block.entries is not None or not block.symmetric):
        binary = (form.lower[s] >= 0).all() and (form.upper[s] <= 1).all()
        kinds["boolean" if binary else "integer"] = True
    elif integer.any():
        kinds["integer"] = list(zip(*np.nonzero(integer.reshape(block.shape)), strict=True))
    return cvxpy.Variable(block.shape, name=block.label, **kinds)


def _vector(cvxpy: Any, block: Block, variable: Any) -> Any:
    """Return the block's piece of x as an expression: rows one after the other, or the svec or entries of a matrix."""
    size = math.prod(block.shape)
    if not block.symmetric and block.entries is None:
        return cvxpy.reshape(variable, (size,), order="C")
    places = np.arange(block.size), np.ravel_multi_index(block.indices, block.shape)
    return sp.csr_array((block.entry_scale, places), shape=(block.size, size)) @ cvxpy.reshape(variable, (size,), order="C")


def _affine(form: StandardForm, c: Constraint, pieces: dict[str, Any]) -> Any:
    """Return F x + g; blocks without a coefficient are left out."""
    columns = sp.csc_array(c.F)
    terms = [columns[:, form.slices[label]] @ piece for label, piece in pieces.items() if columns[:, form.slices[label]].nnz]
    return sum(terms[1:], terms[0]) + c.g if terms else c.g


def _constraints(cvxpy: Any, c: Constraint, value: Any) -> list[Any]:
    """Return the constraints of a stack of cones: one, but for a semidefinite stack one for each cone."""
    value = value if isinstance(value, cvxpy.Expression) else cvxpy.Constant(value)
    if isinstance(c.cone, Zero):
        return [cvxpy.Zero(value).set_label(c.label)]
    if isinstance(c.cone, Nonnegative):
        return [cvxpy.NonNeg(value).set_label(c.label)]
    if isinstance(c.cone, SecondOrder):
        rows = cvxpy.reshape(value, (c.cone.count, c.cone.dim), order="C")
        return [cvxpy.SOC(rows[:, 0], rows[:, 1:], axis=1).set_label(c.label)]
    if isinstance(c.cone, (Exponential, Power)):
        rows = cvxpy.reshape(value, (c.cone.count, 3), order="C")
        parts = rows[:, 0], rows[:, 1], rows[:, 2]
        if isinstance(c.cone, Exponential):
            return [cvxpy.constraints.ExpCone(*parts).set_label(c.label)]
        return [cvxpy.constraints.PowCone3D(*parts, np.full(c.cone.count, c.cone.alpha)).set_label(c.label)]
    assert isinstance(c.cone, PSD)
    spread = _spread(c.cone.order)
    constraints = []
    for k, label in enumerate(cone_names(c)):
        part = value[k * c.cone.dim : (k + 1) * c.cone.dim]
        matrix = cvxpy.reshape(spread @ part, (c.cone.order, c.cone.order), order="C")
        constraints.append(cvxpy.PSD(matrix).set_label(label))
    return constraints


def _spread(order: int) -> sp.csr_array:
    """Return the matrix that maps an svec to its symmetric matrix, flattened: order² rows."""
    row, column = svec_indices(order)
    entries = np.arange(row.size)
    scale = np.where(row == column, 0.5, np.sqrt(0.5))  # a diagonal entry is in both lists of positions
    positions = np.concatenate([row * order + column, column * order + row])
    return sp.csr_array((np.tile(scale, 2), (positions, np.tile(entries, 2))), shape=(order**2, row.size))


def _dual(c: Constraint, duals: dict[str, Any]) -> FloatArray:
    """Return z of one constraint in the row order of the form."""
    if c.rows == 0:
        return np.zeros(0)
    if isinstance(c.cone, Zero):
        return -np.ravel(duals[c.label])
    if isinstance(c.cone, Nonnegative):
        return np.asarray(np.ravel(duals[c.label]), dtype=np.float64)
    if isinstance(c.cone, SecondOrder):
        heads, tails = duals[c.label]
        heads = np.reshape(heads, (c.cone.count, 1))
        return np.hstack([heads, np.reshape(tails, (c.cone.count, c.cone.dim - 1))]).ravel()
    if isinstance(c.cone, (Exponential, Power)):
        return np.column_stack([np.ravel(part) for part in duals[c.label]]).ravel()
    matrices = np.array([duals[label] for label in cone_names(c)])
    return svec(0.5 * (matrices + np.swapaxes(matrices, 1, 2))).ravel()


def _bounds(form: StandardForm, pieces: dict[str, Any], moving: Sequence[tuple[Any, Slope]] = ()) -> list[Any]:
    constraints = []
    for label, piece in pieces.items():
        s = form.slices[label]
        lower, upper = form.lower[s], form.upper[s]
        low, high = np.flatnonzero(np.isfinite(lower)), np.flatnonzero(np.isfinite(upper))
        if low.size:
            moves = [(parameter - slope.value) * slope.lower[s][low] for parameter, slope in moving if slope.lower[s].any()]
            constraints.append((piece[low] >= sum(moves, lower[low])).set_label(f"{LOWER} {label}"))
        if high.size:
            moves = [(parameter - slope.value) * slope.upper[s][high] for parameter, slope in moving if slope.upper[s].any()]
            constraints.append((piece[high] <= sum(moves, upper[high])).set_label(f"{UPPER} {label}"))
    return constraints


def _objective(cvxpy: Any, form: StandardForm, pieces: dict[str, Any]) -> Any:
    """Return ½x'Px + q'x + r as an expression in the blocks that occur in it."""
    objective = cvxpy.Constant(form.r)
    for label, piece in pieces.items():
        q = form.q[form.slices[label]]
        if q.any():
            objective = objective + q @ piece
    if form.quadratic is None:
        return objective
    used, stacked = _touched(form)
    if not used.size:
        return objective
    x = cvxpy.hstack([pieces[label] for label in stacked])[_positions(form, stacked, used)]
    factor = form.quadratic.factor
    if factor is not None:
        R = sp.csc_array(factor)[:, used]
        return objective + 0.5 * cvxpy.sum_squares(R @ x)
    P = form.quadratic.materialised
    block = P[np.ix_(used, used)] if isinstance(P, np.ndarray) else sp.csc_array(P)[:, used][used, :]
    return objective + 0.5 * cvxpy.quad_form(x, cvxpy.psd_wrap(block))


def _touched(form: StandardForm) -> tuple[IntArray, list[str]]:
    """Return the variables of the quadratic objective, and the labels of the blocks that they are in."""
    assert form.quadratic is not None
    factor = form.quadratic.factor
    matrix = sp.csc_array(form.quadratic.csc if factor is None else factor)
    matrix.eliminate_zeros()
    used = np.flatnonzero(np.diff(matrix.indptr))
    labels = [label for label, s in form.slices.items() if ((used >= s.start) & (used < s.stop)).any()]
    return used, labels


def _positions(form: StandardForm, labels: list[str], used: IntArray) -> IntArray:
    """Return the positions of the variables ``used`` in the stack of these blocks."""
    stack = np.concatenate([np.arange(form.n)[form.slices[label]] for label in labels])
    return np.searchsorted(stack, used)
