"""Simplex QPs: our algorithms, LIBSVM, oneDAL and the QP solvers side by side, each case in a process of its own.

    python benchmarks/simplex.py --sizes 1000 5000 20000 --C 1 100 --out out/simplex

Real data (--data a5a w4a, sparse) are read from the directory of MARGINOPT_DATA or from OpenML; a size above a set's own means
all of it. Every case runs with the same number of threads (--threads, one by default) after a warm-up on a problem of its
kind, large enough for the code of the large ones, so that compilation and imports are not counted. True relative gaps are
recomputed in float64 from the data. LIBSVM's hinge SVC ("svc") and oneDAL's ("onedal", with scikit-learn-intelex installed)
solve a *different* problem of the same size, L1SVMDual; "one-class" is LIBSVM on the identical problem: its one-class machine
with nu = 1/n and the precomputed matrix K~, whose building is timed apart. "smo-box" is ours on LIBSVM's hinge problem, first to
the gap that "svc" reached (at --svc-tol) where that ran before, then to --tol.
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import os
import platform
import subprocess
import sys
import time
from itertools import product
from pathlib import Path
from typing import Any

#: Our solvers, QP solvers, and the largest sizes n of some solvers without --all-sizes.
OURS = ("auto-simplex", "smo", "mfw", "fw", "cvm", "pairwise-fw", "blended-pairwise-fw")
QP = ("clarabel", "piqp", "osqp", "proxqp")
QP_LIMIT, ONE_CLASS_LIMIT, FIRST_ORDER_LIMIT = 2000, 5000, 5000
#: Environment variables that set numbers of threads.
THREAD_VARIABLES = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS")


def make_data(kind: str, n: int, seed: int = 0) -> tuple[Any, Any, float]:
    """Return X, labels ±1, and γ = 1/(mean squared distance) of a drawn ("gauss", "clusters", "sparse") or a catalogue's set."""
    import numpy as np
    import scipy.sparse as sp
    from sklearn.datasets import make_classification

    rng = np.random.default_rng(seed)
    if kind == "gauss":
        y = np.where(rng.random(n) < 0.5, 1.0, -1.0)
        X = rng.standard_normal((n, 20))
        X[:, :5] += 0.55 * y[:, None]
    elif kind == "clusters":
        X, y = make_classification(
            n, n_features=60, n_informative=20, n_redundant=12, n_clusters_per_class=4, class_sep=1.5, flip_y=0.02,
            random_state=seed,
        )  # fmt: skip
        X, y = (X - X.mean(0)) / X.std(0), 2.0 * y - 1.0
    elif kind == "sparse":
        X = sp.csr_array(sp.random_array((n, 300), density=0.05, rng=rng, data_sampler=lambda size: np.ones(size)))
        score = X @ rng.standard_normal(300)
        y = np.where(score + 0.5 * score.std() * rng.standard_normal(n) > np.median(score), 1.0, -1.0)
    else:
        X, y = real_data(kind, n, rng)
    from marginopt.models.kernels.kernels import mean_squared_distance

    return X, y, 1.0 / mean_squared_distance(X)


def real_data(kind: str, n: int, rng: Any) -> tuple[Any, Any]:
    """Return a two-class set of the catalogue, or n of its points if it has more."""
    from marginopt.instances.catalogue import load

    instance = load(kind)
    classes = sorted(set(instance.y.tolist()))
    if len(classes) != 2:
        raise SystemExit(f"{kind} has {len(classes)} classes; two are needed")
    rows = rng.permutation(instance.X.shape[0])[:n]
    return instance.X[rows], 2.0 * (instance.y[rows] == classes[1]) - 1.0


def make_kernel(name: str, gamma: float) -> Any:
    """Return the kernel of this name."""
    from marginopt.models.kernels.kernels import RBF, Linear, Polynomial

    return {"rbf": RBF(gamma), "linear": Linear(), "polynomial": Polynomial(3, gamma, 1.0)}[name]


def svc_arguments(kernel: str, gamma: float) -> dict[str, Any]:
    """Return the arguments of scikit-learn's SVC for a kernel."""
    if kernel == "rbf":
        return {"kernel": "rbf", "gamma": gamma}
    return {"kernel": "linear"} if kernel == "linear" else {"kernel": "poly", "degree": 3, "gamma": gamma, "coef0": 1.0}


def spent(begin: float, cpu: float) -> dict[str, Any]:
    """Return wall and processor seconds since two clock readings, and the peak memory of the process so far."""
    seconds = {"seconds": time.perf_counter() - begin, "cpu": time.process_time() - cpu}
    from marginopt.models.arrays import peak_memory

    return seconds | {"peak_mb": peak_memory() / 2**20}


def run_ours(case: dict[str, Any], X: Any, y: Any, gamma: float) -> dict[str, Any]:
    """Solve the L2-SVM dual by one of our solvers or a QP solver; return the columns of its row."""
    import numpy as np

    from marginopt.models.formulations.svm_duals import L2SVMDual
    from marginopt.solvers.records import Options
    from marginopt.solvers.registry import get_solver

    model = L2SVMDual(X, y, case["C"], make_kernel(case["kernel"], gamma))
    solver = get_solver(case["peer"])
    # LIBSVM's cache; that of auto is its own, and QP solvers have none
    native = {} if case["peer"] in ("auto-simplex", *QP) else {"cache_bytes": case["cache_mb"] * 2**20}
    options = Options(tol=case["tol"], time_limit=case["time_limit"], threads=case["threads"], native=native)
    begin, cpu = time.perf_counter(), time.process_time()
    raw = solver.run(model, options)
    row = spent(begin, cpu) | {"status": raw.status.name.lower()}
    if raw.values is not None:
        a = np.maximum(raw.values["a"], 0.0)
        a /= a.sum()
        fresh = L2SVMDual(X, y, case["C"], make_kernel(case["kernel"], gamma)).simplex
        row |= {"gap": fresh.gap(a) / fresh.objective(a), "support": int((a > 0).sum())}
    last = raw.trace[len(raw.trace) - 1] if len(raw.trace) else None
    row |= {"iterations": raw.iterations, "columns": None if last is None or last.columns < 0 else last.columns}
    row["note"] = str(raw.details.get("algorithm", ""))
    return row


def run_svc(case: dict[str, Any], X: Any, y: Any, gamma: float) -> dict[str, Any]:
    """Train LIBSVM's or oneDAL's hinge SVC; return the columns of its row."""
    import numpy as np

    from marginopt.models.formulations.svm_duals import L1SVMDual

    if case["peer"] == "onedal":
        from sklearnex.svm import SVC
    else:
        from sklearn.svm import SVC
    if not isinstance(X, np.ndarray):
        X = X.copy()
        X.indices, X.indptr = X.indices.astype(np.int32), X.indptr.astype(np.int32)  # LIBSVM reads no others
    machine = SVC(C=case["C"], cache_size=case["cache_mb"], tol=case["svc_tol"], **svc_arguments(case["kernel"], gamma))
    begin, cpu = time.perf_counter(), time.process_time()
    machine.fit(X, y)
    row = spent(begin, cpu) | {"status": f"tolerance {case['svc_tol']:g}"}
    view = L1SVMDual(X, y, case["C"], make_kernel(case["kernel"], gamma)).box
    a = np.zeros(len(y))
    coefficients = machine.dual_coef_
    dense = np.asarray(coefficients) if isinstance(coefficients, np.ndarray) else coefficients.toarray()
    a[machine.support_] = np.abs(dense[0])
    iterations = int(np.max(machine.n_iter_)) if np.size(getattr(machine, "n_iter_", ())) else None
    row |= box_quality(view, a) | {"support": len(machine.support_), "iterations": iterations}
    return row | {"note": "hinge: another problem"}


def box_quality(view: Any, a: Any) -> dict[str, float]:
    """Return the recomputed relative gap, and the KKT violation max_low s∇ - min_up s∇ that LIBSVM's tolerance bounds."""
    gradient = (view.gram.product(a) + view.c) * view.signs
    below, above, positive = a < view.upper, a > 0, view.signs > 0
    rising, falling = (below & positive) | (above & ~positive), (above & positive) | (below & ~positive)
    violation = float(gradient[falling].max() - gradient[rising].min())
    return {"gap": view.gap(a) / abs(view.objective(a)), "violation": violation}


def run_box(case: dict[str, Any], X: Any, y: Any, gamma: float) -> dict[str, Any]:
    """Solve LIBSVM's hinge problem by smo-box; return the columns of its row."""
    import numpy as np

    from marginopt.models.formulations.svm_duals import L1SVMDual
    from marginopt.solvers.records import Options
    from marginopt.solvers.registry import get_solver

    model, solver = L1SVMDual(X, y, case["C"], make_kernel(case["kernel"], gamma)), get_solver("smo-box")
    native = {"cache_bytes": case["cache_mb"] * 2**20, "violation": case.get("violation", case["svc_tol"])}
    options = Options(tol=case["tol"], time_limit=case["time_limit"], threads=case["threads"], native=native)
    begin, cpu = time.perf_counter(), time.process_time()
    raw = solver.run(model, options)
    row = spent(begin, cpu) | {"status": raw.status.name.lower()}
    a = np.clip(raw.values["a"], 0.0, model.box.upper)
    fresh = L1SVMDual(X, y, case["C"], make_kernel(case["kernel"], gamma)).box
    row |= box_quality(fresh, a) | {"support": int((a > 0).sum()), "iterations": raw.iterations}
    return row | {"columns": raw.details["columns"], "note": "LIBSVM's own problem"}


def run_one_class(case: dict[str, Any], X: Any, y: Any, gamma: float) -> dict[str, Any]:
    """Solve the L2-SVM dual by LIBSVM's one-class machine; return the columns of its row."""
    import numpy as np
    from sklearn.svm import OneClassSVM

    from marginopt.models.formulations.svm_duals import L2SVMDual
    from marginopt.solvers.records import Options
    from marginopt.solvers.registry import get_solver

    model = L2SVMDual(X, y, case["C"], make_kernel(case["kernel"], gamma))
    view = model.simplex
    begin = time.perf_counter()
    K = view.gram.dense
    built = time.perf_counter() - begin
    # LIBSVM's tolerance is absolute and bounds the gap; its scale is the optimal value
    scale = view.objective(np.asarray(get_solver("smo").run(model, Options(tol=1e-3)).values["a"]))
    machine = OneClassSVM(kernel="precomputed", nu=1.0 / view.n, tol=case["one_class_tol"] * scale, cache_size=case["cache_mb"])
    begin, cpu = time.perf_counter(), time.process_time()
    machine.fit(K)
    row = spent(begin, cpu) | {"status": f"tolerance {case['one_class_tol']:g} f*"}
    a = np.zeros(view.n)
    a[machine.support_] = np.maximum(machine.dual_coef_[0], 0.0)
    a /= a.sum()
    row |= {"gap": view.gap(a) / view.objective(a), "support": int((a > 0).sum()), "iterations": int(machine.n_iter_)}
    return row | {"note": f"identical problem; matrix built in {built:.2f} s, not counted"}


def touch(megabytes: int) -> None:
    """Write to so much memory and free it: the first access to a page can be expensive in a virtual machine."""
    import numpy as np

    np.ones((megabytes, 2**17))


def run_case(case: dict[str, Any]) -> dict[str, Any]:
    """Run a case in this process after a warm-up, and return its row."""
    runner = {"one-class": run_one_class, "svc": run_svc, "onedal": run_svc, "smo-box": run_box}.get(case["peer"], run_ours)
    X, y, gamma = make_data(case["data"], 2000 if runner in (run_ours, run_box) and case["peer"] not in QP else 300)
    runner({**case, "tol": 1e-9, "C": 100.0, "time_limit": 20.0}, X, y, gamma)
    touch(case["touch_mb"])
    X, y, gamma = make_data(case["data"], case["n"])
    return runner(case, X, y, gamma)


def available(peer: str) -> bool:
    """Return whether a solver is installed."""
    if peer == "onedal":
        return importlib.util.find_spec("sklearnex") is not None
    if peer in ("svc", "one-class"):
        return True
    from marginopt.solvers.registry import all_solvers, is_installed

    return peer in all_solvers() and is_installed(all_solvers()[peer])


def too_large(peer: str, n: int, options: argparse.Namespace) -> bool:
    """Return whether n is beyond a solver's largest size, unless --all-sizes is given."""
    limit = {"one-class": ONE_CLASS_LIMIT}.get(peer, QP_LIMIT if peer in QP else None)
    if peer in ("fw", "mfw", "cvm", "pairwise-fw", "blended-pairwise-fw"):
        limit = FIRST_ORDER_LIMIT
    return limit is not None and n > limit and not options.all_sizes


def in_process(case: dict[str, Any]) -> dict[str, Any]:
    """Run a case in a fresh process with equal threads."""
    return last_line([__file__, "--case", json.dumps(case)], case["threads"], 4 * case["time_limit"] + 120)


def last_line(script: list[str], threads: int, seconds: float) -> dict[str, Any]:
    """Run a script in a fresh process with so many threads; return the JSON of its last line, or the failure as ``status``."""
    environment = {**os.environ, **dict.fromkeys(THREAD_VARIABLES, str(threads))}
    try:
        done = subprocess.run([sys.executable, *script], env=environment, capture_output=True, text=True, timeout=seconds)
    except subprocess.TimeoutExpired:
        return {"status": "killed: far over the time limit"}
    if done.returncode:
        return {"status": f"failed: {done.stderr.strip().splitlines()[-1] if done.stderr.strip() else done.returncode}"}
    return dict(json.loads(done.stdout.strip().splitlines()[-1]))


def table(rows: list[dict[str, Any]], reference: str = "svc") -> str:
    """Return a Markdown table: a row for each case, with its time over the reference solver's."""
    key = ("data", "kernel", "n", "C")
    base = {tuple(r[k] for k in key): r["seconds"] for r in rows if r["peer"] == reference and "seconds" in r}
    head = ["data", "kernel", "n", "C", "solver", "tol", "seconds", "cpu", f"/ {reference}", "true gap"]
    head += ["violation", "iterations", "columns", "support", "MB", "note"]
    lines = ["| " + " | ".join(head) + " |", "|" + "---|" * len(head)]
    for r in rows:
        seconds, reference_seconds = r.get("seconds"), base.get(tuple(r[k] for k in key))
        ratio = f"{seconds / reference_seconds:.2f}" if seconds and reference_seconds else ""
        gap = "" if r.get("gap") is None else f"{r['gap']:.1e}"
        cells = [r["data"], r["kernel"], r["n"], f"{r['C']:g}", r["peer"], f"{r['tol']:g}"]
        cells += ["" if r.get(k) is None else f"{r[k]:.2f}" for k in ("seconds", "cpu")]
        violation = "" if r.get("violation") is None else f"{r['violation']:.1e}"
        cells += [ratio, gap, violation, *("" if r.get(k) is None else r[k] for k in ("iterations", "columns", "support"))]
        cells += ["" if r.get("peak_mb") is None else f"{r['peak_mb']:.0f}"]
        cells += [r.get("note") or ("" if r.get("status") == "optimal" else r.get("status", ""))]
        lines.append("| " + " | ".join(map(str, cells)) + " |")
    return "\n".join(lines) + "\n"


def exponents(rows: list[dict[str, Any]]) -> str:
    """Return a Markdown table of growth exponents: least-squares slopes of log seconds over log n."""
    import numpy as np

    lines = ["| data | kernel | C | solver | tol | sizes | exponent |", "|---|---|---|---|---|---|---|"]
    groups = sorted({(r["data"], r["kernel"], r["C"], r["peer"], r["tol"]) for r in rows})
    for group in groups:
        items = [r for r in rows if (r["data"], r["kernel"], r["C"], r["peer"], r["tol"]) == group and r.get("seconds")]
        if len({r["n"] for r in items}) > 1:
            slope = np.polyfit(np.log([r["n"] for r in items]), np.log([r["seconds"] for r in items]), 1)[0]
            sizes = sorted({r["n"] for r in items})
            lines.append("| " + " | ".join(map(str, (*group, sizes, f"{slope:.2f}"))) + " |")
    return "\n".join(lines) + "\n"


def picture(rows: list[dict[str, Any]], path: Path) -> None:
    """Write a picture of seconds over n, with a panel for each data, kernel and C."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    panels = sorted({(r["data"], r["kernel"], r["C"]) for r in rows})
    figure, axes = plt.subplots(1, len(panels), figsize=(4.2 * len(panels), 3.6), squeeze=False)
    for axis, panel in zip(axes[0], panels, strict=True):
        mine = [r for r in rows if (r["data"], r["kernel"], r["C"]) == panel and r.get("seconds")]
        for peer, tol in sorted({(r["peer"], r["tol"]) for r in mine}):
            line = sorted((r["n"], r["seconds"]) for r in mine if (r["peer"], r["tol"]) == (peer, tol))
            axis.loglog(*zip(*line, strict=True), marker="o", label=f"{peer} {tol:g}")
        axis.set(title=f"{panel[0]}, {panel[1]}, C = {panel[2]:g}", xlabel="n", ylabel="seconds")
        axis.legend(fontsize=6)
    figure.tight_layout()
    figure.savefig(path, dpi=120)


def cases(options: argparse.Namespace) -> list[dict[str, Any]]:
    """Return the cases to run; ``tol`` of None is the gap that "svc" reaches."""
    rows: list[dict[str, Any]] = []
    for data, kernel, n, C in product(options.data, options.kernels, options.sizes, options.C):
        for peer in options.peers:
            if too_large(peer, n, options) or not available(peer):
                continue
            tolerances = options.tol if peer in ("auto-simplex", "smo", "smo-box") else options.tol[:1]
            shared = {"threads": options.threads, "time_limit": options.time_limit, "cache_mb": options.cache_mb}
            shared |= {"touch_mb": options.touch_mb, "svc_tol": options.svc_tol}
            shared["one_class_tol"] = options.one_class_tol
            case = {"data": data, "kernel": kernel, "n": n, "C": C, "peer": peer, **shared}
            rows += [{**case, "tol": tol} for tol in ([None] if peer == "smo-box" else []) + tolerances]
    return rows


def main() -> None:
    """Run the cases, and write their rows, table and picture."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sizes", type=int, nargs="+", default=[1000, 2000, 5000, 20000])
    parser.add_argument("--C", type=float, nargs="+", default=[1.0, 100.0])
    parser.add_argument(
        "--data",
        nargs="+",
        default=["gauss", "clusters"],
        help="gauss, clusters, sparse, or a set of the catalogue (a5a, w4a, ...)",
    )
    parser.add_argument("--kernels", nargs="+", default=["rbf"], help="rbf, linear, polynomial")
    parser.add_argument("--peers", nargs="+", default=["svc", "onedal", "one-class", *OURS, *QP])
    parser.add_argument("--tol", type=float, nargs="+", default=[1e-6, 1e-3, 1e-9], help="the first for all, the rest for SMO")
    parser.add_argument("--svc-tol", type=float, default=1e-3, help="tolerance of LIBSVM's and oneDAL's hinge machines")
    parser.add_argument("--one-class-tol", type=float, default=1e-2, help="tolerance of one-class, relative to the optimum")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--time-limit", type=float, default=120.0)
    parser.add_argument("--cache-mb", type=int, default=2000, help="cache of LIBSVM and of our algorithms")
    parser.add_argument("--touch-mb", type=int, default=0, help="memory to touch before each case (virtual machines)")
    parser.add_argument("--all-sizes", action="store_true", help="also the slow peers at large sizes")
    parser.add_argument("--out", type=Path, default=Path("out/simplex"))
    parser.add_argument("--case", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.case:
        print(json.dumps(run_case(json.loads(options.case))))
        return
    options.out.mkdir(parents=True, exist_ok=True)
    rows = []
    for case in cases(options):
        if case["tol"] is None:  # as accurate as LIBSVM
            key = ("data", "kernel", "n", "C")
            gaps = [r["gap"] for r in rows if r["peer"] == "svc" and "gap" in r and all(r[k] == case[k] for k in key)]
            if not gaps:
                continue
            case["tol"] = gaps[0]
        row = {**case, **in_process(case)}
        rows.append(row)
        print({k: row.get(k) for k in ("data", "kernel", "n", "C", "peer", "tol", "seconds", "cpu", "gap", "status")}, flush=True)
        (options.out / "simplex.json").write_text(json.dumps(rows, indent=1))
    foot = f"\n{platform.platform()}, {platform.machine()}, Python {platform.python_version()}, {options.threads} thread(s).\n"
    (options.out / "simplex.md").write_text(table(rows) + "\n" + exponents(rows) + foot)
    picture(rows, options.out / "simplex.png")


if __name__ == "__main__":
    main()
