"""Verification of a result: its claims recomputed from the model, its multipliers compared with differences of the optimum."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import numpy as np

from ..errors import DataError, InputError, MarginoptError, TooLargeError, UnsupportedModelError
from ..models.digest import describe, fingerprint
from ..models.model import Model, as_model
from ..models.program.form import StandardForm
from .certification.result import CHECK_DUALS, VERIFY, Result
from .certification.verification import Check, DualCheck, DualRow, Verification
from .interface.solver import OPEN_LICENCE, KeptModel, Solver, SolverInfo
from .judgement import judge
from .rational import RationalForm
from .records import Answer, Options
from .registry import SolverLike, get_solver
from .solve import solve_problem

#: Relative difference of two evaluations of one number in double precision that is no contradiction.
_ROUNDING = 1e-9


class NamedSolver(Solver):
    """The solver that a result or a file names: it need not be installed, and cannot be run."""

    def __init__(self, name: str, source: str, tolerance: float = SolverInfo.tolerance) -> None:
        self._source = source
        self.info = SolverInfo(name=name, summary=f"from {source}", tolerance=tolerance)  # type: ignore[misc]  # one for each

    def obstacle(self, model: Model) -> str | None:
        """Return the obstacle of every model: the solver is known only by its answer."""
        return f"it is known only by {self._source}"

    def run(self, model: Model, options: Options, kept_model: KeptModel | None = None) -> Answer:
        """Raise UnsupportedModelError: the solver is known by its answer only."""
        raise UnsupportedModelError(f"{self.info.name} cannot be run: {self.obstacle(model)}")


def _tolerance_of(solver: str) -> float:
    """Return the default tolerance of a solver of the registry, else the default of `SolverInfo`."""
    try:
        return get_solver(solver).info.tolerance
    except MarginoptError:
        return SolverInfo.tolerance


def recertify(result: Result, model: Model | StandardForm, noun: str = "the result") -> Result:
    """Return the result with every claim recomputed from the model; a bound that only the solver can prove becomes a claim.

    ``noun`` is the subject of error messages, such as the file of the result.

    Raises
    ------
    DataError
        The result is of other data or parameters than the model, or does not fit it.
    """
    subject = as_model(model)
    digest = fingerprint(subject)
    if result.digest and digest and result.digest != digest:
        own_subject, stored_subject = describe(subject), dict(result.model_description)
        names = [name for name in own_subject | stored_subject if own_subject.get(name) != stored_subject.get(name)]
        differ = "; ".join(
            f"{name}: {stored_subject.get(name, 'none')}, the model's {own_subject.get(name, 'none')}" for name in names
        )
        raise DataError(
            f"{noun} is of other data or parameters than the model ({differ or 'the arrays hold other numbers'})", name="model"
        )
    answer = replace(result.answer, values=dict(result.values) or None, proved=False)
    if answer.optimised_parameters and answer.model is None:
        parameters = {
            name: np.asarray(value) if isinstance(value, list) else value for name, value in answer.optimised_parameters.items()
        }
        answer = replace(answer, model=subject.at_solution(parameters))
    if result.reduced is not None:
        answer = replace(answer, reduced=(answer.model or subject).form.join(result.reduced))
    tol = result.options.get("tol")
    try:
        options = Options(tol=tol if isinstance(tol, float) else None)
        solver = NamedSolver(result.solver, "its result", _tolerance_of(result.solver))
        recertified = judge(subject, solver, answer, options, OPEN_LICENCE, result.picked, as_given=True)
    except InputError as error:
        raise DataError(f"{noun} does not fit the model: {error}") from error
    return replace(recertified, options=result.options, licence=result.licence)


def verify(result: Result, model: Model | StandardForm, exact: bool = False) -> Verification:
    """Recompute status, objective, residual and bound of a result from the model.

    Parameters
    ----------
    result : Result
        The result.
    model : Model or StandardForm
        The model that was solved; its digest must agree with the result's.
    exact : bool
        Whether to verify in rational arithmetic as well, which takes floating-point numbers as exact; up to
        `solvers.rational.MAX_NONZEROS` coefficients.

    Raises
    ------
    DataError
        Other data or parameters than those that were solved.
    TooLargeError
        ``exact`` with more coefficients, or for a model without a standard form.
    """
    recertified = recertify(result, model)
    checks = [
        Check(
            "status", str(result.status), str(recertified.status), result.status is recertified.status or not result.status.solved
        )
    ]
    stored, recomputed = result.certificate, recertified.certificate
    if stored is not None and recomputed is not None:
        scale = 1.0 + abs(recomputed.objective)
        agrees = abs(stored.objective - recomputed.objective) <= _ROUNDING * scale
        checks.append(
            Check("objective", result.in_own_sense(stored.objective), result.in_own_sense(recomputed.objective), agrees)
        )
        agrees = abs(stored.primal_residual - recomputed.primal_residual) <= _ROUNDING
        checks.append(Check("primal residual", stored.primal_residual, recomputed.primal_residual, agrees))
        if np.isfinite(stored.bound):
            bounds = result.in_own_sense(stored.bound), result.in_own_sense(recomputed.bound)
            checks.append(Check("proved bound", *bounds, stored.bound <= recomputed.bound + _ROUNDING * scale))
    elif (stored is None) != (recomputed is None):
        checks.append(Check("point", "none" if stored is None else "given", "none" if recomputed is None else "given", False))
    plain = Verification(result.model, result.solver, tuple(checks), exact, maximise=result.maximise)
    return _exactly(plain, recertified, model) if exact and recomputed is not None else plain


VERIFY.implemented_by(verify)


def _exactly(plain: Verification, result: Result, model: Model | StandardForm) -> Verification:
    subject = as_model(model) if result.answer.model is None else result.answer.model
    try:
        form = subject.form
    except UnsupportedModelError as error:
        raise TooLargeError(f"rational arithmetic needs a standard form: {error}") from error
    rational, x = RationalForm(form), form.join(result.values)
    point = rational.point(x)
    objective, violations = rational.objective(point), rational.violations(point)
    bound = None
    if result.multipliers is not None and not form.integer.any():
        bound = rational.bound(x, result.multipliers)
    certificate = result.certificate
    assert certificate is not None
    checks = list(plain.checks)
    agrees = abs(objective - Fraction(certificate.objective)) <= Fraction(_ROUNDING) * (1 + abs(objective))
    own_objective = result.in_own_sense(float(objective))
    checks.append(Check("objective, exactly", result.in_own_sense(certificate.objective), own_objective, agrees))
    feasible = max(violations.values(), default=0.0) == 0.0
    if feasible and np.isfinite(certificate.bound):
        stands = Fraction(certificate.bound) <= objective
        side = "above" if result.maximise else "below"
        checks.append(Check(f"bound {side} objective", result.in_own_sense(certificate.bound), own_objective, stands))
    sign = -1 if result.maximise else 1
    return replace(
        plain,
        checks=tuple(checks),
        objective=sign * objective,
        bound=None if bound is None else sign * bound,
        violations=violations,
        no_exact_bound_reason=_no_exact_bound_reason(result),
    )


def _no_exact_bound_reason(result: Result) -> str:
    """Return the reason why rational arithmetic gives no bound."""
    if result.multipliers is None:
        return "no multipliers to repeat a bound from (what a search proves is in its log: check_proof)"
    if result.certificate is not None and np.isfinite(result.certificate.bound) and not result.certificate.condition:
        return "the proved bound stands, its rounding counted; it is not repeated exactly, which takes linear rows and P ⪰ 0"
    return "no bound follows from these multipliers in rational arithmetic"


# Multipliers against finite differences: changes of the optimum when a constant g_i of a row F x + g moves.
#
# φ(g_i), the form's optimum as a function of one g_i, is convex for a convex form, and -z_i is one of its subgradients: -z_i lies
# between the left and the right derivative of φ. The two one-sided differences of two further solves enclose -z_i up to the
# error that the solver's accuracy causes.


def check_duals(
    result: Result,
    model: Model | StandardForm,
    max_rows: int = 12,
    seed: int = 0,
    *,
    step: float = 1e-4,
    solver: SolverLike = "clarabel",
) -> DualCheck:
    """Compare multipliers with finite differences of the optimum in the right-hand sides of a sample of rows.

    Parameters
    ----------
    result : Result
        The result of a continuous form, with multipliers.
    model : Model or StandardForm
        The model that was solved.
    max_rows, seed : int
        Largest number of rows, and the seed by which they are drawn: every row costs two solves.
    step : float
        Change of g_i, relative to 1 + |g_i|.
    solver : str, Solver or pair
        Solver of the forms with changed right-hand sides.

    Raises
    ------
    InputError
        The result has no multipliers, or the form has integers.
    """
    form = as_model(model).form
    if result.multipliers is None or form.integer.any():
        raise InputError("check_duals needs multipliers of a continuous form; this result has none", name="result")
    places = [(k, i) for k, c in enumerate(form.constraints) for i in range(c.rows) if c.label in result.multipliers]
    rng = np.random.default_rng(seed)
    chosen = [places[j] for j in sorted(rng.permutation(len(places))[:max_rows].tolist())]
    base = _optimum(form, solver)
    rows = []
    for k, i in chosen:
        c = form.constraints[k]
        h = step * (1.0 + abs(float(c.g[i])))
        up, down = (_optimum(_shifted(form, k, i, sign * h), solver) for sign in (1.0, -1.0))
        accuracy = 4e-8 * (1.0 + abs(base)) / h
        z = float(result.multipliers[c.label][i])
        curvature = abs(up - 2.0 * base + down) / h if np.isfinite(up) and np.isfinite(down) else 0.0
        rows.append(DualRow(c.names()[i], z, -(up - base) / h, -(base - down) / h, accuracy + curvature + 1e-5 * abs(z)))
    return DualCheck(tuple(rows), step)


CHECK_DUALS.implemented_by(check_duals)


def _shifted(form: StandardForm, k: int, i: int, h: float) -> StandardForm:
    c = form.constraints[k]
    g = c.g.copy()
    g[i] += h
    return form.replace(constraints=(*form.constraints[:k], replace(c, g=g), *form.constraints[k + 1 :]))


def _optimum(form: StandardForm, solver: SolverLike) -> float:
    """Return the optimum in the form's sense; infinite without a feasible point."""
    result = solve_problem(form, solver, Options(tol=1e-9))
    return float("inf") if result.certificate is None else result.certificate.objective
