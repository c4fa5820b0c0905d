"""A solver on a case: the solve that most laws look at, and its repetitions under changes."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

from ..solvers import solve
from ..solvers.certification.result import Result
from ..solvers.interface.solver import Gives, Solver
from ..solvers.registry import installed
from .cases import Case

__all__ = ["Trial", "unusable"]

#: Relative gaps that the laws ask for: of first-order methods, and of the others.
FIRST_ORDER, USUAL = 1e-4, 1e-6
#: No case takes as long; a solver that does has not solved it. Its own limit of iterations does not count.
SECONDS, ITERATIONS = 60.0, 1_000_000


def unusable(solver: Solver) -> str:
    """Why a solver cannot be tried here at all; empty where it can."""
    if not installed(solver):
        return f"the package {solver.info.package or solver.info.module} is not installed"
    licence = solver.licence()
    return "" if licence.usable else f"licence: {licence.state.value}"


@dataclass(frozen=True, eq=False)
class Trial:
    """A solver on a case.

    Parameters
    ----------
    solver : Solver
    case : Case
    """

    solver: Solver
    case: Case

    @property
    def name(self) -> str:
        """Solver and case."""
        return f"{self.solver.info.name} / {self.case.name}"

    @property
    def tol(self) -> float:
        """The relative gap that the laws ask for."""
        info = self.solver.info
        return info.reaches or (FIRST_ORDER if info.first_order else USUAL)

    @cached_property
    def obstacle(self) -> str:
        """Why the solver does not read the case; empty where it does."""
        return self.solver.obstacle(self.case.model) or ""

    @cached_property
    def refusal(self) -> str:
        """The licence's refusal of a case of this size."""
        if self.solver.info.views or self.case.form is None:
            return ""
        return self.solver.licence().refusal(self.case.form) or ""

    @property
    def without(self) -> str:
        """Why there is nothing to look at: the solver is not here, does not read the case, or is not licensed for it."""
        return unusable(self.solver) or self.obstacle or self.refusal

    @property
    def gives_duals(self) -> bool:
        """Return whether the record promises multipliers."""
        return Gives.DUALS in self.solver.info.gives

    @property
    def integers(self) -> bool:
        """Return whether the case has integer variables."""
        return self.case.form is not None and bool(self.case.form.integer.any())

    def solve(self, case: Case | None = None, **changes: Any) -> Result:
        """Solve this case, or another, with some options changed."""
        options: dict[str, Any] = {"tol": self.tol, "time_limit": SECONDS, "iteration_limit": ITERATIONS, "threads": 1} | changes
        return solve((self.case if case is None else case).model, self.solver, **options)

    @cached_property
    def result(self) -> Result:
        """The case solved to the tolerance of the laws."""
        return self.solve()
