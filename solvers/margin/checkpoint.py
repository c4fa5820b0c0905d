"""Checkpoints of `margin-bb`: its open nodes in the order of the heap, its incumbent, and its coordinates."""

from __future__ import annotations

import os
from dataclasses import dataclass, fields
from typing import Any

import numpy as np

from ...errors import DataError
from ...models.arrays import FloatArray, IntArray
from ...models.views import MarginProblem
from ..exact.checkpoint import Checkpoint, Saved
from ..exact.log_file import Mark
from .check.statement import LoggedMarginProblem

__all__ = ["MarginCheckpoint", "StoppedMarginSearch"]


@dataclass(frozen=True, eq=False)
class StoppedMarginSearch:
    """An interrupted search.

    Parameters
    ----------
    boxes, keys, origin, signs : ndarray
        The open nodes, as `loops.Tree` has them, in the order of its heap.
    state, incumbent : ndarray
        The tree's.
    nodes : int
        Number of explored nodes.
    first_value : float
        The objective of the incumbent with which the search began: the loops allow for the rounding of margins up to it.
    rotated : bool
        Whether the coordinates are rotated.
    log : Mark, optional
        The position of the proof log.
    """

    boxes: FloatArray
    keys: FloatArray
    origin: IntArray
    signs: IntArray
    state: FloatArray
    incumbent: FloatArray
    nodes: int
    first_value: float
    rotated: bool
    log: Mark | None = None


_ARRAYS = tuple(item.name for item in fields(StoppedMarginSearch))[:6]
_TYPES: dict[str, Any] = dict.fromkeys(_ARRAYS, np.float64) | {"origin": np.int64, "signs": np.int8}


class MarginCheckpoint(Checkpoint[StoppedMarginSearch]):
    """The checkpoint file of a search.

    Parameters
    ----------
    path : path-like
    problem : MarginProblem
    tol : float
    """

    solver = "margin-bb"
    numbers = ("layout", "tol", "nodes", "first_value", "rotated")

    def __init__(self, path: str | os.PathLike[str], problem: MarginProblem, tol: float) -> None:
        super().__init__(path, LoggedMarginProblem.of_problem(problem).digest, tol)
        self._problem = problem

    @staticmethod
    def content(search: StoppedMarginSearch) -> Saved:
        """Return the content of the file of a search."""
        numbers = {"nodes": search.nodes, "first_value": search.first_value, "rotated": search.rotated}
        return Saved(numbers, {name: getattr(search, name) for name in _ARRAYS}, search.log)

    def parse(self, saved: Saved) -> StoppedMarginSearch:
        """Return the search of a file's content."""
        arrays = {name: saved.arrays[name] for name in _ARRAYS}
        n, p = self._problem.A.shape
        m = len(arrays["keys"])
        shapes = {
            "boxes": (m, 4, p), "keys": (m,), "origin": (m, 2), "signs": (m, n if self._problem.rates else 0), "state": (4,),
            "incumbent": (p,),
        }  # fmt: skip
        valid = all(arrays[name].shape == shapes[name] and arrays[name].dtype == _TYPES[name] for name in _ARRAYS)
        valid = valid and not any(np.isnan(arrays[name]).any() for name in ("boxes", "keys", "state", "incumbent"))
        keys = arrays["keys"]
        valid = valid and bool((keys[(np.arange(1, m) - 1) // 2] <= keys[1:]).all()) and bool((arrays["origin"] >= 0).all())
        if not valid or not np.isin(arrays["signs"], (-1, 0, 1)).all():
            raise DataError(f"the open nodes in {self.path} do not belong to this problem")
        numbers = saved.numbers
        return StoppedMarginSearch(
            **arrays,
            nodes=int(numbers["nodes"]),
            first_value=numbers["first_value"],
            rotated=bool(numbers["rotated"]),
            log=saved.log,
        )
