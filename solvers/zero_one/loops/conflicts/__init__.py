"""Compiled kernels of the conflict engine: the dual active-set method and the search on norm-conflicts.

The mathematics, with proofs, is in ``docs/explanation/zero-one-bb.md``. The rows here are the penalised parts a_i of the
reduced rows, with thresholds τ_i. Point i is kept if a_i'w + s_i b ≥ τ_i, where s_i = ±1 is the sign of a free intercept b.
The intercept is eliminated: some b keeps a set of points exactly if (a_i + a_j)'w ≥ τ_i + τ_j for every pair of a positive
point i and a negative point j. So a *constraint* is a point (no intercept) or such a pair, scaled to g'w ≥ 1.

Pairs are exact, but yield conflicts of up to 2(p + 1) points. So the search first uses single points with a stretched column for
the intercept, whose square is a small part of the norm. These conflicts have at most p + 2 points. Their certificates subtract
the multipliers' sum on that column times ``reach``, a bound of the intercept.
"""

from __future__ import annotations

from .active_set import active_set, certified_norm
from .proving import BOOK, CUT, OPEN_LEAF, PROVED, Book, prove
from .records import (
    CONFLICT,
    DELETED,
    FREE,
    KEPT,
    OPTIMUM,
    ConflictRows,
    empty_scratch,
    empty_workspace,
    no_active,
)
from .search import BUDGET, CANDIDATE, DONE, GAP_BINS, SCALARS, Stack, search

__all__ = [
    "BOOK",
    "BUDGET",
    "CANDIDATE",
    "CONFLICT",
    "CUT",
    "DELETED",
    "DONE",
    "FREE",
    "GAP_BINS",
    "KEPT",
    "OPEN_LEAF",
    "OPTIMUM",
    "PROVED",
    "SCALARS",
    "Book",
    "ConflictRows",
    "Stack",
    "active_set",
    "certified_norm",
    "empty_scratch",
    "empty_workspace",
    "no_active",
    "prove",
    "search",
]  # fmt: skip
