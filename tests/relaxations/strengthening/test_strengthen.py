"""strengthen(): incumbent, tightened M and γ* as data; its continuous bound; exactness; what it refuses."""

from __future__ import annotations

import numpy as np
import pytest
from data import clouds
from effort import trials
from facts import about

from marginopt.errors import InputError, UnsupportedModelError
from marginopt.models import ZeroOneSVM
from marginopt.relaxations import BigM, Combined, Conic, Perspective, relax, strengthen
from marginopt.solvers import Options, solve

TIGHT = Options(tol=1e-9)


def points(seed: int, n: int = 20) -> tuple[np.ndarray, np.ndarray]:
    return clouds(seed, n)


@pytest.mark.parametrize("seed", range(trials(2, 3)))
def test_what_it_returns(seed: int) -> None:
    X, y = points(seed)
    model = ZeroOneSVM(X, y, (0.3, 1.0, 4.0)[seed])
    strong = strengthen(model)
    optimum = solve(model, "zero-one-bb", tol=1e-9).objective
    assert strong.encoding == "strengthened"
    assert strong.big_m == "auto"
    assert strong.incumbent_source == "incumbent"
    assert (strong.big_m_values <= model.big_m_values).all()
    assert strong.incumbent_value == pytest.approx(optimum, rel=1e-6)  # the heuristic finds it on points as few as these
    S = np.eye(3) - (X * strong.gamma[:, None]).T @ X
    assert np.linalg.eigvalsh(S)[0] > 0.0
    sdp = relax(model, Conic(), options=TIGHT)
    assert relax(strong, Perspective("stated"), "clarabel", TIGHT).result.objective == pytest.approx(sdp.bound, rel=1e-6)
    with_rows = solve(strong.form.relax_integrality(), "clarabel", tol=1e-9).objective
    assert sdp.bound * (1 - 1e-6) <= with_rows <= optimum * (1 + 1e-8)


@pytest.mark.parametrize("solver", ["scip", "gurobi"])
def test_the_optimum_is_that_of_the_model_from_the_heuristics_start(solver: str) -> None:
    X, y = points(1)
    weights = np.linspace(0.2, 1.0, 20)
    for lam in (0.5, weights):
        model = ZeroOneSVM(X, y, lam)
        strong = strengthen(model)
        result = solve(strong, solver, start=strong.start, threads=1, tol=1e-7)
        assert result.solved
        assert result.objective == pytest.approx(solve(model, "zero-one-bb", tol=1e-9).objective, rel=1e-7)


def test_the_root_bound_is_above_big_ms_in_scip() -> None:
    X, y = points(2)
    model = ZeroOneSVM(X, y, 0.5)
    strong = strengthen(model)
    plain = relax(model, BigM("zero"), "clarabel", TIGHT).bound
    assert solve(strong, "scip", node_limit=1).details["root_bound"] > 1.5 * plain


def test_gamma_of_the_combined_relaxation_is_stronger_with_its_rows() -> None:
    X, y = points(0)
    model = ZeroOneSVM(X, y, 0.5)
    conic, combined = strengthen(model), strengthen(model, relaxation=Combined())
    values = [solve(m.form.relax_integrality(), "clarabel", tol=1e-9).objective for m in (conic, combined)]
    assert values[0] <= values[1] * (1 + 1e-6)
    assert values[1] == pytest.approx(relax(combined, Combined(), "clarabel", TIGHT).bound, rel=1e-5)


def test_an_incumbent_that_is_there_is_used_and_a_given_m_replaced() -> None:
    X, y = points(1)
    w = solve(ZeroOneSVM(X, y, 0.5), "zero-one-bb").values["w"]
    strong = strengthen(ZeroOneSVM(X, y, 0.5, big_m=1000.0, incumbent=w), rounds=0)
    assert strong.incumbent_value <= ZeroOneSVM(X, y, 0.5).objective(w) * (1 + 1e-12)
    assert strong.big_m_values.max() < 100.0


def test_refusals() -> None:
    X, y = points(0)
    with pytest.raises(UnsupportedModelError, check=about("model")):
        strengthen(ZeroOneSVM(X, y, intercept="free"))
    with pytest.raises(InputError, check=about("relaxation")):
        strengthen(ZeroOneSVM(X, y), relaxation=BigM("zero"))
