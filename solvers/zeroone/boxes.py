"""The box engine: best-first search over boxes of w with the hinge relaxation; for few features."""

from __future__ import annotations

import math
import time
from typing import Any, ClassVar

import numpy as np

from ..algorithm import Outcome
from . import box_kernels as k
from .engine import Engine, Shared
from .incumbent import empty_active, penalised_rows
from .proof import ProofWriter

__all__ = ["BoxEngine"]

#: Rounds of relaxing and tightening at a node, and the smoothing of the hinge that they start from.
ROUNDS, SMOOTHING = 2, 0.05
#: Bytes of open nodes beyond which the search goes on nearly depth-first, unless the user gave a limit.
MEMORY = 2e9
#: A node with at most this many free points branches on a point.
BY_POINTS = 1


def _data(shared: Shared) -> k.Data:
    reduced = shared.reduced
    rows = reduced.relaxed_rows(shared.upper)
    norms = np.linalg.norm(rows, axis=1) * (1 + 1e-14)
    # A point that costs more than the incumbent is never violated: less weight is a valid relaxation, and a better scale.
    weights = np.minimum(reduced.weights, shared.upper)
    return k.Data(rows, weights, norms, reduced.free, float(weights.mean()))


def _empty_pool(n: int, p: int, records: int, pages: int, log: int) -> k.Pool:
    f, i = np.float64, np.int64
    return k.Pool(
        lo=np.zeros((records, p), f), hi=np.zeros((records, p), f), w=np.zeros((records, p), f), base=np.zeros(records, f),
        split=np.zeros(records, np.int32), mid=np.zeros(records, f), page=np.full(records, -1, np.int32),
        count=np.zeros(records, np.int32), refs=np.zeros(records, np.int8), key=np.zeros((records, 2), f),
        ident=np.full(records, -1, i), free_records=np.zeros(records, np.int32), heap=np.zeros(2 * records, np.int32),
        point=np.zeros((pages, k.PAGE), np.int32), lower=np.zeros((pages, k.PAGE), f),
        state=np.zeros((pages, k.PAGE), np.int8), link=np.full(pages, -1, np.int32), free_pages=np.zeros(pages, np.int32),
        control=np.zeros(12, i), found=np.zeros(p + 2, f), leaf=np.zeros(n, np.int8), log=np.zeros(log, f),
    )  # fmt: skip


def _grown(pool: k.Pool) -> k.Pool:
    """The same pool with twice the records, and pages where they run short."""
    control = pool.control
    records, pages = len(pool.base), len(pool.link)
    more_records = records if control[k.RECORDS] < max(2 * k.RESERVE, records // 8) else 0
    more_pages = pages if control[k.PAGES] < max(k.RESERVE * (len(pool.leaf) // k.PAGE + 2), pages // 8) else 0

    def longer(array: Any, more: int) -> Any:
        return np.concatenate([array, np.zeros((more, *array.shape[1:]), array.dtype)]) if more else array

    by_record = ("lo", "hi", "w", "base", "split", "mid", "page", "count", "refs", "key", "ident", "free_records")
    changes = {name: longer(getattr(pool, name), more_records) for name in by_record}
    changes |= {name: longer(getattr(pool, name), more_pages) for name in ("point", "lower", "state", "link", "free_pages")}
    changes["heap"] = longer(pool.heap, 2 * more_records)
    stocks = (("free_records", k.RECORDS, records, more_records), ("free_pages", k.PAGES, pages, more_pages))
    for name, field, old, more in stocks:
        at = int(control[field])
        changes[name][at : at + more] = np.arange(old, old + more)[::-1]
        control[field] += more
    return pool._replace(**changes)


class BoxEngine(Engine):
    """Branch and bound over boxes; see `solvers.zeroone.box_kernels` and ``docs/zero-one-bb.md``."""

    name: ClassVar[str] = "boxes"

    def __init__(self, shared: Shared, by_points: int = BY_POINTS, log: ProofWriter | None = None) -> None:
        super().__init__(shared)
        self._by_points = by_points
        self._data = _data(shared)
        n, p = self._data.rows.shape
        pages = 2 * k.RESERVE * (n // k.PAGE + 2) + 4096
        self._log = log
        self._pool = _empty_pool(n, p, 4096, pages, 0 if log is None else max(1 << 16, 8 * (3 * n + 3) * ROUNDS))
        self._unresolved = math.inf
        self._leaf_rows = penalised_rows(shared.reduced, shared.reduced.thresholds(shared.upper))
        self._rate = 2000.0
        self._sample = max(4, n // 32)
        self._plant_root()

    def _plant_root(self) -> None:
        pool, control = self._pool, self._pool.control
        n, p = self._data.rows.shape
        half = self._shared.reduced.radius(self._shared.upper)
        pool.free_records[: len(pool.base)] = np.arange(len(pool.base))[::-1]
        pool.free_pages[: len(pool.link)] = np.arange(len(pool.link))[::-1]
        control[k.RECORDS], control[k.PAGES], control[k.CURRENT] = len(pool.base) - 1, len(pool.link), 0
        pool.lo[0], pool.hi[0], pool.count[0], pool.refs[0] = -half, half, n, 1
        pool.split[0], pool.mid[0] = 0, half[0] if p else 0.0
        free = np.arange(n)
        page = -1
        for start in range(0, n, k.PAGE):
            control[k.PAGES] -= 1
            new = pool.free_pages[control[k.PAGES]]
            pool.link[new] = -1
            if page < 0:
                pool.page[0] = new
            else:
                pool.link[page] = new
            page = new
            part = free[start : start + k.PAGE]
            pool.point[page, : len(part)], pool.state[page, : len(part)] = part, k.FREE
            pool.state[page, : len(part)][self._data.weights[part] >= self._shared.upper] = k.KEPT
            pool.lower[page, : len(part)] = -np.inf
        pool.found[p] = self._shared.upper

    @property
    def nodes(self) -> int:
        """Nodes processed."""
        return int(self._pool.control[k.NODES])

    @property
    def open_nodes(self) -> int:
        """Nodes on the heap and the one in hand."""
        return int(self._pool.control[k.HEAP]) + int(self._pool.control[k.CURRENT] >= 0)

    def figures(self) -> dict[str, float]:
        """Relaxations, Newton steps and points for each node."""
        control = self._pool.control
        return {
            "relaxations": int(control[k.RELAXATIONS]),
            "newton_steps": int(control[k.NEWTON]),
            "points_per_node": float(control[k.ACTIVE]) / max(self.nodes, 1),
        }

    def _bound(self) -> float:
        pool, control = self._pool, self._pool.control
        bound = min(self._unresolved, self._shared.cut)
        if control[k.HEAP] > 0:  # a heap with its last nodes taken is still one
            code = int(pool.heap[0])
            bound = min(bound, float(pool.key[code >> 1, code & 1]))
        if control[k.CURRENT] >= 0:
            code = int(control[k.CURRENT])
            bound = min(bound, float(pool.key[code >> 1, code & 1]))
        return bound

    def work(self, seconds: float) -> Outcome:
        """Explore, polish candidates, settle leaves, grow."""
        shared, limits = self._shared, self._shared.limits
        end = time.perf_counter() + seconds
        outcome = Outcome.RUNNING
        while outcome is Outcome.RUNNING:
            start, before = time.perf_counter(), self.nodes
            nodes = max(1, min(int(self._rate * max(end - start, 0.0)), 100_000))
            if limits.nodes is not None:
                nodes = min(nodes, limits.nodes - self.nodes)
            code = k.explore(
                self._data, self._pool, shared.cut, nodes, ROUNDS, SMOOTHING, self._by_points, self._sample,
                float(self._data.weights.sum()),
            )  # fmt: skip
            took = time.perf_counter() - start
            control = self._pool.control
            if control[k.FRUGAL] and control[k.RECORDS] > len(self._pool.base) // 2:
                control[k.FRUGAL] = 0
            if self.nodes - before >= 20 and took > 1e-4:
                self._rate = (self.nodes - before) / took
            outcome = self._handle(code)
            if time.perf_counter() >= end:
                break
        shared.raise_floor(self._bound())
        return Outcome.CONVERGED if shared.closed else outcome

    def _handle(self, code: int) -> Outcome:
        shared, limits = self._shared, self._shared.limits
        p = self._data.rows.shape[1]
        if self._log is not None:
            self._flush()
        if code == k.CANDIDATE:
            shared.polish.improve(shared.incumbent, self._pool.found[:p].copy())
            self._pool.found[p] = min(self._pool.found[p] * (1 - 1e-9), shared.upper)
        elif code == k.LEAF:
            self._settle(self._pool.leaf.copy(), float(self._pool.found[p + 1]))
        elif code == k.GROW:
            return self._make_room()
        elif code == k.DONE:
            return Outcome.CONVERGED if self._unresolved >= shared.cut else Outcome.STALLED
        if limits.nodes is not None and self.nodes >= limits.nodes:
            return Outcome.NODE_LIMIT
        return Outcome.RUNNING

    def _make_room(self) -> Outcome:
        """Grow the pool; where it may not, go on nearly depth-first in what is left."""
        control = self._pool.control
        if self._log is not None and control[k.RECORDS] >= 2 * k.RESERVE and control[k.PAGES] >= len(self._pool.link) // 8:
            return Outcome.RUNNING  # only the log was full
        memory = self._shared.limits.memory
        if 2.0 * sum(array.nbytes for array in self._pool) <= (MEMORY if memory is None else memory):
            self._pool = _grown(self._pool)
        elif control[k.FRUGAL]:
            return Outcome.MEMORY_LIMIT
        else:
            control[k.FRUGAL] = 1
        return Outcome.RUNNING

    def _settle(self, state: Any, bound: float) -> None:
        """A node whose points are all decided is a hard-margin problem: solve it, offer its point, prove its norm.

        Its solution w keeps every kept point, so f(w) ≤ ||w||² + Σ_{violated} λ, which is what the node's bound becomes:
        after the offer, one of the two is at the cut.
        """
        from .conflict_kernels import CONFLICT, active_set

        shared, data = self._shared, self._data
        kept = state == k.KEPT
        w = shared.polish.solve(kept)
        if w is not None:
            shared.incumbent.offer(shared.reduced, w)
        violated = float(data.weights[state == k.VIOLATED].sum())
        target = shared.cut - violated * (1 - 1e-15 * len(state))
        if target <= 0.0:
            return
        rows, n = self._leaf_rows, len(state)
        active = empty_active(rows.a.shape[1])
        status, _ = active_set(rows, kept, np.ones(n), target, active, np.zeros(n), 1e-11)
        if status == CONFLICT:
            if self._log is not None:
                self._log.leaf(active, self._leaf_rows.tau, target)
        else:
            self._unresolved = min(self._unresolved, max(bound, violated))

    @property
    def own_bound(self) -> float:
        """What this tree alone proves, stated (the floor may be another engine's)."""
        return min(self._shared.reduced.proved(self._bound()), self._shared.incumbent.value)

    def _flush(self) -> None:
        assert self._log is not None
        at = int(self._pool.control[k.LOG_AT])
        if at:
            self._log.block(self._pool.log[:at].copy())
            self._pool.control[k.LOG_AT] = 0
