"""Exact fairness audits of four data sets, beside the loop of two solves at a fixed price that it replaces.

    MARGINOPT_DATA=DIRECTORY python benchmarks/questions.py [NAME ...] [--metric METRIC] [--proof] [--loop] [--limit SECONDS]

The directory holds ``fairness/lawschool.csv.bz2`` and ``fairness/communities.csv.bz2``, from GerryFair, the repository of
Kearns et al., and ``slim/heart.csv.bz2`` and ``slim/adult.csv.bz2``, UCI's Heart disease and Adult as Ustun and Rudin coded them.
The classifier under audit is logistic regression (C = 1) on standardised columns. Times are processor seconds.
"""

from __future__ import annotations

import argparse
import os
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd
from sklearn.linear_model import LinearRegression, LogisticRegression

import marginopt as mo

#: Price of the loss in the loop, per unit of cost.
_PRICE = 1e8


@dataclass(frozen=True)
class Study:
    """A data set, its target and the protected columns of the audit; ``derived`` defines one of them by others."""

    file: str
    target: str
    protected: tuple[str, ...]
    derived: str = ""


STUDIES = {
    "lawschool": Study("fairness/lawschool", "bar1", ("age", "fam_inc", "gender", "race1", "race3")),
    "communities": Study(
        "fairness/communities", "ViolentCrimesPerPop", ("racepctblack", "racePctHisp", "agePct65up", "medIncome")
    ),
    "heart": Study("slim/heart", "Disease", ("age_band", "Male"), "age_band = Age_geq_30 + Age_geq_45 + Age_geq_60"),
    "adult": Study(
        "slim/adult",
        "Over50K",
        ("age_band", "Male", "White", "Black", "NativeUSorCanada"),
        "age_band = Age_22_to_29 + 2 * Age_30_to_44 + 3 * Age_45_to_59 + 4 * Age_geq_60",
    ),
}


def data_of(study: Study) -> tuple[np.ndarray, np.ndarray, pd.DataFrame]:
    """Return predictions, labels and protected columns."""
    path = Path(os.environ["MARGINOPT_DATA"]) / f"{study.file}.csv.bz2"
    frame = pd.read_csv(path).apply(pd.to_numeric, errors="coerce").dropna(axis=1, how="all").dropna()
    target = frame[study.target].to_numpy()
    threshold = np.median(target) if len(np.unique(target)) > 2 else 0.5
    y = (target > threshold).astype(float)
    X = frame.drop(columns=[study.target])
    Z = (X - X.mean()) / (X.std() + 1e-9)
    protected = X.eval(study.derived) if study.derived else X
    return LogisticRegression(max_iter=5000, C=1.0).fit(Z, y).predict(Z), y, protected[list(study.protected)]


def heuristic(predictions: np.ndarray, y: np.ndarray, protected: pd.DataFrame) -> float:
    """Return the false-positive disparity of the regression oracle: costs are regressed, negative ones taken, for both signs."""
    S = protected.to_numpy(float)[y == 0]
    S = (S - S.mean(0)) / (S.std(0) + 1e-12)
    costs = predictions[y == 0] - predictions[y == 0].mean()
    groups = (LinearRegression().fit(S, -sign * costs).predict(S) < 0 for sign in (1, -1))
    return max(abs(float(costs[group].sum())) / len(y) for group in groups)


def loop(predictions: np.ndarray, y: np.ndarray, protected: pd.DataFrame, limit: float) -> None:
    """Solve one weighted 0-1 problem for each sign over the persons, at a fixed price, and print its values."""
    S = protected.to_numpy(float)[y == 0]
    S = (S - S.mean(0)) / (S.std(0) + 1e-12)
    costs = predictions[y == 0] - predictions[y == 0].mean()
    for sign in (1.0, -1.0):
        X = np.column_stack([np.ones(len(S)), S])
        model = mo.ZeroOneSVM(X, np.where(sign * costs > 0, 1.0, -1.0), _PRICE * np.abs(costs), intercept="free")
        start = time.process_time()
        result = mo.solve(model, "zero-one-bb", time_limit=limit, threads=1)
        seconds = time.process_time() - start
        total = float((sign * costs)[sign * costs > 0].sum())
        value = float((sign * costs)[X @ result.values["w"] > 0].sum()) / len(y)
        bound = (total - result.bound / _PRICE) / len(y)
        print(f"  loop {sign:+.0f}: value {value:.6f}, {bound:.6f} at this price; {seconds:.1f} s, {result.status}")


def main() -> None:
    """Audit the chosen sets and print values, bounds and seconds."""
    parser = argparse.ArgumentParser()
    parser.add_argument("names", nargs="*", default=list(STUDIES), help="of data sets")
    parser.add_argument("--metric", default="false-positive-rate", help="of the audit")
    parser.add_argument("--proof", action="store_true", help="write proof logs and check them")
    parser.add_argument("--loop", action="store_true", help="run the loop too")
    parser.add_argument("--limit", type=float, default=300.0, help="seconds of a solve")
    parser.add_argument("--margin", type=float, default=None, help="margin of the half-spaces")
    arguments = parser.parse_args()
    if "MARGINOPT_DATA" not in os.environ:
        parser.error("set MARGINOPT_DATA to the directory that holds fairness/")
    for name in arguments.names:
        predictions, y, protected = data_of(STUDIES[name])
        with tempfile.TemporaryDirectory() as folder:
            proof = str(Path(folder) / "audit.jsonl") if arguments.proof else None
            start = time.process_time()
            answer = mo.questions.audit_fairness(
                predictions, y, protected, arguments.metric, margin=arguments.margin, proof=proof, time_limit=arguments.limit
            )
            seconds = time.process_time() - start
            print(f"{name}: {seconds:.1f} s\n{answer}", flush=True)
            if arguments.metric == "false-positive-rate":
                print(f"  regression oracle {heuristic(predictions, y, protected):.6f}")
            if arguments.proof:
                start = time.process_time()
                print(f"  {answer.check()}; {time.process_time() - start:.1f} s")
        if arguments.loop:
            loop(predictions, y, protected, arguments.limit)


if __name__ == "__main__":
    main()
