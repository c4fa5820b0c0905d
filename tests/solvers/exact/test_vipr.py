"""VIPR certificates: verified line by line by a checker of the tests' own, and by the field's where it is; enumeration."""

from __future__ import annotations

import itertools
import re
import shutil
import subprocess
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp
from facts import about, failed, unwritten
from hypothesis import HealthCheck, given, settings, strategies as st
from vipr_checker import WrongCertificateError, check

import marginopt as mo
from marginopt.models.program.cones import Nonnegative, Zero
from marginopt.models.program.form import Block, Constraint, StandardForm

NUMBER = st.integers(-6, 6).map(lambda k: k / 2)


def program(q: list[float], A: np.ndarray, b: np.ndarray, top: int, equal: bool = False) -> StandardForm:
    """minimise q'x, A x ≥ b (or = b), x integer in 0..top."""
    n, m = len(q), len(b)
    rows = (Constraint("rows", sp.csr_array(A), -b, Zero(m) if equal else Nonnegative(m)),) if m else ()
    return StandardForm(
        "drawn", (Block("x", (n,)),), np.array(q), rows, np.zeros(n), np.full(n, float(top)), np.ones(n, dtype=bool)
    )  # fmt: skip


def enumerated(form: StandardForm, A: np.ndarray, b: np.ndarray, top: int, equal: bool) -> float | None:
    points = [np.array(x, dtype=float) for x in itertools.product(range(top + 1), repeat=form.n)]
    left = [x for x in points if ((A @ x == b) if equal else (A @ x >= b)).all()]
    return min((form.objective(x) for x in left), default=None)


@settings(deadline=None, max_examples=120, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.data())
def test_integer_programs_end_where_enumeration_does(tmp_path: Path, data: st.DataObject) -> None:
    """Data in halves: the bound and the value of the file are both the optimum, to the last digit."""
    n, m, top = data.draw(st.integers(1, 4)), data.draw(st.integers(0, 3)), data.draw(st.integers(1, 3))
    q = data.draw(st.lists(NUMBER, min_size=n, max_size=n))
    A = np.array([[data.draw(NUMBER) for _ in range(n)] for _ in range(m)]).reshape(m, n)
    b, equal = np.array([data.draw(NUMBER) for _ in range(m)]), data.draw(st.booleans())
    form = program(q, A, b, top, equal)
    best = enumerated(form, A, b, top, equal)
    certificate = mo.proofs.write_vipr(form, tmp_path / "a.vipr")
    proved = check(tmp_path / "a.vipr")
    assert proved.infeasible == (best is None) == (certificate.bound is None)
    if best is not None:
        assert proved.upper == certificate.value == Fraction(best)
        assert proved.lower == certificate.bound
        assert certificate.gap <= 1e-9


@pytest.fixture(scope="module")
def points() -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(5)
    X = np.column_stack([np.ones(12), rng.standard_normal((12, 2))])
    return X, np.where(X[:, 1] + 0.9 * rng.standard_normal(12) > 0, 1.0, -1.0)


@pytest.mark.parametrize("loss", ["hinge", "zero-one", "ramp"])
def test_free_coefficients_and_l1(tmp_path: Path, points: tuple[np.ndarray, np.ndarray], loss: str) -> None:
    """Variables without bounds: multipliers are corrected until their slopes are zero exactly. The answer is HiGHS's."""
    model = mo.Margin(*points, loss=loss, regulariser="l1", intercept="free")
    certificate = mo.proofs.write_vipr(model, tmp_path / "a.vipr")
    proved = check(tmp_path / "a.vipr")
    assert certificate.bound is not None
    assert certificate.value is not None
    assert proved.lower is not None
    assert proved.upper is not None
    assert certificate.bound - proved.lower == certificate.value - proved.upper == Fraction(model.form.r)
    assert certificate.gap <= 1e-8
    assert float(certificate.value) == pytest.approx(mo.solve(model, "highs").objective, rel=1e-8)


def test_a_scoring_system_is_proved_twice(tmp_path: Path) -> None:
    """The value is that of supports-bb, which counts in whole numbers."""
    rng = np.random.default_rng(2)
    X = np.column_stack([np.ones(12), rng.integers(0, 2, (12, 3))])
    model = mo.ScoringSystem(X, np.where(rng.random(12) < 0.5, 1.0, -1.0), coefficients=(-2, 2), C0=0.05)
    result = mo.solve(model, "supports-bb")
    certificate = mo.proofs.write_vipr(model, tmp_path / "a.vipr", start=result.values)
    check(tmp_path / "a.vipr")
    assert certificate.gap <= 1e-9
    assert float(certificate.value or 0) == pytest.approx(result.objective, rel=1e-12)


def test_a_limit_leaves_the_bound_reached(tmp_path: Path, points: tuple[np.ndarray, np.ndarray]) -> None:
    model = mo.Margin(*points, loss="zero-one", regulariser="l1", intercept="free")
    whole = mo.proofs.write_vipr(model, tmp_path / "whole.vipr")
    cut = mo.proofs.write_vipr(model, tmp_path / "cut.vipr", node_limit=5)
    assert check(tmp_path / "cut.vipr").lower is not None
    assert cut.bound is not None
    assert whole.value is not None
    assert cut.bound < whole.value
    assert cut.nodes <= 6


def test_a_model_that_maximises_has_its_bound_above(tmp_path: Path) -> None:
    form = program([-1.0, -2.0], np.array([[-1.0, -1.0]]), np.array([-1.5]), 3).replace(maximise=True, r=0.5)
    certificate = mo.proofs.write_vipr(form, tmp_path / "a.vipr")
    assert certificate.bound == certificate.value == Fraction(3, 2)


def test_forged_files_are_refused(tmp_path: Path, points: tuple[np.ndarray, np.ndarray]) -> None:
    """The checker of these tests sees a changed number in any derivation, bound or point."""
    rng = np.random.default_rng(0)
    mo.proofs.write_vipr(mo.Margin(*points, loss="zero-one", regulariser="l1", intercept="free"), tmp_path / "a.vipr")
    lines = (tmp_path / "a.vipr").read_text().splitlines()
    after = next(k for k, line in enumerate(lines) if line.startswith("RTP"))
    begin = next(k for k, line in enumerate(lines) if line.startswith("DER")) + 1
    for k in [after, *rng.choice(np.arange(begin, len(lines)), 40, replace=False).tolist()]:
        places = list(re.finditer(r"(?<=[GL] )-?\d+(/\d+)?|(?<=range )-?\d+(/\d+)?", lines[k]))
        forged = list(lines)
        a, b = places[0].span()
        forged[k] = lines[k][:a] + str(Fraction(lines[k][a:b]) + 10**6) + lines[k][b:]
        (tmp_path / "forged.vipr").write_text("\n".join(forged))
        with pytest.raises(WrongCertificateError):
            check(tmp_path / "forged.vipr")


def test_refusals(tmp_path: Path, points: tuple[np.ndarray, np.ndarray]) -> None:
    with pytest.raises(mo.errors.UnsupportedModelError, check=about("model")):
        mo.proofs.write_vipr(mo.HingeSVM(*points, 1.0), tmp_path / "a.vipr")
    unbounded = program([-1.0], np.zeros((0, 1)), np.zeros(0), 1)
    with pytest.raises(mo.errors.SolverError, check=failed("highs")):
        mo.proofs.write_vipr(unbounded.with_bounds(np.zeros(1), np.full(1, np.inf)), tmp_path / "a.vipr")
    with pytest.raises(mo.errors.InputError, check=unwritten(tmp_path / "none" / "a.vipr")):
        mo.proofs.write_vipr(unbounded, tmp_path / "none" / "a.vipr")
    assert not list(tmp_path.iterdir())


@pytest.mark.skipif(shutil.which("viprchk") is None, reason="viprchk, the checker of the format's authors, is not on the path")
def test_the_field_s_own_checker_accepts(tmp_path: Path, points: tuple[np.ndarray, np.ndarray]) -> None:
    for k, model in enumerate(
        [mo.Margin(*points, loss=loss, regulariser="l1", intercept="free") for loss in ("hinge", "zero-one", "ramp")]
        + [program([1.0], np.array([[2.0], [-2.0]]), np.array([1.0, -1.0]), 1)]
    ):
        mo.proofs.write_vipr(model, tmp_path / f"{k}.vipr")
        process = subprocess.run(["viprchk", tmp_path / f"{k}.vipr"], capture_output=True, text=True, check=False)
        assert "Successfully verified" in process.stdout


@settings(deadline=None, max_examples=20, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.data())
def test_equalities_with_decimal_coefficients_have_their_vertex(tmp_path: Path, data: st.DataObject) -> None:
    """Continuous slacks of decimal equalities have no point of doubles; the vertex of a leaf, in rationals, is one.

    minimise Σ |a'x - b| over small integers, where no a'x is b and so no slack is zero but for rounding: the file's value is
    the rational minimum over all of them, with and without a start.
    """
    n, m = data.draw(st.integers(1, 3)), data.draw(st.integers(1, 2))
    decimal = st.integers(-19, 19).map(lambda k: k / 10)
    A = np.array([[data.draw(decimal) for _ in range(n)] for _ in range(m)])
    b = np.array([(10 * data.draw(st.integers(-30, 30)) + 3) / 100 for _ in range(m)])
    F = sp.csr_array(np.hstack([A, np.eye(m), -np.eye(m)]))
    top = np.concatenate([np.full(n, 2.0), np.full(2 * m, np.inf)])
    form = StandardForm(
        "decimal", (Block("x", (n,)), Block("s", (2 * m,))), np.concatenate([np.zeros(n), np.ones(2 * m)]),
        (Constraint("rows", F, -b, Zero(m)),), np.zeros(n + 2 * m), top, np.arange(n + 2 * m) < n,
    )  # fmt: skip

    def distance(x: tuple[int, ...]) -> Fraction:
        rows = (
            sum((Fraction(v) * k for v, k in zip(row, x, strict=True)), -Fraction(side))
            for row, side in zip(A.tolist(), b.tolist(), strict=True)
        )
        return sum((abs(value) for value in rows), Fraction(0))

    best = min(map(distance, itertools.product(range(3), repeat=n)))
    bare = mo.proofs.write_vipr(form, tmp_path / "a.vipr")
    begun = mo.proofs.write_vipr(form, tmp_path / "b.vipr", start=mo.solve(form, "highs").values)
    for certificate in (bare, begun):
        proved = check(certificate.path)
        assert certificate.value is not None and proved.upper == certificate.value
        assert 0 <= certificate.value - best <= Fraction(1, 10**9)
        assert certificate.gap <= 1e-8
