"""The state of SMO between calls of its compiled loop, and the work on it there: points, gradients, costs."""

from __future__ import annotations

import enum
from collections.abc import Generator
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from ....models.arrays import FloatArray
from ....models.views import SimplexQP
from ...interface.algorithm import integers_and_floats, named_scalars
from ...interface.by_reference import by_reference
from ..answer import relative
from ..column_cache import ColumnCache
from ..newton.exact import Finish
from . import simplex_loops as loops

__all__ = [
    "FINISH_FROM", "LEAST_GAIN", "NewtonUse", "Phase", "SmoState", "SmoWork", "make_work", "move", "newton_seconds",
    "next_violators", "pair_seconds", "refresh",
]  # fmt: skip

#: Relative gap from which the finisher is considered, decade by decade: before, the support is not known well enough.
FINISH_FROM = 1.0
#: Pairs between two looks, at least and for each point, and the share of the gap that they must have gained.
_LOOK, _LOOK_EACH, LEAST_GAIN = 100_000, 100, 1e-3
#: Runs that the finisher by conjugate gradients may have.
_INEXACT_RUNS = 2

#: Numbers of the iteration: steps, the column that is missing, steps that emptied a point, clock of the cache; ½a'Qa + c'a, c'a
#: and the gap a'∇ - Σ min ∇.
_SCALARS = integers_and_floats("iteration missing drops clock", "objective linear gap")


@by_reference
class SmoWork(NamedTuple):
    """The iteration: arrays and numbers that compiled code changes in place."""

    columns: Any  #: (slots, n)
    slot: Any  #: (n,)
    stamp: Any  #: (slots,)
    diagonal: Any  #: (n,)
    c: Any  #: (n,)
    a: Any  #: (n,)
    g: Any  #: (n,) ∇ = Qa + c
    members: Any  #: (n,) variables sorted by simplex
    offset: Any  #: (G + 1,) where each simplex begins in ``members``
    support: Any  #: (n,) the support of simplex s from offset[s] on, unordered
    size: Any  #: (G,) support sizes
    place: Any  #: (n,) place in ``support`` or -1
    live: Any  #: (n,) float32: 1 on the support, else 0
    vertex: Any  #: (G,) argmin ∇ of each simplex
    gain: Any  #: room for a block, float32
    now: Any  #: the numbers, by name (`_SCALARS`)


class Phase(enum.Enum):
    """The phase of a run."""

    LOW_RANK = "low-rank start"
    PAIRS = "pair steps"
    FACTORED = "Newton steps by a factor"
    CONJUGATE = "Newton steps by conjugate gradients"


@dataclass
class NewtonUse:
    """The use of the finishers: guesses of the support, runs left to conjugate gradients, the gap of the last try."""

    guesses: int = 0
    inexact_left: int = _INEXACT_RUNS
    tried: float = float("inf")


@dataclass(eq=False)
class SmoState:
    """A run: what it works on, the phase it is in, and how far its numbers can be trusted.

    In every phase but that of pairs ``steps`` is the work of that phase, which yields points on its way.
    """

    view: SimplexQP
    tol: float
    limit: int
    cache: ColumnCache
    work: SmoWork
    memory: int
    phase: Phase = Phase.PAIRS
    steps: Generator[Finish | None, None, Finish] | None = None
    began: Phase = Phase.PAIRS  #: what the point comes from that pairs or finishers went on with
    step: str = ""  #: kind of the last step
    rate: float = 1e4  #: iterations per second, as measured
    exact: bool = True  #: the gradient is float64 from the data
    refreshes: int = 0
    last_gap: float = float("inf")  #: the least relative gap of all refreshes that did not end the run
    next_look: int = 0  #: iteration at which a run that neither pauses nor ends is looked at in float64
    seen: float = float("inf")  #: the float64 objective at the last such look
    marks: list[tuple[float, int]] = field(default_factory=list)  #: (relative gap, iteration) at every refresh or decade
    newton: NewtonUse = field(default_factory=NewtonUse)

    @property
    def gap(self) -> float:
        """The relative gap, by the loop's own numbers."""
        return relative(float(self.work.now.objective), float(self.work.now.gap))

    def begin(self, phase: Phase, steps: Generator[Finish | None, None, Finish]) -> None:
        """Go over to a phase of Newton steps."""
        self.phase, self.steps = phase, steps

    def end(self) -> Phase:
        """Back to pairs; gives the phase that ended."""
        ended, self.phase, self.steps = self.phase, Phase.PAIRS, None
        return ended

    def look_later(self) -> None:
        """The next look after so many more pairs."""
        self.next_look = int(self.work.now.iteration) + max(_LOOK, _LOOK_EACH * self.view.n)

    def mark(self, gap: float) -> None:
        """Note the gap at the present iteration."""
        self.marks.append((gap, int(self.work.now.iteration)))


def move(state: SmoState, point: Finish) -> None:
    """Replace point and gradient by a finisher's."""
    set_point(state.work, point.a)
    state.work.g[:] = point.gradient
    state.step, state.exact = "newton", point.exact
    loops.vertices(state.work)
    loops.restore(state.work)


def newton_seconds(n: int, size: int) -> float:
    """Rough cost of the finisher: a factor of Q_SS (seldom a second one), and four products with all columns of S."""
    return 1.5 * size**3 / 3.0 / 5e10 + 4.0 * 5e-9 * n * size


def pair_seconds(state: SmoState, gap: float) -> float:
    """Rough cost of the pairs still expected: twice as many for each decade of the gap as the last decade took.

    Pairs that only bring a point in, one for each point of the support, are not counted to the first decade.
    """
    entries = int(state.work.size.sum()) if len(state.marks) == 1 else 0
    marks = [(10.0 * FINISH_FROM, min(entries, state.marks[0][1])), *state.marks]
    (before, begin), (after, now) = marks[-2], marks[-1]
    decades = max(np.log10(before / max(after, 1e-300)), 0.1)
    left = max(np.log10(gap / state.tol), 0.0)
    return float(2.0 * (now - begin) / decades * left * (2e-9 * state.view.n + 5e-6))


def make_work(view: SimplexQP, cache: ColumnCache, a: FloatArray, gradient: FloatArray) -> SmoWork:
    """The iteration at the point a with its gradient."""
    n, groups = view.n, view.simplices
    work = SmoWork(
        columns=cache.columns,
        slot=cache.slot,
        stamp=cache.stamp,
        diagonal=np.ascontiguousarray(view.gram.diagonal),
        c=np.ascontiguousarray(view.c, dtype=np.float64),
        a=a.copy(),
        g=np.ascontiguousarray(gradient),
        members=np.argsort(view.groups, kind="stable").astype(np.int64),
        offset=np.concatenate([[0], np.cumsum(np.bincount(view.groups, minlength=groups))]).astype(np.int64),
        support=np.zeros(n, dtype=np.int64),
        size=np.zeros(groups, dtype=np.int64),
        place=np.full(n, -1, dtype=np.int64),
        live=np.zeros(n, dtype=np.float32),
        vertex=np.zeros(groups, dtype=np.int64),
        gain=np.empty(loops.BLOCK, dtype=np.float32),
        now=named_scalars(_SCALARS),
    )
    set_point(work, a)
    return work


def set_point(work: SmoWork, a: FloatArray) -> None:
    """Replace the point (not the gradient): weights and support lists."""
    work.a[:] = a
    work.place[:] = -1
    work.live[:] = a > 0
    for s in range(work.size.size):
        inside = work.members[work.offset[s] : work.offset[s + 1]]
        positive = inside[a[inside] > 0]
        first = int(work.offset[s])
        work.support[first : first + positive.size] = positive
        work.place[positive] = np.arange(first, first + positive.size)
        work.size[s] = positive.size


def refresh(state: SmoState) -> None:
    """Σa = 1 exactly in every simplex, ∇ in float64 from the data, and with it objective and gap."""
    work, view = state.work, state.view
    if not state.exact:
        work.a[:] /= np.bincount(view.groups, weights=work.a, minlength=view.simplices)[view.groups]
        work.g[:] = view.gram.product(work.a) + view.c
        state.exact = True
        state.refreshes += 1
    loops.vertices(work)
    loops.restore(work)


def next_violators(work: SmoWork, missing: int, count: int) -> np.ndarray:
    """The missing index and the uncached ones with the least gradient, ``count`` in all."""
    g = np.where(work.slot < 0, work.g, np.inf)
    g[missing] = -np.inf
    lowest = np.argpartition(g, count - 1)[:count] if count < g.size else np.arange(g.size)
    return np.asarray(lowest[g[lowest] < np.inf])
