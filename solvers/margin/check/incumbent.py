"""Feasibility and value of a point in rational arithmetic."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np

from ....models.margin_view import Corners, MarginProblem
from ...exact.check.arithmetic import InvalidProofError, RationalPoint, rounded_up

__all__ = ["SHARE_SLACK", "exact_value"]

#: Share of its own target by which a margin, a row or an end may be short.
_SHORT = Fraction(1, 10**9)
#: By how much the difference of two shares may exceed its limit.
SHARE_SLACK = Fraction(1, 10**9)
#: Error of a sum of products in double precision: this times its terms' absolute values, for each of them.
_ROUNDING = Fraction(1, 2**52)


def exact_value(problem: MarginProblem, w: list[float], combination: list[float]) -> float:
    """Return the objective of w, rounded up; infinite if w is not feasible.

    A solver's point meets a margin or an end up to rounding. So a margin counts as met if it is short of a corner t by at most
    1e-9·|t| (of a corner at 0 by the rounding of its own sum). An end x may be missed by 1e-9·(1 + |x|), a row by 1e-9 of the
    lesser of its terms and its numbers: large terms that cancel allow no more. A score counts as 0 within 1e-9 of its
    terms. Integers and zeros are exact, and so are all sums.
    The norm is that of the combination of atoms, Σ|α_k|, and of its difference from w, which atoms represent exactly; a better
    combination may cost less.
    """
    if len(combination) != len(problem.atoms):
        raise InvalidProofError("the incumbent has the wrong length")
    incumbent = RationalPoint.of(w, problem.A.shape[1])
    point = list(incumbent.coordinates)
    margins = [incumbent.product_and_size(row) for row in problem.A.tolist()]
    if not _feasible(problem, incumbent, margins):
        return math.inf
    norm = _norm(problem, point, [Fraction(float(a)) for a in combination])
    if norm is None:
        return math.inf
    total = norm + incumbent.square(problem.curvature.tolist())
    total += sum((Fraction(price) for price, x in zip(problem.price.tolist(), point, strict=True) if x), Fraction(0))
    for cost, (margin, terms) in zip(problem.costs.tolist(), margins, strict=True):
        total += Fraction(cost) * _loss(problem.loss, margin, terms, len(point))
    return rounded_up(total)


def _allowance(target: float, terms: Fraction, size: int) -> Fraction:
    """Return by how much a margin with these terms may be short of a target."""
    return _SHORT * abs(Fraction(target)) if target else size * _ROUNDING * terms


def _feasible(problem: MarginProblem, incumbent: RationalPoint, margins: list[tuple[Fraction, Fraction]]) -> bool:
    point = incumbent.coordinates
    for x, lower, upper, is_integer in zip(point, problem.lower, problem.upper, problem.whole, strict=True):
        short = _SHORT * (1 + abs(x))
        if x + short < float(lower) or x - short > float(upper) or (is_integer and x.denominator != 1):
            return False
    if sum(bool(x) for x, is_counted in zip(point, problem.counted, strict=True) if is_counted) > problem.most:
        return False
    for row, limit in zip(problem.rows.tolist(), problem.least.tolist(), strict=True):
        product, terms = incumbent.product_and_size(row)
        numbers = max(map(abs, map(Fraction, [*row, float(limit)])))
        if product + _SHORT * min(terms + abs(Fraction(float(limit))), numbers) < limit:
            return False
    errors = np.array([margin + _SHORT < 1 for margin, _ in margins], dtype=np.bool_)
    if errors[problem.kept].any() or any(errors[budget.points].sum() > budget.limit for budget in problem.budgets):
        return False
    above = np.array([margin > _SHORT * terms for margin, terms in margins], dtype=np.bool_)
    reach = np.array([margin >= -_SHORT * terms for margin, terms in margins], dtype=np.bool_)
    for rates in problem.rates:
        is_positive = rates.labels > 0.0
        certain, possible = np.where(is_positive, above, ~reach), np.where(is_positive, reach, ~above)
        if rates.least_spread(certain, possible) > rates.epsilon + SHARE_SLACK:
            return False
    return True


def _loss(loss: Corners, margin: Fraction, terms: Fraction, size: int) -> Fraction:
    """Return ρ(m); at a corner with a jump, its value there if m is short of it by no more than is allowed."""
    corners = loss.margins.tolist()
    below, at = [Fraction(x) for x in loss.below.tolist()], [Fraction(x) for x in loss.at.tolist()]
    k = sum(margin >= corner for corner in corners)
    met = [margin + _allowance(corner, terms, size) >= corner for corner in corners]
    jumps = [j for j in range(k, len(corners)) if met[j] and below[j] > at[j]]
    if jumps:
        value = at[jumps[-1]]
    elif k == 0:
        value = below[0]
    elif k == len(corners):
        value = Fraction(0)
    else:
        left, right = Fraction(corners[k - 1]), Fraction(corners[k])
        value = at[k - 1] + (margin - left) / (right - left) * (below[k] - at[k - 1])
    if loss.tail > 0.0 and margin < loss.again:
        value += Fraction(loss.tail) * (Fraction(loss.again) - margin)
    return value


def _norm(problem: MarginProblem, point: list[Fraction], alpha: list[Fraction]) -> Fraction | None:
    """Return Σ|α_k| of a combination that is w, on the columns of the atoms; None if there is none."""
    columns = np.flatnonzero(problem.atoms.any(axis=0)).tolist()
    atoms = [[Fraction(x) for x in row] for row in problem.atoms[:, columns].tolist()]
    lacks = [point[j] for j in columns]
    for a, atom in zip(alpha, atoms, strict=True):
        if a:
            lacks = [x - a * y for x, y in zip(lacks, atom, strict=True)]
    if any(lacks):
        combination = _combined(atoms, sorted(range(len(alpha)), key=lambda k: -abs(alpha[k])), lacks)
        if combination is None:
            return None
        alpha = [a + combination.get(k, 0) for k, a in enumerate(alpha)]
    return sum(map(abs, alpha), Fraction(0))


_Made = dict[int, Fraction]


def _combined(atoms: list[list[Fraction]], order: list[int], target: list[Fraction]) -> _Made | None:
    """Return β with Σ_k β_k x_k = wanted, of the first atoms in this order that are independent, by Gauss's elimination."""
    echelon: list[tuple[int, list[Fraction], _Made]] = []
    for k in order:
        if len(echelon) == len(target):
            break
        row, made = _reduced(atoms[k], {k: Fraction(1)}, echelon)
        pivot = next((j for j, x in enumerate(row) if x), None)
        if pivot is not None:
            echelon.append((pivot, row, made))
    remainder, made = _reduced(target, {}, echelon)
    return None if any(remainder) else {k: -x for k, x in made.items()}


def _reduced(row: list[Fraction], made: _Made, echelon: list[tuple[int, list[Fraction], _Made]]) -> tuple[list[Fraction], _Made]:
    """Return the row with no entry at a pivot, and the multiple of each atom that was added."""
    for pivot, other, parts in echelon:
        share = row[pivot] / other[pivot]
        if share:
            row = [x - share * y for x, y in zip(row, other, strict=True)]
            made = made | {k: made.get(k, Fraction(0)) - share * x for k, x in parts.items()}
    return row, made
