"""Call depth of common calls: files of the package that each one passes, functions that it enters, and calls between files.

    python benchmarks/costs/walks.py [--files]

A reader who follows a call opens each of these files. Python's profile hook counts; a call runs twice before, so that imports and
compiled code do not count. A change of file is an entry into a function of another file than the last entered one. ``--files``
prints the files of each call after the table, each with its lines and the functions that are entered.
"""

from __future__ import annotations

import argparse
import sys
import warnings
from collections import defaultdict
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from types import FrameType

import marginopt as mo

ROOT = Path(mo.__file__).resolve().parents[2]
#: Most files of each call, and most changes where they are limited, by the design of the package (docs/explanation/design.md).
GOALS = {
    "solve(L2SVMDual, smo)": (38, None),
    "solve(L2SVMDual, clarabel)": (30, None),
    "solve(ZeroOneSVM, scip)": (42, 900),
    "solve(ZeroOneSVM, zero-one-bb)": (55, None),
    "HingeSVC().fit": (42, None),
    "gap_report, one instance": (90, None),
}


@dataclass
class Walk:
    """The files that a call passes, each with the functions that it enters, as a profile hook."""

    files: dict[str, set[str]] = field(default_factory=lambda: defaultdict(set))
    calls: int = 0
    changes: int = 0
    last: str = ""
    names: dict[str, str] = field(default_factory=dict)

    def __call__(self, frame: FrameType, event: str, argument: object) -> None:
        if event != "call":
            return
        code = frame.f_code.co_filename
        name = self.names.get(code)
        if name is None:
            path = Path(code).resolve() if not code.startswith("<") else Path(code)
            inside = path.is_relative_to(ROOT) and ".venv" not in path.parts and path != Path(__file__).resolve()
            name = self.names[code] = str(path.relative_to(ROOT)) if inside else ""
        if name:
            self.calls += 1
            self.changes += name != self.last
            self.files[name].add(frame.f_code.co_qualname)
            self.last = name


def walked(call: Callable[[], object], times_before: int = 2) -> Walk:
    """Return the walk of a call."""
    for _ in range(times_before):
        call()
    walk = Walk()
    sys.setprofile(walk)
    try:
        call()
    finally:
        sys.setprofile(None)
    return walk


def calls() -> dict[str, Callable[[], object]]:
    """Return the calls of the table, on forty points of four features."""
    data = mo.load("wdbc").subsample(40, seed=0).prepared()
    X, y = data.X[:, :4], data.y
    clusters = mo.instances.gaussian_clusters(20, 2, sigma=0.5, outliers="clustered", seed=1)
    return {
        "solve(L2SVMDual, smo)": lambda: mo.solve(mo.L2SVMDual(X, y, C=1.0, kernel=mo.RBF(0.1)), "smo"),
        "solve(L2SVMDual, clarabel)": lambda: mo.solve(mo.L2SVMDual(X, y, C=1.0, kernel=mo.RBF(0.1)), "clarabel"),
        "solve(ZeroOneSVM, scip)": lambda: mo.solve(mo.ZeroOneSVM(X, y, lam=1.0), "scip"),
        "solve(ZeroOneSVM, zero-one-bb)": lambda: mo.solve(mo.ZeroOneSVM(X, y, lam=1.0), "zero-one-bb"),
        "HingeSVC().fit": lambda: mo.estimators.HingeSVC().fit(X, y),
        "gap_report, one instance": lambda: mo.gap_report([clusters], lam=1.0, exact="scip", time_limit=20, progress=False),
    }


def main() -> None:
    """Print the table of walks beside the goals."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--files", action="store_true", help="print the files of each call")
    wants_files = parser.parse_args().files
    warnings.simplefilter("ignore")
    print("| call | files | goal | functions entered | changes of file | goal |\n|---|---|---|---|---|---|")
    walks = {}
    for name, call in calls().items():
        walk, (files, changes) = walked(call), GOALS[name]
        walks[name] = walk
        print(f"| {name} | {len(walk.files)} | {files} | {walk.calls:,} | {walk.changes:,} | {changes or '-'} |", flush=True)
    for name, walk in walks.items() if wants_files else ():
        print(f"\n{name}")
        for file, functions in sorted(walk.files.items()):
            lines = len((ROOT / file).read_text(encoding="utf-8").splitlines())
            print(f"  {file} ({lines} lines): {', '.join(sorted(functions))}")


if __name__ == "__main__":
    main()
