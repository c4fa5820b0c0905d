"""Two normal convex hulls: PGA, SMO and QP solvers side by side, each case in a process of its own.

    python benchmarks/hulls.py --sizes 500 2000 5000 --C 1 100 --out out/hulls

Every case runs with the same number of threads after a warm-up on a tiny problem, so that compilation and imports are not
counted; building the matrix is counted for all. Relative gaps are recomputed in float64 from the data after the point is moved
exactly into the two simplices.
"""

from __future__ import annotations

import argparse
import json
import platform
import time
from itertools import product
from pathlib import Path
from typing import Any

from simplex import available, last_line, make_data

from marginopt.models.arrays import peak_memory

#: Our solvers, QP solvers, and the largest size of the latter without --all-sizes.
OURS = ("smo", "pga", "pga-sparse")
QP = ("clarabel", "piqp", "proxqp")
QP_LIMIT = 2000


def run_case(case: dict[str, Any]) -> dict[str, Any]:
    """Run a case in this process after a warm-up, and return its row."""
    X, y, gamma = make_data(case["data"], 100)
    measure({**case, "time_limit": 20.0}, X, y, gamma)
    X, y, gamma = make_data(case["data"], case["n"])
    row = measure(case, X, y, gamma)
    return row | {"peak_mb": peak_memory() / 2**20}


def measure(case: dict[str, Any], X: Any, y: Any, gamma: float) -> dict[str, Any]:
    """Return the seconds of building and solving, the solver's status, and the recomputed gap of its point."""
    import numpy as np

    from marginopt.models import RBF, ConvexHullsDual
    from marginopt.solvers.records import Options
    from marginopt.solvers.registry import get_solver
    from marginopt.solvers.simplex.projected_gradient import ProjectedGradient

    model = ConvexHullsDual(X, y, case["C"], RBF(gamma))
    peer = case["peer"]
    solver = ProjectedGradient(initial="sparse") if peer == "pga-sparse" else get_solver(peer)
    options = Options(tol=case["tol"], time_limit=case["time_limit"], threads=case["threads"])
    begin = time.perf_counter()
    raw = solver.run(model, options)
    row: dict[str, Any] = {
        "seconds": time.perf_counter() - begin,
        "status": raw.status.name.lower(),
        "iterations": raw.iterations,
    }
    if raw.values is not None:
        view = ConvexHullsDual(X, y, case["C"], RBF(gamma)).simplex
        a = np.maximum(np.asarray(raw.values["a"]), 0.0)
        a /= np.bincount(view.groups, weights=a)[view.groups]
        objective = view.objective(a)
        row |= {"objective": objective, "gap": view.gap(a) / objective, "support": int((a > 1e-9 * a.max()).sum())}
    return row


def in_process(case: dict[str, Any]) -> dict[str, Any]:
    """Run a case in a fresh process with equal threads; killed at three times its time limit and a minute."""
    return last_line([__file__, "--case", json.dumps(case)], case["threads"], 3 * case["time_limit"] + 60)


def table(rows: list[dict[str, Any]]) -> str:
    """Return a Markdown table: a row for each case, with its time over SMO's."""
    base = {(r["data"], r["n"], r["C"]): r["seconds"] for r in rows if r["peer"] == "smo" and "seconds" in r}
    head = ("data", "m", "C", "solver", "seconds", "/ smo", "true gap", "iterations", "support", "MB", "status")
    lines = ["| " + " | ".join(head) + " |", "|" + "---|" * len(head)]
    for r in rows:
        seconds, reference = r.get("seconds"), base.get((r["data"], r["n"], r["C"]))
        cells = [r["data"], r["n"], f"{r['C']:g}", r["peer"], "" if seconds is None else f"{seconds:.3f}"]
        cells += [f"{seconds / reference:.1f}" if seconds and reference else ""]
        cells += ["" if r.get("gap") is None else f"{r['gap']:.1e}"]
        cells += ["" if r.get(k) is None else r[k] for k in ("iterations", "support")]
        cells += ["" if r.get("peak_mb") is None else f"{r['peak_mb']:.0f}", r["status"]]
        lines.append("| " + " | ".join(map(str, cells)) + " |")
    return "\n".join(lines) + "\n"


def main() -> None:
    """Run the cases, and write their rows and table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sizes", type=int, nargs="+", default=[500, 2000, 5000])
    parser.add_argument("--C", type=float, nargs="+", default=[1.0, 100.0])
    parser.add_argument("--data", nargs="+", default=["gauss"], help="gauss, clusters, sparse")
    parser.add_argument("--peers", nargs="+", default=[*OURS, *QP])
    parser.add_argument("--tol", type=float, default=1e-6)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--time-limit", type=float, default=300.0)
    parser.add_argument("--all-sizes", action="store_true", help=f"also the QP solvers above {QP_LIMIT} points")
    parser.add_argument("--out", type=Path, default=Path("out/hulls"))
    parser.add_argument("--case", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.case:
        print(json.dumps(run_case(json.loads(options.case))))
        return
    options.out.mkdir(parents=True, exist_ok=True)
    rows: list[dict[str, Any]] = []
    for data, n, C, peer in product(options.data, options.sizes, options.C, options.peers):
        if (peer in QP and n > QP_LIMIT and not options.all_sizes) or (peer != "pga-sparse" and not available(peer)):
            continue
        case = {"data": data, "n": n, "C": C, "peer": peer, "tol": options.tol, "threads": options.threads}
        case |= {"time_limit": options.time_limit}
        rows.append({**case, **in_process(case)})
        print({k: rows[-1].get(k) for k in ("data", "n", "C", "peer", "seconds", "gap", "status")}, flush=True)
        (options.out / "hulls.json").write_text(json.dumps(rows, indent=1))
    foot = f"\n{platform.platform()}, {platform.machine()}, Python {platform.python_version()}, {options.threads} thread(s).\n"
    (options.out / "hulls.md").write_text(table(rows) + foot)


if __name__ == "__main__":
    main()
