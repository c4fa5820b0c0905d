"""A convex piece of a loss that is the least of several."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["Branch"]


@dataclass(frozen=True)
class Branch:
    """f(m) = max over (s, t) of s m + t for low ≤ m ≤ high, infinite elsewhere; a loss is min_k f_k.

    Parameters
    ----------
    lines : tuple of (slope, intercept)
    low, high : float
        Infinite where there is no end.
    """

    lines: tuple[tuple[float, float], ...]
    low: float = float("-inf")
    high: float = float("inf")
