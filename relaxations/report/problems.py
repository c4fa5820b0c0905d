"""The problems of a gap report: the 0-1 problem on an instance at one λ, or a model as it was stated; and held-out points."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Protocol, runtime_checkable

import numpy as np

from ...errors import InputError, MarginoptError, UnsupportedModelError
from ...instances.instance import as_fraction, split_rows
from ...instances.naming import Naming
from ...models.arrays import FloatArray, Points
from ...models.decision import decided_labels
from ...models.formulations.zero_one.model import ZeroOneSVM
from ...models.model import Model, as_model
from ...solvers.records import Options
from ..strengthening import heuristic, heuristic_solution, tighten
from .cells import where


@runtime_checkable
class InstanceData(Protocol):
    """The part of an instance that a report reads (`marginopt.instances.Instance` has it)."""

    @property
    def X(self) -> Points:
        """Rows of data, taken literally."""

    @property
    def y(self) -> Any:
        """Labels -1, +1."""

    @property
    def name(self) -> str:
        """Name, one for each instance of a report."""

    @property
    def source(self) -> str:
        """The source of the data."""


@runtime_checkable
class GeneratedData(InstanceData, Protocol):
    """Data that say of what family they are and with which parameters they were drawn (`marginopt.instances.Instance` does)."""

    @property
    def family(self) -> str:
        """The family of data that differ in sizes and parameters alone; empty: the name."""

    @property
    def parameters(self) -> Mapping[str, float] | None:
        """Numbers by name; n and p are counted."""


@dataclass(frozen=True, eq=False)
class HeldOut:
    """Held-out points, on which errors are counted and nothing is fitted.

    Parameters
    ----------
    X, y : arrays
    words : str
        Description of the points.
    """

    X: Points
    y: Any
    words: str

    def error(self, model: Model, values: Mapping[str, FloatArray] | None) -> float | None:
        """Part of the points that a model's classifier puts into the other class; None without a point or a classifier.

        A score of 0 is of class -1, as in `Model.predict`.
        """
        if not values:
            return None
        try:
            scores = model.decision_function(values, self.X)
        except UnsupportedModelError:
            return None
        return float(np.mean(decided_labels(scores) != np.asarray(self.y)))


@dataclass(frozen=True, eq=False)
class TrainingPart:
    """The data that remain when a part is held out, under the name of the whole."""

    X: Points
    y: Any
    name: str
    source: str
    family: str
    parameters: Mapping[str, float]

    @classmethod
    def of(cls, data: InstanceData, fraction: float, seed: int) -> tuple[TrainingPart, HeldOut]:
        """Split an instance at random, classes in proportion."""
        share = as_fraction(fraction, "held_out", 1.0)
        rows, out = split_rows(np.asarray(data.y), (1.0 - share, share), seed, True)
        y = np.asarray(data.y)
        if len(np.unique(y[rows])) < len(np.unique(y)):
            raise InputError(f"held_out={fraction:g} leaves {data.name} without points of one class", name="held_out")
        words = f"{out.size} of {y.size} points, chosen by seed {seed}, classes in proportion"
        family, parameters = (data.family, data.parameters or {}) if isinstance(data, GeneratedData) else ("", {})
        part = cls(data.X[rows], y[rows], data.name, f"{data.source}; without {words}", family, parameters)
        return part, HeldOut(data.X[out], y[out], words)


@dataclass(frozen=True, eq=False)
class Subject(ABC):
    """The problem of a row of the report, with its name.

    Parameters
    ----------
    name, source : str
    model : Model
    family : str
        Shown beside results, as ``parameters``: they determine none, and are no part of a store's key.
    parameters : mapping of str to float
    test : HeldOut, optional
        The points held out.
    """

    name: str
    source: str
    model: Model
    family: str = ""
    parameters: Mapping[str, float] = field(default_factory=dict)
    test: HeldOut | None = None

    @property
    @abstractmethod
    def lam(self) -> float | None:
        """λ; None where the model says what it is."""

    @property
    @abstractmethod
    def data(self) -> dict[str, Any]:
        """Return the data that determine the problem, for the store's key."""

    @property
    def parts(self) -> dict[str, Any]:
        """Return everything that determines the subject, for the store's key."""
        test = {} if self.test is None else {"held out": [self.test.X, self.test.y]}
        return {"name": self.name, "source": self.source, **self.data, **test}

    @abstractmethod
    def incumbent(self, options: Options) -> tuple[FloatArray, float] | None:
        """Return the heuristic's classifier and its objective; None where no point is known."""

    def error(self, values: Mapping[str, FloatArray] | None) -> float | None:
        """Return the part of the points held out that a classifier gets wrong; None where there are none."""
        return None if self.test is None else self.test.error(self.model, values)

    @property
    def optimum(self) -> str:
        """The optimum that the bounds bound, in words."""
        return "the optimum" if self.lam is None else "the 0-1 optimum"

    @property
    def where(self) -> str:
        """Name and λ in words."""
        return where(self.name, self.lam)


@dataclass(frozen=True, eq=False)
class InstanceAt(Subject):
    """The 0-1 problem on an instance at one λ, with M of the incumbent where there is one by then."""

    model: ZeroOneSVM

    @classmethod
    def of(cls, data: InstanceData, lam: float, test: HeldOut | None = None) -> InstanceAt:
        """Return the problem of an instance, with family and parameters where it has them."""
        family, parameters = (data.family, data.parameters or {}) if isinstance(data, GeneratedData) else ("", {})
        return cls(data.name, data.source, ZeroOneSVM(data.X, data.y, lam=lam), family, parameters, test)

    def incumbent(self, options: Options) -> tuple[FloatArray, float]:
        """Return the heuristic's classifier and its objective."""
        return heuristic(self.model, options.seed)

    @property
    def lam(self) -> float:
        """λ."""
        assert isinstance(self.model.lam, float)
        return self.model.lam

    @property
    def data(self) -> dict[str, Any]:
        """Data and λ."""
        return {"X": self.model.X, "y": self.model.y, "lam": self.model.lam}

    def tightened(self, w: FloatArray) -> InstanceAt:
        """Return the subject with the objective of a classifier as the upper bound behind M."""
        return replace(self, model=tighten(self.model, w))


@dataclass(frozen=True, eq=False)
class ModelSubject(Subject):
    """A model as somebody stated it: composed, changed, or a program from elsewhere."""

    @classmethod
    def of(cls, name: str, model: Model, family: str = "", parameters: Mapping[str, float] | None = None) -> ModelSubject:
        """Return the subject of a model under a name, with the model's statement as the source."""
        return cls(name, f"{model.statement.title}: {model.statement.sizes}", model, family, parameters or {})

    def incumbent(self, options: Options) -> tuple[FloatArray, float] | None:
        """Return the best point that a heuristic for its kind of loss finds; None where none is known."""
        try:
            return heuristic_solution(self.model, options)
        except MarginoptError:
            return None  # the rows say why the model cannot be solved

    @property
    def lam(self) -> None:
        """None: the model has its own."""
        return None

    @property
    def data(self) -> dict[str, Any]:
        """The model with its data."""
        return {"model": self.model}


@dataclass(frozen=True, eq=False)
class ModelAtLam:
    """A problem that a function of λ states, under a name.

    Parameters
    ----------
    naming : Naming
        To which λ is added.
    state : callable
        λ to model.
    """

    naming: Naming
    state: Callable[[float], Model]

    @property
    def name(self) -> str:
        """The name without λ."""
        return self.naming.name

    def at(self, lam: float) -> ModelSubject:
        """The model at one λ, which its name says."""
        named = self.naming.changed({}, {"lam": lam})
        return ModelSubject.of(named["name"], as_model(self.state(lam)), named["family"], named["parameters"])
