"""Bounds of problems solved before, as the option ``earlier`` of an exact search: pairs of a model and what proves its bound."""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any, TypeAlias

from ...errors import InputError
from ...models.model import Model, fingerprint
from ..certification.result import Result
from .check.checker import ProofChecker

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
        if digest and evidence.judged_bound > -math.inf:
            return evidence.judged_bound
        if not evidence.answer.proof:
            return -math.inf
    log = evidence.answer.proof if isinstance(evidence, Result) else evidence
    report = checker.check(log, model)
    if report.valid:
        return report.bound
    if not isinstance(evidence, Result):
        raise InputError(f"earlier has a log that proves no bound of its model, {log}: {report.message}", name="earlier")
    return -math.inf
