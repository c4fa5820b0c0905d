"""Form → file → form is exact, and independent readers find the same optimum."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import HealthCheck, given, settings, strategies as st

from marginopt.errors import DataError, ExportError
from marginopt.models import (
    PSD,
    RBF,
    Block,
    ConicSVM,
    Constraint,
    ConvexHullsDual,
    Feature,
    HingeSVM,
    L2SVMDual,
    MEBDual,
    Model,
    Nonnegative,
    Quadratic,
    RotatedSecondOrder,
    SecondOrder,
    StandardForm,
    Zero,
    ZeroOneSVM,
)
from marginopt.models.export.files import file_formats, read_form, write_form
from marginopt.models.export.layout import sidecar


def _data() -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(3)
    X = np.column_stack([np.ones(9), rng.normal(size=(9, 2))])
    return X, np.array([1.0, -1, 1, -1, 1, -1, 1, 1, -1])


def _models() -> list[Model]:
    X, y = _data()
    return [
        HingeSVM(X, y, lam=0.7),
        ZeroOneSVM(X, y, lam=0.7),
        ZeroOneSVM(X, y, lam=0.7, intercept="free"),
        ConicSVM(X, y, lam=0.7),
        ConicSVM(X, y, kappa=0.2),
        L2SVMDual(X, y, C=2.0, kernel=RBF(0.3)),
        MEBDual(X, kernel=RBF(0.3)),
        ConvexHullsDual(X, y, C=2.0, kernel=RBF(0.3)),
    ]


@pytest.mark.parametrize("suffix", sorted(file_formats()))
@pytest.mark.parametrize("model", _models(), ids=lambda m: m.statement.title)
def test_round_trip_of_every_formulation_is_exact(suffix: str, model: Model, tmp_path: Path) -> None:
    path = tmp_path / f"model{suffix}"
    if not model.form.features <= file_formats()[suffix].carries:
        with pytest.raises(ExportError, match="cannot carry"):
            model.write(path)
        return
    assert model.write(path) == path
    back = read_form(path)
    assert str(model.form.diff(back)) == "no difference"
    assert back.blocks == model.form.blocks
    assert back.name == model.form.name


_value = st.floats(-1e6, 1e6, allow_nan=False).filter(lambda v: v == 0 or abs(v) > 1e-12)


#: Classes of program between which the formats differ.
_CLASSES = (
    frozenset({Feature.QUADRATIC, Feature.INTEGER}),
    frozenset({Feature.SECOND_ORDER, Feature.ROTATED, Feature.PSD, Feature.INTEGER}),
    frozenset(Feature),
)


@st.composite
def _forms(draw: st.DrawFn, features: frozenset[Feature]) -> StandardForm:
    blocks = (Block("u", (draw(st.integers(1, 3)),)), Block("W", (2, 2), symmetric=True), Block("t", ()))
    n = sum(b.size for b in blocks)

    def matrix(rows: int) -> sp.csr_array:
        dense = np.array(draw(st.lists(st.lists(_value, min_size=n, max_size=n), min_size=rows, max_size=rows)))
        return sp.csr_array(dense)

    def vector(size: int) -> np.ndarray:
        return np.array(draw(st.lists(_value, min_size=size, max_size=size)))

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
    return StandardForm(
        name="random",
        blocks=blocks,
        q=vector(n),
        constraints=tuple(Constraint(f"c{k}", matrix(c.rows), vector(c.rows), c) for k, c in enumerate(cones)),
        lower=lower,
        upper=upper,
        integer=integer,
        quadratic=quadratic,
        r=draw(_value),
        maximise=draw(st.booleans()),
    )


@settings(max_examples=200, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow], deadline=None)
@given(data=st.data())
def test_round_trip_of_random_forms_is_exact_in_every_format_that_carries_them(tmp_path: Path, data: st.DataObject) -> None:
    form = data.draw(st.sampled_from(_CLASSES).flatmap(_forms))
    able = [format_ for format_ in file_formats().values() if form.features <= format_.carries]
    assert {".npz", ".mof.json"} <= {format_.suffix for format_ in able}
    for format_ in able:
        back = read_form(write_form(form, tmp_path / f"random{format_.suffix}"))
        assert str(form.diff(back)) == "no difference", format_.title
        assert back.maximise is form.maximise


@pytest.mark.parametrize("suffix", [".lp", ".mps"])
def test_without_its_sidecar_a_file_still_reads_with_the_same_optimum(suffix: str, tmp_path: Path) -> None:
    from marginopt.solvers import solve

    X, y = _data()
    model = HingeSVM(X, y, lam=0.7)
    path = model.write(tmp_path / f"model{suffix}")
    sidecar(path).unlink()
    plain = read_form(path)
    assert [b.label for b in plain.blocks] == ["x"]
    assert solve(plain, "clarabel").objective == pytest.approx(solve(model, "clarabel").objective, rel=1e-7)


@pytest.mark.parametrize("suffix", [".lp", ".mps"])
@pytest.mark.parametrize(
    "model", [m for m in _models() if isinstance(m, (HingeSVM, L2SVMDual, ZeroOneSVM))], ids=lambda m: m.name
)
def test_independent_readers_find_the_same_optimum(suffix: str, model: Model, tmp_path: Path) -> None:
    """Gurobi and SCIP read our files with code that shares nothing with ours."""
    path = model.write(tmp_path / f"model{suffix}")
    by_scip = _scip_optimum(path)
    gurobi = pytest.importorskip("gurobipy", reason="gurobipy is not installed")
    with gurobi.Env(params={"OutputFlag": 0}) as env, gurobi.read(str(path), env) as native:
        native.Params.MIPGap = 0.0
        native.optimize()
        assert native.ObjVal == pytest.approx(by_scip, rel=1e-5, abs=1e-6)
    assert by_scip > 0


def _scip_optimum(path: Path) -> float:
    scip = pytest.importorskip("pyscipopt", reason="pyscipopt is not installed")
    native = scip.Model()
    native.hideOutput()
    native.readProblem(str(path))
    native.optimize()
    return float(native.getObjVal())


def test_bad_files_are_named(tmp_path: Path) -> None:
    X, y = _data()
    with pytest.raises(ExportError, match="no file format"):
        HingeSVM(X, y).write(tmp_path / "model.xyz")
    with pytest.raises(DataError, match="there is no file"):
        read_form(tmp_path / "missing.lp")
    broken = tmp_path / "broken.mof.json"
    broken.write_text("{}", encoding="utf-8")
    with pytest.raises(DataError, match="not a MathOptFormat file"):
        read_form(broken)
    with pytest.raises(ExportError, match="positive semidefinite"):
        ConicSVM(X, y, lam=1.0).write(tmp_path / "model.lp")
