"""`margin-bb`: the exact solver of nonconvex compositions, branch and bound over boxes of w, on the shared driver."""

from __future__ import annotations

import os
import time
from dataclasses import dataclass, replace
from functools import cache
from typing import TYPE_CHECKING, Any, ClassVar

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

if TYPE_CHECKING:
    from . import loops
from typing import TYPE_CHECKING

from ..interface.subprocess_limit import beyond_fork
from ..zero_one.rotation import rotation, turned

if TYPE_CHECKING:
    from . import loops

__all__ = ["MarginBB"]

# Starts of a search: points, an upper bound of the optimum, and descents into boxes.

#: Coefficients that nothing bounds are sought up to so many times what makes a margin of 1 of a row of the median length.
_FAR = 1e4
#: Part of a common objective that is nothing.
_NOTHING = 1e-12


def starting_points(view: MarginProblem, given: object) -> list[FloatArray]:
    """0, or the nearest point of the domain, with an intercept of ±1; a point of the rows and integers; the one that is given.

    Raises
    ------
    InputError
        Not a coefficient for each, or numbers that are not finite.
    """
    p = view.A.shape[1]
    starts = [np.clip(np.zeros(p), view.lower, view.upper)]
    if view.intercept:
        starts += [np.clip(np.where(np.arange(p) == 0, b, 0.0), view.lower, view.upper) for b in (-1.0, 1.0)]
    if len(view.rows) or view.kept.any() or view.whole.any():
        starts += _allowed(view)
    if given is not None:
        w = np.asarray(given, dtype=np.float64)
        if w.shape != (p,) or not np.isfinite(w).all():
            raise InputError(f"start['w'] must hold {p} finite numbers; it has shape {w.shape}")
        starts.append(w)
    return starts


def _allowed(view: MarginProblem) -> list[FloatArray]:
    """The point of least ||w||_1 that satisfies domain, rows and integers, and keeps the points; none without one."""
    from scipy.optimize import Bounds, LinearConstraint, milp  # imported here: it is slow, and few problems need it

    p = view.A.shape[1]
    rows, least = np.vstack([view.rows, view.A[view.kept]]), np.concatenate([view.least, np.ones(int(view.kept.sum()))])
    both = np.hstack([rows, -rows])
    low, high = np.maximum(view.lower, 0.0), np.maximum(view.upper, 0.0)
    below, above = np.maximum(-view.upper, 0.0), np.maximum(-view.lower, 0.0)
    bounds = Bounds(np.concatenate([low, below]), np.concatenate([high, above]))
    constraints = [LinearConstraint(both, least, np.inf)] if len(rows) else []
    cost, whole = np.ones(2 * p), np.tile(view.whole, 2).astype(np.int64)
    found = beyond_fork("scipy", lambda: milp(cost, integrality=whole, bounds=bounds, constraints=constraints))
    return [] if found.x is None else [np.asarray(found.x[:p] - found.x[p:])]


def bounded(view: MarginProblem) -> bool:
    """Return whether the domain is, but for a free intercept."""
    ends = np.isfinite(view.lower) & np.isfinite(view.upper)
    return bool(ends[int(view.intercept) :].all())


def most_of_the_domain(view: MarginProblem) -> float:
    """More than any point of the domain costs whose coefficients are at most 1e4 over the median length of a row."""
    free = int(view.intercept)
    far = np.maximum(np.abs(view.lower), np.abs(view.upper))
    lengths = np.linalg.norm(view.A[:, free:], axis=1)
    scale = float(np.median(lengths[lengths > 0.0])) if lengths.any() else 1.0
    far = np.where(np.isfinite(far), far, _FAR / scale)
    if view.intercept:
        rest = float((np.abs(view.A[:, 1:]) @ far[1:]).max(initial=0.0))
        far[0] = min(max(abs(view.lower[0]), abs(view.upper[0])), view.loss.farthest + 1.0 + rest)
    norm = 0.0
    if len(view.atoms):  # ||w||_X ≤ ||X^+ w||_1
        held = view.atoms.any(axis=0)
        norm = float(np.abs(np.linalg.pinv(view.atoms[:, held].T)).sum(axis=0) @ far[held])
    losses = view.costs @ (view.loss.height + view.loss.tail * (np.abs(view.A) @ far + abs(view.loss.farthest)))
    return 2.0 * float(view.curvature @ far**2 + norm + view.price.sum() + losses) + 1.0


def reference(view: MarginProblem, problem: loops.LoopProblem, node: loops.LoopNode, starts: list[FloatArray]) -> float:
    """The least objective of the starting points that are the problem's, or what points of the domain do not exceed."""
    from . import loops

    return min([most_of_the_domain(view), *(loops.objective(problem, node, w) for w in starts)])


def convex_of(loss: Corners) -> Corners:
    """A wider ramp, of which every margin of a first descent is on the slope."""
    last, span = float(loss.margins[-1]), float(np.ptp(loss.margins)) + 1.0
    height = (loss.steepest or loss.height) * span
    values = np.array([height, 0.0])
    return replace(loss, margins=np.array([last - span, last]), below=values, at=values, tail=0.0, again=-np.inf)


class Descents:
    """The convex-concave procedure in a box; the best point goes into the tree.

    Parameters
    ----------
    problem, node
        As the loops have them.
    low, high : ndarray (p,)
        The box.
    most : float
        What stands for the objective of points that are none of the problem's.
    tree : kernels.Tree, optional
        Its ``state`` and ``found`` are written to.
    """

    def __init__(
        self,
        problem: loops.LoopProblem,
        node: loops.LoopNode,
        low: FloatArray,
        high: FloatArray,
        most: float,
        tree: Any = None,
    ) -> None:
        self.problem, self.node, self._low, self._high, self._most, self._tree = problem, node, low, high, most, tree

    def descend(self, w: FloatArray) -> FloatArray:
        """The end of a descent from w; where zeros count, from there with ever more coefficients held at 0."""
        found = self._to(w.copy(), np.zeros(w.size, dtype=bool))
        if not self.problem.sparse:
            return found
        at, gone = found, np.zeros(w.size, dtype=bool)
        counts = ((self.problem.price > 0.0) | self.problem.counted) & (self._low <= 0.0) & (self._high >= 0.0)
        while (counts & (at != 0.0)).any():
            left = np.flatnonzero(counts & (at != 0.0))
            gone |= counts & (at == 0.0)
            gone[left[np.abs(at[left]).argmin()]] = True
            at = self._to(np.where(gone, 0.0, at), gone)
        return found

    def _to(self, w: FloatArray, gone: FloatArray) -> FloatArray:
        """A descent with some coefficients held at 0; w is changed."""
        from . import loops

        node = self.node
        node.lo[:], node.hi[:], node.marks[:] = np.where(gone, 0.0, self._low), np.where(gone, 0.0, self._high), 0.0
        np.clip(w, node.lo, node.hi, out=w)
        value = loops.descend(self.problem, node, w, self._most)
        if value < _NOTHING * self._most:  # an optimum of 0, where margins should not be short in their last digits
            for other in (np.array([float(f"{x:.10g}") for x in w.tolist()]), np.clip(w * (1.0 + 1e-9), node.lo, node.hi)):
                found = loops.objective(self.problem, node, other)
                value, w = (found, other) if found <= value else (value, w)
        if self._tree is not None and value < self._tree.state[0]:
            self._tree.state[0], self._tree.state[3], self._tree.found[:] = value, 1.0, w
        return w


# The problem in coordinates that suit boxes, and what that may change of its optimum.

_EPS = 2.0**-52
#: By how much a margin may be off where losses jump.
_SHORT = 1e-10


@dataclass(frozen=True, eq=False)
class Rotated:
    """The problem in v = V'w: boxes along these coordinates cut less off at a time.

    Parameters
    ----------
    problem : MarginProblem
        The rotated problem. Its norm of v is that of w, but for the rounding of the atoms, of which the kernels know.
    V : ndarray (p, p)
        Orthogonal up to rounding; the identity on a free intercept.
    skew : ndarray (n, p)
        Margins of v and of w differ by at most skew |v|.
    stretch : float
        ||v||² is at most (1 + stretch) ||w||².
    """

    problem: MarginProblem
    V: FloatArray
    skew: FloatArray
    stretch: float

    def into(self, w: FloatArray) -> FloatArray:
        """v of w."""
        return np.asarray(self.V.T @ w)

    def back(self, v: FloatArray) -> FloatArray:
        """w of v."""
        return np.asarray(self.V @ v)

    def reach(self, value: float) -> tuple[FloatArray, FloatArray]:
        """Ends of v_j at some optimal point of a value below that: of the domain, by squares, the norm, or an intercept's losses.

        For fixed other coefficients the objective is piecewise linear in an intercept: some best one stands at a corner of some
        point's loss, where a point that must be kept or is counted has margin 1, where a row that has it binds, at an end of its
        domain, or, an integer, within 1 of that.
        """
        at, held = self.problem, self.problem.curvature > 0.0
        squares = np.full(held.size, np.inf)  # at an optimum of 0 a quotient and a product would be 0/0 and 0·∞
        np.divide(value, at.curvature, out=squares, where=held)
        span = np.abs(at.atoms).max(axis=0, initial=0.0)  # |w_j| of a combination with ||α||_1 ≤ 1
        far = np.minimum(np.sqrt(squares), np.where(span > 0.0, span * value, np.inf)) * (1.0 + 1e-9) + 1e-12
        far[np.isnan(far)] = np.inf
        lower, upper = np.maximum(at.lower, -far), np.minimum(at.upper, far)
        if at.intercept:
            rest = np.maximum(np.abs(lower[1:]), np.abs(upper[1:]))
            b = max(1.0, at.loss.farthest) + float((np.abs(at.A[:, 1:]) @ rest).max(initial=0.0))
            for row, least in zip(at.rows, at.least, strict=True):
                if row[0] != 0.0:
                    b = max(b, (abs(least) + float(np.abs(row[1:]) @ rest)) / abs(row[0]))
            b = max(b, *(abs(end) for end in (at.lower[0], at.upper[0], 0.0) if np.isfinite(end)))
            b = (b + float(at.whole[0])) * (1.0 + 1e-9)
            lower[0], upper[0] = max(at.lower[0], -b), min(at.upper[0], b)
        return lower, upper

    def off(self, value: float) -> FloatArray:
        """Return the error of margins of points better than ``value``."""
        return np.asarray(self.skew @ np.abs(self.reach(value)).max(axis=0)) if self.skew.any() else np.zeros(len(self.skew))

    def lost(self, value: float) -> float:
        """Return the change of losses by that error: infinite where losses jump and a margin may be off by more than rounding."""
        at, off = self.problem, self.off(value)
        if (at.loss.below > at.loss.at).any():
            return np.inf if off.max(initial=0.0) > _SHORT else 0.0
        return float(at.costs @ off) * at.loss.steepest

    def proved(self, bound: float) -> float:
        """A bound of the rotated problem as one of the problem."""
        return float(bound / (1.0 + self.stretch)) if np.isfinite(bound) else bound


def own(problem: MarginProblem) -> Rotated:
    """The problem in its own coordinates, in which nothing is rounded."""
    return Rotated(problem, np.eye(problem.A.shape[1]), np.zeros(problem.A.shape), 0.0)


def rotated(problem: MarginProblem) -> Rotated:
    """The problem in coordinates in which boxes exclude pairs; in its own where squares differ, or anything restricts it."""
    A = problem.A
    p, V = A.shape[1], np.eye(A.shape[1])
    held = np.arange(p) >= problem.intercept
    if not problem.free or not held.any() or np.ptp(problem.curvature[held]) > 0.0:
        return own(problem)
    labels = A[:, 0] if problem.intercept else None
    V[np.ix_(held, held)] = turned(A[:, held], rotation(A[:, held], True), labels)
    turn = float(np.linalg.norm(V @ V.T - np.eye(p))) + 4.0 * p * _EPS
    within = replace(problem, A=np.ascontiguousarray(A @ V), atoms=problem.atoms @ V)
    skew = 2.0 * (p + 4) * _EPS * (np.abs(A) @ np.abs(V))
    skew[:, held] += 2.0 * turn * np.linalg.norm(A[:, held], axis=1)[:, None]
    return Rotated(within, V, skew, 2.0 * turn)


# The state of a run of `margin-bb`.

#: Nodes of the first call of the compiled loop; then by the clock, at most twice as many as in the call before: the first ones
#: may end at once where later ones do not.
FIRST = 20


@dataclass(eq=False)
class MarginState:
    """The state of a run."""

    problem: MarginProblem
    rotated: Rotated
    options: Options
    tree: loops.Tree
    descents: Any = None  #: `Descents`, and the problem and a node as the loops have them
    loops: Any = None
    node: Any = None
    log: ProofLog | None = None
    rate: float = 0.0
    batch: int = FIRST

    @property
    def known(self) -> bool:
        """Return whether a point of the problem is known."""
        return bool(self.tree.state[3] > 0.0)

    @property
    def value(self) -> float:
        """The incumbent's objective; without one, more than any point's."""
        return float(self.tree.state[0])

    @property
    def best(self) -> FloatArray:
        """The incumbent in the problem's own coordinates."""
        return self.rotated.back(self.tree.found)


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
