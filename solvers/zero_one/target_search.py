"""Exact search for the counterfactual optima of many points: the least 0-1 objective of a classifier that keeps a given row.

`marginopt.questions.stability` calls it: the optima measure how firmly the data decide each prediction.

For targets a_t (rows s x_t of points x_t and forced signs s) and f(w) = Σ_{penalised} w_j² + Σ_i λ_i 1{a_i'w < 1}

    L_t = min {f(w) : a_t'w ≥ 1}.

The targets share the reduced problem, every classifier that is found, and every bound that is proved:

1. A classifier is an upper bound of every target that some multiple of it keeps.
2. A target whose upper bound equals the proved optimum of f needs no search.
3. The other targets are searched by falling upper bounds U_t of L_t. If L_s ≥ U_t is proved, no w of value below U_t keeps target
   s. So the boxes of target t are searched among the w with a_s'w < 1 for all such s, rows of weight 0 that count as violated.
4. Values above a cap are of no interest: U_t counts as the cap, and L_t is proved to be at least that.
5. A classifier of t that lowers U_t ends the search of t: the targets that are then above it go first.
6. Where every λ_i is a whole multiple of σ, the boxes need to cover only the w with ||w||² = U_t - jσ for a whole j, where ||.||
   is the norm of the penalised coordinates.

*Proof of 6.* Let f(w) < U_t, and let w have a penalised coordinate other than 0. Let S be the least number U_t - jσ ≥ ||w||².
The loss of w is some jσ < U_t - ||w||², so that it is at most U_t - S. For r ≥ 1 the multiple rw keeps what w keeps, and its loss
is no larger. So f(rw) < U_t for all r with r²||w||² < S. Near S these rw are in a closed box that meets the norm S. If no
penalised coordinate of w differs from 0, w is one of two trivial classifiers, which 1 has counted.

By induction over the order of 3 every bound holds for the stated problem, rounding included, as in `zero-one-bb`. A search that a
limit ends has the least bound of its open boxes less σ: f(w) ≥ f(rw) - σ.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ...models.arrays import BoolArray, FloatArray, IntArray
from ...models.views import ZeroOneProblem
from ..exact.options import Limits
from .box_engine import BoxSearchData, positive_side
from .heuristic import LocalSearch
from .incumbent import HardMarginSolver, solve_hard_margin
from .loops.box_records import (
    CANDIDATE,
    DEFAULT_MEMORY,
    DONE,
    FREE,
    GROW,
    KEPT,
    LEAF,
    PAGE,
    VIOLATED,
    BoxData,
    BoxPool,
    allocate_pool,
    empty_workspace,
    enlarge_within_memory,
    initialise_pool,
    least_bound,
)
from .loops.box_search import explore
from .reduced import ReducedZeroOneProblem, reduce_problem, rotate_for_boxes, scale_and_evaluate_all

#: Entries beyond this, and below its inverse, are not searched about.
_HUGE = 1e300
#: Nodes between two checks of the limits.
_CHUNK = 2000
#: Nodes between two candidates: a better classifier shortens the searches of all later targets.
_PERIOD = 8
#: Relative error of the norm in reduced coordinates that `BoxData.scaled_to_cut` allows for.
_SHRINK = 1e-10
#: Relative difference of values that rounding may make.
_ROUNDING = 1e-12
#: Directions without success that end a descent.
_PATIENCE = 100
#: Rounds of random classifiers, about the optimum and then about each target's best one; their number for each target in a round,
#: and their relative distances.
_ROUNDS, _SAMPLES, _DISTANCES = 2, 20, (0.01, 0.03, 0.1, 0.3, 1.0)


@dataclass(frozen=True, eq=False)
class TargetBounds:
    """Intervals [bound, value] that hold the counterfactual optima L_t of all targets."""

    bound: FloatArray  #: (targets,) proved lower bounds of L_t; none is above the cap
    value: FloatArray  #: (targets,) objectives of the classifiers found; ∞ without one
    w: FloatArray  #: (targets, p) these classifiers; NaN without one
    nodes: int  #: number of processed nodes
    finished: bool  #: whether every interval is within the tolerance or above the cap; false if a limit ended the search


class TargetSearch:
    """Search for the counterfactual optima of several targets.

    Parameters
    ----------
    problem : ZeroOneProblem
        The problem whose objective is f.
    rows : ndarray (targets, p)
        The rows a_t, none of them zero; ±1 in the column of a free intercept, as the problem's own rows.
    w : ndarray (p,)
        A classifier of small objective.
    optimum_bound : float
        A proved lower bound of min f.
    cap : float
        Bounds above it are of no interest.
    limits : Limits
        ``tol`` is the relative gap of every target; ``nodes`` counts the nodes of all.

    Attributes
    ----------
    nodes : int
        Number of processed nodes of all targets.
    """

    def __init__(
        self, problem: ZeroOneProblem, rows: FloatArray, w: FloatArray, optimum_bound: float, cap: float, limits: Limits
    ) -> None:
        self._problem, self._targets, self._limits = problem, rows, limits
        self._optimum_bound = optimum_bound
        plain = rotate_for_boxes(reduce_problem(problem, full=True))
        self._first = len(plain.weights)
        self._cap = (cap - plain.constant) / plain.unit
        plain = plain.with_intercept_scale(min(plain.trivial_value, self._cap))
        self._reduced = _with_targets(plain, rows)
        self._sides = positive_side(self._reduced, rows)
        self._polish = HardMarginSolver.of(self._reduced)
        self._values = np.full(len(rows), math.inf)
        self._points = np.full((len(rows), self._reduced.rows.shape[1]), math.nan)
        self._proved = np.full(len(rows), max((optimum_bound - plain.constant) / plain.unit, 0.0))
        self.nodes = 0
        with np.errstate(all="ignore"):  # norms overflow where the squares of the data are zero
            self._offer_start(self._reduced.to_reduced(w))

    @property
    def _cutoffs(self) -> FloatArray:
        """Values below these are searched for, in units of the reduced problem."""
        return np.minimum(self._values * (1.0 - 0.9 * self._limits.tol), self._cap)

    def _offer_start(self, v: FloatArray) -> None:
        """Offer the trivial classifiers, the given one, and random ones about it that keep a target."""
        reduced, rng = self._reduced, np.random.default_rng(0)
        p = v.size
        if reduced.free:
            for b in (-1.0, 1.0):
                self._offer(np.append(np.zeros(p - 1), b / reduced.stretch))
        self._offer(v)
        for attempt in range(_ROUNDS):
            for target, row in enumerate(reduced.rows[self._first :]):
                if self._limits.expired:
                    return
                centre = v if attempt == 0 or np.isnan(self._points[target, 0]) else self._points[target]
                length = float(np.abs(row).max())  # squares of tiny entries are zero
                if not 1.0 / _HUGE < length < _HUGE:
                    continue
                unit = row / length
                square = length * float(unit @ unit)
                size = float(np.abs(centre).mean()) or 1.0 / length  # the optimum may be w = 0
                for _ in range(_SAMPLES):
                    start = centre + rng.normal(size=p) * size * rng.choice(_DISTANCES)
                    margin = float(row @ start) / size
                    self._offer(start + max(1e-3 - margin, 0.0) * size / square * unit)
            self._polish_all(np.isfinite(self._values))
        for target in np.argsort(self._values, kind="stable"):
            if not self._limits.expired and np.isfinite(self._values[target]):
                self._descend(int(target), rng)

    def _descend(self, target: int, rng: np.random.Generator) -> None:
        """Search along lines from a target's best classifier, the target kept."""
        reduced = self._reduced
        weights = reduced.weights.copy()
        weights[self._first + target] = 2.0 * float(weights.sum())
        search = LocalSearch(reduced.rows, weights, reduced.free, self._points[target], rng, _PATIENCE)
        while not search.finished:
            search.step()
        self._offer_polished(search.w)

    def _offer_polished(self, v: FloatArray) -> None:
        """Offer the multiples of v to every target, and polish the classifiers that are new."""
        before = self._values.copy()
        self._offer(v)
        self._polish_all(self._values < before)

    def _offer(self, v: FloatArray) -> None:
        """Offer the multiples of v to every target: the best one that keeps it, by trying every crossing of a margin."""
        reduced = self._reduced
        margins = reduced.rows @ v
        order = np.argsort(-margins, kind="stable")[: int((margins > 1e-9).sum())]
        norm = float(v[:-1] @ v[:-1]) if reduced.free else float(v @ v)
        if not order.size or not np.isfinite(norm):
            return
        scales = (1.0 - 1e-12) / margins[order]  # `_verified` raises a margin of 1 - 1e-12 to 1
        values = scales * scales * norm + (float(reduced.weights.sum()) - np.cumsum(reduced.weights[order]))
        best = np.flatnonzero(values == np.minimum.accumulate(values[::-1])[::-1])
        positions = np.flatnonzero(order >= self._first)
        targets, chosen = order[positions] - self._first, best[np.searchsorted(best, positions)]
        better = values[chosen] < self._values[targets] * (1.0 - _ROUNDING)
        targets, chosen = targets[better], chosen[better]
        self._points[targets], self._values[targets] = scales[chosen, None] * v, values[chosen]

    def _polish_all(self, changed: BoolArray) -> None:
        """Offer the least norm that keeps the points and the target that a changed classifier keeps, once for equal sets."""
        visited: set[bytes] = set()
        for target in np.flatnonzero(changed):
            satisfied = self._reduced.rows @ self._points[target] >= 1.0 - 1e-7
            satisfied[self._first :] = False
            satisfied[self._first + target] = True
            if satisfied.tobytes() not in visited:
                visited.add(satisfied.tobytes())
                self._offer_kept(satisfied)

    def _offer_kept(self, demanded: BoolArray) -> None:
        w = self._polish.solve(demanded)
        if w is not None:
            self._offer(self._reduced.to_reduced(w))

    def run(self) -> TargetBounds:
        """Search target by target until all are decided or a limit ends the search; return the intervals."""
        decided, finished = self._proved >= self._cutoffs, True
        while not decided.all() and not self._out_of_budget:
            pending = np.flatnonzero(~decided)
            cutoffs = self._cutoffs[pending]
            ties = pending[cutoffs == cutoffs.max()]
            target = int(ties[np.argmin(self._values[ties])])  # the one nearest to the cap implies most about the others
            cutoff = float(self._cutoffs[target])
            bound = self._search(target, cutoff)
            if bound is None:
                continue
            decided[target], finished = True, finished and bound >= cutoff
            self._proved[target] = max(self._proved[target], bound)
            decided |= self._proved >= self._cutoffs
        return self._bounds(finished and bool(decided.all()))

    @property
    def _out_of_budget(self) -> bool:
        limits = self._limits
        return limits.expired or (limits.nodes is not None and self.nodes >= limits.nodes)

    def _search(self, target: int, cutoff: float) -> float | None:
        """Search the boxes of a target for values below its cutoff.

        Return a lower bound of L: the cutoff if the search ends without a value below it. Return None as soon as a better
        classifier lowers the cutoff.
        """
        reduced = replace(self._reduced, weights=self._reduced.weights.copy())
        reduced.weights[self._first + target] = 2.0 * max(cutoff, float(reduced.weights.sum()))
        search_data = BoxSearchData.of(reduced, cutoff)
        scaled = reduced.step > 0.0 and reduced.shrink <= _SHRINK
        unit = float(search_data.data.weights[: self._first].mean())
        data = search_data.data._replace(unit=unit, positive=self._sides, scaled_to_cut=scaled)
        pool = self._root(target, cutoff, data, reduced.root_half_widths(cutoff))
        workspace, total = empty_workspace(*data.rows.shape), float(data.weights.sum())
        nodes_before, closed, open_bound = self.nodes, False, cutoff
        while not closed and not self._out_of_budget:
            code = explore(data, pool, workspace, cutoff, _CHUNK, _PERIOD, total)
            self.nodes = nodes_before + int(pool.scalars.nodes)
            closed = code == DONE
            if code == CANDIDATE:
                self._offer_candidate(target, pool)
            elif code == LEAF:
                open_bound = min(open_bound, self._close_leaf(target, data, search_data.leaf_rows, pool))
            elif code == GROW:
                larger = enlarge_within_memory(pool, self._limits.memory_or(DEFAULT_MEMORY))
                if larger is None:
                    break
                pool = larger
            if float(self._cutoffs[target]) < cutoff:
                return None
        if closed:
            return open_bound
        return min(open_bound, least_bound(pool) - _excess(data))

    def _root(self, target: int, cutoff: float, data: BoxData, half: FloatArray) -> BoxPool:
        """Return a pool with the box |v| ≤ ``half``, the target kept, and the targets proved to cost the cutoff violated."""
        n, p = data.rows.shape
        pool, cuts = allocate_pool(n, p, 0), np.flatnonzero(self._proved >= cutoff)
        initialise_pool(pool, half, data.weights >= cutoff)
        self._add_root(pool, np.append(np.arange(self._first), self._first + target), self._first + cuts[cuts != target])
        pool.candidate[p] = cutoff
        return pool

    def _add_root(self, pool: BoxPool, points: IntArray, cuts: IntArray) -> None:
        """Leave the root these points, and the rows that no solution of interest keeps."""
        chosen = np.concatenate([points, cuts])
        page = int(pool.page[0])
        states = np.full(len(chosen), FREE, np.int8)
        states[len(points) :] = VIOLATED
        states[len(points) - 1] = KEPT
        for start in range(0, len(chosen), PAGE):
            part = slice(start, min(start + PAGE, len(chosen)))
            count = part.stop - part.start
            pool.point[page, :count], pool.state[page, :count] = chosen[part], states[part]
            pool.lower[page, :count] = -np.inf
            page = int(pool.link[page])
        pool.count[0] = len(chosen)

    def _offer_candidate(self, target: int, pool: BoxPool) -> None:
        p = self._points.shape[1]
        self._offer_polished(pool.candidate[:p].copy())
        pool.candidate[p] = min(float(pool.candidate[p]) * (1.0 - _ROUNDING), float(self._cutoffs[target]))

    def _close_leaf(self, target: int, data: BoxData, leaf_rows: Any, pool: BoxPool) -> float:
        """Close a leaf by the least norm of its kept rows; return its bound if rounding leaves it unresolved, else ∞."""
        from .loops.conflict_records import CONFLICT

        state, bound = pool.leaf.copy(), float(pool.candidate[-1])
        is_kept = state == KEPT
        is_kept[self._first :] = False
        is_kept[self._first + target] = True
        violated = float(data.weights[: self._first][state[: self._first] == VIOLATED].sum())
        for attempt in range(2):  # the leaf may hold a better classifier, and the cutoff below its value
            level = float(self._cutoffs[target]) - violated * (1 - 1e-15 * len(state))
            if level <= 0.0:
                return math.inf
            if solve_hard_margin(leaf_rows, is_kept, level)[0] == CONFLICT:
                return math.inf
            if attempt == 0:
                self._offer_kept(is_kept)
        return max(bound - _excess(data), violated)

    def _bounds(self, finished: bool) -> TargetBounds:
        """Return the intervals in original units, every classifier judged on the stated data."""
        reduced = self._reduced
        values, points = np.full(len(self._values), math.inf), np.full(self._targets.shape, math.nan)
        for target in np.flatnonzero(np.isfinite(self._values)):
            values[target], points[target] = self._verified(int(target), reduced.to_original(self._points[target]))
        bounds = np.array([max(reduced.original_bound(b), self._optimum_bound) for b in self._proved])
        return TargetBounds(np.minimum(bounds, values), values, points, self.nodes, finished)

    def _verified(self, target: int, w: FloatArray) -> tuple[float, FloatArray]:
        """Return the objective of the best multiple of w near it that keeps the target, and that multiple; (∞, NaN) without."""
        problem, row = self._problem, self._targets[target]
        weight = 4.0 * float(problem.weights.sum()) + 1.0
        extended = ZeroOneProblem(np.vstack([problem.A, row]), np.append(problem.weights, weight), problem.penalised)
        best, point = math.inf, np.full(w.size, math.nan)
        for value, scaled in scale_and_evaluate_all(extended, w):
            if value < best and float(row @ scaled) >= 1.0:
                best, point = value, scaled
        return best, point


def _with_targets(reduced: ReducedZeroOneProblem, rows: FloatArray) -> ReducedZeroOneProblem:
    """Return the reduced problem with the targets as last rows, of weight 0. T is square, so that they have no residual."""
    return replace(
        reduced,
        rows=np.ascontiguousarray(np.vstack([reduced.rows, rows @ reduced.T])),
        weights=np.append(reduced.weights, np.zeros(len(rows))),
        residual=np.append(reduced.residual, np.zeros(len(rows))),
    )


def _excess(data: BoxData) -> float:
    """Return a bound on f(rw) - f(w) for the multiple rw of w that the boxes cover, see 6 above."""
    return float(data.step) if data.scaled_to_cut else 0.0
