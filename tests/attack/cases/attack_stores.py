"""Stored results and report stores that somebody edited, and packed logs that unpack to far more than they weigh.

A stored result is shown as not verified; beside its model it is certified anew, so an optimum or a proved bound that it claims is
true. A report's store is refused once a cell is changed, or gives the cells that were computed. A packed log of some kilobytes is
checked within 200 MB of memory.
"""

from __future__ import annotations

import copy
import gzip
import json
import sqlite3
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np

import marginopt as mo
from marginopt.errors import MarginoptError
from marginopt.relaxations import BigM, Conic, gap_report
from marginopt.solvers import Status

#: Of every kind that JSON has, within and beyond what a field may hold.
VALUES: tuple[Any, ...] = (
    None, True, 0, -1, 10**400, 2**70, 1e308, float("nan"), float("-inf"), "", "OPTIMAL", "optimal", "proved", [], [1], [[]], {},
    {"a": 1}, 0.5,
)  # fmt: skip
#: Relative difference from the optimum that is a fault.
WRONG = 1e-5
#: Megabytes that a packed log may take.
MEMORY = 200.0
KINDS = ("margin", "zero-one", "sparse", "scoring")


# -- stored results -----------------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class _Stored:
    """A model, its optimum, and its result as the arrays of a file."""

    model: mo.Model
    optimum: float
    arrays: dict[str, np.ndarray]


@lru_cache(maxsize=1)
def _stored() -> tuple[_Stored, ...]:
    rng = np.random.default_rng(0)
    y = np.where(np.arange(12) % 2, 1.0, -1.0)
    X = np.column_stack([np.ones(12), rng.normal(size=(12, 2)).round(2) + 0.4 * y[:, None]])
    cases = (
        (mo.HingeSVM(X, y, lam=1.0), "clarabel"),
        (mo.ZeroOneSVM(X, y, lam=0.5), "zero-one-bb"),
        (mo.Margin(X, y, "hinge", "l1"), "highs"),
        (mo.ConvexHullsDual(X, y), "clarabel"),
    )
    stored = []
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "result.npz"
        for model, solver in cases:
            result = mo.solve(model, solver, tol=1e-8)
            result.save(path)
            with np.load(path) as file:
                stored.append(_Stored(model, result.objective, {name: file[name] for name in file.files}))
    return tuple(stored)


def attack_results(number: int) -> tuple[str, str]:
    """One stored result with one to three edits: read without its model, and beside it."""
    rng = np.random.default_rng([47, number])
    stored = _stored()[number % len(_stored())]
    arrays, edits = _edited(stored.arrays, rng)
    what = f"{number}: {stored.model.name}, {', '.join(edits)}"
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "edited.npz"
        np.savez(path, **arrays)
        try:
            alone = mo.io.load_result(path)
            str(alone)
            if not alone.unverified or alone.bound_kind == "proved":
                return what, f"claims a stored bound is {alone.bound_kind}: nobody verified it"
        except MarginoptError:
            pass
        except Exception as error:  # noqa: BLE001 - what is not ours is the fault that is looked for
            return what, f"{type(error).__name__}: {error}"
        try:
            return what, _beside_its_model(mo.io.load_result(path, stored.model), stored.optimum)
        except MarginoptError:
            return what, ""
        except Exception as error:  # noqa: BLE001
            return what, f"{type(error).__name__}: {error}"


def _beside_its_model(result: Any, optimum: float) -> str:
    str(result)
    allowed = WRONG * max(1.0, abs(optimum))
    if result.bound_kind == "proved" and result.sign * (result.bound - optimum) > allowed:
        return f"bound {result.bound} is proved, the optimum is {optimum}"
    if result.status is not Status.OPTIMAL and result.status_kind == "proved":
        return f"claims proved {result.status.value}, the optimum is {optimum}"
    if result.status is Status.OPTIMAL and result.bound_kind == "proved" and abs(result.objective - optimum) > allowed:
        return f"optimal at {result.objective}, the optimum is {optimum}"
    return ""


def _edited(arrays: dict[str, np.ndarray], rng: np.random.Generator) -> tuple[dict[str, np.ndarray], list[str]]:
    """The arrays of a file with other fields in the record, or other numbers in an array."""
    changed, edits = dict(arrays), []
    meta = json.loads(bytes(arrays["meta"]).decode())
    names = sorted(set(arrays) - {"meta"})
    for _ in range(int(rng.integers(1, 4))):
        if names and rng.random() < 0.3:
            name = names[int(rng.integers(len(names)))]
            edits.append(name)
            changed[name] = _other_array(changed[name], rng)
        else:
            places = _places(meta)[1:]
            place = places[int(rng.integers(len(places)))]
            edits.append("/".join(map(str, place)))
            meta = _with(meta, place, rng)
    changed["meta"] = np.frombuffer(json.dumps(meta).encode(), dtype=np.uint8)
    return changed, edits


def _other_array(array: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    other = np.array(array)
    kind = int(rng.integers(5))
    if kind == 0 or not other.size or other.dtype.kind != "f":
        return np.zeros(3)
    if kind == 1:
        return other * float(rng.choice([0.0, -1.0, 1.01, 10.0, 1e300]))
    if kind == 2:
        return np.full(other.shape, np.nan)
    if kind == 3:
        return other.ravel()[:-1]
    other.ravel()[int(rng.integers(other.size))] += float(rng.choice([1e-3, -1.0, 1e6]))
    return other


def _places(value: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    inner = value.items() if isinstance(value, dict) else enumerate(value[:3]) if isinstance(value, list) else ()
    return [path, *(place for key, part in inner for place in _places(part, (*path, key)))]


def _with(meta: Any, place: tuple[Any, ...], rng: np.random.Generator) -> Any:
    """The record with another value in a place: a number by a factor now and then, else anything."""
    changed = copy.deepcopy(meta)
    part: Any = changed
    for key in place[:-1]:
        part = part[key]
    old = part[place[-1]]
    numeric = isinstance(old, float) and rng.random() < 0.5
    part[place[-1]] = old * float(rng.choice([0.5, 1.5, -1.0])) if numeric else VALUES[int(rng.integers(len(VALUES)))]
    return changed


# -- report stores ------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Points:
    X: np.ndarray
    y: np.ndarray
    name: str = "points"
    source: str = "drawn in the attack"


def _report(store: Path) -> Any:
    rng = np.random.default_rng(1)
    y = np.where(np.arange(10) % 2, 1.0, -1.0)
    points = _Points(np.column_stack([np.ones(10), rng.normal(size=(10, 2)) + 0.5 * y[:, None]]), y)
    return gap_report(
        [points], relaxations=[BigM("zero"), Conic()], exact=["scip"], time_limit=60.0, progress=False, threads=1, store=store
    )


@lru_cache(maxsize=1)
def _computed() -> tuple[bytes, tuple[Any, ...]]:
    """The store of a report, and its cells."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "cells.db"
        report = _report(path)
        connection = sqlite3.connect(path)
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        connection.close()
        return path.read_bytes(), (report.instances, report.relaxations, report.exacts)


def attack_reports(number: int) -> tuple[str, str]:
    """A store with one cell edited, moved to another key, or cut: refused, or the cells are those that were computed."""
    rng = np.random.default_rng([48, number])
    whole, cells = _computed()
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "cells.db"
        path.write_bytes(whole)
        what = f"{number}: report, {_edit_cell(path, rng)}"
        try:
            report = _report(path)
        except MarginoptError:
            return what, ""
        except Exception as error:  # noqa: BLE001 - what is not ours is the fault that is looked for
            return what, f"{type(error).__name__}: {error}"
        result = (report.instances, report.relaxations, report.exacts)
        for stored, kind in zip(result, cells, strict=True):
            for cell, true in zip(stored, kind, strict=True):
                if _numbers(cell.record()) != _numbers(true.record()):
                    return what, "claims a cell that was edited: it is another than the one computed"
    return what, ""


def _numbers(record: dict[str, Any]) -> str:
    """A cell's record without its times."""
    return repr({key: value for key, value in record.items() if not key.endswith("seconds") and key != "trace"})


def _edit_cell(path: Path, rng: np.random.Generator) -> str:
    connection = sqlite3.connect(path, isolation_level=None)
    rows = connection.execute("SELECT key, record FROM cells ORDER BY key").fetchall()
    key, text = rows[int(rng.integers(len(rows)))]
    kind = str(rng.choice(["value", "value", "value", "cut", "moved", "gone"]))
    if kind == "value":
        record = json.loads(text)
        places = _places(record)[1:]
        place = places[int(rng.integers(len(places)))]
        text, kind = json.dumps(_with(record, place, rng)), "/".join(map(str, place))
    elif kind == "cut":
        text = text[: int(rng.integers(len(text)))]
    elif kind == "moved":
        text = rows[int(rng.integers(len(rows)))][1]
    if kind == "gone":
        connection.execute("DELETE FROM cells WHERE key = ?", (key,))
    else:
        connection.execute("UPDATE cells SET record = ? WHERE key = ?", (text, key))
    connection.close()
    return kind


# -- packed logs --------------------------------------------------------------------------------------------------------

_MEASURE = """
import resource, sys
from marginopt import check_proof
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
report = check_proof(sys.argv[1])
after = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
print(report.valid, (after - before) / 1024)
"""


def attack_bombs(number: int) -> tuple[str, str]:
    """A packed log of one kind with a long list, text, number, or nesting in one line, or very many lines."""
    rng = np.random.default_rng([49, number])
    kind, content = KINDS[number % len(KINDS)], str(rng.choice(["lists", "numbers", "text", "depth", "digits", "keys", "lines"]))
    many = int(rng.integers(1, 9)) * 1_000_000
    unit = {
        "lists": "[],", "numbers": "1.5,", "text": "x", "depth": "[", "digits": "7", "keys": '{"a": 1},',
        "lines": '0]}\n{"node": [',
    }[content]  # fmt: skip
    head = f'{{"format": "marginopt-{kind}-proof", "version": {int(rng.integers(1, 4))}, "A": [' + '"' * (content == "text")
    what = f"{number}: {kind}, {many} of {content}"
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "bomb.jsonl.gz"
        with gzip.open(path, "wt", compresslevel=1) as file:
            file.write(head)
            for _ in range(many // 100_000):
                file.write(unit * 100_000)
            file.write('"]}\n' if content == "text" else "0]}\n")
        ran = subprocess.run(
            [sys.executable, "-c", _MEASURE, str(path)], capture_output=True, text=True, check=False, timeout=300
        )
    if ran.returncode:
        return what, f"{(ran.stderr.strip().splitlines() or ['Error: no word'])[-1]}"
    valid, megabytes = ran.stdout.split()
    if valid != "False":
        return what, "claims that the log is valid"
    return what, "" if float(megabytes) <= MEMORY else f"claims {float(megabytes):.0f} MB of memory"
