"""`ramp-bb`: the exact solver of the ramp-loss SVM, branch and bound over boxes of w, on the shared driver."""

from __future__ import annotations

import os
import time
from dataclasses import dataclass, replace
from functools import cache
from typing import Any, ClassVar

import numpy as np

from ...errors import InputError
from ...files import check_target
from ...models.arrays import FloatArray, IntArray
from ...models.model import Model
from ...models.views import RampProblem
from ..interface.algorithm import Algorithm, Measure, Outcome
from ..interface.solver import Gives, SolverInfo
from ..records.answer import Answer
from ..records.options import Options
from ..records.rank import Purpose
from .proof import ProofLog
from .rotated import Rotated, own, rotated

__all__ = ["RampBB", "RampState"]

#: Open nodes that there is room for at the beginning, and bytes that nodes may take without a memory limit.
_ROOM, _MEMORY = 4096, 2e9
#: Share of the tolerance that rounding coordinates may cost before the problem's own are searched.
_LOST = 0.1
#: Nodes of the first call of the compiled loop; then by the clock, at most twice as many as in the call before: the first ones
#: may end at once where later ones do not. Numbers of a log that are held back.
_FIRST, _HELD = 20, 1 << 20


@dataclass(eq=False)
class RampState:
    """Where a run stands; ``boxes``, ``keys``, ``heap``, ``count`` and ``state`` are `kernels.Tree`'s."""

    problem: RampProblem
    rotated: Rotated
    options: Options
    boxes: FloatArray
    keys: FloatArray
    heap: IntArray
    count: IntArray
    state: FloatArray
    found: FloatArray
    origin: IntArray
    events: FloatArray
    log: ProofLog | None
    rate: float = 0.0
    batch: int = _FIRST

    @property
    def value(self) -> float:
        """The incumbent's objective."""
        return float(self.state[0])

    @property
    def best(self) -> FloatArray:
        """The incumbent in the problem's own coordinates."""
        return self.rotated.back(self.found)


@dataclass(frozen=True, eq=False)
class RampBB(Algorithm[RampProblem, RampState]):
    """Exact branch and bound for min Σ d_j w_j² + ||w||_X + Σ c_i ρ(a_i'w), a ramp of height h and width d.

    A node is a box of w. Two points whose margins sum to less than 2 there cost at least what their ramps cannot both avoid: a
    matching of such pairs is paid first. What it leaves has convex envelopes, constants, lines and hinges, so the rest is a small
    convex problem whose dual values bound the node and shrink its box (`solvers.ramp.kernels`).

    Parameters
    ----------
    restarts : int
        Starts of the convex-concave procedure before the search, each from a random weighting of the points.
    most : int
        Coefficients, intercept included, up to which a problem is read: with each more there are far more boxes.
    proof : str, optional
        Path of a proof log that `check_proof` verifies, also where a limit ends the search.

    Notes
    -----
    The bound is proved: pairs, envelopes and dual values have their rounding taken off, and so have the coordinates. For few
    features: the number of boxes grows fast beyond five or six. ||w||_X = max{p'w : |x_j'p| ≤ 1} is the L1 norm, or that of
    kernel weights; a bound needs one such p for each node, whose products with the atoms x_j are checked.
    """

    restarts: int = 20
    most: int = 6
    proof: str | None = None

    pooled: ClassVar[bool] = True  # small dense algebra: a second BLAS thread costs more than it brings
    compiling: ClassVar[float] = 5.5
    info: ClassVar[SolverInfo] = SolverInfo(
        name="ramp-bb",
        summary="exact branch and bound for the ramp loss: boxes with convex envelopes, for few features",
        views=(RampProblem,),
        gives=frozenset({Gives.BOUND, Gives.TRACE, Gives.WARM_START, Gives.INTERRUPT}),
        rank={Purpose.STRUCTURE: 13},
        tolerance=1e-6,
        reference="docs/compose.md",
    )

    def __post_init__(self) -> None:
        if not isinstance(self.restarts, int) or self.restarts < 0:
            raise InputError(f"restarts must be an integer ≥ 0; it is {self.restarts!r}")
        if not isinstance(self.most, int) or self.most < 1:
            raise InputError(f"most must be an integer ≥ 1; it is {self.most!r}")
        if self.proof is not None:
            if not isinstance(self.proof, str | os.PathLike):
                raise InputError(f"proof must be the path of the log to be written; it is {self.proof!r}")
            check_target(self.proof, "the proof log")

    def obstacle(self, model: Model) -> str | None:
        """A model without the view, or with too many coefficients."""
        view = self.view_of(model)
        if view is None or view.A.shape[1] <= self.most:
            return super().obstacle(model)
        return (
            f"it searches boxes of up to {self.most} coefficients, and {model.name} has {view.A.shape[1]}; "
            f"RampBB(most={view.A.shape[1]}) of marginopt.solvers.ramp tries all the same"
        )

    @property
    def starting(self) -> RampBB:
        """The convex-concave procedure takes any number of coefficients."""
        return replace(self, most=2**31)

    def load(self, view: RampProblem) -> None:
        """Compile the loops, or load them."""
        _load()

    def init(self, view: RampProblem, options: Options, rng: np.random.Generator) -> RampState:
        """Rotate, find an incumbent, and plant the root box."""
        p = view.A.shape[1]
        axes = rotated(view)
        tol = options.tolerance(self.info.tolerance)
        room = _ROOM
        state = RampState(
            view, axes, options, np.zeros((room, 3, p)), np.full(room, -np.inf), np.arange(room), np.array([1, 0, 0]),
            np.array([np.inf, 0.25 * tol, np.inf]), np.zeros(p), np.zeros((room, 2), dtype=np.int64), np.zeros(0), None,
        )  # fmt: skip
        starts = [np.zeros(p)] + ([] if view.penalised.all() else [np.where(view.penalised, 0.0, b) for b in (-1.0, 1.0)])
        given = None if options.start is None else options.start.get("w")
        if given is not None:
            w = np.asarray(given, dtype=np.float64)
            if w.shape != (p,) or not np.isfinite(w).all():
                raise InputError(f"start['w'] must hold {p} finite numbers; it has shape {w.shape}")
            starts.append(axes.into(w))
        self._search(state, starts, rng)
        if axes.lost(state.value) > _LOST * tol * state.value:
            starts, state.rotated, state.state[0] = [state.best], own(view), np.inf
            replace(self, restarts=0)._search(state, starts, rng)
        reach = state.rotated.reach(state.value)
        state.boxes[0, 0], state.boxes[0, 1] = -reach, reach
        if self.proof is not None:
            self._begin_log(state, str(self.proof))
        return state

    def _begin_log(self, state: RampState, path: str) -> None:
        """The log, and room for what its nodes say until they are written."""
        from . import kernels

        points, coordinates = state.problem.A.shape
        state.log = ProofLog(path, state.problem, state.rotated.V, self._cut(state))
        state.events = np.zeros(2 * kernels.most_of_a_node(points, coordinates, kernels.ROUNDS) + _HELD)

    def _search(self, state: RampState, starts: list[FloatArray], rng: np.random.Generator) -> None:
        """The convex-concave procedure from the given points, and from solutions of hinges with random weights."""
        from . import kernels  # Numba comes with it

        axes, at = state.rotated, state.rotated.problem
        n, p = at.A.shape
        ramp = kernels.ramp_of(at)
        node = kernels.node_for(ramp)
        reach = axes.reach(float(at.costs.sum()) * kernels.loss(ramp, 0.0))
        wide = replace(at, height=at.height * (at.width + 1.0) / at.width, width=at.width + 1.0, beyond=np.inf)
        for k in range(len(starts) + self.restarts):
            w = starts[k].copy() if k < len(starts) else np.clip(rng.normal(size=p) / np.sqrt(p), -reach, reach)
            node.lo[:], node.hi[:] = -reach, reach
            if k >= len(starts):  # every margin of these starts is on the wider ramp
                kernels.descend(kernels.ramp_of(replace(wide, costs=at.costs * rng.random(n))), node, w)
            value = kernels.descend(ramp, node, w)
            if value < state.value:
                state.state[0], state.found = value, w

    def advance(self, state: RampState, seconds: float) -> Outcome:
        """Nodes, as many as the clock allows."""
        from . import kernels

        axes, end = state.rotated, time.perf_counter() + seconds
        if state.value <= 0.0:
            return Outcome.CONVERGED
        ramp = kernels.ramp_of(axes.problem)
        node = kernels.node_for(ramp)
        while True:
            limit = state.options.node_limit
            left = np.inf if limit is None else limit - int(state.count[1])
            if left <= 0:
                return Outcome.NODE_LIMIT
            timely = max(1.0, state.rate * (end - time.perf_counter())) if state.rate else _FIRST
            nodes = int(min(left, timely, state.batch))
            begin, before = time.perf_counter(), int(state.count[1])
            tree = kernels.Tree(
                state.boxes, state.keys, state.heap, state.count, state.state, state.found, state.origin, state.events
            )
            code = kernels.explore(ramp, node, tree, nodes)
            state.rate = max(1.0, (int(state.count[1]) - before) / max(time.perf_counter() - begin, 1e-6))
            state.batch = 2 * nodes
            if state.log is not None:
                state.log.take(state.events[: state.count[2]])
                state.count[2] = 0
                if state.log.fault is not None:
                    return Outcome.UNWRITTEN
            if code == kernels.DONE:
                return Outcome.CONVERGED if state.state[2] >= self._cut(state) else Outcome.STALLED
            if code == kernels.FULL and not self._grown(state):
                return Outcome.MEMORY_LIMIT
            if time.perf_counter() >= end:
                return Outcome.RUNNING

    def _cut(self, state: RampState) -> float:
        """Nodes at or above it are closed."""
        return float(state.state[0] * (1.0 - state.state[1]))

    def _grown(self, state: RampState) -> bool:
        """Twice the room for nodes; False where memory does not allow it."""
        room, limit = state.heap.size, state.options.memory_limit
        if 2.0 * 2.0 * state.boxes.nbytes > (_MEMORY if limit is None else limit):
            return False
        state.boxes = np.concatenate([state.boxes, np.zeros_like(state.boxes)])
        state.keys = np.concatenate([state.keys, np.zeros(room)])
        state.heap = np.concatenate([state.heap, np.arange(room, 2 * room)])
        state.origin = np.concatenate([state.origin, np.zeros_like(state.origin)])
        return True

    def measure(self, state: RampState) -> Measure:
        """Incumbent, proved bound, nodes and open nodes."""
        bound = state.rotated.proved(self._least(state), state.value)
        return Measure(
            iteration=int(state.count[1]),
            objective=state.value,
            bound=min(max(bound, 0.0), state.value),
            active=int(state.count[0]),
            step="boxes",
        )

    def _least(self, state: RampState) -> float:
        """The least bound of open nodes, closed ones and leaves, in the rotated coordinates."""
        found = float(state.keys[state.heap[0]]) if state.count[0] else np.inf
        return min(found, self._cut(state), float(state.state[2]))

    def answer(self, state: RampState) -> Answer:
        """The incumbent and the proved bound."""
        problem, w = state.problem, state.best
        u = problem.A @ w
        given_up = u < 1.0 - problem.width
        xi = np.maximum(np.where(given_up, 1.0 - problem.beyond, 1.0) - u, 0.0)
        details: dict[str, Any] = {"open_nodes": int(state.count[0])}
        unwritten, bound = None, self.measure(state).bound
        if state.log is not None:
            state.log.finish(bound, w)  # the nodes say more where turning lost digits
            details["proof"], unwritten = str(self.proof), state.log.fault
        return Answer(
            values={"w": w, "z": given_up.astype(np.float64), "xi": xi},
            bound=bound,
            proved=True,
            nodes=int(state.count[1]),
            unwritten=unwritten,
            details=details,
        )


@cache
def _load() -> None:
    """The smallest problem, so that every loop is there."""
    rows = np.array([[1.0, 0.5], [1.0, -0.4], [-1.0, 0.3]])
    problem = RampProblem.with_squares(rows, np.full(3, 0.4), np.ones(2), 2.0, 2.0)
    algorithm = RampBB(restarts=1)
    state = algorithm.init(problem, Options(), np.random.default_rng(0))
    algorithm.advance(state, 0.01)
