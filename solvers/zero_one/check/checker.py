"""An independent checker of proof logs: it shares no code with the solver and trusts nothing but the problem's data.

What is verified, for the stated problem min Σ_{penalised} w_j² + Σ_i λ_i 1{a_i'w < 1} and the claimed bound B: no w has a value
below B, and the incumbent has the value that is reported. Every inequality is evaluated in outward-rounded arithmetic (each
operation moved by one unit in the last place to the safe side; sums are exact by `math.fsum`), the incumbent in rational
arithmetic. The rules (with proofs: ``docs/zero-one-bb.md``) are applied anew from the multipliers alone: the log's own bounds,
boxes and fixings are not in it.
"""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np

from ....models.model import Model
from ...exact.check.arithmetic import RationalPoint, rounded_up
from ...exact.check.checker import Claim, ProofChecker
from ...exact.check.sealed import SealedLog
from ...exact.check.trees import VerifierPool
from .boxes import check_box_tree
from .conflict_problem import norm_within_budget
from .conflicts import check_conflict_tree
from .statement import LoggedZeroOneProblem

__all__ = ["ZeroOneChecker"]


class ZeroOneChecker(ProofChecker[LoggedZeroOneProblem]):
    """Checker of the logs of ``zero-one-bb``: of boxes, of conflicts, and of conflicts within a budget of violations."""

    format = "marginopt-zero-one-proof"
    #: Rounds of 4 may weigh losses; conflicts of 5 say their numbers.
    versions = (3, 4, 5)

    def of_model(self, model: Model) -> LoggedZeroOneProblem:
        """Return the rows, costs and intercept of a `ZeroOneSVM`, built anew from X and y."""
        return LoggedZeroOneProblem.of_model(model)

    def of_log(self, header: dict[str, Any]) -> LoggedZeroOneProblem:
        """Return the stated rows, costs and intercept."""
        return LoggedZeroOneProblem.of_log(header)

    def claim(self, problem: LoggedZeroOneProblem, log: SealedLog) -> Claim:
        """Return the claimed bound, and the incumbent's objective or, within a budget, its squared norm."""
        w = log.claim["w"]
        if log.header["kind"] == "budget":
            value = norm_within_budget(log.header, problem.A, problem.penalised, w)
        else:
            value = _incumbent_value(problem, w)
        return Claim(float(log.claim["bound"]), value)

    def prove(self, problem: LoggedZeroOneProblem, log: SealedLog, claim: Claim, crew: VerifierPool | None) -> tuple[float, int]:
        """Verify the tree; a bound of 0 needs none."""
        bound = float(claim.bound)
        if not bound > 0.0:
            return bound, 0
        check = check_conflict_tree if log.header["kind"] in ("conflicts", "budget") else check_box_tree
        return bound, check(log.header, problem.A, problem.weights, problem.penalised, bound, log.all_records(), crew)


def _incumbent_value(problem: LoggedZeroOneProblem, w: list[float]) -> float:
    """Return the objective in rational arithmetic, rounded up."""
    point = RationalPoint.of(w, problem.A.shape[1])
    total = point.square(problem.penalised.astype(np.float64).tolist())
    for row, weight in zip(problem.A.tolist(), problem.weights.tolist(), strict=True):
        if point.product(row) < 1:
            total += Fraction(weight)
    return rounded_up(total)
