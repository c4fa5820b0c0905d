"""Exponential and power cones: membership never falsely claimed (mpmath), projections by Moreau, forms through every package."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp

from marginopt.errors import DataError, InputError
from marginopt.models import Block, Constraint, Exponential, Nonnegative, Power, Quadratic, StandardForm, Zero
from marginopt.models.export.file_formats import read_form, write_form
from marginopt.models.program.dual import dual_form
from marginopt.models.program.lagrangian import dual_bound_value
from marginopt.models.rounding import entropy, exponential, logarithm, logarithm_of_one_plus, softplus
from marginopt.solvers.records import Options, Status
from marginopt.solvers.registry import get_solver
from marginopt.solvers.solve import solve_problem

mp = pytest.importorskip("mpmath")
RNG = np.random.default_rng(51)
N = 1000
ALPHAS = (0.5, 1 / 3, 0.9, 1e-3)
CONES = (Exponential(3, N), *(Power(3, N, alpha) for alpha in ALPHAS))


@pytest.fixture(autouse=True)
def precision():
    """Some 90 digits."""
    with mp.workprec(300):
        yield


def holds(cone, row) -> bool:
    """Decide if a cone holds a row of doubles, to 300 bits."""
    x, y, z = (mp.mpf(float(v)) for v in row)
    if isinstance(cone, Exponential):
        return (mp.log(z) - mp.log(y) >= x / y) if y > 0 and z > 0 else bool(y == 0 and x <= 0 and z >= 0)
    if x < 0 or y < 0 or (z != 0 and (x == 0 or y == 0)):
        return False
    alpha = mp.mpf(cone.alpha)
    return bool(z == 0 or alpha * mp.log(x) + (1 - alpha) * mp.log(y) >= mp.log(abs(z)))


def dual_holds(cone, row) -> bool:
    """The same of the dual cone, from its definition."""
    u, v, w = (mp.mpf(float(t)) for t in row)
    if isinstance(cone, Exponential):
        return (mp.log(w) - mp.log(-u) >= v / u - 1) if u < 0 and w > 0 else bool(u == 0 and v >= 0 and w >= 0)
    alpha = mp.mpf(cone.alpha)
    if u < 0 or v < 0 or (w != 0 and (u == 0 or v == 0)):
        return False
    return bool(w == 0 or alpha * mp.log(u / alpha) + (1 - alpha) * mp.log(v / (1 - alpha)) >= mp.log(abs(w)))


def ill_scaled(cone) -> np.ndarray:
    """Half: within 2^-53 to 2^-30 of the boundary; half: entries of 10^-150 to 10^150 of either sign; some zeros."""
    rows = RNG.normal(size=(N, 3)) * 10.0 ** RNG.uniform(-150, 150, (N, 3))
    half, near = N // 2, 1.0 + RNG.integers(-8, 9, N // 2) * 2.0 ** -RNG.integers(30.0, 54.0, N // 2)
    first, second = 10.0 ** RNG.uniform(-12, 12, (2, half))
    if isinstance(cone, Exponential):
        ratio = RNG.normal(size=half) * 10.0 ** RNG.uniform(-3, 2.3, half)
        rows[:half] = np.column_stack([ratio * first, first, first * np.exp(ratio) * near])
    else:
        rows[:half] = np.column_stack([first, second, first**cone.alpha * second ** (1 - cone.alpha) * near])
    rows[RNG.random((N, 3)) < 0.02] = 0.0
    return np.clip(rows, -1e300, 1e300)


@pytest.mark.parametrize(
    ("ours", "exact", "points"),
    [
        (exponential, mp.exp, lambda: np.concatenate([RNG.uniform(-699, 708, N), (np.arange(-900, 900) + 0.5) * np.log(2.0)])),
        (logarithm, mp.log, lambda: np.concatenate([np.exp(RNG.uniform(-740, 708, N)), 1 + 1e-9 * RNG.normal(size=N), [5e-324]])),
        (logarithm_of_one_plus, lambda t: mp.log(1 + t), lambda: np.append(np.exp(RNG.uniform(-300, 0, N)), [0.0, 1.0])),
        (softplus, lambda t: mp.log(1 + mp.exp(t)), lambda: np.concatenate([10 * RNG.normal(size=N), RNG.uniform(-690, 700, N)])),
    ],
)
def test_errors_are_bounds_and_small(ours, exact, points) -> None:
    mp.mp.prec = 1200  # for log(1 + e^-700)
    x = np.clip(points(), -690.0 if ours is softplus else -699.0, 708.0) if ours in (exponential, softplus) else points()
    value, error = ours(x)
    assert (error <= 1e-13 * (1.0 + np.abs(value)) + 1e-300).all()
    for t, v, e in zip(x.tolist(), value.tolist(), error.tolist(), strict=True):
        assert abs(mp.mpf(v) - exact(mp.mpf(t))) <= mp.mpf(e)


@pytest.mark.parametrize("c", [1.0, 0.1, 1e-9, 1e12])
def test_entropy_is_within_its_error_relatively(c: float) -> None:
    share = np.concatenate([RNG.uniform(size=N // 2), np.exp(-30 * RNG.exponential(size=N // 2)), [0.0, 1.0]])
    mp.mp.prec = 1200
    a = np.concatenate([c * share, c - c * share])
    value, error = entropy(a, c)
    assert (error <= 1e-13 * value).all()
    C = mp.mpf(c)
    for t, v, e in zip(a.tolist(), value.tolist(), error.tolist(), strict=True):
        b = C - mp.mpf(t)
        exact = (mp.mpf(t) * mp.log(C / mp.mpf(t)) if t else mp.mpf(0)) + (b * mp.log(C / b) if b else mp.mpf(0))
        assert abs(mp.mpf(v) - exact) <= mp.mpf(e)


def test_values_beyond_the_range_are_bounded() -> None:
    value, error = exponential(np.array([-1e4, 1e4, -np.inf]))
    assert value.tolist() == [0.0, np.inf, 0.0] and error[0] > 0.0 and error[1] == np.inf
    assert logarithm(np.zeros(1))[0][0] == -np.inf


@pytest.mark.parametrize("cone", CONES, ids=str)
def test_no_membership_is_false(cone) -> None:
    rows = ill_scaled(cone)
    inside = cone.surely_inside(rows.ravel())
    exact = np.array([holds(cone, row) for row in rows])
    assert not (inside & ~exact).any() and (inside == exact)[N // 2 :].all() and inside.any() and not inside.all()


@pytest.mark.parametrize("cone", CONES, ids=str)
def test_no_dual_membership_is_false(cone) -> None:
    rows = np.linalg.solve(cone.dual_map, ill_scaled(cone).T).T  # near the boundary of the dual
    inside = cone.surely_inside_dual(rows.ravel())
    assert not (inside & ~np.array([dual_holds(cone, row) for row in rows])).any() and inside.any() and not inside.all()


@pytest.mark.parametrize("cone", CONES, ids=str)
@pytest.mark.parametrize("spread", [0.0, 6.0, 100.0])
def test_repaired_multipliers_are_in_the_dual(cone, spread: float) -> None:
    z = RNG.normal(size=(N, 3)) * 10.0 ** RNG.uniform(-spread, spread, (N, 3))
    repaired = cone.moved_into_dual(z.ravel()).reshape(N, 3)
    assert all(dual_holds(cone, row) for row in repaired)
    moved = np.abs(repaired - cone.project_dual(z.ravel()).reshape(N, 3)).max(axis=1) / np.abs(z).max(axis=1)
    assert np.quantile(moved, 0.99) <= 1e-9 and (spread or moved.max() <= 1e-9)


@pytest.mark.parametrize("cone", CONES, ids=str)
def test_projection_is_moreaus(cone) -> None:
    v = RNG.normal(size=(N, 3)) * 10.0 ** RNG.uniform(-3, 3, (N, 3))
    p, size = cone.project(v.ravel()).reshape(N, 3), np.abs(v).max(axis=1)
    inward = 1e-9 * size[:, None] * cone.interior_direction.reshape(N, 3)
    assert (np.abs((p * (p - v)).sum(axis=1)) <= 1e-12 * size**2).all()
    assert cone.surely_inside((p + inward).ravel()).all() and cone.surely_inside_dual((p - v + inward).ravel()).all()
    assert cone.violation(p.ravel()) <= 1e-9 * size.max()
    assert cone.surely_inside(cone.interior_direction).all() and cone.surely_inside_dual(cone.interior_direction).all()


@pytest.mark.parametrize("cone", CONES[:3], ids=str)
def test_depth_is_the_radius_of_a_ball_inside(cone) -> None:
    rows = cone.interior_direction.reshape(N, 3) + 0.6 * RNG.normal(size=(N, 3))
    for depth, check in ((cone.depth, holds), (cone.dual_depth, dual_holds)):
        radius = depth(rows.ravel())
        assert (radius > 0.0).any()
        direction = RNG.normal(size=(N, 3))
        moved = rows + 0.999 * radius[:, None] * direction / np.linalg.norm(direction, axis=1)[:, None]
        assert all(check(cone, row) for row in moved[radius > 0.0])


def test_bad_cones_are_refused() -> None:
    for make in (lambda: Exponential(4), lambda: Power(2), lambda: Power(alpha=1.0), lambda: Power(alpha=float("nan"))):
        with pytest.raises(InputError):
            make()


# Forms: an entropy maximisation and a geometric one with known optima, and the logistic regression of two points.


def entropy_form() -> StandardForm:
    """max Σ -p log p, Σ p = 1: log 4. (t, p, 1) in the exponential cone is t ≤ -p log p."""
    n = 4
    rows = sp.csr_array((np.ones(2 * n), (np.concatenate([3 * np.arange(n), 3 * np.arange(n) + 1]), np.arange(2 * n))), (12, 8))
    cones = Constraint("entropy", rows, np.tile([0.0, 0.0, 1.0], n), Exponential(3, n))
    total = Constraint("sum", sp.csr_array(np.repeat([[0.0, 1.0]], n, axis=1)), -np.ones(1), Zero(1))
    free = np.full(2 * n, np.inf)
    blocks = (Block("t", (n,)), Block("p", (n,)))
    return StandardForm(
        "entropy", blocks, np.repeat([-1.0, 0.0], n), (cones, total), -free, free, np.zeros(2 * n, bool), maximise=True
    )


def power_form(alpha: float = 0.3) -> StandardForm:
    """min x + 2y, x^α y^{1-α} ≥ 2: 2 (1/α)^α (2/(1-α))^{1-α}."""
    cones = Constraint("power", sp.csr_array(np.eye(3)[:, :2]), np.array([0.0, 0.0, 2.0]), Power(alpha=alpha))
    free = np.full(2, np.inf)
    return StandardForm("power", (Block("x", (2,)),), np.array([1.0, 2.0]), (cones,), -free, free, np.zeros(2, bool))


def mixed_form() -> StandardForm:
    """Two of each cone beside a row and a quadratic objective; the origin is feasible."""
    rng = np.random.default_rng(3)
    parts = (
        Constraint("exp", sp.csr_array(rng.normal(size=(6, 3))), np.tile([-1.0, 1.0, 2.0], 2), Exponential(3, 2)),
        Constraint("row", sp.csr_array(rng.normal(size=(2, 3))), np.ones(2), Nonnegative(2)),
        Constraint("pow", sp.csr_array(rng.normal(size=(6, 3))), np.tile([1.0, 2.0, 0.3], 2), Power(3, 2, 0.3)),
        Constraint("other", sp.csr_array(rng.normal(size=(3, 3))), np.array([1.0, 2.0, -0.3]), Power(alpha=1 / 3)),
    )
    free = np.full(3, np.inf)
    P = Quadratic(factor=rng.normal(size=(2, 3)))
    return StandardForm("mixed", (Block("x", (3,)),), rng.normal(size=3), parts, -free, free, np.zeros(3, bool), P, 0.5)


OPTIMA = {
    "entropy": (entropy_form, np.log(4.0)),
    "power": (power_form, 2.0 * (1 / 0.3) ** 0.3 * (2 / 0.7) ** 0.7),
}


@pytest.mark.parametrize("name", OPTIMA)
@pytest.mark.parametrize("solver", ["clarabel", "scs"])
def test_optimum_bound_and_multipliers(name: str, solver: str) -> None:
    make, optimum = OPTIMA[name]
    form = make()
    result = solve_problem(form, solver, Options(tol=1e-7))
    assert result.status is Status.OPTIMAL and result.objective == pytest.approx(optimum, abs=2e-6)
    least = -optimum if form.maximise else optimum
    assert least - 1e-5 <= result.certificate.bound <= least + 1e-12 * abs(least)
    for c in form.constraints:
        if c.cone.dual_map is not None:
            assert c.cone.dual_violation(np.asarray(result.multipliers[c.label])) <= 1e-6
    z = {c.label: RNG.normal(size=c.rows) for c in form.constraints}
    assert dual_bound_value(form, None, z) <= least + 1e-12 * abs(least)
    pushed = {k: np.asarray(v) + 1e-3 * RNG.normal(size=np.size(v)) for k, v in result.multipliers.items()}
    assert dual_bound_value(form, None, pushed) <= least + 1e-12 * abs(least)


@pytest.mark.parametrize("name", OPTIMA)
def test_the_dual_has_the_same_optimum(name: str) -> None:
    make, optimum = OPTIMA[name]
    dual = dual_form(make())
    assert solve_problem(dual, "clarabel", Options(tol=1e-8)).objective == pytest.approx(optimum, rel=1e-6)
    back = dual_form(dual)
    assert solve_problem(back, "clarabel", Options(tol=1e-8)).objective == pytest.approx(optimum, rel=1e-6)


def test_what_no_point_satisfies_is_proved() -> None:
    one = sp.csr_array(np.eye(3)[:, :1])
    cone = Constraint("exp", one, np.array([0.0, 1.0, 2.0]), Exponential())  # e^x ≤ 2
    row = Constraint("row", sp.csr_array(np.ones((1, 1))), -np.ones(1), Nonnegative(1))  # x ≥ 1
    free = np.full(1, np.inf)
    form = StandardForm("empty", (Block("x", ()),), np.ones(1), (cone, row), -free, free, np.zeros(1, bool))
    result = solve_problem(form, "clarabel", Options())
    assert result.status is Status.INFEASIBLE


@pytest.mark.parametrize("suffix", ["cbf", "mof.json", "npz"])
def test_files_hold_them(tmp_path, suffix: str) -> None:
    form = mixed_form()
    if suffix == "cbf":
        form = form.replace(quadratic=None)
    path = tmp_path / f"mixed.{suffix}"
    write_form(form, path)
    back = read_form(path)
    for ours, theirs in zip(form.constraints, back.constraints, strict=True):
        assert ours.label == theirs.label and ours.cone == theirs.cone
        assert (ours.F != theirs.F).nnz == 0 and (ours.g == theirs.g).all()
    if suffix != "npz":  # without our layout: one constraint for each cone
        text = path.read_text().replace("marginopt layout", "a layout")
        path.unlink()
        for side in tmp_path.iterdir():
            side.unlink()
        path.write_text(text)
        plain = read_form(path)
        assert [str(c.cone) for c in plain.constraints if c.cone.dual_map is not None] == [
            "Exponential(3)", "Exponential(3)", "Power(alpha 0.3)", "Power(alpha 0.3)", "Power(alpha 0.333333)",
        ]  # fmt: skip
        same, ours = solve_problem(plain, "clarabel", Options()), solve_problem(form, "clarabel", Options())
        assert same.objective == pytest.approx(ours.objective, rel=1e-7)


def test_dual_cones_of_files_are_read(tmp_path) -> None:
    text = "VER\n3\nOBJSENSE\nMIN\nVAR\n3 1\nF 3\nPOW*CONES\n1 2\n2\n1.0\n3.0\nCON\n6 2\nEXP* 3\n@0:POW* 3\nACOORD\n6\n"
    path = tmp_path / "dual.cbf"
    path.write_text(text + "".join(f"{i} {i % 3} 1.0\n" for i in range(6)))
    first, second = read_form(path).constraints
    for _ in range(50):
        x = RNG.normal(size=3)
        assert first.cone.surely_inside(first.value(x))[0] == Exponential().surely_inside_dual(x[::-1].copy())[0]
        assert second.cone.surely_inside(second.value(x))[0] == Power(alpha=0.25).surely_inside_dual(x)[0]


@pytest.mark.parametrize(
    "cone", ["@0:POW 4", "@1:POW 3", "@0:POW* 3", "EXP 4", "SVECPSD 3"], ids=["rows", "number", "dual", "exp", "unknown"]
)
def test_other_domains_of_files_are_refused(tmp_path, cone: str) -> None:
    size = cone.split()[1]
    path = tmp_path / "bad.cbf"
    path.write_text(f"VER\n3\nOBJSENSE\nMIN\nPOWCONES\n1 2\n2\n1.0\n3.0\nVAR\n{size} 1\n{cone}\n")
    with pytest.raises(DataError):
        read_form(path)


@pytest.mark.parametrize("make", [entropy_form, power_form, mixed_form])
def test_cvxpy_and_back(make) -> None:
    cp = pytest.importorskip("cvxpy")
    from marginopt.models import from_cvxpy
    from marginopt.models.export.cvxpy_problem import multipliers, to_cvxpy

    form = make()
    problem = to_cvxpy(form)
    problem.solve(solver=cp.CLARABEL)
    ours = solve_problem(form, "clarabel", Options(tol=1e-8))
    sign = -1.0 if form.maximise else 1.0
    assert problem.value == pytest.approx(sign * ours.objective, abs=1e-6)
    z, _ = multipliers(form, problem)
    for label, value in ours.multipliers.items():
        assert np.allclose(z[label], value, atol=2e-4 * (1 + np.abs(value).max()))
    taken = from_cvxpy(problem)
    assert solve_problem(taken, "clarabel", Options()).objective == pytest.approx(problem.value, abs=1e-6)


def test_pyomo_states_the_cones() -> None:
    pyo = pytest.importorskip("pyomo.environ")
    from marginopt.models.export.pyomo_model import to_pyomo

    form = mixed_form()
    model = to_pyomo(form)
    for _ in range(200):
        x = RNG.normal(size=3) * 10.0 ** RNG.uniform(-2, 0.3)
        for i in range(3):
            model.x[i].set_value(x[i])
        for c in form.constraints:
            if c.cone.dual_map is None:
                continue
            value = c.value(x)
            bases = c.cone.by_cone(value)[:, [1]] if isinstance(c.cone, Exponential) else c.cone.by_cone(value)[:, :2]
            if ((bases > 0.0) & (bases <= 0.02)).any():
                continue  # e^{x/y} overflows
            auxiliary = getattr(model, f"{c.label}_value")
            for i in auxiliary:
                auxiliary[i].set_value(max(value[i], 0.02))
            body = [pyo.value(row.body) for row in getattr(model, c.label).values()]
            assert ((np.array(body) <= 0.0).all() and (bases > 0.0).all()) == c.cone.surely_inside(value).all()


def test_mosek_holds_them() -> None:
    pytest.importorskip("mosek", reason="MOSEK is not installed")
    from mosek_reader import form_of_task

    from marginopt.models.export.mosek_task import to_mosek

    form = mixed_form().replace(quadratic=None)
    with to_mosek(form) as task:
        back = {c.label: c for c in form_of_task(task).constraints}
    for c in form.constraints:
        assert back[c.label].cone == c.cone
        assert np.array_equal(back[c.label].F.toarray(), c.F.toarray()) and np.array_equal(back[c.label].g, c.g)
    with to_mosek(mixed_form()) as task:
        assert task.getnumacc() == 6  # the objective in a rotated cone


@pytest.mark.parametrize("solver", ["gurobi", "scip"])
def test_solvers_of_nonlinear_constraints_agree_with_the_conic_one(solver: str) -> None:
    """Variable and constant scales and bases, bases without a point, and cones that are halfspaces."""
    package = {"gurobi": "gurobipy", "scip": "pyscipopt"}[solver]
    pytest.importorskip(package, reason=f"{package} is not installed")
    box = {"lower": np.full(3, -4.0), "upper": np.full(3, 4.0)}
    first = sp.csr_array(np.outer(np.eye(3)[0], np.eye(3)[0]))
    power = Constraint("power", first[[1, 0, 2]], np.array([2.0, 0.0, 1.5]), Power(alpha=0.3))
    flat = Constraint("flat", first[[1, 2, 0]], np.array([-1.0, 0.0, -2.0]), Exponential())
    constants = [(power, 1.5 ** (1 / 0.7) * 2 ** (-3 / 7)), (flat, 2.0)]
    for constraint, optimum in constants:
        form = mixed_form().replace(constraints=(constraint,), quadratic=None, q=np.array([1.0, 0.0, 0.0]), r=0.0, **box)
        native = get_solver(solver).solve_form(form, Options())
        assert native.objective == pytest.approx(optimum, rel=1e-6)
    empty = Constraint("power", first[[1, 0, 2]], np.array([-2.0, 0.0, 0.0]), Power(alpha=0.3))
    assert solve_problem(form.replace(constraints=(empty,)), solver, Options()).status is Status.INFEASIBLE
    form = power_form().replace(lower=np.full(2, -20.0), upper=np.full(2, 20.0))
    result = solve_problem(form, solver, Options())
    assert result.objective == pytest.approx(OPTIMA["power"][1], rel=2e-6) and result.bound <= OPTIMA["power"][1] * (1 + 1e-6)
