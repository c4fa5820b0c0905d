"""`zero-one-bb`: the exact solver of the 0-1-loss SVM, on the shared driver."""

from __future__ import annotations

import dataclasses
import functools
import os
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Literal

import numpy as np

from ...errors import InputError
from ...files import check_target
from ...models.arrays import FloatArray
from ...models.formulations.zero_one.budget import ZeroOneBudget
from ...models.formulations.zero_one.model import ZeroOneSVM
from ...models.views import ZeroOneProblem
from ..interface.algorithm import Algorithm, Measure, Outcome
from ..interface.kept_model import Kept
from ..interface.native_options import replace_parameters
from ..interface.solver import Gives, SolverInfo
from ..parallel import Cluster
from ..parallel.choose_executor import cluster_executor
from ..records.answer import Answer, Update, UpdateKind
from ..records.options import Options
from ..records.rank import Purpose
from .engines.engine import Limits, SharedState
from .heuristic import Heuristic
from .incumbent import Polish, trivial_incumbent
from .proof.conflict_recorder import ConflictRecorder
from .reduced import for_boxes, reduce_problem
from .resume import check_pieces, checkpoint_of, resume_search, write_checkpoint
from .reuse import SolvedProblem, as_solved_problem, ends_first
from .schedule import EngineName, engine_at_checkpoint, first_engine, heuristic_is_due
from .state import ZeroOneState
from .warm_up_instance import smallest_problem

if TYPE_CHECKING:
    from ...models.model import Model
    from ..certification.result import Result

__all__ = ["ZeroOneBB", "ZeroOneState"]


@dataclass(frozen=True, eq=False)
class ZeroOneBB(Algorithm[ZeroOneProblem, ZeroOneState]):
    """Exact branch and bound for min Σ_{penalised} w_j² + Σ_i λ_i 1{a_i'w < 1}.

    Parameters
    ----------
    engine : {"auto", "boxes", "conflicts"}
        Branching on boxes of w with the hinge relaxation (few features) or on norm-conflicts (more features).
    restarts : int
        Maximum number of starts of the primal heuristic, which alternates with the search by counted effort.
    neighbourhoods : int
        Maximum number of large neighbourhoods beside the conflict engine; a third of them without success ends them.
    proof : str, optional
        Path of a proof log that `check_proof` verifies. The box engine writes it during the search. After the conflict
        engine a second, slower pass proves the bound again.
    proof_gap : float
        The second pass proves, and the log claims, the bound times 1 - ``proof_gap``: the last part of a bound costs most.
    earlier : sequence of (ZeroOneSVM, Result), optional
        Solved problems with the same columns and other λ, class costs or points. Their solutions are tried as incumbents, and
        their proved bounds yield a lower bound (`solvers.zero_one.reuse`), so that a run may end before the search.
    cluster : distributed.Client or str, optional
        Distribute subtrees to the workers of a Dask cluster (a client, or its scheduler's address) or, with "ray", of this
        session's Ray cluster. The order and number of nodes depend on timing (the run is not deterministic); the validity of
        the bound does not.
    checkpoint : str, optional
        Path of a file that saves the box search: written every minute and when a limit or Ctrl-C ends the run, read if it
        exists, removed when the search is finished. With ``proof`` the unfinished log lies beside it.

    Notes
    -----
    The bound is proved: every pruning step is valid in floating-point arithmetic (``docs/zero-one-bb.md``).
    """

    engine: EngineName = "auto"
    restarts: int = 60
    neighbourhoods: int = 60
    proof: str | None = None
    proof_gap: float = 0.0
    earlier: object = ()
    cluster: Cluster = None
    checkpoint: str | None = None

    variants: ClassVar[Sequence[Mapping[str, Any]]] = ({"engine": "boxes"}, {"engine": "conflicts"})
    pooled: ClassVar[bool] = True  # small dense algebra: a second BLAS thread does not pay
    compiling: ClassVar[float] = 8.0
    info: ClassVar[SolverInfo] = SolverInfo(
        name="zero-one-bb",
        rank={Purpose.STRUCTURE: 1},
        summary="exact branch and bound for the 0-1 loss: boxes with hinge relaxations, or norm-conflicts",
        views=(ZeroOneProblem, ZeroOneBudget),
        gives=frozenset({Gives.BOUND, Gives.TRACE, Gives.WARM_START, Gives.INTERRUPT}),
        tolerance=1e-6,
        reference="docs/zero-one-bb.md",
    )

    def __post_init__(self) -> None:
        if self.engine not in ("auto", "boxes", "conflicts"):
            raise InputError(f"engine must be 'auto', 'boxes' or 'conflicts'; it is {self.engine!r}")
        if not isinstance(self.restarts, int) or self.restarts < 0:
            raise InputError(f"restarts must be an integer ≥ 0; it is {self.restarts!r}")
        if not isinstance(self.proof_gap, (int, float)) or not 0.0 <= self.proof_gap < 1.0:
            raise InputError(
                f"proof_gap must be a number in [0, 1), the share of the bound not to be proved; it is {self.proof_gap!r}"
            )
        object.__setattr__(self, "earlier", as_solved_problem(self.earlier))
        check_pieces(self.engine, self.checkpoint)
        if self.proof is not None:
            if not isinstance(self.proof, str | os.PathLike):
                raise InputError(f"proof must be the path of the log to be written; it is {self.proof!r}")
            check_target(self.proof, "the proof log")
        if self.proof is not None and self.earlier:
            raise InputError("a proof log proves its whole bound: give earlier= or proof=, not both (start= is welcome)")

    def run(self, model: Model, options: Options, kept: Kept | None = None) -> Answer:
        """Run this algorithm, or the budget algorithm for the cardinality form (Σz ≤ κn)."""
        if model.view(ZeroOneBudget) is None:
            return super().run(model, options, kept)
        from .budget.algorithm import BudgetBB

        solver = replace_parameters(self, options.native)
        if solver.cluster is not None or solver.checkpoint is not None:
            raise InputError("cluster and checkpoint are for the form with a cost for each violation (lam=); kappa= has neither")
        raw = BudgetBB(solver).run(model, dataclasses.replace(options, native={}))
        if raw.values is None or not isinstance(model, ZeroOneSVM):
            return raw
        # the big-M rows of this form are valid relative to a feasible point
        return dataclasses.replace(raw, model=dataclasses.replace(model, incumbent=raw.values["w"]), same_problem=True)

    def path_order(self, parameter: str, values: Sequence[Any]) -> Sequence[int]:
        """Return the order in which to solve a path of λ: both ends, then the middle of the longest gap.

        A λ between two solved ones may need no search.
        """
        if parameter != "lam" or not all(isinstance(value, (int, float)) for value in values) or len(values) < 3:
            return range(len(values))
        return ends_first(np.argsort(np.asarray(values, dtype=np.float64), kind="stable").tolist())

    def carried_over(self, solved: Sequence[tuple[Model, Result]]) -> Mapping[str, Any]:
        """Return the solved problems as the option ``earlier``."""
        known = [SolvedProblem.of(model, result) for model, result in solved if model.view(ZeroOneProblem) is not None]
        return {"earlier": tuple(known)} if known and self.proof is None else {}

    def load(self, view: ZeroOneProblem | ZeroOneBudget) -> None:
        """Compile the first engine, or load it from Numba's cache on disk; a later engine is compiled at its first turn."""
        _load_engine(first_engine(self._engine_option, min(view.A.shape), self.cluster is not None))

    @property
    def _engine_option(self) -> EngineName:
        """The option ``engine``; with a checkpoint always boxes."""
        return self.engine if self.checkpoint is None else "boxes"

    def init(self, view: ZeroOneProblem, options: Options, rng: np.random.Generator) -> ZeroOneState:
        """Reduce the problem and evaluate the starting points."""
        deadline = np.inf if options.time_limit is None else time.perf_counter() + options.time_limit
        reduced = reduce_problem(view, full=self.proof is not None and self.engine != "conflicts")
        limits = Limits(options.tolerance(self.info.tolerance), options.node_limit, options.memory_limit, deadline)
        checkpoint = None if self.checkpoint is None else checkpoint_of(self.checkpoint, view, limits.tol)
        stopped = None if checkpoint is None else checkpoint.read()
        reduced = reduced if stopped is None else stopped.begun.ground.reduced
        engine_name = first_engine(self._engine_option, reduced.rows.shape[1], self.cluster is not None)
        if engine_name == "boxes" and stopped is None:
            reduced = for_boxes(reduced)
        incumbent = trivial_incumbent(reduced)
        shared = SharedState(reduced, incumbent, Polish.of(reduced), limits)
        state = ZeroOneState(shared, options, rng, engine_name, keeper=checkpoint)
        if stopped is not None:
            resume_search(state, stopped, self.proof)
        if self.cluster is not None and reduced.rows.size:
            state.team = cluster_executor(self.cluster)
        shared.improve_bound(0.0)
        if options.start is not None and "w" in options.start:
            state.take_start(np.asarray(options.start["w"], dtype=np.float64))
        state.take_earlier(view, as_solved_problem(self.earlier))
        if reduced.rows.shape[0]:
            boxes_first = first_engine("auto", reduced.rows.shape[1]) == "boxes"
            state.heuristic = Heuristic(shared, rng, self.restarts, 0 if boxes_first else self.neighbourhoods)
        return state

    def advance(self, state: ZeroOneState, seconds: float) -> Outcome:
        """Run the due steps of the heuristic and then the engine for about ``seconds``."""
        try:
            return self._advance(state, seconds)
        except Exception:  # such as a lost cluster: save the search
            write_checkpoint(state)
            if state.team is not None:
                state.team.close()
            raise

    def _advance(self, state: ZeroOneState, seconds: float) -> Outcome:
        end = time.perf_counter() + seconds
        if state.carried > 0.0 and state.shared.closed:
            return Outcome.CONVERGED
        if state.shared.reduced.rows.shape[0] == 0:
            state.shared.improve_bound(0.0)
            return Outcome.CONVERGED
        state.checkpoint = False
        if state.keeper is not None and state.keeper.due:
            write_checkpoint(state)
        if state.recorder is None:
            if not heuristic_is_due(state, end):
                return Outcome.RUNNING
            engine = engine_at_checkpoint(state, self._engine_option, self.proof)
            outcome = engine.work(max(end - time.perf_counter(), 1e-3))
            state.checkpoint = outcome is not Outcome.RUNNING or engine.at_checkpoint
            if state.writer is not None and state.writer.fault is not None:
                return Outcome.UNWRITTEN
            if self.proof is None or state.writer is not None or outcome is not Outcome.CONVERGED:
                return outcome
            engine.release()  # the proof numbers its subproblems from 1
            state.recorder = self._recorder(self.proof, state, state.shared.lower_bound)
        state.recorder.work(max(end - time.perf_counter(), 1e-3))
        state.checkpoint = state.recorder.finished
        if state.recorder.fault is not None:
            return Outcome.UNWRITTEN
        return Outcome.CONVERGED if state.recorder.finished else Outcome.RUNNING

    def _recorder(self, path: str, state: ZeroOneState, bound: float) -> ConflictRecorder:
        return ConflictRecorder(path, state.shared.reduced, bound, state.order, gap=self.proof_gap, team=state.team)

    def measure(self, state: ZeroOneState) -> Measure:
        """Return incumbent, proved bound, nodes and open nodes."""
        shared, engine = state.shared, state.engine
        return Measure(
            iteration=0 if engine is None else engine.nodes,
            objective=shared.incumbent.value,
            bound=shared.lower_bound if state.checkpoint else max(shared.lower_bound, shared.provisional_bound),
            active=0 if engine is None else engine.open_nodes,
            step="start" if engine is None else engine.name,
            checkpoint=state.checkpoint,
        )

    def answer(self, state: ZeroOneState) -> Answer:
        """Return the incumbent with exactly satisfied margins, and the proved bound."""
        from .distributed.engine import SubtreeEngine
        from .engines.boxes import BoxEngine

        shared, engine = state.shared, state.engine
        write_error = write_checkpoint(state)
        problem, w = shared.reduced.problem, shared.incumbent.w
        z = _violations(problem, w)
        update: Update | None = None
        details: dict[str, object] = {"engine": state.engine_name, "open_nodes": 0, "value": shared.incumbent.value}
        figures = {} if engine is None else engine.figures()
        if engine is not None:
            details |= {"open_nodes": engine.open_nodes, **figures}
        if as_solved_problem(self.earlier):
            details["carried_bound"] = state.carried
            update = Update(UpdateKind.CLOSED if engine is None and shared.closed else UpdateKind.STARTED)
        if state.team is not None:
            state.team.close()
        if state.writer is not None and isinstance(engine, BoxEngine | SubtreeEngine):
            state.writer.finish(engine.own_bound, w)
            details["proof"], write_error = self.proof, state.writer.fault
        elif self.proof is not None:
            recorder = state.recorder or self._recorder(self.proof, state, 0.0)
            details |= {"proof": self.proof, "proof_nodes": recorder.nodes, "proof_bound": recorder.finish(w)}
            details |= recorder.figures()
            write_error = recorder.fault
        return Answer(
            values={"w": w, "z": z},
            bound=self.measure(state).bound,
            proved=True,
            nodes=state.earlier_nodes + (0 if engine is None else engine.nodes),
            update=update,
            write_error=write_error,
            bound_caveat=_bound_caveat(int(figures.get("workers", 0)), self.proof),
            details=details,
        )


def _bound_caveat(workers: int, proof: str | None) -> str:
    """Return the caveat for a bound found by remote workers. Only a proof log exposes a worker that returned a wrong result."""
    if not workers:
        return ""
    advice = "check_proof verifies the log without them" if proof is not None else "with proof=path anybody can check it"
    return f"the bound rests on what {workers} worker{'s' * (workers > 1)} sent back: {advice}"


def _violations(problem: ZeroOneProblem, w: FloatArray) -> FloatArray:
    return (problem.A @ w < 1.0).astype(np.float64)


@functools.cache
def _load_engine(engine: Literal["boxes", "conflicts"]) -> None:
    """Solve the warm-up instance, so that all compiled kernels of the engine are loaded."""
    algorithm = ZeroOneBB(engine=engine, restarts=2, neighbourhoods=2)
    state = algorithm.init(smallest_problem(), Options(threads=1), np.random.default_rng(0))
    for _ in range(100):
        if algorithm.advance(state, 1.0) is not Outcome.RUNNING:
            break
    algorithm.answer(state)
