"""MPS with the QUADOBJ section (QPS): linear rows, ranges, quadratic objective, bounds, integers; labels in the sidecar.

Free MPS is written; files in fixed columns are read too, which matters where names have blanks.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import scipy.sparse as sp

from ....errors import DataError
from ....files import write_texts
from ...arrays import FloatArray
from ...program.cones import Feature
from ...program.form import StandardForm
from ..shared.layout import Layout, sidecar
from ..shared.programs import INFINITE, FlatProgram, one_sided, symmetric
from .formats import FileFormat, Source
from .lp import plain_names
from .mps_lines import words_of

__all__ = ["FORMAT"]


class _MPS(FileFormat):
    suffix = ".mps"
    also_read = (".qps", ".sif")
    title = "MPS"
    carries = frozenset({Feature.QUADRATIC, Feature.INTEGER})

    def write(self, form: StandardForm, path: Path) -> None:
        flat = FlatProgram.of(form)
        x = plain_names(form.names())
        rows = plain_names([name for c in form.constraints for name in c.names()])
        lines = [
            f"* {form.name}; written by marginopt",
            f"NAME {plain_names([form.name])[0]}",
            "OBJSENSE",
            "    MIN",
            "ROWS",
            " N obj",
        ]
        lines += [f" {'E' if equal else 'G'} {name}" for name, equal in zip(rows, flat.equal, strict=True)]
        lines.append("COLUMNS")
        lines += list(_columns(flat, x, rows))
        lines.append("RHS")
        if flat.r:
            lines.append(f"    rhs obj {-flat.r:.17g}")  # the objective's constant, with its sign changed
        lines += [f"    rhs {name} {value:.17g}" for name, value in zip(rows, flat.b, strict=True) if value]
        lines.append("BOUNDS")
        for name, low, high, integer in zip(x, flat.lower, flat.upper, flat.integer, strict=True):
            lines += [f" {kind} bnd {name}{value}" for kind, value in _bounds(low, high, bool(integer))]
        if flat.P is not None and flat.P.nnz:
            lines.append("QUADOBJ")
            lower = sp.coo_array(sp.tril(flat.P))
            lines += [f"    {x[j]} {x[i]} {v:.17g}" for i, j, v in zip(lower.row, lower.col, lower.data, strict=True)]
        write_texts({path: "\n".join([*lines, "ENDATA", ""]), sidecar(path): Layout.of(form).text})

    def read(self, source: Source) -> StandardForm:
        return _parse(source).to_form(Layout.load(source.path))


def _columns(flat: FlatProgram, x: list[str], rows: list[str]) -> Iterator[str]:
    A = sp.csc_array(flat.A)
    marked = False
    for j, name in enumerate(x):
        if bool(flat.integer[j]) != marked:
            marked = not marked
            yield f"    marker{j} 'MARKER' '{'INTORG' if marked else 'INTEND'}'"
        yield f"    {name} obj {flat.q[j]:.17g}"
        for k in range(A.indptr[j], A.indptr[j + 1]):
            yield f"    {name} {rows[A.indices[k]]} {A.data[k]:.17g}"
    if marked:
        yield "    markerend 'MARKER' 'INTEND'"


def _bounds(low: float, high: float, integer: bool) -> Iterator[tuple[str, str]]:
    """Every bound in full: readers differ in what they take for granted, for integers above all."""
    if low == -np.inf and high == np.inf:
        yield "FR", ""
        return
    if low == high:
        yield "FX", f" {low:.17g}"
        return
    if low == -np.inf:
        yield "MI", ""
    elif low != 0 or integer:
        yield "LO", f" {low:.17g}"
    if high != np.inf:
        yield "UP", f" {high:.17g}"
    elif integer:
        yield "PL", ""


#: Kinds of bounds that come with a number.
_VALUED = ("LO", "UP", "FX", "LI", "UI")
_LEAST, _MOST = ("MIN", "MINIMIZE", "MINIMISE"), ("MAX", "MAXIMIZE", "MAXIMISE")


@dataclass
class _Reader:
    """What has been read so far, section by section; rows and columns are numbered as they come."""

    objective: str = ""
    integral: bool = False
    maximise: bool = False
    constant: float = 0.0
    #: Further N rows, whose entries count nothing.
    spare: set[str] = field(default_factory=set)
    rows: dict[str, int] = field(default_factory=dict)
    columns: dict[str, int] = field(default_factory=dict)
    senses: list[str] = field(default_factory=list)
    entries: list[tuple[int, int, float]] = field(default_factory=list)
    q: dict[int, float] = field(default_factory=lambda: defaultdict(float))
    rhs: dict[int, float] = field(default_factory=dict)
    widths: dict[int, float] = field(default_factory=dict)
    bounds: list[list[str]] = field(default_factory=list)
    quadratic: list[tuple[int, int, float]] = field(default_factory=list)
    integers: set[int] = field(default_factory=set)

    def nothing(self, words: list[str]) -> None:
        """The name's section says nothing of the program."""

    def sense(self, words: list[str]) -> None:
        """OBJSENSE."""
        if words[0].upper() not in (*_LEAST, *_MOST):
            raise DataError(f"an objective is to be minimised or maximised, not {words[0]!r}")
        self.maximise = words[0].upper() in _MOST

    def row(self, words: list[str]) -> None:
        """ROWS: the first N is the objective."""
        kind = words[0].upper()
        if kind == "N":
            self.spare |= {words[1]} if self.objective else set()
            self.objective = self.objective or words[1]
        elif kind not in ("E", "L", "G") or words[1] in self.rows:
            raise DataError(f"a row must be N, E, L or G with a name of its own; it is {' '.join(words)[:60]!r}")
        else:
            self.rows[words[1]] = len(self.rows)
            self.senses.append(kind)

    def column(self, words: list[str]) -> None:
        """COLUMNS: entries of one column, or a marker around integers."""
        if words[1] == "'MARKER'":
            self.integral = words[2] == "'INTORG'"
            return
        j = self.columns.setdefault(words[0], len(self.columns))
        if self.integral:
            self.integers.add(j)
        for name, value in zip(words[1::2], words[2::2], strict=True):
            if name == self.objective:
                self.q[j] += float(value)
            elif name not in self.spare:
                self.entries.append((self.rows[name], j, float(value)))

    def side(self, words: list[str]) -> None:
        """RHS; the objective's is its constant with the sign changed."""
        for name, value in _pairs(words):
            if name == self.objective:
                self.constant = -float(value) + 0.0
            elif name not in self.spare:
                self.rhs[self.rows[name]] = float(value)

    def bound(self, words: list[str]) -> None:
        """BOUNDS: kept until every column is known."""
        self.bounds.append(words)

    def product(self, words: list[str]) -> None:
        """QUADOBJ: an entry of the lower triangle."""
        self.quadratic.append((self.columns[words[0]], self.columns[words[1]], float(words[2])))

    def ranges(self, words: list[str]) -> None:
        """RANGES: how far a row reaches beyond its side."""
        for name, value in _pairs(words):
            if name != self.objective and name not in self.spare:
                self.widths[self.rows[name]] = float(value)

    def after(self, words: list[str]) -> None:
        """ENDATA."""
        raise DataError("text after ENDATA")

    def program(self) -> FlatProgram:
        """All of it in arrays."""
        n, m = len(self.columns), len(self.rows)
        lower, upper = np.zeros(n), np.full(n, np.inf)
        _apply_bounds(self.bounds, self.columns, lower, upper, self.integers)
        q = np.zeros(n)
        q[list(self.q)] = list(self.q.values())
        kept = [(i, j, v) for i, j, v in self.entries if v != 0]
        A = sp.csr_array(([e[2] for e in kept], ([e[0] for e in kept], [e[1] for e in kept])), shape=(m, n), dtype=np.float64)
        integer = np.zeros(n, dtype=bool)
        integer[sorted(self.integers)] = True
        A, b, equal, names = one_sided(A, *self._sides(), [*self.rows])
        P, columns = symmetric(self.quadratic, n), tuple(self.columns)
        return FlatProgram(P, q, self.constant, A, b, equal, lower, upper, integer, columns, names, self.maximise, INFINITE)

    def _sides(self) -> tuple[FloatArray, FloatArray]:
        """Least and largest value of each row.

        A range of width R makes a row G one of [b, b + |R|], L one of [b - |R|, b], and E one of [b, b + R] or, where R < 0, of
        [b + R, b].
        """
        b, width = np.zeros(len(self.rows)), np.full(len(self.rows), np.inf)
        b[list(self.rhs)] = list(self.rhs.values())
        width[list(self.widths)] = list(self.widths.values())
        left, right = b.copy(), b.copy()
        for i, sense in enumerate(self.senses):
            if sense == "L" or (sense == "E" and width[i] < 0):
                left[i] -= abs(width[i])
            elif sense == "G" or np.isfinite(width[i]):
                right[i] += abs(width[i])
        return left, right


def _pairs(words: list[str]) -> Iterator[tuple[str, str]]:
    """Names with their numbers; the name of the set before them may be left out."""
    first = len(words) % 2
    return zip(words[first::2], words[first + 1 :: 2], strict=True)


#: What reads the lines of each section.
_SECTIONS: dict[str, Callable[[_Reader, list[str]], None]] = {
    "NAME": _Reader.nothing, "OBJSENSE": _Reader.sense, "ROWS": _Reader.row, "COLUMNS": _Reader.column, "RHS": _Reader.side,
    "BOUNDS": _Reader.bound, "RANGES": _Reader.ranges, "QUADOBJ": _Reader.product, "QSECTION": _Reader.product,
    "ENDATA": _Reader.after,
}  # fmt: skip


def _parse(source: Source) -> FlatProgram:
    section, found, words_in = "", _Reader(), words_of(source.text)
    for raw in source.lines():
        if not raw.strip() or raw.startswith("*"):
            continue
        if raw[0].isspace():
            if section:
                _SECTIONS[section](found, words_in(raw))
            continue
        section, *rest = raw.split()
        section = section.upper()
        if section not in _SECTIONS:
            raise DataError(f"{raw.strip()[:60]!r} is not read: a section that this reader does not know")
        if section == "OBJSENSE" and rest:
            found.sense(rest)
    if section != "ENDATA":
        raise DataError("it ends before ENDATA")
    return found.program()


def _apply_bounds(
    bounds: list[list[str]],
    columns: dict[str, int],
    lower: np.ndarray,
    upper: np.ndarray,
    integers: set[int],
) -> None:
    for words in bounds:
        kind = words[0].upper()
        name = 1 if len(words) == (3 if kind in _VALUED else 2) else 2  # the set's name may be left out
        j, value = columns[words[name]], float(words[name + 1]) if kind in _VALUED else 0.0
        if kind in ("LO", "FX", "LI"):
            lower[j] = value
        if kind in ("UP", "FX", "UI"):
            upper[j] = value
        if kind in ("FR", "MI"):
            lower[j] = -np.inf
        if kind in ("FR", "PL"):
            upper[j] = np.inf
        if kind == "BV":
            lower[j], upper[j] = 0.0, 1.0
        if kind in ("BV", "LI", "UI"):
            integers.add(j)


FORMAT = _MPS()
