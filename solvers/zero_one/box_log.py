"""Proof log of the box engine: the tree, with the multipliers that bound each node, for the checker in `solvers.zero_one.check`.

Each line is a JSON object: the problem min Σ_{penalised} w_j² + Σ_i λ_i 1{a_i'w < 1} and the coordinates; then every node with
its parent, its rounds and its split; then the claimed bound and the incumbent; last the seal (`solvers.exact.log_file`). A
*round* is one relaxation of a node, the list [points, states, α, pairs, prices] with the points' dual multipliers α; the factor θ
on the losses follows if it is not 1. A *pair* is two points that no w of the box keeps both; both pay its price. JSON holds
floats exactly. States are -1 free, 0 kept (a margin of at least 1), 1 violated. `write_citing_log` writes a log whose bound
follows from other logs.
"""

from __future__ import annotations

import hashlib
import json
import math
from pathlib import Path
from typing import Any

import numpy as np

from ...models.arrays import FloatArray
from ...models.views import ZeroOneProblem
from ..exact.log_file import LogFile, LogPosition, LogWriter
from .reduced import ReducedZeroOneProblem
from .reuse import TransferredBound

#: Share by which the claimed bound is below the search's, for the rounding errors of the checker.
CLAIM_SLACK = 1e-9
#: Pairs of a round without pairs.
_NO_PAIRS: FloatArray = np.zeros((0, 3))


class BoxRecords:
    """The log's records of nodes, built from the events of the compiled loops; in this process or in a worker."""

    def __init__(self) -> None:
        self._node: dict[str, Any] | None = None
        self._pairs = _NO_PAIRS
        self._theta = 1.0
        self._done: list[dict[str, Any]] = []

    def append_events(self, log: FloatArray, tau: FloatArray) -> None:
        """Add events that the compiled loops have recorded: numbers, the first of which is the kind of the event.

        The kinds are 0 node, parent, side (which child, 0 or 1); 1 node, count, (point, state, α)...; 2 node, split (a
        coordinate, or -1 - point), mid (where the coordinate is split); 3 node, count, (point, point, price)...; 4 node, θ. Event
        1 ends a round. The pairs of 3 and the θ of 4 belong to the round that the next event 1 ends; pairs without such an event
        are two kept points that exclude each other, which empties the node. The loops' rows are the reduced ones over their
        thresholds ``tau``: multipliers of the reduced rows, whose combination is that of the loops, are α/τ.
        """
        start = 0
        while start < len(log):
            kind = int(log[start])
            if kind == 0:
                self._end()
                self._node = {"id": int(log[start + 1]), "parent": int(log[start + 2]), "side": int(log[start + 3]), "rounds": []}
                start += 4
            elif kind == 1:
                count = int(log[start + 2])
                entries = log[start + 3 : start + 3 + 3 * count].reshape(count, 3)
                self._round(entries[:, 0], entries[:, 1], entries[:, 2] / tau[entries[:, 0].astype(int)])
                start += 3 + 3 * count
            elif kind == 3:
                count = int(log[start + 2])
                self._pairs = log[start + 3 : start + 3 + 3 * count].reshape(count, 3)
                start += 3 + 3 * count
            elif kind == 4:
                self._theta = float(log[start + 2])
                start += 3
            else:
                assert self._node is not None
                self._node["split"] = [int(log[start + 2]), float(log[start + 3])]
                start += 4

    def _round(self, points: FloatArray, states: FloatArray, alpha: FloatArray) -> None:
        assert self._node is not None
        pairs, self._pairs = self._pairs, _NO_PAIRS
        theta, self._theta = self._theta, 1.0
        entry = [points.astype(int).tolist(), states.astype(int).tolist(), alpha.tolist()]
        levels = [] if theta == 1.0 else [theta]
        self._node["rounds"].append([*entry, pairs[:, :2].astype(int).tolist(), pairs[:, 2].tolist(), *levels])

    def _end(self) -> None:
        """Complete the node; pairs without multipliers after them emptied it."""
        if self._node is None:
            return
        if len(self._pairs):
            self._round(np.zeros(0), np.zeros(0), np.zeros(0))
        self._done.append(self._node)
        self._node = None

    def completed(self, last: bool = False) -> list[dict[str, Any]]:
        """Return the records completed since the last call; with ``last`` also the current one, which ends."""
        if last:
            self._end()
        records, self._done = self._done, []
        return records

    def text(self) -> str:
        """Return the records since the last call, the current one included, as lines of a log."""
        return "".join(json.dumps(record) + "\n" for record in self.completed(last=True))

    def append_leaf(self, active: Any, tau: FloatArray, target: float) -> None:
        """Add the multipliers that close the current node, a leaf: they prove a squared norm of ``target``.

        ``active`` is the `ActiveSet` of the least norm that keeps the leaf's kept points, with multipliers u of constraints g'w ≥
        1; ``tau`` are the thresholds, slightly below 1, by which rows are divided. α = 2t u proves 2tΣu - t²||v||² with v = Σ u
        g: the most at t = Σu/||v||², and any number if v = 0.
        """
        q = int(active.count[0])
        u, g = active.u[:q], active.g[:q]
        v = u @ g
        total, norm = float(u.sum()), float(v @ v)
        enough = 2.0 * target / total
        t = total / norm if norm * enough > total else enough
        alpha: dict[int, float] = {}
        for k in range(q):
            i, j = int(active.pair[k, 0]), int(active.pair[k, 1])
            scale = float(tau[i] if j < 0 else tau[i] + tau[j])
            for point in (i, j) if j >= 0 else (i,):
                alpha[point] = alpha.get(point, 0.0) + 2.0 * t * float(u[k]) / scale
        points = np.array(sorted(alpha), dtype=np.float64)
        self._round(points, np.zeros(len(points)), np.array([alpha[int(i)] for i in points]))


def log_header(problem: ZeroOneProblem, version: int, kind: str) -> dict[str, Any]:
    """Return the first record of a log: its format, version, ``kind`` ("boxes", "conflicts", "budget", "cited") and problem."""
    return {
        "format": "marginopt-zero-one-proof", "version": version, "kind": kind, "A": problem.A.tolist(),
        "weights": problem.weights.tolist(), "penalised": problem.penalised.tolist(),
    }  # fmt: skip


def write_citing_log(path: str, problem: ZeroOneProblem, transfer: TransferredBound, bound: float, w: FloatArray) -> LogFile:
    """Write a log whose bound follows from those of other logs, cited by SHA-256 (`solvers.zero_one.reuse`); return its file."""
    file = LogFile(path)
    file.write([log_header(problem, 6, "cited")])
    for item, share in transfer.shares:
        assert item.log is not None
        log = Path(item.log)
        file.write([{"file": log.name, "sha256": hashlib.sha256(log.read_bytes()).hexdigest(), "theta": share}])
    file.write([{"bound": bound * (1.0 - CLAIM_SLACK), "w": w.tolist()}])
    file.seal()
    return file


class BoxLogWriter(LogWriter):
    """Writer of the box engine's proof log during the search; lines of workers are merged in any order."""

    def __init__(self, file: LogFile, reduced: ReducedZeroOneProblem) -> None:
        coordinates = {"T": reduced.T.tolist(), "member": reduced.member.tolist(), "step": reduced.step * reduced.unit}
        super().__init__(file, log_header(reduced.problem, 4, "boxes") | coordinates)
        self._records = BoxRecords()

    def sync(self) -> LogPosition | None:
        """Flush all nodes to the part file and return the position; None without a part file or after a write error."""
        self._file.write(self._records.completed(last=True))
        return super().sync()

    def append_events(self, log: FloatArray, tau: FloatArray) -> None:
        """Write events that the compiled loops have recorded; see `BoxRecords.append_events`."""
        self._records.append_events(log, tau)
        self._file.write(self._records.completed())

    def append_leaf(self, active: Any, tau: FloatArray, target: float) -> None:
        """Write the multipliers that close the last node; see `BoxRecords.append_leaf`."""
        self._records.append_leaf(active, tau, target)

    def finish(self, bound: float, w: FloatArray) -> None:
        """Write the claim, a lower bound in original units less `CLAIM_SLACK`, the incumbent, and the seal."""
        claimed = bound * (1.0 - CLAIM_SLACK) if math.isfinite(bound) else 0.0
        self._file.write(self._records.completed(last=True))
        self._seal({"bound": claimed, "w": w.tolist()})
