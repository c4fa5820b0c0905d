"""The files of `margin-bb`: its proof log and its checkpoint, to which an unfinished log belongs.

The checkpoint holds the open nodes in the order of the heap, the incumbent, and whether coordinates are rotated.

The log has one JSON object in a line: the problem and its coordinates, the rounds and the split of every node, the claim, and a
seal. A *term* is a loss of one margin times its cost. A *round* bounds a node once; it holds the data from which the bound
follows: pairs of terms whose losses cannot both be small, one list for each *level* of matching; slopes of terms, multipliers of
constraints and of kept points (whose margins must be at least 1), slopes of prices; a point p of the norm's polar {p : |x_j'p| ≤
1}, in the problem's own coordinates; the box; and the value of the square that makes the relaxation strongly convex.
`solvers.margin.check` recomputes everything else.
"""

from __future__ import annotations

import os
from dataclasses import dataclass, fields
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

from ...errors import DataError
from ...models.arrays import FloatArray, IntArray
from ...models.views import MarginProblem, PiecewiseLinearLoss
from ..exact.checkpoint import Checkpoint, CheckpointContent
from ..exact.log_file import LogFile, LogPosition, LogWriter
from .check.logged_problem import FORMAT, HEADER_KEYS, VERSION, LoggedMarginProblem, exact_value, least_combination

if TYPE_CHECKING:
    from . import loops

#: Reserve for the checker's rounding: this share of the claimed bound, and this relative error (four last places) of all costs,
#: of the terms of margins times their slopes, and of the cutoff, for each term of a sum.
_SLACK, _PLACES = 1e-8, 4.0 * 2.0**-52
#: Relative increases of the incumbent's length that are tried.
_STRETCHES = (0.0, 1e-10, 1e-9, 4e-9, 1.6e-8)


class MarginLog(LogWriter):
    """Writer of a proof log, node by node; a *cutoff* is the cost at which nodes are closed.

    Parameters
    ----------
    file : LogFile
        The file to write.
    problem : MarginProblem
        The problem in its own coordinates.
    V : ndarray (p, p)
        Coordinates of the boxes, w = V v.
    loops : loops.LoopProblem
        The problem as the loops read it, with terms and prices of budgets.
    cut : float
        The cutoff at the start of the search.
    """

    def __init__(self, file: LogFile, problem: MarginProblem, V: FloatArray, loops: loops.LoopProblem, cut: float) -> None:
        header = {"format": FORMAT, "version": VERSION, **header_fields(problem), "T": V.tolist(), "cut": cut}
        super().__init__(file, header)
        self._V, self._problem = V, problem
        self._terms, self._points, self._rows = loops.point.size, loops.points, loops.row_lower.size
        self._theta = [float(loops.costs[a]) if b > a else 0.0 for a, b in pairwise(loops.budget_starts.tolist())]

    def record_cutoff(self, value: float) -> None:
        """Record a new cutoff: a better point was found between two nodes."""
        self._file.write([{"cut": value}])

    def append_nodes(self, events: FloatArray) -> None:
        """Append the records of complete nodes from their events, whose kinds `loops.data_structures` lists."""
        records: list[dict[str, Any]] = []
        position = 0
        while position < len(events):
            kind = int(events[position])
            if kind == 0:
                number, parent, side = events[position + 1 : position + 4].astype(int).tolist()
                records.append({"id": number, "parent": parent, "side": side, "rounds": []})
                position += 4
            elif kind == 1:
                entry, position = self._round(events, position)
                records[-1]["rounds"].append(entry)
            elif kind == 3:
                records[-1]["rounds"][-1]["cut"] = float(events[position + 1])
                position += 2
            elif kind in (4, 5):
                records[-1]["support" if kind == 4 else "sign"] = int(events[position + 1])
                position += 2
            else:
                records[-1]["split"] = [int(events[position + 1]), float(events[position + 2])]
                position += 3
        self._file.write(records)

    def _round(self, events: FloatArray, position: int) -> tuple[dict[str, Any], int]:
        """Return a round, and the position of the next event."""
        p = len(self._V)
        pairs, hinges, relaxed, priced = events[position + 1 : position + 5].astype(int).tolist()
        ends = np.cumsum([position + 5, 3 * pairs, 2 * hinges, 1, p, p, p]).tolist()
        paired, numbered, spend, lo, hi, polar = (events[a:b] for a, b in pairwise(ends))
        paired, numbered = paired.astype(int).reshape(pairs, 3), numbered.reshape(hinges, 2)
        levels = [paired[paired[:, 0] == level, 1:].ravel().tolist() for level in np.unique(paired[:, 0])]
        multipliers: dict[str, Any] = {"pairs": levels}
        if priced:
            multipliers["theta"] = self._theta
        if relaxed:
            self._multipliers(multipliers, numbered[:, 0].astype(int), numbered[:, 1])
            multipliers["box"], multipliers["spend"] = [lo.tolist(), hi.tolist()], float(spend[0])
            multipliers["p"] = (self._V @ polar).tolist()
        return multipliers, ends[-1]

    def _multipliers(self, multipliers: dict[str, Any], rows: Any, alpha: FloatArray) -> None:
        """Add the multipliers of terms, rows, demanded points and signs, and prices, by the rows of `loops.relaxation`."""
        n, p = self._terms, len(self._V)
        slopes = np.zeros(n)
        of_terms = rows < 2 * n
        np.add.at(slopes, rows[of_terms] % n, alpha[of_terms])
        used = np.flatnonzero(slopes)
        multipliers["alpha"] = list(zip(used.tolist(), slopes[used].tolist(), strict=True))
        is_demanded = (rows >= 2 * n) & (rows < 2 * n + self._points)
        limits = (rows >= 2 * n + self._points) & (rows < 2 * n + self._points + self._rows)
        prices = rows - (2 * n + self._points + self._rows)
        is_price, is_sign = (prices >= 0) & (prices < 2 * p), prices >= 2 * p
        parts = (
            (limits, rows - 2 * n - self._points),
            (is_demanded, rows - 2 * n + self._rows),
            (is_sign, prices - 2 * p + self._rows + self._points),
        )
        multipliers["rows"] = [[int(i), float(a)] for mask, named in parts for i, a in zip(named[mask], alpha[mask], strict=True)]
        if is_price.any():
            support = np.zeros(p)
            np.add.at(support, prices[is_price] // 2, np.where(prices % 2 == 0, alpha, -alpha)[is_price])
            multipliers["support"] = support.tolist()

    def finish(self, bound: float, w: FloatArray | None, cutoff: float, infeasible: bool = False) -> None:
        """Write the claim, a little below the bound, the incumbent w with its combination of atoms, and the seal.

        A claim of infeasibility (``infeasible``) holds if every node is empty. Otherwise a node may be closed by its bound, and
        only the finite bound is claimed.
        """
        w = None if w is None else self._least_multiple(w)
        point_or_zero = np.zeros(len(self._V)) if w is None else w
        below = bound * (1.0 - _SLACK) - _rounding_reserve(self._problem, point_or_zero, cutoff)
        claimed = below if 0.0 < below < np.inf else 0.0  # NaN, of sums that overflow, makes no claim
        point = None if w is None else w.tolist()
        combination = None if w is None else least_combination(self._problem.atoms, w)
        claim = {"bound": claimed, "w": point, "combination": combination}
        self._seal({**claim, "infeasible": True} if infeasible else claim)

    def _least_multiple(self, w: FloatArray) -> FloatArray:
        """Return the multiple of w, w itself or a little longer, that costs least in the exact count of the checker.

        Margins of w may miss their thresholds by the rounding of the search; a multiple reaches them.
        """
        problem = self._problem
        multiples = [w * (1.0 + stretch) for stretch in _STRETCHES]
        costs = [exact_value(problem, v.tolist(), least_combination(problem.atoms, v)) for v in multiples]
        return multiples[int(np.argmin(costs))]


def header_fields(problem: MarginProblem) -> dict[str, Any]:
    """Return the fields of a log's header that state the problem."""
    loss, *other_losses = map(_loss_fields, problem.losses)
    arrays = ("A", "costs", "curvature", "atoms", "price", "rows", "row_lower")
    numbers = {HEADER_KEYS.get(name, name): getattr(problem, name).tolist() for name in arrays}
    bounds = {name: [x if np.isfinite(x) else None for x in getattr(problem, name).tolist()] for name in ("lower", "upper")}
    masks = {
        HEADER_KEYS.get(name, name): getattr(problem, name).astype(int).tolist() for name in ("integer", "counted", "kept_points")
    }
    budgets = [{"points": b.points.tolist(), "limit": int(b.limit)} for b in problem.budgets]
    rates = [{"groups": r.groups.tolist(), "labels": r.labels.tolist(), "epsilon": r.epsilon} for r in problem.rates]
    return {
        **numbers, "loss": loss, "intercept": bool(problem.intercept),
        **bounds, **masks, "most": int(problem.max_nonzeros), "budgets": budgets,
        **({"rates": rates} if rates else {}),
        **({"others": other_losses, "kinds": problem.loss_numbers.tolist()} if other_losses else {}),
    }  # fmt: skip


def _loss_fields(loss: PiecewiseLinearLoss) -> dict[str, Any]:
    values = {name: getattr(loss, name).tolist() for name in ("margins", "below", "at")}
    rise_start = loss.rise_start if np.isfinite(loss.rise_start) else None
    return {**values, "tail": loss.tail, "again": rise_start, **({"even": True} if loss.symmetric else {})}


def _rounding_reserve(problem: MarginProblem, w: FloatArray, cutoff: float) -> float:
    """Return the reserve for rounding near w: of sums of costs, of margins, which slopes turn into costs, and of the cutoff."""
    n, p = problem.A.shape
    with np.errstate(over="ignore", invalid="ignore"):
        terms = 1.0 + np.abs(problem.A) @ np.abs(w)
        steep = float((problem.costs * problem.per_point(lambda loss: loss.largest_slope)) @ terms)
        heights = float(problem.costs @ problem.per_point(lambda loss: loss.height))
    return _PLACES * ((n + p + 16) * (heights + cutoff) + (p + 4) * steep)


@dataclass(frozen=True, eq=False)
class StoppedMarginSearch:
    """An interrupted search, as a checkpoint stores it."""

    #: (m, 4, p) of the m open nodes, in the order of the heap: lower and upper ends of the box, a point of the norm's polar, and
    #: 1 for coefficients that are not 0
    boxes: FloatArray
    keys: FloatArray  #: (m,) lower bounds of the open nodes
    origin: IntArray  #: (m, 2) number of the parent of each, and the side of the parent's split
    signs: IntArray  #: (m, n) signs that margins must have, 0 for any; (m, 0) without equal rates
    #: (4,) objective to improve on, accepted relative gap, least bound of leaves, 1 if a feasible point is known
    state: FloatArray
    incumbent: FloatArray  #: (p,) the incumbent, in the coordinates of the boxes
    nodes: int  #: number of explored nodes
    first_value: float  #: objective with which the search began, up to which the error bounds of margins hold
    rotated: bool  #: whether the coordinates are rotated
    log: LogPosition | None = None  #: the position of the proof log


#: Fields of `StoppedMarginSearch` that are arrays, and their types.
_ARRAYS = tuple(item.name for item in fields(StoppedMarginSearch))[:6]
_TYPES: dict[str, Any] = dict.fromkeys(_ARRAYS, np.float64) | {"origin": np.int64, "signs": np.int8}


class MarginCheckpoint(Checkpoint[StoppedMarginSearch]):
    """The checkpoint file of a search."""

    solver = "margin-bb"
    numbers = ("layout", "tol", "nodes", "first_value", "rotated")  # names of the file's numbers

    def __init__(self, path: str | os.PathLike[str], problem: MarginProblem, tol: float) -> None:
        super().__init__(path, LoggedMarginProblem.of_problem(problem).digest, tol)
        self._problem = problem

    @staticmethod
    def content(search: StoppedMarginSearch) -> CheckpointContent:
        """Return the content of the file of a search."""
        numbers = {"nodes": search.nodes, "first_value": search.first_value, "rotated": search.rotated}
        return CheckpointContent(numbers, {name: getattr(search, name) for name in _ARRAYS}, search.log)

    def parse(self, saved: CheckpointContent) -> StoppedMarginSearch:
        """Return the search of a file's content."""
        arrays = {name: saved.arrays[name] for name in _ARRAYS}
        n, p = self._problem.A.shape
        m = len(arrays["keys"])
        shapes = {
            "boxes": (m, 4, p), "keys": (m,), "origin": (m, 2), "signs": (m, n if self._problem.rates else 0), "state": (4,),
            "incumbent": (p,),
        }  # fmt: skip
        valid = all(arrays[name].shape == shapes[name] and arrays[name].dtype == _TYPES[name] for name in _ARRAYS)
        valid = valid and not any(np.isnan(arrays[name]).any() for name in ("boxes", "keys", "state", "incumbent"))
        keys = arrays["keys"]
        valid = valid and bool((keys[(np.arange(1, m) - 1) // 2] <= keys[1:]).all()) and bool((arrays["origin"] >= 0).all())
        if not valid or not np.isin(arrays["signs"], (-1, 0, 1)).all():
            raise DataError(f"the open nodes in {self.path} do not belong to this problem")
        numbers = saved.numbers
        return StoppedMarginSearch(
            **arrays,
            nodes=int(numbers["nodes"]),
            first_value=numbers["first_value"],
            rotated=bool(numbers["rotated"]),
            log=saved.log,
        )
