"""The Frank-Wolfe paper's adult experiments (FW, section 5.4, Tables 2, 3 and 8): accuracies and speed-ups over CVM.

    MARGINOPT_DATA=... python benchmarks/papers/adult.py --out out/adult

Trained on a1a to a4a, tested on the rest of a5a, of which they are subsets (the paper tests on the complement in all of Adult,
30,956 to 27,780 points, which is larger). Protocol, section 5.2: σ² = the mean squared distance, C from 2^0, ..., 2^12 on a
random 30% validation part with one solver for all (CVM there; here the optimum of the same problem by auto-simplex at a gap of
1e-4), then ε = 1e-6, 20 random points to start, 59 sampled candidates, and repetitions with other seeds. The paper publishes
no C. ``cvm`` solves its inner problem as far as the outer gap deserves, ``cvm-full`` to the accuracy of the stop, as the paper's.
Runs are kept in runs.json of --out and not repeated; --set-limit leaves the rest of a set to the next call.
Table 8's point: a polynomial kernel k = (γx'z + c0)², which is not normalised, where the objective must fall monotonically.
Published figures are read from a CSV file where one is given (--published: dataset, algorithm, test_accuracy_pct, train_seconds).
"""

from __future__ import annotations

import argparse
import csv
import json
import time
from collections import Counter
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np

import marginopt as mo
from marginopt.instances.catalogue import load
from marginopt.models.kernels.kernels import RBF, Kernel, Polynomial

#: Solver and its own options by name.
ALGORITHMS: dict[str, tuple[str, dict[str, Any]]] = {
    "cvm": ("cvm", {}),
    "cvm-full": ("cvm", {"inner": "full"}),
    "fw": ("fw", {}),
    "mfw": ("mfw", {}),
}


def rest(train: str) -> tuple[Any, Any, Any, Any]:
    """Training set, and the points of a5a that are not in it (as multisets of labelled rows), dense: 123 features."""
    small, large = load(train), load("a5a")
    X, Z = small.X.toarray(), large.X.toarray()
    used = Counter((row.tobytes(), label) for row, label in zip(X, small.y, strict=True))
    keep = []
    for i, (row, label) in enumerate(zip(Z, large.y, strict=True)):
        key = (row.tobytes(), label)
        keep.append(used[key] == 0)
        used[key] -= not keep[i]
    if sum(keep) != Z.shape[0] - X.shape[0]:
        raise SystemExit(f"{train} is not a subset of a5a")
    return X, small.y, Z[np.array(keep)], large.y[np.array(keep)]


def accuracy(model: mo.L2SVMDual, values: Any, X: Any, y: Any) -> float:
    """Share of the points on the right side."""
    return float((np.where(model.decision_function(values, X) > 0, 1.0, -1.0) == y).mean())


def choose_C(X: Any, y: Any, kernel: Kernel, seed: int) -> float:
    """The C of 2^0, ..., 2^12 with the best accuracy on a random 30%; the smallest of equals."""
    order = np.random.default_rng(seed).permutation(y.size)
    held, kept = order[: int(0.3 * y.size)], order[int(0.3 * y.size) :]
    best, chosen = -1.0, 1.0
    for power in range(13):
        model = mo.L2SVMDual(X[kept], y[kept], 2.0**power, kernel)
        found = accuracy(model, mo.solve(model, solver="auto-simplex", tol=1e-4).values, X[held], y[held])
        if found > best:
            best, chosen = found, 2.0**power
    return chosen


def train(
    X: Any, y: Any, test: tuple[Any, Any], C: float, kernel: Kernel, name: str, seed: int, limit: float, epsilon: float
) -> dict[str, Any]:
    """One run as in the paper: sampled steps, the paper's stop without a last scan; its true gap by the certificate."""
    model = mo.L2SVMDual(X, y, C, kernel)
    shared: dict[str, Any] = {"initial": "random20", "sampling": 59, "rescan": False, "seed": seed, "time_limit": limit}
    if kernel.constant_diagonal:
        shared |= {"stop": "ball", "epsilon": epsilon}
    else:
        shared |= {"tol": 2.0 * epsilon}
    solver, native = ALGORITHMS[name]
    begin = time.process_time()
    result = mo.solve(model, solver=solver, **shared, **native)
    seconds = time.process_time() - begin
    objective = result.trace.column("objective")
    return {
        "accuracy": accuracy(model, result.values, *test), "seconds": seconds, "status": str(result.status),
        "gap": result.certificate.gap, "iterations": result.iterations, "support": int((result.values["a"] > 0).sum()),
        "rises": int((np.diff(objective) > 1e-12 * np.abs(objective[:-1])).sum()), "tested": int(test[1].size),
    }  # fmt: skip


def published(path: Path | None) -> dict[tuple[str, str], tuple[float, float]]:
    """(accuracy in percent, seconds) by set and algorithm."""
    if path is None:
        return {}
    with path.open() as file:
        rows = list(csv.DictReader(file))
    return {(r["dataset"], r["algorithm"].lower()): (float(r["test_accuracy_pct"]), float(r["train_seconds"])) for r in rows}


def table(rows: list[dict[str, Any]], known: dict[tuple[str, str], tuple[float, float]]) -> str:
    """Markdown: means over the repetitions beside the published figures; ± is two standard errors of the test set's size."""
    head = ["kernel", "set", "algorithm", "C", "accuracy %", "± 2 s.e.", "published %", "within", "cpu s"]
    head += ["cvm / it", "cvm-full / it", "published", "true gap", "iterations", "support", "objective rises", "runs"]
    lines = ["| " + " | ".join(head) + " |", "|" + "---|" * len(head)]
    base = {(r["kernel"], r["set"], r["algorithm"]): r["seconds"] for r in rows}
    for r in rows:
        name, key = r["set"], (r["set"], r["algorithm"].removesuffix("-full"))
        there = known.get(key) if r["kernel"] == "rbf" else None
        error = 200.0 * np.sqrt(r["accuracy"] * (1.0 - r["accuracy"]) / r["tested"])
        percent = 100.0 * r["accuracy"]
        cells = [r["kernel"], name, r["algorithm"], f"{r['C']:g}", f"{percent:.2f}", f"{error:.2f}"]
        cells += ["", ""] if there is None else [f"{there[0]:.2f}", "yes" if abs(percent - there[0]) <= error else "no"]
        cells += [f"{r['seconds']:.2f}"]
        for core in ("cvm", "cvm-full"):
            there_too = base.get((r["kernel"], name, core))
            cells += ["" if there_too is None else f"{there_too / r['seconds']:.2f}"]
        cells += ["" if there is None else f"{known[name, 'cvm'][1] / there[1]:.2f}"]
        cells += [f"{r['gap']:.1e}", f"{r['iterations']:.0f}", f"{r['support']:.0f}", f"{r['rises']:.0f}"]
        cells += [f"{r['runs']}" if r["stopped"] == 0 else f"{r['runs']}, {r['stopped']} at the time limit"]
        lines.append("| " + " | ".join(cells) + " |")
    return "\n".join(lines) + "\n"


def keep(path: Path, value: Any) -> None:
    """Write JSON so that an interruption leaves the old file or the new one."""
    new = path.with_suffix(".new")
    new.write_text(json.dumps(value, indent=1))
    new.replace(path)


def run(options: argparse.Namespace) -> list[dict[str, Any]]:
    """All sets and kernels, repetition by repetition; what --out holds already is not run again."""
    file = options.out / "runs.json"
    done: list[dict[str, Any]] = json.loads(file.read_text()) if file.exists() else []
    for name, kernel_name in product(options.sets, options.kernels):
        own = {"kernel": kernel_name, "set": name, "limit": options.time_limit, "epsilon": options.epsilon}
        mine = [r for r in done if own.items() <= r.items()]
        there = {(r["algorithm"], r["seed"]) for r in mine}
        todo = [(a, s) for s in range(options.repetitions) for a in options.algorithms if (a, s) not in there]
        if not todo:
            continue
        X, y, *test = rest(name)
        kernel = (RBF("frank-wolfe") if kernel_name == "rbf" else Polynomial(2, "frank-wolfe-polynomial", 1.0)).fitted(X)
        known = mine[0]["C"] if mine else options.C
        C = choose_C(X, y, kernel, 0) if known is None else known
        end = time.monotonic() + options.set_limit
        for algorithm, seed in todo:
            if time.monotonic() > end:
                print(f"{name}, {kernel_name}: the set's time is used up; call again for the rest", flush=True)
                break
            found = train(X, y, (test[0], test[1]), C, kernel, algorithm, seed, options.time_limit, options.epsilon)
            done.append({**own, "algorithm": algorithm, "seed": seed, "C": C, **found})
            keep(file, done)
            print(done[-1], flush=True)
    return summary([r for r in done if r["limit"] == options.time_limit and r["epsilon"] == options.epsilon])


def summary(runs: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Means over the repetitions, in the order in which they were run."""
    rows = []
    for key in dict.fromkeys((r["kernel"], r["set"], r["algorithm"], r["C"]) for r in runs):
        mine = [r for r in runs if (r["kernel"], r["set"], r["algorithm"], r["C"]) == key]
        row = dict(zip(("kernel", "set", "algorithm", "C"), key, strict=True)) | {"tested": mine[0]["tested"], "runs": len(mine)}
        for field in ("accuracy", "seconds", "gap", "iterations", "support", "rises"):
            row[field] = float(np.mean([r[field] for r in mine]))
        rows.append(row | {"stopped": sum("limit" in r["status"] for r in mine)})
    return rows


def main() -> None:
    """Run and write the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sets", nargs="+", default=["a1a", "a2a", "a3a", "a4a"])
    parser.add_argument("--kernels", nargs="+", default=["rbf", "polynomial"])
    parser.add_argument("--algorithms", nargs="+", default=list(ALGORITHMS))
    parser.add_argument("--C", type=float, help="for all sets; by validation where it is not given")
    parser.add_argument("--epsilon", type=float, default=1e-6)
    parser.add_argument("--repetitions", type=int, default=5)
    parser.add_argument("--time-limit", type=float, default=60.0, help="seconds of each run")
    parser.add_argument("--set-limit", type=float, default=float("inf"), help="seconds for each set and kernel in this call")
    parser.add_argument("--published", type=Path, help="a CSV file of the published figures")
    parser.add_argument("--out", type=Path, default=Path("out/adult"))
    options = parser.parse_args()
    options.out.mkdir(parents=True, exist_ok=True)
    rows = run(options)
    (options.out / "adult.json").write_text(json.dumps(rows, indent=1))
    (options.out / "adult.md").write_text(table(rows, published(options.published)))
    print(table(rows, published(options.published)))


if __name__ == "__main__":
    main()
