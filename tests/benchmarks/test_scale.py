"""Every table of `benchmarks/scale.py` runs on tiny problems, and every cell of it says how much memory it took."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from effort import part

#: The words of a table, and how many cells it has at least without peers that may be missing.
TABLES = {
    "hinge": (["--C", "1", "--threads", "1", "--data", "gauss:200", "--peers", "smo-box"], 1),
    "l2": (["--C", "1", "--threads", "1", "--peers", "smo"], 1),
    "linear": (["--data", "sparse", "--losses", "squared-hinge", "logistic", "--peers", "liblinear"], 4),
    "ball": ([], 1),
    "growth": (["--models", "conic"], 1),
    "million": (["--sizes", "2500"], 1),
    "search": ([], 2),
}


@pytest.mark.parametrize("name", part(TABLES, 2, turn=4))  # that of the search has a cluster: at full effort
def test_every_table_is_made(name: str, run_benchmark: Callable[..., str]) -> None:
    if name == "search":
        pytest.importorskip("distributed")
    words, least = TABLES[name]
    table = run_benchmark("scale.py", name, "--effort", "tiny", *words)
    lines = [[cell.strip() for cell in line.split("|")[1:-1]] for line in table.splitlines() if line.startswith("| ")]
    (head, *cells) = [line for line in lines if len(line) == len(lines[0])]
    memory = [line[head.index("MB")] for line in cells]
    assert len(memory) >= least
    assert all(float(megabytes.split()[0]) > 1.0 for megabytes in memory), table


def test_the_tables_are_all_of_them(run_benchmark: Callable[..., str]) -> None:
    assert "{" + ",".join(TABLES) + "}" in run_benchmark("scale.py")
