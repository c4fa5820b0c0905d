"""Table 2: sizes of the sets, as read here."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from ..comparison import mean_of
from ..inputs import data_set, dense
from ..record import MAX_MIN, CellKind, Entry, Experiment, PaperTable, ProtocolSize, Published, Run, published
from .protocol import SETS

#: Notes on numbers of attributes. A constant column is zero once it is standardised, so no figure depends on the count.
_CONSTANT = {
    "ION": "One of the published file's 34 columns is constant and not counted.",
    "MUS": "One of the 112 columns, the type of the veil, is constant; the paper counts it here, and not that of Ionosphere.",
}
#: Sets whose constant columns the paper counts.
_COUNTED = ("MUS",)


def _sizes(run: Mapping[str, Any]) -> dict[str, Any]:
    """Points, columns that are not constant, and all columns."""
    X, _ = dense(data_set(run["dataset"]))
    return {"instances": len(X), "attributes": int((np.ptp(X, axis=0) > 0.0).sum()), "columns": X.shape[1]}


SIZES = Experiment("sizes", _sizes, lambda run: (run["dataset"],), layout=3)


def _entries(effort: ProtocolSize) -> Sequence[Entry]:
    rows = [r for r in published("maxmin_table2_datasets") if r["key"] in effort.rows(tuple(SETS), ("BRE",))]
    return [
        Entry(
            (r["dataset"], what),
            Published.of(r[what]),
            (Run.of(SIZES, dataset=SETS[r["key"]]),),
            mean_of("columns" if what == "attributes" and r["key"] in _COUNTED else what),
            (_CONSTANT[r["key"]],) if r["key"] in _CONSTANT and what == "attributes" else (),
        )
        for r in rows
        for what in ("instances", "attributes")
    ]


TABLES = (
    PaperTable(
        "max-min-table-2", MAX_MIN, "Table 2", "the sets", ("set", "size"), "counts", "What is read here.", _entries,
        across=1, kind=CellKind.SIZE,
    ),
)  # fmt: skip
