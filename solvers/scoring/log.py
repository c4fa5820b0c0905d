"""A proof log of a scoring system: the problem, the splits of the tree, the claim and a seal (`solvers.scoring.check`)."""

from __future__ import annotations

from fractions import Fraction

from ...errors import WriteError
from ...models.arrays import IntArray
from ...models.formulations.margin.scoring_problem import ScoringProblem
from ..zero_one.proof.log_file import LogFile
from .check import FORMAT
from .tree import CLOSED

__all__ = ["ProofLog"]


class ProofLog:
    """Writes splits as they come. Which nodes are closed follows from them: those that are not split.

    Parameters
    ----------
    path : str
    problem : ScoringProblem
    """

    def __init__(self, path: str, problem: ScoringProblem) -> None:
        self._file = LogFile(path)
        p = problem
        self._file.write([{
            "format": FORMAT, "version": 1, "X": p.X.tolist(), "y": p.y.tolist(), "weights": p.weights.tolist(),
            "lower": p.lower.tolist(), "upper": p.upper.tolist(), "intercept": list(p.intercept), "price": str(p.price),
            "size_price": str(p.size_price), "most": p.most, "threshold": str(p.threshold),
        }])  # fmt: skip

    @property
    def fault(self) -> WriteError | None:
        """Why nothing will be at the path."""
        return self._file.fault

    def take(self, events: IntArray) -> None:
        """Append the splits among these events."""
        splits = events[events[:, 0] != CLOSED].tolist()
        if splits:
            self._file.write([{"splits": splits}])

    def finish(self, bound: Fraction, rho0: int, rho: IntArray) -> None:
        """Write the claim and the seal."""
        self._file.write([{"bound": str(bound), "rho0": rho0, "rho": rho.tolist()}])
        self._file.seal()
