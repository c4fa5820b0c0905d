"""Programs as files and solvers hold them, without our blocks or labels, and second-order cones as quadratic constraints.

A `FlatProgram` is what formats with linear rows alone carry, a `ConicProgram` what those with cones do; the layout turns them
back into the form that was written.

*Second-order cones as quadratic constraints, for solvers that have no cones (Gurobi, SCIP).* (t, c) with ||c|| ≤ t is
``c'c - t² ≤ 0, t ≥ 0``; (a, b, c) with 2ab ≥ ||c||² is ``c'c - 2ab ≤ 0, a ≥ 0, b ≥ 0``. The solvers recognise these as convex
only where t, a, b are single non-negative variables (or constants), so a row of the cone is written as

* in mixed-integer forms, where size counts and multipliers do not, the variable itself, scaled, where the row is
  ``αx_j`` (α > 0 and a lower bound ≥ 0 in a head row);
* the number where the row is constant (and not negative in a head row);
* an auxiliary variable v, ≥ 0 in a head row, with a linking equation ``F x + g - v = 0`` otherwise.

*Multipliers.* With μ ≥ 0 of ``h(v) ≤ 0``, f + μh has the gradient of f - <z, v> for z = -μ∇h(v): z = 2μ(t, -c), or
2μ(b, a, -c), which is in the (self-dual) cone where v is. In a linked row, z is the equation's multiplier itself: it
includes the price of v ≥ 0 and is right also at the cone's apex, where ∇h vanishes.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from ...errors import DataError, ExportError
from ...files import READ_ERRORS, read_error, read_text, without_compression
from ..arrays import BoolArray, FloatArray, IntArray
from ..importing.quadratic_rows import QuadraticRow, bilinear_stack, quadratic_cone, quadratic_rows
from ..importing.rows import IndicatorRow, unique
from ..program.cones import PSD, Bilinear, Cone, Indicator, Nonnegative, RotatedSecondOrder, SecondOrder, Zero
from ..program.exponential_cones import Exponential, Power, TranscendentalCone
from ..program.form import Block, Constraint, Quadratic, StandardForm

_READ = (Zero, Nonnegative, SecondOrder, RotatedSecondOrder, PSD, Indicator, Exponential, Power, Bilinear)
_CONES: Mapping[str, type[Cone]] = {cone.symbol: cone for cone in _READ}


def cone_named(symbol: str, dim: int, count: int, **parameters: float) -> Cone:
    """The cone of this symbol, with its parameters (the exponent of a power cone); see `models.program.cones`."""
    if symbol not in _CONES:
        raise DataError(f"unknown cone {symbol!r}; known: {', '.join(_CONES)}")
    return _CONES[symbol](dim, count, **parameters)


def _parameters(cone: Cone) -> dict[str, float]:
    """Fields of a cone beside its sizes: the exponent of a power cone, the sense of a bilinear row."""
    return {f.name: getattr(cone, f.name) for f in fields(cone) if f.name not in ("dim", "count")}


def _cone(record: Mapping[str, Any]) -> Cone:
    cone_fields = fields(_CONES.get(record["cone"], Cone))
    parameters = {f.name: record[f.name] for f in cone_fields if f.name not in ("dim", "count")}
    if not all(isinstance(value, int | float) for value in parameters.values()):
        raise DataError(f"the parameters of a cone must be numbers; they are {parameters}")
    return cone_named(record["cone"], _whole(record["dim"]), _whole(record["count"]), **parameters)


def _whole(value: Any) -> int:
    """A size of a layout, which no array of this machine exceeds."""
    if not isinstance(value, int) or isinstance(value, bool) or not 0 <= value < 2**40:
        raise DataError(f"a size must be a whole number; it is {value!r}")
    return value


def _text(value: Any) -> str:
    if not isinstance(value, str):
        raise DataError(f"a label must be text; it is {value!r}")
    return value


def _names(record: Mapping[str, Any]) -> tuple[str, ...] | None:
    """Names of its own that a block or constraint has."""
    return tuple(_text(name) for name in record["names"]) if "names" in record else None


def _named(record: dict[str, Any], given_names: tuple[str, ...] | None) -> dict[str, Any]:
    return record if given_names is None else {**record, "names": list(given_names)}


def sidecar(path: Path) -> Path:
    """Return the path at which the layout of a file without labels is kept."""
    return path.with_name(path.name + ".names.json")


def _digest(text: str) -> str:
    """Return the digest of a text, whatever ends its lines."""
    return hashlib.sha256("\n".join(text.splitlines()).encode("utf-8")).hexdigest()


class ConstraintLayout(NamedTuple):
    """A constraint without its numbers; ``given_names`` as in `Constraint`."""

    label: str
    cone: Cone
    given_names: tuple[str, ...] | None = None


@dataclass(frozen=True)
class Layout:
    """Blocks, constraints and sense of a form, without its numbers.

    ``order`` is there for formats that prescribe the order of the variables: the form's index of each of the file's. ``digest``
    is that of the text beside which a sidecar was written.
    """

    name: str
    blocks: tuple[Block, ...]
    constraints: tuple[ConstraintLayout, ...]
    maximise: bool
    constant: float
    order: tuple[int, ...] | None = None
    digest: str = ""

    @classmethod
    def of(cls, form: StandardForm, order: IntArray | None = None) -> Layout:
        """The layout of a form."""
        constraints = tuple(ConstraintLayout(c.label, c.cone, c.given_names) for c in form.constraints)
        order_tuple = None if order is None else tuple(order.tolist())
        return cls(form.name, form.blocks, constraints, form.maximise, form.r, order_tuple)

    @property
    def names(self) -> list[str]:
        """Return one name for each scalar variable, in the order of the form."""
        return [name for block in self.blocks for name in block.names()]

    def record(self) -> dict[str, Any]:
        """Return plain data for JSON."""
        record: dict[str, Any] = {
            "format": "marginopt layout 1",
            "name": self.name,
            "maximise": self.maximise,
            "constant": self.constant,
            "blocks": [
                _named({"label": b.label, "shape": list(b.shape), "symmetric": b.symmetric}, b.given_names) for b in self.blocks
            ],
            "constraints": [
                _named(
                    {"label": c.label, "cone": c.cone.symbol, "dim": c.cone.dim, "count": c.cone.count, **_parameters(c.cone)},
                    c.given_names,
                )
                for c in self.constraints
            ],
        }
        record |= {} if self.order is None else {"order": list(self.order)}
        return record | ({"digest": self.digest} if self.digest else {})

    @classmethod
    def from_record(cls, record: Mapping[str, Any]) -> Layout:
        """The inverse of `record`."""
        if not isinstance(record, Mapping) or record.get("format") != "marginopt layout 1":
            raise DataError("not a layout that this version reads")
        blocks = tuple(
            Block(_text(b["label"]), tuple(_whole(k) for k in b["shape"]), bool(b["symmetric"]), _names(b))
            for b in record["blocks"]
        )
        if any(b.symmetric and (len(b.shape) != 2 or b.shape[0] != b.shape[1]) for b in blocks):
            raise DataError("a symmetric block that is not square")
        constraints = tuple(ConstraintLayout(_text(c["label"]), _cone(c), _names(c)) for c in record["constraints"])
        order = tuple(_whole(j) for j in record["order"]) if "order" in record else None
        return cls(
            _text(record["name"]), blocks, constraints, bool(record["maximise"]), float(record["constant"]), order,
            _text(record.get("digest", "")),
        )  # fmt: skip

    def sidecar_text(self, text: str) -> str:
        """Return the content of the sidecar of a file with this text."""
        return json.dumps(replace(self, digest=_digest(text)).record(), indent=1) + "\n"

    def describes(self, text: str) -> bool:
        """Tell if this layout was written beside a file with this text."""
        return self.digest == _digest(text)

    @classmethod
    def load(cls, path: Path) -> Layout | None:
        """Return the layout in the sidecar of a file, compressed since or not; None without a sidecar."""
        place = sidecar(path)
        if not place.exists():
            place = sidecar(path.with_name(without_compression(path.name)))
        if not place.exists():
            return None
        try:
            return cls.from_record(json.loads(read_text(place)))
        except READ_ERRORS as error:
            raise DataError(f"its sidecar {place.name} cannot be read: {read_error(error)}") from error


@dataclass(frozen=True, eq=False)
class IndicatorRows:
    """The indicators of one constraint: x[binary[k]] = active[k], 0 or 1, asks row ``rows[k]`` of F x + g to be ≥ 0."""

    constraint: Constraint
    binary: IntArray
    active: IntArray
    rows: IntArray

    def name(self, k: int) -> str:
        """Name of the k-th one."""
        if self.constraint.given_names is not None:
            return self.constraint.given_names[2 * k + 1]
        return self.constraint.label if self.binary.size == 1 else f"{self.constraint.label}[{k}]"


def indicator_rows(form: StandardForm) -> tuple[IndicatorRows, ...]:
    """Every indicator constraint of the form."""
    rows = []
    for c in form.constraints:
        if not isinstance(c.cone, Indicator):
            continue
        heads = c.F[np.arange(0, c.rows, 2)]
        heads.eliminate_zeros()
        single = bool((np.diff(heads.indptr) == 1).all())
        active = c.g[0::2]  # the switch is x where it is 0, and 1 - x where it is 1
        if not (single and np.isin(active, (0.0, 1.0)).all() and (heads.data == 1.0 - 2.0 * active).all()):
            raise ExportError(f"{c.label}: the switch of an indicator must be a single variable x, or 1 - x", name=c.label)
        binary = np.asarray(heads.indices, dtype=np.int64)
        if not (form.integer[binary] & (form.lower[binary] >= 0) & (form.upper[binary] <= 1)).all():
            raise ExportError(f"{c.label}: the switch of an indicator must be a binary variable", name=c.label)
        rows.append(IndicatorRows(c, binary, active.astype(np.int64), np.arange(1, c.rows, 2)))
    return tuple(rows)


def bilinear_rows(c: Constraint) -> Iterator[tuple[int, list[tuple[int, int]]]]:
    """Row t and pairs of rows (a_i, b_i) of every bilinear row of a stack, t ≥ or = a'b, factors without an entry left out."""
    k, empty = (c.cone.dim - 1) // 2, (np.diff(c.F.indptr) == 0) & (c.g == 0.0)
    for first in range(0, c.rows, c.cone.dim):
        pairs = ((first + 1 + i, first + 1 + k + i) for i in range(k))
        yield first, [(a, b) for a, b in pairs if not (empty[a] or empty[b])]


def transcendental_rows(c: Constraint, rows: Sequence[Any], exp: Callable[[Any], Any]) -> Iterator[tuple[str, Any]]:
    """Inequalities h ≤ 0 of exponential and power cones in a package's own expressions, each under the name of its cone.

    Of y e^{a/y} ≤ z most cones have a constant y, and then no quotient. A variable y and the bases of
    powers have rows of their own.

    Parameters
    ----------
    c : Constraint
    rows : sequence
        F x + g as the package's expressions.
    exp : callable
        The package's exponential.
    """
    numbers = [float(g) if size == 0 else None for g, size in zip(c.g, np.diff(c.F.indptr), strict=True)]
    for k, name in enumerate(cone_names(c)):
        a, y, z = rows[3 * k : 3 * k + 3]
        scale = numbers[3 * k + 1]
        if isinstance(c.cone, Power):
            yield from ((f"{name} (base)", -1.0 * base) for base in (a, y))
            first, second = (base if b is None else max(b, 0.0) for base, b in zip((a, y), numbers[3 * k :], strict=False))
            mean = first**c.cone.alpha * second ** (1.0 - c.cone.alpha)
            yield from ((name, sign * z - mean) for sign in (1.0, -1.0))
        elif scale is None:
            yield f"{name} (scale)", -1.0 * y
            yield name, y * exp(a / y) - z
        elif scale > 0.0:
            yield name, scale * exp((1.0 / scale) * a) - z
        else:  # a ≤ 0 ≤ z
            yield from ((name, bound) for bound in (a, -1.0 * y, -1.0 * z))


def cone_names(c: Constraint) -> list[str]:
    """Return one name for each cone of a stack."""
    return [c.label] if c.cone.count == 1 else [f"{c.label}[{k}]" for k in range(c.cone.count)]


#: Bounds and sides from here on are infinite for every reader of LP and MPS files.
INFINITE = 1e20


@dataclass(frozen=True, eq=False)
class FlatProgram:
    """min ½x'Px + q'x + r, rows a_i'x = b_i or ≥ b_i in the form's order, bounds, integrality, indicators, products.

    ``equal`` says which rows are equalities; ``columns`` and ``rows`` are the names in a file. ``maximise`` says that the file
    maximises this objective: the form minimises its negative. From ``infinite`` on bounds and sides count as infinite in the
    format; what we wrote ourselves is taken literally.
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

    @property
    def kinds(self) -> list[tuple[str, bool]]:
        """Kind of each row and whether it is an equality: linear rows, then indicators, then quadratic rows."""
        kinds = [("row", is_equal) for is_equal in self.equal.tolist()] + [("indicator", False)] * len(self.indicators)
        return kinds + [("quadratic row", row.equality) for row in self.quadratic_rows]

    @property
    def further_rows(self) -> list[tuple[str, sp.csr_array, float, str]]:
        """Name, linear part, side and sense of the rows behind the linear ones: indicators, then quadratic rows."""
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
        return program.by_columns(np.array([index[name] for name in columns], dtype=np.int64))

    def by_columns(self, place: IntArray) -> FlatProgram:
        """Return the program whose variable j is this one's variable ``place[j]``."""
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
            quadratic_rows=tuple(row.by_columns(place) for row in self.quadratic_rows),
        )

    def to_form(self, layout: Layout | None) -> StandardForm:
        """The form with the labels of ``layout``; without it one block ``x`` and plain rows, each with the names of the file."""
        constraints = self._plain() if layout is None else self._labelled(layout)
        infinite = self.infinite
        sign = -1.0 if self.maximise else 1.0
        return StandardForm(
            name="program" if layout is None else layout.name,
            blocks=(one_block(self.q.size, self.columns),) if layout is None else layout.blocks,
            q=sign * self.q + 0.0,
            constraints=constraints,
            lower=np.where(self.lower <= -infinite, -np.inf, self.lower),
            upper=np.where(self.upper >= infinite, np.inf, self.upper),
            integer=self.integer,
            quadratic=None if self.P is None or not self.P.nnz else Quadratic(matrix=sp.csc_array(sign * self.P)),
            r=sign * self.r + 0.0,
            maximise=self.maximise or (layout is not None and layout.maximise),
        )

    def _plain(self) -> tuple[Constraint, ...]:
        constraints = []
        bounding = ~self.equal & (self.b > -self.infinite)
        for label, mask, cone in (("equal", self.equal, Zero), ("greater", bounding, Nonnegative)):
            rows = np.flatnonzero(mask)
            row_names = None if self.rows is None else tuple(self.rows[i] for i in rows)
            if rows.size:
                stack = sp.csr_array(self.A[rows]), -self.b[rows] + 0.0
                constraints.append(Constraint(stack_label(label, row_names), *stack, cone(rows.size), row_names))
        if self.indicators:
            F, g, names = _switched(self.indicators, self.q.size)
            constraints.append(Constraint("switched", F, g, Indicator(2, g.size // 2), names))
        labels = {"x", "switched", *(c.label for c in constraints)}
        cones = (Constraint(unique(row.name, labels), *quadratic_cone(row, self.lower)) for row in self.quadratic_rows)
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


def stack_label(label: str, names: Sequence[str] | None) -> str:
    """Return the label of a stack of named variables or rows: ``label`` itself, or a variant if the stack has several entries and
    one of them is called ``label``.
    """
    return label if names is None or len(names) == 1 else unique(label, set(names))


def one_block(size: int, names: tuple[str, ...] | None) -> Block:
    """Return the block of all variables of a program without blocks: ``x``, or ``variables`` where one of several is an x."""
    label = "variables" if names is not None and size > 1 and "x" in names else "x"
    return Block(stack_label(label, names), (size,), given_names=names)


@dataclass(frozen=True, eq=False)
class ConicProgram:
    """min q'x + r over pieces F x + g in K in the order of a file, bounds, integrality.

    ``allows_extra_rows`` permits rows after those of the layout: formats without bounds write them there. ``columns`` are the
    names of the variables in the file; ``maximise`` as in `FlatProgram`.
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
        """The form with the labels of ``layout``; one block ``x`` and the pieces as they are without it."""
        if layout is None:
            return self._form(self.pieces, self.lower, self.upper, None)
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
        lower, upper = self._bounds_of_extra_rows(*(part[used[False] :] for part in stacks[False]))
        return self._form(tuple(constraints), lower, upper, layout)

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

    def _form(
        self, constraints: tuple[Constraint, ...], lower: FloatArray, upper: FloatArray, layout: Layout | None
    ) -> StandardForm:
        sign = -1.0 if self.maximise else 1.0
        return StandardForm(
            name="program" if layout is None else layout.name,
            blocks=(one_block(self.q.size, self.columns),) if layout is None else layout.blocks,
            q=sign * self.q + 0.0,
            constraints=constraints,
            lower=lower,
            upper=upper,
            integer=self.integer,
            r=sign * self.r + 0.0,
            maximise=self.maximise or (layout is not None and layout.maximise),
        )


def symmetric_matrix(entries: list[tuple[int, int, float]], n: int) -> sp.csc_array | None:
    """Return the symmetric matrix with these entries of one triangle; None without entries."""
    if not entries:
        return None
    i, j, v = (np.array(part) for part in zip(*entries, strict=True))
    off_diagonal = i != j
    return sp.csc_array(
        (np.append(v, v[off_diagonal]), (np.append(i, j[off_diagonal]), np.append(j, i[off_diagonal]))),
        shape=(n, n),
        dtype=np.float64,
    )


class OneSidedRows(NamedTuple):
    """Rows a'x = b or ≥ b, with their names where the file gives some."""

    A: sp.csr_array
    b: FloatArray
    equal: BoolArray
    names: tuple[str, ...] | None


def to_one_sided_rows(A: sp.csr_array, left: FloatArray, right: FloatArray, names: Sequence[str] | None = None) -> OneSidedRows:
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
    if names is None:
        return OneSidedRows(stacked, b, equal, None)
    opposite_names = (f"{names[i]} (other side)" for i in other.tolist())
    return OneSidedRows(stacked, b, equal, (*(names[i] for i in rows.tolist()), *opposite_names))


def variable_letters(form: StandardForm) -> list[str]:
    """Return "B", "I" or "C" for each variable: binary, integer or continuous, as Gurobi and SCIP call them."""
    binary = form.integer & (form.lower >= 0) & (form.upper <= 1)
    letters: list[str] = np.where(binary, "B", np.where(form.integer, "I", "C")).tolist()
    return letters


@dataclass(frozen=True, eq=False)
class ConeRows:
    """The rows of one (stacked) cone in the variables (x, v).

    Parameters
    ----------
    constraint : Constraint
    variable : ndarray of int (rows,)
        Index in (x, v) of the variable that a row scales; -1 where the row is constant.
    scale : ndarray (rows,)
        α, or the constant.
    linked : ndarray of int
        Rows with an auxiliary variable, in the order of v.
    head : ndarray of bool (rows,)
        Rows that must not be negative: t, or a and b.
    """

    constraint: Constraint
    variable: IntArray
    scale: FloatArray
    linked: IntArray
    head: BoolArray

    def products(self, k: int) -> list[tuple[float, int, int]]:
        """Terms (coefficient, row, row) of h for the k-th cone of the stack; rows are those of the constraint."""
        cone = self.constraint.cone
        first = k * cone.dim
        if isinstance(cone, SecondOrder):
            heads = [(-1.0, first, first)]
        else:
            heads = [(-2.0, first, first + 1)]
        tails = (np.flatnonzero(~self.head[first : first + cone.dim]) + first).tolist()
        return heads + [(1.0, row, row) for row in tails]

    def value(self, row: int, x: Sequence[Any]) -> Any:
        """Return the value of a row in the variables of a modelling layer, those of v behind those of x."""
        j, scale = self.variable[row], float(self.scale[row])
        return scale if j < 0 else scale * x[j]

    def multipliers(self, value: FloatArray, mu: FloatArray, link: FloatArray) -> FloatArray:
        """z by the argument of the module.

        Parameters
        ----------
        value : ndarray (rows,)
            F x + g.
        mu : ndarray (count,)
            Multipliers ≥ 0 of h ≤ 0.
        link : ndarray
            Multipliers of the linking equations ``F x - v = -g``.
        """
        cone = self.constraint.cone
        v = cone.stacked(value)
        z = -2.0 * mu[:, None] * v
        if isinstance(cone, SecondOrder):
            z[:, 0] = 2.0 * mu * v[:, 0]
        else:
            z[:, 0], z[:, 1] = 2.0 * mu * v[:, 1], 2.0 * mu * v[:, 0]
        flat = z.ravel()
        flat[self.linked] = link
        return flat


def quadratic_cones(form: StandardForm) -> tuple[ConeRows, ...]:
    """Every second-order and rotated cone of the form in the variables (x, v)."""
    cones, width = [], form.n
    for c in form.constraints:
        if isinstance(c.cone, (SecondOrder, RotatedSecondOrder)):
            cones.append(_rows(form, c, width))
            width += cones[-1].linked.size
    return tuple(cones)


def native_size(form: StandardForm) -> tuple[int, int]:
    """Variables (auxiliary ones included) and linear rows (linking equations included) of the solver's model."""
    auxiliary = sum(rows.linked.size for rows in quadratic_cones(form))
    linear = sum(c.rows for c in form.constraints if isinstance(c.cone, (Zero, Nonnegative)))
    quadratic_count = sum(
        (1 + isinstance(c.cone, Power)) * c.cone.count for c in form.constraints if isinstance(c.cone, TranscendentalCone)
    )
    return form.n + auxiliary + quadratic_count, linear + auxiliary


def _rows(form: StandardForm, c: Constraint, first: int) -> ConeRows:
    F = c.F.copy()
    F.eliminate_zeros()
    head = _heads(c.cone)
    entries = np.diff(F.indptr)
    constant = (entries == 0) & ~(head & (c.g < 0))
    variable = np.full(c.rows, -1, dtype=np.int64)
    scale = np.asarray(c.g, dtype=np.float64).copy()
    single = np.flatnonzero((entries == 1) & (c.g == 0) & form.integer.any())
    variable[single] = F.indices[F.indptr[single]]
    scale[single] = F.data[F.indptr[single]]
    plain = np.zeros(c.rows, dtype=bool)
    plain[single] = ~head[single] | ((scale[single] > 0) & (form.lower[variable[single]] >= 0))
    linked = np.flatnonzero(~(plain | constant))
    variable[linked] = first + np.arange(linked.size)
    scale[linked] = 1.0
    return ConeRows(c, variable, scale, linked, head)


def _heads(cone: Cone) -> BoolArray:
    heads = np.zeros((cone.count, cone.dim), dtype=bool)
    heads[:, : 1 if isinstance(cone, SecondOrder) else 2] = True
    return heads.ravel()
