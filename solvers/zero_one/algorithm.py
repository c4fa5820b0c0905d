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
from ..parallel.teams import cluster_team
from ..records.answer import Answer, Update, UpdateKind
from ..records.options import Options
from ..records.rank import Purpose
from .engines.engine import Limits, Shared
from .heuristic import Heuristic
from .incumbent import Polish, trivial_incumbent
from .pieces import check_pieces, checkpoint_of, keep, take_up
from .proof.conflict_recorder import ConflictRecorder
from .reduced import for_boxes, reduce_problem
from .smallest import smallest_problem
from .state import ZeroOneState
from .transfer import Earlier, as_earlier, ends_first
from .turns import EngineName, first_engine, incumbents_sought, rested_engine

if TYPE_CHECKING:
    from ...models.model import Model
    from ..judging.result import Result

__all__ = ["ZeroOneBB", "ZeroOneState"]


@dataclass(frozen=True, eq=False)
class ZeroOneBB(Algorithm[ZeroOneProblem, ZeroOneState]):
    """Exact branch and bound for min Σ_{penalised} w_j² + Σ_i λ_i 1{a_i'w < 1}.

    Parameters
    ----------
    engine : {"auto", "boxes", "conflicts"}
        Branching on boxes of w with the hinge relaxation (few features) or on norm-conflicts (more features).
    restarts : int
        Starts of the incumbent heuristic, at most. It takes turns with the search, by counted effort.
    neighbourhoods : int
        Large-neighbourhood rounds beside the conflict engine (they stop early after a third of them without success).
    proof : str, optional
        Path of a proof log that `check_proof` verifies. The box engine writes it as it goes; after the
        conflict engine a second, slower pass proves the bound again.
    proof_gap : float
        The second pass proves, and the log claims, the bound times 1 - ``proof_gap``: the last bit of a bound costs most.
    earlier : sequence of (ZeroOneSVM, Result), optional
        Solved problems with the same columns and other λ, class costs or points: their points are tried as incumbents, and
        their proved bounds are carried over (`solvers.zero_one.transfer`), so that a run may end before it searches.
    cluster : distributed.Client or str, optional
        Subtrees go to the workers of a Dask cluster (a client, or its scheduler's address) or, "ray", of this session's Ray
        cluster. Order and number of nodes depend on timing (the run is not deterministic); what is proved does not.
    checkpoint : str, optional
        Path of a file that keeps the box search: written every minute and when a limit or Ctrl-C ends the run, read if it is
        there, gone when the search is over. With ``proof`` the log so far lies beside it.

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
    pooled: ClassVar[bool] = True  # small dense algebra: a second BLAS thread costs more than it brings
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
        object.__setattr__(self, "earlier", as_earlier(self.earlier))
        check_pieces(self.engine, self.checkpoint)
        if self.proof is not None:
            if not isinstance(self.proof, str | os.PathLike):
                raise InputError(f"proof must be the path of the log to be written; it is {self.proof!r}")
            check_target(self.proof, "the proof log")
        if self.proof is not None and self.earlier:
            raise InputError("a proof log proves its whole bound: give earlier= or proof=, not both (start= is welcome)")

    def run(self, model: Model, options: Options, kept: Kept | None = None) -> Answer:
        """Drive this algorithm; the cardinality form (Σz ≤ κn) has one of its own on top."""
        if model.view(ZeroOneBudget) is None:
            return super().run(model, options, kept)
        from .budget.algorithm import BudgetBB

        solver = replace_parameters(self, options.native)
        if solver.cluster is not None or solver.checkpoint is not None:
            raise InputError("cluster and checkpoint are for the form with a cost for each violation (lam=); kappa= has neither")
        raw = BudgetBB(solver).run(model, dataclasses.replace(options, native={}))
        if raw.values is None or not isinstance(model, ZeroOneSVM):
            return raw
        # big-M rows of the form need a feasible point: this one
        return dataclasses.replace(raw, model=dataclasses.replace(model, incumbent=raw.values["w"]), same_problem=True)

    def path_order(self, parameter: str, values: Sequence[Any]) -> Sequence[int]:
        """Both ends first, then the middle of the longest stretch: what lies between two solved λ may need no search."""
        if parameter != "lam" or not all(isinstance(value, (int, float)) for value in values) or len(values) < 3:
            return range(len(values))
        return ends_first(np.argsort(np.asarray(values, dtype=np.float64), kind="stable").tolist())

    def carried_over(self, solved: Sequence[tuple[Model, Result]]) -> Mapping[str, Any]:
        """The results so far as ``earlier``."""
        known = [Earlier.of(model, result) for model, result in solved if model.view(ZeroOneProblem) is not None]
        return {"earlier": tuple(known)} if known and self.proof is None else {}

    def load(self, view: ZeroOneProblem | ZeroOneBudget) -> None:
        """Compile the engine that begins, or load it from Numba's cache on disk; another one follows where its turn comes."""
        _load_engine(first_engine(self._chosen, min(view.A.shape), self.cluster is not None))

    @property
    def _chosen(self) -> EngineName:
        """A search that a file keeps is one of boxes."""
        return self.engine if self.checkpoint is None else "boxes"

    def init(self, view: ZeroOneProblem, options: Options, rng: np.random.Generator) -> ZeroOneState:
        """Reduce the problem and take the starting points."""
        deadline = np.inf if options.time_limit is None else time.perf_counter() + options.time_limit
        reduced = reduce_problem(view, full=self.proof is not None and self.engine != "conflicts")
        limits = Limits(options.tolerance(self.info.tolerance), options.node_limit, options.memory_limit, deadline)
        keeper = None if self.checkpoint is None else checkpoint_of(self.checkpoint, view, limits.tol)
        stopped = None if keeper is None else keeper.read()
        reduced = reduced if stopped is None else stopped.begun.ground.reduced
        name = first_engine(self._chosen, reduced.rows.shape[1], self.cluster is not None)
        if name == "boxes" and stopped is None:
            reduced = for_boxes(reduced)
        incumbent = trivial_incumbent(reduced)
        shared = Shared(reduced, incumbent, Polish.of(reduced), limits)
        state = ZeroOneState(shared, options, rng, name, keeper=keeper)
        if stopped is not None:
            take_up(state, stopped, self.proof)
        if self.cluster is not None and reduced.rows.size:
            state.team = cluster_team(self.cluster)
        shared.raise_floor(0.0)
        if options.start is not None and "w" in options.start:
            state.take_start(np.asarray(options.start["w"], dtype=np.float64))
        state.take_earlier(view, as_earlier(self.earlier))
        if reduced.rows.shape[0]:
            few = first_engine("auto", reduced.rows.shape[1]) == "boxes"
            state.heuristic = Heuristic(shared, rng, self.restarts, 0 if few else self.neighbourhoods)
        return state

    def advance(self, state: ZeroOneState, seconds: float) -> Outcome:
        """The engine's stretch, and before each stretch the heuristic's steps that are due."""
        try:
            return self._advance(state, seconds)
        except Exception:  # the cluster is gone, say: what the search had is kept
            keep(state)
            if state.team is not None:
                state.team.close()
            raise

    def _advance(self, state: ZeroOneState, seconds: float) -> Outcome:
        end = time.perf_counter() + seconds
        if state.carried > 0.0 and state.shared.closed:
            return Outcome.CONVERGED
        if state.shared.reduced.rows.shape[0] == 0:
            state.shared.raise_floor(0.0)
            return Outcome.CONVERGED
        state.checkpoint = False
        if state.keeper is not None and state.keeper.due:
            keep(state)
        if state.recorder is None:
            if not incumbents_sought(state, end):
                return Outcome.RUNNING
            engine = rested_engine(state, self._chosen, self.proof)
            outcome = engine.work(max(end - time.perf_counter(), 1e-3))
            state.checkpoint = outcome is not Outcome.RUNNING or engine.rested
            if state.writer is not None and state.writer.fault is not None:
                return Outcome.UNWRITTEN
            if self.proof is None or state.writer is not None or outcome is not Outcome.CONVERGED:
                return outcome
            engine.release()  # numbers of slices begin anew
            state.recorder = self._recorder(self.proof, state, state.shared.floor)
        state.recorder.work(max(end - time.perf_counter(), 1e-3))
        state.checkpoint = state.recorder.finished
        if state.recorder.fault is not None:
            return Outcome.UNWRITTEN
        return Outcome.CONVERGED if state.recorder.finished else Outcome.RUNNING

    def _recorder(self, path: str, state: ZeroOneState, bound: float) -> ConflictRecorder:
        return ConflictRecorder(path, state.shared.reduced, bound, state.order, gap=self.proof_gap, team=state.team)

    def measure(self, state: ZeroOneState) -> Measure:
        """Incumbent, proved bound, nodes and open nodes."""
        shared, engine = state.shared, state.engine
        return Measure(
            iteration=0 if engine is None else engine.nodes,
            objective=shared.incumbent.value,
            bound=shared.floor if state.checkpoint else max(shared.floor, shared.glimpse),
            active=0 if engine is None else engine.open_nodes,
            step="start" if engine is None else engine.name,
            checkpoint=state.checkpoint,
        )

    def answer(self, state: ZeroOneState) -> Answer:
        """The incumbent with exactly met margins, and the proved bound."""
        from .engines.boxes import BoxEngine
        from .subtrees.engine import SubtreeEngine

        shared, engine = state.shared, state.engine
        unwritten = keep(state)
        problem, w = shared.reduced.problem, shared.incumbent.w
        z = _violated(problem, w)
        update: Update | None = None
        details: dict[str, object] = {"engine": state.engine_name, "open_nodes": 0, "value": shared.incumbent.value}
        figures = {} if engine is None else engine.figures()
        if engine is not None:
            details |= {"open_nodes": engine.open_nodes, **figures}
        if as_earlier(self.earlier):
            details["carried_bound"] = state.carried
            update = Update(UpdateKind.CLOSED if engine is None and shared.closed else UpdateKind.STARTED)
        if state.team is not None:
            state.team.close()
        if state.writer is not None and isinstance(engine, BoxEngine | SubtreeEngine):
            state.writer.finish(engine.own_bound, w)
            details["proof"], unwritten = self.proof, state.writer.fault
        elif self.proof is not None:
            recorder = state.recorder or self._recorder(self.proof, state, 0.0)
            details |= {"proof": self.proof, "proof_nodes": recorder.nodes, "proof_bound": recorder.finish(w)}
            details |= recorder.figures()
            unwritten = recorder.fault
        return Answer(
            values={"w": w, "z": z},
            bound=self.measure(state).bound,
            proved=True,
            nodes=state.earlier_nodes + (0 if engine is None else engine.nodes),
            update=update,
            unwritten=unwritten,
            whose_word=_workers_word(int(figures.get("workers", 0)), self.proof),
            details=details,
        )


def _workers_word(workers: int, proof: str | None) -> str:
    """Whose word a bound is that a cluster found: a wrong outcome of a slice that is well formed shows in a proof log alone."""
    if not workers:
        return ""
    checked = "check_proof verifies the log without them" if proof is not None else "with proof=path anybody can check it"
    return f"the bound rests on what {workers} worker{'s' * (workers > 1)} sent back: {checked}"


def _violated(problem: ZeroOneProblem, w: FloatArray) -> FloatArray:
    return (problem.A @ w < 1.0).astype(np.float64)


@functools.cache
def _load_engine(engine: Literal["boxes", "conflicts"]) -> None:
    """Solve the smallest problem that is not trivial, so that every compiled loop is there."""
    algorithm = ZeroOneBB(engine=engine, restarts=2, neighbourhoods=2)
    state = algorithm.init(smallest_problem(), Options(threads=1), np.random.default_rng(0))
    for _ in range(100):
        if algorithm.advance(state, 1.0) is not Outcome.RUNNING:
            break
    algorithm.answer(state)
