"""Hand-written algorithms: parameters, a state, one step at a time, on one shared driver.

A concrete algorithm is a frozen data class whose fields are its parameters. It is written like the paper: ``init``
makes the state (whose fields carry the paper's symbols), ``advance`` works for about a budget of seconds, ``measure``
says where it stands. Stopping, time, trace, callback, progress, interruption and the rest of the answer are the driver's
(`solvers.interface.driver`), for every algorithm alike.
"""

from __future__ import annotations

import enum
from abc import abstractmethod
from collections.abc import Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Generic, TypeVar, cast

import numpy as np

from ...models.kernels.threads import pooled
from ...models.model import Model
from ..records.answer import Answer
from ..records.options import Options
from .solver import Problem, Solver, SolverInfo

if TYPE_CHECKING:
    from ..judging.result import Result

__all__ = ["Algorithm", "Measure", "Outcome"]

V = TypeVar("V")
S = TypeVar("S")


class Outcome(enum.Enum):
    """What one call of ``advance`` says about the run."""

    RUNNING = "more to do"
    CONVERGED = "the algorithm's own stopping rule holds"
    STALLED = "no further progress in floating-point arithmetic"
    STATIONARY = "a stationary point of a nonconvex problem"
    INFEASIBLE = "no feasible point exists"
    ITERATION_LIMIT = "the iteration limit was reached"
    NODE_LIMIT = "the node limit was reached"
    MEMORY_LIMIT = "the memory limit was reached"


@dataclass(frozen=True)
class Measure:
    """Where a run stands: running values that cost (next to) nothing; the certificate is recomputed later.

    ``objective`` and ``bound`` are in the form's minimisation sense; NaN or -inf where there is none. An algorithm whose runs
    repeat says with ``checkpoint`` whether it stands where a repeated run stands too: only then the trace takes a row.
    """

    iteration: int
    objective: float
    bound: float = float("-inf")
    active: int = -1
    columns: int = -1
    step: str = ""
    checkpoint: bool = True


class Algorithm(Solver, Generic[V, S]):
    """A hand-written algorithm on a view ``V`` with a state ``S``.

    Attributes
    ----------
    pooled : bool
        Whether its time goes into kernel blocks, which ``threads`` threads share while BLAS has one in each (`models.kernels`).
    """

    info: ClassVar[SolverInfo]
    pooled: ClassVar[bool] = False

    def load(self, view: V) -> None:
        """Import and compile what a run on this view needs, once a process: it counts as building, not against the time limit."""
        return

    @abstractmethod
    def init(self, view: V, options: Options, rng: np.random.Generator) -> S:
        """The state before the first step. ``options.start`` holds values to start from, where the user gave some."""

    @abstractmethod
    def advance(self, state: S, seconds: float) -> Outcome:
        """Work on for about ``seconds``; must return within a few times that, and leave the state consistent."""

    @abstractmethod
    def measure(self, state: S) -> Measure:
        """Where the run stands."""

    @abstractmethod
    def answer(self, state: S) -> Answer:
        """The current point, feasible and usable whenever ``advance`` has returned.

        With multipliers, bound and whatever is peculiar to the algorithm; status, objective, iterations, trace and times are the
        driver's. ``bound`` (with ``proved``) only where the algorithm carries a valid bound that the model cannot recompute from
        a point.
        """

    def path_order(self, parameter: str, values: Sequence[Any]) -> Sequence[int]:
        """In which order a path solves its values: as given, unless the algorithm gains by another one."""
        return range(len(values))

    def carried_over(self, solved: Sequence[tuple[Model, Result]]) -> Mapping[str, Any]:
        """Native options by which the next problem of a path uses those solved before; none by default."""
        return {}

    def accept(self, native: Mapping[str, Any]) -> Algorithm[V, S]:
        """The same algorithm with parameters replaced by the user's native options; unknown names are an error."""
        from .native_options import replace_parameters

        return replace_parameters(self, native)

    def obstacle(self, problem: Problem) -> str | None:
        """Algorithms need a model with one of their views."""
        needed = " or ".join(view.__name__ for view in self.info.views)
        if problem.model is None:
            return f"it reads the structural view {needed}, which a bare form does not have"
        if self.view_of(problem) is None:
            return f"it reads the structural view {needed}, which {problem.name} does not have"
        return None

    def view_of(self, problem: Problem) -> V | None:
        """The first view that both the algorithm and the model know."""
        if problem.model is None:
            return None
        for kind in self.info.views:
            view: object = problem.model.view(kind)
            if view is not None:
                return cast("V", view)
        return None

    def run(self, problem: Problem, options: Options) -> Answer:
        """Drive the algorithm to its end (`solvers.interface.driver.drive`)."""
        from .driver import drive

        with pooled(options.threads) if self.pooled else nullcontext():
            return drive(self, problem, options)
