"""The whole attack on claims, certification, inputs, files, imports, estimators and proofs; prints the table with its cases.

    python tests/attack/run.py [--part 0.1] [--seed 0x0123abc] [--only questions]

Exit code 1 if a claim above the exact truth, a wrong optimum, or an exception that is not ours was found. The same seed gives the
same cases; each is printed with the number by which it can be run alone.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import sys
import tempfile
import time
import warnings
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path

sys.path[:0] = [str(Path(__file__).parent / "cases"), str(Path(__file__).parents[1])]  # the cases, and the suite's VIPR checker

import attack_alternatives as alternatives
import attack_answers as answers
import attack_choices as choices
import attack_compositions as compositions
import attack_data as data
import attack_disguises as disguises
import attack_doors as doors
import attack_estimators as estimators
import attack_files as files
import attack_imports as imports
import attack_inputs as inputs
import attack_levels as levels
import attack_losses as losses
import attack_models as models
import attack_options as options
import attack_outside as outside
import attack_questions as questions
import attack_ramps as ramps
import attack_solvers as solvers
import attack_stores as stores
import attack_workers as workers
import attack_writers as writers

#: Faults of a row that are printed; cases after which it says how far it is.
SHOWN, REPORTED = 12, 500


class Row:
    """One line of the table, and the faults that are printed."""

    def __init__(self, name: str) -> None:
        self.name, self.cases, self.begin = name, 0, time.process_time()
        self.seconds = 0.0
        self.proved, self.claims, self.escaped = 0, 0, 0
        self.shown: Counter[str] = Counter()

    def add(self, what: str, fault: str) -> None:
        """One case."""
        self.cases += 1
        self.seconds = time.process_time() - self.begin
        if self.cases % REPORTED == 0:
            print(f"  {self.name}: {self.cases:,} cases so far, {self.seconds:.0f} s", flush=True)
        if not fault:
            return
        head = fault.split(":")[0]
        escaped = head.endswith(("Error", "Exception", "Iteration", "Interrupt", "Warning")) or head.startswith("does not name")
        self.escaped += escaped
        self.proved += fault.startswith("bound")
        self.claims += not escaped and not fault.startswith("bound")
        self.shown[f"{what.split(' at ')[0].split(': ')[-1]}: {fault[:50]}"] += 1
        if sum(self.shown.values()) <= SHOWN:
            print(f"  {self.name}: {what}: {fault}", flush=True)

    def __str__(self) -> str:
        return f"| {self.name} | {self.cases:,} | {self.proved} | {self.claims} | {self.escaped} | {self.seconds:.0f} |"


@contextlib.contextmanager
def silence() -> Iterator[None]:
    """Solvers written in C print where Python cannot see it."""
    saved, null = os.dup(1), os.open(os.devnull, os.O_WRONLY)
    os.dup2(null, 1)
    try:
        yield
    finally:
        os.dup2(saved, 1)
        os.close(saved)
        os.close(null)


def attack_answers(natural: int, corrupted: int, seed: int) -> tuple[Row, Row]:
    """Natural answers first; then lies about those that were found."""
    first, held = Row("natural answers"), []
    for number in range(seed * natural, (seed + 1) * natural):
        with silence():
            name, fault, result = answers.natural(number)
        first.add(name, fault)
        if result is not None and not fault and len(held) < 2000:
            held.append((number, result))
    print(first, flush=True)
    second = Row("corrupted answers")
    for lie in range(corrupted):
        number, result = held[lie % len(held)]
        problem = answers.case(number)
        second.add(f"{problem.name} by {result.solver}, lie {lie}", answers.judged(lie, result.answer, problem, result.solver))
    print(second, flush=True)
    return first, second


def attack_alternatives(natural: int, lies: int, seed: int) -> tuple[Row, Row]:
    """Programs with no point or no least value, natural answers first; then lies about those that were found."""
    first, held, lost = Row("no point, no least value"), [], 0
    for number in range(seed * natural, (seed + 1) * natural):
        with silence():
            name, fault, result = alternatives.natural(number)
        first.add(name, fault)
        if result is not None and not fault:
            held.append((number, result))
            lost += alternatives.proof_is_lost(result, alternatives.case(number))
    print(first, f"{lost} true claims about linear programs are not proved", flush=True)
    second = Row("lies about them")
    for lie in range(lies):
        number, result = held[lie % len(held)]
        problem = alternatives.case(number)
        what = f"{number}: {problem.name} by {result.solver}, lie {lie}"
        second.add(what, alternatives.judged(lie, result.answer, problem, result.solver))
    print(second, flush=True)
    return first, second


def attack_cases(name: str, attack: Callable[[int], tuple[str, str]], count: int, seed: int) -> Row:
    """Cases by their numbers."""
    row = Row(name)
    for number in range(seed * count, (seed + 1) * count):
        with silence():
            what, fault = attack(number)
        row.add(what, fault)
    print(row, flush=True)
    return row


def attack_programs(count: int, seed: int) -> Row:
    """Changed program files, judged by HiGHS, SCIP and Gurobi."""
    row, judges = Row("changed program files"), files.Judges()
    with tempfile.TemporaryDirectory() as folder:
        for number in range(seed * count, (seed + 1) * count):
            row.add(f"program {number}", files.program(number, Path(folder), judges))
    judges.close()
    print(row, flush=True)
    return row


def attack_files(count: int, seed: int) -> Row:
    """Malformed files of every kind."""
    row = Row("malformed files")
    with tempfile.TemporaryDirectory() as good, tempfile.TemporaryDirectory() as bad:
        seeds = files.seeds(Path(good))
        for number in range(seed * count, (seed + 1) * count):
            kind = files.KINDS[number % len(files.KINDS)]
            outcome = files.attack(kind, number, seeds[kind], Path(bad))
            row.add(f"{kind}, {number}", "" if outcome in ("read", "refused") else outcome)
    print(row, flush=True)
    return row


#: How many cases each part has: a seed takes at most an hour of a processor. 504 numbers hold all kinds of compositions.
COUNTS = {
    "inputs": 5_000, "files": 2_000, "bombs": 50, "options": 1_000, "stores": 2_000, "data": 3_000, "levels": 2_000,
    "outside": 3_000, "estimators": 2_000, "answers": 5_000, "alternatives": 2_000, "doors": 1_000, "workers": 200,
    "solvers": 200, "ramps": 400, "questions": 270, "losses": 400, "choices": 420, "disguises": 600, "imports": 300,
    "writers": 100, "models": 1_200, "compositions": 1_008, "counted": 5_000,
}  # fmt: skip


def attack_imports(count: int, seed: int) -> list[Row]:
    """Programs of every package that is imported from."""
    return [
        attack_cases(f"imports from {package}", partial(imports.attack, package=package), count, seed)
        for package in imports.PACKAGES
    ]


def attack_stores(count: int, seed: int) -> list[Row]:
    """Files of results that somebody edited, and a quarter as many stores and files of reports, books and fitted estimators."""
    quarters = (
        ("edited report stores", stores.attack_reports), ("edited report files", stores.attack_pages),
        ("edited books", stores.attack_book), ("edited estimators", stores.attack_fitted),
    )  # fmt: skip
    results = attack_cases("edited results", stores.attack_results, count, seed)
    return [results, *(attack_cases(name, attack, count // 4, seed) for name, attack in quarters)]


def _cases(name: str, attack: Callable[[int], tuple[str, str]]) -> Callable[[int, int], list[Row]]:
    return lambda count, seed: [attack_cases(name, attack, count, seed)]


#: What each part runs, from a number of cases and a seed.
PARTS: dict[str, Callable[[int, int], Sequence[Row]]] = {
    "inputs": _cases("wild inputs", inputs.attack),
    "files": lambda count, seed: [attack_files(count, seed), attack_programs(count, seed)],
    "bombs": _cases("packed logs within 200 MB", stores.attack_bombs),
    "options": _cases("odd options", options.attack),
    "stores": attack_stores,
    "data": _cases("mutated data files", data.attack),
    "levels": _cases("levels, offset and scaled", levels.attack),
    "outside": _cases("gurobipy, VIPR, audits", outside.attack),
    "estimators": _cases("estimators on shifted data", estimators.attack),
    "answers": lambda count, seed: attack_answers(count, 5 * count // 2, seed),
    "alternatives": lambda count, seed: attack_alternatives(count, 3 * count, seed),
    "doors": _cases("other doors", doors.attack),
    "workers": _cases("workers' outcomes", workers.attack),
    "solvers": _cases("solvers' claims, lies", solvers.attack),
    "ramps": _cases("ramps, forged proofs", ramps.attack),
    "questions": _cases("questions, paths, limits", questions.attack),
    "losses": _cases("relaxed, sparse, smooth losses", losses.attack),
    "choices": _cases("λ by folds, games, book, planes", choices.attack),
    "disguises": _cases("problems in disguise", disguises.attack),
    "imports": attack_imports,
    "writers": _cases("files by other writers", writers.attack),
    "models": _cases("models on odd data", models.attack),
    "compositions": _cases("compositions, forged proofs", compositions.attack),
    "counted": _cases("w counted in rationals", compositions.attack_counted),
}


def main() -> int:
    """Run it and print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--part", type=float, default=1.0, help="this part of the cases (default 1)")
    parser.add_argument("--seed", type=lambda text: int(text, 0), default=0, help="a number, 0x... for the digits of a commit")
    parser.add_argument("--only", choices=tuple(PARTS), nargs="+", default=list(PARTS), help="these parts (default all)")
    a = parser.parse_args()
    warnings.simplefilter("ignore")
    rows = [row for part in a.only for row in PARTS[part](round(COUNTS[part] * a.part), a.seed)]
    print("\n| attack | cases | proved bounds above the truth | other claims not so | exceptions not ours | seconds |")
    print("| --- | --- | --- | --- | --- | --- |")
    print("\n".join(map(str, rows)))
    for row in rows:
        for fault, count in row.shown.most_common(SHOWN):
            print(f"  {row.name}: {count} × {fault}")
    return int(any(row.proved or row.claims or row.escaped for row in rows))


if __name__ == "__main__":
    sys.exit(main())
