"""Second-order cones as quadratic constraints, for solvers that have no cones (Gurobi, SCIP).

(t, c) with ||c|| ≤ t is ``c'c - t² ≤ 0, t ≥ 0``; (a, b, c) with 2ab ≥ ||c||² is ``c'c - 2ab ≤ 0, a ≥ 0, b ≥ 0``. The
solvers recognise these as convex only where t, a, b are single non-negative variables (or constants), so a row
of the cone is written as

* in mixed-integer forms, where size counts and multipliers do not, the variable itself, scaled, where the row is
  ``αx_j`` (α > 0 and a lower bound ≥ 0 in a head row);
* the number where the row is constant (and not negative in a head row);
* an auxiliary variable v, ≥ 0 in a head row, with a linking equation ``F x + g - v = 0`` otherwise.

*Multipliers.* With μ ≥ 0 of ``h(v) ≤ 0``, f + μh has the gradient of f - <z, v> for z = -μ∇h(v): z = 2μ(t, -c), or
2μ(b, a, -c), which is in the (self-dual) cone where v is. In a linked row, z is the equation's multiplier itself: it
includes the price of v ≥ 0 and is right also at the cone's apex, where ∇h vanishes.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ...arrays import BoolArray, FloatArray, IntArray
from ...program.cones import Cone, Nonnegative, RotatedSecondOrder, SecondOrder, Zero
from ...program.form import Constraint, StandardForm

__all__ = ["ConeRows", "native_size", "quadratic_cones"]


@dataclass(frozen=True, eq=False)
class ConeRows:
    """The rows of one (stacked) cone in the variables (x, v).

    Parameters
    ----------
    constraint : Constraint
    variable : ndarray of int (rows,)
        Index in (x, v) of the variable that a row scales; -1 where the row is constant.
    scale : ndarray (rows,)
        α, or the constant.
    linked : ndarray of int
        Rows with an auxiliary variable, in the order of v.
    head : ndarray of bool (rows,)
        Rows that must not be negative: t, or a and b.
    """

    constraint: Constraint
    variable: IntArray
    scale: FloatArray
    linked: IntArray
    head: BoolArray

    def products(self, k: int) -> list[tuple[float, int, int]]:
        """Terms (coefficient, row, row) of h for the k-th cone of the stack; rows are those of the constraint."""
        cone = self.constraint.cone
        first = k * cone.dim
        if isinstance(cone, SecondOrder):
            heads = [(-1.0, first, first)]
        else:
            heads = [(-2.0, first, first + 1)]
        tails = (np.flatnonzero(~self.head[first : first + cone.dim]) + first).tolist()
        return heads + [(1.0, row, row) for row in tails]

    def multipliers(self, value: FloatArray, mu: FloatArray, link: FloatArray) -> FloatArray:
        """z by the argument of the module.

        Parameters
        ----------
        value : ndarray (rows,)
            F x + g.
        mu : ndarray (count,)
            Multipliers ≥ 0 of h ≤ 0.
        link : ndarray
            Multipliers of the linking equations ``F x - v = -g``.
        """
        cone = self.constraint.cone
        v = cone.stacked(value)
        z = -2.0 * mu[:, None] * v
        if isinstance(cone, SecondOrder):
            z[:, 0] = 2.0 * mu * v[:, 0]
        else:
            z[:, 0], z[:, 1] = 2.0 * mu * v[:, 1], 2.0 * mu * v[:, 0]
        flat = z.ravel()
        flat[self.linked] = link
        return flat


def quadratic_cones(form: StandardForm) -> tuple[ConeRows, ...]:
    """Every second-order and rotated cone of the form in the variables (x, v)."""
    found, width = [], form.n
    for c in form.constraints:
        if isinstance(c.cone, (SecondOrder, RotatedSecondOrder)):
            found.append(_rows(form, c, width))
            width += found[-1].linked.size
    return tuple(found)


def native_size(form: StandardForm) -> tuple[int, int]:
    """Variables (auxiliary ones included) and linear rows (linking equations included) of the solver's model."""
    auxiliary = sum(rows.linked.size for rows in quadratic_cones(form))
    linear = sum(c.rows for c in form.constraints if isinstance(c.cone, (Zero, Nonnegative)))
    return form.n + auxiliary, linear + auxiliary


def _rows(form: StandardForm, c: Constraint, first: int) -> ConeRows:
    F = c.F.copy()
    F.eliminate_zeros()
    head = _heads(c.cone)
    entries = np.diff(F.indptr)
    constant = (entries == 0) & ~(head & (c.g < 0))
    variable = np.full(c.rows, -1, dtype=np.int64)
    scale = np.asarray(c.g, dtype=np.float64).copy()
    single = np.flatnonzero((entries == 1) & (c.g == 0) & form.integer.any())
    variable[single] = F.indices[F.indptr[single]]
    scale[single] = F.data[F.indptr[single]]
    plain = np.zeros(c.rows, dtype=bool)
    plain[single] = ~head[single] | ((scale[single] > 0) & (form.lower[variable[single]] >= 0))
    linked = np.flatnonzero(~(plain | constant))
    variable[linked] = first + np.arange(linked.size)
    scale[linked] = 1.0
    return ConeRows(c, variable, scale, linked, head)


def _heads(cone: Cone) -> BoolArray:
    heads = np.zeros((cone.count, cone.dim), dtype=bool)
    heads[:, : 1 if isinstance(cone, SecondOrder) else 2] = True
    return heads.ravel()
