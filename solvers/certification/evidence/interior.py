"""Multipliers of linear rows in the relative interior of those that bound the objective, by a linear program.

At a degenerate vertex of the dual, slopes that must not be negative are zero, and rounding decides their sign. Of all z in the
dual cones with slopes ∇f(x) - F'z of the signs that the bounds ask for,

    max Σu   subject to   u_j ≤ |slope_j| where x_j has one bound,   u_i ≤ z_i for inequalities,   0 ≤ u ≤ depth,

is deep wherever any of them is: only what is zero for *all* of them stays zero. Variables with a quadratic term may have any
slope: a small share of it costs its square. A little is paid for what z'(Fx + g) and slopes times distances from bounds take off
the bound. A small share of it moves multipliers off the vertex (`solvers.certification.complete_claim`).
Nothing here is a proof: what comes out is judged as if the solver had given it.
"""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp

from ....models.arrays import FloatArray
from ....models.program.cones import Nonnegative, Zero
from ....models.program.form import StandardForm
from .rows import ByLabel

__all__ = ["interior"]

#: Entries of the rows and iterations of the linear program at most: a second or two.
_MOST, _ITERATIONS = 200_000, 5000
#: How deep is deep enough, in units of the largest entry of the gradient.
_DEPTH = 1e-2
#: What is paid for a loss of the bound, beside a depth at the point's largest distance from a row or bound.
_PAID = 0.1


def interior(form: StandardForm, x: FloatArray, seconds: float | None = None) -> ByLabel | None:
    """Return interior multipliers at a point; None where rows are not linear or too many, or ``seconds`` are not enough."""
    if not form.constraints or not all(isinstance(c.cone, (Zero, Nonnegative)) for c in form.constraints):
        return None
    F, g = form.rows_matrix()
    gradient = form.gradient(x)
    size = float(np.abs(gradient).max(initial=0.0))
    if F.nnz + form.n > _MOST or not 0.0 < size < np.inf:
        return None
    from scipy.optimize import linprog  # imported here: it is slow, and few answers need it

    below, above = np.isfinite(form.lower), np.isfinite(form.upper)
    needed = np.ones(form.n, dtype=bool) if form.quadratic is None else form.quadratic.diagonal <= 0.0
    sided, free = np.flatnonzero(needed & (below != above)), np.flatnonzero(needed & ~below & ~above)
    sign = sp.diags_array(np.where(below[sided], 1.0, -1.0))
    away = np.abs(x - np.where(below, form.lower, np.where(above, form.upper, x)))[sided]
    unequal = np.concatenate([np.full(c.rows, isinstance(c.cone, Nonnegative)) for c in form.constraints])
    inequalities = np.flatnonzero(unequal)
    m, k = F.shape[0], sided.size + inequalities.size
    slack = np.where(unequal, np.maximum(F @ x + g, 0.0), 0.0)
    paid = _PAID / max(float(away.max(initial=0.0)), float(slack.max(initial=0.0)), 1e-300)
    rows = sp.vstack([sign @ F.T[sided], -sp.eye_array(m, format="csr")[inequalities]])
    solution = linprog(
        np.concatenate([paid * (slack - F[:, sided] @ (sign @ away)), -np.ones(k)]),
        A_ub=sp.hstack([rows, sp.eye_array(k)], format="csr"),
        b_ub=np.concatenate([sign @ gradient[sided], np.zeros(inequalities.size)]) / size,
        A_eq=sp.hstack([F.T[free], sp.csr_array((free.size, k))], format="csr") if free.size else None,
        b_eq=gradient[free] / size if free.size else None,
        bounds=np.vstack([np.tile([-np.inf, np.inf], (m, 1)), np.tile([0.0, _DEPTH], (k, 1))]),
        method="highs",
        options={"maxiter": _ITERATIONS, "time_limit": seconds},
    )
    if solution.status != 0:
        return None
    pieces = np.split(solution.x[:m] * size, np.cumsum([c.rows for c in form.constraints])[:-1])
    return {c.label: piece for c, piece in zip(form.constraints, pieces, strict=True)}
