"""Dual points as proof logs hold them: whole multiples of a power of two, exact in float64."""

from __future__ import annotations

import base64
import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from ...models.arrays import FloatArray, IntArray

__all__ = ["DualPoint"]

#: The numbers are below this one.
_LARGEST = 2**31 - 1


@dataclass(frozen=True, eq=False)
class DualPoint:
    """α = numbers · 2^exponent: exact in float64, and so is a sum of them that balances the classes."""

    numbers: IntArray
    exponent: int

    @classmethod
    def rounded(cls, alpha: FloatArray, limits: FloatArray) -> DualPoint:
        """Return the point nearest to ``alpha`` within 0 ≤ α ≤ ``limits``."""
        alpha = np.clip(alpha, 0.0, limits)
        largest = float(alpha.max(initial=0.0))
        exponent = max(math.frexp(largest)[1] - 31, -900) if largest > 0.0 else 0
        numbers = np.minimum(np.rint(np.ldexp(alpha, -exponent)), np.floor(np.ldexp(limits, -exponent)))
        return cls(np.minimum(numbers, _LARGEST).astype(np.int64), exponent)

    @cached_property
    def alpha(self) -> FloatArray:
        """α."""
        return np.ldexp(self.numbers.astype(np.float64), self.exponent)

    @property
    def text(self) -> str:
        """The numbers, four bytes each, in base 64."""
        return base64.b64encode(self.numbers.astype("<i4").tobytes()).decode()
