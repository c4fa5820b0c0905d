"""A search in pieces: handed to a team; one of boxes also taken up from a checkpoint, and kept again."""

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
    from .subtrees.checkpoint import Checkpoint, Stopped

__all__ = ["check_pieces", "checkpoint_of", "in_pieces", "keep", "take_up"]


def check_pieces(engine: str, checkpoint: object) -> None:
    """What goes together with a search in pieces.

    Raises
    ------
    InputError
        A checkpoint of another engine than boxes, or that is no path.
    WriteError
        The checkpoint cannot be written there.
    """
    if checkpoint is not None and engine == "conflicts":
        raise InputError("checkpoint asked for, which the search of boxes has alone: engine must be 'auto' or 'boxes'")
    if checkpoint is None:
        return
    if not isinstance(checkpoint, str | os.PathLike):
        raise InputError(f"checkpoint must be the path of a file; it is {checkpoint!r}")
    check_target(checkpoint, "the checkpoint")


def checkpoint_of(path: str, problem: ZeroOneProblem, tol: float) -> Checkpoint:
    """The file of a search."""
    from .subtrees.checkpoint import Checkpoint

    return Checkpoint(path, problem, tol)


def take_up(state: ZeroOneState, stopped: Stopped, proof: str | None) -> None:
    """What a checkpoint holds.

    Raises
    ------
    DataError
        Its incumbent is none of the search that it keeps.
    InputError
        A proof log is wanted, and the search began without one.
    """
    if proof is not None and stopped.log is None:
        raise InputError("the search in the checkpoint was begun without a proof log, which holds all from the root: omit proof=")
    shared = state.shared
    shared.incumbent.offer(shared.reduced, stopped.w)
    if shared.upper > stopped.begun.ground.upper:
        raise DataError("the checkpoint's incumbent is worse than the one that its search began with")
    shared.floor, state.earlier_nodes, state.stopped = stopped.floor, stopped.nodes, stopped


def in_pieces(state: ZeroOneState, threads: int, proof: str | None) -> Engine:
    """The search of boxes, from the root or from the checkpoint, here or with the team; that of conflicts, with the team."""
    from .engines.boxes import BoxEngine
    from .subtrees.conflict_engine import ConflictTeamEngine
    from .subtrees.engine import SubtreeEngine

    shared, stopped = state.shared, state.stopped
    state.stopped = None
    if stopped is None:
        shared.reduced = shared.reduced.restretched(shared.upper)
    shared.polish = Polish.of(shared.reduced)
    if state.team is not None and state.engine_name == "conflicts":
        return ConflictTeamEngine(shared, state.order, state.team)
    if proof is not None:
        state.writer = _writer(state, stopped, proof)
    alone = 1 if state.team is not None else threads
    first = BoxEngine(shared, alone, state.writer, None if stopped is None else stopped.begun)
    return first if state.team is None else SubtreeEngine(shared, first, state.team, state.writer)


def _writer(state: ZeroOneState, stopped: Stopped | None, proof: str) -> ProofWriter:
    """The log of a tree that begins, or that goes on from a checkpoint."""
    keeper = state.keeper
    if state.writer is not None:
        state.writer.drop()
    if stopped is not None and stopped.log is not None and keeper is not None:
        writer = ProofWriter(proof, state.shared.reduced, keeper.part_of(stopped.log), stopped.log)
        writer.hold(True)
        return writer
    state.earlier_nodes = 0  # the log has this tree's nodes alone
    return ProofWriter(proof, state.shared.reduced, None if keeper is None else keeper.part())


def keep(state: ZeroOneState) -> WriteError | None:
    """Write the checkpoint, or take it away where the search is over; why it could not be written."""
    from .engines.boxes import BoxEngine
    from .subtrees.engine import SubtreeEngine

    keeper, engine, shared, writer = state.keeper, state.engine, state.shared, state.writer
    if keeper is None or not isinstance(engine, BoxEngine | SubtreeEngine):
        return None
    if shared.closed or not engine.open_nodes:
        keeper.remove()
        if writer is not None:
            writer.hold(False)
        return None
    mark = None if writer is None else writer.mark()
    if writer is not None and mark is None:
        return writer.fault
    try:
        keeper.write(shared, engine.begun, state.earlier_nodes + engine.nodes, mark)
    except WriteError as error:  # the search is worth more than its copy; a later one may succeed
        return error
    if writer is not None:
        writer.hold(True)
    return None
