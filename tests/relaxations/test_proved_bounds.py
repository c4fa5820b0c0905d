"""A relaxation's fields: what is called proved bounds the optimum of the problem, and what bounds nothing gives no bound."""

from __future__ import annotations

import json
import warnings
from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest
from data import clouds
from effort import part

from marginopt.errors import MarginoptError, MarginoptWarning
from marginopt.models import ConicSVM, Margin, Model, RampSVM, ZeroOneSVM
from marginopt.models.conic_bound import certified_bound
from marginopt.models.deadline import repair_deadline
from marginopt.models.views import ConicProblem
from marginopt.relaxations import (
    BigM,
    Combined,
    Direction,
    ExactCell,
    GapReport,
    Hinge,
    Reduction,
    RelaxationCell,
    gap_report,
    get_relaxation,
    heuristic,
    relax,
    relaxations,
)
from marginopt.solvers import solve


def _plain() -> ZeroOneSVM:
    return ZeroOneSVM(*clouds(3, 8, 2, 0.6, order="halves"), lam=0.7)


#: Problems of each kind with few points; a stated M may be far too small.
MODELS: dict[str, Callable[[ZeroOneSVM], Model]] = {
    "plain": lambda plain: plain,
    "incumbent": lambda plain: replace(plain, upper_bound=heuristic(plain)[1]),
    "half of M": lambda plain: replace(plain, big_m=0.5 * plain.big_m_values),
    "free": lambda plain: replace(plain, intercept="free"),
    "costs": lambda plain: replace(plain, lam=np.linspace(0.2, 2.0, 8)),
    "ramp": lambda plain: RampSVM(plain.X, plain.y, lam=0.7, intercept="penalised"),
    "parts": lambda plain: Margin(plain.X, plain.y, "zero-one", "half-l2", sample_weight=0.7),
}


def _reductions() -> list[Reduction]:
    constants = (("stated", 1.0), ("zero", 0.3), ("incumbent", 0.3), (0.5, 1.0), (2.0, 1.0), (50.0, 1.0))
    free = [kind(M, factor) for kind in (BigM, Hinge, Combined) for M, factor in constants]
    return [*(record.reduction for record in relaxations().values()), *free]


@pytest.mark.parametrize("name", MODELS)
def test_what_is_proved_is_at_most_the_optimum_and_what_bounds_nothing_gives_no_bound(name: str) -> None:
    model = MODELS[name](_plain())
    sound = replace(model, big_m="auto") if isinstance(model, ZeroOneSVM) else model  # M too small states another problem
    optimum = solve(sound, tol=1e-9).objective
    bounding, apart, seen = 0, 0, set[str]()
    for reduction in part(_reductions(), 20, turn=list(MODELS).index(name)):
        if reduction.obstacle(model) or "moments" in reduction.name or "triangles" in reduction.name:
            continue
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", MarginoptWarning)
                relaxed = relax(model, reduction, time_limit=20)
        except MarginoptError:
            continue  # constants that are not there, or a form without a bounded multiple
        label = f"{name}, {reduction.name}"
        if relaxed.caveat:
            apart += 1
            assert relaxed.bound_kind == "none" and relaxed.bound == -np.inf, label
            assert relaxed.lifted is None or relaxed.lifted.value == -np.inf, label
            assert relaxed.target_kind in ("proved", "none"), label
            seen.add(relaxed.target_kind)
            if relaxed.result.multipliers is not None:
                assert reduction.lift_dual(model, relaxed.result.multipliers).value == -np.inf, label
        else:
            bounding += 1
            assert relaxed.bound == max(relaxed.target_bound, 0.0), label
            assert relaxed.bound_kind == ("proved" if relaxed.target_bound < 0.0 else relaxed.target_kind), label
            assert relaxed.bound <= optimum * (1.0 + 1e-12), label
            assert relaxed.lifted is None or relaxed.lifted.value <= optimum * (1.0 + 1e-12), label
    assert bounding >= 3
    assert not isinstance(model, ZeroOneSVM) or (apart >= 1 and "proved" in seen)


@pytest.mark.parametrize("name", ["plain", "ramp"])
def test_a_limit_leaves_a_proved_bound_where_no_part_of_the_objective_is_negative(name: str) -> None:
    model, limited = MODELS[name](_plain()), 0
    for reduction in (record.reduction for record in relaxations().values()):
        if reduction.obstacle(model) or "moments" in reduction.name or "triangles" in reduction.name:
            continue
        try:
            relaxed = relax(model, reduction, time_limit=1e-9)
        except MarginoptError:
            continue  # the limit ended while the target was made, or constants are not there
        if not relaxed.caveat:
            limited += relaxed.bound == 0.0
            assert relaxed.bound >= 0.0 and relaxed.bound_kind == "proved", reduction.name
    assert limited >= 2


def test_a_dual_point_proves_a_bound_whenever_its_search_ends() -> None:
    model = _plain()
    problem = ConicSVM(model.X, model.y, model.lam).view(ConicProblem)
    assert problem is not None
    gamma = np.full(len(model.y), 0.02)
    with repair_deadline(-np.inf):
        ended = certified_bound(problem, gamma)
    assert 0.0 <= ended.value < certified_bound(problem, gamma).value <= solve(model, tol=1e-9).objective


def test_the_hinge_as_it_is_used_bounds_nothing() -> None:
    rng = np.random.default_rng(8)
    Z = np.c_[np.ones(40), rng.normal(size=(40, 3))]
    y = np.where(Z[:, 1] + rng.normal(size=40) > 0, 1.0, -1.0)
    model = ZeroOneSVM(Z, y, lam=0.7)
    relaxed = relax(model, "hinge")
    assert relaxed.bound_kind == "none" and relaxed.bound == -np.inf
    assert relaxed.target_kind == "proved" and relaxed.target_bound == pytest.approx(17.409156917, rel=1e-6)
    assert relaxed.target_bound > solve(model, "zero-one-bb").objective  # what a script would have taken for a bound
    assert relaxed.objective >= 13.079


class _Restricted(BigM):
    """A restriction, as an extension may add one."""

    direction = Direction.INNER


def test_a_restriction_bounds_nothing_from_below() -> None:
    X, y = clouds(0, 12, 2, 0.5, order="halves")
    relaxed = relax(ZeroOneSVM(X, y, lam=1.0), _Restricted("zero"))
    assert relaxed.bound_kind == "none" and relaxed.bound == -np.inf and "restricts" in relaxed.caveat
    assert relaxed.lifted is not None and relaxed.lifted.value == -np.inf


def test_cells_withhold_bounds_with_a_caveat_and_read_older_records() -> None:
    X, y = clouds(3, 12, 2, 0.6, order="halves")
    report = gap_report({"m": ZeroOneSVM(X, y, lam=0.7)}, ["hinge", "conic"], ("zero-one-bb",), progress=False, time_limit=20)
    optimum = report.exacts[0].incumbent
    hinge, conic = report.relaxations
    assert hinge.caveat and hinge.bound is None and hinge.kind == "none" and not hinge.bounds_optimum
    assert hinge.target_kind == "proved" and hinge.target_bound is not None
    assert conic.kind == "proved" and conic.target_bound is None and conic.bound is not None and conic.bound <= optimum
    assert all(c.bound is None or c.bound <= optimum for c in (*report.relaxations, *report.exacts))

    old = {**hinge.record(), "bound": hinge.target_bound, "kind": "proved"}
    del old["target_bound"], old["target_kind"]
    assert RelaxationCell.from_record(json.loads(json.dumps(old))) == hinge
    exact = {**report.exacts[0].record(), "caveat": "M is too small", "bound": 99.0, "kind": "proved", "proven": False}
    cell = ExactCell.from_record(exact)
    assert (cell.bound, cell.kind, cell.target_bound, cell.target_kind) == (None, "none", 99.0, "proved")
    assert GapReport(report.instances, (), (cell,), {}).best[cell.key].low == 0.0
    assert get_relaxation("hinge").reduction == Hinge(1.0)


def test_a_relaxation_without_point_and_bound_prints_words() -> None:
    relaxed = relax(_plain(), BigM("zero"), "clarabel")
    plain = replace(relaxed, values=None, objective=float("nan"))
    unfinished = replace(plain, result=solve(relaxed.target, "clarabel", iteration_limit=1))
    assert "nan" not in str(plain) and "inf" not in str(unfinished)
    assert str(unfinished.result.status) in str(unfinished) or np.isfinite(unfinished.target_bound)
