"""A proof log of `sparse-bb`: the problem, a dual point for each node with what it decides, the claim and a seal.

`solvers.sparse.check` says what a record means and recomputes the bounds.
"""

from __future__ import annotations

from ...models.arrays import FloatArray
from ...models.formulations.margin.problems import SparseProblem
from ..exact.log_file import LogFile, LogWriter
from .check import FORMAT
from .search import NodeRecord

__all__ = ["ProofLog"]


class ProofLog(LogWriter):
    """Writer of a log, node by node.

    Parameters
    ----------
    path : str
    problem : SparseProblem
        All costs positive.
    """

    def __init__(self, path: str, problem: SparseProblem) -> None:
        p = problem
        super().__init__(LogFile(path), {
            "format": FORMAT, "version": 2, "A": p.A.tolist(), "costs": p.costs.tolist(), "loss": p.loss.name,
            "curvature": p.curvature.tolist(), "price": p.price.tolist(), "lower": p.lower.tolist(), "upper": p.upper.tolist(),
            "counted": p.counted.tolist(), "most": p.most,
        })  # fmt: skip

    def append(self, record: NodeRecord) -> None:
        """Append a node."""
        self._file.write([{
            "node": record.number, "exponent": record.point.exponent, "alpha": record.point.text,
            "inside": record.inside.tolist(), "outside": record.outside.tolist(), "largest": record.largest,
            "split": record.split,
        }])  # fmt: skip

    def finish(self, bound: float, w: FloatArray) -> None:
        """Write the claim and the seal."""
        self._seal({"bound": bound, "w": w.tolist()})
