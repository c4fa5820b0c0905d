"""The common parts of the algorithms on simplices and boxes: parameter checks, relative gaps, answers, and loading of loops.

The algorithms minimise f(a) = ½a'Qa + c'a, over a ≥ 0 with sum 1 in each simplex or over a box with one equality.
"""

from __future__ import annotations

import functools
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np

from ...errors import InputError, short_text
from ...models.arrays import FloatArray
from ...models.kernels.gram import MatrixGram
from ...models.model import Model
from ...models.views import BoxEqualityQP, SimplexQP
from ..interface.algorithm import Algorithm, Outcome
from ..records import Answer, Options

#: Type of an algorithm's state.
State = TypeVar("State")


@dataclass(frozen=True, eq=False)
class FeasiblePoint:
    """A feasible point that SMO continues from, found by its low-rank start, by Newton steps, or by pairs in working sets."""

    a: FloatArray  #: (n,) the point
    gradient: FloatArray  #: (n,) Qa + c
    guesses: int  #: Newton's guesses of the support or rounds of a growing set of points so far; 0 for the given point and pairs
    exact: bool = False  #: the gradient is float64 from the data, not updated from float32 columns
    prefers_working_sets: bool = False  #: the low-rank start (Newton on a low-rank Q) expects pairs in working sets to be faster


class OneSimplexAlgorithm(Algorithm[SimplexQP, State]):
    """Base class of algorithms for a single unit simplex, which refuse problems on several."""

    def view_obstacle(self, view: SimplexQP, model: Model) -> str | None:
        """Return the reason why a problem on several simplices is refused; None for one simplex."""
        if view.simplices == 1:
            return None
        return f"it works on one unit simplex, this model has {view.simplices}; 'smo' takes several"


def relative_gap_at(objective: float, gap: float) -> float:
    """Return the gap relative to the objective f, gap/max(|f|, |f - gap|); 0 if the gap is not positive."""
    return gap / max(abs(objective), abs(objective - gap)) if not gap <= 0.0 else 0.0


def simplex_answer(view: SimplexQP, a: FloatArray, gradient: FloatArray, details: Mapping[str, Any]) -> Answer:
    """Return the answer of a run that ends at a: the multipliers ν of the sums under ``"sum"``, and reduced costs ζ.

    They satisfy Qa + c = F'ν + ζ, where row s of F sums the variables of simplex s. ``gradient`` is Qa + c.
    """
    nu, zeta = view.multipliers(gradient)
    return Answer(values={view.label: a}, multipliers={"sum": nu}, reduced=zeta, details=dict(details))


#: Parameters that are integers ≥ 1, each with the end of its error message, which says what None means where it is allowed.
_WHOLE = {"sampling": ", or None for a full scan", "stride": ", or None", "prefetch": "", "block": ""}


def check_parameters(algorithm: Algorithm[Any, Any]) -> None:
    """Raise InputError for an invalid ``prefetch``, ``block``, ``stride`` or ``sampling`` of the algorithm."""
    for name, otherwise in _WHOLE.items():
        value = getattr(algorithm, name, None)
        if value is not None and value < 1:
            raise InputError(f"{name} must be an integer ≥ 1{otherwise}; it is {short_text(value)}", name=name)


def iteration_limit(options: Options) -> int:
    """Return the iteration limit of a solve; the largest integer if it has none."""
    return int(np.iinfo(np.int64).max) if options.iteration_limit is None else options.iteration_limit


#: Options of the smallest run: a few steps reach this gap.
_OPTIONS = Options(tol=0.01)


@functools.cache
def load_loops(algorithm_class: type[Algorithm[Any, Any]], precision: str | None = None) -> None:
    """Solve a problem of four points, so that the algorithm's loops are compiled for columns of this precision, or loaded."""
    algorithm = algorithm_class() if precision is None else algorithm_class(precision=precision)  # type: ignore[call-arg]
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
