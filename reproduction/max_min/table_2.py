"""Table 2: sizes of the sets, as read here."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from ..catalogue import MAX_MIN
from ..comparison import mean_of
from ..inputs import data_set, dense
from ..protocol_size import ProtocolSize
from ..published import published
from ..record import Entry, Experiment, PaperTable, Published, Run
from .protocol import SETS

__all__ = ["TABLES"]

_CONSTANT = "One of the published file's 34 columns is constant and not counted."


def _sizes(run: Mapping[str, Any]) -> dict[str, Any]:
    """Points, and columns that are not constant: a constant one is zero once it is standardised."""
    X, _ = dense(data_set(run["dataset"]))
    return {"instances": len(X), "attributes": int((np.ptp(X, axis=0) > 0.0).sum())}


SIZES = Experiment("sizes", _sizes, lambda run: (run["dataset"],), layout=2)


def _entries(effort: ProtocolSize) -> Sequence[Entry]:
    rows = [r for r in published("maxmin_table2_datasets") if r["key"] in effort.rows(tuple(SETS), ("BRE",))]
    return [
        Entry(
            (r["dataset"], what),
            Published.of(r[what]),
            (Run.of(SIZES, dataset=SETS[r["key"]]),),
            mean_of(what),
            (_CONSTANT,) if r["key"] == "ION" and what == "attributes" else (),
        )
        for r in rows
        for what in ("instances", "attributes")
    ]


TABLES = (
    PaperTable(
        "max-min-table-2", MAX_MIN, "Table 2", "the sets", ("set", "size"), "counts", "What is read here.", _entries,
        across=1,
    ),
)  # fmt: skip
