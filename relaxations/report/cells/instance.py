"""The first cell of an instance, or of a model as it was stated: its sizes and the classifier that the heuristic finds."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar

from ....models.formulations.linear_classifiers import has_constant_column, linear_summary
from ....models.formulations.margin.model import Margin
from ....models.model import Model
from ...composed import as_margin, best_allowed_multiple, constant_classifiers
from .record import Cell, InstanceAt, ModelSubject, S, Task, as_count, as_number


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
    lam_low, lam_high : float or None
        The ends between which λ was chosen (`TradeoffTask`); None where λ was given.
    trivial : float or None
        Objective of the best point without features, of a model; of an instance it follows from the counts.
    held_out : str
        Which points are held out; empty where none are.
    test_error : float or None
        Part of them that the heuristic's classifier gets wrong.
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
    lam_low: float | None = None
    lam_high: float | None = None
    trivial: float | None = None
    held_out: str = ""
    test_error: float | None = None

    added: ClassVar[Mapping[str, Any]] = {
        "lam_low": None, "lam_high": None, "trivial": None, "held_out": "", "test_error": None,
    }  # fmt: skip


class InstanceTask(Task[S]):
    """The task of the first cell of a subject."""

    kind = "instance"

    def cell(self, record: dict[str, Any]) -> InstanceCell:
        """Return the cell of a record, with the family and parameters of the subject, which are no part of the store's key."""
        traits = {"family": self.subject.family, "parameters": dict(self.subject.parameters)}
        return InstanceCell.from_record({**record["cell"], **traits})


@dataclass(frozen=True, eq=False)
class HeuristicTask(InstanceTask[InstanceAt]):
    """The first cell of an instance at one λ, with the heuristic's classifier."""

    label = "heuristic"

    def compute(self, threads: int | None) -> tuple[dict[str, Any], bool]:
        """Return the record of sizes and classifier."""
        from ....solvers.interface.compile_times import compile_clock  # Numba comes with it

        model = self.subject.model
        begin = time.perf_counter()
        with compile_clock("the heuristic", False) as clock:
            w, objective = self.subject.incumbent(self.options)
        seconds = time.perf_counter() - begin - clock.seconds
        figures = linear_summary(model.X, model.y, w)
        constant = has_constant_column(model.X)
        cell = InstanceCell(
            self.subject.name, self.subject.lam, self.subject.source, model.X.shape[0], model.X.shape[1] - constant, constant,
            int((model.y > 0).sum()), objective, int(figures["margin_violations"]), int(figures["misclassified"]), seconds,
            held_out="" if self.subject.test is None else self.subject.test.words, test_error=self.subject.error({"w": w}),
        )  # fmt: skip
        return {"cell": cell.record(), "w": w.tolist()}, True

    def progress_text(self, record: dict[str, Any]) -> str:
        """Objective and seconds."""
        cell = record["cell"]
        return f"{self.subject.where}: {cell['n']} points, heuristic: objective {cell['objective']:.7g} ({cell['seconds']:.1f} s)"


@dataclass(frozen=True, eq=False)
class StatedTask(InstanceTask[ModelSubject]):
    """The first cell of a model as it was stated."""

    label = "stated"

    def compute(self, threads: int | None) -> tuple[dict[str, Any], bool]:
        """Return the record of sizes, and of the best point that a heuristic for its kind of loss finds."""
        from ....solvers.interface.compile_times import compile_clock  # Numba comes with it

        subject, begin = self.subject, time.perf_counter()
        with compile_clock("the heuristic", False) as clock:
            incumbent = subject.incumbent(self.options)
        seconds = time.perf_counter() - begin - clock.seconds
        composed = as_margin(subject.model.unmodified)
        n, p, intercept, positives = (None, None, False, None) if composed is None else _sizes(composed)
        w, objective = (None, None) if incumbent is None else incumbent
        values = None if w is None else subject.model.complete({"w": w})
        figures = {} if values is None else subject.model.summary(values)
        cell = InstanceCell(
            subject.name, None, subject.source, n, p, intercept, positives, as_number(objective),
            as_count(figures, "margin_violations"), as_count(figures, "misclassified"), seconds,
            0.0 if composed is not None and composed.loss.nonnegative() and composed is subject.model.composed else None,
            trivial=_without_features(subject.model), held_out="" if subject.test is None else subject.test.words,
            test_error=subject.error(values),
        )  # fmt: skip
        return {"cell": cell.record(), "w": None if w is None else w.tolist()}, True

    def progress_text(self, record: dict[str, Any]) -> str:
        """The objective, where there is one."""
        objective = record["cell"]["objective"]
        outcome = "no point is known" if objective is None else f"a point of {objective:.7g} is known"
        return f"{self.subject.where}: {self.subject.source}: {outcome}"


def _without_features(model: Model) -> float | None:
    """Return the objective of the best allowed point whose only coefficient is that of a constant column, or of w = 0."""
    composed = as_margin(model)
    if composed is None:
        return None
    points = [best_allowed_multiple(composed, model, w) for w in constant_classifiers(composed)]
    return as_number(min((composed.objective(w) for w in points if w is not None), default=None))


def _sizes(composed: Margin) -> tuple[int, int, bool, int | None]:
    n, p = composed.X.shape
    constant = has_constant_column(composed.X)
    return n, p - constant, constant, int((composed.y > 0).sum()) if composed.loss.reads_class_labels else None
