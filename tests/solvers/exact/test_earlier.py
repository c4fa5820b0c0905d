"""Bounds of the option ``earlier`` are proved: by a result that this process judged, or by a log that is valid."""

import dataclasses
import math
import pickle
from pathlib import Path

import numpy as np
import pytest
from facts import about
from proof_logs import read, sealed

import marginopt as mo
from marginopt.errors import InputError
from marginopt.solvers.exact.options import earlier_bound
from marginopt.solvers.sparse.check import SparseChecker
from marginopt.solvers.zero_one.check.checker import ZeroOneChecker

pytestmark = pytest.mark.filterwarnings("ignore::marginopt.errors.MarginoptWarning")

#: Solvers with the option, and the checkers of their logs.
CHECKERS = {"sparse-bb": SparseChecker(), "zero-one-bb": ZeroOneChecker()}
CASES = tuple(CHECKERS)


def _model(solver, level=1, scale=1.0):
    """Draw a problem: of at most ``level`` coefficients, or with costs that are their inverse."""
    rng = np.random.default_rng(3)
    X = scale * rng.standard_normal((30, 6))
    y = np.where(X[:, 0] + rng.standard_normal(30) > 0.0, 1.0, -1.0)
    if solver == "zero-one-bb":
        return mo.ZeroOneSVM(X[:, :3], y, lam=1.0 / level)  # few nodes: their logs are checked some twenty times
    return mo.Margin(X, y, "hinge", "half-l2", sample_weight=2.0, subject_to=[mo.at_most(level).nonzero])


def _carried(solver, model, pair):
    """Return the bound that a pair brings to a model, and that of a search that ends at once."""
    result = mo.solve(model, solver, earlier=[pair], node_limit=1, threads=1)
    return result.details.get("carried_bound", result.bound)


@pytest.fixture(scope="module")
def solved(tmp_path_factory):
    """Return for each solver a solved model, its result and its log."""
    folder = tmp_path_factory.mktemp("logs")
    pairs = {}
    for solver in CASES:
        model, log = _model(solver, 2), str(folder / f"{solver}.log")
        pairs[solver] = model, mo.solve(model, solver, threads=1), log
        mo.solve(model, solver, proof=log, threads=1)
    return pairs


def _forged(result, **changes):
    return dataclasses.replace(result, answer=dataclasses.replace(result.answer, **changes))


@pytest.mark.parametrize("solver", CASES)
def test_a_judged_result_and_a_valid_log_bound_related_problems(solver, solved):
    """At least by the bound of the larger problem, by either evidence; so do the results that a path returns."""
    model, result, log = solved[solver]
    target = _model(solver)
    assert (
        earlier_bound(CHECKERS[solver], model, result.with_details())
        == earlier_bound(CHECKERS[solver], model, result)
        == result.bound
    )
    assert earlier_bound(CHECKERS[solver], model, log) == pytest.approx(result.bound, rel=1e-5)
    optimum = mo.solve(target, solver, threads=1).objective
    for evidence in (result, log):
        assert result.bound * (1.0 - 1e-5) <= _carried(solver, target, (model, evidence)) <= optimum * (1.0 + 1e-12)


@pytest.mark.parametrize("solver", CASES)
def test_forged_bounds_are_not_believed(solver, solved, tmp_path):
    """Edited answers and certificates, results of files, of other processes and of workers: none proves a bound without a log."""
    model, result, _ = solved[solver]
    high = 0.999 * result.objective
    certificate = dataclasses.replace(result.certificate, bound=high)
    result.save(tmp_path / "a.npz")
    forged = [
        _forged(result, bound=high), _forged(result, bound=high, proved=True), _forged(result, proof=str(tmp_path / "none.log")),
        _forged(result, bound_caveat="of workers").register_proved_bound(), dataclasses.replace(result, certificate=certificate),
        mo.io.load_result(tmp_path / "a.npz"), pickle.loads(pickle.dumps(result)),
    ]  # fmt: skip
    assert [earlier_bound(CHECKERS[solver], model, evidence) for evidence in forged] == [-math.inf] * len(forged)
    target = _model(solver)
    plain = mo.solve(target, solver, node_limit=1, threads=1).bound if solver == "sparse-bb" else 0.0
    assert _carried(solver, target, (model, forged[0])) == plain < high


@pytest.mark.parametrize("solver", CASES)
def test_a_result_from_a_file_counts_by_its_log(solver, solved, tmp_path):
    """The bound of the log, whatever the file says."""
    model, result, log = solved[solver]
    _forged(result, bound=0.999 * result.objective, proof=log).save(tmp_path / "a.npz")
    evidence = mo.io.load_result(tmp_path / "a.npz")
    assert earlier_bound(CHECKERS[solver], model, evidence) == mo.check_proof(log, model).bound


@pytest.mark.parametrize("solver", CASES)
def test_wrong_evidence_is_refused(solver, solved, tmp_path):
    """A log that claims too much or is of other data, a result of other data, and no pair at all."""
    model, result, log = solved[solver]
    other = _model(solver, 2, scale=2.0)
    records, forged = read(Path(log)), tmp_path / "forged.log"
    forged.write_text(sealed([*records[:-1], {**records[-1], "bound": result.objective}]))
    for of, evidence in ((model, str(forged)), (other, log), (other, result), (model, tmp_path / "none.log")):
        with pytest.raises(InputError, check=about("earlier")):
            earlier_bound(CHECKERS[solver], of, evidence)
    with pytest.raises(InputError, check=about("earlier")):
        _carried(solver, _model(solver), (model, str(forged)))
    for wrong in (3, [3], [(model,)], [(model, 5.0)], [(result, model)], "log"):
        with pytest.raises(InputError, check=about("earlier")):
            mo.solve(model, solver, earlier=wrong)


@pytest.mark.parametrize("solver", CASES)
def test_data_that_changed_after_the_solve(solver):
    """A model holds views of the arrays that it was given: a result of what they held before proves nothing of them."""
    model = _model(solver, 2)
    result = mo.solve(model, solver, threads=1)
    data = np.asarray(model.X)
    (data if data.base is None else data.base)[0] *= 3.0
    with pytest.raises(InputError, check=about("earlier")):
        earlier_bound(CHECKERS[solver], model, result)
