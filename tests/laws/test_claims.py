"""Claims of solvers that are not so: suboptimal points, infeasibilities and bounds are refuted by points of the model."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping
from dataclasses import replace

import numpy as np
import pytest
from data import clouds
from effort import part, trials
from programs import form_of, knapsack
from rational.draws import drawn

import marginopt as mo
from marginopt.models import Nonnegative, SecondOrder
from marginopt.models.arrays import FloatArray
from marginopt.models.model import Model, as_model
from marginopt.models.program.form import StandardForm
from marginopt.solvers.certification.certificate import Certifier
from marginopt.solvers.certification.verdict import Verdict
from marginopt.solvers.interface.solver import OPEN_LICENCE
from marginopt.solvers.judgement import Judgement, judge, search_counterexample
from marginopt.solvers.records import Answer, Options, Status
from marginopt.solvers.registry import get_solver

pytestmark = pytest.mark.filterwarnings("ignore::marginopt.errors.MarginoptWarning")

_X, _Y = clouds(4, 14, 2, 0.3, order="turns", first=-1.0)
_BALL = form_of(
    [1.0, -2.0, 0.5], [("ball", np.vstack([np.zeros(3), np.eye(3)]), [1.0, 0, 0, 0], SecondOrder(4))], P=np.diag([1.0, 0, 0])
)
MODELS: dict[str, Model | StandardForm] = {
    "0-1": mo.ZeroOneSVM(_X, _Y, lam=1.0),
    "0-1 indicators": mo.ZeroOneSVM(_X, _Y, lam=1.0, encoding="indicator"),
    "ramp": mo.RampSVM(_X, _Y),
    "hinge": mo.HingeSVM(_X, _Y, lam=1.0),
    "ball": _BALL,
    "hulls": mo.L2SVMDual(_X[:, 1:], _Y, C=1.0),
    "knapsack": knapsack(),
    "L0": mo.Margin(_X, _Y, "hinge", mo.margin.L0(1.0), domain=mo.margin.Box(-5.0, 5.0)),
}


def told(problem: Model | StandardForm, status: Status, **text: object) -> mo.Result:
    """Return what becomes of an answer that a solver gives."""
    return judge(as_model(problem), get_solver("scip"), Answer(status, "a lie", **text), Options(), OPEN_LICENCE)  # type: ignore[arg-type]


def worse(model: Model, values: Mapping[str, FloatArray], seed: int) -> Iterator[dict[str, FloatArray]]:
    """Feasible points that cost over 1% more."""
    form, rng = model.form, np.random.default_rng(seed)
    x, least = form.join(values), mo.certify(model, values).objective
    leading = form.blocks[0]
    here = form.slices[leading.label]
    for _ in range(60):
        w = np.clip(x[here] + rng.normal(size=leading.size) * (0.3 + np.abs(x[here])), form.lower[here], form.upper[here])
        point = model.complete({leading.label: leading.unpack(w)})
        if len(form.blocks) == 1:
            point = form.split(np.clip(x * rng.random(), form.lower, form.upper))
            point = form.split(np.where(form.integer, np.floor(form.join(point)), form.join(point)))
        certificate = mo.certify(model, point)
        if certificate.feasible(1e-9) and certificate.objective > least + 1e-2 * abs(least) + 1e-3:
            yield point


@pytest.mark.parametrize("name", MODELS)
def test_a_worse_point_is_no_optimum(name: str) -> None:
    problem = MODELS[name]
    best = mo.solve(problem, "scip" if name != "hulls" else "clarabel")
    lies = 0
    for point in worse(as_model(problem), best.values, 7):
        cost = mo.certify(problem, point).objective
        result = told(problem, Status.OPTIMAL, values=point, objective=cost, bound=cost)
        assert result.status is Status.INACCURATE, (cost, best.objective)
        assert result.certificate is not None
        assert result.certificate.objective < cost and result.certificate.feasible(1e-9)
        lies += 1
        if lies == 5:
            break
    assert lies or name == "hulls"


def test_what_is_said_of_a_point_goes_with_it() -> None:
    """A better point takes the place of the solver's: the remark on the solver's own point does not stay behind."""
    model = as_model(form_of([1.0, 2.0], [("row", [[1, 1], [1, 0], [0, 1]], [-1.0, 0, 0], Nonnegative(3))]))
    poor = Answer(Status.OPTIMAL, "a lie", values={"x": np.array([3.0, 3.0])}, multipliers={"row": np.zeros(3)}, bound=9.0)
    certificate = Certifier(model, model.form)(poor, poor.values)
    verdict_of_claim = Verdict(Status.INACCURATE, ("of the solver's point",))
    state = Judgement(model, model, model.form, get_solver("clarabel"), Options(), 1e-6, poor, poor, poor.values, certificate)
    after = search_counterexample(replace(state, verdict=verdict_of_claim))
    assert after.certificate is not None
    assert after.certificate.objective == pytest.approx(1.0, abs=1e-6)
    assert after.verdict.status is Status.OPTIMAL and np.isfinite(after.certificate.bound)
    assert len(after.verdict.remarks) == 1 and verdict_of_claim.remarks[0] not in after.verdict.remarks


def test_lies_about_compositions_of_all_kinds() -> None:
    """At least nine of ten are found out, and no true claim is called a lie."""
    caught = lies = 0
    for number in range(1, trials(120, 400), 11):
        model = drawn(number).model
        best = mo.solve(model, "scip", time_limit=20)
        assert best.status in (Status.OPTIMAL, Status.INFEASIBLE), (number, best.evidence)
        if best.status is Status.INFEASIBLE:
            continue
        point = next(worse(model, best.values, number), None)
        if point is None:
            continue
        cost = mo.certify(model, point).objective
        lies += 1
        caught += told(model, Status.OPTIMAL, values=point, objective=cost, bound=cost).status is Status.INACCURATE
    assert lies >= trials(6, 20) and caught >= 0.9 * lies


@pytest.mark.parametrize("name", MODELS)
def test_what_has_points_is_not_infeasible(name: str) -> None:
    result = told(MODELS[name], Status.INFEASIBLE)
    assert result.status is Status.INACCURATE


@pytest.mark.parametrize("name", ["0-1", "ramp", "L0", "knapsack"])
def test_a_bound_above_a_known_point_is_refuted(name: str) -> None:
    """A search that was stopped claims a bound: it is above what the model finds by itself."""
    model = as_model(MODELS[name])
    point = next(worse(model, mo.solve(model, "scip").values, 3))
    cost = mo.certify(model, point).objective
    result = told(model, Status.TIME_LIMIT, values=point, objective=cost, bound=cost)
    assert result.status is Status.INACCURATE and result.certificate is not None
    assert result.certificate.objective < cost


#: Losses at scales of the data of 1e-70 to 1e70.
SCALED = list(itertools.product(["hinge", "ramp", "zero-one", "squared-hinge"], [-70, -30, -8, 0, 8, 30, 70]))


@pytest.mark.parametrize(("loss", "power"), part(SCALED, 3, kind=lambda cell: cell[0]))
def test_no_scale_makes_an_unconstrained_composition_infeasible(loss: str, power: int) -> None:
    """w = 0 is a point of each: whoever says infeasible is contradicted, at scales of the data of 1e-70 to 1e70."""
    model = mo.Margin(_X * 10.0**power, _Y, loss, "half-l2")
    for solver in ("scip", "highs", "clarabel", "osqp", "piqp", "scs"):
        if get_solver(solver).obstacle(model) is not None:
            continue
        try:
            result = mo.solve(model, solver, time_limit=5)
        except mo.errors.MarginoptError:  # refused in our words
            continue
        assert result.status is not Status.INFEASIBLE, (solver, result.evidence)


def test_a_continuous_claim_without_multipliers_that_tolerances_explain_is_inaccurate() -> None:
    """SCIP's feasibility tolerance, 1e-9, is as much as this objective."""
    form = _BALL.replace(q=_BALL.q * 1e-9, quadratic=None)
    x = -_BALL.q / np.linalg.norm(_BALL.q)
    cost = float(form.q @ x)
    result = told(form, Status.OPTIMAL, values={"x": x}, objective=cost, bound=cost)
    assert result.status is Status.INACCURATE or np.isfinite(result.certificate.bound)
