"""The proof log of the conflict search: a pass after the search that proves the bound again and writes down why.

The tree need not be the search's: only the bound counts. `conflict_prover` has the nodes, and `check_conflicts` verifies them.
With a team, open nodes of the proof go to its workers, whose lines are merged.
"""

from __future__ import annotations

import math
import time
from typing import TYPE_CHECKING, Any

import numpy as np

from ....errors import WriteError
from ....models.arrays import FloatArray
from ...exact.log_file import LogFile
from ...parallel.executor import AsynchronousExecutor
from ..reduced import ReducedZeroOneProblem
from .conflict_prover import ConflictProver, ProofGoal

if TYPE_CHECKING:
    from ..distributed.conflict_proof import ProofParts

__all__ = ["ConflictRecorder"]

#: Share of the claimed bound that is left to rounding: the pass proves half of it more than the log claims.
_SLACK = 1e-9


class ConflictRecorder:
    """Proves ``bound`` (stated) in slices of time and writes the log.

    Parameters
    ----------
    path : str
    reduced : Reduced
    bound : float
        What the search has proved.
    order : ndarray (m,)
        Hinge violations: larger first among the points to branch on.
    budget : int, optional
        The cardinality form: at most this many points are violated, and ``bound`` is one of the squared norm; ``reduced`` has
        weights of one.
    gap : float
        The log claims ``bound`` (1 - gap): a little less is proved much sooner.
    team : AsynchronousTeam, optional
        Workers that prove subtrees.
    """

    def __init__(
        self,
        path: str,
        reduced: ReducedZeroOneProblem,
        bound: float,
        order: FloatArray,
        budget: int | None = None,
        gap: float = 0.0,
        team: AsynchronousExecutor | None = None,
    ) -> None:
        problem, bound = reduced.problem, bound * (1.0 - gap)
        self._file = LogFile(path)
        header: dict[str, Any] = {
            "format": "marginopt-zero-one-proof",
            "version": 4 if team is None else 5,
            "kind": "conflicts",
            "A": problem.A.tolist(),
            "weights": problem.weights.tolist(),
            "penalised": problem.penalised.tolist(),
            "member": reduced.member.tolist(),
        }
        self._file.write([header if budget is None else header | {"kind": "budget", "budget": budget}])
        self._claim = bound * (1.0 - _SLACK)
        cut = (bound * (1.0 - 0.5 * _SLACK) - (reduced.constant if budget is None else 0.0)) / reduced.unit
        allowed = math.inf if budget is None else float(budget) - reduced.constant
        weights, unit = reduced.weights, reduced.unit
        if budget is not None:
            weights, unit = np.rint(reduced.weights * reduced.unit), 1.0
        goal = ProofGoal(reduced, weights, np.ascontiguousarray(order, dtype=np.float64), cut, allowed, unit)
        self._prover: ConflictProver | None = None
        self._parts: ProofParts | None = None
        if cut > 0.0 and len(weights) and allowed >= 0.0:
            self._prover = ConflictProver(goal, numbered=team is not None)
            self._prover.plant()
            if team is not None:
                from ..distributed.conflict_proof import ProofParts

                self._parts = ProofParts(goal, self._prover, team)

    @property
    def fault(self) -> WriteError | None:
        """Why there will be no log; None as long as it is written."""
        return self._file.fault

    @property
    def nodes(self) -> int:
        """Nodes that are proved."""
        return (0 if self._prover is None else self._prover.nodes) + (0 if self._parts is None else self._parts.nodes)

    @property
    def failed(self) -> bool:
        """Return whether a node could not be proved."""
        return self._prover is not None and self._prover.failed

    @property
    def open_nodes(self) -> int:
        """Nodes that remain."""
        return (0 if self._prover is None else len(self._prover.stack)) + (0 if self._parts is None else self._parts.open_nodes)

    @property
    def finished(self) -> bool:
        """Return whether everything is proved, or cannot be."""
        return self.failed or not self.open_nodes

    def figures(self) -> dict[str, float]:
        """Return the figures of the team's work."""
        return {} if self._parts is None else self._parts.figures()

    def work(self, seconds: float) -> None:
        """Prove on for about ``seconds``."""
        end = time.perf_counter() + seconds
        while not self.finished and self.fault is None and (left := end - time.perf_counter()) > 0.0:
            assert self._prover is not None
            self._file.write_text(self._prover.work(min(left, 0.1)) if self._parts is None else self._parts.work(left))

    def finish(self, w: FloatArray | None) -> float:
        """Write the claim and the incumbent; returns the claimed bound, 0 where the pass did not come to its end."""
        claimed = max(self._claim, 0.0) if self.finished and not self.failed else 0.0
        self._file.write([{"bound": claimed, "w": None if w is None else w.tolist()}])
        self._file.seal()
        return claimed
