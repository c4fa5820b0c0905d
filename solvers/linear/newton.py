"""``linear-newton``: Newton steps on linear classifiers whose rows are read in blocks, with dual multipliers at every step.

The problem is min P(w) = μ||w||² + Σ c_i ℓ(u_i) with margins u_i = y_i x_i'w of rows x_i with labels y_i = ±1, costs c_i, and ℓ
the hinge, its square or the logistic loss.
Its dual is the maximum of D(α) over 0 ≤ α ≤ c (α ≥ 0 for the square), with w = Σ α_i y_i x_i/(2μ): `models.views.LinearProblem`.

The squared hinge is once differentiable with piecewise constant second derivatives: Newton steps with an exact line search end in
a handful (Mangasarian 2002; Keerthi and DeCoste 2005), and so do they for the logistic loss (Lin, Weng and Keerthi 2008). The
hinge is smoothed towards the last multipliers a, as in the proximal method of multipliers (Rockafellar 1976):
max_{0 ≤ α ≤ c} α r - (α - a)²/(2σ), r = 1 - u. The same Newton steps minimise μ||w||² plus the sum of the smoothed losses; then a
becomes the maximising α and σ grows. In all cases α is feasible for the dual at every step, so every step has a duality gap:

    P(w) - D(α) = (the part of the smoothing) + ||2μw - Σ α_i y_i x_i||²/(4μ).

With a free intercept b of the logistic loss Σ α_i y_i must be 0: until it is, |Σ α_i y_i| (1 + |b|) counts as part of the gap.
"""

from __future__ import annotations

import sys
import time
from dataclasses import dataclass, field

import numpy as np
import scipy.linalg
from scipy.special import expit

from ...errors import InputError, TooLargeError, count_text
from ...models.arrays import FloatArray, blas_threads, peak_memory
from ...models.views import LinearLoss, LinearProblem
from ...rows import MAX_BLOCK_BYTES, sample_rows
from ...rows.blocks import stack_blocks
from ..interface.algorithm import Algorithm, Outcome
from ..interface.recorder import ProgressState
from ..records import Answer, Options, relative_gap
from . import RECORDS
from .passes import (
    CoordinateDescent,
    curvature_times,
    evaluate_weights,
    margins,
    margins_and_weighted_row_sum,
    negative_loss_slope,
    row_blocks,
    second_derivatives,
    squares_of_columns,
    weighted_row_sum,
)


@dataclass(eq=False)
class LinearState:
    """The state of a run: w with its margins u, the smoothing's multipliers a, the α that follow, and the best w and α."""

    problem: LinearProblem  #: the classifier
    tol: float  #: relative gap to be reached
    block_bytes: float  #: bytes of a block of rows
    w: FloatArray  #: (p,) current coefficients
    sigma: float  #: σ of the smoothing
    limit: int  #: largest number of steps
    sample_derivatives: FloatArray | None = None  #: (p, p) matrix of second derivatives of a sample of rows, while it is in use
    full: bool = False  #: the last step was a full Newton step, and the next one is expected to be one
    u: FloatArray = field(init=False)  #: (n,) margins of w
    a: FloatArray = field(init=False)  #: (n,) multipliers of the smoothing
    alpha: FloatArray = field(init=False)  #: (n,) α that follow from u and a
    best_alpha: FloatArray = field(init=False)  #: (n,) α of the best dual value
    best_w: FloatArray = field(init=False)  #: (p,) w of the best objective
    sums: FloatArray = field(init=False)  #: (3,) Σ c ℓ, minus Σ of the conjugates, number of points with curved loss
    gradient: FloatArray = field(init=False)  #: (p,) gradient of the smoothed objective at w
    best_primal: float = float("inf")  #: least objective
    best_dual: float = float("-inf")  #: largest dual value
    dual: float = float("-inf")  #: dual value at the current α
    residual: float = float("inf")  #: ||gradient||²/(4μ), plus |Σ α_i y_i| (1 + |b|) for a free intercept b: part of the gap
    smoothing_gap: float = 0.0  #: the other part of the gap, from the smoothing
    inner: int = 0  #: steps since the multipliers changed
    steps: int = 0  #: Newton and descent steps so far
    passes: int = 0  #: passes over the rows so far
    stale: int = 0  #: changes of the multipliers in a row that did not lower the gap by a tenth
    trials: int = 0  #: number of times that the gap was within the tolerance
    steps_to_tolerance: int = 0  #: steps after which the gap was first within the tolerance
    idle: int = 0  #: Newton steps in a row that did not halve the residual
    previous_residual: float = float("inf")  #: residual before the last step
    previous_gap: float = float("inf")  #: gap at the last change of the multipliers
    dual_is_current: bool = False  #: gradient and dual value are those of the current α
    descent: CoordinateDescent | None = None  #: dual coordinate descent while it runs, before Newton steps

    def __post_init__(self) -> None:
        n = self.problem.n
        self.u, self.a, self.alpha, self.best_alpha = (np.zeros(n) for _ in range(4))
        self.sums = np.zeros(3)
        self.best_w, self.gradient = self.w, np.zeros(self.w.size)

    @property
    def gap(self) -> float:
        """Return the relative gap between the best w and the best α."""
        return relative_gap(self.best_primal, self.best_dual)

    @property
    def ridge(self) -> FloatArray:
        """2μ, and 0 at a free intercept."""
        ridge = np.full(self.w.size, 2.0 * self.problem.mu)
        ridge[: int(self.problem.free)] = 0.0
        return ridge

    def regulariser(self, w: FloatArray) -> float:
        """Return μ||w||² of the penalised coefficients."""
        penalised = w[self.problem.penalised]
        return self.problem.mu * float(penalised @ penalised)

    def evaluate(self) -> None:
        """Compute α and the sums at the margins, and update the best objective."""
        view = self.problem
        costs = view.compact_costs
        evaluate_weights(self.u, self.a, costs, int(costs.size > 1), self.sigma, int(view.loss), self.alpha, self.sums)
        self.dual_is_current = False
        primal = self.regulariser(self.w) + float(self.sums[0])
        if primal < self.best_primal:
            self.best_primal, self.best_w = primal, self.w

    def update_dual(self, v: FloatArray | None) -> None:
        """Compute gradient and dual value from v = Σ α_i y_i x_i; without v, α = 0."""
        mu = self.problem.mu
        if v is None:
            self.best_dual = max(self.best_dual, 0.0)
            return
        self.passes += 1
        self.dual_is_current = True
        self.gradient = self.ridge * self.w - v
        unbalanced, penalised = 0.0, self.problem.penalised
        if self.problem.free:  # what it costs to balance α, to first order
            unbalanced = abs(float(v[0])) * (1.0 + abs(float(self.w[0])))
        g, v = self.gradient[penalised], v[penalised]
        self.residual = float(g @ g) / (4.0 * mu) + unbalanced
        dual = self.dual = float(self.sums[1]) - float(v @ v) / (4.0 * mu) - unbalanced
        primal = self.regulariser(self.w) + float(self.sums[0])
        self.smoothing_gap = max(primal - dual - self.residual, 0.0)
        if dual > self.best_dual:
            self.best_dual = dual
            self.best_alpha[:] = self.alpha

    def accept_if_converged(self, w: FloatArray, primal: float) -> bool:
        """Return whether the gap of w, of objective ``primal``, and α is within the tolerance; make both the answer if it is."""
        if relative_gap(primal, self.dual) > self.tol:
            return False
        self.best_w, self.best_primal, self.best_dual = w, primal, self.dual
        self.best_alpha[:] = self.alpha
        return True

    def smoothing_dominates(self, share: float) -> bool:
        """Return whether the residual is at most ``share`` of the smoothing's part of the gap, or rounding.

        More Newton steps at these multipliers then gain little.
        """
        return self.inner > 0 and (self.residual <= share * self.smoothing_gap or self.residual <= 1e-14 * abs(self.best_primal))

    def weights(self, part: slice, du: FloatArray) -> FloatArray:
        """Return α of the points in the range ``part`` after their margins have grown by du."""
        costs = self.problem.compact_costs
        c = costs if costs.size == 1 else costs[part]
        u = self.u[part] + du
        if self.problem.loss is LinearLoss.LOGISTIC:
            return np.asarray(c * expit(-u))
        r = 1.0 - u
        if self.problem.loss is LinearLoss.SQUARED_HINGE:
            return np.asarray(2.0 * c * np.maximum(r, 0.0))
        return np.clip(self.a[part] + self.sigma * r, 0.0, c)

    def loss_curvature(self, part: slice) -> FloatArray:
        """Return the second derivatives of the losses in their margins for the points in the range ``part``."""
        view = self.problem
        costs = view.compact_costs
        c = costs if costs.size == 1 else costs[part]
        if view.loss is LinearLoss.LOGISTIC:
            share = self.alpha[part] / c
            return np.asarray(self.alpha[part] * (1.0 - share))
        r = 1.0 - self.u[part]
        if view.loss is LinearLoss.SQUARED_HINGE:
            return np.where(r > 0.0, 2.0 * c, 0.0)
        z = self.a[part] + self.sigma * r
        return np.where((z > 0.0) & (z < c), self.sigma, 0.0)


# Newton directions: by a factor of p × p numbers for few columns, of n × n for few rows, by conjugate gradients for many of both.

#: Columns up to which the matrix of second derivatives is formed.
MAX_COLUMNS = 2_000
#: Residual of conjugate gradients, and their most products.
_RESIDUAL, _PRODUCTS = 0.1, 60
#: Ratio of a factorisation's operations to those of a product with the rows above which products are cheaper.
_DEAR = 60.0


def _uses_products(view: LinearProblem) -> bool:
    """Return whether directions come from products with the rows: many columns, or a logistic loss and a costly factorisation."""
    return view.rows.shape[1] > MAX_COLUMNS or (view.loss is LinearLoss.LOGISTIC and _factorisation_is_costly(view))


def _factorisation_is_costly(view: LinearProblem) -> bool:
    """Return whether a factorisation of p × p numbers costs far more than products with the rows."""
    return float(view.rows.shape[1]) ** 3 / 3.0 > _DEAR * 4.0 * view.rows.entries


def has_few_rows(view: LinearProblem) -> bool:
    """Return whether n rows are at most half of p columns, all coefficients penalised: then n × n systems give Newton steps."""
    return not view.free and 2 * view.n <= view.rows.shape[1]


def _newton_direction(state: LinearState, H: FloatArray | None) -> FloatArray:
    """Return s with (2μI + Σ d_i x_i x_i')s = -∇; H is the sum if it was formed.

    Raises
    ------
    numpy.linalg.LinAlgError
        The matrix is not positive definite to rounding.
    """
    if H is None:
        return _by_products(state) if _uses_products(state.problem) else _by_rows(state)
    H[np.diag_indices(state.w.size)] += state.ridge
    scale = 1.0 / np.sqrt(np.diagonal(H))
    factor = scipy.linalg.cho_factor(H * scale[:, None] * scale[None, :], lower=True, overwrite_a=True, check_finite=False)
    direction: FloatArray = -scale * scipy.linalg.cho_solve(factor, scale * state.gradient, check_finite=False)
    return direction


def _by_rows(state: LinearState) -> FloatArray:
    """Return -(2μI + B'B)⁻¹∇ = -(∇ - B'(2μI + BB')⁻¹B∇)/(2μ) for the rows √d_i x_i of B, d_i > 0, refined once."""
    ridge, curved_rows = 2.0 * state.problem.mu, []
    for part, block in row_blocks(state.problem, state.block_bytes):
        d = state.loss_curvature(part)
        dense = block if isinstance(block, np.ndarray) else stack_blocks([block.arrays()], block.shape[1]).toarray()
        curved_rows.append(dense[d > 0] * np.sqrt(d[d > 0])[:, None])
    state.passes += 1
    B = np.vstack(curved_rows)
    K = B @ B.T
    K[np.diag_indices(len(B))] += ridge
    factor = scipy.linalg.cho_factor(K, lower=True, overwrite_a=True, check_finite=False)
    s = np.zeros(state.w.size)
    for _ in range(2):
        residual = -state.gradient - ridge * s - B.T @ (B @ s)
        s += (residual - B.T @ scipy.linalg.cho_solve(factor, B @ residual, check_finite=False)) / ridge
    return s


def _by_products(state: LinearState) -> FloatArray:
    """Return the direction by conjugate gradients, preconditioned by the diagonal; each product is one pass over the rows."""
    view, curved, block_bytes = state.problem, state.loss_curvature, state.block_bytes
    ridge = state.ridge
    diagonal = ridge + squares_of_columns(view, curved, block_bytes)
    x, r = np.zeros(state.w.size), -state.gradient
    z = r / diagonal
    direction, rz = z.copy(), float(r @ z)
    residual = _RESIDUAL
    if view.loss is LinearLoss.LOGISTIC:  # steps that converge faster than linearly (Dembo, Eisenstat and Steihaug 1982)
        residual = min(residual, float(np.sqrt(state.residual / max(state.best_primal, 1e-300))))
    enough = residual**2 * rz
    state.passes += 1
    for _ in range(_PRODUCTS):
        product = ridge * direction + curvature_times(view, curved, direction, block_bytes)
        state.passes += 1
        length = rz / float(direction @ product)
        x += length * direction
        r -= length * product
        z = r / diagonal
        next_rz = float(r @ z)
        if next_rz <= enough:
            break
        direction = z + (next_rz / rz) * direction
        rz = next_rz
    return x


#: Epochs of coordinate descent after which Newton steps take over.
_EPOCHS = 300
#: Growth of σ from one set of multipliers to the next.
_GROWTH = 5.0
#: Share of the smoothing's part of the gap to which Newton steps reduce the other part.
_SHARE = 0.1
#: Points from which a sample is solved first, and the sample's gap by the loss.
_MANY = 20_000
_SAMPLE_TOL = {LinearLoss.HINGE: 3e-3, LinearLoss.SQUARED_HINGE: 1e-4, LinearLoss.LOGISTIC: 1e-4}
#: Numbers of n-vectors of a run, labels and the answer's among them; of p × p matrices; of blocks that reading one block takes.
_VECTORS, _MATRICES, _BLOCKS = 8, 4, 4
#: Copies of a sample during its construction.
_COPIES = 2.5
#: Share of ||gradient||² that a step by the sample's second derivatives may leave if another such step is to follow.
_FALL = 0.1
#: Rows of a sample for each column, by the loss: second derivatives need more rows than a first w.
_ROWS = {LinearLoss.HINGE: 50, LinearLoss.SQUARED_HINGE: 200, LinearLoss.LOGISTIC: 200}
#: Changes of the multipliers without progress after which float64 allows no more.
_STALE = 4
#: Number of times that the gap may be reached without stationarity.
_TRIALS = 4
#: Most steps beyond the tolerance, for stationarity.
_MORE = 10
#: Tolerance from which the answer need not be stationary.
_LOOSE = 1e-4
#: Newton steps without progress after which the multipliers change, or the run ends.
_IDLE = 4


@dataclass(frozen=True)
class LinearNewton(Algorithm[LinearProblem, LinearState]):
    """Newton steps and the method of multipliers, two passes over the rows for each step.

    Memory in addition to that of the process at the start: 8 vectors of n numbers, 4p² numbers, and four blocks of rows (1 to 32
    MiB each) or the sample, which ``memory_limit`` makes smaller or leaves out. With more than 2,000 columns directions come from
    preconditioned conjugate gradients, a pass for each product, and there is no p × p matrix. There, and where a factorisation
    costs far more than products, dual coordinate descent runs first on sparse rows in memory (`CoordinateDescent`): it most often
    closes the gap.

    Parameters
    ----------
    sample : bool
        Whether a sample, a fiftieth of the rows at least, of a large problem is solved first: for the first w, for the hinge's
        first σ, and for second derivatives of the other losses. These are used while steps by them reduce the gradient: each
        takes one pass.

    Raises
    ------
    InputError
        A start that is not finite or of another length.
    TooLargeError
        ``memory_limit`` holds less than the vectors need.
    """

    sample: bool = True

    info = RECORDS["linear-newton"]

    def load(self, view: LinearProblem) -> None:
        """Do nothing: the loops come with this module and compile at their first call. Its presence makes `compiles` true."""

    def init(self, view: LinearProblem, options: Options, rng: np.random.Generator) -> LinearState:
        """Return the state at w = 0, the given start, or the sample's classifier."""
        n, p = view.rows.shape
        block_bytes = _block_budget(n, p, options.memory_limit)
        pass_bytes = min(block_bytes / _BLOCKS, float(np.clip(32 * p * p, view.rows.pass_bytes, MAX_BLOCK_BYTES)))
        tol = options.tolerance(self.info.tolerance)
        end = np.inf if options.time_limit is None else time.perf_counter() + options.time_limit
        c = float(view.compact_costs.mean())
        w, sigma, centre, H = np.zeros(p), c, 0.0, None
        start = None if options.start is None else options.start.get("w")
        if start is not None:
            w = np.array(start, dtype=np.float64)
            if w.shape != (p,) or not np.isfinite(w).all():
                raise InputError(f"the start of linear-newton must hold {p} finite numbers; it has shape {w.shape}")
        elif self.sample and n >= max(_MANY, 4 * _ROWS[view.loss] * p) and _sample_bytes(view) <= block_bytes:
            w, sigma, H = self._solve_sample(view, end)
            centre = 0.5 if view.loss is LinearLoss.HINGE else 0.0
        state = LinearState(
            view,
            tol,
            pass_bytes,
            w,
            sigma,
            limit=options.iteration_limit or sys.maxsize,
            sample_derivatives=H,
            full=H is not None,
        )
        state.a += centre * view.compact_costs
        if start is None and (_uses_products(view) or _factorisation_is_costly(view)):
            state.descent = CoordinateDescent.of(view, rng)
        state.update_dual(None)
        if w.any():
            state.u, v = self._margins(state, w)
            state.evaluate()
            if v is not None:
                state.update_dual(v)
        else:
            state.evaluate()
        return state

    def _solve_sample(self, view: LinearProblem, end: float) -> tuple[FloatArray, float, FloatArray | None]:
        """Return classifier, σ and second derivatives (None for the hinge) of a sample, its costs scaled up to the total."""
        n = view.n
        count = _sample_size(view)
        rows = sample_rows(view.rows, count)
        pieces = [slice(start, stop) for start, stop in view.rows.sample_pieces(count)]
        y = np.concatenate([view.y[piece] for piece in pieces])
        costs = np.concatenate([view.costs[piece] for piece in pieces]) * (n / y.size)
        state = self.__class__(sample=False).init(
            LinearProblem(rows, y, costs, view.mu, view.loss, view.free),
            Options(tol=_SAMPLE_TOL[view.loss]),
            np.random.default_rng(0),
        )
        while self.advance(state, 0.0) is Outcome.RUNNING and time.perf_counter() < end:
            pass
        H = None
        if view.loss is not LinearLoss.HINGE and not _uses_products(view):
            H = second_derivatives(state.problem, None, state.loss_curvature, state.block_bytes)[1]
        return state.best_w, state.sigma * y.size / n, H

    def advance(self, state: LinearState, seconds: float) -> Outcome:
        """Take a Newton step, change the multipliers or take epochs of coordinate descent; at least one pass over the rows."""
        with blas_threads(state.w.size):
            return self._step(state, seconds)

    def _step(self, state: LinearState, seconds: float) -> Outcome:
        if state.steps >= state.limit:
            if not state.dual_is_current and state.descent is None:
                state.update_dual(weighted_row_sum(state.problem, state.alpha, state.block_bytes))
            return Outcome.CONVERGED if state.gap <= state.tol else Outcome.ITERATION_LIMIT
        if state.descent is not None:
            return self._descend(state, state.descent, time.perf_counter() + seconds)
        outcome, H = self._prepare_step(state)
        if outcome is not None:
            return outcome
        try:
            s = _newton_direction(state, H)
        except np.linalg.LinAlgError:
            return self._multipliers(state)
        small = state.residual <= 1e-9 * state.best_primal
        state.idle = state.idle + 1 if small and state.residual > 0.5 * state.previous_residual else 0
        state.previous_residual = state.residual
        if state.idle >= _IDLE:  # the rest of the gradient is rounding
            return self._multipliers(state)
        self._move(state, s)
        return Outcome.RUNNING

    def _descend(self, state: LinearState, descent: CoordinateDescent, end: float) -> Outcome:
        """Take epochs of coordinate descent until the time is over; where the gap does not close, Newton steps follow."""
        while True:
            state.steps += 1
            state.passes += 1
            if descent.epoch() or state.steps >= state.limit:
                self._take_over(state, descent)
                if state.gap <= state.tol:
                    return Outcome.CONVERGED
                descent.schedule_gap_check(state.gap, state.tol)
                if descent.epochs >= _EPOCHS:  # Newton steps take over
                    state.a[:], state.descent = descent.alpha, None
                    state.evaluate()
                    return Outcome.RUNNING
            if state.steps >= state.limit or time.perf_counter() >= end:
                return Outcome.RUNNING

    def _take_over(self, state: LinearState, descent: CoordinateDescent) -> None:
        """Compute w and margins from coordinate descent's α, and the objectives of both, which may be the best; two passes."""
        view = state.problem
        v = weighted_row_sum(view, descent.alpha, state.block_bytes)
        descent.w[:] = v / (2.0 * view.mu)
        state.w, state.u = descent.w.copy(), margins(view, descent.w, state.block_bytes)
        state.passes += 2
        descent.reactivate(state.u)
        primal = state.regulariser(state.w) + float((view.costs * view.loss.values(state.u)).sum())
        dual = view.loss.dual_terms(descent.alpha, view.costs).value - float(v @ v) / (4.0 * view.mu)
        if primal < state.best_primal:
            state.best_primal, state.best_w = primal, state.w
        if dual > state.best_dual:
            state.best_dual = dual
            state.best_alpha[:] = descent.alpha

    def _prepare_step(self, state: LinearState) -> tuple[Outcome | None, FloatArray | None]:
        """Compute missing gradient and gap, and apply what follows from them; return the second derivatives for a step if a step
        follows.
        """
        problem = state.problem
        wide = _uses_products(problem) or has_few_rows(problem)
        gap_is_small = state.gap <= np.sqrt(state.tol)  # the gap first, without second derivatives
        if not state.dual_is_current and (gap_is_small or wide or state.sample_derivatives is not None):
            state.update_dual(weighted_row_sum(problem, state.alpha, state.block_bytes))
        if state.dual_is_current and (outcome := self._stop_or_update(state)) is not None:
            return outcome, None
        if state.sample_derivatives is not None and state.residual <= _FALL * state.previous_residual:
            return None, state.sample_derivatives.copy()
        state.sample_derivatives = None
        if wide:
            return None, None
        v, H = second_derivatives(
            problem, None if state.dual_is_current else state.alpha, state.loss_curvature, state.block_bytes
        )
        if state.dual_is_current:
            return None, H
        state.update_dual(v)
        return self._stop_or_update(state), H

    def _stop_or_update(self, state: LinearState) -> Outcome | None:
        """Return the end or the change of the multipliers; None if a Newton step follows."""
        if self._has_converged(state):
            return Outcome.CONVERGED
        return self._multipliers(state) if state.smoothing_dominates(_SHARE) else None

    def _has_converged(self, state: LinearState) -> bool:
        """Return whether the gap is small enough at α and the w that follows from α, so that stationarity is exact; one more
        pass.

        If α and that w do not meet the tolerance together, the best w and the best α of all steps are the answer after
        `_TRIALS` trials, or a few more steps: their gap proves it. At a tolerance of `_LOOSE` or more they are the answer at
        once, since stationarity would take the hinge twice the passes.
        """
        if state.gap > state.tol or state.tol >= _LOOSE:
            return state.gap <= state.tol
        state.trials += 1
        state.steps_to_tolerance = state.steps_to_tolerance or state.steps
        stalled = state.trials > _TRIALS and state.residual <= 1e-12 * state.best_primal
        if stalled or state.steps > state.steps_to_tolerance + min(state.steps_to_tolerance // 2, _MORE):
            return True
        view, w = state.problem, state.w.copy()
        w[view.penalised] -= state.gradient[view.penalised] / (2.0 * view.mu)
        u = margins(view, w, state.block_bytes)
        state.passes += 1
        loss = float((view.costs * view.loss.values(u)).sum())
        return state.accept_if_converged(w, state.regulariser(w) + loss)

    def _multipliers(self, state: LinearState) -> Outcome:
        """Set the next multipliers of the hinge and a larger σ; stall after several changes without progress."""
        state.stale = state.stale + 1 if state.gap > 0.9 * state.previous_gap else 0
        state.previous_gap = min(state.gap, state.previous_gap)
        if state.problem.loss is not LinearLoss.HINGE or state.stale >= _STALE:
            return Outcome.STALLED
        state.a, state.alpha = state.alpha, state.a
        state.sigma *= _GROWTH
        state.inner = state.idle = 0
        state.evaluate()
        return Outcome.RUNNING

    def _margins(self, state: LinearState, s: FloatArray) -> tuple[FloatArray, FloatArray | None]:
        """Return the margins of a direction; if full steps are good, with the gradient's sum after a full step."""
        if state.full:
            return margins_and_weighted_row_sum(state.problem, s, state.weights, state.block_bytes)
        state.passes += 1
        return margins(state.problem, s, state.block_bytes), None

    def _move(self, state: LinearState, s: FloatArray) -> None:
        """Move along s to a point where the slope is at most a tenth of its first value in size."""
        du, v = self._margins(state, s)
        t = self._length(state, s, du)
        state.w = state.w + t * s
        du *= t
        state.u += du
        state.steps += 1
        state.inner += 1
        state.evaluate()
        if v is not None and t == 1.0:
            state.update_dual(v)
        elif v is not None:
            state.passes += 1
        state.full = t == 1.0 and state.problem.loss is not LinearLoss.HINGE

    def _length(self, state: LinearState, s: FloatArray, du: FloatArray) -> float:
        """Return the step length by halving a bracket, as the slope grows with t."""
        view, costs = state.problem, state.problem.compact_costs
        pull = state.ridge * s
        linear, square = float(state.w @ pull), float(s @ pull)

        def rise(t: float) -> float:
            fall = negative_loss_slope(t, state.u, du, state.a, costs, int(costs.size > 1), state.sigma, int(view.loss))
            return linear + t * square - fall

        enough, t, low, high = 0.1 * abs(rise(0.0)), 1.0, 0.0, np.inf
        for _ in range(60):
            value = rise(t)
            if abs(value) <= enough:
                break
            low, high = (t, high) if value < 0 else (low, t)
            t = 2.0 * t if high == np.inf else 0.5 * (low + high)
        return t

    def measure(self, state: LinearState) -> ProgressState:
        """Return the best objective and bound, and the number of points with curved loss."""
        step = "newton" if state.descent is None else "coordinate"
        return ProgressState(state.steps, state.best_primal, state.best_dual, active=int(state.sums[2]), step=step)

    def answer(self, state: LinearState) -> Answer:
        """Return the best w and the best α, which may come from different steps."""
        view = state.problem
        alpha = view.feasible(state.best_alpha) if view.free else state.best_alpha
        reduced: FloatArray | None = None
        if view.loss is not LinearLoss.LOGISTIC:  # whose form has other variables, none of which is at a bound
            reduced = np.zeros(state.w.size + view.n)
        if view.loss is LinearLoss.HINGE and reduced is not None:
            np.subtract(view.costs, alpha, out=reduced[state.w.size :])
        details = {"passes": state.passes, "sigma": state.sigma, "block_bytes": int(state.block_bytes)}
        return Answer(values={"w": state.best_w}, multipliers={"margin": alpha}, reduced=reduced, details=details)


def _sample_size(view: LinearProblem) -> int:
    return max(view.n // 50, _ROWS[view.loss] * view.rows.shape[1])


def _sample_bytes(view: LinearProblem) -> float:
    return _COPIES * _sample_size(view) * view.rows.row_bytes


def _block_budget(n: int, p: int, limit: float | None) -> float:
    """Return the bytes for blocks of rows; inf without a limit."""
    if limit is None:
        return np.inf
    try:
        memory_in_use = peak_memory()
    except ImportError as error:
        message = "memory_limit of linear-newton needs a system that counts what a process holds; leave it out here"
        raise InputError(message) from error
    size = memory_in_use + 8 * _VECTORS * n + (8 * _MATRICES * p * p if p <= MAX_COLUMNS else 200 * p)
    if limit - size < _BLOCKS * 2**18:
        raise TooLargeError(
            f"linear-newton needs {size + _BLOCKS * 2**18:,.0f} bytes for "
            f"{count_text(n, 'row', spec=',')} of {count_text(p, 'column', spec=',')}, {memory_in_use:,} of "
            f"which the process has had already; memory_limit is {limit:,.0f}",
            name="memory_limit",
        )
    return limit - size
