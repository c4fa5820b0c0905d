"""Checker of `margin-bb`'s proof logs: it shares no code with the solver and trusts only the problem's data.

For the claimed bound B, every w that costs less than B, or one as good, lies in a root box (`coordinates`); if no point is
claimed to be feasible, every feasible w. A node's rounds tighten its box (`rules`), and so do whole numbers, rows, counts and
budgets (`boxes`); it must end with no box or a bound of B, or be split. The log states pairs, multipliers and splits; boxes
and bounds are recomputed, in float64 with all roundings taken off. The incumbent is evaluated in rational arithmetic.
"""

from __future__ import annotations

import math
from operator import index
from typing import Any, TypeGuard

import numpy as np

from ....models.model import Model
from ...exact.check.arithmetic import InvalidProofError
from ...exact.check.checker import Claim, ProofChecker
from ...exact.check.sealed import SealedLog
from ...exact.check.trees import NodeRules, VerifierPool, verify_in_order
from .boxes import CheckedBox, propagate, root
from .coordinates import RotatedProblem, in_coordinates
from .rules import apply_relaxation, search_box
from .statement import FORMAT, VERSION, LoggedMarginProblem

__all__ = ["MarginChecker"]

#: Keys of a node's record that split it.
_SPLITS = {"split", "support", "sign"}


class MarginChecker(ProofChecker[LoggedMarginProblem]):
    """Checker of the logs of ``margin-bb``."""

    format, versions = FORMAT, (VERSION,)
    claims_infeasibility = streams = True

    def of_model(self, model: Model) -> LoggedMarginProblem:
        """Return the user's own margin problem."""
        return LoggedMarginProblem.of_model(model)

    def of_log(self, header: dict[str, Any]) -> LoggedMarginProblem:
        """Return the problem that a log's header states."""
        return LoggedMarginProblem.of_log(header)

    def claim(self, problem: LoggedMarginProblem, log: SealedLog) -> Claim:
        """Return the claimed bound, and the point's value, infinite without a point.

        A claim of infeasibility comes with a finite bound, which counts if a node is not empty.
        """
        claim, infeasible = log.claim, log.claim.get("infeasible", False) is True
        if claim["bound"] is None and not infeasible:
            raise InvalidProofError("a claim has a bound, or says that nothing is feasible")
        bound = math.inf if claim["bound"] is None else float(claim["bound"])
        if infeasible and claim["w"] is not None:
            raise InvalidProofError("a claim of infeasibility has a point")
        if claim["bound"] is not None and not math.isfinite(bound):
            raise InvalidProofError(f"the claimed bound {bound:g} is not finite")
        return Claim(bound, math.inf if claim["w"] is None else problem.value(claim["w"], claim["combination"]))

    def prove(self, problem: LoggedMarginProblem, log: SealedLog, claim: Claim, crew: VerifierPool | None) -> tuple[float, int]:
        """Verify the tree: first for an infinite bound if the log claims infeasibility, then for the finite one."""
        bound = float(claim.bound)
        if math.isfinite(bound) and log.claim.get("infeasible", False) is True:
            try:
                return math.inf, _proved_nodes(problem, log, math.inf)
            except InvalidProofError:
                pass  # a node is not empty: the finite bound may hold
        return bound, _proved_nodes(problem, log, bound) if bound > 0.0 else 0


def _proved_nodes(problem: LoggedMarginProblem, log: SealedLog, target: float) -> int:
    """Return the number of nodes of the tree after proving each to cost at least the target."""
    cut = math.inf if log.header["cut"] is None else float(log.header["cut"])
    rotated = in_coordinates(problem, np.array(log.header["T"], dtype=np.float64), max(target, cut))
    rules = _MarginRules(rotated, target)
    return verify_in_order(rules, log.records(), rules.waiting(root(rotated)))


class _MarginRules(NodeRules["CheckedBox | None"]):
    """The rules of boxes.

    Boxes are tightened by the cost of that incumbent, ``cut``, as in the search: its multipliers are for those boxes.
    """

    def __init__(self, problem: RotatedProblem, target: float) -> None:
        self._problem, self._target, self._cut = problem, target, problem.target

    def waiting(self, box: CheckedBox | None) -> CheckedBox | None:
        """Return the box; None if it is proved."""
        return box if _open(box, self._target) else None

    def note(self, record: dict[str, Any]) -> None:
        """Read the cutoff of a better point that was found between two nodes."""
        self._cut = min(self._cut, max(float(record["cut"]), self._target))

    def skip(self, record: dict[str, Any]) -> None:
        """Read the cutoffs of a node's rounds."""
        for entry in record["rounds"]:
            self.note({"cut": entry.get("cut", self._cut)})

    def children(self, record: dict[str, Any], state: CheckedBox | None) -> list[CheckedBox | None]:
        """Return the two sides of a split; no side of a proved node."""
        problem, box = self._problem, state
        for entry in record["rounds"]:
            self.note({"cut": entry.get("cut", self._cut)})
            box = None if box is None else self.waiting(_apply_round(problem, box, entry, self._cut))
        if box is None:
            return []
        if _SPLITS & record.keys():
            return [self.waiting(_part(problem, box, record, side)) for side in (0, 1)]
        raise InvalidProofError(f"node {record['id']} {self.objection(box)}")

    def objection(self, state: CheckedBox | None) -> str:
        """Return the bound of an open box."""
        assert state is not None
        return _objection(state, self._target)


def _open(box: CheckedBox | None, target: float) -> TypeGuard[CheckedBox]:
    """Return whether the box may hold points that cost less than the target."""
    return box is not None and not box.empty and box.bound < target


def _objection(box: CheckedBox, target: float) -> str:
    if target == math.inf:
        return "is not empty; the claim is that nothing is feasible"
    return f"costs {box.bound:.12g} at least; the claim is {target:.12g}"


def _apply_round(problem: RotatedProblem, box: CheckedBox, entry: dict[str, Any], cut: float) -> CheckedBox:
    """Return the part of the box that a round leaves."""
    wide = search_box(box, entry)
    apply_relaxation(problem, wide, entry, cut)
    lo, hi = np.maximum(box.lo, wide.lo), np.minimum(box.hi, wide.hi)
    remaining = CheckedBox(lo, hi, max(box.bound, wide.bound), box.marked, box.demanded, box.signs)
    propagate(problem, remaining)
    return remaining


def _part(problem: RotatedProblem, box: CheckedBox, record: dict[str, Any], side: int) -> CheckedBox:
    """Return a side of a node's split."""
    kinds = _SPLITS & record.keys()
    kind = next(iter(kinds))
    j, split = (index(record[kind]), 0.0) if kind != "split" else (index(record[kind][0]), float(record[kind][1]))
    size = box.signs.size if kind == "sign" else box.lo.size
    if len(kinds) > 1 or not 0 <= j < size or not math.isfinite(split):
        raise InvalidProofError(f"node {record['id']} is split along no coordinate, or nowhere, or twice")
    if kind == "split":
        part = box.part(j, split, side)
    else:
        part = box.signed(j, side) if kind == "sign" else box.support(j, side)
    propagate(problem, part)
    return part
