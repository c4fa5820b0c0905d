"""The exact solver of the cardinality form, min ||w||² with at most k margins violated: a Lagrangian search, then a tree search.

Margin i is violated if a_i'w < 1, a_i = y_i x_i; the norm is the squared one of the penalised weights; k = ⌊κn⌋ for the model's κ
and n points. The engines of the λ form solve v(λ) = min ||w||² + λ·(violations) exactly. For every λ, v(λ) - λk is a proved lower
bound, and the solutions are candidates. λ becomes the slope between the best known points on either side of k, until that slope
has been solved: k then lies on an edge of the lower convex hull of (violations, norm). The distance between that edge and the
best feasible point is the duality gap, which `BudgetSearch` closes by branch and bound on norm-conflicts: sets of points of which
no w below the cutoff keeps all (``docs/explanation/zero-one-bb.md``).
"""

from __future__ import annotations

import dataclasses
import heapq
import math
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from ...errors import InputError, count_text
from ...models.arrays import FloatArray
from ...models.formulations.margin_violations import ZeroOneBudget
from ...models.views import ZeroOneProblem
from ..interface.algorithm import Algorithm, Outcome
from ..interface.recorder import ProgressState
from ..interface.solver import Gives, SolverInfo
from ..records import Answer, Options
from .conflict_log import DELETED, FREE, ConflictLogWriter, NodeProver, clone_active_set
from .incumbent import HardMarginSolver
from .reduced import ReducedZeroOneProblem, reduce_problem, scale_and_evaluate_all

if TYPE_CHECKING:
    from .algorithm import ZeroOneBB, ZeroOneState

#: Number of nodes after which a second pass first logs the bound so far, its growth between two such passes, and the most nodes
#: of a pass for each node of the search. A pass needs about as many nodes as the search; one that needs far more is cut short.
_RECORDED, _RECORDED_GROWTH, _RECORD_NODES = 50, 4, 4
#: Trial norms for the bounds of the first `_PROBED_NODES` nodes, as shares of the interval from a node's bound to the cutoff.
_TRIALS = (0.97, 0.9, 0.75, 0.5)
_PROBED_NODES = 200


@dataclass(frozen=True, eq=False)
class _Node:
    bound: float  #: proved lower bound of the squared norm
    state: Any  #: (m,) states of the points
    extra: float  #: proved lower bound of the number of further deletions
    start: Any  #: `ActiveSet` of the kept points


class BudgetSearch:
    """Branch and bound on norm-conflicts for the least norm with at most k points violated, which can stop and resume.

    A node has deleted points, which its solutions violate (r deletions of the budget remain), kept points and free points.
    Solutions of interest have a squared norm below the cutoff, and each of them deletes a point of every conflict at the cutoff.
    So a node is empty if disjoint conflicts (points counted by their multiplicity) need more than r deletions, or if a conflict
    has no free point. If a conflict has a single free point, that point is deleted. Otherwise a point is deleted in one child and
    kept in the other.

    Parameters
    ----------
    node_prover : NodeProver
        Processor of nodes. Its weights are the multiplicities of the reduced points (equal points merged), its budget is k less
        the number of points that every w violates.
    points : int
        Number of reduced points m.
    improve_cutoff : callable
        Function that takes the mask of points to keep, tries to improve the incumbent by them, and returns the new cutoff.
    cutoff : float
        Value of ||w||², in reduced units, below which solutions are searched for.

    Attributes
    ----------
    nodes : int
        Number of processed nodes.
    """

    def __init__(self, node_prover: NodeProver, points: int, improve_cutoff: Callable[[Any], float], cutoff: float) -> None:
        self._node_prover, self._points, self._improve_cutoff, self.cutoff = node_prover, points, improve_cutoff, cutoff
        self.nodes = 0
        self._unresolved_bound = math.inf
        self._sequence = 0
        self._heap: list[tuple[float, int, _Node]] = []
        self._current: _Node | None = _Node(0.0, np.full(points, FREE, dtype=np.int8), 0.0, node_prover.empty_active_set())

    @property
    def open_count(self) -> int:
        """The number of open nodes."""
        return len(self._heap) + (self._current is not None)

    @property
    def memory(self) -> float:
        """Approximate bytes of the open nodes: a byte for each point, and an active set that two children share."""
        p = self._node_prover.width
        return float(self.open_count * (self._points + 4 * (p + 2) * (p + 4) + 500))

    @property
    def bound(self) -> float:
        """The proved lower bound of ||w||², in reduced units: the least of the open nodes', or the cutoff without open nodes."""
        bound = min(self.cutoff, self._unresolved_bound)
        if self._current is not None:
            bound = min(bound, self._current.bound)
        return min(bound, self._heap[0][0]) if self._heap else bound

    @property
    def finished(self) -> bool:
        """True if no open node remains."""
        return self._current is None and not self._heap

    @property
    def resolved(self) -> bool:
        """True if rounding left no leaf with a bound below the cutoff unresolved."""
        return self._unresolved_bound >= self.cutoff

    def work(self, seconds: float, nodes: int | None = None) -> None:
        """Search for about ``seconds``, at most until ``nodes`` nodes in all."""
        end = time.perf_counter() + seconds
        while not self.finished and time.perf_counter() < end and (nodes is None or self.nodes < nodes):
            if self._current is None:
                self._current = heapq.heappop(self._heap)[2]
            node = self._current
            children = [] if node.bound >= self.cutoff else self._process(node)
            # dive into the first child; the others stay open
            self._current = children[0] if children else None
            for child in children[1:]:
                self._sequence += 1
                heapq.heappush(self._heap, (child.bound, self._sequence, child))
            if self._heap and self._current is None and self._heap[0][0] >= self.cutoff:
                self._heap.clear()

    def _process(self, node: _Node) -> list[_Node]:
        """Return the children of a node; no children if it holds no solution below the cutoff."""
        from .loops.conflict_proof import PROVED

        self.nodes += 1
        self._node_prover.count_node()
        state, extra, start, bound = node.state.copy(), np.array([node.extra]), clone_active_set(node.start), node.bound
        while True:
            point = self._node_prover.prove(state, extra, start, self.cutoff)
            if point == PROVED:
                return []
            bound = max(bound, self._node_prover.certified_squared_norm(start))
            if point >= 0 and self._node_prover.record.scalars.packed > 0:
                break
            # without a conflict all remaining points can be kept
            previous_cutoff = self.cutoff
            self.cutoff = min(self.cutoff, self._improve_cutoff(state != DELETED))
            if self.cutoff >= previous_cutoff:
                return self._branch_anyway(state, float(extra[0]), bound, start)
        if self.nodes <= _PROBED_NODES:
            bound = self._probe_bound(state, float(extra[0]), bound, start)
        return self._children(state, point, float(extra[0]), bound, start)

    def _probe_bound(self, state: Any, extra: float, bound: float, start: Any) -> float:
        """Return the largest trial norm at which the conflicts need more deletions than the budget allows."""
        from .loops.conflict_proof import PROVED

        if not math.isfinite(self.cutoff):
            return bound
        for share in _TRIALS:
            T = bound + share * (self.cutoff - bound)
            if bound < T and self._node_prover.prove(state.copy(), np.array([extra]), clone_active_set(start), T) == PROVED:
                return T
        return bound

    def _children(self, state: Any, point: int, extra: float, bound: float, start: Any) -> list[_Node]:
        return [_Node(bound, *child, start) for child in self._node_prover.split(state, extra, point)]

    def _branch_anyway(self, state: Any, extra: float, bound: float, start: Any) -> list[_Node]:
        """Branch on any free point where rounding hid the conflict; record a leaf without free points as unresolved."""
        free = np.flatnonzero(state == FREE)
        if free.size == 0:
            self._unresolved_bound = min(self._unresolved_bound, bound)
            return []
        return self._children(state, int(free[0]), extra, bound, start)


@dataclass(eq=False)
class BudgetPoint:
    """A classifier with its number of violated margins and its squared norm."""

    w: FloatArray  #: (p,)
    violated: float  #: number of margins below 1
    norm: float  #: Σ_{penalised} w_j²


@dataclass(eq=False)
class BudgetState:
    """The state of one run: the best points on both sides of k, the lower bound, and the searches in progress."""

    view: ZeroOneBudget  #: the problem
    reduced: ReducedZeroOneProblem  #: the problem with unit weights in reduced coordinates
    polish: HardMarginSolver  #: solver that improves points
    options: Options  #: options of the run
    tol: float  #: relative gap at which the run ends
    rng: np.random.Generator  #: random generator of the λ problems
    max_norm: float  #: largest squared norm of interest
    high: BudgetPoint  #: of the hull's current edge, the end with more than k violations
    best: BudgetPoint | None = None  #: the feasible point of least norm
    lower_bound: float = 0.0  #: proved lower bound of the squared norm
    lam: float = 0.0  #: λ of the current λ problem
    problems: int = 0  #: number of λ problems begun
    hull_done: bool = False  #: whether the Lagrangian search has ended
    inner: ZeroOneState | None = None  #: state of the current λ problem's solver
    search: BudgetSearch | None = None  #: the tree search, once it has begun
    nodes: int = 0  #: nodes of the finished λ problems
    at_checkpoint: bool = True  #: whether the state is at the end of a slice, where it does not depend on the clock
    search_outcome: Outcome | None = None  #: outcome of the search, while its proof is written
    recorder: ConflictLogWriter | None = None  #: writer of a log by a second search, while that search proves the bound again
    logged_bound: float = 0.0  #: bound that the log at the path claims; 0 without one
    next_record_nodes: int = _RECORDED  #: number of nodes after which a pass logs the bound, as a deadline may end the search

    @property
    def searched_nodes(self) -> int:
        """The number of nodes of the λ problems and of the tree search."""
        engine = None if self.inner is None else self.inner.engine
        return self.nodes + (0 if engine is None else engine.nodes) + (0 if self.search is None else self.search.nodes)

    def needs_log(self, outcome: Outcome) -> bool:
        """Return whether a log of the bound is to be written: the search has ended, or its deadline may be near."""
        if outcome is not Outcome.RUNNING:
            return outcome is not Outcome.TIME_LIMIT
        due = self.at_checkpoint and self.searched_nodes >= self.next_record_nodes and self.lower_bound > self.logged_bound
        return due and self.options.time_limit is not None

    def seal(self) -> None:
        """End the log in progress; it replaces the one at the path if it proves a higher bound."""
        recorder = self.recorder
        assert recorder is not None
        self.recorder, self.next_record_nodes = None, _RECORDED_GROWTH * self.searched_nodes
        if self.logged_bound and recorder.provable_bound <= self.logged_bound:
            recorder.discard()
        else:
            self.logged_bound = recorder.finish(None if self.best is None else self.best.w)

    def offer_point(self, w: FloatArray) -> BudgetPoint:
        """Polish w; return the best point found, which becomes `best` if it is feasible and better."""
        view = self.view
        polished = self.polish.solve(self.reduced.rows @ self.reduced.to_reduced(w) >= 1.0 - 1e-7)
        starts = [w] if polished is None else [w, polished]
        candidates = [multiple for start in starts for _, multiple in scale_and_evaluate_all(self.reduced.problem, start)]
        points = [
            BudgetPoint(c, float((view.A @ c < 1.0).sum()), float(c[view.penalised] @ c[view.penalised])) for c in candidates
        ]
        points = [point for point in points if math.isfinite(point.norm)]
        feasible = [point for point in points if point.violated <= view.budget]
        if feasible:
            best = min(feasible, key=lambda point: point.norm)
            if self.best is None or best.norm < self.best.norm:
                self.best = best
            return best
        return min(points, key=lambda point: (point.violated, point.norm))

    def improve_bound(self, bound: float) -> None:
        """Raise the lower bound to ``bound``, less a margin for the rounding of - λk and of the tree's bound."""
        bound = bound - 1e-15 * abs(bound) - 1e-15 * self.lam * self.view.budget
        self.lower_bound = max(self.lower_bound, bound if self.best is None else min(bound, self.best.norm))

    def is_closed(self) -> bool:
        """Return whether the gap is within the tolerance."""
        assert self.best is not None
        return self.best.norm - self.lower_bound <= self.tol * self.best.norm

    def lagrangian_tolerance(self) -> float:
        """Return the tolerance of the λ problem, whose value contains λk, which is not part of the norm."""
        if self.best is None:
            return 1e-3
        value = self.best.norm + self.lam * self.view.budget
        return max(0.3 * self.tol * self.best.norm / value, 1e-10) if self.best.norm > 0 else 1e-6

    def within_node_limit(self, nodes: int) -> int:
        """Return ``nodes``, reduced to what the node limit leaves, at least 1."""
        limit = self.options.node_limit
        return nodes if limit is None else max(min(nodes, limit - self.nodes), 1)

    def is_out_of_nodes(self) -> bool:
        """Return whether the node limit is reached."""
        limit = self.options.node_limit
        return limit is not None and self.searched_nodes >= limit

    def new_tree_search(self) -> BudgetSearch:
        """Return a tree search from the root, in units of the reduced problem with weights of one."""
        reduced = self.reduced
        upper = (self.max_norm if self.best is None else self.best.norm) / reduced.unit
        counts = np.rint(reduced.weights * reduced.unit)
        budget = self.view.budget - round(reduced.constant)

        def current_cutoff() -> float:
            return upper if self.best is None else self.best.norm * (1.0 - 0.9 * self.tol) / reduced.unit

        def improve(keep: FloatArray) -> float:
            w = self.polish.solve(np.asarray(keep, dtype=bool))
            if w is not None:
                self.offer_point(w)
            return current_cutoff()

        node_prover = NodeProver(reduced, upper, counts, self.branching_priorities(), float(budget))
        return BudgetSearch(node_prover, len(counts), improve, current_cutoff())

    def branching_priorities(self) -> FloatArray:
        """Return branching priorities (m,) of the reduced points: their violations by the best point."""
        reduced = self.reduced
        margins = reduced.rows @ reduced.to_reduced(self.high.w if self.best is None else self.best.w)
        return np.maximum(1.0 - margins, 0.0) + 1e-3


#: Least and largest node limit of a λ problem, and the divisor of n³ for the limit between them. At the limit the tree search
#: begins with the current bound. The tree search alone is faster on few points, the Lagrangian search on many.
_LEAST_NODES, _MOST_NODES, _NODE_DIVISOR = 500, 100_000, 500
#: Nodes of the tree search between two checks of the gap.
_SLICE = 20
#: Largest number of λ problems; the tree search takes over if the hull has more edges.
_MAX_PROBLEMS = 60
#: Largest squared norm of a point of interest, in units of 1/(median squared norm of the rows). Beyond it rounding dominates all
#: margins.
_FAR = 1e12


@dataclass(frozen=True, eq=False)
class BudgetBB(Algorithm[ZeroOneBudget, BudgetState]):
    """Exact solver of min Σ_{penalised} w_j² with a_i'w ≥ 1 for all but at most k = ⌊κn⌋ points; `ZeroOneBB` calls it for κ.

    Parameters
    ----------
    solver : ZeroOneBB
        Solver of the λ problems, with the options of the run.
    """

    solver: ZeroOneBB

    single_threaded_blas: ClassVar[bool] = True  # small dense algebra: a second BLAS thread does not pay
    expected_compile_seconds: ClassVar[float] = 8.0
    info: ClassVar[SolverInfo] = SolverInfo(
        name="zero-one-bb",
        summary="exact branch and bound for the 0-1 loss with a budget of violations",
        views=(ZeroOneBudget,),
        gives=frozenset({Gives.BOUND, Gives.TRACE, Gives.WARM_START, Gives.INTERRUPT}),
        tolerance=1e-6,
        reference="docs/explanation/zero-one-bb.md",
    )

    def load(self, view: ZeroOneBudget) -> None:
        """Load the engines of the λ form."""
        self.solver.load(view)

    def init(self, view: ZeroOneBudget, options: Options, rng: np.random.Generator) -> BudgetState:
        """Reduce the points, and try w = 0, b = ±1 and the starting point as incumbents."""
        n, p = view.A.shape
        reduced = reduce_problem(ZeroOneProblem(view.A, np.ones(n), view.penalised))
        length = np.linalg.norm(view.A[:, view.penalised], axis=1)
        median_length = float(np.median(length[length > 0])) if (length > 0).any() else 1.0
        tol = options.tolerance(self.info.tolerance)
        state = BudgetState(
            view,
            reduced,
            HardMarginSolver.of(reduced),
            options,
            tol,
            rng,
            _FAR / median_length**2,
            BudgetPoint(np.zeros(p), float(n), 0.0),
        )
        points = [np.zeros(p)]
        if not view.penalised.all():
            points += [np.where(view.penalised, 0.0, b) for b in (-1.0, 1.0)]
        if options.start is not None and "w" in options.start:
            w = np.asarray(options.start["w"], dtype=np.float64)
            if w.shape != (p,) or not np.isfinite(w).all():
                raise InputError(f"start['w'] must hold {p} finite numbers; it has shape {w.shape}", name="start")
            points.append(w)
        for w in points:
            state.offer_point(w)
        state.lam = 1.0 / median_length**2
        return state

    @property
    def _inner_solver(self) -> ZeroOneBB:
        """The solver of the λ problems, without a proof log, since the log covers the whole problem."""
        return dataclasses.replace(self.solver, proof=None)

    def advance(self, state: BudgetState, seconds: float) -> Outcome:
        """Run a slice of the current λ problem, of the tree search, or of the pass that writes the proof."""
        if state.recorder is None:
            outcome = self._search(state, seconds)
            if self.solver.proof is None or not state.needs_log(outcome):
                return outcome
            state.search_outcome = None if outcome is Outcome.RUNNING else outcome
            state.recorder = self._recorder(self.solver.proof, state, state.lower_bound)
            return Outcome.RUNNING
        recorder = state.recorder
        recorder.work(seconds)
        state.at_checkpoint = recorder.finished
        if recorder.write_error is not None:
            return Outcome.UNWRITTEN
        if state.search_outcome is None and (
            recorder.finished or recorder.nodes > _RECORD_NODES * max(state.searched_nodes, _RECORDED)
        ):
            state.seal()
            return Outcome.RUNNING
        return state.search_outcome if state.search_outcome is not None and recorder.finished else Outcome.RUNNING

    def abandon(self, state: BudgetState) -> None:
        """Discard the logs of a run that failed: no file is written at their paths."""
        if state.recorder is not None:
            state.recorder.discard()
        if state.inner is not None:
            self._inner_solver.abandon(state.inner)

    def _recorder(self, path: str, state: BudgetState, bound: float) -> ConflictLogWriter:
        return ConflictLogWriter(
            path, state.reduced, bound, state.branching_priorities(), state.view.budget, self.solver.proof_gap
        )

    def _search(self, state: BudgetState, seconds: float) -> Outcome:
        if state.at_checkpoint and state.best is not None and state.is_closed():
            return Outcome.CONVERGED
        if not state.hull_done:
            self._search_hull(state, seconds)
            return Outcome.RUNNING
        return self._search_tree(state, seconds)

    def _search_hull(self, state: BudgetState, seconds: float) -> None:
        if state.inner is None:
            state.problems += 1
            n = len(state.view.A)
            problem = ZeroOneProblem(state.view.A, np.full(n, state.lam), state.view.penalised)
            start = None if state.best is None else {"w": state.best.w}
            options = dataclasses.replace(
                state.options,
                tol=state.lagrangian_tolerance(),
                start=start,
                callback=None,
                native={},
                node_limit=state.within_node_limit(int(min(max(n**3 / _NODE_DIVISOR, _LEAST_NODES), _MOST_NODES))),
            )
            state.inner = self._inner_solver.init(problem, options, state.rng)
        outcome = self._inner_solver.advance(state.inner, seconds)
        state.at_checkpoint = state.inner.at_checkpoint
        inner = state.inner.shared
        state.improve_bound(inner.lower_bound - state.lam * state.view.budget)
        if outcome is Outcome.RUNNING:
            return
        state.nodes += self.solver.measure(state.inner).iteration
        state.inner = None
        point = state.offer_point(inner.incumbent.w)
        if outcome is not Outcome.CONVERGED or state.problems >= _MAX_PROBLEMS or state.is_out_of_nodes():
            state.hull_done = True
        elif point.violated > state.view.budget and state.best is None:
            # violations are too cheap: raise λ until they cost more than any norm of interest
            state.hull_done = state.lam > state.max_norm
            state.high = point
            state.lam *= 30.0
        else:
            self._set_next_slope(state, point)

    def _set_next_slope(self, state: BudgetState, point: BudgetPoint) -> None:
        """Set λ to the slope between the points on either side of k; the hull is finished if that slope has been solved."""
        assert state.best is not None
        if point.violated > state.view.budget:
            state.high = point
        drop = state.high.violated - state.best.violated
        slope = (state.best.norm - state.high.norm) / drop if drop > 0 else 0.0
        state.hull_done = not slope > 0 or abs(slope - state.lam) <= 1e-9 * slope
        state.lam = slope

    def _search_tree(self, state: BudgetState, seconds: float) -> Outcome:
        if state.search is None:
            state.search = state.new_tree_search()
        search = state.search
        limit = None if state.options.node_limit is None else state.options.node_limit - state.nodes
        # the end of a slice does not depend on the clock
        slice_end = (search.nodes // _SLICE + 1) * _SLICE
        slice_end = slice_end if limit is None else min(slice_end, limit)
        search.work(seconds, slice_end)
        state.at_checkpoint = search.finished or search.nodes >= slice_end
        if state.at_checkpoint:
            state.improve_bound(state.reduced.original_bound(search.bound) if search.bound > 0 else 0.0)
        if state.at_checkpoint and state.best is not None and state.is_closed():
            return Outcome.CONVERGED
        if search.finished:
            if not search.resolved:
                return Outcome.STALLED
            return Outcome.INFEASIBLE if state.best is None else Outcome.CONVERGED
        memory = state.options.memory_limit
        if state.at_checkpoint and memory is not None and search.memory > memory:
            return Outcome.MEMORY_LIMIT
        return Outcome.NODE_LIMIT if state.is_out_of_nodes() else Outcome.RUNNING

    def measure(self, state: BudgetState) -> ProgressState:
        """Return the best feasible norm, the proved bound and the number of nodes."""
        search = state.search
        return ProgressState(
            iteration=state.searched_nodes,
            objective=math.nan if state.best is None else state.best.norm,
            bound=state.lower_bound,
            active=0 if search is None else search.open_count,
            step=f"lambda {state.lam:.3g}" if search is None else "budget",
            checkpoint=state.at_checkpoint,
        )

    def answer(self, state: BudgetState) -> Answer:
        """Return the best feasible point and the bound; an answer without values if no feasible point is known."""
        best = state.best
        details: dict[str, object] = {"lambda_problems": state.problems, "engine": "budget"}
        values, write_error = None, None
        if best is None:
            details["excluded"] = (
                f"no w with ||w||^2 < {state.lower_bound:.3g} violates at most {count_text(state.view.budget, 'margin')}"
            )
        else:
            violated = state.view.A @ best.w < 1.0
            values = {"w": best.w, "z": violated.astype(np.float64)}
            details |= {"value": best.norm, "violations": int(violated.sum())}
        if self.solver.proof is not None:
            if state.recorder is None and not state.logged_bound:
                state.recorder = self._recorder(self.solver.proof, state, 0.0)
            if (recorder := state.recorder) is not None:
                state.seal()
                details["proof_nodes"], write_error = recorder.nodes, recorder.write_error
            details["proof_bound"] = state.logged_bound
        nodes = self.measure(state).iteration
        log = str(self.solver.proof or "")
        return Answer(
            values=values, bound=state.lower_bound, proved=True, nodes=nodes, write_error=write_error, proof=log, details=details
        )  # fmt: skip
