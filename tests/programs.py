"""Small programs for the tests of solvers: standard forms with every kind of row, bound and status; known optima."""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp

from marginopt.models import Block, Constraint, HingeSVM, Nonnegative, Quadratic, StandardForm, Zero, ZeroOneSVM
from marginopt.solvers.records import Options, Status
from marginopt.solvers.solve import solve_problem

#: Solvers of convex quadratic programs.
QP = ("clarabel", "scs", "highs", "osqp", "piqp", "proxqp", "daqp")
INF = np.inf

#: Eleven points with a constant first feature; `Y11` are their labels.
X11 = np.array(
    [
        [1.0, -0.7548729826433764, 0.4187327449214847],
        [1.0, 1.485328987033515, 1.211366109317348],
        [1.0, 1.3605539300182625, 1.3557227598134194],
        [1.0, 2.2110789797799075, 0.24575097507458665],
        [1.0, 1.0077571595549706, 0.7123769871927398],
        [1.0, -2.557699067363162, 0.21812323391695956],
        [1.0, 0.11696981671685491, 0.44661701252515384],
        [1.0, -0.46544251419058774, -0.6940112870771816],
        [1.0, -0.4670440479633976, 0.7975539909635253],
        [1.0, 0.522247519574118, 1.5592923848522453],
        [1.0, -1.2379814150856043, 1.1969734834611243],
    ]
)
Y11 = np.array([1, 1, 1, 1, -1, -1, 1, -1, -1, 1, -1.0])
#: Formulations on these points and their optima, found by enumeration.
KNOWN = {
    "hinge": (HingeSVM(X11, Y11, lam=5.0), 28.884455238299886),
    "zero-one penalised": (ZeroOneSVM(X11, Y11, lam=5.0), 18.33085893642761),
    "zero-one free": (ZeroOneSVM(X11, Y11, lam=5.0, intercept="free"), 17.565840780905777),
}


def form_of(q, constraints=(), lower=None, upper=None, P=None, integer=None, r=0.0):
    """Return the form min q'x + ½x'Px + r subject to constraints (label, F, g, cone), F x + g in the cone, and bounds."""
    q = np.asarray(q, float)
    n = q.size
    rows = tuple(Constraint(label, sp.csr_array(np.array(F, float)), np.array(g, float), K) for label, F, g, K in constraints)
    return StandardForm(
        name="program",
        blocks=(Block("x", (n,)),),
        q=q,
        constraints=rows,
        lower=np.full(n, -INF) if lower is None else np.asarray(lower, float),
        upper=np.full(n, INF) if upper is None else np.asarray(upper, float),
        integer=np.zeros(n, bool) if integer is None else np.asarray(integer, bool),
        quadratic=None if P is None else Quadratic(matrix=np.asarray(P, float)),
        r=r,
    )


def form_with_rows(F, **changes):
    """Return min Σ x_j subject to F x + 1 ≥ 0, with ``changes`` of its fields."""
    m, n = F.shape
    return form_of(np.ones(n), [("rows", F, np.ones(m), Nonnegative(m))]).replace(**changes)


def bounded_qp(r=0.0):
    """Return a quadratic program whose optimum has x2 at its upper bound, x1 free, and multipliers of every kind."""
    rows = [("sum", [[1, 1, 1]], [-1], Zero(1)), ("floor", [[1, 0, 0], [0, 1, 0]], [0.5, 1], Nonnegative(2))]
    return form_of([1, -5, 0], rows, [-INF, 0, 0], [INF, 0.7, INF], np.diag([1.0, 2, 3]), r=r)


def random_qp(seed, rank):
    """Return a feasible quadratic program of 12 variables with P of the given rank and every kind of row and bound."""
    rng = np.random.default_rng(seed)
    n = 12
    R = rng.normal(size=(rank, n))
    x = rng.uniform(-1, 1, n)
    E, G = rng.normal(size=(2, n)), rng.normal(size=(8, n))
    slack = np.where(rng.random(8) < 0.5, 0.0, rng.random(8))
    lower = np.where(rng.random(n) < 0.6, x - rng.random(n), -1.5)
    upper = np.where(rng.random(n) < 0.6, x + rng.random(n), 2.0)
    rows = [("equal", E, -E @ x, Zero(2)), ("greater", G, slack - G @ x, Nonnegative(8))]
    return form_of(3 * rng.normal(size=n), rows, lower, upper, R.T @ R)


def hard_zero_one(n, p):
    """Return a 0-1 problem with random labels, which no solver of mixed-integer programs solves soon."""
    rng = np.random.default_rng(0)
    X = np.column_stack([np.ones(n), rng.normal(size=(n, p))])
    return ZeroOneSVM(X, np.where(rng.random(n) < 0.5, -1.0, 1.0), lam=10.0)


def knapsack(n=20, seed=0):
    """Return a knapsack problem of n binary variables and five capacities."""
    rng = np.random.default_rng(seed)
    weight = rng.integers(10, 60, (5, n))
    rows = [("capacity", -weight, weight.sum(axis=1) // 3, Nonnegative(5))]
    value = -(weight.sum(axis=0) + rng.integers(0, 20, n))
    return form_of(value, rows, np.zeros(n), np.ones(n), integer=np.ones(n, bool))


#: Forms without a feasible point, and without a finite optimum.
INFEASIBLE = {
    "linear": form_of([1, 1], [("apart", [[1, 0], [-1, 0]], [-1, 0], Nonnegative(2))], [0, 0], [5, 5]),
    "quadratic, bounds against a row": form_of([1, 1], [("sum", [[1, 1]], [1], Zero(1))], [0, 0], None, np.eye(2)),
}
UNBOUNDED = {
    "linear": form_of([0, -1], [("side", [[1, 0]], [0], Nonnegative(1))]),
    "quadratic": form_of([0, -1], [("side", [[1, 0]], [0], Nonnegative(1))], P=np.diag([1.0, 0])),
}
#: Linear and integer programs without an optimum, and the status that a solver must return.
WITHOUT_OPTIMUM = (
    (form_of([1, 1], [("c", [[1, 1], [-1, -1]], [-3, 1], Nonnegative(2))], [0, 0], [9, 9]), Status.INFEASIBLE),
    (form_of([1, 1], [("c", [[2, 2]], [-3], Zero(1))], [0, 0], [5, 5], integer=[1, 1]), Status.INFEASIBLE),
    (form_of([-1, 0], [("c", [[1, -1]], [0], Nonnegative(1))], [0, 0], [INF, INF]), Status.UNBOUNDED),
    (form_of([-1, 0], [("c", [[1, -1]], [0], Nonnegative(1))], [0, 0], [INF, INF], integer=[1, 1]), Status.UNBOUNDED),
)


def solve(form, name, **options):
    """Return the result of the solver of this name with these options."""
    return solve_problem(form, name, Options(**options))
