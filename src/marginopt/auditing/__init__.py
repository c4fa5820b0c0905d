"""The true gap of machines that scikit-learn has fitted."""

from .machines import audit
from .several import AuditTable
from .values import Audit

__all__ = ["Audit", "AuditTable", "audit"]
