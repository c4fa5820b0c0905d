"""Optima derived independently, for the formulations that ``instances/tiny/optima.csv`` has none of.

Nothing of this package is used but the records' example arrays: the problems are written down again from the papers and solved by
enumeration, by grids, or by SciPy. `test_none_is_missing` knows every formulation.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import pytest
from scipy.optimize import brentq, minimize
from scipy.spatial.distance import cdist

import marginopt as mo
from marginopt.conformance import cases
from marginopt.models.formulations import all_formulations, get_formulation

pytestmark = pytest.mark.filterwarnings("ignore::marginopt.errors.MarginoptWarning")

Arrays = Mapping[str, Any]


def smooth(value: Callable[[Any], float], gradient: Any, start: Any, **problem: Any) -> float:
    """The least value of a smooth convex problem, by SLSQP."""
    optimum = minimize(value, start, jac=gradient, method="SLSQP", options={"ftol": 1e-15, "maxiter": 2000}, **problem)
    return float(optimum.fun)


def hinge(A: Any, costs: Any, penalised: Any) -> float:
    """min Σ d_j w_j² + Σ c_i (1 - a_i'w)_+, its slacks as variables."""
    n, p = A.shape
    rows = np.hstack([A, np.eye(n)])
    return smooth(
        lambda v: float(penalised @ v[:p] ** 2 + costs @ v[p:]),
        lambda v: np.concatenate([2.0 * penalised * v[:p], costs]),
        np.concatenate([np.zeros(p), np.ones(n)]),
        bounds=[(None, None)] * p + [(0.0, None)] * n,
        constraints=[{"type": "ineq", "fun": lambda v: rows @ v - 1.0, "jac": lambda v: rows}],
    )


def box(a: Arrays) -> float:
    """Every choice of variables at their bounds; the least value over those whose free part stays inside."""
    Q, q, lower, upper = a["Z"] @ a["Z"].T + np.diag(a["ridge"]), a["q"], a["lower"], a["upper"]
    best = np.inf
    for state in itertools.product((0, 1, 2), repeat=len(q)):
        where = np.array(state)
        x = np.where(where == 0, lower, upper)
        free = where == 2
        if free.any():
            x[free] = np.linalg.solve(Q[np.ix_(free, free)], -(q[free] + Q[np.ix_(free, ~free)] @ x[~free]))
        if (x >= lower).all() and (x <= upper).all():
            best = min(best, 0.5 * x @ Q @ x + q @ x)
    return float(best)


def hinge_quadratic(a: Arrays) -> float:
    """The losses as slacks above both of their lines."""
    H, G, b, h, tau = a["H"], a["G"], a["b"], a["h"], a["tau"]
    m, p = G.shape
    rows = np.vstack([np.hstack([G, np.eye(m)]), np.hstack([-tau[:, None] * G, np.eye(m)])])
    least = np.concatenate([h, -tau * h])
    return smooth(
        lambda v: float(0.5 * v[:p] @ H @ v[:p] + b @ v[:p] + a["weights"] @ v[p:]),
        lambda v: np.concatenate([H @ v[:p] + b, a["weights"]]),
        np.concatenate([np.zeros(p), h + 1.0]),
        constraints=[{"type": "ineq", "fun": lambda v: rows @ v - least, "jac": lambda v: rows}],
    )


def pareto(a: Arrays) -> float:
    """Half the squared length of a polytope's shortest vector: for each set of corners the affine minimum, if it lies inside."""
    g = a["gradients"].reshape(len(a["gradients"]), -1)
    best = np.inf
    for size in range(1, len(g) + 1):
        for chosen in map(list, itertools.combinations(range(len(g)), size)):
            Q = g[chosen] @ g[chosen].T
            system = np.block([[Q, np.ones((size, 1))], [np.ones((1, size)), np.zeros((1, 1))]])
            tau = np.linalg.lstsq(system, np.append(np.zeros(size), 1.0), rcond=None)[0][:size]
            if (tau >= -1e-12).all():
                best = min(best, 0.5 * tau @ Q @ tau)
    return float(best)


def ramp(a: Arrays) -> float:
    """Every set of points to give up at a cost of 2; the hinge problem of the others, the first weight free."""
    A = a["y"][:, None] * a["X"]
    n, p = A.shape
    penalised = np.array([0.0] + [1.0] * (p - 1))
    best = np.inf
    for given_up in itertools.product((False, True), repeat=n):
        mask = ~np.array(given_up)
        cost = 2.0 * (n - mask.sum())
        if cost < best:
            best = min(best, cost + (hinge(A[mask], np.ones(mask.sum()), penalised) if mask.any() else 0.0))
    return float(best)


def margin(a: Arrays) -> float:
    """Its default parts are the hinge loss and ||w||²."""
    return hinge(a["y"][:, None] * a["X"], np.ones(len(a["y"])), np.ones(a["X"].shape[1]))


def stiefel_column(a: Arrays) -> float:
    """One column: max x'Hx + 2e'x on the sphere, a trust-region problem: ||(μI - H)^{-1} e|| = 1 at the μ above H's spectrum."""
    values, vectors = np.linalg.eigh(a["H"])
    e = vectors.T @ a["E"][:, 0]
    mu = brentq(lambda m: np.linalg.norm(e / (m - values)) - 1.0, values[-1] + 1e-9, values[-1] + 1e3, xtol=1e-14)
    x = e / (mu - values)
    return -float(x @ (values * x) + 2.0 * e @ x)


def max_min(a: Arrays) -> float:
    """The two-hulls dual on a fine grid of γ, by SLSQP; the largest value."""
    X, y = a["X"], a["y"]
    squares = cdist(X, X, "sqeuclidean")
    classes = np.array([y > 0, y < 0], dtype=float)

    def inner(gamma: float) -> float:
        Q = np.outer(y, y) * np.exp(-gamma * squares) + np.eye(len(y))
        return smooth(
            lambda v: float(0.5 * v @ Q @ v),
            lambda v: Q @ v,
            classes.T @ (1.0 / classes.sum(axis=1)),
            bounds=[(0.0, None)] * len(y),
            constraints=[{"type": "eq", "fun": lambda v: classes @ v - 1.0, "jac": lambda v: classes}],
        )

    return max(inner(gamma) for gamma in np.geomspace(2.0**-6, 8.0, 60))


def scoring_system(a: Arrays) -> float:
    """All whole coefficients from -10 to 10; the intercept where sorted scores leave the fewest errors."""
    X, y, d = a["X"][:, 1:].astype(int), a["y"], a["X"].shape[1] - 1
    n = len(y)
    widest = int(10 * np.abs(X).sum(axis=1).max()) + 1
    sizes = 10 * d + widest  # of an intercept that puts every point on either side
    best = np.inf
    for rho in itertools.product(range(-10, 11), repeat=d):
        scores = X @ np.array(rho)
        errors = min(int((y * (scores + b) <= 0).sum()) for b in {widest, -widest, *(1 - scores), *(-1 - scores)})
        best = min(best, errors + n * 0.01 * np.count_nonzero(rho) + 0.5 * min(1.0, n * 0.01 / sizes) * np.abs(rho).sum())
    return float(best)


def few(arrays: Arrays) -> Arrays:
    """Four points of each class, where all sets of points are looked at."""
    chosen = np.concatenate([np.flatnonzero(arrays["y"] == label)[:4] for label in (-1.0, 1.0)])
    return {name: value[chosen] for name, value in arrays.items()}


def one_column(arrays: Arrays) -> Arrays:
    """The Stiefel problem on the sphere."""
    return {"H": arrays["H"], "E": arrays["E"][:, :1]}


def whole(arrays: Arrays) -> Arrays:
    """The example as it is."""
    return arrays


def quadratic(P: Any, q: Any, rows: Any, least: Any) -> float:
    """min ½v'Pv + q'v subject to rows v ≥ least."""
    return smooth(
        lambda v: float(0.5 * v @ P @ v + q @ v),
        lambda v: P @ v + q,
        np.zeros(len(q)),
        constraints=[{"type": "ineq", "fun": lambda v: rows @ v - least, "jac": lambda v: rows}],
    )


def nu_svm(a: Arrays) -> float:
    """w with a free intercept first, ρ, ξ."""
    (n, p), nu = a["X"].shape, 0.5
    P = np.diag([0.0, *np.ones(p - 1), *np.zeros(n + 1)])
    margins = np.hstack([a["y"][:, None] * a["X"], -np.ones((n, 1)), np.eye(n)])
    signs = np.hstack([np.zeros((n + 1, p)), np.eye(n + 1)])
    return quadratic(P, np.concatenate([np.zeros(p), [-nu], np.full(n, 1 / n)]), np.vstack([margins, signs]), np.zeros(2 * n + 1))


def hard_margin(a: Arrays) -> float:
    """w with a free intercept first."""
    p = a["X"].shape[1]
    return quadratic(np.diag([0.0, *np.ones(p - 1)]), np.zeros(p), a["y"][:, None] * a["X"], np.ones(len(a["y"])))


def epsilon_svr(a: Arrays) -> float:
    """w with a free intercept first, and ξ of both sides."""
    n, p = a["X"].shape
    P = np.diag([0.0, *np.ones(p - 1), *np.zeros(2 * n)])
    eye, none = np.eye(n), np.zeros((n, n))
    rows = np.vstack(
        [np.hstack([a["X"], eye, none]), np.hstack([-a["X"], none, eye]), np.hstack([np.zeros((2 * n, p)), np.eye(2 * n)])]
    )
    least = np.concatenate([a["target"] - 0.1, -a["target"] - 0.1, np.zeros(2 * n)])
    return quadratic(P, np.concatenate([np.zeros(p), np.ones(2 * n)]), rows, least)


def svdd(a: Arrays) -> float:
    """The dual: max Σα||x||² - ||Σαx||² over 0 ≤ α ≤ 1/(νn), Σα = 1, with ν = 0.3."""
    X = a["X"]
    n = len(X)
    squares = (X**2).sum(axis=1)
    return -smooth(
        lambda v: float((X.T @ v) @ (X.T @ v) - squares @ v),
        lambda v: 2.0 * X @ (X.T @ v) - squares,
        np.full(n, 1 / n),
        bounds=[(0.0, 1 / (0.3 * n))] * n,
        constraints=[{"type": "eq", "fun": lambda v: v.sum() - 1.0, "jac": lambda v: np.ones(n)}],
    )


def multiclass(a: Arrays) -> float:
    """Crammer and Singer, row by row."""
    X, y = a["X"], a["y"].astype(int)
    (n, p), K = X.shape, y.max() + 1
    rows = []
    for i in range(n):
        for k in range(K):
            if k != y[i]:
                row = np.zeros(K * p + n)
                row[y[i] * p : (y[i] + 1) * p], row[k * p : (k + 1) * p], row[K * p + i] = X[i], -X[i], 1.0
                rows.append(row)
    signs = np.hstack([np.zeros((n, K * p)), np.eye(n)])
    P = np.diag(np.concatenate([np.ones(K * p), np.zeros(n)]))
    least = np.concatenate([np.ones(len(rows)), np.zeros(n)])
    return quadratic(P, np.concatenate([np.zeros(K * p), np.ones(n)]), np.vstack([rows, signs]), least)


#: Formulation → the derivation, and the part of its example that it is for.
DERIVED: dict[str, tuple[Callable[[Arrays], float], Callable[[Arrays], Arrays]]] = {
    "box": (box, whole),
    "hinge-quadratic": (hinge_quadratic, whole),
    "pareto": (pareto, whole),
    "ramp": (ramp, few),
    "margin": (margin, whole),
    "multiclass": (multiclass, whole),
    "nu": (nu_svm, whole),
    "hard-margin": (hard_margin, whole),
    "epsilon-svr": (epsilon_svr, whole),
    "svdd": (svdd, whole),
    "scoring-system": (scoring_system, whole),
    "stiefel": (stiefel_column, one_column),
}
#: Formulations whose optimum cannot be derived in a few lines, and what is.
ELSEWHERE = {
    "chebyshev": "not convex in P: a stationary answer; below, the optimum at one P",
    "max-min": "not concave in γ: a local answer; below, that none exceeds the largest value on a grid",
}


@pytest.mark.parametrize("name", DERIVED)
def test_auto_reaches_the_derived_optimum(name: str) -> None:
    derive, part = DERIVED[name]
    info = get_formulation(name)
    arrays = part(info.example_arrays(np.random.default_rng(0)))
    result = mo.solve(info.make_model(arrays), tol=1e-8)
    assert result.solved
    assert result.objective == pytest.approx(derive(arrays), rel=1e-6, abs=1e-9)


def test_no_kernel_parameter_beats_the_grid() -> None:
    info = get_formulation("max-min")
    arrays = info.example_arrays(np.random.default_rng(0))
    result = mo.solve(info.make_model(arrays), tol=1e-6)
    largest = max_min(arrays)
    assert result.objective <= largest * (1 + 1e-3)  # between two points of the grid
    assert result.objective == pytest.approx(largest, rel=1e-3)  # and here the local one is global


def test_the_chebyshev_problem_at_one_projection() -> None:
    """For fixed P it separates: the largest of the classes' optima, v = r1/(r1 + r2) P'u put in (r1 = r2 = c = 1)."""
    info = get_formulation("chebyshev")
    arrays = info.example_arrays(np.random.default_rng(0))
    X, y = arrays["X"], arrays["y"]
    p = X.shape[1]
    P = np.linalg.qr(np.random.default_rng(1).normal(size=(p, 2)))[0]
    values = []
    for label in np.unique(y):
        A, B = X[y == label], X[y != label]
        H = A.T @ A + np.eye(p) - 0.5 * P @ P.T
        values.append(hinge_quadratic({
            "H": H, "G": B, "b": np.zeros(p), "h": np.ones(len(B)), "weights": np.ones(len(B)), "tau": np.zeros(len(B))
        }))  # fmt: skip
    model = mo.ChebyshevNPSVC(X, y, d=2).at(P)
    assert mo.solve(model, "clarabel", tol=1e-8).objective == pytest.approx(max(values), rel=1e-6)


def test_none_is_missing() -> None:
    """Every formulation of ours has an optimum found independently, or the reason why not."""
    recorded = {name for name, info in all_formulations().items() if any(c.optimum is not None for c in cases(info))}
    ours = {name for name, info in all_formulations().items() if info.model.__module__.startswith("marginopt.")}
    assert ours <= recorded | set(DERIVED) | set(ELSEWHERE)
    assert not recorded & (set(DERIVED) | set(ELSEWHERE)), "derived twice"
