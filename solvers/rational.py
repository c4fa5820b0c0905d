"""A standard form in rational arithmetic, for exact verification: float64 data are rational numbers.

The form is min ½x'Px + q'x + r subject to F_k x + g_k in K_k and bounds; z_k are multipliers of its rows, and the slopes of its
variables are the entries of q - Σ F_k'z_k (without q for Farkas multipliers).

Exact are the objective, every row, violations of linear rows and bounds, membership in second-order and rotated cones (squares),
convexity (pivots of LDL'), and the Lagrangian bound from multipliers of linear rows. Violations of semidefinite cones are
computed in float64, since svec, a symmetric matrix as a vector, holds √2; so are violations of exponential and power cones.

*Existence of exact Farkas multipliers near computed ones.* Computed multipliers violate the equations of unbounded variables by
their rounding, and a proof needs them exactly. The positive ones identify the participating rows. A correction in rational
arithmetic, on the largest multipliers, satisfies the equations. A row whose corrected multiplier is negative, and was little
more than rounding, is omitted. If a slope falls on the side on which its variable has no bound, the equation of that variable
is added. The sign of one sum then decides.

*Existence of exact rays of descent near computed ones.* A computed direction violates equations, and P d = 0, by its rounding.
Entries, inequalities and whole cones that are zero but for rounding are set to zero. A correction of the other entries in
rational arithmetic satisfies these equations. The signs, and squares of second-order cones, then decide.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from itertools import pairwise

import numpy as np
import scipy.sparse as sp

from ..errors import TooLargeError
from ..models.arrays import FloatArray, IntArray
from ..models.program.cones import PSD, Bilinear, Cone, Indicator, Nonnegative, RotatedSecondOrder, SecondOrder, Zero
from ..models.program.csr_rows import CSRRows
from ..models.program.exponential_cones import TranscendentalCone
from ..models.program.form import Constraint, StandardForm
from ..models.program.quadratic import is_semidefinite

#: Coefficients of a form, P included, above which rational arithmetic is refused (about a minute).
MAX_NONZEROS = 200_000
#: Largest number of unknowns of a linear system that is solved in rational arithmetic.
MAX_UNKNOWNS = 120

#: A vector of rational numbers.
Vector = list[Fraction]
#: Bounds of variables; None for no bound.
Bounds = list[Fraction | None]


@dataclass(frozen=True, eq=False)
class RationalForm:
    """A standard form with its float64 numbers taken as rational numbers.

    Raises
    ------
    TooLargeError
        More than `MAX_NONZEROS` coefficients.
    """

    form: StandardForm  #: the form in float64

    def __post_init__(self) -> None:
        size = sum(c.F.nnz for c in self.form.constraints) + self.form.n
        if self.form.quadratic is not None and size <= MAX_NONZEROS:
            size += self.form.quadratic.csc.nnz if self.form.quadratic.bytes <= 16 * MAX_NONZEROS else MAX_NONZEROS
        if size > MAX_NONZEROS:
            raise TooLargeError(
                f"{self.form.name} has {size:,} coefficients or more; rational arithmetic is offered up to {MAX_NONZEROS:,}",
                name="model",
            )

    def point(self, x: FloatArray) -> Vector:
        """Return the floating-point vector as rational numbers."""
        return [Fraction(v) for v in x.tolist()]

    @cached_property
    def P(self) -> list[list[tuple[int, Fraction]]]:
        """Return the rows of P: column and value. A factor R is multiplied out exactly."""
        quadratic = self.form.quadratic
        if quadratic is None:
            return []
        if quadratic.factor is None:
            return _rows(sp.csr_array(quadratic.csc))
        rows: list[dict[int, Fraction]] = [{} for _ in range(self.form.n)]
        for row in _rows(sp.csr_array(quadratic.factor)):
            for i, u in row:
                for j, v in row:
                    rows[i][j] = rows[i].get(j, Fraction(0)) + u * v
        return [sorted(row.items()) for row in rows]

    @cached_property
    def convex(self) -> bool:
        """Return whether P ⪰ 0 exactly: a factor, a diagonal, or pivots of LDL' up to order `MAX_UNKNOWNS`; False if unknown."""
        quadratic = self.form.quadratic
        if quadratic is None or quadratic.factor is not None:
            return True
        used = sorted({j for row in self.P for j, _ in row})
        if len(used) > MAX_UNKNOWNS:
            return all(j == i for i, row in enumerate(self.P) for j, _ in row) and all(v >= 0 for row in self.P for _, v in row)
        places = {j: k for k, j in enumerate(used)}
        S = [[Fraction(0)] * len(used) for _ in used]
        for i, row in enumerate(self.P):
            for j, v in row:
                S[places[i]][places[j]] += v / 2
                S[places[j]][places[i]] += v / 2
        return is_semidefinite(S)

    def P_times(self, x: Vector) -> Vector:
        """Return P x."""
        return [_dot(row, x) for row in self.P] if self.P else [Fraction(0)] * self.form.n

    def objective(self, x: Vector) -> Fraction:
        """Return ½x'Px + q'x + r."""
        linear = sum((Fraction(q) * v for q, v in zip(self.form.q.tolist(), x, strict=True) if q), Fraction(self.form.r))
        return linear + sum((a * b for a, b in zip(self.P_times(x), x, strict=True)), Fraction(0)) / 2

    @cached_property
    def rows(self) -> dict[str, list[list[tuple[int, Fraction]]]]:
        """Return the rows of F by the constraint's label."""
        return {c.label: _rows(c.F) for c in self.form.constraints}

    def value(self, c: Constraint, x: Vector) -> Vector:
        """Return F x + g."""
        return [_dot(row, x) + Fraction(g) for row, g in zip(self.rows[c.label], c.g.tolist(), strict=True)]

    def violations(self, x: Vector) -> dict[str, float]:
        """Return the largest violation of each constraint, "bounds" and "integrality": 0.0 is exact, others are rounded up."""
        by_label = {c.label: _violation(c.cone, self.value(c, x)) for c in self.form.constraints if c.rows}
        worst = Fraction(0)
        for v, low, high in zip(x, self.form.lower.tolist(), self.form.upper.tolist(), strict=True):
            worst = max(worst, Fraction(low) - v if low > -np.inf else worst, v - Fraction(high) if high < np.inf else worst)
        by_label["bounds"] = _up(worst)
        if self.form.integer.any():
            by_label["integrality"] = _up(max(abs(x[j] - round(x[j])) for j in np.flatnonzero(self.form.integer)))
        return by_label

    def bound(self, x: FloatArray, multipliers: Mapping[str, FloatArray]) -> Fraction | None:
        """Return an exact lower bound of a convex form's optimum from multipliers of any quality; None if none follows.

        The multipliers are clipped into the duals of the linear cones (multipliers of other cones count as zero). The slope of
        the Lagrangian in free variables is corrected to zero exactly, by moving x, at which the quadratic's tangent is taken, or
        (linear programs) by a correction of the multipliers. A variable without a bound takes the bound that one pass of
        propagation over the rows gives.
        """
        return _lagrangian_bound(self, x, multipliers)


def _rows(matrix: sp.csr_array) -> list[list[tuple[int, Fraction]]]:
    csr = sp.csr_array(matrix)
    indices, data, stops = csr.indices.tolist(), csr.data.tolist(), csr.indptr.tolist()
    return [[(j, Fraction(v)) for j, v in zip(indices[a:b], data[a:b], strict=True) if v] for a, b in pairwise(stops)]


def _dot(row: Sequence[tuple[int, Fraction]], x: Vector) -> Fraction:
    return sum((v * x[j] for j, v in row), Fraction(0))


def _up(value: Fraction) -> float:
    """Return the least double not below a rational number ≥ 0."""
    rounded = float(value)
    return rounded if Fraction(rounded) >= value else float(np.nextafter(rounded, np.inf))


def _violation(cone: Cone, v: Vector) -> float:
    if isinstance(cone, Zero):
        return _up(max((abs(value) for value in v), default=Fraction(0)))
    if isinstance(cone, Nonnegative):
        return _up(max((-value for value in v), default=Fraction(0)) if any(value < 0 for value in v) else Fraction(0))
    if isinstance(cone, Indicator):
        pairs = zip(v[0::2], v[1::2], strict=True)
        return _up(max((min(max(abs(a), -row), abs(a - 1)) if a != 1 else Fraction(0) for a, row in pairs), default=Fraction(0)))
    if isinstance(cone, Bilinear):
        k, rows = (cone.dim - 1) // 2, (v[i : i + cone.dim] for i in range(0, len(v), cone.dim))
        row_values = [sum((a * b for a, b in zip(row[1 : 1 + k], row[1 + k :], strict=True)), -row[0]) for row in rows]
        return _up(max((abs(value) if cone.equality else max(value, Fraction(0)) for value in row_values), default=Fraction(0)))
    if isinstance(cone, PSD):  # svec holds √2, which is not rational: this value is computed in float64
        return cone.violation(np.array([float(value) for value in v]))
    if isinstance(cone, TranscendentalCone):
        return _transcendental_violation(cone, v)
    if all(_is_inside(cone, v[k : k + cone.dim]) for k in range(0, len(v), cone.dim)):
        return 0.0
    # outside by a positive amount, which needs roots: the float64 value, and never zero
    return max(cone.violation(np.array([float(value) for value in v])), float(np.finfo(float).tiny))


def _transcendental_violation(cone: TranscendentalCone, v: Vector) -> float:
    """Return 0 only if v is a vector of doubles that the cone holds for sure: float64 otherwise, and never zero."""
    rounded = np.array([float(value) for value in v])
    if all(Fraction(a) == b for a, b in zip(rounded.tolist(), v, strict=True)) and cone.surely_inside(rounded).all():
        return 0.0
    return max(cone.violation(rounded), float(np.finfo(float).tiny))


def _is_inside(cone: Cone, v: Vector) -> bool:
    """Return whether one second-order or rotated cone holds v, decided without a root."""
    if isinstance(cone, SecondOrder):
        return v[0] >= 0 and v[0] ** 2 >= sum((c * c for c in v[1:]), Fraction(0))
    assert isinstance(cone, RotatedSecondOrder)
    return v[0] >= 0 and v[1] >= 0 and 2 * v[0] * v[1] >= sum((c * c for c in v[2:]), Fraction(0))


def solve_linear(A: list[Vector], b: Vector) -> Vector | None:
    """Return one solution of A x = b, exactly (free unknowns zero); None if there is none, or A has too many columns."""
    n = len(A[0]) if A else 0
    if n > MAX_UNKNOWNS:
        return None
    rows = [[*row, right] for row, right in zip(A, b, strict=True)]
    pivots = reduce_rows(rows, n)
    if any(row[n] for row in rows[len(pivots) :]):
        return None
    x = [Fraction(0)] * n
    for i, j in enumerate(pivots):
        x[j] = rows[i][n]
    return x


def null_vector(A: list[Vector]) -> Vector | None:
    """Return the vector with last entry 1 that spans the null space of A; None if it has another dimension than one."""
    last = len(A[0]) - 1 if A else -1
    if not 0 <= last < MAX_UNKNOWNS:
        return None
    rows = [list(row) for row in A]
    pivots = reduce_rows(rows, last)
    if len(pivots) < last or any(row[last] for row in rows[last:]):
        return None
    return [*(-row[last] for row in rows[:last]), Fraction(1)]


def reduce_rows(rows: list[Vector], columns: int) -> list[int]:
    """Bring the first columns to reduced row echelon form in place, and return the columns of the pivots."""
    pivots: list[int] = []
    for j in range(columns):
        top = len(pivots)
        k = next((i for i in range(top, len(rows)) if rows[i][j]), None)
        if k is None:
            continue
        rows[top], rows[k] = rows[k], rows[top]
        scale = rows[top][j]
        rows[top] = [v / scale for v in rows[top]]
        for i, row in enumerate(rows):
            if i != top and row[j]:
                rows[i] = [u - row[j] * v for u, v in zip(row, rows[top], strict=True)]
        pivots.append(j)
    return pivots


#: Largest number of coefficients of the rows, and of pivots, of `separating_or_combination` (a few seconds).
_MAX_ROWS_SIZE, _MAX_PIVOTS = 4_000, 300


def separating_or_combination(A: FloatArray, order: Sequence[int] | IntArray) -> tuple[Vector | None, Vector | None] | None:
    """Return (w, None) with A w ≥ 1, or (None, f) with f ≥ 0, Σf = 1, A'f = 0, exactly; None if the search is too large.

    One of both exists (Gordan). The first phase of the simplex method looks for f, and its prices are -w where it ends above 0.
    Bland's rule takes the rows in the given order, so that it ends.

    Parameters
    ----------
    A : ndarray (n, p)
        Finite rows.
    order : sequence of int
        All rows, those that probably have a positive multiplier first.
    """
    n, p = A.shape
    if A.size > _MAX_ROWS_SIZE:
        return None
    columns = [[*map(Fraction, A[i].tolist()), Fraction(1)] for i in order]
    inverse = [[Fraction(int(i == j)) for j in range(p + 1)] for i in range(p + 1)]
    values = [Fraction(int(i == p)) for i in range(p + 1)]
    basis = [n + i for i in range(p + 1)]  # numbers from n on are artificial variables, of cost 1
    for _ in range(_MAX_PIVOTS):
        prices = [sum((row[j] for row, k in zip(inverse, basis, strict=True) if k >= n), Fraction(0)) for j in range(p + 1)]
        entering = next((i for i, column in enumerate(columns) if _inner(prices, column) > 0), None)
        if entering is None and prices[p] > 0:
            return [-price / prices[p] for price in prices[:p]], None
        if entering is None:
            f = [Fraction(0)] * n
            for k, value in zip(basis, values, strict=True):
                if k < n:
                    f[int(order[k])] = value
            return None, f
        _pivot(inverse, values, basis, entering, [_inner(row, columns[entering]) for row in inverse])
    return None


def _inner(a: Vector, b: Vector) -> Fraction:
    return sum((u * v for u, v in zip(a, b, strict=True) if u and v), Fraction(0))


def _pivot(inverse: list[Vector], values: Vector, basis: list[int], entering: int, column: Vector) -> None:
    """Bring a variable with this column, in terms of the basis, into the basis; the smallest of the tied numbers leaves."""
    leaving = min((i for i, v in enumerate(column) if v > 0), key=lambda i: (values[i] / column[i], basis[i]))
    scale = column[leaving]
    inverse[leaving] = [v / scale for v in inverse[leaving]]
    values[leaving] /= scale
    for i, factor in enumerate(column):
        if i != leaving and factor:
            inverse[i] = [u - factor * v if v else u for u, v in zip(inverse[i], inverse[leaving], strict=True)]
            values[i] -= factor * values[leaving]
    basis[leaving] = entering


# The Lagrangian bound in rational arithmetic (`models.program.lagrangian` has the floating-point bound and the mathematics).


def _lagrangian_bound(rational: RationalForm, x: FloatArray, multipliers: Mapping[str, FloatArray]) -> Fraction | None:
    form = rational.form
    if not rational.convex:
        return None
    lower, upper = _propagated(rational)
    free = [j for j in range(form.n) if lower[j] is None and upper[j] is None]
    z = _clip(rational, multipliers)
    hat = rational.point(x)
    for _ in range(2):
        d = _slopes(rational, z)
        if _tangent(rational, hat, d, free):
            slope = [a + b for a, b in zip(rational.P_times(hat), d, strict=True)]
            corner = _corner(slope, lower, upper)
            if corner is not None:
                curved = sum((a * b for a, b in zip(rational.P_times(hat), hat, strict=True)), Fraction(0))
                return _constant(rational, z) + corner - curved / 2
        if not _correct(rational, z, hat, free):
            return None
    return None


def _clip(rational: RationalForm, multipliers: Mapping[str, FloatArray]) -> dict[str, Vector]:
    """Return the multipliers of the linear constraints, clipped into their dual cones; other multipliers are dropped."""
    z = {}
    for c in rational.form.constraints:
        values = multipliers.get(c.label)
        if values is None or not isinstance(c.cone, (Zero, Nonnegative)) or not np.isfinite(values).all():
            continue
        exact = [Fraction(v) for v in np.asarray(values, dtype=np.float64).tolist()]
        z[c.label] = exact if isinstance(c.cone, Zero) else [max(v, Fraction(0)) for v in exact]
    return z


def _slopes(rational: RationalForm, z: Mapping[str, Vector]) -> Vector:
    """Return q - Σ F_k'z_k."""
    d = [Fraction(v) for v in rational.form.q.tolist()]
    for label, row_multipliers in z.items():
        for row, multiplier in zip(rational.rows[label], row_multipliers, strict=True):
            if multiplier:
                for j, v in row:
                    d[j] -= v * multiplier
    return d


def _constant(rational: RationalForm, z: Mapping[str, Vector]) -> Fraction:
    value = Fraction(rational.form.r)
    for c in rational.form.constraints:
        if c.label in z:
            value -= sum((p * Fraction(g) for p, g in zip(z[c.label], c.g.tolist(), strict=True) if g), Fraction(0))
    return value


def _tangent(rational: RationalForm, hat: Vector, d: Vector, free: list[int]) -> bool:
    """Move the tangent point ``hat`` on the free variables until P hat + d vanishes there; False if that is not possible."""
    if not free:
        return True
    if not rational.P:
        return all(d[j] == 0 for j in free)
    if len(free) > MAX_UNKNOWNS:
        return False
    places = {j: k for k, j in enumerate(free)}
    for j in free:
        hat[j] = Fraction(0)
    right = [-(sum((v * hat[i] for i, v in rational.P[j]), Fraction(0)) + d[j]) for j in free]
    block = [[Fraction(0)] * len(free) for _ in free]
    for k, j in enumerate(free):
        for i, v in rational.P[j]:
            if i in places:
                block[k][places[i]] = v
    solution = solve_linear(block, right)
    if solution is None:
        return False
    for j, v in zip(free, solution, strict=True):
        hat[j] = v
    return True


def _corner(slope: Vector, lower: Bounds, upper: Bounds) -> Fraction | None:
    """Return Σ min over [l_j, u_j] of slope_j x_j; None if it is -∞."""
    value = Fraction(0)
    for s, low, high in zip(slope, lower, upper, strict=True):
        if s:
            end = low if s > 0 else high
            if end is None:
                return None
            value += s * end
    return value


def _correct(rational: RationalForm, z: dict[str, Vector], hat: Vector, free: list[int]) -> bool:
    """Correct the non-zero multipliers of a linear program so that free variables have slope zero, exactly.

    Return False if that is not possible, or a multiplier of an inequality becomes negative.
    """
    if rational.P or not free:
        return False
    used = [(c.label, i) for c in rational.form.constraints if c.label in z for i, p in enumerate(z[c.label]) if p]
    used.sort(key=lambda place: -abs(z[place[0]][place[1]]))
    used = used[:MAX_UNKNOWNS]
    d = _slopes(rational, z)
    rows = {place: dict(rational.rows[place[0]][place[1]]) for place in used}
    A = [[rows[place].get(j, Fraction(0)) for place in used] for j in free]
    change = solve_linear(A, [d[j] for j in free])
    if change is None:
        return False
    for (label, i), delta in zip(used, change, strict=True):
        z[label][i] += delta
    linear = {c.label for c in rational.form.constraints if isinstance(c.cone, Nonnegative)}
    return all(p >= 0 for label in linear & z.keys() for p in z[label])


def _propagated(rational: RationalForm) -> tuple[Bounds, Bounds]:
    """Return the bounds with those that one linear row implies if all its other variables are bounded (a simplex: a_j ≤ 1)."""
    form = rational.form
    lower: Bounds = [Fraction(v) if np.isfinite(v) else None for v in form.lower.tolist()]
    upper: Bounds = [Fraction(v) if np.isfinite(v) else None for v in form.upper.tolist()]
    for c in form.constraints:
        if isinstance(c.cone, (Zero, Nonnegative)):
            for row, g in zip(rational.rows[c.label], c.g.tolist(), strict=True):
                _propagate(row, Fraction(g), lower, upper)
                if isinstance(c.cone, Zero):
                    _propagate([(j, -v) for j, v in row], -Fraction(g), lower, upper)
    return lower, upper


def _propagate(row: list[tuple[int, Fraction]], g: Fraction, lower: Bounds, upper: Bounds) -> None:
    """Tighten bounds by Σ v_j x_j + g ≥ 0: v_j x_j ≥ -g - Σ of the others' largest values."""
    tops = [(upper[j] if v > 0 else lower[j], v) for j, v in row]
    unknown = [k for k, (end, _) in enumerate(tops) if end is None]
    if len(unknown) > 1:
        return
    total = g + sum((end * v for end, v in tops if end is not None), Fraction(0))
    for k in unknown or range(len(row)):
        j, v = row[k]
        end = tops[k][0]
        other_terms = total - (Fraction(0) if end is None else end * v)
        implied = -other_terms / v
        if v > 0:
            lower[j] = implied if lower[j] is None else lower[j]
        else:
            upper[j] = implied if upper[j] is None else upper[j]


#: Largest number of multiplications of an elimination (a second, as digits grow), and of corrections of the multipliers.
_MAX_OPERATIONS, _ROUNDS = 60_000, 6
#: Multipliers times the size of their row below this share of the largest are rounding.
_ROUNDING = 1e-11

#: A linear row: coefficients by column, constant, whether an equation.
_Row = tuple[dict[int, Fraction], Fraction, bool]


def farkas_exists(form: StandardForm, multipliers: Mapping[str, FloatArray]) -> bool:
    """Return whether exact Farkas multipliers of the linear rows, corrected from these, prove the form infeasible.

    False proves nothing: there may be no multipliers, or the form is too large for rational arithmetic.
    """
    if form.n + sum(c.F.nnz for c in form.constraints) > _MAX_OPERATIONS:
        return False
    rows, z = _rows_of_ray(form.replace(quadratic=None), multipliers)
    if not z or not all(np.isfinite(part).all() for part in multipliers.values()):
        return False
    slopes = _ray_slopes(form.n, rows, z)
    variables: set[int] = set()
    for _ in range(_ROUNDS):
        broken = {j for j in range(form.n) if not _has_bound(form, j, slopes[j])} | {j for j in variables if slopes[j]}
        negative = [i for i, value in z.items() if value < 0 and not rows[i][2]]
        if not broken and not negative:
            return _least_sum(form, rows, z, slopes) > 0
        for i in negative:
            del z[i]
        variables |= broken
        chosen = sorted(z, key=lambda i: (not rows[i][2], -abs(z[i])))  # pivots come from the first columns
        if len(variables) * len(variables) * (len(chosen) + 1) > _MAX_OPERATIONS or not chosen:
            return False
        slopes = _ray_slopes(form.n, rows, z)
        equations = sorted(variables)
        columns = [[rows[i][0].get(j, Fraction(0)) for i in chosen] for j in equations]
        change = solve_linear(columns, [slopes[j] for j in equations])
        if change is None:
            return False
        z = {i: z[i] + delta for i, delta in zip(chosen, change, strict=True)}
        slopes = _ray_slopes(form.n, rows, z)
    return False


def _rows_of_ray(form: StandardForm, multipliers: Mapping[str, FloatArray]) -> tuple[list[_Row], dict[int, Fraction]]:
    """Return the linear rows, and the multipliers of those that take part, by the row's number."""
    rational = RationalForm(form)
    rows: list[_Row] = []
    values: list[float] = []
    for c in form.constraints:
        if isinstance(c.cone, (Zero, Nonnegative)):
            equal, rows_of_c = isinstance(c.cone, Zero), zip(rational.rows[c.label], c.g.tolist(), strict=True)
            rows += [(dict(row), Fraction(g), equal) for row, g in rows_of_c]
            values += np.ravel(np.asarray(multipliers.get(c.label, np.zeros(c.rows)), dtype=np.float64)).tolist()
    sizes = [float(max(map(abs, (*row.values(), constant)))) for row, constant, _ in rows]
    parts = [v * size for v, size in zip(values, sizes, strict=True)]  # the sizes of rows may differ much
    threshold = _ROUNDING * max(map(abs, parts), default=0.0)
    return rows, {
        i: Fraction(values[i]) for i, part in enumerate(parts) if part > threshold or (rows[i][2] and part < -threshold)
    }


def _ray_slopes(n: int, rows: list[_Row], z: Mapping[int, Fraction]) -> Vector:
    """Return the slopes -Σ F'z."""
    slopes = [Fraction(0)] * n
    for i, multiplier in z.items():
        for j, v in rows[i][0].items():
            slopes[j] -= v * multiplier
    return slopes


def _has_bound(form: StandardForm, j: int, slope: Fraction) -> bool:
    """Return whether the variable has a bound on the side on which its slope falls."""
    return slope == 0 or bool(np.isfinite(form.lower[j] if slope > 0 else form.upper[j]))


def _least_sum(form: StandardForm, rows: list[_Row], z: Mapping[int, Fraction], slopes: Vector) -> Fraction:
    """Return the least of -Σ z (F x + g) over the bounds: positive if no x satisfies every row."""
    value = -sum((multiplier * rows[i][1] for i, multiplier in z.items()), Fraction(0))
    for j, slope in enumerate(slopes):
        if slope:
            value += slope * Fraction(float(form.lower[j] if slope > 0 else form.upper[j]))
    return value


#: Values below one of these shares of their terms are rounding.
_RAY_ROUNDING = (1e-9, 1e-6)
#: Depth inside a semidefinite cone, relative to the matrix, above any rounding error of the depth.
_MIN_DEPTH = 1e-10


def ray_exists(form: StandardForm, d: FloatArray) -> bool:
    """Return whether an exact ray of descent is found near the direction d.

    False proves nothing: there may be no ray, or the form is too large for rational arithmetic.
    """
    size = float(np.abs(d).max(initial=0.0))
    if not 0.0 < size < np.inf or _multiplications(form) > _MAX_OPERATIONS:
        return False
    rational = RationalForm(_recession(form))
    return any(
        _is_descent_ray(rational, corrected)
        for share in _RAY_ROUNDING
        if (corrected := _corrected_ray(rational, d / size, share)) is not None
    )


def _multiplications(form: StandardForm) -> int:
    """Return the multiplications of a product with every row, and of forming P if it has a factor."""
    per_product, P = form.n + sum(c.F.nnz for c in form.constraints), form.quadratic
    if P is None:
        return per_product
    return per_product + (P.bytes // 16 if P.factor is None else int(np.square(CSRRows.from_matrix(P.factor).row_counts).sum()))


def _recession(form: StandardForm) -> StandardForm:
    """Return the form whose points are the directions in which every point of the form may move without end."""
    return form.replace(
        constraints=tuple(replace(c, g=np.zeros(c.rows)) for c in form.constraints),
        lower=np.where(np.isfinite(form.lower), 0.0, -np.inf),
        upper=np.where(np.isfinite(form.upper), 0.0, np.inf),
        integer=np.zeros(form.n, dtype=bool),
        r=0.0,
    )


def _corrected_ray(rational: RationalForm, d: FloatArray, share: float) -> Vector | None:
    """Return a nearby direction that exactly satisfies what d satisfies up to rounding; None if there is none, or the elimination
    is too large.
    """
    form = rational.form
    d = np.where(np.abs(d) > share, np.clip(d, form.lower, form.upper), 0.0)
    equations = [row for row in rational.P if row]
    for c in form.constraints:
        zero = _zero_rows(c, d, share)
        equations += [row for row, is_zero in zip(rational.rows[c.label], zero.tolist(), strict=True) if is_zero and row]
    exact = rational.point(d)
    missed = [-sum((v * exact[j] for j, v in row), Fraction(0)) for row in equations]
    if not any(missed):
        return exact
    chosen = np.argsort(-np.abs(d), kind="stable")[: min(MAX_UNKNOWNS, np.count_nonzero(d))].tolist()
    if len(equations) ** 2 * (len(chosen) + 1) > _MAX_OPERATIONS:
        return None
    entries = [dict(row) for row in equations]
    change = solve_linear([[row.get(j, Fraction(0)) for j in chosen] for row in entries], missed)
    if change is None:
        return None
    for j, delta in zip(chosen, change, strict=True):
        exact[j] += delta
    return exact


def _zero_rows(c: Constraint, d: FloatArray, share: float) -> FloatArray:
    """Return the mask of rows that must be zero along d: all equations, and inequalities and cones whose values are rounding."""
    movement, terms = np.abs(c.F @ d).reshape(-1, c.cone.group_size), (abs(c.F) @ np.abs(d)).reshape(-1, c.cone.group_size)
    is_zero = movement.max(axis=1, initial=0.0) <= share * terms.max(axis=1, initial=0.0)
    return np.repeat(is_zero | isinstance(c.cone, Zero), c.cone.group_size)


def _is_descent_ray(rational: RationalForm, d: Vector) -> bool:
    form = rational.form
    if any(rational.P_times(d)) or any(rational.violations(d).values()):
        return False
    for c in form.constraints:
        if isinstance(c.cone, PSD):  # svec holds √2: its violation is no exact number
            rows = np.array([float(v) for v in rational.value(c, d)])
            size = np.linalg.norm(c.cone.by_cone(rows), axis=1)
            if not ((size == 0.0) | (c.cone.depth(rows) > _MIN_DEPTH * size)).all():
                return False
    return rational.objective(d) < 0  # linear, since P d = 0 and r = 0
