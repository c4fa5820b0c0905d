"""A standard form as a MOSEK task: labels become names, nothing is solved and no licence is needed.

A MOSEK task, or a file that MOSEK reads, as a standard form. Shares nothing with the writer, and needs no licence.

What MOSEK holds is read through its own interface and regrouped by names: ``margin[0]``, ``margin[1]``, .. become one
labelled block or constraint. Semidefinite cones are re-sorted entry by entry from MOSEK's documented order.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

from ....errors import ExportError, MissingPackageError
from ...arrays import FloatArray, IntArray
from ...program.bridges import EpigraphBridge
from ...program.cones import PSD, Cone, Feature, Indicator, Nonnegative, RotatedSecondOrder, SecondOrder, Zero
from ...program.exponential_cones import Exponential, Power
from ...program.form import Block, Constraint, Quadratic, StandardForm, changed_entries
from ..programs import indicator_rows

__all__ = ["change_mosek", "form_of_task", "native_order", "psd_order", "read_task", "to_mosek"]

#: Features beside which MOSEK takes no quadratic objective.
_BESIDE_NO_QUADRATIC = {
    Feature.SECOND_ORDER, Feature.ROTATED, Feature.PSD, Feature.INDICATOR, Feature.EXPONENTIAL, Feature.POWER,
}  # fmt: skip


def to_mosek(form: StandardForm) -> Any:
    """The form as a ``mosek.Task`` (always a minimisation, as the form is).

    Equalities and inequalities are linear constraints F x = -g, F x ≥ -g; each cone is one affine conic constraint
    F x + g in its domain; each indicator constraint is one disjunction, a ≥ 1 or F x + g ≥ 0. MOSEK refuses a quadratic
    objective beside cones when it is asked to solve, yet writes one without complaint: there, and beside disjunctions, the
    objective goes to its epigraph (`models.program.bridges.EpigraphBridge`).

    Raises
    ------
    ExportError
        Integer variables beside semidefinite cones, which MOSEK refuses; the switch of an indicator is no binary variable.
    MissingPackageError
        MOSEK is not installed.
    """
    features = form.features
    if {Feature.INTEGER, Feature.PSD} <= features:
        raise ExportError("MOSEK takes no integer variables beside semidefinite cones; form.relax_integrality() removes them")
    try:
        import mosek
    except ImportError as error:
        raise MissingPackageError("MOSEK is not installed", "mosek", 'pip install "marginopt[commercial]"') from error
    if Feature.QUADRATIC in features and features & _BESIDE_NO_QUADRATIC:
        form = EpigraphBridge(form).target
    indicator_rows(form)  # raises for a switch that is no binary variable
    task = mosek.Task()
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
    raise ExportError(f"MOSEK has no domain for {cone.symbol}")


_NAME = re.compile(r"^(?P<label>.*?)(?:\[(?P<index>\d+(?:,\d+)*)\])?$", re.DOTALL)


def read_task(path: str | Path) -> StandardForm:
    """The form in a file that MOSEK reads (``.task``, ``.ptf``, ``.jtask``, ``.mps``, ``.lp``, ``.cbf``).

    Raises
    ------
    ExportError
        MOSEK cannot read the file, or the task has what a standard form has not.
    MissingPackageError
        MOSEK is not installed.
    """
    try:
        import mosek
    except ImportError as error:
        raise MissingPackageError("MOSEK is not installed", "mosek", 'pip install "marginopt[commercial]"') from error
    with mosek.Task() as task:
        try:
            task.readdata(str(path))
        except mosek.Error as error:
            raise ExportError(f"MOSEK cannot read {path}: {error.msg or error.errno}") from error
        return form_of_task(task)


def form_of_task(task: Any) -> StandardForm:
    """The form that a task holds.

    Raises
    ------
    ExportError
        Matrix variables, old-style cones, quadratic constraints, other disjunctions than indicators,
        or domains that a form has not.
    """
    import mosek

    n = task.getnumvar()
    counts = {"matrix variables": task.getnumbarvar(), "old-style cones": task.getnumcone()}
    for what, number in counts.items():
        if number:
            raise ExportError(f"the task has {number} {what}, which a standard form has not")
    sign = -1.0 if task.getobjsense() == mosek.objsense.maximize else 1.0
    q = np.zeros(n)
    task.getc(q)
    _, row, column, value = task.getqobj()
    quadratic = None
    if len(value):
        lower = sp.coo_array((sign * np.asarray(value), (row, column)), shape=(n, n))
        quadratic = Quadratic(matrix=sp.csc_array(lower + lower.T - sp.diags_array(lower.diagonal())))
    bounds = [_interval(mosek, *task.getvarbound(j)) for j in range(n)]
    return StandardForm(
        name=task.gettaskname(),
        blocks=tuple(_blocks([task.getvarname(j) for j in range(n)])),
        q=sign * q,
        constraints=(*_read_linear(mosek, task, n), *_conic(mosek, task, n), *_disjunctions(mosek, task, n)),
        lower=np.array([low for low, _ in bounds]),
        upper=np.array([high for _, high in bounds]),
        integer=np.array([task.getvartype(j) == mosek.variabletype.type_int for j in range(n)], dtype=bool),
        quadratic=quadratic,
        r=sign * task.getcfix(),
        maximise=sign < 0,
    )


def _interval(mosek: Any, key: Any, low: float, high: float) -> tuple[float, float]:
    keys = mosek.boundkey
    return (low if key in (keys.lo, keys.ra, keys.fx) else -np.inf, high if key in (keys.up, keys.ra, keys.fx) else np.inf)


def _split(name: str, kind: str, number: int) -> tuple[str, tuple[int, ...]]:
    """Label and indices of a name; nameless things are called by their kind and number."""
    match = _NAME.match(name or f"{kind} {number}")
    assert match is not None
    index = match["index"]
    return match["label"], () if index is None else tuple(int(i) for i in index.split(","))


def _runs(keys: list[Any]) -> Iterator[tuple[int, int]]:
    """Ranges of equal neighbours."""
    first = 0
    for k in range(1, len(keys) + 1):
        if k == len(keys) or keys[k] != keys[first]:
            yield first, k
            first = k


def _blocks(names: list[str]) -> Iterator[Block]:
    parts = [_split(name, "variable", j) for j, name in enumerate(names)]
    for first, stop in _runs([label for label, _ in parts]):
        label, indices = parts[first][0], [index for _, index in parts[first:stop]]
        if indices == [()]:
            yield Block(label, ())
            continue
        top = tuple(1 + max(index[axis] for index in indices) for axis in range(len(indices[0])))
        symmetric = len(top) == 2 and top[0] == top[1] > 1 and len(indices) == top[0] * (top[0] + 1) // 2
        yield Block(label, top, symmetric=symmetric)


def _read_linear(mosek: Any, task: Any, n: int) -> Iterator[Constraint]:
    """Rows by label and kind: F x ≥ -g, or F x = -g, or the negative of F x ≤ g."""
    keys = mosek.boundkey
    rows = [task.getconbound(i) for i in range(task.getnumcon())]
    labels = [_split(task.getconname(i), "row", i)[0] for i in range(len(rows))]
    for first, stop in _runs([(label, row[0]) for label, row in zip(labels, rows, strict=True)]):
        key = rows[first][0]
        if key not in (keys.lo, keys.up, keys.fx):
            raise ExportError(f"constraint {labels[first]!r} is ranged or free; a standard form has one side for each row")
        turn = -1.0 if key == keys.up else 1.0
        level = np.array([row[2] if key == keys.up else row[1] for row in rows[first:stop]])
        F = _stack([task.getarow(i) for i in range(first, stop)], n)
        cone = Zero(stop - first) if key == keys.fx else Nonnegative(stop - first)
        yield Constraint(labels[first], sp.csr_array(turn * F), -turn * level, cone)


def _conic(mosek: Any, task: Any, n: int) -> Iterator[Constraint]:
    """Affine conic constraints by label and domain."""
    count = task.getnumacc()
    labels = [_split(task.getaccname(k), "cone", k)[0] for k in range(count)]
    kinds = [_read_domain(mosek, task, task.getaccdomain(k), task.getaccn(k)) for k in range(count)]
    for first, stop in _runs(list(zip(labels, kinds, strict=True))):
        kind = kinds[first][0]
        cone, order = _cone(mosek, labels[first], kinds[first], stop - first)
        matrices, constants = [], []
        for k in range(first, stop):
            affine = task.getaccafeidxlist(k)
            F = _stack([task.getafefrow(i) for i in affine], n)
            g = np.array([task.getafeg(i) for i in affine]) - np.asarray(task.getaccb(k))
            turn = -1.0 if kind == mosek.domaintype.rminus else 1.0
            matrices.append(turn * F[order])
            constants.append(turn * g[order])
        yield Constraint(labels[first], sp.csr_array(sp.vstack(matrices, format="csr")), np.concatenate(constants), cone)


def _read_domain(mosek: Any, task: Any, number: int, dim: int) -> tuple[Any, int, tuple[float, ...]]:
    """Kind, rows and exponents (of power cones of three rows, with sum 1) of a domain."""
    kind = task.getdomaintype(number)
    if kind != mosek.domaintype.primal_power_cone or dim != 3:
        return kind, dim, ()
    first, second = task.getpowerdomainalpha(number)
    return kind, dim, (first / (first + second),)


def _disjunctions(mosek: Any, task: Any, n: int) -> Iterator[Constraint]:
    """Disjunctions of the kind that `to_mosek` writes, a ≥ 1 or v ≥ 0, as indicator constraints by label."""
    count = task.getnumdjc()
    labels = [_split(task.getdjcname(k), "disjunction", k)[0] for k in range(count)]
    for first, stop in _runs(labels):
        expressions: list[int] = []
        for k in range(first, stop):
            kinds = [task.getdomaintype(domain) for domain in task.getdjcdomainidxlist(k)]
            sizes, sides = list(task.getdjctermsizelist(k)), list(task.getdjcb(k))
            if kinds != [mosek.domaintype.rplus] * 2 or sizes != [1, 1] or sides != [1.0, 0.0]:
                raise ExportError(f"disjunction {labels[first]!r} is no indicator constraint, and a standard form has no other")
            expressions += task.getdjcafeidxlist(k)
        F = _stack([task.getafefrow(i) for i in expressions], n)
        yield Constraint(labels[first], F, np.array([task.getafeg(i) for i in expressions]), Indicator(2, stop - first))


def _cone(mosek: Any, label: str, domain: tuple[Any, int, tuple[float, ...]], count: int) -> tuple[Cone, Any]:
    """The cone of a domain (kind, rows, exponents), and the domain's positions in the order of our rows."""
    kind, dim, exponents = domain
    domains = mosek.domaintype
    plain = np.arange(dim)
    if kind == domains.quadratic_cone:
        return SecondOrder(dim, count), plain
    if kind == domains.rquadratic_cone:
        return RotatedSecondOrder(dim, count), plain
    if kind == domains.rzero:
        return Zero(dim * count), plain
    if kind in (domains.rplus, domains.rminus):
        return Nonnegative(dim * count), plain
    if kind == domains.svec_psd_cone:
        order = round((np.sqrt(8 * dim + 1) - 1) / 2)
        lower = [(i, j) for j in range(order) for i in range(j, order)]  # MOSEK: lower triangle by columns
        place = {pair: k for k, pair in enumerate(lower)}
        upper = [(i, j) for j in range(order) for i in range(j + 1)]  # ours: upper triangle by columns
        return PSD(dim, count), np.array([place[j, i] for i, j in upper])
    if kind == domains.primal_exp_cone:
        return Exponential(dim, count), plain[::-1]
    if kind == domains.primal_power_cone and dim == 3:
        return Power(dim, count, exponents[0]), plain
    raise ExportError(f"constraint {label!r} is in a domain of the kind {kind}, which a standard form has not")


def _stack(rows: list[tuple[Any, ...]], n: int) -> sp.csr_array:
    """Sparse rows, each (indices, values) after an optional count, as a matrix."""
    indices = [np.asarray(row[-2]) for row in rows]
    values: list[FloatArray] = [np.asarray(row[-1], dtype=np.float64) for row in rows]
    starts = np.concatenate([[0], np.cumsum([index.size for index in indices])])
    data, columns = np.concatenate([np.zeros(0), *values]), np.concatenate([np.zeros(0, dtype=np.int64), *indices])
    matrix = sp.csr_array((data, columns, starts), shape=(len(rows), n))
    matrix.sort_indices()
    return matrix
