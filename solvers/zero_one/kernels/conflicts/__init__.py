"""Compiled kernels of the conflict engine: the dual active-set method and the search on norm-conflicts.

The mathematics, with proofs, is in ``docs/zero-one-bb.md``. The rows here are the penalised parts a_i of the reduced rows, with
thresholds τ_i: point i is kept where a_i'w + s_i b ≥ τ_i. Signs s_i = ±1 belong to a free intercept b, which is eliminated:
some b keeps a set of points exactly where (a_i + a_j)'w ≥ τ_i + τ_j for every pair i of its positive, j of its negative
points. So a *constraint* is a point (no intercept) or such a pair, scaled to g'w ≥ 1. Pairs are exact, and make conflicts of
up to 2(p + 1) points; the search therefore looks first at single points with a stretched intercept's column, whose square is
a small part of the norm: conflicts of at most p + 2 points, certified with what the column leaves over times ``reach``.
"""

from __future__ import annotations

from .active_set import active_set, certified_norm
from .proving import BOOK, CUT, OPEN_LEAF, PROVED, Book, prove
from .records import CONFLICT, DELETED, FREE, KEPT, OPTIMUM, Active, Room, Rows, Scratch, empty_room, empty_scratch, no_active
from .search import BUDGET, CANDIDATE, DONE, search
from .stack import LACKS, NOW, Stack

__all__ = [
    "BOOK", "BUDGET", "CANDIDATE", "CONFLICT", "CUT", "DELETED", "DONE", "FREE", "KEPT", "LACKS", "NOW", "OPEN_LEAF", "OPTIMUM",
    "PROVED", "Active", "Book", "Room", "Rows", "Scratch", "Stack", "active_set", "certified_norm",
    "empty_room", "empty_scratch", "no_active", "prove", "search",
]  # fmt: skip
