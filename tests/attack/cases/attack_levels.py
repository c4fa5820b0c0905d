"""Compositions with levels of their own, far from the origin and in any scale, beside the same problem near the origin.

Two hulls, and ν-SVM with a free intercept, are the same problem wherever the points are; powers of two as units change nothing
but the units. The laws:

- a proved bound is not above the truth, and OPTIMAL stands at it, to the tolerance: zero is no optimum beside it;
- the gap of what is OPTIMAL is closed by the result's own tolerance;
- w costs what the result says, with the best levels found in rational arithmetic, up to what margins round.
"""

from __future__ import annotations

from fractions import Fraction

import numpy as np
from families import tried
from rational.flats import dot, fractions

import marginopt as mo
from marginopt import margin

#: Relative error of the truth, which a solver of its own finds near the origin, and of what is OPTIMAL beside its tolerance.
TRUE, WRONG = 1e-7, 1e-6
SOLVERS = ("auto", "clarabel", "piqp", "highs", "osqp")

Random = np.random.Generator


def attack(number: int) -> tuple[str, str]:
    """(what was tried, what is wrong with it) of one case."""
    return tried((hulls, nu), 15, number)


def _data(rng: Random) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Points far from the origin, the same near it (exactly), and both classes."""
    n, p = int(rng.integers(4, 13)), int(rng.integers(1, 4))
    offset = float(rng.choice([0.0, 1.0, 1e3, 1e5, 1e7]))
    X = rng.normal(size=(n, p)) + offset
    return X, X - offset, np.where(rng.permutation(n) < rng.integers(1, n), 1.0, -1.0)


def hulls(rng: Random) -> str:
    """The primal of the distance between two hulls."""
    X, Z, y = _data(rng)
    return _beside(rng, X, Z, y, margin.NearestHulls())


def nu(rng: Random) -> str:
    """ν-SVM with a free intercept."""
    X, Z, y = _data(rng)
    ones = np.ones((len(y), 1))
    return _beside(rng, np.hstack([ones, X]), np.hstack([ones, Z]), y, margin.NuHinge(float(rng.uniform(0.1, 1.0))))


def _beside(rng: Random, X: np.ndarray, Z: np.ndarray, y: np.ndarray, loss: margin.Loss) -> str:
    """Return what is wrong with the answer about X in a unit of its own, beside that about Z."""
    costs, mu = 10.0 ** rng.uniform(-5, 5) * rng.uniform(0.5, 2.0, y.size), 10.0 ** float(rng.uniform(-7, 2))
    free = isinstance(loss, margin.NuHinge)
    unit = 2.0 ** int(rng.integers(-20, 21))
    scaled = X * unit
    scaled[:, 0] = 1.0 if free else scaled[:, 0]
    where = "free" if free else "penalised"
    near = mo.solve(mo.Margin(Z, y, loss, margin.SquaredNorm(mu), where, costs), "clarabel", tol=1e-9)
    known = near.status is mo.Status.OPTIMAL and near.bound_kind == "proved"
    solver = SOLVERS[int(rng.integers(len(SOLVERS)))]
    result = mo.solve(mo.Margin(scaled, y, loss, margin.SquaredNorm(mu * unit**2), where, costs), solver)
    truth, size = near.objective, max(abs(near.objective), abs(near.bound))
    if known and result.bound_kind == "proved" and result.bound > truth + TRUE * size:
        return f"bound {result.bound!r} called proved above the truth {truth!r} ({solver})"
    if result.status is not mo.Status.OPTIMAL:
        return ""
    if known and abs(result.objective - truth) > (WRONG + result.tol) * size:
        return f"OPTIMAL at {result.objective!r}, the truth is {truth!r} ({solver})"
    if np.isfinite(result.bound) and abs(result.gap) > result.tol:
        return f"OPTIMAL with a gap of {result.gap!r} ({solver})"
    assert result.certificate is not None
    cost, stated = _cost(scaled, y, loss, mu * unit**2, free, costs, result.values["w"]), Fraction(float(result.objective))
    if cost > stated + Fraction(result.tol) * abs(stated) + Fraction(result.certificate.rounding) + _rounding(
        scaled, costs, result
    ):
        return f"{float(stated)!r} is stated, w costs {float(cost)!r} ({solver})"
    return ""


def _rounding(X: np.ndarray, costs: np.ndarray, result: mo.Result) -> Fraction:
    """Return the cost of the rounding of the margins, from their terms: far from the origin w itself decides no more digits."""
    size = float(costs @ (np.abs(X) @ np.abs(result.values["w"])))
    return Fraction(2 * (X.shape[1] + 3), 2**53) * Fraction(size)


def _cost(X: np.ndarray, y: np.ndarray, loss: margin.Loss, mu: float, free: bool, costs: np.ndarray, w: np.ndarray) -> Fraction:
    """Return what w costs at the best levels."""
    point, c = fractions(w), fractions(costs)
    margins = [int(label) * dot(fractions(x), point) for x, label in zip(X, y, strict=True)]
    norm = Fraction(mu) * sum((v * v for v in point[int(free) :]), Fraction(0))
    if isinstance(loss, margin.NuHinge):
        share = Fraction(loss.nu) * sum(c, Fraction(0))
        levels = [Fraction(0), *(m for m in margins if m > 0)]
        return norm + min(sum((a * max(r - m, Fraction(0)) for a, m in zip(c, margins, strict=True)), -share * r) for r in levels)
    for side in (-1.0, 1.0):
        norm += _hull([(m, a) for m, a, label in zip(margins, c, y, strict=True) if label == side])
    return norm


def _hull(points: list[tuple[Fraction, Fraction]]) -> Fraction:
    """min over t of ½Σc(t - m)_+² - t."""
    weight = moment = Fraction(0)
    ordered = sorted(points)
    level = Fraction(0)
    for k, (m, c) in enumerate(ordered):
        weight, moment = weight + c, moment + c * m
        level = (1 + moment) / weight
        if k + 1 == len(ordered) or level <= ordered[k + 1][0]:
            break
    return sum((c * max(level - m, Fraction(0)) ** 2 for m, c in points), Fraction(0)) / 2 - level
