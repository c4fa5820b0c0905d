"""The laws of solvers: properties of their results on formulations, and on infeasible and unbounded programs.

A law is a function of a `Trial` (a solver on an instance of a formulation) or of a solver, which returns a `LawVerdict`; its
docstring states the law. `examine` tests them. `broken_conditions` checks the optimality conditions of a result from the form's
data and the definitions of the cones. It does not use the projections in `models.program.cones`, on which certificates rely, so
that it can find an error there.
"""

from __future__ import annotations

import functools
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

from ..errors import LicenceError, TooLargeError, UnsupportedModelError, count_text
from ..models.arrays import FloatArray
from ..models.model import BareForm, Model
from ..models.program.cones import PSD, Cone, Feature, Nonnegative, RotatedSecondOrder, SecondOrder, Zero, smat
from ..models.program.exponential_cones import Exponential, Power
from ..models.program.form import Block, Constraint, StandardForm
from ..models.program.quadratic import Quadratic
from ..models.record import DataKind
from ..solvers import load_result, solve
from ..solvers.certification.result import Result
from ..solvers.interface.solver import NONCONVEX_FEATURES, Gives, Solver
from ..solvers.records import Status
from ..solvers.registry import is_installed
from .laws import Case, Laws, LawVerdict, all_of, at_most, holds, not_applicable, violated


@functools.singledispatch
def _cone_violation(cone: Cone, v: FloatArray) -> float:
    """Return the largest violation of v ∈ cone, from the cone's definition; at most 0 for a point of the cone."""
    raise NotImplementedError(f"no definition of {type(cone).__name__} is written here")


@_cone_violation.register
def _(cone: Zero, v: FloatArray) -> float:
    return float(np.abs(v).max(initial=0.0))


@_cone_violation.register
def _(cone: Nonnegative, v: FloatArray) -> float:
    return float(np.maximum(-v, 0.0).max(initial=0.0))


@_cone_violation.register
def _(cone: SecondOrder, v: FloatArray) -> float:
    rows = v.reshape(cone.count, cone.dim)
    return float(np.maximum(np.linalg.norm(rows[:, 1:], axis=1) - rows[:, 0], 0.0).max(initial=0.0))


@_cone_violation.register
def _(cone: RotatedSecondOrder, v: FloatArray) -> float:
    rows = v.reshape(cone.count, cone.dim)
    a, b, c = rows[:, 0], rows[:, 1], rows[:, 2:]
    norm = np.sqrt((c * c).sum(axis=1) + 0.5 * (a - b) ** 2)  # 2ab ≥ ||c||² is ||(c, (a-b)/√2)|| ≤ (a+b)/√2
    return float(np.maximum(norm - (a + b) / np.sqrt(2), 0.0).max(initial=0.0))


@_cone_violation.register
def _(cone: PSD, v: FloatArray) -> float:
    return max((float(-np.linalg.eigvalsh(smat(row)).min()) for row in v.reshape(cone.count, cone.dim)), default=0.0)


@_cone_violation.register
def _(cone: Exponential, v: FloatArray) -> float:
    x, y, z = v.reshape(cone.count, 3).T
    with np.errstate(all="ignore"):
        value = np.where(y > 0.0, y * np.exp(x / y), np.where(x > 0.0, np.inf, 0.0))
    # a point of the cone at that distance or nearer: z raised, or the point of the face y = 0
    face = np.maximum(np.maximum(x, 0.0), np.maximum(np.abs(y), np.maximum(-z, 0.0)))
    return float(np.minimum(np.maximum(np.maximum(value - z, -y), 0.0), face).max(initial=0.0))


@_cone_violation.register
def _(cone: Power, v: FloatArray) -> float:
    x, y, z = v.reshape(cone.count, 3).T
    value = np.maximum(x, 0.0) ** cone.alpha * np.maximum(y, 0.0) ** (1.0 - cone.alpha)
    return float(np.maximum(np.maximum(np.abs(z) - value, 0.0), np.maximum(-x, -y)).max(initial=0.0))


def broken_conditions(form: StandardForm, result: Result, tol: float) -> list[str]:
    """Return the optimality conditions that a point and its multipliers violate, with figures; empty if optimal to ``tol``.

    The form is min f(x) = ½x'Px + q'x + r with F_k x + g_k in cones K_k and bounds of x; z_k are the multipliers of the cones, ζ
    those of the bounds (reduced costs). The conditions follow from the Lagrangian f(x) - Σ<z_k, F_k x + g_k> - <ζ, x>: P x + q =
    ΣF_k'z_k + ζ, F_k x + g_k in K_k, z_k in the dual cone K_k*, complementarity, and ζ_j ≥ 0 where only the lower bound can be
    active, ≤ 0 where only the upper one can. The cones are self-dual apart from {0} and those with a ``dual_map``.

    Parameters
    ----------
    form : StandardForm
        Without integers and indicators.
    result : Result
        With multipliers.
    tol : float
        Relative to the sizes of the terms compared.
    """
    if result.multipliers is None:
        return ["there are no multipliers"]
    x = form.join(result.values)
    zeta = np.zeros(form.n) if result.reduced is None else form.join(result.reduced)
    gradient = form.q.copy()
    if form.quadratic is not None:
        gradient = gradient + form.quadratic.materialised @ x
    scale = 1.0 + float(np.abs(gradient).max(initial=0.0)) + abs(form.objective(x))
    broken: list[str] = []
    residual = gradient - zeta
    for c in form.constraints:
        z = np.asarray(result.multipliers[c.label])
        broken += _constraint(c, x, z, tol, scale)
        residual = residual - c.F.T @ z
    worst = float(np.abs(residual).max(initial=0.0))
    if not worst <= tol * scale:
        broken.append(f"stationarity fails by {worst:.2e}, allowed {tol * scale:.1e}")
    return broken + list(_bounds(form, x, zeta, tol, scale))


def _constraint(c: Constraint, x: FloatArray, z: FloatArray, tol: float, scale: float) -> Iterator[str]:
    value = np.asarray(c.F @ x + c.g)
    size = 1.0 + max(float(np.abs(value).max(initial=0.0)), float(np.abs(z).max(initial=0.0)))
    violation = _cone_violation(c.cone, value)
    if not violation <= tol * size:
        yield f"{c.label} is violated by {violation:.2e}, allowed {tol * size:.1e}"
    mapped = z if c.cone.dual_map is None else (z.reshape(c.cone.count, c.cone.dim) @ c.cone.dual_map.T).ravel()
    violation = 0.0 if isinstance(c.cone, Zero) else _cone_violation(c.cone, mapped)  # the dual of {0} is everything
    if not violation <= tol * size:
        yield f"the multipliers of {c.label} leave the dual cone by {violation:.2e}, allowed {tol * size:.1e}"
    product = abs(float(z @ value))
    if not product <= tol * scale * size:
        yield f"{c.label} is not complementary: {product:.2e}, allowed {tol * scale * size:.1e}"


def _bounds(form: StandardForm, x: FloatArray, zeta: FloatArray, tol: float, scale: float) -> Iterator[str]:
    for side, bound, price in (("lower", form.lower, np.maximum(zeta, 0.0)), ("upper", form.upper, np.maximum(-zeta, 0.0))):
        finite = np.isfinite(bound)
        free = float(price[~finite].max(initial=0.0))
        if not free <= tol * scale:
            yield f"a {side} bound that is not there has a price of {free:.2e}"
        slack = np.abs(x - np.where(finite, bound, x))
        product = float((price * slack).max(initial=0.0))
        limit = tol * scale * (1.0 + float(slack.max(initial=0.0)))
        if not product <= limit:
            yield f"a {side} bound is not complementary: {product:.2e}, allowed {limit:.1e}"
    violation = float(np.maximum(form.lower - x, x - form.upper).max(initial=0.0))
    if not (violation <= tol * (1.0 + np.abs(x).max(initial=0.0))):
        yield f"a bound is violated by {violation:.2e}"


#: Relative gaps for solvers whose record states no ``achievable_gap``: for first-order methods, and for the others.
_FIRST_ORDER_TOL, _DEFAULT_TOL = 1e-4, 1e-6
#: Limits of a solve, in seconds and iterations. A solver that reaches one has not solved the case.
_CASE_SECONDS, _CASE_ITERATIONS = 60.0, 1_000_000
#: Seconds for the global optimum of a nonconvex continuous program. Its search need not end: bound and objective are compared.
_SEARCH_SECONDS = 0.5


def unusable_reason(solver: Solver) -> str:
    """Return the reason why a solver cannot be run on this machine; empty if it can."""
    if not is_installed(solver):
        return f"the package {solver.info.package or solver.info.module} is not installed"
    licence = solver.licence()
    return "" if licence.usable else f"licence: {licence.state.value}"


@dataclass(frozen=True, eq=False)
class Trial:
    """A solver applied to a case: the subject of the solver laws.

    Parameters
    ----------
    solver : Solver
        The solver under test.
    case : Case
        A formulation on a tiny instance.
    """

    solver: Solver
    case: Case

    @property
    def name(self) -> str:
        """The names of solver and case."""
        return f"{self.solver.info.name} / {self.case.name}"

    @property
    def tol(self) -> float:
        """The relative gap that the solves must reach: the solver's ``achievable_gap``, else 1e-4 (first-order) or 1e-6."""
        info = self.solver.info
        return info.achievable_gap or (_FIRST_ORDER_TOL if info.first_order else _DEFAULT_TOL)

    @cached_property
    def obstacle(self) -> str:
        """The reason why the solver cannot read the case; empty if it can."""
        return self.solver.obstacle(self.case.model) or ""

    @cached_property
    def licence_refusal(self) -> str:
        """The reason why the licence does not cover a case of this size; empty if it does."""
        if self.solver.info.views or self.case.form is None:
            return ""
        return self.solver.licence().refusal(self.case.form) or ""

    @property
    def skip_reason(self) -> str:
        """The reason why the solver cannot solve the case (no package, no licence, not read); empty if it can.

        Such a trial is subject to the first law alone, which demands a clear error.
        """
        return unusable_reason(self.solver) or self.obstacle or self.licence_refusal

    @property
    def gives_duals(self) -> bool:
        """True for a solver that returns multipliers, by its record."""
        return Gives.DUALS in self.solver.info.gives

    @property
    def is_nonconvex(self) -> bool:
        """True for a form with integers or with nonconvex features, whose optimum no multipliers certify."""
        form = self.case.form
        return form is not None and bool(form.features & (NONCONVEX_FEATURES | {Feature.INTEGER}))

    @property
    def is_continuous_nonconvex(self) -> bool:
        """True for a nonconvex form without integers that the solver reads; its global search may not end in time."""
        form = self.case.form
        return not self.solver.info.views and form is not None and self.is_nonconvex and Feature.INTEGER not in form.features

    def stopped_by_clock(self, result: Result) -> bool:
        """Return whether a global search ended at its time limit, so that bound and objective may differ."""
        return self.is_continuous_nonconvex and result.status is Status.TIME_LIMIT

    @cached_property
    def form(self) -> StandardForm | None:
        """The standard form at the parameters that the solver optimised, to which the multipliers belong; None without one."""
        try:
            return self.case.model.at_solution(self.result.optimised_parameters).form
        except (TooLargeError, UnsupportedModelError):
            return None

    def solve(self, problem: Model | StandardForm | None = None, **changes: Any) -> Result:
        """Return the result of this case, or of another problem; ``changes`` replace the trial's options of `marginopt.solve`."""
        seconds = _SEARCH_SECONDS if self.is_continuous_nonconvex else _CASE_SECONDS
        options: dict[str, Any] = {"tol": self.tol, "time_limit": seconds, "iteration_limit": _CASE_ITERATIONS, "threads": 1}
        return solve(self.case.model if problem is None else problem, self.solver, **options | changes)

    @cached_property
    def result(self) -> Result:
        """The result of the case to the relative gap `tol`."""
        return self.solve()


#: The laws of a solver on formulations, each tested on a `Trial`.
SOLVER_LAWS: Laws[Trial] = Laws()

#: Largest difference of an entry between two runs of an off-the-shelf solver, whose sums may be in another order.
_ROUNDING = 1e-10
#: Absolute difference of objectives that is always allowed: known optima are good to about 1e-8.
_KNOWN = 1e-7


def _same(noun: str, value: float, expected: float, tol: float) -> LawVerdict:
    """Return the verdict whether two objectives agree to a relative ``tol``."""
    difference = abs(value - expected) / max(abs(expected), _KNOWN / tol)
    if difference <= tol:
        return holds(f"off by {difference:.0e}")
    return violated(f"{noun}: {value:.12g}, wanted {expected:.12g}, off by {difference:.2e}, allowed {tol:.0e}")


def _interval(result: Result) -> tuple[float, float]:
    """Return bound and objective of a minimisation; infinite if a stopped search has none."""
    return result.best_bound[0], np.inf if result.certificate is None else result.certificate.objective


def _overlap(noun: str, one: tuple[float, float], other: tuple[float, float], tol: float) -> LawVerdict:
    """Return whether two intervals meet; no verdict if one of them is infinite."""
    if any(np.isneginf(low) and np.isposinf(high) for low, high in (one, other)):
        return not_applicable("the clock stopped the search before it had a bound or a point")
    ends = [abs(end) for end in (*one, *other) if np.isfinite(end)]
    distance = max(one[0] - other[1], other[0] - one[1], 0.0) / max(*ends, 1.0)
    return at_most(f"{noun} outside the interval of a stopped search by", distance, tol)


def _solved(t: Trial, r: Result) -> bool:
    """Return whether the result is solved, or a global solver without multipliers closed its own gap of objectives."""
    return r.solved or (not t.gives_duals and not t.is_nonconvex and r.claim.status is Status.OPTIMAL)


def _without_point(t: Trial, r: Result) -> LawVerdict:
    """Return the verdict on a result without a point: only a search that the clock ended may lack one."""
    return not_applicable("stopped without a point") if t.stopped_by_clock(r) else violated(f"{r.status}, and no point")


@SOLVER_LAWS.law("refuses what it does not read", every_case=True)
def _refuses_unreadable_models(t: Trial) -> LawVerdict:
    """A solver that cannot read a model, or is not licensed for it, says so by its own name before any work."""
    if not t.skip_reason:
        return not_applicable("it reads the model")
    try:
        solve(t.case.model, t.solver)
    except (UnsupportedModelError, LicenceError, ImportError) as error:
        return holds("it says why") if t.solver.info.name in str(error) else violated(f"without its name: {error}")
    return violated(f"solved in spite of: {t.skip_reason}")


@SOLVER_LAWS.law("reaches the optimum", every_case=True)
def _reaches_optimum(t: Trial) -> LawVerdict:
    """The status is optimal, or stationary where the problem is not convex, and the objective is the known optimum's."""
    r = t.result
    if t.stopped_by_clock(r) and t.case.optimum is not None:
        return _overlap("the optimum is", _interval(r), (r.sign * t.case.optimum,) * 2, t.tol)
    if not _solved(t, r) and not t.stopped_by_clock(r):
        return violated(f"{r.status}: {r.claim.native_status}")
    if t.case.optimum is None:
        return holds(f"{r.status}; no optimum is known beforehand")
    if r.status is Status.STATIONARY:
        worse = r.sign * (r.objective - t.case.optimum)
        return at_most("below the global optimum by", -worse / max(abs(t.case.optimum), 1.0), t.tol)
    return _same("objective", r.objective, t.case.optimum, t.tol)


@SOLVER_LAWS.law("its point is feasible", every_case=True)
def _feasible_point(t: Trial) -> LawVerdict:
    """The recomputed certificate finds the rows, bounds and integers met, and the objective that the solver claims."""
    c = t.result.certificate
    if c is None:
        return _without_point(t, t.result)
    worst = max(c.primal_residual, c.integrality or 0.0)
    if not worst <= max(t.tol, 1e-6):
        return at_most("violation", worst, max(t.tol, 1e-6))
    claimed = t.result.claim.objective
    if claimed is None or t.result.status is Status.STATIONARY or t.stopped_by_clock(t.result):
        return at_most("violation", worst, max(t.tol, 1e-6))
    return at_most("claimed objective off by", abs(claimed - c.objective) / max(abs(c.objective), 1.0), 10 * t.tol)


@SOLVER_LAWS.law("weak duality", every_case=True)
def _weak_duality(t: Trial) -> LawVerdict:
    """No bound exceeds the objective or the known optimum; multipliers prove one where the formulation has a dual of its own."""
    r = t.result
    if r.status is Status.STATIONARY:
        return not_applicable("a stationary point of a problem that is not convex carries no bound")
    if r.certificate is None:
        return _without_point(t, r)
    bound, kind = r.best_bound
    # the Lagrangian bound proves nothing where free variables are not stationary
    has_own_bound = type(t.case.model).bound is not Model.bound
    if t.gives_duals and has_own_bound and not t.is_nonconvex and kind != "proved":
        return violated(f"the record promises multipliers and the bound is {kind}")
    if not np.isfinite(bound):
        return not_applicable("it gives no bound")
    if t.is_nonconvex and r.solved and not r.gap <= 2 * t.tol:
        return violated(f"solved with a gap of {r.gap:.2e}, allowed {2 * t.tol:.0e}")
    optimum = r.certificate.objective if t.case.optimum is None else min(r.certificate.objective, r.sign * t.case.optimum)
    return at_most("bound above the optimum by", (bound - optimum) / max(abs(optimum), 1.0), t.tol)


@SOLVER_LAWS.law("optimality conditions", every_case=True)
def _optimality_conditions(t: Trial) -> LawVerdict:
    """Stationarity, dual cones and complementarity hold in our signs, computed from the form's data alone."""
    if not t.gives_duals:
        return not_applicable("it gives no multipliers")
    if t.is_nonconvex and t.form is t.case.form:
        return not_applicable("mixed-integer and nonconvex problems have no multipliers")
    if t.form is None:
        return not_applicable("there is no standard form")
    broken = broken_conditions(t.form, t.result, t.tol)
    return violated("; ".join(broken)) if broken else holds(f"to {t.tol:.0e}")


def _invariant(t: Trial, other: Case) -> LawVerdict:
    """Return the verdict that a case with the same optimum has the same objective."""
    return _equal(t, t.solve(other.model), 1.0)


def _equal(t: Trial, r: Result, factor: float) -> LawVerdict:
    """Return the verdict that a result's objective is the case's times the factor; of intervals if the clock ended a search."""
    first = t.result
    if t.stopped_by_clock(first) or t.stopped_by_clock(r):
        low, high = _interval(first)
        return _overlap("the first interval is", _interval(r), (factor * low, factor * high), 2 * t.tol)
    if not _solved(t, r):
        return violated(f"{r.status}: {r.claim.native_status}")
    if r.status is Status.STATIONARY:
        return holds("another stationary point, of the same problem")
    return _same("objective", r.objective, factor * first.objective, 2 * t.tol)


@SOLVER_LAWS.law("order of the points")
def _permutation(t: Trial) -> LawVerdict:
    """Points in another order have the same optimum."""
    if not t.case.has_points:
        return not_applicable("it is stated on matrices, not on points")
    order = np.random.default_rng(1).permutation(len(np.asarray(t.case.arrays["X"])))
    return _invariant(t, t.case.permuted(order))


@SOLVER_LAWS.law("names of the classes")
def _label_flip(t: Trial) -> LawVerdict:
    """The optimum is the same with the two classes exchanged."""
    if t.case.info.data is not DataKind.TWO_CLASSES:
        return not_applicable("it is not stated on two classes")
    return _invariant(t, t.case.flipped())


@SOLVER_LAWS.law("units of the objective")
def _objective_scaling(t: Trial) -> LawVerdict:
    """A form whose objective is multiplied by 16 has 16 times the optimum."""
    form = t.case.form
    if t.solver.info.views:
        return not_applicable("it reads the model's structure, not the form")
    assert form is not None
    quadratic = None if form.quadratic is None else Quadratic(matrix=16.0 * form.quadratic.materialised)
    return _equal(t, t.solve(form.replace(q=16.0 * form.q, r=16.0 * form.r, quadratic=quadratic)), 16.0)


def _different(one: Result, other: Result) -> list[str]:
    """Return the labels of blocks that differ between two results; NaN equals NaN."""
    return [k for k, v in one.values.items() if k not in other.values or not np.array_equal(v, other.values[k], equal_nan=True)]


@SOLVER_LAWS.law("repeats")
def _repeatability(t: Trial) -> LawVerdict:
    """The same seed on one thread gives the same point; a solver of ours gives it bit for bit."""
    if t.stopped_by_clock(t.result) or t.stopped_by_clock(repeated := t.solve()):
        return not_applicable("the clock stopped its search")
    for label in _different(t.result, repeated):
        difference = float(np.abs(t.result.values[label] - repeated.values[label]).max(initial=0.0))
        if not difference <= (0.0 if t.solver.info.views else _ROUNDING):
            return violated(f"block {label} differs by {difference:.2e}")
    return holds("bit for bit") if t.result.status is repeated.status else violated(f"{t.result.status}, then {repeated.status}")


@SOLVER_LAWS.law("limits")
def _iteration_limits(t: Trial) -> LawVerdict:
    """Stopped after one iteration or node it says so, or is done; a point that it has is no better than the optimum."""
    r = t.solve(iteration_limit=1, node_limit=1)
    if not (r.status.stopped or r.status.solved or r.status in (Status.STALLED, Status.INACCURATE)):
        return violated(f"{r.status}: {r.claim.native_status}")
    if r.certificate is None:
        if t.solver.info.views and Gives.INTERRUPT in t.solver.info.gives:  # backends promise it of integer programs alone
            return violated(f"{r.status} without a point, which the record promises")
        return holds(f"{r.status}, without a point")
    best = t.result.certificate
    no_optimum = best is None or t.result.status is Status.STATIONARY or t.stopped_by_clock(t.result)
    if best is None or no_optimum or not r.certificate.feasible(t.tol):
        return holds(f"{r.status}, with a point")
    better = (best.objective - r.certificate.objective) / max(abs(best.objective), 1.0)
    return at_most(f"{r.status}; better than the optimum by", better, 2 * t.tol)


@SOLVER_LAWS.law("explained")
def _explained_answer(t: Trial) -> LawVerdict:
    """The model explains the answer: the explanation covers every constraint of the form."""
    if not t.result.values:
        return _without_point(t, t.result)
    explanation = t.case.model.explain(t.result)
    if not str(explanation).strip():
        return violated("the explanation is empty")
    if t.form is None:
        return holds(count_text(len(str(explanation).splitlines()), "line"))
    missing = {c.label for c in t.form.constraints} - {row.label for row in explanation.constraints}
    return violated(f"nothing is said of {', '.join(sorted(missing))}") if missing else holds("every constraint")


@SOLVER_LAWS.law("stored and read")
def _stored_result(t: Trial) -> LawVerdict:
    """A result that is saved and loaded is the same; certified anew from the model it has the same status."""
    with tempfile.TemporaryDirectory() as folder:
        path = t.result.save(Path(folder) / "result.npz")
        loaded, rebuilt = load_result(path), load_result(path, t.case.model)
    if str(replace(loaded, unverified="")) != str(t.result):
        return violated(f"read back as {str(loaded)!r:.200}")
    if rebuilt.status is not t.result.status:
        return violated(f"{t.result.status}, and {rebuilt.status} when certified anew")
    different = _different(t.result, loaded)
    return violated(f"blocks {', '.join(different)} differ") if different else holds("equal")


@SOLVER_LAWS.law("inputs untouched", every_case=True)
def _inputs_unchanged(t: Trial) -> LawVerdict:
    """A solve changes none of the arrays that it was given."""
    return holds("unchanged") if t.result and t.case.arrays_unchanged else violated("an array of the data was changed")


#: The laws of a solver alone: on infeasible and unbounded programs, and of its record.
PROGRAM_LAWS: Laws[Solver] = Laws()


@dataclass(frozen=True)
class _Programs:
    """Programs in two variables with the rows F x + g ≥ 0: a linear and a quadratic one, each continuous and with an integer."""

    F: list[list[float]]  #: coefficients of the rows
    g: list[float]  #: constants of the rows
    q: list[float]  #: linear costs
    curvature: list[float]  #: diagonal of the quadratic cost

    def forms(self) -> list[StandardForm]:
        """Return each combination of rows and objective as a form."""
        rows = Constraint("rows", sp.csr_array(np.array(self.F)), np.array(self.g), Nonnegative(len(self.g)))
        return [
            StandardForm(
                name=f"{'linear' if quadratic is None else 'quadratic'} program{' in integers' if integer else ''}",
                blocks=(Block("x", (2,)),),
                q=np.array(self.q),
                constraints=(rows,),
                lower=np.full(2, -np.inf),
                upper=np.full(2, np.inf),
                integer=np.array([integer, False]),
                quadratic=quadratic,
            )
            for quadratic in (None, Quadratic(matrix=np.diag(self.curvature)))
            for integer in (False, True)
        ]


#: x1 ≥ 1 and x1 ≤ 0 exclude each other; the objective falls as x2 → ∞, where the quadratic term has no curvature.
_INFEASIBLE = _Programs([[1.0, 0.0], [-1.0, 0.0], [0.0, 1.0]], [-1.0, 0.0, 0.0], [1.0, 1.0], [1.0, 1.0])
_UNBOUNDED = _Programs([[1.0, 0.0]], [0.0], [0.0, -1.0], [1.0, 0.0])


def _require_status(solver: Solver, programs: _Programs, status: Status) -> LawVerdict:
    """Return the verdict that each program which the solver reads ends with the status, or without a claim."""
    if solver.info.views:
        return not_applicable("it reads structural views, which a program without a model does not have")
    calls = []
    for form in programs.forms():
        if Feature.INTEGER in form.features and status is Status.UNBOUNDED:
            continue  # solvers of integer programs may presume bounds
        obstacle = solver.obstacle(BareForm(form))
        if obstacle is None:
            calls.append(_program_verdict(solver, form, status))
    return all_of(calls) if calls else not_applicable("it reads no linear or quadratic program")


def _program_verdict(solver: Solver, form: StandardForm, status: Status) -> LawVerdict:
    r = solve(form, solver, time_limit=20)
    if r.status is status:
        return holds(form.name)
    if r.solved or r.status in (Status.INFEASIBLE, Status.UNBOUNDED):
        return violated(f"{form.name} is called {r.status} ({r.claim.native_status})")
    return holds(f"{form.name}: {r.status}, which claims nothing")  # an honest answer, of an interface that passes on no reason


@PROGRAM_LAWS.law("infeasible programs")
def _infeasible_program(solver: Solver) -> LawVerdict:
    """A program without a feasible point is called infeasible, or left without a claim; never solved."""
    return _require_status(solver, _INFEASIBLE, Status.INFEASIBLE)


@PROGRAM_LAWS.law("unbounded programs")
def _unbounded_program(solver: Solver) -> LawVerdict:
    """A program with an unbounded objective is called unbounded, or left without a claim; never solved."""
    return _require_status(solver, _UNBOUNDED, Status.UNBOUNDED)


@PROGRAM_LAWS.law("the record")
def _solver_record(solver: Solver) -> LawVerdict:
    """The record has a name in small letters, a summary and a reference or a package, and says what is read."""
    info = solver.info
    missing = [
        part
        for part, stored in (
            ("a name in small letters", bool(info.name) and info.name == info.name.strip().lower()),
            ("a summary", bool(info.summary)),
            ("a reference or a package", bool(info.reference or info.package)),
            ("views or features that it reads", bool(info.views or info.reads) or bool(info.package)),
            ("a tolerance in (0, 1)", 0.0 < info.tolerance < 1.0),
        )
        if not stored
    ]
    return violated(f"without {', '.join(missing)}") if missing else holds(info.summary)
