"""The exact search on a cluster: measured with two worker processes here, simulated for more on recorded trees.

``python benchmarks/scale/search.py measure`` starts a Dask scheduler and worker processes on this machine and solves one problem
in one process and on the cluster, the optimum known, so that both search the same tree. On a machine that others use wall time
says little: the processor time of the slices against that of one process says what the division costs, and the share of a slice's
wall time that the worker had a processor says how busy the machine was.

``... killed`` shows what happens where a worker is killed.

``... simulate`` records the tree of the same problem (nodes, children, work of each) and drives the coordinator's own rule for
handing out slices (`solvers.zero_one.subtrees.engine`) by a simulated clock for 2 to 1,024 workers.
"""

from __future__ import annotations

import argparse
import heapq
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

import marginopt as mo
from marginopt.models.views import ZeroOneProblem
from marginopt.solvers.records.options import Options
from marginopt.solvers.zero_one import ZeroOneBB
from marginopt.solvers.zero_one.engines.boxes import BoxEngine
from marginopt.solvers.zero_one.subtrees import engine as rule

sys.path.insert(0, str(Path(__file__).parents[2] / "tests"))


def stated(n: int, p: int, lam: float, seed: int = 0) -> mo.ZeroOneSVM:
    """Two overlapping Gaussian classes."""
    rng = np.random.default_rng(seed)
    y = np.where(np.arange(n) % 2 == 0, 1.0, -1.0)
    X = np.column_stack([np.ones(n), 0.4 * y[:, None] + 1.2 * rng.standard_normal((n, p))])
    return mo.ZeroOneSVM(X, y, lam, intercept="free")


# -- recording ------------------------------------------------------------------------------------------------------


class Recorder:
    """Takes the events of a proof log and keeps who is whose child, and how many multipliers each node had."""

    def __init__(self) -> None:
        self.parents: list[int] = []
        self.work: list[int] = []

    def block(self, log: Any) -> None:
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
                at += 4

    def leaf(self, active: Any, tau: Any, target: float) -> None:
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
        engine.pause = 10**12
        begin = time.process_time()
        while engine.open_nodes and len(engine.open):
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
    """What is assumed besides the tree.

    ``latency``: seconds of a message one way; ``handling``: the coordinator's seconds for each slice, out and in; ``per_node``:
    its seconds for each node that comes back; ``stretch``: how much longer every node takes than recorded.
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
    slices: int = 0
    coordinator: float = 0.0
    most: float = 0.0
    least: float = 0.0

    def row(self) -> str:
        speed = self.alone / self.seconds
        idle = 1.0 - self.alone / (self.workers * self.seconds)
        return (
            f"| {self.workers:5d} | {self.alone:9.4g} | {self.seconds:9.4g} | {speed:7.1f} | {idle:6.1%} | {2 * self.slices:8d} "
            f"| {self.coordinator / self.seconds:6.1%} | {self.least / max(self.most, 1e-300):5.2f} |"
        )


def simulate(tree: Tree, workers: int, costs: Costs) -> Outcome:
    """The coordinator's rule on a simulated clock: nodes in any order, since with the optimum known all of them are searched."""
    seconds = tree.seconds * costs.stretch
    found = Outcome(workers, alone=float(seconds.sum()))
    pool, clock = _head(tree, seconds)
    busy = np.zeros(workers)
    free = list(range(workers))  # workers without a slice
    queued: list[tuple[list[int], float]] = []  # slices that wait at the cluster
    events: list[tuple[float, int, int, list[int]]] = []  # (arrival of the outcome, order, worker, nodes)
    order, flying, coordinator = 0, 0, clock
    while pool or flying:
        flying, coordinator = _handed(pool, queued, workers, flying, coordinator, costs, found)
        while queued and free:
            nodes, length = queued.pop(0)
            worker = free.pop()
            spent, rest = _searched(tree, seconds, nodes, length)
            busy[worker] += spent
            order += 1
            heapq.heappush(events, (coordinator + costs.latency + spent, order, worker, rest))
        done, _, worker, rest = heapq.heappop(events)
        free.append(worker)
        if queued:  # the next slice waits at the worker already
            nodes, length = queued.pop(0)
            free.remove(worker)
            spent, more = _searched(tree, seconds, nodes, length)
            busy[worker] += spent
            order += 1
            heapq.heappush(events, (done + spent, order, worker, more))
        arrival = max(done + costs.latency, coordinator)
        work = 0.5 * costs.handling + costs.per_node * len(rest)
        coordinator, found.coordinator = arrival + work, found.coordinator + work
        pool += rest
        flying -= 1
    found.seconds, found.most, found.least = coordinator, float(busy.max()), float(busy.min())
    return found


def _head(tree: Tree, seconds: np.ndarray) -> tuple[list[int], float]:
    """What is open after the nodes that the coordinator searches alone, and when: breadth-first, as best-first nearly is."""
    pool, clock, count = [0], 0.0, 0
    while pool and count < rule.HEAD and clock < 1e-9 * rule.EFFORT:
        node = pool.pop(0)
        clock += seconds[node]
        count += 1
        pool += tree.children[node]
    return pool, clock


def _handed(
    pool: list[int], queued: list[Any], workers: int, flying: int, now: float, costs: Costs, found: Outcome
) -> tuple[int, float]:
    """`SubtreeEngine._hand_out`."""
    wanted = 2 * workers - flying
    if wanted <= 0 or not pool:
        return flying, now
    each = max(min(len(pool) // (2 * workers), rule._MOST), 1)
    enough = len(pool) - wanted * each >= workers
    least = workers * costs.handling
    length = min(max(rule._LONG, least / rule._SHARE), rule._LONGEST) if enough else max(rule._SHORT, least)
    for _ in range(wanted):
        nodes, pool[:] = pool[:each], pool[each:]
        if not nodes:
            break
        queued.append((nodes, length))
        flying += 1
        found.slices += 1
        found.coordinator += 0.5 * costs.handling
        now += 0.5 * costs.handling
    return flying, now


def _searched(tree: Tree, seconds: np.ndarray, nodes: list[int], length: float) -> tuple[float, list[int]]:
    """A slice: seconds spent, and what is still open."""
    stack, spent = list(reversed(nodes)), 0.0
    while stack and spent < length:
        node = stack.pop()
        spent += seconds[node]
        stack += tree.children[node]
    return spent, stack


# -- the two commands -----------------------------------------------------------------------------------------------


def measure(a: argparse.Namespace) -> None:
    """One process against worker processes of this machine."""
    from clusters import dask_cluster
    from distributed import Client

    model = stated(a.n, a.p, a.lam)
    best = mo.solve(model, "zero-one-bb", engine="boxes", threads=1)
    common: dict[str, Any] = {"engine": "boxes", "threads": 1, "restarts": 0, "start": {"w": best.values["w"]}}
    with (
        tempfile.TemporaryDirectory() as folder,
        dask_cluster(Path(folder), a.workers) as cluster,
        Client(cluster.address, set_as_default=False) as client,
    ):
        mo.solve(stated(150, 5, 10.0), "zero-one-bb", **common | {"start": None}, cluster=client)  # loads the workers
        print("| run | status | bound | nodes | wall s | processor s | slices | share of a processor that slices had |")
        print("|---|---|---|---|---|---|---|---|")
        for _ in range(a.repeat):
            begin, used = time.perf_counter(), time.process_time()
            one = mo.solve(model, "zero-one-bb", **common)
            wall, used = time.perf_counter() - begin, time.process_time() - used
            said = f"{one.status} | {one.bound:.9g} | {one.nodes} | {wall:.2f} | {used:.2f} | | {used / wall:.2f}"
            print(f"| one process | {said} |")
            begin, own = time.perf_counter(), time.process_time()
            many = mo.solve(model, "zero-one-bb", **common, cluster=client)
            wall, own = time.perf_counter() - begin, time.process_time() - own
            d = many.details
            print(
                f"| {a.workers} workers | {many.status} | {many.bound:.9g} | {many.nodes} | {wall:.2f} | "
                f"{d['worker_seconds']:.2f} + {own:.2f} here | {d['slices']} | {d['worker_seconds'] / d['worker_wall']:.2f} |"
            )
            print(
                f"\nspeed-up by wall time {one.solve_seconds / many.solve_seconds:.2f}; workers within slices "
                f"{d['worker_wall'] / (a.workers * many.solve_seconds):.1%} of the time\n"
            )


def killed(a: argparse.Namespace) -> None:
    """A worker is killed in the midst of a search and another one comes: the log of what happened, and the proof."""
    import threading

    from clusters import dask_cluster, kill
    from distributed import Client

    model = stated(a.n, a.p, a.lam)
    best = mo.solve(model, "zero-one-bb", engine="boxes", threads=1)
    common: dict[str, Any] = {"engine": "boxes", "threads": 1, "restarts": 0, "start": {"w": best.values["w"]}}
    one = mo.solve(model, "zero-one-bb", **common)
    print(f"one process: {one.status}, bound {one.bound:.12g}, {one.nodes} nodes", flush=True)
    rule._LONG = 0.2  # seconds of a slice: a search of seconds shall have many
    begin, arrived, take_in = time.perf_counter(), [0], rule.SubtreeEngine._take_in

    def told(text: str) -> None:
        print(f"{time.perf_counter() - begin:7.2f} s  {text}", flush=True)

    with tempfile.TemporaryDirectory() as folder, dask_cluster(Path(folder), 2) as cluster:

        coming = threading.Thread(target=lambda: told(f"worker {cluster.add().pid} joins"))

        def watched(self: Any, number: int, found: Any) -> None:
            take_in(self, number, found)
            arrived[0] += 1
            if arrived[0] % 8 == 0 or arrived[0] in (9, 10):
                who = found.who.rpartition(":")[2]
                told(f"slice {number} back from {who}: {found.counts['nodes']} nodes; {self.open_nodes} open, {self.nodes} done")
            if arrived[0] == 9:
                victim = next(w for w in cluster.workers if w.poll() is None)
                kill(victim)
                told(f"SIGKILL to worker {victim.pid}; slices under way: {sorted(self._flying)}")
                coming.start()

        rule.SubtreeEngine._take_in = watched
        with Client(cluster.address, set_as_default=False) as client:
            found = mo.solve(model, "zero-one-bb", **common, cluster=client)
            told(f"{found.status}, bound {found.bound:.12g}, {found.nodes} nodes, {found.details['slices']} slices")
            coming.join()
            removed = client.run_on_scheduler(_removals)
    print("\n".join(f"scheduler: {line}" for line in removed))
    assert (found.bound, found.nodes) == (one.bound, one.nodes)


def _removals(dask_scheduler: Any) -> list[str]:
    """What the scheduler says about workers that went."""
    return [text for _, text in dask_scheduler.get_logs() if "Remove worker" in text or "Removing worker" in text]


def simulated(a: argparse.Namespace) -> None:
    """Recorded trees, 2 to 1,024 workers."""
    model = stated(a.n, a.p, a.lam)
    best = mo.solve(model, "zero-one-bb", engine="boxes", threads=1)
    tree = recorded(model, best.values["w"])
    print(f"{a.n} points, {a.p} features, λ = {a.lam:g}: {len(tree.children)} nodes, {tree.seconds.sum():.3g} s of one processor")
    for stretch in a.stretch:
        costs = Costs(stretch=stretch)
        print(f"\nnodes take {stretch:g} times as long; {costs}\n")
        print("| workers | one process s | cluster s | speed-up | idle | messages | coordinator busy | least / most busy |")
        print("|---|---|---|---|---|---|---|---|")
        for workers in (2, 16, 64, 1024):
            print(simulate(tree, workers, costs).row(), flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(required=True)
    for name, run in (("measure", measure), ("killed", killed), ("simulate", simulated)):
        command = commands.add_parser(name)
        command.add_argument("--n", type=int, default=200)
        command.add_argument("--p", type=int, default=5)
        command.add_argument("--lam", type=float, default=10.0)
        command.add_argument("--workers", type=int, default=2)
        command.add_argument("--repeat", type=int, default=3)
        command.add_argument("--stretch", type=float, nargs="+", default=[1.0, 100.0, 10_000.0])
        command.set_defaults(run=run)
    a = parser.parse_args()
    a.run(a)


if __name__ == "__main__":
    main()
