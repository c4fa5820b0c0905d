"""The parallel runner of the tasks of gap reports and papers' tables (`Runner`), with its store (`CellStore`) and progress lines.

Workers compute and return *records*, the results of tasks as JSON objects; progress lines call a task a cell. The process that
runs the report alone reads and writes the store, so that the store may lie where the workers cannot see it, and no network file
system has to lock it.

*The store* is one SQLite file that several reports may use at once and that a kill at any moment leaves whole. Every record is
one row, inserted in one transaction with SQLite's rollback journal and full synchronisation: after a kill it is there or it is
not. A record's key is a digest of all that determines it (the data themselves, λ, what is solved, by what, with which options,
the incumbent, this package's version). So an interrupted report continues where it stopped, and another report finds the records
that both need. The first record stored under a key stays.
"""

from __future__ import annotations

import hashlib
import json
import os
import platform
import sqlite3
import time
from collections import Counter, defaultdict, deque
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Protocol

import numpy as np

from ...errors import DataError, InputError, count_text, short_text
from ...files import READ_ERRORS, describe_read_error
from ...models.arrays import blas_controller
from ...models.digest import identity
from ...solvers.interface.solver import version_of
from ...solvers.parallel import Executor, completed_results
from ...status_line import StatusLine

#: Layout of the file; another one is refused.
_STORE_VERSION = 2
#: Field of a stored record: its digest, so that a number that was edited is not taken for one that was computed.
_SEAL = "sha256"
#: Seconds to wait while another report writes.
_PATIENCE = 60.0


class CellStore:
    """A store of records by key in one SQLite file.

    Parameters
    ----------
    path : path-like
        The file; created if it does not exist.

    Raises
    ------
    DataError
        The file is no store of this version, or its directory does not exist.
    """

    def __init__(self, path: str | Path) -> None:
        self.path = Path(path)
        if not self.path.parent.is_dir():
            raise DataError(f"the store {self.path} cannot be made: there is no directory {self.path.parent}", file=self.path)
        with self._transaction() as connection:
            (version,) = connection.execute("PRAGMA user_version").fetchone()
            (tables,) = connection.execute("SELECT count(*) FROM sqlite_master").fetchone()
            if version == 0 and tables == 0:
                connection.execute(
                    "CREATE TABLE cells (key TEXT PRIMARY KEY, kind TEXT NOT NULL, record TEXT NOT NULL) WITHOUT ROWID"
                )
                connection.execute(f"PRAGMA user_version = {_STORE_VERSION}")
            elif version != _STORE_VERSION:
                raise DataError(
                    f"{self.path} is not a store of this version: its layout is {version}, not {_STORE_VERSION}; start a new one",
                    file=self.path,
                )

    def get(self, key: str) -> dict[str, Any] | None:
        """Return the record under a key; None if the store has none."""
        with self._transaction() as connection:
            row = connection.execute("SELECT record FROM cells WHERE key = ?", (key,)).fetchone()
        return None if row is None else self._record(key, row[0])

    def put(self, key: str, kind: str, record: Mapping[str, Any]) -> dict[str, Any]:
        """Store a record unless there is one under the key; return the record under the key."""
        text = json.dumps({**record, _SEAL: _seal(key, record)}, allow_nan=False)
        with self._transaction() as connection:
            connection.execute("INSERT OR IGNORE INTO cells VALUES (?, ?, ?)", (key, kind, text))
            row = connection.execute("SELECT record FROM cells WHERE key = ?", (key,)).fetchone()
        return self._record(key, row[0])

    def _record(self, key: str, text: object) -> dict[str, Any]:
        """Return a record from its text, which another program may have written or edited."""
        try:
            record = dict(json.loads(str(text)))
        except READ_ERRORS as error:
            raise DataError(f"{self.path} holds a damaged record: {describe_read_error(error)}", file=self.path) from error
        if record.pop(_SEAL, None) != _seal(key, record):
            raise DataError(
                f"the store {self.path} holds a record that was changed after it was written (key {key[:16]}): "
                "its numbers prove nothing; start a new store",
                file=self.path,
            )
        return record

    def records(self, kind: str) -> list[dict[str, Any]]:
        """Return all records of one kind, in the order of their keys."""
        with self._transaction() as connection:
            rows = connection.execute("SELECT key, record FROM cells WHERE kind = ? ORDER BY key", (kind,)).fetchall()
        return [self._record(*row) for row in rows]

    def counts(self) -> dict[str, int]:
        """Return the number of records by kind."""
        with self._transaction() as connection:
            return dict(connection.execute("SELECT kind, count(*) FROM cells GROUP BY kind").fetchall())

    @contextmanager
    def _transaction(self) -> Iterator[sqlite3.Connection]:
        """Open a connection for one operation, which is committed or rolled back: none is held while a cell is computed."""
        connection = None
        try:
            connection = sqlite3.connect(self.path, timeout=_PATIENCE, isolation_level=None)
            connection.execute("PRAGMA synchronous = FULL")
            connection.execute("BEGIN IMMEDIATE")
            yield connection
            connection.execute("COMMIT")
        except sqlite3.Error as error:
            raise DataError(f"the store {self.path} cannot be used: {error}", file=self.path) from error
        finally:
            if connection is not None:
                connection.close()  # rolls back what was not committed


def _seal(key: str, record: Mapping[str, Any]) -> str:
    """Return the digest of a record and of its key."""
    text = json.dumps([key, dict(record)], sort_keys=True)
    return hashlib.sha256(text.encode("utf-8")).hexdigest()


def digest(value: Any) -> str:
    """Return a digest of a value (its `identity`) and of this package's version, for keys of a store.

    Parameters
    ----------
    value : object
        Numbers, text, arrays, data classes, and sequences and mappings of such.

    Returns
    -------
    str
        SHA-256, hexadecimal.
    """
    text = json.dumps({"marginopt": version_of("marginopt"), "value": identity(value)}, sort_keys=True)
    return hashlib.sha256(text.encode("utf-8")).hexdigest()


class Progress:
    """Progress lines on standard error: cells done, seconds so far, seconds that remain.

    A remaining cell is estimated to take the mean of the finished cells of its label, else of its kind, else ``limit`` seconds;
    the sum is divided by the number of cells that run at a time. The first cell of a label, which may have compiled code, does
    not count once there are others.

    Parameters
    ----------
    enabled : bool
        Whether to write lines.
    limit : float
        Seconds that a cell of an unknown kind may take.

    Attributes
    ----------
    begin : float
        Time of the start, by `time.perf_counter`.
    jobs : int
        Number of cells that run at a time.
    done, total : int
        Numbers of cells that are done, and of all that are planned or announced.

    Raises
    ------
    InputError
        ``enabled`` is neither True nor False.
    """

    def __init__(self, enabled: bool, limit: float) -> None:
        if not isinstance(enabled, bool | np.bool_):
            raise InputError(f"progress must be True or False; it is {short_text(enabled)}", name="progress")
        self.enabled, self.limit, self.begin = bool(enabled), limit, time.perf_counter()
        self.jobs = 1
        self._line = StatusLine()
        self.done, self.total = 0, 0
        self._waiting: Counter[tuple[str, str]] = Counter()
        self._expected: Counter[tuple[str, str]] = Counter()
        self._times: defaultdict[str, list[float]] = defaultdict(list)

    def expect(self, tasks: list[tuple[str, str]]) -> None:
        """Announce cells of a later `plan`, by kind and label: they count from now on."""
        self._expected.update(tasks)
        self._waiting.update(tasks)
        self.total += len(tasks)

    def plan(self, tasks: list[tuple[str, str]], jobs: int) -> None:
        """Add the cells that run now, by kind and label; those announced by `expect` are dropped."""
        self._waiting -= self._expected
        self.total -= self._expected.total()
        self._expected.clear()
        self._waiting.update(tasks)
        self.total += len(tasks)
        self.jobs = jobs

    def finish(self, kind: str, label: str, seconds: float, is_stored: bool) -> None:
        """Count one cell as done; the times of cells from the store are left out."""
        self._waiting[kind, label] -= 1
        self.done += 1
        if not is_stored:
            self._times[f"{kind}: {label}"].append(seconds)
            self._times[kind].append(seconds)

    @property
    def remaining(self) -> float:
        """Return the estimated seconds until the planned cells are done."""
        return sum(count * self._each(*task) for task, count in self._waiting.items()) / self.jobs

    def _seen(self, kind: str, label: str) -> list[float]:
        return self._times.get(f"{kind}: {label}") or self._times.get(kind) or []

    def _each(self, kind: str, label: str) -> float:
        times = self._seen(kind, label)
        after_first = times[1:] or times
        return sum(after_first) / len(after_first) if after_first else self.limit

    @property
    def _word(self) -> str:
        """Return "about", or "at most" while some kind has no finished cell and counts with the limit."""
        return "about" if all(self._seen(*task) for task, count in self._waiting.items() if count > 0) else "at most"

    def write(self, text: str) -> None:
        """Write a line with counts, seconds, estimate and ``text``."""
        if self.enabled:
            seconds = time.perf_counter() - self.begin
            self._line.show_event(f"[{self.done}/{self.total}, {seconds:.1f} s, {self._word} {self.remaining:.0f} s left] {text}")

    def end(self) -> None:
        """End the line that is displayed."""
        if self.enabled:
            self._line.end()


class StoredTask(Protocol):
    """A computation whose record a store keeps: a cell of a gap report, or a run of a paper's table."""

    @property
    def kind(self) -> str:
        """The kind of record, by which the store lists and counts them."""

    @property
    def label(self) -> str:
        """The group of the progress estimate: tasks of one label take about as long."""

    @property
    def key_parts(self) -> Mapping[str, Any]:
        """Return all that determines the record, for the store's key."""

    def compute(self, threads: int | None) -> tuple[dict[str, Any], bool]:
        """Return the record, and whether to store it; ``threads`` is the process's share of the machine."""

    def progress_text(self, record: dict[str, Any]) -> str:
        """Return the record in a few words, for the progress line."""


class Runner:
    """The loop that runs tasks on an executor: it takes stored records, stores new ones and writes progress lines.

    Parameters
    ----------
    executor : Executor
        Runs several tasks at a time: in this process, by joblib, Dask or Ray.
    store : Path, optional
        File of the `CellStore` that keeps the records.
    progress : Progress
        Writes the lines.
    """

    def __init__(self, executor: Executor, store: Path | None, progress: Progress) -> None:
        self.executor, self.progress = executor, progress
        self.store = None if store is None else CellStore(store)

    def run(self, tasks: Sequence[StoredTask], later_tasks: Sequence[StoredTask] = ()) -> list[dict[str, Any]]:
        """Return the records of the tasks, in order. ``later_tasks`` are not run: they only enter the progress."""
        records = dict(self._recorded(tasks, later_tasks))
        return [records[index] for index in range(len(tasks))]

    def run_until_interrupt(
        self, tasks: Sequence[StoredTask], later_tasks: Sequence[StoredTask] = ()
    ) -> dict[int, dict[str, Any]]:
        """Return the records by the tasks' numbers, as `run`; after Ctrl-C those that are finished, one at least."""
        return completed_results(self._recorded(tasks, later_tasks))

    def _recorded(self, tasks: Sequence[StoredTask], later_tasks: Sequence[StoredTask]) -> Iterator[tuple[int, dict[str, Any]]]:
        """Yield number and record of each task as it is done, with a progress line for each."""
        size = self.executor.size
        self.progress.plan([(task.kind, task.label) for task in tasks], size)
        self.progress.expect([(task.kind, task.label) for task in later_tasks])
        if tasks:
            self.progress.write(f"{count_text(len(tasks), 'cell')} to do" + (f", {size} at a time" if size > 1 else ""))
        for index, record, is_stored, seconds in self._done(tasks):
            task = tasks[index]
            yield index, record
            self.progress.finish(task.kind, task.label, seconds, is_stored)
            self.progress.write(task.progress_text(record) + (" (stored)" if is_stored else ""))

    def _done(self, tasks: Sequence[StoredTask]) -> Iterator[tuple[int, dict[str, Any], bool, float]]:
        """Yield index, record, whether it was stored, and seconds of each task once it is finished."""
        stored: deque[tuple[int, dict[str, Any], bool, float]] = deque()
        requested: list[tuple[int, str]] = []  # index and key of the tasks that the executor runs

        def missing() -> Iterator[StoredTask]:
            for index, task in enumerate(tasks):
                key = "" if self.store is None else digest({"kind": task.kind, **task.key_parts})
                record = None if self.store is None else self.store.get(key)
                if record is None:
                    requested.append((index, key))
                    yield task
                else:
                    stored.append((index, record, True, 0.0))

        for number, (record, keep, seconds) in self.executor.run(_perform, missing()):
            while stored:
                yield stored.popleft()
            index, key = requested[number]
            if keep and self.store is not None:
                record = self.store.put(key, tasks[index].kind, record)
            yield index, record, False, seconds
        yield from stored


def _perform(task: StoredTask, threads: int | None) -> tuple[dict[str, Any], bool, float]:
    """Run a task; return its record, whether to store it, and its seconds."""
    begin = time.perf_counter()
    record, keep = task.compute(threads)
    return record, keep, time.perf_counter() - begin


def describe_machine() -> str:
    """Return system, architecture, cores and memory in words."""
    memory = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") / 2**30
    return f"{platform.system()} {platform.machine()}, {count_text(os.cpu_count() or 1, 'core')}, {memory:.0f} GiB"


def describe_blas() -> list[str]:
    """Return the loaded BLAS libraries in words, with their numbers of threads."""
    libraries = blas_controller().info()
    return [f"{b['internal_api']} {b['version']}, {b.get('architecture', '?')}, {b['num_threads']} threads" for b in libraries]
