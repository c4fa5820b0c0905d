"""Compiled: what every system of a node costs at least, in whole units.

A node is a box l ≤ ρ ≤ u of whole coefficients with two marks: ``must`` (these coefficients are not 0) and ``more`` (at least one
of those that are not decided, 0 in [l_j, u_j] and no ``must``, is not 0).

- *Cells.* Points that agree wherever ρ_j may be other than 0 have one score: of the two classes in a cell one is wrong.
- *Pairs.* Where max ρ'(x - x') < 2t over the box, a point x of class +1 and x' of class -1 are not both right, whatever the
  intercept. So what is wrong covers the edges of a bipartite graph, and any flow in it, from class +1 to class -1 within the
  points' costs, is a lower bound; the largest flow is the best one (König).
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from ..interface.by_reference import by_reference
from .compiled import inner
from .flow import PAIRS, flow
from .reduced import ReducedScoringProblem

__all__ = ["ALL", "Rows", "Scratch", "bound", "rows_of", "scratch_for"]

#: What a node without a feasible system costs.
ALL = np.int64(2**62)
#: Entries of the table by which cells are split; where it would be larger every row is a cell.
_SEEN = 4_000_000


@by_reference
class Rows(NamedTuple):
    """The data and the prices (`Reduced`)."""

    Z: Any
    codes: Any
    levels: Any
    positive: Any
    negative: Any
    apart: Any
    whole: Any
    price: Any
    size_price: Any
    most: Any


@by_reference
class Scratch(NamedTuple):
    """Room for one node: cells, their costs, and the graph of pairs."""

    cell: Any
    seen: Any
    first: Any
    P: Any
    Q: Any
    active: Any
    plus: Any
    minus: Any
    high: Any
    low: Any
    left: Any
    right: Any
    flow: Any
    pair: Any
    from_plus: Any
    from_minus: Any
    queue: Any


def rows_of(reduced: ReducedScoringProblem) -> Rows:
    """Return the rows that the loops read."""
    r = reduced
    return Rows(
        r.Z, r.codes, r.levels, r.positive, r.negative, r.apart, r.whole, np.int64(r.price), np.int64(r.size_price),
        np.int64(r.problem.most),
    )  # fmt: skip


def scratch_for(reduced: ReducedScoringProblem) -> Scratch:
    """Room for the problem's nodes."""
    m, d = reduced.Z.shape
    plus, minus = int((reduced.positive > 0).sum()), int((reduced.negative > 0).sum())
    side = (min(plus, m), min(minus, m)) if plus * minus <= PAIRS else (int(PAIRS**0.5), int(PAIRS**0.5))
    seen = int(min(max(int(reduced.levels.max(initial=1)) * m, 1), _SEEN))
    room: dict[str, Any] = {name: np.zeros(m, np.int64) for name in Scratch._fields}
    room |= {"seen": np.zeros(seen, np.int64), "active": np.zeros(d, np.int64), "high": np.zeros(m), "low": np.zeros(m)}
    room |= {"flow": np.zeros(side, np.int64), "pair": np.zeros(side, np.bool_)}
    return Scratch(**room)


@inner
def _tighten(rows: Any, l: Any, u: Any, must: Any, more: Any) -> Any:
    """Carry the consequences of ``must``, ``more`` and the limit into the box: (least units of the prices, or ALL; more)."""
    d = l.size
    for _ in range(2):
        used, undecided, last, units = 0, 0, -1, 0
        for j in range(d):
            if must[j]:
                if l[j] == 0:
                    l[j] = 1
                if u[j] == 0:
                    u[j] = -1
            if l[j] > u[j]:
                return ALL, more
            if l[j] > 0 or u[j] < 0 or must[j]:
                used += 1
                units += rows.price + rows.size_price * max(l[j], -u[j], 1)
            elif l[j] < u[j]:
                undecided += 1
                last = j
        if more and undecided == 0:
            return ALL, more
        if used + more > rows.most:
            return ALL, more
        if more and undecided == 1:
            must[last] = True
            more = 0
            continue
        if used == rows.most and undecided > 0:
            for j in range(d):
                if l[j] <= 0 <= u[j] and not must[j]:
                    l[j] = u[j] = 0
        break
    if more:
        units += rows.price + rows.size_price
    return units, more


@inner
def _cells(rows: Any, l: Any, u: Any, s: Any) -> Any:
    """Merge the rows that agree on the active columns: (number of cells, of active columns); costs in P and Q, a row of each."""
    m, d = rows.Z.shape
    active, count, merged = 0, 1, True
    for i in range(m):
        s.cell[i] = 0
    for j in range(d):
        if l[j] == 0 and u[j] == 0:
            continue
        s.active[active] = j
        active += 1
        levels = rows.levels[j]
        merged = merged and count < m and levels * count <= s.seen.size
        if not merged:
            continue
        for k in range(levels * count):
            s.seen[k] = -1
        new = 0
        for i in range(m):
            k = levels * s.cell[i] + rows.codes[j, i]
            if s.seen[k] < 0:
                s.seen[k] = new
                new += 1
            s.cell[i] = s.seen[k]
        count = new
    if not merged:
        for i in range(m):
            s.first[i], s.P[i], s.Q[i] = i, rows.positive[i], rows.negative[i]
        return m, active
    for c in range(count):
        s.P[c] = s.Q[c] = 0
    for i in range(m):
        c = s.cell[i]
        s.first[c] = i
        s.P[c] += rows.positive[i]
        s.Q[c] += rows.negative[i]
    return count, active


@inner
def bound(rows: Any, l: Any, u: Any, must: Any, more: Any, cut: Any, flows: Any, s: Any) -> Any:
    """Tighten the node and bound it, by flows too where that is asked for: (units, or some number ≥ cut; more)."""
    units, more = _tighten(rows, l, u, must, more)
    if units >= cut:
        return units, more
    count, active = _cells(rows, l, u, s)
    errors = np.int64(0)
    for c in range(count):
        errors += min(s.P[c], s.Q[c])
    if units + errors >= cut or not flows:
        return units + errors, more
    wide = rows.whole
    for t in range(active):  # whole rows that differ can differ by 2 in score: no pairs but those of one cell
        j = s.active[t]
        wide = wide and l[j] <= -rows.apart and u[j] >= rows.apart
    if wide:
        return units + errors, more
    return units + flow(rows, l, u, active, count, cut - units, s), more
