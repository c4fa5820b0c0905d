"""The reader of LP files, as CPLEX, Gurobi, HiGHS, SCIP, Pyomo and people write them.

A row ends with the number on its right, not with its line: every term but the first has a sign, and so rows need no names.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from itertools import count

import numpy as np
import scipy.sparse as sp

from ....errors import DataError
from ..shared.programs import INFINITE, FlatProgram, one_sided, symmetric
from .formats import Source
from .lp_text import REFUSED, Side, Words, sections

__all__ = ["read_program"]


@dataclass
class _Expression:
    """A sum of terms."""

    linear: dict[int, float] = field(default_factory=dict)
    quadratic: list[tuple[int, int, float]] = field(default_factory=list)
    constant: float = 0.0


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
class _Parser:
    """Collects the sections of an LP file, each by one of its methods."""

    index: dict[str, int] = field(default_factory=dict)
    objective: _Expression = field(default_factory=_Expression)
    maximise: bool = False
    expressions: list[_Expression] = field(default_factory=list)
    sides: list[_Interval] = field(default_factory=list)
    names: list[str] = field(default_factory=list)
    limits: dict[int, _Interval] = field(default_factory=dict)
    integers: set[int] = field(default_factory=set)

    def least(self, words: Words) -> None:
        words.label()
        self.objective = self._expression(words, quadratic=True)
        if words.ahead().text:
            raise DataError(f"an objective that is not understood, at {words.take().text!r}")

    def most(self, words: Words) -> None:
        self.least(words)
        self.maximise = True

    def rows(self, words: Words) -> None:
        while words.ahead().text:
            self.names.append(words.label())
            self._row(words)

    def bounds(self, words: Words) -> None:
        while words.ahead().text:
            before, name = words.side_before(), words.take()
            if name.kind != "name":
                raise DataError(f"a bound that is not understood, at {name.text!r}")
            found = self.limits.setdefault(self._variable(name.text), _Interval(low=0.0))
            if before is None and words.taken("free"):
                found.low, found.high = -np.inf, np.inf
                continue
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
        self.limits |= {j: _Interval(0.0, 1.0) for j in self.integer(words)}

    def _variable(self, name: str) -> int:
        return self.index.setdefault(name, len(self.index))

    def _expression(self, words: Words, *, quadratic: bool = False) -> _Expression:
        """Terms, constants and quadratic parts, up to a word that is none."""
        found = _Expression()
        first = True
        while (sign := words.sign()) is not None or first:
            number = words.number()
            factor = (1.0 if sign is None else sign) * (1.0 if number is None else number)
            if words.ahead().kind == "name" and words.ahead(1).text != ":":
                j = self._variable(words.take().text)
                found.linear[j] = found.linear.get(j, 0.0) + factor
            elif number is not None:
                found.constant += factor
            elif words.taken("["):
                if not quadratic:
                    raise DataError(f"quadratic rows are not read: row {self._row_name()}")
                found.quadratic += self._products(words, factor)
            elif sign is not None:
                raise DataError(f"a sign without a term before {words.take().text!r}")
            first = False
        return found

    def _products(self, words: Words, factor: float) -> list[tuple[int, int, float]]:
        """The terms of a quadratic part behind its bracket, with their coefficients in ½x'Px."""
        found = []
        while not words.taken("]"):
            sign, number, name = words.sign(), words.number(), words.take()
            j = self._variable(name.text)
            if name.kind == "name" and words.taken("^", "2"):
                other = j
            elif name.kind == "name" and words.taken("*") and words.ahead().kind == "name":
                other = self._variable(words.take().text)
            else:
                raise DataError(f"a quadratic term that is neither a square nor a product: {name.text} {words.ahead().text}")
            value = factor * (1.0 if sign is None else sign) * (1.0 if number is None else number)
            found.append((j, other, value if j == other else 0.5 * value))
        if not words.taken("/", "2"):
            raise DataError("a quadratic part must end with '] / 2'")
        return found

    def _row(self, words: Words) -> None:
        """An expression with a side on its right, on its left, or on both."""
        before = words.side_before()
        expression = self._expression(words)
        behind = words.side_behind()
        follows, last = words.ahead(), words.ahead(-1)
        if follows.text == "->":
            raise DataError(f"indicator constraints are not read: row {self._row_name()}")
        if not expression.linear or (before is None and behind is None):
            raise DataError(f"a row without a side or without variables: {self._row_name()}")
        if follows.line == last.line and words.ahead(1).text != ":":
            raise DataError(f"variables stand left of the side alone: row {self._row_name()}, at {follows.text!r}")
        found = _Interval()
        found.cut(before, behind)
        found.low, found.high = found.low - expression.constant, found.high - expression.constant
        self.expressions.append(expression)
        self.sides.append(found)

    def program(self) -> FlatProgram:
        n, m = len(self.index), len(self.sides)
        entries = [(i, j, v) for i, row in enumerate(self.expressions) for j, v in row.linear.items() if v != 0]
        A = sp.csr_array(
            ([e[2] for e in entries], ([e[0] for e in entries], [e[1] for e in entries])), shape=(m, n), dtype=np.float64
        )
        q, lower, upper, integer = np.zeros(n), np.zeros(n), np.full(n, np.inf), np.zeros(n, dtype=bool)
        q[list(self.objective.linear)] = list(self.objective.linear.values())
        lower[list(self.limits)] = [limit.low for limit in self.limits.values()]
        upper[list(self.limits)] = [limit.high for limit in self.limits.values()]
        integer[sorted(self.integers)] = True
        left, right = (np.array([getattr(side, name) for side in self.sides], dtype=np.float64) for name in ("low", "high"))
        A, b, equal, names = one_sided(A, left, right, self._row_names())
        return FlatProgram(
            symmetric(self.objective.quadratic, n), q, self.objective.constant, A, b, equal, lower, upper, integer,
            tuple(self.index), names, self.maximise, INFINITE,
        )  # fmt: skip

    def _row_name(self) -> str:
        """Of the row that is being read."""
        return self.names[-1] or f"number {len(self.names)}"

    def _row_names(self) -> list[str]:
        """Rows without a name are c and their number, as in the other readers."""
        given, found = set(self.names), []
        for number, name in enumerate(self.names, 1):
            found.append(name or next(free for k in count() if (free := f"c{number}" + "_" * k) not in given))
        return found


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
        A file that is cut or not understood, or one with quadratic rows, indicators, semi-continuous variables, special ordered
        sets, general constraints; says which and where.
    """
    parser = _Parser()
    for section, lines in sections(source):
        if section in REFUSED:
            source.line = lines[0][0]
            raise DataError(f"{section} are not read: {lines[0][1][:60]}")
        _TAKE[section](parser, Words(lines, source))
    return parser.program()
