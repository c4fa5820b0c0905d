"""CBF, the Conic Benchmark Format, version 4: linear rows, second-order, rotated and semidefinite cones, integers.

Conventions of the format and ours agree (``Q``: t ≥ ||c||; ``QR``: 2ab ≥ ||c||²; rows are F x + g) but for two things.

*Bounds.* Variables in ``L+``, ``L-``, ``L=`` have bounds 0; others become rows x_j - l_j and u_j - x_j after those of the form.

*Semidefinite rows* are entries of the matrix itself, lower triangle, without svec's √2. No double v off the diagonal
has a double v/√2 with v = √2 (v/√2) in general, so the quotient is written to 34 digits: other readers round it (an error of
half a unit in the last place of each coefficient), ours divides it out in decimal arithmetic and gets v back exactly.

Labels go to the sidecar: the format has no names, so variables and rows of files that others wrote are numbered. A quadratic
objective is not in this format (`models.program.bridges.EpigraphBridge` makes it a rotated cone).
"""

from __future__ import annotations

from collections.abc import Iterator
from decimal import Context, Decimal
from itertools import groupby
from pathlib import Path

import numpy as np
import scipy.sparse as sp

from ....errors import DataError
from ....files import write_texts
from ...arrays import FloatArray
from ...memory import check_bytes
from ...program.cones import PSD, Cone, Feature, Nonnegative, RotatedSecondOrder, SecondOrder, Zero
from ...program.form import Constraint, StandardForm
from ...program.svec import svec_indices, svec_size
from ..shared.layout import Layout, sidecar
from ..shared.programs import ConicProgram
from .formats import FileFormat, Source

__all__ = ["FORMAT", "scaled", "unscaled"]

_DOMAINS: dict[type[Cone], str] = {Zero: "L=", Nonnegative: "L+", SecondOrder: "Q", RotatedSecondOrder: "QR"}
_DIGITS = Context(prec=50)
_ROOT = _DIGITS.sqrt(Decimal(2))
_SHORT = Context(prec=34)


class _CBF(FileFormat):
    suffix = ".cbf"
    title = "CBF"
    carries = frozenset({Feature.SECOND_ORDER, Feature.ROTATED, Feature.PSD, Feature.INTEGER})

    def write(self, form: StandardForm, path: Path) -> None:
        lines = ["# written by marginopt", "VER", "4", "", "OBJSENSE", "MIN", ""]
        domains = [_domain(low, high) for low, high in zip(form.lower.tolist(), form.upper.tolist(), strict=True)]
        lines += _counted("VAR", form.n, [(key, len(list(run))) for key, run in groupby(domains)])
        if form.integer.any():
            lines += _table("INT", [f"{j}" for j in np.flatnonzero(form.integer)])
        scalar = [c for c in form.constraints if c.rows and not isinstance(c.cone, PSD)]
        scalar += [] if (bounds := _bound_rows(form, domains)) is None else [bounds]
        matrices = [c for c in form.constraints if isinstance(c.cone, PSD) and c.rows]
        if matrices:
            lines += _table("PSDCON", [f"{c.cone.order}" for c in matrices for _ in range(c.cone.count)])  # type: ignore[attr-defined]
        cones = [(_DOMAINS[type(c.cone)], size) for c in scalar for size in _sizes(c.cone)]
        lines += _counted("CON", sum(size for _, size in cones), cones)
        lines += _table("OBJACOORD", [f"{j} {form.q[j]:.17g}" for j in np.flatnonzero(form.q)])
        lines += ["OBJBCOORD", f"{form.r:.17g}", ""]
        lines += _rows(scalar, form.n)
        lines += list(_matrices(matrices))
        write_texts({path: "\n".join(lines), sidecar(path): Layout.of(form).text})

    def read(self, source: Source) -> StandardForm:
        return _Reader(source).program().to_form(Layout.load(source.path))


def _domain(low: float, high: float) -> str:
    """The format's domain of a variable, where a bound of zero has one."""
    if low == 0:
        return "L=" if high == 0 else "L+"
    return "L-" if high == 0 else "F"


def _bound_rows(form: StandardForm, domains: list[str]) -> Constraint | None:
    said = np.array([domain in ("L+", "L=") for domain in domains], dtype=bool)
    low = np.flatnonzero(np.isfinite(form.lower) & ~said)
    said = np.array([domain in ("L-", "L=") for domain in domains], dtype=bool)
    high = np.flatnonzero(np.isfinite(form.upper) & ~said)
    m = low.size + high.size
    if not m:
        return None
    signs = np.repeat([1.0, -1.0], [low.size, high.size])
    F = sp.csr_array((signs, (np.arange(m), np.concatenate([low, high]))), shape=(m, form.n))
    return Constraint("bounds", F, np.concatenate([-form.lower[low], form.upper[high]]), Nonnegative(m))


def _sizes(cone: Cone) -> list[int]:
    return [cone.rows] if isinstance(cone, (Zero, Nonnegative)) else [cone.dim] * cone.count


def _table(keyword: str, lines: list[str]) -> list[str]:
    return [keyword, f"{len(lines)}", *lines, ""] if lines else []


def _counted(keyword: str, total: int, parts: list[tuple[str, int]]) -> list[str]:
    return [keyword, f"{total} {len(parts)}", *(f"{name} {size}" for name, size in parts), ""] if parts else []


def _rows(constraints: list[Constraint], n: int) -> list[str]:
    if not constraints:
        return []
    F = sp.coo_array(sp.vstack([c.F for c in constraints], format="coo"))
    F.eliminate_zeros()
    g = np.concatenate([c.g for c in constraints])
    entries = [f"{i} {j} {v:.17g}" for i, j, v in zip(F.row, F.col, F.data, strict=True)]
    return _table("ACOORD", entries) + _table("BCOORD", [f"{i} {g[i]:.17g}" for i in np.flatnonzero(g)])


def _matrices(constraints: list[Constraint]) -> Iterator[str]:
    H, D, number = [], [], 0
    for c in constraints:
        assert isinstance(c.cone, PSD)
        upper, lower = svec_indices(c.cone.order)
        F = sp.coo_array(c.F)
        for row, j, v in zip(F.row.tolist(), F.col.tolist(), F.data.tolist(), strict=True):
            k, place = divmod(row, c.cone.dim)
            if v:
                i, l = lower[place], upper[place]
                H.append(f"{number + k} {j} {i} {l} {unscaled(v, i != l)}")
        for row in np.flatnonzero(c.g).tolist():
            k, place = divmod(row, c.cone.dim)
            i, l = lower[place], upper[place]
            D.append(f"{number + k} {i} {l} {unscaled(float(c.g[row]), i != l)}")
        number += c.cone.count
    yield from _table("HCOORD", H)
    yield from _table("DCOORD", D)


def unscaled(v: float, off: bool) -> str:
    """Return v as text, or v/√2 to 34 digits for an entry off the diagonal."""
    return f"{_SHORT.plus(_DIGITS.divide(Decimal(v), _ROOT))}" if off else f"{v:.17g}"


def scaled(text: str, off: bool) -> float:
    """Return the number of a text, times √2 for an entry off the diagonal: the inverse of `unscaled`."""
    return float(_DIGITS.multiply(Decimal(text), _ROOT)) if off else float(text)


class _Reader:
    """One keyword after the other, each with its own table."""

    def __init__(self, source: Source) -> None:
        self.lines = (words for line in source.lines() if (words := line.split("#", 1)[0].split()))
        self.q = np.zeros(0)
        self.r, self.maximise = 0.0, False
        self.lower, self.upper, self.integer = np.zeros(0), np.zeros(0), np.zeros(0, dtype=bool)
        self.cones: list[tuple[str, int]] = []
        self.orders: list[int] = []
        self.A: list[list[str]] = []
        self.b: list[list[str]] = []
        self.H: list[list[str]] = []
        self.D: list[list[str]] = []

    def program(self) -> ConicProgram:
        """Every keyword of the file."""
        for words in self.lines:
            self._take(words[0])
        pieces = (*self._scalar(), *self._semidefinite())
        return ConicProgram(self.q, self.r, pieces, self.lower, self.upper, self.integer, surplus=True, maximise=self.maximise)

    def _take(self, keyword: str) -> None:
        if keyword == "VER":
            if int(next(self.lines)[0]) > 4:
                raise DataError("versions of CBF beyond 4 are not read")
        elif keyword == "OBJSENSE":
            sense = next(self.lines)[0]
            if sense not in ("MIN", "MAX"):
                raise DataError(f"an objective is MIN or MAX, not {sense!r}")
            self.maximise = sense == "MAX"
        elif keyword == "VAR":
            self._variables(self._parts())
        elif keyword == "CON":
            self.cones = self._parts()
        elif keyword == "OBJBCOORD":
            self.r = float(next(self.lines)[0])
        elif keyword in ("INT", "PSDCON", "OBJACOORD", "ACOORD", "BCOORD", "HCOORD", "DCOORD"):
            self._entries(keyword, [next(self.lines) for _ in range(int(next(self.lines)[0]))])
        else:
            raise DataError(f"the keyword {keyword} is not read")

    def _parts(self) -> list[tuple[str, int]]:
        count = int(next(self.lines)[1])
        table = [next(self.lines) for _ in range(count)]
        return [(words[0], _size(words[1])) for words in table]

    def _variables(self, parts: list[tuple[str, int]]) -> None:
        for name, _ in parts:
            if name not in ("F", "L+", "L-", "L="):
                raise DataError(f"variables in the domain {name} are not read")
        sizes = [size for _, size in parts]
        check_bytes(32 * sum(sizes), "the variables that it declares")
        self.lower = np.repeat([0.0 if name in ("L+", "L=") else -np.inf for name, _ in parts], sizes)
        self.upper = np.repeat([0.0 if name in ("L-", "L=") else np.inf for name, _ in parts], sizes)
        self.q, self.integer = np.zeros(sum(sizes)), np.zeros(sum(sizes), dtype=bool)

    def _entries(self, keyword: str, table: list[list[str]]) -> None:
        if keyword == "INT":
            self.integer[[_index(words[0], self.q.size) for words in table]] = True
        elif keyword == "PSDCON":
            self.orders = [_size(words[0]) for words in table]
        elif keyword == "OBJACOORD":
            for j, v in table:
                self.q[_index(j, self.q.size)] += float(v)
        else:
            {"ACOORD": self.A, "BCOORD": self.b, "HCOORD": self.H, "DCOORD": self.D}[keyword].extend(table)

    def _scalar(self) -> Iterator[Constraint]:
        total = sum(size for _, size in self.cones)
        check_bytes(16 * total, "the rows that it declares")
        rows, columns, data = _triplets([(int(i), int(j), float(v)) for i, j, v in self.A])
        F = sp.csr_array((data, (rows, columns)), shape=(total, self.q.size), dtype=np.float64)
        g = np.zeros(total)
        for i, v in self.b:
            g[_index(i, total)] += float(v)
        start = 0
        for number, (name, size) in enumerate(self.cones):
            piece = np.arange(start, start + size)
            start += size
            sign = -1.0 if name == "L-" else 1.0
            yield Constraint(f"c{number}", sp.csr_array(sign * F[piece]), sign * g[piece] + 0.0, _cone(name, size))

    def _semidefinite(self) -> Iterator[Constraint]:
        check_bytes(16 * sum(svec_size(order) for order in self.orders), "the semidefinite rows that it declares")
        starts = np.concatenate([[0], np.cumsum([svec_size(order) for order in self.orders], dtype=np.int64)])
        found = [(self._place(starts, k, i, l), int(j), scaled(v, i != l)) for k, j, i, l, v in self.H]
        rows, columns, data = _triplets(found)
        F = sp.csr_array((data, (rows, columns)), shape=(int(starts[-1]), self.q.size), dtype=np.float64)
        g = np.zeros(int(starts[-1]))
        for k, i, l, v in self.D:
            g[self._place(starts, k, i, l)] += scaled(v, i != l)
        for number, order in enumerate(self.orders):
            piece = np.arange(starts[number], starts[number + 1])
            yield Constraint(f"psd{number}", sp.csr_array(F[piece]), g[piece], PSD.of_order(order))

    def _place(self, starts: FloatArray, k: str, i: str, l: str) -> int:
        """Row in the stacked svec (upper triangle by columns) of entry (i, l), i ≥ l."""
        matrix = _index(k, len(self.orders))
        entry = [_index(place, self.orders[matrix]) for place in (i, l)]
        return int(starts[matrix]) + max(entry) * (max(entry) + 1) // 2 + min(entry)


def _index(word: str, size: int) -> int:
    """A number from 0, below ``size``."""
    found = int(word)
    if not 0 <= found < size:
        raise DataError(f"the index {found} is not one of 0 to {size - 1}")
    return found


def _size(word: str) -> int:
    found = int(word)
    if not 0 <= found < 2**40:
        raise DataError(f"{found} is no size")
    return found


def _triplets(entries: list[tuple[int, int, float]]) -> tuple[list[int], list[int], list[float]]:
    return [e[0] for e in entries], [e[1] for e in entries], [e[2] for e in entries]


def _cone(name: str, size: int) -> Cone:
    if name in ("L+", "L-"):
        return Nonnegative(size)
    kinds: dict[str, type[Cone]] = {"L=": Zero, "Q": SecondOrder, "QR": RotatedSecondOrder}
    if name not in kinds:
        raise DataError(f"rows in the domain {name} are not read")
    return kinds[name](size)


FORMAT = _CBF()
