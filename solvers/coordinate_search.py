"""Costs of values of a form's leading block (w of a classifier), and exact line searches along its coordinates.

Most variables beside the leading block are slacks: each has rows of its own, and its least value is the largest of what they
ask, rounded up if it is an integer. The cost of w is then known without a solver. Along a coordinate it is a quadratic with
*kinks* and jumps, where a row meets a bound of its slack: a margin its threshold, a coefficient zero. Between two of them the
cost is smooth, so the least one is at a kink, just beside it, or where the derivative vanishes between two.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp

from ..models.arrays import BoolArray, FloatArray, IntArray
from ..models.program.cones import Nonnegative, Zero
from ..models.program.form import StandardForm

#: What an integer slack may fall short of the value that its row needs.
_INTEGRAL = 1e-9
#: Distance of a point beside a kink, relative to the kink: a margin counted in doubles is then on the right side.
_BESIDE = 1e-12
#: Coordinates that are searched, passes over them, and entries of the table of costs for one search.
_COORDINATES, _PASSES, _TABLE = 16, 2, 2e5
#: Relative fall of the cost that counts.
_FALL = 1e-12


@dataclass(frozen=True, eq=False)
class LeadingCosts:
    """The least cost of feasible points with given values of the leading block.

    Where rows hold several other variables it is a lower bound; where quadratic terms do it is not known.
    """

    P: sp.csr_array | None  #: of the leading block
    q: FloatArray
    r: float
    rows: sp.csc_array  #: rows of one slack each, by slack; the slack is at least -(row @ w + constant) / coefficient
    constants: FloatArray
    coefficients: FloatArray
    groups: IntArray  #: first row of each slack that has rows
    slacks: IntArray  #: that slack
    prices: FloatArray  #: of all other variables
    lower: FloatArray
    upper: FloatArray
    integer: BoolArray
    determined: bool  #: False where quadratic terms hold other variables
    low: FloatArray  #: bounds of the leading block
    high: FloatArray
    integer_leading: BoolArray  #: its integers
    own_rows: sp.csc_array  #: rows of the leading block alone, which are at least -own_constants, or equal
    own_constants: FloatArray
    equations: BoolArray

    @classmethod
    def of(cls, form: StandardForm, first: slice) -> LeadingCosts:
        """Return the costs of a form's first variables."""
        others = np.r_[0 : first.start, first.stop : form.n]
        P = None if form.quadratic is None else form.quadratic.csc
        F, g = form.rows_matrix()
        other_columns = sp.csr_array(F[:, others])
        plain = np.concatenate(
            [np.full(c.rows, isinstance(c.cone, (Zero, Nonnegative))) for c in form.constraints] or [np.zeros(0, bool)]
        )
        equations = np.concatenate([np.full(c.rows, isinstance(c.cone, Zero)) for c in form.constraints] or [np.zeros(0, bool)])
        counts = np.diff(other_columns.indptr)
        lone_rows = np.flatnonzero(plain & (counts == 0))
        rows = np.flatnonzero(plain & (counts == 1))
        rows = rows[other_columns.data[other_columns.indptr[rows]] > 0.0]
        rows = rows[np.argsort(other_columns.indices[other_columns.indptr[rows]], kind="stable")]
        columns = other_columns.indices[other_columns.indptr[rows]]
        slacks, groups = np.unique(columns, return_index=True)
        return cls(
            P=None if P is None else sp.csr_array(P[first, first]),
            q=form.q[first],
            r=form.r,
            rows=sp.csc_array(F[rows][:, first]),
            constants=g[rows],
            coefficients=other_columns.data[other_columns.indptr[rows]],
            groups=groups,
            slacks=slacks,
            prices=form.q[others],
            lower=form.lower[others],
            upper=form.upper[others],
            integer=form.integer[others],
            determined=P is None or not P[:, others].nnz,
            low=form.lower[first],
            high=form.upper[first],
            integer_leading=form.integer[first],
            own_rows=sp.csc_array(F[lone_rows][:, first]),
            own_constants=g[lone_rows],
            equations=equations[lone_rows],
        )

    def __call__(self, w: FloatArray, tolerance: float = _INTEGRAL) -> float:
        """Return the cost of one w; -inf where it is not known. Integers may fall short of what they need by the tolerance."""
        if not self.determined:
            return -np.inf
        curvature = 0.0 if self.P is None else 0.5 * float(w @ (self.P @ w))
        return curvature + float(self.q @ w) + float(self._slack_costs((self.rows @ w)[None], tolerance)[0]) + self.r

    def _slack_costs(self, activity: FloatArray, tolerance: float = 0.0) -> FloatArray:
        """Return the cost of the other variables for each line of a table of row activities."""
        values = np.broadcast_to(self.lower, (len(activity), self.lower.size)).copy()
        if self.groups.size:
            needs = np.maximum.reduceat(-(activity + self.constants) / self.coefficients, self.groups, axis=1)
            values[:, self.slacks] = np.maximum(values[:, self.slacks], needs)
        values[:, self.integer] = np.ceil(values[:, self.integer] - tolerance)
        costs = np.where(self.prices > 0.0, self.prices * values, np.where(self.prices < 0.0, self.prices * self.upper, 0.0))
        return np.asarray(costs.sum(axis=1))

    def kinks(self, activity: FloatArray, column: FloatArray) -> FloatArray:
        """Return the steps along a column of the rows at which a row meets a threshold of its slack, sorted.

        The thresholds are the slack's lower bound and, for an integer, the next one.
        """
        sizes = np.diff(np.append(self.groups, self.constants.size))
        lower = np.repeat(self.lower[self.slacks], sizes)
        integer = np.repeat(self.integer[self.slacks], sizes)
        moving = column != 0.0
        steps = []
        for threshold, rows in ((lower, moving), (lower + 1.0, moving & integer)):
            missing = -(activity + self.constants + self.coefficients * threshold)[rows]
            steps.append(missing / column[rows])
        kinks = np.unique(np.concatenate(steps))
        return kinks[np.isfinite(kinks)]

    def step_limits(self, w: FloatArray, j: int) -> tuple[float, float]:
        """Return the least and the largest step of coordinate j that keep its bounds and the rows of the leading block alone."""
        column, slack = _column(self.own_rows, j), self.own_rows @ w + self.own_constants
        steps = np.divide(-slack, column, out=np.zeros(slack.size), where=column != 0.0)
        below = steps[(column > 0.0) | (self.equations & (column != 0.0))]
        above = steps[(column < 0.0) | (self.equations & (column != 0.0))]
        lowest_step, highest_step = max([float(self.low[j] - w[j]), *below]), min([float(self.high[j] - w[j]), *above])
        return (lowest_step, highest_step) if lowest_step <= highest_step else (0.0, 0.0)

    def line_minimum(self, w: FloatArray, j: int) -> float:
        """Return the value of coordinate j that costs least, the other coordinates as they are.

        With more kinks than the table of costs holds, evenly many are looked at, then all between the best one's neighbours.
        """
        activity, column, limits = self.rows @ w, _column(self.rows, j), self.step_limits(w, j)
        curvature = 0.0 if self.P is None else float(self.P[j, j])
        slope = float(self.q[j]) + (0.0 if self.P is None else float((self.P[[j]] @ w)[0]))

        def costs(steps: FloatArray) -> FloatArray:
            slacks = self._slack_costs(activity + steps[:, None] * column)
            return np.asarray(slope * steps + 0.5 * curvature * steps**2 + slacks)

        ends = [step for step in limits if np.isfinite(step)]
        kinks = np.unique(np.clip(self.kinks(activity, column), *limits))
        most = max(8, int(_TABLE / (6.0 * (1.0 + activity.size))))
        while kinks.size > most:
            stride = -(-kinks.size // most)
            best = int(np.argmin(costs(kinks[::stride]))) * stride
            kinks = kinks[max(best - stride, 0) : best + stride + 1]
        nudge = _BESIDE * (np.abs(kinks) + abs(float(w[j])))
        at_kinks = np.concatenate([[0.0, -w[j]], ends, kinks - nudge, kinks + nudge])
        steps = np.clip(np.append(at_kinks, _between(kinks, curvature, costs)), *limits)
        if self.integer_leading[j]:
            steps = np.concatenate([np.floor(w[j] + steps), np.ceil(w[j] + steps)]) - w[j]
            steps = steps[(steps >= limits[0]) & (steps <= limits[1])]
        return float(w[j] + steps[int(np.argmin(costs(steps)))]) if steps.size else float(w[j])

    def descend(self, start: FloatArray) -> Iterator[FloatArray]:
        """Yield the better points of each pass of exact searches along one coordinate after the other.

        Where costs are not known the points are the start with one coordinate at zero.
        """
        w = np.clip(start, self.low, self.high)
        if not self.determined:
            for j in range(min(w.size, _COORDINATES)):
                yield np.clip(np.where(np.arange(w.size) == j, 0.0, w), self.low, self.high)
            return
        lowest_cost = self(w, 0.0)
        for _ in range(_PASSES):
            before = lowest_cost
            for j in range(min(w.size, _COORDINATES)):
                trial = w.copy()
                trial[j] = self.line_minimum(w, j)
                cost = self(trial, 0.0)
                if cost < lowest_cost - _FALL * abs(lowest_cost):
                    w, lowest_cost = trial, cost
            if not lowest_cost < before:
                return
            yield w


def _column(rows: sp.csc_array, j: int) -> FloatArray:
    column = np.zeros(rows.shape[0])
    entries = slice(rows.indptr[j], rows.indptr[j + 1])
    column[rows.indices[entries]] = rows.data[entries]
    return column


def _between(kinks: FloatArray, curvature: float, costs: Callable[[FloatArray], FloatArray]) -> FloatArray:
    """Return the steps between two kinks, or beyond all, at which the derivative vanishes.

    Two costs of each interval give the slope there: beside the curvature the cost is linear.
    """
    if curvature <= 0.0:
        return np.zeros(0)
    kinks = kinks if kinks.size else np.zeros(1)
    ends = np.concatenate([[kinks[0] - 1.0 - abs(kinks[0])], kinks, [kinks[-1] + 1.0 + abs(kinks[-1])]])
    width = np.diff(ends)
    first, second = ends[:-1] + width / 3.0, ends[:-1] + 2.0 * width / 3.0
    slope = (costs(second) - costs(first)) / (second - first) - 0.5 * curvature * (first + second)
    steps = np.asarray(-slope / curvature)
    lowest_step, highest_step = np.append(-np.inf, kinks), np.append(kinks, np.inf)
    return steps[(steps >= lowest_step) & (steps <= highest_step)]
