"""Helpers that the algorithms on simplices share: checks of parameters, relative gaps, answers, and compilation of loops."""

from __future__ import annotations

import functools
from collections.abc import Mapping
from typing import Any, TypeVar

import numpy as np

from ...errors import InputError
from ...models.arrays import FloatArray
from ...models.kernels.gram import MatrixGram
from ...models.model import Model
from ...models.views import BoxEqualityQP, SimplexQP
from ..interface.algorithm import Algorithm, Outcome
from ..records import Answer, Options

State = TypeVar("State")


class OneSimplexAlgorithm(Algorithm[SimplexQP, State]):
    """An algorithm for a single unit simplex."""

    def view_obstacle(self, view: SimplexQP, model: Model) -> str | None:
        """Return why a problem on several simplices is refused; None for one simplex."""
        if view.simplices == 1:
            return None
        return f"it works on one unit simplex, this model has {view.simplices}; 'smo' takes several"


def relative_gap_at(objective: float, gap: float) -> float:
    """Return gap/max(|f|, |f - gap|); 0 where the gap is not positive."""
    return gap / max(abs(objective), abs(objective - gap)) if not gap <= 0.0 else 0.0


def simplex_answer(view: SimplexQP, a: FloatArray, gradient: FloatArray, details: Mapping[str, Any]) -> Answer:
    """Return the point with multipliers ``{"sum": ν}`` and reduced costs ζ (Qa + c = F'ν + ζ)."""
    nu, zeta = view.multipliers(gradient)
    return Answer(values={view.label: a}, multipliers={"sum": nu}, reduced=zeta, details=dict(details))


#: Parameters that are integers ≥ 1, and what None means where it is allowed.
_WHOLE = {"sampling": ", or None for a full scan", "stride": ", or None", "prefetch": "", "block": ""}


def check_parameters(algorithm: Algorithm[Any, Any]) -> None:
    """Check those of ``precision``, ``prefetch``, ``block``, ``stride`` and ``sampling`` that the algorithm has."""
    precision = getattr(algorithm, "precision", "double")
    if precision not in ("single", "double"):
        raise InputError(f"precision must be 'single' or 'double'; it is {precision!r}", name="precision")
    for name, otherwise in _WHOLE.items():
        value = getattr(algorithm, name, None)
        if value is not None and value < 1:
            raise InputError(f"{name} must be an integer ≥ 1{otherwise}; it is {value!r}", name=name)


def iteration_limit(options: Options) -> int:
    """Return the iteration limit, or the largest integer."""
    return int(np.iinfo(np.int64).max) if options.iteration_limit is None else options.iteration_limit


#: A gap that a few steps reach.
_OPTIONS = Options(tol=0.01)


@functools.cache
def load_loops(kind: type[Algorithm[Any, Any]], precision: str | None = None) -> None:
    """Compile or load the loops of a kind of algorithm, with columns of this precision, by solving a problem of four points."""
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
