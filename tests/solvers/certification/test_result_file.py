"""Results on disk: what is typed comes back typed, and files of the layout before are read."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from facts import at

import marginopt as mo
from marginopt.errors import DataError
from marginopt.solvers import Comparison, SolutionPath
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


def _rewritten(path: Path, member: str, change: Callable[[str], str]) -> None:
    """Change the text of one record of a file."""
    with np.load(path) as file:
        arrays = {name: file[name] for name in file.files}
    text = change(bytes(arrays[member]).decode())
    np.savez_compressed(path, **arrays | {member: np.frombuffer(text.encode(), dtype=np.uint8)})


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ('"rows": [', '"ranks": ['), ('"solver": "clarabel"', '"solver": 1'), ('"rows": [{', '"rows": [{}, {'),
        ('"count": 2', '"count": 1000000000'), ('"held": [0, 1]', '"held": [0, 7]'), ('"model": ', '"model": [], "other": '),
        ('"count": 2', '"count": 2, "count": 2'), ('"parameter": "lam"', '"parameter": 3'),
        ('"values": [1.0, 2.0]', '"values": []'), ('"seconds": ', '"seconds": "x", "s": '), ('"held": [0, 1]', '"held": [0]'),
    ],
)  # fmt: skip
def test_tables_whose_header_was_edited_are_refused(old: str, new: str, tmp_path: Path) -> None:
    """KeyError, TypeError and ValueError came out of them."""
    model = mo.HingeSVM([[1.0, 0.0], [1.0, 1.0], [1.0, 2.0]], [1, -1, -1])
    table = mo.compare(model, ["clarabel", "highs"]).save(tmp_path / "table.npz")
    path = mo.path(model, "lam", [1.0, 2.0], solver="highs").save(tmp_path / "path.npz")
    tried = 0
    for file, load in ((table, Comparison.load), (path, SolutionPath.load)):
        with np.load(file) as stored:
            tried += (is_there := old in bytes(stored["meta"]).decode())
        if is_there and not (file is table and new == '"held": [0]'):  # a solver that did not run
            _rewritten(file, "meta", lambda text: text.replace(old, new, 1))
            for own in (None, model):
                with pytest.raises(DataError, check=at(file)):
                    load(file, own)
    assert tried


def test_texts_of_a_file_are_nothing_that_a_terminal_obeys(tmp_path: Path) -> None:
    """A line of a forged objective stood among the true ones."""
    model = mo.HingeSVM([[1.0, 0.0], [1.0, 1.0], [1.0, 2.0]], [1, -1, -1])
    path = mo.solve(model, "highs").save(tmp_path / "r.npz")
    forged = json.dumps("x\n  objective 5   bound 5 (proved)\x1b[2K")
    _rewritten(path, "meta", lambda text: text.replace('"native_status": ', f'"native_status": {forged}, "other": ', 1))
    for own in (None, model):
        text = str(mo.io.load_result(path, own))
        assert "objective 5" in text and "\n  objective 5" not in text and "\x1b" not in text
    _rewritten(path, "meta", lambda text: text.replace('"native_status": ', '"native_status": "", "native_status": ', 1))
    with pytest.raises(DataError, check=at(path)):
        mo.io.load_result(path)
