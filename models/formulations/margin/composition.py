"""The data of a composition of parts: its fields, its rows, and the views that our own algorithms read."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, Literal, TypeVar

import numpy as np

from ....errors import InputError, UnsupportedModelError
from ....rows import Rows
from ...appraisal import Appraisal, CountedCost, Tilt, restricted_bound
from ...arrays import BigM, BoolArray, FloatArray, Points, as_vector, in_blocks
from ...conic_bound import certified_bound
from ...fingerprint import earlier_identity
from ...kernels.kernels import Kernel
from ...model import Bound, Model
from ...rounding import UNIT
from ...views import ConicProblem, LinearLoss, LinearProblem, MarginProblem
from ..linear import dense_signed_rows
from .assembly import Assembly
from .domains import Domain, Reals
from .exact_count import ExactCount
from .features import Features, Images, Plain
from .loss import Loss, signs
from .margin_losses import Hinge
from .part import Classifier, Setting
from .problems import (
    MarginProblemView,
    ScoringProblem,
    SparseProblem,
    composed_problem,
    margin_problem_of,
    sparse_problem_of,
)
from .regularisers import Regulariser, SquaredNorm
from .restrictions import Restriction

__all__ = ["Composition"]

V = TypeVar("V")

#: How far below a threshold, relative to 1 + |margin|, a point that a solver found may leave a margin that it keeps.
_NEAR = 1e-9
#: Entries of the arguments' matrix up to which points are counted.
_COUNTED = 2_000_000


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
    big_m: BigM = field(default="auto", metadata={"identity": earlier_identity("big_m", "auto", {})})
    encoding: Literal["bigm", "indicator"] = field(
        default="bigm", metadata={"identity": earlier_identity("encoding", "bigm", {})}
    )
    groups: Sequence[str] | None = None

    @property
    def feature_names(self) -> tuple[str, ...]:
        """Names of the columns; none where w are coordinates of a kernel's feature space."""
        return () if self.kernel is not None else super().feature_names

    @cached_property
    def features(self) -> Features:
        """The features of the program's rows: the data, or their images under a kernel."""
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
        """`ScoringProblem` of counts and whole coefficients, `SparseProblem` of convex losses with few coefficients,
        `MarginProblem` of what is `searched`, `LinearProblem` of hinges.

        Else the loss's own (`Loss.view`). That and the last one are of a loss of margins and μ||w||², and nothing else.
        """
        on_disk = isinstance(self.X, Rows)
        if kind is MarginProblem:
            return self.margin_problem.problem(lambda: dense_signed_rows(self.points, signs(self.y)), self.costs)  # type: ignore[return-value]
        if kind is ScoringProblem:
            return None if on_disk or self.kernel is not None else self._scoring()  # type: ignore[return-value]
        if kind is SparseProblem:
            return None if on_disk else self._sparse()  # type: ignore[return-value]
        if not self.domain.free or self.subject_to or not self.loss.labels:
            return None
        if kind is LinearProblem:
            mu = self.regulariser.square
            if not mu:
                return None
            loss = self.loss.linear
            free = self.intercept == "free"
            plain = self.kernel is None and (not free or loss is LinearLoss.LOGISTIC) and (self.costs > 0).all()
            X = in_blocks(self.X)
            return LinearProblem(X, self.y, self.costs, mu, loss, free) if plain and loss else None  # type: ignore[return-value]
        mu = self.regulariser.square
        if on_disk or not mu:
            return None
        view = self.loss.view(dense_signed_rows(self.points, self.y), self.costs, self.penalised, mu)
        return view if isinstance(view, kind) else None

    @cached_property
    def margin_problem(self) -> MarginProblemView:
        """The problem that `margin-bb` reads, or the reason why it reads none."""
        if isinstance(self.X, Rows):
            return MarginProblemView(obstacle="rows in blocks are read by solvers of large linear problems alone")
        return margin_problem_of(self.loss, self.regulariser, self.domain, self.subject_to, self._setting)

    def _setting(self) -> Setting:
        """Return the setting that parts add their rows to while no bounds of coefficients and margins are known."""
        A, c = self.loss.rows(self.points, self.y)
        w = Assembly("w").variables("w", self.width)
        far, wide = np.full(c.size, np.inf), np.full(self.width, np.inf)
        return Setting(self.points, self.y, self.costs, w, self.penalised, w.under(A) + c, far, wide)

    def _scoring(self) -> ScoringProblem | None:
        data = (self.X, self.y, as_vector(self.weights, self.y.size, "weights"))
        parts = (self.loss, self.regulariser, self.domain, self.subject_to)
        return composed_problem(data, self.penalised, *parts)

    def _sparse(self) -> SparseProblem | None:
        made = sparse_problem_of(self.loss, self.regulariser, self.domain, self.subject_to, self._setting)
        return None if made is None else made(dense_signed_rows(self.points, self.y), self.costs)

    def appraise(self, values: Mapping[str, FloatArray], multipliers: Mapping[str, FloatArray] | None) -> Appraisal | None:
        """Appraise a point by blocks of rows, where the composition is a `LinearProblem`."""
        view = self.view(LinearProblem)
        return None if view is None else view.appraise(values, multipliers)

    def _bound_without_level(self, x: FloatArray | None, multipliers: Mapping[str, FloatArray] | None) -> Bound:
        """The Lagrangian's; where the composition is a `LinearProblem`, the dual value in closed form.

        That is the best Lagrangian with these multipliers of the margins, whatever those of the other rows.
        """
        view = self.view(LinearProblem)
        if view is not None and x is not None and multipliers is not None and "margin" in multipliers:
            appraisal = view.appraise({"w": self.form.split(x)["w"]}, multipliers)
            return Bound(appraisal.bound, appraisal.argument, appraisal.bound_error)
        best = super().bound(x, multipliers)
        if x is not None and multipliers is not None and "hull" in multipliers:
            best = max([best, *self._priced_bound(x, multipliers)], key=lambda bound: (not bound.condition, bound.value))
        return best

    def tilted_bound(self, x: FloatArray | None, multipliers: Mapping[str, FloatArray], tilt: Tilt) -> Bound | None:
        """The dual value of the strongest conic loss with a linear function of w subtracted; None for other losses."""
        problem = self.view(ConicProblem)
        if problem is None or problem.kappa is not None or x is None or "hull" not in multipliers:
            return None
        mu = self.regulariser.square  # f/μ has costs c/μ, multipliers γ/μ and v/μ
        assert problem.lam is not None and mu is not None
        unit = replace(problem, metric=None, lam=float(np.nextafter(problem.lam / mu, 0.0)))
        scaled = Tilt(tilt.direction / mu, (tilt.error + 2.0 * UNIT * np.abs(tilt.direction)) / mu * (1.0 + 1e-12))
        gamma, v = np.asarray(multipliers["hull"]) / mu, np.asarray(multipliers.get("split", np.zeros(problem.A.shape[0]))) / mu
        found = certified_bound(unit, gamma, w=x[: self.width], v=v, tilt=scaled)
        rounding = 4.0 * UNIT * abs(mu * found.value)
        argument = "closed-form dual value at γ scaled into Γ (S ≻ 0 checked by Cholesky)"
        return Bound(mu * found.value - rounding, argument, mu * found.error + rounding)

    @cached_property
    def _unrestricted(self) -> Composition:
        """The composition without domain and restrictions."""
        return replace(self, domain=Reals(), subject_to=()) if self.subject_to or not self.domain.free else self

    def _priced_bound(self, x: FloatArray, multipliers: Mapping[str, FloatArray]) -> list[Bound]:
        """The bound of the unrestricted composition with the restrictions' rows at their prices, if there is one."""
        base = self._unrestricted

        def tilted(tilt: Tilt) -> Bound | None:
            return base.tilted_bound(x, multipliers, tilt)

        bound = restricted_bound(self.form, base.form, x, multipliers, tilted)
        return [] if bound is None else [bound]

    def predict(self, values: Mapping[str, FloatArray], X: object) -> np.ndarray[Any, Any]:
        """Predict classes as `Model.predict` does; the value x'w itself for a loss of residuals."""
        return super().predict(values, X) if self.loss.labels or not values else self.decision_function(values, X)

    def complete(self, values: Mapping[str, FloatArray]) -> dict[str, FloatArray]:
        """All blocks of the form from ``w``, as its parts fill them; given ones stay, but integers are rounded.

        A margin within 1e-9 of a threshold is kept, or, where coefficients are integers, what it is to rounding.
        """
        labels = [block.label for block in self.form.blocks]
        if "w" not in values or all(label in values for label in labels):
            return dict(values)
        w, whole = np.asarray(values["w"], dtype=np.float64), self.domain.integer
        w = np.rint(w) if whole else w
        A, c = self.loss.rows(self.points, self.y)
        argument = np.asarray(A @ w + c)
        near = np.zeros(c.size) if whole else _NEAR * (1.0 + np.abs(argument))
        blocks = self._filled(w, argument, near)
        return {**{label: value for label, value in blocks.items() if label in labels}, **values, "w": w}

    def complete_multipliers(self, multipliers: Mapping[str, FloatArray]) -> dict[str, FloatArray]:
        """Multipliers of the loss's rows from those of ``margin``, where these determine them and they are missing."""
        alpha = multipliers.get("margin")
        if alpha is None or np.shape(alpha) != self.costs.shape:
            return dict(multipliers)
        return {**self.loss.multipliers(np.clip(np.asarray(alpha), 0.0, np.inf), self.costs), **multipliers}

    def _filled(self, w: FloatArray, argument: FloatArray, near: FloatArray) -> dict[str, FloatArray]:
        """The blocks that the parts add, at their best for a classifier."""
        classifier = Classifier(w, self.y, self.penalised, argument, near)
        blocks = {**self.loss.blocks(classifier), **self.regulariser.blocks(w[self.penalised])}
        for name, restriction in self.labelled:
            blocks |= restriction.blocks(classifier, name)
        return blocks

    @property
    def nonnegative(self) -> bool:
        """True if the loss is nonnegative: no regulariser is negative."""
        return self.loss.nonnegative()

    @cached_property
    def counting(self) -> ExactCount | None:
        """The parts of the objective that a rounding of w may change; None where the rows are on disk or too many to be counted
        in memory.
        """
        if isinstance(self.X, Rows) or self.X.shape[0] * self.width > _COUNTED:
            return None
        A, c = self.loss.rows(self.points, self.y)
        if A.shape[0] * A.shape[1] > _COUNTED:
            return None
        parts = (self.loss, self.regulariser, self.domain, self.subject_to)
        return ExactCount.of(*parts, self._setting(), (A.toarray(), c))

    def recounted(
        self, values: Mapping[str, FloatArray], box: tuple[FloatArray, FloatArray] | None = None
    ) -> dict[str, FloatArray]:
        """The point beside this one that costs least, counted in exact arithmetic, with all blocks as its w has them."""
        counting = self.counting
        if counting is None or not counting.decides or "w" not in values:
            return dict(values)
        if box is not None:
            lower, upper = np.maximum(counting.lower, box[0]), np.minimum(counting.upper, box[1])
            counting = replace(counting, lower=lower, upper=upper)
        w = np.asarray(values["w"], dtype=np.float64)
        candidates = [*counting.beside(w), np.rint(w) if self.domain.integer else w]
        worth = [(counting.excess(v), self._cost(v, counting.arguments(v))) for v in candidates]
        best = candidates[min(range(len(worth)), key=worth.__getitem__)]
        blocks = self._filled(best, counting.arguments(best), np.zeros(counting.c.size))
        return {label: blocks.get(label, value) for label, value in values.items()} | {"w": best}

    def counted_cost(self, values: Mapping[str, FloatArray]) -> CountedCost | None:
        """The cost of w alone, from the data."""
        counting = self.counting
        if counting is None or "w" not in values:
            return None
        w = np.asarray(values["w"], dtype=np.float64)
        argument = counting.arguments(w)
        try:
            cost = self._cost(w, argument)
        except UnsupportedModelError:  # a loss that is an optimisation problem of its own
            return None
        excess = counting.excess(w) if counting.decides else 0
        if not (np.isfinite(cost) or excess):
            return None
        return CountedCost(cost, excess, counting.miss(argument), float(self.costs @ counting.rounding(w)))

    def _cost(self, w: FloatArray, argument: FloatArray) -> float:
        """R(w) and the losses of these arguments."""
        return self.regulariser.value(w[self.penalised]) + self.loss.total(self.costs, argument)

    @property
    def labelled(self) -> tuple[tuple[str, Restriction], ...]:
        """Restrictions, each with what its labels begin with: its name, and a number where that is taken."""
        counts: dict[str, int] = {}
        pairs = []
        for restriction in self.subject_to:
            count = counts[restriction.name] = counts.get(restriction.name, 0) + 1
            pairs.append((restriction.name if count == 1 else f"{restriction.name} {count}", restriction))
        return tuple(pairs)

    def check_blocks(self) -> None:
        """Refuse a composition on rows in blocks that no algorithm reads.

        Raises
        ------
        InputError
            Another loss than the hinge, its square and the logistic loss, another regulariser than a multiple of ||w||², a free
            intercept (of the first two), a kernel,
            a domain, restrictions or a weight of zero.
        """
        if isinstance(self.X, Rows) and self.view(LinearProblem) is None:
            raise InputError(
                "rows in blocks are read for Hinge, SquaredHinge and Logistic with mu ||w||^2, a penalised intercept (Logistic: "
                "any), weights > 0, no kernel, domain or restriction; read the data set into memory (marginopt.read) for "
                "other compositions"
            )
