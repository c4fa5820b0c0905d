"""The largest problems of one machine, with peers on the same problems in the same run; peak memory and growth with n.

    python benchmarks/scale.py linear               # linear classifiers: rows on disk (ours) against matrices in memory (peers)
    python benchmarks/scale.py kernel               # LIBSVM's problem and the L2-SVM, RBF: ours, LIBSVM, oneDAL
    python benchmarks/scale.py search               # the exact search on two worker processes (benchmarks/scale/search.py)

``--effort quick`` takes a minute or two, ``normal`` a quarter of an hour, ``full`` has the sizes of a million and more. Peers
that are not installed are skipped, and it says which: ``pip install scikit-learn-intelex snapml skglm`` (LIBLINEAR and LIBSVM
come with scikit-learn). ``--data w7a`` reads w7a.libsvm.bz2 from the directory of MARGINOPT_DATA.

*Linear*: min ½||w||² + C Σ (1 - y_i x_i'w)_+^q, the intercept a column of ones. Ours opens the file (`mo.open_rows`) and
stops at a certified gap of 1e-3. A peer is given the matrix in memory and one tolerance after the other, until its objective is
within 1e-3 of our bound; what it took at that tolerance is its row (that one has to find it is not counted). Every case is a
process of its own with one thread; "MB" is the most that the process ever held, the interpreter and its packages included.
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import os
import resource
import subprocess
import sys
import time
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

THREADS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS")
#: Sizes by effort.
DENSE = {"quick": (20_000, 50_000), "normal": (50_000, 200_000, 1_000_000), "full": (100_000, 300_000, 1_000_000)}
SPARSE = {"quick": (50_000, 200_000), "normal": (200_000, 1_000_000), "full": (300_000, 1_000_000, 3_000_000, 10_000_000)}
KERNEL = {"quick": (3_000,), "normal": (5_000, 20_000), "full": (10_000, 20_000, 50_000)}
#: The module that a peer needs, and the tolerances that it is tried at.
PEERS: dict[str, tuple[str, tuple[float, ...]]] = {
    "liblinear": ("sklearn", (1.0, 0.3, 0.1, 0.03, 0.01, 1e-3)),
    "snapml": ("snapml", (1e-2, 3e-3, 1e-3, 3e-4, 1e-4)),
    "skglm": ("skglm", (1.0, 0.1, 0.01, 1e-3)),
}
GAP = 1e-3


# -- data ------------------------------------------------------------------------------------------------------------


def made(kind: str, n: int, folder: Path) -> Path:
    """The file of a generated set: dense n × 100, Gaussian classes; sparse n × 50, ten entries in a row. Written once."""
    path = folder / f"{kind}-{n}.npz"
    if path.exists():
        return path
    rng = np.random.default_rng(0)
    y = np.where(rng.random(n) < 0.5, 1.0, -1.0)
    if kind == "dense":
        shift = 1.2 * rng.standard_normal(100) / 10.0
        X = np.empty((n, 100))
        for part in parts(n):
            X[part] = rng.standard_normal((part.stop - part.start, 100)) + y[part, None] * shift
        np.savez(path, X=X, y=y)
        return path
    columns = np.empty((n, 10), dtype=np.int32)
    for part in parts(n):  # ten of fifty, in order
        columns[part] = np.sort(rng.random((part.stop - part.start, 50)).argpartition(10, axis=1)[:, :10], axis=1)
    values = rng.standard_normal((n, 10)).astype(np.float32)
    values += 0.25 * (y[:, None] * rng.standard_normal(50)[columns]).astype(np.float32)
    indptr = np.arange(0, 10 * n + 1, 10, dtype=np.int64)
    np.savez(path, X_data=values.ravel(), X_indices=columns.ravel(), X_indptr=indptr, X_shape=np.array([n, 50]), y=y)
    return path


def parts(n: int) -> Iterator[slice]:
    for start in range(0, n, 100_000):
        yield slice(start, min(start + 100_000, n))


def in_memory(path: Path) -> tuple[Any, Any]:
    """The matrix, a column of ones first, as a peer is given it; dense in the dtype of the file."""
    import scipy.sparse as sp

    if path.suffix != ".npz":
        from marginopt.instances import read

        data = read(path)
        return with_ones(sp.csr_matrix(data.X)), data.y
    stored = np.load(path)
    y = stored["y"]
    if "X" in stored:
        X = np.ones((y.size, 1 + stored["X"].shape[1]))
        X[:, 1:] = stored["X"]
        return X, y
    data = stored["X_data"].astype(np.float64)
    csr = sp.csr_matrix((data, stored["X_indices"], stored["X_indptr"].astype(np.int32)), shape=tuple(stored["X_shape"]))
    return with_ones(csr), y


def with_ones(X: Any) -> Any:
    """A column of ones first; 32-bit indices, which LIBLINEAR and skglm ask for."""
    import scipy.sparse as sp

    whole = sp.csr_matrix(sp.hstack([np.ones((X.shape[0], 1)), X], format="csr"))
    whole.indices, whole.indptr = whole.indices.astype(np.int32), whole.indptr.astype(np.int32)
    return whole


def objective(X: Any, y: Any, w: Any, C: float, power: int) -> float:
    """½||w||² + C Σ (1 - y x'w)_+^q."""
    return 0.5 * float(w @ w) + C * sum(float((np.maximum(1.0 - y[k] * (X[k] @ w), 0.0) ** power).sum()) for k in parts(y.size))


# -- one case, in a process of its own -------------------------------------------------------------------------------


def ours(case: dict[str, Any]) -> dict[str, Any]:
    import marginopt as mo
    from marginopt.margin import Hinge, SquaredHinge

    warnings.simplefilter("ignore")
    small = np.random.default_rng(0).standard_normal((300, 3))
    y = np.where(small[:, 0] > 0, 1.0, -1.0)
    import scipy.sparse as sp

    for matrix in (small, sp.csr_array(small)):
        mo.solve(mo.HingeSVM(matrix, y, 1.0), "linear-newton")  # compiled code is loaded
    begin, cpu = time.perf_counter(), time.process_time()
    data = mo.open_rows(case["path"])
    opened = time.process_time() - cpu
    loss = Hinge() if case["power"] == 1 else SquaredHinge()
    model = mo.Margin(data.X, data.y, loss, "half-l2", weights=case["C"])
    result = mo.solve(model, "linear-newton", tol=GAP, threads=1, memory_limit=case.get("memory"))
    row = {"seconds": time.perf_counter() - begin, "cpu": time.process_time() - cpu, "opened": opened}
    row |= {"objective": result.objective, "bound": result.bound, "gap": result.certificate.gap}
    return row | {"iterations": result.iterations, "note": f"{result.status}, certified"}


def fitted(peer: str, case: dict[str, Any], tol: float) -> Callable[[Any, Any], Any]:
    """The coefficients that a peer gives at a tolerance."""
    C, square = case["C"], case["power"] == 2
    if peer == "liblinear":
        from sklearn.svm import LinearSVC

        loss = "squared_hinge" if square else "hinge"
        machine = LinearSVC(C=C, loss=loss, tol=tol, fit_intercept=False, dual=not square, max_iter=3000, random_state=0)
        return lambda X, y: machine.fit(X, y).coef_[0]
    if peer == "snapml":
        from snapml import SupportVectorMachine

        loss = "squared_hinge" if square else "hinge"
        other = SupportVectorMachine(loss=loss, regularizer=1.0 / C, tol=tol, max_iter=3000, fit_intercept=False, n_jobs=1)
        return lambda X, y: np.ravel(other.fit(X, y).coef_)
    from skglm import LinearSVC as Dual

    if square:
        raise ValueError("it has no squared hinge")
    last = Dual(C=C, tol=tol, fit_intercept=False, max_iter=3000)
    return lambda X, y: np.ravel(last.fit(X, y).coef_)


def theirs(case: dict[str, Any]) -> dict[str, Any]:
    """The first tolerance at which the objective is near enough to the bound."""
    warnings.simplefilter("ignore")
    X, y = in_memory(Path(case["path"]))
    small = np.linspace(0, y.size - 1, 200).astype(np.int64)
    fitted(case["peer"], case, 0.1)(X[small], y[small])
    row: dict[str, Any] = {}
    start = time.perf_counter()
    for tol in PEERS[case["peer"]][1]:
        begin, cpu = time.perf_counter(), time.process_time()
        w = np.asarray(fitted(case["peer"], case, tol)(X, y), dtype=np.float64)
        row = {"seconds": time.perf_counter() - begin, "cpu": time.process_time() - cpu, "note": f"tolerance {tol:g}"}
        row["objective"] = objective(X, y, w, case["C"], case["power"])
        row["gap"] = (row["objective"] - case["bound"]) / row["objective"]
        if row["gap"] <= GAP:
            return row
        if time.perf_counter() - start > case["limit"]:
            break
    return row | {"note": row["note"] + ", its last"}


def in_process(case: dict[str, Any]) -> dict[str, Any]:
    environment = {**os.environ, **dict.fromkeys(THREADS, "1")}
    command = [sys.executable, __file__, "--case", json.dumps(case)]
    try:
        done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=3 * case["limit"] + 300)
    except subprocess.TimeoutExpired:
        return {"note": "stopped: far over the time limit"}
    if done.returncode:
        return {"note": (done.stderr.strip().splitlines() or [f"ended with {done.returncode}"])[-1][:90]}
    return dict(json.loads(done.stdout.strip().splitlines()[-1]))


# -- tables ----------------------------------------------------------------------------------------------------------


def linear(a: argparse.Namespace) -> None:
    peers = [peer for peer, (module, _) in PEERS.items() if importlib.util.find_spec(module) is not None]
    for peer in PEERS.keys() - set(peers):
        print(f"{peer} is not installed: pip install {PEERS[peer][0]}")
    a.folder.mkdir(parents=True, exist_ok=True)
    print("| data | n | loss | C | solver | seconds | processor s | MB | gap | |\n|---|---|---|---|---|---|---|---|---|---|")
    rows: list[dict[str, Any]] = []
    for name in a.data:
        sizes: tuple[int, ...] = {"dense": DENSE, "sparse": SPARSE}.get(name, {a.effort: (0,)})[a.effort]
        for n in sizes:
            path = made(name, n, a.folder) if n else Path(os.environ["MARGINOPT_DATA"]) / f"{name}.libsvm.bz2"
            for C, power in ((C, power) for C in a.C for power in (1, 2)):
                case = {"path": str(path), "C": C, "power": power, "limit": a.limit, "memory": a.memory}
                first = in_process(case | {"peer": "marginopt"})
                found = [("marginopt", first)]
                if "bound" in first:
                    found += [(peer, in_process(case | {"peer": peer, "bound": first["bound"]})) for peer in peers]
                for peer, row in found:
                    rows.append({"data": name, "n": n, "power": power, "C": C, "peer": peer, **row})
                    print(line(rows[-1]), flush=True)
            if not a.keep and n:
                path.unlink()
    print(growth(rows))


def line(r: dict[str, Any]) -> str:
    loss = "hinge" if r["power"] == 1 else "squared"
    numbers = [f"{r[k]:.{d}f}" if k in r else "" for k, d in (("seconds", 1), ("cpu", 1), ("MB", 0))]
    gap = f"{r['gap']:.1e}" if "gap" in r else ""
    size = f"{r['n']:,}" if r["n"] else "all"
    return "| " + " | ".join([r["data"], size, loss, f"{r['C']:g}", r["peer"], *numbers, gap, r.get("note", "")]) + " |"


def growth(rows: list[dict[str, Any]]) -> str:
    """Exponents of n: slopes of the logarithm of processor seconds, of those that reached the gap."""
    lines = ["", "| data | loss | C | solver | processor s grow as n to the |", "|---|---|---|---|---|"]
    for key in dict.fromkeys((r["data"], r["power"], r["C"], r["peer"]) for r in rows):
        mine = [r for r in rows if (r["data"], r["power"], r["C"], r["peer"]) == key and r.get("gap", 1.0) <= GAP]
        if len(mine) > 1:
            slope = np.polyfit(np.log([r["n"] for r in mine]), np.log([r["cpu"] for r in mine]), 1)[0]
            loss = "hinge" if key[1] == 1 else "squared"
            lines.append(f"| {key[0]} | {loss} | {key[2]:g} | {key[3]} | {slope:.2f} |")
    return "\n".join(lines)


def kernel(a: argparse.Namespace) -> None:
    """The cases of benchmarks/simplex.py at these sizes."""
    import simplex

    rows: list[dict[str, Any]] = []
    for name in a.sets:
        for n in KERNEL[a.effort]:
            for C in a.C:
                shared = {"data": name, "kernel": "rbf", "n": n, "C": C, "threads": a.threads, "time_limit": a.limit}
                shared |= {"cache_mb": 2000, "touch_mb": 0, "svc_tol": 1e-3, "one_class_tol": 1e-2}
                violation = None
                for peer in ("svc", "onedal", "smo-box", "smo"):
                    if not simplex.available(peer):
                        print(f"{peer} is not installed")
                        continue
                    row = {**shared, "peer": peer, "tol": 1e-3}
                    if peer == "smo-box" and violation is not None:
                        row["violation"] = violation  # what the last peer reached, and a gap of 1e-3 at most
                    row |= simplex.in_process(row)
                    violation = row.get("violation", violation) if peer in ("svc", "onedal") else violation
                    rows.append(row)
                    said = ("data", "n", "C", "peer", "cpu", "gap", "violation", "peak_mb", "status")
                    print({k: row.get(k) for k in said}, flush=True)
    print(simplex.table(rows, "onedal") + "\n" + simplex.exponents(rows))


def search(a: argparse.Namespace) -> None:
    """One process against two workers."""
    size = {"quick": "250", "normal": "450", "full": "500"}[a.effort]
    features = ["--p", "6", "--lam", "1"] if a.effort == "full" else []
    script = Path(__file__).parent / "scale" / "search.py"
    subprocess.run([sys.executable, str(script), "measure", "--n", size, *features, "--repeat", "1"], check=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--case", help=argparse.SUPPRESS)
    commands = parser.add_subparsers()
    for name, run in (("linear", linear), ("kernel", kernel), ("search", search)):
        command = commands.add_parser(name)
        command.add_argument("--effort", choices=("quick", "normal", "full"), default="normal")
        command.add_argument("--C", type=float, nargs="+", default=[1.0])
        command.add_argument("--limit", type=float, default=300.0, help="seconds for a case")
        if name == "linear":
            command.add_argument("--data", nargs="+", default=["dense", "sparse"], help="dense, sparse, w7a")
            command.add_argument("--folder", type=Path, default=Path("out/scale"), help="where generated sets are written")
            command.add_argument("--keep", action="store_true", help="leave the generated sets there")
            command.add_argument("--memory", type=float, help="memory_limit of ours, bytes")
        if name == "kernel":
            command.add_argument("--sets", nargs="+", default=["gauss", "sparse", "a5a"])
            command.add_argument("--threads", type=int, default=1)
        command.set_defaults(run=run)
    a = parser.parse_args()
    if a.case:
        case = json.loads(a.case)
        row = ours(case) if case["peer"] == "marginopt" else theirs(case)
        print(json.dumps(row | {"MB": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024.0}))
        return
    a.run(a)


if __name__ == "__main__":
    main()
