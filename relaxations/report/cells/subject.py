"""The subjects of a report's rows: an instance at one λ, or a model as it is stated."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from ....models.arrays import FloatArray
from ....models.formulations.zero_one.model import ZeroOneSVM
from ....models.model import Model
from ...strengthening.incumbent import tighten
from .record import Drawn, InstanceData, where

__all__ = ["InstanceAt", "ModelSubject", "Subject"]


@dataclass(frozen=True, eq=False)
class Subject(ABC):
    """A problem with a name.

    Parameters
    ----------
    name, source : str
    """

    name: str
    source: str

    @property
    @abstractmethod
    def model(self) -> Model:
        """The problem."""

    @property
    @abstractmethod
    def lam(self) -> float | None:
        """λ; None where the model says what it is."""

    @property
    @abstractmethod
    def parts(self) -> dict[str, Any]:
        """Return everything that determines the subject, for the store's key."""

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
    """The 0-1 problem on an instance at one λ, with M of the incumbent where there is one by then.

    Its family and parameters are said beside results and determine none: they are no part of a store's key.
    """

    zero_one: ZeroOneSVM
    family: str = ""
    parameters: Mapping[str, float] = field(default_factory=dict)

    @classmethod
    def of(cls, data: InstanceData, lam: float) -> InstanceAt:
        """An instance, with family and parameters where it says them."""
        zero_one = ZeroOneSVM(data.X, data.y, lam=lam)
        if isinstance(data, Drawn):
            return cls(data.name, data.source, zero_one, data.family, data.parameters or {})
        return cls(data.name, data.source, zero_one)

    @property
    def model(self) -> ZeroOneSVM:
        """The problem."""
        return self.zero_one

    @property
    def lam(self) -> float:
        """λ."""
        assert isinstance(self.zero_one.lam, float)
        return self.zero_one.lam

    @property
    def parts(self) -> dict[str, Any]:
        """Name, source, data and λ."""
        return {"name": self.name, "source": self.source, "X": self.model.X, "y": self.model.y, "lam": self.model.lam}

    def tightened(self, w: FloatArray) -> InstanceAt:
        """Return the subject with the objective of a classifier as the upper bound behind M."""
        return replace(self, zero_one=tighten(self.zero_one, w))


@dataclass(frozen=True, eq=False)
class ModelSubject(Subject):
    """A model as somebody stated it: from parts, changed, or a program from elsewhere.

    Its family and parameters are said beside results and determine none: they are no part of a store's key.
    """

    stated: Model
    family: str = ""
    parameters: Mapping[str, float] = field(default_factory=dict)

    @classmethod
    def of(cls, name: str, model: Model, family: str = "", parameters: Mapping[str, float] | None = None) -> ModelSubject:
        """A model under a name, with what it says of itself as the source."""
        return cls(name, f"{model.statement.title}: {model.statement.sizes}", model, family, parameters or {})

    @property
    def model(self) -> Model:
        """The problem."""
        return self.stated

    @property
    def lam(self) -> None:
        """The model has it where it has one."""
        return None

    @property
    def parts(self) -> dict[str, Any]:
        """Name, source and the model with its data."""
        return {"name": self.name, "source": self.source, "model": self.model}
