"""Weak duality: whatever the multipliers and the point, the Lagrangian bound does not exceed the optimum."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, strategies as st

from marginopt.models.program.cones import Nonnegative, SecondOrder, Zero
from marginopt.models.program.form import Block, Constraint, StandardForm
from marginopt.models.program.lagrangian import dual_bound_value
from marginopt.models.program.quadratic import Quadratic
from marginopt.solvers.rational import solve_linear
from marginopt.solvers.records import Options
from marginopt.solvers.solve import solve_problem


def random_qp(seed: int, *, linear: bool = False) -> StandardForm:
    """Strictly feasible at x0; every unbounded variable has curvature."""
    rng = np.random.default_rng(seed)
    n = int(rng.integers(2, 6))
    x0 = rng.normal(size=n)
    lower, upper = x0 - rng.uniform(0.1, 2, n), x0 + rng.uniform(0.1, 2, n)
    free = np.zeros(n, dtype=bool) if linear else rng.random(n) < 0.5
    lower[free], upper[free] = -np.inf, np.inf
    half = ~free & (rng.random(n) < 0.3)
    upper[half] = np.inf if not linear else upper[half]
    R = rng.normal(size=(n, n))
    F, E, S = rng.normal(size=(3, n)), rng.normal(size=(1, n)), rng.normal(size=(3, n))
    return StandardForm(
        "random",
        (Block("x", (n,)),),
        rng.normal(size=n),
        (
            Constraint("rows", sp.csr_array(F), rng.uniform(0.1, 1, 3) - F @ x0, Nonnegative(3)),
            Constraint("equal", sp.csr_array(E), -E @ x0, Zero(1)),
            Constraint("cone", sp.csr_array(S), np.array([2.0, 0.5, 0.5]) - S @ x0, SecondOrder(3)),
        ),
        lower,
        upper,
        np.zeros(n, dtype=bool),
        quadratic=None if linear else Quadratic(matrix=R.T @ R + 0.1 * np.eye(n)),
        r=float(rng.normal()),
    )


@given(st.integers(0, 400), st.booleans(), st.sampled_from([0.1, 1.0, 30.0]))
def test_any_multipliers_bound_from_below(seed: int, linear: bool, size: float) -> None:
    form = random_qp(seed % 40, linear=linear)
    optimum = solve_problem(form, "clarabel", Options(tol=1e-8))
    rng = np.random.default_rng(seed)
    for _ in range(5):
        multipliers = {c.label: size * rng.normal(size=c.rows) for c in form.constraints if rng.random() < 0.8}
        for x in (None, size * rng.normal(size=form.n)):
            bound = dual_bound_value(form, x, multipliers)
            assert bound <= optimum.objective + 1e-6 * (1 + abs(optimum.objective))


@given(st.integers(0, 40), st.booleans())
def test_the_optimum_s_own_multipliers_are_tight(seed: int, linear: bool) -> None:
    form = random_qp(seed, linear=linear)
    form = form.with_bounds(form.lower, np.where(np.isfinite(form.lower), np.minimum(form.upper, 50.0), np.inf))
    result = solve_problem(form, "clarabel", Options(tol=1e-8))
    assert result.multipliers is not None
    bound = dual_bound_value(form, form.join(result.values), result.multipliers)
    assert bound == pytest.approx(result.objective, rel=1e-6, abs=1e-5)


def test_by_hand() -> None:
    # min ½x² - x subject to x ≤ ½: with z on ½ - x ≥ 0 the Lagrangian's minimum is -(1 - z)²/2 - z/2
    form = StandardForm(
        "hand",
        (Block("x", (1,)),),
        np.array([-1.0]),
        (Constraint("c", sp.csr_array(np.array([[-1.0]])), np.array([0.5]), Nonnegative(1)),),
        np.array([-np.inf]),
        np.array([np.inf]),
        np.array([False]),
        quadratic=Quadratic(matrix=np.eye(1)),
    )
    for z in (0.0, 0.5, 1.0, 3.0):
        assert dual_bound_value(form, None, {"c": np.array([z])}) == pytest.approx(-((1 - z) ** 2) / 2 - z / 2)
    # a multiplier outside the dual cone is moved into it
    assert dual_bound_value(form, None, {"c": np.array([-4.0])}) == dual_bound_value(form, None, {})


def test_no_bound_where_the_infimum_is_minus_infinity() -> None:
    free = StandardForm(
        "free", (Block("x", (2,)),), np.array([0.0, 1.0]), (), np.full(2, -np.inf), np.full(2, np.inf), np.zeros(2, dtype=bool)
    )
    assert dual_bound_value(free, None, {}) == -np.inf
    flat = free.replace(quadratic=Quadratic(matrix=np.diag([1.0, 0.0])))
    assert dual_bound_value(flat, np.zeros(2), {}) == -np.inf
    assert dual_bound_value(flat.replace(q=np.array([1.0, 0.0])), None, {}) == pytest.approx(-0.5)
    half = free.with_bounds(np.zeros(2), np.full(2, np.inf))
    assert dual_bound_value(half, None, {}) == 0.0
    assert dual_bound_value(half.replace(q=np.array([-1.0, 0])), None, {}) == -np.inf


def test_a_singular_block_gives_no_wrong_bound() -> None:
    """Rank one on two free variables, slopes outside the range: the infimum is -∞, and no warning escapes."""
    form = StandardForm(
        "singular",
        (Block("x", (2,)),),
        np.array([1.0, -1.0]),
        (),
        np.full(2, -np.inf),
        np.full(2, np.inf),
        np.zeros(2, dtype=bool),
        quadratic=Quadratic(matrix=np.ones((2, 2))),
    )
    assert dual_bound_value(form, None, {}) < -1e12
    nearly = form.replace(quadratic=Quadratic(matrix=np.ones((2, 2)) + 1e-15 * np.eye(2)))
    assert dual_bound_value(nearly, None, {}) < -1e12


@pytest.mark.parametrize("error", [np.linalg.LinAlgError("SVD did not converge"), ValueError("illegal value in 4-th argument")])
def test_least_squares_that_fail_leave_no_bound_and_raise_nothing(error: Exception, monkeypatch: pytest.MonkeyPatch) -> None:
    """LAPACK's SVD did not converge on a Netlib program, and refused an argument in the attack.

    x free, x = 1/3 and multipliers that miss stationarity by a little.
    """
    free = np.full(2, np.inf)
    rows = Constraint("rows", sp.csr_array([[3.0, 1.0], [1.0, 7.0]]), np.array([-1.0, -1.0]), Zero(2))
    form = StandardForm("free", (Block("x", (2,)),), np.array([1.0, 2.0]), (rows,), -free, free, np.zeros(2, dtype=bool))
    z = {"rows": np.linalg.solve([[3.0, 1.0], [1.0, 7.0]], [1.0, 2.0]) + 1e-7}
    assert np.isfinite(dual_bound_value(form, None, z))

    def fails(*args: object, **kwargs: object) -> None:
        raise error

    monkeypatch.setattr("scipy.linalg.lstsq", fails)
    monkeypatch.setattr("scipy.linalg.solve", fails)
    assert dual_bound_value(form, None, z) == -np.inf


@given(st.integers(0, 10_000), st.sampled_from([0.0, 1e-9, 1e-3, 10.0]))
def test_free_variables_without_curvature_are_bounded_by_moving_the_point_too(seed: int, off: float) -> None:
    """P = R'R of deficient rank and equality rows: the bound never exceeds the optimum in fractions, and is near it.

    Whole numbers, as in HS51, HS52 and GENHS28 of Maros and Mészáros; multipliers and point are optimal, but for ``off``.
    """
    rng = np.random.default_rng(seed)
    n = int(rng.integers(2, 7))
    rank = int(rng.integers(1, n))
    R, E = rng.integers(-3, 4, size=(rank, n)), rng.integers(-3, 4, size=(n - rank + int(rng.integers(0, 2)), n))
    P, q, e = R.T @ R, rng.integers(-5, 6, size=n), rng.integers(-5, 6, size=len(E))
    if np.linalg.matrix_rank(np.vstack([R, E])) < n or np.linalg.matrix_rank(E) < len(E):
        return
    system = np.block([[P, -E.T], [E, np.zeros((len(E), len(E)), dtype=int)]])
    exact = solve_linear([[Fraction(int(v)) for v in row] for row in system], [Fraction(int(v)) for v in (*-q, *e)])
    assert exact is not None
    x, z = exact[:n], exact[n:]
    optimum = sum(Fraction(int(v)) * a for v, a in zip(q, x, strict=True))
    optimum += sum(Fraction(int(P[i, j])) * x[i] * x[j] for i in range(n) for j in range(n)) / 2
    free, rows = np.full(n, np.inf), Constraint("rows", sp.csr_array(E.astype(float)), -e.astype(float), Zero(len(E)))
    form = StandardForm(
        "whole numbers",
        (Block("x", (n,)),),
        q.astype(float),
        (rows,),
        -free,
        free,
        np.zeros(n, dtype=bool),
        quadratic=Quadratic(matrix=sp.csc_array(P.astype(float))),
    )
    point = np.array([float(v) for v in x]) + off * rng.normal(size=n)
    vector = np.array([float(v) for v in z]) + off * rng.normal(size=len(E))
    bound = dual_bound_value(form, point, {"rows": vector})
    assert Fraction(bound) <= optimum if np.isfinite(bound) else bound == -np.inf
    if off <= 1e-9:
        assert bound == pytest.approx(float(optimum), rel=1e-6, abs=1e-6)
