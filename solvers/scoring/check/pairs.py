"""Multipliers of pairs of opposite points, and the bound of a node that follows from them.

Of a point x of class +1 and x' of class -1 that are both right, the scores differ by 2t: with v = x - x', ρ'v ≥ 2t. So in a box,
where z and z' say that x and x' are wrong,

- ρ'v + M (z + z') ≥ 2t, M = (2t - min ρ'v)_+, min over the box;
- and, where the coefficients that are decided do not reach 2t, some other one must help: Σ_{j: ρ_j v_j > 0} 1 + z + z' ≥ 1 over j
  that are not decided.

With multipliers μ ≥ 0 of the first rows, λ ≥ 0 of the second ones and ν ≥ 0 of the limit ||ρ||_0 ≤ k, every system costs at least

    Σ λ + 2t Σ μ - ν k + Σ_j min_ρ_j {(price + ν) 1{ρ_j ≠ 0} + size price |ρ_j| - Λ_j(sign ρ_j) - ρ_j Σ μ v_j}
        + Σ_i min{0, c_i - Σ (λ + μ M)},

the last sum over rows of points, its inner one over the pairs that hold them: costs, less what each row of the program is short
of its right side, times its multiplier. Λ_j(s) is the sum of λ over the pairs that ρ_j helps where it has this sign.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from ...exact.check.arithmetic import InvalidProofError
from .data import LoggedScoringProblem, Whole
from .node import CheckedNode

__all__ = ["LoggedMultipliers"]


@dataclass(frozen=True, eq=False)
class LoggedMultipliers:
    """Whole multipliers of pairs of points, over a common denominator."""

    denominator: Fraction
    limit: int
    plus: list[int]
    minus: list[int]
    cover: Whole
    margin: Whole

    @staticmethod
    def read(record: dict[str, Any], data: LoggedScoringProblem) -> LoggedMultipliers:
        """Read the log's pairs of points of the two classes, none of the multipliers below 0."""
        denominator, limit, pairs = Fraction(record["denominator"]), int(record["limit"]), record["pairs"]
        plus, minus, cover, margin = ([int(pair[t]) for pair in pairs] for t in range(4))
        y = data.problem.y
        if not all(0 <= i < y.size and y[i] > 0 for i in plus) or not all(0 <= i < y.size and y[i] < 0 for i in minus):
            raise InvalidProofError("a pair is none of opposite points")
        if denominator <= 0 or min([limit, *cover, *margin]) < 0:
            raise InvalidProofError("a multiplier is below 0")
        return LoggedMultipliers(denominator, limit, plus, minus, np.array(cover, dtype=object), np.array(margin, dtype=object))

    def least(self, data: LoggedScoringProblem, node: CheckedNode) -> Fraction:
        """Return the bound that the multipliers prove of a tightened node, rounded up to a possible sum of costs and prices."""
        p, used = data.problem, set(node.used())
        low, high = (np.array(side, dtype=object) for side in (node.lower, node.upper))
        v = data.rows[data.row_of[self.plus]].astype(object) - data.rows[data.row_of[self.minus]].astype(object)
        most, fewest = np.maximum(low * v, high * v), np.minimum(low * v, high * v)
        free = np.zeros(low.size, dtype=bool)
        free[node.undecided()] = True
        valid = most[:, ~free].sum(axis=1) < data.apart
        cover = self.cover * valid * data.scale
        helps = [(cover[:, None] * (free & (s * v > 0))).sum(axis=0) for s in (1, -1)]
        tilt = (self.margin[:, None] * v).sum(axis=0)
        whole, nu = self.denominator * data.scale, self.limit * data.scale
        total = cover.sum() + data.apart * self.margin.sum() - nu * p.most
        for j in range(low.size):
            a, b = node.lower[j], node.upper[j]
            values = [Fraction(0)] if a <= 0 <= b and j not in used else []
            for side, least, largest in ((1, max(a, 1), b), (-1, max(-b, 1), -a)):
                for size in {least, largest} if least <= largest else set():
                    price = whole * (p.price + p.size_price * size) + nu
                    values.append(price - helps[side < 0][j] - side * size * tilt[j])
            total += min(values)
        lacks = cover + self.margin * np.maximum(data.apart - fewest.sum(axis=1), 0)
        for costs, points in zip(data.sides, (self.plus, self.minus), strict=True):
            spent: dict[int, int] = {}
            for row, lack in zip(data.row_of[points].tolist(), lacks.tolist(), strict=True):
                spent[row] = spent.get(row, 0) + lack
            total += sum(min(Fraction(0), whole * Fraction(int(costs[row]), data.unit) - s) for row, s in spent.items())
        step = math.lcm(data.unit, p.price.denominator, p.size_price.denominator)
        return Fraction(math.ceil(Fraction(total) / whole * step), step)
