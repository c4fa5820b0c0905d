"""Forms of every kind that MOSEK reads, and an independent statement of its conventions: ``from mosek_tasks import FORMS``."""

from __future__ import annotations

from contextlib import contextmanager

import numpy as np
import pytest
import scipy.sparse as sp
from data import clouds
from mosek_reader import form_of_task

from marginopt.models import (
    PSD,
    Block,
    ConicSVM,
    Constraint,
    HingeSVM,
    L2SVMDual,
    MEBDual,
    Nonnegative,
    Quadratic,
    RotatedSecondOrder,
    SecondOrder,
    StandardForm,
    Zero,
    ZeroOneSVM,
)
from marginopt.models.export.mosek_task import to_mosek
from marginopt.models.program.cones import smat, svec, svec_size
from marginopt.solvers.records import Options
from marginopt.solvers.solve import solve_problem

mosek = pytest.importorskip("mosek", reason="MOSEK is not installed")

X, Y = clouds(4, 12, 2, 0.0, order="turns", first=-1.0)


def mixed_cones(quadratic=False):
    """Return a form with every cone beside rows, a stack of two second-order and one of two semidefinite cones of order 3."""
    rng = np.random.default_rng(1)
    n, d = 4, svec_size(3)
    constraints = (
        Constraint("psd", sp.csr_array(0.3 * rng.normal(size=(2 * d, n))), np.tile(svec(np.eye(3)), 2), PSD(d, 2)),
        Constraint("rows", sp.csr_array(rng.normal(size=(2, n))), np.ones(2), Nonnegative(2)),
        Constraint("soc", sp.csr_array(rng.normal(size=(6, n))), np.tile([4.0, 0.1, 0.2], 2), SecondOrder(3, 2)),
        Constraint("equal", sp.csr_array(rng.normal(size=(1, n))), np.zeros(1), Zero(1)),
        Constraint("rotated", sp.csr_array(rng.normal(size=(4, n))), np.array([3.0, 2.0, 0.1, 0.0]), RotatedSecondOrder(4)),
    )
    P = Quadratic(factor=rng.normal(size=(2, n))) if quadratic else None
    bounds = np.array([-np.inf, -2.0, -3.0, 0.5]), np.array([np.inf, np.inf, 3.0, 0.5])
    blocks = (Block("x", (3,)), Block("y", ()))
    return StandardForm("mixed", blocks, rng.normal(size=n), constraints, *bounds, np.zeros(n, bool), P, 0.25)


def two_matrices():
    """Return a form with two semidefinite matrices of order 2, a constant entry in each, and other columns."""
    rng = np.random.default_rng(5)
    n, d = 6, svec_size(2)
    entries = np.zeros((2 * d, n))
    entries[[0, 1, 4, 5], [4, 0, 2, 5]] = [1.0, -2.0, 0.5, 3.0]  # x4, -2 x0, constant; constant, .5 x2, 3 x5
    g = np.array([0.0, 0.0, 1.5, 2.0, 0.0, 0.0])
    disc = np.vstack([np.zeros(n), np.eye(n)])
    constraints = (
        Constraint("pair", sp.csr_array(entries), g, PSD(d, 2)),
        Constraint("rows", sp.csr_array(rng.normal(size=(3, n))), np.ones(3), Nonnegative(3)),
        Constraint("disc", sp.csr_array(disc), np.concatenate([[3.0], np.zeros(n)]), SecondOrder(n + 1)),
    )
    blocks = (Block("a", (1,)), Block("b", (1,)), Block("c", (1,)), Block("d", ()), Block("e", (2,)))
    bounds = np.array([-np.inf, -1.0, -np.inf, 0.0, -np.inf, -np.inf]), np.array([np.inf, 1.0, np.inf, np.inf, np.inf, np.inf])
    return StandardForm("two matrices", blocks, rng.normal(size=n), constraints, *bounds, np.zeros(n, bool), None, 0.5)


#: Forms by name.
FORMS = {
    "hinge": HingeSVM(X, Y, lam=0.7).form,
    "l2": L2SVMDual(X, Y, 2.0).form,
    "meb": MEBDual(X).form,
    "zero-one": ZeroOneSVM(X, Y).form,
    "conic, lambda": ConicSVM(X, Y, lam=0.7).form,
    "conic, kappa": ConicSVM(X, Y, kappa=0.3).form,
    "every cone": mixed_cones(),
    "two matrices": two_matrices(),
}


#: The semidefinite constraints that are matrix variables in the task, by the name of the form.
MATRICES = {"conic, lambda": ("lifted",), "conic, kappa": ("lifted",), "two matrices": ("pair",)}


def stated_by_hand(name):
    """Return a form of `FORMS` in new variables u, x = T u: matrix variables replace the columns that are their entries.

    Each row of a constraint in `MATRICES` is an entry u_i = v x_j of a matrix variable, or constant, which gives an equation
    u_i = g_i.
    """
    form, labels = FORMS[name], MATRICES.get(name, ())
    chosen = [form.constraint(label) for label in labels]
    rows = [F.toarray() for F in (c.F for c in chosen)]
    inside = np.zeros(form.n, bool)
    for F in rows:
        inside |= F.any(axis=0)
    mask = np.flatnonzero(~inside)
    T = np.zeros((form.n, mask.size + sum(c.rows for c in chosen)))
    T[mask, np.arange(mask.size)] = 1.0
    blocks = [b for b in form.blocks if not inside[form.slices[b.label]].any()]
    new, first = [], mask.size
    for c, F in zip(chosen, rows, strict=True):
        order, size, equations = c.cone.order, c.cone.dim, []
        for k in range(c.cone.count):
            of = c.label if c.cone.count == 1 else f"{c.label}[{k}]"
            blocks.append(Block(of, (order, order), symmetric=True))
            square = np.zeros((size, T.shape[1]))
            square[:, first : first + size] = np.eye(size)
            new.append(Constraint(f"{of} ⪰ 0", square, np.zeros(size), PSD(size)))
            upper = [(i, j) for j in range(order) for i in range(j + 1)]
            for at, (i, j) in enumerate(upper):
                row = F[k * size + at]
                if row.any():
                    (column,) = np.flatnonzero(row)
                    T[column, first + at] = 1.0 / row[column]
                    continue
                scale = 1.0 if i == j else np.sqrt(0.5)
                equation = np.zeros((1, T.shape[1]))
                equation[0, first + at] = scale
                equations.append((equation, -scale * c.g[k * size + at]))
            first += size
        if equations:
            F, g = zip(*equations, strict=True)
            new.append(Constraint(f"{c.label}_constant", np.vstack(F), np.array(g), Zero(len(g))))
    others = [Constraint(c.label, sp.csr_array(c.F @ T), c.g, c.cone) for c in form.constraints if c.label not in labels]
    free = np.full(T.shape[1] - mask.size, np.inf)
    lower, upper = np.concatenate([form.lower[mask], -free]), np.concatenate([form.upper[mask], free])
    integer = np.concatenate([form.integer[mask], np.zeros(free.size, bool)])
    return StandardForm(form.name, tuple(blocks), form.q @ T, (*others, *new), lower, upper, integer, form.quadratic, form.r)


#: Names of the forms without integers, which Clarabel solves.
REAL = [name for name, form in FORMS.items() if not form.integer.any()]


def insert(task, form, x, z, zeta, labels=()):
    """Put a solution of ``form`` into a task by MOSEK's documented conventions; return the kind of MOSEK's solution.

    The solution is x, the constraints' multipliers z by label, and the bounds' multipliers zeta. ``labels`` are the semidefinite
    constraints that are matrix variables in the task.
    """
    which = mosek.soltype.itr
    rows = [c for c in form.constraints if isinstance(c.cone, (Zero, Nonnegative))]
    y, activity = ([np.zeros(0), *parts] for parts in ([z[c.label] for c in rows], [c.F @ x for c in rows]))
    number = 0
    for label in labels:
        c = form.constraint(label)
        for k, (value, dual) in enumerate(
            zip(c.value(x).reshape(c.cone.count, -1), z[label].reshape(c.cone.count, -1), strict=True)
        ):
            X, S = smat(value), smat(dual)
            lower = [(i, j) for j in range(X.shape[0]) for i in range(j, X.shape[0])]
            task.putbarxj(which, number, [X[i, j] for i, j in lower])
            task.putbarsj(which, number, [S[i, j] for i, j in lower])
            number += 1
            for at, (i, j) in enumerate((low, high) for high in range(X.shape[0]) for low in range(high + 1)):
                if not c.F[
                    [k * value.size + at]
                ].count_nonzero():  # an equation of X_ij, whose multiplier is -S_ij (twice off it)
                    y.append(np.array([-S[i, j] * (1.0 if i == j else 2.0)]))
                    activity.append(np.array([X[i, j]]))
    inside = np.isin(np.arange(form.n), [j for label in labels for j in form.constraint(label).F.indices])
    scalars, prices = x[~inside], np.concatenate(y)
    task.putxx(which, scalars)
    task.putxc(which, np.concatenate(activity))
    task.puty(which, prices)
    task.putslc(which, np.maximum(prices, 0))
    task.putsuc(which, np.maximum(-prices, 0))
    task.putslx(which, np.maximum(zeta[~inside], 0))
    task.putsux(which, np.maximum(-zeta[~inside], 0))
    number = 0
    for c in form.constraints:
        if isinstance(c.cone, (Zero, Nonnegative)) or c.label in labels:
            continue
        for piece in z[c.label].reshape(c.cone.count, c.cone.dim):
            if isinstance(c.cone, PSD):
                S = smat(piece)
                k = S.shape[0]
                piece = np.array([S[i, j] * (1.0 if i == j else np.sqrt(2.0)) for j in range(k) for i in range(j, k)])
            task.putaccdoty(which, number, piece)
            number += 1
    return which


@contextmanager
def solved(name):
    """Yield the task of a form of `FORMS` that holds Clarabel's solution, the result, and the kind of MOSEK's solution."""
    form = FORMS[name]
    result = solve_problem(form, "clarabel", Options(tol=1e-8))
    with to_mosek(form) as task:
        yield (
            task,
            result,
            insert(task, form, form.join(result.values), result.multipliers, form.join(result.reduced), MATRICES.get(name, ())),
        )


def form_of_new(form):
    """Return the form that a new task of a form holds, read back from MOSEK."""
    with to_mosek(form) as task:
        return form_of_task(task)
