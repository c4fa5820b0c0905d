"""The semidefinite program of Conic (21) written down as a standard form."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from ...arrays import FloatArray
from ...program.cones import PSD, Nonnegative, RotatedSecondOrder, Zero
from ...program.form import Block, Constraint, StandardForm
from ...program.svec import svec, svec_indices, svec_rank_one, svec_size
from ...views import ConicProblem

__all__ = ["lifted_matrix", "sdp_form"]


def sdp_form(name: str, problem: ConicProblem) -> StandardForm:
    """The SDP with every cone a labelled constraint; see `ConicSVM`."""
    A = problem.A
    n, p = A.shape
    labels = ("w", "W", "z", "r_plus", "r_minus", "s", "t")
    blocks = (Block("w", (p,)), Block("W", (p, p), symmetric=True), *(Block(label, (n,)) for label in labels[2:]))
    sizes = dict(zip(labels, (p, svec_size(p), n, n, n, n, n), strict=True))
    total = sum(sizes.values())
    starts = dict(zip(labels, np.cumsum([0, *sizes.values()])[:-1].tolist(), strict=True))
    kind = np.int32 if n * total < 2**31 else np.int64  # of indices, as SciPy chooses it
    points = np.arange(n, dtype=kind)

    def rows(**parts: FloatArray | float) -> sp.csr_array:
        """One row for each point: matrices as they are, numbers for multiples of the identity."""
        at: list[npt.NDArray[Any]] = []
        columns: list[npt.NDArray[Any]] = []
        data: list[FloatArray] = []
        for label in labels:
            part = parts.get(label)
            if isinstance(part, np.ndarray):
                row, column = np.nonzero(part)
                at, columns, data = [*at, row], [*columns, starts[label] + column], [*data, part[row, column]]
            elif part is not None:
                at, columns, data = [*at, points], [*columns, starts[label] + points], [*data, np.full(n, float(part))]
        where = np.concatenate(at).astype(kind), np.concatenate(columns).astype(kind)
        return sp.csr_array((np.concatenate(data), where), shape=(n, total))

    def triples(*parts: tuple[str, float]) -> sp.csr_array:
        """Three rows side by side for each point, each a multiple of one of its variables."""
        columns = np.column_stack([starts[label] + points for label, _ in parts]).ravel().astype(kind)
        data = np.tile([factor for _, factor in parts], n)
        return sp.csr_array((data, columns, np.arange(3 * n + 1, dtype=kind)), shape=(3 * n, total))

    one_of_three = np.zeros((n, 3))
    kept = one_of_three.copy()
    kept[:, 1] = 1.0
    constraints = [
        Constraint("lifted", *_lifted(p, total), PSD.of_order(p + 1)),
        Constraint("hull", rows(W=svec_rank_one(A), w=-2.0 * A, s=-1.0, t=-1.0), np.ones(n), Nonnegative(n)),
        Constraint("split", rows(r_plus=1.0, r_minus=-1.0, w=A), -np.ones(n), Zero(n)),
        Constraint(
            "violated",
            triples(("s", 0.5), ("z", 1.0), ("r_plus", 1.0)),
            one_of_three.ravel(),
            RotatedSecondOrder(3, n),
        ),
        Constraint(
            "kept",
            triples(("t", 0.5), ("z", -1.0), ("r_minus", 1.0)),
            kept.ravel(),
            RotatedSecondOrder(3, n),
        ),
    ]
    if problem.kappa is not None:
        place = (starts["z"] + points).astype(kind)
        violations = sp.csr_array((-np.ones(n), place, np.array([0, n], dtype=kind)), shape=(1, total))
        constraints.append(Constraint("budget", violations, np.array([problem.kappa * n]), Nonnegative(1)))
    q, lower, upper = _cost_and_bounds(problem, starts, total)
    return StandardForm(name, blocks, q, tuple(constraints), lower, upper, np.zeros(total, dtype=bool))


def _cost_and_bounds(problem: ConicProblem, starts: Mapping[str, int], total: int) -> tuple[FloatArray, FloatArray, FloatArray]:
    """q, and lower and upper bounds: 0 ≤ z ≤ 1, r ≥ 0."""
    n, p = problem.A.shape
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
