"""Losses of margins in rational arithmetic."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property

import numpy as np

from .flats import ONE, ZERO

__all__ = ["Loss"]


@dataclass(frozen=True)
class Loss:
    """A loss that does not rise: linear between corners, 0 from the last one on; at a jump the lower value counts.

    Parameters
    ----------
    corners : tuple of (margin, limit from below, value)
        By rising margins.
    tail : Fraction
        Below the first corner it is that corner's limit, and tail (again - m)_+.
    again : Fraction
    """

    corners: tuple[tuple[Fraction, Fraction, Fraction], ...]
    tail: Fraction = ZERO
    rise_start: Fraction = ZERO

    @classmethod
    def ramp(cls, height: float, width: float, beyond: float = np.inf) -> Loss:
        """(h/d)(min{(1 - m)_+, d} + (1 - b - m)_+)."""
        h, d = Fraction(height), Fraction(width)
        corners = ((1 - d, h, h), (ONE, ZERO, ZERO))
        return cls(corners) if beyond == np.inf else cls(corners, h / d, 1 - Fraction(beyond))

    @classmethod
    def count(cls, threshold: float) -> Loss:
        """1{m < t}."""
        return cls(((Fraction(threshold), ONE, ZERO),))

    @classmethod
    def hinge(cls) -> Loss:
        """(1 - m)_+."""
        return cls(((ONE, ZERO, ZERO),), ONE, ONE)

    @classmethod
    def through(cls, points: Sequence[tuple[float, float]]) -> Loss:
        """Through points (m, loss), straight before the first two; two of one m are a jump. The last loss is 0."""
        rows = [(Fraction(m), Fraction(v)) for m, v in points]
        at: dict[Fraction, list[Fraction]] = {}
        for m, v in rows:
            at.setdefault(m, []).append(v)
        corners = tuple((m, values[0], min(values)) for m, values in at.items())
        (first, high), (second, low) = rows[:2]
        return cls(corners, (high - low) / (second - first), first)

    def at(self, m: Fraction) -> Fraction:
        """ρ(m), by its definition."""
        k = sum(t <= m for t, _, _ in self.corners)
        if k == 0:
            return self.corners[0][1] + self.tail * max(self.rise_start - m, ZERO)
        start, _, value = self.corners[k - 1]
        if k == len(self.corners) or m == start:
            return value
        end, below, _ = self.corners[k]
        return value + (m - start) / (end - start) * (below - value)

    @cached_property
    def turns(self) -> list[tuple[Fraction, Fraction]]:
        """Margins where it turns, by rising margins, with the slope just below each."""
        slopes = [
            (t, (below - value) / (t - s))
            for (s, _, value), (t, below, _) in itertools.pairwise(self.corners)
        ]  # fmt: skip
        first = self.corners[0][0]
        if not self.tail:
            return [(first, ZERO), *slopes]
        return [(self.rise_start, -self.tail), *([(first, ZERO)] if self.rise_start < first else []), *slopes]

    def slope(self, place: list[Fraction]) -> Fraction:
        """At a margin and a little along, far less along, and so on; anything at a turn."""
        return next((slope for t, slope in self.turns if place < [t, *(ZERO for _ in place[1:])]), ZERO)
