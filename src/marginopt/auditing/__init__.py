"""Audits of fitted support vector machines: their true gap, from a bound that is proved outside their solver."""

from .machines import audit
from .values import Audit, AuditTable

__all__ = ["Audit", "AuditTable", "audit"]
