"""Parsers of the text formats ARFF and CSV (or another delimiter): from the text of a file to a `Table` of its cells.

`read_arff` and `read_csv` call them. KEEL is a repository of data sets, whose dialect of ARFF is read too.
"""

from __future__ import annotations

import csv
import io
import re
import warnings
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple, TypeAlias

from ..errors import DataError, MarginoptWarning, short_text
from ..files import split_lines
from .arrays import as_number
from .tables import LABEL_NAMES, MISSING, Kind, Table, index_kind


def _check_row_lengths(source: str, rows: Sequence[Sequence[object]], lines: list[int], width: int | None) -> None:
    """Raise DataError for the first row without ``width`` cells, those of the header; None: as many as the first row has."""
    for row, line in zip(rows, lines, strict=True):
        expected_width = len(rows[0]) if width is None else width
        if len(row) != expected_width:
            origin = "the first row" if width is None else "the header"
            comment = any(str(cell).startswith(("#", "%")) for cell in (*rows[0][:1], *row[:1]))
            hint = "; comments may stand above the first row alone, behind '#'" if comment else ""
            raise DataError(f"{len(row)} cells where {origin} has {expected_width}{hint}", file=source, line=line)


# ARFF as Weka reads it: a tokenizer of lines, declarations of attributes, dense and sparse rows.  Tokens are separated by
# commas and blanks, a % outside quotes begins a comment, and a ? outside quotes is a missing value. A nominal attribute has the
# declared values only. KEEL's ranges (``integer[0,9]``) and its lines ``@inputs`` and ``@outputs`` are read. Weights of rows
# are ignored, with a warning if one differs from 1, since an instance has no weights.

#: Most digits of the index of a column, leading zeros included: Python refuses numbers of more than 4,300 digits.
_DIGITS = 18
#: Blanks; a token with the blanks before it; the end of a line with its comment; escapes in quotes; types of attributes.
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
        """Return the text; None for a missing value."""
        return None if self.kind == "word" and self.text == "?" else self.text


def _tokens(line: str) -> list[_Token]:
    tokens: list[_Token] = []
    position = 0
    while (match := _TOKEN.match(line, position)) is not None:
        kind = str(match.lastgroup)
        start, position = match.start(kind), match.end()
        if tokens and "mark" not in (kind, tokens[-1].kind) and tokens[-1].stop == start:
            raise DataError(f"a quote inside a word: {short_text(line[tokens[-1].start : position][:60])}; quote the whole value")
        text = _unquote(match[kind]) if kind == "quoted" else match[kind]
        tokens.append(_Token(text, kind, start, position))
    if _END.fullmatch(line, position) is None:
        raise DataError(f"a quote that does not close: {short_text(line[position:].strip()[:60])}")
    return tokens


def _unquote(text: str) -> str:
    return re.sub(r"\\(.)", lambda match: _ESCAPES.get(match[1], match[1]), text[1:-1], flags=re.DOTALL)


def _groups(tokens: list[_Token]) -> list[list[_Token]]:
    """Return the tokens between commas; a comma after the last token is ignored."""
    groups: list[list[_Token]] = [[]]
    for token in tokens:
        if token.kind == "mark" and token.text == ",":
            groups.append([])
        elif token.kind == "mark":
            raise DataError(f"{short_text(token.text)} stands where a value is needed; quote values that hold it")
        else:
            groups[-1].append(token)
    if len(groups) > 1 and not groups[-1]:
        groups.pop()
    if not all(groups):
        raise DataError("an empty cell; a missing value is written ?")
    return groups


def _joined(group: list[_Token], line: str) -> str | None:
    """Return the value of a group: its token, or its words with the blanks between them."""
    if len(group) == 1:
        return group[0].value
    if any(token.kind == "quoted" for token in group):
        raise DataError(f"a comma is missing beside {short_text(group[0].text[:40])}")
    return line[group[0].start : group[-1].stop]


@dataclass
class _Attribute:
    """A declared column: its name, its kind, the values of a nominal one, and the value that a sparse row may leave out.

    ``default`` is None if a sparse row must state the value.
    """

    name: str
    kind: Kind
    values: dict[str, None] | None = None
    default: str | None = "0"

    def check(self, value: str | None) -> str | None:
        """Return the value; `DataError` if the column is nominal and does not declare it."""
        if value is None or self.values is None or value in self.values:
            return value
        shown = ", ".join(list(self.values)[:8]) + (", ..." if len(self.values) > 8 else "")
        raise DataError(f"{short_text(value)} is not one of {{{shown}}}, the declared values of {short_text(self.name)}")


@dataclass
class _Header:
    """The declarations above the rows: attributes, and KEEL's roles "@input" and "@output" with the names in them."""

    source_name: str
    attributes: list[_Attribute] = field(default_factory=list)
    roles: dict[str, list[str]] = field(default_factory=dict)

    def take(self, line: str) -> bool:
        """Read one declaration; return whether it is ``@data``, after which the rows begin."""
        first = line.split(None, 1)[0]
        keyword, declaration = first.lower(), line[len(first) :]
        if keyword == "@attribute":
            self._attribute(declaration)
        elif keyword in ("@inputs", "@input", "@outputs", "@output"):
            tokens = _tokens(declaration)
            names = [token.text for group in _groups(tokens) for token in group] if tokens else []
            self.roles.setdefault(keyword.rstrip("s"), []).extend(names)
        elif keyword == "@data" and not _tokens(declaration):
            return True
        elif keyword != "@relation":
            raise DataError(f"not an ARFF declaration: {short_text(line[:60])}")
        return False

    def _attribute(self, declaration: str) -> None:
        tokens = _tokens(declaration)
        if len(tokens) < 2 or tokens[0].kind == "mark":
            raise DataError(f"an attribute needs a name and a type: {short_text(('@attribute' + declaration)[:60])}")
        name = tokens[0].text
        if any(attribute.name == name for attribute in self.attributes):
            raise DataError(f"a second attribute named {short_text(name)}")
        if tokens[1].text == "{" and tokens[1].kind == "mark":
            values = _declared(name, tokens, declaration)
            self.attributes.append(_Attribute(name, "cell", values, next(iter(values))))
            return
        kind = declaration[tokens[1].start : tokens[-1].stop]
        if _NUMERIC.fullmatch(kind):
            self.attributes.append(_Attribute(name, "cell"))
        elif kind.lower() == "string":
            self.attributes.append(_Attribute(name, "string", default=None))
        elif _DATE.fullmatch(kind):
            self.attributes.append(_Attribute(name, "date"))
        else:
            raise DataError(f"attribute {short_text(name)} has type {short_text(kind)}; numeric and nominal ones can be used")

    def table(self, rows: list[list[str | None]], lines: list[int]) -> Table:
        """Return the table of the rows, with KEEL's inputs and outputs."""
        names = tuple(attribute.name for attribute in self.attributes)
        for name in (name for role in self.roles.values() for name in role):
            if name not in names:
                raise DataError(f"@inputs or @outputs name {short_text(name)}, which is no attribute", file=self.source_name)
        kinds = {j: attribute.kind for j, attribute in enumerate(self.attributes) if attribute.kind != "cell"}
        outputs = [names.index(name) for name in self.roles.get("@output", [])]
        if "@input" in self.roles:
            used = {names.index(name) for name in self.roles["@input"]} | set(outputs)
            kinds |= {j: "unused" for j in range(len(names)) if outputs and j not in used}
        return Table(self.source_name, names, rows, lines, kinds, tuple(outputs))


def _declared(name: str, tokens: list[_Token], declaration: str) -> dict[str, None]:
    if tokens[-1].text != "}" or tokens[-1].kind != "mark" or len(tokens) < 4:
        raise DataError(f"the values of {short_text(name)} are not closed by '}}': {short_text(declaration.strip()[:60])}")
    groups = _groups(tokens[2:-1])
    if len(groups) == 1:  # blanks between the values
        groups = [[token] for token in groups[0]]
    values = [_joined(group, declaration) for group in groups]
    present = [value for value in values if value is not None]
    numbers = [as_number(value) for value in present]
    alike = len({value.strip() for value in present}) < len(values)
    if alike or (None not in numbers and len(set(numbers)) < len(numbers)):
        raise DataError(f"the values of {short_text(name)} must differ, as words without blanks around them and as numbers")
    return dict.fromkeys(present)


@dataclass
class _Rows:
    """The rows read so far, with their lines; ``weighted`` is the line of the first weight other than 1, or 0."""

    attributes: list[_Attribute]
    rows: list[list[str | None]] = field(default_factory=list)
    lines: list[int] = field(default_factory=list)
    weighted: int = 0

    def take(self, line: str, number: int) -> None:
        tokens = _tokens(line)
        first = tokens[0].text == "{" and tokens[0].kind == "mark"
        marks = [k for k, token in enumerate(tokens) if token.kind == "mark" and token.text in "{}"]
        close_mark = marks[1] if first and len(marks) > 1 and tokens[marks[1]].text == "}" else None
        if first and close_mark is None:
            raise DataError("a sparse row must close with '}'")
        stop = next((k for k in marks if close_mark is None or k > close_mark), len(tokens))
        self._weight(tokens[stop:], number)
        cells = self._sparse(tokens[1:close_mark], line) if close_mark is not None else self._dense(tokens[:stop], line)
        if close_mark is not None and any(token.text != "," or token.kind != "mark" for token in tokens[close_mark + 1 : stop]):
            raise DataError(f"values behind a sparse row: {short_text(line[tokens[close_mark].stop :].strip()[:60])}")
        checked = zip(self.attributes, cells, strict=False)
        values = [attribute.check(cell) for attribute, cell in checked]
        self.rows.append(values + cells[len(values) :])
        self.lines.append(number)

    def _weight(self, tokens: list[_Token], number: int) -> None:
        """Record the line of the first weight other than 1, ``{5}`` behind a row; `DataError` for other text there."""
        if not tokens:
            return
        shape = [token.text if token.kind == "mark" else token.kind for token in tokens]
        weight = as_number(tokens[1].text) if shape == ["{", "word", "}"] else None
        if weight is None or weight < 0:
            raise DataError(f"a weight in braces must end the row: {short_text(''.join(token.text for token in tokens)[:60])}")
        if weight != 1 and not self.weighted:
            self.weighted = number

    def _dense(self, tokens: list[_Token], line: str) -> list[str | None]:
        groups = _groups(tokens)
        single = [token for group in groups for token in group]
        if len(groups) != len(self.attributes) == len(single):  # blanks or tabs between the values
            return [token.value for token in single]
        return [_joined(group, line) for group in groups]

    def _sparse(self, tokens: list[_Token], line: str) -> list[str | None]:
        values: dict[int, str | None] = {}
        for group in _groups(tokens) if tokens else ():
            index = group[0].text
            if group[0].kind != "word" or not re.fullmatch(rf"[0-9]{{1,{_DIGITS}}}", index) or len(group) < 2:
                raise _no_entry(group, line, len(self.attributes))
            j = int(index)
            if j >= len(self.attributes):
                raise _no_entry(group, line, len(self.attributes))
            if j in values:
                raise DataError(f"a second value of column {j}")
            values[j] = _joined(group[1:], line)
        missing = next((a.name for j, a in enumerate(self.attributes) if a.default is None and j not in values), None)
        if missing is not None:
            raise DataError(f"a sparse row leaves out the text {short_text(missing)}")
        return [values.get(j, attribute.default) for j, attribute in enumerate(self.attributes)]


def _no_entry(group: list[_Token], line: str, width: int) -> DataError:
    return DataError(f"{short_text(line[group[0].start : group[-1].stop][:60])} is not an index below {width} and a value")


def parse_arff(text: str, source: str) -> Table:
    """Return the table of a text in ARFF: dense or sparse rows, quoted names and values, without comments and blank lines.

    ``source`` names the file in errors.
    """
    header = _Header(source)
    numbered = _meaningful(text)
    data, in_data, number = _Rows(header.attributes), False, 0
    try:
        for number, line in numbered:
            if in_data:
                data.take(line, number)
            else:
                in_data = header.take(line)
    except DataError as error:
        raise DataError(str(error), file=source, line=number) from None
    if not header.attributes or not in_data:
        missing = "no @data section" if header.attributes else "no @attribute lines"
        raise DataError(f"{source} is not ARFF: it has {missing}", file=source)
    _check_row_lengths(source, data.rows, data.lines, len(header.attributes))
    if data.weighted:
        message = f"{source}, line {data.weighted}: weights of rows are passed over"
        warnings.warn(MarginoptWarning(message, name="weights"), stacklevel=2)
    return header.table(data.rows, data.lines)


def _meaningful(text: str) -> Iterator[tuple[int, str]]:
    """Yield number and text of the lines that hold more than blanks and a comment."""
    for number, raw in enumerate(split_lines(text), 1):
        line = raw.strip("".join(map(chr, range(33))))
        if line and not line.startswith("%"):
            yield number, line


# Delimited text.

#: Numbers with a decimal comma, and with a point.
_COMMA = re.compile(r"\s*[+-]?\d*,\d+(?:[eE][+-]?\d+)?\s*")
_POINT = re.compile(r"\s*[+-]?(?:\d[\d,]*\.\d*|\.\d+)(?:[eE][+-]?\d+)?\s*")
_QUOTED = re.compile(r'"(?:[^"]|"")*"')
#: A word, or a text in quotes, between blanks.
_WORD = re.compile(r'\s*(?:"((?:[^"]|"")*)"(?!\S)|([^\s"]\S*))')

_Cells: TypeAlias = list[str]


def parse_csv(text: str, source: str, header: bool | None = None, delimiter: str | None = None) -> Table:
    """Return the table of a delimited text. If the delimiter is no comma, numbers may have decimal commas: 1,5 for 1.5.

    Lines above the first row that begin with "#" are comments if they have another number of cells than that row. A last line of
    words behind "# " with the same number of cells, as NumPy's ``savetxt`` writes names, is a header if that row holds a number.

    Parameters
    ----------
    text, source : str
        Content of the file, and its name for messages.
    header : bool, optional
        Whether the first row holds names. By default it does if some column is a word there and numbers below, or if it names
        a label.
    delimiter : str, optional
        By default whichever of comma, semicolon, tab and bar is most frequent in the first row, or else white space.
    """
    text, first = _without_comments(text, delimiter)
    if delimiter is None:
        delimiter = max(",;\t|", key=first.count)
    rows, lines = _delimited(text, source, delimiter) if delimiter in first else _spaced(text, source)
    if delimiter != ",":
        rows = _with_points(rows)
    names = None
    if rows and (_looks_like_header(source, rows, lines) if header is None else header):
        names = tuple(rows.pop(0))
        lines.pop(0)
    _check_row_lengths(source, rows, lines, None if names is None else len(names))
    cells = [[None if cell in MISSING else cell for cell in row] for row in rows]
    return Table(source, names, cells, lines, index_kind(names))


def _without_comments(text: str, delimiter: str | None) -> tuple[str, str]:
    """Return the text with blank lines in place of the comments at its head, and its first row without quoted text."""
    lines = split_lines(text)
    heads = [k for k, line in enumerate(lines) if line.strip()]
    count = next((i for i, k in enumerate(heads) if not lines[k].lstrip().startswith("#")), None)
    first = _QUOTED.sub("", lines[heads[count or 0]]) if heads else ""
    if not count:
        return text, first
    comma = delimiter or max(",;\t|", key=first.count)

    def cells(line: str) -> list[str]:
        return _QUOTED.sub("", line).split(comma if comma in first else None)

    def words(row: list[str]) -> bool:
        return all(as_number(cell.strip()) is None for cell in row)

    for k in heads[:count]:
        line = lines[k].lstrip()
        names = line[1:].lstrip(" ") if line[1:2].isspace() else line
        if len(cells(names)) != len(cells(first)):
            lines[k] = ""
        elif names != line and words(cells(names)):  # above a row of words, which may be the header, the line is a comment
            lines[k] = names if k == heads[count - 1] and not words(cells(first)) else ""
    return "\n".join(lines), first


def _delimited(text: str, source: str, delimiter: str) -> tuple[list[_Cells], list[int]]:
    """Return the rows and the lines they begin on; blank lines are skipped, but not rows of empty cells."""
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter, strict=True)
    rows, lines, before = [], [], 0
    try:
        for row in reader:
            if len(row) > 1 or any(cell.strip() for cell in row):
                rows.append([cell.strip() for cell in row])
                lines.append(before + 1)
            before = reader.line_num
    except csv.Error as error:
        raise DataError(str(error), file=source, line=reader.line_num) from None
    return rows, lines


def _spaced(text: str, source: str) -> tuple[list[_Cells], list[int]]:
    """Return the rows of words between blanks and their lines; quotes hold blanks together."""
    rows, lines = [], []
    for number, line in enumerate(split_lines(text), 1):
        row, position = [], 0
        while (match := _WORD.match(line, position)) is not None:
            row.append(match[2] if match[1] is None else match[1].replace('""', '"').strip())
            position = match.end()
        if line[position:].strip():
            raise DataError(f"a quote that does not close: {short_text(line[position:].strip()[:60])}", file=source, line=number)
        if row:
            rows.append(row)
            lines.append(number)
    return rows, lines


def _with_points(rows: list[_Cells]) -> list[_Cells]:
    """Return rows with decimal points for commas; unchanged if a number has a point, since commas may group thousands."""
    if any(_POINT.fullmatch(cell) for row in rows for cell in row):
        return rows
    return [[cell.replace(",", ".") if _COMMA.fullmatch(cell) else cell for cell in row] for row in rows]


def _looks_like_header(source: str, rows: list[_Cells], lines: list[int]) -> bool:
    numbers = [as_number(cell) is not None for cell in rows[0]]
    if len(rows) == 1:
        return not any(numbers)
    below = [_numeric(rows[1:], j) for j in range(len(rows[0]))]
    named = [above not in MISSING and not number for above, number in zip(rows[0], numbers, strict=True)]
    if any(name and numeric for name, numeric in zip(named, below, strict=True)):
        if any(number and numeric for number, numeric in zip(numbers, below, strict=True)):
            raise DataError(
                "it holds words and numbers above numbers: names of columns, or a row of data with a "
                "cell that is no number? read_csv(path, header=True or False) says which",
                file=source,
                line=lines[0],
            )
        return True
    return not any(numbers) and any(cell.lower() in LABEL_NAMES for cell in rows[0])


def _numeric(rows: list[_Cells], j: int) -> bool:
    """Return whether the first cell of a column that is not missing is a number."""
    cell = next((row[j] for row in rows if j < len(row) and row[j] not in MISSING), None)
    return cell is not None and as_number(cell) is not None
