"""One exact solve of a gap report: encoding, M, seed; its root bound and its convergence."""

from __future__ import annotations

import base64
import gzip
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, ClassVar, TypeAlias

import numpy as np

from ....errors import DataError, MarginoptError
from ....models.arrays import FloatArray
from ....models.formulations.linear_classifiers import linear_summary
from ....models.formulations.zero_one.model import Encoding, ZeroOneSVM
from ....models.model import Model
from ....solvers.certification.result import Result
from ....solvers.interface.solver import Gives, Solver
from ....solvers.records import Options, Status, Trace
from ....solvers.registry import SolverSpec
from ....solvers.solve import solve_problem
from ....solvers.zero_one.check.checker import LoggedZeroOneProblem
from ...bounds.big_m import BigM
from ...reduction import restated, without_warnings
from ...strengthening import strengthen
from .record import BoundingCell, InstanceAt, SolverTask, as_count, as_number

#: Seconds, incumbent and lower bound at that time; None where there is none yet.
TracePoint: TypeAlias = tuple[float, float | None, float | None]

#: The encoding of a solver that reads the data and no form.
STRUCTURED = "none: reads the data"

#: Points of a trace that a cell keeps.
_POINTS = 120
#: Bytes of a packed proof log that a cell keeps.
_LARGEST_LOG = 2**20
#: A bound within this of the final one, relatively, is the final one.
_REACHED = 1e-6
_ENCODINGS = {"bigm": "big-M", "indicator": "indicator", "strengthened": "strengthened"}


@dataclass(frozen=True)
class ExactCell(BoundingCell):
    """The outcome of one exact solver on one instance under the time limit, or the reason why it did not run.

    Parameters
    ----------
    solver, version, encoding, m_source, status, native_status : str
    proven : bool
        Whether the optimum was reached (status "optimal").
    incumbent : float or None
        True 0-1 objective of the solver's point, recomputed from w.
    claimed : float or None
        Objective that the solver claims.
    bound : float or None
        Lower bound of the 0-1 optimum; None with a caveat.
    kind : str
        "proved" (our own exact solver), "claimed by solver" or "none".
    nodes : int or None
    violations, misclassified : int or None
    build_seconds, solve_seconds, time_limit : float or None
    variables, rows : int or None
    m_slack : float or None
        Smallest slack of a big-M row in use at the solver's point; zero would mean that M may cut something off.
    reason : str
    seed : int
        Of the solver.
    root : float or None
        The bound after the root node, where the solver gives one.
    bound_seconds : float or None
        When the trace's bound first was the final one, up to 1e-6 of it.
    prepare_seconds : float or None
        Before the solver: the relaxation behind γ* of the strengthened encoding.
    caveat : str
        Why the encoding may cut off the optimum (an M that is not proved valid); empty where it is exact.
    target_bound, target_kind : float or None, str
        With a caveat: the bound of the encoded program's own optimum alone.
    test_error : float or None
        Part of the points held out that its classifier gets wrong.
    trace : tuple of TracePoint
        Incumbent and bound over time, as the solver's callback tells them; thinned.
    log : str
        Path of the proof log; empty where there is none.
    log_digest : str
        SHA-256 of the log.
    """

    solver: str
    version: str = ""
    encoding: str = ""
    m_source: str = ""
    status: str = "not run"
    native_status: str = ""
    proven: bool = False
    incumbent: float | None = None
    claimed: float | None = None
    bound: float | None = None
    kind: str = "none"
    nodes: int | None = None
    violations: int | None = None
    misclassified: int | None = None
    build_seconds: float | None = None
    solve_seconds: float | None = None
    time_limit: float | None = None
    variables: int | None = None
    rows: int | None = None
    m_slack: float | None = None
    reason: str = ""
    seed: int = 0
    root: float | None = None
    bound_seconds: float | None = None
    prepare_seconds: float | None = None
    caveat: str = ""
    trace: tuple[TracePoint, ...] = ()
    target_bound: float | None = None
    target_kind: str = "none"
    test_error: float | None = None
    log: str = ""
    log_digest: str = ""

    added: ClassVar[Mapping[str, Any]] = {
        "target_bound": None, "target_kind": "none", "test_error": None, "log": "", "log_digest": "",
    }  # fmt: skip

    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(self, "trace", tuple(_trace_point(point) for point in self.trace))  # JSON knows lists only

    @property
    def variant(self) -> str:
        """Solver, and its encoding and M where they are not the usual ones: what is compared over instances and seeds."""
        words = [self.solver]
        if self.encoding not in ("", "big-M", STRUCTURED):
            words.append(self.encoding)
        if self.m_source not in ("", "incumbent", "M from incumbent"):
            words.append(self.m_source)
        return ", ".join(words)


def _trace_point(point: Any) -> TracePoint:
    try:
        seconds, incumbent, bound = point
    except (TypeError, ValueError) as error:
        raise DataError(f"a trace of a stored report holds (seconds, incumbent, bound); found {point!r}") from error
    return seconds, incumbent, bound


@dataclass(frozen=True, eq=False)
class ExactTask(SolverTask[InstanceAt]):
    """One exact solver with one encoding, M and seed; ``w`` is its start. A solver that reads the data has no encoding.

    ``proofs`` asks for a proof log where the page's checker reads it.
    """

    w: FloatArray
    solver: SolverSpec
    proofs: bool
    encoding: Encoding | None
    constants: BigM | None
    relaxation_solver: SolverSpec

    kind = "exact"

    @property
    def label(self) -> str:
        """Solver, encoding, M and seed."""
        return ", ".join(filter(None, (self._empty.variant, f"seed {self.options.seed}" if self.options.seed else "")))

    @property
    def parts(self) -> dict[str, Any]:
        """Return the incumbent, the solver, the encoding and M."""
        identity = {
            "solver": self.solver.key,
            "encoding": self.encoding,
            "M": self.constants,
            **({"log": True} if self.proofs else {}),
        }
        if self.encoding == "strengthened":
            identity["relaxation solver"] = self.relaxation_solver.key
        return {**super().parts, "incumbent": self.w, **identity}

    @property
    def _empty(self) -> ExactCell:
        return ExactCell(
            self.subject.name,
            self.subject.lam,
            self.solver.label,
            encoding=STRUCTURED if self.encoding is None else _ENCODINGS[self.encoding],
            m_source="" if self.constants is None else self.constants.source_name,
            time_limit=self.solver.merge_options(self.options).time_limit,
            seed=self.options.seed,
            caveat="" if self.constants is None else self.constants.caveat(self.subject.model),
        )

    def _encoded(self) -> ZeroOneSVM:
        if self.encoding is None:
            return self.subject.model
        if self.encoding == "indicator":
            return restated(self.subject.model, encoding="indicator")
        assert self.constants is not None
        if self.encoding == "bigm":
            return self.constants.restate(self.subject.model)
        strong = restated(strengthen(restated(self.subject.model, incumbent=self.w), rounds=0, solver=self.relaxation_solver),
                          incumbent=self.w)  # fmt: skip
        return (
            strong
            if self.constants == BigM("incumbent")
            else restated(strong, big_m=self.constants.constants(self.subject.model))
        )

    def _cell(self, options: Options) -> ExactCell:
        begin = time.perf_counter()
        empty = self._empty
        try:
            model = self._encoded()
            prepared = time.perf_counter() - begin
            assert self.solver.solver is not None  # auto was settled with the plan
            warm = Gives.WARM_START in self.solver.solver.info.gives
            with without_warnings():  # the caveat says that M may be too small
                start = model.point(self.w) if warm else None
                result, log = solve_with_log(model, self.solver, replace(options, start=start), self.proofs)
        except MarginoptError as error:
            return replace(empty, reason=str(error))
        form = None if self.encoding is None else model.form
        has_point = bool(result.values)
        figures = linear_summary(model.X, model.y, result.values["w"]) if has_point else {}
        return replace(
            fill_cell(empty, self.solver.solver, result, figures),
            **log,
            test_error=self.subject.error(result.values),
            incumbent=model.objective(result.values["w"]) if has_point else None,
            variables=None if form is None else form.n,
            rows=None if form is None else form.rows,
            m_slack=None if form is None else as_number(result.summary.get("smallest_big_m_slack")),
            prepare_seconds=prepared if self.encoding == "strengthened" else None,
        )


def solve_with_log(model: Model, spec: SolverSpec, options: Options, with_log: bool) -> tuple[Result, dict[str, Any]]:
    """Solve, and return the result and the fields ``log`` and ``log_digest`` of a log that the page can check."""
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


def fill_cell(empty: ExactCell, solver: Solver, result: Result, figures: Mapping[str, float]) -> ExactCell:
    """Return the cell filled from a result: status, bound, objective, times; ``figures`` are the errors of its point."""
    bound, kind = result.best_bound
    trace = _thinned(result.trace)
    return replace(
        empty,
        version=result.version,
        status=str(result.status),
        native_status=result.claim.native_status,
        proven=result.status is Status.OPTIMAL and not empty.caveat,
        claimed=as_number(result.claim.objective),
        bound=as_number(bound),
        kind=kind,
        nodes=result.nodes,
        violations=as_count(figures, "margin_violations"),
        misclassified=as_count(figures, "misclassified"),
        build_seconds=result.build_seconds,
        solve_seconds=result.solve_seconds,
        root=_root(solver, result),
        bound_seconds=_time_to_bound(trace),
        trace=trace,
    )


def _root(solver: Solver, result: Result) -> float | None:
    """The bound after the root node: what the solver says, else the last bound of its trace before the first branching.

    Our own solver starts from the bound 0 and has no root relaxation of its own. A root that was cut off says less than the
    final bound, whatever number stands there.
    """
    root_bound = as_number(result.root_bound)
    if root_bound is None and solver.reads_form:
        root = [row.bound for row in result.trace if row.iteration <= 1 and np.isfinite(row.bound)]
        root_bound = root[-1] if root else None
    final = as_number(result.best_bound[0])
    return root_bound if root_bound is None or final is None else min(root_bound, final)


def _thinned(trace: Trace) -> tuple[TracePoint, ...]:
    """The rows where incumbent or bound changed, the first and the last one, evenly thinned."""
    points: list[TracePoint] = []
    rows = list(trace)
    for k, row in enumerate(rows):
        point = (float(row.seconds), as_number(row.objective), as_number(row.bound))
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
