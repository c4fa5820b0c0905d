"""The state of Newton's method on a linear classifier."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from ...models.arrays import FloatArray
from ...models.views import LinearProblem
from ..records.trace import relative_gap
from .loops import weigh

__all__ = ["LinearState"]


@dataclass(eq=False)
class LinearState:
    """w with its margins u, the multipliers a that the smoothing leans on, the weights α that follow, and the best of both."""

    problem: LinearProblem
    tol: float
    room: float  #: bytes of a block of rows
    w: FloatArray
    sigma: float
    limit: int
    model: FloatArray | None = None  #: second derivatives of a sample, as long as they serve
    full: bool = False  #: the last step went as far as second derivatives say, and the next one is expected to
    u: FloatArray = field(init=False)
    a: FloatArray = field(init=False)
    alpha: FloatArray = field(init=False)
    best_alpha: FloatArray = field(init=False)
    best_w: FloatArray = field(init=False)
    sums: FloatArray = field(init=False)  #: of `weigh`
    gradient: FloatArray = field(init=False)
    best_primal: float = float("inf")
    best_dual: float = float("-inf")
    dual: float = float("-inf")  #: at the current α
    residual: float = float("inf")  #: ||gradient||²/(4μ), part of the gap
    hidden: float = 0.0  #: the other part, what the smoothing hides
    inner: int = 0  #: steps since the multipliers changed
    steps: int = 0
    passes: int = 0
    stale: int = 0
    trials: int = 0  #: times that the gap was within the tolerance
    idle: int = 0  #: steps that did not halve the residual
    previous: float = float("inf")  #: residual before the last step
    before: float = float("inf")
    seen: bool = False  #: gradient and dual value are those of the current α

    def __post_init__(self) -> None:
        n = self.problem.n
        self.u, self.a, self.alpha, self.best_alpha = (np.zeros(n) for _ in range(4))
        self.sums = np.zeros(3)
        self.best_w, self.gradient = self.w, np.zeros(self.w.size)

    @property
    def gap(self) -> float:
        """Relative, between the best of both."""
        return relative_gap(self.best_primal, self.best_dual)

    def evaluate(self) -> None:
        """α and the sums at the margins; the objective's best."""
        view = self.problem
        costs = view.least_costs
        weigh(self.u, self.a, costs, int(costs.size > 1), self.sigma, view.power == 2, self.alpha, self.sums)
        self.seen = False
        primal = view.mu * float(self.w @ self.w) + float(self.sums[0])
        if primal < self.best_primal:
            self.best_primal, self.best_w = primal, self.w

    def see(self, v: FloatArray | None) -> None:
        """Gradient and dual value from v = Σ α_i y_i x_i; without v, α = 0."""
        mu = self.problem.mu
        if v is None:
            self.best_dual = max(self.best_dual, 0.0)
            return
        self.passes += 1
        self.seen = True
        self.gradient = 2.0 * mu * self.w - v
        self.residual = float(self.gradient @ self.gradient) / (4.0 * mu)
        dual = self.dual = float(self.sums[1]) - float(v @ v) / (4.0 * mu)
        primal = mu * float(self.w @ self.w) + float(self.sums[0])
        self.hidden = max(primal - dual - self.residual, 0.0)
        if dual > self.best_dual:
            self.best_dual = dual
            self.best_alpha[:] = self.alpha

    def ends_at(self, w: FloatArray, primal: float) -> bool:
        """Return whether the gap of w and the current α is within the tolerance; they are then the answer."""
        if relative_gap(primal, self.dual) > self.tol:
            return False
        self.best_w, self.best_primal, self.best_dual = w, primal, self.dual
        self.best_alpha[:] = self.alpha
        return True

    def settled(self, share: float) -> bool:
        """Return whether more Newton steps at these multipliers would gain little: the smoothing hides most of the gap."""
        return self.inner > 0 and (self.residual <= share * self.hidden or self.residual <= 1e-14 * abs(self.best_primal))

    def weights(self, part: slice, du: FloatArray) -> FloatArray:
        """α of a range of points after their margins have grown by du."""
        costs = self.problem.least_costs
        c = costs if costs.size == 1 else costs[part]
        r = 1.0 - (self.u[part] + du)
        if self.problem.power == 2:
            return np.asarray(2.0 * c * np.maximum(r, 0.0))
        return np.clip(self.a[part] + self.sigma * r, 0.0, c)

    def curved(self, part: slice) -> FloatArray:
        """Second derivatives of the points' losses in their margins."""
        view = self.problem
        costs = view.least_costs
        c = costs if costs.size == 1 else costs[part]
        r = 1.0 - self.u[part]
        if view.power == 2:
            return np.where(r > 0.0, 2.0 * c, 0.0)
        z = self.a[part] + self.sigma * r
        return np.where((z > 0.0) & (z < c), self.sigma, 0.0)
