"""X', of which there is no more than its product with a vector."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol, TypeAlias, final

import numpy as np
import numpy.typing as npt

__all__ = ["FloatArray", "Transposed"]

FloatArray: TypeAlias = npt.NDArray[np.float64]


class _Pulled(Protocol):
    def pulled(self, v: FloatArray) -> FloatArray: ...


@final
@dataclass(frozen=True)
class Transposed:
    """X' of what has a product with it."""

    of: _Pulled

    def __matmul__(self, v: FloatArray) -> FloatArray:
        """X'v."""
        return self.of.pulled(v)
