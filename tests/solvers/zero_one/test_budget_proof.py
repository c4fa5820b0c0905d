"""Proof logs of the cardinality form: accepted when untouched, never believed beyond the truth; a little less than the bound."""

import numpy as np
import pytest
from data import clouds
from effort import trials
from facts import about
from oracles import within_budget
from proof_logs import damage_conflicts, read, sealed

import marginopt as mo
from marginopt.errors import InputError
from marginopt.models.formulations.margin_violations import ZeroOneBudget
from marginopt.solvers import Options
from marginopt.solvers.proofs import check_proof
from marginopt.solvers.zero_one.algorithm import ZeroOneBB
from marginopt.solvers.zero_one.budget import BudgetBB


def truth(header):
    """The optimum of the problem that a log states, by enumeration of what is violated."""
    return within_budget(np.array(header["A"]), np.array(header["penalised"]), min(header["budget"], len(header["A"])))


def instance(seed, n=11, p=2, repeat=True):
    X, y = clouds(seed, n, p, 0.4)
    if repeat and seed % 3 == 0:
        X[1:3], y[1:3] = X[0], y[0]
    return X, y


def solved(path, seed, k=3, **more):
    X, y = instance(seed)
    model = mo.ZeroOneSVM(X, y, kappa=k / len(y), intercept="free" if seed % 2 else "penalised")
    return mo.solve(model, "zero-one-bb", proof=str(path), threads=1, **more)


@pytest.mark.parametrize("k", [0, 1, 3])
def test_logs_are_accepted(tmp_path, k):
    """Optimal or infeasible: the log proves the bound that the result claims."""
    statuses = set()
    for seed in range(trials(5, 12)):
        path = tmp_path / f"{seed}.jsonl"
        result = solved(path, seed, k)
        statuses.add(result.status.name)
        report = check_proof(path)
        assert report.valid, report.message
        optimum = truth(read(path)[0])
        assert report.bound <= optimum * (1 + 1e-9)
        assert report.bound == result.details["proof_bound"] == pytest.approx(result.bound, rel=2e-9)
        if result.values:
            assert report.value == pytest.approx(optimum, rel=3e-6, abs=1e-12)
        else:
            assert report.value == np.inf == optimum
    assert ("OPTIMAL" if k == 3 else "INFEASIBLE") in statuses


def test_a_larger_log_with_branches(tmp_path):
    data = mo.instances.gaussian_clusters(60, 5, 0.5, seed=2)
    result = mo.solve(mo.ZeroOneSVM(data.X, data.y, kappa=0.15), "zero-one-bb", proof=str(tmp_path / "log.gz"), threads=1)
    report = check_proof(tmp_path / "log.gz")
    assert report.valid and report.gap <= 1.1e-6
    assert report.nodes == result.details["proof_nodes"] > 20


def test_bounds_are_logged_before_a_deadline_ends_the_search(tmp_path):
    """The log at the path claims what the search has proved, while the search goes on."""
    path, data = tmp_path / "log", mo.instances.gaussian_clusters(80, 5, 0.5, seed=1)
    view = mo.ZeroOneSVM(data.X, data.y, kappa=0.15).view(ZeroOneBudget)
    algorithm = BudgetBB(ZeroOneBB(proof=str(path), restarts=2, neighbourhoods=2))
    state = algorithm.init(view, Options(time_limit=1e6), np.random.default_rng(0))
    while not state.logged_bound:
        assert algorithm.advance(state, 1e-3).name == "RUNNING"
    report = check_proof(path)
    assert report.valid and report.bound == state.logged_bound == pytest.approx(state.lower_bound, rel=2e-9)
    algorithm.advance(state, 1e-3)
    algorithm.answer(state)
    later = check_proof(path)
    assert later.valid and later.bound >= report.bound


@pytest.mark.parametrize("seed", [1, 2, 4, *range(6, trials(6, 12))])
def test_forged_logs_prove_nothing_false(tmp_path, seed):
    """Whatever is done to a log and sealed anew, what the checker then accepts is true of the problem that the log states."""
    path = tmp_path / "log"
    solved(path, seed, k=3 if seed < 4 else 1)
    log = read(path)
    path.write_text(sealed(log))
    assert check_proof(path).valid
    rng = np.random.default_rng(seed)
    refused = 0
    for _ in range(40):
        kind, bad = damage_conflicts(rng, log)
        path.write_text(sealed(bad))
        report = check_proof(path)
        refused += not report.valid
        # an infeasible problem has every bound; one that is accepted must still be proved
        if kind == "cut" or (kind in ("bound", "incumbent") and log[-1]["w"] is not None):
            assert not report.valid, kind
        if report.valid:
            assert report.bound <= truth(bad[0]) * (1 + 1e-9), kind
    assert refused >= 15


def test_corrupted_logs_are_refused(tmp_path):
    path = tmp_path / "log"
    solved(path, 1)
    good = path.read_bytes()
    rng = np.random.default_rng(2)
    for _ in range(200):
        at = int(rng.integers(len(good)))
        path.write_bytes(good[:at] + bytes([good[at] ^ (1 << int(rng.integers(8)))]) + good[at + 1 :])
        assert not check_proof(path).valid


@pytest.mark.parametrize("budget", [float("inf"), 2.5, -1, None, True, "3"])
def test_a_budget_is_a_whole_number(tmp_path, budget):
    path = tmp_path / "log"
    solved(path, 1)
    log = read(path)
    log[0]["budget"] = budget
    path.write_text(sealed(log))
    assert not check_proof(path).valid


def test_the_two_forms_are_not_mistaken_for_each_other(tmp_path):
    path = tmp_path / "log"
    solved(path, 1)
    log = read(path)
    log[0]["kind"] = "conflicts"  # then every point costs one, and the bound is another problem's
    log[-1]["bound"] = 1e9
    log[-1]["w"] = [0.0] * len(log[-1]["w"])
    path.write_text(sealed(log))
    assert not check_proof(path).valid


def test_a_run_that_is_stopped_claims_its_bound(tmp_path):
    data = mo.instances.gaussian_clusters(100, 3, 0.5, seed=2)
    path = tmp_path / "log"
    result = mo.solve(mo.ZeroOneSVM(data.X, data.y, kappa=0.17), "zero-one-bb", proof=str(path), node_limit=50)
    report = check_proof(path)
    assert result.status is mo.Status.NODE_LIMIT and result.bound > 0.0
    assert report.valid and report.bound == result.details["proof_bound"] == pytest.approx(result.bound, rel=2e-9)


@pytest.mark.parametrize("form", [{"kappa": 0.2}, {"lam": 5.0}])
def test_a_little_less_than_the_bound(tmp_path, form):
    data = mo.instances.gaussian_clusters(60, 8, 0.5, seed=2)
    model = mo.ZeroOneSVM(data.X, data.y, **form)
    nodes = []
    for gap in (0.0, 0.1):
        path = tmp_path / f"log{gap}"
        result = mo.solve(model, "zero-one-bb", engine="conflicts", proof=str(path), proof_gap=gap, threads=1)
        report = check_proof(path)
        assert report.valid and report.bound == pytest.approx(result.bound * (1 - gap), rel=2e-9)
        nodes.append(report.nodes)
    assert nodes[1] < nodes[0]
    with pytest.raises(InputError, check=about("proof_gap")):
        mo.solve(model, "zero-one-bb", proof_gap=1.0)
