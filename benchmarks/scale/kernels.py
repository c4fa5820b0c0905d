"""RBF kernels: LIBSVM's hinge problem by everybody, and the L2-SVM beside oneDAL's time for the hinge.

*hinge*: the same problem, a KKT violation of 1e-3 at most for all; gap and violation of every answer are recomputed in float64.
*l2*: another problem with the same data and C, to a certified gap of 1e-3; the goal is oneDAL's time for the hinge.

Cells of one problem run in turns, ``--repeat`` times, and the least processor time is shown. The data are those of
benchmarks/simplex.py: gauss, clusters, sparse (300 features, 5% of them ones), or a set of MARGINOPT_DATA such as w7a.
"""

from __future__ import annotations

import argparse
from itertools import product
from typing import Any

import simplex
from cells import growth

#: Data and size by effort; a set with fewer points is taken whole.
HINGE = {
    "tiny": (("gauss", 300), ("sparse", 300)),
    "quick": (("gauss", 5_000), ("sparse", 5_000)),
    "normal": (("gauss", 20_000), ("clusters", 20_000), ("sparse", 20_000)),
    "full": (("gauss", 50_000), ("sparse", 50_000)),
}
L2 = {
    "tiny": (("sparse", 300),),
    "quick": (("sparse", 5_000), ("sparse", 10_000)),
    "normal": (("sparse", 20_000), ("sparse", 50_000)),
    "full": (("sparse", 50_000), ("sparse", 100_000), ("gauss", 100_000)),
}
#: More points than any set has.
ALL = 10**9
HINGE_PEERS, L2_PEERS = ("svc", "onedal", "smo-box"), ("onedal", "smo")


def arguments(command: argparse.ArgumentParser) -> None:
    command.add_argument("--C", type=float, nargs="+", default=[1.0, 10.0, 100.0])
    command.add_argument("--data", nargs="+", help="in place of the effort's: gauss:20000, w7a, ...")
    command.add_argument("--threads", type=int, nargs="+", default=[1, 2])
    command.add_argument("--peers", nargs="+", help="svc (LIBSVM), onedal, smo-box, smo")
    command.add_argument("--repeat", type=int, default=1)
    command.add_argument("--cache-mb", type=int, default=2000, help="of each solver; oneDAL holds as much beside its data")


def hinge(a: argparse.Namespace) -> None:
    _table(a, HINGE[a.effort], a.peers or HINGE_PEERS)


def l2(a: argparse.Namespace) -> None:
    _table(a, L2[a.effort], a.peers or L2_PEERS)


def _table(a: argparse.Namespace, sets: tuple[tuple[str, int], ...], asked: Any) -> None:
    peers = [peer for peer in asked if simplex.available(peer)]
    for peer in set(asked) - set(peers):
        print(f"{peer} is not installed: pip install scikit-learn-intelex")
    head = ("data", "n", "C", "threads", "solver", "processor s", "seconds", "/ oneDAL", "MB", "gap", "violation", "support", "")
    print("| " + " | ".join(head) + " |\n|" + "---|" * len(head))
    chosen = [_named(text) for text in a.data] if a.data else sets
    spent = []
    for (data, n), C, threads in product(chosen, a.C, a.threads):
        best: dict[str, dict[str, Any]] = {}
        for _, peer in product(range(a.repeat), peers):
            case = {"data": data, "kernel": "rbf", "n": n, "C": C, "threads": threads, "time_limit": a.limit, "peer": peer}
            case |= {"cache_mb": a.cache_mb, "touch_mb": 0, "svc_tol": 1e-3, "one_class_tol": 1e-2, "tol": 1e-3}
            row = simplex.in_process(case)
            if "cpu" not in best.get(peer, {}) or row.get("cpu", float("inf")) < best[peer]["cpu"]:
                best[peer] = row
        for peer, row in best.items():
            first = [data, f"{n:,}" if n < ALL else "all", f"{C:g}", str(threads), peer]
            print(_line(first, row, best.get("onedal", {}).get("cpu")), flush=True)
            spent += [((data, f"{C:g}", str(threads), peer), n, row["cpu"])] if "cpu" in row else []
    print(growth(["data", "C", "threads", "solver"], spent))


def _named(text: str) -> tuple[str, int]:
    name, _, size = text.partition(":")
    return name, int(size or ALL)


def _line(first: list[str], row: dict[str, Any], reference: float | None) -> str:
    ratio = f"{row['cpu'] / reference:.2f}" if reference and "cpu" in row else ""
    numbers = [format(row[k], how) if k in row else "" for k, how in (("cpu", ".2f"), ("seconds", ".2f"))]
    more = (("peak_mb", ".0f"), ("gap", ".1e"), ("violation", ".1e"), ("support", ",d"))
    numbers += [ratio, *(format(row[k], how) if k in row else "" for k, how in more)]
    return "| " + " | ".join([*first, *numbers, str(row.get("status", ""))]) + " |"
