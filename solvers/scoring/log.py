"""A proof log of a scoring system: the problem, the splits of the tree, the claim and a seal (`solvers.scoring.check`)."""

from __future__ import annotations

from fractions import Fraction

from ...models.arrays import IntArray
from ..exact.log_file import LogFile, LogWriter
from .box_program import Multipliers
from .check import FORMAT
from .reduced import ReducedScoringProblem
from .tree import CLOSED

__all__ = ["ProofLog"]


class ProofLog(LogWriter):
    """Writes splits and multipliers as they come. Which nodes are closed follows from the splits: those that are not split.

    Parameters
    ----------
    path : str
    reduced : Reduced
    """

    def __init__(self, path: str, reduced: ReducedScoringProblem) -> None:
        p = reduced.problem
        super().__init__(LogFile(path), {
            "format": FORMAT, "version": 2, "X": p.X.tolist(), "y": p.y.tolist(), "weights": p.weights.tolist(),
            "lower": p.lower.tolist(), "upper": p.upper.tolist(), "intercept": list(p.intercept), "price": str(p.price),
            "size_price": str(p.size_price), "most": p.most, "threshold": str(p.threshold),
        })  # fmt: skip
        self._reduced, self._written = reduced, set[int]()

    def take(self, events: IntArray) -> None:
        """Append the splits among these events."""
        splits = events[events[:, 0] != CLOSED].tolist()
        if splits:
            self._file.write([{"splits": splits}])

    def certify(self, number: int, multipliers: Multipliers) -> None:
        """Write a node's multipliers, once: pairs of points in the place of pairs of rows."""
        if number in self._written:
            return
        self._written.add(number)
        plus, minus = (self._reduced.points[c][multipliers.pairs[:, c]].tolist() for c in (0, 1))
        pairs = [list(pair) for pair in zip(plus, minus, multipliers.cover, multipliers.margin, strict=True)]
        denominator = str(multipliers.denominator * self._reduced.unit)
        record = {"node": number, "denominator": denominator, "limit": multipliers.limit, "pairs": pairs}
        self._file.write([{"multipliers": [record]}])

    def finish(self, bound: Fraction, rho0: int, rho: IntArray) -> None:
        """Write the claim and the seal."""
        self._seal({"bound": str(bound), "rho0": rho0, "rho": rho.tolist()})
