"""Orthonormal coordinates for branch and bound over boxes of w, rotated so that boxes give strong bounds.

A box excludes a pair of points of opposite classes if no w in it gives both a margin of 1 or more. The rotation makes boxes
exclude many pairs. `zero-one-bb` and `margin-bb` compute the coordinates once, before the search: `constant_column` finds the
intercept, `singular_basis` spans the data, `rotated_basis` rotates that basis, and `basis_errors` bounds the rounding errors.
`choose_coordinates` rotates a whole *margin problem*, min Σ_j d_j w_j² + ||w||_X + Σ_i c_i ρ_i(a_i'w) under restrictions of w
(`MarginProblem`): a_i = y_i x_i, margins a_i'w, costs c_i, losses ρ_i, and a norm whose unit ball is the hull of ± its *atoms*.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from ...models.arrays import BoolArray, FloatArray
from ...models.views import MarginProblem

#: Unit roundoff of float64.
_EPS = 2.0**-53
#: Largest number of coordinates that are rotated, since boxes are not searched in more.
MAX_BOX_COORDINATES = 10
#: Angles per pair of coordinates; maximum number of sweeps over all pairs; least relative gain of a sweep.
_ANGLES, _SWEEPS, _LEAST_GAIN = 16, 4, 1e-3
#: Number of sampled sums of opposite rows, large enough against overfitting of the rotation.
_SUMS = 600
#: Error of a margin that counts as rounding if losses jump.
_SHORT = 1e-10
#: Fractional part of the golden ratio, for a low-discrepancy sequence.
_GOLDEN = 0.6180339887498949


def constant_column(A: FloatArray) -> FloatArray | None:
    """Return the first column of A whose entries are all ±c for one c > 0, the intercept in rows y_i x_i; None without one."""
    size = np.abs(A)
    constant = np.flatnonzero((size == size[:1]).all(axis=0) & (size[0] > 0.0)) if len(A) else np.zeros(0, np.int64)
    return A[:, constant[0]] if constant.size else None


def singular_basis(block: FloatArray, full: bool) -> FloatArray:
    """Return the right singular vectors of ``block`` (n, p) as columns (p, k).

    With ``full`` these are all vectors, otherwise those whose singular values are not numerically zero.
    """
    if block.shape[1] == 0 or block.shape[0] == 0:
        return np.zeros((block.shape[1], 0))
    n, p = block.shape
    _, values, Vt = np.linalg.svd(block, full_matrices=full and n < p)  # with n ≥ p V is square without U's other n - p columns
    selected = np.full(len(Vt), True) if full else values > 1e-14 * values[0] * max(block.shape)
    return np.ascontiguousarray(Vt[selected].T)


def rotated_basis(block: FloatArray, Q: FloatArray, labels: FloatArray | None) -> FloatArray:
    """Return an orthonormal basis in which the sums of two rows of opposite classes have small 1-norms.

    Parameters
    ----------
    block : ndarray (n, p)
        Penalised columns of the signed rows y_i x_i.
    Q : ndarray (p, k)
        Singular vectors of the block.
    labels : ndarray (n,) or None
        The signs separate the classes; without labels those of the coordinates along the first singular vector do.

    Returns
    -------
    ndarray (p, k)
        The basis of the smaller 1-norms, rotated from Q or, for k = p, from the axes; Q itself for more than
        `MAX_BOX_COORDINATES` coordinates, where boxes are not searched.
    """
    k = Q.shape[1]
    if not 0 < k <= MAX_BOX_COORDINATES:
        return Q
    sums = _opposite_sums(block, (block @ Q[:, 0] if labels is None else labels) > 0.0)
    starts = [Q, np.eye(k)] if k == len(Q) else [Q]  # a single start may end in a poor local minimum
    return min((_sparsify(start, sums) for start in starts), key=lambda basis: float(np.abs(sums @ basis).sum()))


def basis_errors(block: FloatArray, Q: FloatArray) -> tuple[FloatArray, float]:
    """Return bounds on the errors of the coordinates ``block @ Q``.

    These are the norm of each row's part outside the span of Q, (n,), and δ with ||Qv||² ≥ (1 - δ)||v||².
    """
    k = Q.shape[1]
    outside = block - (block @ Q) @ Q.T
    # Rounding of the rotation itself is of order EPS ||a|| and belongs to η_i of docs/explanation/zero-one-bb.md. The residual
    # is the dropped part beyond it.
    noise = 8.0 * (block.shape[1] + 4) * _EPS * np.linalg.norm(block, axis=1)
    residual = np.zeros(len(block))
    if k < block.shape[1]:
        residual = np.linalg.norm(outside, axis=1) * 1.01 + noise
    shrink = float(np.linalg.norm(Q.T @ Q - np.eye(k))) + 4.0 * (block.shape[1] + k) ** 2 * _EPS
    return residual, shrink


def _opposite_sums(block: FloatArray, opposite: BoolArray) -> FloatArray:
    """Return sums g_i + g_j of rows of opposite sides, evenly sampled from all pairs; the rows themselves without two sides."""
    first, second = block[opposite], block[~opposite]
    if not len(first) or not len(second):
        return block
    t = np.arange(_SUMS)
    i, j = t * len(first) // len(t), (t * _GOLDEN % 1.0 * len(second)).astype(np.int64)
    return np.asarray(first[i] + second[j])


def _sparsify(Q: FloatArray, sums: FloatArray) -> FloatArray:
    """Return Q after plane rotations that reduce the 1-norms of the sums of opposite rows.

    Over a box g_i + g_j ranges by Σ_j |.|·half_j to either side of its value at the centre. That range decides whether the box
    excludes the pair.
    """
    Q, k = Q.copy(), Q.shape[1]
    size = float(np.abs(sums).max(initial=0.0)) or 1.0
    rows = ((sums / size) @ Q).T.astype(np.float32)  # only choices depend on these values, no proof
    angles = np.arange(1, _ANGLES) * (0.5 * np.pi / _ANGLES)
    cosines, sines = (f(angles).astype(np.float32)[:, None] for f in (np.cos, np.sin))
    for _ in range(_SWEEPS):
        norm_before = float(np.abs(rows).sum())
        for i in range(k):
            for j in range(i):
                x, y = rows[i], rows[j]
                lengths = np.abs(cosines * x + sines * y).sum(axis=1) + np.abs(cosines * y - sines * x).sum(axis=1)
                best = int(lengths.argmin())
                if lengths[best] < (np.abs(x).sum() + np.abs(y).sum()) * (1.0 - 1e-6):
                    c, s = np.cos(angles[best]), np.sin(angles[best])  # in double precision, so that Q stays orthonormal
                    rows[i], rows[j] = cosines[best] * x + sines[best] * y, cosines[best] * y - sines[best] * x
                    Q[:, i], Q[:, j] = c * Q[:, i] + s * Q[:, j], c * Q[:, j] - s * Q[:, i]
        if float(np.abs(rows).sum()) > norm_before * (1.0 - _LEAST_GAIN):
            break
    return Q


@dataclass(frozen=True, eq=False)
class RotatedCoordinates:
    """A margin problem in coordinates v = V'w, in which boxes bound margins more tightly, with bounds of the rounding errors."""

    #: the problem in v. Its norm of v is that of w up to the rounding of the atoms, which the loops allow for.
    problem: MarginProblem
    V: FloatArray  #: (p, p) orthogonal up to rounding; the identity on a free intercept
    skew: FloatArray  #: (n, p) margins of v and of w differ by at most skew |v|
    stretch: float  #: ||v||² is at most (1 + stretch) ||w||²

    def rotate(self, w: FloatArray) -> FloatArray:
        """Return the coordinates v = V'w of a point w."""
        return np.asarray(self.V.T @ w)

    def coordinate_bounds(self, value: float) -> tuple[FloatArray, FloatArray]:
        """Return lower and upper bounds (p,), (p,) of v at some optimal point, if the optimum is below ``value``.

        They follow from the domain, squares d_j w_j², the norm or, for an intercept, the losses. For fixed other coefficients the
        objective is piecewise linear in an intercept. Some optimal intercept is at a breakpoint of a point's loss, at margin 1 of
        a point whose margin the problem restricts (`MarginProblem.kept_points`, ``budgets``), at a binding row, at an end of its
        domain, or, for an integer, within 1 of one of these.
        """
        problem, has_square = self.problem, self.problem.curvature > 0.0
        squares = np.full(has_square.size, np.inf)  # at an optimum of 0 a quotient and a product would be 0/0 and 0·∞
        np.divide(value, problem.curvature, out=squares, where=has_square)
        span = np.abs(problem.atoms).max(axis=0, initial=0.0)  # |w_j| of a combination with ||α||_1 ≤ 1
        bounds = np.minimum(np.sqrt(squares), np.where(span > 0.0, span * value, np.inf)) * (1.0 + 1e-9) + 1e-12
        bounds[np.isnan(bounds)] = np.inf
        lower, upper = np.maximum(problem.lower, -bounds), np.minimum(problem.upper, bounds)
        if problem.intercept:
            magnitudes = np.maximum(np.abs(lower[1:]), np.abs(upper[1:]))
            b = max(1.0, *(loss.largest_breakpoint for loss in problem.losses)) + float(
                (np.abs(problem.A[:, 1:]) @ magnitudes).max(initial=0.0)
            )
            for row, limit in zip(problem.rows, problem.row_lower, strict=True):
                if row[0] != 0.0:
                    b = max(b, (abs(limit) + float(np.abs(row[1:]) @ magnitudes)) / abs(row[0]))
            b = max(b, *(abs(end) for end in (problem.lower[0], problem.upper[0], 0.0) if np.isfinite(end)))
            b = (b + float(problem.integer[0])) * (1.0 + 1e-9)
            lower[0], upper[0] = max(problem.lower[0], -b), min(problem.upper[0], b)
        return lower, upper

    def margin_errors(self, value: float) -> FloatArray:
        """Return bounds (n,) of the difference between margins of v and of w where the objective is below ``value``."""
        return (
            np.asarray(self.skew @ np.abs(self.coordinate_bounds(value)).max(axis=0))
            if self.skew.any()
            else np.zeros(len(self.skew))
        )

    def loss_error(self, value: float) -> float:
        """Return a bound of the error of the summed losses where the objective is below ``value``.

        It is ∞ if a loss jumps and margins may differ by more than `_SHORT`.
        """
        problem, errors = self.problem, self.margin_errors(value)
        if any((loss.below > loss.at).any() for loss in problem.losses):
            return np.inf if errors.max(initial=0.0) > _SHORT else 0.0
        return float((problem.costs * problem.per_point(lambda loss: loss.largest_slope)) @ errors)

    def original_bound(self, bound: float) -> float:
        """Return the lower bound of the original problem that a lower bound of the rotated problem proves."""
        return float(bound / (1.0 + self.stretch)) if np.isfinite(bound) else bound


def original_coordinates(problem: MarginProblem) -> RotatedCoordinates:
    """Return a problem in its original coordinates, v = w, without rounding errors."""
    return RotatedCoordinates(problem, np.eye(problem.A.shape[1]), np.zeros(problem.A.shape), 0.0)


def choose_coordinates(problem: MarginProblem) -> RotatedCoordinates:
    """Return a problem in coordinates rotated to its rows.

    The coordinates stay as they are if w is restricted, only an intercept is there, or the penalties d_j w_j² differ in d_j.
    """
    A = problem.A
    p, V = A.shape[1], np.eye(A.shape[1])
    in_norm = np.arange(p) >= problem.intercept
    if not problem.is_unrestricted or not in_norm.any() or np.ptp(problem.curvature[in_norm]) > 0.0:
        return original_coordinates(problem)
    labels = A[:, 0] if problem.intercept else None
    V[np.ix_(in_norm, in_norm)] = rotated_basis(A[:, in_norm], singular_basis(A[:, in_norm], True), labels)
    turn = float(np.linalg.norm(V @ V.T - np.eye(p))) + 8.0 * p * _EPS
    candidate = replace(problem, A=np.ascontiguousarray(A @ V), atoms=problem.atoms @ V)
    skew = 4.0 * (p + 4) * _EPS * (np.abs(A) @ np.abs(V))
    skew[:, in_norm] += 2.0 * turn * np.linalg.norm(A[:, in_norm], axis=1)[:, None]
    return RotatedCoordinates(candidate, V, skew, 2.0 * turn)
