"""Training of the nonparallel classifier K-NPSVC++ by alternating steps in U, V, P and τ.

It is Algorithm 1 of Zhang, Lai, Zhou and Liang, *NPSVC++* (2024), with errata corrected; numbers of formulas are theirs. The
problem is `ChebyshevNPSVC`: min over U, V and P, P'P = I, of max_l ϖ_l J_l. Row l of U is the hyperplane u_l of class l over the
kernel's features, row l of V its weights v_l of the d learned features, which are the columns of P; the objective J_l has the
penalty r1/2||u_l - Pv_l||², the term μ/2 tr(P'SP) of a neighbour graph and, for fixed P and v_l, a dual point λ_l; ϖ_l > 0 is
its weight. τ ≥ 0, Στ = 1, are the multipliers
of the maximum. G_l is the gradient of ϖ_l J_l in P, and grad_l its projection to the tangent space of P'P = I. The P-step
(19) minimises Σ τ_l ϖ_l J_l over P'P = I, the τ-step (20) ½||Σ τ_l grad_l||² - γ Σ τ_l ϖ_l J_l over the simplex. Each step can be
given to another solver.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from typing import Literal

import numpy as np

from ...errors import InputError, short_text
from ...models.arrays import FloatArray, as_integer, as_positive
from ...models.formulations.nonparallel.chebyshev import ChebyshevNPSVC
from ...models.formulations.nonparallel.hinge_quadratic import HingeQuadratic
from ...models.formulations.pareto import GradientKind, ParetoQP, manifold_gradient
from ...models.formulations.stiefel import polar
from ...models.views import StiefelProblem
from ..box.descent import box_minimum
from ..box.state import load_descent
from ..interface.algorithm import Algorithm, Outcome
from ..interface.recorder import ProgressState
from ..records import Answer, Options, relative_gap
from ..registry import SolverLike
from ..simplex.common import load_loops
from ..simplex.smo import SMO
from ..solve import solve_raw
from ..stiefel import orthonormal_start
from . import RECORDS

#: Seconds for all problems of an answer together after the time limit.
_ANSWER = 0.2


@dataclass(frozen=True)
class NPSVCStep:
    """Record of an outer iteration: J_l, their weighted maximum, τ and Pareto stationarity after the steps in U and V.

    The Stiefel gradient and the movement of P are those of the P-step before.

    ``dual`` is the dual value for the P of this iteration, Σ τ_l ϖ_l min J_l (proved: from dual points of the classes' own
    problems), and ``gap`` the relative gap of max ϖ_l J_l to it; NaN if ``dual_values`` is off. For a fixed P the largest dual
    value, all weight on the largest class, meets the primal optimum: the gap measures how far τ and U, V are from that.
    """

    objectives: tuple[float, ...]  #: J_l of each class
    largest: float  #: max ϖ_l J_l
    tau: tuple[float, ...]  #: τ_l of each class
    pareto: float  #: least norm of a convex combination of the gradients, relative; 0 at a Pareto stationary P
    stiefel: float  #: relative Riemannian gradient of the P-step
    movement: float  #: ||P - P_old||/√d
    dual: float = float("nan")  #: dual value Σ τ_l ϖ_l min J_l; NaN if it is not computed
    gap: float = float("nan")  #: relative gap of ``largest`` to ``dual``


@dataclass(frozen=True, eq=False)
class NPSVCPoint:
    """A point of the iteration: P with τ, U, V, the classes' dual points, and max ϖ_l J_l."""

    value: float  #: max ϖ_l J_l
    P: FloatArray  #: (features, d) projection, orthonormal columns
    tau: FloatArray  #: (K,) τ
    U: FloatArray  #: (K, features) hyperplanes u_l
    V: FloatArray  #: (K, d) weights v_l of the learned features
    lam: tuple[FloatArray | None, ...]  #: dual point λ_l of each class's problem; None before its first


@dataclass(eq=False)
class NPSVCState:
    """The state of a run: U, V, P, τ and the classes' dual points λ_l."""

    model: ChebyshevNPSVC  #: the model
    U: FloatArray  #: (K, features) hyperplanes u_l
    V: FloatArray  #: (K, d) weights v_l of the learned features
    P: FloatArray  #: (features, d) projection, orthonormal columns
    tau: FloatArray  #: (K,) τ
    lam: list[FloatArray | None]  #: λ_l; None before the first
    tol: float  #: Pareto stationarity to be reached
    limit: float  #: largest number of outer iterations
    seed: int  #: seed of the inner solves
    stiefel: float = float("nan")  #: relative Riemannian gradient at the end of the last P-step
    movement: float = float("inf")  #: length of the last iteration's move of P, ||P - P_old||/√d
    steps: list[NPSVCStep] = field(default_factory=list)  #: records of the outer iterations
    best: NPSVCPoint | None = None  #: the point of least max ϖ_l J_l of the iterations so far
    deadline: float = float("inf")  #: by the clock of `time.perf_counter`: the classes' problems end there too

    def record_best(self, value: float) -> None:
        """Keep the present point if it is the best so far."""
        if self.best is None or value < self.best.value:
            self.best = NPSVCPoint(value, self.P.copy(), self.tau.copy(), self.U.copy(), self.V.copy(), tuple(self.lam))

    def restore_best(self) -> None:
        """Return to the best point."""
        if self.best is not None:
            self.P, self.tau, self.U, self.V = (part.copy() for part in (self.best.P, self.best.tau, self.best.U, self.best.V))
            self.lam = list(self.best.lam)

    def problem_deadline(self, count: int) -> float:
        """Return the deadline of one of ``count`` problems of the answer, which share `_ANSWER` seconds after the limit."""
        return max(self.deadline, time.perf_counter() + _ANSWER / count)


@dataclass(frozen=True)
class KernelNPSVCpp(Algorithm[ChebyshevNPSVC, NPSVCState]):
    """Algorithm 1 of NPSVC++: U by K box QPs, V in closed form, P by (19), τ by (20), then P along the common descent direction.

    **Errata** mended: the factor r1 of (16), see `ChebyshevNPSVC.class_program`; H = σI - μS on line 9 (σ shifts the objective by
    a constant on the manifold: the power iteration adds the shift that it needs, the others add 0); the Riemannian gradient of
    (20).

    It stops where P is Pareto stationary with every class at its optimum, ||Σ τ_l grad_l|| / max_l ||G_l|| ≤ tol for the best τ
    (status STATIONARY), when P stops moving, or is stationary but worse than an earlier P (STALLED), or at the iteration limit
    (10 as in the released code, unless ``iteration_limit`` is given). Right after a P-step the gradients always combine to zero,
    for the U, V that the step was taken at: the criterion uses the residual at the classes' next optimum. At the end every
    class's own problem is solved for the final P: those (U, V) are the answer.

    Parameters
    ----------
    gamma : float
        γ ≥ 0: weight of the objectives' values in the τ-step, so that larger objectives get more weight.
    eta : float
        Step η ≥ 0 along the common direction.
    weight : float
        Share of the new τ in (0, 1]; 1 as printed, 0.75 in the released code.
    classes : {"alternate", "joint"}
        U at the last V, then V, as printed; or both at once (v_l eliminated, the same box QP with d more columns).
    qp : str
        Solver of the classes' problems: ``"boxqp"`` or any that reads their form.
    stiefel : str
        Solver of (19): "stiefel-bb", "gpi-momentum", "gpi" (published), or any that reads `StiefelProblem`.
    simplex : str
        Solver of (20), an algorithm or backend that reads its QP on the unit simplex.
    gradient : {"embedded", "printed"}
        grad_l in the τ-step: the projection of G_l to the tangent space, or (G_l P' - P G_l')P as printed.
    inner_tol : float
        Relative gap of the classes' problems.
    sweeps : int
        Iteration limit of the P-step; 25 as in the released code.
    dual_values : bool
        Record the dual value of every iteration: with ``classes="alternate"`` that takes a second problem for each class.

    Raises
    ------
    InputError
        A parameter out of range.
    """

    gamma: float = 0.1
    eta: float = 0.1
    weight: float = 0.75
    classes: Literal["alternate", "joint"] = "alternate"
    qp: SolverLike = "boxqp"
    stiefel: SolverLike = "stiefel-bb"
    simplex: SolverLike = "smo"
    gradient: GradientKind = "embedded"
    inner_tol: float = 1e-6
    sweeps: int = 25
    dual_values: bool = False

    info = RECORDS["kernel-npsvcpp"]

    def __post_init__(self) -> None:
        super().__post_init__()
        for name in ("gamma", "eta"):
            as_positive(getattr(self, name), name, zero=True, infinite=True)
        if not as_positive(self.weight, "weight") <= 1:
            raise InputError(f"weight must lie in (0, 1]; it is {short_text(self.weight)}", name="weight")
        as_positive(self.inner_tol, "inner_tol")
        as_integer(self.sweeps, "sweeps", 1)

    def load(self, view: ChebyshevNPSVC) -> None:
        """Load the loops of the steps before the clock starts."""
        if self.qp == "boxqp":
            load_descent()
        if self.simplex == "smo":
            load_loops(SMO, "single")

    def init(self, view: ChebyshevNPSVC, options: Options, rng: np.random.Generator) -> NPSVCState:
        """Return the state with τ = 1/K, V Gaussian of unit length, P the Q factor of a Gaussian matrix; ``start`` may hold "P"
        and "V".
        """
        begin = time.perf_counter()
        view.check_memory()
        size, d, K = view.features.dimension, int(view.d or 1), view.K
        start = {} if options.start is None else options.start
        problem = StiefelProblem(np.zeros((0, 0)), np.zeros((size, d)))
        P = orthonormal_start(problem, start.get("P"), rng)
        V = rng.standard_normal((K, d))
        V /= np.linalg.norm(V, axis=1, keepdims=True)
        if "V" in start:
            V = np.array(start["V"], dtype=np.float64)
            if V.shape != (K, d) or not np.isfinite(V).all():
                raise InputError(f"start['V'] must be a finite matrix of shape {(K, d)}; its shape is {V.shape}", name="start")
        limit = 10.0 if options.iteration_limit is None else float(options.iteration_limit)
        tol = options.tolerance(self.info.tolerance)
        state = NPSVCState(view, np.zeros((K, size)), V, P, np.full(K, 1.0 / K), [None] * K, tol, limit, options.seed)
        state.deadline = np.inf if options.time_limit is None else begin + options.time_limit
        return state

    def advance(self, state: NPSVCState, seconds: float) -> Outcome:
        """Run outer iterations for about ``seconds``, at least one."""
        end = time.perf_counter() + seconds
        while True:
            if len(state.steps) >= state.limit:
                return Outcome.ITERATION_LIMIT
            self._class_steps(state, joint=self.classes == "joint")
            self._record(state)
            if time.perf_counter() >= state.deadline:  # the classes' problems ended early, at the deadline
                return Outcome.RUNNING
            if state.steps[-1].pareto <= state.tol and self._is_stationary(state):
                # an earlier iteration was better: its point is the answer, and it is not stationary
                return Outcome.STALLED if self._has_worsened(state, state.steps[-1].largest) else Outcome.STATIONARY
            self._projection_steps(state)
            if state.movement <= 1e-12:
                return Outcome.STALLED
            if time.perf_counter() >= end:
                return Outcome.RUNNING

    def _class_steps(self, state: NPSVCState, *, joint: bool) -> None:
        """Update U and V for the present P: U at the last V, then V; or both at once."""
        model = state.model
        if not joint and self.qp == "boxqp":
            programs = model.pieces.programs(state.P, state.V)
            pairs, end = zip(programs, state.lam, strict=True), state.deadline
            lams = [box_minimum(p.box, lam, self.inner_tol, deadline=end)[0] for p, lam in pairs]
            state.U, state.lam = model.pieces.points(programs, lams), list(lams)
        else:
            for k in range(model.K):
                program = model.class_program(k, state.P, None if joint else state.V[k])
                state.U[k], state.lam[k] = self._class(program, state.lam[k], state.deadline)
        state.V = model.v_step(state.P, state.U)

    def _record(self, state: NPSVCState) -> None:
        """Record J_l and the residual of Pareto stationarity, both at the current U, V, P."""
        J = state.model.objectives(state.U, state.V, state.P)
        largest = float((np.asarray(state.model.weights) * J).max())
        residual, dual = self._residual(state), self._dual_value(state) if self.dual_values else float("nan")
        gap = relative_gap(largest, dual) if self.dual_values else float("nan")
        step = NPSVCStep(
            tuple(J.tolist()), largest, tuple(state.tau.tolist()), residual, state.stiefel, state.movement, dual, gap
        )
        state.steps.append(step)
        state.record_best(largest)

    def _dual_value(self, state: NPSVCState) -> float:
        """Return Σ τ_l ϖ_l D_l for the present P, D_l the dual value of class l's own problem."""
        values = np.zeros(state.model.K)
        for k in range(state.model.K):
            program = state.model.class_program(k, state.P)
            lam, _ = box_minimum(program.box, state.lam[k], self.inner_tol, deadline=state.deadline)
            values[k] = program.bound(None, {"margin": lam}).value
        return float(state.tau @ (np.asarray(state.model.weights) * values))

    def _residual(self, state: NPSVCState) -> float:
        """Return min over τ of ||Σ τ_l grad_l||, relative to the largest ||G_l||.

        grad_l would be no scale: all of them vanish if every u_l lies in the span of P.
        """
        gradients = state.model.gradients(state.U, state.V, state.P)
        problem = ParetoQP(np.stack([manifold_gradient(state.P, G) for G in gradients]), np.zeros(state.model.K), 0.0)
        scale = float(np.sqrt(np.sum(gradients**2, axis=(1, 2)).max()))
        return float(np.linalg.norm(problem.direction(self._weights(problem)))) / scale if scale > 0 else 0.0

    def _is_stationary(self, state: NPSVCState) -> bool:
        """Return whether P is Pareto stationary with every class at its optimum, not only at the last U, V."""
        if self.classes != "joint":
            self._class_steps(state, joint=True)
        return self._residual(state) <= state.tol

    def _projection_steps(self, state: NPSVCState) -> None:
        """Update P by (19), τ by (20), and P along the common direction."""
        model, old = state.model, state.P
        state.P = self._projection(state)
        weighted = np.asarray(model.weights) * model.objectives(state.U, state.V, state.P)
        gradients = model.gradients(state.U, state.V, state.P)
        pareto = ParetoQP(np.stack([manifold_gradient(state.P, G, self.gradient) for G in gradients]), weighted, self.gamma)
        state.tau = self.weight * self._weights(pareto) + (1.0 - self.weight) * state.tau
        if self.eta > 0:
            state.P = polar(state.P + self.eta * pareto.direction(state.tau))
        state.movement = float(np.linalg.norm(state.P - old)) / np.sqrt(state.P.shape[1])

    def _class(self, program: HingeQuadratic, start: FloatArray | None, deadline: float) -> tuple[FloatArray, FloatArray]:
        """Return u_l and λ_l of a class's problem."""
        if self.qp == "boxqp":
            lam, _ = box_minimum(program.box, start, self.inner_tol, deadline=deadline)
            return program.primal(lam), lam
        answer = solve_raw(self.qp, program, Options(tol=self.inner_tol))
        values, multipliers = dict(answer.values or {}), dict(answer.multipliers or {})
        return values["u"], program.multiplier(multipliers)

    def _projection(self, state: NPSVCState) -> FloatArray:
        """Return P of the P-step (19) from the current P."""
        model = state.model
        share = state.tau * np.asarray(model.weights)
        E = model.r1 * (state.U.T * share) @ state.V
        problem = model.pieces.p_step_problem(float(share.sum()), E)
        if model.mu == 0.0:  # the maximiser of <P, E> is known
            P = polar(E)
        else:
            options = Options(start={"P": state.P}, tol=1e-6, iteration_limit=self.sweeps, seed=state.seed)
            P = dict(solve_raw(self.stiefel, problem, options).values or {})["P"]
        state.stiefel = problem.stationarity(P)
        return P

    def _weights(self, problem: ParetoQP) -> FloatArray:
        """Return τ of the τ-step (20), on the simplex to rounding.

        If the optimum is 0 (Pareto stationary) no relative gap closes: the number of pair steps is limited, and the problem is
        scaled to size 1.
        """
        options = Options(tol=1e-8, iteration_limit=100 * problem.objectives.size)
        problem = problem.scaled()
        tau = np.maximum(dict(solve_raw(self.simplex, problem, options).values or {})["a"], 0.0)
        return np.asarray(tau / tau.sum())

    def measure(self, state: NPSVCState) -> ProgressState:
        """Return max ϖ_l J_l; there is no bound while P moves."""
        value = state.steps[-1].largest if state.steps else float("nan")
        return ProgressState(len(state.steps), value, active=int(np.count_nonzero(state.tau > 1e-8)), step="outer")

    def answer(self, state: NPSVCState) -> Answer:
        """Return every class's own optimum for the final P or, if its max ϖ_l J_l is less, for the best P of all iterations."""
        final, value = self._class_optima(state)
        if not self._has_worsened(state, value):
            return final
        state.restore_best()
        best, largest = self._class_optima(state)
        return best if largest < value else final

    def _has_worsened(self, state: NPSVCState, value: float) -> bool:
        """Return whether the best iteration was better by more than the classes' problems' error."""
        return state.best is not None and value > state.best.value + self.inner_tol * abs(state.best.value)

    def _class_optima(self, state: NPSVCState) -> tuple[Answer, float]:
        """Return every class's own optimum for the present P, certified by the model with that P, and max ϖ_l J_l."""
        fixed = state.model.at(state.P)
        U, lam, bounds = np.zeros_like(state.U), [], np.zeros(fixed.K)
        for k in range(fixed.K):
            program = fixed.class_program(k)
            point, gap = box_minimum(
                program.box, state.lam[k], min(self.inner_tol, 1e-8), deadline=state.problem_deadline(fixed.K)
            )
            U[k] = program.primal(point)
            lam.append(point)
            bounds[k] = program.value(U[k]) - gap
        V = fixed.v_step(state.P, U)
        values = fixed.values(U, V)
        weighted = np.asarray(fixed.weights) * fixed.objectives(U, V)
        largest = int(np.argmax(weighted))
        multipliers, reduced = fixed.multipliers(values, largest, lam[largest])
        state.U, state.V = U, V
        answer = Answer(
            values=values,
            multipliers=multipliers,
            reduced=reduced,
            model=fixed,
            optimised_parameters={"P": state.P, "tau": state.tau},
            stationarity=self._residual(state),
            history=[vars(step) for step in state.steps],
            details={
                "objectives": (weighted / np.asarray(fixed.weights)).tolist(),
                "dual_value": float(state.tau @ (np.asarray(fixed.weights) * bounds)),
            },
        )
        return answer, float(weighted[largest])


@dataclass(frozen=True)
class Alternating(KernelNPSVCpp):
    """Algorithm 1 with off-the-shelf solvers in every step unless others are named; the parameters are `KernelNPSVCpp`'s.

    ``solve(model, "alternating", qp="piqp", stiefel="pymanopt", simplex="clarabel")``. At the end `boxqp` brings the classes' own
    problems to the accuracy of the certificate, whatever solved them before.
    """

    qp: SolverLike = "clarabel"
    stiefel: SolverLike = "pymanopt"
    simplex: SolverLike = "clarabel"

    info = RECORDS["alternating"]
