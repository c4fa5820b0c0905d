"""The 2 × 2 semidefinite cones of all points: scaling, step lengths and complementarity in closed form.

Point i requires q z ≥ ρ², i.e. [q ρ; ρ z] ⪰ 0, with dual [γ δ/2; δ/2 β] ⪰ 0. Arrays hold one entry per point; a stack of
symmetric matrices is the triple (11, 22, 12). For 2 × 2 matrices all formulas are algebraic, without loops or eigenvalue
routines.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ...models.arrays import FloatArray

__all__ = ["PointScaling", "Sym2", "max_step"]


class Sym2(NamedTuple):
    """A stack of symmetric 2 × 2 matrices [a c; c b]."""

    a: FloatArray
    b: FloatArray
    c: FloatArray

    def det(self) -> FloatArray:
        """Return ab - c²."""
        return self.a * self.b - self.c * self.c

    def dot(self, other: Sym2) -> FloatArray:
        """Return tr(S Y) for each point."""
        return self.a * other.a + self.b * other.b + 2.0 * self.c * other.c

    def plus(self, other: Sym2, t: float) -> Sym2:
        """Return S + tY."""
        return Sym2(self.a + t * other.a, self.b + t * other.b, self.c + t * other.c)

    def inside(self) -> bool:
        """Return True if every matrix is positive definite."""
        return bool((self.a > 0).all() and (self.b > 0).all() and (self.det() > 0).all())


def max_step(S: Sym2, D: Sym2) -> float:
    """Return the largest t (or ∞) with S + tD ⪰ 0 for every point, from the smaller root of det(D - xS) = 0."""
    det = S.det()
    b = S.a * D.b + S.b * D.a - 2.0 * S.c * D.c
    c = D.det()
    root = np.sqrt(np.maximum(b * b - 4.0 * det * c, 0.0))
    # x_min = (b - root)/(2 det), written without cancellation for b > 0
    with np.errstate(divide="ignore", invalid="ignore"):
        smallest = np.where(b > 0.0, 2.0 * c / (b + root), (b - root) / (2.0 * det))
    worst = float(np.nanmin(smallest, initial=0.0))
    return np.inf if worst >= 0.0 else -1.0 / worst


class PointScaling:
    """The Nesterov-Todd scaling Θ_i = S_i # Y_i⁻¹ (so Θ Y Θ = S) of every point, Θ = GG' with G lower triangular."""

    def __init__(self, S: Sym2, Y: Sym2) -> None:
        det_s, det_y = np.sqrt(S.det()), np.sqrt(Y.det())
        # Θ = √(α/y)·M/√det M with M = S/α + adj(Y)/y, det M = 2 + tr(SY)/(αy), without cancellation
        factor = np.sqrt(det_s / det_y) / np.sqrt(2.0 + S.dot(Y) / (det_s * det_y))
        self.theta = Sym2(
            factor * (S.a / det_s + Y.b / det_y), factor * (S.b / det_s + Y.a / det_y), factor * (S.c / det_s - Y.c / det_y)
        )
        self.det = det_s / det_y
        self.g1 = np.sqrt(self.theta.a)
        self.g2 = self.theta.c / self.g1
        self.g3 = np.sqrt(self.det) / self.g1
        self.S, self.Y = S, Y
        self.scaled = self.scale_dual(Y)  # Λ = G'YG = G⁻¹SG⁻ᵀ
        self._det = det_s * det_y
        self._trace = self.scaled.a + self.scaled.b

    def scale_dual(self, Y: Sym2) -> Sym2:
        """Return G'YG."""
        g1, g2, g3 = self.g1, self.g2, self.g3
        return Sym2(g1 * g1 * Y.a + 2.0 * g1 * g2 * Y.c + g2 * g2 * Y.b, g3 * g3 * Y.b, g3 * (g1 * Y.c + g2 * Y.b))

    def scale_primal(self, S: Sym2) -> Sym2:
        """Return G⁻¹SG⁻ᵀ."""
        i1, i3 = 1.0 / self.g1, 1.0 / self.g3
        k = -self.g2 * i1 * i3  # G⁻¹ = [i1 0; k i3]
        return Sym2(i1 * i1 * S.a, k * k * S.a + 2.0 * k * i3 * S.c + i3 * i3 * S.b, i1 * (k * S.a + i3 * S.c))

    def _unscale_primal(self, R: Sym2) -> Sym2:
        """Return GRG'."""
        g1, g2, g3 = self.g1, self.g2, self.g3
        return Sym2(g1 * g1 * R.a, g2 * g2 * R.a + 2.0 * g2 * g3 * R.c + g3 * g3 * R.b, g1 * (g2 * R.a + g3 * R.c))

    def _unscale_dual(self, R: Sym2) -> Sym2:
        """Return G⁻ᵀRG⁻¹."""
        i1, i3 = 1.0 / self.g1, 1.0 / self.g3
        k = -self.g2 * i1 * i3
        return Sym2(i1 * i1 * R.a + 2.0 * i1 * k * R.c + k * k * R.b, i3 * i3 * R.b, i3 * (i1 * R.c + k * R.b))

    def target(self, centre: float, dS: Sym2 | None = None, dY: Sym2 | None = None) -> tuple[Sym2, Sym2]:
        """Return R and P = ΘRΘ of the step equations dY + Θ⁻¹dSΘ⁻¹ = R, dS + ΘdYΘ = P.

        They are equivalent to Λ∘(Λ + dS̃ + dỸ) = centre·I - dS̃∘dỸ, the last term only if given. P is not computed from R, since
        the entries of Θ are of order 1/√ν and those of P are small.
        """
        zero = np.zeros_like(self.g1)
        right = Sym2(zero + centre, zero + centre, zero)
        if dS is not None and dY is not None:
            s, y = self.scale_primal(dS), self.scale_dual(dY)
            right = Sym2(
                centre - s.a * y.a - s.c * y.c,
                centre - s.b * y.b - s.c * y.c,
                -0.5 * (s.a * y.c + s.c * y.b + y.a * s.c + y.c * s.b),
            )
        scaled = self._lyapunov(right)
        return self._unscale_dual(scaled).plus(self.Y, -1.0), self._unscale_primal(scaled).plus(self.S, -1.0)

    def _lyapunov(self, Q: Sym2) -> Sym2:
        """Return the X with ½(ΛX + XΛ) = Q: X = (det Λ·Q + adj Λ·Q·adj Λ)/(det Λ·tr Λ)."""
        a, b, c = self.scaled
        scale = 1.0 / (self._det * self._trace)
        # adj Λ = [b -c; -c a]
        aa = b * b * Q.a - 2.0 * b * c * Q.c + c * c * Q.b
        bb = c * c * Q.a - 2.0 * a * c * Q.c + a * a * Q.b
        ab = -b * c * Q.a + (a * b + c * c) * Q.c - a * c * Q.b
        return Sym2(scale * (self._det * Q.a + aa), scale * (self._det * Q.b + bb), scale * (self._det * Q.c + ab))
