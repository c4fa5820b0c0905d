"""The algorithm class of `margin-bb`, exact branch and bound over boxes of w: set-up, limits, checkpoint and answer.

The problem is min Σ_j d_j w_j² + max{p'w : |x_k'p| ≤ 1} + Σ_j π_j 1{w_j ≠ 0} + Σ_i c_i ρ_i(a_i'w) with restrictions of w:
squares, the norm of atoms x_k, prices of non-zero coefficients, and piecewise linear losses of the margins a_i'w at costs c_i.
The *domain* is the box of the bounds of w.

The search itself is compiled (`loops`); `heuristic` finds incumbents, and `solvers.exact.rotation` the coordinates of the boxes.
"""

from __future__ import annotations

import math
import time
from dataclasses import dataclass, replace
from functools import cache
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from ...errors import WriteError
from ...models.arrays import FloatArray, as_integer
from ...models.model import Model
from ...models.views import MarginProblem, PiecewiseLinearLoss
from ..exact.checkpoint import CheckpointContent, open_log_file
from ..exact.log_file import LogPosition
from ..exact.options import Limits, check_path
from ..exact.rotation import RotatedCoordinates, choose_coordinates, original_coordinates
from ..interface.algorithm import Algorithm, Outcome
from ..interface.recorder import ProgressState
from ..interface.solver import Gives, Purpose, SolverInfo
from ..records import Answer, Options
from .check import MarginChecker
from .heuristic import ConvexConcaveDescents, domain_cost_bound, has_bounded_domain, starting_points, wide_ramp
from .proof import MarginCheckpoint, MarginLog, StoppedMarginSearch

if TYPE_CHECKING:
    from . import loops

#: Nodes of the first call of the compiled loop. Later calls go by the clock, with at most twice the nodes of the last call: the
#: first nodes may be far quicker than later ones.
_FIRST_NODES = 20


@dataclass(eq=False)
class MarginState:
    """The state of one run: the problem, its coordinates, the search tree, the primal heuristic, proof log and checkpoint."""

    problem: MarginProblem  #: the problem in its own coordinates
    rotated: RotatedCoordinates  #: the problem in the coordinates of the boxes
    limits: Limits  #: tolerance and limits of the run
    tree: loops.SearchTree  #: open nodes, incumbent, and events for the log
    descents: Any = None  #: `ConvexConcaveDescents`, which improve the incumbent
    loop_problem: Any = None  #: the problem as the loops read it, `loops.LoopProblem`
    node: Any = None  #: workspace of a node, `loops.LoopNode`
    log: MarginLog | None = None  #: writer of the proof log; None without one
    rate: float = 0.0  #: measured nodes per second
    batch: int = _FIRST_NODES  #: largest number of nodes of the next call of the loop
    checkpoint_file: MarginCheckpoint | None = None  #: None without a checkpoint
    first_value: float = math.inf  #: the objective with which the search began, or its upper bound without a feasible point

    @property
    def has_point(self) -> bool:
        """True if a feasible point is known."""
        return bool(self.tree.state[3] > 0.0)

    @property
    def value(self) -> float:
        """The incumbent's objective; without an incumbent an upper bound of the cost over the domain (`domain_cost_bound`)."""
        return float(self.tree.state[0])

    @property
    def incumbent(self) -> FloatArray:
        """The incumbent (p,) in the problem's own coordinates."""
        return np.asarray(self.rotated.V @ self.tree.incumbent)


def write_checkpoint(state: MarginState, bound: float) -> WriteError | None:
    """Write the checkpoint if there is one; remove it once no node is open or the gap to ``bound`` is closed; return an error."""
    checkpoint_file, tree = state.checkpoint_file, state.tree
    if checkpoint_file is None:
        return None

    def content(position: LogPosition | None) -> CheckpointContent:
        nodes = tree.heap[: tree.count[0]]
        is_rotated = not np.array_equal(state.rotated.V, np.eye(len(state.rotated.V)))
        return checkpoint_file.content(StoppedMarginSearch(
            tree.boxes[nodes], tree.keys.ravel()[nodes], tree.origin[nodes], tree.signs[nodes], tree.state, tree.incumbent,
            int(tree.count[1]), state.first_value, is_rotated, position,
        ))  # fmt: skip

    closed = state.has_point and state.value - bound <= state.limits.tol * state.value
    return checkpoint_file.update(closed or not tree.count[0], state.log, content)


#: Initial capacity for open nodes, and bytes that nodes may take without a memory limit.
_CAPACITY, _MEMORY = 4096, 2e9
#: Share of the tolerance that rounding of rotated coordinates may cost; above it the problem's own coordinates are searched.
_LOST = 0.1
#: Capacity of the buffer of a log, in numbers.
_HELD = 1 << 20


@dataclass(frozen=True, eq=False)
class MarginBB(Algorithm[MarginProblem, MarginState]):
    """Exact branch and bound over boxes of w for a `MarginProblem`, a nonconvex problem of few coefficients.

    Losses are piecewise linear, with or without jumps, and nonincreasing in the margin or in its absolute value. Squares, a
    polyhedral norm and prices of non-zero coefficients regularise w. Bounds, linear constraints, integers, a limit on non-zero
    coefficients, points with margins of at least 1, budgets (at most so many of these points have margins below 1) and equal
    rates (the groups' shares of positive scores differ by at most ε) restrict it.

    A node is a box of w. If the margins of two points have a small sum on the box, their losses cannot both be zero: a matching
    of such pairs is the first part of the node's bound. The convex envelopes of the remaining losses form a small convex problem,
    whose dual values bound the node and shrink its box, in several rounds (`solvers.margin.loops`). In every other round the
    convex problem relaxes the budgets, with a price for each margin below 1. A node is split along a coefficient, by whether a
    coefficient is 0, or by the sign of a margin.

    Parameters
    ----------
    restarts : int
        Starts of the convex-concave procedure before the search, each at a random point, and first with random costs of the
        points.
    max_coefficients : int
        Largest number of coefficients, intercept included: each further coefficient multiplies the number of boxes.
    proof : str, optional
        Path of a proof log that `check_proof` verifies, also if a limit ends the search.
    checkpoint : str, optional
        Path of a file that saves the search: written every minute and when a limit or Ctrl-C ends the run, read if it exists,
        removed when the search is finished. With ``proof`` the unfinished log lies beside it.

    Notes
    -----
    The bound is proved: the rounding errors of pairs, envelopes, dual values and coordinates are subtracted. For few features:
    the number of boxes grows fast beyond five or six. ||w||_X = max{p'w : |x_j'p| ≤ 1} is the L1 norm, or that of kernel weights;
    a bound needs one such p for each node, whose products with the atoms x_j are checked. A solution may violate margins and
    linear constraints by 1e-9 of their terms. INFEASIBLE: no point of the domain is feasible. If the domain is unbounded, this is
    claimed of the points that cost less than the bound, as do all with coefficients up to 1e4/(median length of a row).

    Raises
    ------
    InputError
        An invalid parameter, or an invalid start.
    """

    restarts: int = 20
    max_coefficients: int = 6
    proof: str | None = None
    checkpoint: str | None = None

    single_threaded_blas: ClassVar[bool] = True  # small dense algebra: a second BLAS thread costs more than it gains
    expected_compile_seconds: ClassVar[float] = 7.0  # shown at the first run on a machine
    checker: ClassVar[MarginChecker] = MarginChecker()
    info: ClassVar[SolverInfo] = SolverInfo(
        name="margin-bb",
        summary="exact branch and bound for nonconvex problems from parts: boxes with convex envelopes, for few features",
        views=(MarginProblem,),
        gives=frozenset({Gives.BOUND, Gives.TRACE, Gives.WARM_START, Gives.INTERRUPT}),
        rank={Purpose.STRUCTURE: 14},
        tolerance=1e-6,
        reference="docs/explanation/margin-bb.md",
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(self, "restarts", as_integer(self.restarts, "restarts"))
        object.__setattr__(self, "max_coefficients", as_integer(self.max_coefficients, "max_coefficients", 1))
        check_path("proof", self.proof, "the proof log")
        check_path("checkpoint", self.checkpoint, "the checkpoint")

    def view_obstacle(self, view: MarginProblem, model: Model) -> str | None:
        """Return the reason why a problem of too many coefficients is refused."""
        if view.A.shape[1] <= self.max_coefficients:
            return None
        return (
            f"it searches boxes of up to {self.max_coefficients} coefficients, and {model.name} has {view.A.shape[1]}; "
            f"MarginBB(max_coefficients={view.A.shape[1]}) of marginopt.solvers.margin tries all the same"
        )

    @property
    def for_start_search(self) -> MarginBB:
        """The algorithm without its limit on coefficients, as a source of starting points by its convex-concave procedure."""
        return replace(self, max_coefficients=2**31)

    def load(self, view: MarginProblem) -> None:
        """Compile the loops, or load them from Numba's cache on disk."""
        _load()

    def init(self, view: MarginProblem, options: Options, rng: np.random.Generator) -> MarginState:
        """Rotate the problem, find an incumbent, and create the root box; or continue from the checkpoint."""
        from . import loops  # Numba is imported with it

        axes = choose_coordinates(view)
        limits = Limits.of(options, self.info.tolerance)
        tol = limits.tol
        tree = loops.new_tree(view.A.shape[1], _CAPACITY, 0.25 * tol, len(view.A) if view.rates else 0)
        state = MarginState(view, axes, limits, tree)
        if self.checkpoint is not None:
            state.checkpoint_file = MarginCheckpoint(self.checkpoint, view, tol)
            if (stopped := state.checkpoint_file.read(self.proof)) is not None:
                return self._resume(state, stopped, options, rng)
        starts = starting_points(view, None if options.start is None else options.start.get("w"))
        self._search(state, [axes.rotate(w) for w in starts], rng)
        if state.has_point and axes.loss_error(state.value) > _LOST * tol * state.value:
            starts, state.rotated, tree.state[0], tree.state[3] = [state.incumbent], original_coordinates(view), np.inf, 0.0
            replace(self, restarts=0)._search(state, starts, rng)
        if not state.has_point:
            tree.state[0] = domain_cost_bound(view)
        low, high = state.rotated.coordinate_bounds(state.value)
        if (low > high).any():
            tree.count[0] = 0
        tree.boxes[0, 0], tree.boxes[0, 1] = low, high
        self._prepare_loops(state, state.value)
        if self.proof is not None:
            self._begin_log(state, str(self.proof))
        return state

    def _resume(
        self, state: MarginState, stopped: StoppedMarginSearch, options: Options, rng: np.random.Generator
    ) -> MarginState:
        """Restore a search, and descend from the given start, if there is one."""
        from . import loops

        if not stopped.rotated:
            state.rotated = original_coordinates(state.problem)
        replace(self, restarts=0)._search(state, [stopped.incumbent] if stopped.state[3] > 0.0 else [], rng)
        tree, m = state.tree, len(stopped.keys)
        resumed_tree = loops.new_tree(stopped.incumbent.size, max(_CAPACITY, 2 * m + 4), 0.0, stopped.signs.shape[1])
        for name in ("boxes", "origin", "signs"):
            getattr(resumed_tree, name)[:m] = getattr(stopped, name)
        resumed_tree.keys.reshape(-1)[:m] = stopped.keys
        tree.state[:], tree.incumbent[:], tree.count[:] = stopped.state, stopped.incumbent, (m, stopped.nodes, 0, 0)
        # the descents write to the tree's state and incumbent
        state.tree = resumed_tree._replace(state=tree.state, incumbent=tree.incumbent, count=tree.count)
        self._prepare_loops(state, stopped.first_value)
        if self.proof is not None:
            self._begin_log(state, str(self.proof), stopped.log)
        if options.start is not None and "w" in options.start:
            before = state.value
            state.descents.descend(state.rotated.rotate(starting_points(state.problem, options.start["w"])[-1]))
            if state.log is not None and state.value < before:
                state.log.record_cutoff(self._cutoff(state))
        return state

    def _prepare_loops(self, state: MarginState, first_value: float) -> None:
        """Prepare the problem and a node for the loops of a search that begins with an objective of ``first_value``."""
        from . import loops

        axes, state.first_value = state.rotated, first_value
        state.loop_problem = loops.loop_problem(axes.problem, axes.margin_errors(first_value))
        state.node = loops.new_node(state.loop_problem)

    def _begin_log(self, state: MarginState, path: str, position: LogPosition | None = None) -> None:
        """Begin the log, or continue it, and allocate the buffer of its events."""
        from . import loops

        node, file = state.node, open_log_file(path, state.checkpoint_file, position)
        state.log = MarginLog(file, state.problem, state.rotated.V, state.loop_problem, self._cutoff(state))
        numbers = loops.max_numbers_of_node(node.paired.shape[1], node.hinges.size, node.w.size, 2 * loops.ROUNDS)
        state.tree = state.tree._replace(log=np.zeros(2 * numbers + _HELD))

    def _search(self, state: MarginState, starts: list[FloatArray], rng: np.random.Generator) -> None:
        """Run the convex-concave procedure from the given points, and from solutions with random weights of the points."""
        from . import loops

        axes, rotated_problem = state.rotated, state.rotated.problem
        n, p = rotated_problem.A.shape
        problem = loops.loop_problem(rotated_problem)
        node = loops.new_node(problem)
        upper_bound = min([domain_cost_bound(rotated_problem), *(loops.objective(problem, node, w) for w in starts)])
        low, high = axes.coordinate_bounds(upper_bound)
        state.descents = ConvexConcaveDescents(problem, node, low, high, upper_bound, state.tree)
        for w in starts:
            state.descents.descend(w)
        loss, *other_losses = map(wide_ramp, rotated_problem.losses)
        wide = loops.loop_problem(replace(rotated_problem, loss=loss, other_losses=tuple(other_losses)))
        descents = ConvexConcaveDescents(wide, loops.new_node(wide), low, high, upper_bound)
        for _ in range(self.restarts):
            w = np.clip(rng.normal(size=p) / np.sqrt(p), low, high)
            wide.costs[:n] = rotated_problem.costs * rng.random(n)
            state.descents.descend(descents.descend(w))

    def advance(self, state: MarginState, seconds: float) -> Outcome:
        """Explore nodes for about ``seconds``."""
        from . import loops

        end = time.perf_counter() + seconds
        if state.checkpoint_file is not None and state.checkpoint_file.due:
            write_checkpoint(state, self.measure(state).bound)
        if state.has_point and state.value <= 0.0:
            return Outcome.CONVERGED
        while True:
            nodes_left = state.limits.nodes_left(int(state.tree.count[1]))
            if nodes_left <= 0:
                return Outcome.NODE_LIMIT
            timely = max(1.0, state.rate * (end - time.perf_counter())) if state.rate else _FIRST_NODES
            nodes = int(min(nodes_left, timely, state.batch))
            begin, before = time.perf_counter(), int(state.tree.count[1])
            code = loops.explore(state.loop_problem, state.node, state.tree, nodes)
            state.rate = max(1.0, (int(state.tree.count[1]) - before) / max(time.perf_counter() - begin, 1e-6))
            state.batch = 2 * nodes
            if state.log is not None:
                state.log.append_nodes(state.tree.log[: state.tree.count[2]])
                state.tree.count[2] = 0
                if state.log.write_error is not None:
                    return Outcome.UNWRITTEN
            if code == loops.DONE:
                return self._end(state)
            if state.loop_problem.restricted:
                self._descend(state)
            if 2 * max(int(state.tree.count[0]), 2 * loops.RESERVE) < state.tree.heap.size:
                state.tree.count[3] = 0
            if code == loops.FULL and not self._grow_tree(state):
                return Outcome.MEMORY_LIMIT
            if time.perf_counter() >= end:
                return Outcome.RUNNING

    def _end(self, state: MarginState) -> Outcome:
        """Return the outcome for an empty set of open nodes."""
        if state.tree.state[2] >= self._cutoff(state):
            return Outcome.CONVERGED if state.has_point else Outcome.INFEASIBLE
        return Outcome.STALLED

    def _descend(self, state: MarginState) -> None:
        """Run a descent from the last relaxation's point, which satisfies rows only up to smoothing and has few exact zeros."""
        before = state.value
        state.descents.descend(state.node.w)
        if state.log is not None and state.value < before:
            state.log.record_cutoff(self._cutoff(state))

    def _cutoff(self, state: MarginState) -> float:
        """Return the cutoff; nodes at or above it are closed."""
        return float(state.tree.state[0] * (1.0 - state.tree.state[1]))

    def _grow_tree(self, state: MarginState) -> bool:
        """Double the capacity for nodes, or at the memory limit go on nearly depth-first in the rest; False if that is full."""
        tree = state.tree
        capacity = tree.heap.size
        if 2.0 * 2.0 * (tree.boxes.nbytes + tree.signs.nbytes) > state.limits.memory_or(_MEMORY):
            is_frugal = bool(tree.count[3])
            tree.count[3] = 1
            return not is_frugal
        parts = (tree.boxes, tree.keys, tree.origin, tree.signs)
        boxes, keys, origin, signs = (np.concatenate([part, np.zeros_like(part)]) for part in parts)
        heap = np.concatenate([tree.heap, np.arange(capacity, 2 * capacity)])
        state.tree = tree._replace(boxes=boxes, keys=keys, origin=origin, heap=heap, signs=signs)
        return True

    def abandon(self, state: MarginState) -> None:
        """Discard the unfinished log."""
        if state.log is not None:
            state.log.discard()

    def measure(self, state: MarginState) -> ProgressState:
        """Return the incumbent's objective, the proved bound, and the numbers of processed and of open nodes."""
        bound = max(state.rotated.original_bound(self._global_bound(state)), 0.0)
        return ProgressState(
            iteration=int(state.tree.count[1]),
            objective=state.value if state.has_point else float("nan"),
            bound=min(bound, state.value) if state.has_point else bound,
            active=int(state.tree.count[0]),
            step="boxes",
        )

    def _global_bound(self, state: MarginState) -> float:
        """Return the least bound of open nodes, closed ones and leaves, in the rotated coordinates."""
        bound = float(state.tree.keys.flat[state.tree.heap[0]]) if state.tree.count[0] else np.inf
        closed = np.inf if not state.has_point and has_bounded_domain(state.problem) else self._cutoff(state)
        return min(bound, float(state.tree.state[2]), closed)

    def answer(self, state: MarginState) -> Answer:
        """Return the incumbent, if there is one, and the proved bound."""
        w = state.incumbent if state.has_point else None
        details: dict[str, Any] = {"open_nodes": int(state.tree.count[0])}
        if w is None and not has_bounded_domain(state.problem):
            details["excluded"] = f"no point costs less than {state.value:.3g}; farther out none was looked for"
        bound = self.measure(state).bound
        unwritten = write_checkpoint(state, bound)
        if state.log is not None:
            no_point = bound == np.inf and not state.has_point  # the point is feasible
            proved = min(bound, state.value)  # nodes prove more if the rotation lost digits
            state.log.finish(proved, w, self._cutoff(state), infeasible=no_point)
            unwritten = state.log.write_error or unwritten
        return Answer(
            values={} if w is None else {"w": w},
            bound=bound,
            proved=True,
            nodes=int(state.tree.count[1]),
            write_error=unwritten,
            proof=str(self.proof or ""),
            details=details,
        )


@cache
def _load() -> None:
    """Solve the smallest problem, which compiles every loop."""
    rows = np.array([[1.0, 0.5], [1.0, -0.4], [-1.0, 0.3]])
    loss, empty = PiecewiseLinearLoss.ramp(2.0, 2.0), np.zeros((0, 2))
    problem = MarginProblem.unrestricted(rows, np.full(3, 0.4), loss, np.ones(2), empty, intercept=False)
    algorithm = MarginBB(restarts=1)
    state = algorithm.init(problem, Options(), np.random.default_rng(0))
    algorithm.advance(state, 0.01)
