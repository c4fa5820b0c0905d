"""A loss for each group of points: semi-supervised SVMs against enumeration, published sets, and programs by other solvers."""

from __future__ import annotations

import bz2
import itertools
import os
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from effort import FULL, trials
from facts import about
from qpsolvers import solve_qp

import marginopt as mo
from marginopt.margin import Hat, Hinge, LinearRows, NuHinge, PairwiseHinge, Ramp, StrongestConic
from marginopt.models.views import MarginProblem, PiecewiseLinearLoss
from marginopt.solvers.margin import MarginBB

pytestmark = pytest.mark.filterwarnings("ignore::marginopt.errors.MarginoptWarning")

DATA = os.environ.get("MARGINOPT_DATA", "")
PENALISED = {"l2": 1.0, "half-l2": 0.5}


def drawn(rng: np.random.Generator, n: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Points with an intercept's column, labels, and the mask of labelled points, of both classes or of one."""
    kind = rng.integers(3)
    X = (
        rng.normal(size=(n, 2))
        if kind == 0
        else rng.integers(-2, 3, size=(n, 2)) / 2.0
        if kind == 1
        else rng.standard_t(2, (n, 2))
    )
    y = np.where(X[:, 0] + 0.3 * rng.normal(size=n) > 0.0, 1.0, -1.0)
    labelled = np.zeros(n, dtype=np.bool_)
    labelled[rng.permutation(n)[: rng.integers(3, 6)]] = True
    return np.column_stack([np.ones(n), X]), y, labelled


def stated(X: np.ndarray, y: np.ndarray, labelled: np.ndarray, **parts: Any) -> mo.Margin:
    groups = np.where(labelled, "labelled", "unlabelled")
    losses = {"labelled": "hinge", "unlabelled": Hat()}
    return mo.Margin(X, np.where(labelled, y, 0.0), losses, groups=groups, intercept="free", **parts)


def svm_value(model: mo.Margin, y: np.ndarray, w: np.ndarray, mu: float) -> Fraction:
    """The least value of one SVM with hinge loss and free intercept that points near a solver's have, in rational arithmetic.

    They are that point with few decimals, and solutions of the optimality conditions with margins near 1 active.
    """
    X = [[Fraction(v) for v in row] for row in np.asarray(model.X).tolist()]
    c = [Fraction(v) for v in np.broadcast_to(model.sample_weight, y.size).tolist()]
    signs, m, p, mu_ = [int(v) for v in y], y * (np.asarray(model.X) @ w), w.size, Fraction(mu)

    def value(point: list[Fraction]) -> Fraction:
        margins = (
            s * sum((a * b for a, b in zip(row, point, strict=True)), Fraction(0)) for s, row in zip(signs, X, strict=True)
        )
        return mu_ * sum(v * v for v in point[1:]) + sum(k * max(Fraction(0), 1 - v) for k, v in zip(c, margins, strict=True))

    least = min(value([Fraction(round(v, k)) for v in w.tolist()]) for k in (2, 4, 6, 12))
    for near in (1e-6, 1e-5, 1e-4, 1e-3, 1e-2):
        on, below = np.flatnonzero(np.abs(m - 1) < near).tolist(), np.flatnonzero(m < 1 - near).tolist()
        rows = [
            [2 * mu_ if k == j > 0 else Fraction(0) for k in range(p)] + [-signs[i] * X[i][j] for i in on]
            + [sum((c[i] * signs[i] * X[i][j] for i in below), Fraction(0))]
            for j in range(p)
        ]  # fmt: skip
        rows += [[signs[i] * v for v in X[i]] + [Fraction(0)] * len(on) + [Fraction(1)] for i in on]
        solution = solved_exactly(rows)
        if solution is None:
            continue
        least = min(least, value(solution[:p]))
    return least


def solved_exactly(rows: list[list[Fraction]]) -> list[Fraction] | None:
    """A solution of linear equations, right sides last; None where there is none."""
    rows, pivots = [row[:] for row in rows], []
    for column in range(len(rows[0]) - 1):
        r = len(pivots)
        first = next((i for i in range(r, len(rows)) if rows[i][column]), None)
        if first is None:
            continue
        rows[r], rows[first] = rows[first], rows[r]
        rows[r] = [v / rows[r][column] for v in rows[r]]
        for i in range(len(rows)):
            if i != r and rows[i][column]:
                rows[i] = [a - rows[i][column] * b for a, b in zip(rows[i], rows[r], strict=True)]
        pivots.append(column)
    if any(row[-1] for row in rows[len(pivots) :]):
        return None
    x = [Fraction(0)] * (len(rows[0]) - 1)
    for row, column in zip(rows, pivots, strict=False):
        x[column] = row[-1]
    return x


def enumerated(model: mo.Margin, mu: float) -> float:
    """The least SVM over all labels of the unlabelled points, of which (1 - |m|)_+ takes the lesser hinge.

    A QP solver with a small multiple of the intercept's square finds points near the optima; labels whose value is far from the
    least are left there, the others are counted exactly: that square alone moved optima of zero by up to 4e-7.
    """
    n, p = model.X.shape
    unlabelled = np.flatnonzero(model.y == 0.0)
    costs = np.broadcast_to(model.sample_weight, n)
    P = np.diag(np.concatenate([[1e-9], np.full(p - 1, 2.0 * mu), np.full(n, 1e-9)]))
    rows = []
    for labels in itertools.product((-1.0, 1.0), repeat=unlabelled.size):
        y = model.y.copy()
        y[unlabelled] = labels
        G = -np.hstack([y[:, None] * model.X, np.eye(n)])
        program = (P, np.concatenate([np.zeros(p), costs]), G, -np.ones(n))
        bounds = {"lb": np.concatenate([np.full(p, -1e6), np.zeros(n)]), "ub": np.full(n + p, 1e6)}
        x = solve_qp(*program, **bounds, solver="daqp")
        x = solve_qp(*program, **bounds, solver="piqp") if x is None else x
        assert x is not None
        w = x[:p]
        rows.append((mu * float(w[1:] @ w[1:]) + float(costs @ np.maximum(1.0 - y * (model.X @ w), 0.0)), y, w))
    best = min(value for value, _, _ in rows)
    return float(min(svm_value(model, y, w, mu) for value, y, w in rows if value <= best + 1e-4 * (1.0 + best)))


@pytest.mark.parametrize("seed", [*range(trials(5, 500)), *(() if FULL else (84, 260, 289, 316))])
def test_semi_supervised_svms_have_the_optimum_of_enumeration(seed: int, tmp_path: Path) -> None:
    rng = np.random.default_rng(seed)
    regulariser = ("l2", "half-l2")[seed % 2]
    X, y, labelled = drawn(rng, 12 if seed % 10 == 1 else int(rng.integers(6, 12)))
    weights = {"labelled": float(rng.choice([0.5, 1.0, 4.0])), "unlabelled": float(rng.choice([0.1, 0.5, 1.0]))}
    model = stated(X, y, labelled, sample_weight=weights, regulariser=regulariser)
    best = enumerated(model, PENALISED[regulariser])
    slack = 1e-12 * (1.0 + best)
    log = str(tmp_path / "log")
    result = mo.solve(model, MarginBB(proof=log), tol=1e-6)
    assert result.objective <= best * (1 + 1e-6) + slack and result.bound <= best + slack
    assert model.objective(result.values["w"]) == pytest.approx(result.objective, rel=1e-9)
    report = mo.check_proof(log, model)
    assert report.valid and report.bound <= best + slack and report.bound >= result.bound - 1e-5 * (1.0 + best)


def test_an_l1_program_agrees_with_highs_and_with_scip() -> None:
    for seed in range(4):
        rng = np.random.default_rng(seed)
        X, y, labelled = drawn(rng, 14)
        model = stated(X, y, labelled, regulariser=mo.margin.L1(0.7), sample_weight=np.where(labelled, 2.0, 0.5))
        exact = mo.solve(model, "margin-bb")
        for name in ("highs", "scip"):
            if name == "scip":
                pytest.importorskip("pyscipopt", reason="SCIP is not installed: pip install pyscipopt")
            other = mo.solve(model, name)
            assert other.objective == pytest.approx(exact.objective, rel=1e-5, abs=1e-6), name


def test_a_balance_row_and_points_of_one_class() -> None:
    rng = np.random.default_rng(3)
    X, y, labelled = drawn(rng, 20)
    row = LinearRows(X[~labelled].mean(axis=0)[None], 0.1, 0.1, label="balance")
    model = stated(X, y, labelled, subject_to=row)
    exact, other = mo.solve(model, "margin-bb", tol=1e-6), mo.solve(model, "scip", tol=1e-6)
    assert exact.objective == pytest.approx(other.objective, rel=1e-4)
    # small boxes on the row are closed by their relaxations, however small they are
    assert exact.nodes is not None and exact.nodes < 10_000
    one = mo.Margin(
        X, np.where(y > 0, 1.0, 0.0), {"known": "hinge", "others": "hat"}, groups=np.where(y > 0, "known", "others"),
        sample_weight={"known": 1.0, "others": 0.5}, subject_to=LinearRows(X.mean(axis=0)[None], -0.2, 0.2),
    )  # fmt: skip
    assert (one.y >= 0.0).all()
    solved = mo.solve(one, "margin-bb", tol=1e-6)
    assert solved.bound <= solved.objective <= one.objective(np.zeros(3)) + 1e-9


def test_groups_of_one_loss_are_the_problem_without_groups() -> None:
    rng = np.random.default_rng(5)
    X, y, _ = drawn(rng, 30)
    groups = rng.choice(["a", "b"], 30)
    for loss, solver in (("hinge", "clarabel"), ("ramp", "margin-bb"), ("zero-one", "margin-bb"), ("logistic", "clarabel")):
        parts: dict[str, Any] = {"sample_weight": np.where(groups == "a", 0.7, 0.3)}
        plain = mo.Margin(X, y, loss, **parts)
        grouped = mo.Margin(X, y, {"a": loss, "b": loss}, groups=groups, sample_weight={"a": 0.7, "b": 0.3})
        first, second = mo.solve(plain, solver), mo.solve(grouped, solver)
        assert second.objective == pytest.approx(first.objective, rel=1e-5)
        for w in rng.normal(size=(5, 3)):
            assert grouped.objective(w) == pytest.approx(plain.objective(w), rel=1e-12)
    assert {block.label for block in grouped.form.blocks} >= {"w"} and all(
        c.label.startswith(("a ", "b ")) for c in grouped.form.constraints
    )


def test_two_losses_with_budgets_agree_with_scip() -> None:
    pytest.importorskip("pyscipopt", reason="SCIP is not installed: pip install pyscipopt")
    rng = np.random.default_rng(8)
    X, y, _ = drawn(rng, 24)
    groups = np.where(np.arange(24) % 3 == 0, "old", "new")
    model = mo.Margin(
        X, y, {"old": Ramp(1.0, 1.0), "new": "zero-one"}, groups=groups, sample_weight=0.2, regulariser=mo.margin.L1(0.1),
        subject_to=mo.error_budget(1.0, 0.3),
    )  # fmt: skip
    exact, other = mo.solve(model, "margin-bb", tol=1e-6), mo.solve(model, "scip", tol=1e-6)
    assert exact.objective == pytest.approx(other.objective, rel=1e-4)
    # small boxes on the row are closed by their relaxations, however small they are
    assert exact.nodes is not None and exact.nodes < 10_000


def test_the_hat_is_even_and_its_blocks_cost_what_it_does() -> None:
    m = np.linspace(-3.0, 3.0, 601)
    assert np.array_equal(Hat().values(m), Hat().values(-m)) and np.allclose(PiecewiseLinearLoss.hat().values(m), Hat().values(m))
    rng = np.random.default_rng(0)
    X, y, labelled = drawn(rng, 12)
    model = stated(X, y, labelled)
    for w in rng.normal(size=(10, 3)):
        values = model.complete({"w": w})
        x = np.concatenate([np.ravel(values[block.label]) for block in model.form.blocks])
        assert model.form.objective(x) == pytest.approx(model.objective(w), rel=1e-12)
        assert model.form.residual(x) <= 1e-9 if hasattr(model.form, "residual") else True
    view = model.view(MarginProblem)
    assert view is not None and len(view.losses) == 2 and set(view.loss_numbers.tolist()) == {0, 1}
    for change in np.random.default_rng(1).normal(size=(6, 3)):
        flipped = mo.Margin(
            X, np.where(labelled, y, -1.0), {"labelled": "hinge", "unlabelled": Hat()}, groups=model.groups, intercept="free"
        )
        assert flipped.objective(change) == pytest.approx(model.objective(change), rel=1e-12)


@pytest.mark.parametrize(
    ("change", "name"),
    [
        ({"groups": None}, "groups"),
        ({"groups": ["labelled"] * 5 + ["unlabeled"] * 5}, "unlabeled"),
        ({"groups": ["labelled"] * 10}, "groups"),
        ({"groups": ["labelled", "unlabelled"]}, "groups"),
        ({"loss": "hinge"}, "groups"),
        ({"loss": {"labelled": NuHinge(0.5), "unlabelled": Hat()}}, "loss"),
        ({"loss": {"labelled": StrongestConic(), "unlabelled": Hat()}}, "loss"),
        ({"loss": {"labelled": PairwiseHinge(), "unlabelled": Hat()}}, "loss"),
        ({"loss": {"labelled": Hinge(), "unlabelled": Hinge()}}, "y"),
        ({"loss": {"labelled": 3, "unlabelled": Hat()}}, "loss"),
        ({"sample_weight": {"labelled": 1.0}}, "sample_weight"),
        ({"sample_weight": {"labelled": -1.0, "unlabelled": 1.0}}, "sample_weight of labelled"),
        ({"subject_to": mo.keep([0])}, "restrictions"),
    ],
)
def test_what_does_not_fit_together_is_refused(change: dict[str, Any], name: str) -> None:
    rng = np.random.default_rng(0)
    X = np.column_stack([np.ones(10), rng.normal(size=(10, 2))])
    y = np.where(np.arange(10) < 5, np.where(np.arange(10) % 2 == 0, 1.0, -1.0), 0.0)
    parts: dict[str, Any] = {"loss": {"labelled": "hinge", "unlabelled": Hat()}, "groups": ["labelled"] * 5 + ["unlabelled"] * 5}
    mo.Margin(X, y, **parts)
    with pytest.raises(mo.errors.InputError, check=about(name)):
        mo.Margin(X, y, **(parts | change))


@pytest.mark.parametrize("name", ["art100", "art150", "2moons"])
@pytest.mark.parametrize("balanced", [False, True])
def test_published_semi_supervised_sets_are_proved(name: str, balanced: bool, tmp_path: Path) -> None:
    """A tenth of the labels, by a permutation with seed 0; two features, a free intercept, C = C' = 1."""
    file = Path(DATA or "/nowhere") / "s3vm" / f"{name}.txt.bz2"
    if not file.exists():
        pytest.skip(f"MARGINOPT_DATA has no s3vm/{file.name}: the semi-supervised sets of the package SDP-S3VM")
    rows = np.array(
        [[float(x) for x in line.split()] for line in bz2.decompress(file.read_bytes()).decode().splitlines() if line]
    )
    X, y = np.column_stack([np.ones(len(rows)), rows[:, :-1]]), rows[:, -1]
    order, labelled = np.random.default_rng(0).permutation(len(y)), np.zeros(len(y), dtype=np.bool_)
    labelled[order[: len(y) // 10]] = True
    assert set(y[labelled]) == {-1.0, 1.0}
    share = float(y[labelled].mean())
    balance = LinearRows(X[~labelled].mean(axis=0)[None], share, share, label="balance")
    model = stated(X, y, labelled, subject_to=balance if balanced else ())
    log = str(tmp_path / "log")
    result = mo.solve(model, MarginBB(proof=log), tol=1e-4)
    assert result.objective - result.bound <= 1e-4 * result.objective
    report = mo.check_proof(log, model)
    assert report.valid and result.objective - report.bound <= 1e-4 * result.objective
