"""`audit`: the gap between a fitted support vector machine and the optimum, by a bound that is proved without its solver."""

from .machines import audit
from .values import Audit, AuditTable

__all__ = ["Audit", "AuditTable", "audit"]
