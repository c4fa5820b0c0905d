"""Affine expressions as authors of a part write them: arithmetic with numbers, arrays, matrices and other expressions."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp

from marginopt.errors import InputError
from marginopt.margin import Affine, Assembly, PiecewiseLinear, PiecewiseQuadratic, Ramp
from marginopt.models import DataKind, FormulationInfo, HingeSVM

A = np.array([[1.0, 2.0, 3.0], [0.0, -1.0, 0.5]])
ROWS = np.arange(3.0)


def dense(expression: Affine) -> tuple[Any, Any]:
    """Return the matrix of the block ``w`` and the constants."""
    return expression.terms["w"].csr.toarray().tolist(), expression.constant.tolist()


@pytest.fixture
def w() -> Affine:
    """Three variables."""
    return Assembly("test").variables("w", 3)


@pytest.mark.parametrize(
    ("written", "matrix", "constant"),
    [
        (lambda w: A @ w, A, [0.0, 0.0]),
        (lambda w: sp.csr_array(A) @ w, A, [0.0, 0.0]),
        (lambda w: A[0] @ w, A[:1], [0.0]),
        (lambda w: A @ (w + 1.0), A, A.sum(axis=1)),
        (lambda w: 1.0 - w, -np.eye(3), np.ones(3)),
        (lambda w: np.float64(1.0) - w, -np.eye(3), np.ones(3)),
        (lambda w: ROWS + w, np.eye(3), ROWS),
        (lambda w: w - ROWS.tolist(), np.eye(3), -ROWS),
        (lambda w: 2 * w, 2.0 * np.eye(3), np.zeros(3)),
        (lambda w: ROWS * (w + 1.0), np.diag(ROWS), ROWS),
    ],
)
def test_operators(w: Affine, written: Callable[[Affine], Affine], matrix: Any, constant: Any) -> None:
    expression = written(w)
    assert dense(expression) == (np.asarray(matrix).tolist(), np.asarray(constant).tolist())


@pytest.mark.parametrize(
    "written",
    [
        lambda w: A[:, :2] @ w,
        lambda w: np.ones((2, 2, 3)) @ w,
        lambda w: w + np.ones(2),
        lambda w: w - w.at([0]),
        lambda w: w.at([0]) + ROWS,
        lambda w: w.at([0]) * ROWS,
        lambda w: w * w,
        lambda w: w + "one",
    ],
)
def test_shapes_that_do_not_fit(w: Affine, written: Callable[[Affine], Affine]) -> None:
    with pytest.raises(InputError):
        written(w)


def test_print_states_the_pieces_of_a_loss_by_number() -> None:
    loss = PiecewiseLinear(((-1.0, 1.5), (-0.5, 1.0), (-0.5, 0.25), (0.5, 0.25), (0.5, 0.0), (1.0, 0.0)))
    text, latex = loss.lines()[-1].text, loss.lines()[-1].latex
    for numbers in ("(-1, 0, 0)", "(0.5, 0.25, 0)"):
        assert numbers in text
        assert numbers in latex


def test_print_states_the_steps_of_a_quadratic_loss_by_number() -> None:
    loss = PiecewiseQuadratic((0.0, 1.0), ((0.0, -1.0, 0.5), (0.5, -1.0, 0.5), (0.0, 0.0, 0.0)))
    for line in (loss.lines()[-1].text, loss.lines()[-1].latex):
        assert all(numbers in line for numbers in ("t = (0, 1)", "a = (0, 0.5, 0)", "s = (1, -1, 0)"))
    assert "(0.5 + sum_k" in loss.cost_line().text


def test_print_of_a_ramp_has_no_factor_of_one() -> None:
    assert Ramp(2.0, 2.0).cost_line().text == "sum_i c_i (xi_i + 2 z_i)"


def test_a_form_of_another_type(overlapping: Any) -> None:
    class Nameless(HingeSVM):
        def compile(self) -> Any:
            """Return no form."""
            return {"w": 3}

    with pytest.raises(InputError) as error:
        Nameless(overlapping.X, overlapping.y).form  # noqa: B018
    assert error.value.name == "compile"


def test_a_record_whose_function_returns_no_model(overlapping: Any) -> None:
    record = FormulationInfo(
        HingeSVM, name="mine", summary="mine", reference="mine", data=DataKind.TWO_CLASSES, build=lambda arrays, chosen: 3
    )
    with pytest.raises(InputError) as error:
        record.make_model({"X": overlapping.X, "y": overlapping.y})
    assert error.value.name == "build"
