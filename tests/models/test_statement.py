"""The prints of models: algebra, sizes, class, source; LaTeX that balances; HTML that is escaped."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest

from marginopt.models import RBF, ConicSVM, HingeSVM, L2SVMDual, Line, MEBDual, Model, ZeroOneSVM
from marginopt.models.formulations import built_in
from marginopt.models.statement import plus, times, typeset


def models(points: Any) -> list[Model]:
    X, y = points.X, points.y
    return [
        HingeSVM(X, y, lam=0.5),
        HingeSVM(X, y, lam=np.linspace(0.5, 1, len(y))),
        ZeroOneSVM(X, y, lam=0.5),
        ZeroOneSVM(X, y, lam=0.5, intercept="free"),
        ZeroOneSVM(X, y, big_m=3.0),
        ConicSVM(X, y, lam=0.5),
        ConicSVM(X, y, kappa=0.25),
        ConicSVM(X, y, kappa=0.0),
        ConicSVM(X, y, lam=0.5, kernel=RBF(0.5)),
        L2SVMDual(X, y, 2.0, RBF(0.5)),
        MEBDual(X, RBF(0.5)),
        MEBDual.labelled(X, y, 2.0, RBF(0.5)),
    ]


@pytest.mark.parametrize("index", range(12))
def test_every_model_states_itself(overlapping: Any, index: int) -> None:
    model = models(overlapping)[index]
    statement = model.statement
    text = str(model)
    assert text == str(statement)
    for piece in (statement.title, statement.problem_class, statement.source, "n = 16 points", "subject to"):
        assert piece in text
    assert re.search(r"\(\d+\)", statement.source), "the source names an equation"
    assert statement.sense == ("maximise" if model.form.maximise else "minimise")
    # the constraint labels that are printed exist in the form
    printed = {re.sub(r"\[.*", "", line.label) for line in statement.constraints if line.label}
    assert printed <= {c.label for c in model.form.constraints}
    assert repr(model).startswith(type(model).__name__ + "(n = 16")


@pytest.mark.parametrize("index", range(12))
def test_latex_balances(overlapping: Any, index: int) -> None:
    latex = models(overlapping)[index].latex()
    assert latex.count("{") == latex.count("}")
    for environment in ("aligned", "pmatrix"):
        assert latex.count(rf"\begin{{{environment}}}") == latex.count(rf"\end{{{environment}}}")
    assert latex.count(r"\left") == latex.count(r"\right")
    assert latex.startswith("\\[\n\\begin{aligned}")
    assert latex.isascii()
    first = latex.split(r"\end{aligned}")[0]  # a dual, with the other sense, may follow
    assert (r"\max_" in first) == models(overlapping)[index].form.maximise


def test_html_is_escaped(overlapping: Any) -> None:
    page = HingeSVM(overlapping.X, overlapping.y)._repr_html_()
    assert "y_i x_i&#x27;w + xi_i &gt;= 1" in page
    assert "http" not in page


def test_numbers_stand_before_expressions_as_they_are_written_by_hand() -> None:
    norm = Line("||w||^2", r"\|w\|^2")
    assert [times(factor, norm).text for factor in (1.0, 0.5, 0.25, 2.0, 0.3, 0.0)] == [
        "||w||^2", "1/2 ||w||^2", "1/4 ||w||^2", "2 ||w||^2", "0.3 ||w||^2", "0 ||w||^2",
    ]  # fmt: skip
    assert times(0.5, norm).latex == r"\tfrac{1}{2}\|w\|^2"
    assert plus(norm, Line("", ""), times(0.5, norm)).text == "||w||^2 + 1/2 ||w||^2" and plus(Line("", "")).latex == "0"


@pytest.mark.parametrize("info", list(built_in()), ids=lambda info: info.name)
def test_no_objective_has_a_factor_of_one_or_a_term_of_zero(info: Any) -> None:
    statement = info.example(np.random.default_rng(1)).statement
    objectives = [statement.objective, *([statement.dual.objective] if statement.dual else [])]
    for text in (line.text for line in objectives):
        assert not re.search(r"(?<![\w./^-])[01](\.0)? (?=[a-z|(])|/1(?!\d)", text), text


@pytest.mark.parametrize("info", list(built_in()), ids=lambda info: info.name)
def test_relaxed_statements_have_no_sets_of_integers(info: Any) -> None:
    model = info.example(np.random.default_rng(1))
    if not re.search(r"\{0, ?1\\?\}|mathbb\{Z\}", model.latex()):
        return
    statement = model.relaxed().statement
    for line in (statement.variables, *statement.constraints):
        assert not re.search(r"\{0, 1\}|\bZ\b|integer", line.text), line.text
        assert not re.search(r"\\\{0,1\\\}|mathbb\{Z\}", line.latex), line.latex


@pytest.mark.parametrize(
    ("written", "read"),
    [
        ("M_i = 1 + ||x_i|| sqrt(UB - lam_i): ||w||^2 <= UB - 2 lam_i", "Mᵢ = 1 + ‖xᵢ‖ √(UB - λᵢ): ‖w‖² ≤ UB - 2 λᵢ"),
        ("a'K~a - min_i (K~a)_i, K~_ij = y_i y_j (k_ij + 1)", "aᵀK̃a - minᵢ (K̃a)ᵢ, K̃ᵢⱼ = yᵢ yⱼ (kᵢⱼ + 1)"),
        ("f_i = u'psi_i; exp(-gamma ||x_i - x_j||^2); W = ww'", "fᵢ = uᵀψᵢ; exp(-γ ‖xᵢ - xⱼ‖²); W = wwᵀ"),
        ("1/2 ||w||^2 + C sum_i xi_i, r_{k+1}, (1 - u)_+", "½ ‖w‖² + C Σᵢ ξᵢ, rₖ₊₁, (1 - u)₊"),
    ],
)
def test_mathematics_in_prose_is_set(written, read):
    assert typeset(written) == read


@pytest.mark.parametrize(
    "text",
    ["orientation 'one'", "Conic's n is it's", "ZeroOneSVM(lam=1.0)", 'one of "gamma", "log-gamma"', "f'(x), r_plus, time_limit"],
)
def test_what_is_no_mathematics_is_left_alone(text):
    assert typeset(text) == text
