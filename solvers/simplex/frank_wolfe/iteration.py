"""The iteration of the Frank-Wolfe methods: a = σâ with Qa = σĥ on the unit simplex, as compiled loops and Python see it."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from ....models.arrays import FloatArray
from ....models.views import SimplexQP
from ...interface.algorithm import integers_and_floats, named_scalars
from ...interface.by_reference import by_reference
from ..column_cache import ColumnCache

__all__ = ["STEPS", "Iteration", "make_iteration", "measured_gap", "objective"]

#: Kinds of step, by the numbers of `loops`.
STEPS = ("", "toward", "away", "drop", "pair")
#: Steps done, size of the support, argmin ∇, the column that is missing, kind of the last step (`STEPS`), steps by kind, clock of
#: the cache; σ, a'Qa, c'a, and the gap a'∇ - min ∇.
_SCALARS = integers_and_floats(
    "iteration active vertex missing kind towards aways drops pairs clock", "scale quadratic linear gap"
)


@by_reference
class Iteration(NamedTuple):
    """Arrays and numbers that compiled code changes in place."""

    columns: Any  #: (slots, n) cached columns of Q
    slot: Any  #: (n,) slot of a column or -1
    stamp: Any  #: (slots,) clock of the last use
    diagonal: Any  #: (n,) Q_ii
    c: Any  #: (n,)
    a: Any  #: (n,) â
    h: Any  #: (n,) ĥ = Qâ
    support: Any  #: (n,) the indices with a > 0, unordered
    place: Any  #: (n,) place in ``support`` or -1
    now: Any  #: the numbers, by name (`_SCALARS`)


def make_iteration(view: SimplexQP, cache: ColumnCache, a: FloatArray, h: FloatArray) -> Iteration:
    """The iteration at the point a with h = Qa."""
    n = view.n
    support, place = np.zeros(n, dtype=np.int64), np.full(n, -1, dtype=np.int64)
    positive = np.flatnonzero(a > 0)
    support[: positive.size] = positive
    place[positive] = np.arange(positive.size)
    now = named_scalars(_SCALARS)
    now.active, now.scale = positive.size, 1.0
    return Iteration(
        columns=cache.columns,
        slot=cache.slot,
        stamp=cache.stamp,
        diagonal=np.ascontiguousarray(view.gram.diagonal),
        c=np.ascontiguousarray(view.c, dtype=np.float64),
        a=a.copy(),
        h=np.ascontiguousarray(h),
        support=support,
        place=place,
        now=now,
    )


def objective(work: Iteration) -> float:
    """½a'Qa + c'a."""
    return 0.5 * float(work.now.quadratic) + float(work.now.linear)


def measured_gap(work: Iteration) -> float:
    """a'∇ - ∇ at ``vertex``."""
    now, i = work.now, int(work.now.vertex)
    return float(now.quadratic + now.linear - now.scale * work.h[i] - work.c[i])
