"""`Table`, the cells of a file or data frame, and its conversion to an `Instance`: label column, missing values, categories."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal, TypeAlias, get_args

import numpy as np

from ..data_names import distinct_names
from ..errors import DataError, InputError, count_text, near_names, short_text
from .arrays import FloatArray, as_number
from .instance import Instance

#: If one column alone has one of these names, in any case, it is the label by default; otherwise the last column is.
LABEL_NAMES = ("label", "class", "target", "y")


#: Content of a column: "cell" (numbers or categories), "string" (free text), "date", "index" (names of rows), or "unused" (a
#: column that the file declares as no input).
Kind: TypeAlias = Literal["cell", "string", "date", "index", "unused"]


@dataclass(frozen=True)
class Table:
    """A table of text cells as read, all rows of one length; None is a missing value.

    Attributes
    ----------
    source_name : str
        Name of the file, for messages.
    names : tuple of str or None
        Names of the columns; None if the file has none.
    rows : list of list of str or None
        The cells.
    lines : list of int
        Line of the file, counting from 1, of each row.
    kinds : mapping of int to str
        Kinds of the columns that are not of the kind "cell".
    outputs : tuple of int
        Columns that the file declares as outputs (KEEL's ``@outputs``): the label is one of them.
    points : tuple of str
        Names of the rows that are in no column of the table.
    """

    source_name: str
    names: tuple[str, ...] | None
    rows: list[list[str | None]]
    lines: list[int]
    kinds: Mapping[int, Kind] = field(default_factory=dict)
    outputs: tuple[int, ...] = ()
    points: tuple[str, ...] = ()

    @property
    def point_names(self) -> tuple[str, ...]:
        """Return the names of the rows; an empty tuple if they are all numbers, as mere positions are, or not all different."""
        index = next((j for j, kind in self.kinds.items() if kind == "index"), None)
        if self.points or index is None:
            return self.points
        cells = [row[index] or "" for row in self.rows]
        return () if all(as_number(cell) is not None for cell in cells) else distinct_names(cells)


def _columns(names: Sequence[str] | None, label: str) -> str:
    """Return a sentence with the names of the columns, after a suggestion of names like the label."""
    if names is None:
        return "it has no header"
    suggestions = near_names(label.strip(), names)
    hint = f"did you mean {' or '.join(suggestions)}? " if suggestions and label not in names else ""
    return f"{hint}its columns are {', '.join(names[:20])}{' ...' if len(names) > 20 else ''}"


def label_column(source: str, names: Sequence[str] | None, width: int, label: str | int | None) -> int:
    """Return the label column of ``width`` columns: by name, by index (negative from the end), or by the rule of `LABEL_NAMES`.

    ``source`` names the file in errors.
    """
    if width < 2:
        raise DataError(f"a label and at least one feature are needed, got {width} column(s)", file=source)
    if label is None:
        named_columns = [j for j, name in enumerate(names or ()) if name.strip().lower() in LABEL_NAMES]
        return named_columns[0] if len(named_columns) == 1 else width - 1
    return _column_place(source, names, width, label, "label")


def _column_place(source: str, names: Sequence[str] | None, width: int, column: str | int, option: str) -> int:
    """Return the index of a column that an option gives by name or index; errors name the option."""
    if isinstance(column, str):
        matches = [j for j, name in enumerate(names or ()) if name == column]
        if len(matches) == 1:
            return matches[0]
        if not column.lstrip("-").isdecimal():
            count_words = "more than one column" if matches else "no column"
            purpose = "for the label" if option == "label" else "to leave out"
            raise DataError(
                f"{source} has {count_words} named {short_text(column)} {purpose}; {_columns(names, column)}",
                name=option,
                allowed=names or (),
                file=source,
            )
    try:
        index = int(column)
    except (TypeError, ValueError):
        raise InputError(f"{option} must be a column's name or index, got {short_text(column)}", name=option) from None
    if isinstance(column, bool) or not -width <= index < width:
        raise InputError(
            f"{option} column {short_text(column)} is not one of the {width} columns 0..{width - 1} of {source}", name=option
        )
    return index % width


def _target_column(table: Table, label: str | int | None) -> int:
    """Return the label column of a table: the given one, else the file's only output, else the column by `LABEL_NAMES`."""
    width = len(table.rows[0])
    if label is not None:
        return label_column(table.source_name, table.names, width, label)
    if len(table.outputs) > 1:
        outputs = ", ".join(column_name(table.names, j) for j in table.outputs)
        raise DataError(f"{table.source_name} has the outputs {outputs}; label= chooses one", file=table.source_name)
    if table.outputs:
        return table.outputs[0]
    columns = [j for j in range(width) if table.kinds.get(j) not in ("index", "unused")]
    names = None if table.names is None else [table.names[j] for j in columns]
    return columns[label_column(table.source_name, names, len(columns), None)]


def _feature_columns(table: Table, target: int, left_out: Sequence[int] = ()) -> list[int]:
    """Return the features: all columns but the label, those left out, names of rows, unused columns and further outputs.

    `DataError` for a feature that is a date.
    """
    outputs = table.outputs if target in table.outputs else ()
    barred = {target, *left_out, *outputs}
    columns = [j for j in range(len(table.rows[0])) if j not in barred and table.kinds.get(j) not in ("index", "unused")]
    dates = [column_name(table.names, j) for j in columns if table.kinds.get(j) == "date"]
    if dates:
        advice = "is a date; leave it out" if len(dates) == 1 else "are dates; leave them out"
        raise DataError(f"{' and '.join(dates)} {advice} (leave_out)", file=table.source_name)
    return columns


def instance_from_table(table: Table, label: str | int | None, name: str) -> Instance:
    """Return the instance of a table; `DataError` names the first cell of a feature that is not a finite number."""
    if not table.rows:
        raise DataError(f"{table.source_name} holds no rows of data", file=table.source_name)
    target = _target_column(table, label)
    features = _feature_columns(table, target)
    if not features:
        raise DataError("a label and at least one feature are needed", file=table.source_name)
    labels = [row[target] for row in table.rows]
    if None in labels:
        line = table.lines[labels.index(None)]
        raise DataError(f"the label in {column_name(table.names, target)} is missing", file=table.source_name, line=line)
    names = None if table.names is None else [table.names[j] for j in features]
    _check_names(table, features)
    X = _numbers(table, features)
    try:
        instance = Instance.from_labels(X, labels, name, table.source_name, names)
    except DataError as error:
        raise DataError(
            f"{table.source_name}, label in {column_name(table.names, target)}: {error}", file=table.source_name
        ) from None
    return replace(instance, point_names=table.point_names or None)


def _check_names(table: Table, features: list[int]) -> None:
    names = [] if table.names is None else [table.names[j] for j in features]
    second = next((name for k, name in enumerate(names) if name in names[:k]), None) if len(set(names)) < len(names) else None
    if second is not None:
        columns = [j for j in features if table.names is not None and table.names[j] == second]
        raise DataError(
            f"more than one column is named {short_text(second)} (columns {', '.join(map(str, columns))}, counting from 0); "
            "leave_out= takes one away",
            file=table.source_name,
        )


def _numbers(table: Table, features: list[int]) -> FloatArray:
    cells = [[row[j] for j in features] for row in table.rows]
    plain = all(cell is not None and cell.isascii() and "_" not in cell for row in cells for cell in row)
    if plain and not any(table.kinds.get(j) == "string" for j in features):
        try:
            X = np.array(cells, dtype=np.float64)
        except ValueError:
            raise _bad_cell(table, features) from None
        if np.isfinite(X).all():
            return X
    raise _bad_cell(table, features)


def _bad_cell(table: Table, features: list[int]) -> DataError:
    """Return the error that names, for each column, the first cell that is not a finite number; its line is the first of them."""
    advice = (
        "features must be finite numbers: missing='drop' or 'median', categories='indicators' and leave_out= read such columns; "
        "label= chooses the label column"
    )
    faults: dict[int, str] = {}
    first_line = 0
    for row, line in zip(table.rows, table.lines, strict=True):
        for j in features:
            if j not in faults and (fault := _fault_of_cell(row[j], declared_text=table.kinds.get(j) == "string")):
                first_line = first_line if faults else line
                faults[j] = f"{column_name(table.names, j)}: {fault}"
    shown = list(faults.values())[:_SHOWN_COLUMNS]
    shown += [f"{len(faults) - len(shown)} more columns"] if len(faults) > len(shown) else []
    return DataError(f"{'; '.join(shown)}; {advice}", file=table.source_name, line=first_line)


#: Most columns whose faults an error names.
_SHOWN_COLUMNS = 10


def _fault_of_cell(cell: str | None, *, declared_text: bool) -> str:
    """Return why a cell is no feature, in words; empty for a finite number."""
    if cell is None:
        return "the value is missing"
    number = as_number(cell)
    if number is None:
        return f"{short_text(cell)} is not a number"
    if not np.isfinite(number):
        return f"{short_text(cell)} is not a finite number"
    return "the column is declared as text" if declared_text else ""


def column_name(names: Sequence[str] | None, j: int) -> str:
    """Return words for the j-th column in a message: its name, or its number without a header."""
    return f"column {j}, counting from 0" if names is None else f"column {names[j]!r}"


#: Texts of a cell that mean a missing value. Other spellings do not: Na is sodium, and "none" is a word.
MISSING = frozenset({"", "?", "NA", "na", "N/A", "n/a", "nan", "NaN", "NAN", "null", "NULL", "Null"})
#: Headers of a column of row names: pandas and R leave it empty, and pandas names it "Unnamed: 0" when it reads it back.
_INDEX_NAMES = frozenset({"", "Unnamed: 0"})


def index_kind(names: Sequence[str] | None) -> dict[int, Kind]:
    """Return {0: "index"} if the name of the first column says that it holds names of rows; else an empty dict."""
    return {0: "index"} if names and names[0] in _INDEX_NAMES and any(names[1:]) else {}


#: Most different words of a column of categories; a column with more of them may hold names of rows.
_MOST_LEVELS = 50

#: Values of the options of `read` that `Tidying` holds.
Missing: TypeAlias = Literal["refuse", "drop", "median"]
Categories: TypeAlias = Literal["refuse", "indicators"]
_TidyingCells: TypeAlias = list[str | None]


@dataclass(frozen=True)
class Tidying:
    """The options of `read` by which missing values and categories of a table become numbers.

    Parameters
    ----------
    missing : {"refuse", "drop", "median"}
        Missing cells: raise an error; leave their rows out; replace them by the median of the column's other cells (in a column
        of categories: by zeros in all its indicators).
    categories : {"refuse", "indicators"}
        Columns of words: raise an error; replace them by a column of 0 and 1 for each word, or for the second of two words alone.
    leave_out : sequence of str or int
        Columns that are no features, by name or index.
    """

    missing: Missing = "refuse"
    categories: Categories = "refuse"
    leave_out: Sequence[str | int] = ()

    def __post_init__(self) -> None:
        for name, kinds in (("missing", get_args(Missing)), ("categories", get_args(Categories))):
            if getattr(self, name) not in kinds:
                raise InputError(f"{name} must be one of {', '.join(kinds)}; it is {short_text(getattr(self, name))}", name=name)
        if isinstance(self.leave_out, (str, int)):
            object.__setattr__(self, "leave_out", (self.leave_out,))

    @property
    def is_active(self) -> bool:
        """Return whether the options differ from the defaults."""
        return self != Tidying()

    def apply(self, table: Table, label: str | int | None) -> tuple[Table, int, str]:
        """Return the tidied table, the place of its label, and a note of the changes."""
        if not table.rows:
            return table, 0, ""
        width = len(table.rows[0])
        target = _target_column(table, label)
        out = [_column_place(table.source_name, table.names, width, column, "leave_out") for column in self.leave_out]
        if target in out:
            raise InputError(
                f"leave_out names the label's column, {short_text(self.leave_out[out.index(target)])}", name="leave_out"
            )
        features = _feature_columns(table, target, out)
        notes = [f"without {', '.join(_name(table, j) for j in out)}"] if out else []
        rows, lines, points = table.rows, table.lines, table.point_names
        if self.missing == "drop":
            is_complete = [all(row[j] is not None for j in (*features, target)) for row in rows]
            rows = [row for row, complete_row in zip(rows, is_complete, strict=True) if complete_row]
            lines = [line for line, complete_row in zip(lines, is_complete, strict=True) if complete_row]
            points = tuple(itertools.compress(points, is_complete))
            if not rows:
                raise DataError("every row has a missing value; missing='median' keeps them", file=table.source_name)
            notes += (
                [f"{count_text(len(is_complete) - len(rows), 'row')} with missing values left out"]
                if len(rows) < len(is_complete)
                else []
            )
        columns: list[tuple[str, _TidyingCells]] = []
        kinds: dict[int, Kind] = {}
        crowded: dict[str, int] = {}  # columns with too many words for categories
        for j in features:
            if table.kinds.get(j) == "string" and self.categories == "refuse":
                kinds[len(columns)] = "string"
            columns += self._column(table, j, [row[j] for row in rows], notes, crowded)
        if crowded:
            raise _too_many_categories(crowded, table.source_name)
        cells = [[*(column[k] for _, column in columns), row[target]] for k, row in enumerate(rows)]  # the label comes last
        names = None if table.names is None else (*(name for name, _ in columns), table.names[target])
        tidied = replace(table, names=names, rows=cells, lines=lines, kinds=kinds, outputs=(), points=points)
        return tidied, len(columns), "; ".join(notes)

    def _column(
        self, table: Table, j: int, cells: _TidyingCells, notes: list[str], crowded: dict[str, int]
    ) -> list[tuple[str, _TidyingCells]]:
        """Return the features of one column with their names; refused cells stay, for an error with their line."""
        name, present = _name(table, j), [cell for cell in cells if cell is not None]
        if not present:
            raise DataError(f"column {short_text(name)} has no value; leave it out (leave_out)", file=table.source_name)
        if table.kinds.get(j) == "string" or any(as_number(cell) is None for cell in present):
            if self.categories != "indicators":
                return [(name, cells)]
            if (count := len(set(present))) <= _MOST_LEVELS:
                return self._indicators(name, cells, present, notes)
            crowded[name] = count
            return []
        if self.missing == "median" and len(present) < len(cells):
            middle = f"{float(np.median([float(cell) for cell in present])):.17g}"
            notes.append(f"{len(cells) - len(present)} missing {name} at the median {float(middle):g}")
            cells = [middle if cell is None else cell for cell in cells]
        return [(name, cells)]

    def _indicators(
        self, name: str, cells: _TidyingCells, categories: list[str], notes: list[str]
    ) -> list[tuple[str, _TidyingCells]]:
        levels = sorted(set(categories))
        if self.missing == "refuse" and len(categories) < len(cells):
            return [(name, cells)]  # refused, with its line
        absent = len(cells) - len(categories)
        notes.append(f"{name} as {len(levels)} categories" + (f", {absent} missing in none of them" if absent else ""))
        shown = levels[1:] if len(levels) == 2 else levels
        return [(f"{name}={level}", ["1" if cell == level else "0" for cell in cells]) for level in shown]


def _too_many_categories(counts: Mapping[str, int], source: str) -> DataError:
    """Return the error about columns with more words than categories may have, by name with their numbers of words."""
    columns = " and ".join(f"column {name!r} has {count} different words" for name, count in counts.items())
    pronoun = "it" if len(counts) == 1 else "them"
    message = f"{columns}; up to {_MOST_LEVELS} are categories. Leave {pronoun} out (leave_out)"
    return DataError(message, name=next(iter(counts)), file=source)


def _name(table: Table, j: int) -> str:
    return str(j) if table.names is None else table.names[j]
