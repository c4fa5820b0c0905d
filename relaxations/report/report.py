"""`gap_report`: bound several problems by relaxations and solve them exactly; `GapReport`, its result, writes files."""

from __future__ import annotations

import datetime
import platform
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import fields, replace
from functools import cached_property
from pathlib import Path
from typing import Any, Literal

import numpy as np

from ...display import data_frame
from ...drawing import Picture
from ...errors import InputError, count_text, short_text
from ...files import write_texts
from ...models.model import Model
from ...models.program.form import StandardForm
from ...solvers.interface.solver import OPEN_LICENCE, Solver, version_of
from ...solvers.parallel import Cluster, choose_executor
from ...solvers.records import Options
from ...solvers.registry import SolverLike, get_solver, is_installed
from ...status_line import announce_compilations
from ..reduction import Reduction
from .cells import ExactCell, InstanceCell, KappaCell, LamChoice, RelaxationCell
from .document import Document
from .formats import FORMATS, format_of_suffix, read_json, render_csv, render_markdown, render_notebook
from .plan import Plan, ProblemLike, parse_limits
from .problems import InstanceData
from .report_data import ReportData
from .runner import Progress, Runner, describe_blas, describe_machine
from .tables import report_text
from .tasks import HeuristicTask, ModelTask, SolverTask


class GapReport(ReportData):
    """A gap report: its results, and methods that write them as files, texts and data frames.

    Parameters
    ----------
    instances, relaxations, exacts, kappas
        Results on problems, of relaxations, of exact solves, and of a sweep over κ (the share of points that may violate their
        margin): cells of `ReportData`.
    meta
        Versions, machine, options and times of the run.
    """

    @cached_property
    def document(self) -> Document:
        """The findings, tables and pictures, made once for all formats."""
        return Document(self)

    @property
    def pictures(self) -> tuple[Picture, ...]:
        """Return every picture that there are data for, drawn once."""
        return self.document.pictures

    def write(self, path: str | Path) -> list[Path]:
        """Write the report in the format of the suffix: .html, .md, .csv, .json or .tex.

        Markdown brings its pictures in a folder beside it, CSV a file for each table. Returns the paths, the main one first.

        Raises
        ------
        InputError
            No format has this suffix.
        """
        target = Path(path)
        files = format_of_suffix(target).files(self.document, target.stem)
        texts = {target if k == 0 else target.parent / name: text for k, (name, text) in enumerate(files.items())}
        for folder in {place.parent for place in texts}:
            folder.mkdir(parents=True, exist_ok=True)
        write_texts(texts)
        return list(texts)

    def write_all(self, folder: str | Path) -> list[Path]:
        """Write the report in every format into a folder, as ``report`` with the suffix; return the paths."""
        return [path for suffix in FORMATS for path in self.write(Path(folder) / f"report{suffix}")]

    def html(self) -> str:
        """Return the report as one self-contained HTML page."""
        return self._text(".html")

    def markdown(self, pictures: str | None = None) -> str:
        """Return findings and tables in Markdown, with links to the pictures in a folder if it is given."""
        return render_markdown(self.document, pictures)

    def csv(self, table: Literal["rows", "exacts", "kappas"] = "rows") -> str:
        """Return one table as CSV: a line for each relaxation ("rows"), exact solve or κ, in raw numbers.

        Raises
        ------
        InputError
            Another table.
        """
        return render_csv(self, table)

    def latex(self) -> str:
        """Return a LaTeX document with findings, tables and performance profiles."""
        return self._text(".tex")

    def json(self) -> str:
        """Return all results as JSON, which `from_json` reads from a file."""
        return self._text(".json")

    def to_frame(self, table: str = "relaxations") -> Any:
        """Return one table of the page as a pandas data frame, intervals as two columns.

        Parameters
        ----------
        table : str
            Name of a table of the page: "instances", "relaxations", "exacts", "relaxation-means", "exact-means", "kappas".

        Raises
        ------
        InputError
            The report has no such table.
        MissingPackageError
            pandas is not installed.
        """
        tables = {t.name: t for t in self.document.tables}
        if table not in tables:
            raise InputError(f"table must be one of {', '.join(tables)}; it is {short_text(table)}", name="table")
        chosen_table = tables[table]
        return data_frame([{k: v for c in chosen_table.columns for k, v in c.values(row).items()} for row in chosen_table.rows])

    def _text(self, suffix: str) -> str:
        return next(iter(FORMATS[suffix].files(self.document, "report").values()))

    @classmethod
    def from_json(cls, path: str | Path) -> GapReport:
        """Read a report that `write` wrote as JSON.

        Raises
        ------
        DataError
            No such file, not a stored report of a known layout, or a report that was changed after it was written.
        """
        data = read_json(Path(path))
        return cls(**{f.name: getattr(data, f.name) for f in fields(data)})

    def __str__(self) -> str:
        return report_text(self, self.document.tables)

    def _repr_html_(self) -> str:
        return render_notebook(self.document)


# exempt (arguments): users give them by name
def gap_report(
    instances: Sequence[ProblemLike] | Mapping[str, ProblemLike],
    relaxations: Sequence[Reduction[Any] | str] | str | None = None,
    exact: SolverLike | Sequence[SolverLike] | None = "auto",
    lam: float | Literal["auto"] | Sequence[float] = 1.0,
    *,
    progress: bool = True,
    solver: SolverLike = "auto",
    store: str | Path | None = None,
    encodings: str | Sequence[str] = "bigm",
    big_m: str | float | Sequence[str | float] | None = None,
    kappa: float | Sequence[float] | None = None,
    seeds: Sequence[int] | None = None,
    held_out: float | Mapping[str, InstanceData] | None = None,
    proofs: bool = False,
    jobs: int | None = None,
    cluster: Cluster = None,
    options: Options | None = None,
    **overrides: Any,
) -> GapReport:
    """Solve relaxations of several problems, and the problems exactly; return bounds, optima and gaps.

    A problem is an instance, whose 0-1 problem min ||w||² + λ Σ 1{y_i x_i'w < 1} is bounded at every λ, or a model as it is
    stated: a `Margin`, a named formulation, a changed one (``with_constraint``), an imported form (``from_cvxpy``, ``read``).
    On a model every relaxation that reads it is solved, and every exact solver is run, in its own encoding. In a mapping a name
    may have a function of λ, ``{"fair": lambda lam: mo.ZeroOneSVM(X, y, lam).with_constraint(...)}``, or a list of models or of
    instances, replicates over which means are taken: ``{"clusters": [gaussian_clusters(50, 3, 0.5, seed=s) for s in range(9)]}``.

    For each instance and λ a heuristic finds an incumbent, whose objective tightens the big-M constants M. Then every relaxation
    is solved, and every exact solver × encoding × M × seed starts from that incumbent. A solve that cannot run (a missing
    package, a licence, a model that a solver does not read) becomes a cell with the reason. Ctrl-C that no solver takes ends the
    report: it has the cells that are finished, the reason in the others, and ``meta["interrupted"]``.

    Parameters
    ----------
    instances : sequence of Instance, Model or StandardForm, or mapping of name to instance, model, function of λ, or list
        Instances have classes -1 and +1 and are used unchanged: prepare them first. Names must differ; a mapping gives them. For
        a sweep over n give the same data at several n. Values of a form that maximises are those of its negative, which the form
        minimises.
    relaxations : sequence of Reduction or str, optional
        Objects, rx.Conic() say, or names of ``relaxations.table()``. By default `default_relaxations`; for a model all that read
        it and bound its optimum.
    exact : str, Solver, pair, sequence of them, or None
        Exact solvers as for ``solve``: names, objects, pairs of either with options. "auto": what ``solve`` picks for the 0-1
        model and, beside it, SCIP on the big-M form. None for no exact solve: gaps are then intervals between the best bound
        and the best classifier.
    lam : float, sequence of float, or "auto"
        λ of the instances and of functions of λ; a model has its own. "auto" chooses it for each: the geometric mean of two ends.
        Below the lower end no classifier is known to beat the intercept alone; above the upper end the best known classifier is
        the one of least known cost of violations. The ends are breakpoints of the lower envelope of the objectives, affine in λ,
        of the heuristic's classifiers at λ = 8^k.
    progress : bool
        Whether to write progress lines on standard error, with an estimate of the seconds that remain.
    solver : str, Solver or pair
        Solver of the relaxations.
    store : path-like, optional
        A file (`CellStore`) that keeps every cell when it is done: an interrupted report continues from it,
        several reports may use one at once, and a kill at any moment costs only the cells that are being computed. A solver
        object is identified by its class and parameters.
    encodings : str or sequence of str
        "bigm", "indicator", "strengthened": encodings for exact solvers that read a form. Solvers that read the data have none.
    big_m : str, float or sequence, optional
        M of the big-M and strengthened encodings; each is a big-M relaxation too: "incumbent", "zero" (both valid), "100x zero",
        or a number for every point, which may cut off the optimum and then has a caveat. By default "incumbent", for the
        encodings alone.
    kappa : float or sequence of float, optional
        Values in [0, 1] of κ for a sweep on every instance: the conic relaxation of min ||w||² with at most κn margin violations
        (Cepeda, Gómez and Han 2024, Appendix C).
    seeds : sequence of int, optional
        Seeds of the exact solvers; by default ``seed`` alone.
    held_out : float or mapping of name to Instance, optional
        Points on which the errors of every classifier are counted, and which no classifier is fitted on: a share of each instance
        (drawn with ``seed``, classes in proportion), or the points by the name of the problem, instance or model.
    proofs : bool
        Whether ``zero-one-bb`` writes proof logs (up to a megabyte each), which the HTML page verifies in the reader's browser.
    jobs : int, optional
        Number of cells at a time, by joblib: -1 for all cores. By default one, or the number and the backend (Dask or Ray, say)
        of an enclosing ``joblib.parallel_config``.
    cluster : distributed.Client or str, optional
        Compute the cells on a Dask cluster (a client, or its scheduler's address) or on "ray", the Ray cluster of this session.
        This process alone reads and writes the store.
    options, **overrides
        Options of every solve, as for ``solve``: ``time_limit`` (by default 30 seconds), ``seed`` (of the heuristic too),
        ``tol``, ``threads`` (by default all, divided by the number of cells at a time), ``node_limit`` (of exact solves),
        ``memory_limit``. The report sets the starts; a solver's own options go with it, as a pair.

    Returns
    -------
    GapReport
        The results; it prints as tables, and `GapReport.write` writes pages.

    Raises
    ------
    InputError
        No instances, names that repeat, labels that are not -1 and +1, an unknown solver or encoding, λ ≤ 0, κ outside
        [0, 1], a solver with a parameter that a store cannot tell from another one: before anything is solved.
    DataError
        The store's file is not a store.
    SolverError
        The cluster is gone; the store holds what was done.
    KeyboardInterrupt
        Ctrl-C before the first problem's heuristic was done.
    """
    options = parse_limits(options, overrides)
    assert options.time_limit is not None  # `parse_limits` sets one
    plan = Plan.of(instances, relaxations, exact, lam, encodings, big_m, kappa, seeds, held_out, proofs, solver, options)
    if store is not None:
        plan.open_store(store)  # raises before any solve
    begin, progress_lines = time.perf_counter(), Progress(progress, options.time_limit)
    with choose_executor(jobs, cluster) as executor, announce_compilations(progress):
        runner = Runner(executor, None if store is None else Path(store), progress_lines)
        cells, tasks, records, interruption = _computed(plan, runner)
    progress_lines.end()
    cells_by_kind = {kind: [r["cell"] for t, r in zip(tasks, records, strict=True) if t.kind == kind] for kind in _KINDS}
    relaxed = tuple(RelaxationCell.from_record(r) for r in cells_by_kind["relaxation"])
    exacts = tuple(ExactCell.from_record(r) for r in cells_by_kind["exact"])
    base = next((r.name for r in plan.relaxations if r.is_base), "")
    named = {label: solver for task in tasks for label, solver in task.solvers.items()}
    ran = {c.solver for c in relaxed if not c.reason} | {c.solver for c in exacts if not c.reason}
    used = {label: named[label] if label in named else get_solver(label) for label in sorted(ran)}
    meta = _meta(plan, {**used, **named}.values(), used.values())
    meta |= {"base": base, "seconds": round(time.perf_counter() - begin, 3)}
    if interruption:
        meta["interrupted"] = interruption
    return GapReport(cells, relaxed, exacts, meta, tuple(KappaCell.from_record(r) for r in cells_by_kind["kappa"]))


_KINDS = ("relaxation", "exact", "kappa")
_INTERRUPTED = "Ctrl-C ended the report before it was done"


def _computed(plan: Plan, runner: Runner) -> tuple[tuple[InstanceCell, ...], list[SolverTask[Any]], list[dict[str, Any]], str]:
    """Return the cells of problems, the tasks that follow from their points, the records of these tasks, and an interruption.

    After Ctrl-C a task that is not done has a record with the reason, and a problem without its first cell has none. The last
    text is what Ctrl-C left out, in words; empty for a complete report.
    """
    chosen = [LamChoice.from_record(record["cell"]) for record in runner.run(plan.lam_choice_tasks())]
    heuristics, stated_models = plan.heuristic_tasks(chosen), plan.model_tasks(chosen)
    firsts: list[HeuristicTask | ModelTask] = [*heuristics, *stated_models]
    outcomes = runner.run_until_interrupt(firsts, _foreseen(plan, heuristics, stated_models) if runner.progress.enabled else ())
    tasks: list[SolverTask[Any]] = []
    for k, record in sorted(outcomes.items()):
        first, w = firsts[k], None if record["w"] is None else np.array(record["w"])
        if isinstance(first, ModelTask):
            tasks += plan.tasks_after_model(first, w)
        else:
            assert w is not None  # a heuristic finds a classifier
            tasks += plan.tasks_after_heuristic(first, w)
    ends = {choice.name: (choice.low, choice.high) for choice in chosen}
    cells = tuple(_ended(firsts[k].cell(record), ends) for k, record in sorted(outcomes.items()))
    problems_left_out = len(firsts) - len(outcomes)
    records = {} if problems_left_out else _records_until_interrupt(runner, tasks)
    all_records = [records.get(k) or task.unsolved_record(_INTERRUPTED) for k, task in enumerate(tasks)]
    left_out = [(problems_left_out, "problem"), (len(tasks) - len(records), "solve")]
    words = " and ".join(count_text(count, noun) for count, noun in left_out if count)
    return cells, tasks, all_records, f"{_INTERRUPTED}: {words} left out" if words else ""


def _records_until_interrupt(runner: Runner, tasks: Sequence[SolverTask[Any]]) -> dict[int, dict[str, Any]]:
    """Return the records of the tasks that are finished before Ctrl-C; empty if it comes before the first."""
    try:
        return runner.run_until_interrupt(tasks)
    except KeyboardInterrupt:  # the problems' first cells are worth a report
        return {}


def _ended(cell: InstanceCell, ends: Mapping[str, tuple[float | None, float | None]]) -> InstanceCell:
    """Return the cell with the ends between which its λ was chosen."""
    low, high = ends.get(cell.instance, (None, None))
    return replace(cell, lam_low=low, lam_high=high)


def _foreseen(plan: Plan, heuristics: Sequence[HeuristicTask], stated_tasks: Sequence[ModelTask]) -> list[SolverTask[Any]]:
    """Return tasks with the number and the labels of those that will follow, which do not depend on the points found."""
    seconds: list[SolverTask[Any]] = []
    for first in heuristics:
        seconds += plan.tasks_after_heuristic(first, np.zeros(first.problem.model.X.shape[1]))
    for model in stated_tasks:
        seconds += plan.tasks_after_model(model, None)
    return seconds


def _meta(plan: Plan, candidates: Iterable[Solver], used: Iterable[Solver]) -> dict[str, Any]:
    """Return the head of the report: versions of packages, machine, BLAS, licences, options, seeds."""
    packages = {solver.info.package for solver in used if is_installed(solver)} - {""}
    versions = {"marginopt": version_of("marginopt"), "python": platform.python_version()}
    for package in ("numpy", "scipy", *sorted(packages)):
        versions[package] = version_of(package)
    licences = {solver.info.name: solver.licence() for solver in candidates if is_installed(solver)}
    return {
        "created": datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds"),
        "versions": versions,
        "machine": describe_machine(),
        "BLAS": describe_blas(),
        "licence limits": {
            name: ": ".join(filter(None, (licence.state.value, licence.detail)))
            for name, licence in licences.items()
            if licence != OPEN_LICENCE
        },
        "options": plan.record(),
        "seed": plan.options.seed,
        "relaxations": [r.name for r in plan.relaxations] if plan.instances else ["all that read the model"],
    }


def model_gaps(
    model: Model | StandardForm,
    names: Sequence[str | Reduction[Any]] | None = None,
    exact: SolverLike | Sequence[SolverLike] | None = "auto",
    options: Options | None = None,
) -> GapReport:
    """Return the gap report of one model, without progress lines.

    Parameters
    ----------
    model : Model or StandardForm
        The problem to bound and to solve.
    names : sequence of str or Reduction, optional
        Relaxations by name or as objects; by default all that read the model and bound its optimum.
    exact : str, Solver, pair, sequence of them, or None
        Exact solvers, as for `gap_report`.
    options : Options, optional
        Options of every solve, as for `gap_report`.

    Returns
    -------
    GapReport

    Raises
    ------
    InputError
        Not a model, or no relaxation of that name.
    """
    if not isinstance(model, Model | StandardForm):
        raise InputError(
            f"model must be a formulation or a form; it is a {type(model).__name__} (gap_report takes instances too)",
            name="model",
        )
    return gap_report([model], names, exact, options=options, progress=False)
