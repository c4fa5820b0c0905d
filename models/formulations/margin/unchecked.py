"""The composition of a named formulation, which has checked its data, and warned of them, already."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Literal

from ...arrays import FloatArray, Points
from .domains import Domain, Reals
from .losses.loss import Loss
from .model import CHECKED, Margin
from .regularisers.regulariser import Regulariser
from .regularisers.squared_norm import SquaredNorm

__all__ = ["unchecked_margin", "without_checks"]


@contextmanager
def without_checks() -> Iterator[None]:
    """Problems stated inside say nothing of their features."""
    token = CHECKED.set(True)
    try:
        yield
    finally:
        CHECKED.reset(token)


def unchecked_margin(
    X: Points,
    y: FloatArray,
    loss: Loss,
    intercept: Literal["penalised", "free"] = "penalised",
    weights: FloatArray | float = 1.0,
    upper_bound: float | None = None,
    regulariser: Regulariser = SquaredNorm(),  # noqa: B008 - frozen
    domain: Domain = Reals(),  # noqa: B008 - frozen
) -> Margin:
    """The composition of a named formulation that has checked, and warned of, its data already; with ||w||² by default."""
    with without_checks():
        return Margin(X, y, loss, regulariser, intercept, weights, domain, upper_bound=upper_bound)
