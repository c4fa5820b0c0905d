"""Printed compositions list their variables with their sets, name classes and features, and say what is enforced."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import marginopt as mo
from marginopt import margin

_RNG = np.random.default_rng(3)
_X = np.column_stack([np.ones(18), _RNG.normal(size=(18, 2)), np.arange(18) % 2])
_Y = np.where(_RNG.normal(size=18) + _X[:, 1] > 0, 1.0, -1.0)
_DATA = mo.instances.Instance(_X, _Y, feature_names=["one", "age", "income", "gen_der"], labels=["no", "yes"])
_BENT = margin.PiecewiseLinear(((-1.0, 1.0), (0.0, 0.3), (0.5, 0.8), (1.0, 0.0), (3.0, 0.2)))
_LOSSES: list[Any] = [
    margin.Hinge(), margin.SquaredHinge(), margin.Ramp(2.0, 2.0), margin.Ramp(2.0, 2.0, 100.0), margin.ZeroOne(), _BENT,
    margin.PairwiseHinge(), margin.EpsilonInsensitive(), margin.HardMargin(), margin.NuHinge(), margin.OneClass(),
    margin.NearestHulls(), margin.SoftBall(), margin.Conic(), margin.StrongestConic(), margin.Logistic(),
    margin.ExponentialLoss(), margin.Huber(), margin.PiecewiseLinear(((0.0, 1.0), (1.0, 0.0))),
]  # fmt: skip
_REGULARISERS: list[Any] = [
    margin.SquaredNorm(), margin.L1(), margin.ElasticNet(), margin.GroupL1((0, 1, 1, 1)), margin.KernelWeightsL1(np.eye(4)),
    margin.L0(), margin.L0L1(1.0, 1.0, 2), margin.L0L1(0.0, 1.0), margin.L0L1(1.0),
]  # fmt: skip
_GROUPS = np.array(["city", "land", "sea"])[np.arange(18) % 3]
_MODELS: list[mo.Margin] = [
    *(mo.Margin(_X, _Y, loss, domain=margin.Box(-2.0, 2.0)) for loss in _LOSSES),
    *(mo.Margin(_X, _Y, "hinge", regulariser, domain=margin.Integers(-2, 2)) for regulariser in _REGULARISERS),
    mo.Margin(_X, _Y, margin.EnclosingBall(), "none"),
    mo.Margin(_X, _Y, {"city": "ramp", "land": margin.Hat(), "sea": _BENT}, groups=_GROUPS, domain=margin.Box(-2.0, 2.0)),
]
#: Letters of the data and of numbers: rows, labels, costs, bounds of coefficients, values that the row itself gives.
_GIVEN = {"sum", "x", "y", "c", "u", "g", "M"}


def _listed(model: mo.Margin) -> list[Any]:
    return [line for part in model.parts for line in part.variables()]


@pytest.mark.parametrize("model", _MODELS, ids=lambda m: m.statement.title)
def test_the_blocks_of_the_form_are_listed_with_their_sets(model: mo.Margin) -> None:
    """An ellipsis stands for the numbered blocks after the first one."""
    form, seen = model.form, set()
    for line in _listed(model):
        labels = line.label.split(", ")
        stem = labels[0].removesuffix(" 0") if labels[-1].endswith("...") else ""
        blocks = [b for b in form.blocks if (re.fullmatch(rf"{stem} \d+", b.label) if stem else b.label in labels)]
        assert blocks, line.label
        seen |= {b.label for b in blocks}
        integer = [form.integer[form.slices[b.label]].all() for b in blocks]
        assert all(whole == bool(re.search(r"\{0, 1\}|in Z", line.text)) for whole in integer)
    assert seen == {b.label for b in form.blocks}
    assert all(line.text in model.statement.variables.text for line in _listed(model))
    assert all(line.latex in model.statement.variables.latex and line.latex in model.latex() for line in _listed(model))


@pytest.mark.parametrize("model", _MODELS, ids=lambda m: m.statement.title)
def test_every_indexed_name_of_a_row_is_listed(model: mo.Margin) -> None:
    statement = model.statement
    rows = "\n".join(line.text for line in (statement.objective, *statement.constraints))
    used = set(re.findall(r"\b([A-Za-z]+[+-]?)_(?:i|j|g|ij|ik)\b", rows)) - _GIVEN
    assert used <= set(re.findall(r"[A-Za-z]+[+-]?", statement.variables.text))


@pytest.mark.parametrize("model", _MODELS, ids=lambda m: m.statement.title)
def test_relaxed_compositions_have_no_sets_of_integers(model: mo.Margin) -> None:
    relaxed = model.relaxed().statement
    lines = (relaxed.variables, *relaxed.constraints)
    assert not any(re.search(r"\{0, 1\}|\bZ\b|integer", line.text) for line in lines)
    assert not any(re.search(r"\\\{0,1\\\}|mathbb\{Z\}", line.latex) for line in lines)


@pytest.mark.parametrize("model", _MODELS, ids=lambda m: m.statement.title)
@pytest.mark.parametrize("encoding", ["auto", "indicator"])
def test_relaxed_compositions_print_the_rows_that_the_form_keeps(model: mo.Margin, encoding: str) -> None:
    """Indicator constraints are dropped from the form and from the print; every other printed row stays in both."""
    model = model.replace("encoding", encoding)
    relaxed = model.relaxed()
    kept = {c.label for c in relaxed.form.constraints}
    printed, before = ({part for line in m.statement.constraints for part in line.label.split(", ")} for m in (relaxed, model))
    assert kept & before == kept & printed
    switches = {c.label for c in model.form.constraints} - kept
    assert not switches & printed


@pytest.mark.parametrize("loss", [*_LOSSES, margin.Hat()], ids=repr)
def test_variables_of_a_group_have_its_number_of_points(loss: margin.Loss) -> None:
    if not loss.is_sum_over_points or not loss.reads_class_labels:
        pytest.skip("not a loss of a group")
    alone = mo.Margin(_X[:7], np.resize([1.0, -1.0], 7), loss, domain=margin.Box(-2.0, 2.0))
    groups = np.where(np.arange(18) < 7, "first", "rest")
    model = mo.Margin(_X, _Y, {"first": loss, "rest": "hinge"}, groups=groups, domain=margin.Box(-2.0, 2.0))
    of_group = [line for line in model.loss.variables() if line.label.startswith("first")]
    for line, grouped in zip(alone.loss.variables(), of_group, strict=True):
        assert grouped.text == f"{line.text.replace('^n', '^7')}  [first]"
        assert grouped.latex == re.sub(r"\^\{?n(?!\w)", lambda m: m[0].replace("n", "7"), line.latex) + r"\ [\text{first}]"


@pytest.mark.skipif(shutil.which("pdflatex") is None, reason="no TeX engine (pdflatex) is installed")
def test_the_lists_of_variables_fit_on_the_page(tmp_path: Path) -> None:
    head = _MODELS[0].latex(standalone=True).partition("\\noindent")[0]
    body = "\\newpage\n".join(model.latex() for model in _MODELS)
    (tmp_path / "all.tex").write_text(f"{head}{body}\\end{{document}}\n", encoding="ascii")
    command = ["pdflatex", "-interaction=nonstopmode", "-halt-on-error", "all.tex"]
    run = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=120, check=False)
    assert run.returncode == 0, run.stdout[-2000:]
    assert all(float(wide) < 10 for wide in re.findall(r"Overfull .hbox .(\S+)pt too wide. detected", run.stdout)), run.stdout


def _row(model: mo.Model, label: str) -> Any:
    return next(line for line in model.statement.constraints if line.label == label)


@pytest.mark.parametrize("points", ["yes", 1])
def test_a_budget_names_the_class_and_its_share_in_latex_too(points: Any) -> None:
    line = _row(mo.Margin(_DATA, loss="zero-one", subject_to=mo.error_budget(points, 0.3)), "budget count")
    assert line.text == "errors of class yes (+1) <= 0.3 of its points"
    assert line.latex == r"\text{errors of class yes (+1)} \le 0.3\ \text{of its points}"
    plain = _row(mo.Margin(_X, _Y, loss="zero-one", subject_to=mo.error_budget(1, 0.3)), "budget count")
    assert plain.text == "errors of class +1 <= 0.3 of its points"


@pytest.mark.parametrize("groups", ["gen_der", 3])
def test_parity_names_the_feature(groups: Any) -> None:
    line = _row(mo.Margin(_DATA, subject_to=mo.parity(groups, 0.1)), "parity above, parity below")
    assert (line.text, line.latex) == (
        "|cov(gen_der, x'w)| <= 0.1",
        r"|\mathrm{cov}(\text{gen\_der}, x^\top w)| \le 0.1",
    )


def test_counted_parity_says_how_a_score_of_zero_counts() -> None:
    """w = 0 has shares of 0 or of 1: it satisfies the restriction, as the row says."""
    model = mo.Margin(_DATA, loss="zero-one", subject_to=mo.parity("gen_der", 0.0, by="counts"))
    line = _row(model, "count parity above, count parity below")
    assert line.text == (
        "|share_g(x'w > 0) - share_h(x'w > 0)| <= 0, groups g, h of gen_der, a score of 0 counted as positive or negative"
    )
    assert r"\text{a score of 0 counted as positive or negative}" in line.latex and ">=" not in line.text
    assert model.subject_to[0].violation(_X, _Y, np.zeros(4)) == 0.0


def test_fixed_coefficients_have_one_rendering() -> None:
    stated, changed = mo.Margin(_DATA, subject_to=mo.fixed({"age": 0.0})), mo.Margin(_DATA).with_fixed({"w[age]": 0.0})
    lines = _row(stated, "fixed"), _row(changed, "bounds")
    assert {line.text for line in lines} == {"w[age] = 0"}
    assert {line.latex for line in lines} == {r"w_{\text{age}} = 0"}
