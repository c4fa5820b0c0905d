"""The separator as a SCIP plug-in."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...models.program.form import StandardForm
from ..interface.recorder import Recorder
from .separator import Separator

__all__ = ["include_cuts"]


def include_cuts(model: Any, cuts: Separator, form: StandardForm) -> Any:
    """Add the separator to the SCIP model of ``form`` and return the plug-in; set its ``recorder`` before each solve.

    ``model.data`` holds the variables of the form. Exceptions are stored in the recorder, because they cannot pass through SCIP's
    frames.
    """
    from pyscipopt import Sepa
    from pyscipopt.scip import PY_SCIP_RESULT

    variables = [model.data[j] for j in cuts.places(form)]

    class Plugin(Sepa):
        """The plug-in, which separates the solution of the node's linear program."""

        recorder: Recorder
        added = 0

        def sepaexeclp(self) -> dict[str, Any]:
            """Add the violated cuts, which are valid in the whole tree."""
            separated = False
            with self.recorder.guarded():
                x = np.array([self.model.getSolVal(None, variable) for variable in variables])
                for cut in cuts.cuts(x, self.model.getPrimalbound()):
                    row = self.model.createEmptyRowSepa(self, f"{cuts.kind} {self.added}", lhs=cut.least, rhs=None, local=False)
                    self.model.cacheRowExtensions(row)
                    for i, coefficient in zip(cut.where.tolist(), cut.coefficients.tolist(), strict=True):
                        self.model.addVarToRow(row, variables[i], coefficient)
                    self.model.flushRowExtensions(row)
                    self.model.addCut(row)
                    self.model.addPoolCut(row)
                    self.model.releaseRow(row)
                    self.added, separated = self.added + 1, True
            if self.recorder.stopped:
                self.model.interruptSolve()
            return {"result": PY_SCIP_RESULT.SEPARATED if separated else PY_SCIP_RESULT.DIDNOTFIND}

    plugin = Plugin()
    model.includeSepa(plugin, f"marginopt {cuts.kind}", "cuts of marginopt", priority=1000, freq=1)
    return plugin
