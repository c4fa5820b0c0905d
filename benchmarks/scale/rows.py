"""Linear classifiers: rows on disk (ours) against matrices in memory (peers).

min ½||w||² + C Σ ℓ(y_i x_i'w) with the hinge, its square or the logistic loss, the intercept a column of ones. Ours opens the
file (`mo.instances.open_rows`) and stops at a certified gap of 1e-3. A peer is given the matrix in memory and one tolerance after
the other, until its objective is within 1e-3 of our bound; what it took at that tolerance is its row (that one has to find it is
not counted). All its tolerances together may take ``--limit`` processor seconds, then it is killed, in the midst of one too.
"""

from __future__ import annotations

import argparse
import itertools
import os
import tempfile
import time
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
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
WIDE = {"tiny": (500,), "quick": (50_000,), "normal": (200_000, 1_000_000), "full": (300_000, 1_000_000)}
SIZES = {"dense": DENSE, "sparse": SPARSE, "wide": WIDE}
#: Columns of the sparse sets, ten entries in each row.
COLUMNS = {"sparse": 50, "wide": 1_000}
LOSSES = ("hinge", "squared-hinge", "logistic")


@dataclass(frozen=True)
class Peer:
    """The module that a peer needs, the tolerances that it is tried at, and the losses that it has."""

    module: str
    tolerances: tuple[float, ...]
    losses: tuple[str, ...] = LOSSES


#: ``liblinear`` is the algorithm that scikit-learn takes for the loss: -s 3, -s 2 and -s 0. ``liblinear-dual`` is -s 7.
PEERS = {
    "liblinear": Peer("sklearn", (1.0, 0.3, 0.1, 0.03, 0.01, 1e-3, 1e-4)),
    "liblinear-dual": Peer("sklearn", (1.0, 0.3, 0.1, 0.03, 0.01, 1e-3), ("logistic",)),
    "snapml": Peer("snapml", (1e-2, 3e-3, 1e-3, 3e-4, 1e-4)),
    "skglm": Peer("skglm", (1.0, 0.1, 0.01, 1e-3), ("hinge",)),
}
GAP = 1e-3


def arguments(command: argparse.ArgumentParser) -> None:
    command.add_argument("--C", type=float, nargs="+", default=[1.0])
    command.add_argument("--data", nargs="+", default=["dense", "sparse"], help="dense, sparse, wide, w7a")
    command.add_argument("--sizes", type=int, nargs="+", help="of generated sets, in place of the effort's")
    command.add_argument("--folder", type=Path, default=Path("out/scale"), help="where generated sets are written")
    command.add_argument("--keep", action="store_true", help="leave the generated sets there")
    command.add_argument("--peers", nargs="*", default=list(PEERS), choices=PEERS)
    command.add_argument("--losses", nargs="+", default=LOSSES[:2], choices=LOSSES)
    command.add_argument("--memory-limit", type=float, help="memory_limit of ours, bytes")


def table(a: argparse.Namespace) -> None:
    peers = installed({peer: PEERS[peer].module for peer in a.peers})
    a.folder.mkdir(parents=True, exist_ok=True)
    print("| data | n | loss | C | solver | seconds | processor s | MB | gap | |\n|---|---|---|---|---|---|---|---|---|---|")
    rows: list[dict[str, Any]] = []
    for name in a.data:
        sizes = SIZES[name][a.effort] if name in SIZES else (0,)
        for n in a.sizes if a.sizes and sizes[0] else sizes:
            path = made(name, n, a.folder) if n else Path(os.environ["MARGINOPT_DATA"]) / f"{name}.libsvm.bz2"
            for C, loss in itertools.product(a.C, a.losses):
                case = {"path": str(path), "C": C, "loss": loss, "limit": a.limit, "memory": a.memory_limit}
                bound: dict[str, float] = {}
                for peer in ("marginopt", *(peer for peer in peers if loss in PEERS[peer].losses)):
                    row = in_process("linear", case | {"peer": peer} | bound)
                    rows.append({"data": name, "n": n, "loss": loss, "C": C, "peer": peer, **row})
                    print(line(rows[-1]), flush=True)
                    if peer == "marginopt" and "bound" not in row:
                        break
                    bound = bound or {"bound": row["bound"]}
            if not a.keep and n:
                path.unlink()
    print(growth(["data", "loss", "C", "solver"], [(named(r), r["n"], r["cpu"]) for r in rows if r.get("gap", 1.0) <= GAP]))


def named(r: dict[str, Any]) -> tuple[str, ...]:
    """Return what is the same in the rows of one growth."""
    return r["data"], r["loss"], f"{r['C']:g}", r["peer"]


def line(r: dict[str, Any]) -> str:
    data, *rest = named(r)
    return row_of([data, f"{r['n']:,}" if r["n"] else "all", *rest], r)


# -- data --------------------------------------------------------------------------------------------------------------


def made(kind: str, n: int, folder: Path) -> Path:
    """The file of a generated set: dense n × 100, Gaussian classes; sparse n × 50 and wide n × 1,000, ten entries in a row.

    Written once.
    """
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
    columns, p = np.empty((n, 10), dtype=np.int32), COLUMNS[kind]
    for part in parts(n, 5_000_000 // p):  # ten columns, in order
        columns[part] = np.sort(rng.random((part.stop - part.start, p)).argpartition(10, axis=1)[:, :10], axis=1)
    values = rng.standard_normal((n, 10)).astype(np.float32)
    values += 0.25 * (y[:, None] * rng.standard_normal(p)[columns]).astype(np.float32)
    indptr = np.arange(0, 10 * n + 1, 10, dtype=np.int64)
    np.savez(path, X_data=values.ravel(), X_indices=columns.ravel(), X_indptr=indptr, X_shape=np.array([n, p]), y=y)
    return path


def parts(n: int, size: int = 100_000) -> Iterator[slice]:
    for start in range(0, n, size):
        yield slice(start, min(start + size, n))


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


def objective(X: Any, y: Any, w: Any, C: float, loss: str) -> float:
    """½||w||² + C Σ ℓ(y x'w)."""
    return 0.5 * float(w @ w) + C * sum(float(losses(y[k] * (X[k] @ w), loss).sum()) for k in parts(y.size))


def losses(margins: Any, loss: str) -> Any:
    if loss == "logistic":
        return np.logaddexp(0.0, -margins)
    return np.maximum(1.0 - margins, 0.0) ** (2 if loss == "squared-hinge" else 1)


# -- one cell ----------------------------------------------------------------------------------------------------------


def cell(case: dict[str, Any]) -> dict[str, Any]:
    return ours(case) if case["peer"] == "marginopt" else watched(theirs, case)


def ours(case: dict[str, Any]) -> dict[str, Any]:
    import marginopt as mo

    warnings.simplefilter("ignore")
    with tempfile.TemporaryDirectory() as folder:
        for kind in ("dense", "sparse"):  # compiled code is loaded
            small = mo.instances.open_rows(made(kind, 500, Path(folder)))
            mo.solve(mo.Margin(small.X, small.y, case["loss"], "half-l2"), "linear-newton")
    begin, cpu = time.perf_counter(), time.process_time()
    data = mo.instances.open_rows(case["path"])
    opened = time.process_time() - cpu
    model = mo.Margin(data.X, data.y, case["loss"], "half-l2", sample_weight=case["C"])
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
    C, loss = case["C"], case["loss"]
    common = {"tol": tol, "max_iter": 3000, "fit_intercept": False}
    if peer.startswith("liblinear"):
        from sklearn.linear_model import LogisticRegression
        from sklearn.svm import LinearSVC

        if loss == "logistic":
            machine = LogisticRegression(C=C, solver="liblinear", dual=peer == "liblinear-dual", random_state=0, **common)
        else:
            name = loss.replace("squared-", "squared_")
            machine = LinearSVC(C=C, loss=name, dual=loss == "hinge", random_state=0, **common)
        return lambda X, y: machine.fit(X, y).coef_[0]
    if peer == "snapml":
        import snapml

        parts = {"regularizer": 1.0 / C, "n_jobs": 1, **common}
        if loss == "logistic":
            other = snapml.LogisticRegression(**parts)
        else:
            other = snapml.SupportVectorMachine(loss=loss.replace("-", "_"), **parts)
        return lambda X, y: np.ravel(other.fit(X, y).coef_)
    from skglm import LinearSVC as Dual

    last = Dual(C=C, **common)
    return lambda X, y: np.ravel(last.fit(X, y).coef_)


def theirs(case: dict[str, Any], to: Connection) -> None:
    """A row for each tolerance, up to the first one at which the objective is near enough to the bound."""
    warnings.simplefilter("ignore")
    X, y = in_memory(Path(case["path"]))
    small = np.linspace(0, y.size - 1, 200).astype(np.int64)
    fitted(case["peer"], case, 0.1)(X[small], y[small])
    to.send({"status": "its data are there"})
    for tol in PEERS[case["peer"]].tolerances:
        begin, cpu = time.perf_counter(), time.process_time()
        w = np.asarray(fitted(case["peer"], case, tol)(X, y), dtype=np.float64)
        row = spent(begin, cpu) | {"status": f"tolerance {tol:g}"}
        row["objective"] = objective(X, y, w, case["C"], case["loss"])
        row["gap"] = (row["objective"] - case["bound"]) / row["objective"]
        to.send(row)
        if row["gap"] <= GAP:
            return
    to.send(row | {"status": row["status"] + ", its last"})
