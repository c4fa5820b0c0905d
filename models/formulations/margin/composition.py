"""What a composition of parts is before anything is asked of it: its fields, its rows, and what algorithms of their own read."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Literal, TypeVar

import numpy as np

from ....errors import InputError
from ....rows import Rows
from ...appraisal import Appraisal
from ...arrays import BoolArray, FloatArray, Points, as_vector, in_blocks
from ...kernels.kernels import Kernel
from ...linear_view import LinearProblem
from ...model import Bound, Model
from ..linear import dense_signed_rows
from .domains import Domain, Reals
from .features import Features, Images, Plain
from .losses.hinge import Hinge
from .losses.loss import Loss
from .part import Polyhedral
from .regularisers.regulariser import Regulariser
from .regularisers.squared_norm import SquaredNorm
from .restrictions.restriction import Restriction
from .scoring_problem import ScoringProblem, composed_problem, whole_blocks

__all__ = ["Composition"]

V = TypeVar("V")


@dataclass(frozen=True, eq=False, repr=False)
class Composition(Model):
    """The fields of a `Margin`, its rows in memory or in blocks, and its structural views."""

    X: Points | Rows
    y: FloatArray
    loss: Loss = Hinge()  # noqa: RUF009 - frozen
    regulariser: Regulariser = SquaredNorm()  # noqa: RUF009 - frozen
    intercept: Literal["penalised", "free"] = "penalised"
    weights: float | FloatArray = 1.0
    domain: Domain = Reals()  # noqa: RUF009 - frozen
    subject_to: Sequence[Restriction] = ()
    upper_bound: float | None = None
    kernel: Kernel | None = None

    @cached_property
    def features(self) -> Features:
        """What the rows of the program are: the data, or their images under a kernel."""
        return Plain(self.X) if self.kernel is None else Images(self.X, self.kernel, self.loss.intercept)

    @property
    def points(self) -> Points:
        """One row for each point, one column for each coefficient in w."""
        return self.features.rows

    @property
    def width(self) -> int:
        """Number of coefficients."""
        return self.features.width

    @cached_property
    def penalised(self) -> BoolArray:
        """Coefficients that the regulariser sees."""
        mask = np.ones(self.width, dtype=bool)
        mask[:1] = self.intercept == "penalised"  # none where a kernel is zero on all points
        return mask

    @cached_property
    def costs(self) -> FloatArray:
        """c, one for each argument of the loss."""
        n, alike = self.X.shape[0], np.ndim(self.weights) == 0
        few = isinstance(self.X, Rows) and alike  # one number in place of n
        return self.loss.costs(np.broadcast_to(self.weights, n) if few else as_vector(self.weights, n, "weights"), self.y)

    def view(self, kind: type[V]) -> V | None:
        """`ScoringProblem` of counts and whole coefficients, `LinearProblem` of hinges, else the loss's own (`Loss.view`).

        The last two are of a loss of margins and a regulariser, and nothing else: μ||w||², or a norm that is `Polyhedral`.
        """
        on_disk = isinstance(self.X, Rows)
        if kind is ScoringProblem:
            return None if on_disk or self.kernel is not None else self._scoring()  # type: ignore[return-value]
        if not self.domain.free or self.subject_to or not self.loss.labels:
            return None
        if kind is LinearProblem:
            mu = self.regulariser.square
            if not mu:
                return None
            plain = self.loss.power and self.kernel is None and self.penalised.all() and (self.costs > 0).all()
            X = in_blocks(self.X)
            return LinearProblem(X, self.y, self.costs, mu, self.loss.power) if plain else None  # type: ignore[return-value]
        if on_disk:
            return None
        norm = self.norm()
        view = None if norm is None else self.loss.view(dense_signed_rows(self.points, self.y), self.costs, self.penalised, norm)
        return view if isinstance(view, kind) else None

    def norm(self) -> Polyhedral | None:
        """The regulariser as the loss's own solver reads it; None where it does not."""
        p, mu = int(self.penalised.sum()), self.regulariser.square
        if not self.loss.norms:
            return Polyhedral(np.zeros((0, p)), mu) if mu else None
        found = self.regulariser.polyhedral(p)
        return found if found is not None and (found.mu or found.atoms.size) else None

    def _scoring(self) -> ScoringProblem | None:
        data = (self.X, self.y, as_vector(self.weights, self.y.size, "weights"))
        parts = (self.loss, self.regulariser, self.domain, self.subject_to)
        return composed_problem(data, self.penalised, *parts)

    def appraise(self, values: Mapping[str, FloatArray], multipliers: Mapping[str, FloatArray] | None) -> Appraisal | None:
        """By blocks of rows, where the composition is a `LinearProblem`."""
        view = self.view(LinearProblem)
        return None if view is None else view.appraise(values, multipliers)

    def bound(self, x: FloatArray | None, multipliers: Mapping[str, FloatArray] | None) -> Bound:
        """The Lagrangian's, or the dual value in closed form where the composition is a `LinearProblem` and that is larger."""
        found, view = super().bound(x, multipliers), self.view(LinearProblem)
        if view is None or x is None or multipliers is None or "margin" not in multipliers:
            return found
        own = view.appraise({"w": self.form.split(x)["w"]}, multipliers)
        return found if found.value >= own.bound else Bound(own.bound, own.argument, own.bound_error)

    def complete(self, values: Mapping[str, FloatArray]) -> dict[str, FloatArray]:
        """All blocks of the form from ``w``: a scoring system's, slacks of hinges, the regulariser's; others stay."""
        if "z" not in values and self.view(ScoringProblem) is not None:
            return whole_blocks(values["w"], self.penalised, self.loss, self.loss.rows(self.points, self.y), self.form)
        if "w" in values and "xi" not in values and self.loss.power and not self.subject_to:
            values = {**values, "xi": np.maximum(1.0 - self.y * np.asarray(self.features.matrix @ values["w"]), 0.0)}
        if "w" in values and any(block.label not in values for block in self.form.blocks):
            return {**self.regulariser.blocks(np.asarray(values["w"])[self.penalised]), **values}
        return dict(values)

    def check_blocks(self) -> None:
        """Refuse a composition on rows in blocks that no algorithm reads.

        Raises
        ------
        InputError
            Another loss than the hinge and its square, another regulariser than a multiple of ||w||², a free intercept, a kernel,
            a domain, restrictions or a weight of zero.
        """
        if isinstance(self.X, Rows) and self.view(LinearProblem) is None:
            raise InputError(
                "rows in blocks are read for Hinge and SquaredHinge with mu ||w||^2, a penalised intercept, weights > 0, no "
                "kernel, domain or restriction; read the data set into memory (marginopt.read) for other compositions"
            )
