"""Cuts leave the optimum what it is, and the result in the form's own blocks."""

from __future__ import annotations

import numpy as np
import pytest
from data import clouds

import marginopt as mo
from marginopt.models import Model


def stated(name: str) -> Model:
    X, y = clouds(1, 22)
    if name == "composition":
        return mo.Margin(X, y, "zero-one", "l2", sample_weight=2.0)
    lam = np.linspace(0.5, 3.0, 22) if name == "costs" else 2.0
    return mo.ZeroOneSVM(X, y, lam, intercept="free" if name == "free intercept" else "penalised")


@pytest.mark.parametrize("name", ["big-M", "free intercept", "costs", "composition"])
def test_the_optimum_is_the_same(name: str) -> None:
    model = stated(name)
    exact = mo.solve(model, "zero-one-bb", tol=1e-9)
    result = mo.solve(model, "scip", cuts="conflicts", tol=1e-7)
    assert result.objective == pytest.approx(exact.objective, rel=1e-6)
    assert result.bound <= exact.objective * (1 + 1e-6)
    assert result.details["cuts_added"] > 0
    assert set(result.values) == set(model.form.slices)
    assert "cuts_added" not in mo.solve(model, "scip", tol=1e-7).details
