"""Checkpoint files of the box search: open nodes, incumbent and proved bound, replaced atomically."""

from __future__ import annotations

import json
import os
import time
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any

import numpy as np

from ....errors import DataError, InputError
from ....files import READ_ERRORS, read_arrays, read_error, write_arrays
from ....models.arrays import FloatArray
from ....models.fingerprint import fingerprint
from ....models.views import ZeroOneProblem
from ...exact.log_file import Mark
from ..engines.boxes import ResumedBoxes, SearchData
from ..engines.engine import SharedState
from ..engines.open_nodes import OpenNodes
from ..reduced import ReducedZeroOneProblem

__all__ = ["Checkpoint", "StoppedSearch"]

#: Version of the file layout; other versions are rejected.
LAYOUT = 1
#: Seconds between two checkpoints.
INTERVAL = 60.0
_ARRAY_FIELDS = ("rows", "weights", "T", "member", "residual")
_NUMBER_FIELDS = ("layout", "tol", "upper", "floor", "nodes", "unit", "constant", "shrink", "free", "unresolved")


@dataclass(frozen=True, eq=False)
class StoppedSearch:
    """An interrupted search: its state, incumbent, lower bound, number of nodes, and the mark of its proof log."""

    begun: ResumedBoxes
    w: FloatArray
    lower_bound: float
    nodes: int
    log: Mark | None = None


class Checkpoint:
    """The checkpoint file of one search.

    It is written every minute and when the search is interrupted, and removed when the search is finished. Its content is
    trusted; only a proof log can be verified. An unfinished log lies beside the checkpoint in a part file. Each checkpoint holds
    a mark of that file's content.

    Parameters
    ----------
    path : path-like
    problem : ZeroOneProblem
        The searched problem; a file of another problem is rejected.
    tol : float
        Tolerance of the search. A file of another tolerance is rejected, since that search has pruned other nodes.
    """

    def __init__(self, path: str | os.PathLike[str], problem: ZeroOneProblem, tol: float) -> None:
        self.path, self._problem, self._tol = Path(path), problem, tol
        self._digest = fingerprint((problem.A, problem.weights, problem.penalised))
        self._next_time = time.monotonic() + INTERVAL
        self._log: Mark | None = None

    @property
    def due(self) -> bool:
        """True if the next checkpoint should be written."""
        return time.monotonic() >= self._next_time

    def part(self) -> Path:
        """Return the path for a new log, different from the log of the current checkpoint."""
        names = [f"{self.path.name}.log{k}" for k in (0, 1)]
        return self.path.with_name(names[1] if self._log is not None and self._log.name == names[0] else names[0])

    def part_of(self, mark: Mark) -> Path:
        """Return the path of the log with this mark."""
        return self.path.with_name(Path(mark.name).name)

    def write(self, shared: SharedState, begun: ResumedBoxes, count: int, log: Mark | None = None) -> None:
        """Save a search and the position of its log.

        Raises
        ------
        WriteError
            The file could not be written. The previous file remains.
        """
        ground, nodes, unresolved = begun.ground, begun.nodes, begun.unresolved
        reduced = ground.reduced
        scales = (reduced.unit, reduced.constant, reduced.shrink, reduced.free)
        numbers = (LAYOUT, self._tol, ground.upper, shared.lower_bound, count, *scales)
        arrays: dict[str, Any] = {name: getattr(reduced, name) for name in _ARRAY_FIELDS}
        arrays |= {f"open_{name}": array for name, array in nodes.arrays().items()}
        arrays |= {"numbers": np.array([*numbers, unresolved], dtype=np.float64), "w": shared.incumbent.w}
        arrays["problem"] = np.frombuffer(self._digest.encode(), dtype=np.uint8)
        if log is not None:
            mark = asdict(log) | {"next_id": begun.first_id}
            arrays["log"] = np.frombuffer(json.dumps(mark).encode(), dtype=np.uint8)
        write_arrays(self.path, arrays)
        self._log = self._replace_log(log)
        self._next_time = time.monotonic() + INTERVAL

    def _replace_log(self, log: Mark | None) -> Mark | None:
        """Remove the previous log if the checkpoint no longer refers to it, and return the current mark."""
        previous = self._log
        if previous is not None and (log is None or log.name != previous.name):
            self.part_of(previous).unlink(missing_ok=True)
        return log

    def remove(self) -> None:
        """Remove the file of a finished search."""
        self.path.unlink(missing_ok=True)
        self._log = None

    def read(self) -> StoppedSearch | None:
        """Return the saved search; None without a file.

        Raises
        ------
        DataError
            The file is not a checkpoint, is damaged, or belongs to another problem.
        InputError
            The search began with another tolerance.
        """
        if not self.path.exists():
            return None
        arrays = read_arrays(self.path, "a checkpoint of zero-one-bb")
        try:
            numbers = dict(zip(_NUMBER_FIELDS, arrays["numbers"].tolist(), strict=True))
            if numbers["layout"] != LAYOUT:
                raise DataError(f"{self.path} is a checkpoint of layout {numbers['layout']:g}; this version reads {LAYOUT}")
            if bytes(arrays["problem"]).decode() != self._digest:
                raise DataError(f"{self.path} keeps the search of another problem (other data, costs or intercept)")
            if numbers["tol"] != self._tol:
                raise InputError(f"the search in {self.path} was begun with tol={numbers['tol']:g}; it is {self._tol:g} now")
            stopped = self._parse(arrays, numbers)
            self._log = stopped.log
            return stopped
        except (DataError, InputError):
            raise
        except READ_ERRORS as error:
            raise DataError(f"{self.path} is no checkpoint of zero-one-bb, or is damaged: {read_error(error)}") from error

    def _parse(self, arrays: dict[str, Any], numbers: dict[str, float]) -> StoppedSearch:
        reduced = ReducedZeroOneProblem(
            **{name: np.array(arrays[name]) for name in _ARRAY_FIELDS},
            unit=numbers["unit"],
            constant=numbers["constant"],
            shrink=numbers["shrink"],
            free=bool(numbers["free"]),
            problem=self._problem,
        )
        nodes = OpenNodes.of_arrays({f.name: arrays[f"open_{f.name}"] for f in fields(OpenNodes)})
        nodes.check(*reduced.rows.shape)
        mark = json.loads(bytes(arrays["log"]).decode()) if "log" in arrays else {"next_id": 0}
        first_id = int(mark.pop("next_id"))
        log = Mark(str(mark["name"]), int(mark["size"]), str(mark["digest"])) if mark else None
        begun = ResumedBoxes(SearchData.of(reduced, numbers["upper"]), nodes, numbers["unresolved"], first_id)
        return StoppedSearch(begun, np.array(arrays["w"], dtype=np.float64), numbers["floor"], int(numbers["nodes"]), log)
