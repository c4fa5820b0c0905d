"""The cell of one relaxation on one problem: its bound, and the classifier recovered from it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, ClassVar

from ....errors import MarginoptError
from ....models.arrays import FloatArray
from ....solvers.records import Options
from ....solvers.registry import SolverSpec
from ...reduction import Reduction
from ...relaxed import relax
from .record import BoundingCell, SolverTask, Subject, as_count, as_number


@dataclass(frozen=True)
class RelaxationCell(BoundingCell):
    """One relaxation solved on one instance, or the reason why it was not.

    Parameters
    ----------
    relaxation, solver, version, status, native_status : str
    bound : float or None
        Lower bound of the 0-1 optimum; None with a caveat.
    kind : str
        "proved", "claimed by solver" or "none".
    argument : str
        Why a proved bound holds.
    caveat : str
        Why the relaxation's optimum may not bound the 0-1 optimum; empty where it does.
    target_bound, target_kind : float or None, str
        With a caveat: the bound of the relaxation's own optimum alone.
    m_source : str
        Where M comes from, and whether it is valid; empty where the relaxation has no M.
    m_low, m_high : float or None
    against_m : bool
        Whether the bound is drawn against M (`Reduction.against_m`).
    beside_m : bool
        Whether it is the level beside those (`Reduction.beside_m`).
    recovered : float or None
        True 0-1 objective of the classifier recovered from the relaxation.
    violations, misclassified : int or None
        Of that classifier.
    rank_ratio : float or None
        Second over first eigenvalue of W; None for relaxations without W.
    variables, rows, bytes : int or None
        Size of the form that was solved.
    build_seconds, solve_seconds : float or None
    reason : str
        Why there is no result; empty where there is one.
    test_error : float or None
        Part of the points held out that the recovered classifier gets wrong.
    """

    relaxation: str
    solver: str
    version: str = ""
    status: str = "not run"
    native_status: str = ""
    bound: float | None = None
    kind: str = "none"
    argument: str = ""
    caveat: str = ""
    m_source: str = ""
    m_low: float | None = None
    m_high: float | None = None
    recovered: float | None = None
    violations: int | None = None
    misclassified: int | None = None
    rank_ratio: float | None = None
    variables: int | None = None
    rows: int | None = None
    bytes: int | None = None
    build_seconds: float | None = None
    solve_seconds: float | None = None
    reason: str = ""
    against_m: bool = False
    beside_m: bool = False
    target_bound: float | None = None
    target_kind: str = "none"
    test_error: float | None = None

    added: ClassVar[Mapping[str, Any]] = {"target_bound": None, "target_kind": "none", "test_error": None}


@dataclass(frozen=True, eq=False)
class RelaxationTask(SolverTask[Subject]):
    """The solve of one relaxation; ``w`` is the incumbent behind M, where there is one."""

    w: FloatArray | None
    reduction: Reduction[Any]
    solver: SolverSpec

    kind = "relaxation"

    @property
    def label(self) -> str:
        """Label in progress lines."""
        return self.reduction.name

    @property
    def parts(self) -> dict[str, Any]:
        """Return the incumbent, the reduction and its solver."""
        return {**super().parts, "incumbent": self.w, "reduction": self.reduction, "solver": self.solver.key}

    def _cell(self, options: Options) -> RelaxationCell:
        subject, reduction = self.subject, self.reduction
        model: Any = subject.model  # one that the reduction reads, or `relax` says why not
        empty = RelaxationCell(subject.name, subject.lam, reduction.name, self.solver.label)
        try:
            solved = relax(model, reduction, self.solver, options)
            M = reduction.constants(model)
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
            bound=as_number(solved.target_bound),  # withheld where there is a caveat
            kind=solved.target_kind,
            argument="" if result.certificate is None else result.certificate.argument,
            caveat=solved.caveat,
            m_source=reduction.m_source(model),
            against_m=reduction.against_m,
            beside_m=reduction.beside_m,
            m_low=None if M is None else float(M.min()),
            m_high=None if M is None else float(M.max()),
            recovered=as_number(solved.objective),
            violations=as_count(figures, "margin_violations"),
            misclassified=as_count(figures, "misclassified"),
            rank_ratio=as_number(result.summary.get("rank_ratio")),
            test_error=subject.error(solved.values),
            variables=form.n,
            rows=form.rows,
            bytes=form.bytes,
            build_seconds=result.build_seconds,
            solve_seconds=result.solve_seconds,
        )
