"""What the projected-gradient algorithms share: a dense gradient, starts, and the answer with its multipliers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal, TypeAlias

import numpy as np

from ....errors import InputError
from ....models.arrays import FloatArray, IntArray
from ....models.memory import check_bytes
from ....models.views import SimplexQP
from ...interface.algorithm import Measure
from ...records.answer import Answer

__all__ = ["Start", "State", "answer_of", "measure_of", "start_point", "state_of"]

Start: TypeAlias = Literal["uniform", "sparse"]
#: Steps after which the gradient is computed afresh from a, so that rounding does not add up.
REFRESH = 200


@dataclass
class State:
    """a, its gradient g = Qa + c, and what is needed to step; ``members[k]`` are the indices of simplex k."""

    view: SimplexQP
    Q: FloatArray
    a: FloatArray
    g: FloatArray
    members: tuple[IntArray, ...]
    free: np.ndarray
    tol: float
    limit: float
    steps: int = 0
    step: str = ""
    extra: dict[str, FloatArray] = field(default_factory=dict)

    @property
    def objective(self) -> float:
        """½a'Qa + c'a from the gradient: ½(a'g + c'a)."""
        return 0.5 * float(self.a @ self.g + self.view.c @ self.a)

    @property
    def gap(self) -> float:
        """a'g - Σ_k min over simplex k of g."""
        return float(self.a @ self.g - sum(self.g[m].min() for m in self.members))

    @property
    def converged(self) -> bool:
        """Relative gap within the tolerance."""
        f = self.objective
        gap = self.gap
        return gap <= self.tol * max(abs(f), abs(f - gap))

    def move(self, d: FloatArray, length: float) -> None:
        """a ← a + length·d and its gradient; refreshed now and then."""
        self.a = self.a + length * d
        self.steps += 1
        support = np.flatnonzero(d)
        if self.steps % REFRESH == 0:
            self.refresh()
        elif support.size < 0.5 * d.size:
            self.g = self.g + length * (self.Q[:, support] @ d[support])
        else:
            self.g = self.g + length * (self.Q @ d)

    def refresh(self) -> None:
        """g = Qa + c anew."""
        self.g = self.Q @ self.a + self.view.c


def state_of(
    view: SimplexQP, start: Start, given: Mapping[str, FloatArray] | None, tol: float, iteration_limit: int | None
) -> State:
    """The state at the start; the n × n matrix is materialised, within the limit of memory."""
    check_bytes(8 * view.n**2, "the dense matrix that projected-gradient algorithms work on")
    Q = view.gram.dense
    members = tuple(np.flatnonzero(view.groups == k) for k in range(view.simplices))
    a = start_point(view, Q, members, start, given)
    limit = np.inf if iteration_limit is None else float(iteration_limit)
    return State(view, Q, a, Q @ a + view.c, members, a > 0, tol, limit)


def start_point(
    view: SimplexQP, Q: FloatArray, members: tuple[IntArray, ...], start: Start, given: Mapping[str, FloatArray] | None
) -> FloatArray:
    """The user's point moved into the simplices, the barycentres ("uniform", as printed), or one vertex each ("sparse")."""
    a = np.zeros(view.n)
    if given is not None and view.label in given:
        value = np.maximum(np.asarray(given[view.label], dtype=np.float64), 0.0)
        if value.shape != (view.n,) or not all(value[m].sum() > 0 for m in members):
            raise InputError(f"start[{view.label!r}] needs shape ({view.n},) and a positive entry in every simplex")
        for m in members:
            a[m] = value[m] / value[m].sum()
        return a
    for m in members:
        if start == "uniform":
            a[m] = 1.0 / m.size
        else:
            a[m[np.argmin(0.5 * np.diagonal(Q)[m] + view.c[m])]] = 1.0
    return a


def measure_of(state: State) -> Measure:
    """Objective and the bound f - gap."""
    f = state.objective
    return Measure(state.steps, f, f - state.gap, active=int(np.count_nonzero(state.a)), columns=state.view.n, step=state.step)


def answer_of(state: State) -> Answer:
    """The point on the simplices to the last bit of rounding, ν_k = min over simplex k of the gradient, ζ = g - ν ≥ 0."""
    a = np.maximum(state.a, 0.0)
    for m in state.members:
        a[m] /= a[m].sum()
    g = state.Q @ a + state.view.c
    nu = np.array([g[m].min() for m in state.members])
    return Answer(values={state.view.label: a}, multipliers={"sum": nu}, reduced=g - nu[state.view.groups])
