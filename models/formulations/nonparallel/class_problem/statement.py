"""The statement of one class's problem, and the explanation of a hyperplane for every point."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from ....arrays import FloatArray
from ....inspection.point_explanation import ON, ZERO, PointExplanation, PointRow
from ....statement import Line, Statement
from ..pair_losses import DISSIMILARITY, HINGE, SIMILARITY
from .problem import ClassProblem

__all__ = ["class_statement", "explained_points"]


def explained_points(
    model: ClassProblem, values: Mapping[str, FloatArray], multipliers: Mapping[str, FloatArray] | None
) -> PointExplanation:
    """f of every point; the class's own are to be near 0, the others beyond s."""
    f = model.features.rows @ values["u"]
    others = np.flatnonzero(~model.inside)
    z = None if multipliers is None else multipliers.get("margin")
    weights = None
    if z is not None and z.size >= others.size:  # the rows of the other points come first
        weights = np.full(f.size, np.nan)
        weights[others] = z[: others.size]
    top = 0.0 if weights is None else float(np.nanmax(np.abs(weights), initial=0.0))
    rows = []
    for i in range(f.size):
        weight = None if weights is None or model.inside[i] else float(weights[i])
        rows.append(_placed(model, i, float(f[i]), weight, top))
    what = "no multipliers, so no weights" if weights is None else "weights are the multipliers of margin"
    levels = ((0.0, "solid"), (model.margin, "dashed"))

    def surface(grid: FloatArray) -> FloatArray:
        return model.features.project(values["u"][:, None], grid)[:, 0]

    drawn = None if model.kernel.of_rows else surface
    return PointExplanation(tuple(rows), what, score="f", margin="left", X=model.X, surface=drawn, levels=levels)


def _placed(model: ClassProblem, i: int, f: float, weight: float | None, top: float) -> PointRow:
    """Point i, with f and its weight (the largest is ``top``)."""
    label = str(model.labels[i])
    if model.inside[i]:
        return PointRow(i, label, f, -abs(f), weight, "of the class" + (", on its hyperplane" if abs(f) <= ON else ""))
    left = f - model.margin
    kind = "on its margin" if abs(left) <= ON * model.margin else "beyond its margin" if left > 0 else "short of its margin"
    supports = weight is not None and abs(weight) > ZERO * top
    return PointRow(i, label, f, left, weight, f"another, {kind}" + (", support vector" if supports else ""))


def class_statement(model: ClassProblem) -> Statement:
    """NPSVC++ (2)."""
    similar, similar_latex = SIMILARITY[model.loss]
    other, other_latex = DISSIMILARITY.get(model.loss, HINGE)
    inside = int(model.inside.sum())
    graph = "" if model.manifold == 0 else " + mu/2 f'Lf"
    graph_latex = "" if model.manifold == 0 else r" + \tfrac{\mu}{2} f^\top L f"
    return Statement(
        title=f"Nonparallel classifier ({model.loss}), hyperplane of class {model.target}",
        problem_class="convex QP" if model.convex else "nonconvex: similarity loss concave in |a|",
        sense="minimise",
        over=Line("u", r"u"),
        objective=Line(
            f"sum_target ls(f_i) + c sum_others ld(f_i) + r/2 ||u||^2{graph}",
            r"\sum_{y_i=l} \ell_s(f_i) + c \sum_{y_i\ne l} \ell_d(f_i) + \tfrac{r}{2}\|u\|^2" + graph_latex,
        ),
        constraints=(
            Line(f"ls(a) = {similar}", rf"\ell_s(a) = {similar_latex}"),
            Line(f"ld(a) = {other}, s = {model.margin:g}", rf"\ell_d(a) = {other_latex}", "margin"),
        ),
        sizes=f"{inside} points of the class, {model.X.shape[0] - inside} others, {model.features.features} features, "
        f"c = {model.c:g}, r = {model.r:g}" + (f", mu = {model.manifold:g}" if model.manifold else ""),
        notes=(f"f_i = u'psi_i, {model.kernel}", "prediction: the class whose hyperplane is nearest, |f_l(x)|/||u_l||"),
        source="Zhang, Lai, Zhou, Liang: NPSVC++, (2) and Table 1",
    )
