"""The 0-1-loss SVM in words and LaTeX."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ...statement import Line, Statement
from .strengthened import strengthened_lines

if TYPE_CHECKING:
    from .model import ZeroOneSVM

__all__ = ["zero_one_statement"]


def zero_one_statement(model: ZeroOneSVM) -> Statement:
    """Conic (3), (5), or the strengthened program; with Σz ≤ κn in the κ form."""
    n, p = model.X.shape
    title, kind, source = "big-M", "mixed-integer convex QP", "(3)"
    objective = _objective(model)
    binary = Line("z_i in {0, 1}", r"z_i \in \{0,1\}")
    row = Line("y_i x_i'w >= 1 - M_i z_i", r"y_i x_i^\top w \ge 1 - M_i z_i,\quad i=1,\dots,n", "margin")
    lines: tuple[Line, ...] = (row, binary)
    notes: tuple[str, ...] = (_argument(model),)
    if model.encoding == "indicator":
        switch = Line("z_i = 0  =>  y_i x_i'w >= 1", r"z_i = 0 \Rightarrow y_i x_i^\top w \ge 1,\quad i=1,\dots,n", "margin")
        title, source, lines = "indicators", "(5a)-(5b)", (switch, binary)
        notes = (f"|w_j| <= sqrt(UB), UB = {model.incumbent_value:.6g}: any w beyond it is worse than a known point",)
    elif model.gamma is not None:
        title, kind, source = "strengthened", "mixed-integer second-order cone program", "(13) at a fixed gamma, z binary"
        objective, lines = strengthened_lines(int((model.gamma > 0).sum()), model.rows)
        notes = (
            f"g = gamma in Gamma, {int((model.gamma > 0).sum())} of {n} positive; every point keeps its "
            f"{'row with M_i' if model.rows == 'bigm' else 'cones'}, whatever its gamma_i",
        )
        notes += (_argument(model),) if model.rows == "bigm" else ()
    cost = f"lam = {_number(model.lam)}"
    if model.budget is not None:
        title, cost = f"{title}, at most kappa n violations", f"kappa = {model.kappa:g}, at most {model.budget} violations"
        lines = (*lines, Line("sum_i z_i <= kappa n", r"\textstyle\sum_{i=1}^n z_i \le \kappa n", "budget"))
        if model.gamma is not None:
            notes = (*notes, "lam = 0 in the objective: the budget stands for it")
    return Statement(
        title=f"0-1-loss SVM, {title}",
        problem_class=kind,
        sense="minimise",
        over=Line("w, z", r"w\in\mathbb{R}^p,\ z\in\{0,1\}^n"),
        objective=objective,
        constraints=lines,
        sizes=f"n = {n} points, p = {p} features (a constant one included), {cost}",
        notes=(*notes, "counts margin violations u < 1; misclassified points (u < 0) are reported beside it"),
        source=f"Cepeda, Gomez, Han: Robust SVMs via conic optimization, {source}",
    )


def _objective(model: ZeroOneSVM) -> Line:
    norm = "||w||^2" if model.intercept == "penalised" else "||w_(without intercept)||^2"
    tex = r"\|w\|_2^2" if model.intercept == "penalised" else r"\textstyle\sum_{j\ge 2} w_j^2"
    if model.kappa is not None:
        return Line(norm, tex)
    return Line(f"{norm} + lam sum_i z_i", rf"{tex} + \lambda\sum_{{i=1}}^n z_i")


def _argument(model: ZeroOneSVM) -> str:
    """Why M is valid."""
    if model.M is None and not np.isfinite(model.incumbent_value):
        return "M needs a known feasible point: none is given, so that only solvers without a form can read this model"
    M = model.big_m
    if model.M is not None:
        return f"M given by the user (unproven), between {M.min():.4g} and {M.max():.4g}"
    spent = " - lam_i" if model.kappa is None else ""
    return (
        f"M_i = 1 + ||x_i|| sqrt(UB{spent}){' + |b|max' if model.intercept == 'free' else ''} with UB = "
        f"{model.incumbent_value:.6g} ({model.m_source}), between {M.min():.4g} and {M.max():.4g}: M_i matters only where "
        f"z_i = 1, and an optimal w then has ||w||^2 <= UB{spent}"
    )


def _number(lam: object) -> str:
    values = np.asarray(lam, dtype=np.float64)
    return f"{float(values):g}" if values.ndim == 0 else f"{values.min():g} .. {values.max():g}"
