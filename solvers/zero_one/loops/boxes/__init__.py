"""Compiled kernels of the box engine: pair bounds and hinge relaxation over a box, bound tightening, and the tree search.

The mathematics, with proofs and the same notation, is in ``docs/explanation/zero-one-bb.md``. All kernels work on the *reduced*
problem of `solvers.zero_one.reduced`, min ||w||² + Σ_i λ_i 1{g_i'w < 1}. With ``free`` its last coordinate is a free
intercept, whose square is replaced by (w - lo)(w - hi) ≤ 0, the only change.
"""

from __future__ import annotations

from ....exact.loops.matching import WIDEST
from .exploration import explore, gather, move, spread
from .records import (
    CANDIDATE,
    DONE,
    FREE,
    GROW,
    KEPT,
    LEAF,
    PAGE,
    RESERVE,
    ROUNDS,
    SCALARS,
    VIOLATED,
    BoxData,
    BoxPool,
    empty_workspace,
)

__all__ = [
    "CANDIDATE",
    "DONE",
    "FREE",
    "GROW",
    "KEPT",
    "LEAF",
    "PAGE",
    "RESERVE",
    "ROUNDS",
    "SCALARS",
    "VIOLATED",
    "WIDEST",
    "BoxData",
    "BoxPool",
    "empty_workspace",
    "explore",
    "gather",
    "move",
    "spread",
]  # fmt: skip
