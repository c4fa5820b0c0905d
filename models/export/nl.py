"""Reader and writer of NL files in text form, AMPL's format for solvers: linear and quadratic programs, also with integers.

The format prescribes the order of the variables (those of quadratic parts first, integers last of each kind) and of the rows
(quadratic ones first); the sidecar (`models.export.layout`) holds the form's order. Names stand in ``.col`` and ``.row`` beside
the file, one a line, as AMPL and Pyomo write them; a file without a sidecar takes its names from there. Suffixes of special
ordered sets are refused, other suffixes ignored.

A file is a sequence of *segments*, each headed by a letter: C and O for expressions of rows and objective (as written here,
quadratic parts and constants), J and G for their linear parts, r and b for sides and bounds, V for common expressions, k for
column counts, x and d for starting points.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import scipy.sparse as sp

from ...errors import DataError
from ...files import read_text, split_lines, write_texts
from ..arrays import BoolArray, FloatArray, IntArray
from ..importing.quadratic_rows import with_plain_products
from ..importing.source import binary_restatement
from ..program.cones import Bilinear, Feature
from ..program.form import StandardForm
from .cone_rows import cone_names
from .file_formats import FileFormat, InputFile, parse_index, parse_integer, parse_number
from .file_programs import FlatProgram, matrix_of_entries, rows_by_kind, symmetric_matrix
from .layout import Layout, sidecar_path

# Quadratic expressions of NL files: prefix notation, one operator, number or variable a line.


def _quadratic_lines(P: sp.csc_array | None, constant: float, order: IntArray) -> list[str]:
    """Return the lines of ½x'Px + constant, where variable k of the file is x[order[k]]; halving is exact."""
    terms: list[list[str]] = []
    if P is not None and P.nnz:
        place = np.argsort(order)
        lower = sp.coo_array(sp.tril(P))
        for i, j, v in zip(lower.row, lower.col, lower.data, strict=True):
            if i == j:
                terms.append(["o2", f"n{0.5 * v:.17g}", "o5", f"v{place[i]}", "n2"])
            else:
                terms.append(["o2", f"n{v:.17g}", "o2", f"v{place[i]}", f"v{place[j]}"])
    if constant or not terms:
        terms.append([f"n{constant + 0.0:.17g}"])
    head = [] if len(terms) == 1 else ["o0"] if len(terms) == 2 else ["o54", str(len(terms))]
    return [*head, *(line for term in terms for line in term)]


@dataclass
class _QuadraticPolynomial:
    """A quadratic polynomial constant + Σ linear_j x_j + Σ quadratic_ij x_i x_j (i ≤ j), while an expression is read."""

    constant: float = 0.0
    linear: dict[int, float] = field(default_factory=dict)
    quadratic: dict[tuple[int, int], float] = field(default_factory=dict)

    def add(self, other: _QuadraticPolynomial, scale: float = 1.0) -> None:
        """Add a multiple of another polynomial, in place."""
        self.constant += scale * other.constant
        for j, v in other.linear.items():
            self.linear[j] = self.linear.get(j, 0.0) + scale * v
        for pair, v in other.quadratic.items():
            self.quadratic[pair] = self.quadratic.get(pair, 0.0) + scale * v

    def times(self, other: _QuadraticPolynomial) -> _QuadraticPolynomial:
        """Return the product, if it is no more than quadratic."""
        if (self.quadratic and (other.linear or other.quadratic)) or (other.quadratic and self.linear):
            raise DataError("expressions beyond quadratic ones are not read")
        product = _QuadraticPolynomial()
        product.add(self, other.constant)
        product.add(_QuadraticPolynomial(0.0, other.linear, other.quadratic), self.constant)
        for i, v in self.linear.items():
            for j, u in other.linear.items():
                pair = (min(i, j), max(i, j))
                product.quadratic[pair] = product.quadratic.get(pair, 0.0) + v * u
        return product


def _read_expression(lines: Iterator[str], common: Mapping[int, _QuadraticPolynomial]) -> _QuadraticPolynomial:
    """Return the next expression as a polynomial; ``common`` has the common expressions by number.

    It may hold sums, differences, products, negatives, divisions by a number, and powers 1 and 2.
    """
    word = next(lines)
    if word[0] == "n":
        return _QuadraticPolynomial(parse_number(word[1:]))
    if word[0] == "v":
        return _variable(parse_integer(word[1:]), common)
    if word == "o54":
        total = _QuadraticPolynomial()
        for _ in range(parse_integer(next(lines))):
            total.add(_read_expression(lines, common))
        return total
    if word == "o16":
        total = _QuadraticPolynomial()
        total.add(_read_expression(lines, common), -1.0)
        return total
    if word not in ("o0", "o1", "o2", "o3", "o5"):
        raise DataError(f"the operator {word} of an expression is not read")
    return _binary(word, _read_expression(lines, common), _read_expression(lines, common))


def _variable(place: int, common: Mapping[int, _QuadraticPolynomial]) -> _QuadraticPolynomial:
    """Return a variable, or a copy of the common expression that has its number."""
    total = _QuadraticPolynomial()
    total.add(common.get(place, _QuadraticPolynomial(linear={place: 1.0})))
    return total


def _binary(operator: str, left: _QuadraticPolynomial, right: _QuadraticPolynomial) -> _QuadraticPolynomial:
    if operator in ("o0", "o1"):
        left.add(right, 1.0 if operator == "o0" else -1.0)
        return left
    if operator == "o2":
        return left.times(right)
    if right.linear or right.quadratic:
        raise DataError("only numbers are read as divisors and exponents")
    if operator == "o3":
        return left.times(_QuadraticPolynomial(1.0 / right.constant))
    if right.constant == 2.0:
        return left.times(left)
    if right.constant == 1.0:
        return left
    raise DataError(f"the power {right.constant:g} is not read")


#: Suffixes that make variables a special ordered set.
_SETS = ("sosno", "ref", "sos", "sosref")
#: Segments that a form has no place for.
_REFUSED = {"L": "logical constraints", "F": "imported functions"}


class _NL(FileFormat):
    suffix = ".nl"
    title = "NL"
    carries = frozenset({Feature.QUADRATIC, Feature.NONCONVEX, Feature.INTEGER, Feature.BILINEAR})

    def write(self, form: StandardForm, path: Path) -> None:
        form = with_plain_products(form)
        flat = FlatProgram.as_stated(form)
        parts = _Nonlinear.of(flat)
        order = parts.order(flat)
        rows = [_columns(sp.csr_array(row.a[None, :]), _used(row.Q), order) for row in flat.quadratic_rows]
        rows += [_columns(flat.A[[i]], np.zeros(form.n, dtype=bool), order) for i in range(flat.b.size)]
        gradient = np.flatnonzero((flat.q[order] != 0) | parts.objective[order])
        lines = [f"g3 1 1 0\t# {' '.join(form.name.split())}"]
        lines += _header(flat, parts, sum(columns.size for columns, _ in rows), gradient.size)
        for i, quadratic_row in enumerate(flat.quadratic_rows):
            lines += [f"C{i}", *_quadratic_lines(quadratic_row.Q, 0.0, order)]
        for i in range(flat.b.size):
            lines += [f"C{len(flat.quadratic_rows) + i}", "n0"]
        lines += [f"O0 {flat.maximise:d}", *_quadratic_lines(flat.P, flat.r, order), "r"]
        lines += [f"{4 if row.equality else 1} {row.b:.17g}" for row in flat.quadratic_rows]
        lines += [f"{4 if equal else 2} {value:.17g}" for equal, value in zip(flat.equal, flat.b, strict=True)]
        lines += ["b", *(_interval(flat.lower[j], flat.upper[j]) for j in order), f"k{form.n - 1}"]
        counts = np.bincount(np.concatenate([np.zeros(0, dtype=np.int64), *(columns for columns, _ in rows)]), minlength=form.n)
        lines += [str(total) for total in np.cumsum(counts)[:-1]]
        for i, (columns, values) in enumerate(rows):
            if columns.size:
                lines.append(f"J{i} {columns.size}")
                lines += [f"{j} {v:.17g}" for j, v in zip(columns, values, strict=True)]
        if gradient.size:
            lines += [f"G0 {gradient.size}", *(f"{j} {flat.q[order[j]]:.17g}" for j in gradient)]
        names = form.names()
        called = [name for c in form.constraints if isinstance(c.cone, Bilinear) for name in cone_names(c)]
        called += [name for c in form.constraints if not isinstance(c.cone, Bilinear) for name in c.names()]
        text = "\n".join([*lines, ""])
        write_texts(
            {
                path: text,
                path.with_suffix(".col"): "".join(f"{names[j]}\n" for j in order),
                path.with_suffix(".row"): "".join(f"{name}\n" for name in (*called, "obj")),
                sidecar_path(path): Layout.of(form, order).sidecar_text(text),
            }
        )

    def read(self, source: InputFile) -> StandardForm:
        layout = source.layout
        flat = _Reader(source).program(named=layout is None and not _names_of_another_text(source))
        if layout is None:
            return flat.to_form(None)
        order = np.array(layout.order if layout.order is not None else np.arange(flat.q.size))
        if not np.array_equal(np.sort(order), np.arange(flat.q.size)):
            raise DataError("the sidecar's order of the variables does not fit the file")
        return flat.permute_columns(np.argsort(order)).to_form(layout)


def _used(P: sp.csc_array) -> BoolArray:
    """Return the mask of the variables that have an entry."""
    return np.asarray(np.diff(P.indptr) > 0)


def _columns(a: sp.csr_array, nonlinear: BoolArray, order: IntArray) -> tuple[IntArray, FloatArray]:
    """Return places in the file and linear coefficients of the variables of a row.

    Variables in products of the row are listed even if their coefficient is zero.
    """
    values = a.toarray().ravel()[order]
    columns = np.flatnonzero((values != 0) | nonlinear[order])
    return columns, values[columns]


@dataclass(frozen=True, eq=False)
class _Nonlinear:
    """Masks of the variables in products of the rows and of the objective."""

    rows: BoolArray
    objective: BoolArray

    @classmethod
    def of(cls, flat: FlatProgram) -> _Nonlinear:
        rows, objective = np.zeros(flat.q.size, dtype=bool), np.zeros(flat.q.size, dtype=bool)
        for quadratic_row in flat.quadratic_rows:
            rows |= _used(quadratic_row.Q)
        return cls(rows, objective if flat.P is None else _used(flat.P))

    def order(self, flat: FlatProgram) -> IntArray:
        """Return the file's order: variables in products of rows and objective, of rows alone, of the objective alone, in each
        group integers last; then other variables: continuous, binary, integer.
        """
        binary = flat.integer & (flat.lower == 0) & (flat.upper == 1)
        group = np.select([self.rows & self.objective, self.rows, self.objective], [0, 1, 2], 3)
        kind = 2 * group + np.where(group < 3, flat.integer, np.where(flat.integer, np.where(binary, 1, 2), 0))
        return np.argsort(kind, kind="stable")


def _header(flat: FlatProgram, parts: _Nonlinear, entries: int, gradient: int) -> list[str]:
    n, quadratic_count = flat.q.size, len(flat.quadratic_rows)
    m, equal = flat.b.size + quadratic_count, int(flat.equal.sum()) + sum(row.equality for row in flat.quadratic_rows)
    in_both, rows, objective = parts.rows & parts.objective, parts.rows & ~parts.objective, parts.objective & ~parts.rows
    linear = flat.integer & ~(parts.rows | parts.objective)
    binary = int((linear & (flat.lower == 0) & (flat.upper == 1)).sum())
    last = int((parts.rows | parts.objective).sum() if objective.any() else in_both.sum())
    discrete = " ".join(str(int((flat.integer & part).sum())) for part in (in_both, rows, objective))
    return [
        f" {n} {m} 1 0 {equal}\t# variables, constraints, objectives, ranges, equalities",
        f" {quadratic_count} {int(parts.objective.any())}\t# nonlinear constraints, objectives",
        " 0 0\t# network constraints: nonlinear, linear",
        f" {int(parts.rows.sum())} {last} {int(in_both.sum())}\t# nonlinear variables in constraints, objectives, both",
        " 0 0 0 1\t# linear network variables; functions; arithmetic, flags",
        f" {binary} {int(linear.sum()) - binary} {discrete}"
        "\t# discrete variables: binary, integer, nonlinear (both, constraints, objectives)",
        f" {entries} {gradient}\t# entries of the Jacobian, of the objective's gradient",
        " 0 0\t# longest name of a row, of a variable",
        " 0 0 0 0 0\t# common expressions",
    ]


def _interval(low: float, high: float) -> str:
    if low == high:
        return f"4 {low:.17g}"
    if np.isfinite(low):
        return f"0 {low:.17g} {high:.17g}" if np.isfinite(high) else f"2 {low:.17g}"
    return f"1 {high:.17g}" if np.isfinite(high) else "3"


class _Reader:
    """Reader of a file segment by segment, by the letter of each."""

    def __init__(self, source: InputFile) -> None:
        self.path, self.source = source.path, source
        source.take_name(source.text.partition("\n")[0].partition("#")[2].strip().removeprefix("problem "))
        self.lines: Iterator[str] = (line.split("#", 1)[0].strip() for line in source.lines())
        if not next(self.lines).startswith("g"):
            raise DataError("only the text form of NL is read: its first letter is g")
        counts = [[int(word) for word in next(self.lines).split()] for _ in range(9)]
        (self.n, self.m), objectives = counts[0][:2], counts[0][2]
        if len(counts[0]) > 5 and counts[0][5]:
            raise DataError("logical constraints are not read")
        if objectives != 1:
            raise DataError("programs with one objective are read")
        if not 0 <= max(self.n, self.m) <= source.text.count("\n") or min(self.n, self.m) < 0:
            raise DataError(f"it says {self.n} variables and {self.m} rows, which have a line each, and has fewer lines")
        self.integer = _discrete(self.n, counts)
        self.q, self.r = np.zeros(self.n), 0.0
        self.P: sp.csc_array | None = None
        self.entries: list[tuple[int, int, float]] = []
        self.sides: list[tuple[float, float]] = []
        self.bounds: list[tuple[float, float]] = []
        self.constants = np.zeros(self.m)
        self.squares: dict[int, _QuadraticPolynomial] = {}
        #: Expressions that others refer to, under numbers behind those of the variables.
        self.common: dict[int, _QuadraticPolynomial] = {}
        self.maximise = False
        #: Heads of the segments read so far; a second one with the same head is refused.
        self.segments: set[tuple[str, ...]] = set()

    def program(self, named: bool) -> FlatProgram:
        """Return the program, from every segment of the file; with ``named``, under the names in the files beside it, if any."""
        for line in self.lines:
            if line:
                self._take(line[0], line[1:].split())
        if len(self.sides) != self.m or len(self.bounds) != self.n:
            raise DataError("the segments r and b must give the sides of every row and the bounds of every variable")
        left, right = np.array(self.sides).reshape(-1, 2).T - self.constants
        A = matrix_of_entries([(i, j, v) for i, j, v in self.entries if v], (self.m, self.n))
        lower, upper = np.array(self.bounds).reshape(-1, 2).T + 0.0
        called = _names_beside(self.path.with_suffix(".col"), self.n) if named else None
        row_names = _names_beside(self.path.with_suffix(".row"), self.m) if named else None
        products = {i: self._matrix(terms) for i, terms in sorted(self.squares.items())}
        rows, _, quadratic_rows = rows_by_kind(A, (left, right), row_names or [f"c{i}" for i in range(self.m)], products)
        return FlatProgram(
            self.P, self.q, self.r, rows.A, rows.b, rows.equal, lower, upper, self.integer, called,
            rows.names if row_names else None, self.maximise, quadratic_rows=quadratic_rows,
        )  # fmt: skip

    def _matrix(self, terms: _QuadraticPolynomial) -> sp.csc_array:
        """Return P of ½x'Px."""
        for pair in terms.quadratic:
            parse_index(max(pair), self.n)
        P = symmetric_matrix([(i, j, 2.0 * v if i == j else v) for (i, j), v in terms.quadratic.items() if v], self.n)
        return sp.csc_array((self.n, self.n)) if P is None else P

    def _table(self, count: str) -> list[tuple[int, float]]:
        """Read the entries of one row; two entries of one variable are refused."""
        table: dict[int, float] = {}
        for _ in range(parse_integer(count)):
            place, value = next(self.lines).split()
            if parse_integer(place) in table:
                raise DataError(f"a second entry of the variable {place} in one row")
            table[parse_integer(place)] = parse_number(value)
        return list(table.items())

    def _take(self, letter: str, words: list[str]) -> None:
        segment = (letter, *words[: letter in "COJGV"])
        if segment in self.segments and letter not in "dxS":
            raise DataError(f"a second segment {''.join(segment)}")
        self.segments.add(segment)
        if letter == "C":
            expression = _read_expression(self.lines, self.common)
            i = parse_index(words[0], self.m)
            self.constants[i] = expression.constant
            self.entries += [(i, parse_index(j, self.n), v) for j, v in expression.linear.items()]
            if expression.quadratic:
                self.squares[i] = expression
        elif letter == "O":
            if words[1:] not in (["0"], ["1"]):
                raise DataError("an objective is of the sense 0 (least) or 1 (most)")
            self.maximise = words[1] == "1"
            expression = _read_expression(self.lines, self.common)
            self.r = expression.constant + 0.0
            self.P = self._matrix(expression) if expression.quadratic else None
            for j, v in expression.linear.items():
                self.q[parse_index(j, self.n)] += v
        elif letter == "V":
            place, total = parse_integer(words[0]), _QuadraticPolynomial()
            if place < self.n:
                raise DataError(f"the common expression {place} has the number of a variable")
            for j, v in self._table(words[1]):
                total.add(_variable(j, self.common), v)
            total.add(_read_expression(self.lines, self.common))
            self.common[place] = total
        elif letter == "r":
            self.sides = [_limits(next(self.lines).split()) for _ in range(self.m)]
        elif letter == "b":
            self.bounds = [_limits(next(self.lines).split()) for _ in range(self.n)]
        elif letter == "J":
            self.entries += [(parse_index(words[0], self.m), place, value) for place, value in self._table(words[1])]
        elif letter == "G":
            for place, value in self._table(words[1]):
                self.q[parse_index(place, self.n)] += value
        elif letter in "kxd":  # column counts and starting points, which a form does not have
            for _ in range(int(words[0])):
                next(self.lines)
        elif letter == "S":
            lines = [next(self.lines).split() for _ in range(int(words[1]))]
            if words[2] in _SETS and any(float(value) for _, value in lines):
                restatement = binary_restatement("special ordered sets")
                raise DataError(f"special ordered sets are not read: suffix {words[2]}{restatement}")
        else:
            raise DataError(f"{_REFUSED.get(letter, f'segments of the kind {letter}')} are not read")


def _names_of_another_text(source: InputFile) -> bool:
    """Return whether the names in ``.col`` are those of the sidecar, so that they may belong to another text of the file."""
    layout, path = source.sidecar, source.path.with_suffix(".col")
    if layout is None or layout.order is None or not path.exists():
        return False
    names = layout.names
    return split_lines(read_text(path)) == [names[j] for j in layout.order if j < len(names)]


def _names_beside(path: Path, count: int) -> tuple[str, ...] | None:
    """Return the first ``count`` lines of a file of names (the objective's name is last); None without the file."""
    if not path.exists():
        return None
    names = tuple(line.strip() for line in split_lines(read_text(path))[:count])
    if len(names) < count or len(set(names)) < count or "" in names:
        raise DataError(f"{count} different names are needed, one a line, for the file beside it", file=path)
    return names


def _discrete(n: int, counts: list[list[int]]) -> BoolArray:
    """Return the mask of integer variables from the header: the last of all, and the last of each group of nonlinear ones.

    The groups are in the order of the file: nonlinear in rows and in the objective, in rows alone, in the objective alone.
    """
    binary, integer, *nonlinear = counts[5][:5]
    rows, objective, in_both = (*counts[3], 0)[:3]
    discrete = np.zeros(n, dtype=bool)
    if min(binary, integer, *nonlinear) < 0 or binary + integer > n or max(rows, objective, in_both) > n:
        raise DataError("its numbers of discrete variables do not fit the number of variables")
    discrete[n - binary - integer :] = True
    for stop, size in zip((in_both, rows, objective), nonlinear, strict=True):
        if size > stop:
            raise DataError("its numbers of discrete variables do not fit the number of nonlinear variables")
        discrete[stop - size : stop] = True
    return discrete


def _limits(words: list[str]) -> tuple[float, float]:
    kind, values = words[0], [parse_number(word, "a limit", finite=False) for word in words[1:]]
    if kind == "0":
        return values[0], values[1]
    if kind in ("1", "2", "4"):
        return (-np.inf if kind == "1" else values[0]), (np.inf if kind == "2" else values[0])
    if kind == "3":
        return -np.inf, np.inf
    raise DataError(f"limits of the kind {kind} are not read")


#: The format, which `models.export.file_formats` finds.
FORMAT = _NL()
