"""Relaxations of every loss, few features with proof, groups of losses and smooth losses beside exact optima.

Relaxations meet the rational optima of `rational.draws`. Convex pieces of small problems are solved by their stationary points in
rational arithmetic, features and labels enumerated; smooth losses by Newton's method with 60 digits. The laws:

- a bound called proved, of a result, a relaxation or a valid log, is not above the optimum; OPTIMAL stands at it;
- a log that `sparse-bb` wrote is valid and claims what the result claims; with forged numbers it proves no more than is so.
"""

from __future__ import annotations

import itertools
import math
import tempfile
from fractions import Fraction
from pathlib import Path
from typing import Any

import mpmath
import numpy as np
from attack_questions import forged
from families import Family, tried
from rational.draws import drawn
from rational.flats import ONE, ZERO, Vector, dot, fractions, solved

import marginopt as mo
from marginopt import margin
from marginopt.relaxations import relax, relaxations
from marginopt.relaxations.registry import applicable_names
from marginopt.solvers import registry

Random = np.random.Generator
#: To which part of the optimum OPTIMAL stands at it, beside the tolerance; seconds of a solver.
WRONG, SECONDS = Fraction(1, 10**5), 20.0


def claims(result: mo.Result, truth: Fraction) -> str:
    """Return the claim of a result that the optimum does not allow."""
    str(result)
    if result.bound_kind == "proved" and math.isfinite(result.bound) and Fraction(float(result.bound)) > truth:
        return f"bound {result.bound!r} called proved above the truth {float(truth)!r} ({result.solver})"
    if result.status.name in ("INFEASIBLE", "UNBOUNDED"):
        return f"claims {result.status.name}, the optimum is {float(truth)!r} ({result.solver})"
    if result.status is mo.Status.OPTIMAL:
        off = abs(Fraction(float(result.objective)) - truth)
        if off > (WRONG + Fraction(result.tol)) * abs(truth) + Fraction(1, 10**10):
            return f"OPTIMAL at {result.objective!r}, the truth is {float(truth)!r} ({result.solver})"
    return ""


# -- relaxations -------------------------------------------------------------------------------------------------------


def relaxed(rng: Random) -> str:
    """Any relaxation of a drawn composition, or of a 0-1 model with a free intercept, beside its rational optimum."""
    problem = drawn(int(rng.integers(2**40)))
    optimum = problem.exact.optimum()
    names = applicable_names(problem.model)
    if optimum is None or not names:
        return ""
    name = names[int(rng.integers(len(names)))]
    bound = relax(problem.model, relaxations()[name].reduction, "auto", time_limit=SECONDS)
    str(bound)
    if bound.bound_kind == "proved" and math.isfinite(bound.bound) and Fraction(float(bound.bound)) > optimum:
        return f"bound {bound.bound!r} of {name} called proved above the truth {float(optimum)!r} ({problem})"
    below = bound.values is not None and math.isfinite(bound.objective) and Fraction(float(bound.objective)) < optimum
    short = below and Fraction(float(bound.objective)) < optimum - (1 + abs(optimum)) / 10**6
    return (
        f"the point that {name} recovers costs {bound.objective!r}, the optimum is {float(optimum)!r} ({problem})"
        if short
        else ""
    )


# -- convex pieces in rational arithmetic ------------------------------------------------------------------------------


def least_convex(rows: list[Vector], costs: Vector, squares: Vector, power: int) -> Fraction:
    """min Σ d_j w_j² + Σ c_i max(0, 1 - a_i'w)^power over all w; d_j = 0 for free ones, which must be at most one.

    The optimum is stationary for the rows below 1, with multipliers of rows at 1 where power is 1; the objective at all such
    points is at least the optimum, and one of them is it.
    """
    p, best = len(squares), None
    for kinks in _subsets(range(len(rows)), p if power == 1 else 0):
        others = [i for i in range(len(rows)) if i not in kinks]
        for below in _subsets(others, len(others)):
            w = _stationary(rows, costs, squares, power, below, kinks)
            if w is not None:
                value = _cost(rows, costs, squares, power, w)
                best = value if best is None or value < best else best
    zero = _cost(rows, costs, squares, power, (ZERO,) * p)
    return zero if best is None else min(best, zero)


def _subsets(places: Any, most: int) -> Any:
    return itertools.chain.from_iterable(itertools.combinations(places, k) for k in range(most + 1))


def _stationary(
    rows: list[Vector], costs: Vector, squares: Vector, power: int, below: tuple[int, ...], kinks: tuple[int, ...]
) -> Vector | None:
    p = len(squares)
    matrix = [[2 * squares[i] if i == j else ZERO for j in range(p)] for i in range(p)]
    right = [ZERO] * p
    for i in below:
        for r in range(p):
            right[r] += power * costs[i] * rows[i][r]
            if power == 2:
                matrix[r] = [v + 2 * costs[i] * rows[i][r] * a for v, a in zip(matrix[r], rows[i], strict=True)]
    system = [(*matrix[r], *(-rows[i][r] for i in kinks)) for r in range(p)]
    system += [(*rows[i], *((ZERO,) * len(kinks))) for i in kinks]
    point = solved(system, (*right, *((ONE,) * len(kinks))))
    return None if point is None else point[:p]


def _cost(rows: list[Vector], costs: Vector, squares: Vector, power: int, w: Vector) -> Fraction:
    short = (max(1 - dot(a, w), ZERO) ** power for a in rows)
    norm = sum((d * v * v for d, v in zip(squares, w, strict=True)), ZERO)
    return norm + sum((c * s for c, s in zip(costs, short, strict=True)), ZERO)


def least_sparse(A: np.ndarray, costs: np.ndarray, mu: float, free: bool, most: int, power: int) -> Fraction:
    """The least cost of up to ``most`` coefficients that are not 0, the first column free and not counted if ``free``."""
    rows, p = [tuple(fractions(row)) for row in A], A.shape[1]
    return min(
        least_convex(
            [(*(row[:1] if free else ()), *(row[j] for j in chosen)) for row in rows],
            fractions(costs), (*((ZERO,) if free else ()), *((Fraction(mu),) * len(chosen))), power,
        )
        for chosen in itertools.combinations(range(int(free), p), min(most, p - free))
    )  # fmt: skip


def sparse(rng: Random) -> str:
    """At most k features, by `sparse-bb` and others, with a log and forgeries of it."""
    n, p, power = int(rng.integers(2, 6)), int(rng.integers(1, 4)), int(rng.integers(1, 3))
    free = bool(rng.random() < 0.4)
    X = rng.integers(-8, 9, (n, p)) / 4.0 * 2.0 ** rng.integers(-3, 4, p)
    y = np.where(rng.permutation(n) < rng.integers(1, n), 1.0, -1.0)
    X = np.column_stack([np.ones(n), X])
    costs = rng.integers(1, 9, n) / 4.0 * 10.0 ** int(rng.integers(-3, 4))
    mu = float(2.0 ** rng.integers(-4, 4))
    most = int(rng.integers(0, p + 2))
    loss = ("hinge", "squared-hinge")[power - 1]
    model = mo.Margin(
        X, y, loss, margin.SquaredNorm(mu), sample_weight=costs, intercept="free" if free else "penalised",
        subject_to=(mo.at_most(most).nonzero,),
    )  # fmt: skip
    truth = least_sparse(y[:, None] * X, costs, mu, free, most, power)
    able = [name for name in registry.solvers_that_read(model) if name in ("sparse-bb", "scip", "gurobi", "auto", "margin-bb")]
    solver = "sparse-bb" if "sparse-bb" in able and rng.random() < 0.7 else str(rng.choice(["auto", *able]))
    if solver != "sparse-bb":
        return claims(mo.solve(model, solver, time_limit=SECONDS), truth)
    with tempfile.TemporaryDirectory() as folder:
        log = str(Path(folder) / "log")
        nodes = int(rng.integers(1, 4)) if rng.random() < 0.3 else None
        result = mo.solve(model, solver, proof=log, node_limit=nodes, time_limit=SECONDS)
        report = mo.check_proof(log, model)
        fault = claims(result, truth)
        if not fault and not report.valid:
            fault = f"the solver's own log is refused: {report.message}"
        if not fault and not result.status.stopped and report.bound < result.bound - 1e-6 * abs(result.bound) - 1e-12:
            fault = f"the log claims {report.bound!r}, the result {result.bound!r}"
        for _ in range(4 if not fault else 0):
            forged(rng, log)
            report = mo.check_proof(log, model)
            if report.valid and math.isfinite(report.bound) and Fraction(report.bound) > truth:
                return f"bound {report.bound!r} of a forged log above the truth {float(truth)!r}"
    return fault and f"{fault} ({loss}, at most {most}, {X.shape})"


def semi_supervised(rng: Random) -> str:
    """Labelled hinge and unlabelled hat beside the best of all labellings, by relaxations and mixed-integer solvers."""
    n, free = int(rng.integers(3, 7)), bool(rng.random() < 0.6)
    X = np.column_stack([np.ones(n), rng.integers(-8, 9, (n, 1)) / 4.0])
    y = np.where(rng.random(n) < 0.5, 1.0, -1.0)
    y[:2] = 1.0, -1.0
    unlabelled = np.arange(n) >= int(rng.integers(2, n))
    costs = rng.integers(1, 9, n) / 4.0
    mu = float(2.0 ** rng.integers(-4, 3))
    groups = np.where(unlabelled, "unlabelled", "labelled")
    losses: Any = {"labelled": "hinge", "unlabelled": "hat"} if unlabelled.any() else "hinge"
    model = mo.Margin(
        X, np.where(unlabelled, 0.0, y), losses, margin.SquaredNorm(mu), sample_weight=costs,
        intercept="free" if free else "penalised", groups=groups if unlabelled.any() else None,
    )  # fmt: skip
    squares = (ZERO if free else Fraction(mu), Fraction(mu))
    truth = min(
        least_convex([tuple(s * v for v in fractions(x)) for s, x in zip(signs, X, strict=True)], fractions(costs), squares, 1)
        for signs in itertools.product(*([-1, 1] if u else [int(label)] for u, label in zip(unlabelled, y, strict=True)))
    )
    names = applicable_names(model)
    if names and rng.random() < 0.5:
        name = names[int(rng.integers(len(names)))]
        bound = relax(model, relaxations()[name].reduction, "auto", time_limit=SECONDS)
        above = bound.bound_kind == "proved" and math.isfinite(bound.bound) and Fraction(float(bound.bound)) > truth
        return f"bound {bound.bound!r} of {name} called proved above the truth {float(truth)!r}" if above else ""
    return claims(mo.solve(model, time_limit=SECONDS), truth)


# -- smooth losses -----------------------------------------------------------------------------------------------------


def smooth(rng: Random) -> str:
    """Logistic, exponential and Huber's loss by every solver beside Newton's method with 60 digits."""
    n, p = int(rng.integers(2, 12)), int(rng.integers(1, 4))
    X = rng.normal(size=(n, p)) * 10.0 ** rng.uniform(-2, 2)
    y = np.where(rng.permutation(n) < rng.integers(1, n), 1.0, -1.0)
    costs = rng.uniform(0.1, 2.0, n) * 10.0 ** rng.uniform(-3, 3)
    loss = str(rng.choice(["logistic", "exponential", "huber"]))
    mu = float(10.0 ** rng.uniform(-3, 2))
    model = mo.Margin(X, y, loss, margin.SquaredNorm(mu), sample_weight=costs)
    able = [name for name in registry.solvers_that_read(model) if name in ("linear-newton", "clarabel", "scs", "piqp", "auto")]
    solver = str(rng.choice(["auto", *able]))
    result = mo.solve(model, solver, time_limit=SECONDS)
    str(result)
    with mpmath.workdps(60):
        value, error = _newton(y[:, None] * X, costs, mu, loss, np.asarray(result.values.get("w", np.zeros(p))))
        if result.bound_kind == "proved" and math.isfinite(result.bound) and mpmath.mpf(float(result.bound)) > value + error:
            return f"bound {result.bound!r} called proved above the truth {mpmath.nstr(value, 20)} ({loss} by {result.solver})"
        allowed = (mpmath.mpf(10) ** -6 + result.tol) * value + mpmath.mpf(10) ** -12
        if result.status is mo.Status.OPTIMAL and abs(mpmath.mpf(float(result.objective)) - value) > allowed:
            return f"OPTIMAL at {result.objective!r}, the truth is {mpmath.nstr(value, 20)} ({loss} by {result.solver})"
    return ""


def _newton(A: np.ndarray, costs: np.ndarray, mu: float, loss: str, start: np.ndarray) -> tuple[Any, Any]:
    """The optimum, and by how much it may lie below: μ-strong convexity gives ||g||²/(4 mu)."""
    rows, c, p = [[mpmath.mpf(float(v)) for v in row] for row in A], [mpmath.mpf(float(v)) for v in costs], A.shape[1]
    w = mpmath.matrix([mpmath.mpf(float(v)) for v in start])

    def value(w: Any) -> Any:
        margins = [sum(a * v for a, v in zip(row, w, strict=True)) for row in rows]
        return mu * sum(v * v for v in w) + sum(k * _LOSS[loss](m)[0] for k, m in zip(c, margins, strict=True))

    for _ in range(300):
        margins = [sum(a * v for a, v in zip(row, w, strict=True)) for row in rows]
        slopes = [_LOSS[loss](m) for m in margins]
        g = mpmath.matrix(
            [2 * mu * w[j] + sum(k * s[1] * a[j] for k, s, a in zip(c, slopes, rows, strict=True)) for j in range(p)]
        )
        error = sum(v * v for v in g) / (4 * mpmath.mpf(mu))
        if error <= mpmath.mpf(10) ** -40 * value(w):
            break
        H = mpmath.matrix(p)
        for i, j in itertools.product(range(p), repeat=2):
            H[i, j] = sum(k * s[2] * a[i] * a[j] for k, s, a in zip(c, slopes, rows, strict=True)) + (2 * mu if i == j else 0)
        step, before, t = mpmath.lu_solve(H, g), value(w), mpmath.mpf(1)
        while (
            value(w - t * step) > before - t * sum(a * b for a, b in zip(g, step, strict=True)) / 4 and t > mpmath.mpf(2) ** -100
        ):
            t /= 2
        w = w - t * step
    return value(w), error


def _huber(m: Any) -> tuple[Any, Any, Any]:
    """Of the residual 1 - m, which is y - x'w up to its sign."""
    delta, r = mpmath.mpf(1.35), 1 - m
    if abs(r) <= delta:
        return r * r / 2, -r, mpmath.mpf(1)
    return delta * abs(r) - delta**2 / 2, -delta * mpmath.sign(r), mpmath.mpf(0)


def _logistic(m: Any) -> tuple[Any, Any, Any]:
    s = 1 / (1 + mpmath.exp(m))
    return mpmath.log1p(mpmath.exp(-m)), -s, s * (1 - s)


_LOSS: Any = {"logistic": _logistic, "exponential": lambda m: (mpmath.exp(-m), -mpmath.exp(-m), mpmath.exp(-m)), "huber": _huber}

FAMILIES: tuple[Family, ...] = (relaxed, sparse, smooth, semi_supervised)


def attack(number: int) -> tuple[str, str]:
    """(what was tried, what is wrong with it) of one case."""
    return tried(FAMILIES, 21, number)
