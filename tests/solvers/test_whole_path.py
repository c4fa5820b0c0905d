"""The whole path over λ against enumeration, its bounds, its logs, and bad input."""

from __future__ import annotations

import gzip
import itertools
import json
import math
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from oracles import COUNT, enumerated

import marginopt as mo
from marginopt.solvers.whole_path import WholePath


def instance(seed: int, n: int = 8, p: int = 2, free: bool = True) -> mo.ZeroOneSVM:
    """Rounded points with duplicates, noisy labels, both classes, an offset column."""
    rng = np.random.default_rng(seed)
    X = np.column_stack([rng.integers(0, 2, n), 3.0 + rng.normal(size=(n, p - 1)).round(1)]).astype(float)
    X[0, 0], X[1, 0] = 0.0, 1.0
    X[-1] = X[0]
    y = np.where(X[:, 1] + 0.7 * rng.normal(size=n) > 3.0, 1.0, -1.0)
    y[:2] = 1.0, -1.0
    return mo.ZeroOneSVM(np.column_stack([np.ones(n), X]), y, 1.0, intercept="free" if free else "penalised")


@pytest.mark.parametrize("seed", range(COUNT))
def test_equals_enumeration(seed: int) -> None:
    model = instance(seed, n=6 + seed % 9, free=seed % 2 == 0)
    whole = mo.path(model, "lam", "all", lam_max=1e4)
    assert isinstance(whole, WholePath)
    assert whole.proved
    for lam in 10.0 ** np.random.default_rng(seed).uniform(-2.0, 4.0, 4):
        assert whole.at(lam).objective == pytest.approx(enumerated(replace(model, lam=lam)), rel=1e-5)


def test_equals_a_grid_of_exact_solves() -> None:
    model = instance(11, n=24, p=3)
    whole = mo.path(model, "lam", "all")
    for lam in np.geomspace(0.05, 300.0, 12):
        result = mo.solve(whole.model.replace("lam", lam), "zero-one-bb", tol=1e-8)
        assert whole.at(lam).objective == pytest.approx(result.objective, rel=1e-6)
        assert whole.at(lam).bound <= result.objective


def test_corners_are_a_convex_staircase() -> None:
    whole = mo.path(instance(3, n=20, p=3), "lam", "all")
    corners = list(whole)
    assert [corner.lam_high for corner in corners[:-1]] == [corner.lam_low for corner in corners[1:]]
    assert all(a.violations > b.violations and a.norm < b.norm for a, b in itertools.pairwise(corners))
    assert all(a.lam_low < a.lam_high for a in corners)
    assert corners[0].norm == 0.0 and corners[0].lam_low == 0.0
    for corner in corners:
        assert (whole.model.margins(corner.w) < 1.0).sum() == corner.violations
        assert len(whole.to_frame()) == len(whole)


def test_costs_that_differ_are_multiplied() -> None:
    model = instance(5, n=16)
    costs = np.where(model.y > 0, 2.0, 1.0)
    whole = mo.path(mo.ZeroOneSVM(model.X, model.y, costs, intercept="free"), "lam", "all", lam_max=1e4)
    for lam in (0.2, 1.0, 7.0):
        result = mo.solve(mo.ZeroOneSVM(model.X, model.y, lam * costs, intercept="free"), "zero-one-bb", tol=1e-8)
        assert whole.at(lam).objective == pytest.approx(result.objective, rel=1e-6)
    with pytest.raises(mo.errors.UnsupportedModelError):
        whole.solve_between_corners()


def test_points_between_corners_are_above_the_lines() -> None:
    whole = mo.path(instance(0, n=18, p=3), "lam", "all", lam_max=1e4)
    for result in whole.solve_between_corners():
        count = float(result.values["z"].sum())
        for point in whole.breakpoints:
            assert result.objective + point.lam * count >= point.bound * (1 - 1e-9)


def test_logs_are_checked_from_the_data(tmp_path: Path) -> None:
    whole = mo.path(instance(2, n=10), "lam", "all", lam_max=1e4, proof=tmp_path / "logs")
    assert all(mo.check_proof(log, whole).valid for log in whole.logs)
    assert all(digest[:16] in whole.sentence for digest in whole.digests)
    report = whole.check()
    assert report.valid and report.ratio == pytest.approx(1.0, abs=1e-6)
    forged_corner = replace(whole.corners[-1], violations=whole.corners[-1].violations - 1.0)
    assert not replace(whole, corners=(*whole.corners[:-1], forged_corner)).check().valid
    assert not replace(whole, logs=whole.logs[:-1]).check().valid
    assert not replace(whole, logs=whole.logs[::-1]).check().valid
    other = mo.ZeroOneSVM(whole.model.X, -whole.model.y, 1.0, intercept="free")
    assert not replace(whole, model=other).check().valid
    lines = gzip.decompress(Path(whole.logs[0]).read_bytes()).decode().splitlines()
    claim = json.loads(lines[-2])
    claim["bound"] *= 1.01
    with gzip.open(whole.logs[0], "wt") as file:
        file.write("\n".join([*lines[:-2], json.dumps(claim), lines[-1]]) + "\n")
    assert not whole.check().valid


@pytest.mark.parametrize("seed", [2, 3])
def test_a_path_without_its_trivial_classifier_is_refused(seed: int, tmp_path: Path) -> None:
    """Near λ = 0 any other classifier is worse by any factor, however little the forged path states of its bounds."""
    whole = mo.path(instance(seed, n=10), "lam", "all", lam_max=1e3, proof=tmp_path)
    assert whole.check().valid and len(whole) > 1
    first = replace(whole.corners[1], lam_low=0.0, proved_ratio=0.1)
    weaker = replace(whole.breakpoints[0], bound=0.1 * whole.breakpoints[0].value)
    corners, breakpoints = (first, *whole.corners[2:]), (weaker, *whole.breakpoints[1:])
    lie = replace(whole, corners=corners, breakpoints=breakpoints, proved=False)
    point = lie.at(1e-6 * weaker.lam)
    assert whole.at(point.lam).objective < 0.1 * point.objective
    assert not lie.check().valid


def test_the_numbers_of_the_sentence_are_rounded_to_the_proved_side() -> None:
    whole = mo.path(instance(2, n=10), "lam", "all", lam_max=1234.56)
    assert "(0, 1234]" in whole.sentence
    stated = float(whole.sentence.split("share ")[1].split(":")[0])
    assert stated >= max(1.0 - point.bound / point.value for point in whole.breakpoints)


def test_a_search_that_is_cut_off_says_so() -> None:
    whole = mo.path(instance(1, n=40, p=4), "lam", "all", time_limit=1e-9)
    assert not whole.proved
    assert whole.at(1.0).bound <= whole.at(1.0).objective


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("limit", [{"node_limit": 3}, {"callback": lambda row: row.iteration > 2}])
def test_corners_of_unfinished_solves_are_a_staircase(seed: int, limit: dict[str, object]) -> None:
    """A solve that stops early may give a classifier that another one dominates."""
    model = instance(seed, n=40, p=5)
    whole = mo.path(model, "lam", "all", **limit)
    corners, finished = list(whole), mo.path(model, "lam", "all", lam_max=1e3, tol=1e-6)
    assert not whole.proved
    assert corners[0].lam_low == 0.0
    assert all(a.lam_high == b.lam_low for a, b in itertools.pairwise(corners))
    assert all(corner.lam_low < corner.lam_high for corner in corners)
    for lam in np.geomspace(0.01, 100.0, 9):
        assert whole.at(lam).objective == min(corner.norm + lam * corner.violations for corner in corners)
        assert whole.at(lam).bound <= finished.at(lam).objective * (1.0 + 1e-6)


def test_an_interrupted_solve_ends_the_path() -> None:
    whole = mo.path(instance(1, n=40, p=5), "lam", "all", callback=lambda row: True)
    assert whole.solves == 1 and not whole.proved


def test_one_corner_where_no_classifier_beats_the_trivial_one() -> None:
    X = np.column_stack([np.ones(4), np.zeros(4)])
    whole = mo.path(mo.ZeroOneSVM(X, np.array([1.0, 1.0, 1.0, -1.0]), 1.0, intercept="free"), "lam", "all")
    assert len(whole) == 1 and whole.proved
    assert whole.corners[0].violations == 1.0


@pytest.mark.parametrize(
    "options", [{"lam_max": -1.0}, {"lam_max": math.nan}, {"tol": 0.0}, {"tol": 0.5}, {"time_limit": -3.0}, {"solver": "scip"}]
)
def test_bad_options(options: dict[str, object]) -> None:
    with pytest.raises(mo.errors.InputError):
        mo.path(instance(0), "lam", "all", **options)


def test_bad_requests() -> None:
    model = instance(0)
    with pytest.raises(mo.errors.InputError):
        mo.path(model, "lam", "every")  # type: ignore[call-overload]
    with pytest.raises(mo.errors.InputError):
        mo.path(model, "kappa", "all")
    with pytest.raises(mo.errors.UnsupportedModelError):
        mo.path(mo.HingeSVM(model.X, model.y, 1.0), "lam", "all")
    with pytest.raises(mo.errors.UnsupportedModelError):
        mo.path(mo.ZeroOneSVM(model.X, model.y, kappa=0.2), "lam", "all")
    with pytest.raises(mo.errors.InputError):
        mo.path(model, "lam", "all").at(-1.0)


def test_picture() -> None:
    pytest.importorskip("matplotlib").use("Agg")
    whole = mo.path(instance(2, n=12), "lam", "all", lam_max=1e4)
    assert whole.plot().get_xscale() == "log"
