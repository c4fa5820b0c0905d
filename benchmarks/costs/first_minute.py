"""The waiting time of a new user: import, prompt, the first run of every solver with nothing compiled, the README, a report.

    python benchmarks/costs/first_minute.py [--solvers smo zero-one-bb] [--repeat 5] [--best 2] [--clone] [--markdown]

Every figure is processor time of fresh processes, so that it can be measured again on a machine that does other work too; still
take the least of several (``--best``), because shared caches slow every process down. "cold" is the first run with an empty cache
of compiled code, "load" the first run of a process that finds the cache of another one, "warm" the best of the runs after
that, on the smallest example of each structure that the solver reads; "all" runs every solver in one process with one empty
cache, so that what they share is compiled once. ``--clone`` clones the repository and runs ``make report`` in it, packages
from pip's cache.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import resource
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
#: What a new user waits for, in seconds of processor time.
TARGETS = {
    "import": 0.5, "--version": 0.3, "--help": 0.3, "cold": 10.0, "all": 25.0, "README": 20.0, "report": 90.0, "warm": 0.02
}  # fmt: skip
#: Seconds when it was first measured, before anything was done about it.
BEFORE = {"zero-one-bb, cold": 102.0, "smo, cold": 17.0, "mfw, cold": 11.0, "smo-box, cold": 9.0, "kernel-npsvcpp, cold": 5.0}
#: Megabytes and packages of an installation then.
INSTALLED_BEFORE = (970, 34)

_CHILD = """
import json, sys, time
begin = time.process_time()
import numpy as np
import marginopt as mo
from marginopt.solvers.registry import get_solver
from marginopt.compilation import example_models
names, repeat = json.loads(sys.argv[1])
told = {"import": time.process_time() - begin, "solvers": {}}
for name in names:
    models = example_models(get_solver(name))
    began = time.process_time()
    compiled = sum(mo.solve(model, name, threads=1).compile_seconds for model in models)
    first, warm = time.process_time() - began, 0.0
    for model in models:
        times = []
        for _ in range(repeat):
            at = time.process_time()
            mo.solve(model, name, threads=1)
            times.append(time.process_time() - at)
        warm = max(warm, min(times))
    if models:  # a solver without an example of its own says nothing here
        told["solvers"][name] = {"first": first, "compiled": compiled, "warm": warm, "models": len(models)}
print(json.dumps(told))
"""


def child(names: list[str], repeat: int, cache: str) -> dict[str, dict[str, float]]:
    """Runs of these solvers in a fresh process with this cache."""
    command = [sys.executable, "-c", _CHILD, json.dumps([names, repeat])]
    done = subprocess.run(command, env=_environment(cache), capture_output=True, text=True, check=True)
    values: dict[str, dict[str, float]] = json.loads(done.stdout.splitlines()[-1])["solvers"]
    return values


def processor_time(command: list[str], folder: str | Path | None = None, cache: str | None = None) -> float:
    """Of a process with its children."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(command, cwd=folder, env=_environment(cache), capture_output=True, check=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def _environment(cache: str | None) -> dict[str, str]:
    result = os.environ | {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
    result.pop("PYTHONDONTWRITEBYTECODE", None)  # a user's Python keeps what it compiles; with this set each process does it anew
    return result if cache is None else result | {"NUMBA_CACHE_DIR": cache}


class Table:
    """Rows: what, seconds before, now, and the target; as text, or as a page has it."""

    def __init__(self, markdown: bool) -> None:
        self._row = "| {} | {} | {} | {} |" if markdown else "{:<44}{:>8}{:>10}   {}"
        if markdown:
            print("| seconds of processor time | before | now | target |\n| --- | ---: | ---: | --- |", flush=True)

    def add(self, what: str, seconds: float, target: float | None = None) -> None:
        """One figure beside what it was and what it is to be."""
        aim = "" if target is None else f"{target:g}" + ("" if seconds <= target else ", missed")
        now = f"{seconds:.2f}" if seconds >= 0.2 else f"{seconds:.3f}"
        before = f"{BEFORE[what]:g}" if what in BEFORE else ""
        print(self._row.format(what, before, now, aim), flush=True)


def prompt(table: Table, least: Callable[[Callable[[], float]], float]) -> None:
    """Import, and the command's first answers."""
    cases = {
        "import marginopt": (["-c", "import marginopt"], TARGETS["import"]),
        "import and one name of each kind": (["-c", "import marginopt as m; m.solve, m.HingeSVM, m.L2SVC"], None),
        "marginopt --version": (["-m", "marginopt.cli.main", "--version"], TARGETS["--version"]),
        "marginopt --help": (["-m", "marginopt.cli.main", "--help"], TARGETS["--help"]),
    }
    for what, (arguments, target) in cases.items():
        table.add(what, least(lambda arguments=arguments: processor_time([sys.executable, *arguments])), target)  # type: ignore[misc]


def solvers(table: Table, names: list[str], repeat: int, best: int) -> None:
    """Each in a process of its own, then all in one."""
    for name in names:
        cold, load, warm = [], [], []
        for _ in range(best):
            with tempfile.TemporaryDirectory() as cache:
                runs = [child([name], repeat, cache) for _ in range(2)]
            if not all(runs):
                break  # it has no example of its own
            first, second = (run[name] for run in runs)
            cold.append(first["first"])
            load.append(second["first"])
            warm.append(second["warm"])
        if not cold:
            continue
        table.add(f"{name}, cold", min(cold), TARGETS["cold"])
        table.add(f"{name}, load", min(load))
        table.add(f"{name}, warm", min(warm), TARGETS["warm"])
    with tempfile.TemporaryDirectory() as cache:
        together = child(names, 1, cache)
    table.add("all of them in one process, cold", sum(run["first"] for run in together.values()), TARGETS["all"])


def readme() -> float:
    """The README's blocks of Python, in order, in one process with an empty cache."""
    blocks = re.findall(r"```python\n(.*?)```", (ROOT / "README.md").read_text(encoding="utf-8"), flags=re.DOTALL)
    with tempfile.TemporaryDirectory() as folder:
        Path(folder, "tour.py").write_text("\n".join(blocks), encoding="utf-8")
        return processor_time([sys.executable, "tour.py"], folder, str(Path(folder, "cache")))


def clone(table: Table) -> None:
    """`make report` in a fresh clone, and what it installed."""
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder, "marginopt")
        subprocess.run(["git", "clone", "--quiet", str(ROOT), str(place)], check=True)
        environment = processor_time(["make", "env"], place)
        report = processor_time(["make", "report"], place)
        table.add("make report in a fresh clone: environment", environment)
        table.add("make report in a fresh clone, in all", environment + report, TARGETS["report"])
        packages = next(Path(place, ".venv", "lib").glob("python3*/site-packages"))
        files = [p for p in packages.rglob("*") if p.is_file() and "__pycache__" not in p.parts]
        size = sum(p.stat().st_size for p in files) / 1e6
        count = sum(1 for p in packages.glob("*.dist-info") if not p.name.startswith(("pip-", "setuptools-", "marginopt-")))
        print(f"\ninstalled: {size:.0f} MB in {count} packages; before: {INSTALLED_BEFORE[0]} MB in {INSTALLED_BEFORE[1]}")


def main() -> None:
    """Measure and print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--solvers", nargs="*", help="without them, all with compiled loops")
    parser.add_argument("--repeat", type=int, default=5, help="warm runs, of which the best counts")
    parser.add_argument("--best", type=int, default=1, help="processes for each figure, of which the best counts")
    parser.add_argument("--clone", action="store_true", help="make report in a fresh clone too (minutes)")
    parser.add_argument("--markdown", action="store_true", help="the table as benchmarks/results/first-minute.md has it")
    a = parser.parse_args()

    def least(run: Callable[[], float]) -> float:
        return min(run() for _ in range(max(a.best, 1)))

    from marginopt.compilation import compiled_solvers

    table = Table(a.markdown)
    prompt(table, least)
    solvers(table, a.solvers or list(compiled_solvers()), a.repeat, a.best)
    table.add("the README's code", least(readme), TARGETS["README"])
    if a.clone:
        clone(table)


if __name__ == "__main__":
    main()
