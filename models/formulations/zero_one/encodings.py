"""Encodings of z_i = 0 ⇒ u_i ≥ 1: rows with M_i, indicator constraints, or strengthened cones. All have the same optimum."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar, Literal, Protocol

import numpy as np
import scipy.sparse as sp

from ....errors import InputError
from ...arrays import BoolArray, FloatArray, Points
from ...program.cones import Nonnegative
from ...program.form import Block, Constraint, Quadratic, StandardForm
from ...statement import Line
from ..margin.losses.zero_one import ZeroOne
from ..margin.unchecked import unchecked_margin
from .big_m import BigMConstants
from .cost import Cost
from .strengthened import as_gamma, indicator_form, split_values, strengthened_form, strengthened_lines

__all__ = ["BigMRows", "Indicators", "MarginEncoding", "Program", "Strengthened", "checked_gamma"]

_BINARY = Line("z_i in {0, 1}", r"z_i \in \{0,1\}")


class Program(Protocol):
    """The parts of `ZeroOneSVM` that an encoding reads."""

    name: ClassVar[str]

    @property
    def X(self) -> Points:
        """Points (n, p)."""

    @property
    def y(self) -> FloatArray:
        """Labels (n,)."""

    @property
    def signed(self) -> FloatArray:
        """Rows y_i x_i, dense (n, p)."""

    @property
    def penalised(self) -> BoolArray:
        """The mask of the weights in the norm (p,)."""

    @property
    def cost(self) -> Cost:
        """The cost of violations."""

    @property
    def reach(self) -> BigMConstants:
        """The distance of w from a known point, and the M_i that follow."""


class MarginEncoding(ABC):
    """One way to say that z_i = 0 keeps the margin of point i."""

    title: ClassVar[str]
    problem_class: ClassVar[str]
    source: ClassVar[str]

    @property
    @abstractmethod
    def has_rows(self) -> bool:
        """Return whether there are rows with M_i."""

    @property
    @abstractmethod
    def has_margins(self) -> bool:
        """Return whether the constraint ``margin`` holds a row of every point."""

    @abstractmethod
    def form(self, program: Program) -> StandardForm:
        """Minimise with z binary, without the row that limits z."""

    @abstractmethod
    def point(self, program: Program, w: FloatArray, z: FloatArray) -> dict[str, FloatArray]:
        """All blocks of the form from w and binary z."""

    @abstractmethod
    def objective(self, plain: Line) -> Line:
        """The objective in words, where ||w||² and the cost are ``plain``."""

    @abstractmethod
    def lines(self) -> tuple[Line, ...]:
        """The constraints in words."""

    @abstractmethod
    def notes(self, program: Program) -> tuple[str, ...]:
        """Why it is exact."""

    def with_integers(self, program: Program, z: FloatArray) -> StandardForm | None:
        """A simpler problem that is left when z is fixed; None where it is the form with fixed bounds."""
        return None

    def bytes(self, n: int, p: int) -> int:
        """Bytes of the form beyond those of the rows."""
        return 0


@dataclass(frozen=True)
class BigMRows(MarginEncoding):
    """u_i + M_i z_i - 1 ≥ 0, Conic (3)."""

    title = "big-M"
    problem_class = "mixed-integer convex QP"
    source = "(3)"
    has_rows = True
    has_margins = True

    def form(self, program: Program) -> StandardForm:
        """Blocks ``w``, ``z``; constraint ``margin``."""
        return big_m_form(program, program.reach.big_m)

    def point(self, program: Program, w: FloatArray, z: FloatArray) -> dict[str, FloatArray]:
        """Both blocks."""
        return {"w": w, "z": z}

    def objective(self, plain: Line) -> Line:
        """Return the objective of the model."""
        return plain

    def lines(self) -> tuple[Line, ...]:
        """Rows and binaries."""
        return (Line("y_i x_i'w >= 1 - M_i z_i", r"y_i x_i^\top w \ge 1 - M_i z_i,\quad i=1,\dots,n", "margin"), _BINARY)

    def notes(self, program: Program) -> tuple[str, ...]:
        """Why M is valid."""
        return (program.reach.argument,)


@dataclass(frozen=True)
class Indicators(MarginEncoding):
    """z_i = 0 ⇒ u_i ≥ 1 as the solver's own constraint, Conic (5a)-(5b), with |w_j| ≤ √UB (SCIP may not end on unbounded w)."""

    title = "indicators"
    problem_class = "mixed-integer convex QP"
    source = "(5a)-(5b)"
    has_rows = False
    has_margins = True

    def form(self, program: Program) -> StandardForm:
        """Blocks ``w``, ``z``; constraint ``margin`` of indicators, which replace the rows, so that any M builds these."""
        base = big_m_form(program, np.ones(program.y.size))
        return indicator_form(base, program.X, program.y, float(np.sqrt(program.reach.known)))

    def point(self, program: Program, w: FloatArray, z: FloatArray) -> dict[str, FloatArray]:
        """Both blocks."""
        return {"w": w, "z": z}

    def objective(self, plain: Line) -> Line:
        """Return the objective of the model."""
        return plain

    def lines(self) -> tuple[Line, ...]:
        """Implications and binaries."""
        switch = Line("z_i = 0  =>  y_i x_i'w >= 1", r"z_i = 0 \Rightarrow y_i x_i^\top w \ge 1,\quad i=1,\dots,n", "margin")
        return (switch, _BINARY)

    def notes(self, program: Program) -> tuple[str, ...]:
        """Why w is bounded."""
        return (f"|w_j| <= sqrt(UB), UB = {program.reach.known:.6g}: any w beyond it is worse than a known point",)


@dataclass(frozen=True, eq=False)
class Strengthened(MarginEncoding):
    """The mixed-integer second-order cone program of γ in Γ (`strengthened`); every point keeps its row, or its cones."""

    gamma: FloatArray
    rows: Literal["bigm", "cone"]

    title = "strengthened"
    problem_class = "mixed-integer second-order cone program"
    source = "(13) at a fixed gamma, z binary"

    @property
    def has_rows(self) -> bool:
        """True if every point keeps rows."""
        return self.rows == "bigm"

    @property
    def has_margins(self) -> bool:
        """The same."""
        return self.rows == "bigm"

    def form(self, program: Program) -> StandardForm:
        """`strengthened_form`."""
        big_m = program.reach.big_m if self.has_rows else None
        name = f"{program.name}, strengthened"
        return strengthened_form(name, program.signed, program.cost.prices, self.gamma, big_m, integer=True)

    def point(self, program: Program, w: FloatArray, z: FloatArray) -> dict[str, FloatArray]:
        """Return the point with the parts of 1 - u and their squares."""
        return split_values(program.signed, self.gamma, self.rows, w, z)

    def with_integers(self, program: Program, z: FloatArray) -> StandardForm:
        """min ||w||² with u_i ≥ 1 where z_i = 0: what the cones come to."""
        p = program.X.shape[1]
        points = np.flatnonzero(z < 0.5).tolist()
        n, kept_rows = len(points), sp.csr_array(program.signed[points])
        rows = (Constraint("margin", kept_rows, -np.ones(n), Nonnegative(n), points=tuple(points)),) if n else ()
        return StandardForm(
            name=f"{program.name}, z fixed",
            blocks=(Block("w", (p,)),),
            q=np.zeros(p),
            constraints=rows,
            lower=np.full(p, -np.inf),
            upper=np.full(p, np.inf),
            integer=np.zeros(p, dtype=bool),
            quadratic=Quadratic(matrix=sp.csc_array(2.0 * sp.eye_array(p))),
        )

    @property
    def _positive(self) -> int:
        return int((self.gamma > 0).sum())

    def objective(self, plain: Line) -> Line:
        """State the objective with S = I - Σ γ_i x_i x_i' and the terms that make up for it."""
        return strengthened_lines(self._positive, self.rows)[0]

    def lines(self) -> tuple[Line, ...]:
        """Rows, cones and binaries."""
        return strengthened_lines(self._positive, self.rows)[1]

    def notes(self, program: Program) -> tuple[str, ...]:
        """Return notes on kept points, on the validity of M, and on λ in the κ form."""
        note = (
            f"g = gamma in Gamma, {self._positive} of {self.gamma.size} positive; every point keeps its "
            f"{'row with M_i' if self.has_rows else 'cones'}, whatever its gamma_i"
        )
        argument = (program.reach.argument,) if self.has_rows else ()
        free = ("lam = 0 in the objective: the budget stands for it",) if program.cost.lines else ()
        return (note, *argument, *free)

    def bytes(self, n: int, p: int) -> int:
        """S and the cones."""
        return 12 * n * p + 12 * p * p + 400 * n


def big_m_form(program: Program, big_m: FloatArray) -> StandardForm:
    """||w||² + cost with the rows u + Mz - 1 ≥ 0."""
    free = np.full(program.X.shape[1], np.inf)
    lower, upper = -free, free
    if not program.penalised[0]:
        lower[0], upper[0] = -program.reach.intercept_bound, program.reach.intercept_bound
    intercept: Literal["penalised", "free"] = "penalised" if program.penalised[0] else "free"
    composed = unchecked_margin(program.X, program.y, ZeroOne(), intercept, program.cost.prices)
    return composed.form_with(program.name, lower, upper, big_m)


def checked_gamma(encoding: str, rows: str, gamma: object, free: bool, signed: Callable[[], FloatArray]) -> FloatArray | None:
    """γ of the strengthened encoding, in Γ of the signed rows; None in the others.

    Raises
    ------
    InputError
        No such encoding or rows; γ without its encoding, that without γ, or with a free intercept; γ outside Γ.
    """
    if encoding not in ("bigm", "indicator", "strengthened"):
        raise InputError(f"encoding must be 'bigm', 'indicator' or 'strengthened'; it is {encoding!r}")
    if rows not in ("bigm", "cone"):
        raise InputError(f"rows must be 'bigm' or 'cone'; it is {rows!r}")
    if (gamma is None) == (encoding == "strengthened"):
        raise InputError(
            "encoding='strengthened' and gamma go together: relaxations.strengthen(model) returns the model with both"
        )
    if gamma is None:
        return None
    if free:
        raise InputError("encoding='strengthened' needs intercept='penalised': a free intercept allows no gamma_i > 0")
    return as_gamma(gamma, signed())
