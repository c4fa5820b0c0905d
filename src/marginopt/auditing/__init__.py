"""`audit`: the gap between a fitted SVM or logistic regression and the optimum, by a bound proved without its solver.

`Audit` is the result for one fitted machine, `AuditTable` that for several, or for a machine of several classes.
"""

from .machines import audit
from .values import Audit, AuditTable

__all__ = ["Audit", "AuditTable", "audit"]
