"""Relaxations as records: found by a scan, registered in a session, refused where they do not read a model."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import TypeAlias

import numpy as np
import pytest
from data import clouds
from facts import about

import marginopt as mo
from marginopt import register
from marginopt.errors import InputError, UnsupportedModelError
from marginopt.models import ConicSVM, Model, RampSVM, ZeroOneSVM
from marginopt.relaxations import (
    BigM,
    Conic,
    Direction,
    Hinge,
    KernelConic,
    Perspective,
    Relaxation,
    RelaxationResult,
    default_relaxations,
    gap_report,
    get_relaxation,
    registry,
    relax,
    relaxations,
)
from marginopt.solvers import solve


def data(seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    return clouds(seed, 12, 2, 0.5, order="halves")


@dataclass(frozen=True)
class Drawn:
    X: np.ndarray
    y: np.ndarray
    name: str = "drawn"
    source: str = "drawn in the test"


@pytest.fixture
def session() -> Iterator[None]:
    """Registrations of a test end with it."""
    before = set(registry.EXTENSIONS.names)
    yield
    for name in set(registry.EXTENSIONS.names) - before:
        registry.EXTENSIONS.remove(name)


def _models() -> tuple[Model, ...]:
    X, y = data()
    few = [0, 1, 6, 7]  # moments are for a few variables
    costs, budget = ZeroOneSVM(X, y, lam=1.0, upper_bound=9.0), ZeroOneSVM(X, y, kappa=0.3)
    return costs, budget, ZeroOneSVM(X[few], y[few], lam=1.0), RampSVM(X, y, lam=1.0)


MODELS = _models()
#: What each record gives on the first model that it reads, and the names in the order in which targets were built.
Solved: TypeAlias = tuple[dict[str, RelaxationResult], list[str]]


@pytest.fixture(scope="module")
def solved() -> Solved:
    values: dict[str, RelaxationResult] = {}
    built: list[str] = []
    for record in relaxations().values():
        model = next(model for model in MODELS if not record.reduction.obstacle(model))
        kind = type(record.reduction)
        original = kind.apply
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(kind, "apply", lambda self, m, f=original, name=record.name: built.append(name) or f(self, m))
            values[record.name] = relax(model, record.reduction)
    return values, built


def test_every_record_is_whole_and_its_bound_is_one(solved: Solved) -> None:
    table = relaxations()
    assert str(mo.relaxations()) == str(table)  # type: ignore[operator]
    assert len(table) >= 10 and [r.name for r in table.values()] == list(table)
    assert len({r.reduction.name for r in table.values()}) == len(table)
    models, budget = MODELS, MODELS[1]
    optima = [solve(model).objective for model in models]
    for record in table.values():
        assert record.summary and record.reference and record.direction in Direction and record.name in str(table)
        readable = [k for k, model in enumerate(models) if record.reduction.obstacle(model) == ""]
        assert readable and isinstance(models[readable[0]], record.reads)
        assert record.applicability.startswith(("ZeroOneSVM", "RampSVM", "any model"))
        model, optimum = models[readable[0]], optima[readable[0]]
        relaxed = solved[0][record.name]
        if record.direction is not Direction.INNER and not relaxed.caveat:
            assert relaxed.bound <= optimum * (1 + 1e-9), record.name
            if relaxed.result.multipliers is None:  # a target with integers
                assert model in (budget, models[-1]) and relaxed.bound_kind == "proved"
                continue
            assert relaxed.lifted is not None and relaxed.lifted.value <= optimum * (1 + 1e-9), record.name


def test_the_default_report_goes_from_weak_to_strong() -> None:
    chosen = [r for r in relaxations().values() if r.default]
    assert [r.reduction for r in chosen] == list(default_relaxations())
    assert chosen[0].name == "big-m-trivial" and chosen[-1].name == "combined"


def test_a_model_that_a_reduction_does_not_read_is_refused() -> None:
    X, y = data()
    ramp = RampSVM(X, y, lam=1.0)
    of_zero_one = [record for record in relaxations().values() if not issubclass(RampSVM, record.reads)]
    assert len(of_zero_one) >= 10
    for record in of_zero_one:
        able = ["continuous-hinge", "continuous", "lagrangian", "products", "products-separated", "thresholds"]
        with pytest.raises(UnsupportedModelError, check=about(record.reduction.name, allowed=able)):
            relax(ramp, record.reduction)
        with pytest.raises(UnsupportedModelError, check=about(record.reduction.name)):
            record.reduction.apply(ramp)  # type: ignore[arg-type]
    with pytest.raises(UnsupportedModelError, check=about("big-M, M from w=0")):
        relax(ConicSVM(X, y, lam=1.0), BigM())


def test_a_refusal_names_the_relaxations_that_read_the_model() -> None:
    X, y = data()
    free = ZeroOneSVM(X, y, lam=1.0, intercept="free")
    able = ["big-m", "continuous-hinge", "continuous", "lagrangian", "big-m-incumbent", "products", "products-separated"]
    with pytest.raises(UnsupportedModelError, check=about("conic SDP", allowed=able)):
        relax(free, Conic())
    weighted = ZeroOneSVM(X, y, lam=np.linspace(1.0, 2.0, 12))
    with pytest.raises(UnsupportedModelError, check=about("conic SDP", allowed=["hinge", "combined"])):
        relax(weighted, Conic())
    budget = ZeroOneSVM(X, y, kappa=0.25, upper_bound=100.0)
    able = ["continuous-hinge", "continuous", "lagrangian", "products", "products-separated", "lagrangian-budget"]
    with pytest.raises(UnsupportedModelError, check=about("big-M, M from w=0", allowed=able)):
        relax(budget, BigM("zero"))
    assert Perspective("uniform", big_m="incumbent").obstacle(weighted) == "" and Perspective("uniform").obstacle(weighted)
    shifted = np.column_stack([X[:, 1:], np.ones(12)])
    with pytest.raises(UnsupportedModelError, check=about("kernel SDP, linear kernel")):
        relax(ZeroOneSVM(shifted, y, lam=1.0), KernelConic())


def test_a_relaxation_of_invalid_constants_has_a_bound_of_its_own_optimum_alone() -> None:
    X, y = data()
    model = ZeroOneSVM(X, y, lam=1.0)
    invalid, valid = relax(model, Hinge(1.0)), relax(model, BigM())
    assert invalid.caveat and invalid.bound == -np.inf and np.isfinite(invalid.target_bound)
    assert not valid.caveat and np.isfinite(valid.bound)


def test_the_target_is_built_once(solved: Solved) -> None:
    result, built = solved
    assert all(relaxed.form is relaxed.form for relaxed in result.values())
    assert built == list(relaxations()) == list(result)


def test_a_relaxation_is_registered_for_the_session(session: None) -> None:
    record = Relaxation("big-m-7", "big-M at 7", BigM(7.0), "Conic (4)")
    register(record)
    assert get_relaxation("big-m-7") is record and list(relaxations())[-1] == "big-m-7"
    X, y = data()
    report = gap_report([Drawn(X, y)], [get_relaxation("big-m-7").reduction], exact=None, progress=False)
    assert report.relaxations[0].relaxation == "big-M, M=7"
    with pytest.raises(InputError, check=about("name")):
        register(replace(record, name="conic"))
    with pytest.raises(InputError, check=about("relaxation")):
        register(BigM(7.0))
    with pytest.raises(InputError, check=about("conik")):
        get_relaxation("conik")


@dataclass(frozen=True)
class TenfoldHinge(Hinge):
    """A false relaxation, of an author who is still writing it: the hinge loss at ten times the weights."""

    def apply(self, model: ZeroOneSVM) -> Model:
        return mo.HingeSVM(model.X, model.y, lam=100.0 * float(np.max(model.sample_weight)))

    def caveat(self, model: ZeroOneSVM) -> str:
        return ""


def test_a_bound_above_a_feasible_point_is_no_bound() -> None:
    """The point that is recovered from a relaxation refutes it; the report says so, and has no gap below zero."""
    model = ZeroOneSVM(*data(), lam=1.0)
    false, true = relax(model, TenfoldHinge()), relax(model, "conic")
    assert false.target_bound > false.objective >= true.objective - 1e-6 > 0.0
    assert false.bound == -np.inf and false.bound_kind == "none"
    assert f"{false.objective:.9g}" in false.caveat and false.caveat in str(false)
    assert not true.caveat and true.bound_kind == "proved"
    report = gap_report({"m": model}, [TenfoldHinge(), "conic"], exact=["zero-one-bb"], time_limit=5, progress=False)
    refuted = next(cell for cell in report.relaxations if cell.relaxation == TenfoldHinge().name)
    assert refuted.caveat and not refuted.bounds_optimum and not report.contradictions


@pytest.mark.parametrize(
    ("method", "value"), [("apply", 3), ("apply", None), ("lift", 5.0), ("recover", np.ones(3)), ("recover", "w")]
)
def test_a_reduction_whose_method_returns_another_type(method: str, value: object) -> None:
    broken = type("Broken", (Hinge,), {method: lambda self, *arguments: value})(1.0)
    with pytest.raises(InputError) as error:
        relax(ZeroOneSVM(*data()), broken, "clarabel")
    assert error.value.name == method
