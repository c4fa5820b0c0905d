"""Questions whose solves are independent give one answer, however many solves run at a time."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import marginopt as mo
from marginopt.errors import InputError
from marginopt.questions import coefficient_ranges, feature_importance, select_lam, supports


def _data() -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(4)
    X = np.column_stack([np.ones(14), rng.normal(size=(14, 2))])
    return X, np.where(X[:, 1] + 0.5 * rng.normal(size=14) > 0.0, 1.0, -1.0)


X, y = _data()
MODEL = mo.ZeroOneSVM(X, y, 3.0, intercept="free")
INTEGER = mo.Margin(X, y, "zero-one", mo.margin.L0(0.5), intercept="free", domain=mo.margin.Integers((-6, -2, -2), (6, 2, 2)))

QUESTIONS: dict[str, Callable[..., Any]] = {
    "ranges": lambda **options: coefficient_ranges(MODEL, 0.1, **options),
    "supports": lambda **options: supports(INTEGER, 0.2, **options),
    "importance": lambda **options: feature_importance(MODEL, **options),
}


@pytest.mark.parametrize("name", QUESTIONS)
def test_an_answer_is_that_of_one_job(name: str, tmp_path: Path) -> None:
    one, two = (QUESTIONS[name](jobs=jobs, proof=tmp_path / f"jobs-{jobs}") for jobs in (1, 2))
    assert (one.value, one.bound, one.proved) == (two.value, two.bound, two.proved)
    for field, value in vars(one.evidence).items():
        other = getattr(two.evidence, field)
        assert np.array_equal(value, other) if isinstance(value, np.ndarray) else value == other
    assert two.check().valid and len({log.path for log in two.logs}) == len(two.logs) >= 1


def test_lam_is_that_of_one_job() -> None:
    one, two = (select_lam(MODEL, 2, lam_max=10.0, jobs=jobs) for jobs in (1, 2))
    assert one.lam == two.lam and one.sentence == two.sentence
    assert np.array_equal(one.ends, two.ends) and np.array_equal(one.errors, two.errors)


def test_no_jobs_are_refused() -> None:
    for ask in (*QUESTIONS.values(), lambda **options: select_lam(MODEL, 2, lam_max=10.0, **options)):
        with pytest.raises(InputError) as refused:
            ask(jobs=0)
        assert refused.value.name == "jobs"
