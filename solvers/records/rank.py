"""For which problems ``auto`` takes a solver, and before which others: a rank in its record, no list anywhere else."""

from __future__ import annotations

import enum

from ...models.program.cones import Feature
from ...models.program.form import StandardForm

__all__ = ["Purpose"]


class Purpose(enum.Enum):
    """A class of problems in which solvers are ranked."""

    STRUCTURE = "models whose structure it reads"
    MIXED_INTEGER = "mixed-integer programs"
    CONIC = "conic programs"
    QUADRATIC = "quadratic programs"
    LINEAR = "linear programs"
    NO_FORM = "models whose form is not built: too large, or their rows are on disk"

    __hash__ = object.__hash__  # Enum's own hashes the name anew at every look-up

    @classmethod
    def of(cls, form: StandardForm) -> Purpose:
        """The class that a form belongs to."""
        features = form.features
        if Feature.INTEGER in features:
            return cls.MIXED_INTEGER
        if features & {Feature.SECOND_ORDER, Feature.ROTATED, Feature.PSD, Feature.EXPONENTIAL, Feature.POWER}:
            return cls.CONIC
        return cls.QUADRATIC if Feature.QUADRATIC in features else cls.LINEAR
