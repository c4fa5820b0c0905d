"""The problem with the capped similarity loss min(|a|, ε) as a mixed-integer program.

min(|a|, ε) = min over z in {0, 1} of ξ + εz with |a| ≤ ξ + Mz, for every M ≥ |a|. At u = 0 the objective is UB = c s m for m
other points, so a better u has ½r||u||² ≤ UB, and M_i = ||ψ_i|| √(2UB/r) is at least |f_i|.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp

from ...arrays import BoolArray, FloatArray
from ...program.cones import Nonnegative
from ...program.form import Block, Constraint, Quadratic, StandardForm


@dataclass(frozen=True, eq=False)
class CappedProgram:
    """min Σ_{class} min(|f_i|, ε) + c Σ_{others} (s - f_j)_+ + ½u'Hu with H ⪰ rI.

    Parameters
    ----------
    rows : ndarray (n, p)
        ψ_i, so f = Ψu.
    inside : ndarray of bool (n,)
        Points of the class.
    H : ndarray (p, p)
    r, c, margin, epsilon : float
        > 0; s is the margin.
    """

    rows: FloatArray
    inside: BoolArray
    H: FloatArray
    r: float
    c: float
    margin: float
    epsilon: float

    @property
    def reach(self) -> float:
        """√(2 c s m/r), which ||u|| does not exceed at any point that is as good as u = 0."""
        at_zero = self.c * self.margin * float((~self.inside).sum())
        return float(np.sqrt(2.0 * at_zero / self.r)) * (1.0 + 1e-9)

    def form(self, name: str) -> StandardForm:
        """Return the program.

        Blocks ``u``, ``xi`` (other points, then those of the class) and ``z`` (of the class, binary); constraints ``margin``
        f + ξ - s ≥ 0, ``above`` ξ + Mz - f ≥ 0 and ``below`` ξ + Mz + f ≥ 0. Searches need |u_j| ≤ `reach`.
        """
        A, B, p = sp.csr_array(self.rows[self.inside]), sp.csr_array(self.rows[~self.inside]), self.rows.shape[1]
        k, m = A.shape[0], B.shape[0]
        M = sp.diags_array(self.reach * np.linalg.norm(self.rows[self.inside], axis=1))
        rows = {
            "margin": sp.hstack([B, sp.eye_array(m), sp.csr_array((m, 2 * k))]),
            "above": sp.hstack([-A, sp.csr_array((k, m)), sp.eye_array(k), M]),
            "below": sp.hstack([A, sp.csr_array((k, m)), sp.eye_array(k), M]),
        }
        sides = {"margin": np.full(m, -self.margin), "above": np.zeros(k), "below": np.zeros(k)}
        rest = m + 2 * k
        return StandardForm(
            name=name,
            blocks=(Block("u", (p,)), Block("xi", (m + k,)), Block("z", (k,))),
            q=np.concatenate([np.zeros(p), np.full(m, self.c), np.ones(k), np.full(k, self.epsilon)]),
            constraints=tuple(
                Constraint(label, sp.csr_array(F), sides[label], Nonnegative(F.shape[0])) for label, F in rows.items()
            ),
            lower=np.concatenate([np.full(p, -self.reach), np.zeros(rest)]),
            upper=np.concatenate([np.full(p, self.reach), np.full(m, np.inf), np.full(k, self.epsilon), np.ones(k)]),
            integer=np.arange(p + rest) >= p + m + k,
            quadratic=Quadratic(matrix=sp.block_diag([sp.csc_array(self.H), sp.csc_array((rest, rest))], format="csc")),
        )

    def values(self, u: FloatArray) -> dict[str, FloatArray]:
        """Return u with the best values of the other blocks."""
        f = self.rows @ u
        size = np.abs(f[self.inside])
        given_up = size > self.epsilon
        short = np.maximum(self.margin - f[~self.inside], 0.0)
        xi = np.concatenate([short, np.where(given_up, 0.0, size)])
        return {"u": u, "xi": xi, "z": given_up.astype(np.float64)}
