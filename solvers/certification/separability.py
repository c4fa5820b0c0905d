"""Linear separability, decided by a linear program, with a proof either way."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ...errors import SolverError
from ...models.arrays import FloatArray

__all__ = ["Separability", "separability"]


@dataclass(frozen=True, eq=False)
class Separability:
    """The separability of the data: some w has a_i'w ≥ 1 for all i, with its proof.

    Parameters
    ----------
    separable : bool
    w : ndarray (p,) or None
        A separating direction, min_i a_i'w = 1 up to rounding.
    farkas : ndarray (n,) or None
        f ≥ 0, Σf = 1, A'f = 0: then 0 = f'Aw ≥ Σf = 1 would follow from a separating w.
    residual : float
        max |A'f| relative to max |A|, of the proof of non-separability.
    """

    separable: bool
    w: FloatArray | None
    farkas: FloatArray | None
    residual: float


def separability(A: FloatArray) -> Separability:
    """Decide whether the signed rows a_i = y_i x_i lie strictly on one side of a hyperplane through the origin.

    Solves max t subject to A w ≥ t, |w_j| ≤ 1 on rows scaled to unit length (scaling a row by a positive number changes
    neither answer); t* > 0 separates, and at t* = 0 the rows' multipliers are the Farkas proof.

    Raises
    ------
    SolverError
        The linear program could not be solved, or neither proof holds in floating point.
    """
    from scipy.optimize import linprog  # imported here: it is slow, and only κ = 0 needs it

    n, p = A.shape
    norms = np.linalg.norm(A, axis=1)
    if (norms == 0).any():
        farkas = (norms == 0) / np.count_nonzero(norms == 0)
        return Separability(False, None, farkas, 0.0)
    unit = A / norms[:, None]
    answer = linprog(
        np.append(np.zeros(p), -1.0),
        A_ub=np.column_stack([-unit, np.ones(n)]),
        b_ub=np.zeros(n),
        bounds=[(-1.0, 1.0)] * p + [(None, 1.0)],
        method="highs",
    )
    if answer.status != 0:
        raise SolverError(f"the separability test's linear program was not solved: {answer.message}")
    w, margin = answer.x[:p], float(answer.x[p])
    if margin > 1e-9:
        achieved = float((A @ w).min())
        if achieved > 0:
            return Separability(True, w / achieved, None, 0.0)
    f = np.maximum(-answer.ineqlin.marginals, 0.0) / norms
    f /= f.sum()
    residual = float(np.abs(A.T @ f).max() / np.abs(A).max())
    if residual > 1e-7:
        raise SolverError(
            f"separability is undecided in floating point: margin {margin:.2g} of unit rows, Farkas residual {residual:.2g}"
        )
    return Separability(False, None, f, residual)
