"""Import of programs given as rows l ≤ Ax ≤ u, quadratic rows and indicators, as gurobipy, Pyomo, HiGHS and SciPy have them.

Rows whose names differ in their index only (``w[3]`` and ``w[4]``, of the *stem* ``w``) become one labelled constraint of the
form for each kind (=, ≥ or ≤); the upper sides of two-sided rows are a constraint of their own. The *source* is the program as
the other *package* holds it; an import is checked by evaluating form and source at the same points, row by row.
"""

from __future__ import annotations

import re
from abc import abstractmethod
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
import scipy.sparse as sp

from ...errors import InputError
from ..arrays import BoolArray, FloatArray, IntArray
from ..program.cones import Cone, Indicator, Nonnegative, Zero
from ..program.form import Block, Constraint, StandardForm
from ..program.quadratic import Quadratic
from .quadratic_rows import QuadraticRow, quadratic_cone, refuse_nan_sides, slack_of
from .source import ConstraintValue, Evaluation, Source

#: A name's index, as ``w[3]``, ``w(3)``, ``w_3`` and ``w3`` carry it.
_INDEX = re.compile(r"(?:[\[(][^\[\]()]*[\])]|[_.]?\d+)$")


@dataclass(frozen=True, eq=False)
class IndicatorRow:
    """A row lower ≤ a'x ≤ upper that holds where the binary variable x[binary] has the value ``active``.

    Parameters
    ----------
    name : str
        Name of the row.
    binary : int
        Index of the binary variable.
    active : int
        0 or 1, the value at which the row must hold.
    a : csr_array (1, n)
        Coefficients of the row.
    lower, upper : float
        Infinite where there is none.
    """

    name: str
    binary: int
    active: int
    a: sp.csr_array
    lower: float
    upper: float


@dataclass(frozen=True, eq=False)
class RowProgram:
    """A program as other packages have it: min ½x'Px + q'x + r over linear and quadratic rows, indicators and bounds.

    Parameters
    ----------
    name : str
        Name of the program.
    variables, rows : sequence of str
        Names of the variables and of the linear rows.
    P : csc_array (n, n) or None
        P of the objective, symmetric.
    q, r : ndarray (n,), float
        Linear part q'x and constant of the objective.
    A : csr_array (m, n)
        Coefficients of the linear rows.
    row_lower, row_upper : ndarray (m,)
        Sides of the linear rows, row_lower ≤ Ax ≤ row_upper; infinite where there is none.
    lower, upper : ndarray (n,)
        Bounds of the variables; infinite where there is none.
    integer : ndarray of bool (n,)
        Variables that must be integers.
    quadratic_rows : sequence of QuadraticRow
        Rows ½x'Qx + a'x ≤ b or = b.
    indicators : sequence of IndicatorRow
        Rows that hold where a binary variable has a value.
    maximise : bool
        Whether the package maximises the negative of this objective.
    """

    name: str
    variables: Sequence[str]
    rows: Sequence[str]
    P: sp.csc_array | None
    q: FloatArray
    r: float
    A: sp.csr_array
    row_lower: FloatArray
    row_upper: FloatArray
    lower: FloatArray
    upper: FloatArray
    integer: BoolArray
    quadratic_rows: Sequence[QuadraticRow] = ()
    indicators: Sequence[IndicatorRow] = ()
    maximise: bool = False

    def import_form(self) -> ImportedForm:
        """Return the standard form, with the map from its rows to the package's.

        Raises
        ------
        InputError
            A row with a side NaN, the lower side +inf or the upper side -inf.
        """
        refuse_nan_sides(self.rows, self.row_lower, self.row_upper)
        impossible = np.flatnonzero((self.row_lower == np.inf) | (self.row_upper == -np.inf))
        if impossible.size:
            name = self.rows[int(impossible[0])]
            raise InputError(f"the row {name} has the lower side +inf or the upper side -inf: no point satisfies it", name=name)
        blocks = _blocks(self.variables)
        labels = {block.label for block in blocks}
        pieces: list[ConstraintRows] = []
        constraints: list[Constraint] = []
        groups = _groups(self.rows, self.row_lower, self.row_upper)
        senses = Counter(name for name, kind in groups if kind != "≤ of range")
        for (name, kind), rows in groups.items():
            index = np.array(rows)
            first = f"{name} {kind}" if senses[name] > 1 else name  # an indexed constraint with rows of several senses
            label = unique_label(first if kind != "≤ of range" else f"{name} upper", labels)
            sign = -1.0 if kind in ("≤", "≤ of range") else 1.0
            side = self.row_upper if sign < 0 else self.row_lower
            cone: Cone = Zero(index.size) if kind == "=" else Nonnegative(index.size)
            piece = Constraint(label, sp.csr_array(sign * self.A[index]), -sign * side[index] + 0.0, cone)
            constraints.append(
                _with_names(piece, [f"{self.rows[i]} upper" if kind == "≤ of range" else self.rows[i] for i in rows])
            )
            pieces.append(ConstraintRows(label, index, sign))
        quadratic_rows: list[tuple[QuadraticRow, int]] = []
        for row in self.quadratic_rows:
            F, g, cone = quadratic_cone(row, self.lower)
            quadratic_rows.append((row, len(constraints)))
            constraints.append(Constraint(unique_label(row.name, labels), F, g, cone))
        indicator_places: list[int] = []
        for stem, F, g, cone in _switched(self.indicators, len(self.variables)):
            indicator_places.append(len(constraints))
            constraints.append(Constraint(unique_label(stem, labels), F, g, cone))
        quadratic = None if self.P is None or not self.P.nnz else Quadratic(matrix=self.P)
        form = StandardForm(
            name=self.name,
            blocks=blocks,
            q=self.q,
            constraints=tuple(constraints),
            lower=self.lower,
            upper=self.upper,
            integer=self.integer,
            quadratic=quadratic,
            r=self.r,
            maximise=self.maximise,
        )
        return ImportedForm(form, tuple(pieces), tuple(self.rows), tuple(quadratic_rows), tuple(indicator_places))


@dataclass(frozen=True, eq=False)
class ConstraintRows:
    """The package's rows that one labelled constraint of the form holds.

    Parameters
    ----------
    label : str
        Label of the constraint.
    rows : ndarray of int
        Numbers of the package's rows.
    sign : float
        -1 where a'x ≤ u was turned to -a'x ≥ -u, else 1.
    """

    label: str
    rows: IntArray
    sign: float


@dataclass(frozen=True, eq=False)
class ImportedForm:
    """A form made from a `RowProgram`, with the map back to the package's rows.

    Parameters
    ----------
    form : StandardForm
        The form.
    pieces : tuple of ConstraintRows
        The package's rows of each linear constraint of the form; these constraints come first.
    names : tuple of str
        Names of the package's linear rows.
    quadratic_rows : tuple of pairs
        Each quadratic row with the index of its constraint.
    indicator_places : tuple of int
        Indices of the constraints that hold indicators.
    """

    form: StandardForm
    pieces: tuple[ConstraintRows, ...]
    names: tuple[str, ...]
    quadratic_rows: tuple[tuple[QuadraticRow, int], ...] = ()
    indicator_places: tuple[int, ...] = ()

    @property
    def count(self) -> int:
        """Return the number of the package's linear rows."""
        return len(self.names)

    def evaluate(self, x: FloatArray) -> Evaluation:
        """Evaluate the form at x, row by row of the package."""
        form = self.form
        rows = []
        for k, piece in enumerate(self.pieces):
            c = form.constraints[k]
            size = abs(c.F) @ np.abs(x) + np.abs(c.g)
            rows += row_values(piece.rows, self.names, c.value(x), size, equal=isinstance(c.cone, Zero), upper=piece.sign < 0.0)
        for number, (row, k) in enumerate(self.quadratic_rows):
            size = 0.5 * float(np.abs(x) @ (abs(row.Q) @ np.abs(x))) + float(np.abs(row.a) @ np.abs(x)) + abs(row.b)
            slack = slack_of(form.constraints[k], x)
            rows.append(slack_value(f"{row.name}, quadratic row {number}", slack, size, equal=row.equality))
        if self.indicator_places:
            rows.append(
                indicator_value(
                    max(form.constraints[k].cone.violation(form.constraints[k].value(x)) for k in self.indicator_places)
                )
            )
        outside = np.maximum(np.maximum(form.lower - x, x - form.upper), 0.0)
        return Evaluation(form.objective(x), objective_size(form, x), rows, float(outside.max(initial=0.0)))

    def point(self, values: Mapping[str, FloatArray]) -> FloatArray:
        """Return x, in the order of the package's variables, from values by block."""
        return self.form.join(values)

    def row_duals(self, multipliers: Mapping[str, FloatArray]) -> FloatArray:
        """Return the package's dual values from the form's multipliers z by label: the change of its own objective for one more
        unit of each row's right-hand side.

        A row a'x ≥ l has z ≥ 0 in the form and dual value z; a row a'x ≤ u is -a'x ≥ -u in the form and has dual value -z. In a
        program that is maximised the dual values are the negatives of these.
        """
        prices = np.zeros(self.count)
        for piece in self.pieces:
            prices[piece.rows] += piece.sign * np.asarray(multipliers[piece.label])
        return -prices if self.form.maximise else prices

    def reduced_costs(self, reduced: Mapping[str, FloatArray] | None) -> FloatArray:
        """Return the package's reduced costs: its objective's change for one more unit of each variable's active bound."""
        zeta = np.zeros(self.form.n) if reduced is None else self.form.join(reduced)
        return -zeta if self.form.maximise else zeta


class RowSource(Source):
    """Base class of programs of another package whose variables are those of the form, in the same order."""

    _imported: ImportedForm

    @property
    def form(self) -> StandardForm:
        """Return the imported form."""
        return self._imported.form

    @property
    def variables(self) -> IntArray:
        """Return the indices of the variables that the source has: all of the form's."""
        return np.arange(self.form.n)

    def evaluate_form(self, x: FloatArray) -> Evaluation:
        """Evaluate the form at x."""
        return self._imported.evaluate(x)

    @abstractmethod
    def evaluate_source(self, x: FloatArray) -> Evaluation:
        """Let the package evaluate its program at x."""


def row_values(
    places: IntArray,
    names: Sequence[str],
    values: FloatArray,
    sizes: FloatArray | None,
    *,
    equal: bool,
    upper: bool,
) -> list[ConstraintValue]:
    """Return the values of the linear rows numbered ``places``, of the given ``names``, for the comparison of form and source.

    Rows with ``values`` ≥ 0 (or = 0 if ``equal``) are satisfied. With ``upper`` the values are those of upper sides, u - a'x.
    ``sizes`` are sums of absolute terms, the scale of rounding errors; None where they are not known.
    """
    side = "=" if equal else "≤" if upper else "≥"
    sizes = np.zeros(values.size) if sizes is None else sizes
    make = ConstraintValue.equal if equal else ConstraintValue.at_least
    return [make(f"{names[i]} ({side}, row {i})", values[[k]], sizes[[k]]) for k, i in enumerate(np.asarray(places).tolist())]


def side_values(
    names: Sequence[str], sides: tuple[FloatArray, FloatArray], slacks: tuple[FloatArray, FloatArray], first: int = 0
) -> list[ConstraintValue]:
    """Return the values of the rows low ≤ a'x ≤ high for the comparison of form and source, from a'x - low and high - a'x.

    An infinite side gives no value. The rows are those of the package from number ``first`` on.
    """
    (low, high), (below, above) = sides, slacks
    equal = np.isfinite(low) & (low == high)
    values = []
    for chosen, slack, is_equal, upper in (
        (equal, below, True, False),
        (np.isfinite(low) & ~equal, below, False, False),
        (np.isfinite(high) & ~equal, above, False, True),
    ):
        values += row_values(first + np.flatnonzero(chosen), names, slack[chosen], None, equal=is_equal, upper=upper)
    return values


def indicator_value(violation: float) -> ConstraintValue:
    """Return the value of all indicator constraints as one row: minus ``violation``, the largest one of them."""
    return ConstraintValue.at_least("indicators", np.array([-violation]), np.array([1.0 + violation]))


def slack_value(name: str, slack: float, size: float = 0.0, *, equal: bool = False) -> ConstraintValue:
    """Return the value of one row whose slack must be ≥ 0, or 0 if ``equal``; ``size`` is the sum of its absolute terms."""
    return (ConstraintValue.equal if equal else ConstraintValue.at_least)(name, np.array([slack]), np.array([size]))


def objective_size(form: StandardForm, x: FloatArray) -> float:
    """Return the sum of the absolute terms of the objective at x, the scale of its rounding error."""
    size = float(np.abs(form.q) @ np.abs(x)) + abs(form.r)
    if form.quadratic is None:
        return size
    return size + 0.5 * float(np.abs(x) @ (abs(form.quadratic.csc) @ np.abs(x)))


def unique_label(label: str, used_names: set[str]) -> str:
    """Return the label, followed by a number if ``used_names`` has it already, and add it to ``used_names``."""
    name, k = label, 1
    while name in used_names:
        k += 1
        name = f"{label} {k}"
    used_names.add(name)
    return name


def _blocks(names: Sequence[str]) -> tuple[Block, ...]:
    """Return one block for consecutive names ``w[0], w[1], ...`` if no other name has the stem w; else a block for each name."""
    blocks: list[Block] = []
    names_in_use: set[str] = set()
    sizes = Counter(map(_stem, names))
    k = 0
    while k < len(names):
        stem = _stem(names[k])
        stop = k
        while stop < len(names) and names[stop] == f"{stem}[{stop - k}]":
            stop += 1
        if stop > k and stop - k == sizes[stem]:
            blocks.append(Block(unique_label(stem, names_in_use), (stop - k,)))
        else:
            blocks.append(Block(unique_label(names[k], names_in_use), ()))
            stop = k + 1
        k = stop
    return tuple(blocks)


def _stem(name: str) -> str:
    stem = _INDEX.sub("", name)
    return stem or name


def _groups(names: Sequence[str], lower: FloatArray, upper: FloatArray) -> dict[tuple[str, str], list[int]]:
    """Return the rows by the stem of their name and by kind: a row with two sides is in two groups, a free row in none."""
    groups: dict[tuple[str, str], list[int]] = {}
    for i, name in enumerate(names):
        low, high = np.isfinite(lower[i]), np.isfinite(upper[i])
        if low and high and lower[i] == upper[i]:
            kinds = ["="]
        else:
            kinds = (["≥"] if low else []) + (["≤ of range" if low else "≤"] if high else [])
        for kind in kinds:
            groups.setdefault((_stem(name), kind), []).append(i)
    return groups


def _with_names(row: Constraint, names: Sequence[str]) -> Constraint:
    """Return the constraint with these names of its rows, unless they repeat or equal the names that the rows have by default."""
    return row if list(names) == row.names() or len(set(names)) < len(names) else replace(row, given_names=tuple(names))


def _switched(indicators: Sequence[IndicatorRow], n: int) -> Iterator[tuple[str, sp.csr_array, FloatArray, Cone]]:
    """Yield stem, F, g and cone of the indicators with names of one stem; a row with two sides gives two indicators."""
    groups: dict[str, list[tuple[sp.csr_array, list[float]]]] = {}
    for row in indicators:
        sign = 1.0 - 2.0 * row.active  # the switch is x, or 1 - x
        switch = sp.csr_array(([sign], ([0], [row.binary])), shape=(1, n))
        for side, direction in ((row.lower, 1.0), (row.upper, -1.0)):
            if np.isfinite(side):
                pair = sp.csr_array(sp.vstack([switch, direction * row.a], format="csr"))
                groups.setdefault(_stem(row.name), []).append((pair, [float(row.active), -direction * side + 0.0]))
    for stem, pairs in groups.items():
        F = sp.csr_array(sp.vstack([pair for pair, _ in pairs], format="csr"))
        yield stem, F, np.array([side for _, sides in pairs for side in sides]), Indicator(2, len(pairs))
