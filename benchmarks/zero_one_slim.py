"""Scoring systems: MIPLIB's instances and their authors' other data sets, what is published, and what `supports-bb` proves."""

from __future__ import annotations

import bz2
import os
import time
from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path

import numpy as np

from marginopt.compilation import warm_up
from marginopt.models.formulations.margin.scoring_system import ScoringSystem
from marginopt.solvers.proofs import check_proof
from marginopt.solvers.solve import solve

#: Best value in MIPLIB 2017's table of November 2024 by data set and kind; None without one.
PUBLISHED = {
    ("breastcancer", "regularized"): 35.76784210526315,
    ("breastcancer", "best"): None,
    ("breastcancer", "max5"): None,
    ("mammo", "regularized"): None,
    ("mammo", "best"): None,
    ("mammo", "max5"): None,
    ("haberman", "regularized"): None,
    ("haberman", "best"): None,
    ("bankruptcy", "regularized"): None,
    ("bankruptcy", "best"): None,
    ("heart", "max5"): None,
    ("heart", "regularized"): None,
    ("mushroom", "best"): 0.0553337612,
    ("adult", "max5"): 5642.121938895418,
    ("adult", "regularized"): 7022.953543474559,
}
#: Head of the printed table.
HEAD = (
    f"{'instance':<26}{'points':>7}{'rows':>6}{'d':>4}  {'published':>16}  {'value':>16}  {'bound':>16}{'nodes':>9}{'seconds':>9}"
)


def instance(name: str, kind: str) -> ScoringSystem:
    """Return the instance as its authors state it, with the intercept within ±100 for integer features."""
    with bz2.open(Path(os.environ["MARGINOPT_DATA"]) / "slim" / f"{name}.csv.bz2", "rt") as file:
        d = len(file.readline().split(",")) - 1
        table = np.loadtxt(file, delimiter=",")
    X, y = np.column_stack([np.ones(len(table)), table[:, 1:]]), np.where(table[:, 0] == 1, 1.0, -1.0)
    C0 = Fraction(1, 100) if kind == "regularized" else Fraction(9, 10 * len(table) * (d + 1))
    wide = None if name in ("haberman", "heart") else (-100, 100)
    return ScoringSystem(X, y, intercept_range=wide, max_features=5 if kind == "max5" else None, C0=C0)


def rows(only: list[str], limit: float, out: Path | None) -> Iterator[str]:
    """Yield a line for each instance, and one for its proof if ``out`` is given; seconds are of the processor."""
    for (name, kind), published in PUBLISHED.items():
        if only and f"{name}-{kind}" not in only:
            continue
        model = instance(name, kind)
        log = None if out is None else out / f"{name}-{kind}.log.gz"
        begin = time.process_time()
        result = solve(model, "supports-bb", time_limit=limit, proof=None if log is None else str(log))
        spent = time.process_time() - begin
        text = "" if published is None else f"{published:.10f}"
        yield (
            f"{name + '-' + kind:<26}{len(model.y):>7}{result.details['distinct_rows']:>6}{model.X.shape[1] - 1:>4}  {text:>16}  "
            f"{result.objective:>16.10f}  {result.bound:>16.10f}{result.nodes:>9}{spent:>9.2f}"
        )
        if log is not None:
            begin = time.process_time()
            report = check_proof(log, model)
            yield f"    {log}, {log.stat().st_size / 1e6:.2f} MB: {report}; {time.process_time() - begin:.1f} s"


def slim(only: list[str], limit: float, out: Path | None = None) -> None:
    """Print the table, after compiling all loops. With ``out`` write the proofs to that folder, and check them."""
    warm_up("supports-bb")
    if out is not None:
        out.mkdir(parents=True, exist_ok=True)
    print(HEAD)
    for row in rows(only, limit, out):
        print(row, flush=True)
