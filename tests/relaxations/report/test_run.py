"""Running a gap report: real cells, reasons in place of failures, intervals where a solver was stopped."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from data import Points, clustered as outlying
from facts import about

from marginopt.errors import InputError
from marginopt.instances import gaussian_clusters
from marginopt.models import ConicSVM, HingeSVM, Model, StandardForm, ZeroOneSVM
from marginopt.models.digest import fingerprint
from marginopt.relaxations import BigM, Conic, GapReport, default_relaxations, gap_report
from marginopt.relaxations.report.formats import render_json
from marginopt.relaxations.report.problems import InstanceProblem
from marginopt.solvers.backends.scip import Scip
from marginopt.solvers.interface.solver import KeptModel
from marginopt.solvers.records import Answer, Options


def clustered(n: int, p: int, seed: int = 0) -> Points:
    return Points(*outlying(seed, n, p, 0.4, spread=0.6, one_in=10, far=3.0), f"clustered {n}")


@pytest.fixture(scope="module")
def report() -> GapReport:
    return gap_report(
        [clustered(14, 2), clustered(20, 2)], exact=["scip", "clarabel"], lam=[0.5, 2.0], time_limit=20.0, progress=False
    )


def test_every_cell_is_there(report: GapReport) -> None:
    assert [c.key for c in report.instances] == [
        ("clustered 14", 0.5),
        ("clustered 14", 2.0),
        ("clustered 20", 0.5),
        ("clustered 20", 2.0),
    ]
    names = [r.name for r in default_relaxations()]
    for c in report.instances:
        assert [r.relaxation for r in report.relaxations_of(c.key)] == names
        assert [e.solver for e in report.exacts_of(c.key)] == ["scip", "clarabel"]
    assert len(report.rows) == 4 * len(names)
    assert report.contradictions == ()


def test_bounds_optimum_and_incumbents_agree(report: GapReport) -> None:
    for c in report.instances:
        exact = report.exacts_of(c.key)[0]
        assert exact.proven and exact.incumbent is not None
        assert exact.incumbent <= c.objective * (1 + 1e-9)
        assert exact.m_slack is None or exact.m_slack > 0.0  # M is valid, so no row in use is tight
        bounds = {r.relaxation: r.bound for r in report.relaxations_of(c.key)}
        for r in report.relaxations_of(c.key):
            assert r.status == "optimal" and (r.target_kind if r.caveat else r.kind) == "proved"
            assert r.recovered is not None and r.recovered >= exact.incumbent * (1 - 1e-9)
            if r.bounds_optimum:
                assert r.bound is not None and r.bound <= exact.incumbent * (1 + 1e-9)
            assert r.variables and r.rows and r.bytes and r.solve_seconds is not None
        assert bounds["big-M, M from w=0"] <= bounds["conic SDP"] * (1 + 1e-6)
        assert bounds["conic SDP + big-M, M from incumbent"] >= bounds["conic SDP"] * (1 - 1e-6)
        assert bounds["conic SDP + big-M, M from incumbent"] >= bounds["big-M, M from incumbent"] * (1 - 1e-6)


def test_the_hinge_as_it_is_used_is_no_bound(report: GapReport) -> None:
    rows = [r for r in report.rows if r.relaxation.relaxation == "hinge, M=1"]
    assert rows and all(r.relaxation.caveat and r.gap is None for r in rows)


def test_a_solver_that_cannot_is_a_row_with_its_reason(report: GapReport) -> None:
    refused = [e for e in report.exacts if e.solver == "clarabel"]
    assert all(e.status == "not run" and "integer variables" in e.reason and e.incumbent is None for e in refused)


def test_meta_says_what_was_run(report: GapReport) -> None:
    assert report.meta["seed"] == 0
    assert report.meta["base"] == "big-M, M from w=0"
    assert {"marginopt", "numpy", "pyscipopt"} <= set(report.meta["versions"])
    assert report.meta["options"]["exact"] == ["scip", "clarabel"]
    assert report.meta["options"]["solver seeds"] == [0] and report.meta["options"]["encodings"] == ["bigm"]
    assert "seed: 0" in report.markdown()


def test_same_seed_same_cells(report: GapReport) -> None:
    again = gap_report([clustered(14, 2)], exact=None, lam=0.5, progress=False)
    first = again.instances[0]
    stored = report.instances[0]
    assert (first.objective, first.violations) == (stored.objective, stored.violations)
    for a, b in zip(again.relaxations, report.relaxations, strict=False):
        assert (a.relaxation, a.bound, a.m_high) == (b.relaxation, b.bound, b.m_high)
    assert again.exacts == () and again.rows[0].zeta.low < again.rows[0].zeta.high
    assert render_json(again)


def test_a_stopped_solver_leaves_an_interval(capsys: pytest.CaptureFixture[str]) -> None:
    gaps = gap_report([clustered(120, 6)], [BigM(), Conic()], exact="scip", time_limit=0.5, seed=1)
    (exact,) = gaps.exacts
    assert exact.status == "time limit" and not exact.proven
    conic = next(r for r in gaps.rows if r.relaxation.relaxation == "conic SDP")
    assert conic.gap is not None and not conic.gap.exact
    assert 0.0 <= conic.gap.low < conic.gap.high < 1.0
    assert "[" in gaps.markdown()
    progress = capsys.readouterr()
    assert progress.out == ""
    first, *_, last = progress.err.splitlines()
    assert first.startswith("[0/4") and last.startswith("[4/4") and "clustered 120" in progress.err


def test_auto_puts_scip_beside_what_auto_picks() -> None:
    gaps = gap_report([clustered(14, 2)], [BigM()], progress=False)
    solvers = [e.solver for e in gaps.exacts]
    assert solvers[-1] == "scip" and len(solvers) == len(set(solvers))
    assert all(e.proven for e in gaps.exacts)
    optima = [e.incumbent for e in gaps.exacts if e.incumbent is not None]
    assert optima == pytest.approx([optima[0]] * len(optima), rel=1e-8)


def test_a_relaxation_that_a_solver_cannot_read_is_a_reason() -> None:
    refused = gap_report([clustered(14, 2)], [Conic()], exact=None, progress=False, solver="scip").relaxations[0]
    assert refused.status == "not run" and refused.bound is None
    assert "positive semidefinite" in refused.reason


@pytest.mark.parametrize(
    ("arguments", "name"),
    [
        ({"instances": []}, "instances"),
        ({"instances": [clustered(14, 2), clustered(14, 2, seed=1)]}, "instances"),
        ({"exact": "skip"}, "skip"),
        ({"exact": ["auto", "gorubi"]}, "gorubi"),
        ({"solver": "clarabell"}, "clarabell"),
        ({"lam": 0.0}, "lam"),
        ({"time_limit": -1.0}, "time_limit"),
        ({"time_limits": 3.0}, "time_limits"),
        ({"limits/nodes": 3}, "limits/nodes"),
        ({"start": {"w": np.zeros(3)}}, "start"),
        ({"relaxations": [Conic(), Conic()]}, "relaxations"),
        ({"instances": [Points(np.ones((4, 2)), np.array([0, 1, 2, 1]), "three")]}, "y"),
    ],
)
def test_wrong_calls_fail_before_any_work(arguments: dict[str, object], name: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(InputError, check=about(name)):
        gap_report(**{"instances": [clustered(14, 2)], **arguments})
    assert capsys.readouterr().err == ""


def test_each_form_is_compiled_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Relaxations and exact solvers of an instance share one model; the conic base stands alone and under the combined one."""
    compiled: Counter[tuple[str, str]] = Counter()
    for kind in (ZeroOneSVM, HingeSVM, ConicSVM):
        compile_form = kind.compile

        def counted(model: Any, compile_form: Any = compile_form) -> StandardForm:
            compiled[model.name, fingerprint(model)] += 1
            return compile_form(model)

        monkeypatch.setattr(kind, "compile", counted)
    data = gaussian_clusters(16, 2, 0.5, seed=1)
    gap_report([data], exact=["scip", "zero-one-bb"], time_limit=20.0, progress=False)
    most = {name: max(n for (kind, _), n in compiled.items() if kind == name) for name, _ in compiled}
    assert most == {ZeroOneSVM.name: 1, HingeSVM.name: 1, ConicSVM.name: 2}


class InterruptedScip(Scip):
    """SCIP, which Ctrl-C interrupts in its second call."""

    info = replace(Scip.info, name="interrupted-scip")

    def __init__(self) -> None:
        self.calls = 0

    def run(self, model: Model, options: Options, kept_model: KeptModel | None = None) -> Answer:
        self.calls += 1
        if self.calls == 2:
            raise KeyboardInterrupt
        return super().run(model, options, kept_model)


def test_an_interrupt_keeps_the_cells_that_are_finished(tmp_path: Path) -> None:
    made = gap_report(
        [clustered(12, 2), clustered(14, 2)], [BigM("zero")], [InterruptedScip()], kappa=0.2, time_limit=20.0, progress=False
    )
    assert [bool(cell.reason) for cell in made.relaxations] == [False, False]
    assert [(cell.instance, bool(cell.reason)) for cell in made.exacts] == [("clustered 12", False), ("clustered 14", True)]
    assert [(cell.instance, bool(cell.reason)) for cell in made.kappas] == [("clustered 12", False), ("clustered 14", True)]
    assert len(made.instances) == 2 and made.meta["interrupted"]
    (path,) = made.write(tmp_path / "report.json")
    assert GapReport.from_json(path).exacts == made.exacts


def test_an_interrupt_of_the_heuristics_keeps_the_problems_that_are_finished(monkeypatch: pytest.MonkeyPatch) -> None:
    find = InstanceProblem.find_incumbent

    def interrupted(self: InstanceProblem, options: Options) -> Any:
        if self.name == stop:
            raise KeyboardInterrupt
        return find(self, options)

    monkeypatch.setattr(InstanceProblem, "find_incumbent", interrupted)
    problems, stop = [clustered(12, 2), clustered(14, 2)], "clustered 14"
    made = gap_report(problems, [BigM("zero")], "scip", progress=False)
    assert [cell.instance for cell in made.instances] == ["clustered 12"] and made.meta["interrupted"]
    assert [bool(cell.reason) for cell in (*made.relaxations, *made.exacts)] == [True, True]
    stop = "clustered 12"
    with pytest.raises(KeyboardInterrupt):
        gap_report(problems, [BigM("zero")], "scip", progress=False)
