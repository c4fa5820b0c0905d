"""Checker of `margin-bb`'s proof logs: it shares no code with the solver and trusts only the problem's data.

For the claimed bound B, every w that costs less than B, or one as good, lies in a root box (`coordinates`); if no point is
claimed to be feasible, every feasible w. A node's rounds tighten its box (`rules`), and so do whole numbers, rows, counts and
budgets (`boxes`); it must end with no box or a bound of B, or be split. The log states pairs, multipliers and splits; boxes
and bounds are recomputed, in float64 with all roundings taken off. The incumbent is evaluated in rational arithmetic.
"""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Iterable, Iterator
from operator import index
from pathlib import Path
from typing import Any, TypeGuard

import numpy as np

from ....models.model import Model
from ...zero_one.check.arithmetic import InvalidProofError
from ...zero_one.check.checker import ProofReport
from ...zero_one.check.sealed import lines
from .boxes import CheckedBox, propagate, root
from .coordinates import RotatedProblem, in_coordinates
from .rules import apply_relaxation, search_box
from .statement import FORMAT, VERSION, LoggedMarginProblem

__all__ = ["check_margin_proof"]

#: Keys of a node's record that split it.
_SPLITS = {"split", "support", "sign"}


def check_margin_proof(path: str | Path, model: Model | None = None) -> ProofReport:
    """Verify a proof log that ``margin-bb`` wrote with ``proof=path``.

    Parameters
    ----------
    path : str or Path
    model : Model, optional
        The problem that the log should be about: a log of other data, costs, norm, loss or sets is refused. Without it the log
        proves a bound of the problem that it states itself.

    Returns
    -------
    ProofReport
        ``valid`` only if every node is proved; a damaged or wrong log is reported, never raised. An infinite bound means that no
        point is feasible, an infinite value that no point is known.

    Raises
    ------
    InputError
        The model is no margin problem.
    """
    user_problem = None if model is None else LoggedMarginProblem.of_model(model)
    bound = value = math.nan
    nodes, reason, digest = 0, "", ""
    try:
        with np.errstate(all="ignore"):
            claim = _claim(Path(path))
            records = _records(Path(path))
            header = next(records)
            if header.get("format") != FORMAT or header.get("version") != VERSION:
                raise InvalidProofError(f"this is not a proof log of margin-bb, version {VERSION}")
            stated = LoggedMarginProblem.of_log(header)
            reason, digest = str(stated), stated.digest
            if user_problem is not None and (difference := user_problem.difference(stated)) is not None:
                raise InvalidProofError(f"this log is about another problem than the model: {difference}")
            bound, value = _claimed_bound(stated, claim)
            if bound == math.inf:
                nodes = _proved_nodes(stated, header, bound, records)
            elif (
                claim.get("infeasible", False) is True
                and (empty := _checked_nodes(stated, header, math.inf, records)) is not None
            ):
                bound, nodes = math.inf, empty
            elif bound > 0.0:
                records = iter(_records(Path(path)))
                nodes = _proved_nodes(stated, next(records), bound, records)
    except InvalidProofError as error:
        return ProofReport(False, bound, value, nodes, str(error), reason, digest)
    except Exception as error:  # noqa: BLE001 -- a file may be wrong in every way, and all of them are a verdict
        message = f"the log cannot be read: {type(error).__name__}: {error}"
        return ProofReport(False, bound, value, nodes, message, reason, digest)
    return ProofReport(True, bound, value, nodes, "every node is proved", reason, digest, user_problem is not None)


def _proved_nodes(stated: LoggedMarginProblem, header: dict[str, Any], target: float, records: Iterable[dict[str, Any]]) -> int:
    """Return the number of nodes of the tree after proving each to cost at least the target."""
    cut = math.inf if header["cut"] is None else float(header["cut"])
    problem = in_coordinates(stated, np.array(header["T"], dtype=np.float64), max(target, cut))
    return _check_tree(problem, target, records)


def _checked_nodes(
    stated: LoggedMarginProblem, header: dict[str, Any], target: float, records: Iterable[dict[str, Any]]
) -> int | None:
    """Return the number of nodes as `_proved_nodes` does; None if one of them is not proved."""
    try:
        return _proved_nodes(stated, header, target, records)
    except InvalidProofError:
        return None


def _claimed_bound(stated: LoggedMarginProblem, claim: dict[str, Any]) -> tuple[float, float]:
    """Return the claimed finite bound, and the point's value, infinite without a point.

    A claim of infeasibility comes with a bound, which counts if a node is not empty.
    """
    infeasible = claim.get("infeasible", False) is True
    if claim["bound"] is None and not infeasible:
        raise InvalidProofError("a claim has a bound, or says that nothing is feasible")
    bound = math.inf if claim["bound"] is None else float(claim["bound"])
    if infeasible and claim["w"] is not None:
        raise InvalidProofError("a claim of infeasibility has a point")
    value = math.inf if claim["w"] is None else stated.value(claim["w"], claim["combination"])
    if not (math.isfinite(bound) or claim["bound"] is None) or bound > value:
        raise InvalidProofError(f"the claimed bound {bound:g} is above the incumbent's value {value:g}")
    return bound, value


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


def _claim(path: Path) -> dict[str, Any]:
    """Return the claim of a log whose seal fits: the last line is the SHA-256 of all others. A log may be larger than
    the memory.
    """
    digest = hashlib.sha256()
    before, last = "", ""
    for line in lines(path):
        digest.update(last.encode())
        before, last = last, line
    seal, claim = json.loads(last or "{}"), json.loads(before or "{}")
    if not isinstance(seal, dict) or not isinstance(claim, dict) or "sha256" not in seal or "bound" not in claim:
        raise InvalidProofError("the log ends without its claim and its seal")
    if seal["sha256"] != digest.hexdigest():
        raise InvalidProofError("the seal does not fit: the log was changed or damaged after it was written")
    return claim


def _records(path: Path) -> Iterator[dict[str, Any]]:
    """Yield the header and the nodes."""
    for line in lines(path):
        record = json.loads(line)
        if not isinstance(record, dict):
            raise InvalidProofError("a line of the log is not an object")
        if "bound" in record and "format" not in record:
            return
        yield record
