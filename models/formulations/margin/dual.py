"""The closed-form dual of a composed problem with a squared norm and nothing else: its value and its statement."""

from __future__ import annotations

import numpy as np

from ...arrays import BoolArray, FloatArray
from ...statement import DualStatement, Line
from .losses.conjugate import Conjugate

__all__ = ["dual_statement", "dual_value", "dual_weights"]


def dual_value(
    conjugate: Conjugate, mu: float, A: FloatArray, c: FloatArray, penalised: BoolArray, costs: FloatArray, beta: FloatArray
) -> float:
    """c'β - L*(β) - ||A_P'β||²/(4μ); -inf where A_F'β is not zero to rounding. At μ = 0 all of A'β must be."""
    penalised = penalised & (mu > 0.0)
    pulled = A.T @ beta
    size = np.abs(A).T @ np.abs(beta)
    if (np.abs(pulled[~penalised]) > 1e-9 * (1.0 + size[~penalised])).any():
        return float("-inf")
    v = pulled[penalised]
    norm = float(v @ v) / (4.0 * mu) if mu else 0.0
    return float(c @ beta) + conjugate.value(beta, costs) - norm


def dual_weights(A: FloatArray, penalised: BoolArray, mu: float, beta: FloatArray) -> FloatArray:
    """w with w_P = -A_P'β/(2μ), zero on the free coefficients, which the dual does not tell."""
    return np.where(penalised, -(A.T @ beta) / (2.0 * mu), 0.0)


def dual_statement(conjugate: Conjugate, mu: float, free: bool, row: Line) -> DualStatement:
    """In α (β = -α) or β.

    Parameters
    ----------
    conjugate, mu
    free : bool
        Whether the intercept is not penalised.
    row : Line
        What the dual variables multiply: y_i x_i, x_i, 2 x_i, ...
    """
    name, tex = conjugate.symbol.text, conjugate.symbol.latex
    part = conjugate.objective
    if not mu:  # balanced: nothing is left of A'β
        over = Line(name, rf"{tex}\in\mathbb{{R}}^n")
        return DualStatement("maximise", over, part, conjugate.constraints, conjugate.kkt)
    joined = f"{part.text} - " if part.text else "-"
    joined_tex = f"{part.latex} - " if part.latex else "-"
    total, total_tex = f"sum_i {name}_i {row.text}", rf"\textstyle\sum_i {tex}_i {row.latex}"
    balance = (Line(f"sum_i {name}_i (its sign in the scores) = 0", rf"\textstyle\sum_i \pm{tex}_i = 0"),) if free else ()
    return DualStatement(
        sense="maximise",
        over=Line(name, rf"{tex}\in\mathbb{{R}}^n"),
        objective=Line(
            f"{joined}||{total}||^2/{4 * mu:g}", rf"{joined_tex}\tfrac{{1}}{{{4 * mu:g}}}\bigl\|{total_tex}\bigr\|_2^2"
        ),
        constraints=(*conjugate.constraints, *balance),
        kkt=(Line(f"w = {total}/{2 * mu:g}", rf"w = \tfrac{{1}}{{{2 * mu:g}}}{total_tex}"),),
    )
