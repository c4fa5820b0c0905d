"""Presolve of `supports-bb`: the problem with equal rows merged and costs in integer units, and the choice of branching.

The problem is min Σ_i c_i 1{y_i (ρ_0 + x_i'ρ) < t} + price ||ρ||_0 + size_price ||ρ||_1 over integers ρ_0, ρ within bounds, with
costs c_i, classes y_i = ±1 and a threshold t. A *system* is a vector (ρ_0, ρ).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from operator import mul

import numpy as np

from ...models.arrays import FloatArray, IntArray
from ...models.formulations.margin.problems import ScoringProblem, as_fraction

#: Largest sum of all costs in units; the search adds in 64-bit integers.
_MOST_UNITS = 2**60


@dataclass(frozen=True, eq=False)
class ReducedScoringProblem:
    """A scoring problem with equal rows merged: costs of each row's points by class, and prices, in integer multiples of 1/unit.

    Costs and prices are rounded down where no unit makes them integers, so that a bound in units is a lower bound. Objectives of
    systems are computed as fractions instead (`ScoringProblem.value`).
    """

    problem: ScoringProblem  #: the problem before the reduction
    Z: FloatArray  #: (m, d) distinct rows of the features
    codes: IntArray  #: (d, m) the entries of Z as the number of the value among its column's values
    levels: IntArray  #: (d,) number of different values of each column
    positive: IntArray  #: (m,) total cost in units of the points of class +1 with this row
    negative: IntArray  #: (m,) total cost in units of the points of class -1 with this row
    unit: Fraction  #: number of units in a cost of 1: a common denominator, or a power of two if that takes more than 2^60 units
    price: int  #: penalty of a coefficient that is not 0, in units
    size_price: int  #: penalty of |ρ_j| = 1, in units
    #: 2t, less rounding: the least difference of the scores of correctly classified points of class +1 and class -1
    separation: float
    integer_scores: bool  #: whether scores are integers that float64 represents
    exact: bool  #: whether costs and prices are integers in units, none rounded
    points: IntArray  #: (2, m) a point of class +1, and one of class -1, with this row; -1 where there is none

    def to_units(self, value: Fraction) -> int:
        """Return a value in units, rounded up: a node whose bound reaches it costs at least the value."""
        return math.ceil(value * self.unit)

    def from_units(self, units: int) -> Fraction:
        """Return a number of units as a cost, a fraction."""
        return units / self.unit


def reduce_problem(problem: ScoringProblem) -> ReducedScoringProblem:
    """Return the problem with equal rows merged; the unit is a common denominator, or a power of two if that is too large."""
    rows, row_of_point = np.unique(problem.X, axis=0, return_inverse=True)
    rows = np.ascontiguousarray(rows + 0.0)
    coded = [np.unique(column, return_inverse=True) for column in rows.T]
    values, inverse, counts = np.unique(problem.weights, return_inverse=True, return_counts=True)
    costs = [as_fraction(c) for c in values.tolist()]
    sizes = int(np.maximum(np.abs(problem.lower), np.abs(problem.upper)).sum())
    largest_cost = (
        sum(map(mul, costs, counts.tolist()), Fraction()) + problem.price * len(problem.lower) + problem.size_price * sizes
    )
    unit = Fraction(math.lcm(*{c.denominator for c in costs}, problem.price.denominator, problem.size_price.denominator))
    if unit * largest_cost > _MOST_UNITS:  # numerator and denominator apart: their quotient may be beyond the doubles
        unit = Fraction(2) ** math.floor(
            math.log2(_MOST_UNITS) - math.log2(largest_cost.numerator) + math.log2(largest_cost.denominator)
        )
    in_units = np.array([int(c * unit) for c in costs], dtype=np.int64)[inverse]
    sums, points = np.zeros((2, len(rows)), dtype=np.int64), np.full((2, len(rows)), -1)
    np.add.at(sums, ((problem.y < 0).astype(np.intp), row_of_point.ravel()), in_units)
    points[(problem.y < 0).astype(np.intp), row_of_point.ravel()] = np.arange(problem.y.size)
    reach = float((np.abs(rows) @ np.maximum(np.abs(problem.lower), np.abs(problem.upper))).max(initial=0.0))
    exact = problem.integer_scores and reach < 2.0**50
    rounding = 0.0 if exact else reach * (4 * rows.shape[1] + 8) * 2.0**-52
    separation = 2.0 * (math.ceil(problem.threshold) if exact else float(problem.threshold)) - rounding
    return ReducedScoringProblem(
        problem=problem,
        Z=rows,
        codes=np.array([code.ravel() for _, code in coded], dtype=np.int64).reshape(rows.shape[1], len(rows)),
        levels=np.array([values.size for values, _ in coded], dtype=np.int64),
        positive=sums[0],
        negative=sums[1],
        unit=unit,
        price=int(problem.price * unit),
        size_price=int(problem.size_price * unit),
        separation=separation,
        integer_scores=exact,
        exact=all((x * unit).denominator == 1 for x in {*costs, problem.price, problem.size_price}),
        points=points,
    )


#: Least number of features for the branching rules "supports" and "pairs"; most values of a column that has few values.
_MANY, _FEW_VALUES = 17, 4
#: "pairs" is chosen if opposite points with equal rows cost at most this fraction, 1/10, of the smaller class: pairs of points
#: then give better bounds than cells.
_ALIKE = 10


def choose_branching(reduced: ReducedScoringProblem) -> str:
    """Return the branching rule for "auto".

    "signs" splits by the sign of a coefficient, "supports" by whether it is 0, and "pairs" halves its range, with bounds by
    linear programs over pairs of points of opposite classes. "signs" if features are few or most have many values; else "pairs"
    if few points have an opposite point with an equal row, else "supports". Columns of many values distinguish nearly all
    points: if most columns do, linear programs over pairs cost more time than they save.
    """
    r = reduced
    d = r.Z.shape[1]
    if d < _MANY or 2 * np.count_nonzero(r.levels > _FEW_VALUES) > d:
        return "signs"
    alike, smaller_class = int(np.minimum(r.positive, r.negative).sum()), min(int(r.positive.sum()), int(r.negative.sum()))
    return "pairs" if alike * _ALIKE <= smaller_class else "supports"


def greedy_feature_order(reduced: ReducedScoringProblem) -> IntArray:
    """Return the features (d,) in the order in which a greedy choice reduces the errors of cells most.

    Points that agree on the features chosen so far form a cell, whose errors are the cost of its cheaper class. Once no cell has
    errors, the remaining features follow in their own order.
    """
    r = reduced
    order, candidates = [], list(range(len(r.codes)))
    cells, count = np.zeros(r.codes.shape[1], dtype=np.int64), 1

    def numbered(j: int) -> IntArray:
        """Return the cells, each parted by the column's values."""
        finer = cells * int(r.levels[j]) + r.codes[j]
        return finer if count * int(r.levels[j]) <= 4 * finer.size else np.unique(finer, return_inverse=True)[1].ravel()

    while candidates:
        finer = [numbered(j) for j in candidates]
        errors = [int(np.minimum(np.bincount(f, r.positive), np.bincount(f, r.negative)).sum()) for f in finer]
        best = int(np.argmin(errors))
        order.append(candidates.pop(best))
        _, cells = np.unique(finer[best], return_inverse=True)
        cells, count = cells.ravel(), int(cells.max()) + 1
        if errors[best] == 0:
            break
    return np.array([*order, *candidates], dtype=np.int64)


def class_spread(reduced: ReducedScoringProblem) -> FloatArray:
    """Return the mean |x_j - x'_j| (d,) of each feature over a sample of pairs of rows of the two classes."""
    pick = np.random.default_rng(0)
    sides = [np.flatnonzero(side > 0) for side in (reduced.positive, reduced.negative)]
    if not all(side.size for side in sides):
        return np.ones(reduced.Z.shape[1])
    a, b = (pick.choice(side, 4000) for side in sides)
    return np.asarray(np.abs(reduced.Z[a] - reduced.Z[b]).mean(axis=0) + 1e-12)
