"""No regulariser."""

from __future__ import annotations

from dataclasses import dataclass

from ....arrays import FloatArray
from ....statement import Line
from ..assembly import Affine, Assembly
from .regulariser import Regulariser, Sparsity

__all__ = ["NoRegulariser"]


@dataclass(frozen=True)
class NoRegulariser(Regulariser):
    """No regulariser: the loss alone, as with a domain of integers."""

    def value(self, w: FloatArray) -> float:
        """0."""
        return 0.0

    def add(self, builder: Assembly, w: Affine, span: FloatArray) -> None:
        """Add nothing."""

    def cost_line(self) -> Line:
        """Empty line."""
        return Line("", "")

    def lines(self) -> tuple[Line, ...]:
        """No constraints."""
        return ()

    @property
    def square(self) -> float:
        """0."""
        return 0.0

    @property
    def sparsity(self) -> Sparsity:
        """Itself."""
        return Sparsity(0.0, 0.0)
