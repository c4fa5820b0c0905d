"""Proof logs: accepted when untouched, never believed beyond the truth when damaged."""

import gzip

import numpy as np
import pytest
from data import clouds
from effort import trials
from facts import about, unwritten
from proof_logs import damage, damage_conflicts, problem_of, read, sealed, write, write_part
from scipy.sparse import csr_array

from marginopt.errors import InputError
from marginopt.instances import gaussian_clusters
from marginopt.models.formulations.hinge import HingeSVM
from marginopt.models.formulations.zero_one import ZeroOneSVM
from marginopt.models.views import ZeroOneProblem
from marginopt.solvers.exact.check.arithmetic import InvalidProofError
from marginopt.solvers.proofs import check_proof
from marginopt.solvers.records import Options
from marginopt.solvers.solve import solve
from marginopt.solvers.zero_one import ZeroOneBB
from marginopt.solvers.zero_one.check.boxes import Boxes, BoxProblem, apply_pairs, tighten
from marginopt.solvers.zero_one.check.checker import LoggedZeroOneProblem, ZeroOneChecker


@pytest.mark.parametrize("engine", ["boxes", "conflicts"])
@pytest.mark.parametrize("free", [False, True])
@pytest.mark.parametrize("name", ["log.jsonl", "log.jsonl.gz"])
def test_logs_are_accepted(tmp_path, engine, free, name):
    for seed in range(3):
        path = tmp_path / f"{seed}{name}"
        problem = problem_of(seed, 16, 1 + seed % 3, free, 10.0 ** (seed - 1))
        outcome, answer = write(problem, path, engine=engine)
        report = check_proof(path)
        assert outcome.name == "CONVERGED"
        assert report.valid, report.message
        assert report.bound == pytest.approx(answer.bound, rel=1e-8)
        assert report.bound <= answer.bound
        assert report.value == pytest.approx(problem.objective(answer.values["w"]), rel=1e-14)
        assert report.gap <= 1.1e-6


@pytest.mark.parametrize(("state", "point", "bound", "empty"), [(0, -2.0, 9.5, True), (0, -2.0, 0.5, False), (1, 2.0, 9.5, True)])
def test_a_decided_point_that_the_ball_excludes_empties_the_node(state, point, bound, empty):
    """With w in a ball about ``point``, of squared radius 10 - bound, w ≥ 1 is demanded (state 0) or w < 1 (state 1)."""
    g, none = np.ones((1, 1)), np.zeros(1)
    problem = BoxProblem(g, none, np.ones(1), np.ones(1), False, 10.0, np.full(1, -3.0), np.full(1, 3.0))
    nodes = Boxes.root(problem)
    nodes.state[0, 0] = state
    one = np.ones((1, 1))
    assert tighten(problem, nodes, 0.0 * one, one, np.full(1, bound), point * one, 0.0 * one).tolist() == [not empty]


@pytest.mark.filterwarnings("ignore::marginopt.errors.MarginoptWarning")
def test_checker_and_search_may_decide_a_point_differently(tmp_path):
    """Seed 17: where the search found a point violated, the checker had shown it kept; both are true of an empty node."""
    for seed in range(17, 17 + trials(1, 150)):
        rng = np.random.default_rng(seed)
        n, p = int(rng.integers(12, 30)), int(rng.integers(1, 4))
        X = rng.normal(size=(n, p))
        y = np.where(X[:, 0] + rng.normal(size=n) > 0, 1.0, -1.0)
        X = np.round(X, 1) if seed % 3 == 0 else X
        model = ZeroOneSVM(X, y, lam=float(rng.choice([0.05, 0.2, 0.4, 1.0])))
        solve(model, "zero-one-bb", proof=tmp_path / "log", engine="boxes")
        report = check_proof(tmp_path / "log")
        assert report.valid, report.message


def test_pairs_are_paid_once(tmp_path):
    """Pairs are in the log, and what the checker makes of one: its price at most once, the partner of a kept point violated."""
    path = tmp_path / "log"
    problem = problem_of(5, 40, 2, True, 1.0)
    assert write(problem, path, engine="boxes")[0].name == "CONVERGED"
    log = read(path)
    assert sum(len(entry[3]) for record in log[1:-1] for entry in record["rounds"]) > 20
    with_pairs = check_proof(path)
    assert with_pairs.valid, with_pairs.message
    for entry in (entry for record in log[1:-1] for entry in record["rounds"]):
        entry[3], entry[4] = entry[3] * 2, entry[4] * 2
    path.write_text(sealed(log))
    assert check_proof(path).valid
    for entry in (entry for record in log[1:-1] for entry in record["rounds"]):
        entry[3], entry[4] = [], []
    path.write_text(sealed(log))
    assert not check_proof(path).valid


def test_a_pair_is_believed_only_where_the_box_excludes_it():
    """`pack` on a box by hand: w and -w in |w| ≤ 3 are never both at least 1; w and w, or w and w/2, may be."""
    g = np.array([[1.0], [-1.0], [1.0], [0.5]])
    none = np.zeros(4)

    def pack(half, states, pairs, prices):
        problem = BoxProblem(g, none, g[:, 0] ** 2, np.full(4, 2.0), False, 10.0, np.full(1, -half), np.full(1, half))
        nodes = Boxes.root(problem)
        nodes.state[0] = states
        packing, empty = apply_pairs(problem, nodes, [[[], [], [], pairs, prices]])
        return packing.paid[0], packing.left[0], empty[0], nodes.state[0].tolist()

    paid, left, _, _ = pack(3.0, [-1, -1, -1, -1], [[0, 1]], [2.0])
    assert paid == pytest.approx(2.0) and paid <= 2.0 and left[:2].max() <= 1e-12
    paid, left, _, _ = pack(3.0, [-1, -1, -1, -1], [[0, 1], [0, 1], [1, 2]], [1.5, 1.5, 1.5])
    assert paid == pytest.approx(2.0) and left[2] == pytest.approx(2.0)
    assert pack(3.0, [-1, -1, -1, -1], [[0, 2], [0, 3]], [2.0, 2.0])[0] <= 0.0
    paid, _, _, state = pack(3.0, [-1, -1, 0, -1], [[0, 1], [1, 2]], [2.0, 2.0])
    assert paid <= 0.0 and state == [-1, 1, 0, -1]
    assert pack(3.0, [0, 0, -1, -1], [[1, 0]], [0.0])[2]
    for pairs, prices in (([[0, 4]], [1.0]), ([[1, 1]], [1.0]), ([[0, 1]], [-1.0]), ([[0, 1]], [np.nan]), ([[0, 1]], [])):
        with pytest.raises(InvalidProofError):
            pack(3.0, [-1, -1, -1, -1], pairs, prices)


def test_interrupted_search_proves_the_bound_that_it_had(tmp_path):
    problem = problem_of(7, 60, 3, True, 3.0)
    algorithm = ZeroOneBB(proof=str(tmp_path / "log"))
    state = algorithm.init(problem, Options(node_limit=60), np.random.default_rng(0))
    while algorithm.advance(state, 0.05).name == "RUNNING":
        pass
    answer = algorithm.answer(state)
    report = check_proof(tmp_path / "log")
    assert answer.nodes == 60
    assert report.valid, report.message
    assert 0 < report.bound < report.value


def best_value(log):
    """The optimum of the problem that a log states, by the solver itself on the log's own data."""
    header = log[0]
    problem = ZeroOneProblem(np.array(header["A"]), np.array(header["weights"]), np.array(header["penalised"]))
    algorithm = ZeroOneBB(engine="conflicts", restarts=5)
    state = algorithm.init(problem, Options(tol=1e-9), np.random.default_rng(0))
    while algorithm.advance(state, 1.0).name == "RUNNING":
        pass
    return algorithm.measure(state).objective


@pytest.mark.parametrize("engine", ["boxes", "conflicts"])
@pytest.mark.parametrize("free", [False, True])
def test_forged_logs_prove_nothing_false(tmp_path, engine, free):
    """Whatever is done to a log and sealed anew, what the checker then accepts is true of the problem that the log states."""
    path = tmp_path / "log"
    write(problem_of(11, 12, 2, free, 2.0), path, engine=engine)
    log = read(path)
    path.write_text(sealed(log))
    assert check_proof(path).valid
    rng = np.random.default_rng(1)
    refused = 0
    for _ in range(trials(12, 24)):
        kind, bad = (damage if engine == "boxes" else damage_conflicts)(rng, log)
        path.write_text(sealed(bad))
        report = check_proof(path)
        refused += not report.valid
        if kind in ("bound", "cut"):
            assert not report.valid, kind
        if report.valid:
            assert report.bound <= best_value(bad) * (1 + 2e-9), kind
    assert refused >= trials(6, 12)


@pytest.mark.parametrize("free", [False, True])
def test_forged_logs_with_open_nodes_prove_nothing_false(tmp_path, free):
    path, problem = tmp_path / "log", problem_of(11, 14, 3, free, 2.0)
    bound = write(problem, path, engine="conflicts")[1].bound
    refused, rng = 0, np.random.default_rng(1)
    for nodes in (1, 3):
        assert write_part(problem, path, bound, nodes) > 0.0
        log = read(path)
        assert "target" in log[-1]
        for _ in range(trials(20, 100)):
            kind, bad = damage_conflicts(rng, log)
            path.write_text(sealed(bad))
            report = check_proof(path)
            refused += not report.valid
            if report.valid:
                assert report.bound <= best_value(bad) * (1 + 2e-9), kind
    assert refused >= trials(15, 75)


@pytest.mark.parametrize("engine", ["boxes", "conflicts"])
def test_corrupted_logs_are_refused(tmp_path, engine):
    """Any change of any byte breaks the seal: bytes changed, lost, repeated, lines exchanged."""
    path = tmp_path / "log"
    write(problem_of(12, 14, 2, True, 2.0), path, engine=engine)
    good = path.read_bytes()
    assert check_proof(path).valid
    rng = np.random.default_rng(2)
    for trial in range(trials(60, 250)):
        at = int(rng.integers(len(good)))
        lines = good.splitlines(keepends=True)
        i, k = (int(x) for x in rng.choice(len(lines), 2, replace=False))
        lines[i], lines[k] = lines[k], lines[i]
        bad = (
            good[:at] + bytes([good[at] ^ (1 << int(rng.integers(8)))]) + good[at + 1 :],
            good[:at],
            good[:at] + good[at + 1 :],
            good[:at] + good[at : at + 40] + good[at:],
            b"".join(lines),
        )[trial % 5]
        if bad != good:
            path.write_bytes(bad)
            assert not check_proof(path).valid, trial


def test_fractional_packings_are_accepted_and_overfull_ones_refused(tmp_path):
    path = tmp_path / "log"
    outcome, answer = write(problem_of(3, 40, 6, True, 5.0), path, engine="conflicts")
    assert outcome.name == "CONVERGED" and check_proof(path).valid
    assert answer.details["proof_bound"] == pytest.approx(answer.bound, rel=2e-9)
    log = read(path)
    packs = [step for record in log for step in record.get("steps", []) if step[0] == "pack"]
    assert len(packs) > 3
    for step in packs:  # every conflict in two halves
        step[1] = [[number, y / 2] for number, y in step[1] for _ in range(2)]
    path.write_text(sealed(log))
    assert check_proof(path).valid
    packs[0][1] += packs[0][1]
    path.write_text(sealed(log))
    assert not check_proof(path).valid


def test_a_negative_multiplier_is_of_a_deleted_point(tmp_path):
    """Rows that combine to nothing, Σα > 0: a conflict of any norm where all α are positive, nothing where they are not."""
    path = tmp_path / "log"
    A = np.array([[1.0, 0.2], [1.5, 0.1], [2.0, -0.3]])  # (1, 0) keeps all three
    assert write(ZeroOneProblem(A, np.full(3, 9.0), np.ones(2, dtype=bool)), path, engine="conflicts")[0].name == "CONVERGED"
    header, end = (record for record in read(path) if "format" in record or "bound" in record)
    alpha = np.linalg.svd(A)[0][:, 2]
    alpha = (alpha * np.sign(alpha.sum())).tolist()
    root = {"id": 0, "parent": -1, "side": 0, "steps": [["pack", [[0, 8.0]]]]}
    path.write_text(sealed([header, {"conflict": [0, 1, 2], "alpha": alpha}, root, end | {"bound": 7.0, "w": [0.0, 0.0]}]))
    report = check_proof(path)
    assert not report.valid


def test_a_search_that_is_cut_short_leaves_a_log_of_its_bound(tmp_path):
    path = tmp_path / "log"
    problem = problem_of(7, 60, 8, True, 3.0)
    algorithm = ZeroOneBB(proof=str(path), engine="conflicts", restarts=2, neighbourhoods=2)
    state = algorithm.init(problem, Options(node_limit=5), np.random.default_rng(0))
    while (outcome := algorithm.advance(state, 0.05)).name == "RUNNING":
        pass
    answer = algorithm.answer(state)
    report = check_proof(path)
    assert outcome.name == "NODE_LIMIT"
    assert report.valid and report.bound == answer.details["proof_bound"] == pytest.approx(answer.bound, rel=2e-9)
    assert answer.bound > 0.0


@pytest.mark.parametrize("free", [False, True])
@pytest.mark.parametrize("seed", [3, 4])
def test_a_pass_that_is_cut_short_claims_the_least_bound_of_its_open_nodes(tmp_path, seed, free):
    path, problem = tmp_path / "log", problem_of(seed, 40, 5, free, 3.0)
    answer = write(problem, path, engine="conflicts")[1]
    claims = []
    for nodes in (0, 1, 4, 12, 10**6):
        claims.append(write_part(problem, path, answer.bound, nodes))
        report = check_proof(path)
        assert report.valid and report.bound == claims[-1], report.message
    assert claims == sorted(claims) and 0.0 < claims[1] < claims[-1] == pytest.approx(answer.bound, rel=2e-9)


@pytest.mark.parametrize("engine", ["auto", "conflicts"])
def test_finished_passes_are_logged_before_a_deadline_ends_the_next(tmp_path, engine):
    """The log at the path is one of a pass that the search has finished, while the search goes on."""
    path, data = tmp_path / "log", gaussian_clusters(90, 8, 0.5, seed=1)
    problem = ZeroOneSVM(data.X, data.y, 5.0).view(ZeroOneProblem)
    algorithm = ZeroOneBB(proof=str(path), engine=engine, restarts=2, neighbourhoods=2)
    state = algorithm.init(problem, Options(time_limit=1e6), np.random.default_rng(0))
    state.next_record_effort = 0.0  # the effort from which passes are recorded
    while not state.logged_bound:
        assert algorithm.advance(state, 1e-3).name == "RUNNING"
    report = check_proof(path)
    assert report.valid and 0.0 < report.bound == state.logged_bound < algorithm.measure(state).objective
    algorithm.advance(state, 1e-3)
    algorithm.answer(state)
    later = check_proof(path)
    assert later.valid and later.bound >= report.bound


def test_unreadable_files_are_reported(tmp_path):
    missing = ZeroOneChecker().check(tmp_path / "nothing")
    assert not missing.valid
    (tmp_path / "text").write_text("not a log\n")
    assert not ZeroOneChecker().check(tmp_path / "text").valid
    (tmp_path / "other").write_text('{"format": "something"}\n{"bound": 1}\n')
    assert not ZeroOneChecker().check(tmp_path / "other").valid


def test_a_proof_needs_a_path_that_can_be_written(tmp_path):
    with pytest.raises(InputError, check=unwritten(tmp_path / "no" / "folder")):
        write(problem_of(0, 8, 1, False, 1.0), tmp_path / "no" / "folder")


def stated(intercept="free", lam=2.0, seed=0, **options):
    X, y = clouds(seed, 24, 2, 0.7, order="turns")
    return ZeroOneSVM(X, y, lam, intercept=intercept, **options)


@pytest.mark.parametrize("engine", ["boxes", "conflicts"])
@pytest.mark.parametrize("sparse", [False, True])
def test_a_proof_of_other_data_is_refused(tmp_path, engine, sparse):
    model = stated(lam=np.linspace(1.0, 2.0, 24))
    raw = ZeroOneBB(proof=str(tmp_path / "log"), engine=engine).run(model, Options(threads=1))
    problem = ZeroOneSVM(csr_array(model.X), model.y, model.lam, intercept="free") if sparse else model
    report = check_proof(tmp_path / "log", problem)
    assert report.valid and report.own_data and report.bound == pytest.approx(raw.objective, rel=1e-5)
    for word in ("n = 24, p = 3", "lambda = 1 to 2", "free intercept", "gap", report.digest[:16]):
        assert word in str(report)
    X, y, lam = model.X.copy(), model.y.copy(), model.lam.copy()
    X[5, 2], y[7], lam[3] = np.nextafter(X[5, 2], 9.0), -y[7], 1.0
    others = {
        "first of them point 5": ZeroOneSVM(X, model.y, model.lam, intercept="free"),
        "first of them point 7": ZeroOneSVM(model.X, y, model.lam, intercept="free"),
        "first at point 3": ZeroOneSVM(model.X, model.y, lam, intercept="free"),
        "another intercept": ZeroOneSVM(model.X, model.y, model.lam),
        "kappa": ZeroOneSVM(model.X, model.y, kappa=0.25, intercept="free"),
        "n = 23": ZeroOneSVM(model.X[1:], model.y[1:], model.lam[1:], intercept="free"),
    }
    digests = {report.digest}
    for word, other in others.items():
        refused = check_proof(tmp_path / "log", other)
        assert not refused.valid and not refused.own_data and word in refused.message  # where the data differ
        digests.add(LoggedZeroOneProblem.of_model(other).digest)
    assert len(digests) == len(others) + 1
    with pytest.raises(InputError, check=about("model")):
        check_proof(tmp_path / "log", HingeSVM(model.X, model.y, 1.0))


def test_a_budget_proof_is_bound_to_its_data(tmp_path):
    model = ZeroOneSVM(stated().X, stated().y, kappa=0.29, intercept="free")
    ZeroOneBB(proof=str(tmp_path / "log")).run(model, Options(threads=1))
    report = check_proof(tmp_path / "log", model)
    assert report.valid and report.own_data
    assert not check_proof(tmp_path / "log", ZeroOneSVM(model.X, model.y, kappa=0.2, intercept="free")).valid


@pytest.mark.parametrize(
    "content",
    [
        b"[" * 200_000,
        b'{"format": "marginopt-zero-one-proof", "version": 3, "kind": ' + b"[" * 100_000,
        b"\xff\xfe\x00",
        b"",
        b'{"a": 1' + b"0" * 10_000 + b"}",
    ],
)
@pytest.mark.parametrize("suffix", ["", ".gz"])
@pytest.mark.parametrize("packed", [False, True])
def test_nothing_that_a_file_holds_is_raised(tmp_path, content, suffix, packed):
    path = tmp_path / f"log{suffix}"
    path.write_bytes(gzip.compress(content) if packed else content)
    assert not check_proof(path).valid
    if packed:  # a stream that breaks in its middle
        whole = bytearray(gzip.compress(np.random.default_rng(0).bytes(4000)))
        whole[2000:2040] = b"\x00" * 40
        path.write_bytes(bytes(whole))
        assert not check_proof(path).valid


def test_a_header_that_asks_for_more_than_it_has_is_refused(tmp_path):
    path = tmp_path / "log"
    problem = problem_of(0, 8, 2, False, 1.0)
    write(problem, path, engine="boxes")
    for member in ([10**15] * 8, [-1] * 8, [[0]] * 8, "x", None):
        records = read(path)
        records[0]["member"] = member
        path.with_suffix(".forged").write_text(sealed(records))
        assert not check_proof(path.with_suffix(".forged")).valid


@pytest.mark.filterwarnings("ignore::marginopt.errors.MarginoptWarning")
@pytest.mark.parametrize("free", [False, True])
def test_logs_of_columns_on_scales_of_their_own_are_accepted(tmp_path, free):
    """Rounding relaxes margins to 1 - η, up to 1e-5 here. Rows of 1e9 that nearly cancel need the multipliers of exact rows."""
    for seed in range(12):
        rng = np.random.default_rng(seed)
        X = np.column_stack([np.ones(8), rng.integers(-3, 4, (8, 2)) * np.array([1e6, 1e9])])
        y = np.where(rng.random(8) < 0.5, 1.0, -1.0)
        y[:2] = -1.0, 1.0
        model = ZeroOneSVM(X, y, 1.0, intercept="free" if free else "penalised")
        path = str(tmp_path / f"{seed}.jsonl")
        result = solve(model, "zero-one-bb", engine="boxes", proof=path)
        report = check_proof(path, model)
        assert report.valid, report.message
        assert report.bound == pytest.approx(result.bound, rel=1e-8)
