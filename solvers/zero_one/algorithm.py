"""The algorithm class of `zero-one-bb`, the exact solver of the 0-1-loss SVM: it schedules heuristic, engines and proof logs.

The problem is min Σ_{penalised} w_j² + Σ_i λ_i 1{a_i'w < 1}, a_i = y_i x_i. The driver of all algorithms
(`solvers.interface.algorithm`) calls `ZeroOneBB.advance` for some seconds at a time. `ZeroOneBB` chooses the *engine*: a tree
search over boxes of w, or on norm-conflicts (sets of points of which no w below the cutoff keeps all), or a portfolio of both. An
engine works in *slices* of a number of nodes, between which the primal heuristic runs. *Effort* is work counted by operations,
about nanoseconds, by which engines take turns, so that runs repeat. A proof log *cites* the logs of other problems if its bound
follows from theirs.
"""

from __future__ import annotations

import dataclasses
import functools
import math
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar, Literal, TypeAlias

import numpy as np

from ...errors import DataError, InputError, WriteError, short_text
from ...models.arrays import FloatArray, as_integer
from ...models.formulations.margin_violations import ZeroOneBudget
from ...models.formulations.zero_one import ZeroOneSVM
from ...models.views import ZeroOneProblem
from ..exact.checkpoint import CheckpointContent, open_log_file
from ..exact.dispatcher import bound_caveat
from ..exact.log_file import LogPosition
from ..exact.options import Limits, check_path, solved_pairs
from ..interface.algorithm import Algorithm, Outcome
from ..interface.recorder import ProgressState
from ..interface.solver import Gives, KeptModel, Purpose, SolverInfo
from ..parallel import Cluster, cluster_executor
from ..parallel.executor import AsynchronousExecutor
from ..records import Answer, Options, Update, UpdateKind
from .box_log import BoxLogWriter, write_citing_log
from .check.checker import ZeroOneChecker
from .conflict_log import ConflictLogWriter
from .engine import Engine, SharedState
from .heuristic import Heuristic
from .incumbent import HardMarginSolver, trivial_incumbent
from .reduced import reduce_problem, rotate_for_boxes, warm_up_problem
from .reuse import SolvedProblem, TransferredBound, ends_first, transferred_bound

if TYPE_CHECKING:
    from ...models.model import Model
    from ..certification.result import Result
    from .box_engine import BoxEngine, BoxSearchCheckpoint, StoppedBoxSearch
    from .distributed_boxes import DistributedBoxEngine

#: Effort of the conflict engine, about nanoseconds, from which a proof log of the bound so far is written before a deadline may
#: end the search, and the growth of the effort between two such logs.
_FIRST_LOG_EFFORT, _LOG_EFFORT_GROWTH = 2e8, 4.0


@dataclass(eq=False)
class ZeroOneState:
    """The state of one run: heuristic, engine, log writers, checkpoint and counters."""

    shared: SharedState  #: problem, incumbent, limits and bound, which heuristic and engines share
    options: Options  #: options of the run
    rng: np.random.Generator  #: random generator of the heuristic
    engine_name: str  #: "boxes" or "conflicts": the engine that begins
    heuristic: Heuristic | None = None  #: None if no a_i differs from 0
    engine: Engine | None = None  #: None before the first slice
    earlier_nodes: int = 0  #: nodes of engines that have been replaced, and of the search before a checkpoint
    earlier_effort: float = 0.0  #: effort of engines that have been replaced
    writer: BoxLogWriter | None = None  #: writer of the box engine's log, during the search
    recorder: ConflictLogWriter | None = None  #: writer of a log by a second search, while that search proves the bound again
    search_outcome: Outcome | None = None  #: outcome of the search, while its proof is written
    logged_bound: float = 0.0  #: bound that the log at the path claims; 0 without one
    next_record_effort: float = _FIRST_LOG_EFFORT  #: effort of the engine from which the next log of its bound is written
    transferred_bound: float = 0.0  #: lower bound that earlier problems imply
    #: shares of the earlier problems in ``transferred_bound``
    transfer: TransferredBound = field(default_factory=TransferredBound)
    next_heuristic: int = 0  #: node count of the engine at which the heuristic runs again
    checkpoint_file: BoxSearchCheckpoint | None = None  #: None without a checkpoint
    stopped: StoppedBoxSearch | None = None  #: the saved search, until it continues
    executor: AsynchronousExecutor | None = None  #: remote workers; None without a cluster
    at_checkpoint: bool = True  #: whether the state is at the end of a slice, where it does not depend on the clock

    @property
    def hinge_violations(self) -> FloatArray:
        """Hinge loss of every point (m,), equal points counted once: the conflict engine's branching priorities."""
        return np.ones(len(self.shared.reduced.weights)) if self.heuristic is None else self.heuristic.hinge_violations

    @property
    def logging_engine(self) -> BoxEngine | DistributedBoxEngine | None:
        """The box search whose log is written, alone or as the first engine of a portfolio; None without one."""
        from .box_engine import BoxEngine
        from .distributed_boxes import DistributedBoxEngine
        from .engine import Portfolio

        first = self.engine.first if isinstance(self.engine, Portfolio) else self.engine
        return first if self.writer is not None and isinstance(first, BoxEngine | DistributedBoxEngine) else None

    @property
    def log_closes_gap(self) -> bool:
        """True if, in a converged run, the log of the box search or cited logs prove that the gap is within the tolerance."""
        if self._closed_at(self.transferred_bound):
            return True
        engine = self.logging_engine
        if engine is None or engine is self.engine:
            return engine is not None
        return self._closed_at(engine.own_bound)

    def _closed_at(self, bound: float) -> bool:
        value = self.shared.incumbent.value
        return bound > 0.0 and value - bound <= self.shared.limits.tol * value

    @property
    def cited_bound_is_best(self) -> bool:
        """True if cited logs prove a higher bound than every other log of this run."""
        engine = self.logging_engine
        recorded = max(self.logged_bound, 0.0 if self.recorder is None else self.recorder.provable_bound)
        return self.transferred_bound > max(recorded, 0.0 if engine is None else engine.own_bound)

    def needs_log(self, outcome: Outcome) -> bool:
        """Return whether a second pass is to log the bound now: the search has ended before its deadline, or may be ended by it.

        With a deadline and without workers, a bound of the conflict engine is logged each time that the effort has grown by
        `_LOG_EFFORT_GROWTH`.
        """
        engine = self.engine
        if outcome is Outcome.CONVERGED:
            return not self.log_closes_gap
        if self.logging_engine is not None or outcome is Outcome.TIME_LIMIT or not self.shared.lower_bound > self.logged_bound:
            return False
        if outcome is not Outcome.RUNNING:
            return True
        due = engine is not None and self.earlier_effort + engine.effort >= self.next_record_effort
        return due and self.executor is None and math.isfinite(self.shared.limits.deadline)

    def seal(self) -> WriteError | None:
        """End the recorder's log, which replaces the one at the path if it proves more; return an error of writing, or None."""
        recorder, engine = self.recorder, self.engine
        assert recorder is not None
        self.recorder, write_error = None, recorder.write_error
        self.next_record_effort = _LOG_EFFORT_GROWTH * (self.earlier_effort + (0.0 if engine is None else engine.effort))
        if self.logged_bound and recorder.provable_bound <= self.logged_bound:
            recorder.discard()
            return write_error
        self.logged_bound = recorder.finish(self.shared.incumbent.w)
        return recorder.write_error

    def offer_start(self, w: FloatArray) -> None:
        """Offer a starting point (p,), and the polished point, to the incumbent; raise InputError if it is no finite vector."""
        reduced = self.shared.reduced
        p = reduced.T.shape[0]
        if w.shape != (p,) or not np.isfinite(w).all():
            raise InputError(f"start['w'] must hold {p} finite numbers; it has shape {w.shape}", name="start")
        self.shared.incumbent.offer(reduced, w)
        self.shared.polish.improve(self.shared.incumbent, reduced.to_reduced(w))

    def use_earlier(self, view: ZeroOneProblem, earlier: Sequence[SolvedProblem], logged: bool) -> None:
        """Offer the solutions of earlier problems to the incumbent, and raise the lower bound to the one that they imply.

        With ``logged`` only the bounds that proof logs claim count.
        """
        if not earlier:
            return
        self.transfer = transferred_bound(view, [item.with_logged_bound() for item in earlier] if logged else earlier)
        for item in earlier:
            if item.w is not None:
                self.offer_start(item.w)
        self.shared.lower_bound = max(self.shared.lower_bound, min(self.transfer.bound, self.shared.incumbent.value))
        self.transferred_bound = self.shared.lower_bound


def _resume_search(state: ZeroOneState, stopped: StoppedBoxSearch) -> None:
    """Restore incumbent, bound and counters from the search that a checkpoint holds."""
    shared = state.shared
    shared.incumbent.offer(shared.reduced, stopped.w)
    if shared.upper > stopped.snapshot.search_data.upper:
        raise DataError("the checkpoint's incumbent is worse than the one that its search began with")
    shared.lower_bound, state.earlier_nodes, state.stopped = stopped.lower_bound, stopped.nodes, stopped


def _resumable_engine(state: ZeroOneState, threads: int, proof: str | None) -> Engine:
    """Return the engine of a search with a checkpoint or remote workers: boxes, or conflicts with workers."""
    from .box_engine import BoxEngine
    from .distributed_boxes import DistributedBoxEngine
    from .distributed_conflicts import DistributedConflictEngine

    shared, stopped = state.shared, state.stopped
    state.stopped = None
    if stopped is None:
        shared.reduced = shared.reduced.with_intercept_scale(shared.upper)
    shared.polish = HardMarginSolver.of(shared.reduced)
    if state.executor is not None and state.engine_name == "conflicts":
        return DistributedConflictEngine(shared, state.hinge_violations, state.executor)
    if proof is not None:
        state.writer = _writer(state, stopped, proof)
    local_threads = 1 if state.executor is not None else threads
    local_engine = BoxEngine(shared, local_threads, state.writer, None if stopped is None else stopped.snapshot)
    return local_engine if state.executor is None else DistributedBoxEngine(shared, local_engine, state.executor, state.writer)


def _writer(state: ZeroOneState, stopped: StoppedBoxSearch | None, proof: str) -> BoxLogWriter:
    """Return the writer of the log of a new tree, or of one that continues from a checkpoint."""
    if state.writer is not None:
        state.writer.discard()
    position = None if stopped is None else stopped.log
    if position is None:
        state.earlier_nodes = 0  # the log covers the nodes of this tree only
    return BoxLogWriter(open_log_file(proof, state.checkpoint_file, position), state.shared.reduced)


def write_checkpoint(state: ZeroOneState) -> WriteError | None:
    """Write the checkpoint, or remove it after a finished search; return the error of an unwritable file."""
    from .box_engine import BoxEngine
    from .distributed_boxes import DistributedBoxEngine

    checkpoint, engine, shared = state.checkpoint_file, state.engine, state.shared
    if checkpoint is None or not isinstance(engine, BoxEngine | DistributedBoxEngine):
        return None

    def content(position: LogPosition | None) -> CheckpointContent:
        return checkpoint.content(shared, engine.snapshot, state.earlier_nodes + engine.nodes, position)

    return checkpoint.update(shared.gap_closed or not engine.open_count, state.writer, content)


#: Choice of the engine: "auto" chooses by the number of coordinates.
EngineName: TypeAlias = Literal["auto", "boxes", "conflicts"]

#: Number of reduced coordinates, intercept included, up to which the box engine comes first: above it conflicts are faster.
_BOX_COORDINATES = 6
#: The same on a cluster, where there is no portfolio.
_CLUSTER_COORDINATES = 9
#: Number of coordinates up to which the conflict engine, which comes first above `_BOX_COORDINATES`, shares with the box engine.
_PORTFOLIO_COORDINATES = 10
#: Nodes before the heuristic first runs again; later intervals grow by half.
HEURISTIC_INTERVAL = 20_000
#: Effort of the box engine (of the conflict engine), about nanoseconds, before the other engine joins.
BOX_HEAD_START, CONFLICT_HEAD_START = 2e9, 3e8
#: Effort of the heuristic before the engine begins, about nanoseconds, and per unit of the engine's effort. The incumbent
#: determines the passes of the conflict engine, so a good one matters more there; the box engine hardly depends on it.
_BESIDE_BOXES, _BESIDE_CONFLICTS = (1e6, 1.0), (3e7, 2.0)


def _first_engine(engine: EngineName, coordinates: int, cluster: bool = False) -> Literal["boxes", "conflicts"]:
    """Return the engine that begins: the chosen one, or for "auto" the default at this number of coordinates."""
    if engine != "auto":
        return engine
    return "boxes" if coordinates <= (_CLUSTER_COORDINATES if cluster else _BOX_COORDINATES) else "conflicts"


def _run_due_heuristic(state: ZeroOneState, end: float) -> bool:
    """Run the due steps of the heuristic until the time ``end``; return whether the engine is next."""
    heuristic, engine = state.heuristic, state.engine
    if heuristic is None or (engine is not None and not engine.at_checkpoint):
        return True
    initial_effort, ratio = _BESIDE_BOXES if state.engine_name == "boxes" else _BESIDE_CONFLICTS
    engine_effort = state.earlier_effort + (0.0 if engine is None else engine.effort)
    while heuristic.is_due(initial_effort + ratio * engine_effort, engine_effort):
        heuristic.step()
        if engine is not None:
            engine.exchange()
        if time.perf_counter() >= end:
            return False
    return True


def _engine_at_checkpoint(state: ZeroOneState, chosen: EngineName, proof: str | None) -> Engine:
    """Return the engine for the next slice; between slices an engine may be replaced and the heuristic run again."""
    engine = state.engine
    if engine is not None and not engine.at_checkpoint:
        return engine
    if engine is None or engine.needs_restart:
        if engine is not None:
            engine.release()
            state.earlier_nodes += engine.nodes
            state.earlier_effort += engine.effort
        engine = state.engine = _create_engine(state, chosen, proof)
        state.next_heuristic = HEURISTIC_INTERVAL
    if engine.nodes >= state.next_heuristic:
        assert state.heuristic is not None
        # the box engine compiles no conflict kernels before they are needed
        state.heuristic.run_between_slices(state.engine_name == "conflicts" or engine.effort >= BOX_HEAD_START)
        state.next_heuristic = engine.nodes * 3 // 2 + HEURISTIC_INTERVAL
    engine.begin_slice()
    return engine


def _create_engine(state: ZeroOneState, chosen: EngineName, proof: str | None) -> Engine:
    import joblib

    from .box_engine import BoxEngine
    from .conflict_engine import ConflictEngine
    from .engine import Portfolio

    shared = state.shared
    threads = state.options.threads or joblib.cpu_count()
    if state.executor is not None or state.checkpoint_file is not None:
        return _resumable_engine(state, threads, proof)
    shared.reduced = shared.reduced.with_intercept_scale(shared.upper)
    shared.polish = HardMarginSolver.of(shared.reduced)
    if state.engine_name == "boxes":
        if proof is not None:
            state.writer = _writer(state, None, proof)
        first = BoxEngine(shared, threads, state.writer)
        if chosen == "boxes":
            return first
        return Portfolio(shared, first, lambda: ConflictEngine(shared, state.hinge_violations, threads), BOX_HEAD_START)
    if chosen == "conflicts" or shared.reduced.rows.shape[1] > _PORTFOLIO_COORDINATES:
        return ConflictEngine(shared, state.hinge_violations, threads)
    conflicts = ConflictEngine(shared, state.hinge_violations, threads)

    def boxes() -> BoxEngine:
        """Return the box engine in rotated coordinates. A bound of either engine loses the larger δ of both reductions."""
        rotated = rotate_for_boxes(shared.reduced)
        shared.reduced = dataclasses.replace(shared.reduced, shrink=max(rotated.shrink, shared.reduced.shrink))
        return BoxEngine(shared, threads, reduced_problem=rotated)

    return Portfolio(shared, conflicts, boxes, CONFLICT_HEAD_START)


@dataclass(frozen=True, eq=False)
class ZeroOneBB(Algorithm[ZeroOneProblem, ZeroOneState]):
    """Exact solver of min Σ_{penalised} w_j² + Σ_i λ_i 1{a_i'w < 1}, a_i = y_i x_i, by branch and bound.

    Parameters
    ----------
    engine : {"auto", "boxes", "conflicts"}
        Branching on boxes of w with the hinge relaxation (few features) or on norm-conflicts (more features).
    restarts : int
        Maximum number of starts of the primal heuristic, which alternates with the search by counted effort.
    neighbourhoods : int
        Maximum number of large neighbourhoods of the incumbent that the heuristic searches where there are more than six
        coordinates; a third of them in a row without success ends them.
    proof : str, optional
        Path of a proof log that `check_proof` verifies. The box engine writes it during the search. Where the conflict engine
        closes the gap, a second, slower pass proves the bound again. The choice of the engines is the same without a log.
    proof_gap : float
        The second pass proves, and the log claims, the bound times 1 - ``proof_gap``: the last part of a bound costs most.
    earlier : sequence of (ZeroOneSVM, Result), optional
        Solved problems with the same columns and other λ, class costs or points; a path of a proof log may stand for the result.
        Their solutions are tried as incumbents. Bounds that this process has certified, or whose log is valid, yield a lower
        bound (`solvers.zero_one.reuse`), so that a run may end before the search. With ``proof`` only the bounds of their logs
        count, which the new log cites by digest.
    cluster : distributed.Client or str, optional
        Distribute subtrees to the workers of a Dask cluster (a client, or its scheduler's address) or, with "ray", of this
        session's Ray cluster. The order and number of nodes depend on timing (the run is not deterministic); the validity of
        the bound does not.
    checkpoint : str, optional
        Path of a file that saves the box search: written every minute and when a limit or Ctrl-C ends the run, read if it
        exists, removed when the search is finished. With ``proof`` the unfinished log lies beside it.

    Notes
    -----
    The bound is proved: every pruning step is valid in floating-point arithmetic (``docs/explanation/zero-one-bb.md``).
    """

    engine: EngineName = "auto"
    restarts: int = 60
    neighbourhoods: int = 60
    proof: str | None = None
    proof_gap: float = 0.0
    earlier: object = ()
    cluster: Cluster = None
    checkpoint: str | None = None

    compiled_variants: ClassVar[Sequence[Mapping[str, Any]]] = ({"engine": "boxes"}, {"engine": "conflicts"})
    single_threaded_blas: ClassVar[bool] = True  # small dense algebra: a second BLAS thread does not pay
    expected_compile_seconds: ClassVar[float] = 8.0
    checker: ClassVar[ZeroOneChecker] = ZeroOneChecker()
    info: ClassVar[SolverInfo] = SolverInfo(
        name="zero-one-bb",
        rank={Purpose.STRUCTURE: 1},
        summary="exact branch and bound for the 0-1 loss: boxes with hinge relaxations, or norm-conflicts",
        views=(ZeroOneProblem, ZeroOneBudget),
        gives=frozenset({Gives.BOUND, Gives.TRACE, Gives.WARM_START, Gives.INTERRUPT}),
        tolerance=1e-6,
        reference="docs/explanation/zero-one-bb.md",
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        for name in ("restarts", "neighbourhoods"):
            object.__setattr__(self, name, as_integer(getattr(self, name), name))
        if not isinstance(self.proof_gap, (int, float)) or not 0.0 <= self.proof_gap < 1.0:
            raise InputError(
                f"proof_gap must be a number in [0, 1), the share of the bound not to be proved; "
                f"it is {short_text(self.proof_gap)}",
                name="proof_gap",
            )
        object.__setattr__(self, "earlier", solved_pairs(self.earlier))
        if self.checkpoint is not None and self.engine == "conflicts":
            raise InputError("a checkpoint needs the search of boxes: engine must be 'auto' or 'boxes'", name="checkpoint")
        check_path("checkpoint", self.checkpoint, "the checkpoint")
        check_path("proof", self.proof, "the proof log")

    def run(self, model: Model, options: Options, kept_model: KeptModel | None = None) -> Answer:
        """Solve a model: the form with costs by this algorithm, that with at most κn violated margins by `BudgetBB`."""
        if model.view(ZeroOneBudget) is None:
            return super().run(model, options, kept_model)
        from .budget import BudgetBB

        solver = self.with_native_options(options.native)
        if solver.cluster is not None or solver.checkpoint is not None:
            raise InputError(
                "cluster and checkpoint are for the form with a cost for each violation (lam=); kappa= has neither",
                name="cluster",
            )
        raw = BudgetBB(solver).run(model, dataclasses.replace(options, native={}))
        # exempt (formulation): only its own formulation has an incumbent to hold
        if raw.values is None or not isinstance(model, ZeroOneSVM):
            return raw
        # the big-M rows of this form are valid relative to a feasible point
        return dataclasses.replace(raw, model=dataclasses.replace(model, incumbent=raw.values["w"]), same_problem=True)

    def path_order(self, parameter: str, values: Sequence[Any]) -> Sequence[int]:
        """Return the order in which to solve a path of three or more λ: both ends, then the middles of the gaps.

        A λ between two solved ones may need no search. Other paths keep their order.
        """
        if parameter != "lam" or not all(isinstance(value, (int, float)) for value in values) or len(values) < 3:
            return range(len(values))
        return ends_first(np.argsort(np.asarray(values, dtype=np.float64), kind="stable").tolist())

    def reuse_options(self, solved: Sequence[tuple[Model, Result]]) -> Mapping[str, Any]:
        """Return the solved problems as the option ``earlier``; no option with a proof log, which would cite their logs."""
        pairs = tuple((model, result) for model, result in solved if model.view(ZeroOneProblem) is not None)
        return {"earlier": pairs} if pairs and self.proof is None else {}

    def load(self, view: ZeroOneProblem | ZeroOneBudget) -> None:
        """Compile the loops of the first engine, or load them from Numba's cache on disk; others follow at their first turn."""
        _load_engine(_first_engine(self._engine_option, min(view.A.shape), self.cluster is not None))

    @property
    def _engine_option(self) -> EngineName:
        """The option ``engine``; with a checkpoint always boxes."""
        return self.engine if self.checkpoint is None else "boxes"

    def init(self, view: ZeroOneProblem, options: Options, rng: np.random.Generator) -> ZeroOneState:
        """Reduce the problem and evaluate the starting points, or restore the checkpoint."""
        from .box_engine import BoxSearchCheckpoint

        limits = Limits.of(options, self.info.tolerance)
        reduced = reduce_problem(view)
        checkpoint = None if self.checkpoint is None else BoxSearchCheckpoint(self.checkpoint, view, limits.tol)
        stopped = None if checkpoint is None else checkpoint.read(self.proof)
        reduced = reduced if stopped is None else stopped.snapshot.search_data.reduced
        engine_name = _first_engine(self._engine_option, reduced.rows.shape[1], self.cluster is not None)
        if engine_name == "boxes" and stopped is None:
            # the log of a box search needs an orthogonal map between original and reduced coordinates
            reduced = rotate_for_boxes(reduced if self.proof is None else reduce_problem(view, full=True))
        incumbent = trivial_incumbent(reduced)
        shared = SharedState(reduced, incumbent, HardMarginSolver.of(reduced), limits)
        state = ZeroOneState(shared, options, rng, engine_name, checkpoint_file=checkpoint)
        if stopped is not None:
            _resume_search(state, stopped)
        if self.cluster is not None and reduced.rows.size:
            state.executor = cluster_executor(self.cluster)
        shared.improve_bound(0.0)
        if options.start is not None and "w" in options.start:
            state.offer_start(np.asarray(options.start["w"], dtype=np.float64))
        solved_problems = [SolvedProblem.of(*pair) for pair in solved_pairs(self.earlier)]
        state.use_earlier(view, solved_problems, self.proof is not None)
        if reduced.rows.shape[0]:
            boxes_first = _first_engine("auto", reduced.rows.shape[1]) == "boxes"
            state.heuristic = Heuristic(shared, rng, self.restarts, 0 if boxes_first else self.neighbourhoods)
        return state

    def advance(self, state: ZeroOneState, seconds: float) -> Outcome:
        """Run the due steps of the heuristic and then the engine for about ``seconds``."""
        try:
            return self._advance(state, seconds)
        except Exception:  # such as a lost cluster: save the search
            write_checkpoint(state)
            if state.executor is not None:
                state.executor.close()
            raise

    def abandon(self, state: ZeroOneState) -> None:
        """Discard the logs of a run that failed: no file is written at their path."""
        for log in (state.writer, state.recorder):
            if log is not None:
                log.discard()

    def _advance(self, state: ZeroOneState, seconds: float) -> Outcome:
        end = time.perf_counter() + seconds
        if state.transferred_bound > 0.0 and state.shared.gap_closed:
            return Outcome.CONVERGED
        if state.shared.reduced.rows.shape[0] == 0:
            state.shared.improve_bound(0.0)
            return Outcome.CONVERGED
        state.at_checkpoint = False
        if state.checkpoint_file is not None and state.checkpoint_file.due:
            write_checkpoint(state)
        if state.recorder is None:
            if not _run_due_heuristic(state, end):
                return Outcome.RUNNING
            engine = _engine_at_checkpoint(state, self._engine_option, self.proof)
            outcome = engine.work(max(end - time.perf_counter(), 1e-3))
            state.at_checkpoint = outcome is not Outcome.RUNNING or engine.at_checkpoint
            if state.writer is not None and state.writer.write_error is not None:
                return Outcome.UNWRITTEN
            if self.proof is None or not state.needs_log(outcome):
                return outcome
            if outcome is not Outcome.RUNNING:
                state.search_outcome = outcome
                engine.release()  # the proof numbers its subproblems from 1
            state.recorder = self._recorder(self.proof, state, state.shared.lower_bound)
        state.recorder.work(max(end - time.perf_counter(), 1e-3))
        state.at_checkpoint = state.recorder.finished
        if state.recorder.write_error is not None:
            return Outcome.UNWRITTEN
        if not state.recorder.finished:
            return Outcome.RUNNING
        if state.search_outcome is None:
            state.seal()
        return state.search_outcome or Outcome.RUNNING

    def _recorder(self, path: str, state: ZeroOneState, bound: float) -> ConflictLogWriter:
        return ConflictLogWriter(
            path, state.shared.reduced, bound, state.hinge_violations, gap=self.proof_gap, executor=state.executor
        )

    def measure(self, state: ZeroOneState) -> ProgressState:
        """Return the incumbent's objective, the proved bound, and the numbers of processed and of open nodes."""
        shared, engine = state.shared, state.engine
        return ProgressState(
            iteration=0 if engine is None else engine.nodes,
            objective=shared.incumbent.value,
            bound=shared.lower_bound if state.at_checkpoint else max(shared.lower_bound, shared.provisional_bound),
            active=0 if engine is None else engine.open_count,
            step="start" if engine is None else engine.name,
            checkpoint=state.at_checkpoint,
        )

    def answer(self, state: ZeroOneState) -> Answer:
        """Return the incumbent, whose kept margins are exactly at least 1, and the proved bound; finish the proof log."""
        shared, engine = state.shared, state.engine
        write_error = write_checkpoint(state)
        problem, w = shared.reduced.problem, shared.incumbent.w
        z = (problem.A @ w < 1.0).astype(np.float64)
        update: Update | None = None
        details: dict[str, object] = {"engine": state.engine_name, "open_nodes": 0, "value": shared.incumbent.value}
        figures = {} if engine is None else engine.statistics()
        if engine is not None:
            details |= {"open_nodes": engine.open_count, **figures}
        if self.earlier:
            details["carried_bound"] = state.transferred_bound
            update = Update(UpdateKind.CLOSED if engine is None and shared.gap_closed else UpdateKind.STARTED)
        if state.executor is not None:
            state.executor.close()
        logging_engine = state.logging_engine
        if self.proof is not None and state.cited_bound_is_best:
            for log in (state.recorder, state.writer):
                if log is not None:
                    log.discard()
            file = write_citing_log(self.proof, problem, state.transfer, state.transferred_bound, w)
            details["proof_bound"] = state.transferred_bound
            write_error = file.write_error
        elif logging_engine is not None and (state.recorder is None or state.recorder.provable_bound <= logging_engine.own_bound):
            assert state.writer is not None
            if state.recorder is not None:
                state.recorder.discard()
            state.writer.finish(logging_engine.own_bound, w)
            details["proof_bound"] = logging_engine.own_bound
            write_error = state.writer.write_error
        elif self.proof is not None:
            if state.writer is not None:
                state.writer.discard()
            if state.recorder is None and not state.logged_bound:
                state.recorder = self._recorder(self.proof, state, 0.0)
            if (recorder := state.recorder) is not None:
                details |= {"proof_nodes": recorder.nodes, **recorder.statistics()}
                write_error = state.seal()
            details["proof_bound"] = state.logged_bound
        workers = int(figures.get("workers", 0))
        return Answer(
            values={"w": w, "z": z},
            proof=str(self.proof or ""),
            bound=self.measure(state).bound,
            proved=True,
            nodes=state.earlier_nodes + (0 if engine is None else engine.nodes),
            update=update,
            write_error=write_error,
            bound_caveat=bound_caveat(workers, self.proof) if workers else "",
            details=details,
        )


@functools.cache
def _load_engine(engine: Literal["boxes", "conflicts"]) -> None:
    """Solve the warm-up problem, so that all compiled loops of the engine are loaded."""
    algorithm = ZeroOneBB(engine=engine, restarts=2, neighbourhoods=2)
    state = algorithm.init(warm_up_problem(), Options(threads=1), np.random.default_rng(0))
    for _ in range(100):
        if algorithm.advance(state, 1.0) is not Outcome.RUNNING:
            break
    algorithm.answer(state)
