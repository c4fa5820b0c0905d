"""The exact 0-1 solver on easy data, beside others: separable or nearly so, one class given up, two features.

The rule: where another solver proves the optimum within a second, `zero-one-bb` takes at most twice its time; where the least
norm that keeps every point, or giving up a class, is optimal, at most 0.2 s more than one quadratic program.
"""

from __future__ import annotations

import math
import time
from collections.abc import Iterator

import numpy as np

from marginopt import instances
from marginopt.compilation import warm_up
from marginopt.errors import MarginoptError
from marginopt.models.formulations.zero_one import ZeroOneSVM
from marginopt.solvers.certification.result import Result
from marginopt.solvers.solve import solve

#: Solvers beside ours; they get M tightened by our optimum, which is their best case. HiGHS reads no squares with whole numbers.
RIVALS = ("scip", "gurobi")
#: Relative gap that counts as a proof.
PROOF_GAP = 1e-5
#: Seconds within which another solver must prove the optimum for the rule to apply; seconds that are too short to be compared.
COMPARED_SECONDS, NEGLIGIBLE_SECONDS = 1.0, 0.02
#: Head of the printed table.
HEAD = f"{'problem':<24}{'n':>5}{'d':>4}{'C':>8}{'objective':>14}{'nodes':>8}{'ours':>8}{''.join(f'{r:>8}' for r in RIVALS)}"


def problems(only: list[str]) -> Iterator[tuple[str, float, ZeroOneSVM]]:
    """Yield name, C, and the model with a free intercept and λ = 2C, of all sets or of those named."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((116, 60))
    sets = {"separable 116 x 60": (np.column_stack([np.ones(116), X]), np.where(rng.random(116) < 0.5, 1.0, -1.0))}
    for name, size in (("sonar", 116), ("wdbc", 150), ("german", 116), ("immunotherapy", 60)):
        if only and name not in only:
            continue
        try:
            data = instances.load(name).subsample(size, seed=0).prepared()
        except MarginoptError as error:
            print(f"{name:<24}{str(error).splitlines()[0][:100]}")
            continue
        sets[name] = data.X, data.y
    for n in (60, 190):
        plane = instances.gaussian_clusters(n, 2, 0.5, seed=0)
        sets[f"two features, {n}"] = plane.X, plane.y
    for name, (rows, y) in sets.items():
        if only and name not in only:
            continue
        for C in (1.0, 100.0, 1e4):
            yield name, C, ZeroOneSVM(rows, y, 2.0 * C, intercept="free")


def time_to_proof(name: str, model: ZeroOneSVM, limit: float) -> tuple[float, Result | None]:
    """Return the processor seconds to a proof, infinite without one, and the result; None if the solver cannot read the model."""
    begin = time.process_time()
    try:
        result = solve(model, name, time_limit=limit, threads=1, tol=1e-6)
    except MarginoptError:
        return math.inf, None
    proved = result.bound is not None and result.objective - result.bound <= PROOF_GAP * abs(result.objective)
    return (time.process_time() - begin) if proved else math.inf, result


def easy(only: list[str], limit: float) -> None:
    """Print the table and the number of problems that break the rule; loops are compiled before."""
    warm_up("zero-one-bb")
    print("seconds of processor time to a proof, '-' where there is none within the limit")
    print(HEAD)
    broken = 0
    for name, C, model in problems(only):
        ours, result = time_to_proof("zero-one-bb", model, limit)
        assert result is not None
        tight = ZeroOneSVM(model.X, model.y, model.lam, intercept="free", upper_bound=result.objective * (1 + 1e-6))
        others = [time_to_proof(rival, tight, limit)[0] for rival in RIVALS]
        best = min(others, default=math.inf)
        late = best <= COMPARED_SECONDS and ours > 2.0 * best + NEGLIGIBLE_SECONDS
        broken += late
        times = "".join(f"{'-':>8}" if math.isinf(seconds) else f"{seconds:>8.2f}" for seconds in (ours, *others))
        n, d = model.X.shape[0], model.X.shape[1] - 1
        figures = f"{name:<24}{n:>5}{d:>4}{C:>8g}{result.objective / 2:>14.6g}{result.nodes or 0:>8}"
        print(f"{figures}{times}{'  late' if late else ''}", flush=True)
    print(f"{broken} of them later than twice the best of the others, where that is within {COMPARED_SECONDS:g} s")
