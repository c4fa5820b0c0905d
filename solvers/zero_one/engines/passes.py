"""The growing targets of the conflict search: what each pass proves or refutes."""

from __future__ import annotations

import math

__all__ = ["Passes"]

#: Share of the incumbent's value that the first pass proves or refutes, and the step of the passes while they are short.
FIRST, STEP = 0.5, 0.1
#: A pass of fewer nodes says nothing about how fast the next ones grow.
SHORT_PASS = 200
#: How much larger than the last pass the next one should be; the last of all may be twice that.
GROWTH = 6.0


class Passes:
    """Targets L of a search in passes: each looks for solutions below L, finds none, and so proves the bound L.

    Attributes
    ----------
    target : float
        Of the pass in hand, reduced.
    """

    def __init__(self, cut: float) -> None:
        self.target = FIRST * cut
        self._before = 0
        self._done: list[tuple[float, int]] = []

    def advance(self, nodes: int, cut: float, settled: bool) -> None:
        """A pass is over, after ``nodes`` nodes of all: a target for about `GROWTH` times its own, ``cut`` at most.

        ``settled`` says whether it left no leaf open below its target: else the next pass is the last.
        """
        own, self._before = nodes - self._before, nodes
        self._done.append((self.target, own))
        if not settled:
            self.target = cut
        elif own < SHORT_PASS or len(self._done) < 2:
            self.target += STEP * cut
        else:
            (low, few), (high, many) = self._done[-2:]
            step = (high - low) / max(math.log(many / few), 0.1) * math.log(GROWTH)
            self.target += min(step, STEP * cut)
            if self.target + 0.5 * step >= cut:
                self.target = cut
