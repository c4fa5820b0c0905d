"""The tiny instances, and their optima recomputed with scipy alone: nothing of this package but the data."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.optimize import LinearConstraint, minimize
from scipy.spatial.distance import cdist

from marginopt.instances import reference_optima, tiny_instances

OPTIMA = reference_optima()


def of(formulation):
    records = [r for r in OPTIMA if r.formulation == formulation]
    return pytest.mark.parametrize("record", records, ids=lambda r: f"{r.instance}-{r.optimum:.3g}")


def gram(record):
    X, gamma = record.X, record.parameters["gamma"]
    match record.parameters["kernel"]:
        case "linear":
            return X @ X.T
        case "rbf":
            return np.exp(-gamma * cdist(X, X, "sqeuclidean"))
        case "polynomial":
            return (gamma * X @ X.T) ** 2
    raise AssertionError(record.parameters)


def quadratic(Q, c, equalities, values, upper, start):
    """Minimise ½a'Qa + c'a on 0 ≤ a ≤ upper and the equalities, if any."""
    rows = [] if equalities is None else [LinearConstraint(np.atleast_2d(equalities), values, values)]
    optimum = minimize(
        lambda a: 0.5 * a @ Q @ a + c @ a,
        start,
        jac=lambda a: Q @ a + c,
        bounds=[(0.0, upper)] * len(c),
        constraints=rows,
        method="SLSQP",
        options={"maxiter": 2000, "ftol": 1e-15},
    )
    return optimum.fun


def test_what_is_there():
    instances = tiny_instances()
    assert len(instances) == 10
    assert len(OPTIMA) == 46
    assert sum(r.origin == "independent" for r in OPTIMA) == 35
    assert {r.instance for r in OPTIMA} == set(instances)
    assert {r.origin for r in OPTIMA} == {"independent", "by hand"}
    for name, data in instances.items():
        assert data.name == name
        assert data.intercept == bool(np.all(data.X[:, 0] == 1.0))
    assert instances["zero-one-lam1"].intercept
    assert not instances["linear-c1"].intercept
    assert instances["nonparallel"].classes == (0, 1, 2)


def test_full_precision():
    assert tiny_instances()["linear-c1"].X[0, 0] == -0.7901524999630146
    assert next(r.optimum for r in OPTIMA if r.formulation == "L1SVMDual") == -11.733719366867152


@of("L2SVMDual")
def test_l2_svm_dual(record):
    y, n = record.y, len(record.y)
    Q = np.outer(y, y) * (gram(record) + 1.0) + np.eye(n) / record.parameters["C"]
    value = quadratic(Q, np.zeros(n), np.ones(n), 1.0, 1.0, np.full(n, 1.0 / n))
    assert value == pytest.approx(record.optimum, rel=1e-6)


@of("L1SVMDual")
def test_l1_svm_dual(record):
    y, n = record.y, len(record.y)
    Q = np.outer(y, y) * gram(record)
    value = quadratic(Q, -np.ones(n), y, 0.0, record.parameters["C"], np.zeros(n))
    assert value == pytest.approx(record.optimum, rel=1e-5)


@of("ConvexHullsDual")
def test_convex_hulls_dual(record):
    y, n = record.y, len(record.y)
    Q = np.outer(y, y) * gram(record) + np.eye(n) / record.parameters["C"]
    ones = np.array([y > 0, y < 0], dtype=float)
    value = quadratic(Q, np.zeros(n), ones, 1.0, 1.0, ones.T @ (1.0 / ones.sum(axis=1)))
    assert value == pytest.approx(record.optimum, rel=1e-6)


@of("MEBDual")
def test_meb_dual(record):
    K, n = gram(record), len(record.y)
    value = -quadratic(2.0 * K, -np.diag(K), np.ones(n), 1.0, 1.0, np.full(n, 1.0 / n))
    assert value == pytest.approx(record.optimum, rel=1e-6)


def smallest_norm(A, free_intercept=False):
    """Minimise ||w||² (without w_0 if the intercept is free) subject to Aw ≥ 1."""
    D = np.ones(A.shape[1])
    D[0] = 0.0 if free_intercept else 1.0
    optimum = minimize(
        lambda w: w @ (D * w),
        np.zeros(A.shape[1]),
        jac=lambda w: 2.0 * D * w,
        constraints=[{"type": "ineq", "fun": lambda w: A @ w - 1.0, "jac": lambda w: A}],
        method="SLSQP",
        options={"ftol": 1e-14, "maxiter": 500},
    )
    return optimum.fun if optimum.success and np.min(A @ optimum.x) > 1.0 - 1e-7 else math.inf


@of("ZeroOneSVM")
def test_zero_one(record):
    """The value is attained by the stated support, and no support that drops one point fewer or more is better."""
    A, lam = record.y[:, None] * record.X, record.parameters["lam"]
    free = "free" in record.statement
    n = len(A)

    def value(violated):
        members = np.delete(A, sorted(violated), axis=0)
        return lam * len(violated) + (smallest_norm(members, free) if len(members) else 0.0)

    if n <= 4:
        supports = [[i for i in range(n) if mask >> i & 1] for mask in range(2**n)]
        assert min(map(value, supports)) == pytest.approx(record.optimum, rel=1e-7)
    else:
        violated = set(record.parameters["violated"])
        assert value(violated) == pytest.approx(record.optimum, rel=1e-7)
        neighbours = [violated ^ {i} for i in range(n)]
        assert min(map(value, neighbours)) >= record.optimum * (1 - 1e-7)


@of("HingeSVM")
def test_hinge(record):
    """By its dual: max Σα - ¼||Σ α_i y_i x_i||² on 0 ≤ α ≤ λ."""
    A, n = record.y[:, None] * record.X, len(record.y)
    lam = record.parameters["lam"]
    value = -quadratic(0.5 * A @ A.T, -np.ones(n), None, None, lam, np.zeros(n))
    assert value == pytest.approx(record.optimum, rel=1e-6)


@of("ConicSVM")
def test_conic_lies_below_the_zero_one_loss(record):
    if "lam" in record.parameters:
        exact = [r for r in OPTIMA if r.instance == record.instance and r.statement == "intercept penalised"]
        assert 0.0 < record.optimum < exact[0].optimum
    else:
        assert record.optimum > 0.0


@of("NonparallelSVM")
def test_nonparallel(record):
    """Smooth by slacks: ½||Au||² + cΣs + r/2||u||², s ≥ 1 - Bu, s ≥ 0."""
    c, r, mine = record.parameters["c"], record.parameters["r"], record.y == record.parameters["target"]
    A, B = record.X[mine], record.X[~mine]
    m, p = B.shape
    H = A.T @ A + r * np.eye(p)
    rows = np.hstack([B, np.eye(m)])
    optimum = minimize(
        lambda v: 0.5 * v[:p] @ H @ v[:p] + c * v[p:].sum(),
        np.concatenate([np.zeros(p), np.ones(m)]),
        jac=lambda v: np.concatenate([H @ v[:p], np.full(m, c)]),
        bounds=[(None, None)] * p + [(0.0, None)] * m,
        constraints=[{"type": "ineq", "fun": lambda v: rows @ v - 1.0, "jac": lambda v: rows}],
        method="SLSQP",
        options={"ftol": 1e-14, "maxiter": 1000},
    )
    assert optimum.fun == pytest.approx(record.optimum, rel=1e-6)
