"""The separator in Gurobi's callback."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from .conflicts import ConflictCuts

__all__ = ["GurobiCuts"]


class GurobiCuts:
    """Adds conflicts as lazy constraints: they cut worse solutions off, which Gurobi's user cuts must not.

    ``variables`` are those of z.
    """

    def __init__(self, cuts: ConflictCuts, variables: Sequence[Any]) -> None:
        self._cuts, self._variables = cuts, list(variables)
        self.added = 0

    def at_node(self, gurobipy: Any, model: Any) -> None:
        """In a callback with ``where == MIPNODE``."""
        codes = gurobipy.GRB
        if model.cbGet(codes.Callback.MIPNODE_STATUS) != codes.OPTIMAL:
            return
        z = np.array(model.cbGetNodeRel(self._variables))
        for points in self._cuts.separate(z, model.cbGet(codes.Callback.MIPNODE_OBJBST)):
            model.cbLazy(gurobipy.quicksum(self._variables[i] for i in points.tolist()) >= 1.0)
            self.added += 1
