"""The numbers of an audit: values rounded up, bounds rounded down, multipliers that are feasible exactly."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np

from ..models.arrays import FloatArray
from ..models.kernels.gram import GramOperator
from ..models.rounding import UNIT, Rounded, dot, total

__all__ = ["Audit", "audited", "dual_value", "feasible", "hinge_cost", "mended", "norm", "scores", "squared_norm"]

#: Multipliers are rounded down to multiples of 2⁻ᵏ of the largest: their sums are exact for a million of them.
_DIGITS = 32


@dataclass(frozen=True)
class Audit:
    """The value of a fitted machine beside a bound of the optimum of its problem.

    Parameters
    ----------
    machine, problem : str
    value, bound : float
        Primal value of what is stored, rounded up, and the dual value, rounded down.
    condition : str
        What the bound rests on where it is not proved; empty where it is.
    violation : float
        By how much the stored multipliers left their box or their equation before they were mended, relative to the box.
    rounding : float
        By how much value and bound were moved apart, since float64 cannot tell.
    advice : str
        The parameter of the fit to change, where the fit stopped at one; else empty.
    """

    machine: str
    problem: str
    value: float
    bound: float
    condition: str = ""
    violation: float = 0.0
    rounding: float = 0.0
    advice: str = ""

    def advised(self, advice: str) -> Audit:
        """Return the audit with the advice."""
        return replace(self, advice=advice)

    @property
    def gap(self) -> float:
        """(value - bound)/max(|value|, |bound|); 0 where both are 0."""
        size = max(abs(self.value), abs(self.bound))
        return (self.value - self.bound) / size if size else 0.0

    def __str__(self) -> str:
        kind = "proved" if not self.condition else f"proved if {self.condition}"
        is_resolved = self.rounding <= 0.1 * (self.value - self.bound) or self.rounding <= 1e-9 * abs(self.value)
        hidden = "" if is_resolved else f"\n  rounding alone may make {self.rounding:.1e} of the gap: centre or scale the data"
        return (
            f"{self.machine}: {self.problem}\n"
            f"  value {self.value:.10g}   bound {self.bound:.10g} ({kind})   relative gap {self.gap:.2e}\n"
            f"  multipliers as stored violate their constraints by {self.violation:.1e}{hidden}"
            + (f"\n  {self.advice}" if self.advice else "")
        )


def audited(machine: str, problem: str, value: Rounded, bound: Rounded, condition: str = "", violation: float = 0.0) -> Audit:
    """The record of both, rounded outward."""
    lower = bound.lower if math.isfinite(bound.value) and math.isfinite(bound.error) else -math.inf
    return Audit(machine, problem, value.upper, lower, condition, violation, value.error + bound.error)


def scores(gram: GramOperator, coefficients: FloatArray, b: float) -> tuple[FloatArray, FloatArray]:
    """K c + b with a bound of the error of every entry."""
    product, error = gram.product(coefficients), gram.product_error(coefficients)
    values = product + b
    return values, (error + UNIT * np.abs(values)) * (1.0 + 4.0 * UNIT)


def norm(gram: GramOperator, coefficients: FloatArray) -> Rounded:
    """c'K c."""
    return dot(coefficients, gram.product(coefficients), gram.product_error(coefficients))


def squared_norm(w: FloatArray, error: FloatArray) -> Rounded:
    """||w||² of a vector whose entries come with these errors."""
    square = dot(w, w)
    return Rounded(square.value, (square.error + float(error @ (2.0 * np.abs(w) + error))) * (1.0 + 1e-12))


def hinge_cost(c: FloatArray, target: float, margins: FloatArray, error: FloatArray, squared: bool = False) -> Rounded:
    """Σ c_i max(0, target - margin_i), or its square, of margins that come with these errors."""
    short = np.maximum(target - margins, 0.0)
    error = (error + UNIT * (abs(target) + np.abs(margins))) * (1.0 + 4.0 * UNIT)
    if squared:
        error = (error * (2.0 * short + error) + UNIT * short**2) * (1.0 + 8.0 * UNIT)
        short = short**2
    return dot(c, short, error)


def dual_value(a: FloatArray, curvature: Rounded) -> Rounded:
    """Σ a_i - ½ curvature."""
    return total(a) - curvature.times(0.5)


def feasible(a: FloatArray, signs: FloatArray, top: FloatArray, least: float | None) -> FloatArray | None:
    """Multipliers near ``a`` that are in 0 ≤ a ≤ top with signs'a = 0 *exactly*, and add up to at least ``least``.

    They are whole multiples of one power of two, so that their sums are exact: where the sides differ, what one has too much is
    taken off its largest; where they add up to too little, what is missing goes where there is room. None where there is none.
    """
    largest = float(a.max(initial=0.0))
    if least is not None:
        largest = max(largest, least / max(a.size, 1))
    if not largest > 0.0:
        return np.zeros_like(a)
    grid = 2.0 ** (math.frexp(largest)[1] - _DIGITS)
    if grid < 1e-290:
        return np.zeros_like(a) if least is None else None
    room = np.floor(np.minimum(top / grid, 2.0**52)).astype(np.int64)
    counts = np.minimum(np.floor(a / grid).astype(np.int64), room)
    sides = [signs > 0, signs < 0] if (signs < 0).any() else [signs > 0]
    sums = [int(counts[side].sum()) for side in sides]
    target = min(sums) if least is None else math.ceil(Fraction(least) / Fraction(grid) / len(sides))
    for side, have in zip(sides, sums, strict=True):
        part, free = counts[side], room[side] - counts[side]
        moved = _taken(part, have - target) if have > target else -_taken(free, target - have)
        if int(np.abs(moved).sum()) != abs(have - target):
            return None
        counts[side] = part - moved
    return np.asarray(counts * grid)


def mended(a: FloatArray, signs: FloatArray, top: FloatArray, total: float | None) -> tuple[FloatArray, float]:
    """Multipliers in 0 ≤ a ≤ top with signs'a = 0 (and sum ``total``), near those given, and how far these were from it."""
    clipped = np.clip(a, 0.0, top)
    scale = float(top.max(initial=0.0)) or 1.0
    outside = float(np.abs(a - clipped).max(initial=0.0))
    sides = [signs > 0, signs < 0] if (signs < 0).any() else [signs > 0]
    sums = [float(clipped[side].sum()) for side in sides]
    target = min(sums) if total is None else total / len(sides)
    if total is None:
        outside = max(outside, abs(sums[0] - sums[-1]))
    else:
        outside = max(outside, *(abs(value - target) for value in sums))
    for side, value in zip(sides, sums, strict=True):
        if value > target:
            clipped[side] *= target / value
        elif value < target:
            room = top[side] - clipped[side]
            clipped[side] += room * min((target - value) / max(float(room.sum()), 1e-300), 1.0)
    return clipped, outside / scale


def _taken(held: np.ndarray, amount: int) -> np.ndarray:
    """``amount`` taken off these whole numbers, the largest first."""
    order = np.argsort(-held, kind="stable")
    before = np.cumsum(held[order]) - held[order]
    amounts = np.zeros_like(held)
    amounts[order] = np.clip(amount - before, 0, held[order])
    return amounts
