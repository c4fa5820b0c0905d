"""Attacks on the replies of a cluster's workers: slices with lies in every field, of both searches and their proofs.

A worker here is a function call, and so is its cluster. Whatever comes back: a result or one of our own errors; an objective that
its own point has; a bound that says whose word it is; and a proof log that is either valid, and then its bound is no more than
the optimum, or not.
"""

from __future__ import annotations

import tempfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import fields, is_dataclass, replace
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np

import marginopt as mo
from marginopt.errors import MarginoptError
from marginopt.solvers.exact import dispatcher as batch_size
from marginopt.solvers.parallel.executor import AsynchronousExecutor, Job, TaskResult
from marginopt.solvers.zero_one import (
    algorithm,
    conflict_log as conflict_proof,
    distributed_boxes as engine,
    distributed_conflicts as conflict_engine,
)

#: Anything, in place of a field of an outcome.
ODD: tuple[Any, ...] = (
    None, "x", np.nan, -np.inf, np.inf, -1, 1e300, [], {}, (), b"x", np.zeros(3), object(), [None], {"nodes": -1}, 2**70,
)  # fmt: skip


class LyingTeam(AsynchronousExecutor):
    """Two slots in this process; now and then what a worker found is changed before it arrives."""

    slots = 2

    def __init__(self, rng: np.random.Generator, share: float) -> None:
        super().__init__(2)
        self._rng, self._share = rng, share
        self._waiting: list[tuple[int, Job, Any]] = []
        self.lies = 0

    def submit(self, number: int, job: Job, task: Any) -> None:
        """It waits."""
        self._waiting.append((number, job, task))

    def collect(self, seconds: float) -> list[TaskResult]:
        """One, true or not."""
        if not self._waiting:
            return []
        number, job, task = self._waiting.pop(0)
        outcome = job(task, 1)
        if self._rng.random() >= self._share:
            return [TaskResult(number, outcome)]
        self.lies += 1
        if self._rng.random() < 0.1:
            error = (ValueError("lost"), MemoryError(), KeyError(3), RuntimeError("x"))[int(self._rng.integers(4))]
            return [TaskResult(number, error=error)]
        return [TaskResult(number, lied(outcome, self._rng))]

    def cancel(self) -> None:
        """Nothing waits."""
        self._waiting.clear()


def lied(result: Any, rng: np.random.Generator) -> Any:
    """An outcome with one field changed: to anything, or to what a worker might have sent."""
    if rng.random() < 0.05 or not is_dataclass(result):
        return ODD[int(rng.integers(len(ODD)))]
    name = [f.name for f in fields(result)][int(rng.integers(len(fields(result))))]
    value = getattr(result, name)
    if rng.random() < 0.4:
        return replace(result, **{name: ODD[int(rng.integers(len(ODD)))]})
    if name == "nodes":
        return replace(result, nodes=_other_nodes(value, rng))
    if name in ("log", "lines") and value:
        return replace(result, **{name: _other_lines(value, rng)})
    if name == "w":
        length = int(rng.integers(1, 6))
        return replace(result, w=rng.normal(size=length) * 10.0 ** rng.integers(-9, 9))
    if name == "unresolved":
        return replace(result, unresolved=float(rng.normal()))
    return result


def _other_nodes(nodes: Any, rng: np.random.Generator) -> Any:
    """Some left out; bounds, boxes, points and states changed; of other shapes and types."""
    how = int(rng.integers(4))
    if isinstance(nodes, list):
        if how == 0 or not nodes:
            return nodes[1:]
        node = nodes[0]
        if isinstance(node, tuple):
            at = int(rng.integers(3))
            value = ODD[int(rng.integers(len(ODD)))] if how == 1 else (node[at] * 2)
            return [(*node[:at], value, *node[at + 1 :]), *nodes[1:]]
        name = [f.name for f in fields(node)][int(rng.integers(4))]
        return [replace(node, **{name: ODD[int(rng.integers(len(ODD)))]}), *nodes[1:]]
    if how == 0:
        return nodes.select(slice(1, None))
    name = sorted(nodes.arrays())[int(rng.integers(len(nodes.arrays())))]
    array = getattr(nodes, name)
    if how == 1:
        return replace(nodes, **{name: ODD[int(rng.integers(len(ODD)))]})
    one = array.dtype.type(1)
    others = (
        array.astype(np.float32),
        array[..., None],
        -array,
        array * (one + one),
        np.full_like(array, 99),
        array[:0],
        array + one,
    )
    return replace(nodes, **{name: others[int(rng.integers(len(others)))]})


def _other_lines(packed: bytes, rng: np.random.Generator) -> bytes:
    """A part of a log that is cut, lacks a line, has one twice, or other numbers in one."""
    lines = zlib.decompress(packed).decode().splitlines(keepends=True)
    at, how = int(rng.integers(max(len(lines), 1))), int(rng.integers(6))
    if how == 0:
        return packed[: len(packed) // 2]
    if how == 1:
        lines = lines[:at] + lines[at + 1 :]
    elif how == 2:
        lines = lines[: at + 1] + lines[at:]
    elif how == 3 and lines:
        lines[at] = lines[at].replace("1", str(int(rng.integers(10))))
    elif how == 4 and lines:
        lines[at] = lines[at][: len(lines[at]) // 2]
    else:
        lines.append('{"id": 7, "parent": -1, "side": 0, "steps": []}\n')
    return zlib.compress("".join(lines).encode())


@lru_cache(maxsize=64)
def stated(number: int) -> tuple[mo.ZeroOneSVM, float]:
    """A small problem, and its optimum by a search in this process, whose proof was checked."""
    rng = np.random.default_rng([18, 9, number])
    n = int(rng.integers(30, 40))
    X = np.column_stack([np.ones(n), rng.normal(size=(n, 3))])
    y = np.where(X[:, 1] + 2.0 * rng.normal(size=n) > 0, 1.0, -1.0)
    model = mo.ZeroOneSVM(X, y, lam=float(10.0 ** rng.integers(0, 2)))
    with tempfile.TemporaryDirectory() as folder:
        path = str(Path(folder) / "p.jsonl")
        result = mo.solve(model, "zero-one-bb", threads=1, proof=path)
        report = mo.check_proof(path, model)
    assert report.valid and report.bound >= report.value * (1.0 - 1e-5)
    return model, report.value if result.solved else np.inf


@contextmanager
def _small_slices(team: LyingTeam) -> Iterator[None]:
    """Slices of a few nodes each, so that small trees go in many pieces."""
    changed = [
        (engine, "DISPATCH_NODES", 3), (engine, "DISPATCH_EFFORT", 1.0),
        (conflict_engine, "DISPATCH_EFFORT", 1.0), (conflict_proof, "DISPATCH_NODES", 2),
        (batch_size, "LEAST_SECONDS", 1e-3), (batch_size, "TARGET_SECONDS", 1e-3),
        (algorithm, "cluster_executor", lambda cluster: team),
    ]  # fmt: skip
    rows = [getattr(where, name) for where, name, _ in changed]
    for where, name, value in changed:
        setattr(where, name, value)
    try:
        yield
    finally:
        for (where, name, _), value in zip(changed, rows, strict=True):
            setattr(where, name, value)


def attack(number: int) -> tuple[str, str]:
    """(what was tried, what is wrong with it) of one case."""
    rng = np.random.default_rng([18, 10, number])
    model, optimum = stated(number % 40)
    kind = ("boxes", "conflicts")[number // 40 % 2]
    what = f"{kind}, {number}"
    team = LyingTeam(rng, float(rng.choice([0.1, 0.5, 1.0])))
    try:
        with np.errstate(all="ignore"), _small_slices(team), tempfile.TemporaryDirectory() as folder:
            path = str(Path(folder) / "p.jsonl")
            proof = path if rng.random() < 0.7 else None
            result = mo.solve(model, "zero-one-bb", engine=kind, cluster="here", threads=1, proof=proof, time_limit=0.5)
            str(result)
            report = None if proof is None else mo.check_proof(path, model)
    except MarginoptError:
        return what, ""
    except Exception as error:  # noqa: BLE001 - this is what is counted
        return what, f"{type(error).__name__}: {str(error)[:200]}"
    return what, _wrong(model, optimum, result, report)


def _wrong(model: mo.ZeroOneSVM, optimum: float, result: mo.Result, report: Any) -> str:
    near = 1e-9 * max(optimum, 1e-300)
    if report is not None and report.valid and report.bound > optimum + near:
        return f"bound {report.bound!r} of a valid log above the optimum {optimum!r}"
    if report is None and result.bound > optimum + near and "rests on what" not in result.evidence:
        return f"bound {result.bound!r} above the optimum {optimum!r}, and whose word it is is not said"
    if "w" in result.values:
        w = np.asarray(result.values["w"])
        cost = float(w @ w) + model.lam * float((model.y * (model.X @ w) < 1.0).sum())
        if abs(cost - result.objective) > 1e-9 * cost or cost < optimum - near:
            return f"OPTIMAL or not, {result.objective!r} is not what its w costs, {cost!r}"
    return ""
