"""The schedule of the engines: boxes, conflicts, or a portfolio of both, with the primal heuristic before each slice."""

from __future__ import annotations

import dataclasses
import time
from typing import Literal, TypeAlias

from .engines.engine import Engine
from .incumbent import Polish
from .proof.box_writer import ProofWriter
from .reduced import for_boxes
from .resume import runs_in_pieces
from .state import ZeroOneState

__all__ = ["EngineName", "engine_at_checkpoint", "first_engine", "heuristic_is_due"]

EngineName: TypeAlias = Literal["auto", "boxes", "conflicts"]

#: Number of reduced coordinates, intercept included, up to which the box engine comes first.
BOX_COORDINATES = 6
#: The same on a cluster, where there is no portfolio.
CLUSTER_COORDINATES = 9
#: Number of coordinates up to which the conflict engine, which comes first above `BOX_COORDINATES`, shares with the box engine.
PORTFOLIO_COORDINATES = 10
#: Nodes before the heuristic first runs again; later intervals grow by half.
AGAIN = 20_000
#: Effort of the box engine (of the conflict engine), about nanoseconds, before the other engine joins.
BOX_HEAD, CONFLICT_HEAD = 2e9, 3e8
#: Effort of the heuristic before the engine begins, about nanoseconds, and per unit of the engine's effort. The incumbent
#: determines the passes of the conflict engine, so a good one matters more there; the box engine hardly depends on it.
_BESIDE_BOXES, _BESIDE_CONFLICTS = (1e6, 1.0), (3e7, 2.0)


def first_engine(engine: EngineName, coordinates: int, cluster: bool = False) -> Literal["boxes", "conflicts"]:
    """Return the engine that begins: the chosen one, or the default for this number of coordinates."""
    if engine != "auto":
        return engine
    return "boxes" if coordinates <= (CLUSTER_COORDINATES if cluster else BOX_COORDINATES) else "conflicts"


def heuristic_is_due(state: ZeroOneState, end: float) -> bool:
    """Run the due steps of the heuristic until the clock shows ``end``; return True if the engine is next."""
    heuristic, engine = state.heuristic, state.engine
    if heuristic is None or (engine is not None and not engine.at_checkpoint):
        return True
    initial_effort, ratio = _BESIDE_BOXES if state.engine_name == "boxes" else _BESIDE_CONFLICTS
    engine_effort = state.earlier_effort + (0.0 if engine is None else engine.effort)
    while heuristic.due(initial_effort + ratio * engine_effort, engine_effort):
        heuristic.step()
        if engine is not None:
            engine.tend()
        if time.perf_counter() >= end:
            return False
    return True


def engine_at_checkpoint(state: ZeroOneState, chosen: EngineName, proof: str | None) -> Engine:
    """Return the engine, at the start of a slice. Before a slice engines are replaced and the heuristic runs again."""
    engine = state.engine
    if engine is not None and not engine.at_checkpoint:
        return engine
    if engine is None or engine.stale:
        if engine is not None:
            engine.release()
            state.earlier_nodes += engine.nodes
            state.earlier_effort += engine.effort
        engine = state.engine = _create_engine(state, chosen, proof)
        state.again = AGAIN
    if engine.nodes >= state.again:
        assert state.heuristic is not None
        # the box engine compiles no conflict kernels before they are needed
        state.heuristic.again(state.engine_name == "conflicts" or engine.effort >= BOX_HEAD)
        state.again = engine.nodes * 3 // 2 + AGAIN
    engine.begin_stretch()
    return engine


def _create_engine(state: ZeroOneState, chosen: EngineName, proof: str | None) -> Engine:
    import joblib

    from .engines.boxes import BoxEngine
    from .engines.conflicts import ConflictEngine
    from .engines.portfolio import Portfolio

    shared = state.shared
    threads = state.options.threads or joblib.cpu_count()
    if state.team is not None or state.keeper is not None:
        return runs_in_pieces(state, threads, proof)
    shared.reduced = shared.reduced.restretched(shared.upper)
    shared.polish = Polish.of(shared.reduced)
    if proof is not None and state.engine_name == "boxes":
        state.earlier_nodes = 0
        state.writer = ProofWriter(proof, shared.reduced)
        return BoxEngine(shared, log=state.writer)
    if chosen == "conflicts" or shared.reduced.rows.shape[1] > PORTFOLIO_COORDINATES:
        return ConflictEngine(shared, state.order, threads)
    if chosen == "boxes":
        return BoxEngine(shared, threads)
    if state.engine_name == "boxes":
        return Portfolio(shared, BoxEngine(shared, threads), lambda: ConflictEngine(shared, state.order, threads), BOX_HEAD)
    conflicts = ConflictEngine(shared, state.order, threads)

    def boxes() -> BoxEngine:
        """Return the box engine in rotated coordinates. A bound of either engine loses the larger δ of both reductions."""
        rotated = for_boxes(shared.reduced)
        shared.reduced = dataclasses.replace(shared.reduced, shrink=max(rotated.shrink, shared.reduced.shrink))
        return BoxEngine(shared, threads, own=rotated)

    return Portfolio(shared, conflicts, boxes, CONFLICT_HEAD)
