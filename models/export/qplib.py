"""Reader and writer of QPLIB files: objective ½x'Px + q'x + r, linear and quadratic rows, bounds, integers.

Names in files that other programs wrote are read. Names of a form go to the sidecar file (`models.export.layout`), since other
readers refuse names.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain
from pathlib import Path

import numpy as np
import scipy.sparse as sp

from ...errors import DataError, short_text
from ..arrays import FloatArray, check_bytes
from ..importing.quadratic_rows import with_plain_products
from ..program.cones import Feature
from ..program.form import StandardForm
from .file_formats import FileFormat, InputFile, parse_index, parse_integer, parse_number
from .file_programs import FlatProgram, matrix_of_entries, rows_by_kind, symmetric_matrix
from .layout import Layout


class _QPLIB(FileFormat):
    suffix = ".qplib"
    title = "QPLIB"
    carries = frozenset({Feature.QUADRATIC, Feature.NONCONVEX, Feature.INTEGER, Feature.BILINEAR})

    def write(self, form: StandardForm, path: Path) -> None:
        form = with_plain_products(form)
        flat = FlatProgram.as_stated(form)
        m, n = flat.b.size + len(flat.quadratic_rows), flat.q.size
        kind = _kind(flat, Feature.NONCONVEX in form.features)
        lines = [_word(form.name), kind, flat.sense, f"{n} # number of variables"]
        lines += [f"{m} # number of constraints"] if m else []
        if flat.P is not None and flat.P.nnz:
            lines += _matrix(sp.coo_array(sp.tril(flat.P)), "quadratic terms in objective")
        lines += _vector(flat.q, 0.0, "linear coefficients in objective")
        lines.append(f"{flat.r:.17g} # objective constant")
        infinity = _infinity(flat)
        if flat.quadratic_rows:
            lines += _products(flat)
        if m:
            A = sp.vstack([flat.A, *(sp.csr_array(row.a[None, :]) for row in flat.quadratic_rows)])
            lines += _matrix(sp.coo_array(A), "linear terms in all constraints")
        lines.append(f"{infinity:.17g} # value for infinity")
        if m:
            left = np.append(flat.b, [row.b if row.equality else -infinity for row in flat.quadratic_rows])
            right = np.append(np.where(flat.equal, flat.b, infinity), [row.b for row in flat.quadratic_rows])
            lines += _vector(left, 0.0, "left-hand-sides")
            lines += _vector(right, infinity, "right-hand-sides")
        lines += _vector(np.maximum(flat.lower, -infinity), -infinity, "variable lower bounds")
        lines += _vector(np.minimum(flat.upper, infinity), infinity, "variable upper bounds")
        if flat.integer.any() and not flat.integer.all():
            lines += ["0 # default variable type", f"{flat.integer.sum()} # number of non-default variable types"]
            lines += [f"{j + 1} 1" for j in np.flatnonzero(flat.integer)]
        lines += _vector(np.zeros(n), 0.0, "variable primal values in starting point")
        lines += _vector(np.zeros(m), 0.0, "constraint dual values in starting point") if m else []
        lines += _vector(np.zeros(n), 0.0, "variable bound dual values in starting point")
        lines += ["0 # number of non-default variable names", "0 # number of non-default constraint names", ""]
        Layout.of(form).write(path, "\n".join(lines))

    def read(self, source: InputFile) -> StandardForm:
        return _Reader(source).program().to_form(source.layout)


def _word(name: str) -> str:
    """Return a name on one line and without #, the sign of comments."""
    return "_".join(name.replace("#", " ").split()) or "program"


def _kind(flat: FlatProgram, nonconvex: bool) -> str:
    """Return the format's three letters.

    Objective: L (linear), D (convex and diagonal), C (convex) or Q; variables: C (continuous), I (integer) or G (both); rows: B
    (bounds alone), L (linear) or Q (quadratic).
    """
    objective = "L"
    if flat.P is not None and flat.P.nnz:
        diagonal = abs(flat.P - sp.diags_array(flat.P.diagonal())).sum() == 0
        objective = "Q" if nonconvex else "D" if diagonal else "C"
    variables = "G" if flat.integer.any() else "C"
    rows = "Q" if flat.quadratic_rows else "L" if flat.b.size else "B"
    return objective + ("I" if flat.integer.all() else variables) + rows


def _products(flat: FlatProgram) -> Iterator[str]:
    """Yield the lines of the lower triangles of Q of the rows ½x'Qx + a'x ≤ or = b, which come after the linear rows."""
    lowers = [sp.coo_array(sp.tril(row.Q)) for row in flat.quadratic_rows]
    yield f"{sum(lower.nnz for lower in lowers)} # number of quadratic terms in all constraints"
    for k, lower in enumerate(lowers, flat.b.size + 1):
        yield from (f"{k} {i + 1} {j + 1} {v:.17g}" for i, j, v in zip(lower.row, lower.col, lower.data, strict=True))


def _infinity(flat: FlatProgram) -> float:
    """Return the number that stands for infinity: 1e20, or ten times the largest finite bound or side if that is more."""
    sides = np.array([row.b for row in flat.quadratic_rows])
    finite = [np.abs(v[np.isfinite(v)]).max(initial=0.0) for v in (flat.lower, flat.upper, flat.b, sides)]
    return max(1e20, 10.0 * max(finite))


def _matrix(matrix: sp.coo_array, noun: str) -> Iterator[str]:
    matrix.eliminate_zeros()
    yield f"{matrix.nnz} # number of {noun}"
    yield from (f"{i + 1} {j + 1} {v:.17g}" for i, j, v in zip(matrix.row, matrix.col, matrix.data, strict=True))


def _vector(values: FloatArray, default: float, noun: str) -> Iterator[str]:
    other = np.flatnonzero(values != default)
    yield f"{default:.17g} # default value for {noun}"
    yield f"{other.size} # number of non-default {noun}"
    yield from (f"{j + 1} {values[j]:.17g}" for j in other)


class _Reader:
    """Reader of a QPLIB file from its first line to its last; its three letters (`_kind`) determine which parts it has."""

    def __init__(self, source: InputFile) -> None:
        self.source = source
        self.lines: Iterator[list[str]] = (words for line in source.lines() if (words := line.split("#", 1)[0].split()))

    def program(self) -> FlatProgram:
        self.source.take_name(" ".join(next(self.lines)))
        kind, sense = next(self.lines)[0].upper(), next(self.lines)[0].lower()
        if sense not in ("minimize", "maximize"):
            raise DataError(f"an objective is to be minimised or maximised, not {short_text(sense)}")
        if len(kind) != 3 or kind[0] not in "LDCQ" or kind[1] not in "CBMIG" or kind[2] not in "NBLDCQ":
            raise DataError(f"problems of the type {kind} are not known")
        n = self._whole()
        m = self._whole() if kind[2] not in "NB" else 0
        check_bytes(64 * (n + m), "the variables and rows that it declares")
        P = None if kind[0] == "L" else symmetric_matrix(self._triples(), n)
        q, r = self._full(n), parse_number(next(self.lines)[0])
        products = self._products(m, n) if m and kind[2] in "DCQ" else {}
        entries = self._triples() if m else []
        infinity = parse_number(next(self.lines)[0], finite=False)
        left, right = (self._full(m, finite=False), self._full(m, finite=False)) if m else (np.zeros(0), np.zeros(0))
        lower, upper = (np.zeros(n), np.ones(n)) if kind[1] == "B" else (self._full(n, finite=False), self._full(n, finite=False))
        integer = np.full(n, kind[1] in "BI") if kind[1] in "CBI" else self._full(n) > 0
        lower = np.where(lower <= -infinity, -np.inf, lower)
        upper = np.where(upper >= infinity, np.inf, upper)
        for size in (n, m, n) if m else (n, n):  # starting points, of which a form has none
            self._optional(size)
        columns, row_names = self._names(n, "x"), self._names(m, "c") if m else None
        left, right = np.where(left <= -infinity, -np.inf, left), np.where(right >= infinity, np.inf, right)
        names = row_names or [f"c{i + 1}" for i in range(m)]
        rows, _, quadratic_rows = rows_by_kind(matrix_of_entries(entries, (m, n)), (left, right), names, products)
        return FlatProgram(
            P, q + 0.0, r + 0.0, rows.A, rows.b, rows.equal, lower, upper, integer, columns, rows.names if row_names else None,
            sense == "maximize", quadratic_rows=quadratic_rows,
        )  # fmt: skip

    def _products(self, m: int, n: int) -> dict[int, sp.csc_array]:
        """Return Q of ½x'Qx by row, from lines with the row, one triangle's row and column, and the entry."""
        triangles: dict[int, dict[tuple[int, int], float]] = {}
        for _ in range(self._whole()):
            row, i, j, v = next(self.lines)
            triangle, place = triangles.setdefault(parse_index(row, m, 1), {}), (parse_index(i, n, 1), parse_index(j, n, 1))
            if place in triangle or place[::-1] in triangle:
                raise DataError(f"a second entry of row {i} and column {j} of the constraint {row}")
            triangle[place] = parse_number(v)
        entries = {k: [(i, j, v) for (i, j), v in triangle.items()] for k, triangle in sorted(triangles.items())}
        return {k: Q for k, part in entries.items() if (Q := symmetric_matrix(part, n)) is not None}

    def _optional(self, size: int) -> None:
        """Read and drop a vector, which is missing at the end of many files."""
        first = next(self.lines, None)
        if first is not None:
            self.lines = chain([first], self.lines)
            self._full(size)

    def _names(self, size: int, letter: str) -> tuple[str, ...] | None:
        """Return the file's names; None if it has none. An entry without a name gets ``letter`` and its number."""
        names = [f"{letter}{k + 1}" for k in range(size)]
        count = parse_integer(next(self.lines, ["0"])[0])
        for _ in range(count):
            k, *words = next(self.lines)
            names[parse_index(k, size, 1)] = " ".join(words)
        return tuple(names) if count else None

    def _whole(self) -> int:
        count = parse_integer(next(self.lines)[0])
        if count < 0:
            raise DataError(f"a number of lines cannot be {count}")
        return count

    def _triples(self) -> list[tuple[int, int, float]]:
        triples: dict[tuple[int, int], float] = {}
        for _ in range(self._whole()):
            i, j, v = next(self.lines)
            place = parse_integer(i), parse_integer(j)
            if place in triples:
                raise DataError(f"a second entry of row {i} and column {j}")
            triples[place] = parse_number(v)
        return [(i - 1, j - 1, v) for (i, j), v in triples.items()]

    def _full(self, size: int, *, finite: bool = True) -> FloatArray:
        values = np.full(size, parse_number(next(self.lines)[0], finite=finite))
        indices: set[int] = set()
        for _ in range(self._whole()):
            j, v = next(self.lines)
            if parse_index(j, size, 1) in indices:
                raise DataError(f"a second number for the index {j}")
            indices.add(parse_index(j, size, 1))
            values[parse_index(j, size, 1)] = parse_number(v, finite=finite)
        return values


#: The format, which `models.export.file_formats` finds.
FORMAT = _QPLIB()
