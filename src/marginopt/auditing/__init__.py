"""`audit`: the gap between a fitted SVM or logistic regression and the optimum, by a bound proved without its solver."""

from .machines import audit
from .values import Audit, AuditTable

__all__ = ["Audit", "AuditTable", "audit"]
