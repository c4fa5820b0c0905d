"""The first cell of an instance at one λ: its sizes, and the classifier that the heuristic finds on it."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import Any

from ....models.formulations.linear import has_constant_column, linear_summary
from ...strengthening.incumbent import heuristic
from .record import Cell
from .task import Task

__all__ = ["HeuristicTask", "InstanceCell"]


@dataclass(frozen=True)
class InstanceCell(Cell):
    """An instance at one λ, and the classifier that the heuristic found on it.

    Parameters
    ----------
    source : str
    n, p : int
        Points; features, a constant column not counted.
    intercept : bool
        Whether X has a constant column.
    positives : int
        Points labelled +1.
    objective : float
        True 0-1 objective of the heuristic's classifier: the upper bound UB behind tightened M.
    violations, misclassified : int
        Points with u < 1, and with u < 0, under it.
    seconds : float
        The heuristic's time.
    """

    source: str
    n: int
    p: int
    intercept: bool
    positives: int
    objective: float
    violations: int
    misclassified: int
    seconds: float


@dataclass(frozen=True, eq=False)
class HeuristicTask(Task):
    """The heuristic's classifier on an instance at one λ."""

    @property
    def kind(self) -> str:
        """The store's name."""
        return "instance"

    @property
    def label(self) -> str:
        """For progress."""
        return "heuristic"

    def compute(self, threads: int | None) -> tuple[dict[str, Any], bool]:
        """Rounding and local search."""
        model = self.model
        begin = time.perf_counter()
        w, objective = heuristic(model, self.options.seed)
        seconds = time.perf_counter() - begin
        figures = linear_summary(model.X, model.y, w)
        constant = has_constant_column(model.X)
        cell = InstanceCell(
            self.name, self.lam, self.source, model.X.shape[0], model.X.shape[1] - constant, constant,
            int((model.y > 0).sum()), objective, int(figures["margin_violations"]), int(figures["misclassified"]), seconds,
        )  # fmt: skip
        return {"cell": cell.record(), "w": w.tolist()}, True

    def told(self, record: dict[str, Any]) -> str:
        """Objective and seconds."""
        cell = record["cell"]
        return f"{self.where}: {cell['n']} points, heuristic: objective {cell['objective']:.7g} ({cell['seconds']:.1f} s)"
