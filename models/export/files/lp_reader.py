"""The reader of LP files, as CPLEX, Gurobi, HiGHS, SCIP, Pyomo and people write them.

A row ends with the number on its right, not with its line: every term but the first has a sign, and so rows need no names. What
bounds and sections say of a variable holds together: a binary variable keeps the bounds that it has. A number among the terms
of a row is refused, since readers pass it over.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from itertools import count

import numpy as np
import scipy.sparse as sp

from ....errors import DataError
from ...arrays import BoolArray, FloatArray
from ...importing.rows import IndicatorRow
from ..shared.programs import INFINITE, FlatProgram, cone_rows, one_sided, symmetric, two_sided
from .formats import Source
from .lp_text import REFUSED, Side, Words, sections

__all__ = ["read_program"]


@dataclass
class _Expression:
    """A sum of terms."""

    linear: dict[int, float] = field(default_factory=dict)
    quadratic: list[tuple[int, int, float]] = field(default_factory=list)
    constant: float = 0.0

    @property
    def empty(self) -> bool:
        """No variable."""
        return not self.linear and not self.quadratic


@dataclass
class _Interval:
    """Between what the sides of a row or a bound leave it."""

    low: float = -np.inf
    high: float = np.inf

    def cut(self, *sides: Side | None) -> None:
        """Take the sides that a line gives."""
        given = [side for side in sides if side is not None]
        if len(given) == 2 and {side.sense for side in given} != {"<=", ">="}:
            raise DataError("two sides that do not go together")
        for sense, value in given:
            if sense != "<=":
                self.low = value
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

    source: Source
    index: dict[str, int] = field(default_factory=dict)
    objective: _Expression = field(default_factory=_Expression)
    maximise: bool = False
    held: list[_Row] = field(default_factory=list)
    limits: dict[int, _Interval] = field(default_factory=dict)
    integers: set[int] = field(default_factory=set)
    binaries: set[int] = field(default_factory=set)

    def least(self, words: Words) -> None:
        words.label()
        self.objective = self._expression(words)
        if words.ahead().text:
            raise DataError(f"an objective that is not understood, at {words.take().text!r}")

    def most(self, words: Words) -> None:
        self.least(words)
        self.maximise = True

    def rows(self, words: Words) -> None:
        while words.ahead().text:
            self.held.append(self._row(words))

    def bounds(self, words: Words) -> None:
        while words.ahead().text:
            before, name = words.side_before(), words.take()
            if name.kind != "name":
                raise DataError(f"a bound that is not understood, at {name.text!r}")
            j = self._variable(name.text)
            if before is None and words.taken("free"):
                if self.limits.setdefault(j, _Interval()) != _Interval():
                    raise DataError(f"{name.text} is free and has bounds: readers differ in which of them counts")
                continue
            found = self.limits.setdefault(j, _Interval(low=0.0))
            behind = words.side_behind()
            if before is None and behind is None:
                raise DataError(f"a bound that is not understood, at {name.text!r}")
            found.cut(before, behind)

    def integer(self, words: Words) -> set[int]:
        found = set()
        while words.ahead().text:
            name = words.take()
            if name.kind != "name":
                raise DataError(f"{name.text!r} is no name of a variable")
            found.add(self._variable(name.text))
        self.integers |= found
        return found

    def binary(self, words: Words) -> None:
        self.binaries |= self.integer(words)

    def _variable(self, name: str) -> int:
        return self.index.setdefault(name, len(self.index))

    def _expression(self, words: Words) -> _Expression:
        """Terms, constants and quadratic parts, up to a word that is none."""
        found = _Expression()
        first = True
        while (sign := words.sign()) is not None or first:
            number = words.number()
            factor = _finite((1.0 if sign is None else sign) * (1.0 if number is None else number))
            if number is not None and words.ahead(1).kind == "name":
                words.taken("*")
            if words.ahead().kind == "name" and words.ahead(1).text != ":":
                j = self._variable(words.take().text)
                found.linear[j] = found.linear.get(j, 0.0) + factor
            elif number is not None:
                found.constant += factor
            elif words.taken("["):
                found.quadratic += self._products(words, factor)
            elif sign is not None:
                raise DataError(f"a sign without a term before {words.take().text!r}")
            first = False
        return found

    def _products(self, words: Words, factor: float) -> list[tuple[int, int, float]]:
        """The terms of a quadratic part behind its bracket, with their coefficients in ½x'Px."""
        found = list[tuple[int, int, float]]()
        while not words.taken("]"):
            sign, number = words.sign(), words.number()
            if number is not None:
                words.taken("*")
            name = words.take()
            j = self._variable(name.text)
            if name.kind == "name" and words.taken("^", "2"):
                other = j
            elif name.kind == "name" and words.factor():
                other = self._variable(words.take().text)
            else:
                raise DataError(f"a quadratic term that is neither a square nor a product: {name.text} {words.ahead().text}")
            if found and sign is None:
                raise DataError(f"a quadratic term without a sign before {name.text!r}")
            value = _finite(factor * (1.0 if sign is None else sign) * (1.0 if number is None else number))
            found.append((j, other, value if j == other else 0.5 * value))
        if words.taken("/", "2"):
            return found
        if words.ahead().text == "/":
            raise DataError("a quadratic part ends with ']' or with '] / 2'")
        return [(i, j, 2.0 * value) for i, j, value in found]

    def _row(self, words: Words) -> _Row:
        """An expression with a side on its right, on its left, or on both, perhaps behind a switch."""
        name = words.label()
        shown = name or f"number {len(self.held) + 1}"
        line, switch = words.ahead().line, self._switch(words)
        before = words.side_before()
        expression = self._expression(words)
        behind = words.side_behind()
        follows, last = words.ahead(), words.ahead(-1)
        if follows.text == "->":
            raise DataError(f"an indicator that is not understood: row {shown}; it must begin with a binary variable = 0 or 1")
        if expression.empty and before is not None and behind is None and before.value == 0.0:  # 0 ≤ 3: no term, and a side
            before, expression.constant = Side(before.turned, expression.constant), 0.0
        if before is None and behind is None:
            raise DataError(f"a row without a side: {shown}")
        if expression.constant:
            raise DataError(f"a number stands among the terms of the row {shown}; it belongs to the side")
        if follows.line == last.line and words.ahead(1).text != ":":
            raise DataError(f"variables stand left of the side alone: row {shown}, at {follows.text!r}")
        sides = _Interval()
        sides.cut(before, behind)
        if switch is not None and expression.quadratic:
            raise DataError(f"indicators of quadratic rows are not read: row {shown}")
        return _Row(name, expression, sides, line, switch)

    def _switch(self, words: Words) -> tuple[int, int] | None:
        """Take ``b = 1 ->``, where it comes: the variable and its value."""
        if words.ahead().kind != "name" or words.ahead(1).text not in ("=", "==") or words.ahead(3).text != "->":
            return None
        name = words.take()
        words.take()
        value = words.number()
        words.take()
        if value not in (0.0, 1.0):
            raise DataError(f"an indicator asks for {name.text} = 0 or 1")
        return self._variable(name.text), int(value)

    def program(self) -> FlatProgram:
        """Return the program of all sections."""
        n, m = len(self.index), len(self.held)
        entries = [(i, j, v) for i, row in enumerate(self.held) for j, v in row.terms.linear.items() if v != 0]
        A = sp.csr_array(
            ([e[2] for e in entries], ([e[0] for e in entries], [e[1] for e in entries])), shape=(m, n), dtype=np.float64
        )
        q, lower, upper, integer = np.zeros(n), np.zeros(n), np.full(n, np.inf), np.zeros(n, dtype=bool)
        q[list(self.objective.linear)] = list(self.objective.linear.values())
        lower[list(self.limits)] = [limit.low for limit in self.limits.values()]
        upper[list(self.limits)] = [limit.high for limit in self.limits.values()]
        binary = sorted(self.binaries)
        lower[binary], upper[binary] = np.maximum(lower[binary], 0.0), np.minimum(upper[binary], 1.0)
        integer[sorted(self.integers)] = True
        sides = np.array([(row.sides.low, row.sides.high) for row in self.held], dtype=np.float64).reshape(-1, 2)
        left, right = (
            np.where(sides[:, 0] <= -INFINITE, -np.inf, sides[:, 0]),
            np.where(sides[:, 1] >= INFINITE, np.inf, sides[:, 1]),
        )
        names = self._row_names()
        squares = [
            (square, row.line)
            for i, row in enumerate(self.held)
            if (Q := symmetric(row.terms.quadratic, n)) is not None
            for square in two_sided(names[i], Q, A[[i]].toarray().ravel(), float(left[i]), float(right[i]))
        ]
        cones = cone_rows(squares, lower, self.source.at)
        indicators = tuple(self._indicators(A, left, right, names, integer & (lower >= 0) & (upper <= 1)))
        plain = [i for i, row in enumerate(self.held) if row.switch is None and not row.terms.quadratic]
        A, b, equal, rows = one_sided(sp.csr_array(A[plain]), left[plain], right[plain], [names[i] for i in plain])
        return FlatProgram(
            symmetric(self.objective.quadratic, n), q, self.objective.constant, A, b, equal, lower, upper, integer,
            tuple(self.index), rows, self.maximise, INFINITE, indicators, cones,
        )  # fmt: skip

    def _indicators(
        self, A: sp.csr_array, left: FloatArray, right: FloatArray, names: list[str], binary: BoolArray
    ) -> Iterator[IndicatorRow]:
        for i, row in enumerate(self.held):
            if row.switch is not None:
                j, active = row.switch
                self.source.at(row.line)
                if not binary[j]:
                    raise DataError(f"the switch of the indicator {names[i]}, {[*self.index][j]}, must be a binary variable")
                yield IndicatorRow(names[i], j, active, sp.csr_array(A[[i]]), float(left[i]), float(right[i]))

    def _row_names(self) -> list[str]:
        """Rows without a name are c and their number, as in the other readers."""
        names, numbered = {row.name for row in self.held}, []
        for number, row in enumerate(self.held, 1):
            numbered.append(row.name or next(free for k in count() if (free := f"c{number}" + "_" * k) not in names))
        return numbered


def _finite(value: float) -> float:
    """Return a coefficient, which must be finite."""
    if not np.isfinite(value):
        raise DataError("a coefficient must be finite")
    return value


#: What takes each section.
_TAKE: dict[str, Callable[[_Parser, Words], object]] = {
    "least": _Parser.least, "most": _Parser.most, "rows": _Parser.rows, "bounds": _Parser.bounds, "integer": _Parser.integer,
    "binary": _Parser.binary,
}  # fmt: skip


def read_program(source: Source) -> FlatProgram:
    """The program of a file.

    Raises
    ------
    DataError
        A file that is cut or not understood, or one with semi-continuous variables, special ordered sets, general constraints,
        or quadratic rows that are not convex; says which and where.
    """
    parser = _Parser(source)
    objectives = 0
    for section, lines in sections(source):
        objectives += section in ("least", "most")
        if objectives > 1:
            raise DataError("a second objective")
        if section in REFUSED:
            source.line = lines[0][0]
            raise DataError(f"{section} are not read: {lines[0][1][:60]}")
        _TAKE[section](parser, Words(lines, source))
    return parser.program()
