"""The multiclass SVM as mathematics."""

from __future__ import annotations

from ...statement import DualStatement, Line, Statement
from .losses import ClassLoss

__all__ = ["multiclass_statement"]


def multiclass_statement(loss: ClassLoss, n: int, p: int, K: int, kernel: str) -> Statement:
    """The program with this loss, and its dual where that has a closed form."""
    cost = loss.cost_line()
    images = () if not kernel else (f"x_i are images under the kernel {kernel}, after a one for the intercept",)
    return Statement(
        title=f"Multiclass SVM, {loss.title}",
        problem_class="convex QP" if loss.convex else "mixed-integer convex QP",
        sense="minimise",
        over=Line("W and the loss's variables", r"W\in\mathbb{R}^{K\times p},\ \ldots"),
        objective=Line(f"1/2 sum_k ||w_k||^2 + {cost.text}", rf"\tfrac12\textstyle\sum_k\|w_k\|_2^2 + {cost.latex}"),
        constraints=loss.lines(),
        sizes=f"n = {n} points, p = {p} features (a constant one included, if any), K = {K} classes",
        notes=("intercepts, a constant column of X, are penalised like every other weight", *images),
        source=loss.source,
        dual=_dual(loss.dual_line),
    )


def _dual(more: Line | None) -> DualStatement | None:
    if more is None:
        return None
    point = Line(
        "w_c = sum_(i, k) alpha_ik (1{y_i = c} - 1{k = c}) x_i",
        r"w_c = \textstyle\sum_{i,k} \alpha_{ik}\,(1_{y_i=c} - 1_{k=c})\, x_i",
    )
    return DualStatement(
        sense="maximise",
        over=Line("alpha_ik, k != y_i", r"\alpha_{ik},\ k\ne y_i"),
        objective=Line("sum alpha_ik - 1/2 sum_c ||w_c||^2", r"\textstyle\sum_{i,k}\alpha_{ik} - \tfrac12\sum_c\|w_c\|_2^2"),
        constraints=(Line("alpha_ik >= 0", r"\alpha_{ik}\ge 0"), more, point),
        kkt=(point,),
    )
