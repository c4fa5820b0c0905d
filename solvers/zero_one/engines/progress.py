"""How fast an engine's bound rises, and what the rest will take."""

from __future__ import annotations

import math

__all__ = ["Progress"]

#: Bounds are kept at efforts that grow by this factor; the rate is taken from the last growth of effort by `_SPAN` or more.
_APART, _SPAN = 1.2, 4.0
#: Doublings beyond which a forecast says nothing.
_FAR = 100.0


class Progress:
    """Bounds rise by about the same with each doubling of the effort: so many nodes more a level of the tree deeper.

    What is missing, over what a doubling brings, is how often the effort must still double.

    Parameters
    ----------
    bend : float
        How many times as many doublings it takes: boxes bring less towards the end.
    """

    def __init__(self, bend: float) -> None:
        self._bend = bend
        self._marks: list[tuple[float, float]] = []

    def note(self, spent: float, proved: float) -> None:
        """A bound that was reached with this effort; those of passes rise only where a pass ends."""
        if spent <= 0.0 or proved <= 0.0 or (self._marks and proved <= self._marks[-1][1]):
            return
        if len(self._marks) > 1 and spent < _APART * self._marks[-2][0]:
            self._marks.pop()
        self._marks.append((spent, proved))

    def total(self, upper: float) -> float:
        """Effort that closes the gap to ``upper``, what was spent included; ∞ where nothing can be said."""
        if not self._marks:
            return math.inf
        spent, proved = self._marks[-1]
        early = next((mark for mark in reversed(self._marks) if _SPAN * mark[0] <= spent), self._marks[0])
        if early[0] >= spent:
            return math.inf
        rate = (proved - early[1]) / math.log2(spent / early[0])
        return spent * 2.0 ** min(self._bend * max(upper - proved, 0.0) / rate, _FAR)
