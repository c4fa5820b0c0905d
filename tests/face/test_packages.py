"""The matrix formulation × package: filled cells are solved or read back equal, empty ones have their reason."""

from __future__ import annotations

import numpy as np
import pytest

import marginopt as mo
from marginopt.cli.main import main
from marginopt.cli.tables import PACKAGES, package_matrix
from marginopt.models import Feature, Model
from marginopt.models.formulations import all_formulations, get_formulation
from marginopt.solvers.backends.mosek import Mosek
from marginopt.solvers.interface.backend import BridgeChain

pytestmark = pytest.mark.filterwarnings("ignore::marginopt.errors.MarginoptWarning")

#: Nonconvex quadratic problems, for which packages of convex programs have no words; and what is no program.
NONCONVEX, FORMLESS = {"chebyshev", "stiefel"}, {"max-min"}
FORMS = [*sorted(set(all_formulations()) - NONCONVEX - FORMLESS), "nonparallel, capped", "margin, logistic", "max-min, grid"]
#: Packages that lack a feature; HiGHS also lacks integers beside a quadratic objective.
LACKING = {
    Feature.PSD: {"Gurobi", "Pyomo", "SCIP", "HiGHS"}, Feature.EXPONENTIAL: {"HiGHS"}, Feature.ROTATED: {"HiGHS"},
    Feature.INTEGER: {"Clarabel"},
}  # fmt: skip


def example(row: str) -> Model:
    """The example of a row: a formulation, or one with another choice."""
    name, *choice = row.split(", ")
    return get_formulation(name).example(np.random.default_rng(0), {"over" if name == "max-min" else "loss": c for c in choice})


@pytest.fixture(scope="module")
def matrix() -> dict[str, dict[str, str]]:
    for package in ("mosek", "gurobipy", "pyomo", "cvxpy", "pyscipopt", "highspy", "clarabel"):
        pytest.importorskip(package, reason=f"{package} is not installed")
    return package_matrix()


def test_every_cell_is_filled_or_has_its_reason(matrix: dict[str, dict[str, str]]) -> None:
    assert {row.split(", ")[0] for row in matrix} == set(all_formulations())
    assert {"nonparallel, capped", "nonparallel, correntropy", "margin, logistic", "max-min, grid"} <= set(matrix)
    assert all(set(cells) == set(PACKAGES) for cells in matrix.values())
    for name, cells in matrix.items():
        if name in FORMLESS:
            assert all(cells.values())
            continue
        features = example(name).form.features
        lacking = set().union(*(LACKING.get(feature, set()) for feature in features))
        lacking |= {"MOSEK", "CVXPY", "HiGHS", "Clarabel"} if Feature.BILINEAR in features else set()
        lacking |= {"HiGHS"} if {Feature.INTEGER, Feature.QUADRATIC} <= features else set()
        assert {package for package, reason in cells.items() if reason} == lacking, name


@pytest.mark.parametrize("name", FORMS)
def test_mosek_tasks_are_read_back_equal(name: str) -> None:
    pytest.importorskip("mosek", reason="MOSEK is not installed")
    from mosek_reader import form_of_task

    form = BridgeChain.plan(example(name).form, Mosek.info).target  # the epigraph of a quadratic objective beside cones
    form = form.replace(lower=np.maximum(form.lower, -1e9)) if Feature.PSD in form.features else form  # no matrix variables
    task = form_of_task(form.to_mosek())
    assert task.blocks == form.blocks and np.array_equal(task.q, form.q) and np.array_equal(task.integer, form.integer)
    assert {c.label for c in task.constraints} == {c.label for c in form.constraints}
    for c in form.constraints:
        other = task.constraint(c.label)
        assert type(other.cone) is type(c.cone)
        assert abs(other.F - c.F).max() <= 1e-12  # MOSEK drops smaller entries
        assert np.array_equal(other.g, c.g)


@pytest.mark.parametrize("name", FORMS)
def test_objects_of_cvxpy_and_gurobi_have_our_optimum(name: str) -> None:
    cvxpy = pytest.importorskip("cvxpy", reason="CVXPY is not installed")
    model = example(name)
    sign = -1.0 if model.form.maximise else 1.0  # other packages get the form, which minimises
    best = sign * mo.solve(model, time_limit=60).objective
    problem = model.to_cvxpy()
    problem.solve(solver=cvxpy.SCIP if model.form.integer.any() else cvxpy.CLARABEL)
    assert problem.value == pytest.approx(best, rel=1e-4, abs=1e-5)
    pytest.importorskip("gurobipy", reason="gurobipy is not installed")
    if name != "conic":
        handed = model.to_gurobi()
        handed.optimize()
        assert handed.ObjVal == pytest.approx(best, rel=1e-4, abs=1e-5)


def test_the_prompt_prints_it(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["formulations", "hinge", "--packages"]) == 0
    out = capsys.readouterr().out
    assert "hinge" in out and all(package in out for package in PACKAGES)
