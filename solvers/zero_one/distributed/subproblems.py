"""Subproblems of the box search: open nodes, searched for a limited time in any process, and the result.

A subproblem is a value, and its result depends on nothing else. So the subproblem of a lost worker is given to another one, and
only the first result counts.
"""

from __future__ import annotations

import os
import platform
import time
import zlib
from dataclasses import dataclass

from ....models.arrays import FloatArray
from ...interface.algorithm import Outcome
from ...parallel.payload import TaskArrays
from ..engines.boxes import COUNTS, BoxEngine, ResumedBoxes
from ..engines.engine import Limits, SharedState
from ..engines.open_nodes import OpenNodes
from ..engines.search_data import SearchData
from ..incumbent import Incumbent, Polish, trivial_incumbent
from ..proof.box_writer import BoxRecords
from ..reduced import for_boxes, reduce_problem
from ..warm_up_instance import smallest_problem
from .reply_checks import check_counts, check_numbers, check_point, check_work, lines_of

__all__ = ["NODES", "Subproblem", "SubproblemResult", "load", "search"]

#: Tolerance of the problem that loads the compiled kernels.
_LOAD_TOL = 1e-6
#: Largest number of nodes of a subproblem; its node numbers in the proof log begin at a multiple of this.
NODES = 1 << 26
#: Bytes of a worker's open nodes beyond which it searches nearly depth-first, since it sends them all back.
_MEMORY_LIMIT = 1.5e8
#: Seconds between two estimates of the node rate, so that a subproblem ends in time.
_INTERVAL = 0.1


@dataclass(frozen=True, eq=False)
class Subproblem:
    """A subproblem for a worker.

    Parameters
    ----------
    ground : Ground
        Equal for all subproblems: its large arrays are sent once.
    nodes : Own
        The arrays of the open nodes.
    w, value : ndarray, float
        The incumbent and its value at the time of dispatch.
    tol, seconds : float
        Tolerance of the search; time limit of the subproblem.
    number : int
        Number of the subproblem, from 1; its nodes have numbers from ``number * NODES`` on.
    logged : bool
        Whether the worker writes a part of the proof log.
    """

    ground: SearchData
    nodes: TaskArrays
    w: FloatArray
    value: float
    tol: float
    seconds: float
    number: int
    logged: bool


@dataclass(frozen=True, eq=False)
class SubproblemResult:
    """The result of a subproblem.

    Parameters
    ----------
    nodes : OpenNodes
        Open nodes with bounds below the worker's final cutoff.
    w : ndarray or None
        A better incumbent, if there is one.
    unresolved : float
        Least lower bound of the leaves that rounding left unresolved.
    counts : dict
        Numbers of nodes, relaxations, Newton steps and points.
    effort, seconds, busy : float
        Counted work; wall time and processor time of the worker.
    log : bytes
        Lines of the proof log, compressed.
    who : str
        Machine and process.
    """

    nodes: OpenNodes
    w: FloatArray | None
    unresolved: float
    counts: dict[str, int]
    effort: float
    seconds: float
    busy: float
    log: bytes
    who: str

    def check(self, ground: SearchData) -> None:
        """Raise an error of `subtrees.outcomes` unless the result is well formed, finite, and about the points of ``ground``."""
        reduced = ground.reduced
        self.nodes.check(*reduced.rows.shape)
        check_numbers(self.unresolved)
        check_point(self.w, reduced.problem.A.shape[1])
        check_counts(self.counts, COUNTS)
        check_work(self.seconds, self.busy, self.effort, self.who)
        lines_of(self.log)


def load(ground: SearchData, threads: int | None) -> None:
    """Load the compiled kernels by a subproblem of the warm-up instance; receiving ``ground`` has fetched the data."""
    reduced = for_boxes(reduce_problem(smallest_problem()))
    incumbent = trivial_incumbent(reduced)
    engine = BoxEngine(SharedState(reduced, incumbent, Polish.of(reduced), Limits(_LOAD_TOL)))
    search(
        Subproblem(engine.ground, TaskArrays(engine.open.arrays()), incumbent.w, incumbent.value, _LOAD_TOL, 1.0, 1, False),
        threads,
    )


def search(task: Subproblem, threads: int | None) -> SubproblemResult:
    """Solve a subproblem with one thread."""
    start, processor_start = time.perf_counter(), time.thread_time()
    ground = task.ground
    incumbent = Incumbent(task.w, task.value)
    shared = SharedState(ground.reduced, incumbent, Polish.of(ground.reduced), Limits(task.tol, memory=_MEMORY_LIMIT))
    log = BoxRecords() if task.logged else None
    nodes = OpenNodes.of_arrays(task.nodes.arrays)
    engine = BoxEngine(shared, 1, log, ResumedBoxes(ground, nodes, first_id=task.number * NODES))
    engine.pause = NODES - 200_000  # one step of the engine may exceed it
    end, outcome = start + task.seconds, Outcome.RUNNING
    while outcome is Outcome.RUNNING and (remaining := end - time.perf_counter()) > 0.0:
        outcome = engine.work(min(remaining, _INTERVAL))
    lines = b"" if log is None else zlib.compress(log.text().encode(), 1)
    return SubproblemResult(
        engine.open,
        incumbent.w if incumbent.value < task.value else None,
        engine.unresolved,
        engine.counts(),
        engine.effort,
        time.perf_counter() - start,
        time.thread_time() - processor_start,
        lines,
        f"{platform.node()}:{os.getpid()}",
    )
