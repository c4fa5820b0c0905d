"""Programs from elsewhere: quadratic ones of Maros and Mészáros and Netlib's LPs, several solvers beside one certificate.

MARGINOPT_DATA=... python benchmarks/others/real_programs.py maros-meszaros [--count 30] [--most 400] [NAME ...]

The collections: maros-meszaros, netlib, netlib-infeasible.

Every result is judged here, from the form and the point alone: a solver's own word is not asked. *proved*: a bound that
follows from multipliers, rounding included, is within 1e-6, relative, or within 1e-8. *off by*: further than 1e-6 from the
published optimum, relative where that is larger than one.
"""

from __future__ import annotations

import argparse
import time
from collections import Counter

from marginopt import from_scipy, instances, read
from marginopt.errors import MarginoptError
from marginopt.instances import StoredProgram
from marginopt.instances.programs import MAROS_MESZAROS
from marginopt.models import StandardForm
from marginopt.solvers.certification.rays import farkas_proves
from marginopt.solvers.certification.result import Result
from marginopt.solvers.solve import solve

#: Solvers of each collection; SCIP and Gurobi are there for whole numbers elsewhere.
SOLVERS = {
    "maros-meszaros": ("clarabel", "piqp", "daqp", "proxqp", "osqp", "scs", "highs"),
    "netlib": ("highs", "clarabel", "piqp", "scip", "scs"),
    "netlib-infeasible": ("highs", "clarabel", "scip"),
}
AGREES = 1e-6
#: A bound as close as this proves an optimum of zero, where no share of it can be asked.
NEAR_ZERO = 1e-8


def form_of(program: StoredProgram) -> StandardForm:
    """The program as users get it: from a file, or from the arguments of `linprog`."""
    if program.collection == "maros-meszaros":
        form = read(program.path)
        assert isinstance(form, StandardForm)
        return form
    return from_scipy(**instances.linprog_arguments(program))


def chosen(collection: str, count: int, most: int, names: list[str]) -> list[StoredProgram]:
    """The named programs, or the smallest files: of Maros and Mészáros those whose published optimum is known here."""
    programs = instances.stored_programs(collection)  # type: ignore[arg-type]
    if names:
        return [program for program in programs if program.name in names]
    listed = [p for p in programs if collection != "maros-meszaros" or p.name in MAROS_MESZAROS]
    small = [p for p in listed if p.path.stat().st_size <= most * 1000]
    return sorted(small, key=lambda p: p.path.stat().st_size)[:count]


def said(form: StandardForm, result: Result, optimum: float | None) -> str:
    """Seconds, and what the certificate and the published value say."""
    seconds = f"{result.solve_seconds:.2f}"
    if optimum is None:
        proved = result.farkas is not None and farkas_proves(form, result.farkas)
        return f"{seconds} {result.status.name.lower()}" + (" proved" if proved else " claimed")
    if not result.solved:
        return f"{seconds} {result.status.name.lower()}"
    agrees = abs(result.objective - optimum) <= AGREES * max(1.0, abs(optimum))
    near = result.gap is not None and result.gap <= AGREES  # a solver's own bound proves nothing
    proved = result.bound_kind == "proved" and (near or result.objective - result.bound <= NEAR_ZERO)
    return seconds + ("" if agrees else f" off by {result.objective - optimum:.1e}") + (" proved" if proved else "")


def main() -> None:
    """Print a row for each program and how many each solver solved."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("collection", choices=tuple(SOLVERS))
    parser.add_argument("names", nargs="*")
    parser.add_argument("--count", type=int, default=30)
    parser.add_argument("--most", type=int, default=400, help="largest file, thousands of bytes")
    parser.add_argument("--limit", type=float, default=20.0, help="seconds for each solve")
    arguments = parser.parse_args()
    names = SOLVERS[arguments.collection]
    print(f"| program | n | rows | published | {' | '.join(names)} |\n|{'---|' * (4 + len(names))}")
    solved: Counter[str] = Counter()
    begin, programs = time.perf_counter(), chosen(arguments.collection, arguments.count, arguments.most, arguments.names)
    for program in programs:
        try:
            form = form_of(program)
        except MarginoptError as error:
            print(f"| {program.name} | refused: {error} |")
            continue
        cells = []
        for name in names:
            try:
                result = solve(form, name, time_limit=arguments.limit, threads=1)
            except MarginoptError:
                cells.append("refused")
                continue
            cells.append(said(form, result, program.optimum))
            solved[name] += result.status.name == "INFEASIBLE" if program.optimum is None else result.solved
        rows = sum(c.rows for c in form.constraints)
        published = "infeasible" if program.optimum is None else f"{program.optimum:.9g}"
        print(f"| {program.name} | {form.n} | {rows} | {published} | {' | '.join(cells)} |", flush=True)
    counts = ", ".join(f"{name} {solved[name]}" for name in names)
    print(f"\n{len(programs)} programs, {time.perf_counter() - begin:.0f} s. Solved: {counts}")


if __name__ == "__main__":
    main()
