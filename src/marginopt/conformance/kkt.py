"""The optimality conditions in the documented signs, from a form's data and a result's numbers alone.

Written from the definitions: the projections and residuals of `models.program.cones`, which the certificates use, are not used
here, so that an error there does not hide itself.
"""

from __future__ import annotations

import functools
from collections.abc import Iterator

import numpy as np

from ..models.arrays import FloatArray
from ..models.program.cones import PSD, Cone, Nonnegative, RotatedSecondOrder, SecondOrder, Zero
from ..models.program.exponential_cones import Exponential, Power
from ..models.program.form import Constraint, StandardForm
from ..models.program.svec import smat
from ..solvers.certification.result import Result

__all__ = ["broken_conditions", "outside"]


@functools.singledispatch
def outside(cone: Cone, v: FloatArray) -> float:
    """Violation of a cone by v, from the cone's definition."""
    raise NotImplementedError(f"no definition of {type(cone).__name__} is written here")


@outside.register
def _(cone: Zero, v: FloatArray) -> float:
    return float(np.abs(v).max(initial=0.0))


@outside.register
def _(cone: Nonnegative, v: FloatArray) -> float:
    return float(np.maximum(-v, 0.0).max(initial=0.0))


@outside.register
def _(cone: SecondOrder, v: FloatArray) -> float:
    rows = v.reshape(cone.count, cone.dim)
    return float(np.maximum(np.linalg.norm(rows[:, 1:], axis=1) - rows[:, 0], 0.0).max(initial=0.0))


@outside.register
def _(cone: RotatedSecondOrder, v: FloatArray) -> float:
    rows = v.reshape(cone.count, cone.dim)
    a, b, c = rows[:, 0], rows[:, 1], rows[:, 2:]
    norm = np.sqrt((c * c).sum(axis=1) + 0.5 * (a - b) ** 2)  # 2ab ≥ ||c||² is ||(c, (a-b)/√2)|| ≤ (a+b)/√2
    return float(np.maximum(norm - (a + b) / np.sqrt(2), 0.0).max(initial=0.0))


@outside.register
def _(cone: PSD, v: FloatArray) -> float:
    return max((float(-np.linalg.eigvalsh(smat(row)).min()) for row in v.reshape(cone.count, cone.dim)), default=0.0)


@outside.register
def _(cone: Exponential, v: FloatArray) -> float:
    x, y, z = v.reshape(cone.count, 3).T
    with np.errstate(all="ignore"):
        value = np.where(y > 0.0, y * np.exp(x / y), np.where(x > 0.0, np.inf, 0.0))
    # a point of the cone at that distance or nearer: z raised, or the point of the face y = 0
    face = np.maximum(np.maximum(x, 0.0), np.maximum(np.abs(y), np.maximum(-z, 0.0)))
    return float(np.minimum(np.maximum(np.maximum(value - z, -y), 0.0), face).max(initial=0.0))


@outside.register
def _(cone: Power, v: FloatArray) -> float:
    x, y, z = v.reshape(cone.count, 3).T
    value = np.maximum(x, 0.0) ** cone.alpha * np.maximum(y, 0.0) ** (1.0 - cone.alpha)
    return float(np.maximum(np.maximum(np.abs(z) - value, 0.0), np.maximum(-x, -y)).max(initial=0.0))


def broken_conditions(form: StandardForm, result: Result, tol: float) -> list[str]:
    """Return the broken conditions of a point and its multipliers, with the figures; empty where they are optimal to ``tol``.

    Lagrangian f(x) - Σ<z_k, F_k x + g_k> - <ζ, x>: P x + q = ΣF_k'z_k + ζ, F_k x + g_k in K_k, z_k in K_k*, complementarity,
    ζ_j ≥ 0 where only the lower bound can be active, ≤ 0 where only the upper one can. The cones are self-dual, but for {0} and
    those with a ``dual_map``.

    Parameters
    ----------
    form : StandardForm
        Without integers and indicators.
    result : Result
        With multipliers.
    tol : float
        Relative to the sizes of what is compared.
    """
    if result.multipliers is None:
        return ["there are no multipliers"]
    x = form.join(result.values)
    zeta = np.zeros(form.n) if result.reduced is None else form.join(result.reduced)
    gradient = form.q.copy()
    if form.quadratic is not None:
        gradient = gradient + form.quadratic.materialised @ x
    scale = 1.0 + float(np.abs(gradient).max(initial=0.0)) + abs(form.objective(x))
    broken: list[str] = []
    residual = gradient - zeta
    for c in form.constraints:
        z = np.asarray(result.multipliers[c.label])
        broken += _constraint(c, x, z, tol, scale)
        residual = residual - c.F.T @ z
    worst = float(np.abs(residual).max(initial=0.0))
    if not worst <= tol * scale:
        broken.append(f"stationarity fails by {worst:.2e}, allowed {tol * scale:.1e}")
    return broken + list(_bounds(form, x, zeta, tol, scale))


def _constraint(c: Constraint, x: FloatArray, z: FloatArray, tol: float, scale: float) -> Iterator[str]:
    value = np.asarray(c.F @ x + c.g)
    size = 1.0 + max(float(np.abs(value).max(initial=0.0)), float(np.abs(z).max(initial=0.0)))
    off = outside(c.cone, value)
    if not off <= tol * size:
        yield f"{c.label} is violated by {off:.2e}, allowed {tol * size:.1e}"
    mapped = z if c.cone.dual_map is None else (z.reshape(c.cone.count, c.cone.dim) @ c.cone.dual_map.T).ravel()
    off = 0.0 if isinstance(c.cone, Zero) else outside(c.cone, mapped)  # the dual of {0} is everything
    if not off <= tol * size:
        yield f"the multipliers of {c.label} leave the dual cone by {off:.2e}, allowed {tol * size:.1e}"
    product = abs(float(z @ value))
    if not product <= tol * scale * size:
        yield f"{c.label} is not complementary: {product:.2e}, allowed {tol * scale * size:.1e}"


def _bounds(form: StandardForm, x: FloatArray, zeta: FloatArray, tol: float, scale: float) -> Iterator[str]:
    for side, bound, price in (("lower", form.lower, np.maximum(zeta, 0.0)), ("upper", form.upper, np.maximum(-zeta, 0.0))):
        finite = np.isfinite(bound)
        free = float(price[~finite].max(initial=0.0))
        if not free <= tol * scale:
            yield f"a {side} bound that is not there has a price of {free:.2e}"
        slack = np.abs(x - np.where(finite, bound, x))
        product = float((price * slack).max(initial=0.0))
        limit = tol * scale * (1.0 + float(slack.max(initial=0.0)))
        if not product <= limit:
            yield f"a {side} bound is not complementary: {product:.2e}, allowed {limit:.1e}"
    off = float(np.maximum(form.lower - x, x - form.upper).max(initial=0.0))
    if not (off <= tol * (1.0 + np.abs(x).max(initial=0.0))):
        yield f"a bound is violated by {off:.2e}"
