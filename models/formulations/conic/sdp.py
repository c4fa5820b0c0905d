"""The semidefinite program of Conic (21) written down as a standard form."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import scipy.sparse as sp

from ...arrays import FloatArray
from ...program.cones import PSD, Nonnegative, RotatedSecondOrder, Zero
from ...program.form import Block, Constraint, StandardForm
from ...program.svec import svec, svec_indices, svec_rank_one, svec_size
from ...views import ConicProblem

__all__ = ["lifted_matrix", "sdp_form"]


def sdp_form(name: str, problem: ConicProblem) -> StandardForm:
    """The SDP with every cone a labelled constraint; see `ConicSVM`."""
    A, metric = problem.A, problem.metric
    n, p = A.shape
    labels = ("w", "W", "z", "r_plus", "r_minus", "s", "t")
    blocks = (Block("w", (p,)), Block("W", (p, p), symmetric=True), *(Block(label, (n,)) for label in labels[2:]))
    sizes = dict(zip(labels, (p, svec_size(p), n, n, n, n, n), strict=True))
    identity, empty = sp.eye_array(n, format="csr"), None

    def rows(**parts: object) -> sp.csr_array:
        count = next(part.shape[0] for part in parts.values())  # type: ignore[attr-defined]
        pieces = [parts.get(label, empty) for label in labels]
        pieces = [
            sp.csr_array((count, sizes[label])) if piece is None else piece for label, piece in zip(labels, pieces, strict=True)
        ]
        return sp.csr_array(sp.hstack(pieces, format="csr"))

    def triples(first: dict[str, object], second: dict[str, object], third: dict[str, object]) -> sp.csr_array:
        stacked = sp.vstack([rows(**first), rows(**second), rows(**third)], format="csr")
        order = np.arange(3 * n).reshape(3, n).T.ravel()  # the three rows of each point side by side
        return sp.csr_array(stacked[order])

    signed = sp.csr_array(A)
    one_of_three = np.zeros((n, 3))
    kept = one_of_three.copy()
    kept[:, 1] = 1.0
    constraints = [
        Constraint("lifted", *_lifted(p, sum(sizes.values())), PSD.of_order(p + 1)),
        Constraint(
            "hull", rows(W=sp.csr_array(svec_rank_one(A)), w=-2.0 * signed, s=-identity, t=-identity), np.ones(n), Nonnegative(n)
        ),
        Constraint("split", rows(r_plus=identity, r_minus=-identity, w=signed), -np.ones(n), Zero(n)),
        Constraint(
            "violated",
            triples({"s": 0.5 * identity}, {"z": identity}, {"r_plus": identity}),
            one_of_three.ravel(),
            RotatedSecondOrder(3, n),
        ),
        Constraint(
            "kept",
            triples({"t": 0.5 * identity}, {"z": -identity}, {"r_minus": identity}),
            kept.ravel(),
            RotatedSecondOrder(3, n),
        ),
    ]
    if problem.kappa is not None:
        constraints.append(
            Constraint("budget", rows(z=sp.csr_array(-np.ones((1, n)))), np.array([problem.kappa * n]), Nonnegative(1))
        )
    total = sum(sizes.values())
    q = np.zeros(total)
    q[p : p + svec_size(p)] = svec(np.eye(p) if metric is None else metric)
    if problem.lam is not None:
        q[p + svec_size(p) : p + svec_size(p) + n] = problem.lam
    lower, upper = np.full(total, -np.inf), np.full(total, np.inf)
    start = p + svec_size(p)
    lower[start : start + n], upper[start : start + n] = 0.0, 1.0
    lower[start + n : start + 3 * n] = 0.0
    return StandardForm(name, blocks, q, tuple(constraints), lower, upper, np.zeros(total, dtype=bool))


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
