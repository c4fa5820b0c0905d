"""The true gap of machines that scikit-learn has fitted."""

from .machines import audit
from .values import Audit, AuditTable

__all__ = ["Audit", "AuditTable", "audit"]
