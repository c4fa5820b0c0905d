"""Strengthened against big-M encodings of the 0-1 loss in SCIP: a map of nodes and time over n, p, σ, λ.

    python benchmarks/strengthened.py --store strengthened.db --jobs 2 [--n 40 60] [--p 2 3] [--sigma .2 .5] [--lam 3 10]
                                      [--outliers clustered] [--data-seeds 10] [--solver-seeds 3] [--limit 60]
                                      [--budget 1500] [--variants bigm fixed strengthened strengthened-fixed] [--table]

Every variant starts from the same incumbent (`relaxations.heuristic`) and has M tightened by it:

- ``bigm``: Conic (3);                     ``fixed``: the same with `relaxations.Fixing` at γ*, M and z from the dual point;
- ``strengthened``: `relaxations.strengthen` (γ*, row with M for every point);  ``strengthened-fixed``: the same with `Fixing`.

Our own exact solver finds the optimum first. Trivial optima (w a multiple of the intercept) are set apart and given to nobody
else: on them every method is quick or the instance says little. Time is the processor's, of the solve, so that a busy machine
changes little; that of the SDP and of the fixing is told apart. Shifted geometric means over data seeds × solver seeds: 10 nodes,
1 second; in brackets big-M's divided by them. Runs that reach the limit count with what they had and are told. A proven optimum
that is not the reference's is told.

Every run is kept in the store (SQLite) when it is done: an interrupted benchmark continues, several may work on one store, and
``--table`` prints what it holds and solves nothing. After ``--budget`` seconds no further solve is begun; a data seed whose runs
are not complete is left out of the means and told.
"""

from __future__ import annotations

import argparse
import itertools
import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from joblib import Parallel, delayed

from marginopt import instances
from marginopt.models import ZeroOneSVM
from marginopt.relaxations import CellStore, fix_variables, heuristic, shifted_geometric_mean, strengthen
from marginopt.relaxations.reduction import replace_fields
from marginopt.relaxations.report.runner import digest
from marginopt.solvers import solve

#: Names of the encodings.
VARIANTS = ("bigm", "fixed", "strengthened", "strengthened-fixed")
#: Seconds for the optimum by zero-one-bb.
REFERENCE_LIMIT = 120.0
#: Result of a run: values by name.
Record = dict[str, Any]
#: n, p, σ and λ.
CellKey = tuple[int, int, float, float]


@dataclass(frozen=True)
class Draw:
    """One data seed of a cell (n, p, σ, λ), and the runs on it."""

    cell: CellKey
    outliers: str  #: kind of outliers of `instances.gaussian_clusters`
    seed: int  #: seed of the data
    solver: str  #: name of the solver
    limit: float  #: seconds of a run
    solver_seeds: int  #: number of seeds of the solver
    variants: tuple[str, ...]  #: encodings, of `VARIANTS`

    @property
    def common(self) -> Record:
        """The data that determine the runs, as stored keys hold them."""
        return {"where": list(self.cell), "outliers": self.outliers, "data": self.seed}

    @property
    def reference_key(self) -> str:
        """The key of the optimum in the store."""
        return digest({"reference": self.common})

    @property
    def runs(self) -> Iterator[tuple[str, str, int]]:
        """The key in the store, the variant and the solver seed of each run; the variants of one seed together."""
        for seed, variant in itertools.product(range(self.solver_seeds), self.variants):
            parts = {**self.common, "seed": seed, "variant": variant, "limit": self.limit, "solver": self.solver, "clock": "cpu"}
            yield digest({"strengthened": parts}), variant, seed


class PreparedProblem:
    """The models of a draw: big-M, and the strengthened one, made at its first use, both with the heuristic's incumbent."""

    def __init__(self, draw: Draw) -> None:
        n, p, sigma, lam = draw.cell
        data = instances.gaussian_clusters(n, p, sigma, outliers=draw.outliers, seed=draw.seed)
        model = ZeroOneSVM(data.X, data.y, lam)
        self.draw = draw
        self.model = replace_fields(model, incumbent=heuristic(model, draw.seed)[0])
        self._strong: tuple[ZeroOneSVM, float] | None = None

    def strong(self) -> tuple[ZeroOneSVM, float]:
        """Return the strengthened model and the processor seconds that it took."""
        if self._strong is None:
            begin = time.process_time()
            strong = strengthen(self.model, rounds=0)
            self._strong = replace_fields(strong, incumbent=self.model.incumbent), time.process_time() - begin
        return self._strong

    def reference(self) -> Record:
        """Return the optimum by zero-one-bb, and whether it is trivial."""
        result = solve(self.model, "zero-one-bb", time_limit=REFERENCE_LIMIT, threads=1)
        w = result.values["w"]
        trivial = bool(np.linalg.norm(w[1:]) <= 1e-6 * max(1.0, float(np.linalg.norm(w))))
        return {"status": str(result.status), "objective": self.model.objective(w), "trivial": trivial}

    def solve(self, variant: str, seed: int) -> Record:
        """Solve one variant with one seed of the solver; return the record of the run."""
        draw = self.draw
        chosen, before = self.strong() if variant.startswith("strengthened") else (self.model, 0.0)
        begin = time.process_time()
        target: Any = chosen
        if variant.endswith("fixed"):
            target = fix_variables(self.model).apply(chosen)
        before += time.process_time() - begin
        native = {"timing/clocktype": 1} if draw.solver == "scip" else {}  # its limit counts processor time too
        begin = time.process_time()
        result = solve(target, draw.solver, start=chosen.start, seed=seed, time_limit=draw.limit, threads=1, tol=1e-6, **native)
        return {
            "status": str(result.status),
            "nodes": result.nodes,
            "seconds": time.process_time() - begin,
            "elapsed": result.solve_seconds,
            "before": before,
            "objective": min(self.model.objective(result.values["w"], tol=1e-6), self.model.incumbent_value),
            "bound": float(result.best_bound[0]),
            "root": result.details.get("root_bound"),
        }


def work(draw: Draw, path: str, deadline: float) -> float:
    """Do the runs of one draw that the store lacks, until the deadline, a value of `time.time`; return the seconds."""
    store, begin = CellStore(path), time.perf_counter()
    prepared: PreparedProblem | None = None
    reference = store.get(draw.reference_key)
    if reference is None:
        if time.time() > deadline:
            return 0.0
        prepared = PreparedProblem(draw)
        reference = store.put(draw.reference_key, "reference", prepared.reference())
    if not reference["trivial"]:
        for key, variant, seed in draw.runs:
            if store.get(key) is None and time.time() <= deadline:
                prepared = PreparedProblem(draw) if prepared is None else prepared
                store.put(key, "strengthened", prepared.solve(variant, seed))
    return time.perf_counter() - begin


def line(draws: Sequence[Draw], store: CellStore) -> str:
    """Return a row of the table: means of the complete draws that are not trivial, and ratios to the first variant."""
    variants = draws[0].variants
    references = [store.get(draw.reference_key) for draw in draws]
    rest = [(d, r) for d, r in zip(draws, references, strict=True) if r is not None and not r["trivial"]]
    texts = [(r, {(variant, seed): store.get(key) for key, variant, seed in d.runs}) for d, r in rest]
    complete = [(r, runs) for r, runs in texts if all(run is not None for run in runs.values())]
    known = sum(r is not None for r in references)
    head = "| {} | {} | {:g} | {:g} | {} of {} |".format(*draws[0].cell, len(rest), known)
    note = f" {len(complete)} of {len(rest)} draws complete |" if len(complete) < len(rest) else ""
    note += f" {len(draws) - known} draws not begun |" if known < len(draws) else ""
    if not complete:
        return head + (" all trivial |" if known and not rest else " |") + note
    base = None
    for variant in variants:
        runs_of = [run for _, runs in complete for (v, _), run in runs.items() if v == variant and run is not None]
        nodes = shifted_geometric_mean([r["nodes"] for r in runs_of], 10.0)
        seconds = shifted_geometric_mean([r["seconds"] for r in runs_of], 1.0)
        before = shifted_geometric_mean([r["before"] for r in runs_of], 1.0)
        open_ = sum(r["status"] != "optimal" for r in runs_of)
        base = base or (nodes, seconds)
        text = f"{nodes:.0f} nodes, {seconds:.2f} s" + (f" after {before:.2f}" if before else "")
        text += f", {open_} of {len(runs_of)} open" if open_ else ""
        if variant != variants[0]:
            text += f" ({base[0] / max(nodes, 1e-9):.1f}x, {base[1] / max(seconds, 1e-9):.2f}x)"
        head += f" {text} |"
    return head + note + _differences(complete)


def _differences(complete: Sequence[tuple[Record, dict[tuple[str, int], Record | None]]]) -> str:
    """Return a note on proven optima that differ from the reference's."""
    worst = 0.0
    for reference, runs in complete:
        for run in runs.values():
            if run is not None and run["status"] == "optimal" and reference["status"] == "optimal":
                worst = max(worst, abs(run["objective"] / reference["objective"] - 1.0))
    return "" if worst < 1e-5 else f" OPTIMA DIFFER by {worst:.1e} |"


def main() -> None:
    """Do the runs that the store lacks, and print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--store", required=True, help="file that keeps the runs (SQLite)")
    parser.add_argument("--jobs", type=int, default=1, help="draws at a time")
    parser.add_argument("--n", type=int, nargs="+", default=[40, 60])
    parser.add_argument("--p", type=int, nargs="+", default=[2, 3])
    parser.add_argument("--sigma", type=float, nargs="+", default=[0.2, 0.5])
    parser.add_argument("--lam", type=float, nargs="+", default=[3.0, 10.0])
    parser.add_argument("--outliers", default="clustered")
    parser.add_argument("--data-seeds", type=int, default=10)
    parser.add_argument("--solver-seeds", type=int, default=3)
    parser.add_argument("--limit", type=float, default=60.0, help="seconds of each solve (SCIP: of the processor)")
    parser.add_argument("--budget", type=float, default=float("inf"), help="seconds after which no solve is begun")
    parser.add_argument("--solver", default="scip")
    parser.add_argument("--variants", nargs="+", default=list(VARIANTS), choices=VARIANTS)
    parser.add_argument("--table", action="store_true", help="print the table of what the store holds")
    args = parser.parse_args()
    store = CellStore(args.store)
    cells = [
        [
            Draw(cell, args.outliers, seed, args.solver, args.limit, args.solver_seeds, tuple(args.variants))
            for seed in range(args.data_seeds)
        ]
        for cell in itertools.product(args.n, args.p, args.sigma, args.lam)
    ]
    if not args.table:
        # data seeds outermost: where the budget ends, every cell has its first seeds
        draws = [draw for same_seed in zip(*cells, strict=True) for draw in same_seed]
        begin = time.time()
        calls = (delayed(work)(draw, args.store, begin + args.budget) for draw in draws)
        finished = Parallel(n_jobs=args.jobs, return_as="generator_unordered", batch_size=1, pre_dispatch="2*n_jobs")(calls)
        for done, _ in enumerate(finished, start=1):
            spent = time.time() - begin
            left = min(spent / done * (len(draws) - done), max(args.budget - spent, 0.0))
            sys.stderr.write(f"{done} of {len(draws)} draws, {spent:.0f} s, about {left:.0f} s left\n")
    print("| n | p | σ | λ | not trivial | " + " | ".join(args.variants) + " |")
    print("|---" * (5 + len(args.variants)) + "|")
    for draws in cells:
        print(line(draws, store))


if __name__ == "__main__":
    main()
