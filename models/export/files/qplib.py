"""QPLIB: the library's format for quadratic programs: quadratic objective ½x'Px + q'x + r, linear rows, bounds, integers.

Names go to the sidecar: the format has a place for them that none of the library's files uses, and readers refuse it.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import scipy.sparse as sp

from ....errors import DataError
from ....files import write_texts
from ...arrays import FloatArray
from ...memory import check_bytes
from ...program.cones import Feature
from ...program.form import StandardForm
from ..shared.layout import FlatProgram, Layout, sidecar, symmetric
from .formats import FileFormat, Source

__all__ = ["FORMAT"]


class _QPLIB(FileFormat):
    suffix = ".qplib"
    title = "QPLIB"
    carries = frozenset({Feature.QUADRATIC, Feature.INTEGER})

    def write(self, form: StandardForm, path: Path) -> None:
        flat = FlatProgram.of(form)
        m, n = flat.A.shape
        lines = [_word(form.name), _kind(flat), "minimize", f"{n} # number of variables"]
        lines += [f"{m} # number of constraints"] if m else []
        if flat.P is not None and flat.P.nnz:
            lines += _matrix(sp.coo_array(sp.tril(flat.P)), "quadratic terms in objective")
        lines += _vector(flat.q, 0.0, "linear coefficients in objective")
        lines.append(f"{flat.r:.17g} # objective constant")
        if m:
            lines += _matrix(sp.coo_array(flat.A), "linear terms in all constraints")
        infinity = _infinity(flat)
        lines.append(f"{infinity:.17g} # value for infinity")
        if m:
            lines += _vector(flat.b, 0.0, "left-hand-sides")
            lines += _vector(np.where(flat.equal, flat.b, infinity), infinity, "right-hand-sides")
        lines += _vector(np.maximum(flat.lower, -infinity), -infinity, "variable lower bounds")
        lines += _vector(np.minimum(flat.upper, infinity), infinity, "variable upper bounds")
        if flat.integer.any() and not flat.integer.all():
            lines += ["0 # default variable type", f"{flat.integer.sum()} # number of non-default variable types"]
            lines += [f"{j + 1} 1" for j in np.flatnonzero(flat.integer)]
        lines += _vector(np.zeros(n), 0.0, "variable primal values in starting point")
        lines += _vector(np.zeros(m), 0.0, "constraint dual values in starting point") if m else []
        lines += _vector(np.zeros(n), 0.0, "variable bound dual values in starting point")
        lines += ["0 # number of non-default variable names", "0 # number of non-default constraint names", ""]
        write_texts({path: "\n".join(lines), sidecar(path): Layout.of(form).text})

    def read(self, source: Source) -> StandardForm:
        return _Reader(source).program().to_form(Layout.load(source.path))


def _word(name: str) -> str:
    """A name on one line and without the sign of comments."""
    return "_".join(name.replace("#", " ").split()) or "program"


def _kind(flat: FlatProgram) -> str:
    """Three letters: objective (linear, diagonal convex, convex), variables (continuous, integer, general), constraints."""
    objective = "L"
    if flat.P is not None and flat.P.nnz:
        objective = "D" if abs(flat.P - sp.diags_array(flat.P.diagonal())).sum() == 0 else "C"
    variables = "G" if flat.integer.any() else "C"
    return objective + ("I" if flat.integer.all() else variables) + ("L" if flat.b.size else "B")


def _infinity(flat: FlatProgram) -> float:
    """1e20, or more where a finite bound or side is as large."""
    finite = [np.abs(v[np.isfinite(v)]).max(initial=0.0) for v in (flat.lower, flat.upper, flat.b)]
    return max(1e20, 10.0 * max(finite))


def _matrix(matrix: sp.coo_array, what: str) -> Iterator[str]:
    matrix.eliminate_zeros()
    yield f"{matrix.nnz} # number of {what}"
    yield from (f"{i + 1} {j + 1} {v:.17g}" for i, j, v in zip(matrix.row, matrix.col, matrix.data, strict=True))


def _vector(values: FloatArray, default: float, what: str) -> Iterator[str]:
    other = np.flatnonzero(values != default)
    yield f"{default:.17g} # default value for {what}"
    yield f"{other.size} # number of non-default {what}"
    yield from (f"{j + 1} {values[j]:.17g}" for j in other)


class _Reader:
    """A QPLIB file from its first line to its last: which parts there are follows from the three letters."""

    def __init__(self, source: Source) -> None:
        self.lines = (words for line in source.lines() if (words := line.split("#", 1)[0].split()))

    def program(self) -> FlatProgram:
        """The file's program."""
        next(self.lines)
        kind, sense = next(self.lines)[0].upper(), next(self.lines)[0].lower()
        if sense != "minimize":
            raise DataError("only files that minimise are read")
        if len(kind) != 3 or kind[0] not in "LDCQ" or kind[1] not in "CBMIG" or kind[2] not in "NBL":
            raise DataError(f"problems of the type {kind} are not read: linear constraints only")
        n = self._whole()
        m = self._whole() if kind[2] == "L" else 0
        check_bytes(64 * (n + m), "the variables and rows that it declares")
        P = None if kind[0] == "L" else symmetric(self._triples(), n)
        q, r = self._full(n), float(next(self.lines)[0])
        entries = self._triples() if m else []
        infinity = float(next(self.lines)[0])
        left, right = (self._full(m), self._full(m)) if m else (np.zeros(0), np.zeros(0))
        lower, upper = (np.zeros(n), np.ones(n)) if kind[1] == "B" else (self._full(n), self._full(n))
        integer = np.full(n, kind[1] in "BI") if kind[1] in "CBI" else self._full(n) > 0
        lower = np.where(lower <= -infinity, -np.inf, lower)
        upper = np.where(upper >= infinity, np.inf, upper)
        A, b, equal = _sides(entries, left, right, infinity, n)
        return FlatProgram(P, q + 0.0, r + 0.0, A, b, equal, lower, upper, integer)

    def _whole(self) -> int:
        found = int(next(self.lines)[0])
        if found < 0:
            raise DataError(f"a number of lines cannot be {found}")
        return found

    def _triples(self) -> list[tuple[int, int, float]]:
        found = [next(self.lines) for _ in range(self._whole())]
        return [(int(i) - 1, int(j) - 1, float(v)) for i, j, v in found]

    def _full(self, size: int) -> FloatArray:
        values = np.full(size, float(next(self.lines)[0]))
        for _ in range(self._whole()):
            j, v = next(self.lines)
            if not 0 < int(j) <= size:
                raise DataError(f"the index {j} is not one of 1 to {size}")
            values[int(j) - 1] = float(v)
        return values


def _sides(
    entries: list[tuple[int, int, float]], left: FloatArray, right: FloatArray, infinity: float, n: int
) -> tuple[sp.csr_array, FloatArray, np.ndarray]:
    """Rows with one side each: those from above are turned."""
    below, above = left > -infinity, right < infinity
    equal = below & above & (left == right)
    if (below & above & ~equal).any() or (~below & ~above).any():
        raise DataError("rows with two different sides, or with none, are not read")
    sign = np.where(below, 1.0, -1.0)
    rows, columns = [i for i, _, _ in entries], [j for _, j, _ in entries]
    data = np.array([v for _, _, v in entries]) * sign[rows] if entries else np.zeros(0)
    A = sp.csr_array((data, (rows, columns)), shape=(left.size, n), dtype=np.float64)
    return A, sign * np.where(below, left, right) + 0.0, equal


FORMAT = _QPLIB()
