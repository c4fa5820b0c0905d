"""Domains of the coefficients: reals, box, integers, signs, and an order among them."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import scipy.sparse as sp

from ....errors import InputError
from ...arrays import FloatArray
from ...statement import Line
from .assembly import Affine, Assembly
from .part import Part, as_numbers, as_wholes

__all__ = ["Box", "Domain", "Increasing", "Integers", "Reals", "Signs"]


class Domain(Part):
    """The set of the coefficients w_j (the intercept too, where there is one)."""

    integer: ClassVar[bool] = False
    #: Whether it restricts nothing.
    free: ClassVar[bool] = False

    @abstractmethod
    def bounds(self, p: int) -> tuple[FloatArray, FloatArray]:
        """Lower and upper bounds of p coefficients."""

    def add(self, builder: Assembly, w: Affine) -> None:
        """Further rows; none by default."""
        return


@dataclass(frozen=True)
class Reals(Domain):
    """No restriction."""

    free: ClassVar[bool] = True

    def bounds(self, p: int) -> tuple[FloatArray, FloatArray]:
        """Infinite."""
        return np.full(p, -np.inf), np.full(p, np.inf)

    def lines(self) -> tuple[Line, ...]:
        """No constraints."""
        return ()


@dataclass(frozen=True)
class Box(Domain):
    """lower ≤ w ≤ upper, numbers or one for each coefficient.

    Raises
    ------
    InputError
        A lower bound above its upper bound, or NaN; lengths that do not fit (when the problem is stated).
    """

    lower: float | tuple[float, ...] = -1.0
    upper: float | tuple[float, ...] = 1.0

    def __post_init__(self) -> None:
        for name in ("lower", "upper"):
            side = as_numbers(getattr(self, name), name)
            if side.ndim > 1:
                raise InputError(f"{name} must be a number or one for each coefficient; its shape is {side.shape}")
            object.__setattr__(self, name, tuple(map(float, side)) if side.ndim else float(side))
        low, high = np.asarray(self.lower), np.asarray(self.upper)
        if not (low.ndim and high.ndim and low.shape != high.shape) and not (low <= high).all():
            raise InputError(f"a lower bound must not be above its upper bound: lower {self.lower}, upper {self.upper}")

    def bounds(self, p: int) -> tuple[FloatArray, FloatArray]:
        """The bounds, broadcast."""
        sides = []
        for name in ("lower", "upper"):
            side = np.asarray(getattr(self, name), dtype=np.float64)
            if side.ndim and side.shape != (p,):
                raise InputError(f"{name} must be a number or one for each of the {p} coefficients; it has {side.size}")
            sides.append(np.array(np.broadcast_to(side, p)))
        return sides[0], sides[1]

    def lines(self) -> tuple[Line, ...]:
        """The bounds."""
        low, high = (f"{v:g}" if isinstance(v, float) else name for v, name in ((self.lower, "l"), (self.upper, "u")))
        plain = f"w >= {low}" if high == "inf" else f"w <= {high}" if low == "-inf" else f"{low} <= w <= {high}"
        below, above = ("" if side in ("inf", "-inf") else side for side in (low, high))
        typeset = rf"{below} \le w \le {above}" if below and above else rf"w \ge {below}" if below else rf"w \le {above}"
        return (Line(plain, typeset),) if below or above else ()


@dataclass(frozen=True)
class Integers(Box):
    """Integers with lower ≤ w ≤ upper, as in scoring systems."""

    lower: float | tuple[float, ...] = -10.0
    upper: float | tuple[float, ...] = 10.0

    integer: ClassVar[bool] = True
    convex: ClassVar[bool] = False

    def lines(self) -> tuple[Line, ...]:
        """Bounds and integrality."""
        return (*super().lines(), Line("w integer", r"w\in\mathbb{Z}^p"))


@dataclass(frozen=True)
class Signs(Domain):
    """Monotone in single features: w_j ≥ 0 where signs_j = 1, ≤ 0 where it is -1, free where it is 0.

    Raises
    ------
    InputError
        Signs other than -1, 0, 1; a number of signs that does not fit (when the problem is stated).
    """

    signs: tuple[int, ...]

    def __post_init__(self) -> None:
        object.__setattr__(self, "signs", as_wholes(self.signs, "signs"))
        if not set(self.signs) <= {-1, 0, 1}:
            raise InputError(f"signs must be -1, 0 or 1; they are {self.signs}")

    def bounds(self, p: int) -> tuple[FloatArray, FloatArray]:
        """Zero on one side."""
        if len(self.signs) != p:
            raise InputError(f"signs must name one sign for each of the {p} coefficients; it has {len(self.signs)}")
        signs = np.array(self.signs)
        return np.where(signs > 0, 0.0, -np.inf), np.where(signs < 0, 0.0, np.inf)

    def lines(self) -> tuple[Line, ...]:
        """The signs."""
        return (Line("s_j w_j >= 0", r"s_j w_j \ge 0"),)


@dataclass(frozen=True)
class Increasing(Domain):
    """w_j ≤ w_k for consecutive j, k of ``order``: coefficients of ordered levels that increase.

    Raises
    ------
    InputError
        Indices that are not coefficients (when the problem is compiled).
    """

    order: tuple[int, ...]

    def __post_init__(self) -> None:
        object.__setattr__(self, "order", as_wholes(self.order, "order"))
        if not self.order:
            raise InputError("order must name coefficients, from the least to the largest; it names none")

    def bounds(self, p: int) -> tuple[FloatArray, FloatArray]:
        """Infinite."""
        if not all(0 <= j < p for j in self.order):
            raise InputError(f"order must hold indices of the {p} coefficients; it is {self.order}")
        return np.full(p, -np.inf), np.full(p, np.inf)

    def add(self, builder: Assembly, w: Affine) -> None:
        """w_k - w_j ≥ 0."""
        steps = len(self.order) - 1
        rows = np.arange(steps)
        data = (np.concatenate([-np.ones(steps), np.ones(steps)]), (np.tile(rows, 2), [*self.order[:-1], *self.order[1:]]))
        builder.require_nonnegative("increasing", w.under(sp.csr_array(data, shape=(steps, w.rows))))

    def lines(self) -> tuple[Line, ...]:
        """The order."""
        return (Line("w_j <= w_k for j before k", r"w_j \le w_k \text{ for } j \text{ before } k", "increasing"),)
