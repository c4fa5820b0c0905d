"""Reader of MOSEK tasks and of files that MOSEK reads, as standard forms. It shares no code with the writer and needs no licence.

The content of a task is read through MOSEK's interface and grouped by names: ``margin[0]``, ``margin[1]``, .. become one
labelled block or constraint. Semidefinite cones are re-sorted entry by entry from MOSEK's documented order. Each matrix variable
is a symmetric block of its name, in a cone of this name and ⪰ 0.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

from marginopt.errors import ExportError
from marginopt.models.arrays import FloatArray
from marginopt.models.program.cones import PSD, Cone, Indicator, Nonnegative, RotatedSecondOrder, SecondOrder, Zero
from marginopt.models.program.exponential_cones import Exponential, Power
from marginopt.models.program.form import Block, Constraint, StandardForm
from marginopt.models.program.quadratic import Quadratic

_NAME = re.compile(r"^(?P<label>.*?)(?:\[(?P<index>\d+(?:,\d+)*)\])?$", re.DOTALL)


def read_task(path: str | Path) -> StandardForm:
    """Return the form in a file that MOSEK reads (``.task``, ``.ptf``, ``.jtask``, ``.mps``, ``.lp``, ``.cbf``).

    Raises
    ------
    ExportError
        MOSEK cannot read the file, or the task has what a standard form has not.
    """
    import mosek

    with mosek.Task() as task:
        try:
            task.readdata(str(path))
        except mosek.Error as error:
            raise ExportError(f"MOSEK cannot read {path}: {error.msg or error.errno}") from error
        return form_of_task(task)


def form_of_task(task: Any) -> StandardForm:
    """Return the form that a task holds.

    Raises
    ------
    ExportError
        Old-style cones, quadratic constraints, other disjunctions than indicators,
        or domains that a form has not.
    """
    import mosek

    if task.getnumcone():
        raise ExportError("the task has old-style cones, which a standard form has not", name="old-style cones")
    scalars = task.getnumvar()
    orders = [task.getdimbarvarj(k) for k in range(task.getnumbarvar())]
    n = scalars + sum(k * (k + 1) // 2 for k in orders)
    sign = -1.0 if task.getobjsense() == mosek.objsense.maximize else 1.0
    costs = np.zeros(scalars)
    task.getc(costs)
    _, *entries = task.getbarcblocktriplet()
    q = np.concatenate([costs, np.zeros(n - scalars)]) + _of_matrices(task, [np.zeros(len(entries[0])), *entries], 1, n)[0]
    _, row, column, value = task.getqobj()
    quadratic = None
    if len(value):
        lower = sp.coo_array((sign * np.asarray(value), (row, column)), shape=(n, n))
        quadratic = Quadratic(matrix=sp.csc_array(lower + lower.T - sp.diags_array(lower.diagonal())))
    bounds = [_interval(mosek, *task.getvarbound(j)) for j in range(scalars)] + [(-np.inf, np.inf)] * (n - scalars)
    names = [task.getbarvarname(k) for k in range(len(orders))]
    matrices = [Block(name, (order, order), symmetric=True) for name, order in zip(names, orders, strict=True)]
    return StandardForm(
        name=task.gettaskname(),
        blocks=(*_blocks([task.getvarname(j) for j in range(scalars)]), *matrices),
        q=sign * q,
        constraints=(
            *_read_linear(mosek, task, n),
            *_conic(mosek, task, n),
            *_disjunctions(mosek, task, n),
            *_matrix_cones(names, orders, n),
        ),
        lower=np.array([low for low, _ in bounds]),
        upper=np.array([high for _, high in bounds]),
        integer=np.array([j < scalars and task.getvartype(j) == mosek.variabletype.type_int for j in range(n)], dtype=bool),
        quadratic=quadratic,
        r=sign * task.getcfix(),
        maximise=sign < 0,
    )


def _of_matrices(task: Any, triplets: list[Any], rows: int, n: int) -> FloatArray:
    """Coefficients of the entries of matrix variables, (row, variable, i ≥ j, value), as a matrix over all columns of the form.

    MOSEK counts an entry off the diagonal twice: 2 a X_ij = √2 a (√2 X_ij), whose last factor is the svec's.
    """
    row, variable, i, j, value = (np.asarray(part) for part in triplets)
    first = task.getnumvar() + np.cumsum([0, *(k * (k + 1) // 2 for k in map(task.getdimbarvarj, range(task.getnumbarvar())))])
    F = np.zeros((rows, n))
    for r, k, a, b, v in zip(row.astype(int), variable, i, j, value, strict=True):
        F[r, first[k] + a * (a + 1) // 2 + b] += v if a == b else np.sqrt(2.0) * v
    return F


def _matrix_cones(names: list[str], orders: list[int], n: int) -> Iterator[Constraint]:
    """One semidefinite cone for each matrix variable."""
    first = n - sum(k * (k + 1) // 2 for k in orders)
    for name, order in zip(names, orders, strict=True):
        size = order * (order + 1) // 2
        F = sp.csr_array((np.ones(size), (np.arange(size), first + np.arange(size))), shape=(size, n))
        yield Constraint(f"{name} ⪰ 0", F, np.zeros(size), PSD(size))
        first += size


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
    of_matrices = _of_matrices(task, list(task.getbarablocktriplet()[1:]), len(rows), n)
    for first, stop in _runs([(label, row[0]) for label, row in zip(labels, rows, strict=True)]):
        key = rows[first][0]
        if key not in (keys.lo, keys.up, keys.fx):
            raise ExportError(
                f"constraint {labels[first]!r} is ranged or free; a standard form has one side for each row", name=labels[first]
            )
        turn = -1.0 if key == keys.up else 1.0
        level = np.array([row[2] if key == keys.up else row[1] for row in rows[first:stop]])
        F = _stack([task.getarow(i) for i in range(first, stop)], n) + sp.csr_array(of_matrices[first:stop])
        cone = Zero(stop - first) if key == keys.fx else Nonnegative(stop - first)
        yield Constraint(labels[first], sp.csr_array(turn * F), -turn * level, cone)


def _conic(mosek: Any, task: Any, n: int) -> Iterator[Constraint]:
    """Affine conic constraints by label and domain."""
    count = task.getnumacc()
    labels = [_split(task.getaccname(k), "cone", k)[0] for k in range(count)]
    kinds = [_read_domain(mosek, task, task.getaccdomain(k), task.getaccn(k)) for k in range(count)]
    of_matrices = _of_matrices(task, list(task.getafebarfblocktriplet()[1:]), task.getnumafe(), n)
    for first, stop in _runs(list(zip(labels, kinds, strict=True))):
        kind = kinds[first][0]
        cone, order = _cone(mosek, labels[first], kinds[first], stop - first)
        matrices, constants = [], []
        for k in range(first, stop):
            affine = task.getaccafeidxlist(k)
            F = _stack([task.getafefrow(i) for i in affine], n) + sp.csr_array(of_matrices[affine])
            g = np.array([task.getafeg(i) for i in affine]) - np.asarray(task.getaccb(k))
            turn = -1.0 if kind == mosek.domaintype.rminus else 1.0
            matrices.append(turn * sp.csr_array(F)[order])
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
