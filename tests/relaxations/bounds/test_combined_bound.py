"""The closed-form dual of the SDP with big-M rows: the per-point functions, and bounds from multipliers of any quality."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from facts import about
from hypothesis import given, strategies as st

from marginopt.errors import InputError
from marginopt.relaxations.bounds.big_m import _quotients
from marginopt.relaxations.bounds.convexification import PointLosses, combined_bound, combined_value
from marginopt.solvers.rational import solve_linear

positive = st.floats(0.05, 20.0)


def one(lam: float, M: float, gamma: float) -> PointLosses:
    return PointLosses.of(np.array([lam]), np.array([M]), np.array([gamma]))


def least_over_z(r: float, lam: float, M: float, gamma: float) -> float:
    """χ by brute force over z."""
    low = max(r / M, 0.0)
    z = np.concatenate([np.linspace(low, 1.0, 20001), low + np.geomspace(1e-12, 1.0, 4001) * (1.0 - low)])
    with np.errstate(divide="ignore", invalid="ignore"):
        first = np.where(r > 0, r * r / z, 0.0)
        second = np.where(r < 0, r * r / (1 - z), 0.0)
        return float(np.nanmin(lam * z + (gamma * (first + second) if gamma > 0 else 0.0)))


@given(lam=positive, M=positive, gamma=st.one_of(st.just(0.0), st.floats(1e-3, 20.0)), share=st.floats(-1.0, 1.0))
def test_value_is_the_minimum_over_z(lam: float, M: float, gamma: float, share: float) -> None:
    r = share * M
    expected = least_over_z(r, lam, M, gamma)
    assert one(lam, M, gamma).value(np.array([r]))[0] == pytest.approx(expected, rel=1e-6, abs=1e-9)


@given(lam=positive, M=positive, gamma=st.floats(1e-3, 20.0), beyond=st.floats(-2.0, 2.0))
def test_conjugate_is_the_largest_affine_gap(lam: float, M: float, gamma: float, beyond: float) -> None:
    losses = one(lam, M, gamma)
    V = beyond * float(losses.last_slope[0])
    r = np.concatenate([np.linspace(-2 * abs(V) / gamma - 1.0, 0.0, 20001), np.linspace(0.0, M, 20001), losses.c])
    values = PointLosses.of(np.full(r.size, lam), np.full(r.size, M), np.full(r.size, gamma)).value(r)
    array = float(losses.conjugate(np.array([V]))[0])
    assert array == pytest.approx(float((V * r - values).max()), rel=1e-4, abs=1e-4 * (1 + abs(V) * M))
    assert array >= float((V * r - values).max()) - 1e-9 * (1 + abs(V) * M + lam + gamma * M * M)


@given(lam=positive, M=positive, gamma=st.one_of(st.just(0.0), st.floats(1e-3, 20.0)), share=st.floats(0.0, 1.0))
def test_the_best_multiplier_of_the_row_gives_the_same_function(lam: float, M: float, gamma: float, share: float) -> None:
    """max over δ ≥ 0 of min over z of (λ - δM)z + γ(r_+²/z + r_-²/(1-z)) + δr, λ - δM of either sign, is χ."""
    r = share * M
    delta = np.linspace(0.0, 4.0 * (lam / M + gamma * M), 801)
    reduced = lam - delta * M
    # r > 0: the minimum over z of cz + γr²/z on (0, 1]
    z = np.where(reduced > 0, np.minimum(1.0, r * np.sqrt(gamma / np.where(reduced > 0, reduced, 1.0))), 1.0)
    with np.errstate(divide="ignore", invalid="ignore"):
        ratio = np.where(z > 0, gamma * r * r / z, 0.0)
    dual = (reduced * z + ratio + delta * r).max()
    primal = float(one(lam, M, gamma).value(np.array([r]))[0])
    assert dual <= primal + 1e-9 * (1 + primal)
    assert dual == pytest.approx(primal, rel=2e-2, abs=2e-2)


@given(lam=positive, M=positive, gamma=st.one_of(st.just(0.0), st.floats(1e-3, 20.0)), delta=st.sampled_from([1e-1, 1e-3]))
def test_smoothed_slopes_increase_and_maximise(lam: float, M: float, gamma: float, delta: float) -> None:
    losses = one(lam, M, gamma)
    r = np.linspace(-1.5 * M, 1.5 * M, 201)
    slopes = np.array([float(losses.slopes(delta)(np.array([v]))[0][0]) for v in r])
    assert (np.diff(slopes) >= -1e-9 * (1 + np.abs(slopes[:-1]))).all()
    kappa = delta * float(losses.c[0] / losses.s[0])
    for v, slope in zip(r[::20], slopes[::20], strict=True):
        trials = slope + np.linspace(-1.0, 1.0, 201) * max(abs(slope), 1e-3)
        trials = trials[trials >= 0] if gamma == 0.0 else trials
        inside = np.array([float(losses.conjugate(np.array([t]))[0]) for t in trials])
        best = float((trials * v - inside - 0.5 * kappa * trials**2).max())
        block = float(losses.smoothed(np.array([v]), delta)[0])
        assert block >= best - 1e-7 * (1 + abs(best) + lam + gamma * M * M)


def test_any_multipliers_bound_any_feasible_point() -> None:
    rng = np.random.default_rng(0)
    for trial in range(40):
        n, p = 8, 2 + trial % 3
        A = rng.normal(size=(n, p))
        lam, M = rng.uniform(0.2, 4.0, n), rng.uniform(1.0, 6.0, n)
        gamma, slope = rng.normal(size=n) * 10.0 ** rng.integers(-2, 3), rng.normal(size=n) * 5.0
        bound = combined_bound(A, lam, M, gamma, slope=slope, w=rng.normal(size=p))
        assert bound.value >= 0.0
        assert combined_value(A, PointLosses.of(lam, M, bound.gamma), bound.slope) == pytest.approx(bound.value, abs=1e-12)
        for _ in range(30):
            w = rng.normal(size=p) * rng.uniform(0.0, 3.0)
            r = 1.0 - A @ w
            if (r <= M).all():  # 0-1 points that the rows allow
                assert bound.value <= w @ w + lam[r > 0].sum() + 1e-9


def test_more_features_than_points() -> None:
    rng = np.random.default_rng(1)
    A = rng.normal(size=(4, 9))
    bound = combined_bound(A, np.ones(4), np.full(4, 3.0), np.full(4, 0.05))
    assert bound.gamma.sum() * (1 - 1e-6) <= bound.value <= 4.0  # V = 2γ gives Σγ


def test_wrong_multipliers_are_errors() -> None:
    A = np.eye(3)
    for weights, M, gamma in (
        (np.ones(2), np.ones(3), np.ones(3)),
        (np.ones(3), np.zeros(3), np.ones(3)),
        (np.ones(3), np.ones(3), np.array([0.0, np.nan, 1.0])),
    ):
        with pytest.raises(InputError, check=about("weights")):
            combined_bound(A, weights, M, gamma)


def test_a_singular_dual_matrix_proves_nothing() -> None:
    losses = PointLosses.of(np.ones(1), np.full(1, 2.0), np.array([1.0]))
    assert combined_value(np.array([[1.0, 0.0]]), losses, np.zeros(1)) == -np.inf
    flat = PointLosses.of(np.ones(1), np.full(1, 2.0), np.zeros(1))
    assert combined_value(np.array([[1.0, 0.0]]), flat, np.array([-1.0])) == -np.inf


def _conjugate(V: Fraction, lam: Fraction, M: Fraction, gamma: Fraction) -> Fraction:
    """χ*(V) in rational arithmetic; the corner 2√(λγ) is compared by squares."""
    if V < 0:
        return V * V / (4 * gamma)
    slack = gamma * M * M >= lam
    if 4 * lam * gamma >= V * V if slack else lam / M + gamma * M >= V:
        return Fraction(0)
    if slack and 2 * gamma * M >= V:
        return V * V / (4 * gamma) - lam
    return M * V - lam - gamma * M * M


def test_the_value_is_below_that_of_rational_arithmetic() -> None:
    """D(γ, V) exactly, at all scales, with V at the corners of χ* to an ulp, and S nearly singular."""
    rng = np.random.default_rng(0)
    closest = []
    for trial in range(60):
        n, p = 6, 2
        scale = 10.0 ** rng.integers(-3, 4)
        rows = scale * rng.normal(size=(n, p))
        weights, M = 10.0 ** rng.uniform(-3, 3, size=n), 1.0 + 10.0 ** rng.uniform(-2, 2, size=n)
        gamma = rng.random(n)
        largest = np.linalg.eigvalsh((rows * gamma[:, None]).T @ rows)[-1]
        gamma *= (0.5, 0.99, 1.0 - 1e-9)[trial % 3] / largest
        losses = PointLosses.of(weights, M, gamma)
        V = np.where(
            rng.random(n) < 0.6, losses.s * (1.0 + rng.integers(-3, 4, size=n) * 2.0**-52), losses.last_slope * rng.random(n)
        )
        value = combined_value(rows, losses, V)
        R, G = [[Fraction(v) for v in row] for row in rows.tolist()], list(map(Fraction, gamma.tolist()))
        U = list(map(Fraction, V.tolist()))
        moments = [[sum(g * row[i] * row[j] for g, row in zip(G, R, strict=True)) for j in range(p)] for i in range(p)]
        S = [[Fraction(i == j) - moments[i][j] for j in range(p)] for i in range(p)]
        slope = [sum((2 * g - v) * row[j] for g, v, row in zip(G, U, R, strict=True)) for j in range(p)]
        y = solve_linear(S, slope)
        assert y is not None
        exact = sum(U, Fraction(0)) - sum(G, Fraction(0)) - sum((a * b for a, b in zip(slope, y, strict=True)), Fraction(0)) / 4
        for v, lam, m, g in zip(U, weights.tolist(), M.tolist(), G, strict=True):
            exact -= _conjugate(v, Fraction(lam), Fraction(m), g)
        assert value == -np.inf or Fraction(value) <= exact
        if trial % 3 < 2:
            closest.append(float((exact - Fraction(value)) / max(abs(exact), sum(U))))
    assert max(closest) <= 1e-9


def test_a_quotient_is_rounded_down() -> None:
    rng = np.random.default_rng(0)
    weights, M = rng.random(200), 1.0 + rng.random(200)
    result = _quotients(weights, M)
    triples = zip(result.tolist(), M.tolist(), weights.tolist(), strict=True)
    assert all(Fraction(q) * Fraction(m) <= Fraction(w) for q, m, w in triples)
    assert result == pytest.approx(weights / M, rel=1e-15)
    assert (_quotients(weights, np.ones(200)) == weights).all()
