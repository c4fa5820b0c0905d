"""A part of the attack on questions, paths, limited searches and losses, and what it found first."""

from __future__ import annotations

import tempfile
from dataclasses import replace
from pathlib import Path

import attack_losses
import attack_questions
import numpy as np
import pytest
from effort import trials

import marginopt as mo
from marginopt import questions

pytestmark = pytest.mark.filterwarnings("ignore")


@pytest.mark.parametrize(
    "family", range(len(attack_questions.FAMILIES)), ids=lambda k: str(attack_questions.FAMILIES[k].__name__)
)
def test_answers_state_what_is_so(family: int) -> None:
    count = len(attack_questions.FAMILIES)
    faults = [
        f"{what}: {fault}" for what, fault in map(attack_questions.attack, range(family, trials(1, 20) * count, count)) if fault
    ]
    assert not faults, faults


@pytest.mark.parametrize("family", range(len(attack_losses.FAMILIES)), ids=lambda k: str(attack_losses.FAMILIES[k].__name__))
def test_losses_have_the_bounds_that_are_so(family: int) -> None:
    count = len(attack_losses.FAMILIES)
    faults = [
        f"{what}: {fault}" for what, fault in map(attack_losses.attack, range(family, trials(2, 20) * count, count)) if fault
    ]
    assert not faults, faults


@pytest.fixture(name="integers")
def _integers() -> mo.Margin:
    X = np.column_stack([np.ones(8), np.arange(8.0) % 4, np.arange(8.0) // 2])
    y = np.where(X[:, 1] + X[:, 2] > 2.5, 1.0, -1.0)
    domain = mo.margin.Integers((-4, -2, -2), (4, 2, 2))
    return mo.Margin(X, y, "zero-one", mo.margin.L0(0.5), intercept="free", domain=domain)


def test_no_answer_shows_more_than_its_logs_prove(integers: mo.Margin, tmp_path: Path) -> None:
    """Ranges, signs and rises that no log proves were in the evidence of answers that `check` called valid."""
    ranges = questions.coefficient_ranges(integers, 0.5, proof=tmp_path / "ranges")
    rises = questions.feature_importance(integers, proof=tmp_path / "rises")
    assert ranges.check().valid and rises.check().valid
    evidence, question = ranges.evidence, ranges.question
    lies = [
        replace(ranges, evidence=replace(evidence, lower=evidence.lower + 0.5)),
        replace(ranges, evidence=replace(evidence, upper=evidence.upper - 0.5)),
        replace(ranges, evidence=replace(evidence, names=evidence.names[::-1])),
        replace(ranges, question=replace(question, exclusions=(*question.exclusions, *_both_signs(integers)))),
        replace(rises, evidence=replace(rises.evidence, lower=rises.evidence.lower + 0.5)),
        replace(rises, logs=rises.logs[:1]),
        replace(ranges, logs=tuple(replace(log, sha256="0" * 64) for log in ranges.logs)),
    ]
    assert not any(lie.check().valid for lie in lies)


def _both_signs(model: mo.Margin) -> list[questions.restricted_solves.CoefficientBounds]:
    exclusion = questions.restricted_solves.CoefficientBounds
    return [exclusion.of_coefficient(model.width, 1, lower=0.0), exclusion.of_coefficient(model.width, 1, upper=0.0)]


def test_a_path_without_one_of_its_corners_is_no_path() -> None:
    """Corner, breakpoints and logs left out: what was left was called valid up to a share of 1e-8, off by a factor of three."""
    rng = np.random.default_rng(2)
    X = np.column_stack([np.ones(10), rng.integers(0, 2, 10), rng.normal(size=10).round(1)])
    y = np.where(X[:, 2] + 0.7 * rng.normal(size=10) > 0.0, 1.0, -1.0)
    with tempfile.TemporaryDirectory() as folder:
        whole = mo.path(mo.ZeroOneSVM(X, y, 1.0, intercept="free"), "lam", "all", lam_max=1e4, proof=folder)
        assert whole.check().valid and len(whole) > 2
        left, _, right = whole.corners[:3]
        lam = (right.norm - left.norm) / (left.violations - right.violations)
        corners = (replace(left, lam_high=lam), replace(right, lam_low=lam), *whole.corners[3:])
        shorter = {name: getattr(whole, name)[2:] for name in ("breakpoints", "logs", "digests")}
        lies = [
            replace(whole, corners=corners, **shorter),
            replace(whole, corners=(replace(left, lam_high=2.0 * left.lam_high), *whole.corners[1:])),
            replace(whole, breakpoints=tuple(replace(point, bound=point.value) for point in whole.breakpoints)),
            replace(whole, digests=whole.digests[::-1]),
            replace(whole, **{name: getattr(whole, name)[::-1] for name in ("breakpoints", "logs", "digests")}),
            replace(whole, breakpoints=(replace(whole.breakpoints[0], bound=-np.inf), *whole.breakpoints[1:])),
            replace(whole, lam_max=np.inf),
        ]
        assert not any(lie.check().valid for lie in lies)


def test_a_path_with_costs_that_differ_stands_in_its_own_check(tmp_path: Path) -> None:
    """The sum of its violations is a rational number that no double is."""
    X = np.column_stack([np.ones(6), [0.0, 1.0, 2.0, 3.0, 1.5, 2.5]])
    y = np.array([-1.0, -1.0, 1.0, 1.0, 1.0, -1.0])
    whole = mo.path(mo.ZeroOneSVM(X, y, np.linspace(0.1, 0.7, 6) / 3.0, intercept="free"), "lam", "all", proof=tmp_path)
    assert whole.check().valid, whole.check().message
