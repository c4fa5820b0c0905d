"""Values of points and of multipliers in rational arithmetic, one function for each model of the book."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from typing import Any

from ..errors import InputError
from ..models.arrays import FloatArray

__all__ = ["MODELS", "exact_bound", "exact_value", "rounded_up", "statement"]

Rows = list[list[Fraction]]

#: Sums of many quotients are rounded up to whole multiples of this, which keeps their digits few.
_GRAIN = Fraction(1, 2**90)


def _zero_one(rows: Rows, point: Mapping[str, Any], lam: Fraction, free: bool) -> Fraction:
    """||w||² + λ Σ 1{u_i < 1}."""
    w = _vector(point, "w", len(rows[0]))
    return _norm(w, free) + lam * sum(margin < 1 for margin in _margins(rows, w))


def _hinge(rows: Rows, point: Mapping[str, Any], lam: Fraction, free: bool) -> Fraction:
    """||w||² + λ Σ (1 - u_i)_+."""
    w = _vector(point, "w", len(rows[0]))
    return _norm(w, free) + lam * sum((max(1 - margin, Fraction(0)) for margin in _margins(rows, w)), Fraction(0))


def _ramp(rows: Rows, point: Mapping[str, Any], lam: Fraction, free: bool) -> Fraction:
    """||w||² + λ Σ min((1 - u_i)_+, 2)."""
    w = _vector(point, "w", len(rows[0]))
    losses = (min(max(1 - margin, Fraction(0)), Fraction(2)) for margin in _margins(rows, w))
    return _norm(w, free) + lam * sum(losses, Fraction(0))


def _conic(rows: Rows, point: Mapping[str, Any], lam: Fraction, free: bool) -> Fraction:
    """Tr W + λ Σ z_i with the least feasible z of (w, W), rounded up.

    W - ww' ⪰ 0 gives h_i = x_i'W x_i - 2u_i + 1 ≥ (1 - u_i)², and the least z_i with (r_i)_+²/z_i + (r_i)_-²/(1 - z_i) ≤ h_i is
    (1 - u_i)_+²/h_i.
    """
    p = len(rows[0])
    w = _vector(point, "w", p)
    lower = _vector(point, "W", p * (p + 1) // 2)
    W = [[lower[max(i, j) * (max(i, j) + 1) // 2 + min(i, j)] for j in range(p)] for i in range(p)]
    if not _is_positive_semidefinite([[W[i][j] - w[i] * w[j] for j in range(p)] for i in range(p)]):
        raise InputError("the point is not feasible: W - ww' is not positive semidefinite")
    total = sum((W[i][i] for i in range(p)), Fraction(0))
    for row, margin in zip(rows, _margins(rows, w), strict=True):
        short = 1 - margin
        if short > 0:
            curvature = sum((row[i] * sum((W[i][j] * row[j] for j in range(p)), Fraction(0)) for i in range(p)), Fraction(0))
            total += lam * (math.ceil(short * short / (curvature - 2 * margin + 1) / _GRAIN) * _GRAIN)
    return total


#: The value of a point by model, and the model in one line.
MODELS: dict[str, tuple[Callable[[Rows, Mapping[str, Any], Fraction, bool], Fraction], str]] = {
    "zero-one": (_zero_one, "min ||w||² + λ Σ 1{y_i x_i'w < 1}"),
    "hinge": (_hinge, "min ||w||² + λ Σ (1 - y_i x_i'w)_+"),
    "ramp": (_ramp, "min ||w||² + λ Σ min((1 - y_i x_i'w)_+, 2)"),
    "conic": (_conic, "min Tr W + λ Σz, x_i'W x_i - 2u_i + 1 ≥ (1 - u_i)_+²/z_i + (1 - u_i)_-²/(1 - z_i), W ⪰ ww'"),
}


def statement(model: str, parameters: Mapping[str, Any]) -> str:
    """Return the model of an entry in one line."""
    free = ", w_0 outside the norm" if _is_free(parameters) else ""
    return f"{MODELS[model][1]}, λ = {parameters['lam']:g}{free}"


def exact_value(model: str, parameters: Mapping[str, Any], X: FloatArray, y: FloatArray, point: Mapping[str, Any]) -> Fraction:
    """Return the objective of a point of an entry, exact or, for quotients, rounded up by less than 2⁻⁹⁰ a point.

    Raises
    ------
    InputError
        An unknown model, a point of another size or with numbers that are not finite, or one that is not feasible.
    """
    if model not in MODELS:
        raise InputError(f"the book knows no model {model!r}; known: {', '.join(MODELS)}")
    rows = _signed(X, y)
    return MODELS[model][0](rows, point, Fraction(float(parameters["lam"])), _is_free(parameters))


def exact_bound(parameters: Mapping[str, Any], X: FloatArray, y: FloatArray, multipliers: Sequence[float]) -> Fraction:
    """Return the bound Σα - ¼||Σ α_i y_i x_i||² of the hinge loss, 0 ≤ α ≤ λ, in rational arithmetic.

    Raises
    ------
    InputError
        Not one multiplier for each point, or one outside [0, λ].
    """
    lam = Fraction(float(parameters["lam"]))
    alpha = _vector({"multipliers": multipliers}, "multipliers", len(y))
    if any(not 0 <= a <= lam for a in alpha):
        raise InputError("a multiplier is outside [0, λ]")
    rows = _signed(X, y)
    sums = [sum((a * row[j] for a, row in zip(alpha, rows, strict=True)), Fraction(0)) for j in range(len(rows[0]))]
    return sum(alpha, Fraction(0)) - sum((s * s for s in sums), Fraction(0)) / 4


def rounded_up(value: Fraction) -> float:
    """Return the least double that is not below a fraction."""
    number = float(value)
    return number if Fraction(number) >= value else math.nextafter(number, math.inf)


def _is_free(parameters: Mapping[str, Any]) -> bool:
    return parameters.get("intercept") == "free"


def _signed(X: FloatArray, y: FloatArray) -> Rows:
    return [[Fraction(x) * int(label) for x in row] for row, label in zip(X.tolist(), y.tolist(), strict=True)]


def _vector(point: Mapping[str, Any], name: str, size: int) -> list[Fraction]:
    """Return one part of a point."""
    numbers = point.get(name)
    if not isinstance(numbers, list | tuple) or len(numbers) != size:
        raise InputError(f"{name} must hold {size} numbers", name=name)
    if not all(isinstance(x, int | float) and math.isfinite(x) for x in numbers):
        raise InputError(f"{name} must hold finite numbers", name=name)
    return [Fraction(x) for x in numbers]


def _norm(w: list[Fraction], free: bool) -> Fraction:
    return sum((x * x for x in w[1 if free else 0 :]), Fraction(0))


def _margins(rows: Rows, w: list[Fraction]) -> list[Fraction]:
    return [sum((a * x for a, x in zip(row, w, strict=True)), Fraction(0)) for row in rows]


def _is_positive_semidefinite(S: Rows) -> bool:
    """Return whether a symmetric matrix has a factorisation LDL' with D ≥ 0."""
    S = [row.copy() for row in S]
    for k, row in enumerate(S):
        if row[k] < 0 or (row[k] == 0 and any(row[k:])):
            return False
        if row[k] == 0:
            continue
        for i in range(k + 1, len(S)):
            factor = S[i][k] / row[k]
            S[i][k:] = [x - factor * r for x, r in zip(S[i][k:], row[k:], strict=True)]
    return True
