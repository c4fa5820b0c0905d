"""The cells of a gap report as tasks: each knows all that determines it, and computes its cell in any process."""

from __future__ import annotations

import time
from abc import ABC, abstractmethod
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ....errors import MarginoptError
from ....models.arrays import FloatArray
from ....models.formulations.linear import has_constant_column, linear_summary
from ....models.formulations.zero_one.model import ZeroOneSVM
from ....solvers.records.options import Options
from ....solvers.records.status import Status
from ...reduction import Reduction
from ...relax import bound_words, relax
from ...strengthening.incumbent import heuristic
from .records import InstanceCell, RelaxationCell

__all__ = ["HeuristicTask", "RelaxationTask", "Task", "as_count", "as_number", "outcome", "worth_keeping"]

#: Layout of the stored records: cells of another one are computed anew.
LAYOUT = 2


@dataclass(frozen=True, eq=False)
class Task(ABC):
    """One cell to compute.

    Parameters
    ----------
    name, source : str
        Of the instance.
    model : ZeroOneSVM
        With M of the incumbent, where there is one by then.
    options : Options
    """

    name: str
    source: str
    model: ZeroOneSVM
    options: Options

    @property
    @abstractmethod
    def kind(self) -> str:
        """What the store calls it: "instance", "relaxation", "exact" or "kappa"."""

    @property
    @abstractmethod
    def label(self) -> str:
        """What is computed: tasks of one label take about as long."""

    @property
    def lam(self) -> float:
        """λ."""
        assert isinstance(self.model.lam, float)
        return self.model.lam

    @property
    def where(self) -> str:
        """Instance and λ in words."""
        return f"{self.name}, λ = {self.lam:g}"

    @property
    def parts(self) -> dict[str, Any]:
        """All that determines the cell, for the store's key."""
        parts = {"layout": LAYOUT, "name": self.name, "source": self.source, "X": self.model.X, "y": self.model.y}
        return {**parts, "lam": self.model.lam, "options": self.options.record()}

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
        return self.options if self.options.threads is not None else replace(self.options, threads=threads)


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


@dataclass(frozen=True, eq=False)
class RelaxationTask(Task):
    """One relaxation; ``w`` is the incumbent behind M."""

    w: FloatArray
    reduction: Reduction[Any]
    solver: str

    @property
    def kind(self) -> str:
        """The store's name."""
        return "relaxation"

    @property
    def label(self) -> str:
        """For progress."""
        return self.reduction.name

    @property
    def parts(self) -> dict[str, Any]:
        """With the incumbent, the reduction and its solver."""
        return {**super().parts, "incumbent": self.w, "reduction": self.reduction, "solver": self.solver}

    def compute(self, threads: int | None) -> tuple[dict[str, Any], bool]:
        """Solve, recover, look at W."""
        cell = self._cell(self.running(threads))
        return {"cell": cell.record()}, worth_keeping(cell.reason, cell.status)

    def _cell(self, options: Options) -> RelaxationCell:
        model, reduction = self.model, self.reduction
        empty = RelaxationCell(self.name, self.lam, reduction.name, self.solver)
        try:
            M = reduction.constants(model)
            solved = relax(model, reduction, self.solver, options)
        except MarginoptError as error:
            return replace(empty, reason=str(error))
        result, form = solved.result, solved.form
        figures = {} if solved.values is None else linear_summary(model.X, model.y, solved.values["w"])
        return replace(
            empty,
            solver=result.solver,
            version=result.version,
            status=str(result.status),
            native_status=result.claim.native_status,
            bound=as_number(solved.bound),
            kind=solved.bound_kind,
            argument="" if result.certificate is None else result.certificate.argument,
            caveat=solved.caveat,
            m_source=reduction.m_source(model),
            m_low=None if M is None else float(M.min()),
            m_high=None if M is None else float(M.max()),
            recovered=as_number(solved.objective),
            violations=as_count(figures, "margin_violations"),
            misclassified=as_count(figures, "misclassified"),
            rank_ratio=as_number(result.summary.get("rank_ratio")),
            variables=form.n,
            rows=form.rows,
            bytes=form.bytes,
            build_seconds=result.build_seconds,
            solve_seconds=result.solve_seconds,
        )

    def told(self, record: dict[str, Any]) -> str:
        """Status, bound, seconds."""
        return f"{self.where}: {self.label}: {outcome(record['cell'])}"


def worth_keeping(reason: str, status: str) -> bool:
    """Whether a cell is stored: not where it could not run or was interrupted."""
    return not reason and status != str(Status.INTERRUPTED)


def as_number(value: float | None) -> float | None:
    """The number, or None where it is missing or not finite."""
    return float(value) if value is not None and np.isfinite(value) else None


def as_count(figures: dict[str, float], name: str) -> int | None:
    """A figure as an integer; None where it is missing."""
    return int(figures[name]) if name in figures else None


def outcome(cell: dict[str, Any]) -> str:
    """A cell's record in a few words."""
    if cell["reason"]:
        return f"not run: {cell['reason']}"
    bound = bound_words(cell["bound"], cell["kind"], cell.get("caveat", ""))
    point = f", incumbent {cell['incumbent']:.7g}" if cell.get("incumbent") is not None else ""
    return f"{cell['status']}, {bound}{point} ({cell['solve_seconds']:.2f} s)"
