"""Checker of `margin-bb`'s proof logs: it shares no code with the solver and trusts only the problem's data.

For the claimed bound B, every w that costs less than B, or one as good, lies in a root box (`coordinates`); if no point is
claimed to be feasible, every feasible w. A node's rounds tighten its box (`rules`), and so do whole numbers, rows, counts and
budgets (`boxes`); it must end with no box or a bound of B, or be split. The log states pairs, multipliers and splits; boxes
and bounds are recomputed, in float64 with all roundings taken off. The incumbent is evaluated in rational arithmetic.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from operator import index
from typing import Any, TypeGuard

import numpy as np

from ....models.model import Model
from ...exact.check.arithmetic import InvalidProofError
from ...exact.check.checker import Claim, ProofChecker
from ...exact.check.sealed import SealedLog
from ...exact.check.trees import VerifierPool
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
    return _check_tree(rotated, target, log.records())


def _check_tree(problem: RotatedProblem, target: float, records: Iterable[dict[str, Any]]) -> int:
    """Return the number of nodes, each of them proved; a node without a record must be proved by its parent.

    A proved node may be split all the same: the search began with a worse incumbent. Boxes are tightened by the cost of that
    incumbent, ``cut``, as in the search: its multipliers are for those boxes.
    """
    cut = problem.target
    waiting: dict[tuple[int, int], CheckedBox | None] = {(0, 0): root(problem)}
    last_number = nodes = 0
    for record in records:
        if "id" not in record:  # a better point was found between two nodes
            cut = min(cut, max(float(record["cut"]), target))
            continue
        number, origin = int(record["id"]), (int(record["parent"]), int(record["side"]))
        if origin not in waiting or number <= last_number:
            raise InvalidProofError(f"node {number} is no part of a node before it, or there twice")
        box, last_number, nodes = waiting.pop(origin), number, nodes + 1
        for entry in record["rounds"]:
            cut = min(cut, max(float(entry.get("cut", cut)), target))
            if _open(box, target):
                box = _apply_round(problem, box, entry, cut)
        if not _open(box, target):
            box = None
        if _SPLITS & record.keys():
            for side in (0, 1):
                waiting[number, side] = None if box is None else _part(problem, box, record, side)
        elif box is not None:
            raise InvalidProofError(f"node {number} {_objection(box, target)}")
    for (parent, side), box in waiting.items():
        if _open(box, target):
            raise InvalidProofError(f"part {side} of node {parent} {_objection(box, target)}")
    return nodes


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
