"""`compare`: solve one model or several by several solvers under equal limits; a table of objectives, gaps and times."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, overload

import numpy as np

from ..display import Display, Displayable, Tabular, column_lines
from ..drawing import colour_of, dash_of, new_axes
from ..errors import InputError, MarginoptError, SolverError, short_text
from ..models.model import Model, as_model
from ..models.program.form import StandardForm
from .certification.result import Result
from .geometric_mean import NODES_SHIFT, SECONDS_SHIFT, shifted_geometric_mean
from .interface.native_options import near_misses
from .parallel import Cluster, Executor, choose_executor, completed_results
from .records import COMMON_OPTIONS, Options
from .registry import SolverLike, SolverSpec, resolve_solvers
from .result_file import checked_text, data_error_context, load_results, save_results
from .solve import solve_problem, solver_errors

#: Statuses of rows without a result: the solver could not take the model, or its own code raised an error.
NOT_RUN, FAILED = "not run", "failed"
_INTERRUPTED = "Ctrl-C ended the comparison before it was done"
_COLUMNS = ("solver", "status", "objective", "bound", "kind", "gap", "iterations", "nodes", "build s", "solve s", "ratio")


@dataclass(frozen=True, eq=False)
class ComparisonRow:
    """One solver's result under its label, or the reason why there is none.

    Parameters
    ----------
    solver : str
        The solver's label.
    result : Result or None
        The result; None without one.
    reason : str
        The reason why there is no result; empty if there is one.
    status : {"not run", "failed"}
        Status of a solver without a result: it could not take the model, or ended with an error of its own.
    """

    solver: str
    result: Result | None
    reason: str
    status: str = NOT_RUN

    def note(self, model: str) -> str:
        """Return the sentence below the table of a model on a solver without a result; empty where there is one."""
        ending = f"did not run {model}" if self.status == NOT_RUN else f"{self.status} on {model}"
        return "" if self.result is not None else f"{self.solver} {ending}: {self.reason}"


@dataclass(frozen=True, eq=False)
class Comparison(Displayable, Tabular):
    """A table of results on one model.

    ``ratio`` is the solving time divided by `fastest_seconds`. A problem that is proved to be infeasible or unbounded counts as
    solved.

    Parameters
    ----------
    model : str
        Name of the model.
    rows : tuple of ComparisonRow
        One row for each solver.
    """

    model: str
    rows: tuple[ComparisonRow, ...]

    def __getitem__(self, solver: str) -> Result:
        for row in self.rows:
            if row.solver == solver:
                if row.result is None:
                    raise KeyError(f"{solver} has no result: {row.reason}")
                return row.result
        raise KeyError(f"{solver} was not compared; {', '.join(r.solver for r in self.rows)} were")

    @property
    def results(self) -> dict[str, Result]:
        """Results by the solver's label, without solvers that did not run."""
        return {row.solver: row.result for row in self.rows if row.result is not None}

    @property
    def fastest_seconds(self) -> float:
        """Smallest solving time of a solved row; NaN where none is solved."""
        times = [r.solve_seconds for r in self.results.values() if r.conclusive]
        return min(times, default=float("nan"))

    def records(self) -> list[dict[str, Any]]:
        """Return one dictionary for each row, for JSON and tables."""
        return [self._record(row) for row in self.rows]

    def _record(self, row: ComparisonRow) -> dict[str, Any]:
        r = row.result
        if r is None:
            return {"solver": row.solver, "status": row.status, "reason": row.reason}
        fastest = self.fastest_seconds
        return {
            "solver": row.solver,
            "status": str(r.status),
            "objective": r.objective,
            "bound": r.bound,
            "kind": r.bound_kind,
            "gap": r.gap,
            "iterations": r.iterations,
            "nodes": r.nodes,
            "build s": r.build_seconds,
            "solve s": r.solve_seconds,
            "ratio": r.solve_seconds / fastest if fastest > 0 else float("nan"),
        }

    def cells(self, columns: Sequence[str]) -> list[list[str]]:
        """Return the text of the named columns; a solver that did not run has its name and status only."""
        shown = [{"solver": r["solver"], "status": r["status"]} if "reason" in r else r for r in self.records()]
        return [[_shown(column, record.get(column)) for column in columns] for record in shown]

    @property
    def notes(self) -> tuple[str, ...]:
        """The reasons of solvers without a result, which stand below the table."""
        return self.notes_on(self.model)

    def notes_on(self, model: str) -> tuple[str, ...]:
        """Return the notes with another name of the model."""
        return tuple(note for row in self.rows if (note := row.note(model)))

    def __str__(self) -> str:
        return "\n".join([self.model, *column_lines([_COLUMNS, *self.cells(_COLUMNS)]), *self.notes])

    def to_markdown(self) -> str:
        """Return the table in Markdown."""
        lines = ["| " + " | ".join(_COLUMNS) + " |", "|" + " --- |" * len(_COLUMNS)]
        lines += ["| " + " | ".join(value.replace("|", "\\|") for value in row) + " |" for row in self.cells(_COLUMNS)]
        return "\n".join([*lines, *(f"\n{note}" for note in self.notes)])

    def display(self) -> Display:
        """Return the notebook view."""
        rows = tuple(tuple(row) for row in self.cells(_COLUMNS))
        return Display(self.model, head=_COLUMNS, rows=rows, words=("solver", "status", "kind"), text="\n".join(self.notes))

    def save(self, path: str | Path) -> Path:
        """Write every result and every reason to one npz file; `Comparison.load` reads it back."""
        rows = [{"solver": row.solver, "reason": row.reason, "status": row.status} for row in self.rows]
        return save_results(path, "comparison", {"model": self.model, "rows": rows}, [row.result for row in self.rows])

    @classmethod
    def load(cls, path: str | Path, model: Model | StandardForm | None = None) -> Comparison:
        """Read what `save` wrote.

        Parameters
        ----------
        path : str or path
            The file.
        model : Model or StandardForm, optional
            The model that was solved: the claims are certified again from it. Without it they are as stored, and marked so.

        Raises
        ------
        DataError
            No such file, no stored comparison, or one of another model.
        """
        with data_error_context(path, "comparison"):
            header, results = load_results(path, "comparison", lambda header, k: model)
            rows = [
                ComparisonRow(
                    checked_text(row["solver"]), result, checked_text(row["reason"]), checked_text(row.get("status", NOT_RUN))
                )
                for row, result in zip(header["rows"], results, strict=True)
            ]
            return cls(checked_text(header["model"]), tuple(rows))

    def plot_convergence(self, ax: Any = None) -> Any:
        """Draw the relative gap over time of every trace that has one; return the matplotlib axes."""
        axes = ax if ax is not None else new_axes((6.0, 4.0))
        for k, (name, result) in enumerate(self.results.items()):
            gap, seconds = result.trace.column("gap"), result.trace.column("seconds")
            shown = np.isfinite(gap) & (gap > 0)
            if shown.any():
                axes.loglog(np.maximum(seconds[shown], 1e-4), gap[shown], color=colour_of(k), ls=dash_of(k), label=name)
        axes.set_xlabel("seconds")
        axes.set_ylabel("relative gap")
        axes.set_title(self.model)
        if axes.get_legend_handles_labels()[0]:
            axes.legend()
        return axes


@dataclass(frozen=True, eq=False)
class Comparisons(Mapping[str, Comparison], Displayable, Tabular):
    """Comparisons of the same solvers on several models, by the models' names; `marginopt.performance_profile` takes them.

    Parameters
    ----------
    tables : mapping of str to Comparison
        The comparison of each model.
    """

    tables: Mapping[str, Comparison]

    def __getitem__(self, name: str) -> Comparison:
        return self.tables[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self.tables)

    def __len__(self) -> int:
        return len(self.tables)

    @property
    def solvers(self) -> tuple[str, ...]:
        """The solvers' labels."""
        return tuple(row.solver for row in next(iter(self.tables.values())).rows)

    def records(self) -> list[dict[str, Any]]:
        """Return one dictionary for each model and solver."""
        return [{"model": name, **record} for name, table in self.tables.items() for record in table.records()]

    def _cells(self) -> list[list[str]]:
        """Return the seconds of each solver on each model, or what a run left, then the numbers solved and the means."""
        cells = []
        for name, table in self.tables.items():
            results = table.results
            cells.append([name, *(_seconds_or_gap(results.get(solver)) for solver in self.solvers)])
        counts, means = ["solved"], ["mean s"]
        for solver in self.solvers:
            of_solver = [t.results[solver] for t in self.tables.values() if solver in t.results]
            seconds = [r.solve_seconds for r in of_solver if r.conclusive]
            counts.append(f"{len(seconds)} of {len(self)}")
            means.append(f"{shifted_geometric_mean(seconds, SECONDS_SHIFT):.3g}" if seconds else "-")
        return [*cells, counts, means, *([self._mean_nodes()] if self._counts_nodes else [])]

    @property
    def _counts_nodes(self) -> bool:
        """True if every result has a number of nodes."""
        results = [result for table in self.tables.values() for result in table.results.values()]
        return bool(results) and all(result.nodes is not None for result in results)

    def _mean_nodes(self) -> list[str]:
        """Return the row of the mean nodes of each solver on the models that it solved."""
        row = ["mean nodes"]
        for solver in self.solvers:
            of_solver = [t.results[solver] for t in self.tables.values() if solver in t.results]
            nodes = [r.nodes or 0 for r in of_solver if r.conclusive]
            row.append(f"{shifted_geometric_mean(nodes, NODES_SHIFT):.4g}" if nodes else "-")
        return row

    def __str__(self) -> str:
        nodes = f" and {NODES_SHIFT:g} nodes" if self._counts_nodes else ""
        means = f"means are geometric, shifted by {SECONDS_SHIFT:g} s{nodes}"
        lines = [f"seconds of the solved models; gaps of the others, - where a solver did not run; {means}"]
        return "\n".join([*lines, *column_lines([["model", *self.solvers], *self._cells()]), *self.notes])

    @property
    def notes(self) -> tuple[str, ...]:
        """The reasons of solvers without a result, which stand below the table; one sentence for models with the same reason."""
        models: dict[tuple[str, str, str], list[str]] = {}
        for name, table in self.tables.items():
            for row in table.rows:
                if row.result is None:
                    models.setdefault((row.solver, row.status, row.reason), []).append(name)
        return tuple(
            ComparisonRow(solver, None, reason, status).note(_listed(names)) for (solver, status, reason), names in models.items()
        )

    def display(self) -> Display:
        """Return the notebook view."""
        rows = tuple(map(tuple, self._cells()))
        return Display("comparisons", head=("model", *self.solvers), rows=rows, words=("model",), text="\n".join(self.notes))


def _seconds_or_gap(result: Result | None) -> str:
    """Return the seconds of a solved model, "gap 0.12" or the status of one that is not solved, and "-" without a result."""
    if result is None:
        return "-"
    if result.conclusive:
        return f"{result.solve_seconds:.3g}"
    return f"gap {result.gap:.2g}" if np.isfinite(result.gap) and result.values else str(result.status)


def _listed(names: Sequence[str]) -> str:
    """Return up to three names, or the first two and the number of the others."""
    shown = names if len(names) <= 3 else [*names[:2], f"{len(names) - 2} other models"]
    return shown[0] if len(shown) == 1 else f"{', '.join(shown[:-1])} and {shown[-1]}"


def _shown(column: str, value: Any) -> str:
    if value is None or (isinstance(value, float) and np.isnan(value)):
        return ""
    if column in ("objective", "bound"):
        return f"{value:.9g}"
    if column == "gap":
        return f"{value:.1e}"
    if column in ("build s", "solve s"):
        return f"{value:.3g}"
    if column == "ratio":
        return f"{value:.1f}"
    return str(value)


@overload
def compare(
    model: Model | StandardForm,
    solvers: Sequence[SolverLike],
    options: Options | None = None,
    *,
    jobs: int | None = None,
    cluster: Cluster = None,
    **overrides: Any,
) -> Comparison: ...


@overload
def compare(
    model: Sequence[Model | StandardForm] | Mapping[str, Model | StandardForm],
    solvers: Sequence[SolverLike],
    options: Options | None = None,
    *,
    jobs: int | None = None,
    cluster: Cluster = None,
    **overrides: Any,
) -> Comparisons: ...


def compare(
    model: Model | StandardForm | Sequence[Model | StandardForm] | Mapping[str, Model | StandardForm],
    solvers: Sequence[SolverLike],
    options: Options | None = None,
    *,
    jobs: int | None = None,
    cluster: Cluster = None,
    **overrides: Any,
) -> Comparison | Comparisons:
    """Solve one model or several by several solvers, one after the other (or as ``jobs`` says), under the same limits.

    A solver that cannot take the model (unknown feature, missing package or licence), or whose code raises an error, becomes a
    row with its reason; an error of the certification is raised. Ctrl-C that no solver takes ends the comparison: the rows that
    are finished are returned, and the others say that they were interrupted.

    Parameters
    ----------
    model : Model or StandardForm, a sequence of them, or a mapping of names to them
        For several models the result is a `Comparisons`, which `performance_profile` takes.
    solvers : sequence
        Solvers as for `solve`; ``["smo", ("smo", {"precision": "double"}), MyBackend()]``. Rows have distinct labels.
    jobs : int, optional
        Number of solves at the same time, by joblib; -1 for all cores. By default one, or the number that an enclosing
        ``joblib.parallel_config`` sets. Solvers that share a machine slow each other down: compare times one after the other.
    cluster : distributed.Client or str, optional
        A Dask cluster (a client, or its scheduler's address), or "ray" for the Ray cluster of this session.
    options, **overrides
        Common options, for every solver. Options of one solver go into its pair, ``(name, {option: value})``.

    Returns
    -------
    Comparison or Comparisons
        For one model a row for each solver; for several models a comparison for each.

    Raises
    ------
    InputError
        No solvers or no models were named, a name does not exist, or an option is none of the common ones.
    KeyboardInterrupt
        Ctrl-C before any row was finished.
    """
    specs = resolve_solvers(solvers)  # a misspelt name is an error of the call, not a row
    chosen = Options.of(options, **overrides)
    for option in chosen.native:
        advice = near_misses(option, COMMON_OPTIONS) or "; pair it with its solver: (name, {option: value})"
        raise InputError(
            f"compare gives the same options to every solver, and not every one has {short_text(option)}{advice}", name=option
        )
    is_collection = isinstance(model, Sequence | Mapping)
    models = _named_models(model) if isinstance(model, Sequence | Mapping) else {"": as_model(model)}
    with choose_executor(jobs, cluster) as team:
        rows = _rows(team, [(one, item, chosen) for one in models.values() for item in specs])
    count = len(specs)
    tables = {
        name: Comparison(name or one.name, tuple(rows[k * count : (k + 1) * count]))
        for k, (name, one) in enumerate(models.items())
    }
    return Comparisons(tables) if is_collection else tables[""]


def _named_models(models: Sequence[Model | StandardForm] | Mapping[str, Model | StandardForm]) -> dict[str, Model]:
    """Return the models by name; models of a sequence by their own names, with numbers for names that repeat."""
    if not models:
        raise InputError("compare needs a model, one at least")
    if isinstance(models, Mapping):
        return {str(name): as_model(model) for name, model in models.items()}
    problems = [as_model(model) for model in models]
    names = [model.name for model in problems]
    return {
        name if names.count(name) == 1 else f"{name} {k}": model
        for k, (name, model) in enumerate(zip(names, problems, strict=True), 1)
    }


def _rows(team: Executor, tasks: Sequence[tuple[Model, SolverSpec, Options]]) -> list[ComparisonRow]:
    """Return the row of each task; after Ctrl-C those that are finished, and the reason in the others."""
    rows: dict[int, ComparisonRow] = completed_results(team.run(_row, tasks))
    return [rows.get(k) or ComparisonRow(item.label, None, _INTERRUPTED) for k, (_, item, _) in enumerate(tasks)]


def _row(task: tuple[Model, SolverSpec, Options], threads: int | None) -> ComparisonRow:
    """Return one solver's result, or the reason why there is none."""
    model, item, options = task
    try:
        with solver_errors(item.label):
            return ComparisonRow(item.label, solve_problem(model, item, options.with_default_threads(threads)), "")
    except MarginoptError as error:
        status = FAILED if isinstance(error, SolverError) else NOT_RUN
        return ComparisonRow(item.label, None, str(error), status)
