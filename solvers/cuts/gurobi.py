"""The separator as a Gurobi callback."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ...models.program.form import StandardForm
from .separator import Separator

__all__ = ["GurobiCuts"]


class GurobiCuts:
    """Cuts for Gurobi: lazy constraints if they remove worse solutions, which Gurobi's user cuts must not remove.

    ``variables`` are the variables that the separator reads.
    """

    def __init__(self, cuts: Separator, variables: Sequence[Any]) -> None:
        self._separator, self._variables = cuts, list(variables)
        self.added = 0

    @classmethod
    def of(cls, cuts: Separator | None, model: Any, form: StandardForm) -> GurobiCuts | None:
        """Prepare the Gurobi model of ``form`` and return its callback; None without a separator."""
        if cuts is None:
            return None
        model.setParam("LazyConstraints" if cuts.lazy else "PreCrush", 1)
        variables = model.getVars()
        return cls(cuts, [variables[j] for j in cuts.places(form)])

    def at_node(self, gurobipy: Any, model: Any) -> None:
        """Add violated cuts, in a callback with ``where == MIPNODE``."""
        codes = gurobipy.GRB
        if model.cbGet(codes.Callback.MIPNODE_STATUS) != codes.OPTIMAL:
            return
        x = np.array(model.cbGetNodeRel(self._variables))
        add = model.cbLazy if self._separator.lazy else model.cbCut
        for cut in self._separator.cuts(x, model.cbGet(codes.Callback.MIPNODE_OBJBST)):
            terms = zip(cut.coefficients.tolist(), cut.where.tolist(), strict=True)
            add(gurobipy.quicksum(coefficient * self._variables[i] for coefficient, i in terms) >= cut.least)
            self.added += 1
