"""The exact search on a cluster: measured with two worker processes here, simulated for more on recorded trees.

``python benchmarks/scale/search.py measure`` starts a Dask scheduler and worker processes on this machine and solves one problem
in one process and on the cluster, the optimum known, so that both search the same tree. On a machine that others use wall time
says little: the processor time of all processes (workers, scheduler, coordinator) against that of one says what the division
costs, and the log of subproblems where the workers waited, and which share of their subproblems they had a processor.

``... killed`` shows what happens where a worker is killed.

``... continued`` stops a search on the cluster again and again by a limit of nodes, kills a worker in every leg, goes on from the
checkpoint, and has the one proof log of all legs checked to its end, on the cluster and by one process.

``... simulate`` records the tree of the same problem (nodes, children, work of each) and drives the coordinator's own rule for
handing out subproblems (`solvers.zero_one.distributed_boxes`) by a simulated clock for 2 to 1,024 workers.
"""

from __future__ import annotations

import argparse
import gzip
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np
from trees import Costs, recorded, simulate

import marginopt as mo
from marginopt.models.arrays import peak_memory
from marginopt.solvers.exact import dispatcher as batch_size
from marginopt.solvers.zero_one import distributed_boxes as rule

sys.path.insert(0, str(Path(__file__).parents[2] / "tests"))


def stated(n: int, p: int, lam: float, seed: int = 0) -> mo.ZeroOneSVM:
    """Two overlapping Gaussian classes."""
    rng = np.random.default_rng(seed)
    y = np.where(np.arange(n) % 2 == 0, 1.0, -1.0)
    X = np.column_stack([np.ones(n), 0.4 * y[:, None] + 1.2 * rng.standard_normal((n, p))])
    return mo.ZeroOneSVM(X, y, lam, intercept="free")


# -- the commands ---------------------------------------------------------------------------------------------------


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
        Client(cluster.address, set_as_default=False, direct_to_workers=True) as client,
    ):
        mo.solve(stated(150, 5, 10.0), "zero-one-bb", **common | {"start": None}, cluster=client)  # loads the workers
        print("| run | status | bound | nodes | wall s | processor s | MB | subproblems |\n|---|---|---|---|---|---|---|---|")
        for _ in range(a.repeat):
            begin, used = time.perf_counter(), time.process_time()
            one = mo.solve(model, "zero-one-bb", **common)
            wall, alone, held = time.perf_counter() - begin, time.process_time() - used, peak_memory() / 2**20
            print(f"| one process | {one.status} | {one.bound:.9g} | {one.nodes} | {wall:.2f} | {alone:.2f} | {held:.0f} | |")
            log, before, cpu = Log(), processors(client), time.process_time()
            with log:
                many = mo.solve(model, "zero-one-bb", **common, cluster=client)
            cpu = time.process_time() - cpu
            spent = {who: now - before[who] for who, now in processors(client).items()}
            largest = max(client.run(peak_memory).values()) / 2**20
            workers, scheduler = sum(v for who, v in spent.items() if who), spent[""]
            print(
                f"| {a.workers} workers | {many.status} | {many.bound:.9g} | {many.nodes} | {many.solve_seconds:.2f} | "
                f"{workers:.2f} workers ({many.details['worker_seconds']:.2f} in subproblems) + {cpu:.2f} here + "
                f"{scheduler:.2f} scheduler | {largest:.0f} a worker | {many.details['subproblems']} |"
            )
            print(f"\nspeed-up by wall time {one.solve_seconds / many.solve_seconds:.2f}")
            total = workers + cpu + scheduler
            print(f"processor time, one process / all: {alone / total:.3f}; without idle {a.workers * alone / total:.2f}")
            print(log.idle(a.workers) + "\n", flush=True)


def processors(client: Any) -> dict[str, float]:
    """Processor seconds so far of every worker, and of the scheduler as ""."""
    return {**client.run(time.process_time), "": client.run_on_scheduler(time.process_time)}


class Log:
    """The time of every subproblem, as the coordinator records it."""

    def __enter__(self) -> Log:
        self.rows: list[tuple[str, float, float, float]] = []  # worker, end, wall and processor seconds
        self.begin, self._take_in = time.perf_counter(), rule.DistributedBoxEngine.add_result
        take_in, rows = self._take_in, self.rows

        def noted(engine: Any, number: int, result: Any) -> None:
            rows.append((result.worker, time.perf_counter(), result.seconds, result.processor_seconds))
            take_in(engine, number, result)

        rule.DistributedBoxEngine.add_result = noted  # type: ignore[method-assign]
        return self

    def __exit__(self, *_: object) -> None:
        self.end = time.perf_counter()
        rule.DistributedBoxEngine.add_result = self._take_in  # type: ignore[method-assign]

    def idle(self, workers: int) -> str:
        """Where the workers' time went: before their first subproblem, between subproblems, after their last."""
        if not self.rows:
            return "no subproblem was handed out: the coordinator ended the search alone"
        whole = self.end - self.begin
        lines = ["| worker | subproblems | in subproblems | had a processor | before the first | between | after the last |"]
        lines.append("|---|---|---|---|---|---|---|")
        for who in sorted({row[0] for row in self.rows}):
            mine = [row for row in self.rows if row[0] == who]
            first, last, wall = mine[0][1] - mine[0][2] - self.begin, self.end - mine[-1][1], sum(row[2] for row in mine)
            shares = " | ".join(f"{x / whole:.1%}" for x in (first, whole - wall - first - last, last))
            busy = sum(row[3] for row in mine) / wall
            lines.append(f"| {who.rpartition(':')[2]} | {len(mine)} | {wall / whole:.1%} | {busy:.1%} | {shares} |")
        took = np.array([row[2] for row in self.rows])
        return "\n".join(lines) + f"\nseconds of a subproblem: median {np.median(took):.3f}, most {took.max():.3f}"


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
    batch_size.TARGET_SECONDS = 0.2  # seconds of a subproblem: a search of seconds shall have many
    begin, arrived, take_in = time.perf_counter(), [0], rule.DistributedBoxEngine.add_result

    def told(text: str) -> None:
        print(f"{time.perf_counter() - begin:7.2f} s  {text}", flush=True)

    with tempfile.TemporaryDirectory() as folder, dask_cluster(Path(folder), 2) as cluster:
        coming = threading.Thread(target=lambda: told(f"worker {cluster.add().pid} joins"))

        def watched(self: Any, number: int, result: Any) -> None:
            take_in(self, number, result)
            arrived[0] += 1
            if arrived[0] % 8 == 0 or arrived[0] in (9, 10):
                who = result.worker.rpartition(":")[2]
                told(
                    f"subproblem {number} back from {who}: {result.counts['nodes']} nodes; "
                    f"{self.open_count} open, {self.nodes} done"
                )
            if arrived[0] == 9:
                victim = next(w for w in cluster.workers if w.poll() is None)
                kill(victim)
                told(f"SIGKILL to worker {victim.pid}; subproblems under way: {sorted(self._dispatcher.in_progress)}")
                coming.start()

        rule.DistributedBoxEngine.add_result = watched
        with Client(cluster.address, set_as_default=False) as client:
            result = mo.solve(model, "zero-one-bb", **common, cluster=client)
            told(f"{result.status}, bound {result.bound:.12g}, {result.nodes} nodes, {result.details['subproblems']} subproblems")
            coming.join()
            removed = client.run_on_scheduler(_removals)
    print("\n".join(f"scheduler: {line}" for line in removed))
    assert (result.bound, result.nodes) == (one.bound, one.nodes)


def continued(a: argparse.Namespace) -> None:
    """A search in four legs, a worker killed in each, with one proof, which is checked to its end."""
    from clusters import dask_cluster, kill
    from distributed import Client

    model = stated(a.n, a.p, a.lam)
    best = mo.solve(model, "zero-one-bb", engine="boxes", threads=1)
    common: dict[str, Any] = {"engine": "boxes", "threads": 1, "restarts": 0, "start": {"w": best.values["w"]}}
    one = mo.solve(model, "zero-one-bb", **common)
    print(f"one process: {one.status}, bound {one.bound:.12g}, {one.nodes} nodes", flush=True)
    # a search of seconds shall have many subproblems
    batch_size.TARGET_SECONDS, batch_size.LEAST_SECONDS, batch_size.FIRST_BATCH_NODES = 0.2, 0.05, 32
    take_in, arrived = rule.DistributedBoxEngine.add_result, [0]
    with tempfile.TemporaryDirectory() as folder, dask_cluster(Path(folder), 2) as cluster:

        def watched(self: Any, number: int, result: Any) -> None:
            take_in(self, number, result)
            arrived[0] += 1
            if arrived[0] == 4:
                victim = next(w for w in cluster.workers if w.poll() is None)
                kill(victim)
                print(
                    f"  SIGKILL to worker {victim.pid}; subproblems under way: {sorted(self._dispatcher.in_progress)}", flush=True
                )

        rule.DistributedBoxEngine.add_result = watched
        remaining, log = Path(folder) / "search.npz", Path(folder) / "proof.jsonl.gz"
        with Client(cluster.address, set_as_default=False) as client:
            leg, result = 0, None
            while result is None or result.status is mo.Status.NODE_LIMIT:
                leg, arrived[0] = leg + 1, 0
                where = {"cluster": client, "checkpoint": remaining, "proof": str(log)}
                result = mo.solve(model, "zero-one-bb", **common, **where, node_limit=one.nodes // 4)
                text = f"{result.status}, bound {result.bound:.12g}, {result.nodes} nodes so far"
                print(f"leg {leg}: {text}, {arrived[0]} subproblems", flush=True)
                cluster.add()
            print(f"the log has {log.stat().st_size / 1e6:.1f} MB")
            reports = []
            for who, where in (("two workers", {"cluster": client}), ("one process", {})):
                begin = time.perf_counter()
                reports.append(mo.check_proof(log, model, **where))
                print(f"checked by {who} in {time.perf_counter() - begin:.1f} s: {reports[-1]}", flush=True)
            with gzip.open(log, "rt") as file:
                assert sum('"id"' in line for line in file) == one.nodes
    assert reports[0].valid and reports[0] == reports[1] and (result.bound, result.nodes) == (one.bound, one.nodes)


def _removals(dask_scheduler: Any) -> list[str]:
    """Return what the scheduler says about workers that went."""
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
    for name, run in (("measure", measure), ("killed", killed), ("continued", continued), ("simulate", simulated)):
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
