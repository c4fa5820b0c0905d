"""A box search in a file: the open nodes, the incumbent, what is proved; written whole or not at all."""

from __future__ import annotations

import json
import os
import time
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any

import numpy as np

from ....errors import DataError, InputError
from ....files import FAULTS, fault, read_arrays, write_arrays
from ....models.arrays import FloatArray
from ....models.fingerprint import fingerprint
from ....models.views import ZeroOneProblem
from ..engines.boxes import Begun
from ..engines.engine import Shared
from ..engines.ground import Ground
from ..engines.open_nodes import OpenNodes
from ..proof.log_file import Mark
from ..reduced import Reduced

__all__ = ["Checkpoint", "Stopped"]

#: Layout of the file; another one is refused.
LAYOUT = 1
#: Seconds between two writings.
INTERVAL = 60.0
_BY_NAME = ("rows", "weights", "T", "member", "residual")
_NUMBERS = ("layout", "tol", "upper", "floor", "nodes", "unit", "constant", "shrink", "free", "unresolved")


@dataclass(frozen=True, eq=False)
class Stopped:
    """A search that was stopped: where it goes on, its incumbent, the bound and the nodes so far, and where its proof log is."""

    begun: Begun
    w: FloatArray
    floor: float
    nodes: int
    log: Mark | None = None


class Checkpoint:
    """The file of one search.

    It is written every minute and when the search is stopped, and goes away when the search is over. It is believed: a proof log
    is what others can check. A log that is being written lies beside it, in a part file, to which each writing has a mark.

    Parameters
    ----------
    path : path-like
    problem : ZeroOneProblem
        What is searched: a file of another problem is refused.
    tol : float
        The search's tolerance; one that began with another is refused, since it has dropped other nodes.
    """

    def __init__(self, path: str | os.PathLike[str], problem: ZeroOneProblem, tol: float) -> None:
        self.path, self._problem, self._tol = Path(path), problem, tol
        self._digest = fingerprint((problem.A, problem.weights, problem.penalised))
        self._next = time.monotonic() + INTERVAL
        self._log: Mark | None = None

    @property
    def due(self) -> bool:
        """Whether it is time to write."""
        return time.monotonic() >= self._next

    def part(self) -> Path:
        """A file for a log that begins: not the one to which what is written refers."""
        names = [f"{self.path.name}.log{k}" for k in (0, 1)]
        return self.path.with_name(names[1] if self._log is not None and self._log.name == names[0] else names[0])

    def part_of(self, mark: Mark) -> Path:
        """The file of a log that goes on."""
        return self.path.with_name(Path(mark.name).name)

    def write(self, shared: Shared, begun: Begun, count: int, log: Mark | None = None) -> None:
        """Keep a search, and how far its log is.

        Raises
        ------
        WriteError
            The file could not be written; the one before is there still.
        """
        ground, nodes, unresolved = begun.ground, begun.nodes, begun.unresolved
        reduced = ground.reduced
        scales = (reduced.unit, reduced.constant, reduced.shrink, reduced.free)
        numbers = (LAYOUT, self._tol, ground.upper, shared.floor, count, *scales)
        arrays: dict[str, Any] = {name: getattr(reduced, name) for name in _BY_NAME}
        arrays |= {f"open_{name}": array for name, array in nodes.arrays().items()}
        arrays |= {"numbers": np.array([*numbers, unresolved], dtype=np.float64), "w": shared.incumbent.w}
        arrays["problem"] = np.frombuffer(self._digest.encode(), dtype=np.uint8)
        if log is not None:
            said = asdict(log) | {"next_id": begun.first_id}
            arrays["log"] = np.frombuffer(json.dumps(said).encode(), dtype=np.uint8)
        write_arrays(self.path, arrays)
        self._log = self._forgotten(log)
        self._next = time.monotonic() + INTERVAL

    def _forgotten(self, log: Mark | None) -> Mark | None:
        """The mark that counts now; the part to which nothing refers any more goes away."""
        before = self._log
        if before is not None and (log is None or log.name != before.name):
            self.part_of(before).unlink(missing_ok=True)
        return log

    def remove(self) -> None:
        """The search is over."""
        self.path.unlink(missing_ok=True)
        self._log = None

    def read(self) -> Stopped | None:
        """The search that the file keeps; None where there is no file.

        Raises
        ------
        DataError
            The file is no checkpoint, is damaged, or is one of another problem.
        InputError
            It began with another tolerance.
        """
        if not self.path.exists():
            return None
        arrays = read_arrays(self.path, "a checkpoint of zero-one-bb")
        try:
            numbers = dict(zip(_NUMBERS, arrays["numbers"].tolist(), strict=True))
            if numbers["layout"] != LAYOUT:
                raise DataError(f"{self.path} is a checkpoint of layout {numbers['layout']:g}; this version reads {LAYOUT}")
            if bytes(arrays["problem"]).decode() != self._digest:
                raise DataError(f"{self.path} keeps the search of another problem (other data, costs or intercept)")
            if numbers["tol"] != self._tol:
                raise InputError(f"the search in {self.path} was begun with tol={numbers['tol']:g}; it is {self._tol:g} now")
            stopped = self._stopped(arrays, numbers)
            self._log = stopped.log
            return stopped
        except (DataError, InputError):
            raise
        except FAULTS as error:
            raise DataError(f"{self.path} is no checkpoint of zero-one-bb, or is damaged: {fault(error)}") from error

    def _stopped(self, arrays: dict[str, Any], numbers: dict[str, float]) -> Stopped:
        reduced = Reduced(
            **{name: np.array(arrays[name]) for name in _BY_NAME},
            unit=numbers["unit"],
            constant=numbers["constant"],
            shrink=numbers["shrink"],
            free=bool(numbers["free"]),
            problem=self._problem,
        )
        nodes = OpenNodes.of_arrays({f.name: arrays[f"open_{f.name}"] for f in fields(OpenNodes)})
        nodes.check(*reduced.rows.shape)
        said = json.loads(bytes(arrays["log"]).decode()) if "log" in arrays else {"next_id": 0}
        first_id = int(said.pop("next_id"))
        log = Mark(str(said["name"]), int(said["size"]), str(said["digest"])) if said else None
        begun = Begun(Ground.of(reduced, numbers["upper"]), nodes, numbers["unresolved"], first_id)
        return Stopped(begun, np.array(arrays["w"], dtype=np.float64), numbers["floor"], int(numbers["nodes"]), log)
