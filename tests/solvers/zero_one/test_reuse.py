"""Solved 0-1 problems and related ones: never more than the truth, and enough to end early."""

import hashlib
import itertools
import shutil
from pathlib import Path

import numpy as np
import pytest
from effort import trials
from facts import about
from proof_logs import read, sealed

import marginopt as mo
from marginopt.errors import InputError
from marginopt.models.views import ZeroOneProblem
from marginopt.solvers.zero_one.reuse import SolvedProblem, transferred_bound


def clusters(n, p=2, sigma=0.5, seed=0):
    data = mo.instances.gaussian_clusters(n, p, sigma, seed=seed)
    return data.X, data.y


def solved(model, **options):
    result = mo.solve(model, "zero-one-bb", threads=1, **options)
    assert result.status.name == "OPTIMAL"
    return result


def known(X, y, lam, **options):
    model = mo.ZeroOneSVM(X, y, lam=lam)
    return model, solved(model, **options)


def random_problem(rng, X, y):
    """Some of the points, each with a cost of its own."""
    rows = np.flatnonzero(rng.random(len(y)) < 0.8)
    rows = rows if len(rows) > 2 else np.arange(len(y))
    cost = 10 ** rng.uniform(-1, 2) * (rng.uniform(0.5, 2.0, len(rows)) if rng.random() < 0.5 else np.ones(len(rows)))
    return mo.ZeroOneSVM(X[rows], y[rows], lam=cost)


@pytest.mark.parametrize("seed", range(trials(3, 8)))
def test_no_carried_bound_exceeds_the_optimum(seed):
    """Points added, removed, repeated, other λ, other class costs, all at once."""
    rng = np.random.default_rng(seed)
    X, y = clusters(14, seed=seed)
    X, y = np.concatenate([X, X[:3]]), np.concatenate([y, y[:3]])
    models = [random_problem(rng, X, y) for _ in range(5)]
    pairs = [(model, solved(model)) for model in models[:4]]
    earlier = [SolvedProblem.of(*pair) for pair in pairs]
    target = models[4]
    optimum = solved(target, tol=1e-9)
    for size in range(1, 5):
        for some in itertools.combinations(earlier, size):
            assert transferred_bound(target.view(ZeroOneProblem), some).bound <= optimum.objective * (1 + 1e-12)
    warm = solved(target, earlier=pairs)
    assert warm.objective == pytest.approx(optimum.objective, rel=2e-6)
    assert warm.bound <= optimum.objective * (1 + 1e-12)


def test_special_cases():
    X, y = clusters(24, seed=1)
    problems = {lam: known(X, y, lam, tol=1e-9) for lam in (1.0, 3.0)}
    low, high = (SolvedProblem.of(*problems[lam]) for lam in (1.0, 3.0))
    between = mo.ZeroOneSVM(X, y, lam=2.0).view(ZeroOneProblem)
    above, below = (mo.ZeroOneSVM(X, y, lam=lam).view(ZeroOneProblem) for lam in (10.0, 0.5))
    # concave between two, nondecreasing above, proportional below
    assert transferred_bound(between, [low, high]).bound >= 0.5 * (low.bound + high.bound) * (1 - 1e-7)
    assert transferred_bound(above, [low, high]).bound >= high.bound * (1 - 1e-12)
    assert transferred_bound(below, [low, high]).bound >= 0.5 * low.bound * (1 - 1e-12)
    # points added change nothing, one removed takes its λ at most
    more = mo.ZeroOneSVM(np.vstack([X, X[0] + np.array([0.0, 0.1, 0.1])]), np.append(y, y[0]), lam=3.0).view(ZeroOneProblem)
    fewer = mo.ZeroOneSVM(X[1:], y[1:], lam=3.0).view(ZeroOneProblem)
    assert transferred_bound(more, [high]).bound >= high.bound * (1 - 1e-12)
    assert transferred_bound(fewer, [high]).bound >= (high.bound - 3.0) * (1 - 1e-7)


def test_a_path_equals_cold_solves_and_ends_early():
    X, y = clusters(60, seed=2)
    model = mo.ZeroOneSVM(X, y, lam=1.0)
    values = np.geomspace(100, 1, 17).tolist()
    warm = mo.path(model, "lam", values, solver="zero-one-bb", threads=1)
    cold = mo.path(model, "lam", values, solver="zero-one-bb", threads=1, update=False)
    assert [r.details["lam"] for r in warm] == values
    for a, b in zip(warm, cold, strict=True):
        assert a.status.name == b.status.name == "OPTIMAL"
        assert a.objective == pytest.approx(b.objective, rel=2e-6)
        assert a.gap <= 1e-6 and a.bound <= b.objective * (1 + 1e-12)
    closed = [r for r in warm if r.details["update"] == "closed by earlier results"]
    assert len(closed) >= 3 and all(r.nodes == 0 for r in closed)
    assert sum(r.nodes for r in warm) < sum(r.nodes for r in cold)


def test_the_same_problem_again_needs_no_search():
    X, y = clusters(60, seed=3)
    pair = known(X, y, 5.0)
    again = solved(mo.ZeroOneSVM(X[::-1], y[::-1], lam=5.0), earlier=[pair])
    assert again.nodes == 0 and again.objective == pytest.approx(pair[1].objective, rel=1e-9)


def test_a_removed_point_that_was_kept_changes_nothing_but_one_that_was_violated_may():
    X, y = clusters(60, seed=3)
    model, result = known(X, y, 5.0)
    margins = y * (X @ result.values["w"])
    slack, violated = int(margins.argmax()), int(margins.argmin())
    for i in (slack, violated):
        fewer = mo.ZeroOneSVM(np.delete(X, i, 0), np.delete(y, i), lam=5.0)
        warm, cold = solved(fewer, earlier=[(model, result)]), solved(fewer)
        assert warm.objective == pytest.approx(cold.objective, rel=2e-6)
    # one violated point less saves exactly its λ where the rest stays optimal: the bound closes it
    assert warm.details["carried_bound"] >= (result.bound - 5.0) * (1 - 1e-9)


def test_what_does_not_fit_is_refused():
    X, y = clusters(20)
    pair = known(X, y, 2.0)
    other = mo.ZeroOneSVM(X[:, :2], y, lam=2.0)
    with pytest.raises(InputError, check=about("earlier")):
        mo.solve(other, "zero-one-bb", earlier=[pair])
    with pytest.raises(InputError, check=about("earlier")):
        mo.solve(mo.ZeroOneSVM(X, y, lam=2.0, intercept="free"), "zero-one-bb", earlier=[pair])
    with pytest.raises(InputError, check=about("earlier")):
        mo.solve(pair[0], "zero-one-bb", earlier=[3])
    hinge = mo.HingeSVM(X, y, lam=1.0)
    with pytest.raises(InputError, check=about("result")):
        mo.solve(pair[0], "zero-one-bb", earlier=[(hinge, mo.solve(hinge))])
    claimed = SolvedProblem.of(pair[0], mo.solve(pair[0], "scip"))
    assert claimed.bound == 0.0 and claimed.w is not None  # a bound that is only claimed proves nothing


def _logged(tmp_path, name, model, **options):
    """A solved model whose log lies in a folder of its own."""
    (tmp_path / name).mkdir()
    return model, solved(model, proof=str(tmp_path / name / f"{name}.log"), **{"tol": 1e-9, **options})


def _citing(tmp_path):
    """Two logged problems, and one between them whose log cites theirs."""
    X, y = clusters(24, seed=1)
    pairs = [_logged(tmp_path, f"lam{lam}", mo.ZeroOneSVM(X, y, lam=float(lam))) for lam in (2, 4)]
    between = mo.ZeroOneSVM(X, y, lam=np.append(np.full(23, 3.0), 3.5))
    path = tmp_path / "between" / "between.log"
    path.parent.mkdir()
    result = mo.solve(between, "zero-one-bb", earlier=pairs, proof=str(path), node_limit=1, engine="boxes")
    return pairs, between, path, result


def test_a_log_cites_the_logs_of_earlier_problems(tmp_path):
    pairs, between, path, result = _citing(tmp_path)
    cited = [result.answer.proof for _, result in pairs]
    assert read(path)[0]["kind"] == "cited"
    report = mo.check_proof(path, between, cited=cited)
    assert report.valid, report
    assert report.bound == pytest.approx(result.details["carried_bound"], rel=1e-8)
    assert report.bound <= solved(between, tol=1e-9).objective * (1 + 1e-12)
    assert not mo.check_proof(path, between).valid  # neither beside it nor given
    assert not mo.check_proof(path, pairs[0][0], cited=cited).valid
    for log in cited:
        shutil.copy(log, path.parent)
    assert mo.check_proof(path, between).valid


def test_a_log_of_a_log_that_cites(tmp_path):
    """The same problem again closes by its own log; its log is one record, and each log of the chain is verified once."""
    X, y = clusters(24, seed=1)
    pairs = [_logged(tmp_path, "first", mo.ZeroOneSVM(X, y, lam=3.0))]
    for name in ("second", "third"):
        pairs.append(_logged(tmp_path, name, mo.ZeroOneSVM(X, y, lam=3.0), earlier=pairs, tol=1e-6))
    logs = [result.answer.proof for _, result in pairs]
    assert [read(Path(log))[0]["kind"] for log in logs] == ["boxes", "cited", "cited"]
    assert mo.check_proof(logs[2], pairs[0][0], cited=logs[:2]).valid
    damaged = Path(logs[0])
    damaged.write_text(damaged.read_text().replace('"bound": ', '"bound": 1', 1))
    assert not mo.check_proof(logs[2], pairs[0][0], cited=logs[:2]).valid


def test_forged_citations_are_refused(tmp_path):
    """Another digest, another share, a claim beyond what follows, a cited log whose own proof fails."""
    pairs, between, path, _ = _citing(tmp_path)
    cited = [result.answer.proof for _, result in pairs]
    log = read(path)
    assert log[0]["kind"] == "cited"

    def verdict(records, files=cited):
        path.write_text(sealed(records))
        return mo.check_proof(path, between, cited=files).valid

    assert verdict(log)
    high = {**log[-1], "bound": log[-1]["bound"] * (1 + 1e-6)}
    wrong = [{**log[1], "sha256": "0" * 64}, {**log[1], "theta": log[1]["theta"] * 1.01}, {**log[1], "theta": -log[1]["theta"]},
             {**log[1], "theta": "nan"}, {"file": "x"}]  # fmt: skip
    assert not any(verdict([log[0], record, *log[2:]]) for record in wrong if record.get("theta") != log[1]["theta"] * 1.01)
    assert not verdict([log[0], wrong[1], *log[2:-1], high])
    assert not verdict([*log[:-1], high])
    assert not verdict([log[0], *log[2:]])
    assert not verdict([log[0], log[1], *log[1:]])
    assert not verdict([{**log[0], "penalised": [False, *log[0]["penalised"][1:]]}, *log[1:]])
    # a sealed log that claims too much is a file of another digest; cited by that digest, its proof fails
    first = Path(cited[0])
    lie = read(first)
    lie[-1]["bound"] *= 1.2
    lie[-1]["w"] = [0.0] * len(lie[-1]["w"])
    first.write_text(sealed(lie))
    assert not verdict(log)
    renewed = [{**r, "sha256": hashlib.sha256(first.read_bytes()).hexdigest()} if r.get("file") == first.name else r for r in log]
    assert not verdict([*renewed[:-1], log[-1]])


def test_a_result_without_a_log_brings_its_point_alone(tmp_path):
    X, y = clusters(20)
    model, result = known(X, y, 2.0)
    again = mo.solve(model, "zero-one-bb", earlier=[(model, result)], proof=str(tmp_path / "a.log"), threads=1)
    assert again.details["carried_bound"] == 0.0
    assert again.objective == pytest.approx(result.objective, rel=2e-6)
    assert mo.check_proof(tmp_path / "a.log", model).valid
