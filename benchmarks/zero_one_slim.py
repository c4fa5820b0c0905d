"""Scoring systems: MIPLIB's instances and their authors' other data sets, what is published, and what `supports-bb` proves."""

from __future__ import annotations

import bz2
import os
import time
from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path

import numpy as np

from marginopt.models.formulations.margin.named.scoring_system import ScoringSystem
from marginopt.solvers.api import solve
from marginopt.warming import warm_up

#: Data set and kind → the best value of MIPLIB 2017's table of November 2024, or nothing.
PUBLISHED = {
    ("breastcancer", "regularized"): 35.76784210526315,
    ("breastcancer", "best"): None,
    ("breastcancer", "max5"): None,
    ("mammo", "regularized"): None,
    ("haberman", "regularized"): None,
    ("bankruptcy", "regularized"): None,
    ("heart", "regularized"): None,
    ("mushroom", "best"): 0.0553337612,
    ("adult", "max5"): 5642.121938895418,
    ("adult", "regularized"): 7022.953543474559,
}
HEAD = (
    f"{'instance':<26}{'points':>7}{'rows':>6}{'d':>4}  {'published':>16}  {'value':>16}  {'bound':>16}{'nodes':>9}{'seconds':>9}"
)


def instance(name: str, kind: str) -> ScoringSystem:
    """The instance as its authors state it: intercept within 100 where whole features are scored."""
    with bz2.open(Path(os.environ["MARGINOPT_DATA"]) / "slim" / f"{name}.csv.bz2", "rt") as file:
        d = len(file.readline().split(",")) - 1
        table = np.loadtxt(file, delimiter=",")
    X, y = np.column_stack([np.ones(len(table)), table[:, 1:]]), np.where(table[:, 0] == 1, 1.0, -1.0)
    C0 = Fraction(1, 100) if kind == "regularized" else Fraction(9, 10 * len(table) * (d + 1))
    wide = None if name in ("haberman", "heart") else (-100, 100)
    return ScoringSystem(X, y, intercept_range=wide, max_features=5 if kind == "max5" else None, C0=C0)


def rows(only: list[str], limit: float) -> Iterator[str]:
    """A line for each instance; the seconds are of processor time."""
    for (name, kind), published in PUBLISHED.items():
        if only and f"{name}-{kind}" not in only:
            continue
        model = instance(name, kind)
        begin = time.process_time()
        found = solve(model, "supports-bb", time_limit=limit)
        spent = time.process_time() - begin
        told = "" if published is None else f"{published:.10f}"
        yield (
            f"{name + '-' + kind:<26}{len(model.y):>7}{found.details['distinct_rows']:>6}{model.X.shape[1] - 1:>4}  {told:>16}  "
            f"{found.objective:>16.10f}  {found.bound:>16.10f}{found.nodes:>9}{spent:>9.2f}"
        )


def slim(only: list[str], limit: float) -> None:
    """Print the table; what is compiled is compiled before."""
    warm_up("supports-bb")
    print(HEAD)
    for row in rows(only, limit):
        print(row, flush=True)
