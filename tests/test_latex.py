"""LaTeX of every formulation compiles, and what its dual states is true of solved instances."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest

import marginopt as mo
from marginopt.models.ramp import RampSVM
from marginopt.models.statement import Line, Statement

_RNG = np.random.default_rng(5)
_X = np.column_stack([np.ones(16), _RNG.normal(size=(16, 2))])
_Y = np.where(_RNG.normal(size=16) + _X[:, 1] > 0, 1.0, -1.0)

MODELS: list[mo.Model] = [
    mo.HingeSVM(_X, _Y, lam=0.5),
    mo.HingeSVM(_X, _Y, lam=np.linspace(0.5, 1, 16)),
    mo.ZeroOneSVM(_X, _Y, lam=0.5),
    mo.ZeroOneSVM(_X, _Y, lam=0.5, intercept="free"),
    mo.ConicSVM(_X, _Y, lam=0.5),
    mo.ConicSVM(_X, _Y, kappa=0.25),
    mo.ConicSVM(_X, _Y, kappa=0.0),
    mo.ConicSVM(_X, _Y, lam=0.5, kernel=mo.RBF(0.5)),
    mo.L2SVMDual(_X, _Y, 2.0, mo.RBF(0.5)),
    mo.MEBDual(_X, mo.RBF(0.5)),
    mo.MEBDual.labelled(_X, _Y, 2.0, mo.RBF(0.5)),
    mo.ConvexHullsDual(_X, _Y, C=2.0, kernel=mo.RBF(0.5)),
    mo.MaxMinSVM(_X, _Y),
    mo.L1SVMDual(_X, _Y, C=2.0, kernel=mo.RBF(0.5)),
    RampSVM(_X, _Y),
    mo.models.NonparallelSVM(_X, _Y, 1.0),
    mo.models.ParetoQP(_X, np.ones(16)),
    mo.models.ChebyshevNPSVC(_X, _Y),
]


@pytest.mark.skipif(shutil.which("pdflatex") is None, reason="no TeX engine (pdflatex) is installed")
def test_every_statement_compiles(tmp_path: Path) -> None:
    """One document with every display, and one standalone document for each kind of statement."""
    preamble = "\\documentclass{article}\n\\usepackage{amsmath,amssymb}\n\\begin{document}\n"
    together = preamble + "\n".join(model.latex() for model in MODELS) + "\n\\end{document}\n"
    for name, text in {"all": together, "alone": MODELS[0].latex(standalone=True), "odd": _odd().latex(standalone=True)}.items():
        (tmp_path / f"{name}.tex").write_text(text, encoding="ascii")
        command = ["pdflatex", "-interaction=nonstopmode", "-halt-on-error", f"{name}.tex"]
        run = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=120, check=False)
        assert run.returncode == 0, run.stdout[-2000:]
        assert (tmp_path / f"{name}.pdf").stat().st_size > 1000


def _odd() -> Statement:
    """A title and a source with every special character of LaTeX's prose."""
    line = Line("x", "x")
    return Statement("A & B_1: 5% #2 {x} $y$ ~ ^", "LP", "minimise", line, line, (), "n = 1", "C & D, (1)")


@pytest.mark.parametrize("model", MODELS, ids=lambda m: m.statement.title)
def test_a_standalone_document_is_the_displays_between_its_ends(model: mo.Model) -> None:
    document = model.latex(standalone=True)
    assert document.startswith("\\documentclass")
    assert document.rstrip().endswith("\\end{document}")
    assert model.latex() in document


def test_duals_are_stated_where_they_have_a_closed_form() -> None:
    stated = {type(m).__name__ for m in MODELS if m.statement.dual is not None}
    assert stated == {"HingeSVM", "L2SVMDual", "MEBDual", "ConvexHullsDual"}
    for model in MODELS:
        assert ("Dual:" in model.latex()) == ("  dual:" in str(model)) == (model.statement.dual is not None)


def test_the_dual_of_the_hinge_and_its_map() -> None:
    model = mo.HingeSVM(_X, _Y, lam=0.5)
    result = mo.solve(model, "clarabel", tol=1e-9)
    assert result.multipliers is not None
    alpha, w, xi = result.multipliers["margin"], result.values["w"], result.values["xi"]
    v = _X.T @ (alpha * _Y)
    assert alpha.sum() - 0.25 * (v @ v) == pytest.approx(result.objective, rel=1e-7)
    np.testing.assert_allclose(w, 0.5 * v, atol=1e-6)
    np.testing.assert_allclose(alpha * (_Y * (_X @ w) + xi - 1), 0.0, atol=1e-6)
    np.testing.assert_allclose((0.5 - alpha) * xi, 0.0, atol=1e-6)


def test_the_dual_of_the_l2_svm_and_its_map() -> None:
    C = 2.0
    model = mo.L2SVMDual(_X, _Y, C, mo.Linear())
    a = mo.solve(model, "clarabel", tol=1e-9).values["a"]
    K = np.outer(_Y, _Y) * (_X @ _X.T + 1) + np.eye(16) / C
    w, b, xi, rho = _X.T @ (a * _Y), float(a @ _Y), a / C, float(a @ K @ a)
    assert rho - 0.5 * (w @ w + b * b + C * xi @ xi) == pytest.approx(0.5 * float(a @ K @ a), rel=1e-9)
    assert (_Y * (_X @ w + b) >= rho - xi - 1e-6).all()
    np.testing.assert_allclose(a * (K @ a - rho), 0.0, atol=1e-6)


def test_the_dual_of_the_ball_and_its_map() -> None:
    model = mo.MEBDual(_X, mo.Linear())
    result = mo.solve(model, "clarabel", tol=1e-9)
    a = result.values["a"]
    distances = ((_X - a @ _X) ** 2).sum(axis=1)
    assert distances.max() == pytest.approx(result.objective, rel=1e-6)
    np.testing.assert_allclose(a * (result.objective - distances), 0.0, atol=1e-6)


def test_the_dual_of_the_two_hulls_and_its_map() -> None:
    C = 2.0
    model = mo.ConvexHullsDual(_X, _Y, C=C, kernel=mo.Linear())
    result = mo.solve(model, "clarabel", tol=1e-9)
    a = result.values["a"]
    product = (np.outer(_Y, _Y) * (_X @ _X.T) + np.eye(16) / C) @ a
    w, xi, p, q = _X.T @ (a * _Y), a / C, product[_Y > 0].min(), product[_Y < 0].min()
    assert p + q - 0.5 * (w @ w + C * xi @ xi) == pytest.approx(result.objective, rel=1e-6)
    assert (_Y * (_X @ w) >= np.where(_Y > 0, p, q) - xi - 1e-9).all()


def test_equivalences_are_printed_and_true() -> None:
    svm, ball = mo.L2SVMDual(_X, _Y, 2.0, mo.RBF(0.5)), mo.MEBDual.labelled(_X, _Y, 2.0, mo.RBF(0.5))
    assert "equivalent: MEBDual.labelled" in str(svm)
    assert "equivalent: L2SVMDual" in str(ball)
    a, b = (mo.solve(model, "clarabel", tol=1e-9).values["a"] for model in (svm, ball))
    np.testing.assert_allclose(a, b, atol=1e-5)
    assert "1/2 ||w||^2 + C sum xi with C = lam/2" in str(MODELS[0])
