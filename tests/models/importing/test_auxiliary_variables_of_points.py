"""Points of CVXPY's problems are given by the user's variables alone; the auxiliary ones follow."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import marginopt as mo

cp = pytest.importorskip("cvxpy")


def test_values_of_the_problem_s_variables_are_a_point(tmp_path: Path) -> None:
    v = cp.Variable(2, name="v")
    ball = (cp.norm(v) <= 2).set_label("ball")
    form = mo.from_cvxpy(cp.Problem(cp.Minimize(cp.norm1(v - 3) + cp.sum_squares(v)), [ball]))
    for point, objective, violation in (((1.0, 1.0), 6.0, 0.0), ((3.0, 1.0), 12.0, 10**0.5 - 2.0)):
        values = {"v": np.array(point)}
        certificate, check = mo.certify(form, values), mo.proofs.check_point(form, values)
        assert certificate.objective == pytest.approx(objective) == check.objective
        assert sum(part.amount for part in check.violations if part.name == "ball") == pytest.approx(violation, abs=1e-12)
        file = mo.io.write_solution(form, values, tmp_path / "point.sol")
        assert mo.certify(form, file).objective == pytest.approx(objective)
    with pytest.raises(mo.errors.InputError) as error:
        mo.certify(form, {})
    assert "cvxpy" not in str(error.value)


def test_a_maximum_takes_the_largest_values_of_concave_terms() -> None:
    v = cp.Variable(2, name="v")
    form = mo.from_cvxpy(cp.Problem(cp.Maximize(cp.sum(cp.sqrt(v)) - cp.max(v)), [v <= 9]))
    assert mo.certify(form, {"v": np.array([4.0, 1.0])}).objective == pytest.approx(-1.0)
    with pytest.raises(mo.errors.InputError):  # no square root, so that no value makes the point feasible
        mo.certify(form, {"v": np.array([-4.0, 1.0])})


def test_auxiliary_variables_without_a_closed_form_are_named() -> None:
    X = cp.Variable((2, 2), name="X", symmetric=True)
    form = mo.from_cvxpy(cp.Problem(cp.Minimize(cp.lambda_max(X)), [X[0, 0] >= 1]))
    with pytest.raises(mo.errors.InputError) as error:
        mo.certify(form, {"X": np.eye(2)})
    assert error.value.name == "values" and "cvxpy variable" in str(error.value)
    assert mo.certify(form, mo.solve(form, "clarabel").values).objective == pytest.approx(1.0, abs=1e-6)
