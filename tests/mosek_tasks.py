"""Programs of every kind that MOSEK takes, and its conventions written down once more: ``from mosek_tasks import FORMS``."""

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
from marginopt.models.export.native.mosek import to_mosek
from marginopt.models.program.cones import smat, svec, svec_size
from marginopt.solvers.records import Options
from marginopt.solvers.solve import solve_problem

mosek = pytest.importorskip("mosek", reason="MOSEK is not installed")

X, Y = clouds(4, 12, 2, 0.0, order="turns", first=-1.0)


def mixed_cones(quadratic=False):
    """Every cone beside rows, with two second-order stacks and semidefinite cones of order 3."""
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


FORMS = {
    "hinge": HingeSVM(X, Y, lam=0.7).form,
    "l2": L2SVMDual(X, Y, 2.0).form,
    "meb": MEBDual(X).form,
    "zero-one": ZeroOneSVM(X, Y).form,
    "conic, lambda": ConicSVM(X, Y, lam=0.7).form,
    "conic, kappa": ConicSVM(X, Y, kappa=0.3).form,
    "every cone": mixed_cones(),
}


#: Those that need no integers: the open conic solver answers them.
REAL = [name for name, form in FORMS.items() if not form.integer.any()]


def insert(task, form, x, z, zeta):
    """Put our solution into a task by the documented conventions, written here independently of the reader's code."""
    which = mosek.soltype.itr
    rows = [c for c in form.constraints if isinstance(c.cone, (Zero, Nonnegative))]
    y = np.concatenate([np.zeros(0), *(z[c.label] for c in rows)])
    task.putxx(which, x)
    task.putxc(which, np.concatenate([np.zeros(0), *(c.F @ x for c in rows)]))
    task.puty(which, y)
    task.putslc(which, np.maximum(y, 0))
    task.putsuc(which, np.maximum(-y, 0))
    task.putslx(which, np.maximum(zeta, 0))
    task.putsux(which, np.maximum(-zeta, 0))
    number = 0
    for c in form.constraints:
        if isinstance(c.cone, (Zero, Nonnegative)):
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
def solved(form):
    """A task with our solution of the form in it, the solution, and which of MOSEK's it is."""
    result = solve_problem(form, "clarabel", Options(tol=1e-8))
    with to_mosek(form) as task:
        yield task, result, insert(task, form, form.join(result.values), result.multipliers, form.join(result.reduced))


def form_of_new(form):
    """Return what a new task of a form holds, as MOSEK reads it."""
    with to_mosek(form) as task:
        return form_of_task(task)
