"""A box, what a node knows of it, and what follows from that for its ends: they move only by what is proved."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ....models.arrays import BoolArray
from ...zero_one.check.arithmetic import Array, round_down, round_up
from .coordinates import RotatedProblem

__all__ = ["CheckedBox", "margins", "off_by", "propagate", "root"]

_EPS, _TINY = 2.0**-52, 2.0**-1000
#: Passes over rows and points at most, and the share of a coordinate's width that is worth another one.
_PASSES, _WORTH = 60, 1e-10


@dataclass(eq=False)
class CheckedBox:
    """lo ≤ v ≤ hi; points of interest there cost at least the bound.

    Parameters
    ----------
    lo, hi : ndarray (p,)
    bound : float
    marked : ndarray of bool (p,)
        v_j ≠ 0 for what is of interest here.
    demanded : ndarray of bool (n,)
        Points whose margins are at least 1 for all that is feasible here.
    """

    lo: Array
    hi: Array
    bound: float
    marked: BoolArray
    demanded: BoolArray

    @property
    def empty(self) -> bool:
        """Return whether it holds no point."""
        return bool((self.lo > self.hi).any())

    @property
    def used(self) -> BoolArray:
        """Coordinates that are not 0 for what is of interest here."""
        return np.asarray(self.marked | (self.lo > 0.0) | (self.hi < 0.0))

    @property
    def reach(self) -> Array:
        """The largest |v_j|."""
        return np.maximum(np.abs(self.lo), np.abs(self.hi))

    def part(self, j: int, at: float, side: int) -> CheckedBox:
        """The part with v_j ≤ at, or for side 1 with v_j ≥ at."""
        lo, hi = self.lo.copy(), self.hi.copy()
        if side:
            lo[j] = max(lo[j], at)
        else:
            hi[j] = min(hi[j], at)
        return CheckedBox(lo, hi, self.bound, self.marked.copy(), self.demanded.copy())

    def support(self, j: int, side: int) -> CheckedBox:
        """The part with v_j = 0, or for side 1 all of it with v_j ≠ 0."""
        found = CheckedBox(self.lo.copy(), self.hi.copy(), self.bound, self.marked.copy(), self.demanded.copy())
        if side:
            found.marked[j] = True
        else:
            found.zero(np.arange(self.lo.size) == j)
        return found

    def zero(self, which: BoolArray) -> None:
        """Keep what is 0 there."""
        self.lo, self.hi = np.where(which, np.maximum(self.lo, 0.0), self.lo), np.where(which, np.minimum(self.hi, 0.0), self.hi)

    def clear(self) -> None:
        """Keep nothing."""
        self.lo, self.hi = np.full_like(self.lo, np.inf), np.full_like(self.hi, -np.inf)


def root(problem: RotatedProblem) -> CheckedBox:
    """The root box."""
    box = CheckedBox(
        problem.lo.copy(), problem.hi.copy(), 0.0, np.zeros(problem.lo.size, dtype=np.bool_), problem.stated.kept.copy()
    )
    propagate(problem, box)
    return box


def off_by(terms: int, size: Array) -> Array:
    """Return a bound of the error of a sum of so many products with this sum of absolute values."""
    return (terms + 4) * _EPS * size + _TINY


def margins(problem: RotatedProblem, box: CheckedBox) -> tuple[Array, Array, Array]:
    """Ends of the margins of all points over the box, and their Σ_j |g_ij v_j|."""
    up, down = np.maximum(problem.g, 0.0), np.minimum(problem.g, 0.0)
    size = (up - down) @ box.reach
    off = off_by(2 * box.lo.size + 4, size) + problem.e
    return up @ box.lo + down @ box.hi - off, up @ box.hi + down @ box.lo + off, size


def propagate(problem: RotatedProblem, box: CheckedBox) -> None:
    """Move the box's ends to what integers, counts, rows, demanded points and budgets leave, and find the points demanded."""
    if problem.stated.free:
        return
    for _ in range(_PASSES):
        lo, hi, demanded = box.lo, box.hi, box.demanded
        _of_coordinates(problem, box)
        if not box.empty:
            _of_budgets(problem, box)
        if not box.empty:
            _of_lines(problem, box)
        if not box.empty:
            _of_coordinates(problem, box)
        if box.empty:
            box.clear()
            return
        moved = (box.lo - lo) + (hi - box.hi) > _WORTH * (hi - lo)
        if not moved.any() and np.array_equal(demanded, box.demanded):
            return


def _of_coordinates(problem: RotatedProblem, box: CheckedBox) -> None:
    """Whole coordinates end at integers; if as many are used as may be, the others are 0."""
    stated = problem.stated
    box.lo, box.hi = np.where(stated.whole, np.ceil(box.lo), box.lo), np.where(stated.whole, np.floor(box.hi), box.hi)
    other = stated.whole & box.marked
    box.lo, box.hi = np.where(other & (box.lo == 0.0), 1.0, box.lo), np.where(other & (box.hi == 0.0), -1.0, box.hi)
    used = box.used & stated.counted
    count = int(used.sum())
    if count > stated.most or (box.marked & (box.lo == 0.0) & (box.hi == 0.0)).any():
        box.clear()
    elif count == stated.most:
        box.zero(stated.counted & ~used)


def _of_budgets(problem: RotatedProblem, box: CheckedBox) -> None:
    """Demand the other points of a budget where as many as may be are certain errors."""
    if not problem.stated.budgets:
        return
    errors = margins(problem, box)[1] < 1.0
    demanded = box.demanded.copy()
    for budget in problem.stated.budgets:
        sure = errors[budget.points]
        if sure.sum() > budget.limit:
            box.clear()
            return
        if sure.sum() == budget.limit:
            demanded[budget.points[~sure]] = True
    box.demanded = demanded


def _of_lines(problem: RotatedProblem, box: CheckedBox) -> None:
    """Of a'v ≥ b, what the other coordinates leave: a_j v_j ≥ b - Σ_{k≠j} max a_k v_k."""
    lines = np.concatenate([problem.stated.rows, problem.g[box.demanded]])
    if not len(lines):
        return
    least = np.concatenate([problem.stated.least, np.ones(int(box.demanded.sum()))])
    parts = np.maximum(lines * box.lo, lines * box.hi)
    top, size = parts.sum(axis=1), np.abs(lines) @ box.reach + np.abs(least)
    off = off_by(2 * box.lo.size + 16, size)
    off[len(problem.stated.rows) :] += problem.e[box.demanded] * (1.0 + 2.0**-48)
    if (top + off < least).any():
        box.clear()
        return
    need = least[:, None] - (top[:, None] - parts) - off[:, None]
    with np.errstate(all="ignore"):
        ends = need / lines
    known = ~np.isnan(ends)
    box.lo = np.maximum(box.lo, np.where(known & (lines > 0.0), round_down(ends), -np.inf).max(axis=0))
    box.hi = np.minimum(box.hi, np.where(known & (lines < 0.0), round_up(ends), np.inf).min(axis=0))
