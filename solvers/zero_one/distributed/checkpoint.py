"""Checkpoints of the box search: open nodes, incumbent and proved bound."""

from __future__ import annotations

import os
from dataclasses import dataclass, fields
from typing import Any

import numpy as np

from ....models.arrays import FloatArray
from ....models.model import fingerprint
from ....models.views import ZeroOneProblem
from ...exact.checkpoint import Checkpoint, Saved
from ...exact.log_file import Mark
from ..engines.boxes import ResumedBoxes, SearchData
from ..engines.engine import SharedState
from ..engines.open_nodes import OpenNodes
from ..reduced import ReducedZeroOneProblem

__all__ = ["StoppedSearch", "ZeroOneCheckpoint"]

_ARRAY_FIELDS = ("rows", "weights", "T", "member", "residual")


@dataclass(frozen=True, eq=False)
class StoppedSearch:
    """An interrupted search: its state, incumbent, lower bound, number of nodes, and the mark of its proof log."""

    begun: ResumedBoxes
    w: FloatArray
    lower_bound: float
    nodes: int
    log: Mark | None = None


class ZeroOneCheckpoint(Checkpoint[StoppedSearch]):
    """The checkpoint file of a box search.

    Parameters
    ----------
    path : path-like
    problem : ZeroOneProblem
    tol : float
    """

    solver = "zero-one-bb"
    numbers = ("layout", "tol", "upper", "floor", "nodes", "unit", "constant", "shrink", "free", "unresolved")

    def __init__(self, path: str | os.PathLike[str], problem: ZeroOneProblem, tol: float) -> None:
        super().__init__(path, fingerprint((problem.A, problem.weights, problem.penalised)), tol)
        self._problem = problem

    @staticmethod
    def content(shared: SharedState, begun: ResumedBoxes, count: int, log: Mark | None = None) -> Saved:
        """Return the content of the file of a search, with the position of its log."""
        reduced = begun.ground.reduced
        numbers = {
            "upper": begun.ground.upper, "floor": shared.lower_bound, "nodes": count, "unit": reduced.unit,
            "constant": reduced.constant, "shrink": reduced.shrink, "free": reduced.free, "unresolved": begun.unresolved,
        }  # fmt: skip
        arrays: dict[str, Any] = {name: getattr(reduced, name) for name in _ARRAY_FIELDS} | {"w": shared.incumbent.w}
        arrays |= {f"open_{name}": array for name, array in begun.nodes.arrays().items()}
        return Saved(numbers, arrays, log, begun.first_id)

    def parse(self, saved: Saved) -> StoppedSearch:
        """Return the search of a file's content."""
        arrays, numbers = saved.arrays, saved.numbers
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
        begun = ResumedBoxes(SearchData.of(reduced, numbers["upper"]), nodes, numbers["unresolved"], saved.next_id)
        w = np.array(arrays["w"], dtype=np.float64)
        return StoppedSearch(begun, w, numbers["floor"], int(numbers["nodes"]), saved.log)
