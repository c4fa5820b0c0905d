"""How many open nodes a worker gets at a time, and for how long: learnt from the slices that have come back."""

from __future__ import annotations

__all__ = ["Shares"]

#: Seconds of a slice: where there is work for everybody, where there is little, and at most where handling takes its time. One
#: costs some 15 ms of the processors of all processes together, so that shorter ones cost more than who waits for them.
LONG, SHORT, LONGEST = 1.5, 0.2, 30.0
#: Nodes of slices as long as nothing is known of them: so many that they seldom end before the slice's time does.
FEW = 256
#: What waits is divided among so many for each slice that runs: what slices leave when their time is over is divided anew.
_PARTS = 1.25
#: Slices' handling may take this share of a processor of the process that hands out.
SHARE = 0.1
#: What a slice counts for in the estimate once the next one has come back.
_FADING = 0.8


class Shares:
    """The size of slices.

    A node that is handed out is the root of a subtree of unknown size. Slices that come back say how much work such nodes have
    been lately; a slice gets as many as make `LONG` seconds, and no more than a worker's share of what waits. Towards the end
    slices become shorter in time, since whoever has a large subtree keeps the others waiting for as long as its slice lasts.

    Attributes
    ----------
    per_node : float
        Seconds of a worker that a node handed out has taken lately; 0 as long as none is known.
    """

    def __init__(self) -> None:
        self.per_node = 0.0
        self._seconds = self._nodes = 0.0

    def learn(self, given: int, left: int, seconds: float) -> None:
        """A slice of ``given`` nodes has come back after ``seconds`` with ``left`` open ones."""
        done = given if left == 0 else max(given - left, 0.25 * given)  # one large subtree says little of the others
        self._seconds = _FADING * self._seconds + seconds
        self._nodes = _FADING * self._nodes + done
        self.per_node = self._seconds / self._nodes

    def share(self, waiting: int, slots: int, handling: float) -> tuple[int, float]:
        """Nodes and seconds of each of the next slices.

        Parameters
        ----------
        waiting : int
            Open nodes that nobody has.
        slots : int
            Slices that run at a time.
        handling : float
            Seconds that this process spends on a slice: with shorter slices it would be all that is busy.
        """
        least = slots * handling
        fair = max(int(waiting / (_PARTS * slots)), 1)
        if self.per_node == 0.0:
            return min(fair, FEW), max(SHORT, least)
        ahead = waiting * self.per_node / slots  # seconds that everybody has before them, as far as is known
        seconds = min(max(min(LONG, ahead), SHORT, least / SHARE if ahead > 2.0 * LONG else least), LONGEST)
        return max(min(int(seconds / self.per_node), fair), 1), seconds
