"""The program, views and bound of a formulation, and the meaning of a point and multipliers of it."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar, TypeVar

import numpy as np

from ..display import Displayed
from ..errors import UnsupportedModelError
from .appraisal import Appraisal, Bound
from .arrays import FloatArray
from .inspection.point_explanation import PointExplanation
from .memory import check_bytes
from .program.form import StandardForm
from .program.lagrangian import lagrangian
from .statement import Statement

__all__ = ["FormulationBase"]

V = TypeVar("V")


@dataclass(frozen=True, eq=False)
class FormulationBase(Displayed, ABC):
    """The part of `Model` that formulations define; only ``form_bytes``, ``compile`` and ``statement`` have no general answer."""

    name: ClassVar[str]
    #: What multipliers mean, by constraint (without its number, where there is one for each class) and ``bounds``; every sentence
    #: is a test.
    meanings: ClassVar[Mapping[str, str]] = {}

    # -- the program --------------------------------------------------------------------------------------------

    @cached_property
    def form(self) -> StandardForm:
        """The labelled standard form; compiled on the first use.

        Raises
        ------
        TooLargeError
            The form would need more than `materialise_limit` bytes; the hand-written algorithms still run.
        """
        check_bytes(self.form_bytes, f"the standard form of {self.name}")
        return self.compile()

    @property
    @abstractmethod
    def form_bytes(self) -> int:
        """Bytes that the form's largest arrays need."""

    @abstractmethod
    def compile(self) -> StandardForm:
        """Build the standard form."""

    @property
    @abstractmethod
    def statement(self) -> Statement:
        """The mathematics of this model with the sizes of its instance."""

    def view(self, kind: type[V]) -> V | None:
        """The structural view of this kind, or None where the model has none."""
        return None

    @property
    def no_view_reason(self) -> str:
        """The parts because of which there is no structural view, in words; empty where it is the formulation itself."""
        return ""

    def origin(self, label: str) -> str:
        """The part of the statement that brings this block or constraint, in words; empty where the model has no parts."""
        return ""

    @property
    def separable_data(self) -> tuple[FloatArray, str] | None:
        """Signed rows that some hyperplane must separate for the model to be feasible, and why; or None."""
        return None

    # -- what points mean ---------------------------------------------------------------------------------------

    def bound(self, x: FloatArray | None, multipliers: Mapping[str, FloatArray] | None) -> Bound:
        """A proved lower bound of the form's optimum from a primal point and multipliers of any quality.

        The multipliers are repaired to be exactly feasible; -inf where no bound follows. The general argument is the
        Lagrangian's (`models.program.lagrangian`); formulations with a closed-form dual replace it.
        """
        convexity = self.form.convexity
        if convexity.refuted:
            return Bound(-np.inf, convexity.argument, condition=convexity.condition)
        if multipliers is None:
            return Bound(-np.inf, "no multipliers")
        found = lagrangian(self.form, x, multipliers)
        return Bound(found.value, found.argument, found.error, found.condition, found.derived)

    def complete(self, values: Mapping[str, FloatArray]) -> dict[str, FloatArray]:
        """All blocks of the form from those that determine the rest (a structured algorithm's answer, a simpler problem's)."""
        return dict(values)

    def zero_objective_point(self) -> dict[str, FloatArray] | None:
        """A feasible point whose objective is exactly zero, where the model knows one: the origin, unless it is told otherwise.

        A solver stops beside such an optimum; the point itself is judged then (`solvers.certification.zero_optimum`).
        """
        form = self.form
        inside = (form.lower <= 0.0).all() and (form.upper >= 0.0).all() and form.r == 0.0
        if not inside or any(c.cone.violation(c.g) > 0.0 for c in form.constraints if c.rows):
            return None
        return form.split(np.zeros(form.n))

    @property
    def nonnegative(self) -> bool:
        """Return whether no point costs less than zero, by what the objective is made of."""
        return False

    def recounted(
        self, values: Mapping[str, FloatArray], box: tuple[FloatArray, FloatArray] | None = None
    ) -> dict[str, FloatArray]:
        """A point beside this one, within rounding, that costs what it says when it is recounted in exact arithmetic.

        For models whose objective jumps (a margin of 1 - 1e-16 is violated); others return the point. ``box`` are further bounds
        of w, lower and upper.
        """
        return dict(values)

    def with_integers(self, values: Mapping[str, FloatArray]) -> StandardForm | None:
        """The continuous problem that is left when the integers are fixed at those of ``values``, in fewer variables.

        `complete` brings its points back. None where the model knows none simpler than the form with fixed bounds.
        """
        return None

    def appraise(self, values: Mapping[str, FloatArray], multipliers: Mapping[str, FloatArray] | None) -> Appraisal | None:
        """Objective, residuals and bound of a point without the form; None where the model knows no such way."""
        return None

    def decision_function(self, values: Mapping[str, FloatArray], X: object) -> FloatArray:
        """Scores f(x) of new rows, whose sign is the class.

        Raises
        ------
        UnsupportedModelError
            The formulation has no classifier.
        """
        raise UnsupportedModelError(f"{self.name} has no classifier, so no scores of points")

    def explain_points(self, values: Mapping[str, FloatArray], multipliers: Mapping[str, FloatArray] | None) -> PointExplanation:
        """Return the meaning of a solution for each point (or objective); no rows where the formulation has none.

        Two classes separated by f(x) are told by `models.inspection.point_explanation.two_classes`.
        """
        return PointExplanation()

    def meaning(self, label: str) -> str:
        """The sentence of `meanings` on a constraint's multipliers (or on ``bounds``), or nothing."""
        return self.meanings.get(label, "")

    def summary(self, values: Mapping[str, FloatArray]) -> dict[str, float]:
        """Figures of merit of a point beside its objective (margin violations, misclassified points, radius, ...)."""
        return {}
