"""The independent checker of scoring systems' proof logs."""

from __future__ import annotations

from .checker import FORMAT, check_scoring_proof, stated_problem

__all__ = ["FORMAT", "check_scoring_proof", "stated_problem"]
