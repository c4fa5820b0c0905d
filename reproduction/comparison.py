"""A cell measured and judged: inside one published deviation, above or below."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

import numpy as np

from .record import Entry, Published, Results, Run, Value

#: Why times are not judged.
OTHER_MACHINE = "another machine"
#: The reason of a run whose data are there.
NOT_RUN = "Its data are at hand; this run of the pages left it out."

Summary = Callable[[Sequence[tuple[Run, Mapping[str, Any]]]], Value | None]


class Verdict(StrEnum):
    """The relation of a measured mean to a published one."""

    INSIDE = "inside"
    ABOVE = "above"
    BELOW = "below"
    UNJUDGED = "not judged"
    UNPUBLISHED = "not published"
    MISSING = "not run"


def mean_of(name: str, scale: float = 1.0) -> Summary:
    """Mean and deviation of a field of the records, times ``scale``; records in which it is None do not tell."""

    def summary(records: Sequence[tuple[Run, Mapping[str, Any]]]) -> Value | None:
        values = scale * np.array([record[name] for _, record in records if record[name] is not None], dtype=np.float64)
        if not values.size:
            return None
        return Value(float(values.mean()), float(values.std(ddof=1)) if values.size > 1 else None, values.size)

    return summary


@dataclass(frozen=True)
class ComparedCell:
    """A cell with what was measured.

    Parameters
    ----------
    entry : Entry
    value : Value or None
    planned : int
        Runs that the effort asks for.
    done : int
    reason : str
        Why there is no value; empty where there is one, or too few runs for one.
    made : str
        The time of the earlier run that measured it; empty for this one.
    """

    entry: Entry
    value: Value | None
    planned: int
    done: int
    reason: str
    made: str = ""

    @property
    def says_something(self) -> bool:
        """Return whether it is published or measured."""
        return self.value is not None or self.entry.published is not None

    @property
    def verdict(self) -> Verdict:
        """Inside: the mean is at most one published deviation away, or half the last printed digit's unit."""
        if self.value is None:
            return Verdict.MISSING
        there = self.entry.published
        if there is None:
            return Verdict.UNPUBLISHED
        if not self.entry.compared:
            return Verdict.UNJUDGED
        if abs(self.value.mean - there.value) <= _reach(there):
            return Verdict.INSIDE
        return Verdict.ABOVE if self.value.mean > there.value else Verdict.BELOW

    @property
    def equal(self) -> bool | None:
        """Return whether Welch's test keeps the means equal; None where it cannot be made or the cell is not judged."""
        return equal_means(self.entry.published, self.value) if self.entry.compared else None

    @property
    def ratio(self) -> float | None:
        """Measured over published."""
        there = self.entry.published
        return None if there is None or self.value is None or there.value == 0 else self.value.mean / there.value


def _reach(there: Published) -> float:
    return max(there.deviation or 0.0, 0.5 * there.unit) * (1.0 + 1e-9)


#: Level of the two-sided test.
LEVEL = 0.05


def equal_means(there: Published | None, here: Value | None) -> bool | None:
    """Return whether Welch's test keeps the hypothesis of equal means; None without a deviation or a number of repetitions.

    The printed mean is any number that rounds to the printed digits, and the hypothesis is kept if the test keeps it for one of
    them. Two samples without a spread are equal if their means are, after rounding.
    """
    from scipy.stats import t

    if there is None or here is None or there.deviation is None or here.deviation is None:
        return None
    if there.repetitions is None or min(there.repetitions, here.repetitions) < 2:
        return None
    distance = max(0.0, abs(here.mean - there.value) - 0.5 * there.unit * (1.0 + 1e-9))
    parts = [there.deviation**2 / there.repetitions, here.deviation**2 / here.repetitions]
    error = math.sqrt(sum(parts))
    if error == 0.0:
        return distance == 0.0
    freedom = sum(parts) ** 2 / (parts[0] ** 2 / (there.repetitions - 1) + parts[1] ** 2 / (here.repetitions - 1))
    return bool(2.0 * t.sf(distance / error, freedom) >= LEVEL)


def compare_cell(entry: Entry, results: Results, lacking: Mapping[Run, str]) -> ComparedCell:
    """Return the measurement of a cell with its verdict."""
    records = [(run, results[run]) for run in entry.runs if run in results]
    value = entry.summary(records) if records else None
    reason = ""
    if value is None:
        reasons = [lacking[run] for run in entry.runs if run in lacking]
        unavailable = [why for why in reasons if why != NOT_RUN]
        reason = next(iter((*unavailable, *((entry.missing,) if entry.missing else ()), *reasons)), "")
    return ComparedCell(entry, value, len(entry.runs), len(records), reason)
