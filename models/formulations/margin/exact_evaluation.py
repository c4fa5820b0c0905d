"""Costs of a classifier in exact arithmetic, and the search for a nearby classifier on the cheaper side of the loss's jumps.

`ExactEvaluation` serves `Margin`, `cheaper_point` serves `ZeroOneSVM`, and `satisfies_margins` all that count violated margins.
*Kept points* are those whose margins a restriction requires to be at least 1. A solver's w meets the thresholds
at which costs jump up to rounding only: a margin of 1 - 1e-16 is below 1, and a coefficient of 1e-13 is not zero. The search sets
such coefficients to zero and moves w until the margins within a tolerance of a threshold are on its cheaper side. The cost of
the result is exact for the stored numbers. The move follows a direction in which all of these margins grow, and is as short as
rounding allows. Where two margins oppose each other, both are met with equality, by coefficients on a grid that the equations
map into itself.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
import scipy.sparse as sp

from ...arrays import BoolArray, FloatArray, IntArray
from ...rounding import gamma, round_down, two_product
from ...views import Budget
from .loss import Loss
from .part import AssemblyContext, Domain
from .problems import restriction_limits, rows_as_bounds
from .regularisers import Regulariser
from .restrictions import Restriction

#: How far from a threshold, relative to its terms, a margin may be that is moved onto it, tried in turn; the same for zeros.
_NEAR = (1e-6, 1e-9)
#: Violation of a linear row, relative to its terms, that is rounding.
_ROUNDING = 1e-12
#: Growth of a margin, relative to its terms, along a move of length 1: the most that is sought, and the most that counts as 0.
_GROWTH, _NONE = 1e-2, 1e-6
#: Doublings of the length of a move.
_DOUBLINGS = 30
#: Slack, relative to a row's terms, up to which a row restricts a move.
_ACTIVE = 1e-5
#: Entries of the matrix up to which all arguments are rational.
_EXACT = 5000
#: Bits of the grid of the coefficients that equations leave free, below the largest; shifts along it that are tried.
_BITS, _SHIFTS = 44, 512

#: A row or right side in exact arithmetic.
_Vector = list[Fraction]


@dataclass(frozen=True, eq=False)
class ExactEvaluation:
    """The data of a `Margin` that determine the cost of w in exact arithmetic: jumps, kept points, budgets, zeros, rows, bounds.

    Parameters
    ----------
    A, c : ndarray (n, p), (n,)
        Arguments of the loss are Aw + c.
    jumps : tuple of (threshold, side)
        Where the loss jumps: side 1 where it is less from the threshold on, -1 where it is less up to it.
    kinks : tuple of (threshold, side)
        Where the slope of the loss changes, with the side on which it is less: roundings of a margin there cost something where
        sample weights are huge.
    kept_points : ndarray of bool (n,)
        Arguments that must be ≥ 1.
    budgets : tuple of Budget
        Points of which at most so many may have an argument below 1.
    priced, counted : ndarray of bool (p,)
        Coefficients that cost something where they are not zero; those of which at most ``max_nonzeros`` may be non-zero.
    max_nonzeros : int
        The limit on the non-zeros of the counted coefficients.
    lower, upper : ndarray (p,)
        Bounds of w.
    integer : bool
        Whether all coefficients are integers.
    rows, row_lower : ndarray (m, p), (m,)
        rows w ≥ row_lower, met to rounding.
    """

    A: FloatArray
    c: FloatArray
    jumps: tuple[tuple[float, float], ...]
    kinks: tuple[tuple[float, float], ...]
    kept_points: BoolArray
    budgets: tuple[Budget, ...]
    priced: BoolArray
    counted: BoolArray
    max_nonzeros: int
    lower: FloatArray
    upper: FloatArray
    integer: bool
    rows: FloatArray
    row_lower: FloatArray

    @classmethod
    def of(
        cls,
        loss: Loss,
        regulariser: Regulariser,
        domain: Domain,
        restrictions: Sequence[Restriction],
        context: AssemblyContext,
        arguments: tuple[FloatArray, FloatArray],
    ) -> ExactEvaluation:
        """Return the data of a composition's parts; restrictions other than linear rows of w, kept points, budgets of errors and
        numbers of non-zeros are left to the form.
        """
        p, sparsity = context.penalised.size, regulariser.sparsity
        limits = restriction_limits(loss, domain, restrictions, context, strict=False)
        max_nonzeros = min(
            [p, *limits.max_nonzeros, *([] if sparsity is None or sparsity.max_nonzeros is None else [sparsity.max_nonzeros])]
        )
        rows, row_lower, lower, upper = rows_as_bounds(limits.rows, limits.row_lower, *domain.bounds(p))
        priced = context.penalised & (sparsity is not None and sparsity.mu0 > 0.0)
        counted = context.penalised & (max_nonzeros < context.penalised.sum())
        if domain.integer:
            lower, upper = np.ceil(lower) + 0.0, np.floor(upper) + 0.0
        return cls(
            *arguments, loss.jumps, loss.kinks, limits.kept_points, limits.budgets, priced, counted, max_nonzeros, lower, upper,
            domain.integer, rows, row_lower,
        )  # fmt: skip

    @property
    def is_discontinuous(self) -> bool:
        """Return whether the cost or the feasibility of w jumps somewhere: by the loss, kept points, budgets or zeros."""
        return bool(self.jumps or self.kept_points.any() or self.budgets or self.priced.any() or self.counted.any())

    def arguments(self, w: FloatArray) -> FloatArray:
        """Return the loss's arguments Aw + c, each on the side of every threshold where the exact value is."""
        return exact_arguments(self.A, self.c, w, self._sides)

    @property
    def _sides(self) -> tuple[tuple[float, float], ...]:
        """Jumps and kinks of the loss, and the margin of 1 where points must reach it."""
        reached = ((1.0, 1.0),) if self.kept_points.any() or self.budgets else ()
        return (*self.jumps, *self.kinks, *reached)

    def excess(self, w: FloatArray) -> int:
        """Return `ExactCost.excess` of w: kept points with a margin below 1, non-zeros beyond their limit, errors beyond a
        budget.
        """
        short = self.arguments(w) < 1.0
        errors = sum(max(int(short[budget.points].sum()) - budget.limit, 0) for budget in self.budgets)
        zeros = max(int(np.count_nonzero(w[self.counted])) - self.max_nonzeros, 0) if self.counted.any() else 0
        return int(short[self.kept_points].sum()) + errors + zeros

    def shortfall(self, argument: FloatArray) -> float:
        """Return `ExactCost.shortfall`: the largest distance by which an argument near a threshold is on its costlier side, or
        that of a kept point is below 1; ``argument`` is the result of `arguments`.
        """
        misses = [(t, side * (t - argument)) for t, side in self._sides]
        nearby_misses = [m[(m > 0.0) & (m <= _NEAR[0] * (1.0 + abs(t)))] for t, m in misses]
        return max(float(m.max(initial=0.0)) for m in (*nearby_misses, 1.0 - argument[self.kept_points]))

    def rounding(self, w: FloatArray) -> FloatArray:
        """Return a bound of the rounding error of each argument as `arguments` returns it."""
        return np.spacing(np.abs(self.A @ w + self.c)) if self.A.size <= _EXACT else self.float64_rounding(w)

    def float64_rounding(self, w: FloatArray) -> FloatArray:
        """Return a bound of the rounding error of each argument computed in float64."""
        return _rounding(self.A, self.c, w)

    def nearby_points(self, w: FloatArray) -> Iterator[FloatArray]:
        """Yield points near w on the cheaper side of every threshold that w is near: with zeros where a coefficient other than 0
        costs or counts and w nearly has one, and with zeros wherever it nearly has one.
        """
        if (self.lower > self.upper).any():
            return
        for tolerance in _NEAR:
            v = np.rint(w) if self.integer else w.copy()
            small = np.abs(v) <= tolerance * max(1.0, float(np.abs(v).max(initial=0.0)))
            zeros = small & (self.priced | self.counted)
            # slacks are relative to w: beside a threshold of 0 that of a coefficient near 0 is never small, so 0 itself is tried
            for at_zero in (zeros, small) if (small & ~zeros).any() else (zeros,):
                placed = self._placed(v, at_zero, tolerance)
                if placed is not None:
                    yield placed

    def _placed(self, w: FloatArray, at_zero: BoolArray, tolerance: float) -> FloatArray | None:
        """Return a point near w, with zeros ``at_zero``, on the cheaper side of every threshold; None where none is found."""
        v = np.clip(np.where(at_zero, 0.0, w), self.lower, self.upper)
        frozen = at_zero | (self.lower == self.upper) | self.integer
        thresholds = self._thresholds(v, tolerance)
        return move_onto_rows(v, *thresholds, (self.rows, self.row_lower), (self.lower, self.upper), frozen)

    def _thresholds(self, v: FloatArray, tolerance: float) -> tuple[FloatArray, FloatArray]:
        """H and h with Hw ≥ h: the sides of thresholds that v is near, and the points that must be kept."""
        argument = self.A @ v + self.c
        size = tolerance * (1.0 + np.abs(self.A) @ np.abs(v) + np.abs(self.c))
        chosen = [(np.abs(argument - t) <= size, t, side) for t, side in (*self.jumps, *self.kinks)]
        limited = np.zeros(self.c.size, dtype=np.bool_)
        for budget in self.budgets:
            limited[budget.points] = True
        chosen.append((self.kept_points | (limited & (np.abs(argument - 1.0) <= size)), 1.0, 1.0))
        rows = [side * self.A[points] for points, _, side in chosen]
        right_sides = [side * (t - self.c[points]) for points, t, side in chosen]
        return np.concatenate(rows), np.concatenate(right_sides)


def exact_arguments(A: FloatArray, c: FloatArray, w: FloatArray, sides: Sequence[tuple[float, float]]) -> FloatArray:
    """Return Aw + c, in rational arithmetic where entries are few, or where float64 cannot tell one from a threshold.

    ``sides`` are pairs (threshold, side). An entry that is below a threshold of side 1 is below it as a double, and one that is
    above a threshold of side -1 above it.
    """
    argument = np.asarray(A @ w + c)
    error = _rounding(A, c, w)
    undecided = np.full(c.size, A.size <= _EXACT)
    for t, _ in sides:
        undecided |= np.abs(argument - t) <= error
    open_thresholds = [t for t, side in sides if side < 0.0]
    places = np.flatnonzero(undecided).tolist()
    exact = [_product(A[i].tolist(), w.tolist()) + Fraction(float(c[i])) for i in places]
    for i, low, value in zip(places, map(round_down, exact), exact, strict=True):
        argument[i] = math.nextafter(low, math.inf) if low in open_thresholds and Fraction(low) != value else low
    return argument


def _rounding(A: FloatArray, c: FloatArray, w: FloatArray) -> FloatArray:
    return np.asarray(2.0 * gamma(w.size + 1) * (np.abs(A) @ np.abs(w) + np.abs(c)))


def _product(a: list[float], w: list[float]) -> Fraction:
    """a'w, by whole numbers over the largest denominator: those of doubles are powers of two."""
    pairs = [(*x.as_integer_ratio(), *v.as_integer_ratio()) for x, v in zip(a, w, strict=True) if x and v]
    terms = [(p * r, q.bit_length() + s.bit_length() - 2) for p, q, r, s in pairs]
    places = max((shift for _, shift in terms), default=0)
    return Fraction(sum(number << (places - shift) for number, shift in terms), 1 << places)


def move_onto_rows(
    v: FloatArray,
    H: FloatArray,
    h: FloatArray,
    soft: tuple[FloatArray, FloatArray],
    bounds: tuple[FloatArray, FloatArray],
    frozen: BoolArray,
) -> FloatArray | None:
    """Return a point beside v with Hw ≥ h in exact arithmetic and the soft rows to rounding; None where no such point is found.

    Parameters
    ----------
    v : ndarray (p,)
        Within the bounds.
    H, h : ndarray (k, p), (k,)
        The rows Hw ≥ h.
    soft : ndarray (m, p) and ndarray (m,)
        F and f of the rows Fw ≥ f.
    bounds : ndarray (p,) and ndarray (p,)
        Lower and upper bounds of w.
    frozen : ndarray of bool (p,)
        Coefficients that keep their values.
    """
    size = np.abs(H) @ np.maximum(np.abs(v), 1e-300) + np.abs(h) + 1e-300
    slack = H @ v - h
    if _met(H, h, v):
        return v
    free = np.flatnonzero(~frozen)
    active = (slack <= _ACTIVE * size) & H[:, free].any(axis=1)
    if not active.any() or (slack < -_ACTIVE * size).any():
        return None
    v = np.clip(_without_misses(v, *soft, free), *bounds)
    G, g, largest = H[active], h[active], np.abs(H[active][:, free]).max(axis=1)
    direction = _direction(v, G[:, free] / largest[:, None], soft, bounds, free)
    if direction is None:
        return None
    d, growth = direction
    grid = _Grid.of(G[growth <= _NONE], g[growth <= _NONE], v, free)
    if grid is None:
        return None
    smallest_growth = float(growth[growth > _NONE].min(initial=_GROWTH))
    short = float(((g - G @ v) / largest).max(initial=0.0))
    step = (max(short, 0.0) + 2.0**-52 * float(np.abs(v).max(initial=1e-300))) / smallest_growth
    full_v = np.zeros(v.size)
    full_v[free] = d
    for _ in range(_DOUBLINGS):
        for w in grid.points(np.clip(v + step * full_v, *bounds)):
            inside = (w >= bounds[0]).all() and (w <= bounds[1]).all()
            if inside and _met(H, h, w) and _nearly_met(*soft, w):
                return w
        step *= 2.0
    return None


def _met(H: FloatArray, h: FloatArray, w: FloatArray) -> bool:
    """Return whether Hw ≥ h, of the numbers as they are stored."""
    value, error = H @ w - h, _rounding(H, h, w)
    if (value < -error).any():
        return False
    undecided = np.flatnonzero(np.abs(value) <= error).tolist()
    return all(_product(H[i].tolist(), w.tolist()) >= Fraction(float(h[i])) for i in undecided)


def _nearly_met(rows: FloatArray, row_lower: FloatArray, w: FloatArray) -> bool:
    return bool((rows @ w - row_lower >= -_ROUNDING * (np.abs(rows) @ np.abs(w) + np.abs(row_lower) + 1e-300)).all())


def _without_misses(v: FloatArray, rows: FloatArray, row_lower: FloatArray, free: IntArray) -> FloatArray:
    """Return v moved the least to meet the rows that it misses by a solver's tolerance: moves along them keep their values."""
    miss = row_lower - rows @ v
    missed = (miss > 0.0) & (miss <= _ACTIVE * (np.abs(rows) @ np.abs(v) + np.abs(row_lower)))
    if not missed.any():
        return v
    feasible = v.copy()
    feasible[free] += np.linalg.lstsq(rows[missed][:, free], miss[missed], rcond=1e-10)[0]
    return feasible


def _direction(
    v: FloatArray,
    G: FloatArray,
    soft: tuple[FloatArray, FloatArray],
    bounds: tuple[FloatArray, FloatArray],
    free: IntArray,
) -> tuple[FloatArray, FloatArray] | None:
    """Return a move of the free coefficients in which as many rows as possible grow, and by how much each does."""
    from scipy.optimize import linprog  # imported here: it is slow, and few problems need it

    k, p = G.shape
    rows, right_sides = soft
    S, slack = rows[:, free], rows @ v - right_sides
    tight = (slack <= _ACTIVE * (np.abs(rows) @ np.abs(v) + np.abs(right_sides))) & S.any(axis=1)
    S = S[tight] / np.abs(S[tight]).max(axis=1, initial=0.0)[:, None] if tight.any() else np.zeros((0, p))
    tolerance = _ROUNDING * np.maximum(np.abs(v), 1e-300)
    low = np.where(v - bounds[0] <= tolerance, 0.0, -1.0)[free]
    high = np.where(bounds[1] - v <= tolerance, 0.0, 1.0)[free]
    A_ub = sp.csr_array(np.block([[-G, np.eye(k)], [-S, np.zeros((len(S), k))]]))
    sides = np.column_stack([np.concatenate([low, np.zeros(k)]), np.concatenate([high, np.full(k, _GROWTH)])])
    cost = np.concatenate([np.zeros(p), -np.ones(k)])
    solution = linprog(cost, A_ub=A_ub, b_ub=np.zeros(k + len(S)), bounds=sides, method="highs")
    return None if solution.x is None else (np.asarray(solution.x[:p]), np.asarray(solution.x[p:]))


@dataclass(frozen=True, eq=False)
class _Grid:
    """Points that satisfy equations exactly: the last coefficients follow from the others, which are on a grid."""

    pivots: tuple[int, ...]
    others: tuple[int, ...]
    rows: tuple[_Vector, ...]
    right: _Vector

    @classmethod
    def of(cls, E: FloatArray, e: FloatArray, v: FloatArray, free: IntArray) -> _Grid | None:
        """The equations Ew = e for the free coefficients; None where they contradict each other."""
        columns = free.tolist()
        fixed_point = [0.0 if j in set(columns) else x for j, x in enumerate(v.tolist())]
        echelon: list[tuple[int, _Vector]] = []  # a pivot, and its row with the right side last
        for row, side in zip(E.tolist(), e.tolist(), strict=True):
            entries = [*(Fraction(row[j]) for j in columns), Fraction(side) - _product(row, fixed_point)]
            for k, other in echelon:
                entries = _without(entries, k, other)
            pivot = next((k for k, a in enumerate(entries[:-1]) if a), None)
            if pivot is None:
                if entries[-1]:
                    return None
                continue
            entries = [a / entries[pivot] for a in entries]
            echelon = [*((k, _without(other, pivot, entries)) for k, other in echelon), (pivot, entries)]
        pivots = [k for k, _ in echelon]
        others = [k for k in range(len(columns)) if k not in pivots]
        rows = tuple([row[k] for k in others] for _, row in echelon)
        right = [row[-1] for _, row in echelon]
        return cls(tuple(columns[k] for k in pivots), tuple(columns[k] for k in others), rows, right)

    def points(self, w: FloatArray) -> Iterator[FloatArray]:
        """Yield points of the grid beside w: w itself where there are no equations."""
        if not self.pivots:
            yield w
            return
        denominators = [x.denominator for x in (*self.right, *(a for row in self.rows for a in row))]
        period = math.lcm(*(n // (n & -n) for n in denominators))  # of their odd parts
        if period > 2**20:
            return
        largest = max(float(np.abs(w).max(initial=0.0)), 2.0**-500)
        unit = Fraction(2) ** (math.frexp(largest)[1] - _BITS)
        base = [round(Fraction(float(w[j])) / (unit * period)) * period for j in self.others]
        equations = list(zip(self.rows, self.right, strict=True))
        for shift in range(min(period, _SHIFTS) if base else 1):
            numbers = [unit * (n + (shift if k == 0 else 0)) for k, n in enumerate(base)]
            values = [r - sum((a * x for a, x in zip(row, numbers, strict=True)), Fraction(0)) for row, r in equations]
            exact = (*numbers, *values)
            if all(Fraction(float(x)) == x for x in exact):
                point = w.copy()
                point[[*self.others, *self.pivots]] = [float(x) for x in exact]
                yield point
                return


def _without(row: _Vector, k: int, pivot_row: _Vector) -> _Vector:
    """Return the row less the multiple of a pivot row that makes entry k zero."""
    return [a - row[k] * b for a, b in zip(row, pivot_row, strict=True)]


# Margins decided in exact arithmetic: which points a classifier keeps, and the same classifier with its margins met.
#
# A classifier that an equation a_i'w = 1 determines has margins of 1 - 1e-16 as often as 1 + 1e-16, which 1{a_i'w < 1} separates.
# Float64 decides where its error bound allows. The other rows are decided by the sum of their products without rounding (a
# product is two floats, and ``math.fsum`` rounds the sum once, so its sign is right), or by rational arithmetic where a product
# underflows.

#: Products above this have an error term that does not underflow.
_SAFE = 1e-250


def satisfies_margins(A: FloatArray, w: FloatArray) -> BoolArray:
    """Return for every row whether a_i'w ≥ 1 in exact arithmetic."""
    u, error = _margins(A, w)
    satisfied = np.asarray(u >= 1.0)
    undecided = np.abs(u - 1.0) <= error
    if undecided.any():
        satisfied[undecided] = _reach_one(A[undecided], w)
    return satisfied


def _reach_one(A: FloatArray, w: FloatArray) -> list[bool]:
    """Return a_i'w ≥ 1 for every row, decided in exact arithmetic."""
    with np.errstate(over="ignore", invalid="ignore"):
        products, errors = two_product(A, w)
    zero_product = (A == 0.0) | (w == 0.0)
    products[zero_product] = errors[zero_product] = 0.0
    split = zero_product | (np.isfinite(errors) & (np.abs(products) > _SAFE))
    rows = zip(split.all(axis=1).tolist(), products.tolist(), errors.tolist(), A, strict=True)
    return [math.fsum([-1.0, *p, *e]) >= 0.0 if exactly else _in_fractions(a, w) for exactly, p, e, a in rows]


def _in_fractions(a: FloatArray, w: FloatArray) -> bool:
    return sum((Fraction(x) * Fraction(v) for x, v in zip(a.tolist(), w.tolist(), strict=True)), Fraction(-1)) >= 0


def stretch_to_margins(A: FloatArray, w: FloatArray, correct: BoolArray) -> FloatArray | None:
    """Return (1 + s)w with the least s ≥ 0, up to rounding, that meets the margins of the rows ``correct``; None without one."""
    rows = A[correct]
    if satisfies_margins(rows, w).all():
        return w
    u, error = _margins(rows, w)
    if not (u > 2.0 * error).all():
        return None
    # u_i + s·u_i - error, less the rounding of the new w, which is no more than that error
    factor = float(((1.0 + 2.0 * error) / (u - error)).max()) * (1.0 + 2.0**-50)
    with np.errstate(over="ignore"):
        longer = w * max(factor, 1.0)
    return longer if np.isfinite(longer).all() and satisfies_margins(rows, longer).all() else None


def cheaper_point(
    A: FloatArray, w: FloatArray, correct: BoolArray, total: Callable[[FloatArray, BoolArray], float]
) -> tuple[FloatArray, BoolArray] | None:
    """Return the cheaper of w and w stretched to meet the margins of ``correct``, with the rows that it meets.

    Parameters
    ----------
    A : ndarray (n, p)
        Signed rows.
    w : ndarray (p,)
        Coefficients.
    correct : ndarray of bool (n,)
        Rows whose margins are to be met.
    total : callable
        The cost of w and the rows whose margins it meets; infinite if that is not allowed.

    Returns
    -------
    tuple of (w, rows), or None if neither is allowed
    """
    candidates = [(v, satisfies_margins(A, v)) for v in (stretch_to_margins(A, w, correct), w) if v is not None]
    costs = [total(*candidate) for candidate in candidates]
    best = int(np.argmin(costs))
    return candidates[best] if np.isfinite(costs[best]) else None


def _margins(A: FloatArray, w: FloatArray) -> tuple[FloatArray, FloatArray]:
    return np.asarray(A @ w), 2.0 * gamma(w.size) * np.asarray(np.abs(A) @ np.abs(w))
