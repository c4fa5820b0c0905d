"""`Reduction`, the base class of relaxations: a map from a model, the *original*, to a problem that bounds it, the *target*.

It also maps back: a point of the target to a feasible point of the original, and multipliers to a proved bound. `Relaxation` is
the record of a reduction in the registry; `relax` applies, solves and maps back.
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

from ..errors import InputError, MarginoptWarning, UnsupportedModelError, checked_return
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
        The dual point that proves it, by labels of rows: those of the target, or those that the reduction made feasible, such as
        ``margin`` (rows of the big-M form), or ``hull`` (γ in Γ) and ``split`` or ``slope`` (subgradients of the losses).
    argument : str
        Why the bound holds, in one sentence.
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
        Why it is needed, in words that follow ``description`` and a colon.
    is_met : callable
        Function of a model that returns whether it has the property.
    """

    description: str
    reason: str
    is_met: Callable[[ZeroOneSVM], bool]


#: Needs of the reductions: a λ form, a penalised intercept, equal costs, a leading column of ones.
COST_FORM = Need(
    "a cost λ", "the κ form has a budget of violations and no λ; ConicSVM(X, y, kappa=...) relaxes it", lambda m: m.kappa is None
)
PENALISED = Need(
    "intercept='penalised'", "its convexification offsets the loss by the whole of ||w||²", lambda m: m.intercept == "penalised"
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
    """A map from a `ZeroOneSVM`, or another model of ``reads``, to a target, with the ways back for points and multipliers.

    Frozen: stored reports identify a reduction by its ``name``.
    """

    #: Relation between the optimum of the target and that of the original.
    direction: ClassVar[Direction] = Direction.OUTER
    #: Classes of models that it is defined for.
    reads: ClassVar[tuple[type[Model], ...]] = (ZeroOneSVM,)
    #: Whether the plot of bounds against M in a gap report has a point for this relaxation, at its largest M.
    against_m: ClassVar[bool] = False
    #: Whether that plot has a horizontal line for this relaxation, whose bound needs no M.
    beside_m: ClassVar[bool] = False

    def __post_init__(self) -> None:
        plain_fields(self)

    @property
    @abstractmethod
    def name(self) -> str:
        """Return a short name for tables, which differs for reductions of one class with other parameters."""

    @property
    def is_base(self) -> bool:
        """Return whether its bound is the base from which a gap report measures the gap closed."""
        return False

    @property
    def needs(self) -> tuple[Need, ...]:
        """Return the properties that a model must have beyond its class."""
        return (COST_FORM,)

    def obstacle(self, model: Model) -> str:
        """Return the reason why the reduction does not read a model; empty if it does."""
        if not isinstance(model, self.reads):
            kinds = " or ".join(kind.__name__ for kind in self.reads)
            return f"it relaxes a {kinds}, and its optimum bounds nothing of a {type(model).__name__}"
        assert isinstance(model, ZeroOneSVM)
        return next((f"it needs {need.description}: {need.reason}" for need in self.needs if not need.is_met(model)), "")

    def check(self, model: Model) -> None:
        """Raise an error for a model that the reduction does not read; `apply` calls this first.

        Raises
        ------
        UnsupportedModelError
        """
        obstacle = self.obstacle(model)
        if obstacle:
            raise UnsupportedModelError(f"{self.name} does not read this {type(model).__name__}: {obstacle}", name=self.name)

    def with_incumbent(self, model: Any, w: FloatArray) -> Any:
        """Return the model with a classifier w as the incumbent that the reduction needs; by default the model itself."""
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
        """Return the lower bound of the original that multipliers, however rough, prove if the target's optimum bounds it.

        `lift_dual` withholds the bound if the target's optimum need not (`no_bound_reason`).
        """

    def lift_dual(self, model: ZeroOneSVM, multipliers: Mapping[str, FloatArray], target: T | None = None) -> LiftedDual:
        """Return the lower bound of the original that multipliers of the target prove; -inf if there is a `no_bound_reason`.

        Without ``target`` it is built again.
        """
        dual = self.lift(model, self.apply(model) if target is None else target, multipliers)
        checked_return(dual, LiftedDual, "lift", self.name)
        reason = self.no_bound_reason(model)
        return replace(dual, value=float("-inf"), argument=f"no bound of the original: {reason}") if reason else dual

    def offset(self, model: ZeroOneSVM, target: T) -> Rounded:
        """Return the constant to add to the target's optimum for a bound of the original, if the target cannot hold it itself."""
        return Rounded(0.0)

    def recover(self, model: ZeroOneSVM, values: Mapping[str, FloatArray]) -> dict[str, FloatArray] | None:
        """Return a feasible point of the original from one of the target, here the best multiple of its w; None without one.

        Raises
        ------
        InputError
            No multiple of w satisfies the big-M rows (only if some M_i is below 1).
        """
        return model.point(best_multiple(model, np.asarray(values["w"], dtype=np.float64)))

    def value(self, model: Any, values: Mapping[str, FloatArray]) -> float:
        """Return the original's objective at a feasible point of it."""
        return float(model.objective(values["w"]))

    def caveat(self, model: ZeroOneSVM) -> str:
        """Return the reason why the target's optimum may exceed the original's, such as a small M; empty if it cannot."""
        return ""

    def no_bound_reason(self, model: ZeroOneSVM) -> str:
        """Return the reason why no lower bound of the original follows: the caveat, or an inner target; empty if one follows."""
        return self.caveat(model) or ("it restricts the problem" if self.direction is Direction.INNER else "")

    def m_source(self, model: ZeroOneSVM) -> str:
        """Return the source of the target's big-M constants in words; empty if it has none."""
        return ""

    def big_m_constants(self, model: ZeroOneSVM) -> FloatArray | None:
        """Return the big-M constants in the target; None if it has none."""
        return None


def best_multiple(model: ZeroOneSVM, w: FloatArray) -> FloatArray:
    """Return t·w with the least 0-1 objective t²||w||² + Σ λ_i 1{t u_i < 1} over all t ≥ 0 that the big-M rows allow.

    u_i = y_i x_i'w, and ||w|| counts the penalised coefficients alone. The loss falls only where t passes some 1/u_i, so only
    these t and the smallest allowed t are tried. The rows u_i ≥ 1 - M_i z_i allow an interval of t: u_i < 0 requires
    t ≤ (M_i - 1)/|u_i|, and u_i > 0 requires t ≥ (1 - M_i)/u_i.

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
    """Return the smallest and the largest t for which t·w satisfies the big-M rows."""
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
    """Suppress `MarginoptWarning` in a block that makes a model from another, which has given the same warnings already."""
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
        Name for `relax`, reports and the command line: small letters and hyphens.
    summary : str
        The problem that is solved in place of the original, in one sentence.
    reduction : Reduction
        The reduction, with the parameters that the name stands for.
    reference : str
        Publication.
    rank : int
        Sort key of lists; weaker bounds have smaller ones.
    default : bool
        Whether it is in a gap report that names no relaxations.
    """

    name: str
    summary: str
    reduction: Reduction[Any]
    reference: str
    rank: int = 1000
    default: bool = False

    @property
    def direction(self) -> Direction:
        """Return the relation between the optimum of the target and that of the original."""
        return self.reduction.direction

    @property
    def reads(self) -> tuple[type[Model], ...]:
        """Return the classes of models that the reduction is defined for."""
        return self.reduction.reads

    @property
    def needs(self) -> tuple[Need, ...]:
        """Return the properties that a model must have beyond its class."""
        return self.reduction.needs

    @property
    def applicability(self) -> str:
        """Return the classes of models and the needs, in words."""
        models = " or ".join("any model" if kind is Model else kind.__name__ for kind in self.reads)
        return ", ".join([models, *(need.description for need in self.needs)])
