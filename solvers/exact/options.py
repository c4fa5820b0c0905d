"""Options that several exact solvers share: tolerance and limits, paths of output files, problems solved before (``earlier=``).

``earlier`` holds pairs of a related model, solved before, and its result or proof log, whose proved bound may bound the new
model.
"""

from __future__ import annotations

import math
import os
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias

from ...errors import InputError, short_text
from ...files import check_target
from ...models.digest import fingerprint
from ...models.model import Model
from ..certification.result import Result
from ..records import Options
from .check.checker import ProofChecker


@dataclass(frozen=True)
class Limits:
    """Tolerance and limits of one run of an exact solver; None is no limit."""

    tol: float = 1e-6  #: relative gap at which the search ends
    nodes: int | None = None  #: largest number of nodes
    memory: float | None = None  #: largest memory of the open nodes in bytes
    deadline: float = math.inf  #: value of ``time.perf_counter`` at which the run ends, its preparation included

    @property
    def expired(self) -> bool:
        """True if the deadline has passed."""
        return time.perf_counter() >= self.deadline

    @classmethod
    def of(cls, options: Options, default_tol: float) -> Limits:
        """Return the limits of a run that begins now; ``default_tol`` holds where the options state no tolerance."""
        deadline = math.inf if options.time_limit is None else time.perf_counter() + options.time_limit
        return cls(options.tolerance(default_tol), options.node_limit, options.memory_limit, deadline)

    def nodes_left(self, nodes: int) -> float:
        """Return the number of nodes that may still be explored after ``nodes`` nodes; ∞ without a limit."""
        return math.inf if self.nodes is None else self.nodes - nodes

    def memory_or(self, default: float) -> float:
        """Return the memory limit in bytes, or the default without one."""
        return default if self.memory is None else self.memory


def check_path(name: str, value: object, content: str) -> None:
    """Check the option ``name``: the path of a file to be written, or None. ``content`` says in messages what the file holds.

    Raises
    ------
    InputError
        The value is not a path.
    WriteError
        No file can be written at the path.
    """
    if value is None:
        return
    if not isinstance(value, str | os.PathLike):
        raise InputError(f"{name} must be the path of {content} to be written; it is {short_text(value)}", name=name)
    check_target(value, content)


#: A solved model with its result, or with the path of a proof log.
SolvedPair: TypeAlias = "tuple[Model, Result | str | Path]"


def solved_pairs(earlier: object) -> tuple[SolvedPair, ...]:
    """Return the pairs of the option ``earlier``, one pair or a sequence of pairs; raise InputError for anything else."""
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
    """Return the lower bound of a solved model that its result or proof log proves; -∞ for a result without a proof.

    A result proves its bound if this process judged it, for these data, and it has not been changed. Any other result counts by
    its proof log, which ``checker`` verifies; an invalid log of a result counts as no proof.

    Raises
    ------
    InputError
        The result is of other data or parameters than the model, or a log that is given itself proves no bound of the model.
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
