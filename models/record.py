"""`FormulationInfo`, the record of a formulation: from it the command line, the tables and the tests make its models."""

from __future__ import annotations

import enum
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeAlias

import numpy as np

from ..errors import InputError, checked_return, short_text
from .kernels.kernels import RBF, Kernel, Linear, Polynomial
from .model import Model

#: The data that a formulation is stated on, by name: ``X`` and ``y``, or the arrays of its record.
Arrays: TypeAlias = Mapping[str, Any]
#: The values of all parameters of a formulation, by name.
ParameterValues: TypeAlias = Mapping[str, Any]


class DataKind(enum.Enum):
    """The kind of data that a formulation is stated on."""

    TWO_CLASSES = "two classes"
    CLASSES = "two or more classes"
    POINTS = "points without labels"
    ARRAYS = "arrays by name"

    @property
    def arrays(self) -> tuple[str, ...]:
        """Return the names of the arrays that a data set gives."""
        return {DataKind.POINTS: ("X",), DataKind.ARRAYS: ()}.get(self, ("X", "y"))


@dataclass(frozen=True)
class Parameter:
    """One parameter of a formulation as the command line and tables of tests give it.

    Parameters
    ----------
    name : str
        Key in `ParameterValues`; the command-line option is ``--name``, underscores as dashes.
    summary : str
        A description in a few words, without its default.
    kind : {float, int, str}
        Type of its values.
    default : float, int, str or None
        None where the formulation has a rule of its own, which ``summary`` tells.
    choices : tuple of str
        All allowed values, where these are a few words.
    words : tuple of str
        Words that may stand in place of a number.
    """

    name: str
    summary: str
    kind: type[float] | type[int] | type[str] = float
    default: float | int | str | None = None
    choices: tuple[str, ...] = ()
    words: tuple[str, ...] = ()

    @property
    def option(self) -> str:
        """Return the command-line option, such as ``--big-m``."""
        return "--" + self.name.replace("_", "-")

    @property
    def help_text(self) -> str:
        """Return the summary with choices and default, for help texts."""
        choices = f", {' or '.join(self.choices)}" if self.choices else ""
        if self.default is None:
            return self.summary + choices
        default = f"{self.default:g}" if isinstance(self.default, float) else str(self.default)
        return f"{self.summary}{choices} (default {default})"

    def read(self, raw: Any) -> Any:
        """Return the value, in the parameter's type, of a word of the command line or of a number.

        Raises
        ------
        InputError
            The word is not of the parameter's kind, or not among its choices.
        """
        if raw in self.words:
            return raw
        try:
            value = self.kind(raw)
            if value != value:  # NaN is no number, and a formulation that does not use it would never say so
                raise ValueError
        except (TypeError, ValueError, OverflowError):
            type_name = {float: "a number", int: "an integer", str: "a word"}[self.kind]
            raise InputError(f"{self.option} needs {type_name}; it is {short_text(raw)}", name=self.option) from None
        if self.choices and value not in self.choices:
            raise InputError(
                f"{self.option} must be one of {', '.join(self.choices)}; it is {short_text(value)}", name=self.option
            )
        return value


def always(chosen: ParameterValues) -> bool:
    """Return True: whatever the parameters, X has a first column of ones (the ``intercept`` of linear formulations)."""
    return True


def kernel_is_linear(chosen: ParameterValues) -> bool:
    """Return whether the kernel is the linear one: X then has a first column of ones for the intercept."""
    return bool(chosen["kernel"] == "linear")


def _never(chosen: ParameterValues) -> bool:
    return False


@dataclass(frozen=True)
class FormulationInfo:
    """The record of one formulation, at the end of its own file in ``FORMULATIONS``; `models.formulations` collects them.

    Parameters
    ----------
    model : type
        The class. Its name is the key in tables of optima, in stores and in result files, so it does not change.
    name : str
        Name on the command line and in tables.
    summary : str
        A line that describes the formulation, for tables.
    reference : str
        The publication that states it, with the equation.
    data : DataKind
        The kind of data that it is stated on.
    build : callable, optional
        Makes the model from the arrays and all parameter values; users call `make_model`. Where it is not given the class is
        called with the arrays in their order and the parameters by their names.
    parameters : tuple of Parameter
        The parameters that the command line offers.
    arrays : tuple of str
        Names of its arrays where ``data`` is `DataKind.ARRAYS`; on the command line they are those of an npz file.
    intercept : callable
        From the parameter values, whether X is to have a first column of ones; not read with `DataKind.ARRAYS`.
    standardised : bool
        Whether the command line standardises the features; no where users read the coefficients in the features' own units.
    also : tuple of str
        Further public names of its file, which ``models`` exports beside the class.
    small : callable, optional
        Makes small arrays for tests from a random generator; needed with `DataKind.ARRAYS`, else points in the plane are made.
    objective : callable, optional
        The stated objective of a model (in its own sense) at values of the form's blocks, computed from the data and not from the
        form: the conformance suite compares the two.

    Examples
    --------
    >>> from marginopt import models
    >>> info = models.formulations()["hinge"]
    >>> model = info.make_model({"X": X, "y": y}, {"lam": 2.0})  # doctest: +SKIP
    """

    model: type[Model]
    name: str
    summary: str
    reference: str
    data: DataKind
    build: Callable[[Arrays, ParameterValues], Model] | None = field(default=None, repr=False)
    parameters: tuple[Parameter, ...] = ()
    arrays: tuple[str, ...] = ()
    intercept: Callable[[ParameterValues], bool] = field(default=_never, repr=False)
    standardised: bool = True
    small: Callable[[np.random.Generator], Arrays] | None = field(default=None, repr=False)
    also: tuple[str, ...] = ()
    objective: Callable[[Any, Mapping[str, Any]], float] | None = field(default=None, repr=False)

    def __post_init__(self) -> None:
        if (self.data is DataKind.ARRAYS) != bool(self.arrays) or (self.data is DataKind.ARRAYS and self.small is None):
            raise InputError(
                f"the record of {self.name}: arrays and small= belong to DataKind.ARRAYS and to nothing else", name="arrays"
            )

    @property
    def key(self) -> str:
        """Return the name of the class, by which tables of optima, stores and result files know the formulation."""
        return self.model.__name__

    @property
    def public(self) -> dict[str, Any]:
        """Return the class and the objects that ``also`` names, by name."""
        return {self.key: self.model, **{name: getattr(sys.modules[self.model.__module__], name) for name in self.also}}

    @property
    def needs(self) -> tuple[str, ...]:
        """Return the names of the arrays that a model is made from: ``arrays``, or X and y."""
        return self.arrays or self.data.arrays

    def parameter_values(self, arguments: Mapping[str, object]) -> dict[str, Any]:
        """Return every parameter's value: the given ones read, the defaults of the others.

        Raises
        ------
        InputError
            A parameter that the formulation does not have, or a value that it cannot be.
        """
        by_name = {p.name: p for p in self.parameters}
        for name in arguments:
            if name not in by_name:
                has = ", ".join(p.option for p in self.parameters) or "no parameters"
                raise InputError(f"{self.name} has no --{name.replace('_', '-')}; it has {has}", name=name)
        return {name: p.read(arguments[name]) if arguments.get(name) is not None else p.default for name, p in by_name.items()}

    def make_model(self, arrays: Arrays, arguments: Mapping[str, object] | None = None) -> Model:
        """Return the model on these arrays with these parameters.

        Raises
        ------
        InputError
            An array is missing, the formulation has no parameter of a given name, or the model refuses a value.
        """
        missing = [name for name in self.needs if name not in arrays]
        if missing:
            raise InputError(
                f"{self.name} is stated on {', '.join(self.needs)}; there is no {', '.join(missing)}", name=missing[0]
            )
        chosen = self.parameter_values({} if arguments is None else arguments)
        needed = {name: arrays[name] for name in self.needs}
        if self.build is None:
            return self.model(*needed.values(), **chosen)
        return checked_return(self.build(needed, chosen), Model, "build", self.name)

    def example_arrays(self, rng: np.random.Generator) -> Arrays:
        """Return the arrays of ``small``, else 12 points in the plane after a column of ones, of two or three classes."""
        if self.small is not None:
            return self.small(rng)
        classes = np.arange(3.0) if self.data is DataKind.CLASSES else np.array([-1.0, 1.0])
        y = np.repeat(classes, 12 // classes.size)
        turn = 2.0 * np.pi * y / classes.size
        centres = np.column_stack([np.cos(turn), np.sin(turn) + 0.5 * y])
        X = np.column_stack([np.ones(12), 1.2 * centres + rng.normal(scale=0.7, size=(12, 2))])
        return {"X": X, "y": y}

    def example(self, rng: np.random.Generator, arguments: Mapping[str, object] | None = None) -> Model:
        """Return a small instance, on `example_arrays`."""
        return self.make_model(self.example_arrays(rng), arguments)


def kernel_parameters(default: str | None = "rbf") -> tuple[Parameter, ...]:
    """Return the kernel's parameters on the command line: its name (``default`` where none is given), γ and degree."""
    return (
        Parameter("kernel", "kernel", str, default, ("linear", "rbf", "polynomial")),
        Parameter("gamma", "γ of the kernel; by the mean squared distance where it is not given"),
        Parameter("degree", "degree of the polynomial kernel", int, 2),
    )


def named_kernel(chosen: ParameterValues) -> Kernel:
    """Return the kernel of these parameters; the kernel's own rule chooses γ where none is given."""
    gamma = chosen["gamma"]
    if chosen["kernel"] == "linear":
        return Linear()
    if chosen["kernel"] == "polynomial":
        return Polynomial(chosen["degree"]) if gamma is None else Polynomial(chosen["degree"], gamma)
    return RBF() if gamma is None else RBF(gamma)


def with_kernel(model: Callable[..., Model]) -> Callable[[Arrays, ParameterValues], Model]:
    """Return the ``build`` of a record: it calls ``model`` with the arrays, the parameters by name, and their `named_kernel`."""
    words = {p.name for p in kernel_parameters()}

    def build(arrays: Arrays, chosen: ParameterValues) -> Model:
        plain = {name: value for name, value in chosen.items() if name not in words}
        return model(*arrays.values(), **plain, kernel=named_kernel(chosen))

    return build


#: The parameters of a loss that counts violations, in its two forms.
COST_OR_SHARE = (
    Parameter("lam", "λ, cost of a violated margin; 1 where neither it nor κ is given"),
    Parameter("kappa", "κ, share of the margins that may be violated, in place of λ"),
)
