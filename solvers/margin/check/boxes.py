"""The nodes of the checker of `margin-bb`, boxes with a lower bound, and their tightening by propagation.

The coordinates are v, w = T v, and the margin of point i is g_i'v. A *demanded* point must have a margin of at least 1. A
*budget* is a limit on the number of its points with margins below 1. The *score* of a point is its label times its margin; equal
rates limit the difference of groups' shares of positive scores by ε.
"""

from __future__ import annotations

import copy
import math
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from ....models.arrays import BoolArray, IntArray
from ....models.views import EqualRates
from ...exact.check.arithmetic import Array, round_down, round_up
from .logged_problem import SHARE_SLACK
from .rotated_problem import RotatedProblem

_EPS, _TINY = 2.0**-52, 2.0**-1000
#: Most passes over rows and points, and the share of a coordinate's width that is worth another one.
_PASSES, _WORTH = 60, 1e-10


@dataclass(eq=False)
class CheckedBox:
    """A node: a box lo ≤ v ≤ hi. Its *points of interest* are the feasible ones that cost less than the claimed bound."""

    lo: Array  #: (p,) lower ends of the box
    hi: Array  #: (p,) upper ends of the box
    bound: float  #: lower bound of the cost of the points of interest
    marked: BoolArray  #: (p,) True if v_j ≠ 0 at every point of interest, known by splits
    demanded: BoolArray  #: (n,) whether the point's margin is at least 1 at every feasible point of the box
    #: (n,) 1 if the point's margin is at least 0 at every feasible point of the box, -1 if it is at most 0, else 0; a margin of 0
    #: counts as positive for 1, as negative for -1
    signs: IntArray

    @property
    def is_empty(self) -> bool:
        """True if the box holds no point."""
        return bool((self.lo > self.hi).any())

    @property
    def used(self) -> BoolArray:
        """Mask (p,) of the coordinates that are not 0 at any point of interest."""
        return np.asarray(self.marked | (self.lo > 0.0) | (self.hi < 0.0))

    @property
    def largest_coordinates(self) -> Array:
        """The largest |v_j| on the box, (p,)."""
        return np.maximum(np.abs(self.lo), np.abs(self.hi))

    def child(self, j: int, value: float, side: int) -> CheckedBox:
        """Return the child with v_j ≤ value for side 0, or with v_j ≥ value for side 1."""
        part = copy.deepcopy(self)
        if side:
            part.lo[j] = max(part.lo[j], value)
        else:
            part.hi[j] = min(part.hi[j], value)
        return part

    def support_child(self, j: int, side: int) -> CheckedBox:
        """Return the child with v_j = 0 for side 0, or the whole box with the mark v_j ≠ 0 for side 1."""
        part = copy.deepcopy(self)
        if side:
            part.marked[j] = True
        else:
            part.fix_at_zero(np.arange(self.lo.size) == j)
        return part

    def sign_child(self, i: int, side: int) -> CheckedBox:
        """Return the child in which point i's margin is at most 0 for side 0, or at least 0 for side 1."""
        part = copy.deepcopy(self)
        part.signs[i] = 2 * side - 1
        return part

    def fix_at_zero(self, mask: BoolArray) -> None:
        """Restrict the box to points that are 0 in these coordinates."""
        self.lo, self.hi = np.where(mask, np.maximum(self.lo, 0.0), self.lo), np.where(mask, np.minimum(self.hi, 0.0), self.hi)

    def make_empty(self) -> None:
        """Make the box empty."""
        self.lo, self.hi = np.full_like(self.lo, np.inf), np.full_like(self.hi, -np.inf)


def root_box(problem: RotatedProblem) -> CheckedBox:
    """Return the root node: the problem's root box after propagation."""
    unmarked, no_sign = np.zeros(problem.lo.size, dtype=np.bool_), np.zeros(len(problem.g), dtype=np.int64)
    box = CheckedBox(problem.lo.copy(), problem.hi.copy(), 0.0, unmarked, problem.original.kept_points.copy(), no_sign)
    propagate(problem, box)
    return box


def sum_error(terms: int, size: Array) -> Array:
    """Return the error bound of a float64 sum of ``terms`` products whose absolute values sum to ``size``."""
    return (terms + 4) * _EPS * size + _TINY


def margin_ranges(problem: RotatedProblem, box: CheckedBox) -> tuple[Array, Array, Array]:
    """Return, for each point, the least and the greatest margin on the box, and the largest Σ_j |g_ij v_j|; three arrays (n,)."""
    positive, negative = np.maximum(problem.g, 0.0), np.minimum(problem.g, 0.0)
    size = (positive - negative) @ box.largest_coordinates
    error = sum_error(2 * box.lo.size + 4, size) + problem.e
    return positive @ box.lo + negative @ box.hi - error, positive @ box.hi + negative @ box.lo + error, size


def propagate(problem: RotatedProblem, box: CheckedBox) -> None:
    """Tighten the box in place by integers, the limit on non-zeros, linear constraints and demanded points.

    Budgets demand further points, and equal rates demand signs of margins.
    """
    if problem.original.is_unrestricted:
        return
    for _ in range(_PASSES):
        lo, hi, demanded, signs = box.lo, box.hi, box.demanded, box.signs
        _propagate_coordinates(problem, box)
        if not box.is_empty:
            _propagate_budgets(problem, box)
        for rates in problem.original.rates:
            if not box.is_empty:
                _propagate_rates(problem, box, rates)
        if not box.is_empty:
            _propagate_lines(problem, box)
        if not box.is_empty:
            _propagate_coordinates(problem, box)
        if box.is_empty:
            box.make_empty()
            return
        shrunk = (box.lo - lo) + (hi - box.hi) > _WORTH * (hi - lo)
        if not shrunk.any() and np.array_equal(demanded, box.demanded) and np.array_equal(signs, box.signs):
            return


def _propagate_coordinates(problem: RotatedProblem, box: CheckedBox) -> None:
    """Round the ends of integer coordinates; if as many coordinates are used as may be, fix the others at 0."""
    logged = problem.original
    box.lo, box.hi = np.where(logged.integer, np.ceil(box.lo), box.lo), np.where(logged.integer, np.floor(box.hi), box.hi)
    nonzero_integers = logged.integer & box.marked
    box.lo, box.hi = (
        np.where(nonzero_integers & (box.lo == 0.0), 1.0, box.lo),
        np.where(nonzero_integers & (box.hi == 0.0), -1.0, box.hi),
    )
    used = box.used & logged.counted
    count = int(used.sum())
    if count > logged.max_nonzeros or (box.marked & (box.lo == 0.0) & (box.hi == 0.0)).any():
        box.make_empty()
    elif count == logged.max_nonzeros:
        box.fix_at_zero(logged.counted & ~used)


def _propagate_budgets(problem: RotatedProblem, box: CheckedBox) -> None:
    """Demand the other points of a budget if as many of its points are certain errors as it allows."""
    if not problem.original.budgets:
        return
    errors = margin_ranges(problem, box)[1] < 1.0
    demanded = box.demanded.copy()
    for budget in problem.original.budgets:
        definite_errors = errors[budget.points]
        if definite_errors.sum() > budget.limit:
            box.make_empty()
            return
        if definite_errors.sum() == budget.limit:
            demanded[budget.points[~definite_errors]] = True
    box.demanded = demanded


def _propagate_rates(problem: RotatedProblem, box: CheckedBox, rates: EqualRates) -> None:
    """Demand the signs of undecided scores of a group that may have no more positive ones, or that needs all of them."""
    low, high, _ = margin_ranges(problem, box)
    margin_is_positive = np.where(box.signs != 0, box.signs > 0, low > 0.0)
    undecided = (low <= 0.0) & (high >= 0.0) & (box.signs == 0)
    positive = ~undecided & (margin_is_positive == (rates.labels > 0.0))
    certain = np.bincount(rates.groups[positive], minlength=rates.sizes.size).tolist()
    possible = np.bincount(rates.groups[positive | undecided], minlength=rates.sizes.size).tolist()
    choices = _choices(certain, possible, rates.sizes.tolist(), Fraction(rates.epsilon) + SHARE_SLACK)
    if not choices:
        box.make_empty()
        return
    signs = box.signs.copy()
    for g in range(len(certain)):
        members = undecided & (rates.groups == g)
        if max(upper_counts[g] for _, upper_counts in choices) == certain[g]:
            signs[members] = -rates.labels[members]
        elif min(lower_counts[g] for lower_counts, _ in choices) == possible[g]:
            signs[members] = rates.labels[members]
    box.signs = signs


def _choices(
    certain: list[int], possible: list[int], sizes: list[int], epsilon: Fraction
) -> list[tuple[tuple[int, ...], tuple[int, ...]]]:
    """Return the least and the greatest numbers of positive scores of all groups, for each smallest share that is possible.

    The smallest share is c/size of some group. All others exceed it by at most the allowed difference ε.
    """
    choices = []
    for share in {Fraction(c, size) for a, b, size in zip(certain, possible, sizes, strict=True) for c in range(a, b + 1)}:
        lower_counts = tuple(max(a, math.ceil(share * size)) for a, size in zip(certain, sizes, strict=True))
        upper_counts = tuple(min(b, math.floor((share + epsilon) * size)) for b, size in zip(possible, sizes, strict=True))
        if all(low <= high for low, high in zip(lower_counts, upper_counts, strict=True)):
            choices.append((lower_counts, upper_counts))
    return choices


def _propagate_lines(problem: RotatedProblem, box: CheckedBox) -> None:
    """Tighten by a'v ≥ b, given the other coordinates: a_j v_j ≥ b - Σ_{k≠j} max a_k v_k."""
    signed = np.flatnonzero(box.signs)
    lines = np.concatenate([problem.original.rows, problem.g[box.demanded], box.signs[signed, None] * problem.g[signed]])
    if not len(lines):
        return
    limits = np.concatenate([problem.original.row_lower, np.ones(int(box.demanded.sum())), np.zeros(signed.size)])
    parts = np.maximum(lines * box.lo, lines * box.hi)
    top, size = parts.sum(axis=1), np.abs(lines) @ box.largest_coordinates + np.abs(limits)
    error = sum_error(2 * box.lo.size + 16, size)
    error[len(problem.original.rows) :] += np.concatenate([problem.e[box.demanded], problem.e[signed]]) * (1.0 + 2.0**-48)
    if (top + error < limits).any():
        box.make_empty()
        return
    lower = limits[:, None] - (top[:, None] - parts) - error[:, None]
    with np.errstate(all="ignore"):
        ends = lower / lines
    is_number = ~np.isnan(ends)
    box.lo = np.maximum(box.lo, np.where(is_number & (lines > 0.0), round_down(ends), -np.inf).max(axis=0))
    box.hi = np.minimum(box.hi, np.where(is_number & (lines < 0.0), round_up(ends), np.inf).min(axis=0))
