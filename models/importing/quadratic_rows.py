"""Conversion of quadratic rows ½x'Qx + a'x ≤ b or = b, as other packages and files hold them, to cones or bilinear rows and back.

An inequality becomes a rotated cone if Q is positive semidefinite; else, if a and b are zero, a second-order or rotated cone
where it states one, with heads that their bounds keep nonnegative (`quadratic_cone`). Every other inequality and every equality
becomes a bilinear row b - a'x ≥ or = x'Ux, with U the upper triangle of Q and half of its diagonal, so that x'Ux = ½x'Qx. Such
a row is x'Ux = Σ_j x_j (Ux)_j, a sum of *plain products* of single variables and rows of U, off which Q is read exactly.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike

from ...errors import InputError
from ..arrays import FloatArray, IntArray
from ..program.cones import Bilinear, Cone, RotatedSecondOrder, SecondOrder
from ..program.form import Constraint, StandardForm

#: Eigenvalues of Q up to this share of the largest, in absolute value, count as zero.
_ZERO = 1e-12


@dataclass(frozen=True, eq=False)
class QuadraticRow:
    """A named quadratic row ½x'Qx + a'x ≤ b, or = b with ``equality``.

    Parameters
    ----------
    name : str
        Name of the row.
    Q : csc_array (n, n)
        Q, symmetric.
    a : ndarray (n,)
        Linear coefficients.
    b : float
        Right-hand side.
    equality : bool
        Whether the row is = b in place of ≤ b.
    """

    name: str
    Q: sp.csc_array
    a: FloatArray
    b: float
    equality: bool = False

    def permute_columns(self, place: IntArray) -> QuadraticRow:
        """Return the row whose variable j is this one's variable ``place[j]``."""
        Q = sp.csc_array(sp.csr_array(self.Q[:, place])[place])
        return QuadraticRow(self.name, Q, self.a[place], self.b, self.equality)

    def products(self) -> sp.coo_array:
        """Return U, upper triangular, with x'Ux = ½x'Qx: an entry for each product of two variables."""
        upper = sp.coo_array(sp.triu(self.Q))
        data = np.where(upper.row == upper.col, 0.5 * upper.data, upper.data)
        return sp.coo_array((data, upper.coords), shape=upper.shape)


def refuse_nan_sides(names: Sequence[str], left: ArrayLike, right: ArrayLike) -> None:
    """Raise InputError for a row with a side that is NaN, which every comparison with a number takes for no side."""
    rows = np.flatnonzero(np.isnan(left) | np.isnan(right))
    if rows.size:
        name = names[int(rows[0])]
        raise InputError(f"the row {name} has a side that is NaN; without a side there, give an infinite number", name=name)


def one_sided_quadratic_rows(name: str, Q: sp.csc_array, a: FloatArray, left: float, right: float) -> Iterator[QuadraticRow]:
    """Yield left ≤ ½x'Qx + a'x ≤ right as rows with one side, or as an equality."""
    refuse_nan_sides([name], left, right)
    if left == right:
        yield QuadraticRow(name, Q, a, right, equality=True)
        return
    if left > -np.inf:
        yield QuadraticRow(name, sp.csc_array(-Q), -a + 0.0, -left + 0.0)
    if right < np.inf:
        yield QuadraticRow(name, Q, a, right)


def slack_of(c: Constraint, x: FloatArray) -> float:
    """Return the slack b - a'x - ½x'Qx of a quadratic row at x from its constraint of one cone (`quadratic_cone`).

    The cones ||Rx||² ≤ 2uv and ||Rx|| ≤ t have 2uv - ||Rx||² and t² - ||Rx||² equal to twice the slack.
    """
    v = c.value(x)
    if isinstance(c.cone, Bilinear):
        k = (c.cone.dim - 1) // 2
        return float(v[0] - v[1 : 1 + k] @ v[1 + k :])
    if isinstance(c.cone, RotatedSecondOrder):
        return float(v[0] * v[1] - 0.5 * (v[2:] @ v[2:]))
    return float(0.5 * (v[0] ** 2 - v[1:] @ v[1:]))


def bilinear_stack(rows: Sequence[QuadraticRow]) -> tuple[sp.csr_array, FloatArray, Cone]:
    """Return F, g and the cone of quadratic rows, all equalities or all inequalities, as bilinear rows with plain products.

    All have as many pairs of factors as the row with the most products; further pairs are zero.
    """
    n, pieces, uppers = rows[0].a.size, list[sp.csr_array](), [sp.csr_array(row.products()) for row in rows]
    for upper in uppers:
        upper.eliminate_zeros()
    factors = [np.flatnonzero(np.diff(upper.indptr)) for upper in uppers]
    k = max(1, *(used.size for used in factors))
    for row, upper, used in zip(rows, uppers, factors, strict=True):
        single = sp.csr_array((np.ones(used.size), (np.arange(used.size), used)), shape=(k, n))
        padding = sp.csr_array((k - used.size, n))
        pieces += [sp.csr_array(-row.a[None, :]), single, upper[used], padding]
    g = np.zeros((len(rows), 1 + 2 * k))
    g[:, 0] = [row.b for row in rows]
    F = sp.csr_array(sp.vstack(pieces, format="csr"))
    F.eliminate_zeros()
    return F, g.ravel(), Bilinear(1 + 2 * k, len(rows), rows[0].equality)


def quadratic_rows(c: Constraint) -> Iterator[QuadraticRow]:
    """Yield the quadratic rows of a stack of bilinear rows, t ≥ or = a'b with t, a and b affine in x, multiplied out.

    A row whose products cancel keeps a stored zero for the square of the first variable, by which files mark it as quadratic.
    """
    assert isinstance(c.cone, Bilinear)
    dim, n = c.cone.dim, c.F.shape[1]
    k = (dim - 1) // 2
    for place, first in enumerate(range(0, c.rows, dim)):
        t, a, b = slice(first, first + 1), slice(first + 1, first + 1 + k), slice(first + 1 + k, first + dim)
        A, B = c.F[a], c.F[b]
        half = sp.csc_array(A.T @ B)
        Q = sp.csc_array(half + half.T)
        Q.eliminate_zeros()
        if not Q.nnz:
            Q = sp.csc_array(([0.0], ([0], [0])), shape=(n, n))
        linear = A.T @ c.g[b] + B.T @ c.g[a] - c.F[t].toarray().ravel()
        name = c.label if c.cone.count == 1 else f"{c.label}[{place}]"
        yield QuadraticRow(name, Q, linear + 0.0, float(c.g[first] - c.g[a] @ c.g[b]) + 0.0, c.cone.equality)


def with_plain_products(form: StandardForm) -> StandardForm:
    """Return the form with every bilinear row multiplied out and stated by plain products; the same program."""
    if not any(isinstance(c.cone, Bilinear) for c in form.constraints):
        return form
    return form.replace(constraints=tuple(_plain(c) if isinstance(c.cone, Bilinear) else c for c in form.constraints))


def _plain(c: Constraint) -> Constraint:
    return Constraint(c.label, *bilinear_stack(list(quadratic_rows(c))), points=c.points) if c.rows else c


def quadratic_cone(row: QuadraticRow, lower: FloatArray) -> tuple[sp.csr_array, FloatArray, Cone]:
    """Return F, g and the cone of a quadratic row: a second-order or rotated cone where it is known convex, else a bilinear row.

    An inequality with Q = R'R is the rotated cone ||Rx||² ≤ 2(b - a'x)·1. One with a = 0 and b = 0 may be a cone in two other
    ways: with one negative square, of a variable t ≥ 0, it is ||Rx||² ≤ |Q_tt| t²; with one negative product, of variables u ≥ 0
    and v ≥ 0, it is ||Rx||² ≤ 2(|Q_uv| u)v. R'R is then Q without that entry; ``lower`` holds the variables' lower bounds.
    """
    return (None if row.equality else _convex(row, lower)) or bilinear_stack([row])


def _convex(row: QuadraticRow, lower: FloatArray) -> tuple[sp.csr_array, FloatArray, Cone] | None:
    """Return the row as a convex cone; None where it is not known to be one."""
    n = lower.size
    used = np.unique(np.concatenate(sp.coo_array(row.Q).coords))
    Q = sp.csc_array(row.Q)[used][:, used].toarray()
    R = _factor(Q)
    if R is not None:
        F = sp.vstack([sp.csr_array(-row.a[None, :]), sp.csr_array((1, n)), _spread(R, used, n)], format="csr")
        return sp.csr_array(F), np.concatenate([[row.b, 1.0], np.zeros(R.shape[0])]), RotatedSecondOrder(R.shape[0] + 2)
    heads = _heads(Q) if not row.a.any() and row.b == 0.0 else None
    if heads is not None and (lower[used[list(heads)]] >= 0).all():
        i, j = heads
        remainder = Q.copy()
        remainder[i, j] = remainder[j, i] = 0.0
        R = _factor(remainder)
        if R is not None:
            unit = sp.csr_array((np.ones(2), (np.arange(2), used[[i, j]])), shape=(2, n))
            head = np.sqrt(-Q[i, i]) * unit[[0]] if i == j else sp.diags_array([-Q[i, j], 1.0]) @ unit
            cone: Cone = SecondOrder(R.shape[0] + 1) if i == j else RotatedSecondOrder(R.shape[0] + 2)
            F = sp.vstack([head, _spread(R, used, n)], format="csr")
            return sp.csr_array(F), np.zeros(cone.rows), cone
    return None


def _heads(Q: FloatArray) -> tuple[int, int] | None:
    """Return the only variable with a negative square, twice, or else the only pair with a negative product and no squares."""
    squares = np.flatnonzero(np.diag(Q) < 0)
    if squares.size == 1:
        return int(squares[0]), int(squares[0])
    free = np.flatnonzero(np.diag(Q) == 0)
    pairs = [(int(i), int(j)) for i in free for j in free if i < j and Q[i, j] < 0]
    return pairs[0] if not squares.size and len(pairs) == 1 else None


def _factor(Q: FloatArray) -> FloatArray | None:
    """Return R with R'R = Q, one row for each eigenvalue that is not zero; None where one is negative."""
    values, vectors = np.linalg.eigh(Q)
    largest = max(float(values.max(initial=0.0)), 0.0)
    if values.min(initial=0.0) < -_ZERO * largest:
        return None
    large = values > _ZERO * largest
    return np.asarray(np.sqrt(values[large])[:, None] * vectors[:, large].T)


def _spread(R: FloatArray, used: IntArray, n: int) -> sp.csr_array:
    """Return rows over the used variables as rows over all n."""
    columns = sp.csr_array((np.ones(used.size), (np.arange(used.size), used)), shape=(used.size, n))
    return sp.csr_array(sp.csr_array(R) @ columns)
