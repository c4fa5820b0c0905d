"""Compare a measured number with the published one, cell by cell: inside one published standard deviation, above or below."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, TypeAlias

import numpy as np

from .record import MeasuredNumber, PaperCell, PublishedNumber, Results, Run

#: Reason why times are shown and not judged.
OTHER_MACHINE = "another machine"
#: Reason why a cell has no number although its data are at hand.
NOT_RUN = "Its data are at hand; this run of the pages left it out."

#: A function of runs with their records; None where the records give no number.
Summary: TypeAlias = Callable[[Sequence[tuple[Run, Mapping[str, Any]]]], MeasuredNumber | None]


class Verdict(StrEnum):
    """The relation of a measured mean to a published one."""

    INSIDE = "inside"
    ABOVE = "above"
    BELOW = "below"
    UNJUDGED = "not judged"
    UNPUBLISHED = "not published"
    MISSING = "not run"


def mean_summary(name: str, scale: float = 1.0) -> Summary:
    """Return a function: the mean and deviation of the field ``name`` over records, times ``scale``; None values are left out."""

    def summary(records: Sequence[tuple[Run, Mapping[str, Any]]]) -> MeasuredNumber | None:
        values = scale * np.array([record[name] for _, record in records if record[name] is not None], dtype=np.float64)
        if not values.size:
            return None
        return MeasuredNumber(float(values.mean()), float(values.std(ddof=1)) if values.size > 1 else None, values.size)

    return summary


@dataclass(frozen=True)
class ComparedCell:
    """A cell of a published table with the number measured for it, or the reason why there is none.

    Parameters
    ----------
    paper_cell : PaperCell
    value : MeasuredNumber or None
    planned_runs, done_runs : int
        Runs that the effort asks for, and those that were done.
    reason : str
        Why there is no value; empty where there is one, or too few runs for one.
    made : str
        Date and time of the earlier run that measured it; empty for the present run.
    """

    paper_cell: PaperCell
    value: MeasuredNumber | None
    planned_runs: int
    done_runs: int
    reason: str
    made: str = ""

    @property
    def has_number(self) -> bool:
        """Return whether there is a published or a measured number to show."""
        return self.value is not None or self.paper_cell.published is not None

    @property
    def verdict(self) -> Verdict:
        """Return the verdict; inside: the mean is at most one published deviation, or half the last digit's unit, away."""
        if self.value is None:
            return Verdict.MISSING
        there = self.paper_cell.published
        if there is None:
            return Verdict.UNPUBLISHED
        if not self.paper_cell.is_compared:
            return Verdict.UNJUDGED
        if abs(self.value.mean - there.value) <= _reach(there):
            return Verdict.INSIDE
        return Verdict.ABOVE if self.value.mean > there.value else Verdict.BELOW

    @property
    def equal_by_welch(self) -> bool | None:
        """Return whether Welch's test keeps the means equal; None where it cannot be made or the cell is not judged."""
        return equal_means(self.paper_cell.published, self.value) if self.paper_cell.is_compared else None

    @property
    def ratio(self) -> float | None:
        """Return measured over published; None without either, or where the published number is 0."""
        there = self.paper_cell.published
        return None if there is None or self.value is None or there.value == 0 else self.value.mean / there.value


def _reach(there: PublishedNumber) -> float:
    return max(there.deviation or 0.0, 0.5 * there.unit) * (1.0 + 1e-9)


#: Level of the two-sided Welch test.
WELCH_LEVEL = 0.05


def equal_means(published: PublishedNumber | None, measured: MeasuredNumber | None) -> bool | None:
    """Return whether Welch's test keeps the hypothesis of equal means; None without a deviation or a number of repetitions.

    The printed mean is any number that rounds to the printed digits, and the hypothesis is kept if the test keeps it for one of
    them. Two samples without a spread are equal if their means are, after rounding.
    """
    from scipy.stats import t

    if published is None or measured is None or published.deviation is None or measured.deviation is None:
        return None
    if published.repetitions is None or min(published.repetitions, measured.repetitions) < 2:
        return None
    distance = max(0.0, abs(measured.mean - published.value) - 0.5 * published.unit * (1.0 + 1e-9))
    parts = [published.deviation**2 / published.repetitions, measured.deviation**2 / measured.repetitions]
    error = math.sqrt(sum(parts))
    if error == 0.0:
        return distance == 0.0
    freedom = sum(parts) ** 2 / (parts[0] ** 2 / (published.repetitions - 1) + parts[1] ** 2 / (measured.repetitions - 1))
    return bool(2.0 * t.sf(distance / error, freedom) >= WELCH_LEVEL)


def compare_cell(paper_cell: PaperCell, results: Results, lacking: Mapping[Run, str]) -> ComparedCell:
    """Return a cell compared with the records of its runs; ``lacking`` maps runs without a record to the reasons."""
    records = [(run, results[run]) for run in paper_cell.runs if run in results]
    value = paper_cell.summary(records) if records else None
    reason = ""
    if value is None:
        reasons = [lacking[run] for run in paper_cell.runs if run in lacking]
        unavailable = [why for why in reasons if why != NOT_RUN]
        reason = next(iter((*unavailable, *((paper_cell.missing,) if paper_cell.missing else ()), *reasons)), "")
    return ComparedCell(paper_cell, value, len(paper_cell.runs), len(records), reason)
