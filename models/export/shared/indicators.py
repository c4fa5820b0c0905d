"""Indicator constraints as solvers take them: a binary variable, the value at which it asks for a row, and that row."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ....errors import ExportError
from ...arrays import IntArray
from ...program.cones import Indicator
from ...program.form import Constraint, StandardForm

__all__ = ["IndicatorRows", "indicator_rows"]


@dataclass(frozen=True, eq=False)
class IndicatorRows:
    """The indicators of one constraint: x[binary[k]] = active[k], 0 or 1, asks row ``rows[k]`` of F x + g to be ≥ 0."""

    constraint: Constraint
    binary: IntArray
    active: IntArray
    rows: IntArray

    def name(self, k: int) -> str:
        """Name of the k-th one."""
        if self.constraint.own is not None:
            return self.constraint.own[2 * k + 1]
        return self.constraint.label if self.binary.size == 1 else f"{self.constraint.label}[{k}]"


def indicator_rows(form: StandardForm) -> tuple[IndicatorRows, ...]:
    """Every indicator constraint of the form.

    Raises
    ------
    ExportError
        A switch is neither a binary variable of the form nor 1 - x of one.
    """
    rows = []
    for c in form.constraints:
        if not isinstance(c.cone, Indicator):
            continue
        heads = c.F[np.arange(0, c.rows, 2)]
        heads.eliminate_zeros()
        single = bool((np.diff(heads.indptr) == 1).all())
        active = c.g[0::2]  # the switch is x where it is 0, and 1 - x where it is 1
        if not (single and np.isin(active, (0.0, 1.0)).all() and (heads.data == 1.0 - 2.0 * active).all()):
            raise ExportError(f"{c.label}: the switch of an indicator must be a single variable x, or 1 - x")
        binary = np.asarray(heads.indices, dtype=np.int64)
        if not (form.integer[binary] & (form.lower[binary] >= 0) & (form.upper[binary] <= 1)).all():
            raise ExportError(f"{c.label}: the switch of an indicator must be a binary variable")
        rows.append(IndicatorRows(c, binary, active.astype(np.int64), np.arange(1, c.rows, 2)))
    return tuple(rows)
