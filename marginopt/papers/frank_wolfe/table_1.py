"""Table 1: sizes of the sets, as read here."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from ...errors import DataError
from ..effort import Effort
from ..four import FRANK_WOLFE
from ..inputs import data_set
from ..judge import mean_of
from ..published import published
from ..record import Entry, Experiment, PaperTable, Published, Run
from .data import SOURCES

__all__ = ["TABLES", "name_of"]

_COLUMNS = ("m_train", "classes", "m_max", "m_min", "features")
_WIDTH = "Features that no published training point has, or that are constant, may be counted or not."
_WHOLE = "The package's copy has no parts: the whole set is counted, 20,000 points."
_NOT_MINE = "m_max and m_min are the largest and smallest one-versus-one problem."


def name_of(printed: str) -> str:
    """The name that Tables 2 and 3 use."""
    return {"KDD99-10pc": "KDD10pc", "KDD99-Full": "KDD-full"}.get(printed, printed.removeprefix("Adult ").removeprefix("Web "))


def _sizes(run: Mapping[str, Any]) -> dict[str, Any]:
    own = SOURCES[run["dataset"]][0]
    try:
        found = data_set(own, "train")
    except DataError as error:
        if "no published parts" not in str(error):
            raise
        found = data_set(own)
    counts = np.sort(np.unique(np.asarray(found.y), return_counts=True)[1])
    largest, smallest = counts[-2:].sum(), counts[:2].sum()
    n, p = found.X.shape
    values = (n, counts.size, largest, smallest, p)
    return {name: int(value) for name, value in zip(_COLUMNS, values, strict=True)}


SIZES = Experiment("frank-wolfe sizes", _sizes, lambda run: (SOURCES[run["dataset"]][0],))


def _entries(effort: Effort) -> Sequence[Entry]:
    return [
        Entry(
            (name_of(r["dataset"]), column),
            Published.of(r[column]),
            (Run.of(SIZES, dataset=name_of(r["dataset"])),),
            mean_of(column),
            (_WIDTH,) if column == "features" else (_WHOLE,) if name_of(r["dataset"]) == "Letter" else (),
        )
        for r in published("frank_wolfe_table1_datasets")
        if name_of(r["dataset"]) in effort.rows(tuple(SOURCES), ("Pendigits",))
        for column in _COLUMNS
    ]


TABLES = (
    PaperTable(
        "frank-wolfe-table-1", FRANK_WOLFE, "Table 1", "the sets", ("set", "size"), "counts", "What is read here.", _entries,
        (_NOT_MINE, "A training part that is not distributed apart is a random one of the published size when it is trained on."),
    ),
)  # fmt: skip
