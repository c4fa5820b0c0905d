"""Whose turn it is: boxes, conflicts, both beside each other, and the heuristic before each stretch of theirs."""

from __future__ import annotations

import dataclasses
import time
from typing import Literal, TypeAlias

from .engines.engine import Engine
from .incumbent import Polish
from .pieces import in_pieces
from .proof.box_writer import ProofWriter
from .reduced import for_boxes
from .state import ZeroOneState

__all__ = ["EngineName", "first_engine", "incumbents_sought", "rested_engine"]

EngineName: TypeAlias = Literal["auto", "boxes", "conflicts"]

#: Coordinates (after reduction, intercept included) up to which boxes are branched rather than conflicts.
BOX_COORDINATES = 6
#: The same on a cluster, where the two cannot take turns.
CLUSTER_COORDINATES = 9
#: Above `BOX_COORDINATES` conflicts come first; up to here boxes are tried beside them.
PORTFOLIO_COORDINATES = 10
#: Nodes of the search before the first further attempt at a better incumbent; the stretches between grow by half.
AGAIN = 20_000
#: Effort of the box engine (of the conflict engine) before the other is tried beside it, about nanoseconds.
BOX_HEAD, CONFLICT_HEAD = 2e9, 3e8
#: Effort of the heuristic before the engine begins, about nanoseconds, and for each unit of the engine's. The passes of the
#: conflict engine are planned by the incumbent that it begins with, so that a good one is worth more; boxes hardly need one.
_BESIDE_BOXES, _BESIDE_CONFLICTS = (1e6, 1.0), (3e7, 2.0)


def first_engine(engine: EngineName, coordinates: int, cluster: bool = False) -> Literal["boxes", "conflicts"]:
    """The engine that begins: the chosen one, or by the number of coordinates."""
    if engine != "auto":
        return engine
    return "boxes" if coordinates <= (CLUSTER_COORDINATES if cluster else BOX_COORDINATES) else "conflicts"


def incumbents_sought(state: ZeroOneState, end: float) -> bool:
    """The heuristic's steps that are due, until the clock shows ``end``; whether it is the engine's turn."""
    heuristic, engine = state.heuristic, state.engine
    if heuristic is None or (engine is not None and not engine.rested):
        return True
    head, share = _BESIDE_BOXES if state.engine_name == "boxes" else _BESIDE_CONFLICTS
    searched = state.earlier_effort + (0.0 if engine is None else engine.effort)
    while heuristic.due(head + share * searched, searched):
        heuristic.step()
        if engine is not None:
            engine.tend()
        if time.perf_counter() >= end:
            return False
    return True


def rested_engine(state: ZeroOneState, chosen: EngineName, proof: str | None) -> Engine:
    """The engine with a stretch ahead of it; before the stretch is the time to look for incumbents and for new scales."""
    engine = state.engine
    if engine is not None and not engine.rested:
        return engine
    if engine is None or engine.stale:
        if engine is not None:
            engine.release()
            state.earlier_nodes += engine.nodes
            state.earlier_effort += engine.effort
        engine = state.engine = _make_engine(state, chosen, proof)
        state.again = AGAIN
    if engine.nodes >= state.again:
        assert state.heuristic is not None
        # boxes compile nothing of the conflict search before its turn comes
        state.heuristic.again(state.engine_name == "conflicts" or engine.effort >= BOX_HEAD)
        state.again = engine.nodes * 3 // 2 + AGAIN
    engine.begin_stretch()
    return engine


def _make_engine(state: ZeroOneState, chosen: EngineName, proof: str | None) -> Engine:
    import joblib

    from .engines.boxes import BoxEngine
    from .engines.conflicts import ConflictEngine
    from .engines.portfolio import Portfolio

    shared = state.shared
    threads = state.options.threads or joblib.cpu_count()
    if state.team is not None or state.keeper is not None:
        return in_pieces(state, threads, proof)
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
        """Coordinates are turned where boxes begin; what is proved in either loses the δ of both."""
        own = for_boxes(shared.reduced)
        shared.reduced = dataclasses.replace(shared.reduced, shrink=max(own.shrink, shared.reduced.shrink))
        return BoxEngine(shared, threads, own=own)

    return Portfolio(shared, conflicts, boxes, CONFLICT_HEAD)
