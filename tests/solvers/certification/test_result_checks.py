"""Results recomputed: in double precision, in rational arithmetic, from a file that was edited."""

from __future__ import annotations

import io
import json
import pickle
from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from facts import about

import marginopt as mo
from marginopt.errors import DataError, InputError, TooLargeError
from marginopt.models import Block, Constraint, Nonnegative, StandardForm, Zero
from marginopt.solvers.rational import RationalForm, null_vector, solve_linear
from marginopt.solvers.result_checks import recertify


@pytest.fixture(scope="module")
def model() -> mo.HingeSVM:
    rng = np.random.default_rng(3)
    X = np.column_stack([np.ones(12), rng.normal(size=(12, 2))])
    return mo.HingeSVM(X, np.where(rng.random(12) < 0.5, -1.0, 1.0), lam=0.7)


@pytest.fixture(scope="module")
def result(model: mo.HingeSVM) -> mo.Result:
    return mo.solve(model, "clarabel")


def test_a_result_stands_in_both_arithmetics(model: mo.HingeSVM, result: mo.Result) -> None:
    plain, exact = result.verify(model), result.verify(model, exact=True)
    assert plain.stands, plain
    assert exact.stands, exact
    assert exact.objective is not None
    assert exact.bound is not None
    assert exact.gap is not None
    assert Fraction(-1, 10**9) < exact.gap < Fraction(1, 10**5)
    assert float(exact.objective) == pytest.approx(result.objective, rel=1e-14)


def test_a_result_holds_the_model_that_it_solved_and_leaves_it_behind_when_it_travels(
    model: mo.HingeSVM, result: mo.Result, tmp_path: Path
) -> None:
    assert result.verify().stands
    assert result.check_duals().agrees
    assert mo.io.load_result(result.save(tmp_path / "r.npz"), model).verify(exact=True).stands
    for away in (pickle.loads(pickle.dumps(result)), mo.io.load_result(tmp_path / "r.npz")):
        assert away.original_model is None
        with pytest.raises(InputError, check=about("model")):
            away.verify()
        assert away.verify(model).stands


@pytest.mark.parametrize("solver", ["scs", "osqp"])
def test_a_first_order_method_s_optimum_is_verified_at_its_own_tolerance(solver: str, tmp_path: Path) -> None:
    """Its default is 1e-4: verified and loaded at 1e-6, what was optimal was not as claimed."""
    rng = np.random.default_rng(4400)
    stated = mo.L2SVMDual(rng.normal(size=(30, 2)), np.where(np.arange(30) % 2, 1.0, -1.0), C=1e3, kernel=mo.RBF(0.1))
    solved = mo.solve(stated, solver)
    assert solved.status is mo.Status.OPTIMAL
    assert solved.verify().stands, solved.verify()
    assert mo.io.load_result(solved.save(tmp_path / "r"), stated).status is solved.status


def test_the_exact_bound_is_below_every_exactly_feasible_point(model: mo.HingeSVM, result: mo.Result) -> None:
    """ξ_i = max(1 - a_i'w, 0) in rationals makes any w feasible; no objective of such a point is below the bound."""
    exact = result.verify(model, exact=True)
    rational = RationalForm(model.form)
    assert exact.bound is not None
    rng = np.random.default_rng(0)
    for scale in (0.0, 1e-9, 1e-3, 1.0):
        w = result.values["w"] + scale * rng.normal(size=3)
        A = model.y[:, None] * model.X
        slack = [
            max(Fraction(0), 1 - sum((Fraction(a) * Fraction(v) for a, v in zip(row, w.tolist(), strict=True)), Fraction(0)))
            for row in A.tolist()
        ]
        point = [*map(Fraction, w.tolist()), *slack]
        assert max(rational.violations(point).values()) == 0.0
        assert exact.bound <= rational.objective(point)


@pytest.mark.parametrize(("field", "value"), [("objective", 1.0), ("bound", 1e3), ("primal_residual", 0.5)])
def test_a_certificate_that_was_changed_does_not_stand(model: mo.HingeSVM, result: mo.Result, field: str, value: float) -> None:
    assert result.certificate is not None
    changed = replace(result, certificate=replace(result.certificate, **{field: value}))
    verification = changed.verify(model)
    assert not verification.stands


def test_other_data_are_refused_and_said(model: mo.HingeSVM, result: mo.Result) -> None:
    with pytest.raises(DataError, check=about("model")):
        result.verify(replace(model, lam=0.8))
    X = model.X.copy()
    X[0, 1] += 1e-9
    with pytest.raises(DataError, check=about("model")):
        result.verify(replace(model, X=X))


def _edited(path: Path, out: Path, **changes: object) -> Path:
    with np.load(path) as stored:
        arrays = {name: stored[name] for name in stored.files}
    meta = json.loads(bytes(arrays["meta"]).decode())
    for name, value in changes.items():
        if name in meta["certificate"]:
            meta["certificate"][name] = value
        else:
            meta[name] = value
    arrays["meta"] = np.frombuffer(json.dumps(meta).encode(), dtype=np.uint8)
    buffer = io.BytesIO()
    np.savez_compressed(buffer, **arrays)
    out.write_bytes(buffer.getvalue())
    return out


def test_an_edited_file_is_not_proved_and_is_found_out(model: mo.HingeSVM, tmp_path: Path) -> None:
    stopped = mo.solve(model, "scs", iteration_limit=3)
    assert stopped.status is not mo.Status.OPTIMAL
    path = stopped.save(tmp_path / "r.npz")
    edited = _edited(path, tmp_path / "edited.npz", status="OPTIMAL", objective=1.0, bound=1.0, primal_residual=0.0)
    plain = mo.io.load_result(edited)
    assert plain.bound_kind == "as stored, not verified"
    assert plain.unverified
    anew = mo.io.load_result(edited, model)
    assert anew.unverified == ""
    assert anew.objective == pytest.approx(stopped.objective, rel=1e-12)
    assert anew.status is not mo.Status.OPTIMAL
    assert not plain.verify(model).stands


@pytest.mark.parametrize("tol", [1e292, 1.0, 1e-300])
def test_a_stored_tolerance_that_no_solve_takes_is_refused(tol: float, model: mo.HingeSVM, tmp_path: Path) -> None:
    """A gap of 5% was optimal to a stored tolerance of 1e292."""
    stopped = mo.solve(model, "scs", iteration_limit=3)
    edited = _edited(stopped.save(tmp_path / "r.npz"), tmp_path / "edited.npz", options={"tol": tol, "seed": 0})
    with pytest.raises(DataError):
        mo.io.load_result(edited, model)


def test_a_file_certified_anew_says_what_was_solved(model: mo.HingeSVM, result: mo.Result, tmp_path: Path) -> None:
    path = result.save(tmp_path / "r.npz")
    anew = mo.io.load_result(path, model)
    assert (anew.status, anew.objective, anew.bound) == (result.status, result.objective, result.bound)
    assert anew.bound_kind == result.bound_kind
    with pytest.raises(DataError, check=about("model")):
        mo.io.load_result(path, replace(model, lam=0.1))
    with pytest.raises(DataError, check=about("model")):
        mo.io.load_result(path, model.form)
    assert recertify(replace(result, digest=""), model.form).objective == pytest.approx(result.objective)


def test_sizes_beyond_rational_arithmetic_are_refused(model: mo.HingeSVM) -> None:
    big = replace(model, X=np.ones((80_000, 3)) * np.arange(3), y=np.where(np.arange(80_000) % 2, 1.0, -1.0))
    with pytest.raises(TooLargeError, check=about("model")):
        RationalForm(big.form)


def test_a_linear_program_with_free_variables_has_an_exact_bound() -> None:
    """min max_i |x - a_i|: multipliers of a solver leave a residual in the free variables, which is corrected exactly."""
    a = np.array([0.1, 0.7, 1.3])
    F = np.column_stack([np.ones(6), np.repeat([1.0, -1.0], 3)])
    form = StandardForm(
        "centre", (Block("t", ()), Block("x", ())), np.array([1.0, 0.0]),
        (Constraint("far", F, np.concatenate([-a, a]), Nonnegative(6)),),
        np.full(2, -np.inf), np.full(2, np.inf), np.zeros(2, dtype=bool),
    )  # fmt: skip
    exact = mo.solve(form, "clarabel").verify(form, exact=True)
    optimum = (Fraction(1.3) - Fraction(0.1)) / 2
    assert exact.bound is not None
    assert optimum - Fraction(1, 10**6) <= exact.bound <= optimum


def test_a_simplex_dual_has_an_exact_bound_by_propagation() -> None:
    """min ½||a||² over the simplex: 1/(2n), with a_j ≤ 1 implied by the rows."""
    n = 7
    form = StandardForm(
        "simplex", (Block("a", (n,)),), np.zeros(n), (Constraint("sum", np.ones((1, n)), -np.ones(1), Zero(1)),),
        np.zeros(n), np.full(n, np.inf), np.zeros(n, dtype=bool), mo.models.Quadratic(matrix=np.eye(n)),
    )  # fmt: skip
    exact = mo.solve(form, "clarabel").verify(form, exact=True)
    assert exact.bound is not None
    assert exact.bound <= Fraction(1, 2 * n)
    assert Fraction(1, 2 * n) - exact.bound < Fraction(1, 10**6)


def test_linear_systems_are_solved_exactly() -> None:
    rng = np.random.default_rng(1)
    A = [[Fraction(int(v)) for v in row] for row in rng.integers(-5, 6, size=(6, 6))]
    x = [Fraction(int(v), 7) for v in rng.integers(-9, 10, size=6)]
    b = [sum((u * v for u, v in zip(row, x, strict=True)), Fraction(0)) for row in A]
    solution = solve_linear(A, b)
    assert solution is not None
    assert [sum((u * v for u, v in zip(row, solution, strict=True)), Fraction(0)) for row in A] == b
    assert solve_linear([[Fraction(1)], [Fraction(1)]], [Fraction(1), Fraction(2)]) is None
    assert null_vector([[Fraction(1), Fraction(2)]]) == [Fraction(-2), Fraction(1)]
    assert null_vector([[Fraction(0), Fraction(0)]]) is None


def test_multipliers_agree_with_differences(model: mo.HingeSVM, result: mo.Result) -> None:
    check = result.check_duals(model, max_rows=4)
    assert check.agrees, check
    assert result.multipliers is not None
    wrong = {label: np.asarray(z) + 0.5 for label, z in result.multipliers.items()}
    changed = replace(result, answer=replace(result.answer, multipliers=wrong))
    assert not changed.check_duals(model, max_rows=4).agrees


def test_a_proof_that_is_not_repeated_exactly_stays_one(model: mo.HingeSVM) -> None:
    """A verification without an exact bound still names the bound that is proved."""
    relaxed = mo.solve(mo.ConicSVM(model.X, model.y, lam=1.0), "clarabel")
    assert relaxed.bound_kind == "proved"
    verdict = relaxed.verify(exact=True)
    assert verdict.stands and (verdict.bound is not None or verdict.no_exact_bound_reason)
    searched = mo.solve(mo.ZeroOneSVM(model.X, model.y, lam=1.0), "zero-one-bb").verify(exact=True)
    assert searched.bound is None and searched.no_exact_bound_reason
