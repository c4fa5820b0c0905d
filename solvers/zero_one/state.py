"""The state of a run of the exact 0-1 solver."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from ...errors import InputError
from ...models.arrays import FloatArray
from ...models.views import ZeroOneProblem
from ..parallel.executor import AsynchronousExecutor
from ..records.options import Options
from .engines.engine import Engine, SharedState
from .heuristic import Heuristic
from .proof.box_writer import ProofWriter
from .proof.conflict_recorder import ConflictRecorder

if TYPE_CHECKING:
    from .distributed.checkpoint import Checkpoint, StoppedSearch
from .reuse import SolvedProblem, transferred_bound

__all__ = ["ZeroOneState"]


@dataclass(eq=False)
class ZeroOneState:
    """The state of a run: heuristic, engine, proof writers, checkpoint and counters."""

    shared: SharedState
    options: Options
    rng: np.random.Generator
    engine_name: str
    heuristic: Heuristic | None = None  #: None without rows
    engine: Engine | None = None
    earlier_nodes: int = 0
    earlier_effort: float = 0.0
    writer: ProofWriter | None = None
    recorder: ConflictRecorder | None = None
    carried: float = 0.0
    again: int = 0  #: node count of the engine at which the heuristic runs again
    keeper: Checkpoint | None = None
    stopped: StoppedSearch | None = None  #: the saved search, until it continues
    team: AsynchronousExecutor | None = None
    checkpoint: bool = True  #: whether every repeated run passes through this state, independent of the clock

    @property
    def order(self) -> FloatArray:
        """Hinge violation of every point: the conflict engine deletes points with the largest violation first."""
        return np.ones(len(self.shared.reduced.weights)) if self.heuristic is None else self.heuristic.order

    def take_start(self, w: FloatArray) -> None:
        """Offer a classifier, and its polish, to the incumbent.

        Raises
        ------
        InputError
            ``w`` does not hold one finite number per column.
        """
        reduced = self.shared.reduced
        p = reduced.T.shape[0]
        if w.shape != (p,) or not np.isfinite(w).all():
            raise InputError(f"start['w'] must hold {p} finite numbers; it has shape {w.shape}")
        self.shared.incumbent.offer(reduced, w)
        self.shared.polish.improve(self.shared.incumbent, reduced.contract(w))

    def take_earlier(self, view: ZeroOneProblem, earlier: Sequence[SolvedProblem]) -> None:
        """Offer the solutions of solved problems to the incumbent, and take over the bound that they imply."""
        if not earlier:
            return
        bound = transferred_bound(view, earlier)
        for item in earlier:
            if item.w is not None:
                self.take_start(item.w)
        self.shared.lower_bound = max(self.shared.lower_bound, min(bound, self.shared.incumbent.value))
        self.carried = self.shared.lower_bound
