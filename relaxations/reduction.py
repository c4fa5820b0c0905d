"""`Reduction`, the base class of relaxations: a map from a model to a problem whose optimum bounds the model's.

It also maps back: a point of that problem, the *target*, to a point of the model, and multipliers to a proved bound. `Relaxation`
is the record of a reduction in the registry.
"""

from __future__ import annotations

import enum
import warnings
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Generic, TypeVar

import numpy as np

from ..errors import InputError, MarginoptWarning, UnsupportedModelError
from ..models.arrays import FloatArray, plain_fields
from ..models.formulations.features import first_column_is_one
from ..models.formulations.zero_one import ZeroOneSVM
from ..models.model import Model
from ..models.program.form import StandardForm
from ..models.rounding import Rounded

#: The target of a reduction.
T = TypeVar("T", bound="Model | StandardForm")


class Direction(enum.Enum):
    """The relation between the optimum of the target and that of the original (both minimise)."""

    EQUIVALENT = "equivalent: the optima are equal"
    OUTER = "outer: a relaxation, its optimum is at most the original's"
    INNER = "inner: a restriction, its optimum is at least the original's"


@dataclass(frozen=True, eq=False)
class LiftedDual:
    """The bound that multipliers of the target prove for the *original* problem.

    Parameters
    ----------
    value : float
        A lower bound of the original's optimum, computed in float64 from the data and ``multipliers`` alone.
    multipliers : mapping of label to array
        The dual point that proves it, exactly feasible: ``margin`` (rows of the big-M form), or ``hull`` (γ in Γ) and
        ``split`` or ``slope`` (subgradients of the points' convexified losses).
    argument : str
        Why it holds, in one sentence.
    """

    value: float
    multipliers: Mapping[str, FloatArray]
    argument: str


@dataclass(frozen=True)
class Need:
    """A property that a reduction needs of a model, beyond its class.

    Parameters
    ----------
    description : str
        The property, as it follows "needs".
    reason : str
    is_met : callable
        Model to whether it has the property.
    """

    description: str
    reason: str
    is_met: Callable[[ZeroOneSVM], bool]


# Needs of the reductions: a λ form, a penalised intercept, equal costs, a leading column of ones.
COST_FORM = Need(
    "a cost λ", "the κ form has a budget of violations and no λ; ConicSVM(X, y, kappa=...) relaxes it", lambda m: m.kappa is None
)
PENALISED = Need(
    "intercept='penalised'",
    "its convexification offsets the loss by the whole of ||w||²",
    lambda m: m.intercept == "penalised",
)
ONE_COST = Need(
    "one lam for all points",
    "its convexification is that of n losses λ·1{u < 1} with the same λ",
    lambda m: m.sample_weight.min() == m.sample_weight.max(),
)
LEADING_ONES = Need(
    "a first column of ones in X and further features",
    "its intercept is the kernel's + 1; Instance.prepared(intercept=True) puts the column there",
    lambda m: m.X.shape[1] > 1 and first_column_is_one(m.X),
)


@dataclass(frozen=True)
class Reduction(ABC, Generic[T]):
    """A map from a `ZeroOneSVM` to another problem, with the ways back for points and multipliers.

    Frozen, so that it can stand in a stored report by its ``name``.
    """

    direction: ClassVar[Direction] = Direction.OUTER
    #: Models that it is defined for.
    reads: ClassVar[tuple[type[Model], ...]] = (ZeroOneSVM,)
    #: Whether a report draws its bound against its largest M.
    against_m: ClassVar[bool] = False
    #: Whether that picture has its bound as the level beside them: it needs no M.
    beside_m: ClassVar[bool] = False

    def __post_init__(self) -> None:
        plain_fields(self)

    @property
    @abstractmethod
    def name(self) -> str:
        """Short name for tables, with the parameters that matter."""

    @property
    def is_base(self) -> bool:
        """Return whether a report counts the gap closed from its bound."""
        return False

    @property
    def needs(self) -> tuple[Need, ...]:
        """The needs of the reduction beyond the kind of the model."""
        return (COST_FORM,)

    def obstacle(self, model: Model) -> str:
        """Return the reason why it does not read a model; empty where it does."""
        if not isinstance(model, self.reads):
            kinds = " or ".join(kind.__name__ for kind in self.reads)
            return f"it relaxes a {kinds}, and its optimum bounds nothing of a {type(model).__name__}"
        assert isinstance(model, ZeroOneSVM)
        return next((f"it needs {need.description}: {need.reason}" for need in self.needs if not need.is_met(model)), "")

    def check(self, model: Model) -> None:
        """Refuse a model that it does not read; `apply` begins with it.

        Raises
        ------
        UnsupportedModelError
        """
        obstacle = self.obstacle(model)
        if obstacle:
            raise UnsupportedModelError(f"{self.name} does not read this {type(model).__name__}: {obstacle}", name=self.name)

    def with_incumbent(self, model: Any, w: FloatArray) -> Any:
        """Return the model with what the reduction needs to know of a classifier w; by default the model itself."""
        return model

    @abstractmethod
    def apply(self, model: ZeroOneSVM) -> T:
        """Return the target: a model or a form with a sound bound of its own.

        Raises
        ------
        UnsupportedModelError
            The model is not one that it reads (`obstacle`).
        InputError
            The model lacks data that the reduction needs (an incumbent, a γ).
        """

    @abstractmethod
    def lift(self, model: ZeroOneSVM, target: T, multipliers: Mapping[str, FloatArray]) -> LiftedDual:
        """Return a proved bound of the target's optimum from any multipliers; of the original's too, but for a `caveat`."""

    def lifted(self, model: ZeroOneSVM, target: T, multipliers: Mapping[str, FloatArray]) -> LiftedDual:
        """Return the lower bound that the multipliers prove of the original, that of `lift`; -inf if there is a `reservation`."""
        dual, caveat = self.lift(model, target, multipliers), self.reservation(model)
        return replace(dual, value=float("-inf"), argument=f"no bound of the original: {caveat}") if caveat else dual

    def lift_dual(self, model: ZeroOneSVM, multipliers: Mapping[str, FloatArray]) -> LiftedDual:
        """`lifted` with the target built anew."""
        return self.lifted(model, self.apply(model), multipliers)

    def offset(self, model: ZeroOneSVM, target: T) -> Rounded:
        """Return the constant to add to the target's optimum for a bound of the original, if the target cannot hold it itself."""
        return Rounded(0.0)

    def recover(self, model: ZeroOneSVM, values: Mapping[str, FloatArray]) -> dict[str, FloatArray] | None:
        """Return a feasible point of the original from one of the target: the best multiple of its ``w``; None if there is none.

        Raises
        ------
        InputError
            No multiple of w satisfies the big-M rows (only where M is given and below 1, or w is far off).
        """
        return model.point(best_multiple(model, np.asarray(values["w"], dtype=np.float64)))

    def value(self, model: Any, values: Mapping[str, FloatArray]) -> float:
        """Return the original's objective at a point of it."""
        return float(model.objective(values["w"]))

    def caveat(self, model: ZeroOneSVM) -> str:
        """Return the reason why the target's optimum need not bound the 0-1 optimum from below; empty where it does."""
        return ""

    def reservation(self, model: ZeroOneSVM) -> str:
        """Return the caveat, or that the target is a restriction: no bound of the original follows; empty where one does."""
        return self.caveat(model) or ("it restricts the problem" if self.direction is Direction.INNER else "")

    def m_source(self, model: ZeroOneSVM) -> str:
        """Return the source of the target's big-M constants in words; empty if it has none."""
        return ""

    def constants(self, model: ZeroOneSVM) -> FloatArray | None:
        """Return the big-M constants in the target; None if it has none."""
        return None


def best_multiple(model: ZeroOneSVM, w: FloatArray) -> FloatArray:
    """Return t·w with the least 0-1 objective t²||w||² + Σ λ_i 1{t u_i < 1} over all t ≥ 0 that the big-M rows allow.

    The loss falls only where t passes some 1/u_i, so these t, the smallest t allowed among them, are all there is to try.
    The rows allow an interval: u_i < 0 asks t ≤ (M_i - 1)/|u_i|, u_i > 0 asks t ≥ (1 - M_i)/u_i (points that t·w keeps
    satisfy it anyway).

    Parameters
    ----------
    model : ZeroOneSVM
    w : ndarray (p,)
        A classifier.

    Returns
    -------
    ndarray (p,)
        The best multiple of w.

    Raises
    ------
    InputError
        w has the wrong shape or is not finite; or the interval is empty.
    """
    p = model.X.shape[1]
    if w.shape != (p,) or not np.isfinite(w).all():
        raise InputError(f"w must hold {p} finite numbers; it has shape {w.shape}", name="w")
    u = model.y * np.asarray(model.X @ w)
    M = model.big_m_values
    low, high = _allowed(u, M)
    positive = np.flatnonzero(u > 0.0)
    order = positive[np.argsort(-u[positive], kind="stable")]  # the order in which points are met as t grows
    cumulative_weight = np.concatenate([[0.0], np.cumsum(model.sample_weight[order])])
    with np.errstate(over="ignore"):
        steps = (1.0 / u[order]) * (1.0 + 4e-16)  # rounded up: a margin that is meant to be 1 is not below it
    candidates = np.concatenate([[low], steps])
    candidates = candidates[(candidates >= low) & (candidates <= high) & np.isfinite(candidates)]
    norm = float(w[model.penalised] @ w[model.penalised])
    reached = np.searchsorted(steps, candidates, side="right")
    values = candidates**2 * norm + (float(model.sample_weight.sum()) - cumulative_weight[reached])
    return np.asarray(candidates[int(np.argmin(values))] * w)


def _allowed(u: FloatArray, M: FloatArray) -> tuple[float, float]:
    """Smallest and largest multiple of w that the big-M rows allow."""
    wrong, right, level = u < 0.0, u > 0.0, u == 0.0
    high = float(np.min((M[wrong] - 1.0) / -u[wrong], initial=np.inf))
    low = float(np.max((1.0 - M[right]) / u[right], initial=0.0))
    if low > high or (M[level] < 1.0).any():
        raise InputError(
            "no multiple of this w satisfies y_i x_i'w >= 1 - M_i z_i: the big-M constants given are too small for it "
            f"(the smallest is {M.min():.4g}); leave big_m out to have valid ones computed",
            name="big_m",
        )
    return low, high


@contextmanager
def without_warnings() -> Iterator[None]:
    """Suppress `MarginoptWarning` while a model is stated anew: the original has given its warnings already."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", MarginoptWarning)
        yield


def replace_fields(model: ZeroOneSVM, **changes: Any) -> ZeroOneSVM:
    """Return the model with some fields replaced; the model itself, which keeps its compiled form, if nothing changes."""
    pairs = ((getattr(model, name), value) for name, value in changes.items())
    if all(old is new or (isinstance(old, str) and isinstance(new, str) and old == new) for old, new in pairs):
        return model
    with without_warnings():
        return replace(model, **changes)


def require_needs(model: ZeroOneSVM, subject: str, *needs: Need) -> None:
    """Raise `UnsupportedModelError` for the first need that a model does not meet; ``subject`` names the function that has it."""
    for need in needs:
        if not need.is_met(model):
            raise UnsupportedModelError(f"{subject} needs {need.description}: {need.reason}", name="model")


@dataclass(frozen=True)
class Relaxation:
    """The record of a relaxation in the registry: a reduction with its name, a summary and its source.

    Parameters
    ----------
    name : str
        At the prompt; small letters and hyphens.
    summary : str
        What is solved in place of the 0-1 problem, in one sentence.
    reduction : Reduction
    reference : str
        Where it is published.
    rank : int
        Place in lists, the weaker bounds first.
    default : bool
        Whether a report that names no relaxations has it.
    """

    name: str
    summary: str
    reduction: Reduction[Any]
    reference: str
    rank: int = 1000
    default: bool = False

    @property
    def direction(self) -> Direction:
        """The relation between the optimum of the target and that of the original."""
        return self.reduction.direction

    @property
    def reads(self) -> tuple[type[Model], ...]:
        """Models that it is defined for."""
        return self.reduction.reads

    @property
    def needs(self) -> tuple[Need, ...]:
        """The needs of the relaxation."""
        return self.reduction.needs

    @property
    def applicability(self) -> str:
        """Models and needs in words."""
        models = " or ".join("any model" if kind is Model else kind.__name__ for kind in self.reads)
        return ", ".join([models, *(need.description for need in self.needs)])
