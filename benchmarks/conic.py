"""The conic SVM's κ path: conic-ipm and conic-factored beside Clarabel and SCS, called directly, and MOSEK's published totals.

    python benchmarks/conic.py --published conic_table2_times.csv --peers clarabel --cells 1000x30
    python benchmarks/conic.py --scaling
    python benchmarks/conic.py --libsvm sonar.libsvm.bz2 --rows 73

Peers get the leanest statement of Conic (21) known to us (w, W, z, ρ: one 2 × 2 cone for each point), no modelling layer, and
only their right-hand side is updated along the path. They are timed on ``--peer-problems`` values of κ, scaled to the full path.
"""

from __future__ import annotations

import argparse
import csv
import time
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

from marginopt.models.svec import svec, svec_indices, svec_rank_one, svec_size
from marginopt.models.views import ConicProblem
from marginopt.solvers.conic import conic_path
from marginopt.solvers.conic.threads import blas_threads

CELLS = [(n, p) for n in (100, 200, 500, 1000) for p in (3, 5, 10, 30)]


def points(n: int, p: int, rng: np.random.Generator, sigma: float = 0.5) -> np.ndarray:
    """Signed rows of §5.1.1's clustered data with a constant first feature: n × (p + 1)."""
    d = rng.uniform(-1, 1, p)
    centre = 0.5 * d / np.linalg.norm(d)
    k = int(0.45 * n)
    far = n - 2 * k
    X = sigma * rng.standard_normal((n, p))
    X[:k] += centre
    X[k : 2 * k] -= centre
    X[2 * k :] = -10 * centre + sigma * np.sqrt(0.001) * rng.standard_normal((far, p))
    y = np.r_[np.ones(k), -np.ones(k), np.ones(far)]
    return y[:, None] * np.hstack([np.ones((n, 1)), X])


def statement(A: np.ndarray, order: np.ndarray) -> tuple[np.ndarray, sp.csc_matrix, np.ndarray]:
    """(c, F, g) of min c'x: rows budget, ρ ≥ r (n), second-order cones (3n), svec of the lifted matrix (in ``order``)."""
    n, p = A.shape
    m = svec_size(p)
    total = p + m + 2 * n
    W, w, z, rho = sp.csr_matrix(svec_rank_one(A)), sp.csr_matrix(A), sp.eye(n), sp.eye(n)
    zero = sp.csr_matrix
    q = [-2 * w, W, zero((n, n)), zero((n, n))]
    budget = sp.hstack([zero((1, p + m)), -np.ones((1, n)), zero((1, n))])
    rows = sp.hstack([w, zero((n, m + n)), rho])
    triples = sp.vstack(
        [
            sp.hstack([0.5 * q[0], 0.5 * q[1], 0.5 * z, q[3]]),
            sp.hstack([0.5 * q[0], 0.5 * q[1], -0.5 * z, q[3]]),
            sp.hstack([zero((n, p + m + n)), rho]),
        ]
    ).tocsr()[np.arange(3 * n).reshape(3, n).T.ravel()]
    row, column = svec_indices(p + 1)
    lifted = sp.lil_matrix((svec_size(p + 1), total))
    position = np.cumsum(row > 0) - 1
    for k in range(row.size):
        if row[k] > 0:
            lifted[k, p + position[k]] = 1.0
        elif column[k] > 0:
            lifted[k, column[k] - 1] = np.sqrt(2.0)
    g = np.concatenate([[0.0], -np.ones(n), np.tile([0.5, 0.5, 0.0], n), np.r_[1.0, np.zeros(row.size - 1)][order]])
    F = sp.csc_matrix(sp.vstack([budget, rows, triples, lifted.tocsr()[order]]))
    c = np.concatenate([np.zeros(p), svec(np.eye(p)), np.zeros(2 * n)])
    return c, F, g


def by_clarabel(A: np.ndarray, kappas: np.ndarray) -> list[float]:
    """Optima, one solver object, b updated."""
    import clarabel

    n, p = A.shape
    c, F, g = statement(A, np.arange(svec_size(p + 1)))
    cones: list[Any] = [clarabel.NonnegativeConeT(1 + n), *[clarabel.SecondOrderConeT(3)] * n, clarabel.PSDTriangleConeT(p + 1)]
    settings = clarabel.DefaultSettings()
    settings.verbose, settings.presolve_enable, settings.chordal_decomposition_enable = False, False, False
    solver, values = None, []
    for kappa in kappas:
        g[0] = kappa * n
        if solver is None:
            solver = clarabel.DefaultSolver(sp.csc_matrix((c.size, c.size)), c, -F, g, cones, settings)
        else:
            solver.update(b=g)
        values.append(float(solver.solve().obj_val))
    return values


def by_scs(A: np.ndarray, kappas: np.ndarray) -> list[float]:
    """Optima, one workspace, b updated, warm-started; SCS stacks the lower triangle by columns."""
    import scs

    n, p = A.shape
    row, column = svec_indices(p + 1)
    c, F, g = statement(A, np.lexsort((column, row)))
    cone = {"l": 1 + n, "q": [3] * n, "s": [p + 1]}
    g[0] = kappas[0] * n
    solver = scs.SCS({"A": -F, "b": g, "c": c}, cone, verbose=False, eps_abs=1e-6, eps_rel=1e-6, max_iters=50000)
    values = []
    for kappa in kappas:
        g[0] = kappa * n
        solver.update(b=g)
        values.append(float(solver.solve()["info"]["pobj"]))
    return values


PEERS = {"clarabel": by_clarabel, "scs": by_scs}


def compare(A: np.ndarray, kappas: np.ndarray, peers: list[str], count: int) -> dict[str, float]:
    """Seconds of the whole path by each solver, worst gap of ours, worst relative difference of a peer's objective."""
    begun = time.perf_counter()
    ours = conic_path(ConicProblem(A, None, float(kappas[0])), kappas=kappas)
    figures = {
        "conic-ipm": time.perf_counter() - begun,
        "newton_steps": float(np.mean([found.iterations for found in ours])),
        "worst_gap": max(found.relative_gap for found in ours),
    }
    chosen = np.unique(np.linspace(0, kappas.size - 1, min(count, kappas.size)).astype(int))
    for peer in peers:
        begun = time.perf_counter()
        values = PEERS[peer](A, kappas[chosen])
        figures[peer] = (time.perf_counter() - begun) * kappas.size / chosen.size
        exact = np.array([ours[k].point.objective for k in chosen if ours[k].point is not None])
        figures[f"{peer}_difference"] = float(np.abs(np.array(values) / exact - 1.0).max())
    return figures


def published(path: Path | None) -> dict[tuple[int, int], float]:
    """MOSEK's seconds for 100 problems, Conic Table 2."""
    if path is None:
        return {}
    with path.open(newline="") as file:
        rows = [row for row in csv.DictReader(file) if row["method"] == "conic"]
    return {(int(row["n"]), int(row["p"])): float(row["seconds_for_100_problems"]) for row in rows}


def scaling() -> None:
    """Seconds of one solve for n = 1e3 .. 1e5 at p = 10, and the exponent."""
    sizes, seconds = np.array([1000, 3000, 10000, 30000, 100000]), []
    for n in sizes:
        A = points(int(n), 10, np.random.default_rng(0))
        begun = time.perf_counter()
        found = conic_path(ConicProblem(A, None, 0.05), kappas=[0.05])[0]
        seconds.append(time.perf_counter() - begun)
        print(f"n = {n:>7}: {seconds[-1]:7.2f} s, {found.iterations} steps, gap {found.relative_gap:.1e}")
    print(f"exponent {np.polyfit(np.log(sizes), np.log(seconds), 1)[0]:.2f}")


def real(path: Path, rows: int, seed: int) -> np.ndarray:
    """Signed rows of a random part of a two-class set, standardised, with a constant first feature."""
    from sklearn.datasets import load_svmlight_file

    X, y = load_svmlight_file(str(path))
    chosen = np.random.default_rng(seed).permutation(y.size)[:rows]
    dense = X.toarray()[chosen]
    spread = dense.std(axis=0)
    dense = (dense - dense.mean(axis=0)) / np.where(spread > 0, spread, 1.0)
    return y[chosen][:, None] * np.hstack([np.ones((len(chosen), 1)), dense])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cells", nargs="*", default=[f"{n}x{p}" for n, p in CELLS], help="n x p, as 1000x30")
    parser.add_argument("--kappas", type=int, default=100, help="values of κ, uniform in (0, 0.5]")
    parser.add_argument("--peers", nargs="*", default=[], choices=sorted(PEERS))
    parser.add_argument("--peer-problems", type=int, default=3)
    parser.add_argument("--published", type=Path, help="Conic Table 2 as CSV")
    parser.add_argument("--libsvm", type=Path, help="a two-class data set instead of the cells")
    parser.add_argument("--rows", type=int, default=73)
    parser.add_argument("--scaling", action="store_true")
    parser.add_argument("--seed", type=int, default=0)
    given = parser.parse_args()
    if given.scaling:
        scaling()
        return
    kappas = np.linspace(0, 0.5, given.kappas + 1)[1:]
    mosek = published(given.published)
    cells = [tuple(int(part) for part in cell.split("x")) for cell in given.cells]
    sets = [(f"{n} x {p}", points(n, p, np.random.default_rng(given.seed))) for n, p in cells]
    if given.libsvm is not None:
        sets = [(given.libsvm.name, real(given.libsvm, given.rows, given.seed))]
        mosek = {}
    with blas_threads(1, 1):
        conic_path(ConicProblem(points(50, 2, np.random.default_rng(1)), 1.0, None), lams=[1.0])  # imports and page faults
    for k, (name, A) in enumerate(sets):
        figures = compare(A, kappas, given.peers, given.peer_problems)
        shown = "  ".join(f"{key} {value:.3g}" for key, value in figures.items())
        reference = mosek.get(cells[k]) if given.libsvm is None else None
        print(f"{name:>12}: {shown}" + (f"  MOSEK (published) {reference:g}" if reference is not None else ""), flush=True)


if __name__ == "__main__":
    main()
