"""ARFF as Weka reads it: a tokenizer of lines, declarations of attributes, dense and sparse rows.

Tokens are separated by commas and blanks, a % outside quotes begins a comment, and a ? outside quotes is a missing value. Values
of nominal attributes are those that are declared. KEEL's ranges (``integer[0,9]``) and its lines ``@inputs`` and ``@outputs`` are
read. Rows with weights are read with a warning where the weights differ from 1: an instance has none.
"""

from __future__ import annotations

import re
import warnings
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import NamedTuple

from ...errors import DataError, MarginoptWarning
from ..arrays import as_number
from .tables import Kind, Table, check_ragged, lines_of

__all__ = ["parse_arff"]

#: Digits of the index of a column, zeros in front included: Python reads no number of 5,000.
_DIGITS = 18
_BLANK = r"[\x00-\x20]*"
_TOKEN = re.compile(
    _BLANK + r"""(?:(?P<quoted>'(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*")|(?P<word>[^\x00-\x20,%{}'"]+)|(?P<mark>[,{}]))"""
)
_END = re.compile(_BLANK + r"(?:%.*)?", re.DOTALL)
_ESCAPES = {"n": "\n", "r": "\r", "t": "\t", "b": "\b", "f": "\f", "a": "\a", "v": "\v"}
_NUMERIC = re.compile(r"(?:numeric|real|integer)\s*(?:\[.*\])?", re.IGNORECASE)
_DATE = re.compile(r"date(?:\s.*)?", re.IGNORECASE)


class _Token(NamedTuple):
    """A word, a quoted text or one of the marks ``, { }``, with its place in the line."""

    text: str
    kind: str
    start: int
    stop: int

    @property
    def value(self) -> str | None:
        """The text; None for a missing value."""
        return None if self.kind == "word" and self.text == "?" else self.text


def _tokens(line: str, place: str) -> list[_Token]:
    """Tokens of a line, without its comment."""
    tokens: list[_Token] = []
    at = 0
    while (match := _TOKEN.match(line, at)) is not None:
        kind = str(match.lastgroup)
        start, at = match.start(kind), match.end()
        if tokens and "mark" not in (kind, tokens[-1].kind) and tokens[-1].stop == start:
            raise DataError(f"{place}: a quote inside a word: {line[tokens[-1].start : at][:60]!r}; quote the whole value")
        text = _unquote(match[kind]) if kind == "quoted" else match[kind]
        tokens.append(_Token(text, kind, start, at))
    if _END.fullmatch(line, at) is None:
        raise DataError(f"{place}: a quote that does not close: {line[at:].strip()[:60]!r}")
    return tokens


def _unquote(text: str) -> str:
    return re.sub(r"\\(.)", lambda match: _ESCAPES.get(match[1], match[1]), text[1:-1], flags=re.DOTALL)


def _groups(tokens: list[_Token], place: str) -> list[list[_Token]]:
    """Tokens between commas; a comma behind the last is passed over."""
    groups: list[list[_Token]] = [[]]
    for token in tokens:
        if token.kind == "mark" and token.text == ",":
            groups.append([])
        elif token.kind == "mark":
            raise DataError(f"{place}: {token.text!r} stands where a value is needed; quote values that hold it")
        else:
            groups[-1].append(token)
    if len(groups) > 1 and not groups[-1]:
        groups.pop()
    if not all(groups):
        raise DataError(f"{place}: an empty cell; a missing value is written ?")
    return groups


def _joined(group: list[_Token], line: str, place: str) -> str | None:
    """The value of one group: its token, or its words with the blanks between them."""
    if len(group) == 1:
        return group[0].value
    if any(token.kind == "quoted" for token in group):
        raise DataError(f"{place}: a comma is missing beside {group[0].text[:40]!r}")
    return line[group[0].start : group[-1].stop]


@dataclass
class _Attribute:
    """A declared column: its name, kind, the values of a nominal one, and what a sparse row leaves out of it."""

    name: str
    kind: Kind
    values: dict[str, None] | None = None
    default: str | None = "0"

    def check(self, value: str | None, place: str) -> str | None:
        """Return the value, if it is declared."""
        if value is None or self.values is None or value in self.values:
            return value
        shown = ", ".join(list(self.values)[:8]) + (", ..." if len(self.values) > 8 else "")
        raise DataError(f"{place}: {value!r} is not one of {{{shown}}}, the declared values of {self.name!r}")


@dataclass
class _Header:
    """Declarations of a file."""

    where: str
    attributes: list[_Attribute] = field(default_factory=list)
    roles: dict[str, list[str]] = field(default_factory=dict)

    def take(self, line: str, place: str) -> bool:
        """Read one declaration; True where the data begin."""
        first = line.split(None, 1)[0]
        keyword, rest = first.lower(), line[len(first) :]
        if keyword == "@attribute":
            self._attribute(rest, place)
        elif keyword in ("@inputs", "@input", "@outputs", "@output"):
            tokens = _tokens(rest, place)
            names = [token.text for group in _groups(tokens, place) for token in group] if tokens else []
            self.roles.setdefault(keyword.rstrip("s"), []).extend(names)
        elif keyword == "@data" and not _tokens(rest, place):
            return True
        elif keyword != "@relation":
            raise DataError(f"{place}: not an ARFF declaration: {line[:60]!r}")
        return False

    def _attribute(self, rest: str, place: str) -> None:
        tokens = _tokens(rest, place)
        if len(tokens) < 2 or tokens[0].kind == "mark":
            raise DataError(f"{place}: an attribute needs a name and a type: {('@attribute' + rest)[:60]!r}")
        name = tokens[0].text
        if any(attribute.name == name for attribute in self.attributes):
            raise DataError(f"{place}: a second attribute named {name!r}")
        if tokens[1].text == "{" and tokens[1].kind == "mark":
            values = _declared(name, tokens, rest, place)
            self.attributes.append(_Attribute(name, "cell", values, next(iter(values))))
            return
        kind = rest[tokens[1].start : tokens[-1].stop]
        if _NUMERIC.fullmatch(kind):
            self.attributes.append(_Attribute(name, "cell"))
        elif kind.lower() == "string":
            self.attributes.append(_Attribute(name, "string", default=None))
        elif _DATE.fullmatch(kind):
            self.attributes.append(_Attribute(name, "date"))
        else:
            raise DataError(f"{place}: attribute {name!r} has type {kind!r}; numeric and nominal ones can be used")

    def table(self, rows: list[list[str | None]], lines: list[int]) -> Table:
        """The table of the rows, with KEEL's inputs and outputs."""
        names = tuple(attribute.name for attribute in self.attributes)
        for name in (name for role in self.roles.values() for name in role):
            if name not in names:
                raise DataError(f"{self.where}: @inputs or @outputs name {name!r}, which is no attribute")
        kinds = {j: attribute.kind for j, attribute in enumerate(self.attributes) if attribute.kind != "cell"}
        outputs = [names.index(name) for name in self.roles.get("@output", [])]
        if "@input" in self.roles:
            used = {names.index(name) for name in self.roles["@input"]} | set(outputs)
            kinds |= {j: "unused" for j in range(len(names)) if outputs and j not in used}
        return Table(self.where, names, rows, lines, kinds, tuple(outputs))


def _declared(name: str, tokens: list[_Token], rest: str, place: str) -> dict[str, None]:
    """The values of a nominal attribute in their order."""
    if tokens[-1].text != "}" or tokens[-1].kind != "mark" or len(tokens) < 4:
        raise DataError(f"{place}: the values of {name!r} are not closed by '}}': {rest.strip()[:60]!r}")
    groups = _groups(tokens[2:-1], place)
    if len(groups) == 1:  # blanks between the values
        groups = [[token] for token in groups[0]]
    values = [_joined(group, rest, place) for group in groups]
    known = [value for value in values if value is not None]
    numbers = [as_number(value) for value in known]
    alike = len({value.strip() for value in known}) < len(values)
    if alike or (None not in numbers and len(set(numbers)) < len(numbers)):
        raise DataError(f"{place}: the values of {name!r} must differ, as words without blanks around them and as numbers")
    return dict.fromkeys(known)


@dataclass
class _Rows:
    """Rows of the data section."""

    attributes: list[_Attribute]
    rows: list[list[str | None]] = field(default_factory=list)
    lines: list[int] = field(default_factory=list)
    weighted: int = 0

    def take(self, line: str, number: int, where: str) -> None:
        place = f"{where}, line {number}"
        tokens = _tokens(line, place)
        first = tokens[0].text == "{" and tokens[0].kind == "mark"
        marks = [k for k, token in enumerate(tokens) if token.kind == "mark" and token.text in "{}"]
        close = marks[1] if first and len(marks) > 1 and tokens[marks[1]].text == "}" else None
        if first and close is None:
            raise DataError(f"{place}: a sparse row must close with '}}'")
        stop = next((k for k in marks if close is None or k > close), len(tokens))
        self._weight(tokens[stop:], number, place)
        cells = self._sparse(tokens[1:close], line, place) if close is not None else self._dense(tokens[:stop], line, place)
        if close is not None and any(token.text != "," or token.kind != "mark" for token in tokens[close + 1 : stop]):
            raise DataError(f"{place}: values behind a sparse row: {line[tokens[close].stop :].strip()[:60]!r}")
        checked = zip(self.attributes, cells, strict=False)
        values = [attribute.check(cell, place) for attribute, cell in checked]
        self.rows.append(values + cells[len(values) :])
        self.lines.append(number)

    def _weight(self, tokens: list[_Token], number: int, place: str) -> None:
        """The weight ``{5}`` behind a row."""
        if not tokens:
            return
        shape = [token.text if token.kind == "mark" else token.kind for token in tokens]
        weight = as_number(tokens[1].text) if shape == ["{", "word", "}"] else None
        if weight is None or weight < 0:
            raise DataError(f"{place}: a weight in braces must end the row: {''.join(token.text for token in tokens)[:60]!r}")
        if weight != 1 and not self.weighted:
            self.weighted = number

    def _dense(self, tokens: list[_Token], line: str, place: str) -> list[str | None]:
        groups = _groups(tokens, place)
        single = [token for group in groups for token in group]
        if len(groups) != len(self.attributes) == len(single):  # blanks or tabs between the values
            return [token.value for token in single]
        return [_joined(group, line, place) for group in groups]

    def _sparse(self, tokens: list[_Token], line: str, place: str) -> list[str | None]:
        values: dict[int, str | None] = {}
        for group in _groups(tokens, place) if tokens else ():
            index = group[0].text
            if group[0].kind != "word" or not re.fullmatch(rf"[0-9]{{1,{_DIGITS}}}", index) or len(group) < 2:
                raise _no_entry(group, line, place, len(self.attributes))
            j = int(index)
            if j >= len(self.attributes):
                raise _no_entry(group, line, place, len(self.attributes))
            if j in values:
                raise DataError(f"{place}: a second value of column {j}")
            values[j] = _joined(group[1:], line, place)
        missing = next((a.name for j, a in enumerate(self.attributes) if a.default is None and j not in values), None)
        if missing is not None:
            raise DataError(f"{place}: a sparse row leaves out the text {missing!r}")
        return [values.get(j, attribute.default) for j, attribute in enumerate(self.attributes)]


def _no_entry(group: list[_Token], line: str, place: str, width: int) -> DataError:
    return DataError(f"{place}: {line[group[0].start : group[-1].stop][:60]!r} is not an index below {width} and a value")


def parse_arff(text: str, where: str) -> Table:
    """Parse ARFF: dense or sparse rows, quoted names and values; comments and blank lines are skipped.

    Raises
    ------
    DataError
        A line that is not ARFF, no attributes, no data section, ragged rows, values that are not declared, attributes of one
        name or of a type that is not read, or a sparse index out of range.
    """
    header = _Header(where)
    numbered = _meaningful(text)
    begun = any(header.take(line, f"{where}, line {number}") for number, line in numbered)
    if not header.attributes or not begun:
        lacking = "no @data section" if header.attributes else "no @attribute lines"
        raise DataError(f"{where} is not ARFF: it has {lacking}")
    data = _Rows(header.attributes)
    for number, line in numbered:
        data.take(line, number, where)
    check_ragged(where, data.rows, data.lines, len(header.attributes))
    if data.weighted:
        warnings.warn(f"{where}, line {data.weighted}: weights of rows are passed over", MarginoptWarning, stacklevel=2)
    return header.table(data.rows, data.lines)


def _meaningful(text: str) -> Iterator[tuple[int, str]]:
    """Numbers and text of lines that hold more than blanks and a comment."""
    for number, raw in enumerate(lines_of(text), 1):
        line = raw.strip("".join(map(chr, range(33))))
        if line and not line.startswith("%"):
            yield number, line
