"""`sparse-bb`: the exact solver of sparse linear classifiers, on the shared driver."""

from __future__ import annotations

import functools
import math
import time
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from ...errors import InputError
from ...models.formulations.margin.problems import SparseProblem
from ...models.views import LinearLoss
from ..exact.limits import Limits, check_path
from ..interface.algorithm import Algorithm, Measure, Outcome
from ..interface.solver import Gives, Purpose, SolverInfo
from ..records import Answer, Options

if TYPE_CHECKING:
    from .log import ProofLog
    from .search import Search

__all__ = ["SparseBB", "SparseState"]


@dataclass(eq=False)
class SparseState:
    """The search, its limits and its log."""

    search: Search
    limits: Limits
    log: ProofLog | None = None


@dataclass(frozen=True, eq=False)
class SparseBB(Algorithm[SparseProblem, SparseState]):
    """Exact branch and bound over the supports of linear classifiers: at most k coefficients, or a price for each.

    A node decides for some features that they are in use or 0. It is bounded by one dual point of its perspective relaxation,
    which an interior point method solves on the features that matter. The same point decides features whose other choice costs
    more than the incumbent. Incumbents come from rounding, exact refits and swaps.

    Parameters
    ----------
    proof : str, optional
        Path of a proof log that `check_proof` verifies, also where a limit ends the search.
    """

    proof: str | None = None

    pooled: ClassVar[bool] = True  # small dense algebra: a second BLAS thread costs more than it brings
    compiling: ClassVar[float] = 6.0
    info: ClassVar[SolverInfo] = SolverInfo(
        name="sparse-bb",
        rank={Purpose.STRUCTURE: 13},
        summary="exact branch and bound for classifiers with few coefficients: supports, perspective relaxation",
        views=(SparseProblem,),
        gives=frozenset({Gives.BOUND, Gives.TRACE, Gives.WARM_START, Gives.INTERRUPT}),
        tolerance=1e-6,
        reference="docs/how-to/sparse.md",
    )

    def __post_init__(self) -> None:
        check_path("proof", self.proof, "the proof log")

    def load(self, view: SparseProblem) -> None:
        """Compile the loops, or load them from Numba's cache on disk."""
        _load()

    def init(self, view: SparseProblem, options: Options, rng: np.random.Generator) -> SparseState:
        """Drop points of cost 0, and take the start."""
        from .log import ProofLog
        from .search import Search

        keep = view.costs > 0.0
        problem = replace(view, A=np.ascontiguousarray(view.A[keep]), costs=view.costs[keep])
        limits = Limits.of(options, self.info.tolerance or 0.0)
        log = None if self.proof is None else ProofLog(str(self.proof), problem)
        search = Search(problem, limits.tol, None if log is None else log.append)
        if options.start is not None and "w" in options.start:
            w, p = np.asarray(options.start["w"], dtype=np.float64), view.price.size
            if w.shape != (p,) or not np.isfinite(w).all():
                raise InputError(f"start['w'] must hold {p} finite numbers; it has shape {w.shape}")
            search.offer(w)
        return SparseState(search, limits, log)

    def advance(self, state: SparseState, seconds: float) -> Outcome:
        """Process nodes for about ``seconds``, one at least."""
        search, limits, end = state.search, state.limits, time.perf_counter() + seconds
        while search.open_nodes and search.bound < search.cut:
            if limits.nodes_left(search.nodes) <= 0:
                return Outcome.NODE_LIMIT
            if search.memory > limits.memory_or(math.inf):
                return Outcome.MEMORY_LIMIT
            search.step()
            if state.log is not None and state.log.fault is not None:
                return Outcome.UNWRITTEN
            if time.perf_counter() >= min(end, limits.deadline):
                break
        if search.open_nodes and search.bound < search.cut:
            return Outcome.RUNNING
        # a node that arithmetic cannot close leaves a bound below the cutoff
        return Outcome.CONVERGED if search.bound >= search.cut - search.tol * abs(search.value) else Outcome.STALLED

    def measure(self, state: SparseState) -> Measure:
        """Incumbent, proved bound, nodes and open nodes."""
        search = state.search
        return Measure(search.nodes, search.value, search.bound, search.open_nodes)

    def answer(self, state: SparseState) -> Answer:
        """The incumbent, and the proved bound."""
        search = state.search
        details: dict[str, object] = {"value": search.value, "proved_bound": search.bound, "open_nodes": search.open_nodes}
        unwritten = None
        if state.log is not None:
            state.log.finish(search.bound, search.w)
            details["proof"], unwritten = str(self.proof), state.log.fault
        return Answer(
            values={"w": search.w}, bound=search.bound, proved=True, nodes=search.nodes, write_error=unwritten, details=details
        )  # fmt: skip


@functools.cache
def _load() -> None:
    """Solve a small problem with each loss, so that every compiled loop is there."""
    from .search import Search

    A = np.array([[0.0, 1.0], [1.0, 0.0], [-1.0, -1.0], [2.0, 1.0], [0.0, -2.0]])
    one = np.ones(2)
    for loss in LinearLoss:
        problem = SparseProblem(A, np.ones(5), loss, one, 0.0 * one, -np.inf * one, np.inf * one, one > 0.0, 1)
        search = Search(problem, 1e-6)
        while search.open_nodes and search.bound < search.cut:
            search.step()
