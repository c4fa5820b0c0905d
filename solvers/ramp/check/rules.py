"""What a box of the ramp problem is proved to cost, from a round's pairs and multipliers alone.

Sums are numpy's, each with what it can be off by: a sum of m products, in any order, by less than (m + 4)·2⁻⁵²·Σ|terms|.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from ....models.rounding import transposed_product
from ...zero_one.check.arithmetic import Array, InvalidProofError, round_down, round_up
from .coordinates import Problem

__all__ = ["Box", "Loss", "losses", "pay", "relaxed", "stated_box"]

_EPS, _TINY = 2.0**-52, 2.0**-1000
_BELOW, _ABOVE = 1.0 - 2.0**-48, 1.0 + 2.0**-48
#: Share of the cut that the rounding of a sum may cost before the sum is split without error.
_FINE = 1e-11


@dataclass(eq=False)
class Box:
    """lo ≤ v ≤ hi; points of interest there cost at least the bound."""

    lo: Array
    hi: Array
    bound: float

    @property
    def empty(self) -> bool:
        """Whether it holds no point."""
        return bool((self.lo > self.hi).any())

    def part(self, j: int, at: float, side: int) -> Box:
        """The part with v_j ≤ at, or for side 1 with v_j ≥ at."""
        lo, hi = self.lo.copy(), self.hi.copy()
        if side:
            lo[j] = max(lo[j], at)
        else:
            hi[j] = min(hi[j], at)
        return Box(lo, hi, self.bound)


@dataclass(eq=False)
class Loss:
    """Points cost at least ``sure``, and each left·(level + t (begins - m)) + (c s - left·t)(corner - m)_+, or with a lesser t.

    Parameters
    ----------
    sure : float
        What all points that are on the flat part cost, and later what pairs pay.
    left : ndarray (n,)
        The part of the costs of which nothing is paid yet.
    level, begins, slope : ndarray (n,)
    """

    sure: float
    left: Array
    level: Array
    begins: Array
    slope: Array


def _off(terms: int, size: Any) -> Any:
    """What a sum of so many products with this sum of absolute values can be off by."""
    return (terms + 4) * _EPS * size + _TINY


def _reach(box: Box) -> Array:
    return np.maximum(np.abs(box.lo), np.abs(box.hi))


def stated_box(box: Box, entry: dict[str, Any]) -> Box:
    """The box of which the search found the multipliers, where it holds all of this one.

    They are less good for a smaller one: a hinge that is as steep as may be is steeper there, and falls farther beyond its end.
    """
    if "box" not in entry:
        return box
    lo, hi = (np.array(side, dtype=np.float64) for side in entry["box"])
    if lo.shape != box.lo.shape or hi.shape != box.hi.shape or not np.isfinite([lo, hi]).all():
        raise InvalidProofError("a box must have finite ends, two for each coordinate")
    return Box(np.minimum(lo, box.lo), np.maximum(hi, box.hi), box.bound)


def losses(problem: Problem, box: Box) -> Loss:
    """Convex lower bounds of all losses over the box."""
    stated, g, p = problem.stated, problem.g, box.lo.size
    up, down, off = np.maximum(g, 0.0), np.minimum(g, 0.0), _off(2 * p + 4, np.abs(g) @ _reach(box)) + problem.e
    low, high = up @ box.lo + down @ box.hi - off, up @ box.hi + down @ box.lo + off
    s, corner = round_down(stated.height / stated.width), round_down(1.0 - stated.beyond)
    flat_below, flat_above = round_down(1.0 - stated.width), round_up(1.0 - stated.width)
    flat, open_ = high <= flat_below, (high > flat_below) & (low < 1.0)
    chord = open_ & (low < flat_above) & (high < 1.0)
    begins = np.where(chord, high, 1.0)
    ends = np.minimum(np.maximum(low, corner), flat_above)
    steep = np.where(chord, s * np.maximum(begins - flat_above, 0.0), stated.height) / np.where(
        chord, begins - ends, np.maximum(stated.width, 1.0 - np.maximum(low, corner))
    )
    level = np.where(chord, np.minimum(s * (1.0 - begins), stated.height) * _BELOW, 0.0)
    fixed = stated.costs[flat] * stated.height
    slope = np.where(open_, np.clip(np.nan_to_num(steep, nan=0.0) * _BELOW, 0.0, s), 0.0)
    sure = float(fixed.sum() - _off(fixed.size, fixed.sum()))
    return Loss(max(sure, 0.0), np.where(open_, stated.costs, 0.0), level, begins, slope)


def pay(problem: Problem, box: Box, loss: Loss, levels: list[list[int]]) -> None:
    """Pairs (i, j), level by level, pay all that is left of the cheaper cost, as far as their margins cannot both be 1."""
    g, e, stated = problem.g, problem.e, problem.stated
    s, reach = round_down(stated.height / stated.width), _reach(box)
    for level in levels:
        named = np.array(level, dtype=np.int64)
        if named.size % 2 or (named < 0).any() or (named >= len(g)).any() or np.unique(named).size < named.size:
            raise InvalidProofError("pairs of a level must be of points that exist, each once")
        i, j = named[0::2], named[1::2]
        both = g[i] + g[j]
        top = np.maximum(both, 0.0) @ box.hi + np.minimum(both, 0.0) @ box.lo
        top = top + _off(2 * box.lo.size + 6, (np.abs(g[i]) + np.abs(g[j])) @ reach) + (e[i] + e[j]) * _ABOVE
        apart = np.clip((2.0 - round_up(top)) * _BELOW, 0.0, stated.width)
        price = np.where(apart > 0.0, np.minimum(loss.left[i], loss.left[j]), 0.0)
        paid = price * apart * s * _BELOW
        loss.sure += float(paid.sum() - _off(paid.size, paid.sum()))
        for side in (i, j):
            loss.left[side] = np.maximum(loss.left[side] - price, 0.0) * _BELOW


def _multipliers(problem: Problem, loss: Loss, entry: dict[str, Any]) -> tuple[Array, Array]:
    """α of the points' own hinges, and of those at the corner: what the log says, at most what is valid."""
    n, stated = len(problem.g), problem.stated
    rows = np.array([i for i, _ in entry["part"]], dtype=np.int64)
    values = np.array([alpha for _, alpha in entry["part"]], dtype=np.float64)
    full = np.array(entry["full"], dtype=np.int64)
    named = np.concatenate([full, rows])
    if (named < 0).any() or (named >= 2 * n).any() or np.unique(named).size < named.size:
        raise InvalidProofError("multipliers name points that do not exist, or one twice")
    if not np.isfinite(values).all() or (values < 0.0).any():
        raise InvalidProofError("multipliers must be finite and not negative")
    wanted = np.zeros(2 * n)
    wanted[full], wanted[rows] = np.inf, values
    alpha = np.minimum(wanted[:n], loss.left * loss.slope * _BELOW)
    if not np.isfinite(stated.beyond):
        return alpha, np.zeros(n)
    rest = stated.costs * round_down(stated.height / stated.width) * _BELOW - loss.left * loss.slope
    return alpha, np.minimum(wanted[n:], np.maximum(rest, 0.0) * _BELOW)


def _polar(problem: Problem, entry: dict[str, Any]) -> tuple[Array, Array]:
    """T'p and what it can be off by, p scaled down to |x_k'p| ≤ 1."""
    atoms, T, size = problem.stated.atoms, problem.T, problem.squares.size
    given = np.array(entry["p"], dtype=np.float64)
    if given.shape != (size,) or not np.isfinite(given).all():
        raise InvalidProofError("a point of the polar has the wrong length, or is not finite")
    if not len(atoms):
        return np.zeros(size), np.zeros(size)
    known = np.where(atoms.any(axis=0), given, 0.0)
    products = np.abs(atoms @ known) + _off(size, np.abs(atoms) @ np.abs(known))
    if not np.isfinite(products).all():  # too large to be compared with 1
        return np.zeros(size), np.zeros(size)
    known = known * (_BELOW / max(1.0, float(products.max())))
    return T.T @ known, _off(size, np.abs(T.T) @ np.abs(known))


def relaxed(problem: Problem, box: Box, loss: Loss, entry: dict[str, Any], cut: float) -> None:
    """The bound of the box by these multipliers, or by none; the part that may cost less than the cut is left.

    With x = v - m the Lagrangian is const + Σ_j (a_j x_j² + b_j x_j): each x_j has its own least value c_j, and rises from there.
    """
    n, p = problem.g.shape
    alpha, again, mid, extra = np.zeros(n), np.zeros(n), np.zeros(p), np.zeros(p)
    turned, off_turned = np.zeros(p), np.zeros(p)
    if "p" in entry:
        alpha, again = _multipliers(problem, loss, entry)
        turned, off_turned = _polar(problem, entry)
        mid, half = 0.5 * (box.lo + box.hi), 0.5 * (box.hi - box.lo)
        with np.errstate(divide="ignore", over="ignore"):
            extra = np.where(half > 0.0, max(float(entry["spend"]), 0.0) / p / half**2, 0.0)
    corner = round_down(1.0 - problem.stated.beyond) if again.any() else 0.0
    lo, hi = round_down(box.lo - mid), round_up(box.hi - mid)
    both = alpha + again
    pulled, off_pulled = both @ problem.g, _off(n + 4, both @ np.abs(problem.g))
    if float(off_pulled @ _reach(box)) > _FINE * cut:  # an intercept's terms cancel, and its box is wide
        pulled, off_pulled = transposed_product(problem.g, both)
    lin = turned - pulled
    off = off_turned + off_pulled + _off(4, np.abs(turned) + np.abs(pulled))
    d = problem.squares
    a, b = (d + extra) * (1.0 - 4.0 * _EPS), lin + 2.0 * d * mid
    off = off + _off(4, np.abs(lin) + 2.0 * d * np.abs(mid))
    most = extra * np.maximum(lo * lo, hi * hi)
    with np.errstate(divide="ignore", invalid="ignore"):
        c = np.clip(np.where(a > 0.0, -0.5 * b / a, np.where(b > 0.0, lo, hi)), lo, hi)
    steep = 2.0 * a * c + b
    unsure = off + _off(4, 2.0 * a * np.abs(c) + np.abs(b))
    rises, falls = steep - unsure, -steep - unsure
    lost = np.maximum(np.maximum(-rises, 0.0) * (hi - c), np.maximum(-falls, 0.0) * (c - lo))
    terms = np.concatenate([
        [loss.sure], loss.left * loss.level, alpha * loss.begins, again * corner, -both * problem.e,
        d * mid * mid, lin * mid, a * c * c, b * c, -most, -lost, -off * (np.abs(c) + np.abs(mid)),
    ])  # fmt: skip
    found = float(terms.sum() - _off(terms.size + 8, np.abs(terms).sum()))
    if not np.isfinite(found):
        return
    box.bound = max(box.bound, found)
    left = max(float(round_up(cut - found)), 0.0)
    for side, slope in ((1.0, rises), (-1.0, falls)):
        up = np.maximum(slope, 0.0) * _BELOW
        with np.errstate(all="ignore"):
            under = up + np.sqrt(up * up + 4.0 * a * _BELOW * left)
            far = 2.0 * left / under * _ABOVE
        far = np.where(np.isnan(far), np.where(up > 0.0, 0.0, np.inf), far)
        far = np.where(np.isfinite(under), far, np.inf)  # what overflows says nothing, and not that x stays where it is
        if side > 0.0:
            box.hi = np.minimum(box.hi, round_up(round_up(c + far) + mid))
        else:
            box.lo = np.maximum(box.lo, round_down(round_down(c - far) + mid))
