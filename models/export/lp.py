"""Reader and writer of CPLEX LP files.

Names in the file have an underscore in place of characters other than letters, digits and underscores (``w[3]`` becomes ``w_3``,
`plain_names`), since brackets mean a quadratic part in this format. The sidecar file holds the form's own names
(`models.export.layout`).
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import count
from pathlib import Path
from typing import NamedTuple, TypeAlias

import numpy as np
import scipy.sparse as sp

from ...errors import DataError, short_text
from ..arrays import BoolArray
from ..importing.quadratic_rows import with_plain_products
from ..importing.source import binary_restatement
from ..program.cones import Bilinear, Feature, Indicator, Zero
from ..program.form import Constraint, StandardForm
from .cone_rows import cone_names
from .file_formats import FileFormat, InputFile, signed_text
from .file_programs import INFINITE, FlatProgram, matrix_of_entries, rows_by_kind, symmetric_matrix
from .layout import Layout, comment_lines

#: HiGHS and SCIP ignore an objective behind "maximise" with an s; the reader takes that spelling for no section and refuses it.
_MINIMISE, _MAXIMISE = ("minimize", "minimum", "min"), ("maximize", "maximum", "max")
#: Parts of a program that a form cannot hold, each with the words that begin its section in a file.
_REFUSED = {
    "semi-continuous variables": ("semi-continuous", "semi", "semis"),
    "special ordered sets": ("sos", "sos1", "sos2"),
    "general constraints": ("general constraints", "general constraint", "gencons"),
    "piecewise-linear objectives": ("pwlobj",),
    "several objectives": tuple(f"{sense} multi-objectives" for sense in (*_MINIMISE, *_MAXIMISE)),
    "scenarios": ("scenario", "scenarios"),
}
#: Words that begin a section of rows. Lazy constraints are rows like others; user cuts hold at every integer point that is
#: feasible without them.
_ROWS = ("subject to", "such that", "st", "s.t.", "st.", "lazy constraints", "user cuts")
#: The section that each word begins: a method of `_Parser`, a key of `_REFUSED`, or the end.
_SECTIONS = {
    **dict.fromkeys(_MINIMISE, "minimum"), **dict.fromkeys(_MAXIMISE, "maximum"), **dict.fromkeys(_ROWS, "rows"),
    **dict.fromkeys(("bounds", "bound"), "bounds"),
    **dict.fromkeys(("general", "generals", "gen", "integer", "integers", "int"), "integer"),
    **dict.fromkeys(("binary", "binaries", "bin"), "binary"),
    **{word: what for what, words in _REFUSED.items() for word in words}, "end": "end",
}  # fmt: skip
#: Names that the writer does not give: they begin a section, or are numbers or bounds.
_RESERVED = frozenset({*_SECTIONS, "free", "inf", "infinity", "nan"})

#: A pattern of all words that begin a section, the longest first.
_ANY_TOKEN = "|".join(
    re.escape(word).replace(r"\ ", r"\s+") for word in sorted(_SECTIONS, key=len, reverse=True) if word != "end"
)
#: A section that begins with a name or a number on the line of its word.
_INLINE = re.compile(rf"({_ANY_TOKEN})\s+([^\s:<>=+*^/\]-].*)", re.IGNORECASE)
#: The comment above the objective that names the program: of CPLEX and SCIP, of Gurobi, of this package.
_PROBLEM_NAME = re.compile(r"Problem name:\s*(.+)|Model (\S+)|(.+); written by marginopt", re.IGNORECASE)
#: The objective on the line of its word; it may begin with a sign or a bracket, since nothing before it can continue.
_FIRST = re.compile(rf"({'|'.join((*_MINIMISE, *_MAXIMISE))})\s+([^\s:].*)", re.IGNORECASE)

#: Spellings of the senses, and signs that a name may hold.
_SENSES = {"<=": "<=", "=<": "<=", "<": "<=", ">=": ">=", "=>": ">=", ">": ">=", "=": "=", "==": "="}
_MARKS = r"!\"#$%&(),;?@{}~'`|"
#: A name, with an index in brackets as Gurobi and JuMP write it; the brackets of a quadratic part stand alone.
_NAME = rf"(?:[^\W\d]|[{_MARKS}])[\w.{_MARKS}/]*(?:\[[^\[\]\s]*\])*"
#: A token: a number, a name, a sign, or any other character.
_TOKEN = re.compile(
    rf"(?P<number>(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?|inf(?:inity)?(?=[\s:<>=+*^\]-]|$))|(?P<name>{_NAME})"
    r"|(?P<sign>->|<=|>=|=<|=>|==|[<>=+\-*^/:\[\]])|(?P<other>\S)",
    re.IGNORECASE,
)


#: A line and its number in the file.
_Line: TypeAlias = tuple[int, str]


def _sections(source: InputFile) -> Iterator[tuple[str, list[_Line]]]:
    """Yield the objective ("minimum" or "maximum"), empty or not, and each other section that is not empty: "rows", "bounds",
    "integer", "binary", or one of `_REFUSED`.
    """
    current, lines, headings = "", list[_Line](), {""}
    for number, raw in enumerate(source.lines(), 1):
        text, mark, comment = raw.partition("\\")
        if mark and not current and (named := _PROBLEM_NAME.fullmatch(comment.strip())):
            source.take_name(named[1] or named[2] or named[3])
        line = text.strip()
        section, line = _head(line, current)
        if section:
            if lines or current in ("minimum", "maximum"):
                yield current, lines
            current, lines = section, []
            headings.add(section)
        if line and current in ("", "end"):
            source.line = number
            raise DataError(f"text outside every section: {short_text(line[:60])}")
        if line:
            lines.append((number, line))
    if "end" not in headings or headings.isdisjoint(("minimum", "maximum")):
        raise DataError("it has no objective, or ends before its 'end'")


def _head(line: str, current: str) -> tuple[str, str]:
    """Return the section that a line begins, "" where it begins none, and the rest of the line."""
    if section := _SECTIONS.get(" ".join(line.lower().split())):
        return section, ""
    inline = (_INLINE if current else _FIRST).fullmatch(line)
    return ("", line) if inline is None else (_SECTIONS[" ".join(inline[1].lower().split())], inline[2])


class _Token(NamedTuple):
    """A token of an LP file: a number, a name or a sign."""

    text: str
    kind: str
    line: int


class _Side(NamedTuple):
    """A side of a row or bound, as it reads when written on its right: a sense, <=, >= or =, and a number."""

    sense: str
    value: float

    @property
    def reversed_sense(self) -> str:
        """Return the sense as it reads from the other side."""
        return {"<=": ">=", ">=": "<=", "=": "="}[self.sense]


class _TokenReader:
    """A reader of the tokens of a section, one after the other; errors name the line of the last token."""

    def __init__(self, lines: list[_Line], source: InputFile) -> None:
        self._source, self._at = source, 0
        self._tokens = []
        for number, line in lines:
            for match in _TOKEN.finditer(line):
                if match.lastgroup == "other":
                    source.line = number
                    raise DataError(f"a sign that is not understood: {short_text(line[match.start() :][:20])}")
                self._tokens.append(_Token(match.group(), match.lastgroup or "", number))

    def peek(self, offset: int = 0) -> _Token:
        """Return a token that comes later, without consuming it; an empty token after the last."""
        position = self._at + offset
        return self._tokens[position] if position < len(self._tokens) else _Token("", "", 0)

    def take(self) -> _Token:
        """Consume and return the next token."""
        token = self.peek()
        self._at += 1
        self._source.line = token.line or self._source.line
        return token

    def accept(self, *texts: str) -> bool:
        """Consume these tokens if they come next, and return whether they did."""
        matched = all(self.peek(k).text.lower() == text for k, text in enumerate(texts))
        if matched:
            for _ in texts:
                self.take()
        return matched

    def read_sign(self) -> float | None:
        """Consume the signs that come, and return their product; None where there is none."""
        sign = None
        while self.peek().text in ("+", "-"):
            sign = (1.0 if sign is None else sign) * (1.0 if self.take().text == "+" else -1.0)
        return sign

    def accept_factor(self) -> bool:
        """Consume a * if it comes next, and return whether a name follows; SCIP writes products with a blank in place of *."""
        return (self.accept("*") or bool(self.peek().text)) and self.peek().kind == "name"

    def read_number(self) -> float | None:
        """Consume and return a number without a sign; None where none comes."""
        return float(self.take().text) if self.peek().kind == "number" else None

    @property
    def divided_term(self) -> bool:
        """Return whether a number comes next whose name stands on another line."""
        signs = next(k for k in count() if self.peek(k).text not in ("+", "-"))
        number, name = self.peek(signs), self.peek(signs + 1)
        is_label = self.peek(signs + 2).text == ":"
        return number.kind == "number" and name.kind == "name" and name.line != number.line and not is_label

    def read_label(self) -> str:
        """Consume and return the name before a colon; "" where there is none."""
        if self.peek(1).text != ":":
            return ""
        label = self.take().text
        self.take()
        return label

    def read_side_before(self) -> _Side | None:
        """Consume a number and the sense after it, and return them as a side written on the right; None where none comes."""
        position = self._at
        value, sense = self._read_signed_number(), self._read_sense()
        if value is None or sense is None:
            self._at = position
            return None
        return _Side(_Side(sense, value).reversed_sense, value)

    def read_side_behind(self) -> _Side | None:
        """Consume and return a sense and the number after it; None where no sense comes."""
        sense = self._read_sense()
        if sense is None:
            return None
        value = self._read_signed_number()
        if value is None:
            raise DataError(f"no number behind {sense}, but {short_text(self.peek().text)}")
        return _Side(sense, value)

    def _read_signed_number(self) -> float | None:
        """Consume and return a number with its signs, which blanks may separate from it; None where none comes."""
        sign, number = self.read_sign(), self.read_number()
        return number if number is None or sign is None else sign * number

    def _read_sense(self) -> str | None:
        return _SENSES[self.take().text] if self.peek().text in _SENSES else None


# The reader of LP files, as CPLEX, Gurobi, HiGHS, SCIP, Pyomo and people write them.
#
# A row ends with the number on its right, not with its line: every term but the first has a sign, and so rows need no names.
# Bounds and the section of binary variables hold together: a binary variable has the intersection of its bounds and [0, 1]. A
# number among the terms of a row is refused, since other readers ignore it.


@dataclass
class _Expression:
    """A sum of terms."""

    linear: dict[int, float] = field(default_factory=dict)
    quadratic: list[tuple[int, int, float]] = field(default_factory=list)
    constant: float = 0.0

    @property
    def empty(self) -> bool:
        """Return whether the expression has no variable."""
        return not self.linear and not self.quadratic


@dataclass
class _Interval:
    """The interval that the sides of a row or a bound leave."""

    low: float = -np.inf
    high: float = np.inf
    low_is_stated: bool = False

    def cut(self, *sides: _Side | None) -> None:
        """Set the ends that the sides of a line give."""
        stated_sides = [side for side in sides if side is not None]
        if len(stated_sides) == 2 and {side.sense for side in stated_sides} != {"<=", ">="}:
            raise DataError("two sides that do not go together")
        for sense, value in stated_sides:
            if sense != "<=":
                self.low, self.low_is_stated = value, True
            if sense != ">=":
                self.high = value


@dataclass
class _Row:
    """A row: its name, terms, sides and line, and the variable and value that switch it on."""

    name: str
    terms: _Expression
    sides: _Interval
    line: int
    switch: tuple[int, int] | None = None


@dataclass
class _Parser:
    """Collects the sections of an LP file, each by one of its methods."""

    source: InputFile
    index: dict[str, int] = field(default_factory=dict)
    objective: _Expression = field(default_factory=_Expression)
    maximise: bool = False
    rows_read: list[_Row] = field(default_factory=list)
    limits: dict[int, _Interval] = field(default_factory=dict)
    integers: set[int] = field(default_factory=set)
    binaries: set[int] = field(default_factory=set)

    def minimum(self, tokens: _TokenReader) -> None:
        tokens.read_label()
        self.objective = self._expression(tokens)
        if tokens.peek().text:
            raise DataError(f"an objective that is not understood, at {short_text(tokens.take().text)}")

    def maximum(self, tokens: _TokenReader) -> None:
        self.minimum(tokens)
        self.maximise = True

    def rows(self, tokens: _TokenReader) -> None:
        while tokens.peek().text:
            self.rows_read.append(self._row(tokens))

    def bounds(self, tokens: _TokenReader) -> None:
        while tokens.peek().text:
            left_side, name = tokens.read_side_before(), tokens.take()
            if name.kind != "name":
                raise DataError(f"a bound that is not understood, at {short_text(name.text)}")
            j = self._variable(name.text)
            if left_side is None and tokens.accept("free"):
                if self.limits.setdefault(j, _Interval()) != _Interval():
                    raise DataError(f"{name.text} is free and has bounds: readers differ in which of them counts")
                continue
            interval = self.limits.setdefault(j, _Interval(low=0.0))
            right_side = tokens.read_side_behind()
            if left_side is None and right_side is None:
                raise DataError(f"a bound that is not understood, at {short_text(name.text)}")
            if np.isfinite(interval.high) and any(side is not None and side.value == np.inf for side in (left_side, right_side)):
                raise DataError(
                    f"{name.text} has an upper bound, and then an infinite one: readers differ in which of them counts"
                )
            interval.cut(left_side, right_side)

    def integer(self, tokens: _TokenReader) -> set[int]:
        variables = set()
        while tokens.peek().text:
            name = tokens.take()
            if name.kind != "name":
                raise DataError(f"{short_text(name.text)} is no name of a variable")
            variables.add(self._variable(name.text))
        self.integers |= variables
        return variables

    def binary(self, tokens: _TokenReader) -> None:
        self.binaries |= self.integer(tokens)

    def _variable(self, name: str) -> int:
        if name.lower() in _SECTIONS:
            raise DataError(f"a variable is called {name}, which begins a section to other readers: rename it")
        return self.index.setdefault(name, len(self.index))

    def _expression(self, tokens: _TokenReader) -> _Expression:
        """Read terms, constants and quadratic parts, up to a token that is none of these."""
        expression = _Expression()
        first = True
        while (sign := tokens.read_sign()) is not None or first:
            number = tokens.read_number()
            factor = _finite((1.0 if sign is None else sign) * (1.0 if number is None else number))
            if number is not None and tokens.peek(1).kind == "name":
                tokens.accept("*")
            if tokens.peek().kind == "name" and tokens.peek(1).text != ":":
                j = self._variable(tokens.take().text)
                expression.linear[j] = expression.linear.get(j, 0.0) + factor
            elif number is not None:
                expression.constant += factor
            elif tokens.accept("["):
                expression.quadratic += self._products(tokens, factor)
            elif sign is not None:
                raise DataError(f"a sign without a term before {short_text(tokens.take().text)}")
            first = False
        return expression

    def _products(self, tokens: _TokenReader, factor: float) -> list[tuple[int, int, float]]:
        """Read a quadratic part behind its bracket; return the entries of one triangle of P in ½x'Px."""
        products = list[tuple[int, int, float]]()
        while not tokens.accept("]"):
            sign, number = tokens.read_sign(), tokens.read_number()
            if number is not None:
                tokens.accept("*")
            name = tokens.take()
            j = self._variable(name.text)
            if name.kind == "name" and tokens.accept("^", "2"):
                other = j
            elif name.kind == "name" and tokens.accept_factor():
                other = self._variable(tokens.take().text)
            else:
                raise DataError(f"a quadratic term that is neither a square nor a product: {name.text} {tokens.peek().text}")
            if products and sign is None:
                raise DataError(f"a quadratic term without a sign before {short_text(name.text)}")
            value = _finite(factor * (1.0 if sign is None else sign) * (1.0 if number is None else number))
            products.append((j, other, value if j == other else 0.5 * value))
        if tokens.accept("/", "2"):
            return products
        if tokens.peek().text == "/":
            raise DataError("a quadratic part ends with ']' or with '] / 2'")
        return [(i, j, 2.0 * value) for i, j, value in products]

    def _row(self, tokens: _TokenReader) -> _Row:
        """Read an expression with a side on its right, on its left, or on both, perhaps behind a switch."""
        name = tokens.read_label()
        shown = name or f"number {len(self.rows_read) + 1}"
        line, switch = tokens.peek().line, self._switch(tokens)
        left_side = tokens.read_side_before()
        if left_side is not None and tokens.divided_term:
            raise DataError(
                f"row {shown} has a number on both sides of {left_side.reversed_sense} and its variable on the next line: "
                "readers differ in whether the row ends there; write the term on one line"
            )
        expression = self._expression(tokens)
        right_side = tokens.read_side_behind()
        follows, last = tokens.peek(), tokens.peek(-1)
        if follows.text == "->":
            raise DataError(f"an indicator that is not understood: row {shown}; it must begin with a binary variable = 0 or 1")
        if (
            expression.empty and left_side is not None and right_side is None and left_side.value == 0.0
        ):  # 0 ≤ 3: no term, and a side
            left_side, expression.constant = _Side(left_side.reversed_sense, expression.constant), 0.0
        if left_side is None and right_side is None:
            raise DataError(f"a row without a side: {shown}")
        if expression.constant:
            raise DataError(f"a number stands among the terms of the row {shown}; it belongs to the side")
        if follows.line == last.line and tokens.peek(1).text != ":":
            raise DataError(f"variables stand left of the side alone: row {shown}, at {short_text(follows.text)}")
        sides = _Interval()
        sides.cut(left_side, right_side)
        if switch is not None and expression.quadratic:
            raise DataError(f"indicators of quadratic rows are not read: row {shown}")
        return _Row(name, expression, sides, line, switch)

    def _switch(self, tokens: _TokenReader) -> tuple[int, int] | None:
        """Consume ``b = 1 ->`` if it comes next, and return the variable and its value; else None."""
        if tokens.peek().kind != "name" or tokens.peek(1).text not in ("=", "==") or tokens.peek(3).text != "->":
            return None
        name = tokens.take()
        tokens.take()
        value = tokens.read_number()
        tokens.take()
        if value not in (0.0, 1.0):
            raise DataError(f"an indicator asks for {name.text} = 0 or 1")
        return self._variable(name.text), int(value)

    def program(self) -> FlatProgram:
        n, m = len(self.index), len(self.rows_read)
        entries = [(i, j, v) for i, row in enumerate(self.rows_read) for j, v in row.terms.linear.items() if v != 0]
        q, lower, upper, integer = np.zeros(n), np.zeros(n), np.full(n, np.inf), np.zeros(n, dtype=bool)
        q[list(self.objective.linear)] = list(self.objective.linear.values())
        for variable, limit in self.limits.items():
            if limit.high < 0.0 and limit.low == 0.0 and not limit.low_is_stated:
                name = list(self.index)[variable]
                raise DataError(f"{name} has a negative upper bound and no lower one, which readers take in two ways: state it")
        lower[list(self.limits)] = [limit.low for limit in self.limits.values()]
        upper[list(self.limits)] = [limit.high for limit in self.limits.values()]
        binary = sorted(self.binaries)
        lower[binary], upper[binary] = np.maximum(lower[binary], 0.0), np.minimum(upper[binary], 1.0)
        integer[sorted(self.integers)] = True
        sides = np.array([(row.sides.low, row.sides.high) for row in self.rows_read], dtype=np.float64).reshape(-1, 2)
        left, right = (
            np.where(sides[:, 0] <= -INFINITE, -np.inf, sides[:, 0]),
            np.where(sides[:, 1] >= INFINITE, np.inf, sides[:, 1]),
        )
        names = self._row_names()
        quadratic = {i: symmetric_matrix(row.terms.quadratic, n) for i, row in enumerate(self.rows_read)}
        products = {i: Q for i, Q in quadratic.items() if Q is not None}
        switches = self._switches(names, integer & (lower >= 0) & (upper <= 1))
        rows, indicators, quadratic_rows = rows_by_kind(
            matrix_of_entries(entries, (m, n)), (left, right), names, products, switches
        )
        program = FlatProgram(
            symmetric_matrix(self.objective.quadratic, n), q, self.objective.constant, rows.A, rows.b, rows.equal, lower, upper,
            integer, tuple(self.index), rows.names, self.maximise, INFINITE, indicators, quadratic_rows,
        )  # fmt: skip
        j = self.index.get(_CONSTANT)
        if j is None or not lower[j] == upper[j] == 1.0 or program.in_products(j) or any(j == column for _, column, _ in entries):
            return program
        return program.with_constant(j)

    def _switches(self, names: list[str], binary: BoolArray) -> dict[int, tuple[int, int]]:
        """Return the switches of indicators, by row."""
        switches = {}
        for i, row in enumerate(self.rows_read):
            if row.switch is not None:
                if not binary[row.switch[0]]:
                    self.source.line = row.line
                    variable = [*self.index][row.switch[0]]
                    raise DataError(f"the switch of the indicator {names[i]}, {variable}, must be a binary variable")
                switches[i] = row.switch
        return switches

    def _row_names(self) -> list[str]:
        """Return the names of the rows; one without a name is called c and its number, as by other readers."""
        names, numbered = {row.name for row in self.rows_read}, []
        for number, row in enumerate(self.rows_read, 1):
            numbered.append(row.name or next(free for k in count() if (free := f"c{number}" + "_" * k) not in names))
        return numbered


def _finite(value: float) -> float:
    if not np.isfinite(value):
        raise DataError("a coefficient must be finite")
    return value


def _read_program(source: InputFile) -> FlatProgram:
    """Return the program of a file."""
    parser = _Parser(source)
    objectives = 0
    for section, lines in _sections(source):
        objectives += section in ("minimum", "maximum")
        if objectives > 1:
            raise DataError("a second objective")
        if section in _REFUSED:
            source.line = lines[0][0]
            raise DataError(f"{section} are not read: {lines[0][1][:60]}{binary_restatement(section)}")
        getattr(parser, section)(_TokenReader(lines, source))  # the method of the section's name
    return parser.program()


#: Terms that are written on a line.
_WIDTH = 8
#: The variable, fixed to one, whose cost is the objective's constant: Gurobi reads a number there as the name of a variable.
_CONSTANT = "Constant"


def plain_names(names: list[str]) -> list[str]:
    """Return the names with letters, digits and underscores alone, all different, none of them a word of LP files."""
    plain = [re.sub(r"[^A-Za-z0-9_]+", "_", name).strip("_") for name in names]
    # a digit cannot lead, a name with a leading e may read as an exponent, and some words begin a section
    usable = [re.match(r"[A-Za-df-z]", name) and name != _CONSTANT and name.lower() not in _RESERVED for name in plain]
    plain = [name if may_stay else f"v_{name}" for name, may_stay in zip(plain, usable, strict=True)]
    return plain if len(set(plain)) == len(plain) else [f"{name}__{k}" for k, name in enumerate(plain)]


def plain_row_names(constraints: Sequence[Constraint]) -> list[str]:
    """Return the names in a file of all linear rows, and behind them those of the indicators and of the quadratic rows."""
    linear = [name for c in constraints if not isinstance(c.cone, Indicator | Bilinear) for name in c.names()]
    switched = [name for c in constraints if isinstance(c.cone, Indicator) for name in c.names()[1::2]]
    return plain_names(linear + switched + [name for c in constraints if isinstance(c.cone, Bilinear) for name in cone_names(c)])


def form_with_labels(flat: FlatProgram, source: InputFile) -> StandardForm:
    """Return the form of an LP or MPS file, with the sidecar's labels if the file's names agree with the sidecar, else without.

    The order of variables and rows may differ from the sidecar's, as in a file that another program saved. Without labels the
    form has one block and the file's names.
    """
    layout = source.sidecar
    if layout is None:
        return flat.to_form(None)
    if layout.describes(source.text):
        return replace(flat, infinite=np.inf).to_form(layout)
    empty = [
        Constraint(c.label, sp.csr_array((c.cone.rows, 0)), np.zeros(c.cone.rows), c.cone, c.given_names)
        for c in layout.constraints
    ]
    linear = [c for c in empty if not isinstance(c.cone, Indicator | Bilinear)]
    kinds = [("row", isinstance(c.cone, Zero)) for c in linear for _ in range(c.rows)]
    kinds += [("indicator", False) for c in empty if isinstance(c.cone, Indicator) for _ in range(c.cone.count)]
    kinds += [("quadratic row", c.cone.equality) for c in empty if isinstance(c.cone, Bilinear) for _ in range(c.cone.count)]
    reordered = flat.reordered_by_name(plain_names(layout.names), plain_row_names(empty), kinds)
    return flat.to_form(None) if reordered is None else reordered.to_form(layout)


class _LP(FileFormat):
    suffix = ".lp"
    title = "LP"
    carries = frozenset({Feature.QUADRATIC, Feature.NONCONVEX, Feature.INTEGER, Feature.INDICATOR, Feature.BILINEAR})

    def write(self, form: StandardForm, path: Path) -> None:
        form = with_plain_products(form)
        flat = FlatProgram.as_stated(form)
        x = plain_names(form.names())
        rows = plain_row_names(form.constraints)
        lines = [f"\\ {form.name}; written by marginopt", *comment_lines(form, "\\"), flat.sense, " obj:"]
        # every variable is named in the objective, so that the order of first mention is the order of x
        lines += list(_wrapped([f"{signed_text(v)} {name}" for v, name in zip(flat.q, x, strict=True)]))
        if flat.r:
            lines.append(f"  {signed_text(flat.r)} {_CONSTANT}")
        if flat.P is not None and flat.P.nnz:
            upper = sp.coo_array(sp.triu(flat.P))
            doubled = sp.coo_array((np.where(upper.row == upper.col, 1.0, 2.0) * upper.data, upper.coords), upper.shape)
            lines += [" + [", *_wrapped(list(_products(doubled, x))), " ] / 2"]
        lines.append("subject to")
        for i, name in enumerate(rows[: flat.b.size]):
            start, stop = flat.A.indptr[i], flat.A.indptr[i + 1]
            terms = _terms(flat.A.data[start:stop], flat.A.indices[start:stop], x)
            lines += [f" {name}:", *_wrapped(terms), f"  {'=' if flat.equal[i] else '>='} {flat.b[i]:.17g}"]
        last = flat.b.size + len(flat.indicators)
        for name, row in zip(rows[flat.b.size : last], flat.indicators, strict=True):
            terms = _terms(row.a.data, row.a.indices, x)
            lines += [f" {name}: {x[row.binary]} = {row.active} ->", *_wrapped(terms), f"  >= {row.lower:.17g}"]
        for name, quadratic_row in zip(rows[last:], flat.quadratic_rows, strict=True):
            used = np.flatnonzero(quadratic_row.a)
            lines += [f" {name}:", *_wrapped([f"{signed_text(quadratic_row.a[j])} {x[j]}" for j in used]), " + ["]
            lines += [
                *_wrapped(list(_products(quadratic_row.products(), x))),
                f" ] {'=' if quadratic_row.equality else '<='} {quadratic_row.b:.17g}",
            ]
        lines.append("bounds")
        lines += [_bound(name, low, high) for name, low, high in zip(x, flat.lower, flat.upper, strict=True)]
        lines += [f" {_CONSTANT} = 1"] if flat.r else []
        if flat.integer.any():
            lines += ["general", *_wrapped([x[j] for j in np.flatnonzero(flat.integer)])]
        Layout.of(form).write(path, "\n".join([*lines, "end", ""]))

    def read(self, source: InputFile) -> StandardForm:
        return form_with_labels(_read_program(source), source)


def _terms(coefficients: np.ndarray, columns: np.ndarray, x: list[str]) -> list[str]:
    """Return the terms of a row; for an empty row 0 times the first variable, since the format needs a term."""
    return [f"{signed_text(v)} {x[j]}" for v, j in zip(coefficients, columns, strict=True)] or [f"0 {x[0]}"]


def _bound(name: str, low: float, high: float) -> str:
    if low == -np.inf and high == np.inf:
        return f" {name} free"
    left = "-inf" if low == -np.inf else f"{low:.17g}"
    right = "+inf" if high == np.inf else f"{high:.17g}"
    return f" {left} <= {name} <= {right}"


def _wrapped(terms: list[str]) -> Iterator[str]:
    for k in range(0, len(terms), _WIDTH):
        yield "  " + " ".join(terms[k : k + _WIDTH])


def _products(upper: sp.coo_array, x: list[str]) -> Iterator[str]:
    """Return the terms of Σ u_ij x_i x_j, i ≤ j."""
    for i, j, v in zip(upper.row, upper.col, upper.data, strict=True):
        yield f"{signed_text(v)} {x[i]} ^2" if i == j else f"{signed_text(v)} {x[i]} * {x[j]}"


#: The format, which `models.export.file_formats` finds.
FORMAT = _LP()
