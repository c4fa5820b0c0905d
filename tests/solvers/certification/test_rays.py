"""Claims of infeasibility and unboundedness: the ray that a solver gives is checked, and the result says what it is worth."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp

import marginopt as mo
from marginopt.models import (
    PSD,
    Block,
    Constraint,
    Nonnegative,
    Quadratic,
    RotatedSecondOrder,
    SecondOrder,
    StandardForm,
    Zero,
)
from marginopt.models.model import BareForm, Model
from marginopt.solvers import Answer, Options, Solver, SolverInfo, rational as rational_rays
from marginopt.solvers.certification.answer_completion import unbounded_integer_ray
from marginopt.solvers.certification.rays import point_exists, ray_is_exact
from marginopt.solvers.interface.solver import OPEN_LICENCE
from marginopt.solvers.judgement import judge
from marginopt.solvers.rational import farkas_exists, ray_exists


def _form(rows: list[list[float]], g: list[float], **changes: object) -> StandardForm:
    F = sp.csr_array(np.array(rows))
    n = F.shape[1]
    form = StandardForm(
        name="two",
        blocks=(Block("x", (n,)),),
        q=np.ones(n),
        constraints=(Constraint("apart", F, np.array(g), Nonnegative(len(g))),),
        lower=np.full(n, -np.inf),
        upper=np.full(n, np.inf),
        integer=np.zeros(n, dtype=bool),
    )
    return form.replace(**changes)


#: x1 ≥ 1 and x1 ≤ -1
_INFEASIBLE = _form([[1.0, 0.0], [-1.0, 0.0]], [-1.0, -1.0])
_UNBOUNDED = _form([[1.0, 0.0], [0.0, -1.0]], [0.0, 1.0])


@pytest.mark.parametrize("solver", ["clarabel", "scs", "osqp", "piqp", "highs"])
def test_infeasibility_is_proved_in_the_labels_of_the_model(solver: str) -> None:
    quadratic = Quadratic(matrix=sp.csc_array(np.eye(2)))
    # HiGHS gives its ray for linear programs
    result = mo.solve(_INFEASIBLE if solver == "highs" else _INFEASIBLE.replace(quadratic=quadratic), solver)
    assert result.status is mo.Status.INFEASIBLE
    z = result.details["farkas"]["apart"]
    assert (z > 0).all()
    assert z[0] == pytest.approx(z[1], rel=1e-4)
    assert result.status_kind == "proved"


def test_a_proof_comes_back_through_the_bridges() -> None:
    """Bounds that are rows for the solver, and rotated cones that it turns, in a problem infeasible by both."""
    # 2·x1·x2 ≥ x3², x1 + x2 ≤ 1 by bounds x1, x2 ≤ ½, x3 ≥ 2
    cone = Constraint("cone", sp.eye_array(3, format="csr"), np.zeros(3), RotatedSecondOrder(3))
    lower, upper = np.array([-np.inf, -np.inf, 2.0]), np.array([0.5, 0.5, np.inf])
    form = StandardForm("bridged", (Block("x", (3,)),), np.ones(3), (cone,), lower, upper, np.zeros(3, dtype=bool))
    result = mo.solve(form, "clarabel")
    assert result.status is mo.Status.INFEASIBLE
    assert set(result.details["bridges"]) == {"RotatedBridge", "BoundsToRows"}
    z = result.details["farkas"]["cone"]
    assert 2 * z[0] * z[1] >= z[2] ** 2 * (1 - 1e-6)  # in the dual of the rotated cone, not of the turned one
    assert result.status_kind == "proved"


@pytest.mark.parametrize("solver", ["clarabel", "scs", "osqp", "piqp"])
def test_unboundedness_shows_a_ray(solver: str) -> None:
    result = mo.solve(_UNBOUNDED, solver)
    assert result.status is mo.Status.UNBOUNDED
    d = result.details["ray"]["x"]
    assert d[1] < 0
    assert "ray of descent" in result.details["evidence"]


class _Liar(Solver):
    info = SolverInfo(name="liar", summary="claims what it is told to")

    def obstacle(self, problem: Model) -> str | None:
        return None

    def run(self, problem: Model, options: Options) -> Answer:
        raise AssertionError("judged only")


def _judged(form: StandardForm, status: mo.Status, **rays: Mapping[str, Any]) -> mo.Result:
    raw = Answer(status=status, native_status="so it says", **rays)
    return judge(BareForm(form), _Liar(), raw, Options(), OPEN_LICENCE)


def test_claims_that_their_rays_do_not_support_are_shown() -> None:
    wrong = _judged(_INFEASIBLE, mo.Status.INFEASIBLE, farkas={"apart": np.array([1.3, 0.7])})  # |1.3 - 0.7|/(1.3 + 0.7)
    assert wrong.status is mo.Status.INACCURATE
    assert wrong.claim.status is mo.Status.INFEASIBLE
    assert "does not support the claim: residual 3.0e-01" in wrong.details["evidence"]
    wrong = _judged(_INFEASIBLE, mo.Status.UNBOUNDED, ray={"x": np.ones(2)})  # an ascent
    assert wrong.status is mo.Status.INACCURATE
    assert wrong.ray_residual == np.inf
    unknown = _judged(_INFEASIBLE, mo.Status.INFEASIBLE, farkas={"apart": np.array([np.nan, 1.0])})
    assert unknown.status is mo.Status.INACCURATE


def test_a_ray_with_the_errors_of_a_first_order_method_gives_way_to_a_proof() -> None:
    """OSQP's rays of unbounded ν-losses were off by 2e-5 to 3e-4: the claim was inaccurate, and an exact ray lies beside them."""
    off = _judged(_INFEASIBLE, mo.Status.INFEASIBLE, farkas={"apart": np.array([1.0, 1.0 - 2e-4])})
    assert off.status is mo.Status.INFEASIBLE
    assert off.status_kind == "proved"
    fall = _form([[1.0, -1.0], [-1.0, 1.0]], [0.0, 0.0], q=-np.ones(2))  # along x_0 = x_1
    down = _judged(fall, mo.Status.UNBOUNDED, ray={"x": np.array([1.0, 1.0 - 2e-4])})
    assert down.status is mo.Status.UNBOUNDED
    assert down.status_kind == "proved"
    far = _judged(fall, mo.Status.UNBOUNDED, ray={"x": np.array([1.0, 0.5])})
    assert far.status is mo.Status.INACCURATE


@pytest.mark.parametrize("solver", ["clarabel", "scs"])
def test_a_ray_on_a_face_of_zeros_is_exact(solver: str) -> None:
    """[x, y, 0; y, 1, 0; 0, 0, x] ⪰ 0, min -x: the ray diag(1, 0, 1) is on the cone's boundary, and so by exact zeros alone."""
    root = float(np.sqrt(2.0))
    rows = np.zeros((6, 2))
    rows[0, 0] = rows[5, 0] = 1.0  # svec by columns: (0,0), (0,1), (1,1), (0,2), (1,2), (2,2)
    rows[1, 1] = root
    cone = Constraint("S", sp.csr_array(rows), np.array([0.0, 0, 1, 0, 0, 0]), PSD.of_order(3))
    free = np.full(2, np.inf)
    form = StandardForm("face", (Block("x", (2,)),), np.array([-1.0, 0]), (cone,), -free, free, np.zeros(2, dtype=bool))
    result = mo.solve(form, solver)
    assert result.status is mo.Status.UNBOUNDED
    exact = _judged(form, mo.Status.UNBOUNDED, ray={"x": np.array([1.0, 0.0])})
    assert exact.status_kind == "proved"
    assert ray_is_exact(form, np.array([1.0, 0.0]))
    assert not ray_is_exact(form, np.array([1.0, 1e-9]))  # [1, 1e-9; 1e-9, 0] is not semidefinite


def test_unboundedness_without_a_known_point_is_no_proof() -> None:
    """An exact ray says what follows if any point is feasible: that is a condition, and no proof."""
    root = float(np.sqrt(2.0))  # [x, 1; 1, 0] is never semidefinite, and nearly so for large x; y is free
    cone = Constraint("S", sp.csr_array([[1.0, 0.0], [0.0, 0.0], [0.0, 0.0]]), np.array([0.0, root, 0.0]), PSD.of_order(2))
    free = np.full(2, np.inf)
    form = StandardForm("none", (Block("x", (2,)),), np.array([0.0, -1.0]), (cone,), -free, free, np.zeros(2, dtype=bool))
    claimed = _judged(form, mo.Status.UNBOUNDED, ray={"x": np.array([0.0, 1.0])})
    assert claimed.ray_residual == 0.0
    assert "proved" not in claimed.evidence and claimed.bound_kind == "none"
    halves = _form([[2.0, 0.0], [-2.0, 0.0]], [-1.0, 1.0], q=np.array([0.0, -1.0]), integer=np.array([True, False]))  # 2x = 1
    claimed = _judged(halves, mo.Status.UNBOUNDED, ray={"x": np.array([0.0, 1.0])})
    assert "proved" not in claimed.evidence
    whole = _form([[2.0, 0.0], [-2.0, 0.0]], [0.0, 0.0], q=np.array([0.0, -1.0]), integer=np.array([True, False]))  # x = 0
    assert _judged(whole, mo.Status.UNBOUNDED, ray={"x": np.array([0.0, 1.0])}).status_kind == "proved"


def test_points_that_satisfy_every_constraint_exactly() -> None:
    third = _form([[3.0, 1.0], [-3.0, -1.0]], [-1.0, 1.0])  # 3x + y = 1
    assert point_exists(third, np.array([0.0, 1.0]))
    assert point_exists(third, np.array([1.0 / 3.0, 1e-17]))  # a rational point beside it
    assert not point_exists(third, np.array([0.5, 1.0]))
    assert not point_exists(third.replace(integer=np.array([True, True])), np.array([0.5, -0.5]))
    assert not point_exists(_INFEASIBLE, np.zeros(2))
    assert not point_exists(third.replace(upper=np.array([0.0, 0.5])), np.array([0.0, 1.0]))


@pytest.mark.parametrize("scale", [1.0, 1e70])
@pytest.mark.parametrize("loss", ["nearest-hulls", "nu", "one-class", "hinge", "logistic"])
def test_what_is_bounded_by_construction_is_never_unbounded(loss: str, scale: float) -> None:
    """Clarabel, SCS and HiGHS called the two hulls of data of 1e8 to 1e100 unbounded: the regulariser's curvature vanished."""
    y = np.where(np.arange(8) % 2, 1.0, -1.0)
    X = scale * np.column_stack([np.ones(8), np.random.default_rng(0).normal(size=(8, 2))])
    model = mo.Margin(X, y, loss, mo.margin.SquaredNorm(1e-7))
    fall = {block.label: np.ones(block.shape) for block in model.form.blocks}
    for rays in ({}, {"ray": fall}):
        claimed = judge(
            model, _Liar(), Answer(status=mo.Status.UNBOUNDED, native_status="so it says", **rays), Options(), OPEN_LICENCE
        )
        assert claimed.status is mo.Status.INACCURATE
        assert "the objective has a lower bound" in claimed.evidence
    restricted = model.with_constraint(lambda v: v["w"][0] >= 1.0) if scale == 1.0 else model
    assert restricted.bounded_below_reason


def test_claims_without_a_ray_are_called_claims() -> None:
    """Of sets that are only just empty; else Farkas multipliers are found (test_alternatives, test_cones)."""
    # [x_0, 1; 1, 0] ⪰ 0 has no point, and points as near as one likes
    cone = Constraint("S", sp.csr_array([[1.0], [0.0], [0.0]]), np.array([0.0, np.sqrt(2.0), 0.0]), PSD.of_order(2))
    free = np.full(1, np.inf)
    form = StandardForm("empty", (Block("x", (1,)),), np.ones(1), (cone,), -free, free, np.zeros(1, dtype=bool))
    result = _judged(form, mo.Status.INFEASIBLE)
    assert result.status is mo.Status.INFEASIBLE
    assert result.details["evidence"] == "claimed by the solver, without a ray that could be checked"


def test_an_optimum_of_integers_that_has_a_ray_of_descent_is_none() -> None:
    """HiGHS calls a corner of this cone optimal; real numbers and integers both go on along it."""
    rows = [[4.0, -2, -3, -3], [0, 2, 3, -4], [1, -4, 2, -2], [2, -4, 3, 1], [0, -3, 3, -4], [-3, 2, 1, -2]]
    form = _form(rows, [3.0, 0, 0, 0, 0, 6], q=np.array([-16.0, -2, -20, 72]), integer=np.array([True, False, False, False]))
    result = mo.solve(form, "highs")
    assert result.status is not mo.Status.OPTIMAL
    assert unbounded_integer_ray(form)
    assert unbounded_integer_ray(form.replace(q=-form.q, lower=np.full(4, -9.0), upper=np.full(4, 9.0))) == ""
    assert unbounded_integer_ray(form.replace(q=np.array(rows[0]))) == ""  # the first row holds it


def test_a_rational_ray_proves_that_integers_have_no_least_value() -> None:
    """SCIP and Gurobi say unbounded, without a ray; a HiGHS of SciPy 1.17 calls -4 the optimum."""
    rows = [[-3.0, 4, 2, 2, 3], [2, -1, -2, 0, 0]]
    form = _form(rows, [14.0, 1], q=np.array([3.0, 2, 1, 2, 4]), integer=np.array([True, True, True, False, False]))
    form = form.replace(lower=np.array([-np.inf, 0, -np.inf, 0, -3]), upper=np.array([2.0, np.inf, np.inf, np.inf, 3]))
    result = _judged(form, mo.Status.UNBOUNDED)
    assert result.status is mo.Status.UNBOUNDED
    assert result.evidence.startswith("proved")
    held = _judged(form.replace(lower=np.array([-9.0, 0, -9, 0, -3])), mo.Status.UNBOUNDED)
    assert held.status is not mo.Status.UNBOUNDED


def test_mixed_integer_infeasibility_is_a_claim() -> None:
    pytest.importorskip("pyscipopt", reason="pyscipopt is not installed")
    form = _form([[2.0, 2.0], [-2.0, -2.0]], [-1.0, 1.0])  # x1 + x2 = 1/2
    form = form.replace(integer=np.array([True, True]), lower=np.full(2, -5.0), upper=np.full(2, 5.0))
    result = mo.solve(form, "scip")
    assert result.status is mo.Status.INFEASIBLE
    assert "without a ray" in result.details["evidence"]
    # where the real numbers have no point either there are Farkas multipliers
    form = _INFEASIBLE.replace(integer=np.array([True, False]), lower=np.array([-5.0, 0.0]), upper=np.array([5.0, 1.0]))
    assert mo.solve(form, "scip").status_kind == "proved"


def test_an_infeasible_solution_file_of_mosek_is_checked(tmp_path: Any) -> None:
    head = [
        "NAME : two",
        "PROBLEM STATUS      : PRIMAL_INFEASIBLE",
        "SOLUTION STATUS     : PRIMAL_INFEASIBLE_CER",
        "",
        "CONSTRAINTS",
    ]
    table = "INDEX NAME AT ACTIVITY LOWER_LIMIT UPPER_LIMIT DUAL_LOWER DUAL_UPPER"
    for second, status in (("1", mo.Status.INFEASIBLE), ("0.5", mo.Status.INACCURATE)):
        rows = ["0 apart[0] LL 0 1 NONE 1 0", f"1 apart[1] LL 0 1 NONE {second} 0"]
        variables = ["VARIABLES", table, "0 x[0] SB 0 NONE NONE 0 0", "1 x[1] SB 0 NONE NONE 0 0"]
        (tmp_path / "m.sol").write_text("\n".join([*head, table, *rows, "", *variables, ""]))
        result = mo.io.read_solution(_INFEASIBLE, tmp_path / "m.sol")
        assert result.status is status
        assert result.claim.status is mo.Status.INFEASIBLE
        assert not result.values


def _open_cone(seed: int) -> StandardForm:
    """Equations and a second-order cone, with a planted direction that meets both: that is computed but for rounding."""
    rng, n = np.random.default_rng(seed), 6
    E, F, point = rng.normal(size=(2, n)), rng.normal(size=(3, n)), rng.normal(size=n)
    d = np.linalg.svd(E)[2][2:].T @ rng.normal(size=n - 2)
    along = F @ d
    F[0] += (2.0 * np.linalg.norm(along[1:]) + 1.0 - along[0]) * d / (d @ d)
    side = np.array([np.linalg.norm(F @ point) + 1.0, 0.0, 0.0])
    rows = (
        Constraint("equations", sp.csr_array(E), -E @ point, Zero(2)),
        Constraint("cone", sp.csr_array(F), side, SecondOrder(3)),
    )
    free = np.full(n, np.inf)
    return StandardForm("open", (Block("x", (n,)),), -d, rows, -free, free, np.zeros(n, dtype=bool))


@pytest.mark.parametrize("solver", ["clarabel", "scs"])
@pytest.mark.parametrize("seed", range(3))
def test_rays_beside_equations_are_proved_in_rational_arithmetic(solver: str, seed: int) -> None:
    """No direction of doubles meets two equations of doubles exactly: these stayed claims."""
    result = mo.solve(_open_cone(seed), solver)
    assert result.status is mo.Status.UNBOUNDED
    assert result.status_kind == "proved"


def test_a_direction_beside_no_ray_is_no_proof() -> None:
    """x = y and (1 + 1e-9)x = y have the origin alone: (1, 1) misses them by 1e-9."""
    E = sp.csr_array(np.array([[1.0, -1.0], [1.0 + 1e-9, -1.0]]))
    free = np.full(2, np.inf)
    rows = (Constraint("equations", E, np.zeros(2), Zero(2)),)
    form = StandardForm("point", (Block("x", (2,)),), -np.ones(2), rows, -free, free, np.zeros(2, dtype=bool))
    result = _judged(form, mo.Status.UNBOUNDED, ray={"x": np.ones(2)})
    assert result.status_kind != "proved"


def test_what_is_too_large_for_rational_arithmetic_is_not_begun(monkeypatch: pytest.MonkeyPatch) -> None:
    """Many variables in few rows were an error; a factor of 40 dense rows of 300 was multiplied out for 13 s."""
    n = 200_001
    free = np.full(n, np.inf)
    rows = (
        Constraint("rows", sp.csr_array(([1.0, 1.0], [0, 1], [0, 1, 2]), shape=(2, n)), np.array([-1.0, 0.0]), Nonnegative(2)),
    )
    many = StandardForm("many", (Block("x", (n,)),), -np.ones(n), rows, -free, free, np.zeros(n, dtype=bool))
    assert not farkas_exists(many, {"rows": np.ones(2)})
    assert not ray_exists(many, np.ones(n))

    def begun(form: StandardForm) -> None:
        raise AssertionError(form)

    monkeypatch.setattr(rational_rays, "RationalForm", begun)
    factored = many.replace(blocks=(Block("x", (300,)),), q=-np.ones(300), constraints=(), lower=-free[:300], upper=free[:300],
        integer=np.zeros(300, dtype=bool), quadratic=Quadratic(factor=np.ones((40, 300))))  # fmt: skip
    assert not ray_exists(factored, np.ones(300))


@pytest.mark.parametrize("shift", [0.0, 50.0])
@pytest.mark.parametrize("slope", [-1.0, 1.0])
def test_rays_in_a_semidefinite_cone_are_proved_where_they_descend(slope: float, shift: float) -> None:
    """Along the identity, with entries tied by thirds; from zero, or where points are known far along the ray alone."""
    E = sp.csr_array(np.array([[1.0 / 3.0, 0.0, -1.0 / 3.0]]))
    rows = (
        Constraint("equations", E, np.zeros(1), Zero(1)),
        Constraint("S", sp.csr_array(np.eye(3)), -shift * np.array([1.0, 0.0, 1.0]), PSD.of_order(2)),
    )
    free = np.full(3, np.inf)
    q = slope * np.array([1.0, 0.0, 1.0])
    form = StandardForm("matrices", (Block("x", (3,)),), q, rows, -free, free, np.zeros(3, dtype=bool))
    result = _judged(form, mo.Status.UNBOUNDED, ray={"x": np.array([1.0, 1e-12, 1.0 + 1e-12])})
    assert (result.status_kind == "proved") is (slope < 0.0)
    assert (result.status is mo.Status.UNBOUNDED) is (slope < 0.0)


@pytest.mark.parametrize("solver", ["highs", "clarabel"])
def test_an_unbounded_composition_says_what_holds_nothing_back(solver: str) -> None:
    """A ball with slack and no regulariser, around points on one side of the origin."""
    X = 1.0 + np.abs(np.random.default_rng(0).normal(size=(12, 2)))
    model = mo.Margin(X, np.where(np.arange(12) > 0, 1.0, -1.0), "svdd", "none")
    result = mo.solve(model, solver)
    assert result.status is mo.Status.UNBOUNDED
    assert result.ray is not None and set(result.ray) >= {"w", "level"} and "w, level" in result.evidence


@pytest.mark.parametrize("solver", ["highs", "clarabel", "scip"])
def test_bounds_that_cross_are_proof_enough(solver: str) -> None:
    """Solvers see them before they compute, and give no multipliers, or others that say nothing."""
    form = _form([[1.0, 1.0]], [-1.0], lower=np.zeros(2), upper=np.array([5.0, -1.0]))
    result = mo.solve(form, solver)
    assert result.status is mo.Status.INFEASIBLE
    assert result.status_kind == "proved"
    open_again = _form([[1.0, 1.0]], [-1.0], lower=np.zeros(2), upper=np.array([5.0, 1.0]))
    assert mo.solve(open_again, solver).status is mo.Status.OPTIMAL
