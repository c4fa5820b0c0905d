"""Cross-validation over every λ against a fine grid; bad input."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import marginopt as mo
from marginopt.questions import select_lam


def instance(seed: int, n: int = 18) -> mo.ZeroOneSVM:
    rng = np.random.default_rng(seed)
    X = np.column_stack([np.ones(n), rng.integers(0, 2, n), 2.0 + rng.normal(size=n).round(1)])
    y = np.where(X[:, 2] + 0.7 * rng.normal(size=n) > 2.0, 1.0, -1.0)
    y[:4] = 1.0, -1.0, 1.0, -1.0
    X[:4, 1] = 0.0, 0.0, 1.0, 1.0
    return mo.ZeroOneSVM(X, y, 1.0, intercept="free")


def test_equals_a_grid_of_exact_solves() -> None:
    model = instance(0)
    folds = [(np.arange(6, 18), np.arange(6)), (np.concatenate([np.arange(4), np.arange(12, 18)]), np.arange(4, 12))]
    chosen = select_lam(model, folds, lam_max=1e4)
    assert chosen.proved
    assert chosen.ends[0] == 0.0 and chosen.ends[-1] == 1e4
    for k, lam in enumerate(np.sqrt(np.maximum(chosen.ends[:-1], 0.1 * chosen.ends[1]) * chosen.ends[1:])):
        for f, (train, _) in enumerate(folds):
            part = mo.ZeroOneSVM(model.X[train], model.y[train], float(lam), intercept="free")
            result = mo.solve(part, "zero-one-bb", tol=1e-8)
            assert chosen.folds[f].at(float(lam)).objective == pytest.approx(result.objective, rel=1e-6)
        assert chosen.errors[k].sum() >= chosen.errors.sum(axis=1).min()
    piece = int(np.searchsorted(chosen.ends, chosen.lam)) - 1
    assert chosen.rate[piece] == chosen.rate.min()
    assert chosen.w == pytest.approx(chosen.path.at(chosen.lam).w)


def test_logs_prove_the_choice(tmp_path: Path) -> None:
    chosen = select_lam(instance(1), 2, lam_max=1e3, proof=tmp_path)
    assert chosen.check().valid
    assert all(mo.check_proof(log, chosen).valid for path in chosen.folds for log in path.logs)
    assert all(digest[:16] in chosen.sentence for path in chosen.folds for digest in path.digests)
    fewer = chosen.errors - (chosen.errors > 0)
    other = mo.ZeroOneSVM(chosen.path.model.X, -chosen.path.model.y, 1.0, intercept="free")
    assert not replace(chosen, errors=fewer).check().valid
    assert not replace(chosen, splits=chosen.splits[::-1]).check().valid
    assert len(chosen.ends) > 2
    assert not replace(chosen, ends=chosen.ends[[0, -1]], errors=chosen.errors[-1:]).check().valid  # pieces are left out
    assert not replace(chosen, lam=1.5 * chosen.lam).check().valid
    assert not replace(chosen, folds=tuple(replace(path, proved=False) for path in chosen.folds)).check().valid
    assert not replace(chosen, path=replace(chosen.path, model=other)).check().valid
    assert not select_lam(instance(1), 2, lam_max=1e3).check().valid  # nothing for others to check


def test_stratified_folds_repeat() -> None:
    first, second = (select_lam(instance(1), 2, lam_max=1e3, seed=3) for _ in range(2))
    assert first.lam == second.lam
    assert len(first.folds) == 2
    assert len(first.records()) == len(first.rate)


@pytest.mark.parametrize(
    "folds", [1, 0, 99, [], "ten", [(np.arange(3), np.array([], dtype=int))], [(np.array([0, 2]), [1])], [([0, 1], [99])]]
)
def test_bad_folds(folds: Any) -> None:
    with pytest.raises(mo.errors.InputError):
        select_lam(instance(2), folds)


def test_bad_models() -> None:
    model = instance(3)
    with pytest.raises(mo.errors.UnsupportedModelError):
        select_lam(mo.ZeroOneSVM(model.X, model.y, kappa=0.2))


def test_picture() -> None:
    pytest.importorskip("matplotlib").use("Agg")
    assert select_lam(instance(1), 2, lam_max=1e3).plot().get_xscale() == "log"
