"""Teams: results equal to one process, data that travel once, workers that die, come and are slow."""

from __future__ import annotations

import os
import pickle
import sys
import tempfile
import time
from collections import OrderedDict
from pathlib import Path
from typing import Any

import cloudpickle
import joblib
import numpy as np
import pytest
import scipy.sparse as sp
from clusters import PATIENCE, DaskCluster, dask_cluster, kill, ray_cluster
from facts import about, lost_task, missing

from marginopt.errors import ClusterError, InputError, MissingPackageError
from marginopt.solvers.parallel import SerialExecutor, choose_executor, serialisation
from marginopt.solvers.parallel.executor import Placement
from marginopt.solvers.parallel.serialisation import LARGE_ARRAY_BYTES, Packer, TaskArrays, unpack

cloudpickle.register_pickle_by_value(sys.modules[__name__])  # workers do not see the tests' folder
#: Whole numbers: sums are exact wherever an array lies in memory.
X = np.random.default_rng(0).integers(-9, 9, size=(2000, 25)).astype(np.float64)


def total(task: tuple[Any, float], threads: int | None) -> tuple[float, int]:
    """The sum of an array, after a while, and by whom."""
    data, seconds = task
    time.sleep(seconds)
    return float(data.sum()), os.getpid()


def fails(task: int, threads: int | None) -> int:
    if task == 3:
        raise InputError("the third")
    return task


def lingers(task: tuple[int, int, Path], threads: int | None) -> tuple[int, int]:
    """The slow worker is not done before the others have done all that it does not hold itself."""
    number, slow, folder = task
    if os.getpid() == slow:
        _until(folder, 38)
    else:
        (folder / str(number)).touch()
    return number, os.getpid()


def meets(task: tuple[Any, int, Path], threads: int | None) -> int:
    """Wait until the other one has begun as well."""
    _, number, folder = task
    (folder / str(number)).touch()
    return _until(folder, 2)


def _until(folder: Path, many: int) -> int:
    """Wait for so many files; how many there are."""
    end = time.monotonic() + PATIENCE
    while (rows := len(list(folder.iterdir()))) < many and time.monotonic() < end:
        time.sleep(0.01)
    return rows


def dies(task: int, threads: int | None) -> int:
    os._exit(1)


def gives_back(task: TaskArrays, threads: int | None) -> dict[str, Any]:
    return dict(task.arrays)


def flags(task: dict[str, Any], threads: int | None) -> dict[str, tuple[bool, bool, bool]]:
    return {name: (a.flags.c_contiguous, a.flags.f_contiguous, a.flags.writeable) for name, a in task.items()}


def test_a_payload_has_no_large_array_in_it_and_comes_back_whole() -> None:
    rows = sp.csr_array(np.where(X > 1.0, X, 0.0))
    small, task = np.arange(3.0), {"X": X, "again": X.copy(), "sparse": rows, "columns": np.asfortranarray(X)}
    packer = Packer()
    payloads = [packer.pack({**task, "k": k, "small": small}) for k in range(3)]
    assert all(len(payload.body) < LARGE_ARRAY_BYTES for payload in payloads)
    assert len(packer.arrays) == 5  # X once, by columns, and the three arrays of the sparse matrix
    unpacked = unpack(payloads[2], lambda key: pickle.loads(pickle.dumps(packer.arrays[key])))
    assert unpacked["k"] == 2 and unpacked["X"] is unpacked["again"] and (unpacked["X"] == X).all()
    assert (unpacked["sparse"] != rows).nnz == 0 and (unpacked["small"] == small).all()
    assert unpacked["columns"].flags.f_contiguous and not unpacked["X"].flags.f_contiguous


def test_arrays_that_a_task_alone_has_travel_with_it(client: Any) -> None:
    block = {"X": X, "columns": np.asfortranarray(X), "few": np.arange(3, dtype=np.int8), "none": np.zeros((0, 4))}
    packer = Packer()
    payload = packer.pack({"own": TaskArrays(block), "shared": X})
    assert len(packer.arrays) == 1 and len(payload.body) > 2 * X.nbytes
    for one in (payload, *(pickle.loads(pickle.dumps(payload, protocol)) for protocol in (4, 5))):
        _equal(unpack(one, packer.arrays.__getitem__)["own"].arrays, block)
    with choose_executor(cluster=client) as team:
        _equal(team.run_all(gives_back, [TaskArrays(block)])[0], block)


def _equal(values: dict[str, Any], entries: dict[str, Any]) -> None:
    assert list(values) == list(entries)
    for name, array in entries.items():
        assert values[name].dtype == array.dtype and np.array_equal(values[name], array), name


def test_an_array_at_the_place_of_one_that_is_gone_has_its_own_name() -> None:
    packer = Packer()
    names = {packer.name(np.full(LARGE_ARRAY_BYTES, float(k % 5))) for k in range(40)}  # each one's memory is the next one's
    assert len(names) == len(packer.arrays) == 5
    for name, array in packer.arrays.items():
        assert packer.name(array.copy()) == packer.name(array) == name


def test_a_worker_holds_no_more_bytes_than_it_may(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(serialisation, "_arrays", OrderedDict())
    monkeypatch.setattr(serialisation, "_MAX_BYTES", 3 * X.nbytes)
    fetched: list[str] = []

    def get(name: str) -> Any:
        return serialisation.cached_array(name, lambda key: (fetched.append(key), X.copy())[1], writeable=True)

    for name in "abcabd":  # c was not used for longest when d came
        get(name)
    assert fetched == list("abcd") and list(serialisation._arrays) == ["a", "b", "d"]
    monkeypatch.setattr(serialisation, "_MAX_BYTES", 1)
    assert get("e") is get("e") and list(serialisation._arrays) == ["e"]  # what a task has is held however large it is


def test_processes_map_the_data_as_the_sender_has_them(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    seen: set[int] = set()
    fixed = X[:, :3].copy()
    fixed.flags.writeable = False
    task = {"X": X, "fixed": fixed, "columns": np.asfortranarray(X)}
    with choose_executor(2) as team:
        assert team.size == 2
        for _ in range(2):
            assert team.run_all(flags, [task] * 3) == [flags(task, None)] * 3
            written = {path: path.stat().st_mtime_ns for path in tmp_path.rglob("*.npy")}
            assert len(written) == 3 and len(set(written.values()) | seen) <= 3
            seen |= set(written.values())
    assert not list(tmp_path.rglob("*.npy"))


def test_one_process_where_nothing_is_asked_for() -> None:
    assert isinstance(choose_executor(), SerialExecutor) and isinstance(choose_executor(1), SerialExecutor)
    assert SerialExecutor().run_all(fails, [0, 1, 2]) == [0, 1, 2]
    with joblib.parallel_config("threading", n_jobs=2), choose_executor() as team:
        assert sorted(value for value, _ in team.run_all(total, [(X, 0.0)] * 4)) == [X.sum()] * 4


@pytest.mark.parametrize(
    ("words", "name"), [({"jobs": 0}, "jobs"), ({"cluster": 3}, "cluster"), ({"cluster": "localhost"}, "cluster")]
)
def test_what_is_no_cluster_is_refused(words: dict[str, Any], name: str) -> None:
    with pytest.raises(InputError, check=about(name)):
        choose_executor(**words)


def test_a_ray_cluster_that_is_not_there_is_refused() -> None:
    with pytest.raises((InputError, MissingPackageError), check=lambda error: about("cluster")(error) or missing("ray")(error)):
        choose_executor(cluster="ray")


def test_data_travel_once(client: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    sent: list[int] = []
    scatter, submit = client.scatter, client.submit
    monkeypatch.setattr(client, "scatter", lambda data, **more: (sent.append(data.nbytes), scatter(data, **more))[1])

    def submitted(function: Any, payload: Any, *args: Any, **more: Any) -> Any:
        sent.append(len(payload.body))
        return submit(function, payload, *args, **more)

    monkeypatch.setattr(client, "submit", submitted)
    with choose_executor(cluster=client) as team:
        results = [one for _ in range(3) for one in team.run_all(total, [(X.copy(), 0.0)] * 10)]
    assert {value for value, _ in results} == {X.sum()}
    assert X.nbytes < sum(sent) < 1.2 * X.nbytes  # once for all runs and copies: thirty times the data would be 30 X.nbytes
    assert _empty(client)


def test_tasks_do_not_wait_for_the_worker_that_has_their_data(client: Any, tmp_path: Path) -> None:
    client.run_on_scheduler(_stealing, "stop")
    try:
        with choose_executor(cluster=client) as team:
            assert team.run_all(meets, [(X, k, tmp_path) for k in range(2)]) == [2, 2]
    finally:
        client.run_on_scheduler(_stealing, "start")


async def _stealing(word: str, dask_scheduler: Any) -> None:
    """Idle workers take over what waits at busy ones, some time later."""
    await getattr(dask_scheduler.extensions["stealing"], word)()


def test_places_share_out_evenly_and_by_what_is_there() -> None:
    places = Placement()
    assert places.assign(["a"]) is None  # nobody is known
    places.update_workers({"one": 1, "two": 2, "none": 0})
    rows = [places.assign([key]) for key in "abcdef"]
    assert (rows.count("one"), rows.count("two")) == (2, 4)
    for key, worker in zip("abcdef", rows, strict=True):
        for whose in rows:
            places.release(whose)
        assert places.assign([key]) == worker  # where it was, as long as nobody has less to do
        rows = [worker]
    places.update_workers({"two": 2, "three": 1})
    assert places.assign(["a"]) == "three"  # it has nothing to do
    places.release("one")  # which is gone
    places.clear()
    assert sorted(str(places.assign([])) for _ in range(3)) == ["three", "two", "two"]


def _empty(client: Any) -> bool:
    """Return whether the workers let the data go, soon."""
    for _ in range(100):
        if not any(client.run(lambda dask_worker: len(dask_worker.data)).values()):
            return True
        time.sleep(0.05)
    return False


def test_a_worker_dies_and_one_comes_and_nothing_is_lost_or_twice(cluster: DaskCluster, client: Any) -> None:
    seen = []
    with choose_executor(cluster=client) as team:
        for number, (value, worker) in team.run(total, [(X + k, 0.1) for k in range(24)]):
            seen.append((number, value))
            if len(seen) == 4:
                kill(next(w for w in cluster.workers if w.pid == worker))
            if len(seen) == 8:
                newcomer = cluster.add().pid
        assert sorted(seen) == [(k, float((X + k).sum())) for k in range(24)]
        workers: set[int] = set()
        end = time.monotonic() + PATIENCE  # one may end a whole part while the other imports, or because it has the data
        while (newcomer not in workers or len(workers) < 2) and time.monotonic() < end:
            workers |= {worker for _, worker in team.run_all(total, [(X, 0.1)] * 8)}
    assert newcomer in workers and len(workers) == 2


def test_a_slow_worker_holds_nobody_up(cluster: DaskCluster, client: Any, tmp_path: Path) -> None:
    slow = cluster.workers[-1].pid
    with choose_executor(cluster=client) as team:
        results = team.run_all(lingers, [(task, slow, tmp_path) for task in range(40)])
    assert [task for task, _ in results] == list(range(40))
    assert len(list(tmp_path.iterdir())) >= 38  # the slow one held one task and had one to go on with


def test_errors_come_back_as_they_are(client: Any) -> None:
    with choose_executor(cluster=client) as team, pytest.raises(InputError, check=lambda error: error.args == ("the third",)):
        team.run_all(fails, range(6))
    with joblib.parallel_config("dask", client=client), choose_executor() as team:
        assert team.run_all(fails, [0, 1]) == [0, 1]


def test_a_task_that_no_worker_survives(tmp_path: Path) -> None:
    pytest.importorskip("distributed")
    from distributed import Client

    with dask_cluster(tmp_path, workers=1) as lonely, Client(lonely.address, set_as_default=False) as client:
        client.run_on_scheduler(lambda dask_scheduler: setattr(dask_scheduler, "allowed_failures", 0))
        with choose_executor(cluster=client) as team, pytest.raises(ClusterError, check=lost_task(0)):
            team.run_all(dies, [0])
    with pytest.raises(ClusterError, check=lost_task(None)):
        choose_executor(cluster=client).run_all(total, [(X, 0.0)])


def test_ray(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("ray", reason="marginopt[ray] is not installed")
    with ray_cluster(monkeypatch):
        seen = []
        with choose_executor(cluster="ray") as team:
            assert team.size == 2
            for number, (value, worker) in team.run(total, [(X + k, 0.05) for k in range(12)]):
                seen.append((number, value))
                if len(seen) == 3:
                    os.kill(worker, 9)
            assert sorted(seen) == [(k, float((X + k).sum())) for k in range(12)]
            with pytest.raises(InputError, check=lambda error: error.args == ("the third",)):
                team.run_all(fails, range(6))
        from ray.util.joblib import register_ray

        register_ray()
        with joblib.parallel_config("ray"), choose_executor() as team:
            assert team.run_all(fails, [0, 1, 2]) == [0, 1, 2]
