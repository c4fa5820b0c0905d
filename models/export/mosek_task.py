"""Export of a standard form as a MOSEK task, without a licence, and changes of such a task in place.

The form is min ½x'Px + q'x + r over constraints F x + g in cones, bounds and integers; semidefinite rows are svec, the upper
triangle by columns with entries off the diagonal times √2.

A semidefinite cone each of whose rows is a constant or a multiple of a free variable that no other row has becomes a matrix
variable of MOSEK: [[W, w], [w', 1]] ⪰ 0 with free W and w is X ⪰ 0 with the last diagonal entry fixed at 1, and W and w are other
entries of X. Any other semidefinite cone is an affine conic constraint.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any, TypeAlias

import numpy as np
import scipy.sparse as sp

from ...errors import ExportError, MissingPackageError
from ..arrays import FloatArray, IntArray
from ..program.bridges import EpigraphBridge
from ..program.cones import (
    PSD,
    Cone,
    Feature,
    Indicator,
    Nonnegative,
    RotatedSecondOrder,
    SecondOrder,
    Zero,
    svec,
    svec_indices,
)
from ..program.csr_rows import changed_entries
from ..program.exponential_cones import Exponential, Power
from ..program.form import Constraint, StandardForm
from .cone_rows import cone_names, indicator_rows

#: Indices as MOSEK takes them.
_Numbers: TypeAlias = np.ndarray[Any, np.dtype[np.int32]]
#: Features of a form with which MOSEK takes no quadratic objective.
_BESIDE_NO_QUADRATIC = {
    Feature.SECOND_ORDER, Feature.ROTATED, Feature.PSD, Feature.INDICATOR, Feature.EXPONENTIAL, Feature.POWER,
}  # fmt: skip


@dataclass(frozen=True)
class MatrixVariables:
    """The matrix variables X ⪰ 0 of a form's MOSEK task: columns of the form that are their entries, and cones that they replace.

    An entry X_ij of the lower triangle, i ≥ j, is counted twice in MOSEK's inner products unless i = j. A row v·x_k of a cone,
    with a coefficient v, is an entry of svec(X), so x_k = X_ij/v for i = j and x_k = √2 X_ij/v for i > j.

    Parameters
    ----------
    form : StandardForm
        The form that the task states.
    """

    form: StandardForm

    @cached_property
    def constraints(self) -> tuple[Constraint, ...]:
        """Return the semidefinite constraints that become matrix variables.

        Their rows are constants, or multiples of free variables each of which is in a single row of these constraints.
        """
        free = np.isinf(self.form.lower) & np.isinf(self.form.upper) & ~self.form.integer
        chosen = []
        for c in self.form.constraints:
            if not isinstance(c.cone, PSD) or not c.rows:
                continue
            F = _without_zeros(c.F)
            lengths, columns = np.diff(F.indptr), F.indices
            single = lengths.max(initial=0) == 1 and not c.g[lengths == 1].any() and np.unique(columns).size == columns.size
            if single and free[columns].all():
                free[columns] = False
                chosen.append(c)
        return tuple(chosen)

    @cached_property
    def labels(self) -> frozenset[str]:
        """Return the labels of `constraints`."""
        return frozenset(c.label for c in self.constraints)

    @cached_property
    def names(self) -> list[str]:
        """Return the names of the matrix variables: labels, with the number of the cone in a stack."""
        return [name for c in self.constraints for name in cone_names(c)]

    @cached_property
    def orders(self) -> list[int]:
        """Return the orders of the matrix variables."""
        return [c.cone.order for c in self.constraints for _ in range(c.cone.count)]  # type: ignore[attr-defined]

    @cached_property
    def entries(self) -> tuple[_Numbers, _Numbers, _Numbers, FloatArray]:
        """Return, for each column k of the form, its matrix variable (-1: none), i ≥ j and x_k/X_ij; integers have 32 bits."""
        n = self.form.n
        variable, i, j = np.full(n, -1, np.int32), np.zeros(n, np.int32), np.zeros(n, np.int32)
        scale = np.ones(n)
        first = 0
        for c in self.constraints:
            F = _without_zeros(c.F)
            rows, columns = np.repeat(np.arange(c.rows), np.diff(F.indptr)), F.indices
            row, column = _triangle(c, rows)
            variable[columns] = first + rows // c.cone.dim
            i[columns], j[columns] = column, row
            scale[columns] = np.where(row == column, 1.0, np.sqrt(2.0)) / F.data
            first += c.cone.count
        return variable, i, j, scale

    @cached_property
    def scalars(self) -> IntArray:
        """Return the columns that are scalar variables of the task, in its order."""
        return np.flatnonzero(self.entries[0] < 0)

    @cached_property
    def place(self) -> _Numbers:
        """Return the number of the scalar variable of each column; -1 for the others."""
        place = np.full(self.form.n, -1, np.int32)
        place[self.scalars] = np.arange(self.scalars.size)
        return place

    def constants(self) -> tuple[list[str], IntArray, IntArray, IntArray, FloatArray]:
        """Return the constant entries: names of their equations, matrix variable, i ≥ j and value of X_ij."""
        names: list[str] = []
        parts: list[tuple[IntArray, IntArray, IntArray, FloatArray]] = []
        first = 0
        for c in self.constraints:
            rows = np.flatnonzero(np.diff(_without_zeros(c.F).indptr) == 0)
            row, column = _triangle(c, rows)
            variable = first + rows // c.cone.dim
            parts.append((variable, column, row, c.g[rows] / np.where(row == column, 1.0, np.sqrt(2.0))))
            number = ["" if c.cone.count == 1 else f"{v - first}," for v in variable]
            names += [f"{c.label}_constant[{k}{i},{j}]" for k, i, j in zip(number, row, column, strict=True)]
            first += c.cone.count
        if not parts:
            empty = np.zeros(0, dtype=int)
            return names, empty, empty, empty, np.zeros(0)
        variable, column, row, values = (np.concatenate(part) for part in zip(*parts, strict=True))
        return names, variable, column, row, values

    def split(self, F: Any) -> tuple[sp.coo_array, tuple[_Numbers, _Numbers, _Numbers, _Numbers, FloatArray]]:
        """Split a matrix over the form's columns into scalar columns and entries (row, matrix variable, i, j, coefficient)."""
        F = sp.coo_array(F)
        variable, i, j, scale = (part[F.col] for part in self.entries)
        scalar, entry = variable < 0, variable >= 0
        shape = (F.shape[0], self.scalars.size)
        plain = sp.coo_array((F.data[scalar], (F.row[scalar], self.place[F.col[scalar]])), shape=shape)
        halved = np.where(i == j, 1.0, 0.5) * scale * F.data
        return plain, (F.row[entry].astype(np.int32), variable[entry], i[entry], j[entry], halved[entry])

    def join(self, scalars: FloatArray, matrices: list[FloatArray]) -> FloatArray:
        """Return x from the scalar variables and the matrix variables' lower triangles, stacked by columns."""
        x = np.zeros(self.form.n)
        x[self.scalars] = scalars
        variable, i, j, scale = self.entries
        for k, (order, triangle) in enumerate(zip(self.orders, matrices, strict=True)):
            columns = np.flatnonzero(variable == k)
            X = _symmetric(order, triangle)
            x[columns] = scale[columns] * X[i[columns], j[columns]]
        return x

    def multipliers(self, matrices: list[FloatArray]) -> dict[str, FloatArray]:
        """Return the multipliers z of `constraints`, by label, from the lower triangles of the dual matrices S: svec(S)."""
        pieces = [svec(_symmetric(order, triangle)) for order, triangle in zip(self.orders, matrices, strict=True)]
        z, first = {}, 0
        for c in self.constraints:
            z[c.label] = np.concatenate(pieces[first : first + c.cone.count])
            first += c.cone.count
        return z


def _without_zeros(F: Any) -> sp.csr_array:
    F = sp.csr_array(F, copy=True)
    F.eliminate_zeros()
    return F


def _triangle(c: Constraint, rows: IntArray) -> tuple[IntArray, IntArray]:
    """Return row ≤ column, in their matrices, of some rows of a stack of semidefinite cones."""
    row, column = svec_indices(c.cone.order)  # type: ignore[attr-defined]
    return row[rows % c.cone.dim], column[rows % c.cone.dim]


def _symmetric(order: int, triangle: FloatArray) -> FloatArray:
    """Return the symmetric matrix of a lower triangle that is stacked by columns, as MOSEK has it."""
    matrix = np.zeros((order, order))
    column, row = np.triu_indices(order)
    matrix[row, column] = matrix[column, row] = triangle
    return matrix


def to_mosek(form: StandardForm, environment: Any = None) -> Any:
    """Return the form as a ``mosek.Task`` (always a minimisation, as the form is).

    Equalities and inequalities are linear constraints F x = -g, F x ≥ -g; each cone is one affine conic constraint
    F x + g in its domain, or a matrix variable (`MatrixVariables`); each indicator (a, v) is one disjunction, a ≥ 1 or v ≥ 0.
    MOSEK solves no quadratic objective beside cones or disjunctions: there the objective is replaced by its epigraph
    (`models.program.bridges.EpigraphBridge`).

    Parameters
    ----------
    form : StandardForm
        A convex form, integer variables and indicators aside.
    environment : mosek.Env, optional
        Where the task is made, for a licence of the user's; MOSEK's global environment if it is not given.

    Raises
    ------
    ExportError
        Integer variables beside semidefinite cones, a nonconvex objective, bilinear rows, or a switch that is no binary variable.
    MissingPackageError
        MOSEK is not installed.
    """
    features = form.features
    if {Feature.INTEGER, Feature.PSD} <= features:
        raise ExportError("MOSEK takes no integer variables beside semidefinite cones; form.relaxed() has none", name="MOSEK")
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
    matrices = MatrixVariables(form)
    _variables(mosek, task, matrices)
    task.putobjsense(mosek.objsense.minimize)
    _objective(task, matrices)
    _linear(mosek, task, matrices)
    for c in form.constraints:
        if c.rows and isinstance(c.cone, Indicator):
            _append_disjunctions(task, c, matrices)
        elif c.rows and not isinstance(c.cone, (Zero, Nonnegative)) and c.label not in matrices.labels:
            _append_cones(task, c, matrices)
    return task


def mosek_svec_order(order: int) -> IntArray:
    """Return, for each entry of a symmetric matrix in MOSEK's order, its position in the form's svec (`models.program.cones`).

    MOSEK stacks the *lower* triangle by columns, that is the upper by rows: (0,0), (0,1), (0,2), .., (1,1), ..; svec stacks the
    upper by columns. Both scale entries off the diagonal by √2.
    """
    row, column = np.triu_indices(order)
    return np.asarray(column * (column + 1) // 2 + row, dtype=np.int64)


def updatable_parts(form: StandardForm, parts: frozenset[str]) -> frozenset[str]:
    """Return those of ``parts`` that `change_mosek` can change.

    Beside semidefinite cones, bounds and rows of cones decide which columns are matrix variables and cannot change.
    """
    return parts - {"bounds", "F of cones", "g of cones"} if Feature.PSD in form.features else parts


def change_mosek(task: Any, old: StandardForm, form: StandardForm, parts: frozenset[str]) -> None:
    """Turn the task of ``old`` into that of ``form`` in place.

    ``parts`` names the differences, of those that `updatable_parts` returns: P, q, r, bounds, F and g of the linear constraints,
    "F of cones" and "g of cones".
    """
    import mosek

    matrices = MatrixVariables(form)
    if parts & {"q", "r", "P"}:
        _objective(task, matrices)
    if "bounds" in parts:
        _bounds(mosek, task, matrices)
    linear = [c.label for c in form.constraints if isinstance(c.cone, (Zero, Nonnegative))]
    if "F" in parts:
        old_rows, new_rows = (f.rows_matrix(linear)[0] for f in (old, form))
        changed = [
            (row, matrices.place[column], value) for row, column, value in zip(*changed_entries(old_rows, new_rows), strict=True)
        ]
        scalar = [entry for entry in changed if entry[1] >= 0]
        task.putaijlist(*(list(part) for part in zip(*scalar, strict=True)) if scalar else ([], [], []))
        if len(scalar) < len(changed):
            _matrix_rows(task, matrices, new_rows)
    first = afe = 0
    for c in form.constraints:
        if isinstance(c.cone, (Zero, Nonnegative)):
            if "g" in parts and c.rows:
                _sides(mosek, task, c, first)
            first += c.rows
        elif c.label not in matrices.labels:
            if parts & {"F of cones", "g of cones"} and c.rows:
                _put_cones(task, c, afe, matrices)
            afe += c.rows


def _variables(mosek: Any, task: Any, matrices: MatrixVariables) -> None:
    form, scalars = matrices.form, matrices.scalars
    task.appendvars(scalars.size)
    _bounds(mosek, task, matrices)
    names = form.names()
    for k, column in enumerate(scalars.tolist()):
        task.putvarname(k, names[column])
    integers = matrices.place[np.flatnonzero(form.integer)].astype(np.int32)
    task.putvartypelist(integers, [mosek.variabletype.type_int] * integers.size)
    task.appendbarvars(matrices.orders)
    for k, name in enumerate(matrices.names):
        task.putbarvarname(k, name)


def _bounds(mosek: Any, task: Any, matrices: MatrixVariables) -> None:
    keys = mosek.boundkey
    lower, upper = (side[matrices.scalars] for side in (matrices.form.lower, matrices.form.upper))
    low, high = np.isfinite(lower), np.isfinite(upper)
    table = {(False, False): keys.fr, (True, False): keys.lo, (False, True): keys.up, (True, True): keys.ra}
    kinds = [table[pair] for pair in zip(low.tolist(), high.tolist(), strict=True)]
    kinds = [keys.fx if low[j] and lower[j] == upper[j] else kind for j, kind in enumerate(kinds)]
    task.putvarboundslice(0, lower.size, kinds, np.where(low, lower, 0.0), np.where(high, upper, 0.0))


def _objective(task: Any, matrices: MatrixVariables) -> None:
    form = matrices.form
    task.putclist(np.arange(matrices.scalars.size, dtype=np.int32), form.q[matrices.scalars])
    for k in range(len(matrices.orders)):
        task.putbarcj(k, [], [])  # putbarcblocktriplet keeps the old entries of matrix variables for which it has none
    _, (_, *triplets) = matrices.split(form.q[None, :])
    task.putbarcblocktriplet(*triplets)
    task.putcfix(float(form.r))
    if form.quadratic is not None:
        lower = sp.coo_array(sp.tril(form.quadratic.csc))
        task.putqobj(lower.row.astype(np.int32), lower.col.astype(np.int32), lower.data)


def _linear(mosek: Any, task: Any, matrices: MatrixVariables) -> None:
    """Add the linear rows of the form, then one equation for each constant entry of a matrix variable."""
    first, rows = 0, [c for c in matrices.form.constraints if c.rows and isinstance(c.cone, (Zero, Nonnegative))]
    for c in rows:
        task.appendcons(c.rows)
        F, _ = matrices.split(c.F)
        task.putaijlist((F.row + first).astype(np.int32), F.col.astype(np.int32), F.data)
        _sides(mosek, task, c, first)
        for row, name in enumerate(c.names()):
            task.putconname(first + row, name)
        first += c.rows
    if not matrices.orders:
        return
    names, *_, values = matrices.constants()
    task.appendcons(len(names))
    task.putconboundslice(first, first + len(names), [mosek.boundkey.fx] * len(names), values, values)
    for k, name in enumerate(names):
        task.putconname(first + k, name)
    _matrix_rows(task, matrices, sp.vstack([c.F for c in rows], format="csr") if rows else sp.csr_array((0, matrices.form.n)))


def _matrix_rows(task: Any, matrices: MatrixVariables, F: Any) -> None:
    """Set the coefficients of the matrix variables in all linear rows, and in the equations of constant entries after these."""
    _, (row, variable, i, j, coefficients) = matrices.split(F)
    _, constant_variable, k, m, _ = matrices.constants()
    task.putbarablocktriplet(
        np.concatenate([row, F.shape[0] + np.arange(constant_variable.size)]).astype(np.int32),
        np.concatenate([variable, constant_variable]).astype(np.int32),
        np.concatenate([i, k]).astype(np.int32),
        np.concatenate([j, m]).astype(np.int32),
        np.concatenate([coefficients, np.where(k == m, 1.0, 0.5)]),
    )


def _sides(mosek: Any, task: Any, c: Constraint, first: int) -> None:
    """Set the right sides of the rows of one linear constraint."""
    key = mosek.boundkey.fx if isinstance(c.cone, Zero) else mosek.boundkey.lo
    task.putconboundslice(first, first + c.rows, [key] * c.rows, -c.g, -c.g)


def _append_cones(task: Any, c: Constraint, matrices: MatrixVariables) -> None:
    """Add one affine conic constraint for each cone of the stack, named by `cone_names`."""
    first = task.getnumafe()
    task.appendafes(c.rows)
    _put_cones(task, c, first, matrices)
    domain = _domain(task, c.cone)
    for k, name in enumerate(cone_names(c)):
        task.appendaccseq(domain, first + k * c.cone.dim, np.zeros(c.cone.dim))
        task.putaccname(task.getnumacc() - 1, name)


def _append_disjunctions(task: Any, c: Constraint, matrices: MatrixVariables) -> None:
    """Add one disjunction for each indicator of the stack: its switch is at least 1, or its row is nonnegative."""
    first, number = task.getnumafe(), task.getnumdjc()
    task.appendafes(c.rows)
    _put_cones(task, c, first, matrices)
    task.appenddjcs(c.cone.count)
    domain = int(task.appendrplusdomain(1))
    for k, name in enumerate(cone_names(c)):
        task.putdjc(number + k, [domain, domain], [first + 2 * k, first + 2 * k + 1], [1.0, 0.0], [1, 1])
        task.putdjcname(number + k, name)


def _put_cones(task: Any, c: Constraint, first: int, matrices: MatrixVariables) -> None:
    """Set F x + g of a stack of cones, in MOSEK's order of the rows, as affine expressions from number ``first`` on."""
    order = np.tile(mosek_row_order(c.cone), c.cone.count) + np.repeat(np.arange(c.cone.count) * c.cone.dim, c.cone.dim)
    F, entries = matrices.split(_without_zeros(c.F[order]))
    F = sp.csr_array(F)
    rows = np.arange(first, first + c.rows, dtype=np.int64)
    lengths, starts = np.diff(F.indptr).astype(np.int32), F.indptr[:-1].astype(np.int64)
    task.putafefrowlist(rows, lengths, starts, F.indices.astype(np.int32), F.data)
    task.putafegslice(first, first + c.rows, c.g[order])
    if matrices.orders:
        row, variable, i, j, coefficients = entries
        task.putafebarfblocktriplet((row + first).astype(np.int64), variable, i, j, coefficients)


def mosek_row_order(cone: Cone) -> IntArray:
    """Return, for each row of a cone in MOSEK's order, its row in the form: exponential cones are reversed, svec is re-sorted."""
    if isinstance(cone, Exponential):
        return np.array([2, 1, 0])
    return mosek_svec_order(cone.order) if isinstance(cone, PSD) else np.arange(cone.dim)


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
