"""The linear program over pairs of opposite points that bounds a box, and the pairs that its solution violates.

In a^+, a^- (whether a coefficient is > 0, < 0), its two parts r^+, r^-, and z (which rows of points are wrong)

    min Σ_j price (a_j^+ + a_j^-) + size price (r_j^+ + r_j^-) + Σ_i c_i z_i,   a ≤ r ≤ (largest size) a,

where each pair gives up to two rows (`solvers.scoring.check.pairs`): the scores differ by 2t, and some coefficient that is not
decided helps, or a point of it is wrong. Pairs come as solutions violate them.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import scipy.sparse as sp

from ...models.arrays import FloatArray, IntArray
from .multipliers import Box, Held, Multipliers, Scores
from .reduced import Reduced
from .violated import Violated

__all__ = ["PairProgram", "Relaxed", "middle"]

#: Bits of multipliers beyond those of the cut.
_BITS = 44
#: Share of the gap that two rounds must close for another one, where the solution is not whole anyway.
_PROGRESS = 0.01
_NEAR = 1e-6


@dataclass(frozen=True, eq=False)
class Relaxed:
    """A solution of the program of a box: its value in units, what it uses, and the pairs that matter."""

    value: float
    use: FloatArray  #: (2, d): a^+ and a^-
    rho: FloatArray  #: r^+ - r^-
    wrong: FloatArray  #: (2, m): z by row, for each class
    held: Multipliers

    @property
    def whole(self) -> bool:
        """Whether it is a system."""
        return bool(max(np.abs(x - np.rint(x)).max() for x in (self.use, self.rho)) < _NEAR)

    def split(self, box: Box) -> tuple[int, int]:
        """Coefficient j and half h by which the solution is cut off, or the box shrinks: ρ_j ≤ h, ρ_j > h."""
        d = self.rho.size
        away = np.minimum(self.use, 1.0 - self.use) * (box.lower < box.upper)
        away[0, box.lower > 0] = away[1, box.upper < 0] = 0.0
        if away.max() > _NEAR:
            k = int(np.argmax(away))
            return k % d, 0 if k < d else -1
        between = np.abs(self.rho - np.rint(self.rho)) * (box.lower < box.upper)
        j = int(np.argmax(between))
        if between[j] > _NEAR:
            return j, int(np.floor(self.rho[j]))
        return middle(box)


class PairProgram:
    """Bounds of boxes by linear programs.

    Parameters
    ----------
    reduced : Reduced
    """

    def __init__(self, reduced: Reduced) -> None:
        self.reduced, self.scores, self.violated = reduced, Scores(reduced), Violated(reduced)
        self.unit = float(max(reduced.price, reduced.size_price, 1))

    def bound(self, box: Box, held: Held | None, cut: int, rounds: int = 40) -> tuple[int, Relaxed | None]:
        """What every system of the box costs at least, in units, and the program's solution; first with the pairs held."""
        best, values = None, []
        pairs = np.zeros((0, 2), dtype=np.int64) if held is None else held.multipliers.pairs
        for _ in range(rounds):
            solved = self._solve(box, pairs, cut)
            if solved is None:
                break
            best = solved
            values.append(solved.value)
            if solved.value >= cut:
                break
            slow = len(values) > 2 and values[-1] - values[-3] < _PROGRESS * (cut - values[-1])
            if slow and not solved.whole:
                break
            new = self.violated.pairs(box, solved.use, solved.rho, solved.wrong, pairs)
            if not new.size:
                break
            pairs = np.concatenate([pairs, new])
        return (0, None) if best is None else (self.scores.least(box, best.held), best)

    def _solve(self, box: Box, pairs: IntArray, cut: int) -> Relaxed | None:
        from scipy.optimize import linprog  # imported here: it is slow, and few problems need it

        r, d = self.reduced, box.lower.size
        rows = _rows_of(r, box, pairs)
        largest = np.concatenate([np.maximum(box.upper, 0), np.maximum(-box.lower, 0)]).astype(float)
        least = np.concatenate([np.maximum(box.lower, 0), np.maximum(-box.upper, 0)]).astype(float)
        used = (np.tile(box.must, 2) & (np.roll(largest, d) == 0)) | (least > 0)
        columns = np.flatnonzero(largest)
        c = columns.size
        if not c and not pairs.size:
            return None
        A, b = _matrix(r, box, rows, columns, largest[columns])
        points = [np.unique(side) for side in pairs.T]
        costs = np.concatenate([r.positive[points[0]], r.negative[points[1]]]) / self.unit
        prices = np.full(c, r.price / self.unit), np.full(c, r.size_price / self.unit)
        bounds = np.concatenate([
            np.column_stack([used[columns], np.ones(c)]), np.column_stack([least, largest])[columns],
            np.tile([0.0, 1.0], (costs.size, 1)),
        ])  # fmt: skip
        found = linprog(np.concatenate([*prices, costs]), A_ub=A, b_ub=b, bounds=bounds, method="highs-ds")
        if found.status != 0:
            return None
        use, parts, z = np.zeros(2 * d), np.zeros(2 * d), np.zeros((2, len(r.Z)))
        use[columns], parts[columns] = found.x[:c], found.x[c : 2 * c]
        z[0, points[0]], z[1, points[1]] = np.split(found.x[2 * c :], [points[0].size])
        held = self._whole(pairs, rows, -found.ineqlin.marginals * self.unit, cut)
        return Relaxed(found.fun * self.unit, use.reshape(2, d), parts[:d] - parts[d:], z, held)

    def _whole(self, pairs: IntArray, rows: _Rows, duals: FloatArray, cut: int) -> Multipliers:
        """Multipliers of the pairs that have one, rounded down."""
        denominator = 1 << max(0, _BITS - int(cut).bit_length())
        m = rows.helped.size
        whole = np.floor(np.maximum(duals[: m + rows.parted.size + 1], 0.0) * float(denominator))
        cover, margin = np.zeros(len(pairs)), np.zeros(len(pairs))
        cover[rows.helped], margin[rows.parted] = whole[:m], whole[m:-1]
        kept = (cover > 0) | (margin > 0)
        lists = (tuple(map(int, side[kept].tolist())) for side in (cover, margin))
        return Multipliers(denominator, int(whole[-1]), pairs[kept], *lists)


def middle(box: Box) -> tuple[int, int]:
    """The widest coefficient, and its middle."""
    j = int(np.argmax(box.upper - box.lower))
    return j, int(box.lower[j] + box.upper[j]) // 2


class _Rows(NamedTuple):
    """Pairs that have a row of either kind, v = x - x', what the second kind may lack, and the points of each pair."""

    V: FloatArray
    helped: IntArray
    parted: IntArray
    lack: FloatArray
    wrong: sp.csr_array


def _rows_of(r: Reduced, box: Box, pairs: IntArray) -> _Rows:
    V = r.Z[pairs[:, 0]] - r.Z[pairs[:, 1]]
    reach = np.maximum(box.lower * V, box.upper * V)[:, ~box.free].sum(axis=1)
    lack = np.maximum(r.apart - np.minimum(box.lower * V, box.upper * V).sum(axis=1), 0.0)
    sides = [np.unique(side, return_inverse=True)[1].ravel() for side in pairs.T]
    wrong = sp.hstack([_picks(side) for side in sides], "csr")
    return _Rows(V, np.flatnonzero(reach < r.apart), np.flatnonzero(lack > 0), lack, wrong)


def _matrix(r: Reduced, box: Box, rows: _Rows, columns: IntArray, largest: FloatArray) -> tuple[sp.csr_array, FloatArray]:
    """A x ≤ b in a, r and z: the two kinds of pairs, the limit on features, a ≤ r ≤ largest a, and one sign for each."""
    c, d, (V, helped, parted, lack, wrong) = columns.size, box.lower.size, rows
    signed, free = np.hstack([V, -V])[:, columns], np.tile(box.free, 2)[columns]
    one, width = sp.eye_array(c, format="csr"), sp.csr_array((c, wrong.shape[1]))
    blocks: list[list[sp.csr_array | None]] = [[sp.csr_array(np.ones((1, c))), None, None], [one, -one, width]]
    blocks.append([sp.csr_array(np.diag(-largest)), one, width])
    blocks.append([sp.csr_array((columns % d == np.arange(d)[:, None]).astype(float)), None, None])
    if parted.size:
        blocks.insert(0, [None, sp.csr_array(-signed[parted]), -wrong[parted] * sp.csr_array(lack[parted, None])])
    if helped.size:
        blocks.insert(0, [sp.csr_array(-((signed[helped] > 0) & free).astype(float)), None, -wrong[helped]])
    most, limit = [np.full(helped.size, -1.0), np.full(parted.size, -r.apart)], [float(r.problem.most)]
    return sp.block_array(blocks, format="csr"), np.concatenate([*most, limit, np.zeros(2 * c), np.ones(d)])


def _picks(columns: IntArray) -> sp.csr_array:
    """A one in the given column of each row."""
    shape = columns.size, int(columns.max(initial=-1)) + 1
    return sp.csr_array((np.ones(columns.size), (np.arange(columns.size), columns)), shape=shape)
