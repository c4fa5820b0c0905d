"""Results on disk: what is typed comes back typed, and files of the layout before are read."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import marginopt as mo
from marginopt.solvers.judging.certificate import Certificate
from marginopt.solvers.judging.result import Result
from marginopt.solvers.records.answer import Answer, Update, UpdateKind
from marginopt.solvers.records.trace import Trace, TraceRow


def test_every_fact_of_an_answer_comes_back(tmp_path: Path) -> None:
    answer = Answer(
        mo.Status.INFEASIBLE,
        "so it says",
        farkas={"apart": np.array([1.0, 2.0])},
        root_bound=0.5,
        stationarity=1e-4,
        nodes=3,
        trace=Trace((TraceRow(1, 0.1, 2.0, 1.0, step="node"),)),
        history=({"gamma": (0.5,), "value": 1.0},),
        version="1.2",
        bridges=("RotatedBridge",),
        update=Update(UpdateKind.REBUILT, "other options"),
        polished="by hand",
        moved={"gamma": 0.25, "P": np.eye(2)},
        details={"start": "cold"},
    )
    result = Result("m", "s", mo.Status.INFEASIBLE, answer, None, {}, evidence="checked", ray_residual=1e-9, picked="s: why")
    back = mo.load_result(result.save(tmp_path / "facts"))
    assert back.farkas is not None and back.farkas["apart"].tolist() == [1.0, 2.0]
    assert back.update == answer.update
    assert back.bridges == answer.bridges
    assert back.moved["gamma"] == 0.25
    assert np.array_equal(back.moved["P"], np.eye(2))
    assert back.history[0]["value"] == 1.0
    for name in ("root_bound", "stationarity", "nodes", "version", "evidence", "ray_residual", "picked", "claim"):
        assert getattr(back, name) == getattr(result, name), name
    assert back.details.keys() == result.details.keys()
    assert "not verified" in str(back)
    assert str(replace(back, unverified="")) == str(result)


@pytest.mark.parametrize("kind", list(UpdateKind))
def test_updates_read_back_from_their_text(kind: UpdateKind) -> None:
    for update in (Update(kind), Update(kind, "g: and more")):
        assert Update.read(str(update)) == update


def _layout_1(path: Path, details: dict[str, object], status: str = "OPTIMAL") -> Path:
    """A file as the version before wrote it: claim and counts beside the model, what mattered among the details."""
    certificate = Certificate(1.0, 0.0, {"c": 0.0}, bound=0.5, argument="because")
    meta = {
        "format": "marginopt result", "format_version": 1, "model": "m", "solver": "s", "version": "0.9", "nodes": 7,
        "iterations": 11, "build_seconds": 0.1, "solve_seconds": 0.2, "licence": "none needed", "maximise": True,
        "status": status,
        "claim": {"status": status, "native_status": "Solved", "objective": 1.0, "bound": 1.0, "proved": True},
        "certificate": vars(certificate), "options": {"seed": 0}, "summary": {"margin": 2.0}, "details": details,
        "steps": ["pair"], "parts": ["values", "multipliers", "reduced"],
    }  # fmt: skip
    arrays = {f"trace/{name}": np.ones(1) for name in ("iteration", "seconds", "objective", "bound", "active", "columns")}
    arrays |= {"values/a": np.arange(3.0), "multipliers/sum": np.ones(1), "reduced/a": np.zeros(3)}
    np.savez_compressed(path, meta=np.frombuffer(json.dumps(meta).encode(), dtype=np.uint8), **arrays)
    return path


def test_the_layout_before_is_read(tmp_path: Path) -> None:
    details = {
        "update": "updated in place: g",
        "bridges": ["BoundsToRows"],
        "picked": "s: why",
        "root_bound": 0.25,
        "start": "cold",
    }
    result = mo.load_result(_layout_1(tmp_path / "old.npz", details))
    assert result.update == Update(UpdateKind.UPDATED, "g")
    assert (result.bridges, result.picked, result.root_bound) == (("BoundsToRows",), "s: why", 0.25)
    assert (result.nodes, result.iterations, result.version, result.bound_kind) == (
        7, 11, "0.9", "as stored, not verified"
    )  # fmt: skip
    assert (result.objective, result.bound) == (-1.0, -1.0)
    assert result.values["a"].tolist() == [0.0, 1.0, 2.0]
    assert result.multipliers is not None and result.reduced is not None
    assert result.details == details


def test_rays_and_moved_parameters_of_the_layout_before(tmp_path: Path) -> None:
    ray = {"farkas": {"apart": [1.0, 2.0]}, "farkas_residual": 1e-9, "evidence": "checked"}
    result = mo.load_result(_layout_1(tmp_path / "ray.npz", ray, "INFEASIBLE"))
    assert result.farkas is not None and result.farkas["apart"].tolist() == [1.0, 2.0]
    assert (result.evidence, result.ray_residual) == ("checked", 1e-9)
    moved = {"gamma": 0.5, "stationarity": 1e-4, "models_trained": 1, "steps": [{"gamma": [0.5]}]}
    result = mo.load_result(_layout_1(tmp_path / "moved.npz", moved))
    assert (result.moved, result.stationarity, len(result.history)) == ({"gamma": 0.5}, 1e-4, 1)
