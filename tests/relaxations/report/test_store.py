"""The store of report cells: continued after kills at random moments, shared by reports, never mistaken."""

from __future__ import annotations

import json
import sqlite3
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp
from data import Points, clouds
from effort import trials
from facts import about, at

from marginopt.errors import DataError
from marginopt.instances import gaussian_clusters
from marginopt.models.digest import identity
from marginopt.models.kernels.kernels import RBF
from marginopt.relaxations import BigM, Combined, Conic, Perspective, gap_report
from marginopt.relaxations.report.problems import InstanceProblem
from marginopt.relaxations.report.runner import CellStore, digest
from marginopt.relaxations.report.tasks import HeuristicTask
from marginopt.solvers.records import Options

#: A clean interpreter that forks its reports: one on one thread has been made before the forks.
SCRIPT = """
import json, os, random, signal, sys, time
from dataclasses import dataclass
import numpy as np
from marginopt.relaxations import BigM, Conic, gap_report
from marginopt.relaxations.report.runner import CellStore

@dataclass(frozen=True)
class Points:
    X: np.ndarray
    y: np.ndarray
    name: str
    source: str = "drawn in the test"

def points(n, seed):
    rng = np.random.default_rng(seed)
    y = np.where(np.arange(n) < n // 2, 1.0, -1.0)
    X = rng.normal(size=(n, 2)) + 0.6 * y[:, None]
    return Points(np.column_stack([np.ones(n), X]), y, f"points {n}")

def report(store, out):
    found = gap_report([points(10, 0), points(12, 1)], relaxations=[BigM("zero"), BigM("incumbent"), Conic()],
                       exact=["scip"], lam=[0.3, 1.0, 3.0], time_limit=600.0, progress=False, threads=1, store=store)
    cells = [c.record() for c in (*found.instances, *found.relaxations, *found.exacts)]
    with open(out, "w") as file:
        json.dump(cells, file)

def start(store, out):
    child = os.fork()
    if child == 0:
        code = 1
        try:
            report(store, out)
            code = 0
        finally:
            os._exit(code)
    return child

def count(store):
    return sum(CellStore(store).counts().values())

folder, kills = sys.argv[1], int(sys.argv[2])
report(os.path.join(folder, "whole.db"), os.path.join(folder, "whole.json"))  # what it loads the others have
random.seed(1)
store, killed, partial = os.path.join(folder, "killed.db"), 0, 0
for round in range(kills):
    before = count(store)
    child = start(store, os.path.join(folder, "never"))
    while os.waitpid(child, os.WNOHANG)[0] == 0:
        if count(store) > before:
            time.sleep(random.random() * 0.05)
            os.kill(child, signal.SIGKILL)
            if os.WIFSIGNALED(os.waitpid(child, 0)[1]):
                killed += 1
            break
        time.sleep(random.random() * 0.01)
    partial += 0 < count(store) < 30
codes = [os.waitpid(start(store, os.path.join(folder, "killed.json")), 0)[1]]
pair = [start(os.path.join(folder, "shared.db"), os.path.join(folder, f"shared{k}.json")) for k in range(2)]
codes += [os.waitpid(child, 0)[1] for child in pair]
print(json.dumps({"kills": killed, "partial": partial, "codes": codes, "killed": count(store),
                  "shared": count(os.path.join(folder, "shared.db"))}))
"""


def timeless(path: Path) -> list[dict[str, object]]:
    cells = json.loads(path.read_text())
    return [{k: v for k, v in cell.items() if not k.endswith("seconds") and k != "trace"} for cell in cells]


def test_a_report_killed_many_times_and_two_at_once_have_the_cells_of_one_run_through(tmp_path: Path) -> None:
    words = [sys.executable, "-c", SCRIPT, str(tmp_path), str(trials(6, 10))]
    run = subprocess.run(words, capture_output=True, text=True, timeout=600, check=False)
    assert run.returncode == 0, run.stderr
    record = json.loads(run.stdout.splitlines()[-1])
    assert record["codes"] == [0, 0, 0]
    assert record["kills"] >= trials(3, 5)
    assert record["partial"] >= trials(2, 3)  # kills left work undone
    assert record["killed"] == record["shared"] == 30  # 6 instances at a λ, 18 relaxations, 6 exact solves
    whole = timeless(tmp_path / "whole.json")
    assert len(whole) == 30
    assert all(cell["proven"] for cell in whole if "proven" in cell)
    assert timeless(tmp_path / "killed.json") == whole
    assert timeless(tmp_path / "shared0.json") == whole
    # the two reports tell the same cells, those that were stored first: times and all
    assert (tmp_path / "shared0.json").read_text() == (tmp_path / "shared1.json").read_text()


def points(n: int) -> Points:
    return Points(*clouds(n, n, order="halves"), "points")


def test_a_stored_report_is_the_same_and_computes_nothing_again(tmp_path: Path) -> None:
    path = tmp_path / "cells.db"
    arguments = {"relaxations": [BigM("zero"), Conic()], "exact": ["scip", "clarabel"], "time_limit": 60.0, "store": path}
    first = gap_report([points(12)], **arguments)
    second = gap_report([points(12)], **arguments)
    assert second.relaxations == first.relaxations  # seconds included
    assert second.instances == first.instances
    assert second.exacts == first.exacts
    # clarabel cannot solve it: a cell that could not run is not kept
    assert CellStore(path).counts() == {"instance": 1, "relaxation": 2, "exact": 1}
    gap_report([points(12)], **{**arguments, "lam": 2.0}, progress=False)
    assert CellStore(path).counts() == {"instance": 2, "relaxation": 4, "exact": 2}
    gap_report([points(13)], **arguments, progress=False)  # the same name, other data
    assert CellStore(path).counts()["instance"] == 3


def test_the_first_record_stays(tmp_path: Path) -> None:
    store = CellStore(tmp_path / "cells.db")
    assert store.get("a") is None
    assert store.put("a", "kind", {"value": 0.1}) == {"value": 0.1}
    assert store.put("a", "kind", {"value": 2.0}) == {"value": 0.1}
    assert CellStore(store.path).get("a") == {"value": 0.1}


def test_a_transaction_that_is_cut_off_leaves_nothing(tmp_path: Path) -> None:
    store = CellStore(tmp_path / "cells.db")
    store.put("a", "kind", {"value": 1})
    raw = sqlite3.connect(store.path, isolation_level=None)
    raw.execute("BEGIN IMMEDIATE")
    raw.execute("INSERT INTO cells VALUES ('b', 'kind', '{}')")
    raw.close()
    assert store.counts() == {"kind": 1}


def test_identities_tell_values_apart() -> None:
    a = np.arange(6.0)
    values = [
        1, 1.0, "1", None, True, a, a.reshape(2, 3), a.astype(np.float32), sp.csr_array(a.reshape(2, 3)), [1, 2], {"a": 1},
        BigM("zero"), BigM("zero", factor=2.0), Combined("zero"), Perspective(a), Perspective(a + 1e-15), RBF(0.5), RBF(0.6),
    ]  # fmt: skip
    assert len({digest(value) for value in values}) == len(values)
    assert digest(BigM("zero")) == digest(BigM("zero"))
    assert digest(Perspective(a)) == digest(Perspective(a.copy()))
    assert digest(np.float64(0.1)) == digest(0.1)
    assert identity(sp.csc_array(np.eye(2))) == identity(sp.csr_array(np.eye(2)))
    with pytest.raises(DataError, check=about("object")):
        identity(object())


def test_bad_files(tmp_path: Path) -> None:
    (tmp_path / "text").write_text("not a database, but long enough to be read as one" * 20)
    with pytest.raises(DataError, check=at("text")):
        CellStore(tmp_path / "text")
    other = sqlite3.connect(tmp_path / "other.db")
    other.execute("CREATE TABLE t (x)")
    other.close()
    with pytest.raises(DataError, check=at("other.db")):
        gap_report([points(12)], store=tmp_path / "other.db")
    with pytest.raises(DataError, check=at("cells.db")):
        CellStore(tmp_path / "missing" / "cells.db")


def test_a_cell_of_an_older_store_is_of_its_instance_family(tmp_path: Path) -> None:
    """Family and parameters are no part of a cell's key: what was stored without them is found and takes the instance's."""
    drawn = gaussian_clusters(16, 2, 0.5, seed=3)
    store = CellStore(tmp_path / "cells.db")
    task = HeuristicTask(InstanceProblem.of(drawn, 1.0), Options())
    record, _ = task.compute(None)
    old = {**record, "cell": {k: v for k, v in record["cell"].items() if k not in ("family", "parameters")}}
    store.put(digest({"kind": task.kind, **task.key_parts}), task.kind, old)
    again = HeuristicTask(InstanceProblem.of(replace(drawn, family="renamed"), 1.0), Options())
    text = store.get(digest({"kind": again.kind, **again.key_parts}))
    assert text is not None and again.cell(text).family == "renamed" and task.cell(text).parameters == {"sigma": 0.5}


def test_a_record_that_was_edited_is_refused(tmp_path: Path) -> None:
    store = CellStore(tmp_path / "cells.db")
    record = {"cell": {"bound": 3.0, "kind": "proved", "name": "ä"}, "w": [0.1, -2e-300]}
    assert store.put("key", "relaxation", record) == record == store.get("key")
    raw = sqlite3.connect(store.path, isolation_level=None)
    (text,) = raw.execute("SELECT record FROM cells").fetchone()
    for old, new in (
        ("3.0", "46.5"),
        ("3.0", "1e999"),
        ("3.0", "NaN"),
        ("proved", "certain"),
        ("0.1", "0.2"),
        ('"sha256"', '"sha"'),
    ):
        raw.execute("UPDATE cells SET record = ?", (text.replace(old, new),))
        for read in (
            lambda: store.get("key"),
            lambda: store.records("relaxation"),
            lambda: store.put("key", "relaxation", record),
        ):
            with pytest.raises(DataError, check=at("cells.db")):
                read()
    raw.execute("UPDATE cells SET record = ?, key = 'other'", (text,))  # a cell in the place of another
    with pytest.raises(DataError, check=at("cells.db")):
        store.get("other")
    raw.close()
