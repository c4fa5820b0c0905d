"""The separator as a plug-in of SCIP."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...models.program.form import StandardForm
from ..interface.recorder import Recorder
from .separator import Separator

__all__ = ["include_cuts"]


def include_cuts(model: Any, cuts: Separator, form: StandardForm) -> Any:
    """A separator of the SCIP model of ``form`` (``model.data`` holds its variables); set its ``recorder`` before each solve.

    What it raises waits in the recorder, because nothing passes through SCIP's own frames.
    """
    from pyscipopt import Sepa
    from pyscipopt.scip import PY_SCIP_RESULT

    variables = [model.data[j] for j in cuts.places(form)]

    class Plugin(Sepa):
        """Cuts at the solution of the node's linear program."""

        recorder: Recorder
        added = 0

        def sepaexeclp(self) -> dict[str, Any]:
            """Add what the solution violates; rows hold everywhere in the tree."""
            found = False
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
                    self.added, found = self.added + 1, True
            if self.recorder.stopped:
                self.model.interruptSolve()
            return {"result": PY_SCIP_RESULT.SEPARATED if found else PY_SCIP_RESULT.DIDNOTFIND}

    plugin = Plugin()
    model.includeSepa(plugin, f"marginopt {cuts.kind}", "cuts of marginopt", priority=1000, freq=1)
    return plugin
