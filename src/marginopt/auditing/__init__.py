"""The true gap of machines that scikit-learn has fitted."""

from .machines import audit
from .values import Audit

__all__ = ["Audit", "audit"]
