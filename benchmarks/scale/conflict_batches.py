"""Packings of norm-conflicts in batches: the compiled loop on one core beside one warp of a GPU for each node.

A node of `zero-one-bb` finds conflicts one after another: the least norm that keeps some points is proved to be at least T, their
points are removed, and the next one is looked for. The nodes of a batch do not depend on each other. Each row here is a node of n
points in p coordinates, of which a random share is left; its packing is the sequence of solves until none proves T. Both sides
run Goldfarb and Idnani's dual method with the steepest of each lane's most violated points, in double precision, and count a
conflict by its certificate alone (`active_set.certified`: any multipliers bound the norm, and rounding is subtracted). The rows
are in the memory that a block's warps share: n(p + 1) + 8(3p² + 10p + 4) numbers, at most 28,000.

``python benchmarks/scale/conflict_batches.py`` measures the loop; with CuPy and a GPU the kernel as well, transfers included.
The fastest of three repetitions counts.
"""

from __future__ import annotations

import argparse
import importlib.util
import time
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np

from marginopt.solvers.interface.numba_flags import FAST, Loops
from marginopt.solvers.zero_one.incumbent import _layouts
from marginopt.solvers.zero_one.loops.conflicts import CONFLICT, ConflictRows, active_set, empty_scratch, no_active

#: Nodes of the batches; those that the loop takes.
BATCHES, LOOP = (4096, 65536, 524288), 1024
#: Conflicts of each batch that are proved again in rational arithmetic.
CHECKED = 500
#: Warps of a block.
WARPS = 8

KERNEL = r"""
#define FULL 0xffffffffu
#define EPS 1.1102230246251565e-16
__device__ double total(double x) {
    for (int s = 16; s; s >>= 1) x += __shfl_xor_sync(FULL, x, s);
    return x;
}
__device__ double least(double x) {
    for (int s = 16; s; s >>= 1) x = fmin(x, __shfl_xor_sync(FULL, x, s));
    return x;
}
// Orthogonalise row k of g against V[:k] by Gram-Schmidt, twice: z of norm *rest, R[:k, k].
__device__ double orthogonalise(const double* g, const double* V, double* R, double* z, int k, int p, int Q, int lane) {
    if (lane < p) z[lane] = g[k * p + lane];
    if (lane < k) R[lane * Q + k] = 0.0;
    __syncwarp();
    for (int turn = 0; turn < 2; turn++) {
        double t = 0.0;
        if (lane < k) {
            for (int j = 0; j < p; j++) t += V[lane * p + j] * z[j];
            R[lane * Q + k] += t;
        }
        double x = lane < p ? z[lane] : 0.0;
        for (int a = 0; a < k; a++) {
            double ta = __shfl_sync(FULL, t, a);
            if (lane < p) x -= ta * V[a * p + lane];
        }
        __syncwarp();
        if (lane < p) z[lane] = x;
        __syncwarp();
    }
    return sqrt(total(lane < p ? z[lane] * z[lane] : 0.0));
}
// Remove row `drop` of the k factored rows; shift the later ones and row k up; z gains row k's part along the direction lost.
__device__ double exclude(double* g, double* V, double* R, double* z, int k, int drop, int p, int Q, int lane) {
    for (int a = drop; a < k; a++) {
        if (lane < p) g[a * p + lane] = g[(a + 1) * p + lane];
        double x = lane < min(a + 2, k) ? R[lane * Q + a + 1] : 0.0;
        __syncwarp();
        if (lane < min(a + 2, k)) R[lane * Q + a] = x;
        __syncwarp();
    }
    for (int a = drop; a < k - 1; a++) {
        double x = R[a * Q + a], y = R[(a + 1) * Q + a], size = sqrt(x * x + y * y);
        double c = size > 0.0 ? x / size : 1.0, s = size > 0.0 ? y / size : 0.0;
        __syncwarp();
        if (lane == 0) R[a * Q + a] = fmax(size, 1e-300);
        if (lane > a && lane < k) {
            double f = R[a * Q + lane], h = R[(a + 1) * Q + lane];
            R[a * Q + lane] = c * f + s * h, R[(a + 1) * Q + lane] = c * h - s * f;
        }
        if (lane < p) {
            double f = V[a * p + lane], h = V[(a + 1) * p + lane];
            V[a * p + lane] = c * f + s * h, V[(a + 1) * p + lane] = c * h - s * f;
        }
        __syncwarp();
    }
    if (lane < p) z[lane] += R[(k - 1) * Q + k - 1] * V[(k - 1) * p + lane];
    __syncwarp();
    return sqrt(total(lane < p ? z[lane] * z[lane] : 0.0));
}
// A proved bound of the least squared norm from multipliers u (lane k holds u_k) of q constraints g'w >= 1.
__device__ double certified(const double* g, double u, int q, int p, int lane) {
    double norm = 0.0, v = 0.0;
    if (lane < q) for (int j = 0; j < p; j++) norm += g[lane * p + j] * g[lane * p + j];
    double sum = total(lane < q ? u : 0.0), size = total(lane < q ? u * sqrt(norm) : 0.0);
    for (int k = 0; k < q; k++) {
        double uk = __shfl_sync(FULL, u, k);
        if (lane < p) v += uk * g[k * p + lane];
    }
    double err = 4.0 * EPS * (q + p + 40) * size, gain = sum * (1.0 - 2.0 * EPS * (q + 40));
    double length = sqrt(total(lane < p ? v * v : 0.0)) * (1.0 + EPS * (p + 40)) + err;
    if (!(gain > 0.0)) return 0.0;
    double ratio = gain / length;
    return ratio * ratio * (1.0 - 8.0 * EPS);
}
// One warp a node: conflicts, their points removed, until none is proved. counts[node] = (conflicts, solves, steps); points and
// multipliers are those of the node's last conflict.
extern "C" __global__ void packings(const double* at, const double* pull, const unsigned* open, int n, int p, int nodes, double T,
                                    int* counts, int* points, double* multipliers) {
    extern __shared__ double shared[];
    int lane = threadIdx.x & 31, warp = threadIdx.x >> 5, warps = blockDim.x >> 5, Q = p + 2, words = (n + 31) / 32;
    double *A = shared, *P = A + p * n, *own = P + n + warp * (2 * Q * p + Q * Q + 2 * p + (words + 1) / 2);
    for (int t = threadIdx.x; t < p * n; t += blockDim.x) A[t] = at[t];
    for (int t = threadIdx.x; t < n; t += blockDim.x) P[t] = pull[t];
    __syncthreads();
    double *g = own, *V = g + Q * p, *R = V + Q * p, *z = R + Q * Q, *w = z + p;
    unsigned* left = (unsigned*)(w + p);
    for (int node = blockIdx.x * warps + warp; node < nodes; node += gridDim.x * warps) {
        for (int t = lane; t < words; t += 32) left[t] = open[node * words + t];
        int conflicts = 0, solves = 0, steps = 0;
        bool more = true;
        while (more) {
            int q = 0, point = -1; // lane k holds u_k and the point of constraint k
            double u = 0.0;
            more = false;
            solves++;
            if (lane < p) w[lane] = 0.0;
            __syncwarp();
            for (int turn = 0; turn < 60 * (p + 4); turn++) {
                double top = 0.0;
                int first = -1;
                for (int i = lane, b = 0; i < n; i += 32, b++) {
                    double m = 0.0;
                    for (int j = 0; j < p; j++) m += w[j] * A[j * n + i];
                    double violation = (1.0 - 1e-11 - m) * P[i];
                    if (violation > top && (left[b] >> lane & 1u)) top = violation, first = i;
                }
                double largest = -least(-top);
                if (!(largest > 0.0)) break;
                double worth = -1.0;
                if (top >= 0.5 * largest) { // the steepest edge among the lanes' points
                    double rest = 0.0;
                    for (int j = 0; j < p; j++) rest += A[j * n + first] * A[j * n + first];
                    for (int c = 0; c < q; c++) {
                        double x = 0.0;
                        for (int j = 0; j < p; j++) x += V[c * p + j] * A[j * n + first];
                        rest -= x * x;
                    }
                    worth = top * top / fmin(fmax(rest * P[first] * P[first], 0.05), 1.0);
                }
                double best = -least(-worth);
                first = __shfl_sync(FULL, first, __ffs(__ballot_sync(FULL, worth == best)) - 1);
                if (__ballot_sync(FULL, lane < q && point == first)) break;
                if (lane < p) g[q * p + lane] = A[lane * n + first];
                __syncwarp();
                double size = sqrt(total(lane < p ? g[q * p + lane] * g[q * p + lane] : 0.0));
                double rest = orthogonalise(g, V, R, z, q, p, Q, lane), up = 0.0;
                bool proved = false, stuck = false;
                steps++;
                while (true) {
                    double r = lane < q ? R[lane * Q + q] : 0.0; // r = R[:q, :q]^-1 R[:q, q]
                    for (int b = q - 1; b >= 0; b--) {
                        double rb = __shfl_sync(FULL, r, b) / R[b * Q + b];
                        if (lane == b) r = rb;
                        if (lane < b) r -= R[lane * Q + b] * rb;
                    }
                    double limit = lane < q && r > 1e-12 ? u / r : CUDART_INF, t1 = least(limit);
                    unsigned at_limit = __ballot_sync(FULL, limit == t1 && t1 < CUDART_INF);
                    int drop = at_limit ? __ffs(at_limit) - 1 : -1;
                    double violation = 1.0 - total(lane < p ? g[q * p + lane] * w[lane] : 0.0);
                    bool independent = rest > 1e-12 * size && q < p;
                    double t2 = independent ? fmax(violation, 0.0) / (rest * rest) : CUDART_INF;
                    if (lane == q) point = first;
                    if (t1 == CUDART_INF && t2 == CUDART_INF) { // Farkas: the rows combine to (nearly) zero
                        u = lane < q ? fmax(-r, 0.0) : lane == q ? 1.0 : 0.0;
                        proved = certified(g, u, q + 1, p, lane) >= T;
                        stuck = !proved;
                        q++;
                        break;
                    }
                    double step = fmin(t1, t2);
                    up += step;
                    if (independent && lane < p) w[lane] += step * z[lane];
                    if (lane < q) u = fmax(u - step * r, 0.0);
                    if (lane == q) u = up;
                    __syncwarp();
                    double sum = total(lane <= q ? u : 0.0), norm = total(lane < p ? w[lane] * w[lane] : 0.0);
                    if (sum > 0.0 && sum * sum >= T * norm && certified(g, u, q + 1, p, lane) >= T) {
                        proved = true;
                        q++;
                        break;
                    }
                    if (t1 < t2) {
                        rest = exclude(g, V, R, z, q, drop, p, Q, lane);
                        double later = __shfl_down_sync(FULL, u, 1);
                        int other = __shfl_down_sync(FULL, point, 1);
                        if (lane >= drop) u = later, point = other;
                        q--;
                        continue;
                    }
                    if (lane == 0) R[q * Q + q] = fmax(rest, 1e-300);
                    if (lane < p) V[q * p + lane] = z[lane] / fmax(rest, 1e-300);
                    __syncwarp();
                    q++;
                    break;
                }
                if (proved) { // its points are removed, and the next one is looked for
                    conflicts++;
                    if (lane < Q) points[node * Q + lane] = lane < q ? point : -1;
                    if (lane < Q) multipliers[node * Q + lane] = lane < q ? u : 0.0;
                    if (lane < q) atomicAnd(&left[point >> 5], ~(1u << (point & 31)));
                    __syncwarp();
                    more = true;
                }
                if (proved || stuck) break;
            }
        }
        if (lane == 0) counts[3 * node] = conflicts, counts[3 * node + 1] = solves, counts[3 * node + 2] = steps;
        __syncwarp();
    }
}
"""


@Loops(FAST).entry
def pack(rows: Any, left: Any, priority: Any, T: float, active: Any, scratch: Any, counts: Any) -> None:
    """Pack the conflicts of every node with the loop of the engine; ``counts`` takes conflicts and solves."""
    for k in range(left.shape[0]):
        while True:
            active.count[0] = active.ready[0] = 0
            for j in range(active.w.size):
                active.w[j] = 0.0
            status, _ = active_set(rows, left[k], priority, T, active, scratch)
            counts[k, 1] += 1
            if status != CONFLICT:
                break
            counts[k, 0] += 1
            for a in range(active.count[0]):
                left[k, active.pair[a, 0]] = False


def problem(n: int, p: int) -> tuple[np.ndarray, Any]:
    """Return the rows y_i x_i of two overlapping classes, as a matrix and as the engine's record."""
    rng = np.random.default_rng(0)
    y = np.where(rng.random(n) < 0.5, 1.0, -1.0)
    a = np.ascontiguousarray(y[:, None] * (rng.normal(size=(n, p)) + 0.5 * y[:, None] / np.sqrt(p)))
    pull = 1.0 / np.linalg.norm(a, axis=1)
    return a, ConflictRows(*_layouts(a, pull), np.zeros(n), np.ones(n), pull, False, 0.0, False)


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


def loop(rows: Any, n: int, p: int, T: float) -> tuple[float, np.ndarray]:
    """Return seconds and counts of the loop on one core."""
    open_points, counts = nodes_of(n, LOOP), np.zeros((LOOP, 2), np.int64)

    def work() -> None:
        counts[:] = 0
        pack(rows, open_points.copy(), np.ones(n), T, no_active(p), empty_scratch(n, p), counts)

    return fastest(work), counts


def on_gpu(a: np.ndarray, count: int, T: float) -> tuple[float, np.ndarray]:
    """Return seconds, transfers included, and counts of the kernel."""
    import cupy

    n, p = a.shape
    open_points = nodes_of(n, count)
    padded = np.zeros((count, 32 * (-(-n // 32))), np.bool_)
    padded[:, :n] = open_points
    bits = np.ascontiguousarray(np.packbits(padded, axis=1, bitorder="little").view(np.uint32))
    kernel = cupy.RawKernel("#include <math_constants.h>\n" + KERNEL, "packings")
    Q, words = p + 2, bits.shape[1]
    size = 8 * (p * n + n + WARPS * (2 * Q * p + Q * Q + 2 * p + (words + 1) // 2))
    kernel.max_dynamic_shared_size_bytes = size
    at, pull = cupy.asarray(np.ascontiguousarray(a.T)), cupy.asarray(1.0 / np.linalg.norm(a, axis=1))
    blocks = min(-(-count // WARPS), 132 * max(1, 220_000 // size))
    counts, points, multipliers = np.zeros((count, 3), np.int32), np.zeros((count, Q), np.int32), np.zeros((count, Q))
    sizes = (np.int32(n), np.int32(p), np.int32(count))

    def work() -> None:
        results = [cupy.zeros_like(cupy.asarray(part)) for part in (counts, points, multipliers)]
        kernel((blocks,), (32 * WARPS,), (at, pull, cupy.asarray(bits), *sizes, np.float64(T), *results), shared_mem=size)
        for part, result in zip((counts, points, multipliers), results, strict=True):
            part[:] = result.get()

    seconds = fastest(work)
    check_conflicts(a, points[:CHECKED], multipliers[:CHECKED], T)
    return seconds, counts


def check_conflicts(a: np.ndarray, points: np.ndarray, multipliers: np.ndarray, T: float) -> None:
    """Prove the conflicts in rational arithmetic: (Σu)² ≥ T ||Σ u_i a_i||² for u ≥ 0."""
    for chosen, u in zip(points, multipliers, strict=True):
        kept = np.flatnonzero(chosen >= 0)
        weights = [Fraction(x) for x in u[kept].tolist()]
        rows = [[Fraction(x) for x in row] for row in a[chosen[kept]].tolist()]
        v = [sum(w * row[j] for w, row in zip(weights, rows, strict=True)) for j in range(a.shape[1])]
        assert kept.size and min(weights) >= 0 and sum(weights) ** 2 >= Fraction(T) * sum(x * x for x in v)


def main() -> None:
    """Print a row a batch."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=500)
    parser.add_argument("--coordinates", type=int, default=10)
    parser.add_argument("--norm", type=float, default=40.0, help="T, the squared norm that a conflict proves")
    arguments = parser.parse_args()
    n, p, T = arguments.rows, arguments.coordinates, arguments.norm
    a, rows = problem(n, p)
    seconds, counts = loop(rows, n, p, T)
    per_second = counts[:, 1].sum() / seconds
    print("| where | nodes | conflicts a node | solves a node | solves a second | of the loop |\n|---|---|---|---|---|---|")
    print(f"| one core | {LOOP:,} | {counts[:, 0].mean():.2f} | {counts[:, 1].mean():.1f} | {per_second:,.0f} | 1 |", flush=True)
    if importlib.util.find_spec("cupy") is None:
        print("CuPy is not installed: the kernel is left out")
        return
    for count in BATCHES:
        gpu_seconds, found = on_gpu(a, count, T)
        rate = found[:, 1].sum() / gpu_seconds
        difference = np.abs(found[:LOOP, 0] - counts[:, 0]).mean()
        print(
            f"| GPU | {count:,} | {found[:, 0].mean():.2f} | {found[:, 1].mean():.1f} | {rate:,.0f} | {rate / per_second:.0f} |"
        )
        steps = found[:, 2].sum() / found[:, 1].sum()
        print(f"(conflicts of the loop's nodes differ by {difference:.2f} on average; {steps:.1f} steps a solve)", flush=True)


if __name__ == "__main__":
    main()
