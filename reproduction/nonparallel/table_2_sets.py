"""Table 2, second column: sizes of the sets and of their parts, as read and split here."""

from __future__ import annotations

from collections.abc import Sequence

from ..catalogue import NPSVC
from ..comparison import mean_of
from ..protocol_size import ProtocolSize
from ..published import published
from ..record import CellKind, Entry, PaperTable, Published
from .protocol import METHODS, SETS, size_run

__all__ = ["TABLES"]

_COLUMNS = ("n_train", "n_test", "features", "classes")


def _entries(effort: ProtocolSize) -> Sequence[Entry]:
    rows = [r for r in published("npsvcpp_table2_accuracy") if r["method"] == METHODS[0]]
    return [
        Entry(
            (r["dataset"], column),
            Published.of(r[column]),
            (size_run(r["dataset"]),),
            mean_of(column),
        )
        for r in rows
        if r["dataset"] in effort.rows(tuple(SETS), ("Pendigits",))
        for column in _COLUMNS
    ]


TABLES = (
    PaperTable(
        "npsvc-table-2-sets", NPSVC, "Table 2, the sets", "points, features and classes", ("set", "size"), "counts",
        "What is read here, and the parts of a split; of DNA and USPS the published training part alone is the whole set.",
        _entries,
        across=1, kind=CellKind.SIZE,
    ),
)  # fmt: skip
