"""Restrictions that count: coefficients that are not zero, and errors of a class or group."""

from __future__ import annotations

import numbers
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from .....errors import InputError
from .....labelled import DataNames
from .....rows import Rows
from ....arrays import BoolArray, FloatArray, IntArray, Points, as_share
from ....margin_view import Budget
from ....program.cones import Nonnegative
from ....statement import Line
from ...linear import first_column_is_one
from ..assembly import Affine, Assembly
from ..part import Classifier, Setting
from ..regularisers.l0 import add_support
from ..values import as_whole
from .restriction import Restriction, members

__all__ = ["ErrorBudget", "Nonzero", "ViolationBudget"]


@dataclass(frozen=True)
class Nonzero(Restriction):
    """At most k penalised coefficients are not zero: |w_j| ≤ u_j s_j with s in {0, 1}, Σ s_j ≤ k.

    Raises
    ------
    InputError
        k < 0; coefficients without a bound (when the problem is compiled).
    """

    k: int

    name = "nonzero"
    convex: ClassVar[bool] = False

    def __post_init__(self) -> None:
        object.__setattr__(self, "k", as_whole(self.k, "the number of non-zero coefficients"))

    def add(self, builder: Assembly, context: Setting, errors: Affine | None, name: str) -> None:
        """s, its rows and their sum."""
        chosen = np.flatnonzero(context.penalised)
        s = add_support(builder, context.w.at(chosen), context.span[chosen], name)
        builder.require(f"{name} count", -s.under(np.ones((1, chosen.size))) + float(self.k), Nonnegative(1))

    @property
    def most(self) -> int:
        """k."""
        return self.k

    def blocks(self, classifier: Classifier, name: str) -> dict[str, FloatArray]:
        """s."""
        return {name: (classifier.w[classifier.penalised] != 0.0).astype(np.float64)}

    def violation(self, X: FloatArray, y: FloatArray, w: FloatArray) -> float:
        """Coefficients above 1e-7 in size beyond k, the first one not counted where X begins with ones (it may be free)."""
        return self.excess(X, y, w, np.arange(w.size) > 0 if first_column_is_one(X) else np.ones(w.size, dtype=bool))

    def excess(self, X: FloatArray, y: FloatArray, w: FloatArray, penalised: BoolArray) -> float:
        """Penalised coefficients above 1e-7 in size beyond k."""
        return float(max(int((np.abs(w)[penalised] > 1e-7).sum()) - self.k, 0))

    def lines(self) -> tuple[Line, ...]:
        """The count."""
        return (Line(f"|{{j : w_j != 0}}| <= {self.k}", rf"\|w\|_0 \le {self.k}", "nonzero count"),)


@dataclass(frozen=True, eq=False)
class ErrorBudget(Restriction):
    """At most a share of the named points may have a margin below 1: Neyman-Pearson for a class, equal opportunity for a group.

    The own variables of the 0-1 loss at margin 1 count them; with other losses e in {0, 1}, and e_i = 0 requires y_i x_i'w ≥ 1.

    Parameters
    ----------
    points : {-1, +1}, str or array_like
        A class by its code or name, or points by indices or mask.
    share : float
        In [0, 1].

    Raises
    ------
    InputError
        A share outside [0, 1].
    """

    points: Any
    share: float

    name = "budget"
    convex: ClassVar[bool] = False
    of_margins: ClassVar[bool] = True

    def __post_init__(self) -> None:
        object.__setattr__(self, "share", as_share(self.share, "share", zero=True))

    def located(self, names: DataNames, X: Points | Rows, y: FloatArray) -> Restriction:
        """Return the restriction with the code of a class in place of its name."""
        return ErrorBudget(int(names.code(self.points)), self.share) if isinstance(self.points, str) else self

    def check(self, p: int, y: FloatArray) -> None:
        """Check the points."""
        self._chosen(y)

    def _chosen(self, y: FloatArray) -> IntArray:
        if np.ndim(self.points) == 0:
            if not isinstance(self.points, numbers.Real) or self.points not in (-1, 1):
                raise InputError(f"a class is -1 or +1; it is {self.points!r}")
            return np.flatnonzero(y == self.points)
        return members(self.points, y.size, "points of an error budget")

    def allowed(self, y: FloatArray) -> int:
        """Return the number of errors that are allowed."""
        return int(np.floor(self.share * self._chosen(y).size + 1e-9))

    def add(self, builder: Assembly, context: Setting, errors: Affine | None, name: str) -> None:
        """The sum, and e where the loss has no such variables."""
        chosen = self._chosen(context.y)
        if errors is None:
            counted = builder.binaries(f"{name} e", chosen.size)
            big_m = context.big_m(1.0)
            builder.switch(name, counted, context.argument.at(chosen) - 1.0, None if big_m is None else big_m[chosen])
        else:
            counted = errors.at(chosen)
        builder.require(
            f"{name} count", -counted.under(np.ones((1, chosen.size))) + float(self.allowed(context.y)), Nonnegative(1)
        )

    def budget(self, y: FloatArray) -> Budget:
        """The points, and how many errors."""
        return Budget(self._chosen(y), self.allowed(y))

    def blocks(self, classifier: Classifier, name: str) -> dict[str, FloatArray]:
        """e, which the form has where the loss does not count such errors."""
        chosen = self._chosen(classifier.y)
        return {f"{name} e": (classifier.argument < 1.0 - classifier.near)[chosen].astype(np.float64)}

    def violation(self, X: FloatArray, y: FloatArray, w: FloatArray) -> float:
        """Errors beyond what is allowed, margins within 1e-6 of 1 counted as kept."""
        wrong = (y * np.asarray(X @ w))[self._chosen(y)] < 1.0 - 1e-6
        return float(max(int(wrong.sum()) - self.allowed(y), 0))

    def lines(self) -> tuple[Line, ...]:
        """The count."""
        one = np.ndim(self.points) == 0 and self.points in (-1, 1)
        who = f"class {int(self.points):+d}" if one else "the group"
        share = f"{self.share:g}"
        return (Line(f"errors of {who} <= {share} of it", rf"\text{{errors of {who}}} \le {share}", "budget count"),)


@dataclass(frozen=True)
class ViolationBudget(Restriction):
    """Σ_i z_i ≤ κn in the loss's own measure z of violated margins: the κ form of Conic, Appendix C.

    z counts for `ZeroOne`, and is the relaxed count for `StrongestConic`, whose budget is not rounded down.

    Raises
    ------
    InputError
        κ outside [0, 1]; a loss without such variables (when the problem is compiled).
    """

    kappa: float

    name = "budget"
    of_margins: ClassVar[bool] = True
    by_loss: ClassVar[bool] = True

    def __post_init__(self) -> None:
        object.__setattr__(self, "kappa", as_share(self.kappa, "kappa", zero=True))

    def add(self, builder: Assembly, context: Setting, errors: Affine | None, name: str) -> None:
        """The sum."""
        if errors is None:
            raise InputError("a budget of violations is for losses that measure them: ZeroOne at margin 1, StrongestConic")
        builder.require(name, -errors.under(np.ones((1, errors.rows))) + self.kappa * errors.rows, Nonnegative(1))

    def budget(self, y: FloatArray) -> Budget:
        """⌊κn⌋ of all points, where the loss counts."""
        return Budget(np.arange(y.size), int(np.floor(self.kappa * y.size + 1e-9)))

    def violation(self, X: FloatArray, y: FloatArray, w: FloatArray) -> float:
        """Margins below 1 beyond κn: what a relaxed count does not exceed."""
        wrong = (y * np.asarray(X @ w)) < 1.0 - 1e-6
        return float(max(wrong.sum() - self.kappa * y.size - 1e-9, 0.0))

    def lines(self) -> tuple[Line, ...]:
        """The sum."""
        return (Line(f"sum_i z_i <= {self.kappa:g} n", rf"\textstyle\sum_i z_i \le {self.kappa:g}\, n", "budget"),)
