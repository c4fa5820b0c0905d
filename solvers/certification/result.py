"""Results: what a solver claimed beside what the certificate supports."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from ...errors import InputError, MarginoptWarning
from ...models.arrays import FloatArray, IntArray
from ...models.importing.api import recipient_of
from ...models.importing.source import Ending, Returned
from ..records.answer import Answer, Update
from ..records.status import Status
from ..records.trace import relative_gap
from .certificate import Certificate
from .foreign_status import difference, foreign_ending
from .judgement import Judgement
from .solver_report import Claim
from .verdict import gap_closed

if TYPE_CHECKING:
    from ...models.model import Model
    from ...models.program.form import StandardForm
    from ..checks.duals import DualCheck
    from ..checks.verify import Verification

__all__ = ["Claim", "Result"]

#: Version of the stored layout (`solvers.certification.result_file`).
RESULT_VERSION = 2


@dataclass(frozen=True, eq=False, repr=False)
class Result(Judgement):
    """The outcome of one solve.

    ``objective`` and ``bound`` are in the *model's* sense (a maximum's bound is an upper one); the claim and the
    certificate are in the form's, which is always minimisation.

    Parameters
    ----------
    model, solver : str
        Names.
    status : Status
        After the certificate was looked at.
    answer : Answer
        What the solver said; its fields are attributes here too.
    certificate : Certificate or None
        None where there is no point.
    values : mapping of label to array
        The point that was judged, that of the answer completed and polished; empty where there is none.
    reduced : mapping of label to array or None
        ζ by block.
    evidence : str
        What stands behind a claim of infeasibility or unboundedness.
    ray_residual : float or None
        Of the Farkas multipliers or the ray, recomputed (`solvers.certification.rays`).
    picked : str
        What ``auto`` picked, and why.
    options : mapping
        What was asked for.
    licence : str
    summary : mapping
        Figures of merit that the model computes from the point.
    maximise : bool
        The model's sense.
    digest : str
        SHA-256 of the data and parameters that were solved (`models.fingerprint`); empty where these have none.
    about : mapping of name to str
        The same in words: shapes of arrays, values of parameters.
    unverified : str
        Not empty where the claims are those of a file and were not certified anew (`load_result` without a model): says so.
    stated : Model or None
        The model itself, in the process that solved it; pickles and files leave it out.
    tol : float
        Relative gap that an optimum was held to.

    Notes
    -----
    Whoever makes a result: OPTIMAL beside a bound that the objective does not meet becomes INACCURATE. Objective and best bound
    of an optimum are within ``tol`` of each other, or both zero within the rounding error of the objective's terms at the point.
    """

    model: str
    solver: str
    status: Status
    answer: Answer
    certificate: Certificate | None
    values: Mapping[str, FloatArray]
    reduced: Mapping[str, FloatArray] | None = None
    evidence: str = ""
    ray_residual: float | None = None
    picked: str = ""
    options: Mapping[str, Any] = field(default_factory=dict)
    licence: str = ""
    summary: Mapping[str, float] = field(default_factory=dict)
    maximise: bool = False
    digest: str = ""
    about: Mapping[str, str] = field(default_factory=dict)
    unverified: str = ""
    stated: Model | None = None
    tol: float = 1e-6

    def __post_init__(self) -> None:
        open_gap = self._open_gap() if self.status is Status.OPTIMAL else ""
        if open_gap:
            object.__setattr__(self, "status", Status.INACCURATE)
            object.__setattr__(self, "evidence", "; ".join(filter(None, [self.evidence, open_gap])))

    def _open_gap(self) -> str:
        """Return by how much the best bound misses the objective; nothing where they agree, or where there is no bound."""
        bound, certificate = self.best_bound[0], self.certificate
        if certificate is None or not np.isfinite(bound) or gap_closed(certificate, bound, self.tol):
            return ""
        return (
            f"no optimum: the relative gap is {abs(relative_gap(certificate.objective, bound)):.2e}, more than tol = {self.tol:g}"
        )

    def __getstate__(self) -> dict[str, Any]:
        """Without the model: results travel between processes whose data are there already."""
        return {**self.__dict__, "stated": None}

    def noting(self, update: Update | None = None, **details: Any) -> Result:
        """The same result with an update, and more to show."""
        a = self.answer
        noted = replace(a, update=a.update if update is None else update, details={**a.details, **details})
        return replace(self, answer=noted)

    def support(self, label: str = "a", threshold: float = 0.0) -> IntArray:
        """Indices of a block's entries above ``threshold``: the support vectors of a dual."""
        return np.flatnonzero(self.values[label] > threshold)

    def verify(self, model: Model | StandardForm | None = None, exact: bool = False) -> Verification:
        """Everything recomputed from the model, in rational arithmetic where asked (`solvers.checks.verify`).

        Without a model it is the one that was solved. A result from a file or from another process does not hold it.

        Raises
        ------
        InputError
            No model was given, and the result does not hold one; or it is another than was solved.
        """
        from ..checks.verify import verify

        return verify(self, self._own(model, "verify"), exact=exact)

    def check_duals(self, model: Model | StandardForm | None = None, most: int = 12, seed: int = 0) -> DualCheck:
        """Multipliers beside finite differences of the optimum by the right-hand sides (`solvers.checks.duals`).

        Raises
        ------
        InputError
            As `verify`.
        """
        from ..checks.duals import check_duals

        return check_duals(self, self._own(model, "check_duals"), most=most, seed=seed)

    def _own(self, model: Model | StandardForm | None, verb: str) -> Model | StandardForm:
        found = self.stated if model is None else model
        if found is None:
            raise InputError(f"this result is from a file or another process and does not hold its model: result.{verb}(model)")
        return found

    def save(self, path: str | Path) -> Path:
        """Write the result to one npz file (JSON and arrays, no pickle); `marginopt.load_result` reads it back."""
        from .result_file import save_result

        return save_result(self, path)

    def into(self, problem: Any) -> object:
        """Write the answer into the program of another package that the solved form was made from.

        Values go in, and dual values in that package's own signs: values, dual values and status of a ``cvxpy.Problem``;
        variables and suffixes of a Pyomo model; the solution of a ``highspy.Highs``; a start for a ``gurobipy.Model``; a SciPy
        ``OptimizeResult`` is filled. The classes of `models.importing` say it for each. The point is put into the package's own
        expressions: where these have other values than here, the status that goes back is inaccurate.

        Returns
        -------
        object
            The status that the package's own solve would have had: CVXPY's word, Pyomo's ``TerminationCondition``, HiGHS's
            ``HighsModelStatus``, Gurobi's or SciPy's number.

        Warns
        -----
        MarginoptWarning
            The package evaluates the program otherwise; names the constraint.

        Raises
        ------
        InputError
            Not an object of those packages, or not the program that was solved.
        """
        recipient = recipient_of(problem)
        returned = Returned(
            ending=foreign_ending(self),
            values=self.values,
            multipliers=self.multipliers,
            reduced=self.reduced,
            objective=float("nan") if self.certificate is None else self.certificate.objective,
        )
        recipient.check(returned)
        differs = difference(recipient, returned)
        if differs:
            warnings.warn(differs, MarginoptWarning, stacklevel=2)
            returned = replace(returned, ending=Ending.INACCURATE, message=differs)
        return recipient.give_back(returned)
