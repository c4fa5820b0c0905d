"""Form → file → form is exact, and independent readers find the same optimum."""

from __future__ import annotations

import functools
import json
from itertools import product
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp
from data import nine_points
from effort import part, trials
from facts import about, at
from hypothesis import HealthCheck, given, settings, strategies as st
from hypothesis.extra import numpy as hnp

import marginopt as mo
from marginopt.errors import DataError, ExportError, UnsupportedModelError
from marginopt.models import (
    PSD,
    RBF,
    Block,
    BoxProgram,
    ChebyshevNPSVC,
    ConicSVM,
    Constraint,
    ConvexHullsDual,
    Feature,
    HingeQuadratic,
    HingeSVM,
    Indicator,
    L1SVMDual,
    L2SVMDual,
    MEBDual,
    Model,
    Nonnegative,
    NonparallelSVM,
    ParetoQP,
    Quadratic,
    RampSVM,
    RotatedSecondOrder,
    SecondOrder,
    StandardForm,
    Zero,
    ZeroOneSVM,
)
from marginopt.models.export.file_formats import file_formats, read_form, write_form
from marginopt.models.export.layout import sidecar_path
from marginopt.models.formulations import all_formulations
from marginopt.models.formulations.nonparallel.quadratic_factors import HingeFactor
from marginopt.models.importing.quadratic_rows import with_plain_products


def _models() -> list[Model]:
    X, y = nine_points()
    return [
        HingeSVM(X, y, lam=0.7),
        ZeroOneSVM(X, y, lam=0.7),
        ZeroOneSVM(X, y, lam=0.7, intercept="free"),
        ZeroOneSVM(X, y, lam=0.7, encoding="indicator"),
        RampSVM(X, y, encoding="indicator"),
        RampSVM(X, y, lam=0.4),
        L1SVMDual(X, y, C=2.0, kernel=RBF(0.3)),
        NonparallelSVM(X, y, 1.0),
        NonparallelSVM(X, y, 1.0, loss="pinball"),
        ChebyshevNPSVC(X, y, P=np.eye(3)[:, :2]),
        ParetoQP(X[:4], np.arange(4.0), gamma=0.5),
        HingeQuadratic(HingeFactor(np.eye(3), X), np.ones(3), np.ones(9), np.ones(9), np.zeros(9)),
        BoxProgram(X, -np.ones(9), 0.0, 1.0, 0.1),
        ConicSVM(X, np.where(X[:, 1] > 0, 1.0, -1.0), kappa=0.0),
        ConicSVM(X, y, kappa=0.2, kernel=RBF(0.3)),
        ConicSVM(X, y, lam=0.7),
        ConicSVM(X, y, kappa=0.2),
        L2SVMDual(X, y, C=2.0, kernel=RBF(0.3)),
        MEBDual(X, kernel=RBF(0.3)),
        ConvexHullsDual(X, y, C=2.0, kernel=RBF(0.3)),
    ]


def _examples() -> list[Model]:
    """The small instance of every formulation that has a form."""
    models = [info.example(np.random.default_rng(8)) for info in all_formulations().values()]
    return [model for model in models if _has_form(model)]


def _has_form(model: Model) -> bool:
    try:
        return model.form.n > 0
    except UnsupportedModelError:
        return False


@pytest.mark.parametrize(
    ("suffix", "model"),
    part(product(sorted(file_formats()), [*_models(), *_examples()]), 8, kind=lambda cell: cell[0]),
    ids=lambda value: value if isinstance(value, str) else value.statement.title,
)
def test_round_trip_of_every_formulation_is_exact(suffix: str, model: Model, tmp_path: Path) -> None:
    path = tmp_path / f"model{suffix}"
    missing = model.form.features - file_formats()[suffix].carries
    if missing and missing <= {Feature.SECOND_ORDER, Feature.ROTATED} and Feature.BILINEAR in file_formats()[suffix].carries:
        assert read_form(model.write(path)).n >= model.form.n  # as quadratic rows: test_products_in_files.py
        return
    if missing:
        with pytest.raises(ExportError, check=about(file_formats()[suffix].title)):
            model.write(path)
        return
    assert model.write(path) == path
    back = read_form(path)
    stated = model.form if suffix == ".npz" else with_plain_products(model.form)
    assert stated.diff(back).empty
    assert back.blocks == model.form.blocks
    assert back.name == model.form.name


_value = st.one_of(st.just(0.0), st.floats(1e-12, 1e6), st.floats(-1e6, -1e-12))


#: Classes of program between which the formats differ.
_CLASSES = (
    frozenset({Feature.QUADRATIC, Feature.INTEGER}),
    frozenset({Feature.SECOND_ORDER, Feature.ROTATED, Feature.PSD, Feature.INTEGER}),
    frozenset(Feature) - {Feature.INDICATOR},
    frozenset(Feature),
)


@st.composite
def _forms(draw: st.DrawFn, features: frozenset[Feature]) -> StandardForm:
    blocks = (Block("u", (draw(st.integers(1, 3)),)), Block("W", (2, 2), symmetric=True), Block("t", ()))
    n = sum(b.size for b in blocks)

    def matrix(rows: int) -> sp.csr_array:
        # most entries are zero: Hypothesis draws the others one by one
        return sp.csr_array(draw(hnp.arrays(np.float64, (rows, n), elements=_value, fill=st.just(0.0))))

    def vector(size: int) -> np.ndarray:
        return draw(hnp.arrays(np.float64, size, elements=_value, fill=st.just(0.5)))

    cones = [Zero(draw(st.integers(1, 2))), Nonnegative(draw(st.integers(1, 3)))]
    cones += [SecondOrder(3, 2)] if Feature.SECOND_ORDER in features else []
    cones += [RotatedSecondOrder(3, 2)] if Feature.ROTATED in features else []
    cones += [PSD.of_order(2)] if Feature.PSD in features else []
    quadratic = None
    if Feature.QUADRATIC in features and draw(st.booleans()):
        root = matrix(2)
        quadratic = Quadratic(matrix=sp.csc_array(root.T @ root))
    lower, upper = np.full(n, -np.inf), np.full(n, np.inf)
    lower[0], upper[-1] = -1.5, draw(st.sampled_from([0.0, 1.0, 2.5]))
    integer = np.zeros(n, dtype=bool)
    if Feature.INTEGER in features:
        integer[0] = draw(st.booleans())
    constraints = [Constraint(f"c{k}", matrix(c.rows), vector(c.rows), c) for k, c in enumerate(cones)]
    if Feature.INDICATOR in features:
        lower[0], upper[0], integer[0] = 0.0, 1.0, True
        F, g = matrix(4).toarray(), vector(4)
        F[0::2], g[0::2] = np.eye(n)[0], 0.0
        constraints.append(Constraint("switched", sp.csr_array(F), g, Indicator(2, 2)))
    return StandardForm(
        name="random",
        blocks=blocks,
        q=vector(n),
        constraints=tuple(constraints),
        lower=lower,
        upper=upper,
        integer=integer,
        quadratic=quadratic,
        r=draw(_value),
        maximise=draw(st.booleans()),
    )


@settings(
    max_examples=trials(50, 200), suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow], deadline=None
)
@given(data=st.data())
def test_round_trip_of_random_forms_is_exact_in_every_format_that_carries_them(tmp_path: Path, data: st.DataObject) -> None:
    form = data.draw(st.sampled_from(_CLASSES).flatmap(_forms))
    able = [format_ for format_ in file_formats().values() if form.features <= format_.carries]
    assert {".npz", ".mof.json"} <= {format_.suffix for format_ in able}
    for format_ in able:
        back = read_form(write_form(form, tmp_path / f"random{format_.suffix}"))
        assert form.diff(back).empty, format_.title
        assert back.maximise is form.maximise


@pytest.mark.parametrize("suffix", [".lp", ".mps"])
def test_without_its_sidecar_a_file_still_reads_with_the_same_optimum(suffix: str, tmp_path: Path) -> None:
    from marginopt.solvers import solve

    X, y = nine_points()
    model = HingeSVM(X, y, lam=0.7)
    path = model.write(tmp_path / f"model{suffix}")
    sidecar_path(path).unlink()
    plain = read_form(path)
    assert [b.label for b in plain.blocks] == ["x"]
    assert solve(plain, "clarabel").objective == pytest.approx(solve(model, "clarabel").objective, rel=1e-7)


_LINEAR_ROWS = [m for m in _models() if m.form.features <= {Feature.QUADRATIC, Feature.INTEGER}]


@functools.cache
def _optimum(index: int) -> float:
    """Ours, in the model's sense, certified to 1e-8 (the mixed-integer ones: claimed)."""
    from marginopt.solvers import solve

    model = _LINEAR_ROWS[index]
    result = solve(model, "zero-one-bb" if isinstance(model, ZeroOneSVM) else "auto", tol=1e-8)
    return result.objective


def _by_gurobi(path: Path) -> float:
    gurobi = pytest.importorskip("gurobipy", reason="gurobipy is not installed")
    tight = {
        "OutputFlag": 0,
        "MIPGap": 0.0,
        "FeasibilityTol": 1e-9,
        "OptimalityTol": 1e-9,
        "IntFeasTol": 1e-9,
        "BarConvTol": 1e-12,
    }
    with gurobi.Env(params=tight) as env, gurobi.read(str(path), env) as native:
        native.optimize()
        return float(native.ObjVal)


def _by_highs(path: Path) -> float:
    import highspy

    native = highspy.Highs()
    native.setOptionValue("output_flag", False)
    assert native.readModel(str(path)) == highspy.HighsStatus.kOk
    for option in ("primal_feasibility_tolerance", "dual_feasibility_tolerance"):
        native.setOptionValue(option, 1e-9)
    native.run()
    assert native.getModelStatus() == highspy.HighsModelStatus.kOptimal
    return float(native.getInfo().objective_function_value)


def _by_scip(path: Path) -> float:
    scip = pytest.importorskip("pyscipopt", reason="pyscipopt is not installed")
    native = scip.Model()
    native.hideOutput()
    native.readProblem(str(path))
    native.setParams({"numerics/feastol": 1e-9, "numerics/dualfeastol": 1e-9, "limits/gap": 0.0})
    native.optimize()
    return float(native.getObjVal())


_READERS = {"gurobi": _by_gurobi, "highs": _by_highs, "scip": _by_scip}
#: SCIP takes long to close the last gap of quadratic duals.
_SCIP = (HingeSVM, ZeroOneSVM, RampSVM, NonparallelSVM)


@pytest.mark.parametrize(
    ("reader", "suffix", "index"),
    part(product(_READERS, [".lp", ".mps"], range(len(_LINEAR_ROWS))), 5, kind=lambda cell: cell[:2]),
    ids=lambda value: value if isinstance(value, str) else _LINEAR_ROWS[value].statement.title,
)
def test_independent_readers_find_the_same_optimum(reader: str, suffix: str, index: int, tmp_path: Path) -> None:
    """Gurobi, HiGHS and SCIP read our files with code that shares nothing with ours; to 1e-6."""
    model = _LINEAR_ROWS[index]
    if reader == "highs" and model.form.integer.any():
        pytest.skip("HiGHS has no mixed-integer quadratic programs")
    if reader == "scip" and not isinstance(model, _SCIP):
        pytest.skip("the quadratic duals are left to Gurobi and HiGHS")
    optimum = _READERS[reader](model.write(tmp_path / f"model{suffix}"))
    assert optimum == pytest.approx(_optimum(index), rel=1e-6, abs=1e-6)


@pytest.mark.parametrize("reader", _READERS)
@pytest.mark.parametrize("suffix", [".lp", ".mps"])
@pytest.mark.parametrize(("maximise", "constant"), [(False, 7.5), (True, -7.5), (True, 0.25)])
def test_objective_sense_and_constant_reach_other_readers(
    reader: str, suffix: str, maximise: bool, constant: float, tmp_path: Path
) -> None:
    """A file states the objective in the program's own sense, constant included, beside a variable called Constant too."""
    form = StandardForm(
        "plan", (Block("x", (2,), given_names=("Constant", "rest")),), np.array([-2.0, 1.0]),
        (Constraint("row", np.array([[-1.0, 1.0]]), np.array([2.0]), Nonnegative(1)),),
        np.array([1.0, -3.0]), np.array([1.0, 4.0]), np.array([True, False]), r=constant, maximise=maximise,
    )  # fmt: skip
    path = write_form(form, tmp_path / f"model{suffix}")
    optimum = -2.0 - 1.0 + constant  # x = (1, -1)
    assert _READERS[reader](path) == pytest.approx(-optimum if maximise else optimum, abs=1e-9)
    assert read_form(path).equals(form)
    sidecar_path(path).unlink()
    plain = read_form(path)
    assert plain.maximise is maximise and plain.r == constant and plain.n == 2


@pytest.mark.parametrize("suffix", [".cbf", ".ptf", ".mof.json"])
@pytest.mark.parametrize("maximise", [False, True])
def test_conic_files_state_the_program_s_own_sense(suffix: str, maximise: bool, tmp_path: Path) -> None:
    """The file alone, its layout gone, states the sense, and the optimum is that of the program with its constant."""
    form = StandardForm(
        "disc", (Block("x", (2,)),), np.array([3.0, -4.0]),
        (Constraint("disc", np.vstack([np.zeros(2), np.eye(2)]), np.array([2.0, 0.0, 0.0]), SecondOrder(3)),),
        np.array([-np.inf, -3.0]), np.full(2, np.inf), np.zeros(2, dtype=bool), r=0.5, maximise=maximise,
    )  # fmt: skip
    path = write_form(form, tmp_path / f"disc{suffix}")
    assert read_form(path).equals(form)
    if suffix == ".mof.json":
        document = json.loads(path.read_text(encoding="utf-8"))
        assert document["objective"]["sense"] == ("max" if maximise else "min")
        del document["description"]
        path.write_text(json.dumps(document), encoding="utf-8")
    else:
        sidecar_path(path).unlink()
    plain = read_form(path)
    assert plain.maximise is maximise and plain.q.tolist() == form.q.tolist() and plain.r == form.r
    optimum = -10.0 + 0.5
    assert mo.solve(plain, "clarabel").objective == pytest.approx(-optimum if maximise else optimum, abs=1e-6)


def test_a_maximised_quadratic_objective_is_so_in_mathoptformat(tmp_path: Path) -> None:
    X, _ = nine_points()
    form = MEBDual(X, RBF(0.5)).form
    path = write_form(form, tmp_path / "ball.mof.json")
    objective = json.loads(path.read_text(encoding="utf-8"))["objective"]
    assert objective["sense"] == "max"
    diagonal = [t["coefficient"] for t in objective["function"]["quadratic_terms"] if t["variable_1"] == t["variable_2"]]
    assert diagonal == (-form.quadratic.csc.diagonal()).tolist()
    assert read_form(path).equals(form)


def test_the_sense_stands_in_every_file_of_linear_rows(tmp_path: Path) -> None:
    X, y = nine_points()
    for form in (MEBDual(X, RBF(0.5)).form, HingeSVM(X, y).form):
        for suffix in (".lp", ".mps", ".nl", ".qplib"):
            path = write_form(form, tmp_path / f"model{suffix}")
            assert read_form(path).equals(form)
            sidecar_path(path).unlink()
            assert read_form(path).maximise is form.maximise


def test_mixed_integer_linear_programs_reach_highs_through_files(tmp_path: Path) -> None:
    form = ZeroOneSVM(*nine_points(), lam=0.7).form.replace(quadratic=None)
    form = form.with_bounds(np.maximum(form.lower, -3.0), np.minimum(form.upper, 3.0))
    form = form.replace(q=form.q + np.append([0.1, -0.2, 0.3], np.zeros(9)))
    from marginopt.solvers import solve

    ours = solve(form, "scip", tol=1e-9).objective
    for suffix in (".lp", ".mps"):
        assert _by_highs(write_form(form, tmp_path / f"linear{suffix}")) == pytest.approx(ours, rel=1e-6)


def test_bad_files_are_named(tmp_path: Path) -> None:
    X, y = nine_points()
    with pytest.raises(ExportError, check=about("path")):
        HingeSVM(X, y).write(tmp_path / "model.xyz")
    with pytest.raises(DataError, check=at("missing.lp")):
        read_form(tmp_path / "missing.lp")
    broken = tmp_path / "broken.mof.json"
    broken.write_text("{}", encoding="utf-8")
    with pytest.raises(DataError, check=at(broken)):
        read_form(broken)
    with pytest.raises(ExportError, check=about("LP")):
        ConicSVM(X, y, lam=1.0).write(tmp_path / "model.lp")


def test_formats_that_an_error_names_can_write_the_form(tmp_path: Path) -> None:
    """Formats that take second-order cones as quadratic rows were missing."""
    rows = sp.csr_array(np.vstack([np.zeros(3), np.eye(3)]))
    cone = Constraint("ball", rows, np.array([4.0, 0.0, 0.0, 0.0]), SecondOrder(4))
    bounds = np.zeros(3), np.full(3, 5.0), np.ones(3, dtype=bool)
    form = StandardForm("ball", (Block("x", (3,)),), np.ones(3), (cone,), *bounds, quadratic=Quadratic(np.eye(3)))
    with pytest.raises(ExportError) as refused:
        write_form(form, tmp_path / "form.cbf")
    can = set()
    for suffix in file_formats():
        try:
            write_form(form, tmp_path / f"form{suffix}")
        except ExportError as error:
            assert set(error.allowed) == set(refused.value.allowed)
        else:
            can.add(suffix)
    assert can == set(refused.value.allowed) and {".lp", ".npz"} <= can
