"""Broken workers of a cluster, programs of gurobipy, VIPR files, audits: what the attack tries, and what it found first."""

from __future__ import annotations

import contextlib
import math
from fractions import Fraction
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import attack_doors
import attack_outside
import attack_workers
import numpy as np
import pytest
from effort import trials
from facts import about
from sklearn.svm import SVC, NuSVC

import marginopt as mo
from marginopt.errors import InputError, MarginoptError
from marginopt.solvers.backends.gurobi import _bound
from marginopt.solvers.exact.dispatcher import check_numbers
from marginopt.solvers.parallel.executor import TaskResult
from marginopt.solvers.zero_one.conflict_log import check_point_states

pytestmark = pytest.mark.filterwarnings("ignore")


@pytest.mark.parametrize("kind", ["boxes", "conflicts"])
def test_broken_workers_end_nothing_and_prove_nothing(kind: str) -> None:
    """36 of fifty let out a foreign exception: arrays of other shapes, a worker's own ValueError, text that is none."""
    numbers = range(trials(3, 8)) if kind == "boxes" else range(40, 40 + trials(3, 8))
    faults = [f"{what}: {fault}" for what, fault in map(attack_workers.attack, numbers) if fault]
    assert not faults, faults


class _Forgetful(attack_workers.LyingTeam):
    """Its workers send no open node back."""

    def collect(self, seconds: float) -> list[TaskResult]:
        outcome = super().collect(seconds)
        for done in outcome:
            self.lies += len(done.value.nodes) > 0
            object.__setattr__(done.value, "nodes", done.value.nodes.select(slice(0, 0)))
        return outcome


def test_a_worker_that_leaves_nodes_out_is_found_by_the_log_and_the_bound_says_whose_word_it_is(tmp_path: Path) -> None:
    model, _ = attack_workers.stated(0)
    for proof in (None, str(tmp_path / "p.jsonl")):
        team = _Forgetful(np.random.default_rng(0), 0.0)
        with attack_workers._small_slices(team):
            result = mo.solve(model, "zero-one-bb", engine="boxes", cluster="here", threads=1, proof=proof)
        assert team.lies and "the bound rests on what 1 worker sent back" in result.evidence
        assert ("check_proof" in result.evidence) is (proof is not None)
    report = mo.check_proof(str(tmp_path / "p.jsonl"), model)
    assert not report.valid and "missing" in report.message
    assert not mo.solve(model, "zero-one-bb", threads=1).evidence


def test_a_broken_worker_s_slices_go_to_others() -> None:
    model, optimum = attack_workers.stated(0)

    class Once(attack_workers.LyingTeam):
        def collect(self, seconds: float) -> list[TaskResult]:
            result = super().collect(seconds)
            self.lies += len(result)
            return [TaskResult(done.number, value="nothing") for done in result] if self.lies <= 5 else result

    team = Once(np.random.default_rng(0), 0.0)
    with attack_workers._small_slices(team):
        result = mo.solve(model, "zero-one-bb", engine="boxes", cluster="here", threads=1)
    assert result.status is mo.Status.OPTIMAL and team.lies > 5
    assert result.objective == pytest.approx(optimum, rel=2e-6)


@pytest.mark.parametrize("family", attack_outside.FAMILIES, ids=lambda family: str(family.__name__))
def test_programs_proofs_and_machines_of_others(family: Any) -> None:
    first = attack_outside.FAMILIES.index(family)
    faults = [f"{what}: {fault}" for what, fault in map(attack_outside.attack, range(first, trials(24, 90), 3)) if fault]
    assert not faults, faults


def test_an_audit_far_from_the_origin_says_what_rounding_hides() -> None:
    """The kernel's entries are 3e13 there. Bounds above the optimum were printed, 3,999 for 2 among them."""
    far = 2.0**22 + np.array([[0.0, 0.0], [1.0, 0.0], [3.0, 1.0], [4.0, 1.0]])
    y = np.array([1, 1, 2, 2])
    machine = SVC(kernel="linear", C=1000.0, tol=1e-9).fit(far, y)
    report = mo.audit(machine, far, y)
    truth = attack_outside._machine_optimum(machine, far, np.where(y == 2, 1.0, -1.0), np.ones(4))
    assert truth is not None and Fraction(report.bound) <= truth <= Fraction(report.value)
    assert report.rounding > 1e-6 * float(truth)
    near = mo.audit(SVC(kernel="linear", C=1000.0, tol=1e-9).fit(far - 2.0**22, y), far - 2.0**22, y)
    assert near.gap < 1e-6 and near.rounding < 1e-6 * near.value


def test_an_audit_of_a_machine_without_multipliers_is_refused() -> None:
    X, y = np.array([[0.0], [1.0], [2.0], [3.0]]), np.array([1, 1, 2, 2])
    machine = NuSVC(nu=0.5).fit(X, y)
    machine._dual_coef_ = machine.dual_coef_ = 0.0 * machine.dual_coef_
    with pytest.raises(InputError, check=about("estimator")):
        mo.audit(machine, X, y)


def test_numbers_that_gurobi_refuses_to_tell_are_our_refusal() -> None:
    """An infinite coefficient is taken, and not told: a bare GurobiError came out."""
    gp = pytest.importorskip("gurobipy", reason="gurobipy is not installed")
    with gp.Env(params={"OutputFlag": 0}) as env, gp.Model(env=env) as m:
        x = m.addVar()
        m.setObjective(x * x)
        x.Obj = float("inf")
        with pytest.raises(InputError, check=about("model")):
            mo.from_gurobi(m)


@pytest.mark.parametrize("sizes", [(1e308, -1e308, 1.0), (1e308, 1e308, 1e3), (1e200, -1e200, 1e200)])
def test_sums_beyond_numbers_are_no_error_of_gurobi_programs(sizes: tuple[float, float, float]) -> None:
    """Case 11103224088: "-inf + inf in fsum" came out of the comparison of form and source."""
    gp = pytest.importorskip("gurobipy")
    with gp.Env(params={"OutputFlag": 0}) as env, gp.Model(env=env) as m:
        x = m.addMVar(2, lb=-1e9, ub=1e9)
        m.setObjective(sizes[0] * x[0] * x[0] + sizes[1] * x[0] * x[1])
        m.addConstr(sizes[2] * x[0] + sizes[2] * x[1] >= 0.0)
        with contextlib.suppress(MarginoptError):
            mo.from_gurobi(m)


def test_powers_beyond_numbers_are_no_error_of_pyomo_programs() -> None:
    """Case 14804298132 of other doors: "Numerical result out of range" came out of the comparison of form and source."""
    assert attack_doors.attack(14804298132)[1] == ""


def test_a_bound_that_gurobi_has_not_is_none() -> None:
    """Case 11103222864: gurobipy raises AttributeError where presolve ends before there is a bound."""
    assert _bound(object()) is None
    assert [_bound(SimpleNamespace(ObjBound=bound)) for bound in (2.0, 1e100, -1e100)] == [2.0, None, None]


def test_a_redundant_equation_makes_no_set_empty() -> None:
    """The attack's own truth took as many faces as equations left room for: 0x = 0 beside min -24x over 0 <= x <= 2 left none."""
    what, fault = attack_outside.attack(9547)
    assert not fault, (what, fault)


@pytest.mark.parametrize("wrong", [2**70, True, None, "1", math.nan])
def test_a_number_of_an_outcome_is_one(wrong: object) -> None:
    """A whole number of 71 bits made an array of objects, which no compiled loop takes."""
    with pytest.raises(ValueError):
        check_numbers(wrong)


def test_states_of_an_outcome_are_bytes_of_all_points() -> None:
    check_point_states(np.zeros(3, dtype=np.int8), 3)
    for wrong in (np.zeros(3), np.zeros(4, dtype=np.int8), np.full(3, 2, dtype=np.int8), [0, 0, 0]):
        with pytest.raises(ValueError):
            check_point_states(wrong, 3)
