"""MIPLIB's gsvm2rl3: our expression beside the program as MIPLIB states it, and its published optimum where the data are."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import numpy as np
import pytest
from effort import trials
from scipy.optimize import Bounds, LinearConstraint, milp

import marginopt as mo

sys.path.insert(0, str(Path(__file__).parents[2] / "examples" / "compose"))
import gsvm2rl3


def miplibs(Z: np.ndarray, y: np.ndarray, C: float) -> float:
    """min Σv + Σ C_i ξ_i + 2 Σ C_i z_i, y_i (Σ_j y_j u_j x_j'x_i + b) ≥ 1 - ξ_i - 100 z_i, |u| ≤ v, ξ ≥ 0, z binary; by HiGHS."""
    n = len(y)
    prices = C / np.where(y > 0, (y > 0).sum(), (y < 0).sum())
    kernel, eye, none = (y[:, None] * (Z @ Z.T)) * y, np.eye(n), np.zeros((n, n))
    column = np.zeros((n, 1))
    # u, v, b, ξ, z
    A = np.block(
        [
            [kernel, none, y[:, None], eye, 100.0 * eye],
            [-eye, eye, column, none, none],
            [eye, eye, column, none, none],
        ]
    )
    cost = np.concatenate([np.zeros(n), np.ones(n), [0.0], prices, 2.0 * prices])
    lower = np.concatenate([np.full(n, -np.inf), np.zeros(n), [-np.inf], np.zeros(2 * n)])
    upper = np.concatenate([np.full(4 * n + 1, np.inf)[: 3 * n + 1], np.ones(n)])
    whole = np.concatenate([np.zeros(3 * n + 1), np.ones(n)])
    rows = LinearConstraint(A, np.concatenate([np.ones(n), np.zeros(2 * n)]), np.inf)
    optimum = milp(cost, constraints=rows, bounds=Bounds(lower, upper), integrality=whole, options={"mip_rel_gap": 1e-9})
    assert optimum.success
    return float(optimum.fun)


@pytest.mark.parametrize("seed", range(trials(2, 3)))
def test_it_is_miplibs_program(seed: int) -> None:
    rng = np.random.default_rng(seed)
    y = np.repeat([-1.0, 1.0], [8, 10])
    Z = np.round(rng.normal(size=(18, 3)) + 0.4 * y[:, None], 3)
    Z[0] = 3.0  # an outlier, whose margin is given up
    model = gsvm2rl3.gsvm2rl3(Z, y, 3.0)
    expected = miplibs(Z, y, 3.0)
    for solver in ("highs", "scip", "margin-bb"):
        result = mo.solve(model, solver, tol=1e-8)
        assert result.objective == pytest.approx(expected, rel=1e-6)
    assert result.values["z"].sum() >= 1
    assert model.objective(result.values["w"]) == pytest.approx(expected, rel=1e-6)


def test_the_published_optimum() -> None:
    directory = Path(os.environ.get("MARGINOPT_DATA", "") or "/nowhere")
    if not (directory / "miplib" / "gsvm2rl3.csv.bz2").exists():
        pytest.skip("MARGINOPT_DATA has no miplib/gsvm2rl3.csv.bz2: the points of MIPLIB's instance")
    result = mo.solve(gsvm2rl3.gsvm2rl3(*gsvm2rl3.read_points(directory)), "highs", time_limit=120)
    assert result.solved
    assert result.objective == pytest.approx(gsvm2rl3.OPTIMUM, abs=6e-9)
