"""Proved lower bounds and feasible points of the conic SVM (`ConicSVM`) from approximate solutions, without solving its SDP.

`certified_bound` makes a lower bound from dual variables γ of any quality, `primal_point` a feasible point from a w of any
quality. Equations are those of Cepeda, Gómez and Han, *Robust SVMs via conic optimization*, 2024 ("Conic"). The problem is (21),

    min Tr W + λ Σz  over  x_i'W x_i - 2u_i + 1 ≥ (r_i)_+²/z_i + (r_i)_-²/(1 - z_i),  [1 w'; w W] ⪰ 0,  0 ≤ z ≤ 1,

with a_i = y_i x_i, u_i = a_i'w, r_i = 1 - u_i (λ form); the κ form has the budget Σz ≤ κn in place of the cost λΣz. In the form
the right side of the *hull* row is s_i + t_i with s_i z_i ≥ (r_i)_+², t_i (1 - z_i) ≥ (r_i)_-², and *split* rows r⁺ - r⁻ = 1 - u.
`ConicProblem` holds the a_i as rows of A, λ or κ, and a metric M if the norm is w'Mw (I becomes M, and Tr W becomes <M, W>).

*The dual.* Γ is the set of γ ≥ 0 with S = I - Σ γ_i a_i a_i' ⪰ 0. With the conic loss φ_i of Proposition 1 (for γ_i and λ) and
ψ_i = φ_i + γ_i r²,

    ||w||² + Σ φ_i(r_i) = w'S w + 2 Σ γ_i u_i - Σ γ_i + Σ ψ_i(r_i),

and every ψ_i is convex: γr² for r ≤ 0, 2√(λγ)r for 0 ≤ r ≤ √(λ/γ), λ + γr² beyond. Its conjugate is
ψ*(v) = v²/(4γ) for v < 0, 0 for 0 ≤ v ≤ 2√(λγ), v²/(4γ) - λ beyond (infinite for γ = 0 ≠ v). So for *any* γ in Γ and any v

    D(γ, v) = -Σ γ_i + Σ v_i - Σ ψ*_i(v_i) - ¼ g'S⁻¹g  [- μκn],     g = Σ (2γ_i - v_i) a_i,

is a lower bound of the optimum; in κ form the multiplier μ ≥ 0 of the budget κn - Σz ≥ 0 takes the place of λ, and the value is
called D(γ, v, μ). Some optimal v is in 0 ≤ v ≤ 2√(λγ), and g = -2Sw at the solution.

*The rounding error of D.* D(γ, v) is a minimum over w. At any w, with ρ the gradient there and S ⪰ ℓI,

    D(γ, v) ≥ ||w||² + Σ [-γu² + (2γ - v)u - γ + v - ψ*(v)] - μκn - ||ρ||²/(4ℓ),     u_i = a_i'w,

and at w = -½S⁻¹g as computed ρ is a rounding error, whose square hardly lowers the bound.

*The best v.* For fixed γ, v maximises D(γ, ·), whose dual is min over w of w'Sw + b'w + Σ χ_i(1 - a_i'w), χ_i convex and
piecewise quadratic: `newton_piecewise` solves it.

*Feasible points.* With V = W - ww' ⪰ 0 and d_i = a_i'V a_i the hull row reads x_i'W x_i - 2u_i + 1 = r_i² + d_i, so the best z is
z_i = (r_i)_+²/(r_i² + d_i) in closed form, and any w and any V ⪰ 0 give a feasible point of the λ form. The κ form has Σz ≤ κn,
which scaling V up achieves.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
import scipy.linalg as sl
from scipy.linalg.lapack import dposv as posv, dpotrs as potrs, dtrtrs as trtrs

from ..errors import InputError, short_text
from .arrays import FloatArray
from .deadline import repairs_are_over
from .program.cones import svec, svec_size
from .restricted_bound import Tilt
from .rounding import UNIT, dot, gamma as gamma_n, total, transposed_product
from .views import ConicProblem


@dataclass(frozen=True, eq=False)
class Coordinates:
    """A linear map from w to coordinates w̃ in which the metric of the norm is the identity, and the map back.

    Parameters
    ----------
    rows : ndarray (n, r)
        The a_i in these coordinates.
    forward : ndarray (r, p), optional
        Matrix of w̃ = forward w; the identity where it is not given.
    backward : ndarray (p, r), optional
        Matrix of w = backward w̃; the identity where it is not given.
    """

    rows: FloatArray
    forward: FloatArray | None = None
    backward: FloatArray | None = None

    def reduce(self, w: FloatArray) -> FloatArray:
        """Return w̃ of w (its part outside the span of the rows only adds to the norm)."""
        return w if self.forward is None else self.forward @ w

    def lift(self, w: FloatArray) -> FloatArray:
        """Return w of w̃."""
        return w if self.backward is None else self.backward @ w

    def lift_matrix(self, W: FloatArray) -> FloatArray:
        """Return W of W̃."""
        return W if self.backward is None else self.backward @ W @ self.backward.T

    def reduce_matrix(self, W: FloatArray) -> FloatArray:
        """Return W̃ of W."""
        return W if self.forward is None else self.forward @ W @ self.forward.T


def coordinates(A: FloatArray, metric: FloatArray | None = None) -> Coordinates:
    """Return coordinates in which the metric M is the identity, for the rows a_i of A; without a metric, at most n of them.

    A solution lies in the span of M⁻¹a_i, so nothing is lost. Eigenvalues of M below 1e-13 of the largest are
    dropped: they are rounding errors of a kernel matrix.
    """
    n, p = A.shape
    if metric is None:
        if p <= n:
            return Coordinates(np.ascontiguousarray(A))
        Q, R = np.linalg.qr(A.T)
        return Coordinates(np.ascontiguousarray(R.T), Q.T, Q)
    values, vectors = np.linalg.eigh(metric)
    largest = max(float(values[-1]), 0.0)
    keep = values > 1e-13 * max(largest, 1e-300)
    if values[0] < -1e-8 * largest or not keep.any():
        raise InputError(f"the metric must be positive semidefinite; its eigenvalues lie in [{values[0]:.3g}, {values[-1]:.3g}]")
    root = np.sqrt(values[keep])
    basis = vectors[:, keep]
    projected = A @ basis
    outside = np.abs(A - projected @ basis.T).max()
    if outside > 1e-6 * max(np.abs(A).max(), 1e-300):
        raise InputError(f"every row of A must lie in the range of the metric; one leaves it by {outside:.3g}", name="A")
    return Coordinates(np.ascontiguousarray(projected / root), root[:, None] * basis.T, basis / root)


@dataclass(frozen=True, eq=False)
class ConicPoint:
    """An exactly feasible point of `ConicSVM` and its objective.

    Parameters
    ----------
    objective : float
        The value of the minimisation there.
    values : dict of label to ndarray
        The blocks of `ConicSVM`'s form: w, W, z, r_plus, r_minus, s, t.
    """

    objective: float
    values: dict[str, FloatArray]


def primal_point(problem: ConicProblem, w: FloatArray, W: FloatArray | None = None, z: FloatArray | None = None) -> ConicPoint:
    """Return a feasible point of Conic (21) near (w, W) and its objective.

    V = W - ww' is projected on the semidefinite cone (multiples of the inverse metric where W is not given) and
    multiplied by the t that is best in λ form, a convex problem in one variable, or that just meets the budget in κ form.
    z is then the best there is; a ``z`` that is given is kept where it is feasible and no worse.

    Raises
    ------
    InputError
        w or W has another shape or numbers that are not finite, κ is 0, or rows of zeros use up the budget κn.
    """
    n, p = problem.A.shape
    w = np.asarray(w, dtype=np.float64)
    if w.shape != (p,) or not np.isfinite(w).all():
        raise InputError(f"w must hold {p} finite numbers; it has shape {w.shape}", name="w")
    if problem.kappa is not None and problem.kappa <= 0.0:
        raise InputError("kappa must be > 0 here; κ = 0 is the hard-margin problem, a QP", name="kappa")
    V = _spread(problem, w, W)
    r = 1.0 - problem.A @ w
    d = np.maximum(np.einsum("ij,ij->i", problem.A @ V, problem.A), 0.0)
    square = np.maximum(r, 0.0) ** 2
    if problem.kappa is not None and ((d == 0.0) & (square > 0.0) & problem.A.any(axis=1)).any():
        V = V + 1e-9 * max(float(np.trace(V)), 1.0) * _inverse_metric(problem)  # every violated point must be able to leave z = 1
        d = np.maximum(np.einsum("ij,ij->i", problem.A @ V, problem.A), 0.0)
    cost = float(np.trace(V)) if problem.metric is None else float((problem.metric * V).sum())
    t = _scale(problem, cost, d, square)
    V, d, cost = t * V, t * d, t * cost
    hull = r * r + d
    z_best = np.divide(square, hull, out=np.zeros(n), where=square > 0)
    z_best = np.clip(z_best, 0.0, 1.0)
    if z is not None:
        z_best = np.where((np.asarray(z) >= z_best) & (np.asarray(z) <= z_best * (1 + 1e-12)), z, z_best)
    values = {"w": w, "W": np.outer(w, w) + V, "z": z_best, "r_plus": np.maximum(r, 0.0), "r_minus": np.maximum(-r, 0.0)}
    values["s"] = np.where(r > 0.0, hull, 0.0)
    values["t"] = values["r_minus"] ** 2
    norm = float(w @ w) if problem.metric is None else float(w @ problem.metric @ w)
    objective = norm + cost + (0.0 if problem.lam is None else problem.lam * float(z_best.sum()))
    return ConicPoint(objective, values)


def _inverse_metric(problem: ConicProblem) -> FloatArray:
    space = coordinates(problem.A, problem.metric)
    return np.eye(problem.A.shape[1]) if space.backward is None else np.asarray(space.backward @ space.backward.T)


def _spread(problem: ConicProblem, w: FloatArray, W: FloatArray | None) -> FloatArray:
    if W is None:
        return _inverse_metric(problem)
    W = np.asarray(W, dtype=np.float64)
    if W.shape != (w.size, w.size) or not np.isfinite(W).all():
        raise InputError(f"W must be a finite {w.size} × {w.size} matrix; it has shape {W.shape}", name="W")
    V = 0.5 * (W + W.T) - np.outer(w, w)
    values, vectors = np.linalg.eigh(V)
    return V if values[0] >= 0.0 else np.asarray((vectors * np.maximum(values, 0.0)) @ vectors.T)


def _scale(problem: ConicProblem, cost: float, d: FloatArray, square: FloatArray) -> float:
    """The t ≥ 0 for t·V: argmin of t·cost + λΣ square/(square + t d), or the root of Σ square/(square + t d) = κn."""
    active = (square > 0.0) & (d > 0.0)
    if not active.any():
        return 0.0
    s, d = square[active], d[active]
    if problem.kappa is None:
        assert problem.lam is not None
        rate, target, power = problem.lam / max(cost, 1e-300), 1.0, 2
    else:
        stuck = float(((square > 0.0) & ~active).sum())  # rows of zeros: z = 1 whatever W is
        rate, target, power = 1.0, problem.kappa * square.size - stuck, 1
        if target <= 0.0:
            budget = problem.kappa * square.size
            raise InputError(f"the budget κn = {budget:g} is used up by {stuck:g} rows of zeros: no feasible point", name="kappa")

    def excess(t: float) -> float:
        """Return a decreasing function of t, whose root is sought: -(derivative of the loss)/cost - 1, or Σz - κn (κ form)."""
        total = rate * (s * d / (s + t * d) ** 2).sum() if power == 2 else (s / (s + t * d)).sum()
        return float(total) - target

    if excess(0.0) <= 0.0:
        return 0.0
    low, high = 0.0, 1.0
    while excess(high) > 0.0:
        low, high = high, 4.0 * high
    for _ in range(200):
        middle = 0.5 * (low + high) if low == 0.0 or high < 4 * low else float(np.sqrt(low * high))
        low, high = (middle, high) if excess(middle) > 0.0 else (low, middle)
        if high - low <= 4e-16 * high:
            break
    return high


#: Share of the bound that rounding may take; beyond it the sums are computed again with the digits that plain sums lose.
_ENOUGH = 1e-10


def proved_value(
    rows: FloatArray,
    factor: FloatArray | None,
    gamma: FloatArray,
    v: FloatArray,
    cost: float,
    constant: float,
    tilt: Tilt | None = None,
) -> tuple[float, float]:
    """Return a lower bound of D(γ, v, μ), and the part that was subtracted for rounding.

    The bound is -inf where S is not positive definite, or v_i ≠ 0 where γ_i = 0.

    Parameters
    ----------
    rows : ndarray (n, p)
        a_i, in coordinates in which the metric is the identity.
    factor : ndarray (p, p) or None
        Lower Cholesky factor of S; None where there is none.
    gamma, v : ndarray (n,)
        γ ≥ 0, and v.
    cost, constant : float
        λ and 0 in the λ form, μ and μκn in the κ form.
    tilt : Tilt, optional
        h'w is subtracted from the objective: a row h with γ = 0 and the loss r - 1, whose v is 1.
    """
    # v a few roundings below 2√(μγ) has ψ* = 0 exactly, where v²/(4γ) - μ would leave the rounding of μ
    edge = 2.0 * np.sqrt(max(cost, 0.0) * gamma) * (1.0 - 16.0 * UNIT)
    v = np.where((v > edge) & (v <= edge * (1.0 + 64.0 * UNIT)), edge, v)
    with np.errstate(divide="ignore", invalid="ignore"):
        square = np.where((v == 0.0) | ((v > 0.0) & (v <= edge)), 0.0, v * v / (4.0 * gamma))
    penalty = np.where(v < 0.0, square, np.maximum(square - cost, 0.0))
    if tilt is None:
        return proved_sum(rows, factor, gamma, v, penalty, square, constant)
    rows = np.vstack([rows, tilt.direction])
    gamma, v, penalty, square = (np.append(part, last) for part, last in ((gamma, 0.0), (v, 1.0), (penalty, 1.0), (square, 0.0)))
    return proved_sum(rows, factor, gamma, v, penalty, square, constant, tilt.error)


def proved_sum(
    rows: FloatArray, factor: FloatArray | None, gamma: FloatArray, v: FloatArray, penalty: FloatArray, size: FloatArray,
    constant: float, row_error: FloatArray | None = None,
) -> tuple[float, float]:  # fmt: skip
    """Return a proved lower bound as `proved_value` does, for conjugates ψ* of any losses: ``penalty`` (n,) holds the ψ*_i(v_i).

    ``size`` (n,) holds the numbers from which the penalties were computed: a penalty's rounding error is a few units of its size.
    ``row_error`` (p,) bounds the error of each entry of Σ v_i a_i.
    """
    eigenvalue = 0.0 if factor is None else _least(rows, gamma)
    if factor is None or not (eigenvalue > 0.0 and np.isfinite(penalty).all() and np.isfinite(size).all()):
        return -np.inf, 0.0
    row_error = np.zeros(rows.shape[1]) if row_error is None else row_error
    terms = _Terms(rows, np.abs(rows), gamma, v, penalty, size, constant, row_error)
    w = -0.5 * potrs(factor, rows.T @ (2.0 * gamma - v), lower=1)[0]
    best = (-np.inf, 0.0)
    for careful in (False, True):
        best = max(best, terms.bound_at(w, eigenvalue, careful))
        if best[1] <= _ENOUGH * abs(best[0]):
            break
    return best


@dataclass(frozen=True, eq=False)
class _Terms:
    """The terms of the bound; ``absolute`` = |rows|: features differ in scale, so errors are bounded entry by entry."""

    rows: FloatArray
    absolute: FloatArray
    gamma: FloatArray
    v: FloatArray
    penalty: FloatArray
    size: FloatArray
    constant: float
    row_error: FloatArray

    def bound_at(self, w: FloatArray, eigenvalue: float, careful: bool) -> tuple[float, float]:
        """Return the bound at w and what rounding took of it, with S ⪰ ``eigenvalue``·I.

        ``careful`` keeps the digits that cancel in the sums of ρ, the gradient at w, where λ is large.
        """
        rows, absolute, gamma, v = self.rows, self.absolute, self.gamma, self.v
        n, p = rows.shape
        u = rows @ w
        margin_error = gamma_n(p) * (absolute @ np.abs(w))  # of u
        pull = -2.0 * gamma * u + 2.0 * gamma - v
        if careful:
            pieces = [transposed_product(rows, x) for x in (2.0 * gamma, -v, -2.0 * gamma * u)]
            rho = 2.0 * w + pieces[0][0] + pieces[1][0] + pieces[2][0]
            error_bound = sum((error + 4.0 * UNIT * np.abs(value) for value, error in pieces), 8.0 * UNIT * np.abs(w))
            error_bound = error_bound + absolute.T @ (2.0 * gamma * margin_error + 4.0 * UNIT * gamma * np.abs(u))
        else:
            rho = 2.0 * w + rows.T @ pull
            error_bound = absolute.T @ (2.0 * gamma * margin_error + gamma_n(n + 8) * np.abs(pull)) + 8.0 * UNIT * np.abs(w)
            error_bound += 8.0 * UNIT * (absolute.T @ (2.0 * gamma * (np.abs(u) + 1.0) + np.abs(v)))
        largest = np.abs(rho) + error_bound + self.row_error
        residual = math.sqrt(float(largest @ largest)) * (1.0 + 1e-9)
        terms = u * (2.0 * gamma - v - gamma * u)
        value = dot(w, w) + total(np.concatenate([terms, v, -gamma, -self.penalty, [-self.constant]]))
        rounding = float(np.abs(pull) @ margin_error + gamma @ (margin_error * margin_error) + self.row_error @ np.abs(w))
        sizes = float(np.abs(u) @ (2.0 * gamma + np.abs(v) + gamma * np.abs(u)) + self.size.sum() + abs(self.constant))
        rounding += 8.0 * UNIT * sizes
        rounding = (rounding + residual * residual / (4.0 * eigenvalue)) * (1.0 + 1e-9)
        return value.lower - rounding, value.error + rounding


def _least(rows: FloatArray, gamma: FloatArray) -> float:
    """Return ℓ with I - Σγ_i a_i a_i' ⪰ ℓI, the rounding of the sum and of the eigenvalues subtracted."""
    moments = (rows * gamma[:, None]).T @ rows
    size = float(moments.trace())
    return 1.0 - float(np.linalg.eigvalsh(moments)[-1]) - (gamma_n(rows.shape[0] + 4) + gamma_n(16 * rows.shape[1])) * size


#: A function of the residuals r (n,) that returns χ'(r) and χ''(r) (from one side), each (n,).
Slopes: TypeAlias = Callable[[FloatArray], tuple[FloatArray, FloatArray]]

#: The line search ends where the slope is this part of the first one.
_FLAT = 0.1


def newton_piecewise(
    rows: FloatArray, S: FloatArray, linear: FloatArray, slopes: Slopes, w: FloatArray, floor: float, iteration_limit: int = 80
) -> FloatArray:
    """Return the minimiser of w'Sw + b'w + Σ χ_i(1 - a_i'w), χ_i convex and piecewise quadratic, by Newton's method.

    The iteration ends early at the deadline of repairs (`models.deadline`): bounds hold for any w. S may be nearly singular, so
    that steps are too long by many orders of magnitude, and halving them would take too many trials. The slope along a step
    increases with its length, and the line search finds its root.

    Parameters
    ----------
    rows : ndarray (n, p)
        a_i.
    S : ndarray (p, p)
        Positive semidefinite.
    linear : ndarray (p,)
        b.
    slopes : callable
        χ' and χ'' as a function of the residuals.
    w : ndarray (p,)
        Start.
    floor : float
        The iteration ends where the Newton decrement -∇'d of the step d is at most this.
    iteration_limit : int
        The largest number of steps.
    """
    r = 1.0 - rows @ w
    V, rate = slopes(r)
    for _ in range(iteration_limit):
        if repairs_are_over():
            break
        gradient = 2.0 * (S @ w) + linear - rows.T @ V
        hessian = 2.0 * S + (rows * rate[:, None]).T @ rows
        hessian.flat[:: len(w) + 1] += 1e-14 * hessian.trace() / len(w)
        step = _solved(hessian, -gradient)
        descent = float(gradient @ step)
        if -descent <= floor:
            break
        change = rows @ step
        length = _length(slopes, r, change, V, 2.0 * float(step @ S @ step), descent)
        w = w + length * step
        r = 1.0 - rows @ w
        V, rate = slopes(r)
    return w


def _solved(hessian: FloatArray, right: FloatArray) -> FloatArray:
    """Return H⁻¹b by Cholesky; by LDL' where rounding made H indefinite."""
    _, step, indefinite = posv(hessian, right, lower=1)  # LAPACK's own: SciPy's checks take longer than the solve
    return np.asarray(sl.solve(hessian, right, assume_a="sym", check_finite=False) if indefinite else step)


def _length(slopes: Slopes, r: FloatArray, change: FloatArray, before: FloatArray, curvature: float, descent: float) -> float:
    """Return the step length at which the slope is small: 1, or a root by Newton's method inside a bracket that shrinks on a log
    scale.
    """
    low, high, t = 0.0, np.inf, 1.0
    for _ in range(100):
        V, rate = slopes(r - t * change)
        slope = descent + curvature * t - float(change @ (V - before))
        if abs(slope) <= -_FLAT * descent or (t == 1.0 and slope <= 0.0):
            return t
        low, high = (t, high) if slope <= 0.0 else (low, t)
        if high - low <= 1e-6 * high:
            break
        trial = t - slope / (curvature + float(change @ (rate * change)) + 1e-300)
        shortest = low if low > 0.0 else 1e-3 * high
        t = trial if shortest < trial < high else (0.5 * (low + high) if low > 0.0 else 0.1 * high)
    return low if low > 0.0 else high


# The best v for a fixed γ, and the best μ: the inner problems of the conic bound, solved in floating point.
#
# Nothing here is a bound: `proved_value` bounds what these find.

#: Relative gap of the inner problem (fixed γ) at which it counts as solved.
_INNER_GAP = 1e-10


def _slack_factor(rows: FloatArray, gamma: FloatArray) -> FloatArray | None:
    """Return the lower Cholesky factor of the dual slack matrix S; None where S is not positive definite."""
    try:
        return np.asarray(np.linalg.cholesky(np.eye(rows.shape[1]) - (rows * gamma[:, None]).T @ rows), dtype=np.float64)
    except np.linalg.LinAlgError:
        return None


def conjugate(gamma: FloatArray, v: FloatArray, cost: float) -> FloatArray:
    """Return the conjugates ψ*_i(v_i), (n,); infinite where γ_i = 0 and v_i ≠ 0."""
    with np.errstate(divide="ignore", invalid="ignore"):
        square = np.where(v == 0.0, 0.0, v * v / (4.0 * gamma))
    return np.where(v < 0.0, square, np.maximum(square - cost, 0.0))


def _value(
    rows: FloatArray,
    factor: FloatArray | None,
    gamma: FloatArray,
    v: FloatArray,
    cost: float,
    constant: float,
    tilt: FloatArray | None = None,
) -> float:
    """Return D(γ, v) in floating point, by which points are compared; `proved_value` is the bound."""
    if factor is None:
        return -np.inf
    penalty = float(conjugate(gamma, v, cost).sum())
    if not np.isfinite(penalty):
        return -np.inf
    gradient = rows.T @ (2.0 * gamma - v)
    half, _ = trtrs(factor, gradient if tilt is None else gradient - tilt, lower=1)
    quadratic = 0.25 * float(half @ half)
    return float((v - gamma).sum()) - penalty - quadratic - constant


def _best_v(
    rows: FloatArray,
    factor: FloatArray | None,
    gamma: FloatArray,
    cost: float,
    start: FloatArray | None,
    tilt: FloatArray | None = None,
) -> tuple[FloatArray, float]:
    """Return a v that (nearly) maximises D(γ, ·), and the value of the inner primal problem: no v has a larger D.

    The term -½ Σ δ v_i²/(2γ_i) makes the maximiser over v for given w unique and Lipschitz in w: a clipped linear function
    of r, the derivative of a smoothed ψ. Its p-dimensional primal is piecewise quadratic; `newton_piecewise` minimises it
    for δ = 1e-1, 1e-2, ..., each from the solution before.
    """
    v = np.zeros_like(gamma)
    support = np.flatnonzero(gamma > 0.0)
    if factor is None or support.size == 0 or cost <= 0.0:
        return v, np.inf
    inner = _SmoothedInner(rows[support], gamma[support], cost, tilt)
    w = np.zeros(rows.shape[1]) if start is None else start
    best, best_value, attained = v, -np.inf, np.inf
    for delta in 10.0 ** -np.arange(1.0, 13.0):
        w = inner.minimise(w, delta)
        v = np.zeros_like(gamma)
        v[support] = inner.slopes(delta)(1.0 - inner.rows @ w)[0]
        value = _value(rows, factor, gamma, v, cost, 0.0, tilt)
        attained = min(attained, inner.exact(w))
        if value > best_value:
            best, best_value = v, value
        if attained - best_value <= _INNER_GAP * abs(best_value):
            break
    return best, attained


class _SmoothedInner:
    """min over w of w'Sw + 2Σγu - Σγ + Σψ_δ(1 - u) - h'w for fixed γ > 0: ψ_δ is the smoothed ψ of `_best_v`, h is ``tilt``."""

    def __init__(self, rows: FloatArray, gamma: FloatArray, cost: float, tilt: FloatArray | None = None) -> None:
        self.rows, self.gamma, self.cost = rows, gamma, cost
        self.corner = 2.0 * np.sqrt(cost * gamma)  # v at the end of the linear piece
        self.S = np.eye(rows.shape[1]) - (rows * gamma[:, None]).T @ rows
        self.tilt = np.zeros(rows.shape[1]) if tilt is None else tilt
        self.linear = 2.0 * rows.T @ gamma - self.tilt

    def slopes(self, delta: float) -> Slopes:
        """Return v = ψ_δ'(r) and its derivative, as a function of r."""
        corner, slack = self.corner, delta / (2.0 * self.gamma)
        outer, steep = 2.0 * self.gamma / (1.0 + delta), 1.0 / slack
        bend = slack * corner  # the linear piece is reached here
        reach = bend + 0.5 * corner / self.gamma  # and left here

        def at(r: FloatArray) -> tuple[FloatArray, FloatArray]:
            outside = (r < 0.0) | (r >= reach)
            v = np.where(outside, outer * r, np.minimum(r / slack, corner))
            return v, np.where(outside, outer, np.where(r < bend, steep, 0.0))

        return at

    def exact(self, w: FloatArray) -> float:
        """Return the objective with ψ itself."""
        u = self.rows @ w
        r = 1.0 - u
        square = self.gamma * r * r
        psi = np.where(r < 0.0, square, np.where(r * r * self.gamma < self.cost, self.corner * r, self.cost + square))
        return float(w @ self.S @ w + (self.gamma * (2.0 * u - 1.0)).sum() + psi.sum() - self.tilt @ w)

    def minimise(self, w: FloatArray, delta: float) -> FloatArray:
        """Return the minimiser by Newton's method from w."""
        floor = 1e-15 * max(abs(self.exact(w)), self.cost)
        return newton_piecewise(self.rows, self.S, self.linear, self.slopes(delta), w, floor, 40)


def _best_mu(problem: ConicProblem, space: Coordinates, gamma: FloatArray, start: FloatArray | None) -> float:
    """Return the μ that (nearly) maximises the concave max_v D(γ, v, μ), by golden section over log μ."""
    factor = _slack_factor(space.rows, gamma)

    def value(log_mu: float) -> float:
        cost, constant = _cost_and_constant(problem, float(np.exp(log_mu)))
        return _value(space.rows, factor, gamma, _best_v(space.rows, factor, gamma, cost, start)[0], cost, constant)

    guess = 2.0 * np.log(max(float(np.sqrt(gamma).sum()), 1e-150) / max((problem.kappa or 0.0) * gamma.size, 1e-150))
    return float(np.exp(_golden(value, guess - 25.0, guess + 5.0)))


def _golden(function: Callable[[float], float], low: float, high: float) -> float:
    ratio = 0.5 * (np.sqrt(5.0) - 1.0)
    left, right = high - ratio * (high - low), low + ratio * (high - low)
    at_left, at_right = function(left), function(right)
    while high - low > 1e-7:
        if at_left < at_right:
            low, left, at_left = left, right, at_right
            right = low + ratio * (high - low)
            at_right = function(right)
        else:
            high, right, at_right = right, left, at_left
            left = high - ratio * (high - low)
            at_left = function(left)
    return 0.5 * (low + high)


def _cost_and_constant(problem: ConicProblem, mu: float | None) -> tuple[float, float]:
    """Return the cost of a violated margin (λ, or μ ≥ 0 of the κ form) and the constant that is subtracted (0, or μκn)."""
    if problem.kappa is None:
        assert problem.lam is not None
        return float(problem.lam), 0.0
    if mu is None or not np.isfinite(mu):
        raise InputError(f"the κ form needs the budget's multiplier mu ≥ 0; it is {short_text(mu)}", name="mu")
    cost = max(float(mu), 0.0)
    return cost, cost * problem.kappa * problem.A.shape[0]


#: Least eigenvalues ("margins") of S that `certified_bound` tries: γ is scaled down until S ⪰ margin·I. A larger margin costs
#: more of the bound where γ is accurate, and less where γ and w do not quite fit together.
TRIAL_EIGENVALUES = (1e-10, 1e-9, 1e-8, 1e-7, 1e-6, 1e-5, 1e-4)


@dataclass(frozen=True, eq=False)
class ConicBound:
    """A proved lower bound and the dual point that proves it.

    Parameters
    ----------
    value : float
        D(γ, v, μ), rounding errors of its evaluation subtracted.
    gamma, v : ndarray (n,)
        γ in Γ (S positive definite, checked) and v.
    mu : float
        λ, or the budget's multiplier in κ form.
    error : float
        The part that was subtracted for rounding.
    """

    value: float
    gamma: FloatArray
    v: FloatArray
    mu: float
    error: float = 0.0


def repair_gamma(A: FloatArray, gamma: FloatArray, metric: FloatArray | None = None, margin: float = 1e-10) -> FloatArray:
    """Return γ moved into Γ, Conic (13): clipped at 0 and scaled until S = M - Σ γ_i a_i a_i' ⪰ margin·M.

    Parameters
    ----------
    A : ndarray (n, p)
        Rows a_i.
    gamma : ndarray (n,)
        Any finite numbers.
    metric : ndarray (p, p), optional
        M; the identity where it is not given.
    margin : float
        Relative smallest eigenvalue that S keeps; far above the rounding errors of its evaluation (≈ p·1e-16).

    Raises
    ------
    InputError
        γ has not one finite number for each row; the metric is not positive semidefinite, or a row is not in its range.
    """
    return _repair(coordinates(A, metric).rows, _checked(gamma, A.shape[0]), margin)


def dual_value(problem: ConicProblem, gamma: FloatArray, v: FloatArray, mu: float | None = None) -> float:
    """Return a lower bound of D(γ, v, μ), the value of the dual; -inf where S is not positive definite or v_i ≠ 0 = γ_i.

    ``mu`` is the budget's multiplier (κ form); the λ form takes λ from the problem.
    """
    rows = coordinates(problem.A, problem.metric).rows
    gamma, v = _checked(gamma, rows.shape[0]), _checked(v, rows.shape[0])
    if gamma.min(initial=0.0) < 0:
        return -np.inf
    return proved_value(rows, _slack_factor(rows, gamma), gamma, v, *_cost_and_constant(problem, mu))[0]


@np.errstate(all="ignore")  # numbers that overflow give no bound, which `proved_value` and the comparisons of bounds see to
def certified_bound(
    problem: ConicProblem,
    gamma: FloatArray,
    w: FloatArray | None = None,
    mu: float | None = None,
    v: FloatArray | None = None,
    target: float = np.inf,
    improve: bool = True,
    tilt: Tilt | None = None,
) -> ConicBound:
    """Return the best proved lower bound that γ of any quality gives.

    γ is clipped and scaled into Γ for several margins; for each, v maximises D(γ, ·) (`_best_v`: a safeguarded
    semismooth Newton method on the p-dimensional convex problem, smoothed less and less), starting from ``w``. A ``v`` that
    is given is tried as well. The dual is concave with D(0, 0) = 0 (λ form), so scaling (γ, v) by 1 - ε loses at most ε·D.

    Parameters
    ----------
    problem : ConicProblem
    gamma : ndarray (n,)
        Multipliers of the hull rows (clipped at 0).
    w : ndarray (p,), optional
        Primal point to start from.
    mu : float, optional
        Multiplier of the budget in κ form; found by a one-dimensional concave search where it is not given.
    v : ndarray (n,), optional
        Multipliers of the split rows r⁺ - r⁻ = 1 - u.
    target : float
        Stop as soon as the bound reaches this.
    improve : bool
        Whether v is improved by the inner problem; False evaluates the given ``v`` alone, which is cheap.
    tilt : Tilt, optional
        A linear function of w to subtract from the objective, for problems without a metric. The bound may then be -inf; without
        a tilt it is 0 at least.

    Raises
    ------
    InputError
        Wrong lengths or non-finite numbers; a metric that is not positive semidefinite.
    """
    space = coordinates(problem.A, problem.metric) if tilt is None else Coordinates(np.ascontiguousarray(problem.A))
    h = None if tilt is None else tilt.direction
    n = space.rows.shape[0]
    gamma = _checked(gamma, n)
    start = None if w is None else space.reduce(_checked(w, problem.A.shape[1], "w"))
    stated_v = None if v is None else _checked(v, n, "v")
    if problem.kappa is not None and mu is None:
        mu = _best_mu(problem, space, _repair(space.rows, gamma, 1e-8), start)
    cost, constant = _cost_and_constant(problem, mu)
    trivial_bound = 0.0 if tilt is None else -np.inf  # D(0, 0) = 0
    best = ConicBound(trivial_bound, np.zeros(n), np.zeros(n), 0.0 if problem.kappa is not None else cost)
    previous: FloatArray | None = None
    for margin in TRIAL_EIGENVALUES:
        trial = _repair(space.rows, gamma, margin)
        if previous is not None and np.array_equal(trial, previous):
            continue
        previous = trial
        factor = _slack_factor(space.rows, trial)
        if stated_v is not None:
            scale = min(1.0, float(trial.max(initial=0.0) / max(gamma.max(initial=0.0), 1e-300)))
            candidate = np.clip(scale * stated_v, 0.0, 2.0 * np.sqrt(cost * trial))
            proved = proved_value(space.rows, factor, trial, candidate, cost, constant, tilt)
            best = _better(best, proved, trial, candidate, cost)
        if best.value >= target:
            break
        if not improve:
            continue
        inner, attained = _best_v(space.rows, factor, trial, cost, start, h)
        proved = proved_value(space.rows, factor, trial, inner, cost, constant, tilt)
        best, value = _better(best, proved, trial, inner, cost), proved[0]
        if np.isfinite(value) and attained - constant - value <= _INNER_GAP * abs(value):
            break  # this γ gives no better bound: a larger margin only lowers it
    return best


def conic_multipliers(problem: ConicProblem, gamma: FloatArray, v: FloatArray, mu: float | None = None) -> dict[str, FloatArray]:
    """Return multipliers of every constraint of `ConicSVM`'s form from (γ, v, μ), feasible wherever γ is in Γ.

    ``hull`` is γ and ``split`` is v; stationarity in s, t, z, r⁺, r⁻ gives ``violated`` (2γ, λ + k, -v₊) and ``kept``
    (2γ, k, -v₋), v₊ = max(v, 0), v₋ = max(-v, 0), k = ψ*(v); ``lifted`` is [τ η'; η S], η = g/2, τ = η'S⁻¹η; ``budget`` is μ.
    """
    cost, _ = _cost_and_constant(problem, mu)
    p = problem.A.shape[1]
    metric = np.eye(p) if problem.metric is None else problem.metric
    S = metric - (problem.A * gamma[:, None]).T @ problem.A
    eta = 0.5 * problem.A.T @ (2.0 * gamma - v)
    tau = float(eta @ np.linalg.lstsq(S, eta, rcond=None)[0])
    excess = conjugate(gamma, v, cost)
    violated = np.column_stack([2.0 * gamma, cost + excess, -np.maximum(v, 0.0)])
    constant_terms = np.column_stack([2.0 * gamma, excess, np.minimum(v, 0.0)])
    lifted = np.block([[np.array([[tau]]), eta[None, :]], [eta[:, None], S]])
    multipliers = {
        "lifted": svec(lifted),
        "hull": gamma,
        "split": v,
        "violated": violated.ravel(),
        "kept": constant_terms.ravel(),
    }
    if problem.kappa is not None:
        multipliers["budget"] = np.array([cost])
    return multipliers


def conic_reduced_costs(problem: ConicProblem, v: FloatArray) -> FloatArray:
    """Return multipliers ζ of the bounds of `ConicSVM`'s form that go with `conic_multipliers`: v₋ of r⁺ ≥ 0, v₊ of r⁻ ≥ 0."""
    n, p = problem.A.shape
    free = np.zeros(p + svec_size(p) + n)
    return np.concatenate([free, np.maximum(-v, 0.0), np.maximum(v, 0.0), np.zeros(2 * n)])


def _checked(values: FloatArray, n: int, name: str = "gamma") -> FloatArray:
    array = np.asarray(values, dtype=np.float64).ravel()
    if array.shape != (n,) or not np.isfinite(array).all():
        raise InputError(f"{name} must hold {n} finite numbers; it has shape {np.shape(values)}", name=name)
    return array


def _better(best: ConicBound, proved: tuple[float, float], gamma: FloatArray, v: FloatArray, cost: float) -> ConicBound:
    return ConicBound(proved[0], gamma, v, cost, proved[1]) if proved[0] > best.value else best


def _repair(rows: FloatArray, gamma: FloatArray, margin: float) -> FloatArray:
    repaired = np.maximum(gamma, 0.0)
    for _ in range(20):
        moments = (rows * repaired[:, None]).T @ rows
        largest = float(np.linalg.eigvalsh(moments)[-1])
        if largest <= 1.0 - margin * (1.0 - 1e-3):
            return repaired
        repaired = repaired * ((1.0 - margin) / largest)
    return np.zeros_like(repaired)
