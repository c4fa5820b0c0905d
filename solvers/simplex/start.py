"""The starting points of the simplex algorithms."""

from __future__ import annotations

from typing import Literal, TypeAlias

import numpy as np

from ...errors import InputError
from ...models.arrays import FloatArray
from ...models.views import SimplexQP
from ..records.options import Options
from .dense_loop import solve_dense

__all__ = ["StartRule", "one_simplex", "starting_point"]

#: ``"random20"``: the exact solution on 20 random points (FW, section 5.2.2); ``"farthest"``: a random point and the
#: one farthest from it, weights ½; ``"vertex"``: the point with the least objective alone; ``"uniform"``: equal weights.
StartRule: TypeAlias = Literal["random20", "farthest", "vertex", "uniform"]
_RULES = ("random20", "farthest", "vertex", "uniform")
_POINTS = 20


def one_simplex(view: SimplexQP) -> str | None:
    """Why an algorithm for one simplex cannot read a view with several; None where it can."""
    if view.simplices == 1:
        return None
    return f"it works on one unit simplex, this model has {view.simplices}; 'smo' takes several"


def starting_point(view: SimplexQP, rule: StartRule, options: Options, rng: np.random.Generator) -> FloatArray:
    """A feasible point: the user's (``options.start``), moved into the simplices, or the rule's in every simplex.

    Raises
    ------
    InputError
        A rule that does not exist; a start of the wrong shape, not finite, or without positive weight in a simplex.
    """
    if options.start is not None and view.label in options.start:
        return _into_simplices(view, np.asarray(options.start[view.label], dtype=np.float64))
    if rule not in _RULES:
        raise InputError(f"initial must be one of {', '.join(_RULES)}; it is {rule!r}")
    a = np.zeros(view.n)
    for group in range(view.simplices):
        members = np.flatnonzero(view.groups == group)
        chosen, weights = _RULE[rule](view, members, rng)
        a[chosen] = weights
    return a


def _into_simplices(view: SimplexQP, given: FloatArray) -> FloatArray:
    if given.shape != (view.n,) or not np.isfinite(given).all():
        raise InputError(f"start[{view.label!r}] must hold {view.n} finite numbers; it has shape {given.shape}")
    a = np.maximum(given, 0.0)
    total = np.bincount(view.groups, weights=a, minlength=view.simplices)
    if (total <= 0).any():
        raise InputError(f"start[{view.label!r}] has no positive weight in simplex {int(np.argmin(total))}")
    return np.asarray(a / total[view.groups])


def _random20(view: SimplexQP, members: np.ndarray, rng: np.random.Generator) -> tuple[np.ndarray, FloatArray]:
    chosen = np.sort(rng.choice(members, size=min(_POINTS, members.size), replace=False))
    Q = np.ascontiguousarray(view.gram.block(chosen, chosen))
    a = np.full(chosen.size, 1.0 / chosen.size)
    solve_dense(Q, np.ascontiguousarray(view.c[chosen]), a, Q @ a, 1e-10, 100_000)
    return chosen, a / a.sum()


def _farthest(view: SimplexQP, members: np.ndarray, rng: np.random.Generator) -> tuple[np.ndarray, FloatArray]:
    first = int(rng.choice(members))
    distance = view.gram.diagonal[members] - 2.0 * view.gram.column(first)[members]
    other = int(members[np.argmax(distance)])
    if other == first:
        return np.array([first]), np.ones(1)
    return np.array([first, other]), np.full(2, 0.5)


def _vertex(view: SimplexQP, members: np.ndarray, rng: np.random.Generator) -> tuple[np.ndarray, FloatArray]:
    value = 0.5 * view.gram.diagonal[members] + view.c[members]
    return members[[int(np.argmin(value))]], np.ones(1)


def _uniform(view: SimplexQP, members: np.ndarray, rng: np.random.Generator) -> tuple[np.ndarray, FloatArray]:
    return members, np.full(members.size, 1.0 / members.size)


_RULE = {"random20": _random20, "farthest": _farthest, "vertex": _vertex, "uniform": _uniform}
