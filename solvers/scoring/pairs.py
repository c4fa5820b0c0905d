"""Bounds of boxes by linear programs over pairs of opposite points (`BoxProgram`)."""

from __future__ import annotations

import math
import time

import numpy as np

from .box_program import BoxProgram, Relaxed
from .multipliers import Box, NodeBound, Scores
from .reduced import ReducedScoringProblem
from .violation_count import Violated

__all__ = ["PairProgram"]

#: Share of the gap that two rounds must close for another one, where the solution is not whole anyway.
_PROGRESS = 0.01
_ROUNDS = 40


class PairProgram:
    """Bounds of boxes by linear programs.

    Parameters
    ----------
    reduced : Reduced
    """

    def __init__(self, reduced: ReducedScoringProblem) -> None:
        self.reduced, self.scores, self.violated = reduced, Scores(reduced), Violated(reduced)

    def bound(self, box: Box, held: NodeBound | None, cut: int, deadline: float = math.inf) -> tuple[int, Relaxed | None]:
        """Return a lower bound of every system of the box, in units, and the program's solution; first with the pairs held.

        No round is begun after the deadline, by the clock of `time.perf_counter`.
        """
        best, values = None, []
        program = BoxProgram(self.reduced, box, np.zeros((0, 2), dtype=np.int64) if held is None else held.multipliers.pairs)
        for _ in range(_ROUNDS):
            if time.perf_counter() > deadline:
                break
            solved = program.solve(cut)
            if solved is None:
                break
            best = solved
            values.append(solved.value)
            if solved.value >= cut:
                break
            slow = len(values) > 2 and values[-1] - values[-3] < _PROGRESS * (cut - values[-1])
            if slow and not solved.whole:
                break
            new = self.violated.pairs(box, solved.use, solved.rho, solved.wrong, program.pairs)
            if not new.size:
                break
            program.add(new)
        return (0, None) if best is None else (self.scores.least(box, best.held), best)
