"""Files of an earlier version: results, a report and proof logs are read, a store and a pickled estimator are refused.

``tests/fixtures/commit_52250251`` holds them, and ``made.py``, which made them with that commit.
"""

from __future__ import annotations

import pickle
import shutil
from pathlib import Path

import numpy as np
import pytest
from facts import at
from fixtures.commit_52250251.made import models, points, ramp

import marginopt as mo
from marginopt.errors import DataError
from marginopt.models import HingeSVM, ZeroOneSVM
from marginopt.relaxations import GapReport
from marginopt.relaxations.report.cells import ExactCell, InstanceCell, KappaCell, RelaxationCell
from marginopt.relaxations.report.runner import CellStore
from marginopt.solvers import Status
from marginopt.solvers.proofs import check_proof
from marginopt.solvers.records import UpdateKind

OLD = Path(__file__).parents[1] / "fixtures" / "commit_52250251"
KINDS = {"instance": InstanceCell, "relaxation": RelaxationCell, "exact": ExactCell, "kappa": KappaCell}


@pytest.mark.parametrize("solver", ["auto-simplex", "maxmin", "clarabel", "scip"])
def test_a_result_is_read_and_its_claims_hold_for_the_model(solver: str) -> None:
    stored = mo.io.load_result(OLD / f"{solver}.npz")
    assert stored.solver == solver
    assert stored.unverified.startswith("claims as stored")
    model = models()[solver]
    result = mo.io.load_result(OLD / f"{solver}.npz", model)
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
    result = mo.io.load_result(OLD / "maxmin.npz")
    assert result.status is Status.STATIONARY
    assert set(result.optimised_parameters) == {"gamma"}
    assert result.stationarity is not None and result.stationarity <= 1e-3
    assert len(result.history) == result.details["models_trained"]
    assert mo.io.load_result(OLD / "auto-simplex.npz").details["algorithm"] == "smo with Newton finisher"
    later = mo.io.load_result(OLD / "path-highs.npz")
    assert later.update is not None and later.update.kind is UpdateKind.UPDATED
    assert later.objective == pytest.approx(mo.solve(HingeSVM(*points(), 2.0), "highs").objective, rel=1e-6)


def test_an_old_result_is_written_and_read_as_a_new_one(tmp_path: Path) -> None:
    old = mo.io.load_result(OLD / "auto-simplex.npz")
    new = mo.io.load_result(old.save(tmp_path / "again.npz"))
    assert (new.status, new.objective, new.options, new.summary) == (old.status, old.objective, old.options, old.summary)
    assert {label: np.asarray(v).tolist() for label, v in new.values.items()} == {
        label: np.asarray(v).tolist() for label, v in old.values.items()
    }


def test_a_store_of_an_earlier_layout_is_refused(tmp_path: Path) -> None:
    with pytest.raises(DataError, check=at("cells.db")):
        CellStore(shutil.copy(OLD / "cells.db", tmp_path))


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


def test_a_log_of_a_composition_is_checked() -> None:
    report = mo.check_proof(OLD / "margin.proof", ramp())
    assert report.valid and report.own_data
    assert report.bound == pytest.approx(mo.solve(ramp(), "margin-bb").objective, rel=1e-5)


def test_an_estimator_of_an_earlier_layout_is_refused() -> None:
    with pytest.raises(DataError, check=at("estimator.pickle")):
        mo.io.load_estimator(OLD / "estimator.pickle")


def _pickled(what: object, path: Path) -> Path:
    path.write_bytes(pickle.dumps(what))
    return path


def test_what_is_no_pickled_estimator_is_refused(tmp_path: Path) -> None:
    with pytest.raises(DataError, check=at("none.pickle")):
        mo.io.load_estimator(tmp_path / "none.pickle")
    (tmp_path / "text").write_text("no pickle")
    with pytest.raises(DataError, check=at("text")):
        mo.io.load_estimator(tmp_path / "text")
    with pytest.raises(DataError, check=at("dict")):
        mo.io.load_estimator(_pickled({}, tmp_path / "dict"))
    for module in ("marginopt.solvers.nowhere", "marginopt.nowhere", "nowhere"):
        (tmp_path / "strange").write_bytes(f"c{module}\nNoSuchThing\n.".encode())
        with pytest.raises(DataError, check=at("strange")):
            mo.io.load_estimator(tmp_path / "strange")
