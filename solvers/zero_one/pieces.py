"""A search of boxes in pieces: taken up from a checkpoint, handed to a team, kept again."""

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


def check_pieces(engine: str, cluster: object, checkpoint: object, proof: object) -> None:
    """What goes together with a search in pieces.

    Raises
    ------
    InputError
        Another engine than boxes, a checkpoint beside a proof log or that is no path.
    WriteError
        The checkpoint cannot be written there.
    """
    given = {"cluster": cluster, "checkpoint": checkpoint}
    asked = " and ".join(name for name, value in given.items() if value is not None)
    if asked and engine == "conflicts":
        raise InputError(f"{asked} asked for, which the search of boxes has alone: engine must be 'auto' or 'boxes'")
    if checkpoint is None:
        return
    if not isinstance(checkpoint, str | os.PathLike):
        raise InputError(f"checkpoint must be the path of a file; it is {checkpoint!r}")
    check_target(checkpoint, "the checkpoint")
    if proof is not None:
        raise InputError("a proof log holds one search from its root to its end: give checkpoint= or proof=, not both")


def checkpoint_of(path: str, problem: ZeroOneProblem, tol: float) -> Checkpoint:
    """The file of a search."""
    from .subtrees.checkpoint import Checkpoint

    return Checkpoint(path, problem, tol)


def take_up(state: ZeroOneState, stopped: Stopped) -> None:
    """What a checkpoint holds.

    Raises
    ------
    DataError
        Its incumbent is none of the search that it keeps.
    """
    shared = state.shared
    shared.incumbent.offer(shared.reduced, stopped.w)
    if shared.upper > stopped.begun.ground.upper:
        raise DataError("the checkpoint's incumbent is worse than the one that its search began with")
    shared.floor, state.earlier_nodes, state.stopped = stopped.floor, stopped.nodes, stopped


def in_pieces(state: ZeroOneState, threads: int, proof: str | None) -> Engine:
    """The search of boxes, from the root or from the checkpoint, here or with the team."""
    from .engines.boxes import BoxEngine
    from .subtrees.engine import SubtreeEngine

    shared, stopped = state.shared, state.stopped
    state.stopped = None
    if stopped is None:
        shared.reduced = shared.reduced.restretched(shared.upper)
    shared.polish = Polish.of(shared.reduced)
    if proof is not None:
        state.earlier_nodes = 0
        state.writer = ProofWriter(proof, shared.reduced)
    alone = 1 if state.team is not None else threads
    first = BoxEngine(shared, alone, state.writer, None if stopped is None else stopped.begun)
    return first if state.team is None else SubtreeEngine(shared, first, state.team, state.writer)


def keep(state: ZeroOneState) -> WriteError | None:
    """Write the checkpoint, or take it away where the search is over; why it could not be written."""
    from .engines.boxes import BoxEngine
    from .subtrees.engine import SubtreeEngine

    keeper, engine, shared = state.keeper, state.engine, state.shared
    if keeper is None or not isinstance(engine, BoxEngine | SubtreeEngine):
        return None
    if shared.closed or not engine.open_nodes:
        keeper.remove()
        return None
    try:
        keeper.write(shared, engine.ground, engine.open, engine.unresolved, state.earlier_nodes + engine.nodes)
    except WriteError as error:  # the search is worth more than its copy; a later one may succeed
        return error
    return None
