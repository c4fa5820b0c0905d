"""Optima of exactly zero beside points of weight zero: proved, and answered by the point that attains them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import marginopt as mo
from marginopt import margin


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("loss", [margin.NuHinge(0.8), margin.OneClass(0.8)], ids=["nu", "one-class"])
def test_a_level_that_cannot_rise_is_an_optimum_of_zero(loss: Any, seed: int) -> None:
    """Multipliers of points that cost nothing are zero; those of 1e-12 that solvers give left no bound of the optimum."""
    rng = np.random.default_rng(seed)
    y = np.repeat([-1.0, 1.0], 6)
    X = np.column_stack([np.ones(12), rng.normal(size=(12, 2))])
    weights = rng.uniform(0.2, 2.0, 12) * (rng.random(12) > 0.3)
    rows = margin.LinearRows(np.vstack([np.eye(3)[0], rng.normal(size=3)]), np.array([0.0, -1.0]), np.array([0.0, 1.0]))
    model = mo.Margin(X, y, loss, "l1" if seed % 2 else "half-l2", intercept="free", sample_weight=0.1 * weights, subject_to=rows)
    for solver in ("clarabel", "piqp"):
        result = mo.solve(model, solver)
        if abs(result.objective) > 1e-6:  # the level rises on these data
            continue
        assert result.status is mo.Status.OPTIMAL
        assert result.objective == 0.0
        assert result.bound_kind == "proved"
        assert -1e-9 <= result.bound <= 0.0
        assert not result.values["w"].any()
