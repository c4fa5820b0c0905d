"""The checker of `ramp-bb`'s proof logs: it shares no code with the solver and trusts nothing but the problem's data.

For the claimed bound B, every w that costs less than B lies in a root box (`coordinates`). A node's rounds tighten its box
(`rules`); it must end with no box or a bound of B, or be split. The log says pairs, multipliers and splits; boxes, envelopes and
bounds are found anew, in float64 with all roundings taken off. The incumbent is evaluated in rational arithmetic.
"""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

from ....models.model import Model
from ...zero_one.check.arithmetic import InvalidProofError
from ...zero_one.check.checker import ProofReport
from ...zero_one.check.sealed import lines
from .coordinates import Problem, in_coordinates
from .rules import Box, losses, pay, relaxed, stated_box
from .statement import FORMAT, Stated

__all__ = ["check_ramp_proof"]


def check_ramp_proof(path: str | Path, model: Model | None = None) -> ProofReport:
    """Verify a proof log that ``ramp-bb`` wrote with ``proof=path``.

    Parameters
    ----------
    path : str or Path
    model : Model, optional
        The problem that the log should be about: a log of other data, costs, norm or ramp is refused. Without it the log proves a
        bound of the problem that it states itself.

    Returns
    -------
    ProofReport
        ``valid`` only where every node is proved; a damaged or wrong log is reported, whatever is wrong with it, never raised.

    Raises
    ------
    InputError
        The model is no ramp problem.
    """
    own = None if model is None else Stated.of_model(model)
    bound = value = math.nan
    nodes, words, digest = 0, "", ""
    try:
        with np.errstate(all="ignore"):
            claim = _claim(Path(path))
            records = _records(Path(path))
            header = next(records)
            if header.get("format") != FORMAT or header.get("version") != 1:
                raise InvalidProofError("this is not a proof log of ramp-bb, version 1")
            stated = Stated.of_log(header)
            words, digest = str(stated), stated.digest
            if own is not None and (other := own.difference(stated)) is not None:
                raise InvalidProofError(f"this log is about another problem than the model: {other}")
            bound, value = float(claim["bound"]), stated.value(claim["w"], claim["combination"])
            if not math.isfinite(bound) or bound > value:
                raise InvalidProofError(f"the claimed bound {bound:g} is above the incumbent's value {value:g}")
            if bound > 0.0:
                problem = in_coordinates(stated, np.array(header["T"], dtype=np.float64), max(bound, float(header["cut"])))
                nodes = _check_tree(problem, bound, records)
    except InvalidProofError as error:
        return ProofReport(False, bound, value, nodes, str(error), words, digest)
    except Exception as error:  # noqa: BLE001 -- a file may be wrong in every way, and all of them are a verdict
        message = f"the log cannot be read: {type(error).__name__}: {error}"
        return ProofReport(False, bound, value, nodes, message, words, digest)
    return ProofReport(True, bound, value, nodes, "every node is proved", words, digest, own is not None)


def _check_tree(problem: Problem, target: float, records: Iterable[dict[str, Any]]) -> int:
    """How many nodes there are, each of them proved; a node that no record is about must be proved by its parent.

    What is proved already may be split all the same: the search that began with a worse incumbent did not know that it was. Boxes
    are tightened to what costs less than that incumbent, ``cut``, as the search did: its multipliers are for those boxes.
    """
    cut = problem.target
    waiting: dict[tuple[int, int], Box | None] = {(0, 0): Box(-problem.half, problem.half.copy(), 0.0)}
    known = 0
    for record in records:
        number, origin = int(record["id"]), (int(record["parent"]), int(record["side"]))
        if origin not in waiting or number <= known:
            raise InvalidProofError(f"node {number} is no part of a node before it, or there twice")
        box, known = waiting.pop(origin), number
        for entry in record["rounds"]:
            cut = min(cut, max(float(entry.get("cut", cut)), target))
            if box is not None and not box.empty and box.bound < target:
                wide = stated_box(box, entry)
                loss = losses(problem, wide)
                pay(problem, wide, loss, entry["pairs"])
                relaxed(problem, wide, loss, entry, cut)
                box = Box(np.maximum(box.lo, wide.lo), np.minimum(box.hi, wide.hi), max(box.bound, wide.bound))
        if box is not None and (box.empty or box.bound >= target):
            box = None
        if "split" not in record:
            if box is not None:
                raise InvalidProofError(f"node {number} costs {box.bound:.12g} at least; the claim is {target:.12g}")
            continue
        j, at = int(record["split"][0]), float(record["split"][1])
        if not 0 <= j < problem.half.size or not math.isfinite(at):
            raise InvalidProofError(f"node {number} is split along no coordinate, or nowhere")
        for side in (0, 1):
            waiting[number, side] = None if box is None else box.part(j, at, side)
    for (parent, side), box in waiting.items():
        if box is not None and box.bound < target and not box.empty:
            raise InvalidProofError(f"part {side} of node {parent} costs {box.bound:.12g} at least; the claim is {target:.12g}")
    return known


def _claim(path: Path) -> dict[str, Any]:
    """The claim of a log whose seal fits: the last line is the SHA-256 of all others. A log may be larger than the memory."""
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
    """The header and the nodes."""
    for line in lines(path):
        record = json.loads(line)
        if not isinstance(record, dict):
            raise InvalidProofError("a line of the log is not an object")
        if "bound" in record and "format" not in record:
            return
        yield record
