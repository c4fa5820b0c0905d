"""The state of a Frank-Wolfe method between calls of its compiled loop, and its confirmation in float64."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from ....models.views import SimplexQP
from ...interface.algorithm import Outcome
from ..answer import relative
from ..column_cache import ColumnCache
from . import loops
from .iteration import Iteration, measured_gap, objective
from .stop_rule import StopRule

if TYPE_CHECKING:
    from .sampled_steps import Sampled

__all__ = ["FrankWolfeState", "confirm", "met", "refresh"]


@dataclass(eq=False)
class FrankWolfeState:
    """State of a run; ``work`` carries the paper's symbols."""

    view: SimplexQP
    rule: StopRule
    limit: int
    cache: ColumnCache
    work: Iteration
    sampled: Sampled | None
    rate: float = 1e4  #: iterations per second, as measured
    exact: bool = True  #: ĥ is Qâ in float64 from the data
    refreshes: int = 0
    last_gap: float = float("inf")  #: relative gap after the last refresh


def refresh(state: FrankWolfeState) -> None:
    """Recompute h = Qa in float64 from the data, and with it a'Qa, c'a and the gap."""
    work = state.work
    loops.fold(work)
    if not state.exact:
        work.h[:] = state.view.gram.product(work.a)
        loops.fold(work)
        state.exact = True
        state.refreshes += 1
    loops.scan(work)
    work.now.gap = measured_gap(work)


def met(state: FrankWolfeState) -> bool:
    """Return whether the stopping rule holds at the current numbers."""
    return state.rule.met(objective(state.work), float(state.work.now.gap))


def confirm(state: FrankWolfeState) -> Outcome:
    """After the loop says that it stopped: converged if the refreshed gap agrees, stalled if refreshing no longer helps."""
    refresh(state)
    if met(state):
        return Outcome.CONVERGED
    gap = relative(objective(state.work), float(state.work.now.gap))
    if gap == 0.0 or (state.refreshes > 3 and gap > 0.9 * state.last_gap):
        return Outcome.STALLED
    state.last_gap = min(gap, state.last_gap)
    return Outcome.RUNNING
