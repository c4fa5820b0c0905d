"""Linear classifiers: rows on disk (ours) against matrices in memory (peers).

min ½||w||² + C Σ (1 - y_i x_i'w)_+^q, the intercept a column of ones. Ours opens the file (`mo.instances.open_rows`) and stops
at a certified gap of 1e-3. A peer is given the matrix in memory and one tolerance after the other, until its objective is within
1e-3 of our bound; what it took at that tolerance is its row (that one has to find it is not counted). All its tolerances together
may take ``--limit`` processor seconds, then it is killed, in the midst of one too.
"""

from __future__ import annotations

import argparse
import os
import tempfile
import time
import warnings
from collections.abc import Callable, Iterator
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

import numpy as np
from cells import growth, in_process, installed, row_of, spent, watched

#: Sizes by effort.
DENSE = {"tiny": (500,), "quick": (20_000, 50_000), "normal": (50_000, 200_000, 1_000_000), "full": (100_000, 300_000, 1_000_000)}
SPARSE = {
    "tiny": (500,),
    "quick": (50_000, 200_000),
    "normal": (200_000, 1_000_000),
    "full": (300_000, 1_000_000, 3_000_000, 10_000_000),
}
#: The module that a peer needs, and the tolerances that it is tried at.
PEERS: dict[str, tuple[str, tuple[float, ...]]] = {
    "liblinear": ("sklearn", (1.0, 0.3, 0.1, 0.03, 0.01, 1e-3)),
    "snapml": ("snapml", (1e-2, 3e-3, 1e-3, 3e-4, 1e-4)),
    "skglm": ("skglm", (1.0, 0.1, 0.01, 1e-3)),
}
GAP = 1e-3
#: By the power.
LOSSES = {1: "hinge", 2: "squared-hinge"}


def arguments(command: argparse.ArgumentParser) -> None:
    command.add_argument("--C", type=float, nargs="+", default=[1.0])
    command.add_argument("--data", nargs="+", default=["dense", "sparse"], help="dense, sparse, w7a")
    command.add_argument("--sizes", type=int, nargs="+", help="of dense and sparse, in place of the effort's")
    command.add_argument("--folder", type=Path, default=Path("out/scale"), help="where generated sets are written")
    command.add_argument("--keep", action="store_true", help="leave the generated sets there")
    command.add_argument("--peers", nargs="*", default=list(PEERS), choices=PEERS)
    command.add_argument("--losses", nargs="+", default=["hinge", "squared"], choices=("hinge", "squared"))
    command.add_argument("--memory-limit", type=float, help="memory_limit of ours, bytes")


def table(a: argparse.Namespace) -> None:
    peers = installed({peer: PEERS[peer][0] for peer in a.peers})
    powers = [power for power, loss in ((1, "hinge"), (2, "squared")) if loss in a.losses]
    a.folder.mkdir(parents=True, exist_ok=True)
    print("| data | n | loss | C | solver | seconds | processor s | MB | gap | |\n|---|---|---|---|---|---|---|---|---|---|")
    rows: list[dict[str, Any]] = []
    for name in a.data:
        sizes = {"dense": DENSE, "sparse": SPARSE}[name][a.effort] if name in ("dense", "sparse") else (0,)
        for n in a.sizes if a.sizes and sizes[0] else sizes:
            path = made(name, n, a.folder) if n else Path(os.environ["MARGINOPT_DATA"]) / f"{name}.libsvm.bz2"
            for C, power in ((C, power) for C in a.C for power in powers):
                case = {"path": str(path), "C": C, "power": power, "limit": a.limit, "memory": a.memory_limit}
                bound: dict[str, float] = {}
                for peer in ("marginopt", *peers):
                    row = in_process("linear", case | {"peer": peer} | bound)
                    rows.append({"data": name, "n": n, "power": power, "C": C, "peer": peer, **row})
                    print(line(rows[-1]), flush=True)
                    if peer == "marginopt" and "bound" not in row:
                        break
                    bound = bound or {"bound": row["bound"]}
            if not a.keep and n:
                path.unlink()
    print(growth(["data", "loss", "C", "solver"], [(named(r), r["n"], r["cpu"]) for r in rows if r.get("gap", 1.0) <= GAP]))


def named(r: dict[str, Any]) -> tuple[str, ...]:
    """Return what is the same in the rows of one growth."""
    return r["data"], "hinge" if r["power"] == 1 else "squared", f"{r['C']:g}", r["peer"]


def line(r: dict[str, Any]) -> str:
    data, *rest = named(r)
    return row_of([data, f"{r['n']:,}" if r["n"] else "all", *rest], r)


# -- data --------------------------------------------------------------------------------------------------------------


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


# -- one cell ----------------------------------------------------------------------------------------------------------


def cell(case: dict[str, Any]) -> dict[str, Any]:
    return ours(case) if case["peer"] == "marginopt" else watched(theirs, case)


def ours(case: dict[str, Any]) -> dict[str, Any]:
    import marginopt as mo

    warnings.simplefilter("ignore")
    with tempfile.TemporaryDirectory() as folder:
        for kind in ("dense", "sparse"):  # compiled code is loaded
            small = mo.instances.open_rows(made(kind, 500, Path(folder)))
            mo.solve(mo.Margin(small.X, small.y, LOSSES[case["power"]], "half-l2"), "linear-newton")
    begin, cpu = time.perf_counter(), time.process_time()
    data = mo.instances.open_rows(case["path"])
    opened = time.process_time() - cpu
    model = mo.Margin(data.X, data.y, LOSSES[case["power"]], "half-l2", sample_weight=case["C"])
    result = mo.solve(model, "linear-newton", tol=GAP, threads=1, memory_limit=case.get("memory"))
    row = spent(begin, cpu) | {
        "opened": opened,
        "objective": result.objective,
        "bound": result.bound,
        "gap": result.certificate.gap,
    }
    return row | {"iterations": result.iterations, "status": f"{result.status}, certified"}


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


def theirs(case: dict[str, Any], to: Connection) -> None:
    """A row for each tolerance, up to the first one at which the objective is near enough to the bound."""
    warnings.simplefilter("ignore")
    X, y = in_memory(Path(case["path"]))
    small = np.linspace(0, y.size - 1, 200).astype(np.int64)
    fitted(case["peer"], case, 0.1)(X[small], y[small])
    to.send({"status": "its data are there"})
    for tol in PEERS[case["peer"]][1]:
        begin, cpu = time.perf_counter(), time.process_time()
        w = np.asarray(fitted(case["peer"], case, tol)(X, y), dtype=np.float64)
        row = spent(begin, cpu) | {"status": f"tolerance {tol:g}"}
        row["objective"] = objective(X, y, w, case["C"], case["power"])
        row["gap"] = (row["objective"] - case["bound"]) / row["objective"]
        to.send(row)
        if row["gap"] <= GAP:
            return
    to.send(row | {"status": row["status"] + ", its last"})
