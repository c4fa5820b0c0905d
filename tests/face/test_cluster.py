"""Reports, paths, comparisons, selections and cross-validation on a real Dask cluster are those of one process."""

from __future__ import annotations

import ast
import os
import re
import signal
import sys
from collections.abc import Iterable, Iterator, Mapping
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import Any

import cloudpickle
import joblib
import numpy as np
import pytest
from clusters import DaskCluster, kill, ray_cluster
from data import clouds
from effort import FULL
from facts import about

import marginopt as mo
from marginopt.errors import InputError
from marginopt.instances import gaussian_clusters
from marginopt.relaxations import BigM, Conic, gap_report
from marginopt.relaxations.report.runner import CellStore
from marginopt.reproduction.record import Experiment, Run
from marginopt.reproduction.task import measure_runs
from marginopt.selection import select
from marginopt.solvers.parallel import choose_executor
from marginopt.solvers.parallel.executor import AsynchronousExecutor

pytest.importorskip("distributed")


def _report(**more: Any) -> Any:
    data = [gaussian_clusters(n, 2, 0.5, seed=0) for n in (14, 18)]
    reductions = [BigM("zero"), Conic()]
    return gap_report(data, reductions, exact="zero-one-bb", lam=[0.5, 2.0], kappa=0.2, threads=1, progress=False, **more)


def test_a_report_with_a_worker_killed_and_one_added_is_that_of_one_process(
    cluster: DaskCluster, client: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    put, keys = CellStore.put, list[str]()

    def counted(self: CellStore, key: str, kind: str, record: Any) -> Any:
        keys.append(key)
        if len(keys) == 3:
            kill(next(w for w in cluster.workers if w.poll() is None))
            cluster.add()
        return put(self, key, kind, record)

    alone = _report()
    monkeypatch.setattr(CellStore, "put", counted)
    store = tmp_path / "cells.db"
    gaps = _report(cluster=client, store=store)
    # 4 heuristics, 8 relaxations, 4 exact solves, 2 values of kappa: each written once, here
    assert len(keys) == len(set(keys)) == sum(CellStore(store).counts().values()) == 18
    for part in ("instances", "relaxations", "exacts", "kappas"):
        ours, theirs = ([_figures(c) for c in getattr(report, part)] for report in (gaps, alone))
        assert ours == theirs, part
    _report(cluster=client, store=store)
    assert len(keys) == 18  # all of them were found


def _figures(cell: Any) -> dict[str, Any]:
    """Return what a cell says, but for its times."""
    record = cell.record()
    values = {k: v for k, v in record.items() if not k.endswith("seconds") and k not in ("trace", "time_limit")}
    return {k: pytest.approx(v, rel=1e-6, abs=1e-9) if isinstance(v, float) else v for k, v in values.items()}


# -- the calls that have no store -----------------------------------------------------------------------------------

X, y = clouds(0, 60, 3)
Z, TWO = X[:, 1:], np.where(y > 0, "a", "b")


def _path(**where: Any) -> list[Any]:
    return mo.path(mo.HingeSVM(X, y, lam=1.0), "lam", [0.1, 1.0, 10.0], solver="clarabel", update=False, **where).objectives


def _compare(**where: Any) -> list[Any]:
    table = mo.compare(mo.HingeSVM(X, y, lam=1.0), ["clarabel", "scs", ("smo-box", {"tol": 1e-8})], threads=1, **where)
    return [[row.solver for row in table.rows], [r.objective for r in table.results.values()]]


def _select(**where: Any) -> list[Any]:
    choice = select(Z, y, "cv", C=[0.5, 2.0], gammas=[0.1, 1.0, 4.0], **where)
    return [choice.details["accuracy"], choice.models_trained, choice.gamma]


def _folds(**where: Any) -> list[Any]:
    with _within(where):
        return [mo.estimators.HingeSVCCV([0.1, 1.0, 10.0], cv=3).fit(Z, TWO).cv_scores_]


def _classes(**where: Any) -> list[Any]:
    with _within(where):
        return [mo.estimators.L2SVC().fit(Z, np.where(Z[:, 0] > 0.7, "c", TWO)).decision_function(Z)]


def _within(where: Mapping[str, Any]) -> AbstractContextManager[Any]:
    """Estimators have no ``cluster`` of their own: joblib's words for it."""
    cluster = where.get("cluster")
    if cluster is None:
        return nullcontext()
    return joblib.parallel_config("ray") if cluster == "ray" else joblib.parallel_config("dask", client=cluster)


#: Calls in which a worker is killed by default: one on a team of ours, one through joblib.
KILLED = ("path", "folds")
OTHERS = {"path": _path, "compare": _compare, "select": _select, "folds": _folds, "classes": _classes}


class Deadly:
    """A job whose first task takes its worker with it."""

    def __init__(self, job: Any, died: Path) -> None:
        self._job, self._died = job, died

    def __call__(self, task: Any, threads: int | None) -> Any:
        try:
            self._died.open("x").close()
            os.kill(os.getpid(), signal.SIGKILL)
        except FileExistsError:  # it has happened
            pass
        return self._job(task, threads)


def _killing(monkeypatch: pytest.MonkeyPatch, died: Path) -> list[list[int]]:
    """A worker is killed in the first task of a call; which results come back, for each run on a team."""
    cloudpickle.register_pickle_by_value(sys.modules[__name__])  # workers do not see the tests' folder
    run, back = AsynchronousExecutor.run, list[list[int]]()

    def deadly(team: AsynchronousExecutor, job: Any, tasks: Iterable[Any]) -> Iterator[tuple[int, Any]]:
        back.append([])
        for number, value in run(team, Deadly(job, died), tasks):
            back[-1].append(number)
            yield number, value

    monkeypatch.setattr(AsynchronousExecutor, "run", deadly)
    return back


def _the_same(call: str, **where: Any) -> None:
    alone, away = OTHERS[call](), OTHERS[call](**where)
    for here, there in zip(alone, away, strict=True):
        assert here == there if isinstance(here, list) and isinstance(here[0], str) else np.allclose(here, there, rtol=1e-9)


def _each_once(back: list[list[int]]) -> None:
    """Nothing lost, nothing twice."""
    assert len(back[0]) >= 2 and all(sorted(numbers) == list(range(len(numbers))) for numbers in back)


@pytest.mark.parametrize("call", OTHERS if FULL else KILLED)
def test_a_worker_is_killed_in_each_call_and_the_results_are_those_of_one_process(
    call: str, cluster: DaskCluster, client: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    alive = [worker for worker in cluster.workers if worker.poll() is None]
    back = _killing(monkeypatch, tmp_path / "died")
    _the_same(call, cluster=client)
    _each_once(back)
    assert sum(worker.poll() == -signal.SIGKILL for worker in alive) == 1


@pytest.mark.parametrize("call", [call for call in OTHERS if call not in KILLED])
def test_results_of_the_other_calls_are_those_of_one_process(call: str, client: Any) -> None:
    _the_same(call, cluster=client)


def test_they_are_so_on_ray(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("ray", reason="marginopt[ray] is not installed")
    from ray.util.joblib import register_ray

    register_ray()
    with ray_cluster(monkeypatch):
        ours, theirs = _report(cluster="ray"), _report()
        for call in OTHERS:
            with monkeypatch.context() as patch:
                back = _killing(patch, tmp_path / call)
                _the_same(call, cluster="ray")
            assert (tmp_path / call).exists()
            _each_once(back)
    for part in ("instances", "relaxations", "exacts", "kappas"):
        assert [_figures(c) for c in getattr(ours, part)] == [_figures(c) for c in getattr(theirs, part)], part


def test_a_path_of_updates_is_no_parallel_work(client: Any) -> None:
    X, y = clouds(0, 20)
    with pytest.raises(InputError, check=about("update")):
        mo.path(mo.HingeSVM(X, y, lam=1.0), "lam", [1.0, 2.0], cluster=client)


def test_the_options_of_the_workers_in_slurm_jobs_are_dasks() -> None:
    from dask.utils import parse_timedelta
    from distributed.cli.dask_worker import main

    root = Path(__file__).parents[2]
    jobs = (root / "examples" / "cluster" / "slurm_jobs.py").read_text(encoding="utf-8")
    example = (root / "examples" / "cluster" / "submitit_workers.py").read_text(encoding="utf-8")
    lists = re.findall(r"^        command \+?= (\[.+\])$", example, flags=re.MULTILINE)
    text = "+".join(lists).replace("here.scheduler_address", "'tcp://10.0.0.1:34393'").replace("str(workers)", "'8'")
    program, command, *arguments = [word for part in text.split("]+") for word in ast.literal_eval(part.rstrip("]") + "]")]
    params = main.make_context("worker", arguments).params
    assert (program, command) == ("dask", "worker")
    assert (params["n_workers"], params["nthreads"]) == ("8", 1) and not params["dashboard"]
    assert parse_timedelta(params["lifetime"]) == 13_800.0  # ends before the job does, and lets its tasks go to others
    assert f'worker_extra_args=["--lifetime", "{params["lifetime"]}"]' in jobs


def measured(parameters: Mapping[str, Any]) -> dict[str, Any]:
    """A run of a paper's table, by nobody in particular."""
    return {"value": parameters["size"] * 10 + parameters["seed"], "pid": os.getpid()}


def test_the_papers_runs_are_measured_on_the_workers_and_stored_here(cluster: DaskCluster, client: Any, tmp_path: Path) -> None:
    cloudpickle.register_pickle_by_value(sys.modules[__name__])
    runs = [Run.of(Experiment("any", measured), size=size, seed=seed) for size in (1, 2, 3) for seed in (0, 1)]
    with choose_executor(cluster=cluster.address) as team:
        records, lacking = measure_runs(runs, tmp_path / "runs.db", team, progress=False)
    assert not lacking and [records[run]["value"] for run in runs] == [10, 11, 20, 21, 30, 31]
    assert {records[run]["pid"] for run in runs} <= {worker.pid for worker in cluster.workers}
    assert sum(CellStore(tmp_path / "runs.db").counts().values()) == 6
