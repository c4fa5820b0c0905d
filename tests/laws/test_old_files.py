"""Files of the version before answers were typed are still read: results, a store, a report, proof logs, pickled estimators.

``tests/fixtures/before_answers`` holds them, and ``made.py``, which made them with that version.
"""

from __future__ import annotations

import json
import pickle
import shutil
import zipfile
from pathlib import Path

import numpy as np
import pytest
from fixtures.before_answers.made import Points, estimators, models, points

import marginopt as mo
from marginopt.errors import DataError
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


@pytest.mark.parametrize("name", [*estimators(), "MEBOneClass"])
def test_a_pickled_estimator_predicts_what_it_did(name: str, tmp_path: Path) -> None:
    """To the bit where nothing is computed but a product; its problem and result can be shown."""
    with zipfile.ZipFile(OLD / "estimators.zip") as archive:
        path = Path(archive.extract(f"{name}.pickle", tmp_path))
        scores = np.frombuffer(archive.read(f"{name}.scores"), dtype="<f8")
    with pytest.raises((ImportError, AttributeError)):  # its classes have moved
        pickle.loads(path.read_bytes())
    found = mo.load_estimator(path)
    X = points(24)[0][:, 1:]
    np.testing.assert_allclose(found.decision_function(X).ravel(), scores, rtol=1e-12, atol=1e-12)
    labels = found.predict(X)
    assert set(labels) <= {-1.0, 1.0} and np.array_equal(np.sign(scores), np.where(labels > 0, 1.0, -1.0))
    again = mo.load_estimator(_pickled(found, tmp_path / "again.pickle"))
    np.testing.assert_array_equal(again.decision_function(X).ravel(), found.decision_function(X).ravel())
    results = [r for r in np.ravel(np.array(getattr(found, "result_", []), dtype=object)) if r is not None]
    assert results or name == "KernelNPSVC"
    for result in results:
        assert "claims as pickled by an earlier version" in str(result)
        assert result.status is result.answer.status and np.isfinite(result.objective)
    refitted = found.fit(X) if name == "MEBOneClass" else found.fit(X, points(24)[1])  # its parameters are understood
    assert np.array_equal(np.sign(refitted.decision_function(X).ravel()), np.sign(scores))


def _pickled(what: object, path: Path) -> Path:
    path.write_bytes(pickle.dumps(what))
    return path


def test_what_is_no_pickled_estimator_is_refused(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="there is no file"):
        mo.load_estimator(tmp_path / "none.pickle")
    (tmp_path / "text").write_text("no pickle")
    with pytest.raises(DataError, match="cannot be read as an estimator"):
        mo.load_estimator(tmp_path / "text")
    with pytest.raises(DataError, match="holds a dict, and no estimator"):
        mo.load_estimator(_pickled({}, tmp_path / "dict"))
    for module in ("marginopt.solvers.nowhere", "marginopt.nowhere", "nowhere"):
        (tmp_path / "strange").write_bytes(f"c{module}\nNoSuchThing\n.".encode())
        with pytest.raises(DataError, match="cannot be read as an estimator"):
            mo.load_estimator(tmp_path / "strange")
