"""Run experiments as tasks of the gap report's runner, which stores each record under a key of all that determines it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from marginopt.errors import DataError, MissingPackageError
from marginopt.relaxations import CellStore, Progress, Runner, digest
from marginopt.solvers.parallel import Executor

from .comparison import NOT_RUN
from .inputs import data_identity, data_set
from .record import Results, Run

#: Seconds that the progress estimate assumes for a kind of run that none has finished.
_GUESS = 10.0


@dataclass(frozen=True)
class RunTask:
    """A run as a task for `marginopt.relaxations.Runner`."""

    run: Run

    @property
    def kind(self) -> str:
        """Return the kind of record in the store."""
        return f"paper: {self.run.experiment.name}"

    @property
    def label(self) -> str:
        """Return the parameters without the seed: runs that differ by it take about as long."""
        return ", ".join(f"{name} {value}" for name, value in self.run.items if name != "seed")

    @property
    def key_parts(self) -> dict[str, Any]:
        """Return the parameters, the protocol's layout and the data themselves."""
        experiment = self.run.experiment
        names = tuple(experiment.data(self.run.parameters))
        return {"layout": experiment.layout, "parameters": self.run.parameters, "data": data_identity(names)}

    @property
    def key(self) -> str:
        """Return the run's key in the store."""
        return digest({"kind": self.kind, **self.key_parts})

    def compute(self, threads: int | None) -> tuple[dict[str, Any], bool]:
        """Return the record, or why data are missing, and whether to store it; BLAS has one thread, for comparable times."""
        import threadpoolctl

        experiment = self.run.experiment
        try:
            with threadpoolctl.threadpool_limits(1):
                return {"record": dict(experiment.measure(self.run.parameters))}, True
        except (DataError, MissingPackageError) as error:
            return {"missing": str(error)}, False

    def progress_text(self, record: dict[str, Any]) -> str:
        """Return the outcome, in a line."""
        where = f"{self.run.experiment.name}: " + ", ".join(f"{name} {value}" for name, value in self.run.items)
        if "missing" in record:
            return f"{where}: not run: {record['missing']}"
        numbers = ((k, v) for k, v in record["record"].items() if isinstance(v, int | float))
        return f"{where}: " + ", ".join(f"{k} {v:.4g}" for k, v in numbers)


def measure_runs(runs: Sequence[Run], store: Path, team: Executor, progress: bool) -> tuple[Results, dict[Run, str]]:
    """Return the records by run, and the reasons of runs without data. Runs go by repetition, so that all cells fill evenly."""
    ordered = sorted(runs, key=lambda run: _seed(run))
    records = Runner(team, store, Progress(progress, _GUESS)).run([RunTask(run) for run in ordered])
    values = {run: record["record"] for run, record in zip(ordered, records, strict=True) if "record" in record}
    return values, {run: record["missing"] for run, record in zip(ordered, records, strict=True) if "missing" in record}


def _seed(run: Run) -> int:
    seed = run.parameters.get("seed", 0)
    return seed if isinstance(seed, int) else 0


def _why(run: Run) -> str:
    """Return the reason why a run is not in the store: its data cannot be had, or nobody ran it."""
    for name in run.experiment.data(run.parameters):
        try:
            data_set(name)
        except DataError as error:
            return str(error)
    return NOT_RUN


def read_stored_runs(runs: Sequence[Run], store: Path) -> tuple[Results, dict[Run, str]]:
    """Return the records that the store has, and for the other runs the reason why it has none; nothing is run."""
    cells = CellStore(store)
    result, lacking = {}, {}
    for run in runs:
        record = cells.get(RunTask(run).key)
        if record is None:
            lacking[run] = _why(run)
        else:
            result[run] = record["record"]
    return result, lacking
