"""Reader and writer of SDPA sparse files (.dat-s): min c'x such that X = Σ x_i F_i - F_0 ⪰ 0, X block diagonal.

A block of negative size is a diagonal matrix, whose entries are inequalities. Linear rows and bounds of a form are one diagonal
block; an equality is written as two inequalities, since the format has no equalities. Integers are listed behind ``*INTEGER``, as
SCIP-SDP and MathOptInterface do. Entries off the diagonal are those of the matrix: the √2 with which a form stores them is
divided out to 34 digits, as in CBF (`models.export.cbf`). A constant of the objective is the cost of a last variable that is
fixed at 1.

Punctuation ({, }, parentheses, commas) is read as blanks; text may stand behind the sizes; exponents may have FORTRAN's D. An
entry of the lower triangle stands for its mirror image; a second entry of one place is refused, since other readers differ on
it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TypeAlias

import numpy as np
import scipy.sparse as sp

from ...errors import DataError, short_text
from ..arrays import FloatArray, check_bytes
from ..program.cones import PSD, Cone, Feature, Nonnegative, Zero, svec_indices, svec_size
from ..program.form import Block, Constraint, StandardForm
from .cbf import parse_scaled, unscaled_text
from .file_formats import FileFormat, InputFile, is_number, number_text, parse_number
from .file_programs import ConicProgram
from .layout import Layout

#: Punctuation that counts as blank, a whole number, and beginnings of comments.
_PUNCTUATION = str.maketrans("{}(),", "     ")
_WHOLE = re.compile(r"[+-]?\d{1,15}", re.ASCII)
_COMMENTS = ('"', "*")

#: Matrix k (0 for F_0), block, row ≤ column, from 1 on, and the value as text.
MatrixEntry: TypeAlias = tuple[int, int, int, int, str]


class _SDPA(FileFormat):
    suffix = ".dat-s"
    also_read = (".sdpa",)
    also_written = (".sdpa",)
    title = "the SDPA sparse format"
    carries = frozenset({Feature.PSD, Feature.INTEGER})

    def write(self, form: StandardForm, path: Path) -> None:
        layout, form = Layout.of(form), _with_constant(form)
        rows = _scalar_rows(form)
        matrices = [c for c in form.constraints if isinstance(c.cone, PSD) and c.rows]
        sizes = [-rows.shape[0]] if rows.shape[0] else []
        sizes += [c.cone.order for c in matrices for _ in range(c.cone.count)]  # type: ignore[attr-defined]
        lines = ['"written by marginopt"', f"{form.n}", f"{len(sizes)}", " ".join(map(str, sizes))]
        lines.append(" ".join(f"{cost + 0.0:.17g}" for cost in form.q.tolist()))
        lines += _diagonal(rows)
        lines += _blocks(matrices, 1 + bool(rows.shape[0]))
        if form.integer.any():
            lines += ["*INTEGER", *(f"*{j + 1}" for j in np.flatnonzero(form.integer))]
        layout.write(path, "\n".join(lines) + "\n")

    def read(self, source: InputFile) -> StandardForm:
        layout = source.layout
        return _Reader(source).program(layout).to_form(layout)


# -- writing --------------------------------------------------------------------------------------------------------


def _with_constant(form: StandardForm) -> StandardForm:
    """Return the form with the constant of its objective as the cost of a last variable, which is fixed at 1."""
    if not form.r:
        return form
    constraints = tuple(
        replace(c, F=sp.csr_array(sp.hstack([c.F, sp.csr_array((c.rows, 1))], format="csr"))) for c in form.constraints
    )
    return form.replace(
        blocks=(*form.blocks, Block("constant of the objective", ())),
        q=np.append(form.q, form.r),
        r=0.0,
        constraints=constraints,
        lower=np.append(form.lower, 1.0),
        upper=np.append(form.upper, 1.0),
        integer=np.append(form.integer, False),
    )


def _scalar_rows(form: StandardForm) -> sp.csr_array:
    """Return (F, g) of rows F x + g ≥ 0: linear constraints, the negatives of equalities, then bounds."""
    linear = [c for c in form.constraints if isinstance(c.cone, (Zero, Nonnegative)) and c.rows]
    pieces = [sp.hstack([c.F, c.g[:, None]]) for c in linear]
    pieces += [sp.hstack([-c.F, -c.g[:, None]]) for c in linear if isinstance(c.cone, Zero)]
    for sign, bound in ((1.0, form.lower), (-1.0, form.upper)):
        bounded = np.flatnonzero(np.isfinite(bound))
        places = (np.full(bounded.size, sign), (np.arange(bounded.size), bounded))
        pieces.append(sp.hstack([sp.csr_array(places, shape=(bounded.size, form.n)), -sign * bound[bounded][:, None]]))
    return sp.csr_array(sp.vstack(pieces, format="csr"))


def _diagonal(rows: sp.csr_array) -> Iterator[str]:
    entries = sp.coo_array(rows)
    constant = rows.shape[1] - 1
    for i, j, v in zip(entries.row.tolist(), entries.col.tolist(), entries.data.tolist(), strict=True):
        if v:
            k, value = (0, -v) if j == constant else (j + 1, v)
            yield f"{k} 1 {i + 1} {i + 1} {value:.17g}"


def _blocks(constraints: list[Constraint], block: int) -> Iterator[str]:
    for c in constraints:
        upper, lower = svec_indices(c.cone.order)  # type: ignore[attr-defined]
        entries = sp.coo_array(sp.hstack([-c.g[:, None], c.F]))
        for row, k, v in zip(entries.row.tolist(), entries.col.tolist(), entries.data.tolist(), strict=True):
            copy, place = divmod(row, c.cone.dim)
            if v:
                i, l = upper[place], lower[place]
                yield f"{k} {block + copy} {i + 1} {l + 1} {unscaled_text(v, i != l)}"
        block += c.cone.count


# -- reading --------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class MatrixProgram:
    """The content of an SDPA file, without any conversion.

    Parameters
    ----------
    costs : ndarray (n,)
        c of the objective c'x.
    sizes : list of int
        Orders of the blocks; negative for diagonal blocks.
    entries : list of MatrixEntry
        Entries of F_0, .., F_n, of the upper triangle, in the order of the file.
    """

    costs: FloatArray
    sizes: list[int]
    entries: list[MatrixEntry]


def read_matrices(path: Path) -> MatrixProgram:
    """Return the matrices of an SDPA file without svec's scaling, which `read_form` applies.

    Raises
    ------
    DataError
        A line that is not understood; the error has its number.
    """
    source = InputFile(path)
    reader = _Reader(source)
    try:
        costs, sizes = reader.head()
        return MatrixProgram(costs, sizes, list(reader.entries(costs.size, sizes)))
    except DataError as error:
        raise DataError(str(error), file=path, line=source.line) from error


@dataclass
class _DataLine:
    """A line with data: its words, without punctuation, and its text."""

    words: list[str]
    text: str


class _Reader:
    """Reader of a file's parts in their order: number of variables, blocks and their sizes, costs, entries, integers."""

    def __init__(self, source: InputFile) -> None:
        self._lines = self._data(source)
        self._comments: list[str] = []
        self._integers: list[int] | None = None

    def _data(self, source: InputFile) -> Iterator[_DataLine]:
        """Yield the lines with data: comments are skipped, the section of integers is stored."""
        for line in source.lines():
            text = line.strip()
            if not text:
                continue
            if self._integers is not None or text.upper().startswith(("*INTEGER", "*RANK1")):
                self._integer(text)
            elif not text.startswith(_COMMENTS):
                yield _DataLine(text.translate(_PUNCTUATION).split(), text)

    def _integer(self, text: str) -> None:
        if self._integers is None:
            if text.upper() != "*INTEGER":
                raise DataError(f"the section {short_text(text[:40])} is not read: *INTEGER alone may stand behind the entries")
            self._integers = []
            return
        word = text.removeprefix("*").strip()
        if not text.startswith("*") or not _WHOLE.fullmatch(word):
            raise DataError(f"a variable's number behind * is needed in the section *INTEGER, not {short_text(text[:40])}")
        self._integers.append(int(word))

    def head(self) -> tuple[FloatArray, list[int]]:
        """Return the costs, and the sizes of the blocks."""
        n, count = self._size("the number of variables", 1), self._size("the number of blocks", 0)
        check_bytes(32 * n + 8 * count, "the variables and blocks that it declares")
        sizes = [_block_size(word) for word in self._numbers(count, "sizes of blocks")]
        return np.array([parse_number(word, "a cost") for word in self._numbers(n, "costs")], dtype=np.float64), sizes

    def program(self, layout: Layout | None) -> ConicProgram:
        """Return the program; with the layout of a form, the second halves of its equalities and its constant's variable go."""
        q, sizes = self.head()
        n = q.size
        lengths = [-size if size < 0 else svec_size(size) for size in sizes]
        check_bytes(16 * sum(lengths), "the rows that it declares")
        F, g = self._rows(n, sizes, lengths)
        pieces, start = [], 0
        for block, (size, length) in enumerate(zip(sizes, lengths, strict=True), 1):
            rows = np.arange(start, start + length)
            start += length
            scalar = size < 0 or (size == 1 and layout is None)
            cone: Cone = Nonnegative(length) if scalar else PSD.of_order(size)
            pieces.append(Constraint(f"{'diagonal' if scalar else 'psd'}{block}", sp.csr_array(F[rows]), g[rows], cone))
        integer, constant = self._integer_mask(n), 0.0
        if layout is not None:
            pieces = _without_negatives(pieces, layout)
            if n == sum(block.size for block in layout.blocks) + 1:
                pieces, constant, q, integer = _without_constant(pieces), float(q[-1]), q[:-1], integer[:-1]
        free = np.full(q.size, np.inf)
        return ConicProgram(q, constant, tuple(pieces), -free, free, integer, allows_extra_rows=True)

    def _next(self, noun: str) -> _DataLine:
        line = next(self._lines, None)
        if line is None:
            raise DataError(f"it ends before {noun}")
        return line

    def _size(self, noun: str, minimum: int) -> int:
        line = self._next(noun)
        words = line.words
        if not words or not _WHOLE.fullmatch(words[0]) or int(words[0]) < minimum:
            raise DataError(f"{noun} is needed, not {short_text(line.text[:40])}")
        if len(words) > 1 and is_number(words[1]):
            raise DataError(f"{noun} stands alone in its line: {short_text(line.text[:40])}")
        return int(words[0])

    def _numbers(self, count: int, noun: str) -> list[str]:
        """Return ``count`` numbers, from one line or several; text behind the last number is ignored."""
        numbers: list[str] = []
        while len(numbers) < count:
            line = self._next(f"{count} {noun} are there ({len(numbers)} are)")
            stop = next((k for k, word in enumerate(line.words) if not is_number(word)), len(line.words))
            numbers += line.words[:stop]
            if len(numbers) > count or (stop < len(line.words) and len(numbers) < count):
                raise DataError(f"{count} {noun} are needed: {short_text(line.text[:60])}")
        return numbers

    def entries(self, n: int, sizes: list[int]) -> Iterator[MatrixEntry]:
        """Yield the entries of the matrices of n variables, those of the lower triangle mirrored."""
        places: set[tuple[int, int, int, int]] = set()
        for line in self._lines:
            words = line.words
            if len(words) != 5 or not all(map(_WHOLE.fullmatch, words[:4])):
                raise DataError(f"an entry is matrix, block, row, column and value, not {short_text(line.text[:60])}")
            (k, b, i, j), value = map(int, words[:4]), number_text(words[4])
            if not (0 <= k <= n and 1 <= b <= len(sizes) and 1 <= i <= abs(sizes[b - 1]) and 1 <= j <= abs(sizes[b - 1])):
                raise DataError(f"no such matrix, block, row or column: {short_text(line.text[:60])}")
            if sizes[b - 1] < 0 and i != j:
                raise DataError(f"an entry off the diagonal of the diagonal block {b}: {short_text(line.text[:60])}")
            place = (k, b, min(i, j), max(i, j))
            if place in places:
                raise DataError(f"a second entry of matrix {k}, block {b}, row {place[2]}, column {place[3]}")
            places.add(place)
            yield (*place, value)

    def _rows(self, n: int, sizes: list[int], lengths: list[int]) -> tuple[sp.csr_array, FloatArray]:
        """Return F and g of the stacked rows of all blocks."""
        starts = np.concatenate([[0], np.cumsum(lengths, dtype=np.int64)]).tolist()
        places, scaled_values = list[tuple[int, int]](), list[float]()
        for k, b, low, high, value in self.entries(n, sizes):
            place = low - 1 if sizes[b - 1] < 0 else high * (high - 1) // 2 + low - 1
            places.append((starts[b - 1] + place, k))
            scaled_values.append(parse_scaled(value, low != high))
        rows, columns = np.array(places, dtype=np.int64).reshape(-1, 2).T
        values = np.array(scaled_values, dtype=np.float64)
        constant, linear = columns == 0, (columns > 0) & (values != 0.0)
        F = sp.csr_array((values[linear], (rows[linear], columns[linear] - 1)), shape=(starts[-1], n), dtype=np.float64)
        g = np.zeros(starts[-1])
        g[rows[constant]] = -values[constant] + 0.0
        return F, g

    def _integer_mask(self, n: int) -> np.ndarray:
        integer = np.zeros(n, dtype=bool)
        for j in self._integers or ():
            if not 1 <= j <= n:
                raise DataError(f"the section *INTEGER names variable {j} of {n}")
            integer[j - 1] = True
        return integer


def _block_size(word: str) -> int:
    if not _WHOLE.fullmatch(word) or not int(word):
        raise DataError(f"the size of a block is a whole number and not zero; it is {short_text(word)}")
    return int(word)


def _without_negatives(pieces: list[Constraint], layout: Layout) -> list[Constraint]:
    """Return the pieces without the negatives of the layout's equalities, which follow its linear rows."""
    linear = [cone for _, cone, _ in layout.constraints if isinstance(cone, (Zero, Nonnegative))]
    equal = np.concatenate([np.full(cone.rows, isinstance(cone, Zero)) for cone in linear]) if linear else np.zeros(0, dtype=bool)
    if not equal.any():
        return pieces
    scalar = [c for c in pieces if isinstance(c.cone, Nonnegative)]
    first, total = np.flatnonzero(equal), equal.size
    if not scalar or scalar[0].rows < total + first.size:
        raise DataError("the sidecar's layout does not fit the file: it has fewer rows")
    F, g = scalar[0].F, scalar[0].g
    second = np.arange(total, total + first.size)
    if abs(F[first] + F[second]).max() or np.abs(g[first] + g[second]).max():
        raise DataError("the sidecar's layout does not fit the file: an equality is not a row and its negative")
    others = np.setdiff1d(np.arange(g.size), second)
    folded = Constraint(scalar[0].label, sp.csr_array(F[others]), g[others], Nonnegative(others.size))
    return [folded if c is scalar[0] else c for c in pieces]


def _without_constant(pieces: list[Constraint]) -> list[Constraint]:
    """Return the pieces without the last variable and the two rows that fix it at 1."""
    narrowed = []
    fixed: list[tuple[float, float]] = []
    for c in pieces:
        own_rows = np.flatnonzero(c.F[:, [c.F.shape[1] - 1]].toarray().ravel())
        fixed += [(float(c.F[i, c.F.shape[1] - 1]), float(c.g[i])) for i in own_rows.tolist()]
        other_rows = np.setdiff1d(np.arange(c.rows), own_rows)
        F, cone = sp.csr_array(c.F[other_rows][:, :-1]), c.cone if not own_rows.size else Nonnegative(other_rows.size)
        narrowed.append(Constraint(c.label, F, c.g[other_rows], cone))
    if sorted(fixed) != [(-1.0, 1.0), (1.0, -1.0)]:
        raise DataError("the sidecar's layout does not fit the file: its last variable is not fixed at 1")
    return narrowed


#: The format, which `models.export.file_formats` finds.
FORMAT = _SDPA()
