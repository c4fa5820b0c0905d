"""The box search in pieces: stopped and continued from a file, and on a cluster whose workers die and come.

The laws count nodes. With the optimum given at the start the cut never moves, so that the tree has the same nodes in any order:
a lost node, or one that is searched twice, shows.
"""

from __future__ import annotations

import gzip
import hashlib
import json
import signal
import subprocess
import sys
import threading
import time
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from clusters import DaskCluster, dask_cluster, kill, ray_cluster
from data import clouds
from effort import at_full_effort
from facts import about, at, lost_task

import marginopt as mo
from marginopt.errors import ClusterError, DataError, InputError
from marginopt.models.views import ZeroOneProblem
from marginopt.solvers.exact import checkpoint as files, dispatcher as batch_size
from marginopt.solvers.parallel.executor import AsynchronousExecutor, Job, TaskResult
from marginopt.solvers.proofs import check_proof
from marginopt.solvers.records import Options
from marginopt.solvers.zero_one import ZeroOneBB, algorithm, distributed_boxes as subtrees, engine as stretches
from marginopt.solvers.zero_one.box_engine import BoxEngine, BoxSearchSnapshot
from marginopt.solvers.zero_one.loops.box_records import enlarge_pool
from marginopt.solvers.zero_one.open_nodes import OpenNodes


def model(n: int, p: int, lam: float = 10.0, sigma: float = 1.2, seed: int = 0) -> mo.ZeroOneSVM:
    X, y = clouds(seed, n, p, 0.4, order="turns", spread=sigma)
    return mo.ZeroOneSVM(X, y, lam, intercept="free")


def options(result: mo.Result) -> dict[str, Any]:
    """The search alone, on one thread, with the optimum known."""
    return {"engine": "boxes", "threads": 1, "restarts": 0, "start": {"w": result.values["w"]}}


@pytest.fixture(scope="module")
def small() -> tuple[mo.ZeroOneSVM, dict[str, Any], mo.Result]:
    stated = model(60, 3)
    alone = options(mo.solve(stated, "zero-one-bb", engine="boxes", threads=1))
    return stated, alone, mo.solve(stated, "zero-one-bb", **alone)


@pytest.fixture(scope="module")
def large() -> tuple[mo.ZeroOneSVM, dict[str, Any], mo.Result]:
    stated = model(110, 5)
    alone = options(mo.solve(stated, "zero-one-bb", engine="boxes", threads=1))
    return stated, alone, mo.solve(stated, "zero-one-bb", **alone)


@pytest.fixture(scope="module")
def middle() -> tuple[mo.ZeroOneSVM, dict[str, Any], mo.Result]:
    stated = model(100, 4)
    alone = options(mo.solve(stated, "zero-one-bb", engine="boxes", threads=1))
    return stated, alone, mo.solve(stated, "zero-one-bb", **alone)


@pytest.fixture
def short(monkeypatch: pytest.MonkeyPatch) -> None:
    """Stretches and slices of a few nodes, so that small trees go in many pieces."""
    monkeypatch.setattr(stretches, "SLICE_EFFORT", 2e5)
    monkeypatch.setattr(subtrees, "DISPATCH_NODES", 40)
    monkeypatch.setattr(batch_size, "TARGET_SECONDS", 0.02)
    monkeypatch.setattr(batch_size, "LEAST_SECONDS", 0.005)


def _same(result: mo.Result, alone: mo.Result) -> None:
    assert result.status is alone.status is mo.Status.OPTIMAL
    assert (result.objective, result.bound, result.nodes) == (alone.objective, alone.bound, alone.nodes)


class Here(AsynchronousExecutor):
    """Two workers that are function calls; they may be deaf to what is no slice."""

    slots = 2

    def __init__(self, ready: bool) -> None:
        super().__init__()
        self._ready, self._done = ready, list[TaskResult]()
        self.numbers: list[int] = []

    def submit(self, number: int, job: Job, task: Any) -> None:
        self.numbers.append(number)
        if number > 0 or self._ready:
            self._done.append(TaskResult(number, job(task, 1)))

    def collect(self, seconds: float) -> list[TaskResult]:
        done, self._done = self._done, []
        return done

    def cancel(self) -> None:
        self._done.clear()


@pytest.mark.parametrize("ready", [True, False])
def test_nodes_go_out_when_a_worker_is_ready_and_an_easy_problem_waits_for_none(
    large: Any, monkeypatch: pytest.MonkeyPatch, ready: bool
) -> None:
    stated, alone, whole = large
    team, ships, ship = Here(ready), list[int](), subtrees.DistributedBoxEngine._distribute
    monkeypatch.setattr(algorithm, "cluster_executor", lambda cluster: team)
    monkeypatch.setattr(stretches, "SLICE_EFFORT", 2e5)
    monkeypatch.setattr(subtrees, "DISPATCH_NODES", whole.nodes + 1)
    monkeypatch.setattr(subtrees, "DISPATCH_EFFORT", np.inf)
    monkeypatch.setattr(
        subtrees.DistributedBoxEngine, "_distribute", lambda engine: (ships.append(engine.nodes), ship(engine))[1]
    )
    result = mo.solve(stated, "zero-one-bb", **alone, cluster="here")
    _same(result, whole)
    assert team.numbers[:2] == [-1, -2] and team.numbers[2:] == list(range(1, int(result.details["subproblems"]) + 1))
    assert (result.details["subproblems"] > 0) == ready and (ships[0] < 200 if ready else not ships)


# -- open nodes -----------------------------------------------------------------------------------------------------


def test_open_nodes_go_out_and_in_and_the_search_goes_on_as_it_would_have(small: Any) -> None:
    stated, _, alone = small
    view = stated.view(ZeroOneProblem)
    start = Options(threads=1, start={"w": alone.values["w"]})
    shared = ZeroOneBB(engine="boxes", restarts=0).init(view, start, np.random.default_rng(0)).shared
    first = BoxEngine(shared)
    first.slice_end = alone.nodes // 3
    first.work(60.0)
    nodes = first.open_nodes
    assert len(nodes) > 5 and (np.diff(nodes.key) >= 0).all()
    again = OpenNodes.from_pool(nodes.to_pool(len(shared.reduced.rows), 0, shared.upper), np.inf)
    for name, array in nodes.arrays().items():
        if name not in ("side",):
            np.testing.assert_array_equal(array, again.arrays()[name], err_msg=name)
    middle = len(nodes) // 2  # nodes with equal bounds stay in their order
    halves = [nodes.select(slice(0, middle)), nodes.select(slice(middle, None))]
    joined = OpenNodes.concatenate(halves)
    for name, array in nodes.arrays().items():
        np.testing.assert_array_equal(array, joined.arrays()[name], err_msg=name)
    total = first.nodes
    for half in halves:
        rest = BoxEngine(shared, snapshot=BoxSearchSnapshot(first.search_data, half))
        rest.slice_end = 10**9
        while rest.open_count and len(rest.open_nodes):
            rest.work(1.0)
        assert rest.unresolved == np.inf
        total += rest.nodes
    assert total == alone.nodes


def test_nodes_that_are_drawn_are_views_until_most_of_what_they_keep_is_gone(small: Any) -> None:
    stated, _, alone = small
    start = Options(threads=1, start={"w": alone.values["w"]})
    shared = ZeroOneBB(engine="boxes", restarts=0).init(stated.view(ZeroOneProblem), start, np.random.default_rng(0)).shared
    first = BoxEngine(shared)
    first.slice_end = alone.nodes // 3
    first.work(60.0)
    engine = subtrees.DistributedBoxEngine(shared, first, Here(True), None)
    engine._distribute()
    whole = first.open_nodes
    drawn = engine.take_nodes(len(whole) // 4)
    rest = engine._parts[0][2]
    assert drawn.lower.base is rest.lower.base is not None and engine._bytes() == whole.nbytes
    more = engine.take_nodes(len(whole) // 2)
    left = engine._parts[0][2]
    assert more.lower.base is drawn.lower.base and left.lower.base is None and engine._bytes() == left.nbytes < whole.nbytes / 2
    for name, array in whole.arrays().items():
        np.testing.assert_array_equal(array, np.concatenate([n.arrays()[name] for n in (drawn, more, left)]), err_msg=name)
    assert len(drawn.select(slice(0, 0))) == 0 and len(engine.take_nodes(10**6)) == len(left) and not engine._parts


@pytest.mark.parametrize("times", [2, 4])
def test_a_pool_that_grows_keeps_its_open_nodes_and_all_that_is_new_is_free(small: Any, times: int) -> None:
    stated, _, alone = small
    start = Options(threads=1, start={"w": alone.values["w"]})
    shared = ZeroOneBB(engine="boxes", restarts=0).init(stated.view(ZeroOneProblem), start, np.random.default_rng(0)).shared
    engine = BoxEngine(shared)
    engine.slice_end = alone.nodes // 3
    engine.work(60.0)
    nodes = engine.open_nodes
    pool = nodes.to_pool(len(shared.reduced.rows), 0, shared.upper)
    records, pages = len(pool.base), len(pool.link)
    pool.scalars.records = pool.scalars.pages = 0  # no room is left
    larger = enlarge_pool(pool, times)
    assert sorted(larger.free_records[: larger.scalars.records]) == list(range(records, times * records))
    assert sorted(larger.free_pages[: larger.scalars.pages]) == list(range(pages, times * pages))
    for name, array in OpenNodes.from_pool(pool, np.inf).arrays().items():
        np.testing.assert_array_equal(array, OpenNodes.from_pool(larger, np.inf).arrays()[name], err_msg=name)


# -- a file ---------------------------------------------------------------------------------------------------------


def test_a_search_is_stopped_and_continued_without_losing_a_node(small: Any, short: None, tmp_path: Path) -> None:
    stated, alone, whole = small
    path, limit, stops = tmp_path / "search.npz", 0, 0
    while True:
        limit += whole.nodes // 4
        # a limit of nodes is one of this run
        result = mo.solve(stated, "zero-one-bb", **alone, checkpoint=path, node_limit=whole.nodes // 4)
        if result.status is mo.Status.OPTIMAL:
            break
        stops += 1
        assert path.exists() and stops < 9 and result.bound <= whole.objective
        assert result.nodes <= limit
    assert stops >= 3 and not path.exists()
    _same(result, whole)


def test_a_file_of_something_else_is_refused(small: Any, short: None, tmp_path: Path) -> None:
    stated, alone, whole = small
    path = tmp_path / "search.npz"
    mo.solve(stated, "zero-one-bb", **alone, checkpoint=path, node_limit=whole.nodes // 4)
    with pytest.raises(DataError, check=at(path)):
        mo.solve(model(60, 3, seed=1), "zero-one-bb", checkpoint=path)
    with pytest.raises(InputError, check=about("checkpoint")):
        mo.solve(stated, "zero-one-bb", tol=1e-2, checkpoint=path)
    content = path.read_bytes()
    for damaged in (content[: len(content) // 2], content[:200] + bytes(64) + content[264:], b"", b"nothing"):
        path.write_bytes(damaged)
        with pytest.raises(DataError):
            mo.solve(stated, "zero-one-bb", **alone, checkpoint=path)
    path.write_bytes(content)
    _same(mo.solve(stated, "zero-one-bb", **alone, checkpoint=path), whole)


@pytest.mark.parametrize(
    ("words", "name"),
    [
        ({"engine": "conflicts", "checkpoint": "x.npz"}, "checkpoint"),
        ({"checkpoint": 3}, "checkpoint"),
        ({"cluster": 3}, "cluster"),
    ],
)
def test_what_does_not_go_together(words: dict[str, Any], name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(InputError, check=about(name)):
        mo.solve(model(20, 2), "zero-one-bb", **words)


def test_a_budget_has_neither(tmp_path: Path) -> None:
    stated = model(20, 2)
    budget = mo.ZeroOneSVM(stated.X, stated.y, kappa=0.2, intercept="free")
    with pytest.raises(InputError, check=about("cluster")):
        mo.solve(budget, "zero-one-bb", checkpoint=tmp_path / "x.npz")


SCRIPT = """
import sys
sys.path.insert(0, sys.argv[1])
import numpy as np
import marginopt as mo
from marginopt.solvers.zero_one import engine
from marginopt.solvers.exact import checkpoint
data = np.load(sys.argv[2])
engine.SLICE_EFFORT, checkpoint.SECONDS_BETWEEN_SAVES = 2e5, 0.0
stated = mo.ZeroOneSVM(data["X"], data["y"], 10.0, intercept="free")
mo.solve(stated, "zero-one-bb", engine="boxes", threads=1, restarts=0, start={"w": data["w"]}, checkpoint=sys.argv[3])
"""


def test_a_search_that_is_killed_goes_on_from_its_file(large: Any, tmp_path: Path) -> None:
    stated, alone, whole = large
    np.savez(tmp_path / "data.npz", X=stated.X, y=stated.y, w=alone["start"]["w"])
    path = tmp_path / "search.npz"
    words = [sys.executable, "-c", SCRIPT, str(Path(__file__).parents[2]), str(tmp_path / "data.npz"), str(path)]
    process = subprocess.Popen(words, start_new_session=True)
    while process.poll() is None and not path.exists():
        time.sleep(0.01)
    process.send_signal(signal.SIGKILL)
    process.wait(60)
    if not path.exists():
        pytest.skip("it was over before the kill")
    _same(mo.solve(stated, "zero-one-bb", **alone, checkpoint=path), whole)
    assert not path.exists()
    assert files.SECONDS_BETWEEN_SAVES > 1.0


def _nodes_of(path: Path) -> int:
    with gzip.open(path, "rt") if path.suffix == ".gz" else path.open() as file:
        return sum('"id"' in line for line in file)


@pytest.mark.parametrize("name", ["proof.jsonl.gz", "proof.jsonl"])
def test_a_search_that_is_stopped_and_continued_writes_one_proof(small: Any, short: None, tmp_path: Path, name: str) -> None:
    stated, alone, whole = small
    path, proof = tmp_path / "search.npz", tmp_path / name
    words = {**alone, "checkpoint": path, "proof": str(proof)}
    bounds = []
    for _ in range(9):
        result = mo.solve(stated, "zero-one-bb", **words, node_limit=whole.nodes // 4)
        report = check_proof(proof, stated)  # of what is proved so far, whether the search is over or not
        assert report.valid, report
        bounds.append(report.bound)
        if result.status is mo.Status.OPTIMAL:
            break
        assert len(list(tmp_path.iterdir())) == 3  # the checkpoint, its part of the log, the log
    _same(result, whole)
    assert len(bounds) > 3 and bounds == sorted(bounds) and bounds[-1] == pytest.approx(whole.bound, rel=1e-8)
    assert _nodes_of(proof) == whole.nodes and [p.name for p in tmp_path.iterdir()] == [name]


def test_a_log_that_does_not_fit_its_checkpoint_is_refused(small: Any, short: None, tmp_path: Path) -> None:
    stated, alone, whole = small
    path, proof, few = tmp_path / "search.npz", tmp_path / "proof.jsonl", whole.nodes // 4
    mo.solve(stated, "zero-one-bb", **alone, checkpoint=path, node_limit=few)
    with pytest.raises(InputError, check=about("proof")):
        mo.solve(stated, "zero-one-bb", **alone, checkpoint=path, proof=str(proof))
    path.unlink()
    mo.solve(stated, "zero-one-bb", **alone, checkpoint=path, proof=str(proof), node_limit=few)
    part = tmp_path / "search.npz.log0"
    content = part.read_bytes()
    for damaged in (content[: len(content) // 2], content.replace(b'"parent"', b'"parenT"'), b""):
        part.write_bytes(damaged)
        with pytest.raises(DataError, check=at(part)):
            mo.solve(stated, "zero-one-bb", **alone, checkpoint=path, proof=str(proof))
    part.write_bytes(content + b"what a run that was killed wrote after its last checkpoint")
    _same(mo.solve(stated, "zero-one-bb", **alone, checkpoint=path, proof=str(proof)), whole)
    assert check_proof(proof, stated).valid and _nodes_of(proof) == whole.nodes and not part.exists()


# -- a cluster ------------------------------------------------------------------------------------------------------


@at_full_effort  # the law below, that a proof goes on from a checkpoint, has all of it and a log
def test_a_cluster_proves_the_same_with_a_worker_killed_and_one_added(
    large: Any, short: None, cluster: DaskCluster, client: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    stated, alone, whole = large
    arrived, threads, take_in = list[int](), list[threading.Thread](), subtrees.DistributedBoxEngine.add_result

    def counted(self: Any, number: int, result: Any) -> None:
        arrived.append(number)
        if len(arrived) == 6:
            kill(next(w for w in cluster.workers if w.poll() is None))
            threads.append(threading.Thread(target=cluster.add))
            threads[-1].start()
        take_in(self, number, result)

    monkeypatch.setattr(subtrees.DistributedBoxEngine, "add_result", counted)
    result = mo.solve(stated, "zero-one-bb", **alone, cluster=client)
    threads[0].join()
    _same(result, whole)
    assert len(arrived) == len(set(arrived)) > 6  # it went on after the worker was killed
    assert result.details["subproblems"] == len(arrived)  # how many workers had a part is the machine's affair


def test_the_workers_parts_of_a_proof_are_one_proof(small: Any, short: None, client: Any, tmp_path: Path) -> None:
    stated, alone, whole = small
    path = tmp_path / "proof.jsonl.gz"
    result = mo.solve(stated, "zero-one-bb", **alone, cluster=client, proof=str(path))
    assert result.details["subproblems"] > 2
    report = check_proof(path, stated)
    assert report.valid and report.own_data, report
    assert report.bound == pytest.approx(whole.bound, rel=1e-8) and report.value == pytest.approx(whole.objective, rel=1e-12)
    with gzip.open(path, "rt") as file:
        lines = file.readlines()
    assert len(lines) - 3 == result.nodes  # header, claim and seal; every node once
    unknown = mo.solve(stated, "zero-one-bb", threads=1, cluster=client, proof=str(tmp_path / "unknown.jsonl"))
    assert unknown.status is mo.Status.OPTIMAL and unknown.objective == pytest.approx(whole.objective, rel=2e-6)
    assert check_proof(tmp_path / "unknown.jsonl", stated).valid  # incumbents came from anywhere, at any time
    shared_out = mo.check_proof(path, stated, cluster=client)
    assert shared_out.workers == 2 and not check_proof(path, stated).workers
    assert shared_out == report
    assert mo.check_proof(path, model(60, 3, seed=1), cluster=client).valid is False
    for spoilt, says in (_without_a_child_of_the_root(lines), "is missing"), (_without_multipliers(lines), "neither proved"):
        _sealed(tmp_path / "spoilt.jsonl", spoilt)
        here, there = check_proof(tmp_path / "spoilt.jsonl", stated), mo.check_proof(tmp_path / "spoilt.jsonl", cluster=client)
        assert not here.valid and not there.valid and says in here.message and says in there.message


def _without_a_child_of_the_root(lines: list[str]) -> list[str]:
    """A log without a child of the root, which needs it; a node below one that is proved without children may be missing."""
    records = [json.loads(line) for line in lines]
    root = next(record["id"] for record in records if record.get("parent") == -1)
    return [line for line, record in zip(lines, records, strict=True) if record.get("parent") != root or record["side"]]


def _without_multipliers(lines: list[str]) -> list[str]:
    """A log whose leaves have multipliers of 0, which bound nothing, whichever tree the workers' order gave."""
    spoilt = []
    for line in lines:
        record = json.loads(line)
        if "id" in record and "split" not in record:
            record["rounds"] = [[at, z, [0.0 for _ in alpha], [], []] for at, z, alpha, *_ in record["rounds"]]
        spoilt.append(json.dumps(record) + "\n")
    return spoilt


def _sealed(path: Path, lines: list[str]) -> None:
    text = "".join(lines[:-1])
    path.write_text(text + json.dumps({"sha256": hashlib.sha256(text.encode()).hexdigest()}) + "\n")


def test_a_cluster_that_goes_leaves_a_file_that_goes_on_without_it(
    large: Any, short: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("distributed")
    from distributed import Client

    stated, alone, whole = large
    path = tmp_path / "search.npz"
    with dask_cluster(tmp_path, workers=1) as lonely:
        client = Client(lonely.address, set_as_default=False)
        client.run(import_module, "marginopt.solvers.zero_one.algorithm")  # else the search may end before its worker is ready
        take_in = subtrees.DistributedBoxEngine.add_result

        def closing(self: Any, number: int, result: Any) -> None:
            take_in(self, number, result)
            client.close()

        with monkeypatch.context() as patch:
            patch.setattr(subtrees.DistributedBoxEngine, "add_result", closing)
            with pytest.raises(ClusterError, check=lost_task(None)):
                mo.solve(stated, "zero-one-bb", **alone, cluster=client, checkpoint=path)
    assert path.exists()
    result = mo.solve(stated, "zero-one-bb", **alone, checkpoint=path)
    assert (result.objective, result.bound) == (whole.objective, whole.bound) and result.status is mo.Status.OPTIMAL
    assert result.nodes == whole.nodes  # the slices under way had not arrived, and are searched again


def test_a_proof_goes_on_from_a_checkpoint_with_workers_killed(
    middle: Any, short: None, cluster: DaskCluster, client: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    stated, alone, whole = middle
    path, proof = tmp_path / "search.npz", tmp_path / "proof.jsonl.gz"
    words = {**alone, "cluster": client, "checkpoint": path, "proof": str(proof)}
    monkeypatch.setattr(batch_size, "TARGET_SECONDS", 0.008)
    arrived, take_in = list[int](), subtrees.DistributedBoxEngine.add_result

    def counted(self: Any, number: int, result: Any) -> None:
        arrived.append(number)
        if len(arrived) == 3:
            cluster.add()
            kill(next(w for w in cluster.workers if w.poll() is None))
        take_in(self, number, result)

    monkeypatch.setattr(subtrees.DistributedBoxEngine, "add_result", counted)
    first = mo.solve(stated, "zero-one-bb", **words, node_limit=whole.nodes // 3)
    assert first.status is mo.Status.NODE_LIMIT and path.exists()
    assert check_proof(proof, stated).valid  # the bound so far
    before = len(arrived)
    result = mo.solve(stated, "zero-one-bb", **words)
    _same(result, whole)
    assert len(arrived) > before > 2 and not path.exists()
    assert check_proof(proof, stated).valid and _nodes_of(proof) == whole.nodes
    assert [p.name for p in tmp_path.iterdir()] == [proof.name]


@at_full_effort
def test_ray_proves_the_same(small: Any, short: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("ray", reason="marginopt[ray] is not installed")
    stated, alone, whole = small
    with ray_cluster(monkeypatch):
        result = mo.solve(stated, "zero-one-bb", **alone, cluster="ray", proof=str(tmp_path / "proof.jsonl"))
        report = mo.check_proof(tmp_path / "proof.jsonl", stated, cluster="ray")
    _same(result, whole)
    assert report.valid and report == check_proof(tmp_path / "proof.jsonl", stated)
