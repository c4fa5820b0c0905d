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


#: The largest part of Table 1's grid whose figures fit the printed ones.
_FITTING = tuple((n, p) for n, p in GRID if n >= 200 and p <= 10)
_GRIDS = {"n ≥ 200, p ≤ 10": _FITTING, "all n and p of Table 1": GRID}
_UNPRINTED = (
    "The appendix refers to §5.1.2 and prints no n and p: Table 1's, all of them, are the plain reading, which is judged. The "
    "errors are two to three times the printed ones: at n = 100, p = 30, τ = 0.1 alone 22%. Smaller p would explain it."
)
_CHOSEN = "These n and p were chosen to fit, as the largest part of Table 1's that does; so not judged."


def _entries(effort: Effort) -> Sequence[Entry]:
    found = []
    for grid, sizes in _GRIDS.items():
        note = _UNPRINTED if sizes is GRID else _CHOSEN
        for r in published("conic_table4_label_noise"):
            if r["tau"] not in effort.rows(("0.1", "0.2", "0.3"), ("0.1",)):
                continue
            runs = tuple(
                Run.of(FLIPPED, tau=float(r["tau"]), method=r["method"], n=n, p=p, seed=seed, values=effort.grid(*VALUES))
                for (n, p), seed in product(sizes, effort.repetitions(20))
            )
            there = Published.of(r["misclassification_pct"], r["std_pct"])
            labels = (grid, r["method"], f"τ = {r['tau']}")
            found.append(Entry(labels, there, runs, mean_of("error", 100.0), (note,), compared=sizes is GRID))
    return found


TABLES = (
    PaperTable(
        "conic-table-4",
        CONIC,
        "Table 4",
        "misclassification on separable points with flipped labels",
        ("points and features", "method", "noise"),
        "% of 100,000 clean test points",
        "As Table 1: training and validation set of n points each with flipped labels, 100 values of the parameter, 20 thinned.",
        _entries,
        ("The paper does not print this table's n, p and number of draws.",),
        across=1,
    ),
)
