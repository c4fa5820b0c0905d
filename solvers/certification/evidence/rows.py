"""The rows of a form for least squares: scaled, those of bounds last, with the way back to multipliers by label."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar, TypeAlias

import numpy as np
import scipy.sparse as sp

from ....models.arrays import FloatArray
from ....models.program.form import StandardForm

__all__ = ["ByLabel", "ScaledRows", "fit", "stacked"]

#: Multipliers of a form's own rows.
ByLabel: TypeAlias = Mapping[str, FloatArray]
_LEAST = 1e-300


@dataclass(frozen=True, eq=False)
class ScaledRows(ABC):
    """The rows of a form, scaled; bounds last.

    Parameters
    ----------
    form : StandardForm
    A, b : ndarray
        What A x + b has to satisfy is the subclass's to say; the form's rows before its bounds, lower ones first.
    scale : ndarray
        What each row was divided by.

    Attributes
    ----------
    decides : bool
        Whether of two alternatives exactly one holds, so that least squares find evidence of either.
    """

    decides: ClassVar[bool] = True

    form: StandardForm
    A: FloatArray
    b: FloatArray
    scale: FloatArray

    @abstractmethod
    def farkas(self) -> tuple[ByLabel | None, FloatArray | None]:
        """Farkas multipliers, or else a point; both None where least squares did not decide."""

    @abstractmethod
    def ray(self) -> FloatArray | None:
        """A direction of descent without end; None where there is none, or least squares did not find it."""

    @abstractmethod
    def bounding(self) -> tuple[ByLabel, FloatArray, FloatArray] | None:
        """Multipliers, ζ and v with q + P v = F'z + ζ: their Lagrangian at v has no slope where there is no bound."""

    @abstractmethod
    def multipliers(self, x: FloatArray) -> tuple[ByLabel, FloatArray] | None:
        """Multipliers and ζ, as nearly as there are some, with ∇f(x) = F'z + ζ and no product with the rows' worth at x."""

    @abstractmethod
    def inner(self, x: FloatArray, seconds: float | None = None) -> ByLabel | None:
        """Multipliers with ∇f(x) = F'z + ζ that lie deep inside their cones, ζ too; None where none are found in time."""

    def objective(self) -> tuple[FloatArray, float, FloatArray, float]:
        """q and P, each divided by its largest entry, and these: one number for each variable, and its rows (none without P)."""
        form = self.form
        P = np.zeros((0, form.n)) if form.quadratic is None else form.quadratic.csc.toarray()
        size = max(float(np.abs(form.q).max(initial=0.0)), _LEAST)
        unit = max(float(np.abs(P).max(initial=0.0)), _LEAST)
        return form.q / size, size, P / unit, unit

    def reduced(self, z: FloatArray) -> FloatArray:
        """ζ of the bounds, whose rows come last."""
        low, high = np.isfinite(self.form.lower), np.isfinite(self.form.upper)
        reduced, first = np.zeros(self.form.n), self.form.rows
        reduced[low] += z[first : first + int(low.sum())]
        reduced[high] -= z[first + int(low.sum()) :]
        return reduced

    def by_label(self, z: FloatArray) -> dict[str, FloatArray]:
        """Multipliers of the form's own rows; those of bounds follow from them."""
        found, start = {}, 0
        for c in self.form.constraints:
            found[c.label] = z[start : start + c.rows]
            start += c.rows
        return found


def fit(form: StandardForm, most: int) -> bool:
    """Return whether the variables are real numbers and the least-squares matrices have that many numbers at most."""
    count = form.rows + int(np.isfinite(form.lower).sum()) + int(np.isfinite(form.upper).sum())
    return not form.integer.any() and (form.n + 1) * (count + 1) <= most and form.n**2 <= most


def stacked(form: StandardForm) -> tuple[FloatArray, FloatArray]:
    """A and b: the form's rows, x ≥ lower and x ≤ upper where these are finite."""
    low, high = np.flatnonzero(np.isfinite(form.lower)), np.flatnonzero(np.isfinite(form.upper))
    F, g = form.rows_matrix()
    unit = sp.eye_array(form.n, format="csr")
    A = np.asarray(sp.vstack([F, unit[low], -unit[high]]).toarray())
    return A, np.concatenate([g, -form.lower[low], form.upper[high]])
