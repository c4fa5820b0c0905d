"""Bounds of a semi-supervised SVM: the labelled points alone, the SDP (`hulls`), and `margin-bb`, with its best point.

    python benchmarks/others/semi_supervised.py [--name heart] [--limit 60]

Sets of the package SDP-S3VM in MARGINOPT_DATA (s3vm/). The first tenth of a permutation by seed 0 has labels; min ||w||² + the
hinges of these + Σ (1 - |m|)_+ of the others, with a free and with a penalised intercept.
"""

from __future__ import annotations

import argparse
import bz2
import os
import time
from dataclasses import replace
from pathlib import Path

import numpy as np

import marginopt as mo
from marginopt.models.arrays import BoolArray
from marginopt.relaxations import relax
from marginopt.solvers.margin import MarginBB


def stated(name: str) -> tuple[mo.Margin, BoolArray]:
    """The problem with a free intercept, and the mask of labelled points."""
    file = Path(os.environ["MARGINOPT_DATA"]) / "s3vm" / f"{name}.txt.bz2"
    rows = np.loadtxt(bz2.decompress(file.read_bytes()).decode().splitlines())
    X, y = np.column_stack([np.ones(len(rows)), rows[:, :-1]]), rows[:, -1]
    labelled = np.zeros(len(y), dtype=np.bool_)
    labelled[np.random.default_rng(0).permutation(len(y))[: len(y) // 10]] = True
    groups = np.where(labelled, "labelled", "unlabelled")
    losses = {"labelled": "hinge", "unlabelled": "hat"}
    return mo.Margin(X, np.where(labelled, y, 0.0), losses, groups=groups, intercept="free"), labelled


def main() -> None:
    """Solve and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--name", default="heart")
    parser.add_argument("--limit", type=float, default=60.0, help="seconds of margin-bb")
    options = parser.parse_args()
    problem, labelled = stated(options.name)
    coefficients = problem.X.shape[1]
    for intercept in ("free", "penalised"):
        model = replace(problem, intercept=intercept)
        alone = mo.solve(mo.Margin(model.X[labelled], model.y[labelled], "hinge", intercept=intercept), "clarabel")
        print(f"{options.name}, {intercept} intercept: labelled points alone {alone.objective:.6f}")
        begin = time.process_time()
        relaxed = relax(model, "hulls", threads=1)
        print(f"  SDP: {relaxed.bound:.6f} ({relaxed.bound_kind}), {time.process_time() - begin:.2f} s of the processor")
        boxes = mo.solve(
            model, MarginBB(max_coefficients=coefficients), start={"w": alone.values["w"]}, time_limit=options.limit, threads=1
        )
        print(f"  margin-bb: bound {boxes.best_bound[0]:.6f}, best point {boxes.objective:.6f}", flush=True)


if __name__ == "__main__":
    main()
