"""The abstract named composition: a formulation with its own name and parameters, made of parts."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import ClassVar

from ....arrays import FloatArray
from ....inspection.point_explanation import PointExplanation
from ....model import Model
from ....program.form import StandardForm
from ....statement import Statement
from ..model import Margin

__all__ = ["NamedComposition"]


@dataclass(frozen=True, eq=False, repr=False)
class NamedComposition(Model):
    """A formulation that is its composition: form, scores, points, dual and relaxations are those of the parts.

    Attributes
    ----------
    title, source : str
        Of the statement.
    """

    title: ClassVar[str]
    source: ClassVar[str]

    @property
    @abstractmethod
    def composed(self) -> Margin:
        """The parts."""

    @property
    def form_bytes(self) -> int:
        """Bytes of the composition's form."""
        return self.composed.form_bytes

    def compile(self) -> StandardForm:
        """The composition's form under this name."""
        return self.composed.form.replace(name=self.name)

    @property
    def nonnegative(self) -> bool:
        """True if the composition is nonnegative."""
        return self.composed.nonnegative

    def dual_value(self, multipliers: Mapping[str, FloatArray]) -> float:
        """The closed-form dual at multipliers of any quality; see `Margin.dual_value`."""
        return self.composed.dual_value(multipliers)

    def objective(self, w: FloatArray) -> float:
        """The stated objective at a classifier, levels at their best."""
        return self.composed.objective(w)

    def decision_function(self, values: Mapping[str, FloatArray], X: object) -> FloatArray:
        """The composition's scores."""
        return self.composed.decision_function(values, X)

    def explain_points(self, values: Mapping[str, FloatArray], multipliers: Mapping[str, FloatArray] | None) -> PointExplanation:
        """The composition's points."""
        return self.composed.explain_points(values, multipliers)

    def summary(self, values: Mapping[str, FloatArray]) -> dict[str, float]:
        """The composition's figures."""
        return self.composed.summary(values)

    @property
    def statement(self) -> Statement:
        """The composition's, under this name."""
        return replace(self.composed.statement, title=self.title, problem_class="convex QP", source=self.source)
