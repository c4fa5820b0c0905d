"""The largest problems of one machine, with peers on the same problems in the same run; peak memory and growth with n.

    python benchmarks/scale.py hinge         # LIBSVM's problem, RBF: smo-box, LIBSVM, oneDAL; C = 1, 10, 100; one thread and two
    python benchmarks/scale.py l2            # the L2-SVM, RBF, on sparse data, beside oneDAL's time for the hinge
    python benchmarks/scale.py linear        # linear classifiers: rows on disk (ours) against matrices in memory (peers)
    python benchmarks/scale.py ball          # the smallest ball, beside MiniballCpp
    python benchmarks/scale.py growth        # conic SVM, K-NPSVC++, L2-SVM: n doubles until a minute or 4 GB are not enough
    python benchmarks/scale.py million       # the L2-SVM, RBF, to a certified 1e-2: a million points with --effort full
    python benchmarks/scale.py search        # the exact search on two worker processes

``--effort tiny`` takes seconds and shows that a table works, ``quick`` a minute or two, ``normal`` a quarter of an hour or more,
``full`` has the sizes of a million and takes hours. Peers that are not installed are skipped, and it says which:
``pip install scikit-learn-intelex snapml skglm MiniballCpp clarabel scs`` (LIBLINEAR and LIBSVM come with scikit-learn).
What a table compares, and its other options, is in the module of benchmarks/scale/ that makes it, and in ``TABLE --help``.

Every cell is a process of its own. "MB" is the most that it held until the answer was there, the interpreter and its packages
included. Where other work runs beside it, processor seconds mean something and wall seconds do not.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent / "scale"))

import balls
import growth
import kernels
import million
import rows

#: Points, features and λ of the exact search by effort.
SEARCH = {"tiny": ("40", "2", "10"), "quick": ("250", "5", "10"), "normal": ("450", "5", "10"), "full": ("500", "6", "1")}


def run_search(a: argparse.Namespace) -> None:
    """Compare one process with two workers, in a script of its own, so that its imports are not counted in peers' cells."""
    n, p, lam = SEARCH[a.effort]
    script = str(Path(__file__).parent / "scale" / "search.py")
    subprocess.run([sys.executable, script, "measure", "--n", n, "--p", p, "--lam", lam, "--repeat", "1"], check=True)


#: The module and the function of each table; the functions that compute a cell in a process of its own.
TABLES = {
    "hinge": (kernels, kernels.hinge),
    "l2": (kernels, kernels.l2),
    "linear": (rows, rows.table),
    "ball": (balls, balls.table),
    "growth": (growth, growth.table),
    "million": (million, million.table),
}
CELLS = {"linear": rows.cell, "ball": balls.cell, "growth": growth.cell, "million": million.cell}


def main() -> None:
    """Print a table, or compute one cell of it."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cell", nargs=2, help=argparse.SUPPRESS)
    commands = parser.add_subparsers()
    for name, (module, table) in TABLES.items():
        values = {"description": module.__doc__, "formatter_class": argparse.RawDescriptionHelpFormatter}
        command = commands.add_parser(name, **values)
        command.add_argument("--limit", type=float, default=300.0, help="seconds for a cell, of the processor for peers")
        module.arguments(command)
        command.set_defaults(table=table)
    commands.add_parser("search", help=run_search.__doc__).set_defaults(table=run_search)
    for command in commands.choices.values():
        command.add_argument("--effort", choices=("tiny", "quick", "normal", "full"), default="normal")
    a = parser.parse_args()
    if a.cell:
        name, case = a.cell
        print(json.dumps(CELLS[name](json.loads(case))))
    elif "table" in a:
        a.table(a)
    else:
        parser.print_help()


if __name__ == "__main__":
    main()
