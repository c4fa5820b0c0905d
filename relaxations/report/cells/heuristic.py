"""The first cell of an instance at one λ: its sizes, and the classifier that the heuristic finds on it."""

from __future__ import annotations

import re
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar, Self

from ....models.formulations.linear import has_constant_column, linear_summary
from ...strengthening.incumbent import heuristic
from .record import Cell
from .subject import InstanceAt
from .task import Task

__all__ = ["HeuristicTask", "InstanceCell"]


@dataclass(frozen=True)
class InstanceCell(Cell):
    """An instance at one λ (or a model as it was stated), and the classifier that the heuristic found on it.

    Parameters
    ----------
    source : str
    n, p : int or None
        Points; features, a constant column not counted. None for a program without points.
    intercept : bool
        Whether X has a constant column.
    positives : int or None
        Points labelled +1; None where there are no two classes.
    objective : float or None
        True objective of the heuristic's classifier: for the 0-1 loss the upper bound UB behind tightened M. None where none is
        known.
    violations, misclassified : int or None
        Points with u < 1, and with u < 0, under it.
    seconds : float
        The heuristic's time, without what was compiled.
    floor : float or None
        A lower bound of the optimum that needs no solving: 0 for costs that are none below it.
    family : str
        What it has in common with instances that differ in sizes and parameters alone; empty: its name.
    parameters : mapping of str to float
        What it was drawn with, but n and p.
    """

    source: str
    n: int | None
    p: int | None
    intercept: bool
    positives: int | None
    objective: float | None
    violations: int | None
    misclassified: int | None
    seconds: float
    floor: float | None = 0.0
    family: str = ""
    parameters: Mapping[str, float] = field(default_factory=dict, hash=False)

    added: ClassVar[Mapping[str, Any]] = {"floor": 0.0}

    @classmethod
    def from_record(cls, record: dict[str, Any]) -> Self:
        """Read a cell; one that was stored before ``family`` and ``parameters`` has them in its name alone."""
        if isinstance(record, dict) and "family" not in record:
            record = {**record, **_named_once(str(record.get("instance")))}
        return super().from_record(record)


def _named_once(name: str) -> dict[str, Any]:
    """Family and parameters of the names that instances had before these were fields: ``set[n=50, sigma=0.2]``."""
    parameters = re.findall(r"(?:\[|, )(sigma|tau)=(\d+(?:\.\d+)?(?:e[+-]?\d+)?)(?=[],])", name)
    return {"family": re.sub(r"\[[^][]*\]", "", name).strip(), "parameters": {key: float(value) for key, value in parameters}}


@dataclass(frozen=True, eq=False)
class HeuristicTask(Task[InstanceAt]):
    """The heuristic's classifier on an instance at one λ."""

    @property
    def kind(self) -> str:
        """The store's name."""
        return "instance"

    @property
    def label(self) -> str:
        """Label in progress lines."""
        return "heuristic"

    def compute(self, threads: int | None) -> tuple[dict[str, Any], bool]:
        """Rounding and local search."""
        from ....solvers.interface.compile_times import compile_clock  # Numba comes with it

        model = self.subject.model
        begin = time.perf_counter()
        with compile_clock("the heuristic", False) as clock:
            w, objective = heuristic(model, self.options.seed)
        seconds = time.perf_counter() - begin - clock.seconds
        figures = linear_summary(model.X, model.y, w)
        constant = has_constant_column(model.X)
        cell = InstanceCell(
            self.subject.name, self.subject.lam, self.subject.source, model.X.shape[0], model.X.shape[1] - constant, constant,
            int((model.y > 0).sum()), objective, int(figures["margin_violations"]), int(figures["misclassified"]), seconds,
        )  # fmt: skip
        return {"cell": cell.record(), "w": w.tolist()}, True

    def cell(self, record: dict[str, Any]) -> InstanceCell:
        """The cell of a record, with family and parameters of the instance: a store may be older than these."""
        traits = {"family": self.subject.family, "parameters": dict(self.subject.parameters)}
        return InstanceCell.from_record({**record["cell"], **traits})

    def told(self, record: dict[str, Any]) -> str:
        """Objective and seconds."""
        cell = record["cell"]
        return f"{self.subject.where}: {cell['n']} points, heuristic: objective {cell['objective']:.7g} ({cell['seconds']:.1f} s)"
