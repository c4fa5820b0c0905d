"""The start and the end of every simplex algorithm: parameters, first points, loops loaded, multipliers, the answer.

The starting points of the simplex algorithms.

The end of every simplex algorithm: float64 products, multipliers, the answer.

Checks of parameters that the simplex algorithms share.

Compiled loops, loaded (or compiled, the first time on a machine) before a run's clock starts.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Callable, Mapping
from typing import Any, TypeAlias

import numpy as np

from ...errors import InputError
from ...models.arrays import FloatArray
from ...models.kernels.gram import MatrixGram
from ...models.views import BoxEqualityQP, SimplexQP
from ..interface.algorithm import Algorithm, Outcome
from ..records.answer import Answer
from ..records.options import Options
from .dense_loop import solve_dense

__all__ = [
    "StartRule",
    "check_parameters",
    "iterations_allowed",
    "load_loops",
    "one_simplex",
    "relative",
    "simplex_answer",
    "starting_point",
]

#: ``"random20"``: the exact solution on 20 random points (FW, section 5.2.2), or on another number of them; ``"farthest"``: a
#: random point and the one farthest from it, weights ½; ``"vertex"``: the point with the least objective alone; ``"uniform"``:
#: equal weights.
StartRule: TypeAlias = str
_RANDOM = re.compile(r"random([1-9]\d*)")


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
    random = _RANDOM.fullmatch(rule) if isinstance(rule, str) else None
    if random is None and rule not in _RULE:
        known = ", ".join(_RULE)
        raise InputError(f"initial must be one of {known}, or random20 or another number of points; it is {rule!r}")
    choose: Callable[..., tuple[np.ndarray, FloatArray]] = (
        _RULE[rule] if random is None else functools.partial(_random, int(random[1]))
    )
    a = np.zeros(view.n)
    for group in range(view.simplices):
        members = np.flatnonzero(view.groups == group)
        chosen, weights = choose(view, members, rng)
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


def _random(points: int, view: SimplexQP, members: np.ndarray, rng: np.random.Generator) -> tuple[np.ndarray, FloatArray]:
    chosen = np.sort(rng.choice(members, size=min(points, members.size), replace=False))
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


_RULE = {"farthest": _farthest, "vertex": _vertex, "uniform": _uniform}


def relative(objective: float, gap: float) -> float:
    """gap / max(|f|, |f - gap|); 0 where the gap is not positive."""
    if gap <= 0.0:
        return 0.0
    scale = max(abs(objective), abs(objective - gap))
    return gap / scale


def simplex_answer(view: SimplexQP, a: FloatArray, gradient: FloatArray, details: Mapping[str, Any]) -> Answer:
    """The point with multipliers ``{"sum": ν}`` and reduced costs ζ (Qa + c = F'ν + ζ)."""
    nu, zeta = view.multipliers(gradient)
    return Answer(values={view.label: a}, multipliers={"sum": nu}, reduced=zeta, details=dict(details))


#: Parameters that are integers ≥ 1, and what None means where it is allowed.
_WHOLE = {"sampling": ", or None for a full scan", "stride": ", or None", "prefetch": "", "block": ""}


def check_parameters(algorithm: Algorithm[Any, Any]) -> None:
    """``precision``, ``prefetch``, ``block``, ``stride`` and ``sampling``, those that the algorithm has.

    Raises
    ------
    InputError
        One of them is out of range.
    """
    precision = getattr(algorithm, "precision", "double")
    if precision not in ("single", "double"):
        raise InputError(f"precision must be 'single' or 'double'; it is {precision!r}")
    for name, otherwise in _WHOLE.items():
        value = getattr(algorithm, name, None)
        if value is not None and value < 1:
            raise InputError(f"{name} must be an integer ≥ 1{otherwise}; it is {value!r}")


def iterations_allowed(options: Options) -> int:
    """The iteration limit, or the largest integer."""
    return int(np.iinfo(np.int64).max) if options.iteration_limit is None else options.iteration_limit


#: A gap that a few steps reach.
_OPTIONS = Options(tol=0.01)


@functools.cache
def load_loops(kind: type[Algorithm[Any, Any]], precision: str | None = None) -> None:
    """Solve four points by an algorithm of this kind, with columns of this precision, so that its loops are there."""
    algorithm = kind() if precision is None else kind(precision=precision)  # type: ignore[call-arg]
    rows = np.array([[1.0, 0.2], [0.3, 1.0], [-1.0, 0.4], [-0.2, -1.0]])
    gram = MatrixGram(rows @ rows.T + np.eye(4))
    if BoxEqualityQP in algorithm.info.views:
        state = algorithm.init(
            BoxEqualityQP(gram, -np.ones(4), np.ones(4), np.array([1.0, 1.0, -1.0, -1.0])), _OPTIONS, np.random.default_rng(0)
        )
    else:
        state = algorithm.init(SimplexQP(gram, np.zeros(4), np.zeros(4, dtype=np.int64)), _OPTIONS, np.random.default_rng(0))
    for _ in range(20):
        if algorithm.advance(state, 1.0) is not Outcome.RUNNING:
            break
