"""The hard margin as a loss: 0 where a margin is at least 1, infinite elsewhere; and the hard-margin SVM."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar, Literal

import numpy as np

from .....labelled import LABELS_OF_X
from ....arrays import FloatArray, Points
from ....kernels.kernels import Kernel
from ....record import DataKind, FormulationInfo, Parameter, always
from ....statement import Line
from ...linear import dense_signed_rows
from ..assembly import Affine, Assembly
from ..loss import Conjugate, HingeConjugate, Loss
from ..model import Margin
from ..named import NamedComposition
from ..part import Setting
from ..regularisers import SquaredNorm


@dataclass(frozen=True)
class HardMarginConjugate(HingeConjugate):
    """Conjugate of the hard margin: Σα on α ≥ 0, β = -α."""

    def point(self, multipliers: Mapping[str, FloatArray], costs: FloatArray) -> FloatArray:
        """Multipliers of ``margin``, clipped."""
        return -np.maximum(multipliers["margin"], 0.0)

    @property
    def constraints(self) -> tuple[Line, ...]:
        """α ≥ 0."""
        return (Line("alpha_i >= 0", r"\alpha_i \ge 0"),)


@dataclass(frozen=True)
class HardMargin(Loss):
    """0 where m ≥ 1, infinite elsewhere: the rows m ≥ 1. Costs of points mean nothing to it."""

    separable: ClassVar[bool] = False

    def values(self, argument: FloatArray) -> FloatArray:
        """0 or infinity."""
        return np.where(argument >= 1.0, 0.0, np.inf)

    def total(self, costs: FloatArray, argument: FloatArray) -> float:
        """0 where every margin is at least 1, else infinity."""
        return 0.0 if (argument >= 1.0).all() else float("inf")

    def add(self, builder: Assembly, context: Setting) -> Affine | None:
        """Add the rows."""
        builder.require_nonnegative("margin", context.argument - 1.0, range(context.argument.rows))
        return None

    def conjugate(self) -> Conjugate:
        """Σα on α ≥ 0."""
        return HardMarginConjugate()

    def cost_line(self) -> Line:
        """An empty line: rows cost nothing."""
        return Line("", "")

    def lines(self) -> tuple[Line, ...]:
        """State the rows."""
        return (Line("y_i x_i'w >= 1", r"y_i x_i^\top w \ge 1", "margin"),)


@dataclass(frozen=True, eq=False, repr=False)
class HardMarginSVM(NamedComposition):
    """min ½||w||² subject to y_i x_i'w ≥ 1, FW (5): the widest margin, 1/||w||, of a hyperplane without errors, FW (3), (4).

    Dual: max Σα - ½||Σ α_i y_i x_i||² over α ≥ 0, and Σ α_i y_i = 0 with a free intercept.

    Parameters
    ----------
    X, y, kernel
        As `Margin`.
    intercept : {"free", "penalised"}

    Notes
    -----
    Form: block ``w``, constraint ``margin``: y_i x_i'w - 1 ≥ 0. On data that no hyperplane separates the answer is INFEASIBLE,
    with a Farkas proof.

    Raises
    ------
    InputError
        As `Margin`.
    """

    X: Points
    y: FloatArray = LABELS_OF_X
    intercept: Literal["free", "penalised"] = "free"
    kernel: Kernel | None = None

    name = "HardMarginSVM"
    title = "Hard-margin SVM"
    source = (
        "Frandi, Nanculef, Gasparo, Lodi, Sartori: Training support vector machines using "
        "Frank-Wolfe optimization methods, (3)-(5)"
    )
    meanings: ClassVar[Mapping[str, str]] = {"margin": "alpha_i prices the margin of point i; w = sum alpha_i y_i x_i"}

    @cached_property
    def composed(self) -> Margin:
        """`HardMargin` with ½||w||²."""
        return Margin(self.X, self.y, HardMargin(), SquaredNorm(0.5), self.intercept, kernel=self.kernel)

    @property
    def separable_data(self) -> tuple[FloatArray, str] | None:
        """The signed rows: no margin may be violated."""
        return dense_signed_rows(self.composed.points, self.y), "a hard margin asks that no margin be violated"


def _small(rng: np.random.Generator) -> dict[str, Any]:
    y = np.repeat([-1.0, 1.0], 6)
    points = 0.4 * rng.normal(size=(12, 2)).clip(-2.0, 2.0) + 1.5 * y[:, None]
    return {"X": np.column_stack([np.ones(12), points]), "y": y}


def _objective(model: HardMarginSVM, values: Mapping[str, Any]) -> float:
    v = values["w"][model.composed.penalised]
    return float(0.5 * v @ v)


FORMULATIONS = (
    FormulationInfo(
        HardMarginSVM,
        name="hard-margin",
        summary="the widest margin of a hyperplane without errors",
        reference="Frandi, Nanculef, Gasparo, Lodi, Sartori: Training support vector machines using "
        "Frank-Wolfe optimization methods, (3)-(5)",
        data=DataKind.TWO_CLASSES,
        objective=_objective,
        small=_small,
        parameters=(Parameter("intercept", "whether the intercept is part of the norm", str, "free", ("free", "penalised")),),
        intercept=always,
    ),
)
