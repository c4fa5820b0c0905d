"""An independent checker of scoring systems' proof logs: it shares no code with the solver and trusts the problem's data alone.

The log holds the splits of a tree of boxes and the claimed bound. Every node that is not split must cost at least the bound: its
prices, and the errors of a flow between points of the two classes that are not both right (found by SciPy, and checked here to be
one), all in whole numbers and fractions. What a split means, and what follows for a box, is stated again in `Node`.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from ....errors import InputError
from ....models.formulations.margin.scoring_problem import ScoringProblem
from ....models.model import Model
from ....models.rounding import below
from ...exact.check.arithmetic import InvalidProofError
from ...exact.check.checker import Claim, ProofChecker
from ...exact.check.sealed import SealedLog
from ...exact.check.trees import VerifierPool
from .data import LoggedScoringProblem
from .node import CheckedNode
from .pairs import LoggedMultipliers

__all__ = ["FORMAT", "ScoringChecker", "stated_problem"]

FORMAT = "marginopt-scoring-proof"


@dataclass(frozen=True, eq=False)
class StatedScoringProblem:
    """A scoring system's problem that a log or a model states."""

    problem: ScoringProblem

    @property
    def digest(self) -> str:
        """Return no digest: reports of scoring systems have none."""
        return ""

    def difference(self, other: StatedScoringProblem) -> str | None:
        """Return the first field that differs; None if the problems are the same."""
        own, stated = self.problem, other.problem
        for name in ("X", "y", "weights", "lower", "upper"):
            if not np.array_equal(getattr(own, name), getattr(stated, name)):
                return f"{name} differs"
        for name in ("intercept", "price", "size_price", "most", "threshold"):
            if getattr(own, name) != getattr(stated, name):
                return f"{name} differs"
        return None

    def __str__(self) -> str:
        return f"n = {self.problem.y.size}, d = {self.problem.lower.size}"


class ScoringChecker(ProofChecker[StatedScoringProblem]):
    """Checker of the logs of scoring systems."""

    format, versions = FORMAT, (1, 2)

    def of_model(self, model: Model) -> StatedScoringProblem:
        """Return the problem of a `ScoringSystem`, or of a composition that is one."""
        problem = model.view(ScoringProblem)
        if problem is None:
            raise InputError(
                f"a proof log of supports-bb proves a bound of a scoring system; this {type(model).__name__} is none"
            )
        return StatedScoringProblem(problem)

    def of_log(self, header: dict[str, Any]) -> StatedScoringProblem:
        """Return the problem that a log's header states."""
        return StatedScoringProblem(stated_problem(header))

    def claim(self, problem: StatedScoringProblem, log: SealedLog) -> Claim:
        """Return the claimed bound and the incumbent's objective, both as fractions."""
        stated, claim = problem.problem, log.claim
        rho0, rho = int(claim["rho0"]), np.array(claim["rho"], dtype=np.float64)
        if rho.shape != stated.lower.shape or not stated.allows(rho0, rho) or (rho != np.rint(rho)).any():
            raise InvalidProofError("the incumbent is no system of the problem")
        return Claim(Fraction(claim["bound"]), stated.value(rho0, rho))

    def prove(
        self, problem: StatedScoringProblem, log: SealedLog, claim: Claim, crew: VerifierPool | None
    ) -> tuple[Fraction, int]:
        """Verify every node that is not split."""
        data, exact, records = LoggedScoringProblem.of(problem.problem), Fraction(claim.bound), log.all_records()
        splits = [split for record in records for split in record.get("splits", ())]
        held = [multipliers for record in records for multipliers in record.get("multipliers", ())]
        nodes = 0
        for node, floor in _leaves(data, splits, {int(record["node"]): LoggedMultipliers.read(record, data) for record in held}):
            nodes += 1
            least = floor if floor >= exact else data.least(node, exact)
            if least < exact:
                raise InvalidProofError(
                    f"a node is proved to cost {float(least):.12g} and no more; the claim is {below(exact):.12g}"
                )
        return exact, nodes


def _leaves(
    data: LoggedScoringProblem, splits: list[list[int]], multipliers: dict[int, LoggedMultipliers]
) -> Iterator[tuple[CheckedNode, Fraction]]:
    """The nodes that are not split, after every split; each with what multipliers prove of it or of a node that holds it."""
    problem = data.problem
    lower, upper = (tuple(map(int, side)) for side in (problem.lower, problem.upper))
    nodes: dict[int, tuple[CheckedNode | None, Fraction]] = {}
    following = 0

    def add(node: CheckedNode, floor: Fraction) -> None:
        nonlocal following
        tight = node.tightened(problem.most)
        if tight is not None and following in multipliers:
            floor = max(floor, multipliers[following].least(data, tight))
        nodes[following] = tight, floor
        following += 1

    add(CheckedNode(lower, upper), Fraction(0))
    for kind, number, j, half in splits:
        node, floor = nodes.pop(number, (None, Fraction(0)))
        if node is None:
            raise InvalidProofError(f"node {number} is split, and there is no such node")
        for child in node.split(kind, j, half):
            add(child, floor)
    yield from ((node, floor) for node, floor in nodes.values() if node is not None)


def stated_problem(header: dict[str, Any]) -> ScoringProblem:
    """The problem that a log states."""
    X = np.array(header["X"], dtype=np.float64)
    arrays = {name: np.array(header[name], dtype=np.float64) for name in ("y", "weights", "lower", "upper")}
    n, d = X.shape
    shapes = {"y": (n,), "weights": (n,), "lower": (d,), "upper": (d,)}
    if any(arrays[name].shape != shape for name, shape in shapes.items()) or not np.isin(arrays["y"], (-1.0, 1.0)).all():
        raise InvalidProofError("the stated problem's arrays do not fit")
    whole = all((arrays[name] == np.rint(arrays[name])).all() for name in ("lower", "upper"))
    if not whole or (arrays["lower"] > 0).any() or (arrays["upper"] < 0).any() or not (arrays["weights"] >= 0).all():
        raise InvalidProofError("the stated problem's bounds or costs are none")
    price, size_price, threshold = (Fraction(header[name]) for name in ("price", "size_price", "threshold"))
    low, high = map(int, header["intercept"])
    if min(price, size_price) < 0 or threshold <= 0 or not np.isfinite(X).all():
        raise InvalidProofError("the stated problem's prices or data are none")
    most = int(header["most"])
    return ScoringProblem(
        X, **arrays, intercept=(low, high), price=price, size_price=size_price, most=most, threshold=threshold
    )  # fmt: skip
