"""An independent checker of scoring systems' proof logs: it shares no code with the solver and trusts the problem's data alone.

The log holds the splits of a tree of boxes and the claimed bound. Every node that is not split must cost at least the bound: its
prices, and the errors of a flow between points of the two classes that are not both right (found by SciPy, and checked here to be
one), all in whole numbers and fractions. What a split means, and what follows for a box, is stated again in `Node`.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np

from ....models.formulations.margin.scoring_problem import ScoringProblem
from ....models.model import Model
from ....models.rounding import below
from ...zero_one.check.arithmetic import InvalidProofError
from ...zero_one.check.checker import ProofReport
from ...zero_one.check.sealed import held_records
from .data import LoggedScoringProblem
from .node import CheckedNode
from .pairs import LoggedMultipliers

__all__ = ["FORMAT", "check_scoring_proof", "stated_problem"]

FORMAT = "marginopt-scoring-proof"


def check_scoring_proof(path: str | Path, model: Model | None = None) -> ProofReport:
    """Verify the proof log of a scoring system that ``supports-bb`` wrote with ``proof=path``.

    Parameters
    ----------
    path : str or Path
    model : Model, optional
        A `ScoringSystem`, or a composition that is one: a log about other data or prices is refused. Without it the log proves a
        bound of the problem that it states itself.

    Returns
    -------
    ProofReport
        ``valid`` only where every node costs at least the claimed bound; a damaged or wrong log is reported, never raised.
    """
    bound = value = math.nan
    nodes, stated, own = 0, "", False
    try:
        header, splits, stated_multipliers, claim = _read(Path(path))
        problem = stated_problem(header)
        stated = f"n = {problem.y.size}, d = {problem.lower.size}"
        if model is not None:
            own = _same(problem, model)
        exact = Fraction(claim["bound"])
        rho = np.array(claim["rho"], dtype=np.float64)
        if rho.shape != problem.lower.shape or not problem.allows(int(claim["rho0"]), rho) or (rho != np.rint(rho)).any():
            raise InvalidProofError("the incumbent is no system of the problem")
        best = problem.value(int(claim["rho0"]), rho)
        bound, value = below(exact), float(best)
        if exact > best:
            raise InvalidProofError(f"the claimed bound {bound:g} is above the incumbent's value {value:g}")
        data = LoggedScoringProblem.of(problem)
        multipliers = {int(record["node"]): LoggedMultipliers.read(record, data) for record in stated_multipliers}
        for node, floor in _leaves(data, splits, multipliers):
            nodes += 1
            least = floor if floor >= exact else data.least(node, exact)
            if least < exact:
                raise InvalidProofError(f"a node is proved to cost {float(least):.12g} and no more; the claim is {bound:.12g}")
    except InvalidProofError as error:
        return ProofReport(False, bound, value, nodes, str(error), stated)
    except Exception as error:  # noqa: BLE001 -- a file may be wrong in every way, and all of them are a verdict
        return ProofReport(False, bound, value, nodes, f"the log cannot be read: {type(error).__name__}: {error}", stated)
    return ProofReport(True, bound, value, nodes, "every node is proved", stated, "", own)


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


def _same(stated: ScoringProblem, model: Model) -> bool:
    """Return whether the log is about the model; an error where it is not."""
    model_problem = model.view(ScoringProblem)
    if model_problem is None:
        raise InvalidProofError(f"{model.name} is no scoring system")
    for name in ("X", "y", "weights", "lower", "upper"):
        if not np.array_equal(getattr(model_problem, name), getattr(stated, name)):
            raise InvalidProofError(f"this log is about another problem than the model: {name} differs")
    for name in ("intercept", "price", "size_price", "most", "threshold"):
        if getattr(model_problem, name) != getattr(stated, name):
            raise InvalidProofError(f"this log is about another problem than the model: {name} differs")
    return True


def _read(path: Path) -> tuple[dict[str, Any], list[list[int]], list[dict[str, Any]], dict[str, Any]]:
    """Header, splits, multipliers and claim of a log of this format whose seal fits."""
    header, *records, claim = held_records(path, FORMAT, (1, 2))
    splits = [split for record in records for split in record.get("splits", ())]
    return header, splits, [held for record in records for held in record.get("multipliers", ())], claim
