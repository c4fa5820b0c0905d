"""Every peer of `benchmarks/simplex.py` that is installed runs and gets a true gap, on a small problem."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import pytest

PATH = Path(__file__).parents[2] / "benchmarks" / "simplex.py"
SPEC = importlib.util.spec_from_file_location("benchmark_simplex", PATH)
module = importlib.util.module_from_spec(SPEC)
SPEC.loader.exec_module(module)


@pytest.mark.parametrize("peer", ["svc", "one-class", "smo-box", *module.OURS, *module.QP])
def test_a_case_of_every_peer(peer):
    if not module.available(peer):
        pytest.skip(f"{peer} is not installed")
    runner = {"one-class": module.run_one_class, "svc": module.run_svc, "smo-box": module.run_box}.get(peer, module.run_ours)
    X, y, gamma = module.make_data("gauss", 80)
    case = {"peer": peer, "kernel": "rbf", "C": 1.0, "tol": 1e-3, "time_limit": 20.0, "threads": 1, "cache_mb": 10}
    row = runner({**case, "svc_tol": 1e-3, "one_class_tol": 1e-6, "violation": 1e-3}, X, y, gamma)
    assert row["seconds"] > 0.0
    assert -1e-6 <= row["gap"] <= 0.1
