"""A mixed-integer linear program in VIPR's terms, and rational sums of its rows."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from scipy.linalg import qr

from ...errors import UnsupportedModelError
from ...models.arrays import FloatArray
from ...models.program.cones import Feature, Zero
from ...models.program.form import StandardForm
from ..rational.form import RationalForm, Vector, solve_linear

__all__ = ["Bounds", "LinearProgram", "RationalSum", "Row", "bounding_sum"]

#: Bounds of variables; None for no bound.
Bounds = list[Fraction | None]


@dataclass(frozen=True)
class Row:
    """Σ v_j x_j ≥ side, or = side."""

    terms: list[tuple[int, Fraction]]
    equal: bool
    side: Fraction


@dataclass(frozen=True, eq=False)
class LinearProgram:
    """minimise cost'x subject to rows and bounds, some x integer: the float64 data of a form, taken as rational numbers.

    Parameters
    ----------
    exact : RationalForm
    rows : list of Row
        In the order of the form's rows.
    cost : list of Fraction
    lower, upper : list
    """

    exact: RationalForm
    rows: list[Row]
    cost: Vector
    lower: Bounds
    upper: Bounds

    @classmethod
    def of(cls, form: StandardForm) -> LinearProgram:
        """Return the program of a form.

        Raises
        ------
        UnsupportedModelError
            The form is not linear: the format has no quadratic objective and no cones.
        TooLargeError
            It has more coefficients than rational arithmetic supports.
        """
        unsupported = sorted(feature.value for feature in form.features - {Feature.INTEGER})
        if unsupported:
            raise UnsupportedModelError(
                f"VIPR certificates are of mixed-integer linear programs; {form.name} has {', '.join(unsupported)}. Of the "
                "0-1 loss with ½||w||² and of scoring systems, solve(model, proof=path) writes a log that check_proof verifies",
                name="model",
            )
        exact = RationalForm(form)
        rows = [
            Row(terms, isinstance(c.cone, Zero), -Fraction(g))
            for c in form.constraints
            for terms, g in zip(exact.rows[c.label], c.g.tolist(), strict=True)
        ]
        return cls(exact, rows, exact.point(form.q), _bounds(form.lower), _bounds(form.upper))

    @property
    def form(self) -> StandardForm:
        """Return the form of the program."""
        return self.exact.form

    def value(self, x: Vector) -> Fraction:
        """Return cost'x, without the constant of the objective, which the format cannot hold."""
        return sum((c * v for c, v in zip(self.cost, x, strict=True) if c), Fraction(0))

    def feasible(self, x: Vector) -> bool:
        """Return whether x satisfies every row, bound and integrality, exactly."""
        return not any(self.exact.violations(x).values())


def _bounds(values: FloatArray) -> Bounds:
    return [Fraction(value) if np.isfinite(value) else None for value in values.tolist()]


#: Multipliers below this are omitted: the reduced costs take their contribution.
_NEGLIGIBLE = 1e-11
#: Largest denominators of multipliers that are as near to a simple fraction as rounding allows.
_MAX_DENOMINATOR = 10**6
#: Reduced costs below this, of variables without the needed bound, are corrected to zero.
_SMALL = 1e-7


@dataclass(frozen=True, eq=False)
class RationalSum:
    """Σ rows[i] · row i + Σ reduced[j] · bound of j: cost'x ≥ side, or 0 ≥ side.

    Parameters
    ----------
    rows : dict of int to Fraction
        Multipliers; of inequalities they are positive.
    reduced : dict of int to Fraction
        A positive one multiplies the lower bound of its variable, a negative one the upper.
    side : Fraction
    """

    rows: dict[int, Fraction]
    reduced: dict[int, Fraction]
    side: Fraction


def bounding_sum(program: LinearProgram, y: FloatArray, cost: Vector, lower: Bounds, upper: Bounds) -> RationalSum | None:
    """Return the sum with multipliers near y whose left side is ``cost``; None if a variable without a bound has a non-zero
    slope.

    Any y ≥ 0 (of inequalities) gives a true inequality; the nearer to optimal multipliers, the larger its right side.
    """
    rows = _simple(program, y)
    reduced = _slopes(program, rows, cost)
    if not _bounded(reduced, lower, upper):
        open_ended = [j for j in range(len(cost)) if lower[j] is None or upper[j] is None]
        loose = [j for j in open_ended if abs(reduced[j]) < _SMALL or not _bounded({j: reduced[j]}, lower, upper)]
        if not _correct(program, rows, loose, reduced):
            return None
        reduced = _slopes(program, rows, cost)
        if not _bounded(reduced, lower, upper):
            return None
    nonzero = {j: r for j, r in reduced.items() if r}
    side = sum((price * program.rows[i].side for i, price in rows.items()), Fraction(0))
    for j, r in nonzero.items():
        end = lower[j] if r > 0 else upper[j]
        assert end is not None
        side += r * end
    return RationalSum(rows, nonzero, side)


def _simple(program: LinearProgram, y: FloatArray) -> dict[int, Fraction]:
    """Return the multipliers as fractions, simple ones if they are near; those of inequalities are clipped at zero."""
    rows = {}
    for i, price in enumerate(y.tolist()):
        if abs(price) <= _NEGLIGIBLE or (price < 0 and not program.rows[i].equal):
            continue
        exact = Fraction(price)
        simple = exact.limit_denominator(_MAX_DENOMINATOR)
        rows[i] = simple if simple and abs(simple - exact) <= abs(exact) / 10**9 else exact
    return rows


def _slopes(program: LinearProgram, rows: dict[int, Fraction], cost: Vector) -> dict[int, Fraction]:
    """Return cost - A'y."""
    slopes = dict(enumerate(cost))
    for i, price in rows.items():
        for j, v in program.rows[i].terms:
            slopes[j] -= price * v
    return slopes


def _bounded(reduced: dict[int, Fraction], lower: Bounds, upper: Bounds) -> bool:
    return all(r == 0 or (lower[j] if r > 0 else upper[j]) is not None for j, r in reduced.items())


def _correct(program: LinearProgram, rows: dict[int, Fraction], loose: list[int], reduced: dict[int, Fraction]) -> bool:
    """Change as many multipliers as there are slopes in ``loose`` so that these are zero; return False if signs forbid it."""
    places = {j: k for k, j in enumerate(loose)}
    used = [i for i in range(len(program.rows)) if i in rows or program.rows[i].equal]
    columns = [[Fraction(0)] * len(loose) for _ in used]
    for column, i in zip(columns, used, strict=True):
        for j, v in program.rows[i].terms:
            if j in places:
                column[places[j]] = v
    if not used:
        return False
    # the largest multipliers first: they admit a change of their own size
    sizes = np.array([max(abs(float(rows.get(i, Fraction(0)))), 1e-6) for i in used])
    table = np.array([[float(v) for v in column] for column in columns]).T
    order = qr(table * sizes, mode="r", pivoting=True)[1][: len(loose)].tolist()
    change = solve_linear([[columns[k][m] for k in order] for m in range(len(loose))], [reduced[j] for j in loose])
    if change is None:
        return False
    for k, delta in zip(order, change, strict=True):
        rows[used[k]] = rows.get(used[k], Fraction(0)) + delta
    return all(price >= 0 or program.rows[i].equal for i, price in rows.items())
