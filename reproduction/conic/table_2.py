"""Table 2: seconds of the 100 problems of a path, by n, p and loss, from the runs of Table 1."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import product
from typing import Any

import numpy as np

from ..catalogue import CONIC
from ..comparison import OTHER_MACHINE
from ..protocol_size import ProtocolSize
from ..published import published
from ..record import CellKind, Entry, PaperTable, Published, Run, Value
from .table_1 import synthetic_runs

__all__ = ["TABLES"]


def _seconds(records: Sequence[tuple[Run, Mapping[str, Any]]]) -> Value:
    """For 100 problems."""
    seconds = np.array([100.0 * record["seconds"] / record["values"] for _, record in records])
    return Value(float(seconds.mean()), float(seconds.std(ddof=1)) if seconds.size > 1 else None, seconds.size)


def _entries(effort: ProtocolSize) -> Sequence[Entry]:
    sigmas = effort.rows((0.2, 0.5, 1.0), (0.2,))
    runs = {
        m: [r for sigma, kind in product(sigmas, ("none", "clustered", "spread")) for r in synthetic_runs(effort, sigma, kind, m)]
        for m in ("hinge", "conic")
    }
    return [
        Entry(
            (r["n"], r["method"], f"p = {r['p']}"),
            Published.of(r["seconds_for_100_problems"], r["std"]),
            tuple(run for run in runs[r["method"]] if run.parameters["n"] == int(r["n"]) and run.parameters["p"] == int(r["p"])),
            _seconds,
            caveat=OTHER_MACHINE,
        )
        for r in published("conic_table2_times")
        if r["n"] in effort.rows(("100", "200", "500", "1000"), ("100",))
    ]


TABLES = (
    PaperTable(
        "conic-table-2",
        CONIC,
        "Table 2",
        "seconds of the 100 problems of a path",
        ("n", "method", "p"),
        "processor seconds here, seconds of the paper's machine there; not judged",
        "The runs of Table 1, all σ and outliers together; of a thinned grid the seconds are scaled to 100 problems.",
        _entries,
        ("Conic loss: one warm-started path of conic-ipm; hinge: 100 models, each stated, then solved by PIQP.",),
        across=1,
        kind=CellKind.SECONDS,
    ),
)
