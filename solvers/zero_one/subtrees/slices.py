"""A slice of a search: some open nodes, worked on for a while in any process, and what came of it.

A slice is a value and its outcome depends on nothing else, so that one whose worker is lost is given to another, and the first
outcome that arrives is the only one that counts.
"""

from __future__ import annotations

import os
import platform
import time
import zlib
from dataclasses import dataclass

from ....models.arrays import FloatArray
from ...interface.algorithm import Outcome
from ...parallel.parcel import Own
from ..engines.boxes import COUNTS, Begun, BoxEngine
from ..engines.engine import Limits, Shared
from ..engines.ground import Ground
from ..engines.open_nodes import OpenNodes
from ..incumbent import Incumbent, Polish, trivial_incumbent
from ..proof.box_writer import BoxRecords
from ..reduced import for_boxes, reduce_problem
from ..smallest import smallest_problem
from .outcomes import check_counts, check_numbers, check_point, check_work, lines_of

__all__ = ["NODES", "Found", "Slice", "load", "search"]

#: Gap of the problem that loads the loops.
_LOADED = 1e-6
#: Nodes of a slice at most: their numbers in the proof log are those from a multiple of this on.
NODES = 1 << 26
#: Bytes of a worker's open nodes beyond which it searches nearly depth-first: what it hands back travels.
_MEMORY = 1.5e8
#: Seconds after which the speed of the nodes is judged anew, so that a slice ends in time.
_BEAT = 0.1


@dataclass(frozen=True, eq=False)
class Slice:
    """What a worker is given.

    Parameters
    ----------
    ground : Ground
        The same for all slices: its large arrays travel once.
    nodes : Own
        The arrays of the open nodes.
    w, value : ndarray, float
        The incumbent when the slice was handed out.
    tol, seconds : float
        The search's tolerance; how long to work.
    number : int
        Of the slice, from 1: its nodes are called ``number * NODES`` and onwards.
    logged : bool
        Whether a part of a proof log is wanted.
    """

    ground: Ground
    nodes: Own
    w: FloatArray
    value: float
    tol: float
    seconds: float
    number: int
    logged: bool


@dataclass(frozen=True, eq=False)
class Found:
    """What came of a slice.

    Parameters
    ----------
    nodes : OpenNodes
        Still open, with bounds below the cut that the worker had in the end.
    w : ndarray or None
        A better incumbent.
    unresolved : float
        Least bound of leaves that could not be settled.
    counts : dict
        Nodes, relaxations, Newton steps and points.
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

    def check(self, ground: Ground) -> None:
        """Of this kind, finite, of the ground's points; raises as `subtrees.outcomes` does."""
        reduced = ground.reduced
        self.nodes.check(*reduced.rows.shape)
        check_numbers(self.unresolved)
        check_point(self.w, reduced.problem.A.shape[1])
        check_counts(self.counts, COUNTS)
        check_work(self.seconds, self.busy, self.effort, self.who)
        lines_of(self.log)


def load(ground: Ground, threads: int | None) -> None:
    """Have what slices of this ground need: their arrays are here now, and a slice of the smallest problem loads the loops."""
    reduced = for_boxes(reduce_problem(smallest_problem()))
    incumbent = trivial_incumbent(reduced)
    first = BoxEngine(Shared(reduced, incumbent, Polish.of(reduced), Limits(_LOADED)))
    search(Slice(first.ground, Own(first.open.arrays()), incumbent.w, incumbent.value, _LOADED, 1.0, 1, False), threads)


def search(task: Slice, threads: int | None) -> Found:
    """Work on a slice, with one thread."""
    begin, busy = time.perf_counter(), time.thread_time()
    ground = task.ground
    incumbent = Incumbent(task.w, task.value)
    shared = Shared(ground.reduced, incumbent, Polish.of(ground.reduced), Limits(task.tol, memory=_MEMORY))
    log = BoxRecords() if task.logged else None
    nodes = OpenNodes.of_arrays(task.nodes.arrays)
    engine = BoxEngine(shared, 1, log, Begun(ground, nodes, first_id=task.number * NODES))
    engine.pause = NODES - 200_000  # a step of the engine may go beyond
    end, outcome = begin + task.seconds, Outcome.RUNNING
    while outcome is Outcome.RUNNING and (left := end - time.perf_counter()) > 0.0:
        outcome = engine.work(min(left, _BEAT))
    lines = b"" if log is None else zlib.compress(log.text().encode(), 1)
    return Found(
        engine.open,
        incumbent.w if incumbent.value < task.value else None,
        engine.unresolved,
        engine.counts(),
        engine.effort,
        time.perf_counter() - begin,
        time.thread_time() - busy,
        lines,
        f"{platform.node()}:{os.getpid()}",
    )
