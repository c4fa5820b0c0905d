"""Run the cells of a gap report: instance × λ × (heuristic, relaxations, exact solvers)."""

from __future__ import annotations

import datetime
import os
import platform
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from importlib import metadata
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

from ..errors import InputError, MarginoptError
from ..models.arrays import FloatArray, as_positive
from ..models.base import Model
from ..models.linear import has_constant_column, linear_summary
from ..models.zero_one import ZeroOneSVM
from ..solvers.auto import choose
from ..solvers.base import Gives, Problem
from ..solvers.options import Options
from ..solvers.registry import get_solver, installed
from ..solvers.solve import solve_problem
from ..solvers.status import Status
from .bigm import BigM
from .cells import Data, ExactCell, InstanceCell, RelaxationCell
from .combined import Combined
from .conic import Conic
from .hinge import Hinge
from .incumbent import heuristic, tighten
from .reduction import Reduction, without_warnings
from .relax import relax
from .report import GapReport
from .store import CellStore

__all__ = ["default_relaxations", "gap_report"]

C = TypeVar("C", RelaxationCell, ExactCell)

#: The open solver of mixed-integer programs that ``exact="auto"`` puts beside whatever auto picks.
GENERIC = "scip"


def default_relaxations() -> tuple[Reduction, ...]:
    """Big-M at several M, the hinge as it is used, the conic SDP, and the SDP with tightened big-M rows."""
    return (
        BigM("zero", factor=100.0),
        BigM("zero"),
        BigM("incumbent"),
        Hinge("incumbent"),
        Hinge(1.0),
        Conic(),
        Combined("incumbent"),
    )


def gap_report(
    instances: Sequence[Data],
    relaxations: Sequence[Reduction] | None = None,
    exact: str | Sequence[str] | None = "auto",
    lam: float | Sequence[float] = 1.0,
    time_limit: float = 30.0,
    seed: int = 0,
    progress: bool = True,
    threads: int | None = None,
    solver: str = "auto",
    store: str | Path | None = None,
) -> GapReport:
    """Bounds, optima and gaps of several relaxations on several instances.

    For each instance and λ a heuristic finds an incumbent, whose objective tightens M; then every relaxation is solved, then
    every exact solver, from that incumbent, on the big-M model with the tightened M. What cannot be run (a missing package, a
    licence, a model that a solver does not read) becomes a cell with its reason.

    Parameters
    ----------
    instances : sequence of Instance
        Two classes -1, +1; taken literally: prepare them first. Names must differ.
    relaxations : sequence of Reduction, optional
        `default_relaxations` where they are not given.
    exact : "auto", str, sequence of str or None
        Exact solvers by name. "auto": what ``solve`` picks for the 0-1 model and, beside it, SCIP on the big-M form. None for
        no exact solve: gaps are then intervals between the best bound and the best classifier.
    lam : float or sequence of float
        λ, one or several.
    time_limit : float
        Seconds for each solve.
    seed : int
        Of the heuristic and the solvers.
    progress : bool
        Lines on standard error.
    threads : int, optional
        For each solver.
    solver : str
        Solver of the relaxations.
    store : path-like, optional
        A file (`relaxations.store.CellStore`) that keeps every cell when it is done: an interrupted report continues from it,
        several reports may use one at once, and a kill at any moment costs only the cells that are being computed.

    Returns
    -------
    GapReport

    Raises
    ------
    InputError
        No instances, names that repeat, labels that are not -1 and +1, an unknown solver, λ ≤ 0: before anything is solved.
    DataError
        The store's file is not a store.
    """
    chosen = default_relaxations() if relaxations is None else tuple(relaxations)
    lams = [as_positive(value, "lam") for value in np.atleast_1d(np.asarray(lam, dtype=np.float64))]
    names = [data.name for data in instances]
    if not names or len(set(names)) != len(names):
        raise InputError(f"instances must be a non-empty list of instances with different names; they are {names}")
    if len({r.name for r in chosen}) != len(chosen):
        raise InputError(f"relaxations must have different names; they are {[r.name for r in chosen]}")
    for name in [solver, *([] if exact is None else [exact] if isinstance(exact, str) else exact)]:
        if name != "auto":
            get_solver(name)  # a misspelt name is an error of the call, not a cell
    with without_warnings():
        models = [(data, value, ZeroOneSVM(data.X, data.y, lam=value)) for data in instances for value in lams]
    options = Options(time_limit=time_limit, seed=seed, threads=threads)
    cellar = None if store is None else CellStore(store)
    begin = time.perf_counter()
    log = _Log(progress, len(models))
    cells = [_run_instance(data, value, model, chosen, exact, solver, options, log, cellar) for data, value, model in models]
    base = next((r.name for r in chosen if r == BigM("zero")), next((r.name for r in chosen if isinstance(r, BigM)), ""))
    meta = _meta(options, exact, solver, chosen, cells)
    meta |= {"base": base, "seconds": round(time.perf_counter() - begin, 3)}
    return GapReport(
        tuple(cell.instance for cell in cells),
        tuple(c for cell in cells for c in cell.relaxations),
        tuple(c for cell in cells for c in cell.exacts),
        meta,
    )


@dataclass(frozen=True, eq=False)
class _Cells:
    instance: InstanceCell
    relaxations: list[RelaxationCell]
    exacts: list[ExactCell]


class _Log:
    """Progress on standard error: one line for each cell, with the time so far."""

    def __init__(self, on: bool, total: int) -> None:
        self.on, self.total, self.done, self.begin = on, total, 0, time.perf_counter()

    def line(self, text: str) -> None:
        """Write one line."""
        if self.on:
            seconds = time.perf_counter() - self.begin
            sys.stderr.write(f"[{self.done}/{self.total}, {seconds:5.1f} s] {text}\n")
            sys.stderr.flush()


def _run_instance(
    data: Data,
    lam: float,
    model: ZeroOneSVM,
    relaxations: Sequence[Reduction],
    exact: str | Sequence[str] | None,
    solver: str,
    options: Options,
    log: _Log,
    store: CellStore | None,
) -> _Cells:
    log.line(f"{data.name}, λ = {lam:g}: {model.X.shape[0]} points, heuristic")
    parts = {"name": data.name, "source": data.source, "X": model.X, "y": model.y, "lam": lam, "options": options.record()}

    def first() -> tuple[dict[str, Any], bool]:
        cell, w = _instance_cell(data, lam, model, options)
        return {"cell": cell.record(), "w": w.tolist()}, True

    record, known = first() if store is None else store.remember("instance", parts, first)
    instance, w = InstanceCell.from_record(record["cell"]), np.array(record["w"])
    log.line(f"  heuristic: objective {instance.objective:.7g} ({instance.seconds:.1f} s)" + _stored(store, known))
    tightened = tighten(model, w)
    parts["incumbent"] = w
    relaxed: list[RelaxationCell] = []
    for reduction in relaxations:

        def relaxation(reduction: Reduction = reduction) -> RelaxationCell:
            return _relaxation_cell(instance, tightened, reduction, solver, options)

        what = {"reduction": reduction, "solver": solver}
        relaxed.append(_cell(store, "relaxation", {**parts, **what}, RelaxationCell, relaxation, log))
    exacts: list[ExactCell] = []
    for name in _exact_names(exact, tightened, options):

        def exactly(name: str = name) -> ExactCell:
            return _exact_cell(instance, tightened, name, w, options)

        exacts.append(_cell(store, "exact", {**parts, "solver": name, "encoding": model.encoding}, ExactCell, exactly, log))
    log.done += 1
    return _Cells(instance, relaxed, exacts)


def _stored(store: CellStore | None, known: bool) -> str:
    return " (stored)" if store is not None and known else ""


def _cell(store: CellStore | None, kind: str, parts: dict[str, Any], sort: type[C], make: Callable[[], C], log: _Log) -> C:
    """A cell from the store, or computed and stored: not where it could not run or was interrupted."""

    def record() -> tuple[dict[str, Any], bool]:
        cell = make()
        return cell.record(), not cell.reason and cell.status != str(Status.INTERRUPTED)

    found, known = record() if store is None else store.remember(kind, parts, record)
    cell = sort.from_record(found)
    log.line("  " + _told(cell) + _stored(store, known))
    return cell


def _instance_cell(data: Data, lam: float, model: ZeroOneSVM, options: Options) -> tuple[InstanceCell, FloatArray]:
    """The heuristic's classifier on an instance."""
    begin = time.perf_counter()
    w, objective = heuristic(model, options.seed)
    seconds = time.perf_counter() - begin
    figures = linear_summary(model.X, model.y, w)
    constant = has_constant_column(model.X)
    cell = InstanceCell(
        data.name, lam, data.source, model.X.shape[0], model.X.shape[1] - constant, constant, int((model.y > 0).sum()), objective,
        int(figures["margin_violations"]), int(figures["misclassified"]), seconds,
    )  # fmt: skip
    return cell, w


def _exact_names(exact: str | Sequence[str] | None, model: ZeroOneSVM, options: Options) -> list[str]:
    if exact is None:
        return []
    if isinstance(exact, str) and exact != "auto":
        return [exact]
    if not isinstance(exact, str) and "auto" not in exact:
        return list(exact)
    picked = choose(Problem(model), options)[0]
    names = [picked, GENERIC] if exact == "auto" else [picked if name == "auto" else name for name in exact]
    return list(dict.fromkeys(names))


def _relaxation_cell(
    instance: InstanceCell, model: ZeroOneSVM, reduction: Reduction, solver: str, options: Options
) -> RelaxationCell:
    empty = RelaxationCell(instance.instance, instance.lam, reduction.name, solver)
    try:
        M = reduction.constants(model)
        target = reduction.apply(model)
        form = target.form if isinstance(target, Model) else target
        solved = relax(model, reduction, solver, options)
        result = solved.result
    except MarginoptError as error:
        return replace(empty, reason=str(error))
    figures = {} if solved.values is None else linear_summary(model.X, model.y, solved.values["w"])
    ratio = result.summary.get("rank_ratio")
    return replace(
        empty,
        solver=result.solver,
        version=result.version,
        status=str(result.status),
        native_status=result.claim.native_status,
        bound=_number(solved.bound),
        kind=solved.bound_kind,
        argument="" if result.certificate is None else result.certificate.argument,
        caveat=solved.caveat,
        m_source=reduction.m_source(model),
        m_low=None if M is None else float(M.min()),
        m_high=None if M is None else float(M.max()),
        recovered=_number(solved.objective),
        violations=_count(figures, "margin_violations"),
        misclassified=_count(figures, "misclassified"),
        rank_ratio=None if ratio is None else _number(ratio),
        variables=form.n,
        rows=form.rows,
        bytes=form.bytes,
        build_seconds=result.build_seconds,
        solve_seconds=result.solve_seconds,
    )


def _exact_cell(instance: InstanceCell, model: ZeroOneSVM, name: str, w: Any, options: Options) -> ExactCell:
    structured = bool(get_solver(name).info.views)  # reads the data, not the form
    encoding = "none: reads the data" if structured else "big-M"
    empty = ExactCell(
        instance.instance, instance.lam, name, encoding=encoding, m_source=model.m_source, time_limit=options.time_limit
    )
    warm = Gives.WARM_START in get_solver(name).info.gives
    try:
        result = solve_problem(model, name, replace(options, start=model.point(w) if warm else None))
    except MarginoptError as error:
        return replace(empty, reason=str(error))
    found = bool(result.values)
    figures = linear_summary(model.X, model.y, result.values["w"]) if found else {}
    bound, kind = result.best_bound
    return replace(
        empty,
        version=result.version,
        status=str(result.status),
        native_status=result.claim.native_status,
        proven=result.status is Status.OPTIMAL,
        incumbent=model.objective(result.values["w"]) if found else None,
        claimed=_number(result.claim.objective),
        bound=_number(bound),
        kind=kind,
        nodes=result.nodes,
        violations=_count(figures, "margin_violations"),
        misclassified=_count(figures, "misclassified"),
        build_seconds=result.build_seconds,
        solve_seconds=result.solve_seconds,
        variables=None if structured else model.form.n,
        rows=None if structured else model.form.rows,
        m_slack=None if structured else _number(result.summary.get("smallest_big_m_slack")),
    )


def _number(value: float | None) -> float | None:
    return float(value) if value is not None and np.isfinite(value) else None


def _count(figures: dict[str, float], name: str) -> int | None:
    return int(figures[name]) if name in figures else None


def _told(cell: RelaxationCell | ExactCell) -> str:
    name = cell.relaxation if isinstance(cell, RelaxationCell) else cell.solver
    if cell.reason:
        return f"{name}: not run: {cell.reason}"
    bound = "no bound" if cell.bound is None else f"bound {cell.bound:.7g} ({cell.kind})"
    point = "" if isinstance(cell, RelaxationCell) or cell.incumbent is None else f", incumbent {cell.incumbent:.7g}"
    return f"{name}: {cell.status}, {bound}{point} ({cell.solve_seconds:.2f} s)"


def _meta(
    options: Options, exact: str | Sequence[str] | None, solver: str, relaxations: Sequence[Reduction], cells: Sequence[_Cells]
) -> dict[str, Any]:
    """What the foot says: versions, machine, options, seeds."""
    used = {c.solver for cell in cells for c in cell.relaxations if not c.reason}
    used |= {c.solver for cell in cells for c in cell.exacts if not c.reason}
    packages = {get_solver(name).info.package for name in used if installed(get_solver(name))} - {""}
    versions = {"marginopt": metadata.version("marginopt"), "python": platform.python_version()}
    for package in ("numpy", "scipy", *sorted(packages)):
        versions[package] = metadata.version(package)
    memory = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") / 2**30
    return {
        "created": datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds"),
        "versions": versions,
        "machine": f"{platform.system()} {platform.machine()}, {os.cpu_count()} cores, {memory:.0f} GiB",
        "options": {
            "exact": exact if exact is None or isinstance(exact, str) else list(exact),
            "relaxation solver": solver,
            "time limit": options.time_limit,
            "threads": "all" if options.threads is None else options.threads,
            "start": "the heuristic's classifier",
        },
        "seed": options.seed,
        "relaxations": [r.name for r in relaxations],
    }
