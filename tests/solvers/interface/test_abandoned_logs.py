"""A run that an error ends leaves nothing behind: no log at its path, no part of one, no open file."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import marginopt as mo

pytestmark = pytest.mark.filterwarnings("ignore::marginopt.errors.MarginoptWarning")

_RNG = np.random.default_rng(0)
_N = 60
_X = np.column_stack([np.ones(_N), _RNG.normal(size=(_N, 3))])
_Y = np.where(_X[:, 1] + 2.0 * _RNG.normal(size=_N) > 0.0, 1.0, -1.0)
_BINARY = np.column_stack([np.ones(_N), _RNG.integers(0, 2, (_N, 4)).astype(np.float64)])
_WIDE = np.column_stack([np.ones(_N), _RNG.normal(size=(_N, 8))])


class CallbackError(Exception):
    """The error that the user's callback raises."""


@pytest.mark.parametrize("calls", [1, 2])
@pytest.mark.parametrize(
    ("model", "solver", "options"),
    [
        (mo.ZeroOneSVM(_X, _Y, lam=1.0), "zero-one-bb", {"engine": "boxes"}),
        (mo.ZeroOneSVM(_X, _Y, lam=1.0), "zero-one-bb", {"engine": "conflicts"}),
        (mo.RampSVM(_X, _Y, lam=1.0), "margin-bb", {}),
        (mo.Margin(_X, _Y, mo.margin.Ramp(2, 2), "l1"), "ramp-bb", {}),
        (mo.ScoringSystem(_BINARY, _Y), "supports-bb", {}),
        (mo.ScoringSystem(_BINARY, _Y, loss="logistic"), "risk-bb", {}),
        (mo.Margin(_WIDE, _Y, "hinge", subject_to=(mo.at_most(2).nonzero,)), "sparse-bb", {}),
    ],
    ids=["boxes", "conflicts", "margin", "ramp", "supports", "risk", "sparse"],
)
def test_an_error_of_the_callback_leaves_no_file(
    model: mo.Model, solver: str, options: dict[str, Any], calls: int, tmp_path: Path
) -> None:
    rows: list[object] = []

    def callback(row: object) -> None:
        rows.append(row)
        if len(rows) == calls:
            raise CallbackError

    with pytest.raises(CallbackError) as held:
        mo.solve(model, solver, proof=str(tmp_path / "log.jsonl"), callback=callback, **options)
    assert held.traceback and list(tmp_path.iterdir()) == []  # while the error, and with it the run's state, is held
