"""Linear classifiers by blocks of rows: the optimum of in memory, proved; nothing read wrong; the memory that is promised."""

import subprocess
import sys
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from effort import part
from facts import about, at
from hypothesis import given, settings, strategies as st

import marginopt as mo
from marginopt.errors import InputError, TooLargeError
from marginopt.margin import Hinge, SquaredHinge
from marginopt.models.views import LinearLoss, LinearProblem
from marginopt.rows import MemoryRows

pytestmark = pytest.mark.filterwarnings("ignore::marginopt.errors.MarginoptWarning")


def points(n: int = 300, p: int = 5, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    y = np.where(np.arange(n) % 3 == 0, 1.0, -1.0)
    X = rng.standard_normal((n, p)) + 0.5 * y[:, None]
    X[:, 0] = 1.0
    return X, y


def stated(X: object, y: np.ndarray, loss: str, weights: object = 2.0) -> mo.Model:
    return mo.HingeSVM(X, y, weights) if loss == "named" else mo.Margin(X, y, loss, "half-l2", sample_weight=weights)


@pytest.mark.parametrize("loss", ["named", "hinge", "squared-hinge"])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("sparse", [False, True])
def test_it_agrees_with_an_interior_point_method(loss: str, weighted: bool, sparse: bool) -> None:
    X, y = points()
    weights = np.linspace(0.1, 3.0, y.size) if weighted else 2.0
    data = sp.csr_array(X * (np.abs(X) > 0.6)) if sparse else X
    reference = mo.solve(stated(data, y, loss, weights), "clarabel", tol=1e-9)
    for rows in (data, MemoryRows(data)):  # judged by the form, judged by blocks
        result = mo.solve(stated(rows, y, loss, weights), "linear-newton", tol=1e-7)
        assert result.status is mo.Status.OPTIMAL and result.certificate.gap <= 1e-7
        assert result.certificate.bound <= reference.objective * (1 + 1e-8)
        assert result.objective == pytest.approx(reference.objective, rel=2e-7)
        assert result.values["w"] == pytest.approx(reference.values["w"], abs=2e-3)


@given(st.integers(0, 10**6), st.sampled_from([1, 2]), st.floats(1e-3, 1e4))
@settings(max_examples=25, deadline=None)
def test_the_appraisal_encloses_the_exact_values(seed: int, power: int, scale: float) -> None:
    rng = np.random.default_rng(seed)
    X, y = rng.standard_normal((9, 3)) * scale, np.where(np.arange(9) % 2 == 0, 1.0, -1.0)
    c, mu, w, alpha = rng.uniform(0.1, 2.0, 9), 0.7, rng.standard_normal(3) / scale, rng.uniform(-0.5, 2.5, 9)
    problem = LinearProblem(MemoryRows(X), y, c, mu, LinearLoss(power))
    appraisal = problem.appraise({"w": w}, {"margin": alpha})
    F = np.vectorize(Fraction, otypes=[object])
    short = [max(1 - Fraction(yi) * sum(F(xi) * F(w)), Fraction(0)) for xi, yi in zip(X, y, strict=True)]
    primal = Fraction(mu) * sum(F(w) ** 2) + sum(F(c) * np.array(short, dtype=object) ** power)
    computed = F(np.clip(alpha, 0.0, c if power == 1 else np.inf))
    v = sum((a * Fraction(yi) * F(xi) for a, yi, xi in zip(computed, y, X, strict=True)), F(np.zeros(3)))
    dual = sum(computed) - sum(v**2) / (4 * Fraction(mu)) - (sum(computed**2 / (4 * F(c))) if power == 2 else 0)
    assert abs(Fraction(appraisal.objective) - primal) <= Fraction(appraisal.error)
    assert Fraction(appraisal.bound) <= dual <= Fraction(appraisal.bound) + Fraction(2 * appraisal.bound_error)
    assert float(dual) <= float(primal) * (1 + 1e-12)


def test_files_of_every_kind_are_the_same_matrix(tmp_path: Path) -> None:
    pytest.importorskip("pyarrow")
    pd = pytest.importorskip("pandas")
    from sklearn.datasets import dump_svmlight_file

    X, y = points(200, 4)
    X = X[:, 1:].astype(np.float32).astype(np.float64)
    S = sp.csr_array(X * (X > 0.3))
    np.save(tmp_path / "X.npy", X.astype(np.float32))
    np.save(tmp_path / "y.npy", y)
    np.savez(tmp_path / "a.npz", X=X, y=y)
    np.savez_compressed(tmp_path / "c.npz", X=X, y=y)
    np.savez(tmp_path / "s.npz", X_data=S.data, X_indices=S.indices, X_indptr=S.indptr, X_shape=S.shape, y=y)
    dump_svmlight_file(S, y, str(tmp_path / "one.libsvm"), zero_based=False)
    dump_svmlight_file(S, y, str(tmp_path / "zero.libsvm"), zero_based=True)
    frame = pd.DataFrame({"a": X[:, 0], "b": X[:, 1], "c": X[:, 2], "class": np.where(y > 0, "yes", "no")})
    frame.to_parquet(tmp_path / "a.parquet")
    v, w = np.linspace(-1, 1, 200), np.array([0.5, 1.0, -2.0, 0.25])
    for name, matrix in {
        "X.npy": X, "a.npz": X, "c.npz": X, "a.parquet": X, "s.npz": S, "one.libsvm": S, "zero.libsvm": S,
    }.items():  # fmt: skip
        opened = mo.instances.open_rows(tmp_path / name, tmp_path / "y.npy" if name == "X.npy" else None)
        dense = np.column_stack([np.ones(200), matrix if matrix is X else matrix.toarray()])
        assert opened.y is not None and (opened.y == y).all(), name
        assert opened.X @ w == pytest.approx(dense @ w, abs=1e-12) and opened.X.T @ v == pytest.approx(dense.T @ v, abs=1e-12)
        ends = np.array([opened.X.columns.low, opened.X.columns.high])
        assert ends == pytest.approx(np.array([dense.min(axis=0), dense.max(axis=0)]), rel=1e-14)  # text has 16 digits
        result = mo.solve(mo.HingeSVM(opened.X, opened.y, 2.0), tol=1e-6)
        assert result.solver == "linear-newton" and result.status is mo.Status.OPTIMAL
        assert result.objective == pytest.approx(mo.solve(mo.HingeSVM(dense, y, 2.0), "clarabel").objective, rel=2e-6)


def test_rows_that_are_not_numbers_are_refused(tmp_path: Path) -> None:
    X = np.ones((5, 3))
    X[3, 1] = np.nan
    np.save(tmp_path / "X.npy", X)
    with pytest.raises(mo.errors.DataError, check=about("X")):
        mo.instances.open_rows(tmp_path / "X.npy")
    np.save(tmp_path / "F.npy", np.asfortranarray(np.ones((5, 3))))
    with pytest.raises(mo.errors.DataError, check=at("F.npy")):
        mo.instances.open_rows(tmp_path / "F.npy")
    (tmp_path / "a.libsvm").write_text("1 1:2\n-1 2:3\n1 x:1\n")
    with pytest.raises(mo.errors.DataError, check=at("a.libsvm", 3)):
        mo.instances.open_rows(tmp_path / "a.libsvm")
    np.save(tmp_path / "good.npy", np.ones((5, 3)))
    np.savez(tmp_path / "c.npz", X=np.ones((3, 2)), y=np.array([[1.0], [-1.0], [1.0]]))
    with pytest.raises(mo.errors.DataError, check=at("c.npz")):
        mo.instances.open_rows(tmp_path / "c.npz")
    rows = mo.instances.open_rows(tmp_path / "good.npy").X
    (tmp_path / "good.npy").write_bytes((tmp_path / "good.npy").read_bytes()[:-8])
    with pytest.raises(mo.errors.DataError, check=at("good.npy")):
        rows @ np.ones(4)


def test_what_needs_the_matrix_says_so() -> None:
    X, y = points(40)
    rows = MemoryRows(X)
    with pytest.raises(InputError, check=about("X")):
        mo.ZeroOneSVM(rows, y, 1.0)
    with pytest.raises(InputError, check=about("X")):
        mo.Margin(rows, y, "ramp")
    with pytest.raises(InputError, check=about("X")):
        mo.Margin(rows, y, Hinge(), intercept="free")
    with pytest.raises(TooLargeError, check=about("X")):
        _ = mo.Margin(rows, y, SquaredHinge()).form
    with pytest.raises(TooLargeError, check=about("memory_limit")):
        mo.solve(mo.HingeSVM(rows, y, 1.0), memory_limit=1e6)


def test_wide_rows_need_no_square_matrix(monkeypatch: pytest.MonkeyPatch) -> None:
    from marginopt.solvers.linear import newton

    monkeypatch.setattr(newton, "MAX_COLUMNS", 3)
    X, y = points(200, 12)
    for loss in ("named", "squared-hinge"):
        result, reference = (mo.solve(stated(X, y, loss), name, tol=1e-6) for name in ("linear-newton", "clarabel"))
        assert result.status is mo.Status.OPTIMAL and result.objective == pytest.approx(reference.objective, rel=2e-6)


@pytest.mark.parametrize("loss", ["named", "squared-hinge", "logistic"])
@pytest.mark.parametrize("form", [np.asarray, sp.csr_array], ids=["dense", "sparse"])
def test_few_rows_need_no_matrix_of_the_columns(form: Any, loss: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The optimum is that of the p × p matrix; duplicates, rows of zeros and labels that contradict each other among them."""
    from marginopt.solvers.linear import newton

    monkeypatch.setattr(newton, "_EPOCHS", 1)  # Newton steps, not coordinate descent, solve the sparse ones
    X, y = points(24, 60)
    X = X * (np.random.default_rng(2).random(X.shape) < 0.4)
    X[0], X[1:4], y[1:4] = 0.0, X[4:7], -y[4:7]
    model = stated(form(X), y, loss)
    few = mo.solve(model, "linear-newton", tol=1e-9)
    with monkeypatch.context() as patch:
        patch.setattr(newton, "has_few_rows", lambda view: False)
        reference = mo.solve(model, "linear-newton", tol=1e-9)
    assert few.gap <= 1e-9 and few.objective == pytest.approx(reference.objective, rel=2e-9)
    np.testing.assert_allclose(few.values["w"], reference.values["w"], atol=1e-3)
    monkeypatch.setattr(newton, "second_derivatives", None)
    assert mo.solve(model, "linear-newton", tol=1e-9).objective == few.objective


_MEASURED = """
import sys, warnings
warnings.simplefilter("ignore")
import numpy as np
import marginopt as mo
from marginopt.models.arrays import peak_memory
from marginopt.rows import sample_rows
data = mo.instances.open_rows(sys.argv[1])
y = np.resize([1.0, -1.0], 1984)
mo.solve(mo.Margin(sample_rows(data.X, 2_000), y, sys.argv[2], "half-l2"), "linear-newton", tol=1e-2)  # compiled code is loaded
limit = float(peak_memory() + 24e6)
result = mo.solve(mo.Margin(data.X, data.y, sys.argv[2], "half-l2", sample_weight=2.0), tol=1e-3, memory_limit=limit)
print(result.certificate.gap, limit, peak_memory())
"""


@pytest.mark.parametrize(("sparse", "loss"), part([(False, "hinge"), (True, "squared-hinge")], 1))
def test_the_memory_limit_holds(tmp_path: Path, sparse: bool, loss: str) -> None:
    """64 MB of rows in 24 MB beside what the process held, measured."""
    rng, n, path = np.random.default_rng(0), 130_000 if sparse else 80_000, tmp_path / "rows.npz"
    y = np.where(np.arange(n) % 2 == 0, 1.0, -1.0)
    if sparse:
        columns = np.arange(n)[:, None] % 10 + 10 * np.arange(40)
        values = rng.standard_normal((n, 40)) + 0.1 * y[:, None]
        parts = {"X_data": values.ravel(), "X_indices": columns.ravel().astype(np.int32), "X_shape": np.array([n, 400])}
        np.savez(path, **parts, X_indptr=np.arange(0, 40 * n + 1, 40), y=y)
    else:
        np.savez(path, X=rng.standard_normal((n, 100)) + 0.1 * y[:, None], y=y)
    assert path.stat().st_size > 60e6
    process = subprocess.run([sys.executable, "-c", _MEASURED, path, loss], capture_output=True, text=True, check=True)
    gap, limit, peak = map(float, process.stdout.split())
    assert gap <= 1e-3
    assert peak <= limit


@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize("alike", [False, True])
def test_a_sample_only_saves_passes(sparse: bool, alike: bool) -> None:
    """Second derivatives of a sample serve while steps by them pay: here they do, or it has seen none of the heavy rows."""
    n, p = 20_000, 6
    X, y = points(n, p)
    if not alike:
        seen = np.zeros(n, dtype=bool)
        for start, stop in MemoryRows(X).sample_pieces(n // 50):
            seen[start:stop] = True
        X[~seen, 1:] *= 30.0
    model = mo.Margin(MemoryRows(sp.csr_array(X) if sparse else X), y, SquaredHinge(), "half-l2", sample_weight=2.0)
    runs = [mo.solve(model, "linear-newton", tol=1e-3, sample=sample) for sample in (True, False)]
    for result in runs:
        assert result.status is mo.Status.OPTIMAL and result.certificate.gap <= 1e-3
    assert runs[0].objective == pytest.approx(runs[1].objective, rel=2e-3)
    if alike:
        assert runs[0].details["passes"] < runs[1].details["passes"]
