"""An independent checker of `ramp-bb`'s proof logs: it shares nothing with the solver (`checker`)."""

from __future__ import annotations

from .checker import check_ramp_proof
from .statement import FORMAT

__all__ = ["FORMAT", "check_ramp_proof"]
