"""Batch sizes for the workers: number of open nodes and time limit of a subproblem, estimated from past results."""

from __future__ import annotations

__all__ = ["BatchSize"]

#: Seconds of a subproblem: with work for all workers, with little work, and at most where the handling is slow. The fixed cost of
#: a subproblem makes shorter ones more expensive than the idle time that they avoid.
LONG, SHORT, LONGEST = 1.5, 0.2, 30.0
#: Nodes of the first subproblems: enough that they seldom finish before their time limit.
FEW = 256
#: Number of batches per worker into which the pool is divided. Few suffice, since unfinished subproblems are divided anew.
_BATCHES_PER_WORKER = 1.25
#: Largest share of one processor for the handling of subproblems in the dispatching process.
SHARE = 0.1
#: Discount factor of past results in the estimate.
_DISCOUNT = 0.8


class BatchSize:
    """The size of subproblems, adapted to past results.

    An open node is the root of a subtree of unknown size. Past results estimate the work per node. A batch has as many nodes as
    take `LONG` seconds, and at most a worker's share of the pool. Towards the end the time limits fall, since a worker with a
    large subtree keeps the others waiting until its subproblem ends.

    Attributes
    ----------
    per_node : float
        Recent seconds of a worker per dispatched node; 0 before the first result.
    """

    def __init__(self) -> None:
        self.per_node = 0.0
        self._seconds = self._nodes = 0.0

    def learn(self, given: int, left: int, seconds: float) -> None:
        """Update the estimate: a subproblem of ``given`` nodes has returned ``left`` open ones after ``seconds``."""
        finished = given if left == 0 else max(given - left, 0.25 * given)  # one large subtree is not representative
        self._seconds = _DISCOUNT * self._seconds + seconds
        self._nodes = _DISCOUNT * self._nodes + finished
        self.per_node = self._seconds / self._nodes

    def share(self, waiting: int, slots: int, handling: float) -> tuple[int, float]:
        """Return the number of nodes and the seconds of each of the next subproblems.

        Parameters
        ----------
        waiting : int
            Open nodes in the pool.
        slots : int
            Number of subproblems in parallel.
        handling : float
            Seconds of this process per subproblem. Shorter subproblems would make this process the bottleneck.
        """
        least_seconds = slots * handling
        fair = max(int(waiting / (_BATCHES_PER_WORKER * slots)), 1)
        if self.per_node == 0.0:
            return min(fair, FEW), max(SHORT, least_seconds)
        remaining = waiting * self.per_node / slots  # estimated remaining seconds of every worker
        seconds = min(
            max(min(LONG, remaining), SHORT, least_seconds / SHARE if remaining > 2.0 * LONG else least_seconds), LONGEST
        )
        return max(min(int(seconds / self.per_node), fair), 1), seconds
