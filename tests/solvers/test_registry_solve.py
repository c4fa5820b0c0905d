"""Asking for solvers by name, refusals with reasons, `auto`, and what a result says of itself."""

from __future__ import annotations

import sys
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pytest
import scipy.sparse as sp
from facts import about, missing, unlicensed

from marginopt.errors import (
    InputError,
    LicenceError,
    MarginoptWarning,
    MissingPackageError,
    TooLargeError,
    UnsupportedModelError,
)
from marginopt.models import ConicSVM, HardMarginSVM, HingeSVM, L2SVMDual, MEBDual, SimplexQP, StandardForm, ZeroOneSVM
from marginopt.models.model import BareForm, Model
from marginopt.models.program.cones import Feature, Nonnegative
from marginopt.models.program.form import Block, Constraint
from marginopt.models.program.quadratic import Quadratic
from marginopt.solvers import registry
from marginopt.solvers.backends.clarabel import Clarabel
from marginopt.solvers.interface.backend import Backend, BridgeChain, missing_features
from marginopt.solvers.interface.native_options import start_point, started_variables
from marginopt.solvers.interface.solver import OPEN_LICENCE, Gives, Licence, LicenceState, Purpose, Solver, SolverInfo
from marginopt.solvers.records import Answer, Options, Status
from marginopt.solvers.registry import all_solvers, get_solver, is_installed, require, solvers, solvers_that_read
from marginopt.solvers.solve import solve_problem

ALL_CONES = frozenset({Feature.QUADRATIC, Feature.SECOND_ORDER, Feature.ROTATED, Feature.PSD})


@dataclass(frozen=True)
class Fake(Backend):
    """A backend that hands everything to Clarabel, with a record and licence of its own."""

    terms: Licence = OPEN_LICENCE
    info: ClassVar[SolverInfo] = replace(Clarabel.info, name="fake")

    def licence(self) -> Licence:
        """The given one."""
        return self.terms

    def solve_form(self, form: StandardForm, options: Options) -> Answer:
        """Clarabel's answer."""
        return Clarabel().solve_form(form, options)


def fake(terms: Licence = OPEN_LICENCE, **record: Any) -> Solver:
    kind = type("Fake", (Fake,), {"info": replace(Fake.info, **record)})
    return kind(terms)  # type: ignore[no-any-return]


# -- names ------------------------------------------------------------------------------------------------------


def test_names() -> None:
    assert get_solver("Clarabel") is get_solver("clarabel")
    assert "clarabel" in all_solvers(discover=False)
    for name, solver in all_solvers().items():
        assert solver.info.name == name == name.lower()
        assert solver.info.summary
        assert solver.info.views or isinstance(solver, Backend)


@pytest.mark.parametrize(
    ("name", "argument", "allowed"),
    [
        ("clarable", "clarable", ["auto", "clarabel"]),
        ("", "", ["auto", "clarabel"]),
        (None, "solver", []),
        (["clarabel"], "solver", []),
        (Clarabel, "solver", []),
    ],
)
def test_unknown_solvers(overlapping: Any, name: Any, argument: str, allowed: list[str]) -> None:
    with pytest.raises(InputError, check=about(argument, allowed=allowed)):
        solve_problem(HingeSVM(overlapping.X, overlapping.y), name, Options())


@pytest.mark.parametrize("prefix", ["", "cvxpy:"])
def test_a_solver_that_another_package_reaches_and_does_not_find_names_what_is_missing(prefix: str) -> None:
    absent = [name for name in ("ecos", "copt", "cvxopt") if {name, f"cvxpy:{name}"}.isdisjoint(all_solvers())]
    if not absent:
        pytest.skip("ECOS, COPT and CVXOPT are all installed")
    with pytest.raises(MissingPackageError, check=missing(absent[0])):
        get_solver(prefix + absent[0])


def test_an_unknown_solver_is_one_without_cvxpy_too(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "cvxpy.reductions.solvers.defines", None)
    with pytest.raises(InputError, check=about("clarable")):
        get_solver("clarable")


@pytest.mark.parametrize("thing", [None, 3, np.eye(2), HingeSVM])
def test_not_a_model(thing: Any) -> None:
    with pytest.raises(InputError, check=about("model")):
        solve_problem(thing, "clarabel", Options())


def test_table() -> None:
    table = solvers()
    text = str(table)
    row = next(r for r in table.rows if r["name"] == "clarabel")
    assert row["installed"] == "yes"
    assert row["licence"] == "none needed"
    assert "positive semidefinite cones" in row["reads"]
    assert {r["name"] for r in table.rows} == set(all_solvers())
    assert all(r["name"] in text for r in table.rows)
    page = table._repr_html_()
    assert page.count("<tr>") == len(table.rows) + 1


# -- refusals ---------------------------------------------------------------------------------------------------


def test_missing_feature_names_who_can(overlapping: Any) -> None:
    model = ZeroOneSVM(overlapping.X, overlapping.y)
    with pytest.raises(UnsupportedModelError, check=about("clarabel")):
        solve_problem(model, "clarabel", Options())
    linear = fake(name="lp", reads=frozenset())
    with pytest.raises(UnsupportedModelError, check=about("lp")):
        solve_problem(ConicSVM(overlapping.X, overlapping.y, lam=1.0), linear, Options())


def test_forbidden_mixtures(overlapping: Any) -> None:
    features = frozenset({Feature.QUADRATIC, Feature.INTEGER})
    highs = fake(name="no-miqp", reads=features, forbids=(features,))
    problem = ZeroOneSVM(overlapping.X, overlapping.y)
    assert highs.obstacle(problem) == "it does not read integer variables together with quadratic objective"
    assert highs.obstacle(HingeSVM(overlapping.X, overlapping.y)) is None
    # beside cones the quadratic objective becomes an epigraph instead
    mosek = SolverInfo("mosek-like", "", reads=ALL_CONES, forbids=(frozenset({Feature.QUADRATIC, Feature.ROTATED}),))
    eye = sp.csr_array(np.eye(3))
    from marginopt.models.program.cones import RotatedSecondOrder

    form = HingeSVM(overlapping.X, overlapping.y).form
    cone = Constraint("cone", sp.csr_array(sp.hstack([eye, sp.csr_array((3, form.n - 3))])), np.ones(3), RotatedSecondOrder(3))
    mixed = form.replace(constraints=(*form.constraints, cone))
    assert missing_features(mixed, mosek) == ""
    assert BridgeChain.plan(mixed, mosek).names == ("EpigraphBridge",)
    assert BridgeChain.plan(form, mosek).target is form


def test_missing_package(overlapping: Any) -> None:
    model = HingeSVM(overlapping.X, overlapping.y)
    absent = fake(name="absent", module="a_module_that_is_not_there", package="absent-package")
    assert not is_installed(absent)
    with pytest.raises(MissingPackageError, check=missing("absent-package")):
        solve_problem(model, absent, Options())
    extra = fake(name="absent", module="not_there.at_all", package="x", extra="commercial")
    with pytest.raises(ImportError, check=missing("x")):
        require(extra)


@pytest.mark.parametrize("state", [LicenceState.MISSING, LicenceState.EXPIRED])
def test_unusable_licences(overlapping: Any, state: LicenceState) -> None:
    locked = fake(Licence(state, "renew it"), name="locked")
    with pytest.raises(LicenceError, check=unlicensed("locked")):
        solve_problem(HingeSVM(overlapping.X, overlapping.y), locked, Options())


def test_licences_of_restricted_size(overlapping: Any) -> None:
    small = Licence(LicenceState.RESTRICTED, "free", limit=2000, quadratic_limit=10)
    model = HingeSVM(overlapping.X, overlapping.y)
    with pytest.raises(LicenceError, check=unlicensed("tiny")):
        solve_problem(model, fake(small, name="tiny"), Options())
    enough = Licence(LicenceState.RESTRICTED, "free", limit=2000, quadratic_limit=19)
    assert solve_problem(model, fake(enough), Options()).licence == "restricted size"


def test_too_large(overlapping: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MARGINOPT_MAX_BYTES", "500")
    model = HingeSVM(overlapping.X, overlapping.y)
    with pytest.raises(TooLargeError, check=about("X")):
        solve_problem(model, "clarabel", Options())
    assert solvers_that_read(model) == ["linear-newton"]  # which needs no form, and nobody else is asked to fail


# -- auto -------------------------------------------------------------------------------------------------------


def test_auto_says_why(overlapping: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    locked = fake(Licence(LicenceState.MISSING, "buy"), name="gurobi", reads=ALL_CONES, rank={Purpose.MIXED_INTEGER: 1})
    absent = fake(name="piqp", module="not_there", rank={Purpose.QUADRATIC: 1})
    table = {"piqp": absent, "clarabel": get_solver("clarabel"), "gurobi": locked}
    monkeypatch.setattr(registry, "all_solvers", lambda *, discover: table)
    result = solve_problem(HingeSVM(overlapping.X, overlapping.y), "auto", Options())
    assert result.solver == "clarabel"
    assert result.details["picked"].startswith("clarabel: ") and "piqp" in result.details["picked"]
    monkeypatch.setattr(registry, "all_solvers", lambda *, discover: {"gurobi": locked})
    with pytest.raises(UnsupportedModelError, check=about("ZeroOneSVM")):
        solve_problem(ZeroOneSVM(overlapping.X, overlapping.y), "AUTO", Options())


def test_auto_by_class_of_problem(overlapping: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    known = all_solvers(discover=False)
    everything = {
        name: fake(name=name, reads=frozenset(Feature), rank=solver.info.rank)
        for name, solver in known.items()
        if solver.info.rank and solver.reads_form
    }
    monkeypatch.setattr(registry, "all_solvers", lambda *, discover: everything)
    X, y = overlapping.X, overlapping.y
    linear = HingeSVM(X, y).form.replace(quadratic=None)
    for model, first in (
        (HingeSVM(X, y), "piqp"),
        (ConicSVM(X, y, lam=1.0), "clarabel"),
        (ZeroOneSVM(X, y), "gurobi"),
        (BareForm(linear), "highs"),
    ):
        assert registry.choose_solver(model, Options())[0] == first


@pytest.mark.parametrize("purpose", list(Purpose))
def test_every_class_of_problems_has_its_solvers_in_one_order(purpose: Purpose) -> None:
    ranks = [solver.info.rank[purpose] for solver in registry.solvers_by_rank(purpose, all_solvers(discover=False))]
    assert ranks == list(range(1, len(ranks) + 1))
    assert len(ranks) >= (1 if purpose is Purpose.NO_FORM else 2)  # rows on disk are read by one


def test_auto_does_not_build_the_form_for_a_structured_solver(overlapping: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    class Structured(Fake):
        info = SolverInfo("mfw", "reads a view", views=(SimplexQP,), rank={Purpose.STRUCTURE: 1})
        reads_form = False

        def obstacle(self, problem: Model) -> str | None:
            return None

    monkeypatch.setattr(registry, "all_solvers", lambda *, discover: {"mfw": Structured(), "clarabel": get_solver("clarabel")})
    monkeypatch.setenv("MARGINOPT_MAX_BYTES", "10")
    name, why = registry.choose_solver(L2SVMDual(overlapping.X, overlapping.y), Options())
    assert (name, why) == ("mfw", "mfw: reads the model's structure")


# -- results ----------------------------------------------------------------------------------------------------


def test_result_of_a_form_and_of_a_model_agree(overlapping: Any) -> None:
    model = HingeSVM(overlapping.X, overlapping.y, lam=0.3)
    one, two = solve_problem(model, "clarabel", Options()), solve_problem(model.form, Clarabel(), Options())
    assert one.objective == two.objective
    assert one.model == two.model == "HingeSVM"
    assert one.summary
    assert two.summary == {}
    assert one.status is two.status is Status.OPTIMAL
    assert one.options == {"seed": 0}
    assert one.version == one.version.strip() != ""
    assert one.licence == "none needed"
    assert set(one.reduced) == {"w", "xi"}  # type: ignore[arg-type]
    assert one.build_seconds >= 0
    assert one.details["bridges"] == ["BoundsToRows"]


def test_a_maximum_s_signs(overlapping: Any) -> None:
    result = solve_problem(MEBDual(overlapping.X), "clarabel", Options())
    assert result.maximise
    assert result.objective > 0
    assert result.bound >= result.objective - 1e-9 * abs(result.objective)  # from above
    assert result.certificate is not None
    assert result.claim.objective is not None
    assert result.certificate.objective == pytest.approx(-result.objective)
    assert result.claim.objective == pytest.approx(-result.objective, rel=1e-6)  # claims stay in the form's sense
    assert 0 <= result.gap <= 1e-6


def test_a_form_without_constraints() -> None:
    target = np.array([1.0, -2.0])
    form = StandardForm(
        "free",
        (Block("x", (2,)),),
        -target,
        (),
        np.full(2, -np.inf),
        np.full(2, np.inf),
        np.zeros(2, bool),
        Quadratic(matrix=np.eye(2)),
    )
    result = solve_problem(form, "clarabel", Options())
    np.testing.assert_allclose(result.values["x"], target, atol=1e-6)
    assert result.status is Status.OPTIMAL


@pytest.mark.parametrize(("rows", "status"), [([[1.0], [-1.0]], Status.INFEASIBLE), ([[1.0], [1.0]], Status.UNBOUNDED)])
def test_infeasible_and_unbounded(rows: list[list[float]], status: Status) -> None:
    form = StandardForm(
        "ray",
        (Block("x", (1,)),),
        -np.ones(1),
        (Constraint("rows", sp.csr_array(np.array(rows)), -np.ones(2), Nonnegative(2)),),
        np.full(1, -np.inf),
        np.full(1, np.inf),
        np.zeros(1, bool),
    )
    result = solve_problem(form, "clarabel", Options())
    assert result.status is status
    assert result.certificate is None
    assert not result.solved
    if status is Status.INFEASIBLE:  # f ≥ 0, F'f = 0, g'f < 0
        f = result.details["farkas"]["rows"]
        c = form.constraints[0]
        assert (f > 0).all()
        assert np.abs(c.F.T @ f).max() <= 1e-6 * f.max()
        assert c.g @ f < 0


@pytest.mark.parametrize("solver", ["clarabel", "scs", "osqp", "highs"])
def test_unknown_options_are_refused_where_no_solver_is_called(solver: str) -> None:
    """A program without variables, and data that no hyperplane separates, are decided before: the options were not read."""
    empty, none = np.zeros(0), np.zeros(0, dtype=bool)
    X = np.column_stack([np.ones(4), np.arange(4.0)])
    for model in (StandardForm("empty", (), empty, (), empty, empty, none), HardMarginSVM(X, [1.0, -1.0, 1.0, -1.0])):
        with pytest.raises(InputError) as caught:
            solve_problem(model, solver, Options(native={"nonsense": 1}))
        assert caught.value.name == "nonsense"
        assert solve_problem(model, solver, Options()).status in (Status.OPTIMAL, Status.INFEASIBLE)


def test_starts_pass_the_bridges(overlapping: Any) -> None:
    seen: list[Any] = []

    class Warm(Fake):
        info = replace(
            Clarabel.info, name="warm", reads=Clarabel.info.reads - {Feature.QUADRATIC}, gives=frozenset({Gives.WARM_START})
        )

        def solve_form(self, form: StandardForm, options: Options) -> Answer:
            seen.append(options.start)
            return super().solve_form(form, options)

    model = HingeSVM(overlapping.X, overlapping.y)
    w = np.array([1.0, 2.0, 3.0])
    solve_problem(model, Warm(), Options(start={"w": w, "xi": np.zeros(16)}))
    assert seen[-1]["epigraph"] == pytest.approx(14.0)
    for part, labels in (({"w": w}, {"w"}), ({"w[0]": 1.0, "xi": np.zeros(16)}, {"w", "xi"})):
        solve_problem(model, Warm(), Options(start=part))
        assert set(seen[-1]) == labels  # the epigraph of a point that is not known has no value


def test_starts_by_names_of_variables_reach_the_solver_by_block(overlapping: Any) -> None:
    """A solver of forms is given NaN for variables without a value; an algorithm reads whole blocks, and refuses a part."""
    seen: list[Any] = []

    class Warm(Fake):
        info = replace(Clarabel.info, name="warm", bounds=True, gives=frozenset({Gives.WARM_START}))

        def solve_form(self, form: StandardForm, options: Options) -> Answer:
            seen.append((started_variables(form, options), start_point(form, options)[0] if len(seen) < 1 else None))
            return super().solve_form(form, options)

    model = HingeSVM(overlapping.X, overlapping.y)
    x = np.arange(float(model.form.n))
    names = [name for block in model.form.blocks for name in block.names()]
    solve_problem(model, Warm(), Options(start=dict(zip(names, x.tolist(), strict=True))))
    np.testing.assert_array_equal(seen[-1][0][1], x)
    np.testing.assert_array_equal(seen[-1][1], x)
    solve_problem(model, Warm(), Options(start={"w[2]": 7.0, "xi[1]": 3.0}))
    (indices, values), _ = seen[-1]
    assert [names[j] for j in indices] == ["w[2]", "xi[1]"]
    np.testing.assert_array_equal(values, [7.0, 3.0])
    with pytest.raises(InputError, check=about("w[0]")):
        solve_problem(model, "linear-newton", Options(start={"w[2]": 7.0}))


def test_a_start_of_some_variables_is_named_where_a_solver_needs_all(overlapping: Any) -> None:
    model = HingeSVM(overlapping.X, overlapping.y)
    with pytest.warns(MarginoptWarning) as caught:
        result = solve_problem(model, "osqp", Options(start={"w[0]": 1.0}))
    assert [getattr(w.message, "name", None) for w in caught] == ["start"]
    assert "w" in result.details["start"] and result.status is Status.OPTIMAL


@pytest.mark.parametrize(
    ("solver", "words"),
    [("scip", "by completesol"), ("gurobi", "Loaded user MIP start"), ("highs", "MIP start solution is feasible")],
)
def test_mixed_integer_solvers_complete_a_start_of_some_variables(solver: str, words: str, tmp_path: Path) -> None:
    """The start is the optimum of a knapsack without one of its variables; the native log says that it was read."""
    require(get_solver(solver))
    rng = np.random.default_rng(4)
    weights, values = rng.integers(20, 90, 30).astype(float), rng.integers(20, 90, 30).astype(float)
    row = Constraint("weight", sp.csr_array(-weights[None, :]), np.array([0.4 * weights.sum()]), Nonnegative(1))
    form = StandardForm("knapsack", (Block("x", (30,)),), -values, (row,), np.zeros(30), np.ones(30), np.ones(30, dtype=bool))
    best = solve_problem(form, solver, Options())
    start = {f"x[{j}]": float(best.values["x"][j]) for j in range(29)}
    logs = [tmp_path / "with.log", tmp_path / "without.log"]
    for log, given_start in zip(logs, (start, None), strict=True):
        result = solve_problem(form, solver, Options(start=given_start, log_file=log))
        assert result.objective == best.objective and "start" not in result.details
    assert [words in log.read_text() for log in logs] == [True, False]


@pytest.mark.parametrize(
    ("start", "name"),
    [
        ({"W": np.zeros(3)}, "W"),
        ({"w": np.zeros(2)}, "start"),
        ({"w": np.full(3, np.nan)}, "start"),
    ],
)
def test_bad_starts(overlapping: Any, start: Any, name: str) -> None:
    with pytest.raises(InputError, check=about(name)):
        solve_problem(HingeSVM(overlapping.X, overlapping.y), "clarabel", Options(start=start))


def test_two_solvers_of_one_name_are_a_mistake(monkeypatch: pytest.MonkeyPatch) -> None:
    class Module:
        SOLVERS = (Clarabel(), Clarabel())

    monkeypatch.setattr(registry, "_modules", lambda: (Module,))
    registry._static.cache_clear()
    try:
        with pytest.raises(RuntimeError):
            registry._static()
    finally:
        monkeypatch.undo()
        registry._static.cache_clear()
