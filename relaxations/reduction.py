"""Reductions: what maps a 0-1-loss model to a problem that bounds it, and knows the way back."""

from __future__ import annotations

import enum
import warnings
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np

from ..errors import InputError, MarginoptWarning, UnsupportedModelError
from ..models.arrays import FloatArray
from ..models.formulations.zero_one.model import ZeroOneSVM
from ..models.model import Model
from ..models.program.form import StandardForm

__all__ = ["Direction", "LiftedDual", "Reduction", "best_multiple", "without_warnings"]


class Direction(enum.Enum):
    """How the optimum of the target relates to that of the original (both minimise)."""

    EQUIVALENT = "equivalent: the optima are equal"
    OUTER = "outer: a relaxation, its optimum is at most the original's"
    INNER = "inner: a restriction, its optimum is at least the original's"


@dataclass(frozen=True, eq=False)
class LiftedDual:
    """What multipliers of the target prove about the *original* problem.

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
class Reduction(ABC):
    """A map from a `ZeroOneSVM` to another problem, with the ways back for points and multipliers.

    Frozen, so that it can stand in a stored report by its ``name``.
    """

    direction: ClassVar[Direction] = Direction.OUTER

    @property
    @abstractmethod
    def name(self) -> str:
        """Short name for tables, with the parameters that matter."""

    @abstractmethod
    def apply(self, model: ZeroOneSVM) -> Model | StandardForm:
        """The target: a model or a form with a sound bound of its own.

        Raises
        ------
        InputError, UnsupportedModelError
            The model lacks what the reduction needs (an incumbent, equal weights, a penalised intercept).
        """

    @abstractmethod
    def lift_dual(self, model: ZeroOneSVM, multipliers: Mapping[str, FloatArray]) -> LiftedDual:
        """A proved bound of the original's optimum from multipliers of the target, of any quality."""

    def recover(self, model: ZeroOneSVM, values: Mapping[str, FloatArray]) -> dict[str, FloatArray]:
        """A feasible point of the original from a point of the target: the best multiple of its ``w``.

        Raises
        ------
        InputError
            No multiple of w satisfies the big-M rows (only where M is given and below 1, or w is far off).
        """
        return model.point(best_multiple(model, np.asarray(values["w"], dtype=np.float64)))

    def caveat(self, model: ZeroOneSVM) -> str:
        """Why the target's optimum need not bound the 0-1 optimum from below; empty where it does."""
        return ""

    def m_source(self, model: ZeroOneSVM) -> str:
        """Where the target's big-M constants come from; empty where it has none."""
        return ""

    def constants(self, model: ZeroOneSVM) -> FloatArray | None:
        """The big-M constants in the target; None where there are none."""
        return None


def best_multiple(model: ZeroOneSVM, w: FloatArray) -> FloatArray:
    """t·w with the least 0-1 objective t²||w||² + Σ λ_i 1{t u_i < 1} over all t ≥ 0 that the big-M rows allow.

    The loss falls only where t passes some 1/u_i, so these t, the smallest t allowed among them, are all there is to try.
    The rows allow an interval: u_i < 0 asks t ≤ (M_i - 1)/|u_i|, u_i > 0 asks t ≥ (1 - M_i)/u_i (points that t·w keeps
    satisfy it anyway).

    Raises
    ------
    InputError
        w has the wrong shape or is not finite; or the interval is empty.
    """
    p = model.X.shape[1]
    if w.shape != (p,) or not np.isfinite(w).all():
        raise InputError(f"w must hold {p} finite numbers; it has shape {w.shape}")
    u = model.y * np.asarray(model.X @ w)
    M = model.big_m
    low, high = _allowed(u, M)
    positive = np.flatnonzero(u > 0.0)
    order = positive[np.argsort(-u[positive], kind="stable")]  # the order in which points are met as t grows
    met = np.concatenate([[0.0], np.cumsum(model.weights[order])])
    with np.errstate(over="ignore"):
        steps = (1.0 / u[order]) * (1.0 + 4e-16)  # rounded up: a margin that is meant to be 1 is not below it
    candidates = np.concatenate([[low], steps])
    candidates = candidates[(candidates >= low) & (candidates <= high) & np.isfinite(candidates)]
    norm = float(w[model.penalised] @ w[model.penalised])
    reached = np.searchsorted(steps, candidates, side="right")
    values = candidates**2 * norm + (float(model.weights.sum()) - met[reached])
    return np.asarray(candidates[int(np.argmin(values))] * w)


def _allowed(u: FloatArray, M: FloatArray) -> tuple[float, float]:
    """Smallest and largest multiple of w that the big-M rows allow."""
    wrong, right, level = u < 0.0, u > 0.0, u == 0.0
    high = float(np.min((M[wrong] - 1.0) / -u[wrong], initial=np.inf))
    low = float(np.max((1.0 - M[right]) / u[right], initial=0.0))
    if low > high or (M[level] < 1.0).any():
        raise InputError(
            "no multiple of this w satisfies y_i x_i'w >= 1 - M_i z_i: the big-M constants given are too small for it "
            f"(the smallest is {M.min():.4g}); leave M out to have valid ones computed"
        )
    return low, high


@contextmanager
def without_warnings() -> Iterator[None]:
    """Suppress `MarginoptWarning` while a model is restated: the original has given its warnings already."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", MarginoptWarning)
        yield


def restated(model: ZeroOneSVM, **changes: Any) -> ZeroOneSVM:
    """The same model with some fields replaced."""
    with without_warnings():
        return replace(model, **changes)


def need_penalised(model: ZeroOneSVM, what: str) -> None:
    """Raise where the intercept is free."""
    if model.intercept != "penalised":
        raise UnsupportedModelError(
            f"{what} needs intercept='penalised': its convexification offsets the loss by the whole of ||w||^2. "
            "BigM() relaxes models with a free intercept"
        )
