"""The status of a result in the words of other packages, and a check that its point is the same in theirs."""

from __future__ import annotations

import numpy as np

from ...models.importing.proof import Import
from ...models.importing.source import AGREEMENT, Ending, Recipient, Returned
from ..records.status import Status
from .judgement import Judgement

__all__ = ["difference", "foreign_ending"]

_ENDINGS = {
    Status.OPTIMAL: Ending.OPTIMAL,
    Status.STATIONARY: Ending.STATIONARY,
    Status.INFEASIBLE: Ending.INFEASIBLE,
    Status.UNBOUNDED: Ending.UNBOUNDED,
    Status.TIME_LIMIT: Ending.TIME_LIMIT,
    Status.ITERATION_LIMIT: Ending.ITERATION_LIMIT,
    Status.NODE_LIMIT: Ending.NODE_LIMIT,
    Status.MEMORY_LIMIT: Ending.MEMORY_LIMIT,
    Status.INTERRUPTED: Ending.INTERRUPTED,
    Status.FAILED: Ending.FAILED,
}
#: Violation, relative, up to which a point that is no proved optimum goes back as an inaccurate one.
_INACCURATE = 1e-4


def foreign_ending(result: Judgement) -> Ending:
    """Return how a result ended.

    A claim of infeasibility or unboundedness that its ray does not support is one of the two, undecided. A point that is not
    near its constraints is none, however the solver calls it.
    """
    if result.status in _ENDINGS:
        return _ENDINGS[result.status]
    if result.claim.status in (Status.INFEASIBLE, Status.UNBOUNDED):
        return Ending.INFEASIBLE_OR_UNBOUNDED
    near = result.certificate is not None and result.certificate.feasible(_INACCURATE)
    return Ending.INACCURATE if near else Ending.FAILED


def difference(recipient: Recipient, returned: Returned) -> str:
    """Return the first expression of the package's program whose value at the answer is not that here; empty where all agree."""
    source = recipient.source
    if source is None or not returned.values:
        return ""
    record = Import.of(source)
    x = source.form.join(returned.values)
    text = record.disagreement or record.at(x)
    here, there = returned.objective, source.form.objective(x)
    if not text and np.isfinite(here) and abs(here - there) > AGREEMENT * max(abs(here), source.ours(record.own(x)).size):
        text = f"the objective (minimised) is {there:.10g} there and {here:.10g} in the result"
    return f"{source.package} has another program than was solved: {text}" if text else ""
