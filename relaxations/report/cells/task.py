"""The cells of a gap report as tasks: each knows all that determines it, and computes its cell in any process."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

import numpy as np

from ....solvers.interface.solver import Solver
from ....solvers.records.answer import Status
from ....solvers.records.options import Options
from ...relax import bound_words
from .subject import Subject

__all__ = ["Task", "as_count", "as_number", "outcome", "worth_keeping"]

#: Layout of the stored records: cells of another one are computed anew.
LAYOUT = 2

#: What a task is about.
S = TypeVar("S", bound=Subject)


@dataclass(frozen=True, eq=False)
class Task(ABC, Generic[S]):
    """One cell to compute.

    Parameters
    ----------
    subject : Subject
        An instance at one λ, or a model.
    options : Options
    """

    subject: S
    options: Options

    @property
    @abstractmethod
    def kind(self) -> str:
        """The kind of the record in the store: "instance", "relaxation", "exact" or "kappa"."""

    @property
    @abstractmethod
    def label(self) -> str:
        """The kind of computation: tasks of one label take about as long."""

    @property
    def solvers(self) -> dict[str, Solver]:
        """The solvers that were asked for, by the labels that cells bear; ``auto`` is none of them."""
        return {}

    @property
    def parts(self) -> dict[str, Any]:
        """Return everything that determines the cell, for the store's key."""
        return {"layout": LAYOUT, **self.subject.parts, "options": self.options.record()}

    @abstractmethod
    def compute(self, threads: int | None) -> tuple[dict[str, Any], bool]:
        """The record to store (its ``cell`` beside whatever else later tasks need), and whether it is worth keeping.

        ``threads`` stands in for an unlimited number: a process's share of the machine.
        """

    @abstractmethod
    def told(self, record: dict[str, Any]) -> str:
        """The record in a few words, for the progress line."""

    def running(self, threads: int | None) -> Options:
        """The options of the solve."""
        return self.options.sharing(threads)


def worth_keeping(reason: str, status: str) -> bool:
    """Return whether a cell is stored: not where it could not run or was interrupted."""
    return not reason and status != str(Status.INTERRUPTED)


def as_number(value: float | None) -> float | None:
    """The number, or None where it is missing or not finite."""
    return float(value) if value is not None and np.isfinite(value) else None


def as_count(figures: Mapping[str, float], name: str) -> int | None:
    """A figure as an integer; None where it is missing."""
    return int(figures[name]) if name in figures else None


def outcome(cell: dict[str, Any], of: str = "the 0-1 optimum") -> str:
    """A cell's record in a few words."""
    if cell["reason"]:
        return f"not run: {cell['reason']}"
    caveat = cell.get("caveat", "")
    prefix = "target_" if caveat else ""
    bound = bound_words(cell[f"{prefix}bound"], cell[f"{prefix}kind"], caveat, of)
    point = f", incumbent {cell['incumbent']:.7g}" if cell.get("incumbent") is not None else ""
    return f"{cell['status']}, {bound}{point} ({cell['solve_seconds']:.2f} s)"
