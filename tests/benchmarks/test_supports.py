"""Scoring systems by supports, against all coefficients of all features."""

from __future__ import annotations

import bz2
import importlib.util
import itertools
from fractions import Fraction
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

FILE = Path(__file__).parents[2] / "benchmarks" / "supports.py"


@pytest.fixture(scope="module")
def supports() -> ModuleType:
    spec = importlib.util.spec_from_file_location("benchmark_supports", FILE)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def enumerated(table: np.ndarray, c0: Fraction, largest: int, intercept: int) -> Fraction:
    X, y, d = table[:, 1:].astype(int), np.where(table[:, 0] == 1, 1, -1), table.shape[1] - 1
    price = len(table) * c0
    tie = min(Fraction(1), price / (largest * d + intercept)) / 2
    costs = []
    for rho in itertools.product(range(-largest, largest + 1), repeat=d):
        score = X @ np.array(rho)
        errors = min(int((y * (score + shift) < 1).sum()) for shift in range(-intercept, intercept + 1))
        costs.append(errors + price * sum(r != 0 for r in rho) + tie * sum(map(abs, rho)))
    return min(costs)


@pytest.mark.parametrize("seed", range(6))
def test_the_proved_value_is_the_enumerated_one(
    supports: ModuleType, seed: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    rng = np.random.default_rng(seed)
    X = rng.integers(0, 2 + seed % 2, size=(30, 4))
    outcome = (X[:, 0] - X[:, 1] + rng.normal(size=30) > 0.3).astype(int)
    table = np.column_stack([outcome, X])
    (tmp_path / "slim").mkdir()
    lines = ["outcome,a,b,c,d", *(",".join(map(str, row)) for row in table)]
    (tmp_path / "slim" / "small.csv.bz2").write_bytes(bz2.compress("\n".join(lines).encode()))
    monkeypatch.setenv("MARGINOPT_DATA", str(tmp_path))
    monkeypatch.setattr(supports, "LARGEST", 2)
    monkeypatch.setattr(supports, "INTERCEPT", 8)
    monkeypatch.setattr(supports, "ENUMERATED", 4)
    c0 = Fraction(1 + seed, 60)
    supports.main("small", c0)
    said = capsys.readouterr().out.splitlines()[-1]
    assert said.startswith(f"proved: optimum {enumerated(table.astype(float), c0, 2, 8)} = ")
