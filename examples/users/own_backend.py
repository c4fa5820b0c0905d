"""A solver engineer's first hour: a backend of one's own on QPs from arrays, beside others, with a profile and a trace.

python examples/users/own_backend.py
"""

from __future__ import annotations

import tempfile
from pathlib import Path

import numpy as np
import scipy.sparse as sp
from scipy.sparse.linalg import splu

import marginopt as mo
from marginopt.models import Feature, StandardForm
from marginopt.solvers import Answer, Backend, Gives, Options, SolverInfo, Status


class ToyADMM(Backend):
    """ADMM as in OSQP, without scaling, adaptation or polishing."""

    info = SolverInfo(
        name="toy-admm", summary="ADMM on quadratic programs", reads=frozenset({Feature.QUADRATIC}),
        gives=frozenset({Gives.DUALS}), tolerance=1e-4, first_order=True,
    )  # fmt: skip

    def solve_form(self, form: StandardForm, options: Options) -> Answer:
        """Alternate between the equations and the sides until both residuals are small."""
        arrays = form.linear()
        P, q, A, lower, upper = arrays
        sigma, rho = 1e-6, 1.0
        factor = splu(sp.csc_matrix(sp.bmat([[P + sigma * sp.eye(q.size), A.T], [A, -sp.eye(A.shape[0]) / rho]])))
        x, z, y = np.zeros(q.size), np.zeros(A.shape[0]), np.zeros(A.shape[0])
        status = Status.ITERATION_LIMIT
        for k in range(options.iteration_limit or 20_000):  # noqa: B007 - counts the iterations
            step = factor.solve(np.concatenate([sigma * x - q, z - y / rho]))
            x, trial = step[: q.size], z + (step[q.size :] - y) / rho
            z = np.clip(trial + y / rho, lower, upper)
            y = y + rho * (trial - z)
            if max(np.abs(A @ x - z).max(), np.abs(P @ x + q + A.T @ y).max()) < 1e-9:
                status = Status.OPTIMAL
                break
        return Answer(
            status=status, values=form.split(x), multipliers=arrays.multipliers(y), reduced=arrays.reduced(y),
            iterations=k + 1,
        )  # fmt: skip


def portfolios(count: int) -> list[StandardForm]:
    """Return random portfolio problems, quadratic programs with factors, a budget and bounds."""
    made = []
    for seed in range(count):
        rng = np.random.default_rng(seed)
        n = int(rng.integers(5, 15))
        B = rng.normal(size=(n, 3))
        P, q = B @ B.T + 0.1 * np.eye(n), -rng.random(n)
        made.append(mo.from_qp(P, q, G=rng.normal(size=(3, n)), h=np.ones(3), A=np.ones((1, n)), b=[1.0], lb=0.0, ub=0.6))
    return made


def main(folder: Path) -> dict[str, float]:
    """Run the whole task and return what the test asserts."""
    one = portfolios(1)[0]
    alone = mo.solve(one, ToyADMM())
    print(alone)

    # beside all installed ones of seven others
    others = ("clarabel", "osqp", "piqp", "highs", "daqp", "quadprog", "scs")
    present = {row["name"] for row in mo.solvers.table().rows if row["installed"] == "yes"}
    solvers = [ToyADMM(), *(name for name in others if name in present)]
    comparisons = mo.compare({f"portfolio {seed}": program for seed, program in enumerate(portfolios(20))}, solvers)
    print(comparisons)
    profile = mo.performance_profile(comparisons)
    print(profile)
    results = [result for table in comparisons.values() for result in table.results.values() if result.solved]
    objectives = [[result.objective for result in table.results.values() if result.solved] for table in comparisons.values()]
    within = [profile.within(name, 1e9) for name in comparisons.solvers]

    # the native log of one solve, and the trace of an iterative algorithm, every fifth row
    mo.solve(one, "clarabel", log_file=folder / "clarabel.log")
    print((folder / "clarabel.log").read_text())
    trace = mo.solve(mo.L2SVMDual(*_points()), "fw", tol=1e-2, trace_every=5).trace
    print(f"{len(trace)} rows of a trace, the last {trace[-1]}")
    return {
        "proved": float(alone.bound_kind == "proved"), "solved": len(results) / (20 * len(solvers)),
        "spread": max(float(np.ptp(values)) / abs(values[0]) for values in objectives), "within": min(within),
        "trace": float(len(trace)), "log": float((folder / "clarabel.log").stat().st_size),
    }  # fmt: skip


def _points() -> tuple[np.ndarray, np.ndarray]:
    data = mo.load("wdbc").prepared().subsample(40, 0)
    return data.X, data.y


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as name:
        main(Path(name))
