"""Reports, paths, comparisons, selections and cross-validation on a real Dask cluster are those of one process."""

from __future__ import annotations

import os
import re
import shlex
import sys
from collections.abc import Mapping
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

import cloudpickle
import joblib
import numpy as np
import pytest
from clusters import DaskCluster, kill, ray_cluster
from data import clouds

import marginopt as mo
from marginopt.errors import InputError
from marginopt.instances import gaussian_clusters
from marginopt.papers.record import Experiment, Run
from marginopt.papers.task import measure_all
from marginopt.relaxations import BigM, Conic, gap_report
from marginopt.relaxations.report.store import CellStore
from marginopt.selection import select
from marginopt.solvers.parallel import team_of

pytest.importorskip("distributed")


def _report(**more: Any) -> Any:
    data = [gaussian_clusters(n, 2, 0.5, rng=0) for n in (14, 18)]
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
    found = _report(cluster=client, store=store)
    # 4 heuristics, 8 relaxations, 4 exact solves, 2 values of kappa: each written once, here
    assert len(keys) == len(set(keys)) == sum(CellStore(store).counts().values()) == 18
    for part in ("instances", "relaxations", "exacts", "kappas"):
        ours, theirs = ([_figures(c) for c in getattr(report, part)] for report in (found, alone))
        assert ours == theirs, part
    _report(cluster=client, store=store)
    assert len(keys) == 18  # all of them were found


def _figures(cell: Any) -> dict[str, Any]:
    """What a cell says, but for its times."""
    record = cell.record()
    said = {k: v for k, v in record.items() if not k.endswith("seconds") and k not in ("trace", "time_limit")}
    return {k: pytest.approx(v, rel=1e-6, abs=1e-9) if isinstance(v, float) else v for k, v in said.items()}


def test_the_others_are_those_of_one_process(client: Any) -> None:
    _others(client, joblib.parallel_config("dask", client=client))


def test_they_are_so_on_ray(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("ray", reason="marginopt[ray] is not installed")
    from ray.util.joblib import register_ray

    register_ray()
    with ray_cluster(monkeypatch):
        _others("ray", joblib.parallel_config("ray"))
        ours, theirs = _report(cluster="ray"), _report()
    for part in ("instances", "relaxations", "exacts", "kappas"):
        assert [_figures(c) for c in getattr(ours, part)] == [_figures(c) for c in getattr(theirs, part)], part


def _others(cluster: Any, within: AbstractContextManager[Any]) -> None:
    X, y = clouds(0, 60, 3)
    model = mo.HingeSVM(X, y, lam=1.0)
    values = [0.1, 1.0, 10.0]
    Z, two = X[:, 1:], np.where(y > 0, "a", "b")
    three = np.where(Z[:, 0] > 0.7, "c", two)

    def everything(**where: Any) -> list[Any]:
        found: list[Any] = [mo.path(model, "lam", values, solver="clarabel", update=False, **where).objectives]
        table = mo.compare(model, ["clarabel", ("smo-box", {"tol": 1e-8})], threads=1, **where)
        found += [[row.solver for row in table.rows], [r.objective for r in table.results.values()]]
        choice = select(Z, y, "cv", C=[0.5, 2.0], gammas=[0.1, 1.0, 4.0], **where)
        return [*found, choice.details["accuracy"], choice.models_trained, choice.gamma]

    alone, away = everything(), everything(cluster=cluster)
    for here, there in zip(alone, away, strict=True):
        assert here == there if isinstance(here, list) and isinstance(here[0], str) else np.allclose(here, there, rtol=1e-9)
    one = mo.HingeSVCCV([0.1, 1.0, 10.0], cv=3).fit(Z, two), mo.L2SVC().fit(Z, three)
    with within:
        other = mo.HingeSVCCV([0.1, 1.0, 10.0], cv=3).fit(Z, two), mo.L2SVC().fit(Z, three)
    assert (one[0].cv_scores_ == other[0].cv_scores_).all()
    assert np.allclose(one[1].decision_function(Z), other[1].decision_function(Z), rtol=1e-9)


def test_a_path_of_updates_is_no_parallel_work(client: Any) -> None:
    X, y = clouds(0, 20)
    with pytest.raises(InputError, match="give update=False"):
        mo.path(mo.HingeSVM(X, y, lam=1.0), "lam", [1.0, 2.0], cluster=client)


def test_the_words_of_the_slurm_jobs_worker_are_dasks() -> None:
    from dask.utils import parse_bytes, parse_timedelta
    from distributed.cli.dask_worker import main

    page = (Path(__file__).parents[2] / "docs" / "cluster.md").read_text(encoding="utf-8")
    words = re.findall(r"^python -m distributed\.cli\.dask_worker (.+)$", page, flags=re.MULTILINE)
    assert len(words) == 1
    said = main.make_context("worker", shlex.split(words[0])).params
    assert (said["n_workers"], said["nthreads"]) == ("8", 1) and parse_bytes(said["memory_limit"]) > 3e9
    assert parse_timedelta(said["lifetime"]) == 13_800.0  # ends before the job does, and lets its tasks go to others
    assert f'"--lifetime", "{said["lifetime"]}"' in page


def measured(parameters: Mapping[str, Any]) -> dict[str, Any]:
    """A run of a paper's table, by nobody in particular."""
    return {"value": parameters["size"] * 10 + parameters["seed"], "pid": os.getpid()}


def test_the_papers_runs_are_measured_on_the_workers_and_stored_here(cluster: DaskCluster, client: Any, tmp_path: Path) -> None:
    cloudpickle.register_pickle_by_value(sys.modules[__name__])
    runs = [Run.of(Experiment("any", measured), size=size, seed=seed) for size in (1, 2, 3) for seed in (0, 1)]
    with team_of(cluster=cluster.address) as team:
        found, lacking = measure_all(runs, tmp_path / "runs.db", team, progress=False)
    assert not lacking and [found[run]["value"] for run in runs] == [10, 11, 20, 21, 30, 31]
    assert {found[run]["pid"] for run in runs} <= {worker.pid for worker in cluster.workers}
    assert sum(CellStore(tmp_path / "runs.db").counts().values()) == 6
