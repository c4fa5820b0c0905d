"""Results on disk: what is typed comes back typed, and files of the layout before are read."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from facts import at

import marginopt as mo
from marginopt.errors import DataError
from marginopt.solvers.certification.result import Result
from marginopt.solvers.records import Answer, Trace, TraceRow, Update, UpdateKind


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
        optimised_parameters={"gamma": 0.25, "P": np.eye(2)},
        details={"start": "cold"},
    )
    result = Result(
        "m", "s", mo.Status.INFEASIBLE, answer, None, {}, evidence="checked", ray_residual=1e-9, ray_proved=True, picked="s: why"
    )
    back = mo.io.load_result(result.save(tmp_path / "facts"))
    assert back.farkas is not None and back.farkas["apart"].tolist() == [1.0, 2.0]
    assert back.update == answer.update
    assert back.bridges == answer.bridges
    assert back.optimised_parameters["gamma"] == 0.25
    assert np.array_equal(back.optimised_parameters["P"], np.eye(2))
    assert back.history[0]["value"] == 1.0
    for name in ("root_bound", "stationarity", "nodes", "version", "evidence", "ray_residual", "ray_proved", "picked", "claim"):
        assert getattr(back, name) == getattr(result, name), name
    assert back.details.keys() == result.details.keys()
    assert back.unverified and back.status_kind == "as stored, not verified" and result.status_kind == "proved"
    assert str(replace(back, unverified="")) == str(result)


@pytest.mark.parametrize("kind", list(UpdateKind))
def test_updates_read_back_from_their_text(kind: UpdateKind) -> None:
    for update in (Update(kind), Update(kind, "g: and more")):
        assert Update.read(str(update)) == update


def test_another_layout_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "old.npz"
    meta = {"format": "marginopt result", "format_version": 1}
    np.savez_compressed(path, meta=np.frombuffer(json.dumps(meta).encode(), dtype=np.uint8))
    with pytest.raises(DataError, check=at(path)):
        mo.io.load_result(path)
