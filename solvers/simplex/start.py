"""Starts, answers and cached columns of algorithms on unit simplices, and the small dense problems that runs start from."""

from __future__ import annotations

import functools
import re
from collections.abc import Callable, Mapping
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from ...errors import InputError
from ...models.arrays import FloatArray, materialise_limit
from ...models.kernels.gram import GramOperator, MatrixGram
from ...models.views import BoxEqualityQP, SimplexQP
from ..interface.algorithm import Algorithm, Outcome
from ..interface.numba_flags import entry
from ..records import Answer, Options


@entry
def solve_dense(Q: Any, c: Any, a: Any, h: Any, tol: float, iterations: int) -> int:
    """Small dense problem by second-order pairs, in place (a feasible, h = Qa): gap ≤ tol·max(|f|, |f - gap|).

    Q may be larger than a: its leading block is meant.
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
# exempt (text): the number in the option initial="random20"
_RANDOM = re.compile(r"random([1-9]\d*)")


def one_simplex(view: SimplexQP) -> str | None:
    """Return the reason why an algorithm for one simplex cannot read a view with several; None where it can."""
    if view.simplices == 1:
        return None
    return f"it works on one unit simplex, this model has {view.simplices}; 'smo' takes several"


def starting_point(view: SimplexQP, rule: StartRule, options: Options, rng: np.random.Generator) -> FloatArray:
    """A feasible point: the user's (``options.start``), moved into the simplices, or the rule's in every simplex."""
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
    """``precision``, ``prefetch``, ``block``, ``stride`` and ``sampling``, those that the algorithm has."""
    precision = getattr(algorithm, "precision", "double")
    if precision not in ("single", "double"):
        raise InputError(f"precision must be 'single' or 'double'; it is {precision!r}", name="precision")
    for name, otherwise in _WHOLE.items():
        value = getattr(algorithm, name, None)
        if value is not None and value < 1:
            raise InputError(f"{name} must be an integer ≥ 1{otherwise}; it is {value!r}", name=name)


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


#: Default size of a column cache.
CACHE_BYTES = 2**30
#: Columns computed at a time where their slots are not neighbours.
_ROWS = 32


def cache_bytes(size: int | None, options: Options, minimum: float = 0.0) -> int:
    """The algorithm's own limit, or the solve's memory limit where that is smaller.

    Where none is given the own one is the default, or ``minimum``, as far as a form may take memory on this machine.
    """
    default = max(CACHE_BYTES, min(minimum, materialise_limit())) if size is None else size
    return int(default if options.memory_limit is None else min(default, options.memory_limit))


class ColumnCache:
    """Columns of a Gram operator in ``columns[slot[i]]``; compiled loops read it and stamp what they use.

    Parameters
    ----------
    gram : GramOperator
    limit : int
        Bytes for the columns.
    single : bool
        Columns in float32 (for steps), else float64.

    Raises
    ------
    InputError
        The limit does not hold two columns, the least that a pair step needs.
    """

    def __init__(self, gram: GramOperator, limit: int, *, single: bool) -> None:
        n = gram.n
        kind: npt.DTypeLike = np.float32 if single else np.float64
        width = n * np.dtype(kind).itemsize
        slots = min(max(n, 2), int(limit) // width)
        if slots < 2:
            raise InputError(
                f"the column cache may hold {int(limit):,} bytes; two columns of {n:,} points need {2 * width:,}: "
                "raise cache_bytes (or memory_limit)",
                name="cache_bytes",
            )
        self.gram = gram
        self.single = single
        self.columns: npt.NDArray[Any] = np.empty((slots, n), dtype=kind)
        self.slot = np.full(n, -1, dtype=np.int64)
        self.stamp = np.zeros(slots, dtype=np.int64)
        self.owner = np.full(slots, -1, dtype=np.int64)
        self._room: npt.NDArray[Any] | None = None
        self.used = 0
        self.computed = 0

    @property
    def slots(self) -> int:
        """Number of columns that fit."""
        return int(self.columns.shape[0])

    def _take(self, count: int) -> npt.NDArray[np.int64]:
        """Slots for new columns: free ones, then those least recently used."""
        free = min(count, self.slots - self.used)
        slots = np.arange(self.used, self.used + free)
        self.used += free
        if free < count:
            evictions = count - free
            candidates = self.stamp[: self.used].copy()
            candidates[slots] = np.iinfo(np.int64).max
            oldest = np.argpartition(candidates, evictions - 1)[:evictions]
            slots = np.concatenate([slots, oldest])
        return slots

    def _load_apart(self, indices: npt.NDArray[np.int64], free_slots: npt.NDArray[np.int64]) -> None:
        """Columns for slots that are not neighbours, by way of a few rows that stay in the processor's cache."""
        if self._room is None:
            self._room = np.empty((min(_ROWS, self.slots), self.gram.n), dtype=np.float32)
        for start in range(0, indices.size, len(self._room)):
            part = indices[start : start + len(self._room)]
            self.columns[free_slots[start : start + part.size]] = self.gram.single_columns(part, self._room[: part.size])

    def load(self, indices: npt.NDArray[np.int64], clock: int) -> None:
        """Compute columns that are not cached; ``clock`` stamps them as just used."""
        slots = self._take(indices.size)
        evicted = self.owner[slots]
        self.slot[evicted[evicted >= 0]] = -1
        first, count = int(slots[0]), int(indices.size)
        if not self.single:
            self.columns[slots] = self.gram.columns(indices).T
        elif slots[-1] - first == count - 1 and bool((np.diff(slots) == 1).all()):
            self.gram.single_columns(indices, self.columns[first : first + count])
        else:
            self._load_apart(indices, slots)
        self.owner[slots] = indices
        self.slot[indices] = slots
        self.stamp[slots] = clock
        self.computed += int(indices.size)
