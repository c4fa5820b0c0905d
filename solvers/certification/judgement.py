"""Objective, best bound with its kind, gap, and their words, from a claim and a certificate."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from ...display import Display
from ..records.status import Status
from ..records.trace import relative_gap
from .certificate import Certificate
from .kinds import Kind
from .solver_report import Claim, SolverReport

__all__ = ["Judgement"]

#: Violation, relative, up to which a point's objective is compared with a bound.
_COUNTS = 1e-4


class Judgement(SolverReport):
    """Figures and words of a result, from its fields."""

    model: str
    solver: str
    status: Status
    certificate: Certificate | None
    summary: Mapping[str, float]
    maximise: bool
    unverified: str

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
        """The bound in the form's sense and its kind (`Kind`): proved by the certificate or the solver, or claimed by it.

        Nonconvex results have none, nor have those whose certificate is that of an inner problem. What a solver claims of a
        continuous problem that is known not to be convex counts for nothing: solvers of convex problems do not look. Nor does
        what a solver says that failed.
        """
        nothing = (float("-inf"), Kind.NONE.value)
        certificate, claim = self.certificate, self.claim
        if self.status is Status.STATIONARY or (certificate is not None and certificate.inner):
            return nothing
        candidates = []
        if certificate is not None and np.isfinite(certificate.bound):
            candidates.append((certificate.bound, Kind.CONDITIONAL.value if certificate.condition else Kind.PROVED.value))
        believed = claim.proved or certificate is None or certificate.integrality is not None or not certificate.nonconvex
        believed = believed and (claim.proved or claim.status is not Status.FAILED)
        if claim.bound is not None and np.isfinite(claim.bound) and believed:
            candidates.append((claim.bound, Kind.PROVED.value if claim.proved else Kind.CLAIMED.value))
        for kind in (Kind.PROVED, Kind.CONDITIONAL, Kind.CLAIMED):
            of_kind = [c for c in candidates if c[1] == kind.value]
            if of_kind:
                return max(of_kind)
        return nothing

    @property
    def bound(self) -> float:
        """Best bound in the model's sense: proved where there is one, else the solver's claim; infinite if none."""
        return self.sign * self.best_bound[0]

    @property
    def bound_kind(self) -> str:
        """The trust that the bound deserves, in the words of `solvers.certification.kinds.Kind`."""
        known = self.best_bound[1]
        return Kind.STORED.value if self.unverified and known != Kind.NONE.value else known

    @property
    def message(self) -> str:
        """The sentence that explains the status; of an optimum also what it stands on."""
        if self.status is not Status.OPTIMAL:
            return self.status.message
        return f"{self.status.message}; {self._stands_on}"

    @property
    def _stands_on(self) -> str:
        """The source of the claim that a point is optimal."""
        kind, certificate = self.bound_kind, self.certificate
        if kind == Kind.PROVED.value:
            return "the bound is proved"
        if kind == Kind.CONDITIONAL.value:
            return "the bound is proved if K is positive semidefinite, which is not known"
        if kind == Kind.STORED.value:
            return Kind.STORED.value
        if certificate is not None and certificate.integrality is None and certificate.dual_residual is not None:
            return "the optimality conditions hold; no bound is proved"
        return "the bound is the solver's claim; no certificate proves it"

    @property
    def gap(self) -> float:
        """(primal - bound)/max(|primal|, |bound|), negative where the two contradict each other; NaN without a point, a bound,
        or where the point violates its constraints too much to have an objective that counts.

        A bound above the objective by no more than rounding, 1e-9 of it, or the worth of the point's violations is level with it,
        and so are two numbers that are both zero within the rounding error of the objective's terms.
        """
        if self.certificate is None or not np.isfinite(self.best_bound[0]) or not self.certificate.feasible(_COUNTS):
            return float("nan")
        return 0.0 if self._level else relative_gap(self.certificate.objective, self.best_bound[0])

    @property
    def absolute_gap(self) -> float:
        """primal - bound, 0 where `gap` is; NaN without a point or a bound."""
        if self.certificate is None or not np.isfinite(self.best_bound[0]):
            return float("nan")
        return 0.0 if self._level else self.certificate.objective - self.best_bound[0]

    @property
    def _level(self) -> bool:
        """Return whether the bound is at the objective, or above it by no more than a point within tolerance may explain."""
        certificate, bound = self.certificate, self.best_bound[0]
        assert certificate is not None
        above = bound - certificate.objective
        explained = certificate.undercut + certificate.error + certificate.bound_error
        return certificate.both_zero(bound) or (
            above >= 0.0 and (above <= explained or relative_gap(certificate.objective, bound) == 0.0)
        )

    @property
    def solved(self) -> bool:
        """Return whether the status is one that answers the question."""
        return self.status.solved

    def __str__(self) -> str:
        gap = f"{self.gap:.1e}" if np.isfinite(self.gap) else "none"
        lines = [f"{self.model} by {self.solver} {self.version}: {self.status}; relative gap {gap}"]
        lines += [f"  {self.unverified}"] if self.unverified else []
        if self.certificate is not None:
            bound = f"{self.bound:.10g} ({self.bound_kind})" if self.bound_kind != "none" else "none"
            lines.append(f"  objective {self.objective:.10g}   bound {bound}")
        lines.append(f"  {self.message}")
        if self.certificate is not None:
            lines.append(f"  certificate: {self.certificate}")
        lines.append(f"  solver's claim: {self.claim.native_status}" + _claimed(self.claim, self.sign))
        if self.evidence:
            lines.append(f"  evidence: {self.evidence}")
        counts = [f"{self.iterations} iterations"] if self.iterations is not None else []
        counts += [f"{self.nodes} nodes"] if self.nodes is not None else []
        counts.append(self.answer.times)
        lines.append("  " + ", ".join(counts))
        if self.summary:
            lines.append("  " + ", ".join(f"{_words(k)} {v:g}" for k, v in self.summary.items()))
        return "\n".join(lines)

    __repr__ = __str__

    def display(self) -> Display:
        """Return the notebook view."""
        facts = [("status", f"{self.status} ({self.message})")]
        facts += [("not verified", self.unverified)] if self.unverified else []
        if self.certificate is not None:
            facts += [("objective", f"{self.objective:.10g}")]
            facts += [("bound", f"{self.bound:.10g}, {self.bound_kind}" if self.bound_kind != "none" else "none")]
            facts += [("relative gap", f"{self.gap:.2e}" if np.isfinite(self.gap) else "none")]
            facts += [("certificate", str(self.certificate))]
        facts += [("solver's claim", f"{self.claim.native_status}{_claimed(self.claim, self.sign)}")]
        facts += [("evidence", self.evidence)] if self.evidence else []
        counts = [("iterations", self.iterations), ("nodes", self.nodes)]
        facts += [(name, f"{count:,}") for name, count in counts if count is not None]
        facts += [("seconds", self.answer.times)]
        facts += [(_words(name), f"{value:g}") for name, value in self.summary.items()]
        return Display(f"{self.model} by {self.solver} {self.version}", tuple(facts))


def _words(name: str) -> str:
    """A name of a summary for people."""
    return name.replace("_", " ")


def _claimed(claim: Claim, sign: float) -> str:
    parts = []
    if claim.objective is not None:
        parts.append(f"objective {sign * claim.objective:.10g}")
    if claim.bound is not None:
        parts.append(f"bound {sign * claim.bound:.10g}")
    return (", " + ", ".join(parts)) if parts else ""
