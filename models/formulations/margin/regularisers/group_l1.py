"""The group L1 norm: groups of coefficients vanish together."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp

from .....errors import InputError
from ....arrays import FloatArray, as_positive
from ....program.cones import SecondOrder
from ....statement import Line, times
from ..assembly import Affine, Assembly
from ..values import as_wholes
from .regulariser import Regulariser

__all__ = ["GroupL1"]


@dataclass(frozen=True)
class GroupL1(Regulariser):
    """μ Σ_g ||w_g||: a_g ≥ ||w_g||, cost μ Σ a_g.

    Parameters
    ----------
    groups : tuple of int
        The group of each penalised coefficient, in their order.
    mu : float
        μ > 0.

    Raises
    ------
    InputError
        μ ≤ 0; groups that do not fit the coefficients (when the problem is stated).
    """

    groups: tuple[int, ...]
    mu: float = 1.0

    def __post_init__(self) -> None:
        object.__setattr__(self, "groups", as_wholes(self.groups, "groups"))
        object.__setattr__(self, "mu", as_positive(self.mu, "mu"))

    def _members(self, size: int) -> list[list[int]]:
        if len(self.groups) != size:
            raise InputError(f"groups must name a group for each of the {size} penalised coefficients; it has {len(self.groups)}")
        return [[j for j, g in enumerate(self.groups) if g == name] for name in sorted(set(self.groups))]

    def value(self, w: FloatArray) -> float:
        """μ Σ_g ||w_g||."""
        return float(self.mu * sum(np.linalg.norm(w[members]) for members in self._members(w.size)))

    def add(self, builder: Assembly, w: Affine, span: FloatArray) -> None:
        """a and a second-order cone for each group."""
        members = self._members(w.rows)
        size = builder.variables("a", len(members), 0.0)
        for k, group in enumerate(members):
            top = sp.csr_array(([1.0], ([0], [k])), shape=(len(group) + 1, len(members)))
            below = sp.csr_array((np.ones(len(group)), (np.arange(1, len(group) + 1), group)), shape=(len(group) + 1, w.rows))
            builder.require(f"group {k}", size.under(top) + w.under(below), SecondOrder(len(group) + 1))
        builder.cost(self.mu, size)

    def cost_line(self) -> Line:
        """μ Σ a_g."""
        return times(self.mu, Line("sum_g a_g", r"\textstyle\sum_g a_g"))

    def lines(self) -> tuple[Line, ...]:
        """The cones."""
        return (Line("||w_g|| <= a_g", r"\|w_g\|_2 \le a_g", "group 0, ..."),)

    def reach(self, level: float, rows: FloatArray) -> FloatArray:
        """max_g ||x_g|| level/μ: the dual norm."""
        members = self._members(rows.shape[1])
        norms = [np.linalg.norm(rows[:, group], axis=1) for group in members]
        return np.asarray(np.max(norms, axis=0) * level / self.mu)
