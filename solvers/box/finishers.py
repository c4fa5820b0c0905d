"""Second-order methods that finish `boxqp` where descent is slow: projected Newton, active-set and interior-point steps.

The program is min ½a'Qa + q'a over lower ≤ a ≤ upper with Q = ZZ' + D, Z (m, r), D diagonal; ``view`` holds its data.

*Projected steps* (`newton_steps`; Bertsekas 1982) are Newton steps on the free variables: few, and exact once the free set is
right. *Active-set steps* (`active_set_steps`; Hintermüller, Ito, Kunisch 2002) hold the variables of two sets at their bounds and
minimise over all others without their bounds. Variables that pass a bound join the sets; held variables whose gradient points
inwards leave them. If the sets do not change, the point solves the program. The iterates may leave the box, so one step can
change thousands of variables. *Interior-point steps* (`interior_point`) are Mehrotra's predictor-corrector, for ill-conditioned
problems.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import scipy.linalg
from scipy.linalg.lapack import dpotrs

from ...models.arrays import BoolArray, FloatArray
from ...models.views import BoxQP

#: Largest number of projected Newton or active-set steps of a run.
_STEPS = 30
#: Multiple of the mean diagonal added to Q on the free variables, which may be singular there.
_SHIFT = 1e-12


@dataclass(frozen=True, eq=False)
class FinishRun:
    """The result of a finishing method: the best point that it found, and its work."""

    a: FloatArray  #: (m,) the point, in the box
    gap: float  #: duality gap at a
    steps: int  #: number of Newton, active-set or interior-point steps
    operations: float  #: scalar operations used


def newton_steps(
    view: BoxQP,
    diagonal: FloatArray,
    a: FloatArray,
    gradient: FloatArray,
    target_gap: Callable[[], float],
    *,
    stop_when_slow: bool = True,
) -> FinishRun:
    """Take at most 30 projected Newton steps from a, until the gap is at most ``target_gap()`` or no step lowers the objective.

    ``diagonal`` is that of ZZ' + D, ``gradient`` the gradient at a. With ``stop_when_slow``, stop as well if two
    steps lower the gap less than tenfold: far from the optimal free set Newton steps make little progress, and coordinate descent
    finds that set at a lower cost.
    """
    a, g = a.copy(), gradient.copy()
    best, best_gap, operations, steps = a, view.gap(a, g), 0.0, 0
    r = view.width
    gaps = [best_gap]
    free, solve = np.zeros(view.n, dtype=bool), None
    for _ in range(_STEPS):
        next_free = _free(view, a, g)
        operations += 6.0 * view.n * r
        if solve is None or (next_free != free).any():  # on the same free set a step is one of iterative refinement
            free = next_free
            size = int(np.count_nonzero(free))
            operations += size * size * ((0 if view.gram is not None else r) + size / 3.0)
            solve = _restricted_solver(view, diagonal, free)
        step = None if solve is None else _step(view, diagonal, a, g, free, solve)
        if step is None:
            break
        steps += 1
        a, g = step
        gap = view.gap(a, g)
        if gap < best_gap:
            best, best_gap = a, gap
        gaps.append(best_gap)
        if gap <= target_gap() or (stop_when_slow and steps >= 2 and best_gap > 0.1 * gaps[-3]):
            break
    return FinishRun(best, best_gap, steps, operations)


def _free(view: BoxQP, a: FloatArray, g: FloatArray) -> BoolArray:
    """Return the variables not held at (or within a small distance of) a bound by their gradient.

    The distance is as long as the projected gradient step (Bertsekas): it vanishes at the optimum. A fixed distance would hold a
    variable with a small positive value at its bound for ever.
    """
    move = float(np.abs(a - np.clip(a - g, view.lower, view.upper)).max(initial=0.0))
    distance = np.minimum(1e-3 * (view.upper - view.lower), move)
    return np.asarray(~(((a <= view.lower + distance) & (g > 0)) | ((a >= view.upper - distance) & (g < 0))))


def _restricted_solver(view: BoxQP, diagonal: FloatArray, free: BoolArray) -> Callable[[FloatArray], FloatArray] | None:
    """Return the solver of Q on the free variables; None if Q is not positive definite there."""
    F = np.flatnonzero(free)
    if not F.size:
        return lambda b: b
    Q = view.submatrix(F)
    Q[np.diag_indices(F.size)] += view.ridge[F] + _SHIFT * float(diagonal.mean())
    try:
        factor, _ = scipy.linalg.cho_factor(Q, lower=True, overwrite_a=True, check_finite=False)
    except np.linalg.LinAlgError:
        return None
    return lambda b: np.asarray(dpotrs(factor, b, lower=1)[0])


def _step(
    view: BoxQP, diagonal: FloatArray, a: FloatArray, g: FloatArray, free: BoolArray, solve: Callable[[FloatArray], FloatArray]
) -> tuple[FloatArray, FloatArray] | None:
    """Return the point of one projected Newton step, by Armijo's rule along the projection arc, and its gradient.

    Return None if no step descends.
    """
    d = np.zeros(view.n)
    bound_variables = ~free & (diagonal > 0)
    d[bound_variables] = -g[bound_variables] / diagonal[bound_variables]
    d[free] = -solve(g[free])
    f = view.objective(a, g)
    length = 1.0
    while length > 1e-7:
        trial = np.clip(a + length * d, view.lower, view.upper)
        change = trial - a
        product = view.product(change) + view.ridge * change
        # f(moved) - f(a) = g'change + ½ change'Q change, without the cancellation of two large objectives
        rise = float(g @ change) + 0.5 * float(change @ product)
        if rise < 0.0 and rise <= 1e-4 * float(g @ change) and abs(rise) > 1e-17 * abs(f):
            return trial, g + product
        length *= 0.5
    return None


#: Consecutive steps without a new least number of set changes, after which the method is given up.
_PATIENCE = 2


@dataclass(frozen=True, eq=False)
class _ActiveSets:
    """The sets of variables held at their lower and at their upper bound; the others are free."""

    low: BoolArray  #: (m,) whether a variable is held at its lower bound
    high: BoolArray  #: (m,) whether it is held at its upper bound

    @classmethod
    def initial(cls, view: BoxQP, diagonal: FloatArray, a: FloatArray, g: FloatArray) -> _ActiveSets:
        """Return the sets of variables whose own coordinate step leaves the box, and of fixed variables."""
        coordinate_minima = a - g / np.where(diagonal > 0.0, diagonal, 1.0)
        return cls._of(view, coordinate_minima <= view.lower, coordinate_minima >= view.upper)

    def successor(self, view: BoxQP, x: FloatArray, g: FloatArray) -> _ActiveSets:
        """Return the sets that the minimiser x and its gradient imply."""
        free = ~(self.low | self.high)
        low = np.where(free, x < view.lower, self.low & (g > 0.0))
        return self._of(view, low, np.where(free, x > view.upper, self.high & (g < 0.0)))

    @classmethod
    def _of(cls, view: BoxQP, low: BoolArray, high: BoolArray) -> _ActiveSets:
        low = low | (view.lower >= view.upper)
        return cls(low, high & ~low)

    def changes(self, other: _ActiveSets) -> int:
        """Return the number of variables that are held elsewhere in the other."""
        return int(np.count_nonzero((self.low != other.low) | (self.high != other.high)))


def active_set_steps(
    view: BoxQP,
    diagonal: FloatArray,
    a: FloatArray,
    gradient: FloatArray,
    is_accurate: Callable[[float, float], bool],
    deadline: float = math.inf,
) -> FinishRun:
    """Take at most 30 active-set steps from a, until ``is_accurate`` holds or the sets stop converging.

    ``is_accurate`` is called with the objective and twice the gap of the point clipped to the box. Convergence is
    measured by the number of changes in the sets, since gaps may rise by orders of magnitude on the way. It is proved for
    M-matrices and related classes only, so a run may end without a better point than a. A step is not begun if it would end after
    ``deadline``, by the clock of `time.perf_counter`, at the duration of the longest step.
    """
    best, best_gap = a, view.gap(a, gradient)
    sets, x, free = _ActiveSets.initial(view, diagonal, a, gradient), a, _FreeVariables(view, diagonal)
    least_changes, failures, steps = view.n + 1, 0, 0
    began, longest = time.perf_counter(), 0.0
    while steps < _STEPS and began + longest <= deadline and free.factorise(~(sets.low | sets.high)):
        steps += 1
        x = free.minimiser(np.where(sets.low, view.lower, np.where(sets.high, view.upper, x)))
        inside = np.clip(x, view.lower, view.upper)
        g = view.gradient(inside)
        gap = view.gap(inside, g)
        if gap < best_gap:
            best, best_gap = inside, gap
        if is_accurate(view.objective(inside, g), 2.0 * gap):
            break
        next_sets = sets.successor(view, x, g if (inside == x).all() else view.gradient(x))
        changes = next_sets.changes(sets)
        failures = 0 if changes < least_changes else failures + 1
        if failures > _PATIENCE:
            break
        least_changes, sets = min(least_changes, changes), next_sets
        began, longest = time.perf_counter(), max(longest, time.perf_counter() - began)
    return FinishRun(best, best_gap, steps, free.operations + 12.0 * view.n * view.width * steps)


@dataclass(eq=False)
class _FreeVariables:
    """The free variables, and the factor of their matrix."""

    view: BoxQP  #: the program
    diagonal: FloatArray  #: (m,) diagonal of Q
    variables: BoolArray | None = None  #: (m,) mask of the free variables; None before the first factor
    solve: Callable[[FloatArray], FloatArray] | None = None  #: solver of their matrix; None if it is not positive definite
    operations: float = 0.0  #: scalar operations so far

    def factorise(self, chosen: BoolArray) -> bool:
        """Factorise the matrix of these free variables, unless they are the current ones; return whether there is a factor."""
        if self.variables is None or (chosen != self.variables).any():
            size, width = int(np.count_nonzero(chosen)), 0 if self.view.gram is not None else self.view.width
            self.operations += size * size * (width + size / 3.0)
            self.variables, self.solve = chosen, _restricted_solver(self.view, self.diagonal, chosen)
        return self.solve is not None

    def minimiser(self, x: FloatArray) -> FloatArray:
        """Return the minimiser over the free variables, the others as in x.

        From the minimiser it is a step of iterative refinement.
        """
        assert self.variables is not None
        assert self.solve is not None
        x[self.variables] -= self.solve(self.view.gradient(x)[self.variables])
        return x


# Primal-dual interior-point steps on a box QP in factor form, for ill-conditioned problems on which descent is slow.
#
# Mehrotra's predictor-corrector on Qa + q - z + y = 0, z_i(a_i - l_i) = μ, y_i(u_i - a_i) = μ for bounds l ≤ a ≤ u with
# multipliers z, y. A step Δ of a solves (Θ + ZZ')Δ = b with the diagonal Θ = D + z/(a - l) + y/(u - a) and a right-hand side b:
# through I + Z'Θ⁻¹Z of order r if r < m (Ferris, Munson 2003), else directly.

#: Largest number of interior-point steps, and share of the way to the boundary that a step takes.
_INTERIOR_STEPS, _FRACTION = 60, 0.995


def interior_point_operations(view: BoxQP) -> float:
    """Return an estimate of the scalar operations of a run of `interior_point`, some twenty steps."""
    m, r = view.n, view.Z.shape[1] if view.coarse is None else view.width
    return 20.0 * (m * r * r + r**3 / 3.0) if view.gram is None and r < m else 20.0 * m**3 / 3.0 + m * m * r


def interior_point(view: BoxQP, target_gap: Callable[[], float]) -> FinishRun:
    """Take interior-point steps from the middle of the box until the gap is at most ``target_gap()``, or stops falling.

    Variables whose bounds are equal are fixed.
    """
    moving = view.upper > view.lower
    Z, ridge = view.Z[moving], view.ridge[moving]
    lower, upper = view.lower[moving], view.upper[moving]
    point = np.where(moving, 0.0, view.lower)
    q = (view.product(point) + view.q)[moving]
    Q = view.submatrix(moving) if view.gram is not None or Z.shape[1] >= Z.shape[0] else None

    def product(x: FloatArray) -> FloatArray:
        return np.asarray(Z @ (Z.T @ x) if Q is None else Q @ x)

    a = 0.5 * (lower + upper)
    scale = float(np.abs(product(a) + ridge * a + q).max(initial=0.0)) + 1e-300
    z, y = np.full(a.size, scale), np.full(a.size, scale)
    point[moving] = a
    best, best_gap, failures, steps = point.copy(), np.inf, 0, 0
    for _ in range(_INTERIOR_STEPS):
        point[moving] = a
        gap = view.gap(point)
        failures = 0 if gap < 0.9 * best_gap else failures + 1
        if gap < best_gap:
            best, best_gap = point.copy(), gap
        if gap <= target_gap() or failures >= 5:
            break
        s, t = a - lower, upper - a
        gradient = product(a) + ridge * a + q
        mu = float(s @ z + t @ y) / (2 * a.size)
        try:
            solve = _factor(Z, Q, ridge + z / s + y / t)
        except np.linalg.LinAlgError:
            break
        steps += 1
        da = solve(-gradient)  # predictor: the multipliers' terms cancel with μ = 0
        dz, dy = -z - z / s * da, -y + y / t * da
        primal, dual = _length(s, t, da), _length(z, y, None, dz, dy)
        predicted_gap = float((s + primal * da) @ (z + dual * dz) + (t - primal * da) @ (y + dual * dy)) / (2 * a.size)
        centre = mu * (max(predicted_gap, 0.0) / mu) ** 3 if mu > 0 else 0.0
        low, high = (centre - da * dz) / s, (centre + da * dy) / t
        step = solve(-gradient + low - high)
        if not np.isfinite(step).all():  # costs whose squares overflow
            break
        dz, dy = low - z - z / s * step, high - y + y / t * step
        primal, dual = _FRACTION * _length(s, t, step), _FRACTION * _length(z, y, None, dz, dy)
        length = min(primal, dual)  # one length for both: the stationarity residual then falls with it
        a, z, y = a + length * step, z + length * dz, y + length * dy
        a = np.clip(a, lower + 1e-16 * (upper - lower), upper - 1e-16 * (upper - lower))
        if not (a > lower).all() or not (a < upper).all():  # or the numbers have overflowed
            break
    return FinishRun(best, best_gap, steps, interior_point_operations(view) * steps / 20.0)


def _factor(Z: FloatArray, Q: FloatArray | None, theta: FloatArray) -> Callable[[FloatArray], FloatArray]:
    """Return the solver of (diag(θ) + ZZ')x = b."""
    if Q is not None:
        matrix = Q.copy()
        matrix[np.diag_indices(theta.size)] += theta
        cholesky = scipy.linalg.cho_factor(matrix, lower=True, overwrite_a=True, check_finite=False)
        return lambda b: np.asarray(scipy.linalg.cho_solve(cholesky, b, check_finite=False))
    root = Z / np.sqrt(theta)[:, None]
    small = root.T @ root
    small[np.diag_indices(Z.shape[1])] += 1.0
    factor = scipy.linalg.cho_factor(small, lower=True, overwrite_a=True, check_finite=False)

    def once(b: FloatArray) -> FloatArray:
        scaled = b / theta
        return np.asarray(scaled - (Z @ scipy.linalg.cho_solve(factor, Z.T @ scaled, check_finite=False)) / theta)

    def solve(b: FloatArray) -> FloatArray:
        x = once(b)
        return x + once(b - theta * x - Z @ (Z.T @ x))  # one refinement: the update formula cancels near the end

    return solve


def _length(
    s: FloatArray, t: FloatArray, d: FloatArray | None, ds: FloatArray | None = None, dt: FloatArray | None = None
) -> float:
    """Return the longest step in [0, 1] that keeps s + αd and t - αd (or s + αds, t + αdt) nonnegative."""
    if d is not None:
        ds, dt = d, -d
    assert ds is not None
    assert dt is not None
    longest = 1.0
    for value, change in ((s, ds), (t, dt)):
        falling = change < 0
        if falling.any():
            longest = min(longest, float((-value[falling] / change[falling]).min()))
    return longest
