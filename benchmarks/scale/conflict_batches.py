"""Nodes of `zero-one-bb` in batches, a warp of a GPU for each: an experiment beside the compiled loop on one core.

    python benchmarks/scale/conflict_batches.py packings [--rows 500] [--coordinates 10] [--norm 40]
    python benchmarks/scale/conflict_batches.py search --set 4 --C 1e4 --value 697420.61 [--rows 500] [--limit 300]

*packings.* A node finds conflicts one after another: the least norm that keeps some points is proved to be at least T, their
points are removed, and the next one is looked for. Each node here has a random share of the rows left. Both sides run Goldfarb
and Idnani's dual method in double precision, and count a conflict by its certificate alone (any multipliers bound the norm, and
rounding is subtracted); conflicts of the GPU are proved again in rational arithmetic. Without a GPU the loop is measured alone.

*search.* A whole proof for a problem of Brooks's set A: the host holds a pool of open nodes, each launch searches subtrees below
some of them depth-first, a few hundred nodes each, and returns what is open. ``--value`` is the objective of a known point, as
Brooks states it; whatever is below it by more than 1e-6 is excluded or found. No log is written.

CuPy compiles ``conflicts.cu``, beside this file. The rows are in the memory that a block's warps share.
"""

from __future__ import annotations

import argparse
import importlib.util
import time
import warnings
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np

from marginopt import ZeroOneSVM, instances
from marginopt.errors import MarginoptWarning
from marginopt.solvers.interface.numba_flags import FAST_MATH, Loops
from marginopt.solvers.zero_one import ZeroOneBB
from marginopt.solvers.zero_one.loops.active_set import minimise_norm
from marginopt.solvers.zero_one.loops.conflict_records import (
    CONFLICT,
    empty_active_set,
    empty_dual_workspace,
    penalised_rows,
    stretched_rows,
)
from marginopt.solvers.zero_one.reduced import reduce_problem

#: Nodes of the batches; those that the loop takes; conflicts of a batch that are proved again in rational arithmetic.
BATCHES, LOOP, CHECKED = (4096, 65536, 524288), 1024, 500
#: Warps of a block; bytes that the blocks of one multiprocessor share, and their number on an H200; 32-bit words of a level.
WARPS, SHARED, PROCESSORS, LEVEL = 8, 220_000, 132, 44
#: Most levels of a subtree; most open nodes that a launch returns; roots and seconds of a launch, about.
LEVELS, CAPACITY, ROOTS, SECONDS = 400, 4_000_000, 16_000, 1.0


@Loops(FAST_MATH).entry
def pack(rows: Any, left: Any, priority: Any, T: float, active: Any, scratch: Any, counts: Any) -> None:
    """Pack the conflicts of every node with the loop of the engine; ``counts`` takes conflicts and solves."""
    for k in range(left.shape[0]):
        while True:
            active.count[0] = active.ready[0] = 0
            for j in range(active.w.size):
                active.w[j] = 0.0
            status, _ = minimise_norm(rows, left[k], priority, T, active, scratch)
            counts[k, 1] += 1
            if status != CONFLICT:
                break
            counts[k, 0] += 1
            for a in range(active.count[0]):
                left[k, active.pair[a, 0]] = False


def two_classes(n: int, p: int) -> Any:
    """Return the engine's rows of two overlapping classes, without an intercept."""
    rng = np.random.default_rng(0)
    y = np.where(rng.random(n) < 0.5, 1.0, -1.0)
    X = rng.normal(size=(n, p)) + 0.5 * y[:, None] / np.sqrt(p)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", MarginoptWarning)  # no intercept
        view = ZeroOneBB().view_of(ZeroOneSVM(X, y, 1.0))
    assert view is not None
    return penalised_rows(reduce_problem(view), np.ones(n))


def nodes_of(n: int, count: int) -> np.ndarray:
    """Return the open points of random nodes, the same first ones whatever their number."""
    shares = np.random.default_rng(1).uniform(0.6, 1.0, size=(count, 1))
    return np.random.default_rng(2).random((count, n)) < shares


def fastest(work: Callable[[], Any]) -> float:
    """Return the least wall time of three runs after one that warms up."""
    work()
    seconds = []
    for _ in range(3):
        begin = time.perf_counter()
        work()
        seconds.append(time.perf_counter() - begin)
    return min(seconds)


def loop(rows: Any, T: float) -> tuple[float, np.ndarray]:
    """Return seconds and counts of the loop on one core."""
    n, p = rows.a.shape
    open_points, counts = nodes_of(n, LOOP), np.zeros((LOOP, 2), np.int64)

    def work() -> None:
        counts[:] = 0
        pack(rows, open_points.copy(), np.ones(n), T, empty_active_set(p), empty_dual_workspace(n, p), counts)

    return fastest(work), counts


def compiled(name: str, size: int) -> tuple[Any, int]:
    """Return a kernel that needs so many bytes of shared memory a block, and the number of blocks that fill the device."""
    import cupy

    source = (Path(__file__).parent / "conflicts.cu").read_text()
    kernel = cupy.RawModule(code=source, options=("-std=c++14",)).get_function(name)
    kernel.max_dynamic_shared_size_bytes = size
    return kernel, PROCESSORS * max(1, SHARED // size)


def masks(points: np.ndarray) -> np.ndarray:
    """Return sets of points as bits of 32-bit words."""
    padded = np.zeros((len(points), 32 * (-(-points.shape[1] // 32))), np.bool_)
    padded[:, : points.shape[1]] = points
    return np.ascontiguousarray(np.packbits(padded, axis=1, bitorder="little").view(np.uint32))


def on_gpu(rows: Any, count: int, T: float) -> tuple[float, np.ndarray]:
    """Return seconds, transfers included, and counts of the kernel."""
    import cupy

    n, p = rows.a.shape
    Q, bits = p + 2, masks(nodes_of(n, count))
    kernel, blocks = compiled("packings", size := 8 * (p * n + n + WARPS * (2 * Q * p + Q * Q + 2 * p + bits.shape[1])))
    at, pull = cupy.asarray(np.ascontiguousarray(rows.a.T)), cupy.asarray(rows.pull)
    counts, points, multipliers = np.zeros((count, 2), np.int32), np.zeros((count, Q), np.int32), np.zeros((count, Q))
    sizes = (np.int32(n), np.int32(p), np.int32(count))

    def work() -> None:
        results = [cupy.zeros_like(cupy.asarray(part)) for part in (counts, points, multipliers)]
        kernel((blocks,), (32 * WARPS,), (at, pull, cupy.asarray(bits), *sizes, np.float64(T), *results), shared_mem=size)
        for part, result in zip((counts, points, multipliers), results, strict=True):
            part[:] = result.get()

    seconds = fastest(work)
    check_conflicts(rows.a, points[:CHECKED], multipliers[:CHECKED], T)
    return seconds, counts


def check_conflicts(a: np.ndarray, points: np.ndarray, multipliers: np.ndarray, T: float) -> None:
    """Prove the conflicts in rational arithmetic: (Σu)² ≥ T ||Σ u_i a_i||² for u ≥ 0."""
    for chosen, u in zip(points, multipliers, strict=True):
        places = np.flatnonzero(chosen >= 0)
        weights = [Fraction(x) for x in u[places].tolist()]
        rows = [[Fraction(x) for x in row] for row in a[chosen[places]].tolist()]
        v = [sum(w * row[j] for w, row in zip(weights, rows, strict=True)) for j in range(a.shape[1])]
        assert places.size
        assert min(weights) >= 0
        assert sum(weights) ** 2 >= Fraction(T) * sum(x * x for x in v)


def packings(arguments: argparse.Namespace) -> None:
    """Print a row a batch."""
    rows, T = two_classes(arguments.rows, arguments.coordinates), arguments.norm
    seconds, counts = loop(rows, T)
    per_second = counts[:, 1].sum() / seconds
    print("| where | nodes | conflicts a node | solves a node | solves a second | of the loop |\n|---|---|---|---|---|---|")
    print(f"| one core | {LOOP:,} | {counts[:, 0].mean():.2f} | {counts[:, 1].mean():.1f} | {per_second:,.0f} | 1 |", flush=True)
    if importlib.util.find_spec("cupy") is None:
        print("CuPy is not installed: the kernel is left out")
        return
    for count in BATCHES:
        gpu_seconds, gpu_counts = on_gpu(rows, count, T)
        rate = gpu_counts[:, 1].sum() / gpu_seconds
        difference = np.abs(gpu_counts[:LOOP, 0] - counts[:, 0]).mean()
        conflicts, solves = gpu_counts.mean(axis=0).tolist()
        print(f"| GPU | {count:,} | {conflicts:.2f} | {solves:.1f} | {rate:,.0f} | {rate / per_second:.0f} |")
        print(f"(conflicts of the loop's nodes differ by {difference:.2f} on average)", flush=True)


class Pool:
    """Open nodes, as masks of kept and deleted points; the latest are taken first."""

    def __init__(self, words: int) -> None:
        self.parts = [np.zeros((1, 2 * words), np.uint32)]

    def __len__(self) -> int:
        return sum(map(len, self.parts))

    def take(self) -> np.ndarray:
        """Remove and return up to `ROOTS` nodes."""
        taken: list[np.ndarray] = []
        while self.parts and sum(map(len, taken)) < ROOTS // 2:
            taken.append(self.parts.pop())
        nodes = np.concatenate(taken)
        if len(nodes) > ROOTS:
            self.parts.append(nodes[:-ROOTS])
        return nodes[-ROOTS:]


def search(arguments: argparse.Namespace) -> None:
    """Search a problem of Brooks's set A to its end, or to the limit."""
    import cupy

    data = list(instances.brooks(arguments.rows, arguments.coordinates))[arguments.set]
    model = ZeroOneSVM(np.column_stack([np.ones(data.n), np.asarray(data.X)]), data.y, 2.0 * arguments.C, intercept="free")
    view = ZeroOneBB().view_of(model)
    assert view is not None
    reduced = reduce_problem(view)
    upper = (2.0 * arguments.value - reduced.constant) / reduced.unit
    reduced = reduced.with_intercept_scale(upper)
    assert np.ptp(reduced.weights) == 0.0
    rows = stretched_rows(reduced, np.ones(len(reduced.weights)), upper)
    a = rows.a[:, np.abs(rows.a).max(axis=0) > 0.0]
    n, p = a.shape
    Q, words = p + 2, -(-n // 32)
    size = 8 * (p * n + n + WARPS * (2 * (2 * Q * p + Q * Q + p) + p + 2 * words + 16))
    kernel, blocks = compiled("dfs", size)
    cut = cupy.asarray(np.array([upper * (1.0 - 1e-6)]).view(np.uint64))
    out, levels = cupy.zeros((CAPACITY, 2 * words), np.uint32), cupy.zeros(blocks * WARPS * LEVELS * LEVEL, np.uint32)
    best = cupy.full((blocks * WARPS, p + 1), np.inf)
    fixed = (
        cupy.asarray(np.ascontiguousarray(a.T)), cupy.asarray(rows.pull), np.int32(n), np.int32(p),
        np.float64(rows.intercept_bound), np.float64(reduced.weights[0]), cut,
    )  # fmt: skip
    pool, begin, nodes, unresolved, budget, last_message = Pool(words), time.perf_counter(), 0, 0, 200, 0.0
    while len(pool) and (seconds := time.perf_counter() - begin) < arguments.limit:
        roots, stats = pool.take(), cupy.zeros(5, np.uint64)
        sizes = (np.int32(len(roots)), np.int32(budget), out, np.int32(CAPACITY), levels, stats, best)
        kernel((blocks,), (32 * WARPS,), (*fixed, cupy.asarray(roots), *sizes), shared_mem=size)
        visited, _, uncertified, open_nodes, _ = map(int, stats.get())
        assert open_nodes <= CAPACITY
        if open_nodes:
            pool.parts.append(out[:open_nodes].get())
        nodes, unresolved = nodes + visited, unresolved + uncertified
        spent = time.perf_counter() - begin - seconds
        if len(roots) >= 2000:
            budget = min(2 * budget, 20_000) if spent < SECONDS else max(3 * budget // 4, 200)
        if seconds - last_message > 15.0:
            last_message = seconds
            print(f"{seconds:.0f} s: {nodes:,} nodes, {len(pool):,} open", flush=True)
    seconds, value = time.perf_counter() - begin, (float(best[:, 0].min()) * reduced.unit + reduced.constant) / 2.0
    better = f"a point of {value:.10g} was found" if np.isfinite(value) else "no better point"
    closed = "proved" if not len(pool) and not unresolved else f"{len(pool):,} open, {unresolved:,} without a certificate"
    print(f"set {arguments.set}, C = {arguments.C:g}: {closed}; {seconds:.1f} s, {nodes:,} nodes, {better}")


def main() -> None:
    """Run one of the experiments."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("experiment", choices=("packings", "search"))
    parser.add_argument("--rows", type=int, default=500)
    parser.add_argument("--coordinates", type=int, default=10)
    parser.add_argument("--norm", type=float, default=40.0, help="T, the squared norm that a conflict proves")
    parser.add_argument("--set", type=int, default=4, help="of the five of this size")
    parser.add_argument("--C", type=float, default=1e4)
    parser.add_argument("--value", type=float, default=697420.61, help="the objective of a known point")
    parser.add_argument("--limit", type=float, default=300.0, help="seconds of wall time")
    arguments = parser.parse_args()
    {"packings": packings, "search": search}[arguments.experiment](arguments)


if __name__ == "__main__":
    main()
