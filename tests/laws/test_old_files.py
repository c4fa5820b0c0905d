"""Files of the version before answers were typed are still read: results, a store of report cells, a report, proof logs.

``tests/fixtures/before_answers`` holds them, and ``made.py``, which made them with that version.
"""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import numpy as np
import pytest
from fixtures.before_answers.made import Points, models, points

import marginopt as mo
from marginopt.models import HingeSVM, ZeroOneSVM
from marginopt.relaxations import BigM, Conic, GapReport, gap_report
from marginopt.relaxations.report import store as store_module
from marginopt.relaxations.report.cells.exact import ExactCell
from marginopt.relaxations.report.cells.heuristic import InstanceCell
from marginopt.relaxations.report.cells.kappa import KappaCell
from marginopt.relaxations.report.cells.relaxation import RelaxationCell
from marginopt.relaxations.report.store import CellStore
from marginopt.solvers import Status
from marginopt.solvers.records.answer import UpdateKind
from marginopt.solvers.zero_one.check.checker import check_proof

OLD = Path(__file__).parents[1] / "fixtures" / "before_answers"
KINDS = {"instance": InstanceCell, "relaxation": RelaxationCell, "exact": ExactCell, "kappa": KappaCell}


@pytest.mark.parametrize("solver", ["auto-simplex", "maxmin", "clarabel", "scip"])
def test_a_result_is_read_and_its_claims_hold_for_the_model(solver: str) -> None:
    stored = mo.load_result(OLD / f"{solver}.npz")
    assert stored.solver == solver
    assert stored.unverified.startswith("claims as stored")
    model = models()[solver]
    result = mo.load_result(OLD / f"{solver}.npz", model)
    assert not result.unverified
    anew = mo.solve(model, solver)
    assert result.status is anew.status
    if solver == "clarabel":  # κ = 0 on points that no plane separates
        assert result.status is Status.INFEASIBLE
        assert result.answer.farkas is not None
        return
    assert result.objective == pytest.approx(anew.objective, rel=1e-5)
    assert set(result.values) == set(anew.values)
    assert str(result) and result.details


def test_what_stood_among_the_details_has_its_place() -> None:
    result = mo.load_result(OLD / "maxmin.npz")
    assert result.status is Status.STATIONARY
    assert set(result.moved) == {"gamma"}
    assert result.stationarity is not None and result.stationarity <= 1e-3
    assert len(result.history) == result.details["models_trained"]
    assert mo.load_result(OLD / "auto-simplex.npz").details["algorithm"] == "smo with Newton finisher"
    later = mo.load_result(OLD / "path-highs.npz")
    assert later.update is not None and later.update.kind is UpdateKind.UPDATED
    assert later.objective == pytest.approx(mo.solve(HingeSVM(*points(), 2.0), "highs").objective, rel=1e-6)


def test_an_old_result_is_written_and_read_as_a_new_one(tmp_path: Path) -> None:
    old = mo.load_result(OLD / "auto-simplex.npz")
    new = mo.load_result(old.save(tmp_path / "again.npz"))
    assert (new.status, new.objective, new.options, new.summary) == (old.status, old.objective, old.options, old.summary)
    assert {label: np.asarray(v).tolist() for label, v in new.values.items()} == {
        label: np.asarray(v).tolist() for label, v in old.values.items()
    }


def test_every_cell_of_a_store_is_read(tmp_path: Path) -> None:
    store = CellStore(shutil.copy(OLD / "cells.db", tmp_path))
    assert store.counts() == {"instance": 1, "relaxation": 2, "exact": 2, "kappa": 1}
    for kind, cell in KINDS.items():
        for record in store.records(kind):
            read = cell.from_record(record["cell"])
            again = json.loads(json.dumps(read.record()))
            assert {name: again[name] for name in record["cell"]} == record["cell"]  # fields that came later have defaults


def test_a_report_continues_from_an_old_store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Keys are what they were (they hold the version, which is that of the store here); a κ has more to tell since then."""
    monkeypatch.setattr(store_module, "version_of", lambda package: "0.1.0")
    path = tmp_path / "cells.db"
    shutil.copy(OLD / "cells.db", path)
    lines: list[str] = []
    monkeypatch.setattr("marginopt.relaxations.report.progress.Progress.line", lambda self, text: lines.append(text))
    report = gap_report(
        [Points(*points())], [BigM("zero"), Conic()], ["scip", "zero-one-bb"], kappa=[0.2], time_limit=60.0, threads=1, store=path
    )
    assert sum(line.endswith("(stored)") for line in lines) == 5
    assert report.exacts == GapReport.from_json(OLD / "report.json").exacts
    assert CellStore(path).counts() == {"instance": 1, "relaxation": 2, "exact": 2, "kappa": 2}


def test_a_report_is_read_and_rendered() -> None:
    report = GapReport.from_json(OLD / "report.json")
    assert [c.solver for c in report.exacts] == ["scip", "zero-one-bb"]
    assert all(c.proven for c in report.exacts)
    assert "eighths" in report.html() and "eighths" in report.markdown()


@pytest.mark.parametrize("engine", ["boxes", "conflicts"])
def test_a_proof_log_is_checked(engine: str) -> None:
    model = ZeroOneSVM(*points(), lam=1.0)
    report = check_proof(OLD / f"{engine}.proof", model)
    assert report.valid and report.own_data
    assert report.bound == pytest.approx(mo.solve(model, "zero-one-bb").objective, rel=1e-5)
    assert not check_proof(OLD / f"{engine}.proof", ZeroOneSVM(*points(), lam=1.5)).valid
