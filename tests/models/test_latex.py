"""LaTeX of every formulation compiles, and what its dual states is true of solved instances."""

from __future__ import annotations

import html
import re
import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest

import marginopt as mo
from marginopt.data_names import DataNames
from marginopt.models.formulations import all_formulations
from marginopt.models.formulations.nonparallel.quadratic_factors import HingeFactor
from marginopt.models.statement import Line, Statement, latex_numbers, latex_words

_RNG = np.random.default_rng(5)
_X = np.column_stack([np.ones(16), _RNG.normal(size=(16, 2))])
_Y = np.where(_RNG.normal(size=16) + _X[:, 1] > 0, 1.0, -1.0)

#: Names with LaTeX's special characters, accents, other scripts, numbers with exponents, brackets and line breaks.
_ODD_NAMES = (
    "a\\b & 5% #2 {x} $y$ ~ ^ <|>",
    "é名 1e5 ñ ß ğ «q»",
    "age [years]",
    "x\n\ny",
    "λ≤κ ½ ᵀ",
    'it\'s, "q" `b`',
    "_",
    "(open",
)
_NAMED_X = np.column_stack([np.ones(16), _RNG.normal(size=(16, len(_ODD_NAMES) - 1))])
_ODD_CLASSES = ("$y$ \\ ~ ^ <|>", "é名 1e5")
_NAMES = DataNames(_ODD_NAMES, _ODD_CLASSES)
_NAMED_MODELS: list[mo.Model] = [
    mo.ZeroOneSVM(_NAMED_X, _Y, lam=0.5, big_m=10.0, data_names=_NAMES),
    mo.Margin(
        _NAMED_X,
        _Y,
        subject_to=[mo.fixed({_ODD_NAMES[0]: 0.0, _ODD_NAMES[3]: 1e-5}), mo.error_budget(_ODD_CLASSES[1], 0.1)],
        data_names=_NAMES,
    ),
    mo.Margin(_NAMED_X, _Y, subject_to=mo.parity(_NAMED_X[:, 1] > 0.0), data_names=_NAMES),
    mo.HingeSVM(_NAMED_X, _Y, data_names=_NAMES).with_constraint(lambda v: [v.w[1] >= 1]),
    mo.ConicSVM(_NAMED_X, _Y, lam=0.5, kernel=mo.RBF(0.5), data_names=_NAMES),
]

MODELS: list[mo.Model] = [
    mo.HingeSVM(_X, _Y, lam=0.5),
    mo.HingeSVM(_X, _Y, lam=np.linspace(0.5, 1, 16)),
    mo.ZeroOneSVM(_X, _Y, lam=0.5),
    mo.ZeroOneSVM(_X, _Y, lam=0.5, intercept="free"),
    mo.ConicSVM(_X, _Y, lam=0.5),
    mo.ConicSVM(_X, _Y, kappa=0.25),
    mo.ConicSVM(_X, _Y, kappa=0.0),
    mo.ConicSVM(_X, _Y, kappa=0.0, kernel=mo.RBF(0.5)),
    mo.ConicSVM(_X, _Y, lam=0.5, kernel=mo.RBF(0.5)),
    mo.L2SVMDual(_X, _Y, 2.0, mo.RBF(0.5)),
    mo.MEBDual(_X, mo.RBF(0.5)),
    mo.MEBDual.labelled(_X, _Y, 2.0, mo.RBF(0.5)),
    mo.ConvexHullsDual(_X, _Y, C=2.0, kernel=mo.RBF(0.5)),
    mo.MaxMinSVM(_X, _Y),
    mo.L1SVMDual(_X, _Y, C=2.0, kernel=mo.RBF(0.5)),
    mo.RampSVM(_X, _Y),
    mo.NonparallelSVM(_X, _Y, 1.0),
    mo.ParetoQP(_X, np.ones(16)),
    mo.ChebyshevNPSVC(_X, _Y),
    mo.StiefelQP(np.diag([1.0, 2.0, 3.0]), np.eye(3)[:, :2]),
    mo.models.HingeQuadratic(HingeFactor(np.eye(3), _X), np.zeros(3), np.ones(16), np.ones(16), np.zeros(16)),
    mo.models.BoxProgram(_X, -np.ones(16), np.zeros(16), np.ones(16), np.ones(16)),
    *(info.example(np.random.default_rng(8)) for info in all_formulations().values()),
]

#: A nonconvex and a convex loss whose lists of numbers fill several lines.
_LONG: list[mo.Model] = [
    mo.Margin(_X, _Y, mo.margin.PiecewiseLinear(tuple((1.2345 * k, losses[k]) for k in range(30))), domain=mo.margin.Box(-1, 1))
    for losses in (1e-7 * np.abs(np.sin(np.arange(30))), np.arange(30.0)[::-1] ** 2 / 7)
]


@pytest.mark.parametrize("model", MODELS, ids=lambda m: m.statement.title)
def test_every_model_states_itself(model: mo.Model) -> None:
    text, page = str(model), model._repr_html_()
    assert text.splitlines()[0] == f"{model.statement.title}  [{model.statement.problem_class}]"
    assert all(word in text for word in (model.statement.sense, " over ", "sizes:", "source:", model.statement.sizes))
    assert ("subject to" in text) == bool(model.statement.constraints or model.statement.dual)
    assert re.search(r"\(\d+|, \d{4}\b", model.statement.source), model.statement.source  # equation or year
    assert f">{html.escape(text)}</pre>" in page and html.escape(model.latex()) in page
    assert not re.search(r"https?:|src=|<script", page)  # readable without network
    assert not re.search(r"\d[eE][+-]?\d", model.latex())
    latex = [line.latex for line in (model.statement.objective, model.statement.variables, *model.statement.constraints)]
    assert all(part.strip() for part in latex)


def test_numbers_are_written_by_powers_of_ten() -> None:
    assert latex_numbers(r"1.23e-05 \le 2e+10 \, x_{1e5}, 1e05 1e-5x") == (
        r"1.23 \times 10^{-5} \le 2 \times 10^{10} \, x_{1 \times 10^{5}}, 1 \times 10^{5} 1e-5x"
    )
    assert r"3.05176 \times 10^{-5} \le \gamma" in mo.MaxMinSVM(_X, _Y).latex()


@pytest.mark.skipif(shutil.which("pdflatex") is None, reason="no TeX engine (pdflatex) is installed")
def test_every_statement_compiles(tmp_path: Path) -> None:
    """One document with every statement in full, and one standalone document for each kind; nothing sticks out of the page."""
    head = MODELS[0].latex(standalone=True).partition("\\noindent")[0]
    bodies = [
        m.latex(standalone=True).partition("\\noindent")[2].partition("\\end{document}")[0]
        for m in [*MODELS, *_LONG, *_NAMED_MODELS]
    ]
    bodies += [_NAMED_MODELS[0].form.latex()]
    together = head + "\\newpage\n".join(f"\\noindent {body}" for body in bodies) + "\\end{document}\n"
    for name, text in {"all": together, "alone": MODELS[0].latex(standalone=True), "odd": _odd().latex(standalone=True)}.items():
        (tmp_path / f"{name}.tex").write_text(text, encoding="ascii")
        command = ["pdflatex", "-interaction=nonstopmode", "-halt-on-error", f"{name}.tex"]
        run = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=120, check=False)
        assert run.returncode == 0, run.stdout[-2000:]
        assert (tmp_path / f"{name}.pdf").stat().st_size > 1000
        assert all(float(wide) < 10 for wide in re.findall(r"Overfull .hbox .(\S+)pt too wide. detected", run.stdout))


def _unspaced(latex: str) -> str:
    return re.sub(r" \\\\\n  & \\quad |[ \n]|\\ ", "", latex)


@pytest.mark.parametrize("model", _NAMED_MODELS, ids=lambda m: m.name)
def test_names_of_features_and_classes_are_in_the_displays(model: mo.Model) -> None:
    names = model.original_model.data_names
    assert names is not None
    positive, negative = (latex_words(names.classes[k]) for k in (1, 0))
    words = [rf"\text{{{latex_words(name)}}}" for name in names.features]
    of_kernel = not model.feature_names
    vector = f"x_i = ({','.join(words)})" if of_kernel else f"w = ({','.join(f'w_{{{word}}}' for word in words)})"
    for line in (rf"y_i = 1: \text{{{positive}}}, y_i = -1: \text{{{negative}}}", vector):
        assert _unspaced(line) in _unspaced(model.latex())
    assert model.latex(standalone=True).isascii()


@pytest.mark.parametrize("model", _LONG, ids=["nonconvex", "convex"])
def test_long_lists_are_broken_after_commas_and_complete(model: mo.Model) -> None:
    lines = model.latex().splitlines()
    assert max(len(re.sub(r"\\[A-Za-z]+|[{}^& ]", "", line)) for line in lines) <= 80
    assert all(line.rstrip("\\ ").endswith((",", ")")) for line in lines if line.startswith("  & \\quad"))
    unbroken = re.sub(r" \\\\\n  & \\quad ", "", model.latex())
    for constraint in model.statement.constraints:
        assert re.sub(r"\\ | ", "", latex_numbers(constraint.latex)) in re.sub(r"\\ | ", "", unbroken)


def _odd() -> Statement:
    """A title and a source with every special character of LaTeX's prose."""
    line = Line("x", "x")
    notes = ("λ ≤ κ·√γ² ≥ ±∞, ρτ | < >",)
    return Statement("A & B_1: 5% #2 {x} $y$ ~ ^", "LP", "minimise", line, line, (), "n = 1", "C & D, (1)", notes)


@pytest.mark.parametrize("model", MODELS, ids=lambda m: m.statement.title)
def test_a_standalone_document_is_the_displays_between_its_ends(model: mo.Model) -> None:
    document = model.latex(standalone=True)
    assert document.startswith("\\documentclass")
    assert document.rstrip().endswith("\\end{document}")
    assert model.latex() in document


def test_duals_are_stated_where_they_have_a_closed_form() -> None:
    stated = {type(m).__name__ for m in MODELS if m.statement.dual is not None}
    assert stated == {
        "HingeSVM",
        "ConicSVM",
        "L2SVMDual",
        "MEBDual",
        "ConvexHullsDual",
        "L1SVMDual",
        "ParetoQP",
        "HingeQuadratic",
        "Margin",
        "MulticlassSVM",
        "NuSVM",
        "HardMarginSVM",
        "EpsilonSVR",
        "SVDD",
    }
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


_CONIC = [
    mo.ConicSVM(_X, _Y, lam=0.5),
    mo.ConicSVM(_X, _Y, kappa=0.25),
    mo.ConicSVM(_X, _Y, lam=0.5, kernel=mo.RBF(0.5)),
    mo.ConicSVM(_X, _Y, lam=4.0),
]


@pytest.mark.parametrize("model", _CONIC, ids=lambda m: f"lam={m.lam} kappa={m.kappa} {m.kernel}")
def test_the_dual_of_the_conic_svm_and_its_map(model: mo.ConicSVM) -> None:
    result = mo.solve(model, "clarabel", tol=1e-8)
    assert result.multipliers is not None
    A, M = model.signed, np.eye(3) if model.metric is None else model.metric
    w, W, z = (result.values[label] for label in ("w", "W", "z"))
    gamma, v = np.maximum(result.multipliers["hull"], 0.0), result.multipliers["split"].copy()
    mu = float(result.multipliers["budget"][0]) if model.lam is None else model.lam
    u = A @ w
    # the proof's step from any optimal dual point to one with v in the interval
    outside = v > 2 * np.sqrt(mu * gamma) + 1e-4
    np.testing.assert_allclose(z[outside], 1.0, atol=1e-4)
    gamma[outside] = mu / (1 - u[outside]) ** 2
    v[outside] = 2 * gamma[outside] * (1 - u[outside])
    negative = v < -1e-4
    gamma[negative] = v[negative] = 0.0
    S, g = M - (A * gamma[:, None]).T @ A, A.T @ (v - 2 * gamma)
    assert np.linalg.eigvalsh(S)[0] > -1e-5 * np.linalg.eigvalsh(M)[-1]
    np.testing.assert_allclose(2 * S @ w, g, atol=2e-4)
    np.testing.assert_allclose(S @ (W - np.outer(w, w)), 0.0, atol=2e-4)
    tau = 0.25 * g @ np.linalg.pinv(S, rcond=1e-9, hermitian=True) @ g
    value = (v - gamma).sum() - tau - (0.0 if model.kappa is None else mu * model.kappa * 16)
    assert value == pytest.approx(result.objective, rel=1e-4)
    positive, rest = np.maximum(1 - u, 0.0), np.minimum(1 - u, 0.0)
    np.testing.assert_allclose(2 * gamma * positive, v * z, atol=1e-3)
    np.testing.assert_allclose((2 * np.sqrt(mu * gamma) - v) * z, 0.0, atol=1e-3)
    hull = np.einsum("ij,jk,ik->i", A, W, A) - 2 * u + 1 - positive**2 / np.maximum(z, 1e-12) - rest**2 / (1 - z + 1e-12)
    np.testing.assert_allclose(np.where(gamma > 1e-3, gamma * hull, 0.0), 0.0, atol=1e-3)
    if model.kappa is not None:
        assert mu * (model.kappa * 16 - z.sum()) == pytest.approx(0.0, abs=1e-4)


def test_the_dual_of_the_hard_margin_and_its_map() -> None:
    y = np.where(_X[:, 1] > 0, 1.0, -1.0)
    for kernel in (None, mo.RBF(0.5)):
        model = mo.ConicSVM(_X, y, kappa=0.0, kernel=kernel)
        result = mo.solve(model, "clarabel", tol=1e-9)
        assert result.multipliers is not None
        alpha, A = result.multipliers["margin"], model.signed
        v = A.T @ alpha
        cost = v @ v / 4 if kernel is None else alpha @ A @ alpha / 4
        assert alpha.sum() - cost == pytest.approx(result.objective, rel=1e-6)
        if kernel is None:
            np.testing.assert_allclose(result.values["w"], v / 2, atol=1e-5)
        else:
            np.testing.assert_allclose(A @ result.values["w"], A @ alpha / 2, atol=1e-4)
        np.testing.assert_allclose(alpha * (A @ result.values["w"] - 1), 0.0, atol=1e-5)


def test_the_dual_of_the_l1_svm_and_its_map() -> None:
    C = 2.0
    model = mo.L1SVMDual(_X[:, 1:], _Y, C=C, kernel=mo.Linear())
    result = mo.solve(model, "clarabel", tol=1e-9)
    a = result.values["a"]
    w = _X[:, 1:].T @ (a * _Y)
    free = (a > 1e-4) & (a < C - 1e-4)
    b = float(np.mean(_Y[free] - _X[free, 1:] @ w))
    f = _Y * (_X[:, 1:] @ w + b)
    xi = np.maximum(1 - f, 0.0)
    assert -0.5 * w @ w - C * xi.sum() == pytest.approx(result.objective, rel=1e-6)
    np.testing.assert_allclose(a * (f - 1 + xi), 0.0, atol=1e-4)
    np.testing.assert_allclose((C - a) * xi, 0.0, atol=1e-4)


@pytest.mark.parametrize("gamma", [0.0, 0.7])
def test_the_dual_of_the_pareto_weights_and_its_map(gamma: float) -> None:
    J, gradients = np.abs(_X[:4, 1]), _X[:4] + 0.3
    model = mo.ParetoQP(gradients, J, gamma=gamma)
    result = mo.solve(model, "clarabel", tol=1e-9)
    tau = result.values["a"]
    D = -gradients.T @ tau
    slopes = gradients @ D + gamma * J
    assert -0.5 * D @ D - slopes.max() == pytest.approx(result.objective, rel=1e-6, abs=1e-9)
    np.testing.assert_allclose(tau * (slopes.max() - slopes), 0.0, atol=1e-6)


def test_the_dual_of_the_quadratic_with_losses_and_its_map() -> None:
    h, w, tau = np.linspace(0.5, 1.5, 16), np.linspace(0.2, 1, 16), np.where(np.arange(16) % 2, 0.5, 0.0)
    H, G, b = np.diag([1.0, 2.0, 3.0]), _X * _Y[:, None], np.array([0.1, -0.2, 0.3])
    model = mo.models.HingeQuadratic(HingeFactor(H, G), b, h, w, tau, 0.7)
    result = mo.solve(model, "clarabel", tol=1e-9)
    assert result.multipliers is not None
    lam, u = model.multiplier(result.multipliers), result.values["u"]
    pulled, short = G.T @ lam - b, h - G @ u
    assert h @ lam - 0.5 * pulled @ np.linalg.solve(H, pulled) + 0.7 == pytest.approx(result.objective, rel=1e-7)
    np.testing.assert_allclose(u, np.linalg.solve(H, pulled), atol=1e-5)
    np.testing.assert_allclose((w - lam) * np.maximum(short, 0), 0.0, atol=1e-5)
    np.testing.assert_allclose((lam + tau * w) * np.minimum(short, 0), 0.0, atol=1e-5)


def test_equivalences_are_printed_and_true() -> None:
    svm, ball = mo.L2SVMDual(_X, _Y, 2.0, mo.RBF(0.5)), mo.MEBDual.labelled(_X, _Y, 2.0, mo.RBF(0.5))
    assert "equivalent: MEBDual.labelled" in str(svm)
    assert "equivalent: L2SVMDual" in str(ball)
    a, b = (mo.solve(model, "clarabel", tol=1e-9).values["a"] for model in (svm, ball))
    np.testing.assert_allclose(a, b, atol=1e-5)
    assert "1/2 ||w||^2 + C sum_i xi_i with C = lam/2" in str(MODELS[0])
