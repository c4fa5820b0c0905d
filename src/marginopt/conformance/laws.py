"""The laws of conformance: the type of a law (`Law`), its verdict, and the tiny instances (`Case`) on which laws are tried.

A *law* is a property that every solver, formulation or relaxation must have, written as a function that returns a `LawVerdict`.
There are four kinds, by their subject: a formulation on a tiny instance, a solver on such a case, a solver alone, a relaxation.
The decorator `Laws.law` adds a function to the list of its kind; `examine` prints the function's docstring.
"""

from __future__ import annotations

import enum
import functools
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, Generic, TypeVar

import numpy as np

from ..errors import MarginoptError, TooLargeError, UnsupportedModelError
from ..instances import ReferenceOptimum, reference_optima
from ..models.model import Model
from ..models.program.form import StandardForm
from ..models.record import FormulationInfo


class State(enum.Enum):
    """The outcome of testing a law; the values are the printed words."""

    #: The subject has the property.
    HOLDS = "holds"
    #: The subject lacks the property.
    VIOLATED = "does not hold"
    #: The property has no meaning for the subject, such as duality for a solver without multipliers.
    NOT_APPLICABLE = "not applicable"


@dataclass(frozen=True)
class LawVerdict:
    """The outcome of testing a law, with the measured figures.

    Attributes
    ----------
    state : State
        Whether the law holds.
    words : str
        The figures, or the reason why the law does not apply.
    """

    state: State
    words: str

    def __post_init__(self) -> None:
        if not self.words.strip():
            raise ValueError(f"a verdict '{self.state.value}' without figures or a reason says nothing")

    def __str__(self) -> str:
        return f"{self.state.value}: {self.words}"


def holds(words: str) -> LawVerdict:
    """Return the verdict that the law holds, with its figures."""
    return LawVerdict(State.HOLDS, words)


def violated(words: str) -> LawVerdict:
    """Return the verdict that the law does not hold, with the figures and what is allowed."""
    return LawVerdict(State.VIOLATED, words)


def not_applicable(reason: str) -> LawVerdict:
    """Return the verdict that the law does not apply, with the reason."""
    return LawVerdict(State.NOT_APPLICABLE, reason)


def at_most(noun: str, value: float, limit: float) -> LawVerdict:
    """Return the verdict that a figure, called ``noun``, is at most its limit; NaN violates it."""
    return holds(f"{noun} {value:.1e}") if value <= limit else violated(f"{noun} {value:.3e}, allowed {limit:.1e}")


def all_of(verdicts: Iterable[LawVerdict]) -> LawVerdict:
    """Return one verdict from several, at least one: violated if one is, not applicable if all are, else holds."""
    verdict_list = list(verdicts)
    wrong = [v.words for v in verdict_list if v.state is State.VIOLATED]
    if wrong:
        return violated("; ".join(wrong))
    satisfied = [v for v in verdict_list if v.state is State.HOLDS]
    return holds("; ".join(v.words for v in satisfied)) if satisfied else verdict_list[0]


T = TypeVar("T")


@dataclass(frozen=True, eq=False)
class Law(Generic[T]):
    """A property that every subject of one kind must have, and the function that checks it.

    Parameters
    ----------
    name : str
        The law in a few words.
    statement : str
        The property in one sentence.
    check : callable
        Returns the verdict on a subject.
    every_case : bool
        True if the law is tested on every case of a formulation, False if on the first case alone.
    """

    name: str
    statement: str
    check: Callable[[T], LawVerdict] = field(repr=False)
    every_case: bool = False

    def __call__(self, subject: T) -> LawVerdict:
        """Return the verdict; an unexpected error of the package is a violation."""
        try:
            return self.check(subject)
        except MarginoptError as error:
            return violated(f"{type(error).__name__}: {error}")


class Laws(Generic[T]):
    """The laws of one kind, in the order of their definition in ``laws``."""

    def __init__(self) -> None:
        self.laws: list[Law[T]] = []

    def law(self, name: str, *, every_case: bool = False) -> Callable[[Callable[[T], LawVerdict]], Law[T]]:
        """Return a decorator that makes a function a law of this kind, stated by its docstring."""

        def added(check: Callable[[T], LawVerdict]) -> Law[T]:
            statement = " ".join((check.__doc__ or "").split())
            self.laws.append(Law(name, statement, check, every_case))
            return self.laws[-1]

        return added


@dataclass(frozen=True, eq=False)
class Case:
    """A formulation on one tiny instance, the subject of the formulation laws.

    Parameters
    ----------
    info : FormulationInfo
        The record of the formulation.
    title : str
        The instance in words.
    arrays, parameters : mapping
        The data and the parameters by name, as `FormulationInfo.make_model` takes them.
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
    def arrays_unchanged(self) -> bool:
        """True while the arrays are as they were when the case was made."""
        return vars(self)["_digest"] == self._fingerprint()

    @property
    def name(self) -> str:
        """The names of formulation and instance."""
        return f"{self.info.name} on {self.title}"

    @cached_property
    def model(self) -> Model:
        """The model; the same object for every law."""
        return self.info.make_model(self.arrays, self.parameters)

    @cached_property
    def form(self) -> StandardForm | None:
        """The standard form; None where the formulation has none."""
        try:
            return self.model.form
        except (TooLargeError, UnsupportedModelError):
            return None

    @property
    def has_points(self) -> bool:
        """True for a formulation that is stated on points X, which can be permuted."""
        return "X" in self.arrays

    def permuted(self, order: np.ndarray) -> Case:
        """Return the case of the same points in another order."""
        return replace(self, arrays={name: np.asarray(value)[order] for name, value in self.arrays.items()})

    def flipped(self) -> Case:
        """Return the case of the same points with the two classes exchanged."""
        return replace(self, arrays={**self.arrays, "y": -np.asarray(self.arrays["y"])})


@functools.cache
def _references() -> tuple[ReferenceOptimum, ...]:
    return tuple(reference_optima())


def cases(info: FormulationInfo) -> tuple[Case, ...]:
    """Return the cases of a formulation: each known optimum, an example, and an example for each value of a choice."""
    names = {p.name for p in info.parameters}
    optima = [
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
    return (*optima, *examples)
