"""Compiled lower bound of the cost of every scoring system in a node of `supports-bb`, in integer units of cost.

A scoring system ρ with intercept ρ_0 gives x the score f = ρ_0 + x'ρ; a point of class y = ±1 is classified correctly (is right)
if y f ≥ t, with a threshold t > 0. The cost is that of the other points, plus prices of the coefficients that are not 0.

A node is a box l ≤ ρ ≤ u of integer coefficients with two marks: ``forced`` (these coefficients are not 0) and
``needs_feature`` (at least one undecided coefficient, 0 in [l_j, u_j] and not ``forced``, is not 0).

- *Cells.* Points that agree on all features whose coefficient may differ from 0 have the same score and form a cell: all its
  points of at least one of the two classes are misclassified.
- *Pairs.* Where max ρ'(x - x') < 2t over the box, a point x of class +1 and x' of class -1 are not both classified correctly,
  whatever the intercept. So the misclassified points cover the edges of a bipartite graph. Any flow in it, from class +1 to class
  -1 within the points' costs, is a lower bound; the largest flow is the best one (König).

Integer scores are exact in whatever order they are summed; for others the bounds have a reserve for rounding.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from ..interface.numba_flags import Loops, by_reference
from .reduced_problem import ReducedScoringProblem

_loops = Loops(set(), Path(__file__).parent)
#: Decorators of the loops of this folder: those that Python calls, and those that only loops call.
entry, inner = _loops.entry, _loops.inner


# Compiled: the largest flow between the two classes of a node's cells, along pairs that are not both right.

#: Largest number of pairs of cells; if there are more, only the heaviest cells are looked at.
_PAIR_LIMIT = 4_000_000
#: Number of pairs, about, that the search for augmenting paths may look at before it ends with a flow that is not the largest.
_WORK = 10_000_000


@inner
def _heaviest(chosen: Any, count: Any, weight: Any, capacity: Any) -> Any:
    """Keep the ``capacity`` heaviest of the chosen cells, above a weight found by bisection; return their number."""
    if count <= capacity:
        return count
    low, high = np.int64(0), np.int64(0)
    for k in range(count):
        high = max(high, weight[chosen[k]])
    while low < high:
        middle = (low + high) // 2
        above = 0
        for k in range(count):
            above += weight[chosen[k]] > middle
        if above <= capacity:
            high = middle
        else:
            low = middle + 1
    positives, unused_count = 0, capacity
    for k in range(count):
        unused_count -= weight[chosen[k]] > low
    for k in range(count):
        equal = weight[chosen[k]] == low
        if weight[chosen[k]] > low or (equal and unused_count > 0):
            unused_count -= equal
            chosen[positives] = chosen[k]
            positives += 1
    return positives


@inner
def _pairs(data: Any, l: Any, u: Any, active: Any, m: Any, k: Any, s: Any) -> Any:
    """Return the cells of class +1 (m of them) and of class -1 (k) that are not both right, with a first flow and its value."""
    Z, total = data.Z, np.int64(0)
    for side in range(2):
        chosen, count, score = (s.plus, m, s.high) if side == 0 else (s.minus, k, s.low)
        for a in range(count):
            row = s.first[chosen[a]]
            centre = 0.0
            for t in range(active):
                j = s.active[t]
                centre += 0.5 * (l[j] + u[j]) * Z[row, j]
            score[a] = centre
    for a in range(m):
        x = s.first[s.plus[a]]
        for b in range(k):
            bound = s.high[a] - s.low[b]
            if bound < data.separation:
                z = s.first[s.minus[b]]
                for t in range(active):
                    j = s.active[t]
                    bound += 0.5 * (u[j] - l[j]) * abs(Z[x, j] - Z[z, j])
            s.pair[a, b] = bound < data.separation
            s.flow[a, b] = 0
            if s.pair[a, b] and s.left[a] > 0 and s.right[b] > 0:
                amount = min(s.left[a], s.right[b])
                s.flow[a, b] = amount
                s.left[a] -= amount
                s.right[b] -= amount
                total += amount
    return total


@inner
def _path(m: Any, k: Any, s: Any) -> Any:
    """Return a shortest augmenting path, by breadth: the cell of class -1 where it ends, or -1."""
    head, tail = 0, 0
    for b in range(k):
        s.from_plus[b] = -1
    for a in range(m):
        s.from_minus[a] = -2
        if s.left[a] > 0:
            s.queue[tail] = a
            tail += 1
            s.from_minus[a] = -1
    while head < tail:
        a = s.queue[head]
        head += 1
        for b in range(k):
            if s.pair[a, b] and s.from_plus[b] < 0:
                s.from_plus[b] = a
                if s.right[b] > 0:
                    return b
                for other in range(m):
                    if s.from_minus[other] == -2 and s.flow[other, b] > 0:
                        s.from_minus[other] = b
                        s.queue[tail] = other
                        tail += 1
    return -1


@inner
def _push(end: Any, s: Any) -> Any:
    """Augment the flow along the path that ends at ``end``; return the amount."""
    amount, b = s.right[end], end
    a = s.from_plus[b]
    while s.from_minus[a] >= 0:
        b = s.from_minus[a]
        amount = min(amount, s.flow[a, b])
        a = s.from_plus[b]
    amount = min(amount, s.left[a])
    s.right[end] -= amount
    s.left[a] -= amount
    b = end
    a = s.from_plus[b]
    s.flow[a, b] += amount
    while s.from_minus[a] >= 0:
        b = s.from_minus[a]
        s.flow[a, b] -= amount
        a = s.from_plus[b]
        s.flow[a, b] += amount
    return amount


@inner
def _flow(data: Any, l: Any, u: Any, active: Any, count: Any, demand: Any, s: Any) -> Any:
    """Return the value of a flow between the cells' classes: the largest, unless it reaches ``demand`` or takes too long."""
    m, k, base = 0, 0, np.int64(0)
    for c in range(count):
        m += s.plus_cost[c] > 0
        k += s.minus_cost[c] > 0
    if m > s.pair.shape[0] or k > s.pair.shape[1]:  # too many: each cell's own pair first, the heaviest of what is left after it
        for c in range(count):
            cell_flow = min(s.plus_cost[c], s.minus_cost[c])
            base += cell_flow
            s.plus_cost[c] -= cell_flow
            s.minus_cost[c] -= cell_flow
    m, k = 0, 0
    for c in range(count):
        if s.plus_cost[c] > 0:
            s.plus[m] = c
            m += 1
        if s.minus_cost[c] > 0:
            s.minus[k] = c
            k += 1
    m = _heaviest(s.plus, m, s.plus_cost, s.pair.shape[0])
    k = _heaviest(s.minus, k, s.minus_cost, s.pair.shape[1])
    for a in range(m):
        s.left[a] = s.plus_cost[s.plus[a]]
    for b in range(k):
        s.right[b] = s.minus_cost[s.minus[b]]
    total = base + _pairs(data, l, u, active, m, k, s)
    paths = 5 + _WORK // (m * k + 1)
    while total < demand and paths > 0:
        paths -= 1
        end = _path(m, k, s)
        if end < 0:
            break
        total += _push(end, s)
    return total


#: Bound of a node without a feasible system, in units.
INFEASIBLE = np.int64(2**62)
#: Entries of the table by which cells are split; where it would be larger every row is a cell.
_SEEN = 4_000_000


@by_reference
class ScoringData(NamedTuple):
    """The fields of a `ReducedScoringProblem` that the compiled loops read, under the same names."""

    Z: Any  #: (m, d) distinct rows of the features
    codes: Any  #: (d, m) the entries of Z as the number of the value among its column's values
    levels: Any  #: (d,) number of different values of each column
    positive: Any  #: (m,) total cost in units of the points of class +1 with each row
    negative: Any  #: (m,) total cost in units of the points of class -1 with each row
    separation: Any  #: 2t less rounding: the least difference of scores at which points of class +1 and -1 are both right
    integer_scores: Any  #: whether all scores are integers
    price: Any  #: price of a coefficient that is not 0, in units
    size_price: Any  #: price of |ρ_j| = 1, in units
    max_nonzeros: Any  #: limit of the number of coefficients that are not 0


@by_reference
class BoundWorkspace(NamedTuple):
    """Workspace of the bound of one node: cells of rows, their costs, and the graph of pairs of cells."""

    cell: Any  #: (m,) the cell of each row
    visited: Any  #: table from a cell and a column's value to the cell of both; -1 for combinations not met yet
    first: Any  #: (cells,) a row of each cell
    plus_cost: Any  #: (cells,) cost in units of the points of class +1
    minus_cost: Any  #: (cells,) cost in units of the points of class -1
    active: Any  #: (d,) the columns whose coefficients may be other than 0
    plus: Any  #: (m,) the cells with points of class +1 that take part in the flow
    minus: Any  #: (m,) the cells with points of class -1 that take part in the flow
    high: Any  #: (m,) scores of the cells ``plus`` at the middle of the box
    low: Any  #: (m,) scores of the cells ``minus`` at the middle of the box
    left: Any  #: (m,) costs of the cells ``plus`` that the flow does not use yet
    right: Any  #: (m,) costs of the cells ``minus`` that the flow does not use yet
    flow: Any  #: (plus, minus) the flow along each pair
    pair: Any  #: (plus, minus) whether the two are not both classified correctly
    from_plus: Any  #: (m,) breadth-first search: the cell from which each cell ``minus`` was reached; -1 if unreached
    from_minus: Any  #: (m,) the cell from which each cell ``plus`` was reached; -1 at a start, -2 if unreached
    queue: Any  #: (m,) the cells ``plus`` to be searched


def scoring_data(reduced: ReducedScoringProblem) -> ScoringData:
    """Return the data of a problem for the compiled loops."""
    r = reduced
    return ScoringData(
        r.Z, r.codes, r.levels, r.positive, r.negative, r.separation, r.integer_scores, np.int64(r.price), np.int64(r.size_price),
        np.int64(r.problem.max_nonzeros),
    )  # fmt: skip


def new_bound_workspace(reduced: ReducedScoringProblem) -> BoundWorkspace:
    """Return a workspace for bounding the nodes of a problem."""
    m, d = reduced.Z.shape
    plus, minus = int((reduced.positive > 0).sum()), int((reduced.negative > 0).sum())
    side = (min(plus, m), min(minus, m)) if plus * minus <= _PAIR_LIMIT else (int(_PAIR_LIMIT**0.5), int(_PAIR_LIMIT**0.5))
    table_size = int(min(max(int(reduced.levels.max(initial=1)) * m, 1), _SEEN))
    arrays: dict[str, Any] = {name: np.zeros(m, np.int64) for name in BoundWorkspace._fields}
    arrays |= {
        "visited": np.zeros(table_size, np.int64),
        "active": np.zeros(d, np.int64),
        "high": np.zeros(m),
        "low": np.zeros(m),
    }
    arrays |= {"flow": np.zeros(side, np.int64), "pair": np.zeros(side, np.bool_)}
    return BoundWorkspace(**arrays)


@inner
def _tighten(data: Any, l: Any, u: Any, forced: Any, needs_feature: Any) -> Any:
    """Tighten by the marks and the limit; return (least units of the prices, or INFEASIBLE; needs_feature)."""
    d = l.size
    for _ in range(2):
        used, undecided, last, units = 0, 0, -1, 0
        for j in range(d):
            if forced[j]:
                if l[j] == 0:
                    l[j] = 1
                if u[j] == 0:
                    u[j] = -1
            if l[j] > u[j]:
                return INFEASIBLE, needs_feature
            if l[j] > 0 or u[j] < 0 or forced[j]:
                used += 1
                units += data.price + data.size_price * max(l[j], -u[j], 1)
            elif l[j] < u[j]:
                undecided += 1
                last = j
        if needs_feature and undecided == 0:
            return INFEASIBLE, needs_feature
        if used + needs_feature > data.max_nonzeros:
            return INFEASIBLE, needs_feature
        if needs_feature and undecided == 1:
            forced[last] = True
            needs_feature = 0
            continue
        if used == data.max_nonzeros and undecided > 0:
            for j in range(d):
                if l[j] <= 0 <= u[j] and not forced[j]:
                    l[j] = u[j] = 0
        break
    if needs_feature:
        units += data.price + data.size_price
    return units, needs_feature


@inner
def _cells(data: Any, l: Any, u: Any, s: Any) -> Any:
    """Merge the rows that agree on the active columns into cells, stored in s; return the numbers of cells and active columns."""
    m, d = data.Z.shape
    active, count, merged = 0, 1, True
    for i in range(m):
        s.cell[i] = 0
    for j in range(d):
        if l[j] == 0 and u[j] == 0:
            continue
        s.active[active] = j
        active += 1
        levels = data.levels[j]
        merged = merged and count < m and levels * count <= s.visited.size
        if not merged:
            continue
        for k in range(levels * count):
            s.visited[k] = -1
        new = 0
        for i in range(m):
            k = levels * s.cell[i] + data.codes[j, i]
            if s.visited[k] < 0:
                s.visited[k] = new
                new += 1
            s.cell[i] = s.visited[k]
        count = new
    if not merged:
        for i in range(m):
            s.first[i], s.plus_cost[i], s.minus_cost[i] = i, data.positive[i], data.negative[i]
        return m, active
    for c in range(count):
        s.plus_cost[c] = s.minus_cost[c] = 0
    for i in range(m):
        c = s.cell[i]
        s.first[c] = i
        s.plus_cost[c] += data.positive[i]
        s.minus_cost[c] += data.negative[i]
    return count, active


@inner
def tighten_and_bound(data: Any, l: Any, u: Any, forced: Any, needs_feature: Any, cut: Any, flows: Any, s: Any) -> Any:
    """Tighten a node's box l ≤ ρ ≤ u in place; return its lower bound in units and its mark ``needs_feature``.

    ``data`` is a `ScoringData`, s a `BoundWorkspace`. The bound is the sum of the prices and of a bound of the errors: the
    value of a flow along pairs if ``flows`` is true, else the errors within cells. The flow is the largest one unless it reaches
    ``cut`` or takes too long. The bound is `INFEASIBLE` if the node holds no system.
    """
    units, needs_feature = _tighten(data, l, u, forced, needs_feature)
    if units >= cut:
        return units, needs_feature
    count, active = _cells(data, l, u, s)
    errors = np.int64(0)
    for c in range(count):
        errors += min(s.plus_cost[c], s.minus_cost[c])
    if units + errors >= cut or not flows:
        return units + errors, needs_feature
    wide = data.integer_scores
    for t in range(active):  # scores of integer rows that differ can then differ by 2t: only rows of one cell form pairs
        j = s.active[t]
        wide = wide and l[j] <= -data.separation and u[j] >= data.separation
    if wide:
        return units + errors, needs_feature
    return units + _flow(data, l, u, active, count, cut - units, s), needs_feature
