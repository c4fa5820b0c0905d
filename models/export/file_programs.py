"""Programs as files hold them, without blocks and labels, and their conversion to and from standard forms.

Formats of linear and quadratic rows hold a `FlatProgram`, conic formats a `ConicProgram`. A standard form is min ½x'Px + q'x + r
over labelled constraints F x + g in cones. A layout, the form's labels, shapes and cones (`models.export.layout`), turns a
program back into the form that was written.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from typing import NamedTuple

import numpy as np
import scipy.sparse as sp

from ...errors import DataError
from ..arrays import BoolArray, FloatArray, IntArray
from ..importing.quadratic_rows import QuadraticRow, bilinear_stack, one_sided_quadratic_rows, quadratic_cone, quadratic_rows
from ..importing.rows import IndicatorRow, unique_label
from ..program.cones import PSD, Bilinear, Indicator, Nonnegative, Zero
from ..program.form import Block, Constraint, StandardForm, indexed_variable_of
from ..program.quadratic import Quadratic
from .cone_rows import indicator_rows
from .layout import Layout

#: Bounds and sides of at least this absolute value are infinite for every reader of LP and MPS files.
INFINITE = 1e20


class StatedObjective(NamedTuple):
    """The objective ½x'Px + q'x + r of the stated model: the negative of the form's objective if the model maximises."""

    P: sp.csc_array | None
    q: FloatArray
    r: float
    maximise: bool

    @classmethod
    def of(cls, form: StandardForm) -> StatedObjective:
        """Return the objective that a file of the form states."""
        sign = -1.0 if form.maximise else 1.0
        P = None if form.quadratic is None else form.quadratic.csc
        # + 0.0 turns -0 into 0: equal numbers, and some formats print the sign
        return cls(-P if P is not None and form.maximise else P, sign * form.q + 0.0, sign * form.r + 0.0, form.maximise)


@dataclass(frozen=True, eq=False)
class FlatProgram:
    """A program with linear rows a_i'x = b_i or ≥ b_i, indicators and quadratic rows: what LP, MPS, NL and QPLIB files hold.

    Parameters
    ----------
    P : csc_array (n, n) or None
        Symmetric, of ½x'Px.
    q, r : ndarray (n,), float
        Linear part q'x and constant of the objective.
    A, b : csr_array (m, n), ndarray (m,)
        The linear rows, a_i'x = b_i or a_i'x ≥ b_i.
    equal : ndarray of bool (m,)
        Rows that are equalities; the others are ≥.
    lower, upper : ndarray (n,)
        Bounds of the variables; infinite where there is none.
    integer : ndarray of bool (n,)
        Variables that must be integers.
    columns, rows : tuple of str, optional
        Names of the variables and of the linear rows in the file.
    maximise : bool
        Whether the file maximises this objective: the form minimises its negative.
    infinite : float
        Absolute value from which bounds and sides count as infinite; ∞ if no finite number does.
    indicators : tuple of IndicatorRow
        Rows that hold where a binary variable has a value.
    quadratic_rows : tuple of QuadraticRow
        Rows ½x'Qx + a'x ≤ b or = b.
    """

    P: sp.csc_array | None
    q: FloatArray
    r: float
    A: sp.csr_array
    b: FloatArray
    equal: BoolArray
    lower: FloatArray
    upper: FloatArray
    integer: BoolArray
    columns: tuple[str, ...] | None = None
    rows: tuple[str, ...] | None = None
    maximise: bool = False
    infinite: float = np.inf
    indicators: tuple[IndicatorRow, ...] = ()
    quadratic_rows: tuple[QuadraticRow, ...] = ()

    @classmethod
    def of(cls, form: StandardForm, *, quadratic: bool = True) -> FlatProgram:
        """Return the program of a form: rows F x ≥ -g and F x = -g, indicators and bilinear rows.

        ``quadratic=False`` omits P, for formats that write it separately.
        """
        linear = [c for c in form.constraints if not isinstance(c.cone, Indicator | Bilinear)]
        F, g = form.rows_matrix([c.label for c in linear])
        equal = np.concatenate([np.zeros(0, dtype=bool), *(np.full(c.rows, isinstance(c.cone, Zero)) for c in linear)])
        P = form.quadratic.csc if quadratic and form.quadratic is not None else None
        indicators = tuple(
            IndicatorRow(
                rows.name(k), int(rows.binary[k]), int(rows.active[k]), sp.csr_array(rows.constraint.F[[i]]),
                -float(rows.constraint.g[i]) + 0.0, np.inf,
            )
            for rows in indicator_rows(form) for k, i in enumerate(rows.rows.tolist())
        )  # fmt: skip
        bilinear = tuple(row for c in form.constraints if isinstance(c.cone, Bilinear) for row in quadratic_rows(c))
        # + 0.0 turns -0 into 0: equal numbers, and some formats print the sign
        return cls(
            P, form.q + 0.0, form.r, F, -g + 0.0, equal, form.lower, form.upper, form.integer,
            indicators=indicators, quadratic_rows=bilinear,
        )  # fmt: skip

    @classmethod
    def as_stated(cls, form: StandardForm) -> FlatProgram:
        """Return the program of a form with the objective in the sense of the stated model, as files have it."""
        return replace(cls.of(form), **StatedObjective.of(form)._asdict())

    @property
    def sense(self) -> str:
        """Return "maximize" or "minimize"."""
        return "maximize" if self.maximise else "minimize"

    @property
    def kinds(self) -> list[tuple[str, bool]]:
        """Return the kind of each row and whether it is an equality: linear rows, then indicators, then quadratic rows."""
        kinds = [("row", is_equal) for is_equal in self.equal.tolist()] + [("indicator", False)] * len(self.indicators)
        return kinds + [("quadratic row", row.equality) for row in self.quadratic_rows]

    @property
    def further_rows(self) -> list[tuple[str, sp.csr_array, float, str]]:
        """Return name, linear part, side and sense of the rows after the linear ones: indicators, then quadratic rows."""
        switched = [(row.name, row.a, row.lower, "G") for row in self.indicators]
        return switched + [(c.name, sp.csr_array(c.a[None, :]), c.b, "E" if c.equality else "L") for c in self.quadratic_rows]

    def reordered_by_name(
        self, columns: Sequence[str], rows: Sequence[str], kinds: Sequence[tuple[str, bool]]
    ) -> FlatProgram | None:
        """Return the program with its variables and rows in the order of these names.

        None if a name repeats, or if the sets of names or the kinds of the rows differ.
        """
        names = [*(self.rows or ()), *(name for name, *_ in self.further_rows)]
        if self.columns is None or len(set(columns)) < len(columns) or len(set(rows)) < len(rows):
            return None
        if sorted(columns) != sorted(self.columns) or sorted(rows) != sorted(names):
            return None
        place = {name: i for i, name in enumerate(names)}
        present, order = self.kinds, [place[name] for name in rows]
        if [present[i] for i in order] != list(kinds):
            return None
        m, last = self.b.size, self.b.size + len(self.indicators)
        index = {name: j for j, name in enumerate(self.columns)}
        linear = np.array(order[:m], dtype=np.int64)
        program = replace(
            self, A=sp.csr_array(self.A[linear]), b=self.b[linear], equal=self.equal[linear], rows=None,
            indicators=tuple(self.indicators[i - m] for i in order[m:last]),
            quadratic_rows=tuple(self.quadratic_rows[i - last] for i in order[last:]),
        )  # fmt: skip
        return program.permute_columns(np.array([index[name] for name in columns], dtype=np.int64))

    def in_products(self, j: int) -> bool:
        """Return whether a variable is in a product or switches a row."""
        matrices = [*([] if self.P is None else [self.P]), *(row.Q for row in self.quadratic_rows)]
        return any(matrix[:, [j]].nnz for matrix in matrices) or any(row.binary == j for row in self.indicators)

    def with_constant(self, j: int) -> FlatProgram:
        """Return the program without variable j, which is fixed at one and in no row; its cost becomes part of the constant."""
        last = self.permute_columns(np.array([*(k for k in range(self.q.size) if k != j), j], dtype=np.int64))
        return replace(last, r=last.r + float(last.q[-1])).permute_columns(np.arange(self.q.size - 1))

    def permute_columns(self, place: IntArray) -> FlatProgram:
        """Return the program whose variable j is variable ``place[j]`` of this program; others are left out."""
        index = np.argsort(place)
        indicators = tuple(
            replace(row, binary=int(index[row.binary]), a=sp.csr_array(sp.csc_array(row.a)[:, place])) for row in self.indicators
        )
        return replace(
            self,
            P=None if self.P is None else sp.csc_array(sp.csr_array(self.P[:, place])[place]),
            q=self.q[place],
            A=sp.csr_array(sp.csc_array(self.A)[:, place]),
            lower=self.lower[place],
            upper=self.upper[place],
            integer=self.integer[place],
            columns=None if self.columns is None else tuple(self.columns[j] for j in place.tolist()),
            indicators=indicators,
            quadratic_rows=tuple(row.permute_columns(place) for row in self.quadratic_rows),
        )

    def to_form(self, layout: Layout | None) -> StandardForm:
        """Return the form with the labels of ``layout``; without it one block ``x`` and plain rows with the file's names."""
        constraints = self._plain() if layout is None else self._labelled(layout)
        bounds = (
            np.where(self.lower <= -self.infinite, -np.inf, self.lower),
            np.where(self.upper >= self.infinite, np.inf, self.upper),
        )
        sign = -1.0 if self.maximise else 1.0
        quadratic = None if self.P is None or not self.P.nnz else Quadratic(matrix=sp.csc_array(sign * self.P))
        return _standard_form(self, constraints, bounds, layout, quadratic)

    def _plain(self) -> tuple[Constraint, ...]:
        constraints = scalar_constraints(self.A, self.b, self.equal, self.rows, self.infinite)
        if self.indicators:
            F, g, names = _switched(self.indicators, self.q.size)
            constraints.append(Constraint("switched", F, g, Indicator(2, g.size // 2), names))
        labels = {"x", "switched", *(c.label for c in constraints)}
        cones = (Constraint(unique_label(row.name, labels), *quadratic_cone(row, self.lower)) for row in self.quadratic_rows)
        return (*constraints, *cones)

    def _labelled(self, layout: Layout) -> tuple[Constraint, ...]:
        pairs = sum(c.cone.count for c in layout.constraints if isinstance(c.cone, Indicator))
        products = [c for c in layout.constraints if isinstance(c.cone, Bilinear)]
        total = sum(c.cone.rows for c in layout.constraints) - 2 * pairs - sum(c.cone.rows for c in products)
        F, g, _ = _switched(self.indicators, self.q.size)
        sizes = total, 2 * pairs, sum(c.cone.count for c in products), sum(b.size for b in layout.blocks)
        if sizes != (self.b.size, g.size, len(self.quadratic_rows), self.q.size):
            raise DataError("the sidecar's layout does not fit the file: other sizes")
        remaining_rows = iter(self.quadratic_rows)
        stacks = {False: (self.A, -self.b + 0.0), True: (F, g)}
        constraints, used = [], {False: 0, True: 0}
        for label, cone, row_names in layout.constraints:
            if isinstance(cone, Bilinear):
                stack = list(islice(remaining_rows, cone.count))
                if not stack or any(row.equality != cone.equality for row in stack):
                    raise DataError("the sidecar's layout does not fit the file: other kinds of rows")
                constraints.append(Constraint(label, *bilinear_stack(stack)))
                continue
            kind = isinstance(cone, Indicator)
            rows = np.arange(used[kind], used[kind] + cone.rows)
            used[kind] += cone.rows
            if not kind and not (np.all(self.equal[rows] == isinstance(cone, Zero)) and isinstance(cone, (Zero, Nonnegative))):
                raise DataError("the sidecar's layout does not fit the file: other kinds of rows")
            matrix, constants = stacks[kind]
            constraints.append(Constraint(label, sp.csr_array(matrix[rows]), constants[rows], cone, row_names))
        return tuple(constraints)


def _switched(indicators: Iterable[IndicatorRow], n: int) -> tuple[sp.csr_array, FloatArray, tuple[str, ...]]:
    """Return F, g and the names of indicators as pairs of a switch and a row ≥ 0; a row with two sides has two pairs."""
    pairs, g, names = [sp.csr_array((0, n))], list[float](), list[str]()
    for row in indicators:
        sides = [(1.0, row.lower, "")] if row.lower > -np.inf else []
        sides += [(-1.0, row.upper, " (other side)" if sides else "")] if row.upper < np.inf else []
        switch = sp.csr_array(([1.0 - 2.0 * row.active], ([0], [row.binary])), shape=(1, n))  # x, or 1 - x
        for sign, side, suffix in sides:
            pairs += [switch, sp.csr_array(sign * row.a)]
            g += [float(row.active), -sign * side + 0.0]
            names += [f"{row.name}{suffix} (switch)", f"{row.name}{suffix}"]
    return sp.csr_array(sp.vstack(pairs, format="csr")), np.array(g), tuple(names)


def scalar_constraints(
    A: sp.csr_array, b: FloatArray, equal: BoolArray, names: Sequence[str] | None, infinite: float = np.inf
) -> list[Constraint]:
    """Return rows a'x = b as a constraint ``equal`` and rows a'x ≥ b as ``greater``, without those with b ≤ -``infinite``."""
    constraints = []
    for label, mask, cone in (("equal", equal, Zero), ("greater", ~equal & (b > -infinite), Nonnegative)):
        rows = np.flatnonzero(mask)
        row_names = None if names is None else tuple(names[i] for i in rows.tolist())
        if rows.size:
            stack = sp.csr_array(A[rows]), -b[rows] + 0.0
            constraints.append(Constraint(_stack_label(label, row_names), *stack, cone(rows.size), row_names))
    return constraints


def _stack_label(label: str, names: Sequence[str] | None) -> str:
    """Return the label of a stack of named entries, changed if one of several entries is named ``x`` or ``x[1]`` after it."""
    return label if names is None or len(names) == 1 else unique_label(label, {*names, *map(indexed_variable_of, names)})


def one_block(size: int, names: tuple[str, ...] | None) -> Block:
    """Return the block of all variables of a program without blocks: ``x``, or ``variables`` if a variable is named after x."""
    label = "x" if _stack_label("x", names) == "x" else "variables"
    return Block(_stack_label(label, names), (size,), given_names=names)


@dataclass(frozen=True, eq=False)
class ConicProgram:
    """A program min q'x + r over rows F x + g in cones, in the order of a file: what CBF, SDPA and PTF files hold.

    Parameters
    ----------
    q, r : ndarray (n,), float
        Linear part q'x and constant of the objective.
    pieces : tuple of Constraint
        Rows F x + g in K, in the order of the file.
    lower, upper : ndarray (n,)
        Bounds of the variables; infinite where there is none.
    integer : ndarray of bool (n,)
        Variables that must be integers.
    allows_extra_rows : bool
        Whether rows after those of the layout are bounds, which the format writes as rows.
    columns : tuple of str, optional
        Names of the variables in the file.
    maximise : bool
        Whether the file maximises this objective: the form minimises its negative.
    """

    q: FloatArray
    r: float
    pieces: tuple[Constraint, ...]
    lower: FloatArray
    upper: FloatArray
    integer: BoolArray
    allows_extra_rows: bool = False
    columns: tuple[str, ...] | None = None
    maximise: bool = False

    def to_form(self, layout: Layout | None) -> StandardForm:
        """Return the form with the labels of ``layout``; without it one block ``x`` and the pieces unchanged."""
        if layout is None:
            return _standard_form(self, self.pieces, (self.lower, self.upper), None)
        if sum(b.size for b in layout.blocks) != self.q.size:
            raise DataError("the sidecar's layout does not fit the file: other numbers of variables")
        stacks = {kind: self._stack(kind) for kind in (False, True)}
        used = {False: 0, True: 0}
        constraints = []
        for label, cone, row_names in layout.constraints:
            kind = isinstance(cone, PSD)
            rows = np.arange(used[kind], used[kind] + cone.rows)
            used[kind] += cone.rows
            F, g = stacks[kind]
            if used[kind] > g.size:
                raise DataError("the sidecar's layout does not fit the file: it has more rows")
            constraints.append(Constraint(label, sp.csr_array(F[rows]), g[rows], cone, row_names))
        bounds = self._bounds_of_extra_rows(*(part[used[False] :] for part in stacks[False]))
        return _standard_form(self, tuple(constraints), bounds, layout)

    def _stack(self, semidefinite: bool) -> tuple[sp.csr_array, FloatArray]:
        chosen = [c for c in self.pieces if isinstance(c.cone, PSD) is semidefinite]
        if not chosen:
            return sp.csr_array((0, self.q.size)), np.zeros(0)
        return sp.csr_array(sp.vstack([c.F for c in chosen], format="csr")), np.concatenate([c.g for c in chosen])

    def _bounds_of_extra_rows(self, F: sp.csr_array, g: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return the bounds that rows x_j - l_j and u_j - x_j after those of the layout state."""
        lower, upper = self.lower.copy(), self.upper.copy()
        if g.size and not self.allows_extra_rows:
            raise DataError("the sidecar's layout does not fit the file: it has fewer rows")
        for i in range(g.size):
            entries = slice(F.indptr[i], F.indptr[i + 1])
            if F.indices[entries].size != 1 or abs(F.data[entries][0]) != 1.0:
                raise DataError("the sidecar's layout does not fit the file: rows left over that are no bounds")
            j = F.indices[entries][0]
            if F.data[entries][0] > 0:
                lower[j] = -g[i] + 0.0
            else:
                upper[j] = g[i] + 0.0
        return lower, upper


def _standard_form(
    program: FlatProgram | ConicProgram,
    constraints: tuple[Constraint, ...],
    bounds: tuple[FloatArray, FloatArray],
    layout: Layout | None,
    quadratic: Quadratic | None = None,
) -> StandardForm:
    """Return the form, a minimisation, of a program; under the names of a layout where there is one."""
    sign = -1.0 if program.maximise else 1.0
    return StandardForm(
        name="" if layout is None else layout.name,  # the reader names a form by its file
        blocks=(one_block(program.q.size, program.columns),) if layout is None else layout.blocks,
        q=sign * program.q + 0.0,
        constraints=constraints,
        lower=bounds[0],
        upper=bounds[1],
        integer=program.integer,
        quadratic=quadratic,
        r=sign * program.r + 0.0,
        maximise=program.maximise or (layout is not None and layout.maximise),
        class_names=() if layout is None else layout.class_names,
    )


def symmetric_matrix(entries: list[tuple[int, int, float]], n: int) -> sp.csc_array | None:
    """Return the symmetric matrix with these entries of one triangle, repeated ones added; None without entries."""
    if not entries:
        return None
    i, j, v = (np.array(part) for part in zip(*entries, strict=True))
    off_diagonal = i != j
    return sp.csc_array(
        (np.append(v, v[off_diagonal]), (np.append(i, j[off_diagonal]), np.append(j, i[off_diagonal]))),
        shape=(n, n),
        dtype=np.float64,
    )


def matrix_of_entries(entries: Sequence[tuple[int, int, float]], shape: tuple[int, int]) -> sp.csr_array:
    """Return the matrix with these entries (row, column, value), repeated ones added."""
    rows, columns, values = ([entry[k] for entry in entries] for k in range(3))
    return sp.csr_array((values, (rows, columns)), shape=shape, dtype=np.float64)


class OneSidedRows(NamedTuple):
    """Rows Ax = b where ``equal``, Ax ≥ b elsewhere, with their names."""

    A: sp.csr_array
    b: FloatArray
    equal: BoolArray
    names: tuple[str, ...]


def to_one_sided_rows(A: sp.csr_array, left: FloatArray, right: FloatArray, names: Sequence[str]) -> OneSidedRows:
    """Return the rows left ≤ Ax ≤ right as rows with one side: upper sides are negated, free rows left out.

    A row with two different sides is two: the one from below in its place and, after all others, the one from above, which is
    called "its name (other side)".
    """
    below, above = left > -np.inf, right < np.inf
    rows, other = np.flatnonzero(below | above), np.flatnonzero(below & above & (left != right))
    sign = np.where(below[rows], 1.0, -1.0)
    b = np.concatenate([sign * np.where(below, left, right)[rows], -right[other]]) + 0.0
    stacked = sp.csr_array(sp.vstack([sp.diags_array(sign) @ A[rows], -A[other]], format="csr")) if rows.size else A[rows]
    equal = np.concatenate([(left == right)[rows], np.zeros(other.size, dtype=bool)])
    opposite_names = (f"{names[i]} (other side)" for i in other.tolist())
    return OneSidedRows(stacked, b, equal, (*(names[i] for i in rows.tolist()), *opposite_names))


class RowsByKind(NamedTuple):
    """The rows of a file by kind: linear rows, indicators and quadratic rows."""

    linear: OneSidedRows
    indicators: tuple[IndicatorRow, ...]
    quadratic_rows: tuple[QuadraticRow, ...]


def rows_by_kind(
    A: sp.csr_array,
    sides: tuple[FloatArray, FloatArray],
    names: Sequence[str],
    products: Mapping[int, sp.csc_array],
    switches: Mapping[int, tuple[int, int]] | None = None,
) -> RowsByKind:
    """Return the rows left ≤ a_i'x + ½x'Q_i x ≤ right of a file by kind, as rows with one side.

    Parameters
    ----------
    A : csr_array (m, n)
        Linear coefficients a_i as rows.
    sides : pair of ndarray (m,)
        left and right; infinite where there is none.
    names : sequence of str
        Names of the rows.
    products : mapping of int to csc_array (n, n)
        Q_i of the quadratic rows, by row.
    switches : mapping of int to (int, int), optional
        Binary variable, and its value at which the row must hold, by row.
    """
    left, right = sides
    switches = {} if switches is None else switches
    indicators = tuple(
        IndicatorRow(names[i], j, active, sp.csr_array(A[[i]]), float(left[i]), float(right[i]))
        for i, (j, active) in switches.items()
    )
    quadratic = tuple(
        side
        for i, Q in products.items()
        for side in one_sided_quadratic_rows(names[i], Q, A[[i]].toarray().ravel(), float(left[i]), float(right[i]))
    )
    plain = [i for i in range(left.size) if i not in products and i not in switches]
    linear = to_one_sided_rows(sp.csr_array(A[plain]), left[plain], right[plain], [names[i] for i in plain])
    return RowsByKind(linear, indicators, quadratic)
