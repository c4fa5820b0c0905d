"""A proof log of `ramp-bb`: the problem and its coordinates, the rounds and the split of every node, the claim and a seal.

One JSON object in a line. A round has what its bound follows from: pairs, level by level, of which each pays all that is left of
the cheaper cost; hinges whose multiplier is as large as may be, and others with theirs; a point of the polar, in the problem's
own coordinates; the box, and what squares that vanish
at its ends spend of the bound. `solvers.ramp.check` finds everything else anew.
"""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np

from ...errors import WriteError
from ...models.arrays import FloatArray
from ...models.views import RampProblem
from ..zero_one.proof.log_file import LogFile
from .check.statement import FORMAT

__all__ = ["ProofLog"]

#: Left to the checker's own rounding: this share of the claimed bound, and so many last places of all costs, and of what the
#: terms of margins cost by their slopes, for each term of a sum. The share of a multiplier's cap that counts as all of it.
_SLACK, _PLACES, _FULL = 1e-8, 4.0 * 2.0**-52, 1e-12


class ProofLog:
    """Writes nodes as they come.

    Parameters
    ----------
    path : str
    problem : RampProblem
    V : ndarray (p, p)
        Coordinates of the boxes, w = V v.
    cut : float
        What costs less is of interest at first.
    """

    def __init__(self, path: str, problem: RampProblem, V: FloatArray, cut: float) -> None:
        self._file, self._V, self._problem = LogFile(path), V, problem
        arrays = {name: getattr(problem, name).tolist() for name in ("A", "costs", "curvature", "atoms")}
        beyond = problem.beyond if np.isfinite(problem.beyond) else None
        ramp = {"height": problem.height, "width": problem.width, "beyond": beyond}
        self._file.write([{"format": FORMAT, "version": 1, **arrays, **ramp, "T": V.tolist(), "cut": cut}])

    @property
    def fault(self) -> WriteError | None:
        """Why nothing will be at the path."""
        return self._file.fault

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
            else:
                records[-1]["split"] = [int(events[at + 1]), float(events[at + 2])]
                at += 3
        self._file.write(records)

    def _round(self, events: FloatArray, at: int) -> tuple[dict[str, Any], int]:
        """A round, and where the next event is."""
        p = len(self._V)
        pairs, hinges, relaxed = events[at + 1 : at + 4].astype(int).tolist()
        ends = np.cumsum([at + 4, 3 * pairs, 3 * hinges, 1, p, p, p]).tolist()
        paired, given, spend, lo, hi, polar = (events[a:b] for a, b in pairwise(ends))
        paired, given = paired.astype(int).reshape(pairs, 3), given.reshape(hinges, 3)
        levels = [paired[paired[:, 0] == level, 1:].ravel().tolist() for level in np.unique(paired[:, 0])]
        found: dict[str, Any] = {"pairs": levels}
        if relaxed:
            full = given[:, 1] >= (1.0 - _FULL) * given[:, 2]
            found["full"] = given[full, 0].astype(int).tolist()
            found["part"] = [[int(i), float(alpha)] for i, alpha, _ in given[~full].tolist()]
            found["box"], found["spend"] = [lo.tolist(), hi.tolist()], float(spend[0])
            found["p"] = (self._V @ polar).tolist()
        return found, ends[-1]

    def finish(self, bound: float, w: FloatArray) -> None:
        """Write the claim, a little below the bound, the incumbent with the combination of atoms that it is, and the seal."""
        below = bound * (1.0 - _SLACK) - _spare(self._problem, w)
        claimed = below if 0.0 < below < np.inf else 0.0  # NaN, of sums that overflow, claims nothing
        self._file.write([{"bound": claimed, "w": w.tolist(), "combination": _combination(self._problem.atoms, w)}])
        self._file.seal()


def _spare(problem: RampProblem, w: FloatArray) -> float:
    """What rounding may cost near w: of sums of costs, and of margins, which slopes turn into costs."""
    n, p = problem.A.shape
    with np.errstate(over="ignore", invalid="ignore"):
        terms = 1.0 + np.abs(problem.A) @ np.abs(w)
        steep = problem.height / problem.width * float(problem.costs @ terms)
    return _PLACES * ((n + p + 16) * float(problem.costs.sum()) * problem.height + (p + 4) * steep)


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
