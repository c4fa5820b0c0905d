"""One print of every class that shows an answer, word for word: tests/messages/golden/prints.txt.

Masked, since it differs from machine to machine: seconds, iterations, versions, numbers below 1e-4, digits after the fifth.
``MARGINOPT_GOLDEN=write`` writes the file anew.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable
from dataclasses import replace
from functools import cache
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.svm import SVC

import marginopt as mo
from marginopt import margin, questions
from marginopt.instances import Instance
from marginopt.models.program.cones import PSD, Bilinear, Indicator, Nonnegative, RotatedSecondOrder, SecondOrder, Zero
from marginopt.models.program.exponential_cones import Exponential, Power
from marginopt.models.program.form import Block, Constraint, StandardForm

GOLDEN = Path(__file__).parent / "golden" / "prints.txt"
X = np.array([[1.0, 2.0, 1.0], [1.0, -1.0, 0.5], [1.0, -2.0, -1.0], [1.0, -1.0, 2.0], [1.0, 1.0, -1.0]])
Y = np.array([1.0, -1.0, -1.0, 1.0, -1.0])
#: Rows of two binary features, some of them twice with both labels.
ROWS = np.array([[1.0, 0, 0], [1, 0, 1], [1, 1, 0], [1, 1, 1], [1, 0, 0], [1, 1, 1], [1, 1, 0], [1, 0, 1]])
LABELS = np.array([-1.0, -1, 1, 1, 1, 1, -1, -1])
HINGE = mo.HingeSVM(X, Y, 1.0)
COUNT = mo.ZeroOneSVM(X, Y, 1.0, intercept="free")
INTEGER = mo.Margin(ROWS, LABELS, "zero-one", margin.L0(0.5), intercept="free", domain=margin.Integers((-6, -2, -2), (6, 2, 2)))


@cache
def _solved() -> mo.Result:
    return mo.solve(HINGE, "clarabel")


def _apart() -> mo.Margin:
    slope = np.array([[0.0, 1.0, 0.0]])
    rows = [margin.LinearRows(slope, np.array([low]), np.array([low + 1.0])) for low in (2.0, -3.0)]
    return mo.Margin(X, Y, "hinge", "l2", subject_to=rows)


def _changed() -> mo.Result:
    """A result whose certificate was changed."""
    result = _solved()
    assert result.certificate is not None
    return replace(result, certificate=replace(result.certificate, objective=1.0))


def _report() -> object:
    instance = {"toy": mo.ZeroOneSVM(X, Y, 1.0)}
    return mo.gap_report(instance, relaxations=["continuous", "conic"], exact="zero-one-bb", progress=False)


def _difference() -> object:
    form = HINGE.form
    return form.diff(form.replace(r=1.0, q=form.q + np.eye(form.n)[2]))


def _other_rows() -> object:
    return HINGE.form.diff(HINGE.form.replace(constraints=()))


def _peculiar() -> object:
    """A choice of γ at the end of its range, on a disc in a ring with equal points and a constant feature."""
    rng, labels = np.random.default_rng(0), np.where(np.arange(60) % 2 == 0, 1.0, -1.0)
    angle, radius = rng.uniform(0, 2 * np.pi, 60), np.where(labels > 0, 1.0, 2.5)
    points = np.column_stack([radius * np.cos(angle), radius * np.sin(angle), np.ones(60)])
    points[1] = points[0]
    return mo.select(points, labels, "maxmin", gammas=(1e-4, 4.1e-3))


def _program() -> StandardForm:
    """Rows of every kind, with a name of its own for each of the first ones."""
    x, y, z = np.eye(3)
    zero = np.zeros(3)
    rows = [
        Constraint("rows", sp.csr_array([x + y, y - x]), np.array([-2.0, 1.0]), Nonnegative(2), ("c1", "c2")),
        Constraint("sum", sp.csr_array([x + 2 * y + z]), np.array([-5.0]), Zero(1)),
        Constraint("cone", sp.csr_array([z, x, y + z]), np.array([0.0, 1.0, 0.0]), SecondOrder(3)),
        Constraint("square", sp.csr_array([zero, z, y]), np.array([0.5, 0.0, 0.0]), RotatedSecondOrder(3)),
        Constraint("rotated", sp.csr_array([x, z, y]), np.zeros(3), RotatedSecondOrder(3)),
        Constraint("matrix", sp.csr_array([x, np.sqrt(2.0) * y, z]), np.array([0.0, 0.0, 1.0]), PSD.of_order(2)),
        Constraint("exponential", sp.csr_array([y, zero, z]), np.array([0.0, 1.0, 0.0]), Exponential(3)),
        Constraint("power", sp.csr_array([x, z, y]), np.zeros(3), Power(3, alpha=0.25)),
    ]
    return _bare("program", rows)


def _switched() -> StandardForm:
    x, y, z = np.eye(3)
    rows = [
        Constraint("switch", sp.csr_array([-x, y - z]), np.array([1.0, 3.0]), Indicator(2)),
        Constraint("product", sp.csr_array([z, y, y]), np.array([0.0, 0.0, 1.0]), Bilinear(3)),
    ]
    return replace(_bare("switched", rows), maximise=True)


def _bare(name: str, rows: list[Constraint]) -> StandardForm:
    lower, upper = np.array([0.0, -1.0, -np.inf]), np.array([1.0, np.inf, np.inf])
    blocks = (Block("variables", (3,), given_names=("x", "y", "z")),)
    return StandardForm(
        name, blocks, np.array([2.0, 3.0, 0.0]), tuple(rows), lower, upper, np.array([True, False, False]), r=-1.0
    )


def _explained(model: mo.Model, solver: str) -> object:
    return model.explain(mo.solve(model, solver))


PRINTS: dict[str, Callable[[], object]] = {
    "model": lambda: HINGE,
    "continuous model": lambda: COUNT.relaxed(),
    "form": lambda: HINGE.form,
    "form of many variables": lambda: mo.ConicSVM(X, Y, lam=1.0).form,
    "small program": _program,
    "small program in LaTeX": lambda: _program().latex(),
    "program with switches": _switched,
    "form report": lambda: HINGE.form.inspect(),
    "report on a form out of scale": lambda: mo.ZeroOneSVM(X, Y, 1.0, big_m=1e5).form.inspect(),
    "difference of forms": _difference,
    "difference of rows": _other_rows,
    "model with M given": lambda: mo.ZeroOneSVM(X, Y, 1.0, big_m=5.0),
    "model with a kernel": lambda: mo.ZeroOneSVM(X[:, 1:], Y, 1.0, kernel=mo.RBF(0.5)),
    "max-min model": lambda: mo.MaxMinSVM(X[:, 1:], Y, kernel=mo.Mixture(mo.RBF(0.1), mo.RBF(1.0)), parameter="weight"),
    "single-point relaxation": lambda: mo.relaxations.SinglePointRelaxation(X, Y, 0.5),
    "instance": lambda: Instance(X, Y, name="toy"),
    "result": _solved,
    "certificate": lambda: _solved().certificate,
    "exact result": lambda: mo.solve(COUNT, "zero-one-bb"),
    "infeasible": lambda: mo.solve(_apart(), "clarabel"),
    "not separable": lambda: mo.solve(mo.ConicSVM(X[:, :2], Y, kappa=0.0), "clarabel"),
    "unbounded": lambda: mo.solve(mo.Margin(X, Y, "svdd", "none"), "clarabel"),
    "verification": lambda: _solved().verify(HINGE),
    "verification of another claim": lambda: _changed().verify(HINGE),
    "explanation": lambda: HINGE.explain(_solved()),
    "explanation without multipliers": lambda: _explained(mo.ZeroOneSVM(X, Y, 1.0), "scip"),
    "explanation of hulls": lambda: _explained(mo.ConvexHullsDual(X[:, 1:], Y, C=2.0, kernel=mo.RBF(0.5)), "clarabel"),
    "conflict": lambda: mo.solvers.conflict(_apart()),
    "whole path": lambda: mo.path(COUNT, "lam", "all"),
    "conflict of points": lambda: mo.Margin(ROWS, LABELS, "hinge", subject_to=mo.keep([0, 3, 4, 7])).conflict(),
    "path": lambda: mo.path(HINGE, "lam", [0.5, 1.0], solver="clarabel"),
    "comparison": lambda: mo.compare(HINGE, ["clarabel", "zero-one-bb"]),
    "comparison of models": lambda: mo.compare({"one": HINGE, "other": HINGE}, ["clarabel"]),
    "relaxed": lambda: mo.relax(mo.ZeroOneSVM(X, Y, 1.0), "conic"),
    "relaxed with invalid constants": lambda: mo.relax(mo.ZeroOneSVM(X, Y, 1.0), mo.relaxations.Hinge(1.0)),
    "gap report": _report,
    "point check": lambda: mo.proofs.check_point(HINGE, {"w": np.zeros(3), "xi": np.zeros(5)}),
    "audit": lambda: mo.audit(SVC(kernel="linear").fit(X, Y), X, Y),
    "selection": _peculiar,
    "depth": lambda: mo.halfspace_depth(X[:, 1:], [0.0, 0.0]),
    "fairness": lambda: questions.audit_fairness(np.where(ROWS[:, 1] > 0, 1, -1), LABELS, ROWS[:, 1:], "false-positive-rate"),
    "fairness game": lambda: questions.fairness_game(ROWS, LABELS, ROWS[:, 1:], rounds=2),
    "ranges": lambda: questions.coefficient_ranges(INTEGER, 0.2),
    "importance": lambda: questions.feature_importance(INTEGER),
    "supports": lambda: questions.supports(INTEGER, 0.2),
    "most different": lambda: questions.most_different_classifier(INTEGER, 0.5),
    "stability": lambda: questions.prediction_stability(COUNT, X[:2]),
    "solver table": lambda: mo.solvers.SolverTable(tuple(r for r in mo.solvers.table().rows if r["name"] in ("clarabel", "smo"))),
    "conformal sets": lambda: questions.conformal_sets(COUNT, X[:2], 0.2),
}


#: Prints that are tables with seconds in the last columns.
TIMED = ("comparison", "comparison of models", "gap report")


def masked(text: str) -> str:
    """Return the text without what differs from machine to machine; runs of spaces, which depend on it, are two."""
    text = re.sub(r"\b\d+\.\d+\.\d+\b", "<version>", text)
    text = re.sub(r"\b[\d.]+(e-\d+)?(?= s (building|solving))|(?<=trained in )[\d.]+", "<seconds>", text)
    text = re.sub(r" [\d.]+ s compiling \([^)]*\),", "", text)
    text = re.sub(r"\b\d+(?= (iterations|nodes|directions))", "<count>", text)
    text = re.sub(r"-?\b(\d+(\.\d+)?e-(0[4-9]|[1-9]\d)|0\.0+e\+00)\b", "<small>", text)
    text = re.sub(r"Solvers that can: .*", "Solvers that can: <list>", text)
    text = re.sub(r"\d+\.\d{5,}", lambda number: f"{float(number[0]):.4f}", text)
    return "\n".join(re.sub(r"(?<=\S)   +", "  ", line.rstrip()) for line in text.splitlines())


def without_times(text: str) -> str:
    """Return the text of a table with its last numbers masked: counts, seconds and ratios of seconds."""
    text = re.sub(r"^(\w+( s)?)  <small>$", r"\1  <times>", masked(text), flags=re.MULTILINE)  # below a millisecond
    text = re.sub(r"(?<= proved  <small>  )\d+  [\d.<].*$", "<times>", text, flags=re.MULTILINE)
    return re.sub(r"(?<=  )(\d+  )?[\d.]+(e-\d+)?(  [\d.]+)*$", "<times>", text, flags=re.MULTILINE)


def _golden() -> dict[str, str]:
    sections = re.split(r"^\[(.+)\]\n", GOLDEN.read_text(encoding="utf-8"), flags=re.MULTILINE)[1:]
    return {title: body.strip() for title, body in zip(sections[::2], sections[1::2], strict=True)}


@pytest.mark.parametrize("name", PRINTS)
def test_a_print_is_that_of_the_golden_file(name: str) -> None:
    printed = (without_times if name in TIMED else masked)(str(PRINTS[name]())).strip()
    assert "np.float64" not in printed
    if os.environ.get("MARGINOPT_GOLDEN") == "write":
        sections = (_golden() if GOLDEN.exists() else {}) | {name: printed}
        text = "".join(f"[{title}]\n{sections[title]}\n\n" for title in PRINTS if title in sections)
        GOLDEN.write_text(text.rstrip() + "\n", encoding="utf-8")
    assert printed == _golden()[name]


def test_the_golden_file_has_no_other_prints() -> None:
    assert set(_golden()) == set(PRINTS)
