"""The problems of a gap report: the 0-1 problem on an instance at one λ, or a model as stated by a user; and held-out points."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Protocol, runtime_checkable

import numpy as np

from ...errors import InputError, MarginoptError, UnsupportedModelError
from ...instances.instance import as_fraction, split_rows
from ...instances.naming import InstanceName
from ...models.arrays import FloatArray, Points
from ...models.decision import decided_labels
from ...models.formulations.zero_one import ZeroOneSVM
from ...models.model import Model, as_model
from ...solvers.records import Options
from ..strengthening import heuristic, heuristic_solution, tighten
from .cells import problem_label


@runtime_checkable
class InstanceData(Protocol):
    """Data of a 0-1 problem: the attributes of `marginopt.instances.Instance` that a report reads."""

    @property
    def X(self) -> Points:
        """Return the points (n, p) without any scaling."""

    @property
    def y(self) -> Any:
        """Return the labels -1 and +1."""

    @property
    def name(self) -> str:
        """Return the name, which differs for every instance of a report."""

    @property
    def source(self) -> str:
        """Return the source of the data in words."""


@runtime_checkable
class GeneratedData(InstanceData, Protocol):
    """Data of a family, which share a generator or data set and differ in sizes and parameters."""

    @property
    def family(self) -> str:
        """Return the name of the family; empty if the data stand alone."""

    @property
    def parameters(self) -> Mapping[str, float] | None:
        """Return the parameters by name, without n and p."""


@dataclass(frozen=True, eq=False)
class HeldOut:
    """Held-out points: classifiers are tested on them and never fitted.

    Parameters
    ----------
    X, y : arrays
        Points and labels.
    description : str
        Number and source of the points, in words.
    """

    X: Points
    y: Any
    description: str

    def error(self, model: Model, values: Mapping[str, FloatArray] | None) -> float | None:
        """Return the share of points that a model's classifier gets wrong; None without a solution or a classifier.

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
    """The data left after a part is held out, under the name of the whole instance."""

    X: Points
    y: Any
    name: str
    source: str
    family: str
    parameters: Mapping[str, float]

    @classmethod
    def of(cls, data: InstanceData, fraction: float, seed: int) -> tuple[TrainingPart, HeldOut]:
        """Split an instance at random, classes in proportion, into the training part and the held-out points."""
        share = as_fraction(fraction, "held_out", 1.0)
        rows, out = split_rows(np.asarray(data.y), (1.0 - share, share), seed, True)
        y = np.asarray(data.y)
        if len(np.unique(y[rows])) < len(np.unique(y)):
            raise InputError(f"held_out={fraction:g} leaves {data.name} without points of one class", name="held_out")
        description = f"{out.size} of {y.size} points, chosen by seed {seed}, classes in proportion"
        family, parameters = (data.family, data.parameters or {}) if isinstance(data, GeneratedData) else ("", {})
        part = cls(data.X[rows], y[rows], data.name, f"{data.source}; without {description}", family, parameters)
        return part, HeldOut(data.X[out], y[out], description)


@dataclass(frozen=True, eq=False)
class ReportProblem(ABC):
    """A problem of a report, bounded by relaxations and solved exactly: base class.

    Parameters
    ----------
    name, source : str
        Name, and source of the data or of the model.
    model : Model
        The problem itself.
    family : str
        Shown beside results, as are ``parameters``; neither is a part of a store's key.
    parameters : mapping of str to float
    held_out : HeldOut, optional
        The points held out.
    """

    name: str
    source: str
    model: Model
    family: str = ""
    parameters: Mapping[str, float] = field(default_factory=dict)
    held_out: HeldOut | None = None

    @property
    @abstractmethod
    def lam(self) -> float | None:
        """Return λ; None for a model as stated, which has its own."""

    @property
    @abstractmethod
    def key_data(self) -> dict[str, Any]:
        """Return the problem's data, for the store's key."""

    @property
    def key_parts(self) -> dict[str, Any]:
        """Return all that determines the problem, for the store's key."""
        test = {} if self.held_out is None else {"held out": [self.held_out.X, self.held_out.y]}
        return {"name": self.name, "source": self.source, **self.key_data, **test}

    @abstractmethod
    def incumbent(self, options: Options) -> tuple[FloatArray, float] | None:
        """Return the heuristic's classifier and its objective; None where no point is known."""

    def error(self, values: Mapping[str, FloatArray] | None) -> float | None:
        """Return the share of held-out points that a classifier gets wrong; None without such points."""
        return None if self.held_out is None else self.held_out.error(self.model, values)

    @property
    def held_out_text(self) -> str:
        """Return the description of the held-out points; empty without them."""
        return "" if self.held_out is None else self.held_out.description

    @property
    def optimum(self) -> str:
        """Return words for the optimum that bounds are compared with."""
        return "the optimum" if self.lam is None else "the 0-1 optimum"

    @property
    def label(self) -> str:
        """Return name and λ in words."""
        return problem_label(self.name, self.lam)


@dataclass(frozen=True, eq=False)
class InstanceProblem(ReportProblem):
    """The 0-1 problem on an instance at one λ; once an incumbent is known its objective bounds M (`tightened`)."""

    model: ZeroOneSVM

    @classmethod
    def of(cls, data: InstanceData, lam: float, test: HeldOut | None = None) -> InstanceProblem:
        """Return the 0-1 problem on an instance at one λ, with its family and parameters if it has them."""
        family, parameters = (data.family, data.parameters or {}) if isinstance(data, GeneratedData) else ("", {})
        return cls(data.name, data.source, ZeroOneSVM(data.X, data.y, lam=lam), family, parameters, test)

    def incumbent(self, options: Options) -> tuple[FloatArray, float]:
        """Return the heuristic's classifier and its objective."""
        return heuristic(self.model, options.seed)

    @property
    def lam(self) -> float:
        """Return λ."""
        assert isinstance(self.model.lam, float)
        return self.model.lam

    @property
    def key_data(self) -> dict[str, Any]:
        """Return data and λ."""
        return {"X": self.model.X, "y": self.model.y, "lam": self.model.lam}

    def tightened(self, w: FloatArray) -> InstanceProblem:
        """Return the problem with a classifier's objective as the upper bound that M follows from."""
        return replace(self, model=tighten(self.model, w))


@dataclass(frozen=True, eq=False)
class ModelProblem(ReportProblem):
    """A model as a user stated it: a loss and a regulariser, a changed formulation, or a program from elsewhere."""

    @classmethod
    def of(cls, name: str, model: Model, family: str = "", parameters: Mapping[str, float] | None = None) -> ModelProblem:
        """Return the problem of a model under a name, with the model's statement as the source."""
        return cls(name, f"{model.statement.title}: {model.statement.sizes}", model, family, parameters or {})

    def incumbent(self, options: Options) -> tuple[FloatArray, float] | None:
        """Return the best point that a heuristic for its kind of loss finds; None where none is known."""
        try:
            return heuristic_solution(self.model, options)
        except MarginoptError:
            return None  # the rows say why the model cannot be solved

    @property
    def lam(self) -> None:
        """Return None: the model has its own λ."""
        return None

    @property
    def key_data(self) -> dict[str, Any]:
        """Return the model with its data."""
        return {"model": self.model}


@dataclass(frozen=True, eq=False)
class ModelOfLam:
    """A model as a function of λ, under a name.

    Parameters
    ----------
    naming : InstanceName
        The name; λ is added to it.
    state : callable
        From λ to the model.
    """

    naming: InstanceName
    state: Callable[[float], Model]

    @property
    def name(self) -> str:
        """Return the name without λ."""
        return self.naming.name

    def at(self, lam: float) -> ModelProblem:
        """Return the model at one λ, under a name that contains it."""
        named = self.naming.changed({}, {"lam": lam})
        return ModelProblem.of(named["name"], as_model(self.state(lam)), named["family"], named["parameters"])
