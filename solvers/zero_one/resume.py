"""Distributed and resumable searches: construction of their engines, reading and writing of the checkpoint."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from ...errors import DataError, InputError, WriteError
from ...files import check_target
from ...models.views import ZeroOneProblem
from .engines.engine import Engine
from .incumbent import Polish
from .proof.box_writer import ProofWriter
from .state import ZeroOneState

if TYPE_CHECKING:
    from .distributed.checkpoint import Checkpoint, StoppedSearch

__all__ = ["check_pieces", "checkpoint_of", "resume_search", "runs_in_pieces", "write_checkpoint"]


def check_pieces(engine: str, checkpoint: object) -> None:
    """Check the option ``checkpoint`` and its compatibility with the engine.

    Raises
    ------
    InputError
        The checkpoint is for the conflict engine, or is not a path.
    WriteError
        The checkpoint cannot be written to that path.
    """
    if checkpoint is not None and engine == "conflicts":
        raise InputError("checkpoint asked for, which the search of boxes has alone: engine must be 'auto' or 'boxes'")
    if checkpoint is None:
        return
    if not isinstance(checkpoint, str | os.PathLike):
        raise InputError(f"checkpoint must be the path of a file; it is {checkpoint!r}")
    check_target(checkpoint, "the checkpoint")


def checkpoint_of(path: str, problem: ZeroOneProblem, tol: float) -> Checkpoint:
    """Return the checkpoint file of a search."""
    from .distributed.checkpoint import Checkpoint

    return Checkpoint(path, problem, tol)


def resume_search(state: ZeroOneState, stopped: StoppedSearch, proof: str | None) -> None:
    """Restore the state from a saved search.

    Raises
    ------
    DataError
        The incumbent of the file does not belong to its search.
    InputError
        A proof log is requested, and the search began without one.
    """
    if proof is not None and stopped.log is None:
        raise InputError("the search in the checkpoint was begun without a proof log, which holds all from the root: omit proof=")
    shared = state.shared
    shared.incumbent.offer(shared.reduced, stopped.w)
    if shared.upper > stopped.begun.ground.upper:
        raise DataError("the checkpoint's incumbent is worse than the one that its search began with")
    shared.lower_bound, state.earlier_nodes, state.stopped = stopped.lower_bound, stopped.nodes, stopped


def runs_in_pieces(state: ZeroOneState, threads: int, proof: str | None) -> Engine:
    """Return the engine of a distributed or resumable search: boxes from the root or the checkpoint, or distributed conflicts."""
    from .distributed.conflict_engine import ConflictTeamEngine
    from .distributed.engine import SubtreeEngine
    from .engines.boxes import BoxEngine

    shared, stopped = state.shared, state.stopped
    state.stopped = None
    if stopped is None:
        shared.reduced = shared.reduced.restretched(shared.upper)
    shared.polish = Polish.of(shared.reduced)
    if state.team is not None and state.engine_name == "conflicts":
        return ConflictTeamEngine(shared, state.order, state.team)
    if proof is not None:
        state.writer = _writer(state, stopped, proof)
    local_threads = 1 if state.team is not None else threads
    local_engine = BoxEngine(shared, local_threads, state.writer, None if stopped is None else stopped.begun)
    return local_engine if state.team is None else SubtreeEngine(shared, local_engine, state.team, state.writer)


def _writer(state: ZeroOneState, stopped: StoppedSearch | None, proof: str) -> ProofWriter:
    """Return the proof writer of a new tree, or of one that continues from a checkpoint."""
    checkpoint = state.keeper
    if state.writer is not None:
        state.writer.drop()
    if stopped is not None and stopped.log is not None and checkpoint is not None:
        writer = ProofWriter(proof, state.shared.reduced, checkpoint.part_of(stopped.log), stopped.log)
        writer.hold(True)
        return writer
    state.earlier_nodes = 0  # the log covers the nodes of this tree only
    return ProofWriter(proof, state.shared.reduced, None if checkpoint is None else checkpoint.part())


def write_checkpoint(state: ZeroOneState) -> WriteError | None:
    """Write the checkpoint, or remove it after a finished search; return the error if it could not be written."""
    from .distributed.engine import SubtreeEngine
    from .engines.boxes import BoxEngine

    checkpoint, engine, shared, writer = state.keeper, state.engine, state.shared, state.writer
    if checkpoint is None or not isinstance(engine, BoxEngine | SubtreeEngine):
        return None
    if shared.closed or not engine.open_nodes:
        checkpoint.remove()
        if writer is not None:
            writer.hold(False)
        return None
    mark = None if writer is None else writer.mark()
    if writer is not None and mark is None:
        return writer.fault
    try:
        checkpoint.write(shared, engine.begun, state.earlier_nodes + engine.nodes, mark)
    except WriteError as error:  # the search continues without this checkpoint; a later one may succeed
        return error
    if writer is not None:
        writer.hold(True)
    return None
