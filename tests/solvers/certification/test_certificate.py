"""Certificates detect what is wrong: points, integers, multipliers, claims. A backend that lies never ends OPTIMAL."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar

import numpy as np
import pytest
import scipy.sparse as sp
from data import clouds
from hypothesis import given, strategies as st

from marginopt.models import HingeSVM, L2SVMDual, Linear, MEBDual, StandardForm, ZeroOneSVM
from marginopt.models.model import BareForm
from marginopt.models.program.cones import PSD, Feature, Nonnegative, RotatedSecondOrder, SecondOrder, Zero
from marginopt.models.program.form import Block, Constraint
from marginopt.models.program.quadratic import Quadratic
from marginopt.solvers.backends.clarabel import Clarabel
from marginopt.solvers.certification.certificate import Certificate, certify
from marginopt.solvers.certification.result import Claim, Result
from marginopt.solvers.interface.backend import Backend
from marginopt.solvers.interface.solver import SolverInfo, version_of
from marginopt.solvers.records import Answer, Options, Status
from marginopt.solvers.solve import solve_problem

TIGHT = Options(tol=1e-8)


def box_qp() -> StandardForm:
    """min ½||x - (1, -2, 3)||² over -1 ≤ x ≤ 1, Σx ≥ 0: x* = (1, -1, 1)."""
    target = np.array([1.0, -2.0, 3.0])
    return StandardForm(
        "box",
        (Block("x", (3,)),),
        -target,
        (Constraint("sum", sp.csr_array(np.ones((1, 3))), np.zeros(1), Nonnegative(1)),),
        -np.ones(3),
        np.ones(3),
        np.zeros(3, dtype=bool),
        quadratic=Quadratic(matrix=np.eye(3)),
        r=0.5 * float(target @ target),
    )


OPTIMUM = {"x": np.array([1.0, -1.0, 1.0])}
#: Px + q = x - target = (0, 1, -2) = ζ: the lower bound of x_1 and the upper bound of x_2 are priced.
DUAL: dict[str, Any] = {"multipliers": {"sum": np.zeros(1)}, "reduced": np.array([0.0, 1.0, -2.0])}


def test_a_right_answer_is_certified_in_full() -> None:
    c = certify(box_qp(), OPTIMUM, **DUAL)
    assert c.objective == pytest.approx(2.5)
    assert c.primal_residual == 0.0
    assert c.violations == {"sum": 0.0, "bounds": 0.0}
    assert c.integrality is None
    assert c.dual_residual == pytest.approx(0.0, abs=1e-15)
    assert c.complementarity == pytest.approx(0.0, abs=1e-15)
    assert c.bound == pytest.approx(2.5)
    assert 0.0 <= c.gap <= 1e-13  # the bound is rounded outward
    assert c.feasible(0.0)
    assert "primal 0.00e+00" in str(c)


def test_wrong_points() -> None:
    form = box_qp()
    outside = certify(form, {"x": np.array([1.0, -1.5, 1.0])}, **DUAL)
    assert outside.violations["bounds"] == pytest.approx(0.5)
    assert outside.primal_residual == pytest.approx(0.5 / 2.5)
    below = certify(form, {"x": np.array([0.0, -1.0, 0.5])})
    assert below.violations["sum"] == pytest.approx(0.5)
    assert not below.feasible(1e-3)
    assert below.dual_residual is None
    assert below.bound == -np.inf
    suboptimal = certify(form, {"x": np.zeros(3)}, **DUAL)
    assert suboptimal.feasible(0.0)
    assert suboptimal.gap > 0.5
    assert suboptimal.dual_residual > 0.1  # type: ignore[operator]


@pytest.mark.parametrize(
    ("multiplier", "reduced"),
    [
        (-1.0, [1.0, 2.0, -1.0]),  # stationary, outside the dual cone
        (0.0, [0.0, -1.0, 2.0]),  # signs of ζ swapped
        (0.0, [0.0, 0.0, 0.0]),  # ζ left out
        (1.0, [-1.0, 0.0, -3.0]),  # stationary, in the cones, prices a row that is slack
    ],
)
def test_wrong_multipliers(multiplier: float, reduced: list[float]) -> None:
    c = certify(box_qp(), OPTIMUM, {"sum": np.array([multiplier])}, np.array(reduced))
    assert c.dual_residual is not None
    assert c.complementarity is not None
    assert max(c.dual_residual, c.complementarity) > 0.1
    assert c.bound <= 2.5 + 1e-12  # wrong multipliers never prove too much


def test_a_price_on_a_bound_that_is_not_there() -> None:
    form = box_qp().with_bounds(np.full(3, -np.inf), np.array([1.0, np.inf, 1.0]))
    # x_1 = -2 is optimal now; a price on its missing lower bound makes -1 look stationary
    c = certify(form, {"x": np.array([1.0, -1.0, 1.0])}, {"sum": np.zeros(1)}, np.array([0.0, 1.0, -2.0]))
    assert c.dual_residual == pytest.approx(1.0 / 4.0)


@given(st.integers(0, 10_000), st.floats(0.01, 100.0))
def test_no_multipliers_prove_more_than_the_optimum(seed: int, size: float) -> None:
    rng = np.random.default_rng(seed)
    c = certify(box_qp(), {"x": rng.uniform(-1, 1, 3)}, {"sum": size * rng.normal(size=1)}, size * rng.normal(size=3))
    assert c.bound <= 2.5 + 1e-9


def test_one_huge_row_does_not_excuse_a_violation_elsewhere() -> None:
    F = sp.csr_array(np.array([[1e7], [1.0]]))
    form = StandardForm(
        "rows",
        (Block("x", (1,)),),
        np.ones(1),
        (Constraint("rows", F, np.array([0.0, -1.5]), Nonnegative(2)),),
        np.full(1, -np.inf),
        np.full(1, np.inf),
        np.zeros(1, dtype=bool),
    )
    assert certify(form, {"x": np.ones(1)}).primal_residual == pytest.approx(0.5 / 2.5)


@pytest.mark.parametrize(
    ("cone", "inside", "outside", "dual_outside"),
    [
        (Zero(2), [0.0, 0.0], [0.0, 0.3], None),
        (Nonnegative(2), [1.0, 0.0], [1.0, -0.3], [1.0, -0.3]),
        (SecondOrder(3), [5.0, 3.0, 4.0], [4.0, 3.0, 4.0], [0.0, 1.0, 0.0]),
        (RotatedSecondOrder(3), [1.0, 2.0, 2.0], [1.0, 1.0, 2.0], [-1.0, 0.0, 0.0]),
        (PSD(3), [1.0, 2**0.5, 1.0], [1.0, 3.0, 1.0], [-1.0, 0.0, 1.0]),
    ],
)
def test_every_cone(cone: Any, inside: list[float], outside: list[float], dual_outside: list[float] | None) -> None:
    n = cone.rows
    form = StandardForm(
        "cone",
        (Block("x", (n,)),),
        np.zeros(n),
        (Constraint("k", sp.csr_array(np.eye(n)), np.zeros(n), cone),),
        np.full(n, -np.inf),
        np.full(n, np.inf),
        np.zeros(n, dtype=bool),
    )
    assert certify(form, {"x": np.array(inside)}).primal_residual <= 1e-15
    wrong = certify(form, {"x": np.array(outside)})
    assert wrong.primal_residual > 0.02
    assert wrong.violations["k"] > 0.1
    if dual_outside is not None:
        c = certify(form, {"x": np.array(inside)}, {"k": np.array(dual_outside)})
        assert c.dual_residual > 0.1  # type: ignore[operator]


def test_overflow_is_not_feasible() -> None:
    form = box_qp().with_bounds(np.full(3, -np.inf), np.full(3, np.inf))
    with np.errstate(all="ignore"):
        c = certify(form, {"x": np.array([1e308, 1e308, 1e308])})
    assert c.primal_residual == np.inf
    assert not c.feasible(1.0)


def test_integrality_and_no_bound_for_integers() -> None:
    form = box_qp().replace(integer=np.array([True, False, False]))
    c = certify(form, {"x": np.array([0.75, -0.75, 1.0])}, **DUAL)
    assert c.integrality == pytest.approx(0.25)
    assert not c.feasible(0.1)
    assert c.bound == -np.inf
    assert "mixed-integer" in c.argument


# -- lying solvers ----------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Liar(Backend):
    """Answers whatever it was told to answer, and calls it optimal."""

    x: Any = None
    multipliers: Mapping[str, Any] | None = None
    reduced: Any = None
    objective: float | None = None
    bound: float | None = None
    status: Status = Status.OPTIMAL
    after: Callable[[Answer], Answer] | None = field(default=None)

    info: ClassVar[SolverInfo] = SolverInfo(name="liar", summary="lies", package="marginopt", reads=frozenset(Feature))

    def solve_form(self, form: StandardForm, options: Options) -> Answer:
        """Tell the lie; ``after`` may change Clarabel's honest answer into one."""
        if self.after is not None:
            honest = Clarabel()
            raw = honest.run(_problem(form), Options(tol=1e-9))
            return self.after(
                Answer(
                    Status.OPTIMAL,
                    "Optimal",
                    raw.values,
                    raw.multipliers,
                    raw.reduced,
                    raw.objective,
                    raw.bound,
                )
            )
        values = None if self.x is None else form.split(np.asarray(self.x, dtype=np.float64))
        return Answer(self.status, "Trust me", values, self.multipliers, self.reduced, self.objective, self.bound)


def _problem(form: StandardForm) -> Any:

    return BareForm(form)


def test_the_fake_told_the_truth_is_believed() -> None:
    honest = Liar(x=OPTIMUM["x"], objective=2.5, bound=2.5, **DUAL)
    result = solve_problem(box_qp(), honest, Options())
    assert result.status is Status.OPTIMAL
    assert result.bound_kind == "proved"
    assert solve_problem(box_qp(), Liar(after=lambda s: s), TIGHT).status is Status.OPTIMAL


@pytest.mark.parametrize(
    "lie",
    [
        Liar(x=[1.0, -1.5, 1.0], objective=2.125, bound=2.125, **DUAL),  # outside a bound, and so "better"
        Liar(x=[1.0, -1.0, 0.5], objective=2.5, bound=2.5, **DUAL),  # feasible, not optimal, claims the optimum
        Liar(x=[1.0, -1.0, 0.5], objective=2.5, bound=2.5),  # the same without multipliers
        Liar(x=[0.0, 0.0, 0.0]),  # no evidence at all
        Liar(x=OPTIMUM["x"], multipliers={"sum": np.ones(1)}, reduced=np.array([-1.0, 0.0, -3.0])),  # wrong multipliers
        Liar(x=OPTIMUM["x"], objective=2.5, bound=7.0),  # a bound above the objective
    ],
)
def test_lies_about_a_form(lie: Liar) -> None:
    result = solve_problem(box_qp(), lie, Options())
    assert result.status is Status.INACCURATE
    assert result.claim.status is Status.OPTIMAL
    assert not result.solved
    assert result.claim.native_status == "Trust me"


@pytest.mark.parametrize("x", [None, [np.nan, 0.0, 0.0], [np.inf, 0.0, 0.0]])
def test_an_optimum_without_a_point_is_a_failure(x: Any) -> None:
    result = solve_problem(box_qp(), Liar(x=x, objective=1.0, bound=1.0), Options())
    assert result.status is Status.FAILED
    assert result.certificate is None
    assert result.values == {}
    assert np.isnan(result.gap)


@pytest.mark.parametrize(
    ("change", "part"),
    [
        ({"values": {"y": np.zeros(3)}}, "values for x"),
        ({"values": {"x": np.zeros(2)}}, "values['x']"),
        ({"reduced": np.zeros(2), "values": None}, "reduced is"),
        ({"multipliers": {"total": np.zeros(1)}, "values": None}, "no constraint total"),
    ],
)
def test_every_part_of_an_answer_that_does_not_fit_is_named(change: dict[str, Any], part: str) -> None:
    wrong = Liar(after=lambda s: replace(s, **{"native_status": "", "status": Status.NODE_LIMIT, **change}))
    assert part in solve_problem(box_qp(), wrong, TIGHT).evidence
    claim = Liar(after=lambda s: replace(s, **{"native_status": "", "values": None, **change}))
    assert str(Status.OPTIMAL) in solve_problem(box_qp(), claim, TIGHT).evidence


def test_an_answer_before_the_solver_was_called_has_the_version_of_its_package() -> None:
    crossed = solve_problem(box_qp().replace(lower=np.full(3, 9.0), upper=np.zeros(3)), "clarabel", Options())
    assert crossed.version == version_of("clarabel") and crossed.status is Status.INFEASIBLE


def test_integers_off_a_whole_number_are_a_residual() -> None:
    form = box_qp().replace(integer=np.array([True, False, False]))
    whole, off = (certify(form, {"x": np.array([x, 0.0, 0.0])}) for x in (0.0, 0.25))
    assert "integrality" not in str(whole) and "integrality 2.50e-01" in str(off)


@pytest.mark.parametrize(
    "lie", [Liar(x=OPTIMUM["x"]), Liar(x=OPTIMUM["x"], multipliers={"sum": np.full(1, np.nan)}, reduced=np.zeros(3))]
)
def test_a_right_point_without_evidence_is_proved_by_multipliers_of_our_own(lie: Liar) -> None:
    result = solve_problem(box_qp(), lie, Options())
    assert result.status is Status.OPTIMAL and result.bound_kind == "proved"
    assert "least squares" in result.details["multipliers"]


@pytest.mark.parametrize("status", [s for s in Status if s.stopped or s in (Status.STALLED, Status.FAILED)])
def test_other_claims_are_passed_on(status: Status) -> None:
    assert solve_problem(box_qp(), Liar(x=[0.0, 0, 0], status=status), Options()).status is status


@pytest.mark.parametrize(
    ("status", "claim"),
    [
        (Status.INFEASIBLE, "a point violates no constraint by more than"),
        (Status.UNBOUNDED, "multipliers bound the objective"),
        (Status.STATIONARY, "the first-order residual, recomputed, is"),
    ],
)
def test_claims_that_the_data_refute_are_refuted(status: Status, claim: str) -> None:
    result = solve_problem(box_qp(), Liar(x=[-9.0 if status is Status.INFEASIBLE else 0.0, 0, 0], status=status), Options())
    assert result.status is Status.INACCURATE and claim in result.evidence


def test_no_point_is_feasible_beside_a_claim_that_none_is() -> None:
    result = solve_problem(box_qp(), Liar(x=list(OPTIMUM["x"]), status=Status.INFEASIBLE), Options())
    assert result.status is Status.INACCURATE
    assert "infeasible beside a point" in result.evidence


def _moved(where: str, size: float) -> Callable[[Answer], Answer]:
    def change(s: Answer) -> Answer:
        if where == "x":
            assert s.values is not None
            values = {label: np.array(value) for label, value in s.values.items()}
            next(iter(values.values())).flat[0] += size
            return replace(s, values=values)
        assert s.multipliers is not None
        # alternating factors: a common one would be undone by the scaling into the dual's feasible set
        return replace(s, multipliers={k: z * (1 + size * (-1.0) ** np.arange(z.size)) for k, z in s.multipliers.items()})

    return change


@pytest.mark.parametrize("where", ["x", "multipliers"])
@pytest.mark.parametrize("name", ["hinge", "conic", "l2svm", "meb"])
def test_small_changes_of_right_answers_are_found(overlapping: Any, where: str, name: str) -> None:
    from marginopt.models import ConicSVM

    X, y = overlapping.X, overlapping.y
    model: Any = {
        "hinge": lambda: HingeSVM(X, y, lam=0.7),
        "conic": lambda: ConicSVM(X, y, lam=0.7),
        "l2svm": lambda: L2SVMDual(X, y, 2.0, Linear()),
        "meb": lambda: MEBDual(X, Linear()),
    }[name]()
    assert solve_problem(model, Liar(after=lambda s: s), Options()).status is Status.OPTIMAL
    result = solve_problem(model, Liar(after=_moved(where, 1e-2)), Options())
    if where == "multipliers" and name in ("l2svm", "meb"):
        assert result.status is Status.OPTIMAL  # their bound needs the point only, and the point is right
    else:
        assert result.status is Status.INACCURATE


def _integer_form() -> StandardForm:
    X, y = clouds(0, 8, 2, 2.0, order="halves")
    return ZeroOneSVM(X, y, lam=1.0).form


def _honest_point(form: StandardForm) -> np.ndarray:
    """z = 0 everywhere (the data are separable) and the least norm."""
    from marginopt.solvers.polishing import polish

    return form.join(polish(form, {"w": np.zeros(3), "z": np.zeros(8)})[0])


def test_mixed_integer_claims() -> None:
    form = _integer_form()
    x = _honest_point(form)
    value = form.objective(x)
    right = solve_problem(form, Liar(x=x, objective=value, bound=value), Options())
    assert right.status is Status.OPTIMAL
    assert right.bound_kind == "claimed by solver"
    assert right.bound == pytest.approx(value)
    for lie in (
        Liar(x=x, objective=value),  # no bound
        Liar(x=x, objective=value, bound=0.5 * value),  # gap not closed
        Liar(x=x, objective=value, bound=2.0 * value),  # a bound above a feasible point's objective
        Liar(x=np.append(np.zeros(3), np.full(8, 0.01)), objective=0.08, bound=0.08),  # not integer
        Liar(x=np.zeros(11), objective=0.0, bound=0.0),  # infeasible; polishing would find another value than claimed
    ):
        assert solve_problem(form, lie, Options()).status is Status.INACCURATE


# -- results ----------------------------------------------------------------------------------------------------


def result(objective: float, proved: float, claim: Claim, *, maximise: bool = False) -> Result:
    certificate = replace(certify(box_qp(), OPTIMUM), objective=objective, bound=proved)
    answer = Answer(claim.status, claim.native_status, objective=claim.objective, bound=claim.bound, proved=claim.proved)
    return Result("m", "s", Status.OPTIMAL, answer, certificate, OPTIMUM, maximise=maximise)


def test_the_better_kind_of_bound_wins() -> None:
    claimed = Claim(Status.OPTIMAL, "ok", 10.0, 9.9)
    assert result(10.0, 9.0, claimed).best_bound == (9.0, "proved")
    assert result(10.0, -np.inf, claimed).best_bound == (9.9, "claimed by solver")
    assert result(10.0, 9.0, replace(claimed, proved=True)).best_bound == (9.9, "proved")
    none = result(10.0, -np.inf, Claim(Status.STALLED, "?"))
    assert none.bound_kind == "none"
    assert np.isnan(none.gap)
    assert np.isnan(none.absolute_gap)


def test_gap_and_signs() -> None:
    low = result(10.0, 9.0, Claim(Status.OPTIMAL, "ok"))
    assert low.gap == pytest.approx(0.1)
    assert low.absolute_gap == pytest.approx(1.0)
    assert (low.objective, low.bound) == (10.0, 9.0)
    high = result(-9.0, -10.0, Claim(Status.OPTIMAL, "ok", -9.0, -10.0), maximise=True)
    assert (high.objective, high.bound) == (9.0, 10.0)
    assert high.gap == pytest.approx(0.1)
    assert "objective 9, bound 10" in str(high)
    assert high.support("x").tolist() == [0, 2]


def test_one_rounding_of_large_terms_that_cancel_is_no_violation() -> None:
    """1.2e8 less the double beside it is 1.5e-8, and an optimum was left for a point that costs more."""
    F = sp.csr_array(np.array([[1.0, -1.0]]))
    form = StandardForm(
        "equal",
        (Block("x", (2,)),),
        np.ones(2),
        (Constraint("row", F, np.zeros(1), Zero(1)),),
        np.zeros(2),
        np.full(2, np.inf),
        np.zeros(2, bool),
    )
    for factor, met in ((1.0 + 2.0**-52, True), (1.0 + 2.0**-40, False)):
        certificate = certify(form, {"x": np.array([121875000.0, 121875000.0 * factor])})
        assert certificate.feasible(1e-9) is met and certificate.violations["row"] > 0.0


@pytest.mark.parametrize(("constant", "met"), [(-0.375, False), (-0.375 * 2.0**-17, False), (-1e-16, True), (0.25, True)])
def test_a_row_without_variables_is_met_in_any_unit_or_in_none(constant: float, met: bool) -> None:
    """SCS called a program optimal whose row says 0 ≤ -2.9e-6: in that row's own unit it is 0 ≤ -0.375."""
    F = sp.csr_array(np.array([[1.0], [0.0]]))
    rows = Constraint("row", F, np.array([0.0, constant]), Nonnegative(2))
    form = StandardForm("constant", (Block("x", ()),), np.ones(1), (rows,), np.zeros(1), np.ones(1), np.zeros(1, bool))
    assert certify(form, {"x": np.float64(0.0)}).feasible(1e-6) is met


def test_a_better_bound_comes_with_all_that_says_why_it_holds() -> None:
    weak = Certificate(1.0, 0.0, {}, bound=0.0, argument="none", derived="")
    strong = Certificate(2.0, 1.0, {}, bound=0.5, argument="multipliers", bound_error=1e-9, condition="if K", derived="x <= 1")
    better = weak.with_better_bound(strong)
    assert better == replace(strong, objective=1.0, primal_residual=0.0)
    assert strong.with_better_bound(weak) == strong


def test_a_finite_bound_is_not_below_zero_where_no_part_of_the_objective_is_negative() -> None:
    """The Frank-Wolfe bound of a vertex is negative; a positive semidefinite form without linear costs is never."""
    model = L2SVMDual(np.array([[3.0], [1.0], [-2.0]]), np.array([1.0, -1.0, -1.0]), C=1.0, kernel=Linear())
    vertex = np.array([1.0, 0.0, 0.0])
    assert model.bound(vertex, None).value < 0.0
    assert certify(model.form, {"a": vertex}, model=model).bound == 0.0
