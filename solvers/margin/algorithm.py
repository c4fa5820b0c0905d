"""`margin-bb`: the exact solver of nonconvex compositions, branch and bound over boxes of w, on the shared driver."""

from __future__ import annotations

import os
import time
from dataclasses import dataclass, replace
from functools import cache
from typing import Any, ClassVar

import numpy as np

from ...errors import InputError
from ...files import check_target
from ...models.arrays import FloatArray
from ...models.margin_view import Corners, MarginProblem
from ...models.model import Model
from ..interface.algorithm import Algorithm, Measure, Outcome
from ..interface.solver import Gives, SolverInfo
from ..records.answer import Answer
from ..records.options import Options
from ..records.rank import Purpose
from .proof import ProofLog
from .rotated import own, rotated
from .starts import Descents, bounded, convex_of, most_of_the_domain, reference, starting_points
from .state import FIRST, MarginState

__all__ = ["MarginBB"]

#: Open nodes that there is room for at the beginning, and bytes that nodes may take without a memory limit.
_ROOM, _MEMORY = 4096, 2e9
#: Share of the tolerance that rounding coordinates may cost before the problem's own are searched.
_LOST = 0.1
#: Numbers of a log that are held back.
_HELD = 1 << 20


@dataclass(frozen=True, eq=False)
class MarginBB(Algorithm[MarginProblem, MarginState]):
    """Exact branch and bound over boxes of w for nonconvex problems from parts (`MarginProblem`), of few coefficients.

    Losses are piecewise linear and do not rise with the margin, jumps included; squares, a polyhedral norm and prices of
    coefficients that are not 0 regularise; domains, rows, kept points and budgets of errors restrict. A node is a box of w. Two
    points whose margins sum to little there cost at least what their losses cannot both avoid: a matching of such pairs is paid
    first. What it leaves has convex envelopes, constants and hinges, so the rest is a small convex problem whose dual values
    bound the node and shrink its box (`solvers.margin.loops`). Budgets have a price in every other round. Integers, rows and
    points that must be kept narrow boxes; where zeros count, a node is split by whether a coefficient is 0.

    Parameters
    ----------
    restarts : int
        Starts of the convex-concave procedure before the search, each from a random weighting of the points.
    max_coefficients : int
        Coefficients, intercept included, up to which a problem is read: with each more there are far more boxes.
    proof : str, optional
        Path of a proof log that `check_proof` verifies, also where a limit ends the search.

    Notes
    -----
    The bound is proved: pairs, envelopes and dual values have their rounding taken off, and so have the coordinates. For few
    features: the number of boxes grows fast beyond five or six. ||w||_X = max{p'w : |x_j'p| ≤ 1} is the L1 norm, or that of
    kernel weights; a bound needs one such p for each node, whose products with the atoms x_j are checked. Margins and rows of a
    point may be short of what they must be by 1e-9 of their terms. INFEASIBLE: no point of the domain is one of the problem's;
    where the domain is not bounded none that costs less than the bound, which those of coefficients up to 1e4 over the median
    length of a row do.

    Raises
    ------
    InputError
        Parameters or a start that are not such.
    """

    restarts: int = 20
    max_coefficients: int = 6
    proof: str | None = None

    pooled: ClassVar[bool] = True  # small dense algebra: a second BLAS thread costs more than it brings
    compiling: ClassVar[float] = 7.0
    info: ClassVar[SolverInfo] = SolverInfo(
        name="margin-bb",
        summary="exact branch and bound for nonconvex problems from parts: boxes with convex envelopes, for few features",
        views=(MarginProblem,),
        gives=frozenset({Gives.BOUND, Gives.TRACE, Gives.WARM_START, Gives.INTERRUPT}),
        rank={Purpose.STRUCTURE: 13},
        tolerance=1e-6,
        reference="docs/compose.md",
    )

    def __post_init__(self) -> None:
        if not isinstance(self.restarts, int) or self.restarts < 0:
            raise InputError(f"restarts must be an integer ≥ 0; it is {self.restarts!r}")
        if not isinstance(self.max_coefficients, int) or self.max_coefficients < 1:
            raise InputError(f"most must be an integer ≥ 1; it is {self.max_coefficients!r}")
        if self.proof is not None:
            if not isinstance(self.proof, str | os.PathLike):
                raise InputError(f"proof must be the path of the log to be written; it is {self.proof!r}")
            check_target(self.proof, "the proof log")

    def obstacle(self, model: Model) -> str | None:
        """A model without the view, or with too many coefficients."""
        view = self.view_of(model)
        if view is None or view.A.shape[1] <= self.max_coefficients:
            return super().obstacle(model)
        return (
            f"it searches boxes of up to {self.max_coefficients} coefficients, and {model.name} has {view.A.shape[1]}; "
            f"MarginBB(max_coefficients={view.A.shape[1]}) of marginopt.solvers.margin tries all the same"
        )

    @property
    def starting(self) -> MarginBB:
        """The convex-concave procedure takes any number of coefficients."""
        return replace(self, max_coefficients=2**31)

    def load(self, view: MarginProblem) -> None:
        """Compile the loops, or load them."""
        _load()

    def init(self, view: MarginProblem, options: Options, rng: np.random.Generator) -> MarginState:
        """Rotate, find an incumbent, and plant the root box."""
        from . import loops  # Numba comes with it

        axes = rotated(view)
        tol = options.tolerance(self.info.tolerance)
        tree = loops.tree_for(view.A.shape[1], _ROOM, 0.25 * tol)
        state = MarginState(view, axes, options, tree)
        starts = starting_points(view, None if options.start is None else options.start.get("w"))
        self._search(state, [axes.into(w) for w in starts], rng)
        if state.known and axes.lost(state.value) > _LOST * tol * state.value:
            starts, state.rotated, tree.state[0], tree.state[3] = [state.best], own(view), np.inf, 0.0
            replace(self, restarts=0)._search(state, starts, rng)
        if not state.known:
            tree.state[0] = most_of_the_domain(view)
        low, high = state.rotated.reach(state.value)
        if (low > high).any():
            tree.count[0] = 0
        tree.boxes[0, 0], tree.boxes[0, 1] = low, high
        self._ready(state)
        if self.proof is not None:
            self._begin_log(state, str(self.proof))
        return state

    def _ready(self, state: MarginState) -> None:
        """The problem and a node as the loops have them, from here on."""
        from . import loops

        axes = state.rotated
        state.loops = loops.problem_of(axes.problem, axes.off(state.value))
        state.node = loops.node_for(state.loops)

    def _begin_log(self, state: MarginState, path: str) -> None:
        """The log, and room for what its nodes say until they are written."""
        from . import loops

        node = state.node
        state.log = ProofLog(path, state.problem, state.rotated.V, self._cut(state), state.loops)
        most = loops.most_of_a_node(node.paired.shape[1], node.hinges.size, node.w.size, 2 * loops.ROUNDS)
        state.tree = state.tree._replace(log=np.zeros(2 * most + _HELD))

    def _search(self, state: MarginState, starts: list[FloatArray], rng: np.random.Generator) -> None:
        """The convex-concave procedure from the given points, and from solutions with random weights of the points."""
        from . import loops

        axes, at = state.rotated, state.rotated.problem
        n, p = at.A.shape
        problem = loops.problem_of(at)
        node = loops.node_for(problem)
        most = reference(at, problem, node, starts)
        low, high = axes.reach(most)
        state.descents = Descents(problem, node, low, high, most, state.tree)
        for w in starts:
            state.descents.descend(w)
        wide = loops.problem_of(replace(at, loss=convex_of(at.loss)))
        first = Descents(wide, loops.node_for(wide), low, high, most)
        for _ in range(self.restarts):
            w = np.clip(rng.normal(size=p) / np.sqrt(p), low, high)
            wide.costs[:n] = at.costs * rng.random(n)
            state.descents.descend(first.descend(w))

    def advance(self, state: MarginState, seconds: float) -> Outcome:
        """Nodes, as many as the clock allows."""
        from . import loops

        end = time.perf_counter() + seconds
        if state.known and state.value <= 0.0:
            return Outcome.CONVERGED
        while True:
            limit = state.options.node_limit
            left = np.inf if limit is None else limit - int(state.tree.count[1])
            if left <= 0:
                return Outcome.NODE_LIMIT
            timely = max(1.0, state.rate * (end - time.perf_counter())) if state.rate else FIRST
            nodes = int(min(left, timely, state.batch))
            begin, before = time.perf_counter(), int(state.tree.count[1])
            code = loops.explore(state.loops, state.node, state.tree, nodes)
            state.rate = max(1.0, (int(state.tree.count[1]) - before) / max(time.perf_counter() - begin, 1e-6))
            state.batch = 2 * nodes
            if state.log is not None:
                state.log.take(state.tree.log[: state.tree.count[2]])
                state.tree.count[2] = 0
                if state.log.fault is not None:
                    return Outcome.UNWRITTEN
            if code == loops.DONE:
                return self._end(state)
            if state.loops.restricted:
                self._descend(state)
            if code == loops.FULL and not self._grown(state):
                return Outcome.MEMORY_LIMIT
            if time.perf_counter() >= end:
                return Outcome.RUNNING

    def _end(self, state: MarginState) -> Outcome:
        """There are no open nodes."""
        if state.tree.state[2] >= self._cut(state):
            return Outcome.CONVERGED if state.known else Outcome.INFEASIBLE
        return Outcome.STALLED

    def _descend(self, state: MarginState) -> None:
        """From the last node's point: relaxations satisfy rows but for their smoothing, and have other zeros."""
        before = state.value
        state.descents.descend(state.node.w)
        if state.log is not None and state.value < before:
            state.log.cut(self._cut(state))

    def _cut(self, state: MarginState) -> float:
        """Nodes at or above it are closed."""
        return float(state.tree.state[0] * (1.0 - state.tree.state[1]))

    def _grown(self, state: MarginState) -> bool:
        """Twice the room for nodes; False where memory does not allow it."""
        tree, limit = state.tree, state.options.memory_limit
        room = tree.heap.size
        if 2.0 * 2.0 * tree.boxes.nbytes > (_MEMORY if limit is None else limit):
            return False
        boxes, keys, origin = (np.concatenate([part, np.zeros_like(part)]) for part in (tree.boxes, tree.keys, tree.origin))
        heap = np.concatenate([tree.heap, np.arange(room, 2 * room)])
        state.tree = tree._replace(boxes=boxes, keys=keys, origin=origin, heap=heap)
        return True

    def measure(self, state: MarginState) -> Measure:
        """Incumbent, proved bound, nodes and open nodes."""
        bound = max(state.rotated.proved(self._least(state)), 0.0)
        return Measure(
            iteration=int(state.tree.count[1]),
            objective=state.value if state.known else float("nan"),
            bound=min(bound, state.value) if state.known else bound,
            active=int(state.tree.count[0]),
            step="boxes",
        )

    def _least(self, state: MarginState) -> float:
        """The least bound of open nodes, closed ones and leaves, in the rotated coordinates."""
        found = float(state.tree.keys[state.tree.heap[0]]) if state.tree.count[0] else np.inf
        closed = np.inf if not state.known and bounded(state.problem) else self._cut(state)
        return min(found, float(state.tree.state[2]), closed)

    def answer(self, state: MarginState) -> Answer:
        """The incumbent, where there is one, and the proved bound."""
        w = state.best if state.known else None
        details: dict[str, Any] = {"open_nodes": int(state.tree.count[0])}
        if w is None and not bounded(state.problem):
            details["beyond"] = f"no point costs less than {state.value:.3g}; farther out none was looked for"
        unwritten, bound = None, self.measure(state).bound
        if state.log is not None:
            nothing = bound == np.inf and not state.known  # is feasible
            state.log.finish(min(bound, state.value), w, infeasible=nothing)  # nodes say more where turning lost digits
            details["proof"], unwritten = str(self.proof), state.log.fault
        return Answer(
            values={} if w is None else {"w": w},
            bound=bound,
            proved=True,
            nodes=int(state.tree.count[1]),
            write_error=unwritten,
            details=details,
        )


@cache
def _load() -> None:
    """The smallest problem, so that every loop is there."""
    rows = np.array([[1.0, 0.5], [1.0, -0.4], [-1.0, 0.3]])
    loss, none = Corners.ramp(2.0, 2.0), np.zeros((0, 2))
    problem = MarginProblem.unrestricted(rows, np.full(3, 0.4), loss, np.ones(2), none, intercept=False)
    algorithm = MarginBB(restarts=1)
    state = algorithm.init(problem, Options(), np.random.default_rng(0))
    algorithm.advance(state, 0.01)
