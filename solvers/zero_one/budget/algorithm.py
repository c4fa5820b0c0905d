"""The cardinality form min ||w||² with at most k margins violated: a Lagrangian search over λ, then a tree search for the rest.

v(λ) = min ||w||² + λ·(violations) is solved exactly by the λ form's engines; v(λ) - λk is a proved lower bound for every λ, and
the points found are candidates. Bisection on the slopes of the lower convex hull of (violations, norm) ends where k lies on an
edge of it. What is left between the edge and the best feasible point is the duality gap; `budget_search` closes it.
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
    inner_tolerance,
    nodes_left,
    offer,
    order,
    out_of_nodes,
    raise_floor,
)

if TYPE_CHECKING:
    from ..algorithm import ZeroOneBB

__all__ = ["BudgetBB", "BudgetState"]

#: Nodes of one λ problem, at least and at most, after which its bound is taken as it is and the tree search begins; between them
#: n³ over this. By trial: on 100 points the tree alone is faster, on 300 only what the multiplier leaves is for the tree.
_FEWEST, _MOST, _CUBE = 500, 100_000, 500
#: Nodes of the tree search after which it is seen whether the gap is closed.
_STRETCH = 20
#: λ problems at most; a hull with more edges between its ends is left to the tree search.
_PROBLEMS = 60
#: Squared norm beyond which no point is looked for, in units of 1/(median squared norm of the rows): there every margin drowns in
#: rounding.
_FAR = 1e12


@dataclass(frozen=True, eq=False)
class BudgetBB(Algorithm[ZeroOneBudget, BudgetState]):
    """Exact: min Σ_{penalised} w_j² with a_i'w ≥ 1 for all but at most k points.

    Parameters
    ----------
    solver : ZeroOneBB
        For the λ problems.
    """

    solver: ZeroOneBB

    pooled: ClassVar[bool] = True  # small dense algebra: a second BLAS thread costs more than it brings
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
        """The λ form's engines."""
        self.solver.load(view)

    def init(self, view: ZeroOneBudget, options: Options, rng: np.random.Generator) -> BudgetState:
        """Reduce the points and offer w = 0, b = ±1 and the start."""
        n, p = view.A.shape
        reduced = reduce_problem(ZeroOneProblem(view.A, np.ones(n), view.penalised))
        length = np.linalg.norm(view.A[:, view.penalised], axis=1)
        typical = float(np.median(length[length > 0])) if (length > 0).any() else 1.0
        tol = options.tolerance(self.info.tolerance)
        state = BudgetState(
            view, reduced, Polish.of(reduced), options, tol, rng, _FAR / typical**2, Point(np.zeros(p), float(n), 0.0)
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
        state.lam = 1.0 / typical**2
        return state

    @property
    def _inner(self) -> ZeroOneBB:
        """For the λ problems: the proof is of the whole."""
        return dataclasses.replace(self.solver, proof=None)

    def advance(self, state: BudgetState, seconds: float) -> Outcome:
        """A slice of the λ problem in hand, of the tree search, or of the pass that writes the proof."""
        if state.ended is None:
            outcome = self._searched(state, seconds)
            if self.solver.proof is None or outcome not in (Outcome.CONVERGED, Outcome.INFEASIBLE):
                return outcome
            state.ended = outcome
            state.recorder = self._recorder(self.solver.proof, state, state.floor)
            return Outcome.RUNNING
        assert state.recorder is not None
        state.recorder.work(seconds)
        state.checkpoint = state.recorder.finished
        if state.recorder.fault is not None:
            return Outcome.UNWRITTEN
        return state.ended if state.recorder.finished else Outcome.RUNNING

    def _recorder(self, path: str, state: BudgetState, bound: float) -> ConflictRecorder:
        return ConflictRecorder(path, state.reduced, bound, order(state), state.view.budget, self.solver.proof_gap)

    def _searched(self, state: BudgetState, seconds: float) -> Outcome:
        if state.checkpoint and state.best is not None and closed(state):
            return Outcome.CONVERGED
        if not state.hull_done:
            self._hull(state, seconds)
            return Outcome.RUNNING
        return self._tree(state, seconds)

    def _hull(self, state: BudgetState, seconds: float) -> None:
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
                node_limit=nodes_left(state, int(min(max(n**3 / _CUBE, _FEWEST), _MOST))),
            )
            state.inner = self._inner.init(problem, options, state.rng)
        outcome = self._inner.advance(state.inner, seconds)
        state.checkpoint = state.inner.checkpoint
        inner = state.inner.shared
        raise_floor(state, inner.floor - state.lam * state.view.budget)
        if outcome is Outcome.RUNNING:
            return
        state.nodes += self.solver.measure(state.inner).iteration
        state.inner = None
        point = offer(state, inner.incumbent.w)
        if outcome is not Outcome.CONVERGED or state.problems >= _PROBLEMS or out_of_nodes(state):
            state.hull_done = True
        elif point.violated > state.view.budget and state.best is None:
            # too cheap: on to a λ at which violations cost more than any norm of interest
            state.hull_done = state.lam > state.far
            state.high = point
            state.lam *= 30.0
        else:
            self._next_slope(state, point)

    def _next_slope(self, state: BudgetState, point: Point) -> None:
        """The slope between the two points on either side of k; over where the problem solved had that slope already."""
        assert state.best is not None
        if point.violated > state.view.budget:
            state.high = point
        drop = state.high.violated - state.best.violated
        slope = (state.best.norm - state.high.norm) / drop if drop > 0 else 0.0
        state.hull_done = not slope > 0 or abs(slope - state.lam) <= 1e-9 * slope
        state.lam = slope

    def _tree(self, state: BudgetState, seconds: float) -> Outcome:
        if state.search is None:
            state.search = budget_search(state)
        search = state.search
        limit = None if state.options.node_limit is None else state.options.node_limit - state.nodes
        # where a stretch ends does not depend on the clock
        stretch = (search.nodes // _STRETCH + 1) * _STRETCH
        stretch = stretch if limit is None else min(stretch, limit)
        search.work(seconds, stretch)
        state.checkpoint = search.finished or search.nodes >= stretch
        if state.checkpoint:
            raise_floor(state, state.reduced.proved(search.bound) if search.bound > 0 else 0.0)
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
        """Best feasible norm, proved bound, nodes."""
        inner = 0 if state.inner is None else self.solver.measure(state.inner).iteration
        search = state.search
        return Measure(
            iteration=state.nodes + inner + (0 if search is None else search.nodes),
            objective=math.nan if state.best is None else state.best.norm,
            bound=state.floor,
            active=0 if search is None else search.open_nodes,
            step=f"lambda {state.lam:.3g}" if search is None else "budget",
            checkpoint=state.checkpoint,
        )

    def answer(self, state: BudgetState) -> Answer:
        """The feasible point of least norm that was found; none where there is none."""
        best = state.best
        details: dict[str, object] = {"lambda_problems": state.problems, "engine": "budget"}
        values, unwritten = None, None
        if best is None:
            details["beyond"] = f"no w with ||w||^2 < {state.floor:.3g} violates at most {state.view.budget} margins"
        else:
            violated = state.view.A @ best.w < 1.0
            values = {"w": best.w, "z": violated.astype(np.float64)}
            details |= {"value": best.norm, "violations": int(violated.sum())}
        if self.solver.proof is not None:
            recorder = state.recorder or self._recorder(self.solver.proof, state, 0.0)
            claimed = recorder.finish(None if best is None else best.w)
            details |= {"proof": self.solver.proof, "proof_nodes": recorder.nodes, "proof_bound": claimed}
            unwritten = recorder.fault
        nodes = self.measure(state).iteration
        return Answer(values=values, bound=state.floor, proved=True, nodes=nodes, unwritten=unwritten, details=details)
