"""The faults that the first attack found, sentence by sentence, where no other file here states it."""

from __future__ import annotations

import gzip
import json
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from data import clouds
from effort import trials
from facts import about

import marginopt as mo
import marginopt.relaxations as rx
from marginopt import margin
from marginopt.cli.main import main
from marginopt.errors import DataError, UnsupportedModelError
from marginopt.models import Block, ChebyshevNPSVC, Quadratic, StandardForm
from marginopt.models.model import as_model
from marginopt.solvers import Answer, Status, get_solver
from marginopt.solvers.interface.solver import OPEN_LICENCE
from marginopt.solvers.proofs import check_proof
from marginopt.solvers.records import Options
from marginopt.solvers.solve import judge

pytestmark = pytest.mark.filterwarnings("ignore::marginopt.errors.MarginoptWarning")


def labelled(seed: int, n: int = 24, p: int = 2, apart: float = 0.5) -> tuple[np.ndarray, np.ndarray]:
    """Ones, normal features, labels by turns."""
    return clouds(seed, n, p, apart, order="turns")


def several(seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Three classes, two of them moved apart."""
    rng = np.random.default_rng(seed)
    y = np.arange(60) % 3
    X = np.column_stack([np.ones(60), rng.normal(size=(60, 3))])
    X[y == 1, 1] += 1.5
    X[y == 2, 2] += 1.5
    return X, y


def judged(form: StandardForm, status: Status, solver: str = "highs", **text: Any) -> mo.Result:
    return judge(as_model(form), get_solver(solver), Answer(status, "my word", **text), Options(), OPEN_LICENCE)


# -- nonconvex models --------------------------------------------------------------------------------------------------


def test_an_inner_problem_s_bound_is_none_of_the_outer_one() -> None:
    """`MaxMinSVM` maximises over γ; `npsvc-mm` and `kernel-npsvcpp` end in a convex subproblem. None of them shows its bound."""
    X, y = labelled(0)
    cases: tuple[tuple[mo.Model, str], ...] = (
        (mo.MaxMinSVM(X, y, C=1.0), "maxmin"),
        (mo.NonparallelSVM(X, y, target=1.0, loss="capped"), "npsvc-mm"),
        (ChebyshevNPSVC(X, y, d=2), "kernel-npsvcpp"),
    )
    for model, solver in cases:
        result = mo.solve(model, solver)
        assert result.bound_kind == "none" and np.isinf(result.bound) and np.isnan(result.gap), solver


def test_the_last_majorant_s_optimum_is_not_proved_where_a_lower_point_exists() -> None:
    """Eight starts end below the first: what one start called proved was above a point that exists."""
    model = mo.NonparallelSVM(*several(0), 1, loss="capped", epsilon=0.3)
    one, many = mo.solve(model, "npsvc-mm", starts=1), mo.solve(model, "npsvc-mm", starts=8)
    assert many.objective < one.objective
    assert one.bound_kind == "none" and one.status is not Status.OPTIMAL


@pytest.mark.parametrize("reduction", [rx.Conic(), rx.BigM(), rx.Hinge(), rx.Perspective()])
def test_a_reduction_of_the_zero_one_loss_bounds_nothing_else(reduction: Any) -> None:
    """`Conic` of a ramp proved 2.0 where the optimum is 1.99; others ended in a TypeError."""
    X, y = labelled(0)
    for model in (mo.RampSVM(X, y), mo.MaxMinSVM(X, y), mo.HingeSVM(X, y), mo.MEBDual(X)):
        with pytest.raises(UnsupportedModelError, check=about(reduction.name)):
            rx.relax(model, reduction)


# -- contradictions ----------------------------------------------------------------------------------------------------


def interval() -> StandardForm:
    """min x over 1 ≤ x ≤ 3."""
    free = np.zeros(1, dtype=bool)
    return StandardForm("interval", (Block("x", (1,)),), np.ones(1), (), np.ones(1), np.full(1, 3.0), free)


def test_a_negative_gap_is_shown_with_both_numbers() -> None:
    """An integer point of 1 beside a claimed bound of 2: the gap was shown as 0, the status as optimal."""
    form = interval().replace(integer=np.ones(1, dtype=bool))
    result = judged(form, Status.OPTIMAL, values={"x": np.ones(1)}, bound=2.0)
    assert result.status is Status.INACCURATE
    assert result.gap == pytest.approx(-0.5)
    assert "the solver's bound 2 lies above the objective 1" in result.evidence


def test_an_infeasible_point_has_no_gap() -> None:
    """SCS, stopped at once: objective -13.6 at a point that is none, bound 0. The gap was shown as 0.0."""
    X, y = labelled(0, 20)
    result = mo.solve(mo.ConicSVM(X, y, kappa=0.2), "scs", iteration_limit=1)
    assert result.certificate is not None and not result.certificate.feasible(1e-4)
    assert np.isnan(result.gap)


def test_a_solver_s_own_proved_is_not_believed() -> None:
    result = judged(interval(), Status.OPTIMAL, values={"x": np.full(1, 3.0)}, bound=3.0, proved=True)
    assert not result.claim.proved and result.status is Status.INACCURATE
    assert result.bound <= 1.0  # our own bound of the interval


@pytest.mark.parametrize("solver", ["scip", "gurobi"])
@pytest.mark.parametrize("how", [{"big_m": 5e8}, {"encoding": "indicator"}])
def test_a_claim_is_called_a_claim(solver: str, how: dict[str, Any]) -> None:
    """M of 5e8 and indicators: "the certificate agrees" stood beside optima 3e-4 and 33% above the truth."""
    if solver == "gurobi":
        pytest.importorskip("gurobipy")
    if not get_solver(solver).licence().usable:
        pytest.skip(f"{solver}: {get_solver(solver).licence().state.value}")
    for seed in range(3):
        X, y = labelled(seed, 16, 2, 0.2)
        result = mo.solve(mo.ZeroOneSVM(X, y, 1.0, **how), solver)
        best = mo.solve(mo.ZeroOneSVM(X, y, 1.0), "zero-one-bb")
        assert result.bound_kind == "claimed by solver"
        if "big_m" in how:  # beyond what the solver's integers resolve
            assert result.status is not Status.OPTIMAL
        assert result.objective >= best.bound * (1.0 - 1e-12)  # its classifier is one, whatever the claim


def test_a_claimed_bound_that_its_certificate_does_not_support_says_so() -> None:
    """A ramp of height 1e8: Clarabel's "bound of the 0-1 optimum" is 600, claimed, where a point costs 300."""
    X = [[2.0, 0.5], [-1.5, 0.0], [-0.5, -1.5]]
    model = mo.Margin(X, [1, -1, 1], margin.Ramp(1e8), margin.ElasticNet(1e-3, 1e6), sample_weight=[3e-6, 0.0, 3e-6])
    relaxed = rx.relax(model, "hulls", "clarabel")
    assert relaxed.result.status is Status.INACCURATE
    words = str(relaxed)
    if relaxed.bound_kind == "proved":  # multipliers of another processor may be repaired
        assert relaxed.bound <= relaxed.objective
        return
    assert relaxed.bound == -np.inf and "claimed by solver, which its certificate does not support" in words


def test_a_big_m_of_one_is_no_bound_in_the_report() -> None:
    """ "hinge, M=1 ... (proved)" bounds nothing where margins are left below 1 - M."""
    X, y = labelled(1, 30, 2, 0.0)
    model = mo.ZeroOneSVM(X, y, 1.0)
    relaxed = rx.relax(model, rx.Hinge(big_m=1.0))
    # of its own problem, which is another one
    assert relaxed.bound == -np.inf and relaxed.target_bound > mo.solve(model, "zero-one-bb").objective
    assert relaxed.bound_kind == "none"
    data = mo.instances.gaussian_clusters(16, 2, sigma=0.5, outliers="clustered", seed=1)
    relaxations = [rx.Hinge(big_m=1.0), rx.BigM("zero")]
    hinge = mo.gap_report([data], lam=1.0, relaxations=relaxations, exact="zero-one-bb", progress=False).relaxations[0]
    assert hinge.bound is None and hinge.kind == "none" and hinge.caveat


# -- claims that can be checked ----------------------------------------------------------------------------------------


def test_infeasible_beside_a_feasible_point() -> None:
    beside = judged(interval(), Status.INFEASIBLE, values={"x": np.full(1, 2.0)})
    assert beside.status is Status.INACCURATE and "beside a point that violates no constraint" in beside.evidence
    alone = judged(interval(), Status.INFEASIBLE)
    assert alone.status is Status.INACCURATE and 1.0 - 1e-9 <= alone.details["point"]["x"][0] <= 3.0 + 1e-9


def test_unbounded_over_an_interval() -> None:
    result = judged(interval(), Status.UNBOUNDED)
    assert result.status is Status.INACCURATE and "lower bound" in result.evidence


def test_stationary_against_its_own_residual() -> None:
    curved = StandardForm(
        "curved", (Block("x", (1,)),), np.ones(1), (), np.full(1, -np.inf), np.full(1, np.inf), np.zeros(1, bool),
        Quadratic(matrix=np.eye(1)),
    )  # fmt: skip
    right = judged(curved, Status.STATIONARY, values={"x": np.full(1, -1.0)}, stationarity=1e-9)
    wrong = judged(curved, Status.STATIONARY, values={"x": np.zeros(1)}, stationarity=1e-9)
    assert right.status is Status.STATIONARY
    assert wrong.status is Status.INACCURATE and "the first-order residual, recomputed" in wrong.evidence


# -- algorithms --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kernel", [mo.RBF(0.5), mo.Linear()])
def test_points_around_a_million(kernel: Any) -> None:
    """RBF and ball data at + 1e6 lost 4.6e-4: differences do not see where the origin is."""
    X = np.random.default_rng(0).normal(size=(40, 3))
    near, far = (mo.solve(mo.MEBDual(X + shift, kernel), "smo", tol=1e-7) for shift in (0.0, 2.0**20))
    moved = mo.solve(mo.MEBDual((X + 2.0**20) - 2.0**20, kernel), "smo", tol=1e-7)  # the same rounding of the points
    assert far.status is Status.OPTIMAL
    assert far.objective == pytest.approx(moved.objective, rel=1e-6)
    assert far.objective == pytest.approx(near.objective, rel=1e-5)


@pytest.mark.parametrize("seed", range(trials(2, 4)))
def test_sampled_cvm_closes_its_gap(seed: int) -> None:
    """With its default rescan it stalled with the gap open, at 4 of 4 seeds."""
    rng = np.random.default_rng(300)
    X, y = rng.standard_normal((300, 4)), np.where(rng.random(300) < 0.5, -1.0, 1.0)
    X[:, 0] += 0.8 * y
    result = mo.solve(mo.L2SVMDual(X, y, 1.0, mo.RBF(0.7)), "cvm", sampling=20, tol=1e-4, seed=seed)
    assert result.status is Status.OPTIMAL and result.gap <= 1e-4


def test_majorisation_takes_a_start_and_several() -> None:
    """Eight starts end up to 40% below one; a start that is given is where it begins."""
    model = mo.NonparallelSVM(*several(0), 1, loss="capped", epsilon=0.3)
    best = mo.solve(model, "npsvc-mm", starts=8)
    result = mo.solve(model, "npsvc-mm", starts=1, start=best.values)
    assert result.iterations is not None and result.iterations <= 1
    assert result.objective == pytest.approx(best.objective, rel=1e-9)
    assert best.objective < 0.99 * max(mo.solve(model, "npsvc-mm", starts=1).objective, 1e-9)


@pytest.mark.parametrize("solver", ["conic-ipm", "auto"])
def test_a_path_through_kappa_zero(solver: str) -> None:
    X, y = labelled(0, 24, 2, 5.0)  # separable
    path = mo.path(mo.ConicSVM(X, y, kappa=0.1), "kappa", [0.2, 0.0, 0.05], solver=solver)
    assert [result.status for result in path] == [Status.OPTIMAL] * 3
    assert path[1].objective == pytest.approx(mo.solve(mo.ConicSVM(X, y, kappa=0.0), "clarabel").objective, rel=1e-5)


def test_limits_of_c_end() -> None:
    """`MaxMinSVM` at C = 1e8 never returned, nor did 1/C = inf."""
    X, y = labelled(0)
    mo.solve(mo.MaxMinSVM(X, y), "maxmin")  # compiled
    begin = time.process_time()
    result = mo.solve(mo.MaxMinSVM(X, y, C=1e8), "maxmin", time_limit=1.0)
    assert time.process_time() - begin < 1.0 * 1.1 + 0.5
    assert result.status in (Status.TIME_LIMIT, Status.STALLED, Status.STATIONARY)
    with pytest.raises(mo.errors.InputError, check=about("C")):
        mo.MaxMinSVM(X, y, C=1e-310)


# -- files and the terminal --------------------------------------------------------------------------------------------


def test_a_log_of_any_kind_is_refused_and_raises_nothing(tmp_path: Path) -> None:
    """`check_proof` "never raises": nested 100,000 deep, gzip cut short, gzip of nonsense, a folder, nothing."""
    deep = "[" * 100_000
    whole = gzip.compress(b'{"format": "zero-one proof"}\n' * 100)
    damaged = whole[:12] + bytes(byte ^ 0xFF for byte in whole[12:40]) + whole[40:]
    contents = {
        "deep": deep.encode(),
        "deep.gz": gzip.compress(deep.encode()),
        "cut.gz": whole[:-9],
        "torn.gz": damaged,
        "empty": b"",
    }
    for name, content in contents.items():
        (tmp_path / name).write_bytes(content)
        report = check_proof(tmp_path / name)
        assert not report.valid and report.message, name
    for path in (tmp_path, tmp_path / "nowhere"):
        assert not check_proof(path).valid


def test_a_result_file_nested_too_deep_is_refused(tmp_path: Path) -> None:
    meta = np.frombuffer(("[" * 100_000).encode(), dtype=np.uint8)
    np.savez(tmp_path / "deep.npz", meta=meta)
    with pytest.raises(DataError):
        mo.io.load_result(tmp_path / "deep.npz")


def test_targets_that_do_not_exist_are_said_in_a_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Tracebacks of --save /nonexistent/x."""
    data = tmp_path / "d.csv"
    data.write_text("y,a,b\n1,0.5,1.2\n-1,0.7,-0.2\n1,-0.4,0.9\n-1,0.3,1.4\n")
    nowhere = str(data / "x")  # below a file: no rights make a folder of it
    for words in (["solve", "hinge", str(data), "--save", nowhere], ["report", str(data), "--out", nowhere]):
        with pytest.raises(SystemExit) as ended:
            raise SystemExit(main(words))
        output = capsys.readouterr()
        assert ended.value.code == 2
        assert nowhere in output.err.replace("\n", "").replace("  ", "") and "Traceback" not in output.err


def test_an_edited_result_does_not_load_as_proved(tmp_path: Path) -> None:
    X, y = labelled(0)
    model = mo.HingeSVM(X, y, lam=1.0)
    path = mo.solve(model, "scs", iteration_limit=3).save(tmp_path / "r.npz")
    with np.load(path) as stored:
        arrays = dict(stored)
    meta = json.loads(arrays["meta"].tobytes())
    meta["status"] = "OPTIMAL"
    arrays["meta"] = np.frombuffer(json.dumps(meta).encode(), dtype=np.uint8)
    np.savez(tmp_path / "edited.npz", **arrays)
    assert mo.io.load_result(tmp_path / "edited.npz").bound_kind in ("as stored, not verified", "none")
    assert mo.io.load_result(tmp_path / "edited.npz", model).status is not Status.OPTIMAL


def test_a_proof_is_of_the_user_s_data(tmp_path: Path) -> None:
    X, y = labelled(2, 12)
    model, other = mo.ZeroOneSVM(X, y, 1.0), mo.ZeroOneSVM(X * (1.0 + 1e-15), y, 1.0)
    mo.solve(model, "zero-one-bb", proof=str(tmp_path / "log"))
    report = check_proof(tmp_path / "log", model)
    assert report.valid and report.own_data and "n = 12" in str(report)
    refused = check_proof(tmp_path / "log", other)
    assert not refused.valid and not refused.own_data


def test_a_point_without_what_the_model_completes_and_multipliers_that_bound_nothing() -> None:
    """Case 3211, lie 702: a hinge answer without xi, which the model completes, and no multipliers: ours are of that point."""
    X, y = labelled(0)
    model = mo.HingeSVM(X, y, lam=1.0)
    answer = mo.solve(model, "clarabel").answer
    assert answer.values is not None
    lie = replace(answer, values={"w": answer.values["w"]}, multipliers=None, reduced=None)
    result = judge(model, get_solver("clarabel"), lie, Options(), OPEN_LICENCE)
    assert np.isfinite(result.bound) and result.bound <= result.objective
