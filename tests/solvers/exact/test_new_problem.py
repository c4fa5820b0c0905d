"""A new exact problem is a bounding rule and a checking rule: pool, log, checkpoint, workers and checker come with them.

The problem is set cover: the cheapest columns of a 0/1 matrix that cover every row. A node decides columns. Uncovered rows of
which no column covers two each pay their cheapest column; a record of the log names these rows.
"""

from __future__ import annotations

import hashlib
import itertools
import json
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any, ClassVar, TypeVar

import numpy as np
import pytest
import scipy.sparse as sp
from effort import trials

import marginopt as mo
from marginopt.models import Block, Constraint, Model, Nonnegative, StandardForm, Statement
from marginopt.solvers.exact import algorithm, checkpoint as files, dispatcher as batches, search as room
from marginopt.solvers.exact.algorithm import ExactSearch
from marginopt.solvers.exact.check.arithmetic import InvalidProofError
from marginopt.solvers.exact.check.checker import TreeChecker
from marginopt.solvers.exact.check.trees import NodeRules
from marginopt.solvers.exact.search import BoundingRule, Branching, Incumbent, Node, NodeArrays
from marginopt.solvers.interface.solver import Gives, SolverInfo
from marginopt.solvers.parallel.executor import AsynchronousExecutor, Job, TaskResult
from marginopt.solvers.registry import EXTENSIONS

V = TypeVar("V")
FREE, IN, OUT = 0, 1, 2


@dataclass(frozen=True, eq=False)
class Cover:
    """min c'w over w in {0, 1}^p with Aw ≥ 1; A of zeros and ones, costs whole numbers."""

    A: Any
    costs: Any

    @property
    def digest(self) -> str:
        return hashlib.sha256(f"{self.A.tolist()} {self.costs.tolist()}".encode()).hexdigest()

    def difference(self, other: Cover) -> str | None:
        return None if self.digest == other.digest else "other sets or costs"

    def __str__(self) -> str:
        return f"set cover of {len(self.A)} rows by {self.costs.size} columns"


@dataclass(frozen=True, eq=False, repr=False)
class SetCover(Model):
    """The same as a model."""

    cover: Cover
    name = "SetCover"

    @property
    def form_bytes(self) -> int:
        return 8 * self.cover.A.size

    @property
    def statement(self) -> Statement:
        raise NotImplementedError

    def view(self, kind: type[V]) -> V | None:
        return self.cover if kind is Cover else None  # type: ignore[return-value]

    def compile(self) -> StandardForm:
        m, p = self.cover.A.shape
        rows = Constraint("covered", sp.csr_array(self.cover.A), -np.ones(m), Nonnegative(m))
        return StandardForm(
            name=self.name, blocks=(Block("w", (p,)),), q=self.cover.costs, constraints=(rows,), lower=np.zeros(p),
            upper=np.ones(p), integer=np.ones(p, dtype=bool),
        )  # fmt: skip


# The bounding rule.


class CoverRule(BoundingRule[Cover]):
    format, version = "test-set-cover", 1
    lower_bound = 0.0

    def header(self) -> dict[str, Any]:
        return {"A": self.problem.A.tolist(), "costs": self.problem.costs.tolist()}

    def first_point(self) -> Any:
        return np.ones(self.problem.costs.size)

    def objective(self, w: Any) -> float:
        feasible = np.isin(w, (0.0, 1.0)).all() and (self.problem.A @ w >= 1.0).all()
        return float(self.problem.costs @ w) if feasible else np.inf

    def root(self) -> NodeArrays:
        return {"state": np.zeros(self.problem.costs.size, dtype=np.int8)}

    def accepts(self, arrays: NodeArrays) -> bool:
        return bool(np.isin(arrays["state"], (FREE, IN, OUT)).all())

    def branch(self, node: Node, incumbent: Incumbent) -> Branching:
        A, costs, state = self.problem.A, self.problem.costs, node.arrays["state"]
        bound, rows, taken = float(costs[state == IN].sum()), [], np.zeros(costs.size, dtype=bool)
        uncovered = np.flatnonzero(~A[:, state == IN].any(axis=1))
        for i in uncovered.tolist():
            columns = (A[i] > 0.0) & (state != OUT)
            if not (columns & taken).any():
                rows.append(i)
                taken |= columns
                bound += float(costs[columns].min()) if columns.any() else np.inf
        self.improve(np.where(state == OUT, 0.0, 1.0), incumbent)
        self.improve(np.where(state == IN, 1.0, 0.0), incumbent)
        free = np.flatnonzero((state == FREE) & A[uncovered].any(axis=0))
        if bound >= incumbent.cutoff or not free.size:
            return Branching(bound, record={"rows": rows})
        j = int(free[np.argmax(A[uncovered][:, free].sum(axis=0) / costs[free])])
        children = []
        for choice in (IN, OUT):
            child = state.copy()
            child[j] = choice
            children.append((bound, {"state": child}))
        return Branching(bound, children, {"rows": rows, "split": j})


# The checking rule.


class CoverNodes(NodeRules[Any]):
    def __init__(self, cover: Cover, target: float) -> None:
        self.cover, self.target = cover, target

    def children(self, record: dict[str, Any], state: Any) -> list[Any]:
        A, costs, rows = self.cover.A, self.cover.costs, [int(i) for i in record["rows"]]
        columns = [set(np.flatnonzero((A[i] > 0.0) & (state != OUT)).tolist()) for i in rows]
        inside = set(np.flatnonzero(state == IN).tolist())
        if min(rows, default=0) < 0 or any(a & b for a, b in itertools.combinations([inside, *columns], 2)):
            raise InvalidProofError("a column covers two of the rows")
        if not all(columns):  # a row that nothing covers
            return []
        bound = sum(costs[j] for j in inside) + sum(min(costs[j] for j in side) for side in columns)
        if bound >= self.target:
            return []
        j = record.get("split")
        if not isinstance(j, int) or not 0 <= j < costs.size or state[j] != FREE:
            raise InvalidProofError(f"node {record['id']} costs {bound} and is not split")
        parts = [state.copy(), state.copy()]
        parts[0][j], parts[1][j] = IN, OUT
        return parts


class CoverChecker(TreeChecker[Cover]):
    format, versions = "test-set-cover", (1,)

    def of_model(self, model: Model) -> Cover:
        cover = model.view(Cover)
        if cover is None:
            raise mo.errors.InputError("the log is about a set cover")
        return cover

    def of_log(self, header: dict[str, Any]) -> Cover:
        return Cover(np.array(header["A"]), np.array(header["costs"]))

    def value(self, problem: Cover, w: list[float]) -> Fraction:
        if len(w) != problem.costs.size or not set(w) <= {0.0, 1.0} or not (problem.A @ np.array(w) >= 1.0).all():
            raise InvalidProofError("the incumbent is no cover")
        return sum((Fraction(c) for c, x in zip(problem.costs.tolist(), w, strict=True) if x), Fraction(0))

    def rules(self, problem: Cover, bound: float) -> tuple[CoverNodes, Any]:
        return CoverNodes(problem, bound), np.zeros(problem.costs.size, dtype=np.int8)


@dataclass(frozen=True, eq=False)
class CoverBB(ExactSearch[Cover]):
    checker: ClassVar[CoverChecker] = CoverChecker()
    info: ClassVar[SolverInfo] = SolverInfo(
        name="cover-bb", summary="set cover", views=(Cover,), tolerance=1e-6, reference="none",
        gives=frozenset({Gives.BOUND, Gives.TRACE, Gives.WARM_START, Gives.INTERRUPT}),
    )  # fmt: skip

    def rule(self) -> type[CoverRule]:
        return CoverRule


# The laws.


@pytest.fixture(autouse=True)
def _registered() -> Iterator[None]:
    mo.register(CoverBB())
    yield
    EXTENSIONS.remove("cover-bb")


def instance(seed: int, m: int = 12, p: int = 10, share: float = 0.25) -> SetCover:
    rng = np.random.default_rng(seed)
    A = (rng.random((m, p)) < share).astype(float)
    A[np.arange(m), rng.integers(p, size=m)] = 1.0
    A[-1] = A[0]  # a duplicate row
    return SetCover(Cover(A, rng.integers(1, 9, p).astype(float)))


def optimum(model: SetCover) -> float:
    A, costs = model.cover.A, model.cover.costs
    points = (np.array(w) for w in itertools.product((0.0, 1.0), repeat=costs.size))
    return min(float(costs @ w) for w in points if (A @ w >= 1.0).all())


def sealed(path: Path, records: list[dict[str, Any]]) -> Path:
    lines = [json.dumps(record) + "\n" for record in records]
    path.write_text("".join(lines) + json.dumps({"sha256": hashlib.sha256("".join(lines).encode()).hexdigest()}) + "\n")
    return path


@pytest.mark.parametrize("seed", range(trials(8, 25)))
def test_search_and_checker_against_enumeration(seed: int, tmp_path: Path) -> None:
    model = instance(seed)
    result = mo.solve(model, "cover-bb", proof=str(tmp_path / "a.log"))
    assert result.objective == result.values["w"] @ model.cover.costs == optimum(model)
    assert result.status is mo.Status.OPTIMAL
    for jobs in (None, 2) if seed < 2 else (None,):
        report = mo.check_proof(tmp_path / "a.log", model, jobs=jobs)
        assert report.valid, report
        assert report.value == result.objective
        assert report.bound == pytest.approx(result.objective, rel=2e-6)
    assert not mo.check_proof(tmp_path / "a.log", instance(seed + 1000)).valid


@pytest.mark.parametrize("logged", [False, True])
def test_it_stops_and_continues(logged: bool, tmp_path: Path) -> None:
    """In pieces of a few nodes: the same nodes, bound and optimum as in one run, and a log that proves them."""
    model = instance(3, 30, 20, 0.12)
    whole = mo.solve(model, "cover-bb")
    assert whole.nodes > 50
    options: dict[str, Any] = {"checkpoint": str(tmp_path / "search.npz")}
    if logged:
        options["proof"] = str(tmp_path / "a.log")
    limit, pieces = 0, 0
    result = whole
    while pieces == 0 or result.status is mo.Status.NODE_LIMIT:
        limit, pieces = limit + whole.nodes // 5, pieces + 1
        result = mo.solve(model, "cover-bb", node_limit=limit, **options)
        if logged:
            report = mo.check_proof(options["proof"], model)
            assert report.valid, report
            assert report.bound == result.bound
    assert pieces >= 5
    assert (result.objective, result.bound, result.nodes) == (whole.objective, whole.bound, whole.nodes)
    assert not list(tmp_path.glob("search.npz*"))
    if logged:
        assert mo.check_proof(options["proof"], model).nodes == whole.nodes


def test_a_checkpoint_of_another_search_is_refused(tmp_path: Path) -> None:
    path = str(tmp_path / "search.npz")
    mo.solve(instance(3, 30, 20, 0.12), "cover-bb", checkpoint=path, node_limit=10)
    with pytest.raises(mo.errors.DataError):
        mo.solve(instance(4, 30, 20, 0.12), "cover-bb", checkpoint=path)
    with pytest.raises(mo.errors.InputError):
        mo.solve(instance(3, 30, 20, 0.12), "cover-bb", checkpoint=path, tol=1e-3)
    with pytest.raises(mo.errors.InputError):
        mo.solve(instance(3, 30, 20, 0.12), "cover-bb", checkpoint=path, proof=str(tmp_path / "a.log"))
    with np.load(path) as saved:
        arrays = dict(saved)
    for name, wrong in (
        ("part_state", arrays["part_state"] + np.int8(7)),
        ("bound", arrays["bound"][:-1]),
        ("w", arrays["w"][1:]),
    ):
        files.write_arrays(Path(path), {**arrays, name: wrong})
        with pytest.raises(mo.errors.DataError):
            mo.solve(instance(3, 30, 20, 0.12), "cover-bb", checkpoint=path)


class Team(AsynchronousExecutor):
    """Three workers that are function calls; every seventh subproblem comes back as nonsense."""

    slots = 3

    def __init__(self, faulty: bool) -> None:
        super().__init__()
        self._done, self._faulty, self.numbers = list[TaskResult](), faulty, list[int]()

    def submit(self, number: int, job: Job, task: Any) -> None:
        self.numbers.append(number)
        outcome = job(task, 1)
        if self._faulty and number > 0 and number % 7 == 0 and self.numbers.count(number) == 1:
            outcome = room.SubproblemResult(outcome.nodes, np.full(3, np.nan), 0.0, 1, 0.0, 0.0, b"", "a worker")
        self._done.append(TaskResult(number, outcome))

    def collect(self, seconds: float) -> list[TaskResult]:
        done, self._done = self._done, []
        return done

    def cancel(self) -> None:
        self._done.clear()


@pytest.mark.parametrize("faulty", [False, True])
def test_workers_search_subtrees(faulty: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Subproblems of a team: the same optimum, a log of all parts, a checkpoint in between."""
    model, team = instance(3, 30, 20, 0.12), Team(faulty)
    whole = mo.solve(model, "cover-bb")
    monkeypatch.setattr(algorithm, "cluster_executor", lambda cluster: team)
    monkeypatch.setattr(room, "PRELOAD_NODES", 5)
    for name in ("TARGET_SECONDS", "LEAST_SECONDS"):
        monkeypatch.setattr(batches, name, 0.001)
    options: dict[str, Any] = {"checkpoint": str(tmp_path / "search.npz"), "proof": str(tmp_path / "a.log"), "cluster": "here"}
    first = mo.solve(model, "cover-bb", node_limit=whole.nodes // 2, **options)
    assert mo.check_proof(options["proof"], model).valid
    result = mo.solve(model, "cover-bb", **options) if first.status is mo.Status.NODE_LIMIT else first
    assert max(team.numbers) > 1
    assert result.objective == whole.objective
    assert result.status is mo.Status.OPTIMAL
    report = mo.check_proof(options["proof"], model)
    assert report.valid, report
    assert report.bound == result.bound


def test_forged_logs_are_refused(tmp_path: Path) -> None:
    """A claim above the optimum is refused, whatever else is changed; so are changed nodes that the proof needs."""
    model = instance(5)
    mo.solve(model, "cover-bb", proof=str(tmp_path / "a.log"))
    records = [json.loads(line) for line in (tmp_path / "a.log").read_text().splitlines()][:-1]
    assert mo.check_proof(sealed(tmp_path / "b.log", records), model).valid
    assert len(records) > 5
    rng = np.random.default_rng(0)
    for trial in range(60):
        forged = json.loads(json.dumps(records))
        forged[-1]["w"] = [1.0] * model.cover.costs.size
        forged[-1]["bound"] += 0.5
        node = forged[1 + int(rng.integers(len(forged) - 2))]
        if trial % 4 == 0:
            node[str(rng.choice(["id", "parent", "side"]))] = int(rng.integers(4))
        elif trial % 4 == 1:
            node["rows"] = [int(rng.integers(12)) for _ in range(3)]
        elif trial % 4 == 2:
            node["split"] = int(rng.integers(-1, 12))
        else:
            forged.remove(node)
        assert not mo.check_proof(sealed(tmp_path / "b.log", forged), model).valid
    removed = [sealed(tmp_path / "b.log", records[:k] + records[k + 1 :]) for k in (1, 2)]
    assert not any(mo.check_proof(path, model).valid for path in removed)
    twice = [*records[:2], records[1], *records[2:]]
    assert not mo.check_proof(sealed(tmp_path / "b.log", twice), model).valid
    (tmp_path / "b.log").write_text((tmp_path / "a.log").read_text().replace('"rows": [', '"rows": [0, ', 1))
    assert not mo.check_proof(tmp_path / "b.log", model).valid
