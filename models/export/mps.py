"""Reader and writer of MPS files, also with quadratic objectives (QUADOBJ: QPS), quadratic rows (QCMATRIX) and INDICATORS.

Labels and shapes, which MPS does not have, are kept in a sidecar file (`models.export.layout`). MPS calls variables *columns*;
its rows are N (free: the first is the objective, further ones are ignored), E (=), L (≤) and G (≥).
"""

from __future__ import annotations

from collections.abc import Callable, Container, Iterator
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import scipy.sparse as sp

from ...errors import DataError, short_text
from ...files import split_lines
from ..arrays import BoolArray, FloatArray
from ..importing.quadratic_rows import QuadraticRow, with_plain_products
from ..importing.source import binary_restatement
from ..program.cones import Feature
from ..program.form import StandardForm
from .file_formats import FileFormat, InputFile, is_number, parse_number
from .file_programs import INFINITE, FlatProgram, matrix_of_entries, rows_by_kind, symmetric_matrix
from .layout import Layout, comment_lines
from .lp import form_with_labels, plain_names, plain_row_names

# The reader of MPS files: free or in fixed columns, with the sections of CPLEX, Gurobi, HiGHS, MOSEK and SCIP.
#
# Each line is read or refused. A value that is stated twice must be the same; values of a second set of right-hand sides,
# ranges or bounds are ignored, as the format demands. A line that other readers interpret differently (an entry that is stated
# twice, one triangle of a matrix that should be whole) is refused.

#: Words of OBJSENSE.
_LEAST, _MOST = ("MIN", "MINIMIZE", "MINIMISE"), ("MAX", "MAXIMIZE", "MAXIMISE")
#: Kinds of bounds: the ends of the interval that each states; None stands for the number in the line.
_BOUNDS: dict[str, tuple[tuple[str, float | None], ...]] = {
    "LO": (("lower", None),), "UP": (("upper", None),), "FX": (("lower", None), ("upper", None)),
    "LI": (("lower", None),), "UI": (("upper", None),), "FR": (("lower", -np.inf), ("upper", np.inf)),
    "MI": (("lower", -np.inf),), "PL": (("upper", np.inf),), "BV": (("lower", 0.0), ("upper", 1.0)),
}  # fmt: skip
#: Kinds of bounds that make a variable an integer.
_INTEGER_BOUNDS = ("LI", "UI", "BV")
#: Parts of a program that a form does not hold, by the name of their section.
_REFUSED = {
    **dict.fromkeys(("SOS", "SOS1", "SOS2", "SETS"), "special ordered sets"), "GENCONS": "general constraints",
    "PWLOBJ": "piecewise-linear objectives", "CSECTION": "sections of cones", "SCENARIOS": "scenarios", "PWLCON":
    "piecewise-linear constraints",
}  # fmt: skip
#: Least number of words of a line; a later word that begins with $ or * begins a comment.
_COMPLETE = {"ROWS": 2, "COLUMNS": 3, "RHS": 2, "RANGES": 2, "BOUNDS": 2}
#: Where each of the six fields of the fixed format begins and ends.
_FIELDS = ((1, 3), (4, 12), (14, 22), (24, 36), (39, 47), (49, 61))
#: Sections whose lines are in the columns of the fixed format where names have blanks.
_IN_COLUMNS = frozenset({*_COMPLETE, "QUADOBJ", "QMATRIX", "QSECTION", "QCMATRIX", "INDICATORS", "LAZYCONS", "USERCUTS"})

#: Row, column and value of a matrix entry.
_Entry = tuple[int, int, float]


@dataclass
class _UniqueNumbers:
    """The numbers of one quantity, by the number of their row or column and by side, each with the name of its set."""

    quantity: str
    values: dict[tuple[int, str], tuple[str, float]] = field(default_factory=dict)

    def state(self, place: int, name: str, group: str, value: float, side: str = "") -> None:
        """Keep a number unless one is stated: a number of another set is ignored, one of the same set must be equal."""
        before = self.values.setdefault((place, side), (group, value))
        if before[0] == group and before[1] != value:
            raise DataError(
                f"the {side and side + ' '}{self.quantity} of {name} is stated twice: {before[1]:g} and {value:g}, of which "
                "readers take one or the other; leave one out"
            )

    def fill(self, target: FloatArray, side: str = "") -> FloatArray:
        """Write the numbers of a side into an array."""
        for (place, stored_side), (_, value) in self.values.items():
            if stored_side == side:
                target[place] = value
        return target


@dataclass
class _Reader:
    """The sections read so far; rows and columns are numbered in the order of the file."""

    source: InputFile
    objective: str | None = None
    objective_name: str | None = None
    integral: bool = False
    maximise: bool = False
    #: N rows after the first, whose entries are ignored.
    ignored_rows: set[str] = field(default_factory=set)
    rows: dict[str, int] = field(default_factory=dict)
    columns: dict[str, int] = field(default_factory=dict)
    senses: list[str] = field(default_factory=list)
    #: Entries by row, None for the objective, and column.
    entries: dict[tuple[int | None, int], float] = field(default_factory=dict)
    constant: _UniqueNumbers = field(default_factory=lambda: _UniqueNumbers("constant"))
    sides: _UniqueNumbers = field(default_factory=lambda: _UniqueNumbers("right-hand side"))
    widths: _UniqueNumbers = field(default_factory=lambda: _UniqueNumbers("range"))
    bounds: _UniqueNumbers = field(default_factory=lambda: _UniqueNumbers("bound"))
    integers: set[int] = field(default_factory=set)
    #: Variables that BOUNDS names and COLUMNS does not, with the line; each must occur in a quadratic part.
    undeclared: dict[str, int] = field(default_factory=dict)
    #: Terms of quadratic parts, of the objective (None) and of rows, with the section that they came from and its line.
    quadratic: dict[int | None, tuple[str, list[_Entry], int]] = field(default_factory=dict)
    #: Switch, value and line of the indicators, by row.
    switches: dict[int, tuple[int, int, int]] = field(default_factory=dict)
    #: The quadratic part that is being read.
    part: list[_Entry] = field(default_factory=list)

    # -- words behind a section's name ------------------------------------------------------------------------------

    def begin_plain(self, section: str, fields: list[str]) -> None:
        """Refuse words behind the name of a section that takes none."""
        if fields:
            raise DataError(f"words behind the name of the section {section} that are not understood: {' '.join(fields)[:60]}")

    def begin_name(self, section: str, fields: list[str]) -> None:
        """Keep the words behind NAME as the program's name; a last word FREE or FIXED says how the lines are split."""
        words = fields[:-1] if len(fields) > 1 and fields[-1].upper() in ("FREE", "FIXED") else fields
        self.source.take_name(" ".join(words))

    def begin_with_word(self, section: str, fields: list[str]) -> None:
        """Read the word of OBJSENSE or OBJNAME if it stands in the section's own line."""
        if fields:
            _LINES[section](self, fields)

    def begin_matrix(self, section: str, fields: list[str]) -> None:
        """Begin a quadratic part: of the objective (QUADOBJ, QMATRIX), or of the row named behind QSECTION or QCMATRIX."""
        if section in ("QUADOBJ", "QMATRIX"):
            self.begin_plain(section, fields)
            place, name = None, "the objective"
        else:
            name = " ".join(fields)
            if not fields or (len(fields) > 1 and name not in self.rows):
                raise DataError(f"the name of one row must stand behind {section}")
            place = None if name == self.objective else self._row(name)
        if place in self.quadratic:
            raise DataError(f"a second quadratic part of {name}")
        self.quadratic[place] = (section, [], self.source.line)
        self.part = self.quadratic[place][1]

    # -- lines ------------------------------------------------------------------------------------------------------

    def no_line(self, words: list[str]) -> None:
        """Refuse a line of a section that has none."""
        raise DataError(f"a line that belongs to no section: {' '.join(words)[:60]}")

    def read_sense(self, words: list[str]) -> None:
        """Read OBJSENSE."""
        if len(words) != 1 or words[0].upper() not in (*_LEAST, *_MOST):
            raise DataError(f"an objective is to be minimised or maximised, not {short_text(' '.join(words)[:60])}")
        self.maximise = words[0].upper() in _MOST

    def read_objective_name(self, words: list[str]) -> None:
        """Read OBJNAME, which must name the first N row: most readers ignore it and would minimise that row."""
        if len(words) != 1 or self.objective not in (None, words[0]):
            raise DataError(f"an objective other than the first N row: {' '.join(words)[:60]}; remove the others")
        self.objective_name = words[0]

    def read_row(self, words: list[str]) -> None:
        """Read a line of ROWS; the first N row is the objective."""
        if len(words) != 2:
            raise DataError(f"a row must have a kind and a name; it is {short_text(' '.join(words)[:60])}{_advice(words, 2)}")
        kind, name = words[0].upper(), words[1]
        if kind == "N":
            if self.objective is None and self.objective_name not in (None, name):
                raise DataError(f"an objective other than the first N row: {self.objective_name}; remove the others")
            self.ignored_rows |= {name} if self.objective not in (None, name) else set()
            self.objective = name if self.objective is None else self.objective
        elif kind not in ("E", "L", "G") or name in self.rows or name == self.objective or name in self.ignored_rows:
            raise DataError(f"a row must be N, E, L or G with a name of its own; it is {short_text(' '.join(words)[:60])}")
        else:
            self.rows[name] = len(self.rows)
            self.senses.append(kind)

    def read_column(self, words: list[str]) -> None:
        """Read a line of COLUMNS: entries of one column, or a marker around integers."""
        if len(words) > 1 and words[1] == "'MARKER'":
            if words[2:] not in (["'INTORG'"], ["'INTEND'"]):
                raise DataError(
                    f"a marker is 'INTORG' or 'INTEND'; others, as of special ordered sets, are not read: {words[-1]}"
                )
            self.integral = words[2] == "'INTORG'"
            return
        if len(words) == 3 and words[1].strip("\"'").upper() == "MARKER" and words[1] not in self.rows:
            raise DataError(f"a marker is 'MARKER' and 'INTORG' or 'INTEND', with quotes: {' '.join(words)[:60]}")
        if len(words) not in (3, 5):
            advice = _advice(words, 3)
            raise DataError(
                f"a line of COLUMNS must have a name and one or two entries: {short_text(' '.join(words)[:60])}{advice}"
            )
        if words[0] in self.columns and self.columns[words[0]] < len(self.columns) - 1:
            raise DataError(f"the column {words[0]} goes on behind another one: readers take it for a second column of this name")
        declared = words[0] in self.columns
        j = self.columns.setdefault(words[0], len(self.columns))
        if declared and self.integral != (j in self.integers):
            raise DataError(f"a marker stands among the entries of {words[0]}: readers differ in whether it is an integer")
        if self.integral:
            self.integers.add(j)
        for name, word in zip(words[1::2], words[2::2], strict=True):
            value = parse_number(word, "a coefficient")
            if name in self.ignored_rows:
                continue
            place = None if name == self.objective else self._row(name)
            if (place, j) in self.entries:
                raise DataError(
                    f"a second entry of {words[0]} in {name}: some readers add the two, others take one; if "
                    f"{short_text(' '.join(words[:3]))} is one name, give it without blanks"
                )
            self.entries[place, j] = value

    def read_side(self, words: list[str]) -> None:
        """Read a line of RHS; the objective's is its constant with the sign changed."""
        for group, name, word in self._pairs(words):
            if name == self.objective:
                self.constant.state(0, name, group, -parse_number(word, "a right-hand side") + 0.0)
            elif name not in self.ignored_rows:
                self.sides.state(self._row(name), name, group, parse_number(word, "a right-hand side"))

    def read_range(self, words: list[str]) -> None:
        """Read a line of RANGES: how far a row reaches beyond its side."""
        for group, name, word in self._pairs(words):
            value = parse_number(word, "a range")
            if name != self.objective and name not in self.ignored_rows:
                self.widths.state(self._row(name), name, group, value)

    def read_bound(self, words: list[str]) -> None:
        """Read a line of BOUNDS: a kind, the set's name, which may be left out, a column, and a number where the kind has one."""
        kind, fields = words[0].upper(), words[1:]
        if kind in ("SC", "SI"):
            kind = "semi-continuous variables"
            raise DataError(f"{kind} are not read: {' '.join(words)[:60]}{binary_restatement(kind)}")
        if kind not in _BOUNDS:
            raise DataError(f"a kind of bound that is not known: {short_text(words[0][:20])}; known are {', '.join(_BOUNDS)}")
        sides = _BOUNDS[kind]
        if any(value is None for _, value in sides):
            if len(fields) not in (2, 3):
                advice = _advice(words, 4)
                raise DataError(
                    f"a bound of the kind {kind} has a column and a number: {short_text(' '.join(words)[:60])}{advice}"
                )
            group, (name, word) = fields[0] if len(fields) == 3 else "", fields[-2:]
            limit = parse_number(word, "a bound", finite=False)
        else:
            if (len(fields) == 2 and fields[1] not in self.columns and is_number(fields[1])) or len(fields) == 3:  # unused
                parse_number(fields.pop(), "a bound", finite=False)
            if len(fields) not in (1, 2):
                raise DataError(f"a bound of the kind {kind} has a column: {short_text(' '.join(words)[:60])}{_advice(words, 3)}")
            group, name, limit = fields[0] if len(fields) == 2 else "", fields[-1], np.nan
        if name not in self.columns:
            self.undeclared[name] = self.source.line
        j = self.columns.setdefault(name, len(self.columns))
        for side, value in sides:
            self.bounds.state(j, name, group, limit if value is None else value, side)
        if kind in _INTEGER_BOUNDS:
            self.integers.add(j)

    def read_products(self, words: list[str]) -> None:
        """Read a line of a quadratic part: one or two entries of a column."""
        if len(words) not in (3, 5):
            raise DataError(f"an entry of a matrix has two columns and a number: {short_text(' '.join(words)[:60])}")
        i = self._column(words[0])
        pairs = list(zip(words[1::2], words[2::2], strict=True))
        for name in (words[0], *(name for name, _ in pairs)):
            self.undeclared.pop(name, None)
        self.part += [(i, self._column(name), parse_number(word, "a coefficient")) for name, word in pairs]

    def read_indicator(self, words: list[str]) -> None:
        """Read a line of INDICATORS: a row that holds where a binary variable is 0 or 1."""
        if len(words) != 4 or words[0].upper() != "IF" or parse_number(words[3]) not in (0.0, 1.0):
            raise DataError(f"an indicator must be IF, a row, a binary variable and 0 or 1: {short_text(' '.join(words)[:60])}")
        i = self._row(words[1])
        if i in self.switches:
            raise DataError(f"a second indicator of the row {words[1]}")
        self.switches[i] = self._column(words[2]), int(parse_number(words[3])), self.source.line

    # -- words ------------------------------------------------------------------------------------------------------

    def without_comment(self, section: str, words: list[str]) -> list[str]:
        """Return the words of a line before its comment, which begins with $ or * behind a complete line and is no row's name."""
        first = _COMPLETE.get(section)
        if first is not None:
            for k in range(first, len(words)):
                if words[k][0] in "$*" and words[k] not in self.rows:
                    return words[:k]
        return words

    def _pairs(self, words: list[str]) -> Iterator[tuple[str, str, str]]:
        """Return (set, name, number) for each pair of a line; the set's name may be left out and is then empty."""
        if not 2 <= len(words) <= 5:
            advice = _advice(words, 5)
            raise DataError(
                f"a row and its number are needed, at most two of them a line: {short_text(' '.join(words)[:60])}{advice}"
            )
        first = len(words) % 2
        group = words[0] if first else ""
        return ((group, name, word) for name, word in zip(words[first::2], words[first + 1 :: 2], strict=True))

    def _row(self, name: str) -> int:
        if name not in self.rows:
            raise DataError(f"the row {short_text(name)} is not declared in ROWS")
        return self.rows[name]

    def _column(self, name: str) -> int:
        if name not in self.columns:
            raise DataError(f"the variable {short_text(name)} is not in COLUMNS")
        return self.columns[name]

    # -- the program ------------------------------------------------------------------------------------------------

    def program(self) -> FlatProgram:
        """Return the program of the sections that were read."""
        for name, line in self.undeclared.items():
            self.source.line = line
            raise DataError(f"the variable {short_text(name)} is not in COLUMNS")
        n, m = len(self.columns), len(self.rows)
        lower, upper = self._intervals()
        q, integer = np.zeros(n), np.zeros(n, dtype=bool)
        integer[sorted(self.integers)] = True
        filled = [(i, j, v) for (i, j), v in self.entries.items() if i is not None and v != 0]
        q[[j for i, j in self.entries if i is None]] = [v for (i, _), v in self.entries.items() if i is None]
        parts = {i: self._symmetric(i) for i in self.quadratic}
        products = {i: Q for i, Q in parts.items() if i is not None and Q is not None}
        switches = self._switches(integer & (lower >= 0) & (upper <= 1))
        A = matrix_of_entries(filled, (m, n))
        rows, indicators, quadratic_rows = rows_by_kind(A, self._limits(), [*self.rows], products, switches)
        constant = float(self.constant.fill(np.zeros(1))[0])
        return FlatProgram(
            parts.get(None), q, constant, rows.A, rows.b, rows.equal, lower, upper, integer, tuple(self.columns), rows.names,
            self.maximise, INFINITE, indicators, quadratic_rows,
        )  # fmt: skip

    def _intervals(self) -> tuple[FloatArray, FloatArray]:
        """Return the bounds; without a stated bound they are [0, inf), and [0, 1] for integers, the traditional defaults."""
        n = len(self.columns)
        lower, upper = self.bounds.fill(np.zeros(n), "lower"), self.bounds.fill(np.full(n, np.inf), "upper")
        bounded_columns = {j for j, _ in self.bounds.values}
        upper[[j for j in self.integers if j not in bounded_columns]] = 1.0
        for j, name in enumerate(self.columns):
            if upper[j] < 0 and (j, "lower") not in self.bounds.values:
                raise DataError(f"{name} has a negative upper bound and no lower one, which readers take in two ways: state it")
        return lower, upper

    def _limits(self) -> tuple[FloatArray, FloatArray]:
        """Return the least and the largest value of each row.

        A range of width R makes a row G one of [b, b + |R|], L one of [b - |R|, b], and E one of [b, b + R] or, where R < 0, of
        [b + R, b].
        """
        m = len(self.rows)
        b, width = self.sides.fill(np.zeros(m)), self.widths.fill(np.full(m, np.inf))
        left, right = b.copy(), b.copy()
        for i, sense in enumerate(self.senses):
            if sense == "L" or (sense == "E" and width[i] < 0):
                left[i] -= abs(width[i])
            elif sense == "G" or np.isfinite(width[i]):
                right[i] += abs(width[i])
        return np.where(left <= -INFINITE, -np.inf, left), np.where(right >= INFINITE, np.inf, right)

    def _switches(self, binary: BoolArray) -> dict[int, tuple[int, int]]:
        """Return the switches of indicators, by row."""
        names = [*self.rows]
        for i, (j, _, line) in self.switches.items():
            self.source.line = line
            if i in self.quadratic:
                raise DataError(f"an indicator of a quadratic row: {names[i]}")
            if not binary[j]:
                raise DataError(f"the switch of the indicator {names[i]}, {[*self.columns][j]}, must be a binary variable")
        return {i: (j, active) for i, (j, active, _) in self.switches.items()}

    def _symmetric(self, place: int | None) -> sp.csc_array | None:
        """Return P of ½x'Px for a quadratic part.

        QUADOBJ and QSECTION hold one triangle of P, QMATRIX all of P. QCMATRIX holds all of Q in x'Qx for a row, and all of P
        for the objective.
        """
        section, entries, line = self.quadratic[place]
        self.source.line = line
        n = len(self.columns)
        if section in ("QUADOBJ", "QSECTION"):
            return symmetric_matrix(entries, n)
        by_place: dict[tuple[int, int], float] = {}
        for i, j, value in entries:
            if (i, j) in by_place:
                raise DataError(f"a second entry of one pair of variables in {section}")
            by_place[i, j] = value
        if any(by_place.get((j, i)) != value for (i, j), value in by_place.items()):
            raise DataError(f"{section} must hold both triangles of a symmetric matrix")
        scale = 1.0 if place is None else 2.0
        return symmetric_matrix([(i, j, scale * value) for (i, j), value in by_place.items() if i >= j], n)


#: The method that begins each section, from the words behind its name.
_HEADS: dict[str, Callable[[_Reader, str, list[str]], None]] = {
    "NAME": _Reader.begin_name,
    "OBJSENSE": _Reader.begin_with_word,
    "OBJNAME": _Reader.begin_with_word,
    "QUADOBJ": _Reader.begin_matrix,
    "QMATRIX": _Reader.begin_matrix,
    "QSECTION": _Reader.begin_matrix,
    "QCMATRIX": _Reader.begin_matrix,
}
#: The method that reads a line of each section.
_LINES: dict[str, Callable[[_Reader, list[str]], None]] = {
    "": _Reader.no_line,
    "NAME": _Reader.no_line,
    "OBJSENSE": _Reader.read_sense,
    "OBJNAME": _Reader.read_objective_name,
    "ROWS": _Reader.read_row,
    "LAZYCONS": _Reader.read_row,
    "USERCUTS": _Reader.read_row,
    "COLUMNS": _Reader.read_column,
    "RHS": _Reader.read_side,
    "BOUNDS": _Reader.read_bound,
    "RANGES": _Reader.read_range,
    "QUADOBJ": _Reader.read_products,
    "QMATRIX": _Reader.read_products,
    "QSECTION": _Reader.read_products,
    "QCMATRIX": _Reader.read_products,
    "INDICATORS": _Reader.read_indicator,
}
#: Words that begin a section where a line is not indented.
_KNOWN = frozenset({*_LINES, *_REFUSED, "ENDATA"})


def _read_program(source: InputFile) -> FlatProgram:
    """Return the program of a file."""
    section, reader, words_in, opened = "", _Reader(source), _splitter(source.text), set[str]()
    for raw in source.lines():
        if not raw.strip() or raw.startswith("*"):
            continue
        if raw[0].isspace():
            if section in _REFUSED:
                raise DataError(f"{_REFUSED[section]} are not read: section {section}{binary_restatement(_REFUSED[section])}")
            words = words_in(raw) if section in _IN_COLUMNS else raw.split()
            _LINES[section](reader, reader.without_comment(section, words))
            continue
        name, *fields = raw.split()
        if section in ("OBJSENSE", "OBJNAME") and name.upper() not in _KNOWN:  # their line, which some do not indent
            _LINES[section](reader, [name, *fields])
            continue
        section = name.upper()
        if section == "ENDATA":
            return reader.program()
        if section in _REFUSED and not fields:
            continue
        if section in opened and section not in ("QSECTION", "QCMATRIX"):
            raise DataError(f"a second section {section}")
        opened.add(section)
        if section not in _LINES:
            description = _REFUSED.get(section, f"{short_text(raw.strip()[:60])}")
            raise DataError(
                f"{description} are not read" if section in _REFUSED else f"{description} is not read: the section is not known"
            )
        _HEADS.get(section, _Reader.begin_plain)(reader, section, fields)
    raise DataError("it ends before ENDATA")


def _splitter(text: str) -> Callable[[str], list[str]]:
    """Return the function that splits a line of this file: at blanks, or at the columns of the fixed format.

    Old files have blanks in names, which only the columns tell apart. A file is split by columns if some line has too many words,
    or no number where one belongs, and if no line has text between the columns.
    """
    for section, raw in _table_lines(text, _COMPLETE):
        words = raw.split()
        comment = next((k for k, word in enumerate(words) if k >= _COMPLETE[section] and word[0] in "$*"), len(words))
        if not _splits_at_blanks(section, words) and not _splits_at_blanks(section, words[:comment]):
            # in the fixed format the places between the fields are blank in every line
            return _fixed if _is_in_columns(text) else str.split
    if _is_in_columns(text):
        _refuse_two_splits(text)
    return str.split


def _is_in_columns(text: str) -> bool:
    """Return whether the lines of rows and columns leave the places between the fields of the fixed format blank."""
    return not any(_between(line).strip() for _, line in _table_lines(text, ("ROWS", "COLUMNS")))


def _refuse_two_splits(text: str) -> None:
    """Raise for a line that is complete when it is split at blanks and when it is split in fixed columns, with other fields.

    A column ``A CAP 3`` with the entry ``COST 2`` has the words of a column A with two entries.
    """
    for section, raw in _table_lines(text, _COMPLETE):
        words, fields = raw.split(), [field for start, stop in _FIELDS if (field := raw[start:stop].strip())]
        if words != fields and not _between(raw).strip() and _splits_at_blanks(section, fields):
            name = next(field for field in fields if len(field.split()) > 1)
            raise DataError(
                f"the line {short_text(' '.join(words)[:60])} of {section} has two readings, since {short_text(name)} may be "
                "one name: give names without blanks"
            )


def _splits_at_blanks(section: str, words: list[str]) -> bool:
    """Return whether the words of a line may be its fields: an allowed number of them, with numbers where these belong."""
    count = len(words)
    if section == "ROWS":
        return count == 2
    if section == "COLUMNS":
        return count in (3, 5)
    if section != "BOUNDS":
        return 2 <= count <= 5 and all(map(is_number, words[1 + count % 2 :: 2]))
    sides = _BOUNDS.get(words[0].upper())
    if sides is None:
        return True
    if any(value is None for _, value in sides):
        return count in (3, 4) and is_number(words[-1])
    return count in (2, 3) or (count == 4 and is_number(words[-1]))


def _advice(words: list[str], most: int) -> str:
    """Return the advice for a line with more words than it may have fields."""
    if len(words) <= most:
        return ""
    return "; names with blanks must stand in the columns of the fixed format, in every line: else rename them"


def _table_lines(text: str, sections: Container[str]) -> Iterator[tuple[str, str]]:
    """Yield the lines of some sections, each with its section."""
    section = ""
    for raw in split_lines(text):
        if not raw.strip() or raw.startswith("*"):
            continue
        if not raw[0].isspace():
            section = raw.split()[0].upper()
        elif section in sections:
            yield section, raw


def _between(raw: str) -> str:
    """Return the characters between the fields of a line in fixed columns."""
    stops = [0, *(stop for _, stop in _FIELDS)]
    starts = [start for start, _ in _FIELDS]
    return "".join(raw[a:b] for a, b in zip(stops, starts, strict=False))


def _fixed(raw: str) -> list[str]:
    """Return the fields of a line in fixed columns, without empty ones."""
    if _between(raw).strip():
        raise DataError(f"text between the fields of the fixed format: {short_text(raw.strip()[:60])}")
    fields = (raw[start:stop].strip() for start, stop in _FIELDS)
    return [field for field in fields if field]


class _MPS(FileFormat):
    suffix = ".mps"
    also_read = (".qps", ".sif")
    title = "MPS"
    carries = frozenset({Feature.QUADRATIC, Feature.NONCONVEX, Feature.INTEGER, Feature.INDICATOR, Feature.BILINEAR})

    def write(self, form: StandardForm, path: Path) -> None:
        form = with_plain_products(form)
        flat = FlatProgram.as_stated(form)
        x = plain_names(form.names())
        rows = plain_row_names(form.constraints)
        cost = "obj"
        while cost in rows:
            cost += "_"
        lines = [
            f"* {form.name}; written by marginopt",
            *comment_lines(form, "*"),
            f"NAME {plain_names([form.name])[0]}",
            "OBJSENSE",
            f"    {flat.sense[:3].upper()}",
            "ROWS",
            f" N {cost}",
        ]
        senses = ["E" if is_equal else "G" for is_equal in flat.equal.tolist()] + [sense for *_, sense in flat.further_rows]
        lines += [f" {sense} {name}" for name, sense in zip(rows, senses, strict=True)]
        lines.append("COLUMNS")
        lines += list(_columns(flat, x, rows, cost))
        lines.append("RHS")
        if flat.r:
            lines.append(f"    rhs {cost} {-flat.r:.17g}")  # the objective's constant, with its sign changed
        sides = [*flat.b.tolist(), *(side for _, _, side, _ in flat.further_rows)]
        lines += [f"    rhs {name} {value:.17g}" for name, value in zip(rows, sides, strict=True) if value]
        lines.append("BOUNDS")
        for name, low, high, integer in zip(x, flat.lower, flat.upper, flat.integer, strict=True):
            lines += [f" {kind} bnd {name}{value}" for kind, value in _bounds(low, high, bool(integer))]
        if flat.P is not None and flat.P.nnz:
            lines.append("QUADOBJ")
            lower = sp.coo_array(sp.tril(flat.P))
            lines += [f"    {x[j]} {x[i]} {v:.17g}" for i, j, v in zip(lower.row, lower.col, lower.data, strict=True)]
        last = flat.b.size + len(flat.indicators)
        for name, quadratic_row in zip(rows[last:], flat.quadratic_rows, strict=True):
            lines += [f"QCMATRIX {name}", *_whole(quadratic_row, x)]
        if flat.indicators:
            lines.append("INDICATORS")
            lines += [f" IF {n} {x[k.binary]} {k.active}" for n, k in zip(rows[flat.b.size : last], flat.indicators, strict=True)]
        Layout.of(form).write(path, "\n".join([*lines, "ENDATA", ""]))

    def read(self, source: InputFile) -> StandardForm:
        return form_with_labels(_read_program(source), source)


def _whole(row: QuadraticRow, x: list[str]) -> Iterator[str]:
    """Yield the lines of both triangles of ½Q, since QCMATRIX states x'(½Q)x."""
    entries = sp.coo_array(row.Q)
    yield from (f"    {x[j]} {x[i]} {0.5 * v:.17g}" for i, j, v in zip(entries.row, entries.col, entries.data, strict=True))


def _columns(flat: FlatProgram, x: list[str], rows: list[str], cost: str) -> Iterator[str]:
    A = sp.csc_array(sp.vstack([flat.A, *(a for _, a, _, _ in flat.further_rows)]))
    marked = False
    for j, name in enumerate(x):
        if bool(flat.integer[j]) != marked:
            marked = not marked
            yield f"    marker{j} 'MARKER' '{'INTORG' if marked else 'INTEND'}'"
        yield f"    {name} {cost} {flat.q[j]:.17g}"
        for k in range(A.indptr[j], A.indptr[j + 1]):
            yield f"    {name} {rows[A.indices[k]]} {A.data[k]:.17g}"
    if marked:
        yield "    markerend 'MARKER' 'INTEND'"


def _bounds(low: float, high: float, integer: bool) -> Iterator[tuple[str, str]]:
    """Yield kind and number of each bound; readers differ in the defaults of integers, whose bounds are all stated."""
    if low == -np.inf and high == np.inf:
        yield "FR", ""
        return
    if integer and (low, high) == (0.0, 1.0):
        yield "BV", ""
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


#: The format, which `models.export.file_formats` finds.
FORMAT = _MPS()
