"""The conic SVM's κ path: conic-ipm beside Clarabel and SCS, called directly, and MOSEK's published totals.

    python benchmarks/conic.py --published conic_table2_times.csv                       every cell of Conic Table 2
    python benchmarks/conic.py --cells 1000x30 --peers clarabel --peer-problems 2       one cell with a peer
    python benchmarks/conic.py --libsvm sonar.libsvm.bz2 --rows 73 --reference 203      a real set
    python benchmarks/conic.py --scaling [--largest 100000]                             cost and memory in n at p = 10
    python benchmarks/conic.py --all --published .. --libsvm .. --reference 203         all of these in one run

Peers get the leanest statement of Conic (21) known to us (`conic_peers`), no modelling layer, and only their right-hand side is
updated along the path. They are timed on ``--peer-problems`` values of κ, spread over the path, and scaled to the full path (the
statement is built once and counted once). With ``--all`` the peers see the cells of ``--peer-cells`` only. Each line has wall
seconds and processor seconds, which a busy machine leaves nearly alone.
"""

from __future__ import annotations

import argparse
import csv
import time
from pathlib import Path

import numpy as np
from conic_peers import PEERS

from marginopt.models.arrays import blas_threads, peak_memory
from marginopt.models.views import ConicProblem
from marginopt.solvers.conic import conic_path

#: The cells (n, p) of Conic Table 2.
CELLS = [(n, p) for n in (100, 200, 500, 1000) for p in (3, 5, 10, 30)]


def points(n: int, p: int, rng: np.random.Generator, sigma: float = 0.5) -> np.ndarray:
    """Draw signed rows (n, p + 1) of §5.1.1's clustered data with a constant first feature."""
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


def by_peer(peer: str, A: np.ndarray, kappas: np.ndarray, count: int) -> tuple[float, np.ndarray, np.ndarray]:
    """Return a peer's wall seconds for the whole path, scaled from ``count`` values of κ, the values' indices and the optima."""
    chosen = np.unique(np.linspace(0, kappas.size - 1, min(count, kappas.size)).astype(int))
    begun = time.perf_counter()
    answers = list(PEERS[peer](A, kappas[chosen]))
    total = time.perf_counter() - begun
    solving = sum(result.seconds for result in answers[1:]) if chosen.size > 1 else total
    first = total - solving if chosen.size > 1 else 0.0
    each = solving / max(chosen.size - 1, 1)
    return first + each * (kappas.size - (chosen.size > 1)), chosen, np.array([result.value for result in answers])


def compare(A: np.ndarray, kappas: np.ndarray, peers: list[str], count: int) -> dict[str, float]:
    """Return the seconds of the whole path by each solver, our worst gap, and the worst relative difference of an optimum."""
    begun, spent = time.perf_counter(), time.process_time()
    ours = conic_path(ConicProblem(A, None, float(kappas[0])), kappas=kappas)
    figures = {
        "conic-ipm": time.perf_counter() - begun,
        "cpu": time.process_time() - spent,
        "newton_steps": float(np.mean([result.iterations for result in ours])),
        "worst_gap": max(result.relative_gap for result in ours),
    }
    for peer in peers:
        spent = time.process_time()
        figures[peer], chosen, values = by_peer(peer, A, kappas, count)
        figures[f"{peer}_cpu"] = (time.process_time() - spent) * kappas.size / chosen.size
        exact = np.array([point.objective for k in chosen if (point := ours[k].point) is not None])
        figures[f"{peer}/ours"] = figures[peer] / figures["conic-ipm"]
        figures[f"{peer}_difference"] = float(np.abs(values / exact - 1.0).max())
    return figures


def published(path: Path | None) -> dict[str, float]:
    """Return MOSEK's published seconds for 100 problems (Conic Table 2) by cell, such as "100x3"; empty without a file."""
    if path is None:
        return {}
    with path.open(newline="") as file:
        rows = [row for row in csv.DictReader(file) if row["method"] == "conic"]
    return {f"{row['n']}x{row['p']}": float(row["seconds_for_100_problems"]) for row in rows}


def scaling(largest: int) -> None:
    """Print the seconds of a solve for n = 1e3 to ``largest`` at p = 10, the peak memory so far, and the growth exponent."""
    sizes = np.array([n for n in (1000, 3000, 10000, 30000, 100000, 300000) if n <= largest])
    seconds, spends = [], []
    for n in sizes:
        A = points(int(n), 10, np.random.default_rng(0))
        begun, spent = time.perf_counter(), time.process_time()
        result = conic_path(ConicProblem(A, None, 0.05), kappas=[0.05])[0]
        seconds.append(time.perf_counter() - begun)
        spends.append(time.process_time() - spent)
        peak = peak_memory() / 2**20
        print(
            f"n = {n:>7}: {seconds[-1]:7.2f} s, cpu {spends[-1]:7.2f} s, {result.iterations} steps, "
            f"gap {result.relative_gap:.1e}, data {A.nbytes / 2**20:.0f} MiB, resident at most {peak:.0f} MiB",
            flush=True,
        )
    if sizes.size > 1:
        slopes = [np.polyfit(np.log(sizes), np.log(of), 1)[0] for of in (seconds, spends)]
        print(f"exponent {slopes[0]:.2f} by the clock, {slopes[1]:.2f} of processor seconds")


def real(path: Path, rows: int, seed: int) -> np.ndarray:
    """Return signed rows of a random part of a two-class set, standardised, with a constant first feature."""
    from sklearn.datasets import load_svmlight_file

    X, y = load_svmlight_file(str(path))
    chosen = np.random.default_rng(seed).permutation(y.size)[:rows]
    dense = X.toarray()[chosen]
    spread = dense.std(axis=0)
    dense = (dense - dense.mean(axis=0)) / np.where(spread > 0, spread, 1.0)
    return y[chosen][:, None] * np.hstack([np.ones((len(chosen), 1)), dense])


def print_figures(name: str, figures: dict[str, float], reference: float | None) -> None:
    """Print a line with the figures of `compare` and the published seconds."""
    shown = "  ".join(f"{key} {value:.3g}" for key, value in figures.items())
    against = "" if reference is None else f"  published {reference:g}, published/ours {reference / figures['conic-ipm']:.2f}"
    print(f"{name:>12}: {shown}{against}", flush=True)


def arguments() -> argparse.Namespace:
    """Return the arguments of the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    names = [f"{n}x{p}" for n, p in CELLS]
    parser.add_argument("--all", action="store_true", help="cells, the real set if given, scaling")
    parser.add_argument("--cells", nargs="*", default=None, help="n x p, as 1000x30; all of Table 2 where nothing else is asked")
    parser.add_argument("--kappas", type=int, default=100, help="values of κ, uniform in (0, 0.5]")
    parser.add_argument("--peers", nargs="*", default=[], choices=sorted(PEERS))
    parser.add_argument("--peer-cells", nargs="*", default=None, help="cells at which the peers run; all where not given")
    parser.add_argument("--peer-problems", type=int, default=3)
    parser.add_argument("--published", type=Path, help="Conic Table 2 as CSV")
    parser.add_argument("--libsvm", type=Path, help="a two-class data set")
    parser.add_argument("--rows", type=int, default=73)
    parser.add_argument("--reference", type=float, help="published seconds of that set")
    parser.add_argument("--scaling", action="store_true")
    parser.add_argument("--largest", type=int, default=100000)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    if options.cells is None:
        options.cells = names if options.all or not (options.scaling or options.libsvm) else []
    return options


def main() -> None:
    """Print the chosen tables."""
    options = arguments()
    kappas = np.linspace(0, 0.5, options.kappas + 1)[1:]
    mosek = published(options.published) if options.kappas == 100 else {}
    with blas_threads(1, 1):
        conic_path(ConicProblem(points(50, 2, np.random.default_rng(1)), 1.0, None), lams=[1.0])  # imports and page faults
    for cell in options.cells:
        n, p = (int(part) for part in cell.split("x"))
        A = points(n, p, np.random.default_rng(options.seed))
        peers = options.peers if options.peer_cells is None or cell in options.peer_cells else []
        print_figures(cell, compare(A, kappas, peers, options.peer_problems), mosek.get(cell))
    if options.libsvm is not None:
        A = real(options.libsvm, options.rows, options.seed)
        peers = options.peers if options.peer_cells is None else []
        print_figures(options.libsvm.name.split(".")[0], compare(A, kappas, peers, options.peer_problems), options.reference)
    if options.scaling or options.all:
        scaling(options.largest)


if __name__ == "__main__":
    main()
