"""Solve a relaxation and take the way back: bound, recovered classifier, lifted dual."""

from __future__ import annotations

from dataclasses import dataclass

from ..models.arrays import FloatArray
from ..models.formulations.zero_one.model import ZeroOneSVM
from ..solvers.judging.result import Result
from ..solvers.records.options import Options
from ..solvers.solve import solve_problem
from .reduction import LiftedDual, Reduction

__all__ = ["Relaxed", "relax"]


@dataclass(frozen=True, eq=False)
class Relaxed:
    """A solved relaxation of a 0-1-loss model.

    Parameters
    ----------
    model : ZeroOneSVM
    reduction : Reduction
    result : Result
        Of the target.
    values : mapping of label to array or None
        A feasible point of the original; None where the solver gave no point.
    objective : float
        Its true 0-1 objective; NaN without one.
    lifted : LiftedDual or None
        What the multipliers prove about the original; None where there are none.
    """

    model: ZeroOneSVM
    reduction: Reduction
    result: Result
    values: dict[str, FloatArray] | None
    objective: float
    lifted: LiftedDual | None

    @property
    def bound(self) -> float:
        """Lower bound of the target's optimum: proved where there is one, else the solver's claim; -inf without."""
        return self.result.best_bound[0]

    @property
    def bound_kind(self) -> str:
        """How far to trust it: "proved", "claimed by solver" or "none"."""
        return self.result.bound_kind

    @property
    def caveat(self) -> str:
        """Why the bound may not be one of the 0-1 optimum; empty where it is."""
        return self.reduction.caveat(self.model)

    def __str__(self) -> str:
        note = f"; {self.caveat}" if self.caveat else ""
        return (
            f"{self.reduction.name} by {self.result.solver}: bound {self.bound:.9g} ({self.bound_kind}{note}), "
            f"recovered objective {self.objective:.9g}"
        )

    __repr__ = __str__


def relax(model: ZeroOneSVM, reduction: Reduction, solver: str = "auto", options: Options | None = None) -> Relaxed:
    """Apply a reduction, solve its target, recover a feasible point and lift the multipliers.

    Raises
    ------
    InputError, UnsupportedModelError
        The reduction does not take this model, or the solver does not read its target.
    MissingPackageError, LicenceError
        The solver is not installed, or not licensed for the target.
    """
    result = solve_problem(reduction.apply(model), solver, Options() if options is None else options)
    values, objective, lifted = None, float("nan"), None
    if result.values:
        values = reduction.recover(model, result.values)
        objective = model.objective(values["w"])
    if result.multipliers is not None:
        lifted = reduction.lift_dual(model, result.multipliers)
    return Relaxed(model, reduction, result, values, objective, lifted)
