"""Recorded trees of the box search, and the coordinator's own rule for subproblems driven by a simulated clock."""

from __future__ import annotations

import heapq
import math
import time
from dataclasses import dataclass
from typing import Any

import numpy as np

import marginopt as mo
from marginopt.models.views import ZeroOneProblem
from marginopt.solvers.exact.dispatcher import BatchSize
from marginopt.solvers.records import Options
from marginopt.solvers.zero_one import ZeroOneBB, distributed_boxes as rule
from marginopt.solvers.zero_one.box_engine import BoxEngine

# -- recording ------------------------------------------------------------------------------------------------------


class Recorder:
    """Takes the events of a proof log and keeps who is whose child, and how many multipliers each node had."""

    def __init__(self) -> None:
        self.parents: list[int] = []
        self.work: list[int] = []

    def append_events(self, log: Any, tau: Any) -> None:
        at = 0
        while at < len(log):
            kind = int(log[at])
            if kind == 0:
                self.parents.append(int(log[at + 2]))
                self.work.append(1)
                at += 4
            elif kind in (1, 3):
                count = int(log[at + 2])
                self.work[-1] += count
                at += 3 + 3 * count
            else:
                at += 3 if kind == 4 else 4

    def append_leaf(self, active: Any, tau: Any, target: float) -> None:
        """Hard-margin problems of decided nodes count nothing here."""


@dataclass(frozen=True)
class Tree:
    """Children and seconds of every node."""

    children: list[list[int]]
    seconds: np.ndarray


def recorded(model: mo.ZeroOneSVM, w: np.ndarray) -> Tree:
    """The tree of the search with the optimum known; work of nodes by their multipliers, in all the search's processor time."""
    view = model.view(ZeroOneProblem)

    def searched(log: Recorder | None) -> float:
        algorithm = ZeroOneBB(engine="boxes", restarts=0)
        shared = algorithm.init(view, Options(threads=1, start={"w": w}), np.random.default_rng(0)).shared
        engine = BoxEngine(shared, 1, log)
        engine.slice_end = 10**12
        begin = time.process_time()
        while engine.open_count and len(engine.open_nodes):
            engine.work(5.0)
        return time.process_time() - begin

    log = Recorder()
    searched(log)
    seconds = searched(None)
    children: list[list[int]] = [[] for _ in log.parents]
    for node, parent in enumerate(log.parents):
        if parent >= 0:
            children[parent].append(node)
    work = np.array(log.work, dtype=np.float64)
    return Tree(children, seconds * work / work.sum())


# -- simulation -----------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Costs:
    """The assumptions besides the tree.

    ``latency``: seconds of a message one way; ``handling``: the coordinator's seconds for each subproblem, out and in;
    ``per_node``: its seconds for each node that comes back; ``stretch``: how much longer every node takes than recorded.
    Workers have loaded what they run: they are ready when their answer comes.
    """

    latency: float = 1e-3
    handling: float = 4e-3
    per_node: float = 2e-5
    stretch: float = 1.0


@dataclass
class Outcome:
    workers: int
    seconds: float = 0.0
    alone: float = 0.0
    subproblems: int = 0
    coordinator: float = 0.0
    most: float = 0.0
    least: float = 0.0

    def row(self) -> str:
        speed = self.alone / self.seconds
        idle = 1.0 - self.alone / (self.workers * self.seconds)
        return (
            f"| {self.workers:5d} | {self.alone:9.4g} | {self.seconds:9.4g} | {speed:7.1f} | {idle:6.1%} "
            f"| {2 * self.subproblems:8d} | {self.coordinator / self.seconds:6.1%} | {self.least / max(self.most, 1e-300):5.2f} |"
        )


def simulate(tree: Tree, workers: int, costs: Costs) -> Outcome:
    """The coordinator's rule on a simulated clock: nodes in any order, since with the optimum known all of them are searched."""
    seconds = tree.seconds * costs.stretch
    outcome = Outcome(workers, alone=float(seconds.sum()))
    pool, clock = _head(tree, seconds, costs)
    busy = np.zeros(workers)
    free = list(range(workers))  # workers without a subproblem
    queued: list[tuple[list[int], float]] = []  # subproblems that wait at the cluster
    events: list[tuple[float, int, int, list[int], int, float]] = []  # arrival, order, worker, nodes, given, spent
    shares = BatchSize()
    order, flying, coordinator = 0, 0, clock
    while pool or flying:
        flying, coordinator = _handed(pool, queued, workers, flying, coordinator, costs, outcome, shares)
        while queued and free:
            nodes, length = queued.pop(0)
            worker = free.pop()
            spent, rest = _searched(tree, seconds, nodes, length)
            busy[worker] += spent
            order += 1
            heapq.heappush(events, (coordinator + costs.latency + spent, order, worker, rest, len(nodes), spent))
        done, _, worker, rest, problem, took = heapq.heappop(events)
        shares.update(problem, len(rest), took)
        free.append(worker)
        if queued:  # the next subproblem waits at the worker already
            nodes, length = queued.pop(0)
            free.remove(worker)
            spent, more = _searched(tree, seconds, nodes, length)
            busy[worker] += spent
            order += 1
            heapq.heappush(events, (done + spent, order, worker, more, len(nodes), spent))
        arrival = max(done + costs.latency, coordinator)
        work = 0.5 * costs.handling + costs.per_node * len(rest)
        coordinator, outcome.coordinator = arrival + work, outcome.coordinator + work
        pool += rest
        flying -= 1
    outcome.seconds, outcome.most, outcome.least = coordinator, float(busy.max()), float(busy.min())
    return outcome


def _head(tree: Tree, seconds: np.ndarray, costs: Costs) -> tuple[list[int], float]:
    """Return what is open when the first worker is ready, and when that is: breadth-first, as best-first nearly is."""
    pool, clock, count, ready = [0], 0.0, 0, math.inf
    while pool and (count % rule.NODES_BETWEEN_CHECKS or clock < ready):
        node = pool.pop(0)
        clock += seconds[node]
        count += 1
        pool += tree.children[node]
        due = count % rule.NODES_BETWEEN_CHECKS == 0 and ready == math.inf
        if due and (count >= rule.PRELOAD_NODES or clock >= 1e-9 * rule.PRELOAD_EFFORT):
            ready = clock + 2.0 * costs.latency + costs.handling
    return pool, clock


def _handed(
    pool: list[int], queued: list[Any], workers: int, flying: int, now: float, costs: Costs, outcome: Outcome, shares: BatchSize
) -> tuple[int, float]:
    """`Desk._dispatch`."""
    wanted = 2 * workers - flying
    if wanted <= 0 or not pool:
        return flying, now
    each, length = shares.next_batch(len(pool), workers, costs.handling)
    for _ in range(wanted):
        nodes, pool[:] = pool[:each], pool[each:]
        if not nodes:
            break
        queued.append((nodes, length))
        flying += 1
        outcome.subproblems += 1
        outcome.coordinator += 0.5 * costs.handling
        now += 0.5 * costs.handling
    return flying, now


def _searched(tree: Tree, seconds: np.ndarray, nodes: list[int], length: float) -> tuple[float, list[int]]:
    """A subproblem: seconds spent, and what is still open."""
    stack, spent = list(reversed(nodes)), 0.0
    while stack and spent < length:
        node = stack.pop()
        spent += seconds[node]
        stack += tree.children[node]
    return spent, stack
