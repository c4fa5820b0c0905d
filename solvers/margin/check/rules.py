"""Proved lower bounds of a box's cost, from a round's pairs and multipliers alone.

Sums are numpy's, each with its error bound: a sum of m products, in any order, is wrong by less than (m + 4)·2⁻⁵²·Σ|terms|.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ....models.rounding import transposed_product
from ...exact.check.arithmetic import Array, InvalidProofError, round_down, round_up
from .boxes import CheckedBox, sum_error
from .coordinates import RotatedProblem
from .losses import box_losses, least_costs, pay_pairs

__all__ = ["apply_relaxation", "search_box"]

_EPS = 2.0**-52
_BELOW, _ABOVE = 1.0 - 2.0**-48, 1.0 + 2.0**-48
#: Share of the cut that the rounding of a sum may cost; above it the sum is split without error.
_FINE = 1e-11


def search_box(box: CheckedBox, entry: dict[str, Any]) -> CheckedBox:
    """Return the box for which the search found the multipliers, if it holds all of this one; facts about this one hold there.

    The multipliers are less good for a smaller box: a slope that is as steep as possible is steeper there, and falls farther
    beyond its end.
    """
    lo, hi = box.lo, box.hi
    if "box" in entry:
        lo, hi = (np.array(side, dtype=np.float64) for side in entry["box"])
        if lo.shape != box.lo.shape or hi.shape != box.hi.shape or not np.isfinite([lo, hi]).all():
            raise InvalidProofError("a box must have finite ends, two for each coordinate")
    return CheckedBox(np.minimum(lo, box.lo), np.maximum(hi, box.hi), box.bound, box.used, box.demanded, box.signs)


def _numbers(entry: dict[str, Any], name: str, size: int) -> Array:
    """Return this many finite numbers, all 0 if the round has none."""
    numbers = np.zeros(size) if name not in entry else np.array(entry[name], dtype=np.float64)
    if numbers.shape != (size,) or not np.isfinite(numbers).all():
        raise InvalidProofError(f"{name} must be {size} finite numbers")
    return numbers


def _sparse(entry: dict[str, Any], name: str, size: int) -> Array:
    """Return multipliers by their numbers, each of which occurs once."""
    named = np.array([index for index, _ in entry.get(name, [])], dtype=np.int64)
    values = np.array([value for _, value in entry.get(name, [])], dtype=np.float64)
    if (named < 0).any() or (named >= size).any() or np.unique(named).size < named.size:
        raise InvalidProofError(f"multipliers {name} are of what does not exist, or of something twice")
    if not np.isfinite(values).all() or (values < 0.0).any():
        raise InvalidProofError(f"multipliers {name} must be finite and not negative")
    multipliers = np.zeros(size)
    multipliers[named] = values
    return multipliers


def _polar(problem: RotatedProblem, entry: dict[str, Any]) -> tuple[Array, Array]:
    """Return T'p and its error bound, p scaled down to |x_k'p| ≤ 1."""
    atoms, T, size = problem.stated.atoms, problem.T, problem.squares.size
    p = _numbers(entry, "p", size)
    if not len(atoms):
        return np.zeros(size), np.zeros(size)
    restricted = np.where(atoms.any(axis=0), p, 0.0)
    products = np.abs(atoms @ restricted) + sum_error(size, np.abs(atoms) @ np.abs(restricted))
    if not np.isfinite(products).all():  # too large to be compared with 1
        return np.zeros(size), np.zeros(size)
    restricted = restricted * (_BELOW / max(1.0, float(products.max())))
    return T.T @ restricted, sum_error(size, np.abs(T.T) @ np.abs(restricted))


def _support(problem: RotatedProblem, box: CheckedBox, entry: dict[str, Any]) -> tuple[Array, float]:
    """Return γ with γ_j v_j ≤ π_j 1{v_j ≠ 0} on the box, and the prices that are certain to be paid, with γ_j = 0."""
    price, used = problem.stated.price, box.used
    slopes = _numbers(entry, "support", price.size)
    with np.errstate(divide="ignore", invalid="ignore"):
        lower = np.where(box.lo < 0.0, np.minimum(round_up(price / box.lo), 0.0), 0.0)
        upper = np.where(box.hi > 0.0, np.maximum(round_down(price / box.hi), 0.0), 0.0)
    sure = price[used]
    return np.where(used, 0.0, np.clip(slopes, lower, upper)), float(sure.sum() - sum_error(sure.size, sure.sum()))


def _weighted_lines(problem: RotatedProblem, box: CheckedBox, weights: Array, cut: float) -> tuple[Array, Array]:
    """Return Σ weights·lines, and its error bound."""
    pulled, error = weights @ problem.lines, sum_error(weights.size + 4, weights @ np.abs(problem.lines))
    if float(error @ box.reach) > _FINE * cut:  # an intercept's terms cancel, and its box is wide
        pulled, error = transposed_product(problem.lines, weights)
    return pulled, error


def apply_relaxation(problem: RotatedProblem, box: CheckedBox, entry: dict[str, Any], cut: float) -> None:
    """Return the bound of the box by a round's pairs and multipliers, and restrict the box to the part that may cost less than
    the cut.

    For feasible points of interest in the box, with slopes α, rows and demanded points R w ≥ r, prices θ of budgets,

        cost ≥ paid + Σ_t min_m (left·bounded + cost·tail + α m)_t + r'μ - θ'limits + Σ_{used} π_j
               + Σ_j (d_j v_j² + (p + γ - Σ_t α_t g_t - R'μ)_j v_j).

    With x = v - m the last part is const + Σ_j (a_j x_j² + b_j x_j): each x_j has its own least value c_j, and rises from there.
    """
    stated, p = problem.stated, problem.lo.size
    is_relaxed = "p" in entry
    theta = _numbers(entry, "theta", len(stated.budgets))
    if (theta < 0.0).any():
        raise InvalidProofError("prices of budgets must not be negative")
    loss = box_losses(problem, box, theta)
    pay_pairs(problem, box, loss, entry["pairs"])
    multipliers = entry if is_relaxed else {}
    alpha, mu = (
        _sparse(multipliers, "alpha", loss.unpaid.size),
        _sparse(multipliers, "rows", len(problem.lines) - loss.unpaid.size),
    )
    known = [box.demanded, box.signs > 0, box.signs < 0] if stated.rates else [box.demanded]
    mu[len(stated.rows) :] *= np.concatenate(known)
    right = np.zeros(mu.size)
    right[: len(stated.rows)], right[len(stated.rows) : len(stated.rows) + len(problem.g)] = stated.least, 1.0
    weights = np.concatenate([alpha, mu])
    turned, off_turned = _polar(problem, multipliers)
    gamma, prices = _support(problem, box, multipliers)
    pulled, off_pulled = _weighted_lines(problem, box, weights, cut)
    lin = turned + gamma - pulled
    error = off_turned + off_pulled + sum_error(6, np.abs(turned) + np.abs(gamma) + np.abs(pulled))
    limits = np.array([budget.limit for budget in stated.budgets], dtype=np.float64)
    constants = [
        np.array([loss.fixed_cost, prices]), least_costs(problem, loss, alpha), mu * right, -theta * limits,
        -weights * problem.line_errors,
    ]  # fmt: skip
    mid, extra = np.zeros(p), np.zeros(p)
    if is_relaxed:
        mid, area = 0.5 * (box.lo + box.hi), (0.5 * (box.hi - box.lo)) ** 2
        with np.errstate(divide="ignore", over="ignore", invalid="ignore"):
            extra = np.where(area > 0.0, max(float(entry["spend"]), 0.0) / p / area, 0.0)
    _tighten(problem, box, lin, error, np.concatenate(constants), mid, extra, cut)


def _tighten(
    problem: RotatedProblem, box: CheckedBox, lin: Array, error: Array, constants: Array, mid: Array, extra: Array, cut: float
) -> None:
    """Bound Σ constants + Σ_j (d_j v_j² + lin_j v_j) on the box; ``error`` is the error bound of lin, and ``extra`` are squares
    with value 0 at the ends.
    """
    lo, hi = round_down(box.lo - mid), round_up(box.hi - mid)
    d = problem.squares
    a, b = (d + extra) * (1.0 - 4.0 * _EPS), lin + 2.0 * d * mid
    error = error + sum_error(4, np.abs(lin) + 2.0 * d * np.abs(mid))
    largest = extra * np.maximum(lo * lo, hi * hi)
    with np.errstate(divide="ignore", invalid="ignore"):
        c = np.clip(np.where(a > 0.0, -0.5 * b / a, np.where(b > 0.0, lo, hi)), lo, hi)
    steep = 2.0 * a * c + b
    unsure = error + sum_error(4, 2.0 * a * np.abs(c) + np.abs(b))
    rises, falls = steep - unsure, -steep - unsure
    decrease = np.maximum(np.maximum(-rises, 0.0) * (hi - c), np.maximum(-falls, 0.0) * (c - lo))
    terms = np.concatenate([
        constants, d * mid * mid, lin * mid, a * c * c, b * c, -largest, -decrease, -error * (np.abs(c) + np.abs(mid)),
    ])  # fmt: skip
    bound = float(terms.sum() - sum_error(terms.size + 8, np.abs(terms).sum()))
    if not np.isfinite(bound):
        return
    box.bound = max(box.bound, bound)
    slack = max(float(round_up(cut - bound)), 0.0)
    for side, slope in ((1.0, rises), (-1.0, falls)):
        up = np.maximum(slope, 0.0) * _BELOW
        with np.errstate(all="ignore"):
            below = up + np.sqrt(up * up + 4.0 * a * _BELOW * slack)
            far = 2.0 * slack / below * _ABOVE
        far = np.where(np.isnan(far), np.where(up > 0.0, 0.0, np.inf), far)
        far = np.where(np.isfinite(below), far, np.inf)  # an overflow proves nothing, not even that x stays in place
        if side > 0.0:
            box.hi = np.minimum(box.hi, round_up(round_up(c + far) + mid))
        else:
            box.lo = np.maximum(box.lo, round_down(round_down(c - far) + mid))
