"""`form.inspect()` and `form.spy()` say what the numbers are."""

from __future__ import annotations

import xml.etree.ElementTree as ET
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp
from facts import about
from programs import form_with_rows

import marginopt as mo
from marginopt.models import (
    PSD,
    Bilinear,
    Block,
    Constraint,
    Exponential,
    Indicator,
    Nonnegative,
    Power,
    Quadratic,
    RotatedSecondOrder,
    SecondOrder,
    StandardForm,
    Zero,
)
from marginopt.models.program.inspection import Range

_RNG = np.random.default_rng(5)
_X = np.column_stack([np.ones(16), _RNG.normal(size=(16, 2))])
_Y = np.where(_RNG.normal(size=16) + _X[:, 1] > 0, 1.0, -1.0)


def test_every_kind_of_row_has_a_colour_of_its_own() -> None:
    cones = (
        *(kind(3) for kind in (Zero, Nonnegative, SecondOrder, RotatedSecondOrder, PSD, Exponential, Bilinear)),
        Indicator(),
        Power(alpha=0.5),
    )
    rows = tuple(Constraint(c.symbol, sp.csr_array(np.ones((c.dim, 1))), np.zeros(c.dim), c) for c in cones)
    form = StandardForm("kinds", (Block("x", (1,)),), np.ones(1), rows, np.zeros(1), np.ones(1), np.ones(1, dtype=bool))
    svg = "{http://www.w3.org/2000/svg}"
    colours = {mark.get("style") for mark in ET.fromstring(form.spy().svg).findall(f".//{svg}defs/{svg}path")}
    assert len(colours) == len(cones)


def test_ranges_are_those_of_the_data() -> None:
    model = mo.HingeSVM(_X, _Y, lam=0.5)
    report = model.form.inspect()
    expected = Range.of("F margin", np.abs(np.append(_X.ravel(), 1.0)))
    assert report.range("F margin").smallest == expected.smallest
    assert report.range("F margin").largest == expected.largest
    assert report.range("F margin").entries == _X.size + 16
    assert report.range("P") == Range("P", 2.0, 2.0, 3)
    assert report.range("bounds").entries == 0  # zeros and infinities
    assert report.advice == ()


def test_condition_is_exact_where_it_can_be_and_the_ratio_of_column_norms_elsewhere() -> None:
    F = _RNG.normal(size=(6, 4))
    report = form_with_rows(F).inspect()
    assert report.condition is not None
    assert report.condition.exact
    assert report.condition.value == pytest.approx(np.linalg.cond(F))
    wide = sp.diags_array(np.geomspace(1.0, 1e3, 1500)).toarray()
    ratio = form_with_rows(wide).inspect().condition
    assert ratio is not None
    assert not ratio.exact
    assert ratio.value == pytest.approx(1e3)


def test_convexity() -> None:
    assert mo.HingeSVM(_X, _Y).form.inspect().convexity.convex is True
    assert mo.ConicSVM(_X, _Y, lam=1.0).form.inspect().convexity.reason.startswith("a linear objective")
    assert "continuous relaxation" in mo.ZeroOneSVM(_X, _Y).form.inspect().convexity.reason
    bent = form_with_rows(np.eye(3), quadratic=Quadratic(matrix=np.diag([1.0, -2.0, 3.0])))
    verdict = bent.inspect().convexity
    assert verdict.convex is False
    assert verdict.smallest_eigenvalue == pytest.approx(-2.0)
    factored = form_with_rows(np.eye(3), quadratic=Quadratic(factor=np.ones((2, 3))))
    assert "by construction" in factored.inspect().convexity.reason


def test_convexity_of_large_forms_by_lanczos() -> None:
    n = 1300
    diagonal = np.linspace(1.0, 5.0, n)
    convex = form_with_rows(np.ones((1, n)), quadratic=Quadratic(matrix=sp.csc_array(sp.diags_array(diagonal))))
    assert convex.inspect().convexity.convex is True
    diagonal[7] = -3.0
    bent = form_with_rows(np.ones((1, n)), quadratic=Quadratic(matrix=sp.csc_array(sp.diags_array(diagonal))))
    verdict = bent.inspect().convexity
    assert verdict.convex is False
    assert verdict.smallest_eigenvalue == pytest.approx(-3.0, rel=1e-2)
    assert "Lanczos" in verdict.reason


def test_only_what_is_out_of_scale_has_advice() -> None:
    for form in (
        form_with_rows(np.array([[1.0, 1e-7], [1.0, 2.0]])),
        form_with_rows(np.array([[1.0, 1.0], [1e5, 1e5]])),
        form_with_rows(np.eye(2), upper=np.array([1e9, 1.0])),
        form_with_rows(np.eye(2), q=np.array([1e8, 1.0])),
        mo.ZeroOneSVM(_X, _Y, big_m=1e5).form,
    ):
        assert form.inspect().advice
    assert mo.ZeroOneSVM(_X, _Y).form.inspect().advice == ()


@pytest.mark.parametrize(
    "model",
    [mo.HingeSVM(_X, _Y), mo.ZeroOneSVM(_X, _Y), mo.ConicSVM(_X, _Y, kappa=0.2), mo.L2SVMDual(_X, _Y, 2.0, mo.RBF(0.5))],
    ids=lambda m: m.name,
)
def test_the_picture_shows_every_non_zero_once(model: mo.Model, tmp_path: Path) -> None:
    picture = model.form.spy()
    for name in ("spy.png", "spy"):
        with pytest.raises(mo.errors.InputError) as error:
            picture.save(tmp_path / name)
        assert error.value.allowed == (".svg",) and not (tmp_path / name).exists()
    root = ET.fromstring(picture.save(tmp_path / "spy.svg").read_text(encoding="utf-8"))
    assert root.tag.endswith("svg")
    svg = "{http://www.w3.org/2000/svg}"
    marks = sum(1 for group in root.iter(f"{svg}g") if group.get("clip-path") for _ in group.iter(f"{svg}use"))
    P = 0 if model.form.quadratic is None else model.form.quadratic.csc.nnz
    assert marks == P + sum(int((c.F.data != 0).sum()) for c in model.form.constraints)
    assert picture.svg == model.form.spy().svg
    assert 'xlink:href="http' not in picture.svg


def test_forms_are_browsed_by_label() -> None:
    form = mo.HingeSVM(_X, _Y).form
    assert form.block("xi").shape == (16,)
    assert form.constraint("margin").rows == 16
    with pytest.raises(mo.errors.InputError, check=about("v")):
        form.block("v")
    with pytest.raises(mo.errors.InputError, check=about("v")):
        form.constraint("v")
