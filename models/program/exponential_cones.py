"""Exponential and power cones of three rows each, whose membership is decided with proved error bounds.

    Exponential   cl {(x, y, z) : y > 0, y e^{x/y} ≤ z}                  rows as in CVXPY, Clarabel, SCS and MathOptFormat
    Power(α)      {(x, y, z) : x^α y^{1-α} ≥ |z|, x ≥ 0, y ≥ 0}          0 < α < 1

MOSEK and CBF write the rows of the exponential cone the other way round. Neither cone is its own dual, and each dual is a linear
image of the cone, K* = {v : D v in K}:

    Exponential*  cl {(u, v, w) : u < 0, -u e^{v/u - 1} ≤ w},   D (u, v, w) = (u - v, -u, w)
    Power(α)*     {(u, v, w) : (u/α)^α (v/(1-α))^{1-α} ≥ |w|, u, v ≥ 0},  D (u, v, w) = (u/α, v/(1-α), w)

Membership is decided in logarithms, log z - log y ≥ x/y, which neither overflow nor underflow, with the error bounds of
`models.rounding`; u in these bounds is the unit roundoff. A projection solves one equation of one unknown: Friberg, *Projection
onto the exponential cone: a univariate root-finding problem* (2023); Hien, *Differential properties of Euclidean projection
onto power cone* (2015).
"""

from __future__ import annotations

import itertools
from abc import abstractmethod
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from ...errors import InputError
from ..arrays import BoolArray, FloatArray
from ..rounding import UNIT, exponential, logarithm
from .cones import Cone, Feature

#: Halvings of an interval of at most 1,400 (of -700 to 700), down to a rounding.
_HALVINGS = 80
#: Largest exponent of the search: e^700 is near the largest number of float64.
_LARGEST_EXPONENT = 700.0
#: Limit of quotients in error bounds, which keeps these finite, and a bound of the error of a quotient that underflows.
_HUGE, _TINY = 1e300, 1e-307
#: Distance, relative to the rows, up to which a point that differs in z alone counts as the nearest: a few roundings.
_CLOSE = 1e-15
#: Most halvings of a cube around a point until it is inside, and the corners of a cube.
_DEPTHS = 44
_CORNERS = np.array(list(itertools.product((-1.0, 1.0), repeat=3)))


@dataclass(frozen=True)
class TranscendentalCone(Cone):
    """The abstract cone of three rows (``dim`` is 3) whose membership is an inequality between logarithms."""

    dim: int = 3

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.dim != 3:
            raise InputError(f"{self.symbol} has three rows, not {self.dim}", name="dim")

    @property
    @abstractmethod
    def dual_map(self) -> FloatArray:
        """Return D with K* = {v : D v in K}."""

    def surely_inside(self, v: FloatArray) -> BoolArray:
        """Return which cones of the stack provably hold their rows; False where they are outside or too near the boundary to
        decide.
        """
        return self._decided(v, -1.0)

    def surely_inside_dual(self, z: FloatArray) -> BoolArray:
        """Return which cones' multipliers are provably in the dual cone."""
        return self._dual_decided(z, -1.0)

    def project(self, v: FloatArray) -> FloatArray:
        """Return the nearest point of every cone of the stack."""
        rows = self.by_cone(v)
        projected = np.zeros(rows.shape)
        inside, polar = self._decided(v, 0.0), self._dual_decided(-v, 0.0)
        projected[inside] = rows[inside]
        between = ~inside & ~polar
        above, short = self._straight_above(rows)
        close = between & (short <= _CLOSE * np.abs(rows).max(axis=1))
        projected[close] = above[close]
        between &= ~close
        if between.any():
            size = np.abs(rows[between]).max(axis=1)[:, None]
            with np.errstate(all="ignore"):  # at the ends of the search
                projected[between] = self._between(rows[between] / size) * size
        return projected.ravel()

    def moved_into_dual(self, v: FloatArray) -> FloatArray:
        """Return v where it is surely in the dual cone, else a point beside its projection onto the dual cone that surely is."""
        projected = self.by_cone(self.project_dual(v))
        inside = self.surely_inside_dual(v)
        return np.where(inside[:, None], self.by_cone(v), self._repaired(projected)).ravel()

    def depth(self, v: FloatArray) -> FloatArray:
        """Return half a side of a cube around each cone's rows whose corners, and so all of it, are provably inside; else 0."""
        rows, depths = self.by_cone(v), np.zeros(self.count)
        size = np.abs(rows).max(axis=1, initial=0.0)
        for halvings in range(1, _DEPTHS + 1):
            open_cones = np.flatnonzero((depths == 0.0) & (size > 0.0) & (size < np.inf))
            if not open_cones.size:
                break
            side = size[open_cones] * 2.0**-halvings
            corners = rows[open_cones][:, None, :] + side[:, None, None] * _CORNERS
            stack = replace(self, count=8 * open_cones.size)
            inside = stack.surely_inside(corners.ravel()).reshape(-1, 8).all(axis=1)
            depths[open_cones[inside]] = side[inside]
        return depths

    def dual_depth(self, z: FloatArray) -> FloatArray:
        """Return the depth of D z in the cone, divided by the norm of D."""
        image = self.by_cone(z) @ self.dual_map.T
        rounding = 8.0 * UNIT * np.abs(image).max(axis=1, initial=0.0)
        norm = float(np.linalg.norm(self.dual_map))
        return np.asarray(np.maximum(self.depth(image.ravel()) - rounding, 0.0) / norm * (1.0 - 1e-9))

    def dual_interior_direction(self, z: FloatArray) -> FloatArray:
        """Return a direction that leads into the dual cone, of the size of each cone's multipliers."""
        rows = self.by_cone(z)
        return (np.abs(rows).max(axis=1, initial=0.0)[:, None] * self._dual_directions(rows)).ravel()

    @abstractmethod
    def multipliers_of_inequalities(self, v: FloatArray, mu: FloatArray) -> FloatArray:
        """Return -∇h μ: the multipliers of the rows v of a cone stated as smooth inequalities h ≤ 0 with multipliers μ ≥ 0.

        Exponential: h = y e^{x/y} - z, one for each cone. Power: h = ±z - x^α y^{1-α}, two for each cone, with + first.
        Where the gradient is not finite, the multipliers are 0.
        """

    @abstractmethod
    def _dual_directions(self, rows: FloatArray) -> FloatArray:
        """Return a direction that leads into each dual cone, with entries -1, 0 or 1."""

    def _nearest(self, rows: FloatArray, candidates: list[FloatArray]) -> FloatArray:
        """Return for each row the nearest candidate that is surely in the dual cone; the last always is."""
        distances = []
        for candidate in candidates:
            finite = np.isfinite(candidate).all(axis=1)
            candidate[~finite] = 0.0
            certain = finite & self.surely_inside_dual(candidate.ravel())
            distances.append(np.where(certain, np.abs(candidate - rows).max(axis=1), np.inf))
        return np.asarray(np.choose(np.argmin(distances, axis=0)[:, None], candidates))

    @abstractmethod
    def _decided(self, v: FloatArray, share: float) -> BoolArray:
        """Return which cones hold their rows, with ``share`` times the error bound in favour of that: -1 proves it."""

    @abstractmethod
    def _dual_decided(self, z: FloatArray, share: float) -> BoolArray:
        """Return which dual cones hold the multipliers, with ``share`` times the error bound in favour of that."""

    @abstractmethod
    def _straight_above(self, rows: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return points of the cone that differ in z alone, and by how much; infinite where there are none."""

    @abstractmethod
    def _between(self, rows: FloatArray) -> FloatArray:
        """Return the projections of rows that are neither in the cone nor in its polar."""

    @abstractmethod
    def _repaired(self, rows: FloatArray) -> FloatArray:
        """Return multipliers that are provably in the dual cone, near ones that may miss it by a rounding."""


@dataclass(frozen=True)
class Exponential(TranscendentalCone):
    """The exponential cone cl {(x, y, z) : y > 0, y e^{x/y} ≤ z}; the closure adds {(x, 0, z) : x ≤ 0 ≤ z}. The docstring of the
    module states its dual.

    Parameters
    ----------
    dim : int
        3.
    count : int
        How many equal cones are stacked.
    """

    feature = Feature.EXPONENTIAL
    symbol = "Exponential"

    @property
    def dual_map(self) -> FloatArray:
        """Return D of K* = {v : D v in K}."""
        return np.array([[1.0, -1.0, 0.0], [-1.0, 0.0, 0.0], [0.0, 0.0, 1.0]])

    @property
    def _inward(self) -> FloatArray:
        # in the cone and in its dual: e^{-1} ≤ 1 and e^{-1 - 1} ≤ 1 with u = -1, v = 1
        return np.array([-1.0, 1.0, 1.0])

    def _decided(self, v: FloatArray, share: float) -> BoolArray:
        """Return x/y ≤ log z - log y, or x ≤ 0 = y ≤ z, with ``share`` times the error bound added on the right."""
        x, y, z = self.by_cone(v).T
        body = (y > 0.0) & (z > 0.0)
        safe = np.where(body, y, 1.0)
        margin, error = _logarithms(np.where(body, z, 1.0), safe)
        with np.errstate(over="ignore"):
            ratio = np.where(body, x, 0.0) / safe
        error = error + 2.0 * UNIT * (np.abs(margin) + np.minimum(np.abs(ratio), _HUGE)) + _TINY
        return np.where(body, margin + share * error >= ratio, (y == 0.0) & (x <= 0.0) & (z >= 0.0))

    def _dual_decided(self, z: FloatArray, share: float) -> BoolArray:
        """Return v/u - 1 ≤ log w - log(-u), or u = 0 ≤ v, w, with ``share`` times the error bound added on the right."""
        u, v, w = self.by_cone(z).T
        body = (u < 0.0) & (w > 0.0)
        safe = np.where(body, -u, 1.0)
        margin, error = _logarithms(np.where(body, w, 1.0), safe)
        with np.errstate(over="ignore"):
            ratio = -np.where(body, v, 0.0) / safe
        error = error + 4.0 * UNIT * (1.0 + np.abs(margin) + np.minimum(np.abs(ratio), _HUGE)) + _TINY
        return np.where(body, margin + 1.0 + share * error >= ratio, (u == 0.0) & (v >= 0.0) & (w >= 0.0))

    def _straight_above(self, rows: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return (x, y, max(z, y e^{x/y})) where y > 0."""
        x, y, z = rows.T
        body = y > 0.0
        safe = np.where(body, y, 1.0)
        with np.errstate(over="ignore"):
            lowest_z = np.where(body, safe * np.exp(x / safe), np.inf)
        return np.column_stack([x, y, np.maximum(lowest_z, z)]), np.maximum(lowest_z - z, 0.0)

    def _between(self, rows: FloatArray) -> FloatArray:
        """Return the nearest of three points: on the curved boundary, on the face y = 0, and with z alone raised.

        v = s (ρ, 1, e^ρ) + τ (1, 1 - ρ, -e^-ρ) with s, τ > 0 is Moreau's decomposition on the curved part; x and y give s and τ
        as functions of ρ, and z the equation s e^ρ - τ e^-ρ = z, whose left side increases where both are positive.
        """
        x, y, z = rows.T
        low, high = np.full(x.size, -_LARGEST_EXPONENT), np.full(x.size, _LARGEST_EXPONENT)
        first, second = 1.0 - y / x, x / y  # s = 0 and τ = 0
        low = np.maximum(low, np.where(x > 0.0, first, low))
        high = np.minimum(high, np.where(x < 0.0, first, high))
        high = np.minimum(high, np.where(y > 0.0, second, high))
        low = np.maximum(low, np.where(y < 0.0, second, low))
        low, high = np.minimum(low, _LARGEST_EXPONENT), np.maximum(high, -_LARGEST_EXPONENT)
        for _ in range(_HALVINGS):
            rho = 0.5 * (low + high)
            s, tau = self._shares(rho, x, y)
            below = s * np.exp(rho) - tau * np.exp(-rho) < z
            low, high = np.where(below, rho, low), np.where(below, high, rho)
        rho = 0.5 * (low + high)
        s, tau = self._shares(rho, x, y)
        # the equation gives s without cancellation where e^ρ is large
        s = np.maximum(np.where(rho > 0.0, (z + np.maximum(tau, 0.0) * np.exp(-rho)) * np.exp(-rho), s), 0.0)
        face = np.column_stack([np.minimum(x, 0.0), np.zeros(x.size), np.maximum(z, 0.0)])
        candidates = [face, np.column_stack([s * rho, s, s * np.exp(rho)]), self._straight_above(rows)[0]]
        distances = [np.linalg.norm(c - rows, axis=1) for c in candidates]
        distances = [np.where(np.isfinite(d), d, np.inf) for d in distances]
        nearest = np.argmin(distances, axis=0)
        return np.asarray(np.choose(nearest[:, None], [np.nan_to_num(c) for c in candidates]))

    @staticmethod
    def _shares(rho: FloatArray, x: FloatArray, y: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return s and τ of `_between` at ρ."""
        size = rho * rho - rho + 1.0
        return (y - (1.0 - rho) * x) / size, (x - rho * y) / size

    def multipliers_of_inequalities(self, v: FloatArray, mu: FloatArray) -> FloatArray:
        """Return μ (-e^t, (t - 1) e^t, 1), t = x/y."""
        x, y, _ = self.by_cone(v).T
        with np.errstate(all="ignore"):
            t = x / y
            z = mu[:, None] * np.column_stack([-np.exp(t), (t - 1.0) * np.exp(t), np.ones(t.size)])
        return _finite_cones(z)

    def _dual_directions(self, rows: FloatArray) -> FloatArray:
        return np.broadcast_to([0.0, 1.0, 1.0], rows.shape)

    def _repaired(self, rows: FloatArray) -> FloatArray:
        """Return the nearest of: w raised to a bound of -u e^{v/u - 1}, v to one of u (log(w/-u) + 1), and u = 0 ≤ v, w."""
        u, v, w = np.minimum(rows[:, 0], 0.0), rows[:, 1], np.maximum(rows[:, 2], 0.0)
        size = np.where(u < 0.0, -u, 1.0)
        with np.errstate(over="ignore"):
            exponent = np.clip(-v / size - 1.0, -1e6, 1e6)
            value, error = exponential(exponent + 512.0 * UNIT * (1.0 + np.abs(exponent) + np.abs(logarithm(size)[0])))
            raised = np.maximum(w, size * (value + error) * (1.0 + 8.0 * UNIT) + _TINY)
            margin, error = _logarithms(np.where(w > 0.0, w, 1.0), size)
            level = size * (2.0 * error + 8.0 * UNIT * (1.0 + np.abs(margin)) - (margin + 1.0)) + _TINY
        repaired_v = np.where(w > 0.0, np.maximum(v, level), np.inf)
        flat = np.column_stack([np.zeros(u.size), np.maximum(v, 0.0), w])
        return self._nearest(rows, [np.column_stack([u, v, raised]), np.column_stack([u, repaired_v, w]), flat])


@dataclass(frozen=True)
class Power(TranscendentalCone):
    """The power cone {(x, y, z) : x^α y^{1-α} ≥ |z|, x ≥ 0, y ≥ 0}; the docstring of the module states its dual.

    Parameters
    ----------
    dim : int
        3.
    count : int
        How many equal cones are stacked.
    alpha : float
        α, strictly between 0 and 1; the other exponent is 1 - α in exact arithmetic.
    """

    alpha: float = 0.5
    feature = Feature.POWER
    symbol = "Power"

    def __post_init__(self) -> None:
        super().__post_init__()
        if not 0.0 < self.alpha < 1.0:
            raise InputError(f"the exponent alpha of a power cone must be between 0 and 1, not {self.alpha:g}", name="alpha")

    def __str__(self) -> str:
        return f"Power(alpha {self.alpha:g})" if self.count == 1 else f"Power(alpha {self.alpha:g})^{self.count}"

    @property
    def dual_map(self) -> FloatArray:
        """Return D of K* = {v : D v in K}, each entry rounded once."""
        return np.diag([1.0 / self.alpha, 1.0 / (1.0 - self.alpha), 1.0])

    @property
    def _inward(self) -> FloatArray:
        return np.array([1.0, 1.0, 0.0])

    @cached_property
    def _scale(self) -> float:
        """Return log(α^α (1-α)^{1-α}), which the dual's inequality subtracts, within 64u: α log α and its like are ≥ -1/e."""
        return float(self._level(np.full(1, self.alpha), np.full(1, 1.0 - self.alpha), 0.0)[0][0])

    def _decided(self, v: FloatArray, share: float) -> BoolArray:
        return self._compared(v, share, 0.0)

    def _dual_decided(self, z: FloatArray, share: float) -> BoolArray:
        return self._compared(z, share, self._scale)

    def _compared(self, v: FloatArray, share: float, scale: float) -> BoolArray:
        """Return α log x + (1-α) log y - scale ≥ log|z|, or x, y ≥ 0 = z, with ``share`` times the error bound on the left."""
        x, y, z = self.by_cone(v).T
        body = (x > 0.0) & (y > 0.0) & (z != 0.0)
        level, error = self._level(np.where(body, x, 1.0), np.where(body, y, 1.0), scale)
        head, head_error = logarithm(np.where(body, np.abs(z), 1.0))
        error = error + head_error + 2.0 * UNIT * (np.abs(level) + np.abs(head)) + _TINY
        return np.where(body, level + share * error >= head, (x >= 0.0) & (y >= 0.0) & (z == 0.0))

    def _level(self, x: FloatArray, y: FloatArray, scale: float) -> tuple[FloatArray, FloatArray]:
        """Return α log x + (1-α) log y - scale of positive numbers, and the bound of its error."""
        (a, a_error), (b, b_error) = logarithm(x), logarithm(y)
        beta = 1.0 - self.alpha
        level = self.alpha * a + beta * b - scale
        size = self.alpha * np.abs(a) + beta * np.abs(b) + abs(scale)
        return level, self.alpha * a_error + beta * b_error + 8.0 * UNIT * size + (64.0 * UNIT if scale else 0.0)

    def _straight_above(self, rows: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return (x, y, z) with |z| cut to x^α y^{1-α} where x, y ≥ 0."""
        x, y, z = rows.T
        body = (x >= 0.0) & (y >= 0.0)
        level = np.where(body, np.abs(x) ** self.alpha * np.abs(y) ** (1.0 - self.alpha), -np.inf)
        return np.column_stack([x, y, np.sign(z) * np.minimum(np.abs(z), np.maximum(level, 0.0))]), np.maximum(
            np.abs(z) - level, 0.0
        )

    def _between(self, rows: FloatArray) -> FloatArray:
        """Return (½φ_x, ½φ_y, ±r) with the root r in (0, |z|) of (½φ_x)^α (½φ_y)^{1-α} = r.

        φ_t = t + √(t² + 4α_t r (|z| - r)) for t = x and y, with α_x = α and α_y = 1 - α; the sign is that of z.
        """
        x, y, z = rows.T
        head = np.abs(z)
        low, high = np.zeros(x.size), head.copy()
        for _ in range(_HALVINGS):
            r = 0.5 * (low + high)
            a, b = self._halves(x, self.alpha, r, head), self._halves(y, 1.0 - self.alpha, r, head)
            is_below = a**self.alpha * b ** (1.0 - self.alpha) > r
            low, high = np.where(is_below, r, low), np.where(is_below, high, r)
        r = 0.5 * (low + high)
        a, b = self._halves(x, self.alpha, r, head), self._halves(y, 1.0 - self.alpha, r, head)
        flat = head == 0.0
        return np.column_stack(
            [np.where(flat, np.maximum(x, 0.0), a), np.where(flat, np.maximum(y, 0.0), b), np.where(flat, 0.0, np.sign(z) * r)]
        )

    @staticmethod
    def _halves(t: FloatArray, weight: float, r: FloatArray, head: FloatArray) -> FloatArray:
        """Return ½φ_t of `_between`, computed without cancellation; ``weight`` is α_t and ``head`` |z|."""
        product = weight * r * np.maximum(head - r, 0.0)
        root = np.sqrt(t * t + 4.0 * product)
        small = np.where(root - t > 0.0, 2.0 * product / (root - t), 0.0)
        return np.where(t >= 0.0, 0.5 * (t + root), small)

    def multipliers_of_inequalities(self, v: FloatArray, mu: FloatArray) -> FloatArray:
        """Return ((μ₊ + μ₋) ∇(x^α y^{1-α}), μ₋ - μ₊), μ₊ and μ₋ the multipliers of the inequalities with +z and with -z."""
        x, y, _ = self.by_cone(v).T
        above, below = mu.reshape(-1, 2).T
        with np.errstate(all="ignore"):
            mean = x**self.alpha * y ** (1.0 - self.alpha) * (above + below)
            z = np.column_stack([self.alpha * mean / x, (1.0 - self.alpha) * mean / y, below - above])
        return _finite_cones(z)

    def _dual_directions(self, rows: FloatArray) -> FloatArray:
        return np.column_stack([np.ones((rows.shape[0], 2)), -np.sign(rows[:, 2])])

    def _repaired(self, rows: FloatArray) -> FloatArray:
        """Return the nearest of: |w| lowered to (u/α)^α (v/(1-α))^{1-α}, u or v raised until that is |w|, and w = 0."""
        u, v, head = np.maximum(rows[:, 0], 0.0), np.maximum(rows[:, 1], 0.0), np.abs(rows[:, 2])
        sign, alpha, beta = np.sign(rows[:, 2]), self.alpha, 1.0 - self.alpha
        (a, _), (b, _), (h, _) = (logarithm(np.where(t > 0.0, t, 1.0)) for t in (u, v, head))
        error = 512.0 * UNIT * (1.0 + np.abs(a) + np.abs(b) + np.abs(h))  # far more than the errors of these logarithms

        def power(level: FloatArray, share: float, usable: BoolArray, otherwise: float) -> FloatArray:
            return np.where(usable, np.maximum(exponential(level + share * error)[0], 1e-300 if share > 0.0 else 0.0), otherwise)

        lowered = np.minimum(head, power(alpha * a + beta * b - self._scale, -1.0, (u > 0.0) & (v > 0.0), 0.0))
        with np.errstate(over="ignore"):
            first = np.maximum(u, power((h + self._scale - beta * b) / alpha, 1.0 / alpha, v > 0.0, np.inf))
            second = np.maximum(v, power((h + self._scale - alpha * a) / beta, 1.0 / beta, u > 0.0, np.inf))
        w = sign * head
        candidates = [np.column_stack(c) for c in ((u, v, sign * lowered), (first, v, w), (u, second, w), (u, v, 0.0 * w))]
        return self._nearest(rows, candidates)


def _finite_cones(z: FloatArray) -> FloatArray:
    z[~np.isfinite(z).all(axis=1)] = 0.0
    return z.ravel()


def _logarithms(z: FloatArray, y: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return log z - log y, and the bound of its error."""
    (a, a_error), (b, b_error) = logarithm(z), logarithm(y)
    return a - b, a_error + b_error + UNIT * np.abs(a - b)
