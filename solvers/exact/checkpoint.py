"""Checkpoint files, from which an interrupted exact search continues: named arrays and the position in its proof log."""

from __future__ import annotations

import json
import os
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, ClassVar, Generic, TypeVar, final

import numpy as np

from ...errors import DataError, InputError, WriteError
from ...files import READ_ERRORS, describe_read_error, read_arrays, write_arrays
from .log_file import LogFile, LogPosition, LogWriter

#: Version of the file's layout; files of other versions are rejected.
LAYOUT_VERSION = 1
#: Seconds between two checkpoints: a lost machine costs at most a minute of work.
SECONDS_BETWEEN_SAVES = 60.0

S = TypeVar("S")


@dataclass(frozen=True, eq=False)
class CheckpointContent:
    """The content of a checkpoint file."""

    numbers: Mapping[str, float]  #: scalars of the search by name
    arrays: Mapping[str, Any]  #: arrays of the search by name
    log: LogPosition | None = None  #: where the proof log ends
    next_id: int = 0  #: number of the next node in the log


class Checkpoint(ABC, Generic[S]):
    """Base class of the checkpoint file of one search; a subclass parses the content.

    The file is written every minute and when the search is interrupted, and removed when the search is finished. Its content is
    trusted; only a proof log can be verified. An unfinished log is stored beside the checkpoint in a part file, whose content the
    checkpoint identifies by a `LogPosition`.

    Parameters
    ----------
    path : path-like
        Path of the file.
    digest : str
        The digest of the searched problem; a file of another problem is rejected.
    tol : float
        Tolerance of the search. A file of another tolerance is rejected, since that search has pruned other nodes.
    """

    #: Name of the solver, for messages.
    solver: str
    #: Names of the file's scalars in the order of the file, "layout" and "tol" among them.
    numbers: ClassVar[tuple[str, ...]]

    def __init__(self, path: str | os.PathLike[str], digest: str, tol: float) -> None:
        self.path, self._digest, self._tol = Path(path), digest, tol
        self._next_time = time.monotonic() + SECONDS_BETWEEN_SAVES
        self._log: LogPosition | None = None

    @abstractmethod
    def parse(self, saved: CheckpointContent) -> S:
        """Return the search that a file's content describes, after checking shapes, indices and numbers for compiled loops.

        Raises
        ------
        DataError
            The content is no search of this problem. Errors of malformed data may be raised unchanged.
        """

    @property
    def due(self) -> bool:
        """True if `SECONDS_BETWEEN_SAVES` have passed since the last checkpoint."""
        return time.monotonic() >= self._next_time

    def new_part_path(self) -> Path:
        """Return a path for the part file of a new log, different from that of the log to which the current file refers."""
        names = [f"{self.path.name}.log{k}" for k in (0, 1)]
        return self.path.with_name(names[1] if self._log is not None and self._log.name == names[0] else names[0])

    def part_path(self, position: LogPosition) -> Path:
        """Return the path of the part file that a log position refers to."""
        return self.path.with_name(Path(position.name).name)

    @final
    def save(self, saved: CheckpointContent) -> None:
        """Write the file.

        Raises
        ------
        WriteError
            The file could not be written. The previous file remains.
        """
        numbers = {**saved.numbers, "layout": LAYOUT_VERSION, "tol": self._tol}
        arrays = {**saved.arrays, "numbers": np.array([numbers[name] for name in self.numbers], dtype=np.float64)}
        arrays["problem"] = np.frombuffer(self._digest.encode(), dtype=np.uint8)
        if saved.log is not None:
            arrays["log"] = np.frombuffer(json.dumps(asdict(saved.log) | {"next_id": saved.next_id}).encode(), dtype=np.uint8)
        write_arrays(self.path, arrays)
        previous, self._log = self._log, saved.log
        if previous is not None and (saved.log is None or saved.log.name != previous.name):
            self.part_path(previous).unlink(missing_ok=True)  # the checkpoint refers to it no longer
        self._next_time = time.monotonic() + SECONDS_BETWEEN_SAVES

    @final
    def update(
        self, finished: bool, log: LogWriter | None, content: Callable[[LogPosition | None], CheckpointContent]
    ) -> WriteError | None:
        """Write the file, or remove it if the search is finished; return the error if a file could not be written.

        Parameters
        ----------
        finished : bool
            Whether the search has ended.
        log : LogWriter, optional
            The proof log, whose part file stays as long as the checkpoint refers to it.
        content : callable
            Returns the content of the file for the position of the log.
        """
        if finished:
            self.remove()
            if log is not None:
                log.set_keep_part(False)
            return None
        position = None if log is None else log.sync()
        if log is not None and position is None:
            return log.write_error
        try:
            self.save(content(position))
        except WriteError as error:  # the search continues without this checkpoint; a later one may succeed
            return error
        if log is not None:
            log.set_keep_part(True)
        return None

    def remove(self) -> None:
        """Remove the file."""
        self.path.unlink(missing_ok=True)
        self._log = None

    @final
    def read(self, proof: object) -> S | None:
        """Return the search that the file holds; None without a file.

        Parameters
        ----------
        proof : object
            The path of the requested proof log; None without one.

        Raises
        ------
        DataError
            The file is not a checkpoint, is damaged, has another layout, or belongs to another problem.
        InputError
            The search began with another tolerance, or without the requested proof log.
        """
        if not self.path.exists():
            return None
        arrays = read_arrays(self.path, f"a checkpoint of {self.solver}")
        try:
            numbers = dict(zip(self.numbers, arrays["numbers"].tolist(), strict=True))
            if numbers["layout"] != LAYOUT_VERSION:
                raise DataError(
                    f"{self.path} is a checkpoint of layout {numbers['layout']:g}; this version reads {LAYOUT_VERSION}",
                    file=self.path,
                )
            if bytes(arrays["problem"]).decode() != self._digest:
                raise DataError(
                    f"{self.path} holds the search of another problem (other data, costs or intercept)", file=self.path
                )
            if numbers["tol"] != self._tol:
                raise InputError(
                    f"the search in {self.path} was begun with tol={numbers['tol']:g}; it is {self._tol:g} now", name="checkpoint"
                )
            position = json.loads(bytes(arrays["log"]).decode()) if "log" in arrays else {"next_id": 0}
            next_id = int(position.pop("next_id"))
            self._log = LogPosition(str(position["name"]), int(position["size"]), str(position["digest"])) if position else None
            if proof is not None and self._log is None:
                raise InputError(
                    "the search in the checkpoint was begun without a proof log, which holds all from the root: omit proof=",
                    name="proof",
                )
            return self.parse(CheckpointContent(numbers, arrays, self._log, next_id))
        except (DataError, InputError):
            raise
        except READ_ERRORS as error:
            raise DataError(
                f"{self.path} is no checkpoint of {self.solver}, or is damaged: {describe_read_error(error)}", file=self.path
            ) from error


def open_log_file(path: str, checkpoint: Checkpoint[Any] | None, position: LogPosition | None = None) -> LogFile:
    """Open the proof log at ``path``, new or continued at a position. With a checkpoint its part file lies beside that file."""
    part = None if checkpoint is None else checkpoint.new_part_path() if position is None else checkpoint.part_path(position)
    return LogFile(path, part, position)
