"""`Result`, the return value of `solve`: point, status, bound and gap as recomputed from the data, beside the solver's answer."""

from __future__ import annotations

import enum
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np

from ...display import Display, Displayable
from ...errors import InputError, MarginoptWarning, TooLargeError, UnsupportedModelError, count_text
from ...late_method import LateMethod
from ...models.arrays import FloatArray, IntArray
from ...models.importing import recipient_of
from ...models.importing.source import ReturnedAnswer, Termination, difference_from_source
from ...models.model import Model
from ...models.program.form import Block, Constraint, NamedValues, StandardForm
from ..records import Answer, Status, Trace, Update, relative_gap
from .certificate import MAX_RESIDUAL, Certificate
from .verdict import gap_closed
from .verification import DualCheck, Verification


class BoundKind(enum.StrEnum):
    """The kind of evidence behind a bound or a status; the value is its name in sentences.

    PROVED: recomputed from the data with its rounding error, or proved by an exact solver of this package. CONDITIONAL: the same
    argument, but it is not known that the objective's matrix P, or the kernel matrix K behind it, is positive semidefinite.
    CLAIMED: the solver's claim alone. STORED: read from a file without the data. NONE: no evidence.
    """

    PROVED = "proved"
    CONDITIONAL = "proved if K is PSD"
    CLAIMED = "claimed by solver"
    STORED = "as stored, not verified"
    NONE = "none"


#: Implementations, set by modules that import this one, of `Result.verify`, `Result.check_duals` and `Result.save`.
VERIFY: LateMethod[[Result, Model | StandardForm, bool], Verification] = LateMethod("verify")
CHECK_DUALS: LateMethod[[Result, Model | StandardForm, int, int], DualCheck] = LateMethod("check_duals")
SAVE: LateMethod[[Result, str | Path], Path] = LateMethod("save")


@dataclass(frozen=True)
class Claim:
    """The solver's own claim, in the form's minimisation sense.

    Parameters
    ----------
    status : Status
        The status.
    native_status : str
        The status in the solver's own words.
    objective, bound : float or None
        Objective and bound; None if the solver gave none.
    proved : bool
        Whether the solver says that its bound is proved.
    """

    status: Status
    native_status: str
    objective: float | None = None
    bound: float | None = None
    proved: bool = False


def _words(name: str) -> str:
    """Return the name of a figure as it is printed: blanks for underscores."""
    return name.replace("_", " ").replace("big m ", "big-M ")


def _claimed(claim: Claim, sign: float) -> str:
    """Return ", objective ..., bound ..." of a claim, in the model's sense, for the end of a line."""
    parts = []
    if claim.objective is not None:
        parts.append(f"objective {sign * claim.objective + 0.0:.10g}")
    if claim.bound is not None and np.isfinite(claim.bound):
        parts.append(f"bound {sign * claim.bound + 0.0:.10g}")
    return (", " + ", ".join(parts)) if parts else ""


#: The proved bounds, in the form's sense, of results that this process has certified. A changed copy is another result.
_REGISTERED_BOUNDS: WeakKeyDictionary[Result, float] = WeakKeyDictionary()
#: Statuses beside which a bound is not carried to other problems: objective and bound may contradict each other.
_DOUBTFUL = (Status.INACCURATE, Status.FAILED)

# The status of a result in the words of other packages.

_TERMINATIONS = {
    Status.OPTIMAL: Termination.OPTIMAL,
    Status.STATIONARY: Termination.STATIONARY,
    Status.INFEASIBLE: Termination.INFEASIBLE,
    Status.UNBOUNDED: Termination.UNBOUNDED,
    Status.TIME_LIMIT: Termination.TIME_LIMIT,
    Status.ITERATION_LIMIT: Termination.ITERATION_LIMIT,
    Status.NODE_LIMIT: Termination.NODE_LIMIT,
    Status.MEMORY_LIMIT: Termination.MEMORY_LIMIT,
    Status.INTERRUPTED: Termination.INTERRUPTED,
    Status.FAILED: Termination.FAILED,
}
#: Violation, relative, up to which a point that is no proved optimum is returned as an inaccurate one.
_INACCURATE = 1e-4


def termination_of(result: Result) -> Termination:
    """Return the termination to report to another package.

    Infeasibility or unboundedness without a valid ray is INFEASIBLE_OR_UNBOUNDED. Any other status without an equivalent is
    INACCURATE if the point is nearly feasible, else FAILED.
    """
    if result.status in _TERMINATIONS:
        return _TERMINATIONS[result.status]
    if result.claim.status in (Status.INFEASIBLE, Status.UNBOUNDED):
        return Termination.INFEASIBLE_OR_UNBOUNDED
    nearly_feasible = result.certificate is not None and result.certificate.feasible(_INACCURATE)
    return Termination.INACCURATE if nearly_feasible else Termination.FAILED


@dataclass(frozen=True, eq=False)
class PoolPoint:
    """One of several points of a solver, judged from the data like a result's own.

    Parameters
    ----------
    objective : float
        The objective, recomputed, in the model's sense.
    values : mapping of label to array
        The point by block.
    certificate : Certificate
        The certificate without multipliers: objective, violations and integrality.
    """

    objective: float
    values: Mapping[str, FloatArray]
    certificate: Certificate


@dataclass(frozen=True, eq=False, repr=False)
class Result(Displayable):
    """The outcome of one solve.

    ``objective`` and ``bound`` are in the *model's* sense (a maximum's bound is an upper one); the claim and the certificate are
    in that of the model's standard form, which is always minimisation.

    Parameters
    ----------
    model, solver : str
        Names.
    status : Status
        The status that the certificate supports.
    answer : Answer
        The solver's own answer; most of its fields are attributes here too.
    certificate : Certificate or None
        None where there is no point.
    values : mapping of label to array
        The certified point: the answer's, completed and polished; empty without a point.
    reduced : mapping of label to array or None
        Reduced costs ζ of the bounds by block, with the signs of `models.program.form`.
    pool : tuple of PoolPoint
        Further points, best first, where the solver was asked for several (Gurobi's ``PoolSolutions``, SCIP's ``limits/maxsol``).
    evidence : str
        What supports the status or speaks against it, in words: a ray, why an optimum was not accepted, a failed solver's
        error, caveats of a bound; empty without any.
    ray_residual : float or None
        Residual of the Farkas multipliers or of the ray, recomputed (`solvers.certification.rays`).
    ray_proved : bool
        True if exact Farkas multipliers, or an exact ray from a feasible point, prove the status; see `status_kind`.
    picked : str
        The solver that ``auto`` picked, and why.
    options : mapping
        The options that were given.
    licence : str
        The state of the solver's licence (`solvers.interface.solver`).
    summary : mapping
        Figures of merit that the model computes from the point.
    maximise : bool
        The model's sense.
    digest : str
        SHA-256 of the data and parameters that were solved (`models.model`); empty if the model has no digest.
    model_description : mapping of name to str
        The data and parameters in words: shapes of arrays, values of parameters.
    unverified : str
        Sentence that the claims are those of a file and were not certified again (`load_result` without a model); else empty.
    original_model : Model or None
        The model itself, in the process that solved it; pickles and files leave it out.
    tol : float
        Relative gap that an optimum was held to.

    Notes
    -----
    OPTIMAL becomes INACCURATE if objective and best bound are neither within ``tol`` of each other, nor both zero within the
    rounding error of the objective's terms at the point.
    """

    model: str
    solver: str
    status: Status
    answer: Answer
    certificate: Certificate | None
    values: Mapping[str, FloatArray]
    reduced: Mapping[str, FloatArray] | None = None
    pool: tuple[PoolPoint, ...] = ()
    evidence: str = ""
    ray_residual: float | None = None
    ray_proved: bool = False
    picked: str = ""
    options: Mapping[str, Any] = field(default_factory=dict)
    licence: str = ""
    summary: Mapping[str, float] = field(default_factory=dict)
    maximise: bool = False
    digest: str = ""
    model_description: Mapping[str, str] = field(default_factory=dict)
    unverified: str = ""
    original_model: Model | None = None
    tol: float = 1e-6

    def __post_init__(self) -> None:
        object.__setattr__(self, "values", NamedValues(self.values, self._blocks))
        open_gap = self._open_gap() if self.status is Status.OPTIMAL else ""
        if open_gap:
            object.__setattr__(self, "status", Status.INACCURATE)
            object.__setattr__(self, "evidence", "; ".join(filter(None, [self.evidence, open_gap])))

    def _form(self) -> StandardForm | None:
        """Return the model's form; None where the model has no form, or is not known."""
        try:
            return None if self.original_model is None else self.original_model.form
        except (TooLargeError, UnsupportedModelError):
            return None

    def _blocks(self) -> tuple[Block, ...]:
        form = self._form()
        return () if form is None else form.blocks

    def _constraints(self) -> tuple[Constraint, ...]:
        form = self._form()
        return () if form is None else form.constraints

    def _open_gap(self) -> str:
        """Return a sentence with the relative gap of objective and best bound; empty if they agree, or without a bound."""
        bound, certificate = self.best_bound[0], self.certificate
        if certificate is None or not np.isfinite(bound) or gap_closed(certificate, bound, self.tol):
            return ""
        return (
            f"no optimum: the relative gap is {abs(relative_gap(certificate.objective, bound)):.2e}, more than tol = {self.tol:g}"
        )

    @property
    def claim(self) -> Claim:
        """The solver's own claim, in the form's sense."""
        a = self.answer
        return Claim(a.status, a.native_status, a.objective, a.bound, a.proved)

    @property
    def version(self) -> str:
        """The solver's version."""
        return self.answer.version

    @property
    def multipliers(self) -> Mapping[str, FloatArray] | None:
        """z_k by constraint label, or by the name of a row, signs as in `models.program.form`."""
        multipliers = self.answer.multipliers
        return None if multipliers is None else NamedValues(multipliers, self._constraints)

    @property
    def farkas(self) -> Mapping[str, FloatArray] | None:
        """Multipliers by constraint label that prove infeasibility; None where the solver gave none."""
        return self.answer.farkas

    @property
    def ray(self) -> Mapping[str, FloatArray] | None:
        """Direction by block that proves unboundedness; None where the solver gave none."""
        return self.answer.ray

    @property
    def root_bound(self) -> float | None:
        """The bound of a tree search before its first branching, in the form's sense, where the solver says it."""
        return self.answer.root_bound

    @property
    def stationarity(self) -> float | None:
        """First-order residual of a nonconvex problem, where the algorithm measures one; else None."""
        return self.answer.stationarity

    @property
    def optimised_parameters(self) -> Mapping[str, Any]:
        """The parameters of the model that the solver determined beside the variables (γ or P of a minimax model), by name."""
        return self.answer.optimised_parameters

    @property
    def history(self) -> Sequence[Mapping[str, Any]]:
        """The records of an algorithm's outer iterations, figures by name; empty for solvers without them."""
        return self.answer.history

    @property
    def update(self) -> Update | None:
        """The way in which the solver's model was made from the last problem's, on a path of related problems; None off paths."""
        return self.answer.update

    @property
    def bridges(self) -> tuple[str, ...]:
        """The reformulations between the form and what the solver read, by name and in order."""
        return self.answer.bridges

    @property
    def nodes(self) -> int | None:
        """Nodes of a tree search; None for other solvers."""
        return self.answer.nodes

    @property
    def iterations(self) -> int | None:
        """Iterations of the solver; None where it counts none."""
        return self.answer.iterations

    @property
    def trace(self) -> Trace:
        """The history of the run: time, objective and bound of each step."""
        return self.answer.trace

    @property
    def build_seconds(self) -> float:
        """Seconds of translating and loading the model."""
        return self.answer.build_seconds

    @property
    def solve_seconds(self) -> float:
        """Seconds of solving."""
        return self.answer.solve_seconds

    @property
    def compile_seconds(self) -> float:
        """Seconds of compiling loops, once for a machine."""
        return self.answer.compile_seconds

    @property
    def details(self) -> dict[str, Any]:
        """Everything else worth showing, in one mapping for people: the solver's remarks, and the facts that have attributes."""
        a, residual = self.answer, self.ray_residual
        infeasible = a.status is Status.INFEASIBLE
        facts: dict[str, Any] = {
            "farkas": a.farkas,
            "farkas_residual": residual if infeasible else None,
            "ray": a.ray,
            "ray_residual": None if infeasible else residual,
            "root_bound": a.root_bound,
            "stationarity": a.stationarity,
            "steps": list(a.history) or None,
            "bridges": list(a.bridges) or None,
            "update": None if a.update is None else str(a.update),
            "polished": a.polished or None,
            "picked": self.picked or None,
            "evidence": self.evidence or None,
        }
        return {**a.details, **a.optimised_parameters, **{name: fact for name, fact in facts.items() if fact is not None}}

    @property
    def sign(self) -> float:
        """-1 where the model maximises, else 1."""
        return -1.0 if self.maximise else 1.0

    def in_own_sense(self, value: float) -> float:
        """Return a number of the form in the model's sense; zero has no sign.

        Parameters
        ----------
        value : float
            An objective or bound of the form, which is minimised.
        """
        return self.sign * value + 0.0

    @property
    def objective(self) -> float:
        """The recomputed objective in the model's sense; NaN without a point."""
        return float("nan") if self.certificate is None else self.in_own_sense(self.certificate.objective)

    @property
    def best_bound(self) -> tuple[float, str]:
        """The bound in the form's sense and its kind (`BoundKind`): proved by the certificate or the solver, or claimed by it.

        Stationary points and certificates of an inner problem have no bound. The claimed bound of a failed solver counts only if
        the solver proves it.
        """
        no_bound = (float("-inf"), BoundKind.NONE.value)
        certificate, claim = self.certificate, self.claim
        if self.status is Status.STATIONARY or (certificate is not None and certificate.inner):
            return no_bound
        candidates = []
        if certificate is not None and np.isfinite(certificate.bound):
            candidates.append(
                (certificate.bound, BoundKind.CONDITIONAL.value if certificate.condition else BoundKind.PROVED.value)
            )
        accepted = claim.proved or claim.status is not Status.FAILED
        if claim.bound is not None and np.isfinite(claim.bound) and accepted:
            candidates.append((claim.bound, BoundKind.PROVED.value if claim.proved else BoundKind.CLAIMED.value))
        for kind in (BoundKind.PROVED, BoundKind.CONDITIONAL, BoundKind.CLAIMED):
            of_kind = [c for c in candidates if c[1] == kind.value]
            if of_kind:
                return max(of_kind)
        return no_bound

    @property
    def bound(self) -> float:
        """Best bound in the model's sense: a proved one, else the solver's claim; infinite without a bound."""
        return self.in_own_sense(self.best_bound[0])

    @property
    def bound_kind(self) -> str:
        """The trust that the bound deserves, in the words of `solvers.certification.result.BoundKind`."""
        kind = self.best_bound[1]
        return BoundKind.STORED.value if self.unverified and kind != BoundKind.NONE.value else kind

    @property
    def status_kind(self) -> str:
        """The trust that an answer to the question deserves, in the words of `solvers.certification.result.BoundKind`.

        An optimum has the kind of its bound. INFEASIBLE and UNBOUNDED are "proved" by exact Farkas multipliers, by an exact
        search that leaves no point, or by an exact ray from a feasible point, and "claimed by solver" otherwise; ``evidence`` has
        the reason. Other statuses have "none".
        """
        if self.status is Status.OPTIMAL:
            return self.bound_kind
        if self.status not in (Status.INFEASIBLE, Status.UNBOUNDED):
            return BoundKind.NONE.value
        if self.unverified:
            return BoundKind.STORED.value
        return BoundKind.PROVED.value if self.ray_proved or self.answer.excludes_all_points else BoundKind.CLAIMED.value

    @property
    def _status_and_kind(self) -> str:
        """The status; of infeasibility and unboundedness also the trust in it."""
        shown = self.status is not Status.OPTIMAL and self.status_kind != BoundKind.NONE.value
        return f"{self.status} ({self.status_kind})" if shown else str(self.status)

    @property
    def message(self) -> str:
        """The sentence that explains the status; for an optimum also its evidence, for a stopped run also what was found."""
        if self.status.stopped:
            return f"{self.status.message}; {self._found_by_then}"
        if self.status is not Status.OPTIMAL:
            return self.status.message
        return f"{self.status.message}; {self._stands_on}"

    @property
    def _found_by_then(self) -> str:
        """Say what a solver that was stopped has found."""
        if self.certificate is None:
            return "no point was found"
        feasible = self.certificate.feasible(MAX_RESIDUAL)
        return "the point and the bound are the best found" if feasible else "the point misses constraints"

    @property
    def _stands_on(self) -> str:
        """The source of the claim that a point is optimal."""
        kind, certificate = self.bound_kind, self.certificate
        if kind == BoundKind.PROVED.value:
            return "the bound is proved"
        if kind == BoundKind.CONDITIONAL.value:
            return "the bound is proved if K is positive semidefinite, which is not known"
        if kind == BoundKind.STORED.value:
            return BoundKind.STORED.value
        continuous = certificate is not None and certificate.integrality is None and not certificate.nonconvex
        if continuous and certificate is not None and certificate.complementarity is not None:
            return "the optimality conditions hold; no bound is proved"
        return "the bound is the solver's claim; no certificate proves it"

    @property
    def gap(self) -> float:
        """(objective - bound)/max(|objective|, |bound|) in the form's sense, negative if the two contradict each other.

        NaN without a point or a bound, or if the point violates its constraints by more than 1e-4, relatively. The gap is 0 if
        the bound exceeds the objective by no more than rounding, 1e-9 of the objective, or the products of the point's violations
        with the multipliers, and if both are zero within the rounding error of the objective's terms.
        """
        if self.certificate is None or not np.isfinite(self.best_bound[0]) or not self.certificate.feasible(MAX_RESIDUAL):
            return float("nan")
        return 0.0 if self._level else relative_gap(self.certificate.objective, self.best_bound[0])

    @property
    def absolute_gap(self) -> float:
        """objective - bound in the form's sense, 0 under the conditions of `gap`; NaN without a point or a bound."""
        if self.certificate is None or not np.isfinite(self.best_bound[0]):
            return float("nan")
        return 0.0 if self._level else self.certificate.objective - self.best_bound[0]

    @property
    def _level(self) -> bool:
        """Return whether the bound equals the objective, or exceeds it by no more than rounding and violations explain."""
        certificate, bound = self.certificate, self.best_bound[0]
        assert certificate is not None
        above = bound - certificate.objective
        explained = certificate.undercut + certificate.error + certificate.bound_error
        return certificate.both_zero(bound) or (
            above >= 0.0 and (above <= explained or relative_gap(certificate.objective, bound) == 0.0)
        )

    @property
    def solved(self) -> bool:
        """Return whether the status is OPTIMAL or STATIONARY; see `conclusive` for infeasible and unbounded problems."""
        return self.status.solved

    @property
    def conclusive(self) -> bool:
        """Return whether the problem is `solved`, or proved to be infeasible or unbounded."""
        excluded = self.status in (Status.INFEASIBLE, Status.UNBOUNDED)
        return self.solved or (excluded and (self.ray_proved or self.answer.excludes_all_points))

    def __str__(self) -> str:
        gap = f"; relative gap {self.gap:.1e}" if np.isfinite(self.gap) else ""
        lines = [f"{self.model} by {self.solver} {self.version}: {self._status_and_kind}{gap}"]
        lines += [f"  {self.unverified}"] if self.unverified else []
        if self.certificate is not None:
            bound = f"{self.bound:.10g} ({self.bound_kind})" if self.bound_kind != "none" else "none"
            lines.append(f"  objective {self.objective:.10g}   bound {bound}")
        if not (self.status is Status.OPTIMAL and self.bound_kind == BoundKind.PROVED.value):
            lines.append(f"  {self.message}")
        if self.certificate is not None:
            lines.append(f"  residuals: {self.certificate.residuals}")
        ending = self.claim.native_status or self.claim.status.name.lower()
        lines.append(f"  solver's claim: {ending}" + _claimed(self.claim, self.sign))
        if self.evidence:
            lines.append(f"  evidence: {self.evidence}")
        counts = [count_text(self.iterations, "iteration")] if self.iterations is not None else []
        counts += [count_text(self.nodes, "node")] if self.nodes is not None else []
        counts.append(self.answer.times)
        lines.append("  " + ", ".join(counts))
        if self._figures:
            lines.append("  " + ", ".join(f"{_words(k)} {v:g}" for k, v in self._figures.items()))
        return "\n".join(lines)

    @property
    def _figures(self) -> dict[str, float]:
        """The parameters that were determined, where they are numbers, and the summary."""
        return {**{k: v for k, v in self.optimised_parameters.items() if isinstance(v, float)}, **self.summary}

    def display(self) -> Display:
        """Return the notebook view."""
        facts = [("status", self.message if self.status is Status.OPTIMAL else f"{self._status_and_kind}: {self.message}")]
        facts += [("not verified", self.unverified)] if self.unverified else []
        if self.certificate is not None:
            facts += [("objective", f"{self.objective:.10g}")]
            facts += [("bound", f"{self.bound:.10g}, {self.bound_kind}" if self.bound_kind != "none" else "none")]
            facts += [("relative gap", f"{self.gap:.2e}" if np.isfinite(self.gap) else "none")]
            facts += [("residuals", self.certificate.residuals)]
        facts += [("solver's claim", f"{self.claim.native_status}{_claimed(self.claim, self.sign)}")]
        facts += [("evidence", self.evidence)] if self.evidence else []
        counts = [("iterations", self.iterations), ("nodes", self.nodes)]
        facts += [(name, f"{count:,}") for name, count in counts if count is not None]
        facts += [("seconds", self.answer.times)]
        facts += [(_words(name), f"{value:g}") for name, value in self._figures.items()]
        return Display(f"{self.model} by {self.solver} {self.version}", tuple(facts))

    def __getstate__(self) -> dict[str, Any]:
        """Without the model: results travel between processes whose data are there already."""
        return {**self.__dict__, "original_model": None}

    def with_details(self, update: Update | None = None, **details: Any) -> Result:
        """Return a copy of the result with an update, and with further details.

        Parameters
        ----------
        update : Update, optional
            How the solver's model came from the last one.
        **details
            Further entries of `details`, by name.

        Returns
        -------
        Result
            A copy.
        """
        a = self.answer
        annotated = replace(a, update=a.update if update is None else update, details={**a.details, **details})
        result = replace(self, answer=annotated)
        if self in _REGISTERED_BOUNDS:
            _REGISTERED_BOUNDS[result] = self.registered_bound
        return result

    def register_proved_bound(self) -> Result:
        """Register the proved bound as one that this process has certified, for related problems (``earlier=``); return the
        result itself.
        """
        bound, kind = self.best_bound
        accepted = kind == BoundKind.PROVED.value and not self.unverified and not self.answer.bound_caveat
        if accepted and self.status not in _DOUBTFUL:
            _REGISTERED_BOUNDS[self] = bound
        return self

    @property
    def registered_bound(self) -> float:
        """The proved bound that this process has registered, in the form's sense; -∞ for other results and changed copies.

        A bound that rests on results of remote workers is not registered: its evidence is the proof log.
        """
        return _REGISTERED_BOUNDS.get(self, float("-inf"))

    def support(self, label: str = "a", threshold: float = 0.0) -> IntArray:
        """Return the indices of a block's entries above ``threshold``: the support vectors of a dual.

        Parameters
        ----------
        label : str
            The block.
        threshold : float
            The threshold, in the units of the block's values.

        Returns
        -------
        ndarray of int
            The indices, ascending.
        """
        return np.flatnonzero(self.values[label] > threshold)

    def verify(self, model: Model | StandardForm | None = None, exact: bool = False) -> Verification:
        """Recompute every claim from the model, in rational arithmetic if asked (`solvers.result_checks`).

        Without a model it is the one that was solved. A result from a file or from another process does not hold it.

        Parameters
        ----------
        model : Model or StandardForm, optional
            The model that was solved; needed if the result does not hold it.
        exact : bool
            Whether to use rational arithmetic as well.

        Returns
        -------
        Verification
            Each claim beside its recomputed value.

        Raises
        ------
        InputError
            No model was given, and the result does not hold one; or it is another than was solved.
        """
        return VERIFY(self, self._own(model, "verify"), exact)

    def check_duals(self, model: Model | StandardForm | None = None, max_rows: int = 12, seed: int = 0) -> DualCheck:
        """Compare multipliers with difference quotients of the optimum (`solvers.result_checks`).

        Parameters
        ----------
        model : Model or StandardForm, optional
            As for `verify`.
        max_rows : int
            Number of rows that are compared, drawn at random.
        seed : int
            Seed of the draw.

        Returns
        -------
        DualCheck
            Each row's multiplier beside the two differences.

        Raises
        ------
        InputError
            As `verify`.
        """
        return CHECK_DUALS(self, self._own(model, "check_duals"), max_rows, seed)

    def _own(self, model: Model | StandardForm | None, verb: str) -> Model | StandardForm:
        model_or_form = self.original_model if model is None else model
        if model_or_form is None:
            raise InputError(
                f"this result is from a file or another process and does not hold its model: result.{verb}(model)", name="model"
            )
        return model_or_form

    def save(self, path: str | Path) -> Path:
        """Write the result to one npz file (JSON and arrays, no pickle); `marginopt.io.load_result` reads it back.

        Parameters
        ----------
        path : str or Path
            The suffix .npz is added where it is missing.

        Returns
        -------
        Path
            The file that was written.

        Raises
        ------
        WriteError
            The file cannot be written; an earlier file of this name stays as it is.
        """
        return SAVE(self, path)

    def into(self, problem: Any) -> object:
        """Write the answer into the program of another package that the solved form was made from.

        Values go in, and dual values in that package's own signs: values, dual values and status of a ``cvxpy.Problem``;
        variables and suffixes of a Pyomo model; the solution of a ``highspy.Highs``; a start for a ``gurobipy.Model``; a SciPy
        ``OptimizeResult`` is filled. The classes of `models.importing` describe each. The package's own expressions are evaluated
        at the point: if their values differ from the form's, the returned status is inaccurate.

        Parameters
        ----------
        problem : cvxpy.Problem, pyomo ConcreteModel, highspy.Highs, gurobipy.Model or scipy OptimizeResult
            The program that the solved form was made from.

        Returns
        -------
        object
            The status that the package's own solve would have had: CVXPY's word, Pyomo's ``TerminationCondition``, HiGHS's
            ``HighsModelStatus``, Gurobi's or SciPy's number.

        Warns
        -----
        MarginoptWarning
            The package's values of the program differ; the message names the constraint.

        Raises
        ------
        InputError
            Not an object of those packages, or not the program that was solved.
        """
        recipient = recipient_of(problem)
        returned = ReturnedAnswer(
            termination=termination_of(self),
            values=self.values,
            multipliers=self.multipliers,
            reduced=self.reduced,
            objective=float("nan") if self.certificate is None else self.certificate.objective,
        )
        recipient.check(returned)
        differs = difference_from_source(recipient, returned)
        if differs:
            warnings.warn(MarginoptWarning(differs, name="problem"), stacklevel=2)
            returned = replace(returned, termination=Termination.INACCURATE, message=differs)
        return recipient.write_back(returned)
