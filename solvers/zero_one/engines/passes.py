"""The sequence of growing targets of the conflict search: each pass proves or refutes its target."""

from __future__ import annotations

import math

__all__ = ["Passes"]

#: First target as a share of the cutoff, and the largest step between targets as such a share.
FIRST, STEP = 0.5, 0.1
#: Least number of nodes of a pass from which the growth of the next passes is estimated.
SHORT_PASS = 200
#: Intended ratio of the nodes of successive passes; the final pass may exceed it.
GROWTH = 6.0
#: Largest exponent of a forecast, against overflow.
_MAX_EXPONENT = 100.0


class Passes:
    """The targets L of the passes: each pass searches for solutions below L, finds none, and so proves the bound L.

    Attributes
    ----------
    target : float
        Target of the current pass, in units of the reduced problem.
    """

    def __init__(self, cut: float) -> None:
        self.target = FIRST * cut
        self._past_nodes = 0
        self._finished: list[tuple[float, int]] = []

    def advance(self, nodes: int, cut: float, settled: bool) -> None:
        """Record a finished pass and choose the next target, at most ``cut``, for about `GROWTH` times as many nodes.

        Parameters
        ----------
        nodes : int
            Nodes of all passes so far.
        cut : float
            The cutoff.
        settled : bool
            Whether the pass left no unresolved leaf below its target; otherwise the next pass is the final one.
        """
        pass_nodes, self._past_nodes = nodes - self._past_nodes, nodes
        self._finished.append((self.target, pass_nodes))
        if not settled:
            self.target = cut
        elif pass_nodes < SHORT_PASS or len(self._finished) < 2:
            self.target += STEP * cut
        else:
            step = math.log(GROWTH) / self._growth()
            self.target += min(step, STEP * cut)
            if self.target + 0.5 * step >= cut:
                self.target = cut

    def _growth(self) -> float:
        """Return the slope of the logarithm of a pass's nodes as a function of the target, from the last two passes."""
        (low, first_nodes), (high, second_nodes) = self._finished[-2:]
        return max(math.log(second_nodes / first_nodes), 0.1) / (high - low)

    def forecast(self, nodes: int, cut: float) -> float:
        """Return the number of nodes of all passes until ``cut`` is proved, ``nodes`` past ones included; ∞ before two passes.

        A pass that already exceeds its forecast counts as finished: the growth is at least the observed one.
        """
        if len(self._finished) < 2:
            return math.inf
        last_target, last_nodes = self._finished[-1]
        target, pass_nodes = min(self.target, cut), max(nodes - self._past_nodes, 1)
        growth = (
            self._growth()
            if target <= last_target
            else max(self._growth(), math.log(pass_nodes / last_nodes) / (target - last_target))
        )
        return self._past_nodes + sum(
            last_nodes * math.exp(min(growth * (goal - last_target), _MAX_EXPONENT)) for goal in {target, cut}
        )
