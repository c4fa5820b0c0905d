"""Tables 1 and 3 of the conic paper: misclassification of the conic and the hinge loss, tuned on a validation set.

    python benchmarks/papers/conic_tables.py table1 --store tables.db [--sigma .2 .5] [--n 100 200] [--p 3 5 10]
                                             [--replications 20] [--share .1] [--published conic_table1_synthetic.csv]
    python benchmarks/papers/conic_tables.py table3 --store tables.db [--sets ionosphere sonar] [--tau 0 .1 .2 .3] [--raw]
                                             [--published conic_table3_real.csv] [--estimator]

Protocol (§5.1.2, §5.2): train on 100 values of the parameter, take the first with the fewest misclassified validation points,
count on the test set. Conic: κ = 0.005, 0.01, .., 0.5 by `conic_path` (κ = 0 is the hard-margin problem, mostly infeasible: left
out); hinge: λ = β/(1 - β), β = k/101. Table 1: validation set of n points with the same outliers, 100,000 clean test points.
Table 3: 35/35/30 split, labels of the first two flipped with probability τ, features standardised on the training part (not with
``--raw``). ``--estimator`` adds `ConicSVCCV` with the same split and values of κ; it fits training and validation points together
once κ is chosen, which the paper does not. Which of several best parameters the paper takes is not said. Every run is kept in the
store.
"""

from __future__ import annotations

import argparse
import csv
import itertools
import time
from pathlib import Path
from typing import Any

import numpy as np

from marginopt import instances
from marginopt.estimators import ConicSVCCV
from marginopt.models import HingeSVM
from marginopt.models.views import ConicProblem
from marginopt.relaxations import CellStore
from marginopt.relaxations.reduction import without_warnings
from marginopt.solvers import solve
from marginopt.solvers.conic import conic_path

KAPPAS = 0.005 * np.arange(1, 101)
LAMS = np.arange(1, 101) / (101.0 - np.arange(1, 101))
SETS = ("breast-ljubljana", "german", "immunotherapy", "ionosphere", "sonar")
PUBLISHED_NAMES = {
    "breast-ljubljana": "Breast cancer", "german": "German credit", "immunotherapy": "Immunotherapy",
    "ionosphere": "Ionosphere", "sonar": "Sonar",
}  # fmt: skip
Sample = tuple[np.ndarray, np.ndarray]


def errors(W: np.ndarray, sample: Sample) -> np.ndarray:
    """Misclassified points (u ≤ 0) of each column of W."""
    X, y = sample
    return np.asarray((y[:, None] * (X @ W) <= 0.0).sum(axis=0))


def conic_weights(train: Sample, count: int) -> np.ndarray:
    """w along κ, p × count."""
    X, y = train
    problem = ConicProblem(y[:, None] * X, None, 0.5)
    points = conic_path(problem, kappas=KAPPAS[:: 100 // count], tolerance=1e-6)
    return np.column_stack([np.zeros(X.shape[1]) if p.point is None else p.point.values["w"] for p in points])


def hinge_weights(train: Sample, count: int) -> np.ndarray:
    """w along λ, p × count."""
    with without_warnings():
        models = [HingeSVM(*train, lam) for lam in LAMS[:: 100 // count]]
    return np.column_stack([solve(model, "piqp", tol=1e-6).values["w"] for model in models])


def evaluate(train: Sample, validation: Sample, test: Sample, count: int) -> dict[str, Any]:
    """Test error of both losses at the parameters that validation chooses, and the seconds of the paths."""
    record: dict[str, Any] = {}
    for name, weights in (("hinge", hinge_weights), ("conic", conic_weights)):
        begin = time.perf_counter()
        W = weights(train, count)
        seconds = time.perf_counter() - begin
        chosen = int(np.argmin(errors(W, validation)))
        record |= {
            name: float(errors(W[:, [chosen]], test)[0] / len(test[1])),
            f"{name} index": chosen,
            f"{name} seconds": seconds,
        }
    return record


def by_estimator(train: Sample, validation: Sample, test: Sample, count: int) -> dict[str, Any]:
    """Test error of `ConicSVCCV`, κ chosen on the validation set; it finds its own constant column."""
    X, y = np.vstack([train[0], validation[0]])[:, 1:], np.concatenate([train[1], validation[1]])
    split = [(np.arange(len(train[1])), np.arange(len(train[1]), len(y)))]
    begin = time.perf_counter()
    fitted = ConicSVCCV(KAPPAS[:: 100 // count], cv=split, standardise=False).fit(X, y)
    seconds = time.perf_counter() - begin
    error = 1.0 - float(fitted.score(test[0][:, 1:], test[1]))
    return {"ConicSVCCV": error, "ConicSVCCV seconds": seconds, "ConicSVCCV kappa": fitted.kappa_}


def table1(args: argparse.Namespace, store: CellStore) -> None:
    """Averages over n, p and replications for each σ and kind of outliers."""
    published = _published(args.published, lambda r: (float(r["sigma"]), r["method"], r["outliers"]))
    print("| σ | outliers | method | % (std) | published | runs | seconds for the path |\n|---|---|---|---|---|---|---|")
    for sigma, outliers in itertools.product(args.sigma, ("none", "clustered", "spread")):
        records = []
        for n, p, seed in itertools.product(args.n, args.p, range(args.replications)):

            def run(
                n: int = n, p: int = p, seed: int = seed, sigma: float = sigma, outliers: str = outliers
            ) -> tuple[dict[str, Any], bool]:
                rng = np.random.default_rng([n, p, seed, int(1000 * sigma), len(outliers)])
                data = instances.gaussian_clusters(n, p, sigma, outliers=outliers, rng=rng)
                test = data.population.clean(100_000, rng)
                train, check = (_contaminated(data.population, n, args.share, rng) for _ in range(2))
                record = evaluate(train, check, (test.X, test.y), args.values)
                record["bayes"] = float((test.y * (test.X[:, 1:] @ data.population.direction) <= 0).mean())
                return record, True

            parts = {"n": n, "p": p, "sigma": sigma, "outliers": outliers, "seed": seed, "values": args.values}
            parts |= {"share": args.share} if outliers == "clustered" else {}
            records.append(store.remember("table1", parts, run)[0])
        for method in ("hinge", "conic", "bayes"):
            _tell(f"| {sigma:g} | {outliers} |", method, records, published.get((sigma, method, outliers)))


def _contaminated(population: Any, n: int, share: float, rng: np.random.Generator) -> Sample:
    """n points of the paper's distribution; with clustered outliers of another share than its 10% where asked for."""
    if population.outliers != "clustered" or share == 0.1:
        found = population.sample(n, rng)
        return found.X, found.y
    far = rng.random(n) < share
    clean = population.clean(n, rng)
    X, y = clean.X.copy(), clean.y.copy()
    centre = 0.5 * population.direction / np.linalg.norm(population.direction)
    X[far, 1:] = -10.0 * centre + population.sigma * np.sqrt(0.001) * rng.standard_normal((int(far.sum()), centre.size))
    y[far] = 1.0
    return X, y


def table3(args: argparse.Namespace, store: CellStore) -> None:
    """Averages over splits for each set and τ."""
    published = _published(args.published, lambda r: (r["dataset"], r["method"], float(r["tau"])))
    print("| set | τ | method | % (std) | published | runs | seconds for the path |\n|---|---|---|---|---|---|---|")
    for name, tau in itertools.product(args.sets, args.tau):
        data = instances.load(name).dense()
        records = []
        for seed in range(args.replications):

            def run(seed: int = seed, tau: float = tau, data: Any = data) -> tuple[dict[str, Any], bool]:
                return evaluate(*_split(data.X, data.y.astype(float), tau, seed, args.raw), args.values), True

            def estimate(seed: int = seed, tau: float = tau, data: Any = data) -> tuple[dict[str, Any], bool]:
                return by_estimator(*_split(data.X, data.y.astype(float), tau, seed, args.raw), args.values), True

            parts = {"X": data.X, "y": data.y, "tau": tau, "seed": seed, "values": args.values, "raw": args.raw}
            record = store.remember("table3", parts, run)[0]
            records.append(record | store.remember("table3-estimator", parts, estimate)[0] if args.estimator else record)
        for method in ("hinge", "conic", "ConicSVCCV")[: 3 if args.estimator else 2]:
            _tell(f"| {name} | {tau:g} |", method, records, published.get((PUBLISHED_NAMES.get(name, name), method, tau)))


def _split(X: np.ndarray, y: np.ndarray, tau: float, seed: int, raw: bool) -> list[Sample]:
    """Training, validation and test samples with a constant first column."""
    rng = np.random.default_rng([seed, int(1000 * tau)])
    order = rng.permutation(len(y))
    first, second = round(0.35 * len(y)), round(0.7 * len(y))
    parts = np.split(order, [first, second])
    noisy = np.where(rng.random(len(y)) < tau, -y, y)
    centre, scale = X[parts[0]].mean(axis=0), X[parts[0]].std(axis=0)
    Z = X if raw else (X - centre) / np.where(scale > 0, scale, 1.0)
    Z = np.column_stack([np.ones(len(y)), Z])
    return [(Z[part], labels[part]) for part, labels in zip(parts, (noisy, noisy, y), strict=True)]


def _published(path: Path | None, key: Any) -> dict[Any, str]:
    if path is None:
        return {}
    with path.open() as file:
        return {key(r): f"{r['misclassification_pct']} ({r['std_pct']})" for r in csv.DictReader(file)}


def _tell(head: str, method: str, records: list[dict[str, Any]], published: str | None) -> None:
    found = 100.0 * np.array([r[method] for r in records])
    seconds = f"{np.mean([r[f'{method} seconds'] for r in records]):.2f}" if method != "bayes" else ""
    print(
        f"{head} {method} | {found.mean():.1f} ({found.std(ddof=1):.1f}) | {published or ''} | {found.size} | {seconds} |",
        flush=True,
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(dest="table", required=True)
    one, three = commands.add_parser("table1"), commands.add_parser("table3")
    for command in (one, three):
        command.add_argument("--store", required=True, help="file that keeps the runs (SQLite)")
        command.add_argument("--published", type=Path, help="the paper's table as CSV")
        command.add_argument("--replications", type=int, default=20)
        command.add_argument("--values", type=int, default=100, choices=(10, 20, 25, 50, 100), help="values of the parameter")
    one.add_argument("--sigma", type=float, nargs="+", default=[0.2, 0.5])
    one.add_argument("--n", type=int, nargs="+", default=[100, 200, 500, 1000])
    one.add_argument("--p", type=int, nargs="+", default=[3, 5, 10, 30])
    one.add_argument("--share", type=float, default=0.1, help="share of clustered outliers (the paper prints 0.1)")
    three.add_argument("--sets", nargs="+", default=list(SETS))
    three.add_argument("--tau", type=float, nargs="+", default=[0.0, 0.1, 0.2, 0.3])
    three.add_argument("--estimator", action="store_true", help="ConicSVCCV beside them")
    three.add_argument("--raw", action="store_true", help="features as they are")
    args = parser.parse_args()
    store = CellStore(args.store)
    (table1 if args.table == "table1" else table3)(args, store)


if __name__ == "__main__":
    main()
