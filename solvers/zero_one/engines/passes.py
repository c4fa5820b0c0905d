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
#: Growth, as a logarithm, beyond which a forecast says nothing.
_FAR = 100.0


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
            step = math.log(GROWTH) / self._growth()
            self.target += min(step, STEP * cut)
            if self.target + 0.5 * step >= cut:
                self.target = cut

    def _growth(self) -> float:
        """The logarithm of a pass's nodes rises by this much for each unit of the target, by the last two."""
        (low, few), (high, many) = self._done[-2:]
        return max(math.log(many / few), 0.1) / (high - low)

    def forecast(self, nodes: int, cut: float) -> float:
        """Nodes of all passes until ``cut`` is proved, ``nodes`` of them done; ∞ before two passes are over.

        A pass that is already larger than foreseen counts as one that is over: the growth is at least what it shows.
        """
        if len(self._done) < 2:
            return math.inf
        high, many = self._done[-1]
        target, own = min(self.target, cut), max(nodes - self._before, 1)
        growth = self._growth() if target <= high else max(self._growth(), math.log(own / many) / (target - high))
        return self._before + sum(many * math.exp(min(growth * (goal - high), _FAR)) for goal in {target, cut})
