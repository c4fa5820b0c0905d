"""The semidefinite program of Conic (21) written down as a standard form."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import scipy.sparse as sp

from ...arrays import FloatArray
from ...program.cones import PSD, Nonnegative
from ...program.form import Block, Constraint, StandardForm
from ...program.svec import svec, svec_indices, svec_rank_one, svec_size
from ...views import ConicProblem
from .loss_cones import Columns, loss_constraints

__all__ = ["lifted_matrix", "sdp_form"]


def sdp_form(name: str, problem: ConicProblem) -> StandardForm:
    """The SDP with every cone a labelled constraint; see `ConicSVM`."""
    A = problem.A
    n, p = A.shape
    labels = ("w", "W", "z", "r_plus", "r_minus", "s", "t")
    blocks = (Block("w", (p,)), Block("W", (p, p), symmetric=True), *(Block(label, (n,)) for label in labels[2:]))
    columns = Columns(dict(zip(labels, (p, svec_size(p), n, n, n, n, n), strict=True)))
    constraints = [
        Constraint("lifted", *_lifted(p, columns.total), PSD.of_order(p + 1)),
        Constraint("hull", columns.rows(n, W=svec_rank_one(A), w=-2.0 * A, s=-1.0, t=-1.0), np.ones(n), Nonnegative(n)),
        *loss_constraints(columns, A),
    ]
    if problem.kappa is not None:
        violations = columns.rows(1, z=-np.ones((1, n)))
        constraints.append(Constraint("budget", violations, np.array([problem.kappa * n]), Nonnegative(1)))
    q, lower, upper = _cost_and_bounds(problem, columns)
    return StandardForm(name, blocks, q, tuple(constraints), lower, upper, np.zeros(columns.total, dtype=bool))


def _cost_and_bounds(problem: ConicProblem, columns: Columns) -> tuple[FloatArray, FloatArray, FloatArray]:
    """q, and lower and upper bounds: 0 ≤ z ≤ 1, r ≥ 0."""
    n, p = problem.A.shape
    starts, total = columns.starts, columns.total
    q = np.zeros(total)
    q[starts["W"] : starts["z"]] = svec(np.eye(p) if problem.metric is None else problem.metric)
    if problem.lam is not None:
        q[starts["z"] : starts["z"] + n] = problem.lam
    lower, upper = np.full(total, -np.inf), np.full(total, np.inf)
    lower[starts["z"] : starts["s"]], upper[starts["z"] : starts["z"] + n] = 0.0, 1.0
    return q, lower, upper


def _lifted(p: int, total: int) -> tuple[sp.csr_array, FloatArray]:
    """svec of [1 w'; w W] as an affine function of (w, svec W)."""
    row, column = svec_indices(p + 1)
    is_w = (row == 0) & (column > 0)
    is_W = row > 0
    within = {pair: k for k, pair in enumerate(zip(*(index.tolist() for index in svec_indices(p)), strict=True))}
    positions, columns, data = [], [], []
    for k in np.flatnonzero(is_w):
        positions.append(int(k))
        columns.append(int(column[k]) - 1)
        data.append(float(np.sqrt(2.0)))
    for k in np.flatnonzero(is_W):
        positions.append(int(k))
        columns.append(p + within[int(row[k]) - 1, int(column[k]) - 1])
        data.append(1.0)
    g = np.zeros(svec_size(p + 1))
    g[0] = 1.0
    return sp.csr_array((data, (positions, columns)), shape=(g.size, total)), g


def lifted_matrix(values: Mapping[str, FloatArray]) -> FloatArray:
    """[1 w'; w W] of a point."""
    w, W = values["w"], values["W"]
    return np.block([[np.ones((1, 1)), w[None, :]], [w[:, None], W]])
