"""Mixed-integer points re-solved with the integers fixed agree to 1e-9, wherever they came from."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings, strategies as st
from oracles import least_norm

import marginopt as mo
from marginopt.models import ZeroOneSVM
from marginopt.models.kernels.gram import MatrixGram
from marginopt.models.model import BareForm
from marginopt.models.program.cones import Nonnegative, SecondOrder, Zero
from marginopt.models.program.form import Block, Constraint, StandardForm
from marginopt.models.program.quadratic import Quadratic
from marginopt.solvers.backends.clarabel import Clarabel
from marginopt.solvers.certification.certificate import certify
from marginopt.solvers.interface.solver import OPEN_LICENCE
from marginopt.solvers.judgement import judge
from marginopt.solvers.polishing import polish
from marginopt.solvers.records import Answer, Options, Status


def case(seed: int) -> tuple[ZeroOneSVM, np.ndarray, np.ndarray, float]:
    """A model, a classifier, the points it violates, and the least objective with those points violated."""
    rng = np.random.default_rng(seed)
    n, p = int(rng.integers(6, 25)), int(rng.integers(1, 5))
    y = np.where(np.arange(n) < n // 2, 1.0, -1.0)
    scale = 10 ** rng.uniform(-1, 1)
    X = np.column_stack([np.ones(n), scale * (rng.normal(size=(n, p)) + 0.5 * y[:, None])])
    A = y[:, None] * X
    w = rng.normal(size=p + 1) * rng.uniform(0.5, 5)
    z = (A @ w < 1).astype(float)
    best = least_norm(A[z == 0]) if (z == 0).any() else np.zeros(p + 1)
    M = 1.0 + 3.0 * np.abs(A @ np.column_stack([best, w])).max()
    return ZeroOneSVM(X, y, lam=0.5, big_m=M), w, z, float(best @ best + 0.5 * z.sum())


@settings(max_examples=40)
@given(st.integers(0, 100_000), st.sampled_from([0.0, 1e-6, 1e-2]))
def test_objectives_agree_to_1e_9(seed: int, noise: float) -> None:
    model, w, z, reference = case(seed)
    rng = np.random.default_rng(seed)
    rough = {"w": w + noise * rng.normal(size=w.size), "z": np.abs(z - 1e-5 * rng.random(z.size))}
    before = {k: v.copy() for k, v in rough.items()}
    polished = polish(model.form, rough)[0]
    np.testing.assert_array_equal(polished["z"], z)
    c = certify(model.form, polished)
    assert c.objective == pytest.approx(reference, rel=1e-9)
    assert c.primal_residual <= 1e-9
    assert all(np.array_equal(rough[k], before[k]) for k in rough)


def test_a_point_that_is_better_already_is_kept() -> None:
    model, _, z, _ = case(4)
    A = model.y[:, None] * np.asarray(model.X)
    best = {"w": least_norm(A[z == 0]), "z": z}
    again = polish(model.form, best)[0]
    assert certify(model.form, again).objective <= certify(model.form, best).objective + 1e-12


def test_integers_without_a_feasible_point_come_back_rounded() -> None:
    X = np.column_stack([np.ones(4), [1.0, 2.0, 1.0, 2.0]])
    model = ZeroOneSVM(X, [1, 1, -1, -1])  # opposite labels on the same points: z = 0 everywhere is impossible
    rough = {"w": np.array([0.3, 0.4]), "z": np.full(4, 1e-5)}
    polished = polish(model.form, rough)[0]
    np.testing.assert_array_equal(polished["z"], np.zeros(4))
    assert certify(model.form, polished).primal_residual > 0.1


def bounded(seed: int) -> StandardForm:
    """min ½||x - c||² - 1't over 0 ≤ x ≤ 1, Σx = 2, x ≤ t, t binary: bounds are active at the optimum."""
    n = 5
    c = np.random.default_rng(seed).normal(size=n) * 2
    eye = np.eye(n)
    return StandardForm(
        "bounded",
        (Block("x", (n,)), Block("t", (n,))),
        np.concatenate([-c, -np.ones(n)]),
        (
            Constraint("sum", sp.csr_array(np.concatenate([np.ones(n), np.zeros(n)])[None, :]), np.array([-2.0]), Zero(1)),
            Constraint("link", sp.csr_array(np.hstack([-eye, eye])), np.zeros(n), Nonnegative(n)),
        ),
        np.zeros(2 * n),
        np.ones(2 * n),
        np.arange(2 * n) >= n,
        quadratic=Quadratic(matrix=np.diag([1.0] * n + [0.0] * n)),
    )


def projection(c: np.ndarray, total: float) -> np.ndarray:
    """Nearest point of {0 ≤ x ≤ 1, Σx = total} by bisection on the multiplier."""
    low, high = c.min() - 2, c.max()
    for _ in range(200):
        middle = 0.5 * (low + high)
        low, high = (middle, high) if np.clip(c - middle, 0, 1).sum() > total else (low, middle)
    return np.asarray(np.clip(c - low, 0, 1))


@pytest.mark.parametrize("seed", range(6))
def test_active_bounds(seed: int) -> None:
    form = bounded(seed)
    t = np.array([1.0, 1, 1, 1, 0])
    polished = polish(form, {"x": np.full(5, 0.4), "t": t})[0]
    x = np.append(projection(-form.q[:4], 2.0), 0.0)
    expected = form.objective(np.concatenate([x, t]))
    c = certify(form, polished)
    assert c.objective == pytest.approx(expected, rel=1e-9, abs=1e-9)
    assert c.primal_residual <= 1e-9


def test_everything_fixed_or_nothing_quadratic() -> None:
    n = 3
    pure = StandardForm("pure", (Block("t", (n,)),), np.ones(n), (), np.zeros(n), np.ones(n), np.ones(n, dtype=bool))
    np.testing.assert_array_equal(polish(pure, {"t": np.array([0.0, 1.00001, 0.99999])})[0]["t"], [0, 1, 1])
    linear = StandardForm(
        "linear",
        (Block("x", (1,)), Block("t", (1,))),
        np.array([1.0, 1.0]),
        (Constraint("row", sp.csr_array(np.array([[1.0, 2.0]])), np.array([-3.0]), Nonnegative(1)),),
        np.array([-np.inf, 0.0]),
        np.array([np.inf, 5.0]),
        np.array([False, True]),
    )
    polished = polish(linear, {"x": np.array([1.5]), "t": np.array([1.0])})[0]
    assert polished["x"][0] == pytest.approx(1.0, abs=1e-7)


def test_conic_rows_and_a_gram_operator() -> None:
    """min ½||x||² - t over ||x - (3, 0)|| ≤ 1 + t, t in {0, 1}: x = (2 - t, 0)."""
    F = np.vstack([[0.0, 0, 1], [1.0, 0, 0], [0.0, 1, 0]])
    form = StandardForm(
        "cone",
        (Block("x", (2,)), Block("t", ())),
        np.array([0.0, 0.0, -1.0]),
        (Constraint("x of another kind", sp.csr_array(F), np.array([1.0, -3.0, 0.0]), SecondOrder(3)),),
        np.array([-np.inf, -np.inf, 0.0]),
        np.array([np.inf, np.inf, 1.0]),
        np.array([False, False, True]),
        quadratic=Quadratic(operator=MatrixGram(np.diag([1.0, 1.0, 0.0]))),
    )
    for t in (0.0, 1.0):
        polished = polish(form, {"x": np.array([3.0, 0.0]), "t": np.array(t)})[0]
        np.testing.assert_allclose(polished["x"], [2.0 - t, 0.0], atol=1e-6)
        assert polished["t"] == t


def test_fixing_integers() -> None:
    form = bounded(0)
    fixed = form.with_integers_fixed(np.array([0.1, 0.2, 0.3, 0.4, 0.5, 0.999, 1e-7, 1, 0, 1]))
    assert not fixed.integer.any()
    np.testing.assert_array_equal(fixed.lower[5:], [1, 0, 1, 0, 1])
    np.testing.assert_array_equal(fixed.upper[5:], fixed.lower[5:])
    np.testing.assert_array_equal(fixed.lower[:5], form.lower[:5])
    assert form.integer[5:].all()


def test_mixed_labels_do_not_collide(overlapping: Any) -> None:
    """A constraint called like the block that is left over is no obstacle."""
    form = ZeroOneSVM(overlapping.X, overlapping.y).form
    renamed = form.replace(constraints=(Constraint("x", form.constraints[0].F, form.constraints[0].g, Nonnegative(16)),))
    polish(renamed, {"w": np.zeros(3), "z": np.ones(16)})


def test_the_result_says_who_polished_its_point() -> None:
    rng = np.random.default_rng(0)
    X = np.column_stack([np.ones(12), rng.normal(size=(12, 2))])
    y = np.where(X[:, 1] + rng.normal(size=12) > 0, 1.0, -1.0)
    model = ZeroOneSVM(X, y, lam=0.5)
    rough = Answer(Status.OPTIMAL, "rough", values={"w": np.array([0.1, 3.0, 0.0]), "z": np.ones(12)})
    result = judge(BareForm(model.form), Clarabel(), rough, Options(), OPEN_LICENCE)
    assert result.answer.polished.startswith("integers fixed, the rest solved again by clarabel")
    assert result.details["polished"] == result.answer.polished
    again = judge(BareForm(model.form), Clarabel(), replace(rough, values=result.values), Options(), OPEN_LICENCE)
    assert again.objective <= result.objective * (1 + 1e-9)


def test_small_entries_that_may_be_zeros_are_tried_as_zeros() -> None:
    """A solver's zero within its tolerance, -5.7e-7 beside 12.8, costs 3e-13 where the optimum is zero."""
    X = np.array([[1.0, 0.25], [1.0, -0.25], [1.0, 1.75], [1.0, -1.75]])
    model = mo.Margin(X, np.array([1.0, 1.0, 1.0, -1.0]), "misclassified", "l2", sample_weight=np.array([1.0, 1.0, 1.0, 0.0]))
    rough = {"w": np.array([12.8, -5.7e-7]), "z": np.array([0.0, 0.0, 0.0, 1.0])}
    polished = polish(model.form, rough, model)[0]
    assert certify(model.form, rough).objective > 0.0
    assert certify(model.form, polished).objective == 0.0
    assert polished["w"][1] == 0.0 != rough["w"][1]


@pytest.mark.filterwarnings("ignore::marginopt.errors.MarginoptWarning")  # of the scales of features
def test_points_made_exact_by_newton_keep_in_exact_arithmetic_and_others_say_what_they_miss() -> None:
    rng = np.random.default_rng(3)
    by_newton = 0
    for _ in range(20):
        X = np.round(4.0 * rng.normal(size=(6, 3))) / 4.0 + 1e5
        model = mo.Margin(X, np.array([1.0, -1.0, 1.0, 1.0, -1.0, 1.0]), "hinge", "l1", subject_to=[mo.keep([1])])
        result = mo.solve(model, "clarabel")
        if result.status is Status.OPTIMAL:
            margin = -sum(Fraction(a) * Fraction(v) for a, v in zip(X[1].tolist(), result.values["w"].tolist(), strict=True))
            is_refined, says = "Newton" in result.answer.polished, "margins miss their thresholds" in result.evidence
            assert says == (margin < 1) and not (is_refined and says)
            by_newton += is_refined
    assert by_newton


@pytest.mark.parametrize("solver", ["clarabel", "piqp"])
def test_kept_points_of_a_convex_problem_are_kept_in_exact_arithmetic(solver: str) -> None:
    rng = np.random.default_rng(0)
    for _ in range(12):
        X = np.column_stack([np.ones(4), np.round(4.0 * rng.normal(size=(4, 2))) / 4.0])
        y = np.array([1.0, -1.0, 1.0, -1.0])
        result = mo.solve(mo.Margin(X, y, "hinge", "l2", subject_to=[mo.keep([0, 1]), mo.fixed({1: 1.0})]), solver)
        if result.status is Status.OPTIMAL:
            w = [Fraction(v) for v in result.values["w"].tolist()]
            assert all(Fraction(y[i]) * sum(Fraction(a) * v for a, v in zip(X[i].tolist(), w, strict=True)) >= 1 for i in (0, 1))
            assert result.certificate is not None
            assert result.certificate.violations["keep"] == 0.0


@pytest.mark.parametrize("weights", [1.0, [0.5, 0.75, 1.0]])
def test_a_point_of_almost_no_cost_costs_nothing_where_its_residues_are_zeros(weights: Any) -> None:
    """The norm's part of w is a residue of 4e-5, and without it the kept point's margin is short: the rest is solved again."""
    X = np.array([[1.0, 1.5], [1.0, 1.75], [1.0, 0.25]])
    loss = mo.margin.PiecewiseLinear(((-2.25, 0.75), (-1.25, 0.75), (-1.0, 0.5), (-1.0, 0.0), (0.5, 0.0), (1.5, 0.0)))
    model = mo.Margin(
        X, [1.0, 1.0, -1.0], loss, mo.margin.SquaredNorm(0.25), intercept="free", subject_to=[mo.keep([0])], sample_weight=weights
    )
    values = model.complete({"w": np.array([0.9999901482436997, 3.94070252012213e-05])})
    better = polish(model.form, values, model)[0]
    assert better["w"][1] == 0.0 and model.form.objective(model.form.join(better)) == 0.0


def test_a_point_without_a_cost_does_not_keep_others_off_their_rows() -> None:
    """Its slack is in no equation of the active set, whose solution was infeasible where the slack came back as zero."""
    X, y = np.array([[1.0, -1.75], [1.0, -1.75], [1.0, -2.0], [1.0, 1.5]]), np.array([1.0, 1.0, -1.0, -1.0])
    rows = mo.margin.LinearRows(np.array([[2.0, 1.5], [1.5, -1.0]]), lower=-1.0, upper=-0.75)
    costs = np.array([0.5, 1.25, 0.0, 1.75])
    model = mo.Margin(X, y, mo.margin.Ramp(2.5, 2.5), mo.margin.SquaredNorm(0.5), sample_weight=costs, subject_to=rows)
    integers = {"z": np.zeros(4), "w": np.array([-0.5 - 6e-10, -1e-9])}
    values = polish(model.form, model.complete(integers), model)[0]
    assert certify(model.form, values).feasible(1e-12)


def test_a_search_that_stops_at_its_gap_is_optimal_after_its_point_moved_onto_the_rows() -> None:
    """SCIP stops at .99 of the tolerance, and the point that keeps the rows costs 3e-8 more."""
    X, y = np.array([[1.0, 0.5], [1.0, -0.5], [1.0, -0.75], [1.0, -0.5]]), np.array([-1.0, 1.0, 1.0, 1.0])
    model = mo.Margin(
        X, y, mo.margin.Ramp(0.5, 2.75), mo.margin.SquaredNorm(0.25), domain=mo.margin.Signs((-1, 0)),
        sample_weight=np.array([1.25, 0.25, 0.0, 1.5]), intercept="free",
        subject_to=mo.margin.Parity(np.array([1, 1, 0, 1]), 0.125),
    )  # fmt: skip
    result = mo.solve(model, "scip", time_limit=20.0)
    assert result.status is Status.OPTIMAL and result.gap <= 1e-6
