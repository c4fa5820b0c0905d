"""Perspective cuts of the 0-1 loss: linearisations of the hull of a point's margin and its binary variable.

The form minimises scale ||w||² and the costs, with an epigraph variable τ ≥ scale ||w||². Let γ be in Γ, that is
S = Σ γ_i a_i a_i' with I - S ⪰ 0, Conic (13), and u_i = a_i'w. Then

    ||w||² = w'(I - S)w + Σ γ_i u_i²,

the first term is convex and lies above its tangent at any w̄, and for every t

    u_i² ≥ 2t u_i - t²                           (t ≥ 1: the tangent),
    u_i² ≥ 1 - 2t + 2t u_i - (1 - t)² z_i        (t ≤ 1)

at every point with z_i = 1, or with z_i = 0 and u_i ≥ 1. *Proof.* z_i = 1: the right-hand side is 2t u_i - t², and
(u_i - t)² ≥ 0. z_i = 0: the difference is (u_i - t)² - (1 - t)², and u_i - t ≥ 1 - t ≥ 0. At t = (u_i - 1 + z_i)/z_i this is
the tangent of the hull of both cases (1 - z + (u - 1 + z)²/z for u < 1): the cone of the strengthened encoding, without its
variables. So τ is at least

    scale [2w̄'(I - S)w - w̄'(I - S)w̄ + Σ γ_i (the line of t_i)],

a linear row that no feasible point violates. It is added if the relaxation violates it. γ is that of the conic relaxation, Conic
(23) by `conic-ipm` at the mean cost, projected into Γ.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from ...errors import InputError, MarginoptWarning
from ...models.arrays import FloatArray, IntArray
from ...models.conic_dual.bound import repair_gamma
from ...models.formulations.conic.model import ConicSVM
from ...models.model import Model
from ...models.program.form import StandardForm
from ...models.views import ZeroOneProblem
from ..conic.ipm import ConicIPM
from ..records.options import Options
from .priced_cuts import price_of
from .separator import Cut, Separator

__all__ = ["PerspectiveCuts"]

#: Least violation, relative to the epigraph's value; least t, which bounds the coefficients of z.
_LEAST_VIOLATION, _LEAST_T = 1e-4, -20.0
#: Allowance for rounding in the coefficients, relative to the terms.
_ROUNDING = 1e-11


@dataclass(frozen=True, eq=False)
class PerspectiveCuts(Separator):
    """The separator of perspective cuts for one model.

    Parameters
    ----------
    A : ndarray (n, p)
        Signed rows a_i.
    gamma : ndarray (n,)
        Multipliers in Γ.
    rest : ndarray (p, p)
        I - Σ γ_i a_i a_i'.
    label : str
        Label of the form's block of z.
    scale : float
        Ratio of the form's objective to that of the problem.
    """

    kind: ClassVar[str] = "perspective"
    lazy: ClassVar[bool] = False
    epigraph: ClassVar[bool] = True

    A: FloatArray
    gamma: FloatArray
    rest: FloatArray
    label: str
    scale: float

    @classmethod
    def of(cls, model: Model, problem: ZeroOneProblem) -> PerspectiveCuts:
        """Return the separator of a 0-1 loss problem whose form has w, z and the Hessian 2·scale·I.

        Raises
        ------
        InputError
            The intercept is free, or the form has another objective (the strengthened encoding contains these rows as cones).
        """
        label, scale = price_of(model, problem, "perspective")
        if not problem.penalised.all():
            raise InputError("cuts='perspective' needs every coefficient in the norm; a free intercept has no curvature to share")
        form = model.form
        P = None if form.quadratic is None else form.quadratic.materialised
        w = form.slices.get("w")
        expected_diagonal = np.zeros(form.n)
        expected_diagonal[w if w is not None else slice(0, 0)] = 2.0 * scale
        if P is None or w is None or abs(P - np.diag(expected_diagonal)).max() > 1e-12 * scale:
            raise InputError(
                f"cuts='perspective' needs the objective ||w||² and costs of z; that of {model.name} has other terms"
            )
        gamma = repair_gamma(problem.A, _gamma(problem), margin=1e-8)
        remainder = np.eye(problem.A.shape[1]) - (problem.A * gamma[:, None]).T @ problem.A
        return cls(problem.A, gamma, 0.5 * (remainder + remainder.T), label, scale)

    def places(self, form: StandardForm) -> IntArray:
        """Return the indices of w, z and the epigraph variable in the solver's form."""
        slices = [form.slices[label] for label in ("w", self.label, "epigraph")]
        return np.concatenate([np.arange(block.start, block.stop) for block in slices])

    def cuts(self, x: FloatArray, known: float) -> list[Cut]:
        """Return the row of the module's docstring at w̄ and z̄ if τ violates it."""
        n, p = self.A.shape
        w, z, tau = x[:p], np.clip(x[p : p + n], 0.0, 1.0), float(x[-1])
        u = self.A @ w
        with np.errstate(divide="ignore", invalid="ignore"):
            t = np.where(u >= 1.0, u, np.maximum(np.where(z > 0.0, (u - 1.0 + z) / z, 1.0), _LEAST_T))
        low = t <= 1.0
        slope, constant = self.rest @ w, np.where(low, 1.0 - 2.0 * t, -t * t)
        w_coefficients = self.scale * (2.0 * slope + self.A.T @ (2.0 * self.gamma * t))
        z_coefficients = -self.scale * self.gamma * np.where(low, (1.0 - t) ** 2, 0.0)
        terms = self.gamma * constant
        right_side = self.scale * (float(terms.sum()) - float(w @ slope))
        size = self.scale * (float(np.abs(terms).sum()) + abs(float(w @ slope))) + float(np.abs(w_coefficients) @ np.abs(w))
        right_side -= _ROUNDING * (size + float(np.abs(z_coefficients).sum()))
        if float(w_coefficients @ w + z_coefficients @ z) + right_side - tau <= _LEAST_VIOLATION * max(
            abs(tau), 1e-3 * self.scale
        ):
            return []
        return [Cut(np.arange(x.size), np.concatenate([-w_coefficients, -z_coefficients, [1.0]]), right_side)]


def _gamma(problem: ZeroOneProblem) -> FloatArray:
    """Return γ of the conic relaxation. The rows are signed already, so any labels serve."""
    y = np.where(np.arange(len(problem.A)) % 2 == 0, 1.0, -1.0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", MarginoptWarning)
        model = ConicSVM(problem.A * y[:, None], y, lam=float(problem.weights.mean()))
        answer = ConicIPM().run(model, Options(tol=1e-6))
    hull = None if answer.multipliers is None else answer.multipliers.get("hull")
    if hull is None:
        raise InputError("cuts='perspective': the conic relaxation gave no gamma; scale the data")
    return np.maximum(np.asarray(hull, dtype=np.float64), 0.0)
