"""The problems of a gap report: the 0-1 problem on an instance at one λ, or a user's model as stated; held-out points.

The 0-1 problem is min ||w||² + λ Σ 1{y_i x_i'w < 1}. Results on a problem may be kept in a store, under a digest of its key.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Protocol, runtime_checkable

import numpy as np

from ...errors import InputError, MarginoptError, UnsupportedModelError, count_text
from ...instances.naming import InstanceName
from ...instances.preparation import as_fraction, split_rows
from ...models.arrays import FloatArray, Points
from ...models.formulations.zero_one import ZeroOneSVM
from ...models.model import Model, as_model, decided_labels
from ...solvers.records import Options
from ..strengthening import heuristic, heuristic_solution, tighten
from .cells import problem_label


@runtime_checkable
class InstanceData(Protocol):
    """Data of a 0-1 problem: the attributes of `marginopt.instances.Instance` that a report reads."""

    @property
    def X(self) -> Points:
        """Return the points (n, p)."""

    @property
    def y(self) -> Any:
        """Return the labels -1 and +1."""

    @property
    def name(self) -> str:
        """Return the name, which must differ from those of the report's other instances."""

    @property
    def source(self) -> str:
        """Return the source of the data in words."""


@runtime_checkable
class GeneratedData(InstanceData, Protocol):
    """Data of a 0-1 problem that belong to a family, whose members differ in sizes and parameters alone."""

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
        Points (n, p) and labels (n,).
    description : str
        Number and source of the points, in words.
    """

    X: Points
    y: Any
    description: str

    def test_error(self, model: Model, values: Mapping[str, FloatArray] | None) -> float | None:
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


def _family(data: InstanceData) -> tuple[str, Mapping[str, float]]:
    """Return family and parameters of an instance; empty where it has none."""
    return (data.family, data.parameters or {}) if isinstance(data, GeneratedData) else ("", {})


@dataclass(frozen=True, eq=False)
class ReportInstance:
    """The data of an instance, or of its part without held-out points, as `GeneratedData` under a name in the report."""

    X: Points
    y: Any
    name: str
    source: str
    family: str
    parameters: Mapping[str, float]

    @classmethod
    def named(cls, data: InstanceData, name: str, family: str = "") -> ReportInstance:
        """Return an instance under another name; its family is the given one, or its own."""
        data_family, parameters = _family(data)
        return cls(data.X, data.y, name, data.source, family or data_family, parameters)

    @classmethod
    def training_part(cls, data: InstanceData, fraction: float, seed: int) -> tuple[ReportInstance, HeldOut]:
        """Split an instance at random, classes in proportion, into the training part and the held-out points."""
        share = as_fraction(fraction, "held_out", 1.0)
        rows, out = split_rows(np.asarray(data.y), (1.0 - share, share), seed, True)
        y = np.asarray(data.y)
        if len(np.unique(y[rows])) < len(np.unique(y)):
            raise InputError(f"held_out={fraction:g} leaves {data.name} without points of one class", name="held_out")
        description = f"{out.size} of {count_text(y.size, 'point')}, chosen by seed {seed}, classes in proportion"
        part = cls(data.X[rows], y[rows], data.name, f"{data.source}; without {description}", *_family(data))
        return part, HeldOut(data.X[out], y[out], description)


@dataclass(frozen=True, eq=False)
class ReportProblem(ABC):
    """A problem of a report, bounded by relaxations and solved exactly: base class.

    Parameters
    ----------
    name, source : str
        Name, and source of the data or of the model in words.
    model : Model
        The model to bound and to solve.
    family, parameters : str, mapping of str to float
        Family and parameters, which results show; they are no part of a store's key.
    held_out : HeldOut, optional
        Points on which classifiers are tested.
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
        """Return λ; None for a model as stated."""

    @property
    @abstractmethod
    def key_data(self) -> dict[str, Any]:
        """Return data and λ, or the model, for the store's key."""

    @property
    def key_parts(self) -> dict[str, Any]:
        """Return all that determines results on the problem, for the store's key."""
        test = {} if self.held_out is None else {"held out": [self.held_out.X, self.held_out.y]}
        return {"name": self.name, "source": self.source, **self.key_data, **test}

    @abstractmethod
    def find_incumbent(self, options: Options) -> tuple[FloatArray, float] | None:
        """Return the heuristic's classifier and its objective; None where no point is known."""

    def test_error(self, values: Mapping[str, FloatArray] | None) -> float | None:
        """Return the share of held-out points that the classifier of a solution gets wrong; None without these points."""
        return None if self.held_out is None else self.held_out.test_error(self.model, values)

    @property
    def held_out_text(self) -> str:
        """Return number and source of the held-out points in words; empty without them."""
        return "" if self.held_out is None else self.held_out.description

    @property
    def optimum_name(self) -> str:
        """Return words for the problem's optimum: "the 0-1 optimum", or "the optimum" of a model as stated."""
        return "the optimum" if self.lam is None else "the 0-1 optimum"

    @property
    def label(self) -> str:
        """Return name and λ in words."""
        return problem_label(self.name, self.lam)


@dataclass(frozen=True, eq=False)
class InstanceProblem(ReportProblem):
    """The 0-1 problem on an instance at one λ."""

    model: ZeroOneSVM

    @classmethod
    def of(cls, data: InstanceData, lam: float, test: HeldOut | None = None) -> InstanceProblem:
        """Return the 0-1 problem on an instance at one λ, with its family and parameters if it has them."""
        return cls(data.name, data.source, ZeroOneSVM(data.X, data.y, lam=lam), *_family(data), test)

    def find_incumbent(self, options: Options) -> tuple[FloatArray, float]:
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

    def with_incumbent(self, w: FloatArray) -> InstanceProblem:
        """Return the problem with the objective of a classifier w as its upper bound, from which smaller valid M follow."""
        return replace(self, model=tighten(self.model, w))


@dataclass(frozen=True, eq=False)
class ModelProblem(ReportProblem):
    """A model as a user stated it: a loss and a regulariser, a changed formulation, or a program from elsewhere."""

    @classmethod
    def of(cls, name: str, model: Model, family: str = "", parameters: Mapping[str, float] | None = None) -> ModelProblem:
        """Return the problem of a model under a name, with the model's statement as the source."""
        return cls(name, f"{model.statement.title}: {model.statement.sizes}", model, family, parameters or {})

    def find_incumbent(self, options: Options) -> tuple[FloatArray, float] | None:
        """Return a point of `heuristic_solution` and its objective; None if no point is known."""
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
    """A function from λ to a model, under a name, as a user gives it to a gap report.

    Parameters
    ----------
    naming : InstanceName
        The name; λ is added to it.
    model_at : callable
        Function of λ that returns the model.
    """

    naming: InstanceName
    model_at: Callable[[float], Model]

    @property
    def name(self) -> str:
        """Return the name without λ."""
        return self.naming.name

    def problem_at(self, lam: float) -> ModelProblem:
        """Return the model at one λ, under a name that contains it."""
        named = self.naming.changed_fields({}, {"lam": lam})
        return ModelProblem.of(named["name"], as_model(self.model_at(lam)), named["family"], named["parameters"])
