"""Table 1 of the Frank-Wolfe paper: numbers of points and features of the data sets."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from marginopt.models import FloatArray

from ..record import FRANK_WOLFE, CellKind, Entry, Experiment, PaperTable, ProtocolSize, Published, Run, Value, published
from .data import OTHER_POINTS, SOURCES, parts, published_test

_COLUMNS = ("m_train", "t_test", "classes", "m_max", "m_min", "features")
_WIDTH = "Features that no published training point has, or that are constant, may be counted or not."
_FIRST = "The published split is the first 15,000 points: their largest and smallest pair of classes are the printed ones."
_OTHER = "The published test part is not at hand."
_NOT_MINE = "m_max and m_min are the largest and smallest one-versus-one problem."


def name_of(printed: str) -> str:
    """The name that Tables 2 and 3 use."""
    return {"KDD99-10pc": "KDD10pc", "KDD99-Full": "KDD-full"}.get(printed, printed.removeprefix("Adult ").removeprefix("Web "))


def _sizes(run: Mapping[str, Any]) -> dict[str, Any]:
    X, y, tested = _points(run["dataset"])
    counts = np.sort(np.unique(y, return_counts=True)[1])
    largest, smallest = counts[-2:].sum(), counts[:2].sum()
    n, p = X.shape
    values = (n, tested, counts.size, largest, smallest, p)
    return {name: None if value is None else int(value) for name, value in zip(_COLUMNS, values, strict=True)}


def _points(name: str) -> tuple[FloatArray, np.ndarray, int | None]:
    """Return training points, their classes, and the size of the published test part if that is known."""
    data_parts = parts(name)
    return data_parts.X, data_parts.y, None if data_parts.how else len(data_parts.y_test)


def _count(column: str) -> Callable[[Sequence[tuple[Run, Mapping[str, Any]]]], Value | None]:
    """Return a function that reads one number of a run's record, None if the run has none."""

    def summary(records: Sequence[tuple[Run, Mapping[str, Any]]]) -> Value | None:
        number = records[0][1][column]
        return None if number is None else Value(float(number), None, 1)

    return summary


SIZES = Experiment("frank-wolfe sizes", _sizes, lambda run: [name for name in SOURCES[run["dataset"]] if name], layout=2)


def _entries(effort: ProtocolSize) -> Sequence[Entry]:
    return [
        Entry(
            (name_of(r["dataset"]), column),
            Published.of(r[column]),
            (Run.of(SIZES, dataset=name_of(r["dataset"])),),
            _count(column),
            (_WIDTH,) if column == "features" else (_FIRST,) if name_of(r["dataset"]) == "Letter" else (),
            _OTHER if column == "t_test" and not published_test(name_of(r["dataset"])) else "",
            caveat="" if name_of(r["dataset"])[0] in "aw" or published_test(name_of(r["dataset"])) else OTHER_POINTS,
        )
        for r in published("frank_wolfe_table1_datasets")
        if name_of(r["dataset"]) in effort.rows(tuple(SOURCES), ("a1a", "Pendigits"))
        for column in _COLUMNS
    ]


TABLES = (
    PaperTable(
        "frank-wolfe-table-1", FRANK_WOLFE, "Table 1", "the sets", ("set", "size"), "counts", "What is read here.", _entries,
        (_NOT_MINE,), across=1, kind=CellKind.SIZE,
    ),
)  # fmt: skip
