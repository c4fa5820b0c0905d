"""An independent checker of `margin-bb`'s proof logs: it shares no code with the solver (`checker`)."""

from __future__ import annotations

from .checker import check_margin_proof
from .statement import FORMAT

__all__ = ["FORMAT", "check_margin_proof"]
