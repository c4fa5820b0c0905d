"""The checker of the proof logs of `zero-one-bb`, which `check_proof` calls; it shares no code with the solver.

For the stated problem min Σ_{penalised} w_j² + Σ_i λ_i 1{a_i'w < 1} and the claimed bound B, the checker verifies that no w has
an objective below B, and computes the objective of the incumbent. Every inequality is evaluated in outward-rounded arithmetic
(each operation is moved by one unit in the last place to the safe side; long sums are exact by `math.fsum`), the incumbent in
rational arithmetic. The log states no bounds: the checker derives bounds, boxes and fixings from the log's multipliers and splits
(``docs/explanation/zero-one-bb.md`` has the rules and their proofs).

The checker builds the problem from the user's data (X, y, λ or κ, intercept) and again from the log's header, and compares the
two.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from importlib import resources
from typing import Any

import numpy as np
import numpy.typing as npt

from ....errors import InputError, count_text, short_text
from ....models.arrays import to_dense
from ....models.formulations.zero_one import ZeroOneSVM
from ....models.model import Model
from ...exact.check.arithmetic import Array, InvalidProofError, RationalPoint, ceil_to_float
from ...exact.check.checker import Claim, ProofChecker, data_digest
from ...exact.check.log_reader import SealedLog
from ...exact.check.trees import VerifierPool
from .boxes import check_box_tree, reduced_box_problem
from .conflicts import check_conflict_tree, norm_within_budget, reduced_conflict_problem

#: Kinds of logs, by their header.
_KINDS = ("boxes", "conflicts", "budget", "cited")


@dataclass(frozen=True, eq=False)
class LoggedZeroOneProblem:
    """The problem min Σ_{penalised} w_j² + Σ_i λ_i 1{a_i'w < 1}, or min Σ_{penalised} w_j² with at most ``budget`` violations."""

    A: Array  #: (n, p) a_i = y_i x_i
    weights: Array  #: (n,) λ_i; ones with a budget
    penalised: npt.NDArray[np.bool_]  #: (p,) whether each weight is in the norm
    budget: int | None  #: largest number of violated points; None with costs

    @classmethod
    def of_log(cls, header: dict[str, Any]) -> LoggedZeroOneProblem:
        """Return the problem that a log's header states; raise InvalidProofError if it states none."""
        if header["kind"] not in _KINDS:
            raise InvalidProofError(f"the log is of an unknown kind, {short_text(header['kind'])}")
        A = np.array(header["A"], dtype=np.float64)
        weights = np.array(header["weights"], dtype=np.float64)
        penalised = np.array(header["penalised"], dtype=bool)
        if A.ndim != 2 or weights.shape != A.shape[:1] or penalised.shape != A.shape[1:]:
            raise InvalidProofError("the shapes of A, weights and penalised do not fit")
        if not (np.isfinite(A).all() and np.isfinite(weights).all() and (weights > 0).all()):
            raise InvalidProofError("A or the weights are not finite, or a weight is not positive")
        budget = header["budget"] if header["kind"] == "budget" else None
        if budget is not None and (not isinstance(budget, int) or isinstance(budget, bool) or budget < 0):
            raise InvalidProofError(f"the budget must be a whole number ≥ 0; it is {short_text(budget)}")
        return cls(A, weights, penalised, budget)

    @classmethod
    def of_model(cls, model: Model) -> LoggedZeroOneProblem:
        """Return the problem of a `ZeroOneSVM` from its X, y, λ or κ, and kind of intercept."""
        # exempt (formulation): a proof log is about this formulation alone
        if not isinstance(model, ZeroOneSVM):
            raise InputError(
                f"a proof log of zero-one-bb proves a bound of a ZeroOneSVM; the model is a {type(model).__name__}", name="model"
            )
        X = np.asarray(to_dense(model.X), dtype=np.float64)
        n, p = X.shape
        penalised = np.ones(p, dtype=bool)
        penalised[0] = model.intercept == "penalised"
        A = X * np.asarray(model.y, dtype=np.float64)[:, None]
        if model.kappa is None:
            return cls(A, np.broadcast_to(np.asarray(model.lam, dtype=np.float64), (n,)), penalised, None)
        # κn counts as whole where only rounding keeps it from being so
        share = float(model.kappa) * n
        return cls(A, np.ones(n), penalised, min(math.floor(share + 1e-9 * max(share, 1.0)), n))

    def difference(self, other: LoggedZeroOneProblem) -> str | None:
        """Return a sentence about the difference from another problem; None if they are equal."""
        if self.A.shape != other.A.shape:
            return f"{_size(self.A)} against {_size(other.A)}"
        if not (self.penalised == other.penalised).all():
            return "another intercept: penalised in one, free in the other"
        if (self.budget is None) != (other.budget is None) or self.budget != other.budget:
            return f"{self.cost} against {other.cost}"
        rows = np.flatnonzero((self.A != other.A).any(axis=1))
        if rows.size:
            return f"{rows.size} of {len(self.A)} points have another y x, the first of them point {rows[0]}"
        costs = np.flatnonzero(self.weights != other.weights)
        return f"{self.cost} against {other.cost}, first at point {costs[0]}" if costs.size else None

    @property
    def cost(self) -> str:
        """λ, or the budget, as a phrase for a report."""
        if self.budget is not None:
            n = len(self.A)
            return f"at most {self.budget} of {count_text(n, 'point')} violated (kappa = {self.budget / n if n else 0.0:.6g})"
        low, high = float(self.weights.min(initial=math.inf)), float(self.weights.max(initial=-math.inf))
        return f"lambda = {low:.12g}" if low == high else f"lambda = {low:.12g} to {high:.12g}"

    @property
    def digest(self) -> str:
        """The SHA-256 of shape, rows, costs and which weights are penalised, in hexadecimal."""
        return data_digest(f"{self.A.shape} {self.budget}", (self.A, self.weights, self.penalised))

    def __str__(self) -> str:
        intercept = "" if self.penalised.all() else ", free intercept"
        return f"{_size(self.A)}, {self.cost}{intercept}, data {self.digest[:16]}"


def _size(A: Array) -> str:
    return f"n = {A.shape[0]}, p = {A.shape[1]}"


class ZeroOneChecker(ProofChecker[LoggedZeroOneProblem]):
    """Checker of the four kinds of logs of `zero-one-bb`: boxes, conflicts, conflicts within a budget, and cited logs.

    The first three hold a tree. The last kind has none: it cites logs of related problems, whose bounds imply its own.
    """

    format = "marginopt-zero-one-proof"
    #: From version 4 on rounds may scale losses; from 5 on conflicts hold their numbers; from 6 on a log may cite others.
    versions = (3, 4, 5, 6)

    def of_model(self, model: Model) -> LoggedZeroOneProblem:
        """Return the problem of a `ZeroOneSVM`, built from X and y."""
        return LoggedZeroOneProblem.of_model(model)

    def of_log(self, header: dict[str, Any]) -> LoggedZeroOneProblem:
        """Return the problem that a log's header states."""
        return LoggedZeroOneProblem.of_log(header)

    def claim(self, problem: LoggedZeroOneProblem, log: SealedLog) -> Claim:
        """Return the claimed bound, and the incumbent's exact objective or, within a budget, its squared norm."""
        w = log.claim["w"]
        if log.header["kind"] == "budget":
            value = norm_within_budget(log.header, problem.A, problem.penalised, w)
        else:
            value = _incumbent_value(problem, w)
        return Claim(float(log.claim["bound"]), value)

    def prove(
        self, problem: LoggedZeroOneProblem, log: SealedLog, claim: Claim, verifiers: VerifierPool | None
    ) -> tuple[float, int]:
        """Verify the tree of the log; return the proved bound and the number of nodes. A bound of 0 needs no tree."""
        bound = float(claim.bound)
        if not bound > 0.0:
            return bound, 0
        if log.header["kind"] == "cited":
            return self._prove_by_citation(problem, log, bound, verifiers)
        data = (log.header, problem.A, problem.weights, problem.penalised, bound)
        if log.header["kind"] in ("conflicts", "budget"):
            target = float(log.claim.get("target", bound))
            if not bound <= target < math.inf:
                raise InvalidProofError(f"the tree's target, {target:.12g}, must be finite and at least the claimed bound")
            groups = reduced_conflict_problem(*data, target)
            return bound, 0 if groups is None else check_conflict_tree(groups, log, verifiers)
        rotated = reduced_box_problem(*data)
        return bound, 0 if rotated is None else check_box_tree(rotated, log, verifiers)

    def _prove_by_citation(
        self, problem: LoggedZeroOneProblem, log: SealedLog, bound: float, verifiers: VerifierPool | None
    ) -> tuple[float, int]:
        """Verify the cited logs, and the bound that they imply."""
        items: list[tuple[Fraction, LoggedZeroOneProblem, float]] = []
        for record in log.records():
            sha256, theta = str(record["sha256"]), Fraction(float(record["theta"]))
            other, proved = self.verify_cited(log.cited_log(str(record["file"]), sha256), sha256, verifiers)
            if other.budget is not None or not np.array_equal(other.penalised, problem.penalised):
                raise InvalidProofError("a cited log is about a problem with other columns, another intercept or a budget")
            items.append((theta, other, proved))
        implied = _implied_bound(problem, items)
        if implied < Fraction(bound):
            raise InvalidProofError(f"the cited logs imply {float(implied):.12g}; the claim is {bound:.12g}")
        return bound, len(items)


def _implied_bound(problem: LoggedZeroOneProblem, items: Sequence[tuple[Fraction, LoggedZeroOneProblem, float]]) -> Fraction:
    """Return Σ_k θ_k L_k - Σ_i (Σ_k θ_k λ^k_i - λ_i)₊ in fractions, where a point that a problem lacks has λ_i = 0.

    With θ ≥ 0 and Σθ ≤ 1 it bounds the problem: indicators lie between 0 and 1, and ||w||² ≥ 0.
    """
    if any(theta < 0 for theta, _, _ in items) or sum((theta for theta, _, _ in items), Fraction(0)) > 1:
        raise InvalidProofError("the shares of cited bounds must be ≥ 0 and sum to at most 1")
    excess: dict[bytes, Fraction] = {}
    for theta, weighted_problem in ((Fraction(-1), problem), *((theta, other) for theta, other, _ in items)):
        for row, weight in zip(weighted_problem.A + 0.0, weighted_problem.weights.tolist(), strict=True):
            key = row.tobytes()
            excess[key] = excess.get(key, Fraction(0)) + theta * Fraction(weight)
    gain = sum((theta * Fraction(proved) for theta, _, proved in items), Fraction(0))
    return gain - sum((value for value in excess.values() if value > 0), Fraction(0))


def _incumbent_value(problem: LoggedZeroOneProblem, w: list[float]) -> float:
    """Return the objective in rational arithmetic, rounded up."""
    point = RationalPoint.of(w, problem.A.shape[1])
    total = point.square(problem.penalised.astype(np.float64).tolist())
    for row, weight in zip(problem.A.tolist(), problem.weights.tolist(), strict=True):
        if point.product(row) < 1:
            total += Fraction(weight)
    return ceil_to_float(total)


def checker_script() -> str:
    """Return the source of the checker in JavaScript, which reports and proof pages embed; it shares no code with this one."""
    return resources.files(__package__).joinpath("checker.js").read_text(encoding="utf-8")
