"""The state of a run of `margin-bb`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ...models.arrays import FloatArray
from ...models.margin_view import MarginProblem
from ..records.options import Options
from .proof import ProofLog
from .rotated import Rotated

if TYPE_CHECKING:
    from . import loops

__all__ = ["FIRST", "MarginState"]

#: Nodes of the first call of the compiled loop; then by the clock, at most twice as many as in the call before: the first ones
#: may end at once where later ones do not.
FIRST = 20


@dataclass(eq=False)
class MarginState:
    """The state of a run."""

    problem: MarginProblem
    rotated: Rotated
    options: Options
    tree: loops.Tree
    descents: Any = None  #: `Descents`, and the problem and a node as the loops have them
    loops: Any = None
    node: Any = None
    log: ProofLog | None = None
    rate: float = 0.0
    batch: int = FIRST

    @property
    def known(self) -> bool:
        """Return whether a point of the problem is known."""
        return bool(self.tree.state[3] > 0.0)

    @property
    def value(self) -> float:
        """The incumbent's objective; without one, more than any point's."""
        return float(self.tree.state[0])

    @property
    def best(self) -> FloatArray:
        """The incumbent in the problem's own coordinates."""
        return self.rotated.back(self.tree.found)
