"""Dimensions of a gap report: encodings, M, κ, seeds, n; traces, root bounds; cells in parallel on one store."""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import joblib
import numpy as np
import pytest
from data import Points, clouds
from facts import about
from joblib.parallel import ThreadingBackend

from marginopt.errors import InputError
from marginopt.relaxations import BigM, CellStore, Conic, GapReport, gap_report
from marginopt.relaxations.report.exact_tasks import _thinned, _time_to_bound
from marginopt.relaxations.report.plan import parse_big_m
from marginopt.relaxations.report.runner import Progress
from marginopt.solvers.records import Trace, TraceRow


def points(n: int) -> Points:
    return Points(*clouds(n, n, 2, 0.8, order="halves"), f"points[n={n}]")


DIMENSIONS = {
    "relaxations": [BigM("zero"), Conic()],
    "exact": ["scip", "zero-one-bb"],
    "lam": 2.0,
    "time_limit": 120.0,
    "encodings": ["bigm", "indicator", "strengthened"],
    "big_m": ["10x zero", 1.2],
    "kappa": [0.1, 0.2],
    "seeds": [3, 4],
}


@pytest.fixture(scope="module")
def report() -> GapReport:
    return gap_report([points(12), points(10)], progress=False, **DIMENSIONS)


def test_every_combination_is_a_cell(report: GapReport) -> None:
    for instance in report.instances:
        rows = [(c.solver, c.encoding, c.m_source, c.seed) for c in report.exacts_of(instance.key)]
        sources = ("10x M from w=0", "M=1.2")
        expected = {("scip", e, m, s) for e in ("big-M", "strengthened") for m in sources for s in (3, 4)}
        expected |= {("scip", "indicator", "", s) for s in (3, 4)}
        expected |= {("zero-one-bb", "none: reads the data", "", s) for s in (3, 4)}  # it has no encoding
        assert len(rows) == len(set(rows)) and set(rows) == expected
        names = [c.relaxation for c in report.relaxations_of(instance.key)]
        assert names == ["big-M, M from w=0", "conic SDP", "big-M, 10x M from w=0", "big-M, M=1.2"]
    assert [(c.instance, c.kappa) for c in report.kappas] == [(f"points[n={n}]", k) for n in (12, 10) for k in (0.1, 0.2)]


def test_all_encodings_have_the_optimum_and_every_bound_is_below_it(report: GapReport) -> None:
    assert report.contradictions == ()
    for instance in report.instances:
        exacts = [c for c in report.exacts_of(instance.key) if not c.caveat]
        assert all(c.proven for c in exacts)
        optima = [c.incumbent for c in exacts]
        assert optima == pytest.approx([optima[0]] * len(optima), rel=1e-9)
        cut = [c for c in report.exacts_of(instance.key) if c.caveat]
        assert len(cut) == 4 and all("M is below" in c.caveat and not c.proven and not c.bounds_optimum for c in cut)
        bound = {c.relaxation: c.bound for c in report.relaxations_of(instance.key)}
        assert bound["big-M, 10x M from w=0"] < bound["big-M, M from w=0"] < bound["conic SDP"] < optima[0]


def test_root_bounds_traces_and_times(report: GapReport) -> None:
    for cell in report.exacts:
        assert cell.solve_seconds is not None and cell.bound_seconds is not None and len(cell.trace) >= 1
        assert 0.0 <= cell.bound_seconds <= cell.trace[-1][0]
        assert [t for t, _, _ in cell.trace] == sorted(t for t, _, _ in cell.trace)
        last = cell.trace[-1]
        bound = cell.target_bound if cell.caveat else cell.bound
        assert last[1] == pytest.approx(cell.incumbent, rel=1e-6) and last[2] == pytest.approx(bound, rel=1e-6)
        assert cell.root is None or cell.solver == "scip"
        assert cell.root is None or cell.bound is None or cell.root <= cell.bound
        assert (cell.prepare_seconds is None) == (cell.encoding != "strengthened")
    assert sum(cell.root is not None for cell in report.exacts) > 8  # none where presolving or a cut-off ended it


def test_kappa_cells_bound_the_problem_with_a_budget(report: GapReport) -> None:
    for cell in report.kappas:
        n = int(cell.instance[9:-1])
        assert cell.status == "optimal" and cell.kind == "proved" and cell.budget == int(cell.kappa * n)
        assert cell.bound is not None and cell.share is not None and cell.rank_ratio is not None
        assert cell.share <= cell.kappa + 1e-6
        assert cell.recovered is not None and cell.bound <= cell.recovered * (1 + 1e-6)
        assert cell.proven and cell.exact_solver == "zero-one-bb" and cell.exact_kind == "proved"
        assert cell.exact_objective is not None and cell.bound <= cell.exact_objective * (1 + 1e-6)
        assert cell.exact_objective <= cell.recovered * (1 + 1e-6)
    of = [c for c in report.kappas if c.instance == "points[n=10]"]
    assert of[0].bound is not None and of[1].bound is not None and of[0].bound > of[1].bound  # a larger budget costs less


def test_a_large_budget_needs_no_more_than_a_constant() -> None:
    (cell,) = gap_report([points(13)], [], None, kappa=[0.47], progress=False).kappas
    assert cell.budget == 6 == int((points(13).y > 0).sum())  # the smaller class may be given up
    assert cell.recovered is not None and cell.recovered <= 1.0 + 1e-9 and cell.bound is not None and cell.bound < cell.recovered


def test_kappa_zero_needs_separable_data() -> None:
    apart = replace(points(12), X=np.column_stack([np.ones(12), 3.0 * points(12).y, np.arange(12.0)]))
    cells = gap_report([apart], [], None, kappa=[0.0], progress=False).kappas
    assert cells[0].status == "optimal" and cells[0].recovered == pytest.approx(cells[0].bound, rel=1e-5)
    assert cells[0].exact_status == "not asked"  # exact=None
    mixed = gap_report([points(40)], [], None, kappa=[0.0], progress=False).kappas
    assert mixed[0].status == "infeasible" and mixed[0].bound is None and mixed[0].recovered is None


def test_each_dimension_is_part_of_the_key(tmp_path: Path) -> None:
    path = tmp_path / "cells.db"
    common = {"relaxations": [], "exact": "scip", "time_limit": 60.0, "store": path, "progress": False}

    def exact_cells(**more: object) -> int:
        gap_report([points(10)], **{**common, **more})
        return CellStore(path).counts().get("exact", 0)

    assert exact_cells() == 1
    assert exact_cells(encodings="indicator") == 2
    assert exact_cells(encodings=["bigm", "indicator"]) == 2
    assert exact_cells(big_m="zero") == 3
    assert exact_cells(seeds=[0, 1]) == 4
    assert exact_cells(node_limit=1000) == 5
    assert exact_cells(lam=2.0) == 6
    assert exact_cells(encodings="strengthened", kappa=0.3) == 7
    assert CellStore(path).counts()["kappa"] == 1


def test_parallel_cells_are_those_of_one_after_the_other(report: GapReport) -> None:
    few = {**DIMENSIONS, "encodings": "bigm", "big_m": None, "seeds": [3], "exact": "scip"}
    with joblib.parallel_config(backend="threading", n_jobs=2):  # an enclosing configuration is used
        gaps = gap_report([points(12), points(10)], progress=False, threads=1, **few)
    assert [c.key for c in gaps.instances] == [c.key for c in report.instances]
    assert [c.relaxation for c in gaps.relaxations] == ["big-M, M from w=0", "conic SDP"] * 2
    same = {(c.key, c.relaxation): c.bound for c in report.relaxations}
    assert all(c.bound == pytest.approx(same[c.key, c.relaxation], rel=1e-9) for c in gaps.relaxations)
    optima = {c.key: c.incumbent for c in report.exacts if c.proven}
    assert all(c.incumbent == pytest.approx(optima[c.key], rel=1e-9) for c in gaps.exacts)
    assert [c.bound for c in gaps.kappas] == pytest.approx([c.bound for c in report.kappas], rel=1e-9)


class AllAtOnce(ThreadingBackend):
    """A backend that hands over its results at the end, such as Ray's."""

    supports_return_generator = False


def test_a_backend_without_results_one_by_one(report: GapReport, capsys: pytest.CaptureFixture[str]) -> None:
    joblib.register_parallel_backend("all at once", AllAtOnce)
    with joblib.parallel_config(backend="all at once"):
        gaps = gap_report([points(12), points(10)], [Conic()], None, lam=2.0, time_limit=120.0, threads=1, jobs=2)
    same = {(c.key, c.relaxation): c.bound for c in report.relaxations}
    assert [c.bound for c in gaps.relaxations] == pytest.approx([same[c.key, c.relaxation] for c in gaps.relaxations], rel=1e-9)
    lines = capsys.readouterr().err.splitlines()
    assert lines[0].startswith("[0/4") and lines[-1].startswith("[4/4")  # between them, one a second at most


#: Starts reports that it forks: what they import is imported once.
SCRIPT = """
import json, os, signal, sys, time
from contextlib import suppress
import marginopt as mo
from marginopt.relaxations import BigM, CellStore, Conic, gap_report

def report(store, out):
    data = [mo.instances.gaussian_clusters(n, 2, 0.5, seed=0) for n in (10, 12)]
    found = gap_report(data, [BigM("zero"), Conic()], exact="scip", encodings=["bigm", "indicator"], lam=[0.5, 2.0],
                       kappa=[0.2], time_limit=600.0, threads=1, store=store, jobs=2)
    cells = [c.record() for c in (*found.instances, *found.relaxations, *found.exacts, *found.kappas)]
    with open(out, "w") as file:
        json.dump(cells, file)

def start(store, out):
    child = os.fork()
    if child == 0:
        code = 1
        try:
            os.setsid()
            os.dup2(os.open(out + ".told", os.O_WRONLY | os.O_CREAT), 2)
            report(store, out)
            code = 0
        finally:
            sys.stderr.flush()
            os._exit(code)
    return child

def ended(child):
    code = os.waitpid(child, 0)[1]
    with suppress(ProcessLookupError):
        os.killpg(child, signal.SIGKILL)  # its workers, which would end after five idle minutes
    return code

if __name__ == "__main__":
    store, folder = CellStore(sys.argv[1]), sys.argv[2]
    killed = start(store.path, os.path.join(folder, "never.json"))
    while sum(store.counts().values()) < 5:
        time.sleep(0.02)
    os.killpg(killed, signal.SIGKILL)
    status, kept = ended(killed), sum(store.counts().values())
    codes = [ended(child) for child in [start(store.path, os.path.join(folder, f"{k}.json")) for k in range(2)]]
    print(json.dumps({"killed": os.WIFSIGNALED(status), "kept": kept, "codes": codes}))
"""


def test_a_parallel_report_is_killed_and_two_go_on_at_once(tmp_path: Path) -> None:
    script = tmp_path / "script.py"
    script.write_text(SCRIPT)
    store = tmp_path / "cells.db"
    words = [sys.executable, script, store, tmp_path]
    done = subprocess.run(words, capture_output=True, text=True, timeout=300, check=True)
    record, records = json.loads(done.stdout.splitlines()[-1]), [(tmp_path / f"{k}.json.told").read_text() for k in range(2)]
    assert record["killed"] and record["codes"] == [0, 0], records
    assert not (tmp_path / "never.json").exists()
    assert 5 <= record["kept"] < 22
    assert all("2 at a time" in text and "s left]" in text for text in records)
    assert (tmp_path / "0.json").read_text() == (tmp_path / "1.json").read_text()
    assert CellStore(store).counts() == {"instance": 4, "relaxation": 8, "exact": 8, "kappa": 2}
    cells = json.loads((tmp_path / "0.json").read_text())
    assert all(cell["proven"] for cell in cells if "proven" in cell)


def test_a_node_limit_is_for_exact_solvers_alone() -> None:
    gaps = gap_report([points(40)], [Conic()], exact="scip", node_limit=1, progress=False)
    assert gaps.relaxations[0].status == "optimal"
    assert gaps.exacts[0].status == "node limit" and gaps.exacts[0].nodes == 1
    root = gaps.exacts[0].root
    assert root is not None and root == pytest.approx(gaps.exacts[0].bound, rel=1e-6)


def test_words_for_constants() -> None:
    assert parse_big_m("incumbent") == BigM("incumbent")
    assert parse_big_m("100x zero") == parse_big_m(" 1e2 x zero") == BigM("zero", factor=100.0)
    assert parse_big_m("5") == parse_big_m(5.0) == BigM(5.0)
    for wrong in ("five", "x zero", "-1", "1..5x zero", ""):
        with pytest.raises(InputError, check=about("big_m")):
            parse_big_m(wrong)


@pytest.mark.parametrize(
    ("arguments", "name"),
    [
        ({"encodings": ["bigm", "bgim"]}, "encodings"),
        ({"encodings": []}, "encodings"),
        ({"encodings": ["bigm", "bigm"]}, "encodings"),
        ({"big_m": ["twice"]}, "big_m"),
        ({"big_m": -1.0}, "big_m"),
        ({"kappa": 1.5}, "kappa"),
        ({"seeds": []}, "seeds"),
        ({"seeds": [1, 1]}, "seeds"),
        ({"seeds": [-1]}, "seed"),
        ({"node_limit": 0}, "node_limit"),
        ({"jobs": 0}, "jobs"),
    ],
)
def test_wrong_dimensions_fail_before_any_work(
    arguments: dict[str, object], name: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(InputError, check=about(name)):
        gap_report([points(12)], **arguments)
    assert capsys.readouterr().err == ""


def test_progress_estimates_from_what_is_done() -> None:
    progress = Progress(False, 30.0)
    progress.plan([("exact", "scip"), ("exact", "scip"), ("exact", "gurobi"), ("relaxation", "conic SDP")], 1)
    assert progress.remaining == 120.0  # nothing is known: the limit
    progress.finish("exact", "scip", 4.0, False)
    assert progress.remaining == 4.0 + 4.0 + 30.0  # the same solver; another one like it; another kind
    progress.finish("exact", "gurobi", 1.0, False)
    progress.finish("relaxation", "conic SDP", 0.0, True)  # from the store: no time
    assert progress.remaining == 4.0
    progress.jobs = 2
    assert progress.remaining == 2.0
    progress.finish("exact", "scip", 4.0, False)
    assert progress.remaining == 0.0 and progress.done == progress.total == 4


def test_progress_counts_cells_that_follow_from_others() -> None:
    progress = Progress(False, 30.0)
    progress.plan([("instance", "heuristic")], 1)
    progress.expect([("relaxation", "conic SDP"), ("exact", "scip"), ("exact", "gurobi")])
    assert progress.total == 4 and progress.remaining == 120.0 and progress._word == "at most"
    progress.finish("instance", "heuristic", 1.0, False)
    progress.plan([("relaxation", "conic SDP"), ("exact", "scip"), ("exact", "highs")], 1)  # one was another
    assert progress.total == 4 and progress.remaining == 90.0
    progress.finish("relaxation", "conic SDP", 2.0, False)
    progress.finish("exact", "scip", 3.0, False)
    assert progress.remaining == 3.0 and progress._word == "about"
    progress.finish("exact", "highs", 3.0, False)
    assert progress.remaining == 0.0 and progress.done == progress.total


def test_a_report_knows_from_the_first_line_how_many_cells_it_has(capsys: pytest.CaptureFixture[str]) -> None:
    gap_report([points(12)], [BigM("zero")], "scip", [1.0, 2.0], kappa=0.2, time_limit=20)
    lines = [line for line in capsys.readouterr().err.splitlines() if line.startswith("[")]
    assert lines[0].startswith("[0/7,")  # twice heuristic, big-M and SCIP; κ once
    assert all("/7," in line for line in lines) and lines[-1].startswith("[7/7,")


def test_traces_keep_changes_and_ends() -> None:
    nan = float("nan")
    rows = [TraceRow(0, 0.0, nan), TraceRow(1, 0.1, 9.0, 1.0), TraceRow(2, 0.2, 9.0, 1.0), TraceRow(3, 0.3, 9.0, 2.0)]
    trace = _thinned(Trace((*rows, TraceRow(4, 0.5, 9.0, 2.0))))
    assert trace == ((0.0, None, None), (0.1, 9.0, 1.0), (0.3, 9.0, 2.0), (0.5, 9.0, 2.0))
    assert _time_to_bound(trace) == 0.3
    assert _time_to_bound(trace[:1]) is None
    long = _thinned(Trace(tuple(TraceRow(k, float(k), 1e6 - k, float(k)) for k in range(5000))))
    assert len(long) == 120 and long[0][0] == 0.0 and long[-1][0] == 4999.0
