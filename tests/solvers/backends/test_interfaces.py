"""Solvers that qpsolvers, CVXPY and Pyomo reach, and how they are discovered."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest
from facts import about
from programs import INFEASIBLE, UNBOUNDED, bounded_qp, form_of, knapsack, random_qp, solve

from marginopt.errors import InputError, UnsupportedModelError
from marginopt.models import ConicSVM, RotatedSecondOrder, SecondOrder, Zero
from marginopt.solvers.backends import cvxpy as cvxpy_backend, pyomo as pyomo_backend, qpsolvers as qpsolvers_backend
from marginopt.solvers.backends.qpsolvers import abilities
from marginopt.solvers.records import Options, Status
from marginopt.solvers.registry import get_solver
from marginopt.solvers.solve import solve_problem


def test_nothing_heavy_is_imported_before_it_is_needed():
    code = (
        "import sys; from marginopt.solvers.registry import all_solvers; all_solvers(discover=False);"
        "print([m for m in ('cvxpy', 'qpsolvers', 'pyomo', 'highspy', 'osqp', 'scs', 'piqp', 'clarabel') if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=120, check=True)
    assert done.stdout.strip() == "[]"


def test_discovered_solvers_leave_out_those_with_a_file():
    names = {solver.info.name for solver in qpsolvers_backend.discover()}
    assert {"proxqp", "daqp", "quadprog"} <= names
    assert not names & {"clarabel", "highs", "osqp", "piqp", "scs", "gurobi", "mosek"}
    through_cvxpy = {solver.info.name for solver in cvxpy_backend.discover()}
    assert "cvxpy:scipy" in through_cvxpy
    assert not through_cvxpy & {f"cvxpy:{name}" for name in ("clarabel", "highs", "scip", "proxqp", "daqp")}


def test_versions_are_those_of_the_solvers_own_packages():
    assert get_solver("proxqp").info.package == "proxsuite"
    assert get_solver("quadprog").info.package == "quadprog"
    assert "cvxpy" in get_solver("cvxpy:scipy").version()


def test_a_new_solver_of_qpsolvers_needs_nothing_written(monkeypatch):
    """An interface that swallows every option and wants both bounds, as they come."""
    import qpsolvers
    from qpsolvers.solvers import solve_function

    def picky(problem, initvals=None, verbose=False, **kwargs):
        """Options: ``max_iter`` is the limit, ``eps_abs`` the tolerance."""
        if problem.ub is not None and not np.isfinite(problem.ub).all():
            raise ValueError("no infinities, please")
        return solve_function["daqp"](problem)

    monkeypatch.setitem(solve_function, "picky", picky)
    monkeypatch.setattr(qpsolvers, "available_solvers", [*qpsolvers.available_solvers, "picky"])
    monkeypatch.setattr(qpsolvers, "dense_solvers", [*qpsolvers.dense_solvers, "picky"])
    solver = next(s for s in qpsolvers_backend.discover() if s.info.name == "picky")
    assert not solver.info.bounds and solver.info.package == "qpsolvers"
    result = solve_problem(bounded_qp(), solver, Options(iteration_limit=100))
    assert result.solved
    assert result.reduced["x"] == pytest.approx([0.0, -4.575, 0.0], abs=1e-6)
    with pytest.raises(InputError, check=about("max_iters")):
        solve_problem(bounded_qp(), solver, Options(native={"max_iters": 3}))


def test_abilities_are_tried_not_believed():
    assert "semidefinite diagonal" not in abilities("quadprog")
    assert "linear" not in abilities("quadprog")
    semidefinite = form_of([-1, -1], [("sum", [[1, 1]], [-1], Zero(1))], [0, 0], P=[[2, -2], [-2, 2]])
    for name in ("quadprog", "daqp"):  # DAQP calls this one unbounded
        with pytest.raises(UnsupportedModelError, check=about("daqp", "quadprog")):
            solve(semidefinite, name)
    with pytest.raises(UnsupportedModelError, check=about("quadprog")):
        solve(form_of([1.0], lower=[0.0]), "quadprog")


def test_scipy_through_cvxpy_solves_integer_programs():
    form = knapsack().replace(r=7.0)
    result = solve(form, "cvxpy:scipy")
    assert result.solved and result.gap <= 1e-6
    assert result.objective == pytest.approx(solve(form, "highs").objective, rel=1e-9)
    assert result.nodes is not None


@pytest.mark.parametrize(("kind", "status"), [("infeasible", Status.INFEASIBLE), ("unbounded", Status.UNBOUNDED)])
def test_scipy_through_cvxpy_statuses(kind, status):
    form = INFEASIBLE["linear"] if kind == "infeasible" else UNBOUNDED["linear"]
    assert solve(form, "cvxpy:scipy").status is status


def test_scipy_through_cvxpy_time_limit():
    result = solve(knapsack(60, 3), "cvxpy:scipy", time_limit=1e-6, tol=1e-12)
    assert result.status is Status.TIME_LIMIT


@pytest.mark.parametrize("kind", ["lam", "kappa"])
def test_cones_and_multipliers_through_cvxpy(kind, assert_kkt, overlapping):
    model = ConicSVM(overlapping.X, overlapping.y, **{kind: 0.5})
    result = solve_problem(model, cvxpy_backend.interface_solver("CLARABEL"), Options(tol=1e-6))
    assert result.objective == pytest.approx(solve(model, "clarabel").objective, rel=1e-6)
    assert_kkt(model.form, result, 1e-6)


def test_cvxpy_solvers_read_what_cvxpy_says():
    scip = cvxpy_backend.interface_solver("SCIP").info
    assert {f.name for f in scip.reads} == {"QUADRATIC", "SECOND_ORDER", "INTEGER"} and not scip.forbids
    highs = cvxpy_backend.interface_solver("HIGHS").info
    assert [{f.name for f in pair} for pair in highs.forbids] == [{"QUADRATIC", "INTEGER"}]
    assert cvxpy_backend.interface_solver("IPOPT") is None


def gurobi_through_pyomo():
    """An interface that is at hand, in the place of the executables that are not."""
    pyo = pytest.importorskip("pyomo.environ")
    if not pyo.SolverFactory("gurobi_direct").available(exception_flag=False):
        pytest.skip("gurobi_direct: Gurobi is not installed or not licensed")
    reads = get_solver("gurobi").info.reads
    suffixes, limits = ("dual", "rc"), {"iterations": "BarIterLimit", "time": "TimeLimit"}
    executable = pyomo_backend.Executable("gurobi_direct", "", reads, "", suffixes, **limits)
    return pyomo_backend.executable_solver(executable)


def test_multipliers_through_pyomo(assert_kkt):
    solver = gurobi_through_pyomo()
    result = solve_problem(bounded_qp(), solver, Options(time_limit=10))
    assert result.solved and result.reduced["x"] == pytest.approx([0, -4.575, 0], abs=1e-5)
    assert_kkt(bounded_qp(), result, 1e-6)
    cones = [("ball", np.vstack([np.zeros(3), np.eye(3)]), [2, 0, 0, 0], SecondOrder(4)),
             ("bowl", [[1, 0, 0], [0, 1, 0], [0, 0, 1]], [3, 1, 0.5], RotatedSecondOrder(3))]  # fmt: skip
    form = form_of([1.0, 2.0, -1.0], cones)
    result = solve_problem(form, solver, Options(native={"QCPDual": 1, "BarQCPConvTol": 1e-11}))
    assert result.objective == pytest.approx(solve(form, "clarabel").objective, rel=1e-6)
    assert_kkt(form, result, 1e-5)


def test_statuses_and_options_through_pyomo():
    solver = gurobi_through_pyomo()
    assert solve_problem(INFEASIBLE["linear"], solver, Options()).status is Status.INFEASIBLE
    assert solve_problem(random_qp(0, 12), solver, Options(iteration_limit=1)).status is Status.ITERATION_LIMIT
    with pytest.raises(InputError, check=about("bogus")):
        solve_problem(bounded_qp(), solver, Options(native={"bogus": 1}))
    form = knapsack()
    result = solve_problem(form, solver, Options())
    assert result.solved and result.objective == pytest.approx(solve(form, "highs").objective)
