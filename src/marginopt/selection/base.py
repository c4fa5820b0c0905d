"""The abstract selector, its data, and its answer."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, ClassVar

import numpy as np

from ..models.arrays import FloatArray, Points
from ..models.formulations.convex_hulls import ConvexHullsDual
from ..models.kernels.functions.distances import squared_distances
from ..models.kernels.kernels import RBF
from ..models.memory import check_bytes
from ..solvers.parallel import Executor, SerialExecutor
from ..solvers.registry import SolverLike

__all__ = ["C_GRID", "GAMMA_GRID", "Choice", "Sample", "Selection", "Selector"]

#: The grids of MaxMin, section 4: γ in 2^-15, 2^-13, .., 2^3 and C in 2^-5, 2^-3, .., 2^15.
GAMMA_GRID: tuple[float, ...] = tuple(2.0**k for k in range(-15, 4, 2))
C_GRID: tuple[float, ...] = tuple(2.0**k for k in range(-5, 16, 2))


@dataclass(frozen=True, eq=False)
class Sample:
    """The training data and the candidates that a selector may use, checked; it sees nothing else.

    Parameters
    ----------
    X : ndarray or csr_array (n, p)
    y : ndarray (n,)
        -1 and +1.
    gammas, costs : ndarray
        Candidates, ascending; selectors that search a range take their ends.
    seed : int
        Of the splits and of whatever is random.
    tol : float
        Relative gap to which every model is solved.
    solver : str, Solver or pair
        Of every model.
    team : Team
        Where models that do not wait for each other may be trained.
    threads : int, optional
        Of every model; the solver's own number where it is not given.
    """

    X: Points
    y: FloatArray
    gammas: FloatArray
    costs: FloatArray
    seed: int
    tol: float
    solver: SolverLike = "smo"
    team: Executor = field(default_factory=SerialExecutor)
    threads: int | None = None

    @cached_property
    def distances(self) -> FloatArray:
        """||x_i - x_j||², n × n."""
        check_bytes(8 * self.X.shape[0] ** 2, "the matrix of squared distances that this selector works on")
        D = squared_distances(self.X, self.X)
        np.fill_diagonal(D, 0.0)
        return D


@dataclass(frozen=True, eq=False)
class Choice:
    """γ, C, how many models were trained for them, how many of these short of the tolerance, and what was seen on the way.

    ``steps`` are those of an ascent, one for each model; ``details`` is for people.
    """

    gamma: float
    C: float
    models_trained: int
    details: Mapping[str, Any] = field(default_factory=dict)
    unsolved: int = 0
    steps: Sequence[Mapping[str, Any]] = ()


class Selector(ABC):
    """A rule that chooses γ and C from training data alone; a frozen data class whose fields are its parameters."""

    name: ClassVar[str]
    #: C where the user gives none: one number or candidates.
    default_C: ClassVar[float | tuple[float, ...]] = C_GRID

    @abstractmethod
    def choose(self, sample: Sample) -> Choice:
        """Choose; every solve of the inner problem to tolerance counts as one model trained."""


@dataclass(frozen=True, eq=False)
class Selection:
    """The selected parameter and the cost of its selection.

    Parameters
    ----------
    selector : str
    gamma, C : float
    models_trained : int
        One for each solve of the inner problem to tolerance.
    seconds : float
        Wall time of the whole selection.
    details : mapping
        What the selector saw, for people: scores of the candidates, the steps in γ.
    notes : tuple of str
        What a user should know: γ at an end of its range, points with both labels, constant features, unsolved models.
    unsolved : int
        Models that were trained short of the tolerance.
    steps : sequence of mapping
        γ, f, its derivative and the Fisher ratio of every model of an ascent in γ ("maxmin"); empty for other selectors.
    """

    selector: str
    gamma: float
    C: float
    models_trained: int
    seconds: float
    details: Mapping[str, Any] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    unsolved: int = 0
    steps: Sequence[Mapping[str, Any]] = ()

    def model(self, X: object, y: object) -> ConvexHullsDual:
        """The two-hulls model with the selected γ and C."""
        return ConvexHullsDual(X, y, C=self.C, kernel=RBF(self.gamma))  # type: ignore[arg-type]

    def __str__(self) -> str:
        head = (
            f"{self.selector}: gamma = {self.gamma:.6g}, C = {self.C:.6g}, "
            f"{self.models_trained} models trained in {self.seconds:.3g} s"
        )
        return "\n".join((head, *(f"  note: {note}" for note in self.notes)))
