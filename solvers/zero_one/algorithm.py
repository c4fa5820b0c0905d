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

from ...errors import InputError, WriteError
from ...files import check_target
from ...models.arrays import FloatArray
from ...models.formulations.zero_one.budget import ZeroOneBudget
from ...models.formulations.zero_one.model import ZeroOneSVM
from ...models.views import ZeroOneProblem
from ..interface.algorithm import Algorithm, Measure, Outcome
from ..interface.kept_model import Kept
from ..interface.native_options import replace_parameters
from ..interface.solver import Gives, SolverInfo
from ..records.answer import Answer, Update, UpdateKind
from ..records.options import Options
from ..records.rank import Purpose
from .engines.engine import Engine, Limits, Shared
from .heuristic import Heuristic
from .incumbent import Polish, trivial_incumbent
from .proof.box_writer import ProofWriter
from .proof.conflict_recorder import ConflictRecorder
from .reduced import Reduced, reduce_problem
from .transfer import Earlier, as_earlier, carried_bound

if TYPE_CHECKING:
    from ...models.model import Model
    from ..judging.result import Result

__all__ = ["ZeroOneBB", "ZeroOneState"]

#: Coordinates (after reduction, intercept included) up to which boxes are branched rather than conflicts.
BOX_COORDINATES = 6
#: Above `BOX_COORDINATES` conflicts come first; up to here boxes are tried beside them.
PORTFOLIO_COORDINATES = 9
#: Nodes of the search before the first further attempt at a better incumbent; the stretches between grow by half.
AGAIN = 20_000
#: Nodes of the box engine (of the conflict engine) before the other is tried beside it, a second or two; then its effort for
#: each of the other's.
BOX_HEAD, CONFLICT_HEAD = 50_000, 20_000
BOX_SHARE, CONFLICT_SHARE = 7.0, 1.0
#: Effort of the heuristic before the engine begins, about nanoseconds, and for each unit of the engine's. The passes of the
#: conflict engine are planned by the incumbent that it begins with, so that a good one is worth more; boxes hardly need one.
_BESIDE_BOXES, _BESIDE_CONFLICTS = (1e6, 1.0), (3e7, 2.0)


@dataclass(eq=False)
class ZeroOneState:
    """Where a run stands: the heuristic and the tree search by turns."""

    shared: Shared
    options: Options
    rng: np.random.Generator
    engine_name: str
    heuristic: Heuristic | None = None  #: none where there are no rows
    engine: Engine | None = None
    earlier_nodes: int = 0
    earlier_effort: float = 0.0
    writer: ProofWriter | None = None
    recorder: ConflictRecorder | None = None
    carried: float = 0.0
    again: int = AGAIN  #: nodes of the engine at which the heuristic has its next turn
    checkpoint: bool = True  #: whether a repeated run stands here too, whatever the clock did


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

    Notes
    -----
    The bound is proved: every pruning step is valid in floating-point arithmetic (``docs/zero-one-bb.md``).
    """

    engine: Literal["auto", "boxes", "conflicts"] = "auto"
    restarts: int = 60
    neighbourhoods: int = 60
    proof: str | None = None
    proof_gap: float = 0.0
    earlier: object = ()

    variants: ClassVar[Sequence[Mapping[str, Any]]] = ({"engine": "boxes"}, {"engine": "conflicts"})
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
        raw = BudgetBB(solver).run(model, dataclasses.replace(options, native={}))
        if raw.values is None or not isinstance(model, ZeroOneSVM):
            return raw
        # big-M rows of the form need a feasible point: this one
        return dataclasses.replace(raw, model=dataclasses.replace(model, incumbent=raw.values["w"]), same_problem=True)

    def path_order(self, parameter: str, values: Sequence[Any]) -> Sequence[int]:
        """Both ends first, then the middle of the longest stretch: what lies between two solved λ may need no search."""
        if parameter != "lam" or not all(isinstance(value, (int, float)) for value in values) or len(values) < 3:
            return range(len(values))
        return _ends_first(np.argsort(np.asarray(values, dtype=np.float64), kind="stable").tolist())

    def carried_over(self, solved: Sequence[tuple[Model, Result]]) -> Mapping[str, Any]:
        """The results so far as ``earlier``."""
        known = [Earlier.of(model, result) for model, result in solved if model.view(ZeroOneProblem) is not None]
        return {"earlier": tuple(known)} if known and self.proof is None else {}

    def load(self, view: ZeroOneProblem | ZeroOneBudget) -> None:
        """Compile the engine that begins, or load it from Numba's cache on disk; another one follows where its turn comes."""
        _load_engine(self._first_engine(min(view.A.shape)))

    def _first_engine(self, coordinates: int) -> Literal["boxes", "conflicts"]:
        if self.engine != "auto":
            return self.engine
        return "boxes" if coordinates <= BOX_COORDINATES else "conflicts"

    def init(self, view: ZeroOneProblem, options: Options, rng: np.random.Generator) -> ZeroOneState:
        """Reduce the problem and take the starting points."""
        deadline = np.inf if options.time_limit is None else time.perf_counter() + options.time_limit
        reduced = reduce_problem(view, full=self.proof is not None and self.engine != "conflicts")
        limits = Limits(options.tolerance(self.info.tolerance), options.node_limit, options.memory_limit, deadline)
        incumbent = trivial_incumbent(reduced)
        shared = Shared(reduced, incumbent, Polish.of(reduced), limits)
        name = self._first_engine(reduced.rows.shape[1])
        state = ZeroOneState(shared, options, rng, name)
        shared.raise_floor(0.0)
        if options.start is not None and "w" in options.start:
            self._take_start(state, np.asarray(options.start["w"], dtype=np.float64))
        self._take_earlier(state, view)
        if reduced.rows.shape[0]:
            state.heuristic = Heuristic(shared, rng, self.restarts, self.neighbourhoods if name == "conflicts" else 0)
        return state

    def _take_start(self, state: ZeroOneState, w: FloatArray) -> None:
        p = state.shared.reduced.T.shape[0]
        if w.shape != (p,) or not np.isfinite(w).all():
            raise InputError(f"start['w'] must hold {p} finite numbers; it has shape {w.shape}")
        state.shared.incumbent.offer(state.shared.reduced, w)
        state.shared.polish.improve(state.shared.incumbent, state.shared.reduced.contract(w))

    def _take_earlier(self, state: ZeroOneState, view: ZeroOneProblem) -> None:
        """Points and bounds of earlier problems."""
        shared, earlier = state.shared, as_earlier(self.earlier)
        if not earlier:
            return
        bound = carried_bound(view, earlier)
        for item in earlier:
            if item.w is not None:
                self._take_start(state, item.w)
        shared.floor = max(shared.floor, min(bound, shared.incumbent.value))
        state.carried = shared.floor

    def advance(self, state: ZeroOneState, seconds: float) -> Outcome:
        """The engine's stretch, and before each stretch the heuristic's steps that are due."""
        end = time.perf_counter() + seconds
        if state.carried > 0.0 and state.shared.closed:
            return Outcome.CONVERGED
        if state.shared.reduced.rows.shape[0] == 0:
            state.shared.raise_floor(0.0)
            return Outcome.CONVERGED
        state.checkpoint = False
        if state.recorder is None:
            if not self._improved(state, end):
                return Outcome.RUNNING
            engine = self._rested_engine(state)
            outcome = engine.work(max(end - time.perf_counter(), 1e-3))
            state.checkpoint = outcome is not Outcome.RUNNING or engine.rested
            if state.writer is not None and state.writer.fault is not None:
                return Outcome.UNWRITTEN
            if self.proof is None or state.writer is not None or outcome is not Outcome.CONVERGED:
                return outcome
            state.recorder = self._recorder(self.proof, state, state.shared.floor)
        state.recorder.work(max(end - time.perf_counter(), 1e-3))
        state.checkpoint = state.recorder.finished
        if state.recorder.fault is not None:
            return Outcome.UNWRITTEN
        return Outcome.CONVERGED if state.recorder.finished else Outcome.RUNNING

    def _improved(self, state: ZeroOneState, end: float) -> bool:
        """The heuristic's steps that are due, until the clock shows ``end``; whether it is the engine's turn."""
        heuristic, engine = state.heuristic, state.engine
        if heuristic is None or (engine is not None and not engine.rested):
            return True
        head, share = _BESIDE_BOXES if state.engine_name == "boxes" else _BESIDE_CONFLICTS
        searched = state.earlier_effort + (0.0 if engine is None else engine.effort)
        while heuristic.due(head + share * searched, searched):
            heuristic.step()
            if time.perf_counter() >= end:
                return False
        return True

    def _recorder(self, path: str, state: ZeroOneState, bound: float) -> ConflictRecorder:
        return ConflictRecorder(path, state.shared.reduced, bound, _order(state), gap=self.proof_gap)

    def _rested_engine(self, state: ZeroOneState) -> Engine:
        """The engine with a stretch ahead of it; before the stretch is the time to look for incumbents and for new scales."""
        engine = state.engine
        if engine is not None and not engine.rested:
            return engine
        if engine is None or engine.stale:
            if engine is not None:
                state.earlier_nodes += engine.nodes
                state.earlier_effort += engine.effort
            engine = state.engine = self._make_engine(state)
            state.again = AGAIN
        if engine.nodes >= state.again:
            assert state.heuristic is not None
            # boxes compile nothing of the conflict search before its turn comes
            state.heuristic.again(state.engine_name == "conflicts" or engine.nodes >= BOX_HEAD)
            state.again = engine.nodes * 3 // 2 + AGAIN
        engine.begin_stretch()
        return engine

    def _make_engine(self, state: ZeroOneState) -> Engine:
        import joblib

        from .engines.boxes import BoxEngine
        from .engines.conflicts import ConflictEngine
        from .engines.portfolio import Portfolio

        shared = state.shared
        threads = state.options.threads or joblib.cpu_count()
        shared.reduced = shared.reduced.restretched(shared.upper)
        shared.polish = Polish.of(shared.reduced)
        if self.proof is not None and state.engine_name == "boxes":
            state.earlier_nodes = 0
            state.writer = ProofWriter(self.proof, shared.reduced)
            return BoxEngine(shared, log=state.writer)
        if self.engine == "conflicts" or shared.reduced.rows.shape[1] > PORTFOLIO_COORDINATES:
            return ConflictEngine(shared, _order(state), threads)
        boxes = BoxEngine(shared, threads)
        if self.engine == "boxes":
            return boxes
        conflicts = ConflictEngine(shared, _order(state), threads)
        if state.engine_name == "boxes":
            return Portfolio(shared, boxes, conflicts, BOX_HEAD, BOX_SHARE)
        return Portfolio(shared, conflicts, boxes, CONFLICT_HEAD, CONFLICT_SHARE)

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

        shared, engine = state.shared, state.engine
        problem, w = shared.reduced.problem, shared.incumbent.w
        z = _violated(problem, w)
        update: Update | None = None
        unwritten: WriteError | None = None
        details: dict[str, object] = {"engine": state.engine_name, "open_nodes": 0, "value": shared.incumbent.value}
        if engine is not None:
            details |= {"open_nodes": engine.open_nodes, **engine.figures()}
        if as_earlier(self.earlier):
            details["carried_bound"] = state.carried
            update = Update(UpdateKind.CLOSED if engine is None and shared.closed else UpdateKind.STARTED)
        if state.writer is not None and isinstance(engine, BoxEngine):
            state.writer.finish(engine.own_bound, w)
            details["proof"], unwritten = self.proof, state.writer.fault
        elif self.proof is not None:
            recorder = state.recorder or self._recorder(self.proof, state, 0.0)
            details |= {"proof": self.proof, "proof_nodes": recorder.nodes, "proof_bound": recorder.finish(w)}
            unwritten = recorder.fault
        return Answer(
            values={"w": w, "z": z},
            bound=self.measure(state).bound,
            proved=True,
            nodes=state.earlier_nodes + (0 if engine is None else engine.nodes),
            update=update,
            unwritten=unwritten,
            details=details,
        )


def _ends_first(ranked: list[int]) -> list[int]:
    """First, last, then middles, breadth first."""
    order = [ranked[0], ranked[-1]]
    spans = [(0, len(ranked) - 1)]
    while spans:
        low, high = spans.pop(0)
        if high - low > 1:
            middle = (low + high) // 2
            order.append(ranked[middle])
            spans += [(low, middle), (middle, high)]
    return order


def _order(state: ZeroOneState) -> FloatArray:
    """Hinge violation of every point: the conflict engine deletes the worst first."""
    if state.heuristic is None:
        return np.ones(len(state.shared.reduced.weights))
    return state.heuristic.order


def _violated(problem: ZeroOneProblem, w: FloatArray) -> FloatArray:
    return (problem.A @ w < 1.0).astype(np.float64)


def reduced_of(state: ZeroOneState) -> Reduced:
    """The reduced problem of a run (for tests and tools)."""
    return state.shared.reduced


@functools.cache
def _load_engine(engine: Literal["boxes", "conflicts"]) -> None:
    """Solve the smallest problem that is not trivial, so that every compiled loop is there."""
    rows = np.array([[1.0, 0.5, 0.1], [1.0, -0.4, 0.2], [-1.0, 0.3, 0.7], [-1.0, -0.2, -0.3]])
    view = ZeroOneProblem(rows, np.full(4, 0.3), np.array([True, True, True]))
    algorithm = ZeroOneBB(engine=engine, restarts=2, neighbourhoods=2)
    state = algorithm.init(view, Options(threads=1), np.random.default_rng(0))
    for _ in range(100):
        if algorithm.advance(state, 1.0) is not Outcome.RUNNING:
            break
    algorithm.answer(state)
