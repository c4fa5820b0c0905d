"""Names of features, classes and points of a data set, and X and y as arrays, from an `Instance` or a pandas or polars frame.

Formulations and estimators call `labelled_arrays` for X, which may be labelled data or a data frame in place of an array.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, final

import numpy as np

from .errors import InputError, count_text, short_text, unknown_name

#: Advice for a frame with columns that must be converted to features.
_TIDIED = "marginopt.read(frame, label=..., missing='median' or 'drop', categories='indicators') makes features of it"


@final
class _LabelsOfX:
    def __repr__(self) -> str:
        return "labels of X"


#: The default of ``y`` in formulations: an `Instance` given for X brings its labels.
LABELS_OF_X: Any = _LabelsOfX()


@dataclass(frozen=True)
class DataNames:
    """The names of the columns, the classes and the points of a data set.

    In the names of columns and points blanks stand for line breaks, tabs and the like, which would break printed lines.

    Parameters
    ----------
    features : tuple of str
        One name for each column of X; empty where the columns have no names.
    classes : tuple of str
        One name for each class in the order of the codes, -1 before +1; empty where the classes have no names.
    points : tuple of str
        One name for each row of X, all different; empty where the rows have no names.
    scaling : {"none", "standardised", "scaled"}
        The scaling of the features that X holds, as in `Instance`.
    """

    features: tuple[str, ...] = ()
    classes: tuple[str, ...] = ()
    points: tuple[str, ...] = ()
    scaling: str = "none"

    def __post_init__(self) -> None:
        for names in ("features", "points"):
            object.__setattr__(self, names, tuple(map(_one_line, getattr(self, names))))

    def column(self, name: str) -> int:
        """Return the column of a feature.

        Raises
        ------
        InputError
            There is no such feature, or it is a column of words, which became several; or the columns have no names.
        """
        places, name = self.columns(name), _one_line(name)
        if name not in self.features:
            indicators = [self.features[j] for j in places]
            message = f"column {short_text(name)} became the features {', '.join(indicators)}; name one of them"
            raise InputError(message, name=name, allowed=indicators)
        return places[0]

    def columns(self, name: str) -> tuple[int, ...]:
        """Return the column of a feature, or the columns "name=word" of the indicators that `marginopt.read` made of a column.

        Raises
        ------
        InputError
            There is no such feature and no such column, or the columns have no names.
        """
        name = _one_line(name)
        if name in self.features:
            return (self.features.index(name),)
        indicators = tuple(j for j, (column, word) in enumerate(self._split_features) if word and column == name)
        if not indicators:
            _place(name, self._known_columns, "feature", "columns")  # raises the error
        return indicators

    def words(self, name: str) -> dict[str, int]:
        """Return the words of a column of words with their indicators' columns; empty for another column.

        Of two words the one that sorts first has no indicator.
        """
        return {} if name in self.features else {self._split_features[j][1]: j for j in self.columns(name)}

    @property
    def _split_features(self) -> list[tuple[str, str]]:
        """The features as (column, word), the word empty unless the feature is an indicator."""
        # exempt (text): the names that a table's columns give to features
        return [(column, word) for column, _, word in (feature.partition("=") for feature in self.features)]

    @property
    def _known_columns(self) -> tuple[str, ...]:
        """The names of columns of words, and of the features."""
        return (*dict.fromkeys(column for column, word in self._split_features if word), *self.features)

    def point(self, name: str) -> int:
        """Return the row of a point.

        Raises
        ------
        InputError
            There is no such point, or the rows have no names.
        """
        return _place(name, self.points, "point", "rows")

    def code(self, name: str) -> float:
        """Return the code of a class: -1 or +1, or its number where there are more than two.

        Raises
        ------
        InputError
            There is no such class, or the classes have no names.
        """
        place = _place(name, self.classes, "class", "classes")
        return 2.0 * place - 1.0 if len(self.classes) == 2 else float(place)

    def class_name(self, code: float) -> str | int:
        """Return the name of the class with a code, -1 or +1 (a number for more than two classes); without names, the code."""
        if not self.classes:
            return int(code)
        return self.classes[int(code > 0.0) if len(self.classes) == 2 else int(code)]

    @property
    def class_note(self) -> str:
        """The sentence that says which class has which code; empty without names."""
        if len(self.classes) == 2:
            return f"class +1 is {self.classes[1]!r}, class -1 is {self.classes[0]!r}"
        return "classes: " + ", ".join(f"{k} is {name!r}" for k, name in enumerate(self.classes)) if self.classes else ""

    @property
    def feature_note(self) -> str:
        """The names of the first features for printed models; empty without names."""
        shown, omitted = ", ".join(self.features[:12]), len(self.features) - 12
        return f"features: {shown}" + (f" and {omitted} more" if omitted > 0 else "") if self.features else ""


def _one_line(name: str) -> str:
    """Return a name with blanks in place of line breaks, tabs and other characters that would break printed lines."""
    return name if name.isprintable() else "".join(c if c.isprintable() else " " for c in name)


def _place(name: str, names: Sequence[str], noun: str, plural: str) -> int:
    name = _one_line(name)
    if not names:
        raise InputError(
            f"{noun} {short_text(name)}: the {plural} have no names; state the model on an Instance or a data frame", name=name
        )
    if name in names:
        return names.index(name)
    raise unknown_name(noun, name, names)


class LabelledData(ABC):
    """The interface of data sets whose columns and classes may have names, such as `Instance`."""

    @property
    @abstractmethod
    def arrays(self) -> tuple[Any, Any]:
        """Return X (n, columns) and y (n,), the class codes."""

    @property
    @abstractmethod
    def data_names(self) -> DataNames:
        """Return the names of the columns and the classes."""


def labelled_arrays(X: object, y: object) -> tuple[Any, Any, DataNames] | None:
    """Return X, y and their names, if X is labelled data or a data frame; None if it is neither.

    Parameters
    ----------
    X : object
        Labelled data, a data frame of features, or something else, such as an array.
    y : array_like or None
        Labels of a frame's rows, coded by `label_codes`; None for labelled data, which hold their labels, and if no labels are
        needed.

    Raises
    ------
    InputError
        ``y`` given with labelled data; columns with equal names, missing values, words or dates; labels of several types.
    """
    if isinstance(X, LabelledData):
        if y is not None:
            hint = f"; {short_text(y)} is taken for y, so give it by its name" if isinstance(y, str) else ""
            raise InputError(f"the data set holds the labels already: state the model without y{hint}", name="y")
        return (*X.arrays, X.data_names)
    frame: Any = X
    if not is_pandas_or_polars(X, "DataFrame"):
        return None
    names = _distinct([str(name) for name in frame.columns])
    columns = [_numbers(np.asarray(frame[name]), str(name)) for name in frame.columns]
    matrix = np.column_stack(columns) if columns else np.zeros((0, 0))
    points = names_of_rows(frame)
    if y is None:
        return matrix, None, DataNames(names, points=points)
    codes, classes = label_codes(np.asarray(y))
    return matrix, codes, DataNames(names, classes, points)


def names_of_rows(frame: Any) -> tuple[str, ...]:
    """Return the index of a frame as names; an empty tuple if there is none, it holds numbers, or two rows have one name."""
    index = getattr(frame, "index", None)  # polars has none
    if index is None or index.dtype.kind in "iufc":
        return ()
    return distinct_names("/".join(map(str, name)) if isinstance(name, tuple) else str(name) for name in index)


def distinct_names(names: Iterable[str]) -> tuple[str, ...]:
    """Return the names of points as a tuple; an empty one if two points have the same name."""
    listed = tuple(names)
    return listed if len(set(listed)) == len(listed) else ()


def attribute_columns(data: object) -> tuple[Any, tuple[str, ...]]:
    """Return a matrix of attributes (n, d), such as protected ones, and the names of its columns, empty if the data have none.

    A series or an array of one dimension is one column. A column of words in a frame, a series or an array is an indicator
    "name=word" for each word but the one that sorts first.

    Raises
    ------
    InputError
        Columns with equal names, missing values or dates.
    """
    source: Any = data
    if is_pandas_or_polars(data, "DataFrame"):
        _distinct([str(name) for name in source.columns])
        columns = [(str(name), np.asarray(source[name])) for name in source.columns]
    elif is_pandas_or_polars(data, "Series"):
        columns = [(str(source.name) if source.name else "x0", np.asarray(source))]
    elif isinstance(data, np.ndarray) and data.ndim == 1:
        columns = [("x0", data)]
    else:
        labelled = labelled_arrays(data, None)
        return (data, ()) if labelled is None else (labelled[0], labelled[2].features)
    parts = [part for name, column in columns for part in _indicators(column, name)]
    names = _distinct([name for name, _ in parts])
    return np.column_stack([values for _, values in parts]) if parts else np.zeros((0, 0)), names


def _distinct(names: list[str]) -> tuple[str, ...]:
    """Return the names of columns; raise InputError for one that is there twice."""
    if len(set(names)) < len(names):
        raise InputError(
            f"columns must have different names; {short_text(next(n for n in names if names.count(n) > 1))} is there twice",
            name="columns",
        )
    return tuple(names)


def is_pandas_or_polars(data: object, kind: str) -> bool:
    """Return whether an object is of the class ``kind`` ("DataFrame" or "Series") of pandas or polars, without importing them."""
    # exempt (text): the module of an object, which may be pandas's or polars's
    return type(data).__module__.partition(".")[0] in ("pandas", "polars") and type(data).__name__ == kind


def _indicators(column: np.ndarray[Any, Any], name: str) -> list[tuple[str, np.ndarray[Any, Any]]]:
    """Return the named indicators of a column of words; another column as numbers."""
    if column.dtype.kind not in "OU" or not all(isinstance(value, str) for value in column.tolist()):
        return [(name, _numbers(column, name))]
    words = sorted(set(column.tolist()))
    return [(f"{name}={word}", (column == word).astype(np.float64)) for word in words[1:] or words]


def _numbers(column: np.ndarray[Any, Any], name: str) -> np.ndarray[Any, Any]:
    try:
        if column.dtype.kind not in "biufO" or any(isinstance(value, str) for value in column.flat if column.dtype.kind == "O"):
            raise TypeError("words or dates")
        values = np.asarray(column, dtype=np.float64)
    except (TypeError, ValueError):
        missing = sum(map(is_missing, column.tolist()))
        fault = f"misses {count_text(missing, 'value')}" if missing else "does not hold numbers"
        raise InputError(f"column {short_text(name)} {fault}: {_TIDIED}", name="X") from None
    if np.isnan(values).any():
        raise InputError(f"column {short_text(name)} misses {int(np.isnan(values).sum())} values: {_TIDIED}", name="X")
    return values


def is_missing(value: object) -> bool:
    """Return True for None and for a value that is not equal to itself, such as NaN and pandas's NA."""
    try:
        return value is None or bool(value != value)
    except TypeError:  # pandas.NA is neither equal to itself nor different
        return True


def label_codes(labels: np.ndarray[Any, Any]) -> tuple[np.ndarray[Any, Any], tuple[str, ...]]:
    """Return the codes of labels, and the names of the classes in the order of the codes.

    Two words or truth values become -1 and +1 in their sorted order; more words are numbered from 0 in theirs.
    Numbers are returned unchanged, without names: they are labels or a target.

    Raises
    ------
    InputError
        Missing labels, ones that cannot be compared with each other, or words that are all the same.
    """
    try:
        classes = np.unique(labels)
    except TypeError:
        missing = sum(map(is_missing, labels.tolist()))
        if missing:
            message = f"y misses {missing} of {count_text(labels.size, 'label')}: leave these points out"
            raise InputError(message, name="y") from None
        raise InputError("y mixes labels of several types: they must be comparable with each other", name="y") from None
    if labels.dtype.kind not in "biuf" and classes.size == 1:
        raise InputError(f"y must hold both classes; every label is {short_text(str(classes[0]))}", name="y")
    if labels.dtype.kind not in "biuf" and classes.size > 2:
        return np.searchsorted(classes, labels), tuple(str(name) for name in classes.tolist())
    if labels.dtype.kind in "iuf" or classes.size != 2:  # numbers may be a target
        return labels, ()
    return np.where(labels == classes[1], 1.0, -1.0), tuple(str(name) for name in classes.tolist())
