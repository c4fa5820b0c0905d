"""The cell of one κ: bound and optimum of min ||w||² subject to at most κn margin violations."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ....errors import MarginoptError
from ....models.arrays import FloatArray
from ....models.formulations.conic import ConicSVM
from ....models.formulations.linear_classifiers import dense_signed_rows, linear_summary
from ....models.formulations.zero_one import ZeroOneSVM
from ....models.views import ZeroOneProblem
from ....solvers.records import Options, Status
from ....solvers.registry import SolverSpec
from ....solvers.solve import solve_problem
from ....solvers.zero_one.incumbent import LeastNormSolver
from ...reduction import without_warnings
from .record import InstanceAt, Record, SolverTask, as_number, outcome

#: Times that the points to keep are chosen again by the classifier that kept the last ones.
_TURNS = 10


@dataclass(frozen=True)
class KappaCell(Record):
    """The conic relaxation of min ||w||² subject to at most κn margin violations, Conic Appendix C, at one κ.

    Parameters
    ----------
    instance : str
    kappa : float
    budget : int
        ⌊κn⌋, the violations that the 0-1 problem allows.
    solver, version, status, native_status : str
    bound : float or None
        Lower bound of that problem's optimum.
    kind : str
        "proved", "claimed by solver" or "none".
    recovered : float or None
        ||w||² of a classifier with at most ⌊κn⌋ violations: an upper bound.
    share : float or None
        Σz/n at the relaxation's point.
    rank_ratio : float or None
        Second over first eigenvalue of W.
    misclassified : int or None
        Under the recovered classifier.
    build_seconds, solve_seconds : float or None
    reason : str
    exact_solver, exact_status : str
        Of the exact solve of the 0-1 problem with the budget; "not asked", or why it did not run.
    exact_objective, exact_bound : float or None
        ||w||² of its classifier, and its lower bound.
    exact_kind : str
    exact_nodes : int or None
    exact_seconds : float or None
    """

    instance: str
    kappa: float
    budget: int
    solver: str
    version: str = ""
    status: str = "not run"
    native_status: str = ""
    bound: float | None = None
    kind: str = "none"
    recovered: float | None = None
    share: float | None = None
    rank_ratio: float | None = None
    misclassified: int | None = None
    build_seconds: float | None = None
    solve_seconds: float | None = None
    reason: str = ""
    exact_solver: str = ""
    exact_status: str = "not asked"
    exact_objective: float | None = None
    exact_bound: float | None = None
    exact_kind: str = "none"
    exact_nodes: int | None = None
    exact_seconds: float | None = None

    @property
    def proven(self) -> bool:
        """Return whether the optimum within the budget is known."""
        return self.exact_status == str(Status.OPTIMAL)


@dataclass(frozen=True, eq=False)
class KappaTask(SolverTask[InstanceAt]):
    """The conic relaxation in its κ form, and beside it the exact solve of the 0-1 problem with the budget.

    λ plays a part only in the heuristic's classifier ``w``, a start of recovery. ``exact`` is False where a report asks for no
    exact solver.
    """

    w: FloatArray
    kappa: float
    solver: SolverSpec
    exact: bool

    kind = "kappa"

    @property
    def label(self) -> str:
        """Label in progress lines."""
        return f"conic SDP, κ = {self.kappa:g}"

    @property
    def parts(self) -> dict[str, Any]:
        """Return the parts with κ in place of λ."""
        identity = {"kappa": self.kappa, "solver": self.solver.key, "exact": self.exact}
        return {**super().parts, "lam": None, "incumbent": self.w, **identity}

    def _cell(self, options: Options) -> KappaCell:
        X, y = self.subject.model.X, self.subject.model.y
        n = X.shape[0]
        empty = KappaCell(self.subject.name, self.kappa, int(np.floor(self.kappa * n + 1e-9)), self.solver.label)
        if self.exact:
            empty = self._with_exact_solve(empty, options)
        try:
            with without_warnings():
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
            bound=as_number(bound),
            kind=kind,
            recovered=None if w is None else float(w @ w),
            share=None if z is None else float(np.mean(z)),
            rank_ratio=as_number(result.summary.get("rank_ratio")),
            misclassified=None if w is None else int(linear_summary(X, y, w)["misclassified"]),
            build_seconds=result.build_seconds,
            solve_seconds=result.solve_seconds,
        )

    def _with_exact_solve(self, cell: KappaCell, options: Options) -> KappaCell:
        """Return the cell with the result of the solver that `solve` picks for the 0-1 problem with this budget."""
        try:
            with without_warnings():
                result = solve_problem(ZeroOneSVM(self.subject.model.X, self.subject.model.y, kappa=self.kappa), "auto", options)
        except MarginoptError as error:
            return replace(cell, exact_status=f"not run: {error}")
        bound, kind = result.best_bound
        w = np.asarray(result.values["w"]) if result.values else None
        return replace(
            cell,
            exact_solver=result.solver,
            exact_status=str(result.status),
            exact_objective=None if w is None else float(w @ w),
            exact_bound=as_number(bound),
            exact_kind=kind,
            exact_nodes=result.nodes,
            exact_seconds=result.solve_seconds,
        )

    def _classifier_within(self, w: FloatArray, budget: int) -> FloatArray | None:
        """Return a classifier of small norm that meets all margins but ``budget``.

        The points of largest y x'w are kept and the classifier of least norm that keeps them is found; by turns, as long as the
        norm falls: from the relaxation's w, the heuristic's, the difference of the class means, and a constant for either class.
        """
        A = dense_signed_rows(self.subject.model.X, self.subject.model.y)
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
        """Status, bound, seconds."""
        return f"{self.subject.name}: {self.label}: {outcome(record['cell'], 'the least ||w||² within the budget')}"
