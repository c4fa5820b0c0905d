"""Pairs within working sets of many points on one simplex, where the low-rank start is not worth its rounds.

One simplex is a box with one equality, Σa = 1, on which `BoxSMO` begins with working sets and lets points that no violating pair
needs leave. The violation asked for follows the objective, which falls by orders of magnitude from a vertex on.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from ....models.arrays import FloatArray
from ....models.views import BoxEqualityQP, SimplexQP
from ...interface.algorithm import Outcome
from ...records import Options
from ..newton.exact import Finish
from .box import BoxSMO, BoxState, refresh, restored

#: Seconds between two looks at the objective; the violation asked for, as a share of the tolerance: the gap is some of it.
_SECONDS, _SHARE = 0.02, 1.5


@dataclass(frozen=True, eq=False)
class WorkingSets:
    """A run of `BoxSMO` on one simplex.

    Parameters
    ----------
    algorithm : BoxSMO
    state : BoxState
    """

    algorithm: BoxSMO
    state: BoxState

    @classmethod
    def at(cls, view: SimplexQP, a: FloatArray, algorithm: BoxSMO, tol: float, limit: int) -> WorkingSets:
        """Begin at a feasible point; at most ``limit`` pairs."""
        box = BoxEqualityQP(view.gram, view.c, np.ones(view.n), np.ones(view.n), view.label, total=1.0)
        options = Options(tol=tol, iteration_limit=limit, start={view.label: a})
        return cls(algorithm, algorithm.init(box, options, np.random.default_rng(0)))

    @property
    def pairs(self) -> int:
        """Pair steps so far."""
        return int(self.state.work.scalars.iteration)

    @property
    def columns(self) -> int:
        """Kernel columns computed so far."""
        return self.state.cache.computed

    def steps(self) -> Iterator[None]:
        """Work to the end: a gap within the tolerance, the limit, or no progress in float32."""
        state = self.state
        while self.algorithm.advance(state, _SECONDS) is Outcome.RUNNING:
            state.epsilon = min(state.epsilon, _SHARE * state.tol * abs(float(state.work.scalars.objective)))
            yield

    def point(self) -> Finish:
        """Return the point with its gradient in float64 from the data."""
        refresh(self.state)
        work = self.state.work
        return Finish(restored(self.state, work.a), restored(self.state, work.d * work.s), 0, exact=True)
