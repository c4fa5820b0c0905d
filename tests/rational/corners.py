"""The corners of a linear 0-1 problem in rational arithmetic: an optimal w is the shortest one of some rows' margins of 1.

Let S be the rows that an optimal w keeps, whatever else is kept beside. Then w is a shortest vector of {a_i'w ≥ 1, i in S}, and
by Carathéodory's theorem multipliers of at most p rows with a_i'w = 1 prove it. So the least cost of those that keep certain rows
is the least over the shortest vectors of the equations of up to p rows, w = 0 among them.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property

import numpy as np

from .flats import ONE, ZERO, Vector, dot, fractions, solved

__all__ = ["PiecewiseLinearLoss"]


@dataclass(frozen=True)
class PiecewiseLinearLoss:
    """min Σ_{penalised} w_j² + Σ λ_i 1{a_i'w < 1}, with rows that must be kept.

    Parameters
    ----------
    rows : tuple of Vector
        a_i, and beside them rows that may be kept.
    prices : Vector
        λ_i of the first rows.
    penalised : tuple of bool
    """

    rows: tuple[Vector, ...]
    prices: Vector
    penalised: tuple[bool, ...]

    @classmethod
    def of(cls, model: object, *more: np.ndarray) -> PiecewiseLinearLoss:
        """The problem of a `ZeroOneSVM`, with rows beside its own."""
        X, y = np.asarray(model.X), np.asarray(model.y)  # type: ignore[attr-defined]
        rows = [*(y[:, None] * X), *more]
        prices = np.broadcast_to(model.sample_weight, y.shape)  # type: ignore[attr-defined]
        return cls(tuple(map(fractions, rows)), fractions(prices), tuple(map(bool, model.penalised)))  # type: ignore[attr-defined]

    @cached_property
    def candidates(self) -> list[tuple[Fraction, tuple[bool, ...]]]:
        """Squared norm and kept rows of every corner."""
        p = len(self.penalised)
        vectors = {(ZERO,) * p}
        for size in range(1, p + 1):
            for chosen in itertools.combinations(dict.fromkeys(self.rows), size):
                w = self._shortest(chosen)
                if w is not None:
                    vectors.add(w)
        return [(self.norm(w), tuple(dot(a, w) >= 1 for a in self.rows)) for w in vectors]

    def _shortest(self, chosen: tuple[Vector, ...]) -> Vector | None:
        """The shortest w with margins of 1; None where some of the rows decide it, or none has them."""
        p = len(self.penalised)
        zeros = (ZERO,) * len(chosen)
        system = [
            tuple(2 * ONE if i == j and self.penalised[j] else ZERO for j in range(p)) + tuple(-a[i] for a in chosen)
            for i in range(p)
        ]
        point = solved([*system, *((*a, *zeros) for a in chosen)], (*(ZERO,) * p, *(ONE,) * len(chosen)))
        return None if point is None else point[:p]

    def norm(self, w: Vector) -> Fraction:
        """Σ of the penalised w_j²."""
        return sum((v * v for v, counted in zip(w, self.penalised, strict=True) if counted), ZERO)

    def least(self, *required: int, scale: Fraction = ONE) -> Fraction | None:
        """The least objective, prices times ``scale``, of w that keep these rows; None where no w does."""
        values = (
            norm + scale * sum((c for c, k in zip(self.prices, keeps, strict=False) if not k), ZERO)
            for norm, keeps in self.candidates
            if all(keeps[i] for i in required)
        )
        return min(values, default=None)

    def least_norm(self, budget: int) -> Fraction | None:
        """The least squared norm of w that give up at most so many of the priced rows."""
        count = len(self.prices)
        return min((norm for norm, keeps in self.candidates if count - sum(keeps[:count]) <= budget), default=None)
