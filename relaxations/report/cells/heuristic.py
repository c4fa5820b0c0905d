"""The first cell of an instance or of a stated model: its sizes and its best known classifier."""

from __future__ import annotations

import re
import time
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, Self, TypeVar

from ....errors import MarginoptError
from ....models.arrays import FloatArray
from ....models.formulations.linear import has_constant_column, linear_summary
from ....models.formulations.margin.model import Margin
from ....models.model import Model
from ....solvers.interface.solver import Gives
from ....solvers.records import Options
from ....solvers.registry import SolverSpec
from ...composed import as_margin, best_allowed_multiple, constant_classifiers
from .exact import STRUCTURED, ExactCell, fill_cell, solve_with_log
from .record import Cell, InstanceAt, ModelSubject, SolverTask, Task, as_count, as_number


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
        "floor": 0.0, "lam_low": None, "lam_high": None, "trivial": None, "held_out": "", "test_error": None,
    }  # fmt: skip

    @classmethod
    def from_record(cls, record: dict[str, Any]) -> Self:
        """Read a cell; one that was stored before ``family`` and ``parameters`` has them in its name alone."""
        if isinstance(record, dict) and "family" not in record:
            record = {**record, **_named_once(str(record.get("instance")))}
        return super().from_record(record)


def _named_once(name: str) -> dict[str, Any]:
    """Family and parameters of the names that instances had before these were fields: ``set[n=50, sigma=0.2]``."""
    # exempt (text): a cell stored before instances had families has them in its name alone
    parameters = re.findall(r"(?:\[|, )(sigma|tau)=(\d+(?:\.\d+)?(?:e[+-]?\d+)?)(?=[],])", name)
    # exempt (text): a cell stored before instances had families has them in its name alone
    return {"family": re.sub(r"\[[^][]*\]", "", name).strip(), "parameters": {key: float(value) for key, value in parameters}}


#: The subjects that have a family and parameters.
T = TypeVar("T", InstanceAt, ModelSubject)


class InstanceTask(Task[T]):
    """The facts of a subject, which every other cell of it stands beside."""

    kind = "instance"

    def cell(self, record: dict[str, Any]) -> InstanceCell:
        """The cell of a record, with the family and parameters that the subject says: a store may be older than these."""
        traits = {"family": self.subject.family, "parameters": dict(self.subject.parameters)}
        return InstanceCell.from_record({**record["cell"], **traits})


@dataclass(frozen=True, eq=False)
class HeuristicTask(InstanceTask[InstanceAt]):
    """The heuristic's classifier on an instance at one λ."""

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
    """The task of a model's facts that need no solve."""

    @property
    def label(self) -> str:
        """Label in progress lines."""
        return "stated"

    def compute(self, threads: int | None) -> tuple[dict[str, Any], bool]:
        """Sizes, and the best point that a heuristic for its kind of loss finds."""
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
    return n, p - constant, constant, int((composed.y > 0).sum()) if composed.loss.labels else None


@dataclass(frozen=True, eq=False)
class StatedExactTask(SolverTask[ModelSubject]):
    """One solver with one seed on a model; ``w`` is its start, where a point is known."""

    w: FloatArray | None
    solver: SolverSpec
    proofs: bool

    kind = "exact"

    @property
    def label(self) -> str:
        """Solver and seed."""
        return ", ".join(filter(None, (self.solver.label, f"seed {self.options.seed}" if self.options.seed else "")))

    @property
    def parts(self) -> dict[str, Any]:
        """Return the parts with the start and the solver."""
        log = {"log": True} if self.proofs else {}
        return {**super().parts, "incumbent": self.w, "solver": self.solver.key, **log}

    def _cell(self, options: Options) -> ExactCell:
        subject, solver = self.subject, self.solver.solver
        limit = self.solver.merge_options(self.options).time_limit
        empty = ExactCell(subject.name, None, self.solver.label, time_limit=limit, seed=self.options.seed)
        if solver is None:
            return replace(empty, reason="no installed solver reads this model")
        empty = replace(empty, encoding="" if solver.reads_form else STRUCTURED)
        model = subject.model
        try:
            warm = self.w is not None and Gives.WARM_START in solver.info.gives
            start = model.complete({"w": self.w}) if warm and self.w is not None else None
            result, log = solve_with_log(model, self.solver, replace(options, start=start), self.proofs)
            form = model.form if solver.reads_form else None
        except MarginoptError as error:
            return replace(empty, reason=str(error))
        return replace(
            fill_cell(empty, solver, result, result.summary),
            **log,
            test_error=subject.error(result.values),
            incumbent=None if result.certificate is None else as_number(result.certificate.objective),
            variables=None if form is None else form.n,
            rows=None if form is None else form.rows,
        )
