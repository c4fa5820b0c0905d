"""A stored result that was edited is read, or refused by an error of ours, whatever was edited."""

from __future__ import annotations

import copy
import json
import random
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from data import clouds
from effort import trials

import marginopt as mo
from marginopt.errors import MarginoptError

#: Of every kind that JSON has, within and beyond what a field may hold.
VALUES: list[Any] = [
    None, True, 0, -1, 10**400, 2**70, 1e308, float("nan"), float("-inf"), "", "OPTIMAL", [], [1], [[]], {}, {"a": 1},
]  # fmt: skip


def _places(value: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    inner = value.items() if isinstance(value, dict) else enumerate(value[:3]) if isinstance(value, list) else ()
    return [path, *(place for key, part in inner for place in _places(part, (*path, key)))]


def _edited(meta: dict[str, Any], place: tuple[Any, ...], value: Any) -> dict[str, Any]:
    changed = copy.deepcopy(meta)
    part: Any = changed
    for key in place[:-1]:
        part = part[key]
    part[place[-1]] = value
    return changed


def _models() -> list[tuple[mo.Model, str]]:
    X, y = clouds(0, 9, 2, 0.6, order="halves")
    return [
        (mo.HingeSVM(X, y, lam=1.0), "clarabel"),
        (mo.ZeroOneSVM(X, y, lam=0.5), "zero-one-bb"),
        (mo.ChebyshevNPSVC(X[:, 1:], np.arange(9) % 2, kernel=mo.RBF(0.3)), "kernel-npsvcpp"),
    ]


@pytest.mark.parametrize("number", range(trials(2, 3)))
def test_edits_are_read_or_refused_by_our_errors(number: int, tmp_path: Path) -> None:
    model, solver = _models()[number]
    whole, edited = tmp_path / "whole.npz", tmp_path / "edited.npz"
    mo.solve(model, solver, iteration_limit=20).save(whole)
    with np.load(whole) as file:
        arrays = {name: file[name] for name in file.files}
    meta = json.loads(bytes(arrays["meta"]).decode())
    places = _places(meta)[1:]
    rng, refused, read = random.Random(number), 0, 0
    for place in [
        ("answer", "build_seconds"),
        ("certificate", "objective"),
        *rng.sample(places, min(len(places), trials(8, 25))),
    ]:
        if place[0] == "certificate" and meta["certificate"] is None:
            continue
        for value in [*rng.sample(VALUES, 4), None, 10**400]:
            arrays["meta"] = np.frombuffer(json.dumps(_edited(meta, place, value)).encode(), dtype=np.uint8)
            np.savez(edited, **arrays)
            for problem in (None, model):
                try:
                    result = mo.io.load_result(edited, problem)
                except MarginoptError:
                    refused += 1
                    continue
                read += 1
                assert isinstance(str(result), str) and isinstance(result.gap, float) and result.bound_kind
    assert refused >= 20 and read >= 20
