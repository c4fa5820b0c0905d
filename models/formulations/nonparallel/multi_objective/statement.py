"""The statement of the Chebyshev problem, and the explanation of the classes' scores for every point."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

from ....arrays import FloatArray, IntArray
from ....inspection.point_explanation import PointExplanation, PointRow
from ....statement import Line, Statement
from .problem import ChebyshevProblem

__all__ = ["chebyshev_statement", "explained_scores"]


def explained_scores(
    model: ChebyshevProblem,
    labels: npt.NDArray[Any],
    number: IntArray,
    scores: FloatArray,
    surface: Callable[[FloatArray], FloatArray] | None,
) -> PointExplanation:
    """Score of the own class (``number``), and by how much it beats the best of the others; ``surface`` draws the classes."""
    turn = 1.0 if model.orientation == "one" else -1.0  # the smallest score wins, or the largest
    own_scores = scores[np.arange(number.size), number]
    rest = turn * scores
    rest[np.arange(number.size), number] = np.inf
    margins = rest.min(axis=1) - turn * own_scores
    rows = []
    for i, m in enumerate(margins.tolist()):
        kind = "misclassified" if m < 0 else "right class"
        rows.append(PointRow(i, str(labels[i]), float(own_scores[i]), m, None, kind, m < 0))
    levels = tuple((k + 0.5, "solid") for k in range(model.K - 1))
    return PointExplanation(tuple(rows), "no weights of points", score="own score", X=model.X, surface=surface, levels=levels)


def chebyshev_statement(model: ChebyshevProblem) -> Statement:
    """NPSVC++ (8) in words."""
    near, far = ("class l", "the others") if model.orientation == "one" else ("the others", "class l")
    spread = (" + mu/2 Tr(P'SP)", r" + \tfrac\mu2\operatorname{Tr}(P^\top SP)") if model.mu else ("", "")
    return Statement(
        title="Multi-objective nonparallel classifier (K-NPSVC++), Chebyshev problem",
        problem_class="nonconvex: P on the Stiefel manifold" if model.P is None else "second-order cone program (P fixed)",
        sense="minimise",
        over=Line("rho, U, V" + (", P" if model.P is None else ""), r"\rho, U, V" + (", P" if model.P is None else "")),
        objective=Line("rho", r"\rho"),
        constraints=(
            Line(
                "w_l [1/2 ||Psi_A u_l||^2 + c sum_B (1 - psi_i'u_l)_+ + r1/2 ||u_l - P v_l||^2 "
                f"+ r2/2 ||v_l||^2{spread[0]}] <= rho",
                r"\varpi_l\bigl[\tfrac12\|\Psi_A u_l\|^2 + c\textstyle\sum_{B}[1-\psi_i^\top u_l]_+"
                r" + \tfrac{r_1}2\|u_l - Pv_l\|^2 \\ &\qquad"
                rf" + \tfrac{{r_2}}2\|v_l\|^2{spread[1]}\bigr] \le \rho,\ l=1,\dots,K",
                "objective_l",
            ),
            Line("P'P = I" + ("" if model.P is None else ", given"), r"P^\top P = I"),
        ),
        sizes=f"n = {model.X.shape[0]} points, K = {model.K} classes, {model.features.features} features, d = {model.d}, "
        f"c = {model.c:g}, r1 = {model.r1:g}, r2 = {model.r2:g}" + (f", mu = {model.mu:g}" if model.mu else ""),
        notes=(
            f"orientation {model.orientation!r}: A is {near}, B is {far}; {model.kernel}",
            "for fixed P: separable, rho = max_l w_l min J_l; dual: sum_l tau_l w_l min J_l over the simplex",
        ),
        source="Zhang, Lai, Zhou, Liang: NPSVC++, (8)-(9), (13)",
    )
