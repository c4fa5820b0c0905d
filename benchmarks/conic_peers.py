"""Clarabel and SCS on Conic (21), called directly with the leanest statement known to us: w, W, z, ρ, one cone a point.

Only the right-hand side changes along κ; one solver object serves a whole path.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp

from marginopt.models.program.cones import smat, svec, svec_indices, svec_rank_one, svec_size


@dataclass(frozen=True)
class PeerAnswer:
    """The answer of a peer to one problem."""

    value: float  #: the peer's optimum
    status: str  #: the peer's status
    w: np.ndarray  #: (p,) primal w
    W: np.ndarray  #: (p, p) primal W
    gamma: np.ndarray  #: (n,) multipliers γ
    v: np.ndarray  #: (n,) multipliers v
    mu: float  #: multiplier of the budget; λ in the λ form
    seconds: float  #: wall seconds, the first one's with the building of the statement


def statement(A: np.ndarray, order: np.ndarray, lam: float | None) -> tuple[np.ndarray, sp.csc_matrix, np.ndarray]:
    """Return (c, F, g) of min c'x over Fx + g in cones: rows ρ ≥ r (n), budget (κ form), second-order cones (3n), lifted matrix.

    The lifted matrix is stacked in svec's ``order``; ``lam`` of None is the κ form.
    """
    n, p = A.shape
    m = svec_size(p)
    total = p + m + 2 * n
    W, w, z, rho = sp.csr_matrix(svec_rank_one(A)), sp.csr_matrix(A), sp.eye(n), sp.eye(n)
    zero = sp.csr_matrix
    q = [-2 * w, W, zero((n, n)), zero((n, n))]
    rows = sp.hstack([w, zero((n, m + n)), rho])
    budget = sp.hstack([zero((1, p + m)), -np.ones((1, n)), zero((1, n))])
    triples = sp.vstack(
        [
            sp.hstack([0.5 * q[0], 0.5 * q[1], 0.5 * z, q[3]]),
            sp.hstack([0.5 * q[0], 0.5 * q[1], -0.5 * z, q[3]]),
            sp.hstack([zero((n, p + m + n)), rho]),
        ]
    ).tocsr()[np.arange(3 * n).reshape(3, n).T.ravel()]
    row, column = svec_indices(p + 1)
    lifted = sp.lil_matrix((svec_size(p + 1), total))
    position = np.cumsum(row > 0) - 1
    for k in range(row.size):
        if row[k] > 0:
            lifted[k, p + position[k]] = 1.0
        elif column[k] > 0:
            lifted[k, column[k] - 1] = np.sqrt(2.0)
    pieces, right = [rows], [-np.ones(n)]
    if lam is None:
        pieces, right = [*pieces, budget], [*right, np.zeros(1)]
    pieces = [*pieces, triples, lifted.tocsr()[order]]
    right = [*right, np.tile([0.5, 0.5, 0.0], n), np.r_[1.0, np.zeros(row.size - 1)][order]]
    c = np.concatenate([np.zeros(p), svec(np.eye(p)), np.full(n, lam or 0.0), np.zeros(n)])
    return c, sp.csc_matrix(sp.vstack(pieces)), np.concatenate(right)


def _answer(
    A: np.ndarray, x: np.ndarray, y: np.ndarray, lam: float | None, value: float, status: str, begun: float
) -> PeerAnswer:
    """Return a peer's answer with its multipliers y as (γ, v, μ).

    The multiplier of q in the triple (½(q + z), ½(q - z), ρ) is ½(y1 + y2).
    """
    n, p = A.shape
    head = n + (lam is None)
    triple = y[head : head + 3 * n].reshape(n, 3)
    mu = float(y[n]) if lam is None else lam
    gamma = 0.5 * (triple[:, 0] + triple[:, 1])
    return PeerAnswer(value, status, x[:p], smat(x[p : p + svec_size(p)]), gamma, y[:n], mu, time.perf_counter() - begun)


def by_clarabel(
    A: np.ndarray, kappas: np.ndarray | None = None, lam: float | None = None, tolerance: float = 1e-8
) -> Iterator[PeerAnswer]:
    """Yield Clarabel's answer for each κ, or that for λ, from one solver object whose right-hand side is updated."""
    import clarabel

    n, p = A.shape
    begun = time.perf_counter()
    c, F, g = statement(A, np.arange(svec_size(p + 1)), lam)
    head = n + (lam is None)
    cones: list[Any] = [
        clarabel.NonnegativeConeT(head),
        *[clarabel.SecondOrderConeT(3)] * n,
        clarabel.PSDTriangleConeT(p + 1),
    ]
    settings = clarabel.DefaultSettings()
    settings.verbose, settings.presolve_enable, settings.chordal_decomposition_enable = False, False, False
    settings.tol_gap_abs = settings.tol_gap_rel = settings.tol_feas = tolerance
    solver = None
    for kappa in [np.nan] if kappas is None else kappas:
        if kappas is not None:
            g[n] = kappa * n
        if solver is None:
            solver = clarabel.DefaultSolver(sp.csc_matrix((c.size, c.size)), c, -F, g, cones, settings)
        else:
            solver.update(b=g)
        result = solver.solve()
        yield _answer(A, np.array(result.x), np.array(result.z), lam, float(result.obj_val), str(result.status), begun)
        begun = time.perf_counter()


def by_scs(
    A: np.ndarray, kappas: np.ndarray | None = None, lam: float | None = None, tolerance: float = 1e-6
) -> Iterator[PeerAnswer]:
    """Yield SCS's answer for each κ, or that for λ, from one warm-started workspace whose right-hand side is updated.

    SCS stacks the lower triangle by columns.
    """
    import scs

    n, p = A.shape
    begun = time.perf_counter()
    row, column = svec_indices(p + 1)
    c, F, g = statement(A, np.lexsort((column, row)), lam)
    cone = {"l": n + (lam is None), "q": [3] * n, "s": [p + 1]}
    solver = None
    for kappa in [np.nan] if kappas is None else kappas:
        if kappas is not None:
            g[n] = kappa * n
        if solver is None:
            options = {"verbose": False, "eps_abs": tolerance, "eps_rel": tolerance, "max_iters": 200_000}
            solver = scs.SCS({"A": -F, "b": g, "c": c}, cone, **options)
        else:
            solver.update(b=g)
        result = solver.solve()
        value, status = float(result["info"]["pobj"]), str(result["info"]["status"])
        yield _answer(A, np.array(result["x"]), np.array(result["y"]), lam, value, status, begun)
        begun = time.perf_counter()


#: Generators of answers by the peer's name.
PEERS = {"clarabel": by_clarabel, "scs": by_scs}
