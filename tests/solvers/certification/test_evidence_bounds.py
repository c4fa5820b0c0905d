"""No proved bound lies above the exact value of a feasible point: rounding, convexity, scale, and bounds that used to be lost."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from effort import trials

import marginopt as mo
from marginopt.models import (
    ConicSVM,
    ConvexHullsDual,
    HingeQuadratic,
    HingeSVM,
    L2SVMDual,
    MEBDual,
    NonparallelSVM,
    Precomputed,
)
from marginopt.models.formulations.nonparallel.quadratic_factors import HingeFactor
from marginopt.models.program.cones import Nonnegative
from marginopt.models.program.form import Block, Constraint, StandardForm
from marginopt.models.program.lagrangian import dual_bound
from marginopt.models.program.quadratic import Evidence, Quadratic, convexity_on_equalities, matrix_convexity
from marginopt.solvers.certification.certificate import certify
from marginopt.solvers.records import Status

pytestmark = pytest.mark.filterwarnings("ignore::marginopt.errors.MarginoptWarning")


def exact(v: Any) -> Any:
    """Fractions of an array of floats."""
    return [Fraction(float(x)) for x in v] if np.ndim(v) == 1 else [exact(row) for row in v]


def quadratic(P: np.ndarray, q: np.ndarray, x: np.ndarray) -> Fraction:
    """½x'Px + q'x of the stored numbers."""
    rows, v = exact(P), exact(x)
    product = [sum((a * b for a, b in zip(row, v, strict=True)), Fraction(0)) for row in rows]
    return sum((b * (p / 2 + Fraction(float(c))) for b, p, c in zip(v, product, q, strict=True)), Fraction(0))


def box(P: np.ndarray, q: np.ndarray, low: Any, high: Any) -> StandardForm:
    n = len(q)
    lower, upper = np.full(n, low, dtype=float), np.full(n, high, dtype=float)
    return StandardForm("qp", (Block("x", (n,)),), q, (), lower, upper, np.zeros(n, bool), Quadratic(matrix=P))


# -- rounding ------------------------------------------------------------------------------------------------------


def ball_value(X: np.ndarray, a: np.ndarray) -> Fraction:
    """Σ a_i ||x_i||² - ||Σ a_i x_i||² at a/Σa."""
    rows, v = exact(X), exact(np.maximum(a, 0.0))
    mass = sum(v, Fraction(0))
    v = [x / mass for x in v]
    centre = [sum((w * row[j] for w, row in zip(v, rows, strict=True)), Fraction(0)) for j in range(X.shape[1])]
    spread = sum((w * sum((x * x for x in row), Fraction(0)) for w, row in zip(v, rows, strict=True)), Fraction(0))
    return spread - sum((c * c for c in centre), Fraction(0))


def test_a_ball_far_from_the_origin() -> None:
    result = mo.solve(MEBDual([[1e8, 0], [1e8 + 2, 0], [1e8 + 1, 1]]), "smo")
    assert result.status is Status.OPTIMAL
    assert result.objective == pytest.approx(1.0, rel=1e-6)
    assert result.bound >= 1.0  # a maximum: the bound is an upper one


@pytest.mark.parametrize("far", [0.0, 1e5, 1e7])
@pytest.mark.parametrize("solver", ["auto", "smo", "clarabel"])
def test_balls_of_normal_points(far: float, solver: str) -> None:
    for seed in range(4):
        X = np.random.default_rng(seed).normal(size=(25, 3)) + far
        result = mo.solve(MEBDual(X), solver)
        value = ball_value(X, result.values["a"])
        assert Fraction(result.bound) >= value
        if solver != "clarabel":
            assert result.status is Status.OPTIMAL and result.bound == pytest.approx(float(value), rel=1e-5)


def test_quadratics_of_condition_1e10() -> None:
    rng = np.random.default_rng(0)
    close = 0
    for k in range(200):
        n = int(rng.integers(2, 7))
        Q, _ = np.linalg.qr(rng.normal(size=(n, n)))
        P = (Q * 10 ** rng.uniform(-10, 0, size=n)) @ Q.T
        P, q = 0.5 * (P + P.T), rng.normal(size=n)
        free = np.arange(n) < (n if k % 2 else n // 2)
        form = box(P, q, np.where(free, -np.inf, -1.0), np.where(free, np.inf, 1.0))
        x = np.linalg.solve(P, -q) if free.all() else np.clip(rng.normal(size=n), -1, 1)
        bound = dual_bound(form, x, {})
        value = quadratic(P, q, x)
        assert Fraction(bound.value) <= value
        close += bool(free.all() and value - Fraction(bound.value) <= Fraction(1, 10**6) * abs(value))
    assert close >= 90


def test_nearly_equal_columns() -> None:
    """The class problems, whose H hardly sees one direction: bounds hold for the model's own exact value."""
    rng = np.random.default_rng(1)
    for k in range(24):
        n = 14
        X = np.column_stack([np.ones(n), rng.normal(size=(n, 2))])
        X = np.column_stack([X, X[:, 1] + 10.0 ** -rng.uniform(6, 9) * rng.normal(size=n)])
        labels = np.arange(n) % 2
        model = NonparallelSVM(
            X, labels, target=1, loss=("twsvm", "npsvm", "lstsvm")[k % 3], c=1.0, r=10.0 ** -rng.uniform(6, 12)
        )
        result = mo.solve(model, "clarabel")
        if result.bound_kind == "proved":
            assert Fraction(result.bound) <= class_value(model, result.values["u"])


def class_value(model: NonparallelSVM, u: np.ndarray) -> Fraction:
    """The stated objective of the stored numbers."""
    v = exact(u)
    value = Fraction(float(model.r)) / 2 * sum((x * x for x in v), Fraction(0))
    c, s, epsilon = (Fraction(float(x)) for x in (model.c, model.margin, model.epsilon))
    for row, inside in zip(exact(np.asarray(model.X)), model.inside, strict=True):
        f = sum((a * b for a, b in zip(row, v, strict=True)), Fraction(0))
        if inside:
            value += max(abs(f) - epsilon, Fraction(0)) if model.loss == "npsvm" else f * f / 2
        else:
            value += c * ((s - f) ** 2 / 2 if model.loss == "lstsvm" else max(s - f, Fraction(0)))
    return value


def test_a_hinge_quadratic_whose_h_is_nearly_singular() -> None:
    rng = np.random.default_rng(2)
    for _ in range(60):
        A = rng.normal(size=(8, 3))
        A = np.column_stack([A, A[:, 0] + 1e-6 * rng.normal(size=8)])
        H = A.T @ A + 1e-11 * np.eye(4)
        model = HingeQuadratic(
            HingeFactor(0.5 * (H + H.T), rng.normal(size=(9, 4))), rng.normal(size=4), np.ones(9), np.ones(9), 0.0
        )
        lam = rng.random(9)
        bound = model.bound(None, {"margin": lam})
        u = exact(model.primal(lam))
        value = quadratic(model.factor.H, model.b, model.primal(lam))
        for row, h in zip(exact(model.factor.G), exact(model.h), strict=True):
            value += max(h - sum((a * b for a, b in zip(row, u, strict=True)), Fraction(0)), Fraction(0))
        if np.isfinite(bound.value):
            assert Fraction(bound.value) <= value


# -- convexity -----------------------------------------------------------------------------------------------------


def saddle() -> StandardForm:
    return box(np.array([[0.0, 1.0], [1.0, 0.0]]), np.zeros(2), -1.0, 1.0)


@pytest.mark.parametrize("solver", ["clarabel", "osqp", "scs", "piqp", "highs"])
def test_xy_on_a_square(solver: str, tmp_path: Path) -> None:
    for form in (saddle(), mo.read(mo.models.export.file_formats.write_form(saddle(), tmp_path / "saddle.lp"))):
        try:
            result = mo.solve(form, solver)
        except mo.errors.MarginoptError:
            continue
        assert result.status is not Status.OPTIMAL
        assert result.bound_kind == "none" or result.bound <= -1.0 + 1e-9


def test_evidence_for_a_matrix() -> None:
    assert matrix_convexity(np.eye(3)).is_proved
    assert matrix_convexity(np.array([[1.0, 1.0], [1.0, 1.0]])).is_proved  # singular, decided in fractions
    gram = np.random.default_rng(0).normal(size=(40, 5))
    assert matrix_convexity(gram @ gram.T).is_proved
    for P in (np.array([[0.0, 1.0], [1.0, 0.0]]), np.diag([1.0, -1e-30]), np.array([[1.0, 2.0], [2.0, 1.0]])):
        convexity = matrix_convexity(P)
        assert convexity.evidence is Evidence.NEGATIVE and convexity.witness is not None
        assert quadratic(P, np.zeros(len(P)), convexity.witness) < 0
    distance = -np.abs(np.subtract.outer(np.arange(20.0), np.arange(20.0)))
    assert matrix_convexity(distance).is_refuted  # but it is convex where the weights sum to a constant
    assert convexity_on_equalities(distance, np.ones((1, 20))) is not None


def sigmoid(A: Any, B: Any) -> Any:
    return np.tanh(2.0 * A @ B.T - 1.0)


def negative_distance(A: Any, B: Any) -> Any:
    return -np.sqrt(np.maximum((A**2).sum(1)[:, None] + (B**2).sum(1)[None, :] - 2.0 * A @ B.T, 0.0))


@pytest.mark.parametrize("solver", ["smo", "fw", "pga", "clarabel", "osqp"])
@pytest.mark.parametrize("kernel", ["precomputed", "sigmoid", "distance"])
def test_indefinite_kernels_prove_nothing(kernel: str, solver: str) -> None:
    for seed in range(trials(1, 3)):
        rng = np.random.default_rng(seed)
        X, y = rng.normal(size=(16, 2)), np.where(np.arange(16) % 2 == 0, 1.0, -1.0)
        data, function = X, {"sigmoid": sigmoid, "distance": negative_distance, "precomputed": Precomputed()}[kernel]
        if kernel == "precomputed":
            data = rng.normal(size=(16, 16))
            data = 0.5 * (data + data.T)
        for model in (L2SVMDual(data, y, 10.0, function), ConvexHullsDual(data, y, 10.0, function), MEBDual(data, function)):
            try:
                result = mo.solve(model, solver)
            except mo.errors.MarginoptError:
                continue
            least = least_vertex(model)
            if result.bound_kind == "proved":
                assert result.sign * result.bound <= least
            if result.sign * result.objective > least + 1e-6 * abs(least):
                assert result.status is not Status.OPTIMAL


def least_vertex(model: Any) -> float:
    """The least objective of the vertices: one point of each simplex."""
    view = model.simplex
    groups = [np.flatnonzero(view.groups == g) for g in range(view.simplices)]
    candidates = [[i] for i in groups[0]] if len(groups) == 1 else [[i, j] for i in groups[0] for j in groups[1]]
    values = []
    for chosen in candidates:
        a = np.zeros(view.n)
        a[chosen] = 1.0
        values.append(view.objective(a))
    return min(values)


# -- scale ---------------------------------------------------------------------------------------------------------


def test_small_data_are_not_optimal_by_an_absolute_tolerance() -> None:
    X = np.random.default_rng(0).normal(size=(20, 3)) * 1e-5
    for solver in ("highs", "osqp", "scs", "clarabel", "smo"):
        result = mo.solve(MEBDual(X), solver)
        if result.status is Status.OPTIMAL:
            assert result.gap <= 1e-5


def test_a_large_c() -> None:
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(40, 2)), np.where(np.arange(40) % 2 == 0, 1.0, -1.0)
    X[:, 0] += 3.0 * y
    for solver in ("osqp", "scs"):
        result = mo.solve(L2SVMDual(X, y, 1e6), solver)
        if result.status is Status.OPTIMAL:
            assert result.gap <= 1e-4


def test_a_narrow_box_is_measured_by_itself() -> None:
    form = box(np.eye(1), np.array([1.0]), 0.0, 1e-6)
    assert certify(form, {"x": np.array([2e-6])}).primal_residual > 0.1
    assert certify(form, {"x": np.array([1e-6])}).primal_residual == 0.0
    elsewhere = box(np.eye(1), np.array([1.0]), 0.5, 0.5 + 1e-6)  # beside sides of a half, 4e-7 passed for a rounding
    assert certify(elsewhere, {"x": np.array([0.5 - 4e-7])}).primal_residual > 1e-4
    assert certify(elsewhere, {"x": np.array([0.5 - 1e-13])}).primal_residual < 1e-9


def test_optima_of_zero_end_well() -> None:
    rng = np.random.default_rng(3)
    X, y = np.column_stack([np.ones(30), rng.normal(size=(30, 2))]), np.where(np.arange(30) % 2 == 0, 1.0, -1.0)
    for solver, tol in (("conic-ipm", None), ("clarabel", 1e-7)):  # what it leaves at 1e-6 depends on the processor
        result = mo.solve(ConicSVM(X, y, kappa=1.0), solver, tol=tol)
        assert result.status is Status.OPTIMAL and abs(result.objective) <= 1e-6
    assert mo.solve(MEBDual(np.ones((5, 2))), "smo").status is Status.OPTIMAL


# -- bounds that were lost -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("solver", ["clarabel", "scs", "osqp", "highs", "piqp"])
def test_a_row_more_on_the_hinge_form(solver: str) -> None:
    rng = np.random.default_rng(0)
    X, y = np.column_stack([np.ones(30), rng.normal(size=(30, 3))]), np.where(rng.random(30) > 0.5, 1.0, -1.0)
    form = HingeSVM(X, y, lam=1.0).form
    row = Constraint("sum", sp.csr_array(np.r_[np.ones(4), np.zeros(30)][None, :]), np.array([0.1]), Nonnegative(1))
    for one in (form, form.replace(constraints=(*form.constraints, row))):
        result = mo.solve(one, solver)
        assert result.bound_kind == "proved"
        assert result.bound == pytest.approx(result.objective, rel=1e-4)
        assert result.certificate.bound <= result.certificate.objective * (1 + 1e-6)


def test_linear_programs_with_free_variables() -> None:
    """Bounds by multipliers perturbed by 1e-9, against the exact optimum of the vertex that the multipliers name."""
    rng = np.random.default_rng(0)
    checked = 0
    for _ in range(120):
        n = int(rng.integers(2, 4))
        m = n + int(rng.integers(1, 6))
        A, z = rng.integers(-9, 10, size=(m, n)).astype(float), np.zeros(m)
        z[:n] = rng.integers(1, 9, size=n)
        if abs(np.linalg.det(A[:n])) < 0.5:
            continue
        point = rng.integers(-5, 6, size=n).astype(float)
        side = A @ point - np.where(np.arange(m) < n, 0.0, rng.integers(0, 5, size=m))  # A x ≥ side, tight on the first n rows
        q = A.T @ z  # everything is whole numbers: the optimum q'point is exact
        form = StandardForm(
            "lp", (Block("x", (n,)),), q, (Constraint("rows", sp.csr_array(A), -side, Nonnegative(m)),),
            np.full(n, -np.inf), np.full(n, np.inf), np.zeros(n, bool),
        )  # fmt: skip
        bound = dual_bound(form, point, {"rows": z * (1.0 + 1e-9 * rng.normal(size=m))})
        optimum = Fraction(float(q @ point))
        assert np.isfinite(bound.value)
        assert Fraction(bound.value) <= optimum
        assert optimum - Fraction(bound.value) <= Fraction(1, 10**6) * max(abs(optimum), 1)
        checked += 1
    assert checked > 80


def test_broken_multipliers_are_no_bound_and_no_crash() -> None:
    form = HingeSVM(np.array([[1.0, 2.0], [1.0, -1.0]]), [1.0, -1.0]).form
    values = {"w": np.zeros(2), "xi": np.ones(2)}
    for z in (np.array([np.nan, 1.0]), np.ones(3), np.array([np.inf, 0.0])):
        certificate = certify(form, values, {"margin": z})
        assert certificate.bound == -np.inf and certificate.dual_residual is None
