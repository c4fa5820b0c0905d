"""One vocabulary for how a solve ended; the value of each status is its message."""

from __future__ import annotations

import enum

__all__ = ["Status"]


class Status(enum.Enum):
    """The end of a solve, as judged after the certificate was recomputed."""

    OPTIMAL = "optimal to the tolerance"
    INACCURATE = "the certificate does not support the solver's claim to the tolerance"
    STATIONARY = "stationary point of a nonconvex problem; no global claim"
    INFEASIBLE = "no feasible point exists"
    UNBOUNDED = "the objective is unbounded"
    TIME_LIMIT = "stopped at the time limit; the point and the bound are the best found"
    ITERATION_LIMIT = "stopped at the iteration limit; the point and the bound are the best found"
    NODE_LIMIT = "stopped at the node limit; the point and the bound are the best found"
    MEMORY_LIMIT = "stopped at the memory limit; the point and the bound are the best found"
    INTERRUPTED = "interrupted; the point and the bound are the best found"
    STALLED = "no further progress in floating-point arithmetic; the relative gap says how good the point is"
    FAILED = "the solver ended without a point that can be certified"

    def __reduce_ex__(self, protocol: object) -> tuple[object, ...]:
        return getattr, (Status, self.name)  # by its name: sentences change

    @property
    def solved(self) -> bool:
        """Return whether the answer that was asked for was reached."""
        return self in (Status.OPTIMAL, Status.STATIONARY)

    @property
    def stopped(self) -> bool:
        """Return whether a limit or the user ended the run."""
        return self in (
            Status.TIME_LIMIT,
            Status.ITERATION_LIMIT,
            Status.NODE_LIMIT,
            Status.MEMORY_LIMIT,
            Status.INTERRUPTED,
        )

    @property
    def message(self) -> str:
        """The sentence that explains the status."""
        return self.value

    def __str__(self) -> str:
        return self.name.lower().replace("_", " ")
