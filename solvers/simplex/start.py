"""Starting points of algorithms on unit simplices, and what these share: parameter checks, answers, and loading of loops."""

from __future__ import annotations

import functools
import re
from collections.abc import Callable, Mapping
from typing import Any, TypeAlias, TypeVar

import numpy as np

from ...errors import InputError
from ...models.arrays import FloatArray
from ...models.kernels.gram import MatrixGram
from ...models.model import Model
from ...models.views import BoxEqualityQP, SimplexQP
from ..interface.algorithm import Algorithm, Outcome
from ..interface.numba_flags import entry
from ..records import Answer, Options


@entry
def solve_dense(Q: Any, c: Any, a: Any, h: Any, tol: float, iterations: int) -> int:
    """Solve a small dense problem by second-order pairs, in place (a feasible, h = Qa), to a gap ≤ tol·max(|f|, |f - gap|).

    Return the number of steps. Q may be larger than a: its leading block is used.
    """
    m = a.size
    for iteration in range(iterations):
        i, quadratic, linear = 0, 0.0, 0.0
        for k in range(m):
            quadratic += a[k] * h[k]
            linear += a[k] * c[k]
            if h[k] + c[k] < h[i] + c[i]:
                i = k
        gap = quadratic + linear - h[i] - c[i]
        f = 0.5 * quadratic + linear
        if gap <= tol * max(abs(f), abs(f - gap)):
            return iteration
        j, best = -1, 0.0
        for k in range(m):
            slope = h[k] + c[k] - h[i] - c[i]
            if k != i and a[k] > 0.0 and slope > 0.0:  # reassociated sums can make the slope from i to i positive
                gain = slope * slope / max(Q[i, i] + Q[k, k] - 2.0 * Q[i, k], 1e-300)
                if gain > best:
                    j, best = k, gain
        if j < 0:
            return iteration
        slope = h[j] + c[j] - h[i] - c[i]
        curvature = Q[i, i] + Q[j, j] - 2.0 * Q[i, j]
        drop = slope >= a[j] * curvature
        step = a[j] if drop else slope / curvature
        a[i] += step
        a[j] = 0.0 if drop else a[j] - step
        for k in range(m):
            h[k] += step * (Q[i, k] - Q[j, k])
    return iterations


#: ``"random20"``: the exact solution on 20 random points (FW, section 5.2.2), or on another number of them; ``"farthest"``: a
#: random point and the one farthest from it, weights ½; ``"vertex"``: the point with the least objective alone; ``"uniform"``:
#: equal weights.
StartRule: TypeAlias = str
State = TypeVar("State")
# exempt (text): the number in the option initial="random20"
_RANDOM = re.compile(r"random([1-9]\d*)")


class OneSimplexAlgorithm(Algorithm[SimplexQP, State]):
    """An algorithm for a single unit simplex."""

    def view_obstacle(self, view: SimplexQP, model: Model) -> str | None:
        """Return why a problem on several simplices is refused; None for one simplex."""
        if view.simplices == 1:
            return None
        return f"it works on one unit simplex, this model has {view.simplices}; 'smo' takes several"


def starting_point(view: SimplexQP, rule: StartRule, options: Options, rng: np.random.Generator) -> FloatArray:
    """Return a feasible point: the user's (``options.start``), moved into the simplices, or the rule's in every simplex."""
    if options.start is not None and view.label in options.start:
        return _into_simplices(view, np.asarray(options.start[view.label], dtype=np.float64))
    random = _RANDOM.fullmatch(rule) if isinstance(rule, str) else None
    if random is None and rule not in _RULE:
        rules = ", ".join(_RULE)
        raise InputError(
            f"initial must be one of {rules}, or random20 or another number of points; it is {rule!r}", name="initial"
        )
    choose: Callable[..., tuple[np.ndarray, FloatArray]] = (
        _RULE[rule] if random is None else functools.partial(_random, int(random[1]))
    )
    a = np.zeros(view.n)
    for group in range(view.simplices):
        members = np.flatnonzero(view.groups == group)
        chosen, weights = choose(view, members, rng)
        a[chosen] = weights
    return a


def _into_simplices(view: SimplexQP, start: FloatArray) -> FloatArray:
    if start.shape != (view.n,) or not np.isfinite(start).all():
        raise InputError(f"start[{view.label!r}] must hold {view.n} finite numbers; it has shape {start.shape}", name="start")
    a = np.maximum(start, 0.0)
    total = np.bincount(view.groups, weights=a, minlength=view.simplices)
    if (total <= 0).any():
        raise InputError(f"start[{view.label!r}] has no positive weight in simplex {int(np.argmin(total))}", name="start")
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


def relative_gap_at(objective: float, gap: float) -> float:
    """Return gap/max(|f|, |f - gap|); 0 where the gap is not positive."""
    return gap / max(abs(objective), abs(objective - gap)) if not gap <= 0.0 else 0.0


def simplex_answer(view: SimplexQP, a: FloatArray, gradient: FloatArray, details: Mapping[str, Any]) -> Answer:
    """Return the point with multipliers ``{"sum": ν}`` and reduced costs ζ (Qa + c = F'ν + ζ)."""
    nu, zeta = view.multipliers(gradient)
    return Answer(values={view.label: a}, multipliers={"sum": nu}, reduced=zeta, details=dict(details))


#: Parameters that are integers ≥ 1, and what None means where it is allowed.
_WHOLE = {"sampling": ", or None for a full scan", "stride": ", or None", "prefetch": "", "block": ""}


def check_parameters(algorithm: Algorithm[Any, Any]) -> None:
    """Check those of ``precision``, ``prefetch``, ``block``, ``stride`` and ``sampling`` that the algorithm has."""
    precision = getattr(algorithm, "precision", "double")
    if precision not in ("single", "double"):
        raise InputError(f"precision must be 'single' or 'double'; it is {precision!r}", name="precision")
    for name, otherwise in _WHOLE.items():
        value = getattr(algorithm, name, None)
        if value is not None and value < 1:
            raise InputError(f"{name} must be an integer ≥ 1{otherwise}; it is {value!r}", name=name)


def iteration_limit(options: Options) -> int:
    """Return the iteration limit, or the largest integer."""
    return int(np.iinfo(np.int64).max) if options.iteration_limit is None else options.iteration_limit


#: A gap that a few steps reach.
_OPTIONS = Options(tol=0.01)


@functools.cache
def load_loops(kind: type[Algorithm[Any, Any]], precision: str | None = None) -> None:
    """Compile or load the loops of a kind of algorithm, with columns of this precision, by solving a problem of four points."""
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
