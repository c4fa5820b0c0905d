"""Calls on a cluster while worker processes are killed and replaced: their results are compared with those of one process.

    python benchmarks/scale/failures.py                              # all calls, on Dask: a scheduler and two worker processes
    python benchmarks/scale/failures.py report path --on ray
    python benchmarks/scale/failures.py papers --names conic --every 20

``papers`` is ``reproduce`` at the quick effort, all of it where no ``--names`` are given. A worker is killed (SIGKILL) after the
second task that came back and then after every ``--every`` tasks, and another one starts for it. Every figure is compared with
that of one process but for seconds; a task that comes back twice, or never, is an error.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from pathlib import Path
from typing import Any

import joblib
import numpy as np

import marginopt as mo
from marginopt.instances import gaussian_clusters
from marginopt.relaxations import BigM, Conic, gap_report
from marginopt.relaxations.report.runner import CellStore
from marginopt.reproduction.reproduce import reproduce
from marginopt.selection import select
from marginopt.solvers.parallel.executor import AsynchronousExecutor

sys.path.insert(0, str(Path(__file__).parents[2] / "tests"))

#: What a call says, by name; seconds are left out.
Figures = dict[str, Any]


def clouds(n: int, p: int) -> tuple[np.ndarray, np.ndarray]:
    """Two overlapping Gaussian classes."""
    rng = np.random.default_rng(0)
    y = np.where(np.arange(n) % 2 == 0, 1.0, -1.0)
    return 0.4 * y[:, None] + rng.standard_normal((n, p)), y


def hinge(n: int, p: int) -> mo.HingeSVM:
    """With an intercept."""
    X, y = clouds(n, p)
    return mo.HingeSVM(np.column_stack([np.ones(n), X]), y, lam=1.0)


# -- the calls ------------------------------------------------------------------------------------------------------


def report(store: Path, where: dict[str, Any], a: argparse.Namespace) -> Figures:
    """`gap_report`: 39 cells."""
    data = [gaussian_clusters(n, 2, 0.5, seed=0) for n in (14, 18, 22)]
    values: dict[str, Any] = {"exact": "zero-one-bb", "lam": [0.5, 2.0, 8.0], "kappa": 0.2, "threads": 1, "progress": False}
    gap_report(data, [BigM("zero"), Conic()], store=store, **values, **where)
    return kept(store)


def papers(store: Path, where: dict[str, Any], a: argparse.Namespace) -> Figures:
    """`reproduce`."""
    reproduce(a.names, effort="quick", store=store, progress=False, **where)
    return kept(store)


def kept(store: Path) -> Figures:
    """The records of a store by kind and key."""
    values: Figures = {}
    for kind in CellStore(store).counts():
        for number, record in enumerate(CellStore(store).records(kind)):
            values |= flat(f"{kind} {number}", record)
    return values


def flat(name: str, value: Any) -> Figures:
    """Numbers and words of a nested record; seconds, minutes and traces (of times) are no figures."""
    if isinstance(value, dict):
        inner = {k: v for k, v in value.items() if not k.endswith(("seconds", "minutes")) and k not in ("trace", "time_limit")}
        return {name: sorted(inner)} | {k: v for key, one in inner.items() for k, v in flat(f"{name}.{key}", one).items()}
    if isinstance(value, list):
        return {name: len(value)} | {k: v for at, one in enumerate(value) for k, v in flat(f"{name}[{at}]", one).items()}
    return {name: value}


def path(store: Path, where: dict[str, Any], a: argparse.Namespace) -> Figures:
    """`path` of twelve values."""
    values = np.geomspace(0.01, 100.0, 12).tolist()
    updated_path = mo.path(hinge(2000, 6), "lam", values, solver="clarabel", update=False, threads=1, **where)
    return flat("result", [[result.objective, result.bound] for result in updated_path.results])


def compare(store: Path, where: dict[str, Any], a: argparse.Namespace) -> Figures:
    """`compare` of six solvers."""
    table = mo.compare(hinge(300, 4), ["clarabel", "scs", "highs", "piqp", "osqp", "linear-newton"], threads=1, **where)
    return flat("solver", [row.solver for row in table.rows]) | flat("objective", [r.objective for r in table.results.values()])


def selection(store: Path, where: dict[str, Any], a: argparse.Namespace) -> Figures:
    """`select` by cross-validation: 16 values of γ."""
    X, y = clouds(400, 5)
    choice = select(X, y, "cv", C=[0.5, 2.0, 8.0], gammas=np.geomspace(0.01, 4.0, 16).tolist(), **where)
    accuracy = np.asarray(choice.details["accuracy"]).tolist()
    return {"gamma": choice.gamma, "C": choice.C, "trained": choice.models_trained} | flat("accuracy", accuracy)


def estimators(store: Path, where: dict[str, Any], a: argparse.Namespace) -> Figures:
    """A CV estimator of ten folds, and the binary problems of four classes; they have no ``cluster`` of their own."""
    X, y = clouds(400, 5)
    four = 2 * (X[:, 0] > 0.0) + (X[:, 1] > 0.0)
    with within(where):
        folds = mo.estimators.HingeSVCCV(np.geomspace(0.01, 10.0, 8).tolist(), cv=10).fit(X, y)
        binary = mo.estimators.L2SVC().fit(X, four)
    return flat("score", folds.cv_scores_.tolist()) | flat("decision", binary.decision_function(X[:50]).tolist())


CALLS: dict[str, Callable[[Path, dict[str, Any], argparse.Namespace], Figures]] = {
    "report": report, "path": path, "compare": compare, "select": selection, "estimators": estimators, "papers": papers,
}  # fmt: skip


def within(where: dict[str, Any]) -> AbstractContextManager[Any]:
    """joblib's words for the same cluster."""
    cluster = where.get("cluster")
    if cluster is None:
        return nullcontext()
    return joblib.parallel_config("ray") if cluster == "ray" else joblib.parallel_config("dask", client=cluster)


# -- killing --------------------------------------------------------------------------------------------------------


class Watch:
    """Counts what comes back to this process, and kills."""

    def __init__(self, kill: Callable[[], str], every: int) -> None:
        self._kill, self._every = kill, every
        self.tasks = self.kills = 0
        self._next = 2
        self._begin = time.perf_counter()

    def __enter__(self) -> Watch:
        run = self._run = AsynchronousExecutor.run

        def watched(team: AsynchronousExecutor, job: Any, tasks: Iterable[Any]) -> Iterator[tuple[int, Any]]:
            seen = set[int]()
            for number, value in run(team, job, tasks):
                assert number not in seen, f"task {number} came back twice"
                seen.add(number)
                self._count()
                yield number, value
            assert seen == set(range(len(seen))), "a task never came back"

        AsynchronousExecutor.run = watched  # type: ignore[method-assign]
        return self

    def __exit__(self, *_: object) -> None:
        AsynchronousExecutor.run = self._run  # type: ignore[method-assign]

    def _count(self) -> None:
        self.tasks += 1
        text = self._kill() if self.tasks >= self._next else ""
        if text:
            self.kills += 1
            self._next = self.tasks + self._every
            print(f"  {time.perf_counter() - self._begin:7.2f} s  {self.tasks} tasks back; {text}", flush=True)


@contextmanager
def on_dask(a: argparse.Namespace) -> Iterator[tuple[Any, Callable[[], str]]]:
    from clusters import dask_cluster, kill
    from distributed import Client

    coming: list[threading.Thread] = []
    with (
        tempfile.TemporaryDirectory() as folder,
        dask_cluster(Path(folder), a.workers) as cluster,
        Client(cluster.address, set_as_default=False) as client,
    ):

        def killed() -> str:
            alive = {f"w{at}": w for at, w in enumerate(cluster.workers) if w.poll() is None}
            names = {where: worker["name"] for where, worker in client.scheduler_info(n_workers=-1)["workers"].items()}
            under_way = {names[where]: len(keys) for where, keys in client.processing().items() if where in names}
            victim = max(alive, key=lambda name: under_way.get(name, 0))
            kill(alive[victim])
            coming.append(threading.Thread(target=cluster.add))
            coming[-1].start()
            return f"SIGKILL to worker {alive[victim].pid}, which had {under_way.get(victim, 0)} tasks; another one starts"

        try:
            yield client, killed
        finally:
            for thread in coming:
                thread.join()


@contextmanager
def on_ray(a: argparse.Namespace) -> Iterator[tuple[Any, Callable[[], str]]]:
    import psutil
    import pytest
    from clusters import ray_cluster
    from ray.util.joblib import register_ray

    register_ray()
    with pytest.MonkeyPatch.context() as patch, ray_cluster(patch):

        def killed() -> str:
            mine = psutil.Process().children(recursive=True)
            busy = [child for child in mine if child.is_running() and "".join(child.cmdline()).startswith("ray::_open")]
            if not busy:
                return ""
            busy[0].kill()
            return f"SIGKILL to worker {busy[0].pid}; Ray starts another one"

        yield "ray", killed


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("calls", nargs="*", choices=[*CALLS, []], help="all where none is named")
    parser.add_argument("--on", choices=("dask", "ray"), default="dask")
    parser.add_argument("--names", nargs="*", default=[], help="papers or tables of reproduce")
    parser.add_argument("--alone", type=Path, help="a store that one process has made of the same papers: it is not run again")
    parser.add_argument("--every", type=int, default=25)
    parser.add_argument("--workers", type=int, default=2)
    a = parser.parse_args()
    wrong = 0
    with (on_dask if a.on == "dask" else on_ray)(a) as (cluster, kill), tempfile.TemporaryDirectory() as folder:
        for name in a.calls or CALLS:
            print(f"{name} on {a.on}", flush=True)
            begin = time.perf_counter()
            with Watch(kill, a.every) as watch:
                away = CALLS[name](Path(folder) / f"{name}-away.db", {"cluster": cluster}, a)
            seconds = time.perf_counter() - begin
            stored = name == "papers" and a.alone is not None
            alone = kept(a.alone) if stored else CALLS[name](Path(folder) / f"{name}.db", {}, a)
            wrong += told(name, alone, away, watch, seconds)
    sys.exit(wrong > 0)


def told(name: str, alone: Figures, away: Figures, watch: Watch, seconds: float) -> int:
    """A line for a call, and one for each figure that differs; how many do."""
    numbers = [k for k in alone.keys() & away.keys() if isinstance(alone[k], float) and isinstance(away[k], float)]
    off = {k: abs(alone[k] - away[k]) / max(abs(alone[k]), 1e-300) if alone[k] != away[k] else 0.0 for k in numbers}
    other = [k for k in alone.keys() | away.keys() if alone.get(k) != away.get(k) and off.get(k, 1.0) > 1e-9]
    same = sum(alone.get(k) == v for k, v in away.items())
    lack, most = len(away.keys() ^ alone.keys()), max(off.values(), default=0.0)
    print(
        f"  {watch.tasks} tasks came back, {watch.kills} workers killed, {seconds:.1f} s; of {len(alone)} figures {same} are the "
        f"same, {lack} lack, greatest relative difference {most:.2g}",
        flush=True,
    )
    for key in sorted(other)[:20]:
        print(f"  DIFFERS {name}: {key}: {alone.get(key)} in one process, {away.get(key)} on the cluster")
    return len(other)


if __name__ == "__main__":
    main()
