"""Options of exact searches: limits and their division into batches of nodes, paths of files, and problems solved before."""

from __future__ import annotations

import math
import os
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias

from ...errors import InputError
from ...files import check_target
from ...models.model import Model, fingerprint
from ..certification.result import Result
from ..records import Options
from .check.checker import ProofChecker

#: Seconds by which a node may exceed the deadline; share of the remaining time that is planned at once.
_GRACE, _PLANNED_SHARE = 0.1, 0.25
#: Cautious estimate of the seconds of a first node, per point and coordinate.
_SECONDS_PER_ENTRY = 2e-5


@dataclass(frozen=True)
class Limits:
    """The tolerance and the limits of a search."""

    tol: float = 1e-6
    nodes: int | None = None
    memory: float | None = None
    deadline: float = math.inf  #: value of ``time.perf_counter``; the preparation of a search observes it too

    @property
    def expired(self) -> bool:
        """True if the deadline has passed."""
        return time.perf_counter() >= self.deadline

    @classmethod
    def of(cls, options: Options, default_tol: float) -> Limits:
        """Return the limits of a run that begins now."""
        deadline = math.inf if options.time_limit is None else time.perf_counter() + options.time_limit
        return cls(options.tolerance(default_tol), options.node_limit, options.memory_limit, deadline)

    def nodes_left(self, nodes: int) -> float:
        """Return the number of nodes that a search of ``nodes`` nodes may still explore; ∞ without a limit."""
        return math.inf if self.nodes is None else self.nodes - nodes

    def memory_or(self, default: float) -> float:
        """Return the memory limit in bytes, or the default without one."""
        return default if self.memory is None else self.memory


@dataclass(eq=False)
class NodeRate:
    """An estimate of the number of nodes that fit before the deadline, from the time of the last ones.

    Nodes may become several times slower as the sets of points grow, so only a quarter of the remaining time is planned at once.
    """

    limits: Limits
    seconds: float  #: estimate for one node

    @classmethod
    def guessed(cls, limits: Limits, size: int) -> NodeRate:
        """Return the estimate before the first node, for ``size`` points × coordinates."""
        return cls(limits, _SECONDS_PER_ENTRY * size)

    @property
    def late(self) -> bool:
        """True if one more node would end well after the deadline."""
        return time.perf_counter() + self.seconds > self.limits.deadline + _GRACE

    def nodes(self, limit: int) -> int:
        """Return the number of nodes to process next, between one and ``limit``."""
        if self.limits.deadline == math.inf:
            return limit
        remaining = max(self.limits.deadline - time.perf_counter(), 0.0)
        return max(min(limit, int(_PLANNED_SHARE * remaining / max(self.seconds, 1e-9))), 1)

    def took(self, begin: float, nodes: int) -> None:
        """Update the estimate after ``nodes`` nodes since the time ``begin``."""
        self.seconds = (time.perf_counter() - begin) / max(nodes, 1)


def check_path(name: str, value: object, content: str) -> None:
    """Check an option that is the path of a file to be written, or None.

    Raises
    ------
    InputError
        The value is no path.
    WriteError
        No file can be written there.
    """
    if value is None:
        return
    if not isinstance(value, str | os.PathLike):
        raise InputError(f"{name} must be the path of {content} to be written; it is {value!r}", name=name)
    check_target(value, content)


#: A solved model with its result, or with a proof log.
SolvedPair: TypeAlias = "tuple[Model, Result | str | Path]"


def solved_pairs(earlier: object) -> tuple[SolvedPair, ...]:
    """Return the pairs of the option ``earlier``, which is one pair or a sequence of them."""
    items = earlier if isinstance(earlier, Sequence) and not isinstance(earlier, str) else (earlier,)
    if len(items) == 2 and isinstance(items[0], Model):
        items = (items,)  # one pair
    pairs: list[SolvedPair] = []
    for item in items:
        pair = tuple(item) if isinstance(item, Sequence) and not isinstance(item, str) else (item,)
        if len(pair) != 2 or not isinstance(pair[0], Model) or not isinstance(pair[1], Result | str | Path):
            raise InputError(
                "earlier must hold pairs (model, result) or (model, path of a proof log); it holds "
                f"{' and '.join(type(part).__name__ for part in pair) or 'an empty sequence'}",
                name="earlier",
            )
        pairs.append((pair[0], pair[1]))
    return tuple(pairs)


def earlier_bound(checker: ProofChecker[Any], model: Model, evidence: Result | str | Path) -> float:
    """Return the proved lower bound of a solved model, -∞ without a proof.

    A result proves its bound if it was judged in this process, is of these data and was not changed since; any other one through
    its proof log. A log is verified.
    """
    if isinstance(evidence, Result):
        digest = fingerprint(model)
        if evidence.digest != digest:
            raise InputError(f"earlier has a result of other data or parameters than its model, {model.name}", name="earlier")
        if digest and evidence.registered_bound > -math.inf:
            return evidence.registered_bound
        if not evidence.answer.proof:
            return -math.inf
    log = evidence.answer.proof if isinstance(evidence, Result) else evidence
    report = checker.check(log, model)
    if report.valid:
        return report.bound
    if not isinstance(evidence, Result):
        raise InputError(f"earlier has a log that proves no bound of its model, {log}: {report.message}", name="earlier")
    return -math.inf
