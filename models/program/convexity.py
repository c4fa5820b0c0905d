"""Proofs that a quadratic objective ½x'Px is convex: by construction, or by a factorisation with an error bound.

A diagonally dominant matrix needs no factorisation (Gershgorin's circles). For others, a Cholesky factorisation that succeeds
proves that the matrix is positive semidefinite up to a shift. P is scaled by powers of two, without rounding, to H of order m
with a diagonal between ½ and 2; the computed factor then belongs to a matrix within γ_{m+1}·trace(H) of H, with γ_k = k u/(1 -
k u) and u the unit roundoff (Demmel; Rump, *Verification of positive definiteness*, 2006). With t that error, a factorisation
of H - tI proves H ⪰ 0. A factorisation of H + tI proves H ⪰ -2tI, so P + diag(δ) ⪰ 0 for a known δ of rounding size, which a
bound over bounded variables subtracts. Small singular matrices are decided in rational arithmetic, and a direction of negative
curvature is kept as a witness. With equality rows A x = b only the directions with A d = 0 count: P + ρA'A ⪰ 0 for some ρ is
enough.
"""

from __future__ import annotations

import enum
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
import scipy.linalg
import scipy.sparse as sp

from ..arrays import BoolArray, FloatArray, IntArray, to_dense
from ..rounding import dot, gamma

#: Order up to which a matrix is factored for a proof: 3,000³/3 operations take about a second.
LARGEST_VERIFIED_ORDER = 3000
#: Shares of the scaled diagonal that are tried as a lower bound of the curvature.
_SHARES = (0.25, 1e-2, 1e-4, 1e-6, 1e-8, 1e-10, 1e-12)
#: A matrix with a diagonal entry up to this is not scaled: the squares of such scales are infinite.
_LEAST_SCALED = 2.0**-1000
#: Order up to which a matrix that float64 leaves open is decided in rational arithmetic.
_RATIONAL = 14


class Evidence(enum.Enum):
    """The argument by which a quadratic is known to be convex."""

    CONSTRUCTION = "by construction"
    VERIFIED = "verified"
    UNKNOWN = "not known"
    NEGATIVE = "negative curvature found"


@dataclass(frozen=True, eq=False)
class Convexity:
    """The evidence for or against the convexity of ½x'Px, that is, d'Pd ≥ 0 for all d.

    Parameters
    ----------
    evidence : Evidence
        Whether and how convexity is known.
    argument : str
        The argument, in words.
    deficit : ndarray (n,), optional
        δ ≥ 0 with d'Pd ≥ -Σδ_j d_j² - ρ||A d||² for all d; zero where it is not given.
    penalty : float
        ρ; zero unless only directions with A d = 0 count, A the equality rows.
    witness : ndarray (n,), optional
        A direction d with d'Pd < 0.
    curvature : float, optional
        d'Pd/d'd of the witness.
    """

    evidence: Evidence
    argument: str
    deficit: FloatArray | None = None
    penalty: float = 0.0
    witness: FloatArray | None = None
    curvature: float | None = None

    @property
    def is_proved(self) -> bool:
        """Return whether the quadratic is proved convex, up to the deficit."""
        return self.evidence in (Evidence.CONSTRUCTION, Evidence.VERIFIED)

    @property
    def is_exact(self) -> bool:
        """Return whether the quadratic is proved convex in exact arithmetic, without deficit or penalty."""
        return self.is_proved and self.deficit is None and self.penalty == 0.0

    @property
    def is_refuted(self) -> bool:
        """Return whether a direction of negative curvature is known."""
        return self.evidence is Evidence.NEGATIVE

    @property
    def largest_deficit(self) -> float:
        """Return max δ_j of the deficit; 0 without one."""
        return 0.0 if self.deficit is None else float(self.deficit.max(initial=0.0))

    @property
    def condition(self) -> str:
        """Return the condition, a clause with "if", under which a bound holds; empty where convexity is proved."""
        return "" if self.is_proved else f"if P is positive semidefinite, which is {self.evidence.value}: {self.argument}"


def _sums(P: FloatArray | sp.csc_array) -> FloatArray:
    """Return Σ_j |P_ij| for each row i."""
    if isinstance(P, np.ndarray):
        return np.asarray(np.abs(P).sum(axis=1))
    return np.asarray(np.bincount(P.indices, weights=np.abs(P.data), minlength=P.shape[0]), dtype=np.float64)


def matrix_convexity(P: FloatArray | sp.csc_array) -> Convexity:
    """Return the evidence that a symmetric matrix is positive semidefinite."""
    n = int(P.shape[0])
    diagonal = np.asarray(P.diagonal(), dtype=np.float64)
    sums = _sums(P) - np.abs(diagonal)
    if (diagonal >= sums * (1.0 + gamma(n))).all():
        return Convexity(Evidence.VERIFIED, "P is diagonally dominant")
    evidence = _two_by_two(P, diagonal, sums)
    if evidence is not None:
        return evidence
    nonzero = np.flatnonzero(sums + np.abs(diagonal))
    if nonzero.size > LARGEST_VERIFIED_ORDER:
        return Convexity(
            Evidence.UNKNOWN, f"P has order {nonzero.size}; up to {LARGEST_VERIFIED_ORDER} it is factored to find out"
        )
    block = P[nonzero][:, nonzero]
    dense = to_dense(block).astype(np.float64)
    scale = np.exp2(-np.round(0.5 * np.log2(diagonal[nonzero])))
    return _decide(dense * scale * scale[:, None], scale, nonzero, n)


def convexity_on_equalities(P: FloatArray, A: FloatArray) -> Convexity | None:
    """Return the evidence that P is convex on the directions with A d = 0, from P + ρA'A; None without a proof."""
    norms = np.linalg.norm(A, axis=1)
    largest = float(np.abs(P).max(initial=0.0))
    if not largest > 0.0 or not (norms > 0.0).all():
        return None
    for factor in (1.0, 64.0):
        penalty = factor * largest / float((norms**2).min()) * max(1.0, float(A.shape[1]) / float((A != 0.0).sum(axis=1).min()))
        raised = matrix_convexity(P + penalty * (A.T @ A))
        if raised.is_proved:
            rounding = gamma(A.shape[0] + 4) * (np.abs(P).max() + penalty * float((np.abs(A).T @ np.abs(A)).max())) * A.shape[1]
            deficit = (0.0 if raised.deficit is None else raised.deficit) + np.full(P.shape[0], rounding)
            return Convexity(Evidence.VERIFIED, "P is positive semidefinite where the equalities hold", deficit, penalty)
    return None


def curvature_bounds(
    P: FloatArray | sp.csc_array, chosen: BoolArray, rounding: float = 0.0
) -> tuple[FloatArray, FloatArray] | None:
    """Return ℓ ≥ 0 and δ ≥ 0 with d'Pd ≥ Σℓ_j d_j² - Σδ_j d_j² for all d; None without a proof.

    ℓ_j is positive for chosen variables and zero for others, δ_j zero for chosen variables; both are zero where the row of P is.
    ``rounding`` bounds the error of P itself, relative to √(P_ii P_jj), summed over a row.
    """
    n = int(P.shape[0])
    diagonal = np.asarray(P.diagonal(), dtype=np.float64)
    sums = _sums(P) - np.abs(diagonal)
    nonzero = np.flatnonzero(sums + np.abs(diagonal))
    inside = chosen[nonzero]
    if not inside.any() or (diagonal[nonzero] <= _LEAST_SCALED).any() or nonzero.size > LARGEST_VERIFIED_ORDER:
        return None if nonzero.size == 0 or not (diagonal >= sums).all() else _dominant(diagonal, sums, chosen, rounding)
    if not sums[nonzero].any():
        return _dominant(diagonal, sums, chosen, rounding)
    block = P[nonzero][:, nonzero]
    dense = to_dense(block).astype(np.float64)
    scale = np.exp2(-np.round(0.5 * np.log2(diagonal[nonzero])))
    H = dense * scale * scale[:, None]
    shift = 2.0 * gamma(nonzero.size + 2) * float(np.trace(H)) + 2.0 * rounding
    for mu in _SHARES:
        if mu <= 4.0 * shift:
            break
        shifted = H.copy()
        shifted[np.diag_indices(nonzero.size)] += np.where(inside, -mu - shift, shift)
        if _factors(shifted, 0.0):
            smallest, deficit = np.zeros(n), np.zeros(n)
            smallest[nonzero] = np.where(inside, 0.999 * mu / scale**2, 0.0)
            deficit[nonzero] = np.where(inside, 0.0, 3.0 * shift / scale**2)
            return smallest, deficit
    return None


def _dominant(diagonal: FloatArray, sums: FloatArray, chosen: BoolArray, rounding: float) -> tuple[FloatArray, FloatArray] | None:
    """Return `curvature_bounds` by Gershgorin's circles, ℓ_j = P_jj - Σ_{k≠j} |P_jk|; None unless they are positive."""
    row_bounds = (diagonal - sums * (1.0 + gamma(diagonal.size))) * (1.0 - 1e-12) - rounding * diagonal
    if not (row_bounds[chosen & (diagonal > 0.0)] > 0.0).all() or (row_bounds < 0.0).any():
        return None
    return np.where(chosen, row_bounds, 0.0), np.zeros(diagonal.size)


def _two_by_two(P: FloatArray | sp.csc_array, diagonal: FloatArray, sums: FloatArray) -> Convexity | None:
    """Return a witness on one or two variables, from a negative diagonal entry, or a zero one in a row that is not zero."""
    n = diagonal.size
    witness = np.zeros(n)
    if (diagonal < 0.0).any():
        j = int(np.argmin(diagonal))
        witness[j] = 1.0
        return _negative(witness, float(diagonal[j]))
    flat = np.flatnonzero((diagonal == 0.0) & (sums > 0.0))
    if not flat.size:
        return None
    j = int(flat[0])
    row = P[[j]]
    values = to_dense(row).ravel()
    k = int(np.argmax(np.abs(values)))
    slope, diagonal_entry = float(values[k]), float(diagonal[k])
    step = -np.sign(slope) * max(1.0, diagonal_entry / abs(slope))
    witness[j], witness[k] = step, 1.0
    return _negative(witness, (2.0 * step * slope + diagonal_entry) / (1.0 + step * step))


def _decide(H: FloatArray, scale: FloatArray, indices: IntArray, n: int) -> Convexity:
    """Return the evidence for P from the scaled matrix H, diagonal in [½, 2], of the variables ``indices`` out of n."""
    m = H.shape[0]
    shift = 2.0 * gamma(m + 2) * float(np.trace(H))
    if _factors(H, -shift):
        return Convexity(Evidence.VERIFIED, "P is positive definite: its Cholesky factor exists beyond rounding")
    if m <= _RATIONAL and is_semidefinite([[Fraction(v) for v in row] for row in H.tolist()]):
        return Convexity(Evidence.VERIFIED, "P is positive semidefinite: factored in rational arithmetic")
    if m > _RATIONAL and _factors(H, shift):
        deficit = np.zeros(n)
        deficit[indices] = 3.0 * shift / scale / scale
        return Convexity(Evidence.VERIFIED, f"P is positive semidefinite up to {3.0 * shift:.1e} of its diagonal", deficit)
    values, vectors = scipy.linalg.eigh(H, subset_by_index=(0, 0))
    v = vectors[:, 0]
    curvature = dot(v, H @ v, gamma(m) * (np.abs(H) @ np.abs(v)))
    if curvature.upper < 0.0:
        witness, largest = np.zeros(n), float(np.abs(scale * v).max())
        witness[indices] = scale * v / largest
        return _negative(witness, curvature.value / largest / largest / float(witness @ witness))
    return Convexity(Evidence.UNKNOWN, f"its smallest eigenvalue, {float(values[0]):.1e} of its diagonal, is lost in rounding")


def _negative(witness: FloatArray, curvature: float) -> Convexity:
    return Convexity(
        Evidence.NEGATIVE, f"P is not positive semidefinite: d'Pd/d'd = {curvature:.4g}", witness=witness, curvature=curvature
    )


def _factors(H: FloatArray, shift: float) -> bool:
    shifted = H.copy()
    shifted[np.diag_indices(H.shape[0])] += shift
    try:
        scipy.linalg.cholesky(shifted, lower=True, overwrite_a=True, check_finite=False)
    except np.linalg.LinAlgError:
        return False
    return True


def is_semidefinite(S: Sequence[Sequence[Fraction]]) -> bool:
    """Return whether a symmetric matrix is S ⪰ 0, by the pivots of LDL': all nonnegative, and zero only with a zero column."""
    rows = [list(row) for row in S]
    for k, pivot_row in enumerate(rows):
        pivot = pivot_row[k]
        if pivot < 0 or (pivot == 0 and any(row[k] for row in rows[k + 1 :])):
            return False
        for row in rows[k + 1 :]:
            if row[k]:
                factor = row[k] / pivot
                row[k + 1 :] = [x - factor * y for x, y in zip(row[k + 1 :], pivot_row[k + 1 :], strict=True)]
    return True
