"""A compiled primal-dual interior point method for the perspective relaxation of a node of `sparse-bb`, on few features.

    min  Σ_j q_j w_j²/(2 z_j) + π_j z_j + Σ_i c_i ℓ(a_i'w)   over   l_j z_j ≤ w_j ≤ u_j z_j,   0 ≤ z ≤ 1,   Σ z_j ≤ k,

where z_j relaxes the indicator of w_j ≠ 0, and z_j = 1 for features that the node has in the support. The costs are c_i, ℓ is the
loss, a_i = y_i x_i, and π_j is the price of w_j ≠ 0. A hinge loss is ξ_i (squared: ξ_i²) over ξ_i ≥ 1 - a_i'w, ξ_i ≥ 0. H is the
Hessian of a Newton step Δ, which the barrier of all inequalities enters. These are linear, so that iterates stay feasible; each
step eliminates the points, whose multipliers are α, and z. The multipliers of every iterate are feasible for the dual
(`solvers.sparse.dual`), so that a step may be the last one.
"""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from ..exact.loops import loops_of
from ..interface.numba_flags import by_reference

_loops = loops_of(Path(__file__).parent)
#: Decorators of the loops of this folder: those that Python calls, and those that only loops call.
entry, inner = _loops.entry, _loops.inner

#: The numbers of `LinearLoss`.
_HINGE, _SQUARED, _LOGISTIC = 1, 2, 3
#: Share of the way to the boundary.
_STEP = 0.995


@by_reference
class RelaxationWorkspace(NamedTuple):
    """Solution and work arrays of a relaxation of n points and at most d features."""

    alpha: Any  #: (n,) multipliers α of the losses
    best: Any  #: (n,) the multipliers of the best dual value so far
    margin: Any  #: (n,) a_i'w
    slack: Any  #: (n,) margin + ξ - 1
    excess: Any  #: (n,) ξ ≥ (1 - margin)_+
    beta: Any  #: (n,) multipliers of ξ ≥ 0
    D: Any  #: (n,) in Δα = shift - D Δmargin
    shift: Any  #: (n,) in Δα = shift - D Δmargin
    step: Any  #: (n,) Δmargin; a buffer before
    turn: Any  #: (n,) Δα; a buffer before
    dx: Any  #: (n,) Δξ
    w: Any  #: (d,) coefficients
    z: Any  #: (d,) indicators of the support
    v: Any  #: (d,) Σ α_i a_i
    h: Any  #: (d,) H_wz/H_zz in the elimination of z
    inverse: Any  #: (d,) 1/H_zz in the elimination of z
    gz: Any  #: (d,) gradient by z
    dw: Any  #: (d,) Δw
    dz: Any  #: (d,) Δz
    rhs: Any  #: (d,) right-hand side of the system of Δw
    gain: Any  #: (d,) (g_j)_+, g_j = sup over l_j ≤ w ≤ u_j of v_j w - q_j w²/2, less π_j
    sigma: Any  #: (4, d) slacks of 0 ≤ z, z ≤ 1, w ≤ u z, l z ≤ w; -1 without the constraint
    lam: Any  #: (4, d) multipliers of these constraints
    dlam: Any  #: (4, d) Δlam
    H: Any  #: (d, d) matrix of the system of Δw, then its Cholesky factor
    theta: Any  #: (2,) multiplier of Σz ≤ k, and its step
    value: Any  #: (2,) the relaxation's value at w and z, and the dual value of ``best``


def new_workspace(n: int, d: int) -> RelaxationWorkspace:
    """Return arrays of zeros for n points and at most d features."""
    points = {name: np.zeros(n) for name in (
        "alpha", "best", "margin", "slack", "excess", "beta", "D", "shift", "step", "turn", "dx",
    )}  # fmt: skip
    features = {name: np.zeros(d) for name in ("w", "z", "v", "h", "inverse", "gz", "dw", "dz", "rhs", "gain")}
    sides = {name: np.zeros((4, d)) for name in ("sigma", "lam", "dlam")}
    return RelaxationWorkspace(**points, **features, **sides, H=np.zeros((d, d)), theta=np.zeros(2), value=np.zeros(2))


@inner
def _loss(kind: Any, m: Any) -> Any:
    if kind == _LOGISTIC:
        return max(-m, 0.0) + math.log1p(math.exp(-abs(m)))
    t = max(1.0 - m, 0.0)
    return t if kind == _HINGE else t * t


@inner
def _dual_term(kind: Any, a: Any, c: Any) -> Any:
    """Return -c ℓ*(-a/c)."""
    if kind == _HINGE:
        return a
    if kind == _SQUARED:
        return a - a * a / (4.0 * c)
    s = a / c
    if s <= 0.0 or s >= 1.0:
        return 0.0
    return -c * (s * math.log(s) + (1.0 - s) * math.log1p(-s))


@inner
def _worth(v: Any, q: Any, low: Any, high: Any) -> Any:
    """Return sup over l ≤ w ≤ u of v w - q w²/2."""
    if q > 0.0:
        w = min(max(v / q, low), high)
        return v * w - 0.5 * q * w * w
    if v == 0.0:
        return 0.0
    return v * (high if v > 0.0 else low)


@inner
def _products(A: Any, d: Any, x: Any, out: Any) -> None:
    """Compute out = A'x by features."""
    for i in range(out.size):
        out[i] = 0.0
    for j in range(d):
        for i in range(out.size):
            out[i] += A[j, i] * x[j]


@inner
def _transposed(A: Any, d: Any, x: Any, out: Any) -> None:
    for j in range(d):
        t = 0.0
        for i in range(x.size):
            t += A[j, i] * x[i]
        out[j] = t


@inner
def _factor(H: Any, d: Any) -> None:
    """Compute Cholesky's factor in the lower triangle; the floor keeps pivots positive where columns are dependent."""
    for j in range(d):
        top = H[j, j]
        for k in range(j):
            H[j, j] -= H[j, k] * H[j, k]
        H[j, j] = math.sqrt(max(H[j, j], 1e-15 * top + 1e-300))
        for i in range(j + 1, d):
            t = H[i, j]
            for k in range(j):
                t -= H[i, k] * H[j, k]
            H[i, j] = t / H[j, j]


@inner
def _solve(H: Any, d: Any, x: Any) -> None:
    for j in range(d):
        t = x[j]
        for k in range(j):
            t -= H[j, k] * x[k]
        x[j] = t / H[j, j]
    for j in range(d - 1, -1, -1):
        t = x[j]
        for k in range(j + 1, d):
            t -= H[k, j] * x[k]
        x[j] = t / H[j, j]


@inner
def _begin(A: Any, cost: Any, kind: Any, low: Any, high: Any, fixed: Any, count: Any, r: Any) -> None:
    """Set an interior point: w = 0 where that is inside, equal z of all free features, and multipliers inside their bounds."""
    d, n, free = fixed.size, cost.size, 0
    for j in range(d):
        free += not fixed[j]
    level = min(0.9 * count / max(free, 1), 0.9)
    for j in range(d):
        r.z[j] = 1.0 if fixed[j] else level
        reach = min(0.5 * (high[j] - low[j]), 1.0)
        r.w[j] = r.z[j] * min(max(0.0, low[j] + reach), high[j] - reach)
    _products(A, d, r.w, r.margin)
    for i in range(n):
        if kind == _LOGISTIC:
            r.alpha[i] = cost[i] / (1.0 + math.exp(r.margin[i]))
        else:
            r.excess[i] = max(1.0 - r.margin[i], 0.0) + (1.0 if kind == _HINGE else 0.1)
            r.alpha[i] = 0.5 * cost[i] if kind == _HINGE else 2.0 * cost[i] * r.excess[i]
            r.beta[i] = cost[i] - r.alpha[i]
            r.slack[i] = r.margin[i] + r.excess[i] - 1.0


@inner
def _sides(low: Any, high: Any, fixed: Any, r: Any) -> None:
    """Compute the constraints' slacks."""
    for j in range(fixed.size):
        r.sigma[0, j] = -1.0 if fixed[j] else r.z[j]
        r.sigma[1, j] = -1.0 if fixed[j] else 1.0 - r.z[j]
        r.sigma[2, j] = high[j] * r.z[j] - r.w[j] if high[j] < math.inf else -1.0
        r.sigma[3, j] = r.w[j] - low[j] * r.z[j] if low[j] > -math.inf else -1.0


# exempt (arguments): compiled, array by array
@inner
def _dual(kind: Any, cost: Any, q: Any, price: Any, low: Any, high: Any, fixed: Any, count: Any, r: Any) -> Any:
    """Return the dual value of α on these features.

    Multipliers that do not balance for a free intercept b are repaired later, which costs about |b| for each unit.
    """
    total = 0.0
    for i in range(cost.size):
        total += _dual_term(kind, r.alpha[i], cost[i])
    for j in range(fixed.size):
        if q[j] == 0.0 and high[j] - low[j] == math.inf:
            r.gain[j] = 0.0
            total -= abs(r.v[j]) * (1.0 + 2.0 * abs(r.w[j]))
            continue
        g = _worth(r.v[j], q[j], low[j], high[j]) - price[j]
        if fixed[j]:
            total -= g
            r.gain[j] = 0.0
        else:
            r.gain[j] = max(g, 0.0)
    for _ in range(count):
        top = 0
        for j in range(fixed.size):
            if r.gain[j] > r.gain[top]:
                top = j
        total -= r.gain[top]
        r.gain[top] = 0.0
    return total


@inner
def _weights(kind: Any, cost: Any, mu: Any, r: Any) -> None:
    """Compute D and the shift of α without a change of the margins."""
    for i in range(cost.size):
        a, s, c = r.alpha[i], r.slack[i], cost[i]
        if kind == _HINGE:
            b, x = r.beta[i], r.excess[i]
            r.D[i] = 1.0 / (s / a + x / b)
            r.shift[i] = r.D[i] * (mu / a - s - mu / b + x)
        elif kind == _SQUARED:
            r.D[i] = 1.0 / (s / a + 0.5 / c)
            r.shift[i] = r.D[i] * (mu / a - s - 0.5 * a / c + r.excess[i])
        else:
            e = 1.0 / (1.0 + math.exp(r.margin[i]))
            r.D[i] = c * e * (1.0 - e)
            r.shift[i] = c * e - a


@inner
def _matrix(A: Any, q: Any, low: Any, high: Any, fixed: Any, budget: Any, r: Any) -> Any:
    """Compute and factor the matrix of Δw; return κ = (``count`` - Σz)/θ + Σ_j 1/H_zz, which eliminates the limit on Σz."""
    d, n = fixed.size, r.D.size
    for j in range(d):
        for i in range(n):
            r.turn[i] = A[j, i] * r.D[i]
        k = 0
        while k + 4 <= d and k <= j:  # four entries at a time share the loads of a row
            t0, t1, t2, t3 = 0.0, 0.0, 0.0, 0.0
            for i in range(n):
                x = r.turn[i]
                t0 += A[k, i] * x
                t1 += A[k + 1, i] * x
                t2 += A[k + 2, i] * x
                t3 += A[k + 3, i] * x
            r.H[j, k], r.H[j, k + 1], r.H[j, k + 2], r.H[j, k + 3] = t0, t1, t2, t3
            k += 4
        for last in range(k, j + 1):
            t = 0.0
            for i in range(n):
                t += A[last, i] * r.turn[i]
            r.H[j, last] = t
    kappa = budget / r.theta[0]
    for j in range(d):
        k2 = r.lam[2, j] / r.sigma[2, j] if r.sigma[2, j] >= 0.0 else 0.0
        k3 = r.lam[3, j] / r.sigma[3, j] if r.sigma[3, j] >= 0.0 else 0.0
        r.h[j] = r.inverse[j] = 0.0
        if fixed[j]:
            r.H[j, j] += q[j] + k2 + k3
            continue
        k0, k1, z, w = r.lam[0, j] / r.sigma[0, j], r.lam[1, j] / r.sigma[1, j], r.z[j], r.w[j]
        u, l = high[j] if k2 > 0.0 else 0.0, low[j] if k3 > 0.0 else 0.0
        f = q[j] / (z * z * z)
        zz = f * w * w + k0 + k1 + k2 * u * u + k3 * l * l
        wz = -f * w * z - k2 * u - k3 * l
        det = f * z * z * (k0 + k1) + (k0 + k1) * (k2 + k3) + (u - l) * (u - l) * k2 * k3
        if k2 > 0.0:
            det += f * k2 * r.sigma[2, j] * r.sigma[2, j]
        if k3 > 0.0:
            det += f * k3 * r.sigma[3, j] * r.sigma[3, j]
        r.inverse[j] = 1.0 / zz
        r.h[j] = wz / zz
        r.H[j, j] += det / zz
        kappa += r.inverse[j]
    for j in range(d):
        for k in range(j + 1):
            r.H[j, k] += r.h[j] * r.h[k] / kappa
    _factor(r.H, d)
    return kappa


# exempt (arguments): compiled, array by array
@inner
def _direction(A: Any, q: Any, price: Any, low: Any, high: Any, fixed: Any, budget: Any, mu: Any, kappa: Any, r: Any) -> None:
    """Compute Newton's step for the central path's weight ``mu``: Δw, Δz, Δmargin, Δα, Δλ, Δθ."""
    d, n = fixed.size, r.D.size
    for i in range(n):
        r.step[i] = r.alpha[i] + r.shift[i]
    _transposed(A, d, r.step, r.rhs)
    mean = 0.0
    for j in range(d):
        t2 = mu / r.sigma[2, j] if r.sigma[2, j] >= 0.0 else 0.0
        t3 = mu / r.sigma[3, j] if r.sigma[3, j] >= 0.0 else 0.0
        x = r.w[j] / r.z[j]
        gw = q[j] * x - r.rhs[j] + t2 - t3
        r.gz[j] = 0.0
        if not fixed[j]:
            u, l = high[j] if t2 > 0.0 else 0.0, low[j] if t3 > 0.0 else 0.0
            r.gz[j] = -0.5 * q[j] * x * x + price[j] + mu / budget - mu / r.sigma[0, j] + mu / r.sigma[1, j] - t2 * u + t3 * l
            mean += r.gz[j] * r.inverse[j]
        r.rhs[j] = -gw + r.h[j] * r.gz[j]
    for j in range(d):
        r.rhs[j] -= r.h[j] * mean / kappa
        r.dw[j] = r.rhs[j]
    _solve(r.H, d, r.dw)
    y = -mean
    for j in range(d):
        y -= r.h[j] * r.dw[j]
    y /= kappa
    total = 0.0
    for j in range(d):
        r.dz[j] = 0.0 if fixed[j] else -(r.gz[j] + y) * r.inverse[j] - r.h[j] * r.dw[j]
        total += r.dz[j]
        for k in range(4):
            s = r.sigma[k, j]
            if s < 0.0:
                continue
            if k == 0:
                g = r.dz[j]
            elif k == 1:
                g = -r.dz[j]
            elif k == 2:
                g = high[j] * r.dz[j] - r.dw[j]
            else:
                g = r.dw[j] - low[j] * r.dz[j]
            r.dlam[k, j] = mu / s - r.lam[k, j] - r.lam[k, j] / s * g
    r.theta[1] = mu / budget - r.theta[0] + r.theta[0] / budget * total
    _products(A, d, r.dw, r.step)


@inner
def _point_steps(kind: Any, cost: Any, mu: Any, r: Any) -> None:
    """Compute Δα, Δξ and Δslack from Δmargin."""
    for i in range(cost.size):
        da = r.shift[i] - r.D[i] * r.step[i]
        r.turn[i] = da
        if kind == _HINGE:
            r.dx[i] = mu / r.beta[i] - r.excess[i] + r.excess[i] / r.beta[i] * da
        elif kind == _SQUARED:
            r.dx[i] = 0.5 * (r.alpha[i] + da) / cost[i] - r.excess[i]


@inner
def _shorten(a: Any, x: Any, dx: Any) -> Any:
    """Return the step, short enough that x + a dx keeps a share of x."""
    return -_STEP * x / dx if a * dx < -_STEP * x else a


@inner
def _length(kind: Any, low: Any, high: Any, fixed: Any, budget: Any, r: Any) -> Any:
    """Return the longest step, up to 1, that stays inside."""
    a, total = 1.0, 0.0
    for j in range(fixed.size):
        dz, dw = r.dz[j], r.dw[j]
        total += dz
        if not fixed[j]:
            a = _shorten(_shorten(a, r.z[j], dz), 1.0 - r.z[j], -dz)
        if r.sigma[2, j] >= 0.0:
            a = _shorten(a, r.sigma[2, j], high[j] * dz - dw)
        if r.sigma[3, j] >= 0.0:
            a = _shorten(a, r.sigma[3, j], dw - low[j] * dz)
        for k in range(4):
            if r.sigma[k, j] >= 0.0:
                a = _shorten(a, r.lam[k, j], r.dlam[k, j])
    a = _shorten(_shorten(a, budget, -total), r.theta[0], r.theta[1])
    if kind == _LOGISTIC:
        return a
    for i in range(r.alpha.size):
        a = _shorten(_shorten(a, r.alpha[i], r.turn[i]), r.slack[i], r.step[i] + r.dx[i])
        if kind == _HINGE:
            a = _shorten(_shorten(a, r.beta[i], -r.turn[i]), r.excess[i], r.dx[i])
    return a


@inner
def _advance(kind: Any, cost: Any, d: Any, a: Any, r: Any) -> None:
    """Take the step of length a."""
    for j in range(d):
        r.w[j] += a * r.dw[j]
        r.z[j] += a * r.dz[j]
        for k in range(4):
            r.lam[k, j] += a * r.dlam[k, j]
    r.theta[0] += a * r.theta[1]
    for i in range(cost.size):
        r.margin[i] += a * r.step[i]
        if kind == _LOGISTIC:
            r.alpha[i] = cost[i] / (1.0 + math.exp(r.margin[i]))
            continue
        r.alpha[i] += a * r.turn[i]
        r.excess[i] += a * r.dx[i]
        r.slack[i] = r.slack[i] + a * (r.step[i] + r.dx[i])
        r.beta[i] = r.beta[i] - a * r.turn[i]


@inner
def _average(kind: Any, fixed: Any, budget: Any, r: Any) -> Any:
    """Return the mean product of slacks and multipliers."""
    total, pairs = budget * r.theta[0], 1
    for j in range(fixed.size):
        for k in range(4):
            if r.sigma[k, j] >= 0.0:
                total += r.sigma[k, j] * r.lam[k, j]
                pairs += 1
    if kind != _LOGISTIC:
        for i in range(r.alpha.size):
            total += r.slack[i] * r.alpha[i]
            if kind == _HINGE:
                total += r.excess[i] * r.beta[i]
        pairs += r.alpha.size * (2 if kind == _HINGE else 1)
    return total / pairs


@inner
def _primal(kind: Any, cost: Any, q: Any, price: Any, r: Any) -> Any:
    """Return the relaxation's value at w and z."""
    total = 0.0
    for i in range(cost.size):
        total += cost[i] * _loss(kind, r.margin[i])
    for j in range(q.size):
        total += 0.5 * q[j] * r.w[j] * r.w[j] / r.z[j] + price[j] * r.z[j]
    return total


@inner
def _rest(fixed: Any, count: Any, r: Any) -> Any:
    """Return ``count`` - Σz over the features that are not fixed."""
    budget = 1.0 * count
    for j in range(fixed.size):
        if not fixed[j]:
            budget -= r.z[j]
    return budget


# exempt (arguments): compiled, array by array
@entry
def relax(A: Any, cost: Any, kind: Any, q: Any, price: Any, low: Any, high: Any, fixed: Any, count: Any, cut: Any, tol: Any,
          share: Any, max_steps: Any, r: Any) -> Any:  # fmt: skip
    """Solve the relaxation of d features in the workspace r; return the number of steps, at most ``max_steps``.

    It ends when the dual value reaches ``cut``, when the gap is at most ``tol`` times the primal value or, if the primal value is
    below ``cut``, at most ``share`` times the distance between these. Solution and best multipliers are ``r.w``, ``r.z`` and
    ``r.best``. ``cost``, ``q``, ``price``, ``low`` and ``high`` are c, q, π, l and u; ``kind`` is the number of a `LinearLoss`.

    Parameters
    ----------
    A : ndarray (d, n)
        Signed rows by feature.
    fixed : ndarray of bool (d,)
        Features with z_j = 1.
    count : int
        Largest sum of z over the other features, ≥ 1.
    """
    d, n = fixed.size, cost.size
    _begin(A, cost, kind, low, high, fixed, count, r)
    _sides(low, high, fixed, r)
    budget = _rest(fixed, count, r)
    mu = 1.0
    if kind != _LOGISTIC:
        mu = 0.0
        for i in range(n):
            mu += r.slack[i] * r.alpha[i] / n
    for j in range(d):
        for k in range(4):
            r.lam[k, j] = mu / r.sigma[k, j] if r.sigma[k, j] >= 0.0 else 0.0
    r.theta[0] = mu / budget
    r.value[1], a = -math.inf, 0.0
    for iteration in range(max_steps):
        _transposed(A, d, r.alpha, r.v)
        dual, primal = _dual(kind, cost, q, price, low, high, fixed, count, r), _primal(kind, cost, q, price, r)
        r.value[0] = primal
        if dual >= r.value[1]:
            r.value[1] = dual
            for i in range(n):
                r.best[i] = r.alpha[i]
        gap = primal - r.value[1]
        if r.value[1] >= cut or gap <= tol * abs(primal) or gap <= share * (cut - primal):
            return iteration
        mu = _average(kind, fixed, budget, r) * (0.08 if a > 0.9 else 0.2 if a > 0.6 else 0.5)
        if mu < 1e-300:
            return iteration
        _weights(kind, cost, mu, r)
        kappa = _matrix(A, q, low, high, fixed, budget, r)
        _direction(A, q, price, low, high, fixed, budget, mu, kappa, r)
        _point_steps(kind, cost, mu, r)
        a = _length(kind, low, high, fixed, budget, r)
        _advance(kind, cost, d, a, r)
        _sides(low, high, fixed, r)
        budget = _rest(fixed, count, r)
    return max_steps
