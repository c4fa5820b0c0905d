"""Table 2: seconds of the 100 problems of a path, by n, p and loss, from the runs of Table 1."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product

from ..comparison import OTHER_MACHINE
from ..record import CONIC, CellKind, Entry, PaperTable, ProtocolSize, Published, published
from .protocol import seconds_of_100
from .table_1 import synthetic_runs


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
            seconds_of_100,
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
