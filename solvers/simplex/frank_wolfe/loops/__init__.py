"""Compiled loops of the Frank-Wolfe family."""

from .runs import run, run_sampled
from .steps import BLENDED, BUDGET, COLUMN, FW, MFW, PAIRWISE, RULE, STUCK
from .support import fold, scan

__all__ = ["BLENDED", "BUDGET", "COLUMN", "FW", "MFW", "PAIRWISE", "RULE", "STUCK", "fold", "run", "run_sampled", "scan"]
