"""The tasks of a gap report that solve exactly: the 0-1 problem in one encoding (`ExactTask`), or a user's model as stated.

A task computes one `ExactCell`, the result of one run of a solver, which is stored under a key. The encoding of the 0-1 problem
min ||w||² + λ Σ z_i states z_i = 0 ⇒ y_i x_i'w ≥ 1 by big-M rows ("bigm"), by indicators ("indicator"), or by perspective cones
("strengthened"). `Plan` lists the tasks.
"""

from __future__ import annotations

import base64
import gzip
import time
from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

from ...errors import MarginoptError
from ...models.arrays import FloatArray
from ...models.formulations.zero_one import Encoding, ZeroOneSVM
from ...models.model import Model
from ...solvers.certification.result import Result
from ...solvers.interface.solver import Gives, Solver
from ...solvers.records import Options, Status, Trace
from ...solvers.registry import SolverSpec
from ...solvers.solve import solve_problem, solver_errors
from ...solvers.zero_one.check.checker import LoggedZeroOneProblem
from ..bounds.big_m import BigM
from ..reduction import replace_fields, without_warnings
from ..strengthening import strengthen
from .cells import STRUCTURED, ExactCell, TracePoint
from .problems import InstanceProblem, ModelProblem
from .tasks import S, SolverTask, count_or_none, finite_or_none

#: Largest number of points of a trace in a cell: enough for a picture.
_POINTS = 120
#: Largest size in bytes of a compressed proof log in a cell, so that a page with many stays readable.
_LARGEST_LOG = 2**20
#: A bound within this of the final one, relatively, is the final one.
_REACHED = 1e-6
_ENCODINGS = {"bigm": "big-M", "indicator": "indicator", "strengthened": "strengthened"}


@dataclass(frozen=True, eq=False)
class ExactSolverTask(SolverTask[S]):
    """The run of one exact solver with one seed, that of the options: base class.

    Parameters
    ----------
    w : ndarray (p,) or None
        Classifier that the solver starts from, if one is known.
    solver : SolverSpec
        The exact solver with its options.
    proofs : bool
        Whether the cell keeps the solver's proof log, if the checker of the HTML page can read it.
    """

    w: FloatArray | None
    solver: SolverSpec
    proofs: bool

    #: The kind of the record in the store.
    kind = "exact"

    @property
    def label(self) -> str:
        """Return solver, encoding, M and seed in words, the group of the progress estimate."""
        return ", ".join(filter(None, (self._empty.variant, f"seed {self.options.seed}" if self.options.seed else "")))

    @property
    def key_parts(self) -> dict[str, Any]:
        """Return the parts of the store's key, with the starting classifier, the solver and whether a log is kept."""
        log = {"log": True} if self.proofs else {}
        return {**super().key_parts, "incumbent": self.w, "solver": self.solver.key, **log}

    @property
    def _empty(self) -> ExactCell:
        """The cell before the solve."""
        limit = self.solver.merge_options(self.options).time_limit
        return ExactCell(self.problem.name, self.problem.lam, self.solver.label, time_limit=limit, seed=self.options.seed)

    def _solve(self, model: Model, options: Options) -> tuple[Result, dict[str, Any]]:
        """Return the result, and the cell's fields of the proof log."""
        solver = self.solver.solver
        warm = self.w is not None and solver is not None and Gives.WARM_START in solver.info.gives
        return _solve_with_log(model, self.solver, replace(options, start=self._start(model) if warm else None), self.proofs)

    @abstractmethod
    def _start(self, model: Model) -> dict[str, FloatArray]:
        """The model's point for the classifier ``w``."""

    def _filled(self, empty: ExactCell, solver: Solver, model: Model, result: Result) -> ExactCell:
        """Return the cell filled from a result: status, bound, objective, times, sizes and errors."""
        bound, kind = result.best_bound
        trace = _thinned(result.trace)
        form = model.form if solver.reads_form else None
        return replace(
            empty,
            version=result.version,
            status=str(result.status),
            native_status=result.claim.native_status,
            proven=result.status is Status.OPTIMAL and not empty.caveat,
            claimed=finite_or_none(result.claim.objective),
            bound=finite_or_none(bound),
            kind=kind,
            nodes=result.nodes,
            violations=count_or_none(result.summary, "margin_violations"),
            misclassified=count_or_none(result.summary, "misclassified"),
            build_seconds=result.build_seconds,
            solve_seconds=result.solve_seconds,
            root=_root(solver, result),
            bound_seconds=_time_to_bound(trace),
            trace=trace,
            test_error=self.problem.test_error(result.values),
            variables=None if form is None else form.n,
            rows=None if form is None else form.rows,
        )


@dataclass(frozen=True, eq=False)
class ExactTask(ExactSolverTask[InstanceProblem]):
    """The exact solve of the 0-1 problem in one encoding with one source of M.

    Parameters
    ----------
    encoding : str or None
        Encoding that the solver reads; None for a solver that reads the data.
    constants : BigM or None
        Source of the big-M constants; None for an encoding without M.
    relaxation_solver : SolverSpec
        Solver of the relaxation that the strengthened encoding needs.
    """

    w: FloatArray
    encoding: Encoding | None
    constants: BigM | None
    relaxation_solver: SolverSpec

    @property
    def key_parts(self) -> dict[str, Any]:
        """Return the parts of the store's key, with encoding, M and the solver of a relaxation that the encoding needs."""
        strengthened = {"relaxation solver": self.relaxation_solver.key} if self.encoding == "strengthened" else {}
        return {**super().key_parts, "encoding": self.encoding, "M": self.constants, **strengthened}

    @property
    def _empty(self) -> ExactCell:
        return replace(
            super()._empty,
            encoding=STRUCTURED if self.encoding is None else _ENCODINGS[self.encoding],
            m_source="" if self.constants is None else self.constants.source_name,
            caveat="" if self.constants is None else self.constants.caveat(self.problem.model),
        )

    def _encoded(self) -> ZeroOneSVM:
        if self.encoding is None:
            return self.problem.model
        if self.encoding == "indicator":
            return replace_fields(self.problem.model, encoding="indicator")
        assert self.constants is not None
        if self.encoding == "bigm":
            return self.constants.with_constants(self.problem.model)
        with_start = replace_fields(self.problem.model, incumbent=self.w)
        strong = replace_fields(strengthen(with_start, rounds=0, solver=self.relaxation_solver), incumbent=self.w)
        if self.constants == BigM("incumbent"):
            return strong
        return replace_fields(strong, big_m=self.constants.big_m_constants(self.problem.model))

    def _start(self, model: Model) -> dict[str, FloatArray]:
        assert isinstance(model, ZeroOneSVM)
        return model.point(self.w)  # without the form, which a solver of the data does not need

    def _cell(self, options: Options) -> ExactCell:
        begin = time.perf_counter()
        empty, solver = self._empty, self.solver.solver
        assert solver is not None  # auto was settled with the plan
        try:
            model = self._encoded()
            prepared = time.perf_counter() - begin
            with without_warnings(), solver_errors(self.solver.label):  # the caveat says that M may be too small
                result, log = self._solve(model, options)
        except MarginoptError as error:
            return replace(empty, reason=str(error))
        return replace(
            self._filled(empty, solver, model, result),
            **log,
            incumbent=model.objective(result.values["w"]) if result.values else None,
            m_slack=finite_or_none(result.summary.get("smallest_big_m_slack")) if solver.reads_form else None,
            prepare_seconds=prepared if self.encoding == "strengthened" else None,
        )


@dataclass(frozen=True, eq=False)
class ModelExactTask(ExactSolverTask[ModelProblem]):
    """The exact solve of a model as stated."""

    def _start(self, model: Model) -> dict[str, FloatArray]:
        assert self.w is not None
        return model.complete({"w": self.w})

    def _cell(self, options: Options) -> ExactCell:
        empty, solver, model = self._empty, self.solver.solver, self.problem.model
        if solver is None:
            return replace(empty, reason="no installed solver reads this model")
        empty = replace(empty, encoding="" if solver.reads_form else STRUCTURED)
        try:
            with solver_errors(self.solver.label):
                result, log = self._solve(model, options)
            cell = self._filled(empty, solver, model, result)
        except MarginoptError as error:
            return replace(empty, reason=str(error))
        incumbent = None if result.certificate is None else finite_or_none(result.certificate.objective)
        return replace(cell, **log, incumbent=incumbent)


def _solve_with_log(model: Model, spec: SolverSpec, options: Options, with_log: bool) -> tuple[Result, dict[str, Any]]:
    """Return the result of a solve, and the fields ``log`` and ``log_digest`` of `ExactCell` if the page can check a log."""
    # exempt (formulation): the checker of the page reads logs of this formulation
    readable = isinstance(model, ZeroOneSVM) and spec.solver is not None and spec.solver.info.name == "zero-one-bb"
    if not with_log or not readable or "proof" in spec.native_options:
        return solve_problem(model, spec, options), {}
    with TemporaryDirectory() as folder:
        path = Path(folder) / "log.jsonl"
        result = solve_problem(model, spec, replace(options, native={**options.native, "proof": str(path)}))
        packed = gzip.compress(path.read_bytes(), mtime=0) if path.is_file() else b""
    if not 0 < len(packed) <= _LARGEST_LOG:
        return result, {}
    return result, {"log": base64.b64encode(packed).decode(), "log_digest": LoggedZeroOneProblem.of_model(model).digest}


def _root(solver: Solver, result: Result) -> float | None:
    """The bound after the root node: the solver's number, else the last bound of its trace before the first branching.

    The trace counts only for solvers that read the form: `zero-one-bb` starts from the bound 0 and has no root relaxation. The
    number is at most the final bound, which a root node that a limit stopped may report wrongly.
    """
    root_bound = finite_or_none(result.root_bound)
    if root_bound is None and solver.reads_form:
        root = [row.bound for row in result.trace if row.iteration <= 1 and np.isfinite(row.bound)]
        root_bound = root[-1] if root else None
    final = finite_or_none(result.best_bound[0])
    return root_bound if root_bound is None or final is None else min(root_bound, final)


def _thinned(trace: Trace) -> tuple[TracePoint, ...]:
    """The rows where incumbent or bound changed, the first and the last one, evenly thinned."""
    points: list[TracePoint] = []
    rows = list(trace)
    for k, row in enumerate(rows):
        point = (float(row.seconds), finite_or_none(row.objective), finite_or_none(row.bound))
        if not points or point[1:] != points[-1][1:] or k == len(rows) - 1:
            points.append(point)
    if len(points) <= _POINTS:
        return tuple(points)
    chosen = np.unique(np.round(np.linspace(0, len(points) - 1, _POINTS)).astype(int))
    return tuple(points[k] for k in chosen)


def _time_to_bound(trace: Sequence[TracePoint]) -> float | None:
    bounds = [(seconds, bound) for seconds, _, bound in trace if bound is not None]
    if not bounds:
        return None
    final = bounds[-1][1]
    return next(seconds for seconds, bound in bounds if bound >= final - _REACHED * abs(final))
