"""The study of gaps: its rows agree with themselves, and its statistics with SciPy's."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest
from scipy.stats import spearmanr

FOLDER = Path(__file__).parents[2] / "benchmarks"


@pytest.fixture(scope="module")
def study() -> ModuleType:
    spec = importlib.util.spec_from_file_location("benchmark_gaps", FOLDER / "gaps.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_rows_are_bounds_with_their_gaps_and_in_order(study: ModuleType) -> None:
    rows = study.read(FOLDER / "results" / "gaps.csv")
    instances: list[list[dict[str, Any]]] = study.grouped(rows, study.instance_of)
    assert len(instances) == sum(row["relaxation"] == "optimum" for row in rows)
    for group in instances:
        by_name = {row["relaxation"]: row for row in group}
        for row in study.rows_with_gap(group):
            assert row["bound"] <= row["optimum"] * (1.0 + 1e-5) and row["recovered"] >= row["optimum"] * (1.0 - 1e-5)
            if row["relaxation"] != "optimum":
                assert row["gap"] == pytest.approx(1.0 - row["bound"] / row["optimum"], abs=1e-5)
        for weaker, stronger in (("big-m", "conic"), ("single-point", "conic"), ("conic", "combined"), ("hulls", "rank-one")):
            assert by_name[weaker]["bound"] <= by_name[stronger]["bound"] * (1.0 + 1e-4), (weaker, stronger)


def test_the_correlation_is_spearmans(study: ModuleType) -> None:
    rng = np.random.default_rng(0)
    pairs = rng.integers(0, 6, size=(40, 2)).astype(float)
    assert study.correlation(pairs) == pytest.approx(spearmanr(*pairs.T)[0])
    assert study.correlation([(1.0, 2.0), (1.0, 3.0)]) == 0.0
