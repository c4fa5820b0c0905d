"""Incumbents: feasible classifiers for the 0-1 loss by rounding relaxations, then local search over the kept points."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import numpy as np

from ...errors import InputError
from ...models.arrays import BoolArray, FloatArray
from ...models.formulations.hinge import HingeSVM
from ...models.formulations.linear import dense_signed_rows
from ...models.formulations.zero_one.model import ZeroOneSVM
from ...solvers.polish import polish
from ...solvers.records.options import Options
from ...solvers.solve import solve_problem
from ..reduction import best_multiple, restated, without_warnings
from .least_norm import least_norm

__all__ = ["heuristic", "tighten"]

#: Hinge problems with weights λ/(1 - l) from which the search starts (the slope of the hinge through (l, λ) and (1, 0)).
_LOWS = (0.0, -1.0, -3.0, -10.0, -30.0)
#: A better objective must be better by this, relatively.
_GAIN = 1e-9
#: Violated points nearest to their margin that a move tries to keep.
_NEAREST = 8


def heuristic(
    model: ZeroOneSVM, rng: int | np.random.Generator = 0, rounds: int = 200, starts: Iterable[FloatArray] = ()
) -> tuple[FloatArray, float]:
    """A good classifier for the 0-1 loss and its true objective: rounding, local search, random restarts.

    Every start (the hinge path, w = 0, those given: any relaxation's ``w``) is rounded to its best multiple. Given the set of
    points kept, the w of least norm that keeps them is optimal, so the search is over sets: it drops support points, keeps a
    violated point that is near, or swaps, and takes the best improving move. Restarts take turns: the best set less a few
    random support points, and the classifier of least norm that meets the margins of up to p random points.

    Parameters
    ----------
    model : ZeroOneSVM
    rng : int or numpy Generator
        Seed of the restarts.
    rounds : int
        Restarts after the starts; 0 for none.
    starts : iterable of ndarray (p,)
        Further classifiers to begin with.

    Returns
    -------
    w : ndarray (p,)
    objective : float
        ``model.objective(w)``.

    Raises
    ------
    InputError
        rounds < 0, or a start of the wrong shape.
    """
    if not isinstance(rounds, int) or rounds < 0:
        raise InputError(f"rounds must be an integer ≥ 0; it is {rounds!r}")
    search = _Search(restated(model, M=None, upper_bound=None))
    for w in search.first_points():
        search.descend(w)
    for w in starts:
        search.descend(best_multiple(search.model, np.asarray(w, dtype=np.float64)))
    generator = np.random.default_rng(rng)
    for k in range(rounds):
        search.restart(generator) if k % 2 else search.sample(generator)
    return search.finish()


def tighten(model: ZeroOneSVM, w: FloatArray) -> ZeroOneSVM:
    """The model with the objective of a classifier w as ``upper_bound``, which tightens its valid M; a better bound that it
    has stays.

    Raises
    ------
    InputError
        w has the wrong shape or is not finite.
    """
    w = np.asarray(w, dtype=np.float64)
    if w.shape != (model.X.shape[1],) or not np.isfinite(w).all():
        raise InputError(f"w must hold {model.X.shape[1]} finite numbers; it has shape {w.shape}")
    value = model.objective(w)
    return restated(model, upper_bound=value if model.upper_bound is None else min(value, float(model.upper_bound)))


class _Search:
    """Local search over the sets of kept points; holds the best point found."""

    def __init__(self, model: ZeroOneSVM) -> None:
        self.model = model
        self.A = dense_signed_rows(model.X, model.y)
        self.weights, self.penalised = model.weights, model.penalised
        self.w = np.zeros(self.A.shape[1])
        self.value = model.objective(self.w)

    def first_points(self) -> Iterator[FloatArray]:
        """w = 0, the trivial intercepts, and the hinge path, rounded."""
        if self.model.intercept == "free":
            for b in (-1.0, 1.0):
                w = np.zeros_like(self.w)
                w[0] = b
                yield w
        for low in _LOWS:
            with without_warnings():
                hinge = HingeSVM(self.model.X, self.model.y, self.weights / (1.0 - low))
            result = solve_problem(hinge, "auto", Options(tol=1e-6))
            if result.values:
                yield best_multiple(self.model, result.values["w"])

    def kept(self, w: FloatArray) -> BoolArray:
        """Points whose margin w meets."""
        return np.asarray(self.A @ w >= 1.0 - 1e-9)

    def solve(self, keep: BoolArray, near: FloatArray) -> tuple[FloatArray, float, FloatArray] | None:
        """Least-norm w for a set, its objective and multipliers; records a new best one."""
        found = least_norm(self.A[keep], self.penalised, near)
        if found is None:
            return None
        w, multipliers = found
        value = self.model.objective(w)
        if value < self.value - _GAIN * abs(self.value):
            self.w, self.value = w, value
        spread = np.zeros(keep.size)
        spread[keep] = multipliers
        return w, value, spread

    def descend(self, w: FloatArray) -> None:
        """Best improving moves from w until there is none."""
        state = self.solve(self.kept(w), w)
        while state is not None:
            better = None
            for trial in self.moves(*state):
                if trial[1] < (better or state)[1] - _GAIN * abs(state[1]):
                    better = trial
            if better is None:
                return
            state = better

    def moves(self, w: FloatArray, value: float, multipliers: FloatArray) -> Iterator[tuple[FloatArray, float, FloatArray]]:
        """Neighbours: without one support point, with one of the nearest violated points, and both at once."""
        keep = self.kept(w)
        support = np.flatnonzero(multipliers > 1e-9 * multipliers.max(initial=0.0))
        violated = np.flatnonzero(~keep)
        near = violated[np.argsort(-(self.A[violated] @ w), kind="stable")[:_NEAREST]]
        dropped = [(keep & (np.arange(keep.size) != i)) for i in support]
        added = [(keep | (np.arange(keep.size) == j)) for j in near]
        # a swap costs λ_i - λ_j and a norm: try those with the nearest point only
        swapped = [d | (np.arange(keep.size) == near[0]) for d in dropped] if near.size else []
        for candidate in (*dropped, *added, *swapped):
            state = self.solve(candidate, w)
            if state is not None:
                yield state

    def restart(self, generator: np.random.Generator) -> None:
        """Drop a few support points of the best set, one after the other, and search again."""
        w = self.w
        keep = self.kept(w)
        for _ in range(int(generator.integers(1, 4 + keep.size // 25))):
            state = self.solve(keep, w)
            if state is None:
                break
            w, _, multipliers = state
            keep = self.kept(w)
            support = np.flatnonzero(multipliers > 0.0)
            if support.size == 0:
                break
            keep[generator.choice(support)] = False
        self.descend_set(keep, w)

    def sample(self, generator: np.random.Generator) -> None:
        """Search from the w of least norm that meets the margins of a few random points."""
        n, p = self.A.shape
        chosen = generator.choice(n, size=int(generator.integers(1, min(n, p) + 1)), replace=False)
        found = least_norm(self.A[chosen], self.penalised)
        if found is not None:
            self.descend(best_multiple(self.model, found[0]))

    def descend_set(self, keep: BoolArray, near: FloatArray) -> None:
        """`descend` from a set."""
        state = self.solve(keep, near)
        if state is not None:
            self.descend(state[0])

    def finish(self) -> tuple[FloatArray, float]:
        """The best point; with a free intercept its w is solved for once more, since the search prices the intercept slightly."""
        if self.model.intercept == "free":
            w = polish(self.model.form, self.model.point(self.w))["w"]
            value = self.model.objective(w)
            if value < self.value:
                return w, value
        return self.w, self.value
