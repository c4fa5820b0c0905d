"""The closed-form dual of a composed problem with a squared norm and nothing else: its value and its statement."""

from __future__ import annotations

import numpy as np

from ...arrays import BoolArray, FloatArray
from ...statement import DualStatement, Line, times
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


def dual_statement(conjugate: Conjugate, mu: float, free: bool) -> DualStatement:
    """In α (β = -α) or β; ``free`` where the intercept is not penalised."""
    symbol, part, total = conjugate.symbol, conjugate.objective, conjugate.total
    if not mu:  # balanced: nothing is left of A'β
        return DualStatement("maximise", symbol, part, conjugate.constraints, conjugate.kkt)
    k = conjugate.multiple
    norm = times(k * k / (4.0 * mu), Line(f"||{total.text}||^2", rf"\bigl\|{total.latex}\bigr\|_2^2"))
    point = times(k / (2.0 * mu), total)
    pairs = (part.text, norm.text), (part.latex, norm.latex)
    return DualStatement(
        sense="maximise",
        over=symbol,
        objective=Line(*(f"{first} - {last}" if first else f"-{last}" for first, last in pairs)),
        constraints=(*conjugate.constraints, *((conjugate.balance,) if free and conjugate.balance else ())),
        kkt=(Line(f"w = {point.text}", f"w = {point.latex}"),),
    )
