"""The data of a gap report: stored cells, and what follows from them alone."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, TypeVar

from ...errors import InputError
from .cells.exact import ExactCell
from .cells.heuristic import InstanceCell
from .cells.kappa import KappaCell
from .cells.record import Cell, Key
from .cells.relaxation import RelaxationCell
from .gaps import Interval, audit, base_bound, best_known, gap, gap_closed, is_trivial, rank_verdict

__all__ = ["ReportData", "ReportRow"]

C = TypeVar("C", bound=Cell)

#: The relaxation of a stated model from which gap closed is measured.
CONTINUOUS = "continuous"


@dataclass(frozen=True)
class ReportRow:
    """One instance × relaxation with the figures that follow.

    Parameters
    ----------
    instance : InstanceCell
    relaxation : RelaxationCell
    zeta : Interval
        The optimum by all cells of the instance.
    gap, closed : Interval or None
        None where the relaxation bounds nothing of the 0-1 problem.
    verdict : str
        Of the rank-one check.
    """

    instance: InstanceCell
    relaxation: RelaxationCell
    zeta: Interval
    gap: Interval | None
    closed: Interval | None
    verdict: str


@dataclass(frozen=True, eq=False)
class ReportData:
    """Stored results of a gap report. Everything shown is a pure function of these fields.

    Parameters
    ----------
    instances, relaxations, exacts : tuple of cells
    meta : mapping
        Versions, machine, options, seeds, name of the base relaxation, times: plain values.
    kappas : tuple of KappaCell
        Of a sweep over κ.

    Raises
    ------
    InputError
        Instances of one name and λ, or cells of an instance that is not there.
    """

    instances: tuple[InstanceCell, ...]
    relaxations: tuple[RelaxationCell, ...]
    exacts: tuple[ExactCell, ...]
    meta: Mapping[str, Any] = field(default_factory=dict)
    kappas: tuple[KappaCell, ...] = ()

    def __post_init__(self) -> None:
        keys = [c.key for c in self.instances]
        if len(set(keys)) != len(keys):
            raise InputError(f"instances of a report need different names or λ: {keys}")
        strangers = {c.key for c in (*self.relaxations, *self.exacts)} - set(keys)
        if strangers:
            raise InputError(f"cells belong to instances that the report does not have: {sorted(strangers)}")
        unknown = {c.instance for c in self.kappas} - {c.instance for c in self.instances}
        if unknown:
            raise InputError(f"cells of a sweep over kappa belong to instances that the report does not have: {sorted(unknown)}")

    def relaxations_of(self, key: Key) -> list[RelaxationCell]:
        """Relaxation cells of one instance, in order."""
        return self._relaxations.get(key, [])

    def exacts_of(self, key: Key) -> list[ExactCell]:
        """Exact cells of one instance, in order."""
        return self._exacts.get(key, [])

    @cached_property
    def _relaxations(self) -> dict[Key, list[RelaxationCell]]:
        return _by_key(self.relaxations)

    @cached_property
    def _exacts(self) -> dict[Key, list[ExactCell]]:
        return _by_key(self.exacts)

    @cached_property
    def rows(self) -> tuple[ReportRow, ...]:
        """One row for each instance × relaxation."""
        return tuple(self._row(instance, cell) for instance in self.instances for cell in self.relaxations_of(instance.key))

    def _row(self, instance: InstanceCell, cell: RelaxationCell) -> ReportRow:
        zeta = self.best[instance.key]
        distance = closed = None
        if cell.bound is not None and cell.bounds_optimum:  # else there is nothing to be a gap of
            distance = gap(cell.bound, zeta)
            others = self.relaxations_of(instance.key)
            base = base_bound(others, str(self.meta.get("base", "")) if instance.lam is not None else CONTINUOUS)
            closed = None if base is None else gap_closed(cell.bound, base, zeta)
        return ReportRow(instance, cell, zeta, distance, closed, rank_verdict(cell))

    @cached_property
    def best(self) -> dict[Key, Interval]:
        """The optimum of each instance by all its cells together."""
        return {c.key: best_known(c, self.relaxations_of(c.key), self.exacts_of(c.key)) for c in self.instances}

    @cached_property
    def trivial(self) -> frozenset[Key]:
        """Instances of which no classifier is known that is better than the intercept alone; means leave them out."""
        return frozenset(c.key for c in self.instances if is_trivial(c, self.best[c.key]))

    @cached_property
    def contradictions(self) -> tuple[str, ...]:
        """Claims that other cells contradict (a bound above a feasible objective, optima that differ)."""
        return tuple(line for c in self.instances for line in audit(c, self.relaxations_of(c.key), self.exacts_of(c.key)))

    @cached_property
    def checksum(self) -> str:
        """SHA-256 of all cells: two reports with the same one show the same results."""
        cells = [[c.record() for c in part] for part in (self.instances, self.relaxations, self.exacts, self.kappas)]
        return hashlib.sha256(json.dumps(cells, sort_keys=True).encode("utf-8")).hexdigest()


def _by_key(cells: Iterable[C]) -> dict[Key, list[C]]:
    by_key: dict[Key, list[C]] = {}
    for cell in cells:
        by_key.setdefault(cell.key, []).append(cell)
    return by_key
