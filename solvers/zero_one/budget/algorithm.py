"""The cardinality form min ||w||² with at most k margins violated: a Lagrangian search over λ, then a tree search for the gap.

The engines of the λ form solve v(λ) = min ||w||² + λ·(violations) exactly. For every λ, v(λ) - λk is a proved lower bound, and
the solutions are candidates. Bisection on the slopes of the lower convex hull of (violations, norm) ends when k lies on an edge
of the hull. The distance between that edge and the best feasible point is the duality gap, which `budget_search` closes.
"""

from __future__ import annotations

import dataclasses
import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from ....errors import InputError
from ....models.formulations.zero_one.budget import ZeroOneBudget
from ....models.views import ZeroOneProblem
from ...interface.algorithm import Algorithm, Measure, Outcome
from ...interface.solver import Gives, SolverInfo
from ...records.answer import Answer
from ...records.options import Options
from ..incumbent import Polish
from ..proof.conflict_recorder import ConflictRecorder
from ..reduced import reduce_problem
from .state import (
    BudgetState,
    Point,
    budget_search,
    closed,
    improve_bound,
    inner_tolerance,
    nodes_left,
    offer,
    order,
    out_of_nodes,
)

if TYPE_CHECKING:
    from ..algorithm import ZeroOneBB

__all__ = ["BudgetBB", "BudgetState"]

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
    """Exact minimisation of Σ_{penalised} w_j² with a_i'w ≥ 1 for all but at most k points.

    Parameters
    ----------
    solver : ZeroOneBB
        Solver of the λ problems.
    """

    solver: ZeroOneBB

    pooled: ClassVar[bool] = True  # small dense algebra: a second BLAS thread does not pay
    compiling: ClassVar[float] = 8.0
    info: ClassVar[SolverInfo] = SolverInfo(
        name="zero-one-bb",
        summary="exact branch and bound for the 0-1 loss with a budget of violations",
        views=(ZeroOneBudget,),
        gives=frozenset({Gives.BOUND, Gives.TRACE, Gives.WARM_START, Gives.INTERRUPT}),
        tolerance=1e-6,
        reference="docs/zero-one-bb.md",
    )

    def load(self, view: ZeroOneBudget) -> None:
        """Load the engines of the λ form."""
        self.solver.load(view)

    def init(self, view: ZeroOneBudget, options: Options, rng: np.random.Generator) -> BudgetState:
        """Reduce the points and offer w = 0, b = ±1 and the start."""
        n, p = view.A.shape
        reduced = reduce_problem(ZeroOneProblem(view.A, np.ones(n), view.penalised))
        length = np.linalg.norm(view.A[:, view.penalised], axis=1)
        median_length = float(np.median(length[length > 0])) if (length > 0).any() else 1.0
        tol = options.tolerance(self.info.tolerance)
        state = BudgetState(
            view, reduced, Polish.of(reduced), options, tol, rng, _FAR / median_length**2, Point(np.zeros(p), float(n), 0.0)
        )
        points = [np.zeros(p)]
        if not view.penalised.all():
            points += [np.where(view.penalised, 0.0, b) for b in (-1.0, 1.0)]
        if options.start is not None and "w" in options.start:
            w = np.asarray(options.start["w"], dtype=np.float64)
            if w.shape != (p,) or not np.isfinite(w).all():
                raise InputError(f"start['w'] must hold {p} finite numbers; it has shape {w.shape}")
            points.append(w)
        for w in points:
            offer(state, w)
        state.lam = 1.0 / median_length**2
        return state

    @property
    def _inner_solver(self) -> ZeroOneBB:
        """The solver of the λ problems, without a proof log, since the log covers the whole problem."""
        return dataclasses.replace(self.solver, proof=None)

    def advance(self, state: BudgetState, seconds: float) -> Outcome:
        """Run a slice of the current λ problem, of the tree search, or of the pass that writes the proof."""
        if state.ended is None:
            outcome = self._search(state, seconds)
            if self.solver.proof is None or outcome not in (Outcome.CONVERGED, Outcome.INFEASIBLE):
                return outcome
            state.ended = outcome
            state.recorder = self._recorder(self.solver.proof, state, state.lower_bound)
            return Outcome.RUNNING
        assert state.recorder is not None
        state.recorder.work(seconds)
        state.checkpoint = state.recorder.finished
        if state.recorder.fault is not None:
            return Outcome.UNWRITTEN
        return state.ended if state.recorder.finished else Outcome.RUNNING

    def _recorder(self, path: str, state: BudgetState, bound: float) -> ConflictRecorder:
        return ConflictRecorder(path, state.reduced, bound, order(state), state.view.budget, self.solver.proof_gap)

    def _search(self, state: BudgetState, seconds: float) -> Outcome:
        if state.checkpoint and state.best is not None and closed(state):
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
                tol=inner_tolerance(state),
                start=start,
                callback=None,
                native={},
                node_limit=nodes_left(state, int(min(max(n**3 / _NODE_DIVISOR, _LEAST_NODES), _MOST_NODES))),
            )
            state.inner = self._inner_solver.init(problem, options, state.rng)
        outcome = self._inner_solver.advance(state.inner, seconds)
        state.checkpoint = state.inner.checkpoint
        inner = state.inner.shared
        improve_bound(state, inner.lower_bound - state.lam * state.view.budget)
        if outcome is Outcome.RUNNING:
            return
        state.nodes += self.solver.measure(state.inner).iteration
        state.inner = None
        point = offer(state, inner.incumbent.w)
        if outcome is not Outcome.CONVERGED or state.problems >= _MAX_PROBLEMS or out_of_nodes(state):
            state.hull_done = True
        elif point.violated > state.view.budget and state.best is None:
            # violations are too cheap: raise λ until they cost more than any norm of interest
            state.hull_done = state.lam > state.far
            state.high = point
            state.lam *= 30.0
        else:
            self._set_next_slope(state, point)

    def _set_next_slope(self, state: BudgetState, point: Point) -> None:
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
            state.search = budget_search(state)
        search = state.search
        limit = None if state.options.node_limit is None else state.options.node_limit - state.nodes
        # the end of a slice does not depend on the clock
        slice_end = (search.nodes // _SLICE + 1) * _SLICE
        slice_end = slice_end if limit is None else min(slice_end, limit)
        search.work(seconds, slice_end)
        state.checkpoint = search.finished or search.nodes >= slice_end
        if state.checkpoint:
            improve_bound(state, state.reduced.proved(search.bound) if search.bound > 0 else 0.0)
        if state.checkpoint and state.best is not None and closed(state):
            return Outcome.CONVERGED
        if search.finished:
            if not search.resolved:
                return Outcome.STALLED
            return Outcome.INFEASIBLE if state.best is None else Outcome.CONVERGED
        memory = state.options.memory_limit
        if state.checkpoint and memory is not None and search.memory > memory:
            return Outcome.MEMORY_LIMIT
        return Outcome.NODE_LIMIT if out_of_nodes(state) else Outcome.RUNNING

    def measure(self, state: BudgetState) -> Measure:
        """Return best feasible norm, proved bound and nodes."""
        inner = 0 if state.inner is None else self.solver.measure(state.inner).iteration
        search = state.search
        return Measure(
            iteration=state.nodes + inner + (0 if search is None else search.nodes),
            objective=math.nan if state.best is None else state.best.norm,
            bound=state.lower_bound,
            active=0 if search is None else search.open_nodes,
            step=f"lambda {state.lam:.3g}" if search is None else "budget",
            checkpoint=state.checkpoint,
        )

    def answer(self, state: BudgetState) -> Answer:
        """Return the best feasible point, without values if there is none."""
        best = state.best
        details: dict[str, object] = {"lambda_problems": state.problems, "engine": "budget"}
        values, write_error = None, None
        if best is None:
            details["beyond"] = f"no w with ||w||^2 < {state.lower_bound:.3g} violates at most {state.view.budget} margins"
        else:
            violated = state.view.A @ best.w < 1.0
            values = {"w": best.w, "z": violated.astype(np.float64)}
            details |= {"value": best.norm, "violations": int(violated.sum())}
        if self.solver.proof is not None:
            recorder = state.recorder or self._recorder(self.solver.proof, state, 0.0)
            claimed = recorder.finish(None if best is None else best.w)
            details |= {"proof": self.solver.proof, "proof_nodes": recorder.nodes, "proof_bound": claimed}
            write_error = recorder.fault
        nodes = self.measure(state).iteration
        return Answer(values=values, bound=state.lower_bound, proved=True, nodes=nodes, write_error=write_error, details=details)
