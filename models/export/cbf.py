"""Reader and writer of CBF files (Conic Benchmark Format): linear rows, all convex cones of a form, integers.

A form is min q'x + r over rows F x + g in cones, bounds and integers; a semidefinite row is svec, the upper triangle by columns
with entries off the diagonal times √2. Files are written in version 3; versions 1 to 4 are read.

Variables in cones and matrix variables are read too (they become rows of the form), and dual exponential and power cones, as
linear images of the cones (``EXP*``, ``POW*``). Power cones of other than three rows are refused by name.

Conventions of the format and of a form agree (``Q``: t ≥ ||c||; ``QR``: 2ab ≥ ||c||²; rows are F x + g) but for three things.

*Exponential cones* have their rows the other way round: ``EXP`` is (z, y, x) with z ≥ y e^{x/y}.

*Bounds.* Variables in ``L+``, ``L-``, ``L=`` have bounds 0; others become rows x_j - l_j and u_j - x_j after those of the form.

*Semidefinite rows* are entries of the matrix itself, lower triangle, without svec's √2. No double v off the diagonal
has a double v/√2 with v = √2 (v/√2) in general, so the quotient is written to 34 digits: other readers round it (an error of
half a unit in the last place of each coefficient), this reader multiplies by √2 in decimal arithmetic and gets v back exactly.

Labels go to the sidecar ``<file>.names.json``: the format has no names, so variables and rows of files that others wrote are
numbered. A quadratic objective is not in this format (`models.program.bridges.EpigraphBridge` makes it a rotated cone).
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from decimal import Context, Decimal
from itertools import groupby
from pathlib import Path

import numpy as np
import scipy.sparse as sp

from ...errors import DataError, short_text
from ..arrays import FloatArray, check_bytes
from ..program.cones import PSD, Cone, Feature, Nonnegative, RotatedSecondOrder, SecondOrder, Zero, svec_indices, svec_size
from ..program.exponential_cones import Exponential, Power
from ..program.form import Constraint, StandardForm
from .file_formats import FileFormat, InputFile, number_text, parse_index, parse_integer, parse_number
from .file_programs import ConicProgram, StatedObjective, matrix_of_entries
from .layout import Layout, comment_lines

#: The format's names of cones.
_DOMAINS: dict[type[Cone], str] = {
    Zero: "L=", Nonnegative: "L+", SecondOrder: "Q", RotatedSecondOrder: "QR", Exponential: "EXP",
}  # fmt: skip
#: Domains of variables and rows that are read.
_NAMED = ("F", "L+", "L-", "L=", "Q", "QR", "EXP", "EXP*")
#: A power cone: the number of its exponents in the table, and whether it is the dual one.
_POWER = re.compile(r"@(\d{1,9}):POW(\*?)", re.ASCII)
#: Tables of entries, and what each of their indices counts.
_ENTRIES: dict[str, tuple[str, ...]] = {
    "OBJFCOORD": ("PSDVAR", "order", "order"),
    "OBJACOORD": ("VAR",),
    "FCOORD": ("CON", "PSDVAR", "order", "order"),
    "ACOORD": ("CON", "VAR"),
    "BCOORD": ("CON",),
    "HCOORD": ("PSDCON", "VAR", "order", "order"),
    "DCOORD": ("PSDCON", "order", "order"),
}
#: Keywords that are read.
_KEYWORDS = frozenset(
    {"VER", "OBJSENSE", "VAR", "PSDVAR", "INT", "PSDCON", "CON", "OBJBCOORD", "POWCONES", "POW*CONES", *_ENTRIES}
)
#: Decimal arithmetic of intermediate results, √2 in it, and of numbers as they are written.
_DIGITS = Context(prec=50)
_ROOT = _DIGITS.sqrt(Decimal(2))
_SHORT = Context(prec=34)
#: The version that adds cones of vectorised matrices (SVECPSD), which the reader refuses by their name.
_NEWEST = 4


class _CBF(FileFormat):
    suffix = ".cbf"
    title = "CBF"
    carries = frozenset(Feature) - {Feature.QUADRATIC, Feature.NONCONVEX, Feature.BILINEAR, Feature.INDICATOR}

    def write(self, form: StandardForm, path: Path) -> None:
        objective = StatedObjective.of(form)
        lines = ["# written by marginopt", *comment_lines(form, "#")]
        lines += ["VER", "3", "", "OBJSENSE", "MAX" if objective.maximise else "MIN", ""]
        domains = [_domain(low, high) for low, high in zip(form.lower.tolist(), form.upper.tolist(), strict=True)]
        lines += _counted("VAR", form.n, [(key, len(list(run))) for key, run in groupby(domains)])
        if form.integer.any():
            lines += _table("INT", [f"{j}" for j in np.flatnonzero(form.integer)])
        scalar = [c for c in form.constraints if c.rows and not isinstance(c.cone, PSD)]
        scalar += [] if (bounds := _bound_rows(form, domains)) is None else [bounds]
        matrices = [c for c in form.constraints if isinstance(c.cone, PSD) and c.rows]
        if matrices:
            lines += _table("PSDCON", [f"{c.cone.order}" for c in matrices for _ in range(c.cone.count)])  # type: ignore[attr-defined]
        exponents = list(dict.fromkeys(c.cone.alpha for c in scalar if isinstance(c.cone, Power)))
        lines += _exponents(exponents)
        cones = [(_name(c.cone, exponents), size) for c in scalar for size in _sizes(c.cone)]
        lines += _counted("CON", sum(size for _, size in cones), cones)
        lines += _table("OBJACOORD", [f"{j} {objective.q[j]:.17g}" for j in np.flatnonzero(objective.q)])
        lines += ["OBJBCOORD", f"{objective.r:.17g}", ""]
        lines += _rows([_reversed(c) if isinstance(c.cone, Exponential) else c for c in scalar])
        lines += list(_matrices(matrices))
        Layout.of(form).write(path, "\n".join(lines))

    def read(self, source: InputFile) -> StandardForm:
        return _Reader(source).program().to_form(source.layout)


def _domain(low: float, high: float) -> str:
    """Return the format's domain of a variable: L+, L- or L= for bounds of zero, F otherwise."""
    if low == 0:
        return "L=" if high == 0 else "L+"
    return "L-" if high == 0 else "F"


def _bound_rows(form: StandardForm, domains: list[str]) -> Constraint | None:
    in_domain = np.array([domain in ("L+", "L=") for domain in domains], dtype=bool)
    low = np.flatnonzero(np.isfinite(form.lower) & ~in_domain)
    in_domain = np.array([domain in ("L-", "L=") for domain in domains], dtype=bool)
    high = np.flatnonzero(np.isfinite(form.upper) & ~in_domain)
    m = low.size + high.size
    if not m:
        return None
    signs = np.repeat([1.0, -1.0], [low.size, high.size])
    F = sp.csr_array((signs, (np.arange(m), np.concatenate([low, high]))), shape=(m, form.n))
    return Constraint("bounds", F, np.concatenate([-form.lower[low], form.upper[high]]), Nonnegative(m))


def _sizes(cone: Cone) -> list[int]:
    return [cone.rows] if isinstance(cone, (Zero, Nonnegative)) else [cone.dim] * cone.count


def _name(cone: Cone, exponents: list[float]) -> str:
    """Return the format's name of a cone's domain."""
    return f"@{exponents.index(cone.alpha)}:POW" if isinstance(cone, Power) else _DOMAINS[type(cone)]


def _exponents(exponents: list[float]) -> list[str]:
    """Return the table of the exponents α and 1 - α, to 34 digits: readers divide by their sum."""
    if not exponents:
        return []
    lines = ["POWCONES", f"{len(exponents)} {2 * len(exponents)}"]
    for alpha in exponents:
        lines += ["2", f"{alpha:.17g}", f"{_SHORT.subtract(Decimal(1), Decimal(alpha))}"]
    return [*lines, ""]


def _reversed(c: Constraint) -> Constraint:
    """Return the constraint with the rows of each cone the other way round."""
    order = np.arange(c.rows).reshape(-1, c.cone.dim)[:, ::-1].ravel()
    return Constraint(c.label, sp.csr_array(c.F[order]), c.g[order], c.cone)


def _table(keyword: str, lines: list[str]) -> list[str]:
    return [keyword, f"{len(lines)}", *lines, ""] if lines else []


def _counted(keyword: str, total: int, parts: list[tuple[str, int]]) -> list[str]:
    return [keyword, f"{total} {len(parts)}", *(f"{name} {size}" for name, size in parts), ""] if parts else []


def _rows(constraints: list[Constraint]) -> list[str]:
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
                H.append(f"{number + k} {j} {i} {l} {unscaled_text(v, i != l)}")
        for row in np.flatnonzero(c.g).tolist():
            k, place = divmod(row, c.cone.dim)
            i, l = lower[place], upper[place]
            D.append(f"{number + k} {i} {l} {unscaled_text(float(c.g[row]), i != l)}")
        number += c.cone.count
    yield from _table("HCOORD", H)
    yield from _table("DCOORD", D)


def unscaled_text(v: float, off_diagonal: bool) -> str:
    """Return v as text, or v/√2 to 34 digits for an entry of svec off the diagonal."""
    return f"{_SHORT.plus(_DIGITS.divide(Decimal(v), _ROOT))}" if off_diagonal else f"{v:.17g}"


def parse_scaled(text: str, off_diagonal: bool) -> float:
    """Return the number of a text, times √2 for an entry off the diagonal: the inverse of `unscaled_text`."""
    return float(_DIGITS.multiply(Decimal(text), _ROOT)) if off_diagonal else float(text)


class _Reader:
    """Reader of one keyword after the other, each with its own table; sizes come before the entries whose indices they bound."""

    def __init__(self, source: InputFile) -> None:
        self.lines = (words for line in source.lines() if (words := line.split("#", 1)[0].split()))
        self.seen: set[str] = set()
        self.r, self.maximise = 0.0, False
        self.domains: list[tuple[str, int]] = []
        self.cones: list[tuple[str, int]] = []
        #: Orders of matrix variables and of semidefinite rows.
        self.orders: dict[str, list[int]] = {"PSDVAR": [], "PSDCON": []}
        self.integers: list[int] = []
        #: Exponents α of power cones and of their duals; None for a cone without exactly two exponents.
        self.exponents: dict[str, list[float | None]] = {"POWCONES": [], "POW*CONES": []}
        #: Entries (indices, text of the number) of each table.
        self.entries: dict[str, list[tuple[list[int], str]]] = {name: [] for name in _ENTRIES}

    def program(self) -> ConicProgram:
        """Return the program, from every keyword of the file.

        Matrix variables come behind the others, their lower triangles by rows, each with a semidefinite constraint.
        """
        for words in self.lines:
            self._take(words)
        missing = [name for name in ("VER", "OBJSENSE") if name not in self.seen]
        if missing:
            raise DataError(f"it has no {missing[0]}")
        scalars = self._size("VAR")
        n = scalars + sum(svec_size(order) for order in self.orders["PSDVAR"])
        check_bytes(32 * n, "the variables that it declares")
        free, sizes = np.full(n - scalars, np.inf), [size for _, size in self.domains]
        lower = np.repeat([0.0 if name in ("L+", "L=") else -np.inf for name, _ in self.domains], sizes)
        upper = np.repeat([0.0 if name in ("L-", "L=") else np.inf for name, _ in self.domains], sizes)
        integer = np.zeros(n, dtype=bool)
        integer[self.integers] = True
        q = np.zeros(n)
        for (j,), v in self.entries["OBJACOORD"]:
            q[j] += float(v)
        for (k, i, l), v in self.entries["OBJFCOORD"]:
            q[self._matrix_place(k, i, l)] += float(v) * (1.0 if i == l else 2.0)
        pieces = (*self._scalar(n), *self._semidefinite(n), *self._variable_cones(n))
        bounds = np.concatenate([lower, -free]), np.concatenate([upper, free])
        return ConicProgram(q, self.r, pieces, *bounds, integer, allows_extra_rows=True, maximise=self.maximise)

    def _take(self, words: list[str]) -> None:
        keyword = words[0]
        if len(words) > 1:
            raise DataError(f"a keyword stands alone in its line: {short_text(' '.join(words)[:60])}")
        if keyword not in _KEYWORDS:
            raise DataError(f"the keyword {keyword} is not read")
        if keyword in self.seen:
            raise DataError(f"a second {keyword}")
        self.seen.add(keyword)
        if keyword == "VER":
            if not 1 <= parse_integer(self._line(1)[0]) <= _NEWEST:
                raise DataError(f"versions 1 to {_NEWEST} of CBF are read")
        elif keyword == "OBJSENSE":
            (sense,) = self._line(1)
            if sense not in ("MIN", "MAX"):
                raise DataError(f"an objective is MIN or MAX, not {short_text(sense)}")
            self.maximise = sense == "MAX"
        elif keyword == "VAR":
            self.domains = self._parts()
        elif keyword == "CON":
            self.cones = self._parts()
        elif keyword == "OBJBCOORD":
            self.r = parse_number(self._line(1)[0])
        elif keyword in self.exponents:
            self.exponents[keyword] = list(self._exponents())
        elif keyword in self.orders:
            self.orders[keyword] = [_order(self._line(1)[0]) for _ in range(_size(self._line(1)[0]))]
        elif keyword == "INT":
            self.integers = [parse_index(self._line(1)[0], self._size("VAR")) for _ in range(_size(self._line(1)[0]))]
        else:
            self._table(keyword)

    def _line(self, count: int) -> list[str]:
        words = next(self.lines, None)
        if words is None:
            raise DataError("it ends too early")
        if len(words) != count:
            raise DataError(f"{count} words are needed in this line, not {short_text(' '.join(words)[:60])}")
        return words

    def _parts(self) -> list[tuple[str, int]]:
        total, count = map(_size, self._line(2))
        parts = [(name, _size(size)) for name, size in (self._line(2) for _ in range(count))]
        if sum(size for _, size in parts) != total:
            raise DataError(f"the domains have {sum(size for _, size in parts)} rows together, and {total} are declared")
        for name, size in parts:
            if (power := _POWER.fullmatch(name)) is not None:
                self._check_power(power, name, size)
                continue
            if name not in _NAMED:
                raise DataError(f"the domain {name} is not read ({name})")
            if name in ("EXP", "EXP*") and size != 3:
                raise DataError(f"a cone {name} of {size} rows")
            if name in ("Q", "QR") and size < (1 if name == "Q" else 2):
                raise DataError(f"a cone {name} of {size} rows")
        return parts

    def _exponents(self) -> Iterator[float | None]:
        """Read the exponents of power cones, relative to their sum."""
        count, _ = map(_size, self._line(2))
        for _ in range(count):
            values = [parse_number(self._line(1)[0]) for _ in range(_size(self._line(1)[0]))]
            if not all(0.0 < value < np.inf for value in values):
                raise DataError("the exponents of a power cone must be positive")
            yield values[0] / (values[0] + values[1]) if len(values) == 2 else None

    def _check_power(self, power: re.Match[str], name: str, size: int) -> None:
        table = self.exponents["POW*CONES" if power[2] else "POWCONES"]
        if int(power[1]) >= len(table):
            raise DataError(f"{name} has no exponents: the table has {len(table)}", name=name)
        if size != 3 or table[int(power[1])] is None:
            raise DataError(f"power cones of three rows are read, not {name} {size}")

    def _transcendental(self, name: str, F: sp.csr_array, g: FloatArray, label: str) -> Constraint:
        """Return the rows of one exponential or power cone, or of a dual one, in the order of `Exponential` and `Power`."""
        power = _POWER.fullmatch(name)
        if power is None:
            cone: Cone = Exponential()
            turn = np.eye(3)[::-1]
        else:
            alpha = self.exponents["POW*CONES" if power[2] else "POWCONES"][int(power[1])]
            assert alpha is not None
            cone, turn = Power(alpha=alpha), np.eye(3)
        if name.endswith("*"):
            assert cone.dual_map is not None
            turn = cone.dual_map @ turn
        return Constraint(label, sp.csr_array(sp.csr_array(turn) @ F), turn @ g + 0.0, cone)

    def _size(self, keyword: str) -> int:
        return sum(size for _, size in (self.domains if keyword == "VAR" else self.cones))

    def _table(self, keyword: str) -> None:
        """Read a table of entries: indices must be below the declared sizes, and two entries of one place are refused."""
        kinds = _ENTRIES[keyword]
        table = self.entries[keyword]
        places_read: set[tuple[int, ...]] = set()
        for _ in range(_size(self._line(1)[0])):
            words = self._line(len(kinds) + 1)
            places: list[int] = []
            for kind, word in zip(kinds, words, strict=False):
                if kind == "order":
                    owner = "PSDCON" if keyword in ("HCOORD", "DCOORD") else "PSDVAR"
                    matrix = places[kinds.index(owner)]
                    places.append(parse_index(word, self.orders[owner][matrix]))
                else:
                    places.append(parse_index(word, len(self.orders[kind]) if kind in self.orders else self._size(kind)))
            place = (*places[:-2], *sorted(places[-2:])) if kinds[-1] == "order" else tuple(places)
            if place in places_read:
                raise DataError(f"a second entry of {keyword} at {' '.join(words[:-1])}")
            places_read.add(place)
            table.append((places, number_text(words[-1])))

    def _matrix_place(self, k: int, i: int, l: int) -> int:
        """Return the column of entry (i, l) of matrix variable k."""
        start = self._size("VAR") + sum(svec_size(order) for order in self.orders["PSDVAR"][:k])
        return start + _triangle(i, l)

    def _scalar(self, n: int) -> Iterator[Constraint]:
        total = self._size("CON")
        check_bytes(16 * total, "the rows that it declares")
        entries = [(i, j, float(v)) for (i, j), v in self.entries["ACOORD"]]
        matrices = self.entries["FCOORD"]
        entries += [(i, self._matrix_place(k, a, b), float(v) * (1.0 if a == b else 2.0)) for (i, k, a, b), v in matrices]
        F = matrix_of_entries(entries, (total, n))
        g = np.zeros(total)
        for (i,), v in self.entries["BCOORD"]:
            g[i] += float(v)
        start = 0
        for block, (name, size) in enumerate(self.cones):
            piece = np.arange(start, start + size)
            start += size
            sign = -1.0 if name == "L-" else 1.0
            if "EXP" in name or "POW" in name:
                yield self._transcendental(name, sp.csr_array(F[piece]), g[piece], f"c{block}")
            elif name != "F":  # a free row is no constraint
                yield Constraint(f"c{block}", sp.csr_array(sign * F[piece]), sign * g[piece] + 0.0, _cone(name, size))

    def _semidefinite(self, n: int) -> Iterator[Constraint]:
        orders = self.orders["PSDCON"]
        check_bytes(16 * sum(svec_size(order) for order in orders), "the semidefinite rows that it declares")
        starts = np.concatenate([[0], np.cumsum([svec_size(order) for order in orders], dtype=np.int64)]).tolist()
        entries = [(starts[k] + _triangle(i, l), j, parse_scaled(v, i != l)) for (k, j, i, l), v in self.entries["HCOORD"]]
        F = matrix_of_entries(entries, (starts[-1], n))
        g = np.zeros(starts[-1])
        for (k, i, l), v in self.entries["DCOORD"]:
            g[starts[k] + _triangle(i, l)] += parse_scaled(v, i != l)
        for block, order in enumerate(orders):
            piece = np.arange(starts[block], starts[block + 1])
            yield Constraint(f"psd{block}", sp.csr_array(F[piece]), g[piece], PSD.of_order(order))

    def _variable_cones(self, n: int) -> Iterator[Constraint]:
        """Yield the cones of variables and of matrix variables."""
        start = 0
        for block, (name, size) in enumerate(self.domains):
            if name in ("Q", "QR"):
                yield Constraint(f"v{block}", _selection(start, np.ones(size), n), np.zeros(size), _cone(name, size))
            elif "EXP" in name or "POW" in name:
                yield self._transcendental(name, _selection(start, np.ones(size), n), np.zeros(size), f"v{block}")
            start += size
        for block, order in enumerate(self.orders["PSDVAR"]):
            upper, lower = svec_indices(order)
            scale = np.where(upper == lower, 1.0, np.sqrt(2.0))
            yield Constraint(f"matrix{block}", _selection(start, scale, n), np.zeros(scale.size), PSD.of_order(order))
            start += scale.size


def _selection(start: int, scale: FloatArray, n: int) -> sp.csr_array:
    """Return rows that are multiples of consecutive variables."""
    rows = np.arange(scale.size)
    return sp.csr_array((scale, (rows, start + rows)), shape=(scale.size, n))


def _triangle(i: int, l: int) -> int:
    """Return the place of an entry in a triangle, stored by rows of the lower one, which are the columns of the upper."""
    return max(i, l) * (max(i, l) + 1) // 2 + min(i, l)


def _size(word: str) -> int:
    size = parse_integer(word)
    if not 0 <= size < 2**40:
        raise DataError(f"{size} is no size")
    return size


def _order(word: str) -> int:
    order = _size(word)
    if not order:
        raise DataError("a matrix of order 0")
    return order


def _cone(name: str, size: int) -> Cone:
    kinds: dict[str, type[Cone]] = {"L+": Nonnegative, "L-": Nonnegative, "L=": Zero, "Q": SecondOrder, "QR": RotatedSecondOrder}
    return kinds[name](size)


#: The format, which `models.export.file_formats` finds.
FORMAT = _CBF()
