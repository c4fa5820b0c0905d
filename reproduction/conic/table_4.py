"""Table 4 (Appendix B): misclassification on separable points whose labels are flipped."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product

from ..comparison import mean_of
from ..record import CONIC, CellKind, Entry, PaperTable, ProtocolSize, Published, Run, published
from .protocol import DRAWS, FLIPPED, GRID, VALUES

#: Who chooses the parameter, the field of the records, and the share of τ with which a label is flipped.
_CHOICES = {
    "validation points": ("error", 1.0),
    "test points": ("least", 1.0),
    "validation points, noise τ/2": ("error", 0.5),
}
_UNPRINTED = (
    "Less noise than printed, or other n and p. The appendix refers to §5.1.2 and prints no n and p: Table 1's, all of them, "
    "are the plain reading. No choice of the parameter explains it, as the rows of the test points show. Nor does a part of "
    "these sizes: of n = 1,000 and p = 3 alone the hinge errs in 11% at τ = 0.3, printed is 7.1. At noise τ/2, which it is "
    "where a label is drawn at random with probability τ, not flipped, the means are about one printed deviation away or less "
    "(last rows)."
)
_INDEPENDENT = (
    "An independent generator agrees with this one: the hinge errs in 6.9, 11.8 and 16.7% at τ = 0.1, 0.2, 0.3, twice what is "
    "printed. With no intercept in the true hyperplane, n ≥ 500 and p ≤ 10 it gives 3.3, 5.3 and 7.9%, near the printed 2.7, 4.9 "
    "and 7.1%."
)
_HALF = "As if each label were drawn at random with probability τ. Not judged: the appendix says that labels are flipped with it."
_LEAST = "The least error of all parameters on the test points themselves: no selection can be better. Not judged."


def _entries(effort: ProtocolSize) -> Sequence[Entry]:
    entries = []
    for choice, (field, share) in _CHOICES.items():
        for r in published("conic_table4_label_noise"):
            if r["tau"] not in effort.rows(("0.1", "0.2", "0.3"), ("0.1",)):
                continue
            runs = tuple(
                Run.of(FLIPPED, tau=share * float(r["tau"]), method=r["method"], n=n, p=p, seed=seed, values=effort.grid(*VALUES))
                for (n, p), seed in product(GRID, effort.repetitions(20))
            )
            there = Published.of(r["misclassification_pct"], r["std_pct"], DRAWS)
            labels = (choice, r["method"], f"τ = {r['tau']}")
            judged = choice == "validation points"
            note = _UNPRINTED if judged else _LEAST if share == 1.0 else _HALF
            summary = mean_of(field, 100.0)
            if judged:
                entries.append(Entry(labels, there, runs, summary, (note,)))
            else:
                entries.append(Entry(labels, there, runs, summary, (note,), caveat="a variant", kind=CellKind.VARIANT))
    return entries


TABLES = (
    PaperTable(
        "conic-table-4",
        CONIC,
        "Table 4",
        "misclassification on separable points with flipped labels",
        ("parameter chosen by", "method", "noise"),
        "% of 100,000 clean test points",
        "As Table 1: training and validation set of n points each with flipped labels, 100 values of the parameter, 20 thinned.",
        _entries,
        ("The paper does not print this table's n, p and number of draws.", _INDEPENDENT),
        across=1,
    ),
)
