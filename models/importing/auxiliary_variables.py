"""Values of the auxiliary variables that CVXPY adds to a problem, at given values of the problem's own variables.

Modelling packages write |x|, max, norms and squares with auxiliary variables: t ≥ f(x) for a convex f, t ≤ f(x) for a concave
one, y = Ax + b for an affine one. If t is as low (as high) as its rows allow, it *equals* f(x): then the form's objective and its
other rows have the values of the source's. A variable's value is computed once every other variable of the rows that define it is
known. Variables without a closed form (eigenvalues, sums of largest entries) stay unknown. *Definitions* are the form's
constraints that the package added. `CVXPYSource` completes points so, when an import compares the form with its source.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp

from ..arrays import BoolArray, FloatArray
from ..program.cones import Nonnegative, SecondOrder, Zero
from ..program.form import Constraint

#: Share of a row's terms by which a definition may be violated at the completed point.
_ROUNDING = 1e-9


def complete_auxiliary_values(
    x: FloatArray, is_known: BoolArray, definitions: Sequence[Constraint]
) -> tuple[FloatArray, BoolArray, FloatArray]:
    """Return x with its auxiliary variables, the mask of the entries that are known, and the sum of absolute terms of each entry.

    All variables of a definition that the completed point violates count as unknown, the user's included. The rounding error of
    an entry is relative to the sum of its absolute terms.

    Parameters
    ----------
    x : ndarray (n,)
        The point; entries that are not known are ignored.
    is_known : ndarray of bool (n,)
        Mask of the entries that are given.
    definitions : sequence of Constraint
        The rows that define auxiliary variables: all rows that the user did not state.
    """
    x, is_known = np.where(is_known, x, 0.0), is_known.copy()
    size = np.abs(x)
    rows = _LinearRows.of(definitions, x.size)
    cones = [piece for c in definitions if isinstance(c.cone, SecondOrder) for piece in _cones(c)]
    newly_known = np.zeros(x.size, dtype=bool)
    for c in definitions:
        if not isinstance(c.cone, (Zero, Nonnegative, SecondOrder)):
            newly_known[np.unique(c.F.indices)] = True
    while not is_known.all():
        ends = _Ends(x.size)
        changed = rows.propagate(x, is_known, size, ends)
        for cone in cones:
            cone.propagate(x, is_known, size, ends)
        for end, ready in ((ends.lower, ends.lower_ready & ~newly_known), (ends.upper, ends.upper_ready & ~newly_known)):
            new = ready & ~is_known & np.isfinite(end)
            x[new], is_known[new], size[new] = end[new], True, np.maximum(np.abs(end[new]), ends.size[new])
            changed |= bool(new.any())
        if not changed:
            break
    return x, is_known & _met(definitions, x, is_known), size


def _met(definitions: Sequence[Constraint], x: FloatArray, is_known: BoolArray) -> BoolArray:
    """Return the mask of the variables that no violated definition contains."""
    satisfied = np.ones(x.size, dtype=bool)
    for c in definitions:
        if is_known[c.F.indices].all() and c.rows:
            size = np.abs(c.F) @ np.abs(x) + np.abs(c.g)
            if c.cone.violation(c.value(x)) > _ROUNDING * max(1.0, float(size.max(initial=0.0))):
                satisfied[c.F.indices] = False
    return satisfied


class _Ends:
    """The least and the largest value of each variable by rows whose other variables are known.

    ``lower_ready`` and ``upper_ready`` tell whether all rows that bound the variable from that side are of this kind; ``size`` is
    the largest Σ|terms| of these rows.
    """

    def __init__(self, n: int) -> None:
        self.lower, self.upper = np.full(n, -np.inf), np.full(n, np.inf)
        self.lower_ready, self.upper_ready = np.ones(n, dtype=bool), np.ones(n, dtype=bool)
        self.size = np.zeros(n)


@dataclass(frozen=True, eq=False)
class _LinearRows:
    """The linear rows F x + g ≥ 0, or = 0 where ``equal``."""

    F: sp.csr_array
    g: FloatArray
    equal: BoolArray

    @classmethod
    def of(cls, definitions: Sequence[Constraint], n: int) -> _LinearRows:
        linear = [c for c in definitions if isinstance(c.cone, (Zero, Nonnegative)) and c.rows]
        F = sp.csr_array(sp.vstack([sp.csr_array((0, n)), *(c.F for c in linear)], format="csr"))
        F.eliminate_zeros()
        equal = np.concatenate([np.zeros(0, dtype=bool), *(np.full(c.rows, isinstance(c.cone, Zero)) for c in linear)])
        return cls(F, np.concatenate([np.zeros(0), *(c.g for c in linear)]), equal)

    def propagate(self, x: FloatArray, is_known: BoolArray, size: FloatArray, ends: _Ends) -> bool:
        """Solve equations of one unknown, and record in ``ends`` the bounds by inequalities; return whether one was solved."""
        row = np.repeat(np.arange(self.g.size), np.diff(self.F.indptr))
        unknown = ~is_known[self.F.indices]
        count = np.bincount(row[unknown], minlength=self.g.size)
        known_values = self.F @ x + self.g  # unknown entries of x, and of size, are zero
        known_sizes = abs(self.F) @ size + np.abs(self.g)
        single = unknown & (count[row] == 1)
        solved = single & self.equal[row]
        columns, values = self.F.indices[solved], -known_values[row[solved]] / self.F.data[solved]
        x[columns], is_known[columns] = values, True
        size[columns] = known_sizes[row[solved]] / np.abs(self.F.data[solved])
        bound = single & ~self.equal[row]
        variable, value = self.F.indices[bound], -known_values[row[bound]] / self.F.data[bound]
        up = self.F.data[bound] > 0.0
        np.maximum.at(ends.lower, variable[up], value[up])
        np.minimum.at(ends.upper, variable[~up], value[~up])
        np.maximum.at(ends.size, variable, known_sizes[row[bound]] / np.abs(self.F.data[bound]))
        open_rows = unknown & ~single
        ends.lower_ready[self.F.indices[open_rows & (self.equal[row] | (self.F.data > 0.0))]] = False
        ends.upper_ready[self.F.indices[open_rows & (self.equal[row] | (self.F.data < 0.0))]] = False
        return bool(solved.any())


@dataclass(frozen=True, eq=False)
class _Cone:
    """A second-order cone F x + g, with the head in the first row; ``columns`` are the variables in it, those of F."""

    columns: np.ndarray
    F: FloatArray
    g: FloatArray

    def propagate(self, x: FloatArray, is_known: BoolArray, size: FloatArray, ends: _Ends) -> None:
        """Record in ``ends`` the bounds of the cone's only unknown variable, or that several unknown ones are not ready."""
        unknown = np.flatnonzero(~is_known[self.columns])
        heads = self.F[0, unknown]
        if unknown.size > 1:
            ends.lower_ready[self.columns[unknown[heads > 0.0]]] = False
            ends.upper_ready[self.columns[unknown[heads <= 0.0]]] = False
        if unknown.size != 1:
            return
        j, values, a = int(self.columns[unknown[0]]), self.F @ x[self.columns] + self.g, self.F[:, unknown[0]]
        low, high = _interval(a, values)
        ends.size[j] = max(ends.size[j], _interval_size(a, np.abs(self.F) @ size[self.columns] + np.abs(self.g), values))
        if a[0] > 0.0:
            ends.lower[j] = max(ends.lower[j], low)
        else:
            ends.upper[j] = min(ends.upper[j], high)


def _interval(a: FloatArray, b: FloatArray) -> tuple[float, float]:
    """Return the interval of t with ||a_1 t + b_1|| ≤ a_0 t + b_0, from a quadratic equation; NaN where it is empty.

    a_0 and b_0 are the first entries of a and b, a_1 and b_1 the others.
    """
    if not a[1:].any():
        end = (float(np.linalg.norm(b[1:])) - b[0]) / a[0]
        return (end, np.inf) if a[0] > 0.0 else (-np.inf, end)
    # (a_1² - a_0²) t² + 2 (a_1 b_1 - a_0 b_0) t + (b_1² - b_0²) ≤ 0 and a_0 t + b_0 ≥ 0
    A, B, C = a[1:] @ a[1:] - a[0] ** 2, a[1:] @ b[1:] - a[0] * b[0], b[1:] @ b[1:] - b[0] ** 2
    if abs(A) <= 1e-14 * float(a @ a):
        if B == 0.0:
            return np.nan, np.nan
        end = -C / (2.0 * B)
        return (end, np.inf) if B < 0.0 else (-np.inf, end)
    root = B * B - A * C
    if root < 0.0:
        return np.nan, np.nan
    q = -(B + np.copysign(np.sqrt(root), B))
    ends = sorted((q / A, C / q if q != 0.0 else 0.0))
    if A > 0.0:
        return ends[0], ends[1]
    return (ends[1], np.inf) if a[0] > 0.0 else (-np.inf, ends[0])


def _interval_size(a: FloatArray, size: FloatArray, b: FloatArray) -> float:
    """Return Σ|terms| of the ends of `_interval`, where b has entries of these sizes."""
    if not a[1:].any():
        return (float(np.linalg.norm(size[1:])) + float(size[0])) / abs(float(a[0]))
    curvature, slope = abs(float(a[1:] @ a[1:] - a[0] ** 2)), abs(float(a[1:] @ b[1:] - a[0] * b[0]))
    squares = float(size @ size)
    if curvature <= 1e-14 * float(a @ a):
        return squares / (2.0 * slope) if slope > 0.0 else 0.0
    return float(np.sqrt(squares / curvature))


def _cones(c: Constraint) -> Iterator[_Cone]:
    for k in range(c.rows // c.cone.group_size):
        part = slice(k * c.cone.group_size, (k + 1) * c.cone.group_size)
        F = sp.csr_array(c.F[part])
        F.eliminate_zeros()
        columns = np.unique(F.indices)
        yield _Cone(columns, F[:, columns].toarray(), c.g[part])
