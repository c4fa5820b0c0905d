"""Dual coordinate descent with shrinking on sparse rows in memory, before Newton steps (Hsieh et al. 2008).

A coordinate takes one row: on wide sparse rows an epoch costs a pass, and a few dozen epochs end where Newton steps need hundreds
of products. w = Σ α_i y_i x_i/(2μ) is kept with α, so a look at the gap is one more pass.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ...models.arrays import FloatArray, IntArray, row_norms_squared
from ...models.views import LinearLoss, LinearProblem
from ...rows import MemoryRows
from .loops import descend

#: Epochs after which Newton steps take over, and growth of the epochs from one look at the gap to the next.
_EPOCHS, _GROWTH = 300, 1.25


@dataclass(eq=False)
class CoordinateDescent:
    """α and w of coordinate descent on a hinge or its square; ``order[:active]`` are the points that take part."""

    problem: LinearProblem
    rows: tuple[FloatArray, IntArray, IntArray]  #: CSR
    squares: FloatArray
    alpha: FloatArray
    w: FloatArray
    order: IntArray
    rng: np.random.Generator
    numbers: FloatArray  #: active points; largest and smallest projected gradient of the last epoch
    epochs: int = 0
    next_look: int = 2

    @classmethod
    def of(cls, problem: LinearProblem, rng: np.random.Generator) -> CoordinateDescent | None:
        """Return descent from α = 0; None for dense rows, rows on disk, and the logistic loss."""
        rows, smooth = problem.rows, problem.loss is LinearLoss.LOGISTIC
        if smooth or problem.free or not isinstance(rows, MemoryRows) or isinstance(rows.X, np.ndarray):
            return None
        n, p = rows.shape
        X, numbers = (rows.X.data, rows.X.indices, rows.X.indptr), np.array([n, np.inf, -np.inf])
        return cls(problem, X, row_norms_squared(rows.X), np.zeros(n), np.zeros(p), np.arange(n), rng, numbers)

    def epoch(self) -> bool:
        """Take a step on each active coordinate; return whether it is time to look at the gap."""
        view = self.problem
        active = int(self.numbers[0])
        self.order[:active] = self.rng.permutation(self.order[:active])
        costs = view.least_costs
        parameters = np.array([0.5 / view.mu, float(view.loss is LinearLoss.SQUARED_HINGE)])
        X, points = self.rows, (view.y, costs, self.squares)
        descend(X, points, self.alpha, self.w, self.order, self.numbers, parameters)
        self.epochs += 1
        if self.epochs < self.next_look and self.numbers[0] > 0:
            return False
        self.next_look = self.epochs + max(1, int((_GROWTH - 1.0) * self.epochs))
        self.numbers[:] = self.alpha.size, np.inf, -np.inf
        return True

    @property
    def over(self) -> bool:
        """Return whether Newton steps are to take over."""
        return self.epochs >= _EPOCHS
