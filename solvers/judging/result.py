"""Results: what a solver claimed beside what the certificate supports."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from ...models.arrays import FloatArray, IntArray
from ...models.importing.doors import source_of
from ...models.importing.source import Returned
from ..records.status import Status
from ..records.trace import Trace, relative_gap
from .certificate import Certificate

__all__ = ["Claim", "Result"]

#: Version of the stored layout (`solvers.judging.result_file`).
RESULT_VERSION = 1


@dataclass(frozen=True)
class Claim:
    """What the solver says of itself, in the form's minimisation sense."""

    status: Status
    native_status: str
    objective: float | None = None
    bound: float | None = None
    proved: bool = False


@dataclass(frozen=True, eq=False)
class Result:
    """The outcome of one solve.

    ``objective`` and ``bound`` are in the *model's* sense (a maximum's bound is an upper one); the claim and the
    certificate are in the form's, which is always minimisation.

    Parameters
    ----------
    model, solver, version : str
        Names and the solver's version.
    status : Status
        After the certificate was looked at.
    claim : Claim
    certificate : Certificate or None
        None where there is no point.
    values : mapping of label to array
        Empty where there is no point.
    multipliers : mapping of label to array or None
        z_k by constraint label, signs as in `models.program.form`.
    reduced : mapping of label to array or None
        ζ by block.
    nodes, iterations : int or None
    trace : Trace
    build_seconds, solve_seconds : float
    options : mapping
        What was asked for.
    licence : str
    summary : mapping
        Figures of merit that the model computes from the point.
    details : mapping
        What the solver adds (what ``auto`` picked, bridges used, a Farkas ray).
    maximise : bool
        The model's sense.
    """

    model: str
    solver: str
    version: str
    status: Status
    claim: Claim
    certificate: Certificate | None
    values: Mapping[str, FloatArray]
    multipliers: Mapping[str, FloatArray] | None = None
    reduced: Mapping[str, FloatArray] | None = None
    nodes: int | None = None
    iterations: int | None = None
    trace: Trace = field(default_factory=Trace)
    build_seconds: float = 0.0
    solve_seconds: float = 0.0
    options: Mapping[str, Any] = field(default_factory=dict)
    licence: str = ""
    summary: Mapping[str, float] = field(default_factory=dict)
    details: Mapping[str, Any] = field(default_factory=dict)
    maximise: bool = False

    @property
    def sign(self) -> float:
        """-1 where the model maximises."""
        return -1.0 if self.maximise else 1.0

    @property
    def objective(self) -> float:
        """The recomputed objective in the model's sense; NaN without a point."""
        return float("nan") if self.certificate is None else self.sign * self.certificate.objective

    @property
    def best_bound(self) -> tuple[float, str]:
        """The bound in the form's sense and its kind: proved by the certificate or the solver, or claimed by it."""
        candidates = []
        if self.certificate is not None and np.isfinite(self.certificate.bound):
            candidates.append((self.certificate.bound, "proved"))
        if self.claim.bound is not None and np.isfinite(self.claim.bound):
            candidates.append((self.claim.bound, "proved" if self.claim.proved else "claimed by solver"))
        proved = [c for c in candidates if c[1] == "proved"]
        return max(proved or candidates, default=(float("-inf"), "none"))

    @property
    def bound(self) -> float:
        """Best bound in the model's sense: proved where there is one, else the solver's claim; infinite if none."""
        return self.sign * self.best_bound[0]

    @property
    def bound_kind(self) -> str:
        """How far to trust the bound: proved, claimed by solver, or none."""
        return self.best_bound[1]

    @property
    def gap(self) -> float:
        """(primal - bound)/max(|primal|, |bound|); NaN for nonconvex results without a bound."""
        if self.certificate is None or self.status is Status.STATIONARY or not np.isfinite(self.best_bound[0]):
            return float("nan")
        return max(relative_gap(self.certificate.objective, self.best_bound[0]), 0.0)

    @property
    def absolute_gap(self) -> float:
        """primal - bound; NaN without a point or a bound."""
        if self.certificate is None or not np.isfinite(self.best_bound[0]):
            return float("nan")
        return max(self.certificate.objective - self.best_bound[0], 0.0)

    @property
    def solved(self) -> bool:
        """Whether the status is one that answers the question."""
        return self.status.solved

    def support(self, label: str = "a", threshold: float = 0.0) -> IntArray:
        """Indices of a block's entries above ``threshold``: the support vectors of a dual."""
        return np.flatnonzero(self.values[label] > threshold)

    def save(self, path: str | Path) -> Path:
        """Write the result to one npz file (JSON and arrays, no pickle); `marginopt.load_result` reads it back."""
        from .result_file import save_result

        return save_result(self, path)

    def into(self, problem: Any) -> None:
        """Write the answer into the program of another package that the solved form was made from.

        Values go in, and dual values in that package's own signs: values, dual values and status of a ``cvxpy.Problem``;
        variables and suffixes of a Pyomo model; the solution of a ``highspy.Highs``; a start for a ``gurobipy.Model``; a SciPy
        ``OptimizeResult`` is filled. The classes of `models.importing` say it for each.

        Raises
        ------
        InputError
            Not an object of those packages, or not the program that was solved.
        """
        source = source_of(problem)
        answer = Returned(
            optimal=self.status is Status.OPTIMAL,
            infeasible=self.status is Status.INFEASIBLE,
            unbounded=self.status is Status.UNBOUNDED,
            values=self.values,
            multipliers=self.multipliers,
            reduced=self.reduced,
            objective=float("nan") if self.certificate is None else self.certificate.objective,
        )
        source.check(answer)
        source.give_back(answer)

    def __str__(self) -> str:
        lines = [f"{self.model} by {self.solver} {self.version}: {self.status} ({self.status.message})"]
        if self.certificate is not None:
            gap = f"{self.gap:.2e}" if np.isfinite(self.gap) else "none"
            bound = f"{self.bound:.10g} ({self.bound_kind})" if self.bound_kind != "none" else "none"
            lines.append(f"  objective {self.objective:.10g}   bound {bound}   relative gap {gap}")
            lines.append(f"  certificate: {self.certificate}")
        lines.append(f"  solver says: {self.claim.native_status}" + _claimed(self.claim, self.sign))
        if "evidence" in self.details:
            lines.append(f"  evidence: {self.details['evidence']}")
        counts = [f"{self.iterations} iterations"] if self.iterations is not None else []
        counts += [f"{self.nodes} nodes"] if self.nodes is not None else []
        counts.append(f"{self.build_seconds:.3g} s building, {self.solve_seconds:.3g} s solving")
        lines.append("  " + ", ".join(counts))
        if self.summary:
            lines.append("  " + ", ".join(f"{k} {v:g}" for k, v in self.summary.items()))
        return "\n".join(lines)

    __repr__ = __str__


def _claimed(claim: Claim, sign: float) -> str:
    parts = []
    if claim.objective is not None:
        parts.append(f"objective {sign * claim.objective:.10g}")
    if claim.bound is not None:
        parts.append(f"bound {sign * claim.bound:.10g}")
    return (", " + ", ".join(parts)) if parts else ""
