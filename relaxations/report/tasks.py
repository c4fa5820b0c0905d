"""The tasks of a gap report, each of which computes one cell: base classes, the heuristic, relaxations and the κ form.

A gap report compares lower bounds of relaxations with the optimum of min ||w||² + λ Σ z_i, z_i = 1 if point i violates its margin
y_i x_i'w ≥ 1 (in κ form at most κn of the n points may, at no cost). A *cell* is one stored result of it. `plan.Plan` lists the
tasks; `runner.Runner` runs them and keeps their records in a *store*, a file, by a key. Exact solves are in `exact_tasks`.
"""

from __future__ import annotations

import time
from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Generic, TypeVar

import numpy as np

from ...errors import MarginoptError
from ...models.arrays import FloatArray
from ...models.formulations.conic import ConicSVM
from ...models.formulations.features import dense_signed_rows, has_constant_column, linear_summary
from ...models.formulations.margin.model import Margin
from ...models.formulations.zero_one import ZeroOneSVM
from ...models.model import Model
from ...models.views import ZeroOneProblem
from ...solvers.interface.solver import Solver
from ...solvers.records import Options, Status
from ...solvers.registry import SolverSpec
from ...solvers.solve import solve_problem, solver_errors
from ...solvers.zero_one.incumbent import LeastNormSolver
from ..margin_reduction import as_margin, best_allowed_multiple, constant_classifiers
from ..reduction import Reduction, without_warnings
from ..relaxation_result import bound_text, relax
from .cells import InstanceCell, KappaCell, Record, RelaxationCell
from .problems import InstanceProblem, ModelProblem, ReportProblem

#: Version of the stored records, a part of the store's key: cells of another version are computed again.
_RECORD_VERSION = 2
#: Largest number of times that the points which must meet their margins are chosen by the last classifier.
_TURNS = 10

#: The kind of problem that a task computes on.
S = TypeVar("S", bound=ReportProblem)


@dataclass(frozen=True, eq=False)
class Task(ABC, Generic[S]):
    """The computation of one cell of a report: base class.

    Parameters
    ----------
    problem : ReportProblem
        An instance at one λ, or a model as stated.
    options : Options
        Limits, seed and tolerance of the solve.
    """

    problem: S
    options: Options

    #: The kind of the record in the store: "instance", "relaxation", "exact", "kappa" or "lam".
    kind: ClassVar[str]

    @property
    @abstractmethod
    def label(self) -> str:
        """Return the group of the progress estimate: tasks of one label take about as long."""

    @property
    def solvers(self) -> dict[str, Solver]:
        """Return the solvers that the user named, by the labels in cells; empty for ``auto``."""
        return {}

    @property
    def key_parts(self) -> dict[str, Any]:
        """Return all that determines the cell, for the store's key."""
        return {"layout": _RECORD_VERSION, **self.problem.key_parts, "options": self.options.record()}

    @abstractmethod
    def compute(self, threads: int | None) -> tuple[dict[str, Any], bool]:
        """Return the record, which has ``cell`` and what later tasks need, and whether to store it.

        ``threads`` is the process's share of the machine's threads; it replaces an unlimited number in the options.
        """

    @abstractmethod
    def progress_text(self, record: dict[str, Any]) -> str:
        """Return the record in a few words, for the progress line."""


class SolverTask(Task[S]):
    """The task of one solve: base class. Its cell is stored unless the solver could not run or was interrupted."""

    solver: SolverSpec  #: the solver, with its options

    @property
    def solvers(self) -> dict[str, Solver]:
        """Return the solver that the user named, by its label."""
        return self.solver.by_label

    def compute(self, threads: int | None) -> tuple[dict[str, Any], bool]:
        """Return the record of the solve's cell, and whether to store it."""
        cell = self._cell(self.options.with_default_threads(threads)).record()
        return {"cell": cell}, not cell["reason"] and cell["status"] != str(Status.INTERRUPTED)

    def unsolved_record(self, reason: str) -> dict[str, Any]:
        """Return the record of a solve that did not run, with the reason."""
        return {"cell": {**self._empty.record(), "reason": reason}}

    @property
    @abstractmethod
    def _empty(self) -> Record:
        """The cell before the solve."""

    @abstractmethod
    def _cell(self, options: Options) -> Record:
        """Return the cell of the solve."""

    def progress_text(self, record: dict[str, Any]) -> str:
        """Return status, bound, incumbent and seconds in words."""
        return f"{self.problem.label}: {self.label}: {_outcome_text(record['cell'], self.problem.optimum_name)}"


def finite_or_none(value: float | None) -> float | None:
    """Return the number; None if it is missing or not finite."""
    return float(value) if value is not None and np.isfinite(value) else None


def count_or_none(figures: Mapping[str, float], name: str) -> int | None:
    """Return the figure of this name as an integer; None if it is missing."""
    return int(figures[name]) if name in figures else None


def _outcome_text(cell: dict[str, Any], target: str = "the 0-1 optimum") -> str:
    """Return the record of a cell in a few words; ``target`` names the problem's optimum."""
    if cell["reason"]:
        return f"not run: {cell['reason']}"
    caveat = cell.get("caveat", "")
    prefix = "target_" if caveat else ""
    bound = bound_text(cell[f"{prefix}bound"], cell[f"{prefix}kind"], caveat, target)
    point = f", incumbent {cell['incumbent']:.7g}" if cell.get("incumbent") is not None else ""
    return f"{cell['status']}, {bound}{point} ({cell['solve_seconds']:.2f} s)"


class InstanceTask(Task[S]):
    """The first task of a problem, which finds its sizes and a classifier by a heuristic: base class."""

    kind = "instance"

    def cell(self, record: dict[str, Any]) -> InstanceCell:
        """Return the cell of a record with the problem's family and parameters, which the store's key leaves out."""
        traits = {"family": self.problem.family, "parameters": dict(self.problem.parameters)}
        return InstanceCell.from_record({**record["cell"], **traits})


@dataclass(frozen=True, eq=False)
class HeuristicTask(InstanceTask[InstanceProblem]):
    """The first task of an instance at one λ: sizes, and the heuristic's classifier."""

    label = "heuristic"

    def compute(self, threads: int | None) -> tuple[dict[str, Any], bool]:
        """Return the record: the cell, and the heuristic's classifier ``w``."""
        from ...solvers.interface.compile_times import compile_clock  # Numba comes with it

        model = self.problem.model
        begin = time.perf_counter()
        with compile_clock("the heuristic", False) as clock:
            w, objective = self.problem.find_incumbent(self.options)
        seconds = time.perf_counter() - begin - clock.seconds
        figures = linear_summary(model.X, model.y, w)
        constant = has_constant_column(model.X)
        cell = InstanceCell(
            self.problem.name, self.problem.lam, self.problem.source, model.X.shape[0], model.X.shape[1] - constant, constant,
            int((model.y > 0).sum()), objective, int(figures["margin_violations"]), int(figures["misclassified"]), seconds,
            held_out=self.problem.held_out_text, test_error=self.problem.test_error({"w": w}),
        )  # fmt: skip
        return {"cell": cell.record(), "w": w.tolist()}, True

    def progress_text(self, record: dict[str, Any]) -> str:
        """Return objective and seconds in words."""
        cell = record["cell"]
        return f"{self.problem.label}: {cell['n']} points, heuristic: objective {cell['objective']:.7g} ({cell['seconds']:.1f} s)"


@dataclass(frozen=True, eq=False)
class ModelTask(InstanceTask[ModelProblem]):
    """The first task of a model as stated: sizes, and the best point that a heuristic finds."""

    label = "stated"

    def compute(self, threads: int | None) -> tuple[dict[str, Any], bool]:
        """Return the record: the cell, and the heuristic's classifier ``w``, None if no point is known."""
        from ...solvers.interface.compile_times import compile_clock  # Numba comes with it

        problem, begin = self.problem, time.perf_counter()
        with compile_clock("the heuristic", False) as clock:
            incumbent = problem.find_incumbent(self.options)
        seconds = time.perf_counter() - begin - clock.seconds
        composed, bounding = as_margin(problem.model.original_model), as_margin(problem.model.bounding_model)
        n, p, intercept, positives = (None, None, False, None) if composed is None else _sizes(composed)
        w, objective = (None, None) if incumbent is None else incumbent
        values = None if w is None else problem.model.complete({"w": w})
        figures = {} if values is None else problem.model.summary(values)
        cell = InstanceCell(
            problem.name, None, problem.source, n, p, intercept, positives, finite_or_none(objective),
            count_or_none(figures, "margin_violations"), count_or_none(figures, "misclassified"), seconds,
            None if bounding is None or not bounding.loss.is_nonnegative() else 0.0,
            trivial=_without_features(problem.model), held_out=problem.held_out_text,
            test_error=problem.test_error(values),
        )  # fmt: skip
        return {"cell": cell.record(), "w": None if w is None else w.tolist()}, True

    def progress_text(self, record: dict[str, Any]) -> str:
        """Return the objective in words, if there is one."""
        objective = record["cell"]["objective"]
        outcome = "no point is known" if objective is None else f"a point of {objective:.7g} is known"
        return f"{self.problem.label}: {self.problem.source}: {outcome}"


def _without_features(model: Model) -> float | None:
    """Return the objective of the best allowed point whose only coefficient is that of a constant column, or of w = 0."""
    composed = as_margin(model)
    if composed is None:
        return None
    points = [best_allowed_multiple(composed, model, w) for w in constant_classifiers(composed)]
    return finite_or_none(min((composed.objective(w) for w in points if w is not None), default=None))


def _sizes(composed: Margin) -> tuple[int, int, bool, int | None]:
    n, p = composed.X.shape
    constant = has_constant_column(composed.X)
    return n, p - constant, constant, int((composed.y > 0).sum()) if composed.loss.reads_class_labels else None


@dataclass(frozen=True, eq=False)
class RelaxationTask(SolverTask[ReportProblem]):
    """The solve of one relaxation.

    Parameters
    ----------
    w : ndarray (p,) or None
        Classifier whose objective bounds the big-M constants M, if one is known.
    reduction : Reduction
        The relaxation.
    solver : SolverSpec
        Solver of the relaxation, with its options.
    """

    w: FloatArray | None
    reduction: Reduction[Any]
    solver: SolverSpec

    kind = "relaxation"

    @property
    def label(self) -> str:
        """Return the name of the relaxation."""
        return self.reduction.name

    @property
    def key_parts(self) -> dict[str, Any]:
        """Return the parts of the key, with the incumbent, the reduction and its solver."""
        return {**super().key_parts, "incumbent": self.w, "reduction": self.reduction, "solver": self.solver.key}

    @property
    def _empty(self) -> RelaxationCell:
        return RelaxationCell(self.problem.name, self.problem.lam, self.reduction.name, self.solver.label)

    def _cell(self, options: Options) -> RelaxationCell:
        problem, reduction, empty = self.problem, self.reduction, self._empty
        model: Any = problem.model  # one that the reduction reads, or `relax` says why not
        try:
            with solver_errors(self.solver.label):
                solved = relax(model, reduction, self.solver, options)
            M = reduction.big_m_constants(model)
        except MarginoptError as error:
            return replace(empty, reason=str(error))
        result, form = solved.result, solved.form
        figures = {} if solved.values is None else model.summary(solved.values)
        return replace(
            empty,
            solver=result.solver if self.solver.auto else self.solver.label,
            version=result.version,
            status=str(result.status),
            native_status=result.claim.native_status,
            bound=finite_or_none(solved.target_bound),  # withheld where there is a caveat
            kind=solved.target_kind,
            argument=solved.argument,
            caveat=solved.caveat,
            m_source=reduction.m_source(model),
            against_m=reduction.against_m,
            beside_m=reduction.beside_m,
            m_low=None if M is None else float(M.min()),
            m_high=None if M is None else float(M.max()),
            recovered=finite_or_none(solved.objective),
            violations=count_or_none(figures, "margin_violations"),
            misclassified=count_or_none(figures, "misclassified"),
            rank_ratio=finite_or_none(result.summary.get("rank_ratio")),
            test_error=problem.test_error(solved.values),
            variables=form.n,
            rows=form.rows,
            bytes=form.bytes,
            build_seconds=result.build_seconds,
            solve_seconds=result.solve_seconds,
        )


@dataclass(frozen=True, eq=False)
class KappaTask(SolverTask[InstanceProblem]):
    """The solve of the conic relaxation in κ form, and of the exact 0-1 problem: min ||w||² with at most ⌊κn⌋ violated margins.

    Parameters
    ----------
    w : ndarray (p,)
        The heuristic's classifier, a further start of the recovery; only this start depends on λ.
    kappa : float
        κ, the share of points that may violate their margin.
    solver : SolverSpec
        Solver of the relaxation, with its options.
    exact : bool
        Whether the 0-1 problem is solved exactly; False if the report has no exact solver.
    """

    w: FloatArray
    kappa: float
    solver: SolverSpec
    exact: bool

    kind = "kappa"

    @property
    def label(self) -> str:
        """Return "conic SDP" with κ."""
        return f"conic SDP, κ = {self.kappa:g}"

    @property
    def key_parts(self) -> dict[str, Any]:
        """Return the parts of the key, with κ in place of λ."""
        identity = {"kappa": self.kappa, "solver": self.solver.key, "exact": self.exact}
        return {**super().key_parts, "lam": None, "incumbent": self.w, **identity}

    @property
    def _empty(self) -> KappaCell:
        budget = int(np.floor(self.kappa * self.problem.model.X.shape[0] + 1e-9))
        return KappaCell(self.problem.name, self.kappa, budget, self.solver.label)

    def _cell(self, options: Options) -> KappaCell:
        X, y, empty = self.problem.model.X, self.problem.model.y, self._empty
        if self.exact:
            empty = self._with_exact_solve(empty, options)
        try:
            with without_warnings(), solver_errors(self.solver.label):
                model = ConicSVM(X, y, kappa=self.kappa)
                result = solve_problem(model, self.solver, options)
        except MarginoptError as error:
            return replace(empty, reason=str(error))
        bound, kind = result.best_bound
        w = self._classifier_within(np.asarray(result.values["w"]), empty.budget) if result.values else None
        z = result.values.get("z")
        return replace(
            empty,
            solver=result.solver if self.solver.auto else self.solver.label,
            version=result.version,
            status=str(result.status),
            native_status=result.claim.native_status,
            bound=finite_or_none(bound),
            kind=kind,
            recovered=None if w is None else float(w @ w),
            share=None if z is None else float(np.mean(z)),
            rank_ratio=finite_or_none(result.summary.get("rank_ratio")),
            misclassified=None if w is None else int(linear_summary(X, y, w)["misclassified"]),
            build_seconds=result.build_seconds,
            solve_seconds=result.solve_seconds,
        )

    def _with_exact_solve(self, cell: KappaCell, options: Options) -> KappaCell:
        """Return the cell with the result of the solver that `solve` picks for the 0-1 problem with this budget."""
        try:
            with without_warnings(), solver_errors("auto"):
                result = solve_problem(ZeroOneSVM(self.problem.model.X, self.problem.model.y, kappa=self.kappa), "auto", options)
        except MarginoptError as error:
            return replace(cell, exact_status=f"not run: {error}")
        bound, kind = result.best_bound
        w = np.asarray(result.values["w"]) if result.values else None
        return replace(
            cell,
            exact_solver=result.solver,
            exact_status=str(result.status),
            exact_objective=None if w is None else float(w @ w),
            exact_bound=finite_or_none(bound),
            exact_kind=kind,
            exact_nodes=result.nodes,
            exact_seconds=result.solve_seconds,
        )

    def _classifier_within(self, w: FloatArray, budget: int) -> FloatArray | None:
        """Return a classifier of small norm that violates at most ``budget`` margins; None if none is found.

        From each start the points of largest y x'w are chosen, all but ``budget``, and the classifier of least norm that meets
        their margins replaces w, as long as the norm falls. Starts are the relaxation's w, the heuristic's, the sum of the signed
        rows y x, and the constant classifiers of both signs.
        """
        A = dense_signed_rows(self.problem.model.X, self.problem.model.y)
        least_norm = LeastNormSolver.of(ZeroOneProblem(A, np.ones(A.shape[0]), np.ones(A.shape[1], dtype=bool)))
        best: FloatArray | None = None
        first = np.eye(1, A.shape[1])[0]  # where the intercept's column is
        for start in (w, self.w, A.sum(axis=0), first, -first):
            point = start
            for _ in range(_TURNS):
                keep = np.ones(A.shape[0], dtype=bool)
                keep[np.argsort(A @ point, kind="stable")[:budget]] = False
                result = least_norm.solve(keep)
                if result is None or (best is not None and result @ result >= best @ best * (1.0 - 1e-9)):
                    break
                best = point = result
        return best

    def progress_text(self, record: dict[str, Any]) -> str:
        """Return status, bound and seconds in words."""
        return f"{self.problem.name}: {self.label}: {_outcome_text(record['cell'], 'the least ||w||² within the budget')}"
