"""The statement of a composed problem, part by part, and figures of a classifier."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ....rows import Rows
from ...arrays import BoolArray, FloatArray, Points, in_memory
from ...kernels.kernels import Kernel
from ...statement import DualStatement, Line, Statement, plus
from ..linear import linear_summary, price_words
from .domains import Domain
from .losses.loss import Loss
from .part import Part
from .regularisers.regulariser import Regulariser
from .restrictions.restriction import Restriction

__all__ = ["margin_statement", "margin_summary", "unread_parts"]


def margin_statement(
    parts: Sequence[Part],
    loss: Loss,
    regulariser: Regulariser,
    shape: tuple[int, int],
    weights: float | FloatArray,
    intercept: str,
    kernel: Kernel | None,
    dual: DualStatement | None,
) -> Statement:
    """The program of these parts on n points and p coefficients."""
    n, p = shape
    cost, norm = loss.cost_line(), regulariser.cost_line()
    free = " (w without intercept in the first term)" if intercept == "free" else ""
    images = () if kernel is None else (f"x_i are images under the kernel {kernel}, after a one for the intercept",)
    kind = "convex" if all(part.convex for part in parts) else "mixed-integer"
    return Statement(
        title="Margin: " + " + ".join(type(part).__name__ for part in parts),
        problem_class=f"{kind} program",
        sense="minimise",
        over=Line("w and the variables of the parts", r"w\in\mathbb{R}^p,\ \ldots"),
        objective=plus(norm, cost),
        constraints=tuple(line for part in parts for line in part.lines()),
        sizes=f"n = {n} points, p = {p} features (a constant one included, if any), {price_words(weights, 'c_i')}",
        notes=(*((f"the intercept is {intercept}{free}",) if loss.intercept else ()), *images),
        dual=dual,
        source="stated from parts; Teo et al.: Bundle methods for regularized risk minimization, 2010, (1)",
    )


def margin_summary(
    loss: Loss, restrictions: Sequence[Restriction], Z: Points | Rows, y: FloatArray, w: FloatArray, penalised: BoolArray
) -> dict[str, float]:
    """Margin violations and misclassified points, or the mean absolute residual; non-zeros of w; excess of each restriction."""
    found = linear_summary(Z, y, w) if loss.labels else {}
    if loss.residuals:
        found = {"mean_absolute_residual": float(np.abs(y - np.asarray(Z @ w)).mean())}
    broken = {r.name: r.excess(in_memory(Z, r.name), y, w, penalised) for r in restrictions}
    return {**found, "nonzero": float(np.count_nonzero(np.abs(w) > 1e-7)), **{f"excess of {k}": v for k, v in broken.items()}}


def unread_parts(loss: Loss, regulariser: Regulariser, domain: Domain, restrictions: Sequence[Restriction]) -> str:
    """Parts that the algorithms for single losses with μ||w||² do not read; where there are none, the loss with its norm."""
    norm: list[Part] = [] if regulariser.square else [regulariser]
    named = [type(part).__name__ for part in (*norm, *([] if domain.free else [domain]), *restrictions)]
    return f"because of {', '.join(named)}" if named else f"its loss is {loss!r} with {regulariser!r}"
