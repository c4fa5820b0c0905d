"""MIPLIB's support vector machines (gsvm2rl): best values, what is proved, and points that others can read.

    min Σ_j v_j + Σ_i C_i ξ_i + 2 Σ_i C_i z_i   s.t.  y_i (Σ_j y_j u_j x_j'x_i + b) ≥ 1 - ξ_i - 100 z_i,
                                                  -v ≤ u ≤ v,  ξ ≥ 0,  z binary.

In w = Σ_j y_j u_j x_j and b it has d + 1 variables: min g(w) + Σ C_i ρ(y_i(x_i'w + b)), g the L1 norm of the kernel weights and
ρ(m) = min{(1 - m)_+, 2 + (-99 - m)_+}. The concave-convex procedure gives a point: the points beyond the ramp pay 2, the others
their hinge, a linear program; again as long as the value falls. It starts at the exact solutions of 0-1 problems, then from its
best point with a few points near the ramp's edge taken back or given up.

*Bounds.* `margin-bb` up to six coefficients, else `ramp-bb`, from that point. Where it leaves a gap, the relaxation by two
thresholds, whose 0-1 problem `zero-one-bb` solves.
"""

from __future__ import annotations

import bz2
import os
import time
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import scipy.sparse as sp
from scipy.optimize import linprog

from marginopt.compilation import warm_up
from marginopt.margin import KernelWeightsL1, Ramp
from marginopt.models.arrays import BoolArray, FloatArray
from marginopt.models.formulations.margin.model import Margin
from marginopt.models.formulations.zero_one import ZeroOneSVM
from marginopt.relaxations import relax
from marginopt.solvers.margin.algorithm import MarginBB
from marginopt.solvers.proofs import check_proof
from marginopt.solvers.ramp import RampBB
from marginopt.solvers.solve import solve

#: C, and MIPLIB's status and best known value in November 2024, by instance.
PUBLISHED = {
    "gsvm2rl3": (0.3, "easy", 0.33652753),
    "gsvm2rl5": (5.0, "hard", 5.42305352523751),
    "gsvm2rl9": (1e4, "open", 7438.181021170049),
    "gsvm2rl11": (25e3, "open", 18121.6376441351),
    "gsvm2rl12": (25.0, "open", 21.90385635871968),
}
#: Multiples of the ramp's costs in the 0-1 problems that the procedure starts from, and of their solutions.
_WEIGHTS, _LENGTHS = (0.5, 2.0, 10.0, 100.0), (0.3, 1.0, 3.0)
#: The big-M constant of z in the published instances.
BIG = 100.0
#: Head of the printed table.
HEAD = (
    f"{'instance':<12}{'n':>5}{'d':>4}{'status':>8}{'published':>20}{'value':>20}{'seconds':>9}"
    f"{'bound':>16}{'nodes':>10}{'seconds':>9}{'thresholds':>12}{'seconds':>9}"
)
#: Relative gap up to which a bound counts as closed.
_CLOSED = 2e-6


@dataclass(frozen=True, eq=False)
class Instance:
    """The data of an instance."""

    X: FloatArray  #: (n, d) points
    y: FloatArray  #: (n,) labels ±1
    C: FloatArray  #: (n,) costs C_i

    @classmethod
    def of(cls, X: FloatArray, y: FloatArray, C: float) -> Instance:
        """Return the instance with C_i = C divided by the size of i's class."""
        return cls(X, y, np.where(y > 0, C / (y > 0).sum(), C / (y < 0).sum()))

    def margins(self, w: FloatArray, b: float) -> FloatArray:
        """Return the margins (n,) y_i(x_i'w + b)."""
        return np.asarray(self.y * (self.X @ w + b))


@dataclass(frozen=True, eq=False)
class Point:
    """A feasible point of an instance as MIPLIB states it."""

    u: FloatArray  #: (n,) kernel weights
    b: float  #: intercept
    xi: FloatArray  #: (n,) slacks
    z: BoolArray  #: (n,) the points given up
    value: float  #: objective
    w: FloatArray  #: (d,) Σ y_j u_j x_j


def load(name: str) -> Instance:
    """Return the instance, whose points are in the directory MARGINOPT_DATA."""
    with bz2.open(Path(os.environ["MARGINOPT_DATA"]) / "miplib" / f"{name}.csv.bz2", "rt") as file:
        table = np.loadtxt(file, delimiter=",", skiprows=1)
    return Instance.of(table[:, 1:], table[:, 0], PUBLISHED[name][0])


def solve_with_given_up(instance: Instance, given_up: BoolArray) -> Point | None:
    """Return the best point with z fixed, by a linear program; None if there is none."""
    n, d = instance.X.shape
    signed = instance.y[:, None] * instance.X
    free = [(None, None)] * (d + 1)
    cost = np.concatenate([np.ones(2 * n), np.zeros(d + 1), instance.C])
    combination = sp.hstack([sp.csr_array(signed.T), sp.csr_array(-signed.T), -sp.eye_array(d), sp.csr_array((d, 1 + n))])
    margins = sp.hstack([sp.csr_array((n, 2 * n)), sp.csr_array(signed), sp.csr_array(instance.y[:, None]), sp.eye_array(n)])
    floor = np.where(given_up, 1.0 - BIG, 1.0)
    bounds = [(0, None)] * (2 * n) + free + [(0, None)] * n
    optimum = linprog(cost, A_ub=-margins, b_ub=-floor, A_eq=combination, b_eq=np.zeros(d), bounds=bounds, method="highs")
    if optimum.status != 0:
        return None
    return evaluate(instance, optimum.x[:n] - optimum.x[n : 2 * n], float(optimum.x[2 * n + d]), given_up)


def evaluate(instance: Instance, u: FloatArray, b: float, given_up: BoolArray) -> Point:
    """Return the point with these weights, intercept and z: its slacks and its value."""
    w = instance.X.T @ (instance.y * u)
    xi = np.maximum(np.where(given_up, 1.0 - BIG, 1.0) - instance.margins(w, b), 0.0)
    value = float(np.abs(u).sum() + instance.C @ xi + 2.0 * instance.C[given_up].sum())
    return Point(u, b, xi, given_up, value, w)


def concave_convex_point(instance: Instance, given_up: BoolArray) -> Point | None:
    """Return the point at the end of the concave-convex procedure that starts from z = ``given_up``."""
    best: Point | None = None
    while True:
        result = solve_with_given_up(instance, given_up)
        if result is None or (best is not None and result.value >= best.value - 1e-9 * abs(best.value)):
            return best
        best, given_up = result, instance.margins(result.w, result.b) < -1.0


def best_point(instance: Instance, limit: float) -> tuple[Point, float]:
    """Return the best point found within ``limit`` processor seconds, and the seconds after which it was found."""
    begin = time.process_time()
    rng = np.random.default_rng(0)
    none = np.zeros(len(instance.y), dtype=bool)
    best = concave_convex_point(instance, none)
    assert best is not None  # w = 0 is feasible
    when = time.process_time() - begin
    rows = np.column_stack([np.ones(len(instance.y)), instance.X])
    for weight in _WEIGHTS:
        exact = solve(
            ZeroOneSVM(rows, instance.y, weight * instance.C, intercept="free"),
            "zero-one-bb",
            time_limit=max(limit / 16, 0.5),
            threads=1,
        ).values["w"]
        for length in _LENGTHS:
            result = concave_convex_point(instance, length * instance.margins(exact[1:], float(exact[0])) < -1.0)
            if result is not None and result.value < best.value:
                best, when = result, time.process_time() - begin
    while time.process_time() - begin < limit:
        edge = np.abs(instance.margins(best.w, best.b) + 1.0)
        moved = np.argsort(edge + 0.3 * np.median(edge) * rng.exponential(1.0, len(edge)))[: rng.integers(1, 12)]
        start = best.z.copy()
        start[moved] ^= True
        result = concave_convex_point(instance, start)
        if result is not None and result.value < best.value * (1.0 - 1e-12):
            best, when = result, time.process_time() - begin
    return best, when


def model(instance: Instance) -> Margin:
    """Return the instance as a composed model in w and b."""
    X = np.column_stack([np.ones(len(instance.y)), instance.X])
    return Margin(
        X, instance.y, Ramp(2.0, 2.0, second_width=BIG), KernelWeightsL1(instance.X), intercept="free", sample_weight=instance.C
    )


def bound(instance: Instance, point: Point, limit: float, log: Path | None) -> tuple[float, int, float]:
    """Return the proved lower bound, the nodes and the processor seconds; the proof goes to ``log``."""
    begin, stated = time.process_time(), model(instance)
    start = {"w": np.concatenate([[point.b], point.w])}
    solver: type[MarginBB] | type[RampBB] = MarginBB if instance.X.shape[1] < 6 else RampBB
    result = solve(stated, solver(proof=None if log is None else str(log)), start=start, time_limit=limit, threads=1)
    return result.bound, int(result.nodes or 0), time.process_time() - begin


def by_thresholds(instance: Instance, limit: float) -> tuple[float, float]:
    """Return the proved lower bound of the relaxation by two thresholds, and its processor seconds."""
    begin = time.process_time()
    return relax(model(instance), "thresholds", "zero-one-bb", time_limit=limit).bound, time.process_time() - begin


def write_mps(instance: Instance, path: Path) -> None:
    """Write the instance as MIPLIB states it, in free MPS."""
    n = len(instance.y)
    kernel = (instance.y[:, None] * instance.X) @ (instance.y[:, None] * instance.X).T
    lines = ["NAME gsvm2rl", "ROWS", " N cost"]
    lines += [f" G m{i}" for i in range(n)] + [f" G {side}{j}" for side in ("above", "under") for j in range(n)]
    lines.append("COLUMNS")
    for j in range(n):
        lines += [f" u{j} m{i} {float(kernel[i, j])!r}" for i in range(n) if kernel[i, j] != 0.0]
        lines += [f" u{j} above{j} -1", f" u{j} under{j} 1"]
    lines += [f" v{j} cost 1 above{j} 1\n v{j} under{j} 1" for j in range(n)]
    lines += [f" b m{i} {float(instance.y[i])!r}" for i in range(n)]
    lines += [f" xi{i} cost {float(instance.C[i])!r} m{i} 1" for i in range(n)]
    lines.append(" M1 'MARKER' 'INTORG'")
    lines += [f" z{i} cost {float(2.0 * instance.C[i])!r} m{i} {BIG!r}" for i in range(n)]
    lines.append(" M2 'MARKER' 'INTEND'")
    lines += ["RHS", *(f" rhs m{i} 1" for i in range(n)), "BOUNDS"]
    lines += [f" FR bound u{j}" for j in range(n)] + [" FR bound b"] + [f" BV bound z{i}" for i in range(n)]
    path.write_text("\n".join([*lines, "ENDATA", ""]))


def write_sol(point: Point, path: Path) -> None:
    """Write the point in the format of MIPLIB's solution files."""
    lines = [f"=obj= {point.value!r}", f"b {point.b!r}"]
    for name, values in (("u", point.u), ("v", np.abs(point.u)), ("xi", point.xi), ("z", point.z.astype(float))):
        lines += [f"{name}{i} {float(v)!r}" for i, v in enumerate(values) if v]
    path.write_text("\n".join([*lines, ""]))


def check_log(instance: Instance, log: Path) -> str:
    """Check a log and return the verdict, its nodes, the size of the file and the seconds."""
    begin = time.process_time()
    report = check_proof(log, model(instance))
    text = f"proves {report.bound:.8g} at value {report.value:.8g}" if report.valid else f"refused: {report.message}"
    return f"{log}: {text}; {report.nodes} nodes, {log.stat().st_size / 1e6:.1f} MB, {time.process_time() - begin:.1f} s"


def miplib(only: list[str], limit: float, out: Path | None) -> None:
    """Print the table; with ``out`` write each instance, its point and the proof of its bound there, and check the proof."""
    warm_up("margin-bb", "ramp-bb", "zero-one-bb")
    print(HEAD)
    if out is not None:
        out.mkdir(parents=True, exist_ok=True)
    for name, (_, status, published) in PUBLISHED.items():
        if only and name not in only:
            continue
        instance = load(name)
        point, when = best_point(instance, limit)
        log = None if out is None else out / f"{name}.log.gz"
        proved, nodes, spent = bound(instance, point, limit, log)
        other = f"{'':>12}{'':>9}"
        if proved < point.value * (1.0 - _CLOSED):
            steps, seconds = by_thresholds(instance, limit)
            other = f"{steps:>12.8g}{seconds:>9.1f}"
        n, d = instance.X.shape
        print(
            f"{name:<12}{n:>5}{d:>4}{status:>8}{published:>20.13g}{point.value:>20.13g}{when:>9.1f}{proved:>16.8g}{nodes:>10}"
            f"{spent:>9.1f}{other}".rstrip(),
            flush=True,
        )
        if out is not None and log is not None:
            write_mps(instance, out / f"{name}.mps")
            write_sol(point, out / f"{name}.sol")
            print(check_log(instance, log), flush=True)
