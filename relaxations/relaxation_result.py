"""`relax`: solve one relaxation of a model, and return its proved bound, recovered point and dual point (`RelaxationResult`)."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property
from math import inf, isfinite
from typing import Any

from ..errors import SolverError, UnsupportedModelError, checked_return
from ..models.arrays import FloatArray, memory_errors
from ..models.deadline import OutOfTimeError, deadline, limit_clock, repair_deadline
from ..models.model import Model, as_model
from ..models.program.form import StandardForm
from ..models.rounding import Rounded
from ..solvers.certification.certificate import has_nonnegative_objective, is_never_negative
from ..solvers.certification.result import BoundKind, Result
from ..solvers.judgement import form_that_fits
from ..solvers.records import Options, Status
from ..solvers.registry import SolverLike, SolverSpec, resolve_solver
from ..solvers.solve import certification_deadline, solve_problem
from .reduction import LiftedDual, Reduction
from .registry import applicable_names, reduction_of

_NONE = Rounded(0.0)
_NEVER_NEGATIVE = "no part of the objective is negative"
#: Largest relative difference of two numbers that should agree.
AGREEMENT_TOLERANCE = 1e-6


@dataclass(frozen=True, eq=False)
class RelaxationResult:
    """A solved relaxation of a model.

    Parameters
    ----------
    model : Model
        The original: a `ZeroOneSVM`, or another model that the reduction reads.
    reduction : Reduction
        The relaxation, a map from the model to ``target``.
    target : Model or StandardForm
        The problem that was solved.
    result : Result
        The solver's result for the target.
    values : mapping of label to array or None
        A feasible point of the original; None if the solver gave no point, or no feasible one follows from it.
    objective : float
        Objective of that point; NaN without one.
    lifted : LiftedDual or None
        The bound of the original that the multipliers prove, -inf if the reduction has a caveat; None without multipliers.
    offset : Rounded
        Constant to add to the target's bound for one of the original, if the target cannot hold it itself.
    """

    model: Model
    reduction: Reduction[Any]
    target: Model | StandardForm
    result: Result
    values: dict[str, FloatArray] | None
    objective: float
    lifted: LiftedDual | None
    offset: Rounded = _NONE

    @property
    def form(self) -> StandardForm:
        """The target's form, compiled once."""
        return self.target.form if isinstance(self.target, Model) else self.target

    @property
    def bound(self) -> float:
        """Lower bound of the original's optimum: a proved one, else the solver's claim; -inf without either, or with a `caveat`.

        It is 0 at least if no part of the original's objective can be negative. For a form that maximises it bounds the negative
        objective, which the form minimises.
        """
        if self.caveat:
            return float("-inf")
        return 0.0 if self._is_trivial else self.target_bound

    @property
    def bound_kind(self) -> str:
        """The evidence for `bound`: "proved", "claimed by solver" or "none"."""
        if self.caveat:
            return BoundKind.NONE
        return BoundKind.PROVED if self._is_trivial else self.target_kind

    @property
    def _is_trivial(self) -> bool:
        """Return whether 0 is a better bound of the original than the target's, if that has one."""
        if self.target_bound >= 0.0:
            return False
        form = form_that_fits(self.model)
        return self.model.has_nonnegative_objective or (form is not None and has_nonnegative_objective(form))

    @property
    def target_bound(self) -> float:
        """Lower bound of the target's own optimum, offset included; -inf without one."""
        value = self._best_bound[0]
        return (Rounded(value) + self.offset).lower if isfinite(value) else value

    @property
    def target_kind(self) -> str:
        """The evidence for `target_bound`, in the words of `bound_kind`."""
        return self._best_bound[1]

    @property
    def argument(self) -> str:
        """Return why `bound` (with a `caveat` `target_bound`) holds, in words; empty without a certificate."""
        return _NEVER_NEGATIVE if self._is_trivial and not self.caveat else self._best_bound[2]

    @cached_property
    def _best_bound(self) -> tuple[float, str, str]:
        """The larger of the result's bound and 0, if no point of the target costs less; its kind and its argument."""
        value, certificate = self.result.best_bound[0], self.result.certificate
        if value < 0.0 and is_never_negative(self.form, self.target if isinstance(self.target, Model) else None):
            return 0.0, BoundKind.PROVED.value, _NEVER_NEGATIVE
        return value, self.result.bound_kind, "" if certificate is None else certificate.argument

    @cached_property
    def caveat(self) -> str:
        """Return the reason why the target's optimum need not bound the original's; empty where it does.

        A feasible point of the original that costs less than the bound refutes the reduction, or the solver's claim.
        """
        original: Any = self.model  # one that the reduction reads
        reservation = self.reduction.no_bound_reason(original)
        scale = max(abs(self.target_bound), abs(self.objective))
        if not reservation and self.target_bound - self.objective > max(AGREEMENT_TOLERANCE, self.result.tol) * scale:
            return f"a feasible point costs {self.objective:.9g}, less than it"
        return reservation

    def __str__(self) -> str:
        value, kind = (self.target_bound, self.target_kind) if self.caveat else (self.bound, self.bound_kind)
        inaccurate = kind == BoundKind.CLAIMED and self.result.status is Status.INACCURATE
        kind = f"{kind}, which its certificate does not support" if inaccurate else str(kind)
        bound = bound_text(value, kind, self.caveat, "the optimum")  # of a ramp's as well
        bound += "" if isfinite(self.target_bound) else f" ({self.result.status})"
        recovered = f"recovered objective {self.objective:.9g}" if isfinite(self.objective) else "no feasible point recovered"
        return f"{self.reduction.name} by {self.result.solver}: {bound}, {recovered}"

    __repr__ = __str__


def bound_text(bound: float | None, kind: str, caveat: str, target: str = "the 0-1 optimum") -> str:
    """Return words for a relaxation's bound: a lower bound of ``target``, or of the relaxation's optimum alone with a caveat."""
    if bound is None or not isfinite(bound):
        return "no bound"
    if not caveat:
        return f"lower bound of {target} {bound:.9g} ({kind})"
    return f"no bound of {target}: {caveat} (its own optimum is at least {bound:.9g}, {kind})"


def relax(
    model: Model | StandardForm,
    reduction: Reduction[Any] | str,
    solver: SolverLike | SolverSpec = "auto",
    options: Options | None = None,
    **overrides: Any,
) -> RelaxationResult:
    """Solve a relaxation of a model; return its bound, a recovered feasible point and the bound that the multipliers prove.

    Parameters
    ----------
    model : Model or StandardForm
        The problem to bound.
    reduction : Reduction or str
        The relaxation: ``rx.Conic()``, say, or its name in ``relaxations.table()``.
    solver, options, **overrides
        Solver of the target and its options, as for ``solve``.

    Returns
    -------
    RelaxationResult
        The target's result, the bound of the model's optimum, and the recovered point.

    Raises
    ------
    UnsupportedModelError
        The reduction does not read this model (its optimum would bound nothing of it), or the solver not its target.
    InputError
        The problem is no model, or lacks data that the reduction needs; or there is no relaxation of that name.
    MissingPackageError, LicenceError
        The solver is not installed, or not licensed for the target.
    SolverError
        The time limit ended while the target was made.
    """
    model, reduction = as_model(model), reduction_of(reduction)
    obstacle = reduction.obstacle(model)
    if obstacle:
        reading = applicable_names(model)
        advice = f"{', '.join(reading)} read it" if reading else f"no relaxation reads a {type(model).__name__}"
        words = f"{reduction.name} does not read this {type(model).__name__}: {obstacle}; {advice}"
        raise UnsupportedModelError(words, name=reduction.name, allowed=reading)
    original: Any = model  # one that the reduction reads
    begin, spec = limit_clock(), resolve_solver(solver)
    options = spec.merge_options(Options.of(options, **overrides))
    limit = inf if options.time_limit is None else options.time_limit
    try:
        with memory_errors(f"the target of {reduction.name}"), deadline(begin + limit):
            target = checked_return(reduction.apply(original), (Model, StandardForm), "apply", reduction.name)
    except OutOfTimeError:
        words = f"the time limit of {limit:g} s ended while the target of {reduction.name} was made: give it a longer one"
        raise SolverError(words) from None
    result = solve_problem(target, spec, options.with_time_spent(limit_clock() - begin))
    values, objective, lifted = None, float("nan"), None
    if result.values:
        with suppress(OutOfTimeError), deadline(certification_deadline(limit, begin)):
            values = reduction.recover(original, result.values)
            checked_return(values, (Mapping, type(None)), "recover", reduction.name)
        objective = float("nan") if values is None else reduction.value(model, values)
    if result.multipliers is not None:
        with repair_deadline(certification_deadline(limit, begin)):
            lifted = reduction.lift_dual(original, result.multipliers, target)
    return RelaxationResult(model, reduction, target, result, values, objective, lifted, reduction.offset(original, target))
