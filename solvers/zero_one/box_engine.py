"""The box engine of the exact 0-1 solver, for few features: best-first branch and bound over boxes of w, and its checkpoints.

The problem is min f(w) = Σ_{penalised} w_j² + Σ_i λ_i 1{a_i'w < 1}, in reduced coordinates (`solvers.zero_one.reduced`).
A point is *kept* if its margin is at least 1, else *violated*, and free while neither is decided. Two kinds
of bounds hold on a box: pairs of points of which no w of the box keeps both, and a hinge relaxation. The rows that the compiled
loops (`solvers.zero_one.loops.box_search`) read are *relaxed*: divided by a threshold slightly below 1, so that rounding excludes
no solution. A *leaf* is a node without free points; a *candidate* is a w that may improve the incumbent. Bounds are in units of
the reduced problem unless "original".
"""

from __future__ import annotations

import math
import os
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, fields
from typing import Any, ClassVar, Protocol

import numpy as np

from ...models.arrays import BoolArray, FloatArray
from ...models.digest import fingerprint
from ...models.views import ZeroOneProblem
from ..exact.checkpoint import Checkpoint, CheckpointContent
from ..exact.log_file import LogPosition
from ..exact.loops.matching import WIDEST
from ..exact.rotation import constant_column
from ..interface.algorithm import Outcome
from .engine import Engine, SharedState
from .incumbent import solve_hard_margin
from .loops.box_records import (
    CANDIDATE,
    DEFAULT_MEMORY,
    DONE,
    GROW,
    KEPT,
    LEAF,
    PAGE,
    RESERVE,
    ROUNDS,
    VIOLATED,
    BoxData,
    allocate_pool,
    empty_workspace,
    enlarge_pool,
    enlarge_within_memory,
    initialise_pool,
    least_bound,
)
from .loops.box_search import explore, move_nodes
from .loops.conflict_records import penalised_rows
from .open_nodes import OpenNodes
from .reduced import ReducedZeroOneProblem


@dataclass(frozen=True, eq=False)
class BoxSearchData:
    """The data that all nodes of one box search share, in every process.

    Boxes are in the coordinates of ``reduced``. The relaxed rows are valid for every solution of a value below ``upper``.
    Later incumbents have smaller values, so the rows remain valid.
    """

    reduced: ReducedZeroOneProblem  #: the problem in reduced coordinates
    upper: float  #: value of the incumbent at the start of the search, in units of the reduced problem
    data: BoxData  #: the problem as the compiled loops read it
    leaf_rows: Any  #: `ConflictRows`: rows and thresholds, for the least norm that keeps a leaf's kept points

    @classmethod
    def of(cls, reduced: ReducedZeroOneProblem, upper: float) -> BoxSearchData:
        """Return the data of a search that begins with an incumbent of value ``upper``."""
        rows = reduced.relaxed_rows(upper)
        norms = np.linalg.norm(rows, axis=1) * (1 + 1e-14)
        # A point that costs more than the incumbent is never violated: a truncated weight is valid and improves the scaling.
        weights = np.minimum(reduced.weights, upper)
        data = BoxData(rows, weights, norms, positive_side(reduced), reduced.free, float(weights.mean()), reduced.step)
        return cls(reduced, upper, data, penalised_rows(reduced, reduced.thresholds(upper)))


def positive_side(reduced: ReducedZeroOneProblem, targets: FloatArray | None = None) -> BoolArray:
    """Return whether each reduced row is on the positive side (m,); a pair bound combines a point of each side.

    A row's side is the sign of its entry in the intercept's column, or of its first reduced coordinate without an intercept.
    ``targets`` are further original rows, whose reduced rows are the last ones.
    """
    A, member = reduced.problem.A, reduced.member
    labels = constant_column(A if targets is None else np.vstack([A, targets]))
    if labels is None:
        return np.ascontiguousarray(reduced.rows[:, 0] > 0.0)
    further = labels[len(member) :]
    sign = np.zeros(len(reduced.rows), dtype=bool)
    sign[member[member >= 0]] = labels[: len(member)][member >= 0] > 0.0
    sign[len(sign) - len(further) :] = further > 0.0
    return sign


#: Nodes before further threads join, and nodes of each thread in a round: fixed numbers, so that runs are reproducible.
_SINGLE_THREAD_NODES, NODES_PER_ROUND = 1500, 200
#: Names of a pool's counters that workers report.
COUNTER_NAMES = ("nodes", "relaxations", "newton_steps", "points")


class BoxLog(Protocol):
    """Protocol of a writer of the search tree's proof log (`solvers.zero_one.box_log`)."""

    def append_events(self, log: FloatArray, tau: FloatArray) -> None:
        """Write events that the compiled loops have recorded."""

    def append_leaf(self, active: Any, tau: FloatArray, target: float) -> None:
        """Write the multipliers of ``active`` (rows, multipliers and points of `ActiveSet`), which prove a squared norm of
        ``target`` for the last node, a leaf; ``tau`` are the thresholds of the rows.
        """


@dataclass(frozen=True, eq=False)
class BoxSearchSnapshot:
    """The state of a box search, from which a file or another process continues it."""

    search_data: BoxSearchData  #: the data that all nodes share
    nodes: OpenNodes  #: the open nodes
    unresolved: float = math.inf  #: least lower bound of the leaves that rounding left unresolved; ∞ without such leaves
    first_id: int = 0  #: number of the next node in the proof log


class BoxEngine(Engine):
    """Branch and bound over boxes with one or several threads (``docs/explanation/zero-one-bb.md``).

    Each of several threads has its own pool of open nodes. The threads work in rounds of a fixed number of nodes, with the cutoff
    at the start of the round, and their candidates are handled in order. So the run does not depend on timing.

    Parameters
    ----------
    shared : SharedState
        Problem, incumbent, limits and bound of the run.
    threads : int
        Number of threads; a proof log allows one.
    log : BoxLog, optional
        Writer of the proof log.
    snapshot : BoxSearchSnapshot, optional
        State from which the search continues; by default it begins at the root.
    reduced_problem : ReducedZeroOneProblem, optional
        Reduced problem in this engine's own coordinates; by default that of ``shared``.

    Attributes
    ----------
    search_data : BoxSearchData
        The data that all nodes share.
    """

    name: ClassVar[str] = "boxes"
    #: Measured nanoseconds of a unit of `effort`, and the factor on the forecast number of doublings of effort that close the
    #: gap.
    nanoseconds_per_effort, doubling_growth = 0.4, 1.4

    def __init__(
        self,
        shared: SharedState,
        threads: int = 1,
        log: BoxLog | None = None,
        snapshot: BoxSearchSnapshot | None = None,
        reduced_problem: ReducedZeroOneProblem | None = None,
    ) -> None:
        super().__init__(shared)
        self.search_data = (
            BoxSearchData.of(reduced_problem or shared.reduced, shared.upper) if snapshot is None else snapshot.search_data
        )
        self._data = self.search_data.data
        self._threads = 1 if log is not None else threads
        self._log = log
        n, p = self._data.rows.shape
        log_size = 0 if log is None else max(1 << 16, 48 * (n + 1) * ROUNDS)
        if snapshot is None:
            pool = allocate_pool(n, p, log_size)
            initialise_pool(pool, self.search_data.reduced.root_half_widths(shared.upper), self._data.weights >= shared.upper)
            pool.candidate[p] = shared.upper
        else:
            pool = snapshot.nodes.to_pool(n, log_size, shared.upper)
            pool.scalars.next_id = snapshot.first_id
        self._pools = [pool]
        self._workspaces = [empty_workspace(n, p)]
        #: Least lower bound of the leaves that rounding left unresolved; ∞ without such leaves.
        self.unresolved = math.inf if snapshot is None else snapshot.unresolved
        self._leaf_rows = self.search_data.leaf_rows
        self._nodes_per_second = 2000.0
        self._sampling_period = max(4, n // 32)

    def _total(self, field: str) -> int:
        return sum(int(pool.scalars[field]) for pool in self._pools)

    @property
    def nodes(self) -> int:
        """The number of processed nodes."""
        return self._total("nodes")

    @property
    def effort(self) -> float:
        """The counted work, in units of `nanoseconds_per_effort`: 8 per coordinate of a point in a Newton step, 0.15 per
        coordinate of a pair of points.

        The weights are calibrated; that of pairs is too large where there are many points.
        """
        points = self._total("points") / max(self.nodes, 1)
        steps = 8.0 * (self._total("newton_steps") + self.nodes) * (points + 1.0)
        pairs = 0.15 * self._total("relaxations") * min(points, 2.0 * WIDEST) ** 2
        return (steps + pairs) * self._data.rows.shape[1]

    @property
    def open_count(self) -> int:
        """The number of nodes on the heaps, and in progress."""
        return self._total("waiting") + sum(int(pool.scalars.current >= 0) for pool in self._pools)

    def counts(self) -> dict[str, int]:
        """Return the numbers of nodes, relaxations, Newton steps, and points of all nodes."""
        return {name: self._total(name) for name in COUNTER_NAMES}

    def statistics(self) -> dict[str, float]:
        """Return the numbers of relaxations and of Newton steps, and the mean number of points of a node."""
        return {
            "relaxations": self._total("relaxations"),
            "newton_steps": self._total("newton_steps"),
            "points_per_node": self._total("points") / max(self.nodes, 1),
        }

    @property
    def open_nodes(self) -> OpenNodes:
        """The open nodes with bounds below the cutoff."""
        return OpenNodes.concatenate([OpenNodes.from_pool(pool, self._shared.cutoff) for pool in self._pools])

    @property
    def next_id(self) -> int:
        """The number of the next node in the proof log."""
        return int(self._pools[0].scalars.next_id)

    @property
    def snapshot(self) -> BoxSearchSnapshot:
        """The state from which another process continues the search."""
        return BoxSearchSnapshot(self.search_data, self.open_nodes, self.unresolved, self.next_id)

    @property
    def own_bound(self) -> float:
        """The lower bound of this tree alone, in original units; the shared bound may come from another engine."""
        return min(self.search_data.reduced.original_bound(self.bound), self._shared.incumbent.value)

    @property
    def bound(self) -> float:
        """The lower bound of this tree, in units of the reduced problem."""
        return min([self.unresolved, self._shared.cutoff, *map(least_bound, self._pools)])

    def work(self, seconds: float) -> Outcome:
        """Explore nodes for about ``seconds`` or to the end of the slice; polish candidate solutions and close leaves."""
        end = time.perf_counter() + seconds
        outcome = Outcome.RUNNING
        if self._threads > 1 and self.nodes >= _SINGLE_THREAD_NODES:
            with ThreadPoolExecutor(self._threads) as executor:
                while outcome is Outcome.RUNNING and self.nodes < self.slice_end and time.perf_counter() < end:
                    outcome = self._round(executor)
        else:
            while outcome is Outcome.RUNNING and self.nodes < self.slice_end and time.perf_counter() < end:
                outcome = self._explore_alone(end)
                if self._threads > 1 and self.nodes >= _SINGLE_THREAD_NODES:
                    break
        return self._conclude(self.bound, outcome)

    def _explore(self, index: int, cut: float, nodes: int) -> int:
        total = float(self._data.weights.sum())
        return int(explore(self._data, self._pools[index], self._workspaces[index], cut, nodes, self._sampling_period, total))

    def _explore_alone(self, end: float) -> Outcome:
        start, node_count = time.perf_counter(), self.nodes
        nodes = self._within_node_limit(
            max(1, min(int(self._nodes_per_second * (end - start)), 100_000, self.slice_end - node_count))
        )
        if self._threads > 1:
            nodes = max(1, min(nodes, _SINGLE_THREAD_NODES - node_count))
        code = self._explore(0, self._shared.cutoff, nodes)
        elapsed = time.perf_counter() - start
        if self.nodes - node_count >= 20 and elapsed > 1e-4:
            self._nodes_per_second = (self.nodes - node_count) / elapsed
        return self._handle_codes([code])

    def _round(self, executor: ThreadPoolExecutor) -> Outcome:
        self._balance_pools()
        cutoff, indices = self._shared.cutoff, range(len(self._pools))
        if self._within_node_limit(NODES_PER_ROUND * len(indices)) < NODES_PER_ROUND * len(indices):
            # Near the node limit the threads run one after the other.
            return self._handle_codes(
                [
                    self._explore(i, cutoff, self._within_node_limit(NODES_PER_ROUND))
                    for i in indices
                    if self._within_node_limit(NODES_PER_ROUND) > 0
                ]
            )
        return self._handle_codes(list(executor.map(lambda index: self._explore(index, cutoff, NODES_PER_ROUND), indices)))

    def _within_node_limit(self, nodes: int) -> int:
        limit = self._shared.limits.nodes
        return nodes if limit is None else min(nodes, limit - self.nodes)

    def _balance_pools(self) -> None:
        """Give each thread without open nodes half of the fullest heap."""
        n, p = self._data.rows.shape
        while len(self._pools) < self._threads:
            pool = allocate_pool(n, p, 0)
            initialise_pool(pool, None, None)
            pool.candidate[p] = self._shared.upper
            self._pools.append(pool)
            self._workspaces.append(empty_workspace(n, p))
        for i, pool in enumerate(self._pools):
            fullest = max(self._pools, key=lambda other: int(other.scalars.waiting))
            count = int(fullest.scalars.waiting) // 2
            if pool.scalars.waiting > 0 or pool.scalars.current >= 0 or count == 0:
                continue
            pages_per_node = n // PAGE + 2
            capacity = min(int(pool.scalars.records) - 2 * RESERVE, int(pool.scalars.pages) // pages_per_node - RESERVE)
            if count > capacity and not pool.scalars.frugal:
                self._pools[i] = pool = enlarge_pool(pool)
                capacity = min(int(pool.scalars.records) - 2 * RESERVE, int(pool.scalars.pages) // pages_per_node - RESERVE)
            move_nodes(self._workspaces[i].node, fullest, pool, max(min(count, capacity), 0))

    def _handle_codes(self, codes: list[int]) -> Outcome:
        shared, limits = self._shared, self._shared.limits
        for index, code in enumerate(codes):
            outcome = self._handle_code(index, code)
            if outcome is not Outcome.RUNNING:
                return outcome
        if all(code == DONE for code in codes) and len(codes) == len(self._pools):
            return Outcome.CONVERGED if self.unresolved >= shared.cutoff else Outcome.STALLED
        if limits.nodes is not None and self.nodes >= limits.nodes:
            return Outcome.NODE_LIMIT
        return Outcome.RUNNING

    def _handle_code(self, index: int, code: int) -> Outcome:
        shared, pool = self._shared, self._pools[index]
        p = self._data.rows.shape[1]
        if self._log is not None:
            length = int(pool.scalars.log_at)
            self._log.append_events(pool.log[:length].copy(), self._leaf_rows.tau)
            pool.scalars.log_at = 0
        if code == CANDIDATE:
            reduced, point = self.search_data.reduced, pool.candidate[:p].copy()
            shared.polish.improve(
                shared.incumbent, point if reduced is shared.reduced else shared.reduced.to_reduced(reduced.to_original(point))
            )
            pool.candidate[p] = min(pool.candidate[p] * (1 - 1e-9), shared.upper)
        elif code == LEAF:
            self._close_leaf(pool.leaf.copy(), float(pool.candidate[p + 1]))
        elif code == GROW:
            return self._grow_pool(index)
        if pool.scalars.frugal and pool.scalars.records > len(pool.base) // 2:
            pool.scalars.frugal = 0
        return Outcome.RUNNING

    def _grow_pool(self, index: int) -> Outcome:
        """Grow the pool; at the memory limit continue nearly depth-first in the free part."""
        pool = self._pools[index]
        scalars = pool.scalars
        reserved_pages = RESERVE * (len(pool.leaf) // PAGE + 2)
        if self._log is not None and scalars.records >= 2 * RESERVE and scalars.pages >= reserved_pages:
            return Outcome.RUNNING  # only the log was full
        larger = enlarge_within_memory(pool, self._shared.limits.memory_or(DEFAULT_MEMORY) / len(self._pools))
        if larger is None:
            return Outcome.MEMORY_LIMIT
        self._pools[index] = larger
        return Outcome.RUNNING

    def _close_leaf(self, state: Any, bound: float) -> None:
        """Solve the hard-margin problem of a leaf, offer its solution, and prove its norm.

        The solution w keeps every kept point, so f(w) ≤ ||w||² + Σ_{violated} λ, and the offer lowers the cutoff to that value or
        less. The leaf is closed by a certificate that the norm plus Σ_{violated} λ reaches the cutoff. Without one, by rounding,
        it counts as unresolved, with the larger of ``bound`` and Σ_{violated} λ as its bound.
        """
        from .loops.conflict_records import CONFLICT

        shared, data = self._shared, self._data
        demanded = state == KEPT
        w = shared.polish.solve(demanded)
        if w is not None:
            shared.incumbent.offer(shared.reduced, w)
        violated = float(data.weights[state == VIOLATED].sum())
        target = shared.cutoff - violated * (1 - 1e-15 * len(state))
        if target <= 0.0:
            return
        status, active = solve_hard_margin(self._leaf_rows, demanded, target)
        if status != CONFLICT:
            self.unresolved = min(self.unresolved, max(bound, violated))
        elif self._log is not None:
            self._log.append_leaf(active, self._leaf_rows.tau, target)


#: Arrays of `ReducedZeroOneProblem` in a checkpoint.
_ARRAY_FIELDS = ("rows", "weights", "T", "member", "residual")


@dataclass(frozen=True, eq=False)
class StoppedBoxSearch:
    """An interrupted box search, in this process or with remote workers, as its checkpoint holds it."""

    snapshot: BoxSearchSnapshot  #: open nodes and data of the search
    w: FloatArray  #: (p,) the incumbent
    lower_bound: float  #: proved lower bound in original units
    nodes: int  #: number of processed nodes
    log: LogPosition | None = None  #: where the proof log ends


class BoxSearchCheckpoint(Checkpoint[StoppedBoxSearch]):
    """The checkpoint file of a box search; ``floor`` in it is the proved lower bound in original units."""

    solver = "zero-one-bb"
    numbers = ("layout", "tol", "upper", "floor", "nodes", "unit", "constant", "shrink", "free", "unresolved")

    def __init__(self, path: str | os.PathLike[str], problem: ZeroOneProblem, tol: float) -> None:
        super().__init__(path, fingerprint((problem.A, problem.weights, problem.penalised)), tol)
        self._problem = problem

    @staticmethod
    def content(
        shared: SharedState, snapshot: BoxSearchSnapshot, count: int, log: LogPosition | None = None
    ) -> CheckpointContent:
        """Return the content of the file for a search of ``count`` nodes, with the position of its log."""
        reduced = snapshot.search_data.reduced
        numbers = {
            "upper": snapshot.search_data.upper, "floor": shared.lower_bound, "nodes": count, "unit": reduced.unit,
            "constant": reduced.constant, "shrink": reduced.shrink, "free": reduced.free, "unresolved": snapshot.unresolved,
        }  # fmt: skip
        arrays: dict[str, Any] = {name: getattr(reduced, name) for name in _ARRAY_FIELDS} | {"w": shared.incumbent.w}
        arrays |= {f"open_{name}": array for name, array in snapshot.nodes.arrays().items()}
        return CheckpointContent(numbers, arrays, log, snapshot.first_id)

    def parse(self, saved: CheckpointContent) -> StoppedBoxSearch:
        """Return the interrupted search that a file's content describes."""
        arrays, numbers = saved.arrays, saved.numbers
        reduced = ReducedZeroOneProblem(
            **{name: np.array(arrays[name]) for name in _ARRAY_FIELDS},
            unit=numbers["unit"],
            constant=numbers["constant"],
            shrink=numbers["shrink"],
            free=bool(numbers["free"]),
            problem=self._problem,
        )
        nodes = OpenNodes.from_arrays({f.name: arrays[f"open_{f.name}"] for f in fields(OpenNodes)})
        nodes.check(*reduced.rows.shape)
        snapshot = BoxSearchSnapshot(BoxSearchData.of(reduced, numbers["upper"]), nodes, numbers["unresolved"], saved.next_id)
        w = np.array(arrays["w"], dtype=np.float64)
        return StoppedBoxSearch(snapshot, w, numbers["floor"], int(numbers["nodes"]), saved.log)
