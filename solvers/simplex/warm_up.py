"""Compiled loops, loaded (or compiled, the first time on a machine) before a run's clock starts."""

from __future__ import annotations

import functools
from typing import Any

import numpy as np

from ...models.kernels.gram import MatrixGram
from ...models.views import BoxEqualityQP, SimplexQP
from ..interface.algorithm import Algorithm, Outcome
from ..records.options import Options

__all__ = ["load_loops"]

#: A gap that a few steps reach.
_OPTIONS = Options(tol=0.01)


@functools.cache
def load_loops(kind: type[Algorithm[Any, Any]], precision: str | None = None) -> None:
    """Solve four points by an algorithm of this kind, with columns of this precision, so that its loops are there."""
    algorithm = kind() if precision is None else kind(precision=precision)  # type: ignore[call-arg]
    rows = np.array([[1.0, 0.2], [0.3, 1.0], [-1.0, 0.4], [-0.2, -1.0]])
    gram = MatrixGram(rows @ rows.T + np.eye(4))
    if BoxEqualityQP in algorithm.info.views:
        state = algorithm.init(
            BoxEqualityQP(gram, -np.ones(4), np.ones(4), np.array([1.0, 1.0, -1.0, -1.0])), _OPTIONS, np.random.default_rng(0)
        )
    else:
        state = algorithm.init(SimplexQP(gram, np.zeros(4), np.zeros(4, dtype=np.int64)), _OPTIONS, np.random.default_rng(0))
    for _ in range(20):
        if algorithm.advance(state, 1.0) is not Outcome.RUNNING:
            break
