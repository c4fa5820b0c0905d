"""Laws of a solver on a formulation: its answer, the evidence for it, and what must not change it."""

from __future__ import annotations

import tempfile
from dataclasses import replace
from pathlib import Path

import numpy as np

from ..errors import LicenceError, UnsupportedModelError
from ..models.model import Model
from ..models.program.form import Quadratic
from ..models.record import DataKind
from ..solvers import load_result, solve
from ..solvers.certification.result import Result
from ..solvers.interface.solver import Gives
from ..solvers.records.answer import Status
from .cases import Case
from .kkt import broken_conditions
from .laws import Laws
from .trial import Trial
from .verdict import Verdict, at_most, holds, not_applicable, violated

__all__ = ["SOLVER_LAWS"]

SOLVER_LAWS: Laws[Trial] = Laws()

#: How far a library's runs may differ by the order of its sums.
_ROUNDING = 1e-10
#: The known optima are good to about 1e-8; small optima are compared absolutely.
_KNOWN = 1e-7


def _same(what: str, found: float, wanted: float, tol: float) -> Verdict:
    """Return whether two objectives agree."""
    off = abs(found - wanted) / max(abs(wanted), _KNOWN / tol)
    comparison = f"{what}: {found:.12g}, wanted {wanted:.12g}"
    return holds(f"off by {off:.0e}") if off <= tol else violated(f"{comparison}, off by {off:.2e}, allowed {tol:.0e}")


def _solved(t: Trial, r: Result) -> bool:
    """Solved; a global solver without multipliers closes the gap of objectives, and our certificate of its point may be wider."""
    return r.solved or (not t.gives_duals and not t.integers and r.claim.status is Status.OPTIMAL)


@SOLVER_LAWS.law("refuses what it does not read", every_case=True)
def refuses(t: Trial) -> Verdict:
    """A solver that cannot read a model, or is not licensed for it, says so by its own name before any work."""
    if not t.without:
        return not_applicable("it reads the model")
    try:
        solve(t.case.model, t.solver)
    except (UnsupportedModelError, LicenceError, ImportError) as error:
        return holds("it says why") if t.solver.info.name in str(error) else violated(f"without its name: {error}")
    return violated(f"solved in spite of: {t.without}")


@SOLVER_LAWS.law("reaches the optimum", every_case=True)
def optimum(t: Trial) -> Verdict:
    """The status is optimal, or stationary where the problem is not convex, and the objective is the known optimum's."""
    r = t.result
    if not _solved(t, r):
        return violated(f"{r.status}: {r.claim.native_status}")
    if t.case.optimum is None:
        return holds(f"{r.status}; no optimum is known beforehand")
    if r.status is Status.STATIONARY:
        worse = r.sign * (r.objective - t.case.optimum)
        return at_most("below the global optimum by", -worse / max(abs(t.case.optimum), 1.0), t.tol)
    return _same("objective", r.objective, t.case.optimum, t.tol)


@SOLVER_LAWS.law("its point is feasible", every_case=True)
def feasible(t: Trial) -> Verdict:
    """The recomputed certificate finds the rows, bounds and integers met, and the objective that the solver claims."""
    c = t.result.certificate
    if c is None:
        return violated(f"{t.result.status}, and no point")
    worst = max(c.primal_residual, c.integrality or 0.0)
    if not worst <= max(t.tol, 1e-6):
        return at_most("violation", worst, max(t.tol, 1e-6))
    claimed = t.result.claim.objective
    if claimed is None or t.result.status is Status.STATIONARY:
        return at_most("violation", worst, max(t.tol, 1e-6))
    return at_most("claimed objective off by", abs(claimed - c.objective) / max(abs(c.objective), 1.0), 10 * t.tol)


@SOLVER_LAWS.law("weak duality", every_case=True)
def weak_duality(t: Trial) -> Verdict:
    """No bound exceeds the objective or the known optimum; multipliers prove one where the formulation has a dual of its own."""
    r = t.result
    if r.status is Status.STATIONARY:
        return not_applicable("a stationary point of a problem that is not convex carries no bound")
    if r.certificate is None:
        return violated(f"{r.status}, and no point")
    bound, kind = r.best_bound
    has_own_bound = (
        type(t.case.model).bound is not Model.bound
    )  # the Lagrangian's proves nothing where free variables are not stationary
    if t.gives_duals and has_own_bound and not t.integers and kind != "proved":
        return violated(f"the record promises multipliers and the bound is {kind}")
    if not np.isfinite(bound):
        return not_applicable("it gives no bound")
    if t.integers and r.solved and not r.gap <= 2 * t.tol:
        return violated(f"solved with a gap of {r.gap:.2e}, allowed {2 * t.tol:.0e}")
    least = r.certificate.objective if t.case.optimum is None else min(r.certificate.objective, r.sign * t.case.optimum)
    return at_most("bound above the optimum by", (bound - least) / max(abs(least), 1.0), t.tol)


@SOLVER_LAWS.law("optimality conditions", every_case=True)
def conditions(t: Trial) -> Verdict:
    """Stationarity, dual cones and complementarity hold in our signs, computed from the form's data alone."""
    if not t.gives_duals:
        return not_applicable("it gives no multipliers")
    if t.integers:
        return not_applicable("mixed-integer problems have no multipliers")
    if t.case.form is None:
        return not_applicable("there is no standard form")
    broken = broken_conditions(t.case.form, t.result, t.tol)
    return violated("; ".join(broken)) if broken else holds(f"to {t.tol:.0e}")


def _invariant(t: Trial, other: Case) -> Verdict:
    """The same objective on a problem that is the same."""
    r = t.solve(other)
    if not _solved(t, r):
        return violated(f"{r.status}: {r.claim.native_status}")
    if r.status is Status.STATIONARY:
        return holds("another stationary point, of the same problem")
    return _same("objective", r.objective, t.result.objective, 2 * t.tol)


@SOLVER_LAWS.law("order of the points")
def permutation(t: Trial) -> Verdict:
    """Points in another order have the same optimum."""
    if not t.case.has_points:
        return not_applicable("it is stated on matrices, not on points")
    order = np.random.default_rng(1).permutation(len(np.asarray(t.case.arrays["X"])))
    return _invariant(t, t.case.permuted(order))


@SOLVER_LAWS.law("names of the classes")
def label_flip(t: Trial) -> Verdict:
    """Check that the optimum is the same with the two classes exchanged."""
    if t.case.info.data is not DataKind.TWO_CLASSES:
        return not_applicable("it is not stated on two classes")
    return _invariant(t, t.case.flipped())


@SOLVER_LAWS.law("units of the objective")
def scaling(t: Trial) -> Verdict:
    """A form whose objective is multiplied by 16 has 16 times the optimum."""
    form = t.case.form
    if t.solver.info.views:
        return not_applicable("it reads the model's structure, not the form")
    assert form is not None
    quadratic = None if form.quadratic is None else Quadratic(matrix=16.0 * form.quadratic.materialised)
    r = solve(form.replace(q=16.0 * form.q, r=16.0 * form.r, quadratic=quadratic), t.solver, tol=t.tol, threads=1, time_limit=60)
    if not (r.solved or (not t.gives_duals and r.claim.status is Status.OPTIMAL)):
        return violated(f"{r.status}: {r.claim.native_status}")
    return _same("objective", r.objective, 16.0 * t.result.objective, 2 * t.tol)


def _different(one: Result, other: Result) -> list[str]:
    """Blocks of two results that are not the same numbers; NaN is itself."""
    return [k for k, v in one.values.items() if k not in other.values or not np.array_equal(v, other.values[k], equal_nan=True)]


@SOLVER_LAWS.law("repeats")
def repeatability(t: Trial) -> Verdict:
    """The same seed on one thread gives the same point; a solver of ours gives it bit for bit."""
    again = t.solve()
    for label in _different(t.result, again):
        off = float(np.abs(t.result.values[label] - again.values[label]).max(initial=0.0))
        if not off <= (0.0 if t.solver.info.views else _ROUNDING):
            return violated(f"block {label} differs by {off:.2e}")
    return holds("bit for bit") if t.result.status is again.status else violated(f"{t.result.status}, then {again.status}")


@SOLVER_LAWS.law("limits")
def limits(t: Trial) -> Verdict:
    """Stopped after one iteration or node it says so, or is done; a point that it has is no better than the optimum."""
    r = t.solve(iteration_limit=1, node_limit=1)
    if not (r.status.stopped or r.status.solved or r.status in (Status.STALLED, Status.INACCURATE)):
        return violated(f"{r.status}: {r.claim.native_status}")
    if r.certificate is None:
        if t.solver.info.views and Gives.INTERRUPT in t.solver.info.gives:  # backends promise it of integer programs alone
            return violated(f"{r.status} without a point, which the record promises")
        return holds(f"{r.status}, without a point")
    best = t.result.certificate
    if best is None or not r.certificate.feasible(t.tol) or t.result.status is Status.STATIONARY:
        return holds(f"{r.status}, with a point")
    better = (best.objective - r.certificate.objective) / max(abs(best.objective), 1.0)
    return at_most(f"{r.status}; better than the optimum by", better, 2 * t.tol)


@SOLVER_LAWS.law("explained")
def explained(t: Trial) -> Verdict:
    """The model explains the answer: every constraint of the form is told of."""
    if not t.result.values:
        return violated(f"{t.result.status}, and no point")
    explanation = t.case.model.explain(t.result)
    if not str(explanation).strip():
        return violated("the explanation is empty")
    if t.case.form is None:
        return holds(f"{len(str(explanation).splitlines())} lines")
    missing = {c.label for c in t.case.form.constraints} - {row.label for row in explanation.constraints}
    return violated(f"nothing is said of {', '.join(sorted(missing))}") if missing else holds("every constraint")


@SOLVER_LAWS.law("stored and read")
def stored(t: Trial) -> Verdict:
    """A result that is saved and loaded is the same; certified anew from the model it has the same status."""
    with tempfile.TemporaryDirectory() as folder:
        path = t.result.save(Path(folder) / "result.npz")
        back, anew = load_result(path), load_result(path, t.case.model)
    if str(replace(back, unverified="")) != str(t.result):
        return violated(f"read back as {str(back)!r:.200}")
    if anew.status is not t.result.status:
        return violated(f"{t.result.status}, and {anew.status} when certified anew")
    different = _different(t.result, back)
    return violated(f"blocks {', '.join(different)} differ") if different else holds("equal")


@SOLVER_LAWS.law("inputs untouched", every_case=True)
def inputs(t: Trial) -> Verdict:
    """A solve changes none of the arrays that it was given."""
    return holds("unchanged") if t.result and t.case.untouched else violated("an array of the data was changed")
