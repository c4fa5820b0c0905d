"""The text of an LP file: its sections, and the numbers, names and signs in each, one after the other."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple, TypeAlias

from ....errors import DataError
from .formats import Source

__all__ = ["REFUSED", "RESERVED", "Line", "Side", "Words", "sections"]

_LEAST, _MOST = ("minimize", "minimise", "minimum", "min"), ("maximize", "maximise", "maximum", "max")
#: What a form does not hold, under the words that begin its section.
REFUSED = {
    "semi-continuous variables": ("semi-continuous", "semi", "semis"),
    "special ordered sets": ("sos", "sos1", "sos2"),
    "general constraints": ("general constraints", "general constraint", "gencons"),
    "piecewise-linear objectives": ("pwlobj",),
    "several objectives": tuple(f"{sense} multi-objectives" for sense in (*_LEAST, *_MOST)),
    "scenarios": ("scenario", "scenarios"),
}
#: Lazy constraints are rows like others; user cuts hold at every integer point that is feasible without them.
_ROWS = ("subject to", "such that", "st", "s.t.", "st.", "lazy constraints", "user cuts")
_SECTIONS = {
    **dict.fromkeys(_LEAST, "least"), **dict.fromkeys(_MOST, "most"), **dict.fromkeys(_ROWS, "rows"),
    **dict.fromkeys(("bounds", "bound"), "bounds"),
    **dict.fromkeys(("general", "generals", "gen", "integer", "integers", "int"), "integer"),
    **dict.fromkeys(("binary", "binaries", "bin"), "binary"),
    **{word: what for what, words in REFUSED.items() for word in words}, "end": "end",
}  # fmt: skip
#: Names that a file must not have: they begin a section, or are numbers or bounds.
RESERVED = frozenset({*_SECTIONS, "free", "inf", "infinity", "nan"})

_ANY_WORD = "|".join(re.escape(word).replace(r"\ ", r"\s+") for word in sorted(_SECTIONS, key=len, reverse=True) if word != "end")
#: A section that begins with a name or a number on the line of its word.
_INLINE = re.compile(rf"({_ANY_WORD})\s+([^\s:<>=+*^/\]-].*)", re.IGNORECASE)
#: The objective comes first, so that a sign or a bracket there is no term of something that goes on.
_FIRST = re.compile(rf"({'|'.join((*_LEAST, *_MOST))})\s+([^\s:].*)", re.IGNORECASE)

_SENSES = {"<=": "<=", "=<": "<=", "<": "<=", ">=": ">=", "=>": ">=", ">": ">=", "=": "=", "==": "="}
_MARKS = r"!\"#$%&(),;?@{}~'`|"
#: A name, with an index in brackets as Gurobi and JuMP write it; the brackets of a quadratic part stand alone.
_NAME = rf"(?:[^\W\d]|[{_MARKS}])[\w.{_MARKS}/]*(?:\[[^\[\]\s]*\])*"
_WORD = re.compile(
    rf"(?P<number>(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?|inf(?:inity)?(?=[\s:<>=+*^\]-]|$))|(?P<name>{_NAME})"
    r"|(?P<sign>->|<=|>=|=<|=>|==|[<>=+\-*^/:\[\]])|(?P<other>\S)",
    re.IGNORECASE,
)


#: A line and its number in the file.
Line: TypeAlias = tuple[int, str]


def sections(source: Source) -> Iterator[tuple[str, list[Line]]]:
    """Each section ("least" or "most" for the objective, "rows", "bounds", "integer", "binary") that is not empty.

    Raises
    ------
    DataError
        No objective, text before the first section, or no ``end``: a file that was cut.
    """
    current, lines, found = "", list[Line](), {""}
    for number, raw in enumerate(source.lines(), 1):
        line = raw.split("\\", 1)[0].strip()
        section, line = _head(line, current)
        if section:
            if lines or current in ("least", "most"):
                yield current, lines
            current, lines = section, []
            found.add(section)
        if line and current in ("", "end"):
            source.line = number
            raise DataError(f"text outside every section: {line[:60]!r}")
        if line:
            lines.append((number, line))
    if "end" not in found or found.isdisjoint(("least", "most")):
        raise DataError("it has no objective, or ends before its 'end'")


def _head(line: str, current: str) -> tuple[str, str]:
    """The section that a line begins, "" where it begins none, and what else is on the line."""
    if whole := _SECTIONS.get(" ".join(line.lower().split())):
        return whole, ""
    inline = (_INLINE if current else _FIRST).fullmatch(line)
    return ("", line) if inline is None else (_SECTIONS[" ".join(inline[1].lower().split())], inline[2])


class Word(NamedTuple):
    """A number, a name or a sign, and the line that it is in."""

    text: str
    kind: str
    line: int


class Side(NamedTuple):
    """The side that an expression is compared with: <=, >= or =, and a number."""

    sense: str
    value: float

    @property
    def turned(self) -> str:
        """The sense as it reads from the other side."""
        return {"<=": ">=", ">=": "<=", "=": "="}[self.sense]


class Words:
    """The words of a section, taken one after the other; a fault is reported in the line of the last that was taken."""

    def __init__(self, lines: list[Line], source: Source) -> None:
        self._source, self._at = source, 0
        self._words = []
        for number, line in lines:
            for match in _WORD.finditer(line):
                if match.lastgroup == "other":
                    source.line = number
                    raise DataError(f"a sign that is not understood: {line[match.start() :][:20]!r}")
                self._words.append(Word(match.group(), match.lastgroup or "", number))

    def ahead(self, by: int = 0) -> Word:
        """A word that comes; of no kind behind the last."""
        at = self._at + by
        return self._words[at] if at < len(self._words) else Word("", "", 0)

    def take(self) -> Word:
        """The next word."""
        word = self.ahead()
        self._at += 1
        self._source.line = word.line or self._source.line
        return word

    def taken(self, *texts: str) -> bool:
        """Consume these words if they come next, and return whether they did."""
        matched = all(self.ahead(k).text.lower() == text for k, text in enumerate(texts))
        if matched:
            for _ in texts:
                self.take()
        return matched

    def sign(self) -> float | None:
        """The product of the signs that come, None where there is none."""
        sign = None
        while self.ahead().text in ("+", "-"):
            sign = (1.0 if sign is None else sign) * (1.0 if self.take().text == "+" else -1.0)
        return sign

    def factor(self) -> bool:
        """Tell if another factor comes, behind * or, as SCIP writes products, behind a blank; the * is taken."""
        return (self.taken("*") or bool(self.ahead().text)) and self.ahead().kind == "name"

    def number(self) -> float | None:
        """A number without a sign, None where none comes."""
        return float(self.take().text) if self.ahead().kind == "number" else None

    def label(self) -> str:
        """The name before a colon, "" where there is none."""
        if self.ahead(1).text != ":":
            return ""
        label = self.take().text
        self.take()
        return label

    def side_before(self) -> Side | None:
        """A number and the sense behind it, as it reads from the other side; None, and nothing taken, where none comes."""
        at = self._at
        value, sense = self._signed(), self._sense()
        if value is None or sense is None:
            self._at = at
            return None
        return Side(Side(sense, value).turned, value)

    def side_behind(self) -> Side | None:
        """A sense and the number behind it, None where no sense comes."""
        sense = self._sense()
        if sense is None:
            return None
        value = self._signed()
        if value is None:
            raise DataError(f"no number behind {sense}, but {self.ahead().text!r}")
        return Side(sense, value)

    def _signed(self) -> float | None:
        """A number with its signs, which may stand apart."""
        sign, number = self.sign(), self.number()
        return number if number is None or sign is None else sign * number

    def _sense(self) -> str | None:
        return _SENSES[self.take().text] if self.ahead().text in _SENSES else None
