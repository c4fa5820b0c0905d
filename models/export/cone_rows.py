"""The rows of a form's cones and indicators as Gurobi, SCIP and Pyomo take them: quadratic or nonlinear inequalities, switches.

A form has variables x and constraints F x + g in K. A constraint may be a *stack*: K is a product of cones of one kind and size.
The *switch* of an indicator is x_j, or 1 - x_j, of a binary variable: the row must be ≥ 0 where the switch is 0. *Head* rows of a
second-order cone are those that must be ≥ 0: t, or a and b.

*Second-order cones as quadratic constraints (Gurobi, SCIP, Pyomo).* (t, c) with ||c|| ≤ t is
``c'c - t² ≤ 0, t ≥ 0``; (a, b, c) with 2ab ≥ ||c||² is ``c'c - 2ab ≤ 0, a ≥ 0, b ≥ 0``. The solvers recognise these as convex
only where t, a, b are single non-negative variables (or constants), so a row of the cone is written as

* in mixed-integer forms, where size counts and multipliers do not, the variable itself, scaled, where the row is
  ``αx_j`` (α > 0 and a lower bound ≥ 0 in a head row);
* the number where the row is constant (and not negative in a head row);
* an auxiliary variable v, ≥ 0 in a head row, with a linking equation ``F x + g - v = 0`` otherwise.

*Multipliers.* Let h(v) ≤ 0 be the quadratic inequality of the rows v = F x + g of a cone, μ ≥ 0 its multiplier and f the
objective. f + μh has the gradient of f - <z, v> for z = -μ∇h(v): z = 2μ(t, -c), or 2μ(b, a, -c), which is in the (self-dual)
cone where v is. In a row with a linking equation, z is the equation's multiplier: it includes the multiplier of v ≥ 0 and is
right also at the cone's apex, where ∇h vanishes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ...errors import ExportError
from ..arrays import BoolArray, FloatArray, IntArray
from ..program.cones import Cone, Indicator, Nonnegative, RotatedSecondOrder, SecondOrder, Zero
from ..program.exponential_cones import Power, TranscendentalCone
from ..program.form import Constraint, StandardForm


@dataclass(frozen=True, eq=False)
class IndicatorRows:
    """The indicators of one constraint: x[binary[k]] = active[k] implies that row ``rows[k]`` of F x + g is ≥ 0.

    Parameters
    ----------
    constraint : Constraint
        The stack of indicators.
    binary : ndarray of int (count,)
        Index of each binary variable.
    active : ndarray of int (count,)
        0 or 1, the value at which the row must hold.
    rows : ndarray of int (count,)
        Numbers, in the constraint, of the rows that must be ≥ 0.
    """

    constraint: Constraint
    binary: IntArray
    active: IntArray
    rows: IntArray

    def name(self, k: int) -> str:
        """Return the name of the k-th indicator."""
        if self.constraint.given_names is not None:
            return self.constraint.given_names[2 * k + 1]
        return self.constraint.label if self.binary.size == 1 else f"{self.constraint.label}[{k}]"


def indicator_rows(form: StandardForm) -> tuple[IndicatorRows, ...]:
    """Return every indicator constraint of the form.

    Raises
    ------
    ExportError
        A switch that is not a binary variable x, or 1 - x.
    """
    rows = []
    for c in form.constraints:
        if not isinstance(c.cone, Indicator):
            continue
        heads = c.F[np.arange(0, c.rows, 2)]
        heads.eliminate_zeros()
        single = bool((np.diff(heads.indptr) == 1).all())
        active = c.g[0::2]  # the switch is x where it is 0, and 1 - x where it is 1
        if not (single and np.isin(active, (0.0, 1.0)).all() and (heads.data == 1.0 - 2.0 * active).all()):
            raise ExportError(f"{c.label}: the switch of an indicator must be a single variable x, or 1 - x", name=c.label)
        binary = np.asarray(heads.indices, dtype=np.int64)
        if not (form.integer[binary] & (form.lower[binary] >= 0) & (form.upper[binary] <= 1)).all():
            raise ExportError(f"{c.label}: the switch of an indicator must be a binary variable", name=c.label)
        rows.append(IndicatorRows(c, binary, active.astype(np.int64), np.arange(1, c.rows, 2)))
    return tuple(rows)


def bilinear_rows(c: Constraint) -> Iterator[tuple[int, list[tuple[int, int]]]]:
    """Yield, for each bilinear row t ≥ or = a'b, the number of the row t and the numbers of the pairs of rows (a_i, b_i); pairs
    with an empty factor are left out.
    """
    k, empty = (c.cone.dim - 1) // 2, (np.diff(c.F.indptr) == 0) & (c.g == 0.0)
    for first in range(0, c.rows, c.cone.dim):
        pairs = ((first + 1 + i, first + 1 + k + i) for i in range(k))
        yield first, [(a, b) for a, b in pairs if not (empty[a] or empty[b])]


def transcendental_rows(c: Constraint, rows: Sequence[Any], exp: Callable[[Any], Any]) -> Iterator[tuple[str, Any]]:
    """Yield (name, h) for the inequalities h ≤ 0 of exponential and power cones, in a package's expressions.

    A name begins with that of its cone.
    An exponential cone y e^{a/y} ≤ z with a constant y has no quotient. A variable y, and each base of a power, has a further row
    that keeps it ≥ 0.

    Parameters
    ----------
    c : Constraint
        The stack of exponential or power cones.
    rows : sequence
        F x + g as the package's expressions.
    exp : callable
        The package's exponential.
    """
    numbers = [float(g) if size == 0 else None for g, size in zip(c.g, np.diff(c.F.indptr), strict=True)]
    for k, name in enumerate(cone_names(c)):
        a, y, z = rows[3 * k : 3 * k + 3]
        scale = numbers[3 * k + 1]
        if isinstance(c.cone, Power):
            yield from ((f"{name} (base)", -1.0 * base) for base in (a, y))
            first, second = (base if b is None else max(b, 0.0) for base, b in zip((a, y), numbers[3 * k :], strict=False))
            mean = first**c.cone.alpha * second ** (1.0 - c.cone.alpha)
            yield from ((name, sign * z - mean) for sign in (1.0, -1.0))
        elif scale is None:
            yield f"{name} (scale)", -1.0 * y
            yield name, y * exp(a / y) - z
        elif scale > 0.0:
            yield name, scale * exp((1.0 / scale) * a) - z
        else:  # a ≤ 0 ≤ z
            yield from ((name, bound) for bound in (a, -1.0 * y, -1.0 * z))


def cone_names(c: Constraint) -> list[str]:
    """Return one name for each cone of a stack."""
    return [c.label] if c.cone.count == 1 else [f"{c.label}[{k}]" for k in range(c.cone.count)]


def variable_letters(form: StandardForm) -> list[str]:
    """Return "B", "I" or "C" for each variable: binary, integer or continuous, as Gurobi and SCIP call them."""
    binary = form.integer & (form.lower >= 0) & (form.upper <= 1)
    letters: list[str] = np.where(binary, "B", np.where(form.integer, "I", "C")).tolist()
    return letters


@dataclass(frozen=True, eq=False)
class ConeRows:
    """The rows of one stack of cones as multiples of single variables of (x, v), v auxiliary, or as constants.

    Parameters
    ----------
    constraint : Constraint
        The stack of second-order or rotated cones.
    variable : ndarray of int (rows,)
        Index in (x, v) of the variable that a row scales; -1 where the row is constant.
    scale : ndarray (rows,)
        The factor of that variable, 1 for one of v; the constant of a constant row.
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
        """Return the terms (coefficient, row, row) of h ≤ 0 for the k-th cone of the stack; rows are those of the constraint."""
        cone = self.constraint.cone
        first = k * cone.dim
        if isinstance(cone, SecondOrder):
            heads = [(-1.0, first, first)]
        else:
            heads = [(-2.0, first, first + 1)]
        tails = (np.flatnonzero(~self.head[first : first + cone.dim]) + first).tolist()
        return heads + [(1.0, row, row) for row in tails]

    def expressions(self, x: Sequence[Any]) -> list[Any]:
        """Return the rows as expressions in a package's variables ``x``, which hold those of v after those of x."""
        rows = zip(self.variable.tolist(), self.scale.tolist(), strict=True)
        return [scale if j < 0 else scale * x[j] for j, scale in rows]

    def multipliers(self, value: FloatArray, mu: FloatArray, link: FloatArray) -> FloatArray:
        """Return the multipliers z of the cones' rows from those of h ≤ 0 and of the linking equations (see the module's text).

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
        v = cone.by_cone(value)
        z = -2.0 * mu[:, None] * v
        if isinstance(cone, SecondOrder):
            z[:, 0] = 2.0 * mu * v[:, 0]
        else:
            z[:, 0], z[:, 1] = 2.0 * mu * v[:, 1], 2.0 * mu * v[:, 0]
        flat = z.ravel()
        flat[self.linked] = link
        return flat


def quadratic_cones(form: StandardForm) -> tuple[ConeRows, ...]:
    """Return every second-order and rotated cone of the form in the variables (x, v)."""
    cones, width = [], form.n
    for c in form.constraints:
        if isinstance(c.cone, (SecondOrder, RotatedSecondOrder)):
            cones.append(_rows(form, c, width))
            width += cones[-1].linked.size
    return tuple(cones)


def gurobi_size(form: StandardForm) -> tuple[int, int]:
    """Return the numbers of variables and of linear rows of the model that `to_gurobi` makes, auxiliary ones included."""
    auxiliary = sum(rows.linked.size for rows in quadratic_cones(form))
    linear = sum(c.rows for c in form.constraints if isinstance(c.cone, (Zero, Nonnegative)))
    nonlinear = 0
    for c in form.constraints:
        if isinstance(c.cone, TranscendentalCone):
            cone_equations, cone_rows = _transcendental_size(c)
            nonlinear, linear = nonlinear + cone_equations, linear + cone_rows
    return form.n + auxiliary + nonlinear, linear + auxiliary


def _transcendental_size(c: Constraint) -> tuple[int, int]:
    """Return the numbers of nonlinear inequalities, each with a variable of its own, and linear ones of `transcendental_rows`."""
    if isinstance(c.cone, Power):
        return 2 * c.cone.count, 2 * c.cone.count
    constant = np.diff(c.F.indptr)[1::3] == 0
    degenerate = int((constant & (c.g[1::3] <= 0.0)).sum())
    return c.cone.count - degenerate, int((~constant).sum()) + 3 * degenerate


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
