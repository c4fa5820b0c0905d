"""The tiny instances that the laws are tried on: those with known optima, and examples that a record builds."""

from __future__ import annotations

import functools
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np

from ..errors import TooLargeError, UnsupportedModelError
from ..instances import ReferenceOptimum, reference_optima
from ..models.model import Model
from ..models.program.form import StandardForm
from ..models.record import FormulationInfo

__all__ = ["Case", "cases"]


@dataclass(frozen=True, eq=False)
class Case:
    """A formulation on one tiny instance.

    Parameters
    ----------
    info : FormulationInfo
    title : str
        The instance in words.
    arrays, parameters : mapping
        As `FormulationInfo.state` takes them.
    optimum : float, optional
        The optimal value in the model's sense, found independently of this package; None where none is known.
    """

    info: FormulationInfo
    title: str
    arrays: Mapping[str, Any] = field(repr=False)
    parameters: Mapping[str, object]
    optimum: float | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "_digest", self._fingerprint())

    def _fingerprint(self) -> tuple[bytes, ...]:
        return tuple(np.ascontiguousarray(value).tobytes() for value in self.arrays.values())

    @property
    def untouched(self) -> bool:
        """Return whether the arrays are as they were when the case was made."""
        return vars(self)["_digest"] == self._fingerprint()

    @property
    def name(self) -> str:
        """Formulation and instance."""
        return f"{self.info.name} on {self.title}"

    @cached_property
    def model(self) -> Model:
        """The model; the same object for every law."""
        return self.info.state(self.arrays, self.parameters)

    @cached_property
    def form(self) -> StandardForm | None:
        """The standard form; None where the formulation has none."""
        try:
            return self.model.form
        except (TooLargeError, UnsupportedModelError):
            return None

    @property
    def has_points(self) -> bool:
        """Return whether it is stated on points, which can be permuted."""
        return "X" in self.arrays

    def permuted(self, order: np.ndarray) -> Case:
        """The same points in another order."""
        return replace(self, arrays={name: np.asarray(value)[order] for name, value in self.arrays.items()})

    def flipped(self) -> Case:
        """The same points with the two classes exchanged."""
        return replace(self, arrays={**self.arrays, "y": -np.asarray(self.arrays["y"])})


@functools.cache
def _references() -> tuple[ReferenceOptimum, ...]:
    return tuple(reference_optima())


def cases(info: FormulationInfo) -> tuple[Case, ...]:
    """The cases of a formulation: every known optimum of it, an example, and one for every value that a choice can take."""
    names = {p.name for p in info.parameters}
    known = [
        Case(
            info,
            f"{r.instance}: {', '.join(f'{k} = {v}' for k, v in r.parameters.items() if k in names) or r.statement}",
            {"X": r.X, "y": r.y},
            {k: v for k, v in r.parameters.items() if k in names},
            r.optimum,
        )
        for r in _references()
        if r.formulation == info.key
    ]
    variants: list[dict[str, object]] = [{}]
    variants += [{p.name: choice} for p in info.parameters for choice in p.choices if choice != p.default]
    examples = []
    for parameters in variants:
        arrays = dict(info.example_arrays(np.random.default_rng(0)))
        title = "its example" + "".join(f", {name} = {value}" for name, value in parameters.items())
        examples.append(Case(info, title, arrays, parameters))
    return (*known, *examples)
