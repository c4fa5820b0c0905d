"""Every solver × small instances of every formulation that it reads, against optima found independently.

A solver that cannot read a formulation must refuse it by name; one that is not installed or not licensed is skipped with
that reason. No other skips.
"""

from __future__ import annotations

from typing import Any

import pytest

import marginopt as mo
from marginopt.errors import LicenceError, UnsupportedModelError
from marginopt.instances import reference_optima
from marginopt.models.formulations import get_formulation
from marginopt.solvers.interface.solver import Gives, Problem
from marginopt.solvers.registry import all_solvers, installed

#: Relative gaps asked of methods that converge too slowly for the usual ones: plain Frank-Wolfe is sublinear.
TOLERANCES = {"fw": 1e-3}


def _model(record: Any) -> mo.Model:
    """The formulation of a reference record."""
    info = get_formulation(record.formulation)
    known = {p.name for p in info.parameters}
    return info.state({"X": record.X, "y": record.y}, {k: v for k, v in record.parameters.items() if k in known})


def _generated() -> list[tuple[str, mo.Model, float | None]]:
    """More instances, seeded, whose optimum is pinned down by a proved gap rather than known beforehand."""
    cases: list[tuple[str, mo.Model, float | None]] = []
    for seed in range(3):
        data = mo.instances.gaussian_clusters(12 + 4 * seed, 2 + seed, sigma=0.5, outliers="clustered", rng=seed)
        cases += [
            (f"HingeSVM-generated{seed}", mo.HingeSVM(data.X, data.y, lam=0.5 + seed), None),
            (f"ConicSVM-generated{seed}", mo.ConicSVM(data.X, data.y, lam=0.3 + seed), None),
            (f"L2SVMDual-generated{seed}", mo.L2SVMDual(data.X, data.y, C=2.0, kernel=mo.RBF(0.3)), None),
            (f"MEBDual-generated{seed}", mo.MEBDual.labelled(data.X, data.y, 2.0, mo.RBF(0.3)), None),
        ]
    return cases


def _cases() -> list[tuple[str, mo.Model, float | None]]:
    known = []
    for k, record in enumerate(reference_optima()):
        model = _model(record)
        known.append((f"{model.name}-{k}", model, record.optimum))
    return known + _generated()


CASES = _cases()


@pytest.mark.parametrize("name", sorted(all_solvers()))
@pytest.mark.parametrize("case", CASES, ids=[c[0] for c in CASES])
def test_solver_reaches_the_known_optimum(name: str, case: tuple[str, mo.Model, float | None], assert_kkt: Any) -> None:
    _, model, optimum = case
    solver = all_solvers()[name]
    if not installed(solver):
        pytest.skip(f"{name}: package {solver.info.package} is not installed")
    if not solver.licence().usable:
        pytest.skip(f"{name}: {solver.licence().state.value}")
    if solver.obstacle(Problem(model)) is not None:
        with pytest.raises(UnsupportedModelError, match=name):
            mo.solve(model, name)
        return
    if not solver.info.views and solver.licence().refusal(model.form) is not None:
        with pytest.raises(LicenceError, match="allows"):
            mo.solve(model, name)
        return
    tol = TOLERANCES.get(name, 1e-4 if solver.info.first_order else 1e-6)
    result = mo.solve(model, name, tol=tol, time_limit=60)
    assert result.certificate is not None, result
    if Gives.DUALS in solver.info.gives or model.form.integer.any():
        assert result.solved, result
    else:
        # a global solver closes the gap of objectives only: our certificate of its point, which is of first order, may be wider
        assert result.claim.status is mo.Status.OPTIMAL, result
    if optimum is not None:
        assert result.objective == pytest.approx(optimum, rel=tol, abs=1e-7)
    if not model.form.integer.any():
        if Gives.DUALS in solver.info.gives:
            assert result.bound_kind == "proved"
            assert_kkt(model.form, result, tol)
    else:
        assert result.gap <= 2e-6
