"""A proof log of `margin-bb`: the problem and its coordinates, the rounds and the split of every node, the claim and a seal.

One JSON object in a line. A round has what its bound follows from: pairs, level by level, of which each pays all that is left of
the cheaper cost; slopes of terms, multipliers of rows and of points that must be kept, slopes of prices; a point of the polar,
in the problem's own coordinates; the box, and what squares that vanish at its ends spend of the bound. `solvers.margin.check`
finds everything else anew.
"""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

from ...errors import WriteError
from ...models.arrays import FloatArray
from ...models.margin_view import MarginProblem
from ..zero_one.proof.log_file import LogFile
from .check.statement import FORMAT, LoggedMarginProblem

if TYPE_CHECKING:
    from . import loops

__all__ = ["ProofLog"]

#: Left to the checker's own rounding: this share of the claimed bound, and so many last places of all costs, and of what the
#: terms of margins cost by their slopes, for each term of a sum.
_SLACK, _PLACES = 1e-8, 4.0 * 2.0**-52
#: By how much an incumbent is made longer, relative to its length.
_STRETCHES = (0.0, 1e-10, 1e-9, 4e-9, 1.6e-8)


class ProofLog:
    """Writes nodes as they come.

    Parameters
    ----------
    path : str
    problem : MarginProblem
    V : ndarray (p, p)
        Coordinates of the boxes, w = V v.
    cut : float
        What costs less is of interest at first.
    loops : kernels.Problem
        The problem as the loops have it: terms, and prices of budgets.
    """

    def __init__(self, path: str, problem: MarginProblem, V: FloatArray, cut: float, loops: loops.LoopProblem) -> None:
        self._file, self._V, self._problem = LogFile(path), V, problem
        self._terms, self._points, self._rows = loops.point.size, loops.points, loops.least.size
        self._theta = [float(loops.costs[a]) if b > a else 0.0 for a, b in pairwise(loops.begins.tolist())]
        self._file.write([{"format": FORMAT, "version": 2, **_stated(problem), "T": V.tolist(), "cut": cut}])

    @property
    def fault(self) -> WriteError | None:
        """Why nothing will be at the path."""
        return self._file.fault

    def cut(self, value: float) -> None:
        """Set the cutoff of the following nodes: a better point was found between two nodes."""
        self._file.write([{"cut": value}])

    def take(self, events: FloatArray) -> None:
        """Append the nodes of these events (`kernels.events`), which are whole."""
        records: list[dict[str, Any]] = []
        at = 0
        while at < len(events):
            kind = int(events[at])
            if kind == 0:
                number, parent, side = events[at + 1 : at + 4].astype(int).tolist()
                records.append({"id": number, "parent": parent, "side": side, "rounds": []})
                at += 4
            elif kind == 1:
                found, at = self._round(events, at)
                records[-1]["rounds"].append(found)
            elif kind == 3:
                records[-1]["rounds"][-1]["cut"] = float(events[at + 1])
                at += 2
            elif kind == 4:
                records[-1]["support"] = int(events[at + 1])
                at += 2
            else:
                records[-1]["split"] = [int(events[at + 1]), float(events[at + 2])]
                at += 3
        self._file.write(records)

    def _round(self, events: FloatArray, at: int) -> tuple[dict[str, Any], int]:
        """A round, and where the next event is."""
        p = len(self._V)
        pairs, hinges, relaxed, priced = events[at + 1 : at + 5].astype(int).tolist()
        ends = np.cumsum([at + 5, 3 * pairs, 2 * hinges, 1, p, p, p]).tolist()
        paired, given, spend, lo, hi, polar = (events[a:b] for a, b in pairwise(ends))
        paired, given = paired.astype(int).reshape(pairs, 3), given.reshape(hinges, 2)
        levels = [paired[paired[:, 0] == level, 1:].ravel().tolist() for level in np.unique(paired[:, 0])]
        found: dict[str, Any] = {"pairs": levels}
        if priced:
            found["theta"] = self._theta
        if relaxed:
            self._multipliers(found, given[:, 0].astype(int), given[:, 1])
            found["box"], found["spend"] = [lo.tolist(), hi.tolist()], float(spend[0])
            found["p"] = (self._V @ polar).tolist()
        return found, ends[-1]

    def _multipliers(self, found: dict[str, Any], rows: Any, alpha: FloatArray) -> None:
        """Split the rows' multipliers (`kernels.hinges`) into those of terms together, of rows and kept points, and of prices."""
        n, p = self._terms, len(self._V)
        slopes = np.zeros(n)
        of_terms = rows < 2 * n
        np.add.at(slopes, rows[of_terms] % n, alpha[of_terms])
        used = np.flatnonzero(slopes)
        found["alpha"] = list(zip(used.tolist(), slopes[used].tolist(), strict=True))
        kept = (rows >= 2 * n) & (rows < 2 * n + self._points)
        limits = (rows >= 2 * n + self._points) & (rows < 2 * n + self._points + self._rows)
        named = np.concatenate([rows[limits] - 2 * n - self._points, rows[kept] - 2 * n + self._rows])
        found["rows"] = [[int(i), float(a)] for i, a in zip(named, np.concatenate([alpha[limits], alpha[kept]]), strict=True)]
        prices = rows - (2 * n + self._points + self._rows)
        if (prices >= 0).any():
            support = np.zeros(p)
            np.add.at(support, prices[prices >= 0] // 2, np.where(prices % 2 == 0, alpha, -alpha)[prices >= 0])
            found["support"] = support.tolist()

    def finish(self, bound: float, w: FloatArray | None, infeasible: bool = False) -> None:
        """Write the claim, a little below the bound, the incumbent with the combination of atoms that it is, and the seal.

        A claim of infeasibility holds where every node is empty. A node that only its bound closed supports the finite bound.
        """
        w = None if w is None else self._least_multiple(w)
        below = bound * (1.0 - _SLACK) - _spare(self._problem, np.zeros(len(self._V)) if w is None else w)
        claimed = below if 0.0 < below < np.inf else 0.0  # NaN, of sums that overflow, claims nothing
        point = None if w is None else w.tolist()
        combination = None if w is None else _combination(self._problem.atoms, w)
        claim = {"bound": claimed, "w": point, "combination": combination}
        self._file.write([{**claim, "infeasible": True} if infeasible else claim])
        self._file.seal()

    def _least_multiple(self, w: FloatArray) -> FloatArray:
        """Return the multiple of w, w itself or a little longer, that costs least in the exact count of the checker.

        Margins of w may miss their thresholds by the rounding of the search; a multiple reaches them.
        """
        stated = LoggedMarginProblem.of_problem(self._problem)
        multiples = [w * (1.0 + stretch) for stretch in _STRETCHES]
        costs = [stated.value(v.tolist(), _combination(self._problem.atoms, v)) for v in multiples]
        return multiples[int(np.argmin(costs))]


def _stated(problem: MarginProblem) -> dict[str, Any]:
    """The problem in a log's header."""
    loss = {name: getattr(problem.loss, name).tolist() for name in ("margins", "below", "at")}
    again = problem.loss.again if np.isfinite(problem.loss.again) else None
    numbers = {name: getattr(problem, name).tolist() for name in ("A", "costs", "curvature", "atoms", "price", "rows", "least")}
    ends = {name: [x if np.isfinite(x) else None for x in getattr(problem, name).tolist()] for name in ("lower", "upper")}
    masks = {name: getattr(problem, name).astype(int).tolist() for name in ("whole", "counted", "kept")}
    budgets = [{"points": b.points.tolist(), "limit": int(b.limit)} for b in problem.budgets]
    return {
        **numbers, "loss": {**loss, "tail": problem.loss.tail, "again": again}, "intercept": bool(problem.intercept),
        **ends, **masks, "most": int(problem.most), "budgets": budgets,
    }  # fmt: skip


def _spare(problem: MarginProblem, w: FloatArray) -> float:
    """Return the cost of rounding near w: of sums of costs, and of margins, which slopes turn into costs."""
    n, p = problem.A.shape
    with np.errstate(over="ignore", invalid="ignore"):
        terms = 1.0 + np.abs(problem.A) @ np.abs(w)
        steep = problem.loss.steepest * float(problem.costs @ terms)
    return _PLACES * ((n + p + 16) * float(problem.costs.sum()) * problem.loss.height + (p + 4) * steep)


def _combination(atoms: FloatArray, w: FloatArray) -> list[float]:
    """α of least ||α||_1 with Σ_k α_k x_k = w where there are atoms."""
    if not len(atoms):
        return []
    from scipy.optimize import linprog  # imported here: it is slow, and few logs need it

    held = atoms.any(axis=0)
    both = np.hstack([atoms[:, held].T, -atoms[:, held].T])
    found = linprog(np.ones(both.shape[1]), A_eq=both, b_eq=w[held], bounds=(0.0, None), method="highs")
    plus, minus = np.split(found.x, 2)
    return np.asarray(plus - minus).tolist()
