"""The record of an estimator: what it solves, and how tests make a quick one."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from ..models.model import Model

__all__ = ["EstimatorInfo"]


@dataclass(frozen=True)
class EstimatorInfo:
    """The record of one estimator, at the end of its own file in ``ESTIMATORS``; `marginopt.estimators` collects them.

    Parameters
    ----------
    estimator : type
        The class.
    model : type of Model
        The formulation that it solves.
    summary : str
        One line: what it is, and what it finds by itself.
    quick : mapping
        Parameters with which it fits small data in a moment: those of scikit-learn's checks.
    """

    estimator: type[Any]
    model: type[Model]
    summary: str
    quick: Mapping[str, Any] = field(default_factory=dict)

    @property
    def name(self) -> str:
        """The class's name."""
        return self.estimator.__name__

    def make(self) -> Any:
        """A quick one."""
        return self.estimator(**self.quick)
