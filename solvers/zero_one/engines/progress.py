"""Extrapolation of an engine's lower bound: the effort that closes the gap."""

from __future__ import annotations

import math

__all__ = ["Progress"]

#: Recorded efforts grow by at least this factor. The rate spans the last growth of effort by `_SPAN` or more.
_SPACING, _SPAN = 1.2, 4.0
#: Largest exponent of a forecast, against overflow.
_MAX_DOUBLINGS = 100.0


class Progress:
    """A forecast of the effort that closes the gap, from the bounds at past efforts.

    Each doubling of the effort raises the bound by about the same amount, since a level of the tree doubles its nodes. So the
    remaining gap, divided by the gain of one doubling, is the number of doublings left.

    Parameters
    ----------
    bend : float
        Factor on the number of doublings, above 1 where the gain of a doubling falls towards the end.
    """

    def __init__(self, bend: float) -> None:
        self._bend = bend
        self._records: list[tuple[float, float]] = []

    def note(self, spent: float, proved: float) -> None:
        """Record a bound and the effort that proved it. Bounds that do not improve the last one are ignored."""
        if spent <= 0.0 or proved <= 0.0 or (self._records and proved <= self._records[-1][1]):
            return
        if len(self._records) > 1 and spent < _SPACING * self._records[-2][0]:
            self._records.pop()
        self._records.append((spent, proved))

    def total(self, upper: float) -> float:
        """Return the total effort that closes the gap to ``upper``, past effort included; ∞ without enough data."""
        if not self._records:
            return math.inf
        spent, proved = self._records[-1]
        earlier = next((record for record in reversed(self._records) if _SPAN * record[0] <= spent), self._records[0])
        if earlier[0] >= spent:
            return math.inf
        rate = (proved - earlier[1]) / math.log2(spent / earlier[0])
        return spent * 2.0 ** min(self._bend * max(upper - proved, 0.0) / rate, _MAX_DOUBLINGS)
