"""`linear-newton` stops a few steps after its gap is closed; `auto` takes it where forms are large; a closed gap is optimal."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp

import marginopt as mo
from marginopt import Status
from marginopt.models.views import LinearProblem


def text(seed: int, n: int = 400, p: int = 600, density: float = 0.02) -> tuple[sp.csr_array, np.ndarray]:
    """Sparse rows of very different column scales, as counts of words have them."""
    rng = np.random.default_rng(seed)
    X = sp.random_array((n, p), density=density, rng=rng, format="csr")
    X = sp.csr_array(X @ sp.diags_array(10.0 ** rng.uniform(-1, 1, p)))
    score = X @ rng.normal(size=p)
    return X, np.where(score > np.median(score), 1.0, -1.0)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("tol", [1e-3, 1e-5, 1e-6])
@pytest.mark.parametrize("lam", [0.1, 5.0])
def test_no_more_than_twice_the_steps_to_a_closed_gap(tol: float, lam: float) -> None:
    X, y = text(int(10 * lam))
    result = mo.solve(mo.HingeSVM(X, y, lam), "linear-newton", tol=tol)
    assert result.status is Status.OPTIMAL and result.gap <= tol
    objectives, bounds = result.trace.column("objective"), result.trace.column("bound")
    best, proved = np.minimum.accumulate(objectives), np.maximum.accumulate(bounds)
    iterations = result.trace.column("iteration")
    closed = np.flatnonzero(best - proved <= tol * best)
    first = iterations[closed[0]] if closed.size else iterations[-1]
    assert result.iterations is not None and result.iterations <= 2 * first + 12


@pytest.mark.filterwarnings("ignore")
def test_a_limit_behind_a_closed_gap_is_no_limit() -> None:
    X, y = text(3)
    model = mo.HingeSVM(X, y, 1.0)
    whole = mo.solve(model, "linear-newton", tol=1e-8)
    assert whole.iterations is not None
    stopped = mo.solve(model, "linear-newton", tol=1e-8, iteration_limit=whole.iterations)
    loose = mo.solve(model, "linear-newton", tol=1e-8, iteration_limit=max(whole.iterations // 3, 1))
    assert stopped.status is Status.OPTIMAL
    assert loose.status is Status.ITERATION_LIMIT or loose.gap <= 1e-8


@pytest.mark.filterwarnings("ignore")
def test_auto_goes_by_size_and_sparsity() -> None:
    X, y = text(0, n=2000, p=700, density=0.01)
    large = mo.HingeSVM(X, y, 1.0)
    small = mo.HingeSVM(X[:100, :20].toarray() + 0.1, np.where(np.arange(100) % 2, 1.0, -1.0), 1.0)
    for model, solver in ((large, "linear-newton"), (small, "piqp")):
        view = model.view(LinearProblem)
        assert view is not None and view.outgrows_interior_point() == (solver == "linear-newton")
        assert mo.solve(model, tol=1e-3).solver == solver
