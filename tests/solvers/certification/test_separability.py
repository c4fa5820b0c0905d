"""Separability: both answers with a proof that is checked here."""

from __future__ import annotations

import itertools
from fractions import Fraction

import numpy as np
import pytest
from effort import trials
from facts import failed
from hypothesis import given, settings, strategies as st

from marginopt.errors import SolverError
from marginopt.models import ConicSVM, HardMarginSVM, Linear
from marginopt.solvers.certification.rays import Separability, separability
from marginopt.solvers.rational import solve_linear
from marginopt.solvers.records import Options, Status
from marginopt.solvers.solve import solve_problem


def verify(A: np.ndarray, answer: Separability) -> None:
    """Check the proof, whichever it is."""
    if answer.separable:
        assert answer.w is not None
        assert answer.farkas is None
        assert (A @ answer.w).min() == pytest.approx(1.0, rel=1e-9)
    else:
        f = answer.farkas
        assert answer.w is None
        assert f is not None
        assert (f >= 0).all()
        assert f.sum() == pytest.approx(1.0)
        assert np.abs(A.T @ f).max() <= 1e-9 * np.abs(A).max()
        assert answer.residual <= 1e-9


@settings(max_examples=100)
@given(
    st.integers(0, 100_000),
    st.sampled_from(["normal", "shifted", "integers", "opposite", "scales", "separated"]),
)
def test_random_rows(seed: int, kind: str) -> None:
    rng = np.random.default_rng(seed)
    n, p = int(rng.integers(2, 30)), int(rng.integers(1, 7))
    A = rng.normal(size=(n, p))
    if kind == "shifted":
        A += 0.7
    elif kind == "integers":
        A = np.round(2 * A)
    elif kind == "opposite":
        A[-1] = -A[0] * 2.0 ** rng.integers(-2, 3)
    elif kind == "scales":
        A *= 10 ** rng.uniform(-4, 4, size=(n, 1))
    elif kind == "separated":
        direction = rng.normal(size=p)
        A *= np.sign(A @ direction)[:, None]
    answer = separability(A)
    verify(A, answer)
    if kind == "separated":
        assert answer.separable
    if kind == "opposite":
        assert not answer.separable


def test_a_row_of_zeros_is_the_proof() -> None:
    A = np.array([[1.0, 0.0], [0.0, 0.0], [0.0, 1.0]])
    answer = separability(A)
    assert not answer.separable
    np.testing.assert_array_equal(answer.farkas, [0, 1, 0])  # type: ignore[arg-type]


def test_a_thin_but_positive_margin_separates() -> None:
    A = np.array([[1.0, 1e-6], [-1.0, 1e-6]])
    answer = separability(A)
    verify(A, answer)
    assert answer.separable


def test_weak_separation_is_none() -> None:
    """Points on the hyperplane: w'a ≥ 0 is possible, w'a ≥ 1 is not."""
    A = np.array([[1.0, 0.0], [-1.0, 0.0], [0.0, 1.0]])
    answer = separability(A)
    verify(A, answer)
    assert not answer.separable


def test_undecided_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    class Broken:
        status, message = 4, "numerical difficulties"

    monkeypatch.setattr("scipy.optimize.linprog", lambda *args, **kwargs: Broken())
    with pytest.raises(SolverError, check=failed("highs")):
        separability(np.eye(2))


@pytest.mark.parametrize("kernel", [None, Linear()])
def test_kappa_zero_by_any_route(overlapping: object, separable: object, kernel: object) -> None:
    for points, status in ((overlapping, Status.INFEASIBLE), (separable, Status.OPTIMAL)):
        X = points.X if kernel is None else points.X[:, 1:]  # type: ignore[attr-defined]
        model = ConicSVM(X, points.y, kappa=0.0, kernel=kernel)  # type: ignore[attr-defined, arg-type]
        result = solve_problem(model, "clarabel", Options())
        assert result.status is status
        if status is Status.INFEASIBLE:
            f = result.details["farkas"]["margin"]
            rows = model.signed
            assert np.abs(rows.T @ f).max() <= 1e-8 * np.abs(rows).max()
            assert "decided by a linear program before clarabel was called" in result.claim.native_status


def _least_norm(A: np.ndarray) -> Fraction | None:
    """min ||w||² over A w ≥ 1 in rational arithmetic, by all sets of active rows; None where no w is feasible."""
    rows = [[Fraction(v) for v in row] for row in A.tolist()]
    gram = [[sum((a * b for a, b in zip(u, v, strict=True)), Fraction(0)) for v in rows] for u in rows]
    norms = []
    for size in range(1, A.shape[1] + 1):
        for active in itertools.combinations(range(len(rows)), size):
            alpha = solve_linear([[gram[i][j] for j in active] for i in active], [Fraction(1)] * size)
            if alpha is not None and all(
                sum((a * gram[i][k] for a, i in zip(alpha, active, strict=True)), Fraction(0)) >= 1 for k in range(len(rows))
            ):
                norms.append(sum(alpha, Fraction(0)))
    return min(norms, default=None)


def _thin(seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Points whose margin may be far below the tolerance of any solver: offsets, near copies, planes but for rounding."""
    rng = np.random.default_rng(seed)
    n, p = int(rng.integers(4, 8)), int(rng.integers(1, 4))
    Z, y = rng.integers(-2, 3, size=(n, p)).astype(float), np.where(np.arange(n) % 2, 1.0, -1.0)
    kind = seed % 5
    if kind == 0:
        Z[1] = Z[0] + 10.0 ** -rng.integers(5, 16)
    elif kind == 1:
        Z += 1e5
    elif kind == 2:
        Z[:, 0] = 0.1 * Z[:, -1]
        Z += 1e-9 * rng.normal(size=Z.shape)
    elif kind == 3:
        Z *= 10.0 ** -rng.integers(3, 9)
    else:
        Z[:, 0] += y * 10.0 ** -rng.integers(3, 9)
    return np.column_stack([np.ones(n), Z]), y


@pytest.mark.parametrize("seed", range(trials(60, 600)))
def test_separability_is_that_of_the_rational_numbers(seed: int) -> None:
    X, y = _thin(seed)
    answer = separability(y[:, None] * X)
    assert answer.separable is (_least_norm(y[:, None] * X) is not None)


@pytest.mark.parametrize("seed", range(trials(30, 200)))
@pytest.mark.parametrize("solver", ["clarabel", "highs"])
@pytest.mark.filterwarnings("ignore:the features")
def test_hard_margins_are_infeasible_only_where_no_point_is(seed: int, solver: str) -> None:
    X, y = _thin(seed)
    truth = _least_norm(y[:, None] * X)
    for model, factor in ((ConicSVM(X, y, kappa=0.0), 1), (HardMarginSVM(X, y, intercept="penalised"), Fraction(1, 2))):
        result = solve_problem(model, solver, Options())
        if truth is None:
            assert result.status is Status.INFEASIBLE
            continue
        assert result.status is not Status.INFEASIBLE
        assert result.bound_kind != "proved" or Fraction(result.bound) <= factor * truth
