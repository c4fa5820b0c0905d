"""``multiclass-ascent``: block coordinate ascent on the dual of a multiclass SVM, certified by the duality gap.

The problem is min P(W) = ½||W||² + Σ c_i ℓ_i, rows w_k of W for K classes, costs c_i of points x_i of class y_i, with margins
m_ik = (w_{y_i} - w_k)'x_i, k ≠ y_i, and ℓ_i = max_k (1 - m_ik)_+ or Σ_k (1 - m_ik)_+. The dual maximises D(α) = Σα - ½||W(α)||²
over one polytope for each point, 0 ≤ α_ik with Σ_k α_ik ≤ c_i or α_ik ≤ c_i; a point's α_ik are a block. Block-coordinate
Frank-Wolfe (Lacoste-Julien et al. 2013) moves one block towards a vertex with an exact line search; here a block is maximised
exactly, which costs no more than the scores of its point. At any α the gap is a sum over the points,

    P(W(α)) - D(α) = Σ_i [c_i ℓ_i - Σ_k α_ik g_ik] ≥ 0,   g_ik = 1 - m_ik,

so points at a vertex with no gap are left out until the next pass over all. A sweep takes one block step for each active point.
Where sweeps no longer reduce the gap by much, the multipliers that are at no bound (free) are few and known: conjugate gradients
maximise over their face, and the result is moved into the polytopes and searched along (Moré and Toraldo 1991).
"""

from __future__ import annotations

import sys
import time
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from ...models.arrays import FloatArray, IntArray
from ...models.views import MulticlassProblem
from ..interface.algorithm import Algorithm, Outcome
from ..interface.named_scalars import integers_and_floats
from ..interface.numba_flags import by_reference
from ..interface.recorder import ProgressState
from ..records import Answer, Options, relative_gap
from . import RECORDS, loops

#: Numbers of the loops. ``dense`` is 1 for dense rows. ``shared`` is 1 where Σ_k α_ik ≤ c_i, 0 where α_ik ≤ c_i. ``gap`` sums the
#: gaps of a sweep; a block whose gap is at most ``small``·c_i stays. Of conjugate gradients, ``product`` is the scaled square of
#: the residual, ``enough`` the value of ``product`` at which they end, and ``square`` is ||V||².
_SCALARS = integers_and_floats("dense shared", "gap small product enough square")


@by_reference
class AscentWork(NamedTuple):
    """The iterate and the buffers of the compiled loops, which change them in place; α_ik of a point's own class is 0."""

    data: Any  #: (n, p), dense rows
    indptr: Any  #: (n + 1,) first entry of each CSR row
    indices: Any  #: column of each entry of CSR rows
    values: Any  #: the entries of CSR rows
    codes: Any  #: (n,) class of each point, from 0
    costs: Any  #: (n,) c_i
    squares: Any  #: (n,) ||x_i||²
    alpha: Any  #: (n, K) multipliers α
    W: Any  #: W(α): (K, p), or (p, K) for CSR rows
    V: Any  #: W of a direction of α, a buffer
    scores: Any  #: (K,) buffer: scores of a point
    change: Any  #: (K,) buffer: change of a block
    order: Any  #: (n,) points of the present sweep or face
    free: Any  #: (n, K) multipliers of the face that are not at a bound
    tight: Any  #: (n,) True where Σ_k α_ik is at its bound
    slope: Any  #: (n, K) g at the start of conjugate gradients
    residual: Any  #: (n, K) residual of conjugate gradients
    direction: Any  #: (n, K) direction of conjugate gradients
    step: Any  #: (n, K) solution of conjugate gradients: the step on the face
    scalars: Any  #: the numbers, by name (`_SCALARS`)


@dataclass(eq=False)
class AscentState:
    """The state of a run: α, W(α) and the best W, with the points of the present sweep or face."""

    view: MulticlassProblem  #: the multiclass problem
    work: AscentWork  #: arrays of the compiled loops
    rng: np.random.Generator  #: draws the order of the points in a sweep
    tol: float  #: relative gap to be reached
    limit: int  #: largest number of sweeps
    active: IntArray  #: points that take part in sweeps
    best_W: FloatArray  #: W of the least objective
    best_primal: float = float("inf")  #: least objective
    best_dual: float = float("-inf")  #: largest dual value
    gap: float = float("inf")  #: duality gap at the last pass over all points
    previous_gap: float = float("inf")  #: duality gap at the pass before
    sweeps: int = 0  #: sweeps so far
    faces: int = 0  #: runs of conjugate gradients so far
    passes: int = 0  #: passes over all points so far
    position: int = 0  #: points of the sweep that are done
    sweeps_left: int = 0  #: sweeps until the next pass over all points
    products_left: int = 0  #: products of conjugate gradients left on the face; 0 if there is no face
    face_size: int = 0  #: points of the face
    faces_left: int = 0  #: faces left before the next sweeps, each within the last one
    first_gap: float = float("nan")  #: gap that the first sweep since the last pass over all points has summed
    rate: float = 2e4  #: block steps per second, as measured
    stale: int = 0  #: passes in a row in which the gap did not fall
    step: str = ""  #: kind of the last step, for the trace
    curved: int = field(default=0)  #: points with free multipliers

    @property
    def best_gap(self) -> float:
        """Return the relative gap of the best W and the best α."""
        return relative_gap(self.best_primal, self.best_dual)


def make_state(view: MulticlassProblem, options: Options, tol: float, rng: np.random.Generator) -> AscentState:
    """Return the state at α = 0, but with the blocks of points x_i = 0 at their optimum."""
    n, K, p = view.n, view.classes, view.rows.shape[1]
    dense = isinstance(view.rows, np.ndarray)
    rows: Any = view.rows
    scalars = np.zeros(1, _SCALARS)[0]
    scalars.dense, scalars.shared = int(dense), int(view.shared)
    empty = np.zeros(1, dtype=np.int64)
    shape = (K, p) if dense else (p, K)
    squares = view.squares
    work = AscentWork(
        data=view.rows if dense else np.zeros((1, 1)),
        indptr=empty if dense else rows.indptr.astype(np.int64),
        indices=empty if dense else rows.indices.astype(np.int64),
        values=np.zeros(1) if dense else rows.data,
        codes=view.codes, costs=view.costs, squares=squares, alpha=np.zeros((n, K)), W=np.zeros(shape), V=np.zeros(shape),
        scores=np.zeros(K), change=np.zeros(K), order=np.arange(n), free=np.zeros((n, K), dtype=np.bool_),
        tight=np.zeros(n, dtype=np.bool_), slope=np.zeros((n, K)), residual=np.zeros((n, K)), direction=np.zeros((n, K)),
        step=np.zeros((n, K)), scalars=scalars,
    )  # fmt: skip
    zero = np.flatnonzero(squares <= _ZERO * squares.max())
    if view.shared:
        work.alpha[zero, np.where(view.codes[zero] == 0, 1, 0)] = view.costs[zero]
    else:
        work.alpha[zero] = view.costs[zero][:, None]
        work.alpha[zero, view.codes[zero]] = 0.0
    limit = sys.maxsize if options.iteration_limit is None else options.iteration_limit
    return AscentState(view, work, rng, tol, limit, np.zeros(0, dtype=np.int64), np.zeros((K, p)))


#: Share of the largest ||x||² below which a point counts as zero: its block is linear to rounding.
_ZERO = 1e-26
#: Most and fewest sweeps between two passes over all points; most products of conjugate gradients for a face; most faces in a
#: row, and points with free multipliers for that many faces.
_SWEEPS, _FEW, _PRODUCTS, _FACES, _POINTS = 100, 5, 60, 20, 600
#: Fall of the gap from one pass to the next beyond which sweeps need no help from conjugate gradients.
_FALL = 0.2
#: Passes in a row that leave more than this share of the best gap, after which float64 allows no more.
_STALE, _PROGRESS = 50, 0.999


def _evaluate_all_points(state: AscentState) -> None:
    """Recompute W from α, objective, dual value and gap; the active points are those at no vertex, or with a gap."""
    view, work = state.view, state.work
    W = view.coefficients(work.alpha)
    work.W[:] = W if work.scalars.dense else W.T
    square = float(np.vdot(W, W))
    loss, active, curved = 0.0, [], 0
    for part in view.parts():
        terms, gaps = view.losses_and_gaps(W, work.alpha[part], part)
        loss += float(terms.sum())
        free, tight = view.free_multipliers(work.alpha[part], part)
        work.free[part], work.tight[part] = free, tight
        curves = free.sum(axis=1) - tight > 0
        curved += int(curves.sum())
        active.append(part.start + np.flatnonzero(curves | (gaps > 1e-12 * view.costs[part])))
    state.passes += 1
    state.active, state.curved = np.concatenate(active), curved
    state.active = state.active[work.squares[state.active] > _ZERO * work.squares.max()]
    primal, dual = 0.5 * square + loss, float(work.alpha.sum()) - 0.5 * square
    before = state.best_primal - state.best_dual
    if primal < state.best_primal:
        state.best_primal, state.best_W = primal, W
    state.best_dual = max(dual, state.best_dual)
    state.stale = 0 if state.best_primal - state.best_dual < _PROGRESS * before else state.stale + 1
    state.previous_gap, state.gap = state.gap, primal - dual


@dataclass(frozen=True)
class BlockAscent(Algorithm[MulticlassProblem, AscentState]):
    """Exact block steps in random order, conjugate gradients on the face of the free multipliers, points left out at vertices.

    Memory in addition to the rows: at most about nine arrays of n × K numbers, with those of the answer, and three of K × p.

    Parameters
    ----------
    faces : bool
        Whether conjugate gradients help where sweeps are slow.
    """

    faces: bool = True

    info = RECORDS["multiclass-ascent"]

    def load(self, view: MulticlassProblem) -> None:
        """Do nothing: the loops come with this module and compile at their first call. Its presence makes `compiles` true."""

    def init(self, view: MulticlassProblem, options: Options, rng: np.random.Generator) -> AscentState:
        """Return the state of `make_state`, with its gap evaluated and the first sweeps planned."""
        state = make_state(view, options, options.tolerance(self.info.tolerance), rng)
        _evaluate_all_points(state)
        self._plan(state)
        return state

    def advance(self, state: AscentState, seconds: float) -> Outcome:
        """Take block steps and products for about ``seconds``, and a pass over all points after each round of sweeps."""
        end = time.perf_counter() + seconds
        while True:
            if state.best_gap <= state.tol:
                return Outcome.CONVERGED
            if state.sweeps >= state.limit:
                _evaluate_all_points(state)
                return Outcome.CONVERGED if state.best_gap <= state.tol else Outcome.ITERATION_LIMIT
            if state.stale >= _STALE or not state.active.size:
                return Outcome.STALLED
            if state.products_left:
                self._face(state, end)
            elif state.sweeps_left:
                self._sweep(state, end)
            else:
                _evaluate_all_points(state)
                self._plan(state)
            if time.perf_counter() >= end:
                return Outcome.RUNNING

    def _plan(self, state: AscentState) -> None:
        """Begin a round: sweeps over the active points, after a face where the last round's sweeps gained little."""
        size = max(state.active.size, 1)
        state.sweeps_left = int(np.clip(state.view.n // size, _FEW, _SWEEPS))
        state.first_gap, state.position = float("nan"), 0
        state.faces_left = 0
        if self.faces and state.gap > _FALL * state.previous_gap:
            state.faces_left = int(np.clip(_POINTS // max(state.curved, 1), 1, _FACES))
            self._begin_face(state, state.active)

    def _begin_face(self, state: AscentState, points: IntArray) -> None:
        """Start conjugate gradients on the face of those of the points that have free multipliers."""
        work = state.work
        work.free[points], work.tight[points] = state.view.free_multipliers(work.alpha[points], points)
        degrees = work.free[points].sum(axis=1) - work.tight[points]
        points = points[degrees > 0]
        work.order[: points.size] = points
        state.face_size, state.products_left = points.size, 0
        if points.size:
            state.products_left = min(_PRODUCTS, 2 * int(degrees.sum()) + 1)
            loops.begin_face(work, points.size)

    def _face(self, state: AscentState, end: float) -> None:
        """Take products on the face until the time is over; at the end, move."""
        clock = time.perf_counter()
        count = int(np.clip(state.rate * (end - clock) / (2.0 * state.face_size + 1.0), 1, state.products_left))
        products = loops.face_products(state.work, state.face_size, count)
        state.products_left = 0 if products else state.products_left - count
        if state.products_left:
            return
        state.faces, state.faces_left, state.step = state.faces + 1, state.faces_left - 1, "face"
        if not loops.end_face(state.work, state.face_size) and state.faces_left:
            self._begin_face(state, state.work.order[: state.face_size].copy())

    def _sweep(self, state: AscentState, end: float) -> None:
        """Take block steps until the time or the sweep is over; leave the round where the active points' gap has fallen."""
        work, size = state.work, state.active.size
        if state.position == 0:
            work.order[:size] = state.rng.permutation(state.active)
            work.scalars.gap, work.scalars.small = 0.0, 0.0
        clock = time.perf_counter()
        count = int(np.clip(state.rate * (end - clock), min(size, 64), size - state.position))
        loops.sweep(work, state.position, state.position + count)
        if count >= 64:
            state.rate = count / max(time.perf_counter() - clock, 1e-7)
        state.position += count
        if state.position < size:
            return
        state.position, state.step = 0, "block"
        state.sweeps += 1
        state.sweeps_left -= 1
        gap = float(work.scalars.gap)
        if np.isnan(state.first_gap):
            state.first_gap = gap
        if gap <= max(0.3 * state.tol * abs(state.best_primal), 0.1 * state.first_gap):
            state.sweeps_left = 0

    def measure(self, state: AscentState) -> ProgressState:
        """Return the best objective and bound, and the number of points with free multipliers."""
        return ProgressState(state.sweeps, state.best_primal, state.best_dual, active=state.curved, step=state.step)

    def answer(self, state: AscentState) -> Answer:
        """Return the best W and the multipliers of ``margin``, at which the loss's conditions hold exactly."""
        view = state.view
        alpha = view.without_own_class(state.work.alpha)
        spent = alpha.sum(axis=1) if view.shared else alpha.ravel()
        costs = view.costs if view.shared else np.repeat(view.costs, view.classes - 1)
        reduced = np.concatenate([np.zeros(state.best_W.size), np.maximum(costs - spent, 0.0)])
        details = {"passes": state.passes, "faces": state.faces, "points with free multipliers": state.curved}
        return Answer(values={"W": state.best_W}, multipliers={"margin": alpha.ravel()}, reduced=reduced, details=details)
