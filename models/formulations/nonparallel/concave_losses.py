"""Nonconvex programs of one class, (2) of Zhang et al., 2024 ("NPSVC++"), with a loss concave in |f|: capped or correntropy.

`NonparallelSVM` compiles to them: a hyperplane u'ψ = 0 near the points of a class and far from the others. f_i = u'ψ_i is the
score of point i with the features ψ_i.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp

from ...arrays import BoolArray, FloatArray
from ...program.cones import Bilinear, Nonnegative
from ...program.exponential_cones import Exponential
from ...program.form import Block, Constraint, StandardForm
from ...program.quadratic import Quadratic


@dataclass(frozen=True, eq=False)
class ConcaveProgram(ABC):
    """Base class of the programs min Σ_{class} ℓ(|f_i|) + c Σ_{others} (s - f_j)_+ + ½u'Hu, H ⪰ rI, with ℓ concave.

    Blocks ``u``, ``xi`` (ξ of the other points, then ξ_i ≥ |f_i| of the class) and those of the loss; constraints ``margin``
    f + ξ - s ≥ 0, ``above`` ξ - f ≥ 0 and ``below`` ξ + f ≥ 0 with terms of the loss. Branch and bound needs bounds of all
    variables: |u_j| ≤ `norm_bound`.

    Parameters
    ----------
    rows : ndarray (n, p)
        Ψ, with rows ψ_i, so that f = Ψu.
    inside : ndarray of bool (n,)
        Points of the class.
    H : ndarray (p, p)
        Matrix of the quadratic: the norm and, if wanted, the smoothness on a neighbour graph.
    r, c : float
        r > 0 with H ⪰ rI, and c > 0, the weight of the other points' losses.
    margin : float
        s > 0, the score that the other points are to reach.
    """

    rows: FloatArray
    inside: BoolArray
    H: FloatArray
    r: float
    c: float
    margin: float

    @property
    def norm_bound(self) -> float:
        """Return √(2 c s m/r) for m other points, which bounds ||u|| wherever the objective is at most that of u = 0."""
        at_zero = self.c * self.margin * float((~self.inside).sum())
        return float(np.sqrt(2.0 * at_zero / self.r)) * (1.0 + 1e-9)

    @property
    def score_bounds(self) -> FloatArray:
        """Return bounds of |f_i| of the class's points."""
        return self.norm_bound * np.linalg.norm(self.rows[self.inside], axis=1)

    @abstractmethod
    def form(self, name: str) -> StandardForm:
        """Return the program as a standard form of this name."""

    @abstractmethod
    def values(self, u: FloatArray) -> dict[str, FloatArray]:
        """Return u with the best values of the other blocks."""

    def _form(
        self, name: str, loss_blocks: tuple[Block, ...], M: sp.csr_array, costs: FloatArray, tops: FloatArray
    ) -> StandardForm:
        """Return the program with the loss's own blocks, whose coefficients in ``above`` and ``below`` are M; ``costs`` and
        ``tops`` are the costs and upper bounds of the class's ξ_i and of the loss's own variables.
        """
        A, B, p = sp.csr_array(self.rows[self.inside]), sp.csr_array(self.rows[~self.inside]), self.rows.shape[1]
        k, m = A.shape[0], B.shape[0]
        rows = {
            "margin": sp.hstack([B, sp.eye_array(m), sp.csr_array((m, costs.size))]),
            "above": sp.hstack([-A, sp.csr_array((k, m)), sp.eye_array(k), M]),
            "below": sp.hstack([A, sp.csr_array((k, m)), sp.eye_array(k), M]),
        }
        sides = {"margin": np.full(m, -self.margin), "above": np.zeros(k), "below": np.zeros(k)}
        offset = m + costs.size
        return StandardForm(
            name=name,
            blocks=(Block("u", (p,)), Block("xi", (m + k,)), *loss_blocks),
            q=np.concatenate([np.zeros(p), np.full(m, self.c), costs]),
            constraints=tuple(
                Constraint(label, sp.csr_array(F), sides[label], Nonnegative(F.shape[0])) for label, F in rows.items()
            ),
            lower=np.concatenate([np.full(p, -self.norm_bound), np.zeros(offset)]),
            upper=np.concatenate([np.full(p, self.norm_bound), np.full(m, np.inf), tops]),
            integer=np.zeros(p + offset, dtype=bool),
            quadratic=Quadratic(matrix=sp.block_diag([sp.csc_array(self.H), sp.csc_array((offset, offset))], format="csc")),
        )

    def _split(self, u: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return ξ of the other points, and |f_i| of the class."""
        f = self.rows @ u
        return np.maximum(self.margin - f[~self.inside], 0.0), np.abs(f[self.inside])


@dataclass(frozen=True, eq=False)
class CappedProgram(ConcaveProgram):
    """The `ConcaveProgram` of the capped loss ℓ(a) = min(a, ε): block ``z``, binary, with cost ε; z_i = 1 turns off ξ_i ≥ |f_i|
    by the term M_i z_i, M_i a bound of |f_i|.

    Parameters
    ----------
    epsilon : float
        ε > 0.
    """

    epsilon: float

    def form(self, name: str) -> StandardForm:
        """Return the program as a standard form of this name, mixed-integer."""
        M, k = sp.csr_array(sp.diags_array(self.score_bounds)), self.score_bounds.size
        costs, tops = np.repeat([1.0, self.epsilon], k), np.repeat([self.epsilon, 1.0], k)
        form = self._form(name, (Block("z", (k,)),), M, costs, tops)
        return form.replace(integer=np.arange(form.n) >= form.n - k)

    def values(self, u: FloatArray) -> dict[str, FloatArray]:
        """Return u with the best values of the other blocks."""
        short, size = self._split(u)
        given_up = size > self.epsilon
        xi = np.concatenate([short, np.where(given_up, 0.0, size)])
        return {"u": u, "xi": xi, "z": given_up.astype(np.float64)}


@dataclass(frozen=True, eq=False)
class CorrentropyProgram(ConcaveProgram):
    """The `ConcaveProgram` of ℓ(a) = 1 - exp(-γa): blocks ``decay`` d_i with cost 1 - d_i and ``growth`` g_i, g_i ≥ exp(γ ξ_i),
    d_i g_i ≤ 1.

    Parameters
    ----------
    gamma : float
        γ > 0.
    """

    gamma: float

    def form(self, name: str) -> StandardForm:
        """Return the program: an exponential cone ``exponential`` and a bilinear row ``product`` for each point of the class."""
        k = self.score_bounds.size
        with np.errstate(over="ignore"):
            tops = np.concatenate([self.score_bounds, np.ones(k), np.exp(self.gamma * self.score_bounds) * (1.0 + 1e-12)])
        blocks, costs = (Block("decay", (k,)), Block("growth", (k,))), np.repeat([0.0, -1.0, 0.0], k)
        form = self._form(name, blocks, sp.csr_array((k, 2 * k)), costs, tops)
        i, xi, decay, growth = np.arange(k), *(np.arange(start, start + k) for start in form.n - k * np.array([3, 2, 1]))
        entries = np.concatenate([np.full(k, self.gamma), np.ones(k)])
        exponential = sp.csr_array((entries, (np.concatenate([3 * i, 3 * i + 2]), np.concatenate([xi, growth]))), (3 * k, form.n))
        pairs = np.concatenate([3 * i + 1, 3 * i + 2]), np.concatenate([decay, growth])
        product = sp.csr_array((np.ones(2 * k), pairs), (3 * k, form.n))
        rows = (
            Constraint("exponential", exponential, np.tile([0.0, 1.0, 0.0], k), Exponential(3, k)),
            Constraint("product", product, np.tile([1.0, 0.0, 0.0], k), Bilinear(3, k)),
        )
        return form.replace(constraints=(*form.constraints, *rows), r=float(k))

    def values(self, u: FloatArray) -> dict[str, FloatArray]:
        """Return u with the best values of the other blocks."""
        short, size = self._split(u)
        with np.errstate(over="ignore"):
            growth = np.exp(self.gamma * size)
        return {"u": u, "xi": np.concatenate([short, size]), "decay": np.exp(-self.gamma * size), "growth": growth}
