"""Table 4 (Appendix B): misclassification on separable points whose labels are flipped."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product

from ..effort import Effort
from ..four import CONIC
from ..judge import mean_of
from ..published import published
from ..record import Entry, PaperTable, Published, Run
from .protocol import FLIPPED, GRID, VALUES

__all__ = ["TABLES"]


def _entries(effort: Effort) -> Sequence[Entry]:
    return [
        Entry(
            (f"τ = {r['tau']}", r["method"]),
            Published.of(r["misclassification_pct"], r["std_pct"]),
            tuple(
                Run.of(FLIPPED, tau=float(r["tau"]), method=r["method"], n=n, p=p, seed=seed, values=effort.grid(*VALUES))
                for (n, p), seed in product(GRID, effort.repetitions(20))
            ),
            mean_of("error", 100.0),
        )
        for r in published("conic_table4_label_noise")
        if r["tau"] in effort.rows(("0.1", "0.2", "0.3"), ("0.1",))
    ]


TABLES = (
    PaperTable(
        "conic-table-4",
        CONIC,
        "Table 4",
        "misclassification on separable points with flipped labels",
        ("noise", "method"),
        "% of 100,000 clean test points",
        "As Table 1: training and validation set of n points each with flipped labels, 100 values of the parameter, 20 thinned.",
        _entries,
        ("The paper does not print this table's n, p and number of draws; those of Table 1 are taken.",),
    ),
)
