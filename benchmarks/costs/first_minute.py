"""What a new user waits for: import, prompt, the first run of every solver with nothing compiled, and the next one.

    python benchmarks/costs/first_minute.py [--solvers smo zero-one-bb] [--repeat 5]

Every figure is processor time of a fresh process, so that it can be measured again on a machine that does other work too.
"cold" is the first run with an empty cache of compiled code, "load" the first run of a process that finds the cache of another
one, "warm" the best of the runs after that, on the smallest example of each structure that the solver reads; "all" runs every
solver in one process with one empty cache, so that what they share is compiled once.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import subprocess
import sys
import tempfile

#: What a new user waits for, in seconds of processor time.
TARGETS = {"import": 0.5, "--version": 0.3, "--help": 0.3, "cold": 10.0, "all": 25.0, "warm": 0.02}

_CHILD = """
import json, sys, time
begin = time.process_time()
import numpy as np
import marginopt as mo
from marginopt.solvers.registry import get_solver
from marginopt.warming import examples
names, repeat = json.loads(sys.argv[1])
told = {"import": time.process_time() - begin, "solvers": {}}
for name in names:
    models = examples(get_solver(name))
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
    told["solvers"][name] = {"first": first, "compiled": compiled, "warm": warm, "models": len(models)}
print(json.dumps(told))
"""


def child(names: list[str], repeat: int, cache: str) -> dict[str, dict[str, float]]:
    """Runs of these solvers in a fresh process with this cache."""
    command = [sys.executable, "-c", _CHILD, json.dumps([names, repeat])]
    done = subprocess.run(command, env=_environment(cache), capture_output=True, text=True, check=True)
    found: dict[str, dict[str, float]] = json.loads(done.stdout.splitlines()[-1])["solvers"]
    return found


def processor_time(*command: str) -> float:
    """Of a process with its children."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run([sys.executable, *command], capture_output=True, check=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def _environment(cache: str) -> dict[str, str]:
    return os.environ | {"NUMBA_CACHE_DIR": cache, "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}


def line(what: str, seconds: float, target: float | None) -> None:
    """One figure beside its target."""
    verdict = "" if target is None else f"   target {target:g} s{'' if seconds <= target else '   MISSED'}"
    print(f"{what:<34}{seconds:9.3f} s{verdict}", flush=True)


def main() -> None:
    """Measure and print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--solvers", nargs="*", help="without them, all with compiled loops")
    parser.add_argument("--repeat", type=int, default=5, help="warm runs, of which the best counts")
    a = parser.parse_args()
    line("import marginopt", processor_time("-c", "import marginopt"), TARGETS["import"])
    line("import and one name of each kind", processor_time("-c", "import marginopt as m; m.solve, m.HingeSVM, m.L2SVC"), None)
    for option in ("--version", "--help"):
        line(f"marginopt {option}", processor_time("-m", "marginopt.cli.main", option), TARGETS[option])
    from marginopt.warming import compiled_solvers

    names = a.solvers or list(compiled_solvers())
    for name in names:
        with tempfile.TemporaryDirectory() as cache:
            cold, warm = child([name], a.repeat, cache)[name], child([name], a.repeat, cache)[name]
        line(f"{name}, cold", cold["first"], TARGETS["cold"])
        line(f"{name}, load", warm["first"], None)
        line(f"{name}, warm", warm["warm"], TARGETS["warm"])
    with tempfile.TemporaryDirectory() as cache:
        together = child(names, 1, cache)
    line("all of them in one process, cold", sum(run["first"] for run in together.values()), TARGETS["all"])


if __name__ == "__main__":
    main()
